"""Flexible bodies: data, damping, markers, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import dalembert as da
from dalembert.bodies.nodal_matrices import rigid_motions
from dalembert.structures import frame_structure

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
SECTION = da.Section.rectangle(0.04, 0.02)
STRUCTURE = frame_structure([da.Member(1.0, SECTION, STEEL, elements=4)])
BODY = STRUCTURE.reduce(da.CantileverModes(4))


def given(**changes) -> da.FlexibleBody:
    """A body from plain arrays, some of them changed."""
    data = {
        "nodes": STRUCTURE.nodes,
        "modes": BODY.modes,
        "stiffness": STRUCTURE.stiffness,
        "mass_matrix": STRUCTURE.mass,
    } | changes
    return da.FlexibleBody(data.pop("nodes"), data.pop("modes"), **{k: v for k, v in data.items() if v is not None})


def test_dense_and_sparse_matrices_agree() -> None:
    sparse, full = given(), given(mass_matrix=STRUCTURE.mass.toarray(), stiffness=STRUCTURE.stiffness.toarray())
    for name in ("modal_mass", "modal_stiffness", "com", "inertia", "frequencies"):
        one, other = getattr(sparse, name), getattr(full, name)
        assert np.abs(one - other).max() <= 1e-12 * np.abs(other).max()
    assert sparse.mass == pytest.approx(full.mass) and not sparse.lumped


def test_shapes_have_the_rotation_first() -> None:
    node = BODY.modes.reshape(BODY.n, 6, BODY.nm)[3]
    assert np.array_equal(BODY.shapes[3], np.vstack([node[3:], node[:3]]))


def test_lumped_nodes_with_offset_centres_are_rigid_bodies() -> None:
    rng = np.random.default_rng(0)
    nodes, centres, masses = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.uniform(1, 2, 4)
    own = np.array([np.diag(rng.uniform(1, 1.5, 3)) for _ in range(4)])
    about = own + np.array([m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c in zip(masses, centres, strict=True)])
    body = da.FlexibleBody(
        nodes,
        rng.normal(size=(24, 2)),
        node_masses=masses,
        node_inertias=about,
        node_centres=centres,
        modal_stiffness=np.diag([40.0, 60.0]),
    )
    places = nodes + centres
    assert body.lumped and body.mass == pytest.approx(masses.sum())
    assert np.allclose(body.com, masses @ places / masses.sum())
    steiner = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, places, strict=True))
    assert np.allclose(body.inertia, own.sum(0) + steiner)
    # kinetic energy of one mode, body by body
    lam, gam = body.shapes[:, :3, 0], body.shapes[:, 3:, 0]
    at_centre = gam + np.cross(lam, centres)
    energy = (masses * (at_centre**2).sum(1)).sum() + np.einsum("ni,nij,nj", lam, own, lam)
    assert body.modal_mass[0, 0] == pytest.approx(energy)


def test_a_body_without_modes_is_rigid() -> None:
    body = given(modes=np.zeros((30, 0)))
    assert body.nm == 0 and body.frequencies.shape == (0,) and body.modal_mass.shape == (0, 0)


def test_a_body_of_one_node_is_that_node() -> None:
    """A lumped node off the origin, its mass off the node: the rigid body with these numbers."""
    at, off, J = np.array([0.3, 0.1, 0.2]), np.array([0.05, -0.02, 0.01]), np.diag([0.1, 0.2, 0.25])
    node = da.FlexibleBody(
        at[None], np.zeros((6, 0)), node_masses=np.array([2.0]), node_inertias=J[None], node_centres=off[None],
        stiffness=np.zeros((6, 6)),
    )  # fmt: skip
    rates = []
    for shape in (node, None):
        s = da.System("one")
        about_centre = J - 2.0 * (off @ off * np.eye(3) - np.outer(off, off))
        given = {} if shape is not None else {"mass": 2.0, "com": at + off, "inertia": about_centre}
        body = s.body("body", shape, **given)
        s.connect("A", da.Spherical(), s.ground, body.at(*at) if shape is None else body.at(node=0))
        model = s.compile()
        state = model.random_state(3)
        rates.append(model.forward_dynamics(state.q, state.v))
    assert np.allclose(*rates, rtol=1e-12)


def test_damping_by_ratios_matrix_and_rayleigh() -> None:
    w = BODY.frequencies
    one = given(damping=0.02)
    assert np.allclose(one.modal_damping, np.diag(2 * 0.02 * w), atol=1e-9)
    each = given(damping=[0.01, 0.02, 0.03, 0.04])
    assert np.allclose(np.diag(each.modal_damping), 2 * np.array([0.01, 0.02, 0.03, 0.04]) * w)
    mixed = given(modes=BODY.modes @ np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 1, 1]]), damping=0.02)
    # in whatever modes: the damped frequencies of the pencil have the ratio 0.02
    system = np.block(
        [
            [np.zeros((4, 4)), np.eye(4)],
            [-np.linalg.solve(mixed.modal_mass, m) for m in (mixed.modal_stiffness, mixed.modal_damping)],
        ]
    )
    values = np.linalg.eigvals(system)
    assert np.allclose(-values.real / np.abs(values), 0.02, rtol=1e-6)
    proportional = given(damping=da.Rayleigh(0.3, 1e-4))
    assert np.allclose(proportional.modal_damping, 0.3 * BODY.modal_mass + 1e-4 * BODY.modal_stiffness)
    through = da.Rayleigh.through(0.01, w[0], 0.03, w[3])
    ratios = np.diag(given(damping=through).modal_damping) / (2 * w)
    assert ratios[0] == pytest.approx(0.01) and ratios[3] == pytest.approx(0.03)
    assert np.array_equal(given(damping=np.eye(4)).modal_damping, np.eye(4))


def test_displacements_and_participation() -> None:
    eta = np.array([[0.1, 0, 0, 0], [0.01, 0.02, 0, 0]])
    moved = BODY.displacements(eta)
    assert moved.shape == (2, 5, 6) and np.allclose(moved[1].ravel(), BODY.modes @ eta[1])
    shares = BODY.participation(eta)
    assert np.allclose(shares.sum(1), 1) and np.allclose(shares[0], [1, 0, 0, 0])
    assert np.allclose(BODY.participation(np.zeros(4)), 0)


def test_stiffening_adds_up_its_cases() -> None:
    body = STRUCTURE.reduce(da.CantileverModes(4), stiffening=True, load_nodes=[4])
    s = body.stiffening
    assert s is not None and s.loads is not None and s.loads.shape == (1, 6, 4, 4)
    w = np.array([0.3, -0.7, 1.1])
    wanted = 2 * s.acceleration[0] + 0.5 * s.angular_acceleration[2]
    wanted += sum(w[i] * w[j] * s.spin[k] for k, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]))
    assert np.allclose(s.stiffness((2, 0, 0), w, (0, 0, 0.5)), wanted)


def test_stiffening_by_gravity_and_by_a_load_are_those_of_buckling() -> None:
    """A column under its own weight loses its stiffness at 7.837 EI/L3 of weight; under a load at pi2 EI/4 L2."""
    body = da.beam(1.0, SECTION, STEEL, elements=24, theory="euler", modes=da.CantileverModes(12), stiffening=True,
                   load_nodes=[24])  # fmt: skip
    s, EI = body.stiffening, STEEL.E * SECTION.Iy
    assert s is not None and s.loads is not None
    K = body.modal_stiffness
    critical = 1 / np.linalg.eigvals(np.linalg.solve(K, -s.acceleration[0])).real.max()  # the base accelerates along x
    assert critical * body.mass == pytest.approx(7.8373 * EI, rel=1e-3)
    critical = 1 / np.linalg.eigvals(np.linalg.solve(K, s.loads[0, 3])).real.max()  # per pull: a push of as much
    assert critical == pytest.approx(np.pi**2 / 4 * EI, rel=1e-3)


def test_a_free_spinning_beam_is_stretched_from_its_middle() -> None:
    ends = [(-0.5, 0, 0), (0.5, 0, 0)]
    body = da.beam(ends, SECTION, STEEL, elements=40, theory="euler", modes=da.FreeModes(4), stiffening=True)
    s = body.stiffening
    assert s is not None
    # integral of m (L2/4 - x2)/2 w'2, with the nodal rotations as slopes
    x, m = body.nodes[:, 0], body.mass
    for k in range(4):
        slope = np.linalg.norm(body.shapes[:, 1:3, k], axis=1)
        wanted = np.trapezoid(m * (0.25 - x**2) / 2 * slope**2, x)
        assert s.spin[2][k, k] == pytest.approx(wanted, rel=5e-3)  # of order two in the length of elements
        assert s.spin[0][k, k] == pytest.approx(0, abs=1e-6 * wanted)  # about its own axis
    assert np.abs(s.acceleration).max() < 1e-9 * np.abs(s.spin).max()  # a free body falls without stress


def test_bodies_at_nodes_pull_too() -> None:
    """A heavy body at the end of a light beam: the pull of the spinning body all along."""
    light = da.Material(E=210e9, nu=0.3, density=1e-6)
    light_beam = frame_structure([da.Member(1.0, SECTION, light, elements=6)], theory="euler")
    m, c, arm, w = 3.0, 0.1, 0.2, 2.0
    at_tip = light_beam.with_mass(6, m, centre=(c, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
    on_arm = light_beam.rigid_region([6], at=(1.0 + arm, 0, 0)).with_mass(7, m, inertia=(1e-3, 1e-3, 1e-3))
    heavy_first = light_beam.with_mass(6, m, inertia=(1e-3, 1e-3, 1e-3)).rigid_region([6], at=(1.0 + arm, 0, 0))
    for structure, radius in ((at_tip, 1.0 + c), (on_arm, 1.0 + arm), (heavy_first, 1.0)):
        body = structure.reduce(da.CantileverModes(2), stiffening=True)
        u = body.modes[:42]
        beams = structure.beams
        assert beams is not None and body.stiffening is not None
        per_force = u.T @ beams.assembled(beams.geometric(), 7) @ u
        found = body.stiffening.stiffness(angular_velocity=(0, 0, w))
        assert np.allclose(found, m * w**2 * radius * per_force, rtol=1e-6, atol=1e-9 * found.max())


# ---- in a system


def test_markers_sit_on_nodes() -> None:
    system = da.System()
    arm = system.body("arm", BODY)
    assert arm.flexible is BODY and arm.mass == BODY.mass and repr(arm) == "<Body 'arm': 6.28 kg, 4 modes>"
    tip = arm.marker("tip", node=4)
    assert system["arm.tip"] is tip and np.array_equal(tip.shape, BODY.shapes[4])
    assert tip.position.tolist() == [1, 0, 0]
    assert np.array_equal(arm.at(0.5, 0, 0).shape, BODY.shapes[2])
    mean = arm.at(node=(1, 2), weights=(3, 1))
    assert np.allclose(mean.shape, 0.75 * BODY.shapes[1] + 0.25 * BODY.shapes[2])
    assert mean.position.tolist() == [0.3125, 0, 0]
    turned = arm.at(node=4, rotation=("z", 0.3))
    assert np.allclose(turned.rotation, da.axis_angle("z", 0.3)) and np.array_equal(turned.shape, tip.shape)


def test_a_body_stands_for_the_material_at_its_origin() -> None:
    system = da.System()
    arm = system.body("arm", BODY)
    joint = system.connect("A", da.Revolute("z"), system.ground, arm)
    assert joint.second.shape is not None and not joint.second.shape.any()
    floating = system.body("floating", STRUCTURE.reduce(da.FreeModes(4)))
    joint = system.connect("B", da.Revolute("z"), arm.at(node=4), floating)
    assert np.array_equal(joint.second.shape, floating.flexible.shapes[0])
    assert not floating.origin.shape.any()  # the frame itself, which is not material
    bar = da.beam([(-0.5, 0, 0), (0.5, 0, 0)], SECTION, STEEL, elements=None, modes=da.FreeModes(3))
    assert system.body("bar", bar).at().shape.shape == (6, 3)
    apart = frame_structure([da.Member([(1, 0, 0), (2, 0, 0)], SECTION, STEEL)]).reduce(da.FreeModes(3))
    with pytest.raises(da.ModelError, match="no node lies there"):
        system.connect("C", da.Fixed(), system.ground, system.body("apart", apart))


def test_copies_keep_what_is_flexible() -> None:
    system = da.System()
    arm = system.body("arm", BODY)
    arm.marker("tip", node=4)
    system.connect("A", da.Revolute("z"), system.ground, arm.at(node=1))
    twin = system.copy()
    assert twin["arm"].flexible is BODY and np.array_equal(twin["arm.tip"].shape, BODY.shapes[4])
    assert np.array_equal(twin["A"].second.shape, BODY.shapes[1]) and twin["A"].second.body is twin["arm"]


def test_markers_at_impossible_places_are_refused() -> None:
    system = da.System()
    arm = system.body("arm", BODY)
    for place, words in (
        (lambda: arm.at(0.5, 0.1, 0), "no node lies there.*nearest node is 2"),
        (lambda: arm.at(node=5), "0 to 4"),
        (lambda: arm.at(node=True), "0 to 4"),
        (lambda: arm.at(node=(1, 2), weights=(-1, 2)), "weights"),
        (lambda: arm.at(node=(1, 2), weights=(1, 2, 3)), "weights"),
        (lambda: arm.at(weights=(1, 2)), "several nodes"),
        (lambda: system.body("rigid", da.rod(1, 1)).at(node=0), "is rigid and has no nodes"),
    ):
        with pytest.raises(da.ModelError, match=words):
            place()
    condensed = system.body("condensed", STRUCTURE.reduce(da.Guyan((0, 2, 4))))
    assert condensed.at(node=2).position.tolist() == [0.5, 0, 0]
    with pytest.raises(da.ModelError, match=r"node is 3; the reduction removed this node.*nearest one left, 2"):
        condensed.at(node=3)
    with pytest.raises(da.ModelError, match="no node lies there"):
        condensed.at(0.25, 0, 0)


def test_a_declared_mass_is_compared() -> None:
    system = da.System()
    system.body("right", BODY, mass=6.28)
    with pytest.raises(da.ModelError, match=r"6.28 kg in the mass matrix, 7 kg declared"):
        system.body("wrong", BODY, mass=7.0)
    with pytest.raises(da.ModelError, match=r"6.28 kg in the mass matrix, 6280 kg declared"):
        given(total_mass=6280)
    with pytest.raises(da.ModelError, match="declared"):
        da.Structure(STRUCTURE.nodes, STRUCTURE.mass, STRUCTURE.stiffness, total_mass=3.0)
    with pytest.raises(da.ModelError, match="defines its com"):
        system.body("other", BODY, com=(0, 0, 0))


# ---- errors


def indefinite() -> csr_array:
    K = STRUCTURE.stiffness.tolil()
    K[8, 8] = -K[8, 8]
    return K.tocsr()


def unsymmetric() -> csr_array:
    K = STRUCTURE.stiffness.tolil()
    K[1, 7] *= 1.5
    return K.tocsr()


def swapped_mass() -> csr_array:
    """As if degrees of freedom were ordered [rotations; displacements]."""
    order = np.arange(30).reshape(5, 6)[:, [3, 4, 5, 0, 1, 2]].ravel()
    return STRUCTURE.mass[order][:, order]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": np.zeros((5, 2))}, r"nodes is 'of shape \(5, 2\)'.*\(n, 3\)"),
        ({"modes": np.zeros((24, 2))}, r"modes is 'of shape \(24, 2\)'; 5 nodes need \(30, nm\)"),
        ({"modes": np.full((30, 1), np.nan)}, "finite"),
        ({"stiffness": np.eye(12)}, r"stiffness is 'of shape \(12, 12\)'; its size must be \(30, 30\)"),
        ({"stiffness": csr_array((12, 12))}, r"its size must be \(30, 30\)"),
        ({"stiffness": unsymmetric()}, "stiffness is 'unsymmetric by .*one half"),
        ({"stiffness": unsymmetric().toarray()}, "stiffness is 'unsymmetric"),
        ({"stiffness": indefinite()}, "stiffness is 'indefinite"),
        ({"stiffness": indefinite().toarray()}, "stiffness is 'indefinite"),
        ({"mass_matrix": -STRUCTURE.mass}, "mass_matrix is 'indefinite"),
        ({"mass_matrix": 0 * STRUCTURE.mass}, "needs mass"),
        ({"mass_matrix": swapped_mass()}, r"ordered ux, uy, uz, rx, ry, rz"),
        ({"mass_matrix": None}, "either mass_matrix or node_masses"),
        ({"node_masses": np.ones(5)}, "either mass_matrix or node_masses"),
        ({"node_inertias": np.zeros((5, 3, 3))}, "leave them out"),
        ({"mass_matrix": None, "node_masses": -np.ones(5)}, "negative"),
        ({"mass_matrix": None, "node_masses": np.ones(4)}, "5 real numbers"),
        ({"stiffness": None}, "either stiffness or modal_stiffness"),
        ({"modal_stiffness": np.eye(4)}, "either stiffness or modal_stiffness"),
        ({"stiffness": None, "modal_stiffness": np.eye(3)}, r"\(4, 4\)"),
        ({"stiffness": None, "modal_stiffness": -np.eye(4)}, "indefinite"),
        ({"modes": BODY.modes[:, [0, 1, 1]]}, r"columns 1 and 2.*linearly dependent"),
        ({"modes": np.hstack([BODY.modes[:, :2], rigid_motions(STRUCTURE.nodes)[:, 4:5]])}, "columns 2.*rigid motion"),
        ({"modes": np.hstack([BODY.modes[:, :2], np.zeros((30, 1))])}, "column 2.*moves no mass"),
        ({"order": "linear"}, "'full' or 'ruthless'"),
        ({"reference": 7}, "0 to 4"),
        ({"node_labels": [1, 1, 2, 3, 4]}, "different integers"),
        ({"stiffening": 1.0}, "give a Stiffening"),
        ({"stiffening": da.Stiffening(np.zeros((3, 2, 2)), np.zeros((6, 2, 2)), np.zeros((3, 2, 2)))}, "4 modes"),
        ({"damping": -0.1}, "negative"),
        ({"damping": [0.1, 0.2]}, "4 ratios"),
        ({"damping": np.diag([1.0, 1, 1, -1])}, "negative eigenvalues"),
        ({"damping": np.triu(np.ones((4, 4)))}, "symmetric"),
    ],
)
def test_impossible_bodies_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        given(**changes)


def test_large_indefinite_matrices_are_found() -> None:
    s = frame_structure([da.Member(1.0, SECTION, STEEL, elements=150)])
    body = s.reduce(da.CantileverModes(2))
    K = s.stiffness - 1e-3 * csr_array(np.diag(s.stiffness.diagonal()))
    with pytest.raises(da.ModelError, match="negative eigenvalue"):
        da.FlexibleBody(s.nodes, body.modes, mass_matrix=s.mass, stiffness=K)
    assert da.FlexibleBody(s.nodes, body.modes, mass_matrix=s.mass, stiffness=s.stiffness).nm == 2


def test_stiffening_needs_elements_and_all_nodes() -> None:
    plain = da.Structure(STRUCTURE.nodes, STRUCTURE.mass, STRUCTURE.stiffness)
    with pytest.raises(da.ModelError, match="elements are not known"):
        plain.reduce(da.CantileverModes(2), stiffening=True)
    with pytest.raises(da.ModelError, match="CraigBampton"):
        STRUCTURE.reduce(da.Guyan((0, 4)), stiffening=True)
    with pytest.raises(da.ModelError, match="spin"):
        da.Stiffening(np.zeros((3, 2, 2)), np.zeros((5, 2, 2)), np.zeros((3, 2, 2)))
    with pytest.raises(da.ModelError, match="negative"):
        da.Rayleigh(-1.0, 0.0)
