"""Joints that turn freely, and bodies, driven wholly or by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.rotation import axis_angle, bryant, euler, quaternion, quaternion_from_matrix

ANGLES = (da.Harmonic(0.7, 3.0), da.Harmonic(0.9, 2.0, 0.3), da.Polynomial((0.1, 2.0, 0.5)))
PLACE = (da.Harmonic(0.3, 2.0), da.Polynomial((0.0, 0.5)), da.Ramp(0.0, 0.4, 0.8))
TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}
METHODS: list[tuple[str, dict[str, Any], float]] = [
    ("dop853", TIGHT, 1e-9),
    ("radau", {"rtol": 1e-9, "atol": 1e-9}, 1e-7),
    ("rk4", {"fixed_step": 1e-3}, 1e-8),
    ("alpha", {"fixed_step": 2e-4}, 1e-4),
]
TIMES = np.linspace(0.0, 1.2, 9)
TURNS = [axis_angle((1, 2, 3), a) @ axis_angle("x", a * a) for a in 1.5 * TIMES]


def rates_of(attitude: da.attitudes.Attitude, t: float, h: float = 1e-5) -> tuple[np.ndarray, np.ndarray]:
    """Return angular velocity and acceleration in turned axes, by differences of rotation matrices."""
    R = {k: quaternion(*attitude(t + k * h)[0]) for k in (-2, -1, 0, 1, 2)}

    def omega(k: int) -> np.ndarray:
        W = R[k].T @ (R[k + 1] - R[k - 1]) / (2 * h)
        return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2

    return omega(0), (omega(1) - omega(-1)) / (2 * h)


ATTITUDES = {
    "bryant": lambda: da.BryantAngles(*ANGLES),
    "euler": lambda: da.EulerAngles(ANGLES),
    "fixed axes": lambda: da.EulerAngles(ANGLES, "zyx"),
    "spline": lambda: da.AttitudeSpline(TIMES, TURNS),
    "spline 5": lambda: da.AttitudeSpline(TIMES, [quaternion_from_matrix(R) for R in TURNS], 5),
}


@pytest.mark.parametrize("name", ATTITUDES)
def test_rates_are_those_of_the_attitude(name: str) -> None:
    attitude = ATTITUDES[name]()
    for t in (0.23, 0.71, 1.05):
        _, omega, bend = attitude(t)
        by_hand = rates_of(attitude, t)
        np.testing.assert_allclose(omega, by_hand[0], atol=1e-8)
        np.testing.assert_allclose(bend, by_hand[1], atol=2e-4)


def test_angles_are_those_of_rotation() -> None:
    values = [law(0.4)[0] for law in ANGLES]
    for attitude, R in (
        (da.BryantAngles(*ANGLES), bryant(*values)),
        (da.EulerAngles(ANGLES, "ZYX"), euler(values, "ZYX")),
        (da.EulerAngles(ANGLES, "xyz"), euler(values, "xyz")),
    ):
        np.testing.assert_allclose(quaternion(*attitude(0.4)[0]), R, atol=1e-14)


def test_a_spline_passes_its_attitudes_smoothly_and_in_any_axes() -> None:
    spline = da.AttitudeSpline(TIMES, TURNS)
    A, B = axis_angle((3, 1, 2), 0.8), axis_angle((1, -1, 2), 1.7)
    other = da.AttitudeSpline(TIMES, [A @ R @ B for R in TURNS])
    for t, R in zip(TIMES, TURNS, strict=True):
        np.testing.assert_allclose(quaternion(*spline(t)[0]), R, atol=1e-13)
        if 0 < t < 1.2:  # angular acceleration does not jump
            np.testing.assert_allclose(spline(t - 1e-9)[2], spline(t + 1e-9)[2], atol=1e-5)
    np.testing.assert_allclose(A @ quaternion(*spline(0.5)[0]) @ B, quaternion(*other(0.5)[0]), atol=1e-13)
    np.testing.assert_allclose(B.T @ spline(0.5)[1], other(0.5)[1], atol=1e-12)


# ---- a ball joint against three joints in series


def double(driven: str) -> da.System:
    """Return two bodies; the first turns about a point as Bryant angles say, by a ball joint or by three joints."""
    s = da.System(driven)
    first, second = s.body("first", da.box(0.2, 0.3, 0.5, mass=2.0)), s.body("second", da.box(0.5, 0.1, 0.1, mass=1.0))
    foot = first.at(0.1, 0.1, -0.2)
    if driven == "ball":
        s.connect("S", da.Spherical(), s.ground, foot)
        s.drive("S", rotation=da.BryantAngles(*ANGLES))
    elif driven == "reversed":
        s.connect("S", da.Spherical(), foot, s.ground)
        x, y, z = (_opposite(law) for law in ANGLES)
        s.drive("S", rotation=da.EulerAngles((z, y, x), "ZYX"))
    elif driven == "own":
        s.connect(
            "S",
            da.CustomJoint(
                ("angle_1", "angle_2", "angle_3"), None, [("x", "angle_1"), ("y", "angle_2"), ("z", "angle_3")]
            ),
            s.ground,
            foot,
        )
        s.drive("S", position=ANGLES)
    else:
        ring, fork = (s.body(name, mass=0.0, inertia=(0, 0, 0)) for name in ("ring", "fork"))
        s.connect("X", da.Revolute("x"), s.ground, ring)
        s.connect("Y", da.Revolute("y"), ring, fork)
        s.connect("S", da.Revolute("z"), fork, foot)
        for name, law in zip("XYS", ANGLES, strict=True):
            s.drive(name, position=law)
    s.connect("R", da.Revolute("y", damping=0.05), first.at(0.1, 0.1, 0.2), second)
    return s


def _opposite(law: Any) -> Any:
    if isinstance(law, da.Harmonic):
        return da.Harmonic(-law.amplitude, law.frequency, law.phase)
    return da.Polynomial(tuple(-c for c in law.coefficients))


@pytest.fixture(scope="module")
def in_series() -> da.Result:
    return da.simulate(double("series"), 1.0, **TIGHT)


@pytest.mark.parametrize(("method", "options", "near"), METHODS)
@pytest.mark.parametrize("driven", ["ball", "reversed"])
def test_a_ball_moves_as_three_joints(
    in_series: da.Result, driven: str, method: str, options: dict[str, Any], near: float
) -> None:
    result = da.simulate(double(driven), 1.0, method=method, **options)
    assert abs(result["R"][-1] - in_series["R"][-1]) < near
    assert abs(result["energy.balance"]).max() < near
    sign = -1 if driven == "reversed" else 1  # there the load is that on ground
    for part in ("moment", "force"):
        np.testing.assert_allclose(sign * result[f"S.{part}"][-1], in_series[f"S.{part}"][-1], atol=100 * near)


def test_a_joint_in_bryant_angles_moves_alike(in_series: da.Result) -> None:
    result = da.simulate(double("own"), 1.0, **TIGHT)
    assert abs(result["R"][-1] - in_series["R"][-1]) < 1e-9
    power = (result["S.effort"] * result["S.speed"]).sum(1)
    np.testing.assert_allclose(power[-1], result["power"][-1], rtol=1e-9)
    ball = da.simulate(double("ball"), 1.0, **TIGHT)
    np.testing.assert_allclose((ball["S.effort"] * ball["S.speed"]).sum(1)[-1], power[-1], rtol=1e-6)


# ---- a free body against Newton and Euler


def newton_euler(body: da.Body, attitude: da.attitudes.Attitude, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return moment about the body's origin and force that its motion takes, in world axes."""
    q, omega, bend = attitude(t)
    R = quaternion(*q)
    acceleration = np.array([law(t)[2] for law in PLACE])
    w, dw, arm = R @ omega, R @ bend, R @ body.com
    inertia = R @ body.inertia @ R.T
    force = body.mass * (acceleration + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) - np.array([0, 0, -9.81]))
    return inertia @ dw + np.cross(w, inertia @ w) + np.cross(arm, force), force


