"""Derivatives of the system as described: those of `d_dynamics` against differences of `dynamics` itself.

Positions move along the tangent space, as `integrate` moves them; inputs and parameters go by their names. Whatever a
system may hold is varied: loops, flexible bodies, custom joints, elements with states, inputs, unknowns and transmitted
loads, drives, laws of time, dampers and armatures, locks, switches, control.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space
from systems.flexible_systems import random_deformed_state, random_flexible, random_flexible_tree, random_place
from systems.random_elements import add_random_elements
from systems.random_loops import close, isolated_loops, planar_loop, random_loop, tree_state
from systems.random_trees import (
    derivative,
    every_joint_both_ways,
    hang_on,
    random_body,
    random_marker,
    random_state,
    random_system,
)
from systems.smooth_motions import MOTIONS

import dalembert as da
from dalembert.library.mechanisms import andrews, bennett, bricard, door, four_bar
from dalembert.model.conditions import parameter_directions
from dalembert.model.kernel_results import DynamicsDerivatives

Array = NDArray[np.float64]
Law = Callable[[float], float]

STEP = 1e-4  # of the five-point rule: its error is STEP^4 times the fifth derivative / 30
EXACT = 1e-7  # beside the largest entry: what the rule leaves of a smooth function
PRODUCT = 1e-9  # of the same derivatives in another order of operations
BY_DIFFERENCES = 1e-5  # derivatives that are differences themselves, of step 1e-6

RESULTS = ("a", "dx", "lam")
DIRECTIONS = ("q", "v", "x", "tau", "inputs", "t", "parameters")
HARMONIC = da.Harmonic(0.7, 3.0, phase=0.4)


@dataclass(frozen=True, eq=False)
class Point:
    """A model at a state, and what acts on it there.

    `inputs` are given in place of laws, by name; derivatives are wanted by the `parameters` named.
    """

    model: da.Model
    q: Array
    v: Array
    x: Array | None = None
    t: float = 0.3
    tau: Array | None = None
    loads: Array | None = None
    inputs: dict[str, float] | None = None
    conditions: da.Conditions | None = None
    parameters: tuple[str, ...] = ()

    @property
    def _surroundings(self) -> dict[str, Any]:
        given = None if self.inputs is None else self.model.input_values(self.inputs)
        return {"tau": self.tau, "loads": self.loads, "inputs": given, "conditions": self.conditions}

    def derivatives(self) -> DynamicsDerivatives:
        """Return what the model says."""
        return self.model.d_dynamics(self.t, self.q, self.v, self.x, **self._surroundings, parameters=self.parameters)

    def values(self) -> Array:
        """Return accelerations, rates of states and multipliers, one after the other."""
        found = self.model.dynamics(self.t, self.q, self.v, self.x, **self._surroundings)
        return np.concatenate([found.a, found.dx, found.lam])

    def size(self, by: str) -> int:
        """Return how many directions there are of a kind."""
        model = self.model
        sizes = {"x": model.nx, "inputs": len(model.input_names), "t": 1, "parameters": len(self.parameters)}
        return sizes.get(by, model.nv)

    def step(self, by: str, k: int) -> float:
        """Return the step along direction k, relative to the value of a small parameter (a piston area)."""
        if by != "parameters":
            return STEP
        conditions = self.conditions or self.model.conditions()
        value = abs(float(conditions.parameters[self.model.parameter_names[self.parameters[k]]]))
        return STEP * min(value, 1.0) if value else STEP

    def moved(self, by: str, d: Array) -> Point:
        """Return a point a little aside."""
        model = self.model
        if by == "q":
            return replace(self, q=model.integrate(self.q, d))
        if by == "v":
            return replace(self, v=self.v + d)
        if by == "x":
            return replace(self, x=d + (model.element_start_values() if self.x is None else self.x))
        if by == "tau":
            return replace(self, tau=d if self.tau is None else self.tau + d)
        if by == "t":
            return replace(self, t=self.t + float(d[0]))
        if by == "inputs":
            assert self.inputs is not None
            shifts = zip(model.input_names, d, strict=True)
            return replace(self, inputs={name: self.inputs[name] + float(shift) for name, shift in shifts})
        conditions = self.conditions or model.conditions()
        for name, shift in zip(self.parameters, d, strict=True):
            value = conditions.parameters[model.parameter_names[name]] + float(shift)
            conditions = conditions.with_parameter(name, value)
        return replace(self, conditions=conditions)

    def along(self, by: str, direction: Array, step: float = STEP) -> dict[str, Array]:
        """Return the derivatives of all results along a direction, by differences."""
        column = derivative(lambda h: self.moved(by, h * direction).values(), step)
        ends = np.cumsum([self.model.nv, self.model.nx])
        return dict(zip(RESULTS, np.split(column, ends), strict=True))


def assert_exact(
    point: Point, *, of: tuple[str, ...] = RESULTS, by: tuple[str, ...] = DIRECTIONS, tolerance: float = EXACT
) -> None:
    """Assert that derivatives are those of differences; by inputs only where the point has given all of them."""
    __tracebackhide__ = True
    assert_products(point)
    found = point.derivatives()
    for kind in by:
        if kind == "inputs" and set(point.inputs or ()) != set(point.model.input_names):
            continue
        columns = [point.along(kind, unit, point.step(kind, k)) for k, unit in enumerate(np.eye(point.size(kind)))]
        for result in of:
            block = getattr(getattr(found, result), kind)
            block = block[:, None] if kind == "t" else block
            assert block.shape == (len(getattr(found, result).t), point.size(kind))
            for k, column in enumerate(columns):
                expected = column[result]
                size = max(1.0, *(float(np.abs(c[result]).max(initial=0.0)) for c in columns))
                worst = np.abs(block[:, k] - expected).max(initial=0.0)
                assert worst < tolerance * size, f"d {result} / d {kind}[{k}] is off by {worst:.3g} of {size:.3g}"


def assert_products(point: Point) -> None:
    """Assert that products of rows with derivatives are those of the matrices."""
    __tracebackhide__ = True
    model, found, rng = point.model, point.derivatives(), np.random.default_rng(0)
    w_a, w_x = rng.normal(size=model.nv), rng.normal(size=model.nx)
    how = {**point._surroundings, "t": point.t, "x": point.x}
    numbers = (model if point.conditions is None else point.conditions.model).parameters
    how["directions"] = parameter_directions(model, point.parameters, numbers, "test")
    products = model._d_dynamics_products([0, 1, 2, 3, 5], point.q, point.v, w_a, w_x, **how)
    together = np.stack([products[4], model._d_dynamics_products([5], point.q, point.v, w_a, w_x, **how)[0]])
    size = 1.0 + np.abs(together).max(initial=0.0)
    assert np.abs(together[0] - together[1]).max(initial=0.0) < PRODUCT * size, "products by parameters alone"
    states = [np.stack([row, row, row]) for row in (point.q, point.v)]
    weights = [np.stack([0.5 * row, -2.0 * row, 2.5 * row]) for row in (w_a, w_x)]
    sums = model._d_dynamics_products([6], *states, *weights, **how)[0].sum(axis=0)
    assert np.abs(sums - together[0]).max(initial=0.0) < 4 * PRODUCT * size, "sums of products by parameters"
    for kind, product in zip(("q", "v", "x", "tau", "parameters"), products, strict=True):
        expected = w_a @ getattr(found.a, kind) + w_x @ getattr(found.dx, kind)
        size = 1.0 + max(np.abs(getattr(part, kind)).max(initial=0.0) for part in (found.a, found.dx))
        worst = np.abs(product - expected).max(initial=0.0)
        assert worst < PRODUCT * size, f"the product by {kind} is off by {worst:.3g} of {size:.3g}"


def assert_exact_along(point: Point, directions: Array, *, of: tuple[str, ...], by: tuple[str, ...]) -> None:
    """Assert that derivatives are those of differences along some directions of the tangent space."""
    __tracebackhide__ = True
    assert_products(point)
    found = point.derivatives()
    for kind in by:
        for direction in directions:
            expected = point.along(kind, direction)
            for result in of:
                column = getattr(getattr(found, result), kind) @ direction
                size = max(1.0, float(np.abs(expected[result]).max(initial=0.0)))
                worst = np.abs(column - expected[result]).max(initial=0.0)
                assert worst < EXACT * size, f"d {result} / d {kind} is off by {worst:.3g} of {size:.3g}"


def pushed(model: da.Model, rng: np.random.Generator) -> dict[str, Any]:
    """Return random joint forces and loads on bodies."""
    return {"tau": rng.normal(size=model.nv), "loads": rng.normal(size=(model.nb, 6))}


# ---- trees


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_of_trees_with_elements_of_the_whole_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, isolated=1)
    q, v = random_state(system, rng)
    add_random_elements(system, system.compile(), q, rng, 6)
    model = system.compile()
    x = model.element_start_values() + 0.1 * rng.normal(size=model.nx)
    inputs = {name: float(rng.normal()) for name in model.input_names} or None
    numbers = tuple(model.parameter_names)[:6]
    assert_exact(Point(model, q, v, x, **pushed(model, rng), parameters=numbers))
    assert_exact(Point(model, q, v, x, inputs=inputs), by=("q", "inputs", "t"))


def with_drive_trains(system: da.System, rng: np.random.Generator) -> da.System:
    """Give every joint of a system a damper and an armature along each degree of freedom."""
    for name, old in list(system.connections.items()):
        joint = old.element
        assert isinstance(joint, da.joints.Joint)
        data = {field: rng.uniform(0.1, 1.0, joint.nv) for field in ("damping", "armature")}
        system.connections[name] = type(old)(name, replace(joint, **data), old.first, old.second)
    return system


def test_derivatives_with_dampers_and_armatures_at_every_joint() -> None:
    rng = np.random.default_rng(1)
    system = with_drive_trains(every_joint_both_ways(rng), rng)
    model = system.compile()
    q, v = random_state(system, rng)
    dampers = tuple(name for name in model.parameter_names if name.endswith("damping"))
    assert dampers
    assert_exact(Point(model, q, v, **pushed(model, rng), parameters=dampers[:5]))


def test_derivatives_of_trees_whose_elements_each_see_one_dof() -> None:
    rng = np.random.default_rng(2)
    system = with_drive_trains(every_joint_both_ways(rng), rng)
    for name in [name for name, made in system.connections.items() if isinstance(made.element, da.Revolute)]:
        system.connect(f"spring at {name}", da.TorsionSpring(stiffness=3.0, rest=0.2, damping=0.1), name)
        system.connect(f"hard at {name}", da.Element("joint", "-c*s**3 - d*s*ds", {"c": 2.0, "d": 0.5}), name)
    model = system.compile()
    q, v = random_state(system, rng)
    assert_exact(Point(model, q, v, tau=rng.normal(size=model.nv)), by=("q", "v", "tau", "t"))


@pytest.mark.parametrize("what", ["two joints", "a state", "a signal", "a lock"])
def test_derivatives_of_trees_whose_elements_see_more_than_one_dof(what: str) -> None:
    rng = np.random.default_rng(3)
    s = da.System("arm")
    end = s.ground.origin
    for k, joint in enumerate((da.Revolute("y"), da.Spherical(), da.Revolute("z"), da.Prismatic("x"))):
        body = random_body(s, f"b{k}", rng)
        s.connect(f"H{k}", joint, end, body)
        end = body.at(0.3, 0.1, 0.0)
    s.connect("k", da.TorsionSpring(stiffness=3.0, damping=0.1), "H0")
    if what == "a state":
        s.connect("lag", da.Element("joint", "-c*z", {"c": 5.0}, states={"z": (0.0, "s*ds - z/0.1")}), "H2")
    elif what == "two joints":
        s.connect("both", da.Element(("joint", "joint"), ("-c*(s1 - s2)", "c*(s1 - s2)*ds2"), {"c": 4.0}), "H0", "H2")
    elif what == "a signal":
        follow = da.Element("joint", "-c*u*s", {"c": 2.0}, inputs={"u": "H2.speed"})
        s.connect("follow", follow, "H0")
    model = s.compile()
    conditions = model.conditions(locked=["H2"]) if what == "a lock" else None
    q, v = random_state(s, rng)
    x = rng.normal(size=model.nx)
    assert_exact(Point(model, q, v, x, conditions=conditions), by=("q", "v", "x"))


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_flexible_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options: tuple[dict[str, Any], ...] = ({}, {"points": True}, {"stiffening": True, "damping": 0.03})
    model = random_flexible_tree(rng, 4, **options[seed]).compile()
    q, v = random_deformed_state(model, rng, 0.2)
    assert_exact(Point(model, q, v, **pushed(model, rng)))


BENT = (
    da.CustomJoint(("s",), ("s", "0.2*sin(s)", "0.1*s*s"), [("z", "0.3*s")]),
    da.CustomJoint(("s", "angle"), ("s", "0.1*sin(s)", "0.05*s*s"), [("x", "angle"), ("y", "0.2*s")]),
    da.CustomJoint(("x", "y", "angle"), ("x", "y", "0.2*x*y"), ["0.3*x", "0.2*y", "angle"]),
)


def bent_tree(rng: np.random.Generator) -> da.System:
    """Return rigid and flexible bodies in turn, on custom joints, with an element across."""
    system = da.System("bent", gravity=5 * rng.normal(size=3))
    before: da.Body = system.ground
    for k, joint in enumerate(BENT):
        rigid = k % 2 == 0
        body = random_body(system, f"b{k}", rng) if rigid else system.body(f"b{k}", random_flexible(rng, nm=2))
        system.connect(f"h{k}", joint, random_place(before, rng), random_place(body, rng))
        before = body
    system.connect("spring", da.SpringDamper(8.0, 0.7, 1.0), system.ground.at(0.3, 0.2, 0.1), random_place(before, rng))
    return system


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_custom_joints_and_flexible_bodies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = bent_tree(rng).compile()
    q, v = random_deformed_state(model, rng, 0.2)
    numbers = ("spring.stiffness", "spring.damping", "spring.length")
    assert_exact(Point(model, q, v, **pushed(model, rng), parameters=numbers))


# ---- loops


def spatial_loop(seed: int) -> tuple[da.System, Array, Array]:
    """Return a loop whose rows do not repeat each other, with a branch, springs and a damper, closed at a state."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 0)
    body = system.ground
    for k, kind in enumerate((da.Revolute, da.Spherical, da.Universal, da.Cylindrical)):
        body = hang_on(system, body, f"b{k}", kind, rng, backwards=bool(k % 2))
    hang_on(system, system.bodies["b1"], "branch", da.Universal, rng, backwards=False)
    closed = close(system, [(body, system.ground, da.Spherical())], rng)
    ends = [random_marker(system.bodies[name], rng) for name in ("b0", "branch")]
    system.connect("k", da.SpringDamper(4.0, 0.5, 0.8), *ends)
    system.connect("c", da.JointSpring(0.0, 0.4), "h_b0")
    model = system.compile()
    q, v = closed.state(model)
    assert model.nc and np.linalg.matrix_rank(model.constraint_jacobian(q)) == model.nc
    return system, q, v


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("away", [0.0, 0.1])
def test_derivatives_of_regular_loops_where_they_are_closed_and_away_from_it(seed: int, away: float) -> None:
    """Rows that are independent give accelerations at any state: these are varied in all directions."""
    system, q, v = spatial_loop(seed)
    model, rng = system.compile(), np.random.default_rng(seed)
    q, v = model.integrate(q, away * rng.normal(size=model.nv)), v + away * rng.normal(size=model.nv)
    numbers = ("k.stiffness", "k.damping", "k.length", "c.damping")
    assert_exact(Point(model, q, v, **pushed(model, rng), parameters=numbers))


