"""Units, shapes and meanings of stored outputs, for a result that is read without its model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..outputs.output import Output
from ..records import Labels

if TYPE_CHECKING:
    from ..outputs.motion import Motion
    from ..result import Result

__all__ = ["output_metadata", "read_output_metadata"]


def output_metadata(result: Result, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the stored metadata of some outputs: unit, shape, meaning, labels, and the additions of `describe`."""
    metadata: dict[str, dict[str, Any]] = {}
    for name in names:
        output = result.find_output(name)
        if output is not None:
            added = result.describe(name)[len(output.describe()) :] if output.determined is not None else ""
            shape = None if output.shape is None else list(output.shape)
            metadata[name] = {"unit": output.unit, "shape": shape, "meaning": output.meaning + added}
            metadata[name]["labels"] = list(output.labels)
    return metadata


def read_output_metadata(labels: Labels, metadata: Mapping[str, Mapping[str, Any]], name: Any) -> Output | None:
    """Return unit, shape and meaning of a stored output; None if the file has none."""
    if not isinstance(name, str):
        return None
    if name in metadata:
        known = metadata[name]
        shape = None if known["shape"] is None else tuple(known["shape"])
        return Output(name, known["unit"], shape, known["meaning"], _unknown, labels=tuple(known["labels"]))
    whole_states = {
        "q": (labels.coordinates, labels.coordinate_units, "coordinates"),
        "v": (labels.speeds, labels.speed_units, "speeds"),
    }
    if name in whole_states:
        parts, own, meaning = whole_states[name]
        return Output(name, ", ".join(own), (len(own),), meaning, _unknown, labels=parts)
    owner, _, ending = name.rpartition(".")
    if ending in metadata.get(owner, {}).get("labels", ()):  # a component, as in tables
        whole = read_output_metadata(labels, metadata, owner)
        assert whole is not None
        each = [unit.strip() for unit in whole.unit.split(",")]
        unit = each[whole.labels.index(ending)] if len(each) == len(whole.labels) else whole.unit
        return Output(name, unit, (), f"{whole.meaning} ({ending})", _unknown)
    for level, owners, units in (
        ("position", labels.coordinates, labels.coordinate_units),
        ("speed", labels.speeds, labels.speed_units),
    ):
        if ending == level and owner in owners:
            return Output(name, units[owners.index(owner)], (), f"{level} of {owner!r}", _unknown)
    return None


def _unknown(motion: Motion) -> Any:
    raise ModelError("result", "model", None, "the file contains numbers only: load it with model=...")
