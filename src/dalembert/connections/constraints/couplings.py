"""Couplings: equations between joint coordinates, linear or by a formula.

    second = ratio * first + offset

Gears, racks, belts and lead screws are couplings whose ratio follows from their geometry. Coordinates are those of the
joints that carry the wheels, relative to the bodies on which the joints are mounted: a planetary train is a coupling
between two joints on its carrier.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...checks import checked, finite, positive, set_finite
from ...errors import ModelError
from ...provenance import record_call, record_makers
from ..formulas.dependencies import inputs_of, required_instructions
from ..formulas.differentiation import Rate
from ..formulas.expressions import Program, is_symbolic
from ..formulas.formula_parameters import (
    TIME,
    as_parameters,
    changed,
    checked_names,
    checked_parameters,
    checked_tables,
    compile_into,
)
from ..formulas.program_algebra import ProgramBuilder
from ..formulas.row_programs import row_programs
from ..formulas.tables import Table
from ..formulas.traced_functions import traced
from ..joints.joint import Joint

if TYPE_CHECKING:
    from ..connection import Connection
    from .mimic import Mimic

__all__ = ["CoordinateConnection", "Coupling", "CustomCoupling", "belt", "gear", "rack_and_pinion", "screw_coupling"]

MAX_COORDINATES = 32  # coordinates of one formula: core/constraints/coupling_rows.hpp


@dataclass(frozen=True, eq=False)
class Coupling:
    """Linear coupling of two joint coordinates: second = ratio * first + offset.

    Parameters
    ----------
    ratio : float, 1, m/rad or rad/m
    offset : float, rad or m

    Connect it between two connections (or coordinates, ``"C.slide"``) in place of markers: ``s.connect("mesh",
    Coupling(-0.5), "A", "B")``. The multiplier is the effort on the second coordinate.
    """

    ratio: float
    offset: float = 0.0
    rows: ClassVar[tuple[str, ...]] = ("ratio",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)

    def __post_init__(self) -> None:
        set_finite(self, "ratio", "offset", item="Coupling", expressions=True)
        if self.ratio == 0:
            raise ModelError(
                "Coupling", "ratio", self.ratio, "a ratio of zero couples nothing; to hold a joint, use Fixed"
            )

    @property
    def kind(self) -> str:
        """Name of the element type."""
        return "Coupling"


@checked("parameters", "coordinates", "definitions", "unit", "tables")
@record_makers
class CustomCoupling:
    """Coupling of joint coordinates by a formula: f(s1, s2, ..., t) = 0, or by their rates.

    Parameters
    ----------
    formula : text, SymPy, or a function ``f(s1, s2, ..., t, *parameters)`` of the coordinates
        Residual of the coupling. A formula of the coordinates ``s1 s2 ...`` of the joints in the order of connection
        (rad or m), the time ``t`` and parameters constrains positions. A formula that uses the rates ``ds1 ds2 ...``,
        in which it must be linear, constrains velocities only (nonholonomic).
    parameters : dict of str to float
    coordinates : sequence of str
        Names of the coordinates in place of ``s1 s2 ...``; rates are then ``d`` and the name. A function needs them, or
        the number of its coordinates.
    definitions : dict of str to formula
        Named parts that the formula uses.
    unit : str
        Unit ``"m"`` or ``"rad"`` of the residual, for the closure tolerance; default that of the first coordinate.

    Connect it between joints or coordinates: ``s.connect("differential", coupling, "left", "right", "case")``. All
    derivatives follow from the formula. Its multiplier, ``"differential.effort"``, times the derivative of f by a
    coordinate is the effort at that coordinate. With a drive, the formula follows a time law instead of staying zero.

    Examples
    --------
    >>> import dalembert as da
    >>> differential = da.CustomCoupling("left + right - 2*case", coordinates=("left", "right", "case"))
    >>> cam = da.CustomCoupling("s2 - h*(1 - cos(s1))", {"h": 0.02})
    >>> len(differential.coordinates), cam.holonomic
    (3, (True,))
    """

    rows: ClassVar[tuple[str, ...]] = ("formula",)
    drivable: ClassVar[bool] = True
    limits: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    start: ClassVar[float] = 0.0

    def __init__(
        self,
        formula: Any,
        parameters: Mapping[str, float] | None = None,
        *,
        coordinates: Sequence[str] | int | None = None,
        definitions: Mapping[str, Any] | None = None,
        unit: str | None = None,
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        item = self.kind
        if unit not in (None, "m", "rad"):
            raise ModelError(item, "unit", unit, 'give "m" or "rad"')
        self.formula, self.unit = formula, unit
        self.parameters = checked_parameters(self.kind, parameters or {}, self)
        self.definitions = dict(definitions or {})
        self.tables = checked_tables(item, tables or {})
        self.coordinates = self._named(coordinates)
        if not 1 <= len(self.coordinates) <= MAX_COORDINATES:
            raise ModelError(item, "number of coordinates", len(self.coordinates), f"give one to {MAX_COORDINATES}")
        self.rates = tuple(f"d{name}" for name in self.coordinates)
        self.programs, self.by_rates = self._compiled()

    def _named(self, coordinates: Any) -> tuple[str, ...]:
        """Return the names of the coordinates: given, numbered, or as many as the formula uses."""
        item = self.kind
        if isinstance(coordinates, int):
            return tuple(f"s{k + 1}" for k in range(coordinates))
        if coordinates is not None:
            return checked_names(item, "coordinates", coordinates)
        if callable(self.formula) and not is_symbolic(self.formula):
            raise ModelError(item, "coordinates", None, "give the names of the coordinates that the function takes")
        parts = [str(self.formula), *(str(part) for part in self.definitions.values())]
        used = [int(number) for part in parts for number in re.findall(r"\bd?s([1-9][0-9]*)\b", part)]
        if not used:
            remedy = "it uses no coordinate: write s1, s2 ..., or give coordinates=(names)"
            raise ModelError(item, "formula", self.formula, remedy)
        return tuple(f"s{k + 1}" for k in range(max(used)))

    def _compiled(self) -> tuple[tuple[Program, Program], bool]:
        item, names = self.kind, self.coordinates
        formula, parts = self.formula, dict[str, str]()
        if callable(formula) and not is_symbolic(formula):
            found, parts = traced(formula, (*names, TIME, *self.parameters), item=item)
            formula = found if isinstance(found, str) or not isinstance(found, Sequence) else found[0]
        program = Program((*names, TIME, *self.rates))
        inputs = [program.emit("input", k) for k in range(2 * len(names) + 1)]
        k, n = ProgramBuilder(program), len(names)
        used = dict(zip(program.inputs, inputs, strict=True))
        named = {**as_parameters(self.parameters), **self.definitions, **parts}
        places = compile_into(k, [formula], used, named, item=item, tables=self.tables)
        speeds = inputs[n + 1 :]
        by_rates = bool(set(speeds) & required_instructions(program, places))
        moving = Rate(k, {**dict(zip(inputs[:n], speeds, strict=True)), inputs[n]: k.one})
        programs = row_programs(
            k,
            [self.formula],
            places,
            moving,
            speeds,
            item=item,
            by_rates=by_rates,
            names=self.rates,
            what="the coordinates",
        )
        return programs, by_rates

    @property
    def kind(self) -> str:
        """Name of the element type."""
        return "CustomCoupling"

    def needs_position(self, number: int) -> bool:
        """Return whether the formula uses a coordinate itself, not only its rate."""
        return any(number in inputs_of(program, program.outputs) for program in self.programs)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """True if the coupling is holonomic."""
        return (not self.by_rates,)

    def target(self, value: float, rate: float, second: float) -> tuple[float, float, float]:
        """Return residual, rate and second rate for a driven value."""
        return value, rate, second

    def with_parameters(self, **numbers: float) -> CustomCoupling:
        """Return the same coupling with other numbers for some parameters."""
        parameters = changed(self.kind, self.parameters, numbers)
        return CustomCoupling(
            self.formula,
            parameters,
            coordinates=self.coordinates,
            definitions=self.definitions,
            unit=self.unit,
            tables=self.tables,
        )

    def __repr__(self) -> str:
        return f"CustomCoupling({self.formula!r})"


@dataclass(frozen=True, eq=False)
class CoordinateConnection:
    """Coupling between coordinates of joints.

    Attributes
    ----------
    name : str
    element : Coupling, CustomCoupling or Mimic
    joint_coordinates : tuple of (Connection, int)
        Joints and the indices of their coordinates.
    """

    name: str
    element: Coupling | CustomCoupling | Mimic
    joint_coordinates: tuple[tuple[Connection, int], ...]

    @property
    def joints(self) -> tuple[Connection, ...]:
        """Coupled joints."""
        return tuple(joint for joint, _ in self.joint_coordinates)

    @property
    def first(self) -> Connection:
        """Joint of the first coordinate."""
        return self.joint_coordinates[0][0]

    @property
    def second(self) -> Connection:
        """Joint of the last coordinate."""
        return self.joint_coordinates[-1][0]

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of the row: that of the second coordinate, or of a formula."""
        formula = isinstance(self.element, CustomCoupling)
        if isinstance(self.element, CustomCoupling) and self.element.unit is not None:
            return (self.element.unit,)
        joint, coordinate = self.joint_coordinates[0 if formula else -1]
        assert isinstance(joint.element, Joint)
        return (joint.element.speed_units[coordinate],)

    @property
    def meaning(self) -> str:
        """Equation of the coupling in named coordinates."""
        if isinstance(self.element, CustomCoupling):
            return f"{self.element.formula} = 0 of {', '.join(joint.name for joint in self.joints)}"
        return f"{self.second.name} = {self.element.ratio:.6g} {self.first.name}"

    def __repr__(self) -> str:
        return f"<CoordinateConnection {self.name!r}: {self.meaning}>"


@checked("internal")
@record_call
def gear(teeth_1: float, teeth_2: float, *, internal: bool = False) -> Coupling:
    """Return the coupling of two gear wheels; they turn in opposite senses unless one is internal."""
    a, b = positive("gear", teeth_1=teeth_1, teeth_2=teeth_2).values()
    return Coupling(a / b if internal else -a / b)


@record_call
def rack_and_pinion(radius: float) -> Coupling:
    """Return the coupling of a pinion's angle (first) and a rack's slide (second): slide = radius * angle; m."""
    return Coupling(positive("rack_and_pinion", radius=radius)["radius"])


@record_call
def screw_coupling(pitch: float) -> Coupling:
    """Return the coupling of a spindle's angle (first) and a nut's slide (second): `pitch` m a revolution."""
    return Coupling(finite("screw_coupling", pitch=pitch)["pitch"] / (2 * math.pi))


@checked("crossed")
@record_call
def belt(radius_1: float, radius_2: float, *, crossed: bool = False) -> Coupling:
    """Return the coupling of two pulleys by radii (m); the same sense of rotation unless crossed."""
    a, b = positive("belt", radius_1=radius_1, radius_2=radius_2).values()
    return Coupling(-a / b if crossed else a / b)
