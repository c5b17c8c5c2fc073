"""Jobs of a study: task, model, settings and recorded outputs, run for blocks of cases."""

from __future__ import annotations

import pickle
import platform
import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...closure.starts.named_start_values import named_count
from ...errors import DalembertError, ModelError
from ...linear import linearize, modes
from ...model import Model, as_model
from ...motion import kinematics
from ...motion.kinematic_variants import KinematicVariants
from ...result import Output
from ...simulation import Ensemble, simulate
from ...statics import equilibrium
from ...system import System
from .blocks import CaseBlock, in_order, join
from .campaign import package_version
from .cases import Case, Cases
from .recorded_outputs import Column, RecordedOutput, read, read_runs, rows_of, to_its_end, value_over_time
from .store import write_in_place
from .store_arrays import StoreAddress

__all__ = ["TASKS", "Job", "StudyInterrupted", "carry_out", "packed", "sorted_names"]

TASKS: dict[str, Callable[..., Any]] = {
    "simulate": simulate,
    "kinematics": kinematics,
    "equilibrium": equilibrium,
    "modes": modes,
    "linearize": linearize,
}
_RUN = re.compile(r"^run (\d+)")  # prefix of notes of an ensemble
_STARTED = ("simulate", "equilibrium", "modes", "linearize")  # tasks with start values by name
VARIANTS_PER_BLOCK = 256  # kinematic cases in one block
MAX_BATCH_SIZE = 1024  # runs in one ensemble
MAX_BATCH_NUMBERS = 2e7  # numbers of states held in memory at once
_ALONE = ("events", "stream", "resume", "method")  # settings that ensembles do not support, or not always


class StudyInterrupted(Exception):
    """Ctrl-C was pressed while a block ran."""


