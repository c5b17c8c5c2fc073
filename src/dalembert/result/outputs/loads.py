"""Outputs of connection loads: loads on second markers, multipliers, efforts of drives and couplings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Array, BoolArray
from ...connections.connection import Connection
from ...connections.constraints.chains import KinematicChain
from ...connections.constraints.couplings import CoordinateConnection, CustomCoupling
from ...connections.constraints.ropes import Rope
from ...connections.elements.built_in import ForceConnection
from ...connections.elements.element import Element
from ...connections.joints import Joint
from ...model import Model
from ...model.drive_targets import driven_row
from ...model.undetermined_efforts import undetermined_multipliers
from .chain_coordinates import inner_output, inner_quantities
from .line_elements import line_output, line_quantities
from .motion import Motion
from .output import Output, Source, Value, number, vector
from .units import effort_unit, row_units

__all__ = [
    "LOAD_PARTS",
    "ROPE_QUANTITIES",
    "connection_load",
    "constraint_output",
    "coupling_output",
    "force_element_output",
    "force_element_quantities",
    "multiplier",
]

ROPE_QUANTITIES = ("distance", "rate", "tension", "taut")
LOAD_PARTS = {"moment": (slice(0, 3), "N m", " about its origin"), "force": (slice(3, 6), "N", "")}


def connection_load(model: Model, owner: str, quantity: str, name: str) -> Output:
    """Return force or moment of a connection as an output."""
    part, unit, about = LOAD_PARTS[quantity]
    place = model.connection_names.index(owner)
    meaning = f"{quantity} of connection {owner!r} on its second marker{about}"
    source = Source.span("loads", range(6 * place + part.start, 6 * place + part.stop))
    output = vector(name, unit, meaning, lambda m: m.part("loads")[:, place, part].copy(), "dynamics", source)
    return replace(output, determined=lambda m: m.part("unique")[:, place, part] > 0)


def multiplier(model: Model, row: str, name: str) -> Output:
    """Return the multiplier of a constraint row as an output."""
    index = model.constraint_names.index(row)
    meaning = f"multiplier of constraint row {row!r}, acting on the second marker"
    return number(
        name,
        row_units(model)[index],
        meaning,
        lambda m: m.part("lam")[:, index].copy(),
        "dynamics",
        Source("lam", (index,)),
    )


def constraint_output(model: Model, loop_constraint: Connection, quantity: str, name: str) -> Output | None:
    """Return an output of a constraint: a row, or the effort of a drive."""
    rows = loop_constraint.element.rows
    if isinstance(loop_constraint.element, KinematicChain) and quantity in inner_quantities(loop_constraint.element):
        return inner_output(loop_constraint, quantity, name)
    if isinstance(loop_constraint.element, Rope) and quantity in ROPE_QUANTITIES:
        return _rope_output(model, loop_constraint, quantity, name)
    if quantity in rows:
        return multiplier(model, f"{loop_constraint.name}.{quantity}", name)
    row, _, ending = quantity.rpartition(".")
    drives = [d for d in model.drives if d.connection.name == loop_constraint.name]
    if row:
        drives = [d for d in drives if rows[d.coordinate] == row]
    if ending != "effort" or len(drives) != 1:
        return None
    drive = drives[0]
    unit = "N m" if rows[drive.coordinate] == "angle" else "N"
    meaning = f"effort of the drive of constraint {drive.name!r}, along the driven quantity"
    output, at = number(name, unit, meaning, lambda m: m.effort(drive), "dynamics"), driven_row(model, drive)

    def unique(m: Motion) -> BoolArray:
        return np.array([not undetermined_multipliers(model, q, t)[at] for q, t in zip(m.q, m.t.tolist(), strict=True)])

    return replace(output, determined=unique)


def _rope_output(model: Model, loop_constraint: Connection, quantity: str, name: str) -> Output:
    """Return the distance of a rope's ends, its rate, the tension, and whether it is taut."""
    q, v = model.compiled.names.ropes[loop_constraint.name]
    place = model.nv + v

    def stop(m: Motion) -> Array:
        value = np.zeros(len(m))
        for rows, conditions in [] if m.conditions is None else m.conditions(m.t):
            value[rows] = float(place in conditions.locked)
        return value

    rope = f"rope {loop_constraint.name!r}"
    sources = {"distance": Source("cut_q", (q,)), "rate": Source("cut_v", (v,))}
    outputs: dict[str, tuple[str, str, Value, str]] = {
        "distance": ("m", f"distance between the ends of {rope}", lambda m: m.part("cut_q")[:, q].copy(), "position"),
        "rate": ("m/s", "its rate", lambda m: m.part("cut_v")[:, v].copy(), "speed"),
        "tension": ("N", f"tension of {rope}", lambda m: -m.part("constraint_effort")[:, place], "dynamics"),
        "taut": ("1", f"1 while {rope} is taut, else 0", stop, "speed"),
    }
    return number(name, *outputs[quantity], sources.get(quantity))


