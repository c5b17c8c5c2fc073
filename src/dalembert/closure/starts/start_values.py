"""Start values of `System.initial`: targets in addition to the drives, and deviations of a start from them.

A value may be given for any joint, also for a cut joint. Values that are not given are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array
from ...compile.names import full_names
from ...connections.constraints.cams import CamFollower
from ...connections.constraints.chains import KinematicChain
from ...connections.joints import Joint
from ...model import Model
from ...rotation import rotation_vectors
from ...system.initial_values import BodyPlacement, Initial
from ..relative_pose import relative
from .chain_targets import ALL_COORDINATES, ChainRateTarget

__all__ = ["StartValues", "unmet_start_values", "within_limits"]

Values = dict[str, Array]

ROUNDOFF_TOL = 1e-9  # differences below this, of the size of a value or 1, are rounding


@dataclass(frozen=True, eq=False)
class StartValues:
    """Start values of the description, or replacements.

    Attributes
    ----------
    initials : dict of str to Initial
        For joints and flexible bodies.
    placements : dict of str to BodyPlacement
    x : (nx,)
        Element states.
    first : StartValues or None
        Those with priority where not all can be met.
    """

    initials: Mapping[str, Initial]
    placements: Mapping[str, BodyPlacement]
    x: Array
    first: StartValues | None = None

    @classmethod
    def of(cls, model: Model) -> StartValues:
        """Return the start values of the description."""
        return cls(model.system.initials, model.system.placements, model.element_start_values())

    def positions(self, model: Model, *, beside: StartValues | None = None, driven: bool = False) -> Values:
        """Return the given positions, by name of a connection or coordinate.

        Flexible bodies are included, undeformed unless given, so that their deformation is least. Those in `beside` are
        left out and, if `driven`, those that drives prescribe.
        """
        taken = {(d.connection.name, k) for d in model.joint_drives if driven for k in d.coordinate_indices}
        modes = {name: Initial(np.zeros(_width(model, name))) for name in model.flexible_names}
        return self._asked(model, {**modes, **self.initials}, taken, beside, "coordinates")

    def speeds(self, model: Model, *, beside: StartValues | None = None) -> Values:
        """Return the given velocities that no drive prescribes, by name of a connection or velocity."""
        taken = {(d.connection.name, k) for d in model.joint_drives if d.level <= 1 for k in d.dofs}
        return self._asked(model, self.initials, taken, beside, "speeds")

    def paced_chains(self, model: Model) -> list[ChainRateTarget]:
        """Return kinematic chains with given rates of inner coordinates."""
        found = []
        for name, initial in self.initials.items():
            chain = _chain(model, name)
            if chain is not None and initial.speed is not None:
                position = np.full(len(initial.speed), np.nan) if initial.position is None else initial.position
                found.append(ChainRateTarget(model.system.connections[name], chain, position, initial.speed))
        return found

    def of_positions(self) -> StartValues:
        """Return the joint and body positions among them."""
        initials = {name: replace(initial, speed=None) for name, initial in self.initials.items()}
        places = {name: replace(place, velocity=None, angular_velocity=None) for name, place in self.placements.items()}
        return StartValues(initials, places, self.x)

    def of_speeds(self) -> StartValues:
        """Return the joint and body velocities among them."""
        initials = {name: Initial(None, initial.speed) for name, initial in self.initials.items()}
        places = {
            name: BodyPlacement(None, None, place.velocity, place.angular_velocity)
            for name, place in self.placements.items()
        }
        return StartValues(initials, places, self.x)

    def _asked(
        self,
        model: Model,
        initials: Mapping[str, Initial],
        taken: set[tuple[str, int]],
        beside: StartValues | None,
        kind: str,
    ) -> Values:
        targets: Values = {}
        for name, initial in initials.items():
            values = _of_kind(initial, kind)
            if values is None or (kind == "speeds" and _chain(model, name) is not None):
                continue
            other = beside.initials.get(name) if beside is not None else None
            before = _of_kind(other, kind) if other is not None else None
            free = [
                k
                for k, value in enumerate(values)
                if not np.isnan(value) and (name, k) not in taken and (before is None or np.isnan(before[k]))
            ]
            joint, chain = _joint(model, name), _chain(model, name)
            if len(free) == len(values) or (chain is not None and free and before is None):
                targets[name] = values  # all coordinates of a chain together
            elif chain is not None:
                if free and before is not None:  # consistent with those of higher priority
                    targets[f"{name}.{ALL_COORDINATES}"] = np.where(np.isnan(before), values, before)
            elif joint is None or kind == "speeds" or joint.nq == joint.nv:  # an orientation is held as a whole
                names = _part_names(model, name, kind)
                targets |= {names[k]: values[k : k + 1] for k in free}
            elif free and name in model.compiled.names.cut_q and len({*free} & {*range(4)}) in (0, 4):
                targets[name] = np.where(np.isin(np.arange(len(values)), free), values, np.nan)
        return targets


def within_limits(model: Model, starts: StartValues) -> tuple[StartValues, dict[str, str]]:
    """Return start values with coordinates not given moved within joint limits, and notes on those moved.

    A coordinate that is not given starts at zero, or at the nearest limit.
    """
    driven = {(d.connection.name, k) for d in model.joint_drives if d.level == 0 for k in d.coordinate_indices}
    initials, notes = dict(starts.initials), {}
    for name in model.joint_names:
        joint, old = _joint(model, name), initials.get(name, Initial())
        if joint is None or (joint.lower is None and joint.upper is None):
            continue
        free = np.array([(name, k) not in driven for k in range(joint.nq)])
        if old.target is not None:
            free &= np.isnan(old.target)
        start = joint.zero if old.position is None else np.where(np.isnan(old.position), joint.zero, old.position)
        low, high = (_limit(joint.lower, -np.inf, joint.nq), _limit(joint.upper, np.inf, joint.nq))
        moved = free & ((start < low) | (start > high))
        if not moved.any():
            continue
        nearest = np.where(moved, np.clip(start, low, high), start)
        given = np.where(free & ~moved, np.nan, nearest) if old.target is not None else nearest
        initials[name] = Initial(given, old.speed, guess=old.target is None)
        labels = _labels(name, joint, joint.nq)[0]
        for k in np.flatnonzero(moved):
            label, unit = labels[k]
            notes[label] = (
                f"{label} starts at its limit, {nearest[k]:.6g}{unit}: no start was given, and {start[k]:.6g} is "
                "outside its limits"
            )
    return (replace(starts, initials=initials) if notes else starts), notes


def _limit(given: Array | None, none: float, size: int) -> Array:
    return np.full(size, none) if given is None else np.broadcast_to(np.asarray(given, dtype=float), (size,))


def _of_kind(initial: Initial, kind: str) -> Array | None:
    return initial.target if kind == "coordinates" else initial.speed


def _part_names(model: Model, name: str, kind: str) -> list[str]:
    """Return the names of the coordinates or velocities of a joint, or of modes."""
    joint = _joint(model, name)
    if joint is None:
        return [f"{name}.eta[{k}]" for k in range(_width(model, name))]
    return full_names(name, getattr(joint, kind))


def unmet_start_values(model: Model, q: Array, v: Array, starts: StartValues | None = None) -> list[str]:
    """Return notes on given start values that a start at q (nq,), v (nv,) does not have: requested and used ones."""
    starts = StartValues.of(model) if starts is None else starts
    cut_q, cut_v, _ = model.cut_motion(q, v, np.zeros(model.nv))
    missed = []
    placed = any(place.position is not None or place.rotation is not None for place in starts.placements.values())
    why = f"loops and drives{' and placed bodies' * placed} permit no more"
    for name, initial in starts.initials.items():
        joint = _joint(model, name)
        if name in (*model.joint_names, *model.flexible_names):
            position, speed = q[model.q_slice(name)], v[model.v_slice(name)]
        elif _chain(model, name) is not None:
            missed += _missed_inner(model, name, initial.target, q)
            continue  # rates below
        elif name in model.compiled.names.cut_v:
            position, speed = cut_q[model.compiled.names.cut_q[name]], cut_v[model.cut_joint_slice(name)]
        else:
            continue
        coordinates, rates = _labels(name, joint, len(position))
        if initial.target is not None:
            missed += _missed(coordinates, initial.target, position, _off(joint, initial.target, position), why)
        if initial.speed is not None:
            missed += _missed(rates, initial.speed, speed, np.abs(speed - initial.speed))
    for target in starts.paced_chains(model):
        used, labels = target.used(model, q, v), _inner(target.element)
        rates = [(f"{target.loop_constraint.name}.{inner}", f" {unit}/s") for inner, unit in labels]
        missed += _missed(rates, target.rates, used, np.abs(used - target.rates))
    return missed + _missed_places(model, q, v, starts.placements) + _missed_sides(model, starts)


def _missed_inner(model: Model, name: str, requested: Array | None, q: Array) -> list[str]:
    """Return notes on inner coordinates of a chain that a start at q (nq,) does not have."""
    connection, chain = model.system.connections[name], _chain(model, name)
    if chain is None or requested is None:
        return []
    seen = relative(model, connection.first, connection.second, q)
    used = chain.toward(seen.rotation, seen.position, requested)
    labels = [(f"{name}.{inner}", "" if unit == "1" else f" {unit}") for inner, unit in _inner(chain)]
    return _missed(labels, requested, used, np.abs(used - requested))


def _inner(chain: KinematicChain) -> list[tuple[str, str]]:
    return list(zip(chain.inner_names, chain.inner_units, strict=True))


def _chain(model: Model, name: str) -> KinematicChain | None:
    connection = model.system.connections.get(name)
    element = connection.element if connection is not None else None
    return element if isinstance(element, KinematicChain) else None


def _missed_sides(model: Model, starts: StartValues) -> list[str]:
    """Return notes on followers that were to start at the wrong side of a profile."""
    missed = []
    for loop_constraint in model.forest.loop_constraints:
        if not isinstance(loop_constraint.element, CamFollower):
            continue
        guess = model.initial_state(starts.initials).q
        first, second = model.pose(loop_constraint.first, guess), model.pose(loop_constraint.second, guess)
        if loop_constraint.element.on_wrong_side(first.rotation.T @ (second.position - first.position)):
            here, there = ("inside", "outside") if loop_constraint.element.inside else ("outside", "inside")
            missed.append(
                f"{loop_constraint.name!r} was to start {there} its profile and starts {here}: "
                f"a {loop_constraint.element.kind} runs there "
                f"unless it is made with inside={not loop_constraint.element.inside}"
            )
    return missed


def _labels(name: str, joint: Joint | None, modes: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return name and unit of each coordinate, and of each velocity, of a joint or of a number of modes."""
    if joint is None:
        labels = [f"{name}.eta[{k}]" for k in range(modes)]
        return [(label, "") for label in labels], [(label, "/s") for label in labels]
    coordinates = zip(full_names(name, joint.coordinates), joint.coordinate_units, strict=True)
    rates = zip(full_names(name, joint.speeds), joint.speed_units, strict=True)
    return [(label, "" if unit == "1" else f" {unit}") for label, unit in coordinates], [
        (label, f" {unit}/s") for label, unit in rates
    ]


