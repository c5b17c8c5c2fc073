"""Impulse equations of one state: rows, contacts, multipliers and efforts.

Equation numbers are those of `impact`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..closure.relative_pose import RelativeMotion, joint_pose_error, joint_speeds, relative
from ..connections.connection import Connection
from ..connections.joints import Joint
from ..errors import ModelError, SingularityError
from ..model import Model
from .contact import Contact, collide
from .impulse_request import AppliedImpulse, ImpulseRequest, VelocitySelection
from .velocity_jump_solver import VelocityJumpSolver

__all__ = ["ImpulseState", "TransmittedLoad"]


_ITEM = "impulse"
CLOSURE_TOL = 1e-6  # scaled residual up to which a configuration counts as closed


@dataclass(frozen=True, eq=False)
class TransmittedLoad:
    """A load between two markers: F (6,) on the second about its origin, in axes of the first."""

    motion: RelativeMotion
    load: Array
    connection: str | None = None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Equations between two markers, k of them.

    Attributes
    ----------
    name : str
        In errors, and of the effort of a lock.
    connection : str or None
        Connection whose reaction includes their impulses.
    motion : RelativeMotion
    loads : (k, 6)
        Of unit impulses, on the second marker, in axes of the first; also the rows on the relative velocity.
    is_lock : bool
    """

    name: str
    connection: str | None
    motion: RelativeMotion
    loads: Array
    is_lock: bool = False

    @property
    def jacobian(self) -> Array:
        """Rows on v, (k, nv)."""
        return self.loads @ self.motion.jacobian

    def passed(self, lam: Array) -> TransmittedLoad:
        """Return the load of impulses lam (k,)."""
        return TransmittedLoad(self.motion, self.loads.T @ lam, self.connection)


