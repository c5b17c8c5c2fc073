"""Rigid contact of a run by steps of given length: what the core needs, its log, and contact points from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...arrays import Array, BoolArray, IndexArray
from ...compile.contacts import ContactTables
from ...errors import GradientError, ModelError
from ...model import Conditions, Model, State
from ...model.sampled_control import SampledLoads
from ...result.contact_points import ContactExchanges, ContactPoints, least_norm_shares
from ...result.contact_scene import contact_scene, make_scene, scene_points
from ...result.outputs.units import rate_unit
from ...result.records import EventRecord
from ..friction.rows import friction_rows
from .options import ContactChoice
from .soft_contacts import soft_exclusions

if TYPE_CHECKING:
    from ...result import Result
    from ..trajectory import Segment, Trajectory

__all__ = ["ContactLog", "ContactSteps", "StepContacts", "joint_unit"]

OVERLAP_TOL = 1e-7  # of the largest finite reach of a shape: deeper overlaps at the start are errors
CONE_TOL = 1e-12  # m/s: residual of cone problems
SWEEP_TOL = 1e-6  # m/s: of islands with many points
NOT_CLOSED = 1e-6  # m/s: larger residuals of cone problems are noted
MAX_SHARED = 100  # points of the last step: more are not looked at for shares
MAX_NAMED = 4  # pairs in one note


@dataclass(frozen=True, eq=False)
class ContactLog:
    """Points of all steps of a run.

    Attributes
    ----------
    times : (k,) s
        Beginnings of the steps.
    first : (k,) int
        First point of each step.
    names : (n, 4) int
        Contact, two shapes, state.
    numbers : (n, 18)
        Position, normal and force (world axes), gap, slip, work of friction and of the normal force, and approach
        velocity and time of an impact; moment against rolling and spin.
    loads : (k, bodies, 6) N m and N
        [moment; force] on the bodies at their origins, world axes.
    efforts : (k, nv + cut nv) N m or N
        Of stops and dry friction of joints. Their points have contact -1, and -1 and the velocity as shapes.
    """

    times: Array
    first: IndexArray
    names: NDArray[np.int32]
    numbers: Array
    loads: Array
    efforts: Array

    @classmethod
    def of_core(cls, log: dict[str, Array]) -> ContactLog:
        """Return the log that an integrator gives."""
        points = log["points"]  # the first two columns hold four integers
        names = points[:, :2].view(np.int32)
        return cls(log["times"], log["begin"].astype(np.int64), names, points[:, 2:], log["loads"], log["efforts"])

    @classmethod
    def joined(cls, parts: list[ContactLog]) -> ContactLog:
        """Return the log of successive parts of a run."""
        if len(parts) == 1:
            return parts[0]
        offsets = np.cumsum([0, *(len(part.names) for part in parts[:-1])])
        return cls(
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.first + offset for part, offset in zip(parts, offsets, strict=True)]),
            np.concatenate([part.names for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.loads for part in parts]),
            np.concatenate([part.efforts for part in parts]),
        )

    def before(self, t: float) -> ContactLog:
        """Return the log of the steps that begin before a time, s."""
        count = int(np.searchsorted(self.times, t, side="left"))
        points = len(self.names) if count == len(self.times) else int(self.first[count])
        return self._part(slice(0, count), slice(0, points))

    def last(self) -> ContactLog:
        """Return the log of the last step."""
        return self._part(slice(len(self.times) - 1, None), slice(int(self.first[-1]), None))

    def _part(self, steps: slice, points: slice) -> ContactLog:
        first = self.first[steps] - (points.start or 0)
        return ContactLog(
            self.times[steps],
            first,
            self.names[points],
            self.numbers[points],
            self.loads[steps],
            self.efforts[steps],
        )

    def sampled_loads(self) -> SampledLoads | None:
        """Return the loads of the contacts on bodies and joints; None without steps."""
        return SampledLoads(self.times, self.loads, self.efforts) if len(self.times) else None

    def counts(self) -> IndexArray:
        """Return the number of points of each step, (k,)."""
        return np.diff(np.append(self.first, len(self.names)))


class StepContacts:
    """Contact points of a run by steps; forces are means over a step.

    Parameters
    ----------
    log : ContactLog
    end : float, s
        End of the last step.
    steps : ContactSteps or None
    trajectory : Trajectory or None
        Of the run, for its derivatives.
    """

    adds_loss = True
    has_state_loads = False
    has_shares = False

    def __init__(
        self, log: ContactLog, end: float, steps: ContactSteps | None = None, trajectory: Trajectory | None = None
    ) -> None:
        self.log, self.end, self.steps, self.trajectory = log, end, steps, trajectory
        self.begin = -np.inf  # s: contacts were by events before

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_steps, (self.log, self.end, self.begin)

    def points(self, t: Array, q: Array, v: Array, x: Array) -> ContactPoints:
        """Return the points of the steps at times t (k,) s."""
        log = self.log
        if not len(log.times) or not len(t):
            return ContactPoints.none()
        step = self._steps(t)
        counts = np.where(t < self.begin, 0, log.counts()[step])
        time = np.repeat(np.arange(len(t)), counts)
        rows = np.repeat(log.first[step], counts) + np.arange(len(time)) - np.repeat(np.cumsum(counts) - counts, counts)
        touches = log.names[rows, 0] >= 0
        time, rows = time[touches], rows[touches]
        names, numbers = log.names[rows], log.numbers[rows]
        return ContactPoints(
            time,
            names[:, 0],
            names[:, 1:3],
            numbers[:, :3],
            numbers[:, 3:6],
            numbers[:, 6:9],
            numbers[:, 9],
            numbers[:, 10],
            names[:, 3],
            numbers[:, 15:18],
        )

    def _steps(self, t: Array) -> IndexArray:
        """Return the steps that times t (k,) s belong to: the first of two states at a time is of the step before."""
        times = self.log.times
        step = np.clip(np.searchsorted(times, t, side="right") - 1, 0, None)
        jump = np.append(t[:-1] == t[1:], False) & (times[step] == t) & (step > 0)
        return np.asarray(step - jump)

    def efforts(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return zeros: efforts of stops and dry friction of joints are in the conditions of the run."""
        return np.zeros((len(v), 1))

    def cut_loads(self, t: Array, q: Array, v: Array, x: Array) -> Array | None:
        """Return None: they are in the conditions of the run."""
        return None

    def stuck(self, t: Array, v: Array) -> BoolArray:
        """Return nothing: outputs find it from the motion."""
        return np.zeros((len(v), 1), dtype=bool)

    def exchanges(self, result: Result) -> ContactExchanges:
        """Return impulses and losses of all steps."""
        log = self.log
        step = np.repeat(np.arange(len(log.times)), log.counts())
        begin, end = log.times[step], np.append(log.times[1:], self.end)[step]
        return ContactExchanges(
            begin,
            end,
            log.names[:, 0].astype(np.intp),
            log.names[:, 1:3].astype(np.intp),
            log.numbers[:, 6:9] * (end - begin)[:, None],
            -log.numbers[:, 11],
            -log.numbers[:, 12],
        )

    def impacts(self, model: Model, t: Array, states: tuple[Array, Array, Array]) -> list[EventRecord]:
        """Return the impacts as events, one for each pair of bodies and time, at states of times t (n,)."""
        log, tables = self.log, model.contacts
        assert tables is not None
        rows = np.flatnonzero(log.numbers[:, 13] > 0.0)
        bodies = tables.bodies
        found: dict[tuple[float, int, int, int], list[int]] = {}
        for row in rows.tolist():
            contact, one, two = log.names[row, :3].tolist()
            if contact < 0:
                key = (float(log.numbers[row, 14]), -1, -1, two)
                found.setdefault(key, []).append(row)
                continue
            key = (float(log.numbers[row, 14]), contact, int(bodies[one]), int(bodies[two]))
            found.setdefault(key, []).append(row)
        events = []
        for (time, contact, one, two), points in sorted(found.items()):
            speed, lost = log.numbers[points, 13].max(), -float(log.numbers[points, 11:13].sum())
            place = max(int(np.searchsorted(t, time, side="right")) - 1, 0)
            q, v, x = (part[place].copy() for part in states)
            unit = "m/s" if contact >= 0 else rate_unit(joint_unit(model, two))
            message = f"approach at {speed:.6g} {unit}, {lost:.6g} J lost"
            name = (
                f"{tables.pair_name(contact, one, two)}: impact" if contact >= 0 else f"{joint_name(model, two)}: stop"
            )
            events.append(EventRecord(name, time, q, v, x, -lost, message, lost, is_exchange=True))
        return events


