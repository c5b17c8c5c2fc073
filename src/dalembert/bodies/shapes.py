"""Homogeneous shapes: each gives mass, centre of mass and inertia from a few lengths.

Every shape takes either `mass` (kg) or `density` (kg/m3, or a material with a density), or neither. Without either it
has no mass, for bodies whose mass is given by numbers, and for decoration. Lengths are in metres. The inertia is about
the centre of mass in the axes of the shape. The `axis` of a rod, cylinder or tube is one of the body's axes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import checked, finite_array, finite_number, one_of, shape_of
from ..errors import ModelError
from ..parameters import Expression, plain_value, split
from ..provenance import record_call
from .mesh_files import read_surface
from .triangle_mesh import TriangleMesh

__all__ = [
    "Shape",
    "box",
    "capsule",
    "cylinder",
    "height_field",
    "mesh",
    "plane",
    "plate",
    "prism",
    "rod",
    "sphere",
    "tube",
]


class HasDensity(Protocol):
    """Object with a density, kg/m3: a material."""

    @property
    def density(self) -> float: ...


_MOMENTS = tuple(f"inertia.{a}{b}" for a in "xyz" for b in "xyz")


@dataclass(frozen=True, eq=False)
class Shape:
    """Homogeneous solid.

    Attributes
    ----------
    kind : str
        ``"rod"``, ``"box"``, ``"cylinder"``, ``"capsule"``, ``"sphere"``, ``"plate"``, ``"tube"``, ``"prism"``,
        ``"mesh"``, ``"plane"`` or ``"height field"``.
    size : dict of str to float
        Lengths that define it, m; with ``"axis"`` 0, 1 or 2 where the kind has one. For a mesh, the scale factors x, y,
        z.
    mass : float, kg, or None
        None if it has no mass.
    com : (3,) m
        Centre of mass from the body's origin.
    inertia : (3, 3) kg m2
        About the centre of mass, in body axes; of 1 kg if it has no mass.
    outline : (k, 2) m or None
        Of a prism, counterclockwise.
    expressions : dict of str to Expression
        Of ``"mass"``, ``"com.x"``, ``"inertia.xx"`` and so on, where they follow from parameters.
    surface : TriangleMesh or None
        The triangles of a mesh, before they are scaled.
    file : str or None
        From which a mesh was read.
    heights : (nx, ny) m or None
        Of a height field.
    pieces : float or None
        Concavity of the convex pieces of a mesh in contact, as a part of its size; None: its hull touches.
    thickness : float or None, m
        Wall thickness of the surface of a mesh in contact; None: it is closed.
    """

    kind: str
    size: dict[str, float]
    mass: float | None
    com: Array
    inertia: Array
    outline: Array | None = None
    expressions: dict[str, Expression] = field(default_factory=dict)
    surface: TriangleMesh | None = None
    file: str | None = None
    heights: Array | None = None
    pieces: float | None = None
    thickness: float | None = None


@record_call
def rod(
    length: float,
    mass: float | None = None,
    axis: str = "x",
    *,
    radius: float | None = None,
    density: float | HasDensity | None = None,
) -> Shape:
    """Return a straight rod from the body's origin along `axis`, centre of mass at half length.

    Without a `radius` the rod is slender: no inertia about its own axis, and no density.
    """
    length = _length("rod", "length", length)
    k = _axis("rod", axis)
    if radius is None and density is not None:
        raise ModelError("rod", "density", density, "a slender rod (no radius) has no volume: give its mass")
    r = 0.0 if radius is None else _length("rod", "radius", radius)
    m = _mass("rod", mass, density, math.pi * r * r * length)
    com: list[Any] = [0.0, 0.0, 0.0]
    com[k] = length / 2
    size = {"length": length, "radius": r, "axis": float(k)}
    return _solid("rod", size, m, com, _axial(k, r * r / 2, length * length / 12 + r * r / 4))


@record_call
def box(x: float, y: float, z: float, mass: float | None = None, *, density: float | HasDensity | None = None) -> Shape:
    """Return a box with edges `x`, `y`, `z` centred at the body's origin."""
    x, y, z = _length("box", "x", x), _length("box", "y", y), _length("box", "z", z)
    m = _mass("box", mass, density, x * y * z)
    inertia = np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12
    return _solid("box", {"x": x, "y": y, "z": z}, m, np.zeros(3), inertia)


