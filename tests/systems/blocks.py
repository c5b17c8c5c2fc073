"""A block on a straight guide."""

from __future__ import annotations

from typing import Any

import dalembert as da


def sliding_block(**joint: Any) -> da.System:
    """Return a box "b" of 1 kg on a prismatic joint "X" along x, without gravity; `joint`: options of the joint."""
    s = da.System("block", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x", **joint), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    return s