def loop_directions(model: da.Model, q: Array, rng: np.random.Generator) -> Array:
    """Return directions (k, nv) that the loops allow at q."""
    free = null_space(model.constraint_jacobian(q), rcond=1e-8).T
    assert len(free)
    return np.vstack([free, rng.normal(size=(1, len(free))) @ free])


def repeating_loops(name: str, rng: np.random.Generator) -> tuple[da.Model, Array, Array]:
    """Return a mechanism whose rows repeat each other, in a closed state."""
    made: dict[str, Callable[[], da.System]] = {"bennett": bennett, "bricard": bricard, "four bar": four_bar}
    if name in made:
        model = made[name]().compile()
        q = da.assemble(model).q
        return model, q, da.consistent_velocities(model, q, rng.normal(size=model.nv))
    closed = planar_loop(rng, 5) if name == "planar" else isolated_loops(rng, [(da.Planar,) * 4, (da.Cylindrical,) * 5])
    model = closed.system.compile()
    return model, *closed.state(model)


@pytest.mark.parametrize("name", ["four bar", "bennett", "bricard", "planar", "isolated"])
def test_accelerations_of_loops_that_repeat_rows_along_the_motions_they_allow(name: str) -> None:
    rng = np.random.default_rng(7)
    model, q, v = repeating_loops(name, rng)
    point = Point(model, q, v, **pushed(model, rng))
    assert_exact_along(point, loop_directions(model, q, rng), of=("a",), by=("q", "v"))
    assert_exact(point, of=("a",), by=("tau", "t"))


