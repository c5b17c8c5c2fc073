"""Equilibria over a load: snap-through, buckling, branches, against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

G = 9.81


def truss(stiffness: float = 1000.0, half: float = 1.0, rise: float = 0.4) -> da.System:
    """Von Mises' truss: two springs that lean against each other, and a load on top."""
    s = da.System("truss", gravity=(0, 0, 0))
    top = s.body("top", mass=1.0)
    s.connect("z", da.Prismatic("z"), s.ground, top)
    s.initial("z", position=rise)
    for name, x in (("left", -half), ("right", half)):
        s.connect(name, da.SpringDamper(stiffness, 0.0, np.hypot(half, rise)), s.ground.at(x, 0, 0), top)
    s.connect("P", da.Load(), top)
    return s


def test_von_mises_truss_snaps_at_its_limit_load() -> None:
    path = da.equilibrium_path(truss(), {"P.fz": -1.0}, 0.0, 60.0)
    free = np.hypot(1.0, 0.4)

    def load(z: np.ndarray) -> np.ndarray:
        return np.asarray(2 * 1000.0 * (free / np.hypot(1.0, z) - 1) * z)

    assert path.values == pytest.approx(load(path["z.position"]), abs=1e-7)
    height = np.sqrt(free ** (2 / 3) - 1)
    up, down = path.limit_points
    assert up.value == pytest.approx(float(load(height)), rel=1e-12)
    assert up.state.q[0] == pytest.approx(height, abs=1e-6)
    assert down.value == pytest.approx(-up.value)
    assert (path.stable == (np.abs(path["z.position"]) > height)).all()
    states = path.at(10.0)
    assert len(states) == 3
    assert load(np.array([state.q[0] for state in states])) == pytest.approx(10.0, rel=1e-9)
    assert "limit at 22.8438, along 'z'" in str(path)


def test_under_a_growing_load_the_truss_falls_to_the_other_side() -> None:
    below = da.equilibrium(truss(), inputs={"P.fz": -22.0})
    beyond = da.equilibrium(truss(), inputs={"P.fz": -23.0})
    assert below["z"] > 0.22 and beyond["z"] < -0.4 and below.stable and beyond.stable


def column(n: int, spring: float = 3.0, length: float = 1.0) -> da.System:
    """A column of n links on a foot, its head on a line, springs between links, pressed by a load."""
    s, h = da.System("column", gravity=(0, 0, 0)), length / n
    before = s.ground.at(0, 0, 0)
    for k in range(n):
        link = s.body(f"link_{k}", da.rod(h, 1.0 / n, axis="z"))
        s.connect(f"pin_{k}", da.Revolute("y"), before, link)
        if k:
            s.connect(f"c_{k}", da.TorsionSpring(stiffness=spring), f"pin_{k}")
        before = link.at(0, 0, h)
    s.connect("head", da.PointOnLine("z"), s.ground, before)
    s.connect("load", da.Load(force=(0, 0, -1.0)), before)
    return s


@pytest.mark.parametrize("n", [2, 5])
def test_a_column_of_links_buckles_at_its_critical_load(n: int) -> None:
    critical = 4 * 3.0 * n * np.sin(np.pi / (2 * n)) ** 2
    path = da.equilibrium_path(column(n), {"load.fz": -1.0}, 0.0, 1.3 * critical)
    assert path.bifurcations[0].value == pytest.approx(critical, rel=1e-9)
    assert path.stable[path.values < critical].all() and not path.stable[path.values > 1.01 * critical].any()
    assert len(path.branches) == 2
    for branch in path.branches:
        assert branch.stable[2:].all() and branch.values[-1] == pytest.approx(1.3 * critical)
    if n == 2:  # P = 2 c (2 angle) / (l sin(angle))
        angle = path.branches[0]["pin_0.position"]
        assert path.branches[0].values == pytest.approx(4 * 3.0 * angle / np.sin(angle), rel=1e-8)


