"""Results as xarray Datasets, with names and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

    from ..result import Result

__all__ = ["to_dataset", "variable_name"]

_DIMENSIONS = {"q": "coordinate", "v": "speed", "a": "speed", "tau": "speed", "lam": "row", "x": "state"}


def to_dataset(result: Result, names: Sequence[str] = ()) -> xarray.Dataset:
    """Return a Dataset with states, accelerations, multipliers and the outputs named."""
    import xarray

    labels = result.labels
    data = xarray.Dataset(coords={"time": ("time", result.t, {"units": "s"})})
    for dimension, entries, units in (
        ("coordinate", labels.coordinates, labels.coordinate_units),
        ("speed", labels.speeds, labels.speed_units),
        ("row", labels.rows, labels.row_units),
    ):
        data = data.assign_coords({dimension: list(entries), f"{dimension}_unit": (dimension, list(units))})
    for name, meaning in (("q", "coordinates"), ("v", "speeds"), ("x", "states of elements")):
        data[name] = (("time", _DIMENSIONS[name]), np.array(getattr(result, name)), {"long_name": meaning})
    for name, meaning in (("a", "accelerations"), ("tau", "hinge forces"), ("lam", "multipliers")):
        values = result._columns_or_none(name)
        if values is not None:
            data[name] = (("time", _DIMENSIONS[name]), values, {"long_name": meaning})
    for name in [names] if isinstance(names, str) else names:
        data = _with_output(data, result, name)
    return data.assign_attrs(title=labels.system, status=result.status, message=result.message)


def _with_output(data: xarray.Dataset, result: Result, name: str) -> xarray.Dataset:
    """Return the Dataset with one more variable."""
    from ..result.outputs import Output

    if name in _DIMENSIONS:
        return data
    values = result[name]
    attributes: dict[str, Any] = {}
    labels: tuple[str, ...] = ()
    if result.model is not None:
        output = Output.of(result.model, name)
        attributes, labels = {"units": output.unit, "long_name": output.meaning}, output.labels
    dimensions = [f"{name}_{k}" for k in range(values.ndim - 1)]
    if labels == ("x", "y", "z"):
        data, dimensions = data.assign_coords(axis=list(labels)), ["axis"]
    elif values.shape[1:] == (3, 3):
        axes = ["x", "y", "z"]
        data, dimensions = data.assign_coords(axis=axes, frame_axis=axes), ["axis", "frame_axis"]
    elif labels and len(dimensions) == 1:
        data = data.assign_coords({dimensions[0]: list(labels)})
    data[variable_name(data, name)] = (("time", *dimensions), values, attributes)
    return data


def variable_name(data: xarray.Dataset, name: str) -> str:
    """Return the name of an output's variable: its own, unless a dimension is called so."""
    return f"{name} output" if name in data.coords else name