def lone(how: str) -> da.System:
    s = da.System("lone")
    body = s.body("stone", mass=3.0, com=(0.1, -0.05, 0.2), inertia=(0.2, 0.3, 0.4))
    if how == "joint":
        s.connect("stone.motion", da.Free(), s.ground, body)
    target = "stone.motion" if how == "joint" else body
    if how == "one by one":
        s.drive(target, position=PLACE)
        s.drive(target, rotation=da.BryantAngles(*ANGLES))
    else:
        s.drive(target, position=PLACE, rotation=da.BryantAngles(*ANGLES))
    return s


@pytest.mark.parametrize("how", ["joint", "body", "one by one"])
def test_a_driven_pose_takes_what_newton_and_euler_say(how: str) -> None:
    s = lone(how)
    model = s.compile()
    assert not model.nc
    assert [drive.name for drive in model.drives] == ["stone.motion.pose"]
    for t in (0.0, 0.37, 0.9):
        motion = da.driven_motion(model, t)
        np.testing.assert_allclose(model.pose("stone", motion.q).position, [law(t)[0] for law in PLACE], atol=1e-14)
        moment, force = newton_euler(s.bodies["stone"], da.BryantAngles(*ANGLES), t)
        loads = model.connection_loads(motion.q, motion.v, t=t)["stone.motion"]
        np.testing.assert_allclose(np.concatenate([moment, force]), loads, atol=1e-12)
        R = model.pose("stone", motion.q).rotation
        efforts = model.drive_efforts(t, motion.q, motion.v)["stone.motion.pose"]
        np.testing.assert_allclose(efforts, np.concatenate([R.T @ moment, R.T @ force]), atol=1e-12)
        found = model.dynamics(t, motion.q, motion.v)
        a, tau = found.a, found.tau
        np.testing.assert_allclose(a, motion.a, atol=1e-12)
        np.testing.assert_allclose(da.inverse_dynamics(model, motion.q, motion.v, a).tau, tau, atol=1e-11)
    result = da.simulate(s, 1.0, **TIGHT)
    assert abs(result["energy.balance"]).max() < 1e-8
    np.testing.assert_allclose(
        result["stone.motion.force"][-1], newton_euler(s.bodies["stone"], da.BryantAngles(*ANGLES), 1.0)[1]
    )


