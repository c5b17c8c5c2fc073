"""Model files (``.dalm``): everything that a run of a model needs, for the C library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..model import Conditions, State
from ..simulation.friction.core_friction import CoreFriction
from ..simulation.friction.friction import FrictionState
from ..simulation.friction.friction_changes import MAX_STEP_WHILE_STUCK
from ..simulation.options import Options
from .quantities import KINDS, OutputPlan, Quantity
from .table_file import table_file

__all__ = ["file_bytes"]

_INT, _DOUBLE = "<i4", "<f8"
_NAME = np.dtype(
    [(name, _INT) for name in ("kind", "place", "flags", "name", "unit", "meaning")]
    + [(name, _DOUBLE) for name in ("value", "least")]
)
_SETTINGS = np.dtype(
    [
        (name, _DOUBLE)
        for name in (
            "t", "rtol", "max_step", "fixed_step", "spectral_radius", "horizon", "damping", "stiffness",
        )
    ]
    + [(name, _INT) for name in ("method", "project", "detect_stiffness")]
)  # fmt: skip
_FRICTION_INDICES = ("place", "coordinate", "friction", "mode", "coefficient", "load", "group")
_FRICTION_NUMBERS = (
    "sliding_friction", "static_friction", "static_ratio", "lower", "upper", "restitution", "rest_tol",
)  # fmt: skip
_FRICTION = np.dtype([(name, _INT) for name in _FRICTION_INDICES] + [(name, _DOUBLE) for name in _FRICTION_NUMBERS])
_FRICTION_SETTINGS = ("position_tol", "span", "weight", "max_step", "stuck_step")


class _Texts:
    """Texts of a file, each once; a call returns the place of a text."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.size = 0

    def __call__(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = self.size
            self.size += len(text.encode()) + 1
        return self.places[text]

    def array(self) -> NDArray[np.uint8]:
        joined = b"".join(text.encode() + b"\0" for text in self.places)
        return np.frombuffer(joined or b"\0", dtype=np.uint8)


def file_bytes(
    conditions: Conditions,
    options: Options,
    state: State,
    friction: FrictionState | None,
    quantities: Sequence[Quantity],
    outputs: OutputPlan,
    discontinuity_times: Array,
    horizon: float,
) -> bytes:
    """Return the bytes of a model file.

    Parameters
    ----------
    conditions, options, state
        At the start.
    friction : FrictionState or None
    quantities : sequence of Quantity
        Without outputs.
    outputs : OutputPlan
    discontinuity_times : (n,) s
        Up to the horizon.
    horizon : float, s
    """
    model, texts = conditions.model, _Texts()
    texts("")
    count = model.n_element_parameters
    tables: dict[str, Any] = {name: rows for name, rows in model.compiled.tables.items() if len(rows)}
    tables |= {"parameters": conditions.parameters[:count]} if count else {}
    names = [*quantities, *outputs.quantities]
    rows = np.zeros(len(names), dtype=_NAME)
    for row, each in zip(rows, names, strict=True):
        row["kind"], row["place"], row["flags"] = KINDS.index(each.kind), each.place, each.flags
        row["name"], row["unit"], row["meaning"] = texts(each.name), texts(each.unit), texts(each.meaning)
        row["value"], row["least"] = each.value, each.least
    settings = np.zeros(1, dtype=_SETTINGS)
    gains = conditions.stabilization
    given = {
        "t": state.t, "rtol": options.rtol, "max_step": options.max_step, "fixed_step": options.step,
        "spectral_radius": options.spectral_radius, "horizon": horizon, "damping": gains[0], "stiffness": gains[1],
        "method": _core.methods.index(options.method), "project": options.project,
        "detect_stiffness": options.detect_stiffness,
    }  # fmt: skip
    for name, value in given.items():
        settings[name] = value
    tables |= {
        ".settings": settings,
        ".q": np.array(state.q),
        ".v": np.array(state.v),
        ".x": np.array(state.x),
        ".atol": options.tolerances,
        ".breaks": discontinuity_times,
        ".names": rows,
        **outputs.tables(model, texts),
    }
    if friction is not None:
        tables |= _friction_tables(conditions, options, friction)
    tables[".text"] = texts.array()
    return table_file(tables)


def _friction_tables(conditions: Conditions, options: Options, friction: FrictionState) -> dict[str, NDArray[Any]]:
    """Return rows, switching functions and settings of friction and stops."""
    table = CoreFriction(friction, conditions).table(
        options.max_step, MAX_STEP_WHILE_STUCK * friction.span, passed=(), pauses=False
    )
    rows = np.zeros(len(friction.rows), dtype=_FRICTION)
    for names, part in ((_FRICTION_INDICES, table["indices"]), (_FRICTION_NUMBERS, table["numbers"])):
        for k, name in enumerate(names):
            rows[name] = part[:, k]
    switches = np.zeros(len(table["switches"]), dtype=[("kind", _INT), ("row", _INT)])
    if len(switches):
        switches["kind"], switches["row"] = np.asarray(table["switches"]).T
    settings = np.zeros(1, dtype=[(name, _DOUBLE) for name in _FRICTION_SETTINGS])
    for name in _FRICTION_SETTINGS:
        settings[name] = table[name]
    return {".friction_rows": rows, ".friction_switches": switches, ".friction": settings}
