"""Compounds: equilibrium at massless nodes, against closed forms and against small masses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import random_marker, random_state, random_system

import dalembert as da
from dalembert.connections.formulas.expressions import Program
from dalembert.connections.joints import Prismatic, Revolute

Array = NDArray[np.float64]

STORED = "k*(x**2 + y**2 + z**2)/2 + h*(rx**2 + ry**2 + rz**2)/2"


def spring(k: float, length: float) -> da.Element:
    return da.Element("distance", "-k*(s - l)", {"k": k, "l": length}, energy="k*(s - l)**2/2")


def block_on_slide(element: da.Element, *, position: float = 1.2, mass: float = 2.0) -> da.System:
    s = da.System("block", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=mass))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    s.initial("slide", position=position)
    s.connect("link", element, s.ground, block)
    return s


def test_springs_in_series_are_one() -> None:
    """Sol 1983, section 7.3: k = k1 k2 k3 / (k1 k2 + k2 k3 + k3 k1), whatever the order of the members."""
    k, length = (300.0, 120.0, 80.0), (0.3, 0.2, 0.4)
    compound = da.Compound(
        ("a", "b"),
        {
            "two": (spring(k[1], length[1]), "n", "m"),
            "one": (spring(k[0], length[0]), "a", "m"),
            "three": (spring(k[2], length[2]), "b", "n"),
        },
        nodes={"m": ("line", 0.3), "n": ("line", 0.5)},
    )
    whole = 1 / sum(1 / each for each in k)
    times = np.linspace(0, 2, 11)
    results = [
        da.simulate(block_on_slide(e), 2.0, times=times, rtol=1e-11, atol=1e-13)
        for e in (compound, spring(whole, sum(length)))
    ]
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-10)
    np.testing.assert_allclose(results[0]["energy.total"], results[1]["energy.total"], atol=1e-10)
    stretch = results[0].q[:, 0] - sum(length)
    np.testing.assert_allclose(results[0]["link.m_at"], length[0] + stretch * whole / k[0], rtol=1e-11)
    np.testing.assert_allclose(results[0]["link.two_force"], -whole * stretch, rtol=1e-9, atol=1e-10)


def test_a_spring_and_a_damper_in_series_are_maxwells() -> None:
    damper = da.Element("distance", "-c*ds", {"c": 20.0})
    compound = da.Compound(
        ("a", "b"), {"spring": (spring(150.0, 0.5), "a", "m"), "damper": (damper, "m", "b")}, nodes={"m": ("line", 0.5)}
    )
    assert list(compound.states) == ["m"]
    result = da.simulate(block_on_slide(compound), 3.0, rtol=1e-11, atol=1e-13)
    # c m' = c s' - k (m - l), by the exponential of [s, s', m]
    from scipy.linalg import expm

    A = np.array([[0, 1, 0, 0], [0, 0, -75.0, 37.5], [0, 1, -7.5, 3.75], [0, 0, 0, 0]])
    expected = np.array([expm(A * t) @ [1.2, 0, 0.5, 1.0] for t in result.t])
    np.testing.assert_allclose(result.q[:, 0], expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(result["link.m"], expected[:, 2], atol=1e-9)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def test_a_point_between_three_strings_balances_a_load() -> None:
    """A node held by three springs between ground and two bodies, pulled by a force: against minimal energy."""
    from scipy.optimize import minimize

    members: dict[str, Any] = {
        "one": (spring(200.0, 0.2), "g", "n"),
        "two": (spring(100.0, 0.3), "n", "p"),
        "three": (spring(150.0, 0.25), "n", "q"),
    }
    compound = da.Compound(
        ("g", "p", "q"), members, nodes={"n": ("point", (0.1, 0.1, 0.1))},
        loads={"n": ("f", "0", "-2*f")}, parameters={"f": 5.0},
    )  # fmt: skip
    assert compound.measure == ("place", "place")
    s = da.System("net", gravity=(0, 0, 0))
    p, q = (s.body(name, da.sphere(0.05, mass=1.0)) for name in "pq")
    anchor = s.ground.at(0.1, -0.2, 0.3)
    for name, body in (("P", p), ("Q", q)):
        s.connect(name, da.Free(), s.ground, body)
    s.connect("net", compound, anchor, p, q)
    model = s.compile()
    places = {"P": np.array([0.8, 0.1, 0.2]), "Q": np.array([0.0, 0.9, -0.3])}
    state = np.zeros(14)
    for name, place in places.items():
        state[model.q_slice(name)] = [1, 0, 0, 0, *place]
    _, loads = model.applied_loads(0.0, state, np.zeros(12))

    def energy(n: Any) -> float:
        ends = [(np.array([0.1, -0.2, 0.3]), 200, 0.2), (places["P"], 100, 0.3), (places["Q"], 150, 0.25)]
        return sum(0.5 * k * (np.linalg.norm(n - e) - free) ** 2 for e, k, free in ends) - 5 * n[0] + 10 * n[2]

    node = minimize(energy, [0.2, 0.1, 0.2], options={"gtol": 1e-11}).x
    for k, (name, stiffness, length) in enumerate((("P", 100.0, 0.3), ("Q", 150.0, 0.25))):
        r = node - places[name]
        pull = stiffness * (np.linalg.norm(r) - length) * r / np.linalg.norm(r)
        np.testing.assert_allclose(loads[k, 3:], pull, atol=2e-6)
    motion = da.Output.of(model, "net.n_x_at").evaluate(model, 0.0, state, np.zeros(12))
    assert motion == pytest.approx(node[0] - 0.1, abs=1e-7)


def bushing() -> da.Element:
    forces = [f"-k*{a} - c*{b}" for a, b in zip(("x", "y", "z"), ("vx", "vy", "vz"), strict=True)]
    forces += [f"-h*{a} - d*{b}" for a, b in zip(("rx", "ry", "rz"), ("wx", "wy", "wz"), strict=True)]
    return da.Element(
        "pose",
        forces,
        {"k": 900.0, "c": 30.0, "h": 40.0, "d": 2.0},
        energy="k*(x**2+y**2+z**2)/2 + h*(rx**2+ry**2+rz**2)/2",
    )


def test_two_bushings_in_series_against_a_small_mass_between_them() -> None:
    """A node with attitude: the limit of a light body between the two."""
    compound = da.Compound(
        ("a", "b"), {"one": (bushing(), "a", "n"), "two": (bushing(), "n", "b")}, nodes={"n": ("pose", (0.0,) * 6)}
    )
    assert len(compound.states) == 6
    ends = []
    for light in (None, 1e-5, 1e-6):
        s = da.System("series", gravity=(0.5, -9.81, 1.0))
        body = s.body("body", da.box(0.2, 0.1, 0.3, mass=1.5))
        s.connect("free", da.Free(), s.ground, body)
        if light is None:
            s.connect("both", compound, s.ground, body.at(0.1, 0, 0.05))
        else:
            middle = s.body("middle", mass=light, inertia=(light / 50,) * 3)
            s.connect("loose", da.Free(), s.ground, middle)
            s.connect("one", bushing(), s.ground, middle)
            s.connect("two", bushing(), middle, body.at(0.1, 0, 0.05))
        result = da.simulate(s, 0.4, rtol=1e-9, atol=1e-11, times=[0.0, 0.4], method="radau")
        ends.append(np.concatenate([result["body.position"][-1], result["body.rotation"][-1].ravel()]))
    errors = [np.abs(ends[0] - end).max() for end in ends[1:]]
    assert errors[1] < 2e-6 and errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("seed", range(3))
def test_compounds_in_random_systems_have_exact_tangents_and_close_the_balance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, joints=(Revolute, Prismatic))
    markers = [random_marker(body, rng) for body in (system.ground, *system.bodies.values())]
    place = da.Element("place", ["-3*x - 2*vx", "-2*y - 3*vy", "-4*z - x*z - vz"])
    compound = da.Compound(
        ("a", "b", "c"),
        {"one": (spring(30.0, 0.3), "b", "n"), "two": (place, "a", "n"), "three": (spring(20.0, 0.1), "n", "c")},
        nodes={"n": ("point", (0.1, 0.2, 0.3))},
    )
    system.connect("net", compound, markers[0], markers[2], markers[4])
    static = da.Compound(
        ("a", "b"), {"one": (bushing_without_damping(), "a", "n"), "two": (bushing_without_damping(), "n", "b")},
        nodes={"n": ("pose", ("x/2", "y/2", "z/2", "rx/2", "ry/2", "rz/2"))},
    )  # fmt: skip
    system.connect("series", static, markers[1], markers[3])
    model = system.compile()
    q, v = random_state(system, rng)
    q, v = 0.3 * q, v
    x = np.array([0.1, 0.2, 0.3])
    by_q, by_v, *_ = model.d_dynamics(0.0, q, v, x).a

    def slope(e: Array, f: Array) -> Array:
        ends = [model.dynamics(0.0, model.integrate(q, h * e), v + h * f, x).a for h in (1e-5, -1e-5)]
        return (ends[0] - ends[1]) / 2e-5

    zero = np.zeros(model.nv)
    for k, e in enumerate(np.eye(model.nv)):
        np.testing.assert_allclose(by_q[:, k], slope(e, zero), rtol=1e-6, atol=1e-6 * (1 + np.abs(by_q).max()))
        np.testing.assert_allclose(by_v[:, k], slope(zero, e), rtol=1e-6, atol=1e-6 * (1 + np.abs(by_v).max()))
    # longer, and ends of `series` are half a turn apart, where its node would jump
    result = da.simulate(model, 0.15, state=da.State(q=q, v=0.2 * v), rtol=1e-9, atol=1e-11)
    assert np.abs(result["energy.balance"]).max() < 1e-6 * (1 + np.abs(result["energy.total"]).max())


def bushing_without_damping() -> da.Element:
    return da.Element(
        "pose", None, {"k": 9.0, "h": 4.0}, energy="k*(x**2 + y**2 + z**2)/2 + h*(rx**2 + ry**2 + rz**2)/2"
    )


def test_muscle_and_tendon_hold_a_load_isometrically() -> None:
    """At rest the tendon carries what the fibre gives at its length: F0 (a fl + fp)."""
    fibre = da.HillMuscle(1.0, strength=1000.0, optimal_length=0.1, start=1.0)
    tendon = da.Element("distance", "-k*max(0, s - l)**2", {"k": 5e7, "l": 0.2}, energy="k*max(0, s - l)**3/3")
    muscle = da.Compound(
        ("origin", "insertion"),
        {"fibre": (fibre, "origin", "middle"), "tendon": (tendon, "middle", "insertion")},
        nodes={"middle": ("line", 0.1)},
    )
    s = da.System("held", gravity=(0, 0, 0))
    body = s.body("body", da.sphere(0.05, mass=1.0))
    s.connect("slide", da.Prismatic("x"), s.ground, body)
    s.initial("slide", position=0.302)
    s.drive("slide", position=0.302)
    s.connect("muscle", muscle, s.ground, body)
    result = da.simulate(s, 1.0, rtol=1e-9)
    length = result["muscle.middle"][-1]
    force = 5e7 * (0.302 - length - 0.2) ** 2
    stretch = max(0.0, length / 0.1 - 1)
    passive = (np.exp(5 * stretch / 0.6) - 1) / (np.exp(5) - 1)
    assert force == pytest.approx(1000 * (np.exp(-((length / 0.1 - 1) ** 2) / 0.45) + passive), rel=1e-6)
    assert result["muscle.tendon_force"][-1] == pytest.approx(-force, rel=1e-9)


@pytest.mark.parametrize(
    ("members", "nodes", "words"),
    [
        ({"one": (spring(1, 1), "a", "n")}, {"n": ("line", 0.5)}, "two members"),
        ({"one": (spring(1, 1), "a", "x")}, {}, "places are"),
        ({"one": (spring(1, 1), "a", "a")}, {}, "two different"),
        ({"one": (da.Element("joint", "-s"), "a", "b")}, {}, "distance, place or pose"),
        ({"one": (da.Element("distance", SimpleNamespace(address=1)), "a", "b")}, {}, "its law is compiled"),
        ({"one": (spring(1, 1), "a", "n"), "two": (spring(1, 1), ("n", (0, 0, 1)), "b")},
         {"n": ("point", (0, 0, 0))}, "offset"),
        ({"one": (spring(1, 1), "a", "n"), "two": (spring(1, 1), "n", "b")}, {"n": ("plane", 0.5)}, "kind"),
        ({"one": (spring(1, 1), "a", "n"), "two": (spring(1, 1), "n", "b")}, {"n": ("point", 0.5)}, "give 3"),
        ({"one": (bushing(), "a", "n"), "two": (spring(1, 1), "n", "b")}, {"n": ("point", (0, 0, 0))}, "orientation"),
        ({}, {}, "one or more"),
    ],
)  # fmt: skip
def test_what_cannot_be_put_together_is_named(members: Any, nodes: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        da.Compound(("a", "b"), members, nodes=nodes)


def test_members_keep_their_numbers_by_name() -> None:
    element = da.Compound(
        ("a", "b"), {"one": (spring(300.0, 0.3), "a", "m"), "two": (spring(120.0, 0.5), "m", "b")},
        nodes={"m": ("line", "k0*0.1")}, parameters={"k0": 4.0},
    )  # fmt: skip
    named = {"k0": 4.0, "one_k": 300.0, "one_l": 0.3, "two_k": 120.0, "two_l": 0.5}
    assert element.parameters == {**named, "m_shift": 0.0}  # where its search begins, beyond the start
    s = block_on_slide(element)
    soft = da.simulate(s, 1.0, parameters={"link.two_k": 60.0}, times=[1.0], rtol=1e-10)
    whole = 1 / (1 / 300 + 1 / 60)
    assert soft.q[0, 0] == pytest.approx(0.8 + 0.4 * np.cos(np.sqrt(whole / 2.0)), abs=1e-7)


def test_a_node_without_equilibrium_is_named() -> None:
    """A tendon that is stretched by more than the fibre can ever hold."""
    fibre = da.Element("distance", "-100*tanh(ds)")
    compound = da.Compound(
        ("a", "b"), {"fibre": (fibre, "a", "m"), "tendon": (spring(1e4, 0.2), "m", "b")}, nodes={"m": ("line", 0.1)}
    )
    with pytest.raises(da.UserFunctionError, match=r"'link' has no solution for its unknowns m_rate"):
        da.simulate(block_on_slide(compound), 1.0)


def test_a_large_compound_without_equilibrium_is_refused_without_a_search_in_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The law falls where its nodes move, so that every search is cut step by step: the core alone does that."""
    wave = da.Element("distance", "-100*sin(9*s)/(1 + s**2) - 500")
    compound = da.Compound(
        ("a", "b"),
        {"one": (wave, "a", "m"), "two": (wave, "m", "n"), "three": (spring(10.0, 0.2), "n", "b")},
        nodes={"m": ("point", (0.4, 0.1, 0.0)), "n": ("point", (0.8, 0.1, 0.1))},
    )
    system = block_on_slide(compound).compile()
    evaluations = 0
    evaluate = Program.evaluate

    def counted(self: Program, inputs: Any) -> Any:
        nonlocal evaluations
        evaluations += 1
        return evaluate(self, inputs)

    monkeypatch.setattr(Program, "evaluate", counted)
    with pytest.raises(da.UserFunctionError, match=r"'link' has no solution for its unknowns"):
        da.simulate(system, 1.0)
    assert evaluations < 20
