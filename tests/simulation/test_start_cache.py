"""Parts of a start that depend on the model only are cached; the others are evaluated in every run."""

import numpy as np
from systems.pendulums import rod_pendulum

import dalembert as da
from dalembert.simulation import start


def moving_pendulum():
    s = rod_pendulum()
    s.initial("A", position=0.4, speed=1.0)
    return s


def test_the_start_of_a_model_is_worked_out_once_and_not_shared(monkeypatch):
    model, seen = moving_pendulum().compile(), []
    monkeypatch.setattr(start, "check_inertia", lambda *given: seen.append(given) or [])
    state = da.start_state(model)
    state.q[:] = 7.0  # a copy
    runs = [da.simulate(model, 0.1) for _ in range(3)]
    assert len(seen) == 1
    assert all(np.array_equal(run.q, runs[0].q) and run.q[0, 0] == 0.4 for run in runs)
    da.simulate(model, 0.1, state={"A": 0.1})
    da.simulate(model, 1.1, t_start=1.0)
    assert len(seen) == 3


def test_a_drive_by_a_function_is_asked_in_every_run():
    s, height = moving_pendulum(), [0.3]
    s.connect("B", da.Revolute("y"), "bob.at(1, 0, 0)", s.body("arm", da.rod(length=1.0, mass=1.0)))
    s.drive("B", position=da.FunctionLaw(lambda t: height[0] + 0.0 * t))
    model = s.compile()
    first = da.simulate(model, 0.05)
    height[0] = 0.8
    second = da.simulate(model, 0.05)
    assert first["B.position"][0] == 0.3 and second["B.position"][0] == 0.8
