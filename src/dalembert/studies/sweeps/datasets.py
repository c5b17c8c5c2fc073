"""Labelled Dataset over the axes of a study, from the results of its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from .blocks import CaseBlock, join
from .cases import Axis, Design
from .recorded_outputs import Column, scattered

if TYPE_CHECKING:
    import xarray

__all__ = ["MemoryStore", "check_labels", "coordinates_of", "dataset", "dataset_of", "ordered"]

STATUS, MESSAGE, TRACEBACK = "status", "message", "traceback"
MAX_NOTES = 20


class MemoryStore:
    """In-memory store of finished blocks."""

    def __init__(self) -> None:
        self.blocks: list[CaseBlock] = []
        self.trouble = ""  # error message if a block could not be written

    def finished(self) -> set[int]:
        """Return the numbers of cases that are finished."""
        return set()

    def keep(self, block: CaseBlock) -> None:
        """Add a finished block."""
        self.blocks.append(block)

    def close(self) -> None:
        """Do nothing: no file is open."""


def ordered(blocks: Iterable[CaseBlock]) -> CaseBlock:
    """Merge blocks in order of cases."""
    return join(sorted((block for block in blocks if block.numbers), key=lambda block: block.numbers[0]))


def check_labels(design: Design, labels: Iterable[str]) -> None:
    """Raise for labels that already name an axis or a variable of the Dataset."""
    taken = {axis.name for axis in design.axes} | set(design.names)
    for label in labels:
        if label in taken:
            remedy = f"it is a varied name: give the output another label, {{'found {label}': {label!r}}}"
            raise ModelError("sweep", "outputs", label, remedy)
        if label in (STATUS, MESSAGE, TRACEBACK):
            raise ModelError("sweep", "outputs", label, "the Dataset has a variable of this name: use another label")


def dataset(design: Design, block: CaseBlock, attrs: Mapping[str, Any]) -> xarray.Dataset:
    """Return the Dataset of all cases; cases without a result have the status ``"not run"``."""
    variables = {}
    for label, column in block.columns.items():
        values = scattered(column, block.numbers, len(design)).values
        variables[label] = (column, values.reshape(*design.shape, *values.shape[1:]))
    return dataset_of(design, block, variables, attrs)


def dataset_of(
    design: Design, block: CaseBlock, variables: Mapping[str, tuple[Column, Any]], attrs: Mapping[str, Any]
) -> xarray.Dataset:
    """Return the Dataset of all cases from values over the axes, in memory or read on access.

    Parameters
    ----------
    design : Design
    block : CaseBlock
        Numbers, errors, tracebacks and notes of the cases with an outcome.
    variables : dict of label to (Column, values)
        Dimensions, unit and coordinates of the values of one case, and the values of all.
    attrs : dict
    """
    import xarray

    names = [axis.name for axis in design.axes]
    data = xarray.Dataset(coords=coordinates_of(design))
    status, message = np.full(len(design), "not run", dtype=object), np.full(len(design), "", dtype=object)
    for number, error in zip(block.numbers, block.errors, strict=True):
        status[number], message[number] = ("failed", error) if error else ("finished", "")
    for label, (column, values) in variables.items():
        check_labels(design, [label])
        dims = _dims(label, column, names)
        inner = values.shape[len(names) :]
        data[label] = xarray.Variable((*names, *dims), values)
        if column.unit:
            data[label].attrs["units"] = column.unit
        for dim, place in column.coords.items():
            if dim not in column.dims:
                continue
            at = dims[column.dims.index(dim)]
            if len(place) == inner[dims.index(at)] and at not in data.coords:
                data = data.assign_coords({at: (at, place)})
    data[STATUS] = (names, status.reshape(design.shape).astype(str))
    data[MESSAGE] = (names, message.reshape(design.shape).astype(str))
    if block.traces:
        traces = np.full(len(design), "", dtype=object)
        for number, text in block.traces.items():
            traces[number] = text
        data[TRACEBACK] = (names, traces.reshape(design.shape))
    notes = list(block.notes[:MAX_NOTES])
    if len(block.notes) > MAX_NOTES:
        notes.append(f"and {len(block.notes) - MAX_NOTES} more")
    return data.assign_attrs({**attrs, "notes": notes})


def _dims(label: str, column: Column, axes: list[str]) -> tuple[str, ...]:
    """Return the dimensions of a variable besides the axes, prefixed by its label if an axis has the same name."""
    return tuple(f"{label} {dim}" if dim in axes else dim for dim in column.dims)


def coordinates_of(design: Design) -> dict[str, Any]:
    """Return the coordinates of the axes: (dimension, values) by name."""
    coords: dict[str, Any] = {}
    for axis in design.axes:
        for name, values in axis.columns.items():
            coords[name] = (axis.name, _plain(axis, values))
    return coords


def _plain(axis: Axis, values: Any) -> Any:
    """Return values as a coordinate array of numbers or strings."""
    if all(isinstance(value, (int, float, np.integer, np.floating)) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else repr(value) for value in values], dtype=str)
