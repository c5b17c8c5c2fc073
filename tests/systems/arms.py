"""Arms and platforms for tests of inverse kinematics, with their closed forms."""

from __future__ import annotations

import numpy as np

import dalembert as da

Array = np.ndarray


def planar_arm(lengths=(1.0, 0.8), **limits) -> da.System:
    """Return a chain of links in the xy-plane with the marker ``"tool"`` at its end."""
    s = da.System("arm")
    before = s.ground.origin
    for k, length in enumerate(lengths):
        link = s.body(f"link{k + 1}", da.rod(length, 1.0))
        s.connect(f"J{k + 1}", da.Revolute("z", **limits.get(f"J{k + 1}", {})), before, link)
        before = link.at(length, 0, 0)
    link.marker("tool", lengths[-1], 0, 0)
    return s


def two_links(lengths, point) -> Array:
    """Return both configurations (2, 2) of a planar arm of two links."""
    a, b = lengths
    x, y = point
    cosine = (x * x + y * y - a * a - b * b) / (2 * a * b)
    elbow = np.array([1.0, -1.0]) * np.arccos(cosine)
    shoulder = np.arctan2(y, x) - np.arctan2(b * np.sin(elbow), a + b * np.cos(elbow))
    return np.column_stack([shoulder, elbow])


def wrist_arm(heights=(0.4, 0.5, 0.45, 0.1), **limits) -> da.System:
    """Return a 6R arm with a shoulder without offsets and a spherical wrist; the marker is ``"hand.tool"``."""
    base, upper, fore, tool = heights
    s = da.System("wrist arm")
    parts = [
        ("A1", "z", (0, 0, 0), "column"),
        ("A2", "y", (0, 0, base), "upper"),
        ("A3", "y", (0, 0, upper), "fore"),
        ("A4", "z", (0, 0, fore), "roll"),
        ("A5", "y", (0, 0, 0), "bend"),
        ("A6", "z", (0, 0, 0), "hand"),
    ]
    body = s.ground
    for name, axis, place, part in parts:
        after = s.body(part, mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.connect(name, da.Revolute(axis, **limits.get(name, {})), body.at(*place), after)
        body = after
    body.marker("tool", 0, 0, tool)
    return s


def wrist_solutions(heights, R: Array, p: Array) -> Array:
    """Return the eight configurations (8, 6) of `wrist_arm` in closed form."""
    base, a, b, tool = heights
    c = p - tool * R[:, 2]
    found = []
    for turned in (0.0, np.pi):
        first = np.arctan2(c[1], c[0]) + turned
        x = np.cos(first) * c[0] + np.sin(first) * c[1]
        z = c[2] - base
        cosine = (x * x + z * z - a * a - b * b) / (2 * a * b)
        if abs(cosine) > 1.0:
            continue
        for third in (np.arccos(cosine), -np.arccos(cosine)):
            second = np.arctan2(x, z) - np.arctan2(b * np.sin(third), a + b * np.cos(third))
            lower = da.rotation.axis_angle("z", first) @ da.rotation.axis_angle("y", second + third)
            W = lower.T @ R
            bend = np.arctan2(np.hypot(W[0, 2], W[1, 2]), W[2, 2])
            for sign in (1.0, -1.0):
                fourth = np.arctan2(sign * W[1, 2], sign * W[0, 2])
                sixth = np.arctan2(sign * W[2, 1], -sign * W[2, 0])
                found.append([first, second, third, fourth, sign * bend, sixth])
    return np.array(found)


def seven_joints(limit: float = 2.4) -> da.System:
    """Return an arm of seven joints with limits; the marker is ``"link7.tool"``."""
    s = da.System("seven")
    body = s.ground.at(0, 0, 0.3)
    for k, (axis, length) in enumerate(zip("zyzyzyz", (0.0, 0.4, 0.0, 0.4, 0.0, 0.1, 0.1), strict=True)):
        link = s.body(f"link{k + 1}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.connect(f"J{k + 1}", da.Revolute(axis, lower=-limit, upper=limit), body, link)
        body = link.at(0, 0, length)
    link.marker("tool", 0, 0, 0.1)
    return s


BASE = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.radians([0, 20, 120, 140, 240, 260])])
PLATE = 0.6 * np.array([[np.cos(a), np.sin(a), 0.0] for a in np.radians([-30, 50, 90, 170, 210, 290])])


def stewart(**limits) -> da.System:
    """Return a platform on six legs, each a universal joint, a slide ``"L1"`` ... ``"L6"`` and a ball."""
    s = da.System("platform")
    plate = s.body("plate", da.box(1.0, 1.0, 0.05, mass=20.0))
    for k in range(6):
        low, high = s.body(f"low{k + 1}", da.rod(0.5, 1.0)), s.body(f"high{k + 1}", da.rod(0.5, 1.0))
        foot = s.ground.at(*BASE[k])
        s.connect(f"U{k + 1}", da.Universal("x", "y"), foot, low)
        s.connect(f"L{k + 1}", da.Prismatic("z", **limits), low, high)
        s.connect(f"S{k + 1}", da.Spherical(), high, plate.at(*PLATE[k]))
        s.initial(f"L{k + 1}", position=1.1)
    s.place(plate, position=(0, 0, 1.0))
    return s


def legs(R: Array, p: Array) -> Array:
    """Return the lengths (6,) of the legs at a pose of the plate."""
    return np.linalg.norm(p + PLATE @ R.T - BASE, axis=1)


def five_bar() -> da.System:
    """Return two cranks at x = 0 and 0.5 whose couplers meet at the marker ``"right.tip"``; lengths 0.4 and 0.6."""
    s = da.System("five-bar")
    cranks = [s.body(name, da.rod(0.4, 1.0)) for name in ("crank1", "crank2")]
    couplers = [s.body(name, da.rod(0.6, 1.0)) for name in ("left", "right")]
    for k, x in enumerate((0.0, 0.5)):
        s.connect(f"A{k + 1}", da.Revolute("z"), s.ground.at(x, 0, 0), cranks[k])
        s.connect(f"B{k + 1}", da.Revolute("z"), cranks[k].at(0.4, 0, 0), couplers[k])
    s.connect("C", da.Revolute("z"), couplers[0].at(0.6, 0, 0), couplers[1].at(0.6, 0, 0))
    couplers[1].marker("tip", 0.6, 0, 0)
    s.initial("A1", position=2.2)
    s.initial("B1", position=-1.2)
    s.initial("A2", position=0.9)
    s.initial("B2", position=1.2)
    return s
