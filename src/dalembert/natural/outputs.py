"""Outputs of motions in natural coordinates, by name.

Any point of a body is a combination of its coordinates with constant factors (see `bodies.point_matrix`), and so are
its velocity, acceleration and jerk.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..result import Output
from ..rotation import axial
from .bodies import NaturalBody, body_coordinates, point_matrix
from .equations import AXES, Coordinate

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .motion import NaturalMotion

__all__ = ["find_output", "output_names"]


_VECTOR = ("position", "velocity", "acceleration", "jerk")
_NUMBER = ("position", "speed", "acceleration", "jerk")
_TURN = ("angle", "angular_velocity", "angular_acceleration")
_UNITS = {"point": "m", "distance": "m", "angle": "rad", "vector": ""}
_AT = re.compile(r"^(?P<body>.+)\.at\((?P<numbers>[^()]*)\)$")


def output_names(mechanism: Mechanism) -> list[str]:
    """Return the names of all outputs, without components and points of bodies."""
    return [f"{owner}.{ending}" for owner, endings in _owners(mechanism) for ending in endings]


def find_output(motion: NaturalMotion, name: Any) -> Output:
    """Return the output of a name.

    Raises
    ------
    ModelError
        If there is none, with similar names.
    """
    if not isinstance(name, str):
        raise ModelError("motion", "output", name, "give a name such as '2.velocity'")
    found = _find(motion.mechanism, name)
    if found is None:
        base, _, ending = name.rpartition(".")
        whole = _find(motion.mechanism, base)
        if whole is not None and whole.labels and ending == "norm":
            return whole.norm(name)
        if whole is not None and ending in whole.labels:
            return whole.component(whole.labels.index(ending), name)
        near = difflib.get_close_matches(name, [*motion.mechanism.coordinates, *output_names(motion.mechanism)], n=3)
        remedy = f"did you mean {' or '.join(map(repr, near))}?" if near else "names() lists them"
        raise ModelError("motion", "output", name, remedy)
    return found


def _owners(m: Mechanism) -> Iterator[tuple[str, tuple[str, ...]]]:
    for c in m.coordinates.values():
        yield c.name, _VECTOR if len(c.value) > 1 else _NUMBER
    for body in m.bodies.values():
        if body.frame.complete:
            yield body.name, _TURN if m.dimension == 2 else _TURN[1:]
    for wheel in m.speed_rows:
        if hasattr(wheel, "contact"):
            yield str(getattr(wheel, "name", "")), ("contact",)


def _find(m: Mechanism, name: str) -> Output | None:
    for cut in (len(name), *(dot.start() for dot in reversed(list(re.finditer(r"\.", name))))):
        owner, ending = name[:cut], name[cut + 1 :]
        found = _of_coordinate(m, owner, ending, name) or _of_body(m, owner, ending, name)
        if found is not None:
            return found
    return None


def _of_coordinate(m: Mechanism, owner: str, ending: str, name: str) -> Output | None:
    c = m.coordinates.get(owner)
    if c is not None and len(c.value) > 1:
        if ending not in ("", *_VECTOR):
            return None
        order = _VECTOR.index(ending or "position")
        what = f"{_VECTOR[order]} of {c.kind} {owner!r}"
        return Output(
            name, _unit(c, order), (len(c.value),), what, _reader(owner, order), labels=tuple(AXES[: len(c.value)])
        )
    for each in [c] if c is not None else m.coordinates.values():
        if owner in each.names and ending in ("", *_NUMBER):
            order = _NUMBER.index(ending or "position")
            return Output(
                name, _unit(each, order), (), f"{_NUMBER[order]} of {each.kind} {owner!r}", _reader(owner, order)
            )
    return None


def _unit(c: Coordinate, order: int) -> str:
    unit = _UNITS[c.kind]
    return unit if not order else f"{unit or '1'}/s{order if order > 1 else ''}"


def _reader(name: str, order: int) -> Callable[[Any], Array]:
    return lambda motion: np.array(motion.rate(name, order))


def _of_body(m: Mechanism, owner: str, ending: str, name: str) -> Output | None:
    for wheel in m.speed_rows:
        contact: Any = getattr(wheel, "contact", None)
        if contact is not None and getattr(wheel, "name", None) == owner and ending == "contact":
            return _vector(name, "m", f"point of contact of {owner!r}", m, partial(_contacts, wheel=wheel))
    at = _AT.match(owner)
    body = m.bodies.get(at["body"] if at else owner)
    if body is None:
        return None
    if at is not None:
        if ending not in ("", *_VECTOR):
            return None
        order = _VECTOR.index(ending or "position")
        place = _numbers(at["numbers"], m.dimension, name)
        unit = "m" if not order else f"m/s{order if order > 1 else ''}"
        what = f"{_VECTOR[order]} of {owner!r}"
        return _vector(name, unit, what, m, lambda motion: _of_point(motion, body, place, order))
    if ending not in _TURN or not body.frame.complete or (ending == "angle" and m.dimension == 3):
        return None
    order = _TURN.index(ending)
    what = f"{_TURN[order].replace('_', ' ')} of body {owner!r}"
    unit = ("rad", "rad/s", "rad/s2")[order]
    if m.dimension == 2:
        return Output(name, unit, (), what, lambda motion: _turn_in_plane(motion, body, order))
    return _vector(name, unit, what, m, lambda motion: _turn_in_space(motion, body)[order - 1])


def _vector(name: str, unit: str, meaning: str, m: Mechanism, value: Callable[[Any], Array]) -> Output:
    return Output(name, unit, (m.dimension,), meaning, value, labels=tuple(AXES[: m.dimension]))


def _numbers(text: str, dimension: int, name: str) -> Array:
    try:
        numbers = [float(x) for x in text.split(",") if x.strip()]
    except ValueError:
        numbers = []
    if not 0 < len(numbers) <= dimension:
        remedy = f"write a point of a body as 'body.at({', '.join(AXES[:dimension])})', in m"
        raise ModelError("motion", "output", name, remedy)
    return np.array([*numbers, *[0.0] * (dimension - len(numbers))])


def _base(motion: NaturalMotion, body: NaturalBody) -> Array:
    """Return the base of a body and its rates, (4, k, dim, members)."""

    def member(parts: Any) -> Array:
        total = np.zeros((4, len(motion.t), motion.mechanism.dimension))
        for factor, tip, tail in parts:
            for order in range(4):
                way = motion.rate(tip, order) - (motion.rate(tail, order) if tail is not None else 0.0)
                total[order] += factor * way
        return total

    return np.stack([member(e.parts) for e in body.frame.base], axis=-1)


def _turn_in_plane(motion: Any, body: NaturalBody, order: int) -> Array:
    """Return angle, angular velocity or acceleration (k,); the angle is that of the body frame, and continuous."""
    e = _base(motion, body)[..., 0]
    square = np.sum(e[0] * e[0], axis=1)

    def across(a: Array, b: Array) -> Array:
        return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])

    if order == 2:
        return np.asarray(across(e[0], e[2]) / square)  # the length is constant
    w = across(e[0], e[1]) / square
    if order == 1:
        return np.asarray(w)
    c = body.frame.columns[:, 0]
    angle = np.arctan2(c[0] * e[0][:, 1] - c[1] * e[0][:, 0], e[0] @ c)
    for k in range(1, len(angle)):  # full turns by the angular velocities
        near = angle[k - 1] + (motion.t[k] - motion.t[k - 1]) * (w[k - 1] + w[k]) / 2
        angle[k] += 2 * np.pi * np.round((near - angle[k]) / (2 * np.pi))
    return np.asarray(angle)


def _turn_in_space(motion: NaturalMotion, body: NaturalBody) -> tuple[Array, Array]:
    """Return angular velocity and acceleration (k, 3) of a body with a complete base: E = R C, R' = W R."""
    inverse = np.linalg.inv(body.frame.columns)
    R, first, second, _ = _base(motion, body) @ inverse
    transposed = np.swapaxes(R, 1, 2)
    W = first @ transposed
    return axial(W), axial(second @ transposed - W @ W)


def _of_point(motion: NaturalMotion, body: NaturalBody, place: Array, order: int) -> Array:
    C = point_matrix(body, place)
    members = np.concatenate([motion.rate(name, order) for name in body_coordinates(body)], axis=1)
    return np.asarray(members @ C.T)


def _contacts(motion: Any, wheel: Any) -> Array:
    X = np.concatenate([motion.rate(name, 0).reshape(len(motion.t), -1) for name in wheel.coordinates], axis=1)
    return np.array([wheel.contact(row) for row in X])