def coupling_output(model: Model, coupling: CoordinateConnection, quantity: str, name: str) -> Output | None:
    """Return the effort of a coupling, which is its multiplier."""
    if quantity not in ("effort", *coupling.element.rows):
        return None
    formula = isinstance(coupling.element, CustomCoupling)
    meaning = f"effort of coupling {coupling.name!r} on its second coordinate"
    if formula:
        meaning = f"multiplier of the formula of coupling {coupling.name!r}"
    return replace(multiplier(model, f"{coupling.name}.{coupling.element.rows[0]}", name), meaning=meaning)


def force_element_output(model: Model, owner: str, quantity: str, name: str) -> Output | None:
    """Return an output of a force element: loads on its markers, efforts at its coordinates, states and signals."""
    force = model.system.forces[owner]
    if quantity not in force_element_quantities(force):
        return None
    element = force.element
    if isinstance(element, Element) and quantity in element.states:
        row = model.state_names.index(f"{owner}.{quantity}")
        meaning = f"state {quantity!r} of element {owner!r}"
        return number(name, "", meaning, lambda m: m.x[:, row].copy(), "speed", Source("x", (row,)))
    if isinstance(element, Element) and quantity in element.signals:
        column = model.compiled.elements.signals[f"{owner}.{quantity}"]
        meaning = f"signal {quantity!r} of element {owner!r}"
        source = Source("signals", (column,))
        return number(name, "", meaning, lambda m: m.part("signals")[:, column].copy(), "speed", source)
    if quantity in line_quantities(force):
        return line_output(model, force, quantity, name)
    plain = quantity.rstrip("0123456789")
    port = int(quantity[len(plain) :] or 1) - 1
    place = model.compiled.elements.indices[owner]
    if plain == "effort":
        joint, coordinate = force.joint_coordinates[port]
        assert isinstance(joint.element, Joint)
        unit = effort_unit(joint.element.speed_units[coordinate])
        measure = place.measures.start + port  # one for each coordinate
        meaning = f"effort of element {owner!r} at its coordinate"
        source = Source("forces", (measure,))
        return number(name, unit, meaning, lambda m: m.part("forces")[:, measure].copy(), "speed", source)
    part, unit, about = LOAD_PARTS[plain]
    end = place.ports[port]
    meaning = f"{plain} of element {owner!r} on its second marker{about}"
    return vector(name, unit, meaning, lambda m: m.part("port_loads")[:, end, part].copy(), "speed")


def force_element_quantities(force: ForceConnection) -> list[str]:
    """Return the suffixes of the outputs of a force element: it acts on markers, or at coordinates."""
    element = force.element
    kinds = ["effort"] if force.joint_coordinates else ["force", "moment"]
    ports = len(force.joint_coordinates) or len(force.ends) - 1
    loads = kinds if ports <= 1 else [f"{kind}{k + 1}" for k in range(ports) for kind in kinds]
    own = [*element.states, *element.signals] if isinstance(element, Element) else []
    return [*loads, *own, *(each for each in line_quantities(force) if each not in own)]
