"""Gear meshes: against closed forms of involute teeth and the published frequencies of planetary gears."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from oracles.planetary_gears import PUBLISHED_FREQUENCIES, natural_frequencies, published_gear
from systems.planetary_gears import planetary

import dalembert as da

STIFF = 3e8  # N/m


def pair(mesh: da.GearMesh, distance: float | None = None) -> da.System:
    """Return two gears on fixed axes, the first at the origin, the second on the x axis."""
    s = da.System("pair", gravity=(0, 0, 0))
    pinion = s.body("pinion", da.cylinder(0.02, 0.03, mass=0.5))
    wheel = s.body("wheel", da.cylinder(0.02, 0.09, mass=3.0))
    a = mesh.center_distance if distance is None else distance
    s.connect("P", da.Revolute("z"), s.ground, pinion)
    s.connect("W", da.Revolute("z"), s.ground.at(a, 0, 0), wheel)
    s.connect("mesh", mesh, s.ground, pinion, wheel)
    return s


def law_at(mesh: da.GearMesh, **measures: float) -> dict[str, Any]:
    """Return signals, energy and loads at a placement; what is left out is zero, the centres are where they fit."""
    numbers = dict.fromkeys(mesh.input_names, 0.0) | {"x2": mesh.center_distance} | dict(mesh.parameters) | measures
    row = mesh.evaluate([numbers[name] for name in mesh.input_names])[0]
    found: dict[str, Any] = dict(zip(mesh.signals, row[13:], strict=True))
    return found | {"first": row[:6], "second": row[6:12], "energy": row[12]}


@pytest.mark.parametrize("planets", [3, 4])
def test_a_planetary_gear_has_its_published_frequencies(planets: int) -> None:
    """Lin and Parker 1999, table 2. The flanks that bear are those of a sun that drives the carrier."""
    gear = published_gear(planets)
    s = planetary(gear)
    model = s.compile()
    start = model.initial_state()
    q, names = start.q.copy(), list(model.coordinate_names)
    for name in names:
        if name.endswith(".angle") and name not in ("J_carrier.angle", "J_ring.angle"):
            q[names.index(name)] = 1e-8 if name == "J_sun.angle" else -3e-9
    found = da.modes(model, state=dataclasses.replace(start, q=q)).frequencies
    np.testing.assert_allclose(found, natural_frequencies(gear), rtol=1e-7, atol=1e-2)
    if planets == 3:
        single, double = PUBLISHED_FREQUENCIES
        np.testing.assert_allclose(found, sorted((*single, *double, *double)), atol=0.051)


def test_forces_act_along_the_line_of_action() -> None:
    """A spur pair under a torque: force T / r_b at the working pressure angle, moments about the centres only."""
    mesh = da.GearMesh((20, 60), 3e-3, STIFF)
    for sign in (1.0, -1.0):
        turn = sign * 1e-5
        found = law_at(mesh, rz1=turn, x2=0.1204)
        b1, b2 = mesh.base_radii
        phi = math.acos((b1 + b2) / 0.1204)
        h = (b1 + b2) * (math.tan(phi) - phi - (math.tan(math.radians(20)) - math.radians(20)))
        assert found["clearance"] == pytest.approx(2 * h, rel=1e-9) and h > 1e-5 * b1
        found = law_at(mesh, rz1=sign * 1e-2, x2=0.1204)
        N = STIFF * (1e-2 * b1 - h)
        assert found["force"] == pytest.approx(sign * N, rel=1e-9)
        push = N * np.array([math.sin(phi), sign * math.cos(phi), 0])
        np.testing.assert_allclose(found["second"], [*push, 0, 0, -sign * b2 * N], atol=1e-6 * N)
        np.testing.assert_allclose(found["first"], [*-push, 0, 0, -sign * b1 * N], atol=1e-6 * N)


def test_a_ring_turns_with_its_pinion_and_loses_backlash_where_they_part() -> None:
    mesh = da.GearMesh((20, 60), 3e-3, STIFF, internal=True, backlash=1e-4)
    assert mesh.ratio == pytest.approx(1 / 3) and mesh.center_distance == pytest.approx(0.06)
    b1, b2 = mesh.base_radii
    turned = law_at(mesh, rz1=0.9, rz2=0.3)
    assert abs(turned["transmission_error"]) < 1e-15
    driven = law_at(mesh, rz1=0.01)
    assert driven["force"] == pytest.approx(STIFF * (0.01 * b1 - 5e-5), rel=1e-9)
    assert driven["second"][5] == pytest.approx(b2 * driven["force"], rel=1e-9)
    assert law_at(mesh, x2=0.0601)["clearance"] < 1e-4 < law_at(mesh, x2=0.0599)["clearance"]


def test_helical_gears_push_along_their_axes() -> None:
    """Axial force N sin(beta_b), at each reference radius; a right-handed driving gear is pushed down."""
    beta = 0.3
    mesh = da.GearMesh((20, 60), 3e-3, STIFF, helix_angle=beta)
    b1, _ = mesh.base_radii
    base = math.atan(math.tan(beta) * b1 / (0.06 / 2 / math.cos(beta)))
    found = law_at(mesh, rz1=1e-3)
    N = STIFF * 1e-3 * b1 * math.cos(base)
    assert found["force"] == pytest.approx(N, rel=1e-9)
    axial = N * math.sin(base)
    r1, r2 = (m * 3e-3 / 2 / math.cos(beta) for m in (20, 60))
    # of the driving gear: along +z times the sign of the displacement that parts the flanks
    assert found["first"][2] == pytest.approx(axial, rel=1e-9)
    assert found["second"][2] == pytest.approx(-axial, rel=1e-9)
    assert found["first"][4] == pytest.approx(-r1 * axial, rel=1e-6)
    assert found["second"][4] == pytest.approx(-r2 * axial, rel=1e-6)
    moved = law_at(mesh, rz1=1e-3, z1=1e-3 * b1 / math.tan(base))  # a screw: as far along as it was turned
    assert abs(moved["transmission_error"]) < 1e-12


def test_loads_are_in_equilibrium_and_the_gradient_of_the_energy() -> None:
    """Also for gears that are displaced, tilted and turned by whole turns."""
    draw = np.random.default_rng(3)
    for options in ({}, {"varying": True, "droop": 0.2}, {"internal": True, "varying": True, "helix_angle": -0.2}):
        mesh = da.GearMesh((23, 61), 3e-3, STIFF, backlash=1e-5, **options)
        turn = 1.3 + 2e-3
        base = {"rz1": turn, "rz2": 1.3 * mesh.ratio, "z2": 1e-4, "y1": 1e-5}
        names = [f"{n}{k}" for k in "12" for n in ("x", "y", "z")]
        base |= {"x2": mesh.center_distance + 2e-5} | {"x1": 1e-5, "z1": float(draw.normal()) * 1e-5}
        found = law_at(mesh, **base)
        assert abs(found["force"]) > 1e3
        loads = np.concatenate([found["first"][:3], found["second"][:3]])
        for k, name in enumerate(names):
            ends = [law_at(mesh, **base | {name: base.get(name, 0.0) + d})["energy"] for d in (1e-8, -1e-8)]
            assert -(ends[0] - ends[1]) / 2e-8 == pytest.approx(loads[k], abs=1e-5 * abs(found["force"])), name
        for k, row in (("1", found["first"]), ("2", found["second"])):  # about their own axes
            ends = [law_at(mesh, **base | {f"rz{k}": base[f"rz{k}"] + d})["energy"] for d in (1e-7, -1e-7)]
            assert -(ends[0] - ends[1]) / 2e-7 == pytest.approx(row[5], rel=2e-5)
        np.testing.assert_allclose(found["first"][:3], -found["second"][:3], atol=1e-9 * abs(found["force"]))
        arms = [np.array([base.get(f"{n}{k}", 0.0) for n in "xyz"]) for k in "12"]
        rows = (found["first"], found["second"])
        total = sum(row[3:] + np.cross(arm, row[:3]) for arm, row in zip(arms, rows, strict=True))
        # the planes of the gears are apart: a couple of the transverse forces, held by the housing
        couple = abs(found["force"]) * abs(base["z2"] - base["z1"])
        np.testing.assert_allclose(total[:2], 0, atol=1.1 * couple)
        assert abs(total[2]) < 1e-9 * abs(found["force"])


def test_pairs_of_teeth_share_the_load_by_the_contact_ratio() -> None:
    """For a part (contact ratio - 1) of the pitch two pairs bear, else one: deflections are as 1 to 2."""
    mesh = da.GearMesh((20, 60), 3e-3, STIFF, varying=True)
    outer, base = np.array([0.033, 0.093]), np.array(mesh.base_radii)
    lines = np.sqrt(outer**2 - base**2) - base * math.tan(math.radians(20))
    assert mesh.contact_ratio == pytest.approx(lines.sum() / (2 * math.pi * base[0] / 20), rel=1e-12)
    turns = np.linspace(0, 2 * math.pi / 20, 401)[:-1]
    k = np.array([law_at(mesh, rz1=t + 1e-3, rz2=t * mesh.ratio)["k"] for t in turns])
    assert k.mean() == pytest.approx(STIFF, rel=1e-3)
    assert k.max() / k.min() == pytest.approx(2.0, rel=2e-3)  # splines of ramps
    two = (k > 0.75 * k.max()).mean()
    assert two == pytest.approx(mesh.contact_ratio - 1, abs=0.01)


def test_transmission_error_under_load_follows_the_stiffness() -> None:
    mesh = da.GearMesh((20, 60), 3e-3, STIFF, 5e4, varying=True, backlash=2e-5)
    s = pair(mesh)
    torque = 100.0
    s.connect("load", da.Effort(torque), "W")
    s.drive("P", speed=0.5)
    result = da.simulate(s, 0.3, times=np.linspace(0, 0.3, 61), method="radau")
    b2 = mesh.base_radii[1]
    late = result.t > 0.05
    np.testing.assert_allclose(result["mesh.force"][late], torque / b2, rtol=2e-3)
    wanted = 1e-5 + torque / b2 / result["mesh.k"]
    np.testing.assert_allclose(result["mesh.transmission_error"][late], wanted[late], atol=2e-3 * wanted[late].max())
    assert abs(result["energy.balance"]).max() < 1e-6


def test_friction_loses_the_sliding_power() -> None:
    """Mean loss of a spur pair: mu N times mean of |s| (omega1 - omega2) over the path, weighted by the load."""
    mu, mesh = 0.07, da.GearMesh((20, 60), 3e-3, STIFF, friction=0.07, slip_speed=1e-6)
    turns = np.linspace(0, 2 * math.pi / 20, 801)[:-1]
    speed = 10.0
    rates = {"wz1": speed, "wz2": speed * mesh.ratio}
    found = [law_at(mesh, rz1=t + 1e-4, rz2=t * mesh.ratio, **rates) for t in turns]
    load = STIFF * 1e-4 * mesh.base_radii[0]
    power = np.array([each["power"] for each in found])
    loss = np.array([-each["first"][5] * speed - each["second"][5] * speed * mesh.ratio for each in found])
    np.testing.assert_allclose(power, loss, rtol=1e-9)
    outer, base = np.array([0.033, 0.093]), np.array(mesh.base_radii)
    recess, approach = np.sqrt(outer**2 - base**2) - base * math.tan(math.radians(20))
    pitch = mesh.base_pitch
    s = np.linspace(-approach, recess, 20001)
    pairs = np.add.reduce([(s + j * pitch > -approach) & (s + j * pitch < recess) for j in (-1, 0, 1)])
    mean = np.trapezoid(np.abs(s) / pairs, s) / pitch
    assert power.mean() == pytest.approx(mu * load * mean * speed * (1 - mesh.ratio), rel=1e-2)  # ramps


def test_rattling_gears_keep_their_account_of_energy() -> None:
    mesh = da.GearMesh((20, 60), 3e-3, STIFF, 200.0, backlash=1e-4, friction=0.05, varying=True)
    s = pair(mesh)
    s.connect("shake", da.Effort(da.Harmonic(20.0, 300.0)), "P")
    result = da.simulate(s, 0.1, rtol=1e-10)
    assert result["mesh.force"].max() > 100 and result["mesh.force"].min() < -100
    assert abs(result["energy.balance"]).max() < 1e-6
    assert abs(result["mesh.transmission_error"]).max() < 1.2e-4


def test_errors_of_teeth_are_followed_without_load() -> None:
    x = np.linspace(0, 2 * math.pi, 81)
    values = 1e-5 * np.cos(x)
    mesh = da.GearMesh((20, 60), 3e-3, STIFF, error=da.Table(x, values=values, outside="repeat"))
    for turn in (0.3, 2.0, 5.0):
        found = law_at(mesh, rz1=turn - math.tau * (turn > math.pi), rz2=turn * mesh.ratio)
        assert found["transmission_error"] == pytest.approx(1e-5 * math.cos(turn), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (((20,), 3e-3, STIFF), {}, "two whole numbers"),
        (((20.5, 60), 3e-3, STIFF), {}, "whole numbers"),
        (((60, 20), 3e-3, STIFF), {"internal": True}, "it needs more teeth than gear 1"),
        (((20, 60), 3e-3, STIFF), {"center_distance": 0.1}, "the base circles need more than 0.112763 m"),
        (((20, 60), 3e-3, STIFF), {"center_distance": 0.13}, "the tips reach only 0.126 m"),
        (((20, 60), 3e-3, STIFF), {"center_distance": 0.1235}, "parts before the next one meets"),
        (((20, 60), 3e-3, STIFF), {"pressure_angle": 20.0}, "20 degrees are 0.349"),
        (((20, 60), 3e-3, STIFF), {"helix_angle": 20.0}, "give it in rad"),
        (((20, 60), 3e-3, STIFF), {"droop": 1.0}, "below 1"),
        (((20, 60), -3e-3, STIFF), {}, "module"),
        (((20, 60), 3e-3, STIFF), {"error": 1e-5}, "give a Table"),
        (((20, 60), 3e-3, STIFF), {"error": da.Table([0, 1, 2], values=[0, 1, 0], outside="repeat")}, "one turn, 2 pi"),
    ],
)
def test_gears_that_do_not_fit_are_refused(arguments: Any, options: Any, text: str) -> None:
    with pytest.raises(da.ModelError, match=text):
        da.GearMesh(*arguments, **options)


def test_gears_placed_with_overlapping_base_circles_end_the_run_by_name() -> None:
    with pytest.raises(da.UserFunctionError, match="mesh"):
        da.simulate(pair(da.GearMesh((20, 60), 3e-3, STIFF), distance=0.11), 0.01)
