"""Requests of resumed runs: record of a request, and comparison with that of the interrupted run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...model import Model, SampledControl, State
from ...model.callbacks import callback_name
from ...model.fingerprint import fingerprint, first_difference

if TYPE_CHECKING:
    from ..request import SimulationRequest

__all__ = ["check_model", "check_same_request", "request_record", "times_checksum"]


_REMEDY = "give the same, or start a new run from its last state: state=part.final_state"


def request_record(request: SimulationRequest) -> dict[str, Any]:
    """Return the request of a run as plain data."""
    conditions = request.conditions
    places, control = conditions.model.parameter_names, conditions.control
    return request.options.to_plain() | {
        "stabilization": [float(gain) for gain in conditions.stabilization],
        "parameters": {name: float(conditions.parameters[place]) for name, place in places.items()},
        "control": None if control is None else callback_name(control),
        "sampled": control.to_plain() if isinstance(control, SampledControl) else [],
        "state": _state_record(request.state),
        **request.settings,
    }


def _state_record(state: State | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the start state of a request as plain data."""
    if state is None:
        return None
    values = state if isinstance(state, Mapping) else {name: getattr(state, name) for name in ("q", "v", "x")}
    return {name: np.ravel(value).tolist() for name, value in values.items()}


def check_model(there: dict[str, Any], model: Model) -> None:
    """Refuse a model other than that of the interrupted run."""
    found = first_difference(there, fingerprint(model))
    if found is not None:
        remedy = f"the interrupted run is of another model, where it is {found.there!r}: {_REMEDY}"
        raise ModelError("simulate", f"resume: {found.item}, {found.field},", found.here, remedy)


def check_same_request(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Refuse a request that differs from that of the interrupted run; return notes on allowed differences."""
    for name in (name for name in there if name not in ("parameters", "state", "control")):
        if here[name] != there[name]:
            remedy = f"the interrupted run has {there[name]!r}: {_REMEDY}"
            raise ModelError("simulate", name, here[name], remedy)
    for name, value in there["parameters"].items():
        if here["parameters"][name] != value:
            now = here["parameters"][name]
            raise ModelError("simulate", f"parameter {name!r}", now, f"the interrupted run has {value!r}: {_REMEDY}")
    if here.get("state") is not None and here["state"] != there.get("state"):
        remedy = "the interrupted run had another start, and resumes from its last state: leave the state out, or "
        raise ModelError("simulate", "state", "given", f"{remedy}leave resume out to begin at this state")
    if (here["control"] is None) != (there["control"] is None):
        given = "one" if there["control"] else "none"
        raise ModelError("simulate", "control", here["control"], f"the interrupted run has {given}: {_REMEDY}")
    if here["control"] != there["control"]:
        return [f"resumed with control {here['control']!r}; the interrupted run had {there['control']!r}"]
    return []


def times_checksum(times: Array | None, reached: float) -> str | None:
    """Return a checksum of the output times up to the time reached, s; None if there are none."""
    if times is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(times[times <= reached], dtype="<f8").tobytes()).hexdigest()
