"""Tyres on roads: brush model and Magic Formula, with relaxation, combined slip and standstill.

A tyre acts between a marker of the road (z upwards) and a marker of the wheel, whose y axis is that of its spin and
points to the left of the direction of travel. In the axes of the road, with the wheel axis a, the road's normal n at
the wheel, and the spin w (relative to the road, about a):

    sin(camber) = n.a        d = -(n - (n.a) a) / |...|        loaded radius r_l: from the centre along d to the road
    heading l = a x n / |...|,    left t = n x l,    contact point c = r_l d from the centre                       (1)
    deflection = R0 - r_l,    Fz = stiffness deflection + damping deflection' where it is positive                  (2)
    Vx = l.V,  Vy = t.V   of the contact point without spin,      Vsx = Vx - w Re                                  (3)

These are the W axes of ISO 8855: a positive slip angle, Vy/|Vx|, causes a negative lateral force, a positive slip
ratio, -Vsx/|Vx|, a positive longitudinal one. Slips follow those of (3) with the relaxation
lengths Lx, Ly and states sx, sy:

    sx' = (-Vsx - (|Vx| + |Vsx|) sx) / Lx,     slip ratio = sx / (1 - |sx|)                                         (4)
    sy' = (Vy - (|Vx| + |Vy|) sy) / Ly,        tan(slip angle) = sy / (1 - |sy|)                                    (5)

In steady motion these are the slips of (3) exactly; small slips have the relaxation lengths Lx, Ly, larger
ones shorter lengths; sx, sy stay within -1 and 1, for locked and for spinning wheels. At standstill they are
deflections, so that a car stands on a slope without creep. Below the speed `slow` the slips have an additional part in
proportion to the slip velocity, -drag Vsx and drag Vy, which damps oscillations on the deflected tyre.

The energy of (2) is stored; slip, relaxation and rolling resistance dissipate. On an uneven road the energy of the
deflection is that of the tangent plane, so that dissipation may be negative for a moment.

Sources: H. B. Pacejka, Tyre and Vehicle Dynamics, 2nd ed. 2006, ch. 3 (brush), 4 (Magic Formula, MF-Tyre 5.2 as in its
equations (4.E1) to (4.E78) without turn slip), 7 (relaxation); relaxation by (4), (5) instead of (7.9).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ...checks import checked, not_negative, one_of, positive
from ...errors import ModelError
from ..formulas.marker_axes import marker_axis
from .element import Element
from .roads import Road
from .tyre_data import COEFFICIENTS, TyreData, read_tir

__all__ = ["BrushTyre", "MagicFormulaTyre"]

_FULL = 2e-3  # of the radius: deflection at which 63 % of the damping of (2) act
_GRAVITY = 9.81  # m/s2, of the mass on a tyre at its nominal load

_CONTACT = {
    "level": "sqrt(1 - az*az + 1e-12)",
}
_PATCH = {
    "lean": "nx*ax + ny*ay + nz*az",
    "flat": "sqrt(1 - lean*lean + 1e-12)",
    "loaded": "above/flat",
    "deflection": "max(radius - loaded, 0)",
    "lx": "(ay*nz - az*ny)/flat",
    "ly": "(az*nx - ax*nz)/flat",
    "lz": "(ax*ny - ay*nx)/flat",
    "tx": "ny*lz - nz*ly",
    "ty": "nz*lx - nx*lz",
    "tz": "nx*ly - ny*lx",
    "cx": "loaded*(lean*ax - nx)/flat",
    "cy": "loaded*(lean*ay - ny)/flat",
    "cz": "loaded*(lean*az - nz)/flat",
    "spin": "wx*ax + wy*ay + wz*az",
    "gx": "wx - spin*ax",
    "gy": "wy - spin*ay",
    "gz": "wz - spin*az",
    "ux": "vx + gy*cz - gz*cy",
    "uy": "vy + gz*cx - gx*cz",
    "uz": "vz + gx*cy - gy*cx",
    "Vx": "lx*ux + ly*uy + lz*uz",
    "Vy": "tx*ux + ty*uy + tz*uz",
    "closing": "-(nx*ux + ny*uy + nz*uz)/flat",
    "touch": f"1 - exp(-deflection/({_FULL!r}*radius))",
    "Fz": "max(stiffness*deflection + damping*closing*touch, 0)",
    "speed": "sqrt(Vx*Vx + 1e-16)",
    "slow_part": "exp(-speed*speed/(slow*slow))",
}
_SLIPS = {
    "Vsx": "Vx - spin*rolling_radius",
    "slid_x": "sqrt(Vsx*Vsx + 1e-16)",
    "slid_y": "sqrt(Vy*Vy + 1e-16)",
    "long_slip": "sx/sqrt((1 - sqrt(sx*sx + 1e-20))**2 + 1e-12)",
    "side_slip": "sy/sqrt((1 - sqrt(sy*sy + 1e-20))**2 + 1e-12)",
    "ratio": "long_slip - drag_x*slow_part*Vsx",
    "tangent": "side_slip + drag_y*slow_part*Vy",
}
_RATES = {
    "sx": (0.0, "(-Vsx*touch - (speed + slid_x)*sx)/relax_x"),
    "sy": (0.0, "(Vy*touch - (speed + slid_y)*sy)/relax_y"),
}
# forces Fx, Fy, Fz and moments Mx, My, Mz along l, t, n at the contact point
_FORCES = (
    "Px",
    "Py",
    "Pz",
    "cy*Pz - cz*Py + Mx*lx + My*tx + Mz*nx",
    "cz*Px - cx*Pz + Mx*ly + My*ty + Mz*ny",
    "cx*Py - cy*Px + Mx*lz + My*tz + Mz*nz",
)
_TOTAL = {f"P{i}": f"Fx*l{i} + Fy*t{i} + Fz*n{i}" for i in "xyz"}
_SIGNALS = {
    **{name: name for name in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")},
    "slip_ratio": "long_slip",
    "slip_angle": "atan(side_slip)",
    "camber": "atan(lean/flat)",
    "loaded_radius": "loaded",
}


def _parts(road: Road, law: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of an `Element` with the definitions of a tyre in their order."""
    parts = marker_axis("y") | _CONTACT | road.definitions() | _PATCH | dict(law) | _TOTAL
    return {
        "measure": "pose",
        "force": _FORCES,
        "states": dict(_RATES),
        "energy": "stiffness*deflection*deflection/2",
        "definitions": parts,
        "signals": dict(_SIGNALS),
        "tables": road.tables(),
    }


