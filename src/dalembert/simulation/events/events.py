"""Events: zero crossings of outputs, and their actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import checked, finite_array, finite_number
from ...errors import DalembertError, ModelError, UserFunctionError
from ...model import Conditions, Model, State
from ...result import ConditionsByTime, Motion, Output
from ...result.contact_points import ContactSource
from ...result.outputs.formula_output import formula_output, is_formula
from ...result.outputs.output import value_of
from .actions import Action, as_actions, unit_row
from .velocity_jumps import VelocityJumps, check_closed, with_changed_parameter, work_of_drives

__all__ = ["Event", "EventContext", "EventFunctions"]


@checked("direction")
@dataclass(frozen=True)
class Event:
    """Event at which an output passes a value.

    Parameters
    ----------
    name : str
    output : str or function
        Name of an output that is one number (``"A.position"``, ``"ball.position.z"``), a formula of such outputs and
        of the time t (``"P.position - 0.3*cos(A.position)"``, ``"t - 1.5"``), or a function of a `State`.
    value : float
        Threshold; angles of bodies and of cut joints, known up to whole turns, pass it once in each turn.
    direction : int
        +1 for rising through the value only, -1 for falling, 0 for both.
    terminal : bool
        The simulation ends there.
    action : str, `Bounce`, `Lock`, `Release`, `Switch`, `Set` or `Stop`, a sequence of these, or function
        Changes a parameter, a lock, a constraint, or velocities by an impulse: ``"bounce 0.5"`` and ``"lock"`` of the
        coordinate that is the output, ``"lock A"``, ``"release A"``, ``"switch B off"``, ``"set k.stiffness = 200"``,
        ``"stop"``; or a function of an `EventContext`. The core applies actions by description without Python where
        it can.

    An output that starts at the value does not pass it. Simultaneous events act in the given order. An event without
    an action that is not terminal is recorded only: steps are those of a run without it.

    Formulas are bounded along a step by interval arithmetic, so that crossings that take a small part of it are found,
    in all methods but SciPy's and SUNDIALS's. Functions are known at some points of a step only: where an output passes
    the value and returns within a small part of a step, describe it by a formula, or limit ``max_step``.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("ball")
    >>> ball = s.body("ball", da.sphere(0.1, mass=1.0))
    >>> _ = s.connect("P", da.Prismatic("z"), s.ground, ball)
    >>> s.initial("P", position=1.0)
    >>> bounce = da.Event("floor", "P.position", direction=-1, action="bounce 0.5")
    >>> result = da.simulate(s, 1.0, events=[bounce])
    >>> [round(event.t, 4) for event in result.events]
    [0.4515, 0.903]
    """

    name: str
    output: str | Callable[[State], float]
    value: float = 0.0
    direction: int = 0
    terminal: bool = False
    action: Callable[[EventContext], Any] | str | Action | Sequence[str | Action] | None = None

    def __post_init__(self) -> None:
        item = f"event {self.name!r}"
        object.__setattr__(self, "value", finite_number(self.value, item=item, field="value"))
        if self.direction not in (-1, 0, 1):
            raise ModelError(item, "direction", self.direction, "use +1 for rising, -1 for falling or 0 for both")
        if self.action is not None and not callable(self.action):
            object.__setattr__(self, "action", as_actions(self.action, item))

    @property
    def active(self) -> bool:
        """True if the event may change the run; others are only recorded."""
        return self.terminal or self.action is not None

    @property
    def declared_actions(self) -> tuple[Action, ...]:
        """Actions by description."""
        return self.action if isinstance(self.action, tuple) else ()

    def act(self, now: EventContext, actions: Sequence[Action] = ()) -> None:
        """Apply the actions for a model, or call the function."""
        for action in actions:
            action.act(now)
        if not callable(self.action):
            return
        try:
            self.action(now)
        except DalembertError:
            raise
        except Exception as error:
            raise UserFunctionError(
                f"the action of event {self.name!r} failed at t = {now.t:.6g} s: {error!r}"
            ) from error


class EventContext:
    """State at an event, with the changes that an action may make.

    Attributes
    ----------
    t : float, s
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
    x : (nx,)
    model : Model
    energy_loss : float, J
        Kinetic energy removed by impulses, locks and closing constraints so far.
    dissipated : float, J
        Energy lost so far in bounces, locks and closing constraints. An action that sets velocities after an impact,
        as by `da.impulse`, adds the loss; other changes of energy count as work.
    """

    def __init__(self, conditions: Conditions, state: State) -> None:
        self.conditions = conditions
        self.t, self.q, self.v, self.x = state.t, state.q.copy(), state.v.copy(), state.x.copy()
        self.energy_loss = self.dissipated = 0.0
        self.before: State | None = None  # of a velocity jump that began slightly earlier
        self.stopped = False
        self.done: list[str] = []

    @property
    def model(self) -> Model:
        """The model with the present parameters."""
        return self.conditions.model

    def stop(self) -> None:
        """End the simulation here."""
        self.stopped = True
        self.done.append("stop")

    def set(self, name: str, value: float) -> None:
        """Change a parameter of the system: ``now.set("k.stiffness", 200.0)``, ``now.set("load.mass", 0.0)``.

        Coordinates and velocities stay, so a removed mass takes its momentum with it. A value that would open a loop is
        refused, and velocities are made consistent with loops at once.
        """
        before = self.model
        self.conditions = with_changed_parameter(self.conditions, name, value, self.q, self.t, item="event")
        if self.model is not before and self.model.nc:
            self._jump()
        self.done.append(f"{name} = {value:.6g}")

    def lock(self, joint: str) -> None:
        """Lock a tree joint; its velocity becomes zero at once, by an impulse."""
        self.conditions = self.conditions.with_lock(joint, True, item="event")
        self._jump()
        self.done.append(f"lock {joint}")

    def release(self, joint: str) -> None:
        """Unlock a joint."""
        self.conditions = self.conditions.with_lock(joint, False, item="event")
        self.done.append(f"release {joint}")

    def switch(self, connection: str, on: bool) -> None:
        """Switch a constraint or a cut joint on or off; velocities satisfy it at once, by an impulse."""
        self.conditions = self.conditions.with_constraint(connection, on, item="event")
        if on:
            check_closed(self.conditions, connection, self.q, self.t)
            self._jump()
        self.done.append(f"switch {connection} {'on' if on else 'off'}")

    def impulse(self, marker: Any, force: ArrayLike = (0, 0, 0), moment: ArrayLike = (0, 0, 0)) -> None:
        """Apply impulses of a force (3,) N s and a moment (3,) N m s at a marker, world axes."""
        load = np.concatenate(
            [
                finite_array(moment, (3,), item="impulse", field="moment"),
                finite_array(force, (3,), item="impulse", field="force"),
            ]
        )
        self._jump(self.model.jacobian(marker, self.q).T @ load, works=True)
        self.done.append("impulse")

    def bounce(self, marker: Any, normal: ArrayLike | None = None, restitution: float = 1.0) -> None:
        """Let a marker bounce off a fixed plane: its normal velocity is multiplied by -restitution.

        The impulse acts along the normal; loops and locks are satisfied. A marker that moves away is left alone. A
        marker with zero velocity after the bounce is not supported: lock a joint, or switch on a constraint. Without
        a normal, the velocity of a coordinate of a tree joint is meant, ``"P"`` or ``"C.slide"``, in either direction.
        """
        e = finite_number(restitution, item="bounce", field="restitution")
        if not 0 <= e <= 1:
            raise ModelError("bounce", "restitution", e, "use a number from 0 to 1")
        if normal is None:
            row = unit_row(self.model, marker)
        else:
            n = finite_array(normal, (3,), item="bounce", field="normal")
            if not n.any():
                raise ModelError("bounce", "normal", normal, "give a direction that is not zero")
            row = (n / np.linalg.norm(n)) @ self.model.jacobian(marker, self.q)[3:]
        speed = float(row @ self.v)
        if speed == 0 or (speed > 0 and normal is not None):
            return
        jumps = VelocityJumps(self.conditions, self.q, self.v, self.t)
        self._jump(-(1 + e) * speed / float(row @ jumps.response(row)) * row, jumps=jumps)
        self.done.append("bounce")

    def _jump(self, impulse: Array | None = None, *, works: bool = False, jumps: VelocityJumps | None = None) -> None:
        """Apply an impulse (nv,) of a contact, or an external one that `works`; `jumps` are those of the state."""
        jumps = VelocityJumps(self.conditions, self.q, self.v, self.t) if jumps is None else jumps
        v, self.v = self.v, jumps.after(impulse)
        lost = 0.5 * float((v - self.v) @ (jumps.solver.M @ (v + self.v)))
        self.energy_loss += lost
        work = work_of_drives(self.conditions, self.q, v, self.v, self.t, applied=impulse)
        if works and impulse is not None:
            work += 0.5 * float(impulse @ (v + self.v))
        self.dissipated += lost + work


class EventFunctions:
    """Events of a run and their outputs at rows of states.

    Attributes
    ----------
    events : list of Event
        Those given, then internal ones.
    given_count : int
        Number of given events.
    turns : list of bool
        Outputs that are angles known up to whole turns.
    actions : list of tuple of Action
        Actions of the given events by description, for the model.
    """

    def __init__(self, model: Model, events: Any) -> None:
        self.events = [events] if isinstance(events, Event) else list(events)
        for event in self.events:
            if not isinstance(event, Event):
                raise ModelError("simulate", "events", event, "give da.Event(...) objects")
        names = [event.name for event in self.events]
        if len(set(names)) < len(names):
            raise ModelError("simulate", "events", names, "give every event a name of its own")
        self.model = model
        self.outputs = [_output(model, event) for event in self.events]
        self.turns = [output.is_turn for output in self.outputs]
        self.actions = [
            tuple(each.resolved(model, output, f"event {event.name!r}") for each in event.declared_actions)
            for event, output in zip(self.events, self.outputs, strict=True)
        ]
        self.given_count = len(self.events)

    def __reduce__(self) -> tuple[Any, ...]:
        return EventFunctions, (self.model, self.events)

    def values(
        self,
        conditions: ConditionsByTime,
        t: Array,
        q: Array,
        v: Array,
        x: Array,
        contact_sources: tuple[ContactSource, ...] = (),
    ) -> Array:
        """Return the output of each given event less the value of the event, (given_count, n)."""
        motion = Motion(self.model, t, q, v, x, conditions=conditions)
        motion.contact_sources = contact_sources
        values = np.empty((self.given_count, len(t)))
        for k, (event, output) in enumerate(zip(self.events, self.outputs, strict=False)):
            row = np.asarray(value_of(output, motion), dtype=float)
            if row.shape != t.shape:
                item = f"event {event.name!r}"
                raise ModelError(item, "output", event.output, "it has several numbers: name one component")
            values[k] = row - event.value
            if self.turns[k]:
                values[k] = np.remainder(values[k] + np.pi, 2 * np.pi) - np.pi
        finite = np.isfinite(values)
        if not finite.all():
            k, bad = np.argwhere(~finite)[0].tolist()
            value = values[k, bad] + self.events[k].value
            raise UserFunctionError(
                f"event {self.events[k].name!r}: its output is {value} at t = {t[bad]:.6g} s; it must be finite"
            )
        return values


def _output(model: Model, event: Event) -> Output:
    """Return the output of an event: by name, by formula, or a function of a state."""
    what, item = event.output, f"event {event.name!r}"
    try:
        return Output.of(model, what)
    except ModelError as error:
        if not isinstance(what, str):
            raise
        if not is_formula(what):
            raise ModelError(item, "output", what, error.remedy) from None
    return formula_output(model, what, item=item)
