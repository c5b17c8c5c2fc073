"""MF-Tyre 5.2 in NumPy, straight from Pacejka 2006, section 4.3.2 (4.E1 to 4.E78), without turn slip and scaling."""

from __future__ import annotations

import math
from collections.abc import Mapping


def _curve(x: float, D: float, C: float, B: float, E: float) -> float:
    return D * math.sin(C * math.atan(B * x - E * (B * x - math.atan(B * x))))


def _weight(x: float, shift: float, B: float, C: float, E: float) -> float:
    def g(y: float) -> float:
        return math.cos(C * math.atan(B * y - E * (B * y - math.atan(B * y))))

    return g(x + shift) / g(shift)


def magic_formula(given: Mapping[str, float], Fz: float, kappa: float, alpha: float, gamma: float) -> dict[str, float]:
    """Return Fx, Fy (N), Mx, Mz (N m) for a load (N), slip ratio, slip angle and camber (rad)."""
    p = dict.fromkeys(("QSX1", "QSX2", "QSX3", "REX1", "REX2", "REY1", "REY2", "RHY2", "QBZ4", "QBZ10"), 0.0)
    p |= dict.fromkeys(("QDZ7", "QEZ3", "PDX3", "PVX1", "PVX2", "PEX4"), 0.0) | dict(given)
    F0, R0 = p["FNOMIN"], p["UNLOADED_RADIUS"]
    df = (Fz - F0) / F0

    kx = kappa + p["PHX1"] + p["PHX2"] * df
    mux = (p["PDX1"] + p["PDX2"] * df) * (1 - p["PDX3"] * gamma**2)
    Ex = min((p["PEX1"] + p["PEX2"] * df + p["PEX3"] * df**2) * (1 - p["PEX4"] * math.copysign(1, kx)), 1.0)
    Kx = Fz * (p["PKX1"] + p["PKX2"] * df) * math.exp(p["PKX3"] * df)
    Fx0 = _curve(kx, mux * Fz, p["PCX1"], Kx / (p["PCX1"] * mux * Fz), Ex) + Fz * (p["PVX1"] + p["PVX2"] * df)

    muy = (p["PDY1"] + p["PDY2"] * df) * (1 - p["PDY3"] * gamma**2)
    Ky = p["PKY1"] * F0 * math.sin(2 * math.atan(Fz / (p["PKY2"] * F0))) * (1 - p["PKY3"] * abs(gamma))
    SHy = p["PHY1"] + p["PHY2"] * df + p["PHY3"] * gamma
    SVy = Fz * (p["PVY1"] + p["PVY2"] * df + (p["PVY3"] + p["PVY4"] * df) * gamma)
    ay = alpha + SHy
    Ey = min((p["PEY1"] + p["PEY2"] * df) * (1 - (p["PEY3"] + p["PEY4"] * gamma) * math.copysign(1, ay)), 1.0)
    By = Ky / (p["PCY1"] * muy * Fz)
    Fy0 = _curve(ay, muy * Fz, p["PCY1"], By, Ey) + SVy

    Bxa = p["RBX1"] * math.cos(math.atan(p["RBX2"] * kappa))
    Fx = Fx0 * _weight(alpha, p["RHX1"], Bxa, p["RCX1"], min(p["REX1"] + p["REX2"] * df, 1.0))
    Byk = p["RBY1"] * math.cos(math.atan(p["RBY2"] * (alpha - p["RBY3"])))
    Gyk = _weight(kappa, p["RHY1"] + p["RHY2"] * df, Byk, p["RCY1"], min(p["REY1"] + p["REY2"] * df, 1.0))
    ply = muy * Fz * (p["RVY1"] + p["RVY2"] * df + p["RVY3"] * gamma) * math.cos(math.atan(p["RVY4"] * alpha))
    SVyk = ply * math.sin(p["RVY5"] * math.atan(p["RVY6"] * kappa))
    Fy = Gyk * Fy0 + SVyk

    at = alpha + p["QHZ1"] + p["QHZ2"] * df + (p["QHZ3"] + p["QHZ4"] * df) * gamma
    ar = alpha + SHy + SVy / Ky
    both = (Kx / Ky * kappa) ** 2
    at_eq, ar_eq = (math.copysign(math.atan(math.sqrt(math.tan(angle) ** 2 + both)), angle) for angle in (at, ar))
    Bt = (p["QBZ1"] + p["QBZ2"] * df + p["QBZ3"] * df**2) * (1 + p["QBZ4"] * gamma + p["QBZ5"] * abs(gamma))
    Et = (p["QEZ1"] + p["QEZ2"] * df + p["QEZ3"] * df**2) * (
        1 + (p["QEZ4"] + p["QEZ5"] * gamma) * 2 / math.pi * math.atan(Bt * p["QCZ1"] * at)
    )
    Dt = Fz * (p["QDZ1"] + p["QDZ2"] * df) * (1 + p["QDZ3"] * gamma + p["QDZ4"] * gamma**2) * R0 / F0
    x = Bt * at_eq
    trail = Dt * math.cos(p["QCZ1"] * math.atan(x - min(Et, 1.0) * (x - math.atan(x)))) * math.cos(alpha)
    Dr = Fz * R0 * (p["QDZ6"] + p["QDZ7"] * df + (p["QDZ8"] + p["QDZ9"] * df) * gamma)
    Mzr = Dr * math.cos(math.atan((p["QBZ9"] + p["QBZ10"] * By * p["PCY1"]) * ar_eq)) * math.cos(alpha)
    s = R0 * (p["SSZ1"] + p["SSZ2"] * Fy / F0 + (p["SSZ3"] + p["SSZ4"] * df) * gamma)
    return {
        "Fx": Fx,
        "Fy": Fy,
        "Mz": -trail * (Fy - SVyk) + Mzr + s * Fx,
        "Mx": R0 * Fz * (p["QSX1"] - p["QSX2"] * gamma + p["QSX3"] * Fy / F0),
    }
