"""Solids of contact tests, with their extents by direction, and the contact points of two of them."""

import itertools

import numpy as np
from scipy.spatial.transform import Rotation

from dalembert import _core
from dalembert.bodies.convex_hulls import solid_of_points

SEGMENT = np.array([[0, 0, -0.5], [0, 0, 0.5]])


def corners(*halves):
    return np.array(list(itertools.product(*((-half, half) for half in halves))))


def ball_points(count, seed=4):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return 0.5 * points / np.linalg.norm(points, axis=1)[:, None]


def extent_of_points(points, radius=0.0):
    return lambda n: (n @ points.T).max(axis=-1) + radius


def extent_of_cylinder(half, across):
    return lambda n: across * np.hypot(n[..., 0], n[..., 1]) + half * np.abs(n[..., 2])


def cylinder(half, across):
    return _core.Solid(np.zeros((0, 3)), np.array([half, across, 0.0]))


SOLIDS = {
    "box": (_core.Solid.box(0.5, 0.4, 0.3), extent_of_points(corners(0.5, 0.4, 0.3))),
    "rounded box": (_core.Solid.box(0.5, 0.4, 0.3, 0.05), extent_of_points(corners(0.5, 0.4, 0.3), 0.05)),
    "sphere": (solid_of_points(np.zeros((1, 3)), 0.4), extent_of_points(np.zeros((1, 3)), 0.4)),
    "capsule": (solid_of_points(SEGMENT, 0.2), extent_of_points(SEGMENT, 0.2)),
    "cylinder": (cylinder(0.5, 0.3), extent_of_cylinder(0.5, 0.3)),
    "disc": (cylinder(0.05, 0.5), extent_of_cylinder(0.05, 0.5)),
    "hull": (solid_of_points(ball_points(30)), extent_of_points(ball_points(30))),
    "brick": (solid_of_points(corners(0.3, 0.2, 0.4)), extent_of_points(corners(0.3, 0.2, 0.4))),
}


def pose(position=(0, 0, 0), rotation=None):
    R = np.eye(3) if rotation is None else rotation
    return np.concatenate([R.ravel(), np.asarray(position, dtype=float)])[None]


def turned(*vector):
    return Rotation.from_rotvec(vector).as_matrix()


def contacts(first, X, second, Y, margin=1e-3):
    gaps, features, numbers = _core.contacts(first, X, second, Y, margin)
    return float(gaps[0]), features[:, 1:].astype(int), numbers


def separation(first, R, second, S, p, n):
    """Return the distance of two supporting planes with a normal n (..., 3): at most the signed distance."""
    return n @ p - first(n @ R) - second(-n @ S)
