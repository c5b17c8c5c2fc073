"""Derivatives of runs with rigid contact by steps.

The core gives each part of a step (between impacts) as a smooth function S of its begin y, length h and time t with the
impulses Lam and the removal z of overlaps held, and its derivatives (`core/steppers/methods/moreau_derivatives.hpp`).
With w = u1 + c the velocities of the cone problem, d_i the mean diagonal of the block D_ii of D = J P J',

    F = Lam - proj(Lam - w / d) = 0,   proj onto [0, inf) along the normal, then onto the disc of friction           (1)

after Alart and Curnier (1991). With A the slope of the projection, impulses vary by

    (1 - A + A D / d) dLam = -A dw / d + proj_mu dmu,   dw at constant Lam                                         (2)

Velocities are unique even where impulses are not (redundant points), unless such points slide in different directions,
which is refused. Points that stay closed keep the gap zero, which determines dz. An impact that was located in time
ends a part; its gap determines the change of the part's length:

    n.dS + n.S_h dh = 0                                                                                             (3)

Modes, the sequence of impacts and the number of parts are held: derivatives are exact for the steps as they were
taken, and to one side where a mode is at its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ... import _core
from ...arrays import Array, BoolArray
from ...checks import did_you_mean
from ...errors import GradientError, ModelError
from ...model import Conditions, Model, State
from ...model.conditions import parameter_value
from ..options import Options
from .contact_steps import ContactSteps

__all__ = [
    "CONTACT_NUMBERS",
    "ContactRunDerivatives",
    "StepDerivatives",
    "check_parameter",
    "is_contact_number",
    "parts_of_run",
]

CONTACT_NUMBERS = ("friction", "static_friction", "restitution")
MARGIN = 1e-6  # of the largest impulse of a part: modes that are closer to their limits are noted
RANK_TOL = 1e-11  # of the slopes of (1): smaller ones belong to impulses that are not unique
SHARE_TOL = 1e-9  # of the responses: impulses with a smaller effect on velocities have none
SAME_TIME_TOL = 1e-6  # of the change of the time of an impact: other points that strike with it change it alike
DIFFERENCE_STEP = 1e-5  # of a parameter or control value: central differences of smooth functions
STEPS_AT_ONCE = 256  # of a run that is repeated
MAX_NOTED = 1  # notes of one kind: the first


def parts_of_run(
    conditions: Conditions,
    options: Options,
    contacts: ContactSteps,
    discontinuity_times: Array,
    start: State,
    end: float,
) -> tuple[list[_core.ContactPart], Array]:
    """Repeat a run by steps; return the parts of its steps, and its last configuration (nq,).

    Raises
    ------
    GradientError
        If it ends early, or rows act that have no derivatives.
    """
    contacts.check_differentiable()
    own = replace(contacts, keeps_parts=True)
    integrator = options.integrator(conditions, discontinuity_times)
    own.attach(integrator)
    outcome = integrator.start(start.t, start.q, start.v, start.x)
    found = []
    while outcome in (_core.outcomes["reached"], _core.outcomes["paused"]) and integrator.t < end:
        outcome = integrator.advance(end, STEPS_AT_ONCE)
        integrator.take_contact_log()
        found += integrator.take_contact_parts()
    if outcome != _core.outcomes["reached"]:
        raise GradientError(f"the run could not be repeated for its derivatives beyond t = {integrator.t:.9g} s")
    return found, integrator.state()[1]


@dataclass(frozen=True)
class StepDerivatives:
    """Derivatives of the state at the end of a span of a run.

    Attributes
    ----------
    state : (n, n)
        By the state at its begin: small motions, velocities, element states.
    parameters : (n, m)
    controls : (n, 2, c)
        By the control values at the begin and at the end of its interval; with zero hold the second are zero.
    """

    state: Array
    parameters: Array
    controls: Array


@dataclass(eq=False)
class Direction:
    """Conditions and contacts with a slightly larger and a slightly smaller number."""

    up: _core.Integrator
    down: _core.Integrator
    step: float
    stops: Array  # derivatives of the rows of stops (k, 5) and of dry friction (k, 3)
    friction: Array


@dataclass(eq=False)
class ContactRunDerivatives:
    """Derivatives of one run by steps.

    Parameters
    ----------
    conditions : Conditions
        Of the run, with its control sequence.
    options : Options
    contacts : ContactSteps
        Of the run.
    discontinuity_times : (k,) s
    parameters : sequence of str
        Parameters of the system; ``"floor.friction"``, ``"floor.static_friction"``, ``"floor.restitution"`` of a
        contact.
    """

    conditions: Conditions
    options: Options
    contacts: ContactSteps
    discontinuity_times: Array
    parameters: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.base = self._integrator(self.conditions, self.contacts)
        names = self.contacts.tables.names
        self._contact_numbers: dict[int, tuple[int, str]] = {}
        self._directions: dict[int, Direction] = {}
        for k, name in enumerate(self.parameters):
            if name in self.conditions.model.parameter_names:
                self._directions[k] = self._by_parameter(name)
            else:
                owner, _, what = name.rpartition(".")
                self._contact_numbers[k] = names.index(owner), what
        self._by_control = [] if self.conditions.sequence is None else self._control_directions()

    def _integrator(self, conditions: Conditions, contacts: ContactSteps) -> _core.Integrator:
        integrator = self.options.integrator(conditions, self.discontinuity_times)
        contacts.attach(integrator)
        return integrator

    def _by_parameter(self, name: str) -> Direction:
        conditions = self.conditions
        value = float(parameter_value(conditions.model, name, conditions.parameters))
        step = DIFFERENCE_STEP * (abs(value) or 1.0)
        made, rows = [], []
        for change in (step, -step):
            moved = conditions.perturbed(name, change)
            contacts = self.contacts.fresh(moved.model)
            contacts.set_conditions(moved)
            contacts.leave_out_as(self.contacts)
            rows.append((contacts.stops, contacts.acting_friction))
            made.append(self._integrator(moved, contacts))
        slopes = [(up - down) / (2 * step) for up, down in zip(*rows, strict=True)]
        return Direction(made[0], made[1], step, slopes[0], slopes[1])

    def _control_directions(self) -> list[Direction]:
        sequence = self.conditions.sequence
        assert sequence is not None
        found = []
        for channel in range(sequence.values.shape[-1]):
            step = DIFFERENCE_STEP * max(1.0, float(np.abs(sequence.values[..., channel]).max(initial=0.0)))
            made = []
            for change in (step, -step):
                values = np.array(sequence.values)
                values[..., channel] += change
                moved = self.conditions.changed(sequence=sequence.with_values(values))
                made.append(self._integrator(moved, self.contacts))
            none = self.contacts
            found.append(
                Direction(made[0], made[1], step, np.zeros_like(none.stops), np.zeros_like(none.acting_friction))
            )
        return found

    def start(self, state: State) -> Array:
        """Return the derivatives (n, n) of the state put onto the loops by the given one."""
        model = self.conditions.model
        nv = model.nv
        n = 2 * nv + model.nx
        if not model.nc:
            return np.eye(n)

        def started(change: Array) -> Array:
            xi, dv, dx = np.split(change, [nv, 2 * nv])
            self.base.start(state.t, model.integrate(state.q, xi), state.v + dv, state.x + dx)
            _, q, v, x = self.base.state()[:4]
            return np.concatenate([model.difference(state.q, q), v, x])

        axes = DIFFERENCE_STEP * np.eye(n)
        return np.stack([started(axis) - started(-axis) for axis in axes], axis=1) / (2 * DIFFERENCE_STEP)

    def along(self, parts: Sequence[_core.ContactPart], times: Array) -> list[StepDerivatives]:
        """Return the derivatives of each span between two times, (k + 1,) s, at which steps end."""
        begins = np.array([part.step for part in parts])
        edges = np.searchsorted(begins, times[:-1] - 1e-9 * np.diff(times).min(initial=np.inf))
        bounds = [*edges.tolist(), len(parts)]
        return [
            self._span(parts[first:last], float(begin), float(end))
            for first, last, begin, end in zip(bounds[:-1], bounds[1:], times[:-1], times[1:], strict=True)
        ]

    def _span(self, parts: Sequence[_core.ContactPart], begin: float, end: float) -> StepDerivatives:
        model = self.conditions.model
        n, m, channels = 2 * model.nv + model.nx, len(self.parameters), len(self._by_control)
        y = np.zeros((n, n + m + 2 * channels))
        y[:, :n] = np.eye(n)
        steps = np.array([part.step for part in parts])
        for first in np.flatnonzero(np.diff(steps, prepend=-np.inf)).tolist():
            last = int(np.searchsorted(steps, steps[first], side="right"))
            y = self._step(parts[first:last], y, (begin, end))
        return StepDerivatives(y[:, :n], y[:, n : n + m], y[:, n + m :].reshape(n, 2, channels))

    def _step(self, parts: Sequence[_core.ContactPart], y: Array, span: tuple[float, float]) -> Array:
        """Map changes at the begin of a step to those at its end."""
        n, m, channels = len(y), len(self.parameters), len(self._by_control)
        late = np.zeros(y.shape[1])  # change of the time at which a part begins
        for k, part in enumerate(parts):
            made = _Part(self, part, n)
            by = np.zeros((m + channels, y.shape[1]))
            by[:m, n : n + m] = np.eye(m)
            s = 0.0
            if channels and self.conditions.sequence is not None and self.conditions.sequence.linear:
                s = (part.t + 0.5 * part.h - span[0]) / (span[1] - span[0])
            for c in range(channels):
                by[m + c, n + m + c], by[m + c, n + m + channels + c] = 1.0 - s, s
            end, by_h, by_t, by_numbers = np.split(made.end(), [n, n + 1, n + 2], axis=1)
            change = end @ y + by_t * late + by_numbers @ by
            if part.h > 0.0:
                longer = self._longer(part, parts[k + 1 :], change, by_h, late, by)
                change += by_h * longer
                late = late + longer
            y = change
        if np.abs(late).max(initial=0.0) > 0.0 and parts[-1].h == 0.0:
            raise GradientError(
                f"an impact at t = {parts[-1].t:.9g} s ends a step: the state there is that before or after it; use "
                "other output times or control intervals"
            )
        return y

    def _longer(
        self,
        part: _core.ContactPart,
        rest: Sequence[_core.ContactPart],
        change: Array,
        by_h: Array,
        late: Array,
        by: Array,
    ) -> Array:
        """Return the change of the length of a part, (d,), by (3); `by` are changes of numbers."""
        if not rest:
            return -late  # it ends where the step ends
        if rest[0].h > 0.0:  # the step was divided into equal parts
            left = sum(other.h for other in rest) + part.h
            return np.asarray(-late * part.h / left)
        impact = _Part(self, rest[0], len(change))
        gaps, sizes = impact.gaps()
        with np.errstate(divide="ignore", invalid="ignore"):
            found = [-(gap @ change + other @ by) / (gap @ by_h[:, 0]) for gap, other in gaps]
        if not found:
            return np.zeros_like(late)
        first = found[int(np.argmin(sizes))]
        if not np.isfinite(first).all():
            raise GradientError(f"an impact at t = {rest[0].t:.9g} s grazes: no derivative exists there")
        size = np.abs(first).max(initial=0.0)
        if any(np.abs(other - first).max(initial=0.0) > SAME_TIME_TOL * (size + 1e-300) for other in found):
            self.note(
                f"several points strike at once at t = {rest[0].t:.9g} s: derivatives hold while they do, and to one "
                "side elsewhere"
            )
        return np.asarray(first)

    def note(self, text: str) -> None:
        """Add a note, once."""
        kind = text.partition(" at t =")[0]
        if sum(note.startswith(kind) for note in self.notes) < MAX_NOTED and text not in self.notes:
            self.notes.append(text)

    def numbers(self, part: _core.ContactPart) -> Array:
        """Return the derivatives of the outputs of a part by parameters and control values."""
        every = [*(self._directions.get(k) for k in range(len(self.parameters))), *self._by_control]
        columns = [
            None
            if direction is None
            else (direction.up.contact_part_outputs(part) - direction.down.contact_part_outputs(part))
            / (2 * direction.step)
            for direction in every
        ]
        size = next((len(column) for column in columns if column is not None), 0)
        return np.stack([np.zeros(size) if c is None else c for c in columns], axis=1) if columns else np.zeros((0, 0))

    def material_slopes(self, part: _core.ContactPart, names: Array, materials: Array) -> tuple[Array, Array, Array]:
        """Return derivatives (rows, m) of friction, of the bound of dry friction of joints, and of restitution."""
        count = len(self.parameters) + len(self._by_control)
        friction, bound, restitution = (np.zeros((len(names), count)) for _ in range(3))
        mu, sliding, static = materials[:, :3].T
        at_rest = mu != sliding  # static friction
        for k, (contact, what) in self._contact_numbers.items():
            mine = names[:, 0] == contact
            if what == "restitution":
                restitution[mine, k] = 1.0
            elif what == "friction":
                friction[mine & ~at_rest, k] = 1.0
            else:
                friction[mine & ((mu == static) & (at_rest | (static == sliding))), k] = 1.0
        for k, direction in self._directions.items():
            stops, joints = names[:, 3] >= 0, names[:, 4] >= 0
            if direction.stops.any():
                restitution[stops, k] = direction.stops[names[stops, 3].astype(int), 4]
            if direction.friction.any():
                rows = direction.friction[names[joints, 4].astype(int)]
                bound[joints, k] = part.h * np.where(at_rest[joints], rows[:, 2], rows[:, 1])
        return friction, bound, restitution


class _Part:
    """Derivatives of one part of a step, by (y, h, t, parameters, controls)."""

    def __init__(self, of: ContactRunDerivatives, part: _core.ContactPart, n: int) -> None:
        self.of, self.part, self.n = of, part, n
        self.nominal, by_begin, self.by_end, self.Y, self.D = of.base.contact_part_slopes(part)
        numbers = of.numbers(part)
        if numbers.shape[0] != len(by_begin):
            numbers = np.zeros((len(by_begin), numbers.shape[1]))
        self.by = np.concatenate([by_begin, numbers], axis=1)
        self.rows = self.by[n:].reshape(-1, 8, self.by.shape[1])
        self.values = self.nominal[n:].reshape(-1, 8)

    def gaps(self) -> tuple[list[tuple[Array, Array]], list[float]]:
        """Return the derivatives of the gaps of all points that strike by (y, numbers), and the sizes of these gaps."""
        found = np.flatnonzero(self.part.kind == 1).tolist()
        slopes = [(self.rows[k, 6, : self.n], self.rows[k, 6, self.n + 2 :]) for k in found]
        return slopes, [abs(float(self.values[k, 6])) for k in found]

    def end(self) -> Array:
        """Return the derivatives of the end, (n, n + 2 + numbers)."""
        found = self.by[: self.n].copy()
        part = self.part
        if not len(self.rows):
            return found
        if part.lowered:
            self.of.note(f"restitution that was lowered, lest energy grows, is held at t = {part.t:.6g} s")
        nv = self.Y.shape[1]
        impulses = self._impulses()
        found += self.by_end[:, :nv] @ (self.Y.T @ impulses)
        if part.h > 0.0:
            stays, removal = self._removal(impulses)
            found += self.by_end[:, nv:] @ (self.Y[2::3][stays].T @ removal)
        return found

    def _impulses(self) -> Array:
        """Return the derivatives of the impulses, (3 rows, columns), by (2)."""
        part, n = self.part, self.n
        names, materials, kind, bound = part.names, part.materials, part.kind, part.bound
        lam = part.lam.reshape(-1, 3)
        friction, limit, restitution = self.of.material_slopes(part, names, materials)
        dw = self.rows[:, :3].copy()
        w = self.values[:, :3].copy()
        strikes, is_open = kind == 1, kind == 2
        e = materials[:, 3]
        w[strikes, 2] += (e * self.values[:, 5])[strikes]
        dw[strikes, 2] += (e[:, None] * self.rows[:, 5])[strikes]
        dw[strikes, 2, n + 2 :] += (restitution * self.values[:, 5:6])[strikes]
        if is_open.any():
            w[is_open, 2] += self.values[is_open, 6] / part.h
            dw[is_open, 2] += self.rows[is_open, 6] / part.h
            dw[is_open, 2, n] -= self.values[is_open, 6] / part.h**2
        count, width = len(lam), dw.shape[2]
        A, right = np.zeros((3 * count, 3 * count)), np.zeros((3 * count, width))
        r = np.zeros(3 * count)
        margin, scale = np.full(count, np.inf), 0.0
        for k in range(count):
            at = slice(3 * k, 3 * k + 3)
            trace = float(np.trace(self.D[at, at]))
            if not trace > 0.0:
                continue
            r[at] = 3.0 / trace
            p = lam[k] - r[3 * k] * w[k]
            if names[k, 4] >= 0:  # dry friction of a joint
                inside = bool(abs(p[0]) <= -bound[k])
                margin[k] = abs(abs(p[0]) + bound[k])
                A[3 * k, 3 * k] = float(inside)
                if not inside:
                    right[3 * k, n + 2 :] += np.sign(p[0]) * limit[k]
                    right[3 * k, n] += np.sign(p[0]) * materials[k, 0]  # the bound of the impulse grows with h
            else:
                margin[k] = _fill_projection(A[at, at], right[at, n + 2 :], p, float(bound[k]), friction[k])
            scale = max(scale, float(np.abs(lam[k]).max()), float(np.abs(p).max()))
        self._note_margins(names, margin, scale)
        acts = A.any(axis=1) | right.any(axis=1)
        G = (np.eye(3 * count) - A + A * r @ self.D)[np.ix_(acts, acts)]
        right -= A * r @ dw.reshape(3 * count, width)
        found = np.zeros((3 * count, width))
        if acts.any():
            U, sizes, V = np.linalg.svd(G)
            rank = int((sizes > RANK_TOL * sizes[0]).sum())
            found[acts] = V[:rank].T @ ((U[:, :rank].T @ right[acts]) / sizes[:rank, None])
            self._check_shares(V[rank:], self.Y[acts], names)
        return found

    def _check_shares(self, null: Array, Y: Array, names: Array) -> None:
        """Raise for impulses that are not unique and change velocities: points that slide in different directions."""
        if len(null) and np.abs(null @ Y).max(initial=0.0) > SHARE_TOL * np.abs(Y).max(initial=0.0):
            raise GradientError(
                f"redundant points of {self._name(names[np.argmax(names[:, 0])])} slide in different directions at t = "
                f"{self.part.t:.6g} s: Coulomb's law determines neither their shares nor the motion, which has no "
                "derivative there. Use compliant contact (stiffness=), or a shape that touches in three points"
            )

    def _name(self, row: Array) -> str:
        """Return the name of a row of `names`."""
        contacts, (contact, one, two, stop, joint) = self.of.contacts, row.astype(int).tolist()
        if contact >= 0:
            bodies = contacts.tables.bodies
            return repr(contacts.tables.pair_name(contact, int(bodies[one]), int(bodies[two])))
        return repr(contacts.stop_name(stop) if stop >= 0 else contacts.friction_name(joint))

    def _removal(self, impulses: Array) -> tuple[BoolArray, Array]:
        """Return the points that stay closed, and the derivatives of their separation."""
        part = self.part
        presses = (part.lam.reshape(-1, 3)[:, 2] > 0.0) & (part.kind == 0) & (part.names[:, 4] < 0)
        stays = presses | (part.separation > 0.0)
        D = self.D[2::3]
        gap = self.rows[:, 7] + 0.5 * part.h * D @ impulses
        if not stays.any():
            return stays, np.zeros((0, impulses.shape[1]))
        own = D[:, 2::3][np.ix_(stays, stays)]
        return stays, -np.linalg.lstsq(own, gap[stays], rcond=RANK_TOL)[0]

    def _note_margins(self, names: Array, margin: Array, scale: float) -> None:
        close = np.flatnonzero(margin < MARGIN * scale)
        if not len(close):
            return
        self.of.note(
            f"{self._name(names[close[0]])} is at the limit of its mode (between open, stick and slip) at t = "
            f"{self.part.t:.6g} s: derivatives are to one side"
        )


def _fill_projection(A: Array, right: Array, p: Array, mu: float, friction: Array) -> float:
    """Fill in the slope A (3, 3) of the projection of (1) at p, and its derivatives (3, m); return the margin.

    Parameters
    ----------
    friction : (m,)
        Derivatives of mu.
    """
    normal, size = float(p[2]), float(np.hypot(p[0], p[1]))
    margin = abs(normal)
    if normal <= 0.0:
        return margin
    A[2, 2] = 1.0
    top = mu * normal
    if mu > 0.0 or friction.any():
        margin = min(margin, abs(size - top))
    if size <= top and mu > 0.0:
        A[:2, :2] = np.eye(2)
    elif size > 0.0:
        e = p[:2] / size
        A[:2, :2] = top / size * (np.eye(2) - np.outer(e, e))
        A[:2, 2] = mu * e
        right[:2] += normal * e[:, None] * friction
    return margin


def is_contact_number(model: Model, name: str) -> bool:
    """Return whether a name is that of friction or restitution of a rigid contact: ``"floor.friction"``."""
    owner, _, what = str(name).rpartition(".")
    tables = model.contacts
    return tables is not None and what in CONTACT_NUMBERS and owner in tables.rigid_names


def check_parameter(model: Model, name: str, item: str) -> None:
    """Refuse a name that is neither a parameter of the system nor a number of a rigid contact."""
    if name in model.parameter_names or is_contact_number(model, name):
        return
    tables = model.contacts
    assert tables is not None
    own = [f"{contact}.{what}" for contact in tables.rigid_names for what in CONTACT_NUMBERS]
    known = [*model.parameter_names, *own]
    remedy = did_you_mean(name, known) or f"known are: {', '.join(map(repr, own))}, and parameters of the system"
    raise ModelError(item, "parameter", name, remedy)