@pytest.mark.parametrize("name", ["door", "four bar", "bricard", "bennett", "planar"])
def test_multipliers_of_loops_that_repeat_rows_are_varied_as_they_are_given(name: str) -> None:
    """`dynamics` shares what rows repeat by least norm: its multipliers are functions of joint forces, and linear."""
    rng = np.random.default_rng(7)
    if name == "door":
        model = door().compile()
        q, v = np.array([0.3]), np.array([0.8])
    else:
        model, q, v = repeating_loops(name, rng)
    assert_exact(Point(model, q, v, **pushed(model, rng)), of=("lam",), by=("tau",))


def test_derivatives_of_flexible_loops_with_custom_joints() -> None:
    rng = np.random.default_rng(3)
    system = bent_tree(rng)
    system.connect("rod", da.Distance(1.0), system.ground.at(0.1, 0.2, 0.3), random_place(system.bodies["b1"], rng))
    rows = da.CustomConstraint(("sqrt(x*x + y*y + z*z + 0.3) - 1.1 + 0.1*Rxy",))
    system.connect("held", rows, random_place(system.bodies["b0"], rng), random_place(system.bodies["b2"], rng))
    model = system.compile()
    q = da.assemble(model, state=random_deformed_state(model, rng, 0.05)[0]).q
    v = da.consistent_velocities(model, q, rng.normal(size=model.nv))
    assert_exact(Point(model, q, v, **pushed(model, rng), parameters=("spring.stiffness",)))


