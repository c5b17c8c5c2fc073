"""The constant model: kernels by the names that mechanics gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, refusals
from .bodies.markers import Marker
from .bodies.rigid import Body
from .compile_flexible import modes_of
from .connections.connection import Connection
from .connections.constraints import Constraint
from .connections.couplings import CoordinateConnection
from .connections.drives import Drive
from .connections.hinges import Hinge
from .errors import ModelError, UserFunctionError
from .flexible_points import point_acceleration, point_jacobian, point_pose, point_velocity
from .hosted import History, HostedDelay, HostedOutput
from .reactions import ConnectionLoads, least_loads, least_multipliers, loads_by_connection
from .state import State

if TYPE_CHECKING:
    from .analysis.self_stress import SelfStress
    from .compile import FrameMap
    from .compile_elements import ElementTables
    from .compile_forces import ForceTables
    from .system import System
    from .topology import Forest

__all__ = ["Dynamics", "Energy", "Factor", "ForceEnergy", "Model", "Pose"]

Array = NDArray[np.float64]

METHODS = ("dop853", "dopri5", "rk4", "euler", "radau", "alpha")  # core/integrator.hpp: Method


class Pose(NamedTuple):
    """Attitude and position of a frame M in the world.

    rotation : (..., 3, 3), R_WM, the frame's axes as columns
    position : (..., 3) m, p_WM
    """

    rotation: Array
    position: Array


class Dynamics(NamedTuple):
    """Everything that the equations of motion give at a state, or at a row of states.

    a : (..., nv) rad/s2 or m/s2
    tau : (..., nv) N m or N, all hinge forces; at driven coordinates what the drive supplies
    lam : (..., nc) multipliers of the constraint rows, N or N m
    dx : (..., nx) rates of element states
    """

    a: Array
    tau: Array
    lam: Array
    dx: Array


class ForceEnergy(NamedTuple):
    """What the force elements store, J, dissipate, W, and bring from outside by laws of time, W; scalars or (n,)."""

    stored: Any
    dissipated: Any
    brought: Any


class Energy(NamedTuple):
    """Kinetic and potential energy, J; scalars or (B,)."""

    kinetic: Any
    potential: Any

    @property
    def total(self) -> Any:
        """Sum of both, J."""
        return self.kinetic + self.potential


class Factor:
    """The mass matrix at one configuration in factored form, for many right-hand sides.

    M = (1 + H Phi K) D (1 + H Phi K)^T (Jain and Rodriguez 1990, Lemma 6.1), never formed.
    """

    def __init__(self, model: Model, q: ArrayLike) -> None:
        self._core = _core.Factor(model, model._coordinates("factor", q))
        self._model = model

    def solve(self, x: ArrayLike) -> Array:
        """Return M^-1 x for x of shape (nv,), or for each row of x (k, nv)."""
        nv = self._model.nv
        try:
            rows = np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.ndim not in (1, 2) or rows.shape[-1] != nv or not np.isfinite(rows).all():
            raise ModelError("factor.solve", "x", x, f"give finite numbers of shape ({nv},) or (k, {nv})")
        result: Array = self._core.solve(rows)
        return result

    def pivots(self) -> Array:
        """Return the diagonal of D after its blocks are factored too, (nv,): all positive, det M is their product."""
        result: Array = self._core.pivots()
        return result

    def logdet(self) -> float:
        """Return the logarithm of the determinant of M."""
        return float(np.log(self.pivots()).sum())


class Model(_core.Model):
    """A compiled system. Immutable; made by ``System.compile()``.

    Every kernel takes one state, ``(n,)``, or a batch of them, ``(B, n)``, and may be called from
    several threads at once. Hinge coordinates are stacked in the order of `hinge_names`, which
    follows the tree; use names or `q_slice` and `v_slice` to address them.

    Attributes
    ----------
    nb, nq, nv : int
        Numbers of bodies, coordinates and speeds.
    nx, nc : int
        Numbers of element states and of constraint rows from closed loops.
    body_names, hinge_names : tuple of str, (nb,)
        In tree order.
    coordinate_names : tuple of str, (nq,)
    speed_names : tuple of str, (nv,)
        Hinge by hinge; the modal coordinates of a flexible body, ``"arm.eta[0]"``, follow those of its hinge.
    coordinate_kinds, speed_kinds : tuple of str
        What each is: a name that the hinge gives (``"angle"``, ``"qw"``, ``"wx"``), or ``"eta"``.
    flexible_names : tuple of str
        The flexible bodies.
    state_names : tuple of str, (nx,)
    constraint_names, constraint_connections : tuple of str, (nc,)
        Rows of the closed loops, ``"D.tilt_x"``, and the connection that each belongs to.
    holonomic : (nc,) bool
        Which rows bind positions; the others bind velocities only.
    independent_rows : tuple of str
        Those of them that do not repeat others in every configuration.
    loop_envelope : int
        Numbers kept of the matrix that couples the independent rows; with n of them, n (n + 1) / 2 if it is full.
    drives, hinge_drives : tuple of Drive
        All drives, and those of hinge coordinates.
    forest : Forest
    system : System
        The description it was compiled from; later changes to it do not reach the model.
    """

    def __init__(
        self,
        system: System,
        forest: Forest,
        frames: FrameMap,
        numbers: Array,
        integers: NDArray[np.int32],
        chord_numbers: Array,
        chord_integers: NDArray[np.int32],
        coupled: NDArray[np.int32],
        factors: Array,
        pieces: Array,
        curves: NDArray[np.int32],
        *programs: NDArray[Any],
    ) -> None:
        super().__init__(
            numbers,
            integers,
            system.gravity,
            chord_numbers,
            chord_integers,
            coupled,
            factors,
            pieces,
            curves,
            *programs,
        )
        self.system = system
        self.forest = forest
        self.frames = frames
        self.drives = tuple(system.drives.values())
        self.hinge_drives = tuple(d for d in self.drives if isinstance(d.connection.element, Hinge))
        self.body_names = forest.bodies[1:]
        self.hinge_names = tuple(hinge.name for hinge in forest.hinges)
        closures: list[Connection | CoordinateConnection] = [*forest.chords, *forest.couplings]
        self.constraint_connections = tuple(c.name for c in closures for _ in c.element.rows)
        self.constraint_names = tuple(f"{c.name}.{row}" for c in closures for row in c.element.rows)
        self.holonomic: NDArray[np.bool_] = np.array([f for c in closures for f in c.element.holonomic], dtype=np.bool_)
        self.independent_rows = self.constraint_names
        rows = np.arange(self.nc, dtype=np.int32)
        self._settle_rows(rows, rows)
        coordinates: list[str] = []
        speeds: list[str] = []
        self._q_slices: dict[str, slice] = {}
        self._v_slices: dict[str, slice] = {}
        kinds: list[str] = []
        speed_kinds: list[str] = []
        flexible: list[str] = []
        for hinge in forest.hinges:
            element = hinge.element
            self._q_slices[hinge.name] = slice(len(coordinates), len(coordinates) + element.nq)
            self._v_slices[hinge.name] = slice(len(speeds), len(speeds) + element.nv)
            coordinates += _full_names(hinge.name, element.coordinates)
            speeds += _full_names(hinge.name, element.speeds)
            kinds += element.coordinates
            speed_kinds += element.speeds
            body, modes = hinge.outboard.body.name, modes_of(hinge.outboard.body)
            if modes:
                self._q_slices[body] = slice(len(coordinates), len(coordinates) + modes)
                self._v_slices[body] = slice(len(speeds), len(speeds) + modes)
                coordinates += [f"{body}.eta[{k}]" for k in range(modes)]
                speeds += [f"{body}.eta[{k}]" for k in range(modes)]
                kinds += ["eta"] * modes
                speed_kinds += ["eta"] * modes
                flexible.append(body)
        self.coordinate_names = tuple(coordinates)
        self.speed_names = tuple(speeds)
        self.coordinate_kinds, self.speed_kinds = tuple(kinds), tuple(speed_kinds)
        self.flexible_names = tuple(flexible)

    # ---- names and states

    def q_slice(self, hinge: str) -> slice:
        """Return where the coordinates of a hinge, or the modal ones of a flexible body, stand in q."""
        return self._slice(self._q_slices, hinge)

    def v_slice(self, hinge: str) -> slice:
        """Return where the speeds of a hinge, or of a flexible body's modes, stand in v, and its forces in tau."""
        return self._slice(self._v_slices, hinge)

    def zero_configuration(self) -> Array:
        """Return the q at which the two markers of every hinge coincide, (nq,)."""
        q = np.zeros(self.nq)
        for hinge in self.forest.hinges:
            q[self._q_slices[hinge.name]] = hinge.element.zero
        return q

    def initial_state(self) -> State:
        """Return the start values that ``System.initial`` set; zero where it did not."""
        q, v = self.zero_configuration(), np.zeros(self.nv)
        for name, initial in self.system.initials.items():
            if name not in self._q_slices:
                continue
            if initial.position is not None:
                q[self._q_slices[name]] = initial.position
            if initial.speed is not None:
                v[self._v_slices[name]] = initial.speed
        return State(q=self.integrate(q, np.zeros(self.nv)), v=v, x=self._state_starts.copy())

    def random_state(self, rng: np.random.Generator | int | None = None, size: int | None = None) -> State:
        """Return a random state: angles within +-pi, displacements within +-1 m, unit normal speeds, any attitude.

        Flexible bodies are not deformed in it, but their modes have speeds.

        Parameters
        ----------
        rng : numpy Generator, seed or None
        size : int
            Number of states; None for one without a batch axis.
        """
        rng = np.random.default_rng(rng)
        shape = () if size is None else (size,)
        q = np.zeros((*shape, self.nq))
        for hinge in self.forest.hinges:
            span = self._q_slices[hinge.name]
            for column, name in zip(range(span.start, span.stop), hinge.element.coordinates, strict=True):
                if name.startswith("angle"):
                    q[..., column] = rng.uniform(-np.pi, np.pi, shape)
                elif name.startswith("q"):
                    q[..., column] = rng.normal(size=shape)
                else:
                    q[..., column] = rng.uniform(-1, 1, shape)
        v = rng.normal(size=(*shape, self.nv))
        return State(q=self.integrate(q, np.zeros(self.nv)), v=v)

    # ---- kinematics of bodies and markers

    def poses(self, q: ArrayLike) -> Pose:
        """Return attitude (..., nb, 3, 3) and position (..., nb, 3) of every body frame in the world."""
        raw = self._poses(q)
        return Pose(raw[..., :9].reshape(*raw.shape[:-1], 3, 3), np.ascontiguousarray(raw[..., 9:]))

    def pose(self, marker: Marker | Body | str, q: ArrayLike) -> Pose:
        """Return attitude (..., 3, 3) and position (..., 3) of a marker in the world.

        Parameters
        ----------
        marker : Marker, Body or str
            ``"crank"``, ``"crank.tip"``, ``crank.at(0.1, 0, 0)``.
        q : (nq,) or (B, nq) rad or m
        """
        point = self._loose_point("pose", marker)
        if point is not None:
            return Pose(*point_pose(self, point, q))
        raw = self._marker_pose(self._marker("pose", marker), q)
        return Pose(raw[..., :9].reshape(*raw.shape[:-1], 3, 3), np.ascontiguousarray(raw[..., 9:]))

    def velocity(self, marker: Marker | Body | str, q: ArrayLike, v: ArrayLike) -> Array:
        """Return [angular velocity; velocity] (..., 6) of a marker, world axes, rad/s and m/s."""
        point = self._loose_point("velocity", marker)
        if point is not None:
            return point_velocity(self, point, q, v)
        return self._marker_velocity(self._marker("velocity", marker), q, v)

    def acceleration(self, marker: Marker | Body | str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return [angular acceleration; acceleration] (..., 6) of a marker, world axes, rad/s2 and m/s2."""
        point = self._loose_point("acceleration", marker)
        if point is not None:
            return point_acceleration(self, point, q, v, a)
        return self._marker_acceleration(self._marker("acceleration", marker), q, v, a)

    def jacobian(self, marker: Marker | Body | str, q: ArrayLike) -> Array:
        """Return J (..., 6, nv) with velocity = J v, world axes."""
        point = self._loose_point("jacobian", marker)
        if point is not None:
            return point_jacobian(self, point, q)
        return self._marker_jacobian(self._marker("jacobian", marker), q)

    def bias_acceleration(self, marker: Marker | Body | str, q: ArrayLike, v: ArrayLike) -> Array:
        """Return J' v (..., 6), the acceleration of a marker when the speeds are constant, world axes."""
        return self.acceleration(marker, q, v, np.zeros(self.nv))

    # ---- dynamics

    def mixed_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        a: ArrayLike,
        given: ArrayLike | str | list[str],
        *,
        loads: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return all accelerations and all hinge forces when some of each are given; O(nb) for trees, loops obeyed.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        tau : (nv,) or (B, nv) N m or N
            Forces of the free coordinates; entries at prescribed ones are not read.
        a : (nv,) or (B, nv) rad/s2 or m/s2
            Accelerations of the prescribed coordinates; others are not read. Zero locks a hinge.
        given : (nv,) bool, or name or names of hinges or speeds
            Which accelerations are prescribed.
        loads : (nb, 6) or (B, nb, 6) N m and N

        Returns
        -------
        a, tau : (nv,) or (B, nv)
            Slaats 1991, section 4.1; Passerello and Huston 1972, (3.30) and (3.31).
        """
        return self._mixed_dynamics(q, v, tau, a, self._marks(given), loads=loads)

    def multipliers(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        loads: ArrayLike | None = None,
        t: float | None = None,
    ) -> Array:
        """Return the multipliers of the constraint rows, (nc,) or (B, nc), that go with `forward_dynamics`.

        They are in M a + b = tau + P^T lam and act on the second marker of each chord. Where rows
        repeat each other the multipliers are not unique; given are those of the `connection_loads` of least norm.
        With a time t (one state only), the motion is that of `dynamics`.
        """
        if np.ndim(q) == 1 and np.ndim(v) == 1:
            return self._motion_with_loops("multipliers", q, v, tau, loads, t)[2][1]
        if t is not None:
            raise ModelError("multipliers", "t", t, "drives are for one state at a time")
        a, lam = self._constrained_dynamics(q, v, tau, loads=loads)
        shapes = ((q, (self.nq,)), (v, (self.nv,)), (np.zeros(6) if loads is None else loads, (self.nb, 6)))
        states = [np.broadcast_to(np.asarray(x, dtype=float), (len(lam), *shape)) for x, shape in shapes]
        return least_multipliers(self, states[0], states[1], a, lam, states[2])

    def connection_loads(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        loads: ArrayLike | None = None,
        axes: str = "world",
        t: float | None = None,
    ) -> ConnectionLoads:
        """Return the load of every connection on its second marker while the system moves under `tau`.

        Parameters
        ----------
        q : (nq,) rad or m
        v : (nv,) rad/s or m/s
        tau : (nv,) N m or N
            Hinge forces; zero if left out.
        loads : (nb, 6) N m and N
            [moment; force] on each body, at the origin of its frame, in world axes.
        axes : str
            ``"world"``, or ``"marker"`` for the axes of each second marker.
        t : float, s
            Time, for the motion under all force elements and drives, as by `dynamics`; without it, neither act.

        Returns
        -------
        ConnectionLoads
            [moment; force] (6,) by connection name, about the origin of its second marker, N m and N; along its
            freedoms a hinge passes its effort. Where loops repeat each other's demands loads are not unique: they are
            marked, with the connections that share them, and those given have the least sum of moment^2 +
            (L force)^2 over all connections, L the characteristic length of the system.
        """
        q, given, (found, _, stress) = self._motion_with_loops("connection_loads", q, v, tau, loads, t)
        return ConnectionLoads(self, q, found, axes, given=given, stress=stress)

    def loads_of_motion(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        lam: ArrayLike,
        *,
        loads: ArrayLike | None = None,
        axes: str = "world",
    ) -> ConnectionLoads:
        """Return the load of every connection on its second marker for a given motion and given multipliers.

        Parameters
        ----------
        q : (nq,) rad or m
        v : (nv,) rad/s or m/s
        a : (nv,) rad/s2 or m/s2
        lam : (nc,) N or N m
            Multipliers of the constraint rows.
        loads : (nb, 6) N m and N
        axes : str
            ``"world"`` or ``"marker"``.

        Returns
        -------
        ConnectionLoads
            As `connection_loads`; marked are the components that other multipliers could change.
        """
        q = self._coordinates("connection_loads", q)  # one state at a time
        return ConnectionLoads(self, q, loads_by_connection(self, q, v, a, lam, loads), axes)

    def _motion_with_loops(
        self,
        kernel: str,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None,
        loads: ArrayLike | None,
        t: float | None,
    ) -> tuple[Array, NDArray[np.bool_] | None, tuple[Array, Array, SelfStress]]:
        """Return q, the freedoms that drives prescribe, and loads, multipliers and self-stress of the motion."""
        q, given = self._coordinates(kernel, q), None
        if t is not None:
            a, _, lam, _ = self.dynamics(t, q, v, tau=tau, loads=loads)
            given = ~np.isnan(self.drive_motion(t)[2])
            loads = self.applied_loads(t, q, v)[1] + (0.0 if loads is None else np.asarray(loads, dtype=float))
        elif self.nc:
            a, lam = self._constrained_dynamics(q, v, tau, loads=loads)
        else:
            a, lam = self.forward_dynamics(q, v, tau, loads=loads), np.zeros(0)
        return q, given, least_loads(self, q, v, a, lam, loads=loads, given=given, t=t or 0.0)

    # ---- motion in time: drives, force elements, loops

    def dynamics(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        tau: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        share: bool = True,
        integrator: _core.Integrator | None = None,
    ) -> Dynamics:
        """Return accelerations, hinge forces and multipliers under all force elements and drives of the system.

        Parameters
        ----------
        t : float or (n,) s
        q : (nq,) or (n, nq) rad or m
        v : (nv,) or (n, nv) rad/s or m/s
        x : (nx,) or (n, nx)
        tau : (nv,) or (n, nv) N m or N
            Further hinge forces.
        loads : (nb, 6) or (n, nb, 6) N m and N
            Further loads, [moment; force] on each body at its origin, world axes.
        share : bool
            Multipliers that are not unique are those of the loads of least norm (see `connection_loads`); without, any
            that go with the motion, which is faster.
        integrator : from `integrator`
            With settings of its own: locks, switches, control.
        """
        states, single = self._rows("dynamics", t, q, v, x)
        n = len(states[0])
        more = [
            None if given is None else self._spread("dynamics", name, given, n, shape)
            for name, given, shape in (("tau", tau, (self.nv,)), ("loads", loads, (self.nb, 6)))
        ]
        stepper = integrator or self.integrator()
        _, *parts = stepper.evaluate(*states, *more)
        if not all(np.isfinite(part).all() for part in parts):
            self._refuse_result("dynamics", "q", q)
        if self.nc and share:
            on_bodies = stepper.forces(*states)[2]
            if more[1] is not None:
                on_bodies = on_bodies + more[1]
            closures: list[Connection | CoordinateConnection] = [*self.forest.chords, *self.forest.couplings]
            sizes = [len(c.element.rows) for c in closures]
            acting = np.repeat(np.array(stepper.active, dtype=np.bool_), sizes)
            parts[2] = least_multipliers(
                self, states[1], states[2], parts[0], parts[2], on_bodies, acting=acting, t=states[0]
            )
        return Dynamics(*(part[0] if single else part for part in parts))

    def d_dynamics(self, t: float, q: ArrayLike, v: ArrayLike, x: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return da/dq and da/dv (nv, nv) of `dynamics` at one state, exact, loops and force elements included.

        Directions of q are those of the tangent space, as in `integrate`. What Python functions give (control, laws)
        counts as constant.
        """
        states, single = self._rows("d_dynamics", t, q, v, x)
        if not single:
            raise ModelError("d_dynamics", "the shape of q", np.shape(q), f"give ({self.nq},): one state at a time")
        integrator = self.integrator("radau")
        _, by_q, by_v = integrator.jacobian(float(states[0][0]), *(part[0] for part in states[1:]))
        if not (np.isfinite(by_q).all() and np.isfinite(by_v).all()):
            self._refuse_result("d_dynamics", "q", q)
        return by_q, by_v

    def applied_loads(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        integrator: _core.Integrator | None = None,
    ) -> tuple[Array, Array]:
        """Return what the force elements do: hinge forces (..., nv) and loads on bodies (..., nb, 6), as `dynamics`."""
        states, single = self._rows("applied_loads", t, q, v, x)
        _, tau, loads, _ = (integrator or self.integrator()).forces(*states)
        return (tau[0], loads[0]) if single else (tau, loads)

    def force_energy(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        integrator: _core.Integrator | None = None,
    ) -> ForceEnergy:
        """Return the energy that force elements store, and the powers that they dissipate and bring from outside."""
        states, single = self._rows("force_energy", t, q, v, x)
        energies = (integrator or self.integrator()).forces(*states)[3]
        return ForceEnergy(*(float(e) for e in energies[0])) if single else ForceEnergy(*energies.T.copy())

    def integrator(
        self,
        method: str = "dop853",
        *,
        rtol: float = 1e-8,
        atol: float = 1e-10,
        max_step: float = np.inf,
        step: float = 0.0,
        spectral_radius: float = 0.8,
        stabilization: tuple[float, float] = (0.0, 0.0),
        project: bool = True,
        watch: bool = False,
        control: Callable[..., Any] | None = None,
        history: History | None = None,
    ) -> _core.Integrator:
        """Return a stepper of the core for this model, with its drives marked and its laws attached; see `simulate`."""
        made = _core.Integrator(
            self, METHODS.index(method), rtol, atol, max_step, step, spectral_radius, *stabilization, project, watch
        )
        if self.hinge_drives:
            made.set_marks(*self.marks())
        if self._functions:
            made.set_functions(self._functions, self._function_sizes)
        if self._hosted or control is not None:
            made.set_host(self._host(control, history), control is not None)
        return made

    def marks(self, locked: Iterable[int] = ()) -> tuple[NDArray[np.uint8], ...]:
        """Return which freedoms have their acceleration, their speed and their position prescribed, (nv,) each."""
        given, paced, placed = (np.zeros(self.nv, dtype=np.uint8) for _ in range(3))
        for drive in self.hinge_drives:
            freedom = self._v_slices[drive.connection.name].start + drive.coordinate
            given[freedom], paced[freedom], placed[freedom] = 1, drive.level <= 1, drive.level == 0
        for freedom in locked:
            given[freedom] = paced[freedom] = placed[freedom] = 1
        return given, paced, placed

    @property
    def shortest_delay(self) -> float:
        """Of all inputs that come with a delay, s; infinite without any."""
        return min((law.delay.time for law in self._hosted if isinstance(law, HostedDelay)), default=np.inf)

    def _take_elements(self, tables: ElementTables) -> None:
        self._set_elements(*tables.arrays())
        self.state_names = tuple(tables.state_names)
        self._state_starts = np.array(tables.starts, dtype=float)
        self._functions = list(tables.functions)
        self._function_sizes = np.array(tables.function_sizes, dtype=np.int32).reshape(-1, 2)

    def _take_forces(self, tables: ForceTables) -> None:
        free = self.holonomic.copy()
        for drive in self.drives:
            if isinstance(drive.connection.element, Constraint) and drive.level:
                free[self.constraint_connections.index(drive.connection.name) + drive.coordinate] = False
        self._set_forces(*tables.arrays(free))
        self._hosted = tuple(tables.hosted)
        for law in self._hosted:
            if isinstance(law, HostedOutput):
                law.of(self)
        self.parameter_names = dict(tables.parameter_names)
        self.parameters = np.array(tables.parameters)

    def _host(self, control: Callable[..., Any] | None, history: History | None) -> Callable[..., None]:
        """Return the function that the core calls for laws it cannot evaluate and for a user's control."""
        hosted = self._hosted

        def evaluate(t: float, q: Array, v: Array, x: Array, laws: Array, tau: Array, loads: Array) -> None:
            for k, law in enumerate(hosted):
                if not isinstance(law, HostedOutput):
                    laws[k] = law(t)
                elif isinstance(law, HostedDelay):
                    laws[k] = law.delayed(self, history, t), 0.0, 0.0
                else:
                    laws[k] = law.value(self, t, q, v, x), 0.0, 0.0
            if control is not None:
                tau[:] = self._controlled(control, State(q=q, v=v, t=t, x=x))

        return evaluate

    def _controlled(self, control: Callable[..., Any], state: State) -> Array:
        """Return the hinge forces (nv,) that a user's function gives, as an array or by name of hinge or speed."""
        title = getattr(control, "__name__", type(control).__name__)
        try:
            given = control(state)
        except Exception as error:
            raise UserFunctionError(f"control {title} failed at t = {state.t:.6g} s: {error!r}") from error
        tau = np.zeros(self.nv)
        if isinstance(given, dict):
            for name, value in given.items():
                place = self.speed_names.index(name) if name in self.speed_names else self.v_slice(name)
                tau[place] = value
        elif given is not None:
            try:
                tau[:] = given
            except (TypeError, ValueError):
                tau[:] = np.nan
        if not np.isfinite(tau).all():
            raise UserFunctionError(
                f"control {title} returned {given!r} at t = {state.t:.6g} s; give ({self.nv},) finite numbers, or a "
                "dict of numbers by name of hinge"
            )
        return tau

    def _rows(
        self, kernel: str, t: ArrayLike, q: ArrayLike, v: ArrayLike, x: ArrayLike | None
    ) -> tuple[list[Array], bool]:
        """Return t (n,), q (n, nq), v (n, nv), x (n, nx), checked, and whether one state was given."""
        single = np.ndim(q) == 1
        n = 1 if single else len(np.atleast_1d(np.asarray(q)))
        x = self._state_starts if x is None else x
        sizes = (("t", t, ()), ("q", q, (self.nq,)), ("v", v, (self.nv,)), ("x", x, (self.nx,)))
        return [self._spread(kernel, name, value, n, shape) for name, value, shape in sizes], single

    def _spread(self, kernel: str, name: str, value: ArrayLike, n: int, shape: tuple[int, ...]) -> Array:
        """Return one checked row of `shape` for each of n states."""
        try:
            rows = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=np.float64), (n, *shape)))
        except (TypeError, ValueError):
            raise ModelError(
                kernel, f"the shape of {name}", np.shape(value), f"give {shape} or {(n, *shape)}"
            ) from None
        if not np.isfinite(rows).all():
            raise ModelError(kernel, name, value, "give finite numbers")
        return rows

    def drive_motion(self, t: float) -> tuple[Array, Array, Array]:
        """Return position (nq,), speed (nv,) and acceleration (nv,) that driven hinges have at t; NaN elsewhere."""
        q, v, a = np.full(self.nq, np.nan), np.full(self.nv, np.nan), np.full(self.nv, np.nan)
        for drive in self.hinge_drives:
            place = drive.coordinate
            position, speed, acceleration = drive.motion(t)
            span_q, span_v = self._q_slices[drive.connection.name], self._v_slices[drive.connection.name]
            q[span_q.start + place] = np.nan if position is None else position
            v[span_v.start + place] = np.nan if speed is None else speed
            a[span_v.start + place] = acceleration
        return q, v, a

    def row_motion(self, t: float) -> Array:
        """Return residual, rate and second rate (3, nc) that driven constraints have at t; zero elsewhere."""
        targets = np.zeros((3, self.nc))
        for drive in self.drives:
            element = drive.connection.element
            if isinstance(element, Constraint):
                value, rate, second = drive.law(t)
                lower, upper = element.limits
                if not lower < value < upper:
                    where = f"position at t = {t:.6g} s"
                    remedy = f"a {element.kind} needs it between {lower:.6g} and {upper:.6g}"
                    raise ModelError(f"drive {drive.name!r}", where, value, remedy)
                targets[:, self._driven_row(drive)] = element.target(value, rate, second)
        return targets

    def _driven_row(self, drive: Drive) -> int:
        return self.constraint_connections.index(drive.connection.name) + drive.coordinate

    def drive_efforts(
        self, t: float, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, loads: ArrayLike | None = None
    ) -> dict[str, float]:
        """Return what each drive exerts along what it drives at t, by name, N m or N.

        Times the speed of the drive it is the drive's power. For a hinge it is the hinge force; for a constraint it
        acts on the second marker and is positive if it pushes the way in which the driven quantity grows.

        Parameters
        ----------
        t : float, s
        q, v, tau, loads
            As `dynamics`, one state.
        """
        _, forces, lam, _ = self.dynamics(t, q, v, tau=tau, loads=loads)
        forces = forces - self.applied_loads(t, q, v)[0]  # what elements at the coordinate give is not the drive's
        efforts = {}
        for drive in self.drives:
            element = drive.connection.element
            if isinstance(element, Constraint):
                slope = element.target(drive.law(t)[0], 1.0, 0.0)[1]  # of the row against what is driven
                efforts[drive.name] = float(lam[self._driven_row(drive)] * slope)
            else:
                efforts[drive.name] = float(forces[self._v_slices[drive.connection.name].start + drive.coordinate])
        return efforts

    def driven_dynamics(
        self, t: float, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, loads: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Return accelerations and hinge forces while the drives prescribe motions; the efforts of drives are in tau.

        Parameters
        ----------
        t : float, s
        q : (nq,) rad or m
        v : (nv,) rad/s or m/s
        tau : (nv,) N m or N
            Forces at the coordinates that are not driven; zero if left out.
        loads : (nb, 6) N m and N
        """
        a = self.drive_motion(t)[2]
        given = ~np.isnan(a)
        forces = np.zeros(self.nv) if tau is None else tau
        return self._mixed_dynamics(
            q, v, forces, np.where(given, a, 0.0), given, loads=loads, rows=self.row_motion(t)[2], t=t
        )

    def factor(self, q: ArrayLike) -> Factor:
        """Return the mass matrix at q in factored form, for many solves."""
        return Factor(self, q)

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energy:
        """Return kinetic and potential energy (J); potential energy is zero at the world's origin."""
        raw = self._energy(q, v)
        if raw.ndim == 1:
            return Energy(float(raw[0]), float(raw[1]))
        return Energy(raw[:, 0].copy(), raw[:, 1].copy())

    def momentum(self, q: ArrayLike, v: ArrayLike, *, about: ArrayLike | None = None) -> Array:
        """Return [angular momentum; linear momentum] (..., 6) in world axes, N m s and N s.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        about : (3,) m
            Fixed point for the angular part; the system's centre of mass if left out.
        """
        A = self.centroidal_momentum_matrix(q)
        # checks v as any kernel does
        q_array, v_array = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        self.coordinate_rates(q_array, v_array)
        h: Array = (A @ v_array[..., None])[..., 0]
        if about is not None:
            arm = self.center_of_mass(q) - np.asarray(about, dtype=float)
            h[..., :3] += np.cross(np.broadcast_to(arm, h[..., 3:].shape), h[..., 3:])
        return h

    def composite_inertias(self, q: ArrayLike) -> Array:
        """Return the diagonal of the mass matrix (nv,): inertia along each freedom with all others locked."""
        return self._composite_diagonal(q)

    def freedoms_without_inertia(self, q: ArrayLike) -> list[str]:
        """Return the names of the speeds along which nothing resists at q (nq,): where the mass matrix is singular."""
        pivots, scale = self.factor(q).pivots(), self.composite_inertias(q)
        # an exact zero shows as round-off of what the pivot would be with everything outboard locked
        weak = ~(pivots > 1e-13 * scale)
        hinges = {k for k, name in enumerate(self.hinge_names) if weak[self._v_slices[name]].any()}
        # a vanishing pivot spoils those further in: only the outermost are at fault
        spoilt = {ancestor - 1 for k in hinges for ancestor in self.forest.path(k + 1)[1:]}
        names = []
        for k in sorted(hinges - spoilt):
            span = self._v_slices[self.hinge_names[k]]
            names += [self.speed_names[j] for j in range(span.start, span.stop) if weak[j]]
        return names

    def __repr__(self) -> str:
        return f"<Model {self.system.name!r}: {self.nb} bodies, {self.nv} freedoms, {len(self.forest.chords)} chords>"

    # ---- from names to numbers

    def _slice(self, slices: dict[str, slice], hinge: str) -> slice:
        try:
            return slices[hinge]
        except (KeyError, TypeError):
            chords = [chord.name for chord in self.forest.chords if isinstance(chord.element, Hinge)]
            remedy = (
                "it was cut to close a loop"
                if hinge in chords
                else f"the tree has {', '.join(map(repr, self.hinge_names[:8]))}"
            )
            raise ModelError(f"model of {self.system.name!r}", "hinge", hinge, remedy) from None

    def _marks(self, given: Any) -> NDArray[np.bool_]:
        names = [given] if isinstance(given, str) else given
        if isinstance(names, (list, tuple)) and names and all(isinstance(n, str) for n in names):
            marks = np.zeros(self.nv, dtype=bool)
            for name in names:
                if name in self.speed_names:
                    marks[self.speed_names.index(name)] = True
                else:
                    marks[self.v_slice(name)] = True
        else:
            marks = np.asarray(given)
            if marks.dtype != bool or marks.shape != (self.nv,):
                raise ModelError("mixed_dynamics", "given", given, f"give ({self.nv},) booleans, or names of hinges")
        for name in self.flexible_names:
            if marks[self._v_slices[name]].any():
                raise ModelError("mixed_dynamics", "given", name, "the accelerations of modes cannot be prescribed")
        return marks

    def _loose_point(self, kernel: str, marker: Marker | Body | str) -> Marker | None:
        """Return the marker if it is a point of a flexible body without a frame in the core, else None."""
        if not self.flexible_names:
            return None
        found = self._found(kernel, marker)
        return None if self.frames.places.follows(found) else found

    def _marker(self, kernel: str, marker: Marker | Body | str) -> Array:
        place, R, p = self.frames.place(self._found(kernel, marker))
        return np.concatenate([[place], R.ravel(), p])

    def _found(self, kernel: str, marker: Marker | Body | str) -> Marker:
        found = self.system[marker] if isinstance(marker, str) else marker
        if isinstance(found, Body):
            found = found.origin
        body = found.body if isinstance(found, Marker) else None
        known = body is self.system.ground or (body is not None and self.system.bodies.get(body.name) is body)
        if not isinstance(found, Marker) or not known or found.body.name not in self.forest.number:
            raise ModelError(kernel, "marker", marker, "give a body or marker of the system, or its name")
        return found

    def _coordinates(self, kernel: str, q: ArrayLike) -> Array:
        """Return q as a checked (nq,) array."""
        if np.ndim(q) == 2:
            raise ModelError(
                kernel, "the shape of q", np.shape(q), f"give ({self.nq},): this takes one state at a time"
            )
        array = np.ascontiguousarray(q, dtype=np.float64) if np.ndim(q) == 1 else np.empty(0)
        if array.shape != (self.nq,) or not np.isfinite(array).all():
            self._refuse(kernel, "q", q)
        return array

    # ---- called by the core when it cannot go on

    def _refuse(self, kernel: str, argument: str, value: Any) -> NoReturn:
        refusals.refuse_argument(self, kernel.lstrip("_"), argument, value)

    def _refuse_chords(self, kernel: str, argument: str, value: Any) -> NoReturn:
        refusals.refuse_loops(self, kernel.lstrip("_"))

    def _refuse_result(self, kernel: str, argument: str, value: Any) -> NoReturn:
        refusals.refuse_result(self, kernel.lstrip("_"), value)


def _full_names(hinge: str, parts: tuple[str, ...]) -> list[str]:
    """Return the names of a hinge's coordinates: its own if there is one, else with endings."""
    return [hinge] if len(parts) == 1 else [f"{hinge}.{part}" for part in parts]
