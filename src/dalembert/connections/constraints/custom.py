"""User-written constraints, given by their equations.

Derivatives follow from the formulas, so that these constraints are used like those of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ...checks import checked, set_fields
from ...errors import ModelError
from ...provenance import record_makers
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
from ..formulas.program_algebra import Matrix, ProgramBuilder, Vector
from ..formulas.row_programs import row_programs
from ..formulas.tables import Table
from ..formulas.traced_functions import traced
from .geometric import Constraint

__all__ = ["CustomConstraint", "PfaffianConstraint"]


@dataclass(frozen=True, eq=False)
class _RowsByFormula(Constraint):
    """Base of custom constraints: formulas of the relative pose, its rates, time and parameters."""

    formulas: Any = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)
    names: Any = None
    units: Any = "m"
    tables: Mapping[str, Table] = field(default_factory=dict)
    programs: tuple[Program, Program] = field(init=False, repr=False)
    """From x y z, R (9), t: residuals, g (6 a row), drifts; from these, angular velocity and velocity: biases."""
    rows: Any = field(init=False)  # type: ignore[misc]
    form: ClassVar[str] = "custom"
    nonholonomic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        item = self.kind
        parameters = checked_parameters(self.kind, self.parameters, self)
        formulas, parts = self.formulas, dict[str, str]()
        if callable(formulas) and not is_symbolic(formulas):
            formulas, parts = self._traced(formulas, tuple(parameters))
        if isinstance(formulas, str) or is_symbolic(formulas) or not isinstance(formulas, Sequence):
            formulas = (formulas,)
        if not 1 <= len(formulas) <= 6:
            raise ModelError(item, "number of rows", len(formulas), "give one to six")
        count = len(formulas)
        if self.names is None:
            names: tuple[str, ...] = tuple(f"f{k + 1}" for k in range(count))
        else:
            names = checked_names(item, "names", self.names, reserved=False)
        if len(names) != count:
            raise ModelError(item, "names", names, f"give {count}: one for each row")
        units = (self.units,) * count if isinstance(self.units, str) else tuple(self.units)
        if len(units) != count or not set(units) <= {"m", "rad"}:
            raise ModelError(item, "units", self.units, 'give "m" or "rad", one or one for each row')
        set_fields(self, rows=names, units=units, parameters=parameters)
        definitions = {**as_parameters(parameters), **dict(self.definitions), **parts}
        set_fields(self, programs=self._compiled(formulas, definitions))

    def _traced(self, function: Callable[..., Any], parameters: Sequence[str]) -> tuple[Any, dict[str, str]]:
        """Return the formulas of a function of p, R, t (or p, R, v, w, t) and parameters, and their parts."""

        def called(*x: Any) -> Any:
            p, R = np.array(x[:3], dtype=object), np.array(x[3:12], dtype=object).reshape(3, 3)
            rates = [np.array(x[k : k + 3], dtype=object) for k in ((13, 16) if self.nonholonomic else ())]
            return function(p, R, *rates, x[12], *x[19 if self.nonholonomic else 13 :])

        rates = _RATES if self.nonholonomic else ()
        return traced(called, (*_PLACE, *_ENTRIES, TIME, *rates, *parameters), item=self.kind)

    def __repr__(self) -> str:
        return f"{self.kind}({self.formulas!r})"

    @property
    def holonomic(self) -> tuple[bool, ...]:  # type: ignore[override]
        """Holonomic flags of the rows."""
        return (not self.nonholonomic,) * len(self.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of the rows."""
        return tuple(self.units)

    def with_parameters(self, **numbers: float) -> Self:
        """Return the same constraint with other numbers for some parameters."""
        parameters = changed(self.kind, self.parameters, numbers)
        return type(self)(
            self.formulas,
            parameters,
            definitions=self.definitions,
            names=self.rows,
            units=self.units,
            tables=self.tables,
        )

    def _compiled(self, formulas: Sequence[Any], definitions: dict[str, Any]) -> tuple[Program, Program]:
        item = self.kind
        k, p, R, w, v, t, named = _pose_inputs()
        spun = k.product(k.skew(w), R)
        used = {**named, **(dict(zip(_RATES, (*v, *w), strict=True)) if self.nonholonomic else {})}
        tables = checked_tables(item, self.tables)
        places = compile_into(k, formulas, used, definitions, item=item, tables=tables)
        entries = [entry for row in R for entry in row]
        moving = Rate(k, {**dict(zip([*p, *entries], [*v, *(e for row in spun for e in row)], strict=True)), t: k.one})
        return row_programs(
            k,
            formulas,
            places,
            moving,
            [*w, *v],
            item=item,
            by_rates=self.nonholonomic,
            names=_RATES,
            what="the relative motion of the markers",
        )


