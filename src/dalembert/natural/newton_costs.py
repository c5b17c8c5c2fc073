"""Cost of finite displacements by three methods: table 3.1 of Garcia de Jalon and Bayo (1994).

standard    Newton's method from the last position, a new matrix in every iteration
modified    the matrix of the last position for all iterations of a step
predicted   as modified, started from q + v, with the driven coordinates at f(t1) - f(t0) per unit of time; one
                matrix serves velocities and iterations
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite_array
from ..closure import find_position
from ..errors import ModelError
from ..numerics.factorization import Factors, factor

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["DisplacementCosts", "displacement_costs"]

METHODS = ("standard", "modified", "predicted")


@dataclass(frozen=True)
class DisplacementCosts:
    """Iterations, factorizations and processor time of a sequence of finite displacements; `print` shows a table.

    Attributes
    ----------
    iterations, factorizations : dict of str to int
        By method: ``"standard"``, ``"modified"``, ``"predicted"``.
    seconds : dict of str to float
        Processor time, which depends on machine and load.
    steps : int
    apart : float
        Largest difference of final positions between the methods.
    """

    iterations: dict[str, int]
    factorizations: dict[str, int]
    seconds: dict[str, float]
    steps: int
    apart: float

    def __str__(self) -> str:
        lines = [f"{self.steps} displacements  iterations  factorizations  seconds"]
        for name in METHODS:
            made = f"{self.iterations[name]:12d}{self.factorizations[name]:16d}{self.seconds[name]:9.3f}"
            lines.append(f"{name:14s}{made}")
        return "\n".join(lines)


def displacement_costs(mechanism: Mechanism, times: ArrayLike, *, tolerance: float = 1e-9) -> DisplacementCosts:
    """Move a driven mechanism through times by three methods and count their work.

    Parameters
    ----------
    mechanism : Mechanism
        With drives for all degrees of freedom; the first position is assembled.
    times : (k,) s
    tolerance : float
        Of the residual, unscaled.

    Notes
    -----
    Steps are solved by normal equations without damping, as in the book; a step that fails raises `AssemblyError`.
    Use `Mechanism.motion` for motions: it splits steps, damps iterations and keeps the branch.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.natural.Mechanism(2)
    >>> m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 3**0.5), m.point("2", 4.8, 2.9)
    ('A', 'B', '1', '2')
    >>> m.link("a", "A", "1", 2), m.link("b", "1", "2", 4), m.link("c", "2", "B", 3), m.vector("x", 1, 0, fixed=True)
    (None, None, None, 'x')
    >>> m.angle("psi", "x", ("A", "1")); m.drive("psi", da.Polynomial((1.0, 0.05)))
    >>> found = da.natural.displacement_costs(m, range(11))
    >>> found.factorizations["standard"] > found.factorizations["modified"] == 10
    True
    """
    t = finite_array(times, (np.size(times),), item="displacement_costs", field="times")
    if len(t) < 2:
        raise ModelError("displacement_costs", "times", times, "give at least two times")
    equations = mechanism.equations()
    first = find_position(equations, equations.start(), float(t[0])).q
    counts: dict[str, tuple[int, int, float]] = {}
    ends = []
    for method in METHODS:
        q, iterations, made, begin = first, 0, 0, time.process_time()
        for before, after in zip(t[:-1].tolist(), t[1:].tolist(), strict=True):
            start = q
            factors: Factors | None = None
            if method == "predicted":
                factors = factor(equations.jacobian(q, before), "normal")
                start = q + factors.solve(equations.displacement_terms(q, before, after))
                made += 1
            found = find_position(
                equations,
                start,
                after,
                method="full" if method == "standard" else "modified",
                factors=factors,
                line_search=False,
                scaled=False,
                tolerance=tolerance,
                solver="normal",
            )
            q, iterations, made = found.q, iterations + found.iterations, made + found.factorisations
        counts[method] = (iterations, made, time.process_time() - begin)
        ends.append(q)
    apart = max(float(np.abs(q - ends[0]).max(initial=0.0)) for q in ends)
    iterations_of = {name: counts[name][0] for name in METHODS}
    made_of = {name: counts[name][1] for name in METHODS}
    return DisplacementCosts(iterations_of, made_of, {name: counts[name][2] for name in METHODS}, len(t) - 1, apart)
