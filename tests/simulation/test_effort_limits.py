"""Joint limit of the total effort of all actuators."""

import numpy as np
import pytest
from systems.pendulums import rod_pendulum

import dalembert as da


def arm(bound=2.0):
    return rod_pendulum(mass=3.0, gravity=(0, 0, 0), max_effort=bound)  # 1 kg m2 about its end


def test_the_sum_of_actuators_is_clipped_and_shared_in_proportion():
    s = arm()
    s.connect("M", da.Effort(1.5), "A")
    s.connect("N", da.Element("joint", "2.5 + 0*ds", active=True), "A")
    result = da.simulate(s, 1.0)
    assert result["A.position"][-1] == pytest.approx(1.0, rel=1e-9)  # 2 N m of the 4 that are asked for
    assert result["M.effort"] == pytest.approx(0.75)
    assert result["N.effort"] == pytest.approx(1.25)
    assert result["A.effort"] == pytest.approx(2.0)
    assert result.stats.notes == [
        "A: M, N were clipped to its max_effort 2 from t = 0 s on; together they requested up to 4, and each was "
        "scaled by the same factor"
    ]
    assert abs(result["energy.balance"]).max() < 1e-9
    assert result["energy.kinetic"][-1] == pytest.approx(2.0)


def test_actuators_that_work_against_each_other_are_not_clipped_while_their_sum_is_small():
    s = arm()
    s.connect("M", da.Effort(5.0), "A")
    s.connect("N", da.Effort(-4.0), "A")
    result = da.simulate(s, 1.0)
    assert result["A.position"][-1] == pytest.approx(0.5, rel=1e-9)
    assert result["M.effort"] == pytest.approx(5.0)
    assert not result.stats.notes


@pytest.mark.parametrize("period", [None, 0.05])
def test_control_counts_with_motors(period):
    s = arm()
    s.connect("M", da.Effort(1.0), "A")
    result = da.simulate(s, 1.0, control=lambda state: [3.0], control_period=period)
    assert result["A.position"][-1] == pytest.approx(1.0, rel=1e-9)
    assert result["M.effort"] == pytest.approx(0.5)
    assert "A: M, control were clipped to its max_effort 2 from t = 0 s on; together they requested up to 4" in str(
        result.stats.notes
    )
    assert abs(result["energy.balance"]).max() < 1e-9


@pytest.mark.parametrize("last", ["A", "D"])
def test_a_cut_joint_has_the_same_bound(last):
    def run(bound):
        s = da.System("four-bar", gravity=(0, 0, 0))
        a, b, c = (s.body(n, da.rod(length=x, mass=1.0)) for n, x in (("a", 0.3), ("b", 0.8), ("c", 0.6)))
        motor = da.Revolute("y", max_effort=bound)
        joints = {
            "A": (motor, s.ground, a),
            "B": (da.Revolute("y"), a.at(0.3, 0, 0), b),
            "C": (da.Revolute("y"), b.at(0.8, 0, 0), c.at(0.6, 0, 0)),
            "D": (da.Revolute("y"), s.ground.at(0.9, 0, 0), c),
        }
        for name in (*(n for n in joints if n != last), last):
            s.connect(name, *joints[name])
        s.connect("M", da.Effort(1.0 if bound else 0.4), "A")
        s.connect("N", da.Effort(2.0 if bound else 0.8), "A")
        s.initial("A", position=-1.0)
        return da.simulate(s, 0.3)

    clipped, plain = run(1.2), run(None)
    assert clipped["A.position"][-1] == pytest.approx(plain["A.position"][-1], abs=1e-9)
    assert clipped["M.effort"] == pytest.approx(0.4)
    assert abs(clipped["energy.balance"]).max() < 1e-8


def test_derivatives_respect_clipping():
    s = arm()
    s.connect("M", da.Element("joint", "-3*s", active=True), "A")
    s.connect("N", da.Element("joint", "-ds", active=True), "A")
    model = s.compile()
    for q, v in ((0.2, 0.3), (1.0, 0.3)):
        a = model.forward_dynamics([q], [v])[0]
        assert a == pytest.approx(np.clip(-3 * q - v, -2, 2))
    lanes = model.forward_dynamics(np.array([[0.2], [1.0], [-1.0], [0.0]]), np.full((4, 1), 0.3))
    assert lanes[:, 0] == pytest.approx(np.clip([-0.9, -3.3, 2.7, -0.3], -2, 2))
    for q, slope in ((0.2, -3.0), (1.0, 0.0)):
        assert model.d_dynamics(0.0, [q], [0.3]).a.q[0, 0] == pytest.approx(slope)
    pulled = model.conditions(control=lambda state: [-3.0 * state.q[0]])
    for q, slope in ((0.1, -6.0), (0.9, 0.0)):
        assert model.d_dynamics(0.0, [q], [0.3], conditions=pulled).a.q[0, 0] == pytest.approx(slope, abs=1e-6)


def test_a_bound_of_zero_means_nothing():
    s = arm(0.0)
    s.connect("M", da.Effort(1.0), "A")
    result = da.simulate(s, 1.0)
    assert result["A.position"][-1] == 0.0
    assert "clipped to its max_effort 0" in result.stats.notes[0]
