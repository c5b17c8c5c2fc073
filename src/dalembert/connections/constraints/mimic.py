"""Mimic rules of joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...checks import set_finite
from ...errors import ModelError

__all__ = ["Mimic"]


@dataclass(frozen=True)
class Mimic:
    """Joint coordinate as a linear function of another one: q = multiplier * q_joint + offset.

    Stored in ``System.mimics`` under the name of the following joint, as read from a model file or set by a user:
    ``s.mimics["thumb"] = da.Mimic("finger", -1.5)``. A compiled model contains it as a coupling of the two coordinates,
    ``"follower.mimic"``; all kernels, inverse dynamics and derivatives included, work with it, and ``model.reduced``
    has them without the coordinates of followers. Delete it from ``System.mimics`` before compiling to let the joint
    move freely.

    Attributes
    ----------
    joint : str
        Name of the leading joint.
    multiplier : float
        Follower per leader, in units of their coordinates (rad or m).
    offset : float, rad or m
        Follower's coordinate at zero of the leader's.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0
    rows: ClassVar[tuple[str, ...]] = ("ratio",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str) or not self.joint.strip():
            raise ModelError("Mimic", "joint", self.joint, "give the name of the joint to follow")
        set_finite(self, "multiplier", "offset", item=f"mimic of {self.joint!r}")

    @property
    def ratio(self) -> float:
        """Multiplier, under the name that couplings use."""
        return self.multiplier

    @property
    def kind(self) -> str:
        """Name of the element type."""
        return "Mimic"
