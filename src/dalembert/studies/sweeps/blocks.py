"""Blocks: results of several cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .recorded_outputs import Column, together

__all__ = ["CaseBlock", "in_order", "join", "settle"]


@dataclass
class CaseBlock:
    """Results of several cases."""

    numbers: list[int]
    errors: list[str]  # "" for a case that finished
    columns: dict[str, Column]
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0  # duration
    traces: dict[int, str] = field(default_factory=dict)  # tracebacks of failed cases
    stored: bool = False  # whether the values are in the store, and not here


def settle(block: CaseBlock, dims: dict[str, tuple[str, ...]]) -> CaseBlock:
    """Return a block whose values have the dimensions of earlier blocks; cases that differ are marked failed."""
    for label, column in list(block.columns.items()):
        if dims.setdefault(label, column.dims) != column.dims:
            message = (
                f"ModelError: {label!r} has the dimensions {column.dims} in this case and {dims[label]} in other cases"
            )
            block.errors = [error or message for error in block.errors]
            block.columns = {}
            break
    return block


def join(blocks: Sequence[CaseBlock]) -> CaseBlock:
    """Concatenate blocks."""
    dims: dict[str, tuple[str, ...]] = {}
    blocks = [settle(block, dims) for block in blocks]
    numbers = [number for block in blocks for number in block.numbers]
    errors = [error for block in blocks for error in block.errors]
    notes = list(dict.fromkeys(note for block in blocks for note in block.notes))
    labels = dict.fromkeys(label for block in blocks for label in block.columns)
    columns = {}
    for label in labels:
        columns[label] = together([(block.columns.get(label), len(block.numbers)) for block in blocks])
    traces = {number: text for block in blocks for number, text in block.traces.items()}
    return CaseBlock(numbers, errors, columns, notes, sum(block.seconds for block in blocks), traces)


def in_order(block: CaseBlock) -> CaseBlock:
    """Return a block in order of its cases."""
    order = sorted(range(len(block.numbers)), key=block.numbers.__getitem__)
    columns = {label: Column(c.dims, c.values[order], c.unit, c.coords) for label, c in block.columns.items()}
    numbers, errors = [block.numbers[k] for k in order], [block.errors[k] for k in order]
    return CaseBlock(numbers, errors, columns, block.notes, block.seconds, block.traces)