class ImpulseState:
    """One configuration with its velocities, applied impulses and rows.

    applied, contact_impulse : (nv,)
        Generalized impulse applied, and that of contacts.
    after : (nv,)
        Velocities after.
    jump, rows : (nv,), (nc,)
        Jumps of the prescribed velocities, and of the rates of the constraint rows.
    """

    def __init__(self, request: ImpulseRequest, q: Array, v: Array, tau: Array, number: int) -> None:
        self.request, self.q, self.v = request, q, v
        model = request.model
        self.applied, self.on_bodies, self.loads = tau.copy(), np.zeros((model.nb, 6)), list[TransmittedLoad]()
        for a in request.applied:
            self._apply(a, a.values[min(number, len(a.values) - 1)])
        speeds = np.where(np.isnan(request.speeds), v, request.speeds)
        self.jump = np.where(request.given, speeds - v, 0.0)
        self.rows = np.zeros(0)
        self.P = np.zeros((0, model.nv))
        if model.nc:
            self._check_closed()
            self.P = model.constraint_jacobian(q, t=request.t)
            self.rows = request.loops.velocity_terms(q) - self.P @ v
        self.further = [_speed_rows(model, lock, q) for lock in request.locks if lock.loop_constraint]
        self.further += [_closing_rows(model, c, q) for c in request.closing]
        self.touches: list[tuple[Any, ...]] = []
        self.contact_impulse = np.zeros(model.nv)
        self.after = v

    def _apply(self, a: AppliedImpulse, value: Array) -> None:
        model = self.request.model
        if isinstance(a.where, VelocitySelection):
            if a.where.loop_constraint is None:
                self.applied[a.where.columns] += value
                return
            rows = _speed_rows(model, a.where, self.q)
            self.loads.append(rows.passed(value))
            self.applied += value @ rows.jacobian
            return
        pose = model.pose(a.where, self.q)
        load6 = np.concatenate([np.zeros(6 - len(value)), value])
        if a.in_marker:
            load6 = np.concatenate([pose.rotation @ load6[:3], pose.rotation @ load6[3:]])
        self.applied += model.jacobian(a.where, self.q).T @ load6
        number = model.forest.number[a.where.body.name]
        arm = pose.position - model.pose(a.where.body, self.q).position
        load6[:3] += np.cross(arm, load6[3:])
        self.on_bodies[number - 1] += load6

    def _check_closed(self) -> None:
        model, loops = self.request.model, self.request.loops
        gap = np.where(model.holonomic, np.abs(loops.residual(self.q)), 0.0)
        self.opening = float(gap.max())
        if self.opening > CLOSURE_TOL:
            worst = int(gap.argmax())
            amount = gap[worst] / loops.row_scales[worst]
            raise ModelError(
                _ITEM,
                f"{model.constraint_names[worst]} at q",
                f"{amount:.3g} {loops.units[worst]}",
                "only velocities may be inconsistent; close the loops with da.assemble first",
            )

    def respond(self) -> None:
        """Solve for the velocities after all impulses: rows and held velocities together, then the contacts."""
        request, model, q, v = self.request, self.request.model, self.q, self.v
        G = np.vstack([np.zeros((0, model.nv)), *(rows.jacobian for rows in self.further)])
        jumps = VelocityJumpSolver(model, q, request.given, np.vstack([self.P, G]))
        target = np.concatenate([self.rows, -G @ v])
        dv = jumps.respond(self.applied[None], self.jump[None], target[None])[0]
        if request.contacts:
            dv = dv + self._collide(jumps, v + dv)
        self.after = v + dv
        self.after[request.given] = (v + self.jump)[request.given]

    def _collide(self, jumps: VelocityJumpSolver, v_1: Array) -> Array:
        """Return the velocity jump of the contacts, from the velocities v_1 after all other impulses."""
        request, model = self.request, self.request.model
        contacts = [_contact_rows(model, c, self.q) for c in request.contacts]
        C = np.vstack([rows.jacobian for rows in contacts])
        Z = jumps.respond(C)
        D = 0.5 * (C @ Z.T + Z @ C.T)
        held = np.diagonal(D) <= 1e-11 * self._sizes(contacts)  # no motion along these
        D[held] = D[:, held] = 0.0
        u = (C @ v_1).reshape(-1, 3)
        floor = 1e-12 * float((np.abs(C) @ (np.abs(self.v) + np.abs(v_1))).max())
        lam = collide(D, u, request.contacts, floor)
        self.contact_impulse = lam.ravel() @ C
        added: Array = lam.ravel() @ Z
        v_2 = (C @ (v_1 + added)).reshape(-1, 3)
        for r, c, L, u_0, u_2 in zip(contacts, request.contacts, lam, u, v_2, strict=True):
            self.loads.append(r.passed(L))
            axes = r.motion.axes @ c.axes()
            slides = np.linalg.norm(u_2[:2]) > 1e-9 * np.abs(u).max()
            state = "open" if L[2] <= 0 else "smooth" if not c.friction else "sliding" if slides else "sticking"
            self.touches.append((axes @ L, L[2], u_0[2], u_2[2], axes[:, :2] @ u_2[:2], state))
        return added

    def _admittance(self) -> Array:
        """Return the velocity jump for a unit impulse along each velocity with all others locked, 1 / M_jj (nv,)."""
        inertia = self.request.model.composite_inertias(self.q)
        return np.divide(1.0, inertia, out=np.zeros_like(inertia), where=inertia > 0.0)

    def _sizes(self, further: list[_Rows]) -> Array:
        """Return the approximate response of each row to its unit impulse without constraints: g M_jj^-1 g."""
        moved = self._admittance()
        sizes = [(np.abs(rows.loads) @ rows.motion.terms) ** 2 @ moved for rows in further]
        size: Array = np.concatenate([np.zeros(0), *sizes])
        return np.where(size > 0.0, size, 1.0)

    def finish(self) -> tuple[Array, dict[str, Array]]:
        """Check that the velocities satisfy all rows, and return multipliers and efforts by name."""
        model, request = self.request.model, self.request
        G = [rows.jacobian for rows in self.further]
        self._check_satisfied(G)
        # impulses of rows, prescribed velocities and further rows balance the rest
        rest = model.mass_matrix(self.q) @ (self.after - self.v) - self.applied - self.contact_impulse
        given = np.flatnonzero(request.given)
        E = np.zeros(model.nv)
        lam, lam_G = np.zeros(model.nc), np.zeros(sum(map(len, G)))
        if model.nc or G:
            columns = np.vstack([self.P, np.eye(model.nv)[given], *G])
            shares = np.linalg.lstsq(columns.T, rest, rcond=1e-11)[0]
            lam, E[given], lam_G = np.split(shares, [model.nc, model.nc + len(given)])
        else:
            E[given] = rest[given]
        efforts = {name: E[columns] for name, columns in request.efforts.items()}
        for drive in model.drives:
            if drive not in model.joint_drives:
                row = model.constraint_connections.index(drive.connection.name) + drive.coordinate
                efforts[drive.name] = lam[[row]]
        ends = np.cumsum([len(g) for g in G])
        for rows, mine in zip(self.further, np.split(lam_G, ends[:-1]), strict=False):
            if rows.is_lock:
                efforts[rows.name] = mine
            self.loads.append(rows.passed(mine))
        return lam, efforts

    def _check_satisfied(self, G: list[Array]) -> None:
        """Raise an error for locks, drives and loops that contradict each other."""
        request, model = self.request, self.request.model
        names = [*model.constraint_names, *(rows.name for rows in self.further for _ in rows.loads)]
        every = np.vstack([self.P, *G])
        if not len(every):
            return
        target = np.concatenate([request.loops.velocity_terms(self.q), np.zeros(len(every) - model.nc)])
        missed = np.abs(every @ self.after - target)
        parts = np.vstack([np.abs(self.P), *(np.abs(rows.loads) @ rows.motion.terms for rows in self.further)])
        speeds = np.abs(self.after) + np.abs(self.v) + self._admittance() * np.abs(self.applied + self.contact_impulse)
        terms = parts @ speeds + np.abs(target)
        # rounding spreads between rows: no scale is much smaller than the largest
        size = np.maximum(terms, 1e-3 * terms.max())
        tolerance = 1e-8 + (100 * self.opening if model.nc else 0.0)
        worst = int((missed / np.maximum(size, 1e-300)).argmax())
        if missed[worst] > tolerance * size[worst]:
            held = [lock.name for lock in request.locks] + [c.name for c in request.closing]
            held += [drive.name for drive in model.drives]
            raise SingularityError(
                f"{_ITEM}: {', '.join(map(repr, held)) or 'the rows'} and the loops contradict each other: "
                f"{names[worst]!r} has a rate error of {missed[worst]:.3g}; lock or drive fewer of "
                "them, or remove the connection"
            )


