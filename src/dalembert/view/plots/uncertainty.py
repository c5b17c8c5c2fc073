"""Plots of uncertainties: distributions of outputs, contributions to variances, confidence regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...studies import ParameterFit, Uncertainty

__all__ = ["plot_regions", "plot_uncertainty"]


def plot_uncertainty(found: Uncertainty, output: str, *, path: Any = None) -> tuple[Axes, Axes]:
    """Plot a histogram of an output with its quantiles, beside shares of its variance; return both axes."""
    if output not in found.mean or np.ndim(found.mean[output]):
        raise ModelError("plot", "output", output, "give one that is a single number: reduce it over time")
    with style.panels(path, 7.2, 3.2, 1, 2, width_ratios=(3, 2)) as (left, right):
        values = found.data[output].values
        left.hist(values[np.isfinite(values)], bins=30, color=style.tint(style.PALETTE[0], 0.4))
        for q, percent in ((0.05, "5 %"), (0.5, "50 %"), (0.95, "95 %")):
            at = float(found.quantile(output, q))
            left.axvline(at, color=style.INK, linewidth=1.0)
            left.annotate(percent, (at, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8)
        unit = found.data[output].attrs.get("units", "")
        left.set_xlabel(f"{output} [{unit}]" if unit else output)
        left.set_ylabel("samples")
        bars = {
            "first order": found.shares.get(output),
            "alone": found.first.get(output),
            "total": found.total.get(output),
        }
        shown = {label: np.asarray(share) for label, share in bars.items() if share is not None}
        rows = np.arange(len(found.names))
        for k, (label, share) in enumerate(shown.items()):
            right.barh(rows + 0.25 * k, share, 0.22, color=style.PALETTE[k], label=label)
        right.set_yticks(rows + 0.125 * (len(shown) - 1), found.names)
        right.set_xlabel("part of variance")
        if shown:
            style.legend_beside(right)
        left.figure.subplots_adjust(wspace=0.6)
    return left, right


def plot_regions(found: ParameterFit, first: str, second: str, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw the confidence ellipses (68 and 95 percent) of two estimates, and return the axes."""
    with style.panel(ax, path, 4.6, 3.8) as axes:
        for share, wide in ((0.6827, 1.6), (0.95, 1.0)):
            edge = found.region(first, second, share)
            axes.plot(*edge.T, color=style.PALETTE[0], linewidth=wide, label=f"{100 * share:.0f} %")
        axes.plot(found[first], found[second], "o", color=style.INK, markersize=4, label="estimate")
        axes.set_xlabel(first)
        axes.set_ylabel(second)
        style.add_grid(axes)
        style.legend_beside(axes)
    return axes
