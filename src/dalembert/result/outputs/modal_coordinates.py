"""Outputs of flexible bodies: modal coordinates, their velocities and accelerations, strain energy."""

from __future__ import annotations

import re

import numpy as np

from ...arrays import Array
from ...model import Model
from .motion import Motion
from .output import Output, Value

__all__ = ["MODES", "modal_output"]


MODES = ("eta", "eta.speed", "eta.acceleration", "strain_energy")
"""Suffixes of the outputs of a flexible body in addition to those of its frame."""

_PART = re.compile(r"^eta(?:\[(?P<mode>\d+)\])?(?:\.(?P<level>speed|acceleration))?$")


def modal_output(model: Model, body: str, quantity: str, name: str) -> Output | None:
    """Return an output of a flexible body's modes, ``"eta"``, ``"eta[2].speed"``; None if there is none."""
    flexible = model.system.bodies[body].require_flexible()
    q, v, nm = model.q_slice(body), model.v_slice(body), flexible.nm
    if quantity == "strain_energy":
        K = flexible.modal_stiffness

        def energy(m: Motion) -> Array:
            eta = m.q[:, q]
            return np.asarray(((eta @ K) * eta).sum(1) / 2)

        return Output(name, "J", (), f"strain energy of {body!r}", energy)
    found = _PART.match(quantity)
    if found is None:
        return None
    levels: dict[str | None, tuple[str, str, str, Value]] = {
        None: ("modal coordinates", "1", "position", lambda m: m.q[:, q].copy()),
        "speed": ("modal speeds", "1/s", "speed", lambda m: m.v[:, v].copy()),
        "acceleration": ("modal accelerations", "1/s2", "dynamics", lambda m: m.part("a")[:, v].copy()),
    }
    meaning, unit, needs, value = levels[found["level"]]
    labels = tuple(f"[{k}]" for k in range(nm))
    whole = Output(name, unit, (nm,), f"{meaning} of {body!r}", value, labels=labels, needs=needs)
    if found["mode"] is None:
        return whole
    mode = int(found["mode"])
    return whole.component(mode, name) if mode < nm else None
