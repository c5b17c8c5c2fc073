"""System description: bodies, markers, connections."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, overload
from uuid import uuid4

from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.colors import as_color
from ..bodies.contact_surfaces import HERTZ_EXPONENT, Surface
from ..bodies.flexible_body import FlexibleBody
from ..bodies.markers import Marker
from ..bodies.shapes import Shape
from ..checks import checked, did_you_mean, finite_array, finite_number, one_of, valid_name
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection, Coupling, CustomCoupling
from ..connections.constraints.geometric import Constraint
from ..connections.constraints.mimic import Mimic
from ..connections.contacts import ContactGroup, SurfacePair
from ..connections.drives import Drive
from ..connections.elements.built_in import ForceConnection, ForceElement
from ..connections.joints import Joint
from ..errors import ModelError
from ..parameters import Parameter, split
from ..rotation import unit_vector
from .connect import connect
from .contacts import add_contact, add_pair
from .copies import copy_system
from .display import SystemDisplay
from .drive import drive
from .initial_values import AttitudeInput, BodyPlacement, Initial, set_body_start, set_joint_start
from .lookup import GROUND
from .removal import remove_part
from .topology import Forest, with_massless_links

if TYPE_CHECKING:
    from ..closure.mobility_analysis import Mobility
    from ..model import Model
    from ..model.parameter_table import ParameterTable
    from ..natural import NaturalModel
    from ..structures import SegmentedBeam, SlenderBody
    from .topology import Forest

__all__ = ["Initial", "System"]

_POINT = re.compile(r"^(?P<base>.+)\.at\((?P<numbers>[^()]*)\)$")


class System(SystemDisplay):
    """Bodies and connections, by name; gravity; start values. SI units and radians.

    Parameters
    ----------
    name : str
    gravity : (3,) m/s2
        Acceleration of free fall, in world axes.
    planar : str or (3,)
        Normal of the plane of motion, in world axes: ``"y"``. Relations then have three coordinates instead of six: cut
        joints have only rows of the plane, so that only redundancy within the plane remains, and heights above it are
        ignored. Ungrounded parts get `Planar` joints. Motion out of the plane raises an error. If left out, the system
        moves in space.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    >>> s.connect("A", da.Revolute("y"), s.ground, bob)
    <Connection 'A': Revolute from ground to bob>
    >>> float(s.compile().forward_dynamics([0.0], [0.0], [0.0])[0])  # falls at 3 g / 2 l
    14.715
    """

    def __init__(
        self, name: str = "system", *, gravity: ArrayLike = (0.0, 0.0, -9.81), planar: str | ArrayLike | None = None
    ) -> None:
        valid_name(name.strip() if isinstance(name, str) else name, item="system")
        self.name = name
        self.key = uuid4().hex  # identifies the system, also in other processes
        self.named: dict[str, Parameter] = {}
        self.expressions: dict[str, Any] = {}
        self.gravity = gravity
        self.planar = planar
        self.ground = Body(self, GROUND)
        self.bodies: dict[str, Body] = {}
        self.connections: dict[str, Connection] = {}
        self.couplings: dict[str, CoordinateConnection] = {}
        self.forces: dict[str, ForceConnection] = {}
        self.drives: dict[str, Drive] = {}
        self.contacts: dict[str, ContactGroup] = {}
        self.surface_pairs: list[SurfacePair] = []
        self.untouched: list[tuple[str, str]] = []  # pairs of bodies that a model file excludes from contacts with "*"
        self.initials: dict[str, Initial] = {}
        self.placements: dict[str, BodyPlacement] = {}
        self.mimics: dict[str, Mimic] = {}
        self.settings: dict[str, dict[str, Any]] = {}  # of analyses, by verb, as a model file has them
        self.modal_connections: dict[str, Connection] = {}  # modal coordinates in use, by body
        self.notes: list[str] = []  # data of a model file that could not be used as given

    # ---- building

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall, world axes, (3,) m/s2; its components may be expressions of parameters."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        plain, self.expressions = split(value, ("gravity.x", "gravity.y", "gravity.z"))
        self._gravity = finite_array(plain, (3,), item=f"system {self.name!r}", field="gravity")

    @property
    def planar(self) -> Array | None:
        """Normal (3,) of the plane in which everything moves, world axes; None: the system moves in space."""
        return self._planar

    @planar.setter
    def planar(self, value: str | ArrayLike | None) -> None:
        item = f"system {self.name!r}"
        self._planar = None if value is None else unit_vector(value, item=item, field="planar")

    def parameter(self, name: str, value: float, *, unit: str = "", meaning: str = "") -> Parameter:
        """Add a named parameter and return it; it can be used as a number, alone or in expressions.

        Parameters
        ----------
        name : str
            Name to retrieve it, ``s["crank"]``, and to set it, ``model.conditions({"crank": 0.12})``.
        value : float
        unit, meaning : str
            For lists.

        It is accepted in sizes and masses of shapes, data of bodies, positions of markers, data of joints, elements,
        constraints, couplings and laws, and in gravity. Arguments that take plain numbers only raise an error for it;
        ``.value`` is the number.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("pendulum")
        >>> length = s.parameter("length", 1.0, unit="m")
        >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=length, mass=2.0)))
        >>> model = s.compile()
        >>> model.forward_dynamics([0.0], [0.0], conditions=model.conditions({"length": 2.0})).round(4)
        array([7.3575])
        """
        self._claim(name, "parameter")
        number = finite_number(value, item=f"parameter {name!r}", field="value")
        self.named[name] = Parameter(name, number, unit, meaning)
        return self.named[name]

    @property
    def parameters(self) -> ParameterTable:
        """All parameters of the system by name, with values, units and expressions; prints as a table."""
        return self.compile().parameter_table

    @overload
    def body(self, name: str, shape: SegmentedBeam, *, color: Any = None) -> SlenderBody: ...
    @overload
    def body(
        self,
        name: str,
        shape: Shape | FlexibleBody | None = None,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | str | None = None,
        inertia_axes: Any = None,
        strict: bool = True,
        color: Any = None,
        surface: Surface | None = None,
    ) -> Body: ...
    def body(
        self,
        name: str,
        shape: Any = None,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | str | None = None,
        inertia_axes: Any = None,
        strict: bool = True,
        color: Any = None,
        surface: Surface | None = None,
    ) -> Body | SlenderBody:
        """Add a rigid or flexible body from a shape, from numbers, or from both, and return it.

        Parameters
        ----------
        name : str
        shape : Shape, FlexibleBody or SegmentedBeam
            ``rod``, ``box``, ``cylinder``, ``sphere``, ``plate`` or ``tube``; or ``beam``, ``frame``, `FlexibleBody`.
            A beam of segments becomes several bodies; the returned object has `start`, `end` and `at(arc)`. Mass, com
            and inertia default to those of the shape.
        mass : float, kg
            With neither shape nor inertia, a point mass at `com`. With a massless shape, the mass of the homogeneous
            shape. With a flexible body, its expected mass, for comparison.
        com : (3,) m
            Centre of mass from the body's origin, in body axes.
        inertia : (3,), (6,), (3, 3) or str, kg m2
            About the centre of mass: principal moments, or (xx, yy, zz, xy, xz, yz), or a matrix, or a dyadic in unit
            vectors of the body, ``"54 n1n1 + 54 n2n2 - 3 (n1n2 + n2n1)"``.
        inertia_axes : rotation
            Axes in which `inertia` is given, relative to the body's; default the body's own.
        strict : bool
            False accepts an inertia that is impossible for a rigid body, as found in some robot files.
        color : str or numbers
            In drawings: ``"orange"``, ``"#ff8000"``, or red, green and blue from 0 to 1 with optional opacity. By
            default bodies have different palette colours.
        surface : Surface
            Friction, restitution and stiffness in contacts that give none.

        Raises
        ------
        ModelError
            If the name is already used, or the numbers are impossible for a rigid body.
        """
        put_into = getattr(shape, "add_to", None)
        if put_into is not None:
            if any(given is not None for given in (mass, com, inertia, inertia_axes, surface)):
                raise ModelError(f"body {name!r}", "mass", mass, "that of segments follows from section and material")
            before, own = len(self.bodies), as_color(color, item=f"body {name!r}")
            segments: SlenderBody = put_into(self, name)
            for each in list(self.bodies.values())[before:]:
                each.color = own
            return segments
        self._claim(name, "body")
        numbers = {"mass": mass, "com": com, "inertia": inertia, "inertia_axes": inertia_axes}
        body = Body(self, name, shape, **numbers, strict=strict, color=color, surface=surface)
        self.bodies[name] = body
        return body

    @overload
    def connect(
        self,
        name: str,
        element: Joint | Constraint,
        first: Body | Marker | SlenderBody | str,
        second: Body | Marker | SlenderBody | str,
    ) -> Connection: ...
    @overload
    def connect(
        self, name: str, element: Coupling, first: str | Connection, second: str | Connection
    ) -> CoordinateConnection: ...
    @overload
    def connect(
        self, name: str, element: CustomCoupling, first: str | Connection, *more: str | Connection
    ) -> CoordinateConnection: ...
    @overload
    def connect(
        self, name: str, element: ForceElement, first: Any = None, second: Any = None, *more: Any
    ) -> ForceConnection: ...
    def connect(
        self, name: str, element: Any, first: Any = None, second: Any = None, *more: Any
    ) -> Connection | CoordinateConnection | ForceConnection:
        """Connect two markers (a body stands for its origin) by an element and return the connection.

        Bodies and markers may be given by name: ``"ground"``, ``"crank"``, ``"crank.tip"``, ``"crank.at(0.2, 0, 0)"``.
        Coordinates and velocities are those of `second` relative to `first`. Connections may close
        loops; nothing has to be declared. A `Coupling` connects two joints, given by themselves or by
        the name of a coordinate (``"A"``, ``"C.slide"``), in place of markers; a `CustomCoupling` connects as many as
        its formula has. Force elements act between two markers (`SpringDamper`), on one (`Load`), or at the coordinate
        of a joint (`JointSpring`, `Limits`, `Effort`); an `Element` with more measures takes more ends, a `SignalBlock`
        none.
        Modal coordinates of flexible bodies, ``"arm.eta[0]"``, are coordinates too. Both markers may be on one flexible
        body if they move against each other.
        """
        self._claim(name, "connection")
        return connect(self, name, element, (first, second, *more))

    def contact(
        self,
        name: str,
        first: Any,
        second: Any,
        *,
        friction: float | None = None,
        static_friction: float | None = None,
        restitution: float | None = None,
        stiffness: float | None = None,
        exponent: float = HERTZ_EXPONENT,
        young: float | None = None,
        poisson: float | None = None,
        depth: float | None = None,
        at_speed: float = 1.0,
        rounding: float | None = None,
        rolling: float = 0.0,
        spin: float = 0.0,
        without: Iterable[Any] = (),
        neighbours: bool = False,
    ) -> ContactGroup:
        """Let the shapes of bodies touch: every shape of `first` against every shape of `second`.

        Without contacts nothing touches. A body has its collision geometry if a model file gives any, else its shape
        and decoration; of geometry that is not convex, the hull.

        Parameters
        ----------
        name : str
        first, second : Body, Marker, Shape, (Shape, Marker), str, System, or list of these
            A body with all its shapes. A shape alone belongs to ground, ``da.plane()``; with a marker it is placed
            there, ``(da.box(1, 1, 1), s.ground.at(2, 0, 0))``. A marker alone is a plane: the half space z <= 0 of it.
            ``"*"``, or the system itself: all bodies that have shapes; rules of a robot file on its shapes then apply.
        friction, static_friction : float
            Coulomb's coefficients of sliding and sticking, the latter equal to the former if left out. Zero if neither
            this contact nor a surface gives one.
        restitution : float
            e of Newton's law, 0 (plastic) to 1 (elastic).
        stiffness, exponent : float, N / m^n and n
            Of a compliant contact: N = k d^n at the depth d.
        young, poisson : float, Pa and 1
            Of a compliant contact of two bodies of this material, by Hertz.
        depth : float, m
            Of a compliant contact: how far it sinks under the static load.
        at_speed : float, m/s
            Approach velocity at which a compliant contact has its restitution.
        rounding : float, m
            Radius of edges and corners of both sides; faces stay in place. Zero if left out; of a compliant contact 1 %
            of the thickness.
        rolling, spin : float, m
            Of rigid contact by steps: moments against rolling and against turning about the normal, up to that times
            the normal force of each point.
        without : pairs of bodies
            ``[("calf", "thigh")]``: pairs that do not touch.
        neighbours : bool
            True: bodies joined by a joint touch, too. Bodies that are joined to ground touch it in any case, unless
            they are fixed to it.

        A pair of shapes in several contacts belongs to the one that was added last.

        Returns
        -------
        ContactGroup

        Raises
        ------
        ModelError
            If a name is unknown, or numbers are impossible or contradict each other. Compiling refuses shapes without
            thickness, and contacts without shapes.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("crates")
        >>> crate = s.body("crate", da.box(0.2, 0.2, 0.2, mass=1.0))
        >>> ball = s.body("ball", da.sphere(0.1, mass=1.0))
        >>> s.contact("floor", da.plane(), [crate, ball], friction=0.4, restitution=0.3)
        <ContactGroup 'floor': plane at ground and crate, ball>
        >>> s.contact("steel", crate, ball, young=210e9, poisson=0.3)
        <ContactGroup 'steel': crate and ball>
        >>> s.compile().contacts.names
        ('floor', 'steel')
        """
        self._claim(name, "contact")
        numbers = {"friction": friction, "static_friction": static_friction, "restitution": restitution}
        numbers |= {"stiffness": stiffness, "exponent": exponent, "young": young, "poisson": poisson, "depth": depth}
        numbers |= {"at_speed": at_speed, "rounding": rounding, "rolling": rolling, "spin": spin}
        return add_contact(self, name, first, second, numbers, without, neighbours)

    def pair(
        self,
        first: Surface,
        second: Surface,
        *,
        friction: float | None = None,
        static_friction: float | None = None,
        restitution: float | None = None,
        stiffness: float | None = None,
        exponent: float = HERTZ_EXPONENT,
    ) -> SurfacePair:
        """Set friction, restitution and stiffness of two surfaces against each other; numbers of a contact win.

        Two surfaces without a pair have the smaller friction and the smaller restitution of the two, which is noted. A
        second pair of the same surfaces replaces the first.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("blocks")
        >>> steel, rubber = da.Surface(name="steel"), da.Surface(name="rubber")
        >>> s.pair(steel, rubber, friction=0.7).friction
        0.7
        """
        numbers = {"friction": friction, "static_friction": static_friction, "restitution": restitution}
        return add_pair(self, first, second, numbers | {"stiffness": stiffness, "exponent": exponent})

    def initial(
        self,
        connection: str | Connection | Body,
        *,
        position: Any = None,
        speed: Any = None,
        rotation: Any = None,
        bryant: ArrayLike | None = None,
        euler: Any = None,
        angle_rates: ArrayLike | None = None,
        guess: bool = False,
    ) -> None:
        """Set the initial values of a joint: position (nq,) rad or m, velocity (nv,) rad/s or m/s.

        Of one of its coordinates, ``"C.slide"``: a number each. Of a flexible body: its modal coordinates and their
        velocities, (nm,) each, or of one of them, ``"arm.eta[0]"``. Of a kinematic chain: positions and rates of its
        inner coordinates, ``"chain.0.angle"``, or a dict of them, ``initial("chain", position={"0.angle": 0.3,
        "2.angle": -0.5}, speed={"0.angle": 2.0})``.

        The orientation of a ball joint or a free one may be given as a `rotation` of any form, by `bryant` angles (3,)
        rad, or by `euler` angles, ``(angles, "ZYX")``, ZXZ if only the angles are given; its angular velocity by the
        `angle_rates` (3,) rad/s of these.

        Start values are met exactly where loops and drives permit, also at a cut joint. Where they cannot all be met,
        they are changed as little as possible, and ``result.stats.notes`` reports the changes. With `guess`, the
        position is only an initial guess for closing the loops, and may change without a note.
        """
        set_joint_start(self, connection, position, speed, guess, AttitudeInput(rotation, bryant, euler, angle_rates))

    @checked("body", "axes")
    def place(
        self,
        body: str | Body,
        *,
        position: ArrayLike | None = None,
        rotation: Any = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        bryant: ArrayLike | None = None,
        euler: Any = None,
        angle_rates: ArrayLike | None = None,
        axes: str = "world",
    ) -> None:
        """Set the initial pose and velocity of a body in the world; the rest is determined by assembly.

        Parameters
        ----------
        body : str or Body
        position : (3,) m
            Of the origin of its frame.
        rotation : any form of a rotation
            Of its frame, as in `Body.at`.
        velocity, angular_velocity : (3,) m/s, rad/s
            Of its origin, and of the body; world axes, or see `axes`.
        bryant, euler : (3,) rad, or (angles, "ZYX")
            In place of `rotation`; Euler angles are ZXZ if no axes are named.
        angle_rates : (3,) rad/s
            Of these angles, in place of `angular_velocity`.
        axes : str
            Axes of velocity and angular velocity: ``"world"``, or ``"body"`` for the initial axes of the body, which
            then needs an orientation.

        Joint coordinates are computed from this pose if possible; see `initial` for the treatment of inconsistent
        values. Poses that loops and joints do not permit together lead to the nearest closed configuration: the least
        squares of all corrections, rad, and m per characteristic length of the system. A note gives the largest ones.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("thrown", gravity=(0, 0, 0))
        >>> _ = s.body("stone", da.box(0.1, 0.1, 0.1, mass=1.0))
        >>> s.place("stone", position=(0, 0, 2.0), velocity=(3.0, 0, 0), angular_velocity=(0, 0, 1.0))
        >>> da.simulate(s, 1.0)["stone.position"][-1].round(9)
        array([3., 0., 2.])
        """
        turned = AttitudeInput(rotation, bryant, euler, angle_rates)
        set_body_start(self, body, position, velocity, angular_velocity, turned, axes)

    def drive(
        self,
        coordinate: str | Connection | CoordinateConnection | Body | Marker,
        *,
        position: Any = None,
        speed: Any = None,
        acceleration: Any = None,
        rotation: Any = None,
        relative_to: Body | Marker | None = None,
    ) -> Drive | tuple[Drive, ...]:
        """Drive joint coordinates, a constraint or coupling value, or a body by time laws.

        Give one of position, velocity and acceleration; rotation may go with a position.

        Parameters
        ----------
        coordinate : str, Connection, CoordinateConnection, Body or Marker
            A joint, or a coordinate's name (``"C.slide"``); a modal coordinate (``"arm.eta[0]"``); a constraint whose
            distance, height or angle the law prescribes (`Distance`, `PointOnPlane`, `PointOnLine`, `PointOnPoint`,
            `AxisAngle`, `CustomConstraint`); a `CustomCoupling`, whose formula then follows the law; a body or marker,
            whose motion is prescribed.
        position, speed, acceleration : number, callable of t, or law; or a sequence of them
            See `connections.laws`: `Constant`, `Polynomial`, `Harmonic`, `Ramp`, `Spline`, `MonotoneSpline`,
            `LinearInterpolation`, `FunctionLaw`, `Integral` and others; rad or m, per s or s2. A sequence is for all
            coordinates of a joint, or all velocities (``wx, wy, wz`` of a `Spherical`, in axes of its second marker),
            with None for those that are left open. The position of a `Free` joint, of a body or marker is x, y, z, m,
            in axes of the first marker.
        rotation : Attitude, or a rotation that stays
            Of a `Spherical` or `Free` joint, a body or marker: `BryantAngles`, `EulerAngles`, `AttitudeSpline`.
        relative_to : Body or Marker
            Reference of the motion of a body or marker; ground if left out.

        A drive of a joint by its velocity or acceleration leaves its position open: it follows from the initial
        configuration. The value of a constraint or coupling starts at t = 0 from the element's own value (the length of
        a `Distance`, the angle of an `AxisAngle`, else zero), at rest if the acceleration is given; the law is
        integrated from there.

        The position of a `Free` joint without its orientation, or a component of it, is held by an added constraint,
        ``"F.place"``; so is a single angle of an orientation (``rotation=da.BryantAngles(None, law, None)``),
        ``"F.angle_2"``. A driven body gets a `Free` joint to its reference, ``"body.motion"``. A driven modal
        coordinate is held by a coupling, ``"arm.eta[0].drive"``, whose ``.effort`` is its modal force. A second drive
        of the same coordinate replaces the first. A driven joint is never a cut joint.

        Returns
        -------
        Drive, or tuple of Drive if there are several

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("shaker", gravity=(0, 0, 0))
        >>> _ = s.body("table", da.box(1.0, 1.0, 0.1, mass=10.0))
        >>> _ = s.drive("table", position=(0, 0, da.Harmonic(0.01, 20.0)), rotation=da.BryantAngles(0, 0, 0))
        >>> result = da.simulate(s, 1.0)
        >>> bool(abs(result["table.motion.force"][:, 2] - 10 * result["table.acceleration"][:, 2]).max() < 1e-9)
        True
        """
        given = {"position": position, "speed": speed, "acceleration": acceleration}
        return drive(self, coordinate, given, rotation, relative_to)

    def remove(
        self, name: str | Body | Marker | Connection | CoordinateConnection | ForceConnection | ContactGroup
    ) -> None:
        """Remove a connection, a contact, a named marker, or a body with its connections."""
        remove_part(self, self[name] if isinstance(name, str) else name)

    # ---- looking up

    def __getitem__(self, name: str) -> Any:
        """Return the body, connection, contact or marker (``"crank.tip"``) of that name."""
        if not isinstance(name, str):
            raise ModelError(f"system {self.name!r}", "name", name, "give a name, as a string")
        if name == GROUND:
            return self.ground
        parts: tuple[dict[str, Any], ...]
        parts = (self.bodies, self.connections, self.couplings, self.forces, self.contacts, self.named)
        found = next((part[name] for part in parts if name in part), None)
        if found is not None:
            return found
        owner, dot, label = name.rpartition(".")
        while dot:
            body = self.ground if owner == GROUND else self.bodies.get(owner)
            if body is not None and label in body.markers:
                return body.markers[label]
            owner, dot, rest = owner.rpartition(".")
            label = f"{rest}.{label}"
        raise ModelError(f"system {self.name!r}", "name", name, self._suggest(name))

    def marker(self, name: str) -> Marker:
        """Return the frame of a name: a body, a marker, or a point of either, ``"crank.at(0.2, 0, 0)"``."""
        point = _POINT.match(name) if isinstance(name, str) else None
        if point is not None:
            try:
                x, y, z = (float(number) for number in point["numbers"].split(","))
            except ValueError:
                item = f"system {self.name!r}"
                raise ModelError(item, "point", name, "give three numbers: 'crank.at(0.2, 0, 0)'") from None
            return self.marker(point["base"]).point(x, y, z)
        found = self[name]
        if isinstance(found, Body):
            return found.origin
        if not isinstance(found, Marker):
            raise ModelError(f"system {self.name!r}", "name", name, "it is a connection: give a body or a marker")
        return found

    def __contains__(self, name: str) -> bool:
        try:
            self[name]
        except ModelError:
            return False
        return True

    def copy(self, name: str | None = None) -> System:
        """Return an independent copy."""
        return copy_system(self, System(self.name if name is None else name, gravity=self.gravity, planar=self.planar))

    __copy__ = copy

    # ---- compiling

    def forest(self) -> Forest:
        """Return the computational forest: spanning trees, loop constraints, numbering (see `topology`)."""
        return Forest(with_massless_links(self))

    def check(self) -> Mobility:
        """Return a printable report: bodies, degrees of freedom, loops, redundancy (see `mobility`).

        Its `notes` report flexible bodies whose modes do not suit their connections.

        Raises
        ------
        AssemblyError
            If the loops cannot be closed; the error lists the open connections and their residuals.
        """
        from ..linear.system_check import check_system

        return check_system(self)

    @overload
    def compile(self) -> Model: ...
    @overload
    def compile(self, form: Literal["relative"]) -> Model: ...
    @overload
    def compile(self, form: Literal["natural"], *, dimension: int | None = None) -> NaturalModel: ...
    @checked("form")
    def compile(self, form: str = "relative", *, dimension: int | None = None) -> Model | NaturalModel:
        """Return the constant model for the kernels.

        Parameters
        ----------
        form : str
            ``"relative"``: joint coordinates. ``"natural"``: points and unit vectors, for kinematics and for dynamics
            with a constant mass matrix (see `dalembert.natural`).
        dimension : int
            Of natural coordinates: 2 or 3; if left out, 2 wherever all joints move in one plane.
        """
        from ..model import Model

        if one_of("compile", "form", form, ("relative", "natural")) == "relative":
            if dimension is not None:
                raise ModelError("compile", "dimension", dimension, "only form='natural' has a choice: leave it out")
            return Model(self)
        from ..natural import natural_model

        return natural_model(self, dimension=dimension)

    def __repr__(self) -> str:
        return f"<System {self.name!r}: {len(self.bodies)} bodies, {len(self.connections)} connections>"

    # ---- checks

    def _claim(self, name: str, what: str) -> None:
        valid_name(name, item=what)
        if (
            name == GROUND
            or name in self.bodies
            or name in self.connections
            or name in self.couplings
            or name in self.forces
            or name in self.contacts
            or name in self.named
        ):
            raise ModelError(what, "name", name, f"system {self.name!r} has a part of that name already")

    def _suggest(self, name: str) -> str:
        known = [GROUND, *self.bodies, *self.connections, *self.couplings, *self.forces, *self.contacts]
        known += [m.name for b in (self.ground, *self.bodies.values()) for m in b.markers.values()]
        return did_you_mean(name, known) or "no body, marker or connection has that name"
