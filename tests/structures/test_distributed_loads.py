"""Loads along lines and on surfaces of flexible and rigid bodies: closed forms, consistent masses, buoyancy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import ModelError

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
BAR = da.Section.rectangle(0.02, 0.02)


def cantilever(elements: int = 4) -> tuple[da.System, da.Body]:
    """Return a clamped beam with all the modes that its elements have: statics of its nodes are exact."""
    s = da.System("cantilever", gravity=(0, 0, 0))
    body = s.body("beam", da.beam(1.0, BAR, STEEL, elements=elements, theory="euler", modes=da.CantileverModes(24)))
    s.connect("root", da.Fixed(), s.ground, body)
    return s, body


@pytest.mark.parametrize("axes", ["world", "body"])
def test_a_uniform_load_bends_a_cantilever_by_the_fourth_power_of_its_length(axes: str) -> None:
    s, body = cantilever()
    load = da.structures.line_load(s, "q", body, (0, 0, -20.0), axes=axes)
    assert np.allclose(load.total, (0, 0, -20.0)) and len(load.loads) == 8
    tip = s.compile().pose(body.at(node=4), da.equilibrium(s).q)[1]
    assert tip[2] == pytest.approx(-20.0 / (8 * STEEL.E * BAR.Iy), rel=1e-4)  # turned by less than 1e-3


def test_a_triangular_load_on_a_part_is_the_integral_of_its_influence() -> None:
    """w(1) = integral of q(x) x^2 (3 - x) / (6 E I) dx."""
    s, body = cantilever()
    da.structures.line_load(s, "q", body, lambda x: (0, 0, -30.0 * x[0]), where=lambda x: x[0] > 0.5, law=2.0)
    tip = s.compile().pose(body.at(node=4), da.equilibrium(s).q)[1]
    x = np.linspace(0.5, 1.0, 2001)
    share = np.trapezoid(60.0 * x * x**2 * (3 - x) / 6, x)
    assert tip[2] == pytest.approx(-share / (STEEL.E * BAR.Iy), rel=1e-3)  # two points per element: order four


def test_the_load_follows_its_law_and_the_weight_of_a_beam_is_a_line_load() -> None:
    s, body = cantilever()
    weight = STEEL.density * BAR.A * 9.81
    da.structures.line_load(s, "q", body, (0, 0, -weight), law=da.Step(0.01))
    heavy, same = cantilever()
    heavy.gravity = (0, 0, -9.81)
    late = da.simulate(s, 0.03, times=[0.005, 0.03])
    soon = da.simulate(heavy, 0.02, times=[0.02])
    assert np.abs(late["beam.eta"][0]).max() < 1e-12
    assert np.allclose(late["beam.eta"][1], soon["beam.eta"][-1], atol=2e-3 * np.abs(soon["beam.eta"]).max())
    assert same.flexible is not None


def test_a_follower_load_rolls_up_a_slender_rod() -> None:
    """Normal to the line wherever it turns: m'' and n' from the free end, without knowing where that is."""
    section, soft, q = da.Section.circle(0.005), da.Material(E=1e7, nu=0.3, density=1000.0), 0.03
    EI = soft.E * section.Iy

    def slope(_: float, y: np.ndarray) -> list[float]:  # from the tip inward: place, angle, force, moment
        _, _, angle, fx, fz, m = y
        c, s = np.cos(angle), np.sin(angle)
        return [-c, -s, -m / EI, -q * s, q * c, c * fz - s * fx]

    x, z, angle, *_ = solve_ivp(slope, (0, 1), np.zeros(6), rtol=1e-10, atol=1e-12).y[:, -1]
    tip = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) @ -np.array([x, z])
    errors = []
    for n in (6, 12):
        s = da.System("rod", gravity=(0, 0, 0))
        rod = da.structures.cable(s, "rod", 1.0, section, soft, segments=n, bending="y", torsion=False)
        s.connect("A", da.Fixed(), s.ground, rod.start)
        da.structures.line_load(s, "q", rod, (0, 0, q), axes="body")
        found = s.compile().pose(rod.end, da.equilibrium(s).q)[1]
        errors.append(float(np.hypot(*(found[[0, 2]] - tip))))
    assert abs(angle) > 0.8  # rad: far from linear
    assert errors[1] < 1e-5 and errors[0] / errors[1] > 10  # the order is 4


