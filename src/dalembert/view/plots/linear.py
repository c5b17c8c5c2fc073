"""Plots of linear systems: Bode and Nyquist plots, root loci, Campbell diagrams, vibration modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import style
from ..drawing.animation import animate_configurations
from ..drawing.system_drawing import draw

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from ...linear.eigenvalue_loci import Campbell, RootLocus
    from ...linear.frequency_response import FrequencyResponse
    from ...linear.periodic_orbits import Floquet
    from ...linear.vibration_modes import Modes

__all__ = [
    "animate_mode", "draw_mode", "plot_bode", "plot_campbell", "plot_locus", "plot_multipliers", "plot_nyquist",
    "plot_over",
]  # fmt: skip

MAX_NAMED_CURVES = 8
MIN_RESPONSE = 0.1  # smaller responses are far from -1, which would hide them


def _pairs(response: FrequencyResponse) -> list[tuple[int, int, str]]:
    many = len(response.inputs) > 1
    return [
        (o, i, f"{output} by {name}" if many else output)
        for i, name in enumerate(response.inputs)
        for o, output in enumerate(response.outputs)
    ]


def plot_bode(response: FrequencyResponse, *, path: Any = None) -> tuple[Axes, Axes]:
    """Draw magnitudes and phases over frequency, and return the two axes."""
    with style.panels(path, 6.4, 4.6, 2, 1, sharex=True) as (upper, lower):
        for k, (o, i, label) in enumerate(_pairs(response)):
            color = style.PALETTE[k % len(style.PALETTE)]
            size = response.magnitude[:, o, i]
            upper.loglog(response.frequencies, np.where(size > 0, size, np.nan), color=color, label=label)
            lower.semilogx(response.frequencies, np.degrees(response.phase[:, o, i]), color=color)
        for axis in (upper.xaxis, upper.yaxis, lower.xaxis):
            style.plain_log(axis)
        unit = response.units[0] if len(set(response.units)) == 1 and response.units[0] else ""
        upper.set_ylabel(f"magnitude{f' ({unit} per unit)' if unit else ''}")
        lower.set_ylabel("phase (degrees)")
        lower.set_xlabel("frequency (Hz)")
        lower.yaxis.set_major_locator(style.matplotlib().ticker.MultipleLocator(90))
        for panel in (upper, lower):
            panel.grid(True, which="major", linewidth=0.4, color=style.FAINT)
        if len(response.inputs) == 1:
            upper.set_title(f"by {response.inputs[0]}", fontsize=9)
        if len(_pairs(response)) <= MAX_NAMED_CURVES:
            upper.legend(frameon=False, fontsize=8)
    return upper, lower


def plot_nyquist(response: FrequencyResponse, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw responses in the complex plane, with -1 if they are near it."""
    with style.panel(ax, path, 5.0, 4.8) as panel:
        for k, (o, i, label) in enumerate(_pairs(response)):
            values = response.values[:, o, i]
            values = np.where(np.isfinite(values), values, np.nan)
            color = style.PALETTE[k % len(style.PALETTE)]
            panel.plot(values.real, values.imag, color=color, label=label)
            panel.plot(values.real, -values.imag, color=color, linewidth=0.7, linestyle=(0, (4, 2)))
        if np.nanmax(np.where(np.isfinite(response.magnitude), response.magnitude, 0.0), initial=0.0) > MIN_RESPONSE:
            panel.plot(-1.0, 0.0, "+", color=style.INK, markersize=8)
        panel.axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
        panel.axvline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
        panel.set_xlabel("real part")
        panel.set_ylabel("imaginary part")
        panel.set_aspect("equal", adjustable="datalim")
        if len(_pairs(response)) <= MAX_NAMED_CURVES:
            panel.legend(frameon=False, fontsize=8)
    return panel


