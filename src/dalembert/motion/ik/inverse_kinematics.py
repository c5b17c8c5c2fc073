"""Inverse kinematics: configurations in which markers reach their targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...answer import ArrayAnswer, count_text
from ...arrays import Array
from ...checks import checked, positive, random_generator
from ...closure.assembly import given_coordinates, given_time
from ...closure.joint_limits import Bounds
from ...closure.named_velocities import as_name_list
from ...errors import ModelError
from ...model import Model, State, as_model
from ...model.state import StateLike
from ...system import System
from .all_solutions import find_all_solutions
from .equations import IkEquations
from .infeasible_targets import check_contradictions, check_motion
from .joint_bounds import columns_of
from .multistart import MultistartSearch, SearchOutcome
from .path_following import Jump, fitted, follow_targets
from .seeds import ITEM, begin_from, metric_of, posture_of
from .targets import goals_of

__all__ = ["InverseKinematics", "TargetError", "inverse_kinematics"]


ACTIVE_LIMIT_TOL = 1e-7  # of the largest gradient component; a larger one marks an active limit


class TargetError(NamedTuple):
    """Largest target error.

    position : (B,) m
    rotation : (B,) rad
    """

    position: Any
    rotation: Any


@dataclass(frozen=True, eq=False, repr=False)
class InverseKinematics(ArrayAnswer):
    """Configurations that reach targets, or come nearest. Without a batch axis if no target had one.

    Attributes
    ----------
    q : (B, nq) rad or m
    success : bool
        True if every target is reached.
    reached : (B,) bool
        True for each reached target.
    residual : TargetError
        ``residual.position`` (B,) m, ``residual.rotation`` (B,) rad.
    iterations, starts : (B,) int
        Steps of all starts, and number of starts.
    messages : (B,) of str
        Empty if the target is reached; else the error, and the limiting joint or cause.
    jumps : tuple of Jump
        Points at which a path could not be followed and continues from another configuration.
    solutions : tuple of (n, nq) arrays
        With ``all_solutions=True``: all solutions found for each target, nearest to the preferred posture first.
    notes : tuple of str
    model : Model
    """

    q: Array
    reached: Any
    residual: TargetError
    iterations: Any
    starts: Any
    messages: Any
    model: Model = field(repr=False)
    jumps: tuple[Jump, ...] = ()
    solutions: tuple[Array, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {
        "q": (("target", "coordinate"), ""),
        "reached": (("target",), ""),
        "position_error": (("target",), "m"),
        "rotation_error": (("target",), "rad"),
        "iterations": (("target",), ""),
        "starts": (("target",), ""),
    }

    @property
    def success(self) -> bool:
        """True if every target is reached."""
        return bool(np.all(self.reached))

    @property
    def message(self) -> str:
        """Outcome in one sentence: the first missed target, and the cause."""
        messages = [self.messages] if isinstance(self.messages, str) else self.messages
        missed = [text for text in messages if text]
        if not missed:
            return self._headline()
        return missed[0] if len(messages) == 1 else f"{len(missed)} of {len(messages)} targets missed: {missed[0]}"

    @property
    def position_error(self) -> Any:
        """Distance from the target, (B,) m."""
        return self.residual.position

    @property
    def rotation_error(self) -> Any:
        """Angle to the orientation of the target, (B,) rad."""
        return self.residual.rotation

    def _headline(self) -> str:
        count = int(np.size(self.reached))
        reached = f"{int(np.sum(self.reached))} of {count_text(count, 'target')} reached"
        worst = np.max(self.residual.position, initial=0.0), np.max(self.residual.rotation, initial=0.0)
        return f"{reached}, errors up to {worst[0]:.2g} m and {worst[1]:.2g} rad"

    def state(self, k: int = 0) -> State:
        """Return the k-th configuration as a state at rest."""
        q = np.atleast_2d(self.q)
        if not isinstance(k, (int, np.integer)) or not -len(q) <= k < len(q):
            raise ModelError("state", "k", k, f"there are {len(q)} configurations")
        return State(q=q[k].copy(), v=np.zeros(self.model.nv), x=self.model.element_start_values())


@checked(
    "state", "weights", "prefer", "hold", "free", "path", "fit", "all_solutions", "max_iterations", "seed", "starts"
)
def inverse_kinematics(
    system: System | Model,
    targets: Mapping[Any, Any],
    *,
    state: StateLike | None = None,
    limits: bool | Mapping[str, Any] = True,
    weights: Mapping[str, float] | None = None,
    prefer: ArrayLike | Mapping[str, Any] | None = None,
    hold: str | Iterable[str] = (),
    free: str | Iterable[str] = (),
    path: bool = False,
    fit: bool = False,
    all_solutions: bool = False,
    starts: int | None = None,
    tolerance: float = 1e-10,
    max_iterations: int = 60,
    t: float | None = None,
    seed: np.random.Generator | int | None = None,
) -> InverseKinematics:
    """Find configurations in which markers reach targets, within limits, with all loops closed.

    Parameters
    ----------
    system : System or Model
    targets : dict of marker to target
        Markers or bodies, or their names. Each a position (..., 3), a pose (what `Model.pose` gives, or (..., 4, 4)),
        or a `da.Target`: rotations, angles, directions of axes, relative to other markers. NaN leaves a component
        free; a leading axis (B, ...) gives many targets at once.
    state : State, dict of name to value, or (nq,) or (B, nq) rad or m
        Start; default the start values of the description, with loops closed.
    limits : bool, or dict of name to (lower, upper)
        Apply the limits of joints, cut joints included; a dict replaces limits by name.
    weights : dict of name to float
        Weights of coordinates in the distance from the preferred posture: the larger, the smaller the motion. Default 1
        for an angle, and for a displacement measured in the characteristic length of the model.
    prefer : (nq,) or (B, nq) rad or m, or dict of name to value
        Of all configurations around the solution, the one nearest to this posture is returned. Default: the start; in a
        path, the previous configuration.
    hold : names
        Connections or velocities that do not move.
    free : names
        Flexible bodies whose modes may change; other modes are held.
    path : bool
        The targets follow each other: each is searched from the previous one, and on the same branch. `jumps` lists the
        targets at which the branch ends.
    fit : bool
        The targets are measurements, which need not be consistent. The configuration with the least weighted error is
        searched near the start only; along a path, near the previous one.
    all_solutions : bool
        Search for all configurations of each target, from many starts. They must be isolated.
    starts : int
        Starting points per target: the start, then random ones within the limits. Default 50, or 400 with
        `all_solutions`.
    tolerance : float
        Of targets: rad, and m per characteristic length. Loops are always closed to 1e-12.
    max_iterations : int
        Per start.
    t : float, s
        Time, for joints and constraints that depend on it; default that of a `State`, else 0. Drives are released.
    seed : numpy Generator or seed
        Generator or seed of the random starts; default seed 0, so that results are reproducible.

    Returns
    -------
    InverseKinematics
        Targets out of reach get the nearest configuration, with metres measured in the characteristic length, and a
        message with the error and the limiting joint.

    Raises
    ------
    ModelError
        If a name is unknown, a shape is wrong, targets contradict each other, no joint moves a target, or the start is
        beyond a limit.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> upper, fore = s.body("upper", da.rod(1.0, 1.0)), s.body("fore", da.rod(1.0, 1.0))
    >>> _ = s.connect("shoulder", da.Revolute("z"), s.ground, upper)
    >>> _ = s.connect("elbow", da.Revolute("z", lower=0.0, upper=2.6), upper.at(1, 0, 0), fore)
    >>> hand = fore.at(1, 0, 0)
    >>> found = da.inverse_kinematics(s, {hand: (1.0, 1.0, 0.0)}, state=[0.0, 1.0])
    >>> found.reached, found.q[1].round(6)
    (True, np.float64(1.570796))
    """
    model = as_model(system)
    goals, number = goals_of(model, targets, ITEM)
    count = 1 if number is None else number
    if not fit:
        check_contradictions(goals, ITEM)
    t = given_time(state, t, item=ITEM)
    columns = columns_of(model, as_name_list(hold), as_name_list(free), ITEM)
    bounds = Bounds.of(model, limits, ITEM)
    metric = metric_of(model, weights)[columns]
    reach = IkEquations(model, goals, bounds, columns, metric, positive(ITEM, tolerance=tolerance)["tolerance"], t)
    number_of_starts = _count(starts, 400 if all_solutions else 50, "starts")
    random = random_generator(0 if seed is None else seed, item="inverse_kinematics", field="seed")
    search = MultistartSearch(reach, number_of_starts, _count(max_iterations, 60, "max_iterations"), random)
    begin, notes, several = begin_from(model, given_coordinates(model, state, item=ITEM, t=t), count, reach)
    check_motion(reach, begin[0], search, ITEM)
    preferred = posture_of(model, prefer, begin, count)
    if number is None and several is not None:
        count = number = several  # one target, many starts
    if (path or fit) and all_solutions:
        other = "path" if path else "fit"
        remedy = f"with {other}=True there is one configuration per target: leave out all_solutions=True"
        raise ModelError(ITEM, "all_solutions", all_solutions, remedy)
    jumps: tuple[Jump, ...] = ()
    solutions: tuple[Array, ...] = ()
    if fit:
        found = fitted(search, begin, count, path)
    elif path:
        found, jumps = follow_targets(search, begin[0], count, None if prefer is None else preferred)
    elif all_solutions:
        found, solutions = find_all_solutions(search, begin, preferred, ITEM)
    else:
        found = search.solve(begin, preferred)
    return _answer(reach, found, number is None, jumps, solutions, notes)


# ---- inputs


def _count(given: int | None, default: int, name: str) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise ModelError(ITEM, name, given, "give a number of at least 1")
    return int(given)


# ---- results


def _answer(
    reach: IkEquations,
    found: SearchOutcome,
    single: bool,
    jumps: tuple[Jump, ...],
    solutions: tuple[Array, ...],
    notes: tuple[str, ...],
) -> InverseKinematics:
    position, rotation = reach.missed(found.residual)
    messages = tuple("" if ok else _message(reach, found, k) for k, ok in enumerate(found.reached))
    loose = int((found.reached & ~found.settled).sum())
    if loose:
        count = f"{loose} of {len(found.q)}"
        notes = (*notes, f"{count} reached their targets, but the search for the nearest posture did not converge")
    if single:
        q, missed = found.q[0], TargetError(float(position[0]), float(rotation[0]))
        ok, steps, starts = bool(found.reached[0]), int(found.iterations[0]), int(found.starts[0])
        return InverseKinematics(q, ok, missed, steps, starts, messages[0], reach.model, jumps, solutions, notes)
    missed = TargetError(position, rotation)
    return InverseKinematics(
        found.q, found.reached, missed, found.iterations, found.starts, messages, reach.model, jumps, solutions, notes
    )


def _message(reach: IkEquations, found: SearchOutcome, k: int) -> str:
    """Return the message for a missed target: errors and the limiting joint or cause."""
    model, r = reach.model, found.residual[k]
    parts = []
    for j, goal in enumerate(reach.goals):
        rows = r[reach.hard + 3 * j : reach.hard + 3 * j + 3] / reach.goal_scales[j]
        size = float(np.linalg.norm(rows))
        if size > reach.tolerance:
            parts.append(f"{goal.kind} of {goal.name!r} by {size:.6g} {goal.unit}")
    open_rows = np.abs(reach.violated(r[None])[0, : reach.hard]) > 10 * reach.tolerances[: reach.hard]
    opened = [model.constraint_names[reach.closing[i]] for i in np.flatnonzero(open_rows[: reach.closures])]
    if opened:
        return f"loops do not close: {', '.join(map(repr, opened[:4]))} {'are' if len(opened) > 1 else 'is'} open"
    if not parts:
        return "a joint that closes a loop has its axis opposed"
    return f"missed: {', '.join(parts)}; {_limiting_joint(reach, found, k)}"


def _limiting_joint(reach: IkEquations, found: SearchOutcome, k: int) -> str:
    least, most = (room[0] for room in reach.step_limits(found.q[k : k + 1]))
    push = found.push[k]
    strong = np.abs(push) > ACTIVE_LIMIT_TOL * max(1.0, float(np.abs(push).max(initial=0.0)))
    names = [
        f"{reach.model.coordinate_names[reach.place[i]]!r} is at its {side} limit {bound:.6g}"
        for i in np.flatnonzero(strong)
        for side, room, bound, sign in (("lower", least, reach.lower[i], 1), ("upper", most, reach.upper[i], -1))
        if abs(room[i]) < 1e-9 and sign * push[i] > 0
    ]
    pressed = reach.cut_joints_at_limit(found.residual[k])
    names += [f"{name!r}, which closes a loop, is at its limit" for name in pressed]
    if names:
        return ", ".join(names)
    if not found.settled[k]:
        return f"none of {int(found.starts[k])} starts reached it; try more: starts=..."
    return "the error is at a local minimum: the target is out of reach, or needs another start"
