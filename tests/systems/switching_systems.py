"""Random systems whose forces switch: contacts, limits, branches of formulas, tables, on driven and on free parts.

A wheel turns at a given speed, or freely; blocks slide on springs with dampers. What switches lets the wheel strike,
push or drive the blocks for a small part of a turn, so that a long step may pass over it.
"""

from __future__ import annotations

import numpy as np

import dalembert as da

__all__ = ["switching_system"]


def switching_system(seed: int) -> tuple[da.System, float]:
    """Return a system with one to five switching elements, and how long to run it, s."""
    rng = np.random.default_rng(seed)
    s = da.System(f"switching {seed}", gravity=(0, 0, -9.81) if rng.random() < 0.3 else (0, 0, 0))
    speed = float(rng.choice([0.7, 2.3, 6.0, 17.0]))
    wheel = _wheel(s, rng, speed)
    for k in range(int(rng.integers(1, 6))):
        block = f"P{k}"
        body = s.body(f"b{k}", da.box(0.1, 0.1, 0.1, mass=float(rng.uniform(0.5, 2.0))))
        angle = float(rng.uniform(0.5, 5.5))
        axis = (-np.sin(angle), np.cos(angle), 0.0)
        place = s.ground.at(0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0)
        s.connect(block, da.Prismatic(axis), place, body)
        s.connect(f"k{k}", da.JointSpring(float(rng.uniform(20, 80)), damping=float(rng.uniform(4, 12))), block)
        _KINDS[int(rng.integers(len(_KINDS)))](s, rng, k, wheel, body, angle)
    return s, float(rng.uniform(1.3, 2.6)) * 2 * np.pi / speed


def _wheel(s: da.System, rng: np.random.Generator, speed: float) -> da.Body:
    wheel = s.body("wheel", da.cylinder(0.1, 0.05, mass=3.0))
    if rng.random() < 0.3:  # on an arm that turns too: an angle is the sum of two
        arm = s.body("arm", da.cylinder(0.05, 0.05, mass=1.0))
        s.connect("B", da.Revolute("z"), s.ground, arm)
        s.drive("B", speed=-0.5 * speed)
        s.connect("A", da.Revolute("z"), arm, wheel)
        s.drive("A", speed=1.5 * speed)
    elif rng.random() < 0.75:
        s.connect("A", da.Revolute("z"), s.ground, wheel)
        s.drive("A", speed=speed)
    else:
        s.connect("A", da.Revolute("z"), s.ground, wheel)
        s.initial("A", speed=speed)
    return wheel


def _strike(s: da.System, rng: np.random.Generator, k: int, wheel: da.Body, body: da.Body, angle: float) -> None:
    """A ball on the wheel strikes one on the block."""
    law = da.SphereSphereContact(0.01, 0.01, float(rng.choice([1e4, 1e5])), dissipation=float(rng.uniform(0, 0.5)))
    s.connect(f"hit{k}", law, wheel.at(0.195, 0.0, 0.0), body)


def _branch(s: da.System, rng: np.random.Generator, k: int, wheel: da.Body, body: da.Body, angle: float) -> None:
    """A force acts in a small part of each turn."""
    level = float(rng.choice([0.9, 0.99, 0.999]))
    law = f"where(cos(phi - {angle:.17g}) > {level}, 5.0, 0.0)"
    s.connect(f"push{k}", da.Element("joint", law, inputs={"phi": "A.position"}, active=True), f"P{k}")


def _bump(s: da.System, rng: np.random.Generator, k: int, wheel: da.Body, body: da.Body, angle: float) -> None:
    """A follower rides on a cam whose lift is a table, with lash."""
    knots = np.linspace(0.0, 2 * np.pi, 61)
    away = np.abs((knots - angle + np.pi) % (2 * np.pi) - np.pi)
    lift = 0.01 * np.where(away < 0.5, np.cos(np.pi * away) ** 2, 0.0)
    lift[-1] = lift[0]
    table = da.Table(knots, values=lift, kind=str(rng.choice(["cubic", "linear"])), outside="repeat")
    law = "where(d < 0, 0, k*d + c*max(-ds, 0))"
    parameters = {"k": 1e4, "c": 20.0, "lash": float(rng.uniform(0.0005, 0.004))}
    names = {"definitions": {"d": "lift(phi) - lash - s"}, "inputs": {"phi": "A.position"}}
    element = da.Element("joint", law, parameters, **names, tables={"lift": table}, active=True)
    s.connect(f"cam{k}", element, f"P{k}")


def _table(s: da.System, rng: np.random.Generator, k: int, wheel: da.Body, body: da.Body, angle: float) -> None:
    """A force follows a table with a narrow tooth, straight from the angle."""
    width = float(rng.uniform(0.03, 0.2))
    knots = [0.0, angle - width, angle, angle + width, 2 * np.pi]
    tooth = da.Table(knots, values=[0.0, 0.0, 20.0, 0.0, 0.0], kind="linear", outside="repeat")
    law = da.Element("joint", "tooth(phi)", inputs={"phi": "A.position"}, tables={"tooth": tooth}, active=True)
    s.connect(f"tooth{k}", law, f"P{k}")


def _limit(s: da.System, rng: np.random.Generator, k: int, wheel: da.Body, body: da.Body, angle: float) -> None:
    """A block that starts with a speed meets soft limits."""
    s.initial(f"P{k}", speed=float(rng.uniform(0.5, 2.0)))
    gap = float(rng.uniform(0.01, 0.05))
    s.connect(f"limit{k}", da.Limits(-gap, gap, 1e4, 10.0), f"P{k}")


def _root(s: da.System, rng: np.random.Generator, k: int, wheel: da.Body, body: da.Body, angle: float) -> None:
    """A force begins like a root, where no branch can be held."""
    level = float(rng.choice([0.95, 0.99]))
    law = f"10*sqrt(max(cos(phi - {angle:.17g}) - {level}, 0))"
    s.connect(f"root{k}", da.Element("joint", law, inputs={"phi": "A.position"}, active=True), f"P{k}")


_KINDS = (_strike, _strike, _branch, _bump, _table, _limit, _root)
