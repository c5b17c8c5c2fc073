"""Checksums: a digest of the contents of a file; a damaged file is refused.

The digest covers names and numbers as they are read back, not bytes: another compression of a store or other line ends
of a table leave it valid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array

__all__ = ["block_checksum", "check_checksum", "with_checksum"]

_KEY = "seal"


def with_checksum(note: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> str:
    """Return a note as JSON, with the checksum of it and of its arrays (any shape)."""
    plain = json.loads(json.dumps(note))
    return json.dumps({**plain, _KEY: _digest(plain, arrays or {})})


def check_checksum(note: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> None:
    """Raise ValueError unless a note, as read back, and its arrays match its checksum."""
    plain = {key: value for key, value in note.items() if key != _KEY}
    if _digest(plain, arrays or {}) != note.get(_KEY):
        raise ValueError("its checksum does not match its contents")


def block_checksum(block: bytes, start: int) -> bytes:
    """Return the checksum (8 bytes) of bytes at a position of a file."""
    return hashlib.blake2b(block, digest_size=8, salt=start.to_bytes(16, "little")).digest()


def _digest(note: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    found = hashlib.sha256(json.dumps(note, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name], dtype="<f8")
        missing = np.isnan(array)
        if missing.any():  # text has only one NaN
            array = np.where(missing, np.nan, array)
        found.update(f"{name} {array.shape}".encode("utf-8", "surrogatepass"))
        found.update(array.tobytes())
    return found.hexdigest()
