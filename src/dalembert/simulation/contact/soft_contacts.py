"""Compliant contact of a run: models without it, pairs that rigid models leave to it, and its contact points.

Compliant contacts are elements of the model (`compile/contact_elements.py`): every analysis includes them. A stiffness
of zero turns one off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import _core
from ...arrays import Array, BoolArray, IndexArray
from ...compile.contact_elements import CONTACT_PARAMETERS, SoftPair
from ...model import Model
from ...result.contact_points import SLIDES, ContactExchanges, ContactPoints

if TYPE_CHECKING:
    from ...result import Result

__all__ = ["SoftContacts", "soft_exclusions", "without_soft_contacts"]

QUADRATURE_POINTS = 4  # in a step: exact for polynomials of degree 7


def soft_pairs(model: Model) -> list[SoftPair]:
    """Return the compliant contacts of pairs of shapes of a model."""
    return model.family.compiled.elements.soft_pairs


def without_soft_contacts(model: Model) -> Model:
    """Return the model with all compliant contacts turned off."""
    rows = sorted({pair.parameter for pair in soft_pairs(model)})
    if not rows:
        return model
    numbers = np.array(model.parameters)
    numbers[rows] = 0.0
    return model.with_parameters(numbers)


def soft_exclusions(model: Model) -> IndexArray:
    """Return contact and bodies (k, 3), the smaller number first, of pairs with a compliant contact."""
    tables = model.contacts
    if tables is None:
        return np.zeros((0, 3), dtype=np.int64)
    bodies = tables.bodies
    rows = {(p.contact, *sorted(bodies[list(p.shapes)].tolist())) for p in soft_pairs(model)}
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)


class SoftContacts:
    """Contact points of the compliant contacts of a run.

    Parameters
    ----------
    model : Model
        With the parameters of the run.
    """

    has_shares = True
    has_state_loads = False
    adds_loss = False

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def sources(cls, model: Model) -> tuple[SoftContacts, ...]:
        """Return the source of a run; none if no contact is compliant, or all are turned off."""
        acts = any(model.parameters[pair.parameter] for pair in soft_pairs(model))
        return (cls(model),) if acts else ()

    def points(self, t: Array, q: Array, v: Array, x: Array) -> ContactPoints:
        """Return the points that carry load at times t (k,) s and states q (k, nq), v (k, nv), x (k, nx)."""
        return self._evaluate(q, v, x)[0]

    def efforts(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return zeros (k, nv): stops and friction of joints are not part of compliant contact."""
        return np.zeros((len(v), 1))

    def cut_loads(self, t: Array, q: Array, v: Array, x: Array) -> Array | None:
        """Return None: there are none."""
        return None

    def stuck(self, t: Array, v: Array) -> BoolArray:
        """Return nothing: stops and friction of joints are not part of compliant contact."""
        return np.zeros((len(v), 1), dtype=bool)

    def exchanges(self, result: Result) -> ContactExchanges:
        """Return impulses and losses of every step, by Gauss's quadrature."""
        times = np.unique(np.concatenate([result.t[[0, -1]], result.step_times])) if len(result.t) else result.t
        times = times[(times >= result.t[0]) & (times <= result.t[-1])] if len(result.t) else times
        if len(times) < 2:
            return ContactExchanges.none()
        nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_POINTS)
        h = np.diff(times)
        at = (times[:-1, None] + h[:, None] * (nodes + 1.0) / 2.0).ravel()
        points, damped, friction = self._evaluate(*result._states(at))
        step = points.time // QUADRATURE_POINTS
        share = h[step] * weights[points.time % QUADRATURE_POINTS] / 2.0
        rubbed = np.where(points.state == SLIDES, friction * points.slip, 0.0)
        return ContactExchanges(
            times[step],
            times[step + 1],
            points.contact,
            points.shapes,
            points.force * share[:, None],
            rubbed * share,
            damped * share,
        )

    def _evaluate(self, q: Array, v: Array, x: Array) -> tuple[ContactPoints, Array, Array]:
        """Return the points at states, the power, W, that the damping of each dissipates, and its friction, N."""
        model, tables = self.model, self.model.contacts
        assert tables is not None
        frames = _ShapeFrames(model, q, v)
        parts, losses = [], []
        for pair in soft_pairs(model):
            i, j = pair.shapes[::-1] if pair.exchanged else pair.shapes
            near = np.flatnonzero(frames.may_touch(i, j))
            if not len(near):
                continue
            numbers = model.parameters[pair.parameter : pair.parameter + len(CONTACT_PARAMETERS)]
            R, p, pose, motion = frames.relative(i, j, near)
            names, found, _ = _core.soft_contact_points(
                tables.shapes[i].convex.solid,
                tables.shapes[j].convex.solid,
                np.array([pair.factor, pair.tangential, pair.mass]),
                np.ascontiguousarray(np.tile(numbers, (len(near), 1))),
                pose,
                motion,
                np.ascontiguousarray(x[near, pair.states]),
            )
            if not len(names):
                continue
            own = names[:, 0].astype(np.int64)
            sign = -1.0 if pair.exchanged else 1.0
            axes = R[own]
            parts.append(
                ContactPoints(
                    near[own],
                    np.full(len(own), pair.contact, dtype=np.int64),
                    np.tile(np.array(pair.shapes, dtype=np.int64), (len(own), 1)),
                    p[own] + np.einsum("nij,nj->ni", axes, found[:, :3]),
                    sign * np.einsum("nij,nj->ni", axes, found[:, 3:6]),
                    sign * np.einsum("nij,nj->ni", axes, found[:, 6:9]),
                    found[:, 9],
                    found[:, 10],
                    names[:, 1].astype(np.int64),
                )
            )
            losses.append(found[:, 11:13])
        if not parts:
            return ContactPoints.none(), np.zeros(0), np.zeros(0)
        order = np.argsort(np.concatenate([part.time for part in parts]), kind="stable")
        whole = ContactPoints.joined(parts)
        damped, friction = np.concatenate(losses)[order].T
        return whole, damped, friction


