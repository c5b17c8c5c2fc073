"""Bevel gear meshes and trains of two stages against closed forms and independent matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da

STIFF = 2e8  # N/m


def across(angle: float) -> dict[str, Any]:
    """Return the orientation of the second axis."""
    return {"rotation": ("y", angle)}


def pair(mesh: da.BevelMesh, shaft: float = math.pi / 2, inertias: tuple[float, float] = (1e-3, 8e-3)) -> da.System:
    s = da.System("bevel", gravity=(0, 0, 0))
    for name, place, inertia in (("one", s.ground, inertias[0]), ("two", s.ground.at(**across(shaft)), inertias[1])):
        gear = s.body(name, mass=1.0, inertia=[inertia] * 3)
        s.connect(f"{name}_axle", da.Revolute("z"), place, gear)
    s.connect("mesh", mesh, s.ground, "one", "two")
    return s


@pytest.mark.parametrize("shaft", [math.pi / 2, 1.2, 2.0])
@pytest.mark.parametrize("spiral", [0.0, math.radians(35.0), -0.4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bearings_take_the_forces_of_the_textbook(shaft: float, spiral: float, sign: float) -> None:
    """Ft = T/r; radial and axial by al, be, d: Niemann and Winter III, 24; they act at the mean point of the teeth."""
    alpha, torque = math.radians(20.0), 50.0
    mesh = da.BevelMesh((20, 31), 0.12, STIFF, 100.0, shaft_angle=shaft, pressure_angle=alpha, spiral_angle=spiral)
    s = pair(mesh, shaft)
    model = s.compile()
    d1, _ = mesh.pitch_angles
    r1, r2 = mesh.mean_radii
    assert r1 / r2 == pytest.approx(20 / 31)
    N = torque / (r1 * math.cos(alpha) * math.cos(spiral))
    twist = N / STIFF / (r1 * math.cos(alpha) * math.cos(spiral))
    q = np.array([sign * twist if name == "one_axle" else 0.0 for name in model.coordinate_names])
    loads = model.connection_loads(q, np.zeros(2), np.zeros(2))
    tangential = torque / r1
    # forces on gear 1: against its motion, towards its axis, and along it
    ta, be = math.tan(alpha) / math.cos(spiral), sign * math.tan(spiral)
    radial = tangential * (ta * math.cos(d1) + be * math.sin(d1))
    axial = tangential * (ta * math.sin(d1) - be * math.cos(d1))
    expected = np.array([-radial, -sign * tangential, axial])
    found = -loads["one_axle"][3:]  # the bearing holds against them
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * tangential)
    np.testing.assert_allclose(loads["two_axle"][3:], -loads["one_axle"][3:], atol=1e-9 * tangential)
    moments = model.report(["body_loads"], 0.0, q, np.zeros(2))["body_loads"][:, :3]
    axes = {"one": (0.0, 0.0, 1.0), "two": (math.sin(shaft), 0.0, math.cos(shaft))}
    effort = [float(np.dot(axes[name], moment)) for name, moment in zip(model.body_names, moments, strict=True)]
    np.testing.assert_allclose(effort, [-sign * torque, -sign * torque * r2 / r1], rtol=1e-9)


def test_torsional_frequency_is_that_of_two_discs() -> None:
    """omega^2 = k cos^2(al) cos^2(be) (r1^2/J1 + r2^2/J2), on the side that bears."""
    mesh = da.BevelMesh((16, 40), 0.1, STIFF, spiral_angle=0.5)
    model = pair(mesh).compile()
    q = np.where([name == "one_axle" for name in model.coordinate_names], 1e-5, 0.0)
    by_q = model.d_dynamics(0.0, q, np.zeros(2)).a.q
    r1, r2 = mesh.mean_radii
    along = math.cos(math.radians(20.0)) * math.cos(0.5)
    expected = STIFF * along**2 * (r1**2 / 1e-3 + r2**2 / 8e-3)
    values = np.sort(np.linalg.eigvals(-by_q).real)
    np.testing.assert_allclose(values, [0.0, expected], rtol=1e-6, atol=1e-3)


def test_gears_turn_by_their_ratio_over_many_teeth_and_keep_energy() -> None:
    mesh = da.BevelMesh((16, 40), 0.1, STIFF, backlash=1e-4, variation=0.2, spiral_angle=0.3)
    s = pair(mesh)
    s.initial("one_axle", speed=30.0)
    result = da.simulate(s, 0.6, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result["energy.total"], 0.45, rtol=1e-6)
    one, two = result["one_axle.position"], result["two_axle.position"]
    assert one[-1] > 3.0  # many pitches
    r1, r2 = mesh.mean_radii
    gap = r1 * one + r2 * two
    assert np.abs(gap).max() < 1e-3 and np.ptp(gap) > 5e-5  # rattles within the play
    # mean velocities after the first impacts are those of the momentum that both share at rest to each other
    s.connect("load", da.Effort(0.5), "two_axle")
    s.drive("one_axle", speed=30.0)
    damped = da.BevelMesh((16, 40), 0.1, STIFF, 2e4, backlash=1e-4, spiral_angle=0.3)
    s = pair(damped)
    s.connect("load", da.Effort(0.5), "two_axle")
    s.drive("one_axle", speed=30.0)
    driven = da.simulate(s, 0.3)
    assert driven["two_axle.speed"][-1] == pytest.approx(-30.0 * 0.4, rel=1e-5)
    r2 = damped.mean_radii[1]
    along = math.cos(math.radians(20.0)) * math.cos(0.3)
    assert driven["mesh.force"][-1] == pytest.approx(0.5 / (r2 * along), rel=1e-4)


def test_displacements_of_bearings_are_felt_along_the_normal() -> None:
    """Axial and radial displacement of gear 1 change the overlap by the components of the normal."""
    mesh = da.BevelMesh((20, 30), 0.1, STIFF, spiral_angle=0.4)
    numbers = dict.fromkeys(mesh.input_names, 0.0) | {"ry2": math.pi / 2} | dict(mesh.parameters)

    def force(**measures: float) -> float:
        row = mesh.evaluate(np.array([[{**numbers, **measures}[name] for name in mesh.input_names]]))[0]
        return float(row[13 + list(mesh.signals).index("force")])

    d1, al, be = mesh.pitch_angles[0], math.radians(20.0), 0.4
    base = 1e-4
    n_z = -math.sin(al) * math.sin(d1) + math.cos(al) * math.sin(be) * math.cos(d1)
    n_x = math.sin(al) * math.cos(d1) + math.cos(al) * math.sin(be) * math.sin(d1)
    r1 = mesh.mean_radii[0]
    along = math.cos(al) * math.cos(be)
    start = force(rz1=base / (r1 * along))
    assert start == pytest.approx(STIFF * base, rel=1e-9)
    assert force(rz1=base / (r1 * along), z1=1e-5) - start == pytest.approx(STIFF * 1e-5 * n_z, rel=1e-9)
    assert force(rz1=base / (r1 * along), x1=1e-5) - start == pytest.approx(STIFF * 1e-5 * n_x, rel=1e-9)
    # a small tilt of gear 1 about y moves its mean point by a x z x P
    tilt = 1e-6
    moved = np.cross([0, tilt, 0], 0.1 * np.array([math.sin(d1), 0, math.cos(d1)]))
    change = STIFF * float(np.dot(moved, [n_x, along, n_z]))
    turned = np.array([0.0, tilt, 0.0])
    assert force(rx1=turned[0], ry1=turned[1], rz1=base / (r1 * along)) - start == pytest.approx(change, rel=1e-2)


def test_a_train_of_two_stages_has_the_frequencies_of_its_matrices() -> None:
    """Bevel stage, shaft, helical stage with bearings that yield along the axis: an independent 5 by 5 problem."""
    bevel = da.BevelMesh((18, 36), 0.09, 3e8)
    helical = da.GearMesh((22, 66), 2.5e-3, 4e8, helix_angle=math.radians(15.0))
    J = np.array([2e-4, 3e-3, 1e-3, 4e-2])
    shaft, mass, axial = 5e4, 6.0, 2e8  # N m/rad; kg and N/m of the wheel
    s = da.System("two stages", gravity=(0, 0, 0))
    base = s.ground.at(**across(math.pi / 2))
    for k, place in enumerate((s.ground, base, base)):
        s.connect(f"A{k}", da.Revolute("z"), place, s.body(f"gear{k}", mass=1.0, inertia=[J[k]] * 3))
    seat = base.at(helical.center_distance, 0, 0) if hasattr(base, "at") else None
    if seat is None:
        seat = s.ground.at(0, 0, -helical.center_distance, **across(math.pi / 2))
    s.connect("A3", da.Cylindrical("z"), seat, s.body("gear3", mass=mass, inertia=[J[3]] * 3))
    s.connect("bearing", da.JointSpring(stiffness=axial), "A3.slide")
    twist = da.Element(("joint", "joint"), None, {"k": shaft}, energy="k*(s1 - s2)**2/2")
    s.connect("shaft", twist, "A1", "A2")
    s.connect("bevel", bevel, s.ground, "gear0", "gear1")
    s.connect("helical", helical, base, "gear2", "gear3")
    model = s.compile()
    q = np.zeros(model.nq)
    names = list(model.coordinate_names)
    q[names.index("A0")] = 1e-6  # all flanks of one side bear
    q[names.index("A2")] = 1e-6
    by_q = model.d_dynamics(0.0, q, np.zeros(model.nv)).a.q
    r1, r2 = bevel.mean_radii
    b1, b2 = helical.base_radii
    rows = np.zeros((4, 5))  # of springs: bevel, shaft, helical, bearing
    al = math.cos(math.radians(20.0))
    rows[0, :2] = al * r1, al * r2
    rows[1, 1:3] = 1.0, -1.0
    beta_b = helical.geometry.base_helix
    rows[2, 2:] = b1, b2, math.tan(beta_b)
    rows[3, 4] = 1.0
    K = rows.T @ np.diag([3e8, shaft, 4e8 * math.cos(beta_b) ** 2, axial]) @ rows
    M = np.diag([*J, mass])
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    found = np.sort(np.linalg.eigvals(-by_q).real)
    np.testing.assert_allclose(np.sqrt(np.abs(found[1:])), np.sqrt(expected[1:]), rtol=1e-4)


BAD = [
    (((20, 30.5), 0.1, 1e8), {}, "BevelMesh: teeth"),
    (((20,), 0.1, 1e8), {}, "BevelMesh: teeth"),
    (((3, 30), 0.1, 1e8), {}, "BevelMesh: teeth"),
    (((20, 30), -0.1, 1e8), {}, "BevelMesh: cone_distance"),
    (((20, 30), 0.1, 0.0), {}, "BevelMesh: stiffness"),
    (((20, 30), 0.1, 1e8), {"shaft_angle": 0.0}, "BevelMesh: shaft_angle"),
    (((10, 60), 0.1, 1e8), {"shaft_angle": 2.6}, "pitch cone opens"),
    (((20, 30), 0.1, 1e8), {"variation": 1.0}, "BevelMesh: variation"),
    (((20, 30), 0.1, 1e8), {"spiral_angle": 1.2}, "BevelMesh: spiral_angle"),
    (((20, 30), 0.1, 1e8), {"backlash": -1.0}, "BevelMesh: backlash"),
]


@pytest.mark.parametrize(("arguments", "options", "words"), BAD)
def test_bevel_gears_that_do_not_fit_are_refused(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        da.BevelMesh(*arguments, **options)


def test_batches_files_and_pictures(tmp_path: Any) -> None:
    s = pair(da.BevelMesh((16, 40), 0.1, STIFF, 100.0, backlash=1e-5, variation=0.1, spiral_angle=0.2))
    model = s.compile()
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(9, 2)) * 1e-3, rng.normal(size=(9, 2))
    many = model.forward_dynamics(q, v)
    for row, a, b in zip(many, q, v, strict=True):
        np.testing.assert_allclose(row, model.forward_dynamics(a, b), rtol=1e-11)
    da.save(s, tmp_path / "bevel.yaml")
    np.testing.assert_array_equal(da.load(tmp_path / "bevel.yaml").compile().forward_dynamics(q, v), many)
    s.draw(path=tmp_path / "bevel.png")
    assert (tmp_path / "bevel.png").stat().st_size > 0
