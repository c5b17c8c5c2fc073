"""Assembly: closed configurations from a rough guess.

Resolves held and preferred values, chooses the starting points, and explains failures. The equations and their
solution are in `loop_solver`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text
from ..arrays import Array, BoolArray
from ..checks import checked, finite_array, finite_number, random_generator
from ..errors import AssemblyError, ModelError
from ..model import Model, State, as_model
from ..model.state import StateLike
from ..system import System
from .all_assemblies import all_branches
from .limit_rows import hold_limits
from .loop_equations import LoopEquations
from .loop_solver import LoopSolver, SoftTargets, SolverOutcome
from .named_velocities import as_name_list, coordinate_range, named_velocities
from .redundancy import conflicting_constraints, loop_connections
from .starts.coordinate_targets import CoordinateTarget, body_pose_targets, cut_joint_target
from .starts.named_start_values import named_starts
from .starts.placements import coordinates_at, nearest_closure
from .starts.start_values import StartValues, unmet_start_values
from .velocity_projection import consistent_velocities

__all__ = ["Assembly", "assemble", "close_loops", "given_coordinates", "given_time"]


MAX_PREFERENCE_STARTS = 8  # starting points for meeting preferences exactly, unless the preferences outnumber the DOF


@dataclass(frozen=True, eq=False, repr=False)
class Assembly(ArrayAnswer):
    """A configuration in which all loops are closed.

    Attributes
    ----------
    q : (nq,) rad or m
    residual : float
        Largest residual, m or rad.
    iterations : int
    history : list of float
        Largest scaled residual at the start and after every iteration of the last start.
    branches : list of (nq,) arrays
        All closed configurations that were found, nearest to the guess first; only `q` unless requested.
    model : Model
    """

    q: Array
    residual: float
    iterations: int
    model: Model = field(repr=False)
    history: list[float] = field(default_factory=list, repr=False)
    branches: list[Array] = field(default_factory=list, repr=False)
    _arrays: ClassVar = {"q": (("coordinate",), ""), "branches": (("branch", "coordinate"), "")}

    def state(self, v: ArrayLike | None = None, *, hold: str | Iterable[str] = ()) -> State:
        """Return a State at `q` with the velocities nearest to `v` (default zero) that keep loops closed.

        Parameters
        ----------
        v : (nv,) rad/s or m/s
        hold : names
            Connections or velocities that keep their value in `v` exactly.
        """
        wanted = np.zeros(self.model.nv) if v is None else v
        return State(q=self.q.copy(), v=consistent_velocities(self.model, self.q, wanted, hold=hold))

    def _headline(self) -> str:
        more = f", {len(self.branches)} branches" if len(self.branches) > 1 else ""
        return f"closed to {self.residual:.2g} in {count_text(self.iterations, 'iteration')}{more}"

    def _repr_html_(self) -> str:
        """Show a sketch and the coordinates in a notebook."""
        from ..view.notebook import assembly_html

        return assembly_html(self)


@checked("state", "hold", "prefer", "weights", "tolerance", "seed", "branches", "use_placements")
def assemble(
    system: System | Model,
    *,
    state: StateLike | None = None,
    hold: str | Iterable[str] | Mapping[str, Any] = (),
    prefer: str | Iterable[str] | Mapping[str, Any] | None = None,
    weights: Mapping[str, float] | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 100,
    starts: int = 1,
    seed: np.random.Generator | int | None = None,
    branches: bool = False,
    use_placements: bool | None = None,
    t: float | None = None,
) -> Assembly:
    """Close all loops of a system, starting from a rough guess.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, or (nq,) rad or m
        Guess. Default: the start values of ``System.initial``; joints then stay within their limits if the loops can
        be closed so. Values by name, as in `simulate`, are preferred; start values without a name are guesses then.
    hold : names, or dict of name to value
        Connections or coordinates that keep the guess (or take the value) exactly. A cut joint is not part of q; it
        keeps its start value to the tolerance.
    prefer : names, or dict of name to value
        Connections or coordinates that keep the guess (or take the value) if the loops can be closed so, and move
        as little as possible otherwise. Default, without coordinates in `state`: those with start values that are
        not guesses.
    weights : dict of name to float
        Weights of the coordinates in the length of a step: the larger the weight, the smaller the motion. Default 1 for
        an angle, and for a displacement measured in the characteristic length of the system.
    tolerance : float
        Largest residual allowed, rad, and m per characteristic length; at least the rounding error.
    max_iterations : int
        Per start.
    starts : int
        Starting points: the guess first, then random ones at growing distance from it. With `branches`, the least
        number for each block of loops.
    seed : numpy Generator or seed
        Generator or seed of the random starts; default seed 0, so that results are reproducible.
    branches : bool
        Search for all closed configurations. Loops are closed one after the other where possible, with new starts
        until nothing new is found. The configurations must be isolated: hold as many coordinates by `hold` as the
        system has degrees of freedom.
    use_placements : bool
        Prefer the body poses of `System.place`; default only without coordinates in `state`.
    t : float, s
        Time, for driven constraints; default that of a `State`, else 0. (For driven joints see `driven_motion`.)

    Returns
    -------
    Assembly

    Raises
    ------
    AssemblyError
        If no start closes. Attributes: ``q``, the best configuration reached, and ``residuals``, the largest residual
        of each connection by name, worst first.
    ModelError
        If a name is unknown, or `branches` is set for a system that still has degrees of freedom.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> crank, coupler = s.body("crank", da.rod(1.0, 1.0)), s.body("coupler", da.rod(2.0, 1.0))
    >>> s.connect("A", da.Revolute("z"), s.ground, crank)
    <Connection 'A': Revolute from ground to crank>
    >>> s.connect("B", da.Revolute("z"), crank.at(1, 0, 0), coupler)
    <Connection 'B': Revolute from crank.at(1, 0, 0) to coupler>
    >>> s.connect("C", da.Spherical(), coupler.at(2, 0, 0), s.ground.at(2, 0, 0))
    <Connection 'C': Spherical from coupler.at(2, 0, 0) to ground.at(2, 0, 0)>
    >>> closed = assemble(s, state=[1.0, -1.5])
    >>> closed.residual < 1e-12
    True
    """
    model = as_model(system)
    if not isinstance(starts, (int, np.integer)) or starts < 1:
        raise ModelError("assemble", "starts", starts, "give the number of starting points, at least 1")
    time = given_time(state, t, item="assemble")
    closure = LoopSolver(LoopEquations.of(model, t=time), tolerance, max_iterations, weights)
    described = StartValues.of(model)
    if isinstance(state, Mapping):
        starts_by_name = named_starts(model, state)
        guess, described, q = model.initial_state(starts_by_name.initials).q, starts_by_name.first or described, None
    else:
        q = given_coordinates(model, state, item="assemble")
        guess = closure.guess(q)
    if prefer is None:
        # given start values are preferred; the others may move
        prefer = described.positions(model) if q is None else model.flexible_names  # smallest deformation
    placed = (
        body_pose_targets(model, described.placements)
        if (q is None if use_placements is None else use_placements)
        else []
    )
    return close_loops(
        closure,
        guess,
        _values(hold),
        _values(prefer),
        placed,
        starts=starts,
        random=random_generator(0 if seed is None else seed, item="assemble", field="seed"),
        branches=branches,
        limits=q is None and not branches,
    )


def given_coordinates(model: Model, state: StateLike | None, *, item: str, t: float = 0.0) -> Any:
    """Return the coordinates of a state in any form, (nq,) or (n, nq), not yet checked; None if it is left out.

    Start values by name are completed by those of the description, with loops closed.

    Raises
    ------
    ModelError
        If the loops do not permit the values given by name.
    """
    if isinstance(state, Mapping):
        first = named_starts(model, state).first
        assert first is not None
        q = assemble(model, state=state, t=t).q
        missed = unmet_start_values(model, q, np.zeros(model.nv), first.of_positions())
        if missed:
            raise ModelError(item, "state", dict(state), missed[0])
        return q
    return state.q if isinstance(state, State) else state


def given_time(state: StateLike | None, t: float | None, *, item: str) -> float:
    """Return the time of an analysis: t, or that of a `State`, or 0."""
    return finite_number((state.t if isinstance(state, State) else 0.0) if t is None else t, item=item, field="t")


def close_loops(
    closure: LoopSolver,
    guess: Array,
    fixed: Mapping[str, Any],
    prefer: Mapping[str, Any],
    placed: list[CoordinateTarget],
    *,
    firm: list[CoordinateTarget] | None = None,
    starts: int = 1,
    random: np.random.Generator | None = None,
    branches: bool = False,
    insist: bool = True,
    limits: bool = False,
) -> Assembly:
    """Close loops from a guess (nq,); see `assemble`.

    Parameters
    ----------
    closure : LoopSolver
    guess : (nq,) rad or m
    fixed, prefer : dict of name to value
        None stands for the value of the guess.
    placed, firm : list of CoordinateTarget
        Preferred poses, and required poses.
    insist : bool
        Restart from farther away if no nearby configuration reduces the residual.
    limits : bool
        Close within the limits of joints if possible; given values outside them are kept.
    """
    model = closure.model
    random = np.random.default_rng(0) if random is None else random
    held, closure.extra = _hold(model, fixed)
    closure.extra = [*closure.extra, *(firm or [])]
    preferred, wanted = _hold(model, prefer)
    wanted += placed
    guess = closure.guess(_with_target_values(model, _with_target_values(model, guess, prefer), fixed))
    preferences = (
        SoftTargets(model, guess, preferred & ~held, wanted, closure.loops) if preferred.any() or wanted else None
    )

    def found_by(equations: LoopSolver) -> SolverOutcome:
        outcome = (
            _close_meeting_preferences(equations, guess, held, preferences, placed, random, starts)
            if preferences is not None
            else None
        )
        if placed and preferences is not None and outcome is not None and not outcome.closed:
            outcome = nearest_closure(equations, guess, held, preferences, placed, random)
        if outcome is None or not outcome.closed:
            outcome = equations.close(guess, held, random, starts=starts, preferences=preferences, insist=insist)
        return outcome

    outcome = found_by(closure)
    bounds = hold_limits(model, guess, {*fixed, *prefer}) if limits and outcome.closed else None
    if bounds is not None and bounds.residual(model, outcome.q).any():
        inside = found_by(closure.with_rows([bounds]))
        outcome = inside if inside.closed else outcome
    found = all_branches(closure, guess, held, outcome, random, starts) if branches else []
    if not outcome.closed and not found:
        raise _failure(closure, outcome, held)
    if not outcome.closed:
        outcome = closure.iterate(found[0], ~held)
    residual = float(np.abs(closure.loops.gaps(outcome.q)).max(initial=0.0)) if model.nc else 0.0
    return Assembly(outcome.q, residual, outcome.iterations, model, outcome.history, found if branches else [outcome.q])


def _close_meeting_preferences(
    closure: LoopSolver,
    guess: Array,
    held: BoolArray,
    preferences: SoftTargets,
    placed: list[CoordinateTarget],
    random: np.random.Generator,
    starts: int,
) -> SolverOutcome | None:
    """Close the loops with every preference met exactly, if possible.

    Coordinates that follow from the poses of placed bodies, as those of free bodies do, need no iteration.
    """
    all_held = held | preferences.columns
    exact = closure.with_rows(preferences.loop_constraints)
    if placed:
        at = coordinates_at(closure.model, guess, placed, all_held)
        if float(np.abs(exact.residual(at)).max(initial=0.0)) <= exact.tolerance:
            outcome = exact.iterate(closure.unwrap_angles(at, guess, all_held), np.zeros_like(all_held))
            if outcome.closed:
                return outcome
    rows = len(exact.loops.row_scales) + sum(loop_constraint.count for loop_constraint in exact.extra)
    tries = starts if rows > (~all_held).sum() else max(starts, MAX_PREFERENCE_STARTS)
    return exact.close(guess, all_held, random, starts=tries)


# ---- names to values


def _values(names: str | Iterable[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return names with values; None for those without."""
    return dict(names) if isinstance(names, Mapping) else dict.fromkeys(as_name_list(names))


