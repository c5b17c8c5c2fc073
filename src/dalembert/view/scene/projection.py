"""Placement of bodies at a configuration, and the view: the plane of motion, or space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...bodies.nodal_matrices import carried
from ...connections.joints import Joint
from ...errors import ModelError
from ...model import Model
from ...model.cache import cached_per_model
from ...numerics.rank import ROW_RANK_TOL

__all__ = [
    "PLANES",
    "ModeExaggeration",
    "Placement",
    "View",
    "choose_view",
    "exaggerated",
    "held_motions",
    "node_frames",
    "paths_of",
    "plane_normal",
]


PLANES = ("xy", "xz", "yz", "yx", "zx", "zy")
PARALLEL_TOL = 1e-6  # sine between axes: far above rounding of an assembled loop, far below an intended tilt
MAX_OUT_OF_PLANE = 0.02  # share of the displacement of a flexible body that is ignored


def node_frames(model: Model) -> dict[str, int]:
    """Return the frame number of the first node of each flexible body; node frames follow those of the bodies."""
    first, found = model.nb + 1, {}
    for name in model.flexible_names:
        found[name] = first
        first += model.system.bodies[name].require_flexible().n
    return found


def exaggerated(model: Model, q: Array, factor: float) -> Array:
    """Return configurations (..., nq) with all modal coordinates multiplied."""
    scaled = np.array(q, dtype=np.float64)
    for name in model.flexible_names:
        scaled[..., model.q_slice(name)] *= factor
    return scaled


def paths_of(model: Model, q: Array, markers: list[Marker], exaggerate: float = 1.0) -> list[Array]:
    """Return the drawn path (n, 3) m of each marker along configurations (n, nq)."""
    if exaggerate == 1 or not model.forest.loop_constraints:
        return [model.pose(marker, exaggerated(model, q, exaggerate)).position for marker in markers]
    placements = [Placement.of(model, row, exaggerate) for row in q] if markers else []
    number = model.forest.number
    return [np.array([p.marker(number[m.body.name], m)[1] for p in placements]) for m in markers]


@dataclass(frozen=True, eq=False)
class ModeExaggeration:
    """Mode shapes multiplied by a factor, except for their rigid motion (6, nm) of the body's joints."""

    factor: float
    rigid: Array

    def shapes(self, shapes: Array, places: Array) -> Array:
        """Return shapes (k, 6, nm) as drawn at places (k, 3) m."""
        return self.factor * shapes - (self.factor - 1) * _rigid_shapes(self.rigid, places)


