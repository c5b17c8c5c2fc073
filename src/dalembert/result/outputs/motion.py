"""States of a model at many times, and quantities of the core's report, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, BoolArray, IndexArray
from ...bodies.markers import Marker
from ...connections.constraints.geometric import AxisAngle
from ...connections.drives import Drive, PoseDrive
from ...connections.joints import Joint
from ...errors import ModelError
from ...model import Conditions, Dynamics, Energy, Model, Pose
from ...model.drive_targets import driven_dof, driven_row
from ...model.sampled_control import SampledLoads
from ..contact_points import ContactPoints, ContactSource

__all__ = ["ConditionsByTime", "Motion", "Periods", "single_period"]

ConditionsByTime = Callable[[Array], list[tuple[IndexArray, Conditions]]]
"""From times (n,) to rows and the conditions there."""


class Periods:
    """Periods of time with the conditions in each, as a `ConditionsByTime` that can be pickled.

    Parameters
    ----------
    begins : (k,) s
        Start of each, in order.
    conditions : sequence of Conditions, (k,)
    """

    def __init__(self, begins: Sequence[float], conditions: Sequence[Conditions]) -> None:
        self.begins, self.conditions = list(begins), list(conditions)

    @property
    def model(self) -> Model | None:
        """The model with the parameter values of all conditions; None if they change."""
        first, *others = self.models
        same = all(
            other is first or np.array_equal(other.mapped_parameters, first.mapped_parameters) for other in others
        )
        return first if same else None

    @property
    def models(self) -> list[Model]:
        """Models of all periods."""
        return [conditions.model for conditions in self.conditions]

    def period(self, k: int) -> Conditions:
        """Return the conditions of a period."""
        return self.conditions[k]

    def __call__(self, t: Array) -> list[tuple[IndexArray, Conditions]]:
        before = np.append(t[:-1] == t[1:], False)  # the first of two states at a jump belongs to the period before it
        early, late = (np.searchsorted(self.begins, t, side=side) for side in ("left", "right"))
        place = np.clip(np.where(before, early, late) - 1, 0, None)
        order = np.argsort(place, kind="stable")
        periods, first = np.unique(place[order], return_index=True)
        return [(rows, self.period(k)) for k, rows in zip(periods.tolist(), np.split(order, first[1:]), strict=True)]


def single_period(conditions: Conditions) -> Periods:
    """Return one unlimited period."""
    return Periods([-np.inf], [conditions])


# Parts of a report that are computed together, because the first one makes the others free.
_GROUPS = (
    ("cut_q", "cut_v"),
    ("residual", "residual_rate"),
    ("a", "dx"),
    ("tau", "lam", "loads", "cut_a", "constraint_effort"),
    ("unique",),
    (
        "measures",
        "rates",
        "forces",
        "port_loads",
        "signals",
        "applied",
        "cut_effort",
        "requested_effort",
        "switching_functions",
    ),
    ("body_loads",),
    ("energies", "losses", "gains"),
    ("energy",),
)


class Motion:
    """Batch of states in order of time.

    Parameters
    ----------
    model : Model
    t : (n,) s
    q : (n, nq) rad or m
    v : (n, nv) rad/s or m/s
    x : (n, nx)
        Element states; their start values if left out.
    known : dict of str to array
        Parts already known: ``"a"``, ``"tau"``, ``"lam"``.
    conditions : function of times
        From times to rows and their conditions; those of the description if left out.

    Attributes
    ----------
    contact_sources : tuple of ContactSource
        Contact models of the run.
    """

    contact_sources: tuple[ContactSource, ...] = ()

    def __init__(
        self,
        model: Model,
        t: ArrayLike,
        q: Array,
        v: Array,
        x: Array | None = None,
        known: dict[str, Array] | None = None,
        conditions: ConditionsByTime | None = None,
    ) -> None:
        self.model, self.q, self.v = model, q, v
        self.t: Array = np.asarray(t, dtype=float)
        if self.t.shape != (len(q),):
            self.t = np.broadcast_to(self.t, (len(q),))
        self.t = np.ascontiguousarray(self.t)
        self.x: Array = np.tile(model.element_start_values(), (len(q), 1)) if x is None else x
        self.conditions = conditions
        self._parts: dict[str, Array] = dict(known or {})

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def pieces(self) -> list[tuple[IndexArray, Motion]]:
        """Rows with equal parameter values of the model, and the motion there; none for the model's own values."""
        if self.conditions is None or not len(self):
            return []
        found = self.conditions(self.t)
        if all(
            c.model is self.model or np.array_equal(c.model.mapped_parameters, self.model.mapped_parameters)
            for _, c in found
        ):
            return []
        return [(rows, self._piece(rows, conditions)) for rows, conditions in found]

    def _piece(self, rows: IndexArray, conditions: Conditions) -> Motion:
        t, q, v, x = (np.ascontiguousarray(column[rows]) for column in (self.t, self.q, self.v, self.x))
        known = {name: np.ascontiguousarray(part[rows]) for name, part in self._parts.items()}
        piece = type(self)(conditions.model, t, q, v, x, known, single_period(conditions))
        piece.contact_sources = self.contact_sources
        return piece

    @property
    def layout(self) -> Model:
        """The model, for names and indices."""
        return self.model

    def part(self, name: str) -> Array:
        """Return one part of the core's report, (n, ...); see `Model.report`."""
        if name not in self._parts:
            group = next(group for group in _GROUPS if name in group)
            found = self._reported([part for part in group if part not in self._parts])
            self._parts = {**self._parts, **found}
        return self._parts[name]

    def _reported(self, parts: list[str]) -> dict[str, Array]:
        if any(source.has_state_loads for source in self.contact_sources) and len(self):
            return self._reported_with_contacts(parts)
        if self.conditions is None or not len(self):
            return self.model.report(parts, self.t, self.q, self.v, self.x)
        joined: dict[str, Array] = {}
        for rows, conditions in self.conditions(self.t):
            states = (np.ascontiguousarray(column[rows]) for column in (self.t, self.q, self.v, self.x))
            for name, values in self.model.report(parts, *states, conditions=conditions).items():
                joined.setdefault(name, np.empty((len(self), *values.shape[1:])))[rows] = values
        return joined

    def _reported_with_contacts(self, parts: list[str]) -> dict[str, Array]:
        """Return parts of the core's report with the forces of contacts as loads; states at one time one by one."""
        loads, efforts = self._contact_loads()
        joined: dict[str, Array] = {}
        periods = (
            [(np.arange(len(self)), self.model.conditions())] if self.conditions is None else self.conditions(self.t)
        )
        for rows, conditions in periods:
            for some in _at_different_times(self.t, rows):
                t, q, v, x = (np.ascontiguousarray(column[some]) for column in (self.t, self.q, self.v, self.x))
                held = conditions.changed(sampled_loads=SampledLoads(t, loads[some], efforts[some]))
                for name, values in self.model.report(parts, t, q, v, x, conditions=held).items():
                    joined.setdefault(name, np.empty((len(self), *values.shape[1:])))[some] = values
        return joined

    def _contact_loads(self) -> tuple[Array, Array]:
        """Return [moment; force] of contacts on the bodies at their origins, world axes, (n, bodies, 6).

        And the efforts of stops and dry friction of joints that act with them, (n, nv + cut nv).
        """
        states, tables = (self.t, self.q, self.v, self.x), self.model.contacts
        assert tables is not None
        rigid = [source for source in self.contact_sources if source.adds_loss]  # others are elements of the model
        points = ContactPoints.joined([source.points(*states) for source in rigid])
        loads = np.zeros((len(self), len(self.model.body_names) + 1, 6))
        origins = self.model.poses(self.q)[1]
        for side, sign in ((0, -1.0), (1, 1.0)):
            body = tables.bodies[points.shapes[:, side]]
            moved = body > 0
            arm = points.position[moved] - origins[points.time[moved], body[moved] - 1]
            force = sign * points.force[moved]
            load = np.concatenate([np.cross(arm, force), force], axis=1)
            np.add.at(loads, (points.time[moved], body[moved]), load)
        for source in rigid:
            if (cut := source.cut_loads(*states)) is not None:
                loads[:, 1:] += cut
        return np.ascontiguousarray(loads[:, 1:]), np.ascontiguousarray(self.joint_efforts)

    # ---- contacts

    @cached_property
    def joint_efforts(self) -> Array:
        """Efforts of stops and dry friction of joints that act with rigid contact, (n, nv + cut nv)."""
        efforts = np.zeros((len(self), self.model.nv + self.model.compiled.names.cut_nv))
        for source in self.contact_sources:
            efforts += source.efforts(self.t, self.q, self.v, self.x)
        for rows, conditions in [] if self.conditions is None else self.conditions(self.t):
            if conditions.sampled_loads is not None:  # of contact by steps
                efforts[rows] += conditions.sampled_loads.efforts_at(self.t[rows])
        return efforts

    @property
    def has_joint_rows(self) -> bool:
        """Whether stops and friction of joints are rows of rigid contact by events."""
        return any(source.has_state_loads for source in self.contact_sources)

    def joint_sticks(self) -> BoolArray:
        """Return the velocities that stops and friction hold at zero beside rigid contact, (n, nv + cut nv)."""
        held = np.zeros((len(self), self.model.nv + self.model.compiled.names.cut_nv), dtype=bool)
        for source in self.contact_sources:
            held |= source.stuck(self.t, self.v)
        return held

    @cached_property
    def contact_points(self) -> ContactPoints:
        """Contact points that carry load."""
        if self.model.contacts is not None and not self.contact_sources:
            remedy = "the motion was found without contacts: use the result of da.simulate"
            raise ModelError("output", "contact", "none", remedy)
        return ContactPoints.joined([source.points(self.t, self.q, self.v, self.x) for source in self.contact_sources])

    # ---- dynamics and elements

    @property
    def dynamics(self) -> Dynamics:
        """Accelerations a (n, nv), joint forces tau (n, nv), multipliers lam (n, nc), rates dx (n, nx)."""
        return Dynamics(self.part("a"), self.part("tau"), self.part("lam"), self.part("dx"))

    @cached_property
    def energy(self) -> Energy:
        """Kinetic energy, and potential energy of weights and of flexible bodies, (n,) J."""
        if self.pieces:
            joined = np.empty((2, len(self)))
            for rows, piece in self.pieces:
                joined[:, rows] = piece.energy
            return Energy(*joined)
        return self.model.energy(self.q, self.v, bare=True)

    @property
    def stored(self) -> Array:
        """Energy stored in elements, (n,) J."""
        return np.asarray(self.part("energies").sum(axis=1))

    @property
    def power(self) -> Array:
        """Power supplied by drives, control, active elements and external loads, (n,) W."""
        energy = self.part("energy")
        return energy[:, 4] + energy[:, 5]

    @property
    def loss(self) -> Array:
        """Power that elements and flexible bodies dissipate, (n,) W."""
        return self.part("energy")[:, 3]

    @property
    def has_locks(self) -> bool:
        """True if degrees of freedom are locked at some of the times."""
        return self.conditions is not None and any(bool(c.locked) for _, c in self.conditions(self.t))

    @property
    def has_control(self) -> bool:
        """True if joint forces are external."""
        if self.conditions is None:
            return False
        return any(conditions.control is not None for _, conditions in self.conditions(self.t))

    # ---- drives

    def effort(self, drive: Drive) -> Array:
        """Return the effort of a drive, (n,) N m or N, for a pose (n, k): effort times driven rate is its power."""
        element, model = drive.connection.element, self.layout
        if isinstance(element, Joint):
            places = driven_dof(model, drive)
            effort: Array = (self.part("tau") - self.part("applied"))[:, places] - self.joint_efforts[:, places]
            return effort if isinstance(drive, PoseDrive) else effort[:, 0]
        effort = self.part("lam")[:, driven_row(model, drive)].copy()
        if isinstance(element, AxisAngle):  # the multiplier belongs to the residual, which is a cosine
            effort *= [element.target(drive.law(t)[0], 1.0, 0.0)[1] for t in self.t.tolist()]
        return effort

    @property
    def jerk(self) -> Array:
        """Jerks (n, nv); known for fully driven motions."""
        remedy = "only fully driven motions have jerks: use da.kinematics"
        raise ModelError("output", "jerk", "none", remedy)

    def along(self, quantity: Callable[[Array, Array, Array], Array]) -> Array:
        """Return the rate of a function of q, v and a along the motion; known if jerks are."""
        return self.jerk

    # ---- closed loops

    def worst(self, part: str) -> Array:
        """Return the largest absolute value of all rows of a part, ``"residual"`` or ``"residual_rate"``, (n,)."""
        if not self.model.nc:
            return np.zeros(len(self))
        return np.asarray(np.abs(self.part(part)).max(axis=1))

    # ---- frames

    def pose(self, marker: Marker) -> Pose:
        """Return orientation (n, 3, 3) and position (n, 3) of a marker in the world."""
        return self.model.pose(marker, self.q)

    def velocity(self, marker: Marker) -> tuple[Array, Array]:
        """Return angular velocity and velocity of a marker, (n, 3) each, world axes."""
        V = self.model.velocity(marker, self.q, self.v)
        return V[:, :3], V[:, 3:]

    def acceleration(self, marker: Marker) -> tuple[Array, Array]:
        """Return angular acceleration and acceleration of a marker, (n, 3) each, world axes."""
        A = self.model.acceleration(marker, self.q, self.v, self.part("a"))
        return A[:, :3], A[:, 3:]


def _at_different_times(t: Array, rows: IndexArray) -> list[IndexArray]:
    """Return rows of states at times (n,) s in groups without equal times, each in order of time."""
    rows = rows[np.argsort(t[rows], kind="stable")]
    place = np.arange(len(rows))
    fresh = np.append(True, np.diff(t[rows]) > 0.0)[: len(rows)]
    repeat = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return [rows[repeat == k] for k in np.unique(repeat)]
