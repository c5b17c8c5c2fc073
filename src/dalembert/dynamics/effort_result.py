"""Efforts of a motion and derived outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..answer import ArrayAnswer, count_text, list_text, model_axes
from ..arrays import Array
from ..closure.relative_pose import joint_speeds
from ..errors import ModelError
from ..model import ConnectionLoads, Model
from ..result import Motion, Result, Stats
from ..rotation.angle_sequences import skew
from .actuators import StateSamples

__all__ = ["InverseDynamicsResult", "cut_loads"]


MAX_LISTED = 30  # lines of a table

_FROM_MOTION = ("a", "tau", "lam", "loads", "constraint_effort", "cut_a")


@dataclass(frozen=True, eq=False, repr=False)
class InverseDynamicsResult(ArrayAnswer):
    """Efforts of a motion; without the axis n for one state.

    Attributes
    ----------
    names : tuple of str
        The actuators: joint velocities, inputs and states of elements.
    values : (n, m) N m or N, or the units of inputs
    tau : (n, nv) N m or N
        Joint forces in addition to those of elements; zero without an actuator.
    cut : dict of str to (n, number of velocities) N m or N
        Efforts at cut joints.
    multipliers : (n, nc) N or N m
        Of the loops; for redundant rows, those with the loads of least norm.
    unmet_forces : (n, nv) N m or N
        Generalised forces that no actuator supplies; zero unless reported.
    determined : bool
        False if there are more actuators than degrees of freedom, so that other efforts are possible.
    excitations : dict of str to (n,)
        With activation dynamics: excitation of each muscle from the previous sample to this one.
    """

    samples: StateSamples = field(repr=False)
    names: tuple[str, ...]
    values: Array
    tau: Array
    multipliers: Array
    determined: bool
    cut: dict[str, Array]
    unmet_forces: Array
    inputs: Array | None = field(default=None, repr=False)
    single: bool = field(default=False, repr=False)
    excitations: dict[str, Array] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {
        "values": (("time", "actuator"), ""),
        "tau": (("time", "speed"), ""),
        "multipliers": (("time", "row"), ""),
        "unmet_forces": (("time", "speed"), ""),
    }

    @property
    def model(self) -> Model:
        """Model of the motion."""
        return self.samples.model

    @property
    def success(self) -> bool:
        """True if the actuators supply all forces that the motion needs."""
        return not self.unmet_forces.any()

    def _axes(self) -> dict[str, tuple[Any, str]]:
        axes: dict[str, tuple[Any, str]] = {**model_axes(self.model), "actuator": (list(self.names), "")}
        return axes | ({} if self.single else {"time": (self.samples.t, "s")})

    def _headline(self) -> str:
        values = self._with_sample_axis("values")
        largest = [
            f"{name} {np.abs(column).max(initial=0.0):.4g} {self._unit(name)}".rstrip()
            for name, column in zip(self.names, values.T, strict=True)
        ]
        count = f"{count_text(len(self.names), 'actuator')}, {count_text(len(self.samples), 'state')}"
        return f"{count}, largest {list_text(largest)}" if largest else count

    def __str__(self) -> str:
        values, n = self._with_sample_axis("values"), len(self.samples)
        when = f"{n} states" if n > 1 else "one state"
        lines = [f"efforts of {self.model.system.name!r}, {when}{'' if self.determined else ', not unique'}"]
        width = max([8, *(len(name) for name in self.names[:MAX_LISTED])])
        lines.append(f"  {'':<{width}}  {'least':>12}  {'largest':>12}  {'rms':>12}")
        for name, column in zip(self.names[:MAX_LISTED], values.T, strict=False):
            rms = float(np.sqrt(np.mean(column**2)))
            lines.append(
                f"  {name:<{width}}  {column.min():12.5g}  {column.max():12.5g}  {rms:12.5g} {self._unit(name)}"
            )
        lines += [f"  ... and {len(self.names) - MAX_LISTED} more"] if len(self.names) > MAX_LISTED else []
        lacking = np.abs(self._with_sample_axis("unmet_forces")).max(axis=0, initial=0.0)
        for k in np.flatnonzero(lacking)[:MAX_LISTED]:
            lines.append(f"  missing along {self.model.speed_names[k]!r}: up to {lacking[k]:.5g}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _unit(self, name: str) -> str:
        """Return the unit of a joint force; empty for inputs and states of elements."""
        names = self.model.speed_names
        if name not in names:
            return ""
        return "N m" if self.model.compiled.names.speed_units[names.index(name)] == "rad" else "N"

    def __getitem__(self, name: str) -> Array:
        """Return the effort at a joint, N m or N, or the value of one actuator, (n,).

        Of a joint with several velocities (n, nv of it); of one state without n. ``"A.effort"`` is the same as ``"A"``,
        as in `result`.
        """
        joint = name.removesuffix(".effort") if isinstance(name, str) else name
        if joint in self.cut:
            return _alone(self.cut[joint])
        if joint in self.model.joint_names or joint in self.model.flexible_names:
            found = self.tau[..., self.model.v_slice(joint)]
            return _alone(found) if joint in self.model.joint_names else found
        if name in self.names:
            return self.values[..., self.names.index(name)]
        mine = [k for k, known in enumerate(self.names) if known.rpartition(".")[0] == name]
        if len(mine) == 1:
            return self.values[..., mine[0]]
        raise ModelError("efforts", "actuator", name, f"choose among {', '.join(map(repr, self.names[:12]))}")

    def connection_loads(self, *, axes: str = "world") -> ConnectionLoads:
        """Return the load of every connection at one state, as `Model.connection_loads` does."""
        if not self.single:
            remedy = "these are efforts of many states: use the loads of .result, result['A.force']"
            raise ModelError("efforts", "connection_loads", f"{len(self.samples)} states", remedy)
        s = self.samples
        return ConnectionLoads(self.model, s.q[0], self._motion.part("loads")[0], axes, t=float(s.t[0]))

    @cached_property
    def _motion(self) -> ActuatedMotion:
        return ActuatedMotion(self, self.samples.t, self.samples.q, self.samples.v, self.samples.x)

    @cached_property
    def result(self) -> Result:
        """The motion under these efforts: every output by name, reactions and powers included, plots, files."""
        t = self.samples.t
        if self.single or (np.diff(t) <= 0.0).any():
            raise ModelError("efforts", "t", t, "times must increase for a result: give t=(n,) with the states")
        return ActuatedResult(self)

    # ---- batches

    def _with_sample_axis(self, part: str) -> Any:
        """Return an array with its axis n."""
        value = getattr(self, part)
        if not self.single or value is None:
            return value
        return {name: one[None] for name, one in value.items()} if isinstance(value, dict) else value[None]

    def at(self, t: Array) -> InverseDynamicsResult:
        """Return the efforts at other times (k,) s, by linear interpolation."""
        s = self.samples

        def between(values: Any) -> Any:
            return None if values is None else _between(t, s.t, values)

        loads = s.loads if s.loads is None or s.loads.ndim == 2 else between(s.loads)
        q, v, a, x = map(between, (s.q, s.v, s.a, s.x))
        there = StateSamples(self.model, t, q, v, a, x, loads, s.bare)
        cut = {name: between(one) for name, one in self.cut.items()}
        values, tau, lam, missing = map(between, (self.values, self.tau, self.multipliers, self.unmet_forces))
        return InverseDynamicsResult(
            there, self.names, values, tau, lam, self.determined, cut, missing, between(self.inputs)
        )


def _alone(efforts: Array) -> Array:
    """Return efforts (..., nv) of a joint; (...) if it has one velocity."""
    return np.asarray(efforts[..., 0]) if efforts.shape[-1] == 1 else efforts


def _between(t: Array, known: Array, values: Array) -> Array:
    flat = values.reshape(len(known), -1)
    columns = [np.interp(t, known, column) for column in flat.T]
    return np.array(columns).reshape(flat.shape[1], len(t)).T.reshape(len(t), *values.shape[1:])


class ActuatedMotion(Motion):
    """States with known accelerations and efforts: loads follow without forward dynamics."""

    def __init__(self, efforts: InverseDynamicsResult, t: Array, q: Array, v: Array, x: Array) -> None:
        super().__init__(efforts.model, t, q, v, x)
        self.efforts = efforts
        self.given: dict[str, Any] = {"inputs": efforts._with_sample_axis("inputs"), "loads": self._outer_loads()}

    @property
    def has_control(self) -> bool:
        """True: efforts are given."""
        return True

    def _outer_loads(self) -> Array | None:
        """Return loads on bodies (n, nb, 6): those given, and the efforts at cut joints."""
        e = self.efforts
        loads, cut = e.samples.loads, e._with_sample_axis("cut")
        self.passed = np.zeros((len(self), len(self.model.connection_names), 6))
        if not cut:
            return loads
        every = np.zeros((len(self), self.model.nb, 6))
        for k in range(len(self)):
            further, passed = cut_loads(self.model, self.q[k], {name: one[k] for name, one in cut.items()})
            every[k] = further
            for name, load in passed.items():
                self.passed[k, self.model.connection_names.index(name)] = load
        return every if loads is None else every + loads

    def _reported(self, parts: list[str]) -> dict[str, Array]:
        own = [part for part in parts if part in _FROM_MOTION]
        found = self._of_motion(own) if own else {}
        others = [part for part in parts if part not in _FROM_MOTION]
        if others:
            found |= self._of_state(others)
        return found

    def _of_state(self, parts: list[str]) -> dict[str, Array]:
        tau = self.efforts._with_sample_axis("tau")
        found = self.model.report(parts, self.t, self.q, self.v, self.x, tau=tau, **self.given)
        for name, effort in self.efforts._with_sample_axis("cut").items():
            if "cut_effort" in found:
                found["cut_effort"][:, self.model.cut_joint_slice(name)] += effort
        return found

    def _of_motion(self, parts: list[str]) -> dict[str, Array]:
        model, e = self.model, self.efforts
        found: dict[str, Array] = {"a": e.samples.a, "lam": e._with_sample_axis("multipliers")}
        found["constraint_effort"] = np.zeros((len(self), model.nv + model.compiled.names.cut_nv))
        if "tau" in parts:
            applied = 0.0 if e.samples.bare else self.part("applied")
            found["tau"] = e._with_sample_axis("tau") + e._with_sample_axis("unmet_forces") + applied
        if "cut_a" in parts:
            found["cut_a"] = model.cut_motion(self.q, self.v, found["a"])[2]
        if "loads" in parts:
            found["loads"] = self.loads_with(found["lam"])
        return {part: found[part] for part in parts}

    def loads_with(self, lam: Array) -> Array:
        """Return the loads of connections (n, connections, 6) with multipliers (n, nc)."""
        e = self.efforts
        more: dict[str, Any] = {"t": self.t, "x": self.x, "lam": lam, **self.given, "bare": e.samples.bare}
        if e.samples.bare:
            more.pop("inputs")
        return self.model._loads_of_motion(self.q, self.v, e.samples.a, **more) + self.passed


class ActuatedResult(Result):
    """Motion with its efforts."""

    def __init__(self, efforts: InverseDynamicsResult) -> None:
        s = efforts.samples
        stats = Stats(method="inverse dynamics", notes=list(efforts.notes))
        super().__init__(s.model, s.t, s.q, s.v, s.x, stats=stats, stored={"a": s.a})
        self.efforts = efforts

    @property
    def _has_control(self) -> bool:
        """True: efforts are given."""
        return True

    @property
    def _motion(self) -> Motion:
        return self.efforts._motion

    def _motion_at(self, times: Array) -> Motion:
        e, (q, v, x) = self.efforts.at(times), self._states(times)
        return ActuatedMotion(e, times, q, v, x)

    def _like(self, t: Array, q: Array, v: Array, x: Array) -> Result:
        e = self.efforts.at(t)
        there = StateSamples(e.model, t, q, v, e.samples.a, x, e.samples.loads, e.samples.bare)
        return ActuatedResult(
            InverseDynamicsResult(
                there, e.names, e.values, e.tau, e.multipliers, e.determined, e.cut, e.unmet_forces, e.inputs
            )
        )


def cut_loads(model: Model, q: Array, cut: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
    """Return efforts at cut joints as loads on bodies (nb, 6), and as loads transmitted by these joints, (6,) each."""
    on_bodies = np.zeros((model.nb, 6))
    passed: dict[str, Array] = {}
    if not cut:
        return on_bodies, passed
    coordinates = model.cut_motion(q, np.zeros(model.nv), np.zeros(model.nv))[0]
    for loop_constraint in model.forest.loop_constraints:
        if loop_constraint.name not in cut:
            continue
        at = coordinates[model.compiled.names.cut_q[loop_constraint.name]]
        load = joint_speeds(loop_constraint.element, at).T @ cut[loop_constraint.name]  # type: ignore[arg-type]
        axes, point = model.pose(loop_constraint.first, q).rotation, model.pose(loop_constraint.second, q).position
        world = np.concatenate([axes @ load[:3], axes @ load[3:]])
        passed[loop_constraint.name] = world
        for marker, sign in ((loop_constraint.first, -1.0), (loop_constraint.second, 1.0)):
            number = model.forest.number[marker.body.name]
            if number:
                arm = point - model.pose(marker.body, q).position
                on_bodies[number - 1] += sign * np.concatenate([world[:3] + skew(arm) @ world[3:], world[3:]])
    return on_bodies, passed