class _ShapeFrames:
    """Poses and velocities of shapes at states."""

    def __init__(self, model: Model, q: Array, v: Array) -> None:
        tables = model.contacts
        assert tables is not None
        self.shapes, self.count = tables.shapes, len(q)
        self.R, self.p = model.poses(q)
        self.model, self.q, self.v = model, q, v
        self._velocities: dict[int, Array] = {}

    def frame(self, k: int) -> tuple[Array, Array]:
        """Return axes (n, 3, 3) and origin (n, 3) of a shape in the world."""
        shape = self.shapes[k]
        if not shape.body:
            R = np.broadcast_to(shape.convex.rotation, (self.count, 3, 3))
            return R, np.broadcast_to(shape.convex.position, (self.count, 3))
        R, p = self.R[:, shape.body - 1], self.p[:, shape.body - 1]
        return R @ shape.convex.rotation, p + R @ shape.convex.position

    def velocity(self, k: int) -> Array:
        """Return angular velocity and velocity of the origin (n, 6) of a shape, world axes."""
        shape = self.shapes[k]
        if not shape.body:
            return np.zeros((self.count, 6))
        if shape.body not in self._velocities:
            self._velocities[shape.body] = self.model.velocity(shape.name, self.q, self.v)
        body = self._velocities[shape.body]
        arm = self.frame(k)[1] - self.p[:, shape.body - 1]
        return np.concatenate([body[:, :3], body[:, 3:] + np.cross(body[:, :3], arm)], axis=1)

    def may_touch(self, i: int, j: int) -> Array:
        """Return the mask (n,) of states at which the balls around two shapes meet; j is no half space."""
        one, two = self.frame(i), self.frame(j)
        reach = self.shapes[j].convex.reach
        away = two[1] - one[1]
        if np.isinf(self.shapes[i].thickness):
            return np.asarray((one[0][:, :, 2] * away).sum(axis=1) <= reach)
        return np.asarray(np.linalg.norm(away, axis=1) <= reach + self.shapes[i].convex.reach)

    def relative(self, i: int, j: int, rows: IndexArray) -> tuple[Array, Array, Array, Array]:
        """Return the frame of shape i, and pose (k, 12) and motion (k, 6) of shape j in it, at some states."""
        (R, p), (S, s) = ((A[rows], a[rows]) for A, a in (self.frame(i), self.frame(j)))
        one, two = self.velocity(i)[rows], self.velocity(j)[rows]
        apart = s - p
        turn = np.einsum("nji,nj->ni", R, two[:, :3] - one[:, :3])
        move = np.einsum("nji,nj->ni", R, two[:, 3:] - one[:, 3:] - np.cross(one[:, :3], apart))
        axes = np.swapaxes(R, 1, 2) @ S
        place = np.einsum("nji,nj->ni", R, apart)
        pose = np.concatenate([axes.reshape(-1, 9), place], axis=1)
        return R, p, np.ascontiguousarray(pose), np.ascontiguousarray(np.concatenate([turn, move], axis=1))
