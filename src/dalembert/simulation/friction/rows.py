"""Rows of dry friction and stops: coordinates of joints, their motion, and their response to efforts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...compile.names import full_names
from ...connections.connection import Connection
from ...connections.constraints.ropes import Rope
from ...connections.joints import Joint
from ...impulses.velocity_jump_solver import VelocityJumpSolver
from ...model import Conditions, Model
from ...model.cache import cached_per_model

__all__ = ["FrictionRows", "Response", "friction_rows"]


@dataclass(frozen=True, eq=False)
class FrictionRows:
    """One row for each coordinate with dry friction or stops, including cut joints and lengths of ropes.

    Attributes
    ----------
    names, units : tuple of str, (n,)
    indices : (n,) int
        Indices of velocities: those of the trees, then of cut joints.
    coordinates : (n,) int
        Indices of coordinates; -1 where there is none, as of a ball joint.
    friction, mode, coefficient, slip : (n,) int
        Indices of the friction parameters; -1 where there is none.
    load : (n,) int
        Index of the load among the signals; -1 where friction depends on no load.
    group : (n,) int
        Number of the vector group: rows whose friction is one vector share it.
    sliding_friction, static_friction : (n,) N m or N
        Friction and static friction as described.
    static_ratio : (n,)
        Static coefficient divided by sliding coefficient, as described.
    lower, upper : (n,) rad or m
        Infinite where there is no stop.
    restitution : (n,)
    """

    model: Model
    names: tuple[str, ...]
    units: tuple[str, ...]
    indices: IndexArray
    coordinates: IndexArray
    friction: IndexArray
    mode: IndexArray
    coefficient: IndexArray
    slip: IndexArray
    load: IndexArray
    group: IndexArray
    sliding_friction: Array
    static_friction: Array
    static_ratio: Array
    lower: Array
    upper: Array
    restitution: Array

    def __len__(self) -> int:
        return len(self.names)

    def select(self, places: IndexArray, **changes: Any) -> FrictionRows:
        """Return the rows with numbers `places` (k,), with some columns (k,) replaced."""
        columns: dict[str, Any] = {
            f.name: getattr(self, f.name)[places] for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)
        }
        names, units = (tuple(column[k] for k in places) for column in (self.names, self.units))
        return FrictionRows(self.model, names, units, **{**columns, **changes})

    def for_model(self, model: Model) -> FrictionRows:
        """Return the same rows of the model with other parameters."""
        if model is self.model:
            return self
        every = friction_rows(model)
        rows = every.select(np.array([every.names.index(name) for name in self.names], dtype=np.intp))
        same = {name: getattr(self, name) for name in ("friction", "mode", "coefficient", "slip", "load")}
        stops = {
            name: np.where(np.isfinite(getattr(self, name)), getattr(rows, name), getattr(self, name))
            for name in ("lower", "upper")
        }
        return rows.select(np.arange(len(rows)), **same, **stops)

    def owners(self) -> list[Connection]:
        """Return the connections that the rows belong to, (n,)."""
        connections = self.model.system.connections
        return [connections[name if name in connections else name.rpartition(".")[0]] for name in self.names]

    @property
    def has_cut_joints(self) -> bool:
        """True if some rows are of cut joints."""
        return bool((self.indices >= self.model.nv).any())

    @cached_property
    def has_friction(self) -> BoolArray:
        """Rows with friction, (n,)."""
        return self.friction >= 0

    @cached_property
    def has_load_friction(self) -> BoolArray:
        """Rows with load-dependent friction, (n,)."""
        return self.load >= 0

    @cached_property
    def vector_groups(self) -> list[IndexArray]:
        """Groups of rows whose friction is one vector, as of ball joints."""
        counts = [np.flatnonzero(self.has_friction & (self.group == number)) for number in np.unique(self.group)]
        return [rows for rows in counts if len(rows) > 1]

    @cached_property
    def has_scalar_friction(self) -> BoolArray:
        """Rows that belong to no vector group, (n,)."""
        scalar = np.ones(len(self), dtype=bool)
        for group in self.vector_groups:
            scalar[group] = False
        return scalar

    def slip_speeds(self, u: Array) -> Array:
        """Return slip speeds (..., n) for velocities (..., n): absolute values, and norms for vector groups."""
        size = np.abs(u)
        for group in self.vector_groups:
            size[..., group] = np.linalg.norm(u[..., group], axis=-1, keepdims=True)
        return size

    def friction_limits(self, conditions: Conditions, loads: Array) -> tuple[Array, Array]:
        """Return sliding and static friction (..., n) N m or N for loads (..., n)."""
        now = self._parameter(conditions, self.friction)
        part = np.where(
            self.sliding_friction > 0, now / np.where(self.sliding_friction > 0, self.sliding_friction, 1.0), 1.0
        )
        static = np.maximum(np.where(self.has_friction, part * self.static_friction, 0.0), now)
        by_load = self._parameter(conditions, self.coefficient) * loads
        return now + by_load, static + self.static_ratio * by_load

    def _parameter(self, conditions: Conditions, places: IndexArray) -> Array:
        known, values = places >= 0, np.zeros(len(self))
        values[known] = conditions.parameters[places[known]]
        return values

    def loads(self, signals: Array) -> Array:
        """Return the loads of the rows (..., n) N m or N from all signals (..., s)."""
        if not self.has_load_friction.any():
            return np.zeros((*signals.shape[:-1], len(self)))
        return np.where(self.has_load_friction, signals[..., np.maximum(self.load, 0)], 0.0)

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return coordinates and velocities (k, n) of the rows at q (k, nq), v (k, nv); NaN for no coordinate."""
        s, u = q, v
        if self.has_cut_joints:
            cut_q, cut_v, _ = self.model.cut_motion(q, v, np.zeros_like(v))
            s, u = np.hstack([q, cut_q]), np.hstack([v, cut_v])
        return np.where(self.coordinates >= 0, s[:, self.coordinates], np.nan), u[:, self.indices]

    def accelerations(self, q: Array, v: Array, a: Array) -> Array:
        """Return the accelerations (n,) of the rows."""
        every = np.concatenate([a, self.model.cut_motion(q, v, a)[2]]) if self.has_cut_joints else a
        return np.asarray(every[self.indices])

    def jacobian(self, q: Array) -> Array:
        """Return J (n, nv): velocities of the rows are J v plus terms of time."""
        nv = self.model.nv
        every = np.eye(nv)
        if self.has_cut_joints:
            still, unit = np.zeros((nv, nv)), np.repeat(q[None], nv, axis=0)
            moving, resting = (self.model.cut_motion(unit, v, still)[1] for v in (every, still))
            every = np.vstack([every, (moving - resting).T])
        return np.asarray(every[self.indices])


