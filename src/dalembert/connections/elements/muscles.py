"""Muscles with elastic tendons and fibers at an angle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import checked, finite_number, not_negative, positive, set_fields
from ...errors import ModelError
from ..formulas.expressions import check_expression
from ..formulas.muscle_curves import (
    MuscleCurve,
    active_force_length,
    force_velocity,
    passive_force_length,
    tendon_force_length,
)
from ..formulas.tables import Table
from .element import Element

__all__ = ["MillardMuscle"]

_KNOTS = 257  # of the start of Newton's method


def _curve(name: str, at: str, curve: MuscleCurve, slope: float) -> dict[str, str]:
    """Return definitions of a curve's value, ``name``, and integral: straight beyond its upper end."""
    return {
        f"at_{name}": f"min({curve.high!r}, max({curve.low!r}, {at}))",
        f"over_{name}": f"max(0, {at} - {curve.high!r})",
        name: f"{name}_of(at_{name}) + {slope!r}*over_{name}",
    }


@checked("sources")
class MillardMuscle(Element):
    """Muscle along a line or path with an elastic tendon, by Millard, Uchida, Seth and Delp: damped equilibrium.

    Parameters
    ----------
    excitation : number or expression of t, s and ds, 0 to 1
    strength : float, N
        Largest isometric force F0.
    optimal_length : float, m
        Fiber length l0 at that force.
    slack_length : float, m
        Length of the tendon at which it begins to carry load.
    pennation : float, rad
        Angle of the fibers with the tendon at the optimal length; fibers keep their distance l0 sin(angle) from its
        line.
    fastest : float, 1/s
        Velocity of unloaded shortening, in optimal lengths.
    damping : float
        Of the fiber, by F0, at the fastest velocity.
    rise, fall : float, s
        Time constants of activation and deactivation.
    start, fiber_start : float
        Activation, 0.01 to 1, and fiber length by l0 at the start; see `resting_fiber`.
    tendon_strain : float
        Of the tendon at F0.
    passive_strain : float
        Of the fiber where it carries F0 without activation.
    sources : dict of str to source
        Further names that the excitation may use, as ``inputs`` of an `Element`.

    With the fiber length l = ``fiber`` l0, the angle sin(alpha) = l0 sin(pennation)/l and the tendon s - l cos(alpha),
    the fiber's velocity w, by `fastest` l0, is that at which fiber and tendon balance:

        (a fa(l/l0) fv(w) + fp(l/l0) + damping w) cos(alpha) = ft((s - l cos(alpha))/slack_length),
        fiber' = fastest w,    a' = (u - a)/tau,    tension F0 ft

    fa, fv, fp, ft are the curves of the source (`connections.formulas.muscle_curves`), tau is that of `HillMuscle`. The
    states are ``a`` and ``fiber``; signals are ``tendon_strain``, ``w``, ``alpha`` (rad) and ``fiber_force``, N. Tendon
    and passive fiber store energy; the work of the activated fiber is external, less what its damping dissipates.

    Source: M. Millard, T. Uchida, A. Seth, S. L. Delp, Flexing computational muscle: modeling and simulation of
    musculotendon dynamics, J. Biomech. Eng. 135 (2013) 021005.

    Examples
    --------
    A muscle lifts a weight:

    >>> import dalembert as da
    >>> s = da.System("lifting")
    >>> load = s.body("load", da.sphere(0.1, mass=20.0))
    >>> _ = s.connect("guide", da.Prismatic("z"), s.ground.at(0, 0, -0.3), load)
    >>> muscle = da.MillardMuscle("min(1, 4*t)", strength=1000.0, optimal_length=0.1, slack_length=0.2)
    >>> _ = s.connect("muscle", muscle, s.ground, load)
    >>> result = da.simulate(s, 1.0)
    >>> bool(result["guide.position"][-1] > 0.02)
    True
    """

    def __init__(
        self,
        excitation: Any,
        strength: float,
        optimal_length: float,
        slack_length: float,
        *,
        pennation: float = 0.0,
        fastest: float = 10.0,
        damping: float = 0.1,
        rise: float = 0.015,
        fall: float = 0.05,
        start: float = 0.01,
        fiber_start: float = 1.0,
        tendon_strain: float = 0.049,
        passive_strain: float = 0.7,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "MillardMuscle"
        numbers = positive(item, strength=strength, optimal_length=optimal_length, slack_length=slack_length)
        numbers |= positive(item, fastest=fastest, damping=damping, rise=rise, fall=fall)
        strains = positive(item, tendon_strain=tendon_strain, passive_strain=passive_strain)
        angle = not_negative(item, pennation=pennation)["pennation"]
        if angle >= 1.4:
            raise ModelError(item, "pennation", angle, "give it in rad, below 1.4")
        if not 0.01 <= finite_number(start, item=item, field="start") <= 1:
            raise ModelError(item, "start", start, "give an activation from 0.01 to 1")
        height = math.sin(angle)
        begin = positive(item, fiber_start=fiber_start)["fiber_start"]
        if not max(height, 0.2) < begin < 2.0:
            remedy = f"it is by the optimal length: use a number from {max(height, 0.2):.3g} to 2"
            raise ModelError(item, "fiber_start", fiber_start, remedy)
        check_expression(item, "excitation", excitation, "t", "s", "ds", *(sources or {}))
        active, velocity = active_force_length(), force_velocity()
        passive, tendon = passive_force_length(passive_strain), tendon_force_length(tendon_strain)
        slopes = {"passive": 2.0 / strains["passive_strain"], "tendon": 1.375 / strains["tendon_strain"]}
        definitions = {
            "excitation": excitation,
            "u": "min(1, max(0.01, excitation))",
            "tau": "where(u > a, rise*(0.5 + 1.5*a), fall/(0.5 + 1.5*a))",
            # the fiber does not become shorter than 1 % beyond its height
            "along": f"sqrt(max(fiber*fiber - {height * height!r}, 1e-4))" if height else "fiber",
            "cosine": "along/fiber" if height else "1",
            "tendon_length": "(s - optimal_length*along)/slack_length",
            **_curve("passive", "fiber", passive, slopes["passive"]),
            **_curve("tendon", "tendon_length", tendon, slopes["tendon"]),
            "active": f"active_of(min({active.high!r}, max({active.low!r}, fiber)))",
            "pull": "(a*active*speed_of(min(1, max(-1, w))) + passive + damping*w)",
            "stored": "optimal_length*(passive_work(at_passive) + over_passive*(passive_end"
            " + 0.5*passive_slope*over_passive)) + slack_length*(tendon_work(at_tendon) + over_tendon*(tendon_end"
            " + 0.5*tendon_slope*over_tendon))",
        }
        ends = {"passive": 1.0, "tendon": 2.0 / 3.0}
        for name, slope in slopes.items():
            definitions["stored"] = (
                definitions["stored"].replace(f"{name}_end", repr(ends[name])).replace(f"{name}_slope", repr(slope))
            )
        # Newton's method begins where an undamped fiber is; its force-velocity curve is monotone
        w = np.linspace(-1.0, 1.0, _KNOTS)
        factors = np.maximum.accumulate(velocity.value.evaluate(w)) + 1e-9 * np.arange(_KNOTS)
        fiber_factor = "(tendon/cosine - passive)/(a*max(active, 0.02))"
        low, high = repr(float(factors[0])), repr(float(factors[-1]))
        super().__init__(
            "distance",
            "-strength*tendon",
            numbers,
            {"a": (float(start), "(u - a)/tau"), "fiber": (begin, "fastest*w")},
            "strength*stored",
            definitions=definitions,
            active=True,
            inputs=sources or {},
            signals={
                "tendon_strain": "tendon_length - 1",
                "velocity": "w",
                "alpha": "acos(min(1, cosine))" if height else "0",
                "fiber_force": "strength*pull",
            },
            unknowns={"w": (f"speed_at(min({high}, max({low}, {fiber_factor})))", "pull*cosine - tendon")},
            tables={
                "active_of": active.value,
                "speed_of": velocity.value,
                "passive_of": passive.value,
                "tendon_of": tendon.value,
                "passive_work": passive.integral,
                "tendon_work": tendon.integral,
                "speed_at": Table(factors, values=w, kind="linear"),
            },
        )
        set_fields(self, _curves=(active, passive, tendon), _height=height, _slopes=slopes)

    def resting_fiber(self, length: float, activation: float = 0.01) -> float:
        """Return the fiber length by the optimal one at which muscle and tendon are at rest.

        Parameters
        ----------
        length : float, m
            Of muscle and tendon together.
        activation : float
        """
        active, passive, tendon = self._curves  # type: ignore[attr-defined]
        height, slopes = self._height, self._slopes  # type: ignore[attr-defined]
        numbers = self.parameters

        def at(curve: MuscleCurve, x: float, slope: float) -> float:
            inside = float(curve.value.evaluate(min(curve.high, max(curve.low, x))))
            return inside + slope * max(0.0, x - curve.high)

        def missing(fiber: float) -> float:
            along = math.sqrt(max(fiber * fiber - height * height, 1e-4))
            stretch = (length - numbers["optimal_length"] * along) / numbers["slack_length"]
            pull = activation * at(active, fiber, 0.0) + at(passive, fiber, slopes["passive"])
            return pull * along / fiber - at(tendon, stretch, slopes["tendon"])

        low, high = max(height, 0.2) + 1e-6, 2.0
        if missing(low) > 0 or missing(high) < 0:
            remedy = "no fiber length from 0.2 to 2 is at rest there: change the length, or the slack length"
            raise ModelError("MillardMuscle.resting_fiber", "length", length, remedy)
        from scipy.optimize import brentq

        return float(brentq(missing, low, high, xtol=1e-13))
