"""Inertia of a tree reflected to points at which loops are closed, readable reference.

Jain & Rodriguez 1990 (JPL 90-26), section 9, refers to a later paper for closed chains; this is its form:

    Omega = Psi* H* D^-1 H Psi        accelerations of all bodies per load on them               (1)
    Lambda^-1 = C* Omega C            of nodes c, per load on them; C(k, c) = [[Pi_c*], [phi(k, c)]]   (2)
    (Q Lambda^-1 Q*) lam = - (Q alpha_free + Q' V)        closure forces, for the constraint Q V = 0    (3)

Psi and D are those of the tree with free joints and modes, so that no mass matrix is formed. (2) equals
J mass^-1 J* with the Jacobian J of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from .flexible_operators import FlexibleOperators, node_motion, turned
from .operators import phi

__all__ = ["closure_operator", "reflected_compliance"]


def closure_operator(operators: FlexibleOperators, markers: Sequence[Marker]) -> Array:
    """Return C (N, 6 c): loads [moment; force] at c markers, world axes, to loads on modes and frames of the bodies."""
    C = np.zeros((len(operators.M), 6 * len(markers)))
    names = list(operators.forest.bodies)
    for j, marker in enumerate(markers):
        k = names.index(marker.body.name)
        if k == 0:
            continue  # ground does not move
        (R, _), eta = operators.poses[k], operators.etas[k]
        node = node_motion(marker, eta, np.zeros_like(eta))
        own = np.vstack([(turned(R) @ node.Pi).T, phi(R @ node.p)])
        C[operators.blocks[k - 1], 6 * j : 6 * j + 6] = own
    return C


def reflected_compliance(operators: FlexibleOperators, markers: Sequence[Marker]) -> Array:
    """Return Lambda^-1 (6 c, 6 c): accelerations [alpha; a] of markers per load on them, world axes, by (1) and (2).

    Its inverse, where it exists, is the inertia of the tree reflected to the markers.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System(gravity=(0, 0, 0))
    >>> ball = s.body("ball", da.sphere(0.1, mass=2.0))
    >>> _ = s.connect("F", da.Free(), s.ground, ball)
    >>> at = FlexibleOperators(s, [1, 0, 0, 0, 0, 0, 0])
    >>> np.linalg.inv(reflected_compliance(at, [ball.origin])).round(6)[3:, 3:]
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    carried = operators.H @ operators.Psi @ closure_operator(operators, markers)
    return np.asarray(carried.T @ np.linalg.solve(operators.D, carried))
