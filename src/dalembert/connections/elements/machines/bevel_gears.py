"""Mesh of two bevel gears, straight or spiral, with stiffness, backlash and damping.

The first marker is that of the housing: its origin is the common apex of both pitch cones, its z axis the axis a1 of
gear 1, from the apex to the gear, and the axis a2 of gear 2 is in its xz plane, at the shaft angle Sigma from z towards
x. The markers of the gears have their origins at the apex, too, and their z axes along a1, a2. With the mean cone
distance R, pitch angles d1, d2 = Sigma - d1, mean radii r_k = R sin d_k, and in axes of the housing

    tan d1 = sin Sigma/(z2/z1 + cos Sigma)
    l = (sin d1, 0, cos d1)     along the pitch line        P = R l     mean point of the mesh
    m = (cos d1, 0, -sin d1)    across it, from gear 1 to gear 2
    n1 =  cos(al) cos(be) y + sin(al) m + cos(al) sin(be) l     normal of the flanks that drive gear 2 by t1' > 0
    n2 = -cos(al) cos(be) y + sin(al) m - cos(al) sin(be) l     of the others                              (1)

with the normal pressure angle al and the mean spiral angle be. A gear that is displaced by p_k and tilted, so that its
axis is z_k, has moved at P, apart from its spin t_k, by u_k = p_k + (a_k x z_k) x P. The flanks approach by

    w1 =  cos(al) cos(be) (r1 t1 + r2 t2) + n1 . (u1 - u2),     w2 = -cos(al) cos(be) (...) + n2 . (u1 - u2)    (2)

modulo the pitch 2 pi r1 cos(al) cos(be)/z1. Each side has the overlap e = w - j/2, and where it is positive the force
N = k e + c e' e/(e0 + e) along its normal, with the energy k e^2/2; k = k0 (1 + v cos(z1 t1)) varies with the meshing.
Loads are the gradients of the energy by (2): first order in displacements and tilts, exact in rotations.

Source: G. Niemann and H. Winter, Maschinenelemente III, Springer 1986, chapter 24 (geometry, forces of the teeth).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ....checks import checked, finite_number, not_negative, positive, set_fields
from ....errors import ModelError
from ...formulas.marker_axes import marker_axis
from ..element import Element

__all__ = ["BevelMesh"]

_HALF = 1e-4  # of the mean module: overlap e0 of the head, at which half of the damping acts


@checked("teeth")
class BevelMesh(Element):
    """Mesh of two bevel gears, straight or spiral, with stiffness, backlash and damping.

    Parameters
    ----------
    teeth : (int, int)
        Of gear 1 and gear 2.
    cone_distance : float, m
        R, from the apex to the middle of the teeth.
    stiffness : float, N/m
        k0 of the mesh, normal to the flanks.
    damping : float, N s/m
        c, normal to the flanks.
    shaft_angle : float, rad
        Sigma between the axes, above 0 to below pi.
    pressure_angle, spiral_angle : float, rad
        Normal pressure angle al; mean spiral angle be, positive if it pushes gear 2 away from the apex when gear 1
        drives by a positive rotation.
    backlash : float, m
        j, normal to the flanks.
    variation : float
        v, 0 to below 1.
    phase : float, rad
        The teeth fit where z1 t1 + z2 t2 = phase.

    Connect it to three markers, ``s.connect("mesh", da.BevelMesh(...), housing, gear_1, gear_2)``, all at the apex;
    angles t1, t2 are those of the x axes of the markers of the gears about their z axes: t1 = 0 along x of the housing,
    t2 = 0 in its xz plane. The loads of the teeth act on both gears and on no housing. The equations are at the head of
    `connections.elements.machines.bevel_gears`.

    Attributes: `pitch_angles`, `mean_radii`, `ratio`. Signals: ``force``, N, normal to the flanks, positive where gear
    1 drives by a positive rotation; ``transmission_error``, (w1 - w2)/2, m; ``k``, N/m.

    Not modelled: friction of the teeth, motion of the contact along the teeth, tilts beyond a few degrees.

    Raises
    ------
    ModelError
        For gears that do not fit: pitch cones that open beyond 90 degrees, angles out of range.

    Examples
    --------
    >>> import math
    >>> import dalembert as da
    >>> mesh = da.BevelMesh((16, 32), 0.1, 2e8, damping=2e3)
    >>> [round(math.degrees(angle), 3) for angle in mesh.pitch_angles], mesh.ratio
    ([26.565, 63.435], -0.5)
    >>> s = da.System("bevel", gravity=(0, 0, 0))
    >>> pinion = s.body("pinion", mass=1.0, inertia=[1e-3] * 3)
    >>> wheel = s.body("wheel", mass=4.0, inertia=[4e-3] * 3)
    >>> _ = s.connect("P", da.Revolute("z"), s.ground, pinion)
    >>> _ = s.connect("W", da.Revolute("z"), s.ground.at(rotation=("y", math.pi / 2)), wheel)
    >>> _ = s.connect("mesh", mesh, s.ground, pinion, wheel)
    >>> _ = s.drive("P", speed=10.0)
    >>> _ = s.connect("load", da.Effort(5.0), "W")
    >>> round(float(da.simulate(s, 0.5)["W.speed"][-1]), 4)
    -5.0
    """

    is_smooth_at_half_turn: ClassVar[bool] = True
    pitch_angles: tuple[float, float]
    mean_radii: tuple[float, float]
    ratio: float

    def __init__(
        self,
        teeth: Sequence[int],
        cone_distance: float,
        stiffness: float,
        damping: float = 0.0,
        *,
        shaft_angle: float = math.pi / 2,
        pressure_angle: float = math.radians(20.0),
        spiral_angle: float = 0.0,
        backlash: float = 0.0,
        variation: float = 0.0,
        phase: float = 0.0,
    ) -> None:
        item = "BevelMesh"
        counts = _tooth_numbers(item, teeth)
        numbers = positive(item, stiffness=stiffness) | not_negative(item, damping=damping, backlash=backlash)
        R = positive(item, cone_distance=cone_distance)["cone_distance"]
        numbers |= not_negative(item, variation=variation)
        if numbers["variation"] >= 1.0:
            raise ModelError(item, "variation", variation, "it is a part of the stiffness: give 0 to below 1")
        shaft = _angle(item, "shaft_angle", shaft_angle, 0.0, math.pi)
        alpha = _angle(item, "pressure_angle", pressure_angle, 0.0, math.pi / 4)
        beta = _angle(item, "spiral_angle", spiral_angle, -math.pi / 3, math.pi / 3)
        z1, z2 = counts
        d1 = math.atan2(math.sin(shaft), z2 / z1 + math.cos(shaft))
        d2 = shaft - d1
        if max(d1, d2) >= math.pi / 2:
            larger = max(d1, d2)
            remedy = f"a pitch cone opens to {math.degrees(larger):.4g} degrees; external bevel gears need less than 90"
            raise ModelError(item, "teeth", tuple(counts), remedy)
        r1, r2 = R * math.sin(d1), R * math.sin(d2)
        along = math.cos(alpha) * math.cos(beta)
        normals = [
            (
                math.sin(alpha) * math.cos(d1) + side * math.cos(alpha) * math.sin(beta) * math.sin(d1),
                side * along,
                -math.sin(alpha) * math.sin(d1) + side * math.cos(alpha) * math.sin(beta) * math.cos(d1),
            )
            for side in (1.0, -1.0)
        ]
        point = (R * math.sin(d1), 0.0, R * math.cos(d1))
        sine, cosine = math.sin(shaft), math.cos(shaft)
        parts: dict[str, str] = {}
        for k in "12":
            parts |= marker_axis("x", "e", k) | marker_axis("z", "a", k)
        # a_k x z_k
        parts |= {
            "tx1": "-ay1",
            "ty1": "ax1",
            "tz1": "0*ax1",
            "tx2": f"-{cosine!r}*ay2",
            "ty2": f"{cosine!r}*ax2 - {sine!r}*az2",
            "tz2": f"{sine!r}*ay2",
            "turn": "atan2(ey1, ex1)",
            "turn2": f"atan2(ey2, {cosine!r}*ex2 - {sine!r}*ez2)",
            "mesh_angle": f"{z1}*turn + {z2}*turn2 - {finite_number(phase, item=item, field='phase')!r}",
            "w": f"{along * r1 / z1!r}*atan2(sin(mesh_angle), cos(mesh_angle))",
        }
        for side, n in zip(("a", "b"), normals, strict=True):
            arm = _cross(point, n)  # (t x P) . n = t . (P x n)
            shift = [f"({c!r})*({axis}1 - {axis}2)" for c, axis in zip(n, "xyz", strict=True)]
            tilt = [f"({c!r})*(t{axis}1 - t{axis}2)" for c, axis in zip(arm, "xyz", strict=True)]
            parts[f"u_{side}"] = " + ".join(shift + tilt)
        strains = {
            name: _inlined(text, parts) for name, text in (("wa", "w + u_a"), ("wb", "-w + u_b"), ("wc", "turn"))
        }
        laws = {
            "k": "stiffness*(1 + variation*cos(teeth_1*wc))" if numbers["variation"] else "stiffness",
            "in_a": "max(wa - backlash/2, 0)",
            "in_b": "max(wb - backlash/2, 0)",
            "N_a": "in_a*max(k + damping*dwa/(half + in_a), 0)",
            "N_b": "in_b*max(k + damping*dwb/(half + in_b), 0)",
        }
        swing = "stiffness*variation*teeth_1*sin(teeth_1*wc)*(in_a*in_a + in_b*in_b)/2"
        constants = {"half": repr(_HALF * 2 * r1 / z1), "teeth_1": repr(float(z1))}
        super().__init__(
            ("pose", "pose"),
            ("-N_a", "-N_b", swing if numbers["variation"] else "0"),
            numbers,
            energy="k*(in_a*in_a + in_b*in_b)/2",
            definitions=constants | laws,
            strains=strains,
            signals={"force": "N_a - N_b", "transmission_error": "(wa - wb)/2", "k": "k"},
        )
        set_fields(self, pitch_angles=(d1, d2), mean_radii=(r1, r2), ratio=-z1 / z2)


def _inlined(text: str, parts: Mapping[str, str]) -> str:
    """Return a formula with its parts in place of their names."""

    def one(found: re.Match[str]) -> str:
        name = found.group()
        return f"({_inlined(parts[name], parts)})" if name in parts else name

    return re.sub(r"[A-Za-z_]\w*", one, text)


def _cross(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _angle(item: str, field: str, given: Any, low: float, high: float) -> float:
    """Return an angle between limits, both excluded."""
    angle = finite_number(given, item=item, field=field)
    if not low < angle < high:
        raise ModelError(item, field, given, f"give an angle above {low:.4g} and below {high:.4g} rad")
    return angle


def _tooth_numbers(item: str, teeth: Any) -> tuple[int, int]:
    """Return the numbers of teeth."""
    try:
        found = tuple(int(z) for z in teeth)
        whole = len(found) == 2 and all(z == given for z, given in zip(found, teeth, strict=True))
    except (TypeError, ValueError, OverflowError):
        found, whole = (), False
    if not whole or min(found) < 5:
        raise ModelError(item, "teeth", teeth, "give two whole numbers, each at least 5")
    return found[0], found[1]
