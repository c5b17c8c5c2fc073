"""Derivatives of kinematic motions: positions, velocities, accelerations, and outputs computed from them.

Drives leave no degree of freedom. At every time, with the loop constraints phi and driven coordinates d that follow
time laws, derivatives by the parameters p satisfy

    P dq = -phi_p dp,   dq_d = law_p dp                                                                          (1)

Velocities and accelerations at given positions follow from linear solves with the same rows. They are evaluated, as
outputs are, at the perturbed positions q + h dq with parameters p + h, and differentiated by fourth-order central
differences. Positions are not solved for again: neither the branch nor the convergence of Newton's method matters, and
only exact dead points are excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...closure.driven.drive_path import undeformed
from ...closure.loop_equations import LoopEquations
from ...errors import GradientError, ModelError
from ...model import Model
from ...model.conditions import parameter_value
from ...model.drive_targets import constraint_targets, drive_targets, driven_dof, driven_row, driven_speeds
from ...model.driven_kinematics import rates_at
from ...motion import kinematics
from ...motion.kinematic_request import make_request
from ...result import Output, Result, single_period
from .directions import DIFFERENCE_STEP, FACTORS, differences
from .output_slopes import same_branch

__all__ = ["KinematicDerivatives"]


DRIVE_INDEPENDENT_GROUPS = ("body", "marker", "gravity", "modes")  # parameter groups on which drives do not depend
SINGULAR_TOL = 1e-9  # smallest singular value of scaled rows, relative to the largest
INCONSISTENT_TOL = 1e-6  # share of the change of rows outside the range of the Jacobian
_OWN = ("times", "drive", "values", "speed")  # request settings handled here


@dataclass(frozen=True, eq=False)
class _Direction:
    """One parameter, start value or drive by which a motion is differentiated.

    Attributes
    ----------
    name : str
    size : float
        Typical magnitude, for scaling.
    perturbed : function
        Maps a change to the perturbed model.
    drives : bool
        Whether driven positions may depend on it.
    shifted : str
        Name of the driven coordinate whose values it shifts; empty if none.
    """

    name: str
    size: float
    perturbed: Callable[[float], Model]
    drives: bool = True
    shifted: str = ""


class KinematicDerivatives:
    """Kinematic motion and its derivatives by parameters, start values and drive values.

    Parameters
    ----------
    model : Model
    names : sequence of str
    settings : mapping
        Settings of `kinematics`.
    """

    def __init__(self, model: Model, names: Sequence[str], settings: Mapping[str, Any]) -> None:
        if not all(model.holonomic):
            row = model.constraint_connections[list(model.holonomic).index(False)]
            remedy = "it constrains velocities only, so positions depend on the history: use task='simulate'"
            raise ModelError("sensitivity", "constraint", row, remedy)
        self.result = kinematics(model, **settings)
        self.how = {name: settings.get(name) for name in _OWN}
        self.request = make_request(model, **self.how)
        self.directions = [self._direction(model, name) for name in names]
        self.t, self.q = np.asarray(self.result.t), np.asarray(self.result.q)
        self.changes = [self._positions(direction) for direction in self.directions]  # dq (k, nv) each
        self._perturbed: dict[tuple[int, float], Result] = {}

    # ---- directions

    def _direction(self, model: Model, name: str) -> _Direction:
        at = self.request.model
        if name in model.parameter_names:
            value = float(parameter_value(model, name, model.parameters))
            size = abs(value) if value else 1.0
            drives = self._moves_drives(model, name, size)
            if at is model or (not drives and name in at.parameter_names and not _integrated(model)):
                described = at.conditions()
                return _Direction(name, size, lambda h: described.perturbed(name, h).model, drives)
            own = model.conditions()
            return _Direction(name, size, lambda h: make_request(own.perturbed(name, h).model, **self.how).model)
        drive = self.how["drive"]
        if drive is not None and name in ([drive] if isinstance(drive, str) else drive):
            return _Direction(name, 1.0, lambda h: at, shifted=name)
        return self._start(model, name)

    def _start(self, model: Model, name: str) -> _Direction:
        """Return the direction of a start value of a drive that prescribes velocity or acceleration."""
        owner = name.removesuffix(".speed").removesuffix(".position")
        drive = next((drive for drive in model.joint_drives if drive.name == owner), None)
        field = "speed" if name.endswith(".speed") else "position"
        if drive is None or drive.level <= (field == "speed"):
            remedy = "it is no parameter of the system; start values matter for drives of velocity or acceleration only"
            raise ModelError("sensitivity", "by", name, f"{remedy}, else they only select the branch")
        place = driven_dof(model, drive)[0]
        now = float((self.result.v if field == "speed" else self.result.q)[0, place])

        def perturbed(h: float) -> Model:
            described = model.system.copy()
            given: dict[str, Any] = {field: now + h}
            described.initial(owner, **given)
            return make_request(described.compile(), **self.how).model

        return _Direction(name, max(abs(now), 1.0), perturbed)

    def _moves_drives(self, model: Model, name: str, size: float) -> bool:
        """Return whether driven positions may depend on a parameter: time laws, offsets of driven rows."""
        own = model.family.compiled.numbers
        moved = model.conditions().perturbed(name, DIFFERENCE_STEP * size).model.mapped_parameters
        changed = np.flatnonzero(moved != model.mapped_parameters)
        groups = {own.group_of(int(place)).what for place in changed}
        return bool(model.drives) and not groups <= {*DRIVE_INDEPENDENT_GROUPS, "named"}

    # ---- (1)

    def _positions(self, direction: _Direction) -> Array:
        """Return the derivatives of positions along a direction, (k, nv)."""
        model, t, q = self.request.model, self.t, self.q
        models = [direction.perturbed(factor * DIFFERENCE_STEP * direction.size) for factor in FACTORS]
        step = DIFFERENCE_STEP * direction.size
        right = np.zeros((len(t), model.nc))
        if model.nc:
            gaps = [other.constraint_residual(q, t=t) for other in models]
            if direction.drives and any(not drive.of_joint for drive in model.drives):
                gaps = [
                    gap - np.stack([constraint_targets(other, float(time))[0] for time in t])
                    for gap, other in zip(gaps, models, strict=True)
                ]
            right = -differences(gaps, step)
        known = self._known()
        given = np.zeros((len(t), model.nv))
        if direction.shifted:
            self._shift(direction.shifted, right, given)
        elif direction.drives and model.joint_drives:
            given = differences([self._driven(other) for other in models], step)
        return self._solved(direction, known, right, given)

    def _shift(self, name: str, right: Array, given: Array) -> None:
        """Add the right-hand side of a unit shift of all values of a drive, in rows or driven degrees of freedom."""
        model = self.request.model
        for drive in model.drives:
            if drive.name == name and drive.of_joint:
                given[:, driven_dof(model, drive)] = 1.0
                return
            if drive.name == name:
                element, row = drive.connection.element, driven_row(model, drive)
                right[:, row] = [element.target(drive.law(float(time))[0], 1.0, 0.0)[1] for time in self.t]  # type: ignore[union-attr]
                return
        raise ModelError("sensitivity", "by", name, "the driven joint has no single value: name a parameter")

    def _known(self) -> BoolArray:
        """Return the mask (nv,) of driven or fixed degrees of freedom."""
        model = self.request.model
        known = np.array(driven_speeds(model), dtype=bool)
        held = undeformed(model)
        if held is not None:
            known[list(held.locked)] = True
        return known

    def _driven(self, other: Model) -> Array:
        """Return the difference of driven coordinates of another model, as small motions (k, nv)."""
        model = self.request.model
        q = self.q.copy()
        for row, time in enumerate(self.t):
            asked_for = drive_targets(other, float(time))[0]
            given = ~np.isnan(asked_for)
            q[row, given] = asked_for[given]
        return np.asarray(model.difference(self.q, q))

    def _solved(self, direction: _Direction, known: BoolArray, right: Array, given: Array) -> Array:
        model = self.request.model
        dq = np.where(known, given, 0.0)
        if not model.nc or known.all():
            return dq
        loops = LoopEquations.of(model, prescribed=False)
        P = model.constraint_jacobian(self.q, t=self.t)
        right = loops.row_scales * (right - (P @ dq[:, :, None])[:, :, 0])
        free = (loops.row_scales[:, None] * P * loops.column_scales)[:, :, ~known]
        U, s, V = np.linalg.svd(free, full_matrices=False)
        self._check_singular(s, free.shape[2])
        change = ((right[:, None] @ U) / s[:, None] @ V)[:, 0]
        dq[:, ~known] = loops.column_scales[~known] * change
        off = np.abs((free @ change[:, :, None])[:, :, 0] - right)
        row, place = np.unravel_index(int(off.argmax()), off.shape)
        if off[row, place] > INCONSISTENT_TOL * max(1e-3, float(np.abs(right).max())):
            raise GradientError(
                f"there is no derivative by {direction.name!r}: it opens {model.constraint_connections[place]!r}, a "
                "redundant constraint; define one user parameter that also changes the matching dimensions"
            )
        return dq

    def _check_singular(self, s: Array, count: int) -> None:
        """Raise for positions at which (1) is singular."""
        least = s[:, -1] if s.shape[1] >= count else np.zeros(len(s))
        flat = np.flatnonzero(least <= SINGULAR_TOL * max(1.0, float(s.max(initial=0.0))))
        if len(flat):
            where = self.result.axis.at(float(self.t[flat[0]]))
            raise GradientError(
                f"there are no derivatives at {where}: the configuration is singular, branches meet there"
            )

    # ---- outputs

    def output(self, name: str) -> tuple[Output, Array, Array]:
        """Return an output, its values (k, ...) and its derivatives (k, ..., m)."""
        output = Output.of(self.request.model, name)
        if output.history is not None:
            remedy = "it depends on the history of the run: use outputs of the state, and integrals of them"
            raise ModelError("sensitivity", "output", name, remedy)
        values = np.asarray(self.result.output(name), dtype=float)
        columns = [self._derivative(k, output, name, values) for k in range(len(self.directions))]
        return output, values, np.stack(columns, axis=-1)

    def _derivative(self, k: int, output: Output, name: str, values: Array) -> Array:
        reach = max(1.0 / self.directions[k].size, float(np.abs(self.changes[k]).max(initial=0.0)))
        step = DIFFERENCE_STEP / reach
        sides = [
            same_branch(output, np.asarray(self._moved(k, factor * step).output(name), dtype=float), values)
            for factor in FACTORS
        ]
        return differences(sides, step)

    def _moved(self, k: int, h: float) -> Result:
        """Return the motion perturbed by h in a direction."""
        if (k, h) not in self._perturbed:
            model = self.directions[k].perturbed(h)
            q = model.integrate(self.q, h * self.changes[k])
            held = undeformed(model)
            found = rates_at(model, self.t, q, conditions=held)
            if found.status != "finished":
                raise GradientError(
                    f"cannot evaluate velocities at the perturbed state for {self.directions[k].name!r}: {found.status}"
                )
            self._perturbed[k, h] = Result(
                model,
                self.t,
                q,
                found.v,
                stored={"a": found.a},
                prescribed=True,
                conditions=None if held is None else single_period(held),
                axis=self.result.axis,
            )
        return self._perturbed[k, h]


def _integrated(model: Model) -> bool:
    """Return whether drives prescribe velocities or accelerations, so that time laws are integrated first."""
    return any(drive.level for drive in model.joint_drives)