def test_a_body_follows_measured_samples_seen_from_another() -> None:
    """As the same motion relative to a turntable, built by hand from a driven free joint on it."""
    points = np.column_stack([np.sin(TIMES), 0.2 * TIMES, TIMES**2])

    def machine(by_hand: bool) -> da.System:
        s = da.System("turntable")
        table, tool = s.body("table", da.box(1.0, 1.0, 0.1, mass=5.0)), s.body("tool", da.box(0.1, 0.2, 0.3, mass=1.0))
        s.connect("axle", da.Revolute("z"), s.ground, table)
        s.initial("axle", speed=0.7)
        s.connect("J", da.Universal("x", "y"), tool.at(0.1, 0, 0), s.body("load", da.box(0.3, 0.1, 0.1, mass=0.5)))
        path, turns = da.Spline.columns(TIMES, points), da.AttitudeSpline(TIMES, TURNS)
        if by_hand:
            s.connect("F", da.Free(), table.at(0, 0, 0.1), tool)
            s.drive("F", position=path, rotation=turns)
        else:
            s.drive(tool, position=path, rotation=turns, relative_to=table.at(0, 0, 0.1))
        return s

    one, two = (da.simulate(machine(by_hand), 1.0, **TIGHT) for by_hand in (True, False))
    np.testing.assert_allclose(one["load.position"][-1], two["load.position"][-1], atol=1e-9)
    np.testing.assert_allclose(one["F.force"][-1], two["tool.motion.force"][-1], atol=1e-6)
    seen = two.model.pose("table", two.q[-1])
    place = seen.rotation.T @ (two["tool.position"][-1] - seen.position) - np.array([0, 0, 0.1])
    np.testing.assert_allclose(place, [law(1.0)[0] for law in da.Spline.columns(TIMES, points)], atol=1e-12)
    assert abs(two["energy.balance"]).max() < 1e-7


# ---- in loops


def spatial_loop() -> da.System:
    s = da.System("loop")
    arm, rod, slider = (
        s.body(name, da.box(size, 0.1, 0.07, mass=1.0)) for name, size in (("arm", 0.5), ("rod", 0.8), ("slider", 0.1))
    )
    s.connect("S", da.Spherical(), s.ground, arm)
    s.connect("T", da.Spherical(), arm.at(0.5, 0, 0), rod)
    s.connect("U", da.Universal("y", "z"), rod.at(0.8, 0, 0), slider)
    s.connect("P", da.Prismatic("x", damping=2.0), slider, s.ground.at(1.2, 0.1, 0))
    return s


