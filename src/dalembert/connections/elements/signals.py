"""Inputs of laws: relative motion, signals of other elements, transmitted loads, delayed outputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ...checks import checked, finite_number, set_fields
from ...errors import ModelError
from ..laws import Law, as_law

if TYPE_CHECKING:
    from ...bodies.markers import Marker

__all__ = ["MEASURES", "Along", "Delay", "Reaction", "Sensor", "Source", "as_source", "parts_in"]

_POSE = ("x", "y", "z", "rx", "ry", "rz"), ("vx", "vy", "vz", "wx", "wy", "wz")
# in the order of core/model/element_data.hpp: Measure
MEASURES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "joint": (("s",), ("ds",)),
    "distance": (("s",), ("ds",)),
    "place": (_POSE[0][:3], _POSE[1][:3]),
    "pose": _POSE,
}
Along = Literal["joint", "distance"]  # measures of elements that act along one coordinate
_PARTS = tuple(f"{kind}.{axis}" for kind in ("moment", "force") for axis in "xyz")
_SHORT = {f"{part[0].upper()}{part[-1]}": part for part in _PARTS}  # "Fx": "force.x"


@checked("quantity")
@dataclass(frozen=True, eq=False)
class Sensor:
    """Measure between two markers, as an input of a law.

    Parameters
    ----------
    first, second : Body or Marker
        Measures of the second relative to the first, in its axes.
    quantity : str
        ``"s"``, ``"ds"``: their distance and its rate; ``"x" ... "z"``, ``"vx" ... "vz"``: position and velocity;
        ``"rx" ... "rz"``, ``"wx" ... "wz"``: rotation vector and angular velocity.

    Examples
    --------
    A damper that acts on a flywheel in proportion to the velocity of a mass elsewhere:

    >>> import dalembert as da
    >>> s = da.System("sensed", gravity=(0, 0, 0))
    >>> wheel, mass = (s.body(n, da.box(0.1, 0.1, 0.1, mass=1.0)) for n in ("wheel", "mass"))
    >>> _ = s.connect("spin", da.Revolute("z"), s.ground, wheel)
    >>> _ = s.connect("slide", da.Prismatic("x"), s.ground, mass)
    >>> law = da.Element("joint", "-c*rate", {"c": 2.0}, inputs={"rate": da.Sensor(s.ground, mass, "vx")}, active=True)
    >>> _ = s.connect("brake", law, "spin")
    """

    first: Any
    second: Any
    quantity: str = "s"

    def __post_init__(self) -> None:
        for end in ("first", "second"):
            body = getattr(self, end)
            set_fields(self, **{end: getattr(body, "origin", body)})
        known = ("s", "ds", *_POSE[0], *_POSE[1])
        if self.quantity not in known:
            raise ModelError("Sensor", "quantity", self.quantity, f"use one of {', '.join(known)}")

    @property
    def measure(self) -> str:
        """Name of the measure in the core."""
        if self.quantity in ("s", "ds"):
            return "distance"
        return "place" if self.quantity in (*_POSE[0][:3], *_POSE[1][:3]) else "pose"

    @property
    def part(self) -> int:
        """Index among measures and rates."""
        names = MEASURES[self.measure]
        return (*names[0], *names[1]).index(self.quantity)

    def between(self, twin: Callable[[Marker], Marker]) -> Sensor:
        """Return the same sensor between other markers."""
        return replace(self, first=twin(self.first), second=twin(self.second))


@checked("part")
@dataclass(frozen=True, eq=False)
class Reaction:
    """Load that a joint or constraint transmits to its second marker, as an input of a law.

    Parameters
    ----------
    connection : str
        Its name.
    part : str
        ``"force.x" ... "moment.z"``: at the second marker's origin, in its axes.

    The loads depend on the forces that depend on them; both are solved together at every evaluation, by Newton's method
    (Sol 1983, section 9.3). So friction can be proportional to the load that presses parts together. In
    over-constrained mechanisms loads are not unique, and neither is friction that depends on them: one solution is
    chosen. Give connections compliance (`Bushing`) to make it unique.

    Examples
    --------
    A block on an incline, with dry friction by the load of its guide:

    >>> import dalembert as da
    >>> s = da.System("incline", gravity=(3.0, 0.0, -9.0))
    >>> block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    >>> _ = s.connect("guide", da.Prismatic("x"), s.ground, block)
    >>> law = da.Element(
    ...     "joint", "-mu*abs(load)*tanh(ds/0.001)", {"mu": 0.2}, inputs={"load": da.Reaction("guide", "force.z")}
    ... )
    >>> _ = s.connect("friction", law, "guide")
    >>> result = da.simulate(s, 1.0)
    >>> round(float(result["guide.speed"][-1]), 2)  # (3 - 0.2 * 9) t
    1.2
    """

    connection: str
    part: str = "force.z"

    def __post_init__(self) -> None:
        if not isinstance(self.connection, str):
            set_fields(self, connection=getattr(self.connection, "name", self.connection))
        if self.part not in _PARTS:
            raise ModelError("Reaction", "part", self.part, f"use one of {', '.join(_PARTS)}")

    @property
    def number(self) -> int:
        """Index in [moment; force]."""
        return _PARTS.index(self.part)


def parts_in(formula: str) -> dict[str, str]:
    """Return the components of a reaction that a formula names ``Fx`` ... ``Mz``, by these names.

    >>> parts_in("sqrt(Fx**2 + Fz**2)")
    {'Fx': 'force.x', 'Fz': 'force.z'}
    """
    words = set(re.findall(r"[A-Za-z_]\w*", formula))
    return {short: part for short, part in _SHORT.items() if short in words}


@dataclass(frozen=True, eq=False)
class Delay:
    """Delayed output, as an input of a law.

    Parameters
    ----------
    output : str
        Any output that is a number and a function of the state: ``"joint.speed"``, ``"arm.position.x"``.
    time : float, s
    before : number or callable of t
        Its value before the run began.

    Steps are no longer than the shortest delay. Past values are interpolated from the motion with the accuracy of the
    integration.
    """

    output: str
    time: float
    before: Any = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.output, str):
            raise ModelError("Delay", "output", self.output, "give the name of an output, such as 'joint.speed'")
        time = finite_number(self.time, item="Delay", field="time")
        if time <= 0:
            raise ModelError("Delay", "time", time, "give the time that passes, above zero")
        set_fields(self, time=time, before=as_law(self.before, item="Delay", field="before"))


Source = Law | Sensor | Reaction | Delay | str


def as_source(given: Any, *, item: str, name: str) -> Source:
    """Return an input source: a time law, a sensor, a reaction, a delay, or the name of an output."""
    if isinstance(given, (Sensor, Reaction, Delay)):
        return given
    if isinstance(given, str):
        if not given.strip():
            raise ModelError(item, f"input {name!r}", given, "name an output such as 'joint.position'")
        return given.strip()
    return as_law(given, item=item, field=f"input {name!r}")
