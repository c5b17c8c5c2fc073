"""Kane, Newton and Euler, and Lagrange find the motion that the kernels find, of every kind of system."""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import CUSTOM_JOINTS, FLEXIBLE_OPTIONS, mixed_loops, mixed_tree, random_deformed_state
from systems.random_machines import machine
from systems.random_trees import JOINTS, coin, every_joint_both_ways, random_body, random_joint, random_marker

import dalembert as da
from dalembert import formulations, library
from dalembert.bodies.modal_integrals import modal_integrals
from dalembert.formulations.comparison import ComparedFormulation, deviations
from dalembert.library import mechanisms
from dalembert.oracles.kane import Kane
from dalembert.result import Output
from dalembert.result.outputs.momenta import MOMENTA

# dense solves with a few dozen unknowns; differences of order eight lose three digits more
AGREEMENT = {"kane": 1e-11, "newton_euler": 1e-10, "lagrange": 1e-9, "gibbs_appell": 1e-9}
ALL = tuple(AGREEMENT)

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.StiffeningWarning")


def agree(model: da.Model, state: da.State, names: tuple[str, ...] = ALL, **given: np.ndarray) -> None:
    found = model.dynamics(state.t, state.q, state.v, state.x, **given)
    scale = max(np.abs(found.a).max(), 1e-3)
    for name in names:
        equations = getattr(formulations, name)(model, state, **given)
        assert np.abs(equations.v_dot - found.a).max() < AGREEMENT[name] * scale, name


def started(system: da.System, names: dict | None = None, t: float = 0.3) -> tuple[da.Model, da.State]:
    model = system.compile()
    state = da.start_state(model, names, t)
    return model, da.State(state.q, state.v, t, state.x)


# ---- trees


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_rigid_and_flexible_bodies_on_joints_of_the_library_and_custom_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options = ({}, {"points": True}, {"stiffening": True, "damping": 0.03}, {"order": "ruthless"})[seed]
    system = mixed_tree(rng, 4, **options)
    model = system.compile()
    q, v = random_deformed_state(model, rng)
    tau, loads = rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))
    names = ALL if options.get("order") is None else ALL[:2]  # what leaves terms out comes from no energy
    agree(model, da.State(q, v), names, tau=tau, loads=loads)


@pytest.mark.parametrize("seed", range(3))
def test_partial_velocities_of_flexible_trees_and_their_rates_entry_by_entry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = mixed_tree(rng, 4)
    model = system.compile()
    q, v = random_deformed_state(model, rng)
    here, h = Kane(system, q, v), 1e-5
    ahead, behind = (Kane(system, model.integrate(q, sign * h * v)) for sign in (1.0, -1.0))
    for name in ("omega", "V"):
        rate = (getattr(ahead, name) - getattr(behind, name)) / (2 * h)
        # h^2 times third derivatives of some 1e2
        assert np.abs(rate - getattr(here, f"{name}_dot")).max() < 1e-6
    assert np.abs(here.mass_matrix() - model.mass_matrix(q)).max() < 1e-12 * np.abs(here.mass_matrix()).max()


# ---- loops, drives, friction, armature, couplings, rolling


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_machines_with_everything(seed: int) -> None:
    model, state = started(machine(seed))
    agree(model, state)
    equations = formulations.newton_euler(model, state)
    report = model.report(["loads", "unique"], state.t, state.q, state.v, state.x)
    size = np.abs(report["loads"]).max()
    for name, load, unique in zip(model.connection_names, report["loads"], report["unique"], strict=True):
        if name in equations.loads:
            assert np.abs((equations.loads[name] - load)[unique > 0]).max(initial=0.0) < 1e-9 * size


@pytest.mark.parametrize("closures", [("custom", "bar"), ("surface", "custom", "library"), ("cut",)], ids="-".join)
def test_loops_through_flexible_bodies_and_custom_connections(closures: tuple[str, ...]) -> None:
    rng = np.random.default_rng(len(closures))
    model = mixed_loops(rng, closures, **FLEXIBLE_OPTIONS[0]).compile()
    q = da.assemble(model, state=random_deformed_state(model, rng, 0.05)[0]).q
    v = 0.5 * da.consistent_velocities(model, q, rng.normal(size=model.nv))
    agree(model, da.State(q, v), ALL[:2], tau=rng.normal(size=model.nv))


