"""Rigid arms from nodes of flexible bodies: as rigid as a rigid body that is fixed to the node."""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import random_deformed_state, random_flexible

import dalembert as da
from dalembert.errors import ModelError

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
ARM = np.array([0.1, -0.2, 0.3])


def machine(*, on_arm: bool, stiffening: bool = False) -> da.System:
    """A load on a flexible body, held at the end of a rigid arm: an arm of the body, or of the load."""
    rng = np.random.default_rng(5)
    s = da.System("arm")
    link = s.body("link", random_flexible(rng, nm=3, points=True, stiffening=stiffening))
    load = s.body("load", mass=2.0, com=(0.1, 0, 0.2), inertia=(0.3, 0.2, 0.25))
    load.marker("hook", 0.2, 0.1, 0)
    s.connect("A", da.Spherical(), s.ground, link.at(node=1))
    if on_arm:
        s.connect("B", da.Universal("x", "y"), link.at(*ARM, node=4), load)
    else:
        carrier = s.body("arm", mass=1e-12, inertia=(1e-12,) * 3)
        s.connect("C", da.Fixed(), link.at(node=4), carrier)
        s.connect("B", da.Universal("x", "y"), carrier.at(*ARM), load)
    return s


@pytest.mark.parametrize("stiffening", [False, True])
def test_an_arm_turns_as_a_body_that_is_fixed_to_its_node(stiffening: bool) -> None:
    one, two = (machine(on_arm=on_arm, stiffening=stiffening).compile() for on_arm in (True, False))
    rng = np.random.default_rng(0)
    q, v = random_deformed_state(one, rng)
    a = rng.normal(size=one.nv)
    assert one.coordinate_names == two.coordinate_names
    # the arm of the second weighs 1e-12 kg
    assert np.allclose(one.pose("load.hook", q)[1], two.pose("load.hook", q)[1], rtol=0, atol=1e-14)
    assert np.allclose(one.mass_matrix(q), two.mass_matrix(q), rtol=0, atol=1e-10)
    assert np.allclose(one.inverse_dynamics(q, v, a), two.inverse_dynamics(q, v, a), rtol=0, atol=1e-9)
    for level in ("velocity", "acceleration"):
        more = () if level == "velocity" else (a,)
        first, second = (getattr(model, level)("load.hook", q, v, *more) for model in (one, two))
        assert np.allclose(first, second, rtol=0, atol=1e-12)


def test_points_on_arms_that_no_frame_of_the_model_follows() -> None:
    system = machine(on_arm=True)
    model = system.compile()
    q, v = random_deformed_state(model, np.random.default_rng(1))
    point, node = system["link"].at(*ARM, node=2), system["link"].at(node=2)
    (R, p), (R_n, p_n) = model.pose(point, q), model.pose(node, q)
    assert np.allclose(R, R_n) and np.allclose(p, p_n + R_n @ ARM, rtol=0, atol=1e-14)
    V, V_n = model.velocity(point, q, v), model.velocity(node, q, v)
    assert np.allclose(V[3:], V_n[3:] + np.cross(V_n[:3], p - p_n), rtol=0, atol=1e-13)
    assert np.allclose(model.jacobian(point, q) @ v, V, rtol=0, atol=1e-12)


def rods(where: str, arm: tuple[float, float, float], force: tuple[float, float, float]) -> da.System:
    """A clamped rod with a force of constant direction on an arm from its tip: of its own, or of a light body there."""
    rod = da.beam(
        1.0, da.Section.rectangle(0.02, 0.002), STEEL, elements=8, modes=da.CantileverModes(4), stiffening=True,
        load_nodes=(8,),
    )  # fmt: skip
    s = da.System("rod", gravity=(0, 0, 0))
    body = s.body("rod", rod)
    s.connect("A", da.Fixed(), s.ground, body)
    place = body.at(*arm, node=8)
    if where == "body":
        hook = s.body("hook", mass=1e-9, inertia=(1e-12,) * 3)
        s.connect("B", da.Fixed(), body.at(node=8), hook)
        place = hook.at(*arm)
    s.connect("F", da.Load(force=force), place)
    return s


@pytest.mark.parametrize("force", [(0, 0, -0.5), (60.0, 0, 0), (-3.0, 0, 0)], ids=["across", "pulled", "pressed"])
def test_loads_on_arms_stiffen_as_on_a_body_at_the_node(force: tuple[float, float, float]) -> None:
    arm = (0.3, 0.0, -0.4)
    first, second = (da.modes(rods(where, arm, force)).frequencies for where in ("arm", "body"))
    assert np.allclose(first, second, rtol=1e-6)
    # the moment of the arm and the tension of the rod both count
    assert not np.isclose(first[0], da.modes(rods("arm", arm, (0, 0, 0))).frequencies[0], rtol=1e-3)
    pulled, at_node = (da.modes(rods("arm", a, (60.0, 0, 0))).frequencies[0] for a in ((0.3, 0, 0), (0, 0, 0)))
    assert pulled > 1.03 * at_node  # a longer line of action turns back more


def test_ruthless_and_stiffened_contradict_each_other() -> None:
    with pytest.raises(ModelError, match="stiffening"):
        da.beam(1.0, da.Section.rectangle(0.03, 0.01), STEEL, stiffening=True, order="ruthless")
