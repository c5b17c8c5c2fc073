"""Notes about switching functions that a method does not monitor along its steps."""

from __future__ import annotations

from ...errors import listed
from ...model import Model
from ..branch_log import owner_of

__all__ = ["fixed_step_note", "frequent_note", "unmonitored_note"]

_REMEDY = "give a shorter step, or a method with step control"


def fixed_step_note(model: Model, count: int, first: tuple[float, int]) -> str:
    """Return the note about steps of a fixed length in which a switching function changed sign and back.

    Parameters
    ----------
    model : Model
    count : int
        Number of such steps.
    first : (float, int)
        Time of the first one, s, and the number of its switching function.
    """
    t, function = first
    more = f", and {count - 1} more steps did so" if count > 1 else ""
    return (
        f"t = {t:.6g} s: the switching function of {owner_of(model, function)} changed sign and back within a step "
        f"of fixed length{more}, and both changes were missed; {_REMEDY}"
    )


def frequent_note(model: Model, t: float, function: int) -> str:
    """Return the note about a branch that changes too often for each change to end a step, from a time on, s."""
    return (
        f"t = {t:.6g} s: the switching function of {owner_of(model, function)} changes sign too often for steps to "
        "end at each change: from there on its branch follows the state within steps"
    )


def unmonitored_note(model: Model, method: str) -> list[str]:
    """Return the note that a method of another package does not monitor switching functions, if there are any."""
    owners = list(dict.fromkeys(owner_of(model, k) for k in range(len(model.switching_functions))))
    if not owners:
        return []
    return [
        f"{method} does not monitor switching functions ({listed(owners, 3, str)}): a branch that begins and ends "
        "within a step may be missed; give max_step, or a method of this package"
    ]
