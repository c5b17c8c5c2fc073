"""Compounds: elements joined at massless nodes, as one element (Sol 1983, chapter 7).

Members meet at nodes. Only the members act on a node, so that their loads balance at every instant:

    members' forces do not depend on rates      positions of the node are unknowns, found in every evaluation (7.3)
    they do, in every direction of the node     positions are states, their rates are the unknowns (7.4)
    they do, in some directions only            positions are unknowns, what these members measure are states, and the
                                                rates of that are unknowns too

The result is one law in axes of the first end, with exact derivatives (`compound_program`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....arrays import Array
from ....checks import checked, set_fields
from ...formulas.dependencies import extract_subprogram
from ...formulas.expressions import Program
from ..built_in import ForceElement
from ..element import Element
from ..signals import MEASURES
from .compound_program import CompoundProgram

__all__ = ["Compound"]


@checked("ends", "members", "nodes", "loads", "parameters", "starts")
class Compound(Element):
    """Element composed of elements that meet at massless nodes.

    Parameters
    ----------
    ends : sequence of str
        Names of the ends, two or more, in the order in which ``connect`` takes markers. Positions of nodes are in axes
        of the first.
    members : dict of str to (element, end, end, ...)
        Elements that measure distances, positions or poses, between as many ends or nodes as they have ends. An end is
        a name, or ``(name, position)`` or ``(name, position, rotation)``: the pose of the member's end in axes of a
        node or an end that has axes. Laws are expressions, tables, elements of the library, or Python functions without
        branches, which are traced once with symbolic arguments.
    nodes : dict of str to (kind, start)
        ``"line"``: on the straight line between the first two ends, at a distance from the first, m, which is its only
        coordinate; members at it are distances. ``"point"``: at a position (3,) m; no moments act on it. ``"pose"``:
        position and rotation vector (6,) m and rad; members that twist may meet there. Starts are numbers or
        expressions of the measures; where forces resist rates in every direction of the node, numbers.
    loads : dict of str to (1,), (3,) or (6,)
        Loads on nodes in axes of the first end: a force along the line, a force, or force and moment, N and N m:
        expressions of t and parameters. Their opposites act on the first end: use ground as the first end, with or
        without members at it, for external loads in world axes.
    parameters : dict of str to float
        For `loads` and starts.
    starts : dict of str to float
        Start values of states. Required for members whose length is a state (``"fibre_s"``, below), unless both of
        their ends are at nodes or the first end, which determine it.

    Names of members are prefixed with the member's name: parameters ``tendon_k``, states ``fibre_a``, inputs, signals.
    Positions of nodes are states ``middle`` or ``middle_x`` ..., or signals ``middle_at``
    ... Of each member that measures a distance ``tendon_force`` and ``tendon_distance`` are signals, of others their
    loads ``joint_fx`` ... ``joint_mz``, in axes of their first end.

    Where members resist rates in some directions of a node only (two fibres and a tendon at a point), their measures
    are states, ``fibre_s``, and these lengths and the force balance determine the node: no further dampers are needed.

    If several positions of a node are in balance, the one found by Newton's method from its start plus an offset is
    used. The offsets are parameters, ``middle_shift`` or ``middle_x_shift`` ..., zero by default, so that a state and
    the parameters have one solution. A run follows its solution: where the search would leave it, the run changes the
    offsets from then on, as an event changes parameters, and the result records the time. A single state of such a run
    has the same solution with the parameters of that time (``result.conditions``). At a fold, where the solution ends
    and the node would snap, a run ends with a `SingularityError`.

    A zero parameter that alone would make forces depend on rates (a damping) stays zero permanently.

    Examples
    --------
    A muscle with an elastic tendon: the fibre, whose force depends on its velocity, and the tendon meet at a node.

    >>> import dalembert as da
    >>> fibre = da.HillMuscle(0.5, strength=1000.0, optimal_length=0.1)
    >>> law = {"k": 5e7, "l": 0.2}
    >>> tendon = da.Element("distance", "-k*max(0, s - l)**2", law, energy="k*max(0, s - l)**3/3")
    >>> muscle = da.Compound(
    ...     ("origin", "insertion"),
    ...     {"fibre": (fibre, "origin", "middle"), "tendon": (tendon, "middle", "insertion")},
    ...     nodes={"middle": ("line", 0.1)},
    ... )
    >>> sorted(muscle.states)
    ['fibre_a', 'middle']
    """

    def __init__(
        self,
        ends: Sequence[str],
        members: Mapping[str, tuple[ForceElement | Any, ...]],
        nodes: Mapping[str, tuple[str, Any]] | None = None,
        *,
        loads: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        starts: Mapping[str, float] | None = None,
    ) -> None:
        parts = CompoundProgram(
            tuple(ends), dict(members), dict(nodes or {}), dict(loads or {}), dict(parameters or {}), dict(starts or {})
        )
        measures = parts.measures()
        super().__init__(
            measures[0] if len(measures) == 1 else measures,
            [parts.result("force", k) for k in range(sum(3 if each == "place" else 6 for each in measures))],
            parts.all_parameters(),
            parts.states(),
            parts.result("energy", 0),
            active=any(member.element.active for member in parts.members.values()),
            inputs=parts.inputs(),
            signals=parts.signals(),
            unknowns=parts.unknowns(),
        )
        set_fields(self, _parts=parts)

    @property
    def turning_members(self) -> dict[str, Element]:
        """Members that measure an orientation."""
        parts: CompoundProgram = self._parts  # type: ignore[attr-defined]
        return {name: m.element for name, m in parts.members.items() if "pose" in m.element.each_measure}

    def turns_of(self, member: str, port: int, inputs: Array) -> Array:
        """Return the rotation vector (n, 3) that a member measures at a further end, for inputs and unknowns.

        Parameters
        ----------
        member : str
        port : int
            Index of the member's measure.
        inputs : (n, len(takes) + len(unknowns))
        """
        parts: CompoundProgram = self._parts  # type: ignore[attr-defined]
        program = Program((*self.input_names, *self.unknowns))
        places = {name: program.emit("input", k) for k, name in enumerate(program.inputs)}
        measures = parts.build(program, places)[f"measures of {member}"]
        each = parts.members[member].element.each_measure
        first = sum(len(MEASURES[measure][0]) for measure in each[:port])
        columns = extract_subprogram(program, measures[first + 3 : first + 6]).evaluate(list(inputs.T))
        return np.stack([np.broadcast_to(column, len(inputs)) for column in columns], axis=1)
