"""Scatter of a design: outputs over random deviations, reduced to statistics for robust and reliable designs.

The same standard samples are used at every design, so that statistics are smooth functions of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import whole_number
from ...errors import ModelError
from ...model import Model
from ..sweeps.cases import make_design

__all__ = ["Scatter", "make_scatter"]

_MEASURE = re.compile(r"mean(?:\s*([+-])\s*([0-9.]*)\s*std)?|std|min|max|quantile\s+([0-9.]+)")


@dataclass(frozen=True, eq=False)
class Scatter:
    """Random deviations of design variables and random values of other names.

    Attributes
    ----------
    deviations, values : dict of str to (S,)
        Samples: added to design variables, and of other names.
    measures : dict of label to str
        Statistic of each output; `default` for others.
    """

    deviations: dict[str, Array]
    values: dict[str, Array]
    measures: dict[str, str]
    default: str

    def __len__(self) -> int:
        return len(next(iter((self.deviations | self.values).values())))

    def cases(self, design: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the values of all samples of a design."""
        found = []
        for k in range(len(self)):
            moved = {name: design[name] + float(own[k]) for name, own in self.deviations.items()}
            found.append({**design, **moved, **{name: float(own[k]) for name, own in self.values.items()}})
        return found

    def reduced(self, samples: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
        """Return the statistics of outputs."""
        return {
            label: _statistic(self.measures.get(label, self.default), np.stack([one[label] for one in samples]))
            for label in samples[0]
        }


def _statistic(measure: str, values: Array) -> Array:
    """Return a statistic over the first axis."""
    found = _MEASURE.fullmatch(measure)
    assert found is not None
    if measure in ("std", "min", "max"):
        return np.asarray(values.std(axis=0, ddof=1) if measure == "std" else getattr(values, measure)(axis=0))
    if found[3]:
        return np.asarray(np.quantile(values, float(found[3]), axis=0))
    mean = values.mean(axis=0)
    if not found[1]:
        return np.asarray(mean)
    factor = float(found[2] or 1.0) * (1 if found[1] == "+" else -1)
    return np.asarray(mean + factor * values.std(axis=0, ddof=1))


def make_scatter(
    item: str, given: Mapping[str, Any] | None, samples: Any, measure: Any, seed: int, names: Sequence[str], model: Any
) -> Scatter | None:
    """Return the scatter from user arguments; see `optimize`."""
    if given is None:
        return None
    try:
        design = make_design(given, whole_number(samples, item=item, field="samples", least=2), "latin", seed)
    except ModelError as error:
        raise ModelError(item, error.field, error.value, error.remedy) from None
    if [axis.name for axis in design.axes] != ["sample"]:
        raise ModelError(item, "scatter", given, "give distributions of scipy.stats, by name")
    columns = {name: np.array(column, dtype=float) for name, column in design.axes[0].columns.items()}
    for name in columns:
        if name not in names and isinstance(model, Model) and name not in model.parameter_names:
            raise ModelError(item, "scatter", name, "it is neither a design variable nor a parameter of the system")
    each = dict(measure) if isinstance(measure, Mapping) else {}
    default = measure if isinstance(measure, str) else "mean"
    for one in (*each.values(), default):
        if not isinstance(one, str) or not _MEASURE.fullmatch(one):
            remedy = "use 'mean', 'mean + 3 std', 'std', 'min', 'max' or 'quantile 0.99'"
            raise ModelError(item, "measure", one, remedy)
    own = {name: column for name, column in columns.items() if name in names}
    return Scatter(own, {name: column for name, column in columns.items() if name not in names}, each, default)
