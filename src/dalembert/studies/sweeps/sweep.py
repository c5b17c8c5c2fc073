"""`sweep`: one analysis for many cases."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import checked
from ...errors import ModelError, ModelWarning, warn_user
from ...model import Model, as_model
from ...result import Output
from ...simulation.interrupts import Interrupt, clear_interrupt, defer_interrupt, raise_pending_interrupt
from ...simulation.progress import Progress
from ...system import System
from .blocks import CaseBlock, settle
from .campaign import attributes_of, describe, differences, provenance
from .cases import Case, Design, make_design
from .chunks import CaseChunks
from .datasets import MemoryStore, check_labels, dataset, ordered
from .executors import LocalExecutor, Place, ProcessExecutor, WorkerLost, choose_executor
from .jobs import TASKS, Job, StudyInterrupted, packed, sorted_names
from .lazy_data import open_dataset
from .recorded_outputs import RecordedOutput, as_readings
from .store import Store, StoredStudy

if TYPE_CHECKING:
    import xarray

__all__ = ["load_sweep", "sweep"]

MIN_PARALLEL_DURATION = 3.0  # s of remaining work from which on worker processes are started by default
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
    correlation: Mapping[tuple[str, str], float] | None = None,
    seed: int = 0,
    executor: Executor | Any = None,
    client: Any = None,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    retry: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> xarray.Dataset:
    """Run an analysis for every combination of varied values, and return one labelled Dataset.

    Parameters
    ----------
    system : System, Model, or function of a Case
        A function returns the System of each case, so that topology may vary. It reads values of the case by name;
        names that it does not read are used as below.
    over : dict of name to values
        Varied names: parameters of the system (``"coupler.mass"``, ``"k.stiffness"``, user parameters), start values as
        in `simulate` (``"A"``, ``"B.speed"``), or any name that a function reads from its case. A list or an array
        defines an axis; all combinations of axes are cases. A tuple of names with rows of values defines one axis along
        which they vary together. Distributions of ``scipy.stats`` are sampled; all samples share the axis ``"sample"``.
    task : str or function
        ``"simulate"``, ``"kinematics"``, ``"equilibrium"``, ``"modes"``, ``"linearize"``, or a function of the `Model`
        of a case and of the `Case`, which returns a number, an array, or a dict of such.
    outputs : names, or dict of label to name
        Recorded outputs of each case: an output of a `Result` over time (``"A.position"``), or reduced
        (``("A.effort", "peak")``) by ``"first"``, ``"final"``, ``"max"``, ``"min"``, ``"peak"`` (of absolute values),
        ``"range"``, ``"mean"``, ``"rms"``, ``"integral"`` or a function of times (n,) and values (n, ...), all at the
        times of the run; an attribute of another result (``"frequencies"``); or a function of the result.
    samples : int
        Number of samples of distributions.
    design : str
        Sampling: ``"latin"`` hypercube, ``"sobol"``, ``"random"``.
    correlation : dict of (name, name) to float
        Correlations of distributions, by a Gaussian copula: of the normal numbers with the same quantiles.
    seed : int
        Of the samples, and of ``case.rng``. Results do not depend on executor or order.
    executor : concurrent.futures.Executor or joblib.Parallel
    client : distributed.Client or str
        Client of a Dask cluster, or the address of its scheduler.
    workers : int
        Number of worker processes; 1 for none. By default runs of one topology are simulated as an ensemble, in SIMD
        batches and on threads of this process; other tasks use worker processes once they take long.
    store : str or path
        A Zarr store to which results are written as they finish. Cases with results in an existing store are not run
        again.
    retry : bool
        Whether failed cases of a store are run again.
    progress : bool
        Show a progress line; default only on a terminal or in a notebook.
    settings
        Settings of the task: ``t_end=2.0, rtol=1e-9``. Runs have 101 output times by default.

    Returns
    -------
    xarray.Dataset
        Over the axes, with the outputs, ``status`` (``"finished"``, ``"failed"``, ``"not run"``) and ``message``. A
        failed case does not stop the sweep. After Ctrl-C, or if an executor is lost, it holds the finished cases.

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
    if store is None:  # with a store, this may resume an interrupted study
        raise_pending_interrupt()
    clear_interrupt()
    cases = make_design(over, samples, design, seed, correlation)
    job = _job(system, task, settings, outputs, cases)
    place = choose_executor(executor, client, workers)
    sampling = {} if samples is None else {"samples": int(samples), "design": design}
    if store is None:
        kept: MemoryStore = MemoryStore()
        attrs = attributes_of(job, cases, sampling)
    else:
        description = describe(job, cases, sampling)
        attrs = description["attributes"]
        kept = Store(store, description, cases, retry, differences, provenance())
        job = replace(job, store=kept.address)
        _warn_other_versions(kept.sessions)
    interrupt, interruption = Interrupt(), ""
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
            interruption = "interrupted by Ctrl-C"
        except WorkerLost as error:
            interruption = str(error)
        found, outcomes = _dataset(kept, cases, attrs)
    finally:
        line.close()
        kept.close()
    if interrupt.pressed:
        if not outcomes.numbers:
            raise KeyboardInterrupt
        defer_interrupt(interrupt)
    _warn_incomplete(outcomes.errors, len(cases) - len(outcomes.numbers), interruption, store)
    if kept.trouble:
        warn_user(ModelWarning(f"sweep: the store lacks results that the Dataset has: {kept.trouble}"))
    return found


