"""`equilibrium`: where a system rests, or moves steadily."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ..checks import checked
from ..closure.scaled_equations import CoordinateMeasure
from ..closure.scaling import Scaling
from ..errors import EquilibriumError, ModelError
from ..model import Model, State, as_model
from ..numerics.rank import singular_values
from ..result import Motion, single_period
from ..simulation.diagnostics.flexible_bodies import mode_notes
from ..system import System
from .energy_descent import BALANCE_TOL, ROUNDOFF_TOL, EquilibriumDescent, descend, flat
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

Array = NDArray[np.float64]

TRIAL_FRACTION = 5  # a descent is judged after 1/5 of its steps
STALLED_TOL = 0.1  # of the unbalanced forces at the start: more left after the trial means no progress
SINGULAR_TOL = 1e-5  # scaled singular values of loops below this are lost


@overload
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
    find_all: Literal[False] = False,
    count: None = None,
    max_iterations: int = 1000,
) -> Equilibrium: ...
@overload
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
    find_all: Literal[True],
    count: int | None = None,
    max_iterations: int = 1000,
) -> Equilibria: ...
@overload
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
    count: int,
    max_iterations: int = 1000,
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
    """Return where a system rests or moves steadily: with loops, springs, stops, friction, drives, flexible bodies.

    From the start it goes downhill, by steps that forces do work along, to where nothing falls: to a stable rest, as
    the system itself would if it were damped. An unstable rest is left, even if the system starts in it.

    Parameters
    ----------
    system : System or Model
    state : State, or dict of name to value
        To start from; start values as described, with the loops closed, if left out. See `start_state`.
    t : float, s
        Time at which drives and laws are taken. Coordinates with driven positions are held where they are then.
    hold : names, or dict of name to value
        Coordinates or connections that are held where they start, or at a value; ``efforts`` says what that takes. With
        `unknown`, they are what the unknowns have to keep there by themselves.
    velocities : dict of str to float or None
        Coordinates that move steadily, at a given speed or, with None, at one that is sought: everything else has no
        acceleration then. Driven speeds are among them without being named.
    unknown : names
        Inputs (``"motor.effort"``, ``"wind.fx"``) and numbers of elements (``"k.stiffness"``) that are sought.
    inputs, parameters : dict of str to float
        In place of laws of time, and of the numbers described.
    control : function of a State
        Joint forces, asked at rest.
    friction : str
        ``"hold"``: dry friction of joints holds what it can, and the rest is looked for from the start;
        ``"off"``: none.
    stable : bool
        Whether to go downhill to a stable one; if not, the same as `nearest`.
    nearest : bool
        The next one by Newton's method, stable or not. So it is with `unknown`, and with speeds that are sought.
    find_all : bool
        Search for all, from many starts; a list, those of least energy first.
    count : int
        The same until so many are found.
    max_iterations : int

    Returns
    -------
    Equilibrium, or Equilibria
        Also a `State`, for ``simulate(s, 1.0, state=eq)``.

    Raises
    ------
    EquilibriumError
        If there is none: what falls for ever, or what cannot be balanced, by name.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("scales")
    >>> beam = s.body("beam", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, beam)
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=20.0), "A")
    >>> eq = da.equilibrium(s)
    >>> round(eq["A"], 6), eq.stable
    (0.443126, stable: the energy is least; some motions are not damped)
    """
    model = as_model(system)
    if friction not in ("hold", "off"):
        raise ModelError("equilibrium", "friction", friction, "use 'hold' or 'off'")
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
    """Say which flexible bodies have modes that miss how the loads of a rest deform them, and warn."""
    if eq.inputs:  # loads that laws do not give
        return []
    t, q, v, x = np.array([float(eq.t)]), *(np.array(part, dtype=float)[None] for part in (eq.q, eq.v, eq.x))
    return mode_notes(Motion(eq.conditions.model, t, q, v, x, conditions=single_period(eq.conditions)))


def solved(
    request: EquilibriumRequest, *, friction: str = "hold", nearest: bool = False, max_steps: int = 1000
) -> Equilibrium:
    """Return the answer to a question."""
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
    """Return where a descent led; or, if it makes no progress, a stable rest that Newton's method finds at once.

    Loads that turn with bodies have no potential: there may be no way along which they do work all the time.
    """
    balance, stops = request.balance, request.stops
    few = -(-max_steps // TRIAL_FRACTION)
    first = descend(balance, request.q, request.x, stops, most=few)
    if first.found or first.falls is not None or first.steps < few:
        return first, None
    begin = float(np.abs(balance.look(request.q, request.x).g).max(initial=0.0))
    if float(np.abs(first.look.g).max(initial=0.0)) > STALLED_TOL * begin:
        found, met = trim(request)
        within = all(m.lower <= float(m.values(found.look.q)) <= m.upper for m in stops)
        eq = answered_trim(request, found) if met and within else None
        if eq is not None and eq.stable:
            eq.notes.append("a descent made no progress: this rest was found by Newton's method, as with nearest=True")
            return first, eq
    rest = descend(balance, first.look.q, first.look.x, stops, most=max(max_steps - few, 1))
    rest.steps, rest.left = rest.steps + first.steps, rest.left or first.left
    return rest, None


def _lasting_states(request: EquilibriumRequest) -> bool:
    """Return whether some element states have no rest of their own, as integrators."""
    if not request.model.nx:
        return False
    _, states = request.balance.look(request.q, request.x).slopes()
    live = ~request.balance.idle
    s = np.linalg.svd(states.x[np.ix_(live, live)], compute_uv=False)
    return bool(live.any()) and bool((s <= 1e-12 * max(float(s.max(initial=0.0)), 1e-300)).any())


def _answered(request: EquilibriumRequest, found: EquilibriumDescent, held: list[FrictionHold]) -> Equilibrium:
    look = found.look
    names, notes = () if _singular(request, look) else _free(look), list(request.notes)
    if found.left:
        notes.append("the start is an unstable rest, and was left; nearest=True stays")
    stops = {m.name: _effort(look, m) for m in found.stops}
    eq = _equilibrium(request, look, {}, found.steps, notes)
    eq.stops, eq.friction, eq.free = stops, held, names
    if names:
        eq.notes.append(
            f"nothing determines {', '.join(map(repr, names))}: any value does, and it stays where it started"
        )
    return eq


def answered_trim(request: EquilibriumRequest, found: Trim) -> Equilibrium:
    """Return the answer that Newton's method found."""
    look, model = found.look, request.model
    unknown = dict(zip(request.unknown, found.u.tolist(), strict=True))
    unknown |= {f"{model.speed_names[k]}.speed": float(look.balance.v[k]) for k in request.paced}
    notes = list(request.notes)
    eq = _equilibrium(request, look, unknown, 0, notes)
    names = _loose(request, found)
    if names:
        eq.free = names
        eq.notes.append(f"nothing determines {', '.join(map(repr, names))}: the nearest values to the start are taken")
    for m in request.stops:
        value = float(m.values(look.q))
        if not m.lower <= value <= m.upper:
            eq.notes.append(f"{m.name!r} is at {value:.6g} {m.unit}, beyond its stop, which the search does not mind")
    if request.rows.has_friction.any():
        eq.notes.append("friction of joints is left out")
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
        reason = "the position is singular: loops leave other motions here than nearby, and no linear system decides"
        verdict = replace(verdict, verdict="marginal", reason=reason)
    slopes = float(np.abs(look.virtual_stiffness).max(initial=0.0))
    size = max(look.size, ROUNDOFF_TOL / BALANCE_TOL * slopes, 1e-300)
    residual = float(np.abs(look.g).max(initial=0.0)) / size
    notes += _pushed(request, look, size)
    return Equilibrium(
        q=state.q, v=state.v, t=state.t, x=state.x, model=model, stable=verdict, unknown=unknown, residual=residual,
        notes=notes, steps=steps, look=look, conditions=conditions,
    )  # fmt: skip


