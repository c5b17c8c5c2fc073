"""Limits of drives: dead points at which stretched or folded links lock a driven coordinate.

At such a limit the loop rows lose rank on the velocities that are not driven: P_f x = 0 for a motion x in which driven
coordinates do not move, and y^T P_f = 0 for the loads with which the links lock. The power y^T P_d v_d identifies the
drive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...connections.drives import Drive
from ...connections.joints import Joint
from ...errors import AssemblyError, listed
from ...model import Model
from ...model.drive_targets import driven_speeds
from ...numerics.rank import numerical_rank, singular_values
from ...numerics.roots import bisect
from ..assembly import close_loops
from ..loop_equations import LoopEquations
from ..loop_solver import LoopSolver
from ..named_velocities import named_velocities

__all__ = ["limit_reached", "unreachable_drive"]


_LOCKED_TOL = 1e-4  # of the singular values; a limit located to about 1e-12 leaves its square root
_REDUNDANT_TOL = 1e-11  # of the singular values; rounding of redundant rows
_MIN_SHARE = 1e-2  # of the largest component of a motion; a joint below it does not take part


def limit_reached(model: Model, t: float, q: Array, v: Array, given: BoolArray) -> str:
    """Return a sentence naming the drive at its limit at q (nq,), v (nv,); empty if there is none.

    `given` (nv,) is the mask of velocities that drives and locks prescribe.
    """
    loops = LoopEquations.of(model, t=t)
    J = loops.jacobian(q)
    U, s, _ = np.linalg.svd(J[:, ~given], full_matrices=False)
    if not model.joint_drives or not len(s):
        return ""
    # with massless bodies the model does not provide its independent rows
    independent = len(model.independent_rows) or numerical_rank(s, _REDUNDANT_TOL, 0.0)
    usual = min(independent, int((~given).sum()))
    if not usual:
        return ""
    power = np.abs((U[:, usual - 1] @ J) * v / loops.column_scales)
    pull = {d: float(power[model.v_slice(d.connection.name).start + d.coordinate]) for d in _single(model)}
    drive = max(pull, key=lambda d: pull[d], default=None)
    if drive is None or not pull[drive] > 0.0:
        return ""
    index = model.q_slice(drive.connection.name).start + drive.coordinate
    return _sentence(model, drive, float(q[index]), _stretched(model, q, given, t))


def unreachable_drive(model: Model, t: float, guess: Array, held: dict[str, Any]) -> str:
    """Return a sentence naming the position drive that exceeds the reach at t; empty if no single one does.

    Parameters
    ----------
    guess : (nq,) rad or m
        With driven coordinates at their prescribed values.
    held : dict of str to value
        Coordinates that drives hold by position.
    """
    for drive in _single(model):
        if drive.level:
            continue
        others = {name: value for name, value in held.items() if name != drive.name}
        index = model.q_slice(drive.connection.name).start + drive.coordinate
        requested = float(guess[index])
        try:
            q = close_loops(LoopSolver(LoopEquations.of(model, t=t)), guess, others, {drive.name: requested}, []).q
        except AssemblyError:
            continue
        limit, q = _farthest(model, t, q, index, requested, {**others, drive.name: None})
        given = driven_speeds(model, level=0)
        s = singular_values(LoopEquations.of(model, t=t).jacobian(q)[:, ~given])
        if not len(s) or s[min(len(model.independent_rows), len(s)) - 1] > _LOCKED_TOL * max(1.0, s[0]):
            continue  # another drive limits it, not the links
        return _sentence(model, drive, limit, _stretched(model, q, given, t)) + f" The drive asks for {requested:.6g}."
    return ""


def _single(model: Model) -> list[Drive]:
    """Return the drives of single coordinates, which have one value to report."""
    plain = {joint.name for joint in model.forest.joints if joint.element.nq == joint.element.nv}
    return [d for d in model.joint_drives if len(d.dofs) == 1 and d.connection.name in plain]


def _farthest(
    model: Model, t: float, q: Array, index: int, requested: float, held: dict[str, Any]
) -> tuple[float, Array]:
    """Return the closable value nearest to the requested one, by bisection, and q (nq,) there."""
    farthest = q

    def closes(value: Array) -> bool:
        nonlocal farthest
        trial = farthest.copy()
        trial[index] = value
        try:
            farthest = close_loops(LoopSolver(LoopEquations.of(model, t=t)), trial, held, {}, [], insist=False).q
        except AssemblyError:
            return False
        return True

    return float(bisect(closes, float(q[index]), requested)[0]), farthest


def _stretched(model: Model, q: Array, given: BoolArray, t: float) -> list[str]:
    """Return the joints of the least constrained motion in which given coordinates do not move."""
    loops = LoopEquations.of(model, t=t)
    J = loops.jacobian(q)[:, ~given]
    if not J.size:
        return []
    x = np.zeros(model.nv)
    x[~given] = np.linalg.svd(J)[2][-1]
    everything = named_velocities(model, [*model.joint_names, *model.compiled.names.cut_v], item="drive")
    sizes = np.concatenate([1.0 / loops.column_scales[everything.columns], everything.cut_scales])
    parts = np.abs(sizes * (everything.rows(q) @ (loops.column_scales * x)))
    order = list(model.system.connections)
    found = [name for name, part in zip(everything.names, parts, strict=True) if part > _MIN_SHARE * parts.max()]
    return sorted(found, key=lambda name: next((k for k, c in enumerate(order) if name.startswith(c)), len(order)))


def _sentence(model: Model, drive: Drive, limit: float, stretched: list[str]) -> str:
    joint = drive.connection.element
    unit = joint.coordinate_units[drive.coordinate] if isinstance(joint, Joint) else ""
    links = f"{listed(stretched[:6])} {'are' if len(stretched) > 1 else 'is'}"
    return f"{drive.name!r} cannot go beyond {limit:.6g} {unit}: {links} stretched or folded there."
