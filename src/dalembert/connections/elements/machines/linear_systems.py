"""Linear systems as elements: state space models and transfer functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ....checks import checked, finite_array, one_of
from ....errors import ModelError
from ...formulas.expressions import check_expression
from ..element import MEASURES, Element
from ..signals import Along

__all__ = ["StateSpace", "TransferFunction"]


@checked("A", "B", "C", "D", "measure", "sources")
class StateSpace(Element):
    """Linear system x' = A x + B u, y = C x + D u, from expressions u to the forces y.

    Parameters
    ----------
    A : (n, n), B : (n, m), C : (k, n), D : (k, m)
        State matrices, as from ``scipy.signal.tf2ss``; n may be 0. There are k forces: one at a joint or along a
        distance, where C and D may be rows (n,) and (m,), three for a place, six for a pose.
    inputs : sequence of m expressions
        u, of the time t and of the measures: ``["0.5 - s", "-ds"]`` at a joint.
    measure : str
        ``"joint"``, ``"distance"``, ``"place"`` or ``"pose"``.
    start : (n,)
        States at the start; zero if left out.
    sources : dict of str to source
        Further names that the inputs may use, as ``inputs`` of an `Element`: other outputs, sensors, laws of time.

    The states are ``x0``, ``x1`` ...; the forces are also signals: ``y``, or ``y0``, ``y1`` ... All work counts as
    external.

    Examples
    --------
    >>> import dalembert as da
    >>> lag = da.StateSpace([[-10.0]], [[10.0]], [[50.0]], [[0.0]], ["0.3 - s"])  # 50/(0.1 p + 1) of an error
    >>> list(lag.states)
    ['x0']
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        D: ArrayLike,
        inputs: Sequence[Any] = ("s",),
        *,
        measure: str = "joint",
        start: ArrayLike | None = None,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = self.kind
        one_of(item, "measure", measure, tuple(MEASURES))
        if isinstance(inputs, str) or not isinstance(inputs, Sequence):
            raise ModelError(item, "inputs", inputs, "give a sequence of expressions")
        measured, rates = MEASURES[measure]
        n, m, k = len(_matrix(item, "A", A)), len(inputs), len(measured)
        shapes = {"A": (n, n), "B": (n, m), "C": (k, n), "D": (k, m)}
        matrices = {}
        for name, given in (("A", A), ("B", B), ("C", C), ("D", D)):
            matrix = _matrix(item, name, given)
            if matrix.size != np.prod(shapes[name]) or (min(shapes[name]) > 1 and matrix.shape != shapes[name]):
                raise ModelError(item, f"the shape of {name}", np.shape(given), f"give {shapes[name]}")
            matrices[name] = matrix.reshape(shapes[name])
        starts = np.zeros(n) if start is None else finite_array(start, (n,), item=item, field="start")
        for each in inputs:
            check_expression(item, "inputs", each, "t", *measured, *rates, *(sources or {}))

        def row(left: Any, right: Any) -> str:
            terms = [f"({c!r})*x{k}" for k, c in enumerate(left.tolist()) if c]
            terms += [f"({c!r})*u{k}" for k, c in enumerate(right.tolist()) if c]
            return " + ".join(terms) or "0"

        states = {f"x{i}": (float(starts[i]), row(matrices["A"][i], matrices["B"][i])) for i in range(n)}
        forces = tuple(row(matrices["C"][i], matrices["D"][i]) for i in range(k))
        definitions = {f"u{i}": each for i, each in enumerate(inputs)}
        signals = {f"y{i}" if k > 1 else "y": force for i, force in enumerate(forces)}
        super().__init__(
            measure, forces, {}, states, definitions=definitions, active=True, inputs=sources or {}, signals=signals
        )


@checked("numerator", "denominator", "measure", "sources")
class TransferFunction(StateSpace):
    """Transfer function from one expression to the force at a joint or along a distance.

    Parameters
    ----------
    numerator, denominator : (m,), (n,)
        Coefficients of powers of p = d/dt, the highest first, as in ``scipy.signal``: ``([2.0], [0.1, 1.0])`` is
        2/(0.1 p + 1). The degree of the numerator is at most that of the denominator.
    input : expression
        Of the time t, the coordinate s and its rate ds.
    measure : str
        ``"joint"`` or ``"distance"``.
    sources : dict of str to source
        Further names that the input may use, as of `StateSpace`.

    The states ``x0``, ``x1`` ... are those of the controllable canonical form, zero at the start: the input drives x0,
    each other one is the integral of that before.

    Examples
    --------
    >>> import dalembert as da
    >>> lead = da.TransferFunction([0.5, 10.0], [0.01, 1.0], "0.2 - s")
    >>> lead.evaluate([[0.0, 0.1, 0.0, 0.0]])[0, 0].round(6).item()  # at once: 50 times the error
    5.0
    """

    def __init__(
        self,
        numerator: ArrayLike,
        denominator: ArrayLike,
        input: Any = "s",
        *,
        measure: Along = "joint",
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = self.kind
        above, below = (
            np.trim_zeros(np.ravel(_matrix(item, name, given)), "f")
            for name, given in (("numerator", numerator), ("denominator", denominator))
        )
        if not len(below):
            raise ModelError(item, "denominator", denominator, "give at least one coefficient that is not zero")
        if len(above) > len(below):
            raise ModelError(
                item, "numerator", numerator, f"its degree must not be above that of the denominator, {len(below) - 1}"
            )
        n = len(below) - 1
        a, b = below[1:] / below[0], np.concatenate([np.zeros(n + 1 - len(above)), above]) / below[0]
        A = np.vstack([-a, np.eye(n)[:-1]]) if n else np.zeros((0, 0))
        B = np.eye(n, 1)
        super().__init__(A, B, b[None, 1:] - b[0] * a[None], [[b[0]]], [input], measure=measure, sources=sources)


def _matrix(item: str, name: str, given: ArrayLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        matrix = np.atleast_2d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        matrix = np.full((1, 1), np.nan)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ModelError(item, name, given, "give a matrix of finite numbers")
    return matrix if matrix.size else matrix.reshape(0, 0)
