"""Library elements together on a moving chain: the account closes, whatever integrates it; runs in a batch agree."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def chain(seed: int) -> da.System:
    """Return three bodies in a row, all of them moving, with elements of every family between them."""
    rng = np.random.default_rng(seed)

    def number(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def turned(body: da.Body) -> da.Marker:
        return body.at(*rng.uniform(-0.2, 0.2, 3), rotation=da.bryant(*rng.uniform(-0.3, 0.3, 3)))

    s = da.System("chain", gravity=(0, 0, -2.0))
    one, two, three = (s.body(name, da.box(0.2, 0.3, 0.4, mass=number(1, 2))) for name in ("one", "two", "three"))
    s.connect("A", da.Revolute(rng.normal(size=3)), s.ground, one.at(-0.2, 0, 0))
    s.connect("B", da.Universal("x", "y"), one.at(0.2, 0, 0), two.at(-0.2, 0.1, 0))
    s.connect("C", da.Prismatic("x"), two, three.at(-0.3, 0, 0))
    s.connect("friction", da.CoulombFriction(number(0.1, 0.3), viscous=0.05, slip_speed=0.1), "A")
    s.connect("lugre", da.LuGreFriction(0.3, 0.2, 0.5, bristle_stiffness=20.0, bristle_damping=0.4), "B.angle_1")
    s.connect("stribeck", da.StribeckFriction(0.3, 0.2, 0.5, slip_speed=0.1), "B.angle_2")
    s.connect("memory", da.GeneralizedMaxwell(10.0, [(5.0, 0.1), (8.0, 0.6)], rest=0.1), "C")
    s.connect("zener", da.Zener(3.0, 4.0, 2.0, measure="distance", rest=0.4), s.ground, turned(two))
    s.connect("stiff", da.NonlinearSpring((4.0, 1.0, 9.0), rest=0.3, damping=0.2, measure="distance"), one, three)
    s.connect("gas", da.GasSpring(2e5, 1e-4, 8e-5, rest=0.5), s.ground.at(0, 0, 1), turned(three))
    s.connect("bushing", da.Bushing([20.0, 30, 40, 2, 2, 2], [1.0, 1, 1, 0.1, 0.2, 0.3]), turned(one), turned(three))
    s.connect("drag", da.Drag(0.1, 0.2, stream=(0.3, -0.2, 0.5)), s.ground, turned(two))
    s.connect("pull", da.InverseSquare(0.5, softening=0.1), turned(one), turned(three))
    s.connect(
        "floor", da.PointPlaneContact(300.0, dissipation=0.3, exponent=2, friction=0.3, slip_speed=0.1), one, three
    )
    s.connect(
        "balls",
        da.SphereSphereContact(0.4, 0.4, 200.0, dissipation=0.3, friction=0.2, slip_speed=0.1),
        turned(one),
        three,
    )
    for joint, count in (("A", 1), ("B", 2), ("C", 1)):
        s.initial(joint, speed=rng.normal(size=count) if count > 1 else float(rng.normal()))
    return s


@pytest.mark.parametrize("seed", range(3))
def test_the_account_closes_explicitly_and_implicitly(seed: int) -> None:
    s = chain(seed)
    explicit = da.simulate(s, 1.0, method="dop853", rtol=1e-10, atol=1e-12)
    implicit = da.simulate(s, 1.0, method="radau", rtol=1e-10, atol=1e-12)
    assert explicit["energy.dissipated"][-1] > 0.01
    assert abs(explicit["energy.balance"]).max() < 1e-7
    assert abs(implicit["energy.balance"]).max() < 1e-7
    assert implicit.q[-1] == pytest.approx(explicit.q[-1], abs=1e-7)
    assert implicit.x[-1] == pytest.approx(explicit.x[-1], abs=1e-7)


def test_a_batch_with_other_numbers_gives_what_single_runs_give() -> None:
    s = chain(5)
    stiffness, friction = np.array([2.0, 4.0, 7.0]), np.array([0.0, 0.2, 0.6])
    given = {"stiff.k1": stiffness, "floor.friction": friction}
    batch = da.simulate(s, 0.5, times=[0.0, 0.5], parameters=given)
    for k in range(3):
        single = da.simulate(s, 0.5, times=[0.0, 0.5], parameters={name: float(v[k]) for name, v in given.items()})
        assert batch[k].q[-1] == pytest.approx(single.q[-1], abs=1e-7)
        assert batch[k].x[-1] == pytest.approx(single.x[-1], abs=1e-7)
    assert abs(batch[0].q[-1] - batch[2].q[-1]).max() > 1e-3
