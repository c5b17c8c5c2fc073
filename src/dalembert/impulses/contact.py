"""Impulsive contacts: restitution and dry friction in impulses.

At each contact, u = (two tangential, one normal) components of the velocity of the second marker's origin relative to
the other body at the same point, and Lam the impulse on it. With u the velocities before and D their response to unit
impulses (loops, locks and drives satisfied),

    u+ = u + D Lam                                                                                              (1)
    0 <= u_n+ + e u_n,   0 <= Lam_n,   one of the two is zero                      (Newton's restitution)        (2)
    u_t+ = 0 and |Lam_t| <= mu Lam_n,   or   Lam_t = -mu Lam_n u_t+ / |u_t+|        (Coulomb, in impulses)        (3)

for all closed contacts, u_n <= 0: a problem of friction cones (`numerics.cone_problems`). Without friction kinetic
energy never grows: it changes by the sum of (1 - e) Lam_n u_n / 2. Open contacts that are closed by the impulses of
others respond after them. With friction a solution that creates energy (Kane's paradox: restitution is then no property
of the contact alone) raises an error.
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
from ..numerics.cone_problems import solve_cone_problem
from ..rotation import unit_vector

__all__ = ["Contact", "ContactOutcome", "collide"]


MAX_SUCCESSIVE_IMPACTS = 200  # successive impacts before the rest are plastic
MIN_APPROACH_RATIO = 1e-9  # of the first approach speed: slower impacts are plastic
COMPLEMENTARITY_TOL = 1e-9  # of the terms of (2) and (3): allowed violation
ROUNDOFF_RESPONSE = 1e-14  # of the largest diagonal of D: a row with a smaller one does not move
RESIDUAL_TOL = 1e-13  # of the largest velocity: residual at which the solver stops


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
        lam = _cone_impulses(W, b, mu[closed], names, rounding)
        if (mu[closed] > 0.0).any():
            gain, terms = 0.5 * lam * (2 * before + W @ lam), np.abs(lam * before)
            if gain.sum() > COMPLEMENTARITY_TOL * terms.sum():
                worst = max(names, key=lambda c: c.restitution)
                raise ModelError(
                    f"contact {worst.name!r}",
                    "restitution",
                    worst.restitution,
                    f"with friction it would create {gain.sum():.3g} J here; give a smaller one, or no friction",
                )
        total[closed] += lam.reshape(-1, 3)
        u += (D[:, part] @ lam).reshape(-1, 3)
    return total


def _cone_impulses(W: Array, b: Array, mu: Array, contacts: list[Contact], rounding: float) -> Array:
    """Return lam (3 m,) of (2) and (3) for b = u + e u_n."""
    still = np.diagonal(W) <= ROUNDOFF_RESPONSE * np.diagonal(W).max()
    W = np.where(still[:, None] | still, 0.0, W)
    solution = solve_cone_problem(W, b, mu, tolerance=max(RESIDUAL_TOL * float(np.abs(b).max()), rounding))
    if solution.missed <= COMPLEMENTARITY_TOL * float(np.abs(b).max()) + 10 * rounding:
        return solution.lam
    worst = int(solution.u[2::3].argmin())
    if still[3 * worst + 2] or not (mu > 0.0).any():
        raise _immovable(contacts[worst])
    raise SingularityError(
        f"contact {contacts[worst].name!r}: no impulses found that satisfy Coulomb's law at all contacts; "
        "give less friction, or apply the contacts one after the other"
    )


def _immovable(contact: Contact) -> SingularityError:
    return SingularityError(
        f"contact {contact.name!r}: locks, loops or drives force the two bodies into each other, and no impulse can "
        "stop that; release one of them"
    )
