"""Result of a command: text, data as JSON, exit status."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["DONE", "FAILED", "INTERRUPTED", "WRONG", "CommandResult"]

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130


class CommandResult(NamedTuple):
    """Text to print, data for ``--json``, exit status, and error text."""

    text: str
    data: Mapping[str, Any] = {}
    status: int = DONE
    error_text: str = ""

    def as_json(self) -> str:
        """Return the data as JSON; NaN and infinite numbers are null."""
        return json.dumps({"status": self.status, **{k: _plain(x) for k, x in self.data.items()}}, indent=2)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else str(value)
