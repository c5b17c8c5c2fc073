"""Common materials by name: typical values at room temperature.

These are nominal design values. For a particular batch, temper or temperature use
``dataclasses.replace(materials.steel, density=7870)``. Plastics, rubber, wood and composites are not included, because
one modulus does not describe them: it depends on rate, temperature, moisture and direction.

===================  =======  =====  =======  ===================================================================
name                 E, GPa   nu     kg/m3    source
===================  =======  =====  =======  ===================================================================
steel                210      0.30   7850     structural steel: EN 1993-1-1, 3.2.6; EN 1991-1-1, table A.4
stainless_steel      200      0.30   7900     1.4301 (AISI 304): EN 10088-1, annex; EN 1993-1-4, 2.1.3
cast_iron            110      0.26   7200     EN-GJL-250: EN 1561, annex A, middle of 103 to 118 GPa
ductile_iron         169      0.275  7100     EN-GJS-400-15: EN 1563, annex
aluminium            70       0.30   2700     structural alloys: EN 1999-1-1, 3.2.5
titanium             110      0.31   4430     Ti-6Al-4V, annealed: MMPDS, 16.0e6 psi and 0.160 lb/in3
magnesium            44.7     0.291  1738     pure: Kaye and Laby, Tables of Physical and Chemical Constants
copper               129.8    0.343  8960     pure: Kaye and Laby
brass                100.6    0.350  8530     70 Cu 30 Zn: Kaye and Laby; density CDA, alloy C26000
tungsten             411      0.280  19300    pure: Kaye and Laby
glass                70       0.20   2500     soda lime: EN 572-1
concrete             33       0.20   2500     C30/37, uncracked, reinforced: EN 1992-1-1, table 3.1 and 3.1.3
===================  =======  =====  =======  ===================================================================

Examples
--------
>>> import dalembert as da
>>> shaft = da.cylinder(length=0.5, radius=0.02, density=da.materials.steel)
>>> round(shaft.mass, 3)
4.932
>>> arm = da.beam(1.0, da.Section.circle(0.01), da.materials.aluminium, elements=4)
>>> round(arm.mass, 4)
0.8482
"""

from __future__ import annotations

from .sections import Material

__all__ = [
    "aluminium",
    "brass",
    "cast_iron",
    "concrete",
    "copper",
    "ductile_iron",
    "glass",
    "magnesium",
    "stainless_steel",
    "steel",
    "titanium",
    "tungsten",
]

steel = Material(E=210e9, nu=0.30, density=7850.0)
stainless_steel = Material(E=200e9, nu=0.30, density=7900.0)
cast_iron = Material(E=110e9, nu=0.26, density=7200.0)
ductile_iron = Material(E=169e9, nu=0.275, density=7100.0)
aluminium = Material(E=70e9, nu=0.30, density=2700.0)
titanium = Material(E=110e9, nu=0.31, density=4430.0)
magnesium = Material(E=44.7e9, nu=0.291, density=1738.0)
copper = Material(E=129.8e9, nu=0.343, density=8960.0)
brass = Material(E=100.6e9, nu=0.350, density=8530.0)
tungsten = Material(E=411e9, nu=0.280, density=19300.0)
glass = Material(E=70e9, nu=0.20, density=2500.0)
concrete = Material(E=33e9, nu=0.20, density=2500.0)
