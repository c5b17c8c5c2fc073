"""Oil films: a journal bearing, and the traction of a roller on a cam.

Both dissipate energy in the oil and store none, except in contact of the walls. The formulas, with their sources, are
those of `dalembert.tribology`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import checked, finite_number, not_negative, one_of, positive
from ...errors import ModelError
from ...tribology import CONTACT_ANGLES, CONTACT_WEIGHTS, reduced_modulus
from ..constraints.curves import Arc, Curve, Line
from .element import Element
from .signals import Reaction

__all__ = ["JournalBearing", "TractionFilm"]


@checked("friction")
class JournalBearing(Element):
    """Hydrodynamic journal bearing of finite length: impedance method, half film (pi-bearing).

    The axis is z of the first marker; the bearing is centred where the second marker's origin is on it. Journal and
    sleeve may be on either marker.

    Parameters
    ----------
    radius : float, m
        R, of the journal.
    clearance : float, m
        c, difference of the radii; below a tenth of the radius.
    length : float, m
        L, along the axis.
    viscosity : float, Pa s
    friction : str
        ``"full"``: oil all around shears; ``"half"``: only on the half that carries pressure; ``"none"``.
    limit : float
        Greatest eccentricity ratio at which the film is evaluated, below 1.
    stiffness : float, N/m
        Of the walls, which touch beyond the limit. Left out: pi/4 E' L of steel, a line contact's order of magnitude.

    With the position e of the second marker across the axis, its velocity e' and its angular velocity w about the axis,
    all seen from the first, the squeeze velocity is V = e' - (w/2) z x e, and the force on the second

        F = -2 viscosity L (R/c)^3 |V| W(e/c, V/|V|, L/2R)  along V turned by an angle

    with the impedance W and the angle of `tribology.journal_impedance` (D. Childs, H. Moes, H. van Leeuwen, J. Lubr.
    Technol. 99 (1977) 198-210; H. Moes, R. Bosma, J. Lubr. Technol. 103 (1981) 468-470). The moment of friction is

        M = -viscosity R^3 L J w / c - (e x F)_z / 2,   J = 2 pi / sqrt(1 - (e/c)^2)  all around (Petroff's is 2 pi)

    or J = (pi + 2 atan((e . V) / (c |V| sqrt(1 - (e/c)^2)))) / sqrt(1 - (e/c)^2) on the half in the direction of V. The
    power of the film is F . V - viscosity R^3 L J w^2 / c, never above zero.

    Accuracy: against numerical solutions of Reynolds' equation with free film rupture, for all directions of V, the
    force is within 4 % for L/D up to 1/2 and an eccentricity ratio up to 0.5, 13 % for L/D up to 1 and ratios up to
    0.7, 28 % up to 0.9; at L/D = 2 within 36 %. With film boundaries fixed at 90 degrees on both sides of V (the
    pi-bearing proper): 13 %, 29 % and 50 %, and 40 % at L/D = 2. The largest deviations occur for forces that are small
    compared with those of the same film for V towards the wall.

    Towards contact the force grows as (1 - e/c)^(-3/2) to (-5/2). Beyond the `limit` the film force stays constant, and
    the walls push back with stiffness (|e| - limit c), which is stored: so every eccentricity has a force, and one at
    or above the clearance means that the walls have touched. Tilting of the axes and axial motion have no effect. Not
    modelled: static force, oil supply, heating and inertia of the oil.

    Parameters by name: radius, clearance, length, viscosity, limit, stiffness. Signals, known to a `Result` by name:
    ``ratio``, the eccentricity over the clearance, and ``film``, m, the least thickness.

    Examples
    --------
    >>> import dalembert as da
    >>> bearing = da.JournalBearing(radius=6e-3, clearance=6e-6, length=16e-3, viscosity=0.017)
    >>> bearing.measure
    'pose'
    """

    def __init__(
        self,
        radius: float,
        clearance: float,
        length: float,
        viscosity: float,
        *,
        friction: str = "full",
        limit: float = 0.99,
        stiffness: float | None = None,
    ) -> None:
        item = self.kind
        numbers = positive(item, radius=radius, clearance=clearance, length=length, viscosity=viscosity)
        if clearance >= 0.1 * radius:
            raise ModelError(
                item, "clearance", clearance, f"a thin film is below a tenth of the radius, {0.1 * radius:.6g} m"
            )
        if not 0 < finite_number(limit, item=item, field="limit") < 1:
            raise ModelError(item, "limit", limit, "it must lie between 0 and 1")
        one_of(item, "friction", friction, tuple(_SHEAR))
        walls = math.pi / 4 * reduced_modulus() * length if stiffness is None else stiffness
        numbers |= {"limit": float(limit)} | not_negative(item, stiffness=walls)
        parts = {
            "Vx": "vx + wz*y/2",
            "Vy": "vy - wz*x/2",
            "V": "sqrt(Vx*Vx + Vy*Vy + 1e-30)",
            "away": "sqrt(x*x + y*y + 1e-40)",
            "near": "min(1, limit*clearance/away)/(clearance*V)",  # where the film is evaluated
            "ahead": "near*(x*Vx + y*Vy)",
            "aside": "near*(x*Vy - y*Vx)",
            "flat": "(2*radius/length)**2",
            "square": "ahead*ahead + aside*aside",
            "r": "sqrt(1 - aside*aside)",
            "arc": "atan(aside/r)",
            "B": "(1 - square)*flat",
            "slope": "3*(1 + 3.60*B)*aside/(4*(1 + 2.12*B)*r)",
            "turn": "(1 - ahead/r)*(arc - atan(slope)) - arc",
            "ct": "cos(turn)",
            "st": "sin(turn)",
            "gap": "1 - (ahead*ct - aside*st)",
            "Q": "gap*flat",
            "E": "1 + 2.12*Q",
            "G": "0.75*(aside*ct + ahead*st)*(1 + 3.60*Q)/gap",
            "press": "2*viscosity*length*(radius/clearance)**3/(0.150*sqrt(E*E + G*G)*gap*sqrt(gap))",
            "wall": "stiffness*max(away - limit*clearance, 0)/away",
            "Fx": "-press*(ct*Vx - st*Vy) - wall*x",
            "Fy": "-press*(st*Vx + ct*Vy) - wall*y",
            "open": "sqrt(1 - square)",
            "drag": f"viscosity*radius**3*length*({_SHEAR[friction]})/(clearance*open)",
        }
        super().__init__(
            "pose",
            ("Fx", "Fy", 0.0, 0.0, 0.0, "-drag*wz - (x*Fy - y*Fx)/2"),
            numbers,
            energy="stiffness*max(away - limit*clearance, 0)**2/2",
            definitions=parts,
            signals={"ratio": "away/clearance", "film": "clearance - away"},
        )


_SHEAR = {"full": "2*pi", "half": "pi + 2*atan(ahead/open)", "none": "0"}


class TractionFilm(Element):
    """Traction of the elastohydrodynamic film between a cam and a roller, or between two rollers.

    Parameters
    ----------
    profile : float, or sequence of Line and Arc
        Radius (m) of a cylinder about z of the first marker; or the closed profile of a cam in the plane z = 0 of the
        first marker, without hollows, counterclockwise as for `Curve.path`. At most one arc takes 180 degrees or more.
    radius : float, m
        Of the roller about z of the second marker.
    length : float, m
        Of the line of contact.
    load : float, N; or str or Connection
        Load that presses the surfaces together; at zero or below there is no traction. Or the name of the constraint
        that keeps the roller on the cam (a `CamFollower` between the same markers): its normal load, solved at every
        evaluation together with the traction that depends on it (see `Reaction`).
    viscosity : float, Pa s
        eta0, at ambient pressure.
    pressure_coefficient : float, 1/Pa
        alpha of Barus, viscosity = eta0 exp(alpha p).
    shear_stress : float, Pa
        tau0 of Eyring.
    modulus : float, Pa
        `tribology.reduced_modulus`; steel on steel if left out.
    least_film : float, m
        Thickness below which the film does not fall when the surfaces come to rest: their roughness.
    slip_speed : float, m/s
        Slip below which the stress grows at most in proportion: under high pressure the oil is nearly solid, and would
        stick.

    Seen from the first marker, with the tangent t where a roller about the second marker touches (or would, were it
    nearer), the velocity v of its centre, its angular velocity w about z, and the curvature k of the profile, the slip
    of the surfaces and the mean of their speeds past the contact are

        s = t . v - radius w,   u = s/2 - t . v / (1 + k radius)

    and the force on the roller, at the contact, is -f(s, u, load) load t, with f of `tribology.eyring_traction`: tau =
    tau0 asinh(eta(p) s / (tau0 h)) averaged over Hertz's pressure, in a film h of `tribology.central_film`; with S =
    sqrt(s^2 + slip_speed^2), f is f(S) s/S. It dissipates force times slip. Isothermal, without elastic shear; the
    film's thickness changes no geometry.

    The element exerts no normal force. A load that is a number is a parameter by name, ``"film.load"``.
    Signals, known to a `Result` by name: ``slip`` and ``rolling``, m/s; ``normal``, N; ``film``, m, in the middle of
    the contact; ``least``, m, the minimum of `tribology.minimum_film`; ``pressure``, Pa, Hertz's greatest;
    ``traction``, the coefficient f.

    Examples
    --------
    >>> import dalembert as da
    >>> oil = dict(viscosity=0.017, pressure_coefficient=1.85e-8, shear_stress=5e6)
    >>> film = da.TractionFilm(profile=0.02, radius=0.01, length=0.02, load=500.0, **oil)
    >>> film.parameters["load"]
    500.0
    """

    def __init__(
        self,
        profile: float | Sequence[Line | Arc],
        radius: float,
        length: float,
        *,
        load: Any,
        viscosity: float,
        pressure_coefficient: float,
        shear_stress: float,
        modulus: float | None = None,
        least_film: float = 1e-8,
        slip_speed: float = 1e-3,
    ) -> None:
        item = self.kind
        steel = reduced_modulus() if modulus is None else modulus
        numbers = positive(
            item,
            radius=radius,
            length=length,
            viscosity=viscosity,
            pressure_coefficient=pressure_coefficient,
            shear_stress=shear_stress,
            modulus=steel,
            least_film=least_film,
            slip_speed=slip_speed,
        )
        name = getattr(load, "name", load)
        if isinstance(name, str):
            # of the second marker, in its axes, which are turned by rz
            inputs: dict[str, Any] = {"nx": Reaction(name, "force.x"), "ny": Reaction(name, "force.y")}
            pressed = "(cos(rz)*nx - sin(rz)*ny)*ty - (sin(rz)*nx + cos(rz)*ny)*tx"
        else:
            inputs, pressed = {"load": finite_number(load, item=item, field="load")}, "load"
        super().__init__(
            "pose",
            ("-pull*tx", "-pull*ty", 0.0, 0.0, 0.0, "radius*pull"),
            numbers,
            definitions=_touch(item, profile) | {"push": pressed} | _TRACTION,
            inputs=inputs,
            signals=_SIGNALS,
        )


# asinh of a positive number, without loss of digits near zero
_ASINH = "where({0} < 1e-3, {0} - {0}*{0}*{0}/6, log({0} + sqrt({0}*{0} + 1)))"
_TRACTION: dict[str, Any] = {
    "along": "tx*vx + ty*vy",
    "sliding": "along - radius*wz",
    "mean_speed": "sliding/2 - along/(1 + bend*radius)",
    "press": "max(push, 0)",
    "R": "radius/(1 + bend*radius)",
    "peak": "sqrt(max(press, 1e-9)*modulus/(2*pi*R*length))",
    "U": "viscosity*sqrt(mean_speed*mean_speed + 1e-18)/(modulus*R)",
    "W": "max(press, 1e-9)/(length*modulus*R)",
    "thick": "max(3.06*R*U**0.69*(pressure_coefficient*modulus)**0.56*W**(-0.10), least_film)",
    "faster": "sqrt(sliding*sliding + slip_speed*slip_speed)",
    "rate": "viscosity*faster/(shear_stress*thick)",
    **{f"g{k}": f"rate*exp(min(pressure_coefficient*peak*{math.cos(a)!r}, 300))" for k, a in enumerate(CONTACT_ANGLES)},
    "asinh_mean": " + ".join(f"{w!r}*{_ASINH.format(f'g{k}')}" for k, w in enumerate(CONTACT_WEIGHTS)),
    # tau0 times the mean, over the mean pressure
    "coefficient": f"shear_stress*asinh_mean*sliding/({math.pi / 4!r}*peak*faster)",
    "pull": "press*coefficient",
}
_SIGNALS = {
    "slip": "sliding",
    "rolling": "mean_speed",
    "normal": "push",
    "film": "thick",
    "least": "max(2.65*R*U**0.70*(pressure_coefficient*modulus)**0.54*W**(-0.13), least_film)",
    "pressure": "where(0 < push, peak, 0)",
    "traction": "coefficient",
}


def _touch(item: str, profile: Any) -> dict[str, Any]:
    """Return the parts tx, ty (tangent, counterclockwise) and bend (curvature, 1/m) at the contact of a roller."""
    if not isinstance(profile, (list, tuple)):
        R = positive(item, profile=profile)["profile"]
        far = "sqrt(x*x + y*y + 1e-30)"
        return {"far": far, "tx": "-y/far", "ty": "x/far", "bend": 1 / R}
    Curve.path(profile)  # it closes without corners
    segments = list(profile)
    wide = [k for k, part in enumerate(segments) if isinstance(part, Arc) and part.end - part.start >= math.pi - 1e-9]
    if len(wide) > 1:
        raise ModelError(item, "profile", "two arcs of 180 degrees or more", "divide one of them")
    for k, part in enumerate(segments):
        if isinstance(part, Arc) and part.end < part.start:
            raise ModelError(item, "profile", f"segment {k} runs clockwise", "run counterclockwise, without hollows")
    rest = wide[0] if wide else 0
    found: dict[str, Any] = {}
    result = [_segment(f"s{rest}", segments[rest], found)]
    for k, part in enumerate(segments):
        if k == rest:
            continue
        tx, ty, bend = _segment(f"s{k}", part, found)
        (ax, ay), (dx, dy) = _end(part, 0)
        (bx, by), (ex, ey) = _end(part, 1)
        # beyond the normal at its start, before the normal at its end, and on the outside
        found[f"in{k}"] = (
            f"where(0 < {dx!r}*(x - {ax!r}) + {dy!r}*(y - {ay!r}),"
            f" where({ex!r}*(x - {bx!r}) + {ey!r}*(y - {by!r}) < 0,"
            f" where(0 < {dy!r}*(x - {ax!r}) - {dx!r}*(y - {ay!r}), 1, 0), 0), 0)"
            if isinstance(part, Line)
            else f"where(0 < {dx!r}*(x - {ax!r}) + {dy!r}*(y - {ay!r}),"
            f" where({ex!r}*(x - {bx!r}) + {ey!r}*(y - {by!r}) < 0, 1, 0), 0)"
        )
        result.append((tx, ty, bend))
    names = ("tx", "ty", "bend")
    for j, name in enumerate(names):
        text = str(result[0][j])
        others = [k for k in range(len(segments)) if k != rest]
        for k, part_result in zip(others, result[1:], strict=True):
            text = f"where(0.5 < in{k}, {part_result[j]}, {text})"
        found[name] = text
    return found


def _segment(name: str, part: Line | Arc, found: dict[str, Any]) -> tuple[str, str, str]:
    """Return the texts of tangent and curvature on a segment, and their parts."""
    if isinstance(part, Line):
        (_, _), (dx, dy) = _end(part, 0)
        return repr(dx), repr(dy), "0"
    x, y = (float(c) for c in part.centre)
    found[f"{name}x"], found[f"{name}y"] = f"x - {x!r}", f"y - {y!r}"
    found[f"{name}r"] = f"sqrt({name}x*{name}x + {name}y*{name}y + 1e-30)"
    return f"-{name}y/{name}r", f"{name}x/{name}r", repr(1 / float(part.radius))


def _end(part: Line | Arc, which: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return position and direction of a segment at its start (0) or end (1)."""
    if isinstance(part, Line):
        d = (part.end - part.start) / np.linalg.norm(part.end - part.start)
        at = part.end if which else part.start
        return (float(at[0]), float(at[1])), (float(d[0]), float(d[1]))
    angle = part.end if which else part.start
    c, s = math.cos(angle), math.sin(angle)
    return (float(part.centre[0] + part.radius * c), float(part.centre[1] + part.radius * s)), (-s, c)
