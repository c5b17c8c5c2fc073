"""Rigid contact of a run by events: what the core needs, its changes, and contact points from modes between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...arrays import Array, BoolArray
from ...compile.contacts import ContactTables
from ...errors import DalembertError, IntegrationError
from ...model import Conditions, Model, State
from ...result.contact_points import ContactExchanges, ContactPoints
from ...result.records import EventRecord
from ..options import Options
from .contact_steps import ContactSteps, joint_unit
from .options import IMPACT_LAWS, ContactChoice

if TYPE_CHECKING:
    from ...result import Result
    from ..run import Run
    from ..trajectory import Segment, Trajectory

__all__ = ["ContactChange", "ContactEvents", "EventContacts"]

MAX_POINTS = 16  # closed at once; more are a matter of contact by steps
MAX_RATE = 1000.0  # changes per second
REST_POSITIONS = 10.0  # of atol: smaller gaps are closed, lower rebounds are none
LEAST_OVERLAP = 0.01  # of atol: a gap below minus this has closed
REST_SPEEDS = 10.0  # of atol: slower slip is at rest
RELATIVE_REST_SPEED = 10.0  # of rtol and the largest slip velocity
GAUSS = np.polynomial.legendre.leggauss(4)  # nodes in a step for impulses and friction losses
MAX_NAMED = 4  # pairs in one note
LAW_TEXTS = {
    "at once": "Newton's restitution for all at once",
    "in turn": "Newton's restitution for one pair after the other, the fastest first",
    "poisson": "Poisson's restitution for all at once",
}


@dataclass(frozen=True, eq=False)
class ContactChange:
    """Change of contacts at a time.

    Attributes
    ----------
    t : float, s
    energy : float, J
        Change of kinetic energy by impacts.
    restitution_part : float
        1; less if restitution was lowered by this factor, lest energy grows.
    reverses : bool
        Whether the slip of a point has reversed.
    jams : bool
        Whether an impulse stopped sliding that no force can go on with.
    two_solutions : bool
        Whether a sliding point may as well open as be pressed.
    impacts : (k, 17)
        Contact, two shapes, stop, position, normal, impulse, normal velocities before and after, work of the normal
        impulse and of friction.
    points : (n, 9)
        Closed points after it: contact, two shapes, stop, mode (1 sticks, 2 slides), two features, joint, and the sign
        of its sliding. Stops and dry friction of joints have contact -1, and are numbered as in `ContactSteps`.
    modes : bytes
        The same for the core.
    """

    t: float
    energy: float
    restitution_part: float
    reverses: bool
    jams: bool
    two_solutions: bool
    impacts: Array
    points: Array
    modes: bytes

    def pair_modes(self) -> dict[tuple[int, int, int], int]:
        """Return the mode of each closed pair of shapes: 1 if one of its points sticks, else 2."""
        found: dict[tuple[int, int, int], int] = {}
        for contact, one, two, _, mode in self.points[self.points[:, 0] >= 0, :5].astype(int).tolist():
            key = (contact, one, two)
            found[key] = min(found.get(key, mode), mode)
        return found


class EventContacts:
    """Contact points of a run by events.

    Parameters
    ----------
    contacts : ContactEvents
    trajectory : Trajectory
        The run, whose steps are repeated for forces.
    end : float, s
        From where on contacts are by steps.
    """

    adds_loss = True
    has_shares = True  # those of least norm
    has_state_loads = True  # forces depend on the state, and outputs of the dynamics need them

    def __init__(self, contacts: ContactEvents, trajectory: Trajectory, end: float = np.inf) -> None:
        self.contacts, self.trajectory, self.end = contacts, trajectory, end

    def points(self, t: Array, q: Array, v: Array, x: Array) -> ContactPoints:
        """Return the points that carry load at times t (k,) s and states."""
        return self._forces(t, q, v, x)[0]

    def efforts(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the efforts of stops and dry friction of joints, (k, nv + cut nv) N m or N."""
        if not self.contacts.steps.has_joints:
            return np.zeros((len(t), 1))
        return self._forces(t, q, v, x)[1]

    def cut_loads(self, t: Array, q: Array, v: Array, x: Array) -> Array | None:
        """Return the loads of stops and dry friction of cut joints, (k, bodies, 6); None without such joints."""
        return self._forces(t, q, v, x)[2] if self.contacts.steps.has_cut_joints else None

    def stuck(self, t: Array, v: Array) -> BoolArray:
        """Return the velocities that dry friction or a stop of a joint holds at zero, (k, nv + cut nv)."""
        steps, changes = self.contacts.steps, self.contacts.changes
        held = np.zeros(
            (len(changes) + 1, self.contacts.model.nv + self.contacts.model.compiled.names.cut_nv), dtype=bool
        )
        for k, change in enumerate(changes):
            stops, joints = (change.points[:, column].astype(int) for column in (3, 7))
            held[k + 1, steps.stops[stops[stops >= 0], 1].astype(int)] = True
            sticks = joints[(joints >= 0) & (change.points[:, 4] == 1)]
            held[k + 1, steps.friction[sticks, 0].astype(int)] = True
        times = self._sides(t)
        rows = np.searchsorted([change.t for change in changes], times, side="right")
        return np.asarray(held[rows] & (times < self.end)[:, None])

    def _forces(self, t: Array, q: Array, v: Array, x: Array) -> tuple[ContactPoints, Array, Array]:
        """Return the points that carry load, the efforts on joints, and the loads of those of cut joints."""
        model = self.contacts.model
        found, efforts = [], np.zeros((len(t), model.nv + model.compiled.names.cut_nv))
        loads = np.zeros((len(t), len(model.body_names), 6))
        times = self._sides(t)
        segments = self.trajectory.segments
        begins = np.array([segment.begin for segment in segments])
        owner = np.maximum(np.searchsorted(begins, times, side="right") - 1, 0)
        for k in np.unique(owner[times < self.end]).tolist():
            rows = np.flatnonzero((owner == k) & (times < self.end))
            with segments[k].stepper(contacts=self.contacts) as stepper:
                states = (np.ascontiguousarray(part[rows]) for part in (times, q, v, x))
                names, numbers, efforts[rows], loads[rows] = stepper.contact_forces(*states)
            whole = names.astype(np.int64)
            found.append(
                ContactPoints(
                    rows[whole[:, 0]],
                    whole[:, 1],
                    whole[:, 2:4],
                    numbers[:, :3],
                    numbers[:, 3:6],
                    numbers[:, 6:9],
                    numbers[:, 9],
                    numbers[:, 10],
                    whole[:, 4],
                )
            )
        return ContactPoints.joined(found), efforts, loads

    def _sides(self, t: Array) -> Array:
        """Return times that belong to the modes of states: the first of two states at a change is before it."""
        first = np.append(t[:-1] == t[1:], False) & np.isin(t, [change.t for change in self.contacts.changes])
        return np.where(first, np.nextafter(t, -np.inf), t)

    def _speeds(self, q: Array, v: Array) -> Array:
        """Return the velocities of all joints, (k, nv + cut nv)."""
        model = self.contacts.model
        if not self.contacts.steps.has_cut_joints:
            return np.hstack([v, np.zeros((len(v), model.compiled.names.cut_nv))])
        return np.hstack([v, model.cut_motion(q, v, np.zeros_like(v))[1]])

    def impacts(self, model: Model, t: Array, states: tuple[Array, Array, Array]) -> list[EventRecord]:
        """Return impacts and changes of modes as events, at states of times t (n,)."""
        return self.contacts.records(t, states)

    def exchanges(self, result: Result) -> ContactExchanges:
        """Return impulses and losses of impacts, and of friction and pressure in each step, divided at output times."""
        impacts = self.contacts.impact_rows()
        t = self.trajectory.records.arrays()[0]
        t = np.union1d(t, result.t[(result.t >= t[0]) & (result.t <= t[-1])])
        t = t[t <= self.end]
        begin, end = t[:-1], t[1:]
        length = end - begin
        nodes = (begin[:, None] + 0.5 * (1.0 + GAUSS[0]) * length[:, None]).ravel()
        states = self.trajectory.dense(nodes)
        points, efforts, _ = self._forces(nodes, *states)
        step = points.time // len(GAUSS[0])
        weight = 0.5 * GAUSS[1][points.time % len(GAUSS[0])] * length[step]
        normal = (points.force * points.normal).sum(axis=1)
        tangential = np.linalg.norm(points.force - normal[:, None] * points.normal, axis=1)
        # of joints: one row for each step
        power = (efforts * self._speeds(states[0], states[1])).sum(axis=1)
        lost = -power.reshape(-1, len(GAUSS[0])) @ (0.5 * GAUSS[1]) * length
        none = np.full(len(length), -1)
        return ContactExchanges(
            np.concatenate([impacts[:, 0], begin[step], begin]),
            np.concatenate([impacts[:, 0], end[step], end]),
            np.concatenate([impacts[:, 1].astype(np.int64), points.contact, none]),
            np.concatenate([impacts[:, 2:4].astype(np.int64), points.shapes, np.column_stack([none, none])]),
            np.concatenate([impacts[:, 4:7], weight[:, None] * points.force, np.zeros((len(none), 3))]),
            np.concatenate([-impacts[:, 8], weight * tangential * points.slip, lost]),
            np.concatenate([-impacts[:, 7], np.zeros(len(points) + len(none))]),
        )


