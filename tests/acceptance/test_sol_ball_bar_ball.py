"""Sol 1983, section 7.2: the ball-bar-ball connection.

Two ball joints and a rigid bar between them have six coordinates, but their rates span five of the six relative motions
only: one of them spins the bar about itself. So the connection is one holonomic equation, a constant distance.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]

LENGTH = 0.7


def two_bodies(bar: float | None) -> da.System:
    """Two pendulums tied by a bar of the given mass between balls, or by a Distance."""
    s = da.System("tied", gravity=(1.0, 2.0, -9.81))
    a, b = s.body("a", da.box(0.2, 0.3, 0.5, 2.0)), s.body("b", da.box(0.4, 0.2, 0.3, 3.0))
    s.connect("A", da.Universal("x", "y"), s.ground, a.at(0, 0, 0.4))
    s.connect("B", da.Spherical(), s.ground.at(1.0, 0.2, 0), b.at(0, 0.1, 0.5))
    first, second = a.at(0.1, 0, -0.2), b.at(-0.1, 0, -0.1)
    if bar is None:
        s.connect("tie", da.Distance(LENGTH), first, second)
    else:
        link = s.body("bar", da.rod(LENGTH, bar, radius=0.01))
        s.connect("ball 1", da.Spherical(), first, link)
        s.connect("ball 2", da.Spherical(), link.at(LENGTH, 0, 0), second)
    return s


def placed(model: da.Model, like: da.Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the state of the model with the bar at which both bodies are and move as in the other; no spin."""
    at = da.assemble(model).q
    for name in ("A", "B"):
        at[model.q_slice(name)] = q[like.q_slice(name)]
    at = da.assemble(model, state=at, hold=[n for n in ("A", "B") if n in model.joint_names]).q
    speeds = np.zeros(model.nv)
    for name in ("A", "B"):
        speeds[model.v_slice(name)] = v[like.v_slice(name)]
    return at, da.consistent_velocities(model, at, speeds, hold=["A", "B"])


def test_the_rates_of_the_connection_span_five_motions_of_six() -> None:
    s = da.System()
    first, link, second = (s.body(name, da.rod(LENGTH, 1.0, radius=0.1)) for name in ("first", "bar", "second"))
    s.connect("hold", da.Fixed(), s.ground, first)
    s.connect("ball 1", da.Spherical(), first.at(0.1, 0.2, 0.3), link)
    s.connect("ball 2", da.Spherical(), link.at(LENGTH, 0, 0), second)
    model = s.compile()
    q = model.random_state(3).q
    Y = model.jacobian(second, q)  # of the second body relative to the first
    assert Y.shape == (6, 6)
    U, singular, Vt = np.linalg.svd(Y)
    assert singular[4] > 0.05 and singular[5] < 1e-15
    # the motion without effect: the bar spins about its axis, and the second ball takes the spin back
    spin = Vt[5]
    assert np.abs(spin[1:3]).max() < 1e-12 and abs(spin[0]) > 0.1
    axis = model.pose(link, q).rotation[:, 0]
    back = model.pose(second, q).rotation @ spin[3:]
    assert back == pytest.approx(-spin[0] * axis, abs=1e-12)
    # and the load without effect on any of the six: a force along the bar, from ball to ball
    load = U[:, 5]
    arm = model.pose(link.at(LENGTH, 0, 0), q).position - model.pose(second, q).position
    assert np.cross(load[3:], axis) == pytest.approx([0, 0, 0], abs=1e-12)
    assert load[:3] == pytest.approx(np.cross(arm, load[3:]), abs=1e-12)


def test_mobility_names_the_spin_of_the_bar() -> None:
    tied, barred = two_bodies(None), two_bodies(0.1)
    one, other = da.mobility(tied), da.mobility(barred)
    assert (one.mobility, one.gruebler) == (4, 4)  # 2 + 3 - 1
    assert (other.mobility, other.gruebler, other.redundant) == (5, 5, {})
    idle = [motion for motion in other.motions if not any(name.startswith(("A", "B")) for name in motion)]
    assert len(idle) == 1 and all(name.startswith("ball") for name in idle[0])


@pytest.mark.parametrize("seed", range(3))
def test_a_light_bar_between_balls_is_a_distance(seed: int) -> None:
    """Accelerations and forces differ by what the bar weighs, in proportion to it."""
    tied = two_bodies(None).compile()
    rng = np.random.default_rng(seed)
    q = da.assemble(tied, state=tied.integrate(da.assemble(tied).q, 0.2 * rng.normal(size=tied.nv))).q
    v = da.consistent_velocities(tied, q, rng.normal(size=tied.nv))
    a = tied.forward_dynamics(q, v)
    force = tied.connection_loads(q, v)["tie"]
    assert force[:3] == pytest.approx([0, 0, 0], abs=1e-10)
    size = np.abs(force).max()

    def differences(mass: float) -> tuple[float, float]:
        model = two_bodies(mass).compile()
        state = placed(model, tied, q, v)
        found = model.forward_dynamics(*state)
        off = max(np.abs(found[model.v_slice(n)] - a[tied.v_slice(n)]).max() for n in ("A", "B"))
        loads = model.connection_loads(*state)
        assert all(marks.all() for marks in loads.determined.values())
        ends = (loads["ball 1"][3:], loads["ball 2"][3:])
        return float(off), float(max(np.abs(end - force[3:]).max() for end in ends))

    heavy, light = differences(1e-3), differences(1e-6)
    for much, little in zip(heavy, light, strict=True):
        assert little < 2e-3 * much + 1e-9 * size
    assert light[0] < 1e-4 * np.abs(a).max() and light[1] < 1e-4 * size


def test_the_force_in_the_bar_is_the_multiplier() -> None:
    """Positive if the bar pushes its ends apart."""
    model = two_bodies(None).compile()
    q = da.assemble(model).q
    (lam,) = model.multipliers(q, np.zeros(model.nv))
    tie = model.system.connections["tie"]
    along = model.pose(tie.second, q).position - model.pose(tie.first, q).position
    assert np.linalg.norm(along) == pytest.approx(LENGTH, abs=1e-12)
    load = model.connection_loads(q, np.zeros(model.nv))["tie"]
    assert load[3:] == pytest.approx(lam * along / LENGTH, abs=1e-10)


def test_as_a_chain_it_is_that_distance() -> None:
    # ngamma = 6, rank 5 (WE-15): the same motion, the same loads, the same derivatives along it
    chain = da.KinematicChain([da.Spherical(), da.bar(LENGTH), da.Spherical()])
    assert (chain.rank, chain.redundant, len(chain.rows)) == (5, 1, 1)
    tied = two_bodies(None)
    chained = tied.copy()
    tie = chained.connections["tie"]
    chained.remove("tie")
    chained.connect("tie", chain, tie.first, tie.second)
    a, b = tied.compile(), chained.compile()
    rng = np.random.default_rng(4)
    for _ in range(5):
        q = da.assemble(a, state=a.random_state(rng).q).q
        v = da.consistent_velocities(a, q, rng.normal(size=a.nv))
        assert abs(b.constraint_residual(q)[0]) < 1e-12
        # round-off of accelerations of the order of 100
        assert b.forward_dynamics(q, v) == pytest.approx(a.forward_dynamics(q, v), rel=1e-11, abs=1e-11)
        one, other = a.connection_loads(q, v), b.connection_loads(q, v)
        for name in ("A", "B", "tie"):
            assert other[name] == pytest.approx(one[name], rel=1e-10, abs=1e-10)
    assert da.mobility(chained).mobility == 4
