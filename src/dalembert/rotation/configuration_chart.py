"""Configuration charts: dot-and-line diagrams of a sequence of three angles.

Four columns of three dots represent the initial frame, two intermediate frames and the final frame; rows represent the
axes 1, 2, 3 (Passerello and Huston 1972, chapter I). A rotation lies between two columns: a level line in the row of
its axis, an inclined one between the other two rows, the angle below. Between neighbouring columns,

    dots of the same row        1 on the level line, else the cosine
    dots on the inclined line   the sine
    dots on no line             less the sine

are the direction cosines: the matrix of the rotation by inspection. The angular velocity is the sum over the level
lines of the rate of the angle times the unit vector of that row, which both columns share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked
from ..errors import ModelError
from .angle_sequences import sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Chart", "chart"]


# left and right dot of the inclined line of a rotation about each axis: it climbs for the first and the third
INCLINED = ((2, 1), (0, 2), (1, 0))
_WIDE = 7  # characters between two columns of the text


@dataclass(frozen=True)
class Chart:
    """Configuration chart of a sequence of angles; print it, or `plot` it.

    Attributes
    ----------
    convention : str
    axes : tuple of int, (3,)
        Rows of the level lines, from 0, from the initial to the final frame.
    angles : tuple of str, (3,)
        Names of the angles of these rotations.
    """

    convention: str
    axes: tuple[int, int, int]
    angles: tuple[str, str, str]

    def cosine(self, turn: int, left: int, right: int, angle: float) -> float:
        """Return the direction cosine of two dots of neighbouring columns, by the rules of the chart."""
        axis = self.axes[turn]
        if left == right:
            return 1.0 if left == axis else float(np.cos(angle))
        if axis in (left, right):
            return 0.0
        return float(np.sin(angle)) * (1.0 if (left, right) == INCLINED[axis] else -1.0)

    def matrix(self, angles: ArrayLike) -> Array:
        """Return the matrix (3, 3) of the sequence at angles (3,) rad, in the order of the rotations."""
        R = np.eye(3)
        for turn, angle in enumerate(np.asarray(angles, dtype=float)):
            R = R @ np.array([[self.cosine(turn, i, j, angle) for j in range(3)] for i in range(3)])
        return R

    @property
    def angular_velocity(self) -> str:
        """Angular velocity as text: rates times the unit vectors on level lines."""
        frames = ("k", "k'", "k''", "l")
        # the axis of a rotation is the same before and after it: named in the earlier frame, the last in the final one
        named = [frames[turn] if turn < 2 else frames[3] for turn in range(3)]
        parts = [f"{a}' n_{f}{axis + 1}" for a, f, axis in zip(self.angles, named, self.axes, strict=True)]
        return " + ".join(parts)

    def __str__(self) -> str:
        lines = [self._line(height) for height in range(5)]
        gap = " " * 3
        below = gap + " ".join(angle.center(_WIDE) for angle in self.angles)
        heads = "   k".ljust(3 + 3 * (_WIDE + 1)) + "l"
        return "\n".join(line.rstrip() for line in [heads, *lines, below, f"angular velocity: {self.angular_velocity}"])

    def _line(self, height: int) -> str:
        """Return a line of the text; rows of dots are at even heights."""
        row, even = divmod(height, 2)
        dot = " " if even else "●"
        text = f"{row + 1}  " if not even else "   "
        for axis in self.axes:
            text += dot + self._between(axis, height)
        return text + dot

    def _between(self, axis: int, height: int) -> str:
        left, right = INCLINED[axis]
        if height == 2 * axis:
            return "─" * _WIDE
        if min(left, right) * 2 < height < max(left, right) * 2:
            middle = (2 * left + 2 * right) / 2  # a line over two rows crosses the level one between them
            shift = round((height - middle) * (1 if right > left else -1) * 1.5)
            mark = "╲" if right > left else "╱"
            return (" " * (_WIDE // 2 + shift) + mark).ljust(_WIDE)
        return " " * _WIDE

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the chart and return the axes; needs matplotlib."""
        from ..view.plots.angle_charts import plot_chart

        return plot_chart(self, ax=ax, path=path)


@checked("angles")
def chart(convention: str = "XYZ", angles: tuple[str, str, str] = ("a", "b", "c")) -> Chart:
    """Return the configuration chart of a sequence of three angles.

    Parameters
    ----------
    convention : str
        As in `rotation.euler`: 24 sequences. Small letters rotate about fixed axes: the chart has them in reverse
        order.
    angles : (3,) str
        Names of the angles, in the order of the letters.

    Examples
    --------
    >>> print(chart("XYZ"))
       k                       l
    1  ●───────●       ●       ●
                 ╲         ╱
    2  ●       ●───────●       ●
           ╱         ╲
    3  ●       ●       ●───────●
          a       b       c
    angular velocity: a' n_k1 + b' n_k'2 + c' n_l3
    """
    axes, backwards = sequence(convention, item="chart")
    names = tuple(angles)
    if len(names) != 3 or not all(isinstance(name, str) and name for name in names):
        raise ModelError("chart", "angles", angles, "give three names")
    first, second, third = names[::-1] if backwards else names
    return Chart(convention, axes, (first, second, third))
