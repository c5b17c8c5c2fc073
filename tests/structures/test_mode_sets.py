"""Mode sets: what they span, how the frame follows, what their report says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

import dalembert as da
from dalembert.bodies.nodal_matrices import rigid_motions
from dalembert.structures import frame_structure, supported_structure as held
from dalembert.structures.supported_structure import SupportedStructure, free_modes

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
SECTION = da.Section.rectangle(0.04, 0.02)


def portal(elements: int = 4, mass: str = "consistent") -> da.Structure:
    """A spatial frame without symmetry: two posts, a beam across, an arm."""
    return frame_structure(
        [
            da.Member([(0, 0, 0), (0, 0, 1)], SECTION, STEEL, elements=elements),
            da.Member([(0, 0, 1), (1.2, 0.1, 1)], SECTION, STEEL, elements=elements),
            da.Member([(1.2, 0.1, 1), (1.2, 0.1, 0.1)], SECTION, STEEL, elements=elements),
            da.Member([(1.2, 0.1, 1), (1.3, 0.9, 1.2)], da.Section.tube(0.02, 0.018), STEEL, elements=elements),
        ],
        mass=mass,
    )


def dense(s: da.Structure) -> tuple[np.ndarray, np.ndarray]:
    return s.mass.toarray(), s.stiffness.toarray()


def test_cantilever_modes_vanish_where_the_frame_is_attached() -> None:
    s = portal()
    node = s.node((1.2, 0.1, 0.1))
    body = s.reduce(da.CantileverModes(7, at=(1.2, 0.1, 0.1)))
    assert body.reference == node and not body.shapes[node].any()
    M, K = dense(s)
    free = ~s.fixed_at([node])
    exact = np.sqrt(eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)[:7])
    assert np.allclose(body.frequencies, exact, rtol=1e-8)
    assert np.allclose(body.modal_mass, np.eye(7), atol=1e-9)
    assert np.allclose(body.report.frequency_errors, 0)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_free_modes_carry_no_momentum(mass: str) -> None:
    s = portal(mass=mass)
    body = s.reduce(da.FreeModes(8))
    M, K = dense(s)
    exact = np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0))[6:14]
    assert np.allclose(body.frequencies, exact, rtol=1e-7)
    assert body.reference is None
    momentum = rigid_motions(s.nodes).T @ (M @ body.modes)
    assert np.abs(momentum).max() < 1e-9 * np.sqrt(body.mass)
    assert np.abs(body.report.effective_masses).max() < 1e-12


def test_free_modes_can_be_seen_from_a_node() -> None:
    s = portal()
    mean, attached = s.reduce(da.FreeModes(6)), s.reduce(da.FreeModes(6, attached=5))
    assert np.abs(attached.shapes[5]).max() < 1e-12 and attached.reference == 5
    # the same deformation: the two differ by rigid motions
    difference = attached.modes - mean.modes
    B = rigid_motions(s.nodes)
    assert np.allclose(B @ np.linalg.lstsq(B, difference, rcond=None)[0], difference, atol=1e-9)
    scale = mean.modal_stiffness.max()
    assert np.allclose(attached.modal_stiffness, mean.modal_stiffness, rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("frame", ["attached", "mean"])
def test_craig_bampton_is_exact_for_static_loads_at_interfaces(frame: str) -> None:
    s = portal()
    interfaces = [s.node((0, 0, 0)), s.node((1.2, 0.1, 0.1)), s.node((1.3, 0.9, 1.2))]
    body = s.reduce(da.CraigBampton(interfaces, 3, frame=frame))
    assert body.nm == 12 + 3
    _, K = dense(s)
    rng = np.random.default_rng(5)
    loads = np.zeros(s.size)
    for node in interfaces:
        loads[6 * node : 6 * node + 6] = rng.normal(size=6)
    B = rigid_motions(s.nodes)
    # balanced at the interfaces alone, so that no inertia force is needed
    hands = B.reshape(-1, 6, 6)[interfaces].reshape(-1, 6)
    share = np.linalg.lstsq(hands.T, B.T @ loads, rcond=None)[0]
    for k, node in enumerate(interfaces):
        loads[6 * node : 6 * node + 6] -= share[6 * k : 6 * k + 6]
    u = np.linalg.lstsq(K, loads, rcond=1e-13)[0]
    eta = np.linalg.solve(body.modal_stiffness, body.modes.T @ loads)
    difference = body.modes @ eta - u
    elastic = null_space(B.T).T @ difference
    assert np.abs(elastic).max() < 1e-6 * np.abs(null_space(B.T).T @ u).max()
    assert np.allclose(body.modal_mass, np.eye(15), atol=1e-8)
    off = body.modal_stiffness - np.diag(np.diag(body.modal_stiffness))
    assert np.abs(off).max() < 1e-8 * body.modal_stiffness.max()


def test_craig_bampton_frequencies_come_down_to_the_exact_ones() -> None:
    s = portal()
    errors = [s.reduce(da.CraigBampton((0, 8), count)).report.frequency_errors[:5].max() for count in (0, 5, 15)]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-3
    short = s.reduce(da.CraigBampton((0, 8), 15, max_frequency=500.0))
    assert short.frequencies.max() <= 500 < s.reduce(da.CraigBampton((0, 8), 15)).frequencies.max()


def test_craig_bampton_at_one_interface_is_the_cantilever() -> None:
    s = portal()
    one, other = s.reduce(da.CraigBampton([3], 5)), s.reduce(da.CantileverModes(5, at=3))
    assert np.allclose(one.frequencies, other.frequencies)


def test_guyan_keeps_mass_and_statics() -> None:
    s = portal()
    kept = [s.node((0, 0, 0)), s.node((0, 0, 1)), s.node((1.2, 0.1, 1)), s.node((1.3, 0.9, 1.2))]
    body = s.reduce(da.Guyan(kept))
    full = s.reduce(da.CantileverModes(3, at=kept[0]))
    assert body.n == 4 and body.nm == 18 and body.node_labels.tolist() == kept and body.reference == kept[0]
    assert body.mass == pytest.approx(full.mass) and np.allclose(body.com, full.com)
    assert np.allclose(body.inertia, full.inertia)
    loads = np.zeros((s.size, 1))
    loads[6 * kept[3] + 2] = 1.0
    exact = SupportedStructure(s, s.fixed_at([kept[0]])).solve(loads)[6 * kept[3] : 6 * kept[3] + 6, 0]
    tip = body.modes[18:24]
    found = tip @ np.linalg.solve(body.modal_stiffness, tip[2])
    assert np.allclose(found, exact, rtol=1e-7, atol=1e-12)
    assert (body.frequencies[:3] >= full.frequencies * (1 - 1e-9)).all()  # condensation stiffens
    assert np.allclose(body.frequencies[:2], full.frequencies[:2], rtol=2e-3)  # static condensation of the mass
    few = s.reduce(da.Guyan(kept, da.FreeModes(4)))
    assert few.nm == 4 and few.reference is None


def test_given_modes_can_be_put_into_a_frame() -> None:
    s = portal()
    given = free_modes(s, 4)[1] + rigid_motions(s.nodes)[:, :4]  # elastic modes, each with some rigid motion
    mean = s.reduce(da.GivenModes(given, frame="mean"))
    assert np.allclose(mean.modal_mass, np.eye(4), atol=1e-9)
    attached = s.reduce(da.GivenModes(given, frame="attached", at=2))
    assert np.abs(attached.shapes[2]).max() < 1e-9 and attached.reference == 2
    plain = s.reduce(da.GivenModes(given))
    assert np.array_equal(plain.modes, given)


def test_large_models_give_what_small_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    s = portal(6)
    make = [da.CantileverModes(5), da.FreeModes(5), da.CraigBampton((0, 12), 5)]  # not between two equal ones
    small = [s.reduce(m).frequencies for m in make]
    monkeypatch.setattr(held, "DENSE", 10)
    large = [s.reduce(m).frequencies for m in make]
    for a, b in zip(small, large, strict=True):
        assert np.allclose(a, b, rtol=1e-6)


def test_a_long_frame_is_reduced_by_lanczos() -> None:
    s = frame_structure([da.Member(20.0, SECTION, STEEL, elements=400)], theory="euler")
    body = s.reduce(da.CantileverModes(4))
    wanted = (1.875104068711961 / 20) ** 2 * np.sqrt(STEEL.E * SECTION.Iy / (STEEL.density * SECTION.A))
    # 400 elements: round-off is amplified by the condition of the stiffness, 400^4
    assert body.frequencies[0] == pytest.approx(wanted, rel=1e-5)
    free = s.reduce(da.FreeModes(2)).frequencies
    wanted = (4.730040744862704 / 20) ** 2 * np.sqrt(STEEL.E * SECTION.Iy / (STEEL.density * SECTION.A))
    assert free[0] == pytest.approx(wanted, rel=1e-5)


# ---- the report


def test_effective_masses_of_all_modes_are_the_mass() -> None:
    s = frame_structure([da.Member(1.0, SECTION, STEEL, elements=6)])
    report = s.reduce(da.CantileverModes(36)).report
    B, M = rigid_motions(s.nodes), s.mass.toarray()
    free = ~s.fixed_at([0])
    # all of the mass but what the held node carries: the part seen by the free degrees of freedom
    seen = M[np.ix_(free, free)]
    moved = B[free] + np.linalg.solve(seen, M[np.ix_(free, ~free)] @ B[~free])
    assert np.allclose(report.effective_masses.sum(0), np.diag(moved.T @ seen @ moved), rtol=1e-8)
    first = s.reduce(da.CantileverModes(2)).report
    assert first.retained_mass[3:].max() == pytest.approx(0.613, abs=2e-3)  # the first mode of a cantilever


def test_the_report_reads_well() -> None:
    s = frame_structure([da.Member(1.0, SECTION, STEEL, elements=6)])
    text = str(s.reduce(da.CantileverModes(3)).report)
    assert "CantileverModes, attached to node 0: 3 modes of 42 degrees of freedom" in text
    assert "at node 6" in text and " Hz" in text and "100%" in text  # no mode stretches the beam
    assert "effective" not in str(s.reduce(da.FreeModes(3)).report)


def test_static_errors_vanish_with_all_modes() -> None:
    s = frame_structure([da.Member(1.0, SECTION, STEEL, elements=4)])
    for modes in (da.CantileverModes(24), da.FreeModes(24)):
        (errors,) = s.reduce(modes).report.static_errors.values()
        assert np.abs(errors).max() < 1e-6
    (errors,) = s.reduce(da.CantileverModes(2)).report.static_errors.values()
    assert errors[0] == errors[3] == 1.0 and 0 < errors[4] < 0.05  # no torsion, no stretch; bending nearly


# ---- errors


@pytest.mark.parametrize(
    ("modes", "words"),
    [
        (lambda s: da.CantileverModes(0), "1 or more"),
        (lambda s: da.CantileverModes(10_000), "request fewer"),
        (lambda s: da.FreeModes(10_000), "request fewer"),
        (lambda s: da.CantileverModes(3, at=999), "0 to"),
        (lambda s: da.CantileverModes(3, at=(9.0, 9.0, 9.0)), "no node lies there.*nearest"),
        (lambda s: da.CraigBampton((0, 0), 3), "only once"),
        (lambda s: da.CraigBampton((), 3), "give nodes"),
        (lambda s: da.CraigBampton((0, 1), 3, frame="floating"), "'attached' or 'mean'"),
        (lambda s: da.Guyan([0]), "at least two"),
        (lambda s: da.GivenModes(np.zeros((5, 2))), "six rows per node"),
        (lambda s: da.GivenModes(np.zeros((s.size, 1)), frame="x"), "'given'"),
        (lambda s: "cantilever", "give a mode set"),
    ],
)
def test_impossible_mode_sets_are_refused(modes, words: str) -> None:
    s = portal(2)
    with pytest.raises(da.ModelError, match=words):
        s.reduce(modes(s))


def test_rigid_modes_among_given_ones_are_refused() -> None:
    s = portal(2)
    M, K = dense(s)
    vectors = eigh(K, M)[1]
    with pytest.raises(da.ModelError, match=r"columns.*contain rigid motion.*first six"):
        s.reduce(da.GivenModes(vectors[:, 4:10]))
    assert s.reduce(da.GivenModes(vectors[:, 6:10])).nm == 4


def test_supports_in_the_stiffness_are_refused() -> None:
    s = portal(2)
    K = s.stiffness.tolil()
    K[0, 0] += 1e8
    with pytest.raises(da.ModelError, match=r"resists rigid motion.*without supports"):
        da.Structure(s.nodes, s.mass, K.tocsr())


def test_a_mechanism_inside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    s = portal(2)
    K = s.stiffness.toarray()
    M = s.mass.toarray()
    n = len(s.nodes)
    big = np.zeros((6 * n + 6, 6 * n + 6))
    big[: 6 * n, : 6 * n] = K
    mass = np.eye(6 * n + 6)
    mass[: 6 * n, : 6 * n] = M
    nodes = np.vstack([s.nodes, [9, 9, 9]])
    loose = da.Structure(nodes, mass, big)
    for limit in (1500, 10):
        monkeypatch.setattr(held, "DENSE", limit)
        with pytest.raises(da.ModelError, match=r"singular.*not\s+connected"):
            loose.reduce(da.CantileverModes(3))
