"""File format of checkpoints: arrays and JSON with a checksum; reading executes no code."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import numpy as np

from ...arrays import Array
from ...result import EventRecord

__all__ = ["deserialize_checkpoint", "serialize_checkpoint"]

_HEAD = b"dalembert checkpoint 5\n"
_HISTORY, _ARRAY, _BYTES = "history_", "array_", "bytes_"
_WITH_ARRAYS = ("contact", "earlier_contact")
_PLAIN = (
    "notes",
    "methods",
    "recent",
    "written",
    "t_end",
    "events_watched",
    "request",
    "times",
    "model",
    "friction",
    "sampled_forces",
    "contact_bytes",
)


def serialize_checkpoint(point: dict[str, Any]) -> bytes:
    """Return a snapshot of a run as bytes: a head, a digest, an uncompressed .npz."""
    t, q, v, x = point["records"]
    events = [
        (e.name, e.t, e.q.tolist(), e.v.tolist(), e.x.tolist(), e.energy, e.message, e.dissipated)
        for e in point["events"]
    ]
    rest = {key: point[key] for key in _PLAIN} | {"events": events, "segments": point["segments"]}
    arrays: list[Array] = []
    rest |= {key: _without_arrays(point[key], arrays) for key in _WITH_ARRAYS}
    buffer = io.BytesIO()
    np.savez(
        buffer,
        checkpoint=np.frombuffer(point["checkpoint"], dtype=np.uint8),
        t=t,
        q=q,
        v=v,
        x=x,
        counts=point["counts"],
        g=point["g"],
        switch_times=point["branches"][0],
        switch_sides=point["branches"][1],
        rest=np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8),
        **{f"{_HISTORY}{k}": part for k, part in enumerate(point["history"])},
        **{f"{_ARRAY}{k}": part for k, part in enumerate(arrays)},  # type: ignore[arg-type]
    )
    blob = buffer.getvalue()
    return _HEAD + hashlib.sha256(blob).digest() + blob


def deserialize_checkpoint(blob: bytes) -> dict[str, Any]:
    """Return the snapshot; raise ValueError if the checksum does not match."""
    start = len(_HEAD) + 32
    if not blob.startswith(_HEAD) or hashlib.sha256(blob[start:]).digest() != blob[len(_HEAD) : start]:
        raise ValueError("its checkpoint is damaged")
    with np.load(io.BytesIO(blob[start:]), allow_pickle=False) as file:
        parts = {name: file[name] for name in file.files}
    point: dict[str, Any] = json.loads(parts["rest"].tobytes())
    point["events"] = [
        EventRecord(name, t, np.array(q, dtype=float), np.array(v, dtype=float), np.array(x, dtype=float), *others)
        for name, t, q, v, x, *others in point["events"]
    ]
    for key in _WITH_ARRAYS:
        point[key] = _with_arrays(point[key], parts)
    point["checkpoint"] = parts["checkpoint"].tobytes()
    point["records"] = tuple(parts[name] for name in "tqvx")
    point["counts"], point["g"] = parts["counts"], parts["g"]
    point["branches"] = parts["switch_times"], parts["switch_sides"]
    point["history"] = tuple(parts[f"{_HISTORY}{k}"] for k in range(sum(name.startswith(_HISTORY) for name in parts)))
    return point


def _without_arrays(value: Any, arrays: list[Array]) -> Any:
    """Return plain data with arrays and bytes replaced by their places among `arrays`, which are added."""
    if isinstance(value, dict):
        return {key: _without_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(part, arrays) for part in value]
    if not isinstance(value, (np.ndarray, bytes)):
        return value
    arrays.append(np.frombuffer(value, dtype=np.uint8) if isinstance(value, bytes) else value)
    return {_BYTES if isinstance(value, bytes) else _ARRAY: len(arrays) - 1}


def _with_arrays(value: Any, parts: dict[str, Array]) -> Any:
    """Return plain data with arrays and bytes in their places."""
    if isinstance(value, list):
        return [_with_arrays(part, parts) for part in value]
    if not isinstance(value, dict):
        return value
    for key in (_ARRAY, _BYTES):
        if value.keys() == {key}:
            found = parts[f"{_ARRAY}{value[key]}"]
            return found.tobytes() if key == _BYTES else found
    return {key: _with_arrays(part, parts) for key, part in value.items()}