def _dataset(kept: MemoryStore, cases: Design, attrs: Mapping[str, Any]) -> tuple[xarray.Dataset, CaseBlock]:
    """Return the Dataset, whose values stay in the store if there is one, and the outcomes of all cases."""
    if not isinstance(kept, Store):
        whole = ordered(kept.blocks)
        return dataset(cases, whole, attrs), whole
    study = kept.study()
    attrs = study.note["attributes"]
    if kept.blocks:  # those that could not be written
        whole = ordered([study.whole(), *kept.blocks])
        return dataset(cases, whole, attrs), whole
    return open_dataset(study, attrs), study.outcomes()


@checked("store")
def load_sweep(store: str | os.PathLike[str], *, chunks: Any = None) -> xarray.Dataset:
    """Open the Dataset of a study that `sweep` wrote to a store, finished or not; values are read when used.

    Parameters
    ----------
    store : str or path
    chunks : dict, "auto" or None
        Chunks of Dask arrays, for results larger than memory: ``{}`` for those of the store, ``{"time": 100}`` for
        others. None for no Dask arrays: an index reads what it selects, arithmetic reads a whole variable.

    Raises
    ------
    FileError
        If the store is damaged, or was not written by `sweep`; for damaged values when they are read.
    """
    study = StoredStudy(store)
    return open_dataset(study, study.note["attributes"], chunks)


def _job(system: Any, task: Any, settings: dict[str, Any], outputs: Any, cases: Design) -> Job:
    """Return the job after checks that concern all cases, before the first one runs."""
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
    """Yield the results of the remaining cases; without an executor, choose one by duration."""
    if place is not None or job.side_by_side:
        yield from _packed(job, cases, left, place or LocalExecutor())
        return
    began, first = time.perf_counter(), 0
    while first < len(left):
        spent = time.perf_counter() - began
        cores = os.cpu_count() or 1
        if (
            first >= 2 * job.abreast
            and cores > 1
            and spent / first * (len(left) - first) > MIN_PARALLEL_DURATION
            and _can_be_sent(job)
        ):
            yield from _packed(job, cases, left[first:], ProcessExecutor(cores))
            return
        yield job.run(cases.cases(left[first : first + job.abreast]))
        first += job.abreast


def _packed(job: Job, cases: Design, left: list[int], place: Place) -> Iterator[CaseBlock]:
    """Yield results from an executor."""
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


def _warn_incomplete(errors: Sequence[str], missing: int, interruption: str, store: Any) -> None:
    """Warn of failed and missing cases."""
    failed = [error for error in errors if error]
    if interruption or missing:
        again = "run it again with the same store to resume" if store else "give store= to be able to resume"
        warn_user(ModelWarning(f"sweep: {interruption or 'incomplete'}; {missing} cases were not run: {again}"))
    if failed and len(failed) == len(errors):
        warn_user(ModelWarning(f"sweep: all {len(failed)} cases failed, the first: {failed[0]}"))


def _warn_other_versions(sessions: Sequence[Mapping[str, Any]]) -> None:
    """Warn if results in a store were computed by other versions, or with another instruction set."""
    for name, effect in (("dalembert", "other results"), ("isa", "differences by rounding")):
        old, new = sessions[0].get(name), sessions[-1].get(name)
        if old != new:
            warn_user(ModelWarning(f"sweep: the store was begun with {name} {old}, this is {new}: expect {effect}"))
