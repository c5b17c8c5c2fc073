"""One system, one answer: what is integrated is what every call computes and every name reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from systems.flexible_systems import beam
from systems.random_elements import add_random_elements
from systems.random_trees import random_system

import dalembert as da
from dalembert.library.mechanisms import door, four_bar, slider_crank

Array = NDArray[np.float64]


def swing(**data: float) -> da.System:
    """A rod on a joint with a spring and a damper, without gravity."""
    s = da.System("swing", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y", **data), s.ground, s.body("a", da.rod(2.0, 3.0)))
    s.connect("k", da.TorsionSpring(7.0, 0.5), "A")
    return s


def damped_four_bar(geared: str = "") -> da.System:
    """A four-bar with damping at every joint, which is cut at D; some joints may have an armature."""
    s = da.System("four-bar", gravity=(0, -9.81, 0))
    a, b, c = (s.body(name, da.rod(x, 1.0)) for name, x in zip("abc", (1.0, 2.5, 2.0), strict=True))
    pins = {name: da.Revolute("z", damping=0.5, armature=0.3 if name in geared else None) for name in "ABCD"}
    s.connect("A", pins["A"], s.ground, a)
    s.connect("B", pins["B"], a.at(1.0, 0, 0), b)
    s.connect("C", pins["C"], b.at(2.5, 0, 0), c.at(2.0, 0, 0))
    s.connect("D", pins["D"], s.ground.at(2.2, 0, 0), c)
    s.initial("A", position=1.0, speed=4.0)
    return s


# ---- elements, damping and armature in every call


def test_inverse_dynamics_includes_springs_and_dampers() -> None:
    model = swing().compile()
    assert da.inverse_dynamics(model, [0.4], [1.0], [0.0])["A"] == pytest.approx(7 * 0.4 + 0.5)
    assert model.inverse_dynamics([0.4], [1.0], [0.0]) == pytest.approx(7 * 0.4 + 0.5)
    assert model.inverse_dynamics([0.4], [1.0], [0.0], bare=True) == pytest.approx(0.0, abs=1e-15)
    assert model.bias_forces([0.4], [1.0]) == pytest.approx(7 * 0.4 + 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_all_kernels_evaluate_the_system_as_described(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4)
    plain = system.compile()
    s = plain.random_state(rng)
    add_random_elements(system, plain, s.q, rng, 6)
    model = system.compile()
    t, tau = 0.3, rng.normal(size=model.nv)
    dynamics = model.dynamics(t, s.q, s.v, tau=tau)
    a = model.forward_dynamics(s.q, s.v, tau, t=t)
    size = np.abs(a).max()
    assert np.abs(a - dynamics.a).max() <= 1e-12 * size
    assert np.abs(model.inverse_dynamics(s.q, s.v, a, t=t) - tau).max() < 1e-9 * (1 + np.abs(tau).max() + size)
    efforts = da.inverse_dynamics(model, s.q, s.v, a, t=t)
    assert np.abs(efforts.tau - tau).max() < 1e-9 * (1 + size)
    M, b = model.mass_matrix(s.q), model.bias_forces(s.q, s.v, t=t)
    assert np.abs(M @ a + b - tau).max() < 1e-9 * (1 + np.abs(M @ a).max())


def test_a_computed_torque_follows_the_motion_that_it_was_computed_for() -> None:
    s = da.System("arm")
    upper, fore = s.body("upper", da.rod(0.4, 2.0)), s.body("fore", da.rod(0.3, 1.0))
    s.connect("shoulder", da.Revolute("y", damping=0.8, armature=0.2), s.ground, upper)
    s.connect("elbow", da.Revolute("y", damping=0.5), upper.at(0.4, 0, 0), fore)
    model = s.compile()

    def wanted(t: float) -> tuple[Array, Array, Array]:
        angle = np.array([2.0, 3.0]) * t
        return 0.5 * (1 - np.cos(angle)), 0.5 * np.sin(angle) * [2, 3], 0.5 * np.cos(angle) * [4, 9]

    result = da.simulate(model, 2.0, control=lambda state: model.inverse_dynamics(*wanted(state.t)))
    assert np.abs(result.q[-1] - wanted(2.0)[0]).max() < 1e-6
    assert np.abs(result["tau"] - result["shoulder.effort"][:, None])[:, 0].max() < 1e-12


def test_energy_is_that_of_the_simulation() -> None:
    s = swing()
    s.initial("A", position=0.5, speed=1.0)
    result = da.simulate(s, 1.0)
    energy = result.model.energy(result.q, result.v)
    assert np.abs(energy.kinetic + energy.potential - result["energy.total"]).max() < 1e-12
    assert energy.potential[0] == pytest.approx(7 * 0.5**2 / 2)
    bare = result.model.energy(result.q, result.v, bare=True)
    assert np.abs(bare.potential).max() == 0.0


# ---- loads read in all ways


def test_a_moment_of_damping_at_a_cut_joint_is_the_same_everywhere() -> None:
    s = damped_four_bar()
    assert [loop_constraint.name for loop_constraint in s.compile().forest.loop_constraints] == ["D"]
    s.connect("felt", da.Element("joint", "0", inputs={"m": da.Reaction("D", "moment.z")}, signals={"y": "m"}), "A")
    result = da.simulate(s, 0.3, times=np.linspace(0, 0.3, 7))
    moment = result["D.moment"][:, 2]
    assert np.abs(moment + 0.5 * result["D.speed"]).max() < 1e-9
    assert np.abs(moment).max() > 0.5
    for k, t in enumerate(result.t):
        loads = result.model.connection_loads(result.q[k], result.v[k], t=t)
        assert loads["D"][2] == pytest.approx(moment[k], abs=1e-9)
        assert loads["D"][3:] == pytest.approx(result["D.force"][k], abs=1e-8)
    assert np.abs(result["felt.y"] - moment).max() < 1e-9


def test_efforts_of_drives_depend_on_element_states() -> None:
    s = swing()
    s.connect("memory", da.Maxwell(20.0, 4.0), "A")
    s.drive("A", position=da.Harmonic(0.4, 5.0))
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 6))
    model = result.model
    for k, t in enumerate(result.t):
        effort = model.drive_efforts(t, result.q[k], result.v[k], x=result.x[k])["A"]
        assert effort == pytest.approx(result["A.effort"][k], abs=1e-9)
        loads = model.connection_loads(result.q[k], result.v[k], t=t, x=result.x[k])
        assert loads["A"][:3] == pytest.approx(result["A.moment"][k], abs=1e-9)
    assert np.abs(result["memory.effort"]).max() > 1.0


def test_ida_includes_elements_at_nodes_of_flexible_bodies() -> None:
    pytest.importorskip("sksundae")
    s = da.System("beam")
    body = s.body("beam", beam(6, stiffness=(300.0, 300.0), nm=2))
    s.connect("A", da.Revolute("y"), s.ground, body)
    s.connect("spring", da.SpringDamper(40.0, length=0.2), s.ground.at(0.5, 0, 0.6), body.at(node=6))
    times = np.linspace(0, 0.6, 4)
    ours, theirs = (da.simulate(s, 0.6, times=times, method=m, rtol=1e-9, atol=1e-10) for m in ("radau", "ida"))
    assert np.abs(ours.q - theirs.q).max() < 1e-5
    assert np.abs(ours["A.position"]).max() > 0.05


# ---- data of joints


def test_an_armature_is_inertia() -> None:
    model = swing(armature=0.7).compile()
    inertia = 3.0 * 2.0**2 / 3
    assert model.mass_matrix([0.2]) == pytest.approx(inertia + 0.7)
    assert model.forward_dynamics([0.4], [0.0]) == pytest.approx(-7 * 0.4 / (inertia + 0.7))
    s = swing(armature=0.7)
    s.initial("A", position=0.4, speed=2.0)
    result = da.simulate(s, 1.0)
    assert np.abs(result["energy.balance"]).max() < 1e-6
    assert result["energy.kinetic"][0] == pytest.approx((inertia + 0.7) * 2.0**2 / 2)


def test_an_armature_keeps_its_joint_in_the_tree() -> None:
    assert [
        loop_constraint.name for loop_constraint in damped_four_bar(geared="D").compile().forest.loop_constraints
    ] == ["C"]
    assert [
        loop_constraint.name for loop_constraint in damped_four_bar(geared="ABCD").compile().forest.loop_constraints
    ] == ["D.weld"]


def test_all_joints_of_a_loop_may_have_an_armature() -> None:
    """All joints of a parallelogram turn at one rate: I phi'' = m g l cos(phi), with four armatures in I."""
    s = da.System("parallelogram")
    pin = da.Revolute("y", armature=0.1)
    a, b, c = (s.body(name, da.rod(length, 1.0)) for name, length in (("a", 0.5), ("b", 1.0), ("c", 0.5)))
    s.connect("A", pin, s.ground, a)
    s.connect("B", pin, a.at(0.5, 0, 0), b)
    s.connect("C", pin, b.at(1, 0, 0), c.at(0.5, 0, 0))
    s.connect("D", pin, s.ground.at(1, 0, 0), c)
    s.initial("A", position=1.0)
    s.initial("B", position=-1.0)
    result = da.simulate(s, 1.0, rtol=1e-10, atol=1e-12)
    inertia = 2 * 0.5**2 / 3 + 0.5**2 + 4 * 0.1
    phi = solve_ivp(lambda t, y: [y[1], 9.81 * np.cos(y[0]) / inertia], (0, 1), [1.0, 0.0], rtol=1e-11, atol=1e-12)
    assert result["A.position"][-1] == pytest.approx(phi.y[0, -1], abs=1e-8)
    assert result["D.speed"][-1] == pytest.approx(phi.y[1, -1], abs=1e-8)


def test_an_armature_acts_wherever_its_loop_is_cut() -> None:
    """A wheel that turns with the rocker, which D turns against ground, does the same as an armature at D."""
    s = damped_four_bar(geared="D")
    wheel = damped_four_bar()
    wheel.connect("weld", da.Fixed(), wheel.bodies["c"], wheel.body("wheel", inertia=(0.15, 0.15, 0.3)))
    times = np.linspace(0, 0.5, 6)
    geared, with_wheel = (da.simulate(system, 0.5, times=times, rtol=1e-11, atol=1e-12) for system in (s, wheel))
    for name in ("A.position", "D.position", "D.speed"):
        assert np.abs(geared[name] - with_wheel[name]).max() < 1e-8


def test_joint_data_take_effect_or_add_a_note() -> None:
    s = swing(lower=-0.1, upper=0.5, friction=0.2, max_speed=0.1, max_effort=3.0)
    s.initial("A", position=0.2, speed=3.0)
    result = da.simulate(s, 1.0)
    assert result["A.position"].max() <= 0.5 + 1e-9
    notes = "\n".join(result.stats.notes)
    assert "A reached its upper limit 0.5 rad" in notes and "max_speed 0.1 rad/s" in notes
    off = da.simulate(s, 1.0, friction="off", stops="off")
    assert "upper limit 0.5 rad and reached" in "\n".join(off.stats.notes)
    assert da.simulate(swing(lower=-0.1), 0.1).stats.notes == []
    many = da.simulate(s, 1.0, state=da.State(q=[[0.3], [0.2]], v=[[3.0], [0.0]]))
    assert "upper limit" in "\n".join(many.stats.notes)


# ---- no result depends on the cut


def test_speeds_and_accelerations_can_be_held_at_a_cut_joint() -> None:
    model = slider_crank().compile()
    assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == ["D"]
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.zeros(model.nv), hold={"D": 0.3})
    assert model.cut_motion(q, v, np.zeros(model.nv))[1] == pytest.approx(0.3)
    assert np.abs(model.constraint_jacobian(q) @ v).max() < 1e-12
    a = da.consistent_accelerations(model, q, v, np.zeros(model.nv), hold={"D": -0.2})
    assert model.cut_motion(q, v, a)[2] == pytest.approx(-0.2)
    assert da.mobility(model, state=q).determines("D")


def test_an_effort_can_be_asked_of_a_cut_joint() -> None:
    model = slider_crank().compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.zeros(model.nv), hold={"D": 0.3})
    a = da.consistent_accelerations(model, q, v, np.zeros(model.nv), hold={"D": -0.2})
    at_crank = da.inverse_dynamics(model, q, v, a, actuators=["A"])["A"]
    at_slider = da.inverse_dynamics(model, q, v, a, actuators=["D"])["D"]
    power = at_crank * v[model.v_slice("A")]
    assert at_slider * 0.3 == pytest.approx(power)


def test_a_start_at_a_cut_joint_is_met() -> None:
    s = slider_crank()
    s.initial("A", position=0.5, guess=True)
    s.initial("D", position=0.71, speed=0.4)
    result = da.simulate(s, 0.1)
    assert result["D.position"][0] == pytest.approx(0.71, abs=1e-12)
    assert result["D.speed"][0] == pytest.approx(0.4, abs=1e-12)
    assert result.stats.notes == []


def test_cut_joints_are_in_tables_and_default_plots(tmp_path: Path) -> None:
    result = da.simulate(slider_crank(), 0.1, times=[0.0, 0.05, 0.1])
    result.to_csv(tmp_path / "motion.csv")
    heading = (tmp_path / "motion.csv").read_text().splitlines()[0].split(",")
    assert {"A.position", "D.position", "A.speed", "D.speed"} <= set(heading)
    assert {line.get_label() for panel in result.plot() for line in panel.get_lines()} == {"A", "B", "C", "D"}
    result.save(tmp_path / "motion.nc")
    assert np.array_equal(
        da.Result.load(tmp_path / "motion.nc", model=result.model)["D.position"], result["D.position"]
    )


# ---- shares that are not unique


def test_shares_that_are_not_unique_are_marked() -> None:
    result = da.simulate(door(), 0.1, times=[0.0, 0.1])
    assert not result.is_determined("low.force")[:, 2].any()
    assert result.is_determined("low.position").all()
    assert "not unique" in result.describe("low.force")
    assert "not unique" not in result.describe("low.position")
    labels = [line.get_label() for panel in result.plot("low.force", "low.position") for line in panel.get_lines()]
    assert "low.force.z (not unique)" in labels
    assert "low.position" in labels


def test_the_effort_at_a_joint_under_control_is_what_acts_there() -> None:
    s = da.System("free", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y"), s.ground, s.body("a", da.rod(2.0, 3.0)))
    result = da.simulate(s, 1.0, control=lambda state: {"A": 1.0 + state.t})
    assert np.abs(result["A.effort"] - 1.0 - result.t).max() < 1e-12
    assert np.abs(result["A.moment"][:, 1] - 1.0 - result.t).max() < 1e-9


def test_a_start_that_loops_do_not_permit_is_changed_least_and_reported() -> None:
    s = four_bar()
    s.initial("A", position=2.0, speed=10.0)
    result = da.simulate(s, 0.01)
    assert result["A.position"][0] == 2.0
    assert result["A.speed"][0] == pytest.approx(10.0, abs=1e-12)
    assert result.stats.notes == []
    s.initial("D", position=0.1)
    notes = da.simulate(s, 0.01).stats.notes
    assert len(notes) == 2
    assert "D was to start at 0.1 rad and starts at" in notes[1]
