"""Ratios of velocities, and of forces by virtual power.

If one coordinate drives another, the rates f and g of input and output have a ratio that depends on the position only.
Without losses and inertia, the effort E at the input and the load L at the output have the same power, E f = L g, so
that

    velocity ratio         g / f                                                                                    (1)
    mechanical advantage   L / E = f / g                                                                            (2)

Where the mechanism reverses, all rates vanish together and are replaced by accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...result import Output, Result
from ...result.outputs.frames import turning_axis
from .interpolation import Extremes, extremes, roots
from .kinematic_result import KinematicResult
from .relative_motion import find_frame

__all__ = ["Ratio", "mechanical_advantage", "rate_pair", "velocity_ratio"]


@dataclass(frozen=True, eq=False, repr=False)
class Ratio(KinematicResult):
    """Ratio of two rates at every row.

    Attributes
    ----------
    result : Result
    name : str
        ``"velocity ratio"`` or ``"mechanical advantage"``.
    of, to : str
        Outputs of the numerator and of the denominator.
    unit : str
        ``"1"``, ``"m/rad"``, ...
    t : (n,) s
    values : (n,)
        Infinite where the denominator is zero, NaN where both rates are.
    """

    result: Result
    name: str
    of: str
    to: str
    unit: str
    t: Array
    values: Array
    _rates: tuple[Array, Array, Array, Array] = field(repr=False)
    _arrays: ClassVar = {"values": (("time",), "")}

    @cached_property
    def extremes(self) -> Extremes:
        """Least and greatest value over the range, with their times; between rows too."""
        f, df, g, dg = self._rates
        with np.errstate(all="ignore"):
            slope = (df * g - f * dg) / g**2
        return extremes(self.t, self.values, slope)

    @cached_property
    def zeros(self) -> list[float]:
        """Times, s, at which the ratio passes zero: `of` is at rest."""
        return roots(self.t, *self._rates[:2])

    @cached_property
    def poles(self) -> list[float]:
        """Times, s, at which the ratio passes through infinity: `to` is at rest."""
        return roots(self.t, *self._rates[2:])

    def _headline(self) -> str:
        e = self.extremes
        return f"{self.name} of {self.of} to {self.to}, {e.least:.6g} to {e.greatest:.6g} {self.unit}".removesuffix(
            " 1"
        )


def velocity_ratio(result: Result, output: str, input: str) -> Ratio:
    """Return the ratio (1) of the rates of two outputs.

    Parameters
    ----------
    result : Result
        Of a mechanism with one degree of freedom; otherwise the ratio holds for this motion only.
    output, input : str
        Coordinates of joints, cut or not (``"A"``, ``"P.x"``), angles of bodies (``"rocker.angle"``), components of
        positions (``"slider.position.x"``); or their rates (``"A.speed"``, ``"slider.velocity.x"``).
    """
    return _ratio(result, "velocity ratio", output, input, "velocity_ratio")


def mechanical_advantage(result: Result, output: str, input: str) -> Ratio:
    """Return the load at `output` per effort at `input`, (2); positive against the motion.

    Parameters
    ----------
    result : Result
        Of a mechanism with one degree of freedom; otherwise it holds for this motion only.
    output, input : str
        As for `velocity_ratio`; efforts are conjugate to these rates, N along displacements, N m about angles.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import slider_crank
    >>> s = slider_crank(0.2, 0.6)
    >>> _ = s.drive("A", speed=1.0)
    >>> force = mechanical_advantage(da.simulate(s, 1.0), "D", "A")  # N at the slider per N m at the crank
    >>> float(force.values[0].round(4)), force.unit
    (-6.1547, 'rad/m')
    """
    return _ratio(result, "mechanical advantage", input, output, "mechanical_advantage")


def _ratio(result: Result, name: str, above: str, below: str, item: str) -> Ratio:
    (f, df, unit), (g, dg, other) = (rate_pair(result, what, item) for what in (above, below))
    upper, lower = (np.abs(rate) / max(float(np.abs(rate).max(initial=0.0)), 1e-300) for rate in (f, g))
    rest = (upper < 1e-10) & (lower < 1e-10)
    f0, g0 = np.where(rest, df, f), np.where(rest, dg, np.where(lower < 1e-12, 0.0, g))
    with np.errstate(all="ignore"):
        values = f0 / g0
    ratio_unit = "1" if unit == other else f"{unit}/{other}"
    return Ratio(result, name, above, below, ratio_unit, result.t, values, (f, df, g, dg))


def rate_pair(result: Result, what: str, item: str) -> tuple[Array, Array, str]:
    """Return rate and second rate (n,) of a named coordinate, and its unit."""
    if not isinstance(result, Result):
        raise ModelError(item, "result", result, "give a Result, of da.simulate or da.kinematics")
    if not isinstance(what, str):
        raise ModelError(item, "output", what, "give a name such as 'A' or 'slider.position.x'")
    model = result.require_model()
    joint = what.removesuffix(".position").removesuffix(".speed")
    try:
        output = Output.of(model, f"{joint}.speed")
        if output.shape == ():
            unit = output.unit.removesuffix("/s")
            return result.output(output), result[f"{joint}.acceleration"], unit
    except ModelError:
        pass
    owner, _, ending = what.rpartition(".")
    if ending == "angle":
        marker = find_frame(result, owner, item, "output")
        Output.of(model, what)  # raises an error without an angle
        axis = turning_axis(model, marker)
        w = result[f"{owner}.angular_velocity"]
        if axis is None:
            axis = np.linalg.svd(w, full_matrices=False)[2][0]
            axis = axis * np.sign(axis[np.abs(axis).argmax()])
        return w @ axis, result[f"{owner}.angular_acceleration"] @ axis, "rad"
    owner, _, quantity = owner.rpartition(".")
    levels = {"position": ("velocity", "acceleration", "m"), "velocity": ("velocity", "acceleration", "m")}
    levels["angular_velocity"] = ("angular_velocity", "angular_acceleration", "rad")
    if quantity in levels and ending in ("x", "y", "z"):
        rate, second, unit = levels[quantity]
        Output.of(model, what)
        return result[f"{owner}.{rate}.{ending}"], result[f"{owner}.{second}.{ending}"], unit
    Output.of(model, what)
    remedy = "give one number: a coordinate of a joint, 'body.angle', or a component such as 'slider.position.x'"
    raise ModelError(item, "output", what, remedy)