def test_derivatives_of_andrews_mechanism() -> None:
    """Three planar loops; short times and small masses, so that accelerations are of the order of 1e5."""
    model = andrews().compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.ones(model.nv))
    point = Point(model, q, v, parameters=("spring.stiffness",))
    assert_exact_along(
        point, loop_directions(model, q, np.random.default_rng(0)), of=("a", "lam"), by=("q", "v", "tau")
    )
    assert_exact(point, by=("t", "parameters"))


@pytest.mark.parametrize("motion", ["rolling_disc", "driven_rows", "springs_and_loads", "reversed_chain", "top"])
def test_derivatives_of_further_systems(motion: str) -> None:
    """Rows that bind speeds only, rows that follow laws, loads in body axes by laws and functions of time."""
    made = MOTIONS[motion]()
    state = made.state or made.model.initial_state()
    rng = np.random.default_rng(2)
    v = state.v + 0.1 * rng.normal(size=made.model.nv)
    assert_exact(Point(made.model, state.q, v, **pushed(made.model, rng)))


# ---- elements


def wired(seed: int) -> tuple[da.System, Array, Array]:
    """Return a tree with elements that have states, inputs by laws and signals, sensors, tables and unknowns."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, joints=(da.Revolute, da.Prismatic))
    joints, bodies = list(system.connections), list(system.bodies.values())
    controller = da.Element(
        "joint", "-k*s + u*m", {"k": 1.3}, {"m": (0.2, "y - m + 0.1*u"), "n": (0.0, "sin(m) - r*n")}, "k*s**2/2",
        inputs={"y": f"{joints[1]}.speed", "u": da.Harmonic(0.4, 2.0), "r": da.Polynomial((0.5, 0.2))},
        signals={"out": "sin(m) + 0.3*ds + 0.1*y*u"},
    )  # fmt: skip
    system.connect("controller", controller, joints[0])
    table = da.Table(np.linspace(-60, 60, 9), values=np.tanh(np.linspace(-3, 3, 9)))
    follower = da.Element(
        ("place", "place"), ["-k*x1 + 0.2*w", "-f(y1)", "-z1*p", "-x2", "-c*vy2", "-w*z2"], {"k": 0.8, "c": 0.3},
        inputs={"w": "controller.out", "h": da.Sensor(bodies[0].at(0.1, 0, 0), bodies[2].at(0, 0.2, 0), "y")},
        unknowns={"p": ("0.1*x1", "p + 0.2*p**3 - x1*x2 - 0.1*h")}, tables={"f": table},
    )  # fmt: skip
    system.connect("follower", follower, system.ground, random_marker(bodies[1], rng), random_marker(bodies[3], rng))
    return system, *random_state(system, rng)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_of_elements_with_states_inputs_signals_and_unknowns(seed: int) -> None:
    system, q, v = wired(seed)
    model, rng = system.compile(), np.random.default_rng(seed)
    x = rng.normal(size=model.nx)
    numbers = ("follower.c", "controller.k", "follower.k")  # in an order of their own
    assert model.input_names == ("controller.u", "controller.r")
    assert_exact(Point(model, q, v, x, parameters=numbers))
    assert_exact(Point(model, q, v, x, inputs={"controller.u": -0.3, "controller.r": 0.9}, parameters=numbers))


def test_derivatives_by_inputs_are_those_at_the_values_of_their_laws() -> None:
    system, q, v = wired(1)
    model, t = system.compile(), 0.4
    x = np.array([0.3, -0.2])
    by_law = {"controller.u": 0.4 * math.sin(2.0 * t), "controller.r": 0.5 + 0.2 * t}
    left, given = Point(model, q, v, x, t).derivatives(), Point(model, q, v, x, t, inputs=by_law).derivatives()
    for result in RESULTS:
        np.testing.assert_allclose(getattr(left, result).inputs, getattr(given, result).inputs, rtol=1e-12, atol=1e-13)
    assert np.abs(left.dx.t).max() > 1e-3 and not given.dx.t.any()  # what is given does not depend on time


def two_motors(first: Any = None, second: Any = None) -> da.System:
    """Return a double pendulum with an effort at each joint."""
    system = da.System("motors")
    before: da.Body = system.ground
    laws = (HARMONIC if first is None else first, da.Harmonic(2.0, 2.0) if second is None else second)
    for k, law in enumerate(laws):
        link = system.body(f"b{k}", da.rod(length=1.0, mass=1.0, radius=0.1))
        system.connect(f"J{k}", da.Revolute("yz"[k]), before.at(float(k), 0, 0), link)
        system.connect(f"m{k}", da.Effort(law), f"J{k}")
        before = link
    return system


Q, V = np.array([0.4, -0.3]), np.array([0.7, 1.1])


@pytest.mark.parametrize("given", [(), ("m0.effort",), ("m1.effort",), ("m0.effort", "m1.effort")])
def test_inputs_that_are_not_given_still_follow_their_laws(given: tuple[str, ...]) -> None:
    assert_exact(Point(two_motors().compile(), Q, V, inputs=dict.fromkeys(given, 0.3)), by=("t", "q", "tau"))


LAWS: dict[str, Any] = {
    "Constant": 0.7,
    "Polynomial": da.Polynomial((1.0, -2.0, 0.7, 0.3)),
    "Harmonic": HARMONIC,
    "Ramp": da.Ramp(0.2, 1.1, 2.0, begin=-0.3),
    "Spline": da.Spline(np.linspace(-1, 2, 13), np.sin(np.linspace(-2, 4, 13)), degree=5),
    "Integral": da.Integral(HARMONIC, 0.3),
    "FunctionLaw": lambda t: math.exp(-t) * math.cos(3 * t),
    "Function with rates": da.FunctionLaw(
        lambda t: math.sin(2 * t), lambda t: 2 * math.cos(2 * t), lambda t: -4 * math.sin(2 * t)
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_efforts_by_laws_of_time(law: str) -> None:
    assert_exact(Point(two_motors(LAWS[law]).compile(), Q, V), by=("q", "v", "t"))


def test_loads_and_efforts_by_name() -> None:
    system = two_motors()
    load = da.Load(force=(HARMONIC, 0.5, 0.0), moment=(0.0, da.Polynomial((0.0, 1.0)), 0.0), axes="body")
    system.connect("wind", load, system.bodies["b1"].at(0.5, 0.1, 0.2))
    model = system.compile()
    inputs = {name: 0.1 * (k + 1) for k, name in enumerate(model.input_names)}
    assert {"m0.effort", "m1.effort", "wind.fx", "wind.my"} <= set(inputs)
    assert_exact(Point(model, Q, V, inputs=inputs))


# ---- transmitted loads


def rubbing(seed: int, **element: Any) -> tuple[da.System, Array, Array]:
    """Return a tree with a friction element whose force, and whose state, depend on loads that joints transmit."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, joints=(da.Revolute, da.Prismatic))
    joints = list(system.connections)
    inputs = {
        "f": da.Reaction(joints[0], "force.x"),
        "g": da.Reaction(joints[1], "moment.y"),
        "w": da.Harmonic(0.3, 2.0),
    }
    force = "-mu*sqrt(0.1 + f**2 + g**2)*tanh(ds) + w*m" + (" - u" if element else "")
    law = da.Element("joint", force, {"mu": 0.1}, {"m": (0.2, "0.1*f - m")}, inputs=inputs, **element)
    system.connect("friction", law, joints[1])
    return system, *random_state(system, rng)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_where_elements_feel_what_joints_transmit(seed: int) -> None:
    system, q, v = rubbing(seed)
    model, rng = system.compile(), np.random.default_rng(seed)
    assert model.feedback_count == 2
    x = np.array([0.4])
    assert_exact(Point(model, q, v, x, **pushed(model, rng), parameters=("friction.mu",)))
    assert_exact(Point(model, q, v, x, inputs={"friction.w": 0.3}))