def _hold(model: Model, values: Mapping[str, Any]) -> tuple[BoolArray, list[CoordinateTarget]]:
    """Return the locked tree velocities and the loop constraint targets, for names with values (None: the guess)."""
    marks, loop_constraints = np.zeros(model.nv, dtype=bool), []
    for name, value in values.items():
        loop_constraint = cut_joint_target(model, name, value)
        if loop_constraint is not None:
            loop_constraints.append(loop_constraint)
        else:
            dofs = named_velocities(model, name, item="assemble")
            if dofs.cut:
                remedy = "it cannot be held by itself where a loop is cut: name the connection"
                raise ModelError("assemble", "name", name, remedy)
            marks |= dofs.mask
    return marks, loop_constraints


def _with_target_values(model: Model, guess: Array, values: Mapping[str, Any]) -> Array:
    """Return the guess with the given values of tree coordinates inserted."""
    guess = guess.copy()
    for name, value in values.items():
        if value is None or cut_joint_target(model, name, value) is not None:
            continue
        span = coordinate_range(model, name)
        if span is None:
            raise ModelError("assemble: prefer", "name", name, "only a coordinate can be given a value")
        size = span.stop - span.start
        numbers = [value] if size == 1 and np.ndim(value) == 0 else value
        guess[span] = finite_array(numbers, (size,), item="assemble: prefer", field=name)
    return guess


