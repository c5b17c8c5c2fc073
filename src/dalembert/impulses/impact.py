"""`impulse`: velocity jumps by impulses, locks, closing loops and contacts, at a fixed configuration.

    M dv = I + P^T Lam + S^T E,     P v+ = rates that laws of time prescribe,     S v+ = prescribed velocities     (1)

Passerello and Huston 1972, (4.9), with loops, drives (Sol 1983, (6.3.7)) and locks: I are the applied impulses, Lam
those of the loops, E those of drives and locks. A loop whose rates v- violates is closed by its own impulse.

Locks of cut joints and closing connections are further rows, G v+ = 0. Contacts respond after everything else, with all
rows satisfied: see `contact`. `velocity_jump_solver` solves (1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text, range_text
from ..arrays import Array
from ..checks import checked, finite_number
from ..connections.connection import Connection
from ..errors import ModelError
from ..model import ConnectionLoads, Model, as_model
from ..model.connection_loads import weightless_loads
from ..system import System
from .contact import Contact, ContactOutcome
from .impulse_equations import ImpulseState, TransmittedLoad
from .impulse_request import ImpulseRequest, find_applied, find_closing, find_contacts, find_locks, find_states

__all__ = ["Impact", "impulse"]


_ITEM = "impulse"


@dataclass(frozen=True, eq=False, repr=False)
class Impact(ArrayAnswer):
    """Velocities before and after an impact, and its impulses.

    With a batch of states every array has a leading batch axis.

    Attributes
    ----------
    v_before, v : (nv,) rad/s or m/s
        Velocities before and after.
    impulse : (nv,) N m s or N s
        Generalized impulse applied, without contacts.
    multipliers : (nc,) N s or N m s
        Impulses of the constraint rows, on the second marker; those of least norm where rows are redundant.
    efforts : dict of str to (number of velocities,) N m s or N s
        Impulses of locks and drives along the velocities that they prescribe, by name; of a driven constraint, its
        multiplier.
    contacts : dict of str to ContactOutcome
    energy_before, energy_after : float, J
        Kinetic energy.
    model : Model
    q : (nq,) rad or m
    """

    v_before: Array
    v: Array
    impulse: Array
    multipliers: Array
    efforts: dict[str, Array]
    contacts: dict[str, ContactOutcome]
    energy_before: Any
    energy_after: Any
    model: Model = field(repr=False)
    q: Array = field(repr=False)
    _loads: list[list[TransmittedLoad]] = field(
        repr=False, default_factory=list
    )  # by state, contacts and further rows too
    _on_bodies: Array = field(repr=False, default_factory=lambda: np.zeros(0))

    @property
    def delta_v(self) -> Array:
        """Velocity jump, (nv,) rad/s or m/s."""
        return self.v - self.v_before

    @property
    def energy_loss(self) -> Any:
        """Kinetic energy before less kinetic energy after, J; negative if impulses have added energy."""
        return self.energy_before - self.energy_after

    @property
    def work(self) -> Any:
        """Work of the applied impulses, I . (v- + v+) / 2, J."""
        work = 0.5 * (self.impulse * (self.v_before + self.v)).sum(-1)
        return float(work) if self.v.ndim == 1 else work

    @cached_property
    def reactions(self) -> dict[str, Array]:
        """[moment; force] impulse (6,) of every connection on its second marker, N m s and N s, world axes.

        About the origin of the second marker; efforts at the connection are included. Where loops are redundant, they
        belong to the multipliers of least norm.
        """
        return self._reactions("world")

    @cached_property
    def marker_reactions(self) -> dict[str, Array]:
        """As `reactions`, in axes of each second marker."""
        return self._reactions("marker")

    def _reactions(self, axes: str) -> dict[str, Array]:
        batch = self.v.ndim == 2
        rows = [np.atleast_2d(x) for x in (self.q, self.delta_v, self.multipliers)]
        states = [
            _state_reactions(self.model, q, dv, lam, on_bodies, loads, axes)
            for q, dv, lam, on_bodies, loads in zip(*rows, self._on_bodies, self._loads, strict=True)
        ]
        return {name: np.array([s[name] for s in states]) if batch else states[0][name] for name in states[0]}

    _arrays: ClassVar = {
        "v_before": (("sample", "speed"), ""),
        "v": (("sample", "speed"), ""),
        "impulse": (("sample", "speed"), ""),
        "multipliers": (("sample", "row"), ""),
        "energy_before": (("sample",), "J"),
        "energy_after": (("sample",), "J"),
    }

    def _headline(self) -> str:
        states = f"{len(self.v)} states, " if self.v.ndim == 2 else ""
        loss = f"energy lost {range_text(self.energy_loss, 'J')}"
        contacts = f", {count_text(len(self.contacts), 'contact')}" if self.contacts else ""
        largest = np.abs(self.delta_v).max(initial=0.0)
        return f"{states}largest velocity jump {largest:.4g} rad/s or m/s, {loss}{contacts}"

    def __str__(self) -> str:
        return "\n".join([f"impact on {self.model.system.name!r}", *_lines(self)])


@checked("q", "v", "impulses", "tau", "axes")
def impulse(
    system: System | Model,
    q: ArrayLike,
    v: ArrayLike,
    impulses: Mapping[Any, ArrayLike] | None = None,
    *,
    tau: ArrayLike | None = None,
    lock: str | Connection | Iterable[str | Connection] = (),
    close: Connection | Iterable[Connection] = (),
    contact: Contact | Iterable[Contact] = (),
    axes: str = "world",
    t: float = 0.0,
) -> Impact:
    """Return the velocities after impulses, sudden locks, closing loops and contacts at constant q.

    Applied impulses, locks and loops act together; contacts respond to the velocities after these. Loops, locks and
    drives are satisfied throughout. Velocities before that violate the loops are allowed: the loop closes suddenly. A
    release needs no impulse.

    Parameters
    ----------
    system : System or Model
    q : (nq,) or (B, nq) rad or m
        A closed configuration, as `assemble` gives.
    v : (nv,) or (B, nv) rad/s or m/s
        Velocities before.
    impulses : dict
        By marker or body (or its name, ``"crank.tip"``): force impulse (3,) N s, or [moment; force] (6,) N m s and N s,
        at the marker's origin. By name of a connection or of one velocity (``"A"``, ``"C.slide"``): generalized
        impulse along its velocities. (B, ...) for a batch.
    tau : (nv,) or (B, nv) N m s or N s
        Generalized impulse along all velocities of the tree.
    lock : names of joints or of single velocities
        Joints that lock: their velocities are zero after.
    close : Connections
        Joints outside the model that close suddenly: ``Connection("grip", Spherical(), hand, ball)``. Their markers
        must satisfy the joint.
    contact : Contacts
        Unilateral contacts between markers, or of a marker with a plane; see `Contact`.
    axes : str
        ``"world"``, or ``"marker"`` (``"body"`` is the same): impulses at markers are given in axes of their marker
        (of a body, its own).
    t : float, s
        Time, for drives: driven velocities are those of the law; where a law gives accelerations only, the velocity
        does not jump.

    Raises
    ------
    ModelError
        For unknown names, wrong shapes, numbers that are not finite, q that does not close, and locks of driven
        coordinates.
    SingularityError
        If locks, drives and loops contradict each other; names the violated rows.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> bat = s.body("bat", da.rod(length=0.9, mass=3.0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, bat)
    >>> hit = impulse(s, [0.0], [0.0], {bat.at(0.6, 0, 0): [0, 2.7, 0]})
    >>> hit.v.round(9), bool(abs(hit.reactions["A"][4]) < 1e-12)  # centre of percussion: nothing felt at A
    (array([2.]), True)
    """
    model = as_model(system)
    t = finite_number(t, item=_ITEM, field="t")
    if axes not in ("world", "marker", "body"):
        raise ModelError(_ITEM, "axes", axes, "use 'world' or 'marker'")
    axes = "marker" if axes == "body" else axes
    applied, contacts = find_applied(model, impulses or {}, axes), find_contacts(model, contact)
    request = ImpulseRequest(model, applied, find_locks(model, lock), find_closing(model, close), contacts, t)
    q_, v_, tau_, batch = find_states(model, q, v, tau, applied)
    states = [ImpulseState(request, *x, number) for number, x in enumerate(zip(q_, v_, tau_, strict=True))]
    for s in states:
        s.respond()
    results = [s.finish() for s in states]
    speeds_after = np.array([s.after for s in states])
    before, after = (np.atleast_1d(model.energy(q_, speeds, bare=True).kinetic) for speeds in (v_, speeds_after))

    def joined(values: list[Any]) -> Any:
        return np.array(values) if batch else values[0]

    return Impact(
        v_before=joined([s.v for s in states]),
        v=joined([s.after for s in states]),
        impulse=joined([s.applied for s in states]),
        multipliers=joined([r[0] for r in results]),
        efforts={name: joined([r[1][name] for r in results]) for name in results[0][1]},
        contacts={
            c.name: ContactOutcome(*(joined([s.touches[k][part] for s in states]) for part in range(6)))
            for k, c in enumerate(contacts)
        },
        energy_before=before if batch else float(before[0]),
        energy_after=after if batch else float(after[0]),
        model=model,
        q=q_ if batch else q_[0],
        _loads=[s.loads for s in states],
        _on_bodies=np.array([s.on_bodies for s in states]),
    )


# ---- reactions and report


def _state_reactions(
    model: Model, q: Array, dv: Array, lam: Array, on_bodies: Array, loads: list[TransmittedLoad], axes: str
) -> dict[str, Array]:
    on_bodies = on_bodies.copy()
    passed: dict[str, Array] = {}
    for load in loads:
        world = load.motion.in_world(load.load)
        for marker, sign in ((load.motion.first, -1.0), (load.motion.second, 1.0)):
            number = model.forest.number[marker.body.name]
            if number:
                arm = load.motion.point - model.pose(marker.body, q).position
                on_bodies[number - 1, :3] += sign * (world[:3] + np.cross(arm, world[3:]))
                on_bodies[number - 1, 3:] += sign * world[3:]
        if load.connection:
            if axes == "marker":
                turned = load.motion.rotation.T
                world = np.concatenate([turned @ load.load[:3], turned @ load.load[3:]])
            passed[load.connection] = passed.get(load.connection, 0.0) + world
    found = weightless_loads(model, q[None], dv[None], lam[None], loads=on_bodies[None])[0]
    result = dict(ConnectionLoads(model, q, found, axes))
    for name, world in passed.items():
        result[name] = result.get(name, 0.0) + world
    return result


def _lines(impact: Impact, most: int = 6) -> list[str]:
    """Return the report: largest jumps, energy, efforts, contacts."""
    if impact.v.ndim == 2:
        return [f"  {len(impact.v)} states", f"  largest energy loss {np.max(impact.energy_loss):.4g} J"]
    order = np.argsort(-np.abs(impact.delta_v), kind="stable")
    moved = [k for k in order if abs(impact.delta_v[k]) > 1e-12 * np.abs(impact.v).max(initial=0.0)]
    shown = [f"{impact.model.speed_names[k]} {impact.v_before[k]:.4g} -> {impact.v[k]:.4g}" for k in moved[:most]]
    more = f", ... ({len(moved)} velocities)" if len(moved) > most else ""
    lines = ["  speeds  " + (", ".join(shown) + more if shown else "no jump")]
    lines.append(
        f"  energy  {impact.energy_before:.4g} -> {impact.energy_after:.4g} J, lost {impact.energy_loss:.4g} J"
    )
    for name, effort in list(impact.efforts.items())[:most]:
        lines.append(f"  effort  {name}: {', '.join(f'{x:.4g}' for x in effort)}")
    for name, touch in impact.contacts.items():
        lines.append(
            f"  contact {name}: {touch.state}, {touch.approach:.4g} -> {touch.departure:.4g} m/s, "
            f"impulse {touch.normal_impulse:.4g} N s"
        )
    return lines
