"""Labelled Dataset over the axes of a study, from the answers of its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from .cases import Axis, Design
from .jobs import CaseBlock, join
from .recorded_outputs import Column, blank

if TYPE_CHECKING:
    import xarray

__all__ = ["MemoryStore", "check_labels", "dataset", "ordered"]

STATUS, MESSAGE = "status", "message"
MAX_NOTES = 20


class MemoryStore:
    """Blocks as they come, in memory."""

    def __init__(self) -> None:
        self.blocks: list[CaseBlock] = []
        self.trouble = ""  # why something could not be kept where it was to be

    def finished(self) -> set[int]:
        """Return the numbers of cases that need not be run."""
        return set()

    def keep(self, block: CaseBlock) -> None:
        """Take in a block."""
        self.blocks.append(block)

    def whole(self) -> CaseBlock:
        """Return all blocks as one, in order of cases."""
        return ordered(self.blocks)

    def close(self) -> None:
        """Nothing is open."""


def ordered(blocks: Iterable[CaseBlock]) -> CaseBlock:
    """Return blocks as one, in order of cases."""
    return join(sorted((block for block in blocks if block.numbers), key=lambda block: block.numbers[0]))


def check_labels(design: Design, labels: Iterable[str]) -> None:
    """Refuse labels that mean something else in the Dataset."""
    taken = {axis.name for axis in design.axes} | set(design.names)
    for label in labels:
        if label in taken:
            remedy = f"it is what varies: give the output a label of its own, {{'found {label}': {label!r}}}"
            raise ModelError("sweep", "outputs", label, remedy)
        if label in (STATUS, MESSAGE):
            raise ModelError("sweep", "outputs", label, "the answer has a variable of this name: give another label")


def dataset(design: Design, block: CaseBlock, attrs: Mapping[str, Any]) -> xarray.Dataset:
    """Return the Dataset of all cases, those that are not among the answers marked so."""
    import xarray

    names = [axis.name for axis in design.axes]
    data = xarray.Dataset(coords=_coordinates(design))
    status, message = np.full(len(design), "not run", dtype=object), np.full(len(design), "", dtype=object)
    for number, error in zip(block.numbers, block.errors, strict=True):
        status[number], message[number] = ("failed", error) if error else ("finished", "")
    for label, column in block.columns.items():
        check_labels(design, [label])
        dims = _dims(label, column, names)
        values = _scattered(column, block.numbers, len(design))
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
    """Return dimensions of a variable that are none of the axes; those that have the name of one get their label."""
    return tuple(f"{label} {dim}" if dim in axes else dim for dim in column.dims)


def _scattered(column: Column, numbers: list[int], count: int) -> np.ndarray[Any, Any]:
    if numbers == list(range(count)):
        return column.values
    kind = column.values.dtype
    kind = np.dtype(float) if kind.kind in "iub" else np.dtype(object) if kind.kind in "US" else kind
    values = np.full((count, *column.values.shape[1:]), blank(kind), dtype=kind)
    values[numbers] = column.values
    return values


def _coordinates(design: Design) -> dict[str, Any]:
    coords: dict[str, Any] = {}
    for axis in design.axes:
        for name, values in axis.columns.items():
            coords[name] = (axis.name, _plain(axis, values))
    return coords


def _plain(axis: Axis, values: Any) -> Any:
    """Return values as an array for a coordinate: numbers, or texts."""
    if all(isinstance(value, (int, float, np.integer, np.floating)) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else repr(value) for value in values], dtype=str)
