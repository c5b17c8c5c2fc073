"""Outputs of hinges: position, speed, acceleration, effort, of all coordinates or of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...connections.connection import Connection
from ...connections.drive_builder import turns_freely
from ...connections.joints import Hinge
from ...model import Model
from ...model.undetermined_efforts import shared_efforts
from ...rotation import quaternion_matrices
from ...system.topology import TreeHinge
from .attitude_angles import ANGLES, Attitudes, angles_output, is_angles
from .friction import DRY_QUANTITIES, dry_output
from .loads import multiplier
from .motion import Motion
from .output import Output, Value
from .units import effort_unit, joined, rate_unit

__all__ = ["Hinged", "hinge_of", "hinge_output", "hinge_quantities"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hinged:
    """A hinge, in the tree or cut, and where its motion (n, nq or nv) and what is applied at it (n, nv) come from."""

    name: str
    element: Hinge
    cut: bool
    position: Value
    speed: Value
    acceleration: Value
    applied: Value

    @classmethod
    def of_tree(cls, model: Model, hinge: TreeHinge) -> Hinged:
        """Take the motion out of q, v and a."""
        q, v = model.q_slice(hinge.name), model.v_slice(hinge.name)
        return cls(
            hinge.name,
            hinge.element,
            False,
            lambda m: m.q[:, q].copy(),
            lambda m: m.v[:, v].copy(),
            lambda m: m.part("a")[:, v].copy(),
            lambda m: m.part("tau" if m.controlled or m.holds else "applied")[:, v].copy(),
        )

    @classmethod
    def of_chord(cls, model: Model, chord: Connection) -> Hinged:
        """Take the motion of a hinge at which a loop was cut."""
        assert isinstance(chord.element, Hinge)
        names = model.compiled.names
        q, v = names.cut_q[chord.name], names.cut_v[chord.name]
        return cls(
            chord.name,
            chord.element,
            True,
            lambda m: m.part("cut_q")[:, q].copy(),
            lambda m: m.part("cut_v")[:, v].copy(),
            lambda m: m.part("cut_a")[:, v].copy(),
            lambda m: m.part("cut_effort")[:, v] + (m.part("held")[:, model.nv :][:, v] if m.holds else 0.0),
        )


def hinge_of(model: Model, name: str) -> Hinged | None:
    """Return the hinge of that name, None if there is none."""
    for hinge in model.forest.hinges:
        if hinge.name == name:
            return Hinged.of_tree(model, hinge)
    for chord in model.forest.chords:
        if chord.name == name and isinstance(chord.element, Hinge):
            return Hinged.of_chord(model, chord)
    return None


def hinge_quantities(element: Hinge, cut: bool) -> list[str]:
    """Return the endings that a hinge's outputs have."""
    motion = ["position", "speed", "acceleration"] if element.nv else []
    effort = ["effort", *(DRY_QUANTITIES if element.dry else ())] if element.nv else []
    parts = dict.fromkeys((*element.coordinates, *element.speeds))
    angles = ANGLES if turns_freely(element) else ()
    return [*motion, *parts, *angles, *effort, "force", "moment", *(element.rows if cut else ())]


def hinge_output(model: Model, hinge: Hinged, quantity: str, name: str) -> Output | None:
    """Return an output of a hinge; an empty quantity is its one coordinate."""
    element = hinge.element
    if hinge.cut and quantity in element.rows:
        return multiplier(model, f"{hinge.name}.{quantity}", name)
    if is_angles(quantity) and turns_freely(element):
        return angles_output(_attitudes(hinge), quantity, name)
    part, _, level = quantity.partition(".")
    if part in (*element.coordinates, *element.speeds):
        level = level or ("position" if part in element.coordinates else "speed")
    else:
        part, level = "", quantity or "position"
    places = level == "position"
    labels = element.coordinates if places else element.speeds
    if (
        level not in _LEVELS
        or (level in DRY_QUANTITIES and not element.dry)
        or not labels
        or (part and part not in labels)
    ):
        return None
    if not quantity and len(labels) > 1:
        return None
    make, unit = _LEVELS[level]
    units = [unit(base) for base in (element.coordinate_units if places else element.speed_units)]
    whole = make(model, hinge, name, joined(units))
    if not part and len(labels) > 1:
        return whole
    index = labels.index(part) if part else 0
    return whole.component(index, name, unit=units[index])


