"""Fuel injection pump of Sol 1983, chapter 9: cam, roller and plunger with oil films."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import tribology
from ..arrays import Array
from ..checks import checked, finite_number
from ..connections.constraints.cams import CamFollower, RollingCam
from ..connections.constraints.curves import Arc, Curve, Line
from ..connections.elements.built_in import JointSpring
from ..connections.elements.element import Element
from ..connections.elements.lubrication import JournalBearing, TractionFilm
from ..connections.formulas.tables import Table
from ..connections.joints import Planar, Prismatic, Revolute
from ..errors import ModelError
from ..system import System

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["PumpData", "PumpFilms", "fuel_injection_pump", "pump_films"]

SPEEDS = (500.0, 1500.0)  # revolutions per minute of the experiments
MIN_INLET, MAX_INLET = 0.009, 0.015  # m, control of the fuel inlet in the experiments


@dataclass(frozen=True, kw_only=True)
class PumpData:
    """Parameters of the pump. P: printed in the thesis; I: inferred from printed values; O: assumed, plausible.

    Attributes
    ----------
    speed : float, rad/s
        P: of the shaft, -1000 revolutions per minute; the cam's angle is negative in the thesis.
    angle : float, rad
        P: of the shaft at the start, -100 degrees.
    base_radius, roller_radius, top_radius : float, m
        I: 16, 12 and 26 mm, from the printed speeds of the rolling roller (245 rad/s on the basic circle, 332 on the
        top circle) and the lift of 10 mm.
    arc_radius : float, m
        I: 2.45 mm of the transition circles, from the greatest speed, 360 rad/s, where tangents and arcs meet.
    half_angle : float, rad
        O: 78 degrees from the beginning of a tangent to the middle of the cam, so that lift begins "just after" 100
        and ends "just before" 260 degrees, as printed.
    roller_mass, roller_inertia : float, kg, kg m2
        O: a steel ring of 24 mm, bore 18 mm, 18 mm long. (The floating ring between its bore and the pin is left out,
        as in the thesis.)
    plunger_mass : float, kg
        O: plunger with tappet.
    shaft_inertia : float, kg m2
        O; without effect at constant speed.
    spring_stiffness, spring_preload : float, N/m, N
        O: enough to keep the roller on the cam where it is decelerated; the preload is that at zero lift.
    plunger_area : float, m2
        O: a diameter of 8 mm.
    pressure : float, Pa
        O: greatest fuel pressure. Together with the length of contact it is chosen so that Hertz's stress comes to the
        printed 975 N/mm2; more pressure would need a longer contact than such a roller has.
    pressure_start, pressure_end : float, rad
        P: -148 degrees, and between -153 and -156: here -155. See `at` for other speeds and inlet controls.
    pressure_curve : (n,) or (n, 2), or None
        Normed curve from the start to the end of the pulse: values at equal steps of the angle, or pairs of a share of
        the angle, from 0 to 1, and a value. It is multiplied by `pressure`. O: None, a squared sine; the curve of the
        thesis (figure 9.8) is lost.
    bearing_radius, clearance : float, m
        P: clearance 6 um and ratio 1000.
    bearing_length, contact_length : float, m
        O.
    viscosity, pressure_coefficient, shear_stress : float, Pa s, 1/Pa, Pa
        P: engine oil at 90 degrees Celsius.
    modulus : float, Pa
        O: steel on steel.
    """

    speed: float = -1000 * 2 * math.pi / 60
    angle: float = -math.radians(100)
    base_radius: float = 0.016
    roller_radius: float = 0.012
    top_radius: float = 0.026
    arc_radius: float = 0.00245
    half_angle: float = math.radians(78)
    roller_mass: float = 0.0278
    roller_inertia: float = 3.13e-6
    plunger_mass: float = 0.36
    shaft_inertia: float = 1e-4
    spring_stiffness: float = 45e3
    spring_preload: float = 320.0
    plunger_area: float = math.pi / 4 * 0.008**2
    pressure: float = 8e6
    pressure_start: float = -math.radians(148)
    pressure_end: float = -math.radians(155)
    pressure_curve: ArrayLike | None = None
    bearing_radius: float = 0.006
    clearance: float = 6e-6
    bearing_length: float = 0.018
    contact_length: float = 0.017
    viscosity: float = 0.017
    pressure_coefficient: float = 1.85e-8
    shear_stress: float = 5e6
    modulus: float = tribology.reduced_modulus()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name == "pressure_curve":
                continue
            value = finite_number(getattr(self, field.name), item="PumpData", field=field.name)
            signed = field.name in ("speed", "angle", "pressure_start", "pressure_end", "pressure", "spring_preload")
            if not signed and value <= 0:
                raise ModelError("PumpData", field.name, value, "it must be above zero")
        if not self.base_radius < self.top_radius:
            raise ModelError("PumpData", "top_radius", self.top_radius, "it must be above the base radius")
        if not self.arc_radius < self.base_radius:
            raise ModelError("PumpData", "arc_radius", self.arc_radius, "it must be below the base radius")
        if self.pressure_start == self.pressure_end:
            raise ModelError("PumpData", "pressure_end", self.pressure_end, "it must differ from the start")
        if self.pressure_curve is not None:
            curve = self.normed_pressure()
            pairs = tuple(zip(curve.axes[0].tolist(), curve.values.tolist(), strict=True))
            object.__setattr__(self, "pressure_curve", pairs)
        if not self.arc_end < self.half_angle < math.pi / 2:
            raise ModelError(
                "PumpData", "half_angle", self.half_angle, f"it must lie between {self.arc_end:.6g} and pi/2"
            )

    @property
    def flank(self) -> float:
        """Length of the tangents, m."""
        return math.sqrt((self.top_radius - self.arc_radius) ** 2 - (self.base_radius - self.arc_radius) ** 2)

    @property
    def line_end(self) -> float:
        """Turn of the cam from where the roller meets a tangent to where it meets the transition circle, rad."""
        return math.atan2(self.flank, self.base_radius + self.roller_radius)

    @property
    def arc_end(self) -> float:
        """Turn of the cam from where the roller meets a tangent to where it meets the top circle, rad."""
        return math.atan2(self.flank, self.base_radius - self.arc_radius)

    @property
    def reach(self) -> float:
        """Distance of the roller's centre from the shaft on the basic circle, m."""
        return self.base_radius + self.roller_radius

    def at(self, *, speed: float | None = None, inlet: float = MAX_INLET) -> PumpData:
        """Return the data at another speed of the shaft and another control of the fuel inlet.

        In the thesis, start, end and maximum of the pressure pulse are functions of both, fitted to experiments and not
        printed. P: the ranges, and the end between -153 and -156 degrees. O: with w the inlet control and u the speed,
        both from 0 to 1 over their ranges, the pulse lasts 5 + w (1 + 2 u) degrees, and its maximum is proportional to
        the square root of duration times speed, with the present one at 15 mm and 1000 revolutions per minute.

        Parameters
        ----------
        speed : float, rad/s
            Of the shaft, with any sign; 500 to 1500 revolutions per minute. The present one if left out.
        inlet : float, m
            Control variable i_e of the fuel inlet, 9 to 15 mm.

        Examples
        --------
        >>> import math
        >>> low = PumpData().at(speed=-500 * math.pi / 30, inlet=0.009)
        >>> round(math.degrees(low.pressure_end), 3), round(low.pressure / 1e6, 3)
        (-153.0, 4.781)
        """
        speed = self.speed if speed is None else finite_number(speed, item="PumpData.at", field="speed")
        control = finite_number(inlet, item="PumpData.at", field="inlet")
        revolutions = abs(speed) * 30 / math.pi
        for field, value, (low, high), unit in (
            ("speed", revolutions, SPEEDS, "revolutions per minute"),
            ("inlet", control, (MIN_INLET, MAX_INLET), "m"),
        ):
            if not low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
                raise ModelError("PumpData.at", field, value, f"the pressures are known from {low} to {high} {unit}")
        w = (control - MIN_INLET) / (MAX_INLET - MIN_INLET)
        u = (revolutions - SPEEDS[0]) / (SPEEDS[1] - SPEEDS[0])
        duration = math.radians(5 + w * (1 + 2 * u))
        sign = math.copysign(1.0, self.pressure_end - self.pressure_start)
        work = duration * revolutions / (math.radians(7) * 1000)
        return replace(
            self,
            speed=speed,
            pressure=self.pressure * math.sqrt(work),
            pressure_end=self.pressure_start + sign * duration,
        )

    def normed_pressure(self) -> Table:
        """Return the normed pressure over the share of the pulse, from 0 to 1, as a table."""
        if self.pressure_curve is None:
            s = np.linspace(0.0, 1.0, 201)
            return Table(s, values=np.sin(np.pi * s) ** 2, outside="hold")
        try:
            curve = np.asarray(self.pressure_curve, dtype=float)
        except (TypeError, ValueError):
            curve = np.zeros(())
        if curve.ndim == 1 and len(curve) > 1:
            curve = np.column_stack([np.linspace(0.0, 1.0, len(curve)), curve])
        if curve.ndim != 2 or curve.shape[1] != 2 or not np.isfinite(curve).all():
            raise ModelError("PumpData", "pressure_curve", self.pressure_curve, "give (n,) values or (n, 2) pairs")
        if abs(curve[0, 0]) > 1e-12 or abs(curve[-1, 0] - 1.0) > 1e-12 or (np.diff(curve[:, 0]) <= 0).any():
            raise ModelError("PumpData", "pressure_curve", curve[:, 0], "its shares have to rise from 0 to 1")
        return Table(curve[:, 0], values=curve[:, 1], kind="linear", outside="hold")

    def profile(self) -> list[Line | Arc]:
        """Return the profile of the cam in the plane of its body, counterclockwise from the first tangent."""
        middle = 1.5 * math.pi  # up, when the shaft is at -180 degrees
        start, end = middle - self.half_angle, middle + self.half_angle
        foot = _polar(self.base_radius, start)
        head = foot + self.flank * _polar(1.0, start + math.pi / 2)
        centre = head - self.arc_radius * _polar(1.0, start)

        def mirrored(point: Array) -> Array:
            return point * [-1.0, 1.0]

        return [
            Line(foot, head),
            Arc(centre, self.arc_radius, start, start + self.arc_end),
            Arc((0.0, 0.0), self.top_radius, start + self.arc_end, end - self.arc_end),
            Arc(mirrored(centre), self.arc_radius, end - self.arc_end, end),
            Line(mirrored(head), mirrored(foot)),
            Arc((0.0, 0.0), self.base_radius, end, start + 2 * math.pi),
        ]


