"""Built-in force elements: springs, dampers, loads and limits, between markers or at a joint coordinate.

Every element defines its energy: springs store it, dampers dissipate it, time laws do external work. The compiled
element of the same name is in core/elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...checks import checked, not_negative, set_fields, set_finite, shape_of
from ...errors import ModelError
from ...provenance import record_makers
from ..laws import Law, as_law

if TYPE_CHECKING:
    from ...bodies.markers import Marker
    from ..connection import Connection

__all__ = [
    "Effort",
    "ForceConnection",
    "ForceElement",
    "JointSpring",
    "Limits",
    "Load",
    "SpringDamper",
    "TorsionSpring",
]


@dataclass(frozen=True, eq=False)
class ForceElement:
    """Base of all force elements.

    ends : number of markers it acts between; 0 for elements at a joint coordinate
    fields : the numbers that an event may change, in the order of the compiled parameters
    law_form : name of its compiled law (core/elements/built_in_laws.hpp); empty for a user-written law
    """

    ends: ClassVar[int] = 0
    fields: ClassVar[tuple[str, ...]] = ()
    law_form: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        record_makers(cls)

    @property
    def each_measure(self) -> tuple[str, ...]:
        """Kinds of measures along which the element acts, in order; see `signals.MEASURES`."""
        return ("joint",)

    @property
    def given(self) -> dict[str, Law]:
        """Time laws of its forces by name, one for each measured quantity."""
        return {}

    @property
    def kind(self) -> str:
        """Name of the element type."""
        return type(self).__name__

    def _finite(self, *fields: str) -> None:
        set_finite(self, *fields, item=self.kind, expressions=True)

    def _not_negative(self, *fields: str) -> None:
        self._finite(*fields)
        not_negative(self.kind, **{field: getattr(self, field) for field in fields})


@dataclass(frozen=True, eq=False)
class SpringDamper(ForceElement):
    """Spring and damper along the line between the origins of two markers.

    Parameters
    ----------
    stiffness : float, N/m
    damping : float, N s/m
    length : float, m
        Unloaded length.

    The tension is stiffness (distance - length) + damping * rate of the distance; it pulls the markers together.
    """

    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    ends: ClassVar[int] = 2
    fields: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "length")
    law_form: ClassVar[str] = "linear"

    @property
    def each_measure(self) -> tuple[str, ...]:
        """The distance."""
        return ("distance",)

    def __post_init__(self) -> None:
        self._not_negative(*self.fields)


@dataclass(frozen=True, eq=False)
class JointSpring(ForceElement):
    """Spring and damper at a joint coordinate: effort = -stiffness (position - rest) - damping * velocity.

    Parameters
    ----------
    stiffness : float, N m/rad or N/m
    damping : float, N m s/rad or N s/m
    rest : float, rad or m
    """

    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    fields: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "rest")
    law_form: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        self._not_negative("stiffness", "damping")
        self._finite("rest")


@dataclass(frozen=True, eq=False)
class TorsionSpring(JointSpring):
    """`JointSpring` about an axis; N m/rad, N m s/rad and rad."""


@checked("lower", "upper")
@dataclass(frozen=True, eq=False)
class Limits(ForceElement):
    """Compliant stops at a joint coordinate: springs and dampers beyond the limits that never pull.

    Parameters
    ----------
    lower, upper : float, rad or m
        None: no stop on that side.
    stiffness : float, N m/rad or N/m
    damping : float, N m s/rad or N s/m
    """

    lower: float = -np.inf
    upper: float = np.inf
    stiffness: float = 0.0
    damping: float = 0.0
    fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "stiffness", "damping")
    law_form: ClassVar[str] = "limits"

    def __post_init__(self) -> None:
        for field, none in (("lower", -np.inf), ("upper", np.inf)):
            if getattr(self, field) is None:
                set_fields(self, **{field: none})
            elif getattr(self, field) != none:
                self._finite(field)
        self._not_negative("stiffness", "damping")
        if not self.lower < self.upper:
            raise ModelError("Limits", "upper", self.upper, f"it must be above the lower limit, {self.lower:.6g}")
        if self.stiffness == 0:
            raise ModelError("Limits", "stiffness", self.stiffness, "give a stop a stiffness, N m/rad or N/m")


@dataclass(frozen=True, eq=False)
class Effort(ForceElement):
    """Joint force or moment given by a time law.

    Parameters
    ----------
    law : number, callable of t, or law; N m or N
        See `connections.laws`.
    """

    law: Any = 0.0
    law_form: ClassVar[str] = "inputs"

    def __post_init__(self) -> None:
        set_fields(self, law=as_law(self.law, item="Effort", field="law"))

    @property
    def given(self) -> dict[str, Law]:
        """The law."""
        return {"effort": self.law}


@checked("axes")
@dataclass(frozen=True, eq=False)
class Load(ForceElement):
    """Force and moment on a marker, constant or by time laws.

    Parameters
    ----------
    force : (3,) N
    moment : (3,) N m
        Each component is a number, a callable of t, or a law.
    axes : str
        ``"world"``, or ``"marker"`` (``"body"`` is the same) for the axes of the marker, which rotate with its body.
    """

    force: Any = (0.0, 0.0, 0.0)
    moment: Any = (0.0, 0.0, 0.0)
    axes: str = "world"
    ends: ClassVar[int] = 1
    law_form: ClassVar[str] = "inputs"

    def __post_init__(self) -> None:
        for field in ("force", "moment"):
            value = getattr(self, field)
            if isinstance(value, (str, bytes)) or shape_of(np.asarray(value, dtype=object)) != (3,):
                raise ModelError("Load", field, value, "give three components, each a number, a function of t or a law")
            named = zip(value, "xyz", strict=True)
            laws = tuple(as_law(c, item="Load", field=f"{field} along {axis}") for c, axis in named)
            set_fields(self, **{field: laws})
        if self.axes not in ("world", "body", "marker"):
            raise ModelError("Load", "axes", self.axes, "use 'world' or 'marker'")
        if self.axes == "marker":
            set_fields(self, axes="body")

    @property
    def each_measure(self) -> tuple[str, ...]:
        """A load in axes of the world, or of the marker."""
        return (f"load_{self.axes}",)

    @property
    def given(self) -> dict[str, Law]:
        """The laws of force and moment."""
        return dict(zip(("fx", "fy", "fz", "mx", "my", "mz"), (*self.force, *self.moment), strict=True))


@dataclass(frozen=True, eq=False)
class ForceConnection:
    """Force element and its ends.

    Attributes
    ----------
    name : str
    element : ForceElement
    ends : tuple of Marker
        Markers of an element between markers; a `Load` has one.
    joint_coordinates : tuple of (Connection, int)
        Joints and indices of their coordinates at which an element acts.
    """

    name: str
    element: ForceElement
    ends: tuple[Marker, ...] = ()
    joint_coordinates: tuple[tuple[Connection, int], ...] = ()

    @property
    def first(self) -> Marker | None:
        """Reference marker of the measures."""
        return self.ends[0] if len(self.ends) > 1 else None

    @property
    def second(self) -> Marker | None:
        """Marker on which forces are counted positive."""
        return self.ends[1] if len(self.ends) > 1 else self.ends[0] if self.ends else None

    @property
    def actuates(self) -> bool:
        """True if the element is an actuator: its forces are given by time laws or inputs."""
        return bool(self.element.given) or bool(getattr(self.element, "active", False))

    @property
    def joint(self) -> Connection | None:
        """Joint at which the element acts."""
        return self.joint_coordinates[0][0] if self.joint_coordinates else None

    @property
    def coordinate(self) -> int:
        """Coordinate of the joint at which the element acts."""
        return self.joint_coordinates[0][1] if self.joint_coordinates else 0

    def acts_at(self, connection: Connection) -> bool:
        """Return whether the element acts at a coordinate of a joint."""
        return any(joint is connection for joint, _ in self.joint_coordinates)

    def __repr__(self) -> str:
        if self.joint_coordinates:
            where = "at " + ", ".join(joint.name for joint, _ in self.joint_coordinates)
        elif len(self.ends) == 1:
            where = f"on {self.ends[0].name}"
        else:
            names = [end.name for end in self.ends]
            where = f"between {', '.join(names[:-1])} and {names[-1]}"
        return f"<ForceConnection {self.name!r}: {self.element.kind} {where}>"
