"""Forward dynamics with closed loops: N coupled four-bars (A02), against N and beside Pinocchio; many coupled loops.

python bench/loops.py [--json out.json]

Families of many coupled loops: scissors, pin-jointed grids, nets with ball joints, rings, trees with chords, up to
about 2,000 bodies, with the exponent by which the cost of an evaluation grows with the number of bodies, the time of
`start_state`, of the rank, and of loads of least norm. Beside them, where Exudyn is
installed, one implicit step of the same scissor in the plane (generalised alpha, modified Newton): not the same work,
but what one pays there for one evaluation.
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
EXUDYN_SCISSORS = (3, 30, 100, 300)
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


def exudyn_scissor(n: int, steps: int = 50) -> float | None:
    """Return the time of one implicit step of a scissor of n cells in Exudyn, us; None if it is not installed."""
    try:
        import exudyn as exu
        import exudyn.itemInterface as items
    except ImportError:
        return None
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    c, h = np.cos(0.6), np.sin(0.6)

    def rod(p: tuple[float, float], q: tuple[float, float]) -> Any:
        turn = float(np.arctan2(q[1] - p[1], q[0] - p[0]))
        middle = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2, turn]
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=middle))
        body = mbs.AddObject(items.ObjectRigidBody2D(physicsMass=1.0, physicsInertia=1 / 12, nodeNumber=node))
        weight = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[0, 0, 0]))
        mbs.AddLoad(items.LoadForceVector(markerNumber=weight, loadVector=[0, -9.81, 0]))
        return body

    def marker(body: Any, along: float) -> Any:
        return mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[along, 0, 0]))

    def pin(one: Any, other: Any) -> None:
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[one, other]))

    ground = mbs.AddObject(items.ObjectGround())
    before: tuple[Any, Any] | None = None
    for i in range(n):
        a, b = rod((i * c, 0), ((i + 1) * c, h)), rod((i * c, h), ((i + 1) * c, 0))
        pin(marker(a, 0), marker(b, 0))
        if before is None:
            pin(mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0])), marker(a, -0.5))
        else:
            pin(marker(before[0], 0.5), marker(b, -0.5))
            pin(marker(before[1], 0.5), marker(a, -0.5))
        before = a, b
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = 1e-3 * steps
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.linearSolverType = exu.LinearSolverType.EigenSparse
    settings.solutionSettings.writeSolutionToFile = False
    settings.timeIntegration.verboseMode = 0
    best = np.inf
    for _ in range(3):
        started = time.process_time()  # long enough to be interrupted: times of the process
        mbs.SolveDynamic(settings)
        best = min(best, time.process_time() - started)
    return float(best) / steps * 1e6


def print_families() -> list[dict[str, Any]]:
    """Print and return what many coupled loops cost, with exponents between sizes."""
    head = "family        N   bodies    DOF    rows   solved   compile s  start s   rank ms  loads ms"
    print(f"{head}        us   us per body  exponent   Exudyn us")
    table: list[dict[str, Any]] = []
    for family, (build, sizes) in FAMILIES.items():
        last: tuple[int, float] | None = None
        for n in sizes:
            system = build(n)
            started = time.perf_counter()
            model = system.compile()
            compiled = time.perf_counter() - started
            q, v = model.initial_state().q, np.zeros(model.nv)
            us = min(microseconds(lambda m=model, q=q, v=v: m.forward_dynamics(q, v)) for _ in range(3))
            started = time.perf_counter()
            da.start_state(model)
            start = time.perf_counter() - started
            loops, free = LoopEquations.of(model), np.ones(model.nv, dtype=bool)
            rank = microseconds(lambda e=loops, q=q, f=free: e.rank(q, f), 1) / 1e3
            loads = microseconds(lambda m=model, q=q, v=v: m.dynamics(0.0, q, v), 3) / 1e3
            bodies = len(system.bodies)
            grows = np.log(us / last[1]) / np.log(bodies / last[0]) if last else np.nan
            peer = exudyn_scissor(n) if family == "scissor" and n in EXUDYN_SCISSORS else None
            sizes_text = f"{family:8s} {n:6d} {bodies:8d} {model.nv:6d} {model.nc:7d} {len(model.independent_rows):8d}"
            times = f"{compiled:11.3f} {start:8.3f} {rank:9.2f} {loads:9.2f} {us:9.1f} {us / bodies:13.3f} {grows:9.2f}"
            print(f"{sizes_text} {times}" + (f" {peer:11.1f}" if peer else ""))
            table.append(
                {"family": family, "n": n, "bodies": bodies, "us": us, "compile": compiled, "exudyn_us": peer}
                | {"start": start, "rank_ms": rank, "loads_ms": loads}
            )
            last = bodies, us
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
