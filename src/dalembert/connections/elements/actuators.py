"""Active elements: servos, motors, muscles and cylinders, built on `Element`.

Each is an `Element` with a law of a few parameters. Inputs (setpoints, voltages, excitations, flows) are numbers, or
expressions of the time ``t``, such as ``"0.5*sin(2*t)"``, of the measures of the element, and of `sources`. Work of an
active element that is not stored counts as external work, including its heat, so that the energy balance of a run
closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import checked, finite_number, not_negative, positive
from ...errors import ModelError
from ..formulas.expressions import check_expression
from .element import Element

__all__ = ["DCMotor", "HillMuscle", "HydraulicCylinder", "PositionServo", "VelocityServo"]


@checked("sources")
class PositionServo(Element):
    """PID servo at a joint: effort = stiffness (setpoint - s) + integral * I - damping ds, limited.

    Parameters
    ----------
    setpoint : number or expression of t, rad or m
    stiffness : float, N m/rad or N/m
        Gain of the error.
    damping : float, N m s/rad or N s/m
        Gain of the velocity; the rate of the setpoint is not fed forward.
    integral : float, N m/(rad s) or N/(m s)
        Gain of the integral of the error, which is the state ``I``.
    limit : float, N m or N
        Largest effort. The integral is frozen while the effort is at the limit and the error would drive it further
        (anti-windup).
    sources : dict of str to source
        Further names that the setpoint may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("arm")
    >>> arm = s.body("arm", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, arm)
    >>> _ = s.connect("servo", da.PositionServo(0.5, 200.0, 40.0, 300.0), "A")
    >>> round(float(da.simulate(s, 10.0)["A.position"][-1]), 4)
    0.5
    """

    def __init__(
        self,
        setpoint: Any,
        stiffness: float,
        damping: float = 0.0,
        integral: float = 0.0,
        limit: float | None = None,
        *,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "PositionServo"
        numbers = not_negative(item, stiffness=stiffness, damping=damping, integral=integral)
        effort = "stiffness*error + integral*I - damping*ds"
        super().__init__(**_servo(item, numbers, setpoint, "setpoint - s", effort, limit, sources))


@checked("sources")
class VelocityServo(Element):
    """PI velocity servo at a joint: effort = gain (setpoint - ds) + integral * I, limited.

    Parameters
    ----------
    setpoint : number or expression of t, rad/s or m/s
    gain : float, N m s/rad or N s/m
    integral : float, N m/rad or N/m
        Gain of the integral of the error, which is the state ``I``.
    limit : float, N m or N
        Largest effort, with anti-windup as in `PositionServo`.
    sources : dict of str to source
        Further names that the setpoint may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.
    """

    def __init__(
        self,
        setpoint: Any,
        gain: float,
        integral: float = 0.0,
        limit: float | None = None,
        *,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "VelocityServo"
        numbers = not_negative(item, gain=gain, integral=integral)
        super().__init__(**_servo(item, numbers, setpoint, "setpoint - ds", "gain*error + integral*I", limit, sources))


def _servo(
    item: str,
    numbers: dict[str, float],
    setpoint: Any,
    error: str,
    effort: str,
    limit: float | None,
    sources: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the parts of a servo whose state I integrates the error; with anti-windup at its effort limit."""
    check_expression(item, "setpoint", setpoint, "t", *(sources or {}))
    definitions = {"setpoint": setpoint, "error": error, "wanted": effort}
    force, rate = "wanted", "error"
    if limit is not None:
        numbers = numbers | positive(item, limit=limit)
        definitions |= {
            "above": "where(wanted > limit, where(error > 0, 0, error), error)",
            "kept": "where(wanted < -limit, where(error < 0, 0, error), above)",
        }
        force, rate = "max(-limit, min(limit, wanted))", "kept"
    return {
        "measure": "joint",
        "force": force,
        "parameters": numbers,
        "states": {"I": (0.0, rate)},
        "definitions": definitions,
        "active": True,
        "inputs": sources or {},
    }


