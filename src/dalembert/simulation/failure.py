"""Why a run could not go on, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import DalembertError, IntegrationError, SingularityError

if TYPE_CHECKING:
    from .run import Run

__all__ = ["failure"]


def failure(run: Run, outcome: int) -> DalembertError:
    """Return the error that goes with an outcome of the core."""
    from .run import APART, NOT_FINITE, UNDERFLOW

    model = run.model
    t, q, _, _, a = run.integrator.state()
    where = f"at t = {t:.9g} s"
    if outcome in (APART, UNDERFLOW, NOT_FINITE) and model.nc:
        stuck = _singular(run, q)
        if stuck:
            return SingularityError(f"{where} the mechanism cannot move on: {stuck}")
    if outcome == APART:
        residual = np.abs(model.constraint_residual(q))
        worst = model.constraint_connections[int(residual.argmax())]
        return IntegrationError(
            f"{where} the loops cannot be closed after a step of {run.integrator.step:.3g} s; the widest open is "
            f"{worst!r}. Give a smaller step, or look whether the mechanism locks here"
        )
    freedom, error = run.integrator.worst
    name = model.speed_names[freedom] if freedom < model.nv else f"element state {freedom - model.nv}"
    if outcome == NOT_FINITE:
        bad = [model.speed_names[k] for k in np.flatnonzero(~np.isfinite(a))] or [name]
        return IntegrationError(
            f"{where} the acceleration of {bad[0]!r} is not finite: look at the forces there, and at freedoms without "
            "inertia"
        )
    if outcome == UNDERFLOW:
        return IntegrationError(
            f"{where} no step is small enough: the error in {name!r} stays at {error:.3g} times the tolerance with a "
            f"step of {run.integrator.step:.3g} s. A force may jump there: use an event; or loosen rtol and atol"
        )
    return IntegrationError(f"{where} the run ended with outcome {outcome}")


def _singular(run: Run, q: np.ndarray) -> str:
    """Return what is singular about the loops at q; empty if nothing is."""
    from ..analysis.mobility import mobility

    try:
        report = mobility(run.model, q=q)
    except DalembertError:
        return ""
    usual = len(run.model.independent_rows)
    P = run.model.constraint_jacobian(q)
    values = np.linalg.svd(P, compute_uv=False)
    rank = int((values > 1e-7 * values[0]).sum()) if len(values) and values[0] > 0 else 0
    if rank >= min(usual, run.model.nv) and report.mobility > 0:
        return ""
    smallest = values[min(usual, len(values)) - 1] if len(values) else 0.0
    moving = run.model.speed_names[int(np.abs(run.integrator.state()[2]).argmax())]
    return (
        f"the constraint rows have rank {rank} here (smallest singular value {smallest:.3g}), and its motion, "
        f"{moving!r} foremost, has no continuation that obeys all loops. It may have locked"
    )