def _road(item: str, road: Any) -> Road:
    if road is None:
        return Road()
    if not isinstance(road, Road):
        raise ModelError(item, "road", road, "give a da.Road")
    return road


class BrushTyre(Element):
    """Tyre by the brush model with parabolic pressure, for combined slip.

    Parameters
    ----------
    radius : float, m
        Unloaded.
    stiffness : float, N/m
        Vertical.
    damping : float, N s/m
        Vertical.
    load : float, N
        Nominal load, at which `longitudinal` and `cornering` are given; they grow in proportion to the load.
    longitudinal : float, N
        Force per slip ratio, for small slips.
    cornering : float, N/rad
        Force per slip angle, for small slips.
    friction : float
        Coefficient of friction.
    patch : float, m
        Half the length of the contact patch at the nominal load; it grows with the square root of the load.
    relaxation : float, m, or two
        Relaxation lengths, longitudinal and lateral; `patch` if left out.
    resistance : float
        Coefficient of rolling resistance.
    slow : float, m/s
        Speed below which slips are damped, with `standstill_damping`, a part of critical damping.
    road : Road
        The plane z = 0 of the first marker if left out.

    With the slips px = ratio/(1 + ratio), py = tan(slip angle)/(1 + ratio) and z = sqrt((Cx px)^2 + (Cy py)^2) / (3 mu
    Fz), the force is mu Fz (3 z - 3 z^2 + z^3) for z < 1, else mu Fz, along (Cx px, -Cy py); the aligning moment is the
    lateral force times the trail, patch/3 (1 - z)^3 / (1 - z + z^2/3). The effective rolling radius is the unloaded one
    less a third of the deflection. See `connections.elements.tyres` for axes, signs, relaxation and standstill.

    Signals: ``Fx``, ``Fy``, ``Fz`` (N), ``Mx``, ``My``, ``Mz`` (N m) along l, t, n at the contact point;
    ``slip_ratio``, ``slip_angle``, ``camber`` (rad), ``loaded_radius`` (m). Not modelled: camber
    thrust, turn slip, inertia of the belt.

    Examples
    --------
    >>> import dalembert as da
    >>> tyre = da.BrushTyre(0.3, 2e5, load=4e3, longitudinal=8e4, cornering=6e4, friction=1.0)
    >>> tyre.parameters["cornering"]
    60000.0
    """

    is_smooth_at_half_turn: ClassVar[bool] = True

    def __init__(
        self,
        radius: float,
        stiffness: float,
        damping: float = 500.0,
        *,
        load: float,
        longitudinal: float,
        cornering: float,
        friction: float,
        patch: float = 0.05,
        relaxation: float | Sequence[float] | None = None,
        resistance: float = 0.0,
        slow: float = 1.0,
        standstill_damping: float = 0.5,
        road: Road | None = None,
    ) -> None:
        item = self.kind
        numbers = positive(
            item,
            radius=radius,
            stiffness=stiffness,
            load=load,
            longitudinal=longitudinal,
            cornering=cornering,
            friction=friction,
            patch=patch,
            slow=slow,
        )
        numbers |= not_negative(item, damping=damping, resistance=resistance)
        if "resistance" in numbers:
            numbers["rolling_resistance"] = numbers.pop("resistance")
        numbers |= _relaxation(item, patch if relaxation is None else relaxation)
        zeta = not_negative(item, standstill_damping=standstill_damping)["standstill_damping"]
        for axis, slope in (("x", longitudinal), ("y", cornering)):
            numbers[f"drag_{axis}"] = (
                2 * zeta * math.sqrt(load / _GRAVITY * numbers[f"relax_{axis}"] / slope) / (numbers[f"relax_{axis}"])
            )
        law = {
            "rolling_radius": "radius - deflection/3",
            **_SLIPS,
            "share": "Fz/load",
            "scale": "1/sqrt((1 + ratio)**2 + 1e-8)",
            "px_": "longitudinal*share*ratio*scale",
            "py_": "-cornering*share*tangent*scale",
            "pull": "sqrt(px_*px_ + py_*py_ + 1e-30)",
            "most": "friction*grip*Fz + 1e-12",
            "z_": _at_most_one("pull/(3*most)"),
            "size": "most*z_*(3 - 3*z_ + z_*z_)/pull",
            "Fx": "size*px_",
            "Fy": "size*py_",
            "trail": "patch*sqrt(max(share, 1e-12))/3*(1 - z_)**3/(1 - z_ + z_*z_/3)",
            "Mx": "0*Fz",
            "My": "-rolling_resistance*Fz*radius*tanh(spin*radius/slow)",
            "Mz": "-trail*Fy",
        }
        super().__init__(parameters=numbers, **_parts(_road(item, road), law))


