"""Equations in symbols are those of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from systems.random_trees import hang_on

import dalembert as da
from dalembert.connections.joints import (
    Cylindrical,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)

Array = NDArray[np.float64]


def assert_same(system: da.System, *, seed: int = 1, symbols: bool = False) -> da.symbolic.Equations:
    """Compare every part at a random state with the kernels."""
    model = system.compile()
    eq = da.symbolic_equations(system, symbols=symbols)
    state = model.random_state(seed)
    q, v, x = state.q, state.v, model.element_start_values() + 0.1
    inputs = np.random.default_rng(seed).normal(size=len(eq.inputs))

    def value(name: str) -> Array:
        f = eq.lambdify(getattr(eq, name))
        still = np.zeros(model.nv)
        return np.array(f(q, v, still, still, np.zeros(model.nc), 0.0, x, inputs), dtype=float)

    def close(ours: Array, theirs: Array) -> None:
        np.testing.assert_allclose(ours, theirs, atol=1e-11 * (1.0 + np.abs(theirs).max(initial=0.0)))

    named = model.input_values(dict(zip(eq.inputs, inputs, strict=True))) if eq.inputs else None
    bare = model.bias_forces(q, v, bare=True)
    close(value("M"), model.mass_matrix(q))
    close(value("bias")[:, 0], bare)
    close(value("forces")[:, 0], bare - model.bias_forces(q, v, x=x, inputs=named))
    close(value("rates")[:, 0], model.coordinate_rates(q, v))
    if model.nc:
        close(value("rows")[:, 0], model.constraint_residual(q))
        close(value("jacobian"), model.constraint_jacobian(q))
        close(value("row_bias")[:, 0], model.constraint_bias(q, v))
    return eq


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("joint", [Revolute, Prismatic, Cylindrical, Screw, Planar, Spherical])
def test_every_joint_both_ways(joint: type[Joint], backwards: bool) -> None:
    rng = np.random.default_rng(3)
    system = da.System("one", gravity=rng.normal(size=3))
    if joint in (Free, Spherical) and backwards:  # with axes in all directions it takes ten seconds
        body = system.body("b0", mass=1.3, com=(0.1, 0.2, 0), inertia=(0.2, 0.3, 0.4))
        system.connect("h", joint(), body.at(0.1, 0, 0), system.ground)
    else:
        hang_on(system, system.ground, "b0", joint, rng, backwards=backwards)
    assert_same(system)


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("joint", [Universal, Free])
def test_symbolic_equations_of_slow_joints(joint: type[Joint], backwards: bool) -> None:
    test_every_joint_both_ways(joint, backwards)


def test_a_ball_joint_and_a_joint_by_formulas_in_a_chain() -> None:
    system = da.System("chain")
    upper, bead = system.body("upper", da.rod(0.5, 1.0, radius=0.05)), system.body("bead", da.sphere(0.1, mass=0.3))
    system.connect("ball", da.Spherical(), system.ground, upper)
    helix = da.CustomJoint(("s",), ("r*cos(s/r)", "r*sin(s/r)", "0.1*s"), [("z", "s/r")], {"r": 0.5})
    system.connect("wire", helix, upper.at(0.5, 0, 0), bead)
    assert_same(system)


def springs() -> da.System:
    s, end = da.System("triple"), None
    for k in range(3):
        link = s.body(f"l{k}", da.rod(1.0, 1.0, radius=0.02))
        joint = da.Revolute("y", damping=0.1, armature=0.3, friction=0.2 * (k == 1))
        s.connect(f"j{k}", joint, s.ground if end is None else end.at(1, 0, 0), link)
        end = link
    s.connect("k", da.SpringDamper(stiffness=3.0, damping=0.2, length=0.5), s.ground.at(0, 0, 1), end.at(0.5, 0, 0))
    s.connect("spring", da.TorsionSpring(stiffness=2.0, rest=0.1), "j1")
    s.connect("cubic", da.Element("joint", "-k*s**3", {"k": 4.0}, energy="k*s**4/4"), "j2")
    s.connect("corner", da.Element("place", None, {"c": 2.0}, energy="c*(x**2 + 2*y**2 + z**4)"), s.ground, end)
    wax = da.Element("distance", "-k*(s - l) - m", {"k": 3.0, "l": 0.4}, states={"m": (0.0, "k*ds - 2*m")})
    s.connect("wax", wax, s.ground.at(1, 0, 1), end.at(1, 0, 0))
    s.connect("motor", da.Effort(lambda t: t), "j0")
    s.connect("wind", da.Load(force=(lambda t: t, 0.0, 2.0)), end.at(1, 0, 0))
    s.connect("stop", da.Limits(-0.1, 0.1, stiffness=5.0, damping=1.0), "j1")
    return s


@pytest.mark.parametrize("symbols", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_elements_by_formulas(symbols: bool) -> None:
    eq = assert_same(springs(), symbols=symbols)
    assert list(eq.inputs) == ["motor.effort", "wind.fx"] and list(eq.states) == list(eq.state_rates)
    assert (len(eq.parameters) > 10) == symbols


def test_loops_constraints_and_couplings() -> None:
    s = da.System("loops", gravity=(0, -9.81, 0))
    links = [s.body(f"link{i}", da.rod(x, x, radius=0.02)) for i, x in enumerate((1.0, 2.5, 2.0))]
    s.connect("A", da.Revolute("z"), s.ground, links[0])
    s.connect("B", da.Revolute("z"), links[0].at(1.0), links[1])
    s.connect("C", da.Universal("x", "y"), links[1].at(2.5), links[2])
    s.connect("D", da.Revolute("z"), s.ground.at(2.5), links[2].at(2.0))
    s.connect("bar", da.Distance(1.5), links[0].at(0.5), links[1].at(1.0, 0.3, 0.2))
    s.connect("plane", da.PointOnPlane(), links[0], links[2].at(0.5, 0, 0))
    s.connect("even", da.Parallel(), links[0], links[2])
    s.connect("own", da.CustomConstraint("sqrt(x**2 + y**2) - r", {"r": 0.4}), links[0], links[2].at(0.3, 0, 0))
    s.connect("mesh", da.Coupling(-0.5, 0.1), "A", "B")
    assert_same(s)


def test_rolling_and_skating() -> None:
    s = da.System("roll")
    ball, blade = s.body("ball", da.sphere(0.3, mass=1.0)), s.body("blade", da.rod(0.4, 1.0, radius=0.02))
    s.connect("roll", da.RollingSphere(0.3), s.ground, ball)
    s.connect("flat", da.Planar("z"), s.ground, blade)
    s.connect("skate", da.KnifeEdge(), s.ground, blade.at(0.1, 0, 0))
    assert_same(s)


def test_a_double_pendulum_has_the_textbook_equations() -> None:
    s = da.System("double pendulum")
    one, two = s.body("one", mass=1.0, com=(0, 0, -1.0)), s.body("two", mass=2.0, com=(0, 0, -0.5))
    s.connect("A", da.Revolute("y"), s.ground, one)
    s.connect("B", da.Revolute("y"), one.at(0, 0, -1.0), two)
    eq = da.symbolic_equations(s, symbols=False)
    A, B = eq.q
    m1, l1, m2, l2 = 1, 1, 2, sp.Rational(1, 2)
    cross = m2 * l1 * l2 * sp.cos(B)
    assert sp.simplify(eq.M - sp.Matrix([[m1 + m2 * l1**2 + m2 * l2**2 + 2 * cross, m2 * l2**2 + cross],
                                         [m2 * l2**2 + cross, m2 * l2**2]])) == sp.zeros(2, 2)  # fmt: skip
    assert eq.M[0, 0].count_ops() <= 4
    M, D, K = eq.linearized({A: 0, B: 0})
    model = s.compile()
    by_q, by_v, by_a = model.d_inverse_dynamics([0, 0], [0, 0], [0, 0])
    for ours, theirs in ((M, by_a), (D, by_v), (K, by_q)):
        np.testing.assert_allclose(np.array(ours, dtype=float), theirs, atol=1e-12)
    assert r"\ddot{B}" in eq.latex() and eq.latex("M").startswith(r"\left[")


def test_linearisation_about_a_moving_state_with_a_ball_joint() -> None:
    s = da.System("ball")
    s.connect("S", da.Spherical(), s.ground, s.body("top", mass=2.0, com=(0, 0, 0.5), inertia=(0.2, 0.2, 0.1)))
    eq, model = da.symbolic_equations(s), s.compile()
    state = model.random_state(2)
    a = np.array([0.3, -0.2, 0.5])
    point = dict(zip([*eq.q, *eq.v, *eq.a], [*state.q, *state.v, *a], strict=True)) | eq.parameters
    found = [np.array(matrix.subs(eq.parameters), dtype=float) for matrix in eq.linearized(point)]
    by_q, by_v, by_a = model.d_inverse_dynamics(state.q, state.v, a)
    for ours, theirs in zip(found, (by_a, by_v, by_q), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_what_has_no_formula_is_refused_by_name() -> None:
    s = springs()
    s.connect("python", da.Element("joint", lambda t, s, ds: -s), "j0")
    with pytest.raises(da.ModelError, match=r"element 'python'.*formulas"):
        da.symbolic_equations(s)
    with pytest.raises(da.ModelError, match=r"symbols is 'arm\.mass'; there are corner\.c"):
        da.symbolic_equations(springs(), symbols=["arm.mass"])


def test_parameters_of_the_user_stay_symbols_by_their_names() -> None:
    s = da.System("pendulum")
    length, m, offset = s.parameter("length", 1.2), s.parameter("m", 2.0), s.parameter("offset", 0.0)
    bob = s.body(
        "bob", mass=m * length, com=(length / 2, 0, offset), inertia=(1e-3, m * length**3 / 12, m * length**3 / 12)
    )
    bob.marker("tip", length, 0, 0)
    s.connect("A", da.Revolute("y", damping=0.01 * length**2), s.ground, bob)
    s.connect("B", da.Revolute("y"), "bob.tip", s.body("end", mass=m, com=(0.1, 0, 0), inertia=(1e-2, 1e-2, 1e-2)))
    eq = assert_same(s, symbols=True)
    names = {symbol.name for symbol in eq.parameters}
    assert {"length", "m", "offset"} <= names and "bob_mass" not in names
    l_, m_, o_ = (sp.Symbol(name, real=True) for name in ("length", "m", "offset"))
    wanted = m_ * l_**3 / 3 + m_ * l_ * o_**2
    found = eq.M[0, 0].subs({sp.Symbol("end_com_x", real=True): 0, sp.Symbol("end_inertia_yy", real=True): 0})
    assert sp.simplify(found - wanted - m_ * l_**2) == 0
    some = da.symbolic_equations(s, symbols="length")
    assert {symbol.name for symbol in some.parameters} == {"length"}
    longer = s.compile().with_parameters({"length": 1.5})
    other = da.symbolic_equations(longer)
    assert np.allclose(np.array(other.lambdify(other.M)([0.3, 0.4]), dtype=float), longer.mass_matrix([0.3, 0.4]))
    with pytest.raises(da.ModelError, match="there are length, m, offset"):
        da.symbolic_equations(s, symbols=["lenght"])
