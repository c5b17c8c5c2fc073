"""Operational space: equations of motion of a marker, and manipulability.

With accelerations a = a_0 + Y tau, Y the response of the system to joint forces with loops closed, and J the Jacobian
of a marker, forces f at the marker and its accelerations satisfy

    L x'' + h = f,    L = (J Y J^T)^+,    J# = Y J^T L,    h = -L (J a_0 + J' v)                                     (1)

O. Khatib, IEEE J. Robotics and Automation 3 (1987) 43-53; J# is the dynamically consistent inverse of J.
Manipulability: T. Yoshikawa, Int. J. Robotics Research 4 (1985) 3-9.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..answer import ArrayAnswer, range_text
from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import checked, finite_array
from ..closure.loop_equations import LoopEquations
from ..closure.named_velocities import named_velocities
from ..errors import ModelError
from ..model import Model, as_model
from ..model.argument_errors import checked_configuration
from ..model.reduced_coordinates import independent_joints
from ..numerics.rank import ROW_RANK_TOL, null_space
from ..system import System

__all__ = ["Ellipsoid", "Manipulability", "OperationalSpace", "manipulability", "operational_space"]


_ROWS = {"pose": slice(0, 6), "rotation": slice(0, 3), "position": slice(3, 6)}
RANK_TOL = 1e-10  # of the largest eigenvalue of J M^-1 J^T, which is a square; smaller ones are immovable directions


@dataclass(frozen=True, eq=False, repr=False)
class OperationalSpace(ArrayAnswer):
    """Equations of motion (1) of a marker.

    A leading axis n for many states. k = 6, or 3 for position or rotation.

    Attributes
    ----------
    inertia : (k, k)
        L: kg m2 and kg; zero along directions in which the marker cannot move.
    inverse : (nv, k)
        J#: velocities, or joint forces by its transpose, dynamically decoupled from the rest.
    bias : (k,) N m and N
        h: forces at the marker for zero acceleration.
    jacobian : (k, nv)
    null_projector : (nv, nv)
        1 - J# J: null-space velocities; its transpose projects joint forces so that the marker does not accelerate.
    rank : int, or (n,)
        Number of directions in which it can move.
    """

    inertia: Array
    inverse: Array
    bias: Array
    jacobian: Array
    null_projector: Array
    rank: Any
    _arrays: ClassVar = {
        "inertia": (("sample", "component", "component_of"), ""),
        "inverse": (("sample", "speed", "component"), ""),
        "bias": (("sample", "component"), ""),
        "jacobian": (("sample", "component", "speed"), ""),
        "null_projector": (("sample", "speed", "speed_of"), ""),
        "rank": (("sample",), ""),
    }

    def _headline(self) -> str:
        rank = f"rank {range_text(self.rank, form='g')} of {self.jacobian.shape[-2]}"
        masses = np.linalg.eigvalsh(self.inertia)[..., -1]
        return f"{rank}, largest inertia {range_text(masses)}, |bias| up to {np.abs(self.bias).max(initial=0.0):.4g}"


@checked("v", "components")
def operational_space(
    system: System | Model,
    marker: Marker | Body | str,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    components: str = "pose",
    t: ArrayLike = 0.0,
    x: ArrayLike | None = None,
) -> OperationalSpace:
    """Return inertia, bias and dynamically consistent inverse of a marker, with loops and elements.

    Parameters
    ----------
    system : System or Model
    marker : Marker, Body or str
    q : (nq,) or (n, nq) rad or m
    v : (nv,) or (n, nv) rad/s or m/s
        Zero if left out.
    components : str
        ``"pose"``: angular part first; ``"position"`` or ``"rotation"``. World axes.
    t : float or (n,) s
    x : (nx,) or (n, nx)

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System(gravity=(0, 0, 0))
    >>> _ = s.connect("F", da.Free(), s.ground, s.body("ball", da.sphere(0.1, mass=2.0)))
    >>> operational_space(s, "ball", [1, 0, 0, 0, 0, 0, 0], components="position").inertia.round(6)
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    model = as_model(system)
    if components not in _ROWS:
        raise ModelError("operational_space", "components", components, f"use {', '.join(map(repr, _ROWS))}")
    part = _ROWS[components]
    speeds = np.zeros(model.nv) if v is None else np.asarray(v, dtype=float)
    J = model.jacobian(marker, q)
    Y = model._d_dynamics([9], q, speeds, t=t, x=x)[0]
    a = model.forward_dynamics(q, speeds, t=t, x=x)
    moved = model.acceleration(marker, q, speeds, a)
    L, inverse, h, projector, rank = _core.operational_space(J, Y, moved, part.start, part.stop, model.length, RANK_TOL)
    return OperationalSpace(L, inverse, h, J[..., part, :], projector, rank)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Velocity ellipsoid of unit inputs.

    Half axes (..., 3), largest first, along the columns of axes (..., 3, 3).
    """

    radii: Array
    axes: Array

    @property
    def measure(self) -> Any:
        """The product of the half axes; zero where a direction is lost."""
        return self.radii.prod(axis=-1)

    @property
    def condition(self) -> Any:
        """The largest half axis by the smallest; 1 is isotropic, infinite a direction lost."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.radii[..., -1] > 0.0, self.radii[..., 0] / self.radii[..., -1], np.inf)


