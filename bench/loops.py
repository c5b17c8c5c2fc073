"""Forward dynamics with closed loops: N coupled four-bars (A02), against N and beside Pinocchio; many coupled loops.

python bench/loops.py [--json out.json]

Families of many coupled loops: scissors, pin-jointed grids, nets with ball joints, rings, trees with chords, up to
about 2,000 bodies, with the exponent by which the cost of an evaluation grows with the number of bodies, the time of
`start_state`, of the rank, and of loads of least norm. Beside them, where Exudyn is
installed, one implicit step of the same scissor or grid in the plane (generalised alpha, modified Newton): not the same
work, but what one pays there for one evaluation. Times are minima; of `compile`, `start_state` and Exudyn those of the
process.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import argparse  # isort: skip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.closure.loop_equations import LoopEquations
from dalembert.library import windows

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from systems.many_loops import branches, grid, net, ring, scissor

FAMILIES: dict[str, tuple[Callable[[int], da.System], tuple[int, ...]]] = {
    "scissor": (scissor, (3, 10, 30, 100, 300, 1000)),
    "grid": (grid, (4, 8, 16, 20, 31)),
    "net": (net, (3, 6, 12, 18)),
    "ring": (ring, (10, 100, 1000)),
    "branches": (branches, (31, 127, 511, 1300)),
}
SIZES = (1, 3, 10, 40, 100, 300, 1000)
PINOCCHIO_SIZES = (1, 3, 10, 40, 100)
ANGLE, SPEED = -0.3, -1.0


def state(model: da.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return a closed configuration with all cranks at ANGLE, turning at SPEED."""
    cranks = np.array([name.startswith("A") for name in model.speed_names])
    return np.where(cranks, ANGLE, -ANGLE), np.where(cranks, SPEED, -SPEED)


def exact(n: int) -> float:
    """Return the acceleration of the cranks (BENCHMARKS A02: I th'' = G sin th, th from upright)."""
    return ((n + 1) / 2 + n) * 9.81 * float(np.sin(ANGLE)) / ((n + 1) / 3 + n)


