"""Where the equations of motion of a model break in time: no step goes over such a moment.

Laws tell it of themselves; formulas are looked through for what time alone switches; Python functions may carry their
`breaks`. A step ends there with what was before, and the next begins with what comes after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...connections.elements.element import Element
from ...connections.elements.signals import Delay, Reaction, Sensor
from ...connections.formulas.switching_times import Switch, merge_close_times, switch_times, switches_of
from ...connections.laws import Law, Spline, breaks_of
from ...model import Model, SampledControl
from ...model.cache import cached_per_model

if TYPE_CHECKING:
    from ...model import Conditions

__all__ = ["DiscontinuityTimes", "breaks_until", "timetable"]

Array = NDArray[np.float64]

MAX_DELAY_GENERATIONS = 4  # times that a break comes back by a delay before it is too smooth to matter
MAX_DELAYED_TIMES = 1000  # of one generation


@dataclass(frozen=True, eq=False)
class _Formulas:
    """An element whose formulas switch with time."""

    switches: list[Switch]
    laws: dict[int, Law]  # inputs that follow laws, by number
    places: dict[int, int]  # inputs that are parameters, and where these stand

    def breaks(self, parameters: Array, t_start: float, t_end: float) -> Array:
        inputs: dict[int, Any] = {0: lambda t: t}
        inputs |= {number: _values(law) for number, law in self.laws.items()}
        inputs |= {number: float(parameters[place]) for number, place in self.places.items()}
        told = [breaks_of(law, t_start, t_end) for law in self.laws.values()]
        return switch_times(self.switches, inputs, np.concatenate([np.zeros(0), *told]), t_start, t_end)


class DiscontinuityTimes:
    """The breaks of a model.

    Attributes
    ----------
    uses : set of int
        Parameters on which breaks depend.
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
        self.uses = {
            formulas.places[number]
            for formulas in self.formulas
            for switch in formulas.switches
            for number in switch.inputs
            if number in formulas.places
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
            self.laws.append(element.force)  # a function may carry its breaks
            return
        laws = {number: source for number, source in sources.items() if not isinstance(source, Delay)}
        places = {takes.index(label): model.parameter_names[f"{name}.{label}"] for label in element.parameters}
        switches = switches_of(element.program, {0, *laws}, places)
        if switches:
            self.formulas.append(_Formulas(switches, laws, places))

    def between(self, parameters: Array, t_start: float, t_end: float, *, smooth: bool = True) -> Array:
        """Return the breaks from t_start to t_end, (n,) s; without those of splines if not `smooth`."""
        if not (self.laws or self.formulas or self.delays):
            return np.zeros(0)
        laws = self.laws if smooth else [law for law in self.laws if not isinstance(law, Spline)]
        told = [breaks_of(law, t_start, t_end) for law in laws]
        told += [formulas.breaks(parameters, t_start, t_end) for formulas in self.formulas]
        if self.delays:
            told.append(
                self._echoes(np.concatenate([[t_start], *told]), t_start, t_end, MAX_DELAY_GENERATIONS if smooth else 1)
            )
        return merge_close_times(np.concatenate([np.zeros(0), *told]))

    def _echoes(self, times: Array, t_start: float, t_end: float, most: int) -> Array:
        """Return when breaks, and the start, come back by delays, (n,) s; each time smoother than before."""
        spans = np.unique([delay.time for delay in self.delays])
        found = [breaks_of(delay.before, t_start - delay.time, t_start) + delay.time for delay in self.delays]
        for _ in range(most):
            times = merge_close_times((times[:, None] + spans).ravel())
            times = times[times <= t_end]
            if len(times) > MAX_DELAYED_TIMES:
                break
            found.append(times)
        return np.concatenate(found)


@cached_per_model
def timetable(model: Model) -> DiscontinuityTimes:
    """Return the timetable of a model."""
    return DiscontinuityTimes(model)


def breaks_until(conditions: Conditions, t_start: float, t_end: float, *, smooth: bool = True, also: Any = ()) -> Array:
    """Return all breaks of a run from its start up to an end, (n,) s.

    Parameters
    ----------
    conditions : Conditions
        Parameters, and a control that may be sampled or carry its breaks.
    smooth : bool
        Whether those count at which no more than a high derivative jumps; not for methods with a fixed step.
    also : (k,) s
        Further ones.
    """
    times = timetable(conditions.model).between(conditions.parameters, t_start, t_end, smooth=smooth)
    if conditions.control is None and not len(also) and not len(times):
        return times
    further = np.asarray(also, dtype=float)
    if isinstance(conditions.control, SampledControl):
        fixed = conditions.control.breaks(t_start, t_end)
    else:
        fixed = breaks_of(conditions.control, t_start, t_end)
    further = further[(further >= t_start) & (further <= t_end)]
    times = np.concatenate([times, further])
    if len(fixed) and len(times):  # where a sample is taken a step ends, whatever else rounds to it
        near = (
            np.clip(np.searchsorted(fixed, times), 1, len(fixed) - 1) if len(fixed) > 1 else np.zeros(len(times), int)
        )
        gap = np.minimum(np.abs(fixed[near] - times), np.abs(fixed[near - (len(fixed) > 1)] - times))
        times = times[gap > 1e-12 * np.abs(times)]
    return merge_close_times(np.concatenate([times, fixed]))


def _values(law: Callable[[float], Any]) -> Callable[[Array], Array]:
    return lambda t: np.array([law(float(now))[0] for now in t])
