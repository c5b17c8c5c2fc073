"""SciPy and SUNDIALS find the same motion as our own steppers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import MissingPackageError
from dalembert.library import chain, mechanisms
from dalembert.model.drive_targets import constraint_targets
from dalembert.simulation.interrupts import Interrupt

pytest.importorskip("sksundae")

METHODS = [f"scipy:{name}" for name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")] + ["cvode", "ida"]
MULTISTEP = ("scipy:BDF", "scipy:LSODA", "cvode", "ida")  # their errors add up over many more steps


def top() -> da.System:
    s = da.System("top")
    body = s.body("top", da.box(0.3, 0.2, 0.4, mass=1.0))
    s.connect("S", da.Spherical(), s.ground, body.at(0, 0, -0.3))
    tail = s.body("tail", da.rod(0.3, 0.2, radius=0.02))
    s.connect("U", da.Universal("x", "y"), body.at(0.15, 0, 0), tail)
    s.connect("spring", da.TorsionSpring(2.0, damping=0.02), "U.angle_1")
    s.initial("S", speed=(0.3, 0.2, 6.0))
    return s


def driven_cart() -> da.System:
    """A slide that follows a law, with a pendulum on it that does not."""
    s = da.System("cart")
    cart = s.body("cart", da.box(0.4, 0.2, 0.2, mass=2.0))
    s.connect("X", da.Prismatic("x"), s.ground, cart)
    s.connect("A", da.Revolute("y"), cart, s.body("rod", da.rod(0.8, 1.0)))
    s.drive("X", position=da.Harmonic(0.3, 4.0))
    return s


def driven_bar() -> da.System:
    """Two links whose end keeps a distance from ground that follows a law: a driven constraint with a DOF left."""
    s = chain(2, axes="y", length=0.5)
    s.connect("bar", da.Distance(0.8), s.ground, s["link_2"].at(0.5, 0, 0))
    s.drive("bar", position=da.Harmonic(0.05, 3.0, offset=0.8))
    s.initial("joint_2", position=1.2)
    return s


SYSTEMS = {
    "a tree with quaternions": (top, 1.0),
    "a loop with a redundant row": (mechanisms.bricard, 1.0),
    "a driven joint": (driven_cart, 1.0),
    "a driven constraint": (driven_bar, 1.0),
}


@pytest.fixture(scope="module", params=SYSTEMS, ids=lambda name: name.replace(" ", "_"))
def reference(request: pytest.FixtureRequest) -> da.Result:
    make, t_end = SYSTEMS[request.param]
    return da.simulate(make(), t_end, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_they_agree_at_their_steps_and_between(reference: da.Result, method: str) -> None:
    model, t_end = reference.model, float(reference.t[-1])
    assert model is not None
    rtol = 1e-5 if method == "scipy:RK23" else 1e-8
    result = da.simulate(model, t_end, method=method, rtol=rtol, atol=rtol / 100)
    assert result.status == "finished" and result.t[-1] == t_end
    assert result.stats.method == method and result.stats.steps == len(result) - 1
    assert result.stats.evaluations >= result.stats.steps
    bound = (400 if method in MULTISTEP else 20) * rtol  # measured: 104 and 5
    for times in (result.t[:: len(result) // 20 + 1], np.linspace(0.0, t_end, 23)):
        mine, exact = result.at(times), reference.at(times)
        assert np.abs(model.difference(exact.q, mine.q)).max() < bound
        assert np.abs(mine.v - exact.v).max() < 5 * bound * np.abs(reference.v).max()
        if model.nc:
            residual = [
                model.constraint_residual(q) - constraint_targets(model, t)[0]
                for t, q in zip(times, mine.q, strict=True)
            ]
            assert np.abs(residual).max() < 1e-12
    assert np.abs(result["energy.balance"]).max() < 5 * bound


@pytest.mark.parametrize("method", ["scipy:DOP853", "cvode"])
def test_wanted_times_are_given_and_the_rest_can_be_asked_for(method: str) -> None:
    system, times = chain(2), np.linspace(0.1, 0.9, 5)
    every = da.simulate(system, 1.0, method=method)
    result = da.simulate(system, 1.0, method=method, times=times)
    assert np.array_equal(result.t, times)
    assert np.array_equal(result.q, every.at(times).q)
    assert np.array_equal(result.at(0.55).q, every.at(0.55).q)


@pytest.mark.parametrize("method", ["scipy:LSODA", "cvode", "ida"])
def test_a_control_acts_and_shows_in_the_outputs(method: str) -> None:
    def hold(state: da.State) -> dict[str, float]:
        return {"joint_1": -40.0 * state.q[0] - 4.0 * state.v[0]}

    system = chain(2, axes="y")
    ours = da.simulate(system, 0.5, control=hold)
    result = da.simulate(system, 0.5, control=hold, method=method)
    assert np.allclose(result.final_state.q, ours.final_state.q, rtol=0, atol=1e-5)
    effort = result["tau"][:, 0]
    assert np.allclose(effort, -40.0 * result.q[:, 0] - 4.0 * result.v[:, 0])


@pytest.mark.parametrize("method", ["scipy:RK45", "ida"])
def test_numbers_of_force_elements_are_obeyed(method: str) -> None:
    system = chain(1, axes="y")
    system.connect("k", da.TorsionSpring(1.0), "joint_1")
    ours = da.simulate(system, 0.5, parameters={"k.stiffness": 30.0})
    result = da.simulate(system, 0.5, parameters={"k.stiffness": 30.0}, method=method)
    assert np.allclose(result.final_state.q, ours.final_state.q, rtol=0, atol=1e-6)
    assert np.allclose(result["k.effort"], -30.0 * result.q[:, 0])


@pytest.mark.parametrize("method", ["scipy:RK45", "cvode", "ida"])
def test_a_function_that_fails_ends_the_run_with_what_there_is(method: str) -> None:
    def fail(state: da.State) -> list[float]:
        if state.t > 0.3:
            raise ValueError("no more")
        return [0.0]

    with pytest.raises(da.UserFunctionError, match="no more") as caught:
        da.simulate(chain(1, axes="y"), 1.0, control=fail, method=method)
    partial = caught.value.result
    assert partial.status == "failed" and 0.1 < partial.t[-1] < 0.35
    again = da.simulate(chain(1, axes="y"), 1.0, control=fail, method=method, on_error="return")
    assert again.status == "failed" and "no more" in again.message
    assert np.array_equal(again.q, partial.q)


def test_a_longest_step_is_obeyed() -> None:
    for method in ("scipy:DOP853", "cvode"):
        result = da.simulate(chain(1, axes="y"), 1.0, method=method, max_step=0.005)
        assert np.diff(result.t).max() < 0.005 * (1 + 1e-9)


def test_an_interrupt_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(state: da.State) -> list[float]:
        pressed.append(state.t > 0.5)
        return [0.0]

    pressed = [False]
    monkeypatch.setattr(Interrupt, "pressed", property(lambda _: pressed[-1], lambda *_: None), raising=False)
    result = da.simulate(chain(1, axes="y"), 2.0, control=press, method="scipy:RK45")
    assert result.status == "interrupted" and 0.3 < result.t[-1] < 1.0


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"method": "scipy:RK4"}, "method"),
        ({"method": "scipy:"}, "method"),
        ({"method": "cvode", "events": da.Event("e", "joint_1.position")}, "events"),
        ({"method": "ida", "fixed_step": 0.1}, "step"),
        ({"method": "scipy:BDF", "stream": "somewhere"}, "stream"),
        ({"method": "scipy:BDF", "resume": True}, "resume"),
        ({"method": "ida", "state": da.State(q=np.zeros((3, 1)), v=np.zeros(1))}, "states"),
        ({"method": "scipy:BDF", "rtol": -1.0}, "rtol"),
        ({"method": "scipy:BDF", "max_step": 0.0}, "max_step"),
        ({"method": "scipy:BDF", "control": 3}, "control"),
    ],
)
def test_what_they_cannot_do_is_refused(options: dict[str, object], field: str) -> None:
    with pytest.raises(da.ModelError, match=f"simulate: {field} is"):
        da.simulate(chain(1, axes="y"), 1.0, **options)  # type: ignore[arg-type]


def test_without_sundials_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sksundae", "sksundae.cvode", "sksundae.ida"):
        monkeypatch.setitem(sys.modules, module, None)
    for method in ("cvode", "ida"):
        with pytest.raises(MissingPackageError, match=r'pip install "dalembert\[sundials\]"'):
            da.simulate(chain(1), 1.0, method=method)
