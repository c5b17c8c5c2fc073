"""Bars and beams between two markers: large motion, small strain."""

from __future__ import annotations

from collections.abc import Sequence

from ...checks import checked, finite, not_negative, positive, shape_of
from ...errors import ModelError
from .element import Element

__all__ = ["BeamElement", "ElasticBar"]


class ElasticBar(Element):
    """Elastic bar along the line between two markers: axial force only, no bending.

    Parameters
    ----------
    stiffness : float, N
        E A: force per unit of strain.
    length : float, m
        l, unloaded except for the preload.
    preload : float, N
        Tension at this length.
    damping : float, N s
        Force per unit of the rate of strain.

    With the strain e = (s - l) / l the tension is preload + stiffness e + damping e'. It stores
    l (preload e + stiffness e^2 / 2).

    Examples
    --------
    >>> import dalembert as da
    >>> steel = da.ElasticBar(210e9 * 1e-4, length=2.0)
    >>> steel.evaluate([[0.0, 2.001, 0.0, *steel.parameters.values()]]).round(6).tolist()  # force, energy
    [[-10500.0, 5.25]]
    """

    def __init__(self, stiffness: float, length: float, *, preload: float = 0.0, damping: float = 0.0) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness, length=length)
        numbers |= finite(item, preload=preload) | not_negative(item, damping=damping)
        super().__init__(
            "distance",
            "-(preload + stiffness*strain + damping*ds/length)",
            numbers,
            energy="length*(preload*strain + stiffness*strain*strain/2)",
            definitions={"strain": "(s - length)/length"},
        )


@checked("bending", "shear")
class BeamElement(Element):
    """Straight massless beam between two markers, for large motions and small strains.

    The beam leaves the first marker along its x axis and arrives at the second along the x axis of that. Unloaded, the
    second is at (length, 0, 0) of the first, with the same axes. The beam is massless; a slender member is a row of
    bodies and beams.

    Parameters
    ----------
    length : float, m
    axial : float, N
        E A.
    bending : float or (2,) N m^2
        E I about the y and the z axis; one number for both.
    torsion : float, N m^2
        G J; zero for motions in a plane.
    shear : float or (2,) N
        G A_s along y and z; infinite, as in the beam of Euler and Bernoulli, if left out.
    damping : float, s
        Each stiffness term times this resists the rate of its strain.

    Strains are measured in a frame midway between the two ends: with the rotation vector phi of the second marker, in
    axes of the first, it is rotated by phi/2. Both ends are treated alike, and rigid motion causes exactly zero strain.
    In this frame, with d = (dx, dy, dz) from end to end, the stiffness matrix of the beam (12 by 12, e.g. J. S.
    Przemieniecki, Theory of Matrix Structural Analysis, 1968, ch. 5) has no cross terms left, and the energy is half of

        E A/L u^2 + 12 E Iz/(L^3 (1 + sy)) dy^2 + 12 E Iy/(L^3 (1 + sz)) dz^2
        + G J/L phix^2 + E Iy/L phiy^2 + E Iz/L phiz^2,       sy = 12 E Iz/(G A_y L^2), sz = 12 E Iy/(G A_z L^2)
        u = dx - L + 3/(5 L) (dy^2 + dz^2) + L/24 (phiy^2 + phiz^2)

    The last two terms are the shortening of the chord of a bent beam: a beam rolls up without being stretched, tension
    stiffens it, pressure makes it buckle. Forces are the gradient of the energy, by the half rotation H = exp(phi/2),
    whose angular velocity is (omega - tan(|phi|/4)/|phi| phi x omega)/2, and the tangent map of rotations (see
    `Bushing`). The relative rotation of the ends stays below 180 degrees, and strains are accurate for bends of about
    half a radian: in pure bending the relative error of the chord is phi^4/1920. Use more elements for larger bending.

    Parameters that can change during a run: length, EA, EIy, EIz, GJ, sy, sz, damping.

    Examples
    --------
    >>> import dalembert as da
    >>> beam = da.BeamElement(0.5, axial=1e6, bending=10.0, torsion=8.0)
    >>> pulled = [0.0, 0.5001, *[0.0] * 11, *beam.parameters.values()]
    >>> beam.evaluate([pulled])[0, 0].round(6).item()
    -200.0
    """

    def __init__(
        self,
        length: float,
        *,
        axial: float,
        bending: float | Sequence[float],
        torsion: float = 0.0,
        shear: float | Sequence[float] | None = None,
        damping: float = 0.0,
    ) -> None:
        item = self.kind
        EIy, EIz = _pair(item, "bending", bending)
        numbers = positive(item, length=length, EA=axial) | not_negative(item, EIy=EIy, EIz=EIz, GJ=torsion)
        GAy, GAz = (None, None) if shear is None else _pair(item, "shear", shear)
        for name, bend, stiffness in (("sy", EIz, GAy), ("sz", EIy, GAz)):
            if stiffness is not None:
                positive(item, shear=stiffness)
            numbers[name] = 0.0 if stiffness is None else 12 * bend / (stiffness * length**2)
        numbers |= not_negative(item, damping=damping)
        force = tuple(f"-G{i}" for i in "xyz")
        # moments: of the force through the half rotation, and of the change of the rotation vector
        moment = tuple(f"-((m{i} + quarter*c{i})/2 + h{i} + k{i}/2 + tangent*l{i})" for i in "xyz")
        super().__init__("pose", (*force, *moment), numbers, energy=_ENERGY, definitions=_beam_parts())


