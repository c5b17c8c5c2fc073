"""Motions that lose their inertia along the way: the run ends with an error that names the coordinates."""

import numpy as np
import pytest

import dalembert as da


def gimbals(law: object) -> da.System:
    """Return a body on three Bryant angles, of which the second is driven."""
    s = da.System("gimbals")
    body = s.body("b", mass=1.0, inertia=(0.1, 0.2, 0.3), com=(0.1, 0.05, 0.02))
    angles = da.CustomJoint(("a", "b", "c"), rotation=[("x", "a"), ("y", "b"), ("z", "c")])
    s.connect("S", angles, s.ground, body)
    s.drive("S.b", position=law)
    return s


def rod(law: object, spin: float = 1.0) -> tuple[da.System, da.State]:
    """Return a rod without inertia about its axis that turns about the vertical while it is driven upright."""
    s = da.System("rod")
    s.connect("U", da.Universal("z", "y"), s.ground, s.body("b", mass=1.0, inertia=(0, 0.1, 0.1), com=(0.5, 0, 0)))
    s.drive("U.angle_2", position=law)
    return s, da.State(q=np.zeros(2), v=np.array([spin, 0.0]))


@pytest.mark.parametrize("law", [da.Ramp(0, np.pi / 2, 1), da.Ramp(0, 2.0, 1), da.Polynomial((0, np.pi / 2))])
def test_gimbal_lock_names_the_angles_whose_axes_coincide(law: object) -> None:
    with pytest.raises(
        da.SingularityError, match=r"'S\.a' \+1 with 'S\.c' -1 has lost its inertia.*gimbal lock"
    ) as error:
        da.simulate(gimbals(law), 1.0)
    assert error.value.result.status == "failed" and error.value.result["S.b"][-1] > 1.3


def test_an_implicit_method_reports_the_same() -> None:
    with pytest.raises(da.SingularityError, match=r"'S\.a' \+1 with 'S\.c' -1"):
        da.simulate(gimbals(da.Ramp(0, 2.0, 1)), 1.0, method="radau")


@pytest.mark.parametrize("law", [da.Ramp(0, -np.pi / 2, 1), da.Polynomial((0, -1.57)), da.Polynomial((0, -np.pi / 2))])
def test_a_rod_driven_upright_names_the_angle_about_its_axis(law: object) -> None:
    s, state = rod(law)
    with pytest.raises(da.SingularityError, match=r"'U\.angle_1' has lost its inertia") as error:
        da.simulate(s, 1.5, state=state)
    r = error.value.result
    inertia = (0.1 + 0.25) * np.cos(r.q[:, 1]) ** 2  # kg m2 about the vertical: its momentum stays
    some = inertia > 1e-3
    assert (inertia * r.v[:, 0])[some] == pytest.approx(0.35, rel=1e-5)


def test_a_rod_that_does_not_spin_passes() -> None:
    s, state = rod(da.Ramp(0, -np.pi / 2, 1), spin=0.0)
    assert da.simulate(s, 1.5, state=state).status == "finished"


def test_a_motion_that_comes_near_goes_on() -> None:
    """0.8 mrad before the lock angles turn fast, but the run can be finished."""
    assert da.simulate(gimbals(da.Polynomial((0, 1.57))), 1.0).status == "finished"


def test_within_an_ensemble_the_runs_that_fail_are_distinguished() -> None:
    s, _ = rod(da.Polynomial((0, -np.pi / 2)))
    spins = np.array([0.0, 1.0, 2.0, 0.0, 0.5, 1.5])
    start = da.State(q=np.zeros((6, 2)), v=np.column_stack([spins, np.zeros(6)]))
    runs = da.simulate(s, 1.5, state=start, times=np.linspace(0, 1.5, 4))
    assert [status == "failed" for status in runs.status] == (spins != 0).tolist()
    assert "'U.angle_1' has lost its inertia" in runs[1].message
    assert any("'U.angle_1' has lost its inertia" in note and "and 1 more" in note for note in runs.stats.notes)


def test_an_ensemble_into_gimbal_lock_ends() -> None:
    runs = da.simulate(gimbals(da.Ramp(0, 2.0, 1)), 1.0, state={"S.a": [0.0, 0.1]}, times=np.linspace(0, 1, 5))
    assert set(runs.status) == {"failed"}
    assert "'S.a' +1 with 'S.c' -1 has lost its inertia" in runs[0].message


def neck(offset: float, moment: float = 0.0) -> da.System:
    """Return a head on two crossed axes, whose centre of mass is at a distance from their plane, m.

    With w = (roll rate, yaw rate, 0) along its centre of mass c, w x c is the offset times the rate: without moments
    of inertia, kg m2, the motion has the inertia of that alone.
    """
    s = da.System("neck")
    cross = s.body("cross")
    head = s.body("head", mass=1.0, inertia=(moment, moment, moment), com=(0.1, 0.05, offset))
    s.connect("roll", da.Revolute("x"), s.ground, cross)
    s.connect("yaw", da.Revolute("y"), cross, head)
    return s


def test_a_motion_without_inertia_at_the_start_is_refused() -> None:
    with pytest.raises(da.SingularityError, match="nothing resists along 'roll'"):
        da.simulate(neck(0.0), 1e-6)


@pytest.mark.parametrize("offset", [1e-7, 3e-7])
def test_a_start_at_which_accelerations_are_rounding_is_refused_with_the_way_out(offset: float) -> None:
    """As the iCub with a straight neck; at an angle, or driven, it runs."""
    with pytest.raises(da.SingularityError, match=r"'yaw' together have .* 'head' has mass but no moments"):
        da.simulate(neck(offset), 1e-6)
    locked = neck(offset)
    locked.drive("yaw", position=da.Constant(0.0))
    assert da.simulate(locked, 1e-3).status == "finished"
    assert da.simulate(neck(offset), 1e-3, state={"yaw": 0.7}).status == "finished"


def test_ensembles_live_runs_and_rollouts_refuse_it_alike() -> None:
    refused = {"expected_exception": da.SingularityError, "match": r"'yaw' together have .* 'head' has mass but no"}
    model = neck(1e-7).compile()
    with pytest.raises(**refused):
        da.Live(model)
    with pytest.raises(**refused):
        da.simulate(model, 1e-6, parameters={"head.mass": np.array([1.0, 2.0])})
    with pytest.raises(**refused):
        da.rollout(model, None, {"roll": np.zeros((2, 3))}, dt=1e-6)
    with pytest.raises(da.SingularityError, match=r"'yaw' of run 1 together have"):
        da.simulate(model, 1e-6, state={"yaw": np.array([0.7, 0.0])})
    turned = da.simulate(model, 1e-3, state={"yaw": np.array([0.7, 0.8])})
    assert turned.status == ("finished", "finished")


@pytest.mark.parametrize("offset", [8e-7, 1e-6])
def test_a_motion_with_hardly_any_inertia_is_noted_at_the_start(offset: float) -> None:
    """As the neck of the iCub: a head without moments, whose mass nearly meets the axis of both turns together."""
    note = [note for note in da.simulate(neck(offset), 1e-6).notes if "hardly any inertia" in note]
    assert len(note) == 1 and "'roll' and 'yaw' together" in note[0] and "'head' has mass but no moments" in note[0]


@pytest.mark.parametrize(("offset", "moment"), [(1e-3, 0.0), (1e-7, 1e-4)])
def test_heads_with_inertia_are_not_noted(offset: float, moment: float) -> None:
    assert not any("hardly any inertia" in note for note in da.simulate(neck(offset, moment), 1e-3).notes)
