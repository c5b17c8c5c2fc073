"""Joint friction proportional to the normal load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import not_negative, positive, set_finite
from ...errors import ModelError

__all__ = ["LoadFriction"]


SQRT_FLOOR = "1e-300"  # under roots, so that vanishing loads have derivatives


@dataclass(frozen=True, eq=False)
class LoadFriction:
    """Coulomb friction of a joint: coefficient times the transmitted load.

    Parameters
    ----------
    coefficient : float
        mu.
    radius : float, m
        Friction radius of rotations: the effort is mu radius |F|; of the journal, the ball, or, for a planar joint, the
        contact patch. Not needed for translations: mu |F|.
    collar : float, m
        Mean radius of a thrust collar, at which the axial load causes friction too; for revolute and screw joints.
    half_length : float, m
        For a bearing that also carries moments across the axis: they press with M / half_length at its two ends.
    static_coefficient : float
        Breakaway coefficient, at least the coefficient, which is the default.

    F is the force on the second marker: across the axis for revolute, prismatic, cylindrical and screw joints, along
    the normal for a planar joint, all of it for a ball joint. M is the moment across the axis at the second marker.
    Friction and load depend on each other; both are solved together at every evaluation.

    Examples
    --------
    A block on an incline of 20 degrees sticks, because tan 20 degrees is less than 0.4:

    >>> import dalembert as da
    >>> s = da.System("incline", gravity=(9.81 * 0.34202, 0.0, -9.81 * 0.93969))
    >>> block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    >>> _ = s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(0.4)), s.ground, block)
    >>> result = da.simulate(s, 1.0)
    >>> float(result["guide.position"][-1])
    0.0
    """

    coefficient: float
    radius: float | None = None
    collar: float = 0.0
    half_length: float | None = None
    static_coefficient: float | None = None

    def __post_init__(self) -> None:
        for field in ("coefficient", "collar", "radius", "half_length", "static_coefficient"):
            value = getattr(self, field)
            if value is None:
                continue
            set_finite(self, field, item="LoadFriction")
            check = positive if field in ("radius", "half_length") else not_negative
            check("LoadFriction", **{field: getattr(self, field)})
        if self.static_coefficient is not None and self.static_coefficient < self.coefficient:
            remedy = f"it must not be less than the coefficient, {self.coefficient:.6g}"
            raise ModelError("LoadFriction", "static_coefficient", self.static_coefficient, remedy)

    @property
    def static(self) -> float:
        """Breakaway force or torque."""
        return self.coefficient if self.static_coefficient is None else self.static_coefficient

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of the effort formulas."""
        numbers = {"radius": self.radius, "collar": self.collar or None, "half_length": self.half_length}
        return {name: number for name, number in numbers.items() if number is not None}

    def effort(self, presses: str, frame: Any, *, turns: bool) -> str:
        """Return the effort per coefficient, N m or N, as a formula of loads Fx ... Mz and `parameters`.

        Parameters
        ----------
        presses : str
            Load component that causes friction: ``"across"`` the axis, ``"along"`` it, or ``"all"``.
        frame : (3, 3)
            Axes of the joint, the third along its axis, as columns in axes of the second marker.
        turns : bool
            True for the effort on a rotation, False on a translation.
        """
        axes = np.asarray(frame, dtype=float).T
        picked = {"across": axes[:2], "along": axes[2:], "all": np.eye(3)}[presses]
        pressed = _size("F", picked)
        if self.half_length is not None:
            pressed += f" + {_size('M', axes[:2])}/half_length"
        if not turns:
            return pressed
        effort = pressed if self.radius is None else f"radius*({pressed})"
        return f"{effort} + collar*{_size('F', axes[2:])}" if self.collar else effort


def _size(kind: str, directions: Array) -> str:
    """Return the norm of the components of a vector along orthogonal directions (n, 3)."""
    parts = [
        " + ".join(f"({n!r})*{kind}{axis}" for n, axis in zip(d, "xyz", strict=True) if n) for d in directions.tolist()
    ]
    if len(parts) == 1:
        return f"abs({parts[0]})"
    return "sqrt(" + " + ".join(f"({part})**2" for part in parts) + f" + {SQRT_FLOOR})"
