"""Our kernels beside those of Pinocchio, MuJoCo and Drake, side by side in one run.

    python bench/kernels.py [--quick] [--only chain7,humanoid] [--json out.json]

Same systems, same states, results compared before anything is timed. See bench/README.md.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import peers
import report
import timing

from dalembert import _core
from dalembert.library import binary_tree, chain, humanoid
from dalembert.model import Model
from dalembert.system import System

OURS = "dalembert"
MODELS: dict[str, Callable[[], System]] = {
    "chain1": partial(chain, 1),
    "chain7": partial(chain, 7),
    "chain32": partial(chain, 32),
    "chain128": partial(chain, 128),
    "chain512": partial(chain, 512),
    "tree127": partial(binary_tree, 127),
    "humanoid": humanoid,
}
KERNELS = {
    "forward": "forward dynamics",
    "inverse": "inverse dynamics",
    "mass": "mass matrix",
    "mass, dense": "mass matrix, dense",
    "derivatives": "derivatives",
}
BATCH = 4096
# large systems get smaller batches: their mass matrices together stay within 128 MB
BATCH_NUMBERS = 2**24
THREADS = (1, 2)


@dataclass(frozen=True)
class State:
    """Coordinates, speeds, forces and accelerations, (n,) or (B, n), in dalembert's order."""

    q: Any
    v: Any
    tau: Any
    a: Any

    @classmethod
    def random(cls, model: Model, size: int | None = None) -> State:
        """Return random states; forces and accelerations of order one."""
        rng = np.random.default_rng(20)
        state = model.random_state(rng, size)
        return cls(state.q, state.v, rng.normal(size=state.v.shape), rng.normal(size=state.v.shape))


@dataclass(frozen=True)
class Setting:
    """A measurement: a system, single calls (states = 1) or batches, and the number of threads."""

    model: str
    dofs: int
    states: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Row:
    """One measured number: time of a call or, in a batch, per state.

    Attributes
    ----------
    function : str
        The engine's functions; the fastest where there are several ways.
    minimum, median : float, us
    ratio : float
        Minimum over our minimum.
    difference : float or None
        Of the engine's result from ours (of our batch from our single calls), relative to the
        largest component.
    """

    setting: Setting
    kernel: str
    engine: str
    function: str
    minimum: float
    median: float
    ratio: float
    difference: float | None


def our_calls(model: Model, s: State) -> peers.Kernels:
    """Return our kernels as bare calls."""
    return {
        "forward": {"forward_dynamics": partial(model.forward_dynamics, s.q, s.v, s.tau)},
        "inverse": {"inverse_dynamics": partial(model.inverse_dynamics, s.q, s.v, s.a)},
        "mass": {
            "mass_matrix": partial(model.mass_matrix, s.q),
            "sparse_mass_matrix": partial(model.sparse_mass_matrix, s.q, out=model.sparse_mass_matrix(s.q)),
        },
        "derivatives": {"d_forward_dynamics": partial(model.d_forward_dynamics, s.q, s.v, s.tau)},
    }


def our_batch_calls(model: Model, s: State, threads: int) -> peers.Kernels:
    """Return our kernels on a batch, into arrays that exist already."""
    accelerations, forces = np.empty_like(s.v), np.empty_like(s.v)
    matrices = np.empty((len(s.q), model.nv, model.nv))

    def with_threads(call: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            _core.set_threads(threads)
            call()

        return run

    return {
        "forward": {
            "forward_dynamics": with_threads(partial(model.forward_dynamics, s.q, s.v, s.tau, out=accelerations))
        },
        "inverse": {"inverse_dynamics": with_threads(partial(model.inverse_dynamics, s.q, s.v, s.a, out=forces))},
        "mass": {"mass_matrix": with_threads(partial(model.mass_matrix, s.q, out=matrices))},
    }


def differences(model: Model, peer: peers.Peer, s: State) -> dict[str, float]:
    """Return how far a peer's results are from ours, for each kernel."""
    found = {
        "forward": relative(peer.forward_dynamics(s.q, s.v, s.tau), model.forward_dynamics(s.q, s.v, s.tau)),
        "inverse": relative(peer.inverse_dynamics(s.q, s.v, s.a), model.inverse_dynamics(s.q, s.v, s.a)),
        "mass": relative(peer.mass_matrix(s.q), model.mass_matrix(s.q)),
    }
    found["mass, dense"] = found["mass"]
    if hasattr(peer, "d_forward_dynamics"):
        theirs, ours = peer.d_forward_dynamics(s.q, s.v, s.tau), model.d_forward_dynamics(s.q, s.v, s.tau)
        found["derivatives"] = max(relative(a, b) for a, b in zip(theirs, ours, strict=True))
    return found


def relative(theirs: Any, ours: Any) -> float:
    """Return the largest difference over the largest component; the bare difference where that is zero."""
    return float(np.abs(theirs - ours).max() / (np.abs(ours).max() or 1.0))


def batch_differences(model: Model, s: State) -> dict[str, float]:
    """Return how far our batches are from our single calls, in the first states and in the last."""
    kernels: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "forward": (model.forward_dynamics, (s.q, s.v, s.tau)),
        "inverse": (model.inverse_dynamics, (s.q, s.v, s.a)),
        "mass": (model.mass_matrix, (s.q,)),
    }
    found = {}
    for name, (kernel, arguments) in kernels.items():
        batch = kernel(*arguments)
        found[name] = max(relative(batch[k], kernel(*(x[k] for x in arguments))) for k in (*range(9), -1))
    return found


