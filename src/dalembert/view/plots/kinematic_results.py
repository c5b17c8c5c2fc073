"""Pictures of what is read off a motion: which function draws what."""

from __future__ import annotations

from typing import Any

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
from . import (
    axodes,
    centrodes as poles,
    clearances as gaps,
    coupler_curves as curves,
    mobility as mobilities,
    polygons,
    tolerances as errors_of,
    transmission as ratios,
)

__all__ = ["plot_reading"]

_PLOTS: dict[type[KinematicResult], Any] = {
    Clearance: gaps.plot_clearance,
    CouplerCurve: curves.plot_curve,
    Centrodes: poles.plot_centrodes,
    InstantCentres: poles.plot_centres,
    InflectionCircles: poles.plot_inflection,
    ScrewAxes: axodes.plot_axodes,
    MobilityRange: mobilities.plot_mobility,
    Polygon: polygons.plot_polygon,
    Ratio: ratios.plot_ratio,
    TransmissionAngle: ratios.plot_transmission,
    Tolerances: errors_of.plot_tolerances,
}


def plot_reading(reading: KinematicResult, *, ax: Any = None, path: Any = None, **options: Any) -> Any:
    """Draw something that was read off a motion and return the matplotlib axes.

    Parameters
    ----------
    reading : Reading
    ax : matplotlib axes
        Where to draw; a new figure if left out.
    path : str or Path
        File to write.
    options
        Of the picture: see the functions in `curves`, `poles`, `axodes`, `polygons`, `ratios`, `gaps` and `errors_of`.
    """
    style.matplotlib()
    draw = _PLOTS[type(reading)]
    known = draw.__kwdefaults__ or {}
    for name in options:
        if name not in known:
            given = ", ".join(sorted(set(known) - {"ax", "path"})) or "no further ones"
            raise ModelError("plot", "option", name, f"this picture takes {given}")
    with style.styled():
        axes = draw(reading, ax=ax, path=path, **options)
        if path is not None:
            style.save((axes[0] if isinstance(axes, list) else axes).figure, path)
    return axes
