"""Run of a model file by the C library, in Python."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..checks import checked, finite_array, finite_number
from ..errors import FileError, IntegrationError, ModelError
from .quantities import KINDS

__all__ = ["FileRun"]

_UNDERFLOW, _BEYOND = -10, -15  # codes of the C library


class FileRun:
    """Run of a model file, by the functions that the C library offers to other programs.

    It has the states of `simulate`, to the same bits, without anything of a run that Python keeps: no records, no
    events.

    Parameters
    ----------
    file : path or bytes
        A model file (``.dalm``).
    method : str
        Of `simulate`; that of the file if left out.
    rtol : float
        That of the file if left out.
    atol_factor : float
        Of the absolute tolerances of the file.

    Attributes
    ----------
    t : float, s
    names : dict of str to tuple of str
        Names by kind: ``"coordinate"``, ``"speed"``, ``"state"``, ``"parameter"``, ``"input"``, ``"output"``.
    method : str
        Method of the last step; stiff runs change to radau.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library import chain
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/arm.dalm"
    >>> _ = da.export(chain(2, axes="y"), path, inputs=["joint_1.effort"], outputs=["joint_2.position"])
    >>> run = da.FileRun(path)
    >>> run.start()
    >>> run.set("joint_1.effort", 2.0)
    >>> run.advance(0.1)
    >>> round(run["joint_2.position"], 4)
    -0.6516
    """

    @checked("rtol", "atol_factor", "max_step", "fixed_step", item="FileRun")
    def __init__(
        self,
        file: str | Path | bytes,
        *,
        method: str | None = None,
        rtol: float | None = None,
        atol_factor: float = 1.0,
        max_step: float | None = None,
        fixed_step: float | None = None,
    ) -> None:
        if not isinstance(file, (str, os.PathLike, bytes)) or not file:
            raise ModelError("FileRun", "file", file, "give a path, or the content of a file as bytes")
        data = file if isinstance(file, bytes) else Path(file).read_bytes()
        try:
            self._model = _core.FileModel(data)
        except ValueError as error:
            code, _, message = str(error).partition(": ")
            item = "FileRun" if isinstance(file, bytes) else f"file {str(file)!r}"
            remedy = "it needs a later version" if code == "-2" else "it is damaged, or no model file: export it again"
            raise FileError(item, "content", message, remedy) from None
        if method is not None and method not in _core.methods[:-1]:
            raise ModelError("FileRun", "method", method, f"use one of {', '.join(map(repr, _core.methods[:-1]))}")
        numbers = {"rtol": rtol, "max_step": max_step, "fixed_step": fixed_step}
        given = {
            name: 0.0 if value is None else finite_number(value, item="FileRun", field=name)
            for name, value in numbers.items()
        }
        lengths = given["max_step"], given["fixed_step"]
        self._run = _core.FileRun(
            self._model, -1 if method is None else _core.methods.index(method), given["rtol"], atol_factor, *lengths
        )
        self.names: dict[str, tuple[str, ...]] = {kind: tuple(self._model.names(k)) for k, kind in enumerate(KINDS)}
        self._places = {
            name: (KINDS.index(kind), k)
            for kind in ("parameter", "output", "input")
            for k, name in enumerate(self.names[kind])
        }

    @property
    def t(self) -> float:
        """Time reached, s."""
        return float(self._run.t)

    @property
    def method(self) -> str:
        """Method of the last step."""
        return str(self._run.method)

    @property
    def start_time(self) -> float:
        """Time of the start in the file, s."""
        return float(self._model.start_time)

    def start(self, t: float | None = None) -> None:
        """Start with the values that are set; from the time of the file if none is given."""
        self._call(self._run.start, self.start_time if t is None else finite_number(t, item="FileRun", field="t"))

    def reset(self) -> None:
        """Set all values as in the file; `start` comes next."""
        self._call(self._run.reset)

    def advance(self, until: float) -> None:
        """Advance to a time, s.

        Raises
        ------
        IntegrationError
            Where the run cannot go on; the state is that of the last step.
        """
        self._call(self._run.advance, finite_number(until, item="FileRun", field="until"))

    def __getitem__(self, name: str) -> float:
        """Return an output, input or parameter."""
        kind, k = self._place(name)
        return float(self._call(self._run.read, kind)[k])

    def set(self, name: str, value: float) -> None:
        """Set an input or a parameter from now on."""
        kind, k = self._place(name)
        self._call(self._run.set, kind, k, finite_number(value, item="FileRun", field=name))

    def read(self, kind: str) -> Array:
        """Return all values of a kind, (n,), in the order of ``names[kind]``."""
        return np.asarray(self._call(self._run.read, self._kind(kind)))

    def write(self, kind: str, values: ArrayLike) -> None:
        """Set all values of a kind, (n,)."""
        count = len(self.names[KINDS[self._kind(kind)]])
        self._call(self._run.write, self._kind(kind), finite_array(values, (count,), item="FileRun", field=kind))

    def state(self) -> bytes:
        """Return the whole state of the run, for `set_state`; the run then goes on to the same bits."""
        return bytes(self._run.state())

    def set_state(self, state: bytes) -> None:
        """Return to a state of this model, of this build of the library."""
        self._call(self._run.set_state, state)

    def put(self, t: float, q: ArrayLike, v: ArrayLike, x: ArrayLike = ()) -> None:
        """Set time and state of a started run, for those who integrate themselves."""
        parts = (np.ascontiguousarray(np.ravel(part), dtype=float) for part in (q, v, x))
        self._call(self._run.put, float(t), *parts)

    def derivatives(self) -> tuple[Array, Array, Array]:
        """Return rates of coordinates (nq,), accelerations (nv,) and rates of element states (nx,)."""
        found: tuple[Array, Array, Array] = self._call(self._run.derivatives)
        return found

    def project(self) -> tuple[Array, Array, Array]:
        """Move the state onto loops and drives; return it."""
        found: tuple[Array, Array, Array] = self._call(self._run.project)
        return found

    def _kind(self, kind: str) -> int:
        if kind not in KINDS:
            raise ModelError("FileRun", "kind", kind, f"use one of {', '.join(map(repr, KINDS))}")
        return KINDS.index(kind)

    def _place(self, name: str) -> tuple[int, int]:
        if name not in self._places:
            near = get_close_matches(str(name), self._places, 4) or list(self._places)[:6]
            raise ModelError("FileRun", "name", name, f"the file has {', '.join(map(repr, near)) or 'no quantities'}")
        return self._places[name]

    def _call(self, function: Any, *given: Any) -> Any:
        try:
            return function(*given)
        except RuntimeError as error:
            if len(error.args) != 2:
                raise
            code, message = error.args
            if _BEYOND < code <= _UNDERFLOW:
                raise IntegrationError(message) from None
            raise ModelError("FileRun", "call", getattr(function, "__name__", "call"), message) from None