_ENERGY = "(EA/length*u*u + ay*dy*dy + az*dz*dz + (GJ*rx*rx + EIy*ry*ry + EIz*rz*rz)/length)/2"


def _pair(item: str, field: str, given: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(given, (int, float)):
        return float(given), float(given)
    if shape_of(given) != (2,):
        raise ModelError(item, field, given, "give one number, or two: about or along y and z")
    return given[0], given[1]


def _cross(name: str, a: str, b: str) -> dict[str, str]:
    """Return the definitions of name = a x b; vectors are named by a format with a field for the axis."""
    axes = ("x", "y", "z")
    return {
        name.format(axes[i]): f"{a.format(axes[j])}*{b.format(axes[k])} - {a.format(axes[k])}*{b.format(axes[j])}"
        for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1)))
    }


def _series(name: str, coefficients: Sequence[str], closed: str) -> dict[str, str]:
    """Return the definition of a function of turn = |phi|^2: a power series near zero, closed form beyond."""
    nested = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        nested = f"{c} + turn*({nested})"
    return {name: f"where(turn < 0.01, {nested}, {closed})"}


def _beam_parts() -> dict[str, str]:
    parts = {"turn": "rx*rx + ry*ry + rz*rz", "angle": "sqrt(max(turn, 0.01))"}
    # H = 1 + sine phi x + versine phi x phi x
    parts |= _series("sine", ("1/2", "-1/48", "1/3840", "-1/645120"), "sin(angle/2)/angle")
    parts |= _series("versine", ("1/8", "-1/384", "1/46080", "-1/10321920"), "(1 - cos(angle/2))/angle**2")
    parts |= _series("quarter", ("1/4", "1/192", "1/7680", "17/5160960"), "tan(angle/4)/angle")
    parts |= _series(
        "tangent",
        ("1/12", "1/720", "1/30240", "1/1209600", "1/47900160"),
        "(1 - angle/2*cos(angle/2)/sin(angle/2))/angle**2",
    )
    # position d and its rate in the midway frame: H^T p, H^T (v - half x p)
    parts |= _cross("wr{}", "r{}", "w{}") | _cross("wrr{}", "r{}", "wr{}")
    parts |= {f"half{i}": f"(w{i} - quarter*wr{i})/2" for i in "xyz"}
    parts |= _cross("swept{}", "half{}", "{}")
    parts |= {f"seen{i}": f"v{i} - swept{i}" for i in "xyz"}
    parts |= {f"turned{i}": f"w{i} - wr{i}/2 + tangent*wrr{i}" for i in "xyz"}  # rate of phi
    for name, vector in (("d", "{}"), ("rate", "seen{}")):
        parts |= _cross(f"{name}1{{}}", "r{}", vector) | _cross(f"{name}2{{}}", "r{}", f"{name}1{{}}")
        parts |= {f"{name}{i}": f"{vector.format(i)} - sine*{name}1{i} + versine*{name}2{i}" for i in "xyz"}
    # strains and stresses, those of the rates included
    parts |= {
        "ay": "12*EIz/(length**3*(1 + sy))",
        "az": "12*EIy/(length**3*(1 + sz))",
        "u": "dx - length + 0.6/length*(dy*dy + dz*dz) + length/24*(ry*ry + rz*rz)",
        "du": "ratex + 1.2/length*(dy*ratey + dz*ratez) + length/12*(ry*turnedy + rz*turnedz)",
        "N": "EA/length*(u + damping*du)",
        "gx": "N",
        "gy": "N*1.2/length*dy + ay*(dy + damping*ratey)",
        "gz": "N*1.2/length*dz + az*(dz + damping*ratez)",
        "hx": "GJ/length*(rx + damping*turnedx)",
        "hy": "N*length/12*ry + EIy/length*(ry + damping*turnedy)",
        "hz": "N*length/12*rz + EIz/length*(rz + damping*turnedz)",
    }
    # G = H g, the force against displacement; m = G x p, the opposite moment about the first marker's origin
    parts |= _cross("g1{}", "r{}", "g{}") | _cross("g2{}", "r{}", "g1{}")
    parts |= {f"G{i}": f"g{i} + sine*g1{i} + versine*g2{i}" for i in "xyz"}
    parts |= _cross("m{}", "G{}", "{}") | _cross("c{}", "r{}", "m{}")
    parts |= _cross("k{}", "r{}", "h{}") | _cross("l{}", "r{}", "k{}")
    return parts
