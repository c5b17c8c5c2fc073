"""Kinematic chains: massless joints in series between two markers (Sol 1983, section 7.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...checks import checked, finite_array, finite_number, set_fields, shape_of
from ...errors import ModelError
from ...numerics.rank import ROW_RANK_TOL, numerical_rank
from ...rotation import as_rotation_matrix, quaternion, quaternion_from_matrix, unit_vector
from ..formulas.expressions import Program
from ..formulas.kinematic_programs import PosePrograms, motion_columns, typical_length
from ..formulas.program_algebra import Matrix, ProgramBuilder, Vector, transposed
from ..joints import Joint
from ..joints.custom import CustomJoint
from .geometric import Constraint

__all__ = ["KinematicChain", "Offset", "bar"]


MAX_INNER_COORDINATES = 24  # inner coordinates: core/constraints/kinematic_chain.hpp
N_STARTS = 12  # start configurations of a search
MAX_WARM_ITERATIONS = 25  # steps of a search started from the last solution
UNREACHABLE_TOL = 1e-7  # relative gain of a step below which a search for an unreachable pose stops


@dataclass(frozen=True, eq=False)
class Offset:
    """Rigid massless piece of a chain: the pose of its end in its beginning.

    Parameters
    ----------
    position : (3,) m
    rotation : any form that markers take
    """

    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = None

    def __post_init__(self) -> None:
        position = finite_array(self.position, (3,), item="Offset", field="position")
        set_fields(self, position=position, rotation=as_rotation_matrix(self.rotation, item="Offset"))


def bar(length: float, axis: Any = "x") -> Offset:
    """Return a rigid massless bar: an offset by a length (m) along an axis.

    Examples
    --------
    >>> bar(0.5).position.tolist()
    [0.5, 0.0, 0.0]
    """
    size = finite_number(length, item="bar", field="length")
    return Offset(size * unit_vector(axis, item="bar"))


@checked("near")
@dataclass(frozen=True, eq=False)
class KinematicChain(Constraint):
    """Massless joints in series between two markers, as one set of constraint equations.

    Parameters
    ----------
    parts : sequence of Joint and Offset
        From the first marker to the second. Joints may be of the library or `CustomJoint` without time.
    near : dict of int to (n,) numbers
        Coordinates of joints, by their number in `parts`: first initial guess of the inner coordinates.

    The relative motion that the joints allow is Y gamma', gamma their coordinates: 6 - rank(Y) equations are left on
    the pose of the second marker (a bar between two balls: rank 5, one equation, the distance). Inner coordinates are
    not coordinates of the system. They follow from the pose in every evaluation (`inner`); redundant ones (the spin of
    that bar) keep the values at which the search ends.

    Where a pose has several solutions (an elbow up or down), the equations are the same for all of them. Only `inner`
    selects one: the solution found by the search from `near`. ``system.initial("chain.0.angle", position=0.3)`` gives
    inner coordinates start values: assembly meets them, and `inner` of the model's chain,
    ``model.system.connections["chain"].element``, returns the solution nearest to them.

    The rank is that of generic configurations. It drops where the chain is stretched or folded, the limit of its
    motion. Chains of parallel pins, with any joints that rotate about the first and the last centre, are stopped there.
    In runs a `Rope` between these centres, ``"chain.reach"``, of a length 1e-6 before the end of their reach, is pulled
    taut with an impulse and goes slack when it would push; ``"chain.fold"`` likewise where they are folded. Outputs are
    those of ropes (``"chain.reach.tension"``). Other chains end the run with an error; add a `Rope` parallel to them.

    Attributes
    ----------
    rank : int
        Degrees of freedom left by the chain.
    inner_names : tuple of str
        Inner coordinates, ``"0.angle"`` that of the first part; a ball joint has a quaternion.
    redundant : int
        Degrees of freedom of the joints that do not move the second marker.

    Examples
    --------
    >>> import dalembert as da
    >>> rod = da.KinematicChain([da.Spherical(), da.bar(0.5), da.Spherical()])
    >>> rod.rank, len(rod.rows), rod.redundant
    (5, 1, 1)
    """

    parts: Sequence[Joint | Offset] = ()
    near: Mapping[int, Any] = field(default_factory=dict)
    programs: PosePrograms = field(init=False, repr=False)
    inner_names: tuple[str, ...] = field(init=False)
    rank: int = field(init=False)
    starts: Array = field(init=False, repr=False)
    """Sets of inner coordinates (k, n) from which they are searched."""
    length: float = field(init=False, repr=False)
    """A length of the chain, m, at which turns count as displacements."""
    wanted: Array | None = field(init=False, repr=False, default=None)
    """Inner coordinates (n,) to which `inner` comes nearest, NaN where any will do."""
    form: ClassVar[str] = "chain"

    def __post_init__(self) -> None:
        item = self.kind
        parts = tuple(self.parts) if isinstance(self.parts, Sequence) and not isinstance(self.parts, str) else ()
        if not any(isinstance(part, Joint) for part in parts):
            raise ModelError(item, "parts", self.parts, "give at least one joint, and offsets such as bar(length)")
        for part in parts:
            if not isinstance(part, (Joint, Offset)):
                raise ModelError(item, "part", part, "use joints such as Spherical(), and bar(length) or Offset(...)")
            if isinstance(part, CustomJoint) and part.clock is not None:
                raise ModelError(item, "part", part.kind, "joints of a chain must not depend on time")
        names = tuple(
            f"{k}.{name}" for k, part in enumerate(parts) if isinstance(part, Joint) for name in part.coordinates
        )
        if len(names) > MAX_INNER_COORDINATES:
            raise ModelError(
                item, "inner coordinates", len(names), f"use up to {MAX_INNER_COORDINATES} (a ball joint counts four)"
            )
        programs = _in_series(parts, len(names))
        rng = np.random.default_rng(11)
        samples = [_random_coordinates(parts, rng) for _ in range(N_STARTS)]
        length = typical_length(programs, samples)
        scale = np.array([length] * 3 + [1.0] * 3)[:, None]
        ranks = [np.linalg.matrix_rank(scale * programs.at(gamma)[2], tol=1e-9 * length) for gamma in samples]
        rank = int(max(ranks))
        if rank == 6:
            raise ModelError(
                item, "rank", rank, "its joints allow every relative motion, so it constrains nothing: leave it out"
            )
        set_fields(self, parts=parts, programs=programs, inner_names=names, rank=rank, length=length)
        set_fields(self, starts=np.array([self._first_start(), *samples]))

    @property
    def rows(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the equations."""
        return tuple(f"closure_{k + 1}" for k in range(6 - self.rank))

    @property
    def holonomic(self) -> tuple[bool, ...]:  # type: ignore[override]
        """Holonomic flags of the rows: all True."""
        return (True,) * len(self.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of the rows; rotations count as displacements at the length of the chain."""
        return ("m",) * len(self.rows)

    @property
    def parameter(self) -> float:
        """Length of the chain, m."""
        return self.length

    @property
    def redundant(self) -> int:
        """Degrees of freedom of the joints that do not move the second marker."""
        return sum(part.nv for part in self.parts if isinstance(part, Joint)) - self.rank

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of the custom joints; ``"0.r"`` belongs to the first part."""
        return {
            f"{k}.{name}": value
            for k, part in enumerate(self.parts)
            if isinstance(part, CustomJoint)
            for name, value in part.parameters.items()
        }

    def with_parameters(self, numbers: Mapping[str, float]) -> KinematicChain:
        """Return the same chain with other numbers for some parameters."""
        parts: list[Any] = list(self.parts)
        for k, part in enumerate(parts):
            mine = {name[len(f"{k}.") :]: x for name, x in numbers.items() if name.startswith(f"{k}.")}
            parts[k] = part.with_parameters(**mine) if mine else part
        return replace(self, parts=parts)

    def inner(self, rotation: Any, position: Any) -> dict[str, float]:
        """Return inner coordinates by name at a pose of the second marker in the first.

        Parameters
        ----------
        rotation : (3, 3)
        position : (3,) m

        Raises
        ------
        ModelError
            If the chain cannot reach that pose.
        """
        R, p = np.asarray(rotation, dtype=float), np.asarray(position, dtype=float)
        if self.wanted is not None:
            gamma = self.toward(R, p, self.wanted)
            if float(np.abs(self.error(R, p, gamma)[0]).max()) < 1e-7 * (1.0 + self.length):
                return dict(zip(self.inner_names, gamma.tolist(), strict=True))
        gamma, miss = self._nearest(R, p)
        if miss > 1e-5 * (1.0 + self.length):
            raise ModelError(self.kind, "pose", p, f"the chain cannot reach it: {miss:.3g} m or rad remain")
        return dict(zip(self.inner_names, gamma.tolist(), strict=True))

    def closest_pose_error(self, rotation: Array, position: Array, near: Array | None = None) -> tuple[Array, Array]:
        """Return the closest pose error (6,) m of a given second-marker pose, and the inner coordinates there.

        [rotation times length; displacement], axes of the first marker: e of core/constraints/kinematic_chain.hpp. The
        search starts from inner coordinates `near`, if given.
        """
        starts, most = (self.starts[:2], 100) if near is None else (near[None], MAX_WARM_ITERATIONS)
        found = [
            self.programs.nearest(rotation, position, start, self.length, UNREACHABLE_TOL, most) for start in starts
        ]
        inner = min(found, key=lambda pair: pair[1])[0]
        return self.error(rotation, position, inner)[0], inner

    def stretch_margin(self, rotation: Array, position: Array) -> float:
        """Return the distance of the joints from a stretched or folded position: 0 there, up to 1."""
        scale = np.array([self.length] * 3 + [1.0] * 3)[:, None]
        Y = scale * self.programs.at(self._nearest(rotation, position)[0])[2]
        s = np.linalg.svd(Y, compute_uv=False)
        return float(s[self.rank - 1] / s[0]) if self.rank else 1.0

    def _nearest(self, R: Array, p: Array) -> tuple[Array, float]:
        """Return the inner coordinates of the nearest pose, and its error, m or rad."""
        found = [self.programs.nearest(R, p, start, self.length) for start in self.starts[:1]]
        for start in self.starts[1:]:
            if min(miss for _, miss in found) < 1e-7 * (1.0 + self.length):
                break
            found.append(self.programs.nearest(R, p, start, self.length))
        return min(found, key=lambda pair: pair[1])

    # -- requested inner coordinates

    @property
    def inner_units(self) -> tuple[str, ...]:
        """Units of the inner coordinates: rad, m, or 1."""
        return tuple(unit for part in self.parts if isinstance(part, Joint) for unit in part.coordinate_units)

    def inner_targets(self, item: str, given: Any, before: Array | None = None) -> Array:
        """Return requested inner coordinates (n,), NaN where none; from a mapping by name, or an array.

        Parameters
        ----------
        item : str
            Name for errors.
        given : dict of str to number, or (n,)
        before : (n,)
            Previous requests.
        """
        given, values = self._requested(item, "position", given, before)
        first = 0
        for k, part in enumerate(self.parts):
            if not isinstance(part, Joint):
                continue
            turn = values[first : first + 4] if "qw" in part.coordinates else np.zeros(0)
            first += part.nq
            if np.isnan(turn).any() and not np.isnan(turn).all():
                whole = ", ".join(f"{k}.{name}" for name in part.coordinates[:4])
                raise ModelError(item, "position", dict(given), f"give a quaternion as a whole: {whole}")
            if turn.size and not np.isnan(turn).any():
                quaternion(*turn)  # raises an error for a quaternion of length zero
                turn /= np.linalg.norm(turn)
        return values

    def rate_targets(self, item: str, given: Any, before: Array | None = None) -> Array:
        """Return requested rates of inner coordinates, as `inner_targets` does; quaternion rates raise an error."""
        given, rates = self._requested(item, "speed", given, before)
        for name, value in given.items():
            if name.rpartition(".")[2] in ("qw", "qx", "qy", "qz"):
                remedy = (
                    "velocities of a ball joint within a chain cannot be given; model the chain with bodies and joints"
                )
                raise ModelError(item, "speed", {name: value}, remedy)
        return rates

    def _requested(self, item: str, field: str, given: Any, before: Array | None) -> tuple[Mapping[str, Any], Array]:
        """Return requested numbers of inner coordinates by name, and all of them (n,), NaN where none."""
        names, n = self.inner_names, len(self.inner_names)
        if not isinstance(given, Mapping):
            numbers = [given] if n == 1 and shape_of(given) == () else given
            given = dict(zip(names, finite_array(numbers, (n,), item=item, field=field), strict=True))
        values = np.full(n, np.nan) if before is None else before.copy()
        for name, value in given.items():
            if name not in names:
                raise ModelError(item, "inner coordinate", name, f"there are {', '.join(names)}")
            values[names.index(name)] = finite_number(value, item=item, field=name)
        return given, values

    def with_start(self, requested: Array) -> KinematicChain:
        """Return the same chain with start values (n,) of the inner search; NaN keeps the present ones."""
        twin = copy(self)
        start = np.where(np.isnan(requested), self.starts[0], requested)
        set_fields(twin, starts=np.vstack([start, self.starts]), wanted=requested)
        return twin

    def held_pose_error(
        self, rotation: Array, position: Array, requested: Array, near: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the closest pose error with the requested coordinates held, and the inner coordinates there.

        As `limit_violation`: (6,) m and inner coordinates (n,).
        """
        free = np.isnan(requested)
        starts = [*self.starts[:2]] if near is None else [near, self.starts[0]]
        found = [
            self.programs.nearest(
                rotation, position, np.where(free, start, requested), self.length, UNREACHABLE_TOL**2, free=free
            )
            for start in starts
        ]
        inner = min(found, key=lambda pair: pair[1])[0]
        return self.error(rotation, position, inner)[0], inner

    def toward(self, rotation: Array, position: Array, requested: Array) -> Array:
        """Return the inner coordinates (n,) at a pose that are nearest to requested ones (n,), NaN: any."""
        e, gamma = self.held_pose_error(rotation, position, requested)
        if float(np.abs(e).max()) < 1e-11 * self.length:
            return gamma
        given = ~np.isnan(requested)
        starts = (gamma, *self.starts[:4])  # from 180 degrees away a search may stay where it is
        found = [self.programs.nearest(rotation, position, start, self.length) for start in starts]
        best = min(miss for _, miss in found)
        met = [inner for inner, miss in found if miss <= best + 1e-7 * (1.0 + self.length)]
        gamma = min(met, key=lambda inner: float(np.linalg.norm((requested - inner)[given])))
        for _ in range(20):
            _, N = self.slopes(gamma)
            off = (requested - gamma)[given]
            step = N @ np.linalg.lstsq(N[given], off, rcond=ROW_RANK_TOL)[0] if N.shape[1] else np.zeros(len(gamma))
            step /= max(1.0, 2.0 * float(np.abs(step).max()))
            trial = self.programs.nearest(rotation, position, gamma + step, self.length)[0]
            if not np.linalg.norm((requested - trial)[given]) < (1.0 - 1e-12) * np.linalg.norm(off):
                break
            gamma = trial
        return gamma

    def slopes(self, gamma: Array) -> tuple[Array, Array]:
        """Return Y^+ (n, 6) on [w; v] of the second marker, and an orthonormal null space (n, k)."""
        scale = np.array([self.length] * 3 + [1.0] * 3)
        U, s, Vt = np.linalg.svd(scale[:, None] * self.programs.at(gamma)[2])
        rank = numerical_rank(s, ROW_RANK_TOL, 0.0)
        return (Vt[:rank].T / s[:rank]) @ U[:, :rank].T * scale, Vt[rank:].T

    def error(self, rotation: Array, position: Array, inner: Array) -> tuple[Array, Array]:
        """Return e (6,) m and Y (6, n) of core/constraints/kinematic_chain.hpp; rotations at the chain length."""
        C, c, H = self.programs.at(inner)
        turn = quaternion_from_matrix(rotation @ C.T)
        e = np.concatenate([2.0 * self.length * turn[1:] * (1.0 if turn[0] >= 0.0 else -1.0), position - c])
        return e, np.array([self.length] * 3 + [1.0] * 3)[:, None] * H

    def _first_start(self) -> Array:
        found = []
        for k, part in enumerate(self.parts):
            if isinstance(part, Joint):
                item, given = f"{self.kind}: near, part {k}", self.near.get(k, part.zero)
                numbers = [given] if shape_of(given) == () else given
                found.append(finite_array(numbers, (part.nq,), item=item, field="value"))
        unknown = [k for k in self.near if not (isinstance(k, int) and 0 <= k < len(self.parts))]
        unknown += [k for k in self.near if k not in unknown and not isinstance(self.parts[k], Joint)]
        if unknown:
            raise ModelError(self.kind, "near", unknown, "name joints by their number in `parts`, from 0")
        return np.concatenate(found)


def _in_series(parts: Sequence[Joint | Offset], n: int) -> PosePrograms:
    """Return the pose of the end of a chain in its beginning."""
    program = Program(tuple(f"g{k}" for k in range(2 * n)))
    places = [program.emit("input", k) for k in range(2 * n)]
    k = ProgramBuilder(program)
    # from the end to the beginning: C, c the pose of the end in the frame that a part begins with
    C: Matrix = k.matrix(np.eye(3).tolist())
    c: Vector = k.numbers([0.0] * 3)
    columns: list[tuple[Vector, Vector]] = []
    last = n
    for number, part in reversed(list(enumerate(parts))):
        if isinstance(part, Offset):
            R, p = k.matrix(part.rotation.tolist()), k.numbers(part.position)
        else:
            q = places[last - part.nq : last]
            last -= part.nq
            R, p = _joint_pose(k, part, q, number)
            back = transposed(C)
            mine = []
            for w, v in motion_columns(k, R, p, q):  # of the end of the part; outboard parts move with it
                moved = [k.add(x, y) for x, y in zip(v, k.cross(w, c), strict=True)]
                mine.append((k.apply(back, w), k.apply(back, moved)))
            columns = mine + columns
        c = [k.add(x, y) for x, y in zip(p, k.apply(R, c), strict=True)]
        C = k.product(R, C)
    return PosePrograms.of(k, C, c, n, columns=columns)


def _joint_pose(k: ProgramBuilder, joint: Joint, q: Vector, number: int) -> tuple[Matrix, Vector]:
    """Return C and c of a joint as indices of a program; its parameters get the number of the part."""
    pose = joint.programs[0].pose
    own = {place: f"{number}.{name}" for place, name in pose.own.items()}
    out = k.graft(replace(pose, own=own), [*q, *q])
    return [out[3:6], out[6:9], out[9:12]], out[:3]


def _random_coordinates(parts: Sequence[Joint | Offset], rng: np.random.Generator) -> Array:
    """Return random coordinates of all joints: any angles, displacements of the order of the offsets."""
    reach = (
        max([float(np.linalg.norm(part.position)) for part in parts if isinstance(part, Offset)], default=0.0) or 1.0
    )
    found = [np.zeros(0)]
    for part in parts:
        if not isinstance(part, Joint):
            continue
        if isinstance(part, CustomJoint):
            found.append(part.zero + rng.uniform(-1.0, 1.0, part.nq))
            continue
        q = np.array(
            [
                rng.uniform(-math.pi, math.pi) if name.startswith("angle") else rng.uniform(-reach, reach)
                for name in part.coordinates
            ]
        )
        if "qw" in part.coordinates:
            turn = rng.normal(size=4)
            q[:4] = turn / np.linalg.norm(turn)
        found.append(q)
    return np.concatenate(found)
