"""Exceptions and warnings of dalembert; messages name the item, the field, the value and a remedy."""

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
    "MemoryLimitError",
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
    """Root of all exceptions that dalembert raises.

    Attributes
    ----------
    result : Result or None
        Partial result of a failed simulation.
    """

    result: Any = None


class ModelError(DalembertError):
    """Data that cannot describe a mechanical system, or cannot be evaluated.

    Parameters
    ----------
    item : str
        Item being described or computed, by name: ``"body 'crank'"``.
    field : str
        The field or argument at fault: ``"mass"``.
    value : object
        The value that was given.
    remedy : str
        Allowed values, or what to do instead.
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
    """Graph of bodies and connections that the requested analysis does not support."""


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
    """No equilibrium; names the unbalanced or freely falling parts.

    Attributes
    ----------
    state : State or None
        Last configuration of the search.
    """

    state: Any = None


class SingularityError(DalembertError):
    """Singular matrix; names the coordinates that become undetermined."""


class IntegrationError(DalembertError):
    """Simulation that could not be continued; carries the partial result."""


class GradientError(DalembertError):
    """Derivative requested where none exists."""


class MissingPackageError(DalembertError, ImportError):
    """Optional package that is required but not installed.

    Parameters
    ----------
    purpose : str
        Purpose: ``"pictures"``.
    package : str
    remedy : str
        Installation command: ``"pip install matplotlib"``.
    """

    def __init__(self, purpose: str, package: str, remedy: str) -> None:
        self.purpose = purpose
        self.package = package
        self.remedy = remedy
        super().__init__(f"{purpose} need {package}, which is not installed; {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.purpose, self.package, self.remedy)


class MemoryLimitError(DalembertError, MemoryError):
    """A model whose evaluation needs more memory than the machine has.

    Attributes
    ----------
    needed, available : int
        Bytes.
    """

    def __init__(self, message: str, needed: int, available: int) -> None:
        self.needed = needed
        self.available = available
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.needed, self.available)


class UserFunctionError(DalembertError):
    """User function that failed; the original exception is chained."""


class ModelWarning(UserWarning):
    """Data that are impossible or unlikely for a mechanical system, and used as given."""


class BucklingWarning(UserWarning):
    """Compressive load on a flexible body that reduces its stiffness noticeably, or buckles it."""


class DeformationWarning(UserWarning):
    """Deformation of a flexible body beyond the range of linear modes."""


class OmissionWarning(UserWarning):
    """Data of a file or system that the other cannot represent, and that were omitted.

    Attributes
    ----------
    items : tuple of str
        Data left out or changed, one by one.
    """

    def __init__(self, message: str, items: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.items = items


class ModesWarning(UserWarning):
    """Mode set that misses much of the deformation under the loads: the body is too stiff."""


class StiffeningWarning(UserWarning):
    """Rotation so fast that a flexible body needs geometric stiffening, which is not enabled."""


def _short(value: Any, limit: int = 120) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # for a value that cannot be printed, such as an integer of 5000 digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(items: Iterable[Any], most: int = 8, text: Callable[[Any], str] = repr) -> str:
    """Return items as one text: ``'a', 'b' and 'c'``, or ``'a', 'b' and 3 more`` if there are more than `most`."""
    words = [text(item) for item in items]
    if len(words) > most:
        words[most:] = [f"{len(words) - most} more"]
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


def warn_user(warning: Warning) -> None:
    """Issue a warning at the calling line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
