"""Bodies with many modes: factors of low rank are those of the dense matrix; integrals are shared, and exact."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.modal_integrals import modal_integrals
from dalembert.oracles.flexible_operators import FlexibleOperators

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
SECTION = da.Section.rectangle(0.03, 0.02)


def chain(modes: int, kind: str, nb: int = 3) -> da.System:
    """Beams in a row with a side load: modes of cantilevers, or free ones, whose frame moves with them."""
    mode_set = da.CantileverModes(modes) if kind == "cantilever" else da.FreeModes(modes)
    link = da.beam(1.0, SECTION, STEEL, elements=20, modes=mode_set)
    s = da.System("chain")
    end = s.ground.origin
    for k in range(nb):
        body = s.body(f"link{k}", link)
        s.connect(f"H{k}", da.Revolute("yz"[k % 2]), end, body.at(node=0))
        end = body.at(node=20)
    side = s.body("side", mass=0.5, inertia=(0.01, 0.02, 0.03))
    s.connect("S", da.Spherical(), body.at(0.0, 0.1, 0.0, node=10), side)
    return s


@pytest.mark.parametrize(
    ("kind", "modes"), [("cantilever", 60), ("cantilever", 27), ("cantilever", 17), ("free", 80), ("free", 50)]
)
def test_factors_of_low_rank_are_those_of_the_mass_matrix(kind: str, modes: int) -> None:
    system = chain(modes, kind)
    model = system.compile()
    rng = np.random.default_rng(0)
    state = model.random_state(rng)
    q, v = state.q.copy(), 0.1 * state.v
    for name in model.flexible_names:
        q[model.q_slice(name)] *= 1e-3
    M, b, tau = model.mass_matrix(q), model.bias_forces(q, v), rng.normal(size=model.nv)
    expected = np.linalg.solve(M, tau - b)
    scale = np.abs(expected).max()
    assert np.abs(model.forward_dynamics(q, v, tau) - expected).max() < 1e-8 * scale
    x = np.linalg.solve(M, tau)
    assert np.abs(model.solve_mass_matrix(q, tau) - x).max() < 1e-8 * np.abs(x).max()
    # lanes
    many = np.tile(q, (9, 1)), np.tile(v, (9, 1))
    assert np.allclose(model.forward_dynamics(*many, tau), expected, rtol=0, atol=1e-8 * scale)
    if modes < 50:
        o = FlexibleOperators(system, q, v)
        assert np.abs(o.forward_dynamics(tau) - expected).max() < 1e-7 * scale


def test_loops_are_closed_through_factors_of_low_rank() -> None:
    """A beam of many modes, held at both ends, moves as by Lagrange multipliers and the dense mass matrix."""
    s = da.System("bridge")
    body = s.body("beam", da.beam(1.0, SECTION, STEEL, elements=20, modes=da.CantileverModes(60)))
    s.connect("A", da.Revolute("y"), s.ground, body)
    s.connect("B", da.Spherical(), s.ground.at(1.0, 0, 0), body.at(node=20))
    model = s.compile()
    q, v, tau = model.zero_configuration(), np.zeros(model.nv), np.zeros(model.nv)
    a = model.forward_dynamics(q, v, tau)
    M, J = model.mass_matrix(q), model.jacobian(body.at(node=20), q)[3:]
    whole = np.block([[M, J.T], [J, np.zeros((3, 3))]])
    expected = np.linalg.lstsq(whole, np.concatenate([tau - model.bias_forces(q, v), np.zeros(3)]), rcond=1e-14)[0]
    assert np.abs(a - expected[: model.nv]).max() < 1e-6 * np.abs(a).max()


def test_bodies_that_share_one_description_share_its_integrals() -> None:
    link = da.beam(1.0, SECTION, STEEL, elements=10, modes=da.CantileverModes(30))
    assert modal_integrals(link) is modal_integrals(link)
    sizes = []
    for count in (1, 5):
        s = da.System("shared")
        for k in range(count):
            s.connect(f"H{k}", da.Revolute("y"), s.ground, s.body(f"b{k}", link))
        sizes.append(s.compile().compiled.tables["modal_values"].size)
    # each further body brings stiffness, damping and its clamped node only
    assert sizes[1] - sizes[0] <= 4 * (2 * 30 * 30 + 3 + 6 * 30)


def test_integrals_of_many_lumped_nodes_take_memory_by_their_number() -> None:
    def peak(nodes: int, modes: int = 30) -> float:
        rng = np.random.default_rng(0)
        shapes = rng.normal(size=(6 * nodes, modes))
        body = da.FlexibleBody(
            rng.normal(size=(nodes, 3)), shapes, node_masses=np.ones(nodes), modal_stiffness=np.eye(modes),
            node_inertias=np.tile(np.eye(3), (nodes, 1, 1)),
        )  # fmt: skip
        tracemalloc.start()
        modal_integrals(body)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    small, large = peak(200), peak(800)
    assert large < 4.5 * small
    assert large < 20 * 800 * 6 * 30 * 8  # a few times the shapes themselves; products of pairs would be 250 times


def test_integrals_of_consistent_masses_are_those_of_fine_mass_points() -> None:
    """F1, J1, J2 of two elements against a thousand points that move with the same cubic and linear shapes."""
    body = da.beam(1.0, SECTION, STEEL, elements=2, theory="euler", modes=da.CantileverModes(8))
    found = modal_integrals(body)
    n = 1000
    x = (np.arange(n) + 0.5) / n
    shapes = np.array([body.attachment(np.array([at, 0.0, 0.0]), item="test")[1] for at in x])
    Ip = 7850 * (0.03 * 0.02**3 + 0.02 * 0.03**3) / 12 / n
    points = da.FlexibleBody(
        np.column_stack([x, 0 * x, 0 * x]),
        shapes[:, [3, 4, 5, 0, 1, 2]].reshape(6 * n, -1),
        node_masses=np.full(n, body.mass / n),
        node_inertias=np.tile(np.diag([Ip, 0.0, 0.0]) + 1e-12 * np.eye(3), (n, 1, 1)),
        modal_stiffness=body.modal_stiffness,
    )
    expected = modal_integrals(points)
    for name in ("h0", "J0", "E0", "F0", "G", "J1", "F1", "J2"):
        a, b = getattr(found, name), getattr(expected, name)
        # midpoints of a thousand intervals: G itself, which is exact on the left, differs by 2.3e-5
        assert np.abs(a - b).max() < 5e-5 * max(np.abs(b).max(), 1e-9), name


def test_a_spinning_beam_of_two_elements_loses_its_square_of_spin_in_plane() -> None:
    """Modes alone, without stiffening: the centrifugal force in the plane softens by the spin's square, exactly."""
    body = da.beam(1.0, SECTION, STEEL, elements=2, theory="euler", modes=da.CantileverModes(8))
    integrals = modal_integrals(body)
    in_plane = [k for k in range(8) if abs(body.shapes[-1, 4, k]) > 1e-6 * abs(body.shapes[-1]).max()]
    softening = 2 * integrals.J2[in_plane, in_plane, 2, 2] / 2  # of w_z^2: int N_x^2 + N_y^2 = G without rotary part
    assert np.allclose(softening, np.diag(body.modal_mass)[in_plane], rtol=1e-9)
