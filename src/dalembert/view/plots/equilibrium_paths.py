"""Plot of equilibrium paths: stable parts solid, unstable parts dashed; limit points and bifurcations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...errors import ModelError
from ...result import Output
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...statics import EquilibriumPath

__all__ = ["plot_path"]


_WIDTH, _HEIGHT = 6.0, 3.8  # inches


def plot_path(found: EquilibriumPath, output: str | None = None, *, ax: Any = None, path: Any = None) -> Axes:
    """Plot the path parameter over an output of the equilibria, and return the axes.

    Parameters
    ----------
    found : EquilibriumPath
    output : str
        ``"tip.position.z"``; the coordinate that moves most if left out. Angles are drawn in degrees.
    ax : matplotlib axes
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    """
    everything = [found, *found.branches]
    output = output or _widest(everything)
    unit = Output.of(found.model, output).unit
    with style.panel(ax, path, _WIDTH, _HEIGHT) as axes:
        for number, one in enumerate(everything):
            _draw(axes, one, output, style.PALETTE[min(number, 1)], unit, "branch" if number else "path")
        for kind, marker in (("limit", "o"), ("bifurcation", "D")):
            spots = [
                (_at(found, output, p.state, unit), p.value)
                for one in everything
                for p in one.special
                if p.kind == kind
            ]
            if spots:
                x, y = np.array(spots).T
                label = "limit point" if kind == "limit" else kind
                axes.plot(x, y, marker, color=style.INK, markersize=4.5, label=label, zorder=4, clip_on=False)
        axes.set_xlabel(f"{output} [{'°' if unit == 'rad' else unit}]" if unit else output)
        axes.set_ylabel(found.name)
        style.add_grid(axes)
        style.legend_beside(axes)
    return axes


def _widest(everything: list[EquilibriumPath]) -> str:
    """Return the coordinate that moves most along all paths, as an output."""
    model = everything[0].model
    q = np.vstack([one.q for one in everything])
    name = model.coordinate_names[int(np.ptp(q, axis=0).argmax())]
    return f"{name}.position" if name in model.joint_names else name


def _values(found: EquilibriumPath, output: str, unit: str) -> Array:
    values = np.asarray(found[output], dtype=float)
    if values.ndim != 1:
        raise ModelError("plot", "output", output, "it has several components: name one of them")
    return np.degrees(values) if unit == "rad" else values


def _at(found: EquilibriumPath, output: str, state: Any, unit: str) -> float:
    value = float(Output.of(found.model, output).evaluate(found.model, found.t, state.q, state.v, state.x))
    return float(np.degrees(value)) if unit == "rad" else value


def _draw(axes: Any, found: EquilibriumPath, output: str, color: str, unit: str, label: str) -> None:
    """Draw one path; a segment is stable if both its ends are."""
    x, y = _values(found, output, unit), found.values
    known = axes.get_legend_handles_labels()[1]
    both = found.stable[:-1] & found.stable[1:]
    for stable, line in ((True, "-"), (False, "--")):
        name = f"{label}, {'stable' if stable else 'unstable'}"
        for piece in _runs(both == stable):
            shown = slice(piece[0], piece[-1] + 2)
            axes.plot(x[shown], y[shown], line, color=color, label="_nolegend_" if name in known else name)
            known.append(name)


def _runs(marks: BoolArray) -> list[IndexArray]:
    """Return the indices of each run of True."""
    places = np.flatnonzero(marks)
    return [run for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(run)]