def _relaxation(item: str, given: Any) -> dict[str, float]:
    both = given if isinstance(given, Sequence) and not isinstance(given, str) else (given, given)
    if len(both) != 2:
        raise ModelError(item, "relaxation", given, "give one length, or two: longitudinal and lateral")
    return positive(item, relax_x=both[0], relax_y=both[1])


@checked()
class MagicFormulaTyre(Element):
    """Tyre by Pacejka's Magic Formula, MF-Tyre 5.2 (PAC2002), with the coefficients of a ``.tir`` file.

    Parameters
    ----------
    data : TyreData, str or dict
        From `read_tir`; or the path of a file; or coefficients by name, in SI units.
    side : str
        ``"left"`` or ``"right"``: where the tyre is mounted; asymmetric forces of a tyre that was measured on the other
        side (TYRESIDE of the file) are mirrored. ``"as measured"``: they are not. ``"symmetric"``: offsets (shifts,
        plysteer, conicity) are left out.
    relaxation : float, m, or two
        Longitudinal and lateral relaxation length, in place of those of the coefficients PTX1 to PTY2.
    slow : float, m/s
        Speed below which slips are damped.
    standstill_damping : float
        A part of critical damping of the nominal load on the deflected tyre at standstill.
    road : Road
        The plane z = 0 of the first marker if left out.

    All coefficients and scaling factors (LMUX, LKY, ...) are parameters of the element by their names; events and
    ensembles may change them, ``"front.LMUX"``. Missing scaling factors are 1, other missing coefficients 0: `read_tir`
    lists them in `TyreData.notes`; those without which there is no force are required. Loads below the range of the
    file use the equations as they are.

    Signals as of `BrushTyre`. Not modelled: turn slip, pressure (MF 6), belt dynamics.

    Examples
    --------
    >>> import dalembert as da
    >>> tread = {"PCX1": 1.6, "PDX1": 1.1, "PKX1": 20.0, "PCY1": 1.3, "PDY1": 1.0, "PKY1": -20.0, "PKY2": 2.0}
    >>> carcass = {"FNOMIN": 4e3, "UNLOADED_RADIUS": 0.3, "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 500.0}
    >>> data = da.TyreData(tread | carcass)
    >>> tyre = da.MagicFormulaTyre(data, relaxation=(0.3, 0.5))
    >>> tyre.parameters["PDX1"]
    1.1
    """

    is_smooth_at_half_turn: ClassVar[bool] = True

    def __init__(
        self,
        data: TyreData | str | Path | Mapping[str, float],
        *,
        side: str = "as measured",
        relaxation: float | Sequence[float] | None = None,
        slow: float = 1.0,
        standstill_damping: float = 0.5,
        road: Road | None = None,
    ) -> None:
        item = self.kind
        found = _data(data)
        one_of(item, "side", side, ("left", "right", "as measured", "symmetric"))
        c = found.complete()
        mirror = side in ("left", "right") and side != found.side
        if side == "symmetric":
            c = {name: 0.0 if name in _OFFSETS else value for name, value in c.items()}
        numbers = {name: c[name] for name in COEFFICIENTS}
        numbers |= positive(item, slow=slow) | {"radius": c["UNLOADED_RADIUS"], "load": c["FNOMIN"]}
        numbers |= {"stiffness": c["VERTICAL_STIFFNESS"], "damping": c["VERTICAL_DAMPING"]}
        law: dict[str, str] = {}
        if relaxation is None:
            if not (c["PTX1"] and c["PTY1"] and c["PTY2"]):
                raise ModelError(
                    item, "relaxation", None, "PTX1, PTY1 and PTY2 are not in the data: give relaxation=(0.3, 0.5) in m"
                )
            law["relax_x"] = "max(Fz*(PTX1 + PTX2*dfz)*exp(-PTX3*dfz)*radius/load*LSGKP, 0.02*radius)"
            law["relax_y"] = "max(PTY1*radius*sin(2*atan(Fz/(PTY2*load*LFZO)))*(1 - PKY3*ga_)*LFZO*LSGAL, 0.02*radius)"
            at_load = (
                c["PTX1"] * c["UNLOADED_RADIUS"],
                c["PTY1"] * c["UNLOADED_RADIUS"] * math.sin(2 * math.atan(1 / c["PTY2"])),
            )
        else:
            lengths = _relaxation(item, relaxation)
            numbers |= lengths
            at_load = (lengths["relax_x"], lengths["relax_y"])
        zeta = not_negative(item, standstill_damping=standstill_damping)["standstill_damping"]
        slopes = (c["FNOMIN"] * c["PKX1"], c["FNOMIN"] * c["PKY1"] * math.sin(2 * math.atan(1 / c["PKY2"])))
        for axis, length, slope in zip("xy", at_load, slopes, strict=True):
            numbers[f"drag_{axis}"] = 2 * zeta * math.sqrt(c["FNOMIN"] / _GRAVITY / (abs(length * slope)))
        numbers["mirror"] = -1.0 if mirror else 1.0
        super().__init__(parameters=numbers, **_parts(_road(item, road), _magic_formula(law)))


