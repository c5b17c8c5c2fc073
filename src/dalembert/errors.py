"""The errors of dalembert: one tree, each naming the item, the field, the value and the way out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

__all__ = [
    "AssemblyError",
    "BucklingWarning",
    "DalembertError",
    "DeformationWarning",
    "EquilibriumError",
    "FileError",
    "GradientError",
    "IntegrationError",
    "MissingPackageError",
    "ModelError",
    "ModelWarning",
    "ModesWarning",
    "OmissionWarning",
    "SingularityError",
    "StiffeningWarning",
    "TopologyError",
    "UserFunctionError",
]


class DalembertError(Exception):
    """Root of every error that dalembert raises on purpose.

    Attributes
    ----------
    result : Result or None
        What a simulation had computed before it failed.
    """

    result: Any = None


class ModelError(DalembertError):
    """Data that cannot describe a mechanical system, or cannot be evaluated.

    Parameters
    ----------
    item : str
        What was being described or computed, by name: ``"body 'crank'"``.
    field : str
        The field or argument at fault: ``"mass"``.
    value : object
        The value that was given.
    remedy : str
        What is allowed, or what to do instead.
    """

    def __init__(self, item: str, field: str, value: Any, remedy: str) -> None:
        self.item = item
        self.field = field
        self.value = value
        self.remedy = remedy
        super().__init__(f"{item}: {field} is {_short(value)}; {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.item, self.field, self.value, self.remedy), {"result": self.result}


class FileError(ModelError):
    """A file that is damaged, was not written by dalembert, or is being written by another process."""


class TopologyError(DalembertError):
    """A graph of bodies and connections that the requested analysis cannot take."""


class AssemblyError(DalembertError):
    """No configuration closes the loops; names the largest residuals by connection.

    Attributes
    ----------
    q : (nq,) array or None
        The best configuration reached.
    residuals : dict of str to float
        Largest residual of each connection there, m or rad, largest first.
    """

    q: Any = None
    residuals: dict[str, float] = {}  # noqa: RUF012  (replaced, never filled)


class EquilibriumError(DalembertError):
    """No equilibrium: what falls for ever or cannot be balanced, by name.

    Attributes
    ----------
    state : State or None
        The last one that was looked at.
    """

    state: Any = None


class SingularityError(DalembertError):
    """A matrix that must be regular is not; names the coordinates that lose their meaning."""


class IntegrationError(DalembertError):
    """A simulation that could not go on; carries the partial result."""


class GradientError(DalembertError):
    """A derivative was asked for where none exists."""


class MissingPackageError(DalembertError, ImportError):
    """A part of dalembert needs a package that is not installed.

    Parameters
    ----------
    purpose : str
        What it is needed for: ``"pictures"``.
    package : str
    remedy : str
        What to install: ``"pip install matplotlib"``.
    """

    def __init__(self, purpose: str, package: str, remedy: str) -> None:
        self.purpose = purpose
        self.package = package
        self.remedy = remedy
        super().__init__(f"{purpose} need {package}, which is not installed; {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.purpose, self.package, self.remedy)


class UserFunctionError(DalembertError):
    """A function given by the user failed; the user's exception is chained."""


class ModelWarning(UserWarning):
    """Data that no mechanical system can have, or hardly anyone means, and that are taken as they stand."""


class BucklingWarning(UserWarning):
    """A flexible body is pressed so hard that what its loads take from its stiffness counts, or that it buckles."""


class DeformationWarning(UserWarning):
    """A flexible body deforms more than modes that are linear can tell."""


class OmissionWarning(UserWarning):
    """What a file has and a system cannot hold, or a system has and a file cannot: it is left out, and said.

    Attributes
    ----------
    items : tuple of str
        What is left out or taken otherwise, one by one.
    """

    def __init__(self, message: str, items: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.items = items


class ModesWarning(UserWarning):
    """The modes of a flexible body miss much of how its loads deform it: it comes out too stiff."""


class StiffeningWarning(UserWarning):
    """A flexible body spins so fast that it needs geometric stiffening, and has none."""


def _short(value: Any, limit: int = 120) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a value that cannot even be printed, such as an integer of 5000 digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(items: Iterable[Any], most: int = 8, text: Callable[[Any], str] = repr) -> str:
    """Return items as one text: ``'a', 'b' and 'c'``, or ``'a', 'b' and 3 more`` if there are more than `most`."""
    words = [text(item) for item in items]
    if len(words) > most:
        words[most:] = [f"{len(words) - most} more"]
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


def warn_user(warning: Warning) -> None:
    """Issue a warning at the line outside this package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
