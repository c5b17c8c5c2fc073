"""Model: kinematic and dynamic kernels of a compiled system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import checked, finite_array, finite_number, shape_of
from ..compile import compile_system
from ..compile.massless_dof import InertiaSizes, has_inertia_everywhere, massless_dof, motions_without_inertia
from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.geometric import Constraint
from ..connections.drives import PoseDrive
from ..errors import ModelError
from ..system import System
from . import argument_errors as refusals
from .argument_errors import checked_configuration
from .cache import cached_per_model
from .conditions import Conditions, check_closure, locked_dof, parameter_directions, parameter_vector
from .connection_loads import ConnectionLoads
from .drive_targets import drive_targets, driven_dof, driven_row
from .history import History
from .kernel_results import Derivatives, DynamicsDerivatives, Energy, ForceEnergy, Pose
from .mass_factor import Factor, sparse_mass_matrix
from .model_names import NamedModel
from .reduced_coordinates import (
    MimicRules,
    ReducedCoordinates,
    d_bare_forward_dynamics,
    inverse_dynamics,
    mimic_rules,
    rule_efforts,
)
from .sampled_control import SampledControl
from .variants import make_variant

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Model", "as_model"]


@checked("description")
class Model(NamedModel):
    """Compiled system, constant; later changes of the system have no effect on it.

    ``System.compile()`` makes it. Every kernel takes one state, ``(n,)``, or a batch of them, ``(B, n)``, and may be
    called from several threads at once. Kernels evaluate the system as described, with its elements, dampers, loads and
    drives; with the keyword `bare`, some evaluate the tree and its loops alone. Joint coordinates are stacked in the
    order of `joint_names`, which follows the tree; use names or `q_slice` and `v_slice` to address them.

    Attributes
    ----------
    nb, nq, nv : int
        Numbers of bodies, coordinates and velocities.
    nx, nc : int
        Numbers of element states and of constraint rows from closed loops.
    body_names, joint_names : tuple of str, (nb,)
        In tree order.
    coordinate_names : tuple of str, (nq,)
    speed_names : tuple of str, (nv,)
        Joint by joint; the modal coordinates of a flexible body, ``"arm.eta[0]"``, follow those of its joint.
    coordinate_kinds, speed_kinds : tuple of str
        Kind of each: the name in the joint (``"angle"``, ``"qw"``, ``"wx"``), or ``"eta"``.
    flexible_names : tuple of str
        The flexible bodies.
    state_names : tuple of str, (nx,)
    input_names : tuple of str
        Inputs of elements by time laws, and forces of loads and efforts: ``"motor.u"``, ``"wind.fx"``.
    parameter_names : dict of str to int
        Parameters of the system, ``"k.stiffness"``, ``"crank.mass"``, and the index of each in `parameters`.
    parameters : (n,)
        Element parameters, then mapped parameters of bodies, markers, joints, loop constraints, laws and gravity.
    family : Model
        The model as described, of which this one may be a variant with other parameter values; else itself.
    closure_names : tuple of str
        Loop constraints: cut joints and constraints, then couplings.
    connection_names : tuple of str
        Tree joints, then loop constraints, in the order of loads.
    constraint_names, constraint_connections : tuple of str, (nc,)
        Rows of the closed loops, ``"D.tilt_x"``, and the connection that each belongs to.
    holonomic : (nc,) bool
        Which rows constrain positions; the others constrain velocities only.
    independent_rows : tuple of str
        Rows that are not redundant in every configuration.
    loop_envelope : int
        Stored entries of the matrix that couples the n independent rows: n (n + 1) / 2 if it is full.
    length : float, m
        Characteristic length: mean distance of the connections of a body.
    drives, joint_drives : tuple of Drive
        All drives, and those of joint coordinates.
    forest : Forest
    system : System
        A copy of the description.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        if self.family is not self:
            return make_variant, (self.family, self.parameters)
        return _restored, (self.system, self.compiled.origin)

    def with_parameters(self, parameters: Mapping[str, float] | ArrayLike) -> Model:
        """Return the model with other parameter values, without recompilation; every analysis takes it.

        Parameters
        ----------
        parameters : dict of str to float
            Changed parameters, ``{"crank.mass": 2.0, "B.first.x": 0.12}``.

        Raises
        ------
        ModelError
            If there is no such parameter, or the value is invalid.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("pendulum")
        >>> bob = s.body("bob", mass=2.0, com=(1.0, 0, 0))
        >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
        >>> model = s.compile()
        >>> model.forward_dynamics([0.0], [0.0])
        array([9.81])
        >>> model.with_parameters({"bob.com.x": 2.0}).forward_dynamics([0.0], [0.0])
        array([4.905])
        """
        return make_variant(self.family, parameter_vector(self, parameters, "with_parameters"), "with_parameters")

    @checked("locked", "off")
    def conditions(
        self,
        parameters: Mapping[str, float] | ArrayLike | None = None,
        *,
        locked: str | Iterable[str] = (),
        off: str | Iterable[str] = (),
        control: Callable[..., Any] | SampledControl | None = None,
        history: History | None = None,
        stabilization: tuple[float, float] = (0.0, 0.0),
    ) -> Conditions:
        """Return conditions for the kernels: parameters, locked joints, open constraints.

        Parameters
        ----------
        parameters : dict of str to float
            Changed parameters, ``{"k.stiffness": 5.0}``.
        locked : str or names
            Tree joints to lock.
        off : str or names
            Loop constraints to open.
        control : callable or SampledControl
            From a `State` to joint forces.
        history : History
        stabilization : (float, float)
        """
        item = "conditions"
        if control is not None and not callable(control) and not isinstance(control, SampledControl):
            raise ModelError(item, "control", control, "give a function of a State, or a da.SampledControl")
        if history is not None and not isinstance(history, History):
            raise ModelError(item, "history", history, "give the History of a run")
        gains = finite_array(stabilization, (2,), item=item, field="stabilization")
        closures = frozenset([off] if isinstance(off, str) else off)
        for name in closures:
            check_closure(self, name, item)
        return Conditions(
            self,
            parameter_vector(self, parameters, item),
            locked_dof(self, [locked] if isinstance(locked, str) else locked, item),
            closures,
            control=control,
            history=history,
            stabilization=(float(gains[0]), float(gains[1])),
        )

    # ---- kinematics of bodies and markers

    def poses(self, q: ArrayLike) -> Pose:
        """Return orientation (..., nb, 3, 3) and position (..., nb, 3) of every body frame in the world."""
        raw = self._poses(q)
        return Pose(raw[..., :9].reshape(*raw.shape[:-1], 3, 3), np.ascontiguousarray(raw[..., 9:]))

    @refusals.reraise_with_method_name
    def pose(self, marker: Marker | Body | str, q: ArrayLike) -> Pose:
        """Return orientation (..., 3, 3) and position (..., 3) of a marker in the world.

        Parameters
        ----------
        marker : Marker, Body or str
            ``"crank"``, ``"crank.tip"``, ``crank.at(0.1, 0, 0)``.
        q : (nq,) or (B, nq) rad or m
        """
        raw = self._point_poses(self._point("pose", marker), q)
        return Pose(raw[..., :9].reshape(*raw.shape[:-1], 3, 3), np.ascontiguousarray(raw[..., 9:]))

    @refusals.reraise_with_method_name
    def velocity(self, marker: Marker | Body | str, q: ArrayLike, v: ArrayLike) -> Array:
        """Return [angular velocity; velocity] (..., 6) of a marker, world axes, rad/s and m/s."""
        return self._point_velocities(self._point("velocity", marker), q, v)

    @refusals.reraise_with_method_name
    def acceleration(self, marker: Marker | Body | str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return [angular acceleration; acceleration] (..., 6) of a marker, world axes, rad/s2 and m/s2."""
        return self._point_accelerations(self._point("acceleration", marker), q, v, a)

    @refusals.reraise_with_method_name
    def jacobian(self, marker: Marker | Body | str, q: ArrayLike) -> Array:
        """Return J (..., 6, nv) with velocity = J v, world axes."""
        return self._point_jacobians(self._point("jacobian", marker), q)

    def bias_acceleration(self, marker: Marker | Body | str, q: ArrayLike, v: ArrayLike) -> Array:
        """Return J' v (..., 6), the acceleration of a marker at constant velocities v, world axes."""
        return self.acceleration(marker, q, v, np.zeros(self.nv))

    # ---- dynamics: `forward_dynamics`, `dynamics` and `inverse_dynamics` are methods of the core

    @checked("bare")
    @refusals.reraise_with_method_name
    def bias_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        loads: ArrayLike | None = None,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return the joint forces at zero acceleration: gyroscopic, centrifugal, gravity, minus elements.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        loads : (nb, 6) or (B, nb, 6) N m and N
        t, x, inputs, conditions, out
            As in `forward_dynamics`.
        bare : bool
            Without elements and dampers.

        Returns
        -------
        b : (nv,) or (B, nv) N m or N
            In M a + b = tau.
        """
        if (bare or not self.compiled.elements.elements) and _nothing(t, x, inputs, conditions):
            return self._bias_forces(q, v, loads=loads, out=out)
        how: dict[str, Any] = {"t": t, "x": x, "inputs": inputs, "conditions": conditions, "bare": bare, "out": out}
        return self._required_forces(q, v, np.zeros(self.nv), loads=loads, **how)

    @checked("a", "t")
    @refusals.reraise_with_method_name
    def mixed_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        a: ArrayLike,
        given: ArrayLike | str | list[str],
        *,
        loads: ArrayLike | None = None,
        t: ArrayLike = 0.0,
        x: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return all accelerations and joint forces when some of each are given; O(nb) for trees.

        Loops are closed.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        tau : (nv,) or (B, nv) N m or N
            Forces of the free DOF; entries at prescribed DOF are ignored.
        a : (nv,) or (B, nv) rad/s2 or m/s2
            Accelerations of the prescribed DOF; others are ignored. Zero locks a joint.
        given : (nv,) bool, or name or names of joints or velocities
            Which accelerations are prescribed, in addition to those of drives.
        loads : (nb, 6) or (B, nb, 6) N m and N
        t : float or (B,) s
        x : (nx,) or (B, nx)

        Returns
        -------
        a, tau : (nv,) or (B, nv)
            Slaats 1991, section 4.1; Passerello and Huston 1972, (3.30) and (3.31). At prescribed DOF `tau` is
            the required effort, elements included.
        """
        marks = self._marks(given)
        accelerations = self._checked("mixed_dynamics", "a", a)
        driven = np.array([~np.isnan(drive_targets(self, one)[2]) for one in np.atleast_1d(t)]).any(0) & ~marks
        if driven.any():
            prescribed = np.array([drive_targets(self, one)[2] for one in np.atleast_1d(t)])
            accelerations = np.where(driven, prescribed if np.ndim(t) else prescribed[0], accelerations)
        conditions = Conditions(self, self.parameters, frozenset(np.flatnonzero(marks).tolist()))
        found = self.dynamics(t, q, v, x, tau=tau, loads=loads, a=accelerations, conditions=conditions)
        return found.a, found.tau

    @checked("parameters", "multipliers")
    def d_dynamics(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        tau: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        parameters: Sequence[str] = (),
        multipliers: bool = True,
    ) -> DynamicsDerivatives:
        """Return the exact derivatives of `dynamics`, loops, elements and flexible bodies included.

        Parameters
        ----------
        t, q, v, x, tau, loads, inputs, conditions
            As in `dynamics`; one state, or a batch.
        parameters : names
            Parameters of the derivatives, ``("k.stiffness", "crank.mass")``; at constant q, v and x.
        multipliers : bool
            Compute derivatives of multipliers; otherwise ``d.lam`` has no rows. With redundant constraints they cost
            much more than all others.

        Returns
        -------
        DynamicsDerivatives
            ``d.a.q`` (nv, nv): accelerations by the directions of the tangent space, and so on.

        Python functions (laws, control) are differentiated by differences; so are multipliers that are not unique, and
        all quantities if connection loads that are not unique are inputs.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("spring", gravity=(0, 0, 0))
        >>> _ = s.connect("slide", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=2.0)))
        >>> _ = s.connect("k", da.JointSpring(stiffness=6.0, damping=1.0), "slide")
        >>> d = s.compile().d_dynamics(0.0, [0.1], [0.0], parameters=("k.stiffness",))
        >>> d.a.q, d.a.v, d.a.tau, d.a.parameters
        (array([[-3.]]), array([[-0.5]]), array([[0.5]]), array([[-0.05]]))
        """
        kinds = range(7 if parameters else 6)
        n_quantities = 3 if multipliers else 2
        parts = [3 * kind + what for kind in kinds for what in range(n_quantities)]
        how: dict[str, Any] = {"t": t, "x": x, "tau": tau, "loads": loads, "inputs": inputs, "conditions": conditions}
        if parameters:
            numbers = (self if conditions is None else conditions.model).parameters
            how["directions"] = parameter_directions(self, parameters, numbers, "d_dynamics")
        raw = self._d_dynamics(parts, q, v, **how)
        found = [self._gathered([*raw[what::n_quantities]]) for what in range(n_quantities)]
        if not multipliers:
            none = Derivatives(*(part[..., :0, :] for part in found[0]._replace(t=found[0].tau)))
            found.append(none._replace(t=found[0].t[..., :0]))
        return DynamicsDerivatives(*found)

    def _gathered(self, blocks: list[Array]) -> Derivatives:
        """Return derivatives of one quantity, with one column for each name."""
        places = self.compiled.elements.inputs_by_law
        by_name = np.zeros((*blocks[4].shape[:-1], len(self.input_names)))
        for k, name in enumerate(places):
            by_name[..., self.input_names.index(name)] += blocks[4][..., k]
        by_parameter = blocks[6] if len(blocks) > 6 else np.zeros((*by_name.shape[:-1], 0))
        q, v, x, tau, _, t = blocks[:6]
        return Derivatives(q, v, x, tau, by_name, t, by_parameter)

    @checked("bare")
    @refusals.reraise_with_method_name
    def d_forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        loads: ArrayLike | None = None,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
    ) -> tuple[Array, Array, Array]:
        """Return the exact derivatives of forward dynamics, loops and elements included.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        tau : (nv,) or (B, nv) N m or N
            Joint forces; zero if left out.
        loads : (nb, 6) or (B, nb, 6) N m and N
            Constant in world axes.
        t, x, inputs, conditions
            As in `forward_dynamics`.
        bare : bool
            The tree and its mimic joints alone, without other loops.

        Returns
        -------
        da_dq, da_dv, da_dtau : each (nv, nv) or (B, nv, nv)
            Column k of da_dq is the derivative along the k-th direction of the tangent space: q moves as
            ``integrate(q, h * e_k)`` does. The last, of open systems, is the inverse of the mass matrix; of mimic
            joints B (B^T M B)^-1 B^T, see `reduced`.
        """
        as_it_is = t is None and x is None and inputs is None and conditions is None
        more: dict[str, Any] = {"t": t, "x": x, "inputs": inputs, "conditions": conditions}
        if bare:
            if not as_it_is:
                self.forward_dynamics(q, v, **more, bare=True)  # checks the arguments
            rules = self._mimic_rules("d_forward_dynamics")
            if rules:
                return d_bare_forward_dynamics(self, rules, q, v, tau, loads)
        if bare or (as_it_is and self._is_plain):
            return self._d_forward_dynamics(q, v, tau, loads=loads)
        by_q, by_v, by_tau = self._d_dynamics([0, 3, 9], q, v, tau=tau, loads=loads, **more)
        return by_q, by_v, by_tau

    @checked("bare")
    @refusals.reraise_with_method_name
    def d_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        loads: ArrayLike | None = None,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
    ) -> tuple[Array, Array, Array]:
        """Return the exact derivatives of inverse dynamics, for open systems, with mimic joints too.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        a : (nv,) or (B, nv) rad/s2 or m/s2
        loads : (nb, 6) or (B, nb, 6) N m and N
            Constant in world axes.
        t, x, inputs, conditions
            As in `inverse_dynamics`.
        bare : bool
            The tree alone.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : each (nv, nv) or (B, nv, nv)
            Column k of dtau_dq is the derivative along the k-th direction of the tangent space: q moves
            as ``integrate(q, h * e_k)`` does. The last is the mass matrix, unless connection loads are inputs of
            elements; then all three are computed by differences. With mimic joints the rows of followers are zero, and
            those of leaders contain theirs; for derivatives by independent coordinates alone see `reduced`.
        """
        rules = self._mimic_rules("d_inverse_dynamics", conditions)
        as_it_is = t is None and x is None and inputs is None and conditions is None
        more: dict[str, Any] = {"t": t, "x": x, "inputs": inputs, "conditions": conditions}
        if bare and not as_it_is:
            self.inverse_dynamics(q, v, a, **more, bare=True)  # checks the arguments
        if bare or (as_it_is and not (self.compiled.elements.elements or self.drives)):
            found = self._d_inverse_dynamics(q, v, a, loads=loads)
        else:
            found = self._d_required_forces(q, v, a, loads=loads, **more)
        if rules is None:
            return found
        by_q, by_v, by_a = (np.asarray(rules.efforts @ block) for block in found)
        return by_q, by_v, by_a

    @property
    def reduced(self) -> ReducedCoordinates:
        """Kernels in the coordinates that mimic joints leave independent."""
        return _reduced(self)

    def _mimic_rules(self, kernel: str, conditions: Conditions | None = None) -> MimicRules | None:
        """Return the maps of mimic joints, None for open systems; refuse all other loops."""
        if not self.nc:
            return None
        rules = mimic_rules(self, conditions)
        if rules.open_names:
            refusals.raise_loops_unsupported(self, kernel, rules.open_names)
        return rules

    @refusals.reraise_with_method_name
    def _inverse_dynamics_with_loops(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, **how: Any) -> Array:
        """Return the result of `inverse_dynamics` with mimic joints; called by the core where there are rows."""
        rules = self._mimic_rules("inverse_dynamics", how.get("conditions"))
        assert rules is not None
        return inverse_dynamics(self, rules, q, v, a, how)

    @cached_property
    def _is_plain(self) -> bool:
        """True if the system is a tree, without loops and constraints."""
        return not (self.nc or self.compiled.elements.elements or self.drives)

    # ---- loads

    def report(
        self,
        parts: Sequence[str],
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        tau: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
    ) -> dict[str, Array]:
        """Return quantities of a state, or of a batch of states, by name; only requested ones are computed.

        Parameters
        ----------
        parts : sequence of str
            ``"a"``, ``"dx"``, ``"tau"``, ``"lam"``: as `dynamics`. ``"loads"``, ``"unique"`` (connections, 6): loads of
            `connection_names` on their second markers, world axes, and 1 where the motion determines them.
            ``"cut_q"``, ``"cut_v"``, ``"cut_a"``, ``"cut_effort"``: of cut joints. ``"constraint_effort"``: constraint
            efforts of locked and driven DOF, without elements and control, those of cut joints last. ``"residual"``,
            ``"residual_rate"`` (nc): violations of rows and of their rates. ``"measures"``, ``"rates"``, ``"forces"``
            of elements, ``"port_loads"`` (ports, 6): their loads; ``"energies"``, ``"losses"``, ``"gains"`` (elements)
            J, W, W; ``"signals"``; ``"law_inputs"``: further inputs of laws; ``"applied"`` (nv) and ``"body_loads"``
            (nb, 6): their efforts at joints and loads on bodies.
            ``"energy"`` (6): kinetic, potential, stored in elements, J; dissipated, supplied by elements, supplied
            externally, W. ``"requested_effort"``: total requested effort of the actuators at each DOF with a
            `max_effort`. ``"switching_functions"``: of laws, where conditions hold some branches.
        t, q, v, x, tau, loads, inputs, conditions
            As in `dynamics`.
        """
        if isinstance(parts, str) or not isinstance(parts, Iterable):
            raise ModelError("report", "parts", parts, "give a sequence of names")
        for name in parts:
            if not isinstance(name, str) or name not in _core.report_parts:
                raise ModelError("report", "part", name, f"there are {', '.join(map(repr, _core.report_parts))}")
        numbers = sorted(_core.report_parts.index(part) for part in parts)
        found = self._report(numbers, q, v, t=t, x=x, tau=tau, loads=loads, inputs=inputs, conditions=conditions)
        for part in found:
            if not isfinite(part.sum()):
                refusals.raise_result_error(self, "report", q)
        return {_core.report_parts[number]: part for number, part in zip(numbers, found, strict=True)}

    def _reported(self, part: str, q: ArrayLike, v: ArrayLike, *, t: Any = None, x: Any = None, **more: Any) -> Array:
        """Return one part of a report."""
        return self.report([part], 0.0 if t is None else t, q, v, x, **more)[part]

    @checked("axes")
    @refusals.reraise_with_method_name
    def connection_loads(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        x: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        axes: str = "world",
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
    ) -> ConnectionLoads:
        """Return the load of every connection on its second marker for the motion under `tau`.

        Parameters
        ----------
        q : (nq,) rad or m
        v : (nv,) rad/s or m/s
        tau : (nv,) N m or N
            Further joint forces; zero if left out.
        t : float, s
        x : (nx,)
            Element states; their start values if left out.
        loads : (nb, 6) N m and N
            Further loads, [moment; force] on each body, at the origin of its frame, in world axes.
        axes : str
            ``"world"``, or ``"marker"`` for the axes of each second marker.
        inputs, conditions
            As in `forward_dynamics`.

        Returns
        -------
        ConnectionLoads
            [moment; force] (6,) by connection name, about the origin of its second marker, N m and N; along its
            degrees of freedom the load of a joint is its effort. With redundant constraints loads are not unique: they
            are marked, with the connections that share them, and have the least sum of moment^2 + (L force)^2 over all
            connections, L the characteristic length of the system.
        """
        q = checked_configuration(self, "connection_loads", q)
        for name, speeds in (("v", v), ("tau", tau)):
            shape = shape_of(speeds)
            if shape is None or len(shape) > 1:
                remedy = f"give ({self.nv},): this takes one state at a time"
                raise ModelError("connection_loads", f"the shape of {name}", shape, remedy)
        t = finite_number(t, item="connection_loads", field="t")
        found = self.report(["loads"], t, q, v, x, tau=tau, loads=loads, inputs=inputs, conditions=conditions)["loads"]
        return ConnectionLoads(self, q, found, axes, t=t, conditions=conditions)

    @checked("axes", "t", "bare")
    def loads_of_motion(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        lam: ArrayLike,
        *,
        loads: ArrayLike | None = None,
        axes: str = "world",
        t: float = 0.0,
        x: ArrayLike | None = None,
        bare: bool = False,
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
        t : float, s
        x : (nx,)
        bare : bool
            Without the loads of elements.

        Returns
        -------
        ConnectionLoads
            As `connection_loads`; components that other multipliers could change are marked.
        """
        q = checked_configuration(self, "connection_loads", q)  # one state at a time
        found = self._loads_of_motion(q, v, a, lam=lam, loads=loads, t=t, x=x, bare=bare)
        return ConnectionLoads(self, q, found, axes, t=t)

    @refusals.reraise_with_method_name
    def reactions(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, loads: ArrayLike | None = None, **more: Any
    ) -> Array:
        """Return the load of each joint on its second marker in a given motion of an open system, world axes.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        a : (nv,) or (B, nv) rad/s2 or m/s2
        loads : (nb, 6) or (B, nb, 6) N m and N
        more
            `t`, `x`, `inputs`, `conditions` and `bare` as in `inverse_dynamics`.

        Returns
        -------
        F : (nb, 6) or (B, nb, 6) N m and N
            [moment; force] about the second marker's origin, in the order of `joint_names`. It includes
            the joint forces that drive the motion: the component along a degree of freedom is tau. At a mimic joint
            it is the effort of its rule.
        """
        rules = self._mimic_rules("reactions", more.get("conditions"))
        if rules is None:
            return self._loads_of_motion(q, v, a, loads=loads, **more)
        lam = rule_efforts(self, rules, q, v, a, {"loads": loads, **more})
        return self._loads_of_motion(q, v, a, loads=loads, lam=lam, **more)[..., : self.nb, :]

    @refusals.reraise_with_method_name
    def multipliers(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, **more: Any) -> Array:
        """Return the multipliers of the constraint rows, (nc,) or (B, nc), in `forward_dynamics`.

        They are in M a + b = tau + P^T lam and act on the second marker of each loop constraint. With redundant rows
        the multipliers are not unique; those of the `connection_loads` of least norm are returned.
        Keywords are those of `dynamics`, and `t`.
        """
        return self.dynamics(more.pop("t", 0.0), q, v, more.pop("x", None), tau=tau, **more).lam

    def cut_motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        """Return coordinates, velocities and accelerations of cut joints in a given motion.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        a : (nv,) or (B, nv) rad/s2 or m/s2

        Returns
        -------
        three arrays, (n,) or (B, n)
            In the order of `closure_names`; `cut_slice` gives the indices of each joint. Angles are within +-pi.
        """
        return self._cut_motion(q, v, a)

    def applied_loads(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, x: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Return joint forces (..., nv) and loads on bodies (..., nb, 6), at their origins, of elements."""
        found = self.report(["applied", "body_loads"], t, q, v, x)
        return found["applied"], found["body_loads"]

    @checked("t", "q")
    def force_energy(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, x: ArrayLike | None = None) -> ForceEnergy:
        """Return the stored energy of elements, and the powers that they dissipate and supply."""
        if np.ndim(q) == 1:
            _check_one_time("force_energy", t)
        energy = self.report(["energy"], t, q, v, x)["energy"]
        stored, lost, brought = (energy[..., k] for k in (2, 3, 4))
        return ForceEnergy(*(float(e) if np.ndim(q) == 1 else np.array(e) for e in (stored, lost, brought)))

    # ---- drives

    @refusals.reraise_with_method_name
    def drive_efforts(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, **more: Any
    ) -> dict[str, Any]:
        """Return the effort of each drive at t, by name, N m or N: numbers, or (B,) for a batch.

        For an orientation (``"S.rotation"``) it is the moment along the velocities of the joint, (3,) or (B, 3); for a
        pose (``"F.pose"``) moment and force, (6,) or (B, 6).

        Effort times driven velocity is the power of the drive. For a joint it is the joint force without that of
        elements; for a constraint it acts on the second marker and is positive in the direction of growth of the
        driven quantity.

        Parameters
        ----------
        t, q, v, tau
            As in `dynamics`, one state or a batch.
        more
            `x`, `loads`, `inputs` and `conditions` as in `dynamics`.
        """
        found = self.report(["tau", "lam", "applied"], t, q, v, more.pop("x", None), tau=tau, **more)
        efforts = {}
        for drive in self.drives:
            element = drive.connection.element
            if not drive.of_joint:
                assert isinstance(element, (Constraint, CustomCoupling))
                # derivative of the row by the driven quantity
                slopes = [element.target(drive.law(float(one))[0], 1.0, 0.0)[1] for one in np.atleast_1d(t)]
                efforts[drive.name] = found["lam"][..., driven_row(self, drive)] * (slopes if np.ndim(t) else slopes[0])
            else:
                places = driven_dof(self, drive)
                found_here = found["tau"][..., places] - found["applied"][..., places]
                efforts[drive.name] = found_here if isinstance(drive, PoseDrive) else found_here[..., 0]
        return {name: effort if np.ndim(effort) else float(effort) for name, effort in efforts.items()}

    # ---- whole system

    def factor(self, q: ArrayLike) -> Factor:
        """Return the mass matrix at q in factored form, for many solves."""
        return Factor(self, q)

    def sparse_mass_matrix(self, q: ArrayLike, *, out: csr_array | None = None) -> csr_array:
        """Return the mass matrix at q in compressed rows: zero between different branches of a tree.

        Parameters
        ----------
        q : (nq,) rad or m
        out : csr_array
            A result of this method for the same model, which is filled again.

        Returns
        -------
        csr_array, (nv, nv)
            With the pattern of the tree, the same at every configuration: a row has the degrees of freedom on its way
            to ground and those of its subtree. To solve with it, use `factor`.

        Examples
        --------
        >>> import dalembert as da
        >>> from dalembert.library import chain
        >>> model = chain(3).compile()
        >>> M = model.sparse_mass_matrix([0.1, 0.2, 0.3])
        >>> float(abs(M - model.mass_matrix([0.1, 0.2, 0.3])).max())
        0.0
        """
        return sparse_mass_matrix(self, q, out)

    @checked("t", "bare")
    @refusals.reraise_with_method_name
    def energy(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
    ) -> Energy:
        """Return kinetic and potential energy (J) of the system as described.

        Parameters
        ----------
        q : (nq,) or (B, nq) rad or m
        v : (nv,) or (B, nv) rad/s or m/s
        t, x, inputs, conditions
            As in `forward_dynamics`.
        bare : bool
            Potential energy of weights and of flexible bodies alone.

        Potential energy is that of weights, zero at the world's origin, of deformed flexible bodies, and of elements.
        """
        raw = self._energy(q, v)
        kinetic, potential = raw[..., 0], raw[..., 1]
        more: dict[str, Any] = {"t": t, "x": x, "inputs": inputs, "conditions": conditions}
        if bare and not _nothing(*more.values()):
            self._required_forces(q, v, np.zeros(self.nv), **more, bare=True)  # checks the arguments
        elif not bare and (self.compiled.elements.elements or not _nothing(*more.values())):
            potential = potential + self._reported("energies", q, v, **more).sum(-1)
        if raw.ndim == 1:
            _check_one_time("energy", t)
            return Energy(float(kinetic), float(potential))
        return Energy(kinetic.copy(), np.array(potential))

    @checked("v")
    @refusals.reraise_with_method_name
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
        with np.errstate(over="ignore", invalid="ignore"):
            h: Array = (A @ v_array[..., None])[..., 0]
            if about is not None:
                arm = self.center_of_mass(q) - finite_array(about, (3,), item="momentum", field="about")
                h[..., :3] += np.cross(np.broadcast_to(arm, h[..., 3:].shape), h[..., 3:])
        if not np.isfinite(h).all():
            refusals.raise_result_error(self, "momentum", q)
        return h

    def composite_inertias(self, q: ArrayLike) -> Array:
        """Return the diagonal (nv,) of the mass matrix: inertia of each DOF with all others locked."""
        return self._composite_diagonal(q)

    @refusals.reraise_with_method_name
    def massless_dof(self, q: ArrayLike, *, t: float | None = None) -> list[str]:
        """Return the names of the velocities without inertia at q (nq,).

        The mass matrix of the tree is singular for them; with a time `t`, accelerations do not exist even with loops
        and drives.
        """
        where = checked_configuration(self, "massless_dof", q)
        if has_inertia_everywhere(self, _inertia_sizes(self), where):
            return []
        names = self.compiled.names
        if t is None:
            return massless_dof(self, self.forest, names, where)
        held = self.conditions().acceleration_prescribed
        rows = self.constraint_jacobian(where, t=t) if self.nc else None
        return massless_dof(self, self.forest, names, where, held=held, rows=rows)

    def massless_motions(self, q: ArrayLike) -> list[dict[str, float]]:
        """Return the motions of the tree without inertia at q (nq,): velocities by name, rad/s or m/s.

        One for each of `massless_dof`, which has the velocity 1 there. If two axes of a joint coincide, as at 90
        degrees of the second of three angles, the motion contains both angles.
        """
        where = checked_configuration(self, "motions_without_inertia", q)
        return motions_without_inertia(self, self.compiled.names, where, self.massless_dof(where))


@cached_per_model
def _reduced(model: Model) -> ReducedCoordinates:
    """Return the reduced coordinates of a model."""
    return ReducedCoordinates(model)


@cached_per_model
def _inertia_sizes(model: Model) -> InertiaSizes:
    """Return the sums of masses and moments of a model, with the reach of its bodies."""
    return InertiaSizes.of(model.forest)


def _nothing(*given: Any) -> bool:
    """Return whether none of these is given."""
    return all(each is None for each in given)


def _restored(description: System, origin: str) -> Model:
    """Return a copy of a model, from its own copy of the description."""
    return Model(replace(compile_system(description), origin=origin))


def as_model(system_or_model: System | Model) -> Model:
    """Return the model of a system; a model is returned unchanged."""
    if isinstance(system_or_model, Model):
        return system_or_model
    if isinstance(system_or_model, System):
        return Model(system_or_model)
    raise ModelError("analysis", "system", system_or_model, "give a System or a compiled Model")


def _check_one_time(item: str, t: ArrayLike | None) -> None:
    if t is not None and np.ndim(t):
        raise ModelError(item, "t", t, "give one time for one state, or states (B, nq) for times (B,)")
