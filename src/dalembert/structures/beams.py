"""Straight beams: one flexible body with modes, or segments for large bending."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, overload

from numpy.typing import ArrayLike

from ..bodies.flexible_body import FlexibleBody
from ..checks import checked
from ..errors import ModelError
from ..provenance import record_call
from .cables import SlenderBody, cable
from .frames import Member, frame_structure
from .mode_sets import ModeSet
from .sections import Material, Section

if TYPE_CHECKING:
    from ..system import System

__all__ = ["SegmentedBeam", "beam"]


@dataclass(frozen=True, eq=False)
class SegmentedBeam:
    """Beam of segments, returned by ``beam(..., segments=n)``; ``system.body(name, ...)`` adds its bodies.

    Attributes
    ----------
    points, section, material, segments, shapes, bending, torsion, stretching, up, damping
        As in `cable`.
    """

    points: Any
    section: Section
    material: Material
    segments: int
    shapes: int = 2
    bending: str = "yz"
    torsion: bool = True
    stretching: bool = False
    up: Any = None
    damping: Any = None

    def add_to(self, system: System, name: str) -> SlenderBody:
        """Add the segments to a system, as ``system.body(name, beam)`` does."""
        return cable(system, name, **{field.name: getattr(self, field.name) for field in fields(self)})


@overload
def beam(
    points: ArrayLike,
    section: Section,
    material: Material,
    *,
    elements: int | None = 10,
    up: ArrayLike | None = None,
    theory: str = "timoshenko",
    mass: str = "consistent",
    modes: ModeSet | None = None,
    damping: Any = None,
    order: str = "full",
    stiffening: bool = False,
    load_nodes: Any = (),
    segments: None = None,
) -> FlexibleBody: ...
@overload
def beam(
    points: ArrayLike,
    section: Section,
    material: Material,
    *,
    segments: int,
    up: ArrayLike | None = None,
    damping: Any = None,
    shapes: int = 2,
    bending: str = "yz",
    torsion: bool = True,
    stretching: bool = False,
) -> SegmentedBeam: ...
@checked("elements", "theory", "mass", "order", "stiffening", "shapes", "bending", "torsion", "stretching")
@record_call
def beam(
    points: ArrayLike,
    section: Section,
    material: Material,
    *,
    elements: int | None = 10,
    up: ArrayLike | None = None,
    theory: str = "timoshenko",
    mass: str = "consistent",
    modes: ModeSet | None = None,
    damping: Any = None,
    order: str = "full",
    stiffening: bool = False,
    load_nodes: Any = (),
    segments: int | None = None,
    shapes: int = 2,
    bending: str = "yz",
    torsion: bool = True,
    stretching: bool = False,
) -> FlexibleBody | SegmentedBeam:
    """Return a flexible body: a straight beam.

    Parameters
    ----------
    points : (k, 3) m, or a length m
        Corners of the line, in the body frame; a length means a straight beam from the origin along x.
    section : Section
    material : Material
    elements : int or None
        Number of elements; nodes are numbered along the line from 0. None: one between two points.
    up : (3,)
        Direction near which the section's z axis lies; default z, or x for lines along z.
    theory : "timoshenko" or "euler"
        With shear and rotary inertia, or without.
    mass : "consistent" or "lumped"
    modes : ModeSet
        Default ``CantileverModes(6)``: six vibrations with the first node held, to which the body frame is attached.
    damping, order, stiffening, load_nodes
        As in `Structure.reduce`.
    segments : int
        For large bending: number of segments with a frame each, fixed to each other, in place of one body with modes.
        ``s.body(name, beam)`` then adds them and returns a `SlenderBody`. Sections stay normal to the line; of the
        other options, only `up` and `damping` apply.
    shapes, bending, torsion, stretching
        Of segments, as in `cable`.

    Examples
    --------
    >>> import dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> arm = da.beam(1.0, da.Section.rectangle(0.03, 0.01), steel, elements=12, modes=da.CantileverModes(4))
    >>> arm
    <FlexibleBody: 2.355 kg, 13 nodes, 4 modes, from 8.355 Hz>

    A beam that deflects by its own length:

    >>> s = da.System("whip")
    >>> whip = s.body("whip", da.beam(1.0, da.Section.circle(0.002), steel, segments=12))
    >>> joint = s.connect("A", da.Revolute("y"), s.ground, whip)
    >>> whip
    <SlenderBody 'whip': 12 segments, 1 m>
    """
    if segments is not None:
        for name, value, usual in (
            ("theory", theory, "timoshenko"),
            ("mass", mass, "consistent"),
            ("modes", modes, None),
            ("order", order, "full"),
            ("elements", elements, 10),
            ("load_nodes", tuple(load_nodes), ()),
        ):
            if value != usual:
                raise ModelError(
                    "beam", name, value, "segments define their own modes: leave it out, or leave segments out"
                )
        return SegmentedBeam(points, section, material, segments, shapes, bending, torsion, stretching, up, damping)
    given = (shapes, bending, torsion, stretching)
    if given != (2, "yz", True, False):
        remedy = "these are options of segments: give segments=n, or leave them out"
        raise ModelError("beam", "shapes, bending, torsion, stretching", given, remedy)
    member = Member(points, section, material, elements=elements, up=up)
    structure = frame_structure([member], theory=theory, mass=mass)
    return structure.reduce(modes, damping=damping, order=order, stiffening=stiffening, load_nodes=load_nodes)