def _data(given: Any) -> TyreData:
    if isinstance(given, TyreData):
        return given
    if isinstance(given, Mapping):
        return TyreData(given)
    if isinstance(given, (str, Path)):
        return read_tir(given)
    raise ModelError("MagicFormulaTyre", "data", given, "give da.read_tir(...), a path, or a dict of coefficients")


_OFFSETS = (
    *("PHX1", "PHX2", "PVX1", "PVX2", "RHX1", "PHY1", "PHY2", "PVY1", "PVY2", "RHY1", "RHY2", "RVY1", "RVY2"),
    *("PEY3", "QHZ1", "QHZ2", "QDZ3", "QDZ6", "QDZ7", "QBZ4", "QEZ4", "SSZ1", "QSX1"),
)


def _curve(name: str, slope: str, size: str, shape: str, bend: str, argument: str, of: str) -> dict[str, str]:
    """Return size * of(shape atan(slope x - bend (slope x - atan(slope x)))) as a definition, with its inner one."""
    x = f"({slope})*({argument})"
    return {f"{name}_b": x, name: f"{size}*{of}({shape}*atan({name}_b - {bend}*({name}_b - atan({name}_b))))"}


def _at_most_one(expression: str) -> str:
    """Return the smaller of an expression and 1, rounded over 1e-6: no kink that steps would have to end at."""
    return f"({expression} + 1 - sqrt(({expression} - 1)**2 + 1e-12))/2"


