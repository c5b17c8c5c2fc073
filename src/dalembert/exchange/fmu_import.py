"""FMUs of other programs in a system: model exchange as an element, co-simulation as a sampled control."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import checked, finite_number
from ..connections.elements.element import Element
from ..errors import DalembertError, ModelError, UserFunctionError
from ..model import Model, SampledControl, State, as_model
from ..result import Output
from ..system import System
from .fmu_library import FmuInstance, read_fmu

__all__ = ["FMU"]


class FMU:
    """FMU of another program, FMI 2.0 or 3.0.

    With model exchange it becomes an `Element` with the states of the FMU (`element`), integrated together with the
    system. With co-simulation it becomes a `SampledControl` (`sampled`), which takes a step of its own in each period.

    Parameters
    ----------
    path : path
        A ``.fmu`` file with a library for this machine.
    parameters : dict of str to float
        Values of its parameters, other than described.

    Attributes
    ----------
    name : str
    version : int
        2 or 3, of FMI.
    inputs, outputs, parameters : dict of str to float or None
        Real variables with their start values.
    states : tuple of str
        Continuous states of model exchange.
    has_model_exchange, has_co_simulation : bool

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> path = tempfile.mkdtemp() + "/motor.fmu"
    >>> s = da.System("rotor", gravity=(0, 0, 0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, s.body("rotor", da.cylinder(0.1, 0.2, mass=5.0)))
    >>> _ = da.export(s, path, inputs=["A.effort"], outputs=["A.speed"])
    >>> fmu = da.FMU(path)
    >>> fmu.inputs, list(fmu.outputs)
    ({'A.effort': 0.0}, ['A.speed'])
    """

    @checked("path", "parameters", item="FMU")
    def __init__(self, path: str | Path, *, parameters: Mapping[str, float] | None = None) -> None:
        self.path = Path(path)
        self._description = read_fmu(self.path)
        self.name, self.version = self._description.name, self._description.version
        self.has_model_exchange = bool(self._description.model_exchange)
        self.has_co_simulation = bool(self._description.co_simulation)
        self.states = tuple(name for name, _ in self._description.states)
        self._item = f"FMU {self.name!r}"
        self.inputs, self.outputs, self.parameters = (
            {each.name: each.start for each in self._description.variables.values() if each.causality == causality}
            for causality in ("input", "output", "parameter")
        )
        self._values = {
            name: finite_number(value, item=self._item, field=f"parameter {name!r}")
            for name, value in (parameters or {}).items()
        }
        for name in self._values:
            self._known(name, self.parameters, "parameter")

    def __repr__(self) -> str:
        kinds = [
            text
            for text, has in (("co-simulation", self.has_co_simulation), ("model exchange", self.has_model_exchange))
            if has
        ]
        counts = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.states)} states"
        return f"<FMU {self.name!r}: FMI {self.version}, {', '.join(kinds)}; {counts}>"

    def _known(self, name: str, known: Mapping[str, Any], what: str) -> None:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(name), known, 4) or list(known)[:6]
            raise ModelError(self._item, what, name, f"it has {', '.join(map(repr, near)) or f'no {what}s'}")

    def _started(self, start: float, *, co_simulation: bool) -> FmuInstance:
        """Return an instance after its initialization."""
        instance = FmuInstance(self._description, co_simulation=co_simulation)
        self._begin(instance, start)
        return instance

    def _begin(self, instance: FmuInstance, start: float) -> None:
        names = list(self._values)
        instance.set(instance.references(names), np.array([self._values[name] for name in names]))
        instance.enter_initialization(start)
        instance.exit_initialization()

    # ---- model exchange

    def element(
        self,
        measure: str = "joint",
        *,
        force: str,
        reads: Mapping[str, str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        active: bool = True,
    ) -> Element:
        """Return the FMU as a force element whose states are those of its model exchange.

        Parameters
        ----------
        measure : str
            ``"joint"`` or ``"distance"``, as of an `Element`.
        force : str
            The output that is the force, N or N m, along the measure.
        reads : dict of str to str
            Inputs of the FMU that are the measure, ``"s"``, or its rate, ``"ds"``.
        inputs : dict of str to source
            Other inputs of the FMU, as the inputs of an `Element`: numbers, laws of time, signals, sensors.
        active : bool
            Whether its work is external.

        The FMU is evaluated at the times and states of the integrator, from any thread; it must not have events: event
        indicators and time events are refused.
        """
        if measure not in ("joint", "distance"):
            raise ModelError(self._item, "measure", measure, "use 'joint' or 'distance'")
        self._known(force, self.outputs, "output")
        measured, given = dict(reads or {}), dict(inputs or {})
        for name, what in measured.items():
            self._known(name, self.inputs, "input")
            if what not in ("s", "ds"):
                raise ModelError(self._item, f"input {name!r}", what, "give 's', the measure, or 'ds', its rate")
        for name in given:
            self._known(name, self.inputs, "input")
        if self._description.event_indicators:
            count = self._description.event_indicators
            remedy = "its events are not supported: use its co-simulation (FMU.sampled), or an FMU without events"
            raise ModelError(self._item, "event indicators", count, remedy)
        first = self._started(0.0, co_simulation=False)
        first.enter_event_mode()
        _, following = first.update_events()
        if np.isfinite(following):
            raise ModelError(self._item, "time event", following, "its events are not supported: use FMU.sampled")
        law = _ExchangeLaw(self, first, force, measured, tuple(given))
        starts = first.states()
        labels = _identifiers(self.states, "x")
        states = {label: (float(value), 0.0) for label, value in zip(labels, starts, strict=True)}
        sources = dict(zip(_identifiers(tuple(given), "u"), given.values(), strict=True))
        return Element(measure, law, states=states, inputs=sources, active=active)

    # ---- co-simulation

    def sampled(
        self,
        system: System | Model,
        *,
        reads: Mapping[str, str],
        gives: Mapping[str, str],
        period: float,
        delay: float = 0.0,
    ) -> SampledControl:
        """Return the FMU as a control that takes a step of co-simulation in each period.

        At each sample the FMU first advances to that time with the inputs of the last sample; then it is given the
        outputs of the system, and its outputs are the joint forces up to the next sample.

        Parameters
        ----------
        system : System or Model
            That it controls.
        reads : dict of str to str
            Inputs of the FMU, and the outputs of the system that they are: ``{"angle": "A.position"}``.
        gives : dict of str to str
            Outputs of the FMU, and the joints or velocities whose forces they are: ``{"torque": "A"}``.
        period, delay : float, s
            See `SampledControl`.

        Each run of an ensemble has an instance of its own. The state of the FMU is not part of the state of a run: a
        resumed run begins with a new instance.
        """
        return SampledControl(_StepControl(self, as_model(system), dict(reads), dict(gives)), period, delay)


def _identifiers(names: tuple[str, ...], prefix: str) -> list[str]:
    """Return distinct names that formulas could use."""
    found: list[str] = []
    for k, name in enumerate(names):
        text = re.sub(r"\W+", "_", name).strip("_")
        usable = text.isidentifier() and text not in found and text not in ("t", "s", "ds")
        found.append(f"{prefix}{k}_{text}" if not usable else text)
    return found


class _ExchangeLaw:
    """Law of an element by model exchange; each thread has an instance of its own."""

    def __init__(
        self, fmu: FMU, first: FmuInstance, force: str, measured: Mapping[str, str], given: tuple[str, ...]
    ) -> None:
        self.fmu, self.force, self.count = fmu, force, len(fmu.states)
        self.columns = [("s", "ds").index(what) for what in measured.values()]
        self.names = [*measured, *given]
        self._own = threading.local()
        self._own.instance = first
        self.__name__ = f"FMU {fmu.name}"

    def __call__(self, t: float, s: float, ds: float, *more: float) -> tuple[float, ...]:
        own = self._own
        if not hasattr(own, "instance"):
            own.instance = self.fmu._started(0.0, co_simulation=False)
        instance: FmuInstance = own.instance
        if not hasattr(own, "references"):
            own.references, own.output = instance.references(self.names), instance.references([self.force])
        instance.set_time(t)
        instance.set_states(np.array(more[: self.count]))
        measures = (s, ds)
        instance.set(own.references, np.array([*(measures[k] for k in self.columns), *more[self.count :]]))
        rates = instance.rates()
        return (float(instance.get(own.output)[0]), *rates.tolist())

    def __reduce__(self) -> Any:
        raise ModelError(f"FMU {self.fmu.name!r}", "copy", "to another process", "an FMU stays in its process")

    def __deepcopy__(self, memo: Any) -> _ExchangeLaw:
        return self


class _StepControl:
    """Control by co-simulation: a step in each period; each run of an ensemble has an instance of its own."""

    def __init__(self, fmu: FMU, model: Model, reads: Mapping[str, str], gives: Mapping[str, str]) -> None:
        self.fmu, self.model = fmu, model
        if not fmu.has_co_simulation:
            raise ModelError(f"FMU {fmu.name!r}", "interface", "model exchange only", "use FMU.element")
        for name in reads:
            fmu._known(name, fmu.inputs, "input")
        for name in gives:
            fmu._known(name, fmu.outputs, "output")
        self.outputs = [Output.of(model, what) for what in reads.values()]
        for output in self.outputs:
            if output.shape != () or output.needs == "dynamics" or output.history is not None:
                remedy = "it reads single numbers that are functions of position and velocity"
                raise ModelError(f"FMU {fmu.name!r}", "input", output.name, remedy)
        self.places: list[int] = []
        for what in gives.values():
            if what not in model.speed_names:
                known = ", ".join(map(repr, model.speed_names[:8]))
                raise ModelError(f"FMU {fmu.name!r}", "output", what, f"give a velocity of a tree joint: {known}")
            self.places.append(model.speed_names.index(what))
        self.reads, self.gives = list(reads), list(gives)
        self._runs: dict[int, tuple[FmuInstance, float]] = {}
        self.__name__ = f"FMU {fmu.name}"

    def __call__(self, state: State) -> Array:
        try:
            instance = self._advanced(int(getattr(state, "run", 0) or 0), float(state.t))
            values = [float(o.evaluate(self.model, state.t, state.q, state.v, state.x)) for o in self.outputs]
            instance.set(instance.references(self.reads), np.array(values))
            forces = np.zeros(self.model.nv)
            np.add.at(forces, self.places, instance.get(instance.references(self.gives)))
            return forces
        except DalembertError as error:
            raise UserFunctionError(f"at t = {state.t:.6g} s: {error}") from error

    def _advanced(self, run: int, t: float) -> FmuInstance:
        """Return the instance of a run, advanced to a time, s; earlier times begin a new run."""
        known = self._runs.get(run)
        if known is not None and known[1] < t:
            instance, before = known
            instance.do_step(before, t - before)
        elif known is not None and known[1] == t:
            instance = known[0]
        else:
            if (
                self._runs
                and run not in self._runs
                and self.fmu._description.flags.get("canBeInstantiatedOnlyOncePerProcess") == "true"
            ):
                remedy = "it can be instantiated once in a process only: run one after the other"
                raise ModelError(f"FMU {self.fmu.name!r}", "runs", run, remedy)
            instance = self.fmu._started(t, co_simulation=True)
        self._runs[run] = instance, t
        return instance

    def __deepcopy__(self, memo: Any) -> _StepControl:
        return self
