"""Methods of a result for the frequency content of its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..checks import checked
from .spectra import Orders, Spectrum, Waterfall, orders, spectrum, waterfall

if TYPE_CHECKING:
    from .result import Result

__all__ = ["SignalAnalysis"]


class SignalAnalysis:
    """Spectra, waterfalls and orders of outputs (see `spectra`)."""

    @checked("span", "samples")
    def spectrum(
        self,
        name: str,
        *,
        span: tuple[float, float] | None = None,
        samples: int | None = None,
        window: str = "hann",
    ) -> Spectrum:
        """Return amplitudes of a scalar output over frequency, from evenly spaced times on the dense output.

        Parameters
        ----------
        name : str
            Output such as ``"tip.position.x"``.
        span : (start, end) s
            Part of the run; all of it if left out.
        samples : int
            At evenly spaced times; four for each step of the run if left out. The highest frequency is half their
            number divided by the duration.
        window : str
            ``"hann"``; ``"flattop"``, with exact amplitudes and broad peaks; ``"rectangular"``, for spans of whole
            periods.

        Returns
        -------
        Spectrum
            With `frequency` (Hz), `amplitude`, `phase`, `peaks()`, `plot()`, `to_xarray()`.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("oscillator", gravity=(0, 0, 0))
        >>> _ = s.connect("X", da.Prismatic("x"), s.ground, s.body("mass", da.sphere(0.1, mass=1.0)))
        >>> _ = s.connect("k", da.JointSpring(stiffness=100.0), "X")
        >>> result = da.simulate(s, 20.0, state={"X.position": 0.1})
        >>> peak = result.spectrum("X.position").peaks(1)[0]
        >>> print(f"{peak.frequency:.4f} Hz, {peak.amplitude:.4f} m")  # 10 / (2 pi) Hz, 0.1 m
        1.5915 Hz, 0.1000 m
        """
        return spectrum(cast("Result", self), name, span, samples, window)

    @checked("duration", "span", "samples")
    def waterfall(
        self,
        name: str,
        duration: float,
        *,
        reference: str | None = None,
        span: tuple[float, float] | None = None,
        samples: int | None = None,
    ) -> Waterfall:
        """Return spectra of a scalar output in segments of time that overlap by three quarters.

        Parameters
        ----------
        name : str
        duration : float, s
            Of a segment; its inverse is the resolution in Hz.
        reference : str
            Output, such as ``"shaft.speed"``, whose mean orders the segments in plots; time if left out.
        span : (start, end) s
            Part of the run; all of it if left out.
        samples : int
            In a segment.
        """
        return waterfall(cast("Result", self), name, duration, reference, span, samples)

    @checked("max_order", "revolutions", "span")
    def orders(
        self,
        name: str,
        reference: str,
        *,
        max_order: float = 20.0,
        revolutions: int = 8,
        span: tuple[float, float] | None = None,
    ) -> Orders:
        """Return amplitudes of a scalar output by multiples of a rotation whose speed changes (order tracking).

        Parameters
        ----------
        name : str
        reference : str
            Output that is the angle of rotation, such as ``"shaft.position"``; it turns in one direction.
        max_order : float
            Highest multiple of the rotation.
        revolutions : int
            Of a segment; their inverse is the resolution. Segments overlap by three quarters.
        span : (start, end) s
            Part of the run in which the reference turns in one direction; all of it if left out.

        Returns
        -------
        Orders
            With `order`, `speed` (rad/s), `amplitude`, `cut(order)`, `plot()`, `to_xarray()`.
        """
        return orders(cast("Result", self), name, reference, max_order, revolutions, span)
