"""Kinematic motions of one mechanism with many parameter values: tolerance samples, sweeps over lengths.

The driven system is compiled once. For each set of values the core recomputes its tables and closes the loops from the
positions of the nominal mechanism, which is a few corrections away. A variant whose positions are far from the nominal
ones, that is singular, or that does not close is left to `kinematics`, which searches from the start values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..closure.driven.drive_path import undeformed
from ..closure.loop_equations import LoopEquations
from ..errors import DalembertError
from ..model import Model
from ..model.driven_kinematics import MAX_STEPS, KinematicSweep, row_scale
from ..result.outputs.driven_motion import PrescribedMotion
from .kinematic_motion import kinematics
from .kinematic_request import make_request

__all__ = ["KinematicVariants"]

NEAR = 0.2  # rad, and of the length of the model: largest difference from the nominal positions


class KinematicVariants:
    """Kinematic motions for many parameter values.

    Parameters
    ----------
    model : Model
    settings : dict
        Settings of `kinematics`.

    Attributes
    ----------
    is_available : bool
        Whether the motion has no parts that only `kinematics` has: flexible bodies, rolling, reversals of a drive,
        contacts.
    """

    def __init__(self, model: Model, settings: Mapping[str, Any]) -> None:
        given = {name: settings.get(name) for name in ("times", "drive", "values", "speed")}
        self.request = make_request(model, *given.values())
        self.model, self.times = self.request.model, np.ascontiguousarray(self.request.times, dtype=float)
        plain = all(self.model.holonomic) and undeformed(self.model) is None and not self.request.corners
        self.is_available = plain and not self.request.notes and self.model.contacts is None and not self.model.nx
        if not self.is_available:
            return
        self.nominal = kinematics(model, **settings)
        self.is_available = self.nominal.success and not self.nominal.stats.notes
        self._first = np.ascontiguousarray(self.nominal.q[0])
        self._row_scale = row_scale(self.model)
        self._floor = LoopEquations.of(self.model, prescribed=False).floor
        scale = np.asarray(self.model.compiled.tables["column_scale"], dtype=float)
        self._room = NEAR * np.where(scale == 1.0, 1.0, scale)

    def motion(self, parameters: Mapping[str, float]) -> PrescribedMotion | None:
        """Return the motion with some parameter values; None if it is left to `kinematics`."""
        try:
            variant = self.model.with_parameters(parameters)
        except DalembertError:
            return None
        if variant.is_recompiled:
            return None
        sweep = variant._sweep(self.times, self._first, None, self._row_scale, self._floor, False, MAX_STEPS)
        found = KinematicSweep.of(self.times, sweep)
        if found.status != "finished" or found.crossings or not found.slack.all() or not self._is_near(found.q):
            return None
        none = np.zeros((len(self.times), 0))
        return PrescribedMotion(variant, self.times, found.q, found.v, none, {"a": found.a})

    def _is_near(self, q: Array) -> bool:
        return bool((np.abs(self.model.difference(self.nominal.q, q)) <= self._room).all())
