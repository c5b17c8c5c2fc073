"""Transformation of the linear equations of a rotor to common axes, fixed or rotating.

In rotating coordinates (modal coordinates of a rotating shaft) a whirl of frequency w has the frequency w - spin, in
others w. If both kinds occur, the coefficients depend on the spin angle. If the rotor is symmetric about its axis, a
state at one angle is equivalent in space to a state at the angle zero, to which it is mapped by

    O(0) Q(0) y_f = O(angle) Q(angle) y,   y_f = tau(angle) y                                                     (1)

O gives twists of bodies in world axes, and deformations turned with the axes of their bodies. Thus

    y_f'  = y'  + spin tau' y                                                                                     (2)
    y_f'' = y'' + 2 spin tau' y' + spin^2 tau'' y                                                                 (3)

at the angle zero are equations with constant coefficients, also for anisotropic supports. If not the rotor but its
supports are symmetric, O gives the same in axes that rotate with the rotor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..errors import AssemblyError, SingularityError
from ..model import Model
from ..rotation import from_rotation_vector
from .operating_point import same_coordinates
from .tangent import Tangent, tangent_space
from .vibration_modes import frame_motions

__all__ = ["in_common_axes"]


DIFFERENCE_STEP = 0.01  # rad; differences of fourth order, truncation and round-off are both near 1e-10
PROBE_ANGLE = 0.7  # rad: second spin angle at which the equations must agree
STATE_MAP_TOL = 1e-6  # relative residual of (1) beyond which no state at angle zero corresponds
_ANGLE_CHANGE_TOLS = (
    1e-5,
    1e-3,
)  # relative changes of the equations with the angle that add a note, and that exclude the use of (2)
_PARTS = np.array([[1.0, -8.0, 0.0, 8.0, -1.0], [-1.0, 16.0, -30.0, 16.0, -1.0]]) / 12  # first and second differences


class _NoMapError(Exception):
    """No equivalent state exists at another spin angle; the message gives the reason."""


@dataclass(frozen=True)
class _View:
    """Common axes of a rotor about a unit vector (3,), world axes; rotating with it or fixed."""

    axis: Array
    turning: bool


def in_common_axes(
    spaces: list[Tangent], matrices: Array, spins: Array, axis: Array
) -> tuple[Array, str, tuple[str, ...]]:
    """Transform the state matrices (m, n, n) of a rotor to common axes.

    Parameters
    ----------
    spaces : m of them
    matrices : (m, n, n)
        In the independent states of the tangent spaces.
    spins : (m,) rad/s
    axis : (3,)
        Unit vector along the spin, world axes.

    Returns
    -------
    matrices : (m, n, n)
    axes : "fixed", "rotating", or "mixed" where the equations cannot be converted
    notes : tuple of str
    """
    top = int(np.abs(spins).argmax())
    if not spins[top]:
        return matrices, "fixed", ()
    reasons: list[str] = []
    for name, view in (("fixed", _View(axis, False)), ("rotating", _View(axis, True))):
        try:
            found = _turned(spaces, matrices, spins, view)
            change = _change(spaces[top], found[top], float(spins[top]), view)
            if change <= _ANGLE_CHANGE_TOLS[1]:
                return found, name, _notes(name, reasons, change)
            reasons.append(
                ("the rotor is", "the support of the rotor is")[view.turning] + " not symmetric about the axis"
            )
        except _NoMapError as error:
            reasons.append(str(error))
        except (AssemblyError, SingularityError):
            reasons.append("the motion is no steady rotation about one axis")
    return matrices, "mixed", _notes("mixed", reasons, 0.0)


def _notes(axes: str, reasons: list[str], change: float) -> tuple[str, ...]:
    notes = []
    if axes == "rotating":
        notes.append(
            f"frequencies refer to axes that rotate with the rotor, not to fixed axes: {reasons[0]}; there loads "
            "fixed in space excite at multiples of the rotor speed, unbalance at frequency 0"
        )
    if axes == "mixed":
        notes.append(
            "frequencies could not be converted to fixed or rotating axes, and eigenvalues belong to coefficients that "
            f"may vary with the spin angle: {'; '.join(dict.fromkeys(reasons))}; use da.floquet"
        )
    if change > _ANGLE_CHANGE_TOLS[0]:
        notes.append(f"a change of the equations by up to {100 * change:.2g} % with the spin angle was neglected")
    return tuple(notes)


def _turned(spaces: list[Tangent], matrices: Array, spins: Array, view: _View) -> Array:
    """Transform matrices by (2) and (3)."""
    found = matrices.copy()
    last: Tangent | None = None
    parts = np.zeros((2, 0, 0))
    for k, (space, spin) in enumerate(zip(spaces, spins.tolist(), strict=True)):
        if not spin:
            continue
        if last is None or last.model is not space.model or (last.state.q != space.state.q).any():
            parts = _generators(space, spin, view)
        last = space
        if np.abs(parts).max(initial=0.0) > STATE_MAP_TOL:
            found[k] = _with_turn(space, matrices[k], spin, *parts)
    return found


def _change(space: Tangent, A: Array, spin: float, view: _View) -> float:
    """Return the change of the equations with the spin angle, relative to eigenvalues and spin.

    Equations at another angle are mapped to the coordinates of this one by (1), and compared mode by mode. Eigenvalues
    alone do not suffice: for a flat shaft on isotropic supports they are equal at all angles, the equations are not.
    """
    n, m = space.ny, space.ny + space.nz
    direction = space.state.v / spin
    other = _at_angle(space, direction, PROBE_ANGLE)
    B = _with_turn(other, other.reduce(other.derivatives()), spin, *_generators(other, spin, view))
    tau = _mapped(space, direction, view, PROBE_ANGLE, other)
    paced = np.searchsorted(space.positions, space.speeds)
    P = np.eye(space.size)
    P[:n, :n] = tau
    P[n:m] = tau[paced] @ B[:n]
    P[n:m, :n] -= A[paced, :n] @ tau
    values, V = np.linalg.eig(A)
    kept = np.abs(values) > max(1e-7 * np.abs(values).max(initial=0.0), 1e-3 * abs(spin))  # no double zeros
    off = (np.linalg.pinv(V, rcond=1e-13) @ (P @ np.linalg.solve(P.T, B.T).T - A) @ V)[np.ix_(kept, kept)]
    sizes = np.abs(values[kept]) + abs(spin)
    change = np.sqrt(np.abs(off * off.T) / np.maximum.outer(sizes, sizes) ** 2)  # independent of the lengths of vectors
    return float(change.max(initial=0.0))


def _with_turn(space: Tangent, A: Array, spin: float, first: Array, second: Array) -> Array:
    """Return A in common axes, by tau' and tau'' (ny, ny)."""
    n, m = space.ny, space.ny + space.nz
    paced = np.searchsorted(space.positions, space.speeds)
    A11, A12 = A[:n, :n], A[:n, n:m]
    rate = A[:n]  # of y, by all states
    second_rate = A11 @ rate + A12 @ A[n:m]
    turned_rate = rate.copy()
    turned_rate[:, :n] += spin * first
    turned_second = second_rate + 2 * spin * first @ rate
    turned_second[:, :n] += spin**2 * second
    rows = np.vstack([turned_rate, turned_second[paced] - A11[paced] @ turned_rate, A[m:]])
    # velocities in common axes are z + spin tau' y
    found: Array = rows.copy()
    found[:, :n] -= rows[:, n:m] @ (spin * first[paced])
    return found


