"""Degrees of freedom without inertia: singularities of the mass matrix and the bodies that cause them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray, IndexArray
from ..connections.drives import Drive
from ..connections.joints import CustomJoint, Joint
from ..errors import ModelError
from ..numerics.rank import ROW_RANK_TOL, null_space
from ..rotation.angle_sequences import skew
from ..system.topology import Forest, TreeJoint
from .names import Names

__all__ = [
    "InertiaSizes",
    "check_massless_dof",
    "has_inertia_everywhere",
    "has_modes",
    "massless_dof",
    "motions_without_inertia",
    "needs_no_inertia",
    "regularizing_inertia",
]


ZERO_INERTIA_TOL = (
    1e-13  # of the largest inertia that a degree of freedom could have with the same bodies: round-off of an exact zero
)
PIVOT_ROUNDOFF = 1e-14  # of the terms of a pivot; exact zeros gave up to 3e-16

REGULARIZATION = 1e-7  # relative to the inertia of the whole system; added to massless DOF in loops and corrected for


@dataclass(frozen=True)
class InertiaSizes:
    """Sums over the rigid bodies of a forest: mass, kg, and moments of inertia, kg m2; reach of a body, m."""

    mass: float
    moment: float
    reach: float

    @classmethod
    def of(cls, forest: Forest) -> InertiaSizes:
        """Return the sums, with the largest distance of a centre of mass from the origin of its body."""
        bodies = [forest.system.bodies[name] for name in forest.bodies[1:]]
        moment = sum(float(np.abs(np.diagonal(body.inertia)).sum()) for body in bodies)
        reach = max((float(np.linalg.norm(body.com)) for body in bodies), default=0.0)
        return cls(float(sum(body.mass for body in bodies)), moment, reach)


def has_inertia_everywhere(model: _core.Model, sizes: InertiaSizes, q: Array) -> bool:
    """Return whether every degree of freedom clearly has inertia at q (nq,): a quick bound, before `massless_dof`."""
    pivots = _core.MassMatrixFactor(model, q).pivots()
    if not len(pivots):
        return True
    p = model._poses(q)[:, 9:]
    widths = p.max(axis=0) - p.min(axis=0) + 2.0 * sizes.reach
    bound = sizes.moment + sizes.mass * (1.0 + 4.0 * float(widths @ widths))
    return bool(pivots.min() > ZERO_INERTIA_TOL * bound)


def massless_dof(
    model: _core.Model,
    forest: Forest,
    names: Names,
    q: Array,
    *,
    held: BoolArray | None = None,
    rows: Array | None = None,
) -> list[str]:
    """Return the names of velocities without inertia at q (nq,): null directions of the mass matrix.

    Parameters
    ----------
    held : (nv,) bool
        Prescribed velocities, which need no inertia.
    rows : (m, nv)
        Constraint rows: motions that they prevent need no inertia, and they may couple the inertia of other branches.
    """
    pivots = _core.MassMatrixFactor(model, q).pivots()
    whole = _PointBodies.of(model, forest, q)
    if (pivots > ZERO_INERTIA_TOL * whole.bound).all():
        return []
    scale = np.maximum(whole.along_dof(forest, names, q), model._composite_diagonal(q))
    weak = ~(pivots > ZERO_INERTIA_TOL * scale)
    if not weak.any():
        return []
    if not has_modes(forest):  # long chains: local inertia is lost in the rounding of composite inertias
        local = whole.idle_dofs(forest, names, q, held)
        if not local or rows is None or not len(rows):
            return [names.speeds[j] for j in sorted(_outermost(local, forest, names, scale))]
    M = np.asarray(model.mass_matrix(q))
    turns = np.where(_turns(forest, names), 2.0, 1.0)
    if (held is not None and held.any()) or (rows is not None and len(rows)):
        free = np.flatnonzero(np.ones(len(scale), dtype=bool) if held is None else ~held)
        return [names.speeds[j] for j in sorted(_idle(M, scale, free, turns, rows))]
    joints = {k for k, name in enumerate(names.joints) if weak[names.v[name]].any()}
    # a vanishing pivot spoils those further in: the cause is the outermost, or those that carry nothing at all
    spoilt = {ancestor - 1 for k in joints for ancestor in forest.path(k + 1)[1:]}
    found = set(np.flatnonzero(weak & (scale == 0.0)).tolist())
    for k in joints - spoilt:
        outboard = [j for name in _carried(forest, names, k) for j in range(*names.v[name].indices(len(scale)))]
        own = np.zeros(len(scale))
        own[names.v[names.joints[k]]] = turns[names.v[names.joints[k]]]
        found |= _idle(M, scale, np.array(outboard), own, None)
    return [names.speeds[j] for j in sorted(found)]


def _outermost(idle: set[int], forest: Forest, names: Names, scale: Array) -> set[int]:
    """Return the DOF without inertia that are outermost in the tree, or that carry nothing at all.

    A DOF without inertia makes those further in singular.
    """
    own = [{*range(*names.v[name].indices(len(scale)))} for name in names.joints]
    spoilt = {ancestor - 1 for k, mine in enumerate(own) if mine & idle for ancestor in forest.path(k + 1)[1:]}
    return idle - {j for k in spoilt for j in own[k] if scale[j] > 0.0}


def motions_without_inertia(model: _core.Model, names: Names, q: Array, weak: list[str]) -> list[dict[str, float]]:
    """Return the motions of a tree at q (nq,) without inertia, as velocities by name; one per `weak` DOF.

    The weak degree of freedom has velocity 1, the other weak ones 0; velocities that move with it are listed with it.
    Two angles with coincident axes, as the first and third of three at 90 degrees of the second, form one such motion.
    """
    M = np.asarray(model.mass_matrix(q))
    scale = np.sqrt(np.diag(M))
    unit = 1.0 / np.where(scale > 0, scale, scale.max(initial=0.0) or 1.0)
    sizes, vectors = np.linalg.eigh(M * unit * unit[:, None])
    idle = vectors.T[sizes < ZERO_INERTIA_TOL * len(M)] * unit
    columns = [names.speeds.index(name) for name in weak]
    if len(idle) != len(columns):
        return [{name: 1.0} for name in weak]
    motions = np.linalg.lstsq(idle[:, columns].T, np.eye(len(columns)), rcond=None)[0].T @ idle
    return [
        {names.speeds[k]: float(x) for k, x in enumerate(row) if abs(x) > 1e-6 * np.abs(row).max()} for row in motions
    ]


def _carried(forest: Forest, names: Names, k: int) -> list[str]:
    """Return the names of joint k, of all joints outboard of it, and of the flexible bodies there."""
    numbers, found = [k + 1], []
    while numbers:
        number = numbers.pop()
        found.append(names.joints[number - 1])
        if forest.system.bodies[forest.bodies[number]].flexible is not None:
            found.append(forest.bodies[number])
        numbers += forest.children(number)
    return found


def _turns(forest: Forest, names: Names) -> BoolArray:
    """Return the mask (nv,) of velocities that are angular rates."""
    turns = np.zeros(len(names.speeds), dtype=bool)
    for joint in forest.joints:
        turns[names.v[joint.name]] = [unit == "rad" for unit in joint.element.speed_units]
    return turns


def _idle(M: Array, scale: Array, some: IndexArray, prefer: Array, rows: Array | None) -> set[int]:
    """Return a minimal set of DOF to remove so that no permitted motion is without inertia.

    As few as possible, one for each independent motion of this kind; first those with a large `prefer` (nv,).
    """
    # where nothing moves, any unit serves
    unit = 1.0 / np.sqrt(np.where(scale > 0, scale, scale.max(initial=0.0) or 1.0))[some]
    motions = np.eye(len(some))
    if rows is not None and len(rows):
        P = rows[:, some] * unit
        P = P / np.maximum(np.linalg.norm(P, axis=1, keepdims=True), 1e-300)
        motions = null_space(P, ROW_RANK_TOL, 0.0).T
    sizes, vectors = np.linalg.eigh(motions @ (M[np.ix_(some, some)] * unit * unit[:, None]) @ motions.T)
    idle = vectors.T[sizes < ZERO_INERTIA_TOL * len(some)] @ motions * prefer[some]
    return {int(some[column]) for column in _most_moved(idle)}


def _most_moved(idle: Array) -> set[int]:
    """Return as many DOF as there are independent motions (k, n): successively those that move most."""
    found = set()
    for _ in range(len(idle)):  # the degree of freedom that moves most; then the motions that leave it at rest
        lengths = np.linalg.norm(idle, axis=0)
        column = int(lengths.argmax())
        if not lengths[column]:
            break
        found.add(column)
        weight = idle[:, column] / lengths[column]
        idle = idle - np.outer(weight, weight @ idle)
    return found


@dataclass(frozen=True, eq=False)
class _PointBodies:
    """Bodies as points with a moment: orientation (nb, 3, 3), origin, centre (nb, 3), mass, moment (nb,)."""

    R: Array
    p: Array
    centre: Array
    mass: Array
    moment: Array

    @classmethod
    def of(cls, model: _core.Model, forest: Forest, q: Array) -> _PointBodies:
        raw = np.asarray(model._poses(q))
        R, p = raw[:, :9].reshape(-1, 3, 3), raw[:, 9:]
        bodies = [forest.system.bodies[name] for name in forest.bodies[1:]]
        com, inertia = np.array([body.com for body in bodies]), np.array([body.inertia for body in bodies])
        centre = np.einsum("kij,kj->ki", R, com) + p
        moment = np.abs(np.einsum("kii->ki", inertia)).sum(axis=1)
        return cls(R, p, centre, np.array([body.mass for body in bodies]), moment)

    @property
    def bound(self) -> float:
        """Upper bound of the inertia along a degree of freedom of unit velocity, kg m2 or kg."""
        places = np.concatenate([self.centre, self.p])
        reach = float(np.ptp(places, axis=0) @ np.ptp(places, axis=0))
        return float(self.moment.sum() + self.mass.sum() * (1.0 + 4.0 * reach))

    def along_dof(self, forest: Forest, names: Names, q: Array) -> Array:
        """Return an upper bound (nv,) of the inertia along each DOF, for any outboard configuration."""
        mass, centre, moment = self.mass.tolist(), list(self.centre), self.moment.tolist()
        sizes = np.zeros(len(names.speeds))
        for k in range(len(mass) - 1, -1, -1):  # everything outboard, as one body, from the tips inward
            joint, parent = forest.joints[k], int(forest.parent[k]) - 1
            if joint.element.nv:
                arm = centre[k] - self.p[k] - self.R[k] @ joint.outboard.position
                H = joint.element.motion(q[names.q[joint.name]])
                turning, sliding = (H[:3] ** 2).sum(0), (H[3:] ** 2).sum(0)
                sizes[names.v[joint.name]] = turning * (moment[k] + mass[k] * (arm @ arm)) + sliding * mass[k]
            if parent >= 0:
                both, apart = mass[k] + mass[parent], centre[k] - centre[parent]
                share = mass[k] / both if both else 0.0
                moment[parent] += moment[k] + share * mass[parent] * (apart @ apart)
                centre[parent] = centre[parent] + share * apart
                mass[parent] = both
        return sizes

    def idle_dofs(self, forest: Forest, names: Names, q: Array, held: BoolArray | None) -> set[int]:
        """Return the DOF of rigid bodies without inertia, judged by the terms of their pivots.

        Articulated inertias P, from the tips inward, and N, the size of all terms whose rounding is in P:

            D = H' P H,     P+ = P - P H D^-1 H' P,     N+ = A N A' + |P|,     A = 1 - P H D^-1 H'                  (1)

        degree of freedom by degree of freedom, and both are added to those of the parent.
        The quantity |P| is diagonal in axes of the joint, which kernels use. The inertia of a body itself counts in all
        directions, since it is rotated. A pivot is zero if it is below the rounding of H' N H. It depends on the
        outboard bodies as far as their inertia is felt at the joint: joints farther out remove the inertia along their
        DOF. Degrees of freedom that are `held` (nv,) bool remove nothing.
        """
        nb = len(self.mass)
        P, N = np.zeros((nb, 6, 6)), np.zeros((nb, 6, 6))
        found: set[int] = set()
        for k in range(nb - 1, -1, -1):
            joint, parent = forest.joints[k], int(forest.parent[k]) - 1
            own = self._inertia(forest, k)
            P[k] += own
            N[k] += _in_all_directions(own)
            span = names.v[joint.name]
            free = [j for j in range(span.stop - span.start) if held is None or not held[span.start + j]]
            if free:
                H, axes = self._motion(forest, k, q[names.q[joint.name]])
                H = H[:, free]
                armature = np.zeros(joint.element.nv) if joint.element.armature is None else joint.element.armature
                weights = [2.0 if joint.element.speed_units[j] == "rad" else 1.0 for j in free]
                idle = _eliminate(P[k], N[k], H, axes, armature[free], np.array(weights))
                found |= {span.start + free[j] for j in idle}
            if parent >= 0:
                shift = np.eye(6)
                shift[:3, 3:] = skew(self.p[k] - self.p[parent])
                P[parent] += shift @ P[k] @ shift.T
                N[parent] += shift @ N[k] @ shift.T
        return found

    def _inertia(self, forest: Forest, k: int) -> Array:
        """Return the inertia (6, 6) of body k at its origin, world axes: [moment; force] by [angular; linear]."""
        body = forest.system.bodies[forest.bodies[k + 1]]
        S = skew(self.centre[k] - self.p[k])
        mass = float(self.mass[k])
        turned = self.R[k] @ body.inertia @ self.R[k].T - mass * S @ S
        return np.block([[turned, mass * S], [-mass * S, mass * np.eye(3)]])

    def _motion(self, forest: Forest, k: int, q: Array) -> tuple[Array, Array]:
        """Return H (6, nv) of the joint that carries body k, up to its sign, at the body's origin, and its axes (3, 3).

        In world axes; the third axis is that of the joint, if it has one.
        """
        joint = forest.joints[k]
        ends = []
        for marker in (joint.inboard, joint.outboard):
            number = forest.number[marker.body.name] - 1
            R, p = (self.R[number], self.p[number]) if number >= 0 else (np.eye(3), np.zeros(3))
            ends.append((R @ marker.rotation, p + R @ marker.position))
        first, second = reversed(ends) if joint.reversed else ends
        H = joint.element.motion(q)
        turning = first[0] @ H[:3]
        sliding = first[0] @ H[3:] + np.cross(turning, self.p[k] - second[1], axis=0)
        return np.vstack([turning, sliding]), first[0] @ joint.element.frame()


def _eliminate(P: Array, N: Array, H: Array, axes: Array, armature: Array, prefer: Array) -> set[int]:
    """Eliminate the DOF H (6, n) from P and N (6, 6), in place, by (1); return those without inertia.

    One degree of freedom after the other, the best determined first, so that rounding is that of P alone.
    """
    D, scale = H.T @ P @ H + np.diag(armature), np.diag(H.T @ N @ H) + armature
    open_ones = list(range(H.shape[1]))
    while open_ones:
        pivots = {j: float(H[:, j] @ P @ H[:, j] + armature[j]) for j in open_ones}
        sizes = {j: float(H[:, j] @ N @ H[:, j] + armature[j]) for j in open_ones}
        best = max(open_ones, key=lambda j: pivots[j] / sizes[j] if sizes[j] > 0.0 else -1.0)
        if not pivots[best] > PIVOT_ROUNDOFF * sizes[best]:
            break
        open_ones.remove(best)
        u = P @ H[:, best]
        A = np.eye(6) - np.outer(u, H[:, best]) / pivots[best]
        N[:] = A @ N @ A.T + _along(axes, P)
        P -= np.outer(u, u) / pivots[best]
    if not open_ones:
        return set()
    unit = 1.0 / np.sqrt(np.where(scale > 0.0, scale, 1.0))
    vectors = np.linalg.eigh(D * unit * unit[:, None])[1]
    return _most_moved(vectors.T[: len(open_ones)] * prefer)


def _along(axes: Array, P: Array) -> Array:
    """Return |P| (6, 6): P (6, 6) along axes (3, 3), columns; times 6 an upper bound of every part."""
    F = np.zeros((6, 6))
    F[:3, :3] = F[3:, 3:] = axes
    return np.asarray(6.0 * (F * np.einsum("ji,jk,ki->i", F, P, F)) @ F.T)


def _in_all_directions(P: Array) -> Array:
    """Return an isotropic inertia (6, 6) with the moment and the mass of another."""
    return np.diag(np.repeat([np.trace(P[:3, :3]), np.trace(P[3:, 3:])], 3))


def has_modes(forest: Forest) -> bool:
    """Return whether a body is flexible."""
    return any(body.flexible is not None for body in forest.system.bodies.values())


def needs_no_inertia(forest: Forest, names: Names, drives: tuple[Drive, ...]) -> BoolArray:
    """Return the mask (nv,) of DOF that need no inertia: driven, given by time, and massless joints.

    Joints that carry no mass at all have poses; kernels that need their accelerations raise an error.
    """
    held = np.zeros(len(names.speeds), dtype=bool)
    for drive in drives:
        if isinstance(drive.connection.element, Joint):
            held[names.v[drive.connection.name].start + drive.coordinate] = True
    empty = [True] * (forest.nb + 1)  # whether a body and all that it carries have neither mass nor armature
    for k in range(forest.nb, 0, -1):
        body, joint = forest.system.bodies[forest.bodies[k]], forest.joints[k - 1]
        armature = joint.element.armature
        empty[k] &= not (body.mass or body.inertia.any() or (armature is not None and np.any(armature)))
        empty[int(forest.parent[k - 1])] &= empty[k]
        held[names.v[joint.name]] |= empty[k]
        if isinstance(joint.element, CustomJoint) and joint.element.clock is not None:
            held[names.v[joint.name].start + joint.element.clock] = True
    return held


def regularizing_inertia(model: _core.Model, forest: Forest, names: Names, q: Array) -> Array:
    """Return inertia (nv,) added to DOF of trees without inertia at a generic q, or an empty array.

    Loops may supply the missing inertia: core/constraints/loop_dynamics.hpp.
    """
    pivots = _core.MassMatrixFactor(model, q).pivots()
    whole = _PointBodies.of(model, forest, q)
    own = np.maximum(whole.along_dof(forest, names, q), model._composite_diagonal(q))
    weak = ~(pivots > ZERO_INERTIA_TOL * own)
    if weak.any() and not has_modes(forest) and not whole.idle_dofs(forest, names, q, None):
        return np.zeros(0)
    if not weak.any():
        return np.zeros(0)
    lent = np.zeros(len(names.speeds))
    mass, turned = whole.mass.sum() or 1.0, whole.bound or 1.0
    for joint in forest.joints:
        if joint.element.nv:
            H = joint.element.motion(q[names.q[joint.name]])
            lent[names.v[joint.name]] = REGULARIZATION * ((H[:3] ** 2).sum(0) * turned + (H[3:] ** 2).sum(0) * mass)
    return np.where(weak, lent, 0.0)


def check_massless_dof(
    skeleton: _core.Model, forest: Forest, names: Names, q: Array, held: BoolArray | None = None
) -> None:
    """Raise an error for DOF without inertia, except `held` (nv,), at a generic configuration q."""
    weak = massless_dof(skeleton, forest, names, q, held=held)
    for body, joint in zip(names.bodies, forest.joints, strict=True):
        span = names.v[joint.name]
        idle = [name for name in names.speeds[span.start : span.stop] if name in weak]
        if idle:
            raise _no_inertia(forest, body, joint, idle)


def _no_inertia(forest: Forest, body: str, joint: TreeJoint, idle: list[str]) -> ModelError:
    found = forest.system.bodies[body]
    listed = ", ".join(map(repr, idle))
    moves = f"DOF {listed} of joint {joint.name!r} ({joint.element.kind}) move{'s' * (len(idle) == 1)}"
    remedy = (
        f"{moves} no inertia: give the body, or one it carries, mass away from the axis or a moment of inertia about "
        "it (inertia=, or a shape), drive this degree of freedom, or use Fixed()"
    )
    if found.mass and not found.inertia.any():
        remedy += (
            "; a point mass has no orientation: use joints that only translate it, such as Prismatic, "
            "or CustomJoint(['x', 'y', 'z'], position=['x', 'y', 'z'])"
        )
    return ModelError(f"body {body!r}", "inertia", found.inertia.tolist(), remedy)
