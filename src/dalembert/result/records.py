"""Records of a result besides its states: statistics, events, names and units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..model import Model
from ..model.cache import cached_per_model
from .outputs.units import rate_unit, row_units

__all__ = ["TIME", "Axis", "EventRecord", "Labels", "Stats"]


@dataclass(repr=False)
class Stats:
    """Statistics of a simulation.

    Attributes
    ----------
    method : str
    steps, rejected : int
        Accepted and rejected steps.
    evaluations, jacobians, factorizations : int
        Evaluations of the equations of motion and of their derivatives, and matrix factorizations.
    wall_time : float, s
    rtol : float
    atol : float or dict of str to float
    notes : list of str
        Decisions that were made automatically. Those of a run are found when they are read; see `find_notes_later`.
    error : float or None
        Estimate of the error of positions of a run with contact by steps, rad or m; None: not estimated.
    """

    method: str = ""
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    jacobians: int = 0
    factorizations: int = 0
    wall_time: float = 0.0
    rtol: float = 0.0
    atol: float | dict[str, float] = 0.0
    notes: list[str] = field(default_factory=list)
    error: float | None = None

    def find_notes_later(self, find: Callable[[], list[str]]) -> None:
        """Replace the notes by those that a function returns, which is called when they are first read."""
        self.__dict__.pop("notes", None)
        self.__dict__["_find_notes"] = find

    if not TYPE_CHECKING:  # other unknown attributes stay errors of type checkers

        def __getattr__(self, name: str) -> Any:  # of attributes that are not set
            find = self.__dict__.get("_find_notes") if name == "notes" else None
            if find is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            notes = self.__dict__.setdefault("notes", find())
            self.__dict__.pop("_find_notes", None)
            return notes

    def __getstate__(self) -> dict[str, Any]:
        _ = self.notes
        return self.__dict__

    def __repr__(self) -> str:
        rows = [
            ("method", self.method or "-"),
            ("steps", f"{self.steps} ({self.rejected} rejected)"),
            ("evaluations", f"{self.evaluations}"),
            ("jacobians", f"{self.jacobians}"),
            ("factorizations", f"{self.factorizations}"),
            ("wall time", f"{self.wall_time:.3g} s"),
            ("tolerances", f"rtol {self.rtol:.3g}, atol {self._absolute()}"),
            *([] if self.error is None else [("error", f"{self.error:.3g}")]),
            *(("note", note) for note in self.notes),
        ]
        return "\n".join(f"{name:<15} {text}" for name, text in rows)

    def _absolute(self) -> str:
        if isinstance(self.atol, dict):
            return ", ".join(f"{name} {number:.3g}" for name, number in self.atol.items())
        return f"{self.atol:.3g}"


@dataclass(frozen=True, eq=False)
class EventRecord:
    """Event that occurred during a simulation.

    Attributes
    ----------
    name : str
    t : float, s
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
        Before the action of the event.
    x : (nx,)
    energy : float, J
        Change of the total energy by the action.
    message : str
        Description of the action.
    dissipated : float, J
        Energy dissipated by impacts, locks and closing constraints. The remainder, energy + dissipated, is work.
    is_exchange : bool
        Its energy is part of the exchanges of contacts (`ContactExchanges`).
    """

    name: str
    t: float
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    x: Array = field(repr=False, default_factory=lambda: np.zeros(0))
    energy: float = 0.0
    message: str = ""
    dissipated: float = 0.0
    is_exchange: bool = False


@dataclass(frozen=True)
class Axis:
    """Axis of a result: time in seconds, or values of a coordinate driven with unit velocity.

    Examples
    --------
    >>> Axis("A", "rad").label, Axis("A", "rad").at(0.5), Axis("row", "1").label
    ('A [rad]', 'A = 0.5 rad', 'row')
    """

    name: str = "t"
    unit: str = "s"

    @property
    def is_time(self) -> bool:
        """True if the axis is time."""
        return self == TIME

    @property
    def label(self) -> str:
        """Name and unit, for an axis of a plot or the head of a column."""
        return self.name if self.unit == "1" else f"{self.name} [{self.unit}]"

    @property
    def ending(self) -> str:
        """Unit as a suffix of a number."""
        return "" if self.unit == "1" else f" {self.unit}"

    def at(self, value: float, form: str = ".6g") -> str:
        """Return a value on the axis as text."""
        return f"{self.name} = {value:{form}}{self.ending}"

    def span(self, first: float, last: float) -> str:
        """Return an interval of the axis as text."""
        return f"{first:.6g} to {last:.6g}{self.ending}"


TIME = Axis()


@dataclass(frozen=True)
class Labels:
    """Names and units of the columns of a result; a result read from a file has them without a model."""

    system: str
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    rows: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    speed_units: tuple[str, ...]
    row_units: tuple[str, ...]

    @classmethod
    def of(cls, model: Model) -> Labels:
        """Return the labels of a model."""
        return _labels(model)


@cached_per_model
def _labels(model: Model) -> Labels:
    return Labels(
        model.system.name,
        model.coordinate_names,
        model.speed_names,
        model.constraint_names,
        model.compiled.names.coordinate_units,
        tuple(map(rate_unit, model.compiled.names.speed_units)),
        tuple(row_units(model)) if model.nc else (),
    )
