"""Hydraulic circuits: proportional valve and supply with pump, accumulator and relief valve, as signal blocks.

Flow through an orifice of the conductance g (m^3/s at a difference of pressures p_n) at the opening y, 0 to 1, smooth
about zero, where it is laminar below about p_l:

    q(y, dp) = y g sqrt(1/p_n) dp/(dp^2 + p_l^2)^(1/4)                                                      (1)

The conductance by geometry is g = C_d A sqrt(2 p_n/rho). The spool x, -1 to 1, follows its command by a system of
second order; x > 0 opens supply to A and B to tank, x < 0 supply to B and A to tank.

A supply has the pressure p of an accumulator with the gas volume V = V_0 (p_0/p)^(1/kappa), beside the oil volume V_l:

    p' (V/(kappa p) + V_l/B) = q_pump - q_load - q_relief,      q_relief = g_r max(0, p - p_set)            (2)

Source: H. E. Merritt, Hydraulic Control Systems, Wiley 1967, chapters 3, 5 and 6.
"""

from __future__ import annotations

import math
from typing import Any

from ....checks import checked, finite_number, not_negative, positive
from ....errors import ModelError
from ..element import SignalBlock

__all__ = ["HydraulicSupply", "ProportionalValve", "orifice_conductance"]


def orifice_conductance(area: float, difference: float, *, density: float = 850.0, discharge: float = 0.62) -> float:
    """Return the flow, m^3/s, through an orifice of an area (m^2) at a difference of pressures (Pa): Merritt (3-24)."""
    numbers = positive("orifice_conductance", area=area, difference=difference, density=density, discharge=discharge)
    return numbers["discharge"] * numbers["area"] * math.sqrt(2.0 * numbers["difference"] / numbers["density"])


@checked("command", "supply", "tank", "port_a", "port_b")
class ProportionalValve(SignalBlock):
    """Proportional or servo valve with four edges between supply, tank and the ports A and B of a consumer.

    Parameters
    ----------
    command : number or source
        Wanted spool position, -1 to 1; limited to that.
    supply, tank, port_a, port_b : number or source, Pa
        Pressures: ``"supply.p"``, 0.0, ``"cylinder.p1"``, ``"cylinder.p2"``.
    flow : float, m^3/s
        Nominal flow over one edge at full opening and at the difference `at`.
    at : float, Pa
        p_n; 35 bar by default, as for servo valves (70 bar over both edges).
    frequency : float, rad/s
        Of the spool.
    damping_ratio : float
    overlap : float
        Dead band of the spool to either side, in spool positions; negative: underlap.
    ratio : float
        Conductance of the edges at B, relative to those at A: 1, or the ratio of areas of a cylinder.
    laminar : float, Pa
        p_l.

    Signals: ``qa`` into A, ``qb`` out of B, ``qs`` from the supply, ``x`` the limited spool. States: ``spool``,
    ``rate``. Equations: head of ``dalembert.connections.elements.machines.hydraulics``.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("press", gravity=(0, 0, 0))
    >>> _ = s.connect("slide", da.Prismatic("x"), s.ground, s.body("ram", mass=500.0))
    >>> s.initial("slide", position=0.5)
    >>> _ = s.connect("supply", da.HydraulicSupply(140e5, 1e-3, 1e-3, load="valve.qs"))
    >>> _ = s.connect("valve", da.ProportionalValve(0.5, "supply.p", 0.0, "cyl.p1", "cyl.p2", flow=5e-4))
    >>> flows = {"qa": "valve.qa", "qb": "valve.qb"}
    >>> cylinder = da.HydraulicCylinder("qa", "qb", 2e-3, 1e-3, (0.2, 1.2), sources=flows)
    >>> _ = s.connect("cyl", cylinder, s.ground, s.bodies["ram"])
    >>> result = da.simulate(s, 1.0)
    >>> bool(result["slide.speed"][-1] > 0.1)
    True
    """

    def __init__(
        self,
        command: Any,
        supply: Any,
        tank: Any,
        port_a: Any,
        port_b: Any,
        *,
        flow: float,
        at: float = 35e5,
        frequency: float = 300.0,
        damping_ratio: float = 0.8,
        overlap: float = 0.0,
        ratio: float = 1.0,
        laminar: float = 1e4,
    ) -> None:
        item = "ProportionalValve"
        numbers = positive(item, g=flow, at=at, omega=frequency, ratio=ratio, laminar=laminar)
        numbers |= not_negative(item, zeta=damping_ratio)
        numbers["overlap"] = finite_number(overlap, item=item, field="overlap")
        if not -1 < numbers["overlap"] < 1:
            raise ModelError(item, "overlap", overlap, "give a part of the stroke of the spool, between -1 and 1")

        def edge(opening: str, above: str, below: str) -> str:
            difference = f"({above} - {below})"
            return f"{opening}*g/sqrt(at)*{difference}/sqrt(sqrt({difference}**2 + laminar**2))"

        definitions = {
            "wanted": "min(1, max(-1, command))",
            "x": "min(1, max(-1, spool))",
            "open": "max(0, x - overlap)",
            "back": "max(0, -x - overlap)",
            "sa": edge("open", "ps", "pa"),
            "at_tank": edge("back", "pa", "pt"),
            "sb": edge("ratio*back", "ps", "pb"),
            "bt": edge("ratio*open", "pb", "pt"),
        }
        super().__init__(
            {"qa": "sa - at_tank", "qb": "bt - sb", "qs": "sa + sb", "x": "x"},
            inputs={"command": command, "ps": supply, "pt": tank, "pa": port_a, "pb": port_b},
            states={"spool": (0.0, "rate"), "rate": (0.0, "omega*omega*(wanted - spool) - 2*zeta*omega*rate")},
            parameters=numbers,
            definitions=definitions,
        )