@dataclass(eq=False)
class ContactEvents:
    """Contact by events of one run.

    Attributes
    ----------
    model : Model
    options : Options
        Those of the run; tolerances of contacts follow from them.
    steps : ContactSteps
        The same contacts by steps, with which the run may go on.
    goes_on : bool
        Whether it goes on in steps where contacts are too many or too frequent, or their modes cannot be determined.
    step_options : Options
        Options of the run by steps.
    changes : list of ContactChange
    """

    model: Model
    options: Options
    steps: ContactSteps
    goes_on: bool
    step_options: Options
    notes: list[str] = field(default_factory=list)
    changes: list[ContactChange] = field(default_factory=list)
    redundant: bool = False

    @classmethod
    def of(
        cls,
        conditions: Conditions,
        choice: ContactChoice,
        options: Options,
        step_options: Options,
        *,
        friction: str,
        stops: str,
        goes_on: bool,
    ) -> ContactEvents:
        """Return the contacts of a run that has not started, with stops and dry friction of joints if they act."""
        steps = ContactSteps.of(conditions, choice, friction=friction, stops=stops)
        return cls(conditions.model, options, steps, goes_on, step_options)

    def fresh(self, model: Model) -> ContactEvents:
        """Return the contacts of another run."""
        return ContactEvents(
            model, self.options, self.steps.fresh(model), self.goes_on, self.step_options, list(self.notes)
        )

    def with_steps(self, steps: ContactSteps) -> ContactEvents:
        """Return contacts with the changes and tolerances of this run, but other numbers."""
        return ContactEvents(steps.model, self.options, steps, False, self.step_options, changes=list(self.changes))

    def __reduce__(self) -> tuple[Any, ...]:
        joints = self.steps.stops, self.steps.friction
        return _restored, (self.model, self.options, self.steps.choice, self.step_options, joints, self.changes)

    @property
    def tables(self) -> ContactTables:
        """Contacts of the model."""
        return self.steps.tables

    def check_start(self, state: State) -> None:
        """Raise an error if shapes overlap at the start; pairs of a robot's own bodies are left out, with a note."""
        self.steps.check_start(state)

    # ---- the core

    def attach(self, integrator: _core.Integrator, memory: bytes | None = None) -> None:
        """Give the contacts to an integrator."""
        atol, nv = self.options.tolerances, self.model.nv
        position, speed = (float(part.min(initial=1.0)) for part in (atol[:nv], atol[nv : 2 * nv]))
        integrator.set_contact_events(
            {
                "scene": self.steps.scene,
                "stops": np.ascontiguousarray(self.steps.stops.ravel()),
                "friction": np.ascontiguousarray(self.steps.friction.ravel()),
                "closed_gap": REST_POSITIONS * position,
                "overlap": LEAST_OVERLAP * position,
                "hop_height": REST_POSITIONS * position,
                "rest_tol": REST_SPEEDS * speed,
                "relative_rest_tol": RELATIVE_REST_SPEED * self.options.rtol,
                "max_points": MAX_POINTS,
                "max_rate": MAX_RATE,
                "impact_law": IMPACT_LAWS.index(self.steps.choice.impacts),
            }
        )
        if memory:
            integrator.set_contact_modes(memory)

    def repeat_on(self, integrator: _core.Integrator) -> None:
        """Give the contacts to an integrator that repeats steps of the run."""
        self.attach(integrator)
        integrator.set_known_contact_modes(
            np.array([change.t for change in self.changes]), [change.modes for change in self.changes]
        )

    def take(self, integrator: _core.Integrator) -> None:
        """Take the changes made."""
        self.changes += [ContactChange(**change) for change in integrator.take_contact_changes()]
        self.redundant = self.redundant or bool(integrator.contact_failure()["redundant"])

    def set_conditions(self, conditions: Conditions) -> None:
        """Take friction and stops of joints from other conditions, from the next integrator on."""
        self.steps.set_conditions(conditions)

    def drop_after(self, t: float) -> None:
        """Drop the changes after a time, s, at which the run is restarted."""
        self.changes = [change for change in self.changes if change.t <= t]

    def collect(self, integrator: _core.Integrator) -> None:
        """Take the changes of an integrator before another one takes its place."""
        self.take(integrator)

    def to_plain(self, integrator: _core.Integrator) -> dict[str, Any]:
        """Return what a resumed run needs, as numbers and bytes."""
        self.take(integrator)
        return {"changes": self.changes_to_plain(), "modes": integrator.contact_modes()}

    def changes_to_plain(self) -> list[dict[str, Any]]:
        """Return the changes as plain data."""
        return [asdict(change) for change in self.changes]

    def restore_changes(self, plain: list[dict[str, Any]]) -> None:
        """Set the changes of a run that is resumed."""
        self.changes = [ContactChange(**change) for change in plain]

    def restore(self, integrator: _core.Integrator, plain: dict[str, Any]) -> None:
        """Continue a run from `to_plain`."""
        self.restore_changes(plain["changes"])
        self.attach(integrator, plain["modes"])

    def failure(self, integrator: _core.Integrator) -> DalembertError:
        """Return the error of a run whose contacts cannot go on by events."""
        return IntegrationError(
            f"{self._cause(integrator)}. Use contact='auto' or 'steps', which go on in steps, or larger tolerances"
        )

    def _cause(self, integrator: _core.Integrator) -> str:
        found = integrator.contact_failure()
        if found["kind"] == "none":
            return f"at t = {integrator.t:.9g} s steps became too short for contact by events"
        names = self._names(found["points"])
        where = f"at t = {found['time']:.9g} s"
        if found["kind"] == "crowded":
            return (
                f"{where} {len(found['points'])} contact points of {names} are closed at once, more than {MAX_POINTS}"
            )
        if found["kind"] == "frequent":
            return f"{where} contacts of {names} change more than {MAX_RATE:.0f} times per second"
        if found["kind"] == "stagnated":
            return f"{where} contacts of {names} change on and on without progress in time"
        return f"{where} forces and impulses of the contacts of {names} cannot be determined"

    def _names(self, points: Array) -> str:
        names = []
        for row in points.astype(int).tolist():
            contact, one, two, stop = row[:4]
            joint = row[7] if len(row) == 9 else -1  # points of impacts have none
            if contact >= 0:
                names.append(self._pair_name(contact, one, two))
            else:
                names.append(self.steps.stop_name(stop) if stop >= 0 else self.steps.friction_name(joint))
        names = list(dict.fromkeys(names))
        return ", ".join(map(repr, names[:MAX_NAMED])) + (
            f" and {len(names) - MAX_NAMED} more" * (len(names) > MAX_NAMED)
        )

    def _pair_name(self, contact: int, one: int, two: int) -> str:
        bodies = self.tables.bodies
        return self.tables.pair_name(contact, int(bodies[one]), int(bodies[two]))

    def go_on_in_steps(self, run: Run) -> None:
        """Let a run go on in steps from the time reached; its contacts by events stay those before it."""
        step = self.steps.choice.step
        self.take(run.integrator)
        run.notes.append(f"{self._cause(run.integrator)}: the run goes on in steps of {step:.6g} s from there")
        t, q, v, x = run.integrator.motion()
        run.earlier_contacts = self
        run.collect_counts()
        run.options, run.contact = self.step_options, self.steps
        run.integrator = run.options.integrator(run.conditions, run.discontinuity_times)
        self.steps.attach(run.integrator)
        run.begin_segment(State(q=q, v=v, t=t, x=x))

    # ---- results

    def impact_rows(self) -> Array:
        """Return points of impacts, (n, 9): time, contact, two shapes, impulse, works of normal force and friction."""
        rows = [
            [change.t, *row[:3], *row[10:13], row[15], row[16]]
            for change in self.changes
            for row in change.impacts.tolist()
        ]
        return np.array(rows, dtype=float).reshape(-1, 9)

    def all_conditions(self, segments: Sequence[Segment]) -> list[Conditions]:
        """Return the conditions of segments."""
        return [segment.conditions for segment in segments]

    def records(self, t: Array, states: tuple[Array, Array, Array]) -> list[EventRecord]:
        """Return impacts and changes of modes as events, with states of times t (n,)."""
        events: list[EventRecord] = []
        before: dict[tuple[int, int, int], int] = {}
        joints = np.zeros((0, 9))
        for change in self.changes:
            after = change.pair_modes()
            row = max(int(np.searchsorted(t, change.t, side="right")) - 1, 0)
            q, v, x = (part[row].copy() for part in states)
            what = [*self._what_changed(change, before, after), *self._joint_changes(change, joints)]
            work = self._work_of_drives(change, row, t, states)
            for name, message, lost in what:
                events.append(EventRecord(name, change.t, q, v, x, work - lost, message, lost, is_exchange=True))
                work = 0.0
            before, joints = after, change.points
        return events

    def _work_of_drives(self, change: ContactChange, row: int, t: Array, states: tuple[Array, Array, Array]) -> float:
        """Return the work of drives in the impacts of a change, J; `row` is the state after it."""
        if not len(change.impacts) or not self.model.drives or row < 1 or t[row - 1] != t[row]:
            return 0.0
        energy = self.model.energy(states[0][[row, row - 1]], states[1][[row, row - 1]], bare=True).kinetic
        return float(energy[0] - energy[1] - change.energy)

    def _joint_changes(self, change: ContactChange, before: Array) -> list[tuple[str, str, float]]:
        """Return texts, messages and energies lost, J, of stops and dry friction of joints in one change."""
        found = []
        for row in change.impacts[change.impacts[:, 3] >= 0].tolist():
            lost, stop = -(row[15] + row[16]), int(row[3])
            dof, limit, sign = self.steps.stops[stop, 1:4].tolist()
            unit = joint_unit(self.model, int(dof))
            which = "lower" if sign > 0 else "upper"
            text = f"{self.steps.stop_name(stop)} reaches its {which} limit {limit:.6g} {unit} with "
            found.append((f"{text}{-row[13]:.6g} {unit}/s", f"{lost:.6g} J lost", lost))
        for column, name, held, free in (
            (3, self.steps.stop_name, "rests on its stop", "leaves its stop"),
            (7, self.steps.friction_name, "sticks", "slips"),
        ):
            was, now = (  # 0: held; 1 or -1: slides
                {int(row[column]): 0.0 if row[4] == 1 else row[8] for row in points.tolist() if row[column] >= 0}
                for points in (before, change.points)
            )
            found += [(f"{name(k)} {held}", "", 0.0) for k in now if now[k] == 0.0 and was.get(k) != 0.0]
            found += [(f"{name(k)} reverses", "", 0.0) for k in now if was.get(k, 0.0) * now[k] < 0.0]
            found += [(f"{name(k)} {free}", "", 0.0) for k in was if was[k] == 0.0 and now.get(k) != 0.0]
        return found

    def _what_changed(
        self, change: ContactChange, before: dict[tuple[int, int, int], int], after: dict[tuple[int, int, int], int]
    ) -> list[tuple[str, str, float]]:
        """Return names, messages and energies lost, J, of one change: one for each pair of bodies and kind."""
        found: dict[str, tuple[str, float]] = {}
        impacts: dict[str, list[list[float]]] = {}
        for row in change.impacts.tolist():
            if row[0] >= 0:
                impacts.setdefault(self._pair_name(*map(int, row[:3])), []).append(row)
        for pair, rows in impacts.items():
            lost = -sum(row[15] + row[16] for row in rows)
            fastest = -min(row[13] for row in rows)
            if change.jams:
                found[f"{pair}: jams"] = (f"sliding stopped by an impulse, {lost:.6g} J lost", lost)
            else:
                found[f"{pair}: impact"] = (f"approach at {max(fastest, 0.0):.6g} m/s, {lost:.6g} J lost", lost)
        for words, keys in (
            ("opens", [key for key in before if key not in after]),
            ("sticks", [key for key in after if after[key] == 1 and before.get(key) != 1]),
            ("slides", [key for key in after if after[key] == 2 and before.get(key) != 2]),
        ):
            for key in keys:
                found.setdefault(f"{self._pair_name(*key)}: {words}", ("", 0.0))
        if change.reverses and not any(":" in name for name in found):
            for key in after:
                found.setdefault(f"{self._pair_name(*key)}: reverses", ("", 0.0))
        return [(name, *rest) for name, rest in found.items()]

    def notes_finder(self, integrator: _core.Integrator) -> Callable[[], list[str]]:
        """Return a function that finds the notes on the run as it is now."""
        notes = self._all_notes()
        return lambda: notes

    def _all_notes(self) -> list[str]:
        notes = [*self.notes, *self.steps.notes]
        together = [c for c in self.changes if len(np.unique(c.impacts[:, :4], axis=0)) > 1 and not c.jams]
        if together:
            first = together[0]
            notes.append(
                f"several pairs collided at once, {self._names(first.impacts)} at t = {first.t:.6g} s"
                f"{_others(together)}: {LAW_TEXTS[self.steps.choice.impacts]}; other laws give other velocities"
            )
        lowered = [c for c in self.changes if c.restitution_part < 1.0]
        if lowered:
            least = min(lowered, key=lambda c: c.restitution_part)
            notes.append(
                f"restitution of {self._names(least.impacts)} was lowered to {least.restitution_part:.3g} times its "
                f"value at t = {least.t:.6g} s{_others(lowered)}: more would increase the energy"
            )
        ambiguous = [c for c in self.changes if c.two_solutions]
        if ambiguous:
            first = ambiguous[0]
            notes.append(
                f"two solutions at t = {first.t:.6g} s{_others(ambiguous)} (Painleve): friction pulls sliding points "
                f"of {self._names(first.points) or 'contacts that open'} together, which may open or be pressed"
            )
        jammed = [c for c in self.changes if c.jams]
        if jammed:
            first = jammed[0]
            notes.append(
                f"{self._names(first.impacts)} jams at t = {first.t:.6g} s{_others(jammed)}: no force lets it slide "
                f"on; it was stopped by an impulse, {-first.energy:.6g} J lost"
            )
        if self.redundant:
            joints = self.steps.stops.size or self.steps.friction.size
            sums = "sums may be others where joints stick or rest on stops" if joints else "sums are right"
            notes.append(f"forces of some contact points are not unique: {sums}, shares are the smallest ones")
        return notes


def _others(changes: list[ContactChange]) -> str:
    """Return words on the changes beside the one that a note names."""
    return f", and {len(changes) - 1} x at other times" if len(changes) > 1 else ""


def _restored(
    model: Model,
    options: Options,
    choice: ContactChoice,
    step_options: Options,
    joints: tuple[Array, Array],
    changes: list[ContactChange],
) -> ContactEvents:
    """Return contacts of a run that was stored."""
    made = ContactEvents.of(
        model.conditions(), choice, options, step_options, friction="off", stops="off", goes_on=False
    )
    made.steps.stops, made.steps.friction = joints
    made.changes = changes
    return made
