"""Terms of the equations of motion by name: gravity, Coriolis, damping, friction, elements.

    M a + C v + g + elastic + damping + friction - elements = tau                                                    (1)

Of the many matrices C with the same product C v, this is the one of Christoffel's symbols, and of Hamel's for
velocities that are not rates of coordinates. With d_k the derivative along the motion of velocity k alone, and p = M v,

    C = M'/2 + (d_j M_ik - d_i M_jk) v_k / 2 + W(p),   W_ij = -W_ji                                                  (2)

so that M' - 2 C is skew. W has blocks w x p of the angular momentum at spherical joints, and at free joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, list_text
from ..arrays import Array
from ..checks import checked, finite_array
from ..model import Model, as_model
from ..model.interpolation import attitudes
from ..rotation import skew
from ..system import System

__all__ = ["ForceTerms", "coriolis_forces", "coriolis_matrix", "force_terms", "gravity_forces"]

_TERMS = ("total", "inertia", "coriolis", "gravity", "elastic", "damping", "friction", "elements")


@dataclass(frozen=True, eq=False, repr=False)
class ForceTerms(ArrayAnswer):
    """The terms of (1), (nv,) or (n, nv) N m or N each.

    Attributes
    ----------
    inertia, coriolis, gravity, elastic
        Of the motion and the deformation of bodies.
    damping, friction
        Of joints, positive along the motion.
    elements
        Of all other elements.
    total
        Joint forces required by the motion.
    """

    inertia: Array
    coriolis: Array
    gravity: Array
    elastic: Array
    damping: Array
    friction: Array
    elements: Array
    total: Array
    _arrays: ClassVar = dict.fromkeys(_TERMS, (("sample", "speed"), ""))

    def _headline(self) -> str:
        sizes = (f"{name} {np.abs(getattr(self, name)).max(initial=0.0):.4g}" for name in _TERMS)
        return f"largest of {list_text(sizes, len(_TERMS))} N m or N"


def gravity_forces(system: System | Model, q: ArrayLike) -> Array:
    """Return g of (1), (nv,) or (n, nv) N m or N: joint forces that balance gravity at q.

    q is (nq,) or (n, nq), rad or m.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> _ = s.connect("A", da.Revolute("-y"), s.ground, s.body("arm", da.rod(length=2.0, mass=3.0)))
    >>> gravity_forces(s, [0.0]).round(3)
    array([29.43])
    """
    model = as_model(system)
    rows = model.centroidal_momentum_matrix(q)[..., 3:, :]
    return -np.einsum("...iv,i->...v", rows, np.asarray(model.system.gravity, dtype=float))


@checked("v")
def coriolis_forces(system: System | Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Return C v of (1), (nv,) or (n, nv) N m or N: centrifugal, gyroscopic and Coriolis forces.

    Parameters
    ----------
    system : System or Model
    q : (nq,) or (n, nq) rad or m
    v : (nv,) or (n, nv) rad/s or m/s
    """
    model = as_model(system)
    v = np.asarray(v, dtype=float)
    ahead, back = model.bias_forces(q, v, bare=True), model.bias_forces(q, -v, bare=True)
    return 0.5 * (ahead + back) - model.bias_forces(q, np.zeros_like(v), bare=True)


