"""DC motor with a gearbox that has elasticity, backlash, efficiency and heat.

Joint coordinate s, ratio n, rotor angle n (s + p) with the twist p of the gearbox, rotor velocity w:

    L i' = u - R i - k w                    R = R_20 (1 + alpha (T_w - 20))
    J w' = k i - b w - T_1                  p' = w/n - s'
    T_2 = max(0, K (p - h) + C p') above, min(0, K (p + h) + C p') below, zero within the play |p| < h
    T_1 = (T_2 + (1/eta - 1) |T_2| tanh(w/w_0))/n                                                           (1)
    C_w T_w' = R i^2 - (T_w - T_h)/r_wh     C_h T_h' = (T_w - T_h)/r_wh - (T_h - T_a)/r_ha + P_f            (2)

T_2 acts on the joint. By (1) the gearbox has the efficiency eta when the motor drives and 2 - 1/eta when the load
drives: below eta = 1/2 it locks itself. P_f = b w^2 + (1/eta - 1) |T_2| tanh(w/w_0) w/n heats the housing.

Source: thermal network of two bodies as in data sheets of small motors (winding to housing, housing to ambient); losses
of gears in proportion to the transmitted torque: G. Niemann and H. Winter, Maschinenelemente II, Springer 2003, 20.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ....checks import checked, finite_number, not_negative, positive
from ....errors import ModelError
from ...formulas.expressions import check_expression
from ..element import Element

__all__ = ["GearMotor"]


@checked("sources")
class GearMotor(Element):
    """DC motor with an elastic gearbox, backlash, losses and temperatures, at a joint.

    Parameters
    ----------
    voltage : number or expression of t, V
        May use s, ds, the current ``i``, the rotor velocity ``w``, temperatures, and `sources`: a controller.
    resistance : float, ohm
        At 20 degrees C.
    constant : float, N m/A = V s/rad
    inductance : float, H
    rotor_inertia : float, kg m2
    ratio : float
        n, revolutions of the rotor per revolution of the joint; negative if it turns the other way.
    stiffness, damping : float, N m/rad and N m s/rad
        K and C of the gearbox, at the joint.
    efficiency : float
        eta, above 0 to 1.
    backlash : float, rad
        2 h, total play at the joint.
    friction : float, N m s/rad
        b of the rotor.
    slip_speed : float, rad/s
        w_0 of the rotor, below which the losses of the gearbox are regularised.
    temperature_coefficient : float, 1/K
        alpha; 0.00393 for copper. Zero: resistance without temperature.
    ambient : float, degrees C
    winding_resistance, housing_resistance : float, K/W
        r_wh and r_ha.
    winding_capacity, housing_capacity : float, J/K
    current : float, A
        At the start.
    sources : dict of str to source
        Further names of the voltage, as ``inputs`` of an `Element`.

    States: ``i``, ``w``, ``p``, ``winding``, ``housing`` (degrees C). Signals: ``torque`` T_2 at the joint,
    ``motor_torque`` k i, ``input_torque`` T_1, ``losses`` R i^2 + P_f, W. Equations: head of
    ``dalembert.connections.elements.machines.gear_motors``. Stored energy: L i^2/2 + J w^2/2 + that of the gearbox; u i
    is external work, of which the losses are heat. The rotor turns relative to the body that carries the joint; its
    inertia about that body's own motion is not included.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("winch", gravity=(0, 0, 0))
    >>> drum = s.body("drum", da.cylinder(0.2, 0.1, mass=5.0))
    >>> _ = s.connect("axle", da.Revolute("z"), s.ground, drum)
    >>> motor = da.GearMotor(24.0, 1.0, 0.05, 1e-3, rotor_inertia=1e-5, ratio=50.0, stiffness=2e3, damping=2.0,
    ...                      efficiency=0.8, backlash=0.005)
    >>> _ = s.connect("motor", motor, "axle")
    >>> _ = s.connect("load", da.Effort(-20.0), "axle")
    >>> result = da.simulate(s, 3.0)
    >>> bool(abs(result["motor.motor_torque"][-1] - 20.0 / (50.0 * 0.8)) < 1e-4)
    True
    """

    def __init__(
        self,
        voltage: Any,
        resistance: float,
        constant: float,
        inductance: float,
        *,
        rotor_inertia: float,
        ratio: float,
        stiffness: float,
        damping: float = 0.0,
        efficiency: float = 1.0,
        backlash: float = 0.0,
        friction: float = 0.0,
        slip_speed: float = 0.1,
        temperature_coefficient: float = 0.0,
        ambient: float = 20.0,
        winding_resistance: float = 1.0,
        housing_resistance: float = 1.0,
        winding_capacity: float = 100.0,
        housing_capacity: float = 1000.0,
        current: float = 0.0,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "GearMotor"
        numbers = positive(
            item,
            R20=resistance,
            k=constant,
            L=inductance,
            J=rotor_inertia,
            K=stiffness,
            w0=slip_speed,
            eta=efficiency,
            r_wh=winding_resistance,
            r_ha=housing_resistance,
            C_w=winding_capacity,
            C_h=housing_capacity,
        )
        if numbers["eta"] > 1:
            raise ModelError(item, "efficiency", efficiency, "give a number above 0, at most 1")
        numbers |= not_negative(item, C=damping, play=backlash, b=friction, alpha=temperature_coefficient)
        numbers |= {"n": finite_number(ratio, item=item, field="ratio")}
        if not numbers["n"]:
            raise ModelError(item, "ratio", ratio, "give revolutions of the rotor for one of the joint")
        air = finite_number(ambient, item=item, field="ambient")
        if air <= -273.15:
            raise ModelError(item, "ambient", ambient, "give degrees C, above absolute zero")
        numbers["ambient"] = air
        names = ("t", "s", "ds", "i", "w", "winding", "housing", *(sources or {}))
        check_expression(item, "voltage", voltage, *names)
        definitions = {
            "voltage": voltage,
            "R": "R20*(1 + alpha*(winding - 20))",
            "dp": "w/n - ds",
            "over": "max(0, p - play/2)",
            "under": "min(0, p + play/2)",
            "T2": "where(p > play/2, max(0, K*over + C*dp), where(p < -play/2, min(0, K*under + C*dp), 0))",
            "rub": "(1/eta - 1)*abs(T2)*tanh(w/w0)/abs(n)",
            "T1": "T2/n + rub",
            "Pf": "b*w*w + rub*w",
            "heat": "(winding - housing)/r_wh",
        }
        if not numbers["play"]:
            definitions |= {"over": "p", "under": "p", "T2": "K*p + C*dp"}
        stored = "L*i**2/2 + J*w**2/2 + K*(over**2 + under**2)/2"
        states = {
            "i": (finite_number(current, item=item, field="current"), "(voltage - R*i - k*w)/L"),
            "w": (0.0, "(k*i - b*w - T1)/J"),
            "p": (0.0, "dp"),
            "winding": (air, "(R*i*i - heat)/C_w"),
            "housing": (air, "(heat - (housing - ambient)/r_ha + Pf)/C_h"),
        }
        super().__init__(
            "joint",
            "T2",
            numbers,
            states,
            stored if numbers["play"] else "L*i**2/2 + J*w**2/2 + K*p**2/2",
            definitions,
            active=True,
            inputs=sources or {},
            signals={"torque": "T2", "motor_torque": "k*i", "input_torque": "T1", "losses": "R*i*i + Pf"},
        )

    def natural_frequency(self, inertia: float) -> float:
        """Return the frequency, rad/s, of rotor and a load of an inertia (kg m2) on the gearbox, without play."""
        numbers = self.parameters
        load = positive("GearMotor.natural_frequency", inertia=inertia)["inertia"]
        return math.sqrt(numbers["K"] * (1.0 / (numbers["J"] * numbers["n"] ** 2) + 1.0 / load))
