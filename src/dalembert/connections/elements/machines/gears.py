"""Gear meshes with stiffness, backlash, damping and friction of the teeth: spur, helical, internal and planetary.

A mesh acts between two gears, seen from a third marker, of the housing or of a planet carrier. Its z axis is the axis
of both gears, its x axis points from the centre of gear 1 to that of gear 2 where the teeth fit. In its axes, with the
angles t1, t2 of the gears about z, the vector d of the centres, from gear 1 to gear 2, its length a and direction psi,
base radii b1, b2, transverse base pitch p, and i = 1 for external, -1 for internal gears:

    S = b1 + i b2,    cos(phi) = |S| / a                            working pressure angle                           (1)
    w = b1 (t1 - psi) + i b2 (t2 - psi) + tan(beta_b) shift         approach along the line of action, modulo p      (2)
    h = j/2 + S (inv(phi) - inv(phi0)),    inv(x) = tan(x) - x      half of the backlash at this distance            (3)
    e1 = w - h,    e2 = -w - h                                      overlap of the flanks of either side             (4)

The flanks with e1 > 0 drive gear 2 by a positive rotation of gear 1. Each carries the force along the line of action

    N = k e + c e' e/(e0 + e) where it is positive,    energy k e^2/2                                                (5)

as the gradient of the energy by (1) to (4): exact for involute teeth whatever the gears do, also when their bearings
yield. The contact moves along the path of contact, s = b1 (t1 - psi) + constant, from -g_f (approach) to g_a (recess)
about the pitch point; tips of the gears bound it. A varying stiffness is the sum over the pairs of teeth in contact,
k(s) of the side that bears, and its gradient is part of the torques. Friction acts on each pair across the line of
action, with the sign of the sliding velocity s (omega2 - omega1): it changes its direction at the pitch point.

Helical gears: beta_b is the helix angle at the base cylinder, `shift` the axial displacement of gear 2 relative to
gear 1 at the pitch point, tilt included; so the axial force and the tilting moment act.

Sources: J. W. Niemann and H. Winter, Maschinenelemente II, 1989, ch. 21, for the geometry; S. Theodossiades and S.
Natsiavas, J. Sound Vib. 229 (2000) 287-310, for backlash and varying stiffness; S. He, R. Gunda, R. Singh, J. Sound
Vib. 301 (2007) 927-949, for sliding friction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....arrays import Array
from ....checks import checked, finite_number, not_negative, positive, set_fields
from ....errors import ModelError
from ...formulas.marker_axes import marker_axis
from ...formulas.tables import Table
from ..element import Element

__all__ = ["GearMesh"]

_RAMP = 0.04  # of the base pitch: length over which a pair of teeth takes up its load
_SIDE = 0.01  # of the base pitch: length over which friction of a pair changes its sign at the pitch point
_HALF = 1e-4  # of the module: overlap e0 of (5), at which half of the damping acts
_SAMPLES = 257  # of functions of the path of contact, over one base pitch

_GEOMETRY = {
    "dx": "x2 - x1",
    "dy": "y2 - y1",
    "a": "sqrt(dx*dx + dy*dy)",
    "ux": "dx/a",
    "uy": "dy/a",
    "cos_phi": "side*S/a",
    "sin_phi": "sqrt(1 - cos_phi*cos_phi)",
    "tan_phi": "sin_phi/cos_phi",
    "h": "backlash/2 + S*(tan_phi - atan(tan_phi) - inv0)",
    **{f"q{k}": f"ex{k}*ex{k} + ey{k}*ey{k}" for k in "12"},
    **{f"spin{k}": f"wz{k} - ez{k}*(ex{k}*wx{k} + ey{k}*wy{k})/q{k}" for k in "12"},
    "psi": "atan2(dy, dx)",
    "turn": "atan2(ey1, ex1) - psi",
    "da": "ux*(vx2 - vx1) + uy*(vy2 - vy1)",
    "dpsi": "(ux*(vy2 - vy1) - uy*(vx2 - vx1))/a",
    "dh": "side*sin_phi*da",
}
# slopes s, r of the gears' planes along x, y; heights at the pitch point change by l, m, n times wx, wy, wz
_HELIX = {
    **{name: text for k in "12" for name, text in ((f"s{k}", f"ax{k}/az{k}"), (f"r{k}", f"ay{k}/az{k}"))},
    "s": "(1 - part)*s2 + part*s1",
    "r": "(1 - part)*r2 + part*r1",
    "shift": "z2 - z1 + s*dx + r*dy",
    **{
        name: text.format(k=k, x=x, y=y)
        for k, x, y in (("1", "(part*dx)", "(part*dy)"), ("2", "((part - 1)*dx)", "((part - 1)*dy)"))
        for name, text in (
            (f"l{k}", "{x}*s{k}*r{k} + {y}*(1 + r{k}*r{k})"),
            (f"m{k}", "-{x}*(1 + s{k}*s{k}) - {y}*s{k}*r{k}"),
            (f"n{k}", "{x}*r{k} - {y}*s{k}"),
        )
    },
    "dshift": "vz2 - vz1 + s*(vx2 - vx1) + r*(vy2 - vy1) + l2*wx2 + m2*wy2 + n2*wz2 - l1*wx1 - m1*wy1 - n1*wz1",
}
_CONTACT = {
    "e1": "w - h",
    "e2": "-w - h",
    "in1": "max(e1, 0)",
    "in2": "max(e2, 0)",
    "N1": "in1*max(k + damping*(dw - dh)/(half + in1), 0)",
    "N2": "in2*max(k - damping*(dw + dh)/(half + in2), 0)",
    "T": "N2 - N1",
}
_NO_FRICTION = {"f": "0", "roll": "0", "across": "0"}
_FRICTION = {
    "slip": "spin2 - spin1",
    "way": "-friction*slip/sqrt(slip*slip + slip_speed*slip_speed/(reach*reach))",
    "part_of": "way*balance(u)",
    "f": "part_of*(N1 + N2)",
    "roll": "way*lever(u)*(N1 + N2)",
    "across": "side*cos_phi*part_of*T",
}
_LOADS = {
    "along": "side*sin_phi*(N1 + N2) + across",
    "Q": "-S*T - of_path + side*a*sin_phi*f",
    "push_x": "along*ux - Q/a*uy + lift*s",
    "push_y": "along*uy + Q/a*ux + lift*r",
    "torque1": "b1*T + of_path - b1*tan_phi*f - roll",
    "torque2": "side*b2*T - side*b2*tan_phi*f + roll",
    **{f"c{k}": f"torque{k}*ez{k}/q{k}" for k in "12"},
}


@checked("teeth", "error", "internal", "varying")
class GearMesh(Element):
    """Mesh of two involute gears, external or internal, spur or helical, with backlash and friction.

    Parameters
    ----------
    teeth : (int, int)
        Of gear 1 and gear 2.
    module : float, m
        Normal module.
    stiffness : float, N/m
        Mean of the stiffness of the mesh along the line of action, normal to the flanks.
    damping : float, N s/m
        Along the transverse line of action.
    pressure_angle, helix_angle : float, rad
        Normal pressure angle; helix angle at the reference cylinder, positive if gear 1 is right-handed.
    internal : bool
        Gear 2 is a ring with internal teeth.
    backlash : float, m
        Along the transverse line of action, at `center_distance`.
    center_distance : float, m
        Where the gears have this backlash; the sum (internal: the difference) of the reference radii if left out.
    friction : float
        Coefficient of friction of the teeth.
    slip_speed : float, m/s
        Sliding velocity, at a quarter of the base pitch from the pitch point, at which 71 % of the friction acts.
    varying : bool
        The stiffness varies along the path of contact with the number of pairs of teeth in contact.
    droop : float
        Part by which the stiffness of a pair of teeth is less at the ends of its path than in the middle; for
        `varying`.
    width : float, m
        Of the teeth; for `varying` and helical gears, whose pairs take up the load gradually.
    addendum : float, or two
        Of gear 1 and gear 2, in modules.
    phase : float, rad
        The teeth fit where both gears have angle zero and the centres are on the x axis of the first marker; here plus
        this angle times the number of teeth of gear 1.
    error : Table
        Transmission error of the unloaded flanks over the angle of gear 1 at the mesh, m, periodic over 2 pi
        (``outside="repeat"``); positive where they touch early.

    Connect it to three markers: of the housing or carrier, of gear 1 and of gear 2, ``s.connect("mesh",
    da.GearMesh(...), housing, pinion, wheel)``. The origins of the markers of the gears are their centres. Planetary
    gears: the first marker is on the carrier, for each planet turned so that its x axis points from gear 1 to gear 2
    (from the sun to the planet, from the planet to the centre of the ring). The equations are at the head of
    `connections.elements.machines.gears`.

    Attributes: `base_radii`, `base_pitch`, `ratio`, `center_distance`, `contact_ratio` (with the overlap of helical
    gears). Signals: ``force``, N, normal to the flanks, positive where gear 1 drives by a positive rotation;
    ``transmission_error``, w of (2), m; ``clearance``, m, the backlash 2 h at the present distance; ``k``, N/m, the
    transverse stiffness of the flanks that bear; ``power``, W, lost to friction.

    The meshing takes place in the plane across the axis of the first marker; where the planes of the gears are apart,
    the couple of the transverse forces acts on the first marker.

    Not modelled: contact outside the line of action, misalignment along the width, dynamic friction coefficients, loads
    beyond the overlap of half a base pitch. Bevel gears: `BevelMesh`.

    Raises
    ------
    ModelError
        For gears that do not fit: base circles that overlap, a ring with too few teeth, a contact ratio below 1.

    Examples
    --------
    >>> import dalembert as da
    >>> mesh = da.GearMesh((20, 60), 3e-3, 3e8, backlash=50e-6, friction=0.06, varying=True)
    >>> round(mesh.contact_ratio, 3), round(mesh.center_distance, 6)
    (1.671, 0.12)
    """

    is_smooth_at_half_turn: ClassVar[bool] = True
    geometry: _Geometry

    def __init__(
        self,
        teeth: Sequence[int],
        module: float,
        stiffness: float,
        damping: float = 0.0,
        *,
        pressure_angle: float = math.radians(20.0),
        helix_angle: float = 0.0,
        internal: bool = False,
        backlash: float = 0.0,
        center_distance: float | None = None,
        friction: float = 0.0,
        slip_speed: float = 1e-2,
        varying: bool = False,
        droop: float = 0.0,
        width: float | None = None,
        addendum: float | Sequence[float] = 1.0,
        phase: float = 0.0,
        error: Table | None = None,
    ) -> None:
        geometry = _Geometry(
            self.kind, teeth, module, pressure_angle, helix_angle, internal, center_distance, width, addendum
        )
        item, side = self.kind, geometry.side
        numbers = positive(item, stiffness=stiffness, slip_speed=slip_speed)
        numbers |= not_negative(item, damping=damping, backlash=backlash, friction=friction)
        droop = not_negative(item, droop=droop)["droop"]
        if droop >= 1.0:
            raise ModelError(item, "droop", droop, "it is a part of the stiffness: use a number from 0 to below 1")
        b1, b2 = geometry.base_radii
        pitch, z1, z2 = geometry.base_pitch, *geometry.teeth
        constants = {
            "side": str(side),
            "b1": repr(b1),
            "b2": repr(b2),
            "S": repr(b1 + side * b2),
            "part": repr(z1 / (z1 + side * z2)),
            "inv0": repr(geometry.involute),
            "half": repr(_HALF * geometry.module),
            "per_turn": repr(z1 / (2 * math.pi)),
            "reach": repr(pitch / 4),
        }
        helical = geometry.base_helix != 0.0
        parts: dict[str, str] = dict(constants)
        for k in "12":
            parts |= marker_axis("x", "e", k) | (marker_axis("z", "a", k) if helical else {})
        parts |= _GEOMETRY | (_HELIX if helical else {})
        offset = finite_number(phase, item=item, field="phase") * z1
        slope = math.tan(geometry.base_helix)
        teeth_angle = f"{z1!r}*turn + {side * z2!r}*(atan2(ey2, ex2) - psi) - {offset!r}"
        drift = f" + {slope * 2 * math.pi / pitch!r}*shift" if helical else ""
        rate = f" + {slope!r}*dshift" if helical else ""
        parts |= {
            "mesh_angle": teeth_angle + drift,
            "w": f"{pitch / (2 * math.pi)!r}*atan2(sin(mesh_angle), cos(mesh_angle))"
            + (" + gap(turn)" if error else ""),
            "dw": "b1*spin1 + side*b2*spin2 - S*dpsi" + rate + (" + gap_slope(turn)*(spin1 - dpsi)" if error else ""),
        }
        tables: dict[str, Table] = {}
        if error is not None:
            tables |= _error_tables(item, error)
        tables |= geometry.tables(varying, droop, friction > 0)
        start = 0.25 - (z1 / 2 if internal else 0.0)  # the flanks are a quarter of a pitch from the middle of a tooth
        # of the side that bears
        parts["way_1"] = "where(w < 0, -per_turn, per_turn)"
        parts["u"] = f"way_1*turn + where(w < 0, {start + (z1 if internal else 0)!r}, {start!r})"
        cosine2 = math.cos(geometry.base_helix) ** 2
        parts["k"] = f"{cosine2!r}*stiffness" + ("*relative(u)" if varying else "")
        parts |= _CONTACT
        of_path = [f"-{cosine2 / 2!r}*stiffness*way_1*slope(u)*(in1*in1 + in2*in2)"] if varying else []
        of_path += ["T*gap_slope(turn)"] if error else []
        parts |= _FRICTION if friction else _NO_FRICTION
        parts |= {"of_path": " + ".join(of_path) or "0", "lift": f"{slope!r}*T" if helical else "0"}
        parts |= {} if helical else {"s": "0", "r": "0"}
        parts |= _LOADS
        tilt = {k: [f" {sign} lift*{c}{k}" if helical else "" for c in "lmn"] for k, sign in (("1", "-"), ("2", "+"))}
        forces = [
            text
            for k, sign in (("1", "-"), ("2", ""))
            for text in (
                f"{sign}push_x",
                f"{sign}push_y",
                f"{sign}lift",
                f"-c{k}*ex{k}" + tilt[k][0],
                f"-c{k}*ey{k}" + tilt[k][1],
                f"torque{k}" + tilt[k][2],
            )
        ]
        super().__init__(
            ("pose", "pose"),
            tuple(forces),
            numbers,
            energy="k*(in1*in1 + in2*in2)/2",
            definitions=parts,
            signals={
                "force": f"(N1 - N2)/{math.cos(geometry.base_helix)!r}",
                "transmission_error": "w",
                "clearance": "2*h",
                "k": "k",
                "power": "-roll*slip" if friction else "0",
            },
            tables=tables,
        )
        set_fields(self, geometry=geometry)

    @property
    def base_radii(self) -> tuple[float, float]:
        """Radii of the base circles, m."""
        return self.geometry.base_radii

    @property
    def base_pitch(self) -> float:
        """Transverse base pitch, m."""
        return self.geometry.base_pitch

    @property
    def center_distance(self) -> float:
        """Distance of the centres at which the backlash is that given, m."""
        return self.geometry.center_distance

    @property
    def ratio(self) -> float:
        """Angular velocity of gear 2 over that of gear 1, relative to the first marker."""
        return -self.geometry.side * self.geometry.teeth[0] / self.geometry.teeth[1]

    @property
    def contact_ratio(self) -> float:
        """Mean number of pairs of teeth in contact."""
        return self.geometry.contact_ratio


class _Geometry:
    """Geometry of a pair of gears at its centre distance, in the transverse plane; lengths in m, angles in rad."""

    def __init__(
        self,
        item: str,
        teeth: Any,
        module: float,
        pressure_angle: float,
        helix_angle: float,
        internal: bool,
        center_distance: float | None,
        width: float | None,
        addendum: Any,
    ) -> None:
        self.item = item
        self.side = -1 if internal else 1
        self.teeth = _tooth_numbers(item, teeth, internal)
        self.module = positive(item, module=module)["module"]
        normal = positive(item, pressure_angle=pressure_angle)["pressure_angle"]
        if normal >= math.radians(45.0):
            raise ModelError(item, "pressure_angle", normal, "give it in rad, below 0.785; 20 degrees are 0.349")
        helix = finite_number(helix_angle, item=item, field="helix_angle")
        if abs(helix) >= math.radians(60.0):
            raise ModelError(item, "helix_angle", helix, "give it in rad, between -1.047 and 1.047")
        transverse = math.atan(math.tan(normal) / math.cos(helix))
        self.reference_radii = reference = tuple(self.module * z / (2 * math.cos(helix)) for z in self.teeth)
        self.base_radii = (reference[0] * math.cos(transverse), reference[1] * math.cos(transverse))
        self.base_pitch = 2 * math.pi * self.base_radii[0] / self.teeth[0]
        self.base_helix = math.atan(math.tan(helix) * math.cos(transverse))
        nominal = reference[1] + self.side * reference[0]
        self.center_distance = (
            nominal if center_distance is None else positive(item, center_distance=center_distance)["center_distance"]
        )
        b1, b2 = self.base_radii
        least = b2 + self.side * b1
        if self.center_distance <= least:
            raise ModelError(
                item,
                "center_distance",
                self.center_distance,
                f"the base circles need more than {least:.6g} m; the reference circles touch at {nominal:.6g} m",
            )
        phi = math.acos(least / self.center_distance)
        self.involute = math.tan(phi) - phi
        tips = addendum if isinstance(addendum, Sequence) and not isinstance(addendum, str) else (addendum, addendum)
        if len(tips) != 2:
            raise ModelError(item, "addendum", addendum, "give one number, or two: of gear 1 and gear 2")
        heights = [positive(item, addendum=tip)["addendum"] * self.module for tip in tips]
        outer = (reference[0] + heights[0], reference[1] + self.side * heights[1])
        if self.center_distance >= outer[0] + outer[1] and not internal:
            raise ModelError(
                item, "center_distance", self.center_distance, f"the tips reach only {outer[0] + outer[1]:.6g} m"
            )
        ends = [math.sqrt(max(r * r - b * b, 0.0)) for r, b in zip(outer, self.base_radii, strict=True)]
        lines = [b * math.tan(phi) for b in self.base_radii]
        self.recess = ends[0] - lines[0]
        self.approach = self.side * (ends[1] - lines[1])
        self.overlap, self.width = 0.0, 4 * self.module
        if width is not None:
            self.width = face = positive(item, width=width)["width"]
            self.overlap = face * abs(math.tan(self.base_helix)) / self.base_pitch
        self.contact_ratio = (self.recess + self.approach) / self.base_pitch + self.overlap
        if self.recess + self.approach <= 0 or self.contact_ratio < 1.0:
            raise ModelError(
                item,
                "contact ratio",
                self.contact_ratio,
                "a pair of teeth parts before the next one meets: reduce center_distance, increase addendum or teeth",
            )

    def tables(self, varying: bool, droop: float, friction: bool) -> dict[str, Table]:
        """Return the functions of the place u = s / base pitch of a pair of teeth, of period 1.

        relative : stiffness over its mean, sum over the pairs; slope : its derivative; balance : mean of the signs of
        s over the pairs, weighted by their stiffness; lever : likewise mean of abs(s), m.
        """
        u = np.linspace(0.0, 1.0, _SAMPLES)
        first = math.floor(-self.approach / self.base_pitch - self.overlap / 2 - 1.0)
        last = math.ceil(self.recess / self.base_pitch + self.overlap / 2 + 1.0)
        places = u + np.arange(first, last + 1)[:, None]
        pairs = self._of_pair(places, droop)
        total = pairs.sum(axis=0)
        result: dict[str, Table] = {}
        if varying:
            relative = Table(u, values=total / np.mean(total[:-1]), outside="repeat")
            result |= {"relative": relative, "slope": relative.slope(0)}
        if friction:
            share = pairs / total
            signs = np.tanh(places / _SIDE)
            result["balance"] = Table(u, values=(share * signs).sum(axis=0), outside="repeat")
            levers = self.base_pitch * places * signs
            result["lever"] = Table(u, values=(share * levers).sum(axis=0), outside="repeat")
        return result

    def _of_pair(self, places: Array, droop: float) -> Array:
        """Return the relative stiffness of one pair at places in base pitches; mean over the width of helical gears."""
        low, high = -self.approach / self.base_pitch, self.recess / self.base_pitch
        across = np.linspace(-0.5, 0.5, 65) * self.overlap if self.overlap else np.zeros(1)
        at = places[..., None] + across
        bend = 1.0 - droop * np.clip((2 * at - low - high) / (high - low), -1, 1) ** 2
        stiffness: Array = (bend * _rise((at - low) / _RAMP) * _rise((high - at) / _RAMP)).mean(axis=-1)
        return stiffness


def _rise(x: Array) -> Array:
    """Return 0 below -1/2, 1 above 1/2, with two continuous derivatives between."""
    y = np.clip(x + 0.5, 0.0, 1.0)
    return y**3 * (10 - 15 * y + 6 * y * y)


def _tooth_numbers(item: str, teeth: Any, internal: bool) -> tuple[int, int]:
    given = tuple(teeth) if isinstance(teeth, Sequence) and not isinstance(teeth, str) else ()
    if len(given) != 2 or not all(isinstance(z, (int, np.integer)) and z > 0 for z in given):
        raise ModelError(item, "teeth", teeth, "give two whole numbers: of gear 1 and of gear 2")
    z1, z2 = int(given[0]), int(given[1])
    if internal and z2 <= z1:
        raise ModelError(item, "teeth", given, "gear 2 is the ring: it needs more teeth than gear 1")
    return z1, z2


def _error_tables(item: str, error: Any) -> dict[str, Table]:
    if not isinstance(error, Table) or error.variables != 1 or error.outside != "repeat":
        raise ModelError(item, "error", error, 'give a da.Table of one variable with outside="repeat"')
    period = float(error.axes[0][-1] - error.axes[0][0])
    if abs(period - 2 * math.pi) > 1e-9:
        raise ModelError(item, "error", f"a period of {period:.6g}", "its knots must span one turn, 2 pi")
    return {"gap": error, "gap_slope": error.slope(0)}
