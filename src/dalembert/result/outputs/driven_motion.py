"""Fully driven motion: accelerations and jerks follow from loops and drives, loads from the motion.

No inertia is needed for the motion. With the accelerations known, loads are those of inverse dynamics:

    tau + P^T lambda = M a + h - Q          tau = 0 but at driven DOF                                  (1)

which holds for bodies without mass too, where no mass matrix could be inverted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ...arrays import Array, BoolArray
from ...errors import ModelError, SingularityError
from ...model.drive_targets import driven_speeds
from ...model.driven_kinematics import KinematicSweep, rates_at
from ...numerics.rank import ROW_RANK_TOL, STEP_RANK_TOL, null_space, pseudo_inverse
from .motion import Motion

__all__ = ["PrescribedMotion"]


_FORCES = ("tau", "lam", "loads", "unique", "constraint_effort", "energy")


class PrescribedMotion(Motion):
    """Batch of states of a fully driven motion; parameters as in `Motion`."""

    @cached_property
    def rates(self) -> KinematicSweep:
        """Velocities, accelerations and jerks."""
        held = None if self.conditions is None else self.conditions(self.t)[0][1]
        found = rates_at(self.model, self.t, self.q, jerk=True, conditions=held)
        if found.status != "finished":
            where = self.t[len(found.t)]
            raise SingularityError(f"drives and loops do not determine the motion at t = {where:.6g} s")
        return found

    @property
    def jerk(self) -> Array:
        """Jerks (n, nv), rad/s3 or m/s3."""
        found = self.rates.jerk
        assert found is not None
        return found

    def along(self, quantity: Callable[[Array, Array, Array], Array]) -> Array:
        """Return the rate of a function of q (n, nq), v (n, nv), a (n, nv) along the motion, by differences.

        Five-point differences on a cubic of the motion: about eleven digits.
        """
        v, a, j = self.rates.v, self.rates.a, self.jerk
        scale = self.model.compiled.tables["column_scale"]
        paces = [np.abs(part / scale).max(axis=1, initial=0.0) ** (1 / k) for k, part in enumerate((v, a, j), start=1)]
        pace = np.max(paces, axis=0)[:, None]
        h = 2e-3 / np.where(pace > 0.0, pace, 1.0)

        def at(part: float) -> Array:
            s = part * h
            q = self.model.integrate(self.q, s * v + s**2 / 2 * a + s**3 / 6 * j)
            return quantity(q, v + s * a + s**2 / 2 * j, a + s * j)

        ahead, behind, far_ahead, far_behind = at(1.0), at(-1.0), at(2.0), at(-2.0)
        width = h.reshape(-1, *([1] * (ahead.ndim - 1)))
        return (8.0 * (ahead - behind) - (far_ahead - far_behind)) / (12.0 * width)

    def part(self, name: str) -> Array:
        """Return one part of the core's report, (n, ...); kinematic quantities need no forces."""
        if name not in self._parts and name in ("a", "cut_a"):
            moved = self.rates.a if name == "a" else self.model.cut_motion(self.q, self.v, self.part("a"))[2]
            self._parts = {**self._parts, name: moved}
        return super().part(name)

    def _reported(self, parts: list[str]) -> dict[str, Array]:
        if not any(part in _FORCES for part in parts):
            return super()._reported(parts)
        self._check_masses()
        if not self.model.massless_dof(self.q[0], t=float(self.t[0])):
            return super()._reported(parts)
        return {part: value for part, value in self._forces(parts).items() if part in parts}

    def _check_masses(self) -> None:
        """Refuse loads of a system without masses and forces."""
        system = self.model.system
        if system.forces or any(body.mass for body in system.bodies.values()) or self.model.flexible_names:
            return
        remedy = "its bodies have no mass, and there are no force elements: give bodies mass= and inertia= for loads"
        raise ModelError(f"result of {system.name!r}", "loads", "none", remedy)

    def _forces(self, parts: list[str]) -> dict[str, Array]:
        """Return (1) where masses are missing; redundant rows share by least norm."""
        model, a = self.model, self.part("a")
        needed = model._required_forces(self.q, self.v, a, t=self.t, x=self.x)
        driven = driven_speeds(model)
        found: dict[str, Array] = {
            "lam": np.zeros((len(self), model.nc)),
            "constraint_effort": np.zeros((len(self), model.nv)),
        }
        if model.nc:
            P = model.constraint_jacobian(self.q, t=self.t)
            inverse = pseudo_inverse(P[:, :, ~driven], STEP_RANK_TOL, 0.0)
            found["lam"] = np.einsum("nvc,nv->nc", inverse, needed[:, ~driven])
            needed = needed - np.einsum("nij,ni->nj", P, found["lam"])
        found["tau"] = np.where(driven, needed, 0.0) + super()._reported(["applied"])["applied"]
        loads = model._loads_of_motion(self.q, self.v, a, t=self.t, x=self.x, lam=found["lam"])
        if model.nc and "loads" in parts:
            shared = [
                model._minimum_norm_loads(
                    float(t), np.ascontiguousarray(q), None, np.ascontiguousarray(load), np.ascontiguousarray(lam)
                )
                for t, q, load, lam in zip(self.t, self.q, loads, found["lam"], strict=True)
            ]
            loads, found["lam"] = (np.array(column) for column in zip(*shared, strict=True))
        found["loads"] = loads
        found["cut_a"] = self.part("cut_a")
        if "energy" in parts:
            remedy = "some of its bodies have no inertia: give them mass= and inertia= for powers"
            raise ModelError(f"result of {model.system.name!r}", "power", "none", remedy)
        if "unique" in parts:
            found["unique"] = np.broadcast_to(self._determined(driven), loads.shape)
        return found

    def _determined(self, driven: BoolArray) -> Array:
        """Return 1 where a load follows from the motion, 0 where redundant rows share it, at the first state."""
        model, still = self.model, np.zeros(self.model.nv)
        q, t = self.q[0], float(self.t[0])
        free = null_space(model.constraint_jacobian(q, t=t)[:, ~driven].T, ROW_RANK_TOL, 0.0).T

        def loads(lam: Array) -> Array:
            return model._loads_of_motion(q, still, still, t=t, lam=np.ascontiguousarray(lam))

        rest = loads(np.zeros(model.nc))
        change = np.array([loads(lam) - rest for lam in free]).reshape(-1, *rest.shape)
        return np.asarray((np.abs(change).max(axis=0, initial=0.0) < 1e-9).astype(float))
