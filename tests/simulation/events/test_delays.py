"""Inputs with a delay: methods of steps by hand, jumps, many runs, runs that go on."""

import numpy as np
import pytest

import dalembert as da


def slider(delay=0.3, gain=2.0, output="X.position", mass=1.0, height=1.0):
    s = da.System("slider", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=mass)))
    s.initial("X", position=height)
    law = da.Element("joint", "-gain*d", parameters={"gain": gain}, inputs={"d": da.Delay(output, delay)}, active=True)
    s.connect("k", law, "X")
    return s


def by_steps(t, delay, gain, height=1.0):
    """x'' = -gain x(t - delay), x = height and force 0 up to t = delay: a sum of powers, exact."""
    x, k, factor = np.full_like(t, height), 1, 1.0
    while (t > k * delay).any():
        factor *= -gain / ((2 * k - 1) * (2 * k))
        x += height * factor * np.maximum(t - k * delay, 0.0) ** (2 * k)
        k += 1
    return x


def test_the_method_of_steps_by_hand():
    times = np.linspace(0.0, 3.0, 31)
    result = da.simulate(slider(), 3.0, times=times)
    assert np.abs(result["X.position"] - by_steps(times, 0.3, 2.0)).max() < 1e-8


def test_many_runs_with_delays_each_remember_their_own_past():
    heights = np.array([1.0, 2.0, -0.5])
    times = np.linspace(0.0, 2.0, 11)
    runs = da.simulate(slider(), 2.0, times=times, state={"X": heights}, parameters={"k.gain": [2.0, 3.0, 1.0]})
    assert runs.status == ("finished",) * 3
    for k, (height, gain) in enumerate(zip(heights, [2.0, 3.0, 1.0], strict=True)):
        assert np.abs(runs["X.position"][k] - by_steps(times, 0.3, gain, height)).max() < 1e-8


@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_with_a_delay_goes_on_to_the_same_bits(streamed, tmp_path, monkeypatch):
    whole = da.simulate(slider(), 3.0)
    seen = []
    from dalembert.simulation.interrupts import Interrupt

    monkeypatch.setattr(
        Interrupt, "pressed", property(lambda self: seen.append(1) is None and len(seen) > 11), raising=False
    )
    given = {"stream": tmp_path / "run"} if streamed else {}
    part = da.simulate(slider(), 3.0, on_error="return", **given)
    assert part.status == "interrupted" and 0.3 < part.t[-1] < 3.0
    monkeypatch.undo()
    on = da.simulate(slider(), 3.0, resume=True if streamed else part, **given)
    assert np.array_equal(on.t, whole.t) and np.array_equal(on.q, whole.q) and np.array_equal(on.v, whole.v)


def test_what_jumped_is_remembered_as_it_jumped():
    """A block at 1 m/s is turned round at t = 1; another is pushed by the speed that the first had 0.5 s ago."""
    s = da.System("two", gravity=(0, 0, 0))
    for name in "XY":
        s.connect(name, da.Prismatic("x"), s.ground, s.body(name.lower(), da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.initial("X", speed=1.0)
    push = da.Element("joint", "u", inputs={"u": da.Delay("X.speed", 0.5)}, active=True)
    s.connect("k", push, "Y")

    def turn(now):
        now.v = now.v * [-3.0, 1.0]

    result = da.simulate(
        s, 2.0, events=[da.Event("turn", "X.position", 1.0, action=turn)], discontinuity_times=[0.5, 1.5]
    )
    # force 0 until 0.5, 1 until 1.5, then -3
    assert result["Y.speed"][-1] == pytest.approx(1.0 - 1.5, abs=1e-9)


def test_attitudes_are_remembered():
    """A free body spins about a fixed axis: what its attitude was is known in closed form."""
    s = da.System("spin", gravity=(0, 0, 0))
    body = s.body("top", da.sphere(0.2, mass=1.0))
    s.connect("ball", da.Spherical(), s.ground, body)
    s.initial("ball", speed=[0.0, 0.0, 2.0])
    s.connect("Y", da.Prismatic("x"), s.ground, s.body("y", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("k", da.Element("joint", "u", inputs={"u": da.Delay("ball.qz", 0.25)}, active=True), "Y")
    result = da.simulate(s, 2.0)
    t = 2.0 - 0.25
    assert result["Y.speed"][-1] == pytest.approx(1.0 - np.cos(t), abs=1e-8)  # the integral of sin(w t / 2), w = 2


@pytest.mark.parametrize("output", ["X.position", "X.speed", "filter.level"])
def test_the_core_looks_up_the_same_past_as_python(output):
    s = slider(output=output)
    lag = da.Element("joint", "0", states={"level": (0.0, "3*(s - level)")})
    s.connect("filter", lag, "X")
    model = s.compile()
    history = da.model.History(model)
    rng = np.random.default_rng(4)
    times = np.sort(rng.uniform(0, 2, 12))
    for k, t in enumerate(times):
        rows = [rng.normal(size=n) for n in (model.nq, model.nv, model.nx, model.nv, model.nx)]
        history.add(t, *rows)
        if k == 5:  # a jump, then a row that replaces later ones
            history.add(t, *(2 * row for row in rows), jump=True)
        if k == 8:
            history.add(0.5 * (times[7] + t), *rows)
    assert history.core is not None and len(history.core) == len(history.t)
    part = {"X.position": 0, "X.speed": 1, "filter.level": 2}[output]
    for t in [*np.linspace(times[0], 2.0, 40), *history.t]:
        assert history.core.value(0, t + 0.3) == pytest.approx(history.at(t + 0.3 - 0.3)[part][0], abs=1e-12)
    assert history.core.value(0, times[0]) == 0.0


def test_delays_that_the_core_has_not_are_looked_up_in_python():
    exact = da.simulate(slider(output="X.position"), 2.0)
    by_point = da.simulate(slider(output="b.position.x"), 2.0)
    assert by_point.final_state.q == pytest.approx(exact.final_state.q, abs=1e-8)