def test_transmitted_loads_with_unknowns_drives_locks_and_control() -> None:
    system, q, v = rubbing(5, unknowns={"u": ("0.1*s", "u + 0.2*u**3 - s - 0.1*f")})
    rng, x = np.random.default_rng(5), np.array([0.4])
    model = system.compile()
    joints = model.joint_names
    assert_exact(Point(model, q, v, x, **pushed(model, rng), parameters=("friction.mu",)))
    assert_exact(Point(model, q, v, x, conditions=model.conditions(locked=joints[3])))
    held = model.conditions(control=lambda state: np.sin(state.v) + state.t)
    assert_exact(Point(model, q, v, x, conditions=held), tolerance=BY_DIFFERENCES)
    system.drive(joints[2], position=HARMONIC)
    assert_exact(Point(system.compile(), q, v, x, **pushed(model, rng)))


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_where_elements_feel_what_loops_transmit(seed: int) -> None:
    system, q, v = spatial_loop(seed)
    model = system.compile()
    inputs = {"n": da.Reaction(model.closure_names[0], "force.x"), "k": da.Reaction("h_b0", "force.z")}
    law = da.Element("distance", "-0.2*sqrt(1 + n**2)*tanh(ds) + 0.1*cos(k)", inputs=inputs)
    rng = np.random.default_rng(seed)
    system.connect("friction", law, random_marker(system.ground, rng), random_marker(system.bodies["branch"], rng))
    again = system.compile()
    assert again.speed_names == model.speed_names
    assert_exact(Point(again, q, v, **pushed(again, rng)))