@checked("sources")
class DCMotor(Element):
    """DC motor at a joint: effort = gear k i, with L di/dt = u - R i - gear k ds.

    Parameters
    ----------
    voltage : number or expression of t, V
        May use the angle ``s``, the velocity ``ds`` and the current ``i`` too: a controller.
    resistance : float, ohm
    constant : float, N m/A = V s/rad
        Torque constant and back-emf constant, equal in SI units.
    inductance : float, H
    gear : float
        Revolutions of the rotor per revolution of the joint. The inertia of the rotor is not part of the element: add
        gear^2 times it to the driven body.
    current : float, A
        At the start; the state is ``i``.
    sources : dict of str to source
        Further names that the voltage may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    The energy stored is L i^2/2; u i is external work, of which R i^2 is heat.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("spindle", gravity=(0, 0, 0))
    >>> disc = s.body("disc", mass=0.5, inertia=[1e-3, 1e-3, 2e-3])
    >>> _ = s.connect("axle", da.Revolute("z"), s.ground, disc)
    >>> _ = s.connect("motor", da.DCMotor(12.0, resistance=1.0, constant=0.1, inductance=1e-3), "axle")
    >>> round(float(da.simulate(s, 20.0)["axle.speed"][-1]), 3)  # u/k
    120.0
    """

    def __init__(
        self,
        voltage: Any,
        resistance: float,
        constant: float,
        inductance: float,
        gear: float = 1.0,
        current: float = 0.0,
        *,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "DCMotor"
        numbers = positive(item, R=resistance, k=constant, L=inductance) | {
            "gear": finite_number(gear, item=item, field="gear")
        }
        if not numbers["gear"]:
            raise ModelError(item, "gear", gear, "give turns of the rotor for one of the joint")
        check_expression(item, "voltage", voltage, "t", "s", "ds", "i", *(sources or {}))
        states = {"i": (finite_number(current, item=item, field="current"), "(voltage - R*i - gear*k*ds)/L")}
        super().__init__(
            "joint",
            "gear*k*i",
            numbers,
            states,
            "L*i**2/2",
            {"voltage": voltage},
            active=True,
            inputs=sources or {},
        )


@checked("sources")
class HillMuscle(Element):
    """Hill-type muscle along the line between two markers, with a rigid tendon.

    Parameters
    ----------
    excitation : number or expression of t, s and ds, 0 to 1
    strength : float, N
        Largest isometric force F0.
    optimal_length : float, m
        Fibre length l0 at that force.
    slack_length : float, m
        Length of the tendon; the fibre length is the distance minus this.
    fastest : float, 1/s
        Velocity of unloaded shortening at full activation, in optimal lengths.
    rise, fall : float, s
        Time constants of activation and deactivation.
    start : float
        Activation at the start, 0.01 to 1; the state is ``a``.
    sources : dict of str to source
        Further names that the excitation may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    The tension is F0 (a fl(l) fv(l') + fp(l)), with l = fibre length / l0:

    - activation a' = (u - a)/tau, tau = rise (1/2 + 3/2 a) if u > a, else fall/(1/2 + 3/2 a);
    - force-length fl = exp(-(l - 1)^2/0.45);
    - force-velocity, with w = l'/((1/4 + 3/4 a) fastest): Hill's hyperbola (1 + w)/(1 - 4 w) in shortening, none beyond
      w = -1, and in lengthening 1 + 10 w/(1 + 25 w), which ends at 1.4; the slope doubles at rest;
    - passive parallel spring fp = (exp(5 (l - 1)/0.6) - 1)/(exp(5) - 1) beyond the optimal length.

    Source: D. G. Thelen, "Adjustment of muscle mechanics model parameters to simulate dynamic contractions in older
    adults", J. Biomech. Eng. 125 (2003) 70-77, with his numbers for young adults: gamma = 0.45, A_f = 0.25, F_len =
    1.4, k_PE = 5, strain 0.6 at F0, 10 optimal lengths per second, time constants 15 and 50 ms. His muscle has a tendon
    that stretches and fibres at an angle; here the tendon is rigid and the fibres are in line, so that his (6), solved
    for the force, is fv. Ours: activation and excitation stay above 0.01. The hyperbola is that of A. V. Hill, Proc. R.
    Soc. B 126 (1938) 136-195, with a/F0 = A_f. The energy stored is that of the passive spring.
    """

    def __init__(
        self,
        excitation: Any,
        strength: float,
        optimal_length: float,
        *,
        slack_length: float = 0.0,
        fastest: float = 10.0,
        rise: float = 0.015,
        fall: float = 0.05,
        start: float = 0.01,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "HillMuscle"
        numbers = positive(item, F0=strength, l0=optimal_length, vmax=fastest, rise=rise, fall=fall) | not_negative(
            item, slack=slack_length
        )
        if not 0.01 <= finite_number(start, item=item, field="start") <= 1:
            raise ModelError(item, "start", start, "give an activation from 0.01 to 1")
        check_expression(item, "excitation", excitation, "t", "s", "ds", *(sources or {}))
        definitions = {
            "excitation": excitation,
            "u": "min(1, max(0.01, excitation))",
            "l": "(s - slack)/l0",
            "w": "max(-1, ds/(l0*vmax*(0.25 + 0.75*a)))",
            "stretch": "max(0, l - 1)",
            "fl": "exp(-(l - 1)**2/0.45)",
            "fv": "where(w < 0, (1 + w)/(1 - 4*min(w, 0)), 1 + 10*max(w, 0)/(1 + 25*max(w, 0)))",
            "fp": "(exp(5*stretch/0.6) - 1)/(exp(5) - 1)",
            "tau": "where(u > a, rise*(0.5 + 1.5*a), fall/(0.5 + 1.5*a))",
        }
        stored = "F0*l0*(0.12*(exp(5*stretch/0.6) - 1) - stretch)/(exp(5) - 1)"
        super().__init__(
            "distance",
            "-F0*(a*fl*fv + fp)",
            numbers,
            {"a": (float(start), "(u - a)/tau")},
            stored,
            definitions,
            active=True,
            inputs=sources or {},
        )


@checked("stroke", "sources")
class HydraulicCylinder(Element):
    """Hydraulic cylinder between two markers, with the pressures of both chambers as states.

    Parameters
    ----------
    inflow : number or expression, m^3/s
        Into the chamber of the bore; may use t, s, ds and the pressures ``p1`` and ``p2``: a valve.
    outflow : number or expression, m^3/s
        Out of the chamber of the rod.
    area, rod_area : float, m^2
        Of the piston, and of the rod, by which the second chamber is smaller.
    stroke : (float, float) m
        Distance of the markers at both ends of the stroke.
    bulk_modulus : float, Pa
        Of the oil.
    dead_volume : float, m^3
        That each chamber keeps at its end of the stroke.
    pressure, rod_pressure : float, Pa
        At the start.
    friction : float, N s/m
    sources : dict of str to source
        Further names that flows may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    With volumes V1 = area (s - shortest) + dead, V2 = (area - rod) (longest - s) + dead:
    p1' = B (inflow - area ds)/V1, p2' = B ((area - rod) ds - outflow)/V2; the force is area p1 - (area - rod) p2 -
    friction ds. The energy stored is that of the oil under pressure, V (B (exp(p/B) - 1) - p) of
    each chamber, about V p^2/(2 B).
    """

    def __init__(
        self,
        inflow: Any,
        outflow: Any,
        area: float,
        rod_area: float,
        stroke: tuple[float, float],
        *,
        bulk_modulus: float = 1.4e9,
        dead_volume: float = 1e-5,
        pressure: float = 0.0,
        rod_pressure: float = 0.0,
        friction: float = 0.0,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "HydraulicCylinder"
        if np.shape(stroke) != (2,):
            raise ModelError(item, "stroke", stroke, "give the shortest and the longest distance, m")
        shortest, longest = (finite_number(end, item=item, field="stroke") for end in stroke)
        if not 0 <= shortest < longest:
            raise ModelError(item, "stroke", stroke, "give the shortest and the longest distance, m")
        numbers = positive(item, A1=area, B=bulk_modulus, V0=dead_volume) | not_negative(item, rod=rod_area, c=friction)
        numbers |= {"short": shortest, "long": longest}
        if numbers["rod"] >= numbers["A1"]:
            raise ModelError(item, "rod_area", rod_area, f"it must be below the area of the piston, {area:.6g} m^2")
        for name, flow in (("inflow", inflow), ("outflow", outflow)):
            check_expression(item, name, flow, "t", "s", "ds", "p1", "p2", *(sources or {}))
        definitions = {
            "inflow": inflow,
            "outflow": outflow,
            "A2": "A1 - rod",
            "V1": "A1*(s - short) + V0",
            "V2": "A2*(long - s) + V0",
        }
        start, start_rod = (finite_number(p, item=item, field="pressure") for p in (pressure, rod_pressure))
        states = {
            "p1": (start, "B*(inflow - A1*ds)/V1"),
            "p2": (start_rod, "B*(A2*ds - outflow)/V2"),
        }
        stored = "V1*(B*(exp(p1/B) - 1) - p1) + V2*(B*(exp(p2/B) - 1) - p2)"
        force = "A1*p1 - A2*p2 - c*ds"
        super().__init__("distance", force, numbers, states, stored, definitions, active=True, inputs=sources or {})
