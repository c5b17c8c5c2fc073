"""Conversion of a system of bodies and joints to natural coordinates.

Force elements are evaluated in joint coordinates q. With X' = T v for velocities v = N z that satisfy the loop
constraints, generalised forces Q of natural coordinates have the same virtual power if

    (T N)^T Q = N^T tau                                                                                              (1)

The solution of least norm is used. The choice is irrelevant: the constraint equations take up the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..closure import RelativeEquations, assemble
from ..closure.assembly import given_coordinates
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
from ..model.argument_errors import checked_configuration
from ..model.state import StateLike
from ..numerics.rank import STEP_RANK_TOL, null_space
from ..system import System
from ..system.lookup import connection_and_part
from .dynamics import NaturalDynamics
from .equations import NaturalEquations
from .mechanism import Mechanism
from .mechanism_builder import GROUND, MechanismBuilder, plane_of
from .motion import NaturalMotion

__all__ = ["NaturalModel", "natural_model"]

_DRY = "dry friction needs da.simulate(system): here, leave it out or use smooth damping="
_NO_FORM = {
    "friction": _DRY,
    "load_friction": _DRY,
    "lower": "stops need da.simulate(system): here, leave them out",
    "upper": "stops need da.simulate(system): here, leave them out",
    "armature": "inertia of a joint has no natural form: use da.simulate(system), or give it to a geared body",
}
PointOwners = dict[str, tuple[str, Array, bool]]


@dataclass(frozen=True, eq=False)
class _BodyMotion:
    """Orientation, angular velocity and acceleration of a body; position, velocity, acceleration of its origin."""

    R: Array
    w: Array
    alpha: Array
    x: Array
    v: Array
    a: Array

    @classmethod
    def of(cls, model: Model, name: str, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None) -> _BodyMotion:
        pose = model.pose(name, q)
        V = np.zeros(6) if v is None else model.velocity(name, q, v)
        A = np.zeros(6) if v is None or a is None else model.acceleration(name, q, v, a)
        return cls(pose.rotation, V[:3], A[:3], pose.position, V[3:], A[3:])

    def vector(self, local: Array, *, point: bool) -> tuple[Array, Array, Array]:
        """Return a vector or point (3,) fixed in the body, with its first two rates, in the world."""
        r = self.R @ local
        rates = (r, np.cross(self.w, r), np.cross(self.alpha, r) + np.cross(self.w, np.cross(self.w, r)))
        if not point:
            return rates
        return rates[0] + self.x, rates[1] + self.v, rates[2] + self.a


class NaturalModel:
    """System in natural coordinates.

    Attributes
    ----------
    mechanism : Mechanism
        Points, vectors and rows, with the drives and masses of the system.
    model : Model
        The same system in joint coordinates.
    plane : (3, 2) or None
        Axes of the plane in which a planar system is described; None in space.
    """

    def __init__(self, mechanism: Mechanism, model: Model, plane: Array | None, homes: PointOwners, q: Array) -> None:
        self.mechanism, self.model, self.plane, self.start = mechanism, model, plane, q
        self._homes = homes

    def equations(self) -> NaturalEquations:
        """Return the constraint equations."""
        return self.mechanism.equations()

    def motion(self, times: ArrayLike, q: ArrayLike | None = None, **options: Any) -> NaturalMotion:
        """Follow the drives through times (k,) s; see `Mechanism.motion`."""
        return self.mechanism.motion(times, q, **options)

    def kinematics(self, *, drive: str | Mapping[str, ArrayLike] | None = None, **options: Any) -> NaturalMotion:
        """Return the motion for the drives, or for coordinates through values; see `dalembert.kinematics`.

        Joints can be driven as well as coordinates of the mechanism; then their angles or slides become coordinates.
        """
        known = {
            name for c in self.mechanism.coordinates.values() if c.kind in ("angle", "distance") for name in c.names
        }
        names = [] if drive is None else [drive] if isinstance(drive, str) else list(drive)
        joints = [name for name in names if name not in known and self._is_joint(name)]
        if not joints:
            return self.mechanism.kinematics(drive=drive, **options)
        other, named = self._with_driven(joints)
        if isinstance(drive, str):
            return other.mechanism.kinematics(drive=named[drive], **options)
        assert drive is not None
        return other.mechanism.kinematics(drive={named.get(k, k): x for k, x in drive.items()}, **options)

    def _is_joint(self, name: str) -> bool:
        connection, _ = connection_and_part(self.model.system, name)
        return connection is not None and isinstance(connection.element, Joint)

    def _with_driven(self, joints: list[str]) -> tuple[NaturalModel, dict[str, str]]:
        """Return the model with joints driven at their present values, and the names of their coordinates in it."""
        described = self.model.system.copy()
        made: dict[str, Any] = {name: described.drive(name, position=0.0) for name in joints}
        compiled = described.compile()
        poses = {name: self.model.pose(name, self.start) for name in self.model.body_names}
        q = _tree_coordinates(compiled, {**poses, GROUND: (np.eye(3), np.zeros(3))})
        for name, drive in made.items():
            place = compiled.q_slice(drive.connection.name).start + drive.coordinate
            described.drive(name, position=float(q[place]))
        other = natural_model(described, dimension=3 if self.plane is None else 2, state=q)
        kinds = {name: ("turn", "slide")[drive.connection.element.speed_units[drive.coordinate] == "m"]
                 for name, drive in made.items()}  # fmt: skip
        return other, {name: f"{made[name].connection.name}.{kind}" for name, kind in kinds.items()}

    def dynamics(self, forces: Any = None) -> NaturalDynamics:
        """Return the equations of motion, with the system's gravity.

        Force elements and joint damping are evaluated in joint coordinates, (1); states of force elements are
        integrated with the motion (`motion.x`).

        Raises
        ------
        ModelError
            If joints have dry friction, stops or armature inertia, which have no natural form.
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

        Angles are within 180 degrees of the described ones.
        """
        return np.asarray(self.all_coordinates_of(q, v, a)[self.equations()._unknown], dtype=float)

    def all_coordinates_of(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Array:
        """Return `coordinates_of` for all coordinates (N,), fixed and driven ones too."""
        e = self.equations()
        bodies = {name: _BodyMotion.of(self.model, name, q, v, a) for name in self.mechanism.bodies}
        bodies[GROUND] = _BodyMotion(np.eye(3), *np.zeros((5, 3)))
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

    def _of_joint(self, name: str, kind: str, bodies: dict[str, _BodyMotion], order: int, described: Array) -> Array:
        """Return the angle or the displacement of a joint, or a rate of it."""
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

        In the plane the rotation is relative to the orientation at conversion.
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
        return self.mechanism.bodies[body].frame.pose(self.equations().by_name(X))


def _tree_coordinates(model: Model, poses: Mapping[str, tuple[Array, Array]]) -> Array:
    """Return q (nq,) of the tree joints of a model, from rotations and positions of its bodies."""
    q = np.empty(model.nq)
    for joint in model.forest.joints:
        ends = (joint.inboard, joint.outboard) if not joint.reversed else (joint.outboard, joint.inboard)
        (R1, p1), (R2, p2) = (
            (R @ m.rotation, p + R @ m.position) for m, (R, p) in ((m, poses[m.body.name]) for m in ends)
        )
        q[model.q_slice(joint.name)] = joint.element.coordinates_of(R1.T @ R2, R1.T @ (p2 - p1))
    return q


class JointForces:
    """Generalised forces (N,) of force elements and joint damping, given t, all coordinates and their rates.

    Attributes
    ----------
    starts : (nx,)
        Initial states of the force elements.
    """

    def __init__(self, natural: NaturalModel, more: Callable[[float, Array, Array], Any] | None) -> None:
        self.natural, self.more = natural, more
        self.loops = RelativeEquations(natural.model, driven=False)
        self.q = np.asarray(natural.start, dtype=float)  # the last position, for the number of turns
        self.starts = np.array(natural.model.element_start_values(), dtype=float)

    def __call__(self, t: float, X: Array, V: Array, x: Array | None = None) -> Array:
        model = self.natural.model
        q, v, T, P = self._motion(t, X, V)
        N = null_space(P, STEP_RANK_TOL, 0.0)
        tau = model.bias_forces(q, v, bare=True) - model.bias_forces(q, v, t=t, x=self.starts if x is None else x)
        Q = np.linalg.lstsq((T @ N).T, N.T @ tau, rcond=None)[0]
        if self.more is not None:
            Q = Q + np.asarray(self.more(t, X, V), dtype=float)
        return np.asarray(Q)

    def _motion(self, t: float, X: Array, V: Array) -> tuple[Array, Array, Array, Array]:
        """Return q (nq,), v (nv,), T (N, nv) and the Jacobian P of the loop constraints."""
        q = self.joint_coordinates(X)
        T = np.array([self.natural.all_coordinates_of(q, e) for e in np.eye(self.natural.model.nv)]).T
        P, drift = self.loops.jacobian(q, t), self.loops.velocity_terms(q, t)
        v = np.linalg.lstsq(np.vstack([T, P]), np.concatenate([V, drift]), rcond=None)[0]
        return q, v, T, P

    def state_rates(self, t: float, X: Array, V: Array, x: Array) -> Array:
        """Return the rates of the states of force elements, (nx,)."""
        q, v, _, _ = self._motion(t, X, V)
        return np.asarray(self.natural.model.dynamics(t, q, v, x).dx, dtype=float)

    def joint_coordinates(self, X: Array) -> Array:
        """Return q (nq,), with angles nearest to those of the last call."""
        model = self.natural.model
        poses = {name: self.natural.world_pose(name, X) for name in model.system.bodies}
        poses[GROUND] = (np.eye(3), np.zeros(3))
        q = _tree_coordinates(model, poses)
        for joint in model.forest.joints:
            start = model.q_slice(joint.name).start
            for k, name in enumerate(joint.element.coordinates, start=start):
                if name.startswith("angle"):
                    q[k] += 2 * np.pi * np.round((self.q[k] - q[k]) / (2 * np.pi))
        self.q = q
        return q


def natural_model(system: System, *, dimension: int | None = None, state: StateLike | None = None) -> NaturalModel:
    """Convert a system of rigid bodies to natural coordinates.

    Parameters
    ----------
    system : System
        With joints of the library, distances, drives of single coordinates, and no other constraints.
    dimension : int
        2 or 3; if left out, 2 wherever all joints move in one plane.
    state : State, dict of name to value, or (nq,) rad or m
        A closed configuration, near which the mechanism is assembled; assembled from the start if left out.

    Raises
    ------
    ModelError
        If the system has parts that cannot be converted.
    """
    model = system.compile()
    _refuse(system, model)
    q = given_coordinates(model, state, item="natural_model")
    at = assemble(model).q if q is None else checked_configuration(model, "natural_model", q)
    plane = plane_of(system, model, at, dimension)
    builder = MechanismBuilder(system, model, at, plane)
    return NaturalModel(builder.build(), model, plane, builder.homes, at)


def _refuse(system: System, model: Model) -> None:
    known = (Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Screw, Spherical, Universal, Distance)
    if model.flexible_names:
        remedy = f"{model.flexible_names[0]!r} is flexible: use form='relative', or a rigid body"
        raise ModelError("compile", "form", "natural", remedy)
    for name, connection in system.connections.items():
        if type(connection.element) not in known:
            kind = type(connection.element).__name__
            raise ModelError(
                f"connection {name!r}", "form", "natural",
                f"{kind} cannot be converted: use form='relative', or write its rows with da.natural.Mechanism",
            )  # fmt: skip
    for name, coupling in system.couplings.items():
        if not isinstance(coupling.element, Coupling):
            kind = type(coupling.element).__name__
            raise ModelError(
                f"coupling {name!r}", "form", "natural",
                f"{kind} cannot be converted, only linear relations can: use form='relative', or a Coupling",
            )  # fmt: skip
    for name, drive in system.drives.items():
        if not isinstance(drive, Drive) or drive.level:
            remedy = "only positions of single coordinates can be converted: give position=, or use form='relative'"
            raise ModelError(f"drive {name!r}", "form", "natural", remedy)
