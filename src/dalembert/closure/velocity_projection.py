"""Projection of velocities and accelerations onto the constraints; some of them may be held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, BoolArray
from ..checks import checked, finite_array
from ..errors import AssemblyError, SingularityError, listed
from ..model import Model, as_model
from ..model.argument_errors import checked_configuration
from ..numerics.rank import (
    ROW_RANK_TOL,
    STEP_RANK_TOL,
    minimum_norm_solution,
    null_space,
    numerical_rank,
    singular_values,
)
from ..system import System
from ..system.initial_values import BodyPlacement
from .loop_equations import LoopEquations, LoopLinearization
from .named_velocities import NamedVelocities, as_name_list, named_velocities
from .nearby_configurations import general_mobility
from .starts.chain_targets import ChainRateTarget

__all__ = ["consistent_accelerations", "consistent_velocities", "preferred_velocities"]

Fixed = str | Iterable[str] | Mapping[str, ArrayLike]

MIN_PARTICIPATION = 1e-6  # share of a motion; a velocity below it does not take part


@checked("q", "hold")
def consistent_velocities(
    system: System | Model, q: ArrayLike, v: ArrayLike, hold: Fixed = (), *, t: float = 0.0
) -> Array:
    """Return the velocities nearest to `v` that keep the loops closed, (nv,).

    Nearest in the metric of the mass matrix: the result of an ideal impulse of the closed loops. Minimises d^T M d over
    d = v_new - v with P v_new = 0.

    Parameters
    ----------
    system : System or Model
    q : (nq,) rad or m
        A closed configuration.
    v : (nv,) rad/s or m/s
    hold : names, or dict of name to value
        Connections or velocities, also of a cut joint, that keep their value in `v`, or take the given value.
    t : float, s
        Time, for driven constraints.

    Raises
    ------
    AssemblyError
        If the held velocities contradict the loops.
    """
    model, item = as_model(system), "consistent_velocities"
    v = finite_array(v, (model.nv,), item=item, field="v").copy()
    q = checked_configuration(model, item, q)
    held = named_velocities(model, hold, item=f"{item}: hold")
    loops = LoopEquations.of(model, t=t)
    target = _with_values(held, hold, v, held.cut_speeds(q, v) if held.cut else np.zeros(0), item)
    if not model.nc and not held.cut:
        return v
    free = ~held.mask
    if LoopLinearization.is_available(model) and not held.cut:
        found = _change_within_trees(loops, q, v, held.mask)
        if found is not None:
            return found
    x = v / loops.column_scales
    J = np.vstack([loops.jacobian(q), held.cut_scales[:, None] * held.cut_rows(q) * loops.column_scales])
    rates = np.concatenate([loops.row_scales * loops.velocity_terms(q), held.cut_scales * target])
    if (np.abs(J @ x - rates) <= np.finfo(float).eps * (np.abs(J) @ np.abs(x) + np.abs(rates))).all():
        return v
    size = float(np.linalg.norm(J, 2))
    low = _root_of_inertia(model, q, loops, free)
    # rank is decided on the geometry, not on the masses
    rank = numerical_rank(singular_values(J[:, free]), STEP_RANK_TOL, size)
    U, s, Vt = np.linalg.svd(np.linalg.solve(low, J[:, free].T).T, full_matrices=False)
    for _ in range(2):  # the second pass removes the rounding of the first
        step = Vt[:rank].T @ ((U[:, :rank].T @ (rates - J @ x)) / s[:rank])
        x[free] += np.linalg.solve(low.T, step)
    gap = J @ x - rates
    if np.abs(gap).max(initial=0.0) > 1e-9 * (size * np.linalg.norm(v / loops.column_scales) + np.linalg.norm(rates)):
        names = as_name_list(hold)
        what = f"the velocities held at {', '.join(map(repr, names))}" if names else "the rates of driven constraints"
        raise AssemblyError(
            f"{item}: {what} contradict the closed loops: {_widest(held, loops, gap, '/s')}. "
            f"{_explain_conflict(held, q, t)}"
        )
    result: Array = x * loops.column_scales
    result[~free] = v[~free]
    return result


def _change_within_trees(loops: LoopEquations, q: Array, v: Array, held: BoolArray) -> Array | None:
    """Return the velocities of `consistent_velocities` for many coupled loops, None if rows are not met."""
    rates, marks = loops.velocity_terms(q), held.astype(float)
    change, missed, terms = loops.model._velocity_change(q, v, rates, marks, t=loops.t)
    used = loops.row_scales > 0.0
    if (np.abs(missed) <= np.finfo(float).eps * terms)[used].all():
        return v
    after = v + change
    left = loops.row_scales * loops.model._velocity_change(q, after, rates, marks, t=loops.t)[1]
    return after if np.abs(left).max() <= 1e-12 * float((loops.row_scales * terms).max()) else None


def preferred_velocities(
    model: Model,
    q: Array,
    fixed: Mapping[str, ArrayLike],
    preferences: Mapping[str, ArrayLike],
    places: Mapping[str, BodyPlacement] | None = None,
    *,
    chains: Sequence[ChainRateTarget] = (),
    t: float = 0.0,
) -> Array:
    """Return velocities (nv,) that keep the loops closed and meet preferences, exactly if possible.

    Otherwise the change of the preferred velocities is least. The others have the least kinetic energy.

    Parameters
    ----------
    model : Model
    q : (nq,) rad or m
        A closed configuration.
    fixed, preferences : dict of name to value
        Connections or velocities, also of cut joints. Those in `fixed` are met exactly or an error is raised. No
        velocity is in both.
    places : dict of str to BodyPlacement
        Bodies with preferred velocities.
    chains : sequence of ChainRateTarget
        Kinematic chains with preferred rates of inner coordinates.
    t : float, s
    """
    rest = np.zeros(model.nv)
    placed, rates, units = _body_velocity_targets(model, q, places or {}, chains)
    try:
        found = consistent_velocities(model, q, rest, hold={**fixed, **preferences}, t=t)
        if not len(placed):
            return found
    except AssemblyError:
        if not preferences:
            raise
    base = consistent_velocities(model, q, rest, hold=fixed, t=t)
    loops = LoopEquations.of(model, t=t)
    held, wanted_velocities = (named_velocities(model, names, item="start speeds") for names in (fixed, preferences))
    rows = [loops.jacobian(q), held.rows(q) * loops.column_scales]
    allowed = loops.column_scales[:, None] * null_space(np.vstack(rows), STEP_RANK_TOL, 0.0)
    v = rest.copy()
    cut = _with_values(wanted_velocities, preferences, v, np.zeros(len(wanted_velocities.cut)), "start speeds")
    sizes = np.concatenate([1.0 / loops.column_scales[wanted_velocities.columns], wanted_velocities.cut_scales, units])
    G = np.vstack([wanted_velocities.rows(q), placed])
    gap = sizes * (np.concatenate([v[wanted_velocities.columns], cut, rates]) - G @ base)
    U, s, Vt = np.linalg.svd(sizes[:, None] * (G @ allowed))
    rank = numerical_rank(s, ROW_RANK_TOL)
    met: Array = base + allowed @ (Vt[:rank].T @ ((U[:, :rank].T @ gap) / s[:rank]))
    left = allowed @ Vt[rank:].T  # motions without preferences
    M = model.mass_matrix(q)
    met -= left @ np.linalg.lstsq(left.T @ M @ left, left.T @ (M @ met), rcond=None)[0]
    return met


def _body_velocity_targets(
    model: Model, q: Array, places: Mapping[str, BodyPlacement], chains: Sequence[ChainRateTarget]
) -> tuple[Array, Array, Array]:
    """Return rows (k, nv) on v, rates (k,) and scales (k,) of velocities of bodies and within chains."""
    rows, rates, units = [np.zeros((0, model.nv))], [np.zeros(0)], [np.zeros(0)]
    for name, place in places.items():
        for part, given, size in (
            (slice(0, 3), place.angular_velocity, 1.0),
            (slice(3, 6), place.velocity, 1.0 / model.length),
        ):
            if given is not None:
                rows.append(model.jacobian(name, q)[part])
                rates.append(given)
                units.append(np.full(3, size))
    for chain in chains:
        of_chain, rates_of_chain = chain.rows(model, q)
        rows.append(of_chain)
        rates.append(rates_of_chain)
        units.append(chain.scales(model.length))
    return np.vstack(rows), np.concatenate(rates), np.concatenate(units)


@checked("hold")
def consistent_accelerations(
    system: System | Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, hold: Fixed = (), *, t: float = 0.0
) -> Array:
    """Return the accelerations nearest to `a` that keep the loops closed: P a + bias = 0.

    Parameters
    ----------
    system : System or Model
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
    a : (nv,) rad/s2 or m/s2
    hold : names, or dict of name to value
        Connections or velocities, also of a cut joint, that keep their value in `a` exactly, or take the given value.
    t : float, s
        Time, for driven constraints.

    Raises
    ------
    SingularityError
        If the held ones contradict the loops.
    """
    model, item = as_model(system), "consistent_accelerations"
    q, v = finite_array(q, (model.nq,), item=item, field="q"), finite_array(v, (model.nv,), item=item, field="v")
    a = finite_array(a, (model.nv,), item=item, field="a").copy()
    held = named_velocities(model, hold, item=f"{item}: fixed")
    loops = LoopEquations.of(model, t=t)
    target = _with_values(held, hold, a, held.cut_accelerations(q, v, a) if held.cut else np.zeros(0), item)
    if not model.nc and not held.cut:
        return a
    free = ~held.mask
    wanted = loops.acceleration_terms(q, v)
    if LoopLinearization.is_available(model) and not held.cut:
        shortest = _shortest_change(loops, q, a, wanted, free)
        if shortest is not None:
            return shortest
    P = model.constraint_jacobian(q, t=t)
    C = held.cut_rows(q)
    beyond = held.cut_accelerations(q, v, a) - target if held.cut else np.zeros(0)
    rows = np.concatenate([loops.row_scales, held.cut_scales])
    gap = rows * np.concatenate([P @ a - wanted, beyond])
    terms = rows * np.concatenate([np.abs(P) @ np.abs(a) + np.abs(wanted), np.abs(C) @ np.abs(a) + np.abs(target)])
    if (np.abs(gap) <= np.finfo(float).eps * terms).all():
        return a
    J = (rows[:, None] * np.vstack([P, C]) * loops.column_scales)[:, free]
    step = minimum_norm_solution(J, -gap)
    rest = np.abs(J @ step + gap)
    if rest.max() > 1e-9 * float(np.abs(gap).max()) + 1e-12 * (1.0 + float(terms.max())):
        given = f"with the accelerations given for {listed(held.names)}, " if len(held) else ""
        raise SingularityError(
            f"{item}: {given}no motion keeps the loops closed: {_widest(held, loops, rest, '/s2')}. "
            f"{_explain_conflict(held, q, t)}"
        )
    a[free] += loops.column_scales[free] * step
    return a


def _shortest_change(loops: LoopEquations, q: Array, a: Array, wanted: Array, free: BoolArray) -> Array | None:
    """Return the accelerations of `consistent_accelerations` for many coupled loops, None if rows are not met."""
    _, missed, terms = loops.model._velocity_change(q, a, wanted, np.ones(loops.nv), t=loops.t)
    gap, used = loops.row_scales * missed, loops.row_scales > 0.0
    if (np.abs(missed) <= np.finfo(float).eps * terms)[used].all():
        return a
    step, left = LoopLinearization(loops, q, gap, free, np.ones(int(free.sum()))).shortest()
    if np.abs(left).max() > 1e-12 * float((loops.row_scales * terms).max()):
        return None
    found = a.copy()
    found[free] += loops.column_scales[free] * step
    return found


def _with_values(held: NamedVelocities, fixed: Fixed, speeds: Array, cut: Array, item: str) -> Array:
    """Insert given values into the velocities (nv,), or accelerations; return those of cut joints, (k,)."""
    if not isinstance(fixed, Mapping):
        return cut
    target = cut.copy()
    for name, value in fixed.items():
        one = named_velocities(held.model, name, item=item)
        numbers = finite_array(np.atleast_1d(np.asarray(value, dtype=float)), (len(one),), item=item, field=name)
        speeds[one.columns] = numbers[: len(one.columns)]
        target[[held.cut.index(k) for k in one.cut]] = numbers[len(one.columns) :]
    return target


def _root_of_inertia(model: Model, q: Array, loops: LoopEquations, free: BoolArray) -> Array:
    """Return L of M = L L^T in scaled free velocities.

    DOF without inertia get a small one, so that they follow.
    """
    M = loops.column_scales[:, None] * model.mass_matrix(q) * loops.column_scales
    M = M[np.ix_(free, free)]
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        little = 1e-12 * max(float(np.diagonal(M).max()), np.finfo(float).tiny)
        return np.asarray(np.linalg.cholesky(M + little * np.eye(len(M))))


def _widest(held: NamedVelocities, loops: LoopEquations, gap: Array, per: str) -> str:
    """Return a text on the row with the largest violation, or the held coordinate with the largest error."""
    worst, rows = int(np.abs(gap).argmax()), len(loops.row_scales)
    if worst >= rows:
        name = held.names[len(held.columns) + worst - rows]
        return f"{name!r} would be missed by {abs(gap[worst]) / held.cut_scales[worst - rows]:.3g} m or rad{per}"
    amount = f"{abs(gap[worst] / loops.row_scales[worst]):.3g} {loops.units[worst]}{per}"
    return f"row {held.model.constraint_names[worst]!r} would open at {amount}"


def _explain_conflict(held: NamedVelocities, q: Array, t: float = 0.0) -> str:
    """Return the reason why the held velocities are impossible at q (nq,), and a remedy."""
    model = held.model
    loops = LoopEquations.of(model, t=t)
    motions = null_space(loops.jacobian(q)).T
    text, here = "", len(motions)
    nearby = general_mobility(loops, q, here)
    if nearby != here:
        text = f"The position is singular: mobility {here} here, {nearby} nearby; start elsewhere, or from rest. "
    part = np.linalg.norm(motions, axis=0)
    moved = np.linalg.norm(held.rows(q) @ (motions * loops.column_scales).T, axis=1)
    if (moved < MIN_PARTICIPATION).any() and len(motions):
        stuck = [name for name, p in zip(held.names, moved, strict=True) if p < MIN_PARTICIPATION]
        able = [name for name, p in zip(model.speed_names, part, strict=True) if p > 0.1]
        return (
            f"{text}At this configuration {listed(stuck)} cannot move: a dead point; drive another coordinate, "
            f"such as {listed(able)}."
        )
    if len(held) > len(motions):
        count = f"{len(motions)} DOF"
        return f"{text}The system has {count}: prescribe fewer, or values that agree (see da.mobility(...).motions)."
    return text or "Prescribe fewer, or values that agree (see da.mobility(...).motions)."