@record_call
def cylinder(
    length: float,
    radius: float,
    mass: float | None = None,
    axis: str = "z",
    *,
    density: float | HasDensity | None = None,
) -> Shape:
    """Return a solid cylinder along `axis` centred at the body's origin."""
    length, radius = _length("cylinder", "length", length), _length("cylinder", "radius", radius)
    k = _axis("cylinder", axis)
    square = radius * radius
    m = _mass("cylinder", mass, density, math.pi * square * length)
    size = {"length": length, "radius": radius, "axis": float(k)}
    inertia = _axial(k, square / 2, length * length / 12 + square / 4)
    return _solid("cylinder", size, m, np.zeros(3), inertia)


@record_call
def capsule(
    length: float,
    radius: float,
    mass: float | None = None,
    axis: str = "z",
    *,
    density: float | HasDensity | None = None,
) -> Shape:
    """Return a solid cylinder along `axis` with hemispheres on both ends, centred at the body's origin.

    `length` is that of the cylinder: the capsule is longer by twice its radius.

    Examples
    --------
    >>> import dalembert as da
    >>> da.capsule(0.2, 0.05, mass=1.0).inertia.diagonal().round(8)
    array([0.00665625, 0.00665625, 0.0011875 ])
    """
    length, radius = _length("capsule", "length", length), _length("capsule", "radius", radius)
    k = _axis("capsule", axis)
    square = radius * radius
    m = _mass("capsule", mass, density, math.pi * square * (length + 4 / 3 * radius))
    round_part = 4 / 3 * radius / (length + 4 / 3 * radius)  # of the volume
    along = (1 - round_part) * square / 2 + round_part * 0.4 * square
    across = (1 - round_part) * (length * length / 12 + square / 4) + round_part * (
        0.4 * square + length * length / 4 + 3 / 8 * length * radius
    )
    size = {"length": length, "radius": radius, "axis": float(k)}
    return _solid("capsule", size, m, np.zeros(3), _axial(k, along, across))


@record_call
def sphere(radius: float, mass: float | None = None, *, density: float | HasDensity | None = None) -> Shape:
    """Return a solid sphere centred at the body's origin."""
    radius = _length("sphere", "radius", radius)
    m = _mass("sphere", mass, density, 4 / 3 * math.pi * radius * radius * radius)
    return _solid("sphere", {"radius": radius}, m, np.zeros(3), np.diag([0.4 * radius * radius] * 3))


@record_call
def plate(
    x: float,
    y: float,
    mass: float | None = None,
    *,
    thickness: float = 0.0,
    density: float | HasDensity | None = None,
) -> Shape:
    """Return a rectangular plate in the xy-plane centred at the body's origin.

    A plate of thickness zero is a lamina and has no density.
    """
    x, y = _length("plate", "x", x), _length("plate", "y", y)
    t = _length("plate", "thickness", thickness, allow_zero=True)
    if t == 0.0 and density is not None:
        raise ModelError("plate", "density", density, "a plate without thickness has no volume: give its mass")
    m = _mass("plate", mass, density, x * y * t)
    inertia = np.diag([y * y + t * t, x * x + t * t, x * x + y * y]) / 12
    return _solid("plate", {"x": x, "y": y, "thickness": t}, m, np.zeros(3), inertia)


@record_call
def tube(
    length: float,
    outer: float,
    inner: float,
    mass: float | None = None,
    axis: str = "z",
    *,
    density: float | HasDensity | None = None,
) -> Shape:
    """Return a hollow cylinder with radii `outer` > `inner`, along `axis`, centred at the body's origin."""
    length, outer = _length("tube", "length", length), _length("tube", "outer", outer)
    inner = _length("tube", "inner", inner, allow_zero=True)
    if plain_value(inner) >= plain_value(outer):
        raise ModelError("tube", "inner", inner, f"it must be smaller than the outer radius {outer}")
    k = _axis("tube", axis)
    m = _mass("tube", mass, density, math.pi * (outer - inner) * (outer + inner) * length)
    squares = outer * outer + inner * inner
    size = {"length": length, "outer": outer, "inner": inner, "axis": float(k)}
    return _solid("tube", size, m, np.zeros(3), _axial(k, squares / 2, length * length / 12 + squares / 4))


@record_call
def plane() -> Shape:
    """Return the half space z <= 0 of a marker, a floor or a slope for `System.contact`; it has no mass.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("slope")
    >>> crate = s.body("crate", da.box(0.2, 0.2, 0.2, mass=1.0))
    >>> s.contact("floor", da.plane(), crate, friction=0.4)
    <ContactGroup 'floor': plane at ground and crate>
    >>> s.contact("slope", s.ground.at(2.0, 0, 0, rotation=da.rotation.axis_angle((0, 1, 0), 0.3)), crate)
    <ContactGroup 'slope': plane at ground.at(2, 0, 0) and crate>
    """
    return _solid("plane", {}, None, np.zeros(3), np.zeros((3, 3)))