def _magic_formula(relaxation: Mapping[str, str]) -> dict[str, str]:
    """Return definitions of the forces and moments; numbers of equations: Pacejka 2006, section 4.3.2."""
    sign = "({0}/sqrt({0}*{0} + 1e-16))"  # of an argument of a curve; smooth, for its derivatives
    law = {
        "Fzs": "sqrt(Fz*Fz + 1e-6*load*load)",  # loads in denominators
        "dfz": "(Fz - load*LFZO)/(load*LFZO)",  # (4.E2a)
        "rho": "stiffness*deflection/load",
        "rolling_radius": "radius - load/stiffness*(DREFF*atan(BREFF*rho) + FREFF*rho)",
        **_SLIPS,
        "alpha": "mirror*atan(tangent)",
        "ca": "cos(alpha)",
        "gamma": "mirror*atan(lean/flat)",
        "gx_": "gamma*LGAX",
        "gy_": "gamma*LGAY",
        "ga_": "sqrt(gy_*gy_ + 1e-16)",
        "gz_": "gamma*LGAZ",
        **relaxation,
        # longitudinal, pure slip (4.E9)
        "kx_": "ratio + (PHX1 + PHX2*dfz)*LHX",
        "mux": "(PDX1 + PDX2*dfz)*(1 - PDX3*gx_*gx_)*LMUX*grip",
        "Cx_": "PCX1*LCX",
        "Ex_": _at_most_one(f"(PEX1 + PEX2*dfz + PEX3*dfz*dfz)*(1 - PEX4*{sign.format('kx_')})*LEX"),
        "kx_load": "(PKX1 + PKX2*dfz)*exp(PKX3*dfz)*LKX",  # Kx / Fz
        "Bx_": "kx_load/(Cx_*mux)",
        **_curve("Fx_curve", "Bx_", "mux*Fz", "Cx_", "Ex_", "kx_", "sin"),
        "Fx0": "Fx_curve + Fz*(PVX1 + PVX2*dfz)*LVX*LMUX*grip",
        # lateral, pure slip (4.E19)
        "muy": "(PDY1 + PDY2*dfz)*(1 - PDY3*gy_*gy_)*LMUY*grip",
        "Cy_": "PCY1*LCY",
        "Ky": "PKY1*load*sin(2*atan(Fzs/(PKY2*load*LFZO)))*(1 - PKY3*ga_)*LFZO*LKY",
        "SHy": "(PHY1 + PHY2*dfz)*LHY + PHY3*gy_",
        "SVy": "Fz*((PVY1 + PVY2*dfz)*LVY + (PVY3 + PVY4*dfz)*gy_)*LMUY*grip",
        "ay_": "alpha + SHy",
        "Ey_": _at_most_one(f"(PEY1 + PEY2*dfz)*(1 - (PEY3 + PEY4*gy_)*{sign.format('ay_')})*LEY"),
        "By_": "Ky/(Cy_*muy*Fzs)",
        **_curve("Fy_curve", "By_", "muy*Fz", "Cy_", "Ey_", "ay_", "sin"),
        "Fy0": "Fy_curve + SVy",
        # combined slip (4.E50), (4.E58)
        "Exa": _at_most_one("REX1 + REX2*dfz"),
        "Bxa": "RBX1*cos(atan(RBX2*ratio))*LXAL",
        **_curve("Gxa_over", "Bxa", "1", "RCX1", "Exa", "alpha + RHX1", "cos"),
        **_curve("Gxa_under", "Bxa", "1", "RCX1", "Exa", "RHX1", "cos"),
        "Fx": "Fx0*Gxa_over/Gxa_under",
        "Eyk": _at_most_one("REY1 + REY2*dfz"),
        "Byk": "RBY1*cos(atan(RBY2*(alpha - RBY3)))*LYKA",
        "SHyk": "RHY1 + RHY2*dfz",
        **_curve("Gyk_over", "Byk", "1", "RCY1", "Eyk", "ratio + SHyk", "cos"),
        **_curve("Gyk_under", "Byk", "1", "RCY1", "Eyk", "SHyk", "cos"),
        "SVyk": "muy*Fz*(RVY1 + RVY2*dfz + RVY3*gamma)*cos(atan(RVY4*alpha))*sin(RVY5*atan(RVY6*ratio))*LVYKA",
        "Fyp": "Fy0*Gyk_over/Gyk_under",
        "Fyw": "Fyp + SVyk",
        # aligning moment, combined slip (4.E71)
        "at_": "alpha + QHZ1 + QHZ2*dfz + (QHZ3 + QHZ4*dfz)*gz_",
        "ar_": "alpha + SHy + SVy/Ky",
        "stiff": "kx_load*Fzs/Ky*ratio",
        "at_eq": f"atan(sqrt(tan(at_)**2 + stiff*stiff + 1e-30))*{sign.format('at_')}",
        "ar_eq": f"atan(sqrt(tan(ar_)**2 + stiff*stiff + 1e-30))*{sign.format('ar_')}",
        "Bt_": "(QBZ1 + QBZ2*dfz + QBZ3*dfz*dfz)*(1 + QBZ4*gz_ + QBZ5*sqrt(gz_*gz_ + 1e-16))*LKY/LMUY",
        "Et_": _at_most_one("(QEZ1 + QEZ2*dfz + QEZ3*dfz*dfz)*(1 + (QEZ4 + QEZ5*gz_)*2/pi*atan(Bt_*QCZ1*at_))"),
        "Dt_": "Fz*(QDZ1 + QDZ2*dfz)*(1 + QDZ3*gz_ + QDZ4*gz_*gz_)*radius/load*LTR",
        **_curve("trail", "Bt_", "Dt_*ca", "QCZ1", "Et_", "at_eq", "cos"),
        "Dr_": "Fz*((QDZ6 + QDZ7*dfz)*LRES + (QDZ8 + QDZ9*dfz)*gz_)*radius*LMUY*grip",
        "Mzr": "Dr_*cos(atan((QBZ9*LKY/LMUY + QBZ10*By_*Cy_)*ar_eq))*ca",
        "arm": "(SSZ1 + SSZ2*Fyw/load + (SSZ3 + SSZ4*dfz)*gamma)*radius*LS",
        "Fy": "mirror*Fyw",
        "Mz": "mirror*(-trail*Fyp + Mzr + arm*Fx)",
        "Mx": "mirror*radius*Fz*(QSX1*LVMX + (QSX3*Fyw/load - QSX2*gamma)*LMX)",
        "fast": "Vx/LONGVL",
        "rolls": "QSY1 + QSY2*Fx/load + QSY3*sqrt(fast*fast + 1e-8) + QSY4*fast**4",
        "My": "-radius*Fz*rolls*LMY*tanh(spin*radius/slow)",
    }
    return law
