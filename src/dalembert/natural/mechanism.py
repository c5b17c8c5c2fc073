"""Mechanism described by points, unit vectors, links and bodies in natural coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array, not_negative, positive, valid_name
from ..closure import PositionResult, RateResult, find_position, find_rates
from ..errors import DalembertError, ModelError
from ..model import State
from ..motion import FollowedMotion, follow_branch
from ..numerics.rank import independent_rows
from .assembly import ContinuationResult, all_assemblies, relaxed_assembly
from .bodies import NaturalBody, rigid_rows, unit_row
from .dynamics import NaturalDynamics
from .equations import Coordinate, KnownCoordinates, NaturalEquations, SpeedRows
from .forces import Forces, PointForce
from .joints import DirectionLike
from .kinematics import kinematics
from .mobility import NaturalMobility, natural_mobility
from .motion import NaturalMotion
from .terms import Direction, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .symbolic_rows import SymbolicRows

__all__ = ["Count", "Mechanism"]


@dataclass(frozen=True)
class Count:
    """Coordinates, equations and degrees of freedom at a position.

    Attributes
    ----------
    coordinates : int
        n, unknown coordinates.
    equations : int
        m, with redundant ones and those of wheels.
    rank : int
        Of J.
    """

    coordinates: int
    equations: int
    rank: int

    @property
    def dofs(self) -> int:
        """Degrees of freedom, n - rank."""
        return self.coordinates - self.rank

    @property
    def redundant(self) -> int:
        """Redundant equations, m - rank."""
        return self.equations - self.rank


class Mechanism(Forces):
    """Mechanism of points, unit vectors, bodies and joints.

    Coordinates are Cartesian components of points, usually at joints, and of unit vectors, usually along axes. Bodies
    are connected by the points and vectors they share. The given positions are the guess for assembly; lengths and
    angles that are not given are those of these positions.

    Parameters
    ----------
    dimension : int
        2 or 3.
    name : str

    Examples
    --------
    A four-bar, crank at 60 degrees (Garcia de Jalon and Bayo 1994, example 3.1):

    >>> import dalembert as da
    >>> m = da.natural.Mechanism(2)
    >>> m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True)
    ('A', 'B')
    >>> m.point("1", 1, 3**0.5), m.point("2", 3, 3)
    ('1', '2')
    >>> m.link("crank", "A", "1"); m.link("coupler", "1", "2", length=4); m.link("rocker", "B", "2", length=3)
    >>> m.drive("1", (1, 3**0.5))
    >>> [float(x) for x in m.assemble().q.round(6)]
    [4.83095, 2.882624]
    """

    def __init__(self, dimension: int = 2, name: str = "mechanism") -> None:
        if dimension not in (2, 3):
            raise ModelError("Mechanism", "dimension", dimension, "use 2 or 3")
        self.name = valid_name(name, item="Mechanism")
        self.dimension = dimension
        self.coordinates: dict[str, Coordinate] = {}
        self.bodies: dict[str, NaturalBody] = {}
        self.masses: dict[str, tuple[float, Array, Array]] = {}
        self.rows: list[Row] = []
        self.drivers: list[KnownCoordinates] = []
        self.speed_rows: list[SpeedRows] = []
        self.forces: dict[str, PointForce] = {}
        self.demands: dict[str, int] = {}  # degrees of freedom that each joint removes
        self.looks: list[tuple[str, str, str, DirectionLike | None]] = []  # slots and distances, for pictures
        self._counted_on: dict[frozenset[str], float] = {}
        self._keys: dict[Any, tuple[str, float, float]] = {}
        self._made: NaturalEquations | None = None

    # -- coordinates

    def point(self, name: str, *position: float, fixed: bool = False) -> str:
        """Add a point.

        Parameters
        ----------
        name : str
        *position : dimension floats, m
            Position of a fixed point; else a guess, which also defines the geometry.
        fixed : bool

        Returns
        -------
        str
            Its name.
        """
        at = finite_array(position, (self.dimension,), item=f"point {name!r}", field="position")
        self._new(name, "point", at, fixed)
        return name

    def vector(self, name: str, *components: float, fixed: bool = False) -> str:
        """Add a unit vector along `components`, of any length; one row keeps its norm."""
        item = f"vector {name!r}"
        u = finite_array(components, (self.dimension,), item=item, field="components")
        if not np.linalg.norm(u) > 0.0:
            raise ModelError(item, "components", components, "a vector of length zero has no direction")
        self._new(name, "vector", u / np.linalg.norm(u), fixed)
        if not fixed:
            self._add([unit_row(name, self.dimension)])
        return name

    def _new(self, name: str, kind: str, value: Array, fixed: bool = False) -> None:
        valid_name(name, item=f"Mechanism {self.name!r}", field=kind)
        if name in self.coordinates:
            raise ModelError(f"Mechanism {self.name!r}", kind, name, "there is a coordinate of this name already")
        self.coordinates[name] = Coordinate(name, kind, value, fixed)
        self._made = None

    # -- bodies

    def link(self, name: str, first: str, second: str, length: float | None = None) -> None:
        """Add a rigid link between two points; its length (m) is that of the described positions if left out."""
        item = f"link {name!r}"
        d = Direction.between(self._point(first, item), self._point(second, item))
        size = float(np.linalg.norm(d.value(self._values()))) if length is None else length
        if first == second or not size > 0.0:
            raise ModelError(item, "length", size, f"{first!r} and {second!r} coincide: use one point for both")
        size = positive(item, length=size)["length"]
        along = np.eye(self.dimension)[0] * size
        self._body(name, {first: np.zeros(self.dimension), second: along}, {})

    def body(
        self,
        name: str,
        points: Sequence[str] | Mapping[str, ArrayLike],
        vectors: Sequence[str] | Mapping[str, ArrayLike] = (),
    ) -> None:
        """Add a rigid body of points and vectors.

        Parameters
        ----------
        name : str
        points, vectors : names, or mapping of name to (dimension,) m, and 1
            With numbers, positions in the body; with names alone, the described positions define the geometry. Give
            numbers for both or for neither.
        """
        item = f"body {name!r}"
        given = isinstance(points, Mapping) or isinstance(vectors, Mapping)
        if given and not all(isinstance(x, Mapping) or not x for x in (points, vectors)):
            raise ModelError(item, "points, vectors", (points, vectors), "give numbers for both, or for neither")
        for kind, names in (("point", points), ("vector", vectors)):
            for each in names:
                if each not in self.coordinates or self.coordinates[each].kind != kind:
                    raise ModelError(item, f"{kind}s", each, f"there is no {kind} of this name in the mechanism")
        if len(points) + len(vectors) < 2:
            raise ModelError(item, "points, vectors", (points, vectors), "a body has at least two members")
        values = self._values()
        places: list[dict[str, Array]] = []
        for kind, members in (("points", points), ("vectors", vectors)):
            if isinstance(members, Mapping):
                found = {
                    each: finite_array(x, (self.dimension,), item=item, field=f"{kind}[{each!r}]")
                    for each, x in members.items()
                }
            else:
                found = {each: values[each] for each in members}
            if kind == "vectors":
                found = {each: u / np.linalg.norm(u) for each, u in found.items()}
            places.append(found)
        self._body(name, *places)

    def _body(self, name: str, points: dict[str, Array], vectors: dict[str, Array]) -> None:
        valid_name(name, item=f"Mechanism {self.name!r}", field="body")
        if name in self.bodies:
            raise ModelError(f"Mechanism {self.name!r}", "body", name, "there is a body of this name already")
        for pair, size in self._counted_on.items():
            if pair <= set(points):
                a, b = pair
                if abs(float(np.linalg.norm(points[a] - points[b])) - size) > 1e-9 * size:
                    raise ModelError(
                        f"body {name!r}", f"distance from {a!r} to {b!r}", float(np.linalg.norm(points[a] - points[b])),
                        f"an angle or a joint already uses {size:.12g} m: add the body before it",
                    )  # fmt: skip
        rows, frame = rigid_rows(name, points, vectors, self.dimension)
        self._add(rows)
        self.bodies[name] = NaturalBody(name, points, vectors, frame)

    def mass(self, name: str, mass: float, centre: ArrayLike, inertia: Any = 0.0) -> None:
        """Set mass and inertia of a body, for `dynamics`.

        Parameters
        ----------
        name : str
        mass : float, kg
        centre : (dimension,) m
            Centre of mass, in the frame in which the body's points were given.
        inertia : float, or (3, 3) kg m2 in space
            About the centre of mass, in the axes of that frame.
        """
        item = f"mass of {name!r}"
        if name not in self.bodies:
            raise ModelError(item, "name", name, "there is no body of this name in the mechanism")
        m = not_negative(item, mass=mass)["mass"]
        g = finite_array(centre, (self.dimension,), item=item, field="centre")
        moment = finite_array(inertia, () if self.dimension == 2 else (3, 3), item=item, field="inertia")
        self.masses[name] = (m, g, moment)

    def dynamics(self, gravity: ArrayLike | None = None, forces: Any = None) -> NaturalDynamics:
        """Return the equations of motion; gravity (dimension,) m/s2, zero if left out; see `NaturalDynamics`."""
        return NaturalDynamics(self, np.zeros(self.dimension) if gravity is None else gravity, forces)

    def _add(self, rows: list[Row]) -> None:
        """Add rows, each once: the distance of two points that two bodies share is one row."""
        for row in rows:
            key, kept, factor = _key(row)
            if key in self._keys:
                name, before, _ = self._keys[key]
                usual = max(abs(kept), abs(before), 1e-3 * self.length**row.power)
                if abs(kept - before) > 1e-9 * usual and factor:
                    raise ModelError(
                        row.name,
                        "value",
                        kept,
                        f"{name!r} demands {before:.12g}, which contradicts it",
                    )
                continue
            self._keys[key] = (row.name, kept, factor)
            self.rows.append(row)
        self._made = None

    def _leave_out(self, names: set[str]) -> None:
        self.rows = [row for row in self.rows if row.name not in names]
        self._keys = {key: kept for key, kept in self._keys.items() if kept[0] not in names}

    # -- equations and analyses

    @property
    def length(self) -> float:
        """Characteristic length, m: the mean distance of points in a body, or of all points."""
        sizes = [
            float(np.linalg.norm(b.points[p] - b.points[q]))
            for b in self.bodies.values()
            for k, p in enumerate(b.points)
            for q in list(b.points)[:k]
        ]
        if not sizes:
            places = [c.value for c in self.coordinates.values() if c.kind == "point"]
            sizes = [float(np.linalg.norm(p - places[0])) for p in places[1:]]
        return float(np.mean([s for s in sizes if s > 0.0])) if any(s > 0.0 for s in sizes) else 1.0

    def equations(self) -> NaturalEquations:
        """Return the constraint equations; rows of fixed coordinates alone are checked and left out.

        Raises
        ------
        ModelError
            If fixed coordinates contradict a body or a joint.
        """
        if self._made is None:
            everything = list(self.coordinates.values())
            fixed = {c.name for c in everything if c.fixed}
            rows = [row for row in self.rows if not row.coordinates() <= fixed]
            idle = [row for row in self.rows if row.coordinates() <= fixed]
            length = self.length
            if idle:
                check = NaturalEquations(everything, idle, (), (), length)
                off = np.abs(check.residual(check.start(), 0.0) * check.row_scales)
                worst = int(off.argmax())
                if off[worst] > 1e-9:
                    raise ModelError(
                        idle[worst].name, "residual", float(off[worst]), "fixed points or vectors contradict this row"
                    )
            self._made = NaturalEquations(everything, rows, self.drivers, self.speed_rows, length)
        return self._made

    def symbolic(self, *, symbols: bool = False) -> SymbolicRows:
        """Write the constraint equations Phi and their gradients Phi_q as SymPy expressions; see `SymbolicRows`.

        Parameters
        ----------
        symbols : bool
            Whether fixed coordinates and constants (k_1, k_2, ...) stay symbols, with values in ``parameters``.

        Examples
        --------
        >>> import dalembert as da
        >>> m = da.natural.Mechanism(2)
        >>> m.point("A", 0, 0, fixed=True), m.point("1", 1, 2)
        ('A', '1')
        >>> m.link("crank", "A", "1")
        >>> written = m.symbolic(symbols=True)
        >>> written.Phi[0], list(written.Phi_q)
        (-k_1 + (x_1 - x_A)**2 + (y_1 - y_A)**2, [2*x_1 - 2*x_A, 2*y_1 - 2*y_A])
        """
        try:
            from .symbolic_rows import symbolic_rows
        except ModuleNotFoundError as error:
            if error.name != "sympy":
                raise
            raise ImportError("symbolic() needs SymPy: pip install dalembert[symbolic]") from error
        return symbolic_rows(self.equations(), symbols)

    def assemble(self, q: ArrayLike | None = None, t: float = 0.0, **newton: Any) -> PositionResult:
        """Find a closed position from a guess; see `dalembert.closure.find_position`."""
        return find_position(self.equations(), q, t, **newton)

    def rates(self, q: ArrayLike | None = None, t: float = 0.0, **options: Any) -> RateResult:
        """Return velocities, accelerations and jerks at a closed position; see `dalembert.closure.find_rates`."""
        return find_rates(self.equations(), q, t, **options)

    def motion(self, times: ArrayLike, q: ArrayLike | None = None, **options: Any) -> NaturalMotion:
        """Follow the mechanism through times (k,) s; see `dalembert.motion.follow`."""
        try:
            return NaturalMotion(self, follow_branch(self.equations(), times, q, **options))
        except DalembertError as error:
            got = getattr(error, "result", None)
            if isinstance(got, FollowedMotion):
                error.__dict__["result"] = NaturalMotion(self, got, status="failed", message=str(error))
            raise

    def kinematics(
        self,
        *,
        times: ArrayLike | None = None,
        drive: str | Mapping[str, ArrayLike] | None = None,
        values: ArrayLike | None = None,
        speed: float | None = None,
        state: State | ArrayLike | None = None,
        on_error: str = "raise",
    ) -> NaturalMotion:
        """Return the motion for the drives, or for a coordinate through values; see `dalembert.kinematics`."""
        return kinematics(self, times=times, drive=drive, values=values, speed=speed, state=state, on_error=on_error)

    def copy(self, name: str | None = None) -> Mechanism:
        """Return an independent copy."""
        other = Mechanism(self.dimension, self.name if name is None else name)
        other.coordinates = {c.name: replace(c, value=c.value.copy()) for c in self.coordinates.values()}
        other.bodies, other.masses = dict(self.bodies), dict(self.masses)
        other.rows, other.drivers, other.speed_rows = list(self.rows), list(self.drivers), list(self.speed_rows)
        other.forces = dict(self.forces)
        other.looks, other.demands = list(self.looks), dict(self.demands)
        other._counted_on, other._keys, other._made = dict(self._counted_on), dict(self._keys), self._made
        return other

    def mobility(self, q: ArrayLike | None = None, t: float = 0.0) -> NaturalMobility:
        """Return the mobility without drives, and the Gruebler count of links and joints.

        Parameters
        ----------
        q : (n,)
            A closed position; if left out, the mechanism is assembled from the described positions.
        t : float, s

        Examples
        --------
        >>> import dalembert as da
        >>> m = da.natural.Mechanism(2)
        >>> _ = m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 0, 1), m.point("2", 4, 1)
        >>> for name, ends in {"a": "A1", "b": "12", "c": "2B"}.items():
        ...     m.link(name, *ends)
        >>> found = m.mobility()
        >>> found.mobility, found.gruebler
        (1, 1)
        """
        return natural_mobility(self, q, t)

    def assemblies(self, t: float = 0.0, *, starts: int = 0, seed: int = 0) -> list[Array]:
        """Return all closed positions (n,) at t s, nearest to the described one first.

        Parameters
        ----------
        t : float, s
        starts : int
            Minimum number of starts for each part that closes separately.
        seed : int
            Seed of the random starts.

        Raises
        ------
        ModelError
            If degrees of freedom are left, so that positions are not isolated.
        """
        return all_assemblies(self, t, starts=starts, seed=seed)

    def continuation(
        self, relaxed: Mapping[str, ArrayLike] | None = None, t: float = 0.0, *, steps: int = 10
    ) -> ContinuationResult:
        """Assemble by continuation from a relaxed position: ground points and inputs are moved in steps.

        Parameters
        ----------
        relaxed : dict of name to numbers
            Initial values of fixed points, driven points, angles or distances; other coordinates may be given as
            guesses. If left out, all fixed points and inputs are free, and the closed position nearest to the
            described one is the relaxed position.
        t : float, s
            Time at which drives give the final values of inputs.
        steps : int
            Initial number of steps; their length adapts.

        Raises
        ------
        AssemblyError
            If the continuation ends early: how far it got, and which rows cannot be satisfied.
        """
        return relaxed_assembly(self, relaxed, t, steps=steps)

    def independent_equations(self, q: ArrayLike | None = None, t: float = 0.0) -> NaturalEquations:
        """Return the constraint equations without redundant rows at a position (as many as the rank of J).

        The selection depends on the position: elsewhere the selected rows may lose rank where all rows do not.
        """
        e = self.equations()
        at = self.assemble(t=t).q if q is None else finite_array(q, (e.nq,), item="equations", field="q")
        keep = set(independent_rows(e.scaled_jacobian(at, t)).tolist())
        if self.speed_rows:
            raise ModelError("independent_equations", "wheels", self.name, "rows of wheels cannot be separated")
        rows = [row for k, row in enumerate(e.table) if k in keep]
        return NaturalEquations(e.coordinates, rows, self.drivers, (), e.length)

    def draw(self, t: float | None = None, **options: Any) -> Axes:
        """Draw the assembled mechanism at t s and return the axes; options as of `NaturalMotion.draw`."""
        from ..view.drawing.natural_drawing import draw_points

        return draw_points(self, t, **options)

    def count(self, q: ArrayLike | None = None, t: float = 0.0) -> Count:
        """Count coordinates, equations, rank and degrees of freedom at a closed position.

        Parameters
        ----------
        q : (n,)
            If left out, the mechanism is assembled from the described positions.
        t : float, s
        """
        equations = self.equations()
        at = self.assemble(t=t).q if q is None else finite_array(q, (equations.nq,), item="count", field="q")
        return Count(equations.nv, equations.rows - len(equations.choice(at, t)), equations.rank(at, t))


def _key(row: Row) -> tuple[Any, float, float]:
    """Return a key of a row without its constant, the constant, and whether there is one."""
    kept = -sum(term.factor for term in row.terms if term.kind == "constant")
    parts = []
    for term in row.terms:
        if term.kind == "constant":
            continue
        places = term.places
        if term.kind == "dot":  # symmetric, and the sign of both differences may change
            first, second = places[:2], places[2:4]
            if first == second and None not in first:
                first = second = tuple(sorted(first, key=str))
            places = tuple(x for pair in sorted((first, second), key=str) for x in pair)
        parts.append((term.kind, term.part, places, round(term.factor, 12)))
    return tuple(sorted(parts, key=str)), kept, float(any(term.kind == "constant" for term in row.terms))
