"""Integration options: method, tolerances, steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import finite_array, finite_number
from ..errors import ModelError
from ..model import Conditions, Model
from ..model.cache import cached_per_model
from ..model.callbacks import shortest_delay
from .absolute_tolerances import Tolerance, tolerances

__all__ = ["Options", "baumgarte_gains", "is_external_method", "make_options"]


FIXED_STEP_METHODS = ("rk4", "euler")
METHODS = tuple(name for name in _core.methods if name != "moreau")  # which is that of contact by steps
SUNDIALS_METHODS = ("cvode", "ida")


@dataclass(frozen=True)
class Options:
    """Integration options of a run.

    Attributes
    ----------
    method : str
        Of the core.
    rtol : float
    atol : float or dict of str to float
        As given.
    max_step, step : float, s
        Longest step; length of fixed steps, 0 with step control.
    spectral_radius : float
        Of generalized alpha.
    project : bool
        Whether states are projected onto the loops after each step.
    detect_stiffness : bool
        Whether explicit steps give way to radau where stability limits them.
    tolerances : (2 nv + nx,)
        Absolute tolerances of positions, velocities and element states.
    """

    method: str
    rtol: float
    atol: float | dict[str, float]
    max_step: float
    step: float
    spectral_radius: float
    project: bool
    detect_stiffness: bool
    tolerances: Array = field(compare=False, repr=False)

    def integrator(self, conditions: Conditions, discontinuity_times: Array | None = None) -> _core.Integrator:
        """Return an integrator of the model under conditions, whose steps end at discontinuity times (n,), s."""
        integrator = _core.Integrator(
            conditions.model,
            conditions,
            _core.methods.index(self.method),
            rtol=self.rtol,
            atol=self.tolerances,
            max_step=self.max_step,
            fixed_step=self.step,
            spectral_radius=self.spectral_radius,
            project=self.project,
            detect_stiffness=self.detect_stiffness,
        )
        if discontinuity_times is not None and len(discontinuity_times):
            integrator.set_discontinuities(discontinuity_times)
        return integrator

    @property
    def smallest_atol(self) -> float:
        """Smallest absolute tolerance of any variable."""
        return float(self.tolerances.min(initial=1.0))

    def to_plain(self) -> dict[str, Any]:
        """Return the options as a dict of numbers and texts, with the names of `simulate`."""
        numbers = {name: float(getattr(self, name)) for name in ("rtol", "max_step", "step", "spectral_radius")}
        return {"method": "auto" if self.detect_stiffness else self.method, "atol": self.atol, **numbers}


def is_external_method(method: Any) -> bool:
    """Return whether a method is an adapter to SciPy or SUNDIALS."""
    return isinstance(method, str) and (method.startswith("scipy:") or method in SUNDIALS_METHODS)


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
    """Return the options for arguments of `simulate`, checked; `span` is the length of the run, s."""
    usual = type(rtol) is type(atol) is type(spectral_radius) is float and max_step is None and step is None
    if not usual or not isinstance(method, str) or not isinstance(project, bool):
        return _checked_options(model, method, rtol, atol, max_step, step, spectral_radius, project, span)
    known, key = _usual_options(model), (method, rtol, atol, spectral_radius, project)
    if key not in known:
        known.clear()  # the last ones are kept
        known[key] = _checked_options(model, method, rtol, atol, None, None, spectral_radius, project, span)
    return known[key]


@cached_per_model
def _usual_options(model: Model) -> dict[tuple[str, Tolerance, Tolerance, float, bool], Options]:
    """Return the cache of `make_options` for steps of any length."""
    return {}


def _checked_options(
    model: Model,
    method: str,
    rtol: float,
    atol: Tolerance,
    max_step: float | None,
    step: float | None,
    spectral_radius: float,
    project: bool,
    span: float,
) -> Options:
    """Return the options of `make_options`."""
    if method != "auto" and method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        others = "; of other packages there are 'scipy:RK45' and the like, 'cvode' and 'ida'"
        raise ModelError("simulate", "method", method, f"use 'auto' or one of {known}{others}")
    if not (isinstance(rtol, (int, float, np.number)) and 1e-15 <= rtol < 1):
        raise ModelError("simulate", "rtol", rtol, "use a number from 1e-15 to 1")
    given_atol, numbers = tolerances(model, atol)
    longest = np.inf if max_step is None else finite_number(max_step, item="simulate", field="max_step")
    if longest <= 0:
        raise ModelError("simulate", "max_step", max_step, "it must be positive")
    if not 0 <= finite_number(spectral_radius, item="simulate", field="spectral_radius") <= 1:
        raise ModelError("simulate", "spectral_radius", spectral_radius, "use a number from 0 to 1")
    if method == "alpha" and model.feedback_count:
        remedy = "elements that depend on reactions need another method: 'auto', 'radau', ..."
        raise ModelError("simulate", "method", method, remedy)
    has_step_control = step is None and method not in FIXED_STEP_METHODS
    length, delay = 0.0 if has_step_control else _fixed_step(method, step, span), shortest_delay(model)
    if length > delay:
        raise ModelError("simulate", "fixed_step", step, f"the shortest delay limits steps to {delay:.6g} s")
    return Options(
        method="dop853" if method == "auto" else method,
        rtol=float(rtol),
        atol=given_atol,
        max_step=min(longest, delay),
        step=length,
        spectral_radius=float(spectral_radius),
        project=project,
        detect_stiffness=method == "auto",
        tolerances=numbers,
    )


def _fixed_step(method: str, step: float | None, span: float) -> float:
    """Return the length of fixed steps, s."""
    if method not in (*FIXED_STEP_METHODS, "alpha"):
        remedy = f"method {method!r} has step control: use rtol, atol and max_step"
        raise ModelError("simulate", "fixed_step", step, remedy)
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
