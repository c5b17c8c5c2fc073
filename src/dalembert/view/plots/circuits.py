"""Plot of circuits: an output over the input, with dead points and bifurcations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...result import Output
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...motion import Circuit, Circuits

__all__ = ["plot_circuits"]


_WIDTH, _HEIGHT = 6.4, 3.8  # inches


def plot_circuits(found: Circuits, output: str | None = None, *, ax: Any = None, path: Any = None) -> Axes:
    """Plot an output over the input of circuits, and return the axes.

    Parameters
    ----------
    found : Circuits
    output : str
        A coordinate, or any output of a `Result` that is a number, such as ``"coupler.P.position.x"``; the last
        coordinate that moves if left out. Angles are drawn in degrees, within half a turn.
    ax : matplotlib axes
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    """
    if output is None:
        others = [name for name in found[0].coordinates if name != found.input]
        output = others[-1] if others else found.input
    with style.panel(ax, path, _WIDTH, _HEIGHT) as axes:
        for number, circuit in enumerate(found):
            color = style.PALETTE[number % len(style.PALETTE)]
            _draw(axes, circuit, output, color, f"circuit {number}")
        for label, marker, hollow in (
            (f"dead point of {found.input}", "o", False),
            (f"dead point of {output}", "o", True),
            ("bifurcation", "D", False),
        ):
            spots = [spot for circuit in found for spot in _spots(circuit, output, label)]
            if spots:
                x, y = np.array(spots).T
                face = style.PAPER if hollow else style.INK
                axes.plot(
                    x,
                    y,
                    marker,
                    color=style.INK,
                    markerfacecolor=face,
                    markersize=4.5,
                    label=label,
                    zorder=4,
                    clip_on=False,
                )
        for name, setter, ticks in ((found.input, axes.set_xlabel, axes.xaxis), (output, axes.set_ylabel, axes.yaxis)):
            unit = _unit(found[0], name)
            setter(f"{name} [{unit}]" if unit else name)
            if unit == "°":
                low, high = ticks.get_view_interval()
                low, high = (max(low, -180.0), min(high, 180.0)) if high - low > 300 else (low, high)
                (axes.set_xlim if ticks is axes.xaxis else axes.set_ylim)(low, high)
                if high - low > 150:
                    ticks.set_major_locator(style.matplotlib().ticker.MultipleLocator(90 if high - low > 400 else 45))
        style.add_grid(axes)
        style.legend_beside(axes)
    return axes


def _unit(circuit: Circuit, name: str) -> str:
    if name in circuit.coordinates:
        unit = circuit.coordinates[name]
    elif circuit.paths and circuit.has_result:
        model = circuit.result(0).model
        assert model is not None
        unit = Output.of(model, name).unit
    else:
        unit = ""
    return "°" if unit == "rad" else unit


def _values(circuit: Circuit, name: str, path: int) -> tuple[Array, bool]:
    """Return an output along a path, and whether it is an angle."""
    if name in circuit.coordinates:
        return circuit.values(name, path), circuit.coordinates[name] == "rad"
    values = np.asarray(circuit.result(path)[name], dtype=float)
    if values.ndim != 1:
        raise ModelError("plot", "output", name, "it has several components: name one of them")
    return values, _unit(circuit, name) == "°"


def _draw(axes: Any, circuit: Circuit, output: str, color: str, label: str) -> None:
    for number in range(len(circuit.paths)):
        columns, breaks = [], np.zeros(len(circuit.paths[number]) - 1, dtype=bool)
        for name in (circuit.input, output):
            values, turns = _values(circuit, name, number)
            if turns:
                values = np.degrees(values)
                leaf = np.floor((values + 180.0) / 360.0)
                breaks |= np.diff(leaf) != 0
            columns.append((values, turns))
        # a line ends at one edge of the plot and continues at the opposite one
        pieces = np.split(np.arange(len(columns[0][0])), np.flatnonzero(breaks) + 1)
        for piece in pieces:
            joined = np.append(piece, piece[-1] + 1) if piece[-1] + 1 < len(columns[0][0]) else piece
            ends = np.insert(joined, 0, joined[0] - 1) if joined[0] > 0 else joined
            middle = piece[len(piece) // 2]
            x, y = (
                values[ends] - 360.0 * np.floor((values[middle] + 180.0) / 360.0) if turns else values[ends]
                for values, turns in columns
            )
            axes.plot(x, y, color=color, label=label)
            label = "_nolegend_"


def _spots(circuit: Circuit, output: str, label: str) -> list[tuple[float, float]]:
    """Return special points of a circuit, in the units of the plot."""
    if label == "bifurcation":
        places = [b.q for b in circuit.bifurcations]
    else:
        name = label.removeprefix("dead point of ")
        places = [p.q for p in circuit.dead_points.get(name, ())]
    if output not in circuit.coordinates:
        return []
    spots = []
    for q in places:
        x, y = (circuit.value(name, q) for name in (circuit.input, output))
        spots.append(
            (
                np.degrees(x) if circuit.coordinates[circuit.input] == "rad" else x,
                np.degrees(y) if circuit.coordinates[output] == "rad" else y,
            )
        )
    return spots
