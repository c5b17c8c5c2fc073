"""Random flexible bodies, trees that hold them, beams, and the bodies of the golden cases of Jain and Rodriguez."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.rotation import quaternion
from systems.random_trees import JOINTS, coin, random_body, random_joint, random_marker


def random_flexible(rng, *, nm=None, clamped=False, points=False, n=5, order="full", stiffening=False, damping=None):
    """Return a flexible body of n nodes with random shapes; `points`: point masses, `clamped`: node 0 does not move."""
    nm = int(rng.integers(1, 5)) if nm is None else nm
    nodes = rng.normal(size=(n, 3))
    shapes = 0.4 * rng.normal(size=(n, 6, nm))  # [translation; rotation]
    if clamped:
        shapes[0] = 0.0
    A = rng.normal(size=(nm, nm))
    data = {"node_masses": rng.uniform(0.5, 2.0, n)}
    if not points:
        data["node_centres"] = 0.2 * rng.normal(size=(n, 3))
        arms = data["node_centres"]
        data["node_inertias"] = np.array(
            [
                _inertia(rng) + m * (c @ c * np.eye(3) - np.outer(c, c))
                for m, c in zip(data["node_masses"], arms, strict=True)
            ]
        )
    if stiffening:
        sym = [(x + x.swapaxes(-1, -2)) / 10 for x in (rng.normal(size=(k, nm, nm)) for k in (3, 6, 3))]
        loads = rng.normal(size=(1, 6, nm, nm)) / 5
        loads[:, :3] = 0.0
        data["stiffening"] = da.Stiffening(*sym, load_nodes=[n - 1], loads=loads)
    return da.FlexibleBody(
        nodes,
        shapes.reshape(6 * n, nm),
        modal_stiffness=20 * (A @ A.T + np.eye(nm)),
        order=order,
        damping=damping,
        **data,
    )


def _inertia(rng):
    A = rng.normal(size=(3, 3))
    S = 0.1 * (A @ A.T + 0.2 * np.eye(3))
    return np.trace(S) * np.eye(3) - S


def random_flexible_tree(rng, nb=5, *, joints=JOINTS, gravity=True, base=None, share=0.6, **options):
    """Return a tree of rigid and flexible bodies, jointed at random nodes, named in random directions.

    base : Joint type of the first body; share : of bodies that are flexible; options : of `random_flexible`
    """
    s = da.System("tree", gravity=rng.normal(size=3) * 5 if gravity else (0, 0, 0))
    placed = [s.ground]
    for k in range(nb):
        parent = placed[int(rng.integers(len(placed)))]
        if base is not None:
            placed = [body for body in placed if body is not s.ground]
        if rng.random() < share:
            body = s.body(f"b{k}", random_flexible(rng, clamped=coin(rng), **options))
        else:
            body = random_body(s, f"b{k}", rng)
        kind = base if base is not None and k == 0 else joints[int(rng.integers(len(joints)))]
        ends = [random_place(parent, rng), random_place(body, rng)]
        if coin(rng):
            ends.reverse()
        s.connect(f"h{k}", random_joint(kind, rng), *ends)
        placed.append(body)
    return s


def random_place(body, rng):
    """Return a marker anywhere on a rigid body; of a flexible one at a node, or on a rigid arm from it."""
    if body.flexible is None:
        return random_marker(body, rng)
    node, turned = int(rng.integers(body.flexible.n)), quaternion(*rng.normal(size=4))
    arm = 0.5 * rng.normal(size=3) if coin(rng) else np.zeros(3)
    return body.at(*arm, node=node, rotation=turned)


def random_deformed_state(model, rng, size=0.3):
    """Return q, v with all coordinates random, modal ones of the given size."""
    state = model.random_state(rng)
    q = state.q.copy()
    for span in map(model.q_slice, model.flexible_names):
        q[span] = size * rng.normal(size=span.stop - span.start)
    return q, state.v


def golden_body(free=False, order="source"):
    """Return the body of golden case A, or of B (free-free)."""
    x = np.array([0.0, 0.5, 1.0]) - (0.5 if free else 0.0)
    nodes = np.column_stack([x, np.zeros(3), np.zeros(3)])
    modes = np.zeros((3, 6, 2))  # ux uy uz rx ry rz
    if free:
        modes[:, 1, 0], modes[:, 2, 1] = (0.5, -0.5, 0.5), (0.4, -0.4, 0.4)
        modes[:, 5, 0], modes[:, 4, 1] = (-2.0, 0.0, 2.0), (1.6, 0.0, -1.6)
    else:
        modes[:, 1, 0], modes[:, 2, 1] = (0.0, 0.3, 1.0), (0.0, 0.25, 0.9)
        modes[:, 5, 0], modes[:, 4, 1] = (0.0, 1.1, 1.4), (0.0, -0.9, -1.3)
    centres = np.array([[0, 0, 0], [0, 0.05, 0.02], [0.01, 0, 0]])
    return da.FlexibleBody(
        nodes,
        modes.reshape(18, 2),
        node_masses=[1.0, 2.0, 1.0],
        node_inertias=np.tile(np.diag([0.02, 0.03, 0.04]), (3, 1, 1)),
        node_centres=centres,
        modal_stiffness=np.diag([40.0, 60.0]),
        order=order,
    )


def golden_system(free=False, order="source"):
    """Return the two bodies of the golden cases on their joints: z at the base, y between them."""
    s = da.System("golden", gravity=(0, 0, 0))
    base, tip = s.body("base", golden_body(free, order)), s.body("tip", golden_body(free, order))
    s.connect("B", da.Revolute("z"), s.ground, base.at(node=0))
    s.connect("T", da.Revolute("y"), base.at(node=2), tip.at(node=0))
    return s


def beam(
    elements=20,
    *,
    length=1.0,
    mass=1.0,
    stiffness=(1.0, 1.0),
    free=False,
    nm=4,
    rotary=0.0,
    stiffening=False,
    **options,
):
    """Return a slender beam along x, bending in y and z with E I = `stiffness`, in modes of its own finite elements.

    rotary : m2, square of the radius of gyration about x

    Modes of a cantilever, clamped at x = 0, or of a free beam about its centre.
    """
    from scipy.linalg import eigh

    n, h, rho = elements + 1, length / elements, mass / length
    M, K = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
    scale = np.diag([1, h, 1, h])
    k = scale @ [[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]] @ scale / h**3
    m = scale @ [[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]] @ scale * rho * h / 420
    g = scale @ [[36, 3, -36, 3], [3, 4, -3, -1], [-36, -3, 36, -3], [3, -1, -3, 4]] @ scale / (30 * h)  # int w' w'
    planes = []
    for (u, r, sign), EI in zip(((1, 5, 1.0), (2, 4, -1.0)), stiffness, strict=True):
        for e in range(elements):
            place = [6 * e + u, 6 * e + r, 6 * e + 6 + u, 6 * e + 6 + r]
            turn = np.array([1.0, sign, 1.0, sign])
            planes.append((e, place, np.outer(turn, turn) * g))
            K[np.ix_(place, place)] += EI * np.outer(turn, turn) * k
            M[np.ix_(place, place)] += np.outer(turn, turn) * m
    for e in range(elements):
        M[np.ix_([6 * e, 6 * e + 6], [6 * e, 6 * e + 6])] += rho * h / 6 * np.array([[2, 1], [1, 2]])
        M[np.ix_([6 * e + 3, 6 * e + 9], [6 * e + 3, 6 * e + 9])] += rotary * rho * h / 6 * np.array([[2, 1], [1, 2]])
    bending = [6 * j + c for j in range(n) for c in (1, 2, 4, 5) if free or j]
    vectors = eigh(K[np.ix_(bending, bending)], M[np.ix_(bending, bending)])[1]
    skip = 4 if free else 0
    modes = np.zeros((6 * n, nm))
    modes[bending] = vectors[:, skip : skip + nm]
    x = np.linspace(0, length, n) - (length / 2 if free else 0.0)
    nodes = np.column_stack([x, np.zeros(n), np.zeros(n)])
    data = {"mass_matrix": M}
    if stiffening:
        # shortening: each element pulls what lies beyond it towards its first end
        bend = np.zeros((n, 3, nm, nm))
        for e, place, slopes in planes:
            bend[e + 1 :, 0] -= modes[place].T @ slopes @ modes[place]
        data["stiffening"] = stiffening_of(nodes, M[0::6, 0::6].sum(1), bend)
    return da.FlexibleBody(nodes, modes, modal_stiffness=modes.T @ K @ modes, **data, **options)


def stiffening_of(nodes, masses, bend):
    """Return the geometric stiffness that second-order displacements (n, 3, nm, nm) of mass points amount to."""
    acceleration = np.einsum("n,nirs->irs", masses, bend)
    C = np.einsum("n,ni,njrs->ijrs", masses, nodes, bend)
    angular = np.array([C[1, 2] - C[2, 1], C[2, 0] - C[0, 2], C[0, 1] - C[1, 0]])
    J = np.einsum("kkrs,ij->ijrs", C, np.eye(3)) - (C + C.swapaxes(0, 1)) / 2
    spin = -np.array([J[0, 0], J[1, 1], J[2, 2], 2 * J[0, 1], 2 * J[0, 2], 2 * J[1, 2]])
    loads = np.zeros((len(nodes), 6, *bend.shape[2:]))
    loads[:, 3:] = -bend
    return da.Stiffening(acceleration, spin, angular, load_nodes=np.arange(len(nodes)), loads=loads)
