"""Parameters of joints, constraints and couplings that users write: changed in models, runs, ensembles and events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as da


def helix(r: float = 0.5) -> da.System:
    """A bead that a wire carries round as it goes along: the joint is a branch of the tree."""
    s = da.System("helix")
    wire = da.CustomJoint(("s",), ("r*cos(s/r)", "r*sin(s/r)", "0.1*s"), [("z", "s/r")], {"r": r})
    s.connect("joint", wire, s.ground, s.body("bead", da.box(0.02, 0.03, 0.04, mass=0.1)))
    s.initial("joint", position=0.3, speed=0.5)
    return s


def held(r: float = 0.5) -> da.System:
    """A box whose corner stays on a surface."""
    s = da.System("held")
    b = s.body("b", da.box(0.1, 0.2, 0.3, mass=1.0))
    s.connect("free", da.Free(), s.ground, b)
    s.connect("joint", da.CustomConstraint(("z - r*x*x + 0.1*sin(r*y)",), {"r": r}), s.ground, b.at(0.05, 0.1, -0.15))
    s.initial("free", speed=(0.1, 0.2, 0.3, 0.4, 0.5, 0.0))
    return s


def skating(r: float = 0.5) -> da.System:
    """A blade that drifts sideways by a part of its speed ahead."""
    s = da.System("skating")
    b = s.body("b", da.box(0.3, 0.1, 0.1, mass=2.0))
    s.connect("plane", da.Planar("z"), s.ground, b)
    row = "Rxy*vx + Ryy*vy - r*(Rxx*vx + Ryx*vy)"  # velocity across the blade, less r times that along it
    s.connect("joint", da.PfaffianConstraint((row,), {"r": r}), s.ground, b.at(0.1, 0, 0))
    s.initial("plane", speed=(0.4, 0.3, 0.2))
    return s


def coupled(r: float = 0.5) -> da.System:
    """Two pendulums, one led by a function of the other."""
    s = da.System("coupled")
    for name in "AB":
        s.connect(name, da.Revolute("y"), s.ground, s.body(name.lower(), da.rod(length=1.0, mass=1.0)))
    s.connect("joint", da.CustomCoupling("s2 - r*sin(s1)", {"r": r}), "A", "B")
    s.initial("A", position=0.4, speed=1.0)
    return s


def chained(r: float = 0.5) -> da.System:
    """A custom joint within a massless chain."""
    s = da.System("chained")
    b = s.body("b", da.box(0.1, 0.2, 0.3, mass=1.0))
    s.connect("free", da.Free(), s.ground, b)
    arc = da.CustomJoint(("a",), ("r*cos(a)", "r*sin(a)", 0), [("z", "a")], {"r": r})
    s.connect("joint", da.KinematicChain([arc, da.bar(0.2), da.Revolute("y")]), s.ground, b)
    s.initial("free", position=(1, 0, 0, 0, 0.7, 0, 0), speed=(0, 0, 0.3, 0, 0, 0))
    return s


SYSTEMS: dict[str, tuple[Callable[..., da.System], str]] = {
    "joint": (helix, "joint.r"),
    "constraint": (held, "joint.r"),
    "nonholonomic": (skating, "joint.r"),
    "coupling": (coupled, "joint.r"),
    "chain": (chained, "joint.0.r"),
}


def start_of(model: da.Model) -> da.State:
    """Return the start of a run, with loops closed."""
    first = da.simulate(model, 1e-3)
    return da.State(q=first.q[0], v=first.v[0])


@pytest.mark.parametrize("kind", SYSTEMS)
def test_members_of_an_ensemble_are_the_systems_that_have_their_numbers(kind: str) -> None:
    make, name = SYSTEMS[kind]
    values = np.array([0.5, 0.55, 0.7])
    model, times = make().compile(), np.array([0.0, 0.2])
    states = [make(r).compile() for r in values]
    starts = [start_of(each) for each in states]
    start = da.State(q=np.array([s.q for s in starts]), v=np.array([s.v for s in starts]))
    runs = da.simulate(model, 0.2, state=start, parameters={name: values}, times=times, rtol=1e-10, atol=1e-12)
    for k, (own, at) in enumerate(zip(states, starts, strict=True)):
        alone = da.simulate(own, 0.2, state=at, times=times, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(runs.q[k, -1], alone.q[-1], atol=1e-9)
        varied = model.with_parameters({name: float(values[k])})
        assert varied.dynamics(0.0, at.q, at.v).a == pytest.approx(own.dynamics(0.0, at.q, at.v).a, abs=1e-9)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_derivatives_by_them_are_those_of_differences(kind: str) -> None:
    make, name = SYSTEMS[kind]
    model = make().compile()
    at, h = start_of(model), 1e-6
    exact = model.d_dynamics(0.0, at.q, at.v, parameters=[name]).a.parameters[:, 0]
    ends = [model.with_parameters({name: 0.5 + d}).dynamics(0.0, at.q, at.v).a for d in (h, -h)]
    np.testing.assert_allclose(exact, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-6)


def test_an_event_changes_them_on_the_way() -> None:
    """The wire widens at 0.1 s: before as the one system, after as the other."""
    s = helix()
    result = da.simulate(
        s, 0.2, events=[da.Event("wider", lambda state: state.t - 0.1, action=lambda now: now.set("joint.r", 0.8))]
    )
    half = da.simulate(helix(), 0.1).final_state
    alone = da.simulate(helix(0.8), 0.1, state=da.State(q=half.q, v=half.v)).final_state
    assert result.q[-1] == pytest.approx(alone.q, abs=1e-7)


def test_a_named_parameter_leads_to_them() -> None:
    s = da.System("named")
    s.parameter("radius", 0.5)
    arc = da.CustomJoint(("a",), ("r*cos(a)", 0, "r*sin(a)"), None, {"r": s["radius"]})
    s.connect("joint", arc, s.ground, s.body("b", da.sphere(0.05, mass=1.0)))
    model = s.compile()
    assert model.dynamics(0.0, [0.0], [0.0]).a == pytest.approx([-9.81 / 0.5])
    assert model.with_parameters({"radius": 0.25}).dynamics(0.0, [0.0], [0.0]).a == pytest.approx([-9.81 / 0.25])
