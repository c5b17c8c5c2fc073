"""Container of model files: named tables of rows with named fields, with a checksum.

The layout is described in the core, ``border/model_file.hpp``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core

__all__ = ["table_file"]

_TYPES = {"f8": b"d", "i4": b"i", "i8": b"q", "u1": b"b"}


def table_file(tables: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a model file with tables by name: structured arrays, or arrays of plain numbers."""
    parts = [struct.pack("<I", len(tables))]
    for name, rows in tables.items():
        rows = np.ascontiguousarray(rows)
        parts.append(_text(name))
        fields = _fields(rows.dtype)
        parts.append(struct.pack("<H", len(fields)))
        for field, code, count, offset in fields:
            parts.append(_text(field) + code + struct.pack("<II", count, offset))
        parts.append(struct.pack("<IQ", rows.dtype.itemsize, rows.size))
        parts.append(rows.tobytes())
    body = b"".join(parts)
    return b"DALM\0\0\0" + bytes([_core.file_format]) + struct.pack("<Q", _core.file_checksum(body)) + body


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<H", len(encoded)) + encoded


def _fields(dtype: np.dtype[Any]) -> list[tuple[str, bytes, int, int]]:
    """Return name, type, count and offset of each field; of plain numbers one field without a name."""
    if dtype.names is None:
        return [("", _TYPES[dtype.str[1:]], 1, 0)]
    assert dtype.fields is not None
    found = []
    for name in dtype.names:
        part, offset = dtype.fields[name][:2]
        found.append((name, _TYPES[part.base.str[1:]], int(np.prod(part.shape, dtype=int)), int(offset)))
    return found