@dataclass(frozen=True, eq=False, repr=False)
class Manipulability(ArrayAnswer):
    """Manipulability of a marker by actuated velocities; a leading axis n for many configurations.

    Attributes
    ----------
    measure : float or (n,)
        Yoshikawa's sqrt(det(J J^T)), lengths in characteristic lengths; of fewer than six inputs the product of the
        singular values.
    singular_values : (k,) or (n, k)
        Of J so scaled, largest first.
    translation, rotation : Ellipsoid
        Of the velocity (m/s) and of the angular velocity (rad/s) by unit velocities; dynamic: accelerations by efforts.
    jacobian : (6, m) or (n, 6, m)
        From actuated velocities to the marker's velocity, with loops closed.
    """

    measure: Any
    singular_values: Array
    translation: Ellipsoid
    rotation: Ellipsoid
    jacobian: Array
    _arrays: ClassVar = {
        "measure": (("sample",), ""),
        "singular_values": (("sample", "singular_value"), ""),
        "jacobian": (("sample", "component", "input"), ""),
    }

    def _headline(self) -> str:
        return f"measure {range_text(self.measure)}, singular values {range_text(self.singular_values)}"


@checked("q", "actuators", "dynamic")
def manipulability(
    system: System | Model,
    marker: Marker | Body | str,
    q: ArrayLike,
    *,
    actuators: str | Iterable[str] | None = None,
    dynamic: bool = False,
    t: float = 0.0,
) -> Manipulability:
    """Return manipulability measures and ellipsoids of a marker.

    Parameters
    ----------
    system : System or Model
    marker : Marker, Body or str
    q : (nq,) or (n, nq) rad or m
        Closed configurations.
    actuators : names
        Joints or velocities, cut ones as well; default those of the tree without mimic rules. In a mechanism with
        loops others follow.
    dynamic : bool
        Use accelerations by efforts of the actuators instead of velocities by velocities.
    t : float, s

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> upper, fore = s.body("upper", da.rod(1.0, 1.0)), s.body("fore", da.rod(1.0, 1.0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, upper)
    >>> _ = s.connect("B", da.Revolute("z"), upper.at(1, 0, 0), fore)
    >>> found = manipulability(s, fore.at(1, 0, 0), [0.3, 1.0])
    >>> found.translation.radii[:2].prod().round(6), np.sin(1.0).round(6)  # l1 l2 sin(elbow)
    (np.float64(0.841471), np.float64(0.841471))
    """
    model = as_model(system)
    if np.ndim(q) == 2:
        rows = finite_array(q, (len(np.asarray(q)), model.nq), item="manipulability", field="q")
        each = [_jacobian(model, marker, one, actuators, dynamic, t) for one in rows]
        return _measured(model, np.array(each))
    return _measured(
        model, _jacobian(model, marker, checked_configuration(model, "manipulability", q), actuators, dynamic, t)
    )


def _jacobian(model: Model, marker: Any, q: Array, actuators: Any, dynamic: bool, t: float) -> Array:
    """Return J (6, m) from actuated velocities, or efforts, to the marker's velocity, or acceleration."""
    acting = named_velocities(
        model, independent_joints(model) if actuators is None else actuators, item="manipulability"
    )
    C, J = acting.rows(q), model.jacobian(marker, q)
    if dynamic:
        return np.asarray(J @ model._d_dynamics([9], q, np.zeros(model.nv), t=t)[0] @ C.T)
    if not model.nc and not acting.cut:
        return np.asarray(J[:, acting.columns])
    loops = LoopEquations.of(model, prescribed=False, t=t)
    N = loops.column_scales[:, None] * null_space(loops.jacobian(q))
    return np.asarray(J @ N @ np.linalg.pinv(C @ N, rcond=ROW_RANK_TOL))


def _measured(model: Model, J: Array) -> Manipulability:
    scale = np.array([1.0, 1.0, 1.0, *[1.0 / model.length] * 3])
    s: Array = np.asarray(np.linalg.svd(scale[:, None] * J, compute_uv=False), dtype=np.float64)
    s = np.where(s > 1e-12 * s[..., :1], s, 0.0) if s.shape[-1] else s
    measure = s.prod(axis=-1)
    found = []
    for part in (slice(3, 6), slice(0, 3)):
        U, some, _ = np.linalg.svd(J[..., part, :])
        radii = np.zeros((*J.shape[:-2], 3))
        radii[..., : some.shape[-1]] = np.where(some > 1e-12 * np.maximum(some[..., :1], 1e-300), some, 0.0)
        found.append(Ellipsoid(radii, U))
    return Manipulability(float(measure) if np.ndim(measure) == 0 else measure, s, found[0], found[1], J)
