"""Cost of flexible bodies: by number of bodies, by number of modes, beside the mass matrix and a dense solution.

    python bench/flexible.py [--quick] [--json out.json]

Chains of equal beams on joints about y and z in turn. The recursion must be linear in the bodies, grow no faster than
the square of the modes, and beat the mass matrix with a Cholesky solution from the numbers of bodies that the operation
counts of Jain and Rodriguez (1990) predict (`da.operation_counts`).
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
from dataclasses import dataclass
from functools import partial

import numpy as np
import report
import timing
from scipy.linalg import cho_factor, cho_solve

import dalembert as da
from dalembert import _core
from dalembert.formulations.flop_counts import crossover
from dalembert.model import Model

BODIES = (1, 2, 3, 4, 8, 16, 30, 100, 300, 1000)
MODES = (1, 2, 4, 6, 8, 12, 16, 24, 30, 50, 75, 100)
DENSE = 30  # bodies up to which the dense way is timed


@dataclass(frozen=True)
class Row:
    """Costs of a chain, us: one call from Python; per state in a batch on one thread; by mass matrix and Cholesky."""

    bodies: int
    modes: int
    forward: float
    inverse: float
    forward_batch: float
    dense: float | None


def chain(bodies: int, modes: int) -> Model:
    """Return a chain of equal flexible links."""
    material = da.Material(E=70e9, nu=0.33, density=2700)
    section = da.Section.rectangle(0.02, 0.01)
    link = da.beam(1.0, section, material, elements=max(16, modes // 3), modes=da.CantileverModes(modes))
    s = da.System(f"{bodies} links of {modes} modes")
    end = s.ground.origin
    for k in range(bodies):
        body = s.body(f"link{k}", link)
        s.connect(f"joint{k}", da.Revolute("yz"[k % 2]), end, body)
        end = body.at(1.0, 0, 0)
    return s.compile()


def dense(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return accelerations by the mass matrix of composite bodies and a dense solution."""
    M, b = model.mass_matrix(q), model.bias_forces(q, v)
    return cho_solve(cho_factor(M, overwrite_a=True, check_finite=False), tau - b, check_finite=False)


def measure(shapes: list[tuple[int, int]], *, rounds: int) -> list[Row]:
    """Return one row for each (bodies, modes); all are timed interleaved."""
    _core.set_threads(1)
    calls, states = {}, {}
    for shape in shapes:
        model = chain(*shape)
        rng = np.random.default_rng(0)
        count = states[shape] = max(16, 2**13 // model.nv)
        one, many = model.random_state(rng), model.random_state(rng, count)
        tau, out = np.zeros(model.nv), np.empty((count, model.nv))
        calls[shape, "forward"] = partial(model.forward_dynamics, one.q, 0.1 * one.v, tau)
        calls[shape, "inverse"] = partial(model.inverse_dynamics, one.q, 0.1 * one.v, tau)
        calls[shape, "batch"] = partial(model.forward_dynamics, many.q, 0.1 * many.v, tau, out=out)
        if shape[0] <= DENSE:
            calls[shape, "dense"] = partial(dense, model, one.q, 0.1 * one.v, tau)
            found, expected = (calls[shape, name]() for name in ("forward", "dense"))
            assert np.allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    times = {key: time.minimum * 1e6 for key, time in timing.race(calls, rounds=rounds).items()}
    return [
        Row(
            *shape,
            times[shape, "forward"],
            times[shape, "inverse"],
            times[shape, "batch"] / states[shape],
            times.get((shape, "dense")),
        )
        for shape in shapes
    ]


def table(rows: list[Row]) -> str:
    """Return the rows as text."""
    titles = ["bodies", "modes", "forward us", "inverse us", "in a batch", "dense us", "per body us", "per mode^2 ns"]
    lines = ["".join(f"{title:>14}" for title in titles)]
    for r in rows:
        cells = [f"{r.bodies}", f"{r.modes}", f"{r.forward:.4g}", f"{r.inverse:.4g}", f"{r.forward_batch:.4g}"]
        cells += ["-" if r.dense is None else f"{r.dense:.4g}", f"{r.forward / r.bodies:.3f}"]
        cells += [f"{1e3 * r.forward / r.bodies / r.modes**2:.1f}"]
        lines.append("".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__).parse_args()
    rounds = 5 if options.quick else 15
    about = report.introduce()
    by_bodies = measure([(bodies, 6) for bodies in BODIES], rounds=rounds)
    by_modes = measure([(20, modes) for modes in MODES], rounds=rounds)
    print(f"\nsix modes each, minima over {rounds} interleaved rounds, one thread\n{table(by_bodies)}\n")
    first = next((row.bodies for row in by_bodies if row.dense and row.forward < row.dense), None)
    print(f"recursion ahead of the dense way from {first} bodies on; predicted: {crossover(6)}\n")
    print(f"twenty bodies\n{table(by_modes)}")
    report.write(options.json, about, [*by_bodies, *by_modes])


if __name__ == "__main__":
    main()
