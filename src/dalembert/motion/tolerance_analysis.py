"""Tolerance analysis: sensitivities, worst case, root sum of squares, samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..answer import count_text, list_text
from ..arrays import Array
from ..checks import checked, finite_number
from ..closure.assembly import assemble, given_coordinates
from ..closure.joint_velocities import speed_rows
from ..closure.named_velocities import NamedVelocities, as_name_list, named_velocities
from ..errors import ModelError
from ..model import Model, as_model
from ..model.argument_errors import checked_configuration
from ..model.state import StateLike
from ..result import TIME, Axis, Output, Result
from ..result.outputs.frames import frame_of, turning_axis
from ..system import System
from .deviation_effects import Displacements, solve
from .deviations import Deviation, deviated, find_deviation
from .geometry.kinematic_result import KinematicResult

__all__ = ["Samples", "Tolerances", "tolerances"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Output errors of mechanisms with deviations, without linearisation.

    Attributes
    ----------
    outputs : tuple of str
    errors : (count, outputs) m or rad
        Deviations of the outputs from their nominal values, for normally distributed deviations whose tolerances are
        three standard deviations.
    rss : (outputs,)
        Three standard deviations of them, comparable with `Tolerances.rss`.
    worst : (outputs,)
        Largest error of the mechanisms with all deviations at their limits in the worst sense, comparable with
        `Tolerances.worst`.
    """

    outputs: tuple[str, ...]
    errors: Array
    rss: Array
    worst: Array


@dataclass(frozen=True, eq=False, repr=False)
class Tolerances(KinematicResult):
    """Sensitivities of outputs to deviations at every row; prints the worst row.

    Attributes
    ----------
    model : Model
    outputs : tuple of str, (m,)
        One number each.
    units : tuple of str, (m,)
    deviations : tuple of str, (k,)
    amounts : (k,) m or rad
        Tolerances, plus and minus.
    t : (n,) s
    sensitivities : (n, m, k)
        Derivative of each output with respect to each deviation, at fixed held coordinates.
    """

    model: Model
    outputs: tuple[str, ...]
    units: tuple[str, ...]
    deviations: tuple[str, ...]
    amounts: Array
    t: Array
    sensitivities: Array
    result: Result | None = field(repr=False)
    _q: Array = field(repr=False)
    _held: tuple[str, ...] = field(repr=False)
    _what: tuple[Deviation, ...] = field(repr=False)
    _arrays: ClassVar = {
        "sensitivities": (("time", "output", "deviation"), ""),
        "amounts": (("deviation",), ""),
        "worst": (("time", "output"), ""),
        "rss": (("time", "output"), ""),
    }

    @property
    def axis(self) -> Axis:
        """Meaning of t."""
        return TIME if self.result is None else self.result.axis

    @property
    def contributions(self) -> Array:
        """Error of each output due to each deviation at its limit, (n, m, k), absolute."""
        return np.asarray(np.abs(self.sensitivities) * self.amounts)

    @property
    def worst(self) -> Array:
        """Largest error to first order, all deviations at their limits in the worst sense, (n, m)."""
        return np.asarray(self.contributions.sum(axis=2))

    @property
    def rss(self) -> Array:
        """Root sum of squares, (n, m): the same share of a normal distribution as the deviations have."""
        return np.asarray(np.sqrt((self.contributions**2).sum(axis=2)))

    def sensitivity(self, output: str, deviation: str) -> Array:
        """Return the derivative of an output with respect to a deviation, (n,)."""
        return np.asarray(
            self.sensitivities[:, _place(self.outputs, output, "output"), _place(self.deviations, deviation, "name")]
        )

    def sampled(self, count: int = 200, *, row: int = 0, seed: int = 0) -> Samples:
        """Build and assemble mechanisms with deviations, at one row, and return the errors of their outputs.

        Parameters
        ----------
        count : int
        row : int
        seed : int
        """
        rng = np.random.default_rng(seed)
        nominal = self._read(np.zeros(len(self.amounts)), row)
        errors = np.array(
            [self._read(self.amounts / 3 * rng.standard_normal(len(self.amounts)), row) for _ in range(count)]
        ).reshape(count, -1)
        errors = errors - nominal
        corners = np.sign(self.sensitivities[row])[:, None] * np.array([1.0, -1.0])[:, None] * self.amounts
        worst = [
            max(abs(float(self._read(corner, row)[k] - nominal[k])) for corner in pair)
            for k, pair in enumerate(corners)
        ]
        return Samples(self.outputs, errors, 3 * errors.std(axis=0), np.array(worst))

    def _read(self, amounts: Array, row: int) -> Array:
        """Return the outputs (m,) of a mechanism with deviations, assembled with the held coordinates."""
        model, q = self.model, self._q[row]
        other = deviated(model.system, list(self._what), amounts).compile()
        values: dict[str, Any] = {}
        still = np.zeros(model.nv)
        for name in self._held:
            cut = model.compiled.names.cut_q.get(name)
            values[name] = None if cut is None else model.cut_motion(q, still, still)[0][cut]
        at = assemble(other, state=q, hold=values, t=float(self.t[row])).q if model.nc else q
        found = [np.atleast_1d(Output.of(other, name).evaluate(other, self.t[row], at, still)) for name in self.outputs]
        return np.concatenate(found)

    @cached_property
    def _table(self) -> str:
        row = int((self.worst / np.maximum(self.worst.max(axis=0), 1e-300)).max(axis=1).argmax())
        head = f"deviations at {self.axis.at(self.t[row])}" if len(self.t) > 1 else "deviations"
        head += f", held: {', '.join(self._held) or 'nothing'}"
        width = max(len("root of squares"), *(len(name) for name in self.deviations))
        columns = [f"{name} [{unit}]" for name, unit in zip(self.outputs, self.units, strict=True)]
        wide = max(26, *(len(c) for c in columns))
        lines = [head, f"{'':{width}}  {'tolerance':>11}  " + "  ".join(f"{c:>{wide}}" for c in columns)]
        shown = np.where(self.contributions < 1e-12 * self.worst[:, :, None], 0.0, self.sensitivities)  # rounding
        for k, name in enumerate(self.deviations):
            cells = []
            for m in range(len(self.outputs)):
                share = abs(shown[row, m, k]) * self.amounts[k]
                part = share**2 / max(float(self.rss[row, m]) ** 2, 1e-300)
                cells.append(f"{shown[row, m, k]:>10.4g} {share:>9.3g} {100 * part:>3.0f}%")
            lines.append(f"{name:{width}}  {self.amounts[k]:>11.4g}  " + "  ".join(f"{c:>{wide}}" for c in cells))
        for title, values in (("worst case", self.worst), ("root of squares", self.rss)):
            cells = [f"{x:.4g}" for x in values[row]]
            lines.append(f"{title:{width}}  {'':>11}  " + "  ".join(f"{c:>{wide}}" for c in cells))
        lines.append("columns: derivative, error at the limit, share of the sum of squares")
        return "\n".join(line.rstrip() for line in lines)

    def __str__(self) -> str:
        return self._table

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {**super()._axes(), "output": (list(self.outputs), ""), "deviation": (list(self.deviations), "")}

    def _headline(self) -> str:
        worst = [
            f"{name} ±{size:.3g} {unit}"
            for name, size, unit in zip(self.outputs, self.worst.max(axis=0), self.units, strict=True)
        ]
        return f"{list_text(worst)} at worst by {count_text(len(self.deviations), 'deviation')}, {len(self.t)} rows"