@record_call
def height_field(heights: ArrayLike, size: Sequence[float]) -> Shape:
    """Return the ground below a surface of heights over a grid, for `System.contact`; it has no mass.

    Parameters
    ----------
    heights : (nx, ny) m
        z of the surface at the nodes of the grid: rows along x, columns along y.
    size : (2,) m
        Lengths of the grid along x and y. The marker at which it is placed is below its centre.

    Each cell consists of two triangles, divided along the diagonal from its least x and y. Neighbouring cells of one
    plane touch like the plane. The field has no sides: bodies beside the grid fall past it.

    Examples
    --------
    >>> import dalembert as da
    >>> import numpy as np
    >>> x, y = np.meshgrid(np.linspace(-2, 2, 41), np.linspace(-1, 1, 21), indexing="ij")
    >>> s = da.System("hills")
    >>> ball = s.body("ball", da.sphere(0.1, mass=1.0))
    >>> s.contact("hills", da.height_field(0.1 * np.sin(3 * x), size=(4, 2)), ball, friction=0.5)
    <ContactGroup 'hills': height field at ground and ball>
    """
    item = "height field"
    shape = shape_of(heights)
    if shape is None or len(shape) != 2 or min(shape) < 2:
        raise ModelError(item, "heights", shape, "give an array (nx, ny) with two rows and columns or more")
    z = finite_array(heights, shape, item=item, field="heights")
    if shape_of(size) != (2,):
        raise ModelError(item, "size", size, "give the lengths along x and y: (4.0, 2.0)")
    x, y = (_length(item, f"size along {axis}", length) for axis, length in zip("xy", size, strict=True))
    made = _solid("height field", {"x": x, "y": y}, None, np.zeros(3), np.zeros((3, 3)))
    return replace(made, heights=z)


@record_call
def prism(
    outline: ArrayLike, thickness: float, mass: float | None = None, *, density: float | HasDensity | None = None
) -> Shape:
    """Return a plate of any outline, centred on the xy-plane: a cam, a gear.

    Parameters
    ----------
    outline : (k, 2) m
        Corners in order, from the body's origin; it must not cross itself. A hole is entered along a cut, followed in
        the opposite sense, and left along the same cut.
    thickness : float, m
    mass, density : float, kg or kg/m3

    Examples
    --------
    >>> triangle = prism([(0, 0), (3, 0), (0, 3)], 0.1, mass=2.0)
    >>> print(triangle.com)
    [1. 1. 0.]
    """
    shape = shape_of(outline)
    if shape is None or len(shape) != 2 or shape[1] != 2 or shape[0] < 3:
        raise ModelError("prism", "outline", outline, "give three corners or more, each of two numbers")
    x = finite_array(outline, shape, item="prism", field="outline")
    t = _length("prism", "thickness", thickness)
    y = np.roll(x, -1, axis=0)
    cross = x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]
    area = float(cross.sum() / 2)
    if abs(area) < 1e-9 * float(np.ptp(x, axis=0).max()) ** 2:
        raise ModelError("prism", "outline", f"an area of {area:.3g} m2", "it must enclose an area")
    com = (cross[:, None] * (x + y)).sum(0) / (6 * area)
    a, b = x - com, y - com
    second = np.einsum("k,kij->ij", a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], _moments(a, b)) / (24 * area)
    m = _mass("prism", mass, density, abs(area) * t)
    S = np.diag([0.0, 0.0, t * t / 12])
    S[:2, :2] = second
    size = {"area": abs(area), "thickness": t}
    solid = _solid("prism", size, m, np.array([*com, 0.0]), np.trace(S) * np.eye(3) - S)
    return replace(solid, outline=x if area > 0 else x[::-1].copy())