def _missed(
    labels: list[tuple[str, str]],
    requested: Array,
    used: Array,
    off: Array,
    why: str = "loops and drives permit no more",
) -> list[str]:
    """Return notes on numbers that differ from the requested ones by more than rounding, with the reason."""
    return [
        f"{label} was to start at {requested[k]:.6g}{unit} and starts at {used[k]:.6g}{unit}: {why}"
        for k, (label, unit) in enumerate(labels)
        if off[k] > ROUNDOFF_TOL * (1.0 + abs(requested[k]))
    ]


def _missed_places(model: Model, q: Array, v: Array, placements: Mapping[str, BodyPlacement]) -> list[str]:
    """Return notes on body poses and velocities that a start at q (nq,), v (nv,) does not have."""
    poses: list[str] = []
    rates: list[str] = []
    shifts: dict[str, float] = {}
    turns: dict[str, float] = {}
    for name, placement in placements.items():
        pose, speeds = model.pose(name, q), model.velocity(name, q, v)
        turn = np.eye(3) if placement.rotation is None else placement.rotation.T @ pose.rotation
        angle = float(np.linalg.norm(rotation_vectors(turn[None])))
        if angle > 1e-7:
            turns[name] = angle
            poses.append(
                f"{name!r} starts turned by {angle:.6g} rad from where it was placed: loops and drives permit no less"
            )
        for given, used, what, unit, missed in (
            (placement.position, pose.position, "position", "m", poses),
            (placement.velocity, speeds[3:], "velocity", "m/s", rates),
            (placement.angular_velocity, speeds[:3], "angular velocity", "rad/s", rates),
        ):
            if given is not None and np.abs(given - used).max() > ROUNDOFF_TOL * (1.0 + np.abs(given).max()):
                requested, got = (", ".join(f"{x:.6g}" for x in row) for row in (given, used))
                away = ""
                if what == "position":
                    shifts[name] = float(np.linalg.norm(given - used))
                    away = f", {shifts[name]:.3g} m away"
                missed.append(
                    f"{name!r} was to start with {what} ({requested}) {unit} and has ({got}){away}: its joints permit "
                    "no more"
                )
    return [*(poses if len({*shifts, *turns}) < 2 else [_largest_corrections(shifts, turns)]), *rates]


