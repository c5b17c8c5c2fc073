"""Compliant contacts as elements of the core: one for each pair of shapes, with its bristles as states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..connections.contacts.contact_material import ContactMaterial
from ..connections.contacts.normal_law import (
    LEAST_RESTITUTION,
    dissipation_at,
    hertz_stiffness,
    tangential_ratio,
)
from ..errors import ModelError
from ..system.topology import Forest
from .contacts import ContactShape, ContactTables
from .schema import number

if TYPE_CHECKING:
    from .elements import CompileContext

__all__ = ["CONTACT_PARAMETERS", "SoftPair", "add_contact_elements"]

CONTACT_PARAMETERS = ("stiffness", "exponent", "dissipation", "friction", "static_friction")
MAX_PAIRS = 20_000  # beyond: rigid contact by steps searches among them


@dataclass(frozen=True)
class SoftPair:
    """Compliant contact of two shapes.

    Attributes
    ----------
    contact : int
        Index in ``ContactTables.names``.
    shapes : (int, int)
        Indices in ``ContactTables.shapes``: of the first side, of the second.
    exchanged : bool
        Whether the shape of the second side is the first of the element: a half space always is.
    parameter : int
        Index of its first parameter, the stiffness.
    states : slice
        Deflections of its bristles among the states of elements.
    factor : float
        Its stiffness by that parameter.
    tangential : float, m^(exponent - 1)
        Stiffness of bristles by the stiffness.
    mass : float, kg
        Reduced mass of both bodies.
    """

    contact: int
    shapes: tuple[int, int]
    exchanged: bool
    parameter: int
    states: slice
    factor: float
    tangential: float
    mass: float


def add_contact_elements(site: CompileContext, tables: ContactTables) -> None:
    """Add an element for every pair of shapes with a compliant material."""
    if not any(material.is_soft for material in tables.materials):
        return
    made = _ContactElements(site, tables)
    pairs = soft_pairs_of(tables)
    if len(pairs) > MAX_PAIRS:
        remedy = (
            f"compliant contacts have at most {MAX_PAIRS} pairs of shapes: leave the stiffness out, contact='steps'"
        )
        raise ModelError(f"contact {tables.names[pairs[0][0]]!r}", "pairs", len(pairs), remedy)
    for contact, i, j in pairs:
        made.add(contact, i, j)


def soft_pairs_of(tables: ContactTables) -> list[tuple[int, int, int]]:
    """Return contact, shape of the first and shape of the second side of every pair with a compliant material."""
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    for c, (one, two) in enumerate(tables.memberships):
        numbers = tables.material_index[c]
        used = {int(k) for k in numbers[numbers >= 0]}
        if not any(tables.materials[k].is_soft for k in used):
            continue
        for i in one.tolist():
            for j in two.tolist():
                key = (min(i, j), max(i, j))
                if i == j or key in found or tables.contact_of(i, j) != c:
                    continue
                if tables.material_of(c, i, j).is_soft:
                    found[key] = (c, i, j)
    return list(found.values())


class _ContactElements:
    """Elements of compliant contacts: parameters of each material once, solids once."""

    def __init__(self, site: CompileContext, tables: ContactTables) -> None:
        self.site, self.tables = site, tables
        self.load = _StaticLoads(site.forest)
        self._parameters: dict[tuple[int, ContactMaterial], tuple[int, float]] = {}
        self._solids: dict[int, int] = {}

    def add(self, contact: int, i: int, j: int) -> None:
        """Add the element of a pair of shapes."""
        tables, elements, shapes = self.tables, self.site.tables, self.tables.shapes
        exchanged = bool(np.isinf(shapes[j].thickness))
        first, second = (j, i) if exchanged else (i, j)
        if np.isinf(shapes[second].thickness):
            remedy = "two half spaces cannot touch: use a box for one of them"
            raise ModelError(f"contact {tables.names[contact]!r}", "shapes", "two planes", remedy)
        material = tables.material_of(contact, i, j)
        bodies = (shapes[first].body, shapes[second].body)
        k = self._stiffness(contact, material, first, second, bodies)
        parameter, reference = self._parameters_of(contact, material, k)
        n = _exponent(material)
        load = self.load.weight(*bodies)
        mass = self.load.reduced_mass(*bodies)
        depth = (load / k) ** (1.0 / n)
        if not load:  # without gravity that of an impact
            depth = (0.5 * (n + 1.0) * mass * material.at_speed**2 / k) ** (1.0 / (n + 1.0))
        tangential = tangential_ratio(material.poisson) * n * depth ** (n - 1.0)
        solids = [self._solid(first), self._solid(second)]
        rubs = max(material.friction, material.static_friction) > 0.0
        width = 2 if shapes[first].convex.solid.is_half_space else 3
        count = width * _core.bristle_count(*(elements.solids[s] for s in solids)) if rubs else 0
        start = len(elements.state_names)
        pair = SoftPair(
            contact,
            (i, j),
            exchanged,
            parameter,
            slice(start, start + count),
            k / reference,
            tangential,
            mass,
        )
        label = f"{tables.pair_name(contact, shapes[i].body, shapes[j].body)}.bristle"
        known = set(elements.state_names)
        if f"{label}1" in known:  # bodies of several shapes
            label = f"{label}{i}_{j}_"
        elements.state_names += [f"{label}{k + 1}" for k in range(count)]
        elements.starts += [0.0] * count
        row = elements.contact_pairs.add(
            factor=pair.factor, tangential=tangential, mass=mass, first=solids[0], second=solids[1]
        )
        elements.soft_pairs.append(pair)
        elements.add_element(
            "",
            [self._port(shapes[first], shapes[second])],
            6,
            form=number("law_form", "contact"),
            law=row,
            parameter=parameter,
            parameters=len(CONTACT_PARAMETERS),
            state=start if count else 0,
            states=count,
        )

    def _port(self, first: ContactShape, second: ContactShape) -> int:
        ends: dict[str, Any] = {}
        for name, shape in (("a", first), ("b", second)):
            R, p = self.site.frames.to_kernel(shape.body, shape.convex.rotation, shape.convex.position)
            place = self.site.frames.layout.find(self._origin(shape))
            ends |= {f"body_{name}": place, f"R_F{name.upper()}": R, f"p_F{name.upper()}": p}
        return self.site.tables.ports.add(
            measure=number("measure", "pose"), **ends, dof=-1, coordinate=-1, loop_constraint=-1
        )

    def _origin(self, shape: ContactShape) -> Any:
        system = self.site.forest.system
        return (system.bodies[shape.name] if shape.body else system.ground).origin

    def _solid(self, shape: int) -> int:
        solids = self.site.tables.solids
        if shape not in self._solids:
            self._solids[shape] = len(solids)
            solids.append(self.tables.shapes[shape].convex.solid)
        return self._solids[shape]

    def _parameters_of(self, contact: int, material: ContactMaterial, k: float) -> tuple[int, float]:
        """Return the first parameter of a material in a contact, and the reference of its stiffness."""
        key = (contact, material)
        if key not in self._parameters:
            reference = k if material.modulus is None else material.modulus
            name = self.tables.names[contact]
            own = [m for c, m in self._parameters if c == contact]
            labels = [f"{name}.{label}" if not own else "" for label in CONTACT_PARAMETERS]
            if material.modulus is not None and labels[0]:
                labels[0] = f"{name}.modulus"
            values = (
                reference,
                _exponent(material),
                dissipation_at(material.restitution, material.at_speed),
                material.friction,
                max(material.friction, material.static_friction),
            )
            self._parameters[key] = self.site.tables.add_parameters(labels, values), reference
            if material.restitution < LEAST_RESTITUTION:
                self.site.tables.notes.append(
                    f"contact {name!r}: restitution {material.restitution:.3g} needs infinite damping in compliant "
                    f"contact; {LEAST_RESTITUTION} was used"
                )
        return self._parameters[key]

    def _stiffness(
        self, contact: int, material: ContactMaterial, first: int, second: int, bodies: tuple[int, int]
    ) -> float:
        """Return the stiffness of a pair, N / m^exponent."""
        if material.stiffness is not None:
            return material.stiffness
        item = f"contact {self.tables.names[contact]!r}"
        if material.depth is not None:
            load = self.load.weight(*bodies)
            if not load:
                raise ModelError(item, "depth", material.depth, "without gravity nothing sinks in: give stiffness=")
            return load / material.depth ** _exponent(material)
        assert material.modulus is not None
        radii = [self._radius(self.tables.shapes[shape]) for shape in (first, second)]
        if not all(radii):
            name = self.tables.shapes[first if not radii[0] else second].name
            remedy = f"edges of {name!r} are sharp, and Hertz's law needs a radius: give rounding=, or stiffness="
            raise ModelError(item, "rounding", 0.0, remedy)
        return hertz_stiffness(material.modulus, 1.0 / sum(1.0 / radius for radius in radii))

    def _radius(self, shape: ContactShape) -> float:
        """Return the radius of curvature of a shape, m: of round shapes their own, of others that of their edges."""
        if np.isinf(shape.thickness):
            return np.inf
        solid = shape.convex.solid
        return shape.thickness / 2 if solid.is_round else solid.radius


class _StaticLoads:
    """Masses that press on a contact: of bodies, and of all bodies that hang together in a tree."""

    def __init__(self, forest: Forest) -> None:
        bodies = [forest.system.bodies[name] for name in forest.bodies[1:]]
        self.own = [np.inf, *(float(body.mass) for body in bodies)]
        self.root = [0]
        for k, parent in enumerate(forest.parent):
            self.root.append(self.root[parent] if parent else k + 1)
        self.tree = [np.inf] + [
            sum(self.own[i] for i in range(1, len(self.own)) if self.root[i] == r) for r in self.root[1:]
        ]
        self.gravity = float(np.linalg.norm(forest.system.gravity))

    def reduced_mass(self, i: int, j: int) -> float:
        """Return the reduced mass of two bodies, kg; a massless one counts as all that hangs together with it."""
        return 1.0 / sum(1.0 / (self.own[k] or self.tree[k]) for k in (i, j))

    def weight(self, i: int, j: int) -> float:
        """Return the largest weight on a contact at rest, N: of the lighter of both trees."""
        same = self.root[i] == self.root[j]
        return self.gravity * min((self.own[k] or self.tree[k]) if same else self.tree[k] for k in (i, j))


def _exponent(material: ContactMaterial) -> float:
    return 1.5 if material.modulus is not None else material.exponent
