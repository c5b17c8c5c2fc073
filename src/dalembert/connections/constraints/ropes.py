"""Ropes: a distance constraint while taut, no force while slack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ...checks import finite_number, set_fields
from ...errors import ModelError
from ...parameters import keep_expression
from .geometric import Constraint

__all__ = ["Rope"]


@dataclass(frozen=True, eq=False)
class Rope(Constraint):
    """Limit the distance of the marker origins to a length: a massless rope, or a chain of links.

    Parameters
    ----------
    length : float, m
    restitution : float
        Coefficient of restitution when it is pulled taut, 0 to 1.
    pushes : bool
        Minimum instead of maximum distance: the markers come no nearer than the length.

    A slack rope exerts no force. It is pulled taut with an impulse, together with all other stops that are reached. It
    acts as a rigid bar while in tension, and goes slack when it would push. Options of `simulate` for stops
    (``stops="off"``) apply to ropes too. `equilibrium` includes taut ropes; linearized equations are those of a slack
    one.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("swing")
    >>> bob = s.body("bob", da.sphere(0.05, mass=1.0))
    >>> _ = s.connect("rope", da.Rope(1.0), s.ground, bob)
    >>> _ = s.place("bob", position=(0.9, 0.0, 0.0))
    >>> result = da.simulate(s, 1.0)
    >>> bool(result["rope.distance"].max() < 1.0 + 1e-7), result.events[0].name
    (True, 'rope reaches its upper limit 1 m with 1.27472 m/s')
    """

    length: float = 1.0
    restitution: float = 0.0
    pushes: bool = False
    rows: ClassVar[tuple[str, ...]] = ()
    holonomic: ClassVar[tuple[bool, ...]] = ()
    kernel: ClassVar[str] = "rope"
    length_field: ClassVar[str] = "length"
    hold_row_names: ClassVar[tuple[str, ...]] = ("hold_distance",)

    def __post_init__(self) -> None:
        super().__post_init__()
        part = finite_number(keep_expression(self, "restitution"), item=self.kind, field="restitution")
        if not 0.0 <= part <= 1.0:
            raise ModelError(
                self.kind, "restitution", part, "it is a coefficient of restitution: use a number from 0 to 1"
            )
        set_fields(self, restitution=part)

    @property
    def lower(self) -> float:
        """Least distance, m."""
        return self.length if self.pushes else -math.inf

    @property
    def upper(self) -> float:
        """Largest distance, m."""
        return math.inf if self.pushes else self.length
