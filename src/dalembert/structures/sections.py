"""Cross-sections and materials of beams.

Local axes of a beam: x along it, y and z the principal axes of its section. Iy is the second moment for bending about
y (deflection along z), Iz the one for bending about z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import checked, finite_array, finite_number, not_negative, positive, positive_number, set_fields, shape_of
from ..errors import ModelError

__all__ = ["Material", "Section", "check_material"]


@checked("G")
@dataclass(frozen=True)
class Material:
    """Linear elastic, isotropic material.

    Parameters
    ----------
    E : float, Pa
        Young's modulus.
    nu : float
        Poisson's ratio, above -1 and below 1/2; or give `G`.
    density : float, kg/m3
    G : float, Pa
        Shear modulus; default E / (2 (1 + nu)).

    Examples
    --------
    >>> import dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> round(steel.G / 1e9, 2)
    80.77
    """

    E: float
    nu: float | None = None
    density: float = 0.0
    G: float | None = None

    def __post_init__(self) -> None:
        E = positive_number(self.E, item="material", field="E")
        if self.nu is not None and self.G is not None and abs(2 * (1 + self.nu) * self.G - E) < 1e-9 * E:
            set_fields(self, G=None)  # a copy with another density: both moduli are kept
        if (self.nu is None) == (self.G is None):
            raise ModelError("material", "nu", self.nu, f"give either nu or G (G is {self.G!r})")
        if self.G is None:
            nu = finite_number(self.nu, item="material", field="nu")
            if not -1 < nu < 0.5:
                raise ModelError("material", "nu", nu, "Poisson's ratio lies between -1 and 1/2")
            set_fields(self, G=E / (2 * (1 + nu)))
        else:
            G = positive_number(self.G, item="material", field="G")
            set_fields(self, nu=E / (2 * G) - 1)
        not_negative("material", density=finite_number(self.density, item="material", field="density"))


@dataclass(frozen=True, eq=False)
class Section:
    """Cross-section of a beam.

    Parameters
    ----------
    A : float, m2
    Iy, Iz : float, m4
        Second moments of area about the section's principal axes y and z.
    J : float, m4
        Torsion constant.
    shear_y, shear_z : float
        Shear factors: the share of A that carries shear along y and along z.
    points : (k, 2) m
        Points (y, z) at which bending stresses are computed; default none.
    torsion_radius : float, m
        Largest shear stress by torsion is torque * torsion_radius / J; default none.

    The predefined sections use Cowper's shear factors (1966) for circle, tube and rectangle with Poisson's ratio `nu`,
    and the share of the webs or flanges for thin-walled ones.

    Examples
    --------
    >>> import dalembert as da
    >>> tube = da.Section.tube(outer=0.05, inner=0.045)
    >>> round(tube.A * 1e4, 2), round(tube.Iy * 1e8, 2)  # cm2, cm4
    (14.92, 168.81)
    """

    A: float
    Iy: float
    Iz: float
    J: float
    shear_y: float = 5 / 6
    shear_z: float = 5 / 6
    points: Any = None
    torsion_radius: float | None = None

    def __post_init__(self) -> None:
        for field in ("A", "Iy", "Iz", "J", "shear_y", "shear_z", "torsion_radius"):
            if field != "torsion_radius" or self.torsion_radius is not None:
                positive_number(getattr(self, field), item="section", field=field)
        if self.points is not None:
            shape = shape_of(self.points)
            if shape is None or len(shape) != 2 or shape[1] != 2:
                raise ModelError("section", "points", self.points, "give a (k, 2) array of points (y, z)")
            set_fields(self, points=finite_array(self.points, shape, item="section", field="points"))

    @classmethod
    def circle(cls, radius: float, *, nu: float = 0.3) -> Section:
        """Return a solid circle."""
        return cls.tube(radius, 0.0, nu=nu)

    @classmethod
    def tube(cls, outer: float, inner: float, *, nu: float = 0.3) -> Section:
        """Return a ring with radii `outer` > `inner`, m."""
        R = positive_number(outer, item="tube section", field="outer")
        r = finite_number(inner, item="tube section", field="inner")
        if not 0 <= r < R:
            raise ModelError("tube section", "inner", inner, f"it must be from 0 to below the outer radius {R}")
        A, second = math.pi * (R * R - r * r), math.pi * (R**4 - r**4) / 4
        m2 = (r / R) ** 2
        k = 6 * (1 + nu) * (1 + m2) ** 2 / ((7 + 6 * nu) * (1 + m2) ** 2 + (20 + 12 * nu) * m2)
        turns = np.arange(16) * math.pi / 8
        points = R * np.column_stack([np.cos(turns), np.sin(turns)])
        return cls(A, second, second, 2 * second, k, k, points, R)

    @classmethod
    def rectangle(cls, y: float, z: float, *, nu: float = 0.3) -> Section:
        """Return a solid rectangle with edges along y and z, m."""
        y, z = positive("rectangle section", y=y, z=z).values()
        a, b = max(y, z), min(y, z)
        odd = np.arange(1, 60, 2)
        # Saint-Venant's series; hyperbolic functions of large arguments are 1 and 0
        argument = np.minimum(odd * math.pi * a / (2 * b), 300.0)
        J = a * b**3 / 3 * (1 - 192 * b / (math.pi**5 * a) * float((np.tanh(argument) / odd**5).sum()))
        radius = b * (1 - 8 / math.pi**2 * float((1 / (odd**2 * np.cosh(argument))).sum()))
        k = 10 * (1 + nu) / (12 + 11 * nu)
        return cls(y * z, y * z**3 / 12, z * y**3 / 12, J, k, k, _corners(y, z), radius)

    @classmethod
    def box(cls, y: float, z: float, thickness: float) -> Section:
        """Return a hollow rectangle with outer edges along y and z and one wall thickness, m."""
        y, z, t = positive("box section", y=y, z=z, thickness=thickness).values()
        if 2 * t >= min(y, z):
            raise ModelError("box section", "thickness", t, "twice the walls must be less than the edges")
        inner_y, inner_z = y - 2 * t, z - 2 * t
        A = y * z - inner_y * inner_z
        Iy, Iz = (y * z**3 - inner_y * inner_z**3) / 12, (z * y**3 - inner_z * inner_y**3) / 12
        enclosed = (y - t) * (z - t)
        J = 4 * enclosed**2 * t / (2 * (y - t) + 2 * (z - t))  # Bredt
        radius = J / (2 * enclosed * t)
        return cls(A, Iy, Iz, J, 2 * t * (y - t) / A, 2 * t * (z - t) / A, _corners(y, z), radius)

    @classmethod
    def I(cls, width: float, height: float, web: float, flange: float) -> Section:  # noqa: E743  (its name in practice)
        """Return a doubly symmetric I-section: `width` along y, `height` along z, thicknesses `web`, `flange`, m."""
        b, h, tw, tf = positive("I section", width=width, height=height, web=web, flange=flange).values()
        if 2 * tf >= h or tw > b:
            raise ModelError("I section", "flange", (tw, tf), "the walls must fit into width and height")
        clear = h - 2 * tf
        A = 2 * b * tf + clear * tw
        Iy = (b * h**3 - (b - tw) * clear**3) / 12
        Iz = (2 * tf * b**3 + clear * tw**3) / 12
        J = (2 * b * tf**3 + (h - tf) * tw**3) / 3
        return cls(A, Iy, Iz, J, 5 / 6 * 2 * b * tf / A, (h - tf) * tw / A, _corners(b, h), max(tw, tf))


def check_material(item: str, material: Any) -> None:
    """Raise `ModelError` unless a value is a material."""
    if not isinstance(material, Material):
        raise ModelError(item, "material", material, "give a Material(E=..., nu=..., density=...)")


def _corners(y: float, z: float) -> Array:
    return np.array([[y, z], [-y, z], [-y, -z], [y, -z]]) / 2
