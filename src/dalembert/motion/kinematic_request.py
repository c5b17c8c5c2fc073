"""Request of a kinematic motion: a system whose drives all give positions, and the times.

Values of a coordinate become a drive whose law passes through them. Drives by velocity or acceleration become drives by
position, integrated from the start of the motion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_number
from ..closure.driven.driven_state import drive_unit, driven_positions
from ..closure.starts.start_values import StartValues
from ..connections.drives import Drive, PoseDrive
from ..connections.laws import Law, LinearInterpolation, Polynomial, Spline, integrated
from ..errors import DalembertError, ModelError
from ..model import Model
from ..result import TIME, Axis
from ..system import System

__all__ = ["KinematicRequest", "axis_of_one", "in_order", "law_of_one", "laws_of_several", "make_request", "renamed"]


_ITEM = "kinematics"
_MAX_DRIVE_VALUE = 1e12  # rad, m or s; the spacing of numbers is 1e-4 there


@dataclass(frozen=True, eq=False)
class KinematicRequest:
    """Request of a kinematic motion.

    Attributes
    ----------
    model : Model
        With drives by position, or by velocity with nonholonomic rows.
    times : (n,) s
    notes : list of str
    corners : list of int
        Rows at which the drive reverses.
    axis : Axis
        Meaning of the times.
    """

    model: Model
    times: Array
    notes: list[str] = field(default_factory=list)
    corners: list[int] = field(default_factory=list)
    axis: Axis = TIME


def make_request(
    system: System | Model,
    times: ArrayLike | None,
    drive: str | Mapping[str, ArrayLike] | None,
    values: ArrayLike | None,
    speed: float | None,
) -> KinematicRequest:
    """Return the request; see `kinematics`."""
    if not isinstance(system, (System, Model)):
        remedy = "give a System, a Model or a natural Mechanism"
        raise ModelError(_ITEM, "system", system, remedy)
    notes: list[str] = []
    corners: list[int] = []
    axis = TIME
    if drive is None:
        if values is not None or speed is not None:
            given = "values" if values is not None else "speed"
            raise ModelError(_ITEM, given, values if values is not None else speed, "name its coordinate: drive=")
        if times is None:
            raise ModelError(_ITEM, "times", None, 'give times=, or drive="A", values=...')
        model = system if isinstance(system, Model) else system.compile()
        when = in_order(times)
        return KinematicRequest(_by_position(model, float(when[0])), when, notes)
    described = system.system if isinstance(system, Model) else system
    described = described.copy()
    if isinstance(drive, str):
        if values is None:
            raise ModelError(_ITEM, "values", None, f"give the values of {drive!r}, rad or m")
        law, when, corners = law_of_one(drive, values, speed, times, notes)
        made = described.drive(drive, position=law)
    else:
        if values is not None:
            raise ModelError(_ITEM, "values", values, "the values are given in the mapping: drive={'A': angles, ...}")
        if speed is not None:
            raise ModelError(_ITEM, "speed", speed, "several drives take their rates from the times: give times=")
        laws, when = laws_of_several(drive, times, notes)
        for name, law in laws.items():
            described.drive(name, position=law)
        axis = TIME if times is not None else Axis("row", "1")
    model = _by_position(described.compile(), float(when[0]))
    if isinstance(drive, str) and times is None and speed is None:
        driven = next((one for one in model.drives if one.name == getattr(made, "name", drive)), None)
        axis = axis_of_one(drive, "" if driven is None else drive_unit(model, driven), law)
    return KinematicRequest(model, when, notes, corners, axis)


def renamed(error: DalembertError, axis: Axis, t: float) -> DalembertError:
    """Return the error with times replaced by values of the driven coordinate, where times are not times."""
    if not axis.is_time and error.args:
        error.args = (str(error).replace(f"t = {t:.6g} s", axis.at(t)), *error.args[1:])
    return error


def axis_of_one(name: str, unit: str, law: Law) -> Axis:
    """Return the axis of a coordinate that moves with unit velocity: its values, or its travel."""
    same = isinstance(law, Polynomial) and law.coefficients == (0.0, 1.0)
    return Axis(name if same else f"travel of {name}", unit or "1")


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(_ITEM, f"values of {name!r}", values, "give numbers, rad or m") from None
    largest = float(np.abs(found).max(initial=0.0))
    if found.ndim > 1 or not found.size or not math.isfinite(largest):
        raise ModelError(_ITEM, f"values of {name!r}", values, "give finite numbers, one sequence")
    if largest > _MAX_DRIVE_VALUE:
        remedy = f"give numbers up to {_MAX_DRIVE_VALUE:.0e}: larger ones have too few digits"
        raise ModelError(_ITEM, f"values of {name!r}", values, remedy)
    return found


def in_order(times: ArrayLike) -> Array:
    """Return times (n,) that increase."""
    if isinstance(times, np.ndarray) and times.dtype == float and times.ndim == 1 and len(times) > 1:
        found = times.copy()  # those that increase are numbers, and the largest are at the ends
        if (found[1:] > found[:-1]).all() and max(-found[0], found[-1]) <= _MAX_DRIVE_VALUE:
            return found
    found = np.atleast_1d(_numbers("times", times))
    if (found[1:] <= found[:-1]).any():
        raise ModelError(_ITEM, "times", times, "give times that increase")
    return found


def law_of_one(
    name: str, values: ArrayLike, speed: float | None, times: ArrayLike | None, notes: list[str]
) -> tuple[Law, Array, list[int]]:
    """Return the law of a coordinate through values, their times, and the indices at which it reverses."""
    points = np.atleast_1d(_numbers(name, values))
    if times is not None:
        if speed is not None:
            raise ModelError(_ITEM, "speed", speed, "times= determine the velocity: leave one out")
        when = in_order(times)
        if len(when) != len(points):
            raise ModelError(_ITEM, "times", f"{len(when)} of them", f"give one for each of the {len(points)} values")
        return _through(when, points), when, []
    pace = 1.0 if speed is None else abs(finite_number(speed, item=_ITEM, field="speed"))
    if pace == 0.0 or (speed is not None and speed < 0.0):
        raise ModelError(_ITEM, "speed", speed, "give a positive number; the order of the values gives the direction")
    steps = np.diff(points)
    if (steps == 0.0).any():
        index = int(np.flatnonzero(steps == 0.0)[0])
        raise ModelError(
            _ITEM, f"values of {name!r}", float(points[index]), "two values in a row are the same: leave one out"
        )
    if (steps > 0.0).all():
        return Polynomial((0.0, pace)), points / pace, []
    when = np.concatenate([[0.0], np.cumsum(np.abs(steps))]) / pace
    notes.append(f"t is the travel of {name!r} from {points[0]:.6g} on, per speed: its values do not increase")
    if (steps < 0.0).all():
        return Polynomial((float(points[0]), -pace)), when, []
    corners = [int(k) for k in np.flatnonzero(np.sign(steps[1:]) != np.sign(steps[:-1])) + 1]
    beyond = np.append(when, when[-1] + 1.0), np.append(points, points[-1] + pace * np.sign(steps[-1]))
    return LinearInterpolation(*beyond), when, corners


def laws_of_several(
    values: Mapping[str, ArrayLike], times: ArrayLike | None, notes: list[str]
) -> tuple[dict[str, Law], Array]:
    """Return laws of coordinates through rows of values, and their times."""
    if not values:
        raise ModelError(_ITEM, "drive", values, "name at least one coordinate")
    numbers = {name: _numbers(name, given) for name, given in values.items()}
    sizes = {len(found) for found in numbers.values() if found.ndim}
    if len(sizes) > 1:
        listed = ", ".join(f"{name!r} {len(found)}" for name, found in numbers.items() if found.ndim)
        raise ModelError(_ITEM, "drive", listed, "give as many values of each, or a single number for a constant")
    count = sizes.pop() if sizes else 1
    if times is None:
        when = np.arange(float(count))
        notes.append("t counts the rows of values: rates are per row; give times= for others")
    else:
        when = in_order(times)
        if len(when) != count and sizes:
            raise ModelError(_ITEM, "times", f"{len(when)} of them", f"give one for each of the {count} rows")
    return {name: _through(when, np.broadcast_to(found, when.shape)) for name, found in numbers.items()}, when


def _through(when: Array, points: Array) -> Law:
    """Return the smoothest law through points: a cubic spline, or a polynomial through a few."""
    if np.ptp(points) == 0.0:
        return Polynomial((float(points[0]),))
    if len(when) >= 4:
        return Spline(when, points)
    return Polynomial(_few(when, points))


def _few(when: Array, points: Array) -> tuple[float, ...]:
    """Return coefficients of the polynomial through two or three points, by divided differences."""
    first = np.diff(points) / np.diff(when)
    bend = float((first[1] - first[0]) / (when[2] - when[0])) if len(when) == 3 else 0.0
    t, slope = float(when[0]), float(first[0])
    along = slope - bend * (t + float(when[1]))
    return float(points[0]) - t * slope + bend * t * float(when[1]), along, *((bend,) if bend else ())


def _by_position(model: Model, t_start: float) -> Model:
    """Return a model whose drives of joints all give positions, from their values at the start."""
    open_drives = [drive for drive in model.joint_drives if drive.level and _can_integrate(model, drive)]
    if not open_drives:
        return model
    described = model.system.copy()
    q = driven_positions(model, t_start)
    starts = StartValues.of(model).initials
    for drive in open_drives:
        joint = drive.connection.name
        begins = [float(q[model.q_slice(joint).start + drive.coordinate])]
        if drive.level == 2:
            initial = starts.get(joint)
            speed = 0.0 if initial is None or initial.speed is None else float(initial.speed[drive.coordinate])
            begins.append(0.0 if np.isnan(speed) else speed)
        law = drive.law
        for begin in reversed(begins):
            law = integrated(law, begin - integrated(law, 0.0)(t_start)[0])
        twin = described.connections[joint]
        for name, old in list(described.drives.items()):
            if old.connection is twin and old.coordinate == drive.coordinate:
                described.drives[name] = replace(old, law=law, level=0)
    return described.compile()


def _can_integrate(model: Model, drive: Drive) -> bool:
    """Return True if a coordinate is the integral of its velocity."""
    element = model.system.connections[drive.connection.name].element
    return not isinstance(drive, PoseDrive) and element.nq == element.nv  # type: ignore[union-attr]
