"""Output: one quantity as a function of time and state, with its name, unit and shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, BoolArray
from ...bodies.markers import Marker
from ...errors import DalembertError, ModelError, UserFunctionError
from ...model import Model, State
from ...units import factor
from .motion import Motion

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["Output", "Source", "number", "of_function", "part_name", "vector", "without_unit"]

Value = Callable[[Motion], Array]


@dataclass(frozen=True)
class Source:
    """Numbers of the core that are the components of an output.

    Attributes
    ----------
    part : str
        ``"t"``, ``"q"``, ``"v"``, ``"x"``; ``"position"`` or ``"velocity"`` (angular, then linear) of a marker; or a
        part of the core's report.
    indices : tuple of int
    marker : Marker or None
    combined : str
        ``"sum"`` or ``"norm"`` if the output is one number made of them.
    """

    part: str
    indices: tuple[int, ...]
    marker: Marker | None = None
    combined: str = ""

    @classmethod
    def span(cls, part: str, indices: slice | range) -> Source:
        """Return the source of successive numbers."""
        return cls(part, tuple(range(indices.start, indices.stop)))


@dataclass(frozen=True, eq=False)
class Output:
    """One quantity as a function of time and state.

    Attributes
    ----------
    name : str
    unit : str
        ``"rad, m"`` if the components differ.
    shape : tuple of int, or None
        At one time; () for a number, None if it depends on a user's function.
    meaning : str
    value : callable
        From a `Motion` to ``(n, *shape)``.
    labels : tuple of str
        Names of the components, in order; empty for a number.
    needs : str
        ``"position"``, ``"speed"``, ``"dynamics"``, or ``"history"`` if it is not a function of one state.
    branch : tuple of str
        For each component ``"turn"`` if it is an angle known up to whole turns, ``"sign"`` if it belongs to a
        quaternion known up to its sign, else ``""``; empty if there are none. A `Result` makes such components
        continuous in time, starting from the values nearest to `start`, by `rate`.
    whole, index : Output and int
        The vector of this component, and its index.
    history : callable
        From a `Result` to ``(n, *shape)``, if it needs more than one state.
    determined : callable
        From a `Motion` to a mask ``(n, *shape)`` of determined values; None if all are.
    base, factor : Output and float
        The output in SI units and radians, and the factor of this unit.
    source : Source or None
        Where the core has it; None if it is computed in Python only.
    """

    name: str
    unit: str
    shape: tuple[int, ...] | None
    meaning: str
    value: Value
    labels: tuple[str, ...] = ()
    needs: str = "position"
    branch: tuple[str, ...] = ()
    rate: Value | None = None
    start: Array | None = None
    whole: Output | None = None
    index: int = 0
    history: Callable[[Result], Array] | None = None
    determined: Callable[[Motion], BoolArray] | None = None
    base: Output | None = None
    factor: float = 1.0
    source: Source | None = None

    @classmethod
    def of(cls, model: Model, what: str | Callable[[State], ArrayLike] | Output) -> Output:
        """Return the output of a name, or of a function of one `State`.

        Raises
        ------
        ModelError
            If the model has no output of that name; lists similar names.
        """
        from .lookup import find

        if isinstance(what, Output):
            return what
        if callable(what):
            return of_function(what)
        if not isinstance(what, str):
            raise ModelError("output", "name", what, "give a name such as 'A.position', or a function of a state")
        return find(model, what)

    def evaluate(
        self,
        model: Model,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
    ) -> Array:
        """Return the values at a batch of states, ``(n, *shape)``, or at one state, ``(*shape)``.

        Parameters
        ----------
        model : Model
        t : float or (n,) s
        q : (nq,) or (n, nq) rad or m
        v : (nv,) or (n, nv) rad/s or m/s
        x : (nx,) or (n, nx)

        Angles of bodies and of cut joints are within +-pi.

        Raises
        ------
        ModelError
            If it needs the history of a motion: work, for instance, belongs to a `Result`.
        """
        if self.history is not None:
            raise ModelError("output", "name", self.name, "it depends on earlier states: use a Result, not a state")
        single = np.ndim(q) == 1
        q, v = (np.ascontiguousarray(np.atleast_2d(y), dtype=float) for y in (q, v))
        x = None if x is None else np.ascontiguousarray(np.atleast_2d(x), dtype=float)
        values = self.value(Motion(model, t, q, v, x))
        return values[0] if single else values

    @property
    def is_turn(self) -> bool:
        """True for one angle known up to whole turns only."""
        if self.whole is not None:
            return bool(self.whole.branch) and self.whole.branch[self.index] == "turn"
        return self.branch == ("turn",)

    def describe(self) -> str:
        """Return name, unit, shape and meaning on one line."""
        shape = f", {self.shape}" if self.shape else ""
        return f"{self.name} [{self.unit}{shape}]: {self.meaning}"

    def component(self, index: int, name: str, *, unit: str | None = None) -> Output:
        """Return one component of a vector as a separate output."""
        value, unique, history = self.value, self.determined, self.history
        return Output(
            name,
            self.unit if unit is None else unit,
            (),
            f"{self.meaning} ({self.labels[index]})",
            lambda m: value(m).reshape(len(m), -1)[:, index].copy(),
            needs=self.needs,
            history=None
            if history is None
            else lambda result: history(result).reshape(len(result), -1)[:, index].copy(),
            whole=self,
            index=index,
            determined=None if unique is None else lambda m: unique(m).reshape(len(m), -1)[:, index],
            source=None if self.source is None else replace(self.source, indices=(self.source.indices[index],)),
        )

    def in_unit(self, unit: str, name: str) -> Output:
        """Return the output in another unit."""
        own = dict.fromkeys(part.strip() for part in self.unit.split(","))
        if len(own) > 1:
            raise ModelError(
                f"output {self.name!r}", "unit", unit, f"its components are in {self.unit}: take one of them"
            )
        number = factor(unit, self.unit, item=f"output {self.name!r}")
        value, history = self.value, self.history
        return Output(
            name,
            unit,
            self.shape,
            self.meaning,
            lambda m: number * value(m),
            labels=self.labels,
            needs=self.needs,
            history=None if history is None else lambda result: number * history(result),
            determined=self.determined,
            base=self,
            factor=number,
        )

    def norm(self, name: str) -> Output:
        """Return the norm of a vector as a separate output."""
        value, unique, history = self.value, self.determined, self.history
        return replace(
            self,
            name=name,
            shape=(),
            meaning=f"{self.meaning} (length)",
            value=lambda m: np.linalg.norm(value(m), axis=1),
            labels=(),
            history=None if history is None else lambda result: np.linalg.norm(history(result), axis=1),
            determined=None if unique is None else lambda m: np.asarray(unique(m).all(axis=1)),
            source=None if self.source is None else replace(self.source, combined="norm"),
        )


def without_unit(name: str) -> str:
    """Return the name of an output without its unit: ``"A.speed"`` of ``"A.speed [rpm]"``."""
    return name.rpartition(" [")[0] if name.endswith("]") and " [" in name else name


def part_name(name: str, label: str) -> str:
    """Return the name of a component: ``"B.force.x in crank [lbf]"`` of ``"B.force in crank [lbf]"``."""
    plain = without_unit(name)
    what, frame, of = plain.rpartition(" in ")
    return (f"{what}.{label}{frame}{of}" if what else f"{plain}.{label}") + name[len(plain) :]


def value_of(output: Output, motion: Motion) -> Array:
    """Return an output, (n, ...), of a motion in which parameters of the system may have changed."""
    if not motion.pieces:
        return output.value(motion)
    joined: Array | None = None
    for rows, piece in motion.pieces:
        own = output if output.shape is None else Output.of(piece.model, output.name)
        values = np.asarray(own.value(piece))
        joined = np.empty((len(motion), *values.shape[1:])) if joined is None else joined
        joined[rows] = values
    assert joined is not None
    return joined


def number(
    name: str, unit: str, meaning: str, value: Value, needs: str = "position", source: Source | None = None
) -> Output:
    """Return a scalar output."""
    return Output(name, unit, (), meaning, value, needs=needs, source=source)


def vector(
    name: str, unit: str, meaning: str, value: Value, needs: str = "position", source: Source | None = None
) -> Output:
    """Return an output that is a vector of three, in world axes."""
    meaning = f"{meaning}, world axes"
    return Output(name, unit, (3,), meaning, value, labels=("x", "y", "z"), needs=needs, source=source)


def of_function(function: Callable[[State], ArrayLike]) -> Output:
    """Return the output defined by a function of one state."""
    title = getattr(function, "__name__", type(function).__name__)

    def row(t: float, q: Array, v: Array, x: Array) -> Array:
        try:
            return np.asarray(function(State(q.copy(), v.copy(), t, x.copy())), dtype=float)
        except DalembertError:
            raise
        except Exception as error:
            raise UserFunctionError(f"the output {title!r} failed at t = {t:.6g} s: {error!r}") from error

    def value(m: Motion) -> Array:
        rows = [row(*state) for state in zip(m.t.tolist(), m.q, m.v, m.x, strict=True)]
        shapes = {r.shape for r in rows}
        if len(shapes) > 1:
            raise UserFunctionError(f"the output {title!r} returned arrays of different shapes: {sorted(shapes)}")
        return np.array(rows)

    return Output(title, "", None, "a function of the user", value, needs="speed")