def _attitudes(hinge: Hinged) -> Attitudes:
    """Return the attitude of a hinge's second marker in its first; its speeds are in axes of the second."""
    q = hinge.element.coordinates.index("qw")
    w = hinge.element.speeds.index("wx")
    return Attitudes(
        f"the second marker of {hinge.name!r} in its first",
        lambda m: quaternion_matrices(hinge.position(m)[:, q : q + 4]),
        lambda m: hinge.speed(m)[:, w : w + 3],
        lambda m: hinge.acceleration(m)[:, w : w + 3],
        "turned",
    )


def _position(model: Model, hinge: Hinged, name: str, unit: str) -> Output:
    element = hinge.element
    branch = [_branch(element, coordinate) if hinge.cut else "" for coordinate in element.coordinates]
    initial = model.system.initials.get(hinge.name)
    given = element.zero if initial is None or initial.position is None else initial.position
    start = np.where(np.isnan(given), element.zero, given)
    return Output(
        name,
        unit,
        (element.nq,),
        f"position of hinge {hinge.name!r}",
        hinge.position,
        labels=element.coordinates,
        branch=tuple(branch) if any(branch) else (),
        rate=hinge.speed,
        start=start,
    )


def _branch(element: Hinge, coordinate: str) -> str:
    if coordinate in ("qw", "qx", "qy", "qz"):
        return "sign"
    return "turn" if coordinate.startswith("angle") and not element.counts_turns else ""


def _speed(model: Model, hinge: Hinged, name: str, unit: str) -> Output:
    meaning = f"speed of hinge {hinge.name!r}"
    labels = hinge.element.speeds
    return Output(name, unit, (len(labels),), meaning, hinge.speed, labels=labels, needs="speed")


def _acceleration(model: Model, hinge: Hinged, name: str, unit: str) -> Output:
    meaning = f"acceleration of hinge {hinge.name!r}"
    labels = hinge.element.speeds
    return Output(name, unit, (len(labels),), meaning, hinge.acceleration, labels=labels, needs="dynamics")


def _effort(model: Model, hinge: Hinged, name: str, unit: str) -> Output:
    labels = hinge.element.speeds
    drives = [drive for drive in model.hinge_drives if drive.connection.name == hinge.name]

    def value(m: Motion) -> Array:
        effort = hinge.applied(m)
        for drive in drives:
            effort[:, list(drive.freedoms)] = m.effort(drive).reshape(len(effort), -1)
        return effort

    meaning = f"effort at hinge {hinge.name!r}: of its drive; else of elements, friction, control and what holds it"
    needs = "dynamics" if drives else "speed"
    output = Output(name, unit, (len(labels),), meaning, value, labels=labels, needs=needs)
    if not drives or hinge.cut or not model.nc:
        return output
    span = model.v_slice(hinge.name)

    def unique(m: Motion) -> NDArray[np.bool_]:
        states = zip(m.q, m.t.tolist(), strict=True)
        return np.array([~shared_efforts(model, q, t)[span] for q, t in states]).reshape(len(m), len(labels))

    return replace(output, unique=unique)


def _dry(quantity: str) -> Callable[[Model, Hinged, str, str], Output]:
    return lambda model, hinge, name, unit: dry_output(model, hinge.name, hinge.element, quantity, name, unit)


_LEVELS: dict[str, tuple[Callable[[Model, Hinged, str, str], Output], Callable[[str], str]]] = {
    "position": (_position, str),
    "speed": (_speed, rate_unit),
    "acceleration": (_acceleration, lambda unit: rate_unit(unit, "s2")),
    "effort": (_effort, effort_unit),
    "friction": (_dry("friction"), effort_unit),
    "stuck": (_dry("stuck"), lambda unit: "1"),
    "stop": (_dry("stop"), lambda unit: "1"),
}
