"""Velocities by name: of tree joints, of modes, and of cut joints.

The velocities u of a cut joint follow from those of the tree, u = C(q) v. Holding or driving a joint, or applying an
effort there, is therefore independent of where the loops are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, BoolArray
from ..compile.names import full_names
from ..connections.joints import Joint
from ..errors import ModelError
from ..model import Model

__all__ = ["NamedVelocities", "as_name_list", "coordinate_range", "named_velocities"]


@dataclass(frozen=True, eq=False)
class NamedVelocities:
    """Named velocities of a model.

    Attributes
    ----------
    model : Model
    columns : list of int
        Indices in v of those of the tree, in order.
    cut : list of int
        Indices of those of cut joints among the velocities of all cut joints.
    """

    model: Model
    columns: list[int]
    cut: list[int]

    def __len__(self) -> int:
        return len(self.columns) + len(self.cut)

    @property
    def names(self) -> list[str]:
        """Names of the velocities, those of the tree first."""
        return [self.model.speed_names[k] for k in self.columns] + [_cut_names(self.model)[k] for k in self.cut]

    @property
    def mask(self) -> BoolArray:
        """Mask (nv,) of the tree velocities among them."""
        marks = np.zeros(self.model.nv, dtype=bool)
        marks[self.columns] = True
        return marks

    def cut_rows(self, q: Array) -> Array:
        """Return C (k, nv) at q (nq,) of the cut ones."""
        model = self.model
        if not self.cut:
            return np.zeros((0, model.nv))
        still = np.zeros(model.nv)
        units = np.vstack([still, np.eye(model.nv)])
        speeds = model.cut_motion(q, units, still)[1][:, self.cut]
        return (speeds[1:] - speeds[0]).T

    def rows(self, q: Array) -> Array:
        """Return C (k, nv) at q (nq,) of all."""
        return np.vstack([np.eye(self.model.nv)[self.columns], self.cut_rows(q)])

    def cut_speeds(self, q: Array, v: Array) -> Array:
        """Return the velocities of the cut ones, (k,)."""
        return self.model.cut_motion(q, v, np.zeros(self.model.nv))[1][self.cut]

    def cut_accelerations(self, q: Array, v: Array, a: Array) -> Array:
        """Return the accelerations of the cut ones, (k,)."""
        return self.model.cut_motion(q, v, a)[2][self.cut]

    @property
    def cut_scales(self) -> Array:
        """Factors that make the velocities of the cut ones dimensionless: 1, or 1 / length, (k,)."""
        units = [unit for joint in _cut_joints(self.model).values() for unit in joint.speed_units]
        return np.array([1.0 / self.model.length if units[k] == "m" else 1.0 for k in self.cut])


def as_name_list(names: str | Iterable[str] | Mapping[str, object]) -> list[str]:
    """Return names as a list."""
    return [names] if isinstance(names, str) else list(names)


def named_velocities(model: Model, names: str | Iterable[str], *, item: str) -> NamedVelocities:
    """Return the velocities of joints, of modes of flexible bodies, or single velocities, by name."""
    columns: set[int] = set()
    cut: set[int] = set()
    cut_names = _cut_names(model)
    for name in as_name_list(names):
        if name in (*model.joint_names, *model.flexible_names):
            columns.update(range(*model.v_slice(name).indices(model.nv)))
        elif name in model.speed_names:
            columns.add(model.speed_names.index(name))
        elif name in model.compiled.names.cut_v:
            cut.update(range(*model.cut_joint_slice(name).indices(len(cut_names))))
        elif name in cut_names:
            cut.add(cut_names.index(name))
        else:
            raise ModelError(item, "name", name, _remedy(model, name))
    return NamedVelocities(model, sorted(columns), sorted(cut))


def _cut_joints(model: Model) -> dict[str, Joint]:
    return {
        loop_constraint.name: loop_constraint.element
        for loop_constraint in model.forest.loop_constraints
        if isinstance(loop_constraint.element, Joint)
    }


def _cut_names(model: Model) -> list[str]:
    """Return the names of the velocities of all cut joints."""
    return [name for owner, joint in _cut_joints(model).items() for name in full_names(owner, joint.speeds)]


def _remedy(model: Model, name: str) -> str:
    if name in model.coordinate_names:
        return "one component of a quaternion cannot be held; name the connection, or a velocity such as 'ball.wx'"
    if name in model.closure_names:
        return "it is a constraint and has no coordinates"
    known = [*model.speed_names, *_cut_names(model)]
    return f"choose among the coordinates {', '.join(map(repr, known[:12]))}"


def coordinate_range(model: Model, name: str) -> slice | None:
    """Return the indices in q of a joint, a flexible body or one coordinate by name; None if unknown."""
    if name in (*model.joint_names, *model.flexible_names):
        return model.q_slice(name)
    if name in model.coordinate_names:
        place = model.coordinate_names.index(name)
        return slice(place, place + 1)
    return None
