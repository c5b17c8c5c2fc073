"""Records of a live run in the core: steps, changes of friction, parameters that were set.

The core advances a live run and keeps these records; Python objects for them are made when they are needed.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...model import Conditions
from ..run import Run

__all__ = ["set_parameters", "take_log", "take_steps", "with_parameters_at"]


def take_steps(run: Run) -> None:
    """Take over the states of steps."""
    run.records.extend(*run.integrator.take_records()[:4])


def take_log(run: Run) -> None:
    """Take over all records of the core: states, and in order of time events, conditions and segments."""
    integrator, friction = run.integrator, run.friction_changes
    take_steps(run)
    if run.contact is not None:
        run.contact.take(integrator)
    changes = None if friction is None or friction.core is None else integrator.take_changes()
    moments, values = integrator.take_parameter_changes()
    taken, begins = 0, np.searchsorted(values[:, 0], np.arange(len(moments) + 1))
    for number, (t, before, pivot) in enumerate(moments.tolist()):
        if friction is not None and changes is not None and int(before) > taken:
            friction.record_core_changes(run, changes, slice(taken, int(before)))
            taken = int(before)
        run.segments[-1].usual_min_pivot = pivot
        set_parameters(run, values[begins[number] : begins[number + 1], 1:])
        run.append_segment(t)
    if friction is not None and changes is not None:
        friction.record_core_changes(run, changes, slice(taken, None))
    if run.model.switching_functions:
        run.take_branch_changes()
    run.record_step()


def set_parameters(run: Run, values: Array) -> None:
    """Set parameters, rows (place, value), in the conditions of a run."""
    run.conditions = with_parameters_at(run.conditions, values)
    core = run.core_friction
    if core is not None:
        core.base = with_parameters_at(core.base, values)


def with_parameters_at(conditions: Conditions, values: Array) -> Conditions:
    """Return conditions with other parameters, rows (place, value)."""
    parameters = conditions.parameters.copy()
    parameters[values[:, 0].astype(np.int64)] = values[:, 1]
    return conditions.changed(parameters=parameters)
