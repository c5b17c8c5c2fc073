"""Plots of outputs over time, with their units on the axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...checks import shape_of
from ...errors import DalembertError, ModelError
from ...result import Labels, Output, Result
from ...result.outputs.output import part_name, without_unit
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot", "plot_energy", "plot_runs"]


_WIDTH, _PANEL = 6.4, 2.3  # inches
N_FINE = 600  # times at which a curve with dense output is drawn
MAX_SINGLE_RUNS = 20  # runs of an ensemble that are drawn separately
_QUANTITIES = {"rad": "angle", "m": "displacement", "1": "quaternion"}
N_SAMPLED = 12  # times at which it is checked whether the motion determines loads
_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))


@dataclass
class _Curve:
    """Curve: name, unit, quantity, and values (n,), or (B, n) for many runs."""

    label: str
    unit: str
    quantity: str
    values: Array

    def to_degrees(self) -> None:
        """Convert angles and their rates to degrees."""
        if self.unit in ("rad", "rad/s", "rad/s2"):
            self.unit, self.values = self.unit.replace("rad", "deg"), np.degrees(self.values)


def plot(
    result: Result,
    *names: Any,
    against: Any = None,
    degrees: bool = False,
    ax: Any = None,
    path: Any = None,
) -> list[Axes]:
    """Plot outputs over time or against another output, and return the axes; see `Result.plot`.

    Where a result has dense output, curves are drawn through more times than it stores.

    Raises
    ------
    ModelError
        If an output cannot be plotted, a panel would have more than two units, or `ax` is given for several panels.
    """
    style.matplotlib()
    fine = _refined(result)
    grouped = any(isinstance(name, (tuple, list)) for name in names)
    given = [list(name) if isinstance(name, (tuple, list)) else [name] for name in names]
    groups = [[c for name in group for c in _curves(fine, name)] for group in given] if names else [_coordinates(fine)]
    if not all(groups):
        raise ModelError("plot", "names", names, "a panel needs at least one output")
    across = None if against is None else _across(fine, against)
    if degrees:
        for curve in (*(c for group in groups for c in group), *([across] if across else [])):
            curve.to_degrees()
    if not grouped:
        groups = _by_unit([curve for group in groups for curve in group])
    if across is None:
        return _drawn(fine.t, groups, ax, path, _draw_line, result.axis.label)
    below = f"{across.label} [{across.unit}]" if across.unit else across.label
    return _drawn(across.values, groups, ax, path, _draw_line, below)


def _across(result: Result, what: Any) -> _Curve:
    """Return the curve of a scalar output or component for the horizontal axis."""
    found = _curves(result, what)
    if len(found) != 1:
        names = ", ".join(curve.label for curve in found[:6])
        raise ModelError("plot", "against", what, f"it has {len(found)} components; name one number: {names}")
    return found[0]


def _by_unit(curves: list[_Curve]) -> list[list[_Curve]]:
    """Return curves grouped by unit."""
    units = dict.fromkeys(curve.unit for curve in curves)
    return [[curve for curve in curves if curve.unit == unit] for unit in units]


def _draw_line(panel: Any, t: Array, curve: _Curve, look: dict[str, Any]) -> None:
    panel.plot(t, curve.values, label=curve.label, **look)


def _drawn(
    t: Array,
    groups: list[list[_Curve]],
    ax: Any,
    path: Any,
    draw: Callable[[Any, Array, _Curve, dict[str, Any]], None],
    below: str = "t [s]",
) -> list[Axes]:
    """Draw curves over t (n,), one panel for each group of them, and return the axes."""
    with style.styled():
        if ax is None:
            panels = _panels(len(groups), path)
        elif len(groups) == 1:
            panels = [style.axes_for(ax, path, _WIDTH, _PANEL)]
        else:
            units = ", ".join(dict.fromkeys(curve.unit for group in groups for curve in group))
            raise ModelError("plot", "ax", ax, f"these outputs need {len(groups)} panels ({units}): leave it out")
        for panel, together in zip(panels, groups, strict=True):
            _fill(panel, t, together, draw)
        panels[-1].set_xlabel(below)
        if path is not None:
            style.save(panels[0].figure, path)
    return panels


def _fill(
    panel: Any, t: Array, together: list[_Curve], draw: Callable[[Any, Array, _Curve, dict[str, Any]], None]
) -> None:
    """Draw the curves of a panel; a second unit has its axis on the right."""
    halves = _by_unit(together)
    if len(halves) > 2:
        units = ", ".join(half[0].unit or "none" for half in halves)
        raise ModelError("plot", "names", [c.label for c in together], f"a panel has room for two units, not {units}")
    number = 0
    for k, half in enumerate(halves):
        side = panel if k == 0 else panel.twinx()
        for curve in half:
            draw(side, t, curve, _line(number))
            number += 1
        quantities = list(dict.fromkeys(c.quantity for c in half))
        alone = len(half) == 1 and len(half[0].label) < 24
        title = half[0].label if alone else quantities[0] if len(quantities) == 1 else ""
        _finish(side, title, half[0].unit, legend=not alone and k == 0 and len(halves) == 1)
        if k == 1:
            side.spines["right"].set_visible(True)
            side.grid(False)
    if len(halves) == 2:
        lines, labels = panel.get_legend_handles_labels()
        more, further = side.get_legend_handles_labels()
        side.legend(lines + more, labels + further, loc="upper left", bbox_to_anchor=(1.12, 1.02), borderaxespad=0.0)


def plot_runs(ensemble: Any, *names: str, show: str = "auto", ax: Any = None, path: Any = None) -> list[Axes]:
    """Plot outputs of all runs of an ensemble over time, one panel for each unit, and return the axes.

    Parameters
    ----------
    ensemble : Ensemble
    names : str
        Outputs; the coordinates of the trees if left out.
    show : str
        ``"runs"``: a thin line for each. ``"bands"``: the median, and bands from 5 to 95 % and from least to largest of
        the runs that got so far. ``"auto"``: lines of up to 20 runs, bands of more.
    ax : matplotlib axes
        Where to draw; outputs of several units need a new figure.
    path : str or Path
        File to write.

    Raises
    ------
    ModelError
        If an output cannot be plotted, or `ax` is given for outputs of several units.
    """
    style.matplotlib()
    if show not in ("auto", "runs", "bands"):
        raise ModelError("plot", "show", show, "use 'runs', 'bands' or 'auto'")
    bands = show == "bands" or (show == "auto" and len(ensemble) > MAX_SINGLE_RUNS)
    if names:
        curves = [c for name in names for c in _components(name, ensemble[name], 2, ensemble.find_output(name))]
    else:
        curves = _tree_coordinates(ensemble.labels, ensemble.q)
    return _drawn(ensemble.t, _by_unit(curves), ax, path, _draw_bands if bands else _draw_runs)


def _draw_runs(panel: Any, t: Array, curve: _Curve, look: dict[str, Any]) -> None:
    thin = {"linewidth": 0.8, "alpha": max(0.15, min(0.8, 8.0 / len(curve.values)))}
    panel.plot(t, curve.values.T, **look, **thin)
    panel.plot([], [], label=curve.label, **look)  # legend entry without transparency


def _draw_bands(panel: Any, t: Array, curve: _Curve, look: dict[str, Any]) -> None:
    there = np.isfinite(curve.values).any(axis=0)
    least, low, middle, high, most = np.nanquantile(curve.values[:, there], (0.0, 0.05, 0.5, 0.95, 1.0), axis=0)
    for below, above, strength in ((least, most, 0.12), (low, high, 0.25)):
        panel.fill_between(t[there], below, above, color=look["color"], alpha=strength, linewidth=0.0)
    panel.plot(t[there], middle, label=curve.label, **look)


def plot_energy(result: Result, *, ax: Any = None, path: Any = None) -> list[Axes]:
    """Plot kinetic, potential and total energy, input and losses, and below them the energy balance.

    The balance is total energy less its start value, less the work put in, plus what was dissipated: zero but for the
    errors of the method. It is drawn on an axis of its own.

    Parameters
    ----------
    result : Result
        One that was read from a file without its model needs these outputs stored.
    ax : (2,) matplotlib axes
        Where to draw energies and balance.
    path : str or Path
        File to write.

    Returns
    -------
    list of two matplotlib axes
    """
    style.matplotlib()
    fine = _refined(result)
    energy = {name: np.asarray(fine[f"energy.{name}"]) for name in ("kinetic", "potential", "total")}
    for name in ("work", "dissipated"):
        values = _optional(fine, f"energy.{name}")
        if values is not None and values.any():
            energy[name] = values
    balance = np.asarray(result["energy.balance"])
    with style.styled():
        if ax is None:
            panels = _panels(2, path, ratios=(2.4, 1.0))
        elif shape_of(ax) == (2,):
            panels = [style.axes_for(a, path, _WIDTH, _PANEL) for a in ax]
        else:
            raise ModelError("plot_energy", "ax", ax, "give two axes: for the energies and for their balance")
        for k, (name, values) in enumerate(energy.items()):
            options = {"color": style.INK, "linewidth": 1.6} if name == "total" else _line(k - (k > 2))
            panels[0].plot(fine.t, values, label=name, **options)
        _finish(panels[0], "energy", "J")
        panels[1].plot(result.t, balance, color=style.PALETTE[1], linewidth=0.9, label="balance")
        panels[1].axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
        _finish(panels[1], "balance", "J", legend=False)
        panels[1].set_xlabel(result.axis.label)
        if path is not None:
            style.save(panels[0].figure, path)
    return panels


def _panels(count: int, path: Any, ratios: tuple[float, ...] | None = None) -> list[Axes]:
    """Return axes above each other with a common time axis."""
    height = _PANEL * (count if ratios is None else sum(ratios) / 2 * 1.1) + 0.5
    picture = style.figure(_WIDTH, height, shown=path is None)
    picture.set_layout_engine("constrained")
    panels = picture.subplots(count, 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    picture.align_ylabels(panels)
    return list(panels)


def _line(k: int) -> dict[str, Any]:
    """Return colour and dashes of the k-th line, different for each k."""
    return {
        "color": style.PALETTE[k % len(style.PALETTE)],
        "linestyle": _DASHES[k // len(style.PALETTE) % len(_DASHES)],
    }


def _finish(panel: Any, quantity: str, unit: str, *, legend: bool = True) -> None:
    bracket = f"[{unit}]" if unit else ""
    panel.set_ylabel(" ".join(part for part in (quantity, bracket) if part))
    panel.grid(True)
    panel.set_axisbelow(True)
    panel.margins(x=0)
    panel.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)
    if legend:
        rows = len(panel.get_legend_handles_labels()[0])
        panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0, ncols=1 + rows // 14)


def _quantity(name: str) -> str:
    """Return the quantity of an output: ``"force"`` of ``"B.force in crank [lbf]"``."""
    plain = without_unit(name).partition(" in ")[0]
    return plain.rpartition(".")[2] if "." in plain else ""


def _curves(result: Result, what: Any) -> list[_Curve]:
    """Return the curves of one output: itself, or its components."""
    name = getattr(what, "__name__", "output") if callable(what) else what
    curves = _components(name, result.output(what) if callable(what) else result[what], 1, result.find_output(what))
    for curve, addition in zip(curves, _shared(result, what, len(curves)), strict=True):
        curve.label += addition
    return curves


def _shared(result: Result, what: Any, count: int) -> list[str]:
    """Return additions to the labels of components that the motion does not determine, at a few times."""
    if result.model is None or callable(what) or Output.of(result.model, what).determined is None:
        return [""] * count
    rows = np.unique(np.linspace(0, len(result) - 1, N_SAMPLED).astype(int))
    few = Result(
        result.model, *(part[rows] for part in (result.t, result.q, result.v, result.x)), conditions=result.conditions
    )
    unique = few.is_determined(what).reshape(len(rows), -1)
    return ["" if unique[:, k].all() else " (not unique)" for k in range(count)]


def _components(name: str, values: Any, lead: int, about: Output | None) -> list[_Curve]:
    """Return the components of an output as curves; its first `lead` axes are those of a scalar."""
    array = np.asarray(values, dtype=np.float64)
    shape, flat = array.shape[lead:], array.reshape(*array.shape[:lead], -1)
    count = flat.shape[-1]
    units = [] if about is None else [unit.strip() for unit in about.unit.split(",")]
    units = units if len(units) == count else ["" if about is None else about.unit] * count
    labels = () if about is None else about.labels
    if len(labels) != count:
        labels = tuple("xyz") if shape == (3,) else tuple(",".join(str(i + 1) for i in k) for k in np.ndindex(*shape))
    names = [part_name(name, label) for label in labels] if shape else [name]
    return [_Curve(without_unit(names[k]), units[k], _quantity(name), flat[..., k]) for k in range(count)]


def _coordinates(result: Result) -> list[_Curve]:
    """Return the curves of all joint coordinates."""
    curves = _tree_coordinates(result.labels, result.q)
    for name in result.cut_joints if result.model is not None else ():
        for curve in _curves(result, f"{name}.position"):
            curve.label, curve.quantity = curve.label.replace(".position", ""), _QUANTITIES[curve.unit]
            curves.append(curve)
    return curves


def _tree_coordinates(labels: Labels, q: Array) -> list[_Curve]:
    """Return the curves of the coordinates of the trees, q (..., nq)."""
    columns = zip(labels.coordinates, labels.coordinate_units, np.moveaxis(q, -1, 0), strict=True)
    return [_Curve(name, unit, _QUANTITIES[unit], column) for name, unit, column in columns]


def _refined(result: Result) -> Result:
    """Return the result at further times, so that curves are smooth for any step size."""
    if result.dense is None or not 1 < len(result) < N_FINE:
        return result
    return result.with_times(np.linspace(result.t[0], result.t[-1], N_FINE))


def _optional(result: Result, name: str) -> Array | None:
    try:
        return np.asarray(result[name], dtype=np.float64)
    except DalembertError:
        return None
