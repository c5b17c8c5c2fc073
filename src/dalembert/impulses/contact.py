"""Impulsive contacts: restitution and dry friction in impulses.

At each contact, u = (two tangential, one normal) components of the velocity of the second marker's origin relative to
the other body at the same point, and Lam the impulse on it. With u the velocities before and D their response to unit
impulses (loops, locks and drives satisfied),

    u+ = u + D Lam                                                                                              (1)
    0 <= u_n+ + e u_n,   0 <= Lam_n,   one of the two is zero                      (Newton's restitution)        (2)
    u_t+ = 0 and |Lam_t| <= mu Lam_n,   or   Lam_t = -mu Lam_n u_t+ / |u_t+|        (Coulomb, in impulses)        (3)

for all closed contacts, u_n <= 0. Without friction this is a non-negative least-squares problem, and kinetic energy
never grows: it changes by the sum of (1 - e) Lam_n u_n / 2. Open contacts that are closed by the impulses of others
respond after them. With friction (1)-(3) are solved by Gauss-Seidel sweeps over the contacts. The solution is checked;
one that creates energy (Kane's paradox: restitution is then no property of the contact alone) raises an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import checked, finite_number, set_fields
from ..connections.joints.joint import frame_with_z
from ..errors import ModelError, SingularityError
from ..numerics.rank import ROUNDOFF_RANK_TOL
from ..rotation import unit_vector

__all__ = ["Contact", "ContactOutcome", "collide"]


MAX_SUCCESSIVE_IMPACTS = 200  # successive impacts before the rest are plastic
MIN_APPROACH_RATIO = 1e-9  # of the first approach speed: slower impacts are plastic
MAX_GAUSS_SEIDEL_SWEEPS = 5000
COMPLEMENTARITY_TOL = 1e-9  # of the terms of (2) and (3): allowed violation


@checked("name")
@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of the second marker's origin with a surface of the first marker's body.

    Parameters
    ----------
    first, second : Marker, Body or str
        Names as ``"crank.tip"`` are allowed.
    normal : str or (3,)
        Of the surface at the point of contact, towards the second body; in axes of the first marker.
    restitution : float
        e of Newton's law, 0 (plastic) to 1 (elastic): normal velocity after = -e times the normal velocity before.
    friction : float
        Coulomb's coefficient; zero for a smooth surface.
    name : str
        ``"tip on floor"`` if left out, from the markers.
    """

    first: Marker | Body | str
    second: Marker | Body | str
    normal: Any = "z"
    restitution: float = 0.0
    friction: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        ends = [end if isinstance(end, str) else getattr(end, "name", repr(end)) for end in (self.first, self.second)]
        name = self.name or f"{ends[1]} on {ends[0]}"
        item = f"contact {name!r}"
        e = finite_number(self.restitution, item=item, field="restitution")
        if not 0.0 <= e <= 1.0:
            raise ModelError(item, "restitution", e, "it lies between 0 (plastic) and 1 (elastic)")
        mu = finite_number(self.friction, item=item, field="friction")
        if mu < 0.0:
            raise ModelError(item, "friction", mu, "it must not be negative")
        direction = unit_vector(self.normal, item=item, field="normal")
        set_fields(self, name=name, restitution=e, friction=mu, normal=direction)

    def axes(self) -> Array:
        """Return two tangents and the normal as columns (3, 3), in axes of the first marker."""
        return frame_with_z(np.asarray(self.normal, dtype=float))


@dataclass(frozen=True, eq=False)
class ContactOutcome:
    """Outcome of a contact; with a leading batch axis if the states have one.

    Attributes
    ----------
    impulse : (3,) N s
        On the second marker, world axes.
    normal_impulse : float, N s
    approach, departure : float, m/s
        Normal relative velocity before the contact responds and after; negative: approaching.
    slip : (3,) m/s
        Tangential relative velocity after, world axes.
    state : str
        ``"open"`` (no impulse), ``"smooth"``, ``"sticking"`` or ``"sliding"``.
    """

    impulse: Array
    normal_impulse: Any
    approach: Any
    departure: Any
    slip: Array
    state: Any


