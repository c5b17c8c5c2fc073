"""`compare`: differences between two campaigns, case by case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import Answer, count_text, list_text
from ...checks import checked
from ...errors import ModelError
from .datasets import MESSAGE, STATUS, TRACEBACK
from .study import Study

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = ["CampaignComparison", "compare"]

_ITEM = "compare"
MAX_PART_NUMBERS = 1 << 22  # numbers of one variable in memory at once
_IGNORED = ("date", "host", "notes", "model")


@dataclass(frozen=True, eq=False, repr=False)
class CampaignComparison(Answer):
    """Differences between two campaigns; `print` shows a table.

    Attributes
    ----------
    table : pandas.DataFrame
        For each output of both: largest absolute difference, the same relative to the largest value, the case where it
        is (values of the axes), and the number of cases that differ by more than the tolerances.
    attributes : dict of str to (first, second)
        What differs in provenance: versions, instruction set, settings, model.
    status : dict of (str, str) to int
        Number of common cases by their status in both.
    only_first, only_second : dict
        Outputs, and number of values along each axis, that only one campaign has.
    compared : int
        Number of common cases.
    """

    table: pandas.DataFrame
    attributes: dict[str, tuple[Any, Any]]
    status: dict[tuple[str, str], int]
    only_first: dict[str, Any]
    only_second: dict[str, Any]
    compared: int
    rtol: float
    notes: list[str] = field(default_factory=list)

    @property
    def success(self) -> bool:
        """Whether all common cases agree within the tolerances, with the same status."""
        return not self.table["differing"].any() and all(a == b for a, b in self.status)

    def _headline(self) -> str:
        bad = [f"{label} in {row.differing}" for label, row in self.table.iterrows() if row.differing]
        changed = sum(n for (a, b), n in self.status.items() if a != b)
        parts = [f"{count_text(self.compared, 'common case')}"]
        parts.append(f"differences: {list_text(bad)}" if bad else "no output differs")
        parts += [f"{count_text(changed, 'case')} with another status"] if changed else []
        parts += [f"different {list_text(self.attributes)}"] if self.attributes else []
        return "; ".join(parts)

    def __str__(self) -> str:
        lines = [self._headline(), self.table.to_string(float_format=lambda x: f"{x:.3g}")]
        lines += [f"{name}: {_cut(a)} / {_cut(b)}" for name, (a, b) in self.attributes.items()]
        return "\n".join([*lines, *self._note_lines()])


@checked("rtol", "atol")
def compare(
    first: xarray.Dataset | str | os.PathLike[str],
    second: xarray.Dataset | str | os.PathLike[str],
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> CampaignComparison:
    """Compare two campaigns of `sweep` in the cases and outputs that both have.

    Cases are matched by the values of their axes; values are read in parts, so that campaigns may be larger than
    memory.

    Parameters
    ----------
    first, second : Datasets, or stores
    rtol, atol : float
        Values differ if abs(second - first) > atol + rtol max(abs(first)), the maximum over all cases.
        Missing values are equal to each other only.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> over = {"A": [0.1, 0.2, 0.3]}
    >>> fine = da.sweep(s, over, t_end=1.0, rtol=1e-10, outputs=("A.speed", "peak"))
    >>> coarse = da.sweep(s, over, t_end=1.0, rtol=1e-4, outputs=("A.speed", "peak"))
    >>> da.compare(fine, coarse, rtol=1e-3).success
    True
    """
    import pandas
    import xarray

    if not (rtol >= 0 and atol >= 0):
        raise ModelError(_ITEM, "rtol, atol", (rtol, atol), "give tolerances that are not negative")
    studies = [Study(given) for given in (first, second)]
    a, b = (study.data for study in studies)
    axes = list(studies[0].provenance["varied"])
    if list(studies[1].provenance["varied"]) != axes:
        shown = (axes, list(studies[1].provenance["varied"]))
        raise ModelError(_ITEM, "second", shown, "the campaigns have different axes: no case is common to both")
    only: list[dict[str, Any]] = [{}, {}]
    places = []
    for axis in axes:
        rows = [_rows(data, study, axis) for data, study in zip((a, b), studies, strict=True)]
        at = {row: k for k, row in enumerate(rows[1])}
        pairs = [(k, at[row]) for k, row in enumerate(rows[0]) if row in at]
        if not pairs:
            raise ModelError(_ITEM, "second", axis, "the campaigns have no value of this axis in common")
        places.append(np.array(pairs))
        for side, count in enumerate((len(rows[0]), len(rows[1]))):
            if count > len(pairs):
                only[side][axis] = count - len(pairs)
    labels = [_outputs(data) for data in (a, b)]
    only[0].update({label: "output" for label in labels[0] if label not in labels[1]})
    only[1].update({label: "output" for label in labels[1] if label not in labels[0]})
    status = _statuses(a, b, axes, places)
    rows_out, notes = {}, []
    for label in (label for label in labels[0] if label in labels[1]):
        if a[label].dims != b[label].dims:
            notes.append(f"{label!r} has the dimensions {a[label].dims} and {b[label].dims}: not compared")
            continue
        rows_out[label] = _difference(a, b, label, axes, places, rtol, atol, notes)
    columns = ["largest", "relative", "differing", "case"]
    table = pandas.DataFrame.from_dict(rows_out, orient="index", columns=columns)
    attributes = {
        name: (studies[0].provenance.get(name), studies[1].provenance.get(name))
        for name in dict.fromkeys([*studies[0].provenance, *studies[1].provenance])
        if name not in _IGNORED
        and name not in ("varied",)
        and studies[0].provenance.get(name) != studies[1].provenance.get(name)
    }
    assert isinstance(a, xarray.Dataset)
    compared = int(np.prod([len(pairs) for pairs in places]))
    return CampaignComparison(table, attributes, status, only[0], only[1], compared, float(rtol), notes)


def _outputs(data: xarray.Dataset) -> list[str]:
    return [str(name) for name in data.data_vars if name not in (STATUS, MESSAGE, TRACEBACK)]


def _rows(data: xarray.Dataset, study: Study, axis: str) -> list[tuple[Any, ...]]:
    names = study.provenance["varied"][axis][0]
    return list(zip(*(data.coords[name].values.tolist() for name in names), strict=True))


def _statuses(a: xarray.Dataset, b: xarray.Dataset, axes: list[str], places: list[Any]) -> dict[tuple[str, str], int]:
    one, other = (
        data[STATUS].values[np.ix_(*(pairs[:, side] for pairs in places))].ravel() for side, data in enumerate((a, b))
    )
    pairs, counts = np.unique(np.stack([one, other]), axis=1, return_counts=True)
    return {(str(p), str(q)): int(n) for (p, q), n in zip(pairs.T, counts, strict=True)}


def _parts(places: list[Any], inner: int) -> Iterator[list[Any]]:
    """Yield the common cases in parts along the axes, small enough for memory."""
    rest = inner
    cut = len(places) - 1
    while cut > 0 and rest * len(places[cut]) <= MAX_PART_NUMBERS:
        rest *= len(places[cut])
        cut -= 1
    step = max(1, MAX_PART_NUMBERS // max(1, rest))
    for outer in np.ndindex(*(len(pairs) for pairs in places[:cut])):
        head = [pairs[k : k + 1] for pairs, k in zip(places[:cut], outer, strict=True)]
        for begin in range(0, len(places[cut]), step):
            yield [*head, places[cut][begin : begin + step], *places[cut + 1 :]]


def _difference(
    a: xarray.Dataset,
    b: xarray.Dataset,
    label: str,
    axes: list[str],
    places: list[Any],
    rtol: float,
    atol: float,
    notes: list[str],
) -> tuple[float, float, int, Any]:
    """Return largest and relative difference, number of differing cases, and the case of the largest one."""
    inner = [min(a.sizes[dim], b.sizes[dim]) for dim in a[label].dims[len(axes) :]]
    room = {dim: slice(0, n) for dim, n in zip(a[label].dims[len(axes) :], inner, strict=True)}
    if any(a.sizes[dim] != b.sizes[dim] for dim in room):
        notes.append(f"{label!r} has another number of values in the two campaigns: the common ones are compared")
    size = largest = 0.0
    case: Any = None
    misses = []
    for part in _parts(places, int(np.prod(inner))):
        x, y = (
            np.asarray(data[label].isel({axis: p[:, side] for axis, p in zip(axes, part, strict=True)} | room).values)
            for side, data in enumerate((a, b))
        )
        with np.errstate(invalid="ignore"):
            gap = np.where(np.isnan(x) & np.isnan(y), 0.0, np.abs(y - x))
        gap = np.where(np.isnan(gap), np.inf, gap)
        worst = gap.reshape(*gap.shape[: len(axes)], -1).max(axis=-1, initial=0.0)
        size = max(size, float(np.nanmax(np.abs(x), initial=0.0)))
        misses.append(worst.ravel())
        if worst.max(initial=0.0) > largest:
            largest = float(worst.max())
            at = np.unravel_index(int(worst.argmax()), worst.shape)
            case = {axis: _value(a, axis, int(p[k, 0])) for axis, p, k in zip(axes, part, at, strict=True)}
    differing = int((np.concatenate(misses) > atol + rtol * size).sum())
    return largest, largest / size if size else 0.0, differing, case


def _value(data: xarray.Dataset, axis: str, place: int) -> Any:
    return data.coords[axis].values[place].item() if axis in data.coords else place


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
