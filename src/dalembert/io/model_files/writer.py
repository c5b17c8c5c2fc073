"""System as a plain tree of numbers, text, lists and mappings, the contents of a model file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...argument_units import CONTACT, PLACE, START
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...bodies.shapes import Shape
from ...bodies.visuals import Visual
from ...connections.contacts import ContactGroup, PlacedShape, SurfacePair
from ...connections.contacts.contact_group import ContactMember
from ...connections.drives import Drive, PoseDrive
from ...connections.joints import Joint
from ...connections.laws import integrand_of
from ...errors import ModelError
from ...parameters import Expression, Parameter
from ...system import System
from ...units import quantity, unit_of
from ..mesh_paths import relative_path
from .contact_data import PAIR_NUMBERS, given_numbers, rule_tree, surface_tree
from .expressions import spelled
from .registry import arguments_of, same

__all__ = ["tree_of"]

VERSION = 1
_MATRIX = ("xx", "xy", "xz", "xy", "yy", "yz", "xz", "yz", "zz")
_LEVELS = ("position", "speed", "acceleration")


def tree_of(system: System, folder: Path | None = None) -> dict[str, Any]:
    """Return the whole description of a system; files are named relative to `folder`, where the tree is written.

    Raises
    ------
    ModelError
        If the system has an item that a file cannot represent, such as a Python function; it is named.
    """
    return _Writer(system, folder).tree()


class _Writer:
    def __init__(self, system: System, folder: Path | None = None) -> None:
        self.system = system
        self.folder = folder

    def tree(self) -> dict[str, Any]:
        s = self.system
        parts = {
            "bodies": {name: self._body(body) for name, body in s.bodies.items()},
            "connections": {name: self._connection(c) for name, c in s.connections.items()},
            "couplings": {name: self._coupling(c) for name, c in s.couplings.items()},
            "forces": {name: self._force(f) for name, f in s.forces.items()},
            "contacts": {name: self._contact(contact) for name, contact in s.contacts.items()},
            "surface_pairs": [self._surface_pair(pair) for pair in s.surface_pairs],
            "untouched": [list(pair) for pair in s.untouched],
            "mimics": {name: self._made(m, f"mimic {name!r}") for name, m in s.mimics.items()},
            "drives": self._drives(),
            "initial": {name: _given(initial, START) for name, initial in s.initials.items()},
            "place": {name: _given(place, PLACE) for name, place in s.placements.items()},
        }
        ground = {"markers": self._markers(s.ground), "visuals": [self._visual(look) for look in s.ground.visuals]}
        if s.ground.surface is not None:
            ground["surface"] = surface_tree(s.ground.surface)
        ground = {name: part for name, part in ground.items() if part}
        head: dict[str, Any] = {"dalembert": VERSION, "name": s.name}
        if s.named:
            head["parameters"] = {name: self._parameter(given) for name, given in s.named.items()}
        head["gravity"] = self._numbers(s.gravity, s.expressions, [f"gravity.{axis}" for axis in "xyz"], "gravity")
        if s.planar is not None:
            head["planar"] = self.to_plain(s.planar.tolist(), "planar")
        if ground:
            head["ground"] = ground
        settings = {verb: self.to_plain(given, verb) for verb, given in s.settings.items()}
        return head | {name: part for name, part in parts.items() if part} | settings

    def _parameter(self, parameter: Parameter) -> Any:
        """Return a parameter as a number, with its unit and meaning if it has them."""
        item = f"parameter {parameter.name!r}"
        unit = unit_of(parameter.unit) if parameter.unit else None
        if unit is not None and unit.value != 1.0:
            remedy = "numbers are in SI units and radians: give the parameter the unit of its number"
            raise ModelError(item, "unit", parameter.unit, remedy)
        given = {"value": parameter.described, "unit": parameter.unit, "meaning": parameter.meaning}
        found = {name: self.to_plain(value, item) for name, value in given.items() if value != ""}
        return found if len(found) > 1 else parameter.described

    def _numbers(self, values: Any, by: Mapping[str, Expression], labels: Sequence[str], item: str) -> Any:
        """Return numbers, with the expressions that some of them follow from."""
        flat = np.asarray(values, dtype=object).reshape(-1)
        given = [by.get(label, value) for label, value in zip(labels, flat, strict=True)]
        return self.to_plain(given, item)

    # ---- bodies

    def _body(self, body: Body) -> dict[str, Any]:
        item = f"body {body.name!r}"
        found: dict[str, Any] = {}
        if body.flexible is not None:
            found["flexible"] = self._made(body.flexible, item)
        else:
            if body.shape is not None:
                found["shape"] = self._shape(body.shape, item)
            found |= self._inertia(body, item)
            if "mass" in found and "shape" in found:  # it differs from that of its shape
                found["shape"] = {k: x for k, x in found["shape"].items() if k not in ("mass", "density")}
        if not body.strict:
            found["strict"] = False
        if body.color is not None:
            found["color"] = list(body.color)
        markers = self._markers(body)
        if markers:
            found["markers"] = markers
        if body.surface is not None:
            found["surface"] = surface_tree(body.surface)
        if body.visuals:
            found["visuals"] = [self._visual(visual) for visual in body.visuals]
        return found

    def _shape(self, shape: Shape, item: str) -> dict[str, Any]:
        made = self._made(shape, item)
        return made | ({} if shape.file is None else {"surface": relative_path(shape.file, self.folder)})

    def _visual(self, look: Visual) -> dict[str, Any]:
        """Return a visual; for a mesh its file, or its triangles if there is none."""
        found = _given(look, tuple(name for name in vars(look) if name not in ("surface", "contact")))
        if look.contact is not None:
            found["contact"] = rule_tree(look.contact)
        if look.path is not None:
            if look.path == look.file:
                del found["file"]
            found["path"] = relative_path(look.path, self.folder)
        elif look.surface is not None:
            found["surface"] = [look.surface.corners.tolist(), look.surface.triangles.tolist()]
        return found

    def _inertia(self, body: Body, item: str) -> dict[str, Any]:
        """Return mass, centre of mass and inertia where they differ from those of the shape."""
        by = body.expressions
        if (
            body.shape is not None
            and body.shape.mass is not None
            and self._alike(body, Body(self.system, "twin", body.shape))
        ):
            return {}
        mass = self.to_plain(by.get("mass", body.mass), f"{item}: mass")
        if body.shape is not None and body.shape.mass is None:
            given: Any = by.get("mass", body.mass)
            twin = Body(self.system, "twin", body.shape, mass=given, strict=False)
            if self._alike(body, twin):
                return {"mass": mass}
        diagonal = np.array_equal(body.inertia, np.diag(np.diag(body.inertia)))
        diagonal = diagonal and not {"inertia.xy", "inertia.xz", "inertia.yz"} & set(by)
        labels = [f"inertia.{a}{b}" for a, b in (("xx", "yy", "zz") if diagonal else _MATRIX)]
        moments = self._numbers(np.diag(body.inertia) if diagonal else body.inertia, by, labels, f"{item}: inertia")
        com = self._numbers(body.com, by, ("com.x", "com.y", "com.z"), f"{item}: com")
        matrix = moments if diagonal else [moments[:3], moments[3:6], moments[6:]]
        if (
            body.shape is not None
            and body.shape.mass == body.mass
            and same(by.get("mass"), body.shape.expressions.get("mass"))
        ):
            return {"com": com, "inertia": matrix}
        return {"mass": mass, "com": com, "inertia": matrix}

    @staticmethod
    def _alike(one: Body, other: Body) -> bool:
        numbers = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("mass", "com", "inertia"))
        return numbers and same(one.expressions, other.expressions)

    def _markers(self, body: Body) -> dict[str, Any]:
        return {label: self._frame(marker) for label, marker in body.markers.items()}

    def _frame(self, marker: Marker) -> dict[str, Any]:
        found: dict[str, Any] = {"at": self._numbers(marker.position, marker.expressions, "xyz", "position")}
        if not np.array_equal(marker.rotation, np.eye(3)):
            found["rotation"] = self.to_plain(marker.rotation, "rotation")
        if marker.shape is not None and marker.shape.any() and not self._found_again(marker):
            found["shape"] = self.to_plain(marker.shape, "shape")
            if marker.arm is not None:
                found["arm"] = self.to_plain(marker.arm, "arm")
        return found

    @staticmethod
    def _found_again(marker: Marker) -> bool:
        """Return whether a marker of a flexible body follows from its position alone."""
        try:
            again = marker.body.at(*marker.position, rotation=marker.rotation)
        except ModelError:
            return False
        return marker.arm is None and again.shape is not None and np.array_equal(again.shape, marker.shape)  # type: ignore[arg-type]

    def end(self, marker: Marker) -> Any:
        """Return the attachment of an item: a name, or a body and a position on it."""
        if marker.label is not None and marker.body.markers.get(marker.label) is marker:
            return f"{marker.body.name}.{marker.label}"
        frame = self._frame(marker)
        plain = not any(frame["at"]) and len(frame) == 1
        return marker.body.name if plain else {"body": marker.body.name, **frame}

    # ---- connections

    def _connection(self, connection: Any) -> dict[str, Any]:
        made = self._made(connection.element, f"connection {connection.name!r}")
        return made | {"between": [self.end(connection.first), self.end(connection.second)]}

    def _coupling(self, coupling: Any) -> dict[str, Any]:
        made = self._made(coupling.element, f"coupling {coupling.name!r}")
        return made | {"between": [_coordinate(joint, k) for joint, k in coupling.joint_coordinates]}

    def _force(self, force: Any) -> dict[str, Any]:
        made = self._made(force.element, f"element {force.name!r}")
        ends = [_coordinate(joint, k) for joint, k in force.joint_coordinates] or [self.end(end) for end in force.ends]
        return made | ({"between": ends} if ends else {})

    def _contact(self, contact: ContactGroup) -> dict[str, Any]:
        found: dict[str, Any] = {
            side: [self._member(member, contact.name) for member in getattr(contact, side)]
            for side in ("first", "second")
        }
        found |= given_numbers(contact, CONTACT)
        if contact.without:
            found["without"] = [list(pair) for pair in contact.without]
        return found | ({"neighbours": True} if contact.neighbours else {})

    def _member(self, member: ContactMember, name: str) -> Any:
        if isinstance(member, PlacedShape):
            shape = self._shape(member.shape, f"contact {name!r}")
            return {"shape": shape, "at": self.end(member.marker)}
        return member.name if isinstance(member, Body) else member

    @staticmethod
    def _surface_pair(pair: SurfacePair) -> dict[str, Any]:
        sides = {"first": surface_tree(pair.first), "second": surface_tree(pair.second)}
        return sides | given_numbers(pair, PAIR_NUMBERS)

    def _drives(self) -> dict[str, Any]:
        return {name: self._drive(drive) for name, drive in self.system.drives.items()}

    def _drive(self, drive: Drive) -> dict[str, Any]:
        item = f"drive {drive.name!r}"
        if isinstance(drive, PoseDrive):
            found = {"of": drive.connection.name, "rotation": self.to_plain(drive.attitude, item)}
            return found | ({"position": [self._law(law, item) for law in drive.place]} if drive.place else {})
        element = drive.connection.element
        rate = None if isinstance(element, Joint) or element.holonomic[drive.coordinate] else integrand_of(drive.law)
        if rate is not None:  # a constraint of velocities only was given by its velocity
            return {"of": drive.name, "speed": self._law(rate, item)}
        return {"of": drive.name, _LEVELS[drive.level]: self._law(drive.law, item)}

    def _law(self, law: Any, item: str) -> Any:
        plain = self.to_plain(law, item)
        return plain["value"] if isinstance(plain, dict) and plain.get("type") == "Constant" else plain

    # ---- values

    def _made(self, thing: Any, item: str) -> dict[str, Any]:
        found = arguments_of(thing)
        if found is None:
            remedy = "a model file supports numbers, formulas and objects made from them; describe this one in Python"
            raise ModelError(item, "element", type(thing).__name__, remedy)
        kind, arguments = found
        return {"type": kind, **{name: self.to_plain(value, f"{item}: {name}") for name, value in arguments.items()}}

    def _expression(self, value: Expression, item: str) -> str:
        unknown = sorted(value.names - set(self.system.named))
        if unknown:
            raise ModelError(item, "parameters", unknown, "they belong to another system: make them in this one")
        return f"= {value.written(spelled)}"

    def to_plain(self, value: Any, item: str) -> Any:
        """Return a value as numbers, text, lists and mappings."""
        if isinstance(value, Expression):
            return self._expression(value, item)
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, np.generic):  # first, because some of them are also a Python float
            return value.item()
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, os.PathLike):
            return relative_path(os.fsdecode(value), self.folder)
        if isinstance(value, np.ndarray):
            return [self.to_plain(each, item) for each in value.tolist()] if value.ndim else value.item()
        if isinstance(value, (list, tuple)):
            return [self.to_plain(each, item) for each in value]
        if isinstance(value, Mapping):
            return {str(key): self.to_plain(each, item) for key, each in value.items()}
        if isinstance(value, Marker):
            return {"marker": self.end(value)}
        if isinstance(value, Body):
            return {"marker": value.name}
        if hasattr(value, "tocoo"):
            entries = value.tocoo()
            parts = {"shape": entries.shape, "rows": entries.row, "columns": entries.col, "values": entries.data}
            return {"type": "sparse", **{name: self.to_plain(part, item) for name, part in parts.items()}}
        return self._made(value, item)


def _text(value: str) -> str:
    """Return text that is not read back as an expression or a quantity."""
    if value.startswith("="):
        return "=" + value
    return f"='{value}'" if quantity(value) is not None else value


def _coordinate(joint: Any, k: int) -> str:
    assert isinstance(joint.element, Joint)
    return joint.element.coordinate_name(joint.name, k)


def _given(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults."""
    found = {}
    for name in names:
        value = getattr(thing, name)
        if value is None or value is False:
            continue
        if isinstance(value, np.ndarray):
            value = [_open(each) for each in value.tolist()]
        found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _open(value: Any) -> Any:
    """Return a number; None for an open value."""
    if isinstance(value, list):
        return [_open(each) for each in value]
    return None if value != value else value
