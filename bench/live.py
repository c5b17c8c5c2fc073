"""Real time: `da.Live` beside `mj_step`, an arm of seven links with a motor at each joint, in steps of 1 ms.

    python bench/live.py [--rounds 15]

The arm hangs and swings, damped, without stops, with stops, and with stops and dry friction. MuJoCo has the same arm
with ``range`` and ``frictionloss`` and takes one Euler step of 1 ms. Processor time, interleaved, minima.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time_ns

import numpy as np
from timing import race

import dalembert as da
from dalembert.library import chain

LINKS, LENGTH, MASS = 7, 0.3, 0.5  # -, m, kg
DAMPING, FRICTION, RANGE = 0.2, 0.05, 2.0  # N m s, N m, rad
STEP = 1e-3  # s
AXES = "yxyxyxy"
JOINTS = [f"J{k}" for k in range(LINKS)]


def arm(*, stops: bool, friction: bool = False) -> da.Model:
    """Return the arm."""
    s = da.System("arm")
    last = s.ground
    for k, name in enumerate(JOINTS):
        link = s.body(f"link{k}", da.cylinder(length=LENGTH, radius=0.05, mass=MASS))
        more = {"lower": -RANGE, "upper": RANGE} if stops else {}
        more |= {"friction": FRICTION} if friction else {}
        s.connect(name, da.Revolute(AXES[k], damping=DAMPING, **more), last, link)
        s.connect(f"motor{k}", da.Element("joint", "u", inputs={"u": 0.0}, active=True), name)
        last = link.at(LENGTH, 0, 0)
        s.initial(name, position=0.3 * (-1) ** k)
    return s.compile()


def mujoco_step(*, stops: bool, friction: bool = False) -> Callable[[], object] | None:
    """Return a function that takes one step in MuJoCo; None if it is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    along = MASS * (3 * 0.05**2 + LENGTH**2) / 12
    body = ""
    for k in reversed(range(LINKS)):
        axis = "1 0 0" if AXES[k] == "x" else "0 1 0"
        more = (f' range="{-RANGE} {RANGE}" limited="true"' if stops else "") + (
            f' frictionloss="{FRICTION}"' if friction else ""
        )
        body = (
            f'<body pos="{LENGTH if k else 0} 0 0"><joint name="J{k}" type="hinge" axis="{axis}" '
            f'damping="{DAMPING}"{more}/><inertial pos="{LENGTH / 2} 0 0" mass="{MASS}" '
            f'diaginertia="{MASS * 0.05**2 / 2} {along} {along}"/>{body}</body>'
        )
    motors = "".join(f'<motor joint="J{k}"/>' for k in range(LINKS))
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><compiler angle="radian"/><option timestep="0.001"/>'
        f"<worldbody>{body}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3 * (-1.0) ** np.arange(LINKS)
    return lambda: mujoco.mj_step(model, data)


def control_loop(model: da.Model, **options: object) -> Callable[[], object]:
    """Return a function that reads all joints, sets all motors, and advances by a step."""
    live = da.Live(model, record=False, **options)
    read = live.reader([*(f"{name}.position" for name in JOINTS), *(f"{name}.speed" for name in JOINTS)], copy=False)
    write = live.writer([f"motor{k}.u" for k in range(LINKS)])
    effort = np.zeros(LINKS)

    def turn() -> None:
        state = read()
        np.multiply(state[LINKS:], -0.1, out=effort)
        write(effort)
        live.advance(STEP)

    return turn


def advance(model: da.Model, **options: object) -> Callable[[], object]:
    """Return a function that advances by a step."""
    live = da.Live(model, record=False, **options)
    return lambda: live.advance(STEP)


FIXED = {"method": "rk4", "fixed_step": STEP}
CASES = {
    "free": {"stops": False},
    "stops": {"stops": True},
    "stops, friction": {"stops": True, "friction": True},
}


def print_steps(rounds: int) -> None:
    """Print the times of a step, us, and in steps of MuJoCo."""
    print(f"{'us; in mj_step':18s}{'mj_step':>9s}{'advance':>16s}{'dopri5':>16s}{'rk4':>16s}{'control, rk4':>16s}")
    for title, case in CASES.items():
        model = arm(**case)
        calls: dict[str, Callable[[], object]] = {
            "advance": advance(model),
            "dopri5": advance(model, method="dopri5"),
            "rk4": advance(model, **FIXED),
            "control": control_loop(model, **FIXED),
        }
        peer = mujoco_step(**case)
        if peer is not None:
            calls["mj_step"] = peer
        times = {k: 1e6 * v.minimum for k, v in race(calls, rounds=rounds, clock=process_time_ns).items()}
        base = times.get("mj_step", float("nan"))
        cells = "".join(
            f"{times[key]:9.1f} x{times[key] / base:5.1f}" for key in ("advance", "dopri5", "rk4", "control")
        )
        print(f"{title:18s}{base:9.1f}{cells}")


def print_handles(rounds: int) -> None:
    """Print the times of reading and setting, us."""
    live = da.Live(arm(stops=True))
    joints = live.reader([f"{name}.position" for name in JOINTS], copy=False)
    tip = live.reader(["link6.position", "link6.velocity", "J0.force"], copy=False)
    write = live.writer([f"motor{k}.u" for k in range(LINKS)])
    values = np.zeros(LINKS)
    calls: dict[str, Callable[[], object]] = {
        'live["J0.position"]': lambda: live["J0.position"],
        "reader, 7 positions": joints,
        "reader, tip and base load": tip,
        'live.set("motor0.u", ...)': lambda: live.set("motor0.u", 0.0),
        "writer, 7 inputs": lambda: write(values),
    }
    print("\nus per call")
    for title, timing in race(calls, rounds=rounds, clock=process_time_ns).items():
        print(f"{title:28s}{1e6 * timing.minimum:6.2f}")


def print_worst(steps: int = 5000) -> None:
    """Print the usual and the largest number of evaluations of the equations in one advance, with random efforts."""
    print("\nevaluations in an advance of 1 ms, random efforts up to 3 N m, all set each time: median, most")
    for title, case in CASES.items():
        model, rng = arm(**case), np.random.default_rng(1)
        row = f"{title:18s}"
        for options in ({}, {"method": "dopri5"}, FIXED):
            live = da.Live(model, record=False, **options)
            write, counts = live.writer([f"motor{k}.u" for k in range(LINKS)]), [0]
            for _ in range(steps):
                write(rng.uniform(-3.0, 3.0, LINKS))
                live.advance(STEP)
                counts.append(live._run.total_counts()[2])
            taken = np.diff(counts)
            row += f"   {options.get('method', 'auto')}: {np.median(taken):.0f}, {taken.max()}"
        print(row)


def print_sampled(rounds: int) -> None:
    """Print the time of a period of a sampled control, us, beside the same steps without it."""
    print("\nsampled control, 1 ms, us per period         without control, the same steps")
    for links in (1, LINKS):
        model = chain(links, axes="y").compile()
        runs: dict[str, Callable[[], object]] = {
            "sampled": lambda model=model: da.simulate(
                model, 0.5, control=da.SampledControl(lambda state: -2.0 * state.v, period=STEP)
            ),
            "free": lambda model=model: da.simulate(model, 0.5, max_step=STEP),
        }
        times = {k: 1e6 * v.minimum / (0.5 / STEP) for k, v in race(runs, rounds=rounds, clock=process_time_ns).items()}
        print(f"chain of {links}: {times['sampled']:10.1f}{times['free']:30.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args().rounds
    print_steps(chosen)
    print_handles(chosen)
    print_worst()
    print_sampled(max(3, chosen // 3))