@pytest.mark.slow
@pytest.mark.parametrize("closures", [("custom", "bar"), ("surface", "custom", "library"), ("cut",)], ids="-".join)
def test_lagrange_in_loops_through_flexible_bodies(closures: tuple[str, ...]) -> None:
    rng = np.random.default_rng(len(closures))
    model = mixed_loops(rng, closures, **FLEXIBLE_OPTIONS[0]).compile()
    q = da.assemble(model, state=random_deformed_state(model, rng, 0.05)[0]).q
    v = 0.5 * da.consistent_velocities(model, q, rng.normal(size=model.nv))
    agree(model, da.State(q, v), ("lagrange",))


@pytest.mark.parametrize("name", ["andrews", "bennett", "bricard", "four_bar", "governor", "sarrus"])
def test_mechanisms_overconstrained_ones_too(name: str) -> None:
    agree(*started(getattr(mechanisms, name)()))


@pytest.mark.parametrize("name", ["stewart", "delta", "double_wishbone", "fuel_injection_pump", "scissor_lift"])
def test_formulations_agree_on_machines_of_the_library(name: str) -> None:
    agree(*started(getattr(library, name)()))


def test_a_rolling_bicycle() -> None:
    start = {"lean": 0.2, "steer": 0.1, "lean.speed": 0.5, "rear.speed": -10.0, "steer.speed": 0.3}
    agree(*started(library.bicycle(), start, 0.0))


def test_gears_formulas_of_time_and_driven_distances() -> None:
    s = da.System("gears")
    a, b = s.body("a", da.cylinder(0.1, 0.02, mass=1.0)), s.body("b", da.cylinder(0.2, 0.02, mass=2.0))
    c = s.body("c", da.rod(length=0.3, mass=1.0, radius=0.02))
    s.connect("A", da.Revolute("z", armature=0.01), s.ground, a)
    s.connect("B", da.Revolute("z"), s.ground.at(0.3, 0, 0), b)
    s.connect("C", da.Spherical(), b.at(0.15, 0, 0), c)
    s.connect("G", da.CustomCoupling("s1 + 2*s2 - 0.1*sin(3*t)"), "A", "B")
    s.connect("D", da.Distance(0.4), c.at(0.3, 0, 0), s.ground.at(0.1, 0.1, 0.3))
    s.connect("k", da.SpringDamper(stiffness=100.0, damping=3.0, length=0.1), c.at(0.1, 0, 0), s.ground)
    s.drive("D", position=da.Harmonic(0.05, 3.0, offset=0.4))
    agree(*started(s, {"A": 0.5, "A.speed": 2.0}, 0.2))


# ---- Kane's speeds


def spherical_double_pendulum() -> da.System:
    s = da.System("double pendulum")
    one, two = s.body("one", da.rod(length=1.0, mass=1.0)), s.body("two", da.rod(length=0.7, mass=2.0, radius=0.1))
    s.connect("A", da.Revolute("y"), s.ground, one)
    s.connect("B", da.Spherical(), one.at(1.0, 0, 0), two)
    two.marker("tip", 0.7, 0, 0)
    return s


@pytest.mark.parametrize(
    "speeds",
    [
        None,
        ["A", "B.wx", "B.wy", "B.wz"],
        ["A", *((f"two.angular_velocity.{k}", "two") for k in "xyz")],
        ["A", *(f"two.angular_velocity.{k}" for k in "xyz")],
        {"u1": "dA*(2 + cos(A))", "u2": "B_wx + A*dA", "u3": "B_wy*(1 + B_qx**2)", "u4": "B_wz + 3*B_wy + t"},
        np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 2, 1, 0], [0.5, 0, 0, 1]]),
    ],
    ids=["joints", "names", "body axes", "world axes", "formulas", "matrix"],
)
def test_any_choice_of_speeds_gives_the_same_motion(speeds: object) -> None:
    model, state = started(
        spherical_double_pendulum(),
        {"A": 0.4, "A.speed": 1.5, "B.bryant": (0.3, 0.5, 0.2), "B.bryant_rates": (2.0, 1.0, -1.0)},
    )
    found = formulations.kane(model, state, speeds=speeds)
    assert np.abs(found.v_dot - model.dynamics(state.t, state.q, state.v).a).max() < 1e-11
    # velocities of points are partial velocities times speeds, plus what does not depend on them
    V = found.partial_velocities_of("two.tip") @ found.u
    rest = model.jacobian("two.tip", state.q) @ found.gamma
    assert np.abs(V + rest - model.velocity("two.tip", state.q, state.v)).max() < 1e-13
    A = model.acceleration("two.tip", state.q, state.v, found.v_dot)
    assert np.abs(found.acceleration_of("two.tip") - A).max() < 1e-12
    # rates of the speeds: differences along the motion
    h, a = 1e-5, found.v_dot
    sides = [
        da.State(model.integrate(state.q, k * h * state.v + h * h / 2 * a), state.v + k * h * a, state.t + k * h)
        for k in (1.0, -1.0)
    ]
    ahead, behind = (formulations.kane(model, side, speeds=speeds).u for side in sides)
    assert np.abs((ahead - behind) / (2 * h) - found.u_dot).max() < 1e-6
    # what is conjugate: momenta and energy
    p = model.mass_matrix(state.q) @ state.v
    assert found.momenta @ found.u + p @ found.gamma == pytest.approx(p @ state.v, rel=1e-12)