@dataclass(frozen=True, eq=False)
class Placement:
    """Poses of all frames at one configuration.

    Attributes
    ----------
    model : Model
    q : (nq,) rad or m
        As drawn.
    rotation : (nf, 3, 3)
    position : (nf, 3) m
        Frames by number: ground, the bodies, then the nodes of flexible bodies.
    eta : dict of int to (nm,)
        Modal coordinates, as drawn, by the number of the body.
    reference : dict of int to (n, 3) m
        Nodes of flexible bodies without any deformation, by the number of the body; empty unless exaggerated.
    growth : dict of int to Growth
        Exaggeration of mode shapes of bodies that stay in place.
    t : float, s
        When: loads that follow laws of time are drawn as they are then.
    """

    model: Model
    q: Array
    rotation: Array
    position: Array
    eta: dict[int, Array] = field(default_factory=dict)
    reference: dict[int, Array] = field(default_factory=dict)
    growth: dict[int, ModeExaggeration] = field(default_factory=dict)
    t: float = 0.0

    @classmethod
    def of(cls, model: Model, q: Array, exaggerate: float = 1.0, *, t: float = 0.0) -> Placement:
        """Place the bodies at one configuration q (nq,), with exaggerated deformations.

        In a tree all modal coordinates are multiplied, and everything beyond a flexible body moves along. Where there
        are loops bodies stay in place, and what is multiplied is the deformation between the joints of each body.
        """
        held = held_motions(model) if exaggerate != 1 and model.forest.loop_constraints else {}
        drawn = q if exaggerate == 1 or held else exaggerated(model, q, exaggerate)
        pose = model.poses(drawn)
        rotations, positions = [np.eye(3)[None], pose.rotation], [np.zeros((1, 3)), pose.position]
        bodies = {model.forest.number[name]: name for name in model.flexible_names}
        etas = {number: drawn[model.q_slice(name)] for number, name in bodies.items()}
        growth = {number: ModeExaggeration(exaggerate, rigid) for number, rigid in held.items()}
        for number, name in bodies.items():
            nodes = model._point_poses(model.nodes(name), drawn)
            turned, moved = nodes[:, :9].reshape(-1, 3, 3), nodes[:, 9:]
            if number in growth:
                body, eta, R = model.system.bodies[name].require_flexible(), etas[number], pose.rotation[number - 1]
                grown = growth[number].shapes(body.shapes, body.nodes)
                turned = R @ _turns(grown[:, :3] @ eta)
                moved = moved + (grown - body.shapes)[:, 3:] @ eta @ R.T
            rotations.append(turned)
            positions.append(moved)
        reference = {}
        if exaggerate != 1 and bodies:
            still = pose if held else model.poses(exaggerated(model, q, 0.0))
            for number, name in bodies.items():
                nodes = model.system.bodies[name].require_flexible().nodes
                if number in held:
                    nodes = nodes + _rigid_shapes(held[number], nodes)[:, 3:] @ etas[number]
                reference[number] = nodes @ still.rotation[number - 1].T + still.position[number - 1]
        return cls(model, drawn, np.concatenate(rotations), np.concatenate(positions), etas, reference, growth, t)

    def marker(self, number: int, marker: Marker) -> tuple[Array, Array]:
        """Return rotation (3, 3) and position (3,) m of a marker on a body in the world."""
        if number not in self.eta or marker.motion is None:
            return self.rotation[number] @ marker.rotation, self.points(number, marker.position)
        R, p = self.model.pose(marker, self.q)
        if number in self.growth:
            eta = self.eta[number]
            grown = self.growth[number].shapes(marker.motion[None], marker.position[None])[0]
            R = self.rotation[number] @ _turns(grown[:3] @ eta) @ marker.rotation
            p = p + self.rotation[number] @ ((grown - marker.motion)[3:] @ eta)
        return R, p

    def points(self, number: int, local: Array) -> Array:
        """Return points (k, 3) or (3,) given in a body's axes in the world."""
        return np.asarray(local @ self.rotation[number].T + self.position[number])

    def direction(self, number: int, local: Array) -> Array:
        """Return a direction given in a body's axes in the world."""
        return np.asarray(self.rotation[number] @ local)


@dataclass(frozen=True)
class View:
    """View by the world axes that point right, up and towards the reader.

    Attributes
    ----------
    name : str
        ``"xy"`` and the like, or ``"3d"``.
    right, up, normal : int
        World axes; `right` and `normal` have no meaning in 3-D.
    steady : bool
        True if every body only turns about the normal, so that outlines keep their form.
    """

    name: str
    right: int
    up: int
    normal: int
    steady: bool = False

    @property
    def flat(self) -> bool:
        """True if the view is a plane."""
        return self.name != "3d"

    @property
    def towards(self) -> Array:
        """Direction (3,) from the plane to the reader."""
        return np.cross(np.eye(3)[self.right], np.eye(3)[self.up])

    def project(self, points: Array) -> Array:
        """Project points (..., 3) m onto the plane, (..., 2)."""
        return points[..., [self.right, self.up]]


def choose_view(model: Model, placement: Placement, view: str = "auto") -> View:
    """Return the view of that name; ``"auto"`` is the plane of motion if there is one.

    Raises
    ------
    ModelError
        If there is no view of that name.
    """
    if not isinstance(view, str) or view not in ("auto", "3d", *PLANES):
        raise ModelError("picture", "view", view, "use 'auto', 'xy', 'xz', 'yz' or '3d'")
    gravity = np.abs(model.system.gravity)
    down = int(gravity.argmax()) if gravity.any() else 2
    normal = plane_normal(model, placement)
    if view == "auto":
        if normal is None or _bends_across(model, placement, normal):
            return View("3d", (down + 1) % 3, down, (down + 2) % 3)
        first, second = (k for k in range(3) if k != normal)
        right, up = (second, first) if gravity.any() and down == first else (first, second)
        return View("xyz"[right] + "xyz"[up], right, up, normal, steady=True)
    if view == "3d":
        return View("3d", (down + 1) % 3, down, (down + 2) % 3)
    right, up = ("xyz".index(letter) for letter in view)
    across = 3 - right - up
    return View(view, right, up, across, steady=normal == across)


