"""Slender bodies with large bending: cables, ropes, straps, wire springs.

Modes are small deformations of a frame that moves freely. A line of n segments, each with its own frame and fixed to
the one before it, can bend without limit: every segment rotates with the end of its neighbour and deforms little itself
(n co-rotated frames, in the recursions of flexible bodies; cost is linear in n). Deformations of a segment:

    bending     curvature about either axis of the section, linear along the segment. Coordinates are the turn of its
                end against its beginning, and, with shapes=2, that of both ends against the middle, rad
    torsion     constant twist; the turn of its end, rad
    stretching  constant strain; its coordinate. Left out, the line keeps its length

Ends rotate by exp(turn) and are displaced to second order (structures/cable_segments.py). With shapes=2, lines converge
with the fourth power of the segments' length; with shapes=1, where curvature is constant along a segment, with the
square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.flexible_body import FlexibleBody
from ..bodies.markers import Marker
from ..checks import checked, finite_number, positive_number, shape_of, whole_number
from ..connections.joints import Fixed
from ..errors import ModelError
from .cable_segments import beam_segment
from .frames import line_corners
from .sections import Material, Section

if TYPE_CHECKING:
    from ..bodies.body import Body
    from ..result import Result
    from ..system import System

__all__ = ["SlenderBody", "cable"]


@checked("system", "section", "segments", "shapes", "bending", "torsion", "stretching")
def cable(
    system: System,
    name: str,
    points: ArrayLike,
    section: Section,
    material: Material,
    *,
    segments: int = 20,
    shapes: int = 2,
    bending: str = "yz",
    torsion: bool = True,
    stretching: bool = False,
    up: ArrayLike | None = None,
    damping: Any = None,
) -> SlenderBody:
    """Add a slender body with large bending to a system: segments, each fixed to the one before it.

    It is not connected to the system: connect `start`, `end` or `at(arc)` of the returned object.

    Parameters
    ----------
    system : System
    name : str
        Segments become the bodies ``"name_0"``, ``"name_1"``, ..., their joints ``"name_0_1"``, ...
    points : (k, 3) m, or a length m
        The unstressed line, in axes of the segments' frames; a length means a straight line along x. The line is cut
        into segments of equal length.
    section : Section
    material : Material
    segments : int
    shapes : 1 or 2
        Curvature constant, or linear, along a segment: errors fall with the square, or with the fourth power, of the
        segments' length.
    bending : "yz", "y" or "z"
        Axes of the section about which it bends. About one only, the line stays in a plane, at less cost.
    torsion, stretching : bool
        True if segments twist, and stretch. Stiff deformations require small steps of explicit methods: keep a line
        that hardly stretches inextensible.
    up : (3,)
        Direction near which the section's z axis lies, as in `beam`.
    damping : Rayleigh, number or matrix
        Of every segment, as in `FlexibleBody`. ``Rayleigh(beta=t)`` is a material with a stress lag of t s.

    Returns
    -------
    SlenderBody
        With `start`, `end`, `at(arc)`, and, of results, `line`, `curvature`, `twist`, `tension`.

    Examples
    --------
    >>> import dalembert as da
    >>> rubber = da.Material(E=5e6, nu=0.49, density=1100)
    >>> s = da.System("rope")
    >>> rope = da.cable(s, "rope", 1.0, da.Section.circle(0.005), rubber, segments=10)
    >>> joint = s.connect("A", da.Revolute("y"), s.ground, rope.start)
    >>> s.compile().nv  # the joint; two curvatures, how they change, and a twist of each segment
    51
    """
    if shapes not in (1, 2):
        raise ModelError(f"cable {name!r}", "shapes", shapes, "use 1, constant curvature, or 2, linear")
    if bending not in ("yz", "y", "z"):
        raise ModelError(f"cable {name!r}", "bending", bending, "give the section's axes about which it bends: 'yz'")
    count = whole_number(segments, item=f"cable {name!r}", field="segments")
    line = _cut(points, count, f"cable {name!r}")
    kinds: dict[bytes, FlexibleBody] = {}
    bodies, joints = [], []
    for k, step in enumerate(np.diff(line, axis=0)):
        key = np.round(step, 12).tobytes()
        if key not in kinds:
            kinds[key] = beam_segment(
                step,
                section,
                material,
                shapes=shapes,
                bending=bending,
                torsion=torsion,
                stretching=stretching,
                up=up,
                damping=damping,
            )
        bodies.append(system.body(f"{name}_{k}", kinds[key]))
        if k:
            joints.append(f"{name}_{k - 1}_{k}")
            system.connect(joints[-1], Fixed(), bodies[k - 1].at(node=2), bodies[k].at(node=0))
    return SlenderBody(name, tuple(bodies), tuple(joints), line, shapes, bending, torsion, stretching)


def _also_at_rest(read: Callable[[SlenderBody, Result], Array]) -> Callable[[SlenderBody, Any], Array]:
    """Extend a result method to equilibria, which have one state and no axis n."""

    @wraps(read)
    def reading(self: SlenderBody, result: Any) -> Array:
        if hasattr(result, "q") and hasattr(result, "outputs"):
            return read(self, result)
        motion = getattr(result, "result", None)
        if motion is None:
            raise ModelError(f"cable {self.name!r}", read.__name__, result, "give a Result or an Equilibrium")
        found = read(self, motion)
        return found[0] if np.ndim(getattr(result, "q", motion.q)) == 1 else found

    return reading


@dataclass(frozen=True, eq=False)
class SlenderBody:
    """Slender body in a system; returned by `cable`.

    Attributes
    ----------
    name : str
    bodies : tuple of Body
        Segments, from the start; nodes 0, 1, 2 are beginning, middle and end. Their frames move with the middle.
    joints : tuple of str
        Names of the connections between them.
    points : (n + 1, 3) m
        Ends of the segments of the unstressed line.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[str, ...]
    points: Array
    shapes: int
    bending: str
    torsion: bool
    stretching: bool

    @property
    def length(self) -> float:
        """Length of the unstressed line, m."""
        return float(self._lengths.sum())

    @property
    def start(self) -> Marker:
        """Marker at the beginning of the line; its axes are those of the points."""
        return self.bodies[0].at(node=0)

    @property
    def end(self) -> Marker:
        """Marker at the end of the line; its axes are those of the points, rotated with the line."""
        return self.bodies[-1].at(node=2)

    def at(self, arc: float) -> Marker:
        """Return the marker at an arc length, m from the start along the unstressed line."""
        value = finite_number(arc, item=f"cable {self.name!r}", field="arc")
        if not -1e-9 * self.length <= value <= self.length * (1 + 1e-9):
            raise ModelError(f"cable {self.name!r}", "arc", arc, f"the line is {self.length:.6g} m long")
        ends = np.concatenate([[0.0], np.cumsum(self._lengths)])
        k = int(np.clip(np.searchsorted(ends, value, side="right") - 1, 0, len(self.bodies) - 1))
        along = float(np.clip((value - ends[k]) / self._lengths[k], 0.0, 1.0))
        if along < 1e-9 or along > 1 - 1e-9:
            return self.bodies[k].at(node=2 * round(along))
        return self.bodies[k].at(*(along * (self.points[k + 1] - self.points[k])))

    # ---- along a result; of an equilibrium the same without the axis n

    @_also_at_rest
    def line(self, result: Result) -> Array:
        """Return the world positions (n, segments + 1, 3) m of the ends of all segments."""
        model, q = result.require_model(), result.q
        places = [model.pose(marker, q)[1] for marker in (*(b.at(node=0) for b in self.bodies), self.end)]
        return np.stack(places, axis=1)

    @_also_at_rest
    def curvature(self, result: Result) -> Array:
        """Return the mean curvatures (n, segments, 2) 1/m of the segments about the section's y and z axes."""
        found = np.zeros((len(result.q), len(self.bodies), 2))
        for k, axis in enumerate(self.bending):
            found[:, :, "yz".index(axis)] = self._turns(result, k) / self._lengths
        return found

    @_also_at_rest
    def twist(self, result: Result) -> Array:
        """Return the twists (n, segments) rad/m of the segments."""
        if not self.torsion:
            return np.zeros((len(result.q), len(self.bodies)))
        return self._turns(result, len(self.bending) * self.shapes) / self._lengths

    @_also_at_rest
    def strain(self, result: Result) -> Array:
        """Return the strains (n, segments) of the segments; zero if the line is inextensible."""
        if not self.stretching:
            return np.zeros((len(result.q), len(self.bodies)))
        return self._turns(result, len(self.bending) * self.shapes + self.torsion)

    @_also_at_rest
    def tension(self, result: Result) -> Array:
        """Return the axial forces (n, segments - 1) N at the joints between segments."""
        found = np.empty((len(result.q), len(self.joints)))
        model = result.require_model()
        for k, joint in enumerate(self.joints):
            R = model.pose(self.bodies[k + 1].at(node=0), result.q)[0]
            step = self.points[k + 2] - self.points[k + 1]
            tangent = R @ (step / self._lengths[k + 1])
            # the load from the previous segment pulls segment k + 1 back
            found[:, k] = -(result[f"{joint}.force"] * tangent).sum(axis=1)
        return found

    @property
    def _lengths(self) -> Array:
        return np.linalg.norm(np.diff(self.points, axis=0), axis=1)

    def _turns(self, result: Result, mode: int) -> Array:
        return np.stack([result[f"{body.name}.eta[{mode}]"] for body in self.bodies], axis=1)

    def __repr__(self) -> str:
        return f"<SlenderBody {self.name!r}: {len(self.bodies)} segments, {self.length:.6g} m>"


def _cut(points: Any, segments: int, item: str) -> Array:
    """Return the ends (n + 1, 3) m of segments of equal arc length along a line."""
    if shape_of(points) == ():
        positive_number(points, item=item, field="points")
    corners, spans = line_corners(points, item)
    arc = np.concatenate([[0.0], np.cumsum(spans)])
    at = np.linspace(0, arc[-1], segments + 1)
    line = np.stack([np.interp(at, arc, corners[:, i]) for i in range(3)], axis=1)
    return line - line[0]
