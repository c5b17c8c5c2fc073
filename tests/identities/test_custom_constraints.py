"""Custom constraints and chains: those of the library written by hand, others against differences, chains by rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space
from systems.custom_twins import TWINS, twin
from systems.random_loops import random_closed_system
from systems.random_trees import coin, derivative, hang_on, random_marker

import dalembert as da
from dalembert.connections.constraints.geometric import Constraint

Array = NDArray[np.float64]


def assert_close(x: Array, y: Array, tolerance: float) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    size = max(1.0, float(np.abs(y).max(initial=0.0)))
    assert np.abs(x - y).max(initial=0.0) <= tolerance * size


def arm(element: Constraint, *more: Constraint) -> da.System:
    """Return two links on ball joints whose tip an element ties to a marker on ground."""
    s = da.System("arm")
    upper = s.body("upper", mass=2.0, com=(0.5, 0.02, 0), inertia=(0.05, 0.2, 0.21))
    lower = s.body("lower", mass=1.0, com=(0.4, 0, 0.03), inertia=(0.03, 0.06, 0.07))
    s.connect("A", da.Spherical(), s.ground, upper)
    s.connect("B", da.Spherical(), upper.at(1.0, 0, 0), lower)
    turned = da.euler((0.3, 0.7, -0.4), "ZXZ")
    for k, one in enumerate((element, *more)):
        s.connect(f"C{k}", one, s.ground.at(1.0, 0.2, 0.3, rotation=turned), lower.at(0.8, 0, 0.1))
    s.initial("A", position=[0.8, 0.0, -0.6, 0.0])
    s.initial("B", position=[0.8, 0.1, 0.6, 0.0])
    return s


# ---- those of the library

DISC = {"u": "sqrt(1 - Rzz**2)", "r": 0.3}
# where a disc about z of the second marker touches the plane z = 0 of the first, seen from its centre
TOUCH = {**DISC, "ux": "r*Rzz*Rxz/u", "uy": "r*Rzz*Ryz/u", "uz": "-r*u"}
PAIRS: dict[str, tuple[list[Constraint], list[Constraint]]] = {
    "distance": ([da.Distance(0.5)], [da.CustomConstraint("sqrt(x*x + y*y + z*z) - l", {"l": 0.5})]),
    "point on plane": ([da.PointOnPlane("z")], [da.CustomConstraint("z")]),
    "point on line": ([da.PointOnLine("z")], [da.CustomConstraint(("x", "y"))]),
    "ball": ([da.PointOnPoint()], [da.CustomConstraint(("x", "y", "z"))]),
    "turn": (
        [da.AxisAngle("x", "y", 1.2, about="z")],
        [da.CustomConstraint("atan2(Ryy, Rxy) - 1.2", units="rad")],
    ),
    "angle": ([da.AxisAngle("x", "y", 1.2)], [da.CustomConstraint("Rxy - cos(1.2)", units="rad")]),
    "parallel": ([da.Parallel("z")], [da.CustomConstraint(("Rxz", "Ryz"), units="rad")]),
    "skate": (
        [da.PointOnPlane("z"), da.KnifeEdge("y")],
        [da.CustomConstraint("z"), da.PfaffianConstraint("vx*Rxy + vy*Ryy + vz*Rzy")],
    ),
    "rolling sphere": (
        [da.RollingSphere(0.3)],
        [da.CustomConstraint("z - r", {"r": 0.3}), da.PfaffianConstraint(("vx - r*wy", "vy + r*wx"), {"r": 0.3})],
    ),
    "rolling disc": (
        [da.RollingDisc(0.3, "z", "z")],
        [
            da.CustomConstraint("z - r*u", definitions=DISC),
            da.PfaffianConstraint(("vx + wy*uz - wz*uy", "vy + wz*ux - wx*uz"), definitions=TOUCH),
        ],
    ),
    "ball, bar, ball": ([da.Distance(0.5)], [da.KinematicChain([da.Spherical(), da.bar(0.5), da.Spherical()])]),
    "universal, bar, ball": ([da.Distance(0.5)], [da.KinematicChain([da.Universal(), da.bar(0.5), da.Spherical()])]),
    "chain of a ball": ([da.PointOnPoint()], [da.KinematicChain([da.Spherical()])]),
    "two slides and a ball": (
        [da.PointOnPlane("z")],
        [da.KinematicChain([da.Prismatic("x"), da.Prismatic("y"), da.Spherical()])],
    ),
    "plane joint and ball": ([da.PointOnPlane("z")], [da.KinematicChain([da.Planar("z"), da.Spherical()])]),
    "slide and ball": ([da.PointOnLine("z")], [da.KinematicChain([da.Prismatic("z"), da.Spherical()])]),
    "custom bars": (
        [da.Distance(0.5)],
        [
            da.KinematicChain(
                [
                    da.CustomJoint(("angle_1", "angle_2"), None, [("z", "angle_1"), ("y", "angle_2")]),
                    da.Offset((0.3, 0, 0.4)),
                    da.Spherical(),
                ]
            )
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_written_by_hand_they_are_those_of_the_library(name: str) -> None:
    library, custom = (arm(*elements) for elements in PAIRS[name])
    a, b = library.compile(), custom.compile()
    q = da.assemble(a).q
    rng = np.random.default_rng(1)
    v = da.consistent_velocities(a, q, rng.normal(size=a.nv))
    tau, loads = rng.normal(size=a.nv), rng.normal(size=(a.nb, 6))
    assert np.abs(b.constraint_residual(q)).max() < 1e-13
    assert np.abs(b.constraint_jacobian(q) @ v).max() < 1e-13
    # the same motions are allowed
    assert np.abs(b.constraint_jacobian(q) @ null_space(a.constraint_jacobian(q))).max() < 1e-12
    assert_close(b.forward_dynamics(q, v, tau, loads=loads), a.forward_dynamics(q, v, tau, loads=loads), 1e-12)
    found, expected = (m.connection_loads(q, v, tau, loads=loads) for m in (b, a))
    assert_close(found["A"], expected["A"], 1e-11)
    names = [[n for n in m.system.connections if n.startswith("C")] for m in (b, a)]
    total = [sum(loads[n] for n in some) for loads, some in zip((found, expected), names, strict=True)]
    assert_close(total[0], total[1], 1e-11)
    # derivatives along the loops; across them rows may go on in different ways
    along = null_space(a.constraint_jacobian(q))
    if all(a.holonomic):
        for x, y in zip(b.d_dynamics(0.0, q, v).a[:2], a.d_dynamics(0.0, q, v).a[:2], strict=True):
            assert_close(x @ along, y @ along, 1e-10)
    assert custom.check().mobility == library.check().mobility


# ---- any formulas

FORMULAS = (
    "0.3*x + sin(y)*z - 0.2*x*z",
    "Rxx + 0.5*Ryz*x",
    "rx*0.4 + ry*z",
    "exp(0.3*z)*Rzy - x*y",
    "sqrt(1 + x*x + rz**2)",
    "atan2(y, 2 + z) + Rxy*Ryx",
)
RATES = ("vx*Rxx + 0.3*wy*z", "vy + x*vz - 0.2*wx*Rzz", "wz*cos(x) + 0.1*vx*sin(z)", "vz*Ryy + 0.5*wx")
DRIFTS = ("0.2*t*x", "0.3*sin(2*t)*Rxz", "0.1*t**2 + y*t", "0.1*cos(t)")


def random_constraint(rng: np.random.Generator, *, timed: bool) -> da.CustomConstraint | da.PfaffianConstraint:
    """Return a constraint with a few random rows."""
    pool, kind = ((FORMULAS, da.CustomConstraint), (RATES, da.PfaffianConstraint))[int(coin(rng))]
    chosen = [str(f) for f in rng.permutation(pool)[: int(rng.integers(1, 4))]]
    if timed:
        chosen = [f"{f} + {DRIFTS[int(rng.integers(4))]}" for f in chosen]
    return kind(chosen)


def looped(seed: int, *, timed: bool = False) -> da.System:
    """Return a random tree with three random custom constraints."""
    rng = np.random.default_rng(seed)
    system = da.System("looped", gravity=rng.normal(size=3))
    placed = [system.ground]
    for k in range(5):
        kind = (da.Revolute, da.Spherical, da.Cylindrical, da.Free)[int(rng.integers(4))]
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(system, parent, f"b{k}", kind, rng, backwards=coin(rng)))
    for k in range(3):
        i, j = rng.choice(len(placed), size=2, replace=False)
        ends = random_marker(placed[i], rng), random_marker(placed[j], rng)
        system.connect(f"c{k}", random_constraint(rng, timed=timed), *ends)
    return system


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_rates_of_the_formulas(seed: int) -> None:
    model = looped(seed, timed=True).compile()
    state = model.random_state(seed)
    q, v, t = state.q, 0.2 * state.v, 0.7

    def total(s: float) -> Array:  # P v + drift, along the motion
        at = model.integrate(q, s * v)
        return model.constraint_jacobian(at, t=t + s) @ v + model.constraint_drift(at, t=t + s)

    held = model.holonomic
    rate = derivative(lambda s: model.constraint_residual(model.integrate(q, s * v), t=t + s))
    np.testing.assert_allclose(total(0.0)[held], rate[held], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.constraint_bias(q, v, t=t), derivative(total), rtol=1e-7, atol=1e-7)
    assert (model.constraint_residual(q, t=t)[~held] == 0.0).all()


@pytest.mark.parametrize("seed", range(4))
def test_batches_are_the_single_states(seed: int) -> None:
    model = looped(seed, timed=True).compile()
    states, times = model.random_state(2, size=5), np.linspace(0, 1, 5)
    r, b = model.constraint_residual(states.q, t=times), model.constraint_bias(states.q, states.v, t=times)
    for k in range(5):
        assert_close(r[k], model.constraint_residual(states.q[k], t=times[k]), 1e-13)
        assert_close(b[k], model.constraint_bias(states.q[k], states.v[k], t=times[k]), 1e-12)


def test_pfaff_rows_are_what_the_user_wrote() -> None:
    s = arm(da.PfaffianConstraint(("vx*Rxy - 0.3*wz + 0.2*t*z", "vz")))
    model = s.compile()
    state = model.random_state(3)
    first, second = (s.connections["C0"].first, s.connections["C0"].second)
    A, B = model.pose(first, state.q), model.pose(second, state.q)
    V_A, V_B = model.velocity(first, state.q, state.v), model.velocity(second, state.q, state.v)
    d = B.position - A.position
    R, p = A.rotation.T @ B.rotation, A.rotation.T @ d
    w = A.rotation.T @ (V_B[:3] - V_A[:3])
    u = A.rotation.T @ (V_B[3:] - V_A[3:] - np.cross(V_A[:3], d))
    t = 0.4
    expected = np.array([u[0] * R[0, 1] - 0.3 * w[2] + 0.2 * t * p[2], u[2]])
    found = model.constraint_jacobian(state.q, t=t) @ state.v + model.constraint_drift(state.q, t=t)
    assert_close(found, expected, 1e-13)


# ---- time


def test_a_plane_that_turns_is_a_driven_one() -> None:
    # the tip stays in a plane through z that turns by 0.8 t
    custom = arm(da.CustomConstraint("x*sin(w*t) - y*cos(w*t)", {"w": 0.8}))
    driven = arm(da.PointOnPlane("z"))
    frame = driven.connections["C0"].first
    board = driven.body("board", mass=1.0, inertia=(0.1, 0.1, 0.1))
    lower = driven.connections["C0"].second
    driven.remove("C0")
    driven.connect("turn", da.Revolute("z"), frame, board)
    driven.connect("C0", da.PointOnPlane("y"), board, lower)
    driven.drive("turn", position=da.Polynomial((0.0, 0.8)))
    runs = [da.simulate(s, 1.0, rtol=1e-10, atol=1e-11) for s in (custom, driven)]
    for run in runs:
        assert np.abs(run["constraints.velocity_residual"]).max() < 1e-11
        assert np.abs(run["energy.balance"]).max() < 1e-7
    ends = [run.model.pose("lower", run["q"][-1]).position for run in runs]
    # the guess of the start is closed along different ways: both at t = 0, in the same plane
    assert_close(ends[0], ends[1], 1e-7)
    forces = [run["C0.force"][-1] for run in runs]
    assert_close(forces[0], forces[1], 1e-6)


def test_rows_that_depend_on_time_are_obeyed_by_analysis_too() -> None:
    s = arm(da.CustomConstraint(("x - 0.1*sin(2*t)", "y*cos(t) + 0.05*t")))
    model, t = s.compile(), 0.6
    motion = da.driven_motion(model, t)
    q, v, a = motion.q, motion.v, motion.a
    P, drift = model.constraint_jacobian(q, t=t), model.constraint_drift(q, t=t)
    assert np.abs(model.constraint_residual(q, t=t)).max() < 1e-12
    assert np.abs(P @ v + drift).max() < 1e-12
    assert np.abs(P @ a + model.constraint_bias(q, v, t=t)).max() < 1e-12
    moved = model.dynamics(t, q, v)
    assert np.abs(P @ moved.a + model.constraint_bias(q, v, t=t)).max() < 1e-11
    loads = model.connection_loads(q, v, t=t)
    assert_close(loads["C0"], model.loads_of_motion(q, v, moved.a, moved.lam, t=t)["C0"], 1e-11)
    by_q, by_v, *_ = model.d_dynamics(t, q, v).a
    step = np.eye(model.nv)
    for k in range(model.nv):
        assert_close(by_v[:, k], derivative(lambda h, k=k: model.dynamics(t, q, v + h * step[k]).a), 1e-8)
        near = derivative(lambda h, k=k: model.dynamics(t, model.integrate(q, h * step[k]), v).a)
        assert_close(by_q[:, k], near, 1e-6)


def test_a_drive_lets_a_formula_follow_a_law() -> None:
    custom = arm(da.CustomConstraint(("x", "z"), names=("u", "w")))
    third = arm(da.CustomConstraint(("x - 0.1*sin(3*t)", "z - 0.2*t")))
    custom.drive("C0.u", position=da.Harmonic(0.1, 3.0))
    custom.drive("C0.w", position=da.Polynomial((0.0, 0.2)))
    t = 0.3
    models = [s.compile() for s in (custom, third)]
    motions = [da.driven_motion(m, t) for m in models]
    for motion in motions:
        assert_close(motion.q, motions[0].q, 1e-10)
        assert_close(motion.v, motions[0].v, 1e-10)
    found = [m.dynamics(t, motions[0].q, motions[0].v) for m in models]
    assert_close(found[0].a, found[1].a, 1e-11)
    assert_close(found[0].lam, found[1].lam, 1e-11)
    efforts = models[0].drive_efforts(t, motions[0].q, motions[0].v)
    assert_close(np.array([efforts["C0.u"], efforts["C0.w"]]), found[0].lam, 1e-11)
    with pytest.raises(da.ModelError, match="coordinate"):
        arm(da.PfaffianConstraint("vx")).drive("C0.f1", position=1.0)


# ---- chains


def test_ball_bar_ball_loses_one_rank_to_its_spin() -> None:
    # Sol 1983, figure 7.2: six inner degrees of freedom, rank five
    rod = da.KinematicChain([da.Spherical(), da.bar(0.5), da.Spherical()])
    assert (rod.rank, rod.redundant, rod.rows) == (5, 1, ("closure_1",))


def test_a_coupler_without_mass_is_the_limit_of_one_with_little() -> None:
    def four_bar(coupler: Callable[[da.System, da.Body, da.Body], None]) -> da.System:
        s = da.System("four-bar")
        crank = s.body("crank", da.rod(length=0.1, mass=0.5, radius=0.01))
        rocker = s.body("rocker", mass=0.8, com=(0.15, 0, 0), inertia=(1e-3, 6e-3, 6e-3))
        s.connect("A", da.Revolute("y"), s.ground, crank)
        s.connect("D", da.Revolute("y"), s.ground.at(0.35, 0, 0), rocker)
        s.initial("A", position=-0.5)
        s.initial("D", position=-1.2)
        coupler(s, crank, rocker)
        return s

    def massless(s: da.System, crank: da.Body, rocker: da.Body) -> None:
        chain = da.KinematicChain([da.Revolute("y"), da.bar(0.4), da.Revolute("y")])
        s.connect("chain", chain, crank.at(0.1, 0, 0), rocker.at(0.3, 0, 0))

    def light(mass: float) -> Callable[[da.System, da.Body, da.Body], None]:
        def add(s: da.System, crank: da.Body, rocker: da.Body) -> None:
            body = s.body("coupler", da.rod(length=0.4, mass=mass))
            s.connect("B", da.Revolute("y"), crank.at(0.1, 0, 0), body)
            s.connect("C", da.Revolute("y"), body.at(0.4, 0, 0), rocker.at(0.3, 0, 0))

        return add

    model = four_bar(massless).compile()
    assert model.nc == 4 and four_bar(massless).check().mobility == 1
    q = da.assemble(model, hold="A").q
    v = da.consistent_velocities(model, q, [10.0, 0.0], hold="A")
    a = model.forward_dynamics(q, v)
    errors = []
    for mass in (1e-4, 1e-5):
        other = four_bar(light(mass)).compile()
        q_B = np.arctan2(*_coupler(q))
        full = {"A": q[model.q_slice("A")][0], "D": q[model.q_slice("D")][0], "B": q_B - q[model.q_slice("A")][0]}
        names = other.joint_names
        guess = da.assemble(other, state=[full.get(name, 0.0) for name in names], hold="A").q
        speeds = da.consistent_velocities(other, guess, [10.0 if n == "A" else 0.0 for n in names], hold="A")
        found = other.forward_dynamics(guess, speeds)
        ends = [found[other.v_slice(n)][0] if n in names else np.nan for n in ("A", "D")]
        assert np.isfinite(ends[0])
        errors.append(abs(ends[0] - a[model.v_slice("A")][0]) / abs(a).max())
    assert errors[0] < 1e-2 and errors[1] == pytest.approx(0.1 * errors[0], rel=0.05)  # in proportion to the mass


def _coupler(q: Array) -> tuple[float, float]:
    """Return -z and x of the way from the crank's end to the rocker's, turned by positive angles about y."""
    a, d = q
    x = 0.35 + 0.3 * np.cos(d) - 0.1 * np.cos(a)
    z = -0.3 * np.sin(d) + 0.1 * np.sin(a)
    return float(-z), float(x)


@pytest.mark.parametrize("seed", range(4))
def test_custom_joints_close_loops_as_those_of_the_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = tuple(TWINS)
    closed = random_closed_system(rng, 6, 2, joints=kinds, loop_constraint_joints=kinds)
    library = closed.system.compile()
    # a joint that is kept in one tree may be cut in the other: compare what both have
    other = closed.of(twin(closed.system))
    custom = other.system.compile()
    assert any(isinstance(c.element, da.CustomJoint) for c in custom.forest.loop_constraints)
    q, v = closed.state(library)
    x, u = _state_of(other, custom)
    assert np.abs(custom.constraint_residual(x)).max() < 1e-11
    assert np.abs(custom.constraint_jacobian(x) @ u).max() < 1e-10
    expected = library.accelerations(q, v, library.forward_dynamics(q, v))
    found = custom.accelerations(x, u, custom.forward_dynamics(x, u))
    order = [custom.body_names.index(name) for name in library.body_names]
    assert_close(found[order], expected, 1e-8)


def _state_of(closed, model):  # type: ignore[no-untyped-def]
    """Return q and v of a model with custom joints at a closed state, by searching each joint."""
    names = list(closed.system.bodies)

    def frame(marker):  # type: ignore[no-untyped-def]
        if marker.body.name == "ground":
            return marker.rotation, marker.position, np.zeros(6)
        k = names.index(marker.body.name)
        R, arm_ = closed.R[k], closed.R[k] @ marker.position
        V = closed.V[k].copy()
        V[3:] += np.cross(V[:3], arm_)
        return R @ marker.rotation, closed.p[k] + arm_, V

    q, v = [], []
    for joint in model.forest.joints:
        first, second = joint.connection.first, joint.connection.second
        (R1, p1, V1), (R2, p2, V2) = frame(first), frame(second)
        C, c = R1.T @ R2, R1.T @ (p2 - p1)
        V = np.concatenate([R1.T @ (V2[:3] - V1[:3]), R1.T @ (V2[3:] - V1[3:] - np.cross(V1[:3], p2 - p1))])
        q.append(joint.element.coordinates_of(C, c))
        v.append(np.linalg.lstsq(joint.element.motion(q[-1]), V, rcond=None)[0])
    return np.concatenate(q), np.concatenate(v)
