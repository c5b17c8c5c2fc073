"""What a format and a system do not share is left out, and said: once, with a list."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LeftOutWarning, warn_user

__all__ = ["say_left_out"]

_SHOWN = 12


def say_left_out(source: str, items: Sequence[str]) -> None:
    """Warn of what was left out or is taken otherwise; `source` is the file."""
    if not items:
        return
    listed = "\n  ".join([*items[:_SHOWN], *([f"and {len(items) - _SHOWN} more"] * (len(items) > _SHOWN))])
    message = f"{source}: left out, or taken otherwise\n  {listed}"
    warn_user(LeftOutWarning(message, tuple(items)))
