"""Roads under tyres: height and grip over the plane of the first marker of a tyre."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...checks import checked, finite_number, one_of, positive, set_fields, whole_number
from ...errors import ModelError
from ...provenance import record_makers
from ..formulas.tables import Table

__all__ = ["Road"]

# ISO 8608: degree of roughness Gd(n0) of the classes, geometric mean, m^3, at n0 = 0.1 cycles/m
_CLASSES = dict(zip("ABCDEFGH", (16e-6 * 4.0**k for k in range(8)), strict=True))
_REFERENCE = 0.1  # cycles/m
_WAVES = (0.011, 2.83)  # cycles/m: limits of the spectrum in ISO 8608


@checked("height", "grip")
@record_makers
@dataclass(frozen=True, eq=False)
class Road:
    """Road in the axes of a marker, z upwards: its height, and the grip of tyres on it.

    Parameters
    ----------
    height : Table, m
        Of x, or of x and y. Left out: the plane z = 0.
    grip : float or Table
        Factor of the friction coefficients of tyres; a table of y, or of x and y: different sides of the road.
    footprint : float, m
        The height and slope under a wheel are means over points this far ahead, behind, and on both sides: half the
        length of the contact patch. Shorter waves are smoothed by it.

    Examples
    --------
    A bump 5 cm high, and ice on the right side:

    >>> import dalembert as da
    >>> bump = da.Table.sampled(lambda x: 0.05 * max(0.0, 1 - abs(x - 10.0)) ** 2, (0.0, 20.0), tolerance=1e-2)
    >>> ice = da.Table([-2.0, -0.1, 0.1, 2.0], values=[0.1, 0.1, 1.0, 1.0], kind="linear", outside="hold")
    >>> da.Road(bump, grip=ice).footprint
    0.06
    """

    height: Table | None = None
    grip: float | Table = 1.0
    footprint: float = 0.06

    def __post_init__(self) -> None:
        item = "Road"
        set_fields(self, **positive(item, footprint=self.footprint))
        if self.height is not None and len(self.height.axes) > 2:
            raise ModelError(item, "height", len(self.height.axes), "give a table of x, or of x and y")
        if isinstance(self.grip, Table):
            if len(self.grip.axes) > 2:
                raise ModelError(item, "grip", len(self.grip.axes), "give a table of y, or of x and y")
        else:
            set_fields(self, **positive(item, grip=self.grip))

    @classmethod
    def rough(
        cls, roughness: str | float, length: float, *, seed: int = 0, spacing: float = 0.05, grip: float | Table = 1.0
    ) -> Road:
        """Return a random road along x, from 0 to `length`, with the spectrum of ISO 8608.

        The displacement spectral density is Gd(n) = Gd(n0) (n / n0)^-2 with n0 = 0.1 cycles/m, from 0.011 to 2.83
        cycles/m. The profile is a sum of cosines with random phases, periodic over the length.

        Parameters
        ----------
        roughness : str or float, m^3
            Class ``"A"`` (very good) to ``"H"``: geometric mean of the class; or Gd(n0) itself.
        length : float, m
        seed : int
            Of the phases.
        spacing : float, m
            Of the knots of the profile.
        grip : float or Table
            As of a `Road`.

        Examples
        --------
        >>> import dalembert as da
        >>> road = da.Road.rough("C", 200.0, seed=1)
        >>> road.height.outside
        'repeat'
        """
        item = "Road.rough"
        if isinstance(roughness, str):
            density = _CLASSES[one_of(item, "roughness", roughness, tuple(_CLASSES))]
        else:
            density = positive(item, roughness=finite_number(roughness, item=item, field="roughness"))["roughness"]
        numbers = positive(item, length=length, spacing=spacing)
        count = round(numbers["length"] / numbers["spacing"])
        if count < 16:
            raise ModelError(item, "spacing", spacing, f"a road of {length:g} m needs 16 knots or more")
        x = np.linspace(0.0, length, count + 1)
        first, last = math.ceil(_WAVES[0] * length), math.floor(min(_WAVES[1], 0.25 / spacing) * length)
        if first > last:
            raise ModelError(
                item, "length", length, f"give {1 / _WAVES[1]:.2g} m or more: no wave of the spectrum fits"
            )
        waves = np.arange(max(first, 1), last + 1)  # in the length
        draw = np.random.default_rng(whole_number(seed, item=item, field="seed", least=0))
        amplitudes = np.sqrt(2.0 * density * (waves / length / _REFERENCE) ** -2 / length)
        spectrum = np.zeros(count // 2 + 1, dtype=complex)
        spectrum[waves] = 0.5 * count * amplitudes * np.exp(2j * np.pi * draw.random(len(waves)))
        heights = np.fft.irfft(spectrum, count)
        heights = np.append(heights, heights[0])
        return cls(Table(x, values=heights, outside="repeat"), grip)

    def definitions(self) -> dict[str, str]:
        """Return formulas of the road at a wheel with the axis ax, ay, az and the centre x, y, z.

        They are its normal nx, ny, nz, the distance `above` of the centre from its tangent plane, and its `grip`.
        """
        parts = {"grip": self._grip()}
        if self.height is None:
            return parts | {"nx": "0*x", "ny": "0*x", "nz": "1 + 0*x", "above": "z"}
        call = "road_height({0})" if len(self.height.axes) == 1 else "road_height({0}, {1})"
        b = repr(float(self.footprint))
        parts |= {
            "hx": "ay/level",  # heading, level
            "hy": "-ax/level",
            "px": "x + radius*az*ax/level",  # below the wheel, in its plane
            "py": "y + radius*az*ay/level",
            "h1": call.format(f"px + {b}*hx", f"py + {b}*hy"),
            "h2": call.format(f"px - {b}*hx", f"py - {b}*hy"),
            "h3": call.format(f"px - {b}*hy", f"py + {b}*hx"),
            "h4": call.format(f"px + {b}*hy", f"py - {b}*hx"),
            "along": f"(h1 - h2)/{2 * self.footprint!r}",
            "across": f"(h3 - h4)/{2 * self.footprint!r}",
            "steep": "sqrt(1 + along*along + across*across)",
            "nx": "(across*hy - along*hx)/steep",
            "ny": "(-along*hy - across*hx)/steep",
            "nz": "1/steep",
            "above": "(x - px)*nx + (y - py)*ny + (z - (h1 + h2 + h3 + h4)/4)*nz",
        }
        return parts

    def _grip(self) -> str:
        if not isinstance(self.grip, Table):
            return f"{float(self.grip)!r}"
        return "road_grip(y)" if len(self.grip.axes) == 1 else "road_grip(x, y)"

    def tables(self) -> dict[str, Table]:
        """Return the tables that `definitions` call."""
        found = {} if self.height is None else {"road_height": self.height}
        return found | ({"road_grip": self.grip} if isinstance(self.grip, Table) else {})
