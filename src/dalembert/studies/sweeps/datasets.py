"""Labelled Dataset over the axes of a study, from the results of its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from .cases import Axis, Design
from .jobs import CaseBlock, join
from .recorded_outputs import Column, scattered

if TYPE_CHECKING:
    import xarray

__all__ = ["MemoryStore", "check_labels", "dataset", "ordered"]

STATUS, MESSAGE = "status", "message"
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

    def whole(self) -> CaseBlock:
        """Return all blocks merged, in order of cases."""
        return ordered(self.blocks)

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
        if label in (STATUS, MESSAGE):
            raise ModelError("sweep", "outputs", label, "the Dataset has a variable of this name: use another label")


def dataset(design: Design, block: CaseBlock, attrs: Mapping[str, Any]) -> xarray.Dataset:
    """Return the Dataset of all cases; cases without a result have the status ``"not run"``."""
    import xarray

    names = [axis.name for axis in design.axes]
    data = xarray.Dataset(coords=_coordinates(design))
    status, message = np.full(len(design), "not run", dtype=object), np.full(len(design), "", dtype=object)
    for number, error in zip(block.numbers, block.errors, strict=True):
        status[number], message[number] = ("failed", error) if error else ("finished", "")
    for label, column in block.columns.items():
        check_labels(design, [label])
        dims = _dims(label, column, names)
        values = scattered(column, block.numbers, len(design)).values
        data[label] = ((*names, *dims), values.reshape(*design.shape, *values.shape[1:]))
        if column.unit:
            data[label].attrs["units"] = column.unit
        for dim, place in column.coords.items():
            at = dims[column.dims.index(dim)]
            if len(place) == values.shape[1 + dims.index(at)] and at not in data.coords:
                data = data.assign_coords({at: (at, place)})
    data[STATUS] = (names, status.reshape(design.shape).astype(str))
    data[MESSAGE] = (names, message.reshape(design.shape).astype(str))
    notes = list(block.notes[:MAX_NOTES])
    if len(block.notes) > MAX_NOTES:
        notes.append(f"and {len(block.notes) - MAX_NOTES} more")
    return data.assign_attrs({**attrs, "notes": notes})


def _dims(label: str, column: Column, axes: list[str]) -> tuple[str, ...]:
    """Return the dimensions of a variable besides the axes, prefixed by its label if an axis has the same name."""
    return tuple(f"{label} {dim}" if dim in axes else dim for dim in column.dims)


def _coordinates(design: Design) -> dict[str, Any]:
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
