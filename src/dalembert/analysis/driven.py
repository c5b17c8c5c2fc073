"""The motion that drives prescribe: positions, speeds and accelerations of a whole mechanism at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import finite_number
from ..connections.hinges import Hinge
from ..errors import AssemblyError, ModelError, SingularityError
from ..model import Model, as_model
from ..system import System
from .assemble import assemble
from .consistent import consistent_accelerations, consistent_speeds

__all__ = ["DrivenMotion", "driven_motion"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrivenMotion:
    """A state that obeys loops and drives, and its accelerations.

    Attributes
    ----------
    t : float, s
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
    a : (nv,) rad/s2 or m/s2
    model : Model
    """

    t: float
    q: Array
    v: Array
    a: Array
    model: Model


def driven_motion(
    system: System | Model, t: float = 0.0, *, q: ArrayLike | None = None, v: ArrayLike | None = None
) -> DrivenMotion:
    """Return the motion at time t that obeys the loops and every drive.

    Positions are assembled with the driven coordinates held (Sol 1983, KSP/0), speeds and accelerations follow by
    linear solves (KSP/1, KSP/2). If the drives leave freedoms open, the rest is nearest to the guess: positions to `q`,
    speeds to `v`, accelerations to zero.

    Parameters
    ----------
    system : System or Model
    t : float, s
    q : (nq,) rad or m
        Guess, for instance the configuration a moment earlier; the start values if left out.
    v : (nv,) rad/s or m/s
        Guess of the speeds; zero if left out.

    Raises
    ------
    AssemblyError
        If loops and drives cannot be obeyed together.
    AssemblyError, SingularityError
        If the drives contradict the loops in speed or acceleration: too many of them, or a dead point.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import slider_crank
    >>> s = slider_crank()
    >>> crank = next(iter(s.connections))
    >>> _ = s.drive(crank, position=da.Polynomial((0.3, 20.0)))
    >>> motion = driven_motion(s, 0.1)
    >>> bool(abs(motion.model.constraint_residual(motion.q)).max() < 1e-12), float(motion.v[0])
    (True, 20.0)
    """
    model = as_model(system)
    t = finite_number(t, item="driven_motion", field="t")
    q_given, v_given, a_given = model.drive_motion(t)
    guess = model.initial_state().q if q is None else np.array(q, dtype=float)
    if guess.shape != (model.nq,):
        raise ModelError("driven_motion", "q", q, f"give ({model.nq},) numbers")
    at = np.where(np.isnan(q_given), guess, q_given)
    held = [drive.name for drive in model.hinge_drives if drive.level == 0]
    if model.nc:
        try:
            at = assemble(model, q=at, fixed=held, t=t).q
        except AssemblyError as error:
            failure = AssemblyError(f"{_driven(model, t, 0)}: {error}")
            failure.q, failure.residuals = error.q, error.residuals
            raise failure from None
    speeds = np.zeros(model.nv) if v is None else np.array(v, dtype=float)
    speeds = np.where(np.isnan(v_given), speeds, v_given)
    rates = np.where(np.isnan(a_given), 0.0, a_given)
    if model.nc:
        paced = [drive.name for drive in model.hinge_drives if drive.level <= 1]
        try:
            speeds = _speeds(model, at, speeds, paced, t)
            everything = [drive.name for drive in model.hinge_drives]
            rates = consistent_accelerations(model, at, speeds, rates, fixed=everything, t=t)
        except (AssemblyError, SingularityError) as error:
            order = 1 if isinstance(error, AssemblyError) else 2
            raise type(error)(f"{_driven(model, t, order)}: {error}") from None
    return DrivenMotion(t, at, speeds, rates, model)


def _speeds(model: Model, q: Array, v: Array, paced: list[str], t: float) -> Array:
    """Return speeds that obey loops and drives, with modes at theirs if hinges alone can follow."""
    if model.flexible_names:
        try:
            return consistent_speeds(model, q, v, fixed=[*paced, *model.flexible_names], t=t)
        except AssemblyError:
            pass
    return consistent_speeds(model, q, v, fixed=paced, t=t)


def _driven(model: Model, t: float, order: int) -> str:
    """Say what positions, speeds or accelerations the drives ask for: ``drives at t = 0.2 s ('A' 0.3 rad/s)``."""
    asked = []
    for drive in model.drives:
        value, element = drive.motion(t)[order], drive.connection.element
        names = element.coordinates if isinstance(element, Hinge) else element.rows
        unit = ("rad" if names[drive.coordinate].startswith("angle") else "m") + ("", "/s", "/s2")[order]
        if value is not None:
            asked.append(f"{drive.name!r} {value:.6g} {unit}")
    return f"drives at t = {t:.6g} s ({', '.join(asked[:8]) or 'none'}{', ...' * (len(asked) > 8)})"
