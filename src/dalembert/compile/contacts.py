"""Contacts of a system as tables: shapes with their bodies, sides of contacts, pairs left out, materials.

Pairs are not listed. A pair of shapes (i, j) belongs to the last contact c for which

    i is in one side of c and j in the other,                                                                      (1)
    the pair of their bodies is not among the rows of c in `excluded`, and the bodies differ,                      (2)
    (type_i & affinity_j) | (type_j & affinity_i) is not zero, if c is filtered.                                   (3)

`ContactTables.contact_of` evaluates this rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import BoolArray, IndexArray
from ..bodies.body import Body
from ..bodies.contact_surfaces import Surface
from ..bodies.convex_hulls import Convex, convex_of, excess_volume, geometry_of
from ..bodies.convex_pieces import convex_pieces, thickened
from ..bodies.visuals import ALL_BITS, Visual, surface_of, visual_of_shape
from ..connections.contacts import ContactGroup, ContactMaterial, PlacedShape
from ..connections.contacts.contact_group import ALL_BODIES
from ..connections.contacts.contact_material import material_of_surfaces
from ..errors import ModelError
from ..system import System
from ..system.topology import Forest
from .contact_exclusions import excluded_pairs

__all__ = ["ContactShape", "ContactTables", "compile_contacts", "left_out_notes"]

EXCESS_VOLUME_NOTED = 1.01  # hull volume by volume: less is the rounding of a curved surface by triangles
SOFT_ROUNDING = 0.01  # of the thickness: radius of edges in compliant contacts


@dataclass(frozen=True, eq=False)
class ContactShape:
    """Convex solid of a body that may touch others.

    Attributes
    ----------
    body : int
        Number of the body: index in ``model.body_names`` plus 1; 0 is ground.
    name : str
        Name of the body.
    convex : Convex
        Solid, and its pose in the frame of the body.
    thickness : float, m
        Width or a lower bound of it; infinite for a half space.
    surface : int
        Index in `ContactTables.surfaces`.
    type, affinity : int
        Bits of rule (3).
    is_own : bool
        True if it is part of a body; False if a contact placed it.
    """

    body: int
    name: str
    convex: Convex
    thickness: float
    surface: int = 0
    type: int = ALL_BITS
    affinity: int = ALL_BITS
    is_own: bool = True


@dataclass(frozen=True, eq=False)
class ContactTables:
    """Contacts of a compiled model.

    Attributes
    ----------
    names : tuple of str, (nc,)
        Contacts, in the order in which they were added.
    shapes : tuple of ContactShape, (ns,)
    memberships : tuple of (array, array), (nc,)
        Indices of the shapes of the first and of the second side of each contact, ascending. Both sides may contain
        the same shapes.
    excluded : (k, 3) int
        Rows (contact, body, body), the smaller number of a body first: pairs of bodies that do not touch. A body never
        touches itself; such pairs are not listed.
    filtered : (nc,) bool
        Contacts to which the bits of shapes apply, rule (3).
    surfaces : tuple of Surface or None
        The first is None: no surface.
    materials : tuple of ContactMaterial
    material_index : (nc, n, n) int
        Index in `materials` by contact and surfaces of the two shapes, symmetric; -1 where no such shapes meet.
    notes : tuple of str
    """

    names: tuple[str, ...]
    shapes: tuple[ContactShape, ...]
    memberships: tuple[tuple[IndexArray, IndexArray], ...]
    excluded: IndexArray
    filtered: BoolArray
    surfaces: tuple[Surface | None, ...]
    materials: tuple[ContactMaterial, ...]
    material_index: IndexArray
    body_names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    _sides: BoolArray = field(init=False, repr=False)
    _excluded: tuple[frozenset[tuple[int, int]], ...] = field(init=False, repr=False)
    _on_both_sides: tuple[frozenset[int], ...] = field(init=False, repr=False)  # bodies

    def __post_init__(self) -> None:
        sides = np.zeros((len(self.names), 2, len(self.shapes)), dtype=bool)
        for c, pair in enumerate(self.memberships):
            for side, members in enumerate(pair):
                sides[c, side, members] = True
        object.__setattr__(self, "_sides", sides)
        bodies = self.bodies
        both = [np.intersect1d(bodies[one], bodies[two]).tolist() for one, two in self.memberships]
        object.__setattr__(self, "_on_both_sides", tuple(map(frozenset, both)))
        rows = [self.excluded[self.excluded[:, 0] == c, 1:].tolist() for c in range(len(self.names))]
        object.__setattr__(self, "_excluded", tuple(frozenset((i, j) for i, j in pairs) for pairs in rows))

    @property
    def bodies(self) -> IndexArray:
        """Number of the body of each shape, (ns,)."""
        return np.array([shape.body for shape in self.shapes], dtype=np.int64)

    @property
    def rigid_names(self) -> tuple[str, ...]:
        """Contacts with a pair of surfaces without stiffness."""
        found = []
        for c, name in enumerate(self.names):
            numbers = self.material_index[c]
            found += [name] * any(not self.materials[k].is_soft for k in np.unique(numbers[numbers >= 0]).tolist())
        return tuple(found)

    def __repr__(self) -> str:
        return f"<ContactTables: {len(self.names)} contacts, {len(self.shapes)} shapes>"

    def contact_of(self, i: int, j: int) -> int:
        """Return the index of the contact of two shapes; -1 if they do not touch."""
        one, two = self.shapes[i], self.shapes[j]
        if one.body == two.body:
            return -1
        bodies = (min(one.body, two.body), max(one.body, two.body))
        meets = bool((one.type & two.affinity) | (two.type & one.affinity))
        across = (self._sides[:, 0, i] & self._sides[:, 1, j]) | (self._sides[:, 1, i] & self._sides[:, 0, j])
        for c in np.flatnonzero(across)[::-1].tolist():
            if bodies not in self._excluded[c] and (meets or not self.filtered[c]):
                return int(c)
        return -1

    def material_of(self, contact: int, i: int, j: int) -> ContactMaterial:
        """Return the material of a contact between two shapes."""
        return self.materials[int(self.material_index[contact, self.shapes[i].surface, self.shapes[j].surface])]

    def pair_name(self, contact: int, i: int, j: int) -> str:
        """Return the name of a contact between bodies number `i` and `j`: ``"floor/crate"``, ``"grip/left/part"``.

        Where both bodies are on both sides, the one that was added first comes first.
        """
        if i > j and {i, j} <= self._on_both_sides[contact]:
            i, j = j, i
        return "/".join([self.names[contact], *(self.body_names[k - 1] for k in (i, j) if k)])


def compile_contacts(forest: Forest) -> ContactTables | None:
    """Return the tables of the contacts of a system; None if it has none.

    Raises
    ------
    ModelError
        If a side of a contact has no shape, a shape has no thickness, or no pair is left.
    """
    system = forest.system
    if not system.contacts:
        return None
    pool = _ShapePool(system)
    sides = [tuple(pool.side(contact, field) for field in ("first", "second")) for contact in system.contacts.values()]
    shapes, surfaces = pool.shapes(forest)
    memberships = tuple((np.array(one, dtype=np.int64), np.array(two, dtype=np.int64)) for one, two in sides)
    bodies = np.array([shape.body for shape in shapes], dtype=np.int64)
    excluded, notes = excluded_pairs(forest, [(bodies[one], bodies[two]) for one, two in memberships])
    index, materials, remarks = _materials(system, shapes, surfaces, memberships)
    tables = ContactTables(
        names=tuple(system.contacts),
        shapes=shapes,
        memberships=memberships,
        excluded=excluded,
        filtered=np.array([contact.has_all_bodies for contact in system.contacts.values()], dtype=bool),
        surfaces=surfaces,
        materials=materials,
        material_index=index,
        body_names=forest.bodies[1:],
        notes=tuple(dict.fromkeys([*pool.notes, *notes, *remarks])),
    )
    _check_pairs(tables)
    return tables


def left_out_notes(tables: ContactTables | None) -> list[str]:
    """Return a note for analyses without rigid contact, if a system has any; compliant contacts are force laws."""
    names = () if tables is None else tables.rigid_names
    return [f"rigid contacts were left out: {', '.join(map(repr, names))}"] if names else []


class _ShapePool:
    """Geometry of all contacts, each piece once, with the largest rounding that a contact gives it."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.notes: list[str] = []
        self._pieces: list[tuple[Body, Visual, bool, str]] = []  # body, geometry, its own, item of errors
        self._rounding: list[float] = []
        self._index: dict[int, list[int]] = {}  # by member

    def side(self, contact: ContactGroup, field: str) -> list[int]:
        """Return the indices of the pieces of a side of a contact."""
        found: set[int] = set()
        for member in getattr(contact, field):
            if member == ALL_BODIES:
                found.update(k for body in (self.system.ground, *self.system.bodies.values()) for k in self._all(body))
            else:
                found.update(self._named(member, contact, field))
        if not found:
            remedy = "no body has a shape: give bodies shapes, or decorate them"
            reasons = [note for note in self.notes if "left out of contacts" in note]
            if reasons:
                remedy = f"all {len(reasons)} shapes were left out: {reasons[0]}"
            raise ModelError(f"contact {contact.name!r}", field, "without any shape", remedy)
        for k in found:
            self._rounding[k] = max(self._rounding[k], self._rounding_of(contact, k))
        return sorted(found)

    def _rounding_of(self, contact: ContactGroup, k: int) -> float:
        if contact.rounding is not None:
            return contact.rounding
        look = self._pieces[k][1]
        if (contact.stiffness, contact.young, contact.depth) == (None,) * 3 or look.kind in _SMOOTH:
            return 0.0
        radius = SOFT_ROUNDING * convex_of(look).thickness
        name = self._pieces[k][0].name
        self.notes.append(f"{name}: edges were rounded by {radius:.3g} m for compliant contact; rounding= sets it")
        return radius

    def _all(self, body: Body) -> list[int]:
        """Return the pieces of a body among all bodies; those that cannot touch are left out, with a note."""
        if id(body) in self._index:
            return self._index[id(body)]
        if body.flexible is not None:
            self.notes.append(f"{body.name}: flexible bodies do not touch; it was left out of contacts")
            return []
        found = []
        for look in geometry_of(body):
            try:
                found += self._add(body, look, True, f"body {body.name!r}")
            except ModelError as error:
                self.notes.append(f"{body.name}: a {look.kind} was left out of contacts: {error}")
        self._index[id(body)] = found
        return found

    def _named(self, member: Body | PlacedShape, contact: ContactGroup, field: str) -> list[int]:
        """Return the pieces of a body or shape that a contact names; those that cannot touch raise an error."""
        if id(member) in self._index and (isinstance(member, PlacedShape) or self._index[id(member)]):
            return self._index[id(member)]
        item = f"contact {contact.name!r}"
        if isinstance(member, PlacedShape):
            look, R, p = visual_of_shape(member.shape), member.marker.rotation, member.marker.position
            if look is None:
                raise ModelError(item, "radius of a rod", 0.0, "a slender rod has no thickness: give it a radius")
            look = replace(look, position=p + R @ look.position, rotation=R @ look.rotation)
            found = self._add(member.marker.body, look, False, item)
        else:
            found = [k for look in geometry_of(member) for k in self._add(member, look, True, f"body {member.name!r}")]
            if not found:
                remedy = "it has no shape: give it one, or decorate it with boxes, cylinders, spheres"
                raise ModelError(item, field, member.name, remedy)
        self._index[id(member)] = found
        return found

    def _add(self, body: Body, look: Visual, is_own: bool, item: str) -> list[int]:
        """Add the convex pieces of a geometry; return their indices."""
        whole = thickened(look)
        if whole.kind == "mesh" and (fault := surface_of(whole).error):
            if not is_own or (body.shape is not None and body.shape.surface is look.surface):
                raise ModelError(item, "surface of a mesh", look.file or "triangles", f"{fault}; give it thickness=")
            self.notes.append(f"{body.name}: the surface of a mesh is not closed; its hull touches")
        pieces = convex_pieces(whole)
        for piece in pieces:
            _check_thickness(piece, item)
        self._note_excess(body, whole, pieces)
        self._pieces += [(body, piece, is_own, item) for piece in pieces]
        self._rounding += [0.0] * len(pieces)
        return list(range(len(self._pieces) - len(pieces), len(self._pieces)))

    def _note_excess(self, body: Body, whole: Visual, pieces: list[Visual]) -> None:
        ratio = excess_volume(whole)
        if whole.pieces is not None and whole.kind == "mesh":
            volume = sum(surface_of(piece).solid()[0] for piece in pieces) / surface_of(whole).solid()[0]
            self.notes.append(
                f"{body.name}: a mesh touches by {len(pieces)} convex pieces with {volume:.3g} of its volume; "
                f"its hull has {ratio:.3g}"
            )
        elif ratio > EXCESS_VOLUME_NOTED:
            remedy = "; pieces= of the mesh cuts it" if whole.kind == "mesh" else ""
            self.notes.append(
                f"{body.name}: a {whole.kind} is not convex; its hull touches, {ratio:.3g} of its volume{remedy}"
            )

    def shapes(self, forest: Forest) -> tuple[tuple[ContactShape, ...], tuple[Surface | None, ...]]:
        """Return the shapes, and their surfaces."""
        surfaces: dict[Surface | None, int] = {None: 0}
        made = []
        for (body, look, is_own, item), rounding in zip(self._pieces, self._rounding, strict=True):
            try:
                convex = convex_of(look, 0.0 if look.kind in _SMOOTH else rounding)
            except ModelError as error:
                raise ModelError(item, error.field, error.value, error.remedy) from None
            rule = look.contact
            surface = body.surface if body.surface is not None or rule is None else rule.surface
            number = surfaces.setdefault(surface, len(surfaces))
            bits = (ALL_BITS, ALL_BITS) if rule is None else (rule.type, rule.affinity)
            own = forest.number[body.name]
            made.append(ContactShape(own, body.name, convex, convex.thickness, number, *bits, is_own))
        return tuple(made), tuple(surfaces)