@checked("pump", "load")
class HydraulicSupply(SignalBlock):
    """Supply of pressure: pump, gas accumulator and relief valve.

    Parameters
    ----------
    pressure : float, Pa
        At the start, absolute; also p_set of the relief valve unless `relief` is given.
    pump : number or source, m^3/s
        Flow of the pump, for instance ``"motor_shaft.speed"`` times a displacement by a `SignalBlock`.
    gas_volume : float, m^3
        V_0 of the accumulator at the precharge; zero: no accumulator.
    precharge : float, Pa
        p_0; 0.8 of `pressure` if left out. Below it the accumulator is empty of oil, and
        the pressure is that of the line alone.
    exponent : float
        kappa of the gas; 1.4 adiabatic, 1 isothermal.
    relief : float, Pa
    relief_conductance : float, m^3/(s Pa)
        g_r.
    line_volume : float, m^3
        V_l of oil, with `bulk_modulus`.
    bulk_modulus : float, Pa
    load : number or source, m^3/s
        Flow to the consumers: ``"valve.qs"``, or the sum of several by a `SignalBlock`.

    State: ``p``. Signals: ``relief``, m^3/s; ``gas``, m^3; ``stored``, J, of gas and oil above the precharge.

    Examples
    --------
    An accumulator gives 0.1 l adiabatically:

    >>> import dalembert as da
    >>> s = da.System("accumulator")
    >>> _ = s.connect("A", da.Prismatic("x"), s.ground, s.body("part", mass=1.0))
    >>> supply = da.HydraulicSupply(200e5, 0.0, 1e-3, precharge=100e5, load=1e-4, line_volume=1e-9)
    >>> _ = s.connect("supply", supply)
    >>> p = da.simulate(s, 1.0, rtol=1e-9)["supply.gas"]
    >>> round(float(p[-1] - p[0]) * 1e3, 4)  # l
    0.1
    """

    def __init__(
        self,
        pressure: float,
        pump: Any,
        gas_volume: float = 0.0,
        *,
        precharge: float | None = None,
        exponent: float = 1.4,
        relief: float | None = None,
        relief_conductance: float = 1e-9,
        line_volume: float = 1e-3,
        bulk_modulus: float = 1.4e9,
        load: Any = 0.0,
    ) -> None:
        item = "HydraulicSupply"
        start = positive(item, pressure=pressure)["pressure"]
        numbers = positive(
            item,
            p0=0.8 * start if precharge is None else precharge,
            kappa=exponent,
            p_set=start if relief is None else relief,
            g_r=relief_conductance,
            V_l=line_volume,
            B=bulk_modulus,
        ) | not_negative(item, V0=gas_volume)
        if numbers["V0"] and numbers["p0"] > start:
            raise ModelError(item, "precharge", precharge, f"it must not be above the pressure, {start:.6g} Pa")
        definitions = {
            "q_relief": "g_r*max(0, p - p_set)",
            "above": "max(p, p0)",
            "gas": "V0*exp(log(p0/above)/kappa)",
            "soft": "where(p > p0, gas/(kappa*above), 0) + V_l/B",
        }
        if numbers["kappa"] == 1.0:
            definitions["work"] = "p0*V0*log(above/p0)"
        else:
            definitions["work"] = "(above*gas - p0*V0)/(kappa - 1)"
        super().__init__(
            {"relief": "q_relief", "gas": "gas", "stored": "work + V_l*p*p/(2*B)"},
            inputs={"pump": pump, "load": load},
            states={"p": (start, "(pump - load - q_relief)/soft")},
            parameters=numbers,
            definitions=definitions,
        )
