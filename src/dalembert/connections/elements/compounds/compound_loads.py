"""Measures and loads of the members of a compound, as programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...formulas.program_algebra import Matrix, ProgramBuilder, Vector, extracted, transposed
from ..signals import MEASURES
from .compound_members import Member, MemberEnd, offsets

__all__ = ["Frame", "energy_of_member", "node_balance"]


@dataclass
class Frame:
    """End or node within a program: its pose, its motion and the load on it.

    s, rate : its distance from the first end along the line of the compound, and the rate of that, if it is on it
    along : forces along the line
    """

    p: Vector
    R: Matrix
    v: Vector
    w: Vector
    s: int = 0
    rate: int = 0
    force: list[Vector] = field(default_factory=list)
    moment: list[Vector] = field(default_factory=list)
    along: list[int] = field(default_factory=list)

    def line(self, on: ProgramBuilder) -> Vector:
        """Return the direction from the first end to the frame."""
        return on.scaled(on.divide(on.one, self.s), self.p)

    def push(self, on: ProgramBuilder, at: Vector, force: Vector, moment: Vector) -> None:
        """Add a load that acts at a point."""
        self.force.append(force)
        self.moment.append(on.sum(moment, on.cross(on.difference(at, self.p), force)))


def energy_of_member(
    on: ProgramBuilder,
    names: Mapping[str, int],
    member: Member,
    frames: dict[str, Frame],
    results: dict[str, list[int]],
    *,
    rates: dict[int, int] | None = None,
    line: Sequence[str] = (),
) -> tuple[int, list[int]]:
    """Add the law of a member and its loads; return the indices of its energy and its measures.

    Parameters
    ----------
    rates : dict of int to int
        Of a tracked member: indices of the rates that its law uses.
    line : sequence of str
        Of a member along the line of the compound: its positions on the line, in order.
    """
    element, name = member.element, member.name
    ends = [_fixed(on, end, frames[end.place]) for end in member.ends]
    if line:
        ahead, behind = _in_order(member, frames, line)
        measures, moving = [on.subtract(ahead.s, behind.s)], [on.subtract(ahead.rate, behind.rate)]
    else:
        measures, moving = [], []
        for measure, end in zip(element.each_measure, ends[1:], strict=True):
            for into, found in zip((measures, moving), _measured(on, measure, ends[0], end), strict=True):
                into += found
    if rates is not None:
        moving = [rates.get(k, on.zero) for k in range(len(measures))]
    own = (*element.states, *element.parameters, *element.sources, *element.unknowns)
    given = [names["t"], *measures, *moving]
    given += [on.zero if k in member.fixed else names[f"{name}_{k}"] for k in own]
    assert element.program is not None
    outputs = extracted(element.program, on.program, element.program.outputs, dict(enumerate(given)))
    m, n, k, u = element.measures, len(element.states), len(element.signals), len(element.unknowns)
    rest = outputs[m + n + 1 + k :]
    results[f"measures of {name}"], results[f"forces of {name}"] = measures, outputs[:m]
    results[f"rates of {name}"] = outputs[m : m + n]
    results[f"signals of {name}"] = outputs[m + n + 1 : m + n + 1 + k]
    results[f"residuals of {name}"], results[f"starts of {name}"] = rest[:u], rest[u + u**2 :]
    if line:
        ahead.along.append(outputs[0])
        behind.along.append(on.negate(outputs[0]))
    else:
        _push(on, member, ends, frames, measures, outputs)
    energy: int = outputs[m + n]
    return energy, measures


def node_balance(on: ProgramBuilder, node: str, kind: str, frame: Frame, results: dict[str, list[int]]) -> None:
    """Add the equilibrium residuals of a node, its position and its rates."""
    if kind == "line":
        balance, place, rate = [on.total(frame.along)], [frame.s], [frame.rate]
    else:
        balance, place, rate = [*on.sum(on.null, *frame.force)], [*frame.p], [*frame.v]
    if kind == "pose":
        phi = on.vector_of_turn(frame.R)
        balance += on.sum(on.null, *frame.moment)
        place += phi
        rate += on.turning_rate(phi, frame.w)
    results[f"balance of {node}"], results[f"place of {node}"], results[f"rate of {node}"] = balance, place, rate


def _fixed(on: ProgramBuilder, end: MemberEnd, frame: Frame) -> Frame:
    """Return the marker of a member's end on its node or end."""
    if not end.is_offset:
        return frame
    position, rotation = offsets(on, end)
    arm = on.apply(frame.R, position)
    v = on.sum(frame.v, on.cross(frame.w, arm))
    return Frame(on.sum(frame.p, arm), on.product(frame.R, rotation), v, frame.w)


def _in_order(member: Member, frames: dict[str, Frame], line: Sequence[str]) -> tuple[Frame, Frame]:
    first, second = member.end_names
    A, B = frames[first], frames[second]
    return (B, A) if line.index(first) < line.index(second) else (A, B)


def _measured(on: ProgramBuilder, measure: str, A: Frame, B: Frame) -> tuple[list[int], list[int]]:
    """Return the measures of a member, of B in A, and their rates."""
    r, u = on.difference(B.p, A.p), on.difference(B.v, A.v)
    if measure == "distance":
        length = on.program.emit("root", on.dot(r, r))
        return [length], [on.divide(on.dot(r, u), length)]
    back = transposed(A.R)
    measures = [*on.apply(back, r)]
    rates = [*on.apply(back, on.difference(u, on.cross(A.w, r)))]
    if measure == "pose":
        measures += on.vector_of_turn(on.product(back, B.R))
        rates += on.apply(back, on.difference(B.w, A.w))
    return measures, rates


def _push(
    on: ProgramBuilder,
    member: Member,
    ends: Sequence[Frame],
    frames: dict[str, Frame],
    measures: Sequence[int],
    outputs: Sequence[int],
) -> None:
    """Apply the loads of a member to its further ends, and the opposite loads, at the same points, to its first."""
    A, first = ends[0], frames[member.ends[0].place]
    place = 0
    for measure, end, B in zip(member.element.each_measure, member.ends[1:], ends[1:], strict=True):
        size = len(MEASURES[measure][0])
        mine = list(outputs[place : place + size])
        if measure == "distance":
            f = on.scaled(on.divide(mine[0], measures[place]), on.difference(B.p, A.p))
            frames[end.place].push(on, B.p, f, on.null)
            first.push(on, A.p, on.opposite(f), on.null)  # along the line: it may act at either end
        else:
            f = on.apply(A.R, mine[:3])
            moment = on.apply(A.R, mine[3:]) if measure == "pose" else on.null
            frames[end.place].push(on, B.p, f, moment)
            first.push(on, B.p, on.opposite(f), on.opposite(moment))
        place += size