@dataclass(eq=False)
class ContactSteps:
    """Contact by steps of one run.

    Attributes
    ----------
    model : Model
    choice : ContactChoice
    stops : (k, 5)
        Coordinate, velocity, limit, sign (1 lower, -1 upper) and restitution of the stops of joints.
    friction : (k, 3)
        Velocity, sliding and static friction of joints with dry friction.
    scene : ContactScene of the core
    left_out : (k, 3) int
        Contact and numbers of bodies of pairs that overlap at the start and do not touch.
    keeps_past : bool
        Whether the log has all steps; else the last one.
    keeps_parts : bool
        Whether integrators keep the parts of steps, for derivatives.
    """

    model: Model
    choice: ContactChoice
    stops: Array
    friction: Array
    scene: _core.ContactScene
    notes: list[str] = field(default_factory=list)
    left_out: IndexArray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    keeps_past: bool = True
    keeps_parts: bool = False
    _parts: list[ContactLog] = field(default_factory=list)
    _statistics: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def of(cls, conditions: Conditions, choice: ContactChoice, *, friction: str, stops: str) -> ContactSteps:
        """Return the contacts of a run that has not started, with rigid stops and dry friction of joints that act."""
        model = conditions.model
        limits = _stop_rows(model) if stops == "rigid" else np.zeros((0, 5))
        dry = _friction_rows(conditions) if friction == "events" else np.zeros((0, 3))
        return cls(model, choice, limits, dry, _scene(model, choice))

    def set_conditions(self, conditions: Conditions) -> None:
        """Take friction and stops of joints from other conditions, from the next integrator on."""
        model = conditions.model
        if len(self.stops):
            self.stops = _stop_rows(model)
        if len(self.friction):
            self.friction = _friction_rows(conditions)
        if model is not self.model:
            self.model = model

    def fresh(self, model: Model) -> ContactSteps:
        """Return the contacts of another run, of the model with other parameters."""
        scene = self.scene if model is self.model else _scene(model, self.choice)
        notes, past = list(self.notes), self.keeps_past
        return ContactSteps(model, self.choice, self.stops, self.friction, scene, notes, keeps_past=past)

    def leave_out_as(self, other: ContactSteps) -> None:
        """Leave out the pairs that other contacts leave out."""
        self._leave_out(other.left_out)

    def with_number(self, name: str, change: float) -> ContactSteps:
        """Return the contacts with friction or restitution of one contact changed: ``"floor.friction"``."""
        tables = self.tables
        owner, _, what = name.rpartition(".")
        own = np.unique(tables.material_index[tables.names.index(owner)])
        materials = list(tables.materials)
        for k in own[own >= 0].tolist():
            given = materials[k]
            changes = {what: getattr(given, what) + change}
            if what == "friction" and given.static_friction == given.friction:
                changes["static_friction"] = changes["friction"]
            if min(changes.values()) < 0.0 or (what == "restitution" and changes[what] > 1.0):
                raise ModelError("contact", what, changes[what], "it is beyond its range")
            materials[k] = replace(given, **changes)
        scene = make_scene(self.model, replace(tables, materials=tuple(materials)), self._left_out_rows())
        return replace(self, scene=scene, notes=[])

    def _left_out_rows(self) -> IndexArray | None:
        rows = [*([self.left_out] if len(self.left_out) else [])]
        if self.choice.soft:
            rows.append(soft_exclusions(self.model))
        return np.concatenate(rows) if rows else None

    @property
    def acting_friction(self) -> Array:
        """Rows of `friction` of joints that can hold, in the order of the core."""
        return self.friction[self.friction[:, 2] > 0.0]

    @property
    def has_joints(self) -> bool:
        """Whether there are stops or dry friction of joints."""
        return bool(len(self.stops) or len(self.friction))

    @property
    def has_cut_joints(self) -> bool:
        """Whether some of them are of cut joints or ropes."""
        return bool((self.stops[:, 1] >= self.model.nv).any() or (self.friction[:, 0] >= self.model.nv).any())

    def check_differentiable(self) -> None:
        """Raise an error if rows act that have no derivatives."""
        if self.has_cut_joints:
            raise GradientError(
                "runs with rigid contact have no derivatives with stops or dry friction of cut joints, or ropes: "
                "use stops='soft' and friction='smooth', or cut the loop at another joint"
            )
        if any(material.has_moments for material in self.tables.materials):
            raise GradientError("friction against rolling and spin has no derivatives: leave rolling= and spin= out")

    def stop_name(self, stop: int) -> str:
        """Return the name of the velocity that a stop limits."""
        return joint_name(self.model, int(self.stops[stop, 1]))

    def friction_name(self, joint: int) -> str:
        """Return the name of a velocity with dry friction."""
        return joint_name(self.model, int(self.friction[joint, 0]))

    @property
    def tables(self) -> ContactTables:
        """Contacts of the model."""
        assert self.model.contacts is not None
        return self.model.contacts

    def check_start(self, state: State) -> None:
        """Raise an error if shapes overlap at the start; pairs of a robot's own bodies are left out, with a note."""
        found = scene_points(self.model, state.q[None], 0.0, self.scene)
        tables, bodies = self.tables, self.tables.bodies
        deep = np.flatnonzero(found.gap < -self._overlap_tol())
        left_out: dict[tuple[int, int, int], float] = {}
        for k in deep[np.argsort(found.gap[deep])].tolist():
            contact, (one, two) = int(found.contact[k]), bodies[found.shapes[k]].tolist()
            if tables.filtered[contact] and one and two:
                left_out.setdefault((contact, *sorted((one, two))), -float(found.gap[k]))
                continue
            pair = [tables.body_names[body - 1] if body else tables.names[contact] for body in (two, one)]
            depth = _length_text(-float(found.gap[k]))
            remedy = "move one, or give rounding= to the contact"
            raise ModelError(
                f"contact {tables.names[contact]!r}",
                "start",
                f"{pair[0]!r} and {pair[1]!r} overlap by {depth} at the start",
                remedy,
            )
        if left_out:
            self._leave_out(np.array(list(left_out), dtype=np.int64))
            names = [tables.pair_name(*row).partition("/")[2] for row in left_out]
            shown = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" * (len(names) > MAX_NAMED))
            self.notes.append(f"pairs that overlap at the start were left out of contact: {shown}")

    def overlaps(self, q: Array) -> bool:
        """Return whether shapes overlap at any of some coordinates (k, nq)."""
        found = scene_points(self.model, q, 0.0, self.scene)
        return bool((found.gap < -self._overlap_tol()).any())

    def _overlap_tol(self) -> float:
        reach = [s.convex.reach for s in self.tables.shapes if np.isfinite(s.convex.reach)]
        return OVERLAP_TOL * max(reach, default=1.0)

    def _leave_out(self, pairs: IndexArray) -> None:
        """Leave pairs (k, 3) of contact and bodies out."""
        self.left_out = pairs
        if len(pairs):
            self.scene = _scene(self.model, self.choice, pairs)

    # ---- the core

    def attach(self, integrator: _core.Integrator, memory: bytes | None = None) -> None:
        """Give the contacts to an integrator, with points kept of an earlier step."""
        integrator.set_contacts(
            {
                "scene": self.scene,
                "stops": np.ascontiguousarray(self.stops.ravel()),
                "friction": np.ascontiguousarray(self.acting_friction.ravel()),
                "logs": True,
                "logs_last_only": not self.keeps_past,
                "tolerance": CONE_TOL,
                "sweep_tolerance": SWEEP_TOL,
                "keeps_parts": self.keeps_parts,
            }
        )
        if memory:
            integrator.set_contact_memory(memory)

    def take(self, integrator: _core.Integrator) -> None:
        """Take the log of the steps made."""
        log = integrator.take_contact_log()
        if log is None or not len(log["times"]):
            return
        if not self.keeps_past:
            self._parts.clear()
        self._parts.append(ContactLog.of_core(log))

    def drop_from(self, t: float) -> None:
        """Drop the log of steps that begin at a time, s, or later."""
        while self._parts and self._parts[-1].times[-1] >= t:
            kept = self._parts.pop().before(t)
            if len(kept.times):
                self._parts.append(kept)

    def recent_log(self) -> ContactLog:
        """Return the log of the steps taken last, as `take` found them; more where parts have been joined."""
        return self._parts[-1] if self._parts else self.log()

    def last_log(self, integrator: _core.Integrator) -> ContactLog:
        """Return the log of the last step; empty before the first."""
        self.take(integrator)
        log = self.recent_log()
        return log.last() if len(log.times) else log

    def collect(self, integrator: _core.Integrator) -> None:
        """Take log and statistics of an integrator before another one takes its place."""
        self.take(integrator)
        numbers = integrator.contact_statistics()
        if numbers is not None:
            self._statistics.append(numbers)

    # ---- results

    def log(self) -> ContactLog:
        """Return the log of the run so far."""
        if not self._parts:
            empty = np.zeros((0, 18))
            return ContactLog(
                np.zeros(0),
                np.zeros(0, dtype=np.int64),
                np.zeros((0, 4), dtype=np.int64),
                empty,
                np.zeros((0, len(self.model.body_names), 6)),
                np.zeros((0, self.model.nv + self.model.compiled.names.cut_nv)),
            )
        self._parts = [ContactLog.joined(self._parts)]
        return self._parts[0]

    def hand_over(self, integrator: _core.Integrator) -> ContactLog:
        """Return the log of the steps since the last call, which is not kept."""
        self.take(integrator)
        log = self.log()
        self._parts.clear()
        return log

    def take_back(self, parts: Iterable[ContactLog]) -> None:
        """Set the log of the whole run, from parts in order of time."""
        self._parts = list(parts)

    def to_plain(self, integrator: _core.Integrator) -> dict[str, Any]:
        """Return what a run needs to resume, as plain data."""
        log = self.log()
        return {
            "memory": integrator.contact_memory() or b"",
            "left_out": self.left_out.tolist(),
            "log": {f.name: getattr(log, f.name) for f in fields(log)},
            "notes": list(self.notes),
        }

    def restore(self, integrator: _core.Integrator, plain: dict[str, Any]) -> None:
        """Set contacts and log of a run that is resumed, and give them to its integrator."""
        log = ContactLog(**plain["log"])
        self._parts, self.notes = [log] if len(log.times) else [], list(plain["notes"])
        self._leave_out(np.array(plain["left_out"], dtype=np.int64).reshape(-1, 3))
        self.attach(integrator, plain["memory"])

    def all_conditions(self, segments: Sequence[Segment]) -> list[Conditions]:
        """Return the conditions of segments with the loads of the contacts on the bodies, for outputs."""
        loads = self.log().sampled_loads()
        return [segment.conditions.changed(sampled_loads=loads) for segment in segments]

    def notes_finder(self, integrator: _core.Integrator) -> Callable[[], list[str]]:
        """Return a function that finds the notes on the run as it is now."""
        step = self.choice.step
        notes = [*self.notes, f"rigid contact by steps of {step:.6g} s: impacts and forces are means over a step"]
        last = integrator.contact_statistics()
        numbers = [*self._statistics, *([] if last is None else [last])]
        failures = int(sum(one["failures"] for one in numbers))
        worst = max(numbers, key=lambda one: one["missed"], default=None)
        if worst is not None and worst["missed"] > NOT_CLOSED:
            notes.append(
                f"{failures} contact problems were not solved to the tolerance: the law of friction is missed by "
                f"{worst['missed']:.3g} m/s at t = {worst['missed_time']:.6g} s; shorter steps may help"
            )
        lowest = min(numbers, key=lambda one: one["restitution_part"], default=None)
        if lowest is not None and lowest["restitution_part"] < 1.0:
            notes.append(
                f"restitution was lowered to {lowest['restitution_part']:.3g} times its value at t = "
                f"{lowest['restitution_time']:.6g} s, elsewhere less: with friction more would increase the energy"
            )
        log = self.log()
        return lambda: notes + self._shared_note(log)

    def _shared_note(self, log: ContactLog) -> list[str]:
        """Return a note on pairs whose points share the load of the last step in more than one way."""
        if not len(log.times) or len(log.names) - log.first[-1] > MAX_SHARED:
            return []
        last = np.array([log.times[-1]])
        points = StepContacts(log, float(last[0])).points(last, *(np.zeros((1, 0)),) * 3)
        _, shared = least_norm_shares(points, self.tables.bodies)
        ends = self.tables.bodies[points.shapes]
        names = [self.tables.pair_name(int(points.contact[k]), *ends[k].tolist()) for k in np.flatnonzero(shared)]
        names = list(dict.fromkeys(names))
        if not names:
            return []
        shown = ", ".join(names[:MAX_NAMED]) + f" and {len(names) - MAX_NAMED} more" * (len(names) > MAX_NAMED)
        return [f"forces of single points are not unique at the end: {shown}; sums are, shares are those of least norm"]


