"""Ensembles beside MuJoCo's rollout at equal error, what varies from run to run, and what a case of a sweep costs.

    python bench/studies.py [--runs 2000] [--rounds 3] [--cases 20000] [--no-cluster] [--no-ensembles]

Arms of seven links and four-bars, 2 s each, from random states. Errors are medians over the runs, of joint angles at
the end against our own runs at 1e-12. One thread, but for the rows that say more: there the clock on the wall counts,
so that nothing else may run on the machine, and two processes of one thread each tell what its two cores can do.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import timing

import dalembert as da
from dalembert import _core
from dalembert.errors import OmissionWarning
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

try:
    import mujoco
    from mujoco import rollout

    mujoco.set_mju_user_warning(lambda message: None)  # instead of a log file in the working directory
except ImportError:
    mujoco = None

SPAN = 2.0
FEW = 50  # runs whose control takes one state only
THEIRS = 40  # runs of the other engine, which takes them one by one
KINDS = (
    "states",
    "stiffnesses",
    "masses and lengths",
    "element states",
    "a drive",
    "control as formulas",
    "control in Python",
    "control of one state",
)
GOAL = 1e-6  # median error that arms are to reach
Array = np.ndarray


def arm() -> da.System:
    """Return an arm of seven links."""
    return chain(7)


def varied(kind: str, runs: int) -> tuple[da.System, dict[str, Array], Callable[[da.State], Array] | None]:
    """Return an arm, parameters of each run and control."""
    s, given, control = arm(), {}, None
    if kind == "stiffnesses":
        s.connect("k", da.TorsionSpring(5.0), "joint_3")
        given = {"k.stiffness": np.linspace(1.0, 9.0, runs)}
    elif kind == "masses and lengths":
        given = {"link_3.mass": np.linspace(0.8, 1.2, runs), "joint_5.first.z": np.linspace(-0.01, 0.01, runs)}
    elif kind == "element states":
        s.connect("k", da.Element("joint", "-c*(s - m)", {"c": 5.0}, states={"m": (0.0, "(s - m)/0.3")}), "joint_3")
    elif kind == "a drive":
        s.drive("joint_1", position=da.Harmonic(0.3, 2.0))
    elif kind == "control as formulas":
        for k in range(1, 8):
            s.connect(f"hold {k}", da.Element("joint", "-k*s", {"k": 2.0}, active=True), f"joint_{k}")
    elif kind == "control in Python":
        control = lambda state: -2.0 * state.q  # noqa: E731
    elif kind == "control of one state":
        control = lambda state: [-2.0 * state.q[k] for k in range(7)]  # noqa: E731
    return s, given, control


def error(found: Array, exact: Array) -> float:
    """Return the median over runs of the largest error of an angle."""
    return float(np.median(np.abs(found - exact).max(axis=1)))


def ours(model: da.Model, states: da.State, exact: Array, goal: float) -> tuple[float, Callable[[], object], float]:
    """Return the coarsest tolerance that reaches an error, the call, and the error."""
    for rtol in 10.0 ** np.arange(-5, -11.1, -0.5):
        call = lambda rtol=rtol: da.simulate(model, SPAN, state=states, times=[SPAN], rtol=rtol, atol=rtol)  # noqa: E731
        reached = error(call().q[:, -1], exact)
        if reached <= goal:
            break
    return rtol, call, reached


def theirs(
    system: da.System, states: da.State, exact: Array, goal: float, most: int
) -> tuple[int, Callable[[], object], float]:
    """Return how many steps MuJoCo's RK4 needs for an error, the call, and the error."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", OmissionWarning)
        da.save(system, Path(folder) / "system.xml")
        spec = mujoco.MjSpec.from_file(str(Path(folder) / "system.xml"))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    names = list(system.compile().joint_names)
    steps = 500
    while True:
        spec.option.timestep = SPAN / steps
        for equality in spec.equalities:  # as hard as they may be
            equality.solref[:2], equality.solimp[:] = (2 * SPAN / steps, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0)
        model = spec.compile()
        places = [int(model.jnt_qposadr[model.joint(name).id]) for name in names]
        start = np.zeros((len(states.q), 1 + model.nq + model.nv))
        start[:, 1 + np.array(places)], start[:, 1 + model.nq + np.array(places)] = states.q, states.v
        data = mujoco.MjData(model)
        call = lambda model=model, data=data, start=start, steps=steps: rollout.rollout(model, data, start, nstep=steps)  # noqa: E731
        reached = error(call()[0][:, -1, 1 + np.array(places)], exact)
        if reached <= goal or steps >= most:
            return steps, call, reached
        steps *= 2


