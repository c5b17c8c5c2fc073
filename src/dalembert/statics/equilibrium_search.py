"""`equilibrium`: static equilibria and steady motions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from ..arrays import Array
from ..checks import checked, one_of
from ..closure.loop_equations import LoopEquations
from ..closure.scaled_equations import CoordinateMeasure
from ..errors import EquilibriumError
from ..model import Model, State, as_model
from ..model.drive_targets import driven_speeds
from ..numerics.rank import singular_values
from ..result import Motion, single_period
from ..simulation.diagnostics.flexible_bodies import mode_notes
from ..system import System
from .energy_descent import BALANCE_TOL, ROUNDOFF_TOL, EquilibriumDescent, descend
from .equilibrium_result import Equilibrium
from .force_balance import BalanceEvaluation, ForceBalance
from .friction import FrictionHold, rest_with_friction
from .multistart import find_all_equilibria
from .request import EquilibriumRequest, make_request
from .stability import assess_stability, named_motion
from .trim import Trim, trim

if TYPE_CHECKING:
    from .multistart import Equilibria

__all__ = ["equilibrium", "locked", "solved"]


TRIAL_FRACTION = 5  # a descent is checked after 1/5 of its steps
STALLED_TOL = 0.1  # of the unbalanced forces at the start: more left after the trial means no progress
SINGULAR_TOL = 1e-5  # scaled singular values of loops below this count as zero


class _Keywords(TypedDict, total=False):
    """Arguments of `equilibrium` that do not determine the type of its answer."""

    state: State | Mapping[str, Any] | None
    t: float
    hold: str | Iterable[str] | Mapping[str, Any]
    velocities: Mapping[str, float | None] | None
    unknown: str | Iterable[str]
    inputs: Mapping[str, float] | None
    parameters: Mapping[str, float] | None
    control: Callable[[State], Any] | None
    friction: str
    stable: bool
    nearest: bool
    max_iterations: int


@overload
def equilibrium(
    system: System | Model, *, find_all: Literal[False] = False, count: None = None, **more: Unpack[_Keywords]
) -> Equilibrium: ...
@overload
def equilibrium(
    system: System | Model, *, find_all: Literal[True], count: int | None = None, **more: Unpack[_Keywords]
) -> Equilibria: ...
@overload
def equilibrium(
    system: System | Model, *, find_all: bool = False, count: int, **more: Unpack[_Keywords]
) -> Equilibria: ...
@checked("hold", "velocities", "unknown", "friction", "stable", "nearest", "find_all", "max_iterations")
def equilibrium(
    system: System | Model,
    *,
    state: State | Mapping[str, Any] | None = None,
    t: float = 0.0,
    hold: str | Iterable[str] | Mapping[str, Any] = (),
    velocities: Mapping[str, float | None] | None = None,
    unknown: str | Iterable[str] = (),
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    control: Callable[[State], Any] | None = None,
    friction: str = "hold",
    stable: bool = True,
    nearest: bool = False,
    find_all: bool = False,
    count: int | None = None,
    max_iterations: int = 1000,
) -> Equilibrium | Equilibria:
    """Find an equilibrium or steady motion, with loops, springs, stops, friction, drives and flexible bodies.

    From the start the search descends, by steps along which the forces do positive work, to a stable equilibrium, as
    the damped system would. An unstable equilibrium is left, even if the search starts there.

    Parameters
    ----------
    system : System or Model
    state : State, or dict of name to value
        Start of the search; default the described start values, with closed loops. See `start_state`.
    t : float, s
        Time of drives and time laws. Coordinates with driven positions are held at their values at this time.
    hold : names, or dict of name to value
        Coordinates or connections held at their start values, or at given values; ``efforts`` has the required efforts.
        With `unknown`, the unknowns have to provide these values without such efforts.
    velocities : dict of str to float or None
        Coordinates that move steadily at a given velocity or, with None, at an unknown one; all others have no
        acceleration. Driven velocities are included automatically.
    unknown : names
        Inputs (``"motor.effort"``, ``"wind.fx"``) and parameters (``"k.stiffness"``) to solve for.
    inputs, parameters : dict of str to float
        In place of time laws, and of the described parameters.
    control : function of a State
        Joint forces, evaluated in equilibrium.
    friction : str
        ``"hold"``: dry friction of joints holds within its limits, and the equilibrium depends on the start;
        ``"off"``: no friction.
    stable : bool
        Whether to descend to a stable equilibrium; False is the same as `nearest`.
    nearest : bool
        Find the nearest equilibrium by Newton's method, stable or not. Implied by `unknown` and unknown velocities.
    find_all : bool
        Search for all equilibria from many starts; the list is sorted by energy.
    count : int
        The same, until this number of equilibria is found.
    max_iterations : int

    Returns
    -------
    Equilibrium, or Equilibria
        Also a `State`, for ``simulate(s, 1.0, state=eq)``.

    Raises
    ------
    EquilibriumError
        If there is none; the message names the motion that is unbounded or cannot be balanced.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("scales")
    >>> beam = s.body("beam", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, beam)
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=20.0), "A")
    >>> eq = da.equilibrium(s)
    >>> round(eq["A"], 6), eq.stable
    (0.443126, stable: potential-energy minimum; some motions are not damped)
    """
    model = as_model(system)
    one_of("equilibrium", "friction", friction, ("hold", "off"))
    how: dict[str, Any] = {"t": t, "hold": hold, "speeds": velocities, "unknown": unknown, "inputs": inputs}
    how |= {"parameters": parameters, "control": control}
    request = make_request(model, state=state, **how)
    if find_all or count is not None:
        return find_all_equilibria(request, solved, count)
    eq = solved(request, friction=friction, nearest=nearest or not stable, max_steps=max_iterations)
    if eq.model.flexible_names:
        eq.notes += _unfit_modes(eq)
    return eq


def _unfit_modes(eq: Equilibrium) -> list[str]:
    """Return notes on flexible bodies whose modes miss their deformation in equilibrium, and warn."""
    if eq.inputs:  # inputs replace time laws
        return []
    t, q, v, x = np.array([float(eq.t)]), *(np.array(part, dtype=float)[None] for part in (eq.q, eq.v, eq.x))
    return mode_notes(Motion(eq.conditions.model, t, q, v, x, conditions=single_period(eq.conditions)))


def solved(
    request: EquilibriumRequest, *, friction: str = "hold", nearest: bool = False, max_steps: int = 1000
) -> Equilibrium:
    """Solve an equilibrium request."""
    if request.trims or nearest or _lasting_states(request):
        found, met = trim(request)
        if not met:
            raise _not_balanced(request, found)
        return answered_trim(request, found)
    rubs = friction == "hold" and bool(request.rows.has_friction.any())
    held: list[FrictionHold] = []
    if rubs:
        descent, held = rest_with_friction(request, most=max_steps)
    else:
        descent, by_newton = _descended(request, max_steps)
        if by_newton is not None:
            return by_newton
    if not descent.found:
        raise _no_rest(request, descent)
    return _answered(request, descent, held)


def _descended(request: EquilibriumRequest, max_steps: int) -> tuple[EquilibriumDescent, Equilibrium | None]:
    """Return the end of a descent; without progress, a stable equilibrium found by Newton's method.

    Follower loads have no potential: there may be no path along which they always do positive work.
    """
    balance, stops = request.balance, request.stops
    few = -(-max_steps // TRIAL_FRACTION)
    first = descend(balance, request.q, request.x, stops, most=few)
    if first.found or first.falls is not None or first.steps < few:
        return first, None
    begin = float(np.abs(balance.evaluate(request.q, request.x).g).max(initial=0.0))
    if float(np.abs(first.evaluation.g).max(initial=0.0)) > STALLED_TOL * begin:
        found, met = trim(request)
        within = all(m.lower <= float(m.values(found.evaluation.q)) <= m.upper for m in stops)
        eq = answered_trim(request, found) if met and within else None
        if eq is not None and eq.stable:
            eq.notes.append(
                "the descent made no progress; Newton's method found this equilibrium, as with nearest=True"
            )
            return first, eq
    rest = descend(balance, first.evaluation.q, first.evaluation.x, stops, most=max(max_steps - few, 1))
    rest.steps, rest.left = rest.steps + first.steps, rest.left or first.left
    return rest, None


def _lasting_states(request: EquilibriumRequest) -> bool:
    """Return whether some element states have no stationary value, such as integrators."""
    if not request.model.nx:
        return False
    _, states = request.balance.evaluate(request.q, request.x).slopes()
    live = ~request.balance.idle
    s = np.linalg.svd(states.x[np.ix_(live, live)], compute_uv=False)
    return bool(live.any()) and bool((s <= 1e-12 * max(float(s.max(initial=0.0)), 1e-300)).any())


def _answered(request: EquilibriumRequest, found: EquilibriumDescent, held: list[FrictionHold]) -> Equilibrium:
    look = found.evaluation
    names, notes = () if _singular(request, look) else _free(look), list(request.notes)
    if found.left:
        notes.append("the start is an unstable equilibrium and was left; use nearest=True to keep it")
    stops = {m.name: _effort(look, m) for m in found.stops}
    eq = _equilibrium(request, look, {}, found.steps, notes)
    eq.stops, eq.friction, eq.free = stops, held, names
    if names:
        eq.notes.append(f"the equilibrium does not determine {', '.join(map(repr, names))}: start values were kept")
    return eq


def answered_trim(request: EquilibriumRequest, found: Trim) -> Equilibrium:
    """Return the equilibrium found by Newton's method."""
    look, model = found.evaluation, request.model
    unknown = dict(zip(request.unknown, found.u.tolist(), strict=True))
    unknown |= {f"{model.speed_names[k]}.speed": float(look.balance.v[k]) for k in request.paced}
    notes = list(request.notes)
    eq = _equilibrium(request, look, unknown, 0, notes)
    names = _loose(request, found)
    if names:
        eq.free = names
        eq.notes.append(
            f"the equilibrium does not determine {', '.join(map(repr, names))}: values nearest to the start were used"
        )
    for m in request.stops:
        value = float(m.values(look.q))
        if not m.lower <= value <= m.upper:
            eq.notes.append(f"{m.name!r} is at {value:.6g} {m.unit}, beyond its stop, which Newton's method ignores")
    if request.rows.has_friction.any():
        eq.notes.append("friction of joints was ignored")
    return eq


