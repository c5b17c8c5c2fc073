"""Why prescribed speeds or accelerations contradict closed loops: too many, a dead point, a singularity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import DalembertError
from ..model import Model
from .mobility import mobility
from .scales import Scales, closure_rank

__all__ = ["why_speeds_clash"]

Array = NDArray[np.float64]

_STILL = 1e-6  # share of a motion below which a speed takes no part in it


def why_speeds_clash(model: Model, q: Array, held: NDArray[np.bool_], t: float = 0.0) -> str:
    """Return a sentence or two on why the held speeds (nv,) cannot be had at q, and the way out."""
    J = Scales.of(model, t=t).jacobian(model, q)
    _, s, Vt = np.linalg.svd(J)
    motions = Vt[closure_rank(s) :]
    text = ""
    if len(model.drives) == len(model.hinge_drives):  # others may close the loops elsewhere than at t = 0
        try:
            report = mobility(model, q)
        except DalembertError:
            report = None
        if report is not None and not report.permanent:
            text = (
                f"The position is singular: mobility {report.mobility} here, {report.general} nearby; start beside it, "
                "or from rest. "
            )
    part = np.linalg.norm(motions, axis=0)
    if (held & (part < _STILL)).any() and len(motions):
        stuck = [name for name, h, p in zip(model.speed_names, held, part, strict=True) if h and p < _STILL]
        able = [name for name, p in zip(model.speed_names, part, strict=True) if p > 0.1]
        return (
            f"{text}At this configuration {_listed(stuck)} cannot move: a dead point; drive another coordinate, "
            f"such as {_listed(able)}."
        )
    if held.sum() > len(motions):
        count = f"{len(motions)} freedom{'s' * (len(motions) != 1)}"
        return f"{text}The system has {count}: prescribe fewer, or values that agree (see da.mobility(...).motions)."
    return text or "Prescribe fewer, or values that agree (see da.mobility(...).motions)."


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:4]))
