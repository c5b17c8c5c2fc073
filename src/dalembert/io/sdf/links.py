"""SDF links: mass, inertia, visuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.colors import NAMED, Color, as_color
from ...bodies.contact_surfaces import Surface
from ...bodies.visuals import ALL_BITS, ContactRule, Visual
from ...errors import ModelError
from ..xml_fields import name_of, numbers_in, renamed
from ..xml_files import line_of
from .fields import flag, number, numbers, pose_of, words
from .frames import Part

if TYPE_CHECKING:
    from .reader import Reading

__all__ = ["add_link"]

_MOMENTS = (("ixx", 1.0), ("iyy", 1.0), ("izz", 1.0), ("ixy", 0.0), ("ixz", 0.0), ("iyz", 0.0))


def add_link(reading: Reading, part: Part, name: str) -> Body:
    """Add the body of a link."""
    item = part.item
    inertial = part.element.find("inertial")
    if inertial is None:
        reading.omissions.append(
            f"{item}: without <inertial> it has 1 kg and 1 kg m2, as SDF specifies{line_of(part.element)}"
        )
        inertial = Element("inertial")
    elif inertial.get("auto", "false").lower() in ("true", "1"):
        raise ModelError(item, "inertial auto", "true", f"give mass and inertia as numbers{line_of(inertial)}")
    rotation, com = pose_of(inertial, item=item)
    mass = number(inertial, "mass", 1.0, item=item)
    moments = [number(inertial, f"inertia/{key}", default, item=item) for key, default in _MOMENTS]
    try:
        body = reading.system.body(
            name, mass=mass, com=com, inertia=moments, inertia_axes=rotation, strict=reading.strict
        )
    except ModelError as error:
        raise renamed(error, item + line_of(inertial)) from None
    if body.impossible:
        reading.omissions.append(f"{item}: its inertia is kept unchanged; {body.impossible}{line_of(inertial)}")
    for tag in ("visual", "collision"):
        for element in part.element.findall(tag):
            visual = _visual(element, item=f"{tag} {name_of(element)!r} of {item}")
            if isinstance(visual, str):
                reading.system.notes.append(f"{tag} {name_of(element)!r} of {item}: {visual} is not drawn")
            elif visual.collision:
                body.visuals.append(replace(visual, contact=_contact_rule(reading, part, element, item=item)))
            else:
                body.visuals.append(visual)
    return body


def _contact_rule(reading: Reading, part: Part, element: Element, *, item: str) -> ContactRule:
    """Return the surface of a collision, and bits by which links of one model do not touch, unless it allows that."""
    model = reading.frames.parts[part.scope]
    models = [name for name, found in reading.frames.parts.items() if found.kind == "model"]
    surface = element.find("surface")
    own = None
    if surface is not None:
        friction = number(surface, "friction/ode/mu", 1.0, item=item) if surface.find("friction") is not None else None
        bounce = surface.find("bounce/restitution_coefficient") is not None
        restitution = number(surface, "bounce/restitution_coefficient", 0.0, item=item) if bounce else None
        own = Surface(friction, restitution)
    if flag(model.element, "self_collide") or flag(part.element, "self_collide"):
        return ContactRule(surface=own)
    bit = 1 << models.index(part.scope) % 32
    return ContactRule(bit, ALL_BITS & ~bit, own)


def _visual(element: Element, *, item: str) -> Visual | str:
    """Return the visual of an element, or the reason why it cannot be drawn."""
    geometry = element.find("geometry")
    shapes = [] if geometry is None else list(geometry)
    if not shapes:
        return "nothing"
    shape, file = shapes[0], None
    if shape.tag == "box":
        size = dict(zip("xyz", numbers(shape, "size", (1.0, 1.0, 1.0), item=item), strict=True))
    elif shape.tag == "sphere":
        size = {"radius": number(shape, "radius", 1.0, item=item)}
    elif shape.tag in ("cylinder", "capsule"):
        size = {key: number(shape, key, 1.0, item=item) for key in ("length", "radius")} | {"axis": 2.0}
    elif shape.tag == "mesh":
        size = dict(zip("xyz", numbers(shape, "scale", (1.0, 1.0, 1.0), item=item), strict=True))
        file = words(shape, "uri")
    elif shape.tag == "plane" and element.tag == "collision":
        size = {}
    else:
        return f"a {shape.tag}"
    rotation, position = pose_of(element, item=item)
    if shape.tag == "plane":
        rotation = rotation @ _turn_to(numbers(shape, "normal", (0.0, 0.0, 1.0), item=item))
    color = element.find("material/diffuse")
    channels = [] if color is None else [*(color.text or "").split(), "1"][:4]
    rgba: Color | None = None
    named = words(element, "material/script/name").removeprefix("Gazebo/").lower()
    if not channels and named in NAMED:  # from the list of Gazebo
        rgba = as_color(named, item=item)
    if len(channels) == 4:
        found = numbers_in(" ".join(channels), 4, item=item, field="diffuse", where="")
        red, green, blue, opacity = (min(max(c, 0.0), 1.0) for c in found)
        rgba = (red, green, blue, opacity)
    return Visual(
        kind=shape.tag,
        size=size,
        position=position,
        rotation=rotation,
        file=file,
        collision=element.tag == "collision",
        color=rgba,
        name=name_of(element) or None,
    )


def _turn_to(normal: Sequence[float]) -> Array:
    """Return a rotation (3, 3) that turns z to a direction."""
    z = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