@checked("films")
def fuel_injection_pump(films: bool = True, data: PumpData | None = None, *, load: float | None = None) -> System:
    """Return the fuel injection pump of Sol 1983, chapter 9: a Bosch pump's cam, roller and plunger.

    The shaft turns about z at constant speed; the plunger slides along y, its guide at zero lift where the roller is on
    the basic circle. Bodies: cam, roller, plunger. The plane of the thesis, x and z, is that of x and y here, with the
    same sense of angles. Without gravity, as there.

    Parameters
    ----------
    films : bool
        False: the kinematic model. The roller turns about the plunger's ``pin`` and rolls on the cam without slip
        (``contact``: `RollingCam`, one of its two rows nonholonomic).

        True: the dynamic model. The roller has ``play`` (three coordinates: eccentricity in the bearing and turn) and
        is held on the cam by ``contact`` alone (`CamFollower`); the film in its bore, ``bearing`` (`JournalBearing`),
        carries the plunger, and the film on the cam, ``traction`` (`TractionFilm`), drives it.
    data : PumpData
        Data, with their origin: printed in the thesis, inferred or assumed.
    load : float, N
        Constant normal load of the film on the cam, in place of the load of the contact: (9.3.11) is left out.

    In both models, a ``spring`` and the ``fuel`` act at the coordinate of the ``guide``. The pressure of the fuel is a
    function of the angle of the shaft and so, at constant speed, of time.

    Values of the thesis that are reproduced: the closed forms (9.2.15-18) and (9.3.7); rolling speeds of 244.3 and
    331.6 rad/s on the circles (printed 245, 332) and at most 360.0 (360), and the lift of 10 mm, with inferred radii.
    Film thickness, stress, slip and eccentricity depend on data that are not printed; see `PumpFilms`.

    erratum: the sign in (9.3.5) is wrong. erratum: (9.3.9), the multiplier of f1(q2) - q3 is the normal load on the
    circles only; elsewhere it is smaller by the cosine of the angle between normal and radius. The multiplier of
    ``contact`` is the normal load everywhere.

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.library.fuel_injection_pump(films=False).compile()
    >>> motion = da.driven_motion(model, t=0.0)
    >>> print(round(float(motion.v[list(model.speed_names).index("pin")] - motion.v[0]), 2))  # relative to the cam
    244.35
    """
    data = PumpData() if data is None else data
    if not isinstance(data, PumpData):
        raise ModelError("fuel_injection_pump", "data", data, "give a PumpData")
    s = System("fuel injection pump", gravity=(0, 0, 0))
    inertia = np.array([1.0, 1.0, 1.0])
    profile = data.profile()
    curve = Curve.path(profile)
    cam = s.body("cam", mass=0.5, inertia=data.shaft_inertia * inertia)
    plunger = s.body("plunger", mass=data.plunger_mass, inertia=data.plunger_mass * 1e-4 * inertia)
    roller = s.body("roller", mass=data.roller_mass, inertia=data.roller_inertia * inertia)
    s.connect("shaft", Revolute("z"), s.ground, cam)
    s.connect("guide", Prismatic("y"), s.ground.at(0, data.reach, 0), plunger)
    s.connect("spring", JointSpring(data.spring_stiffness, rest=-data.spring_preload / data.spring_stiffness), "guide")
    s.connect("fuel", _fuel(data), "guide")
    s.drive("shaft", speed=data.speed)
    s.initial("shaft", position=data.angle, speed=data.speed)
    spin = data.speed * (1 - data.reach / data.roller_radius)  # as it rolls on the basic circle
    if films:
        s.connect("play", Planar("z"), plunger, roller)
        s.connect("contact", CamFollower(curve, "roller", data.roller_radius), cam, roller)
        bearing = JournalBearing(data.bearing_radius, data.clearance, data.bearing_length, data.viscosity)
        s.connect("bearing", bearing, plunger, roller)
        s.connect("traction", _traction(data, "contact" if load is None else load), cam, roller)
        s.initial("play", speed=(0.0, 0.0, spin))
    else:
        s.connect("pin", Revolute("z"), plunger, roller)
        s.connect("contact", RollingCam(curve, data.roller_radius), cam, roller)
        s.initial("pin", speed=spin)
    return s


