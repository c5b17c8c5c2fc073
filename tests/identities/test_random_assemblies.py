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
