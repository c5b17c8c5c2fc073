"""Elements along paths: against shortest lines found by minimisation, closed forms and the account of energy."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import dalembert as da

PULL = da.Element("distance", "-100*s/s")  # a constant tension of 100 N


def law_at(element: da.AlongPath, **measures: float) -> dict[str, Any]:
    """Return signals and loads at a placement of the further ends; what is left out is zero."""
    numbers = dict.fromkeys(element.input_names, 0.0) | dict(element.parameters) | measures
    row = element.evaluate([numbers[name] for name in element.input_names])[0]
    found: dict[str, Any] = dict(zip(element.signals, row[element.measures + 1 :], strict=True))
    return found | {"loads": row[: element.measures], "energy": row[element.measures]}


def placed(position: Any, turn: Any, end: Any) -> dict[str, float]:
    """Return measures of a surface, the second part of a path of three, and of its last point."""
    names = ("x1", "y1", "z1", "rx1", "ry1", "rz1", "x2", "y2", "z2")
    return dict(zip(names, map(float, (*position, *turn, *end)), strict=True))


def shortest(a: Any, b: Any, radius: float, is_sphere: bool, way: float = 0.0) -> float:
    """Return the length of the shortest line from a to b outside of a surface, by minimisation over touching points."""
    if is_sphere:  # in the plane of both points and the centre
        x = a / np.linalg.norm(a)
        y = b - (b @ x) * x
        y /= np.linalg.norm(y)
        a, b = np.array([a @ x, a @ y, 0.0]), np.array([b @ x, b @ y, 0.0])

    def length(place: Any, sign: float) -> float:
        first, angle, low, high = place
        p, q = (np.array([radius * math.cos(f), radius * math.sin(f)]) for f in (first, first + sign * abs(angle)))
        arc = math.hypot(radius * abs(angle), high - low)
        return math.hypot(*(p - a[:2]), low - a[2]) + arc + math.hypot(*(q - b[:2]), high - b[2])

    found = []
    for sign in (way,) if way else (1.0, -1.0):
        start, end = math.atan2(a[1], a[0]), math.atan2(b[1], b[0])
        turn = (sign * (end - start)) % (2 * math.pi)
        if turn <= math.acos(radius / math.hypot(*a[:2])) + math.acos(radius / math.hypot(*b[:2])):
            return float(np.linalg.norm(b - a))
        # a and b lie before the tangent planes of the first and the last touching point
        before = [
            {"type": "ineq", "fun": lambda p: math.cos(p[0]) * a[0] + math.sin(p[0]) * a[1] - radius},
            {
                "type": "ineq",
                "fun": lambda p, sign=sign: (
                    math.cos(p[0] + sign * p[1]) * b[0] + math.sin(p[0] + sign * p[1]) * b[1] - radius
                ),
            },
        ]
        guess = [start, turn, a[2], b[2]]
        best = minimize(length, guess, args=(sign,), method="SLSQP", constraints=before, options={"ftol": 1e-15})
        found.append(best.fun)
    return float(min(found))


@pytest.mark.parametrize("part", [da.WrapCylinder(0.03), da.WrapCylinder(0.03, side=-1), da.WrapSphere(0.03)])
def test_a_path_around_a_surface_is_the_shortest(part: Any) -> None:
    draw = np.random.default_rng(5)
    element = da.AlongPath(PULL, ["point", part, "point"])
    wrapped = 0
    for _ in range(30):
        turn = draw.normal(size=3)
        R = Rotation.from_rotvec(turn).as_matrix()
        a, b = (
            R @ [*(draw.uniform(0.04, 0.12) * np.array([math.cos(p), math.sin(p)])), h]
            for p, h in draw.uniform((-math.pi, -0.05), (math.pi, 0.05), size=(2, 2))
        )
        found = law_at(element, **placed(-a, turn, b - a))
        wanted = shortest(R.T @ a, R.T @ b, 0.03, isinstance(part, da.WrapSphere), getattr(part, "side", None) or 0.0)
        assert found["distance"] == pytest.approx(wanted, rel=2e-7)
        wrapped += found["angle2"] > 0
    assert wrapped > 2


def test_a_constant_tension_does_the_work_of_the_length() -> None:
    """Loads are minus the tension times the gradient of the length, and in equilibrium."""
    draw = np.random.default_rng(2)
    route = ["point", da.WrapCylinder(0.03), "point", "point", da.WrapSphere(0.04), "point"]
    element = da.AlongPath(PULL, route)
    names = element.measured[0]
    at_rest = "0.1 0 0 0.3 -0.2 0.5  0.2 0.01 0.02  0.3 -0.02 0  0.4 0.03 0.01 0.1 0.2 0.3  0.5 0.02 0.01"
    base = dict(zip(names, map(float, at_rest.split()), strict=True))
    for _ in range(6):
        at = {name: value + 0.02 * draw.normal() for name, value in base.items()}
        found = law_at(element, **at)
        assert found["tension"] == pytest.approx(100)
        for k, name in enumerate(names):
            if not name.startswith("r"):
                ends = [law_at(element, **at | {name: at[name] + d})["distance"] for d in (1e-6, -1e-6)]
                assert found["loads"][k] == pytest.approx(-100 * (ends[0] - ends[1]) / 2e-6, abs=2e-6)
        rates = {
            f"{v}{name[-1]}": draw.normal()
            for name in names
            for v in [name.replace("r", "w")[:-1]]
            if name[0] not in "xyz"
        }
        rates |= {f"v{name}": draw.normal() for name in names if name[0] in "xyz"}
        moving = law_at(element, **at, **rates)
        power = sum(x * rates[v] for x, v in zip(moving["loads"], element.measured[1], strict=True))
        assert power == pytest.approx(-100 * moving["distance_rate"], rel=1e-12)
    assert found["angle2"] > 0 and found["angle5"] > 0


def test_rates_of_the_length_are_those_of_the_motion() -> None:
    """A tilted cylinder that turns and moves: the rate against differences of the length."""
    element = da.AlongPath(PULL, ["point", da.WrapCylinder(0.03), "point"])
    turn, spin = np.array([0.4, -0.3, 0.2]), np.array([0.7, 0.5, -0.9])

    def place(t: float) -> dict[str, float]:
        turned = (Rotation.from_rotvec(spin * t) * Rotation.from_rotvec(turn)).as_rotvec()
        return placed([0.1 + 0.3 * t, 0.01, 0.02 * t], turned, [0.2 - 0.1 * t, 0.4 * t, 0.03])

    rates = dict(zip(element.measured[1], [0.3, 0, 0.02, *spin, -0.1, 0.4, 0.0], strict=True))
    found = law_at(element, **place(0.0), **rates)
    ends = [law_at(element, **place(t))["distance"] for t in (1e-6, -1e-6)]
    assert found["angle2"] > 0.1
    assert found["distance_rate"] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def test_forces_are_continuous_where_the_path_leaves_the_surface() -> None:
    element = da.AlongPath(PULL, ["point", da.WrapCylinder(0.03, side=1), "point"])
    heights = np.linspace(-0.06, 0.0, 601)
    rows = [law_at(element, **placed([0.1, h, 0], [0, 0, 0], [0.2, 0, 0.05])) for h in -heights]
    angles = np.array([row["angle2"] for row in rows])
    loads = np.array([row["loads"] for row in rows])
    assert (angles == 0).any() and (angles > 0).any()
    assert abs(np.diff(loads, axis=0)).max() < 1.5  # N, of 100, in steps of 0.1 mm


def test_a_crank_drives_a_slider_over_a_pulley() -> None:
    """A rope over a drum couples two weights (Atwood): acceleration g (m2 - m1)/(m1 + m2) on an almost rigid rope."""
    s = da.System("atwood")
    weights = [s.body(f"weight_{k}", da.sphere(0.05, mass=m)) for k, m in enumerate((2.0, 3.0))]
    for k, (weight, x) in enumerate(zip(weights, (-0.1, 0.1), strict=True)):
        s.connect(f"guide_{k}", da.Prismatic("z"), s.ground.at(x, 0, 0), weight)
    rope = da.AlongPath(
        da.SpringDamper(1e6, 500.0, length=2.0 + 0.1 * math.pi), ["point", da.WrapCylinder(0.1, side=-1), "point"]
    )
    s.connect("rope", rope, weights[0], s.ground.at(0, 0, 1, rotation=("x", math.pi / 2)), weights[1])
    result = da.simulate(s, 0.3, method="radau")
    assert result["rope.angle2"] == pytest.approx(math.pi, abs=1e-9)
    late = result.t > 0.1
    wanted = 9.81 / 5 * result.t**2 / 2
    np.testing.assert_allclose(result["guide_0.position"][late], wanted[late], atol=5e-5)
    assert abs(result["energy.balance"]).max() < 1e-5


def test_laws_with_states_inputs_and_unknowns_act_along_paths() -> None:
    """The same result with a straight path of two points as between two markers."""
    laws: dict[str, Any] = {
        "muscle": da.HillMuscle("0.5 + 0.4*sin(9*t)", strength=300.0, optimal_length=0.25),
        "zener": da.Zener(500.0, 800.0, 20.0, rest=0.2, measure="distance"),
        "soft": da.Element(
            "distance", "-f", {"k": 100.0, "h": 50.0, "l": 0.3}, unknowns={"f": (0.0, "f/k + (f/h)**3 - (s - l)")}
        ),
        "fed": da.Element("distance", "-20*u - 5*ds", inputs={"u": da.Harmonic(1.0, 2.0)}, active=True),
    }
    for name, law in laws.items():
        results = []
        for element in (law, da.AlongPath(law, ["point", "point"])):
            s = da.System(name)
            bob = s.body("bob", da.sphere(0.05, mass=1.0))
            s.connect("ball", da.Spherical(), s.ground, bob.at(0, 0, 0.3))
            s.connect("law", element, s.ground.at(0.2, 0, 0.1), bob)
            results.append(da.simulate(s, 0.5, rtol=1e-10, atol=1e-12, times=np.linspace(0, 0.5, 11)))
        np.testing.assert_allclose(results[0]["bob.position"], results[1]["bob.position"], atol=1e-8, err_msg=name)
        straight = np.linalg.norm(results[0]["law.force"], axis=1)
        np.testing.assert_allclose(straight, abs(results[1]["law.tension"]), atol=1e-5, err_msg=name)


def test_radii_are_parameters() -> None:
    s = da.System("arm")
    arm = s.body("arm", da.rod(length=0.3, mass=1.0))
    s.connect("elbow", da.Revolute("z"), s.ground, arm)
    s.connect(
        "muscle",
        da.AlongPath(PULL, ["point", da.WrapCylinder(0.02, side=1), "point"]),
        s.ground.at(-0.25, 0, 0),
        s.ground,
        arm.at(0.2, 0, 0),
    )
    first = da.simulate(s, 0.02, times=[0.0, 0.02])
    second = da.simulate(s, 0.02, times=[0.0, 0.02], parameters={"muscle.radius2": 0.019})
    assert first["muscle.angle2"][0] > 0
    assert first["elbow.position"][-1] / second["elbow.position"][-1] == pytest.approx(20 / 19, rel=1e-2)


def test_moment_arms_are_radii_where_the_path_is_on_the_surface() -> None:
    """About the axis of a cylinder its radius, elsewhere the distance of the line from the axis."""
    s = da.System("arm")
    arm = s.body("arm", da.rod(length=0.3, mass=1.0))
    s.connect("elbow", da.Revolute("z"), s.ground, arm)
    route = ["point", da.WrapCylinder(0.02, side=1), "point"]
    muscle = da.AlongPath(da.HillMuscle(0.5, 300.0, 0.45), route)
    s.connect("muscle", muscle, s.ground.at(-0.25, 0, 0), s.ground, arm.at(0.2, 0, 0))
    q = np.array([[0.0], [0.9], [-1.5]])
    found = da.moment_arms(s, q)
    on, off = np.array([0, 1]), 2
    angles = [da.simulate(s, 1e-6, state=da.State(q=each, v=[0.0]))["muscle.angle2"][0] for each in q]
    assert angles[0] > 0 and angles[1] > 0 and angles[2] == 0
    np.testing.assert_allclose(abs(found["muscle", "elbow"][on]), 0.02, rtol=1e-12)
    a, b = np.array([-0.25, 0.0]), 0.2 * np.array([math.cos(q[off, 0]), math.sin(q[off, 0])])
    height = abs(a[0] * b[1] - a[1] * b[0]) / np.linalg.norm(b - a)
    assert abs(found["muscle", "elbow"][off]) == pytest.approx(height, rel=1e-12)
    # a muscle on a path is an actuator of inverse dynamics
    wanted = da.inverse_dynamics(s, [0.0], [0.2], [-60.0], actuators=["muscle"])
    state = da.State(q=[0.0], v=[0.2], x=[float(np.squeeze(wanted["muscle.a"]))])
    assert da.simulate(s, 1e-6, state=state)["elbow.acceleration"][0] == pytest.approx(-60.0, abs=1e-6)


def test_a_point_inside_a_surface_ends_the_run_by_name() -> None:
    s = da.System("inside")
    bob = s.body("bob", da.sphere(0.05, mass=1.0))
    s.connect("slide", da.Prismatic("z"), s.ground, bob)
    path = da.AlongPath(PULL, ["point", da.WrapSphere(0.1), "point"])
    s.connect("rope", path, s.ground.at(0, 0.3, -0.2), s.ground.at(0, 0, -0.2), bob)
    with pytest.raises(da.UserFunctionError, match=r"'rope' has no path: part 3 .* radius 0.1 m"):
        da.simulate(s, 1.0)


def test_systems_with_paths_and_compounds_are_pickled() -> None:
    member = da.Element("distance", "-k*(s - 0.1) - ds", {"k": 300.0})
    compound = da.Compound(
        ("a", "b"), {"one": (member, "a", "m"), "two": (member, "m", "b")}, nodes={"m": ("line", 0.1)}
    )
    for law in (compound, da.AlongPath(member, ["point", "point"])):
        s = da.System("pickled")
        bob = s.body("bob", da.sphere(0.05, mass=1.0))
        s.connect("slide", da.Prismatic("z"), s.ground, bob)
        s.connect("law", law, s.ground.at(0, 0, 0.3), bob)
        twin = pickle.loads(pickle.dumps(s))
        ends = [
            da.simulate(each, 0.1)["slide.position"][-1] for each in (s, twin, pickle.loads(pickle.dumps(s.compile())))
        ]
        assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize(
    ("route", "text"),
    [
        ("point", "one part for each marker"),
        (["point"], "one part for each marker"),
        (["point", "pulley", "point"], "parts are 'point', da.WrapCylinder"),
        ([da.WrapSphere(0.1), "point"], "begins and ends at points"),
        (["point", da.WrapSphere(0.1), da.WrapSphere(0.1), "point"], "a point between two surfaces"),
        (["point"] * 10, "up to 9 parts"),
    ],
)
def test_routes_that_are_none_are_refused(route: Any, text: str) -> None:
    with pytest.raises(da.ModelError, match=text):
        da.AlongPath(PULL, route)


def test_laws_that_do_not_act_along_a_line_are_refused() -> None:
    for law, text in (
        (da.Bushing(np.eye(6)), "along a line"),
        (da.JointSpring(1.0), "along a line"),
        (3.0, "along a line"),
    ):
        with pytest.raises(da.ModelError, match=text):
            da.AlongPath(law, ["point", "point"])
    with pytest.raises(da.ModelError, match="use 1, -1"):
        da.WrapCylinder(0.1, side=2)
    with pytest.raises(da.ModelError, match="radius"):
        da.WrapSphere(0.0)
