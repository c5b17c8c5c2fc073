"""Angles of an orientation as outputs: ``"main.bryant"``, ``"ball.euler_ZYX"``, with ``_rates`` and ``_accelerations``.

The orientation of a body or marker is relative to the world; that of a ball or free joint is that of its second marker
relative to its first. Capital letters denote rotated axes, small letters fixed axes, as in `dalembert.rotation`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, BoolArray
from ...errors import ModelError, SingularityError
from ...rotation.angle_sequences import euler_accelerations, euler_angles, euler_axes, euler_rates, sequence
from .motion import Motion
from .output import Output, Value

__all__ = ["ANGLES", "Attitudes", "angles_named", "angles_output", "is_angles"]


ANGLES = ("bryant", "euler")  # listed names; their rates are not determined everywhere
"""Suffixes in lists of outputs; ``euler_XYZ`` stands for 24 more sequences, each with rates and accelerations."""

_NAME = re.compile(r"^(?P<kind>bryant|euler)(?:_(?P<letters>[xyz]{3}|[XYZ]{3}))?(?:_(?P<level>rates|accelerations))?$")
REGULARIZATION = 0.05  # near the singularity of the angles, rates used only to count whole turns are kept finite


@dataclass(frozen=True, eq=False)
class Attitudes:
    """Orientation and its rates.

    Attributes
    ----------
    what : str
        Owner, for messages.
    rotations : function of a Motion
        (n, 3, 3).
    velocity, acceleration : function of a Motion
        Angular, (n, 3), rad/s and rad/s2.
    axes : str
        Axes of these two: ``"fixed"`` or ``"turned"``.
    """

    what: str
    rotations: Value
    velocity: Value
    acceleration: Value
    axes: str


def is_angles(quantity: str) -> bool:
    """Return whether a suffix denotes angles: ``bryant``, ``euler_ZXZ_rates``."""
    found = _NAME.match(quantity)
    return found is not None and not (found["kind"] == "bryant" and found["letters"])


def angles_named(quantity: str) -> tuple[str, str]:
    """Return the convention of a suffix of angles, and its level: ``""``, ``"rates"`` or ``"accelerations"``."""
    found = _NAME.match(quantity)
    assert found is not None
    return "XYZ" if found["kind"] == "bryant" else found["letters"] or "ZXZ", found["level"] or ""


def angles_output(attitudes: Attitudes, quantity: str, name: str) -> Output:
    """Return angles, their rates or their second rates as an output, (3,)."""
    convention, level = angles_named(quantity)
    try:
        axes, _ = sequence(convention)
    except ModelError:
        raise ModelError("output", "name", name, "no two letters alike in a row: 'euler_ZXZ', 'euler_XYZ'") from None
    turned = "turned axes" if convention.isupper() else "fixed axes"
    called = "Bryant angles" if quantity.startswith("bryant") else f"angles {convention}"
    meaning = f"{called} of {attitudes.what}, turns about {', '.join(convention.lower())}, {turned}"
    labels = ("1", "2", "3")

    def angles(m: Motion) -> Array:
        return euler_angles(attitudes.rotations(m), convention)

    def folded(m: Motion) -> BoolArray:
        second = angles(m)[:, 1]
        lost = np.abs(np.cos(second) if axes[0] != axes[2] else np.sin(second)) < 1e-7
        return np.column_stack([~lost, np.ones_like(lost), ~lost])

    def soft_rates(m: Motion) -> Array:
        w = euler_axes(angles(m), convention, axes=attitudes.axes)
        square = np.swapaxes(w, 1, 2) @ w + REGULARIZATION**2 * np.eye(3)
        return np.linalg.solve(square, np.einsum("nji,nj->ni", w, attitudes.velocity(m))[..., None])[..., 0]

    def rates(m: Motion) -> Array:
        return _named(m, name, lambda: euler_rates(angles(m), attitudes.velocity(m), convention, axes=attitudes.axes))

    def accelerations(m: Motion) -> Array:
        def second() -> Array:
            alpha = attitudes.acceleration(m)
            return euler_accelerations(
                angles(m), rates(m), acceleration=alpha, convention=convention, axes=attitudes.axes
            )

        return _named(m, name, second)

    if level == "rates":
        return Output(name, "rad/s", (3,), f"rates of the {meaning}", rates, labels=labels, needs="speed")
    if level == "accelerations":
        second = f"second rates of the {meaning}"
        return Output(name, "rad/s2", (3,), second, accelerations, labels=labels, needs="dynamics")
    return Output(
        name,
        "rad",
        (3,),
        meaning,
        angles,
        labels=labels,
        branch=("turn", "", "turn"),
        rate=soft_rates,
        start=np.zeros(3),
        determined=folded,
    )


def _named(m: Motion, name: str, rates: object) -> Array:
    """Return the result of a function; raise an error with output and time if it is not defined."""
    assert callable(rates)
    try:
        found: Array = rates()
    except SingularityError as error:
        when = f" between t = {m.t[0]:.6g} and {m.t[-1]:.6g} s" if len(m) > 1 else f" at t = {float(m.t[0]):.6g} s"
        raise SingularityError(f"output {name!r}{when}: {error}") from None
    return found