def _singular(request: EquilibriumRequest, look: BalanceEvaluation) -> bool:
    """Return whether loops lose rank on the way from the start to a configuration."""
    closed, free = look.balance._open, ~look.balance.fixed
    if not closed.rows:
        return False
    there, here = (singular_values(closed.jacobian(q)[:, free]) for q in (request.q, look.q))
    between = (here > 1e-11) & (here < SINGULAR_TOL)
    return bool(between.any()) or int((here > SINGULAR_TOL).sum()) < int((there > SINGULAR_TOL).sum())


def locked(request: EquilibriumRequest, balance: ForceBalance) -> Any:
    """Return conditions under which everything that is held is locked."""
    model = request.model
    free = model.driven_speeds() | (balance.v != 0)
    columns = {int(k) for k in np.flatnonzero(balance.prescribed & ~free)}
    rows = {m.column if m.column >= 0 else model.nv + m.place for m in balance.held}
    locked = columns | rows
    conditions = balance.conditions
    return conditions.changed(locked=conditions.locked | locked) if locked else conditions


def _check_steady(request: EquilibriumRequest, look: BalanceEvaluation) -> None:
    """Refuse speeds that rows do not let stay as they are."""
    model, balance = request.model, look.balance
    if not (model.nc and balance.v.any()):
        return
    scales = Scaling.of(model, t=balance.t)
    opens = scales.rows * (model.constraint_bias(look.q, balance.v, t=balance.t) - scales.targets[2])
    opens[~np.asarray(model.compiled.names.closing, dtype=bool)] = 0.0
    pace = float(np.abs(balance.v / scales.columns).max())
    worst = int(np.abs(opens).argmax())
    if abs(opens[worst]) > 1e-6 * pace**2:
        raise _with_state(
            f"system {model.system.name!r} does not move steadily so: row {model.constraint_names[worst]!r} would open "
            "if all speeds stayed as they are. Where a body goes round a bend, its speeds are constant in axes of its "
            "own: connect it by a Free joint",
            look,
        )