def test_a_flexible_column_with_stiffening_buckles_at_eulers_load() -> None:
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    section = da.Section.rectangle(0.02, 0.01)
    s = da.System("column", gravity=(0, 0, 0))
    modes = da.structures.CraigBampton([0, 10], 4)
    beam = da.beam(1.0, section, steel, theory="euler", elements=10, modes=modes, stiffening=True, load_nodes=[10])
    arm = s.body("arm", beam)
    s.connect("clamp", da.Fixed(), s.ground, arm)
    s.connect("load", da.Load(), arm.at(1.0, 0, 0))
    euler = np.pi**2 * 210e9 * (0.02 * 0.01**3 / 12) / 4
    path = da.equilibrium_path(s, {"load.fx": -1.0}, 0.0, 1.2 * euler, branches=False)
    assert path.bifurcations[0].value == pytest.approx(
        euler, rel=1e-4
    )  # stiffness by second-order shapes of 10 elements
    assert path.stable[path.values < 0.99 * euler].all() and not path.stable[-1]


def test_the_governor_branches_off_at_its_critical_speed() -> None:
    s = da.System("governor")
    shaft = s.body("shaft", da.cylinder(0.3, 0.02, mass=1.0))
    arm = s.body("arm", mass=1.0, com=(0, 0, -0.3), inertia=(1e-12, 1e-12, 1e-12))
    s.connect("spin", da.Revolute("z"), s.ground, shaft)
    s.connect("tilt", da.Revolute("y", damping=0.1), shaft, arm)
    path = da.equilibrium_path(s, "spin.speed", 1.0, 9.0)
    (point,) = path.bifurcations
    assert point.value == pytest.approx(np.sqrt(G / 0.3), rel=1e-9)
    for branch in path.branches:
        assert np.cos(branch["tilt.position"]) == pytest.approx(G / 0.3 / branch.values**2, rel=1e-8)
        assert branch.stable.all()


def test_a_toggle_with_a_loop_snaps(tmp_path: Path) -> None:
    """A slider-crank under a force on its slider, held by a spring: the loop's own geometry makes it snap."""
    s = da.System("toggle", gravity=(0, 0, 0))
    a, b = s.body("a", da.rod(1.0, 1.0)), s.body("b", da.rod(1.0, 1.0))
    slider = s.body("slider", mass=0.5)
    s.connect("A", da.Revolute("-y"), s.ground, a)
    s.connect("B", da.Revolute("-y"), a.at(1, 0, 0), b)
    s.connect("C", da.Revolute("-y"), b.at(1, 0, 0), slider)
    s.connect("rail", da.Prismatic("x"), s.ground, slider)
    s.connect("k", da.JointSpring(stiffness=200.0, rest=2 * np.cos(0.4)), "rail")
    s.connect("P", da.Load(), a.at(1, 0, 0))
    path = da.equilibrium_path(s, {"P.fz": -1.0}, 0.0, 40.0, state={"A": 0.4, "B": -0.8})
    u = path["A.position"]
    # load and spring do work: P cos(u) = -k (2 cos u - rest) 2 sin u ... by virtual work
    wanted = 200.0 * (2 * np.cos(u) - 2 * np.cos(0.4)) * 2 * np.sin(u) / np.cos(u)
    assert path.values == pytest.approx(wanted, abs=1e-6)
    assert len(path.limit_points) == 2
    picture = tmp_path / "toggle.png"
    path.plot("A.position", path=picture)
    assert picture.stat().st_size > 5000


def test_bad_paths_are_refused_by_name() -> None:
    s = truss()
    with pytest.raises(da.ModelError, match=r"'P\.fq'"):
        da.equilibrium_path(s, "P.fq", 0.0, 1.0)
    with pytest.raises(da.ModelError, match="differ from start"):
        da.equilibrium_path(s, "P.fz", 1.0, 1.0)
    with pytest.raises(da.ModelError, match="depends on the load"):
        da.equilibrium_path(s, "P.fz", 0.0, -5.0)["z.force"]
