"""Mobility along a motion: degrees of freedom, smallest singular values, and changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...answer import count_text
from ...arrays import Array, IndexArray
from ...checks import checked, finite_number
from ...closure.driven.prescribed_velocities import Prescribed
from ...closure.equations import RelativeEquations
from ...closure.loop_equations import LoopEquations
from ...closure.scaled_equations import measures_of, named
from ...errors import ModelError
from ...model import Model, as_model
from ...numerics.rank import significant
from ...result import TIME, Axis, Result
from ...system import System
from ..circuit import Circuit
from .kinematic_result import KinematicResult

__all__ = ["MobilityRange", "mobility_range"]


_BATCH_SIZE = 4096


@dataclass(frozen=True, eq=False, repr=False)
class MobilityRange(KinematicResult):
    """Mobility along a motion; printable and plottable.

    Attributes
    ----------
    at : (n,)
        Times, arclengths, or indices of the configurations.
    mobility : (n,) int
        Independent motions, with drives released.
    smallest : (n,)
        Smallest nonzero singular value of the dimensionless closure Jacobian: the distance from a position with more
        mobility.
    drive : tuple of str
        Driven coordinates.
    driven_mobility : (n,) int
        Motions left by the drive: more at its dead points.
    grip : (n,)
        Smallest generally nonzero singular value of the dimensionless Jacobian of closure and drive: zero at dead
        points.
    changes : list of (int, int, int)
        Index of the first configuration after a change of the mobility, and the mobility before and after it.
    axis : Axis
        Meaning of `at`.
    """

    at: Array
    mobility: IndexArray
    smallest: Array
    drive: tuple[str, ...]
    driven_mobility: IndexArray
    grip: Array
    changes: list[tuple[int, int, int]] = field(default_factory=list)
    axis: Axis = TIME
    _arrays: ClassVar = {
        "mobility": (("position",), ""),
        "smallest": (("position",), ""),
        "driven_mobility": (("position",), ""),
        "grip": (("position",), ""),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"position": (self.at, "" if self.axis.unit == "1" else self.axis.unit)}

    def _headline(self) -> str:
        values = ", ".join(str(value) for value in np.unique(self.mobility))
        return (
            f"mobility {values} at {count_text(len(self.at), 'position')}, {count_text(len(self.changes), 'change')}, "
            f"smallest singular value {self.smallest.min(initial=np.inf):.3g}"
        )

    def __str__(self) -> str:
        ends = [0, *(k for k, _, _ in self.changes), len(self.at)]
        lines = [f"{'from':>12} {'to':>12} {'mobility':>9} {'smallest singular value':>25}"]
        for a, b in pairwise(ends):
            k = a + int(np.argmin(self.smallest[a:b]))
            least = f"{self.smallest[k]:.4g} at {self.at[k]:.6g}"
            lines.append(f"{self.at[a]:>12.6g} {self.at[b - 1]:>12.6g} {self.mobility[a]:>9} {least:>25}")
        if self.drive:
            k, left = int(np.argmin(self.grip)), self.driven_mobility
            lines.append(
                f"driven by {', '.join(self.drive)}: {int(left.min())} to {int(left.max())} DOF left, "
                f"smallest singular value {self.grip[k]:.4g} at {self.at[k]:.6g}"
            )
        return "\n".join(lines)


@checked("motion", "drive")
def mobility_range(
    system: System | Model,
    motion: Result | Circuit | ArrayLike,
    *,
    drive: str | Iterable[str] = (),
    t: float = 0.0,
) -> MobilityRange:
    """Return the mobility over a range of closed configurations.

    Parameters
    ----------
    system : System or Model
    motion : Result, Circuit or (n, nq) rad or m
        Configurations in which the loops are closed; of a circuit, all its paths one after the other.
    drive : name or names
        Driven coordinates.
    t : float, s
        Time, for explicit time dependence; a `Result` has its own times.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> s = four_bar(1.0, 2.0, 1.0, 2.0)
    >>> found = da.mobility_range(s, da.circuits(s, "A")[0], drive="A")
    >>> int(found.mobility.min())
    1
    """
    model = as_model(system)
    t = finite_number(t, item="mobility_range", field="t")
    at, q = _configurations(model, motion)
    known = measures_of(RelativeEquations(model, driven=False))
    names = [drive] if isinstance(drive, str) else list(drive)
    driven = [named(known, name, item="mobility_range", field="drive") for name in names]
    mobility, smallest = np.zeros(len(q), dtype=np.intp), np.zeros(len(q))
    left, grip = np.zeros(len(q), dtype=np.intp), np.zeros(len(q))
    prescribed = Prescribed.of(model)
    free = ~prescribed.clocks
    loops = LoopEquations.of(model, t=t).without(prescribed.rows | ~model.compiled.names.closing)
    for part in np.array_split(np.arange(len(q)), 1 + len(q) // _BATCH_SIZE):
        J = loops.jacobian(q[part])[:, :, free]
        mobility[part], smallest[part] = _verdict(J)
        rows = [(m.row(q[part]) * loops.column_scales / m.scale)[:, None, free] for m in driven]
        left[part] = _verdict(np.concatenate([J, *rows], 1))[0] if rows else mobility[part]
        grip[part] = _grip(np.concatenate([J, *rows], 1), int(free.sum()) - int(mobility[part].min()) + len(rows))
    steps = np.flatnonzero(np.diff(mobility)) + 1
    changes = [(int(k), int(mobility[k - 1]), int(mobility[k])) for k in steps]
    return MobilityRange(at, mobility, smallest, tuple(m.name for m in driven), left, grip, changes, _axis(motion))


def _axis(along: Any) -> Axis:
    if isinstance(along, Result):
        return along.axis
    return Axis("arclength" if isinstance(along, Circuit) else "configuration", "1")


def _configurations(model: Model, along: Any) -> tuple[Array, Array]:
    """Return the abscissa (n,) and the configurations (n, nq)."""
    if isinstance(along, Result):
        return along.t, along.q
    if isinstance(along, Circuit):
        starts = np.cumsum([0.0, *(path.s[-1] for path in along.paths)])
        s = np.concatenate([start + path.s for start, path in zip(starts, along.paths, strict=False)])
        q = np.concatenate([path.q for path in along.paths])
    else:
        q = np.asarray(along, dtype=float)
        s = np.arange(len(q), dtype=float) if q.ndim else np.zeros(0)
    if q.ndim != 2 or q.shape[1] != model.nq or not len(q):
        raise ModelError(
            "mobility_range", "motion", q.shape, f"give configurations (n, {model.nq}), a Result or a Circuit"
        )
    return s, q


def _verdict(J: Array) -> tuple[IndexArray, Array]:
    """Return nullity (B,) and smallest nonzero singular value (B,) of J (B, rows, n)."""
    n = J.shape[2]
    if not J.shape[1] or not n:
        return np.full(len(J), n, dtype=np.intp), np.full(len(J), np.inf)
    s = np.linalg.svd(J, compute_uv=False)
    rank = significant(s).sum(1)
    least = np.where(rank > 0, s[np.arange(len(s)), np.maximum(rank - 1, 0)], np.inf)
    return n - rank, least


def _grip(J: Array, rank: int) -> Array:
    """Return the singular value (B,) that vanishes where J (B, rows, n) has less than a rank."""
    s = np.linalg.svd(J, compute_uv=False)
    return np.asarray(s[:, min(rank, s.shape[1]) - 1]) if s.shape[1] and rank else np.full(len(J), np.inf)
