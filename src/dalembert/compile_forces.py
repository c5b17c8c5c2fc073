"""From force elements, drives and laws of time to the flat arrays of core/bind/build.cpp."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .connections.constraints import AxisAngle, Constraint
from .connections.elements import Element
from .connections.energetic import Effort, ForceConnection, HingeSpring, Limits, Load, SpringDamper
from .connections.hinges import Hinge, Prismatic, Revolute
from .connections.laws import Constant, Harmonic, Law, Polynomial, Ramp, Spline
from .errors import TopologyError

if TYPE_CHECKING:
    from .bodies.markers import Marker
    from .connections.connection import Connection
    from .model import Model

__all__ = ["ForceTables", "ends_in_kernel_frames", "flatten_forces"]

Array = NDArray[np.float64]

# core/model.hpp: Force and LawKind
_SPRING, _LOAD_WORLD, _LOAD_BODY, _HINGE, _EFFORT, _LIMITS, _TURN, _SLIDE = range(8)
_CONSTANT, _POLYNOMIAL, _HARMONIC, _RAMP, _TABLE, _HOSTED = range(6)


@dataclass
class ForceTables:
    """What the core needs, row by row, and what Python keeps of it.

    Attributes
    ----------
    hosted : list of Law
        Laws that the core cannot evaluate itself, in its order.
    parameters : list of float
        Numbers of the force elements.
    parameter_names : dict of str to int
        ``"k.stiffness"`` to its place among them.
    """

    force_numbers: list[Array] = field(default_factory=list)
    force_integers: list[list[int]] = field(default_factory=list)
    drive_numbers: list[float] = field(default_factory=list)
    drive_integers: list[list[int]] = field(default_factory=list)
    law_numbers: list[float] = field(default_factory=list)
    law_integers: list[list[int]] = field(default_factory=list)
    hosted: list[Law] = field(default_factory=list)
    parameters: list[float] = field(default_factory=list)
    parameter_names: dict[str, int] = field(default_factory=dict)

    def add_law(self, law: Law) -> int:
        """Return the number of a law."""
        first = len(self.law_numbers)
        count = degree = 0
        numbers: Iterable[float] = ()
        if isinstance(law, Constant):
            kind, numbers = _CONSTANT, (law.value,)
        elif isinstance(law, Polynomial):
            kind, numbers, count = _POLYNOMIAL, law.coefficients, len(law.coefficients)
        elif isinstance(law, Harmonic):
            kind, numbers = _HARMONIC, (law.amplitude, law.frequency, law.phase, law.offset)
        elif isinstance(law, Ramp):
            kind, numbers = _RAMP, (law.start, law.end, law.duration, law.begin)
        elif isinstance(law, Spline):
            ends, pieces = law.pieces()
            kind, count, degree = _TABLE, len(pieces), pieces.shape[1] - 1
            numbers = (*ends, *pieces.ravel())
        else:
            kind = _HOSTED
            self.hosted.append(law)
        self.law_numbers += [float(x) for x in numbers]
        # a law without numbers still points into them
        self.law_numbers += [0.0] * (kind == _HOSTED)
        self.law_integers.append([kind, first, count, degree])
        return len(self.law_integers) - 1

    def add_parameters(self, name: str, fields: tuple[str, ...], values: Iterable[float]) -> int:
        """Return where the numbers of an element begin."""
        first = len(self.parameters)
        self.parameter_names.update({f"{name}.{label}": first + k for k, label in enumerate(fields)})
        self.parameters += [float(x) for x in values]
        return first

    def add_force(
        self,
        kind: int,
        frames: tuple[Array, Array],
        bodies: tuple[int, int],
        place: tuple[int, int],
        parameter: int,
        law: int,
    ) -> None:
        """Add the row of a force element; frames are [R_F (9), p_F (3)] of both ends."""
        self.force_numbers.append(np.concatenate(frames))
        self.force_integers.append([kind, *bodies, *place, parameter, law])

    def arrays(self, holonomic: NDArray[np.bool_]) -> tuple[Any, ...]:
        """Return the arguments of ``_core.Model._set_forces``."""
        integers = np.int32
        return (
            np.array(self.force_numbers, dtype=float).reshape(-1, 24),
            np.array(self.force_integers, dtype=integers).reshape(-1, 7),
            np.array(self.drive_numbers, dtype=float),
            np.array(self.drive_integers, dtype=integers).reshape(-1, 6),
            np.array(self.law_numbers, dtype=float),
            np.array(self.law_integers, dtype=integers).reshape(-1, 4),
            np.array(self.parameters, dtype=float),
            holonomic.astype(integers),
        )


def flatten_forces(model: Model) -> ForceTables:
    """Return the tables of a model's force elements, hinge dampers and drives."""
    tables = ForceTables()
    for force in model.system.forces.values():
        if not isinstance(force.element, Element):
            _add_element(tables, model, force)
    for hinge in model.forest.hinges:
        if hinge.element.damping is not None:
            for k, coefficient in enumerate(np.atleast_1d(hinge.element.damping)):
                _add_hinge_damper(tables, model, hinge.name, k, float(coefficient))
    for chord in model.forest.chords:
        if isinstance(chord.element, Hinge) and chord.element.damping is not None and np.any(chord.element.damping):
            coefficient = float(np.atleast_1d(chord.element.damping)[0])
            _add_axis_element(tables, model, chord, chord.name, (0.0, coefficient, 0.0), HingeSpring.fields)
    for drive in model.drives:
        _add_drive(tables, model, drive)
    return tables