def _restored_steps(log: ContactLog, end: float, begin: float) -> StepContacts:
    found = StepContacts(log, end)
    found.begin = begin
    return found


def joint_name(model: Model, velocity: int) -> str:
    """Return the name of the velocity of a joint with stops or dry friction; of cut joints from nv on."""
    rows = friction_rows(model)
    return rows.names[int(np.flatnonzero(rows.indices == velocity)[0])]


def joint_unit(model: Model, velocity: int) -> str:
    """Return the unit of its coordinate."""
    rows = friction_rows(model)
    return rows.units[int(np.flatnonzero(rows.indices == velocity)[0])]


def _length_text(length: float) -> str:
    return f"{1e3 * length:.3g} mm" if length < 1.0 else f"{length:.3g} m"


def _stop_rows(model: Model) -> Array:
    """Return the stops of joints, (k, 5): coordinate, velocity, limit, sign, restitution."""
    rows = friction_rows(model)
    found = []
    for k in range(len(rows)):
        for limit, sign in ((rows.lower[k], 1.0), (rows.upper[k], -1.0)):
            if not np.isfinite(limit):
                continue
            found.append([rows.coordinates[k], rows.indices[k], limit, sign, rows.restitution[k]])
    return np.array(found, dtype=float).reshape(-1, 5)


