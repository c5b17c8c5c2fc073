"""Written constraint equations of a mechanism in natural coordinates: Phi and Phi_q as SymPy expressions.

With q the unknown coordinates, f the driven ones (known functions of time), and X both of them:

    Phi(q, f) = 0                                                                          (1)
    Phi_q q' = b,     b = -Phi_f f'                                                        (2)
    Phi_q q'' = c,    c = -Phi_f f'' - (Phi_X)' X'                                         (3)

Garcia de Jalon and Bayo 1994, (3.1), (3.5) to (3.7). Rows that constrain velocities alone, those of rolling wheels,
have zero in Phi and their rows in Phi_q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array
from ..numerics.rational_numbers import as_number as exact_number
from .equations import NaturalEquations
from .symbolic_wheels import wheel_rows
from .terms import Place, Row, Term

__all__ = ["SymbolicRows", "symbolic_rows"]


@dataclass(frozen=True, eq=False)
class SymbolicRows:
    """Constraint equations of a `Mechanism` as SymPy expressions, in the order of its numeric rows.

    A point ``"1"`` has the symbols ``x_1, y_1``, a vector ``"u"`` ``u_x, u_y, u_z``, an angle or a distance its name.

    Attributes
    ----------
    names : tuple of str
        Of the rows.
    holonomic : tuple of bool
        False for rows that constrain velocities alone.
    q, q_dot : Matrix (nq, 1)
        Unknown coordinates and their rates.
    f, f_dot, f_ddot : Matrix (nf, 1)
        Driven coordinates and their rates; numbers follow from the laws.
    Phi : Matrix (rows, 1)
        Residuals; zero for rows that constrain velocities alone.
    Phi_X : Matrix (rows, nq + nf)
        Gradients with respect to q and f.
    parameters : dict of Symbol to float
        Symbols that stand for numbers: fixed coordinates, and constants k_1, k_2, ... of the rows.
    equations : NaturalEquations
        The numeric rows.

    Notes
    -----
    Angles have two rows, by cosine and by sine. The numeric rows switch to zero the one that is nearly singular where
    the angle was added with ``by="switch"``; here both are listed.
    """

    names: tuple[str, ...]
    holonomic: tuple[bool, ...]
    q: Any
    q_dot: Any
    f: Any
    f_dot: Any
    f_ddot: Any
    Phi: Any
    Phi_X: Any
    parameters: dict[Any, float]
    equations: NaturalEquations

    @property
    def Phi_q(self) -> Any:
        """Gradients with respect to the unknown coordinates, (rows, nq)."""
        return self.Phi_X[:, : self.q.rows]

    @cached_property
    def b(self) -> Any:
        """Right side (2) of the velocity equations, (rows, 1)."""
        return -self.Phi_X[:, self.q.rows :] * self.f_dot

    @cached_property
    def c(self) -> Any:
        """Right side (3) of the acceleration equations, (rows, 1)."""
        X, V = self.q.col_join(self.f), self.q_dot.col_join(self.f_dot)
        s = sp.Dummy("s")
        along = {x: x + s * v for x, v in zip(X, V, strict=True)}
        moved = (self.Phi_X.xreplace(along) * V).diff(s).xreplace({s: sp.S.Zero})
        return -self.Phi_X[:, self.q.rows :] * self.f_ddot - moved

    def with_numbers(self, expression: Any) -> Any:
        """Substitute the values of `parameters`."""
        return expression.subs({symbol: as_number(value) for symbol, value in self.parameters.items()})

    def lambdify(self, expression: Any) -> Callable[..., Array]:
        """Return a function of q (nq,), rates v (nq,) and time t that evaluates an expression, driven by the laws."""
        symbols = [*self.q, *self.q_dot, *self.f, *self.f_dot, *self.f_ddot]
        made = sp.lambdify(symbols, self.with_numbers(sp.Matrix(expression)), "numpy", cse=True)

        def evaluate(q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Array:
            n = self.q.rows
            place = finite_array(q, (n,), item="lambdify", field="q")
            rate = np.zeros(n) if v is None else finite_array(v, (n,), item="lambdify", field="v")
            known = self.equations.known(t, third=False)[:3].ravel()
            return np.asarray(made(*place, *rate, *known), dtype=float)

        return evaluate

    def latex(self, what: str | None = None) -> str:
        """Return an attribute (``"Phi"``, ``"Phi_q"``, ``"b"``, ``"c"``) or all of Phi = 0, as LaTeX."""
        rates = {}
        for x, v in zip([*self.q, *self.f], [*self.q_dot, *self.f_dot], strict=True):
            rates[v] = rf"\dot{{{sp.latex(x)}}}"
        rates |= {a: rf"\ddot{{{sp.latex(x)}}}" for x, a in zip(self.f, self.f_ddot, strict=True)}
        if what is not None:
            return str(sp.latex(getattr(self, what), symbol_names=rates))
        held = [row for row, yes in zip(self.Phi, self.holonomic, strict=True) if yes]
        lines = [rf"{sp.latex(row)} &= 0" for row in held]
        return "\\begin{align}\n" + " \\\\\n".join(lines) + "\n\\end{align}"

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.Phi, self.holonomic, strict=True)
        return "\n".join(f"{name:{width}s}  {f'{row} = 0' if yes else '(velocities)'}" for name, row, yes in rows)


def symbolic_rows(equations: NaturalEquations, symbols: bool = False) -> SymbolicRows:
    """Write the rows of natural equations as SymPy expressions.

    Parameters
    ----------
    equations : NaturalEquations
    symbols : bool
        Whether fixed coordinates and constants of rows stay symbols, as the book writes them. Else they are numbers, of
        14 digits.
    """
    labels = [label for c in equations.coordinates for label in _labels(c.name, c.kind, len(c.value))]
    taken: set[str] = set()
    for k, label in enumerate(labels):
        while label in taken:
            label += "_"
        taken.add(label)
        labels[k] = label
    X: list[Any] = [sp.Symbol(label, real=True) for label in labels]
    unknown = [equations.place(*_component(equations, name)) for name in equations.speed_names]
    driven = [equations.place(*_component(equations, name)) for name in equations.driven_names]
    moving = [X[k] for k in (*unknown, *driven)]
    parameters: dict[Any, float] = {}
    values = [float(x) for c in equations.coordinates for x in c.value]
    for k in sorted(set(range(len(X))) - {*unknown, *driven}):
        if symbols:
            parameters[X[k]] = values[k]
        else:
            X[k] = as_number(values[k])

    def at(place: Place) -> Any:
        return sp.S.Zero if place is None else X[equations.place(*place)]

    numbers = _Constants(parameters) if symbols else None
    rows = [_row(row, at, numbers) for row in equations.table]
    Phi = sp.Matrix(rows) if rows else sp.zeros(0, 1)
    Phi_X = Phi.jacobian(sp.Matrix(moving)) if rows and moving else sp.zeros(len(rows), len(moving))
    holonomic = [True] * len(rows)
    for wheel in equations.wheels:
        own = [at((name, k)) for name in wheel.coordinates for k in range(_size(equations, name))]
        gap, J = wheel_rows(wheel, own)
        spread = sp.zeros(J.rows, len(moving))
        for k, x in enumerate(own):
            if x in moving:
                spread[:, moving.index(x)] += J[:, k]
        Phi, Phi_X = Phi.col_join(gap), Phi_X.col_join(spread)
        holonomic += wheel.holonomic
    used = {symbol for symbol in parameters if Phi.has(symbol) or Phi_X.has(symbol)}

    def column(indices: Sequence[int], dots: str) -> Any:
        return sp.Matrix(len(indices), 1, [sp.Symbol(f"{labels[k]}{dots}", real=True) for k in indices])

    return SymbolicRows(
        equations.row_names,
        tuple(holonomic),
        column(unknown, ""),
        column(unknown, "_dot"),
        column(driven, ""),
        column(driven, "_dot"),
        column(driven, "_ddot"),
        Phi,
        Phi_X,
        {symbol: value for symbol, value in parameters.items() if symbol in used},
        equations,
    )


def as_number(value: float) -> Any:
    """Return a number of 14 digits as a fraction: squares of lengths keep no rounding of the last digits."""
    return exact_number(float(f"{value:.14g}"))


class _Constants:
    """Symbols k_1, k_2, ... for the constants of rows, in their order."""

    def __init__(self, parameters: dict[Any, float]) -> None:
        self.parameters, self.count = parameters, 0
        self.amplitudes: dict[float, Any] = {}

    def amplitude(self, value: float) -> Any:
        """Return the symbol of the factor of a cosine or sine; both rows of an angle have the same one."""
        if value not in self.amplitudes:
            self.amplitudes[value] = self.symbol(value)
        return self.amplitudes[value]

    def symbol(self, value: float) -> Any:
        self.count += 1
        made = sp.Symbol(f"k_{self.count}", real=True)
        self.parameters[made] = value
        return made


def _row(row: Row, at: Callable[[Place], Any], numbers: _Constants | None) -> Any:
    """Return the sum of the terms of a row; its constant last."""
    constant = sum(term.factor for term in row.terms if term.kind == "constant")
    total = sp.S.Zero
    for term in row.terms:
        if term.kind == "constant":
            continue
        value = _product(term, at)
        factor = as_number(term.factor)
        if numbers is not None and term.kind in ("cosine", "sine") and abs(term.factor) != 1.0:
            factor = -numbers.amplitude(-term.factor)
        total += factor * value
    if constant == 0.0:
        return total
    unit = row.power == 0 and abs(constant) == 1.0
    return total - (as_number(-constant) if numbers is None or unit else numbers.symbol(-constant))


def _product(term: Term, at: Callable[[Place], Any]) -> Any:
    if term.kind in ("linear", "cosine", "sine"):
        x = at(term.places[0])
        return {"linear": x, "cosine": sp.cos(x), "sine": sp.sin(x)}[term.kind]
    A, B, *E = zip(term.places[::2], term.places[1::2], strict=True)

    def part(direction: tuple[Place, Place], k: int) -> Any:
        tip, tail = (sp.S.Zero if place is None else at((place[0], place[1] + k)) for place in direction)
        return tip - tail

    def cross(k: int) -> Any:
        i, j = (k + 1) % 3, (k + 2) % 3
        return part(A, i) * part(B, j) - part(A, j) * part(B, i)

    if term.kind == "dot":
        return sum((part(A, k) * part(B, k) for k in range(term.part)), sp.S.Zero)
    if term.kind == "cross":
        return cross(term.part)
    return sum((part(E[0], k) * cross(k) for k in range(3)), sp.S.Zero)


def _labels(name: str, kind: str, size: int) -> list[str]:
    plain = name.replace(".", "_").replace(" ", "_")
    if kind in ("angle", "distance"):
        return [plain]
    return [f"{axis}_{plain}" if kind == "point" else f"{plain}_{axis}" for axis in "xyz"[:size]]


def _size(equations: NaturalEquations, name: str) -> int:
    return next(len(c.value) for c in equations.coordinates if c.name == name)


def _component(equations: NaturalEquations, label: str) -> tuple[str, int]:
    """Return coordinate and component of a label such as ``"1.x"``."""
    return next((c.name, c.names.index(label)) for c in equations.coordinates if label in c.names)
