"""What may change during a run: parameters of force elements, locked freedoms, constraints that are switched off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..connections.energetic import HingeSpring, Limits, SpringDamper
from ..errors import AssemblyError, ModelError, SingularityError
from ..hosted import History
from ..model import METHODS, Dynamics, ForceEnergy, Model
from ..rotation import finite_number

if TYPE_CHECKING:
    from .. import _core

__all__ = ["Kernels", "Options", "Settings"]

Array = NDArray[np.float64]

FAR = 1e-2  # rad or m: loops that are open by more are not closed by moving the state a little


@dataclass(frozen=True)
class Options:
    """How to integrate: what `simulate` was asked for."""

    method: str
    rtol: float
    atol: float
    max_step: float
    step: float
    spectral_radius: float
    stabilization: tuple[float, float]
    project: bool
    watch: bool
    control: Callable[..., Any] | None
    history: History | None = None

    def integrator(self, model: Model) -> _core.Integrator:
        """Return a stepper with these options."""
        return model.integrator(
            self.method,
            rtol=self.rtol,
            atol=self.atol,
            max_step=self.max_step,
            step=self.step,
            spectral_radius=self.spectral_radius,
            stabilization=self.stabilization,
            project=self.project,
            watch=self.watch,
            control=self.control,
            history=self.history,
        )

    def plain(self) -> dict[str, Any]:
        """Return them by name, without the control."""
        numbers = {name: float(getattr(self, name)) for name in ("rtol", "atol", "max_step", "step", "spectral_radius")}
        method = "auto" if self.watch else self.method
        return {"method": method, **numbers, "stabilization": [float(gain) for gain in self.stabilization]}

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ModelError("simulate", "method", self.method, f"use 'auto' or one of {', '.join(map(repr, METHODS))}")


@dataclass(frozen=True)
class Settings:
    """The model as it is at some time of a run; changes give a new one.

    Attributes
    ----------
    model : Model
    parameters : (n,)
        Numbers of the force elements, in the order of ``model.parameter_names``.
    locked : frozenset of int
        Freedoms that are held.
    off : frozenset of str
        Chords that do not hold.
    """

    model: Model
    parameters: Array
    locked: frozenset[int] = field(default_factory=frozenset)
    off: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, model: Model) -> Settings:
        """Return the settings as described."""
        return cls(model, model.parameters.copy())

    def with_parameter(self, name: str, value: float) -> Settings:
        """Return the settings with one number changed: ``"k.stiffness"``."""
        places = self.model.parameter_names
        if name not in places:
            known = ", ".join(map(repr, list(places)[:8])) or "this model has none"
            raise ModelError("event", "parameter", name, f"known are: {known}")
        number = finite_number(value, item="event", field=f"parameter {name!r}")
        owner, _, label = name.rpartition(".")
        force = self.model.system.forces.get(owner)
        plain = force is None or isinstance(force.element, (SpringDamper, HingeSpring, Limits))
        if number < 0 and plain and label in ("stiffness", "damping", "length"):
            raise ModelError("event", f"parameter {name!r}", value, "it must not be negative")
        parameters = self.parameters.copy()
        parameters[places[name]] = number
        return replace(self, parameters=parameters)

    def with_lock(self, hinge: str, on: bool) -> Settings:
        """Return the settings with a hinge held, or free again."""
        span = self.model.v_slice(hinge)
        freedoms = frozenset(range(span.start, span.stop))
        driven = {self.model.v_slice(d.connection.name).start + d.coordinate for d in self.model.hinge_drives}
        if on and freedoms & driven:
            raise ModelError("event", "lock", hinge, "it is driven: a drive and a lock contradict each other")
        return replace(self, locked=self.locked | freedoms if on else self.locked - freedoms)

    def with_switch(self, connection: str, on: bool) -> Settings:
        """Return the settings with a constraint, or a hinge that closes a loop, holding or not."""
        known = self._closures()
        if connection not in known:
            remedy = f"only what closes loops can be switched: {', '.join(map(repr, known)) or 'there is none'}"
            if connection in self.model.hinge_names:
                remedy += "; a hinge of the tree can be locked and released"
            raise ModelError("event", "switch", connection, remedy)
        return replace(self, off=self.off - {connection} if on else self.off | {connection})

    def mind_open(self, connection: str, q: Array, t: float) -> None:
        """Refuse to let a constraint hold where it is open by more than a little."""
        mine = np.array([name == connection for name in self.model.constraint_connections]) & self.model.holonomic
        wide = np.abs(self.model.constraint_residual(q, t=t) - self.model.row_motion(t)[0])[mine].max(initial=0.0)
        if wide > FAR:
            raise AssemblyError(
                f"at t = {t:.6g} s {connection!r} is open by {wide:.3g} m or rad and cannot be switched on; switch it "
                "on at an event at which it closes"
            )

    def apply(self, integrator: _core.Integrator) -> None:
        """Make a new stepper obey the settings; without marks it takes the shorter way through the dynamics."""
        if self.locked:
            integrator.set_marks(*self.model.marks(self.locked))
        if len(self.parameters):
            integrator.set_parameters(self.parameters)
        if self.off:
            integrator.set_active(np.array([name not in self.off for name in self._closures()], dtype=np.uint8))

    def _closures(self) -> list[str]:
        """Return what closes loops, in the order of the core."""
        return [c.name for c in self.model.forest.chords] + [c.name for c in self.model.forest.couplings]

    def plain(self) -> tuple[list[float], list[int], list[str]]:
        """Return parameters, locked freedoms and chords that are off, as lists."""
        return [float(p) for p in self.parameters], sorted(self.locked), sorted(self.off)

    # ---- speeds that jump

    def rows(self, q: Array, t: float) -> tuple[Array, Array]:
        """Return the rows C (k, nv) that speeds obey at q, and the rates C v that they must have."""
        model = self.model
        marks = model.marks(self.locked)[1].astype(bool)
        held = np.eye(model.nv)[marks]
        wanted = np.where(np.isnan(model.drive_motion(t)[1]), 0.0, model.drive_motion(t)[1])[marks]
        if not model.nc:
            return held, wanted
        on = np.array([name not in self.off for name in model.constraint_connections])
        rates = model.row_motion(t)[1] - model.constraint_drift(q, t=t)
        return np.vstack([held, model.constraint_jacobian(q, t=t)[on]]), np.concatenate([wanted, rates[on]])

    def after_jump(self, q: Array, v: Array, t: float, impulse: ArrayLike | None = None) -> Array:
        """Return the speeds just after an impulse (nv,) N m s or N s, and after rows that were not obeyed have closed.

        M (v+ - v) = impulse + C^T Lambda with C v+ = rates (Passerello and Huston 1972, chapter IV, with loops).
        """
        M = self.model.mass_matrix(q)
        free = v if impulse is None else v + np.linalg.solve(M, np.asarray(impulse, dtype=float))
        C, rates = self.rows(q, t)
        if not len(C):
            return free
        response = np.linalg.solve(M, C.T)
        scale = np.sqrt(np.einsum("ij,ji->i", C, response))
        scale[scale == 0] = 1.0
        D = (C @ response) / np.outer(scale, scale)
        share = np.linalg.lstsq(D, (rates - C @ free) / scale, rcond=1e-12)[0] / scale
        v_new: Array = free + response @ share
        missed = np.abs((C @ v_new - rates) / scale)
        size = max(1e-9, float(((np.abs(C) @ np.abs(free) + np.abs(rates)) / scale).max()))
        if missed.max() > 1e-6 * size:
            raise SingularityError(
                f"at t = {t:.6g} s no speeds obey all locks, drives and constraints: they contradict each other"
            )
        held = self.model.marks(self.locked)[1].astype(bool)
        v_new[held] = rates[: held.sum()]
        return v_new

    # ---- kernels of the changed model, for outputs

    def dynamics(self, options: Options, t: ArrayLike, q: Array, v: Array, x: Array, *, share: bool = True) -> Dynamics:
        """Return what ``Model.dynamics`` does, of the model as it is now."""
        integrator = options.integrator(self.model)
        self.apply(integrator)
        return self.model.dynamics(t, q, v, x, share=share, integrator=integrator)

    def applied_loads(self, options: Options, t: ArrayLike, q: Array, v: Array, x: Array) -> tuple[Array, Array]:
        """Return what ``Model.applied_loads`` does, of the model as it is now."""
        integrator = options.integrator(self.model)
        self.apply(integrator)
        return self.model.applied_loads(t, q, v, x, integrator=integrator)

    def force_energy(self, options: Options, t: ArrayLike, q: Array, v: Array, x: Array) -> ForceEnergy:
        """Return what ``Model.force_energy`` does, of the model as it is now."""
        integrator = options.integrator(self.model)
        self.apply(integrator)
        return self.model.force_energy(t, q, v, x, integrator=integrator)


class Kernels:
    """What the outputs of a run need of its model, under settings that stay the same."""

    def __init__(self, settings: Settings, options: Options) -> None:
        self.settings, self.options = settings, options

    def dynamics(self, t: Array, q: Array, v: Array, x: Array, *, share: bool = True) -> Dynamics:
        """Return accelerations, hinge forces and multipliers at rows of states."""
        return self.settings.dynamics(self.options, t, q, v, x, share=share)

    def applied_loads(self, t: Array, q: Array, v: Array, x: Array) -> tuple[Array, Array]:
        """Return hinge forces and loads of the force elements at rows of states."""
        return self.settings.applied_loads(self.options, t, q, v, x)

    def force_energy(self, t: Array, q: Array, v: Array, x: Array) -> ForceEnergy:
        """Return energies and powers of the force elements at rows of states."""
        return self.settings.force_energy(self.options, t, q, v, x)

    def parameter(self, name: str, t: Array) -> Array:
        """Return a number of a force element, ``"k.stiffness"``, for each time, (n,)."""
        return np.full(len(t), self.settings.parameters[self.settings.model.parameter_names[name]])