def test_loads_that_are_shared_are_varied_by_differences() -> None:
    system = door()
    law = da.Element("joint", "-0.1*sqrt(1 + f**2)*tanh(ds)", inputs={"f": da.Reaction("high", "force.x")})
    system.connect("friction", law, "low")
    point = Point(system.compile(), np.array([0.3]), np.array([0.8]), tau=np.array([0.4]))
    assert_exact(point, of=("a",), tolerance=BY_DIFFERENCES)


# ---- what Python gives


def test_derivatives_where_an_element_takes_outputs_by_name() -> None:
    """Height of a point on a body and kinetic energy are functions of positions and speeds."""
    system = two_motors()
    inputs = {"h": "b1.position.z", "e": "energy.kinetic"}
    system.connect("push", da.Element("joint", "h*ds - 0.1*e + s*h", inputs=inputs), "J0")
    assert_exact(Point(system.compile(), Q, V), tolerance=BY_DIFFERENCES)


def test_derivatives_where_an_element_takes_what_was_before() -> None:
    """Before a run has begun, a delayed output is a function of time alone."""
    system = two_motors()
    late = da.Delay("J0.speed", 0.5, before=lambda t: math.sin(3 * t))
    system.connect("brake", da.Element("joint", "-late*s", inputs={"late": late}), "J0")
    assert_exact(Point(system.compile(), Q, V), tolerance=BY_DIFFERENCES)


def test_derivatives_of_what_a_control_gives() -> None:
    system, q, v = spatial_loop(0)
    model = system.compile()

    def control(state: da.State) -> Array:
        return np.sin(state.v) * float(state.q @ state.q) + 0.3 * math.cos(state.t)

    assert_exact(Point(model, q, v, conditions=model.conditions(control=control)), tolerance=BY_DIFFERENCES)


# ---- drives


@pytest.mark.parametrize("level", ["position", "speed", "acceleration"])
@pytest.mark.parametrize("law", LAWS)
def test_derivatives_of_driven_trees(level: str, law: str) -> None:
    """By time too: a driven acceleration changes with the third derivative of a law of positions."""
    system = two_motors()
    system.drive("J0", **{level: LAWS[law]})
    # missing derivatives of functions are differences of differences: their third is good to three digits
    tolerance = 1e-2 if law == "FunctionLaw" else BY_DIFFERENCES if "FunctionLaw" in law else EXACT
    assert_exact(Point(system.compile(), Q, V, tau=np.array([0.3, -0.8])), tolerance=tolerance)


def test_derivatives_of_a_driven_loop() -> None:
    system, q, v = spatial_loop(2)
    system.drive("h_b0", position=HARMONIC)
    model = system.compile()
    assert set(model.conditions().acceleration_prescribed) == {False, True}
    rng = np.random.default_rng(2)
    q, v = of_the_same_bodies(model, system, q, v)
    assert_exact(Point(model, q, v, **pushed(model, rng), parameters=("k.stiffness",)))