def collide(D: Array, u: Array, contacts: list[Contact], floor: float) -> Array:
    """Return the impulses (m, 3) of contacts, (1) to (3).

    Parameters
    ----------
    D : (3 m, 3 m) 1/kg
        Symmetric, of any rank.
    u : (m, 3) m/s
        Tangential, tangential and normal relative velocities.
    contacts : list of m Contacts
    floor : float, m/s
        Velocities below this are rounding.
    """
    u, total = u.copy(), np.zeros_like(u)
    e, mu = np.array([c.restitution for c in contacts]), np.array([c.friction for c in contacts])
    approach = -float(u[:, 2].min())
    for k in range(MAX_SUCCESSIVE_IMPACTS):
        rounding = floor + 1e-12 * float((np.abs(D) @ np.abs(total.ravel())).max())
        u[np.abs(u[:, 2]) <= rounding, 2] = 0.0
        if not (u[:, 2] < 0.0).any():
            break
        # the last of many successive impacts are plastic
        last = k == MAX_SUCCESSIVE_IMPACTS - 1 or -float(u[:, 2].min()) < MIN_APPROACH_RATIO * approach
        closed = np.flatnonzero((u[:, 2] <= 0.0) | last)
        part = (3 * closed[:, None] + np.arange(3)).ravel()
        W, before = D[np.ix_(part, part)], u[closed].ravel()
        # (2) in terms of b_n = u_n + e u_n
        b = before.copy()
        b[2::3] += np.where(last, 0.0, e[closed] * np.minimum(before[2::3], 0.0))
        names = [contacts[j] for j in closed]
        if (mu[closed] > 0.0).any():
            lam = _with_friction(W, b, names)
            gain, terms = 0.5 * lam * (2 * before + W @ lam), np.abs(lam * before)
            if gain.sum() > COMPLEMENTARITY_TOL * terms.sum():
                worst = max(names, key=lambda c: c.restitution)
                raise ModelError(
                    f"contact {worst.name!r}",
                    "restitution",
                    worst.restitution,
                    f"with friction it would create {gain.sum():.3g} J here; give a smaller one, or no friction",
                )
        else:
            lam = np.zeros(len(b))
            lam[2::3] = _smooth(W[2::3, 2::3], b[2::3], names, rounding)
        total[closed] += lam.reshape(-1, 3)
        u += (D[:, part] @ lam).reshape(-1, 3)
    return total


def _smooth(W: Array, b: Array, contacts: list[Contact], rounding: float) -> Array:
    """Return lam >= 0 with W lam + b >= 0 and no product (m,): the least lam^T W lam / 2 + b^T lam.

    A small compliance bounds the impulses of redundant contacts; its error is corrected afterwards.
    """
    from scipy.optimize import nnls

    unit = 1.0 / np.sqrt(np.where(np.diagonal(W) > 0.0, np.diagonal(W), 1.0))
    values, vectors = np.linalg.eigh(unit[:, None] * W * unit)
    root = np.sqrt(np.maximum(values, 0.0) + 1e-10)
    # W = A^T A: the least (A lam + A^-T b)^2
    lam: Array = unit * nnls(root[:, None] * vectors.T, -(vectors.T @ (unit * b)) / root)[0]
    missed = -(W @ lam + b)
    acting = lam > 0.0
    if acting.any():
        step = np.zeros(len(b))
        step[acting] = np.linalg.lstsq(W[np.ix_(acting, acting)], missed[acting], rcond=ROUNDOFF_RANK_TOL)[0]
        if (lam + step >= 0.0).all():
            lam = lam + step
            missed = -(W @ lam + b)
    size = np.abs(W) @ lam + np.abs(b)
    if (missed > COMPLEMENTARITY_TOL * size.max() + rounding).any():
        raise _immovable(contacts[int(missed.argmax())])
    return lam


