"""Intermittent drives: ratchets and one-way clutches, and the Geneva drive by contact of its pin and its lock.

Ratchet, with the angle or displacement s and the highest place m that it has reached, a state:

    m' = (s - m)+/T,   face = p floor(m/p),   effort = k (face - s)+ (1 - c s')+,   energy k (face - s)+^2/2        (1)

with the pitch p of the teeth, and face = m for a one-way clutch, whose sprags hold at any place; T = 1 ms.

Geneva drive, in axes of the wheel, with the center c of the driver, its crank radius a = C sin(pi/n) for n slots and
the distance C of the axes, and the pin at q = c + a e. Across and along the next slot, which is radial, the pin is at
(y, x):

    E = g(x) k (|y| - j/2)+^2/2 + h(psi) k (R |eta| - j/2)+^2/2                                                     (2)

with the play j; eta, the angle between c and the next locking arc, midway between slots; R = C cos(pi/n), the radius of
the wheel. g is 1 in the slot and 0 outside of its mouth at R; h is 1 while the lock of the driver is in its arc, which
is where the pin is out of the slots. Loads are the gradient of (2), those of pin and lock times (1 + 3/2 c d') for the
rate d' of their overlaps, if positive.

Source: E. A. Dijksman, Motion Geometry of Mechanisms, Cambridge 1976; J. E. Johnson, Geneva mechanisms, Machine Design
28 (1956).
"""

from __future__ import annotations

import math
from typing import ClassVar

from ...checks import checked, not_negative, positive, set_fields, whole_number
from ...errors import ModelError
from ..formulas.marker_axes import marker_axis
from .contacts import contact_dissipation
from .element import Element

__all__ = ["GenevaContact", "Ratchet"]

_FOLLOW = 1e-3  # s: time in which a pawl follows
_MOUTH = 0.05  # of the crank radius: length over which a slot begins
_NOTHING = 1e-9  # of the distance of the axes: where a side begins
_RELEASE = 0.05  # of the cosine of the driver's angle over which the lock closes


class Ratchet(Element):
    """Ratchet and pawl, or one-way clutch, at a joint: it turns forwards, and holds against turning back.

    Parameters
    ----------
    stiffness : float, N m/rad or N/m
    pitch : float, rad or m
        Of the teeth; zero for a one-way clutch without teeth.
    dissipation : float, s/rad or s/m
        c of (1): of the force where it is pushed back.
    backwards : bool
        It holds against turning forwards.
    start : float, rad or m
        Highest place that it has reached at the start; a tooth is at zero.

    It turns back by a part of a pitch until the pawl meets a tooth. State: m. Signals: ``tooth``, the place of the
    tooth that holds; ``gap``, the way back to it. The equations are at the head of `connections.elements.intermittent`.
    Springs of pawls and the loss as they fall from tooth to tooth are not modelled.

    Examples
    --------
    A weight that is wound up in steps does not run back:

    >>> import numpy as np
    >>> import dalembert as da
    >>> s = da.System("winder", gravity=(0, 0, 0))
    >>> wheel = s.body("wheel", da.cylinder(0.02, 0.1, mass=1.0))
    >>> _ = s.connect("axle", da.Revolute("z"), s.ground, wheel)
    >>> _ = s.connect("ratchet", da.Ratchet(1e4, 2 * np.pi / 20, dissipation=1.0), "axle")
    >>> _ = s.connect("weight", da.Effort(-5.0), "axle")
    >>> s.initial("axle", speed=45.0)
    >>> result = da.simulate(s, 1.0)
    >>> steps = result["axle.position"][-1] / (2 * np.pi / 20)
    >>> bool(steps > 2 and abs(steps - round(steps)) < 0.01)
    True
    """

    @checked("backwards", item="Ratchet")
    def __init__(
        self,
        stiffness: float,
        pitch: float = 0.0,
        *,
        dissipation: float = 0.0,
        backwards: bool = False,
        start: float = 0.0,
    ) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness) | not_negative(item, dissipation=dissipation)
        pitch = not_negative(item, pitch=pitch)["pitch"]
        sign = "-" if backwards else ""
        face = f"{pitch!r}*floor(m/{pitch!r})" if pitch else "m"
        super().__init__(
            "joint",
            f"{sign}(stiffness*back*max(1 - dissipation*rate, 0))",
            numbers,
            {"m": (start, f"max(place - m, 0)/{_FOLLOW!r}")},
            "stiffness*back*back/2",
            definitions={
                "place": f"{sign}s",
                "rate": f"{sign}ds",
                "face": face,
                "back": "max(face - place, 0)",
            },
            signals={"tooth": f"{sign}face", "gap": "place - face"},
        )


