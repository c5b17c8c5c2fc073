"""Programs of relative poses: user formulas of a joint and the derivatives that the core needs.

From C(q) and c(q), pose of one frame in another, follow by differentiation (Sol 1983, (3.3.21)-(3.3.36), in axes of the
rotated frame):

    w_j = axial(C^T dC/dq_j)     v_j = C^T dc/dq_j     bias = [axial(C^T C')'; C^T c''] at constant q'            (1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...errors import ModelError
from ...rotation import unit_vector
from .dependencies import extract_subprogram
from .differentiation import Rate
from .expressions import Program, compile_expressions
from .formula_parameters import NO_TABLES
from .program_algebra import Matrix, ProgramBuilder, Vector, transposed
from .tables import Table

__all__ = ["PosePrograms", "expressed_pose", "motion_columns", "named_inputs", "posed", "shifts", "typical_length"]


@dataclass(frozen=True, eq=False)
class PosePrograms:
    """Programs of a pose as a function of n coordinates, in one direction.

    Attributes
    ----------
    n : int
    pose : Program
        From q (n): c (3), C (9, row by row), then w_j (3) and v_j (3) of every coordinate.
    bias : Program
        From q and q' (2 n): the bias (6).
    """

    n: int
    pose: Program
    bias: Program

    @classmethod
    def of(
        cls,
        calculus: ProgramBuilder,
        C: Matrix,
        c: Vector,
        n: int,
        *,
        inverse: bool = False,
        columns: Sequence[tuple[Vector, Vector]] | None = None,
    ) -> PosePrograms:
        """Differentiate a pose; the program's inputs are q and q', 2 n of them.

        Parameters
        ----------
        calculus : Calculus
        C, c : indices of the pose
        n : int
        inverse : bool
            Use the pose of the first frame in the second instead.
        columns : n pairs of indices
            w_j and v_j, if they are known.
        """
        k = calculus
        if inverse:
            C = transposed(C)
            c = [k.negate(x) for x in k.apply(C, c)]
        q, rates = ([k.program.emit("input", i + shift) for i in range(n)] for shift in (0, n))
        if columns is None:
            columns = motion_columns(k, C, c, q)
        outputs = [*c, *(entry for row in C for entry in row)]
        for w, v in columns:
            outputs += [*w, *v]
        moving = Rate(k, dict(zip(q, rates, strict=True)))
        omega = axial_rate(k, C, moving)
        second = [moving(x) for x in moving.vector(c)]
        bias = [*moving.vector(omega), *k.apply(transposed(C), second)]
        return cls(n, extract_subprogram(k.program, outputs), extract_subprogram(k.program, bias))

    def at(self, q: Array) -> tuple[Array, Array, Array]:
        """Return C (3, 3), c (3,) and H (6, n), [omega; v] in axes of the first frame."""
        out = np.array(self.pose.numbers(q.tolist() if isinstance(q, np.ndarray) else list(q)))
        C = out[3:12].reshape(3, 3)
        with np.errstate(invalid="ignore"):  # formulas that are not finite raise an error elsewhere
            H = out[12:].reshape(self.n, 2, 3) @ C.T
        return C, out[:3], H.reshape(self.n, 6).T.copy()

    def bias_at(self, q: Array, v: Array) -> Array:
        """Return H' v (6,) in axes of the first frame."""
        out = np.array([float(x) for x in self.bias.evaluate([*q, *v])])
        C = self.at(q)[0]
        return np.concatenate([C @ out[:3], C @ out[3:]])

    def nearest(
        self,
        R: Array,
        p: Array,
        start: Array,
        length: float = 1.0,
        settled: float = 1e-11,
        most: int = 100,
        free: BoolArray | None = None,
    ) -> tuple[Array, float]:
        """Return the coordinates of the pose nearest to (R, p), from a start, and the error, m or rad.

        For an unreachable pose the search ends where the gain of a step is below the fraction `settled` of the squared
        error. At most `most` steps are tried. Coordinates that are not `free` (n,) stay constant.
        """

        def error(q: Array) -> tuple[Array, Array]:
            C, c, H = self.at(q)
            e = R @ C.T
            turn = 0.5 * np.array([e[2, 1] - e[1, 2], e[0, 2] - e[2, 0], e[1, 0] - e[0, 1]])
            scale = np.array([length] * 3 + [1.0] * 3)[:, None]
            return np.concatenate([length * turn, p - c]), scale * (H if free is None else H * free)

        q, damping = np.array(start, dtype=float), 1e-12
        e, H = error(q)
        for _ in range(most):
            size = float((H * H).sum()) or 1.0
            step = H.T @ np.linalg.solve(H @ H.T + damping * size * np.eye(6), e)
            step /= max(1.0, float(np.abs(step).max(initial=0.0)))
            trial = q + step
            e_trial, H_trial = error(trial)
            if not e_trial @ e_trial < e @ e:
                if damping > 1e6 or np.abs(step).max(initial=0.0) < 1e-14:
                    break
                damping = max(1e-6, 10 * damping)
                continue
            gained = float(e @ e - e_trial @ e_trial)
            q, e, H, damping = trial, e_trial, H_trial, max(1e-12, 0.1 * damping)
            if gained < settled * float(e @ e):  # unreachable, at the nearest pose
                break
        C, c, _ = self.at(q)
        return q, float(max(np.abs(C - R).max(), np.abs(c - p).max()))


