"""Systems of bodies and joints in natural coordinates: the same motion, by other equations."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_loops import ClosedSystem, planar_loop, random_closed_system
from systems.random_trees import random_state, random_system

import dalembert as da
from dalembert.library import mechanisms
from dalembert.natural import natural_model

Array = NDArray[np.float64]


def same_motion(system: da.System, q: Array, v: Array, dimension: int | None = None) -> None:
    """Positions, speeds, accelerations, degrees of freedom and dynamics agree; poses come back."""
    model = system.compile()
    natural = natural_model(system, state=q, dimension=dimension)
    e = natural.equations()
    X, V = natural.coordinates_of(q), natural.coordinates_of(q, v)
    assert e.residual(X, 0.0) * e.row_scales == pytest.approx(0, abs=1e-13)
    J = e.jacobian(X, 0.0)
    assert pytest.approx(0, abs=1e-12) == J @ V
    free = da.motion_space(model, state=q).dofs
    assert da.motion_space(natural, state=X).dofs == natural.mechanism.count(X).dofs == free
    # any acceleration that loops permit, and the one of free motion
    a = model.forward_dynamics(q, v)
    A = natural.coordinates_of(q, v, a)
    size = max(1.0, float(np.abs(A).max()))
    assert pytest.approx(e.acceleration_terms(X, V, 0.0), abs=1e-11 * size) == J @ A
    dynamics = natural.dynamics()
    for method in ("R", "augmented"):
        assert dynamics.accelerations(X, V, method=method) == pytest.approx(A, abs=1e-10 * size)
    poses = model.poses(q)
    if natural.plane is None:
        for name, R, p in zip(model.body_names, poses.rotation, poses.position, strict=True):
            found = natural.pose(name, X)
            assert found[0] == pytest.approx(R, abs=1e-12) and found[1] == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_planar_loops_in_the_plane_and_in_space(seed: int) -> None:
    closed = planar_loop(np.random.default_rng(seed), 4 + seed % 3)
    q, v = closed.state(closed.system.compile())
    same_motion(closed.system, q, v)
    assert natural_model(closed.system, state=q).mechanism.dimension == 2
    same_motion(closed.system, q, v, 3)


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_of_all_joints(seed: int) -> None:
    closed: ClosedSystem = random_closed_system(np.random.default_rng(seed), 5, 2)
    same_motion(closed.system, *closed.state(closed.system.compile()))


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_of_all_joints(seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    system = random_system(random, 6, isolated=2)
    same_motion(system, *random_state(system, random))


def test_driven_motion_agrees_with_joint_coordinates() -> None:
    """Slider-crank and Cardan shaft: positions, speeds, accelerations and jerks along drives."""
    s = mechanisms.slider_crank(1.0, 3.0)
    s.drive("A", position=da.Polynomial((0.3, 2.0, -0.4)))
    t = np.linspace(0, 3, 31)
    joints = da.kinematics(s, times=t)
    natural = s.compile(form="natural")
    motion = natural.motion(t)
    assert natural.mechanism.dimension == 2
    for k, (q, v, a) in enumerate(zip(joints.q, joints.v, joints.a, strict=True)):
        assert motion.followed.q[k] == pytest.approx(natural.coordinates_of(q), abs=1e-11)
        assert motion.followed.v[k] == pytest.approx(natural.coordinates_of(q, v), abs=1e-10)
        assert motion.followed.a[k] == pytest.approx(natural.coordinates_of(q, v, a), abs=1e-9)
    h = t[1] - t[0]
    a = motion.followed.a
    slope = (a[:-4] - 8 * a[1:-3] + 8 * a[3:-1] - a[4:]) / (12 * h)
    assert motion.followed.j is not None and motion.followed.j[2:-2] == pytest.approx(slope, abs=0.01)

    s = da.System("shaft", gravity=(0, 0, 0))
    for k in range(3):
        s.body(f"b{k}", mass=1.0, inertia=(1, 1, 2))
    s.connect("R", da.Revolute("z"), s.ground, s["b0"])
    s.connect("U", da.Universal("x", "y"), s["b0"].at(0, 0, 1), s["b1"])
    tilt = da.rotation.axis_angle(np.array([1.0, 0, 0]), 0.4)
    axis = tilt @ np.array([0.0, 0.0, 1.0])
    s.connect(
        "C", da.Cylindrical("z"), s.ground.at(*(np.array([0, 0, 1.0]) + axis), rotation=tilt), s["b1"].at(0, 0, 1)
    )
    s.connect("P", da.Prismatic("x"), s["b1"].at(0, 0, 2), s["b2"])
    s.drive("R", position=da.Polynomial((0.0, 1.0)))
    s.drive("P", position=da.Harmonic(0.2, 3.0))
    t = np.linspace(0, 7, 71)
    joints = da.kinematics(s, times=t)
    natural = s.compile("natural")
    assert natural.mechanism.dimension == 3
    motion = natural.motion(t)
    for k in range(0, 71, 7):
        wanted = natural.coordinates_of(joints.q[k], joints.v[k], joints.a[k])
        assert motion.followed.a[k] == pytest.approx(wanted, abs=1e-8)


def test_free_motion_agrees_with_a_simulation() -> None:
    s = mechanisms.four_bar(crank=2.0, coupler=4.0, rocker=3.0, ground=4.0, angle=math.radians(60))
    s.gravity = np.array([0.0, -9.81, 0.0])
    t = np.linspace(0, 1.5, 7)
    ran = da.simulate(s, 1.5, times=t, rtol=1e-11)
    natural = s.compile(form="natural")
    dynamics = natural.dynamics()
    energies = []
    for method in ("R", "augmented"):
        motion = dynamics.simulate(
            t, natural.coordinates_of(ran.q[0]), natural.coordinates_of(ran.q[0], ran.v[0]), method=method
        )
        for k in (3, 6):
            assert motion.followed.q[k] == pytest.approx(natural.coordinates_of(ran.q[k]), abs=1e-7)
            assert motion.followed.v[k] == pytest.approx(natural.coordinates_of(ran.q[k], ran.v[k]), abs=1e-6)
        energies += [dynamics.energy(q, v) for q, v in zip(motion.followed.q, motion.followed.v, strict=True)]
    assert energies == pytest.approx([energies[0]] * len(energies), abs=1e-6)


def test_reactions_balance_a_pendulum() -> None:
    """At rest in its lowest place the link is pulled by the weight: lam of |A 1| times 2 d."""
    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 0, -2)
    m.link("rod", "A", "1")
    m.mass("rod", 3.0, (2.0, 0.0))  # a point mass at its end, 2 m along the link
    dynamics = m.dynamics(gravity=(0, -9.81))
    lam = dynamics.multipliers([0, -2], [0, 0])
    assert m.equations().jacobian(np.array([0.0, -2.0]), 0.0).T @ lam == pytest.approx([0, -3 * 9.81])
    assert dynamics.accelerations([0, -2], [1.0, 0]) == pytest.approx([0, 0.5])


def test_what_has_no_natural_form_is_named() -> None:
    s = mechanisms.four_bar()
    with pytest.raises(da.ModelError, match="use 'relative' or 'natural'"):
        s.compile(form="cartesian")  # type: ignore[call-overload]
    with pytest.raises(da.ModelError, match="only form='natural' has a choice"):
        s.compile("relative", dimension=2)  # type: ignore[call-overload]
    s.connect("gel", da.Maxwell(10.0, 1.0), next(iter(s.connections)))
    assert s.compile(form="natural").dynamics().states == 1
    s = da.System()
    s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.connect("A", da.Revolute("z", armature=0.1), s.ground, s["b"])
    with pytest.raises(da.ModelError, match="joint 'A': armature"):
        s.compile(form="natural").dynamics()
    s = da.System()
    s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.connect("A", da.Spherical(), s.ground, s["b"])
    with pytest.raises(da.ModelError, match="do not move in one plane"):
        s.compile(form="natural", dimension=2)
    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 1, 0), m.point("2", 2, 0)
    m.link("a", "A", "1"), m.link("b", "1", "2")
    m.mass("a", 1.0, (0.5, 0), 0.1)
    for method in ("R", "augmented"):
        with pytest.raises(da.SingularityError, match="that can move has no mass"):
            m.dynamics().accelerations([1, 0, 2, 0], [0, 0, 0, 0], method=method)


LIBRARY = {
    "mechanisms": ("four_bar", "slider_crank", "bennett", "sarrus", "governor"),
    "six_bars": ("stephenson_six_bar", "watt_six_bar"),
    "straight_line_linkages": ("peaucellier", "hart", "hoeken"),
    "parallel_robots": ("delta", "stewart", "three_rrr"),
    "walking_mechanisms": ("jansen", "klann"),
    "suspensions": ("double_wishbone", "macpherson"),
    "machines": ("cardan_shaft", "quick_return", "scissor_lift", "scotch_yoke"),
}


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, names in LIBRARY.items() for name in names])
def test_ready_mechanisms_have_the_same_dofs_and_speeds(room: str, name: str) -> None:
    system = getattr(import_module(f"dalembert.library.{room}"), name)()
    model = system.compile()
    q = da.assemble(model).q
    space = da.motion_space(model, state=q)
    natural = natural_model(system, state=q)
    e, X = natural.equations(), natural.coordinates_of(q)
    assert e.residual(X, 0.0) * e.row_scales == pytest.approx(0, abs=1e-13)
    assert natural.mechanism.count(X).dofs == space.dofs
    v = space.velocity(np.ones(space.dofs))
    a = space.acceleration(np.ones(space.dofs))
    V, A = natural.coordinates_of(q, v), natural.coordinates_of(q, v, a)
    J = e.jacobian(X, 0.0)
    assert pytest.approx(e.velocity_terms(X, 0.0), abs=1e-12) == J @ V
    assert pytest.approx(e.acceleration_terms(X, V, 0.0), abs=1e-10) == J @ A


@pytest.mark.parametrize(("room", "name"), [
    ("mechanisms", "four_bar"), ("mechanisms", "slider_crank"), ("mechanisms", "andrews"),
    ("walking_mechanisms", "jansen"),
    ("walking_mechanisms", "klann"), ("straight_line_linkages", "hoeken"), ("straight_line_linkages", "peaucellier"),
    ("six_bars", "stephenson_six_bar"), ("six_bars", "watt_six_bar"), ("machines", "quick_return"),
])  # fmt: skip
def test_jumps_reach_the_branch_they_left_or_are_refused(room: str, name: str, jumps: int = 100) -> None:
    """A hundred jumps on each of ten mechanisms: one step of any size ends where many small ones end."""
    system = getattr(import_module(f"dalembert.library.{room}"), name)()
    model = system.compile()
    q = da.assemble(model).q
    driven = next(joint.name for joint in model.forest.joints)
    start = float(q[model.q_slice(driven)][0])
    system.drives.clear()
    system.drive(driven, position=da.Polynomial((start, 1.0)))
    natural = natural_model(system, state=q)
    X = natural.coordinates_of(q)
    for jump in np.random.default_rng(1).uniform(-3.0, 3.0, jumps):
        ends = []
        for times in ([0.0, jump], np.linspace(0.0, jump, 121)):
            try:
                ends.append(natural.motion(times, X, jerk=False).followed.q[-1])
            except da.AssemblyError:
                ends.append(None)
        assert (ends[0] is None) == (ends[1] is None)
        assert ends[0] is None or ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_a_choice_of_rows_is_given_up_when_its_first_pivot_tires() -> None:
    """A full turn in small steps: where the crank stands across, other rows have to be taken than at the start."""
    system = import_module("dalembert.library.straight_line_linkages").hoeken()
    model = system.compile()
    q = da.assemble(model).q
    system.drive("O", position=da.Polynomial((float(q[0]), 1.0)))
    t = np.linspace(0.0, 2 * math.pi, 1001)
    natural = natural_model(system, state=q)
    motion = natural.motion(t)
    joints = da.kinematics(system, times=t)
    for k in (0, 250, 251, 500, 750, 1000):
        wanted = natural.coordinates_of(joints.q[k], joints.v[k], joints.a[k])
        assert motion.followed.a[k] == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_branches_that_nearly_meet_are_distinguished(gap: float) -> None:
    """Crank-rockers that miss a change point by a gap: the triangle of coupler and rocker keeps its sign."""
    random = np.random.default_rng(7)
    for stretched in (True, False):
        coupler, rocker = random.uniform(2.0, 4.0, 2)
        base = coupler + rocker - 1.0 - gap if stretched else abs(coupler - rocker) + 1.0 + gap
        m = da.natural.Mechanism(2)
        reach = base - math.cos(1.0), -math.sin(1.0)  # from 1, the crank at a radian, to B
        along = (reach[0] ** 2 + reach[1] ** 2 + coupler**2 - rocker**2) / (2 * math.hypot(*reach))
        turn = math.atan2(reach[1], reach[0]) + math.acos(along / coupler)
        m.point("A", 0, 0, fixed=True)
        m.point("B", base, 0, fixed=True)
        m.point("1", math.cos(1.0), math.sin(1.0))
        m.point("2", math.cos(1.0) + coupler * math.cos(turn), math.sin(1.0) + coupler * math.sin(turn))
        for name, ends in {"crank": "A1", "coupler": "12", "rocker": "B2"}.items():
            m.link(name, *ends)
        m.drive("1", (da.Harmonic(1.0, 1.0, 1.0 + math.pi / 2), da.Harmonic(1.0, 1.0, 1.0)))
        for jump in random.uniform(-3.0, 3.0, 6):
            motion = m.motion(np.linspace(0.0, jump, 5))
            u, w = motion["2"] - motion["1"], np.array([base, 0.0]) - motion["1"]
            side = np.sign(u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0])
            assert (side == side[0]).all()
