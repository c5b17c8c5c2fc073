"""Random flexible bodies, trees that hold them, beams, and the bodies of the golden cases of Jain and Rodriguez."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

import dalembert as da
from dalembert.rotation import quaternion
from dalembert.structures.geometric_stiffness import spin_loads
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


FLEXIBLE_OPTIONS = ({}, {"points": True}, {"stiffening": True, "damping": 0.03})


# of all sizes; regular wherever random coordinates of the order of one may lead
CUSTOM_JOINTS = {
    1: da.CustomJoint(("s",), ("s", "0.2*sin(s)", "0.1*s*s"), [("z", "0.3*s")]),
    2: da.CustomJoint(("s", "angle"), ("s", "0.1*sin(s)", "0.05*s*s"), [("x", "angle"), ("y", "0.2*s")]),
    3: da.CustomJoint(("x", "y", "angle"), ("x", "y", "0.2*x*y"), ["0.3*x", "0.2*y", "angle"]),
    4: da.CustomJoint(("x", "y", "z", "angle"), ("x", "y + 0.1*x*x", "z"), [("z", "angle"), ("x", "0.3*z")]),
    5: da.CustomJoint(("x", "y", "z", "a", "b"), ("x", "y", "z + 0.1*x*y"), [("x", "a"), ("y", "b")]),
    6: da.CustomJoint(
        ("x", "y", "z", "a", "b", "c"), ("x", "y", "z + 0.1*sin(x)"), [("x", "a"), ("y", "0.4*b"), ("z", "c")]
    ),
}


CLOSURES = {
    "custom": da.CustomConstraint(("sqrt(x*x + y*y + z*z + 0.3) - 1.1 + 0.1*Rxy", "0.3*z + x*Ryz - 0.2*sin(y)")),
    "bar": da.KinematicChain([da.Spherical(), da.bar(0.9), da.Spherical()]),
    "surface": da.KinematicChain(
        [da.CustomJoint(("x", "y"), ("x", "y", "0.2*x*y + 0.1*sin(x)")), da.Offset((0.3, 0, 0.4)), da.Spherical()]
    ),
    "library": da.Distance(1.0),
    "cut": CUSTOM_JOINTS[2],
}


def mixed_tree(rng, nb=6, *, base=None, gravity=True, **options):
    """Return a tree of rigid and flexible bodies, every other joint a custom one, named in random directions."""
    s = da.System("mixed", gravity=5 * rng.normal(size=3) if gravity else (0, 0, 0))
    placed = [s.ground]
    for k in range(nb):
        parent = placed[int(rng.integers(len(placed)))]
        if base is not None:
            placed = [body for body in placed if body is not s.ground]
        flexible = rng.random() < 0.6
        body = (
            s.body(f"b{k}", random_flexible(rng, clamped=coin(rng), **options))
            if flexible
            else random_body(s, f"b{k}", rng)
        )
        joint = (
            CUSTOM_JOINTS[int(rng.integers(1, 7))]
            if k % 2
            else random_joint(JOINTS[int(rng.integers(len(JOINTS)))], rng)
        )
        ends = [random_place(parent, rng), random_place(body, rng)]
        if coin(rng):
            ends.reverse()
        s.connect(f"h{k}", base if base is not None and k == 0 else joint, *ends)
        placed.append(body)
    return s


def mixed_loops(rng, closures, **options):
    """Return such a tree with a flexible body on a custom joint whose two branches are closed, and held to ground."""
    s = mixed_tree(rng, 4, **options)
    held, two = (
        s.body("held", random_flexible(rng, nm=4, **options)),
        s.body("two", random_flexible(rng, nm=3, **options)),
    )
    one = random_body(s, "one", rng)
    s.connect("base", CUSTOM_JOINTS[4], s.ground, held.at(node=0))
    s.connect("h_one", CUSTOM_JOINTS[5], held.at(node=1), random_place(one, rng))
    s.connect("h_two", da.Spherical(), random_place(two, rng), held.at(node=3))
    for k, name in enumerate(closures):
        first = s.ground.at(0.1, 0.2, 0.3) if k % 2 else random_place(one, rng)
        s.connect(f"c{k}", CLOSURES[name], first, random_place(two, rng))
    return s


BLADE_LENGTH, END, SPEED = 10.0, 15.0, 6.0


def blade() -> da.FlexibleBody:
    """EA 2.8e7, GA 1e7, EI 1.4e4, 1.2 kg/m, rotary inertia 6e-4 kg m; modes in the plane of spinning only."""
    section = da.Section(A=1.0, Iy=5e-4, Iz=5e-4, J=1e-3, shear_y=1.0, shear_z=1.0)
    material = da.Material(E=2.8e7, G=1e7, density=1.2)
    structure = da.frame_structure([da.Member(BLADE_LENGTH, section, material, elements=20)])
    K, M = structure.stiffness.toarray(), structure.mass.toarray()
    plane = np.zeros((21, 6), dtype=bool)
    plane[1:, [0, 1, 5]] = True
    chosen = np.flatnonzero(plane.ravel())
    vectors = eigh(K[np.ix_(chosen, chosen)], M[np.ix_(chosen, chosen)], subset_by_index=(0, 11))[1]
    modes = np.zeros((126, 13))
    modes[chosen, :12] = vectors
    modes[0::6, 12] = structure.nodes[:, 0] / BLADE_LENGTH  # and the static stretch
    return structure.reduce(da.GivenModes(modes, frame="attached", at=0), stiffening=True)


def spinning(t: float) -> tuple[float, float]:
    """Angular velocity and acceleration of the hub."""
    if t >= END:
        return SPEED, 0.0
    turn = 2 * np.pi * t / END
    return SPEED / END * (t - END / (2 * np.pi) * np.sin(turn)), SPEED / END * (1 - np.cos(turn))


def tip_motion(body: da.FlexibleBody, *, stiffened: bool, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and displacements (k, 3) of the tip in the rotating frame."""
    structure, stiffening = body.structure, body.stiffening
    assert stiffening is not None
    work = (structure.mass @ body.modes).T
    across, inward = np.zeros((6, 6)), np.zeros((6, 6))
    across[:2, :2] = [[0, -1], [1, 0]]  # z x u
    inward[:2, :2] = np.eye(2)
    G, C = (work @ np.kron(np.eye(body.n), part) @ body.modes for part in (across, inward))
    push, pull = work @ structure.rigid[:, 2], -body.modes.T @ spin_loads(structure)[:, 2]
    Kz, Ka = (stiffened * x for x in (stiffening.spin[2], stiffening.angular_acceleration[2]))
    inverse, K, nm = np.linalg.inv(body.modal_mass), body.modal_stiffness, body.nm

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        w, a = spinning(t)
        eta, speed = y[:nm], y[nm:]
        force = -a * push - w * w * pull - 2 * w * (G @ speed)
        force -= (K + w * w * (Kz - C) + a * (Ka + G)) @ eta
        return np.concatenate([speed, inverse @ force])

    times = np.linspace(0, until, 10 * int(until) + 1)
    found = solve_ivp(rates, (0, until), np.zeros(2 * nm), method="Radau", rtol=1e-6, atol=1e-9, t_eval=times)
    return found.t, (body.shapes[-1, 3:] @ found.y[:nm]).T
