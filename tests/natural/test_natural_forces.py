"""Springs, dampers, loads and couplings in natural coordinates, against joint coordinates and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from systems.random_loops import planar_loop, random_closed_system

import dalembert as da
from dalembert import library
from dalembert.library import Gear
from dalembert.natural import Mechanism, natural_model


def same_accelerations(system: da.System, q: np.ndarray, v: np.ndarray, dimension: int | None = None) -> None:
    """Free motion with all elements: joint coordinates give the same accelerations as points and vectors."""
    model = system.compile()
    natural = natural_model(system, state=q, dimension=dimension)
    a = model.forward_dynamics(q, v, t=0.0)
    wanted = natural.coordinates_of(q, v, a)
    size = max(1.0, float(np.abs(wanted).max()))
    dynamics = natural.dynamics()
    X, V = natural.coordinates_of(q), natural.coordinates_of(q, v)
    for method in ("R", "augmented"):
        assert dynamics.accelerations(X, V, method=method) == pytest.approx(wanted, abs=1e-9 * size)


@pytest.mark.parametrize("seed", range(4))
def test_springs_and_dampers_in_planar_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    closed = planar_loop(random, 4 + seed % 3)
    s = closed.system
    bodies = list(s.bodies.values())
    s.connect("spring", da.SpringDamper(200.0, 0.3, 5.0), s.ground.at(0.1, 0.2, 0.0), bodies[0].at(0.3, 0.1, 0.0))
    s.connect("between", da.SpringDamper(50.0, 0.1, 2.0), bodies[-1], bodies[0].at(0.1, 0, 0))
    joint = next(name for name, c in s.connections.items() if isinstance(c.element, da.Revolute))
    s.connect("torsion", da.JointSpring(3.0, 0.2, 0.4), joint)
    for dimension in (2, 3):
        same_accelerations(s, *closed.state(s.compile()), dimension)


@pytest.mark.parametrize("seed", range(4))
def test_springs_and_dampers_in_space(seed: int) -> None:
    random = np.random.default_rng(seed)
    closed = random_closed_system(random, 4, 1)
    s = closed.system
    bodies = list(s.bodies.values())
    s.connect("spring", da.SpringDamper(200.0, 0.3, 5.0), s.ground.at(0.1, 0.2, 0.3), bodies[0].at(0.3, 0.1, 0.2))
    s.connect("bush", da.SpringDamper(30.0, 0.0, 1.0), bodies[1].at(0.2, 0, 0.1), bodies[2])
    same_accelerations(s, *closed.state(s.compile()))


GEARS = {
    "spur": lambda: library.spur_gears(Gear(0.002, 20), Gear(0.002, 31)),
    "rack": lambda: library.rack_drive(Gear(0.002, 20)),
}


@pytest.mark.parametrize("name", GEARS)
def test_gears_have_a_natural_form(name: str) -> None:
    """Couplings are linear relations of angles: degrees of freedom, speeds and accelerations agree."""
    system: da.System = GEARS[name]()
    system.drives.clear()
    model = system.compile()
    q = da.assemble(model).q
    space = da.motion_space(model, state=q)
    natural = natural_model(system, state=q)
    e, X = natural.equations(), natural.coordinates_of(q)
    assert e.residual(X, 0.0) * e.row_scales == pytest.approx(0, abs=1e-12)
    assert natural.mechanism.count(X).dofs == space.dofs
    v = space.velocity(np.linspace(1.0, 0.5, space.dofs))
    a = space.acceleration(np.linspace(1.0, 0.5, space.dofs))
    V, A = natural.coordinates_of(q, v), natural.coordinates_of(q, v, a)
    J = e.jacobian(X, 0.0)
    assert pytest.approx(0, abs=1e-11) == J @ V
    assert pytest.approx(e.acceleration_terms(X, V, 0.0), abs=1e-10) == J @ A


def test_a_geared_pendulum_swings_as_joints_do() -> None:
    """Two rods geared 1 to -2, a torsion spring over more than a turn, a damper: simulated both ways."""
    s = da.System("geared")
    one, two = s.body("one", da.rod(length=1.0, mass=2.0)), s.body("two", da.rod(length=0.6, mass=1.0))
    s.connect("A", da.Revolute("z", damping=0.02), s.ground, one)
    s.connect("B", da.Revolute("z"), s.ground.at(2, 0, 0), two)
    s.connect("mesh", da.Coupling(-2.0, 0.3), "A", "B")
    s.connect("torsion", da.JointSpring(0.4, rest=7.0), "B")
    s.gravity = (0.0, -9.81, 0.0)
    s.initial("A", position=0.4, speed=-7.0)
    t = np.linspace(0.0, 1.2, 7)
    ran = da.simulate(s, 1.2, times=t, rtol=1e-10, atol=1e-12)
    assert float(np.ptp(ran["B.position"])) > 2 * math.pi  # the spring counts turns
    natural = natural_model(s, state=ran.q[0])
    motion = natural.dynamics().simulate(
        t, natural.coordinates_of(ran.q[0]), natural.coordinates_of(ran.q[0], ran.v[0])
    )
    for k in range(len(t)):
        wanted = natural.coordinates_of(ran.q[k])
        points = [i for i, name in enumerate(natural.equations().speed_names) if "turn" not in name]
        assert motion.q[k][points] == pytest.approx(wanted[points], abs=1e-6)


def motor_drives(system: da.System, joint: str) -> da.System:
    """Add a motor with inductance, whose current is a state."""
    system.connect("motor", da.DCMotor(resistance=1.0, inductance=0.05, constant=0.4, voltage=3.0), joint)
    return system


def test_states_of_elements_go_along() -> None:
    """A motor with inductance turns a four-bar: accelerations at any current, and the motion, as joints have them."""
    s = motor_drives(library.mechanisms.four_bar(), "A")
    model = s.compile()
    q = da.assemble(model).q
    natural = natural_model(s, state=q)
    dynamics = natural.dynamics()
    assert dynamics.states == model.nx == 1
    v = da.motion_space(s, state=q).velocity([1.3])
    X, V = natural.coordinates_of(q), natural.coordinates_of(q, v)
    for current in (0.0, 2.5):
        wanted = natural.coordinates_of(q, v, model.forward_dynamics(q, v, t=0.0, x=np.array([current])))
        for method in ("R", "augmented"):
            found = dynamics.accelerations(X, V, x=[current], method=method)
            assert found == pytest.approx(wanted, abs=1e-9 * max(1.0, float(np.abs(wanted).max())))
    t = np.linspace(0.0, 0.4, 5)
    ran = da.simulate(s, 0.4, times=t, rtol=1e-10, atol=1e-12)
    motion = dynamics.simulate(t, natural.coordinates_of(ran.q[0]), natural.coordinates_of(ran.q[0], ran.v[0]))
    assert motion.x == pytest.approx(ran.x, abs=1e-7) and float(ran.x[-1, 0]) > 0.1
    for k in range(len(t)):
        assert motion.q[k] == pytest.approx(natural.coordinates_of(ran.q[k]), abs=1e-7)


def test_springs_by_hand_are_those_of_a_system() -> None:
    """A rod on a pin with a spring to ground, a torsion spring, a damper and a load at its end."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("C", 0.5, 1.0, fixed=True), m.point("1", 1, 0)
    m.link("rod", "A", "1", 1.0)
    m.mass("rod", 2.0, (0.5, 0.0), 2.0 / 12)
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A", "1"))
    m.spring("coil", ("C", "1"), 40.0, 0.6, damping=1.5)
    m.spring("torsion", "psi", 3.0, 0.2, damping=0.7)
    m.load("push", "1", (lambda t: 2.0 * math.cos(t), -1.0))
    m.load("motor", "psi", 0.3)
    dynamics = m.dynamics(gravity=(0, -9.81))
    angle, speed, t = 0.3, -0.8, 0.4
    q = np.array([math.cos(angle), math.sin(angle), angle])
    v = speed * np.array([-math.sin(angle), math.cos(angle), 1.0])
    # moments about A, by hand
    r, across = q[:2], np.array([-q[1], q[0]])
    d = r - [0.5, 1.0]
    length = float(np.linalg.norm(d))
    pull = 40.0 * (length - 0.6) + 1.5 * float(d @ across) * speed / length
    moment = -pull * float(d @ across) / length - 3.0 * (angle - 0.2) - 0.7 * speed + 0.3
    moment += float(np.array([2.0 * math.cos(t), -1.0]) @ across) - 2.0 * 9.81 * 0.5 * math.cos(angle)
    wanted = moment / (2.0 / 12 + 2.0 * 0.25)
    for method in ("R", "augmented"):
        assert dynamics.accelerations(q, v, t, method=method)[2] == pytest.approx(wanted, abs=1e-10)
    # without dampers and loads energy stays
    free = Mechanism(2)
    free.point("A", 0, 0, fixed=True), free.point("C", 0.5, 1.0, fixed=True), free.point("1", 1, 0)
    free.link("rod", "A", "1", 1.0)
    free.mass("rod", 2.0, (0.5, 0.0), 2.0 / 12)
    free.spring("coil", ("C", "1"), 40.0, 0.6)
    swing = free.dynamics(gravity=(0, -9.81))
    motion = swing.simulate(np.linspace(0, 2, 9))
    energies = [swing.energy(x, w) for x, w in zip(motion.q, motion.v, strict=True)]
    assert energies == pytest.approx([energies[0]] * 9, abs=1e-7)


