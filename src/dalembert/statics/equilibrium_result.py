"""Result of `equilibrium`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..answer import ArrayAnswer, list_text
from ..arrays import Array
from ..compile.names import full_names
from ..connections.joints import Joint
from ..errors import ModelError, SingularityError
from ..model import ConnectionLoads, Model, State
from ..model.conditions import Conditions
from ..result import Motion, Periods, Result
from .force_balance import BalanceEvaluation
from .friction import FrictionHold
from .stability import Stability

__all__ = ["Equilibrium", "EquilibriumState"]


@dataclass(eq=False)
class EquilibriumState(State):
    """Equilibrium state with its conditions and inputs, which linear analyses take over.

    Attributes
    ----------
    conditions : Conditions or None
    inputs : dict of str to float
        In place of time laws.
    """

    conditions: Conditions | None = field(default=None, repr=False)
    inputs: dict[str, float] = field(default_factory=dict, repr=False)


@dataclass(eq=False, repr=False)
class Equilibrium(ArrayAnswer, State):
    """State of equilibrium or steady motion, usable as a `State` in every analysis; `print` shows a report.

    Attributes
    ----------
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
        Zero, or the steady velocities.
    x : (nx,)
        Stationary element states.
    t : float, s
    stable : Stability
        Verdict and reason; true if stable.
    unknown : dict of str to float
        Values found for unknown inputs, parameters and velocities.
    residual : float
        Unbalanced forces relative to the largest load.
    friction : list of FrictionHold
        Friction of joints, with margins and bands.
    stops : dict of str to float
        Efforts of the active stops, N m or N, by coordinate.
    free : tuple of str
        Motions without stiffness: coordinates stay at their start values along them.
    notes : list of str
    steps : int
        Steps of the search.
    """

    model: Model = field(default=None)  # type: ignore[assignment]
    stable: Stability = field(default=None)  # type: ignore[assignment]
    unknown: dict[str, float] = field(default_factory=dict)
    residual: float = 0.0
    friction: list[FrictionHold] = field(default_factory=list)
    stops: dict[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    steps: int = 0
    evaluation: BalanceEvaluation = field(default=None)  # type: ignore[assignment]
    conditions: Conditions = field(default=None)  # type: ignore[assignment]
    _arrays: ClassVar = {"q": (("coordinate",), ""), "v": (("speed",), ""), "x": (("state",), "")}

    def state(self) -> State:
        """Return a copy as a plain state."""
        return State(q=self.q.copy(), v=self.v.copy(), t=self.t, x=self.x.copy())

    @property
    def parameters(self) -> dict[str, float]:
        """Given and found parameters, for ``simulate(..., parameters=eq.parameters)``."""
        return {name: value for name, (value, _) in self.conditions.changed_parameters().items()}

    @property
    def inputs(self) -> dict[str, float]:
        """Given and found inputs, for ``model.input_values(eq.inputs)``."""
        return dict(self.evaluation.balance.inputs)

    @property
    def energy(self) -> float:
        """Potential energy, J."""
        how: dict[str, Any] = {"t": self.t, "x": self.x, "conditions": self.conditions}
        return float(self.model.energy(self.q, self.v, inputs=self.evaluation.balance.input_values, **how).potential)

    @cached_property
    def reactions(self) -> ConnectionLoads:
        """Load of every connection on its second marker, by name; non-unique loads are marked."""
        model, balance = self.model, self.evaluation.balance
        try:
            found = model.report(
                ["loads"], self.t, self.q, self.v, self.x, inputs=balance.input_values, conditions=self.conditions
            )["loads"]
        except (SingularityError, ModelError):  # bodies without mass
            found = self.evaluation.loads
        return ConnectionLoads(model, self.q, found, t=self.t, conditions=self.conditions)

    @property
    def efforts(self) -> dict[str, float]:
        """Efforts of drives, holds and given velocities along their degrees of freedom, N m or N, by name."""
        look, lacking = self.evaluation, self.evaluation.lacking
        found = {self.model.speed_names[k]: float(lacking[k]) for k in np.flatnonzero(look.balance.prescribed)}
        for measure, mu in zip(look.balance.held, look.mu, strict=True):
            found.setdefault(measure.name, float(mu / measure.scale))
        return found

    @cached_property
    def result(self) -> Result:
        """The state as a `Result` with one time, for outputs, plots and files."""
        return _RestResult(self)

    def __getitem__(self, name: str) -> float | Array:
        """Return a coordinate, those of a joint, an element state, a found parameter, or an output, by name.

        Outputs are those of a `Result`, ``"arm.tip.position"``, ``"A.force.x [kN]"``, at this state.
        """
        if name in self.unknown:
            return self.unknown[name]
        model = self.model
        if name in model.state_names:
            return float(self.x[model.state_names.index(name)])
        values = dict(self._coordinates())
        if name in values:
            return values[name][0]
        parts = [value for key, (value, _, _) in values.items() if key.startswith(f"{name}.")]
        if parts:
            return np.array(parts)
        if not isinstance(name, str):
            known = ", ".join(map(repr, list(values)[:12]))
            raise ModelError("equilibrium", "name", name, f"there are the coordinates {known}, and outputs of a Result")
        found = self.result[name][0]
        return float(found) if np.ndim(found) == 0 else found

    def _coordinates(self) -> list[tuple[str, tuple[float, str, float | None]]]:
        """Return name, value, unit and steady velocity of all coordinates in the order of the description."""
        model, found = self.model, []
        still = np.zeros(model.nv)
        cut_q, cut_v, _ = model.cut_motion(self.q, self.v, still)
        for connection in model.system.connections.values():
            joint, name = connection.element, connection.name
            if not isinstance(joint, Joint):
                continue
            names = full_names(name, joint.coordinates)
            cut = name in model.compiled.names.cut_q
            q = cut_q[model.compiled.names.cut_q[name]] if cut else self.q[model.q_slice(name)]
            v = cut_v[model.cut_joint_slice(name)] if cut else self.v[model.v_slice(name)]
            for k, one in enumerate(names):
                speed = float(v[k]) if joint.nq == joint.nv else None
                found.append((one, (float(q[k]), joint.coordinate_units[k], speed)))
        for body in model.flexible_names:
            span = model.q_slice(body)
            found += [(f"{body}.eta[{k}]", (float(value), "", None)) for k, value in enumerate(self.q[span])]
        return found

    def _repr_html_(self) -> str:
        """Show a sketch and the report in a notebook."""
        from ..view.notebook import report_html

        return report_html(self)

    def _headline(self) -> str:
        values = (
            f"{name} {np.degrees(value):.4g}°" if unit == "rad" else f"{name} {value:.4g} {unit}".removesuffix(" 1")
            for name, (value, unit, _) in self._coordinates()
        )
        found = (f"{name} {value:.4g}" for name, value in self.unknown.items())
        return f"{self.stable.verdict}, residual {self.residual:.1e}; {list_text([*found, *values])}"

    def __str__(self) -> str:
        model, pace = self.model, 1e-12 * float(np.abs(self.v).max(initial=0.0))
        moving = pace > 0.0
        kind = "steady motion" if moving else "equilibrium"
        lines = [f"{kind} of {model.system.name!r} at t = {self.t:.6g} s: {self.stable!r}"]
        table = []
        for name, (value, unit, speed) in self._coordinates():
            shown = f"{value:.6g} {unit if unit != '1' else ''}".rstrip()
            turned = f"{np.degrees(value):.4g}°" if unit == "rad" else ""
            runs = f"{speed:.6g} {unit}/s" if speed is not None and abs(speed) > pace else ""
            table.append((name, shown, turned, runs))
        table += [(name, f"{value:.6g}", "", "") for name, value in zip(model.state_names, self.x, strict=True)]
        lines += _columns(table)
        others = {*self.stops, *(held.name for held in self.friction)}
        for title, rows in (
            ("found", [(name, f"{value:.6g}") for name, value in self.unknown.items()]),
            ("active stops", [(name, f"{value:.6g}") for name, value in self.stops.items()]),
            ("efforts of drives and holds", [(n, f"{e:.6g}") for n, e in self.efforts.items() if n not in others]),
            ("friction", [(h.name, _friction_text(h)) for h in self.friction]),
        ):
            if rows:
                lines += [f"{title}:", *_columns(rows)]
        lines += [f"residual {self.residual:.1e}", *(f"note: {note}" for note in self.notes)]
        return "\n".join(lines)


class _RestMotion(Motion):
    """Equilibrium or steady motion with inputs in place of time laws."""

    given: Array | None = None

    def _reported(self, parts: list[str]) -> dict[str, Array]:
        if self.given is None:
            return super()._reported(parts)
        assert self.conditions is not None
        conditions = self.conditions(self.t)[0][1]
        inputs = np.broadcast_to(self.given, (len(self), len(self.given)))
        states = self.t, self.q, self.v, self.x
        return self.model.report(parts, *states, inputs=inputs, conditions=conditions)


class _RestResult(Result):
    """Equilibrium as a result with one time."""

    def __init__(self, eq: Equilibrium) -> None:
        periods = Periods([eq.t], [eq.conditions])
        super().__init__(eq.model, [eq.t], eq.q[None], eq.v[None], eq.x[None], conditions=periods)
        self._given = eq.evaluation.balance.input_values

    @property
    def _kind(self) -> type[Motion]:
        return type("RestMotion", (_RestMotion,), {"given": self._given})


def _friction_text(held: FrictionHold) -> str:
    how = "slid there; now" if held.slid else "holds"
    low, high = held.band
    return f"{how} {held.effort:.6g} of {held.limit:.6g} {held.unit}, loads may change by {low:.4g} to {high:.4g}"


def _columns(rows: list[Any], most: int = 40) -> list[str]:
    """Format rows of text as lines with aligned columns."""
    shown = rows if len(rows) <= most else [*rows[: most - 1], ("...", f"{len(rows) - most + 1} more", *[""] * 8)]
    count = len(rows[0]) if rows else 0
    width = [max(len(str(row[k])) for row in shown) for k in range(count)]
    return ["  " + "  ".join(str(row[k]).ljust(width[k]) for k in range(count)).rstrip() for row in shown]
