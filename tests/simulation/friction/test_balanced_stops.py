"""Stops whose loads balance to zero: closed grippers rest on their stops, and runs with them come to their end."""

import numpy as np
import pytest

import dalembert as da

OPPOSED = ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
STAR = tuple((0.0, float(np.cos(a)), float(np.sin(a))) for a in 2 * np.pi / 3 * np.arange(3))
BASES = {
    "spatial axis": da.Revolute((0.3, 0.5, 0.8)),
    "ball": da.Spherical(),
    "free": da.Free(),
    "fixed": da.Fixed(),
}


def gripper(
    base: str = "spatial axis",
    fingers: tuple[tuple[float, float, float], ...] = OPPOSED,
    at: float = 0.0,
    gravity: float = -9.81,
    **joint: float,
) -> da.System:
    """Return equal fingers on sliders that couplings move together, at the end of an arm."""
    s = da.System("gripper", gravity=(0, 0, gravity))
    arm = s.body("arm", da.rod(0.3, 1.0, radius=0.02))
    s.connect("A", BASES[base], s.ground, arm)
    for k, axis in enumerate(fingers):
        finger = s.body(f"finger_{k}", da.box(0.02, 0.02, 0.05, mass=0.05))
        s.connect(f"F{k}", da.Prismatic(axis, lower=0.0, upper=0.04, **joint), arm.at(0.3, 0, 0), finger)
        s.initial(f"F{k}", position=at)
        if k:
            s.connect(f"mimic_{k}", da.Coupling(1.0), "F0", f"F{k}")
    return s


def looped() -> da.System:
    """Return a gripper on an arm that a second one guides."""
    s = gripper()
    link = s.body("link", da.rod(0.3, 1.0, radius=0.02))
    s.connect("B", da.Revolute((0.3, 0.5, 0.8)), s.ground.at(0, 0.2, 0), link)
    s.connect("C", da.constraints.Distance(0.2), s.bodies["arm"].at(0.3, 0, 0), link.at(0.3, 0, 0))
    return s


def rests(s: da.System, at: float = 0.0, **options: float) -> da.Result:
    """Return a run in which all fingers stay on their stops, after one decision about each."""
    result = da.simulate(s, 0.05, **options)
    names = [name for name in s.connections if name.startswith("F")]
    assert result.status == "finished"
    assert [record.name for record in result.events] == [f"{name} rests on its stop" for name in names]
    for name in names:
        np.testing.assert_allclose(result[f"{name}.position"], at, rtol=0, atol=1e-15)  # m: locked, or coupled
    assert np.abs(result["energy.balance"]).max() < 1e-12  # J of some 10: nothing but the arm moves
    return result


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-3, "atol": 1e-5}, {"rtol": 1e-9, "atol": 1e-11}])
def test_a_closed_gripper_stays_closed(options: dict[str, float]) -> None:
    """The weights of both fingers balance through the coupling: the load on the stops is rounding."""
    result = rests(gripper(), **options)
    assert any("is zero within rounding" in note for note in result.stats.notes)


@pytest.mark.parametrize("base", ["ball", "free", "fixed"])
@pytest.mark.parametrize("fingers", [OPPOSED, STAR], ids=["two", "three"])
def test_a_gripper_stays_closed_on_any_base(base: str, fingers: tuple[tuple[float, float, float], ...]) -> None:
    rests(gripper(base, fingers))


@pytest.mark.parametrize(
    ("joint", "options"),
    [
        ({"friction": 0.1}, {}),
        ({"friction": 1e-12}, {}),
        ({"friction": 0.05, "static_friction": 0.1}, {}),
        ({"restitution": 0.5}, {}),
        ({"damping": 1.0}, {}),
        ({}, {"gravity": 9.81}),
        ({}, {"gravity": 0.0}),
        ({"at": 0.04}, {"base": "fixed"}),
        ({"at": 0.04}, {"base": "fixed", "fingers": STAR}),
    ],
)
def test_a_gripper_rests_on_its_stops_in_all_variants(joint: dict[str, float], options: dict[str, object]) -> None:
    """With friction on the fingers, upside down, without weight, and open on its upper stops."""
    rests(gripper(**joint, **options), at=joint.get("at", 0.0))


def test_a_gripper_stays_closed_on_an_arm_in_a_loop() -> None:
    rests(looped())


def test_an_ensemble_of_grippers() -> None:
    runs = da.simulate(gripper(), 0.05, state={"A": np.linspace(-0.4, 0.4, 3)}, times=np.linspace(0, 0.05, 3))
    assert set(runs.status) == {"finished"}
    np.testing.assert_allclose(runs["F0.position"], 0.0, rtol=0, atol=1e-15)


