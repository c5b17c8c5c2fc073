"""Outputs as linear functions of a state, of parts of the core's report, and of motions of points.

Most outputs only select columns, add some of them, or change units: y = C p, with p the numbers of all sources that the
output uses. C follows from the output at unit vectors p = e_j, and is checked at random numbers. An output whose
function is not linear, or that looks at the conditions, has no such terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...model import Model, Pose
from .motion import Motion
from .output import Output

__all__ = ["LinearTerms", "Source", "linear_terms"]

Source: TypeAlias = "str | tuple[str, Marker]"
"""``"q"``, ``"v"``, ``"x"``, a part of the report, or ``"pose"``, ``"velocity"``, ``"acceleration"`` of a marker."""

CHECK_TOL = 1e-12  # of the largest number: rounding of sums
MAX_NUMBERS = 2000  # of the sources of one output


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """An output (m,) as a sum of terms.

    Attributes
    ----------
    sources : list of Source
    rows, sources_of, columns : (k,) int
        Of each term: the component of the output, the number of its source, and the index in that.
    factors : (k,)
    """

    sources: list[Source]
    rows: Any
    sources_of: Any
    columns: Any
    factors: Array


def linear_terms(output: Output, at: Motion, *, locks: bool, control: bool) -> LinearTerms | None:
    """Return the terms of an output, None if it is not linear in its sources.

    Parameters
    ----------
    output : Output
        Of one shape.
    at : Motion
        One state, for the sizes of the sources.
    locks, control : bool
        Whether the conditions may have locks, and a control.
    """
    if output.shape is None or output.history is not None:
        return None
    probe = _Probe(at, {}, locks=locks, control=control)
    if _value(output, probe) is None:
        return None
    sizes = {source: int(np.prod(shape)) for source, shape in probe.shapes.items()}
    total = sum(sizes.values())
    if not total or total > MAX_NUMBERS:
        return None
    sources, ends = list(sizes), np.cumsum(list(sizes.values()))
    numbers = np.vstack([np.eye(total), np.random.default_rng(1).uniform(-1.0, 1.0, (2, total))])
    given = dict(zip(sources, np.split(numbers, ends[:-1], axis=1), strict=True))
    values = _value(output, _Probe(at, given, locks=locks, control=control))
    if values is None or not np.isfinite(values).all():
        return None
    C = values[:total].T
    if not np.allclose(numbers[total:] @ C.T, values[total:], rtol=0.0, atol=CHECK_TOL * np.abs(values).max(initial=1)):
        return None
    rows, places = np.nonzero(C)
    which = np.searchsorted(ends, places, side="right")
    begins = ends - np.array(list(sizes.values()))
    return LinearTerms(sources, rows, which, places - begins[which], np.ascontiguousarray(C[rows, places]))


def _value(output: Output, motion: Motion) -> Array | None:
    """Return an output at probe numbers, (n, m); None if it has none there."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(output.value(motion), dtype=float).reshape(len(motion), -1)
    except Exception:  # the probe refuses more than numbers, and no motion has such numbers
        return None


class _NotLinear(Exception):
    """An output looks at more than numbers of its sources."""


class _Probe(Motion):
    """Motion whose numbers are given by source, or ones; it keeps the shapes of the sources that are used."""

    def __init__(self, at: Motion, given: dict[Source, Array], *, locks: bool, control: bool) -> None:
        self.at, self.given, self.locks, self.control = at, given, locks, control
        self.count = len(next(iter(given.values()))) if given else 1
        self.shapes: dict[Source, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return self.count

    def _numbers(self, source: Source, shape: tuple[int, ...]) -> Array:
        self.shapes[source] = shape
        given = self.given.get(source)
        if given is None and self.given:
            raise _NotLinear
        return np.ones((1, *shape)) if given is None else given.reshape(-1, *shape).copy()

    @property
    def model(self) -> Model:  # type: ignore[override]
        """Refused: functions of the model are no sources, and depend on its parameters."""
        raise _NotLinear

    @property
    def layout(self) -> Model:
        """The model, for names and indices."""
        return self.at.model

    @property
    def conditions(self) -> Any:  # type: ignore[override]
        """Refused: they change during a run."""
        raise _NotLinear

    t = conditions

    @property
    def q(self) -> Array:  # type: ignore[override]
        """Coordinates."""
        return self._numbers("q", (self.at.model.nq,))

    @property
    def v(self) -> Array:  # type: ignore[override]
        """Velocities."""
        return self._numbers("v", (self.at.model.nv,))

    @property
    def x(self) -> Array:  # type: ignore[override]
        """States of elements."""
        return self._numbers("x", (self.at.model.nx,))

    @property
    def has_locks(self) -> bool:
        """Whether there may be locks."""
        return self.locks

    @property
    def has_control(self) -> bool:
        """Whether there is a control."""
        return self.control

    @property
    def joint_efforts(self) -> Array:
        """Efforts of stops and friction beside rigid contact: none without contacts."""
        if self.at.contact_sources:
            raise _NotLinear
        return np.zeros((self.count, self.at.model.nv + self.at.model.compiled.names.cut_nv))

    def part(self, name: str) -> Array:
        """Return a part of the report."""
        return self._numbers(name, self.at.part(name).shape[1:])

    def pose(self, marker: Marker) -> Pose:
        """Return the pose of a marker."""
        raw = self._numbers(("pose", marker), (12,))
        return Pose(raw[:, :9].reshape(-1, 3, 3), raw[:, 9:])

    def velocity(self, marker: Marker) -> tuple[Array, Array]:
        """Return the angular velocity and the velocity of a marker."""
        raw = self._numbers(("velocity", marker), (6,))
        return raw[:, :3], raw[:, 3:]

    def acceleration(self, marker: Marker) -> tuple[Array, Array]:
        """Return the angular acceleration and the acceleration of a marker."""
        raw = self._numbers(("acceleration", marker), (6,))
        return raw[:, :3], raw[:, 3:]