class PumpFilms(NamedTuple):
    """Film quantities of the pump over a run, each (n,).

    The thesis prints, at 1000 revolutions per minute (in brackets what comes out with the data of `PumpData`, after the
    first revolution): eccentricity ratio 0.10 to 0.50 (0.24 to 0.49); 0.50 to 0.75 with twice the clearance (0.61 to
    0.80); film on the cam 0.26 um in the mean between cam angles of 100 and 260 degrees (0.29), and 0.06 um at least,
    on the transition circles (0.055); Hertz's stress 975 N/mm2 (979 under fuel pressure, and 1050 for less than 1 us
    where tangent and transition circle meet); slip up to 33 % of the mean film velocity at the top of the cam (39 %, as
    the roller enters the first transition circle). The free data were chosen to match these values: the agreement is
    not a validation.

    t : s
    angle : rad, of the shaft
    lift : m
    eccentricity : ratio to the clearance, in the bearing
    bearing_film : m, least thickness in the bearing
    load : N, normal load of the roller on the cam; negative where the roller would lift off
    slip : m/s, of the surface of the roller along the cam, positive where the cam is faster
    rolling : m/s, mean speed of both surfaces relative to the contact
    film : m, least thickness of the film on the cam (Dowson 1968)
    stress : Pa, greatest pressure between roller and cam (Hertz)
    torque : N m, driving torque of the shaft
    """

    t: Array
    angle: Array
    lift: Array
    eccentricity: Array
    bearing_film: Array
    load: Array
    slip: Array
    rolling: Array
    film: Array
    stress: Array
    torque: Array

    @property
    def slip_ratio(self) -> Array:
        """Slip relative to the mean film velocity, (n,)."""
        return np.asarray(self.slip / np.maximum(np.abs(self.rolling), 1e-12))


