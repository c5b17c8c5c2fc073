"""Members of compounds: elements between ends and nodes, with offset and rotation, as programs.

Zero parameters that alone make a force depend on rates are fixed permanently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....arrays import Array
from ....checks import finite_array
from ....errors import ModelError
from ....rotation import as_rotation_matrix, from_rotation_vector, rotation_vectors
from ...formulas.dependencies import inputs_of
from ...formulas.expressions import Program
from ...formulas.program_algebra import ProgramBuilder
from ..built_in import ForceElement
from ..by_expressions import by_expressions
from ..element import Element
from ..signals import MEASURES

__all__ = ["Member", "MemberEnd", "measured_at_start"]


@dataclass(frozen=True, eq=False)
class MemberEnd:
    """End of a member: an end or node of the compound, and its marker there.

    Parameters
    ----------
    place : str
    position : (3,) m
    rotation : (3, 3)
    """

    place: str
    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    @property
    def is_offset(self) -> bool:
        """True if the end is offset from its node."""
        return bool(self.position.any()) or not np.array_equal(self.rotation, np.eye(3))

    @classmethod
    def of(cls, what: str, given: Any) -> MemberEnd:
        """Return a member end from a name, or a name with a position and optionally a rotation."""
        if isinstance(given, str):
            return cls(given)
        if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= 3 or not isinstance(given[0], str):
            raise ModelError("Compound", what, given, "give a place by name, or (name, position, rotation)")
        position = finite_array(given[1], (3,), item=f"Compound: {what}", field="position")
        turned = as_rotation_matrix(given[2], item=f"Compound: {what}") if len(given) > 2 else np.eye(3)
        return cls(given[0], position, np.asarray(turned))


class Member:
    """Element of a compound and the names of its ends.

    Attributes
    ----------
    element : Element
        Element with expressions.
    ends : tuple of MemberEnd
        The first end is the reference of all others; then one for each measure.
    fixed : tuple of str
        Parameters that stay zero.
    rates : tuple of int
        Indices of the measures whose rates forces or rates of states depend on.
    """

    def __init__(self, name: str, given: Any) -> None:
        what = f"member {name!r}"
        if not isinstance(given, (tuple, list)) or len(given) < 3 or not isinstance(given[0], ForceElement):
            raise ModelError("Compound", what, given, "give an Element and the two places it is between")
        self.name = name
        self.element = by_expressions("Compound", what, given[0])
        self.ends = tuple(MemberEnd.of(what, end) for end in given[1:])
        wanted = 1 + len(self.element.each_measure)
        if len(self.ends) != wanted:
            raise ModelError("Compound", what, given[1:], f"a {self.element.kind} takes {wanted} places")
        self.fixed, self.rates = _rates_of(self.element)

    @property
    def end_names(self) -> tuple[str, ...]:
        """Names of the ends and nodes between which the member acts."""
        return tuple(end.place for end in self.ends)

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters that can be changed."""
        return {name: value for name, value in self.element.parameters.items() if name not in self.fixed}

    def states_of_rates(self) -> tuple[int, ...]:
        """Return the measures that are states where the nodes have no rates; orientations as a whole."""
        found = set(self.rates)
        first = 0
        for measure in self.element.each_measure:
            turns = set(range(first + 3, first + 6)) if measure == "pose" else set()
            found |= turns if turns & found else set()
            first += len(MEASURES[measure][0])
        return tuple(sorted(found))


def _rates_of(element: Element) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return parameters that have to stay zero, and the measures whose rates the law depends on."""
    used = _used(element, ())
    zeros = [name for name, value in element.parameters.items() if value == 0.0]
    if used:
        for fixed in (*((name,) for name in zeros), tuple(zeros)):
            if fixed and not _used(element, fixed):
                return fixed, ()
    return (), used


def _used(element: Element, fixed: tuple[str, ...]) -> tuple[int, ...]:
    assert element.program is not None
    names = (*element.input_names, *element.unknowns)
    program = Program(names)
    on = ProgramBuilder(program)
    places = [on.zero if name in fixed else program.emit("input", k) for k, name in enumerate(names)]
    outputs = on.graft(element.program, places)
    m, n, k = element.measures, len(element.states), len(element.signals)
    kept = [*outputs[: m + n], *outputs[m + n + 1 + k :]]  # energy and signals cause no loads
    return tuple(sorted(j - 1 - m for j in inputs_of(program, kept) if m < j <= 2 * m))


def offsets(on: ProgramBuilder, end: MemberEnd) -> tuple[list[int], list[list[int]]]:
    """Return position and rotation of an end's marker as indices of a program."""
    return on.numbers(end.position), on.matrix(end.rotation.tolist())


def named(members: Mapping[str, Any]) -> dict[str, Member]:
    """Return members by name."""
    if not members:
        raise ModelError("Compound", "members", members, "give one or more")
    return {name: Member(name, given) for name, given in members.items()}


# ---- start values


def measured_at_start(member: Member, first: str, nodes: Mapping[str, Any], state: str, number: int) -> float:
    """Return the measures of a member at the start positions of its nodes.

    Raises
    ------
    ModelError
        If an end of it is at a body whose pose is unknown.
    """
    poses = []
    for end in member.ends:
        pose = _pose(end, first, nodes)
        if pose is None:
            raise ModelError(
                "Compound",
                f"start of {state!r}",
                None,
                f"its end {end.place!r} has no known pose: give starts={{'{state}': ...}}",
            )
        poses.append(pose)
    R, p = poses[0]
    found: list[float] = []
    for measure, (R_end, p_end) in zip(member.element.each_measure, poses[1:], strict=True):
        seen = R.T @ (p_end - p)
        turned = rotation_vectors((R.T @ R_end)[None])[0]
        found += (
            [float(np.linalg.norm(seen))] if measure == "distance" else [*seen, *turned][: len(MEASURES[measure][0])]
        )
    return float(found[number])


def _pose(end: MemberEnd, first: str, nodes: Mapping[str, Any]) -> tuple[Array, Array] | None:
    if end.place == first:
        R, p = np.eye(3), np.zeros(3)
    elif end.place in nodes and all(isinstance(x, (int, float)) for x in np.atleast_1d(nodes[end.place][1]).tolist()):
        start = np.atleast_1d(np.asarray(nodes[end.place][1], dtype=float))
        p = start[:3]
        R = from_rotation_vector(start[3:]) if len(start) == 6 else np.eye(3)
    else:
        return None
    return R @ end.rotation, p + R @ end.position
