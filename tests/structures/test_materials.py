"""Common materials by name, wherever densities and materials are taken."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

materials = da.structures.materials


@pytest.mark.parametrize("name", materials.__all__)
def test_numbers_are_those_of_solids(name: str) -> None:
    """Shear moduli of standards, and the speed of sound in a rod, in which slips by powers of ten show."""
    m = getattr(materials, name)
    assert 3000 < math.sqrt(m.E / m.density) < 5400  # m/s
    assert 1500 < m.density < 20000


def test_shear_moduli_are_those_that_standards_print() -> None:
    """GPa: EN 1993-1-1 and EN 1999-1-1, the metals as Kaye and Laby have them."""
    printed = {"steel": 81, "aluminium": 27, "copper": 48.3, "brass": 37.3, "tungsten": 160.6, "magnesium": 17.3}
    for name, G in printed.items():
        assert math.isclose(getattr(materials, name).G / 1e9, G, rel_tol=4e-3), name


def test_the_table_describes_its_names() -> None:
    rows = [line.split() for line in (materials.__doc__ or "").splitlines()]
    table = {row[0]: row[1:4] for row in rows if row and row[0] in materials.__all__}
    assert sorted(table) == sorted(materials.__all__)
    for name, (E, nu, density) in table.items():
        m = getattr(materials, name)
        assert (float(E) * 1e9, float(nu), float(density)) == pytest.approx((m.E, m.nu, m.density))


def test_shapes_take_a_material_for_a_density() -> None:
    steel = da.materials.steel
    for given in (steel, steel.density):
        shapes = [
            da.box(0.1, 0.2, 0.3, density=given),
            da.sphere(0.1, density=given),
            da.tube(1.0, 0.1, 0.09, density=given),
            da.rod(1.0, radius=0.01, density=given),
        ]
        volumes = [0.006, 4 / 3 * math.pi * 1e-3, math.pi * 0.0019, math.pi * 1e-4]
        assert np.allclose([shape.mass for shape in shapes], 7850 * np.array(volumes))
    assert da.sphere(0.1, density=replace(steel, density=0.0)).mass == 0.0


def test_files_keep_bodies_of_materials(tmp_path: Path) -> None:
    s = da.System("pendulum")
    bob = s.body("bob", da.cylinder(0.3, 0.02, density=da.materials.brass))
    s.connect("A", da.Revolute("y"), s.ground, bob)
    da.save(s, tmp_path / "pendulum.yaml")
    assert da.load(tmp_path / "pendulum.yaml").bodies["bob"].mass == pytest.approx(bob.mass, rel=1e-14)


def test_what_is_no_material_is_refused_by_name() -> None:
    with pytest.raises(da.ModelError, match="density"):
        da.box(1, 1, 1, density="steel")  # type: ignore[arg-type]
