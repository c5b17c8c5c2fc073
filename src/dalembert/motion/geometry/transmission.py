"""Transmission angle and pressure angle.

An effort at the input is balanced by a load at the output, with massless bodies and without friction and other loads.
The force at a connection then has a direction F that depends on the mechanism alone. With v the velocity of the point
of the driven body on which it acts,

    pressure angle       cos alpha = |F . v| / (|F| |v|)                                                            (1)
    transmission angle   mu = pi / 2 - alpha                                                                        (2)

both from 0 to pi / 2. In a four-bar F lies along the coupler, which has joints at its ends and no load. mu is the angle
between coupler and rocker, or its supplement if that is less. In a slider-crank, mu is the angle between the connecting
rod and the normal of the guide. If a connection transmits a moment too, the point is the one on the line of action
nearest to the connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...arrays import Array, BoolArray
from ...checks import checked
from ...closure.joint_velocities import cut_speeds_of_twist, speed_rows
from ...closure.loop_equations import LoopEquations
from ...closure.named_velocities import NamedVelocities, named_velocities
from ...errors import ModelError
from ...model import Model
from ...model.connection_loads import second_markers, weightless_loads
from ...model.drive_targets import driven_row
from ...numerics.rank import ROW_RANK_TOL
from ...result import Result
from ...result.outputs.frames import common_axis
from ...system.lookup import body_called, connection_and_part
from .interpolation import Extremes, extremes
from .kinematic_result import KinematicResult
from .relative_motion import RelativeFrameMotion

__all__ = ["TransmissionAngle", "balanced_loads", "transmission_angle"]


@dataclass(frozen=True, eq=False, repr=False)
class TransmissionAngle(KinematicResult):
    """Transmission angle at every row.

    Attributes
    ----------
    result : Result
    at, body : str
        The connection that transmits the force, and the driven body.
    input, output : str
        Coordinates between which effort and load balance.
    t : (n,) s
    transmission, pressure : (n,) rad
        (2) and (1); NaN where no force is transmitted.
    force : (n, 3)
        Unit vector along the force on the driven body, world axes.
    point : (n, 3) m
        Its point of action.
    velocity : (n, 3) m/s
        Of that point of the driven body, relative to the guiding body, world axes.
    """

    result: Result
    at: str
    body: str
    input: str
    output: str
    t: Array
    transmission: Array
    pressure: Array
    force: Array
    point: Array
    velocity: Array
    _arrays: ClassVar = {
        "transmission": (("time",), "rad"),
        "pressure": (("time",), "rad"),
        "force": (("time", "axis"), ""),
        "point": (("time", "axis"), "m"),
        "velocity": (("time", "axis"), "m/s"),
    }

    @cached_property
    def extremes(self) -> Extremes:
        """Least and greatest transmission angle over the range, rad, with their times; between rows too."""
        cross = np.cross(self.force, self.velocity)
        axis = common_axis(np.nan_to_num(cross), 1e-6)
        if axis is None:
            return extremes(self.t, self.transmission)
        # the signed pressure angle is smooth at zero
        along = (self.force * self.velocity).sum(axis=1)
        signed = np.arctan2(np.where(along < 0, -1, 1) * (cross @ axis), np.abs(along))
        found = extremes(self.t, signed)
        both = sorted([(abs(found.least), found.t_least), (abs(found.greatest), found.t_greatest)])
        passes = (signed[:-1] * signed[1:] <= 0) & (np.abs(np.diff(signed)) < np.pi / 2)  # jumps where it locks
        if passes.any():
            k = int(passes.argmax())
            share = signed[k] / (signed[k] - signed[k + 1]) if signed[k] != signed[k + 1] else 0.0
            both[0] = (0.0, float(self.t[k] + share * (self.t[k + 1] - self.t[k])))
        (best, t_best), (worst, t_worst) = both
        return Extremes(np.pi / 2 - worst, t_worst, np.pi / 2 - best, t_best)

    def _headline(self) -> str:
        low, high = np.degrees([self.extremes.least, self.extremes.greatest])
        return f"at {self.at} on {self.body}, {low:.4g} to {high:.4g} degrees"


@checked("at", "output", "input", "body")
def transmission_angle(
    result: Result, at: str, output: str, input: str | None = None, *, body: str | None = None
) -> TransmissionAngle:
    """Return the transmission angle at a connection over a motion.

    Parameters
    ----------
    result : Result
        Of a mechanism with one degree of freedom.
    at : str
        The joint or constraint that transmits the force to the driven body, ``"C"`` of a four-bar.
    output : str
        The coordinate at which the load acts: a joint of the driven body, cut or not.
    input : str
        The coordinate at which the effort acts; the driven joint if left out.
    body : str
        The driven body, if both or none of the bodies at `at` are also at the joint of the output.

    Raises
    ------
    ModelError
        If effort and load cannot balance: the mechanism has degrees of freedom other than that from input to output.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> s = four_bar(1.0, 2.5, 2.0, 2.2, angle=1.0)
    >>> _ = s.drive("A", speed=1.0)
    >>> mu = transmission_angle(da.simulate(s, 1.0), "C", output="D")
    >>> diagonal = 1.0 + 2.2**2 - 2 * 2.2 * np.cos(1.0)
    >>> bool(abs(np.cos(mu.transmission[0]) - (2.5**2 + 2.0**2 - diagonal) / (2 * 2.5 * 2.0)) < 1e-12)
    True
    """
    item = "transmission_angle"
    if not isinstance(result, Result):
        raise ModelError(item, "result", result, "give a Result, of da.simulate or da.kinematics")
    model = result.require_model()
    if at not in model.connection_names or at not in model.system.connections:
        names = ", ".join(map(repr, model.system.connections))
        raise ModelError(item, "at", at, f"give a connection that transmits the force: one of {names}")
    source = _input(model, item) if input is None else input
    driven, frame = _driven(model, at, output, body, item)
    loads = balanced_loads(result, source, output, item)[:, model.connection_names.index(at)]
    second = second_markers(model)[at]
    loads = loads if second.body.name == driven else -loads
    moment, force = loads[:, :3], loads[:, 3:]
    size = np.linalg.norm(force, axis=1)
    weak = ~(size * model.length > 1e-9 * np.nan_to_num(np.abs(loads)).max(initial=0.0))
    with np.errstate(all="ignore"):
        F = np.where(weak[:, None], np.nan, force / size[:, None])
        point = model.pose(second, result.q).position + np.cross(F, moment) / size[:, None]
        v = _velocity(result, driven, frame, point)
        pressure = np.arctan2(np.linalg.norm(np.cross(F, v), axis=1), np.abs((F * v).sum(axis=1)))
    return TransmissionAngle(result, at, driven, source, output, result.t, np.pi / 2 - pressure, pressure, F, point, v)


def balanced_loads(result: Result, input: str, output: str, item: str) -> Array:
    """Return the loads of all connections on their second markers, (n, connections, 6), world axes.

    An effort at one coordinate and a load at another balance; their magnitude is arbitrary.
    """
    model = result.require_model()
    E, L = (_coordinate(model, name, field, item) for name, field in ((input, "input"), (output, "output")))
    q, n = np.asarray(result.q), len(result)
    loops = LoopEquations.of(model, prescribed=False, t=np.asarray(result.t)).without(_driven_rows(model))
    c, d = speed_rows(E, q)[:, 0], speed_rows(L, q)[:, 0]
    both = _balance(result, c * loops.column_scales, d * loops.column_scales, loops.column_scales)
    rest = loops.column_scales * (-both[:, :1] * c - both[:, 1:] * d)
    J = loops.jacobian(q)
    x = (
        (np.linalg.pinv(J.swapaxes(1, 2), rcond=ROW_RANK_TOL) @ rest[:, :, None])[:, :, 0]
        if model.nc
        else np.zeros((n, 0))
    )
    missing = np.abs(np.einsum("nij,ni->nj", J, x) - rest).max(axis=1) > 1e-6 * np.abs(rest).max(axis=1)
    if missing.all():
        remedy = (
            f"an effort at {input!r} cannot balance a load there at {result.axis.at(result.t[missing.argmax()])}: the "
            "mechanism has other degrees of freedom, or the two are not connected; exactly one DOF is needed"
        )
        raise ModelError(item, "output", output, remedy)
    further, passed = _cut_efforts(model, q, ((E, both[:, 0]), (L, both[:, 1])))
    loads: Array = passed + weightless_loads(model, q, np.zeros((n, model.nv)), loops.row_scales * x, loads=further)
    loads[missing] = np.nan  # singular positions: loads are not determined there
    return loads


def _balance(result: Result, c: Array, d: Array, columns: Array) -> Array:
    """Return effort and load (n, 2) whose total power along the motion is zero.

    c and d (n, nv) are their rows.
    """
    v = result.v / columns
    rates = np.stack([(c * v).sum(axis=1), (d * v).sum(axis=1)], axis=1)
    still = np.abs(rates).max(axis=1) <= 1e-10 * np.abs(rates).max(initial=0.0)
    if still.any():
        a = result.a / columns
        rates[still] = np.stack([(c * a).sum(axis=1), (d * a).sum(axis=1)], axis=1)[still]
    size = np.linalg.norm(rates, axis=1, keepdims=True)
    return np.stack([rates[:, 1], -rates[:, 0]], axis=1) / np.where(size > 0, size, np.nan)


def _cut_efforts(model: Model, q: Array, efforts: tuple[tuple[NamedVelocities, Array], ...]) -> tuple[Array, Array]:
    """Return efforts (n,) at cut joints as loads on bodies (n, nb, 6), and as loads of connections, (n, ..., 6)."""
    on_bodies, passed = np.zeros((len(q), model.nb, 6)), np.zeros((len(q), len(model.connection_names), 6))
    for dof, effort in efforts:
        for index in dof.cut:
            name, span = next(
                (name, span) for name, span in model.compiled.names.cut_v.items() if span.start <= index < span.stop
            )
            load = effort[:, None] * cut_speeds_of_twist(model, q, name)[:, index - span.start]
            passed[:, model.connection_names.index(name)] += load
            loop_constraint = model.system.connections[name]
            point = model.pose(loop_constraint.second, q).position
            for marker, sign in ((loop_constraint.first, -1.0), (loop_constraint.second, 1.0)):
                number = model.forest.number[marker.body.name]
                if number:
                    arm = point - model.pose(marker.body, q).position
                    moment = load[:, :3] + np.cross(arm, load[:, 3:])
                    on_bodies[:, number - 1] += sign * np.concatenate([moment, load[:, 3:]], axis=1)
    return on_bodies, passed


def _coordinate(model: Model, name: str, field: str, item: str) -> NamedVelocities:
    try:
        found = named_velocities(model, name.removesuffix(".position").removesuffix(".speed"), item=item)
    except ModelError as error:
        raise ModelError(item, field, name, error.remedy) from None
    if len(found) != 1:
        raise ModelError(item, field, name, f"it has {len(found)} velocities: give one, such as {found.names[:1]}")
    return found


def _driven_rows(model: Model) -> BoolArray:
    rows = np.zeros(model.nc, dtype=bool)
    rows[[driven_row(model, drive) for drive in model.drives if drive not in set(model.joint_drives)]] = True
    return rows


def _input(model: Model, item: str) -> str:
    names = [name for drive in model.joint_drives for name in drive.speed_names]
    if len(names) != 1:
        raise ModelError(item, "input", None, f"{len(names)} coordinates are driven: give input=, that of the effort")
    return names[0]


def _driven(model: Model, at: str, output: str, body: str | None, item: str) -> tuple[str, str]:
    """Return the driven body, and the body that guides it."""
    connection = model.system.connections[at]
    ends = [marker.body.name for marker in (connection.first, connection.second)]
    joint = connection_and_part(model.system, output.removesuffix(".position").removesuffix(".speed"))[0]
    guides = [] if joint is None else [marker.body.name for marker in (joint.first, joint.second)]
    if body is not None and body not in ends:
        raise ModelError(item, "body", body, f"give one of those that {at!r} connects: {ends[0]!r} or {ends[1]!r}")
    shared = [name for name in ends if name in guides and name != "ground"] if body is None else [body]
    if len(set(shared)) != 1:
        raise ModelError(item, "body", body, f"give the driven one: {ends[0]!r} or {ends[1]!r}")
    driven = shared[0]
    others = [name for name in guides if name != driven]
    return driven, others[0] if driven in guides and others else "ground"


def _velocity(result: Result, driven: str, frame: str, point: Array) -> Array:
    """Return the velocity (n, 3) m/s of points (n, 3) m of a body relative to another.

    Where it is zero, its rate.
    """
    system = result.require_model().system
    first, second = (RelativeFrameMotion.of(result, body_called(system, name).origin) for name in (driven, frame))
    v = first.velocity_at(point) - second.velocity_at(point)
    speed = np.linalg.norm(v, axis=1)
    still = speed <= 1e-9 * np.nanmax(speed, initial=0.0)
    if not still.any():
        return v
    return np.where(still[:, None], first.acceleration_at(point) - second.acceleration_at(point), v)
