"""Going on with a run: what it was asked for, and that the one that goes on is asked for the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...model import Conditions, Model, SampledControl, State
from ...model.fingerprint import fingerprint, first_difference
from ..options import Options

__all__ = ["asked_state", "check_model", "check_same_request", "request_record", "times_seal"]

Array = NDArray[np.float64]

_WAY_OUT = "ask for the same, or begin a new run from its last state: state=part.final"


def request_record(options: Options, conditions: Conditions) -> dict[str, Any]:
    """Return what a run is asked for, as plain data."""
    places, control = conditions.model.parameter_names, conditions.control
    return options.plain() | {
        "stabilization": [float(gain) for gain in conditions.stabilization],
        "parameters": {name: float(conditions.parameters[place]) for name, place in places.items()},
        "control": None if control is None else _title(control),
        "sampled": control.plain() if isinstance(control, SampledControl) else [],
    }


def asked_state(state: State | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the state that a run is asked to start from, as plain data."""
    if state is None:
        return None
    values = state if isinstance(state, Mapping) else {name: getattr(state, name) for name in ("q", "v", "x")}
    return {name: np.ravel(value).tolist() for name, value in values.items()}


def check_model(there: dict[str, Any], model: Model) -> None:
    """Refuse a model other than that of the run to go on with."""
    found = first_difference(there, fingerprint(model))
    if found is not None:
        remedy = f"the run to go on with is of another model, where it is {found.there!r}: {_WAY_OUT}"
        raise ModelError("simulate", f"resume: {found.item}, {found.field},", found.here, remedy)


def check_same_request(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Refuse what differs from the run to go on with; returns notes of what may."""
    for name in (name for name in there if name not in ("parameters", "state", "control")):
        if here[name] != there[name]:
            remedy = f"the run to go on with has {there[name]!r}: {_WAY_OUT}"
            raise ModelError("simulate", name, here[name], remedy)
    for name, value in there["parameters"].items():
        if here["parameters"][name] != value:
            now = here["parameters"][name]
            raise ModelError("simulate", f"parameter {name!r}", now, f"the run to go on with has {value!r}: {_WAY_OUT}")
    if here.get("state") is not None and here["state"] != there.get("state"):
        remedy = "the run to go on with has started elsewhere, and goes on from where it is: leave the state out, or "
        raise ModelError("simulate", "state", "given", f"{remedy}leave resume out to begin at this state")
    if (here["control"] is None) != (there["control"] is None):
        given = "one" if there["control"] else "none"
        raise ModelError("simulate", "control", here["control"], f"the run to go on with has {given}: {_WAY_OUT}")
    if here["control"] != there["control"]:
        return [f"went on with control {here['control']!r}; the run to go on with had {there['control']!r}"]
    return []


def times_seal(times: Array | None, reached: float) -> str | None:
    """Return what tells the wanted times up to one from others; None if there are none."""
    if times is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(times[times <= reached], dtype="<f8").tobytes()).hexdigest()


def _title(control: Any) -> str:
    return str(getattr(control, "__name__", type(control).__name__))
