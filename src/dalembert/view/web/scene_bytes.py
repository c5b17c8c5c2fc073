"""Binary form of scenes: a description in JSON and blocks of numbers, which a page reads directly.

    8 bytes   "dalscene"
    4 bytes   length n of the description, little-endian
    n bytes   JSON, UTF-8, padded with blanks to a multiple of 4
    rest      blocks, each padded to a multiple of 4

Wherever the description has ``{"block": offset, "type": "float32", "shape": [...]}`` there is an array: `offset` counts
bytes from the first block, numbers are little-endian.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import DalembertError, FileError

__all__ = ["answered", "pack", "unpack"]

_MAGIC = b"dalscene"
_TYPES = {"float32": "<f4", "uint32": "<u4"}


def pack(description: Any) -> bytes:
    """Return a description as bytes; NumPy arrays in it become blocks, of float32 or, if of integers, uint32."""
    blocks: list[bytes] = []
    size = 0
    known: dict[bytes, int] = {}  # equal blocks are written once

    def plain(value: Any) -> Any:
        nonlocal size
        if isinstance(value, np.ndarray):
            kind = "uint32" if value.dtype.kind in "iu" else "float32"
            data = np.ascontiguousarray(value, dtype=_TYPES[kind]).tobytes()
            if data not in known:
                known[data] = size
                blocks.append(data)
                size += len(data)
            return {"block": known[data], "type": kind, "shape": list(value.shape)}
        if isinstance(value, dict):
            return {str(key): plain(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        return value.item() if isinstance(value, np.generic) else value

    text = json.dumps(plain(description), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([_MAGIC, struct.pack("<I", len(text)), text, *blocks])


def unpack(data: bytes) -> Any:
    """Return the description again, with its arrays.

    Raises
    ------
    FileError
        If these are no scene, or only a part of one.
    """
    if data[:8] != _MAGIC or len(data) < 12:
        raise FileError("scene", "bytes", data[:8], "they are no scene")
    length = struct.unpack("<I", data[8:12])[0]
    start = 12 + length

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"block", "type", "shape"}:
                return _array(data, start, value)
            return {key: whole(each) for key, each in value.items()}
        return [whole(each) for each in value] if isinstance(value, list) else value

    try:
        return whole(json.loads(data[12:start]))
    except (ValueError, KeyError, TypeError) as error:
        raise FileError("scene", "bytes", f"{len(data)} of them", f"they are damaged: {error}") from None


def _array(data: bytes, start: int, block: dict[str, Any]) -> ArrayLike:
    shape = tuple(block["shape"])
    count = int(np.prod(shape))
    return np.frombuffer(data, _TYPES[block["type"]], count, start + block["block"]).reshape(shape)


def answered(answer: Callable[[dict[str, Any]], dict[str, Any]], request: Any) -> bytes:
    """Return the packed answer to a request of the page; errors of this package become its message."""
    try:
        return pack(answer(request))
    except DalembertError as error:
        return pack({"say": str(error)})
