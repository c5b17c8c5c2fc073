"""`sweep`: one task for many cases."""

from __future__ import annotations

import hashlib
import inspect
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import checked
from ...errors import ModelError, ModelWarning, warn_user
from ...model import Model, as_model
from ...model.fingerprint import fingerprint
from ...result import Output
from ...simulation.interrupts import Interrupt, clear_interrupt, defer_interrupt, raise_pending_interrupt
from ...simulation.progress import Progress
from ...system import System
from .cases import Case, Design, make_design
from .chunks import CaseChunks
from .datasets import MemoryStore, check_labels, dataset
from .executors import LocalExecutor, Place, ProcessExecutor, WorkerLost, choose_executor
from .jobs import TASKS, CaseBlock, Job, StudyInterrupted, packed, settle, sorted_names
from .recorded_outputs import RecordedOutput, as_readings
from .store import Store, design_of, read_note, stored

if TYPE_CHECKING:
    import xarray

__all__ = ["load_sweep", "sweep"]

MIN_PARALLEL_DURATION = 3.0  # s of remaining work from which on processes are started unasked
N_DEFAULT_TIMES = 101  # output times of runs if none are given


@checked("design", "executor", "workers", "store", "progress")
def sweep(
    system: System | Model | Callable[[Case], System],
    over: Mapping[str | tuple[str, ...], Any],
    *,
    task: str | Callable[..., Any] = "simulate",
    outputs: Any = None,
    samples: int | None = None,
    design: str = "latin",
    seed: int = 0,
    executor: Executor | Any = None,
    client: Any = None,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    retry: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> xarray.Dataset:
    """Return what a task gives for every case of what varies, as one labelled Dataset.

    Parameters
    ----------
    system : System, Model, or function of a Case
        A function returns the System of each case, so that topology may vary. It reads what it needs of the case by
        name; names that it does not read are taken as below.
    over : dict of name to values
        What varies: numbers of the system by name (``"coupler.mass"``, ``"k.stiffness"``, parameters of your own),
        start values as in `simulate` (``"A"``, ``"B.speed"``), or whatever a function asks its case for. A list or an
        array makes an axis of its own, and all combinations are cases. A tuple of names with rows of values makes one
        axis, along which these go together. A distribution of ``scipy.stats`` is drawn from: all of them together
        make the axis ``"sample"``.
    task : str or function
        ``"simulate"``, ``"kinematics"``, ``"equilibrium"``, ``"modes"``, ``"linearize"``, or a function of the `Model`
        of a case and of the `Case`, which returns a number, an array, or a dict of such.
    outputs : names, or dict of label to name
        What is kept of each answer: an output of a `Result` over time (``"A.position"``), or reduced
        (``("A.effort", "peak")``) by ``"first"``, ``"final"``, ``"max"``, ``"min"``, ``"peak"`` (of absolute values),
        ``"range"``, ``"mean"``, ``"rms"``, ``"integral"`` or a function of times (n,) and values (n, ...), all at the
        times of the run; an attribute of another answer (``"frequencies"``); or a function of the answer.
    samples : int
        How many are drawn from distributions.
    design : str
        How: ``"latin"`` hypercube, ``"sobol"``, ``"random"``.
    seed : int
        Of the samples, and of ``case.rng``. Where and in which order cases run does not matter.
    executor : concurrent.futures.Executor or joblib.Parallel
    client : distributed.Client or str
        Of a Dask cluster, or the address of its scheduler.
    workers : int
        Processes of our own; 1 for none. If nothing is said, runs of one topology are made side by side, in registers
        and on threads of this process, and other tasks in processes once they are found to take long.
    store : str or path
        A Zarr store to which answers are written as they come. If it is there already, cases that have an answer are
        not run again.
    retry : bool
        Whether cases of a store that failed are run again.
    progress : bool
        A line that shows how far it is; default only on a terminal or in a notebook.
    settings
        Of the task: ``t_end=2.0, rtol=1e-9``. Runs are kept at 101 times if none are given.

    Returns
    -------
    xarray.Dataset
        Over the axes, with the outputs, ``status`` (``"finished"``, ``"failed"``, ``"not run"``) and ``message``. What
        fails is recorded there and stops nothing. After Ctrl-C, or if an executor is lost, what is finished.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=10.0), "A")
    >>> found = sweep(s, {"k.stiffness": [20.0, 40.0], "A": [0.1, 0.2, 0.3]}, t_end=1.0, outputs=("A.speed", "peak"))
    >>> dict(found.sizes)
    {'k.stiffness': 2, 'A': 3}
    >>> bool((found.status == "finished").all())
    True
    """
    if store is None:  # with one, this may be how an interrupted study goes on
        raise_pending_interrupt()
    clear_interrupt()
    cases = make_design(over, samples, design, seed)
    job = _job(system, task, settings, outputs, cases)
    place = choose_executor(executor, client, workers)
    kept = MemoryStore() if store is None else Store(store, _identity(job, cases), cases, retry)
    interrupt, said = Interrupt(), ""
    dims: dict[str, tuple[str, ...]] = {}
    line = Progress(0, len(cases), progress, place="{:.0f} cases")
    try:
        try:
            finished = kept.finished()
            left = [number for number in range(len(cases)) if number not in finished]
            done = len(cases) - len(left)
            for block in _answers(job, cases, left, place):
                kept.keep(settle(block, dims))
                done += len(block.numbers)
                line.show(done)
        except (KeyboardInterrupt, StudyInterrupted):
            interrupt.flag.set = True
            said = "interrupted by Ctrl-C"
        except WorkerLost as error:
            said = str(error)
        whole = kept.whole()
    finally:
        line.close()
        kept.close()
    if interrupt.pressed:
        if not whole.numbers:
            raise KeyboardInterrupt
        defer_interrupt(interrupt)
    found = dataset(cases, whole, {"title": f"sweep of {_title(job)}", "task": _task_name(task), "seed": int(seed)})
    _tell(whole.errors, len(cases) - len(whole.numbers), said, store)
    if kept.trouble:
        warn_user(ModelWarning(f"sweep: the store lacks answers that the Dataset has: {kept.trouble}"))
    return found


@checked("store")
def load_sweep(store: str | os.PathLike[str]) -> xarray.Dataset:
    """Return the Dataset of a study that `sweep` wrote to a store, as far as it got.

    Raises
    ------
    FileError
        If it is damaged, or none of ours.
    """
    path = Path(store)
    note = read_note(path)
    cases = design_of(note)
    return dataset(cases, stored(path, len(cases)), {"title": f"sweep of {note['identity']['system']}"})


def _job(system: Any, task: Any, settings: dict[str, Any], outputs: Any, cases: Design) -> Job:
    """Return what is to be done, looked through: what is wrong with all cases is said before the first."""
    if isinstance(system, (System, Model)):
        source: Any = as_model(system)
    elif callable(system):
        source = system
    else:
        raise ModelError("sweep", "system", system, "give a System, a Model, or a function of a case")
    readings = as_readings(outputs, task)
    check_labels(cases, [reading.label for reading in readings])
    if isinstance(task, str):
        if task not in TASKS:
            raise ModelError("sweep", "task", task, f"use {', '.join(map(repr, TASKS))}, or a function")
        _check_settings(task, settings)
        if task == "simulate" and settings.get("times") is None:
            begin = float(settings.get("t_start") or 0.0)
            settings = {**settings, "times": np.linspace(begin, float(settings["t_end"]), N_DEFAULT_TIMES)}
    elif not callable(task):
        raise ModelError("sweep", "task", task, f"use {', '.join(map(repr, TASKS))}, or a function")
    job = Job(source, task, settings, readings)
    if isinstance(source, Model):
        sorted_names(source, task, cases.case(0))
        if task in ("simulate", "kinematics"):
            _check_outputs(source, readings)
    return job


def _check_settings(task: str, settings: Mapping[str, Any]) -> None:
    try:
        inspect.signature(TASKS[task]).bind(None, **settings)
    except TypeError as error:
        raise ModelError("sweep", f"settings of {task!r}", sorted(settings), f"{error}") from None


def _check_outputs(model: Model, readings: Sequence[RecordedOutput]) -> None:
    for reading in readings:
        if reading.name is not None:
            Output.of(model, reading.name)


def _answers(job: Job, cases: Design, left: list[int], place: Place | None) -> Iterator[CaseBlock]:
    """Yield the answers of the cases that are left, wherever it is best if nobody said."""
    if place is not None or job.side_by_side:
        yield from _packed(job, cases, left, place or LocalExecutor())
        return
    began, first = time.perf_counter(), 0
    while first < len(left):
        spent = time.perf_counter() - began
        cores = os.cpu_count() or 1
        if (
            first >= 2
            and cores > 1
            and spent / first * (len(left) - first) > MIN_PARALLEL_DURATION
            and _can_be_sent(job)
        ):
            yield from _packed(job, cases, left[first:], ProcessExecutor(cores))
            return
        yield job.run(cases.cases(left[first : first + 1]))
        first += 1


def _packed(job: Job, cases: Design, left: list[int], place: Place) -> Iterator[CaseBlock]:
    """Yield answers that come from a place."""
    packs = CaseChunks(cases, left, place.workers, job.abreast, adaptive=not isinstance(place, LocalExecutor))
    for block in place.run(job, packs):
        packs.record_duration(block)
        yield block


def _can_be_sent(job: Job) -> bool:
    try:
        packed(job)
    except ModelError:
        return False
    return True


def _tell(errors: Sequence[str], missing: int, said: str, store: Any) -> None:
    """Warn of what is missing."""
    failed = [error for error in errors if error]
    if said or missing:
        again = (
            "run it again with the same store, which keeps what is finished" if store else "give store= to go on later"
        )
        warn_user(ModelWarning(f"sweep: {said or 'incomplete'}; {missing} cases were not run: {again}"))
    if failed and len(failed) == len(errors):
        warn_user(ModelWarning(f"sweep: all {len(failed)} cases failed, the first: {failed[0]}"))


def _title(job: Job) -> str:
    return job.source.system.name if isinstance(job.source, Model) else _function_name(job.source)


def _task_name(task: Any) -> str:
    return task if isinstance(task, str) else _function_name(task)


def _function_name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _identity(job: Job, cases: Design) -> dict[str, str]:
    """Return what makes a study the same as another, in words and digests."""
    readings = [(r.label, r.name, _fingerprint(r.reduce), _fingerprint(r.function)) for r in job.readings]
    model = _digest(fingerprint(job.source)) if isinstance(job.source, Model) else _fingerprint(job.source)
    axes = [(axis.name, {name: list(map(_fingerprint, c)) for name, c in axis.columns.items()}) for axis in cases.axes]
    return {
        "system": _title(job),
        "model": model,
        "over": _digest(axes),
        "seed": str(cases.seed),
        "task": _fingerprint(job.task),
        "settings": _digest({name: _fingerprint(value) for name, value in sorted(job.settings.items())}),
        "outputs": _digest(readings),
    }


def _digest(plain: Any) -> str:
    return hashlib.blake2b(repr(plain).encode(), digest_size=12).hexdigest()


def _fingerprint(value: Any) -> str:
    """Return text that differs where values differ; of functions, their names and sources."""
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {_digest(value.tobytes())}"
    if callable(value):
        try:
            source = inspect.getsource(value)
        except (OSError, TypeError):
            source = ""
        return f"{_function_name(value)} {_digest(source)}"
    return repr(value)
