"""A system of bodies and joints in natural coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..closure import assemble
from ..connections.constraints.couplings import Coupling
from ..connections.constraints.geometric import Distance
from ..connections.drives import Drive
from ..connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from ..errors import ModelError
from ..model import Model
from ..system import System
from .dynamics import NaturalDynamics
from .equations import NaturalEquations
from .joint_forces import JointForces
from .mechanism import Mechanism
from .motion import NaturalMotion
from .planes import plane_of
from .shared_points import GROUND, MechanismBuilder

__all__ = ["NaturalModel", "natural_model"]

Array = NDArray[np.float64]
_DRY = "it switches in time, which da.simulate(system) does; here, take it out or give smooth damping= instead"
_NO_FORM = {
    "friction": _DRY,
    "load_friction": _DRY,
    "lower": "stops strike, which da.simulate(system) does; here, take it out",
    "upper": "stops strike, which da.simulate(system) does; here, take it out",
    "armature": "inertia of a joint has no natural form: use da.simulate(system), or give it to a geared body",
}
PointOwners = dict[str, tuple[str, Array, bool]]


@dataclass(frozen=True, eq=False)
class _Moving:
    """A body's attitude, angular velocity and acceleration, and place, velocity and acceleration of its origin."""

    R: Array
    w: Array
    alpha: Array
    x: Array
    v: Array
    a: Array

    @classmethod
    def of(cls, model: Model, name: str, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None) -> _Moving:
        pose = model.pose(name, q)
        V = np.zeros(6) if v is None else model.velocity(name, q, v)
        A = np.zeros(6) if v is None or a is None else model.acceleration(name, q, v, a)
        return cls(pose.rotation, V[:3], A[:3], pose.position, V[3:], A[3:])

    def vector(self, local: Array, *, point: bool) -> tuple[Array, Array, Array]:
        """Return a vector or a point that is fixed in the body, and its first two rates, in the world."""
        r = self.R @ local
        rates = (r, np.cross(self.w, r), np.cross(self.alpha, r) + np.cross(self.w, np.cross(self.w, r)))
        if not point:
            return rates
        return rates[0] + self.x, rates[1] + self.v, rates[2] + self.a