def test_loops_are_eliminated_by_speeds_of_the_users_choice() -> None:
    model, state = started(mechanisms.four_bar(), {"A.speed": 3.0}, 0.0)
    default = formulations.kane(model, state)
    assert len(default.u) == 1
    moving = ["coupler.velocity.x"], ["rocker.angular_velocity.z"], [("coupler.velocity.y", "coupler")]
    for speeds in (["A"], *moving, {"u": "2*dA + k*cos(B)*dB"}):
        found = formulations.kane(model, state, speeds=speeds, parameters={"k": 0.3})
        assert np.abs(found.v_dot - default.v_dot).max() < 1e-10 * np.abs(default.v_dot).max()
        assert np.abs(found.Gamma[:, 0] * found.u + found.gamma - state.v).max() < 1e-12
        # reactions do no work on what the speeds allow
        P = model.constraint_jacobian(state.q)
        assert np.abs(P @ found.Gamma).max() < 1e-12
    lam = np.array(list(default.reactions().values()))
    M, b = model.mass_matrix(state.q), model.bias_forces(state.q, state.v)
    assert np.abs(M @ default.v_dot + b - model.constraint_jacobian(state.q).T @ lam).max() < 1e-9


def test_wrong_choices_are_refused_by_name() -> None:
    model, state = started(mechanisms.four_bar(), None, 0.0)
    with pytest.raises(da.SingularityError, match=r"2 speeds are given.*1 are independent"):
        formulations.kane(model, state, speeds=model.speed_names[:2])
    with pytest.raises(da.SingularityError, match="do not determine the motion"):
        formulations.kane(spherical_double_pendulum(), None, speeds=["A", "B.wx", "B.wx", "B.wy"])
    with pytest.raises(da.ModelError, match="linear in the rates"):
        formulations.kane(spherical_double_pendulum(), None, speeds={"u": "dA**2"})
    with pytest.raises(da.ModelError, match="give a joint speed"):
        formulations.kane(spherical_double_pendulum(), None, speeds=["nobody", "B.wx", "B.wx", "B.wy"])
    with pytest.raises(da.ModelError, match="not a batch"):
        formulations.kane(spherical_double_pendulum(), da.State(np.zeros((2, 5)), np.zeros((2, 4))))


def test_kanes_two_kinds_of_forces_cancel() -> None:
    model, state = started(spherical_double_pendulum(), {"A": 0.4, "A.speed": 1.5})
    found = formulations.kane(model, state)
    assert np.abs(found.active_forces + found.inertia_forces(found.u_dot)).max() < 1e-12
    assert np.abs(found.mass_matrix - model.mass_matrix(state.q)).max() < 1e-13


# ---- Sol's arrays


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_gibbs_function_is_what_kane_calls_inertia_forces(seed: int) -> None:
    """In speeds of joints and in others; and the motion makes S - K . u' least (Gauss)."""
    model, state = started(machine(seed))
    found = formulations.gibbs_appell(model, state)
    equations, rng = found.kane, np.random.default_rng(seed)
    u_dot = rng.normal(size=len(equations.names))
    scale = max(np.abs(equations.inertia_forces(u_dot)).max(), abs(found.function()))
    assert np.abs(found.gradient(u_dot) + equations.inertia_forces(u_dot)).max() < 1e-12 * scale
    assert np.allclose(found.hessian, equations.mass_matrix, rtol=1e-9, atol=1e-12 * scale)

    def left(at: np.ndarray) -> float:
        return found.function(at) - float(equations.active_forces @ at)

    least = left(found.u_dot)
    assert all(left(found.u_dot + 0.1 * rng.normal(size=len(u_dot))) > least for _ in range(5))


