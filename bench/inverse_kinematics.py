"""Inverse kinematics of arms: poses reached and time per pose, beside a damped least squares loop on Pinocchio.

python bench/inverse_kinematics.py [--number 10000] [--robots DIRECTORY] [--json out.json]

Targets are the poses at random configurations within the limits, so that all can be reached. Ours runs in one call,
from one start for all and from random ones; Pinocchio's loop is the usual one, in Python, with restarts, for a part of
them. With --robots, URDF files of published arms are tried too.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import argparse  # isort: skip
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.closure.joint_limits import Bounds

PART = 100  # targets for Pinocchio
ROBOTS = {  # file and link
    "ur5": ("ur-ur5_robot.urdf", "tool0"),
    "ur10": ("ur-ur10_robot.urdf", "tool0"),
    "xarm6": ("xarm_xarm6_robot.urdf", "link6"),
    "kinova": ("kinova-kinova.urdf", "j2s6s200_end_effector"),
    "z1": ("z1-z1.urdf", "link06"),
    "iiwa": ("kuka_iiwa_model.urdf", "lbr_iiwa_link_7"),
    "panda": ("panda-panda.urdf", "panda_hand"),
}


def wrist_arm() -> da.System:
    """Return a 6R arm with a spherical wrist; the marker is ``"link6.tool"``."""
    s = da.System("wrist arm")
    body = s.ground
    for k, (axis, height) in enumerate(zip("zyyzyz", (0.0, 0.4, 0.5, 0.45, 0.0, 0.0), strict=True)):
        link = s.body(f"link{k + 1}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.connect(f"J{k + 1}", da.Revolute(axis, lower=-2.8, upper=2.8), body.at(0, 0, height), link)
        body = link
    link.marker("tool", 0, 0, 0.1)
    return s


def window(model: da.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return limits (nv,), half a turn where there are none."""
    bounds = Bounds.of(model, True, "bench")
    return np.maximum(bounds.lower, -np.pi), np.minimum(bounds.upper, np.pi)


def timed(call: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    """Return what a call gives, and the least time it took, s."""
    best, found = np.inf, None
    for _ in range(rounds):
        before = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - before)
    return found, best


def ours(model: da.Model, tool: str, number: int, rounds: int) -> dict[str, Any]:
    """Return times and shares for one arm."""
    rng = np.random.default_rng(0)
    low, high = window(model)
    poses = model.pose(tool, rng.uniform(low, high, (number, model.nv)))
    row: dict[str, Any] = {"joints": model.nv, "number": number}
    for name, start in (("common", None), ("random", rng.uniform(low, high, (number, model.nv)))):
        q = start
        found, seconds = timed(lambda q=q: da.inverse_kinematics(model, {tool: poses}, state=q), rounds)  # type: ignore[misc]
        there = model.pose(tool, found.q)
        ok = found.reached
        row[name] = {
            "seconds": seconds,
            "us_each": 1e6 * seconds / number,
            "reached": float(ok.mean()),
            "starts": float(found.starts.mean()),
            "steps": float(found.iterations.mean()),
            "error": float(np.abs(there.position - poses.position)[ok].max()),
        }
    return row


def pinocchio(path: Path, link: str, part: int) -> dict[str, Any] | None:
    """Return the same for a damped least squares loop on Pinocchio, clipped to the limits; None if it is not there."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = pin.buildModelFromUrdf(str(path))
    data, frame = model.createData(), model.getFrameId(link)
    low, high = np.maximum(model.lowerPositionLimit, -np.pi), np.minimum(model.upperPositionLimit, np.pi)
    if model.nq != model.nv or not model.existFrame(link):
        return None
    rng = np.random.default_rng(0)
    reached, before, steps = 0, 0.0, 0
    for _ in range(part):
        pin.framesForwardKinematics(model, data, rng.uniform(low, high))
        target = data.oMf[frame].copy()
        clock = time.perf_counter()
        for _ in range(24):
            q = rng.uniform(low, high)
            for _ in range(100):
                steps += 1
                pin.framesForwardKinematics(model, data, q)
                error = pin.log(data.oMf[frame].actInv(target)).vector
                if np.abs(error).max() < 1e-9:
                    break
                J = pin.computeFrameJacobian(model, data, q, frame)
                step = J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
                step /= max(1.0, np.abs(step).max())
                q = np.clip(q + step, low, high)
            else:
                continue
            reached += 1
            break
        before += time.perf_counter() - clock
    return {"us_each": 1e6 * before / part, "reached": reached / part, "steps": steps / part, "number": part}


def main() -> None:
    da.set_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--robots", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = {"wrist arm": ours(wrist_arm().compile(), "link6.tool", options.number, options.rounds)}
    for name, (file, link) in ROBOTS.items() if options.robots else ():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = da.load(options.robots / file).compile()
        rows[name] = ours(model, link, options.number, options.rounds)
        peer = pinocchio(options.robots / file, link, PART)
        if peer is not None:
            rows[name]["Pinocchio"] = peer
    print(f"{'arm':10} {'joints':>6} {'start':>10} {'s':>8} {'us each':>8} {'reached':>9} {'starts':>7} {'steps':>6}")
    for name, row in rows.items():
        for start in ("common", "random", "Pinocchio"):
            if start in row:
                r = row[start]
                total, starts = (f"{r[key]:.3g}" if key in r else "-" for key in ("seconds", "starts"))
                print(
                    f"{name:10} {row['joints']:6d} {start:>10} {total:>8} {r['us_each']:8.1f} "
                    f"{100 * r['reached']:8.2f}% {starts:>7} {r['steps']:6.1f}"
                )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