def _equilibrium(
    request: EquilibriumRequest, look: BalanceEvaluation, unknown: dict[str, float], steps: int, notes: list[str]
) -> Equilibrium:
    model, balance = request.model, look.balance
    state = State(q=look.q, v=balance.v.copy(), t=balance.t, x=look.x)
    _check_steady(request, look)
    conditions = locked(request, balance)
    steady = balance.fixed & (balance.v != 0)
    steady[request.paced] = True
    verdict = assess_stability(look, state, conditions, balance.input_values, steady)
    if _singular(request, look):
        reason = "the position is singular: its mobility differs from nearby ones, and linearization fails"
        verdict = replace(verdict, verdict="marginal", reason=reason)
    slopes = float(np.abs(look.virtual_stiffness).max(initial=0.0))
    size = max(look.size, ROUNDOFF_TOL / BALANCE_TOL * slopes, 1e-300)
    residual = float(np.abs(look.g).max(initial=0.0)) / size
    notes += _pushed(request, look, size)
    return Equilibrium(
        q=state.q, v=state.v, t=state.t, x=state.x, model=model, stable=verdict, unknown=unknown, residual=residual,
        notes=notes, steps=steps, evaluation=look, conditions=conditions,
    )  # fmt: skip


def _singular(request: EquilibriumRequest, look: BalanceEvaluation) -> bool:
    """Return whether loops lose rank between the start and a configuration."""
    closed, free = look.balance._open, ~look.balance.fixed
    if not closed.rows:
        return False
    loops = look.balance.loops_within_trees
    if loops is not None:
        return loops.rank(look.q, free) < loops.rank(request.q, free)
    there, here = (singular_values(closed.jacobian(q)[:, free]) for q in (request.q, look.q))
    between = (here > 1e-11) & (here < SINGULAR_TOL)
    return bool(between.any()) or int((here > SINGULAR_TOL).sum()) < int((there > SINGULAR_TOL).sum())


