"""URDF links: mass, inertia, visuals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

import numpy as np

from ...bodies.body import Body
from ...bodies.colors import Color
from ...bodies.visuals import Visual
from ...errors import ModelError
from ...system import System
from ..xml_fields import child_of, name_of, number_of, numbers_of, origin_of, renamed

__all__ = ["add_body"]


_GEOMETRIES = ("box", "cylinder", "capsule", "sphere", "mesh")


def add_body(
    system: System, name: str, link: Element, materials: Mapping[str, Element], *, item: str, strict: bool
) -> Body:
    """Add the body of a link to a system; visuals that cannot be drawn are left out and noted.

    An inertia that no rigid body has is refused if `strict`, else kept.
    """
    inertial = child_of(link, "inertial", item=item)
    body = system.body(name) if inertial is None else _heavy_body(system, name, inertial, item=item, strict=strict)
    body.visuals.extend(_visuals(link, materials, system.notes, item=item))
    return body


def _heavy_body(system: System, name: str, inertial: Element, *, item: str, strict: bool) -> Body:
    mass, inertia = child_of(inertial, "mass", item=item), child_of(inertial, "inertia", item=item)
    if mass is None:
        raise ModelError(item, "mass", None, 'an <inertial> needs <mass value="..."/> in kg')
    if inertia is None:
        remedy = 'an <inertial> needs <inertia ixx="..." .../> in kg m2; all zero for a point mass'
        raise ModelError(item, "inertia", None, remedy)
    com, axes = origin_of(inertial, item=item)
    diagonal = [number_of(inertia, key, item=item) for key in ("ixx", "iyy", "izz")]
    products = [number_of(inertia, key, 0.0, item=item) for key in ("ixy", "ixz", "iyz")]
    value = number_of(mass, "value", item=item)
    try:
        return system.body(name, mass=value, com=com, inertia=[*diagonal, *products], inertia_axes=axes, strict=strict)
    except ModelError as error:
        raise renamed(error, item) from None


def _visuals(link: Element, materials: Mapping[str, Element], notes: list[str], *, item: str) -> Iterator[Visual]:
    for element in link:
        if element.tag in ("visual", "collision"):
            try:
                visual = _visual(element, materials, item=f"{element.tag} of {item}")
            except ModelError as error:
                notes.append(f"skipped: {error}")
            else:
                if visual is not None:
                    yield visual


def _visual(element: Element, materials: Mapping[str, Element], *, item: str) -> Visual | None:
    """Return the visual of a <visual> or <collision>; None if only an extension could show it."""
    geometry = child_of(element, "geometry", item=item)
    shapes = [] if geometry is None else list(geometry)
    if shapes and all(":" in shape.tag for shape in shapes):
        return None
    plain = [shape for shape in shapes if shape.tag in _GEOMETRIES]
    if len(plain) != 1:
        tags = [f"<{shape.tag}>" for shape in shapes]
        raise ModelError(item, "geometry", tags, f"give one of {', '.join(_GEOMETRIES)}, or remove the element")
    shape = plain[0]
    size, file = _size(shape, item=item)
    position, rotation = origin_of(element, item=item)
    return Visual(
        kind=shape.tag,
        size=size,
        position=np.array(position),
        rotation=np.eye(3) if rotation is None else rotation,
        file=file,
        collision=element.tag == "collision",
        color=_color(element, materials, item=item),
        name=name_of(element) or None,
    )


def _size(shape: Element, *, item: str) -> tuple[dict[str, float], str | None]:
    """Return the lengths of a geometry (m; factors for a mesh) and the file of a mesh."""
    if shape.tag == "mesh":
        file = shape.get("filename")
        if file is None:
            raise ModelError(item, "mesh filename", None, 'give its file: <mesh filename="..."/>')
        return dict(zip("xyz", numbers_of(shape, "scale", (1.0, 1.0, 1.0), item=item), strict=True)), file
    if shape.tag == "box":
        size = dict(zip("xyz", numbers_of(shape, "size", None, item=item), strict=True))
    else:
        keys = ("radius",) if shape.tag == "sphere" else ("length", "radius")
        size = {key: number_of(shape, key, item=item) for key in keys}
    for key, length in size.items():
        if length < 0:
            raise ModelError(item, f"{shape.tag} {key}", length, "a length must not be negative")
    return size if shape.tag in ("box", "sphere") else {**size, "axis": 2.0}, None


def _color(element: Element, materials: Mapping[str, Element], *, item: str) -> Color | None:
    material = element.find("material")
    color = None if material is None else material.find("color")
    if color is None and material is not None and name_of(material) in materials:
        color = materials[name_of(material)].find("color")
    if color is None:
        return None
    found = numbers_of(color, "rgba", (1.0, 1.0, 1.0, 1.0), item=item)
    red, green, blue, opacity = (min(max(channel, 0.0), 1.0) for channel in found)
    return red, green, blue, opacity
