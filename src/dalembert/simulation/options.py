"""How to integrate: method, tolerances, steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..checks import finite_array, finite_number
from ..errors import ModelError
from ..model import Conditions, Model
from .absolute_tolerances import Tolerance, tolerances

__all__ = ["Options", "baumgarte_gains", "make_options"]

Array = NDArray[np.float64]

FIXED = ("rk4", "euler")  # methods whose steps have one length


@dataclass(frozen=True)
class Options:
    """How to integrate: what `simulate` was asked for."""

    method: str
    rtol: float
    atol: float | dict[str, float]
    max_step: float
    step: float
    spectral_radius: float
    project: bool
    watch: bool
    tolerances: NDArray[np.float64] = field(compare=False, repr=False)  # of positions, speeds and element states

    def integrator(self, conditions: Conditions, breaks: Array | None = None) -> _core.Integrator:
        """Return a stepper of the model under conditions, whose steps end at breaks (n,), s."""
        stepper = _core.Integrator(
            conditions.model,
            conditions,
            _core.methods.index(self.method),
            rtol=self.rtol,
            atol=self.tolerances,
            max_step=self.max_step,
            fixed_step=self.step,
            spectral_radius=self.spectral_radius,
            project=self.project,
            watch=self.watch,
        )
        if breaks is not None and len(breaks):
            stepper.set_breaks(breaks)
        return stepper

    @property
    def finest(self) -> float:
        """The smallest absolute tolerance."""
        return float(self.tolerances.min(initial=1.0))

    def plain(self) -> dict[str, Any]:
        """Return them by name."""
        numbers = {name: float(getattr(self, name)) for name in ("rtol", "max_step", "step", "spectral_radius")}
        return {"method": "auto" if self.watch else self.method, "atol": self.atol, **numbers}


def make_options(
    model: Model,
    *,
    method: str,
    rtol: float,
    atol: Tolerance,
    max_step: float | None,
    step: float | None,
    spectral_radius: float = 0.8,
    project: bool = True,
    span: float = np.inf,
) -> Options:
    """Return how to integrate, from what `simulate` takes; `span`: length of the run, s."""
    if method != "auto" and method not in _core.methods:
        known = ", ".join(map(repr, _core.methods))
        others = "; of other packages there are 'scipy:RK45' and the like, 'cvode' and 'ida'"
        raise ModelError("simulate", "method", method, f"use 'auto' or one of {known}{others}")
    if not (isinstance(rtol, (int, float, np.number)) and 1e-15 <= rtol < 1):
        raise ModelError("simulate", "rtol", rtol, "use a number from 1e-15 to 1")
    asked, numbers = tolerances(model, atol)
    longest = np.inf if max_step is None else finite_number(max_step, item="simulate", field="max_step")
    if longest <= 0:
        raise ModelError("simulate", "max_step", max_step, "it must be positive")
    if not 0 <= finite_number(spectral_radius, item="simulate", field="spectral_radius") <= 1:
        raise ModelError("simulate", "spectral_radius", spectral_radius, "use a number from 0 to 1")
    if method == "alpha" and model.feedback_count:
        remedy = "elements that depend on reactions need another method: 'auto', 'radau', ..."
        raise ModelError("simulate", "method", method, remedy)
    length, delay = _fixed_step(method, step, span), model.shortest_delay
    if length > delay:
        raise ModelError("simulate", "fixed_step", step, f"a delay asks for steps of at most {delay:.6g} s")
    return Options(
        method="dop853" if method == "auto" else method,
        rtol=float(rtol),
        atol=asked,
        max_step=min(longest, delay),
        step=length,
        spectral_radius=float(spectral_radius),
        project=project,
        watch=method == "auto",
        tolerances=numbers,
    )


def _fixed_step(method: str, step: float | None, span: float) -> float:
    """Return the length of steps, s; 0 for methods that choose it."""
    if method not in (*FIXED, "alpha"):
        if step is not None:
            remedy = f"method {method!r} chooses its steps: use rtol, atol and max_step"
            raise ModelError("simulate", "fixed_step", step, remedy)
        return 0.0
    if step is None and method == "alpha":
        return 0.0
    if step is None:
        raise ModelError("simulate", "fixed_step", None, f"method {method!r} has a fixed step: give fixed_step=..., s")
    length = finite_number(step, item="simulate", field="fixed_step")
    if not 0 < length <= span:
        raise ModelError("simulate", "fixed_step", step, f"it must be positive and at most {span:.6g} s")
    return length


def baumgarte_gains(stabilization: str | tuple[float, float]) -> tuple[float, float]:
    """Return 2 alpha and beta^2 of Baumgarte's stabilisation; zero for projection."""
    if isinstance(stabilization, tuple):
        pair = finite_array(stabilization, (2,), item="simulate", field="stabilization")
        if (pair < 0).any():
            raise ModelError("simulate", "stabilization", stabilization, "gains must not be negative")
        return 2 * float(pair[0]), float(pair[1]) ** 2
    if not isinstance(stabilization, str) or stabilization != "projection":
        raise ModelError("simulate", "stabilization", stabilization, "use 'projection' or Baumgarte's (alpha, beta)")
    return 0.0, 0.0
