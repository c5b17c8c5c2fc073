"""Random assemblies of every kind close their power balance, and are the limit of light bodies in place of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da


def by_table() -> da.Element:
    """A spring that stiffens, by a table."""
    s = np.linspace(-3.0, 3.0, 61)
    table = da.Table(s, values=25.0 * s + 2.0 * s**3)
    return da.Element("distance", "-pull(s - 0.2)", tables={"pull": table})


def members_of(rng: np.random.Generator) -> dict[str, Any]:
    """Members between two ends a, b and a node n with attitude: damped, by table, by Python, with rates, twisting."""
    arm = tuple(rng.uniform(-0.1, 0.1, 3))
    twist = da.Bushing(rng.uniform(20, 60, 6), rng.uniform(0.5, 1.0, 6))
    python = da.Element("place", lambda t, x, y, z, vx, vy, vz: [-9 * x - z, -7 * y, -8 * z - x])
    rated = da.Element("distance", "-6*ds*(1 + s*s)")
    return {
        "twist": (twist, "a", ("n", arm)),
        "spring": (da.SpringDamper(rng.uniform(20, 40), 0.4, 0.1), ("n", (0.0, 0.1, 0.05)), "b"),
        "table": (by_table(), ("n", (0.1, 0.0, 0.0)), ("b", (0.0, 0.0, 0.1))),
        "python": (python, ("a", (0.0, 0.05, 0.0)), "n"),
        "rated": (rated, ("n", (0.0, 0.0, -0.1)), "b"),
    }


def assembled(seed: int, mass: float | None, node: Any = None) -> da.System:
    """Two pendulums tied by an assembly whose node is massless (None), or a body of its own."""
    rng = np.random.default_rng(seed)
    s = da.System("assembled", gravity=rng.normal(size=3) * 3)
    bodies = []
    for name in "ab":
        axis, inertia = rng.normal(size=3), tuple(rng.uniform(0.1, 0.2, 3))
        bodies.append(s.body(name, mass=rng.uniform(1, 2), inertia=inertia, com=tuple(rng.uniform(-0.3, 0.3, 3))))
        s.connect(name.upper(), da.Revolute(tuple(axis)), s.ground.at(*rng.uniform(-0.5, 0.5, 3)), bodies[-1])
        s.initial(name.upper(), position=rng.uniform(-0.3, 0.3))
    markers = {"a": bodies[0], "b": bodies[1]}
    members = members_of(rng)
    if mass is None:
        net = da.Compound(("a", "b"), members, nodes={"n": ("pose", (0.0,) * 6)}, loads={"n": (0, 0, 0, 0.05, 0, 0.1)})
        s.connect("net", net, *bodies)
        return s
    light = s.body("light", mass=mass, inertia=(0.01 * mass,) * 3)
    s.connect("free", da.Free(), bodies[0], light)
    s.initial("free", position=(1, 0, 0, 0, 0, 0, 0))
    markers["n"] = light
    for name, (element, *ends) in members.items():
        there = [markers[e] if isinstance(e, str) else markers[e[0]].at(*e[1]) for e in ends]
        s.connect(name, element, *there)
    turn = da.Element("pose", [0, 0, 0, 0.05, 0, 0.1], active=True)
    s.connect("moment", turn, bodies[0], light)
    return s


@pytest.mark.parametrize("seed", range(2))
def test_a_node_of_members_of_all_kinds_is_the_limit_of_a_light_body(seed: int) -> None:
    model = assembled(seed, None).compile()
    assert len(model.state_names) == 6  # rates are resisted in every direction: the node's place is a state
    result = da.simulate(model, 0.5, rtol=1e-9, atol=1e-11)
    size = 1.0 + np.abs(result["energy.total"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6 * size
    off = []
    for mass in (1e-2, 1e-3):
        light = da.simulate(assembled(seed, mass), 0.5, method="radau", rtol=1e-8, atol=1e-10)
        off.append(np.abs([light[f"{h}.position"][-1] - result[f"{h}.position"][-1] for h in "AB"]).max())
        assert np.abs(light["energy.balance"]).max() < 1e-5 * size
    assert off[1] < 2e-3 and off[1] < 0.2 * off[0]


def kinematic(seed: int, mass: float = 0.0) -> da.System:
    """Two bodies in space joined by massless parts: arms that repeat each other, a slide that time drives, a blade.

    All of it lies about a random axis. A bar repeats the arms by a constraint, another seed has a wheel that follows an
    arm by a coupling in place of the blade, and the last joint is of a random kind.
    """
    rng = np.random.default_rng(seed)
    s = da.System("kinematic", gravity=2.0 * rng.normal(size=3))
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    normal = tuple(axes[2])

    def at(x: float, y: float) -> Any:
        return tuple(x * axes[0] + y * axes[1])

    def heavy(name: str) -> Any:
        com, inertia = tuple(rng.uniform(-0.05, 0.05, 3)), tuple(rng.uniform(0.05, 0.08, 3))
        return s.body(name, mass=rng.uniform(1.0, 3.0), com=com, inertia=inertia)

    light: dict[str, Any] = {"mass": mass, "inertia": (0.02 * mass,) * 3} if mass else {}
    one, two = heavy("one"), heavy("two")
    table, rod, fork = (s.body(name, **light) for name in ("table", "rod", "fork"))
    s.connect("F", da.Free(), s.ground, one)
    heights, length = np.sort(rng.uniform(-0.2, 0.2, 3)), rng.uniform(0.25, 0.4)
    for k, y in enumerate(heights[:2]):
        arm = s.body(f"arm{k}", **light)
        s.connect(f"in{k}", da.Revolute(normal), one.at(*at(0.1, y)), arm)
        s.connect(f"out{k}", da.Revolute(normal), arm.at(*at(length, 0.0)), table.at(*at(0.0, y)))
        s.initial(f"in{k}", position=0.3)
    s.connect("bar", da.Distance(length), one.at(*at(0.1, heights[2])), table.at(*at(0.0, heights[2])))
    s.connect("slide", da.Prismatic(at(1.0, 0.0)), table, rod)
    s.drive("slide", position=da.Harmonic(rng.uniform(0.03, 0.06), rng.uniform(3.0, 5.0), offset=0.1))
    s.connect("swivel", (da.Revolute(normal), da.Spherical(), da.Universal(normal, at(1.0, 0.0)))[seed % 3], rod, two)
    s.connect("pin", da.Revolute(normal), table.at(*at(0.05, 0.1)), fork)
    if seed % 2:
        s.connect("wheels", da.Coupling(-1.5, 0.2), "in0", "pin")
        fork.mass, fork.inertia = 0.3, np.diag([0.01] * 3)
    else:
        s.connect("blade", da.KnifeEdge(at(0.0, 1.0)), s.ground, fork.at(*at(-0.1, 0.0)))
    s.connect("spring", da.TorsionSpring(2.0, 0.2), "in1")  # at an inner joint
    s.initial("F", speed=(*rng.normal(size=3), *rng.normal(size=3) * 0.3))
    return s


@pytest.mark.parametrize("seed", range(4))
def test_kinematic_assemblies_are_the_limit_of_light_parts(seed: int) -> None:
    """Constraint elements, loops and redundant rows inside, time, nonholonomic parts and couplings: off by the mass."""
    tight = {"rtol": 1e-9, "atol": 1e-11, "times": [0.0, 0.15, 0.3]}
    result = da.simulate(kinematic(seed), 0.3, **tight)
    size = 1.0 + np.abs(result["energy.total"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-7 * size
    off = []
    for mass in (2e-3, 1e-3):
        light = da.simulate(kinematic(seed, mass), 0.3, **tight)
        assert np.abs(light["energy.balance"]).max() < 1e-7 * size
        both = [
            np.hstack([run[f"{name}.position"].reshape(3, -1) for name in ("one", "two", "in0")])
            for run in (light, result)
        ]
        off.append(np.abs(both[0] - both[1]).max())
    assert off[1] < 5e-3 and off[0] / off[1] == pytest.approx(2.0, abs=0.01)