def contest(
    setting: Setting,
    engines: dict[str, peers.Kernels],
    differences: dict[str, dict[str, float]],
    **pace: Any,
) -> list[Row]:
    """Time all engines on all kernels, interleaved, and return the fastest way of each engine."""
    calls = {
        (kernel, engine, function): call
        for engine, kernels in engines.items()
        for kernel, ways in kernels.items()
        for function, call in ways.items()
    }
    times = timing.race(calls, **pace)
    best: dict[tuple[str, str], tuple[timing.Timing, str]] = {}
    for (kernel, engine, function), time in times.items():
        if (kernel, engine) not in best or time.minimum < best[kernel, engine][0].minimum:
            best[kernel, engine] = time, function
    unit = 1e6 / setting.states
    return [
        Row(
            setting,
            kernel,
            engine,
            function,
            time.minimum * unit,
            time.median * unit,
            # the dense mass matrix of others is compared with ours, which is dense
            time.minimum / best[kernel.partition(",")[0], OURS][0].minimum,
            differences.get(engine, {}).get(kernel),
        )
        for (kernel, engine), (time, function) in best.items()
    ]


def measure(name: str, *, rounds: int, batches: bool) -> Iterator[list[Row]]:
    """Yield the rows of one system: single calls, then batches with one and with two threads."""
    system = MODELS[name]()
    model = system.compile()
    others = [peer(system) for peer in peers.installed()]
    one = State.random(model)
    found = {peer.name: differences(model, peer, one) for peer in others}
    engines = {OURS: our_calls(model, one)}
    engines |= {peer.name: peer.calls(one.q, one.v, one.tau, one.a) for peer in others}
    yield contest(Setting(name, model.nv), engines, found, rounds=rounds)
    if not batches:
        return
    count = min(BATCH, BATCH_NUMBERS // model.nv**2)
    many = State.random(model, count)
    found = {OURS: batch_differences(model, many)}
    for threads in THREADS:
        engines = {OURS: our_batch_calls(model, many, threads)}
        engines |= {peer.name: peer.batch_calls(many.q, many.v, many.tau, many.a, threads) for peer in others}
        engines = {engine: kernels for engine, kernels in engines.items() if kernels}
        setting = Setting(name, model.nv, count, threads)
        yield contest(setting, engines, found, rounds=max(3, rounds // 2), slice_time=0.05)


def table(rows: list[Row]) -> str:
    """Return rows of one contest as text: minimum (median), ratio to ours, difference from ours."""
    setting = rows[0].setting
    what = "one call from Python"
    if setting.states > 1:
        what = f"per state in batches of {setting.states} on {setting.threads} thread{'s' * (setting.threads > 1)}"
    engines = list(dict.fromkeys(row.engine for row in rows))
    lines = [f"{setting.model} (nv = {setting.dofs}): us, {what}"]
    lines.append(f"  {'':<20}" + "".join(f"{engine:<30}" for engine in engines).rstrip())
    for kernel, title in KERNELS.items():
        cells = {row.engine: row for row in rows if row.kernel == kernel}
        if cells:
            lines.append(f"  {title:<20}" + "".join(f"{_cell(cells.get(engine)):<30}" for engine in engines).rstrip())
    return "\n".join(lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    text = f"{_short(row.minimum)} ({_short(row.median)})"
    if row.engine != OURS:
        text += f" {row.ratio:.2f}x"
    return text if row.difference is None else f"{text} {row.difference:.0e}"


def _short(time: float) -> str:
    return f"{time:.3g}" if time < 1000 else f"{time:.0f}"


def main() -> None:
    """Run from the command line."""
    parser = report.parser(__doc__, quick="few rounds, no deep chains")
    parser.add_argument("--only", help=f"some of {','.join(MODELS)}")
    parser.add_argument("--no-batch", action="store_true", help="single calls only")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [n for n in MODELS if not (options.quick and n == "chain512")]
    unknown = sorted(set(names) - set(MODELS))
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}; known: {', '.join(MODELS)}")
    about = report.introduce(**{peer.name: peer.version for peer in peers.installed()})
    print("cells: minimum (median) over interleaved rounds, time as multiple of ours, largest relative difference\n")
    rows: list[Row] = []
    for name in names:
        for found in measure(name, rounds=5 if options.quick else 15, batches=not options.no_batch):
            print(table(found), end="\n\n", flush=True)
            rows += found
    print("fastest functions:")
    for engine, kernel, function in sorted({(row.engine, row.kernel, row.function) for row in rows}):
        print(f"  {engine}, {kernel}: {function}")
    flat = [{**asdict(row.setting), **{k: v for k, v in asdict(row).items() if k != "setting"}} for row in rows]
    report.write(options.json, about, flat)


if __name__ == "__main__":
    main()
