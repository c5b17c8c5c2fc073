"""One warning that lists everything a file format cannot represent."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import OmissionWarning, warn_user

__all__ = ["warn_omitted"]

MAX_LISTED = 12


def warn_omitted(source: str, items: Sequence[str]) -> None:
    """Warn of omissions and approximations; `source` is the file."""
    if not items:
        return
    listed = "\n  ".join([*items[:MAX_LISTED], *([f"and {len(items) - MAX_LISTED} more"] * (len(items) > MAX_LISTED))])
    message = f"{source}: left out, or approximated\n  {listed}"
    warn_user(OmissionWarning(message, tuple(items)))
