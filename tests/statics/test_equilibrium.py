"""Equilibria of systems: against closed forms, least energies by SciPy, and motions that die away."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from systems.pendulums import rod_pendulum
from systems.random_loops import planar_loop, random_closed_system

import dalembert as da
from dalembert.errors import EquilibriumError
from dalembert.library.mechanisms import door, four_bar
from dalembert.statics import energy_descent, force_balance, stability

Array = NDArray[np.float64]
G = 9.81


def chain(n: int, length: float = 1.0, end: float | None = None) -> da.System:
    """A chain of n rods, hung up at one end or at both."""
    s, h = da.System("chain"), length / n
    before = s.ground.at(0, 0, 0)
    for k in range(n):
        link = s.body(f"link_{k}", da.rod(length=h, mass=1.0 / n))
        s.connect(f"pin_{k}", da.Revolute("y"), before, link)
        before = link.at(h, 0, 0)
    if end is not None:
        s.connect("end", da.Revolute("y"), s.ground.at(end, 0, 0), before)
    return s


# ---- trees and loops


def test_a_pendulum_hangs_down_from_wherever_it_starts() -> None:
    s = rod_pendulum()
    for start in (0.0, 3.0, -3.0, -np.pi / 2):
        eq = da.equilibrium(s, state={"A": start})
        assert np.cos(eq["A"] - np.pi / 2) == pytest.approx(1.0, abs=1e-15)
        assert eq.stable and eq.residual < 1e-12
    assert "unstable equilibrium" in eq.notes[0]
    up = da.equilibrium(s, state={"A": -1.5}, nearest=True)
    assert up["A"] == pytest.approx(-np.pi / 2, abs=1e-12)
    assert not up.stable and up.stable.verdict == "unstable"
    assert up.stable.eigenvalues.real.max() == pytest.approx(np.sqrt(1.5 * G), rel=1e-9)


def test_a_chain_of_many_links_hangs_as_a_catenary() -> None:
    length, span, n = 1.0, 0.6, 60
    a = brentq(lambda a: 2 * a * np.sinh(span / 2 / a) - length, 0.05, 2.0)
    sag = a * (np.cosh(span / 2 / a) - 1)
    eq = da.equilibrium(chain(n, length, span), state={"pin_0": 1.2})
    low = min(eq.model.pose(f"link_{k}", eq.q).position[2] for k in range(n))
    assert -low == pytest.approx(sag, rel=3e-4)  # of n links the error is 1 / n^2
    assert eq.reactions["end"][3] == pytest.approx(-eq.reactions["pin_0"][3])
    assert abs(eq.reactions["pin_0"][3]) == pytest.approx(G / length * a, rel=2e-3)  # horizontal tension, weight of a
    assert eq.stable


def spring_four_bar() -> da.System:
    s = four_bar()
    s.connect("k", da.SpringDamper(stiffness=300.0, length=0.2), s["coupler"].at(0.2, 0, 0), s.ground.at(0.1, 0.0, 0.9))
    return s


def test_a_four_bar_with_a_spring_rests_where_its_energy_is_least() -> None:
    s = spring_four_bar()
    model = s.compile()
    eq = da.equilibrium(s)

    def energy(angle: float) -> float:
        q = da.assemble(model, state=eq.q, hold={"A": angle}).q
        return float(model.energy(q, np.zeros(model.nv)).potential)

    least = minimize_scalar(energy, bracket=(eq["A"] - 0.02, eq["A"] + 0.01), tol=1e-12)
    assert eq["A"] == pytest.approx(least.x, abs=1e-6)  # of energies only half the digits are left
    assert eq.energy <= least.fun + 1e-10
    assert eq.stable
    assert np.abs(model.dynamics(0.0, eq.q, eq.v).a).max() < 1e-9


@pytest.mark.parametrize("seed", range(1, 5))
def test_random_loops_with_springs_rest_where_damped_motion_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = planar_loop(rng, 5) if seed % 2 else random_closed_system(rng, 4, 1)
    s = closed.system
    bodies = list(s.bodies.values())
    for k, body in enumerate(3 * bodies):
        spring = da.SpringDamper(stiffness=400.0, damping=300.0, length=0.1)
        s.connect(f"spring_{k}", spring, body.at(*rng.normal(size=3)), s.ground.at(*rng.normal(size=3)))
    model = s.compile()
    start = da.start_state(model, da.State(*_of_tree(closed, model)))
    eq = da.equilibrium(model, state=start)
    assert eq.stable and eq.residual < 1e-9
    assert np.abs(model.dynamics(0.0, eq.q, eq.v).a).max() < 1e-7
    near = model.integrate(eq.q, 0.02 * _allowed(model, eq.q, rng))
    slowest = -float(eq.stable.eigenvalues.real.max())
    end = da.simulate(model, 12.0 / slowest, state=da.State(q=near, v=np.zeros(model.nv)), rtol=1e-7).final_state
    assert np.abs(model.difference(eq.q, end.q)).max() < 1e-4


def _of_tree(closed: object, model: da.Model) -> tuple[Array, Array]:
    from systems.random_loops import tree_state

    q, v = tree_state(closed.system, model.forest, closed.R, closed.p, closed.V)  # type: ignore[attr-defined]
    return q, 0.0 * v


def _allowed(model: da.Model, q: Array, rng: np.random.Generator) -> Array:
    v: Array = da.consistent_velocities(model, q, rng.normal(size=model.nv))
    return v / np.abs(v).max()


def test_shared_loads_of_a_door_at_rest_are_marked() -> None:
    eq = da.equilibrium(door(), state={"low": 0.0})
    assert not eq.reactions.determined["low"].all()
    both = eq.reactions["low"][5] + eq.reactions["high"][5]
    assert both == pytest.approx(sum(b.mass for b in eq.model.system.bodies.values()) * G)
    assert eq.stable.verdict == "marginal" and len(eq.free) == 1
    assert "start values were kept" in eq.notes[-1]


def test_reactions_of_a_simple_frame_by_hand() -> None:
    """A beam of 4 m on a pin and a roller, 100 N a metre from the pin; without its own weight."""
    s = da.System("beam", gravity=(0, 0, 0))
    beam = s.body("beam", da.rod(length=4.0, mass=1.0))
    s.connect("pin", da.Revolute("y"), s.ground, beam)
    s.connect("roller", da.PointOnPlane("z"), s.ground.at(4, 0, 0), beam.at(4, 0, 0))
    s.connect("load", da.Load(force=(0, 0, -100.0)), beam.at(1, 0, 0))
    eq = da.equilibrium(s)
    assert eq.stable.reason == "no degree of freedom"
    assert eq.reactions["pin"][5] == pytest.approx(75.0)
    assert eq.reactions["roller"][5] == pytest.approx(25.0)
    assert all(eq.reactions.determined["pin"])


def test_a_stiff_top_on_springs_is_found_in_space() -> None:
    """A free body on three springs, as heavy as they like: attitudes are not coordinates."""
    s = da.System("platform")
    top = s.body("top", da.box(1.0, 1.0, 0.1, mass=5.0))
    s.connect("F", da.Free(), s.ground, top)
    for k, angle in enumerate(2 * np.pi * np.arange(3) / 3 + 0.2):
        x, y = np.cos(angle), np.sin(angle)
        s.connect(f"k_{k}", da.SpringDamper(500.0, 0.0, 0.8), s.ground.at(x, y, 1.0), top.at(0.4 * x, 0.4 * y, 0))
    eq = da.equilibrium(s, state={"top.position": (0.1, 0.0, 0.3), "top.rotation": ("x", 0.3)})
    a = eq.model.dynamics(0.0, eq.q, eq.v).a
    assert np.abs(a).max() < 1e-9 and eq.stable
    z = eq.model.pose("top", eq.q).position
    length = np.sqrt(0.6**2 + (1 - z[2]) ** 2)  # by symmetry
    assert 3 * 500 * (length - 0.8) * (1 - z[2]) / length == pytest.approx(5 * G)
    assert z[:2] == pytest.approx([0, 0], abs=1e-9)


def rubbing_four_bar(**joints: dict[str, float]) -> da.System:
    """A four-bar in the x-z plane, cut at D; with data for its joints."""
    s = da.System("four-bar")
    a, b, c = (s.body(name, da.rod(length, 1.0)) for name, length in (("a", 0.3), ("b", 0.8), ("c", 0.6)))
    ends = {"A": (s.ground, a), "B": (a.at(0.3, 0, 0), b), "C": (b.at(0.8, 0, 0), c.at(0.6, 0, 0))}
    for name, (first, second) in {**ends, "D": (s.ground.at(0.7, 0, 0), c)}.items():
        s.connect(name, da.Revolute("y", **joints.get(name, {})), first, second)
    return s


# ---- what holds on one side only


def test_stops_hold_what_presses_against_them_and_let_go_what_pulls() -> None:
    eq = da.equilibrium(rod_pendulum(lower=-1.0, upper=1.0))
    assert eq["A"] == 1.0
    assert eq.stops == {"A": pytest.approx(-G * np.cos(1.0))}
    away = da.equilibrium(rod_pendulum(lower=0.5, upper=4.0), state={"A": 4.0})
    assert away["A"] == pytest.approx(np.pi / 2) and away.stops == {}


def test_a_stop_where_a_loop_is_cut_holds() -> None:
    free = da.equilibrium(rubbing_four_bar(), state={"A": -0.5})
    start = da.start_state(free.model, {"A": -0.5})
    here = float(free.model.cut_motion(start.q, start.v, 0 * start.v)[0][0])
    bound = 0.5 * (free["D"] + here)
    side = "upper" if free["D"] > here else "lower"
    eq = da.equilibrium(rubbing_four_bar(D={side: bound}), state={"A": -0.5})
    assert eq["D"] == pytest.approx(bound, abs=1e-10)
    assert list(eq.stops) == ["D"]
    held = da.equilibrium(free.model, hold={"D": bound}, state={"A": -0.5})
    assert eq.stops["D"] == pytest.approx(held.efforts["D"])
    assert eq["A"] == pytest.approx(held["A"])


def test_cables_and_contacts_act_on_one_side() -> None:
    s = da.System("hung")
    s.connect("slide", da.Prismatic("z"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0)))
    s.connect("rope", da.Cable(stiffness=1e4, length=0.5), s.ground, s["block"])
    eq = da.equilibrium(s)
    assert eq["slide"] == pytest.approx(-0.5 - 2 * G / 1e4, abs=1e-12)
    b = da.System("ball")
    b.connect("F", da.Free(), b.ground, b.body("ball", da.sphere(0.1, mass=1.0)))
    b.connect("floor", da.SpherePlaneContact(0.1, 1e6), b.ground, b["ball"])
    eq = da.equilibrium(b, state={"ball.position": (0.3, 0.0, 0.5)})
    sunk = (G / 1e6) ** (2 / 3)
    assert eq["F.z"] == pytest.approx(0.1 - sunk, abs=1e-10)
    assert eq["F.x"] == pytest.approx(0.3, abs=1e-9)  # nothing moves it there
    assert eq.stable.verdict == "marginal" and "F.vx" in eq.free


# ---- dry friction


def test_friction_holds_within_its_band_and_else_lets_slide_to_its_edge() -> None:
    s = rod_pendulum(friction=3.0, static_friction=4.0)
    held = da.equilibrium(s, state={"A": 1.4})
    assert held["A"] == 1.4
    (row,) = held.friction
    assert row.effort == pytest.approx(-G * np.cos(1.4)) and row.limit == 4.0 and not row.slid
    assert row.band == pytest.approx((row.effort - 4.0, row.effort + 4.0))
    slid = da.equilibrium(s, state={"A": 0.2})
    assert G * np.cos(slid["A"]) == pytest.approx(3.0)
    assert slid.friction[0].slid and slid.friction[0].margin == pytest.approx(1.0)
    assert da.simulate(s, 1.0, state=slid)["A.position"] == pytest.approx(slid["A"], abs=1e-9)
    assert da.equilibrium(s, friction="off")["A"] == pytest.approx(np.pi / 2)


def test_a_joint_with_friction_that_is_held_leaves_the_others_to_their_rest() -> None:
    s = rod_pendulum(friction=0.3)
    s.connect("B", da.Revolute("y"), s.bodies["bob"].at(1.0, 0, 0), s.body("tip", da.rod(length=0.5, mass=1.0)))
    eq = da.equilibrium(s, hold="A")  # no joint is left whose friction could hold anything
    assert (eq["A"], eq["B"]) == pytest.approx((0.0, np.pi / 2), abs=1e-12)
    assert eq.efforts["A"] == pytest.approx(-(2.0 * 0.5 + 1.0) * G)
    assert eq.friction == []


def test_a_rest_beside_a_held_joint_has_its_own_stiffness() -> None:
    s = rod_pendulum()
    s.connect("B", da.Revolute("y"), s.bodies["bob"].at(1.0, 0, 0), s.body("tip", da.rod(length=0.5, mass=1.0)))
    eq = da.equilibrium(s, hold={"A": 0.4})
    assert eq.stable and "potential-energy minimum" in eq.stable.reason
    assert eq.evaluation.stiffness[0, 0] == pytest.approx(1.0 * G * 0.25)  # m g l / 2, whatever holds the first rod
    assert eq.residual < 1e-14


def test_friction_of_several_joints_of_a_loop_shares_what_there_is_to_hold() -> None:
    rub = {"friction": 0.5}
    s = rubbing_four_bar(A=rub, B=rub, C=rub, D=rub)
    eq = da.equilibrium(s, state={"A": -0.5})
    free = da.equilibrium(s, state={"A": -0.5}, friction="off")
    assert abs(eq["A"] - free["A"]) > 1e-3
    assert all(abs(h.effort) <= h.limit * (1 + 1e-9) for h in eq.friction)
    moved = da.simulate(s, 0.5, state=eq.state())["A.position"]
    assert np.ptp(moved) < 1e-6


def test_a_chain_with_friction_slides_the_way_that_its_friction_allows() -> None:
    """Rows that slid rest on the edge of their band, or stuck again within it; a run does not move them."""
    s = da.System("chain")
    before = s.ground.at(0, 0, 0)
    for k in range(4):
        link = s.body(f"link_{k}", da.rod(0.5, 1.0))
        s.connect(f"pin_{k}", da.Revolute("y", friction=2.0 + k), before, link)
        before = link.at(0.5, 0, 0)
    eq = da.equilibrium(s)
    assert any(row.slid for row in eq.friction)
    assert all(abs(row.effort) <= row.limit * (1 + 1e-9) for row in eq.friction)
    torque = -eq.model.bias_forces(eq.q, np.zeros(4), bare=True)
    assert [row.effort for row in eq.friction] == pytest.approx(-torque, abs=1e-9)
    assert np.ptp(da.simulate(s, 0.5, state=eq)["pin_0.position"]) < 1e-9


# ---- drives, steady motion, trim


def test_drives_hold_at_their_time() -> None:
    s = chain(2)
    s.drive("pin_0", position=da.Harmonic(0.5, 2.0))
    t = 0.3
    eq = da.equilibrium(s, t=t)
    assert eq["pin_0"] == pytest.approx(float(da.Harmonic(0.5, 2.0)(t)[0]))
    assert eq["pin_0"] + eq["pin_1"] == pytest.approx(np.pi / 2)
    assert "velocities=" in eq.notes[0]
    assert eq.efforts["pin_0"] == pytest.approx(-(0.25 + 0.5) * 0.5 * G * np.cos(eq["pin_0"]))


def governor(length: float = 0.3, damping: float = 0.1) -> da.System:
    s = da.System("governor")
    shaft = s.body("shaft", da.cylinder(0.3, 0.02, mass=1.0))
    arm = s.body("arm", mass=1.0, com=(0, 0, -length), inertia=(1e-12, 1e-12, 1e-12))
    s.connect("spin", da.Revolute("z"), s.ground, shaft)
    s.connect("tilt", da.Revolute("y", damping=damping), shaft, arm)
    return s


@pytest.mark.parametrize("driven", [False, True])
def test_the_governor_opens_above_its_critical_speed(driven: bool) -> None:
    critical = np.sqrt(G / 0.3)
    for speed in (0.7 * critical, 1.01 * critical, 1.5 * critical):
        s = governor()
        if driven:
            s.drive("spin", speed=speed)
        how = {} if driven else {"velocities": {"spin": speed}}
        eq = da.equilibrium(s, **how)  # type: ignore[arg-type]
        wanted = np.arccos((critical / speed) ** 2) if speed > critical else 0.0
        assert abs(eq["tilt"]) == pytest.approx(wanted, abs=1e-9)
        assert eq.stable
        down = da.equilibrium(s, nearest=True, **how)  # type: ignore[arg-type]
        assert down["tilt"] == 0.0
        assert bool(down.stable) == (speed < critical)


def test_the_speed_that_a_governor_needs_is_found() -> None:
    eq = da.equilibrium(governor(), velocities={"spin": None}, hold={"tilt": 0.8})
    assert abs(eq.unknown["spin.speed"]) == pytest.approx(np.sqrt(G / 0.3 / np.cos(0.8)))
    result = da.simulate(governor(), 1.0, state=eq)
    assert np.ptp(result["tilt.position"]) < 1e-8


def test_a_top_precesses_steadily() -> None:
    """Precession, tilt and spin by three joints: across cos(tilt) w^2 - axial spin w + m g arm = 0."""
    mass, arm, axial, across, tilt, spin = 0.5, 0.05, 6e-4, 1.6e-3, 0.6, 150.0
    s = da.System("top")
    yoke, ring = (s.body(n, mass=0.0, inertia=(0, 0, 0)) for n in ("yoke", "ring"))
    own = across - mass * arm**2
    top = s.body("top", mass=mass, com=(0, 0, arm), inertia=(own, own, axial))
    s.connect("precession", da.Revolute("z"), s.ground, yoke)
    s.connect("tilt", da.Revolute("x"), yoke, ring)
    s.connect("spin", da.Revolute("z"), ring, top)
    eq = da.equilibrium(
        s, velocities={"precession": None, "spin": spin}, hold={"tilt": tilt}, state={"precession.speed": 1.0}
    )
    rate = eq.unknown["precession.speed"]
    whole = spin + rate * np.cos(tilt)  # about its own axis
    assert across * np.cos(tilt) * rate**2 - axial * whole * rate + mass * G * arm == pytest.approx(0.0, abs=1e-9)
    assert eq.stable and "first order" in eq.stable.reason
    moved = da.simulate(s, 1.0, state=eq)
    assert np.ptp(moved["tilt.position"]) < 1e-7


@pytest.mark.parametrize("joint", ["Free", "Planar"])
def test_a_vehicle_goes_round_a_circle(joint: str) -> None:
    """Two axles that do not slip sideways, the front one turned by a spring: rates follow from the wheelbase."""
    s = da.System("vehicle", gravity=(0, 0, 0))
    car, fork = s.body("car", mass=100.0, inertia=(30, 30, 50)), s.body("fork", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("P", getattr(da, joint)(), s.ground, car)
    s.connect("steer", da.Revolute("z"), car.at(1.0, 0, 0), fork)
    if joint == "Free":
        s.connect("floor", da.PointOnPlane("z"), s.ground, car)
        s.connect("upright", da.Parallel("z"), s.ground, car)
    s.connect("rear", da.KnifeEdge("y"), s.ground, car.at(-1.0, 0, 0))
    s.connect("front", da.KnifeEdge("y"), s.ground, fork)
    s.connect("spring", da.TorsionSpring(100.0, 1.0, 0.2), "steer")
    s.initial("steer", position=0.2)
    if joint == "Planar":  # whose speeds are in axes that do not turn with the vehicle
        with pytest.raises(EquilibriumError, match="Free joint"):
            da.equilibrium(s, velocities={"P.x": 5.0})
        return
    eq = da.equilibrium(s, velocities={"P.vx": 5.0})
    assert eq.unknown["P.wz.speed"] == pytest.approx(5.0 * np.tan(0.2) / 2.0)
    assert abs(eq.efforts["P.vx"]) < 1e-9 and eq.stable
    moved = da.simulate(s, 1.0, state=eq)
    assert np.ptp(moved["steer.position"]) < 1e-9
    assert np.ptp(np.linalg.norm(moved["car.velocity"], axis=1)) < 1e-9


def test_trim_finds_inputs_and_numbers() -> None:
    s = rod_pendulum()
    s.connect("motor", da.Effort(0.0), "A")
    s.connect("k", da.TorsionSpring(stiffness=1.0), "A")
    eq = da.equilibrium(s, unknown="motor.effort", hold={"A": 0.3})
    assert eq.unknown["motor.effort"] == pytest.approx(0.3 - G * np.cos(0.3))
    assert eq["A"] == 0.3
    stiff = da.equilibrium(s, unknown="k.stiffness", hold={"A": 0.3})
    assert stiff.parameters["k.stiffness"] == pytest.approx(G * np.cos(0.3) / 0.3)
    assert da.equilibrium(s, parameters=stiff.parameters)["A"] == pytest.approx(0.3)


def test_trim_of_a_loop_finds_the_effort_that_inverse_dynamics_finds() -> None:
    s = four_bar()
    s.connect("motor", da.Effort(0.0), "A")
    eq = da.equilibrium(s, unknown=["motor.effort"], hold={"A": 0.9})
    model = eq.model
    wanted = da.inverse_dynamics(model, eq.q, eq.v, 0 * eq.v, actuators="A")["A"]
    assert eq.unknown["motor.effort"] == pytest.approx(wanted)
    held = da.equilibrium(s, hold={"A": 0.9})
    assert held.efforts["A"] == pytest.approx(wanted)
    by_cut = da.equilibrium(s, hold={"D": float(eq["D"])}, state={"A": 0.8})
    assert by_cut["A"] == pytest.approx(0.9, abs=1e-9)


# ---- element states, flexible bodies, bodies without mass


def test_element_states_come_to_rest() -> None:
    s = rod_pendulum(damping=1.0)
    s.connect("servo", da.PositionServo(0.5, 50.0, 5.0), "A")
    eq = da.equilibrium(s)
    assert 50 * (0.5 - eq["A"]) + G * np.cos(eq["A"]) == pytest.approx(0.0, abs=1e-9)
    assert eq.stable and "decays" in eq.stable.reason
    i = rod_pendulum(damping=1.0)
    i.connect("servo", da.PositionServo(0.5, 50.0, 5.0, 30.0), "A")
    eq = da.equilibrium(i)
    assert eq["A"] == pytest.approx(0.5) and 30 * eq["servo.I"] == pytest.approx(-G * np.cos(0.5))
    assert eq.stable
    end = da.simulate(i, 60.0).final_state
    assert end.x == pytest.approx(eq.x, rel=1e-5)


def test_states_without_rest_are_named() -> None:
    s = rod_pendulum()
    s.connect("clock", da.Element("joint", "0.1*z", {}, states={"z": (0.0, "1.0")}), "A")
    with pytest.raises(EquilibriumError, match=r"'clock\.z' has no stationary value"):
        da.equilibrium(s)


def test_a_cantilever_bends_under_its_load() -> None:
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    section = da.Section.rectangle(0.03, 0.01)
    length, force = 1.0, 5.0
    s = da.System("cantilever", gravity=(0, 0, 0))
    modes = da.structures.CraigBampton([0, 12], 4)  # exact for loads at the tip
    arm = s.body("arm", da.beam(length, section, steel, theory="euler", elements=12, modes=modes))
    s.connect("clamp", da.Fixed(), s.ground, arm)
    s.connect("load", da.Load(force=(0, 0, -force)), arm.at(length, 0, 0))
    eq = da.equilibrium(s)
    inertia = 0.03 * 0.01**3 / 12
    tip = eq.model.pose(arm.at(length, 0, 0), eq.q).position[2]
    assert tip == pytest.approx(-force * length**3 / (3 * 210e9 * inertia), rel=1e-6)
    assert eq.reactions["clamp"][[1, 5]] == pytest.approx([-force * length, force])
    assert eq.stable


def test_bodies_without_mass_rest_where_forces_balance() -> None:
    s = da.System("ring")
    ring = s.body("ring", mass=0.0, inertia=(0, 0, 0))
    s.connect("xz", da.Planar("y"), s.ground, ring)
    for name, x in (("left", -1.0), ("right", 1.0)):
        s.connect(name, da.SpringDamper(100.0, 0.0, 0.5), s.ground.at(x, 0, 1), ring)
    s.connect("load", da.Load(force=(0, 0, -50.0)), ring)
    eq = da.equilibrium(s, state={"ring.position": (0.2, 0.0, 0.5)}, hold="xz.angle")
    down = 1.0 - eq.model.pose("ring", eq.q).position[2]
    length = np.hypot(1.0, down)
    assert 2 * 100 * (length - 0.5) * down / length == pytest.approx(50.0)
    assert eq.stable and "no eigenvalues" in eq.stable.reason


def test_pretension_alone_holds_a_string() -> None:
    """A bead on two stretched springs across: stiffness 2 T / l by pretension, the springs' own none."""
    s = da.System("string", gravity=(0, 0, 0))
    bead = s.body("bead", mass=0.1)
    s.connect("across", da.Prismatic("z"), s.ground, bead)
    for x in (-1.0, 1.0):
        s.connect(f"k{x}", da.SpringDamper(50.0, 0.0, 0.2), s.ground.at(x, 0, 0), bead)
    eq = da.equilibrium(s, state={"across": 0.3})
    assert eq["across"] == pytest.approx(0.0, abs=1e-12)
    assert eq.stable.eigenvalues.imag.max() == pytest.approx(np.sqrt(2 * 50 * 0.8 / 1.0 / 0.1), rel=1e-9)


