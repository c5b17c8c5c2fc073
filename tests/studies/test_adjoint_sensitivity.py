"""Derivatives of runs both ways, carried forwards and followed back; the starts and states they are made from; rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation import start_state
from dalembert.studies.sensitivities.initial_state import initial_state_derivatives
from dalembert.studies.sensitivities.intermediate_states import interpolated_states


def both(system: da.System, outputs: Any, by: list[str], t: float, **how: Any) -> da.studies.Sensitivity:
    """Return derivatives, the same both ways."""
    model = system.compile()
    forward = da.sensitivity(model, outputs, by, t, mode="forward", **how)
    adjoint = da.sensitivity(model, outputs, by, t, mode="adjoint", **how)
    assert (forward.mode, adjoint.mode) == ("forward", "adjoint")
    assert adjoint.growth == pytest.approx(forward.growth, rel=1e-9)
    for label in forward.values:
        assert adjoint.values[label] == pytest.approx(forward.values[label], rel=1e-14)
        size = np.abs(forward[label]).max()
        assert np.abs(adjoint[label] - forward[label]).max() < 1e-9 * size, label
    return forward


def by_runs(model: da.Model, output: str, name: str, t: float, state: dict[str, float]) -> float:
    """Return the derivative of an output at the end by central differences of fourth order."""
    number = name in model.parameter_names
    value = model.parameters[model.parameter_names[name]] if number else state[name]
    h = 1e-3 * (abs(value) or 1.0)

    def end(k: float) -> float:
        moved = {"parameters": {name: value + k * h}} if number else {}
        start = state if number else {**state, name: value + k * h}
        return float(da.simulate(model, t, state=start, rtol=1e-12, atol=1e-13, **moved)[output][-1])

    return (8 * (end(1) - end(-1)) - (end(2) - end(-2))) / (12 * h)


def arm(links: int, rng: np.random.Generator) -> da.System:
    s = da.System("arm")
    end = s.ground.origin
    for k in range(links):
        inertia = np.diag(rng.uniform(2e-3, 5e-3, 3))
        link = s.body(f"b{k}", mass=rng.uniform(0.3, 0.8), com=(0.15, 0.02, 0), inertia=inertia)
        s.connect(f"H{k}", da.Revolute("xyz"[k % 3], damping=0.01), end, link)
        s.connect(f"k{k}", da.TorsionSpring(stiffness=rng.uniform(1.0, 3.0)), f"H{k}")
        end = link.marker("end", 0.3, 0, 0)
    return s


def rocker() -> da.System:
    """Return a four-bar with a spring, and an element with a state at its rocker."""
    s = da.System("four-bar", gravity=(0, -9.81, 0))
    lengths = [s.parameter(f"l{k}", value) for k, value in enumerate((0.4, 1.1, 0.9, 1.0), 1)]
    bars = []
    for k, name in enumerate(("crank", "coupler", "rocker")):
        length = lengths[k]
        across = length**2 / 12
        bars.append(s.body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(1e-3, across, across)))
    s.connect("A", da.Revolute("z"), s.ground, bars[0])
    s.connect("B", da.Revolute("z"), bars[0].at(lengths[0], 0, 0), bars[1])
    s.connect("D", da.Revolute("z"), s.ground.at(lengths[3], 0, 0), bars[2])
    s.connect("C", da.Revolute("z"), bars[1].at(lengths[1], 0, 0), bars[2].at(lengths[2], 0, 0))
    law = da.Element("joint", "-k*(s - z)", states={"z": (0.0, "(s - z)*k/c")}, parameters={"k": 5.0, "c": 2.0})
    s.connect("e", law, "D")
    return s


@pytest.mark.parametrize("seed", [1, 2])
def test_adjoint_and_tangent_agree_on_random_trees(seed: int) -> None:
    s = arm(4, np.random.default_rng(seed))
    state = {f"H{k}": 0.3 for k in range(4)}
    by = ["b0.mass", "b1.end.x", "H2", "k3.stiffness", "b2.inertia.yy", "gravity.z"]
    outputs = {
        "end": ("H3.position", "final"),
        "rms": ("H1.speed", "rms"),
        "energy": ("energy.kinetic", "mean"),
        "all": "H0.position",
    }
    found = both(s, outputs, by, 1.0, state=state, times=np.linspace(0, 1, 5))
    for k, name in enumerate(by):
        expected = by_runs(s.compile(), "H3.position", name, 1.0, state)
        assert found["end"][k] == pytest.approx(expected, rel=1e-6, abs=1e-8), name


def test_loops_with_element_states() -> None:
    by = ["l1", "A", "l3", "e.c", "crank.mass", "A.speed"]
    state = {"A": 0.7, "A.speed": 0.5}
    s = rocker()
    found = both(s, {"end": ("D.position", "final"), "z": ("e.z", "final")}, by, 0.6, state=state)
    for k, name in enumerate(by):
        expected = by_runs(s.compile(), "D.position", name, 0.6, state)
        assert found["end"][k] == pytest.approx(expected, rel=1e-6, abs=1e-8), name


def test_flexible_bodies_and_attitudes() -> None:
    soft = da.Material(E=2e9, nu=0.3, density=7850.0)
    rod = da.beam([[0, 0, 0], [1, 0, 0]], da.Section.circle(0.01), soft, elements=4, stiffening=True)
    s = da.System("bending")
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", rod))
    found = both(s, {"a": ("A.position", "final")}, ["arm.stiffness_factor", "A"], 0.2, state={"A": 0.3})
    expected = by_runs(s.compile(), "A.position", "A", 0.2, {"A": 0.3})
    assert found["a"][1] == pytest.approx(expected, rel=1e-6)
    top = da.System("top")
    body = top.body("b", da.cylinder(0.2, 0.1, mass=1.0))
    body.marker("tip", 0, 0, -0.3)
    top.connect("S", da.Spherical(), top.ground, "b.tip")
    top.initial("S", speed=(1.0, 0.5, 30.0))
    both(top, {"p": ("b.position", "final")}, ["b.mass", "b.tip.z", "b.inertia.zz"], 0.3)


def test_back_across_a_bounce() -> None:
    s = da.System("ball")
    s.connect("Z", da.Prismatic("z", lower=0.0, restitution=0.8), s.ground, s.body("b", da.sphere(0.1, mass=1.0)))
    h, e, g, t = 1.0, 0.8, 9.81, 1.0
    by = ["Z", "Z.restitution", "b.mass"]
    found = da.sensitivity(s, {"z": ("Z.position", "final")}, by, t, state={"Z": h}, mode="adjoint")
    fall, v = np.sqrt(2 * h / g), np.sqrt(2 * g * h)
    after = t - fall
    by_height = e * v / (2 * h) * after - (e * v - g * after) * fall / (2 * h)
    assert found["z"] == pytest.approx([by_height, v * after, 0.0], abs=1e-8)


def test_many_names_and_one_output_go_back_and_few_names_forwards() -> None:
    model = arm(3, np.random.default_rng(3)).compile()
    names = [name for name in model.parameter_names if name.endswith((".mass", "stiffness", ".x", ".yy"))]
    few = da.sensitivity(model, {"a": ("H2.position", "final")}, names[:4], 0.2, state={"H0": 0.2})
    many = da.sensitivity(model, {"a": ("H2.position", "final")}, names, 0.2, state={"H0": 0.2})
    assert len(names) > 8 and (few.mode, many.mode) == ("forward", "adjoint")
    assert many["a"][:4] == pytest.approx(few["a"], rel=1e-8)  # blocks and steps are those of other names
    over_time = da.sensitivity(model, ["H2.position"], names, 0.2, state={"H0": 0.2})
    assert over_time.mode == "forward"
    with pytest.raises(da.ModelError, match="'forward' or 'adjoint'"):
        da.sensitivity(model, ["H2.position"], names, 0.2, mode="reverse")


def test_a_parameter_at_the_limit_of_what_is_permitted() -> None:
    """A damping of zero cannot be negative: outputs of positions have derivatives by it all the same."""
    s = da.System("pendulum")
    bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("y"), s.ground, bob)
    s.connect("tip_joint", da.Fixed(), bob.at(0.3, 0, -0.9), s.body("tip", mass=0.1))
    s.connect("k", da.TorsionSpring(stiffness=3.0), "A")  # without damping
    by, state = ["k.damping", "k.stiffness"], {"A": 1.0}
    found = both(s, {"z": ("tip.position.z", "final")}, by, 1.0, state=state)
    h = 1e-4
    ends = [
        da.simulate(s, 1.0, state=state, parameters={"k.damping": k * h}, rtol=1e-12)["tip.position.z"][-1]
        for k in range(3)
    ]
    expected = (-3 * ends[0] + 4 * ends[1] - ends[2]) / (2 * h)  # off by h^2 times the third derivative / 3
    assert float(found["z"][0]) == pytest.approx(float(expected), rel=1e-5)


def test_starts_follow_lengths_and_start_values_as_new_starts_do() -> None:
    model = rocker().compile()
    given = {"A": 0.7, "A.speed": 0.5}
    start = start_state(model, given, 0.0)
    by = ["l1", "l4", "A", "A.speed", "crank.mass"]
    found = initial_state_derivatives(model, start, given, by)
    assert set(found) == set(by)
    for name in by:
        sides = []
        for h in (1e-5, -1e-5):
            number = name in model.parameter_names
            other = model.conditions().perturbed(name, h).model if number else model
            wish = given if number else {**given, name: given[name] + h}
            moved = start_state(other, wish, 0.0)
            sides.append(np.concatenate([moved.q, moved.v, moved.x]))
        assert found[name] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=2e-8), name


def test_a_number_that_opens_a_loop_is_refused() -> None:
    with pytest.raises(da.errors.GradientError, match=r"by 'A.first.rx': it opens"):
        da.sensitivity(rocker(), {"a": ("A.position", "final")}, ["l1", "A.first.rx"], 0.1, state={"A": 0.7})


def test_starts_that_loops_do_not_decide_are_left_to_others() -> None:
    model = rocker().compile()
    start = start_state(model, None, 0.0)
    assert initial_state_derivatives(model, start, None, ["l1"]) == {}


def test_states_between_steps_are_those_of_the_dense_output() -> None:
    s = arm(3, np.random.default_rng(5))
    run = da.simulate(s, 1.0, state={"H0": 1.0}, rtol=1e-10)
    t = np.linspace(0.01, 0.99, 37)
    known = run.at(t)
    q, v, _ = interpolated_states(run, run.step_times)(t)
    assert np.abs(q - known.q).max() < 1e-8 and np.abs(v - known.v).max() < 1e-7


def hanging() -> da.System:
    """Return a four-bar that hangs, held by a spring."""
    s = rocker()
    s.connect("spring", da.TorsionSpring(stiffness=30.0, damping=0.4), "A")
    return s


def test_equilibria_follow_lengths_masses_and_springs() -> None:
    model = hanging().compile()
    by = ["l1", "l3", "coupler.mass", "spring.stiffness", "gravity.y"]
    found = da.sensitivity(
        model, {"a": "A.position", "p": "coupler.position"}, by, task="equilibrium", state={"A": 0.7}
    )
    assert found.mode == "implicit"
    for k, name in enumerate(by):
        h = 1e-4 * abs(model.parameters[model.parameter_names[name]])
        sides = []
        for sign in (1, -1):
            moved = {name: model.parameters[model.parameter_names[name]] + sign * h}
            rest = da.equilibrium(model, state={"A": 0.7}, parameters=moved)
            sides.append(rest.q[model.coordinate_names.index("A")])
        assert found["a"][k] == pytest.approx((sides[0] - sides[1]) / (2 * h), rel=1e-5, abs=1e-7), name
    assert found["p"].shape == (3, len(by))


def test_frequencies_follow_stiffness_and_length_as_closed_forms_say() -> None:
    s = da.System("pendulum")
    length = s.parameter("length", 0.8)
    bob = s.body("bob", mass=2.0, com=(0, 0, -length), inertia=(0.03, 0.03, 0.03))
    s.connect("A", da.Revolute("y"), s.ground, bob)
    s.connect("k", da.TorsionSpring(stiffness=5.0), "A")
    found = da.sensitivity(s, {"f": "natural_frequencies"}, ["k.stiffness", "length"], task="modes")
    m, g, k, about = 2.0, 9.81, 5.0, 0.03 + 2.0 * 0.8**2
    square = (k + m * g * 0.8) / about
    by_length = (m * g - square * 2 * m * 0.8) / about
    expected = np.array([1 / about, by_length]) / (2 * np.sqrt(square)) / (2 * np.pi)
    assert found["f"][0] == pytest.approx(expected, rel=1e-8)


def test_rest_without_a_derivative_is_refused() -> None:
    s = da.System("sliding", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(1, 1, 1, mass=1.0)))
    with pytest.raises(da.errors.GradientError, match="no stiffness"):
        da.sensitivity(s, ["X.position"], "b.mass", task="equilibrium")
    twins = da.System("twins", gravity=(0, 0, 0))
    for k in range(2):
        twins.connect(f"X{k}", da.Prismatic("x"), twins.ground, twins.body(f"b{k}", da.box(1, 1, 1, mass=1.0)))
        twins.connect(f"k{k}", da.JointSpring(stiffness=4.0), f"X{k}")
    with pytest.raises(da.errors.GradientError, match="the same eigenvalue"):
        da.sensitivity(twins, ["frequencies"], "b0.mass", task="modes")
    for more, said in (
        ({"task": "rest"}, "'modes'"),
        ({"task": "modes", "t_end": 1.0}, "has no end"),
        ({}, "end time of the run"),
    ):
        with pytest.raises(da.ModelError, match=said):
            da.sensitivity(s, ["X.position"], "b.mass", **more)


def test_outputs_of_bodies_and_connections() -> None:
    s = arm(3, np.random.default_rng(3))
    state = {f"H{k}": 0.3 for k in range(3)}
    by = ["b0.mass", "b1.end.x", "b2.end.y", "b0.end.rz", "k1.stiffness", "H1"]
    names = ("b2.position.x", "b2.end.position.norm", "b2.end.acceleration.y", "H1.force.z", "H2.acceleration")
    found = both(s, {name: (name, "final") for name in names}, by, 0.4, state=state)
    for name in names:
        for k, direction in enumerate(by):
            expected = by_runs(s.compile(), name, direction, 0.4, state)
            size = 1e-6 * np.abs(found[name]).max()
            assert found[name][k] == pytest.approx(expected, rel=1e-6, abs=size), (name, direction)


def test_orientations_and_undetermined_loads_of_a_loop() -> None:
    """Loads of a spatial loop in a plane are shares of least norm in part: their derivatives are differences."""
    s, state = rocker(), {"A": 0.7, "A.speed": 0.5}
    names = (
        "rocker.angle",
        "coupler.quaternion",
        "crank.angular_velocity",
        "D.force.x",
        "C.force.norm",
        "coupler.velocity",
    )
    both(s, {name: (name, "mean") for name in names}, ["l1", "l3", "crank.mass", "A", "e.c"], 0.3, state=state)
    expected = by_runs(s.compile(), "rocker.angle", "l1", 0.3, state)
    found = da.sensitivity(s, {"y": ("rocker.angle", "final")}, ["l1"], 0.3, state=state)
    assert found["y"][0] == pytest.approx(expected, rel=1e-6)