@cached_per_model
def friction_rows(model: Model) -> FrictionRows:
    """Return all rows of a model."""
    names, units = [], []
    numbers: list[tuple[float, ...]] = []
    tables = model.compiled.names
    for connection in model.system.connections.values():
        joint = connection.element
        if not isinstance(joint, Joint) or not joint.can_stick:
            continue
        cut = connection.name in tables.cut_v
        v = tables.cut_v[connection.name].start + model.nv if cut else tables.v[connection.name].start
        q = tables.cut_q[connection.name].start + model.nq if cut else tables.q[connection.name].start
        for part, name in enumerate(full_names(connection.name, joint.speeds)):
            dry = model.compiled.elements.friction_slots.get(name)
            lower, upper, e, sliding, static = (
                default if data is None else float(data[part])
                for data, default in (
                    (joint.lower, -np.inf),
                    (joint.upper, np.inf),
                    (joint.restitution, 0.0),
                    (joint.friction, 0.0),
                    (joint.static_friction, 0.0),
                )
            )
            if dry is None and not np.isfinite([lower, upper]).any():
                continue
            names.append(name)
            units.append(joint.speed_units[part])
            coordinate = q + part if joint.nq == joint.nv else -1
            places = (-1,) * 5
            if dry is not None:
                places = dry.friction, dry.mode, dry.coefficient, dry.slip, dry.load
            group = v if joint.has_vector_friction else v + part
            law = joint.load_friction
            more = law.static / law.coefficient if law is not None and law.coefficient else 1.0
            numbers.append((v + part, coordinate, *places, group, sliding, max(sliding, static), more, lower, upper, e))
    for loop_constraint in model.forest.loop_constraints:
        rope = loop_constraint.element
        if isinstance(rope, Rope):
            q, v = tables.ropes[loop_constraint.name]
            names.append(loop_constraint.name)
            units.append("m")
            places, v = (-1,) * 5, v + model.nv
            limits = rope.lower, rope.upper, rope.restitution
            numbers.append((v, q + model.nq, *places, v, 0.0, 0.0, 1.0, *limits))
    columns = list(zip(*numbers, strict=True)) if numbers else [()] * 14
    whole = [np.array(column, dtype=np.intp) for column in columns[:8]]
    sizes = [np.array(column, dtype=float) for column in columns[8:]]
    fields = ["indices", "coordinates", "friction", "mode", "coefficient", "slip", "load", "group"]
    fields += ["sliding_friction", "static_friction", "static_ratio", "lower", "upper", "restitution"]
    values: dict[str, Any] = dict(zip(fields, [*whole, *sizes], strict=True))
    return FrictionRows(model, tuple(names), tuple(units), **values)


class Response:
    """Response of the rows to efforts on each other at one configuration, with loops and held velocities.

    Attributes
    ----------
    J, D : (n, nv)
        Rows; accelerations for a unit effort on each.
    A : (n, n)
        Accelerations of the rows for unit efforts on them.
    own : (n,)
        Acceleration of each row for its own unit effort, without loops.
    jumps : VelocityJumpSolver
        Response to any other effort.
    """

    def __init__(
        self,
        rows: FrictionRows,
        conditions: Conditions,
        q: Array,
        t: float,
        held: BoolArray,
        *,
        regularize: bool = False,
    ) -> None:
        model = rows.model
        P = (
            model.constraint_jacobian(q, t=t) * conditions.active_rows()[:, None]
            if model.nc
            else np.zeros((0, model.nv))
        )
        self.J = rows.jacobian(q)
        self.jumps = VelocityJumpSolver(model, q, held, P, regularize=regularize)
        self.D = self.jumps.respond(self.J)
        A = self.J @ self.D.T
        self.A = 0.5 * (A + A.T)
        alone = (
            VelocityJumpSolver(model, q, held, 0.0 * P, regularize=regularize).respond(self.J) if model.nc else self.D
        )
        self.own = np.einsum("ij,ij->i", self.J, alone)
        self.rows = rows