@checked("parameters", "definitions", "names", "units", "tables")
@record_makers
class CustomConstraint(_RowsByFormula):
    """Equations f(y, t) = 0 between two markers, y the pose of the second in the first.

    Parameters
    ----------
    residual : formula, or sequence of one to six
        Of the position ``x y z`` (m), the rotation matrix ``Rxx Rxy ... Rzz`` (``Rxy``: x component of the second
        marker's y axis), the rotation vector ``rx ry rz`` (rad, turns below 180 degrees), the time ``t``, and
        parameters. Text or SymPy. Or a Python function ``f(p, R, t, *parameters)`` of position (3,) and rotation matrix
        (3, 3), traced once like that of a `CustomJoint`.
    parameters : dict of str to float
    definitions : dict of str to formula
        Named subexpressions of the formulas.
    names : sequence of str
        Names of the rows; ``f1``, ``f2`` ... if left out.
    units : str or sequence of str
        Units ``"m"`` or ``"rad"`` of the residuals, for the closure tolerance.
    tables : dict of str to Table
        Functions that formulas call by name, as in a `CustomJoint`.

    Each residual is a row P_y y' + P_oy = 0 and so on (Sol 1983, (3.3.4)-(3.3.10)), with all derivatives found from the
    formulas. The load is P_y^T times the multipliers. Dependent rows are treated as in other loops. Angles are best
    constrained by entries of the rotation matrix, which are smooth in every orientation. A drive of ``"name.f1"`` lets
    a formula follow a time law instead of staying zero.

    Examples
    --------
    >>> import dalembert as da
    >>> ellipsoid = da.CustomConstraint("(x/a)**2 + (y/b)**2 + (z/c)**2 - 1", {"a": 1.0, "b": 0.8, "c": 0.5})
    >>> ellipsoid.rows
    ('f1',)
    """

    drivable: ClassVar[bool] = True

    def __init__(
        self,
        residual: Any,
        parameters: Mapping[str, float] | None = None,
        *,
        definitions: Mapping[str, Any] | None = None,
        names: Sequence[str] | None = None,
        units: str | Sequence[str] = "m",
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        super().__init__(residual, parameters or {}, definitions or {}, names, units, tables or {})


@checked("parameters", "definitions", "names", "units", "tables")
@record_makers
class PfaffianConstraint(_RowsByFormula):
    """Nonholonomic equations between two markers, linear in the rates: P_v v + P_w w + P_0 = 0.

    Parameters
    ----------
    rows : formula, or sequence of one to six
        Residuals: of the velocity ``vx vy vz`` (m/s) and angular velocity ``wx wy wz`` (rad/s) of the second marker
        relative to the first, in axes of the first, with coefficients that may use the pose (as in `CustomConstraint`),
        the time ``t`` and parameters. Or a Python function ``f(p, R, v, w, t, *parameters)``.
    parameters, definitions, names, units, tables
        As in `CustomConstraint`.

    Examples
    --------
    A skate on the plane, written as Sol 1983, (3.3.20), but regular in every heading:

    >>> import dalembert as da
    >>> da.PfaffianConstraint("vx*Rxy + vy*Ryy").holonomic
    (False,)
    """

    nonholonomic: ClassVar[bool] = True

    def __init__(
        self,
        rows: Any,
        parameters: Mapping[str, float] | None = None,
        *,
        definitions: Mapping[str, Any] | None = None,
        names: Sequence[str] | None = None,
        units: str | Sequence[str] = "m",
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        super().__init__(rows, parameters or {}, definitions or {}, names, units, tables or {})


_PLACE = ("x", "y", "z")
_ENTRIES = tuple(f"R{row}{column}" for row in "xyz" for column in "xyz")
_TURN = ("rx", "ry", "rz")
_RATES = ("vx", "vy", "vz", "wx", "wy", "wz")


def _pose_inputs() -> tuple[ProgramBuilder, Vector, Matrix, Vector, Vector, int, dict[str, int]]:
    """Return a program with the inputs of custom rows, p, R, omega, v and t, and the indices of named ones."""
    program = Program((*_PLACE, *_ENTRIES, TIME, *(f"{name}'" for name in (*_RATES[3:], *_RATES[:3]))))
    inputs = [program.emit("input", k) for k in range(19)]
    k = ProgramBuilder(program)
    R = [inputs[3:6], inputs[6:9], inputs[9:12]]
    named = dict(zip((*_PLACE, *_ENTRIES, TIME), inputs[:13], strict=True))
    named.update(zip(_TURN, k.vector_of_turn(R), strict=True))
    return k, inputs[:3], R, inputs[13:16], inputs[16:19], inputs[12], named