WHOLE = da.EulerAngles((da.Harmonic(0.3, 2.0), da.Harmonic(0.2, 3.0), da.Polynomial((0.2, 0.3))))
PARTS: dict[str, dict[str, Any]] = {
    "rotation": {"rotation": WHOLE},
    "one speed": {"speed": (da.Harmonic(1.0, 2.0), None, None)},
    "two speeds": {"speed": (None, 1.0, lambda t: np.sin(3 * t))},
    "accelerations": {"acceleration": (None, 1.0, da.Harmonic(1.0, 3.0))},
}


@pytest.mark.parametrize("part", PARTS)
def test_a_ball_in_a_loop_is_driven_wholly_or_by_part(part: str) -> None:
    s = spatial_loop()
    s.drive("S", **PARTS[part])
    assert "S" not in [loop_constraint.name for loop_constraint in s.forest().loop_constraints]
    results = [da.simulate(s, 1.0, method=method, **options) for method, options, _ in METHODS]
    for result, (_, _, near) in zip(results, METHODS, strict=True):
        np.testing.assert_allclose(result["P"][-1], results[0]["P"][-1], atol=near)
        assert abs(result["energy.balance"]).max() < near
    speeds, efforts = results[0]["S.speed"], results[0]["S.effort"]
    np.testing.assert_allclose((speeds * efforts).sum(1), results[0]["power"], atol=1e-9)
    if part == "two speeds":
        np.testing.assert_allclose(speeds[:, 1], 1.0, atol=1e-12)
        np.testing.assert_allclose(efforts[:, 0], 0.0, atol=1e-12)
    if part == "rotation":
        for t, q in zip(results[0].t, results[0]["S.position"], strict=True):
            assert abs(abs(WHOLE(t)[0] @ q) - 1.0) < 1e-12


def test_more_than_a_loop_allows_is_refused() -> None:
    s = spatial_loop()
    s.drive("S", rotation=WHOLE)
    s.drive("P", position=da.Harmonic(0.5, 3.0))
    with pytest.raises(da.AssemblyError, match=r"S\.rotation"):
        da.simulate(s, 1.0)


def test_a_driven_joint_is_kept_where_others_are_acted_upon() -> None:
    s = spatial_loop()
    s.drive("S", rotation=WHOLE)
    s.connect("spring", da.JointSpring(3.0), "P")
    s.connect("turner", da.JointSpring(1.0), "U.angle_1")
    s.connect("other", da.JointSpring(1.0), "U.angle_2")
    assert [loop_constraint.name for loop_constraint in s.forest().loop_constraints] == ["T"]
    assert abs(da.simulate(s, 0.5, **TIGHT)["energy.balance"]).max() < 1e-9


# ---- a place without an attitude


@pytest.mark.parametrize("place", [PLACE, (None, PLACE[1], None), (PLACE[0], None, 0.2)])
def test_places_and_parts_of_them_are_held_by_rows(place: tuple[Any, ...]) -> None:
    def machine(how: str) -> da.System:
        s = da.System(how)
        body = s.body("stone", mass=3.0, com=(0.1, -0.05, 0.2), inertia=(0.2, 0.3, 0.4))
        if how == "rows":
            given = {name: law for name, law in zip("xyz", place, strict=True) if law is not None}
            s.connect("hold", da.CustomConstraint(list(given), names=tuple(given)), s.ground, body)
            for name, law in given.items():
                s.drive("hold" if len(given) == 1 else f"hold.{name}", position=law)
        else:
            s.drive(body, position=place)
        s.place(body, angular_velocity=(1.0, 2.0, -1.0))
        return s

    one = da.simulate(machine("rows"), 1.0, **TIGHT)
    for method, options, near in METHODS:
        two = da.simulate(machine("drive"), 1.0, method=method, **options)
        np.testing.assert_allclose(one["stone.position"][-1], two["stone.position"][-1], atol=near)
        np.testing.assert_allclose(one["stone.rotation"][-1], two["stone.rotation"][-1], atol=10 * near)
        np.testing.assert_allclose(one["hold.force"][-1], two["stone.motion.place.force"][-1], atol=1e3 * near)
        assert abs(two["energy.balance"]).max() < near