@checked("outputs", "hold")
def tolerances(
    motion: System | Model | Result,
    outputs: str | Iterable[str],
    deviations: Mapping[str, float],
    *,
    hold: str | Iterable[str] | None = None,
    state: StateLike | None = None,
) -> Tolerances:
    """Return the first-order output errors due to deviations of lengths and joint positions, exactly.

    Parameters
    ----------
    motion : System, Model or Result
        The assembled start of a system or model, or every row of a motion.
    outputs : names
        Positions of points (``"coupler.P.position"``, ``"slider.position.x"``), angles of bodies (``"rocker.angle"``),
        coordinates of joints, cut or not (``"D"``).
    deviations : dict of str to float
        Tolerances, plus and minus, m or rad: ``{"coupler.length": 1e-4, "ground.A-D": 2e-4, "C.rocker.x": 5e-5}``; see
        `dalembert.motion.deviations`.
    hold : names
        Joints or coordinates that keep their values, as many as the mechanism has degrees of freedom; default the
        driven ones.
    state : State, dict of name to value, or (nq,) rad or m
        Configuration of a System or Model, if not its start.

    Raises
    ------
    ModelError
        If a name is unknown, if the mechanism still has degrees of freedom, or if a deviation would strain it.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import slider_crank
    >>> s = slider_crank(0.2, 0.6, angle=0.0)
    >>> report = tolerances(s, "slider.position.x", {"crank.length": 1e-4, "rod.length": 2e-4}, hold="A")
    >>> report.sensitivities[0].round(6), report.worst.round(7), report.rss.round(7)
    (array([[1., 1.]]), array([[0.0003]]), array([[0.0002236]]))
    """
    if not outputs:
        raise ModelError("tolerances", "outputs", outputs, "name one or more")
    item = "tolerances"
    result = motion if isinstance(motion, Result) else None
    model = result.require_model() if result is not None else as_model(motion)  # type: ignore[arg-type]
    if not isinstance(deviations, Mapping) or not deviations:
        raise ModelError(item, "deviations", deviations, "give a dict such as {'coupler.length': 1e-4}")
    found = [find_deviation(model.system, name, item) for name in deviations]
    amounts = np.array([finite_number(x, item=item, field=name) for name, x in deviations.items()])
    if (amounts < 0).any():
        raise ModelError(item, "deviations", dict(deviations), "tolerances are symmetric: give non-negative numbers")
    if result is not None:
        if state is not None:
            raise ModelError(item, "state", state, "a Result has its own: leave it out")
        rows, times = np.array(result.q), np.array(result.t)
    else:
        rows, times = _start(model, state)[None], np.zeros(1)
    names = _driven(model) if hold is None else as_name_list(hold)
    free = named_velocities(model, names, item=item)
    makers = [maker for name in ([outputs] if isinstance(outputs, str) else outputs) for maker in _parts(model, name)]
    moved = Displacements(model, rows, found)
    dq = solve(moved, times, free, item)
    sensitivities = np.stack([maker.change(dq, moved) for maker in makers], axis=1)
    labels, units = tuple(m.name for m in makers), tuple(m.unit for m in makers)
    return Tolerances(
        model, labels, units, tuple(deviations), amounts, times, sensitivities, result, rows, tuple(names), tuple(found)
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """One component of an output, and its derivative."""

    model: Model
    name: str
    unit: str
    marker: Any = None
    row: Any = None  # (6,): of the marker's displacement
    dof: NamedVelocities | None = None
    cut: str | None = None

    def change(self, dq: Array, moved: Displacements) -> Array:
        """Return the derivatives (n, k) with respect to the deviations."""
        if self.dof is not None:
            found: Array = (speed_rows(self.dof, moved.q) @ dq)[:, 0]
            return found if self.cut is None else found + moved.of_cut_joint(self.cut)[:, 0]
        J = self.model.jacobian(self.marker, moved.q)
        return (J @ dq + moved.of(self.marker).swapaxes(1, 2)).swapaxes(1, 2) @ self.row


def _parts(model: Model, name: str) -> list[_Part]:
    """Return the components of an output that is a position."""
    output = Output.of(model, name)  # raises an error for unknown names
    base = name.removesuffix(".position")
    names = model.compiled.names
    for cut, joints in ((False, names.v), (True, names.cut_v)):
        span = joints.get(base) if base in model.system.connections else None
        if span is not None and span.stop - span.start == 1:
            dof = named_velocities(model, base, item="tolerances")
            return [_Part(model, base, output.unit, dof=dof, cut=base if cut else None)]
    owner, _, ending = name.rpartition(".")
    marker = frame_of(model, owner) if ending in ("position", "angle") else None
    if marker is not None and ending == "angle":
        axis = turning_axis(model, marker)
        if axis is not None:
            return [_Part(model, name, "rad", marker, np.concatenate([axis, np.zeros(3)]))]
    if marker is not None and ending == "position":
        return [_Part(model, f"{name}.{c}", "m", marker, np.eye(6)[3 + k]) for k, c in enumerate("xyz")]
    above, _, quantity = owner.rpartition(".")
    marker = frame_of(model, above) if quantity == "position" and ending in "xyz" else None
    if marker is not None:
        return [_Part(model, name, "m", marker, np.eye(6)[3 + "xyz".index(ending)])]
    remedy = "give the position of a point, a component of it, the angle of a body, or a joint with one coordinate"
    raise ModelError("tolerances", "output", name, remedy)


def _driven(model: Model) -> list[str]:
    return [name for drive in model.joint_drives for name in drive.speed_names]


def _start(model: Model, state: StateLike | None) -> Array:
    """Return the configuration of a state, or the assembled start values."""
    if state is not None:
        return checked_configuration(model, "tolerances", given_coordinates(model, state, item="tolerances"))
    if not model.nc:
        return np.asarray(model.initial_state().q)
    return np.asarray(assemble(model).q)


def _place(names: tuple[str, ...], name: str, field_: str) -> int:
    if name not in names:
        raise ModelError("tolerances", field_, name, f"choose among {', '.join(map(repr, names))}")
    return names.index(name)
