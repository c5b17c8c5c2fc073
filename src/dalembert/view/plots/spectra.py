"""Plots of spectra, waterfalls and orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...arrays import Array
    from ...result.spectra import Orders, Spectrum, Waterfall

__all__ = ["plot_map", "plot_spectrum"]

LOG_RANGE = 1e-6  # of the largest amplitude: smaller ones are not shown on a logarithmic axis
N_NAMED_PEAKS = 3


def plot_spectrum(spectrum: Spectrum, *, log: bool = False, ax: Any = None, path: Any = None) -> Axes:
    """Draw amplitudes over frequency with the largest peaks marked; return the axes."""
    with style.panel(ax, path, 6.4, 3.6) as panel:
        panel.plot(spectrum.frequency, spectrum.amplitude, color=style.PALETTE[0], linewidth=1.0)
        for peak in spectrum.peaks(N_NAMED_PEAKS):
            panel.annotate(
                f"{peak.frequency:.4g} Hz", peak, xytext=(4, 2), textcoords="offset points", fontsize=8, color=style.INK
            )
        if log and spectrum.amplitude.max() > 0.0:
            panel.set_yscale("log")
            panel.set_ylim(LOG_RANGE * spectrum.amplitude.max(), None)
        panel.set(xlabel="frequency (Hz)", ylabel=_label(spectrum), xlim=(0, spectrum.frequency[-1]))
    return panel


def plot_map(
    answer: Waterfall | Orders, lines: Array, label: str, by: Array, by_label: str, *, ax: Any = None, path: Any = None
) -> Axes:
    """Draw amplitudes as colours over the lines of spectra and over their segments; return the axes."""
    order = np.argsort(by, kind="stable")
    with style.panel(ax, path, 6.4, 3.6) as panel:
        colors = panel.pcolormesh(lines, by[order], answer.amplitude[order], shading="nearest", cmap="viridis")
        panel.figure.colorbar(colors, ax=panel, label=_label(answer))
        panel.set(xlabel=label, ylabel=by_label)
    return panel


def _label(answer: Any) -> str:
    return f"{answer.name} ({answer.unit})" if answer.unit else str(answer.name)