def beside(name: str, system: da.System, states: da.State, goal: float, rounds: int, most: int) -> None:
    """Print one race."""
    model = system.compile()
    exact = da.simulate(model, SPAN, state=states, times=[SPAN], rtol=1e-12, atol=1e-12).q[:, -1]
    rtol, mine, reached = ours(model, states, exact, goal)
    few = da.State(q=states.q[:THEIRS], v=states.v[:THEIRS])
    runs, calls = len(states.q), {"dalembert": mine}
    line = f"{name:24s} dalembert, rtol {rtol:g}, error {reached:.1e}"
    if mujoco is not None:
        steps, call, got = theirs(system, few, exact[:THEIRS], goal, most)
        calls["MuJoCo"] = call
        line += f"; MuJoCo, {steps} steps of RK4, error {got:.1e}"
    times = timing.race(calls, rounds=rounds, slice_time=0.0, clock=time.process_time_ns)
    own = times["dalembert"].minimum / runs
    line += f"\n{'':24s} {1e3 * own:.3f} ms a run"
    if "MuJoCo" in times:
        peer = times["MuJoCo"].minimum / THEIRS
        line += f", {1e3 * peer:.3f} ms: {peer / own:.1f}x"
    print(line)


def ensembles(runs: int, rounds: int) -> None:
    """Print races, and what differs between runs beside runs that differ in their states alone."""
    _core.set_threads(1)
    model = arm().compile()
    rng = np.random.default_rng(0)
    states = da.State(q=rng.uniform(-1, 1, (runs, model.nq)), v=rng.uniform(-0.5, 0.5, (runs, model.nv)))
    beside("arm of seven links", arm(), states, GOAL, rounds, 16_000)
    bars = four_bar()
    closed = bars.compile()
    some = min(runs, 500)
    begin = da.start_state(closed, {"A": np.linspace(0.3, 1.2, some), "A.speed": np.linspace(-2, 2, some)})
    beside("four-bar", bars, begin, GOAL, rounds, 4000)
    calls: dict[str, Callable[[], object]] = {}
    counts = {kind: FEW if kind == "control of one state" else runs for kind in KINDS}
    for kind, few in counts.items():
        s, given, control = varied(kind, runs)
        own = s.compile()
        start = da.State(q=states.q[:few], v=states.v[:few])
        calls[kind] = lambda own=own, given=given, control=control, start=start: da.simulate(
            own, SPAN, state=start, times=[SPAN], parameters=given, control=control, rtol=1e-6, atol=1e-6
        )
    times = timing.race(calls, rounds=rounds, slice_time=0.0, clock=time.process_time_ns)
    plain = times["states"].minimum / runs
    for kind, found in times.items():
        own = found.minimum / counts[kind]
        print(f"{kind:24s} {1e3 * own:.3f} ms a run, {own / plain:.2f} of runs that differ in states")
    four_bars(closed, begin, rounds)
    on_threads(calls, runs, rounds)


def four_bars(model: da.Model, states: da.State, rounds: int) -> None:
    """Print what four-bars that differ in a mass or a length cost beside those that differ in their states alone."""
    count = len(states.q)
    masses = {"coupler.mass": np.linspace(0.8, 1.2, count)}
    lengths = {"C.first.x": np.linspace(0.98, 1.02, count) * model.parameters[model.parameter_names["C.first.x"]]}
    one = {"A": 0.5, "A.speed": 1.0}
    calls: dict[str, Callable[[], object]] = {
        kind: lambda given=given, start=start: da.simulate(
            model, SPAN, state=start, times=[SPAN], parameters=given, rtol=1e-6, atol=1e-6
        )
        for kind, given, start in (
            ("states", None, states),
            ("masses", masses, one),
            ("masses and states", masses, states),
            ("lengths", lengths, one),
        )
    }
    times = timing.race(calls, rounds=rounds, slice_time=0.0, clock=time.process_time_ns)
    plain = times["states"].minimum
    for kind, found in times.items():
        line = f"{1e3 * found.minimum / count:.3f} ms a run, {found.minimum / plain:.2f} of runs that differ in states"
        print(f"four-bars, {kind:18s} {line}")