def _largest_corrections(shifts: Mapping[str, float], turns: Mapping[str, float]) -> str:
    """Return a note on the largest corrections of several placed bodies; m and rad, by name of the body."""
    parts = []
    for away, verb, unit in ((shifts, "moved", "m"), (turns, "turned", "rad")):
        if away:
            worst = max(away, key=lambda name: away[name])
            parts.append(f"{verb} by at most {away[worst]:.3g} {unit} ({worst!r})")
    return (
        f"{len({*shifts, *turns})} bodies start {' and '.join(parts)} from where they were placed: this is the nearest "
        "configuration found that loops, drives and joints permit"
    )


def _joint(model: Model, name: str) -> Joint | None:
    connection = model.system.connections.get(name)
    element = connection.element if connection is not None else None
    return element if isinstance(element, Joint) else None


def _width(model: Model, name: str) -> int:
    span = model.q_slice(name)
    return int(span.stop - span.start)


def _off(joint: Joint | None, requested: Array, used: Array) -> Array:
    """Return the differences of positions: angles up to full turns, quaternions up to their sign."""
    off = np.abs(used - requested)
    if joint is None:
        return off
    if "qw" in joint.coordinates:
        unit = requested[:4] / np.linalg.norm(requested[:4])
        off[:4] = np.minimum(np.abs(used[:4] - unit), np.abs(used[:4] + unit))
    turns = np.array([unit == "rad" for unit in joint.coordinate_units]) & (not joint.counts_turns)
    return np.where(turns, np.abs(off - 2 * np.pi * np.round(off / (2 * np.pi))), off)