def test_a_small_force_opens_it_in_time() -> None:
    """A push of 1e-6 of the weight of a finger is a real load, and moves both."""
    s = gripper("fixed")
    push = 1e-6 * 0.05 * 9.81
    s.connect("push", da.Effort(push), "F0")
    result = da.simulate(s, 1.0)
    assert result["F0.position"][-1] == pytest.approx(0.5 * push / 0.1, rel=1e-6)  # both fingers move, 0.1 kg


def test_a_lever_balanced_on_its_stop_stays() -> None:
    """A single row, whose weights cancel within one body's subtree."""
    s = da.System("lever")
    lever = s.body("lever", mass=0.3, inertia=(0.01, 0.02, 0.03))
    s.connect("A", da.Revolute((0.1, 0.9, 0.3), lower=0.0, upper=1.0), s.ground, lever)
    for k, x in enumerate((0.7, -0.7)):
        s.connect(f"W{k}", da.Fixed(), lever.at(x, 0.0, 0.1 * x), s.body(f"weight_{k}", da.sphere(0.05, mass=1.3)))
    result = da.simulate(s, 0.5)
    assert result.status == "finished" and len(result.events) <= 1
    assert np.abs(result["A.position"]).max() < 1e-9


def test_a_loaded_row_leaves_where_mechanics_says() -> None:
    """A block on its lower stop under a growing pull leaves when the pull exceeds its weight."""
    s = da.System("block")
    s.connect("X", da.Prismatic("z", lower=0.0), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=2.0)))
    s.connect("pull", da.Effort(da.Polynomial((0.0, 40.0))), "X")
    result = da.simulate(s, 1.0)
    leaves = [record.t for record in result.events if record.name == "X leaves its stop"]
    assert leaves == pytest.approx([2.0 * 9.81 / 40.0], rel=1e-7)


def test_a_ball_between_walls_that_nearly_touch_is_given_up() -> None:
    """A hundred million bounces in a run: it ends early, says so, and keeps what there is."""
    s = da.System("ball", gravity=(0, 0, 0))
    joint = da.Prismatic("x", lower=0.0, upper=1e-8, restitution=1.0)
    s.connect("X", joint, s.ground, s.body("b", da.sphere(0.1, mass=1.0)))
    start = da.State(q=np.array([5e-9]), v=np.array([1.0]))
    with pytest.raises(da.IntegrationError, match=r"stagnates: X changed .* 200 times within") as error:
        da.simulate(s, 1.0, state=start)
    result = error.value.result
    assert result.status == "failed" and len(result.events) > 100
    np.testing.assert_allclose(np.abs(result.v), 1.0, rtol=1e-12)


def nodding(inertia: float) -> da.System:
    """Return a head, all but a point mass, on three axes through one point, on a torso with two arms."""
    s = da.System("robot")
    torso = s.body("torso", da.box(0.2, 0.3, 0.5, mass=5.0))
    s.connect("waist", da.Revolute((0.2, 1.0, 0.1), damping=1.0), s.ground, torso)
    stops = {"pitch": {"lower": -0.2, "upper": 0.2, "damping": 0.01}}
    carrier = torso
    for name, axis, height in (("pitch", "y", 0.3), ("roll", "x", 0.0), ("turn", "z", 0.0)):
        mass, com = (1.3, (0.02, 0.03, 0.1)) if name == "turn" else (0.1, (0.0, 0.0, 0.0))
        part = s.body(name, mass=mass, inertia=(inertia,) * 3, com=com)
        s.connect(
            f"neck_{name}", da.Revolute(axis, **stops.get(name, {"damping": 1.0})), carrier.at(0, 0, height), part
        )
        carrier = part
    for name, y in (("l", 0.2), ("r", -0.2)):
        elbow = da.Revolute("y", damping=0.1, lower=0.0, upper=0.3)
        s.connect(f"elbow_{name}", elbow, torso.at(0, y, 0.2), s.body(f"arm_{name}", da.rod(0.4, 1.0, radius=0.02)))
    return s


def test_spin_without_inertia_settles_within_rounding_of_time() -> None:
    """The spin of the head has damping but no inertia to speak of: how little does not matter."""
    times = np.array([0.1, 0.134, 0.16])
    some, none = (da.simulate(nodding(inertia), 0.16, times=times) for inertia in (1e-12, 1e-14))
    assert any("neck_turn" in note and "for lack of inertia" in note for note in none.stats.notes)
    assert [record.name for record in none.events] == [record.name for record in some.events]
    np.testing.assert_allclose(none.q, some.q, rtol=0, atol=1e-6)