@checked("slots")
class GenevaContact(Element):
    """Geneva drive by contact: the pin in the slots, and the lock of the driver, with play.

    Parameters
    ----------
    slots : int
        3 or more.
    distance : float, m
        Of the axes; the crank radius is distance * sin(pi / slots).
    stiffness : float, N/m
        Of pin and lock.
    play : float, m
        Of the pin in a slot, from flank to flank, and of the lock at the rim.
    dissipation : float, s/m
    restitution, at_speed : float, 1 and m/s
        In place of the dissipation: coefficient of restitution at this speed.

    Connect it to a marker of the wheel and one of the driver, ``s.connect("geneva", da.GenevaContact(4, 0.1, 1e6),
    wheel, driver)``, both with z along their axes: the x axis of the wheel's is along a slot, the pin is on the x axis
    of the driver's. The wheel is free by the play.

    Attributes: `crank_radius`, `wheel_radius`, m. Signals: ``pin_force``, ``lock_force``, N; ``depth``, m, of the pin
    in the slot, negative outside. The equations are at the head of `connections.elements.intermittent`. Friction, and a
    pin that meets the rim beside a slot, are not modelled. `library.geneva` is the ideal drive.

    Examples
    --------
    >>> import dalembert as da
    >>> drive = da.GenevaContact(4, 0.1, 1e6, play=2e-5, restitution=0.5)
    >>> round(drive.crank_radius, 6), round(drive.wheel_radius, 6)
    (0.070711, 0.070711)
    """

    is_smooth_at_half_turn: ClassVar[bool] = True
    crank_radius: float
    wheel_radius: float

    def __init__(
        self,
        slots: int,
        distance: float,
        stiffness: float,
        *,
        play: float = 0.0,
        dissipation: float = 0.0,
        restitution: float | None = None,
        at_speed: float = 1.0,
    ) -> None:
        item = self.kind
        n = whole_number(slots, item=item, field="slots", least=3)
        distance = positive(item, distance=distance)["distance"]
        numbers = positive(item, stiffness=stiffness) | not_negative(item, play=play)
        numbers["dissipation"] = contact_dissipation(item, dissipation, restitution, at_speed)
        a, R = distance * math.sin(math.pi / n), distance * math.cos(math.pi / n)
        if play >= 0.2 * a:
            raise ModelError(item, "play", play, f"give less than a fifth of the crank radius, {0.2 * a:.4g} m")
        mouth = _MOUTH * a
        parts = marker_axis("x", "e") | {
            "px": f"x + {a!r}*ex",
            "py": f"y + {a!r}*ey",
            "vpx": f"vx + {a!r}*(wy*ez - wz*ey)",
            "vpy": f"vy + {a!r}*(wz*ex - wx*ez)",
            # the next slot
            "phi": "atan2(py, px)",
            "delta": f"atan2(sin({n}*phi), cos({n}*phi))/{n}",
            "r": "sqrt(px*px + py*py)",
            "along": "r*cos(delta)",
            "across": "r*sin(delta)",
            "sx": "cos(phi - delta)",
            "sy": "sin(phi - delta)",
            # without jumps, also where another slot becomes the next one
            "off": f"sqrt(across*across + {_NOTHING**2 * distance**2!r})",
            "way": "across/off",
            "d1": "max(off - play/2, 0)",
            "u1": f"min(max(({R + mouth / 2!r} - along)/{mouth!r}, 0), 1)",
            "g": "u1*u1*(3 - 2*u1)",
            "dg": f"-6*u1*(1 - u1)/{mouth!r}",
            "rate1": "way*(-sy*vpx + sx*vpy)",
            "pin": "g*stiffness*d1*max(1 + 1.5*dissipation*rate1, 0)",
            "push": "-dg*stiffness*d1*d1/2",
            "qx": "push*sx + way*pin*sy",
            "qy": "push*sy - way*pin*sx",
            # the lock
            "c": "sqrt(x*x + y*y)",
            "hx": "x/c",
            "hy": "y/c",
            "gamma": "atan2(y, x)",
            "eta": f"atan2(-sin({n}*gamma), -cos({n}*gamma))/{n}",
            "turned": f"sqrt(eta*eta + {_NOTHING**2!r})",
            "side": "eta/turned",
            "d2": f"max({R!r}*turned - play/2, 0)",
            "facing": "-(ex*hx + ey*hy)",
            "u2": f"min(max(({math.sin(math.pi / n)!r} - facing)/{_RELEASE!r}, 0), 1)",
            "h": "u2*u2*(3 - 2*u2)",
            "dh": f"-6*u2*(1 - u2)/{_RELEASE!r}",
            "rate2": f"{R!r}*side*(hx*vy - hy*vx)/c",
            "lock": "h*stiffness*d2*max(1 + 1.5*dissipation*rate2, 0)",
            "ease": "-dh*stiffness*d2*d2/2",
            "bear": f"-{R!r}*side*lock/c",
            "swing": "ex*hy - ey*hx",  # rate of `facing` by the angle of the driver, and of the direction of c less
        }
        super().__init__(
            "pose",
            (
                "qx - (bear + ease*swing/c)*hy",
                "qy + (bear + ease*swing/c)*hx",
                "0",
                f"ez*(ease*hy - {a!r}*qy)",
                f"ez*({a!r}*qx - ease*hx)",
                f"{a!r}*(ex*qy - ey*qx) - ease*swing",
            ),
            numbers,
            energy="g*stiffness*d1*d1/2 + h*stiffness*d2*d2/2",
            definitions=parts,
            signals={"pin_force": "pin", "lock_force": "lock", "depth": f"{R!r} - along"},
        )
        set_fields(self, crank_radius=a, wheel_radius=R)
