"""Start values of members of a compound whose measures are states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...rotation import from_rotation_vector, rotation_vectors
from .compound_members import Member, MemberEnd
from .signals import MEASURES

__all__ = ["measured_at_start"]

Array = NDArray[np.float64]


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