@dataclass(frozen=True)
class Job:
    """Task with its model, settings and recorded outputs.

    Attributes
    ----------
    source : Model, or function of a Case that returns a System
    task : str, or function of a Model and a Case
    settings : dict
        Settings of the task.
    readings : tuple of RecordedOutput
        Outputs recorded of each case.
    store : StoreAddress or None
        Store to which workers write their results.
    version : str
        Version of this package that sends the job.
    """

    source: Any
    task: str | Callable[..., Any]
    settings: Mapping[str, Any]
    readings: tuple[RecordedOutput, ...]
    store: StoreAddress | None = None
    version: str = ""

    @property
    def side_by_side(self) -> bool:
        """Whether cases are runs of one topology, which can be simulated as one ensemble."""
        if self.task != "simulate" or not isinstance(self.source, Model):
            return False
        given = {name for name in _ALONE if self.settings.get(name) not in (None, (), [], False)}
        method = str(self.settings.get("method", "auto"))
        return given <= {"method"} and not method.startswith(("scipy:", "cvode", "ida"))

    @cached_property
    def variants(self) -> KinematicVariants | None:
        """Kinematic motions of one topology, closed from that of the model; None for other tasks."""
        if self.task != "kinematics" or not isinstance(self.source, Model):
            return None
        if not set(self.settings) <= {"times", "drive", "values", "speed", "state"}:
            return None
        try:
            found = KinematicVariants(self.source, self.settings)
            outputs = [Output.of(found.model, r.name) for r in self.readings if r.name is not None]
        except DalembertError:  # as for every case, with its message
            return None
        simple = all(o.history is None and not (o.branch or (o.whole and o.whole.branch)) for o in outputs)
        return found if found.is_available and simple and len(outputs) == len(self.readings) else None

    @property
    def abreast(self) -> int:
        """Number of cases run at once."""
        if not self.side_by_side:
            return VARIANTS_PER_BLOCK if self.variants is not None else 1
        times = len(np.atleast_1d(self.settings["times"]))
        states = self.source.nq + self.source.nv + self.source.nx
        return max(1, min(MAX_BATCH_SIZE, int(MAX_BATCH_NUMBERS / (times * max(1, states)))))

    def run(self, cases: Cases) -> CaseBlock:
        """Run cases and return their results; failures are recorded."""
        began, size = time.perf_counter(), self.abreast
        if self.side_by_side:
            block = join([self._runs(cases[k : k + size]) for k in range(0, len(cases), size)])
        elif self.variants is not None:
            block = self._variants(self.variants, cases)
        else:
            block = self._one_by_one(cases)
        block.seconds = time.perf_counter() - began
        return block

    def _one_by_one(self, cases: Cases) -> CaseBlock:
        answers: list[dict[str, Column] | None] = []
        errors: list[str] = []
        notes: list[str] = []
        traces: dict[int, str] = {}
        for case in cases:
            try:
                answer = self.answer(case)
                answers.append(read(to_its_end(answer), self.readings))
                errors.append("")
                notes += [f"case {case.number}: {note}" for note in _notes(answer)]
            except StudyInterrupted:
                raise
            except Exception as error:
                answers.append(None)
                errors.append(_error_text(error))
                traces[case.number] = traceback_text(error)
        return _block(cases, answers, errors, notes, traces)

    def _variants(self, variants: KinematicVariants, cases: Cases) -> CaseBlock:
        """Run kinematic cases from the nominal motion; those that are left by themselves."""
        if sorted_names(variants.model, self.task, cases[0])[1]:
            return self._one_by_one(cases)
        outputs = [Output.of(variants.model, reading.name) for reading in self.readings if reading.name is not None]
        rows: dict[int, list[Any]] = {}
        for k in range(len(cases)):
            case = cases[k]
            motion = variants.motion({name: case.value(name) for name in case})
            if motion is not None:
                with suppress(Exception):  # as the case by itself, which keeps the error
                    rows[k] = [value_over_time(motion, o, r) for o, r in zip(outputs, self.readings, strict=True)]
        good, known = list(rows), read(variants.nominal, self.readings)
        columns = {}
        for place, (label, column) in enumerate(known.items() if good else ()):
            stacked = np.stack([rows[k][place] for k in good])
            columns[label] = Column(column.dims, stacked, column.unit, column.coords)
        block = CaseBlock([cases.numbers[k] for k in good], [""] * len(good), columns)
        others = [self._one_by_one(cases[k : k + 1]) for k in range(len(cases)) if k not in rows]
        return in_order(join([*([block] if good else []), *others])) if others else block

    def _model(self, case: Case) -> Model:
        if isinstance(self.source, Model):
            return self.source
        made = self.source(case)
        if not isinstance(made, (System, Model)):
            what = getattr(self.source, "__name__", "the function of a case")
            raise ModelError("sweep", f"answer of {what!r}", made, "it must return a System or Model")
        return as_model(made)

    def answer(self, case: Case) -> Any:
        """Return the result of the task for one case."""
        model = self._model(case)
        numbers, others = sorted_names(model, self.task, case)
        if numbers:
            model = model.with_parameters(numbers)
        if not isinstance(self.task, str):
            answer = self.task(model, case, **self.settings)
            left = [name for name in others if name not in case.used]
            if left:
                raise _unknown(model, left[0], "and the task did not read it")
            return answer
        settings = dict(self.settings)
        if others:
            settings["state"] = {**_state_of(settings), **others}
        answer = TASKS[self.task](model, **settings)
        if getattr(answer, "status", "") == "interrupted":
            raise StudyInterrupted
        return answer

    def _runs(self, cases: Cases) -> CaseBlock:
        """Run cases as one ensemble; a case whose start fails is isolated by bisection."""
        try:
            ensemble = self._ensemble(cases)
        except DalembertError as error:
            if len(cases) == 1:
                return _block(cases, [None], [_error_text(error)], [], {cases.numbers[0]: traceback_text(error)})
            half = len(cases) // 2
            return join([self._runs(cases[:half]), self._runs(cases[half:])])
        if "interrupted" in ensemble.status:
            raise StudyInterrupted
        errors = [
            "" if status == "finished" else f"IntegrationError: {message}"
            for status, message in zip(ensemble.status, ensemble._messages, strict=True)
        ]
        columns = read_runs(ensemble, self.readings) if any(not error for error in errors) else {}
        notes = [_RUN.sub(lambda run: f"case {cases.numbers[int(run[1])]}", note) for note in ensemble.stats.notes]
        return CaseBlock(cases.numbers, errors, columns, notes)

    def _ensemble(self, cases: Cases) -> Ensemble:
        model = self.source
        numbers, others = sorted_names(model, self.task, cases[0])
        settings = {**self.settings, "on_error": "return"}
        parameters = {**settings.pop("parameters", {}), **{name: cases.column(name) for name in numbers}}
        state = settings.pop("state", None)
        if others:
            state = {**_state_of({"state": state}), **{name: cases.column(name) for name in others}}
        ensemble = simulate(model, **settings, parameters=parameters, state=state)
        assert isinstance(ensemble, Ensemble)
        return ensemble