@checked("scale")
@record_call
def mesh(
    surface: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike],
    mass: float | None = None,
    *,
    density: float | HasDensity | None = None,
    scale: float | Sequence[float] = 1.0,
    pieces: float | None = None,
    thickness: float | None = None,
) -> Shape:
    """Return the solid of uniform density enclosed by a surface of triangles, in the axes of its file.

    Parameters
    ----------
    surface : path, or (corners, triangles)
        File in STL, OBJ, PLY, OFF, DAE or GLB (needs the extra ``meshes``); or corners (k, 3) and triangles (m, 3) int,
        each counterclockwise as seen from outside.
    mass, density : float, kg or kg/m3
        With neither it has no mass; the surface may then be open, and is only drawn.
    scale : float or (3,)
        Factors of all lengths: 0.001 for a file in millimetres.
    pieces : float
        In contact the surface is cut into convex pieces (needs the extra ``contact``), each of at most this concavity,
        as a part of the size of the surface: 0.05 is usual. Without it the hull touches; a note compares the volumes.
    thickness : float, m
        Wall thickness of a surface that is open, or a thin shell, in contact.

    Raises
    ------
    ModelError
        If the file cannot be read; or mass or density is given and the surface is not closed.

    Examples
    --------
    >>> corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    >>> corner = mesh((corners, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]), density=6.0)
    >>> print(round(corner.mass, 12), corner.com)  # a sixth of a cube
    1.0 [0.25 0.25 0.25]
    """
    along: Any = [scale] * 3 if np.ndim(scale) == 0 else scale
    factors = finite_array(along, (3,), item="mesh", field="scale")
    if not factors.all():
        raise ModelError("mesh", "scale", scale, "it must not be zero")
    if isinstance(surface, (str, os.PathLike)):
        file, given = os.fsdecode(surface), read_surface(surface)
    else:
        if not isinstance(surface, Sequence) or len(surface) != 2:
            raise ModelError("mesh", "surface", type(surface).__name__, "give a file, or corners and triangles")
        file, given = None, TriangleMesh.of(*surface, item="mesh")
    if pieces is not None:
        pieces = finite_number(pieces, item="mesh", field="pieces")
        if not 0.0 < pieces <= 1.0:
            raise ModelError("mesh", "pieces", pieces, "give a concavity between 0 and 1, such as 0.05")
    if thickness is not None:
        thickness = _length("mesh", "thickness", thickness)
    size = dict(zip("xyz", factors.tolist(), strict=True))
    whole = given.scaled(factors.tolist())
    volume, com, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    if not whole.error:
        volume, com, inertia = whole.solid()
    elif mass is not None or density is not None:
        remedy = f"{whole.error}; repair it in a CAD program, or give the body mass=, com= and inertia= by numbers"
        raise ModelError("mesh", "surface", file or f"{len(given.triangles)} triangles", remedy)
    solid = _solid("mesh", size, _mass("mesh", mass, density, volume), com, inertia)
    return replace(solid, surface=given, file=file, pieces=pieces, thickness=thickness)


def _moments(a: Array, b: Array) -> Array:
    """Return 24 times the integral of x x^T over triangles (origin, a, b), per twice their areas, (k, 2, 2)."""
    aa, bb = (np.einsum("ki,kj->kij", p, p) for p in (a, b))
    ab = np.einsum("ki,kj->kij", a, b)
    return 2 * aa + 2 * bb + ab + np.swapaxes(ab, 1, 2)


def _solid(
    kind: str, size: dict[str, float], mass: float | None, com: Sequence[Any] | NDArray[Any], inertia: NDArray[Any]
) -> Shape:
    """Return a shape from its inertia per kilogram."""
    whole = np.asarray(inertia if mass is None else mass * inertia)
    if whole.dtype == float and not any(isinstance(x, Expression) for x in (*com, *size.values())):
        return Shape(kind, {name: float(x) for name, x in size.items()}, mass, np.array(com, float), whole)
    m, by_mass = split(mass, ("mass",))
    c, by_com = split(list(com), ("com.x", "com.y", "com.z"))
    moments, by_inertia = split(whole.ravel(), _MOMENTS)
    by_inertia = {label: x for label, x in by_inertia.items() if label[-2] <= label[-1]}
    lengths = {name: float(plain_value(length)) for name, length in size.items()}
    J = np.reshape(moments, (3, 3))
    return Shape(
        kind, lengths, m, np.array(c, float), np.array(J, float), expressions={**by_mass, **by_com, **by_inertia}
    )


def _length(kind: str, field: str, value: float, *, allow_zero: bool = False) -> float:
    number = finite_number(plain_value(value), item=kind, field=field)
    if number < 0 or (number == 0 and not allow_zero):
        raise ModelError(kind, field, value, "a length must be positive")
    return value if isinstance(value, Expression) else number


def _axis(kind: str, axis: str) -> int:
    return "xyz".index(one_of(kind, "axis", axis, ("x", "y", "z")))


def _mass(kind: str, mass: float | None, density: float | HasDensity | None, volume: float) -> float | None:
    if mass is None and density is None:
        return None
    if mass is not None and density is not None:
        raise ModelError(kind, "mass", mass, f"give either mass or density (density is {density!r})")
    field, value = ("mass", mass) if mass is not None else ("density", getattr(density, "density", density))
    number: Any = finite_number(plain_value(value), item=kind, field=field)
    if number < 0:
        raise ModelError(kind, field, value, "it must not be negative")
    number = value if isinstance(value, Expression) else number
    return number if mass is not None else number * volume


def _axial(k: int, along: float, across: float) -> Array:
    moments = np.full(3, across)
    moments[k] = along
    return np.diag(moments)