def motion_columns(k: ProgramBuilder, C: Matrix, c: Vector, q: Vector) -> list[tuple[Vector, Vector]]:
    """Return w_j and v_j of (1) for every coordinate of a pose."""
    axes = transposed(C)
    found = []
    for place in q:
        along = Rate(k, {place: k.one})
        found.append((axial_rate(k, C, along), k.apply(axes, along.vector(c))))
    return found


def axial_rate(k: ProgramBuilder, C: Matrix, rate: Rate) -> Vector:
    """Return axial(C^T C'): the angular velocity in axes of the rotated frame."""
    axes, rates = transposed(C), transposed(rate.matrix(C))
    return [k.dot(axes[(i + 2) % 3], rates[(i + 1) % 3]) for i in range(3)]


def named_inputs(coordinates: Sequence[str]) -> tuple[str, ...]:
    """Return the inputs of a pose's program: coordinates, and rates under names that formulas cannot use."""
    return (*coordinates, *(f"{name}'" for name in coordinates))


def expressed_pose(
    item: str,
    coordinates: Sequence[str],
    position: Any,
    rotation: Any,
    definitions: Mapping[str, Any],
    tables: Mapping[str, Table] = NO_TABLES,
) -> tuple[ProgramBuilder, Matrix, Vector]:
    """Return the pose given by formulas, as indices of a program with the inputs of `named_inputs`.

    Parameters
    ----------
    item : str
        Name for errors.
    coordinates : sequence of str
    position : (3,) formulas, m; None for zero
    rotation : formulas
        A (3, 3) matrix; a sequence of rotations (axis, angle), each about the axes rotated by those before; or a
        rotation vector (3,). None for no rotation.
    definitions : mapping of str to formula
        Parameters, and named subexpressions.
    tables : mapping of str to Table
        Functions that formulas may call.
    """
    inputs = named_inputs(coordinates)
    where = [0.0, 0.0, 0.0] if position is None else _listed(item, "position", position, 3)
    form, formulas, axes = _rotation_form(item, rotation)
    program = compile_expressions(
        [*where, *formulas], inputs, definitions=dict(definitions), tables=dict(tables), item=item
    )
    k = ProgramBuilder(program)
    c, places = program.outputs[:3], program.outputs[3:]
    if form == "matrix":
        C = [places[0:3], places[3:6], places[6:9]]
    elif form == "vector":
        C = k.turn_by_vector(places)
    else:
        C = k.matrix(np.eye(3).tolist())
        for axis, angle in zip(axes, places, strict=True):
            C = k.product(C, k.turn(axis, angle))
    return k, C, c


def _listed(item: str, field: str, formulas: Any, size: int) -> list[Any]:
    listed = None if isinstance(formulas, (str, bytes, dict)) else formulas
    try:
        listed = list(listed)  # type: ignore[arg-type]
    except TypeError:
        listed = []
    if len(listed) != size:
        raise ModelError(item, field, formulas, f"give {size} formulas")
    return listed


def _rotation_form(item: str, rotation: Any) -> tuple[str, list[Any], list[Array]]:
    """Return the form of a rotation, its formulas, and its rotation axes."""
    remedy = 'give a (3, 3) matrix of formulas, a sequence of rotations such as [("z", "a")], or a rotation vector (3,)'
    if rotation is None:
        return "turns", [], []
    try:
        parts = list(rotation)
    except TypeError:
        parts = []
    if isinstance(rotation, (str, bytes, dict)) or not parts:
        raise ModelError(item, "rotation", rotation, remedy)
    if hasattr(rotation, "tolist") and len(getattr(rotation, "shape", ())) == 2:  # of NumPy or SymPy
        parts = rotation.tolist()
    if all(isinstance(part, (tuple, list)) and len(part) == 2 for part in parts):
        axes = [unit_vector(axis, item=item, field="rotation") for axis, _ in parts]
        return "turns", [angle for _, angle in parts], axes
    if len(parts) == 3 and all(isinstance(part, (tuple, list)) and len(part) == 3 for part in parts):
        return "matrix", [entry for row in parts for entry in row], []
    if len(parts) == 3 and not any(isinstance(part, (tuple, list)) for part in parts):
        return "vector", parts, []
    raise ModelError(item, "rotation", rotation, remedy)


def posed(
    item: str,
    names: Sequence[str],
    position: Any,
    rotation: Any,
    definitions: Mapping[str, Any],
    tables: Mapping[str, Table] = NO_TABLES,
) -> tuple[PosePrograms, PosePrograms]:
    """Return the programs of a pose, and of the inverse pose, from formulas."""
    k, C, c = expressed_pose(item, names, position, rotation, definitions, tables)
    return PosePrograms.of(k, C, c, len(names)), PosePrograms.of(k, C, c, len(names), inverse=True)


def shifts(n: int) -> list[Array]:
    """Return a few fixed offsets of n coordinates."""
    rng = np.random.default_rng(7)
    return [rng.uniform(-1.5, 1.5, n) for _ in range(8)]


def typical_length(programs: PosePrograms, samples: Iterable[Array]) -> float:
    """Return the root mean square of the displacement over samples, m; 1 if it is zero."""
    squares = [float(c @ c) for _, c, _ in (programs.at(q) for q in samples) if np.isfinite(c).all()]
    size = math.sqrt(float(np.mean(squares))) if squares else 0.0
    return size if size > 0.0 else 1.0