_SMOOTH = ("sphere", "capsule", "plane", "height field")  # without edges to be rounded


def _check_thickness(look: Visual, item: str) -> None:
    """Raise an error for a geometry without thickness."""
    thickness = convex_of(look).thickness
    size = max((abs(x) for key, x in look.size.items() if key != "axis"), default=0.0)
    if thickness > 0.0:
        return
    lengths = ", ".join(f"{key} {x:.6g}" for key, x in look.size.items() if key not in ("axis", "area"))
    if look.kind in ("cylinder", "capsule", "sphere", "tube"):
        raise ModelError(item, "radius", 0.0, f"a line of {size:.6g} m cannot touch: give it a radius")
    if look.kind == "plate":
        raise ModelError(item, "thickness", 0.0, f"a plate ({lengths}) without thickness cannot touch: give thickness=")
    raise ModelError(item, "thickness", thickness, f"the hull of a {look.kind} ({lengths}) is flat and cannot touch")


def _materials(
    system: System,
    shapes: tuple[ContactShape, ...],
    surfaces: tuple[Surface | None, ...],
    memberships: Iterable[tuple[IndexArray, IndexArray]],
) -> tuple[IndexArray, tuple[ContactMaterial, ...], list[str]]:
    """Return the index of the material by contact and two surfaces, the materials, and notes.

    Contacts have materials of their own, so that numbers of one contact can vary.
    """
    pairs = {frozenset((pair.first, pair.second)): pair for pair in system.surface_pairs}
    own = np.array([shape.surface for shape in shapes], dtype=np.int64)
    index = np.full((len(system.contacts), len(surfaces), len(surfaces)), -1, dtype=np.int64)
    materials: dict[tuple[int, ContactMaterial], int] = {}
    notes: list[str] = []
    for c, (contact, (one, two)) in enumerate(zip(system.contacts.values(), memberships, strict=True)):
        for i in np.unique(own[one]).tolist():
            for j in np.unique(own[two]).tolist():
                first, second = surfaces[i], surfaces[j]
                pair = None if first is None or second is None else pairs.get(frozenset((first, second)))
                material, note = material_of_surfaces(contact, first, second, pair)
                index[c, i, j] = index[c, j, i] = materials.setdefault((c, material), len(materials))
                notes += [f"contact {contact.name!r}: {note}"] * bool(note)
    return index, tuple(material for _, material in materials), notes


def _check_pairs(tables: ContactTables) -> None:
    """Raise an error for a contact whose pairs of bodies are all left out."""
    bodies = tables.bodies
    for c, (one, two) in enumerate(tables.memberships):
        first, second = (set(bodies[side].tolist()) for side in (one, two))
        if len(first) * len(second) > len(tables.excluded) + 2 * len(first | second):
            continue  # more pairs than are left out
        pairs = {(min(i, j), max(i, j)) for i in first for j in second if i != j}
        if pairs <= tables._excluded[c]:
            remedy = "bodies joined by a joint do not touch: give neighbours=True"
            if not pairs:
                remedy = "a body does not touch itself: name two bodies"
            elif any(i == 0 for i, _ in pairs) and len(pairs) == 1:
                remedy = "it does not move relative to the other body"
            names = [tables.pair_name(c, *pair).partition("/")[2] for pair in list(pairs)[:4]]
            raise ModelError(f"contact {tables.names[c]!r}", "pairs", names or "none", remedy)