def _generators(space: Tangent, spin: float, view: _View) -> Array:
    """Return tau' and tau'' (2, ny, ny) of (1)."""
    direction = space.state.v / spin
    kinematics = space.kinematics()
    maps = []
    for k in (-2, -1, 1, 2):
        near = _at_angle(space, direction, k * DIFFERENCE_STEP)
        both = zip(near.kinematics(), kinematics, strict=True)
        if any(np.abs(a - b).max(initial=0.0) > 1e-9 * (1 + abs(spin)) for a, b in both):
            raise _NoMapError("the rates of independent coordinates depend on the spin angle")
        maps.append(_mapped(space, direction, view, k * DIFFERENCE_STEP, near))
    maps.insert(2, np.eye(space.ny))
    weights = _PARTS / np.array([DIFFERENCE_STEP, DIFFERENCE_STEP**2])[:, None]
    return np.tensordot(weights, np.array(maps), 1)


def _mapped(space: Tangent, direction: Array, view: _View, angle: float, other: Tangent) -> Array:
    """Return tau (ny, ny) of (1), from the tangent space at an angle to that at zero."""
    middle, turns = _turns(space, direction, view)
    base = _outputs(space, view, middle, turns, 0.0)
    wanted = _outputs(other, view, middle, turns, angle)
    tau = np.asarray(np.linalg.lstsq(base, wanted, rcond=None)[0], dtype=np.float64)
    if np.abs(base @ tau - wanted).max(initial=0.0) > STATE_MAP_TOL * np.abs(wanted).max(initial=0.0):
        raise _NoMapError(
            "non-rotating parts move in individual directions"
            if view.turning
            else "parts that rotate with the rotor move in individual directions (blades, levers)"
        )
    return tau


