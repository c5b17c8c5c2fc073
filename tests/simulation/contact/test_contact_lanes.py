"""Rollouts with rigid contact by steps run in SIMD batches, with the motion of single runs."""

import numpy as np
import pytest

import dalembert as da

STEP = 2e-3
DT = 0.02


def walker() -> da.System:
    """Return a trunk with two legs and feet, whose knees have servos with laws in time."""
    s = da.System("walker")
    trunk = s.body("trunk", da.box(0.4, 0.3, 0.1, mass=5.0))
    s.connect("base", da.Free(), s.ground, trunk)
    feet = []
    for name, y in (("left", 0.15), ("right", -0.15)):
        leg = s.body(name, da.box(0.03, 0.03, 0.3, mass=0.5))
        foot = s.body(f"{name} foot", da.box(0.2, 0.1, 0.02, mass=0.2))
        s.connect(f"{name} hip", da.Revolute("y", armature=0.01), trunk.at(0, y, -0.05), leg.at(0, 0, 0.15))
        s.connect(f"{name} ankle", da.Revolute("y", armature=0.01), leg.at(0, 0, -0.15), foot.at(0, 0, 0.01))
        s.connect(f"{name} servo", da.PositionServo(f"0.2*sin(9*t + {y})", 80.0, 3.0), f"{name} hip")
        s.connect(f"{name} hold", da.PositionServo(0.0, 40.0, 2.0), f"{name} ankle")
        feet.append(foot)
    s.initial("base", position=[1, 0, 0, 0, 0, 0, 0.38])
    s.contact("floor", da.plane(), feet, friction=0.8)
    s.contact("feet", *feet, friction=0.5)
    return s


def bodies() -> da.System:
    """Return a box, a ball that bounces and a heavier box, all free.

    The heavier one has no friction on the floor: where it slides and turns on its corners, the law does not determine
    its motion, and rounding does.
    """
    s = da.System("bodies")
    box = s.body("box", da.box(0.2, 0.3, 0.1, mass=1.0))
    ball = s.body("ball", da.sphere(0.1, mass=0.5))
    block = s.body("block", da.box(0.4, 0.4, 0.2, mass=4.0))
    s.place(box, position=(0.0, 0.0, 0.5))
    s.place(ball, position=(1.0, 0.0, 0.4))
    s.place(block, position=(0.05, 0.0, 0.15))
    s.contact("all", da.plane(), [box, ball], friction=0.4)
    s.contact("smooth", da.plane(), block)
    s.contact("bounce", da.plane(), ball, friction=0.2, restitution=0.7)
    s.contact("pile", box, block, friction=0.6)
    return s


def arm_with_stop() -> da.System:
    """Return an arm with a stop and dry friction that knocks a ball about."""
    s = da.System("arm")
    arm = s.body("arm", da.box(0.5, 0.05, 0.05, mass=1.0))
    ball = s.body("ball", da.sphere(0.05, mass=0.3))
    joint = da.Revolute("z", lower=-0.5, upper=0.4, friction=0.05, restitution=0.3)
    s.connect("hinge", joint, s.ground.at(0, 0, 0.05), arm.at(-0.25, 0, 0))
    s.place(ball, position=(0.3, 0.2, 0.05))
    s.initial("hinge", speed=3.0)
    s.contact("floor", da.plane(), ball, friction=0.3)
    s.contact("hit", arm, ball, friction=0.2)
    return s


def starts(model: da.Model, count: int, size: float) -> da.State:
    """Return start states around the described one, with other velocities."""
    rng = np.random.default_rng(7)
    first = da.simulate(model, 1e-9, contact="steps:1e-9")
    q = np.repeat(first.q[:1], count, axis=0)
    v = first.v[0] + size * rng.normal(size=(count, model.nv))
    return da.State(q=q, v=v, t=0.0)


@pytest.mark.parametrize(("make", "size"), [(walker, 0.3), (bodies, 0.2), (arm_with_stop, 0.3)])
def test_lanes_move_as_single_runs(make, size):
    """Over 0.18 s; over longer times impacts amplify rounding."""
    model, intervals = make().compile(), 9
    state = starts(model, 9, size)
    runs = da.rollout(model, state, np.zeros((intervals, 0)), DT, inputs=[], contact=f"steps:{STEP}")
    for k in range(9):
        own = da.State(q=state.q[k], v=state.v[k], t=0.0)
        alone = da.simulate(model, intervals * DT, state=own, contact=f"steps:{STEP}", times=runs.t)
        assert runs.q[k] == pytest.approx(alone.q, abs=1e-9)
        assert runs.v[k] == pytest.approx(alone.v, abs=1e-7)


def test_a_run_has_the_same_bits_in_any_batch():
    model = walker().compile()
    names = ["left hip", "right hip"]
    controls = np.random.default_rng(3).normal(0.0, 15.0, (13, 20, 2))
    runs = da.rollout(model, None, controls, DT, inputs=names, contact=f"steps:{STEP}", threads=2)
    for part in (slice(4, 5), slice(2, 9), slice(0, 13)):
        others = da.rollout(model, None, controls[part], DT, inputs=names, contact=f"steps:{STEP}", threads=1)
        assert np.array_equal(runs.q[part], others.q)
        assert np.array_equal(runs.v[part], others.v)


def test_feet_that_stand_in_lanes_do_not_slip():
    model = walker().compile()
    runs = da.rollout(
        model, None, np.zeros((9, 50, 2)), DT, inputs=["left hip", "right hip"], contact=f"steps:{STEP}", outputs=()
    )
    assert all(status == "finished" for status in runs.status)
    assert (runs.q[:, :, 6] > 0.3).all()  # it does not fall through


def test_a_control_that_is_not_finite_ends_its_own_run_only():
    model = walker().compile()
    controls = np.zeros((5, 10, 1))
    controls[3, 4] = np.nan
    runs = da.rollout(model, None, controls, DT, inputs=["left hip"], contact=f"steps:{STEP}")
    assert [status == "finished" for status in runs.status] == [True, True, True, False, True]
    assert np.isfinite(runs.q[[0, 1, 2, 4]]).all()


def test_problems_without_a_solution_are_noted_for_all_runs_together():
    model = bodies().compile()
    runs = da.rollout(model, starts(model, 9, 0.1), np.zeros((10, 0)), DT, inputs=[], contact=f"steps:{STEP}")
    assert sum(note.startswith("rigid contact by steps") for note in runs.stats.notes) == 1


def test_bodies_that_overlap_at_the_start_of_a_run_are_refused():
    model = bodies().compile()
    state = starts(model, 3, 0.0)
    state.q[1, 6] -= 0.3
    with pytest.raises(da.ModelError, match="overlap"):
        da.rollout(model, state, np.zeros((2, 0)), DT, inputs=[], contact=f"steps:{STEP}")
