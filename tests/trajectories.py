"""Trajectories for tests of results: SciPy integrates, forces come from a few elements in plain NumPy.

`with_forces` gives a model the four calls by which results ask for forces, built on ``model.driven_dynamics``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.model import least_norm_multipliers

Array = NDArray[np.float64]


class Dynamics(NamedTuple):
    a: Array
    tau: Array
    lam: Array
    dx: Array


@dataclass
class Spring:
    """A spring-damper between the origins of two markers."""

    first: da.Marker
    second: da.Marker
    stiffness: float
    damping: float
    length: float

    def load(self, model: da.Model, t: Array, q: Array, v: Array) -> Array:
        """[moment; force] on the second marker, (n, 6)."""
        e, length, rate = self._line(model, q, v)
        force = -(self.stiffness * (length - self.length) + self.damping * rate)[:, None] * e
        return np.concatenate([np.zeros_like(force), force], axis=1)

    def energy(self, model: da.Model, t: Array, q: Array, v: Array) -> tuple[Array, Array, Array]:
        _, length, rate = self._line(model, q, v)
        return self.stiffness * (length - self.length) ** 2 / 2, self.damping * rate**2, np.zeros(len(q))

    def ends(self) -> list[tuple[da.Marker, float]]:
        return [(self.first, -1.0), (self.second, 1.0)]

    def _line(self, model: da.Model, q: Array, v: Array) -> tuple[Array, Array, Array]:
        r = model.pose(self.second, q).position - model.pose(self.first, q).position
        u = (model.velocity(self.second, q, v) - model.velocity(self.first, q, v))[:, 3:]
        length = np.linalg.norm(r, axis=1)
        return r / length[:, None], length, (u * r).sum(1) / length


@dataclass
class Push:
    """A force on a marker, constant in world axes, growing with time."""

    second: da.Marker
    force: tuple[float, float, float]

    def load(self, model: da.Model, t: Array, q: Array, v: Array) -> Array:
        force = t[:, None] * np.array(self.force)
        return np.concatenate([np.zeros_like(force), force], axis=1)

    def energy(self, model: da.Model, t: Array, q: Array, v: Array) -> tuple[Array, Array, Array]:
        power = (self.load(model, t, q, v) * model.velocity(self.second, q, v)).sum(1)
        return np.zeros(len(q)), np.zeros(len(q)), power

    def ends(self) -> list[tuple[da.Marker, float]]:
        return [(self.second, 1.0)]


@dataclass
class Torsion:
    """A spring-damper at a coordinate of a hinge."""

    connection: da.Connection
    coordinate: int
    stiffness: float
    damping: float

    def load(self, model: da.Model, t: Array, q: Array, v: Array) -> Array:
        """Effort (n,)."""
        angle, rate = self._columns(model, q, v)
        return -self.stiffness * angle - self.damping * rate

    def energy(self, model: da.Model, t: Array, q: Array, v: Array) -> tuple[Array, Array, Array]:
        angle, rate = self._columns(model, q, v)
        return self.stiffness * angle**2 / 2, self.damping * rate**2, np.zeros(len(q))

    def _columns(self, model: da.Model, q: Array, v: Array) -> tuple[Array, Array]:
        name = self.connection.name
        return q[:, model.q_slice(name).start + self.coordinate], v[:, model.v_slice(name).start + self.coordinate]


def with_forces(system: da.System, forces: dict[str, Any] | None = None) -> Any:
    """Return the compiled model of a system with force elements, by name."""
    system.forces = {} if forces is None else forces  # type: ignore[attr-defined]
    model: Any = system.compile()
    elements = dict(system.forces)  # type: ignore[attr-defined]
    model.calls = 0

    def element_load(name: str, t: Array, q: Array, v: Array, x: Array | None = None) -> Array:
        return elements[name].load(model, t, q, v)

    def applied_loads(t: Array, q: Array, v: Array, x: Array | None = None) -> tuple[Array, Array]:
        tau, loads = np.zeros((len(q), model.nv)), np.zeros((len(q), model.nb, 6))
        for element in elements.values():
            load = element.load(model, t, q, v)
            if isinstance(element, Torsion):
                tau[:, model.v_slice(element.connection.name).start + element.coordinate] += load
                continue
            for marker, sign in element.ends():
                number = model.forest.number[marker.body.name]
                if number:
                    arm = model.pose(marker, q).position - model.pose(marker.body, q).position
                    loads[:, number - 1, :3] += sign * (load[:, :3] + np.cross(arm, load[:, 3:]))
                    loads[:, number - 1, 3:] += sign * load[:, 3:]
        return tau, loads

    def force_energy(t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        parts = [element.energy(model, t, q, v) for element in elements.values()]
        return tuple(np.sum(column, axis=0) for column in zip(*parts, strict=True))

    def dynamics(t: Any, q: Array, v: Array, x: Array | None = None) -> Dynamics:
        model.calls += 1
        times = np.broadcast_to(t, len(q))
        tau, loads = applied_loads(times, q, v)
        a, effort = np.empty((len(q), model.nv)), np.empty((len(q), model.nv))
        for k, time in enumerate(times.tolist()):
            a[k], effort[k] = model.driven_dynamics(time, q[k], v[k], tau[k], loads=loads[k])
        lam = np.zeros((len(q), model.nc))
        if model.nc:
            force = (model.mass_matrix(q) @ a[:, :, None])[:, :, 0] + model.bias_forces(q, v, loads=loads) - effort
            lam = least_norm_multipliers(model.constraint_jacobian(q), force)
        return Dynamics(a, effort, lam, np.zeros((len(q), 0)))

    model.element_load, model.applied_loads = element_load, applied_loads
    model.force_energy, model.dynamics = force_energy, dynamics
    return model


def trajectory(
    model: Any, times: Array | Sequence[float], q: Array | None = None, v: Array | None = None, rtol: float = 1e-11
) -> da.Result:
    """Integrate from the first of the times, and return the states at them, with SciPy's dense output."""
    start = model.initial_state()
    q = start.q if q is None else q
    v = start.v if v is None else v
    nq = model.nq

    def rates(t: float, y: Array) -> Array:
        at, speed = y[None, :nq], y[None, nq:]
        return np.concatenate([model.coordinate_rates(at, speed)[0], model.dynamics(t, at, speed).a[0]])

    run = solve_ivp(
        rates, (times[0], times[-1]), [*q, *v], method="DOP853", rtol=rtol, atol=rtol / 10, dense_output=True
    )

    def dense(at: Array) -> tuple[Array, Array, Array]:
        y = run.sol(at).T
        return model.integrate(y[:, :nq], np.zeros(model.nv)), y[:, nq:], np.zeros((len(at), 0))

    return da.Result(model, times, *dense(np.asarray(times)), dense=dense)
