"""`check_element`: whether a law that a user wrote is fit to be simulated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..connections.elements import Element
from ..errors import ModelError
from ..rotation import finite_number

__all__ = ["ElementReport", "check_element"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ElementReport:
    """What `check_element` found.

    Attributes
    ----------
    ok : bool
        Nothing was found that forbids its use.
    problems : list of str
        What is wrong, each with the inputs at which it shows.
    slope_error : float
        Largest difference between slopes of forces taken with two step lengths, relative; small for smooth laws.
    rough : int
        Points, of those tried, at which the law is not smooth.
    static_remainder : float
        Largest part of the forces at rest that is no slope of the energy, N or N m: work around a closed path.
    created : float, W
        Largest power that the element made out of nothing; of an active element, that it brought.
    dissipated : float, W
        Largest power that it took away.
    """

    problems: list[str] = field(default_factory=list)
    slope_error: float = 0.0
    rough: int = 0
    static_remainder: float = 0.0
    created: float = 0.0
    dissipated: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __repr__(self) -> str:
        lines = [
            "fit for use" if self.ok else f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)}",
            f"slopes            differ by {self.slope_error:.2g}; not smooth at {self.rough} points",
            f"forces at rest    {self.static_remainder:.3g} beyond the slope of the energy",
            f"power             {self.created:.3g} W created or brought, {self.dissipated:.3g} W dissipated at most",
        ]
        return "\n".join([*lines, *(f"- {problem}" for problem in self.problems)])


def check_element(
    element: Element, *, size: float = 1.0, speed: float = 1.0, points: int = 200, seed: int = 0
) -> ElementReport:
    """Return a report on the law of an element, from random measures, rates, states and times.

    Parameters
    ----------
    element : Element
    size, speed : float
        How large measures and rates are that are tried, m or rad and m/s or rad/s; states are tried about their starts.
    points : int
    seed : int
        Of the random numbers.

    It looks whether the law answers with finite numbers, at rest and far away too; whether it gives the same answer for
    the same inputs (a function with a memory of its own cannot be integrated); whether forces are smooth; whether they
    fit the energy: an element that is not active must not create any. Objectivity needs no check: all that is measured
    is seen from the first marker.

    Examples
    --------
    >>> import dalembert as da
    >>> da.check_element(da.Element("hinge", "-k*s - c*ds", {"k": 4.0, "c": 0.1}, energy="k*s**2/2")).ok
    True
    >>> print(da.check_element(da.Element("hinge", "-4*s")).problems[0])  # doctest: +ELLIPSIS
    it creates energy: ...
    """
    if not isinstance(element, Element):
        raise ModelError("check_element", "element", element, "give a da.Element")
    for name, number in (("size", size), ("speed", speed)):
        if finite_number(number, item="check_element", field=name) <= 0:
            raise ModelError("check_element", name, number, "it must be positive")
    if not isinstance(points, int) or points < 1:
        raise ModelError("check_element", "points", points, "give a positive whole number")
    return _Check(element, size, speed, points, np.random.default_rng(seed)).report()


class _Check:
    def __init__(self, element: Element, size: float, speed: float, points: int, rng: np.random.Generator) -> None:
        self.element, self.size, self.speed = element, size, speed
        self.m, self.n = element.measures, len(element.states)
        self.problems: list[str] = []
        self.inputs = np.zeros((points, len(element.takes)))
        m, n = self.m, self.n
        self.inputs[:, 0] = rng.uniform(0, 1, size=points)
        self.inputs[:, 1 : 1 + m] = size * rng.uniform(-1, 1, size=(points, m))
        if element.measure == "distance":
            self.inputs[:, 1] = np.abs(self.inputs[:, 1])
        self.inputs[:, 1 + m : 1 + 2 * m] = speed * rng.uniform(-1, 1, size=(points, m))
        starts = np.array(list(element.starts.values()))
        self.inputs[:, 1 + 2 * m : 1 + 2 * m + n] = starts + (0.1 + np.abs(starts)) * rng.uniform(-1, 1, (points, n))
        self.inputs[:, 1 + 2 * m + n :] = list(element.parameters.values())

    def report(self) -> ElementReport:
        """Try everything; stop early if the law does not even answer."""
        answers = self._answers(self.inputs, "")
        if answers is None:
            return ElementReport(self.problems)
        self._try_extremes()
        again = self._answers(self.inputs[::-1], "")
        if again is None or not np.array_equal(again[::-1], answers):
            self.problems.append("it does not depend on its inputs alone: asked again, it answers otherwise")
            return ElementReport(self.problems)
        slope_error, rough = self._slopes()
        remainder = self._static_remainder()
        created, dissipated = self._power(answers)
        return ElementReport(self.problems, slope_error, rough, remainder, created, dissipated)

    def _where(self, row: Array) -> str:
        return ", ".join(f"{name} = {value:.4g}" for name, value in zip(self.element.takes, row, strict=True))

    def _answers(self, inputs: Array, when: str) -> Array | None:
        rows = []
        for row in inputs:
            try:
                answer = self.element.answers(row[None])[0]
            except Exception as error:
                self.problems.append(f"it fails{when}, {error!r}, at {self._where(row)}")
                return None
            if not np.isfinite(answer).all():
                self.problems.append(f"it is not finite{when}, at {self._where(row)}")
                return None
            rows.append(answer)
        return np.array(rows)

    def _try_extremes(self) -> None:
        m, base = self.m, self.inputs[:1].copy()
        rest = base.copy()
        rest[0, 1 : 1 + 2 * m] = 0.0
        self._answers(rest, " where all measures and rates are zero")
        for sign in (1.0, -1.0):
            far = base.copy()
            far[0, 1 : 1 + m] = 100.0 * self.size * (sign if self.element.measure != "distance" else 1.0)
            far[0, 1 + m : 1 + 2 * m] = 100.0 * self.speed * sign
            self._answers(far, " far out")

    def _raw(self, inputs: Array) -> Array:
        return self.element.answers(inputs)

    def _slope(self, inputs: Array, column: int, h: float) -> Array:
        step = np.zeros(inputs.shape[1])
        step[column] = h
        slope: Array = (self._raw(inputs + step) - self._raw(inputs - step)) / (2 * h)
        return slope

    def _slopes(self) -> tuple[float, int]:
        """Return how much slopes by two steps differ, and at how many points they do so badly."""
        worst, rough = 0.0, np.zeros(len(self.inputs), dtype=bool)
        scale = 1.0 + np.abs(self._raw(self.inputs)).max()
        for column in range(1, 1 + 2 * self.m):
            unit = self.size if column <= self.m else self.speed
            near, far = (self._slope(self.inputs, column, h * unit)[:, :-1] for h in (1e-5, 1e-3))
            error = np.abs(near - far).max(axis=1) * unit / scale
            error[~np.isfinite(error)] = np.inf
            worst, rough = max(worst, float(np.median(error))), rough | (error > 1e-2)
        if rough.mean() > 0.2:
            at = self.inputs[int(rough.argmax())]
            self.problems.append(f"its forces are rough: slopes depend on the step, as at {self._where(at)}")
        return worst, int(rough.sum())

    def _static_remainder(self) -> float:
        """Return by how much forces at rest miss the slope of the energy; only the attitude of a pose is left out."""
        m = self.m
        rest = self.inputs.copy()
        rest[:, 1 + m : 1 + 2 * m] = 0.0
        if self.n:
            return 0.0
        forces = self._raw(rest)
        columns = min(m, 3)
        misses = [forces[:, k] + self._slope(rest, 1 + k, 1e-5 * self.size)[:, -1] for k in range(columns)]
        known = np.abs(misses)[np.isfinite(misses)]
        return float(known.max()) if known.size else float("nan")

    def _power(self, answers: Array) -> tuple[float, float]:
        """Return the largest powers created and taken away: force times rate, and the growth of the energy."""
        m, n, h = self.m, self.n, 1e-5
        rates = np.zeros_like(self.inputs)
        rates[:, 0] = 1.0
        rates[:, 1 : 1 + m] = self.inputs[:, 1 + m : 1 + 2 * m]
        if self.element.measure == "pose":
            rates[:, 4:7] = _vector_rates(self.inputs[:, 4:7], rates[:, 4:7])
        rates[:, 1 + 2 * m : 1 + 2 * m + n] = answers[:, m : m + n]
        stretch = h / (1.0 + np.abs(rates).max(axis=1, keepdims=True))
        growth = self._raw(self.inputs + stretch * rates)[:, -1] - self._raw(self.inputs - stretch * rates)[:, -1]
        work = (answers[:, :m] * self.inputs[:, 1 + m : 1 + 2 * m]).sum(axis=1)
        power = work + growth / (2 * stretch[:, 0])
        noise = 1e-6 * (1.0 + np.abs(work).max() + np.abs(power - work).max())
        created, dissipated = float(power.max()), float(-power.min())
        if created > noise and not self.element.active:
            at = self._where(self.inputs[int(power.argmax())])
            self.problems.append(
                f"it creates energy: {created:.3g} W at {at}; give the energy it stores, or say active=True"
            )
        return max(created, 0.0) if created > noise else 0.0, max(dissipated, 0.0) if dissipated > noise else 0.0


def _vector_rates(turns: Array, spins: Array) -> Array:
    """Return the rates of rotation vectors (n, 3) for angular velocities in axes of the first marker."""
    angle = np.linalg.norm(turns, axis=1, keepdims=True)
    half = 0.5 * angle
    factor = np.where(angle > 1e-4, (1.0 - half / np.tan(np.where(angle > 1e-4, half, 1.0))) / angle**2, 1.0 / 12.0)
    rates: Array = spins - 0.5 * np.cross(turns, spins) + factor * np.cross(turns, np.cross(turns, spins))
    return rates
