"""User-written joints, given by the pose of the second marker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import checked, finite_array, set_fields, shape_of
from ...errors import ModelError
from ..formulas.expressions import is_symbolic
from ..formulas.formula_parameters import (
    TIME,
    as_parameters,
    changed,
    checked_names,
    checked_parameters,
    checked_tables,
    uses,
)
from ..formulas.kinematic_programs import posed, shifts
from ..formulas.tables import Table
from ..formulas.traced_functions import traced
from .joint import Joint

__all__ = ["CustomJoint"]


MAX_COORDINATES = 6  # coordinates of a joint, time included


@checked("definitions")
@dataclass(frozen=True, eq=False)
class CustomJoint(Joint):
    """Joint given by the pose of its second marker in the first, c(q, t) and C(q, t).

    Parameters
    ----------
    coordinates : sequence of str
        Names of the coordinates, one to six. A name that begins with ``angle`` means radians, others metres, for
        scaling and plots only.
    position : (3,) formulas, m
        Of coordinates, parameters and the time `t`; zero if left out. Or a Python function ``f(*coordinates, [t],
        *parameters)`` that returns position and (3, 3) rotation: it is called once with symbolic arguments, and its
        operations become the formulas.
    rotation : formulas
        A (3, 3) matrix; or a sequence of rotations ``("z", formula)``, each about axes rotated by those before (an axis
        is a letter or three numbers); or a rotation vector (3,). No rotation if left out.
    parameters : dict of str to float
        Numbers used by name in formulas; events, ensembles and studies may change them (``"wire.r"``).
    definitions : dict of str to formula
        Named subexpressions of the formulas.
    reference : (n,) or dict of str to float
        Start coordinates, at which the joint must be regular; zero if left out.
    time : bool
        True if a Python function takes `t`; for formulas it is detected.
    tables : dict of str to Table
        Functions of one to three variables that formulas call by name; cubic ones, whose slopes are smooth. Other
        functions (measured, compiled, with branches) are converted by `Table.sampled`.

    Formulas are text or SymPy expressions. Velocities are the rates of the coordinates. The motion map and everything
    else follow by differentiation (Sol 1983, section 3.3); [dc/dq, w] must have as many independent rows as there are
    coordinates.

    With time in its formulas the joint has one more coordinate, ``t``, that is driven: it is the time in `simulate` and
    wherever a time is given (``model.dynamics(t, q, v)``, `driven_motion`), and its effort is the power of the
    prescribed motion. For six coordinates on a moving base, let a joint of time alone, ``coordinates=()``, carry a body
    without mass, and put the other coordinates on that. As a cut joint it has 6 - n rows, found numerically (see
    `KinematicChain`); joints of the library are cut first.

    Examples
    --------
    A bead on a helix, rotated along with it:

    >>> import dalembert as da
    >>> helix = da.CustomJoint(
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
    tables: Mapping[str, Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        item = self.kind
        names = checked_names(item, "coordinates", self.coordinates)
        parameters = checked_parameters(self.kind, self.parameters, self)
        position, rotation, parts = self._formulas(names, parameters)
        definitions = {**as_parameters(parameters), **dict(self.definitions), **parts}
        clocked = (*names, TIME)
        tables = checked_tables(item, self.tables)
        programs = posed(item, clocked, position, rotation, definitions, tables)
        if not uses(programs[0].pose, len(names)):
            programs = posed(item, names, position, rotation, definitions, tables)
            clocked = names
        if not 1 <= len(clocked) <= MAX_COORDINATES:
            raise ModelError(
                item,
                "coordinates",
                names,
                f"give one to {MAX_COORDINATES}, or up to {MAX_COORDINATES - 1} if the time `t` is used: "
                "beyond that let time move a body "
                "without mass, by a joint without coordinates, and the others move on that",
            )
        set_fields(self, coordinates=clocked, parameters=parameters)
        self.__dict__["programs"] = programs
        set_fields(self, reference=self._checked_reference())
        super().__post_init__()
        self._check()

    def with_parameters(self, **numbers: float) -> CustomJoint:
        """Return the same joint with other values of some parameters.

        Examples
        --------
        >>> import dalembert as da
        >>> arc = da.CustomJoint(("angle",), ("r*cos(angle)", "r*sin(angle)", 0), None, {"r": 1.0})
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
            raise ModelError(item, "rotation", self.rotation, "the function returns it too: leave it out")
        arguments = (*names, *((TIME,) if self.time else ()), *parameters)
        answer, parts = traced(self.position, arguments, item=item)
        if not isinstance(answer, list) or len(answer) != 2:
            raise ModelError(item, "position", answer, "its function must return position (3,) and rotation (3, 3)")
        return answer[0], answer[1], parts

    @property
    def speeds(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the velocities: those of the coordinates."""
        return tuple(self.coordinates)

    @property
    def rows(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the rows as a cut joint."""
        return tuple(f"closure_{k + 1}" for k in range(6 - self.nv))

    @property
    def clock(self) -> int | None:
        """Index of the coordinate that is the time, or None."""
        return len(self.coordinates) - 1 if TIME in self.coordinates else None

    @property
    def zero(self) -> Array:
        """Start coordinates."""
        return np.array(self.reference)

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return C (3, 3) and c (3,) of the second marker in the first."""
        C, c, _ = self.programs[0].at(q)
        return C, c

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
        """Raise `ModelError` for invalid poses and for coordinates without independent motion."""
        item = self.kind
        at = f"reference {self.reference.tolist()}"
        C, c, H = self.programs[0].at(self.zero)
        if not (np.isfinite(C).all() and np.isfinite(c).all() and np.isfinite(H).all()):
            raise ModelError(
                item, at, c, "the formulas or their derivatives are not finite there; give another reference"
            )
        for shift in ((np.zeros(self.nq)), *shifts(self.nq)):
            R = self.programs[0].at(self.zero + shift)[0]
            if np.isfinite(R).all() and (np.abs(R.T @ R - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0):
                where = dict(zip(self.coordinates, (self.zero + shift).tolist(), strict=True))
                raise ModelError(
                    item, f"rotation at {where}", R, "it is not a rotation: R^T R must be 1, its determinant 1"
                )
        free = H[:, : self.nq - (self.clock is not None)]
        scaled = free * np.array([self.length] * 3 + [1.0] * 3)[:, None]
        sizes = np.linalg.norm(scaled, axis=0)
        idle = [name for name, size in zip(self.coordinates, sizes, strict=False) if size == 0.0]
        independent = np.linalg.svd(scaled / np.where(sizes > 0, sizes, 1.0), compute_uv=False)
        rank = int((independent > 1e-9).sum())
        if rank < free.shape[1]:
            cause = (
                f"{', '.join(idle)} moves nothing"
                if idle
                else f"they move the marker in only {rank} independent direction(s)"
            )
            raise ModelError(
                item,
                f"coordinates at the {at}",
                self.coordinates,
                f"{cause}: leave some out, or give another reference if only that position is singular",
            )