def locked(request: EquilibriumRequest, balance: ForceBalance) -> Any:
    """Return conditions with all held coordinates locked."""
    model = request.model
    free = driven_speeds(model) | (balance.v != 0)
    locked = {int(k) for k in np.flatnonzero(balance.prescribed & ~free)} | balance.held_indices
    conditions = balance.conditions
    return conditions.changed(locked=conditions.locked | locked) if locked else conditions


def _check_steady(request: EquilibriumRequest, look: BalanceEvaluation) -> None:
    """Raise for velocities that constraints do not permit to stay constant."""
    model, balance = request.model, look.balance
    if not (model.nc and balance.v.any()):
        return
    loops = LoopEquations.of(model, t=balance.t)
    opens = -loops.row_scales * loops.acceleration_terms(look.q, balance.v)
    opens[~np.asarray(model.compiled.names.closing, dtype=bool)] = 0.0
    pace = float(np.abs(balance.v / loops.column_scales).max())
    worst = int(np.abs(opens).argmax())
    if abs(opens[worst]) > 1e-6 * pace**2:
        raise _with_state(
            f"system {model.system.name!r} has no such steady motion: row {model.constraint_names[worst]!r} would open "
            "at constant velocities. A body on a curved path has constant velocities in its own axes: "
            "connect it by a Free joint",
            look,
        )


