"""Dynamics as functions of JAX: accelerations with derivatives, by callbacks.

Needs JAX in double precision: ``jax.config.update("jax_enable_x64", True)`` before the first array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingPackageError, ModelError
from ..model import Model, as_model
from ..system import System

__all__ = ["dynamics", "step"]


def dynamics(system: System | Model, *, t: float = 0.0) -> Callable[[Any, Any, Any], Any]:
    """Return the accelerations a(q, v, tau) as a function of JAX.

    It may be compiled, batched and differentiated once, forward and backward; a batch is one call of the core. Loops,
    elements and drives are those of the system; element states have their start values.

    Parameters
    ----------
    system : System or Model
        With as many coordinates as velocities.
    t : float, s
        Of laws of time.

    Returns
    -------
    callable
        Of q, v and tau, (nv,) each, rad or m, rad/s or m/s, N m or N.
    """
    try:
        import jax
        import jax.numpy as jnp
    except ImportError as error:
        raise MissingPackageError("functions of JAX", "jax", "pip install jax") from error
    model = as_model(system)
    if model.nq != model.nv:
        remedy = "derivatives are by coordinates: give a system without ball joints and free bodies"
        raise ModelError("jax", "coordinates", f"nq = {model.nq}, nv = {model.nv}", remedy)
    if not jax.config.jax_enable_x64:
        remedy = 'call jax.config.update("jax_enable_x64", True) before the first array'
        raise ModelError("jax", "precision", "32 bits", remedy)
    nv = model.nv

    def flat(*parts: Any) -> tuple[Any, ...]:
        given = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in parts))
        return given[0].shape, *(np.ascontiguousarray(part).reshape(-1, nv) for part in given)

    def accelerations(q: Any, v: Any, tau: Any) -> Any:
        shape, q, v, tau = flat(q, v, tau)
        return model.forward_dynamics(q, v, tau, t=np.full(len(q), t)).reshape(shape)

    def slopes(q: Any, v: Any, tau: Any) -> Any:
        shape, q, v, tau = flat(q, v, tau)
        d = model.d_dynamics(np.full(len(q), t), q, v, tau=tau, multipliers=False).a
        return np.concatenate([d.q, d.v, d.tau], axis=-1).reshape(*shape, 3 * nv)

    how = {"vmap_method": "broadcast_all"}

    def callback(q: Any, v: Any, tau: Any) -> Any:
        return jax.pure_callback(accelerations, jax.ShapeDtypeStruct((nv,), jnp.float64), q, v, tau, **how)

    def pushed(at: Any, along: Any) -> Any:
        D = jax.pure_callback(slopes, jax.ShapeDtypeStruct((nv, 3 * nv), jnp.float64), *at, **how)
        return a(*at), D @ jnp.concatenate([jnp.asarray(part, dtype=jnp.float64) for part in along])

    a = jax.custom_jvp(callback)
    a.defjvp(pushed)
    found: Callable[[Any, Any, Any], Any] = a
    return found


def step(system: System | Model, length: float, *, t: float = 0.0) -> Callable[[Any, Any, Any], Any]:
    """Return a step of the classical Runge-Kutta method, (q, v, tau) to (q, v), for ``jax.lax.scan``.

    Parameters
    ----------
    system : System or Model
        A tree: loops are not closed after the step.
    length : float, s
    t : float, s
        Of laws of time, in all steps.
    """
    model = as_model(system)
    if model.nc or model.drives:
        remedy = "a step closes no loops: use da.simulate and da.sensitivity, or dynamics(...)"
        raise ModelError("jax", "system", "with loops or drives", remedy)
    a = dynamics(model, t=t)

    def take(q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
        h = length
        a1 = a(q, v, tau)
        v2, q2 = v + h / 2 * a1, q + h / 2 * v
        a2 = a(q2, v2, tau)
        v3, q3 = v + h / 2 * a2, q + h / 2 * v2
        a3 = a(q3, v3, tau)
        v4, q4 = v + h * a3, q + h * v3
        a4 = a(q4, v4, tau)
        return q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    return take