def _friction_rows(conditions: Conditions) -> Array:
    """Return the dry friction of joints, (k, 3): velocity, sliding and static friction."""
    model = conditions.model
    rows = friction_rows(model)
    kept = np.flatnonzero(rows.has_friction)
    grouped = {int(k) for group in rows.vector_groups for k in group}
    for k in kept.tolist():
        what = ""
        if rows.has_load_friction[k]:
            what = "friction that depends on the load of a joint"
        elif k in grouped:
            what = "friction of a ball joint"
        if what:
            remedy = f"{what} does not work with rigid contact: use friction='smooth'"
            raise ModelError("simulate", "friction", rows.names[k], remedy)
    sliding, static = rows.friction_limits(conditions, np.zeros(len(rows)))
    return np.column_stack([rows.indices[kept], sliding[kept], static[kept]]).astype(float).reshape(-1, 3)


def _scene(model: Model, choice: ContactChoice, pairs: IndexArray | None = None) -> _core.ContactScene:
    """Return the scene of the rigid contacts, without given pairs (k, 3) of contact and bodies."""
    rows = [] if pairs is None else [pairs]
    if choice.soft:
        rows.append(soft_exclusions(model))
    out = np.concatenate(rows) if rows else np.zeros((0, 3), dtype=np.int64)
    assert model.contacts is not None
    return make_scene(model, model.contacts, out) if len(out) else contact_scene(model)