def _state_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    state = settings.get("state") or {}
    if not isinstance(state, Mapping):
        raise ModelError(
            "sweep", "state", type(state).__name__, "give start values by name, because start values vary by name"
        )
    return dict(state)


def sorted_names(model: Model, task: Any, case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the unread values of a case into model parameters and start values.

    A user task may read the others itself.
    """
    known = model.parameter_names
    left = case.unread()
    numbers = {name: value for name, value in left.items() if name in known}
    others = {name: value for name, value in left.items() if name not in known}
    if isinstance(task, str):
        for name, value in others.items():
            if task not in _STARTED:
                raise _unknown(model, name, f"and {task} has no start values")
            try:
                named_count(model, {name: value})
            except ModelError as error:
                raise _unknown(model, name, f"nor a start value ({error})") from error
    return numbers, others


def _unknown(model: Model, name: str, further: str) -> ModelError:
    near = get_close_matches(name, list(model.parameter_names), n=3)
    hint = f"; similar names: {', '.join(map(repr, near))}" if near else "; s.parameters lists the parameters"
    return ModelError("sweep", "name", name, f"it is no parameter of {model.system.name!r}, {further}{hint}")


def _notes(answer: Any) -> list[str]:
    return list(getattr(getattr(answer, "stats", None), "notes", ()))


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error, without the frame that caught it."""
    frames = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return "".join(traceback.format_exception(type(error), error, frames))


def _block(
    cases: Cases,
    answers: Sequence[dict[str, Column] | None],
    errors: list[str],
    notes: list[str],
    traces: dict[int, str],
) -> CaseBlock:
    single = [
        CaseBlock([number], [error], {label: rows_of(column) for label, column in (answer or {}).items()})
        for number, answer, error in zip(cases.numbers, answers, errors, strict=True)
    ]
    block = join(single)
    block.notes, block.traces = notes, traces
    return block


def packed(job: Job) -> bytes:
    """Serialize a job for another process, with cloudpickle if installed, which pickles script functions by value."""
    try:
        import cloudpickle as way
    except ImportError:
        way = pickle
    try:
        return bytes(way.dumps(replace(job, version=package_version())))
    except Exception as error:
        remedy = f"it cannot be sent to another process ({error}): define functions at the top of a module"
        if way is pickle:
            remedy += ", or install cloudpickle"
        raise ModelError("sweep", "task", getattr(job.task, "__name__", job.task), remedy) from error


@lru_cache(maxsize=4)
def _unpacked(job: bytes) -> Job:
    try:
        made = pickle.loads(job)
    except (ImportError, AttributeError) as error:
        remedy = f"workers cannot unpickle it ({error}): install the module there, or define functions in your script"
        raise ModelError("sweep", "task", "sent", remedy) from error
    assert isinstance(made, Job)
    return made


def carry_out(job: bytes, cases: Cases) -> CaseBlock:
    """Run cases of a serialized job in a worker process, which writes the results to the store of the job."""
    given = _unpacked(job)
    if given.version != package_version():
        remedy = f"the client has dalembert {given.version}, this worker {package_version()}: install the same version"
        raise ModelError("sweep", "worker", platform.node(), remedy)
    block = given.run(cases)
    return block if given.store is None else write_in_place(given.store, block)
