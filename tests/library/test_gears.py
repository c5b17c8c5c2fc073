"""Involute gears: numbers of the textbooks, teeth that touch and do not overlap, trains that turn as they should."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.optimize import brentq

import dalembert as da

L = da.library
Gear, GearPair, Rack = L.Gear, L.GearPair, L.Rack


def depth(points: np.ndarray, outline: np.ndarray) -> float:
    """Return how far points (k, 2) lie inside an outline at most, m."""
    inside = points[Path(outline).contains_points(points)]
    if not len(inside):
        return 0.0
    a, b = outline, np.roll(outline, -1, axis=0)
    along = b - a
    length = np.maximum((along**2).sum(1), 1e-300)
    t = np.clip(((inside[:, None] - a) * along).sum(2) / length, 0, 1)
    return float(np.linalg.norm(inside[:, None] - a - t[..., None] * along, axis=2).min(1).max())


def turned(outline: np.ndarray, angle: float, centre: float = 0.0) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return outline @ np.array([[c, s], [-s, c]]) + (centre, 0.0)


def test_the_involute_function_and_its_inverse() -> None:
    assert L.involute(math.radians(20)) == pytest.approx(0.0149044, abs=1e-7)  # tables
    for angle in (1e-4, 0.05, 0.35, 0.7, 1.2, 1.5):
        assert L.involute_angle(L.involute(angle)) == pytest.approx(angle, rel=1e-9)
    assert L.involute_angle(0.0) == pytest.approx(0.0, abs=1e-7)
    with pytest.raises(da.ModelError, match="not negative"):
        L.involute_angle(-0.1)


def test_numbers_of_a_wheel() -> None:
    g = Gear(0.004, 24, shift=0.2)
    assert (g.pitch_radius, g.tip_radius, g.root_radius) == pytest.approx((0.048, 0.0528, 0.0438))
    assert g.base_radius == pytest.approx(0.048 * math.cos(math.radians(20)))
    assert g.thickness(g.pitch_radius) == pytest.approx(0.004 * (math.pi / 2 + 0.4 * math.tan(math.radians(20))))
    assert Gear(0.001, 17, undercut=True).fewest_teeth == pytest.approx(17.097, abs=1e-3)
    assert Gear(0.001, 10, shift=0.5).least_shift == pytest.approx(1 - 10 / 17.097, abs=1e-4)


def test_distance_of_axes_with_shift() -> None:
    a, b = Gear(0.003, 14, shift=0.4), Gear(0.003, 33, shift=0.25)
    pair = GearPair(a, b)
    alpha = math.radians(20)
    value = L.involute(alpha) + 2 * math.tan(alpha) * 0.65 / 47
    working = brentq(lambda x: math.tan(x) - x - value, 0.2, 0.8, xtol=1e-15)
    assert pair.centre == pytest.approx(0.003 * 47 / 2 * math.cos(alpha) / math.cos(working), rel=1e-12)
    assert pair.backlash == pytest.approx(0.0, abs=1e-15)
    # of first order in the shift
    assert GearPair(a, b, pair.centre + 1e-4).backlash == pytest.approx(2e-4 * math.tan(pair.working_angle), rel=0.02)
    # contact ratio: from the first to the last point of the line of action, by where tips cross it
    line = [math.sqrt(g.tip_radius**2 - g.base_radius**2) for g in (a, b)]
    length = sum(line) - pair.centre * math.sin(working)
    assert pair.contact_ratio == pytest.approx(length / (math.pi * 0.003 * math.cos(alpha)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Gear(0.002, 20), Gear(0.002, 41)),
        (Gear(0.002, 20), Gear(0.002, 30)),
        (Gear(0.002, 12, shift=0.35), Gear(0.002, 30, shift=-0.1)),
        (Gear(0.002, 20), L.ring_for(Gear(0.002, 20), 61)),
    ],
)
def test_teeth_touch_and_do_not_overlap(first: Any, second: Any) -> None:
    pair = GearPair(first, second)
    s = L.spur_gears(first, second)
    centre = s.connections["shaft_2"].first.position[0]
    a, b = s.bodies["first"].shape.outline, s.bodies["second"].shape.outline
    for angle in np.linspace(0, 2 * math.pi / first.teeth, 7):
        one = turned(a, angle)
        two = turned(b, pair.ratio * angle, centre)
        near = [x[np.hypot(*(x - (first.pitch_radius, 0)).T) < 4 * first.module] for x in (one, two)]
        assert max(depth(near[0], two), depth(near[1], one)) < 0.004 * first.module  # outlines have corners
        # turned on by a little, without the other: they overlap, so they touched
        late = turned(b, pair.ratio * angle + 0.02 * first.module / second.pitch_radius, centre)
        assert max(depth(near[0], late), depth(late, one)) > 0.005 * first.module


def test_a_rack_meets_its_pinion() -> None:
    g = Gear(0.002, 18)
    s = L.rack_drive(g)
    a, b = s.bodies["pinion"].shape.outline, s.bodies["rack"].shape.outline
    for angle in np.linspace(0, 2 * math.pi / 18, 5):
        one, two = turned(a, angle), b + np.array([g.pitch_radius * angle, -Rack(g).distance])
        near = [x[np.hypot(*(x + np.array([0, g.pitch_radius])).T) < 4 * g.module] for x in (one, two)]
        assert max(depth(near[0], two), depth(near[1], one)) < 0.004 * g.module
    s.drive("shaft", speed=2.0)
    result = da.simulate(s, 1.0)
    assert result["slide.position"][-1] == pytest.approx(2.0 * g.pitch_radius)


@pytest.mark.parametrize(("held", "driven"), [("ring", "sun"), ("sun", "ring"), ("carrier", "sun")])
def test_planetary_gears_follow_willis_equation(held: str, driven: str) -> None:
    s = L.planetary(Gear(0.002, 24), Gear(0.002, 18), 3, held=held)
    assert da.mobility(s).mobility == 2
    assert da.mobility(s).driven_mobility == 1
    s.drive(f"{driven}_shaft", speed=10.0)
    result = da.simulate(s, 0.5)
    sun, ring, carrier = (result[f"{k}_shaft.speed"][-1] for k in ("sun", "ring", "carrier"))
    assert (sun - carrier) * 24 == pytest.approx(-(ring - carrier) * 60, abs=1e-6)
    planet = result["planet_2_pin.speed"][-1]
    assert planet * 18 == pytest.approx(-(sun - carrier) * 24)


def test_planets_are_in_mesh_on_both_sides() -> None:
    s = L.planetary(Gear(0.002, 20), Gear(0.002, 19), 2, held=None)
    result = da.simulate(s, 1e-9)
    module = 0.002
    sun, ring = (turned(s.bodies[k].shape.outline, 0.0) for k in ("sun", "ring"))
    for k in (1, 2):
        x = result[f"planet_{k}.position"][0, :2]
        teeth = s.bodies[f"planet_{k}"].shape.outline + x
        inner = teeth[np.linalg.norm(teeth, axis=1) < np.linalg.norm(x)]
        outer = teeth[np.linalg.norm(teeth, axis=1) > np.linalg.norm(x)]
        assert depth(inner, sun) < 0.004 * module
        assert depth(outer, ring) < 0.004 * module


def test_a_differential_shares_the_turns() -> None:
    s = L.differential()
    assert da.mobility(s).mobility == 2
    s.drive("case_shaft", speed=3.0)
    s.drive("left_shaft", speed=5.0)
    assert da.simulate(s, 1.0)["right_shaft.position"][-1] == pytest.approx(1.0)


def test_cardan_gears_draw_a_straight_line() -> None:
    s = L.cardan_gears(angle=0.3)
    assert da.mobility(s).mobility == 1
    s.drive("crank_shaft", position=da.Polynomial((0.3, 2 * math.pi)))
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 41))
    x = result["planet.P.position"]
    assert np.abs(x[:, 1]).max() < 1e-10
    assert np.allclose(x[:, 0], 0.036 * np.cos(result["crank_shaft.position"]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gear(0.002, 12), r"teeth is 12; undercut: give 18 teeth or more, a shift of 0.2981 or more"),
        (lambda: Gear(0.002, 8, shift=1.0), r"are pointed \(-0.578 modules thick"),
        (lambda: Gear(0.002, 30, internal=True), r"extend inside its base circle \(0.028 m < 0.0281908 m\)"),
        (lambda: Gear(-1, 20), r"above zero"),
        (lambda: Gear(0.002, 20, pressure_angle=20), r"0.349 is 20"),
        (lambda: GearPair(Gear(0.002, 20), Gear(0.003, 20)), r"they must be equal"),
        (lambda: GearPair(Gear(0.002, 20), Gear(0.002, 20), 0.043), r"the contact ratio is 0.3367"),
        (lambda: GearPair(Gear(0.002, 40), Gear(0.002, 40), 0.0799), r"the teeth overlap by .* 0.08 m is the least"),
        (lambda: GearPair(Gear(0.002, 18), Gear(0.002, 60, internal=True)), r"interference"),
        (lambda: L.planetary(Gear(0.002, 24), Gear(0.002, 18), 5), r"have 84 teeth together.*1, 2, 3, 4, 6, 7, 12"),
        (lambda: L.planetary(Gear(0.002, 24), Gear(0.002, 18), 7), r"they touch: axes 0.0364462 m apart"),
        (
            lambda: L.planetary(Gear(0.002, 24), Gear(0.002, 18), ring=L.ring_for(Gear(0.002, 18), 62)),
            r"from sun to planet it is 0.042 m, from ring to planet 0.044 m",
        ),
        (lambda: L.cardan_gears(Gear(0.002, 18, shift=0.2)), r"without shift"),
    ],
)
def test_what_does_not_mesh_is_refused_with_numbers(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()


def test_a_prism_has_the_mass_of_what_it_outlines() -> None:
    block = da.shapes.prism([(-1, -2), (3, -2), (3, 1), (-1, 1)], 0.5, density=2.0)
    same = da.box(4, 3, 0.5, density=2.0)
    assert block.mass == pytest.approx(same.mass)
    assert np.allclose(block.com, (1, -0.5, 0))
    assert np.allclose(block.inertia, same.inertia)
    a = np.linspace(0, 2 * math.pi, 2001)
    circle = np.column_stack([np.cos(a), np.sin(a)])
    ring = da.shapes.prism(np.concatenate([circle, 0.6 * circle[::-1]]), 0.2, 3.0)
    tube = da.tube(0.2, 1.0, 0.6, 3.0)
    assert np.allclose(ring.inertia, tube.inertia, rtol=1e-5)
    reversed_ = da.shapes.prism([(0, 0), (0, 1), (1, 0)], 0.1, 1.0)
    assert reversed_.outline is not None
    assert np.allclose(reversed_.com, (1 / 3, 1 / 3, 0))
    with pytest.raises(da.ModelError, match="enclose an area"):
        da.shapes.prism([(0, 0), (1, 1), (2, 2)], 0.1, 1.0)


def test_teeth_show_in_pictures() -> None:
    from dalembert.view.scene.solids import prism

    outline = Gear(0.002, 20).outline()
    s = L.spur_gears(Gear(0.002, 20), Gear(0.002, 41))
    ax = s.draw(labels=False)
    shown = [len(path.vertices) for c in ax.collections if c.get_gid() == "bodies" for path in c.get_paths()]
    assert min(shown) >= len(outline)
    solid = prism(outline, 0.01)
    corners = solid.corners[solid.faces]
    volume = np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    volume += np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 2], corners[:, 3])).sum() / 6
    x, y = outline.T
    area = 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))
    assert volume == pytest.approx(0.01 * area)  # the faces close
    assert s.draw(view="3d", labels=False) is not None


HELIX = math.radians(22.0)


@pytest.mark.parametrize("teeth, shift, internal", [(23, 0.2, False), (41, -0.1, False), (61, 0.1, True)])
def test_a_helical_gear_is_a_spur_gear_in_a_section_across_its_axis(teeth: int, shift: float, internal: bool) -> None:
    """With module and pressure angle of that section, and heights and shifts in its modules."""
    wheel = Gear(0.003, teeth, shift=shift, internal=internal, helix=HELIX)
    c = math.cos(HELIX)
    angle = math.atan(math.tan(math.radians(20)) / c)
    twin = Gear(0.003 / c, teeth, angle, shift * c, addendum=c, dedendum=1.25 * c, internal=internal)
    for name in ("pitch_radius", "base_radius", "tip_radius", "root_radius", "base_pitch", "fewest_teeth"):
        assert getattr(wheel, name) == pytest.approx(getattr(twin, name), rel=1e-12), name
    assert wheel.least_shift * c == pytest.approx(twin.least_shift, rel=1e-12)
    assert np.allclose(wheel.outline(rim=c), twin.outline(rim=c * c))
    assert wheel.thickness(wheel.pitch_radius) == pytest.approx(twin.thickness(twin.pitch_radius), rel=1e-12)


def test_helical_pairs_overlap_by_their_pitch_along_the_axis() -> None:
    first, second = Gear(0.002, 20, shift=0.2, helix=HELIX), Gear(0.002, 47, shift=0.1, helix=-HELIX)
    pair, c = GearPair(first, second), math.cos(HELIX)
    angle = first.transverse_angle
    twins = [Gear(0.002 / c, g.teeth, angle, g.shift * c, addendum=c, dedendum=1.25 * c) for g in (first, second)]
    plane = GearPair(*twins)
    assert pair.centre == pytest.approx(plane.centre, rel=1e-12)
    assert pair.contact_ratio == pytest.approx(plane.contact_ratio, rel=1e-12)
    assert pair.overlap_ratio(0.03) == pytest.approx(0.03 / (first.lead / first.teeth), rel=1e-12)
    assert pair.total_contact_ratio(0.03) == pytest.approx(pair.contact_ratio + pair.overlap_ratio(0.03))
    assert GearPair(Gear(0.002, 20), Gear(0.002, 40)).overlap_ratio(0.03) == 0.0


def test_teeth_press_along_the_normal_of_their_flanks() -> None:
    """In the plane that touches the base cylinders, inclined by the helix angle there."""
    first, second = Gear(0.002, 20, shift=0.3, helix=HELIX), Gear(0.002, 47, helix=-HELIX)
    pair = GearPair(first, second)
    force = pair.forces(12.0)
    assert force.axial == pytest.approx(force.normal * math.sin(first.base_helix), rel=1e-12)
    assert force.normal * math.cos(first.base_helix) * first.base_radius == pytest.approx(12.0, rel=1e-12)
    back = pair.forces(-12.0)
    assert back.axial == -force.axial and back.radial == force.radial < 0
    assert GearPair(Gear(0.002, 20), Gear(0.002, 40)).forces(1.0).axial == 0.0
    # the normal of a right-handed flank: along the trace of a tooth nothing presses
    radius = first.base_radius / math.cos(pair.working_angle)
    trace = np.array([2 * math.pi * radius, first.lead])
    assert np.dot(trace, (force.tangential, force.axial)) == pytest.approx(0.0, abs=1e-9)


def test_helical_rings_racks_and_trains() -> None:
    from dalembert.library import Rack, ring_for, spur_gears

    pinion = Gear(0.002, 18, helix=0.3)
    ring = ring_for(pinion, 60)
    assert ring.helix == 0.3 and GearPair(pinion, ring).ratio == pytest.approx(0.3)
    assert Rack(pinion).contact_ratio < Rack(Gear(0.002, 18)).contact_ratio
    s = spur_gears(Gear(0.002, 18, helix=0.3), Gear(0.002, 36, helix=-0.3))
    motion = da.kinematics(s, drive="shaft_1", values=[0.0, 1.0])
    assert motion["shaft_2"][-1] == pytest.approx(-0.5)
    with pytest.raises(da.ModelError, match=r"opposite helix angles: -0\.3 rad for 0\.3"):
        GearPair(Gear(0.002, 18, helix=0.3), Gear(0.002, 36, helix=0.3))
    with pytest.raises(da.ModelError, match="the same helix angle"):
        GearPair(pinion, ring_for(Gear(0.002, 18, helix=-0.3), 60))
    with pytest.raises(da.ModelError, match="less than 60 degrees"):
        Gear(0.002, 18, helix=20.0)
    assert Gear(0.002, 14, helix=math.radians(30)).virtual_teeth > 20  # no undercut with 14 teeth