def test_one_coordinate_of_a_free_joint_joins_the_others() -> None:
    s = da.System()
    s.connect("F", da.Free(), s.ground, s.body("stone", da.box(0.1, 0.2, 0.3, mass=1.0)))
    s.drive("F.x", position=PLACE[0])
    s.drive("F", rotation=da.BryantAngles(*ANGLES))
    assert sorted(s.drives) == ["F.place", "F.rotation"]
    s.drive("F.y", position=PLACE[1])
    s.drive("F.z", position=PLACE[2])
    assert sorted(s.drives) == ["F.pose"]
    assert "F.place" not in s.connections
    s.drive("F.wx", speed=1.0)  # in place of the whole
    assert sorted(s.drives) == ["F.wx"]
    s.remove("F")
    assert not s.drives


def test_drives_of_all_coordinates_of_other_joints() -> None:
    s = da.System()
    s.connect("C", da.Cylindrical("z"), s.ground, s.body("nut", da.box(0.1, 0.2, 0.3, mass=1.0)))
    s.drive("C", position=(da.Harmonic(1.0, 2.0), None))
    assert list(s.drives) == ["C.angle"]
    s.drive("C", speed=(1.0, lambda t: 2 * t))
    assert sorted(s.drives) == ["C.angle", "C.slide"]
    result = da.simulate(s, 1.0)
    np.testing.assert_allclose(result["C.position"][-1], [1.0, 1.0], atol=1e-8)


BAD: dict[str, tuple[Any, str]] = {
    "position of a ball": (lambda s: s.drive("S", position=(1, 2, 3)), "give rotation="),
    "angle of a speed": (lambda s: s.drive("S.wx", position=1.0), "give rotation="),
    "rotation of a pin": (lambda s: s.drive("A", rotation=da.BryantAngles(0, 0, 0)), "Spherical or Free"),
    "two laws": (lambda s: s.drive("S", speed=(1.0, 2.0)), "give 3, of wx, wy, wz"),
    "no law": (lambda s: s.drive("S", speed=(None, None, None)), "at least one"),
    "a function": (lambda s: s.drive("S", rotation=lambda t: np.eye(3)), "AttitudeSpline"),
    "speed of a body": (lambda s: s.drive("c", speed=1.0), "position= and rotation="),
    "ground": (lambda s: s.drive(s.ground, position=(0, 0, 0)), "does not move"),
    "itself": (lambda s: s.drive("c", position=(0, 0, 0), relative_to=s["c"].at(1, 0, 0)), "relative to itself"),
    "seen from": (lambda s: s.drive("A", position=1.0, relative_to=s["c"]), "relative_to"),
    "half a turn": (
        lambda s: da.AttitudeSpline([0, 1, 2, 3], [axis_angle("z", a) for a in (0, 0.1, 0.1 + np.pi, 4)]),
        "180 degrees apart",
    ),
    "times": (lambda s: da.AttitudeSpline([0, 1], TURNS), "one for each of 9"),
    "convention": (lambda s: da.EulerAngles((0, 0, 0), "XXZ"), "one axis"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_driven_is_refused(case: str) -> None:
    s = da.System()
    b, c = (s.body(n, da.box(1, 1, 1, 1)) for n in "bc")
    s.connect("A", da.Revolute("y"), s.ground, b)
    s.connect("S", da.Spherical(), b, c)
    action, pattern = BAD[case]
    with pytest.raises(da.ModelError, match=pattern):
        action(s)


def test_tables_that_end_and_jumps_are_refused() -> None:
    s = da.System()
    s.connect("S", da.Spherical(), s.ground, s.body("b", da.box(1, 1, 1, 1)))
    s.drive("S", rotation=da.AttitudeSpline(TIMES, TURNS))
    with pytest.raises(da.ModelError, match="the run needs"):
        da.simulate(s, 2.0)
    s.drive("S", rotation=da.BryantAngles(0.0, lambda t: 0.0 if t < 0.5 else 0.3, 0.0))
    with pytest.raises(da.ModelError, match="it jumps"):
        da.simulate(s, 1.0)


def test_a_drive_that_is_refused_leaves_the_system_as_it_was() -> None:
    s = da.System("shaker")
    table = s.body("table", da.box(1.0, 1.0, 0.1, mass=10.0))
    with pytest.raises(da.ModelError):
        s.drive(table, position=(0, 0, "up"))
    assert not s.connections and not s.drives
    s.drive(table, position=(0, 0, da.Harmonic(0.01, 20.0)))
    before = dict(s.connections), dict(s.drives)
    with pytest.raises(da.ModelError):
        s.drive(table, position=(0, "up", 0))
    assert (s.connections, s.drives) == before
