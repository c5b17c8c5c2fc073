"""Derivatives of runs: closed forms, digits of an independent program, and differences of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.pendulums import rod_pendulum

import dalembert as da
from dalembert.errors import GradientError


def differences(model: da.Model, output: str, by: str, t: float, **how: Any) -> np.ndarray:
    """Return the derivative of an output at the end by central differences of runs, to about 1e-8."""
    state, parameters = how.pop("state", None) or {}, how.pop("parameters", None) or {}

    def end(change: float) -> np.ndarray:
        if by in model.parameter_names:
            value = parameters.get(by, model.parameters[model.parameter_names[by]])
            moved = {"state": state or None, "parameters": {**parameters, by: value + change}}
        else:
            moved = {"state": {**state, by: state[by] + change}, "parameters": parameters}
        run = da.simulate(model, t, rtol=1e-12, atol=1e-13, **moved, **how)
        return np.asarray(run[output][-1])

    h = 1e-3 * (abs(model.parameters[model.parameter_names[by]]) or 1.0) if by in model.parameter_names else 1e-3
    return (8 * (end(h) - end(-h)) - (end(2 * h) - end(-2 * h))) / (12 * h)


def agree(system: da.System, output: str, by: list[str], t: float, tolerance: float = 1e-7, **how: Any) -> None:
    model = system.compile()
    found = da.sensitivity(model, {"y": (output, "final")}, by, t, **how)
    for k, name in enumerate(by):
        expected = differences(model, output, name, t, **how)
        size = np.abs(expected).max() + 1e-3
        assert np.abs(found["y"][..., k] - expected).max() < tolerance * size, name


def test_a_spatial_chain_with_springs_that_swings_far() -> None:
    s = da.System("chain")
    end = s.ground.origin
    for k, joint in enumerate((da.Revolute("y"), da.Universal(), da.Revolute("z"), da.Spherical())):
        body = s.body(f"b{k}", mass=0.6 + 0.1 * k, com=(0.2, 0.01, 0.01), inertia=(2e-3, 6e-3, 7e-3))
        s.connect(f"H{k}", joint, end, body)
        end = body.at(0.4, 0, 0)
    s.connect("k", da.TorsionSpring(stiffness=3.0, damping=0.05), "H0")
    by = ["b0.mass", "b2.com.y", "b3.mass", "k.stiffness", "k.damping"]
    agree(s, "H0.position", by, 1.0, state={"H0": 0.9, "H2": 0.4, "H2.speed": 2.0})


def fourbar() -> da.System:
    """A four-bar whose derivatives were worked out by a complex step through a program in absolute angles."""
    s = da.System("four-bar", gravity=(0, -9.81, 0))
    lengths = [s.parameter(f"l{k}", value) for k, value in enumerate((0.4, 1.1, 0.9, 1.0), 1)]
    masses = [s.parameter(f"m{k}", value) for k, value in enumerate((1.0, 2.0, 1.5), 1)]

    def rod(name: str, length: Any, mass: Any) -> da.Body:
        across = mass * length**2 / 12
        return s.body(name, mass=mass, com=(length / 2, 0, 0), inertia=(1e-9, across, across))

    crank, coupler, rocker = (rod(n, lengths[k], masses[k]) for k, n in enumerate(("crank", "coupler", "rocker")))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(lengths[0], 0, 0), coupler)
    s.connect("D", da.Revolute("z"), s.ground.at(lengths[3], 0, 0), rocker)
    s.connect("C", da.Revolute("z"), coupler.at(lengths[1], 0, 0), rocker.at(lengths[2], 0, 0))
    s.connect("spring", da.TorsionSpring(stiffness=s.parameter("k", 8.0), rest=1.2), "D")
    s.connect(
        "motor", da.Element("joint", "torque", parameters={"torque": s.parameter("torque", 6.0)}, active=True), "A"
    )
    return s


def test_four_bar_by_lengths_masses_spring_torque_and_start() -> None:
    by = ["l1", "l2", "l3", "l4", "m1", "m2", "m3", "k", "torque", "A", "A.speed"]
    s = fourbar()
    found = da.sensitivity(
        s, {"rocker": ("D.position", "final")}, by, 1.0, state={"A": 0.7, "A.speed": 0.5}, rtol=1e-11
    )
    expected = [39.2946087, 7.9034024, -7.2090038, -6.1000438, 2.0394833, 2.8248351, 0.4554823, 0.0841838, -1.5076412]
    expected += [-2.0560481, -1.0077226]
    assert found["rocker"] == pytest.approx(expected, abs=1e-6)


def test_a_ball_that_bounces_follows_its_closed_form() -> None:
    s = da.System("ball")
    s.connect("Z", da.Prismatic("z", lower=0.0, restitution=0.8), s.ground, s.body("b", da.sphere(0.1, mass=1.0)))
    h, e, g, t = 1.0, 0.8, 9.81, 1.0
    found = da.sensitivity(s, {"z": ("Z.position", "final")}, ["Z", "Z.restitution", "b.mass"], t, state={"Z": h})
    fall, v = np.sqrt(2 * h / g), np.sqrt(2 * g * h)
    after = t - fall  # z = e v after - g after^2 / 2
    d_fall, d_v = fall / (2 * h), v / (2 * h)
    by_height = e * d_v * after - (e * v - g * after) * d_fall
    assert found["z"] == pytest.approx([by_height, v * after, 0.0], abs=1e-8)


def test_a_pendulum_at_rest_has_the_derivatives_of_its_oscillation() -> None:
    s = rod_pendulum()
    found = da.sensitivity(s, ["A.position"], "A", 10.0, times=[0.0, 4.0, 10.0], state={"A": np.pi / 2})
    w = np.sqrt(1.5 * 9.81)
    assert found["A.position"][:, 0] == pytest.approx(np.cos(w * np.array([0.0, 4.0, 10.0])), abs=1e-8)


def test_attitudes_and_free_bodies() -> None:
    top = da.System("top")
    body = top.body("b", da.cylinder(0.2, 0.1, mass=1.0))
    body.marker("tip", 0, 0, -0.3)
    top.connect("S", da.Spherical(), top.ground, "b.tip")
    top.initial("S", speed=(1.0, 0.5, 30.0))
    agree(top, "b.position", ["b.mass", "b.tip.z", "b.inertia.zz"], 0.3)
    free = da.System("free")
    box = free.body("b", da.box(0.2, 0.1, 0.3, mass=1.0))
    free.connect("F", da.Free(), free.ground, box)
    free.connect("k", da.SpringDamper(50.0, 1.0, 0.3), free.ground.at(0, 0, 1.0), box.at(0.1, 0.05, 0.15))
    agree(free, "b.angular_velocity", ["k.stiffness", "b.mass"], 0.5)


def test_element_states_and_their_numbers() -> None:
    s = da.System("maxwell")
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    law = da.Element("joint", "-k*(s - z)", states={"z": (0.0, "(s - z)*k/c")}, parameters={"k": 20.0, "c": 2.0})
    s.connect("e", law, "X")
    agree(s, "X.position", ["e.k", "e.c", "b.mass", "X.speed"], 2.0, state={"X": 0.3, "X.speed": 1.0})


def test_flexible_bodies() -> None:
    soft = da.Material(E=2e9, nu=0.3, density=7850.0)
    rod = da.beam([[0, 0, 0], [1, 0, 0]], da.Section.circle(0.01), soft, elements=4, stiffening=True)
    s = da.System("bending")
    arm = s.body("arm", rod)
    s.connect("A", da.Revolute("y"), s.ground, arm)
    agree(s, "A.position", ["arm.stiffness_factor", "gravity.z"], 0.2, 1e-6, state={"A": 0.3})


def test_forces_in_loops_and_driven_joints() -> None:
    from dalembert.library.mechanisms import slider_crank

    s = slider_crank()
    s.drive("A", position=da.laws.Polynomial([0.5, 3.0]))
    masses = [name for name in s.compile().parameter_names if name.endswith(".mass")]
    agree(s, "A.effort", [*masses[:2], "A.drive.coefficients[1]"], 0.3)


def test_friction_thresholds_and_events() -> None:
    s = sliding_block(friction=2.0)
    s.connect("k", da.JointSpring(stiffness=30.0), "X")
    agree(s, "X.position", ["X.friction", "k.stiffness", "X"], 0.8, state={"X": 0.5})
    s = da.System("relay")
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    law = da.Element("joint", "where(s > a, -F, F) - 0.3*ds", parameters={"a": 0.1, "F": 2.0}, active=True)
    s.connect("e", law, "X")
    agree(s, "X.position", ["e.a", "e.F", "X"], 0.7, state={"X": 0.5})

    def kick(now: Any) -> None:
        now.set("e.F", 5.0)

    reach = da.Event("reach", lambda state: state.q[0], value=0.3, action=kick)
    agree(s, "X.position", ["e.a", "X"], 0.7, state={"X": 0.5}, events=[reach])


def test_reductions_have_derivatives() -> None:
    s = rod_pendulum(damping=0.3)
    times = np.linspace(0, 1, 41)
    kinds = ("first", "final", "max", "min", "peak", "range", "mean", "rms", "integral")
    found = da.sensitivity(s, {k: ("A.speed", k) for k in kinds}, ["A.damping"], 1.0, times=times, state={"A": 0.3})

    def values(damping: float) -> Any:
        return da.sweep(
            s,
            {"A.damping": [damping]},
            t_end=1.0,
            times=times,
            outputs={k: ("A.speed", k) for k in kinds},
            state={"A": 0.3},
            rtol=1e-12,
        )

    up, down = values(0.3 + 1e-4), values(0.3 - 1e-4)
    for kind in kinds:
        expected = (up[kind].item() - down[kind].item()) / 2e-4
        assert found[kind][0] == pytest.approx(expected, abs=2e-7), kind
    assert found.to_xarray()["d max"].dims == ("by",)


def test_an_event_that_is_grazed_has_no_derivative() -> None:
    s = da.System("graze", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(1, 1, 1, mass=1.0)))
    s.connect("k", da.JointSpring(stiffness=np.pi**2), "X")  # 0.4 cos(pi t), at its height again at t = 2

    def soften(now: Any) -> None:
        now.set("k.stiffness", 1.0)

    touch = da.Event("touch", lambda state: state.q[0], value=0.4 - 1e-10, direction=1, action=soften)
    with pytest.raises(GradientError, match=r"'touch' at t = 1.9999.* has no derivative by 'X'"):
        da.sensitivity(s, ["X.position"], "X", 3.0, times=[0.0, 3.0], state={"X": 0.4}, rtol=1e-12, events=[touch])


def test_chaotic_sensitivity_adds_a_note() -> None:
    s = da.System("double pendulum")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1.0, 0, 0), lower)
    first = s.compile().coordinate_names[0]
    found = da.sensitivity(s, [f"{first}.position"], first, 12.0, times=[0.0, 12.0], rtol=1e-6)
    assert found.growth > 100
    assert (found.growth * 1e-6 > 1e-3) == any("predict no finite changes" in note for note in found.notes)


@pytest.mark.parametrize(
    ("outputs", "by", "more", "said"),
    [
        (["A.position"], ["bob.mas"], {}, "neither a parameter of the system"),
        (["A.position"], [], {}, "each once"),
        (["A.position"], ["bob.position"], {}, "components"),
        (["energy.dissipated"], ["bob.mass"], {}, "history of the run"),
        ([lambda r: 0.0], ["bob.mass"], {}, "names of outputs"),
        (["A.position"], ["bob.mass"], {"method": "scipy:RK45"}, "built-in method"),
        (["A.position"], ["bob.mass"], {"stream": "x"}, "not a setting of sensitivity"),
    ],
)
def test_what_is_refused(outputs: Any, by: Any, more: dict[str, Any], said: str) -> None:
    s = rod_pendulum(damping=0.1)
    with pytest.raises(da.ModelError, match=said):
        da.sensitivity(s, outputs, by, 1.0, **more)


def test_what_acts_by_the_past_is_refused() -> None:
    s = sliding_block()

    def control(state: da.State) -> dict[str, float]:
        return {"X": -2.0 * state.q[0]}

    agree(s, "X.position", ["X"], 1.0, state={"X": 1.0}, control=control)
    with pytest.raises(da.ModelError, match="derivatives of sampled values are not supported"):
        da.sensitivity(s, ["X.position"], "X", 1.0, state={"X": 1.0}, control=control, control_period=0.1)
    s.connect("d", da.Element("joint", "-2*u", inputs={"u": da.Delay("X.position", 0.1)}, active=True), "X")
    with pytest.raises(da.ModelError, match="derivatives of past states are not supported"):
        da.sensitivity(s, ["X.position"], "X", 1.0, state={"X": 1.0})


def test_a_reduced_vector_is_not_taken_for_one_over_time() -> None:
    s = rod_pendulum()
    found = da.sensitivity(
        s, {"r": ("bob.position", "final"), "q": "A.position"}, "bob.mass", 0.2, times=[0.0, 0.1, 0.2]
    )
    data = found.to_xarray()
    assert data["r"].dims == ("r [0]",) and data["q"].dims == ("time",)


def test_a_number_that_moves_a_jump_is_refused() -> None:
    s = sliding_block()
    law = da.Element("joint", "where(t < T, F, 0)", parameters={"T": 0.5, "F": 2.0}, active=True)
    s.connect("e", law, "X")
    found = da.sensitivity(s, {"x": ("X.position", "final")}, ["e.F"], 1.0)
    assert found["x"][0] == pytest.approx(0.375, abs=1e-9)
    with pytest.raises(da.ModelError, match="moves a discontinuity time of a law"):
        da.sensitivity(s, {"x": ("X.position", "final")}, ["e.T"], 1.0)


def test_inertia_of_a_thin_rod_which_has_no_neighbours_that_can_be() -> None:
    s = rod_pendulum()
    found = da.sensitivity(s, {"w": ("A.speed", "final"), "e": ("energy.kinetic", "final")}, ["bob.inertia.yy"], 0.5)
    about = 2.0 / 3  # w' = m g l/2 cos(q) / I: at constant energy balance, d(T)/dI = -(dV/dq) (dq/dI)
    one, two = (_swing(about + d) for d in (1e-5, -1e-5))
    assert found["w"][0] == pytest.approx((one[1] - two[1]) / 2e-5, rel=1e-6)
    kinetic = [0.5 * (about + d) * w**2 for d, (_, w) in ((1e-5, one), (-1e-5, two))]
    assert found["e"][0] == pytest.approx((kinetic[0] - kinetic[1]) / 2e-5, rel=1e-6)


def _swing(inertia: float) -> tuple[float, float]:
    """Return angle and speed after 0.5 s of a rod that falls from the horizontal, by SciPy."""
    from scipy.integrate import solve_ivp

    rates = lambda t, y: [y[1], 9.81 * np.cos(y[0]) / inertia]  # noqa: E731
    run = solve_ivp(rates, (0, 0.5), [0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14)
    return float(run.y[0, -1]), float(run.y[1, -1])


def test_derivatives_are_printed_as_a_table() -> None:
    s = da.System("pendulum")
    bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("y"), s.ground, bob)
    found = da.sensitivity(s, {"angle": "A.position", "tip": ("bob.position", "final")}, ["bob.mass", "A"], 1.0)
    lines = str(found).splitlines()
    assert lines[1].split() == ["angle", "(last)", "tip[0]", "tip[1]", "tip[2]"]
    assert lines[2].split()[:3] == ["value", f"{found.values['angle'][-1]:.6g}", "rad"]
    assert lines[4].split() == ["by", "A", f"{found['angle'][-1, 1]:.6g}", *(f"{d:.6g}" for d in found["tip"][:, 1])]
    modes = da.sensitivity(s, "eigenvalues", ["bob.mass"], task="modes")
    assert "by bob.mass" in str(modes)


def test_derivatives_where_a_joint_comes_to_rest_on_its_stop_are_the_same_backwards() -> None:
    """A joint on its stop cannot be moved off it by a little; no parameter does that, and derivatives exist."""
    s = da.System("stop")
    upper, lower = s.body("upper", da.rod(0.5, 1.0)), s.body("lower", da.rod(0.5, 1.0))
    s.connect("A", da.Revolute("y", friction=0.3, upper=1.0), s.ground, upper)
    s.connect("B", da.Revolute("y", friction=0.2), upper.at(0.5, 0, 0), lower)
    found = {
        way: da.sensitivity(s, {"end": ("B.position", "final")}, ["A.friction", "lower.mass"], 0.42, mode=way)
        for way in ("forward", "adjoint")
    }
    np.testing.assert_allclose(found["adjoint"]["end"], found["forward"]["end"], rtol=1e-9)