def test_pressure_on_a_plate_is_its_consistent_mass_times_an_acceleration() -> None:
    structure = da.plate_structure(0.4, 0.2, 0.002, STEEL, elements=(4, 3))
    plates = structure.elements
    loads = plates.pressure_loads(structure.nodes, lambda x: 100.0, None)  # type: ignore[union-attr]
    up = np.tile([0, 0, 1.0, 0, 0, 0], len(structure.nodes))
    assert np.allclose(loads, -100.0 / (7850 * 0.002) * (structure.mass @ up), atol=1e-12)
    s = da.System("flap", gravity=(0, 0, 0))
    held = structure.rigid_region(structure.nodes[:, 0] < -0.2 + 1e-9)
    foot = len(held.nodes) - 1
    flap = s.body("flap", held.reduce(da.CantileverModes(6, at=foot)))
    s.connect("root", da.Fixed(), s.ground, flap.at(node=foot))
    half = da.structures.pressure_load(s, "p", flap, lambda x: 50.0, where=lambda x: x[0] > 0)
    assert np.allclose(half.total, (0, 0, -50.0 * 0.04))
    nodal = plates.pressure_loads(held.nodes, lambda x: 50.0, lambda x: x[0] > 0)  # type: ignore[union-attr]
    flexible = flap.flexible
    assert flexible is not None
    modal = np.linalg.solve(flexible.modal_stiffness, flexible.modes.T @ nodal)
    assert np.allclose(da.equilibrium(s).q, modal, atol=1e-3 * np.abs(modal).max())  # deflections are small