def test_the_gibbs_function_of_a_rolling_coin_is_the_printed_one() -> None:
    """A thin disc that spins and turns upright on a floor: S = m (3 r^2 a^2 / 4 + r^2 b^2 / 8) and no more."""
    m, r = 2.0, 0.3
    s = da.System("disc", gravity=(0, 0, 0))
    disc = s.body("disc", mass=m, inertia=(m * r * r / 4, m * r * r / 4, m * r * r / 2))
    mast = s.body("mast", mass=0.0)
    s.connect("place", da.Planar("z"), s.ground, mast)
    s.connect("axle", da.Revolute("z"), mast.at(0, 0, r, rotation=("x", np.pi / 2)), disc)
    s.connect("floor", da.RollingDisc(r, "z"), s.ground, disc)
    s.initial("axle", speed=1.3)
    s.initial("place.angle", speed=0.7)
    found = formulations.gibbs_appell(s, speeds=["axle", "place.angle"])
    a, b = 0.4, -0.9
    quadratic = m * (3 * r * r * a * a / 4 + r * r * b * b / 8)
    assert found.function([a, b]) - found.function() - found.gradient() @ [a, b] == pytest.approx(quadratic, rel=1e-12)
    assert np.allclose(found.u_dot, 0.0, atol=1e-12)  # it goes on along its circle


def rigid_tree(rng: np.random.Generator) -> da.System:
    """Return a tree of rigid bodies, every other joint a custom one, named in random directions."""
    s = da.System("rigid")
    placed = [s.ground]
    for k in range(5):
        kinds = CUSTOM_JOINTS[int(rng.integers(1, 7))], random_joint(JOINTS[int(rng.integers(len(JOINTS)))], rng)
        body = random_body(s, f"b{k}", rng)
        ends = [random_marker(placed[int(rng.integers(len(placed)))], rng), random_marker(body, rng)]
        s.connect(f"h{k}", kinds[k % 2], *(ends if coin(rng) else ends[::-1]))
        placed.append(body)
    return s


@pytest.mark.parametrize("seed", range(4))
def test_sols_arrays_are_partial_velocities_and_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = rigid_tree(rng) if seed else every_joint_both_ways(rng)
    model = system.compile()
    state = model.random_state(rng)
    found = formulations.sol_arrays(model, state)
    here = Kane(model.system, state.q, state.v)
    assert np.abs(found.WT - np.einsum("ijk->jik", here.omega)).max() < 1e-12
    assert np.abs(found.UT - np.array([frame.V for frame in here.frames[1:]]).swapaxes(0, 1)).max() < 1e-12
    assert np.abs(found.positions() - here.origins).max() < 1e-12
    a = rng.normal(size=model.nv)
    A = model.accelerations(state.q, state.v, a)
    assert np.abs(found.accelerations(a) - A).max() < 1e-10 * np.abs(A).max()
    assert found.rank == model.nv


def test_folded_angles_are_dependent_coordinates() -> None:
    """A ball joint by Bryant angles at a quarter turn: three coordinates, two independent motions (Sol, 5.2)."""
    ball = da.CustomJoint(("a", "b", "c"), rotation=[("x", "a"), ("y", "b"), ("z", "c")])
    s = da.System("ball")
    s.connect("S", ball, s.ground, s.body("bob", da.rod(length=1.0, mass=1.0, radius=0.1)))
    model = s.compile()
    assert formulations.sol_arrays(model, da.State(np.array([0.1, 0.3, 0.2]), np.zeros(3))).rank == 3
    assert formulations.sol_arrays(model, da.State(np.array([0.1, np.pi / 2, 0.2]), np.zeros(3))).rank == 2


def test_batches_of_partial_velocities() -> None:
    model = spherical_double_pendulum().compile()
    states = model.random_state(0, size=5)
    J = formulations.partial_velocities(model, states.q)
    assert J.shape == (5, 2, 6, 4)
    one = Kane(model.system, states.q[3])
    assert np.abs(J[3, :, :3] - one.omega.swapaxes(1, 2)).max() < 1e-14
    assert np.abs(J[3, :, 3:] - one.V.swapaxes(1, 2)).max() < 1e-14


def test_formulations_side_by_side() -> None:
    table = formulations.compare(mechanisms.four_bar(), {"A.speed": 3.0})
    assert [row.name for row in table.rows] == ["recursive", "Kane", "Newton-Euler", "Lagrange"]
    assert max(row.difference for row in table.rows) < 1e-9
    assert [row.unknowns for row in table.rows] == [8, 1, 18 + 20, 8]
    assert "Newton-Euler" in str(table)


