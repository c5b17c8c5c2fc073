"""Compiled control: joint forces by a function in machine code, called by the core without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from ..arrays import Array
from ..errors import ModelError, UserFunctionError
from .state import State

__all__ = ["CompiledControl", "as_compiled_control"]

_NUMBERS = ctypes.POINTER(ctypes.c_double)
_SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, ctypes.c_int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS
)  # t, run, q, v, x, tau, data
_POINTER: Any = _SIGNATURE.__mro__[1]  # class of all function pointers of ctypes

_REMEDY = "give a function pointer of ctypes or cffi, a numba.cfunc, or an address"


class CompiledControl:
    """Control by a compiled function, which the core calls at every evaluation, on any thread, without Python.

    The function has the signature ::

        void control(double t, int64_t run, const double *q, const double *v, const double *x, double *tau,
                     const double *data)

    and fills tau (nv), N m or N, which is zero before the call, from the time t (s), the state q (nq), v (nv), x (nx),
    and its own numbers. It must be a function of these alone: ensembles call it on several threads at once. Numbers
    that are not finite end the run with an error, as an exception does in Python.

    Parameters
    ----------
    function : object
        A function pointer of ctypes (``library.control``) or cffi (``ffi.addressof(library, "control")``), an object
        with the address as its attribute ``address``, as functions by ``numba.cfunc`` have, or the address itself.
    data : array of float
        Numbers that the function receives, in C order; the array itself, not a copy. None: a null pointer.
    name : str
        For messages.

    `run` is the number of the run in its ensemble, 0 in single runs: with it the function finds its own row of `data`.
    A control compiled by Numba has the signature ``void(float64, int64, CPointer(float64), CPointer(float64),
    CPointer(float64), CPointer(float64), CPointer(float64))``.

    The function and the data are kept alive. Code in machine language cannot be checked: a wrong signature, or an index
    beyond the arrays, ends the process. In Python the object is a control like others, ``control(state)``, with which a
    result can be compared.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("arm", gravity=(0, 0, 0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=3.0)))
    >>> def hold(t, run, q, v, x, tau, data):
    ...     tau[0] = data[0] - 3.0 * v[0]
    >>> control = CompiledControl(CompiledControl.signature(hold), data=[0.5])  # ctypes calls Python, as an example
    >>> result = da.simulate(s, 1.0, control=control)
    >>> round(float(result["A.speed"][-1]), 6)
    0.158369
    """

    signature = _SIGNATURE

    def __init__(self, function: Any, data: Any = None, *, name: str = "") -> None:
        self.function, self.address = function, _address(function)
        if data is None:
            self.data: Array | None = None
        else:
            try:
                self.data = np.ascontiguousarray(data, dtype=np.float64)
            except (TypeError, ValueError):
                raise ModelError("CompiledControl", "data", data, "give an array of numbers") from None
        self.__name__ = name or str(getattr(function, "__name__", f"at {self.address:#x}"))

    @property
    def data_address(self) -> int:
        """Address of the data; 0 if there are none."""
        return 0 if self.data is None else int(self.data.ctypes.data)

    @cached_property
    def _call(self) -> Callable[..., None]:
        return _SIGNATURE(self.address)

    def __call__(self, state: State) -> Array:
        """Return the joint forces at one state, (nv,), or at a batch of states, (B, nv)."""
        if state.q.ndim > 1:
            count = len(state.q)
            times, runs = np.broadcast_to(state.t, count).tolist(), np.broadcast_to(state.run, count).tolist()
            rows = zip(times, runs, state.q, state.v, state.x, strict=True)
            return np.array([self(State(q=q, v=v, t=t, x=x, run=run)) for t, run, q, v, x in rows])
        q, v, x = (np.ascontiguousarray(part, dtype=np.float64) for part in (state.q, state.v, state.x))
        tau = np.zeros(len(v))
        arrays = [part.ctypes.data_as(_NUMBERS) for part in (q, v, x, tau)]
        self._call(float(state.t), int(state.run), *arrays, ctypes.cast(self.data_address, _NUMBERS))
        return tau

    def error(self, t: float, run: int) -> UserFunctionError:
        """Return the error of forces that are not finite at t, s."""
        return UserFunctionError(
            f"control {self.__name__} gave forces that are not finite at t = {t:.6g} s" + (f", run {run}" * bool(run))
        )

    def __repr__(self) -> str:
        return f"<CompiledControl {self.__name__}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} cannot be pickled: its address is that of this process. Make it again where it is used"
        )


def as_compiled_control(control: Any) -> Any:
    """Return a control; functions of ctypes and those with an address, as of Numba, as a `CompiledControl`."""
    if isinstance(control, CompiledControl):
        return control
    if isinstance(control, _POINTER) or hasattr(control, "address"):
        return CompiledControl(control)
    return control


def _address(function: Any) -> int:
    """Return the address of a compiled function."""
    if isinstance(function, _POINTER):
        found: Any = ctypes.cast(function, ctypes.c_void_p).value
    elif hasattr(function, "address"):
        found = function.address
    elif type(function).__module__.startswith("_cffi_backend"):
        found = int(import_module("_cffi_backend").FFI().cast("uintptr_t", function))
    else:
        found = function
    if isinstance(found, bool) or not isinstance(found, (int, np.integer)):
        raise ModelError("CompiledControl", "function", function, _REMEDY)
    if not found:
        raise ModelError("CompiledControl", "function", function, "its address is 0: give a function that exists")
    return int(found)