def _pushed(request: EquilibriumRequest, look: BalanceEvaluation, size: float) -> list[str]:
    """Say what it takes to keep speeds that were given and that nothing drives."""
    balance, model = look.balance, request.model
    given = balance.prescribed & (balance.v != 0) & ~model.driven_speeds()
    lacking = look.f - (model.constraint_jacobian(look.q, t=balance.t).T @ look.lam if model.nc else 0.0)
    return [
        f"{model.speed_names[k]!r} keeps its speed only with a further effort of {lacking[k]:.6g}"
        for k in np.flatnonzero(given)
        if abs(lacking[k] * balance.scales[k]) > 1e-8 * size
    ]


def _effort(look: BalanceEvaluation, measure: CoordinateMeasure) -> float:
    place = list(look.balance.held).index(measure)
    return float(look.mu[place] / measure.scale)


def _free(look: BalanceEvaluation) -> tuple[str, ...]:
    """Return the names of motions that nothing determines."""
    if not len(look.g):
        return ()
    k, E = np.linalg.eigh((look.stiffness + look.stiffness.T) / 2)
    loose = look.B @ E[:, np.abs(k) <= flat(k, look.size)]
    return _names(look.balance.model, loose)


def _loose(request: EquilibriumRequest, found: Trim) -> tuple[str, ...]:
    """Return the names of unknowns that are not determined."""
    if not found.loose.shape[1]:
        return ()
    model, n = request.model, found.look.B.shape[1]
    names = list(_names(model, found.look.B @ found.loose[:n]))
    others = [*(f"{model.speed_names[j]}.speed" for j in request.paced), *model.state_names, *request.unknown]
    size = np.abs(found.loose).max()
    names += [name for name, row in zip(others, np.abs(found.loose[n:]), strict=True) if row.max() > 1e-6 * size]
    return tuple(names)


def _names(model: Model, motions: Array) -> tuple[str, ...]:
    """Return which speeds move in motions (nv, k)."""
    size = np.abs(motions).max(axis=1, initial=0.0)
    return tuple(model.speed_names[j] for j in np.flatnonzero(size > 1e-6 * size.max(initial=1e-300)))


# ---- failing


def _no_rest(request: EquilibriumRequest, found: EquilibriumDescent) -> EquilibriumError:
    model, look = request.model, found.look
    name = f"system {model.system.name!r}"
    if found.falls is not None:
        where = named_motion(model, found.falls[:, None])
        text = (
            f"{name} has no equilibrium: it goes on for ever along {where}, pulled by "
            f"{float(np.abs(look.g).max()):.3g} J per rad or length. Hold it, or connect it by a spring or a stop"
        )
    else:
        where = named_motion(model, (look.F @ look.g)[:, None])
        text = (
            f"{name}: no rest was found in {found.steps} steps; forces along {where} are "
            f"still out of balance by {float(np.abs(look.g).max(initial=0.0)) / max(look.size, 1e-300):.2g} of the "
            f"loads. {_ways_out(model)}"
        )
    return _with_state(text, look)


def _ways_out(model: Model) -> str:
    """Say what to do where no rest was found."""
    constant = [name for name in model.input_names if name in model.parameter_names]
    acting = [name for name in constant if model.parameters[model.parameter_names[name]] != 0.0]
    name = next(iter((*acting, *model.input_names)), "load.fz")
    path = f"da.equilibrium_path(system, {name!r}, 0.0, value)"
    return (
        f"Let the load grow from zero with {path}, which follows the equilibrium; or start elsewhere, take "
        "nearest=True, allow more max_steps, or smooth what jumps"
    )


def _not_balanced(request: EquilibriumRequest, found: Trim) -> EquilibriumError:
    model, look = request.model, found.look
    force = look.F @ look.g
    parts = []
    if float(np.abs(look.g).max(initial=0.0)) > 1e-7 * found.size:
        parts.append(f"forces along {named_motion(model, force[:, None])} stay out of balance")
    if len(look.dx) and float(np.abs(look.dx).max()) > 1e-7:
        k = int(np.abs(look.dx).argmax())
        parts.append(f"the state {model.state_names[k]!r} has no rest: its rate is {look.dx[k]:.4g}")
    sought = [*request.unknown, *(f"the speed of {model.speed_names[k]!r}" for k in request.paced)]
    by = f" by {', '.join(sought)}" if sought else ""
    return _with_state(
        f"system {model.system.name!r} cannot be balanced{by}: {' and '.join(parts) or 'speeds contradict the loops'}. "
        "Free more coordinates, take other unknowns, or start elsewhere",
        look,
    )


def _with_state(text: str, look: BalanceEvaluation) -> EquilibriumError:
    error = EquilibriumError(text)
    error.state = State(q=look.q, v=look.balance.v, t=look.balance.t, x=look.x)
    return error