# ---- several, and none


def test_all_equilibria_of_a_double_pendulum_and_of_a_four_bar() -> None:
    found = da.equilibrium(chain(2), find_all=True)
    assert len(found) == 4 and [bool(eq.stable) for eq in found] == [True, False, False, False]
    energies = [eq.energy for eq in found]
    assert energies == pytest.approx([-0.5 * G, -0.25 * G, 0.25 * G, 0.5 * G])
    assert len(da.equilibrium(chain(2), count=2)) == 2
    assert "4 equilibria, 1 stable" in str(found)


def test_what_falls_for_ever_is_named() -> None:
    s = da.System("falls")
    s.connect("rail", da.Prismatic("z"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    with pytest.raises(EquilibriumError, match=r"without bound along 'rail'"):
        da.equilibrium(s)
    m = rod_pendulum()
    m.connect("motor", da.Effort(100.0), "A")
    with pytest.raises(EquilibriumError, match=r"without bound along 'A'"):
        da.equilibrium(m, max_iterations=200)


def test_bad_questions_are_refused_by_name() -> None:
    s = rod_pendulum()
    with pytest.raises(da.ModelError, match=r"'motor\.effort'"):
        da.equilibrium(s, unknown="motor.effort")
    with pytest.raises(da.ModelError, match="sampled"):
        da.equilibrium(s, control=da.SampledControl(lambda state: [0.0], period=0.1))  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match="'B'"):
        da.equilibrium(s, hold="B")
    with pytest.raises(EquilibriumError, match="cannot be balanced"):
        s.connect("motor", da.Effort(0.0), "A")
        t = chain(2)
        t.connect("motor", da.Effort(0.0), "pin_1")
        da.equilibrium(t, unknown="motor.effort", hold={"pin_0": 0.3, "pin_1": 0.3})
    with pytest.raises(da.ModelError, match="outside its stops"):
        da.equilibrium(rod_pendulum(lower=0.5, upper=1.0))


def test_the_answer_prints_as_a_table() -> None:
    text = str(da.equilibrium(spring_four_bar()))
    assert "equilibrium of 'four-bar' at t = 0 s: stable" in text
    assert "rad" in text and "°" in text and "residual" in text


# ---- outputs and loads without a potential


def test_an_equilibrium_answers_every_output_by_name() -> None:
    s = rod_pendulum()
    s.connect("P", da.Load(force=(3.0, 0, 0)), s.bodies["bob"].at(1.0, 0, 0))
    eq = da.equilibrium(s, state={"A": 1.0})
    tip = eq["bob.at(1, 0, 0).position"]
    np.testing.assert_allclose(tip, eq.model.pose(s.bodies["bob"].at(1.0, 0, 0), eq.q).position, atol=1e-15)
    assert eq["A.position"] == eq["A"]
    assert eq["bob.at(1, 0, 0).position.x [mm]"] == pytest.approx(1e3 * tip[0])
    np.testing.assert_allclose(eq["A.force"], [-3.0, 0.0, 2.0 * G], atol=1e-9)
    pulled = da.equilibrium(s, state={"A": 1.0}, inputs={"P.fx": 5.0})  # in place of what the load says
    assert pulled["A.force.x"] == pytest.approx(-5.0)
    with pytest.raises(da.ModelError, match="bob"):
        eq["bub.position"]
    found = da.sweep(s, {"bob.mass": [1.0, 2.0]}, task="equilibrium", outputs=["A", "A.force"])
    np.testing.assert_allclose(found["A.force"].values[:, 2], [G, 2.0 * G], rtol=1e-9)


def test_a_strip_bent_to_a_semicircle_by_a_moment_is_found() -> None:
    """M = pi E I / l: the end is 2 l / pi away from the clamp. A moment about a fixed axis has no potential."""
    s = da.System("elastica", gravity=(0, 0, 0))
    section, steel = da.Section.circle(0.002), da.materials.steel
    strip = da.cable(s, "strip", 1.0, section, steel, segments=10, bending="y")
    s.connect("clamp", da.Fixed(), s.ground, strip.start)
    s.connect("M", da.Load(moment=(0, np.pi * steel.E * np.pi / 4 * 0.002**4, 0)), strip.end)
    eq = da.equilibrium(s)
    assert eq.stable and any("Newton" in note for note in eq.notes)
    line = strip.line(eq)
    assert line.shape == (11, 3)
    assert np.linalg.norm(line[-1] - line[0]) == pytest.approx(2 / np.pi, rel=1e-4)
    np.testing.assert_allclose(np.abs(strip.curvature(eq)[:, 0]), np.pi, rtol=1e-6)
    assert strip.tension(eq).shape == (9,)


def test_where_no_rest_is_found_the_way_by_growing_loads_is_named() -> None:
    s = rod_pendulum()
    s.connect("P", da.Load(force=(3.0, 0, 0)), s.bodies["bob"].at(1.0, 0, 0))
    s.connect("jump", da.Element("joint", "where(s > 1.2, -30, 30)"), "A")
    with pytest.raises(EquilibriumError, match=r"da.equilibrium_path\(system, 'P.fx', 0.0, value\)"):
        da.equilibrium(s, max_iterations=50)


def sprung_chain(n: int, stiffness: float) -> da.System:
    s = chain(n, length=0.1 * n)
    for k in range(n) if stiffness else ():
        s.connect(f"spring_{k}", da.TorsionSpring(stiffness=stiffness, damping=0.1), f"pin_{k}")
    return s


@pytest.mark.parametrize(("stiffness", "start"), [(0.0, 0.0), (0.0, -np.pi / 2), (3.0, 0.0), (100.0, 0.3)])
def test_large_systems_rest_where_the_search_by_eigenvalues_ends(
    stiffness: float, start: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = sprung_chain(70, stiffness).compile()
    large = da.equilibrium(model, state={"pin_0": start})
    for module in (energy_descent, force_balance, stability):
        monkeypatch.setattr(module, "MAX_EIGENVALUES", 1000)
    small = da.equilibrium(model, state={"pin_0": start})
    assert np.abs(model.difference(small.q, large.q)).max() < 1e-9
    assert large.residual < 1e-9 and large.stable.verdict == small.stable.verdict == "stable"
    assert large.notes == small.notes  # an unstable start is left


def test_a_large_system_in_balance_is_stable_by_its_potential_energy() -> None:
    eq = da.equilibrium(sprung_chain(150, 500.0))
    assert eq.stable.reason == "potential-energy minimum" and not len(eq.stable.eigenvalues)
    assert np.abs(eq.model.dynamics(0.0, eq.q, eq.v)[0]).max() < 1e-6
