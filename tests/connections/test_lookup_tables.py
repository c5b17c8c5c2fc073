"""Tables in joints, constraints and couplings that users write; tables that repeat; functions as tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da

PLACES = np.linspace(-2.0, 2.0, 801)
WAVE = da.Table(PLACES, values=0.2 * np.cos(PLACES))


def slide(**how: Any) -> da.System:
    s = da.System("slide")
    s.connect("wire", da.CustomJoint(("s",), **how), s.ground, s.body("bead", da.sphere(0.1, mass=1.0)))
    s.initial("wire", position=1.0)
    return s


def test_a_joint_by_a_table_is_that_by_its_formula() -> None:
    by = [
        {"position": ("s", 0, "f(s)"), "tables": {"f": WAVE}},
        {"position": ("s", 0, "0.2*cos(s)")},
    ]
    runs = [da.simulate(slide(**how), 1.0, rtol=1e-9, atol=1e-11, times=[0.3, 1.0]) for how in by]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-7)  # the spline misses by 1e-11, its curvature by 1e-7
    model = slide(**by[0]).compile()
    a = model.d_dynamics(0.0, [0.4], [0.3]).a
    ends = [model.dynamics(0.0, [0.4 + h], [0.3]).a for h in (1e-6, -1e-6)]
    assert a[0][0, 0] == pytest.approx((ends[0] - ends[1])[0] / 2e-6, rel=1e-4)
    many = model.dynamics(np.zeros(3), [[0.1], [0.2], [0.4]], [[0.3]] * 3).a
    assert many[2, 0] == pytest.approx(model.dynamics(0.0, [0.4], [0.3]).a[0], rel=1e-12)


def test_constraints_and_couplings_call_tables_beside_elements_that_do() -> None:
    ends = []
    for table in (True, False):
        tables: Any = {"f": WAVE} if table else {}
        height = "f(x)" if table else "0.2*cos(x)"
        lift = "f(s1)" if table else "0.2*cos(s1)"
        s = da.System("both")
        block, lifter = (s.body(name, da.box(0.1, 0.1, 0.1, mass=m)) for name, m in (("block", 1.0), ("lifter", 0.5)))
        s.connect("P", da.Planar("y"), s.ground, block)
        s.connect("on", da.CustomConstraint(f"z - {height}", tables=tables), s.ground, block)
        s.connect("A", da.Revolute("y"), s.ground, s.body("cam", da.cylinder(0.1, 0.05, mass=2.0)))
        s.connect("L", da.Prismatic("z"), s.ground, lifter)
        s.connect("cam law", da.CustomCoupling(f"s2 - {lift}", tables=tables), "A", "L")
        law = da.Table([-3.0, 0.0, 3.0], values=[30.0, 0.0, -30.0], kind="linear")
        s.connect("spring", da.Element("joint", "g(s)", tables={"g": law}), "A")
        s.initial("A", position=0.7)
        s.initial("P", position=(0.12, 0.9, 0.0))
        run = da.simulate(s, 0.4, rtol=1e-9, atol=1e-11)
        assert np.abs(run["energy.balance"]).max() < 1e-6
        ends.append([*run["block.position"][-1], run["A.position"][-1], run["L.position"][-1]])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


def test_leaving_a_table_is_an_error_and_what_is_no_table_is_refused() -> None:
    narrow = da.Table([0.0, 0.5, 1.1], values=[0.0, 0.0, 0.0])
    with pytest.raises(da.DalembertError):
        s = slide(position=("s", 0, "f(s)"), tables={"f": narrow}, reference=[0.5])
        s.initial("wire", position=1.0, speed=1.0)
        da.simulate(s, 1.0)
    with pytest.raises(da.ModelError, match=r"give a da\.Table"):
        da.CustomJoint(("s",), ("f(s)", 0, 0), tables={"f": 3.0})  # type: ignore[dict-item]


def test_a_table_that_repeats_goes_on_smoothly() -> None:
    angles = np.linspace(0.0, 2 * np.pi, 61)
    table = da.Table(angles, values=np.sin(angles), outside="repeat")
    x = np.linspace(-20.0, 20.0, 301)
    np.testing.assert_allclose(table.evaluate(x), np.sin(x), atol=1e-6)
    np.testing.assert_allclose(table.slope(0).evaluate(x), np.cos(x), atol=1e-4)
    s = da.System("wheel", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("wheel", da.cylinder(0.2, 0.1, mass=2.0)))
    s.connect("detent", da.Element("joint", "-0.3*f(s)", tables={"f": table}, active=True), "A")
    s.initial("A", position=1.0, speed=12.0)
    other = s.copy()
    other.remove("detent")
    other.connect("detent", da.Element("joint", "-0.3*sin(s)", active=True), "A")
    ends = [da.simulate(each, 2.0, rtol=1e-9, atol=1e-11)["A.position"][-1] for each in (s, other)]
    assert ends[0] > 6 * np.pi and ends[0] == pytest.approx(ends[1], abs=1e-4)
    with pytest.raises(da.ModelError, match="ends as it begins"):
        da.Table([0.0, 1.0], values=[0.0, 1.0], outside="repeat")


def test_any_function_becomes_a_table_with_its_error() -> None:
    table = da.Table.sampled(lambda x: math.exp(-x) if x > 0 else 1 - x + x * x / 2, (-1.0, 2.0), tolerance=1e-7)
    assert 0.0 < table.error < 1e-6
    x = np.linspace(-1.0, 2.0, 777)
    np.testing.assert_allclose(table.evaluate(x), np.where(x > 0, np.exp(-x), 1 - x + x * x / 2), atol=2 * table.error)
    flat = da.Table.sampled(lambda x, y: math.sin(x) * y, (0.0, 3.0), (-1.0, 1.0), tolerance=1e-5)
    assert float(flat.evaluate(1.0, 0.5)) == pytest.approx(0.5 * math.sin(1.0), abs=1e-5)
    with pytest.raises(da.ModelError, match="its error is"):
        da.Table.sampled(lambda x: 0.0 if x < 0.3 else 1.0, (0.0, 1.0))
    with pytest.raises(da.ModelError, match="finite"):
        da.Table.sampled(lambda x: math.inf, (0.0, 1.0))