def _with_friction(W: Array, b: Array, contacts: list[Contact]) -> Array:
    """Return lam (3 m,) of (2) and (3) by Gauss-Seidel sweeps over the contacts."""
    m = len(contacts)
    lam, mu = np.zeros(3 * m), np.array([c.friction for c in contacts])
    blocks = [slice(3 * k, 3 * k + 3) for k in range(m)]
    for _ in range(MAX_GAUSS_SEIDEL_SWEEPS):
        old = lam.copy()
        for k, at in enumerate(blocks):
            rest = b[at] + W[at] @ lam - W[at, at] @ lam[at]
            lam[at] = _one_contact(W[at, at], rest, mu[k], contacts[k])
        if np.abs(lam - old).max() <= 1e-15 * np.abs(lam).max(initial=0.0):
            break
    u = b + W @ lam
    speed, push = float((np.abs(b) + np.abs(W) @ np.abs(lam)).max()), float(np.abs(lam).max())
    for k, at in enumerate(blocks):
        tangential, normal = lam[at][:2], lam[at][2]
        slip = float(np.linalg.norm(u[at][:2]))
        wrong = -min(u[at][2], 0.0) / speed
        if normal > 0.0:
            wrong += abs(u[at][2]) / speed
        if slip > COMPLEMENTARITY_TOL * speed and normal > 0.0:
            wrong += float(np.linalg.norm(tangential + mu[k] * normal * u[at][:2] / slip)) / push * slip / speed
        if wrong > 10 * COMPLEMENTARITY_TOL:
            raise SingularityError(
                f"contact {contacts[k].name!r}: no impulses found that satisfy Coulomb's law at all contacts; "
                "give less friction, or apply the contacts one after the other"
            )
    return lam


def _one_contact(W: Array, b: Array, mu: float, contact: Contact) -> Array:
    """Return lam (3,) of one contact: open, sticking or sliding."""
    if b[2] >= 0.0:
        return np.zeros(3)
    if not W[2, 2] > 0.0:
        raise _immovable(contact)
    if mu == 0.0:
        return np.array([0.0, 0.0, -b[2] / W[2, 2]])
    stick: Array = -np.linalg.pinv(W, rcond=1e-11, hermitian=True) @ b
    if np.linalg.norm(stick[:2]) <= mu * stick[2] * (1 + 1e-14) and np.abs(
        W @ stick + b
    ).max() <= COMPLEMENTARITY_TOL * np.abs(b).max(initial=0.0):
        return stick

    # slip along d: lam = -b_n (-mu d, 1) / stops must give a slip along d; multiplied by `stops`, without poles
    def slide(angle: float) -> tuple[Array, Array, float]:
        unit = np.array([-mu * np.cos(angle), -mu * np.sin(angle), 1.0])
        stops = float(W[2] @ unit)
        return unit, (b * stops - W @ unit * b[2])[:2], stops

    def across(angle: float) -> float:
        slip = slide(angle)[1]
        return float(np.cos(angle) * slip[1] - np.sin(angle) * slip[0])

    from scipy.optimize import brentq

    start = float(np.arctan2(b[1], b[0]))
    angles = start + np.linspace(-np.pi, np.pi, 129) + 0.01  # roots on the grid would be counted twice
    values = np.array([across(x) for x in angles])
    found = []
    for k in np.flatnonzero(values[:-1] * values[1:] <= 0.0):
        angle = float(brentq(across, angles[k], angles[k + 1], xtol=1e-15, rtol=1e-15))
        unit, slip, stops = slide(angle)
        if stops > 0.0 and slip @ [np.cos(angle), np.sin(angle)] >= 0.0:
            found.append((abs(angle - start), -b[2] / stops * unit))
    if not found:
        raise SingularityError(
            f"contact {contact.name!r}: it jams, no slip direction is consistent with a friction of {mu:.3g}; reduce it"
        )
    return min(found, key=lambda pair: pair[0])[1]


def _immovable(contact: Contact) -> SingularityError:
    return SingularityError(
        f"contact {contact.name!r}: locks, loops or drives force the two bodies into each other, and no impulse can "
        "stop that; release one of them"
    )
