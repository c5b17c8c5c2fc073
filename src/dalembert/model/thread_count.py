"""Number of threads for a batch."""

from __future__ import annotations

from .. import _core
from ..errors import ModelError

__all__ = ["set_threads", "threads"]


def threads() -> int:
    """Return the number of threads of batches; the number of cores unless `set_threads` was called."""
    return _core.threads()


def set_threads(count: int) -> None:
    """Set the number of threads of batches; 0 for the number of cores. Results do not depend on it."""
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 4096:
        raise ModelError("set_threads", "count", count, "give a whole number from 0 (all cores) to 4096")
    _core.set_threads(count)
