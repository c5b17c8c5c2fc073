"""Rollouts of a seven-link arm beside MuJoCo's at equal error, and what gradients cost.

    python bench/rollouts.py [--quick] [--json out.json]

1,024 runs with random joint torques, 50 control intervals of 20 ms, zero-order hold. Errors are medians over the runs,
of joint angles at the end against our own runs at 1e-12. Each engine takes the longest steps, or the coarsest
tolerance, that reach the error. One thread, processor time, minima of rounds in turns. A gradient is that of one scalar
of each run by its start and all of its 350 control values.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time_ns

import numpy as np
import report
import timing

import dalembert as da
from dalembert import _core
from dalembert.errors import OmissionWarning
from dalembert.library import chain

try:
    import mujoco
    from mujoco import rollout

    mujoco.set_mju_user_warning(lambda message: None)  # instead of a log file in the working directory
except ImportError:
    mujoco = None

RUNS, INTERVALS, DT = 1024, 50, 0.02
SEARCHED = 64  # runs by which step lengths are chosen, and all runs of the other engine, which takes them one by one
SUBSTEPS = (*range(1, 17), 18, 20, 23, 27, 32, 38, 45, 54, 64)  # of an interval
GOALS = (1e-3, 1e-6)  # rad
Array = np.ndarray
Call = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """Time of a run at an error."""

    what: str
    error: float  # rad
    run: float  # us
    ratio: float  # to our fastest


def arm() -> da.System:
    """Return an arm of seven links with damped joints."""
    s = chain(7)
    for k in range(1, 8):
        s.connect(f"damper_{k}", da.JointSpring(stiffness=0.0, damping=0.05), f"joint_{k}")
    return s


def problem() -> tuple[da.State, Array]:
    """Return start states and joint torques."""
    rng = np.random.default_rng(0)
    state = da.State(q=rng.uniform(-1, 1, (RUNS, 7)), v=np.zeros((RUNS, 7)))
    return state, rng.normal(size=(RUNS, INTERVALS, 7)) * [8.0, 8.0, 5.0, 4.0, 2.0, 1.0, 0.5]


def error(found: Array, exact: Array) -> float:
    """Return the median over runs of the largest error of an angle."""
    return float(np.median(np.abs(found - exact).max(axis=1)))


def coarsest(
    settings: dict[str, dict[str, object]], model: da.Model, state: da.State, u: Array, exact: Array, goal: float
) -> tuple[str, dict[str, object], float]:
    """Return the first settings of ours that reach an error."""
    for title, how in settings.items():
        reached = error(da.rollout(model, state, u, DT, **how).q[:, -1], exact)
        if reached <= goal:
            return title, how, reached
    raise SystemExit(f"no settings reach {goal:g}")


def theirs(system: da.System, state: da.State, u: Array, exact: Array, goal: float) -> tuple[str, Call, float]:
    """Return MuJoCo's rollout with the longest steps of RK4 that reach an error."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", OmissionWarning)
        da.save(system, Path(folder) / "system.xml")
        spec = mujoco.MjSpec.from_file(str(Path(folder) / "system.xml"))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    forces = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    names = list(system.compile().joint_names)
    for parts in SUBSTEPS:
        spec.option.timestep = DT / parts
        model = spec.compile()
        places = np.array([int(model.jnt_qposadr[model.joint(name).id]) for name in names])
        start = np.zeros((len(state.q), 1 + model.nq + model.nv))
        start[:, 1 + places], start[:, 1 + model.nq + places] = state.q, state.v
        torques = np.zeros((len(u), INTERVALS * parts, model.nv))
        torques[:, :, places] = np.repeat(u, parts, axis=1)
        data = mujoco.MjData(model)

        def call(model: object = model, data: object = data, start: Array = start, torques: Array = torques) -> object:
            return rollout.rollout(model, data, start, torques, control_spec=forces)

        reached = error(call()[0][:, -1, 1 + places], exact)
        if reached <= goal:
            break
    return f"MuJoCo, {parts} steps of RK4", call, reached


def main() -> None:
    """Measure and print."""
    options = report.parser(__doc__).parse_args()
    about = report.introduce()
    _core.set_threads(1)
    rounds = 3 if options.quick else 9
    system = arm()
    model, (state, u) = system.compile(), problem()
    few = da.State(q=state.q[:SEARCHED], v=state.v[:SEARCHED]), u[:SEARCHED]
    exact = da.rollout(model, *few, DT, method="dop853", rtol=1e-12, atol=1e-12).q[:, -1]
    rows: list[Row] = []
    for goal in GOALS:
        fixed = {f"dalembert, rk4, {n} substeps": {"substeps": n} for n in SUBSTEPS}
        adaptive = {
            f"dalembert, dop853, rtol {rtol:.1e}": {"method": "dop853", "rtol": rtol, "atol": rtol}
            for rtol in 10.0 ** np.arange(-2.5, -11.1, -0.25)
        }
        found: list[tuple[str, Call, float]] = []
        for settings in (fixed, adaptive):
            title, how, reached = coarsest(settings, model, *few, exact, goal)
            found.append((title, lambda how=how: da.rollout(model, state, u, DT, **how), reached))
        title, how, _ = coarsest(fixed, model, *few, exact, goal)
        r = da.rollout(model, *few, DT, **how)
        seed = np.zeros(r.q.shape[1:])
        seed[-1] = 1.0
        counts = {title: RUNS for title, _, _ in found}
        found.append((f"gradients of {title.partition(', ')[2]}", lambda r=r, seed=seed: r.vjp(q=seed), 0.0))
        counts[found[-1][0]] = SEARCHED
        if mujoco is not None:
            found.append(theirs(system, *few, exact, goal))
            counts[found[-1][0]] = SEARCHED
        times = timing.race(
            {title: call for title, call, _ in found}, rounds=rounds, slice_time=0.0, clock=process_time_ns
        )
        each = {title: 1e6 * times[title].minimum / counts[title] for title, _, _ in found}
        best = min(each[title] for title, _, _ in found[:2])
        print(f"\nmedian error {goal:g} rad\n{'':38s}{'error':>10s}{'us a run':>12s}{'':>9s}")
        for title, _, reached in found:
            rows.append(Row(title, reached, each[title], each[title] / best))
            shown = f"{reached:10.1e}" if reached else f"{'':10s}"
            print(f"{title:38s}{shown}{each[title]:12.1f}{each[title] / best:8.1f}x")
    report.write(options.json, about, rows)


if __name__ == "__main__":
    main()
