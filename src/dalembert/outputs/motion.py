"""States of a model at many times, and what follows from them: each thing computed when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints import Constraint
from ..connections.drives import Drive
from ..connections.hinges import Hinge, Prismatic, Revolute
from ..connections.relative import relative_accelerations, relative_coordinates, relative_speeds
from ..model import Dynamics, Energy, ForceEnergy, Model
from .elements import element_load

__all__ = ["Motion"]

Array = NDArray[np.float64]

_CHUNK = 1 << 23  # numbers of a Jacobian that are held at a time


class Motion:
    """A batch of states in the order of time.

    Parameters
    ----------
    model : Model
    t : (n,) s
    q : (n, nq) rad or m
    v : (n, nv) rad/s or m/s
    x : (n, nx)
        Element states; none if left out.
    dynamics : Dynamics
        What ``model.dynamics`` gives for these states, if it is known already.
    kernels : object with ``dynamics``, ``applied_loads``, ``force_energy`` and ``parameter``
        In place of the model's own, where control or events changed something.
    """

    def __init__(
        self,
        model: Model,
        t: ArrayLike,
        q: Array,
        v: Array,
        x: Array | None = None,
        dynamics: Dynamics | None = None,
        kernels: Any = None,
    ) -> None:
        self.model = model
        self.kernels: Any = model if kernels is None else kernels
        self.q, self.v = q, v
        self.t: Array = np.ascontiguousarray(np.broadcast_to(np.asarray(t, dtype=float), (len(q),)))
        self.x: Array = np.zeros((len(q), model.nx)) if x is None else x
        if dynamics is not None:
            self.dynamics = dynamics

    def __len__(self) -> int:
        return len(self.q)

    # ---- dynamics and what elements do

    @cached_property
    def dynamics(self) -> Dynamics:
        """Accelerations a (n, nv), hinge forces tau (n, nv), multipliers lam (n, nc)."""
        result: Dynamics = self.kernels.dynamics(self.t, self.q, self.v, self.x)
        return result

    @cached_property
    def rates(self) -> Dynamics:
        """As `dynamics`, with multipliers that are not unique left as they come: all that accelerations need."""
        if "dynamics" in self.__dict__:
            return self.dynamics
        result: Dynamics = self.kernels.dynamics(self.t, self.q, self.v, self.x, share=False)
        return result

    @cached_property
    def applied(self) -> tuple[Array, Array]:
        """What force elements apply: tau (n, nv), and loads (n, nb, 6) on the bodies at their origins."""
        tau, loads = self.kernels.applied_loads(self.t, self.q, self.v, self.x)
        return tau, loads

    @cached_property
    def energy(self) -> Energy:
        """Kinetic energy, and potential energy of gravity, (n,) J."""
        return self.model.energy(self.q, self.v)

    @cached_property
    def element_energy(self) -> ForceEnergy:
        """Of force elements: energy stored (n,) J, power dissipated and power brought from outside (n,) W."""
        result: ForceEnergy = self.kernels.force_energy(self.t, self.q, self.v, self.x)
        return result

    def element_load(self, name: str, port: int = 0) -> Array:
        """Return what a force element gives: [moment; force] on its second marker (n, 6), or an effort (n,)."""
        return element_load(self, self.model.system.forces[name], port)

    def number(self, name: str) -> Array:
        """Return a number of a force element, ``"k.stiffness"``, which events may have changed, (n,)."""
        if self.kernels is not self.model and hasattr(self.kernels, "parameter"):
            column: Array = self.kernels.parameter(name, self.t)
            return column
        return np.full(len(self), self.model.parameters[self.model.parameter_names[name]])

    # ---- drives

    def effort(self, drive: Drive) -> Array:
        """Return the effort of a drive, (n,) N m or N: what times the driven rate is its power."""
        element = drive.connection.element
        if isinstance(element, Constraint):
            row = self.model.constraint_connections.index(drive.connection.name) + drive.coordinate
            # the multiplier goes with the residual, which is a function of the driven quantity
            slope = np.array([element.target(drive.law(t)[0], 1.0, 0.0)[1] for t in self.t.tolist()])
            effort: Array = self.dynamics.lam[:, row] * slope
            return effort
        place = self.model.v_slice(drive.connection.name).start + drive.coordinate
        effort = self.rates.tau[:, place] - self.applied[0][:, place]
        return effort

    @cached_property
    def power(self) -> Array:
        """Power that drives and outside loads put in, (n,) W; of control too."""
        total = np.array(self.element_energy.brought)
        if (
            self.model.hinge_drives or self.kernels is not self.model
        ):  # all hinge forces but those of elements, whose power is known
            total += ((self.rates.tau - self.applied[0]) * self.v).sum(axis=1)
        for drive in self.model.drives:
            if isinstance(drive.connection.element, Constraint):
                total += self.effort(drive) * np.array([drive.law(t)[1] for t in self.t.tolist()])
        if any(getattr(chord.element, "rheonomic", False) for chord in self.model.forest.chords):
            total -= (self.dynamics.lam * self.model.constraint_drift(self.q, t=self.t)).sum(axis=1)
        return total

    # ---- closed loops

    @cached_property
    def row_targets(self) -> Array:
        """Residuals and rates that driven constraints prescribe, (2, n, nc); zero elsewhere."""
        model = self.model
        targets = np.zeros((2, len(self), model.nc))
        if any(isinstance(drive.connection.element, Constraint) for drive in model.drives):
            for k, t in enumerate(self.t.tolist()):
                targets[:, k] = model.row_motion(t)[:2]
        return targets

    def position_residual(self) -> Array:
        """Return by how much the constraints that bind positions are violated, largest of all rows, (n,) m or rad."""
        model = self.model
        if not model.nc:
            return np.zeros(len(self))
        residual = np.abs(model.constraint_residual(self.q, t=self.t) - self.row_targets[0])
        worst: Array = residual[:, model.holonomic].max(axis=1, initial=0.0)
        return worst

    def velocity_residual(self) -> Array:
        """Return by how much constraints are violated in velocity, largest of all rows, (n,) m/s or rad/s."""
        model, n = self.model, len(self)
        worst = np.zeros(n)
        step = max(1, _CHUNK // max(1, model.nc * model.nv))
        for start in range(0, n if model.nc else 0, step):
            part = slice(start, start + step)
            P = model.constraint_jacobian(self.q[part], t=self.t[part])
            drift = model.constraint_drift(self.q[part], t=self.t[part])
            rate = (P @ self.v[part, :, None])[:, :, 0] + drift - self.row_targets[1, part]
            worst[part] = np.abs(rate).max(axis=1)
        return worst

    # ---- connections

    @cached_property
    def connection_loads(self) -> dict[str, Array]:
        """Load of every hinge and constraint on its second marker, [moment; force] (n, 6), world axes."""
        return self._loads_of(self.dynamics.lam)

    @cached_property
    def transmitted(self) -> dict[str, Array]:
        """As `connection_loads`, with multipliers that are not unique as the core finds them."""
        if not self.model.nc:
            return self.connection_loads
        return self._loads_of(self.kernels.dynamics(self.t, self.q, self.v, self.x, share=False).lam)

    def _loads_of(self, lam: Array) -> dict[str, Array]:
        model = self.model
        on_bodies = self.applied[1].copy()
        result: dict[str, Array] = {}
        chords = model.forest.chords
        of_chords = model._chord_loads(self.q, lam, t=self.t) if model.nc else np.zeros((len(self), len(chords), 6))
        for k, chord in enumerate(chords):
            load = np.ascontiguousarray(of_chords[:, k])
            point = model.pose(chord.second, self.q).position
            for marker, sign in ((chord.first, -1.0), (chord.second, 1.0)):
                number = model.forest.number[marker.body.name]
                if number:
                    arm = point - model.pose(marker.body, self.q).position
                    on_bodies[:, number - 1, :3] += sign * (load[:, :3] + np.cross(arm, load[:, 3:]))
                    on_bodies[:, number - 1, 3:] += sign * load[:, 3:]
            result[chord.name] = load + self._along_axis(chord)
        tree = model._tree_reactions(self.q, self.v, self.rates.a, loads=on_bodies)
        result.update((name, np.ascontiguousarray(tree[:, k])) for k, name in enumerate(model.hinge_names))
        return result

    def chord_effort(self, chord: Connection) -> Array:
        """Return what elements at the coordinates of a cut hinge, and its own damper, give along them, (n, nv)."""
        hinge = _hinge(chord)
        effort = np.zeros((len(self), hinge.nv))
        for name, force in self.model.system.forces.items():
            for port, (place, coordinate) in enumerate(force.places):
                if place is chord:
                    effort[:, coordinate] += self.element_load(name, port)
        if hinge.damping is not None and np.any(hinge.damping):
            effort -= self.number(f"{chord.name}.damping")[:, None] * self.chord_speed(chord)
        return effort

    def _along_axis(self, chord: Connection) -> Array:
        """Return the part of a cut hinge's load that elements at its coordinate bring, (n, 6)."""
        load = np.zeros((len(self), 6))
        hinge = chord.element
        if isinstance(hinge, (Revolute, Prismatic)):
            axis = self.model.pose(chord.first, self.q).rotation @ hinge.axis
            part = slice(0, 3) if isinstance(hinge, Revolute) else slice(3, 6)
            load[:, part] = self.chord_effort(chord) * axis
        return load

    # ---- a hinge from the motion of its markers

    def chord_position(self, chord: Connection) -> Array:
        """Return the coordinates of a cut hinge, (n, nq); see `relative_coordinates` for their range."""
        C, c = self._relative_pose(chord)
        return relative_coordinates(_hinge(chord), C, c)

    def chord_speed(self, chord: Connection) -> Array:
        """Return the speeds of a cut hinge, (n, nv)."""
        return relative_speeds(_hinge(chord), *self._relative_pose(chord), self._relative_velocity(chord))

    def chord_acceleration(self, chord: Connection) -> Array:
        """Return the accelerations of a cut hinge, (n, nv)."""
        V, A = self._relative_velocity(chord), self._relative_acceleration(chord)
        return relative_accelerations(_hinge(chord), *self._relative_pose(chord), V, A)

    def velocity(self, marker: Marker) -> tuple[Array, Array]:
        """Return angular velocity and velocity of a marker, (n, 3) each, world axes."""
        V = self.model.velocity(marker, self.q, self.v)
        return V[:, :3], V[:, 3:]

    def acceleration(self, marker: Marker) -> tuple[Array, Array]:
        """Return angular acceleration and acceleration of a marker, (n, 3) each, world axes."""
        A = self.model.acceleration(marker, self.q, self.v, self.rates.a)
        return A[:, :3], A[:, 3:]

    def _relative_pose(self, chord: Connection) -> tuple[Array, Array]:
        R_1, p_1 = self.model.pose(chord.first, self.q)
        R_2, p_2 = self.model.pose(chord.second, self.q)
        return np.swapaxes(R_1, 1, 2) @ R_2, _turn_back(R_1, p_2 - p_1)

    def _relative_velocity(self, chord: Connection) -> Array:
        R_1, p_1 = self.model.pose(chord.first, self.q)
        r = self.model.pose(chord.second, self.q).position - p_1
        (w_1, v_1), (w_2, v_2) = self.velocity(chord.first), self.velocity(chord.second)
        return np.concatenate([_turn_back(R_1, w_2 - w_1), _turn_back(R_1, v_2 - v_1 - np.cross(w_1, r))], axis=1)

    def _relative_acceleration(self, chord: Connection) -> Array:
        R_1, p_1 = self.model.pose(chord.first, self.q)
        r = self.model.pose(chord.second, self.q).position - p_1
        (w_1, v_1), (w_2, v_2) = self.velocity(chord.first), self.velocity(chord.second)
        (alpha_1, a_1), (alpha_2, a_2) = self.acceleration(chord.first), self.acceleration(chord.second)
        u = v_2 - v_1 - np.cross(w_1, r)
        angular = alpha_2 - alpha_1 - np.cross(w_1, w_2 - w_1)
        linear = a_2 - a_1 - np.cross(alpha_1, r) - np.cross(w_1, np.cross(w_1, r)) - 2 * np.cross(w_1, u)
        return np.concatenate([_turn_back(R_1, angular), _turn_back(R_1, linear)], axis=1)


def _hinge(chord: Connection) -> Hinge:
    assert isinstance(chord.element, Hinge)
    return chord.element


def _turn_back(R: Array, vectors: Array) -> Array:
    """Return R^T x for each of the vectors (n, 3)."""
    turned: Array = np.einsum("nji,nj->ni", R, vectors)
    return turned