@checked("q", "v")
def coriolis_matrix(system: System | Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Return C (nv, nv) of (2), or (n, nv, nv): M' - 2 C is skew, and C v are the Coriolis forces.

    Parameters
    ----------
    system : System or Model
        For the tree; loops do not contribute to C.
    q : (nq,) or (n, nq) rad or m
    v : (nv,) or (n, nv) rad/s or m/s
    """
    model = as_model(system)
    if np.ndim(q) == 2 or np.ndim(v) == 2:
        shape = max(len(np.atleast_2d(q)), len(np.atleast_2d(v)))
        rows = (np.broadcast_to(np.atleast_2d(part), (shape, np.shape(part)[-1])) for part in (q, v))
        return np.array([coriolis_matrix(model, *pair) for pair in zip(*rows, strict=True)])
    speeds = finite_array(v, (model.nv,), item="coriolis_matrix", field="v")
    D = _mass_slopes(model, np.asarray(q, dtype=float))  # d_k M_ij at [i, j, k]
    rate = np.einsum("ijk,k->ij", D, speeds)
    lean = np.einsum("ikj,k->ij", D, speeds)
    C: Array = 0.5 * (rate + lean - lean.T)
    momenta = model.mass_matrix(q) @ speeds
    for joint in attitudes(model.coordinate_names, model.speed_names):
        turn, slide = slice(joint.speed, joint.speed + 3), slice(joint.speed + 3, joint.speed + 6)
        C[turn, turn] -= skew(momenta[turn])
        if joint.free:
            C[turn, slide] -= skew(momenta[slide])
            C[slide, turn] -= skew(momenta[slide])
    return C


def _mass_slopes(model: Model, q: Array) -> Array:
    """Return the exact derivatives (nv, nv, nv) of M along the motions of single velocities, the last index."""
    units, still = np.vstack([np.zeros(model.nv), np.eye(model.nv)]), np.zeros(model.nv)
    every = np.tile(q, (len(units), 1))
    slopes = model._d_inverse_dynamics(every, np.tile(still, (len(units), 1)), units)[0]
    return np.moveaxis(slopes[1:] - slopes[0], 0, 1)


@checked("v", "a")
def force_terms(
    system: System | Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    x: ArrayLike | None = None,
) -> ForceTerms:
    """Return the terms of the equations of motion by name, for one state or many.

    Parameters
    ----------
    system : System or Model
    q : (nq,) or (n, nq) rad or m
    v : (nv,) or (n, nv) rad/s or m/s
    a : (nv,) or (n, nv) rad/s2 or m/s2
        None: zero acceleration.
    t : float or (n,) s
    x : (nx,) or (n, nx)
        Element states.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> joint = da.Revolute("-y", damping=0.5, friction=0.2)
    >>> _ = s.connect("A", joint, s.ground, s.body("arm", da.rod(length=2.0, mass=3.0)))
    >>> parts = force_terms(s, [0.0], [2.0], [1.0])
    >>> [round(float(part[0]), 3) for part in (parts.damping, parts.friction, parts.total)]
    [1.0, 0.2, 34.63]
    """
    model = as_model(system)
    v = np.asarray(v, dtype=float)
    a = np.zeros_like(v) if a is None else np.asarray(a, dtype=float)
    more: dict[str, Any] = {"t": t, "x": x}
    bare = model._required_forces(q, v, a, bare=True)
    total = model._required_forces(q, v, a, **more)
    coriolis, gravity = coriolis_forces(model, q, v), gravity_forces(model, q)
    inertia = model._required_forces(q, np.zeros_like(v), a, bare=True) - model.bias_forces(
        q, np.zeros_like(v), bare=True
    )
    without = {end: _without(model, q, v, a, end, total, more) for end in ("damping", "friction")}
    damping, friction = total - without["damping"], total - without["friction"]
    elastic = bare - inertia - coriolis - gravity
    return ForceTerms(inertia, coriolis, gravity, elastic, damping, friction, bare + damping + friction - total, total)


def _without(model: Model, q: ArrayLike, v: Array, a: Array, end: str, total: Array, more: dict[str, Any]) -> Array:
    """Return the required force without damping or friction of joints."""
    ends = {end} | ({"coefficient"} if end == "friction" else set())
    speeds = {*model.speed_names, *model.connection_names}
    off = {
        name: 0.0
        for name in model.parameter_names
        if name.rpartition(".")[2] in ends and name.rpartition(".")[0] in speeds
    }
    if not off:
        return total
    return model._required_forces(q, v, a, conditions=model.conditions(off), **more)