def on_threads(calls: dict[str, Callable[[], object]], runs: int, rounds: int) -> None:
    """Print what a second thread is worth, and what a second process is."""

    def on(threads: int, call: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            _core.set_threads(threads)
            call()

        return run

    kinds = ("states", "control in Python")
    race: dict[tuple[str, int], Callable[[], object]] = {(k, n): on(n, calls[k]) for k in kinds for n in (1, 2)}
    other = subprocess.Popen(
        [sys.executable, __file__, "--beside", str(runs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    alone = on(1, calls["states"])

    def two_processes() -> None:
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write(b"\n")
        other.stdin.flush()
        alone()
        other.stdout.readline()

    race["two processes", 2] = two_processes
    times = timing.race(race, rounds=2 * rounds, slice_time=0.0)
    other.communicate()
    _core.set_threads(1)
    for kind in kinds:
        one, two = (times[kind, threads].minimum for threads in (1, 2))
        print(
            f"{kind:24s} {1e3 * one / runs:.3f} ms a run on one thread, {1e3 * two / runs:.3f} on two: {one / two:.2f}x"
        )
    most = 2 * times["states", 1].minimum / times["two processes", 2].minimum
    print(f"{'two processes':24s} {most:.2f}x: more cannot come of two threads here")


def beside_another(runs: int) -> None:
    """Make runs whenever a line comes in, as another process does at the same time."""
    _core.set_threads(1)
    model = arm().compile()
    rng = np.random.default_rng(0)
    states = da.State(q=rng.uniform(-1, 1, (runs, model.nq)), v=rng.uniform(-0.5, 0.5, (runs, model.nv)))
    for _ in sys.stdin:
        da.simulate(model, SPAN, state=states, times=[SPAN], rtol=1e-6, atol=1e-6)
        print(flush=True)


def pendulum() -> da.System:
    """Return what sweeps are over."""
    s = chain(1, axes="y")
    s.connect("k", da.TorsionSpring(5.0), "joint_1")
    return s


def small(model: da.Model, case: da.studies.Case) -> float:
    """Return something that takes some ten microseconds."""
    return float(model.forward_dynamics([case["angle"]], [0.0])[0])


def spent(client: object | None) -> tuple[float, float]:
    """Return the clock, and the processor time so far, of this process and of the workers, s."""
    there = client.run(time.process_time).values() if client is not None else ()
    return time.perf_counter(), time.process_time() + sum(there)


def cost(client: object | None, **study: object) -> tuple[float, float]:
    """Return what a sweep takes by the clock and of processors, s."""
    before = spent(client)
    da.sweep(pendulum(), client=client, **study)
    after = spent(client)
    return after[0] - before[0], after[1] - before[1]


def sweeps(cases: int, cluster: bool) -> None:
    """Print what a case of a sweep costs, by where it runs: by the clock, and of processors."""
    runs = {"t_end": 1.0, "outputs": ["joint_1.position"], "times": [1.0]}
    studies = {
        "runs side by side": {"over": {"k.stiffness": np.linspace(1.0, 9.0, cases)}, **runs},
        "a function": {"over": {"angle": np.linspace(0.0, 1.0, cases)}, "task": small},
    }
    da.set_threads(1)
    da.sweep(pendulum(), {"k.stiffness": [1.0, 2.0]}, **runs)  # packages are imported
    here = {}
    for name, study in studies.items():
        here[name] = cost(None, **study, workers=1)
        print(f"sweep, {name}, one process: {_told(here[name], cases)}")
    if not cluster:
        return
    from dask.distributed import Client, LocalCluster

    workers = 2
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local,
        Client(local) as client,
    ):
        da.sweep(pendulum(), {"k.stiffness": np.linspace(1.0, 2.0, 64)}, client=client, **runs)  # workers import
        before = spent(client)
        time.sleep(1.0)
        clock, idle = (after - start for after, start in zip(spent(client), before, strict=True))
        print(f"a cluster that has nothing to do: {100 * idle / clock:.1f} % of a processor")
        for name, study in studies.items():
            there, alone = cost(client, **study), here[name]
            own = there[1] - idle / clock * there[0]
            print(
                f"sweep, {name}, Dask, {workers} workers: {_told(there, cases)}; of one process per core: "
                f"{workers * there[0] / alone[0]:.2f} by the clock, {there[1] / alone[1]:.2f} of processors, "
                f"{own / alone[1]:.2f} without what it takes for nothing; "
                f"{1e6 * (there[1] - alone[1]) / cases:.1f} us more a case"
            )


def _told(found: tuple[float, float], cases: int) -> str:
    return f"{1e6 * found[0] / cases:.1f} us a case by the clock, {1e6 * found[1] / cases:.1f} us of processors"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--no-cluster", action="store_true")
    parser.add_argument("--no-ensembles", action="store_true")
    parser.add_argument(
        "--beside", type=int, help="runs to make whenever a line comes in: what this program starts of itself"
    )
    chosen = parser.parse_args()
    if chosen.beside:
        beside_another(chosen.beside)
        sys.exit()
    if not chosen.no_ensembles:
        ensembles(chosen.runs, chosen.rounds)
    sweeps(chosen.cases, not chosen.no_cluster)
