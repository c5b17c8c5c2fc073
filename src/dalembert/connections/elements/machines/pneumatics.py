"""Pneumatic cylinder with two chambers of ideal gas, filled and exhausted through valves.

Mass flow through a valve of the sonic conductance C and the critical ratio b, from p_1, T_1 to p_2 < p_1 (ISO 6358):

    m' = C rho_0 p_1 sqrt(T_0/T_1) psi(p_2/p_1),
    psi(r) = 1 for r <= b, sqrt(1 - ((r - b)/(1 - b))^2) above                                              (1)

with rho_0 = 1.185 kg/m^3 and T_0 = 293.15 K; the root is smooth within `linear` of r = 1, where the flow is laminar.

Balance of mass and energy of a chamber of the volume V, with the inflow m_i' at T_i, the outflow m_o' and the heat
Q' = h (T_a - T) from its wall:

    p' V = kappa (R T_i m_i' - R T m_o' - p V') + (kappa - 1) Q'
    T' = T (p'/p + V'/V - R T (m_i' - m_o')/(p V))                                                          (2)

Source: ISO 6358-1:2013; P. Beater, Pneumatic Drives, Springer 2007, chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....checks import checked, finite_number, not_negative, positive
from ....errors import ModelError
from ...formulas.expressions import check_expression
from ..element import Element

__all__ = ["PneumaticCylinder"]


@checked("stroke", "sources")
class PneumaticCylinder(Element):
    """Double-acting pneumatic cylinder between two markers, with a valve for each chamber.

    Parameters
    ----------
    valve, rod_valve : number or expression, -1 to 1
        Opening of the valves of both chambers: above 0 from the supply, below 0 to ambient, 0 closed. Expressions of t,
        s, ds, pressures ``p1``, ``p2`` and `sources`.
    area, rod_area : float, m^2
        Of the piston, and of the rod, by which the second chamber is smaller.
    stroke : (float, float) m
        Distances of the markers at both ends of the stroke.
    supply, ambient : float, Pa
        Absolute pressures; of ambient on the rod, too.
    conductance : float, m^3/(s Pa)
        C of the open valves: 1e-8 is 0.6 l/(min kPa).
    critical_ratio : float
        b, 0 to below 1.
    linear : float
        Range 1 - r in which flow is laminar.
    dead_volume : float, m^3
        That each chamber keeps at its end of the stroke.
    pressure, rod_pressure : float, Pa
        At the start, absolute; ambient if left out.
    temperature : float, K
        Of ambient, supply and both chambers at the start.
    heat_transfer : float, W/K
        h of each chamber; large: isothermal, zero: adiabatic.
    exponent, gas_constant : float
        kappa, and R in J/(kg K).
    friction : float, N s/m
    sources : dict of str to source
        Further names of the valves, as ``inputs`` of an `Element`.

    States: ``p1``, ``T1``, ``p2``, ``T2``. Signals: ``flow1``, ``flow2`` into the chambers, kg/s. The force is
    area p1 - (area - rod_area) p2 - rod_area p_ambient - friction ds. Stored energy: p V/(kappa - 1) of both chambers;
    what valves and walls bring counts as external work. Equations: head of
    ``dalembert.connections.elements.machines.pneumatics``.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("door", gravity=(0, 0, 0))
    >>> door = s.body("door", mass=20.0)
    >>> _ = s.connect("slide", da.Prismatic("x"), s.ground, door)
    >>> s.initial("slide", position=0.3)
    >>> cylinder = da.PneumaticCylinder("1", "-1", 8e-4, 2e-4, (0.25, 0.75), conductance=2e-9, friction=50.0)
    >>> _ = s.connect("cylinder", cylinder, s.ground, door)
    >>> bool(da.simulate(s, 0.5)["slide.position"][-1] > 0.35)
    True
    """

    def __init__(
        self,
        valve: Any,
        rod_valve: Any,
        area: float,
        rod_area: float,
        stroke: tuple[float, float],
        *,
        supply: float = 7e5,
        ambient: float = 101325.0,
        conductance: float = 1e-8,
        critical_ratio: float = 0.3,
        linear: float = 1e-3,
        dead_volume: float = 1e-5,
        pressure: float | None = None,
        rod_pressure: float | None = None,
        temperature: float = 293.15,
        heat_transfer: float = 0.0,
        exponent: float = 1.4,
        gas_constant: float = 287.06,
        friction: float = 0.0,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "PneumaticCylinder"
        if np.shape(stroke) != (2,):
            raise ModelError(item, "stroke", stroke, "give the shortest and the longest distance, m")
        shortest, longest = (finite_number(end, item=item, field="stroke") for end in stroke)
        if not 0 <= shortest < longest:
            raise ModelError(item, "stroke", stroke, "give the shortest and the longest distance, m")
        numbers = positive(
            item,
            A1=area,
            ps=supply,
            pa=ambient,
            C=conductance,
            linear=linear,
            V0=dead_volume,
            Ta=temperature,
            kappa=exponent,
            R=gas_constant,
        )
        numbers |= not_negative(item, rod=rod_area, h=heat_transfer, c=friction, b=critical_ratio)
        for field, wrong, remedy in (
            ("exponent", numbers["kappa"] <= 1, "it must be above 1; heat_transfer makes changes isothermal"),
            ("critical_ratio", numbers["b"] >= 1, "give a number from 0 to below 1"),
            ("linear", numbers["linear"] >= 1 - numbers["b"], "give a part of 1 - critical_ratio"),
            ("rod_area", numbers["rod"] >= numbers["A1"], f"it must be below the area of the piston, {area:.6g} m^2"),
            (
                "supply",
                numbers["ps"] < numbers["pa"],
                f"it is absolute, and not below ambient, {ambient:.6g} Pa",
            ),
        ):
            if wrong:
                given = {"exponent": exponent, "critical_ratio": critical_ratio, "linear": linear}
                raise ModelError(item, field, given.get(field, rod_area if field == "rod_area" else supply), remedy)
        numbers |= {"short": shortest, "long": longest}
        starts = [numbers["pa"] if p is None else p for p in (pressure, rod_pressure)]
        starts = [positive(item, pressure=p)["pressure"] for p in starts]
        for name, opening in (("valve", valve), ("rod_valve", rod_valve)):
            check_expression(item, name, opening, "t", "s", "ds", "p1", "p2", *(sources or {}))
        definitions: dict[str, Any] = {
            "valve1": valve,
            "valve2": rod_valve,
            "A2": "A1 - rod",
            "V1": "A1*(s - short) + V0",
            "V2": "A2*(long - s) + V0",
            "dV1": "A1*ds",
            "dV2": "-A2*ds",
        }
        for k in "12":
            definitions |= {
                f"fill{k}": f"min(1, max(0, valve{k}))",
                f"vent{k}": f"min(1, max(0, -valve{k}))",
                **_valve(f"s{k}", f"fill{k}", "ps", "Ta", f"p{k}", f"T{k}"),
                **_valve(f"a{k}", f"vent{k}", "pa", "Ta", f"p{k}", f"T{k}"),
                f"flow{k}": f"s{k}_in - s{k}_out + a{k}_in - a{k}_out",
                f"heat{k}": f"h*(Ta - T{k})",
                f"enthalpy{k}": f"R*Ta*(s{k}_in + a{k}_in) - R*T{k}*(s{k}_out + a{k}_out)",
                f"dp{k}": f"(kappa*(enthalpy{k} - p{k}*dV{k}) + (kappa - 1)*heat{k})/V{k}",
                f"dT{k}": f"T{k}*(dp{k}/p{k} + dV{k}/V{k} - R*T{k}*flow{k}/(p{k}*V{k}))",
            }
        states: dict[str, tuple[float, Any]] = {}
        for k, p in zip("12", starts, strict=True):
            states |= {f"p{k}": (float(p), f"dp{k}"), f"T{k}": (numbers["Ta"], f"dT{k}")}
        super().__init__(
            "distance",
            "A1*p1 - A2*p2 - rod*pa - c*ds",
            numbers,
            states,
            "(p1*V1 + p2*V2)/(kappa - 1)",
            definitions,
            active=True,
            inputs=sources or {},
            signals={"flow1": "flow1", "flow2": "flow2"},
        )


def _valve(name: str, opening: str, pressure: str, temperature: str, p: str, T: str) -> dict[str, str]:
    """Return (1) between a source and a chamber, in both directions."""

    def psi(ratio: str) -> str:
        # 1 - r above `linear`, the root below is replaced by a line with the same value at its end
        part = f"max({ratio} - b, 0)/(1 - b)"
        root = f"sqrt(max(1 - ({part})**2, edge_{name}))"
        return f"where({ratio} < 1 - linear, {root}, max(0, 1 - {ratio})*sqrt(edge_{name})/linear)"

    return {
        f"edge_{name}": "1 - ((1 - linear - b)/(1 - b))**2",
        f"in_{name}": f"min({p}/{pressure}, 1)",
        f"out_{name}": f"min({pressure}/{p}, 1)",
        f"{name}_in": f"{opening}*C*1.185*{pressure}*sqrt(293.15/{temperature})*({psi(f'in_{name}')})",
        f"{name}_out": f"{opening}*C*1.185*{p}*sqrt(293.15/{T})*({psi(f'out_{name}')})",
    }