class NaturalModel:
    """A system in natural coordinates.

    Attributes
    ----------
    mechanism : Mechanism
        Points, vectors, rows; drives and masses as the system has them.
    model : Model
        The same system in joint coordinates.
    plane : (3, 2) or None
        Axes of the plane in which a planar system is described; None in space.
    """

    def __init__(self, mechanism: Mechanism, model: Model, plane: Array | None, homes: PointOwners, q: Array) -> None:
        self.mechanism, self.model, self.plane, self.start = mechanism, model, plane, q
        self._homes = homes

    def equations(self) -> NaturalEquations:
        """Return the closure equations."""
        return self.mechanism.equations()

    def motion(self, times: ArrayLike, q: ArrayLike | None = None, **options: Any) -> NaturalMotion:
        """Follow the drives through times (k,) s; see `Mechanism.motion`."""
        return self.mechanism.motion(times, q, **options)

    def kinematics(self, *, drive: str | Mapping[str, ArrayLike] | None = None, **options: Any) -> NaturalMotion:
        """Return the motion along the drives, or of coordinates through values; see `dalembert.kinematics`.

        Joints can be driven as well as coordinates of the mechanism; their angles or slides become coordinates then.
        """
        known = {
            name for c in self.mechanism.coordinates.values() if c.kind in ("angle", "distance") for name in c.names
        }
        asked = [] if drive is None else [drive] if isinstance(drive, str) else list(drive)
        joints = [name for name in asked if name not in known and self._is_joint(name)]
        if not joints:
            return self.mechanism.kinematics(drive=drive, **options)
        other, named = self._with_driven(joints)
        if isinstance(drive, str):
            return other.mechanism.kinematics(drive=named[drive], **options)
        assert drive is not None
        return other.mechanism.kinematics(drive={named.get(k, k): x for k, x in drive.items()}, **options)

    def _is_joint(self, name: str) -> bool:
        connection, _ = self.model.system.connection_and_part(name)
        return connection is not None and isinstance(connection.element, Joint)

    def _with_driven(self, joints: list[str]) -> tuple[NaturalModel, dict[str, str]]:
        """Return the model with joints driven, at rest where they are, and the names of their coordinates in it."""
        described = self.model.system.copy()
        made = {name: described.drive(name, position=0.0) for name in joints}
        compiled = described.compile()
        q = _same_position(self.model, compiled, self.start)
        for name, drive in made.items():
            place = compiled.q_slice(drive.connection.name).start + drive.coordinate
            described.drive(name, position=float(q[place]))
        other = natural_model(described, dimension=3 if self.plane is None else 2, q=q)
        kinds = {name: ("turn", "slide")[drive.connection.element.speed_units[drive.coordinate] == "m"]
                 for name, drive in made.items()}  # fmt: skip
        return other, {name: f"{made[name].connection.name}.{kind}" for name, kind in kinds.items()}

    def dynamics(self, forces: Any = None) -> NaturalDynamics:
        """Return the equations of motion, with the system's gravity.

        Elements and dampers of joints act with the forces that they have in joint coordinates; states of elements are
        integrated with the motion (`motion.x`).

        Raises
        ------
        ModelError
            If joints have friction, stops or drive trains: they have no natural form here.
        """
        damped = False
        for name, connection in self.model.system.connections.items():
            damped |= bool(np.any(getattr(connection.element, "damping", None) or 0.0))
            for what in ("friction", "load_friction", "armature", "lower", "upper"):
                value = getattr(connection.element, what, None)
                if value is not None and (what in ("lower", "upper") or np.any(value)):
                    raise ModelError(f"joint {name!r}", what, value, _NO_FORM[what])
        g = np.asarray(self.model.system.gravity, dtype=float)
        pushed: Any = forces
        if self.model.system.forces or damped:
            pushed = JointForces(self, forces)
        return self.mechanism.dynamics(g if self.plane is None else self.plane.T @ g, pushed)

    def coordinates_of(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Array:
        """Return natural coordinates (n,) for joint coordinates q; with v their rates, with v and a their second rates.

        Angles are within half a turn of those described.
        """
        return np.asarray(self.all_coordinates_of(q, v, a)[self.equations()._unknown], dtype=float)

    def all_coordinates_of(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Array:
        """Return the same for all coordinates (N,), fixed and driven ones too."""
        e = self.equations()
        bodies = {name: _Moving.of(self.model, name, q, v, a) for name in self.mechanism.bodies}
        bodies[GROUND] = _Moving(np.eye(3), *np.zeros((5, 3)))
        order = 0 if v is None else 1 if a is None else 2
        found = []
        for c in e.coordinates:
            if c.name in self._homes:
                body, local, point = self._homes[c.name]
                x = bodies[body].vector(local, point=point)[order]
                found.append(x if self.plane is None else self.plane.T @ x)
            elif c.fixed:
                found.append(c.value if not order else np.zeros_like(c.value))
            else:
                joint, _, kind = c.name.rpartition(".")
                found.append(np.atleast_1d(self._of_joint(joint, kind, bodies, order, c.value)))
        return np.concatenate(found)

    def _of_joint(self, name: str, kind: str, bodies: dict[str, _Moving], order: int, described: Array) -> Array:
        """Return the angle or the slide of a joint, or a rate of it."""
        connection = self.model.system.connections[name]
        element: Any = connection.element
        first, second = (bodies[end.body.name] for end in (connection.first, connection.second))
        p, q = (
            m.vector(end.position, point=True) for m, end in ((first, connection.first), (second, connection.second))
        )
        d = [y - x for x, y in zip(p, q, strict=True)]
        u = first.vector(connection.first.rotation @ element.frame()[:, 2], point=False)
        if kind == "slide":
            return np.asarray(
                [d[0] @ u[0], d[1] @ u[0] + d[0] @ u[1], d[2] @ u[0] + 2 * d[1] @ u[1] + d[0] @ u[2]][order]
            )
        if order:
            turn = (second.w - first.w, second.alpha - first.alpha)
            return np.asarray([turn[0] @ u[0], turn[1] @ u[0] + turn[0] @ u[1]][order - 1])
        R = first.R @ connection.first.rotation
        angle = element.coordinates_of(R.T @ second.R @ connection.second.rotation, R.T @ d[0])
        angle = angle[element.coordinates.index("angle")]
        return np.asarray(angle + 2 * np.pi * np.round((described - angle) / (2 * np.pi)))

    def pose(self, body: str, q: ArrayLike, t: float = 0.0) -> tuple[Array, Array]:
        """Return rotation (dim, dim) and position (dim,) of a body's frame, from natural coordinates q (n,).

        In the plane, the rotation is from how the body lay when it was converted.
        """
        return self._pose(body, self.equations().all_values(np.asarray(q, dtype=float), t))

    def world_pose(self, body: str, X: Array) -> tuple[Array, Array]:
        """Return rotation (3, 3) and position (3,) of a body's frame in space, from all coordinates X (N,)."""
        R, p = self._pose(body, X)
        if self.plane is None:
            return R, p
        home = self.model.pose(body, self.start)
        n = np.cross(*self.plane.T)
        whole = self.plane @ R @ self.plane.T + np.outer(n, n)
        return whole @ home.rotation, self.plane @ p + n * float(n @ home.position)

    def _pose(self, body: str, X: Array) -> tuple[Array, Array]:
        e = self.equations()
        values = {c.name: X[e.place(c.name) : e.place(c.name) + len(c.value)] for c in e.coordinates}
        frame = self.mechanism.bodies[body].frame
        if self.plane is None:
            R = np.array([d.value(values) for d in frame.base]).T @ np.linalg.inv(frame.columns)
        else:
            d, c = frame.base[0].value(values), frame.columns[:, 0]
            cosine, sine = float(c @ d) / float(c @ c), float(c[0] * d[1] - c[1] * d[0]) / float(c @ c)
            R = np.array([[cosine, -sine], [sine, cosine]])
        assert frame.origin is not None
        return R, np.asarray(values[frame.origin] - R @ frame.origin_at)


def _same_position(old: Model, new: Model, q: Array) -> Array:
    """Return a position in the coordinates of another spanning tree of the same system."""
    poses = {name: old.pose(name, q) for name in old.body_names}
    found = np.empty(new.nq)
    for joint in new.forest.joints:
        ends = (joint.inboard, joint.outboard) if not joint.reversed else (joint.outboard, joint.inboard)
        frames = []
        for m in ends:
            R, p = (np.eye(3), np.zeros(3)) if m.body.name == GROUND else poses[m.body.name]
            frames.append((R @ m.rotation, p + R @ m.position))
        (R1, p1), (R2, p2) = frames
        found[new.q_slice(joint.name)] = joint.element.coordinates_of(R1.T @ R2, R1.T @ (p2 - p1))
    return found


def natural_model(system: System, *, dimension: int | None = None, q: ArrayLike | None = None) -> NaturalModel:
    """Describe a system of rigid bodies in natural coordinates.

    Parameters
    ----------
    system : System
        With joints of the library, distances, drives of single coordinates, and no other constraints.
    dimension : int
        2 or 3; if left out, 2 wherever all joints move in one plane.
    q : (nq,)
        A closed configuration, near which positions are looked for; assembled if left out.

    Raises
    ------
    ModelError
        If the system has parts that have no natural form here.
    """
    model = system.compile()
    _refuse(system, model)
    at = assemble(model).q if q is None else np.asarray(q, dtype=float)
    plane = plane_of(system, model, at, dimension)
    builder = MechanismBuilder(system, model, at, plane)
    return NaturalModel(builder.build(), model, plane, builder.homes, at)


def _refuse(system: System, model: Model) -> None:
    known = (Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Screw, Spherical, Universal, Distance)
    if model.flexible_names:
        remedy = f"{model.flexible_names[0]!r} is flexible, points are not: use form='relative', or a rigid body"
        raise ModelError("compile", "form", "natural", remedy)
    for name, connection in system.connections.items():
        if type(connection.element) not in known:
            kind = type(connection.element).__name__
            raise ModelError(
                f"connection {name!r}", "form", "natural",
                f"{kind} has none: use form='relative', or describe it by hand with rows of da.natural.Mechanism",
            )  # fmt: skip
    for name, coupling in system.couplings.items():
        if not isinstance(coupling.element, Coupling):
            kind = type(coupling.element).__name__
            raise ModelError(
                f"coupling {name!r}", "form", "natural",
                f"{kind} has none, rows here are linear in angles and slides: use form='relative', or a Coupling",
            )  # fmt: skip
    for name, drive in system.drives.items():
        if not isinstance(drive, Drive) or drive.level:
            remedy = "positions of single coordinates are driven here: give position=, or use form='relative'"
            raise ModelError(f"drive {name!r}", "form", "natural", remedy)
