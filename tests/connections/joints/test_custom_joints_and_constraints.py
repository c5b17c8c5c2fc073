"""Custom joints, constraints and chains: what they take, what they refuse, and how they move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from systems.cut_joints import read_by_the_core

import dalembert as da
from dalembert.connections.formulas.differentiation import Rate
from dalembert.connections.formulas.expressions import compile_expressions
from dalembert.connections.formulas.program_algebra import ProgramBuilder

# ---- calculus


@pytest.mark.parametrize(
    "formula",
    [
        *("sin(a)*cos(b)", "a/b", "sqrt(a*a + b*b)", "exp(a*b)", "log(2 + a*a)", "atan2(a, b)", "atan(a*b)"),
        *("tanh(a - b)", "abs(a*b)", "min(a, b)*max(a, b)", "where(a < b, a**3, b**2)", "a**2.5", "(1.5 + a*a)**b"),
        "asin(0.3*a)",
    ],
)
def test_rates_of_programs_are_derivatives(formula: str) -> None:
    program = compile_expressions([formula], ("a", "b"), item="test")
    k, x, d = ProgramBuilder(program), np.array([0.7, 0.4]), np.array([0.3, -0.8])
    rate = Rate(k, {0: k.constant(d[0]), 1: k.constant(d[1])})
    value = program.outputs[0]
    program.outputs = [value, rate(value), rate(rate(value))]

    def at(t: float) -> np.ndarray:
        return np.array([float(v) for v in program.evaluate(list(x + t * d))])

    h = 1e-3
    slopes = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)  # error h^4 / 30 of the fifth derivative
    np.testing.assert_allclose(slopes[:2], at(0.0)[1:], rtol=1e-7, atol=1e-7)


# ---- joints


def pendulum_on(joint: da.Joint) -> da.System:
    s = da.System("pendulum")
    s.connect("P", joint, s.ground, s.body("bob", mass=2.0, com=(0.5, 0, 0.1), inertia=(0.02, 0.2, 0.2)))
    return s


def test_text_sympy_and_functions_agree() -> None:
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b")

    def function(a, b, r):  # type: ignore[no-untyped-def]
        s, c = np.sin(a), np.cos(a)
        return np.array([r * c, r * s, b / 2 + np.arctan2(b, 2.0)]), np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    z = b / 2 + sympy.atan2(b, 2)
    turn = sympy.Matrix([[sympy.cos(a), -sympy.sin(a), 0], [sympy.sin(a), sympy.cos(a), 0], [0, 0, 1]])
    joints = [
        da.CustomJoint(("a", "b"), ("r*cos(a)", "r*sin(a)", "b/2 + atan2(b, 2)"), [("z", "a")], {"r": 0.3}),
        da.CustomJoint(("a", "b"), (0.3 * sympy.cos(a), 0.3 * sympy.sin(a), z), turn),
        da.CustomJoint(("a", "b"), function, parameters={"r": 0.3}),
        da.CustomJoint(("a", "b"), ("r*cos(a)", "r*sin(a)", "w"), (0, 0, "a"), {"r": 0.3}, {"w": "b/2 + atan2(b, 2)"}),
    ]
    models = [pendulum_on(joint).compile() for joint in joints]
    q, v = np.array([0.4, -0.3]), np.array([1.2, 0.7])
    for model in models[1:]:
        np.testing.assert_allclose(
            model.forward_dynamics(q, v), models[0].forward_dynamics(q, v), rtol=1e-12, atol=1e-13
        )


def test_motion_keeps_its_energy() -> None:
    # a bead that is turned along a wire with a bump, and a body on a moving surface of its own
    wire = da.CustomJoint(("s",), ("s", "0.2*sin(2*s)", "0.3*exp(-s**2)"), [("z", "0.4*cos(2*s)"), ("y", "0.6*s")])
    surface = da.CustomJoint(("x", "y", "angle"), ("x", "y", "0.1*x**2 - 0.2*x*y"), ("0.2*y", "-0.1*x", "angle"))
    s = da.System("two")
    bead = s.body("bead", mass=1.0, com=(0.02, 0.01, 0), inertia=(0.01, 0.02, 0.02))
    plate = s.body("plate", mass=0.5, com=(0, 0.1, 0), inertia=(0.01, 0.01, 0.02))
    s.connect("wire", wire, s.ground, bead)
    s.connect("surface", surface, plate, bead.at(0.1, 0, 0))  # walked backwards
    s.initial("wire", position=0.4, speed=1.0)
    s.initial("surface", position=(0.1, 0.2, 0.3), speed=(0.3, -0.2, 1.0))
    result = da.simulate(s, 2.0, rtol=1e-10, atol=1e-11)
    total = result["energy.total"]
    assert np.abs(total - total[0]).max() < 1e-8 * np.abs(total).max()
    stiff = da.simulate(s, 2.0, method="radau", rtol=1e-9, atol=1e-10)  # by its derivatives
    np.testing.assert_allclose(stiff["q"][-1], result["q"][-1], rtol=1e-6, atol=1e-6)


def test_many_runs_in_simd_batches_are_single_runs() -> None:
    s = pendulum_on(da.CustomJoint(("angle",), ("0.1*angle**2", 0, "0.2*sin(angle)"), [("y", "angle")]))
    model = s.compile()
    rng = np.random.default_rng(1)
    states = da.State(q=rng.normal(size=(9, 1)), v=rng.normal(size=(9, 1)))
    many = da.simulate(model, 0.5, state=states)
    for k in (0, 8):
        one = da.simulate(model, 0.5, state=da.State(q=states.q[k], v=states.v[k]))
        np.testing.assert_allclose(many[k]["q"][-1], one["q"][-1], rtol=1e-6, atol=1e-7)


def test_time_in_a_joint_is_a_driven_coordinate() -> None:
    moving = da.CustomJoint(
        ("angle",), ("A*sin(w*t)", 0, "0.1*t**2"), [("y", "angle + 0.2*sin(3*t)")], {"A": 0.3, "w": 5.0}
    )
    assert moving.coordinates == ("angle", "t")
    s = pendulum_on(moving)
    s.initial("P", position=0.4, speed=0.1)
    # the same with three bodies that carry almost nothing, each driven
    u = da.System("pendulum")
    carriers = [u.body(f"c{k}", mass=1e-9, inertia=(1e-9,) * 3) for k in range(3)]
    u.connect("X", da.Prismatic("x"), u.ground, carriers[0])
    u.connect("Z", da.Prismatic("z"), carriers[0], carriers[1])
    u.connect("Y", da.Revolute("y"), carriers[1], carriers[2])
    u.connect("P", da.Revolute("y"), carriers[2], u.body("bob", mass=2.0, com=(0.5, 0, 0.1), inertia=(0.02, 0.2, 0.2)))
    u.drive("X", position=da.Harmonic(0.3, 5.0))
    u.drive("Z", position=da.Polynomial((0.0, 0.0, 0.1)))
    u.drive("Y", position=da.Harmonic(0.2, 3.0))
    u.initial("P", position=0.4, speed=0.1)
    one, other = (da.simulate(x, 2.0, rtol=1e-10, atol=1e-12) for x in (s, u))
    assert one["P.angle"][-1] == pytest.approx(other["P"][-1], abs=1e-8)
    np.testing.assert_allclose(one["P.t"], one.t, rtol=1e-14)
    assert np.abs(one["energy.balance"]).max() < 1e-8  # the power that time brings is counted
    # its effort is that power
    power = sum(other[f"{name}.effort"] * other[f"{name}.speed"].ravel() for name in "XYZ")
    assert one["P.t.effort"][-1] == pytest.approx(power[-1], rel=1e-6)


def test_time_may_move_what_a_coordinate_moves_too() -> None:
    s = da.System("belt", gravity=(1.0, 0, 0))
    s.connect("P", da.CustomJoint(("x",), ("x + sin(t)", 0, 0)), s.ground, s.body("box", da.sphere(0.1, 1.0)))
    result = da.simulate(s, 2.0)
    assert result["P.x"][-1] == pytest.approx(0.5 * 4 - math.sin(2.0) + 2.0, abs=1e-8)  # starts with x' = 0


def test_parameters_can_be_changed() -> None:
    arc = da.CustomJoint(("angle",), ("r*cos(angle)", "r*sin(angle) + 0.1*t", 0), None, {"r": 1.0}, reference=(0.2,))
    wide = arc.with_parameters(r=3.0)
    np.testing.assert_allclose(wide.pose(np.array([0.0, 0.0]))[1], [3.0, 0, 0])
    assert wide.reference.tolist() == [0.2, 0.0] and wide.coordinates == ("angle", "t")
    with pytest.raises(da.ModelError, match="known are r"):
        arc.with_parameters(R=3.0)
    rod = da.CustomConstraint("x*x - l", {"l": 2.0}, names=("rod",)).with_parameters(l=3.0)
    assert rod.parameters == {"l": 3.0} and rod.rows == ("rod",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.CustomJoint((), ("x", 0, 0)), "name 'x'"),
        (lambda: da.CustomJoint((), (0, 0, 0)), "give one to 6"),
        (lambda: da.CustomJoint(("t",), ("t", 0, 0)), "t is the time"),
        (lambda: da.CustomJoint(("x", "x"), ("x", 0, 0)), "different names"),
        (lambda: da.CustomJoint(("x",), ("x", 0)), "give 3 formulas"),
        (lambda: da.CustomJoint(("x",), ("y", 0, 0)), "name 'y'"),
        (lambda: da.CustomJoint(("x",), ("x +", 0, 0)), "not a formula"),
        (lambda: da.CustomJoint(("x",), ("sqrt(x)", 0, 0)), "not finite there; give another reference"),
        (lambda: da.CustomJoint(("x", "y"), ("x + y", 0, 0)), "in only 1 independent direction"),
        (lambda: da.CustomJoint(("x", "y"), ("x", 0, 0)), "y moves nothing"),
        (
            lambda: da.CustomJoint(("a",), None, [[1, 0, 0], [0, "cos(a)", "sin(a)"], [0, "sin(a)", "cos(a)"]]),
            "not a rot",
        ),
        (lambda: da.CustomJoint(("a",), None, "a"), "give a (3, 3) matrix"),
        (lambda: da.CustomJoint(("a",), None, [("w", "a")]), "use 'x', 'y', 'z'"),
        (lambda: da.CustomJoint(tuple("abcdef"), ("a+t", "b", "c"), [("x", "d"), ("y", "e"), ("z", "f")]), "up to 5"),
        (lambda: da.CustomJoint(("a",), lambda a: ((a, 0, 0), np.eye(3)) if a > 0 else None), "without branches"),
        (lambda: da.CustomJoint(("a",), lambda a: ((math.sin(a), 0, 0), np.eye(3))), "NumPy's functions"),
        (lambda: da.CustomJoint(("a",), lambda a: (a, 0, 0)), "must return position"),
        (lambda: da.CustomJoint(("a",), ("a", 0, 0), reference={"b": 1}), "known are a"),
        (lambda: da.CustomJoint(("a",), ("a*k", 0, 0), None, {"k": "no"}), "parameter 'k'"),
        (lambda: da.CustomConstraint([]), "give one to six"),
        (lambda: da.CustomConstraint(["x"] * 7), "give one to six"),
        (lambda: da.CustomConstraint("vx"), "name 'vx'"),
        (lambda: da.CustomConstraint("sin(t)"), "does not depend on the relative motion"),
        (lambda: da.CustomConstraint(["x", "y"], names=("a",)), "give 2"),
        (lambda: da.CustomConstraint("x", units="kg"), '"m" or "rad"'),
        (lambda: da.PfaffianConstraint("vx*vy"), "linear in the rates"),
        (lambda: da.PfaffianConstraint("sqrt(vx)"), "linear in the rates"),
        (lambda: da.PfaffianConstraint("x"), "does not depend on the relative motion"),
        (lambda: da.KinematicChain([]), "at least one joint"),
        (lambda: da.KinematicChain([da.bar(1.0)]), "at least one joint"),
        (lambda: da.KinematicChain([da.Spherical(), 3]), "use joints such as"),
        (lambda: da.KinematicChain([da.Free()]), "constrains nothing"),
        (
            lambda: da.KinematicChain([da.Spherical(), da.bar(1.0), da.Spherical(), da.bar(1), da.Spherical()]),
            "constrains no",
        ),
        (lambda: da.KinematicChain([da.CustomJoint(("x",), ("x*t", 0, "x"))]), "must not depend on time"),
        (lambda: da.KinematicChain([da.Revolute("z")], {1: 0.3}), "by their number"),
        (lambda: da.KinematicChain([da.Spherical()] * 7), "up to 24"),
    ],
)
def test_bad_input_is_named(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(da.ModelError) as caught:
        make()
    assert message in str(caught.value)


# ---- constraints


def test_functions_of_a_constraint_become_its_formulas() -> None:
    def plane(p, R, t, k):  # type: ignore[no-untyped-def]
        return [k * (p @ p) + R[0] @ p - np.sin(t), np.exp(R[1, 2]) - p[1] * t]

    def roll(p, R, v, w, t, k):  # type: ignore[no-untyped-def]
        return (R.T @ v)[1] + k * np.cross(w, p)[0] + t * p[2]

    pairs = [
        (
            da.CustomConstraint(plane, {"k": 0.3}),
            da.CustomConstraint(("k*(x*x + y*y + z*z) + Rxx*x + Rxy*y + Rxz*z - sin(t)", "exp(Ryz) - y*t"), {"k": 0.3}),
        ),
        (
            da.PfaffianConstraint(roll, {"k": 0.3}),
            da.PfaffianConstraint("Rxy*vx + Ryy*vy + Rzy*vz + k*(wy*z - wz*y) + t*z", {"k": 0.3}),
        ),
    ]
    for pair in pairs:
        rows = []
        for element in pair:
            s = da.System("pair")
            s.connect("C", element, s.ground, s.body("b", mass=1.0, inertia=(0.1, 0.2, 0.25)))
            model = s.compile()
            state = model.random_state(4)
            rows.append(
                [
                    model.constraint_residual(state.q, t=0.4),
                    model.constraint_jacobian(state.q, t=0.4),
                    model.constraint_bias(state.q, state.v, t=0.4),
                    model.constraint_drift(state.q, t=0.4),
                ]
            )
        for x, y in zip(*rows, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)
    again = pairs[0][0].with_parameters(k=0.5)
    assert again.parameters == {"k": 0.5}


# ---- chains


def test_inner_coordinates_follow_from_the_pose() -> None:
    chain = da.KinematicChain([da.Revolute("z"), da.bar(0.4), da.Revolute("z"), da.bar(0.3), da.Revolute("z")])
    assert chain.rank == 3 and chain.redundant == 0
    for up in (1.0, -1.0):  # the elbow that the search starts from
        near = da.KinematicChain(chain.parts, {2: up, 0: -0.5 * up})
        found = near.inner(da.axis_angle("z", 0.2), (0.5, 0.1, 0.0))
        assert math.copysign(1.0, found["2.angle"]) == up
        a, b = found["0.angle"], found["0.angle"] + found["2.angle"]
        place = 0.4 * np.array([math.cos(a), math.sin(a)]) + 0.3 * np.array([math.cos(b), math.sin(b)])
        np.testing.assert_allclose(place, [0.5, 0.1], atol=1e-12)
    with pytest.raises(da.ModelError, match="cannot reach it"):
        chain.inner(np.eye(3), (2.0, 0.0, 0.0))


def test_a_chain_closes_from_far_away() -> None:
    s = da.System("crane")
    boom = s.body("boom", da.rod(2.0, mass=10.0, radius=0.05))
    s.connect("A", da.Universal("z", "y"), s.ground, boom)
    strut = da.KinematicChain([da.Universal("z", "y"), da.bar(1.2), da.Spherical()])
    s.connect("strut", strut, s.ground.at(0.5, 0, -1.0), boom.at(1.0, 0, 0))
    assert s.check().mobility == 1
    for guess in ((0.0, 1.5), (2.5, -0.3), (-1.0, 0.6)):
        closed = da.assemble(s, state=guess)
        p = closed.model.pose(boom.at(1.0, 0, 0), closed.q).position
        assert np.linalg.norm(p - [0.5, 0, -1.0]) == pytest.approx(1.2, abs=1e-11)


def test_simulation_with_a_rod_is_that_with_a_distance() -> None:
    def swing(element: da.Constraint) -> da.Result:
        s = da.System("swing")
        bob = s.body("bob", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.03))
        s.connect("rod", element, s.ground, bob)
        model = s.compile()
        q = np.array([1.0, 0, 0, 0, 0.6, 0.0, -0.8])
        v = da.consistent_velocities(model, q, [0.3, -0.2, 0.5, 0.0, 1.0, 0.0])
        return da.simulate(model, 2.0, state=da.State(q=q, v=v), rtol=1e-10, atol=1e-11)

    rod = da.KinematicChain([da.Spherical(), da.bar(1.0, "z"), da.Spherical()])
    runs = [swing(rod), swing(da.Distance(1.0))]
    np.testing.assert_allclose(runs[0]["q"][-1], runs[1]["q"][-1], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(runs[0]["rod.force"][-1], runs[1]["rod.force"][-1], rtol=1e-6)
    assert np.abs(runs[0]["energy.balance"]).max() < 1e-7
    assert np.abs(runs[0]["constraints.residual"]).max() < 1e-11


def test_a_chain_is_redundant_where_a_joint_holds_already() -> None:
    s = da.System("door")
    door = s.body("door", da.box(0.8, 0.04, 2.0, mass=20.0))
    s.connect("lower", da.Revolute("z"), s.ground, door.at(-0.4, 0, -1.0))
    s.connect("upper", da.KinematicChain([da.Revolute("z")]), s.ground.at(0, 0, 2.0), door.at(-0.4, 0, 1.0))
    report = s.check()
    assert report.mobility == 1 and report.redundant == {"upper": 5}
    model = s.compile()
    q, v = np.array([0.3]), np.array([1.0])
    alone = s.copy()
    alone.remove("upper")
    np.testing.assert_allclose(
        model.forward_dynamics(q, v), alone.compile().forward_dynamics(q, v), rtol=1e-12, atol=1e-12
    )
    assert not model.connection_loads(q, v).determined["upper"].all()


def test_coordinates_of_a_cut_custom_joint_invert_its_definition() -> None:
    joint = da.CustomJoint(
        ("a", "angle"), ("a + 0.1*a**3", "0.2*sin(a)", "0.1*angle"), [("z", "angle"), ("x", "0.3*a")]
    )
    rng = np.random.default_rng(1)
    n = 12
    q, v, a = rng.uniform(-1.0, 1.0, (n, 2)), rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    C, c = (np.array(x) for x in zip(*(joint.pose(row) for row in q), strict=True))
    V = np.array([joint.motion(x) @ y for x, y in zip(q, v, strict=True)])
    A = np.array([joint.motion(x) @ z + joint.bias(x, y) for x, y, z in zip(q, v, a, strict=True)])
    found = read_by_the_core(joint, C, c, V, A)
    for part, expected, atol in zip(found, (q, v, a), (1e-12, 1e-11, 1e-10), strict=True):
        np.testing.assert_allclose(part, expected, atol=atol)


def test_six_coordinates_are_on_a_base_that_time_moves() -> None:
    """A free body goes straight on, whatever the massless frame does that its coordinates are seen from."""
    s = da.System("moving base", gravity=(0, 0, 0))
    frame, b = s.body("frame"), s.body("b", da.box(0.1, 0.2, 0.3, mass=1.0))
    s.connect("base", da.CustomJoint((), ("0.1*sin(3*t)", 0, "0.2*t*t"), [("z", "t"), ("x", "0.3*t")]), s.ground, frame)
    turns = [("x", "angle_1"), ("y", "angle_2"), ("z", "angle_3")]
    s.connect("six", da.CustomJoint(("x", "y", "z", "angle_1", "angle_2", "angle_3"), ("x", "y", "z"), turns), frame, b)
    s.initial("six", position=(0.2, 0.1, 0, 0.1, 0.2, 0.3), speed=(0.3, 0.2, 0.1, 0.2, 0.1, 0.4))
    result = da.simulate(s, 1.0, rtol=1e-10, atol=1e-12)
    straight = result["b.position"][0] + np.outer(result.t, result["b.velocity"][0])
    np.testing.assert_allclose(result["b.position"], straight, atol=1e-8)
    np.testing.assert_allclose(
        result["b.angular_momentum"], result["b.angular_momentum"][:1].repeat(len(result.t), 0), atol=1e-9
    )
    with pytest.raises(da.ModelError, match="a body without mass"):
        da.CustomJoint(("x", "y", "z", "angle_1", "angle_2", "angle_3"), ("x + t", "y", "z"), turns)


def test_coordinates_that_become_dependent_on_the_way_are_named() -> None:
    """Bryant angles at their lock."""
    s = da.System("lock", gravity=(0, 0, 0))
    turns = [("x", "angle_1"), ("y", "angle_2"), ("z", "angle_3")]
    joint = da.CustomJoint(("angle_1", "angle_2", "angle_3"), None, turns)
    s.connect("h", joint, s.ground, s.body("b", da.box(0.1, 0.2, 0.3, mass=1.0)))
    s.initial("h", position=(0, np.pi / 2, 0), speed=(1.0, 0.2, 0.0))
    with pytest.raises(da.SingularityError, match=r"nothing resists along 'h\.angle_1'"):
        da.simulate(s, 1.0)
