"""File format of checkpoints: arrays and JSON with a checksum; reading executes no code."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import numpy as np

from ...result import EventRecord

__all__ = ["deserialize_checkpoint", "serialize_checkpoint"]

_HEAD = b"dalembert checkpoint 4\n"
_HISTORY = "history_"
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
)


def serialize_checkpoint(point: dict[str, Any]) -> bytes:
    """Return a snapshot of a run as bytes: a head, a digest, an uncompressed .npz."""
    t, q, v, x = point["records"]
    events = [
        (e.name, e.t, e.q.tolist(), e.v.tolist(), e.x.tolist(), e.energy, e.message, e.dissipated)
        for e in point["events"]
    ]
    rest = {key: point[key] for key in _PLAIN} | {"events": events, "segments": point["segments"]}
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
    point["checkpoint"] = parts["checkpoint"].tobytes()
    point["records"] = tuple(parts[name] for name in "tqvx")
    point["counts"], point["g"] = parts["counts"], parts["g"]
    point["branches"] = parts["switch_times"], parts["switch_sides"]
    point["history"] = tuple(parts[f"{_HISTORY}{k}"] for k in range(sum(name.startswith(_HISTORY) for name in parts)))
    return point