def pinocchio(n: int) -> Callable[[], np.ndarray] | None:
    """Return a call of Pinocchio's constrained dynamics for the same mechanism, or None if it is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = pin.Model()
    model.gravity = pin.Motion(np.array([0.0, -9.81, 0.0]), np.zeros(3))
    thin = np.diag([1 / 12, 1e-9, 1 / 12])
    flat = np.diag([1e-9, 1 / 12, 1 / 12])
    constraints, ends = [], []
    for k in range(n + 1):
        place = pin.SE3(np.eye(3), np.array([float(k), 0, 0]))
        crank = model.addJoint(0, pin.JointModelRZ(), place, f"A{k}")
        model.appendBodyToJoint(crank, pin.Inertia(1.0, np.array([0, 0.5, 0]), thin), pin.SE3.Identity())
        top = pin.SE3(np.eye(3), np.array([0, 1.0, 0]))
        if ends:
            kind, frame = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
            constraints.append(pin.RigidConstraintModel(kind, model, *ends.pop(), crank, top, frame))
        if k < n:
            level = model.addJoint(crank, pin.JointModelRZ(), top, f"B{k}")
            model.appendBodyToJoint(level, pin.Inertia(1.0, np.array([0.5, 0, 0]), flat), pin.SE3.Identity())
            ends.append((level, pin.SE3(np.eye(3), np.array([1.0, 0, 0]))))
    data = model.createData()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        models.append(constraint)
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    cranks = np.array([name.startswith("A") for name in model.names[1:]])
    q, v = np.where(cranks, ANGLE, -ANGLE), np.where(cranks, SPEED, -SPEED)
    tau, settings = np.zeros(model.nv), pin.ProximalSettings(1e-12, 1e-10, 10)

    def call() -> np.ndarray:
        result: np.ndarray = pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
        return result

    return call


def microseconds(call: Callable[[], Any], rounds: int = 30) -> float:
    """Return the fastest of some rounds."""
    best = np.inf
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - started)
    return float(best) * 1e6


class ExudynRods:
    """Rods of length 1 and mass 1 in the plane in Exudyn, with pins; `step` is the time of an implicit step."""

    def __init__(self) -> None:
        import exudyn as exu
        import exudyn.itemInterface as items

        self.exu, self.items = exu, items
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.ground = self.mbs.AddObject(items.ObjectGround())

    def rod(self, p: tuple[float, float], q: tuple[float, float]) -> Any:
        """Add a rod between two points."""
        mbs, items = self.mbs, self.items
        turn = float(np.arctan2(q[1] - p[1], q[0] - p[0]))
        middle = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2, turn]
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=middle))
        body = mbs.AddObject(items.ObjectRigidBody2D(mass=1.0, inertia=1 / 12, nodeNumber=node))
        weight = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[0, 0, 0]))
        mbs.AddLoad(items.LoadForceVector(markerNumber=weight, loadVector=[0, -9.81, 0]))
        return body

    def pin(self, one: Any, other: Any, along_one: float, along_other: float) -> None:
        """Connect two bodies at distances from their middles."""
        markers = [
            self.mbs.AddMarker(self.items.MarkerBodyPosition(bodyNumber=body, localPosition=[along, 0, 0]))
            for body, along in ((one, along_one), (other, along_other))
        ]
        self.mbs.AddObject(self.items.ObjectJointRevolute2D(markerNumbers=markers))

    def assemble(self, steps: int = 50) -> Callable[[], float]:
        """Return a call that makes some steps and returns the processor time of one, us."""
        self.mbs.Assemble()
        settings = self.exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = 1e-3 * steps
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.linearSolver.solverType = self.exu.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        settings.timeIntegration.verboseMode = 0

        def step() -> float:
            started = time.process_time()  # long enough to be interrupted: times of the process
            self.mbs.SolveDynamic(settings)
            return (time.process_time() - started) / steps * 1e6

        return step


def exudyn_scissor(n: int) -> Callable[[], float]:
    """Return the implicit steps of a scissor of n cells in Exudyn."""
    model, c, h = ExudynRods(), float(np.cos(0.6)), float(np.sin(0.6))
    before: tuple[Any, Any] | None = None
    for i in range(n):
        a, b = model.rod((i * c, 0), ((i + 1) * c, h)), model.rod((i * c, h), ((i + 1) * c, 0))
        model.pin(a, b, 0, 0)
        if before is None:
            model.pin(model.ground, a, 0, -0.5)
        else:
            model.pin(before[0], b, 0.5, -0.5)
            model.pin(before[1], a, 0.5, -0.5)
        before = a, b
    return model.assemble()


def exudyn_grid(k: int) -> Callable[[], float]:
    """Return the implicit steps of a grid of k x k cells in Exudyn, without skew."""
    model = ExudynRods()
    first: dict[tuple[int, int], tuple[Any, float]] = {}

    def add(p: tuple[int, int], q: tuple[int, int]) -> None:
        bar = model.rod(p, q)
        for end, along in ((p, -0.5), (q, 0.5)):
            if end in first:
                model.pin(first[end][0], bar, first[end][1], along)
            else:
                first[end] = bar, along

    for i in range(k + 1):
        for j in range(k + 1):
            if i < k:
                add((i, j), (i + 1, j))
            if j < k:
                add((i, j), (i, j + 1))
    model.pin(model.ground, first[0, 0][0], 0, -0.5)
    return model.assemble()


def beside_exudyn(family: str, n: int) -> Callable[[], float] | None:
    """Return the steps of Exudyn for a family and size in the comparison; None if it is not installed."""
    build, sizes = EXUDYN.get(family, (exudyn_scissor, ()))
    try:
        return build(n) if n in sizes else None
    except ImportError:
        return None


EXUDYN: dict[str, tuple[Callable[[int], Callable[[], float]], tuple[int, ...]]] = {
    "scissor": (exudyn_scissor, (3, 30, 100, 300)),
    "grid": (exudyn_grid, (4, 8, 16, 20)),
}


def print_families() -> list[dict[str, Any]]:
    """Print and return what many coupled loops cost, with exponents between sizes and over each family."""
    head = "family        N   bodies    DOF    rows   solved   compile s  start s   rank ms  loads ms"
    print(f"{head}        us   us per body  exponent   Exudyn us   ratio")
    table: list[dict[str, Any]] = []
    grown: dict[str, float] = {}
    for family, (build, sizes) in FAMILIES.items():
        costs: list[tuple[int, float]] = []
        for n in sizes:
            system = build(n)
            started = time.process_time()
            model = system.compile()
            compiled = time.process_time() - started
            q, v = model.initial_state().q, np.zeros(model.nv)
            peer = beside_exudyn(family, n)
            us, theirs = np.inf, np.inf
            for _ in range(3):  # interleaved
                us = min(us, microseconds(lambda m=model, q=q, v=v: m.forward_dynamics(q, v)))
                theirs = min(theirs, peer()) if peer else np.inf
            started = time.process_time()
            da.start_state(model)
            start = time.process_time() - started
            loops, free = LoopEquations.of(model), np.ones(model.nv, dtype=bool)
            rank = microseconds(lambda e=loops, q=q, f=free: e.rank(q, f), 1) / 1e3
            loads = microseconds(lambda m=model, q=q, v=v: m.dynamics(0.0, q, v), 3) / 1e3
            bodies = len(system.bodies)
            grows = np.log(us / costs[-1][1]) / np.log(bodies / costs[-1][0]) if costs else np.nan
            sizes_text = f"{family:8s} {n:6d} {bodies:8d} {model.nv:6d} {model.nc:7d} {len(model.independent_rows):8d}"
            times = f"{compiled:11.3f} {start:8.3f} {rank:9.2f} {loads:9.2f} {us:9.1f} {us / bodies:13.3f} {grows:9.2f}"
            print(f"{sizes_text} {times}" + (f" {theirs:11.1f} {theirs / us:7.1f}" if peer else ""))
            table.append(
                {"family": family, "n": n, "bodies": bodies, "us": us, "compile": compiled}
                | {"start": start, "rank_ms": rank, "loads_ms": loads, "exudyn_us": theirs if peer else None}
            )
            costs.append((bodies, us))
        large = np.log(np.array(costs[-3:]))
        grown[family] = float(np.polyfit(large[:, 0], large[:, 1], 1)[0])
    print("growth with the number of bodies, three largest: " + ", ".join(f"{f} {g:.2f}" for f, g in grown.items()))
    return table


def main() -> None:
    """Print the table and write it as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    print("        N   DOF   rows   solved   compile s        us   us per N   rel. error   Pinocchio us   ratio")
    table = []
    for n in SIZES:
        started = time.perf_counter()
        model = windows(n).compile()
        compiled = time.perf_counter() - started
        q, v = state(model)
        peer = pinocchio(n) if n in PINOCCHIO_SIZES else None
        ours = theirs = np.inf
        for _ in range(5):  # interleaved
            ours = min(ours, microseconds(lambda m=model, q=q, v=v: m.forward_dynamics(q, v)))
            theirs = min(theirs, microseconds(peer)) if peer else np.inf
        a = model.forward_dynamics(q, v)
        error = abs(a[model.v_slice("A0")][0] / exact(n) - 1)
        if peer:
            assert abs(peer()[0] / exact(n) - 1) < 1e-5, "Pinocchio computes another mechanism"
        row = {"n": n, "us": ours, "error": error, "compile": compiled, "pinocchio_us": theirs if peer else None}
        table.append(row)
        beside = f"{theirs:14.1f} {theirs / ours:7.1f}" if peer else ""
        solved = len(model.independent_rows)
        sizes = f"{n:9d} {model.nv:10d} {model.nc:6d} {solved:8d} {compiled:11.3f}"
        print(f"{sizes} {ours:9.2f} {ours / n:10.3f} {error:12.1e} {beside}")
    ten, thousand = (next(r["us"] for r in table if r["n"] == n) for n in (10, 1000))
    print(f"cost grows as N^{np.log(thousand / ten) / np.log(100):.2f} from N = 10 to N = 1000")
    table += print_families()
    if chosen.json:
        chosen.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
