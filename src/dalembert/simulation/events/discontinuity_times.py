"""Discontinuity times of the equations of motion: steps end there.

Time laws list theirs. Formulas are searched for switching functions of time alone. Python functions may have an
attribute `discontinuity_times`. A step ends with the values before a discontinuity, and the next begins with those
after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...connections.elements.element import Element
from ...connections.elements.signals import Delay, Reaction, Sensor
from ...connections.formulas.switching_times import Switch, merge_close_times, switch_times, switches_of
from ...connections.laws import Law, Spline, discontinuity_times_of
from ...model import Model, SampledControl
from ...model.cache import cached_per_model

if TYPE_CHECKING:
    from ...model import Conditions

__all__ = ["DiscontinuityTimes", "discontinuity_sources", "discontinuity_times_until"]


MAX_DELAY_GENERATIONS = 4  # repetitions of a discontinuity by a delay; later ones are smooth enough
MAX_DELAYED_TIMES = 1000  # in one generation


@dataclass(frozen=True, eq=False)
class _Formulas:
    """Formulas of an element that switch with time."""

    switches: list[Switch]
    laws: dict[int, Law]  # time laws of inputs, by number
    parameter_indices: dict[int, int]  # indices of inputs that are parameters
    last: dict[tuple[float, ...], Array] = field(default_factory=dict)  # times of the last interval and parameters

    def discontinuity_times(self, parameters: Array, t_start: float, t_end: float) -> Array:
        """Return the times at which a formula switches; those of the last search are kept for repeated runs."""
        if self.laws:  # they may be functions of the user
            return self._search(parameters, t_start, t_end)
        key = (t_start, t_end, *(float(parameters[place]) for place in self.parameter_indices.values()))
        if key not in self.last:
            self.last.clear()
            self.last[key] = self._search(parameters, t_start, t_end)
        return self.last[key]

    def _search(self, parameters: Array, t_start: float, t_end: float) -> Array:
        inputs: dict[int, Any] = {0: lambda t: t}
        inputs |= {number: _values(law) for number, law in self.laws.items()}
        inputs |= {number: float(parameters[place]) for number, place in self.parameter_indices.items()}
        of_laws = [discontinuity_times_of(law, t_start, t_end) for law in self.laws.values()]
        return switch_times(self.switches, inputs, np.concatenate([np.zeros(0), *of_laws]), t_start, t_end)


class DiscontinuityTimes:
    """Sources of discontinuity times in a model.

    Attributes
    ----------
    uses : set of int
        Parameters on which the times depend.
    """

    def __init__(self, model: Model) -> None:
        self.laws: list[Any] = [drive.law for drive in model.drives]
        self.formulas: list[_Formulas] = []
        self.delays: list[Delay] = []
        for force in model.system.forces.values():
            element = force.element
            self.laws += list(getattr(element, "given", {}).values())
            if isinstance(element, Element):
                self._take(model, force.name, element)
        self.laws = [law for law in self.laws if not _declares_none(law)]
        self.uses = {
            formulas.parameter_indices[number]
            for formulas in self.formulas
            for switch in formulas.switches
            for number in switch.inputs
            if number in formulas.parameter_indices
        }

    def _take(self, model: Model, name: str, element: Element) -> None:
        self.laws.append(element)
        takes = element.input_names
        sources = {
            takes.index(label): source
            for label, source in element.sources.items()
            if not isinstance(source, (str, Sensor, Reaction))
        }
        self.delays += [source for source in sources.values() if isinstance(source, Delay)]
        self.laws += [source for source in sources.values() if not isinstance(source, Delay)]
        if element.program is None:
            self.laws.append(element.force)  # a function may have an attribute `discontinuity_times`
            return
        laws = {number: source for number, source in sources.items() if not isinstance(source, Delay)}
        places = {takes.index(label): model.parameter_names[f"{name}.{label}"] for label in element.parameters}
        switches = switches_of(element.program, {0, *laws}, places)
        if switches:
            self.formulas.append(_Formulas(switches, laws, places))

    def between(self, parameters: Array, t_start: float, t_end: float, *, smooth: bool = True) -> Array:
        """Return the discontinuity times from t_start to t_end, (n,) s; without those of splines if not `smooth`."""
        if not (self.laws or self.formulas or self.delays):
            return np.zeros(0)
        laws = self.laws if smooth else [law for law in self.laws if not isinstance(law, Spline)]
        times = [discontinuity_times_of(law, t_start, t_end) for law in laws]
        times += [formulas.discontinuity_times(parameters, t_start, t_end) for formulas in self.formulas]
        if self.delays:
            times.append(
                self._delayed_times(
                    np.concatenate([[t_start], *times]), t_start, t_end, MAX_DELAY_GENERATIONS if smooth else 1
                )
            )
        return merge_close_times(np.concatenate([np.zeros(0), *times]))

    def _delayed_times(self, times: Array, t_start: float, t_end: float, most: int) -> Array:
        """Return discontinuity times and the start repeated by delays, (n,) s, each generation smoother."""
        spans = np.unique([delay.time for delay in self.delays])
        found = [
            discontinuity_times_of(delay.before, t_start - delay.time, t_start) + delay.time for delay in self.delays
        ]
        for _ in range(most):
            times = merge_close_times((times[:, None] + spans).ravel())
            times = times[times <= t_end]
            if len(times) > MAX_DELAYED_TIMES:
                break
            found.append(times)
        return np.concatenate(found)


@cached_per_model
def discontinuity_sources(model: Model) -> DiscontinuityTimes:
    """Return the sources of discontinuity times of a model."""
    return DiscontinuityTimes(model)


def discontinuity_times_until(
    conditions: Conditions, t_start: float, t_end: float, *, smooth: bool = True, also: Any = ()
) -> Array:
    """Return all discontinuity times of a run from its start up to an end, (n,) s.

    Parameters
    ----------
    conditions : Conditions
        Parameters, and a control that may be sampled or have an attribute `discontinuity_times`.
    smooth : bool
        Whether jumps of high derivatives count; not for methods with a fixed step.
    also : (k,) s
        Further times.
    """
    times = discontinuity_sources(conditions.model).between(conditions.parameters, t_start, t_end, smooth=smooth)
    if conditions.control is None and not len(also) and not len(times):
        return times
    further = np.asarray(also, dtype=float)
    if isinstance(conditions.control, SampledControl):
        fixed = conditions.control.discontinuity_times(t_start, t_end)
    else:
        fixed = discontinuity_times_of(conditions.control, t_start, t_end)
    further = further[(further >= t_start) & (further <= t_end)]
    times = np.concatenate([times, further])
    if len(fixed) and len(times):  # sample times take precedence over others that round to them
        near = (
            np.clip(np.searchsorted(fixed, times), 1, len(fixed) - 1) if len(fixed) > 1 else np.zeros(len(times), int)
        )
        gap = np.minimum(np.abs(fixed[near] - times), np.abs(fixed[near - (len(fixed) > 1)] - times))
        times = times[gap > 1e-12 * np.abs(times)]
    return merge_close_times(np.concatenate([times, fixed]))


def _declares_none(law: Any) -> bool:
    """Return whether an element has no discontinuity times; functions of the user may declare some later."""
    return isinstance(law, Element) and not callable(law.discontinuity_times) and not len(law.discontinuity_times)


def _values(law: Callable[[float], Any]) -> Callable[[Array], Array]:
    return lambda t: np.array([law(float(now))[0] for now in t])
