"""Plots of kinematic results: selection of the plot by the class of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ...motion.geometry.clearance import Clearance
from ...motion.geometry.coupler_curves import CouplerCurve
from ...motion.geometry.inflection_circles import InflectionCircles
from ...motion.geometry.instant_centres import Centrodes, InstantCentres
from ...motion.geometry.kinematic_result import KinematicResult
from ...motion.geometry.mobility_range import MobilityRange
from ...motion.geometry.polygons import Polygon
from ...motion.geometry.screw_axes import ScrewAxes
from ...motion.geometry.transmission import TransmissionAngle
from ...motion.geometry.velocity_ratios import Ratio
from ...motion.tolerance_analysis import Tolerances
from .. import style
from . import axodes, centrodes, coupler_curves, kinematic_curves, polygons, tolerances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_reading"]

_PLOTS: dict[type[KinematicResult], Any] = {
    Clearance: kinematic_curves.plot_clearance,
    CouplerCurve: coupler_curves.plot_curve,
    Centrodes: centrodes.plot_centrodes,
    InstantCentres: centrodes.plot_centres,
    InflectionCircles: centrodes.plot_inflection,
    ScrewAxes: axodes.plot_axodes,
    MobilityRange: kinematic_curves.plot_mobility,
    Polygon: polygons.plot_polygon,
    Ratio: kinematic_curves.plot_ratio,
    TransmissionAngle: kinematic_curves.plot_transmission,
    Tolerances: tolerances.plot_tolerances,
}


def plot_reading(reading: KinematicResult, *, ax: Any = None, path: Any = None, **options: Any) -> Axes | list[Axes]:
    """Plot a kinematic result and return the matplotlib axes.

    Parameters
    ----------
    reading : KinematicResult
    ax : matplotlib axes
        Axes to draw on; those of a new figure if left out.
    path : str or Path
        File to write.
    options
        Further options of the plot: keyword arguments of the function for the class of the result.
    """
    style.matplotlib()
    draw = _PLOTS[type(reading)]
    known = draw.__kwdefaults__ or {}
    for name in options:
        if name not in known:
            given = ", ".join(sorted(set(known) - {"ax", "path"})) or "no further ones"
            raise ModelError("plot", "option", name, f"this picture takes {given}")
    with style.styled():
        axes: Axes | list[Axes] = draw(reading, ax=ax, path=path, **options)
        if path is not None:
            style.save((axes[0] if isinstance(axes, list) else axes).figure, path)
    return axes