def test_pressure_of_water_lifts_a_solid_by_its_volume_and_squeezes_a_bar() -> None:
    skfem = pytest.importorskip("skfem")
    lines = [np.linspace(0, 0.4, 5), np.linspace(0, 0.1, 2), np.linspace(0, 0.1, 2)]
    solid = da.solid_structure(skfem.MeshHex.init_tensor(*lines), da.Material(E=1e9, nu=0.0, density=1000.0))
    loads = solid.elements.pressure_loads(solid.nodes, lambda x: 9810.0 * (1.0 - x[2]), None).reshape(-1, 6)
    assert np.allclose(loads[:, :3].sum(0), (0, 0, 9810.0 * 0.004), atol=1e-9)
    moment = np.cross(solid.nodes - (0.2, 0.05, 0.05), loads[:, :3]).sum(0)
    assert np.abs(moment).max() < 1e-9
    held = solid.rigid_region(solid.nodes[:, 0] < 1e-9)
    foot = len(held.nodes) - 1
    s = da.System("bar", gravity=(0, 0, 0))
    bar = s.body("bar", held.reduce(da.CraigBampton((foot,), 40)))
    s.connect("A", da.Fixed(), s.ground, bar.at(node=foot))
    pressed = da.structures.pressure_load(s, "p", bar, 1e5, where=lambda x: x[0] > 0.4 - 1e-9)
    assert np.allclose(pressed.total, (-1e3, 0, 0))
    flexible = bar.flexible
    assert flexible is not None
    nodal = solid.elements.pressure_loads(solid.nodes, lambda x: 1e5, lambda x: x[0] > 0.4 - 1e-9)
    free = np.flatnonzero(np.tile([1, 1, 1, 0, 0, 0], len(solid.nodes)) * np.repeat(solid.nodes[:, 0] > 1e-9, 6))
    u = np.linalg.solve(solid.stiffness.toarray()[np.ix_(free, free)], nodal[free])
    expected = -1e5 / 1e9 * solid.nodes[free // 6, 0] * (free % 6 == 0)  # u = -p x / E, exactly: nu is zero
    assert np.allclose(u, expected, atol=1e-12)
    modal = np.linalg.solve(flexible.modal_stiffness, flexible.modes.T @ np.append(nodal, np.zeros(6)))
    assert np.allclose(da.equilibrium(s).q, modal, atol=1e-3 * np.abs(modal).max())


def test_what_cannot_be_loaded_is_refused_by_name() -> None:
    s, body = cantilever()
    with pytest.raises(ModelError, match="line_load"):
        da.structures.pressure_load(s, "p", body, 1.0)
    with pytest.raises(ModelError, match="acts on no part"):
        da.structures.line_load(s, "q", body, (0, 0, 1.0), where=lambda x: x[0] > 5)
    with pytest.raises(ModelError, match="give the points"):
        da.structures.line_load(s, "q", s.body("rigid", mass=1.0), (0, 0, 1.0))
    with pytest.raises(ModelError, match="axes"):
        da.structures.line_load(s, "q", body, (0, 0, 1.0), axes="local")


# ---- rigid bodies


def free_block() -> tuple[da.System, da.Body]:
    s = da.System("block", gravity=(0, 0, 0))
    body = s.body("block", mass=2.0, com=(0.1, -0.2, 0.05), inertia=(0.3, 0.4, 0.5))
    s.connect("free", da.Free(), s.ground, body)
    return s, body


@pytest.mark.parametrize("axes", ["world", "body"])
def test_a_load_along_a_line_of_a_rigid_body_is_its_integral(axes: str) -> None:
    """A force that varies by the third power along a bent line, against sums over many points, at random states."""
    s, body = free_block()
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [1.0, 0.2, 0.0], [0.4, 1.0, 0.7]])

    def force(x: np.ndarray) -> np.ndarray:
        return np.array([1.0 + x[0] ** 3, -2.0 * x[1], 3.0 * x[2] * x[0]])

    load = da.structures.line_load(s, "q", body, force, axes=axes, along=corners, law=2.0)
    assert len(load.loads) == (1 if axes == "body" else 8)
    model, plain = s.compile(), free_block()[0].compile()
    state = model.random_state(3)
    R, _ = plain.pose("block", state.q)
    F, M, total = np.zeros(3), np.zeros(3), np.zeros(3)
    n = 4000
    for start, end in pairwise(corners):
        for u in (np.arange(n) + 0.5) / n:
            x = start + u * (end - start)
            each = 2.0 * force(x) * np.linalg.norm(end - start) / n
            total += each / 2.0
            each = R @ each if axes == "body" else each
            F, M = F + each, M + np.cross(R @ x, each)
    assert load.total == pytest.approx(total, rel=1e-6)  # midpoints of 4000 pieces: 1e-7
    expected = plain.forward_dynamics(state.q, state.v, loads=np.concatenate([M, F])[None])
    assert model.forward_dynamics(state.q, state.v) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_pressure_of_water_lifts_a_rigid_block_by_its_volume() -> None:
    """Archimedes on a tetrahedron: the force is weight of water times volume, through the centre of the volume."""
    s, body = free_block()
    v = np.array([[0.1, 0.0, -0.2], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.3, 0.2, 0.8]])
    faces = np.array([v[list(k)] for k in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))])
    water = 9810.0
    load = da.structures.pressure_load(s, "p", body, lambda x: water * (2.0 - x[2]), faces=faces)
    volume = np.linalg.det(v[1:] - v[0]) / 6
    assert load.total == pytest.approx([0, 0, water * volume], abs=1e-9)
    model, plain = s.compile(), free_block()[0].compile()
    state = model.random_state(1)
    R, _ = plain.pose("block", state.q)
    lift = R @ load.total
    moment = np.cross(R @ v.mean(axis=0), lift)
    expected = plain.forward_dynamics(state.q, state.v, loads=np.concatenate([moment, lift])[None])
    assert model.forward_dynamics(state.q, state.v) == pytest.approx(expected, rel=1e-11, abs=1e-9)
    wet = da.structures.pressure_load(s, "part", body, 100.0, faces=faces, where=lambda x: x[2] < 0.1, law=np.sin)
    assert len(wet.loads) == 1 and np.linalg.norm(wet.total) > 0


def test_lines_and_faces_of_rigid_bodies_are_checked() -> None:
    s, body = free_block()
    beam = cantilever()[1]
    for call, match in (
        (lambda: da.structures.line_load(s, "a", body, (0, 0, 1)), "rigid: give the points"),
        (lambda: da.structures.line_load(s, "a", body, (0, 0, 1), along=[[0, 0, 0]]), "no length"),
        (lambda: da.structures.line_load(s, "a", body, (0, 0, 1), along=[[0, 0], [1, 1]]), "along"),
        (lambda: da.structures.line_load(s, "a", beam, (0, 0, 1), along=[[0, 0, 0], [1, 0, 0]]), "leave it out"),
        (lambda: da.structures.pressure_load(s, "a", body, 1.0), "rigid: give triangles"),
        (lambda: da.structures.pressure_load(s, "a", body, 1.0, faces=np.zeros((2, 3))), "faces"),
        (lambda: da.structures.pressure_load(s, "a", beam, 1.0, faces=np.zeros((1, 3, 3))), "leave them out"),
        (
            lambda: da.structures.pressure_load(s, "a", body, 1.0, faces=np.ones((1, 3, 3)), where=lambda x: False),
            "no part",
        ),
    ):
        with pytest.raises(ModelError, match=match):
            call()
