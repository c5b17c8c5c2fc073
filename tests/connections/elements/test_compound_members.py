"""Members of compounds: every family, at offsets and angles, and nodes that rates resist in some directions only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems.random_trees import random_marker, random_state, random_system

import dalembert as da
from dalembert.connections.joints import Prismatic, Revolute


def block(element: da.Element, *, position: float = 1.2) -> da.System:
    s = da.System("block", gravity=(0, 0, 0))
    s.connect("slide", da.Prismatic("x"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0)))
    s.initial("slide", position=position)
    s.connect("link", element, s.ground, s.bodies["block"])
    return s


def in_series(first: Any, second: Any) -> da.Compound:
    return da.Compound(("a", "b"), {"one": (first, "a", "m"), "two": (second, "m", "b")}, nodes={"m": ("line", 0.5)})


def hardening(t: float, s: float, ds: float, k: float) -> Any:
    u = s - 0.4
    return -k * u - k * u**3, k * u**2 / 2 + k * u**4 / 4


WRITTEN = da.Element("distance", "-k*(s - 0.4) - k*(s - 0.4)**3", {"k": 90.0}, energy="k*(s-0.4)**2/2 + k*(s-0.4)**4/4")


@pytest.mark.parametrize("law", [hardening, da.law(hardening)], ids=["function", "compiled"])
def test_laws_that_are_functions_join_as_formulas_do(law: Any) -> None:
    other = da.Cable(150.0, 0.5, toe=0.05)
    ends = [
        da.simulate(block(in_series(each, other)), 1.0, rtol=1e-10, atol=1e-12, times=[1.0])["slide.position"][0]
        for each in (da.Element("distance", law, {"k": 90.0}), WRITTEN)
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-10)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_springs_of_the_library_join_damped_or_not(damping: float) -> None:
    """Two equal springs and dampers in series are one of half of each."""
    half = da.SpringDamper(200.0, damping, 0.5)
    compound = in_series(half, half)
    assert ("m" in compound.states) == (damping > 0.0)  # whose node has a rate only if something resists it
    assert ("one_damping" in compound.parameters) == (damping > 0.0)
    whole = da.SpringDamper(100.0, damping / 2, 1.0)
    runs = [da.simulate(block(e), 1.5, rtol=1e-10, atol=1e-12, times=[0.7, 1.5]) for e in (compound, whole)]
    if not damping:  # with dampers the node starts where it is put, not half way
        np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
        np.testing.assert_allclose(runs[0]["link.one_distance"], runs[0].q[:, 0] / 2, rtol=1e-9)
    result = da.simulate(block(compound), 1.5, rtol=1e-10, atol=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def test_two_beams_meet_at_a_right_angle() -> None:
    """An L-shaped frame, column h and arm b, with a small weight F at its tip: F b^3/3EI + F b^2 h/EI + F h/EA."""
    h, b, EI, EA, F = 0.5, 0.8, 100.0, 1e7, 1e-4
    column = da.BeamElement(h, axial=EA, bending=EI, torsion=80.0)
    arm = da.BeamElement(b, axial=EA, bending=EI, torsion=80.0)
    up = ("y", -np.pi / 2)  # x of the column points up; the arm leaves the corner along x of the world
    frame = da.Compound(
        ("foot", "tip"),
        {"column": (column, ("foot", (0, 0, 0), up), ("corner", (0, 0, 0), up)), "arm": (arm, "corner", "tip")},
        nodes={"corner": ("pose", (0.0, 0.0, h, 0.0, 0.0, 0.0))},
    )
    s = da.System("frame", gravity=(0, 0, 0))
    tip = s.body("tip", da.sphere(0.05, mass=1.0))
    s.connect("free", da.Free(), s.ground, tip)
    s.connect("frame", frame, s.ground, tip)
    s.connect("weight", da.Load((0, 0, -F)), tip)
    s.initial("free", position=(1, 0, 0, 0, b, 0, h))
    rest = da.equilibrium(s)
    down = h - rest.q[6]
    assert down == pytest.approx(F * b**3 / (3 * EI) + F * b**2 * h / EI + F * h / EA, rel=1e-4)
    # the corner turns by F b h / EI
    turn = da.Output.of(rest.model, "frame.corner_ry_at").evaluate(rest.model, 0.0, rest.q, np.zeros(6))
    assert float(turn) == pytest.approx(F * b * h / EI, rel=1e-4)


def branch(node_mass: float | None) -> da.System:
    """Two fibres and a tendon at a point, which lift a weight."""
    fibre = da.HillMuscle(0.5, strength=1000.0, optimal_length=0.1, start=0.5)
    tendon = da.Element("distance", "-k*max(0, s - l)**2", {"k": 5e6, "l": 0.2}, energy="k*max(0, s - l)**3/3")
    s = da.System("branching muscle")
    load = s.body("load", da.sphere(0.1, mass=20.0))
    s.connect("slide", da.Prismatic("z"), s.ground.at(0, 0.04, 0), load)
    s.initial("slide", position=-0.3063)
    if node_mass is None:
        muscle = da.Compound(
            ("origin", "insertion"),
            {
                "left": (fibre, "origin", "point"),
                "right": (fibre, ("origin", (0, 0.1, 0)), "point"),
                "tendon": (tendon, "point", "insertion"),
            },
            nodes={"point": ("point", (0.0, 0.05, -0.1))},
        )
        s.connect("muscle", muscle, s.ground, load)
    else:
        point = s.body("point", mass=node_mass)
        s.connect("P", da.CustomJoint(("y", "z"), (0, "y", "z")), s.ground, point)
        s.initial("P", position=(0.05, -0.1))
        s.connect("left", fibre, s.ground, point)
        s.connect("right", fibre, s.ground.at(0, 0.1, 0), point)
        s.connect("tendon", tendon, point, load)
    return s


def test_a_branching_muscle_needs_no_damper_at_its_node() -> None:
    system = branch(None)
    result = da.simulate(system, 0.15, rtol=1e-9, atol=1e-11)
    assert set(system.forces["muscle"].element.states) == {"left_a", "right_a", "left_s", "right_s"}
    assert np.abs(result["energy.balance"]).max() < 1e-6
    z, y = result["muscle.point_z_at"], result["muscle.point_y_at"]
    np.testing.assert_allclose(np.hypot(y, z), result["muscle.left_s"], rtol=1e-9)  # the lengths are the states
    # forces balance at the point
    along = np.array([y, z]) / result["muscle.left_distance"], np.array([y - 0.1, z]) / result["muscle.right_distance"]
    drop = result["slide.position"]
    tendon = np.array([0.04 - y, drop - z]) / result["muscle.tendon_distance"]
    sum_of = (
        result["muscle.left_force"] * along[0]
        + result["muscle.right_force"] * along[1]
        - result["muscle.tendon_force"] * tendon
    )
    assert np.abs(sum_of).max() < 1e-8 * np.abs(result["muscle.tendon_force"]).max()
    ends = [
        da.simulate(branch(mass), 0.15, rtol=1e-8, atol=1e-10, method="radau")["slide.position"][-1]
        for mass in (1e-2, 1e-3)
    ]
    off = [abs(end - result["slide.position"][-1]) for end in ends]
    assert off[1] < 2e-5 and off[1] < 0.2 * off[0]


def test_loads_and_moments_act_on_a_node_with_attitude() -> None:
    """Two bushings in series with a moment on the node between them: it turns by M / 2h where both ends stand still."""
    bushing = da.Bushing([900.0, 900.0, 900.0, 40.0, 40.0, 40.0])
    compound = da.Compound(
        ("a", "b"),
        {"one": (bushing, "a", "n"), "two": (bushing, "n", "b")},
        nodes={"n": ("pose", (0.0,) * 6)},
        loads={"n": (0, 0, 9.0, "m", 0, 0)},
        parameters={"m": 4.0},
    )
    inputs = [0.0] * 13 + list(compound.parameters.values())
    answer = compound.evaluate([inputs])[0]
    signals = dict(zip(compound.signals, answer[-len(compound.signals) :], strict=True))
    assert signals["n_rx_at"] == pytest.approx(4.0 / 80.0, rel=1e-12)
    assert signals["n_z_at"] == pytest.approx(9.0 / 1800.0, rel=1e-12)


def three_ended() -> da.Element:
    """A membrane between three points: its energy grows with the lengths of its sides."""
    sides = "x1**2 + y1**2 + z1**2 + x2**2 + y2**2 + z2**2 + (x1-x2)**2 + (y1-y2)**2 + (z1-z2)**2"
    return da.Element(("place", "place"), None, {"k": 12.0}, energy=f"k*({sides})/2")


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_random_compounds_have_exact_tangents_and_close_the_balance(seed: int) -> None:
    """Members of all kinds, of two and three ends, at offsets, turned, damped in part, meeting at three nodes."""
    rng = np.random.default_rng(seed)
    turned = [(rng.normal(size=3), rng.uniform(0, 2)) for _ in range(2)]
    spring = da.SpringDamper(40.0, 0.0, 0.0)
    bushing = da.Bushing(rng.uniform(20, 60, 6))
    fibre = da.Element("place", ["-9*x - 2*vx", "-7*y", "-8*z"], energy="4.5*x**2 + 3.5*y**2 + 4*z**2")
    place = da.Element("place", ["-9*x", "-7*y", "-8*z - z**3"], energy="4.5*x**2 + 3.5*y**2 + 4*z**2 + z**4/4")
    ends = ("a", "b", "c")
    where = {"p": tuple(f"({i}1 + {i}2)/3" for i in "xyz"), "q": tuple(f"{i}1/2" for i in "xyz")}
    members: dict[str, Any] = {
        "spring": (spring, "b", "p"),
        "sheet": (three_ended(), "a", "p", "c"),
        "bushing": (bushing, ("a", (0.1, 0, 0.1), turned[0]), ("n", (0.05, 0.02, 0), turned[1])),
        "strap": (place, ("n", (0, 0.1, 0)), "c"),
        "fibre": (fibre, ("n", (0, 0, 0.1), turned[0]), "p"),
        "tie": (spring, "q", ("n", (0.1, 0, 0))),
        "hold": (place, ("b", (0.02, 0, 0)), "q"),
    }
    first, second = (da.rotation.as_rotation_matrix(each) for each in turned)
    node = (0.1, 0.0, 0.1, *da.rotation.rotation_vectors((first @ second.T)[None])[0])  # where the bushing is at rest

    def built() -> da.System:
        again = np.random.default_rng(100 + seed)
        system = random_system(again, 3, joints=(Revolute, Prismatic))
        bodies = list(system.bodies.values())
        markers = [random_marker(body, again) for body in (system.ground, bodies[0], bodies[2])]
        nodes: dict[str, Any] = {name: ("point", at) for name, at in where.items()} | {"n": ("pose", node)}
        system.connect("net", da.Compound(ends, members, nodes, starts={"fibre_x": 0.1}), *markers)
        return system

    system = built()
    compound = system.forces["net"].element
    assert list(compound.states) == ["fibre_x"]
    model = system.compile()
    q, v = random_state(system, rng)
    q = 0.2 * q
    if seed == 0:  # its fibre cannot lengthen any more in the direction that it is damped in: the node would jump
        with pytest.raises(da.SingularityError, match=r"inner equilibrium of element 'net' reaches a fold"):
            da.simulate(model, 0.3, state=da.State(q=q, v=0.2 * v), rtol=1e-9, atol=1e-11)
        return
    result = da.simulate(model, 0.3, state=da.State(q=q, v=0.2 * v), rtol=1e-9, atol=1e-11)
    size = 1 + np.abs(result["energy.total"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6 * size
    between = result.at(np.linspace(0.0, 0.3, 200))  # the nodes are found within steps too
    assert np.isfinite(between.q).all() and np.isfinite(between["net.p_x_at"]).all()
    if seed == 3:  # it moves far from where the search for its nodes begins: only the run knows from where to search
        return
    x = result.x[-1]
    by_q, by_v, *_ = model.d_dynamics(0.0, q, v, x).a
    for k, e in enumerate(np.eye(model.nv)):
        moved = [model.dynamics(0.0, model.integrate(q, h * e), v, x).a for h in (1e-5, -1e-5)]
        np.testing.assert_allclose(by_q[:, k], (moved[0] - moved[1]) / 2e-5, rtol=1e-5, atol=1e-6 * np.abs(by_q).max())
        moved = [model.dynamics(0.0, q, v + h * e, x).a for h in (1e-4, -1e-4)]
        np.testing.assert_allclose(by_v[:, k], (moved[0] - moved[1]) / 2e-4, rtol=1e-5, atol=1e-5 * np.abs(by_v).max())


def test_loads_on_nodes_from_outside_are_in_axes_of_the_world() -> None:
    """Ground as the first end: the load on a node between two moving bodies is that on a light body there."""

    def hung(mass: float) -> da.System:
        s = da.System("hung", gravity=(0, 0, 0))
        a, b = (s.body(name, da.sphere(0.1, mass=2.0)) for name in "ab")
        for name, body, at in (("A", a, 0.0), ("B", b, 1.0)):
            s.connect(name, da.Prismatic((0.3, 0.2, 1.0)), s.ground.at(at), body)
        spring = da.SpringDamper(80.0, 0.0, 0.3)
        if mass:
            n = s.body("n", mass=mass, inertia=(mass, mass, mass))
            s.connect("free", da.Free(), s.ground, n)
            s.connect("one", spring, a, n)
            s.connect("two", spring, n, b)
            s.connect("load", da.Load(force=(0.5, 0.2, -3.0)), n)
            s.initial("free", position=(1, 0, 0, 0, *node))
        else:
            members = {"one": (spring, "a", "n"), "two": (spring, "n", "b")}
            nodes = {"n": ("point", (0.5, 0.0, -0.1))}
            s.connect(
                "net", da.Compound(("world", "a", "b"), members, nodes, loads={"n": (0.5, 0.2, -3.0)}), s.ground, a, b
            )
        return s

    massless = da.simulate(hung(0.0), 0.3, rtol=1e-10, atol=1e-12)
    node = [massless[f"net.n_{i}_at"][0] for i in "xyz"]
    along = np.array([0.3, 0.2, 1.0]) / np.linalg.norm([0.3, 0.2, 1.0]) @ [0.5, 0.2, -3.0]
    both = massless["A.position"] + massless["B.position"]
    np.testing.assert_allclose(both, along / 2.0 * massless.t**2 / 2, atol=1e-9)  # the load moves both, springs neither
    ends = [da.simulate(hung(m), 0.3, method="radau", rtol=1e-8, atol=1e-10)["A.position"][-1] for m in (1e-3, 1e-4)]
    off = [abs(end - massless["A.position"][-1]) for end in ends]
    assert off[1] < 1e-4 and off[1] < 0.3 * off[0]


def test_a_compound_goes_into_a_model_file(tmp_path: Any) -> None:
    half = da.SpringDamper(200.0, 0.0, 0.5)
    bushing = da.Bushing([50.0] * 6)
    both = da.Compound(
        ("a", "b"), {"one": (half, "a", ("n", (0, 0, 0.1))), "two": (bushing, "n", "b")},
        nodes={"n": ("pose", ("x/2", 0, 0.1, 0, 0, 0))},
    )  # fmt: skip
    s = block(both)
    da.save(s, tmp_path / "model.yaml")
    again = da.load(tmp_path / "model.yaml")
    ends = [da.simulate(each, 0.2)["slide.position"][-1] for each in (s, again)]
    assert ends[0] == ends[1]