@pytest.mark.parametrize("n", [10, 40, 160])
def test_recursions_lose_no_more_digits_along_a_chain_than_dense_equations(n: int) -> None:
    """What is lost is what the condition of the mass matrix takes (Slaats 1991 presumed that recursions lose more)."""
    model = library.chain(n).compile()
    worst = []
    for seed in range(3):
        state, a = model.random_state(seed), np.random.default_rng(seed).normal(size=n)
        tau = model.inverse_dynamics(state.q, state.v, a)
        M, b = model.mass_matrix(state.q), model.bias_forces(state.q, state.v)
        recursive = np.abs(model.forward_dynamics(state.q, state.v, tau) - a).max()
        dense = np.abs(np.linalg.solve(M, tau - b) - a).max()
        worst.append((recursive, dense))
    recursive, dense = np.max(worst, axis=0)
    assert recursive < 20 * dense  # rounding differs from state to state by about that


@pytest.mark.parametrize("options", [{}, {"points": True}, {"order": "ruthless"}], ids=["full", "points", "ruthless"])
def test_momenta_of_bodies_make_up_that_of_the_whole(options: dict) -> None:
    rng = np.random.default_rng(5)
    model = mixed_tree(rng, 4, **options).compile()
    q, v = random_deformed_state(model, rng)
    total, turning = np.zeros(3), np.zeros(3)
    for name in model.body_names:
        p, L = (Output.of(model, f"{name}.{what}").evaluate(model, 0.0, q, v) for what in MOMENTA)
        total += p
        turning += L + np.cross(centre(model, name, q), p)
    H = model.momentum(q, v, about=(0, 0, 0))
    size = np.abs(H).max()
    assert np.abs(total - H[3:]).max() < 1e-13 * size
    assert np.abs(turning - H[:3]).max() < 1e-12 * size


def centre(model: da.Model, name: str, q: np.ndarray) -> np.ndarray:
    """Return the centre of mass of a body (3,), of a flexible one from its modal integrals."""
    body, pose = model.system.bodies[name], model.pose(name, q)
    if not body.flexible:
        return pose.position + pose.rotation @ body.com
    order = "ruthless" if body.flexible.order == "ruthless" else "full"
    M = modal_integrals(body.flexible).mass_matrix(q[model.q_slice(name)], order)
    return pose.position + pose.rotation @ da.rotation.axial(M[-6:-3, -3:]) / M[-1, -1]


# ---- Lagrange and Hamilton


def test_momenta_change_as_hamilton_says() -> None:
    model, state = started(
        spherical_double_pendulum(),
        {"A": 0.4, "A.speed": 1.5, "B.bryant_rates": (2, 1, -1), "B.bryant": (0.3, 0.5, 0.2)},
    )
    found, h = formulations.lagrange(model, state), 1e-5
    sides = [(model.integrate(state.q, k * h * state.v), state.v + k * h * found.v_dot) for k in (1.0, -1.0)]
    ahead, behind = (model.mass_matrix(q) @ v for q, v in sides)
    assert np.abs((ahead - behind) / (2 * h) - found.momentum_rates).max() < 1e-6
    assert np.abs(found.A - model.mass_matrix(state.q)).max() < 1e-13


def test_what_comes_from_no_energy_is_refused() -> None:
    rng = np.random.default_rng(3)
    with pytest.raises(da.ModelError, match="no energy"):
        formulations.lagrange(mixed_tree(rng, 3, order="ruthless"))


def test_lagrange_takes_steps_as_large_as_modes_are() -> None:
    """Free modes turn nodes by many rad for a unit coordinate: a step in them has to be that much smaller."""
    s, before = da.System("beams on universal joints"), None
    for k in range(3):
        body = da.beam(0.5, da.Section.circle(0.005), da.materials.steel, elements=6, modes=da.FreeModes(4))
        beam = s.body(f"beam_{k}", body)
        s.connect(f"U_{k}", da.Universal("y", "z"), before or s.ground, beam.at(node=0))
        before = beam.at(node=6)
    model, rng = s.compile(), np.random.default_rng(0)
    q, v = 0.3 * rng.normal(size=model.nq), rng.normal(size=model.nv)
    for name in model.flexible_names:
        q[model.q_slice(name)] *= 3e-3
        v[model.v_slice(name)] *= 1e-2
    table = da.formulations.compare(model, da.State(q=q, v=v))
    assert max(row.difference for row in table.rows) < 1e-9
    assert table.notes == ()


def test_a_formulation_that_differs_is_named() -> None:
    rows = [ComparedFormulation("Kane", 3, 0.0, 1e-9), ComparedFormulation("Lagrange", 3, 0.0, 5e-2)]
    (note,) = deviations(rows)
    assert note.startswith("Lagrange differs from the kernels by 5.0e-02")
