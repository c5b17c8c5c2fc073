"""`ParetoFront`: designs of which none is better than another in all objectives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import Answer, count_text, list_text, range_text
from ...arrays import Array, BoolArray
from .optimum import FEASIBLE_TOL

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

__all__ = ["ParetoFront", "is_dominated"]


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Answer):
    """Designs of which none is better than another in all objectives; `print` shows a table.

    Attributes
    ----------
    names, labels : tuple of str
        Design variables, (n,), and objectives, (m,).
    points : list of dict
        Designs of the front, in order of the first objective.
    objectives : (k, m)
        As they are, whether minimized or maximized.
    history : pandas.DataFrame
        Every evaluated point: variables, objectives, violation, error.
    evaluations, failed : int
    notes : list of str
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    signs: tuple[float, ...]
    points: list[dict[str, Any]]
    objectives: Array
    history: pandas.DataFrame = field(repr=False)
    evaluations: int = 0
    failed: int = 0
    notes: list[str] = field(default_factory=list)
    reason: str = ""

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        objectives: Any,
        points: Sequence[dict[str, Any]],
        values: Array,
        violations: Array,
        errors: Sequence[str],
        outputs: Sequence[dict[str, Any]],
    ) -> ParetoFront:
        """Return the front of evaluated points."""
        import pandas

        labels = tuple(goal.label for goal in objectives.goals)
        rows = [
            {**point, **dict(zip(labels, own, strict=True)), "violation": missed, "error": error}
            for point, own, missed, error in zip(points, values, violations, errors, strict=True)
        ]
        history = pandas.DataFrame(rows, columns=list(dict.fromkeys([*names, *labels, "violation", "error"])))
        good = np.array([not error for error in errors], dtype=bool)
        kept = np.flatnonzero(good & (np.nan_to_num(violations, nan=np.inf) <= FEASIBLE_TOL))
        best = kept[~is_dominated(values[kept] * objectives.signs)] if len(kept) else kept
        best = np.array(sorted(best.tolist(), key=lambda k: tuple(values[k])), dtype=int)
        distinct = [k for j, k in enumerate(best) if not j or points[k] != points[best[j - 1]]]
        failures = Counter(error for error in errors if error)
        reason = failures.most_common(1)[0][0] if failures else ""
        chosen = [points[k] for k in distinct]
        found = values[distinct].reshape(len(distinct), len(labels))
        failed = int(len(errors) - good.sum())
        return cls(names, labels, objectives.signs, chosen, found, history, len(points), failed, [], reason)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def success(self) -> bool:
        """Whether a point keeps all constraints."""
        return bool(self.points)

    @property
    def table(self) -> pandas.DataFrame:
        """Table of the front: variables and objectives."""
        import pandas

        rows = [
            {**point, **dict(zip(self.labels, own, strict=True))}
            for point, own in zip(self.points, self.objectives, strict=True)
        ]
        return pandas.DataFrame(rows, columns=list(dict.fromkeys([*self.names, *self.labels])))

    def hypervolume(self, reference: Sequence[float]) -> float:
        """Return the volume between front and a reference point, in the objectives that it beats; for two of them."""
        if len(self.labels) != 2:
            raise ValueError("the hypervolume is available for two objectives")
        y = self.objectives * self.signs
        r = np.asarray(reference, dtype=float) * self.signs
        y = y[(y < r).all(axis=1)]
        y = y[np.argsort(y[:, 0])]
        heights = np.diff(np.concatenate([[r[1]], y[:, 1]]))
        return float(((r[0] - y[:, 0]) * -heights).sum())

    def to_xarray(self) -> xarray.Dataset:
        """Return the designs and objectives of the front as an xarray Dataset."""
        return self.table.rename_axis("design").to_xarray()

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Plot the front over all evaluated points in the first two objectives, and return the matplotlib axes."""
        from ...view.plots.optimization import plot_front

        return plot_front(self, ax=ax, path=path)

    def _headline(self) -> str:
        if not self.points:
            why = f"; {self.failed} failed: {self.reason}" if self.failed else ""
            return f"no design of {self.evaluations} keeps all constraints{why}"
        ranges = list_text(
            f"{label} {range_text(column)}" for label, column in zip(self.labels, self.objectives.T, strict=True)
        )
        failed = f"; {self.failed} failed: {self.reason}" if self.failed else ""
        return f"{count_text(len(self), 'design')} of {self.evaluations}, {ranges}{failed}"

    def __str__(self) -> str:
        return "\n".join(
            [self._headline(), self.table.to_string(float_format=lambda x: f"{x:.6g}"), *self._note_lines()]
        )


def is_dominated(values: Array) -> BoolArray:
    """Return which rows of objectives (k, m) are dominated: another row is nowhere larger, and somewhere smaller."""
    found = np.zeros(len(values), dtype=bool)
    for k, row in enumerate(values):
        found[k] = ((values <= row).all(axis=1) & (values < row).any(axis=1)).any()
    return found
