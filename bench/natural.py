"""Natural coordinates: Garcia de Jalon and Bayo's table 3.1, three forms of one mechanism, sparse matrices.

python bench/natural.py [--loops 10 100 1000]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import argparse  # isort: skip
import math
import time
from collections.abc import Callable

import numpy as np

import dalembert as da
from dalembert.closure import RelativeEquations, find_position, find_rates
from dalembert.natural import Mechanism, natural_model, reference_equations
from dalembert.numerics.factorization import factor

STEPS = 1000


def robot() -> Mechanism:
    """Return a 6R robot by 4 points and 3 vectors, its hand led round an ellipse in 1000 steps."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.vector("uA", 0, 0, 1, fixed=True)
    r1 = np.array([math.cos(1.1), 0, math.sin(1.1)])
    r2 = r1 + 0.9 * np.array([math.cos(-0.5), 0, math.sin(-0.5)])
    r3 = r2 + 0.3 * np.array([math.cos(-0.9), 0, math.sin(-0.9)])
    for name, r in zip("1234", (r1, r2, r3, r3 + np.array([0, 0.2, 0])), strict=True):
        m.point(name, *r)
    for name in ("u1", "u2", "u3"):
        m.vector(name, 0, 1, 0)
    m.universal("turret", "uA", "u1")
    m.body("upper arm", ["A", "1"], ["u1"]), m.body("forearm", ["1", "2"], ["u1"])
    m.body("sleeve", ["1", "2"], ["u2"]), m.body("wrist", ["2", "3"], ["u2"])
    m.body("hand", ["2", "3", "4"], ["u3"])

    def led(start: float, k: int) -> Callable[[float], tuple[float, float, float]]:
        def at(t: float) -> float:
            x = 2 * math.pi * t / STEPS
            return start + (0.0, 0.25 * math.sin(x), 0.15 * (1 - math.cos(x)))[k]

        return lambda t: (at(t), at(t + 1) - at(t), 0.0)

    for name in "234":
        m.drive(name, tuple(led(float(x), k) for k, x in enumerate(m.coordinates[name].value)))
    m.drive("u3", (0.0, 1.0, 0.0))
    return m


def table() -> None:
    """Print iterations, factorisations and times of the three ways of table 3.1."""
    e = robot().equations()
    print(f"{'6R robot, 1000 displacements':38}{'iterations':>11}{'factored':>10}{'s':>8}{'ratio':>8}{'book':>8}")
    first = 0.0
    for way, book in (("full", 1.0), ("modified", 53.1 / 21.7), ("modified, velocity predictor", 53.1 / 15.5)):
        q, iterations, factored, began = e.start(), 0, 0, time.process_time()
        for k in range(1, STEPS + 1):
            start, factors = q, None
            if "predictor" in way:
                factors = factor(e.jacobian(q, k - 1.0), "normal")
                start, factored = q + factors.solve(e.velocity_terms(q, k - 1.0)), factored + 1
            found = find_position(
                e, start, float(k), method=way.split(",")[0], factors=factors, line_search=False, scaled=False,
                tolerance=1e-9, solver="normal",
            )  # fmt: skip
            q, iterations, factored = found.q, iterations + found.iterations, factored + found.factorisations
        spent = time.process_time() - began
        first = first or spent
        print(f"Newton, {way:30}{iterations:11}{factored:10}{spent:8.2f}{first / spent:8.2f}{book:8.2f}")


def forms() -> None:
    """Print sizes and the time for one position with its rates in three sets of coordinates."""
    from dalembert.library import watt_six_bar

    s = watt_six_bar()
    s.drives.clear()
    q = da.assemble(s).q
    joint = s.compile().forest.joints[0].name
    s.drive(joint, position=da.Polynomial((float(q[0]), 1.0)))
    natural, reference = natural_model(s, state=q), reference_equations(s, state=q)
    print(f"\n{'Watt six-bar':22}{'coordinates':>12}{'rows':>6}{'ms':>8}")
    for name, e, at in (
        ("relative", RelativeEquations(s.compile()), q),
        ("natural", natural.equations(), natural.coordinates_of(q)),
        ("reference points", reference, reference.coordinates_of(q)),
    ):
        times = []
        for _ in range(20):
            began = time.process_time()
            found = find_position(e, at, 0.01)  # type: ignore[arg-type]
            find_rates(e, found.q, 0.01)  # type: ignore[arg-type]
            times.append(time.process_time() - began)
        print(f"{name:22}{e.nv:12}{e.rows:6}{1e3 * min(times):8.3f}")  # type: ignore[attr-defined]


def ladder(loops: int) -> Mechanism:
    """Return four-bars in a row, the first crank driven."""
    m = Mechanism(2, "ladder")
    m.point("A0", 0, 0, fixed=True), m.point("P0", 0.3, 1.0), m.link("c0", "A0", "P0")
    for i in range(1, loops + 1):
        m.point(f"A{i}", 2.0 * i, 0, fixed=True), m.point(f"P{i}", 2.0 * i + 0.35, 1.1)
        m.link(f"b{i}", f"P{i - 1}", f"P{i}"), m.link(f"c{i}", f"A{i}", f"P{i}")
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A0", "P0"))
    m.drive("psi", da.Polynomial((float(m.coordinates["psi"].value[0]), 0.05)))
    return m


def sparse(sizes: list[int]) -> None:
    """Print the time of one factorisation and solution, dense and sparse."""
    print(f"\n{'loops in a row':22}{'coordinates':>12}{'qr':>10}{'normal':>10}{'sparse':>10}   ms")
    for loops in sizes:
        e = ladder(loops).equations()
        A = e.row_scales[:, None] * e.jacobian(e.start(), 0.0) * e.column_scales
        b, spent = np.ones(len(A)), {}
        for solver in ("qr", "normal", "sparse"):
            if solver == "qr" and loops > 300:
                spent[solver] = math.nan
                continue
            times = []
            for _ in range(3):
                began = time.process_time()
                factor(A, solver, e.pattern).solve(b)
                times.append(time.process_time() - began)
            spent[solver] = 1e3 * min(times)
        print(f"{loops:22}{e.nv:12}{spent['qr']:10.3f}{spent['normal']:10.3f}{spent['sparse']:10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--loops", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    sizes = parser.parse_args().loops
    table()
    forms()
    sparse(sizes)


if __name__ == "__main__":
    main()