def _add_element(tables: ForceTables, model: Model, force: ForceConnection) -> None:
    element, name = force.element, force.name
    values = [getattr(element, label) for label in element.fields]
    if isinstance(element, SpringDamper):
        assert force.first is not None and force.second is not None
        frames, bodies = ends_in_kernel_frames(model, force.first, force.second)
        tables.add_force(_SPRING, frames, bodies, (-1, -1), tables.add_parameters(name, element.fields, values), -1)
    elif isinstance(element, Load):
        assert force.second is not None
        frames, bodies = ends_in_kernel_frames(model, force.second, force.second)
        laws = [tables.add_law(law) for law in element.laws]
        kind = _LOAD_WORLD if element.axes == "world" else _LOAD_BODY
        tables.add_force(kind, frames, bodies, (-1, -1), 0, laws[0])
    else:
        assert force.hinge is not None
        if force.hinge.name not in model.hinge_names:  # its loop had to be cut there
            if not isinstance(element, HingeSpring):
                raise TopologyError(
                    f"{element.kind} {name!r}: every hinge of its loop is driven, coupled or bears a force element, so "
                    f"that {force.hinge.name!r} has to be cut and has no coordinate; leave one hinge of each loop free"
                )
            _add_axis_element(tables, model, force.hinge, name, tuple(values), element.fields)
            return
        place = _place(model, force.hinge.name, force.coordinate)
        if isinstance(element, Effort):
            tables.add_force(_EFFORT, _NOWHERE, (0, 0), place, 0, tables.add_law(element.law))
        else:
            kind = _LIMITS if isinstance(element, Limits) else _HINGE
            tables.add_force(kind, _NOWHERE, (0, 0), place, tables.add_parameters(name, element.fields, values), -1)


def _add_hinge_damper(tables: ForceTables, model: Model, hinge: str, part: int, coefficient: float) -> None:
    freedom, coordinate = _place(model, hinge, part)
    freedoms = model.v_slice(hinge)
    if model.q_slice(hinge).stop - model.q_slice(hinge).start != freedoms.stop - freedoms.start:
        coordinate = -1  # an attitude: its speeds have no coordinates of their own
    first = tables.add_parameters("", (), (0.0, coefficient, 0.0))
    tables.parameter_names[f"{model.speed_names[freedom]}.damping"] = first + 1
    tables.add_force(_HINGE, _NOWHERE, (0, 0), (freedom, coordinate), first, -1)


def _add_axis_element(
    tables: ForceTables, model: Model, chord: Connection, name: str, values: tuple[float, ...], fields: tuple[str, ...]
) -> None:
    """Add a spring and damper at a hinge that was cut to close a loop."""
    element = chord.element
    if not isinstance(element, (Revolute, Prismatic)):
        raise TopologyError(
            f"{element.kind} {chord.name!r} had to be cut to close a loop and bears a spring or damper: that works for "
            "Revolute and Prismatic; give another hinge of the loop the cut, by driving or coupling this one"
        )
    frames, bodies = ends_in_kernel_frames(model, chord.first, chord.second, element.frame())
    kind = _TURN if isinstance(element, Revolute) else _SLIDE
    tables.add_force(kind, frames, bodies, (-1, -1), tables.add_parameters(name, fields, values), -1)


def _add_drive(tables: ForceTables, model: Model, drive: Any) -> None:
    element = drive.connection.element
    law = tables.add_law(drive.law)
    if isinstance(element, Constraint):
        row = model.constraint_connections.index(drive.connection.name) + drive.coordinate
        # the law's value less the residual it asks for
        cosine = isinstance(element, AxisAngle)
        offset = np.cos(1.0) - element.target(1.0, 0.0, 0.0)[0] if cosine else -element.target(0.0, 0.0, 0.0)[0]
        tables.drive_integers.append([row, -1, -1, law, drive.level, int(cosine)])
        tables.drive_numbers.append(float(offset))
    else:
        tables.drive_integers.append([-1, *_place(model, drive.connection.name, drive.coordinate), law, drive.level, 0])
        tables.drive_numbers.append(0.0)


def _place(model: Model, hinge: str, part: int) -> tuple[int, int]:
    return model.v_slice(hinge).start + part, model.q_slice(hinge).start + part


def ends_in_kernel_frames(
    model: Model, first: Marker, second: Marker, axes: Array | None = None
) -> tuple[tuple[Array, Array], tuple[int, int]]:
    """Return [R_F, p_F] of both markers in kernel frames, turned by `axes`, and their bodies."""
    frames, bodies = [], []
    for marker in (first, second):
        body, R, p = model.frames.place(marker, axes)
        frames.append(np.concatenate([R.ravel(), p]))
        bodies.append(body)
    return (frames[0], frames[1]), (bodies[0], bodies[1])


_NOWHERE = (np.zeros(12), np.zeros(12))