def plane_normal(model: Model, placement: Placement) -> int | None:
    """Return the world axis normal to the plane of motion, or None.

    Where several would do, as for a single slide, the plane in which gravity acts comes first, then the xy-plane.
    """
    turning, sliding = [np.zeros((3, 1))], [np.zeros((3, 1))]
    for element, marker in _joints(model):
        frame = placement.rotation[model.forest.number[marker.body.name]] @ marker.rotation
        for q in element.starts:
            H = element.motion(q)
            turning.append(frame @ H[:3])
            sliding.append(frame @ H[3:])
    turns, slides = np.abs(np.hstack(turning)).max(axis=1), np.abs(np.hstack(sliding)).max(axis=1)
    fits = []
    for normal in (2, 1, 0):
        others = [k for k in range(3) if k != normal]
        if turns[others].max() < PARALLEL_TOL and slides[normal] < PARALLEL_TOL * max(1.0, slides.max()):
            fits.append(normal)
    gravity = np.abs(model.system.gravity)
    fits.sort(key=lambda normal: bool(gravity[normal] > PARALLEL_TOL * gravity.max()))
    return fits[0] if fits else None


def _joints(model: Model) -> Iterator[tuple[Joint, Marker]]:
    """Yield every joint, cut or not, with the marker in whose axes its directions are given."""
    for joint in model.forest.joints:
        yield joint.element, joint.outboard if joint.reversed else joint.inboard
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, Joint):
            yield loop_constraint.element, loop_constraint.first


def _bends_across(model: Model, placement: Placement, normal: int) -> bool:
    """Return whether a flexible body is bent visibly out of the plane with that normal."""
    for name, first in node_frames(model).items():
        body, number = model.system.bodies[name].require_flexible(), model.forest.number[name]
        moved = np.abs(placement.position[first : first + body.n] - placement.points(number, body.nodes)).max(axis=0)
        if moved[normal] > max(MAX_OUT_OF_PLANE * float(moved.max()), 1e-9 * float(np.ptp(body.nodes, axis=0).max())):
            return True
    return False


@cached_per_model
def held_motions(model: Model) -> dict[int, Array]:
    """Return the rigid motion (6, nm) of the joints of each flexible body by its modes, by body number."""
    ends = [marker for c in model.system.connections.values() for marker in (c.first, c.second)]
    return {
        model.forest.number[name]: _mean_motion(
            [m for m in ends if m.body.name == name], model.system.bodies[name].require_flexible().nm
        )
        for name in model.flexible_names
    }


def _mean_motion(markers: list[Marker], nm: int) -> Array:
    """Return the rigid motion (6, nm) [rotation; translation of the body's origin] nearest to that of markers."""
    if not markers:
        return np.zeros((6, nm))
    shapes, places = np.array([m.motion for m in markers]), np.array([m.position for m in markers])
    if len(markers) == 1:
        return carried(shapes[0], -places[0])
    middle = places.mean(axis=0)
    turns = np.cross(np.eye(3)[None], (places - middle)[:, None]).swapaxes(1, 2)  # displacement by unit rotations
    rows = np.concatenate([turns, np.broadcast_to(np.eye(3), turns.shape)], axis=2).reshape(-1, 6)
    motion: Array = np.linalg.lstsq(rows, shapes[:, 3:].reshape(len(rows), -1), rcond=ROW_RANK_TOL)[0]
    return carried(motion, -middle)


def _rigid_shapes(rigid: Array, places: Array) -> Array:
    """Return the shapes (k, 6, nm) at places (k, 3) m of a rigid motion (6, nm) of the body's origin."""
    shapes = np.repeat(rigid[None], len(places), axis=0)
    shapes[:, 3:] += np.cross(rigid[None, :3], places[:, :, None], axis=1)
    return shapes


def _turns(vectors: Array) -> Array:
    """Return the rotations (..., 3, 3) by rotation vectors (..., 3) rad."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(vectors).as_matrix())
