"""Fields of SDF elements: numbers, vectors, poses."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...rotation import axis_angle, quaternion
from ..xml_fields import numbers_in
from ..xml_files import line_of

__all__ = ["Pose", "flag", "inverse", "number", "numbers", "pose_of", "times", "words"]

Pose = tuple[Array, Array]
"""Rotation (3, 3) and position (3,) m of a frame in another."""


def words(element: Element, path: str, default: str = "") -> str:
    """Return the text of a child element, stripped."""
    found = element.find(path)
    return default if found is None or found.text is None else found.text.strip()


def flag(element: Element, path: str) -> bool:
    """Return whether a child element is true; false if it is missing."""
    return words(element, path).lower() in ("true", "1")


def numbers(element: Element, path: str, default: tuple[float, ...], *, item: str) -> tuple[float, ...]:
    """Return the numbers of a child element: as many as the default has, including infinite ones."""
    found = element.find(path)
    if found is None or not (found.text or "").strip():
        return default
    text = str(found.text)
    return numbers_in(text, len(default), item=item, field=path, where=line_of(found), infinite=True)


def number(element: Element, path: str, default: float, *, item: str) -> float:
    """Return the number of a child element."""
    return numbers(element, path, (default,), item=item)[0]


def pose_of(element: Element, *, item: str) -> Pose:
    """Return the <pose> of an element: x y z roll pitch yaw, or x y z and a quaternion."""
    found = element.find("pose")
    text = "" if found is None else (found.text or "").strip()
    if found is None or not text:
        return np.eye(3), np.zeros(3)
    where = line_of(found)
    form = found.get("rotation_format", "euler_rpy")
    if form == "quat_xyzw":
        x, y, z, *vector, scalar = numbers_in(text, 7, item=item, field="pose", where=where)
        return quaternion(scalar, *vector), np.array([x, y, z])
    if form != "euler_rpy":
        raise ModelError(item, "pose rotation_format", form, f"use euler_rpy or quat_xyzw{where}")
    x, y, z, roll, pitch, yaw = numbers_in(text, 6, item=item, field="pose", where=where)
    if found.get("degrees", "false").lower() in ("true", "1"):
        roll, pitch, yaw = map(math.radians, (roll, pitch, yaw))
    return axis_angle("z", yaw) @ axis_angle("y", pitch) @ axis_angle("x", roll), np.array([x, y, z])


def times(first: Pose, second: Pose) -> Pose:
    """Return the pose of a frame whose pose in another frame is known."""
    return first[0] @ second[0], first[1] + first[0] @ second[1]


def inverse(pose: Pose) -> Pose:
    """Return the pose of the outer frame in the inner."""
    return pose[0].T, -pose[0].T @ pose[1]
