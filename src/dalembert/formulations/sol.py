"""Vector arrays W, V, U, B, C of the tree after Sol (1983, section 5.2).

Rows are velocities, columns joints k in the order of their outboard bodies; i = parent(k), j = k. With the location
matrix L = [S0; S] and the path matrix T of the forest (4.3), b_ik and b_jk from the origins of the bodies to the ends
of the joint, c_k between these, w_k and v_k the columns of its own motion, all outward, and L = +1 or -1 where a joint
ends or begins:

    B_jk = +b_jk,  B_ik = -b_ik,    C_jk = 0,  C_ik = -c_k                                                    (5.2.14)
    r = -((B0 + C0) T)^T - ((B + C) T)^T 1                                                                    (5.2.17)
    omega = (W T)^T v,    r' = (U T)^T v,    U = V - (W T) x (B + C)                                  (5.2.7), (5.2.23)
    omega' = (W T)^T v' + T^T W_oo,    r'' = (U T)^T v' + T^T U_oo,    U_oo = V_oo + (B + C)^T x (T^T W_oo)   (5.2.27)

W and V have one block of entries for each joint; W T and U T are the partial angular velocities of all bodies and the
partial velocities of their origins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import checked, finite_array
from ..compile.body_layout import refuse_flexible
from ..model import Model, State, as_model
from ..numerics.rank import numerical_rank, singular_values
from ..oracles.operators import joint_motion
from ..system import System
from .setting import RANK_TOL, setting

__all__ = ["SolArrays", "partial_velocities", "sol_arrays"]


@dataclass(frozen=True, eq=False)
class SolArrays:
    """Sol's arrays at one state, world axes.

    Attributes
    ----------
    speed_names, body_names : tuple of str, (nv,), (nb,)
    W, V, U : (nv, nb, 3)
    WT, UT : (nv, nb, 3)
        Partial angular velocities; partial velocities of origins.
    B, C : (nb + 1, nb, 3) m
        First row: ground.
    W_oo, V_oo, U_oo : (nb, 3)
    L, T : (nb + 1, nb), (nb, nb)
    """

    speed_names: tuple[str, ...]
    body_names: tuple[str, ...]
    W: Array
    V: Array
    U: Array
    WT: Array
    UT: Array
    B: Array
    C: Array
    W_oo: Array
    V_oo: Array
    U_oo: Array
    L: NDArray[np.int8]
    T: NDArray[np.int8]

    def positions(self) -> Array:
        """Return the origins r (nb, 3), (5.2.17)."""
        return -np.asarray(np.einsum("iko,kj->jo", self.B + self.C, self.T.astype(float)))

    def accelerations(self, v_dot: ArrayLike) -> Array:
        """Return [omega'; r''] (nb, 6), (5.2.27)."""
        a = finite_array(v_dot, (len(self.W),), item="Sol's arrays", field="v_dot")
        T = self.T.astype(float)
        omega = np.einsum("rjo,r->jo", self.WT, a) + T.T @ self.W_oo
        return np.hstack([omega, np.einsum("rjo,r->jo", self.UT, a) + T.T @ self.U_oo])

    @property
    def rank(self) -> int:
        """Rank of Z = [U T, W T]: number of independent motions of the bodies (5.2, M-08)."""
        Z = np.concatenate([self.UT, self.WT], axis=1).reshape(len(self.W), -1)
        return numerical_rank(singular_values(Z), RANK_TOL, 0.0)


@checked("state")
def sol_arrays(system: System | Model, state: State | Mapping[str, Any] | None = None) -> SolArrays:
    """Return Sol's arrays of the tree of a system with rigid bodies.

    Parameters
    ----------
    system : System or Model
    state : State, or dict of name to value
        Default the described start values.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> rod = s.body("rod", da.rod(length=1.0, mass=3.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground.at(0, 0, 2.0), rod.at(0.25, 0, 0))
    >>> found = da.formulations.sol_arrays(s)
    >>> found.W[0, 0], found.U[0, 0], found.positions()[0].tolist()
    (array([0., 1., 0.]), array([0.  , 0.  , 0.25]), [-0.25, -0.0, 2.0])
    """
    here = setting(system, state)
    model, kane = here.model, here.kane
    refuse_flexible(model.system, "Sol's arrays")
    forest, nv, nb = model.forest, model.nv, model.nb
    L, T = forest.location_matrix(), forest.path_matrix()
    W, V = np.zeros((2, nv, nb, 3))
    B, C = np.zeros((2, nb + 1, nb, 3))
    W_oo, V_oo = np.zeros((2, nb, 3))
    for k, (joint, span) in enumerate(zip(forest.joints, kane.v_spans, strict=True)):
        parent, own = kane.frames[forest.parent[k]], kane.frames[k + 1]
        motion = joint_motion(joint, here.q[kane.q_spans[k]], here.v[span])
        R = parent.R @ joint.inboard.rotation
        b_i, b_j, c = parent.R @ joint.inboard.position, own.R @ joint.outboard.position, R @ motion.displacement
        W[span, k], V[span, k] = (R @ motion.H[:3]).T, (R @ motion.H[3:]).T
        B[k + 1, k], B[forest.parent[k], k], C[forest.parent[k], k] = b_j, -b_i, -c
        w_i, w_j = here.v @ parent.omega, here.v @ own.omega
        v_k = here.v @ V[:, k]
        W_oo[k] = R @ motion.bias[:3] + np.cross(w_i, w_j - w_i)
        V_oo[k] = np.cross(w_i, np.cross(w_i, b_i)) - np.cross(w_j, np.cross(w_j, b_j))
        V_oo[k] += np.cross(w_i, np.cross(w_i, c) + 2 * v_k) + R @ motion.bias[3:]
    along, arms = T.astype(float), (B + C)[1:]
    WT = np.einsum("rko,kj->rjo", W, along)
    U = V - np.cross(WT[:, :, None], arms[None]).sum(axis=1)
    UT = np.einsum("rko,kj->rjo", U, along)
    U_oo = V_oo + np.cross(arms, (along.T @ W_oo)[:, None]).sum(axis=0)
    return SolArrays(model.speed_names, model.body_names, W, V, U, WT, UT, B, C, W_oo, V_oo, U_oo, L, T)


def partial_velocities(system: System | Model, q: ArrayLike) -> Array:
    """Return [omega; V] per joint velocity of all mass centres, (nb, 6, nv), or (n, nb, 6, nv) for q (n, nq).

    From the kernels, world axes; for flexible bodies, of their origins. Bodies and velocities in model order.
    """
    model = as_model(system)
    bodies = [model.system.bodies[name] for name in model.body_names]
    points = [body.origin if body.flexible else body.at(*body.com) for body in bodies]
    return np.stack([model.jacobian(point, q) for point in points], axis=-3)