@checked("result")
def pump_films(result: Result) -> PumpFilms:
    """Compute film thickness, stress, slip, eccentricity and torque at the times of a result.

    Parameters
    ----------
    result : Result
        Of ``fuel_injection_pump()``.
    """
    return PumpFilms(
        t=result.t,
        angle=result["shaft.position"],
        lift=result["guide.position"],
        eccentricity=result["bearing.ratio"],
        bearing_film=result["bearing.film"],
        load=result["contact.contact"],
        slip=result["traction.slip"],
        rolling=result["traction.rolling"],
        film=result["traction.least"],
        stress=result["traction.pressure"],
        torque=result["shaft.effort"],
    )


def _polar(radius: float, angle: float) -> Array:
    return radius * np.array([math.cos(angle), math.sin(angle)])


def _traction(data: PumpData, load: str | float) -> TractionFilm:
    return TractionFilm(
        data.profile(),
        data.roller_radius,
        data.contact_length,
        load=load,
        viscosity=data.viscosity,
        pressure_coefficient=data.pressure_coefficient,
        shear_stress=data.shear_stress,
        modulus=data.modulus,
    )


def _fuel(data: PumpData) -> Element:
    """Return the fuel force on the plunger: the normed curve over the delivery angles."""
    along = 1.0 if data.pressure_end > data.pressure_start else -1.0
    own = data.pressure_curve is not None
    share = f"curve({along}*turn/(2*width) + 1/2)" if own else "cos(pi*turn/(2*width))**2"
    return Element(
        "joint",
        f"-area*pressure*where(abs(turn) < width, {share}, 0)",
        {
            "area": data.plunger_area,
            "pressure": data.pressure,
            "angle": data.angle,
            "speed": data.speed,
            "middle": (data.pressure_start + data.pressure_end) / 2,
            "width": abs(data.pressure_end - data.pressure_start) / 2,
        },
        definitions={"ahead": "angle + speed*t - middle", "turn": "atan2(sin(ahead), cos(ahead))"},
        tables={"curve": data.normed_pressure()} if own else {},
        active=True,
    )
