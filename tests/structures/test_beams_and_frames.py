"""Beams and frames: statics, patch tests, inertia, section forces and stresses."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.nodal_matrices import rigid_motions
from dalembert.structures import frame_structure
from dalembert.structures.supported_structure import SupportedStructure

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
SECTION = da.Section.rectangle(0.04, 0.02)
L = 1.5


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return da.quaternion(*rng.normal(size=4))


def straight(rotation: np.ndarray, elements: int = 3, theory: str = "timoshenko", mass: str = "consistent"):
    points = np.array([[0.2, -0.1, 0.3], [0.2, -0.1, 0.3]]) + np.outer([0, L], rotation[:, 0])
    member = da.Member(points, SECTION, STEEL, elements=elements, up=rotation[:, 2])
    return frame_structure([member], theory=theory, mass=mass)


@pytest.mark.parametrize("theory", ["euler", "timoshenko"])
def test_tip_loads_give_exact_tip_deflections(theory: str) -> None:
    R = random_rotation(np.random.default_rng(1))
    s = straight(R, theory=theory)
    E, G = STEEL.E, float(STEEL.G or 0)
    shear = 1.0 if theory == "timoshenko" else 0.0
    Q = SECTION
    wanted = {
        "stretch": (0, L / (E * Q.A)),
        "along y": (1, L**3 / (3 * E * Q.Iz) + shear * L / (Q.shear_y * G * Q.A)),
        "along z": (2, L**3 / (3 * E * Q.Iy) + shear * L / (Q.shear_z * G * Q.A)),
        "twist": (3, L / (G * Q.J)),
        "about y": (4, L / (E * Q.Iy)),
        "about z": (5, L / (E * Q.Iz)),
    }
    turn = np.kron(np.eye(2), R)
    for component, compliance in wanted.values():
        loads = np.zeros((s.size, 1))
        loads[-6:, 0] = turn[:, component]
        u = turn.T @ SupportedStructure(s, s.fixed_at([0])).solve(loads)[-6:, 0]
        assert u[component] == pytest.approx(compliance, rel=1e-9)
    loads = np.zeros((s.size, 1))
    loads[-6:, 0] = turn[:, 1]
    u = turn.T @ SupportedStructure(s, s.fixed_at([0])).solve(loads)[-6:, 0]
    assert u[5] == pytest.approx(L**2 / (2 * E * Q.Iz), rel=1e-9)  # a force along +y turns the tip about +z


@pytest.mark.parametrize("theory", ["euler", "timoshenko"])
def test_elements_of_any_size_pass_the_patch_test(theory: str) -> None:
    """Constant stretch, curvature and twist: nodal fields that belong to them raise forces at the ends only."""
    places = np.array([0.0, 0.3, 0.45, 1.1, 1.5])
    points = np.column_stack([places, 0 * places, 0 * places])
    member = da.Member(points, SECTION, STEEL, elements=None)
    s = frame_structure([member], theory=theory)
    x, zero = places, 0 * places
    fields = {
        "stretch": np.column_stack([x, zero, zero, zero, zero, zero]),
        "twist": np.column_stack([zero, zero, zero, x, zero, zero]),
        "curvature in xy": np.column_stack([zero, x**2 / 2, zero, zero, zero, x]),
        "curvature in xz": np.column_stack([zero, zero, x**2 / 2, zero, -x, zero]),
    }
    for field in fields.values():
        forces = (s.stiffness @ field.ravel()).reshape(-1, 6)
        assert np.abs(forces[1:-1]).max() < 1e-9 * np.abs(forces[[0, -1]]).max()


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_the_undeformed_beam_is_a_rigid_rod(mass: str) -> None:
    R = random_rotation(np.random.default_rng(2))
    s = straight(R, mass=mass)
    body = s.reduce(da.CantileverModes(4))
    m = STEEL.density * SECTION.A * L
    centre = np.array([0.2, -0.1, 0.3]) + R[:, 0] * L / 2
    rotary = STEEL.density * L * np.array([SECTION.Iy + SECTION.Iz, SECTION.Iy, SECTION.Iz])
    about = R @ np.diag(rotary + m * L**2 / 12 * np.array([0, 1, 1])) @ R.T
    steiner = m * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    assert body.mass == pytest.approx(m, rel=1e-12)
    assert np.allclose(body.com, centre, atol=1e-12)
    assert np.allclose(body.inertia, about + steiner, rtol=1e-9)
    assert body.lumped == (mass == "lumped")


def test_a_bent_frame_carries_a_moment_around_its_corner() -> None:
    # an L from (0,0,0) over (a,0,0) to (a,b,0), clamped at the start, a force P along z at its end
    a, b, P = 0.8, 0.5, 10.0
    s = frame_structure(
        [
            da.Member([(0, 0, 0), (a, 0, 0)], SECTION, STEEL, elements=2),
            da.Member([(a, 0, 0), (a, b, 0)], SECTION, STEEL, elements=3),
        ],
        theory="euler",
    )
    assert len(s.nodes) == 6
    loads = np.zeros((s.size, 1))
    end = s.node((a, b, 0))
    loads[6 * end + 2] = P
    u = SupportedStructure(s, s.fixed_at([s.node((0, 0, 0))])).solve(loads)[6 * end + 2, 0]
    EI, GJ = STEEL.E * SECTION.Iy, float(STEEL.G or 0) * SECTION.J
    assert u == pytest.approx(P * (a**3 / (3 * EI) + b**3 / (3 * EI) + a * b**2 / GJ), rel=1e-9)


def test_members_are_joined_where_nodes_coincide_and_only_there() -> None:
    apart = [
        da.Member([(0, 0, 0), (1, 0, 0)], SECTION, STEEL, elements=2),
        da.Member([(0, 0.1, 0), (1, 0.1, 0)], SECTION, STEEL, elements=2),
    ]
    with pytest.raises(da.ModelError, match=r"stiffness is 'singular.*not connected"):
        da.frame(apart)


def test_a_body_at_the_tip_slows_the_beam() -> None:
    s = frame_structure([da.Member(L, SECTION, STEEL, elements=8)])
    heavy = s.with_mass((L, 0, 0), 50.0, inertia=(0.1, 0.2, 0.3), centre=(0.05, 0, 0))
    first = heavy.reduce(da.CantileverModes(1)).frequencies[0]
    reach = L + 0.05
    stiffness = 3 * STEEL.E * SECTION.Iy / L**3
    assert first < np.sqrt(stiffness / 50.0) < s.reduce(da.CantileverModes(1)).frequencies[0]
    body = heavy.reduce(da.CantileverModes(1))
    rod = STEEL.density * SECTION.A * L
    assert body.mass == pytest.approx(rod + 50) and body.com[0] == pytest.approx(
        (rod * L / 2 + 50 * reach) / (rod + 50)
    )
    lumped = frame_structure([da.Member(L, SECTION, STEEL, elements=8)], mass="lumped")
    lumped = lumped.with_mass(8, 50.0, inertia=(0.1, 0.2, 0.3), centre=(0.05, 0, 0))
    assert np.allclose(lumped.rigid_mass(), heavy.rigid_mass(), atol=1e-9)
    assert lumped.reduce(da.CantileverModes(1)).frequencies[0] == pytest.approx(first, rel=1e-3)


def test_points_between_nodes_follow_the_beam() -> None:
    """Under a force at the tip the deflection is cubic: between nodes as exact as at them."""
    s = frame_structure([da.Member(L, SECTION, STEEL, elements=4)], theory="euler")
    body = s.reduce(da.CraigBampton((0, 4), 0))
    arm = da.System().body("arm", body)
    P, EI = 3.0, STEEL.E * SECTION.Iz
    loads = np.zeros(s.size)
    loads[-5] = P
    eta = deformed(body, loads)
    for x in (0.1, 0.6, L / 2, 1.49):
        marker = arm.at(x, 0, 0)
        assert marker.shape is not None and marker.position.tolist() == [x, 0, 0]
        wanted = [0, 0, P * (L * x - x**2 / 2) / EI, 0, P * (L * x**2 / 2 - x**3 / 6) / EI, 0]
        assert np.allclose(marker.shape @ eta, wanted, rtol=1e-9, atol=1e-15)
    offset = arm.at(0, 0.01, 0, node=2)
    assert offset.motion is not None and offset.position.tolist() == [L / 2, 0.01, 0]
    turned = body.displacements(eta)[2, 5]
    assert (offset.motion @ eta)[3] == pytest.approx(-0.01 * turned)  # a rigid arm along y sweeps along -x


def test_rigid_motions_strain_no_element() -> None:
    s = straight(random_rotation(np.random.default_rng(3)), elements=5)
    forces = s.stiffness @ rigid_motions(s.nodes)
    assert np.abs(forces).max() < 1e-7 * abs(s.stiffness).max()


# ---- sections


def test_sections_have_their_textbook_values() -> None:
    circle = da.Section.circle(0.1)
    assert pytest.approx(np.pi * 0.01) == circle.A and circle.Iy == pytest.approx(np.pi * 1e-4 / 4)
    assert pytest.approx(2 * circle.Iy) == circle.J and circle.shear_y == pytest.approx(6 * 1.3 / 8.8)
    square = da.Section.rectangle(0.1, 0.1)
    assert pytest.approx(0.1406 * 1e-4, rel=1e-3) == square.J  # Timoshenko and Goodier, table of rectangles
    assert square.torsion_radius / square.J == pytest.approx(1 / (0.208 * 1e-3), rel=2e-3)  # three digits of the table
    flat = da.Section.rectangle(1.0, 0.1)
    assert pytest.approx(0.312 * 1e-3, rel=2e-3) == flat.J and flat.Iy == pytest.approx(1e-3 / 12)  # three digits
    assert da.Section.box(0.1, 0.1, 0.049).J > 0
    box = da.Section.box(0.1, 0.2, 0.002)
    assert pytest.approx(4 * (0.098 * 0.198) ** 2 / (2 * (0.098 + 0.198) / 0.002)) == box.J
    beam = da.Section.I(0.1, 0.2, 0.0056, 0.0085)  # IPE 200 without fillets, three digits: with them 2847 mm2, 1943 cm4
    assert pytest.approx(2.72e-3, rel=2e-3) == beam.A and beam.Iy == pytest.approx(1.846e-5, rel=1e-3)
    assert beam.Iz == pytest.approx(1.42e-6, rel=1e-3)
    assert da.Section.tube(0.1, 0.0).J == circle.J


# ---- forces and stresses


def deformed(body: da.FlexibleBody, loads: np.ndarray) -> np.ndarray:
    """Modal coordinates of the static deformation by nodal loads (6 n,), frame held."""
    return np.linalg.solve(body.modal_stiffness, body.modes.T @ loads)


def test_section_forces_are_those_of_statics() -> None:
    R = random_rotation(np.random.default_rng(4))
    s = straight(R, elements=3)
    body = s.reduce(da.CraigBampton((0, 3), 0))  # exact for loads at the tip
    local = np.array([5.0, -3.0, 2.0, 0.7, 1.1, -0.4])  # N, Qy, Qz, torque, My, Mz at the tip
    loads = np.zeros(s.size)
    loads[-6:] = np.kron(np.eye(2), R) @ local
    eta = deformed(body, loads)
    forces = da.section_forces(body, np.stack([eta, 2 * eta]))
    assert forces.shape == (2, 3, 2, 6)
    x = np.array([[0, 1], [1, 2], [2, 3]]) * L / 3
    wanted = np.empty((3, 2, 6))
    wanted[..., :4] = local[:4]
    wanted[..., 4] = local[4] - local[2] * (L - x)
    wanted[..., 5] = local[5] + local[1] * (L - x)
    assert np.allclose(forces[0], wanted, atol=1e-8) and np.allclose(forces[1], 2 * wanted, atol=1e-8)


def test_stresses_are_those_of_the_section() -> None:
    body = da.beam(L, SECTION, STEEL, elements=3, modes=da.CraigBampton((0, 3), 0))
    loads = np.zeros(24)
    loads[-6:] = [1000.0, 0, 50.0, 8.0, 0, 0]
    found = da.beam_stresses(body, deformed(body, loads))
    assert np.allclose(found.axial, 1000 / SECTION.A)
    root = 50 * L * 0.01 / SECTION.Iy  # height 0.02 along z
    assert found.bending[0, 0, 0] == pytest.approx(root) and found.bending[0, -1, 1] == pytest.approx(
        0, abs=1e-3 * root
    )
    assert found.normal[0, 0, 0] == pytest.approx(root + 1000 / SECTION.A)
    torsion = 8.0 / (0.246 * 0.04 * 0.02**2)  # tables of a 2 by 1 rectangle, three digits
    assert np.allclose(found.torsion, torsion, rtol=1e-3)
    assert np.allclose(found.mises, np.sqrt(found.normal**2 + 3 * found.torsion**2))


def test_stresses_need_beams() -> None:
    mode = np.zeros((12, 1))
    mode[7], mode[11] = 1.0, 1.5
    body = da.FlexibleBody([[0, 0, 0], [1, 0, 0]], mode, node_masses=[1, 2], modal_stiffness=[[32.0]])
    with pytest.raises(da.ModelError, match=r"beam\(\.\.\.\) or frame"):
        da.section_forces(body, [0.1])
    condensed = da.beam(L, SECTION, STEEL, modes=da.Guyan((0, 5, 10)))
    with pytest.raises(da.ModelError, match="removed nodes"):
        da.section_forces(condensed, np.zeros(condensed.nm))
    with pytest.raises(da.ModelError, match="eta"):
        da.section_forces(da.beam(L, SECTION, STEEL), np.zeros(3))


# ---- errors


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"points": [(0, 0, 0), (0, 0, 0), (1, 0, 0)]}, "coincide"),
        ({"points": [(0, 0, 0)]}, "at least two points"),
        ({"elements": 0}, "1 or more"),
        ({"up": (1, 0, 0)}, "along the beam"),
        ({"section": 3}, "give a Section"),
        ({"material": "steel"}, "give a Material"),
        ({"theory": "bernoulli"}, "'timoshenko' or 'euler'"),
        ({"mass": "heavy"}, "'consistent' or 'lumped'"),
        ({"material": da.Material(E=1e9, nu=0.3)}, "density"),
    ],
)
def test_impossible_beams_are_refused(change: dict, words: str) -> None:
    options = {"points": 1.0, "section": SECTION, "material": STEEL} | change
    with pytest.raises(da.ModelError, match=words):
        da.beam(options.pop("points"), options.pop("section"), options.pop("material"), **options)


def test_impossible_sections_and_materials_are_refused() -> None:
    for make, words in (
        (lambda: da.Material(E=-1, nu=0.3), "above zero"),
        (lambda: da.Material(E=1e9, nu=0.6), "between -1 and 1/2"),
        (lambda: da.Material(E=1e9), "either nu or G"),
        (lambda: da.Material(E=1e9, nu=0.3, density=-1), "negative"),
        (lambda: da.Section.tube(0.1, 0.2), "outer radius"),
        (lambda: da.Section.box(0.1, 0.2, 0.05), "twice the walls"),
        (lambda: da.Section.I(0.1, 0.2, 0.2, 0.01), "fit into"),
        (lambda: da.Section(A=1, Iy=0, Iz=1, J=1), "Iy.*above zero"),
        (lambda: da.Section(A=1, Iy=1, Iz=1, J=1, points=[1, 2, 3]), r"\(k, 2\)"),
    ):
        with pytest.raises(da.ModelError, match=words):
            make()
