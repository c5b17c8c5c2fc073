"""Outputs by name against independent computations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.cut_joints import read_by_the_core
from systems.random_trees import JOINTS, random_joint, random_system
from systems.reference_trajectories import trajectory

import dalembert as da
from dalembert.connections.elements.built_in import (
    Effort,
    JointSpring,
    Limits,
    Load,
    SpringDamper,
    TorsionSpring,
)
from dalembert.connections.joints import Joint
from dalembert.library.mechanisms import four_bar, slider_crank
from dalembert.result.outputs.lookup import describe, names

Array = NDArray[np.float64]


def slope(result: da.Result, name: str, at: Array, h: float = 1e-3) -> Array:
    """Rate of an output by central differences of order four on the dense output."""
    y = {k: result.output(name, at + k * h) for k in (-2, -1, 1, 2)}
    return np.asarray((8 * (y[1] - y[-1]) - (y[2] - y[-2])) / (12 * h))


def test_coordinates_of_a_cut_joint_invert_its_definition() -> None:
    rng = np.random.default_rng(1)
    for kind in JOINTS:
        joint = random_joint(kind, rng)
        n = 20
        q, v, a = rng.uniform(-1.5, 1.5, (n, joint.nq)), rng.normal(size=(n, joint.nv)), rng.normal(size=(n, joint.nv))
        if "qw" in joint.coordinates:
            q[:, 0] = np.abs(q[:, 0])
            q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
        C, c = (np.array(x) for x in zip(*(joint.pose(row) for row in q), strict=True))
        V = np.array([joint.motion(x) @ y for x, y in zip(q, v, strict=True)])
        A = np.array([joint.motion(x) @ z + joint.bias(x, y) for x, y, z in zip(q, v, a, strict=True)])
        found = read_by_the_core(joint, C, c, V, A)
        # the motion goes through another joint with six coordinates first
        for part, expected in zip(found, (q, v, a), strict=True):
            assert np.allclose(part, expected, atol=1e-11), kind
        by_definition = [joint.coordinates_of(*pose) for pose in zip(C, c, strict=True)]
        assert np.allclose(by_definition, q, atol=1e-13), kind


def test_a_screw_counts_its_turns_by_its_advance() -> None:
    joint = da.Screw("z", pitch=0.01)
    angles = np.array([-40.0, -3.0, 0.0, 7.0, 100.0])
    C, c = (np.array(x) for x in zip(*(joint.pose(np.array([angle])) for angle in angles), strict=True))
    still = np.zeros((len(c), 6))
    assert np.allclose(read_by_the_core(joint, C, c, still, still)[0][:, 0], angles, atol=1e-12)
    assert np.allclose([joint.coordinates_of(*pose)[0] for pose in zip(C, c, strict=True)], angles, atol=1e-12)


@pytest.fixture(scope="module")
def spatial() -> da.Result:
    """A tree with every joint there is, under gravity."""
    system = random_system(np.random.default_rng(5), 8)
    for kind, name in ((da.Free, "loose"), (da.Spherical, "ball")):
        body = system.body(name, da.box(0.3, 0.4, 0.5, mass=2.0))
        system.connect(f"{name}.joint", kind(), system.ground.at(1, 2, 3), body.at(0.1, 0, 0.2))
    system.bodies["loose"].marker("tip", 0.2, -0.1, 0.3, rotation=da.bryant(0.3, 0.2, 0.1))
    model = system.compile()
    state = model.random_state(3)
    return trajectory(model, np.linspace(0.0, 0.4, 9), state.q, state.v / 2)


@pytest.mark.parametrize("frame", ["loose", "loose.tip", "loose.at(0.5, -0.2, 1)", "ball", "loose.tip.at(1,0,0)", "*"])
def test_velocities_and_accelerations_of_frames_are_rates(spatial: da.Result, frame: str) -> None:
    if frame == "*":  # the body at the end of the longest branch
        forest = spatial.model.forest  # type: ignore[union-attr]
        frame = max(forest.bodies[1:], key=lambda name: len(forest.path(name)))
    at = np.array([0.1, 0.23, 0.37])
    # differences of order four: 1e-12 of truncation, 1e-12 of rounding, and SciPy's dense output
    assert np.allclose(slope(spatial, f"{frame}.position", at), spatial.output(f"{frame}.velocity", at), atol=1e-7)
    assert np.allclose(slope(spatial, f"{frame}.velocity", at), spatial.output(f"{frame}.acceleration", at), atol=1e-6)
    w, alpha = f"{frame}.angular_velocity", f"{frame}.angular_acceleration"
    assert np.allclose(slope(spatial, w, at), spatial.output(alpha, at), atol=1e-6)
    R, rate = spatial.output(f"{frame}.rotation", at), slope(spatial, f"{frame}.rotation", at)
    spin = rate @ R.transpose(0, 2, 1)  # the cross-product matrix of the angular velocity
    expected = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert np.allclose(expected, spatial.output(w, at), atol=1e-7)


def test_points_are_counted_in_the_axes_of_what_they_belong_to(spatial: da.Result) -> None:
    R, p = spatial["loose.rotation"], spatial["loose.position"]
    x = np.array([0.5, -0.2, 1.0])
    assert np.allclose(spatial["loose.at(0.5, -0.2, 1).position"], p + R @ x, atol=1e-14)
    tip = np.array([0.2, -0.1, 0.3])
    turned = R @ (tip + da.bryant(0.3, 0.2, 0.1) @ np.array([1.0, 0, 0]))
    assert np.allclose(spatial["loose.tip.at(1,0,0).position"], p + turned, atol=1e-14)


def test_quaternions_are_continuous_and_stand_for_the_rotation(spatial: da.Result) -> None:
    for name in ("loose", "ball"):
        Q, R = spatial[f"{name}.quaternion"], spatial[f"{name}.rotation"]
        assert np.allclose([da.quaternion(*row) for row in Q], R, atol=1e-13)
        assert ((Q[1:] * Q[:-1]).sum(1) > 0).all()
        assert np.array_equal(spatial[f"{name}.quaternion.w"], Q[:, 0])


def test_joints_give_their_coordinates_by_name(spatial: da.Result) -> None:
    model = spatial.model
    assert model is not None
    for name in model.joint_names:
        q, v = spatial.q[:, model.q_slice(name)], spatial.v[:, model.v_slice(name)]
        if not v.shape[1]:
            with pytest.raises(da.ModelError, match="has force, moment"):
                spatial[f"{name}.position"]
            continue
        single = v.shape[1] == 1
        assert np.array_equal(spatial[f"{name}.position"], q[:, 0] if single else q)
        assert np.array_equal(spatial[f"{name}.speed"], v[:, 0] if single else v)
        a = spatial.a[:, model.v_slice(name)]
        assert np.array_equal(spatial[f"{name}.acceleration"], a[:, 0] if single else a)
    for k, name in enumerate(model.coordinate_names):
        assert np.array_equal(spatial[name], spatial.q[:, k])
        assert np.array_equal(spatial[f"{name}.position"], spatial.q[:, k])
    for k, name in enumerate(model.speed_names):
        assert np.array_equal(spatial[f"{name}.speed"], spatial.v[:, k])
        assert np.array_equal(spatial[f"{name}.acceleration"], spatial.a[:, k])


def test_components_and_length_of_vectors(spatial: da.Result) -> None:
    v = spatial["loose.velocity"]
    for k, letter in enumerate("xyz"):
        assert np.array_equal(spatial[f"loose.velocity.{letter}"], v[:, k])
    assert np.array_equal(spatial["loose.velocity.norm"], np.linalg.norm(v, axis=1))
    assert np.array_equal(spatial["loose.rotation.zx"], spatial["loose.rotation"][:, 2, 0])


def test_energy_and_momentum_are_sums_over_bodies(spatial: da.Result) -> None:
    system = spatial.model.system  # type: ignore[union-attr]
    kinetic, potential = np.zeros(len(spatial)), np.zeros(len(spatial))
    P, first = np.zeros((len(spatial), 3)), np.zeros((len(spatial), 3))
    spins, places, speeds, masses = [], [], [], []
    for name, body in system.bodies.items():
        c = f"{name}.at({', '.join(map(repr, body.com.tolist()))})"
        u, w, r, R = (spatial[f"{c}.{x}"] for x in ("velocity", "angular_velocity", "position", "rotation"))
        spin = np.einsum("nij,jk,nlk,nl->ni", R, body.inertia, R, w)
        kinetic += body.mass * (u * u).sum(1) / 2 + (w * spin).sum(1) / 2
        potential -= body.mass * r @ system.gravity
        P += body.mass * u
        first += body.mass * r
        spins.append(spin), places.append(r), speeds.append(u), masses.append(body.mass)
    com = first / sum(masses)
    L = sum(s + m * np.cross(r - com, u) for s, m, r, u in zip(spins, masses, places, speeds, strict=True))
    assert np.allclose(spatial["energy.kinetic"], kinetic, rtol=1e-12)
    assert np.allclose(spatial["energy.potential"], potential, rtol=1e-12, atol=1e-12)
    assert np.allclose(spatial["energy.total"], kinetic + potential, rtol=1e-12)
    assert np.allclose(spatial["momentum.linear"], P, rtol=1e-12, atol=1e-12)
    assert np.allclose(spatial["momentum.angular"], L, rtol=1e-11, atol=1e-11)
    assert np.allclose(spatial["center_of_mass"], com, rtol=1e-12, atol=1e-12)
    assert np.abs(spatial["energy.balance"]).max() < 1e-7 * np.abs(kinetic).max()  # SciPy's tolerance


# ---- closed loops


def bar(order: str) -> da.System:
    """The four-bar of the library with its connections named in another order: the last is cut."""
    template, system = four_bar(), da.System("bar", gravity=(0, -9.81, 0))
    for body in template.bodies.values():
        system.body(body.name, mass=body.mass, com=body.com, inertia=body.inertia)
    for name in order:
        c = template.connections[name]
        ends = [
            (system.ground if m.body is template.ground else system.bodies[m.body.name]) for m in (c.first, c.second)
        ]
        system.connect(name, c.element, *(b.at(*m.position) for b, m in zip(ends, (c.first, c.second), strict=True)))
        system.initials[name] = template.initials[name]
    return system


def started(system: da.System, speed: float = 3.0) -> tuple[Any, Array, Array]:
    model = system.compile()
    q = da.assemble(model).q
    guess = np.zeros(model.nv)
    guess[model.v_slice("A")] = speed
    return model, q, da.consistent_velocities(model, q, guess, hold="A")


@pytest.fixture(scope="module")
def cut_at_D() -> da.Result:
    model, q, v = started(bar("ABCD"), 6.0)
    return trajectory(model, np.linspace(0.0, 2.5, 40), q, v)


@pytest.mark.parametrize("order", ["BCDA", "CDAB", "DABC"])
def test_no_output_depends_on_where_a_loop_is_cut(cut_at_D: da.Result, order: str) -> None:
    model = bar(order).compile()
    assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == [order[-1]]
    # the same motion in the coordinates of the other tree
    q = np.stack([cut_at_D[f"{name}.position"] for name in model.joint_names], axis=1)
    v = np.stack([cut_at_D[f"{name}.speed"] for name in model.joint_names], axis=1)
    other = da.Result(model, cut_at_D.t, q, v)
    for joint in "ABCD":
        for quantity in ("position", "speed", "acceleration", "angle"):
            name = f"{joint}.{quantity}"
            assert np.allclose(other[name], cut_at_D[name], atol=1e-7), name
        # out of the plane the loads of a planar loop are not unique
        force, moment = f"{joint}.force", f"{joint}.moment"
        assert np.allclose(other[force][:, :2], cut_at_D[force][:, :2], atol=1e-6)
        assert np.allclose(other[moment][:, 2], 0.0, atol=1e-7)
    for body in ("crank", "coupler", "rocker"):
        assert np.allclose(other[f"{body}.angle"], cut_at_D[f"{body}.angle"], atol=1e-9)


def test_angles_count_turns(cut_at_D: da.Result) -> None:
    assert cut_at_D["A.angle"][-1] > 2 * np.pi  # the crank goes round
    assert np.allclose(cut_at_D["crank.angle"], cut_at_D["A.angle"], atol=1e-9)
    assert np.allclose(cut_at_D["rocker.angle"], cut_at_D["D.position"], atol=1e-9)
    sparse = cut_at_D.at(np.array([0.0, 1.2, 2.5]))
    assert np.allclose(sparse["crank.angle"], sparse["A.angle"], atol=1e-9)


@pytest.mark.parametrize("speed", [1.0, -30.0, 250.0])
def test_a_cut_joint_that_spins_fast_counts_turns_between_stored_times(speed: float) -> None:
    system = da.System(gravity=(0, 0, 0))
    first, second = (system.body(name, da.rod(1.0, 1.0, axis="z")) for name in ("first", "second"))
    first.inertia[2, 2] = second.inertia[2, 2] = 0.1
    system.connect("A", da.Revolute("z"), system.ground, first)
    system.connect("B", da.Fixed(), first.at(0, 0, 1), second)
    system.connect("C", da.Revolute("z"), system.ground.at(0, 0, 2), second.at(0, 0, 1))
    system.initial("C", position=7.0)
    model = system.compile()
    assert model.forest.loop_constraints[0].name == "C"
    t = np.array([0.0, 0.1, 0.5, 2.0])
    turn = 1.0 + speed * t
    result = da.Result(model, t, turn[:, None], np.full((4, 1), speed))
    # the nearest to the start value that is meant: 1 + 2 pi
    assert np.allclose(result["C.position"], turn + 2 * np.pi, atol=1e-9)
    assert np.allclose(result["C.angle"], result["C.position"]) and np.allclose(result["C"], result["C.position"])
    assert np.allclose(result["second.angle"], turn, atol=1e-9)
    # a speed that changes much between stored times
    t = np.array([0.0, 0.3, 1.1, 2.0])

    def dense(at: Array) -> tuple[Array, Array, Array]:
        return 1.0 + speed * np.sin(3 * at[:, None]), 3 * speed * np.cos(3 * at[:, None]), np.zeros((len(at), 0))

    result = da.Result(model, t, *dense(t), dense=dense)
    assert np.allclose(result["C.position"], 1.0 + 2 * np.pi + speed * np.sin(3 * t), atol=1e-9)
    turn = 1.0 + speed * np.sin(3 * t)
    one = da.Output.of(model, "C.position").evaluate(model, 0.0, result.q[2], result.v[2])
    assert np.abs(one) <= np.pi and np.isclose(np.cos(one), np.cos(turn[2]))


def test_loads_of_connections_are_those_of_the_kernel(cut_at_D: da.Result) -> None:
    model = cut_at_D.model
    assert model is not None
    for k in (0, 17, 39):
        loads = model.loads_of_motion(cut_at_D.q[k], cut_at_D.v[k], cut_at_D.a[k], cut_at_D.lam[k])
        for name, load in loads.items():
            assert np.allclose(cut_at_D[f"{name}.moment"][k], load[:3], atol=1e-9)
            assert np.allclose(cut_at_D[f"{name}.force"][k], load[3:], atol=1e-9)
    for k, row in enumerate(model.constraint_names):
        assert np.array_equal(cut_at_D[row], cut_at_D.lam[:, k])


def test_every_body_moves_as_its_loads_say(cut_at_D: da.Result) -> None:
    """Newton and Euler for each body of a loop, from outputs alone."""
    system = cut_at_D.model.system  # type: ignore[union-attr]
    for name, body in system.bodies.items():
        com = f"{name}.at({', '.join(map(repr, body.com.tolist()))})"
        force = np.tile(body.mass * system.gravity, (len(cut_at_D), 1))
        moment = np.zeros((len(cut_at_D), 3))
        for c in system.connections.values():
            for marker, sign in ((c.first, -1.0), (c.second, 1.0)):
                if marker.body is body:
                    F = sign * cut_at_D[f"{c.name}.force"]
                    point = cut_at_D.model.pose(c.second, cut_at_D.q).position  # type: ignore[union-attr]
                    force += F
                    moment += sign * cut_at_D[f"{c.name}.moment"]
                    moment += np.cross(point - cut_at_D[f"{com}.position"], F)
        assert np.allclose(body.mass * cut_at_D[f"{com}.acceleration"], force, atol=1e-7)
        spin = body.inertia[2, 2] * cut_at_D[f"{name}.angular_acceleration.z"]
        assert np.allclose(spin, moment[:, 2], atol=1e-7)


def test_residuals_of_constraints(cut_at_D: da.Result) -> None:
    assert cut_at_D["constraints.residual"].max() < 1e-8  # SciPy's tolerance: nothing is projected
    assert cut_at_D["constraints.velocity_residual"].max() < 1e-7
    model = cut_at_D.model
    assert model is not None
    off = da.Result(model, [0.0], cut_at_D.q[:1] + 1e-3, cut_at_D.v[:1] + 1e-2)
    P = model.constraint_jacobian(off.q[0])
    assert off["constraints.residual"][0] == np.abs(model.constraint_residual(off.q[0])).max() > 1e-4
    assert np.isclose(off["constraints.velocity_residual"][0], np.abs(P @ off.v[0]).max())


# ---- forces, drives, power


def test_a_pendulum_pulls_at_its_pin_as_the_textbook_says() -> None:
    s = da.System()
    rod = s.body("rod", da.rod(length=1.2, mass=2.0))
    s.connect("A", da.Revolute("y"), s.ground, rod)
    s.initial("A", position=0.0, speed=1.5)
    result = trajectory(s.compile(), np.linspace(0, 1, 11))
    angle, speed = result["A.position"], result["A.speed"]
    # the rod hangs at pi/2; a = 3 g cos / (2 l); centre of mass at l/2
    a = 1.5 * 9.81 / 1.2 * np.cos(angle)
    assert np.allclose(result["A.acceleration"], a, atol=1e-12)
    e = np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=1)
    n = np.stack([-np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)
    expected = 2.0 * (0.6 * (a[:, None] * n - (speed**2)[:, None] * e) + [0, 0, 9.81])
    assert np.allclose(result["A.force"], expected, atol=1e-10)
    assert np.allclose(result["A.moment"], 0.0, atol=1e-10)
    assert (result["A.effort"] == 0).all()


def test_a_drive_works_against_gravity() -> None:
    s = da.System()
    arm = s.body("arm", da.rod(length=2.0, mass=3.0))
    s.connect("A", da.Revolute("-y"), s.ground, arm)
    s.drive("A", position=da.Polynomial((0.2, 1.5)))
    model = s.compile()
    t = np.linspace(0, 2, 9)
    result = da.Result(model, t, 0.2 + 1.5 * t[:, None], np.full((9, 1), 1.5))
    angle = 0.2 + 1.5 * t
    torque = 3.0 * 9.81 * np.cos(angle)  # m g l / 2 cos
    assert np.allclose(result["A.effort"], torque, atol=1e-11)
    assert np.allclose(result["power"], 1.5 * torque, atol=1e-11)
    assert np.allclose(result["energy.work"], 3.0 * 9.81 * (np.sin(angle) - np.sin(0.2)), atol=1e-9)
    assert np.abs(result["energy.balance"]).max() < 1e-9
    # the pin bends the arm: about y of the world with the drive's effort
    assert np.allclose(result["A.moment.y"], -torque, atol=1e-11)
    assert np.isclose(
        result.output("energy.work", [1.1])[0], 3.0 * 9.81 * (np.sin(0.2 + 1.65) - np.sin(0.2)), atol=1e-9
    )


@pytest.fixture(scope="module")
def sprung() -> da.Result:
    """A driven slider-crank with a spring and damper, a push, and a torsion spring at the driven joint."""
    system = slider_crank()
    crank, slider = system.bodies["crank"], system.bodies["slider"]
    system.drive("A", position=da.Harmonic(0.9, 4.0, 0.3, 0.4))
    system.connect("k", SpringDamper(40.0, 1.5, 0.3), system.ground.at(0, 0.5, 0.1), slider.at(0.01, 0.02, 0))
    growing = tuple(da.Polynomial((0.0, slope)) for slope in (3.0, -2.0, 1.0))
    system.connect("push", Load(force=growing), system.bodies["rod"].at(0.3, 0.1, 0))
    system.connect("coil", TorsionSpring(5.0, 0.2), "A")
    crank.marker("tip", 0.2, 0, 0)
    model = system.compile()
    motion = da.driven_motion(model, 0.0)
    return trajectory(model, np.linspace(0.0, 1.0, 12), motion.q, motion.v)


def test_the_energy_account_closes_with_drives_springs_dampers_and_loads(sprung: da.Result) -> None:
    work, dissipated = sprung["energy.work"], sprung["energy.dissipated"]
    assert np.ptp(work) > 1.0 and dissipated[-1] > 0.1 and (np.diff(dissipated) > 0).all()
    # integrated to 1e-11, and read off a dense output of lower order
    assert np.abs(sprung["energy.balance"]).max() < 1e-6
    at = np.array([0.21, 0.66])
    assert np.allclose(slope(sprung, "energy.work", at, 2e-3), sprung.output("power", at), atol=1e-4)


def test_efforts_of_a_drive_leave_out_what_springs_give(sprung: da.Result) -> None:
    model: Any = sprung.model
    coil = -5.0 * sprung["A.position"] - 0.2 * sprung["A.speed"]
    assert np.allclose(sprung["coil.effort"], coil, atol=1e-13)
    for k in (0, 5, 11):
        state = (sprung.q[k], sprung.v[k], sprung.a[k])
        needed = da.inverse_dynamics(model, *state, actuators="A", t=float(sprung.t[k]))["A"]
        assert np.isclose(sprung["A.effort"][k], needed, atol=1e-7)
        assert np.isclose(sprung["tau"][k, model.v_slice("A").start], needed + coil[k], atol=1e-7)


def test_loads_of_force_elements_act_on_their_second_marker(sprung: da.Result) -> None:
    end = sprung["slider.at(0.01, 0.02, 0).position"]
    r = end - [0, 0.5, 0.1]
    length = np.linalg.norm(r, axis=1)
    rate = (sprung["slider.velocity"] * r).sum(1) / length
    expected = -(40.0 * (length - 0.3) + 1.5 * rate)[:, None] * r / length[:, None]
    assert np.allclose(sprung["k.force"], expected, atol=1e-10)
    assert np.allclose(sprung["k.moment"], 0.0)
    assert np.allclose(sprung["push.force.y"], -2.0 * sprung.t)
    # Newton's law for the slider: the guide, the connecting rod, the spring and gravity
    slider = sprung.model.system.bodies["slider"]  # type: ignore[union-attr]
    total = sprung["C.force"] + sprung["D.force"] + sprung["k.force"] + slider.mass * np.array([0, -9.81, 0])
    assert np.allclose(slider.mass * sprung["slider.acceleration"], total, atol=1e-7)


def two_links(order: str) -> da.System:
    """A slider-crank with dampers in its joints, connected in the given order: the last revolute or slider is cut."""
    s = da.System("two links", gravity=(0, 0, -9.81))
    first, second = s.body("first", da.rod(1.0, 1.0, radius=0.05)), s.body("second", da.rod(1.2, 2.0, radius=0.05))
    block = s.body("block", mass=0.7, inertia=(0.1, 0.1, 0.1))
    made = {
        "A": (da.Revolute("y", damping=0.4), s.ground, first),
        "B": (da.Revolute("y"), first.at(1.0), second),
        "C": (da.Revolute("y", damping=0.2), second.at(1.2), block),
        "D": (da.Prismatic("x", damping=3.0), s.ground, block),
    }
    for name in order:
        s.connect(name, *made[name])
    for name, angle in (("A", -0.7), ("B", 0.7 + np.arcsin(np.sin(0.7) / 1.2)), ("C", -np.arcsin(np.sin(0.7) / 1.2))):
        s.initial(name, position=angle)
    s.initial("D", position=np.cos(0.7) + np.sqrt(1.44 - np.sin(0.7) ** 2))
    return s


@pytest.mark.parametrize("order", ["ABDC", "BCDA", "ABCD"])
def test_dampers_of_a_joint_count_whether_or_not_it_is_cut(order: str) -> None:
    """The same motion with different cuts: efforts, loads and energies agree."""
    reference = two_links("DCAB").compile()  # cut at B, which has no damper
    assert [loop_constraint.name for loop_constraint in reference.forest.loop_constraints] == ["B"]
    q = da.assemble(reference).q
    v = da.consistent_velocities(reference, q, [1.0, 0.3, -0.2])
    run = trajectory(reference, np.linspace(0, 1.5, 9), q, v)
    assert np.abs(run["energy.balance"]).max() < 1e-8 and run["energy.dissipated"][-1] > 0.5
    model = two_links(order).compile()
    assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == [order[-1]]
    columns = [np.stack([run[f"{h}.{level}"] for h in model.joint_names], axis=1) for level in ("position", "speed")]
    other = da.Result(model, run.t, *columns)
    for joint in "ABCD":
        assert np.allclose(other[f"{joint}.effort"], run[f"{joint}.effort"], atol=1e-8)
        assert np.allclose(other[f"{joint}.acceleration"], run[f"{joint}.acceleration"], atol=1e-6)
        in_plane = other[f"{joint}.force"][:, [0, 2]]
        assert np.allclose(in_plane, run[f"{joint}.force"][:, [0, 2]], atol=1e-6), joint
        # the moment of a revolute about its axis is its damper's
        if joint != "D":
            assert np.allclose(other[f"{joint}.moment.y"], run[f"{joint}.effort"], atol=1e-6), joint
    assert np.allclose(run["D.effort"], -3.0 * run["D.speed"]) and np.allclose(run["A.effort"], -0.4 * run["A.speed"])


def test_every_force_element_gives_its_load() -> None:
    s = da.System(gravity=(0, 0, 0))
    arm, block = s.body("arm", da.rod(1.0, 1.0, radius=0.1)), s.body("block", da.box(0.1, 0.2, 0.3, mass=1.0))
    s.connect("A", da.Revolute("z"), s.ground, arm)
    s.connect("B", da.Cylindrical("x"), arm.at(1.0), block)
    s.connect("stop", Limits(-0.2, 0.3, stiffness=50.0, damping=2.0), "B.slide")
    s.connect("coil", JointSpring(7.0, 0.1, rest=0.4), "B.angle")
    s.connect("motor", Effort(da.Harmonic(2.0, 3.0)), "A")
    tip = block.at(0, 0.1, 0, rotation=da.bryant(0.3, 0.2, 0.1))
    s.connect("jet", Load(force=(1.0, 2.0, 3.0), moment=(0.1, 0.2, da.Polynomial((0.0, 1.0))), axes="body"), tip)
    s.connect("wind", Load(force=(0.0, da.Harmonic(1.0, 1.0), 0.0)), block)
    s.connect("rope", SpringDamper(20.0, 0.5, 0.7), s.ground.at(0, 0, 1.0), tip)
    model = s.compile()
    rng = np.random.default_rng(2)
    n = 12
    q, v, t = rng.uniform(-1, 1, (n, 3)), rng.normal(size=(n, 3)), np.linspace(0, 2, n)
    result = da.Result(model, t, q, v)
    # efforts add up to what the core applies at the coordinates
    slide, angle, joint = (result[name] for name in ("stop.effort", "coil.effort", "motor.effort"))
    tau, loads = model.applied_loads(t, q, v)
    assert np.allclose(tau, np.stack([joint, angle, slide], axis=1), atol=1e-12) and (slide != 0).any()
    assert (slide[np.abs(result["B.slide"] - 0.05) < 0.25] == 0).all()
    # forces and moments to what it applies to the block
    force = sum(result[f"{name}.force"] for name in ("jet", "wind", "rope"))
    assert np.allclose(loads[:, 1, 3:], force, atol=1e-12) and np.allclose(loads[:, 0], 0.0)
    arm_of = model.pose(tip, q).position - result["block.position"]
    at_tip = result["jet.force"] + result["rope.force"]
    moment = result["jet.moment"] + result["rope.moment"] + np.cross(arm_of, at_tip)
    assert np.allclose(loads[:, 1, :3], moment, atol=1e-12)
    assert np.allclose(result["A.effort"], joint) and np.allclose(result["B.effort"], tau[:, 1:])


@pytest.mark.parametrize("driven", ["length", "angle"])
def test_the_effort_of_a_driven_constraint_times_its_rate_is_its_power(driven: str) -> None:
    s = da.System()
    arm = s.body("arm", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("-y"), s.ground, arm)
    if driven == "length":
        s.connect("c", da.Distance(1.0), s.ground.at(0, 0, 0.8), arm.at(0.7, 0, 0))
        s.drive("c", position=da.Harmonic(0.2, 2.0, 0.0, 1.0))
    else:
        s.connect("c", da.AxisAngle("z", "x", 1.2), s.ground, arm)
        s.drive("c", position=da.Harmonic(0.2, 2.0, 0.0, 1.2))
    model = s.compile()
    motion = da.driven_motion(model, 0.0)
    result = trajectory(model, np.linspace(0, 1, 9), motion.q, motion.v)
    rate = np.array([model.drives[0].law(t)[1] for t in result.t])
    weight = 2.0 * 9.81 * 0.5 * np.cos(result["A.position"]) + 2.0 / 3 * result["A.acceleration"]
    assert np.allclose(result["c.effort"] * rate, weight * result["A.speed"], atol=1e-7)
    assert np.allclose(result["power"], result["c.effort"] * rate, atol=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-7 and np.ptp(result["energy.work"]) > 0.1
    assert result["constraints.residual"].max() < 1e-8
    assert result["constraints.velocity_residual"].max() < 1e-7
    assert ("c.effort [N m]" if driven == "angle" else "c.effort [N]") in describe(model, "c.effort")


def test_a_gear_passes_its_effort_on() -> None:
    s = da.System(gravity=(0, 0, 0))
    for name, inertia in (("a", 0.2), ("b", 0.5)):
        wheel = s.body(name, mass=1.0, inertia=(1, 1, inertia))
        s.connect(name.upper(), da.Revolute("z"), s.ground, wheel)
    s.connect("mesh", da.gear(20, 40), "A", "B")
    s.drive("A", acceleration=3.0)
    model = s.compile()
    result = da.Result(model, [0.0, 1.0], [[0.0, 0.0], [1.5, -0.75]], [[0.0, 0.0], [3.0, -1.5]])
    assert np.allclose(result["B.acceleration"], -1.5)
    assert np.allclose(result["mesh.effort"], 0.5 * -1.5) and np.allclose(result["mesh.ratio"], 0.5 * -1.5)
    assert np.allclose(result["A.effort"], 0.2 * 3.0 + 0.5 * 0.75)


# ---- angles of bodies


def test_the_angle_of_a_body_that_turns_in_space_is_refused(spatial: da.Result) -> None:
    with pytest.raises(da.ModelError, match=r"loose\.angle.*one fixed axis.*quaternion"):
        spatial["loose.angle"]


def test_the_angle_of_a_free_body_that_keeps_to_one_axis_is_found() -> None:
    s = da.System(gravity=(0, 0, 0))
    s.body("disc", mass=1.0, inertia=(1, 1, 2))
    model = s.compile()
    t = np.linspace(0, 3, 13)
    n = np.array([0.0, 0.6, 0.8])
    q = np.zeros((13, 7))
    q[:, 0], q[:, 1:4] = np.cos(2.5 * t), np.sin(2.5 * t)[:, None] * n
    v = np.zeros((13, 6))
    v[:, :3] = 5.0 * n
    result = da.Result(model, t, q, v)
    assert np.allclose(result["disc.angle"], 5.0 * t, atol=1e-12)
    assert np.allclose(result["disc.free.position"], q)
    assert np.allclose(result["disc.quaternion"], q[:, :4], atol=1e-14) and q[:, 0].min() < 0  # through the other sign
    with pytest.raises(da.ModelError, match="use a Result"):
        da.Output.of(model, "disc.angle").evaluate(model, t, q, v)


@pytest.mark.parametrize("axis", ["x", "y", "-z", (1.0, 2.0, -0.5)])
@pytest.mark.parametrize("turned", [np.eye(3), da.euler((np.pi, 0, 0), "XYZ"), da.bryant(0.4, -0.8, 0.3)])
def test_planar_angles_grow_with_the_joint_whichever_way_the_body_is_turned(axis: Any, turned: Array) -> None:
    s = da.System()
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.connect("A", da.Revolute(axis), s.ground.at(0, 0, 0, rotation=turned.T), body.at(0.1, 0, 0))
    model = s.compile()
    t = np.linspace(0, 8, 30)
    result = da.Result(model, t, t[:, None], np.ones((30, 1)))
    angle = result["body.angle"]
    assert np.allclose(np.abs(angle - angle[0]), t, atol=1e-12) and -np.pi <= angle[0] <= np.pi
    # about the axis whose largest component is positive
    w = result["body.angular_velocity"][0]
    assert np.sign(angle[1] - angle[0]) == np.sign(w[np.abs(w).argmax()])
    if (turned == np.eye(3)).all():
        assert np.isclose(angle[0], 0.0)


def test_a_body_that_does_not_turn_has_no_angle() -> None:
    s = da.System()
    s.connect("A", da.Prismatic("x"), s.ground, s.body("block", mass=1.0, inertia=(1, 1, 1)))
    model = s.compile()
    assert "block.angle" not in names(model)
    with pytest.raises(da.ModelError, match="one fixed axis"):
        da.Result(model, [0.0], [[0.0]], [[1.0]])["block.angle"]


# ---- names


def test_every_listed_output_has_its_unit_and_shape(sprung: da.Result, cut_at_D: da.Result, spatial: da.Result) -> None:
    for result in (sprung, cut_at_D, spatial):
        model = result.model
        assert model is not None
        listed = result.names()
        assert len(listed) == len(set(listed))
        for name in listed:
            output = da.Output.of(model, name)
            values = result[name]
            assert output.name == name and values.shape == (len(result), *output.shape)  # type: ignore[misc]
            assert np.isfinite(values).all() and values.dtype == float
            assert output.unit and name in result.describe(name)
            assert len(output.labels) == (int(np.prod(output.shape)) if output.shape else 0)  # type: ignore[arg-type]
            kept = values.copy()
            values += 1.0  # the caller's own
            assert np.array_equal(result[name], kept), name


def test_units(sprung: da.Result, spatial: da.Result) -> None:
    units = {"A.position": "rad", "D.position": "m", "D.slide.speed": "m/s", "A.acceleration": "rad/s2"}
    units |= {"A.effort": "N m", "D.effort": "N", "D.force": "N", "D.moment.x": "N m", "energy.work": "J"}
    units |= {"crank.angular_velocity": "rad/s", "k.force.norm": "N", "coil.effort": "N m", "power": "W"}
    for name, unit in units.items():
        assert da.Output.of(sprung.model, name).unit == unit, name  # type: ignore[arg-type]
    assert da.Output.of(spatial.model, "loose.joint.position").unit == "1, 1, 1, 1, m, m, m"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("A.positon", "did you mean 'A.position'"),
        ("crank.speed", "'crank' has position, rotation"),
        ("crnk.velocity", "did you mean 'crank.velocity'"),
        ("energy.kinetics", "energy.kinetic"),
        ("A.position.x", "'A' has"),
        ("crank.velocity.w", "crank.velocity"),
        ("crank.at(1, 2).velocity", "three numbers"),
        ("crank.at(a, b, c).velocity", "three numbers"),
        ("nothing of the kind", "there are outputs such as 'energy.kinetic'"),
        ("", "there are outputs"),
    ],
)
def test_a_wrong_name_gets_suggestions(sprung: da.Result, wrong: str, hint: str) -> None:
    with pytest.raises(da.ModelError, match=r"output") as caught:
        sprung[wrong]
    assert hint in str(caught.value)


def test_names_with_dots_and_odd_letters_are_found() -> None:
    s = da.System()
    arm = s.body("left.arm/é", da.rod(1.0, 1.0))
    arm.marker("tip.end", 1.0, 0, 0)
    s.connect("left.joint", da.Cylindrical("z"), s.ground, arm)
    model = s.compile()
    result = da.Result(model, [0.0], [[0.3, 0.5]], [[1.0, 2.0]])
    assert np.allclose(result["left.arm/é.tip.end.position"], [[np.cos(0.3), np.sin(0.3), 0.5]])
    assert result["left.joint.slide"][0] == 0.5 and result["left.joint.slide.speed"][0] == 2.0
    assert np.array_equal(result["left.joint.position"], [[0.3, 0.5]])
    assert result["left.joint.position.angle"][0] == 0.3
    with pytest.raises(da.ModelError, match="has position, speed"):
        result["left.joint"]


# ---- as the event finder uses them


def test_outputs_evaluate_on_states_and_compute_only_what_they_need(
    cut_at_D: da.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = cut_at_D.model
    expected, calls = cut_at_D["D.force"], []
    real = model.report

    def report(parts: list[str], *states: Any, **further: Any) -> Any:
        calls.extend({"a", "dx", "tau", "lam", "loads", "energy"} & {*parts})
        return real(parts, *states, **further)

    monkeypatch.setattr(model, "report", report, raising=False)
    t, q, v = cut_at_D.t, cut_at_D.q, cut_at_D.v
    for name in ("A.position", "D.speed", "rocker.at(1,0,0).velocity.x", "energy.total", "constraints.residual"):
        output = da.Output.of(model, name)
        assert output.needs in ("position", "speed")
        batch = output.evaluate(model, t, q, v)
        assert not calls
        assert np.array_equal(batch, cut_at_D[name])
        assert np.allclose(output.evaluate(model, t[3], q[3], v[3]), batch[3], atol=1e-13)
    force = da.Output.of(model, "D.force")
    assert force.needs == "dynamics"
    assert np.array_equal(force.evaluate(model, t, q, v), expected)
    assert "loads" in calls
    assert np.allclose(force.evaluate(model, t[3], q[3], v[3]), expected[3], atol=1e-10)
    with pytest.raises(da.ModelError, match="use a Result"):
        da.Output.of(model, "energy.work").evaluate(model, t, q, v)
    assert da.Output.of(model, force) is force


def test_functions_of_the_state_are_outputs(cut_at_D: da.Result) -> None:
    assert np.array_equal(cut_at_D.output(lambda state: state.q[0] + state.t), cut_at_D.q[:, 0] + cut_at_D.t)
    assert cut_at_D.output(lambda state: np.outer(state.q, state.v)).shape == (40, 3, 3)
    at = cut_at_D.output(lambda state: state.t, [0.5, 1.0])
    assert np.array_equal(at, [0.5, 1.0])

    def broken(state: da.State) -> float:
        return 1 / (state.t - state.t)

    with pytest.raises(da.UserFunctionError, match=r"broken.*t = 0 s"):
        cut_at_D.output(broken)
    with pytest.raises(da.UserFunctionError, match="different shapes"):
        cut_at_D.output(lambda state: np.zeros(1 + (state.t > 1)))
    with pytest.raises(da.ModelError, match="give a name"):
        da.Output.of(cut_at_D.model, 3)  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match=r"result\.output"):
        cut_at_D[3]  # type: ignore[index]


def test_every_joint_of_the_library_can_be_read_when_cut() -> None:
    """Each joint twice between two moving bodies: the second closes a loop that the first has closed already."""
    rng = np.random.default_rng(8)
    for kind in JOINTS:
        if kind is da.Fixed:
            continue
        joint: Joint = random_joint(kind, rng)
        s = da.System()
        base, body = (s.body(name, da.box(0.2, 0.3, 0.4, mass=1.0)) for name in ("base", "body"))
        s.connect("tumble", da.Free() if kind is da.Free else da.Spherical(), s.ground, base.at(0.4, 0.1, 0))
        ends = base.at(0.1, 0.2, 0.3, rotation=da.bryant(0.2, 0.3, -0.4)), body.at(0.3, -0.1, 0)
        s.connect("A", joint, *ends)
        s.connect("B", joint, *ends)
        model = s.compile()
        assert [c.name for c in model.forest.loop_constraints] == ["B"]
        state = model.random_state(4, size=6)
        result = da.Result(model, np.arange(6) * 1e-9, state.q, state.v)
        at_A, at_B = (result[f"{name}.position"].reshape(6, -1) for name in "AB")
        if "qw" in joint.coordinates:
            at_A[:, :4] *= np.sign((at_A * at_B)[:, :4].sum(1))[:, None]
        angles = [k for k, c in enumerate(joint.coordinates) if c.startswith("angle")]
        at_B[:, angles] -= 2 * np.pi * np.round((at_B - at_A)[:, angles] / (2 * np.pi))
        assert np.allclose(at_B, at_A, atol=1e-12), kind
        assert np.allclose(result["B.speed"], result["A.speed"], atol=1e-12), kind
        assert np.allclose(result["B.acceleration"], result["A.acceleration"], atol=1e-9), kind


def test_loads_of_elements_follow_numbers_that_events_change() -> None:
    s = da.System("release", gravity=(0, 0, 0))
    slide = s.body("slide", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("P", da.Prismatic("x"), s.ground, slide)
    s.connect("k", da.SpringDamper(40.0, length=0.5), s.ground.at(-1, 0, 0), slide)
    s.connect("h", da.JointSpring(10.0), "P")
    s.connect("stop", da.Limits(-0.01, 0.01, stiffness=50.0), "P")

    def soften(now: da.EventContext) -> None:
        now.set("k.stiffness", 4.0)
        now.set("h.rest", 0.2)
        now.set("stop.stiffness", 500.0)

    event = da.Event("soft", lambda state: state.t - 0.3, action=soften)
    result = da.simulate(s, 0.6, events=[event])
    late = result.t > 0.3
    k, rest, stop = np.where(late, 4.0, 40.0), np.where(late, 0.2, 0.0), np.where(late, 500.0, 50.0)
    before = ~np.isclose(result.t, 0.3)  # at the event itself both sides are given with what holds after it
    x = result["P.position"]
    assert late.sum() > 3 and (~late).sum() > 3
    assert np.allclose(result["k.force.x"][before], (-k * (1 + x - 0.5))[before])
    assert np.allclose(result["h.effort"][before], (-10.0 * (x - rest))[before])
    beyond = np.clip(x, -0.01, 0.01) - x
    assert np.allclose(result["stop.effort"][before], (stop * beyond)[before])
    total = result["k.force.x"] + result["h.effort"] + result["stop.effort"]
    assert np.allclose(result["P.acceleration"][before], total[before])