def plot_locus(locus: RootLocus, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw eigenvalues in the complex plane, a curve for each mode, from dots to crosses."""
    with style.panel(ax, path, 5.6, 4.6) as panel:
        for k in range(locus.eigenvalues.shape[1]):
            values, color = locus.eigenvalues[:, k], style.PALETTE[k % len(style.PALETTE)]
            panel.plot(values.real, values.imag, color=color, linewidth=1.0)
            panel.plot(values[0].real, values[0].imag, "o", color=color, markersize=4, fillstyle="none")
            panel.plot(values[-1].real, values[-1].imag, "x", color=color, markersize=5)
        panel.axvline(0.0, color=style.FAINT, linewidth=0.8, zorder=1)
        panel.axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
        panel.set_xlabel("real part (1/s)")
        panel.set_ylabel("imaginary part (rad/s)")
        first, last = locus.values[0], locus.values[-1]
        panel.set_title(f"{locus.parameter} from {first:.4g} (o) to {last:.4g} (x)", fontsize=9)
    return panel


def plot_multipliers(floquet: Floquet, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw Floquet multipliers and the unit circle in the complex plane, and return the axes."""
    values = floquet.multipliers
    with style.panel(ax, path, 4.6, 4.6) as panel:
        angles = np.linspace(0.0, 2 * np.pi, 181)
        panel.plot(np.cos(angles), np.sin(angles), color=style.FAINT, linewidth=1.0, zorder=1)
        panel.plot(values.real, values.imag, "o", color=style.PALETTE[0], markersize=5)
        panel.set_aspect("equal", adjustable="datalim")
        panel.set_xlabel("real part")
        panel.set_ylabel("imaginary part")
        panel.set_title(f"multipliers of a period of {floquet.period:.4g} s", fontsize=9)
    return panel


def plot_over(locus: RootLocus, *, path: Any = None) -> tuple[Axes, Axes]:
    """Draw real parts and frequencies over the parameter, and return the two axes."""
    with style.panels(path, 6.4, 4.8, 2, 1, sharex=True) as (upper, lower):
        for k in range(locus.eigenvalues.shape[1]):
            color = style.PALETTE[k % len(style.PALETTE)]
            upper.plot(locus.values, locus.eigenvalues[:, k].real, color=color)
            imag = locus.eigenvalues[:, k].imag
            if (imag > 0).any():
                lower.plot(locus.values, np.where(imag > 0, imag, np.nan) / (2 * np.pi), color=color)
        upper.axhline(0.0, color=style.FAINT, linewidth=0.8, zorder=1)
        upper.set_ylabel("real part (1/s)")
        lower.set_ylabel("frequency (Hz)")
        lower.set_xlabel(locus.parameter)
    return upper, lower


def _campbell_top(diagram: Campbell, orders: Sequence[float]) -> float:
    """Return the highest frequency (Hz) of a diagram, for excitation lines and the lowest modes."""
    lines = max((float(np.abs(order * diagram.values).max(initial=0.0)) / (2 * np.pi) for order in orders), default=0.0)
    lowest = np.sort(diagram.frequencies[:, diagram.vibrating], axis=1)[:, :4]
    return max(1.3 * lines, 1.1 * float(lowest.max(initial=0.0)), 1e-9)


def plot_campbell(diagram: Campbell, orders: Sequence[float], *, ax: Any = None, path: Any = None) -> Axes:
    """Draw frequencies over speed: forward whirl solid, backward dashed, flat orbits dotted; excitation lines."""
    with style.panel(ax, path, 6.4, 4.2) as panel:
        speed = diagram.values * 60 / (2 * np.pi)
        kinds = {"forward": "-", "backward": (0, (5, 2)), "flat": (0, (1, 1.5))}
        named = set()
        for k in diagram.vibrating:
            mean = float(np.median(diagram.whirl[:, k]))
            kind = "forward" if mean > 0.1 else "backward" if mean < -0.1 else "flat"
            label = {"forward": "forward whirl", "backward": "backward whirl", "flat": "no whirl"}[kind]
            color = style.PALETTE[{"forward": 0, "backward": 1, "flat": 2}[kind]]
            new = None if kind in named else label
            panel.plot(speed, diagram.frequencies[:, k], color=color, linestyle=kinds[kind], label=new)
            named.add(kind)
        top = min(panel.get_ylim()[1], _campbell_top(diagram, orders))
        for order in orders:
            panel.plot(speed, np.abs(order * diagram.values) / (2 * np.pi), color=style.FAINT, linewidth=0.9)
            critical = diagram.critical_speeds(order) if diagram.axes != "mixed" else np.zeros(0)
            panel.plot(
                critical * 60 / (2 * np.pi), np.abs(order * critical) / (2 * np.pi), "o", color=style.INK, markersize=4
            )
            for one in critical:
                label = f" {one * 60 / (2 * np.pi):.0f}"
                panel.annotate(label, (one * 60 / (2 * np.pi), abs(order * one) / (2 * np.pi)), fontsize=8, va="top")
        panel.set_ylim(0, top)
        panel.set_xlabel("speed (1/min)")
        panel.set_ylabel("frequency (Hz)")
        panel.legend(frameon=False, fontsize=8)
    return panel


def draw_mode(modes: Modes, k: int, size: float | None = None, **options: Any) -> Axes:
    """Draw mode k at both extremes over the state; `size` is the amplitude, m or rad; others as `draw`."""
    ends = [state.q for state in modes.states(k, np.array([0.0, np.pi]), size)]
    path = options.pop("path", None)
    axes = draw(modes.space.model, np.array([*ends, modes.state.q]), **options)
    if hasattr(axes, "set_title"):
        axes.set_title(modes.describe(k), fontsize=9)
    if path is not None:
        style.save(axes.figure, path)
        if options.get("ax") is None:  # else a notebook would show it twice
            from matplotlib import pyplot

            pyplot.close(axes.figure)  # type: ignore[arg-type]
    return axes


def animate_mode(
    modes: Modes, k: int, size: float | None, frames: int, path: Any = None, **options: Any
) -> FuncAnimation | Path:
    """Animate one cycle of mode k in one second; others as `animate`."""
    phases = np.linspace(0.0, 2 * np.pi, frames + 1)
    q = np.array([state.q for state in modes.states(k, phases, size)])
    return animate_configurations(modes.space.model, phases / (2 * np.pi), q, path, **{"fps": float(frames), **options})
