"""`check_element`: checks of user-written force laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..answer import Answer, count_text
from ..arrays import Array, BoolArray
from ..checks import checked, finite_number, random_generator
from ..connections.elements.element import MEASURES, Element
from ..errors import DalembertError, ModelError
from ..numerics.rank import STEP_RANK_TOL, numerical_rank, singular_values
from .element_test_systems import Trial

__all__ = ["ElementReport", "check_element"]


@dataclass(frozen=True, repr=False)
class ElementReport(Answer):
    """Report of `check_element`.

    Attributes
    ----------
    success : bool
        True if no problem was found.
    problems : list of str
        Problems, each with inputs at which it occurs.
    notes : list of str
        Remarks that do not prevent its use.
    slope_error : float
        Largest relative difference between slopes of forces taken with two step lengths; small for smooth laws.
    rough : int
        Number of tested points at which the law is not smooth.
    derivative_error : float
        Largest relative difference of the derivatives of the core from finite differences.
    objectivity_error : float
        Largest relative change of the loads, in body axes, under a rigid motion of both bodies, and violation of action
        and reaction.
    static_remainder : float
        Largest part of the forces at rest that is not a slope of the energy, N or N m: work around a closed path. Not
        checked for elements with states.
    created : float, W
        Largest power that the element created; for an active element, that it supplied.
    dissipated : float, W
        Largest power that it dissipated.
    rank : int
        Number of measured directions in which the element has forces.
    unused_inputs : tuple of str
        Measures along which it has no force.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    slope_error: float = 0.0
    rough: int = 0
    derivative_error: float = 0.0
    objectivity_error: float = 0.0
    static_remainder: float = 0.0
    created: float = 0.0
    dissipated: float = 0.0
    rank: int = 0
    unused_inputs: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """True if there is no problem."""
        return not self.problems

    @property
    def message(self) -> str:
        """Outcome in one sentence: the first problem."""
        return self.problems[0] if self.problems else self._headline()

    def _headline(self) -> str:
        verdict = "fit for use" if self.success else count_text(len(self.problems), "problem")
        return (
            f"{verdict}, {count_text(self.rank, 'direction')}, derivatives off by {self.derivative_error:.2g}, "
            f"{self.created:.3g} W created, {self.dissipated:.3g} W dissipated"
        )

    def __str__(self) -> str:
        nothing = f", nothing along {', '.join(self.unused_inputs)}" if self.unused_inputs else ""
        lines = [
            "fit for use" if self.success else f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)}",
            f"slopes            differ by {self.slope_error:.2g}; not smooth at {self.rough} points",
            f"derivatives       of the core are off by {self.derivative_error:.2g}",
            f"rigid motion      changes loads by {self.objectivity_error:.2g}",
            f"forces at rest    {self.static_remainder:.3g} beyond the slope of the energy",
            f"power             {self.created:.3g} W created or brought, {self.dissipated:.3g} W dissipated at most",
            f"acts in           {self.rank} direction{'s' * (self.rank != 1)}{nothing}",
        ]
        return "\n".join(
            [*lines, *(f"- {problem}" for problem in self.problems), *(f"  note: {note}" for note in self.notes)]
        )


@checked("center", "points", "seed")
def check_element(
    element: Element,
    *,
    measure_amplitude: float = 1.0,
    rate_amplitude: float = 1.0,
    center: Mapping[str, float] | None = None,
    points: int = 200,
    seed: int = 0,
) -> ElementReport:
    """Return a report on the law of an element, from random measures, rates, states and times.

    Parameters
    ----------
    element : Element
    measure_amplitude, rate_amplitude : float
        Amplitudes of the tested measures and rates, m or rad and m/s or rad/s; states are tested about their start
        values.
    center : dict of str to float
        Measures and states that are tested about other values: ``{"s": 0.5}`` for a distance near 0.5 m. Extreme values
        are not tested then.
    points : int
    seed : int
        Of the random numbers.

    The checks are:

    - the law returns finite numbers, at rest and at extreme values too, and the same numbers for the same inputs (a
      function with internal state cannot be integrated);
    - forces are smooth, and the derivatives of the core agree with finite differences;
    - forces agree with the energy: at rest they are its negative slope, and in motion, slow or fast, an element that is
      not active creates none;
    - loads in the core satisfy action and reaction and rotate with a rigid motion of both bodies;
    - the element has forces in all directions that it measures.

    Examples
    --------
    >>> import dalembert as da
    >>> da.check_element(da.Element("joint", "-k*s - c*ds", {"k": 4.0, "c": 0.1}, energy="k*s**2/2")).success
    True
    >>> print(da.check_element(da.Element("joint", "-4*s")).problems[0])  # doctest: +ELLIPSIS
    it creates energy: ...
    """
    if not isinstance(element, Element):
        raise ModelError("check_element", "element", element, "give a da.Element")
    for name, number in (("size", measure_amplitude), ("speed", rate_amplitude)):
        if finite_number(number, item="check_element", field=name) <= 0:
            raise ModelError("check_element", name, number, "it must be positive")
    if not isinstance(points, int) or points < 1:
        raise ModelError("check_element", "points", points, "give a positive whole number")
    centers = {}
    for name, number in (center or {}).items():
        if name not in (*element.measured[0], *element.states):
            known = ", ".join((*element.measured[0], *element.states))
            raise ModelError("check_element", "center", name, f"give values of {known}")
        centers[name] = finite_number(number, item="check_element", field=f"center[{name!r}]")
    random = random_generator(seed, item="check_element", field="seed")
    return _Check(element, measure_amplitude, rate_amplitude, centers, points, random).report()


