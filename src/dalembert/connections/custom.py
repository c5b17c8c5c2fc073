"""Hinges and constraints that users write: the pose of a hinge, or the equations of a constraint, are enough.

Derivatives follow from the formulas (see `calculus`), so that everything else treats these as elements of the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..rotation import finite_array, finite_number, shape_of
from .calculus import Calculus, Matrix, Vector
from .constraints import Constraint
from .derivatives import Rate
from .expressions import Program, add_expression, is_symbolic, mind_name
from .hinges import Hinge
from .pose_programs import PosePrograms, expressed_pose
from .program_parts import needed, part_of
from .traced import traced

__all__ = ["CustomConstraint", "CustomHinge", "PfaffConstraint"]

Array = NDArray[np.float64]

TIME = "t"
_MOST = 6  # coordinates of a hinge, time included: core/workspace.hpp


@dataclass(frozen=True, eq=False)
class CustomHinge(Hinge):
    """A hinge given by the pose of its second marker in the first, c(q, t) and C(q, t).

    Parameters
    ----------
    coordinates : sequence of str
        Names of the coordinates, one to six. A name that begins with ``angle`` means radians, others metres, in what is
        scaled or plotted; the equations do not care.
    position : (3,) formulas, m
        Of coordinates, parameters and the time `t`; zero if left out. Or a Python function
        ``f(*coordinates, [t], *parameters)`` that returns position and (3, 3) rotation: it is called once, with names
        in place of numbers, and what it does with them becomes the formulas.
    rotation : formulas
        A (3, 3) matrix; or a sequence of turns ``("z", formula)``, each about axes that the turns before it have left
        (an axis is a letter or three numbers); or a rotation vector (3,). No rotation if left out.
    parameters : dict of str to float
        Numbers that formulas use by name.
    definitions : dict of str to formula
        Named parts that formulas use.
    reference : (n,) or dict of str to float
        Where the hinge starts, and where it has to be regular; zero if left out.
    time : bool
        Whether a Python function takes `t`; formulas show it by themselves.

    Formulas are text or SymPy expressions. Speeds are the rates of the coordinates. The motion map and everything else
    follow by differentiation (Sol 1983, section 3.3); [dc/dq, w] must have as many independent rows as there are
    coordinates.

    With time in its formulas the hinge has one more coordinate, ``t``, that is driven: it is the time in `simulate` and
    wherever a time is given (``model.dynamics(t, q, v)``, `driven_motion`), and its effort is the power that the
    prescribed motion takes. A hinge whose loop is cut at it is obeyed by 6 - n rows, found numerically (see
    `KinematicChain`); hinges of the library are cut first.

    Examples
    --------
    A bead on a helix, turned along with it:

    >>> import dalembert as da
    >>> helix = da.CustomHinge(
    ...     ("s",), ("r*cos(s/r)", "r*sin(s/r)", "0.1*s"), [("z", "s/r")], {"r": 0.5}
    ... )
    >>> s = da.System("slide")
    >>> _ = s.connect("wire", helix, s.ground, s.body("bead", da.sphere(0.02, mass=0.1)))
    >>> s.compile().nv
    1
    """

    coordinates: Any = ()  # type: ignore[misc]
    position: Any = None
    rotation: Any = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)
    reference: Any = None
    time: bool = False
    programs: tuple[PosePrograms, PosePrograms] = field(init=False, repr=False)
    """Of the pose of the second marker in the first, and of the inverse."""
    length: float = field(init=False, repr=False)
    """A length of the hinge, m: how far it moves the second marker for coordinates of the order of one."""

    def __post_init__(self) -> None:
        item = self.kind
        names = checked_names(item, "coordinates", self.coordinates)
        parameters = checked_parameters(item, self.parameters)
        position, rotation, parts = self._formulas(names, parameters)
        definitions = {**parameters, **dict(self.definitions), **parts}
        clocked = (*names, TIME)
        programs = _posed(item, clocked, position, rotation, definitions)
        if not _uses(programs[0].pose, len(names)):
            programs = _posed(item, names, position, rotation, definitions)
            clocked = names
        if not 1 <= len(clocked) <= _MOST:
            raise ModelError(
                item, "coordinates", names, f"give one to {_MOST}, or up to {_MOST - 1} if the time `t` is used"
            )
        object.__setattr__(self, "coordinates", clocked)
        object.__setattr__(self, "programs", programs)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "reference", self._checked_reference())
        object.__setattr__(self, "length", typical_length(programs[0], self.starts))
        super().__post_init__()
        self._check()

    def with_parameters(self, **numbers: float) -> CustomHinge:
        """Return the same hinge with other numbers for some parameters.

        Examples
        --------
        >>> import dalembert as da
        >>> arc = da.CustomHinge(("angle",), ("r*cos(angle)", "r*sin(angle)", 0), None, {"r": 1.0})
        >>> arc.with_parameters(r=2.0).pose([0.0])[1].tolist()
        [2.0, 0.0, 0.0]
        """
        names = self.coordinates[: self.clock]
        return replace(self, coordinates=names, parameters=changed(self.kind, self.parameters, numbers))

    def _formulas(self, names: Sequence[str], parameters: Mapping[str, float]) -> tuple[Any, Any, dict[str, str]]:
        """Return position, rotation and the definitions that they use."""
        if not callable(self.position) or is_symbolic(self.position):
            return self.position, self.rotation, {}
        item = self.kind
        if self.rotation is not None:
            raise ModelError(item, "rotation", self.rotation, "the function gives it too: leave it out")
        arguments = (*names, *((TIME,) if self.time else ()), *parameters)
        answer, parts = traced(self.position, arguments, item=item)
        if not isinstance(answer, list) or len(answer) != 2:
            raise ModelError(item, "position", answer, "its function must return position (3,) and rotation (3, 3)")
        return answer[0], answer[1], parts

    @property
    def speeds(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the speeds: those of the coordinates."""
        return tuple(self.coordinates)

    @property
    def rows(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the equations it amounts to where it closes a loop."""
        return tuple(f"closure_{k + 1}" for k in range(6 - self.nv))

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of these: turns count as displacements at a length of the hinge."""
        return ("m",) * len(self.rows)

    @property
    def clock(self) -> int | None:
        """Which coordinate is the time, if one is."""
        return len(self.coordinates) - 1 if TIME in self.coordinates else None

    @property
    def zero(self) -> Array:
        """Where the hinge starts."""
        return np.array(self.reference)

    @property
    def starts(self) -> Array:
        """Sets of coordinates (k, n) from which those of a given pose are searched where it closes a loop."""
        return np.array([self.zero, *(self.zero + shift for shift in _around(self.nq))])

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return C (3, 3) and c (3,) of the second marker in the first."""
        C, c, _ = self.programs[0].at(q)
        return C, c

    def motion(self, q: Array) -> Array:
        """Return H (6, nv), [omega; v] of the second marker in axes of the first."""
        return self.programs[0].at(q)[2]

    def bias(self, q: Array, v: Array) -> Array:
        """Return H' v (6,), in axes of the first marker."""
        return self.programs[0].bias_at(q, v)

    def coordinates_of(self, C: Array, c: Array, near: Array | None = None) -> Array:
        """Return the coordinates (nq,) nearest to a pose, from `near` if that leads there, else the best of several."""
        starts = [*([] if near is None else [near]), *self.starts]
        found = (self.programs[0].nearest(C, c, start, self.length) for start in starts)
        best = None
        for q, miss in found:
            if best is None or miss < best[1]:
                best = q, miss
            if best[1] < 1e-9 * (1.0 + self.length):
                break
        assert best is not None
        return best[0]

    def _checked_reference(self) -> Array:
        given, item = self.reference, self.kind
        if given is None:
            return np.zeros(self.nq)
        if isinstance(given, Mapping):
            unknown = set(given) - set(self.coordinates)
            if unknown:
                raise ModelError(item, "reference", sorted(unknown), f"known are {', '.join(self.coordinates)}")
            given = [given.get(name, 0.0) for name in self.coordinates]
        elif self.clock is not None and shape_of(given) == (self.nq - 1,):
            given = [*given, 0.0]
        return finite_array(given, (self.nq,), item=item, field="reference")

    def _check(self) -> None:
        """Refuse poses that are no poses, and coordinates that do not move anything by themselves."""
        item = self.kind
        at = f"reference {self.reference.tolist()}"
        C, c, H = self.programs[0].at(self.zero)
        if not (np.isfinite(C).all() and np.isfinite(c).all() and np.isfinite(H).all()):
            raise ModelError(
                item, at, c, "the formulas or their derivatives are not finite there; give another reference"
            )
        for shift in ((np.zeros(self.nq)), *_around(self.nq)):
            R = self.programs[0].at(self.zero + shift)[0]
            if np.isfinite(R).all() and (np.abs(R.T @ R - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0):
                where = dict(zip(self.coordinates, (self.zero + shift).tolist(), strict=True))
                raise ModelError(
                    item, f"rotation at {where}", R, "it is no rotation: R^T R must be 1, its determinant 1"
                )
        free = H[:, : self.nq - (self.clock is not None)]
        scaled = free * np.array([self.length] * 3 + [1.0] * 3)[:, None]
        sizes = np.linalg.norm(scaled, axis=0)
        idle = [name for name, size in zip(self.coordinates, sizes, strict=False) if size == 0.0]
        independent = np.linalg.svd(scaled / np.where(sizes > 0, sizes, 1.0), compute_uv=False)
        rank = int((independent > 1e-9).sum())
        if rank < free.shape[1]:
            cause = f"{', '.join(idle)} moves nothing" if idle else f"they move the marker in only {rank} ways"
            raise ModelError(
                item,
                f"coordinates at the {at}",
                self.coordinates,
                f"{cause}: leave some out, or give another reference if only that position is singular",
            )


@dataclass(frozen=True, eq=False)
class _RowsByFormula(Constraint):
    """What custom constraints share: formulas of the relative pose, its rates, time and parameters."""

    formulas: Any = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)
    names: Any = None
    units: Any = "m"
    programs: tuple[Program, Program] = field(init=False, repr=False)
    """From x y z, R (9), t: residuals, g (6 a row), drifts; from these, angular velocity and velocity: biases."""
    rows: Any = field(init=False)  # type: ignore[misc]
    code: ClassVar[int] = 33
    nonholonomic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        item = self.kind
        parameters = checked_parameters(item, self.parameters)
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
        for name, value in (("rows", names), ("units", units), ("parameters", parameters)):
            object.__setattr__(self, name, value)
        definitions = {**parameters, **dict(self.definitions), **parts}
        object.__setattr__(self, "programs", self._compiled(formulas, definitions))

    def _traced(self, function: Callable[..., Any], parameters: Sequence[str]) -> tuple[Any, dict[str, str]]:
        """Return what a function of p, R, t (or p, R, v, w, t) and parameters gives, in formulas, and their parts."""

        def called(*x: Any) -> Any:
            p, R = np.array(x[:3], dtype=object), np.array(x[3:12], dtype=object).reshape(3, 3)
            rates = [np.array(x[k : k + 3], dtype=object) for k in ((13, 16) if self.nonholonomic else ())]
            return function(p, R, *rates, x[12], *x[19 if self.nonholonomic else 13 :])

        rates = _RATES if self.nonholonomic else ()
        return traced(called, (*_PLACE, *_ENTRIES, TIME, *rates, *parameters), item=self.kind)

    @property
    def holonomic(self) -> tuple[bool, ...]:  # type: ignore[override]
        """Whether each row binds positions too."""
        return (not self.nonholonomic,) * len(self.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of the rows."""
        return tuple(self.units)

    def with_parameters(self, **numbers: float) -> Self:
        """Return the same constraint with other numbers for some parameters."""
        parameters = changed(self.kind, self.parameters, numbers)
        return type(self)(self.formulas, parameters, definitions=self.definitions, names=self.rows, units=self.units)

    @property
    def rheonomic(self) -> bool:
        """Whether time stands in the formulas."""
        return any(_uses(program, 12) for program in self.programs)

    def _compiled(self, formulas: Sequence[Any], definitions: dict[str, Any]) -> tuple[Program, Program]:
        item = self.kind
        k, p, R, w, v, t, named = _pose_inputs()
        spun = k.product(k.skew(w), R)
        used = {**named, **(dict(zip(_RATES, (*v, *w), strict=True)) if self.nonholonomic else {})}
        places = compile_into(k, formulas, used, definitions, item=item)
        entries = [entry for row in R for entry in row]
        moving = Rate(k, {**dict(zip([*p, *entries], [*v, *(e for row in spun for e in row)], strict=True)), t: k.one})
        if self.nonholonomic:
            rates, residuals = places, [k.zero] * len(places)
        else:
            rates, residuals = [moving(place) for place in places], places
        by_rate = [Rate(k, {one: k.one}) for one in (*w, *v)]
        gradients = [[along(rate) for along in by_rate] for rate in rates]
        speeds = set(w) | set(v)
        for formula, gradient in zip(formulas, gradients, strict=True):
            if any(speeds & needed(k.program, [entry]) for entry in gradient):
                raise ModelError(item, "row", formula, f"it must be linear in the rates {', '.join(_RATES)}")
        drifts = [_without(k, rate, speeds) for rate in rates]
        first = part_of(k.program, [*residuals, *(g for gradient in gradients for g in gradient), *drifts])
        second = part_of(k.program, [moving(rate) for rate in rates])
        for formula, gradient in zip(formulas, gradients, strict=True):
            if all(entry == k.zero for entry in gradient):
                raise ModelError(item, "row", formula, "it does not depend on the relative motion of the markers")
        return first, second


class CustomConstraint(_RowsByFormula):
    """Equations f(y, t) = 0 between two markers, y the pose of the second seen from the first.

    Parameters
    ----------
    residual : formula, or sequence of one to six
        Of the position ``x y z`` (m), the rotation matrix ``Rxx Rxy ... Rzz`` (``Rxy``: x component of the second
        marker's y axis), the rotation vector ``rx ry rz`` (rad, turns below half a turn), the time ``t``, and
        parameters. Text or SymPy. Or a Python function ``f(p, R, t, *parameters)`` of position (3,) and rotation
        matrix (3, 3), read once as that of a `CustomHinge`.
    parameters : dict of str to float
    definitions : dict of str to formula
        Named parts that formulas use.
    names : sequence of str
        Of the rows; ``f1``, ``f2`` ... if left out.
    units : str or sequence of str
        ``"m"`` or ``"rad"`` of the residuals, which scales what counts as closed.

    Each residual is a row P_y y' + P_oy = 0 and so on (Sol 1983, (3.3.4)-(3.3.10)), with all derivatives found from the
    formulas. The load is P_y^T times the multipliers. Rows that become dependent are dealt with as for other loops.
    An angle is best bound by entries of the rotation matrix, which are smooth in every attitude. A drive of
    ``"name.f1"`` lets a formula follow a law of time instead of staying zero.

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
    ) -> None:
        super().__init__(residual, parameters or {}, definitions or {}, names, units)

    def __repr__(self) -> str:
        return f"CustomConstraint({self.formulas!r})"


class PfaffConstraint(_RowsByFormula):
    """Nonholonomic equations between two markers, linear in the rates: P_v v + P_w w + P_0 = 0.

    Parameters
    ----------
    rows : formula, or sequence of one to six
        What has to be zero: of the velocity ``vx vy vz`` (m/s) and angular velocity ``wx wy wz`` (rad/s) of the second
        marker seen from the first, in axes of the first, with coefficients that may use the pose (as in
        `CustomConstraint`), the time ``t`` and parameters. Or a Python function ``f(p, R, v, w, t, *parameters)``.
    parameters, definitions, names, units
        As in `CustomConstraint`.

    Examples
    --------
    A skate on the plane, written as Sol 1983, (3.3.20), but regular in every heading:

    >>> import dalembert as da
    >>> da.PfaffConstraint("vx*Rxy + vy*Ryy").holonomic
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
    ) -> None:
        super().__init__(rows, parameters or {}, definitions or {}, names, units)

    def __repr__(self) -> str:
        return f"PfaffConstraint({self.formulas!r})"


_PLACE = ("x", "y", "z")
_ENTRIES = tuple(f"R{row}{column}" for row in "xyz" for column in "xyz")
_TURN = ("rx", "ry", "rz")
_RATES = ("vx", "vy", "vz", "wx", "wy", "wz")


def _pose_inputs() -> tuple[Calculus, Vector, Matrix, Vector, Vector, int, dict[str, int]]:
    """Return a program with the inputs of custom rows: places of p, R, omega, v and t, and those that have names."""
    program = Program((*_PLACE, *_ENTRIES, TIME, *(f"{name}'" for name in (*_RATES[3:], *_RATES[:3]))))
    inputs = [program.emit("input", k) for k in range(19)]
    k = Calculus(program)
    R = [inputs[3:6], inputs[6:9], inputs[9:12]]
    named = dict(zip((*_PLACE, *_ENTRIES, TIME), inputs[:13], strict=True))
    named.update(zip(_TURN, k.vector_of_turn(R), strict=True))
    return k, inputs[:3], R, inputs[13:16], inputs[16:19], inputs[12], named


def compile_into(
    k: Calculus, formulas: Sequence[Any], names: Mapping[str, int], definitions: Mapping[str, Any], *, item: str
) -> list[int]:
    """Return the places of formulas in a program that has named places already."""
    known = dict(names)
    for name, part in definitions.items():
        mind_name(name, known, item, "definition")
        known[name] = add_expression(k.program, part, known, {}, f"{item}: definition {name!r}")
    return [add_expression(k.program, formula, known, {}, item) for formula in formulas]


def _without(k: Calculus, place: int, gone: set[int]) -> int:
    """Return a place with some inputs put to zero."""
    inputs = [k.zero if at in gone else at for at in (k.program.emit("input", i) for i in range(len(k.program.inputs)))]
    return k.graft(part_of(k.program, [place]), inputs)[0]


def _posed(
    item: str, names: Sequence[str], position: Any, rotation: Any, definitions: Mapping[str, Any]
) -> tuple[PosePrograms, PosePrograms]:
    k, C, c = expressed_pose(item, names, position, rotation, definitions)
    return PosePrograms.of(k, C, c, len(names)), PosePrograms.of(k, C, c, len(names), inverse=True)


def _uses(program: Program, number: int) -> bool:
    """Return whether a program uses an input."""
    return any(row[0] == 1 and row[1] == number for row in program.instructions)


def _around(n: int) -> list[Array]:
    """Return a few shifts of n coordinates, the same every time."""
    rng = np.random.default_rng(7)
    return [rng.uniform(-1.5, 1.5, n) for _ in range(8)]


def typical_length(programs: PosePrograms, samples: Iterable[Array]) -> float:
    """Return the root mean square of the displacement over samples, m; one if there is none."""
    squares = [float(c @ c) for _, c, _ in (programs.at(q) for q in samples) if np.isfinite(c).all()]
    size = math.sqrt(float(np.mean(squares))) if squares else 0.0
    return size if size > 0.0 else 1.0


def checked_names(item: str, what: str, names: Any, *, reserved: bool = True) -> tuple[str, ...]:
    """Return names as a tuple, if formulas can use them."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    good = all(isinstance(name, str) and name.isidentifier() for name in listed) and len(set(listed)) == len(listed)
    if not good or (reserved and (TIME in listed or any(name.startswith("_") for name in listed))):
        raise ModelError(item, what, listed, "give different names that formulas can use; t is the time")
    return listed


def changed(item: str, parameters: Mapping[str, float], numbers: Mapping[str, float]) -> dict[str, float]:
    """Return parameters with some of them changed."""
    unknown = sorted(set(numbers) - set(parameters))
    if unknown:
        raise ModelError(item, "parameters", unknown, f"known are {', '.join(parameters) or 'none'}")
    return {**parameters, **numbers}


def checked_parameters(item: str, parameters: Any) -> dict[str, float]:
    """Return parameters by name, if they are numbers."""
    if not isinstance(parameters, Mapping):
        raise ModelError(item, "parameters", parameters, "give a dict of numbers by name")
    return {
        str(name): finite_number(value, item=item, field=f"parameter {name!r}") for name, value in parameters.items()
    }
