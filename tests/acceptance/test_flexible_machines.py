"""Machines with flexible bodies, simulated: spin-up, four-bar, flexible_pendulum, slider-crank, spacecraft."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from systems.flexible_systems import BLADE_LENGTH, beam, blade, tip_motion

import dalembert as da
from dalembert.library.mechanisms import four_bar

NYLON = da.Material(E=2e9, nu=0.4, density=1100)
QUIET = pytest.mark.filterwarnings("ignore::dalembert.StiffeningWarning")
FLAT = da.Section.rectangle(0.02, 0.01)  # 20 mm along y, 10 mm along z

# ---- spin-up of a beam on a hub (Kane, Ryan and Banerjee 1987; Simo and Vu-Quoc)


def hub_angle(t):
    if t >= 15.0:
        return 6.0 * t - 45.0
    return 0.4 * (t * t / 2 + (7.5 / np.pi) ** 2 * (np.cos(2 * np.pi * t / 15.0) - 1))


def spun_up(body, until, **options):
    """Return a run of the beam on its driven hub, and displacements (k, 2) of the tip in axes of the hub."""
    s = da.System("spin-up", gravity=(0, 0, 0))
    arm = s.body("arm", body)
    arm.marker("tip", node=20)
    s.connect("hub", da.Revolute("z"), s.ground, arm)
    s.drive("hub", position=hub_angle)
    times = np.linspace(0, until, 10 * int(until) + 1)
    result = da.simulate(s, until, times=times, rtol=1e-7, atol=1e-9, **options)
    return result, seen_from_hub(result["arm.tip.position"], result["hub"])


def seen_from_hub(tip, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * tip[:, 0] + s * tip[:, 1] - BLADE_LENGTH, c * tip[:, 1] - s * tip[:, 0]])


def without_stiffening(body):
    return body.structure.reduce(da.GivenModes(body.modes, frame="attached", at=0))


def test_spin_up_of_a_stiffened_beam():
    result, tip = spun_up(blade(), 20.0, method="radau")
    t = result.t
    assert tip[:, 1].min() == pytest.approx(-0.575, abs=0.001)
    assert 6.0 < t[tip[:, 1].argmin()] < 7.5
    assert tip[t > 18, 0].mean() == pytest.approx(5.14e-4, rel=2e-3)  # m w2 L3 / (3 E A)
    assert np.abs(tip[t > 16, 1]).max() < 0.01
    work = result["energy.work"]
    assert np.abs(result["energy.balance"]).max() < 1e-5 * work[-1]
    assert not result.stats.notes


def test_spin_up_is_that_of_the_modal_equations():
    """The linear equations in the rotating frame, integrated apart."""
    _, tip = spun_up(blade(), 20.0, method="radau")
    _, apart = tip_motion(blade(), stiffened=True, until=20.0)
    assert np.abs(tip[:, 1] - apart[:, 1]).max() < 0.01


def test_spin_up_without_stiffening_diverges():
    with pytest.warns(da.StiffeningWarning, match="'arm' spins at up to .*stiffening=True"):
        result, tip = spun_up(without_stiffening(blade()), 15.0, method="radau", on_error="return")
    assert np.abs(tip[:, 1]).max() > BLADE_LENGTH
    assert any("stiffening" in note for note in result.stats.notes)


def test_spin_up_of_a_chain_of_links():
    """Rigid links with springs between them know nothing of modes: the same lag, with an error of order two."""

    def lag(n):
        h, EI = BLADE_LENGTH / n, 1.4e4
        s = da.System("chain", gravity=(0, 0, 0))
        inner = s.ground
        for k in range(n):
            link = s.body(
                f"link{k}", mass=1.2 * h, com=(h / 2, 0, 0), inertia=(6e-4 * h, 0.1 * h**3, 0.1 * h**3 + 6e-4 * h)
            )
            if k == 0:
                # the first half element is stiff, its spring sits at the hub
                rotor = s.body("rotor", mass=1e-3, inertia=(1e-3, 1e-3, 1e-3))
                s.connect("hub", da.Revolute("z"), s.ground, rotor)
                inner = rotor.at(0, 0, 0)
            s.connect(f"h{k}", da.Revolute("z"), inner, link)
            s.connect(f"k{k}", da.TorsionSpring((2 if k == 0 else 1) * EI / h), f"h{k}")
            inner = link.at(h, 0, 0)
        link.marker("tip", h, 0, 0)
        s.drive("hub", position=hub_angle)
        result = da.simulate(s, 16.0, times=np.linspace(0, 16, 161), method="radau", rtol=1e-6)
        return seen_from_hub(result[f"link{n - 1}.tip.position"], result["hub"])[:, 1]

    coarse, fine = lag(10), lag(20)
    _, tip = spun_up(blade(), 16.0, method="radau")
    assert np.abs((4 * fine - coarse) / 3 - tip[:, 1]).max() < 0.01


# ---- four-bar


def bar(length, *, stiffness, nm=4):
    """Return a beam with half a kilogram for each metre, and the given E I in both planes."""
    return beam(8, length=length, mass=0.5 * length, stiffness=(stiffness, 3 * stiffness), nm=nm, rotary=1e-4)


def flexible_four_bar(stiffness, *, flexible=("crank", "coupler", "rocker"), **options):
    """Return the four-bar of the library with the named links flexible, pushed by a torque."""
    rigid = four_bar(mass=0.5, **options)
    s = da.System("flexible four-bar", gravity=rigid.gravity)
    lengths = {"crank": 1.0, "coupler": 2.5, "rocker": 2.0}
    for name, length in lengths.items():
        if name in flexible:
            s.body(name, bar(length, stiffness=stiffness))
        else:
            s.body(name, bar(length, stiffness=1.0, nm=0))
    crank, coupler, rocker = (s.bodies[name] for name in lengths)
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(1.0, 0, 0), coupler)
    s.connect("C", da.Revolute("z"), coupler.at(2.5, 0, 0), rocker.at(2.0, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(2.2, 0, 0), rocker)
    for name, values in rigid.initials.items():
        s.initial(name, position=values.position)
    return s


@pytest.mark.parametrize("flexible", [("coupler",), ("crank", "coupler", "rocker")], ids="-".join)
def test_four_bar_closes_and_keeps_its_energy(flexible):
    s = flexible_four_bar(500.0, flexible=flexible)
    result = da.simulate(s, 0.3)
    assert result["constraints.residual"].max() < 1e-12
    scale = np.ptp(result["energy.kinetic"])
    assert np.abs(result["energy.balance"]).max() < 1e-7 * scale
    assert np.abs(result["coupler.eta"]).max() > 1e-3
    s.connect("motor", da.Effort(lambda t: 3.0 * np.sin(4.0 * t)), "A")
    driven = da.simulate(s, 0.3)
    assert driven["constraints.residual"].max() < 1e-12
    assert np.abs(driven["energy.balance"]).max() < 1e-7 * np.ptp(driven["energy.kinetic"])
    assert np.ptp(driven["energy.work"]) > 0.1


@pytest.mark.slow
def test_stiff_four_bar_is_the_rigid_one():
    """Elastic deviations go with the compliance."""
    times = np.linspace(0, 0.6, 13)
    rigid = da.simulate(flexible_four_bar(1.0, flexible=()), 0.6, times=times, rtol=1e-10, atol=1e-12)
    library = da.simulate(four_bar(mass=0.5), 0.6, times=times, rtol=1e-10, atol=1e-12)
    assert np.abs(rigid["A"] - library["A"]).max() < 1e-3  # rotary inertia of the rods apart
    misses = []
    for stiffness in (1e4, 1e5, 1e6):
        found = da.simulate(flexible_four_bar(stiffness), 0.6, times=times, method="radau", rtol=1e-7, atol=1e-9)
        misses.append(np.abs(found["D"] - rigid["D"]).max())
    assert misses[1] < 0.2 * misses[0] and misses[2] < 0.2 * misses[1]
    assert misses[2] < 1e-4


# ---- flexible_pendulum


def flexible_pendulum(modes=4, **options):
    s = da.System("pendulum")
    rod = s.body("rod", da.beam(1.0, FLAT, NYLON, elements=10, modes=da.CantileverModes(modes), **options))
    rod.marker("tip", node=10)
    s.connect("A", da.Revolute("y"), s.ground, rod)
    s.initial("A", position=0.3)
    return s


@QUIET
def test_pendulum_converges_with_modes():
    times = np.linspace(0, 0.6, 13)
    tips = [
        da.simulate(flexible_pendulum(n), 0.6, times=times, method="radau", rtol=1e-7, atol=1e-10)["rod.tip.position"]
        for n in (1, 4, 8, 16)
    ]
    misses = [np.abs(tip - tips[-1]).max() for tip in tips[:-1]]
    assert misses[0] < 0.01
    assert misses[1] < 0.2 * misses[0] and misses[2] < 0.5 * misses[1]


STEPPERS = {
    "dopri5": {"rtol": 1e-9, "atol": 1e-11},
    "radau": {"rtol": 1e-9, "atol": 1e-11},
    "alpha": {"fixed_step": 5e-5, "spectral_radius": 1.0},
    "rk4": {"fixed_step": 1e-4},
}


@QUIET
@pytest.mark.parametrize("method", STEPPERS)
def test_methods_agree_and_the_damped_balance_closes(method):
    s, times = flexible_pendulum(4, damping=0.02), np.linspace(0, 0.4, 9)
    result = da.simulate(s, 0.4, times=times, method=method, **STEPPERS[method])
    expected = da.simulate(s, 0.4, times=times, method="dop853", rtol=1e-11, atol=1e-13)
    tolerance = 1e-7 if method == "alpha" else 1e-10
    for name in ("A", "rod.eta", "rod.tip.position"):
        assert np.abs(result[name] - expected[name]).max() < tolerance
    assert result["energy.dissipated"][-1] > 1e-4
    assert np.abs(result["energy.balance"]).max() < 0.1 * tolerance


@QUIET
def test_resume_is_exact(monkeypatch):
    monkeypatch.setattr("dalembert.simulation.run.MAX_CHUNK_STEPS", 4)
    model, armed = flexible_pendulum(4, damping=0.02).compile(), [True]

    def press(state):
        if armed[0] and state.t > 0.1:
            armed[0] = False
            signal.raise_signal(signal.SIGINT)

    for method in ("dop853", "radau", "alpha"):
        options = {"fixed_step": 1e-3} if method == "alpha" else {}
        armed[0] = True
        broken = da.simulate(model, 0.2, method=method, control=press, **options)
        assert broken.status == "interrupted"
        resumed = da.simulate(model, 0.2, method=method, control=press, resume=broken, **options)
        whole = da.simulate(model, 0.2, method=method, control=press, **options)
        for one, other in ((resumed.t, whole.t), (resumed.q, whole.q), (resumed.v, whole.v)):
            assert np.array_equal(one, other)


@QUIET
def test_events_at_a_node():
    """A pendulum whose tip strikes a wall, is held by its joint, and is let go again."""
    s, struck = flexible_pendulum(4, damping=0.01), []

    def bounce(now):
        if not struck:
            struck.append(now.t)
            now.bounce("rod.tip", (1, 0, 0), restitution=0.5)

    wall = da.Event("wall", "rod.tip.position.x", 0.3, direction=-1, action=bounce)
    lock = da.Event("lock", lambda state: state.t - 0.5, action=lambda now: now.lock("A"))
    free = da.Event("free", lambda state: state.t - 0.6, action=lambda now: now.release("A"))
    result = da.simulate(s, 0.7, events=[wall, lock, free])
    hit = next(event for event in result.events if event.name == "wall")
    before, after = (result["rod.tip.velocity"][k, 0] for k in np.flatnonzero(result.t == hit.t)[:2])
    assert before < 0
    assert after == pytest.approx(-0.5 * before, rel=1e-9)
    assert hit.energy < 0
    held = (result.t > 0.5) & (result.t < 0.6)
    assert np.ptp(result["A"][held]) < 1e-12
    assert np.ptp(result["rod.eta"][held, 0]) > 1e-5  # locked at its joint it goes on vibrating
    assert np.abs(result["energy.balance"]).max() < 1e-6


def sprung(stiffness):
    s = flexible_pendulum(3)
    spring = da.SpringDamper(stiffness=stiffness, damping=0.1, length=0.2)
    s.connect("k", spring, s.ground.at(0.5, 0, 0.3), s.bodies["rod"].at(node=7))
    return s


@QUIET
def test_ensembles_are_single_runs():
    model, numbers = sprung(10.0).compile(), np.array([5.0, 20.0, 80.0, 40.0, 11.0])
    starts = np.array([[0.1 * k, 0.003 * k, 0, 0] for k in range(5)])
    options = {"times": np.linspace(0, 0.2, 5), "rtol": 1e-10, "atol": 1e-12}
    many = da.simulate(model, 0.2, parameters={"k.stiffness": numbers}, **options)
    batch = da.simulate(model, 0.2, state=da.State(q=starts, v=np.zeros_like(starts)), **options)
    for k in (0, 2, 4):
        one = da.simulate(sprung(numbers[k]), 0.2, **options)
        other = da.simulate(model, 0.2, state=da.State(q=starts[k], v=np.zeros(4)), **options)
        for name in ("A", "rod.eta", "rod.tip.position", "energy.total", "k.force"):
            assert np.abs(many[k][name] - one[name]).max() < 1e-8
            assert np.abs(batch[k][name] - other[name]).max() < 1e-8


@QUIET
def test_contact_and_sensors_at_nodes():
    """A flexible arm falls on a floor with its tip; a controller looks at its middle and at its tip."""
    s = flexible_pendulum(4, damping=0.02)
    s.initial("A", position=0.0)
    middle, tip = (s.bodies["rod"].at(node=k) for k in (5, 10))
    s.connect("floor", da.SpherePlaneContact(0.02, 1e5, dissipation=0.1, friction=0.3), s.ground.at(0, 0, -0.1), tip)
    reading = {"middle": da.Sensor(s.ground, middle, "z"), "tip": da.Sensor(s.ground, tip, "z")}
    law = da.Element("joint", "0.3*middle + 0.1*tip", inputs=reading, signals={"m": "middle", "t_": "tip"})
    s.connect("controller", law, "A")
    result = da.simulate(s, 0.4, rtol=1e-9, atol=1e-11)
    press, height = result["floor.force"][:, 2], result["rod.tip.position"][:, 2]
    assert (press > 0).any() and not press[height > -0.08].any()
    assert (press[height < -0.081] > 0).all()
    assert np.allclose(result["controller.m"], result["rod.at(0.5, 0, 0).position"][:, 2], atol=1e-12)
    assert np.allclose(result["controller.t_"], height, atol=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-6


@QUIET
def test_a_law_of_the_load_of_a_flexible_body():
    """The load of its joint is what large forces of its modes leave, so that it is known to fewer digits."""
    s = flexible_pendulum(4, damping=0.02)
    s.initial("A", position=0.0)
    s.connect("floor", da.SpherePlaneContact(0.02, 1e5, dissipation=0.1), s.ground.at(0, 0, -0.1), s["rod"].at(node=10))
    law = da.Element("joint", "0.02*load", inputs={"load": da.Reaction("A", "force.z")}, signals={"f": "load"})
    s.connect("controller", law, "A")
    result = da.simulate(s, 0.4)
    axes = result["rod.rotation"]
    load = np.einsum("nij,ni->nj", axes, result["A.force"])[:, 2]
    assert np.abs(result["controller.f"] - load).max() < 1e-8 * np.abs(load).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6


# ---- slider-crank

KINDS = {"cantilever": da.CantileverModes(8), "free": da.FreeModes(8), "interfaces": da.CraigBampton((0, 8), 4)}


def flexible_slider_crank(modes, *, thickness, slider, **options):
    """Return a run of a crank driven at 10 rad/s, a flexible rod and a slider; and the sag (k,) of its middle."""
    s = da.System("slider-crank", gravity=(0, 0, 0))
    crank, section = s.body("crank", da.rod(0.15, 0.2)), da.Section.rectangle(thickness, 0.02)
    rod = s.body("rod", da.beam(0.6, section, NYLON, elements=8, modes=modes, damping=0.01, **options))
    block = s.body("slider", da.box(0.05, 0.05, 0.05, mass=slider))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(0.15, 0, 0), rod.at(node=0))
    s.connect("C", da.Revolute("z"), rod.at(node=8), block)
    s.connect("D", da.Prismatic("x"), s.ground, block)
    s.initial("D", position=0.75)
    s.drive("A", speed=10.0)
    result = da.simulate(s, 0.2, times=np.linspace(0, 0.2, 11), rtol=1e-7, atol=1e-9)
    assert result["constraints.residual"].max() < 1e-12
    assert np.abs(result["energy.balance"]).max() < 1e-6
    begin, middle, end = (result[f"rod.at({x}, 0, 0).position"] for x in (0, 0.3, 0.6))
    loop_constraint = (end - begin) / np.linalg.norm(end - begin, axis=1)[:, None]
    return result, np.cross(loop_constraint, middle - begin)[:, 2]


@QUIET
def test_slider_crank_with_any_modes():
    """Small deformations and axial loads: frames and modes do not matter."""
    found = {name: flexible_slider_crank(modes, thickness=0.012, slider=0.03) for name, modes in KINDS.items()}
    result, sag = found["interfaces"]
    assert 3e-4 < np.abs(sag).max() < 1e-3
    for name in ("cantilever", "free"):
        assert np.abs(found[name][1] - sag).max() < 0.04 * np.abs(sag).max()
        assert np.abs(found[name][0]["D"] - result["D"]).max() < 1e-5
    few = flexible_slider_crank(da.CantileverModes(2), thickness=0.012, slider=0.03)[1]
    assert np.abs(few - sag).max() > 2 * np.abs(found["cantilever"][1] - sag).max()


@QUIET
def test_slider_crank_near_buckling_needs_stiffening():
    """A quarter of the buckling load in the rod: modes agree if the loads of its ends stiffen it, else they do not."""
    options = {"thickness": 0.006, "slider": 0.3}
    stiffened = {"stiffening": True, "load_nodes": (0, 8)}
    sags = {name: flexible_slider_crank(modes, **options, **stiffened)[1] for name, modes in KINDS.items()}
    most = np.abs(sags["interfaces"]).max()
    for name in ("cantilever", "free"):
        assert np.abs(sags[name] - sags["interfaces"]).max() < 0.03 * most
    plain = {name: flexible_slider_crank(modes, **options)[1] for name, modes in KINDS.items()}
    assert np.abs(plain["free"] - plain["interfaces"]).max() > most


# ---- held in several places, branches, free flight


@QUIET
def test_a_beam_held_by_joints_at_three_nodes_sags_as_statics_says():
    """Two equal spans on three supports under their weight: the middle one carries 5/8 of it."""
    section, weight = da.Section.rectangle(0.02, 0.02), 1100 * 0.02**2 * 2.0 * 9.81
    body = da.beam(2.0, section, NYLON, elements=12, theory="euler", modes=da.CraigBampton((0, 6, 12), 6), damping=1.0)
    s = da.System("two spans")
    span = s.body("span", body)
    s.connect("A", da.Revolute("y"), s.ground, span.at(node=0))
    s.connect("B", da.Cylindrical("y"), s.ground.at(1, 0, 0), span.at(node=6))
    s.connect("C", da.PointOnLine("x"), s.ground.at(2, 0, 0), span.at(node=12))
    result = da.simulate(s, 3.0, method="radau", rtol=1e-6)
    assert result["constraints.residual"].max() < 1e-12
    loads = [result[f"{name}.force"][-1, 2] for name in "ABC"]
    assert sum(loads) == pytest.approx(weight, rel=1e-4)
    assert loads[1] == pytest.approx(0.625 * weight, rel=2e-3)  # six fixed-interface modes


def spacecraft():
    """Return a free flexible boom with two flexible panels on joints at its nodes and a rigid wheel in its middle."""
    s = da.System("spacecraft", gravity=(0, 0, 0))
    boom = s.body("boom", beam(8, length=2.0, mass=4.0, stiffness=(40.0, 60.0), free=True, rotary=1e-2, nm=4))
    s.connect("O", da.Free(), s.ground, boom)
    for name, node in (("left", 0), ("right", 8)):
        panel = s.body(name, beam(6, length=1.5, mass=1.0, stiffness=(20.0, 30.0), rotary=1e-2, nm=3))
        s.connect(f"h_{name}", da.Revolute("z"), boom.at(node=node), panel)
        s.connect(f"k_{name}", da.TorsionSpring(3.0), f"h_{name}")
    wheel = s.body("wheel", mass=1.0, com=(0.02, 0, 0), inertia=(0.1, 0.05, 0.06))
    s.connect("w", da.Revolute("x"), boom.at(node=4), wheel)
    s.connect("motor", da.Effort(lambda t: 0.2 * np.sin(3 * t)), "w")
    s.initial("h_left", position=0.5, speed=0.2)
    s.initial("h_right", position=-0.9)
    s.initial("w", speed=3.0)
    s.initial("boom", position=[0.05, 0.02, 0, 0])
    s.initial("right", speed=[0.1, 0.05, 0])
    return s


@QUIET
def test_momentum_of_a_spacecraft():
    result = da.simulate(spacecraft(), 2.0, rtol=1e-10, atol=1e-12)
    for name in ("momentum.linear", "momentum.angular"):
        momentum = result[name]
        assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert np.abs(result["energy.balance"]).max() < 1e-9
    centre = result["center_of_mass"]
    mass = sum(body.mass for body in result.model.system.bodies.values())
    along = centre[0] + result.t[:, None] * result["momentum.linear"][0] / mass
    assert np.abs(centre - along).max() < 1e-9
    for name in ("boom.eta", "left.eta", "right.eta"):
        assert np.ptp(result[name], axis=0)[0] > 1e-3