def _pushed(request: EquilibriumRequest, look: BalanceEvaluation, size: float) -> list[str]:
    """Return notes on the efforts required to keep given velocities without a drive."""
    balance, model = look.balance, request.model
    given = balance.prescribed & (balance.v != 0) & ~driven_speeds(model)
    lacking = look.lacking
    return [
        f"{model.speed_names[k]!r} keeps its velocity only with an additional effort of {lacking[k]:.6g}"
        for k in np.flatnonzero(given)
        if abs(lacking[k] * balance.scales[k]) > 1e-8 * size
    ]


def _effort(look: BalanceEvaluation, measure: CoordinateMeasure) -> float:
    place = list(look.balance.held).index(measure)
    return float(look.mu[place] / measure.scale)


def _free(look: BalanceEvaluation) -> tuple[str, ...]:
    """Return the names of motions without stiffness."""
    if not len(look.g):
        return ()
    return _names(look.balance.model, look.loose)


def _loose(request: EquilibriumRequest, found: Trim) -> tuple[str, ...]:
    """Return the names of unknowns that are not determined."""
    if not found.loose.shape[1]:
        return ()
    model, n = request.model, found.evaluation.B.shape[1]
    names = list(_names(model, found.evaluation.B @ found.loose[:n]))
    others = [*(f"{model.speed_names[j]}.speed" for j in request.paced), *model.state_names, *request.unknown]
    size = np.abs(found.loose).max()
    names += [name for name, row in zip(others, np.abs(found.loose[n:]), strict=True) if row.max() > 1e-6 * size]
    return tuple(names)


def _names(model: Model, motions: Array) -> tuple[str, ...]:
    """Return the names of velocities that are nonzero in motions (nv, k)."""
    size = np.abs(motions).max(axis=1, initial=0.0)
    return tuple(model.speed_names[j] for j in np.flatnonzero(size > 1e-6 * size.max(initial=1e-300)))


# ---- failures


def _no_rest(request: EquilibriumRequest, found: EquilibriumDescent) -> EquilibriumError:
    model, look = request.model, found.evaluation
    name = f"system {model.system.name!r}"
    if found.falls is not None:
        where = named_motion(model, found.falls[:, None])
        text = (
            f"{name} has no equilibrium: it moves without bound along {where}, driven by "
            f"{float(np.abs(look.g).max()):.3g} J per rad or length. Hold it, or connect it by a spring or a stop"
        )
    else:
        where = named_motion(model, (look.F @ look.g)[:, None])
        text = (
            f"{name}: no equilibrium was found in {found.steps} steps; forces along {where} are "
            f"still out of balance by {float(np.abs(look.g).max(initial=0.0)) / max(look.size, 1e-300):.2g} of the "
            f"loads. {_ways_out(model)}"
        )
    return _with_state(text, look)


def _ways_out(model: Model) -> str:
    """Return remedies if no equilibrium was found."""
    constant = [name for name in model.input_names if name in model.parameter_names]
    acting = [name for name in constant if model.parameters[model.parameter_names[name]] != 0.0]
    name = next(iter((*acting, *model.input_names)), "load.fz")
    path = f"da.equilibrium_path(system, {name!r}, 0.0, value)"
    return (
        f"Increase the load from zero with {path}, which follows the equilibrium; or use another start, "
        "nearest=True, more max_iterations, or smooth discontinuous laws"
    )


def _not_balanced(request: EquilibriumRequest, found: Trim) -> EquilibriumError:
    model, look = request.model, found.evaluation
    force = look.F @ look.g
    parts = []
    if float(np.abs(look.g).max(initial=0.0)) > 1e-7 * found.size:
        parts.append(f"forces along {named_motion(model, force[:, None])} stay out of balance")
    if len(look.dx) and float(np.abs(look.dx).max()) > 1e-7:
        k = int(np.abs(look.dx).argmax())
        parts.append(f"the state {model.state_names[k]!r} has no stationary value: its rate is {look.dx[k]:.4g}")
    sought = [*request.unknown, *(f"the velocity of {model.speed_names[k]!r}" for k in request.paced)]
    by = f" by {', '.join(sought)}" if sought else ""
    return _with_state(
        f"system {model.system.name!r} cannot be balanced{by}: {' and '.join(parts) or 'velocities contradict loops'}. "
        "Release more coordinates, use other unknowns, or another start",
        look,
    )


def _with_state(text: str, look: BalanceEvaluation) -> EquilibriumError:
    error = EquilibriumError(text)
    error.state = State(q=look.q, v=look.balance.v, t=look.balance.t, x=look.x)
    return error