def test_what_cannot_be_is_refused_by_name() -> None:
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 1, 0), m.vector("x", 1, 0, fixed=True)
    with pytest.raises(da.ModelError, match=r"spring 's': what"):
        m.spring("s", ("A", "1", "1"), 1.0)
    with pytest.raises(da.ModelError, match=r"load 'f': force"):
        m.load("f", "1", 3.0)
    with pytest.raises(da.ModelError, match=r"load 'g': what"):
        m.load("g", "x", (1.0, 0.0))
    m.spring("s", ("A", "1"), 1.0)
    with pytest.raises(da.ModelError, match="already"):
        m.load("s", "1", (1.0, 0.0))
    s = da.System()
    s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.connect("A", da.Revolute("z", friction=0.1), s.ground, s["b"])
    with pytest.raises(da.ModelError, match=r"joint 'A': friction is .* smooth damping"):
        s.compile(form="natural").dynamics()
    for option, said in (
        ({"lower": -1.0}, "lower is .* stops need"),
        ({"armature": 0.2}, "armature is .* geared body"),
    ):
        other = da.System()
        other.connect("A", da.Revolute("z", **option), other.ground, other.body("b", mass=1.0, inertia=(1, 1, 1)))
        with pytest.raises(da.ModelError, match=f"joint 'A': {said}"):
            other.compile(form="natural").dynamics()
