"""Test systems for elements in the core: free bodies, or slides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..connections.elements.element import Element
from ..connections.joints import Prismatic
from ..rotation import axis_angle, quaternion_from_matrix
from ..system import System

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["Trial"]


class Trial:
    """Element between free bodies of unit mass and inertia, or at slides, at rows of inputs of its law.

    Parameters
    ----------
    element : Element
        Without outputs of other items as inputs.
    inputs : (n, len(element.takes))
        Time, measures, rates, states and parameters; rates of markers are recomputed.
    """

    def __init__(self, element: Element, inputs: Array, rng: np.random.Generator) -> None:
        self.element, self.inputs, self.rng = element, inputs, rng
        self.m, self.n = element.measures, len(element.states)
        self.model = self._model()
        self.x = inputs[:, 1 + 2 * self.m : 1 + 2 * self.m + self.n]

    def _model(self) -> Model:
        s = System("trial", gravity=(0, 0, 0))
        ports = len(self.element.each_measure)
        bodies = [s.body(f"body {k}", mass=1.0, inertia=(1, 1, 1)) for k in range(ports + 1)]
        if self.element.at_joint:
            for k, body in enumerate(bodies):
                s.connect(f"slide {k}", Prismatic("x"), s.ground, body)
            s.connect("element", self.element, *(f"slide {k}" for k in range(ports)))
        else:
            s.connect("element", self.element, *bodies)
        return s.compile()

    def state(self, row: int) -> tuple[Array, Array]:
        """Return q and v at which the element measures the values of a row of inputs."""
        given, rates = self.inputs[row, 1 : 1 + self.m], self.inputs[row, 1 + self.m : 1 + 2 * self.m]
        if self.element.at_joint:
            return np.append(given, 0.0), np.append(rates, 0.0)
        rng, first = self.rng, 0
        R, p = _rotation(rng.normal(size=3)), rng.normal(size=3)
        poses = [_free(R, p)]
        for kind in self.element.each_measure:
            if kind == "distance":
                direction, turn = rng.normal(size=(2, 3))
                position = given[first] * direction / np.linalg.norm(direction)
            else:
                position, turn = (
                    given[first : first + 3],
                    given[first + 3 : first + 6] if kind == "pose" else np.zeros(3),
                )
            first += {"distance": 1, "place": 3, "pose": 6}[kind]
            poses.append(_free(R @ _rotation(turn), p + R @ position))
        return np.concatenate(poses), rng.normal(size=6 * len(poses)) * np.abs(
            self.inputs[:, 1 + self.m :][:, : self.m]
        ).max()

    def objectivity_error(self, rows: Sequence[int]) -> float:
        """Return the relative violation of action and reaction, and of objectivity under a rigid motion."""
        if self.element.at_joint:
            return 0.0
        worst = 0.0
        for row in rows:
            q, v = self.state(row)
            t, x = self.inputs[row, 0], self.x[row]
            loads = self.model.applied_loads(t, q, v, x)[1]
            R, shift, spin, speed = _rotation(self.rng.normal(size=3)), *self.rng.normal(size=(3, 3))
            q2, v2 = self._moved(q, v, R, shift, spin, speed)
            after = self.model.applied_loads(t, q2, v2, x)[1]
            expected = np.concatenate([loads[:, :3] @ R.T, loads[:, 3:] @ R.T], axis=1)
            p = self.model.poses(q).position
            moments = loads[:, :3] + np.cross(p, loads[:, 3:])
            misses = [after - expected, loads[:, 3:].sum(axis=0), moments.sum(axis=0)]
            miss = max(float(np.abs(each).max()) for each in misses)
            worst = max(worst, miss / (1.0 + float(np.abs(loads).max())))
        return worst

    def _moved(self, q: Array, v: Array, R: Array, shift: Array, spin: Array, speed: Array) -> tuple[Array, Array]:
        """Return the state after a rigid motion, with its velocities added."""
        poses, count = self.model.poses(q), self.model.nb
        position = poses.position @ R.T + shift
        q2 = np.concatenate([_free(R @ poses.rotation[k], position[k]) for k in range(count)])
        velocity = self._velocities(q, v)
        w = velocity[:, :3] @ R.T + spin
        u = velocity[:, 3:] @ R.T + speed + np.cross(spin, position)
        columns = np.stack([self._velocities(q2, unit).ravel() for unit in np.eye(len(v))], axis=1)
        return q2, np.linalg.solve(columns, np.concatenate([w, u], axis=1).ravel())

    def _velocities(self, q: Array, v: Array) -> Array:
        return np.asarray(self.model.velocities(q, v)).reshape(self.model.nb, 6)

    def derivative_error(self, rows: Sequence[int]) -> float:
        """Return the relative error of the slopes of accelerations of the core; the least of the rows."""
        best = np.inf
        for row in rows:
            q, v = self.state(row)
            t, x = self.inputs[row, 0], self.x[row]
            derivatives = self.model.d_dynamics(t, q, v, x, multipliers=False).a
            exact = np.hstack([derivatives.q, derivatives.v])
            rough = self._differences(t, q, v, x)
            best = min(best, float(np.abs(exact - rough).max() / (1.0 + np.abs(rough).max())))
        return best if np.isfinite(best) else 0.0

    def _differences(self, t: float, q: Array, v: Array, x: Array, h: float = 1e-5) -> Array:
        def accelerations(step: Array) -> Array:
            n = len(v)
            return self.model.dynamics(t, self.model.integrate(q, step[:n]), v + step[n:], x).a

        steps = np.eye(2 * len(v))
        columns = []
        for d in steps:
            near, far = ((accelerations(k * h * d) - accelerations(-k * h * d)) / (2 * k * h) for k in (1, 2))
            columns.append((4 * near - far) / 3)
        return np.stack(columns, axis=1)


def _rotation(vector: Array) -> Array:
    angle = float(np.linalg.norm(vector))
    return axis_angle(vector, angle) if angle > 1e-12 else np.eye(3)


def _free(R: Array, p: Array) -> Array:
    return np.concatenate([quaternion_from_matrix(R), p])