# ---- failure messages


def _failure(closure: LoopSolver, outcome: SolverOutcome, held: BoolArray) -> AssemblyError:
    """Return the error for loops that stay open: residuals, cause and remedies."""
    model, q = closure.model, outcome.q
    residual = np.abs(closure.loops.gaps(q))
    worst: dict[str, int] = {}
    for row in np.argsort(-closure.loops.row_scales * residual, kind="stable"):
        worst.setdefault(model.constraint_connections[row], int(row))
    residuals = {name: float(residual[row]) for name, row in worst.items()}
    shown = [
        f"{name!r} stays open by {residual[row]:.3g} {closure.loops.units[row]} ({model.constraint_names[row]})"
        for name, row in list(worst.items())[:5]
        if closure.loops.row_scales[row] * residual[row] > closure.tolerance
    ]
    for loop_constraint in closure.extra:
        off = np.abs(loop_constraint.residual(model, q))
        if (loop_constraint.scales(closure.loops.length) * off).max(initial=0.0) > closure.tolerance:
            unit = "rad" if loop_constraint.turns[int(off.argmax())].any() else "m"
            shown.append(f"{loop_constraint.name!r} is off by {off.max():.3g} {unit} from its held value")
    head = f"system {model.system.name!r} does not close"
    names = [name for name, mark in zip(model.speed_names, held, strict=True) if mark]
    names += [loop_constraint.name for loop_constraint in closure.extra]
    holding = ", ".join(names)
    while_held = f" while {holding} {'is' if len(names) == 1 else 'are'} held" if names else ""
    if outcome.flipped:
        text = (
            f"{head}: the axes of {', '.join(map(repr, outcome.flipped))} close only with the second marker's axis "
            "against the first's; turn one of the two markers by 180°, give a better guess by "
            "system.initial(...), or allow more starts=..."
        )
    else:
        count = f"{outcome.iterations} iteration{'s' * (outcome.iterations != 1)}"
        text = f"{head}{while_held}: after {count} {', '.join(shown)}. "
        r, J = closure.loops.residual(q), closure.loops.jacobian(q)
        pull = float(np.linalg.norm(J.T @ r)) > 1e-4 * float(np.linalg.norm(J) * np.linalg.norm(r))
        clash = conflicting_constraints(model, q, t=float(closure.loops.t)) if outcome.stationary and not pull else []
        if clash:
            text += " ".join(clash) + " "
            text += "Correct the markers or lengths, or replace one connection by one with more degrees of freedom."
        elif outcome.stationary and names and (pull or closure.extra):
            release = f"one of {holding}" if len(names) > 1 else holding
            text += f"The values held keep it open: release {release}, or give it another value."
        elif outcome.stationary:
            text += (
                f"Nothing nearby closes better: in {_open_loops(closure, residuals)} a link may be too short or too "
                "long, or a marker misplaced; check the lengths, give a better guess by system.initial(...), or try "
                "starts=20."
            )
        else:
            text += (
                "The iteration did not converge: give a better guess by system.initial(...), hold fewer "
                "coordinates, or allow more max_iterations=... or starts=..."
            )
    error = AssemblyError(text)
    error.__dict__.update(q=q, residuals=residuals)
    return error


def _open_loops(closure: LoopSolver, residuals: dict[str, float]) -> str:
    """Return the text for loops with open rows, at most three."""
    found = [
        ", ".join(loop) for loop in loop_connections(closure.model) if residuals.get(loop[-1], 0.0) > closure.tolerance
    ]
    return "the loop " + " and the loop ".join(found[:3]) if found else "the loops"
