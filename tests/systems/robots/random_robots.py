"""Random robots by seed: trees of hinges and slides with stops, dry friction and friction by load.

By turns alone, with a mimic coupling, with a rope, with a spring, and with a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da

__all__ = ["random_robot"]

FEATURES = ("tree", "mimic", "rope", "spring", "loop")


def random_robot(seed: int) -> da.System:
    """Return the system of a seed, with ``FEATURES[seed % 5]``. Some cannot be closed, or start off limits."""
    rng = np.random.default_rng([seed, 77])
    s = da.System(f"robot {seed}", gravity=tuple(rng.normal(size=3) * 6))
    tips: list[Any] = [s.ground]
    hinges = []
    for k in range(int(rng.integers(3, 9))):
        parent = tips[int(rng.integers(max(0, len(tips) - 3), len(tips)))]
        length, mass = float(rng.uniform(0.1, 0.5)), float(10.0 ** rng.uniform(-2, 1))
        body = s.body(f"b{k}", da.box(length, length * 0.2, length * 0.3, mass=mass))
        data = _joint_data(rng, mass * length * 5)
        kind = rng.random()
        if kind < 0.65:
            joint: da.Revolute | da.Prismatic = da.Revolute(tuple(rng.normal(size=3)), **data)
            hinges.append(f"J{k}")
        else:
            if kind >= 0.85 and rng.random() < 0.5:
                coefficient, half = float(rng.uniform(0.05, 0.5)), float(rng.uniform(0.05, 0.2))
                data["load_friction"] = da.LoadFriction(coefficient, half_length=half)
            joint = da.Prismatic(tuple(rng.normal(size=3)), **data)
        s.connect(f"J{k}", joint, parent, body.at(-length / 2, 0, 0))
        tips.append(body.at(length / 2, 0, 0))
        at, lower, upper = rng.random(), data.get("lower", -0.4), data.get("upper", 0.4)
        position = lower if at < 0.2 else upper if at < 0.4 else 0.5 * (lower + upper)
        speed = float(rng.normal() * rng.choice([0, 0, 1, 4])) if at >= 0.4 else 0.0
        s.initial(f"J{k}", position=float(position), speed=speed)
    _add_feature(s, rng, FEATURES[seed % 5], tips, hinges)
    return s


def _joint_data(rng: np.random.Generator, effort: float) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if rng.random() < 0.7:
        data["friction"] = float(effort * rng.uniform(0.01, 0.4))
    if "friction" in data and rng.random() < 0.4:
        data["static_friction"] = data["friction"] * 1.4
    if rng.random() < 0.6:
        lower, upper = -rng.uniform(0, 0.5), rng.uniform(0, 0.5)
        lower = 0.0 if rng.random() < 0.25 else lower
        data |= {"lower": float(lower), "upper": float(upper), "restitution": float(rng.choice([0, 0, 0.3, 0.8, 1.0]))}
    return data


def _add_feature(s: da.System, rng: np.random.Generator, feature: str, tips: list[Any], hinges: list[str]) -> None:
    if feature == "mimic" and len(hinges) >= 2:
        s.connect("mimic", da.Coupling(float(rng.uniform(-2, 2))), hinges[0], hinges[1])
    elif feature == "rope":
        rope = da.Rope(float(rng.uniform(0.6, 1.5)), restitution=float(rng.choice([0, 0.5])))
        s.connect("rope", rope, s.ground.at(0.3, 0.2, 0.1), tips[-1])
    elif feature == "spring":
        spring = da.SpringDamper(stiffness=float(10 ** rng.uniform(1, 4)), damping=1.0, length=0.3)
        s.connect("spring", spring, s.ground.at(0.2, 0.1, 0), tips[-1])
    elif feature == "loop" and len(tips) > 4:
        s.connect("loop", da.constraints.Distance(float(rng.uniform(0.3, 1.0))), s.ground.at(0.5, 0.2, 0.1), tips[-1])