def of_the_same_bodies(model: da.Model, system: da.System, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the coordinates of a model whose drives may have made other joints those of the tree."""
    plain = system.copy()
    plain.drives.clear()
    old = plain.compile()
    order = [old.body_names.index(name) for name in system.bodies]
    poses = old.poses(q)
    return tree_state(system, model.forest, poses.rotation[order], poses.position[order], old.velocities(q, v)[order])


# ---- conditions


def test_derivatives_with_locks_switches_and_other_parameters() -> None:
    system, q, v = spatial_loop(1)
    model, rng = system.compile(), np.random.default_rng(1)
    given = pushed(model, rng)
    for conditions in (
        model.conditions(locked=model.joint_names[-1]),
        model.conditions(off=model.closure_names),
        model.conditions({"k.stiffness": 11.0}, locked="h_b0"),
    ):
        assert_exact(Point(model, q, v, **given, conditions=conditions, parameters=("k.damping", "k.stiffness")))


@pytest.mark.parametrize("away", [0.0, 0.1])
def test_derivatives_with_baumgartes_stabilisation(away: float) -> None:
    system, q, v = spatial_loop(1)
    model, rng = system.compile(), np.random.default_rng(1)
    q, v = model.integrate(q, away * rng.normal(size=model.nv)), v + away * rng.normal(size=model.nv)
    assert_exact(Point(model, q, v, conditions=model.conditions(stabilization=(8.0, 16.0))))


# ---- batches


@pytest.mark.parametrize("size", [1, 3, 5])
def test_derivatives_of_a_batch_are_the_stack_of_those_of_its_states(size: int) -> None:
    system, q, v = wired(2)
    system.drive(list(system.connections)[3], position=HARMONIC)
    model, rng = system.compile(), np.random.default_rng(size)
    q = np.array([model.integrate(q, rng.normal(size=model.nv)) for _ in range(size)])
    v, tau, t = rng.normal(size=(size, model.nv)), rng.normal(size=(size, model.nv)), rng.uniform(0, 2, size)
    x, u = rng.normal(size=(size, model.nx)), rng.normal(size=size)
    loads, numbers = rng.normal(size=(size, model.nb, 6)), ("follower.c", "controller.k")
    inputs = model.input_values({"controller.u": u, "controller.r": 0.3})
    together = model.d_dynamics(t, q, v, x, tau=tau, loads=loads, inputs=inputs, parameters=numbers)
    for k in range(size):
        more = {"tau": tau[k], "loads": loads[k], "inputs": inputs[k]}
        alone = model.d_dynamics(t[k], q[k], v[k], x[k], **more, parameters=numbers)
        for many, one in zip(together, alone, strict=True):
            for batched, single in zip(many, one, strict=True):
                assert (batched[k] == single).all()


def test_derivatives_of_a_batch_of_loops_are_the_stack_of_those_of_its_states() -> None:
    closed = random_loop(np.random.default_rng(11), [da.Revolute, da.Spherical, da.Universal, da.Revolute])
    model = closed.system.compile()
    q, v = closed.state(model)
    speeds = np.array([k * v for k in range(5)])
    together = model.d_dynamics(0.0, q, speeds)
    for k in range(5):
        for many, one in zip(together, model.d_dynamics(0.0, q, speeds[k]), strict=True):
            for batched, single in zip(many, one, strict=True):
                assert (batched[k] == single).all()


def test_shapes_without_states_inputs_rows_and_parameters() -> None:
    system = da.System("bare")
    system.connect("A", da.Revolute("y"), system.ground, system.body("b", da.rod(1.0, 1.0, radius=0.1)))
    found = system.compile().d_dynamics(0.0, np.zeros((4, 1)), np.zeros(1))
    assert found.a.x.shape == found.a.inputs.shape == found.a.parameters.shape == (4, 1, 0)
    assert found.a.t.shape == (4, 1) and found.dx.t.shape == found.lam.t.shape == (4, 0)
    assert found.dx.q.shape == found.lam.tau.shape == (4, 0, 1)


# ---- forward and inverse dynamics


def by_differences(f: Callable[[Array], Array], n: int) -> Array:
    """Return the derivatives of a function at zero, (size, n)."""
    return np.array([derivative(lambda h, u=unit: f(h * u), STEP) for unit in np.eye(n)]).T  # type: ignore[misc]


def assert_near(found: Array, expected: Array, tolerance: float = EXACT) -> None:
    __tracebackhide__ = True
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("seed", range(3))
def test_forward_dynamics_is_varied_as_described_and_bare(seed: int) -> None:
    system, q, v = wired(seed)
    model, rng = with_drive_trains(system, np.random.default_rng(seed)).compile(), np.random.default_rng(seed)
    given, x, t = pushed(model, rng), rng.normal(size=model.nx), 0.7
    inputs = model.input_values({"controller.u": 0.4})
    conditions = model.conditions({"controller.k": 3.0})
    more: dict[str, Any] = {"t": t, "x": x, "inputs": inputs, "conditions": conditions}
    found = model.d_forward_dynamics(q, v, given["tau"], loads=given["loads"], **more)
    whole = model.d_dynamics(t, q, v, x, **given, inputs=inputs, conditions=conditions).a
    for block, expected in zip(found, (whole.q, whole.v, whole.tau), strict=True):
        assert (block == expected).all()
    bare = model.d_forward_dynamics(q, v, given["tau"], loads=given["loads"], bare=True)
    forward = {"loads": given["loads"], "bare": True}
    assert_near(
        bare[0],
        by_differences(lambda d: model.forward_dynamics(model.integrate(q, d), v, given["tau"], **forward), model.nv),
    )
    assert_near(bare[1], by_differences(lambda d: model.forward_dynamics(q, v + d, given["tau"], **forward), model.nv))
    assert_near(bare[2] @ model.mass_matrix(q), np.eye(model.nv))
    assert np.abs(found[1] - bare[1]).max() > 1e-3  # dampers act on one of them only


@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_is_varied_as_described_and_bare(seed: int) -> None:
    system, q, v = wired(seed)
    model, rng = with_drive_trains(system, np.random.default_rng(seed)).compile(), np.random.default_rng(seed)
    a, loads, x = rng.normal(size=model.nv), rng.normal(size=(model.nb, 6)), rng.normal(size=model.nx)
    described: dict[str, Any] = {"loads": loads, "t": 0.7, "x": x, "inputs": model.input_values({"controller.u": 0.4})}
    found, none = {}, np.zeros(model.nv)
    for how, more in {"described": described, "bare": {"loads": loads, "bare": True}}.items():

        def forces(dq: Array, dv: Array, da_: Array, more: dict[str, Any] = more) -> Array:
            return model.inverse_dynamics(model.integrate(q, dq), v + dv, a + da_, **more)

        by_q, by_v, by_a = found[how] = model.d_inverse_dynamics(q, v, a, **more)
        assert_near(by_q, by_differences(lambda d, f=forces: f(d, none, none), model.nv))  # type: ignore[misc]
        assert_near(by_v, by_differences(lambda d, f=forces: f(none, d, none), model.nv))  # type: ignore[misc]
        assert_near(by_a, by_differences(lambda d, f=forces: f(none, none, d), model.nv))  # type: ignore[misc]
        assert_near(by_a, model.mass_matrix(q), 1e-13)
    assert np.abs(found["described"][1] - found["bare"][1]).max() > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_is_varied_where_elements_feel_what_joints_transmit(seed: int) -> None:
    """Loads follow from the given motion, so that joint forces depend on it through them too."""
    system, q, v = rubbing(seed)
    model = system.compile()
    rng = np.random.default_rng(seed)
    a, more = rng.normal(size=model.nv), dict[str, Any](t=0.3, x=np.array([0.4]))
    by_q, by_v, by_a = model.d_inverse_dynamics(q, v, a, **more)
    assert_near(by_q, by_differences(lambda d: model.inverse_dynamics(model.integrate(q, d), v, a, **more), model.nv))
    assert_near(by_v, by_differences(lambda d: model.inverse_dynamics(q, v + d, a, **more), model.nv))
    assert_near(by_a, by_differences(lambda d: model.inverse_dynamics(q, v, a + d, **more), model.nv))


def test_derivatives_of_forward_and_inverse_dynamics_undo_each_other() -> None:
    """tau(q, v, a(q, v, tau)) = tau: by chain rule, dtau/da da/dq + dtau/dq = 0, and so on."""
    system, q, v = wired(3)
    model, rng = with_drive_trains(system, np.random.default_rng(3)).compile(), np.random.default_rng(3)
    tau, more = rng.normal(size=model.nv), dict[str, Any](t=0.2, x=rng.normal(size=model.nx))
    a = model.forward_dynamics(q, v, tau, **more)
    forward, inverse = model.d_forward_dynamics(q, v, tau, **more), model.d_inverse_dynamics(q, v, a, **more)
    for by in (0, 1):
        assert_near(inverse[2] @ forward[by], -inverse[by], 1e-10)
    assert_near(inverse[2] @ forward[2], np.eye(model.nv), 1e-10)


def test_bare_derivatives_and_those_of_inverse_dynamics_are_for_open_systems() -> None:
    model = four_bar().compile()
    q = da.assemble(model).q
    with pytest.raises(da.TopologyError, match=r"d_forward_dynamics.*'D'"):
        model.d_forward_dynamics(q, np.zeros(3), bare=True)
    for bare in (False, True):
        with pytest.raises(da.TopologyError, match=r"d_inverse_dynamics.*'D'"):
            model.d_inverse_dynamics(q, np.zeros(3), np.zeros(3), bare=bare)


def test_a_parameter_that_is_none_is_named() -> None:
    with pytest.raises(da.ModelError, match=r"parameter is 'm0\.stiffness'"):
        two_motors().compile().d_dynamics(0.0, Q, V, parameters=("m0.stiffness",))


@pytest.mark.parametrize("batch", [False, True])
def test_derivatives_of_multipliers_can_be_left_out(batch: bool) -> None:
    s = da.System("arch")  # a chain in a plane between points: rows across the plane are redundant
    last, length = s.ground, 0.3
    for k in range(5):
        rod = s.body(f"rod{k}", da.rod(length, 0.2))
        s.connect(f"J{k}", da.Revolute("y"), last.at(length, 0, 0) if k else last, rod)
        last = rod
    s.connect("end", da.constraints.PointOnPoint(), s.ground.at(1.2, 0, 0), last.at(length, 0, 0))
    state = da.start_state(s, {"J0": -0.6})
    model = s.compile()
    given = (state.t, state.q, state.v)
    if batch:
        given = tuple(np.array([part, part]) for part in given)
    whole = model.d_dynamics(*given, parameters=("rod1.mass",))
    few = model.d_dynamics(*given, parameters=("rod1.mass",), multipliers=False)
    for part in ("a", "dx"):
        for one, other in zip(getattr(few, part), getattr(whole, part), strict=True):
            np.testing.assert_array_equal(one, other)
    assert whole.lam.q.shape[-2:] == (3, 5) and few.lam.q.shape[-2:] == (0, 5)
    assert few.lam.parameters.shape[-2:] == (0, 1)
