"""Forces of a system's elements on natural coordinates.

Elements are evaluated where they are described, at joint coordinates q. With X' = T v for speeds v = N z that loops
permit, forces Q on natural coordinates do the same work in every motion if

    (T N)^T Q = N^T tau                                                                                              (1)

Of all that do, the shortest are taken; which does not matter, because what differs is borne by the closure equations.
States of elements have the rates that they have there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..closure import RelativeEquations
from ..connections.joints import Joint
from ..numerics.rank import STEP_RANK_TOL, null_space
from .shared_points import GROUND

if TYPE_CHECKING:
    from .conversion import NaturalModel

__all__ = ["JointForces"]

Array = NDArray[np.float64]


class JointForces:
    """Generalised forces (N,) of elements and dampers of joints, at a time, all coordinates and their rates.

    Attributes
    ----------
    starts : (nx,)
        States of the elements as described.
    """

    def __init__(self, natural: NaturalModel, more: Callable[[float, Array, Array], Any] | None) -> None:
        self.natural, self.more = natural, more
        self.loops = RelativeEquations(natural.model, driven=False)
        self.q = np.asarray(natural.start, dtype=float)  # turns are counted from the position before
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
        """Return q, v, T and the rows of loops."""
        q = self.joint_coordinates(X)
        T = np.array([self.natural.all_coordinates_of(q, e) for e in np.eye(self.natural.model.nv)]).T
        P, drift = self.loops.jacobian(q, t), self.loops.velocity_terms(q, t)
        v = np.linalg.lstsq(np.vstack([T, P]), np.concatenate([V, drift]), rcond=None)[0]
        return q, v, T, P

    def state_rates(self, t: float, X: Array, V: Array, x: Array) -> Array:
        """Return the rates of the elements' states, (nx,)."""
        q, v, _, _ = self._motion(t, X, V)
        return np.asarray(self.natural.model.dynamics(t, q, v, x).dx, dtype=float)

    def joint_coordinates(self, X: Array) -> Array:
        """Return q (nq,), turns nearest to those before."""
        model = self.natural.model
        poses = {name: self.natural.world_pose(name, X) for name in model.system.bodies}
        poses[GROUND] = (np.eye(3), np.zeros(3))
        q = np.empty(model.nq)
        for joint in model.forest.joints:
            element: Joint = joint.element
            ends = (joint.inboard, joint.outboard) if not joint.reversed else (joint.outboard, joint.inboard)
            (R1, p1), (R2, p2) = (
                (R @ m.rotation, p + R @ m.position) for m, (R, p) in ((m, poses[m.body.name]) for m in ends)
            )
            found = np.asarray(element.coordinates_of(R1.T @ R2, R1.T @ (p2 - p1)), dtype=float)
            place = model.q_slice(joint.name)
            for k, name in enumerate(element.coordinates):
                if name.startswith("angle"):
                    found[k] += 2 * np.pi * np.round((self.q[place][k] - found[k]) / (2 * np.pi))
            q[place] = found
        self.q = q
        return q
