"""Rows of the core for bodies and tree joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, IndexArray
from ..errors import ModelError
from ..system.topology import Forest, TreeJoint
from .body_layout import BodySlot
from .frames import FrameMap
from .names import Names
from .program_tables import ConnectionProgramTables
from .schema import Rows, number, table

__all__ = ["flatten_bodies", "joint_markers"]


_LOWER = [0, 1, 2, 4, 5, 8]  # of a symmetric 3 x 3: xx xy xz yy yz zz


def flatten_bodies(
    forest: Forest, frames: FrameMap, joints: ConnectionProgramTables, names: Names
) -> dict[str, NDArray[Any]]:
    """Return the tables of bodies, of second markers, and of armatures."""
    places = frames.layout
    own = _inertias(forest, frames)
    rows = table("bodies", len(places.rows))
    user = np.array([place.user for place in places.rows], dtype=int)
    rigid = np.array([place.kind == "rigid" for place in places.rows], dtype=bool)
    jointed = np.flatnonzero(rigid | np.array([place.kind == "carrier" for place in places.rows], dtype=bool))
    rows["parent"], rows["owner"] = [place.parent for place in places.rows], user
    k = user[jointed]
    rows["joint"][jointed] = k
    rows["R_PJ"][jointed], rows["p_PJ"][jointed] = frames.R_PJ[k - 1].reshape(-1, 9), frames.p_PJ[k - 1]
    rows["R_FB"][jointed], rows["p_FB"][jointed] = frames.R_FB[k].reshape(-1, 9), frames.p_FB[k]
    _set_joints(rows, jointed, [forest.joints[number - 1] for number in k.tolist()], joints)
    k = user[rigid]
    rows["user"][rigid] = k
    rows["mass"][rigid], rows["h"][rigid], rows["J"][rigid] = own[0][k - 1], own[1][k - 1], own[2][k - 1]
    for row, place in zip(rows, places.rows, strict=True):
        if place.kind not in ("rigid", "carrier"):
            _set_flexible(row, place, forest, frames)
    return {"bodies": rows, "markers": joint_markers(forest, frames), "armature": _armatures(forest, names)}


def _set_joints(
    rows: NDArray[Any], places: IndexArray, tree: Sequence[TreeJoint], joints: ConnectionProgramTables
) -> None:
    """Set the joints of the rows at some places."""
    rows["reversed"][places] = [joint.reversed for joint in tree]
    rows["pitch"][places] = [joint.element.parameter for joint in tree]
    kinds = _core.joints
    for place, joint in zip(places.tolist(), tree, strict=True):
        element = joint.element
        if element.kernel:
            rows["kind"][place] = kinds[element.kernel, joint.reversed]
            continue
        row = rows[place]
        row["form"], row["nv"] = number("joint_form", "custom"), element.nv
        row["program"] = joints.of_joint(joint.name, element, reversed=joint.reversed)


def _set_flexible(row: Any, place: BodySlot, forest: Forest, frames: FrameMap) -> None:
    """Fill the row of a modal body or a node; both are parallel to the user's frame at rest."""
    k = place.user
    row["form"] = number("joint_form", place.kind)
    row["modal"], row["shape"], row["moves"] = frames.layout.modal[k], place.shape, not place.clamped
    row["R_PJ"] = row["R_FB"] = np.eye(3).ravel()
    if place.kind == "node":
        return
    # the node at the joint, in F of the carrier
    row["R_PJ"] = frames.R_FB[k].ravel()
    row["p_PJ"] = frames.R_FB[k] @ forest.joints[k - 1].outboard.foot + frames.p_FB[k]
    row["user"], row["mass"] = k, forest.system.bodies[forest.bodies[k]].mass


def _inertias(forest: Forest, frames: FrameMap) -> tuple[Array, Array, Array]:
    """Return mass (nb,), first moment (nb, 3) and inertia (nb, 6) of the bodies about the origins of their F."""
    bodies = [forest.system.bodies[name] for name in forest.bodies[1:]]
    mass = np.array([body.mass for body in bodies])
    R, p = frames.R_FB[1:], frames.p_FB[1:]
    c = np.einsum("nij,nj->ni", R, np.array([body.com for body in bodies])) + p
    # R I R^T + m (c.c 1 - c c^T)
    J = R @ np.array([body.inertia for body in bodies]) @ R.transpose(0, 2, 1)
    J += mass[:, None, None] * ((c * c).sum(1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
    h, J = mass[:, None] * c, J.reshape(-1, 9)[:, _LOWER]
    whole = np.column_stack([mass, h, J, frames.p_PJ, p])
    if not np.isfinite(whole).all():
        row = int(np.argwhere(~np.isfinite(whole))[0, 0])
        remedy = "lengths and masses must stay finite when multiplied"
        raise ModelError(f"body {forest.bodies[row + 1]!r}", "data", "too large", remedy)
    return mass, h, J


def joint_markers(forest: Forest, frames: FrameMap) -> NDArray[Any]:
    """Return the table of second markers of the joints."""
    rows = Rows("markers")
    for k, joint in enumerate(forest.joints, start=1):
        body, R, p = frames.place(joint.inboard if joint.reversed else joint.outboard)
        place = frames.layout.carrier[k]
        # joint loads are reported at the end of the joint, the origin of its frame F
        rows.add(R_FM=R, p_FM=p, place=place, body=body, outboard=not joint.reversed)
    return rows.array()


def _armatures(forest: Forest, names: Names) -> Array:
    """Return the armatures (nv,), or an empty array if there are none."""
    armature = np.zeros(len(names.speeds))
    for joint in forest.joints:
        if joint.element.armature is not None:
            armature[names.v[joint.name]] = joint.element.armature
    return armature if armature.any() else np.zeros(0)