class _Check:
    def __init__(
        self,
        element: Element,
        size: float,
        speed: float,
        around: Mapping[str, float],
        points: int,
        rng: np.random.Generator,
    ) -> None:
        self.element, self.size, self.speed, self.rng = element, size, speed, rng
        self.m, self.n = element.measures, len(element.states)
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.inputs = np.zeros((points, len(element.input_names)))
        m, n = self.m, self.n
        self.inputs[:, 0] = rng.uniform(0, 1, size=points)
        centre = np.array([around.get(name, 0.0) for name in element.measured[0]])
        self.centre = centre
        self.inputs[:, 1 : 1 + m] = centre + size * rng.uniform(-1, 1, size=(points, m))
        self.blocks = _blocks(element)
        self.lengths = [1 + block.start for kind, block in self.blocks if kind == "distance"]
        self.inputs[:, self.lengths] = np.abs(self.inputs[:, self.lengths])
        # every other point at low rates, so that damping does not hide forces at rest
        slowly = 10.0 ** np.where(np.arange(points) % 2, rng.uniform(-4, 0, size=points), 0.0)
        self.inputs[:, 1 + m : 1 + 2 * m] = speed * slowly[:, None] * rng.uniform(-1, 1, size=(points, m))
        starts = np.array([around.get(name, start) for name, start in element.starts.items()])
        self.inputs[:, 1 + 2 * m : 1 + 2 * m + n] = starts + (0.1 + np.abs(starts)) * rng.uniform(-1, 1, (points, n))
        known = 1 + 2 * m + n + len(element.parameters)
        self.inputs[:, 1 + 2 * m + n : known] = list(element.parameters.values())
        self.inputs[:, known:] = rng.uniform(-1, 1, size=(points, len(element.input_names) - known))
        self.stored = m + n  # index of the energy among the values

    def report(self) -> ElementReport:
        """Run all checks; stop early if the law fails."""
        answers = self._answers(self.inputs, "")
        if answers is None:
            return ElementReport(self.problems)
        self._try_extremes()
        again = self._answers(self.inputs[::-1], "")
        if again is None or not np.array_equal(again[::-1], answers):
            self.problems.append("it does not depend on its inputs alone: a second call returned other values")
            return ElementReport(self.problems)
        if not self.m:
            return ElementReport(self.problems, ["it has no measures"])
        slope_error, rough, slopes = self._slopes()
        created, dissipated = self._power(answers)
        remainder = self._static_remainder()
        rank, idle = self._rank(answers, slopes)
        derivatives, objectivity = self._in_the_core(~rough)
        self._check_rotation_wrap()
        return ElementReport(
            self.problems,
            self.notes,
            slope_error,
            int(rough.sum()),
            derivatives,
            objectivity,
            remainder,
            created,
            dissipated,
            rank,
            idle,
        )

    def _where(self, row: Array) -> str:
        return ", ".join(f"{name} = {value:.4g}" for name, value in zip(self.element.input_names, row, strict=True))

    def _answers(self, inputs: Array, when: str) -> Array | None:
        rows = []
        for row in inputs:
            try:
                answer = self.element.evaluate(row[None])[0]
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
        rest[0, 1 : 1 + m], rest[0, 1 + m : 1 + 2 * m] = self.centre, 0.0
        self._answers(
            rest, " where all rates are zero" if self.centre.any() else " where all measures and rates are zero"
        )
        if self.centre.any():
            return
        for sign in (1.0, -1.0):
            far = base.copy()
            far[0, 1 : 1 + m] = 100.0 * self.size * sign
            far[0, self.lengths] = 100.0 * self.size
            far[0, 1 + m : 1 + 2 * m] = 100.0 * self.speed * sign
            self._answers(far, " far out")

    def _raw(self, inputs: Array) -> Array:
        return self.element.evaluate(inputs)

    def _slope(self, inputs: Array, column: int, h: float) -> Array:
        step = np.zeros(inputs.shape[1])
        step[column] = h
        return (self._raw(inputs + step) - self._raw(inputs - step)) / (2 * h)

    def _slopes(self) -> tuple[float, BoolArray, Array]:
        """Return the largest difference of slopes by two steps, the mask of rough points, and the slopes of forces.

        Slopes are (points, measures, 2 measures): with respect to measures and to rates.
        """
        worst, rough = 0.0, np.zeros(len(self.inputs), dtype=bool)
        scale = 1.0 + np.abs(self._raw(self.inputs)).max()
        columns = []
        for column in range(1, 1 + 2 * self.m):
            unit = self.size if column <= self.m else self.speed
            near, far = (self._slope(self.inputs, column, h * unit)[:, : self.stored] for h in (1e-5, 1e-3))
            error = np.abs(near - far).max(axis=1) * unit / scale
            error[~np.isfinite(error)] = np.inf
            worst, rough = max(worst, float(np.median(error))), rough | (error > 1e-2)
            columns.append(near[:, : self.m])
        if rough.mean() > 0.2:
            at = self.inputs[int(rough.argmax())]
            self.problems.append(f"its forces are rough: slopes depend on the step, as at {self._where(at)}")
        return worst, rough, np.nan_to_num(np.stack(columns, axis=2))

    def _along(self, inputs: Array, rates: Array) -> Array:
        """Return the rates of inputs, (n, len(inputs)), for rates of measures (n, measures)."""
        change = np.zeros_like(inputs)
        change[:, 1 : 1 + self.m] = rates
        for turn in self._rotation_measures():
            change[:, 1 + turn.start : 1 + turn.stop] = _vector_rates(
                inputs[:, 1 + turn.start : 1 + turn.stop], rates[:, turn]
            )
        return change

    def _rotation_measures(self) -> list[slice]:
        """Return the slices of rotation vectors among the measures."""
        return [slice(block.start + 3, block.start + 6) for kind, block in self.blocks if kind == "pose"]

    def _growth(self, inputs: Array, change: Array, share: float = 1.0) -> Array:
        """Return the rate of the energy (n,) for these rates of inputs; of fourth order."""
        h = share * self._stretch(change)
        rises = [
            (self._raw(inputs + k * h[:, None] * change) - self._raw(inputs - k * h[:, None] * change))[:, self.stored]
            for k in (1, 2)
        ]
        return (8 * rises[0] - rises[1]) / (12 * h)

    def _stretch(self, change: Array) -> Array:
        """Return the time (n,) over which the energy rate is taken."""
        return 1e-3 * self.size / (self.size + np.abs(change).max(axis=1))

    def _last_digits(self, inputs: Array) -> Array:
        """Return the uncertainty of energies (n,): their scatter with the last digits of the inputs."""
        wobbles = 1.0 + 4e-16 * self.rng.integers(-1, 2, size=(4, *inputs.shape))
        energies = np.array([self._raw(inputs * wobble)[:, self.stored] for wobble in wobbles])
        return np.ptp(energies, axis=0) + 1e-15 * np.abs(energies).max(axis=0)

    def _static_remainder(self) -> float:
        """Return the largest deviation of forces at rest from the slope of the energy."""
        m = self.m
        rest = self.inputs.copy()
        rest[:, 1 + m : 1 + 2 * m] = 0.0
        if self.n:
            return 0.0
        forces = self._raw(rest)[:, :m]
        changes = [self._along(rest, np.broadcast_to(unit, forces.shape)) for unit in np.eye(m)]
        slopes = [[self._growth(rest, change, share) for change in changes] for share in (1.0, 0.1)]
        misses = np.abs(forces + np.transpose(slopes, (0, 2, 1))).min(axis=0)
        misses[~np.isfinite(misses)] = 0.0
        worst = float(misses.max())
        beyond = (misses > 1e-4 * (1e-3 + np.abs(forces).max())).any(axis=1)
        if beyond.mean() > 0.05 and not self.element.active and not any("creates" in p for p in self.problems):
            at = self._where(rest[int(misses.max(axis=1).argmax())])
            self.problems.append(
                f"it creates energy on closed paths: forces at rest are no slope of the energy, by {worst:.3g} at {at}"
            )
        return worst

    def _power(self, answers: Array) -> tuple[float, float]:
        """Return the largest powers created and dissipated: force times rate, and the growth of the energy."""
        m, n = self.m, self.n
        rates = self.inputs[:, 1 + m : 1 + 2 * m]
        change = self._along(self.inputs, rates)
        change[:, 0] = 1.0
        change[:, 1 + 2 * m : 1 + 2 * m + n] = answers[:, m : m + n]
        growth = self._growth(self.inputs, change)
        work = (answers[:, :m] * rates).sum(axis=1)
        power = work + growth
        # truncation, larger at kinks, and the last digits of the energy
        noise = 1e-5 * (np.abs(work) + np.abs(growth)) + 2 * np.abs(growth - self._growth(self.inputs, change, 0.1))
        noise += 4 * self._last_digits(self.inputs) / self._stretch(change)
        power = np.where(np.abs(power) > noise + 1e-12, power, 0.0)
        created, dissipated = max(0.0, float(power.max())), max(0.0, float(-power.min()))
        if created > 0 and not self.element.active:
            at = self._where(self.inputs[int(power.argmax())])
            self.problems.append(
                f"it creates energy: {created:.3g} W at {at}; give the energy it stores, or set active=True"
            )
        return created, dissipated

    def _rank(self, answers: Array, slopes: Array) -> tuple[int, tuple[str, ...]]:
        """Return the number of directions with forces or slopes of forces, and the measures without any."""
        m = self.m
        rows = np.concatenate([answers[:, :m], slopes.transpose(0, 2, 1).reshape(-1, m)])
        rank = numerical_rank(singular_values(rows), STEP_RANK_TOL, 0.0)
        names = self.element.measured[0]
        idle = tuple(name for name, column in zip(names, rows.T, strict=True) if not np.abs(column).max() > 0)
        if rank == 0:
            self.problems.append("it has no force at any tested point")
        elif rank < m - len(idle):
            self.notes.append(f"its forces are dependent: {rank} directions of {m}")
        return rank, idle

    def _in_the_core(self, smooth: BoolArray) -> tuple[float, float]:
        """Return the errors of derivatives and of objectivity, on a few points where the law is smooth."""
        if self.element.sources:
            self.notes.append(f"not tested in the core: it uses outputs of others, {', '.join(self.element.sources)}")
            return 0.0, 0.0
        rows = np.flatnonzero(smooth)[:5].tolist()
        try:
            trial = Trial(self.element, self.inputs, self.rng)
            derivatives, objectivity = trial.derivative_error(rows), trial.objectivity_error(rows)
        except DalembertError as error:
            self.problems.append(f"it fails in the core: {error}")
            return float("nan"), float("nan")
        if derivatives > 1e-4:
            self.problems.append(f"derivatives in the core are off by {derivatives:.2g} of the largest")
        if objectivity > 1e-9:
            self.problems.append(f"it is not objective: a rigid motion changes its loads by {objectivity:.2g}")
        return derivatives, objectivity

    def _check_rotation_wrap(self) -> None:
        """Add a note on forces that differ on both sides of 180°, where the rotation vector wraps."""
        for turn in self._rotation_measures():
            rows, columns = self.inputs[:20].copy(), slice(1 + turn.start, 1 + turn.stop)
            rows[:, columns] *= np.pi / np.linalg.norm(rows[:, columns], axis=1, keepdims=True)
            ahead = self._raw(rows)
            rows[:, columns] *= -1
            if np.abs(self._raw(rows) - ahead).max() > 1e-6 * (1.0 + np.abs(ahead).max()):
                self.notes.append("its forces jump at 180°: keep rotations of the markers below that")
                return


def _blocks(element: Element) -> list[tuple[str, slice]]:
    """Return each measure of an element, with its slice among the measured numbers."""
    found, first = [], 0
    for kind in element.each_measure:
        count = len(MEASURES[kind][0])
        found.append((kind, slice(first, first + count)))
        first += count
    return found


def _vector_rates(turns: Array, spins: Array) -> Array:
    """Return the rates of rotation vectors (n, 3) for angular velocities in axes of the first marker."""
    angle = np.linalg.norm(turns, axis=1, keepdims=True)
    half = 0.5 * angle
    factor = np.where(angle > 1e-4, (1.0 - half / np.tan(np.where(angle > 1e-4, half, 1.0))) / angle**2, 1.0 / 12.0)
    return spins - 0.5 * np.cross(turns, spins) + factor * np.cross(turns, np.cross(turns, spins))
