"""Bodies without mass in loops: links that only pass on what others have, exactly (Sol 1983, section 7.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

TIGHT: Any = {"rtol": 1e-10, "atol": 1e-12}


def swing(*, links: float = 0.0, cut: str = "") -> da.System:
    """A bar on two parallel links of 1 m, which hang 1 m apart."""
    s = da.System("swing")
    bar = s.body("bar", da.box(1.0, 0.1, 0.1, mass=2.0))
    inertia = {"mass": links, "inertia": (links, links, links)} if links else {}
    left, right = (s.body(name, **inertia) for name in ("left", "right"))
    joints = {
        "A": (s.ground, left),
        "B": (s.ground.at(1.0), right),
        "C": (left.at(0, 0, -1.0), bar.at(-0.5)),
        "D": (right.at(0, 0, -1.0), bar.at(0.5)),
    }
    for name in sorted(joints, key=lambda each: each == cut):  # the last one closes the loop
        s.connect(name, da.Revolute("y"), *joints[name])
    s.initial("A", position=0.6)
    return s


@pytest.mark.parametrize("method", ["dop853", "radau", "alpha"])
@pytest.mark.parametrize("cut", ["B", "D", "C"])
def test_a_bar_on_two_massless_links_is_a_point_pendulum(cut: str, method: str) -> None:
    times = np.linspace(0.0, 2.0, 9)
    options = TIGHT if method != "alpha" else {"rtol": 1e-7, "atol": 1e-9}
    result = da.simulate(swing(cut=cut), 2.0, times=times, method=method, **options)
    pendulum = solve_ivp(
        lambda _, y: [y[1], -9.81 * np.sin(y[0])], (0, 2), [0.6, 0], t_eval=times, rtol=1e-12, atol=1e-13
    )
    # the alpha method is of second order
    np.testing.assert_allclose(result["A.position"], pendulum.y[0], atol=1e-8 if method != "alpha" else 1e-4)
    # the forces in both links: the bar's weight along them and what turns it
    pull = 2.0 * (9.81 * np.cos(pendulum.y[0]) + pendulum.y[1] ** 2)
    np.testing.assert_allclose(
        result["A.force.norm"] + result["B.force.norm"], pull, rtol=2e-7 if method != "alpha" else 1e-3
    )


def test_masses_that_get_lighter_tend_to_none_in_proportion() -> None:
    ends = [da.simulate(swing(links=mass), 1.0, **TIGHT)["A.position"][-1] for mass in (0.0, 1e-4, 1e-5)]
    off = [abs(end - ends[0]) for end in ends[1:]]
    assert 8.0 < off[0] / off[1] < 12.0


def caster(*, fork: float = 0.0) -> da.System:
    """A board on the plane whose fork trails a wheel that does not slip sideways."""
    s = da.System("caster", gravity=(0, 0, 0))
    board = s.body("board", da.box(1.0, 0.5, 0.1, mass=5.0))
    trail = s.body("fork", **({"mass": fork, "inertia": (fork, fork, fork)} if fork else {}))
    s.connect("plane", da.Planar("z"), s.ground, board)
    s.connect("pin", da.Revolute("z"), board.at(0.4), trail)
    s.connect("wheel", da.KnifeEdge(), s.ground, trail.at(-0.1))
    s.initial("pin", position=0.7)
    s.initial("plane", speed=(1.0, 0.3, 0.5))
    return s


def test_the_fork_of_a_caster_needs_no_mass() -> None:
    """Without mass it can only take what passes along its own line: the rows of the wheel have no side force left."""
    result = da.simulate(caster(), 1.0, **TIGHT)
    assert np.abs(result["wheel.force"]).max() < 1e-9
    assert np.abs(result["energy.total"] - result["energy.total"][0]).max() < 1e-9
    assert np.ptp(result["pin.position"]) > 0.3  # it follows where the board goes
    ends = [da.simulate(caster(fork=mass), 1.0, **TIGHT)["pin.position"][-1] for mass in (1e-4, 1e-5)]
    off = [abs(end - result["pin.position"][-1]) for end in ends]
    assert off[1] < 1e-4 and 8.0 < off[0] / off[1] < 12.0


def held_coupler(mass: float = 0.0) -> da.System:
    """Two rods joined by a coupler on which springs and dampers act; it carries a ring that closes a loop."""
    s = da.System("coupler")
    a, b = (s.body(name, da.rod(1.0, mass=1.0)) for name in "ab")
    light: dict[str, Any] = {"mass": mass, "inertia": (mass, mass, mass)} if mass else {}
    coupler, ring = s.body("coupler", **light), s.body("ring", **light)
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), s.ground.at(1.5), b)
    s.connect("C", da.Revolute("y"), a.at(1.0), coupler.at(-0.5))
    s.connect("D", da.Revolute("y", damping=0.3), coupler.at(0.5), b.at(1.0))
    s.connect("E", da.Revolute("y"), coupler.at(0, 0, 0.2), ring)
    s.connect("F", da.PointOnLine("x"), s.ground.at(0.7, 0, 1.0), ring.at(0.3))
    s.connect("spring", da.SpringDamper(60.0, 2.0, 0.5), s.ground.at(0.7, 0.2, 2.0), coupler.at(0, 0, 0.1))
    s.connect("twist", da.TorsionSpring(3.0, 0.2), "E")
    s.initial("A", position=-1.2)
    s.initial("B", position=-1.6)
    return s


def test_springs_on_a_massless_coupler_and_a_ring_in_a_loop_of_its_own() -> None:
    result = da.simulate(held_coupler(), 0.6, **TIGHT)
    assert np.abs(result["energy.balance"]).max() < 1e-7
    names = ("A.position", "E.position", "coupler.position")
    ends = [
        np.concatenate([np.atleast_1d(da.simulate(held_coupler(mass), 0.6, **TIGHT)[name][-1]) for name in names])
        for mass in (1e-4, 1e-5)
    ]
    exact = np.concatenate([np.atleast_1d(result[name][-1]) for name in names])
    off = [np.abs(end - exact).max() for end in ends]
    assert off[1] < 1e-4 and 7.0 < off[0] / off[1] < 13.0


@pytest.mark.parametrize("make", [swing, caster, held_coupler])
def test_derivatives_batches_and_balance_of_massless_links(make: Any) -> None:
    model = make().compile()
    state = da.start_state(model)
    q, v = np.asarray(state.q), np.asarray(state.v)
    motion = model.dynamics(0.0, q, v)
    # the equations of motion themselves: what the joints have to supply is what rows give
    P = model.constraint_jacobian(q, t=0.0)
    M = model.mass_matrix(q)
    assert np.linalg.matrix_rank(M) < model.nv
    for e in np.eye(model.nv):
        ends = [model.dynamics(0.0, q, v, tau=h * e).a for h in (1.0, -1.0)]
        slope = (ends[0] - ends[1]) / 2.0
        # a force changes accelerations by the response of the closed system: M a' = e + P^T l, P a' = 0
        np.testing.assert_allclose(P @ slope, 0.0, atol=1e-7 * (1 + np.abs(slope).max()))
        rest = M @ slope - e
        lam = np.linalg.lstsq(P.T, rest, rcond=None)[0]
        np.testing.assert_allclose(P.T @ lam, rest, atol=1e-7 * (1 + np.abs(rest).max()))
    assert np.isfinite(motion.a).all()
    many = model.dynamics(np.zeros(5), np.tile(q, (5, 1)), np.tile(v, (5, 1))).a
    np.testing.assert_allclose(many, np.tile(motion.a, (5, 1)), rtol=1e-9, atol=1e-9)
    by_v = model.d_dynamics(0.0, q, v).a[1]
    for k, e in enumerate(np.eye(model.nv)):
        ends = [model.dynamics(0.0, q, v + h * e).a for h in (1e-4, -1e-4)]
        np.testing.assert_allclose(
            by_v[:, k], (ends[0] - ends[1]) / 2e-4, rtol=1e-5, atol=1e-5 * (1 + np.abs(by_v).max())
        )


def test_a_massless_four_bar_moves_as_its_crank_is_driven() -> None:
    s = da.System("weightless")
    links = [s.body(name) for name in ("crank", "coupler", "rocker")]
    s.connect("A", da.Revolute("y"), s.ground, links[0])
    s.connect("B", da.Revolute("y"), links[0].at(0.3), links[1])
    s.connect("C", da.Revolute("y"), links[1].at(0.8), links[2].at(0.6))
    s.connect("D", da.Revolute("y"), s.ground.at(0.9), links[2])
    s.connect("spring", da.TorsionSpring(5.0, 0.1), "D")
    s.drive("A", position=da.Harmonic(0.8, 3.0))
    s.initial("B", position=-0.9)
    result = da.simulate(s, 0.5, **TIGHT)
    assert np.abs(result["energy.balance"]).max() < 1e-7
    # virtual work: the motor gives what the spring takes, at every instant
    supplied = result["A.effort"] * result["A.speed"]
    taken = (5.0 * result["D.position"] + 0.1 * result["D.speed"]) * result["D.speed"]
    np.testing.assert_allclose(supplied, taken, atol=1e-9 * np.abs(taken).max())


def assembly(mass: float = 0.0) -> da.System:
    """Two boards joined by massless links: a redundant parallelogram, a piston that time drives, a blade."""
    s = da.System("assembly", gravity=(0, 0, 0))
    light: dict[str, Any] = {"mass": mass, "inertia": (mass, mass, mass)} if mass else {}
    one, two = (s.body(name, da.box(0.4, 0.3, 0.1, mass=m)) for name, m in (("one", 3.0), ("two", 2.0)))
    arms = [s.body(f"arm{k}", **light) for k in range(3)]
    table, rod, fork = (s.body(name, **light) for name in ("table", "rod", "fork"))
    s.connect("P", da.Planar("z"), s.ground, one)
    s.connect("Q", da.Planar("z"), s.ground, two)
    for k, arm in enumerate(arms):  # three arms, where two would do
        s.connect(f"in{k}", da.Revolute("z"), one.at(0.2, 0.1 * (k - 1)), arm)
        s.connect(f"out{k}", da.Revolute("z"), arm.at(0.3), table.at(0, 0.1 * (k - 1)))
    s.connect("slide", da.Prismatic("x"), table, rod)
    s.connect("swivel", da.Revolute("z"), rod, two.at(-0.2))
    s.connect("pin", da.Revolute("z"), table.at(0.05), fork)
    s.connect("blade", da.KnifeEdge(), s.ground, fork.at(-0.1))
    s.drive("slide", position=da.Harmonic(0.05, 4.0, offset=0.1))
    s.connect("spring", da.TorsionSpring(2.0, 0.1), "in1")  # at an inner joint
    s.connect("motor", da.Element("joint", "0.4*cos(3*t)", active=True), "swivel")
    s.initial("Q", position=(0.8, 0.1, 0.1))
    s.initial("P", speed=(0.3, 0.1, 0.2))
    s.initial("pin", position=0.4)
    return s


def test_an_assembly_of_everything_is_the_limit_of_light_links() -> None:
    """Internal loops, redundant ones too, time, nonholonomic parts, forces and drives at inner joints."""
    result = da.simulate(assembly(), 0.6, **TIGHT)
    assert np.abs(result["energy.balance"]).max() < 1e-7
    names = ("P.position", "Q.position", "in1.position", "slide.effort", "blade.force", "swivel.speed")
    ends = [
        np.concatenate([np.atleast_1d(run[name][-1]) for name in names])
        for run in (result, *(da.simulate(assembly(mass), 0.6, **TIGHT) for mass in (1e-3, 1e-4)))
    ]
    off = [np.abs(end - ends[0]).max() for end in ends[1:]]
    assert off[1] < 1e-2 and 7.0 < off[0] / off[1] < 13.0


def test_joints_that_time_moves_close_loops_too() -> None:
    """A parallelogram of joints that time moves, beside the same with massless slides that a drive moves."""

    def built(rheonomic: bool) -> da.System:
        s = da.System("shaken")
        a, b = (s.body(name, da.rod(1.0, mass=1.0)) for name in "ab")
        c = s.body("c", da.box(1.0, 0.1, 0.1, mass=1.0))
        joints = {
            "A": (s.ground, a),
            "B": (s.ground.at(1.0), b),
            "C": (a.at(1.0), c.at(-0.5)),
            "D": (b.at(1.0), c.at(0.5)),
        }
        for name, (first, second) in joints.items():
            if rheonomic:
                joint = da.CustomJoint(("angle",), ("0.05*sin(3*t)", 0, 0), [("y", "angle")])
                s.connect(name, joint, first, second)
            else:
                shoe = s.body(f"shoe {name}")
                s.connect(f"slide {name}", da.Prismatic("x"), first, shoe)
                s.drive(f"slide {name}", position=da.Harmonic(0.05, 3.0))
                s.connect(name, da.Revolute("y"), shoe, second)
        for name, angle in (("A", 1.0), ("B", 1.0), ("C", -1.0)):
            s.initial(f"{name}.angle" if rheonomic else name, position=angle)
        return s

    runs = [da.simulate(built(rheonomic), 0.5, times=[0.2, 0.5], **TIGHT) for rheonomic in (True, False)]
    np.testing.assert_allclose(runs[0]["c.position"], runs[1]["c.position"], atol=1e-7)
    assert np.abs(da.simulate(built(True), 0.5, **TIGHT)["energy.balance"]).max() < 1e-7