def _at_angle(space: Tangent, direction: Array, angle: float) -> Tangent:
    """Return the tangent space after a rotation by a spin angle, with the same independent coordinates."""
    model, state = space.model, space.state
    moved = replace(state, q=model.integrate(state.q, direction * angle))
    return tangent_space(model, moved, **same_coordinates(space), **space.under, item="campbell")


def _outputs(space: Tangent, view: _View, middle: Array, turns: dict[str, Array], angle: float) -> Array:
    """Return twists of bodies about a point of the axis, and deformations, in the axes of the view: (rows, ny)."""
    from scipy.linalg import expm

    model, q = space.model, space.state.q
    twists = frame_motions(model, q, space.Q)  # (ny, nb, 6)
    places = model.poses(q).position - middle
    shifts = (twists[..., 3:] - np.cross(twists[..., :3], places)) / model.length
    parts = np.stack([twists[..., :3], shifts], axis=-2)
    if view.turning:
        parts = parts @ from_rotation_vector(view.axis * angle)  # by the transpose, on each vector
    rows = [parts.reshape(space.ny, -1).T]
    for name in model.flexible_names:
        eta = space.Q[model.v_slice(name)] / model.length
        rows.append(expm(angle * turns[name]) @ eta if name in turns else eta)
    return np.vstack(rows)


def _turns(space: Tangent, direction: Array, view: _View) -> tuple[Array, dict[str, Array]]:
    """Return a point of the axis, and G (nm, nm) of flexible bodies that rotate in these axes.

    eta' = G eta rotates a deformation with the body, per rad of spin.
    """
    model, q, axis = space.model, space.state.q, view.axis
    twists = frame_motions(model, q, direction[:, None])[0]
    pose = model.poses(q)
    rates = twists[:, :3] @ axis
    lead = int(np.abs(rates).argmax())
    w, v = twists[lead, :3], twists[lead, 3:]
    if not w.any():
        raise _NoMapError("nothing turns")
    middle = pose.position[lead] + np.cross(w, v) / (w @ w)
    found = {}
    for name in model.flexible_names:
        k = model.body_names.index(name)
        if np.linalg.norm(twists[k, :3] - rates[k] * axis) > 1e-9:
            raise _NoMapError(f"{name!r} does not turn about the axis of the rotor")
        rate = float(rates[k]) - (1.0 if view.turning else 0.0)
        if abs(rate) > 1e-9:
            R = pose.rotation[k]
            found[name] = rate * _turn_of_modes(model, name, R.T @ axis, R.T @ (middle - pose.position[k]))
    return middle, found


def _turn_of_modes(model: Model, name: str, axis: Array, middle: Array) -> Array:
    """Return G (nm, nm) for a turn about an axis (3,) through a point (3,), body axes, from the nodes on the axis."""
    body = model.system.bodies[name].require_flexible()
    away = np.linalg.norm(np.cross(body.nodes - middle, axis), axis=1)
    on_axis = away <= 1e-6 * max(float(np.ptp(body.nodes, axis=0).max(initial=0.0)), 1e-9)
    shapes = body.shapes[on_axis]  # (k, 6, nm)
    turned = np.concatenate(
        [np.cross(axis, shapes[:, part], axisb=1, axisc=1) for part in (slice(0, 3), slice(3, 6))], axis=1
    )
    scale = np.array([model.length] * 3 + [1.0] * 3)[:, None]
    rows, wanted = ((scale * part).reshape(-1, body.nm) for part in (shapes, turned))
    size = np.linalg.norm(rows, axis=0)
    if len(rows) < body.nm or np.linalg.matrix_rank(rows / np.where(size > 0, size, 1.0), tol=1e-9) < body.nm:
        raise _NoMapError(f"too few nodes of {name!r} lie on the axis to determine the rotation of its modes")
    G: Array = np.linalg.lstsq(rows / size, wanted, rcond=None)[0] / size[:, None]
    off = np.linalg.norm(rows @ G - wanted, axis=0)
    if (off > STATE_MAP_TOL * size).any():
        raise _NoMapError(
            f"the modes of {name!r} are no pairs under rotation about the axis (one mode more or less may complete a "
            "pair)"
        )
    return G
