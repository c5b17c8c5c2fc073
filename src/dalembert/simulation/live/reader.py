"""Prepared reading of outputs of a live run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import _core
from ...arrays import Array
from ...errors import ModelError
from ...model import Model
from ...result import Output
from ...result.outputs.linear_terms import LinearTerms, linear_terms
from .live_run import LiveRun, used_by_another

__all__ = ["Reader"]


class Reader:
    """Outputs of a `Live` run whose names are resolved once; made by `Live.reader`.

    A call returns the present values of all outputs in one array, vectors component by component. The core evaluates
    outputs that select or add quantities: joint motions, efforts, loads, elements, motions of points. Others, such as
    energies or angles of bodies, are evaluated in Python.

    Attributes
    ----------
    names : tuple of str
    labels : tuple of str
        Name of each number.
    slices : dict of str to slice
        Where the numbers of each output are.
    evaluated_in_python : tuple of str
        Outputs that the core does not evaluate.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library import chain
    >>> live = da.Live(chain(2, axes="y"))
    >>> read = live.reader(["joint_1.position", "joint_2.speed", "link_2.position"])
    >>> live.advance(0.1)
    >>> read().shape, read.labels[-1], read.slices["link_2.position"]
    ((5,), 'link_2.position.z', slice(2, 5, None))
    """

    def __init__(self, live: LiveRun, names: Sequence[str], *, copy: bool = True) -> None:
        self._live, self._copy = live, copy
        self.names = (names,) if isinstance(names, str) else tuple(names)
        self._outputs = _outputs(live.run.model, self.names)
        self._model = live.run.model
        self.shapes = tuple(output.shape or () for output in self._outputs)
        labels: list[str] = []
        self.slices: dict[str, slice] = {}
        for name, output in zip(self.names, self._outputs, strict=True):
            own = [f"{name}.{label}" for label in output.labels] if output.shape else [name]
            self.slices[name] = slice(len(labels), len(labels) + len(own))
            labels += own
        self.labels = tuple(labels)
        self._out = np.zeros(len(labels))
        self._prepare()

    def _prepare(self) -> None:
        """Let the core evaluate the outputs that it can."""
        live = self._live
        run, at = live.run, live.motion()
        may_lock = run.friction is not None or bool(run.conditions.locked) or run.event_handler.functions.given_count
        controlled = run.conditions.control is not None
        found = [
            None
            if run.has_contact_steps and each.needs == "dynamics"  # forces of contacts are known in Python
            else linear_terms(each, at, locks=bool(may_lock), control=controlled)
            for each in self._outputs
        ]
        self._in_python = [k for k, terms in enumerate(found) if terms is None]
        self.evaluated_in_python = tuple(self.names[k] for k in self._in_python)
        placed = [(self.slices[n].start, f) for n, f in zip(self.names, found, strict=True) if f is not None]
        self._plan = _plan(run.model, placed, len(self.labels)) if placed else None

    def __call__(self) -> Array:
        """Return the present values, (n,): a new array, or with ``copy=False`` one that the next call overwrites."""
        live = self._live
        if not live.lock.acquire(False):
            raise used_by_another("reader")
        try:
            if self._plan is not None and live.next_conditions is None:
                live.run.integrator.read(self._plan, self._out)
                if self._in_python:
                    self._evaluate(self._in_python)
            else:
                self._evaluate(range(len(self.names)))
            return self._out.copy() if self._copy else self._out
        finally:
            live.lock.release()

    def _evaluate(self, which: Sequence[int]) -> None:
        motion = self._live.motion()
        if motion.model is not self._model:  # with other parameters
            self._model, self._outputs = motion.model, _outputs(motion.model, self.names)
        for k in which:
            self._out[self.slices[self.names[k]]] = np.ravel(self._outputs[k].value(motion)[0])


def _outputs(model: Model, names: Sequence[str]) -> list[Output]:
    outputs = [Output.of(model, name) for name in names]
    for output in outputs:
        if output.history is not None:
            raise ModelError("Live", "output", output.name, "it depends on the past: take it from live.result()")
    return outputs


def _plan(model: Model, found: list[tuple[int, LinearTerms]], count: int) -> _core.StateReader:
    """Return the reader of the core for outputs that begin at places in a result of `count` numbers."""
    sources = list(dict.fromkeys(source for _, terms in found for source in terms.sources))
    number = {source: k for k, source in enumerate(sources)}
    rows, factors = [], []
    for begin, terms in found:
        which = np.array([number[source] for source in terms.sources], dtype=np.int64)[terms.sources_of]
        rows.append(np.column_stack([begin + terms.rows, which, terms.columns]))
        factors.append(terms.factors)
    made = [each if isinstance(each, str) else (each[0], model._point(each[0], each[1])) for each in sources]
    return _core.StateReader(model, made, count, np.vstack(rows).astype(np.int64), np.concatenate(factors))