# ---- rows between markers


def _speed_rows(model: Model, speeds: VelocitySelection, q: Array) -> _Rows:
    """Return the rows of velocities of a cut joint."""
    loop_constraint = speeds.loop_constraint
    assert loop_constraint is not None and isinstance(loop_constraint.element, Joint)
    motion = relative(model, loop_constraint.first, loop_constraint.second, q)
    still = np.zeros(model.nv)
    at = model.cut_motion(q, still, still)[0][model.compiled.names.cut_q[loop_constraint.name]]
    return _Rows(
        speeds.name, loop_constraint.name, motion, joint_speeds(loop_constraint.element, at)[speeds.columns], True
    )


def _closing_rows(model: Model, connection: Connection, q: Array) -> _Rows:
    """Return the constraint rows of a closing joint."""
    joint = connection.element
    assert isinstance(joint, Joint)
    motion = relative(model, connection.first, connection.second, q)
    at = joint.coordinates_of(motion.rotation, motion.position)
    gap = joint_pose_error(joint, at, motion)
    if gap > CLOSURE_TOL * max(1.0, float(np.abs(motion.position).max())):
        raise ModelError(
            f"{_ITEM}: close {connection.name!r}",
            "gap",
            f"{gap:.3g} m or rad",
            "its markers do not satisfy the joint; close it where they do",
        )
    forbidden = np.linalg.qr(joint.motion(at), mode="complete")[0][:, joint.nv :].T if joint.nv else np.eye(6)
    return _Rows(connection.name, connection.name, motion, forbidden)


def _contact_rows(model: Model, contact: Contact, q: Array) -> _Rows:
    """Return the rows of a contact: two tangential, one normal."""
    assert isinstance(contact.first, Marker) and isinstance(contact.second, Marker)
    motion = relative(model, contact.first, contact.second, q)
    return _Rows(contact.name, None, motion, np.hstack([np.zeros((3, 3)), contact.axes().T]))
