"""Each force element against a closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj

import dalembert as da
from dalembert.library.mechanisms import four_bar

TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def slider(mass: float = 2.0, *, gravity: float = 0.0, position: float = 0.0, speed: float = 0.0) -> da.System:
    """Return a body on a slide along x, joint P."""
    s = da.System("slider", gravity=(gravity, 0, 0))
    s.connect("P", da.Prismatic("x"), s.ground, s.body("body", mass=mass, inertia=(1, 1, 1)))
    s.initial("P", position=position, speed=speed)
    return s


def rotor(inertia: float = 0.5, *, position: float = 0.0, speed: float = 0.0) -> da.System:
    """Return a body that turns about z, joint A."""
    s = da.System("rotor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, inertia)))
    s.initial("A", position=position, speed=speed)
    return s


def damped(t: np.ndarray, w: float, d: float, x0: float, v0: float) -> np.ndarray:
    """Return x of x'' + 2 d x' + w^2 x = 0."""
    wd = math.sqrt(w * w - d * d)
    return np.exp(-d * t) * (x0 * np.cos(wd * t) + (v0 + d * x0) / wd * np.sin(wd * t))


def test_spring_and_damper_between_markers_is_a_damped_oscillator() -> None:
    s = slider(2.0, position=1.7)
    s.connect("k", da.SpringDamper(50.0, 3.0, length=1.2), s.ground, s.bodies["body"])
    r = da.simulate(s, 4.0, **TIGHT)
    assert np.abs(r["P.position"] - 1.2 - damped(r.t, 5.0, 0.75, 0.5, 0.0)).max() < 1e-10
    tension = 50.0 * (r["P.position"] - 1.2) + 3.0 * r["P.speed"]
    assert np.abs(r["k.force.x"] + tension).max() < 1e-10
    assert np.abs(r["energy.balance"]).max() < 1e-10


def test_spring_may_be_attached_anywhere() -> None:
    """Two masses on a spring keep their mass centre, and stretch as one oscillator of the reduced mass."""
    s = da.System("two", gravity=(0, 0, 0))
    for name in "ab":
        s.body(name, mass=1.0 if name == "a" else 3.0, inertia=(1, 1, 1))
        s.connect(f"P{name}", da.Prismatic("x"), s.ground.at(0, 0.3, 0), s.bodies[name].at(0, 0.3, 0))
    s.connect("k", da.SpringDamper(12.0), s.bodies["a"].at(0.1, 0.2, 0), s.bodies["b"].at(0.1, 0.2, 0))
    s.initial("Pb", position=0.4)
    r = da.simulate(s, 3.0, **TIGHT)
    stretch = r["Pb.position"] - r["Pa.position"]
    assert np.abs(stretch - 0.4 * np.cos(4.0 * r.t)).max() < 1e-10  # 12 (1 + 1/3) = 16
    assert np.abs(r["center_of_mass.x"] - 0.3).max() < 1e-12


def test_a_spring_of_no_length_passes_through_zero() -> None:
    s = slider(1.0, position=0.5)
    s.connect("k", da.SpringDamper(4.0), s.ground, s.bodies["body"])
    r = da.simulate(s, 5.0, **TIGHT)
    assert np.abs(r["P.position"] - 0.5 * np.cos(2 * r.t)).max() < 1e-10


def test_torsion_spring_is_an_oscillator_about_its_rest() -> None:
    s = rotor(0.5, position=0.3, speed=1.0)
    s.connect("k", da.TorsionSpring(8.0, 0.4, rest=0.1), "A")
    r = da.simulate(s, 4.0, **TIGHT)
    assert np.abs(r["A.position"] - 0.1 - damped(r.t, 4.0, 0.4, 0.2, 1.0)).max() < 1e-10
    assert np.abs(r["k.effort"] + 8.0 * (r["A.position"] - 0.1) + 0.4 * r["A.speed"]).max() < 1e-12


def test_damping_of_a_joint_lets_its_speed_decay() -> None:
    s = da.System("rotor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z", damping=0.6), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 0.5)))
    s.initial("A", speed=2.0)
    r = da.simulate(s, 3.0, **TIGHT)
    assert np.abs(r["A.speed"] - 2.0 * np.exp(-1.2 * r.t)).max() < 1e-11
    assert np.abs(r["energy.balance"]).max() < 1e-11


def test_damping_of_a_ball_joint_acts_on_all_its_speeds() -> None:
    s = da.System("ball", gravity=(0, 0, 0))
    s.connect("O", da.Spherical(damping=0.6), s.ground, s.body("body", mass=1.0, inertia=(0.5, 0.5, 0.5)))
    model = s.compile()
    w = np.array([1.0, -2.0, 0.5])
    r = da.simulate(model, 2.0, state=da.State(np.array([1.0, 0, 0, 0]), w), **TIGHT)
    assert np.abs(r.v - w * np.exp(-1.2 * r.t)[:, None]).max() < 1e-11


@pytest.mark.parametrize("axes", ["world", "body"])
def test_a_force_in_world_and_in_body_axes(axes: str) -> None:
    """On a rotor a force in body axes gives a constant moment; one in world axes is a pendulum."""
    s = rotor(0.5)
    s.connect("f", da.Load(force=(0, 1.0, 0), axes=axes), s.bodies["body"].at(0.5, 0, 0))
    r = da.simulate(s, 3.0, **TIGHT)
    if axes == "body":
        assert np.abs(r["A.position"] - 0.5 * r.t**2).max() < 1e-11
    else:  # I angle'' = f d cos(angle), from rest
        assert np.abs(0.5 * 0.5 * r["A.speed"] ** 2 - 0.5 * np.sin(r["A.position"])).max() < 1e-11
        swing = math.pi / 2 - r["A.position"]
        _, cn, dn, _ = ellipj(r.t, 0.5)  # from pi/2 at rest: sin(swing/2) = cd(t) / sqrt(2)
        assert np.abs(np.sin(swing / 2) - math.sqrt(0.5) * cn / dn).max() < 1e-10
    assert np.abs(r["energy.balance"]).max() < 1e-11


def test_axes_of_a_load_are_those_of_its_marker() -> None:
    s = slider(1.0)
    s.connect("f", da.Load(force=(0, 0, 2.0), axes="body"), s.bodies["body"].at(0, 0, 0, rotation=("y", math.pi / 2)))
    r = da.simulate(s, 1.0, **TIGHT)
    assert r["P.position"][-1] == pytest.approx(1.0, abs=1e-12)
    assert np.abs(r["f.force"] - (2.0, 0, 0)).max() < 1e-14


@pytest.mark.parametrize(
    ("law", "speed"),
    [
        (3.0, lambda t: 3 * t),
        (da.Polynomial((1.0, 2.0, 3.0)), lambda t: t + t**2 + t**3),
        (da.Harmonic(2.0, 3.0, 0.4, 0.5), lambda t: 0.5 * t - 2 / 3 * (np.cos(3 * t + 0.4) - math.cos(0.4))),
        (da.Ramp(0.0, 2.0, 2.0), lambda t: t * t / 2 - (1 - np.cos(np.pi * t)) / math.pi**2),
        (da.Spline(np.linspace(0, 2, 9), np.linspace(0, 2, 9) ** 3, degree=5), lambda t: t**4 / 4),
        (math.exp, lambda t: np.exp(t) - 1),
        (da.FunctionLaw(math.sin, math.cos), lambda t: 1 - np.cos(t)),
        (lambda t: (t**2, 2 * t, 2.0), lambda t: t**3 / 3),
    ],
)
def test_loads_and_efforts_follow_every_kind_of_law(law: object, speed: object) -> None:
    pushed, turned = slider(1.0), rotor(1.0)
    pushed.connect("f", da.Load(force=(law, 0, 0)), pushed.bodies["body"])
    turned.connect("f", da.Effort(law), "A")
    for system, name in ((pushed, "P.speed"), (turned, "A.speed")):
        r = da.simulate(system, 1.5, **TIGHT)
        assert np.abs(r[name] - speed(r.t)).max() < 1e-11  # type: ignore[operator]
        assert np.abs(r["energy.balance"]).max() < 1e-11


def test_a_moment_turns_a_free_body() -> None:
    s = da.System("free", gravity=(0, 0, 0))
    body = s.body("body", mass=1.0, inertia=(0.5, 0.5, 0.5))
    s.connect("m", da.Load(moment=(0.0, 0.0, da.Harmonic(1.0, 2.0))), body.at(0.3, 0.2, 0.1))
    r = da.simulate(s, 3.0, **TIGHT)
    assert np.abs(r["body.angular_velocity.z"] - (1 - np.cos(2 * r.t))).max() < 1e-11
    assert np.abs(r["center_of_mass"]).max() < 1e-13


def test_a_stop_gives_back_what_it_took() -> None:
    """Half a period of an oscillator, then away with the speed it came with."""
    s = slider(2.0, speed=1.5)
    s.connect("stop", da.Limits(upper=0.6, stiffness=5e3), "P")
    r = da.simulate(s, 1.0, **TIGHT)
    touch, contact = 0.4, math.pi / 50.0
    assert r["P.speed"][-1] == pytest.approx(-1.5, abs=1e-10)
    assert r["P.position"][-1] == pytest.approx(0.6 - 1.5 * (1.0 - touch - contact), abs=1e-10)
    deepest = r.at(touch + contact / 2).q[0]
    assert deepest == pytest.approx(0.6 + 1.5 / 50.0, abs=1e-10)
    assert np.abs(r["energy.total"] - 2.25).max() < 1e-9


def test_a_stop_with_a_damper_never_pulls() -> None:
    s = slider(2.0, speed=-1.5)
    s.connect("stop", da.Limits(lower=-0.6, stiffness=5e3, damping=60.0), "P")
    # short steps: from its release to its leaving the stop the body is free, and one long step would take it out
    r = da.simulate(s, 1.0, rtol=1e-10, atol=1e-12, max_step=1e-3)
    assert (r["stop.effort"] >= 0).all()
    assert 0 < r["P.speed"][-1] < 1.2
    # released where k depth = c v: damped oscillation until then
    w, d = 50.0, 15.0
    t = np.linspace(0, 0.2, 200_001)
    depth = -damped(t, w, d, 0.0, -1.5)
    speed = np.gradient(depth, t)
    away = np.argmax((t > 0.01) & (5e3 * depth + 60.0 * speed <= 0))
    assert r["P.speed"][-1] == pytest.approx(-speed[away], abs=1e-4)
    assert np.abs(r["energy.balance"]).max() < 1e-7


def test_effort_and_spring_share_a_coordinate() -> None:
    s = rotor(1.0)
    s.connect("k", da.TorsionSpring(4.0), "A")
    s.connect("f", da.Effort(da.Harmonic(1.0, 1.0)), "A")
    r = da.simulate(s, 3.0, **TIGHT)
    assert np.abs(r["A.position"] - (np.sin(r.t) / 3 - np.sin(2 * r.t) / 6)).max() < 1e-11


# ---- at joints that had to be cut


def sprung_four_bar(order: str) -> da.System:
    """Return a four-bar with a torsion spring at every joint, described in the given order."""
    s = four_bar(angle=1.2)
    s.connections = {joint: s.connections[joint] for joint in order}
    for joint in "ABCD":
        s.connect(f"k{joint}", da.TorsionSpring(20.0, 0.5, rest=0.1), joint)
    return s


def test_a_spring_at_a_cut_joint_acts_as_at_any_other() -> None:
    cuts, motions = set(), []
    for order in ("ABCD", "BCDA", "CDAB", "DABC"):
        r = da.simulate(sprung_four_bar(order), 0.8, times=np.linspace(0.1, 0.8, 8), rtol=1e-11, atol=1e-12)
        assert np.abs(r["energy.balance"]).max() < 1e-8
        assert r["energy.dissipated"][-1] > 0.1
        motions.append(np.column_stack([r[f"{joint}.position"] for joint in "ABCD"]))
        assert r.model is not None
        cut = r.model.forest.loop_constraints[0].name
        cuts.add(cut)
        assert np.abs(r[f"k{cut}.effort"] + 20.0 * (r[f"{cut}.position"] - 0.1) + 0.5 * r[f"{cut}.speed"]).max() < 1e-9
    assert len(cuts) > 1
    for other in motions[1:]:
        assert np.abs(other - motions[0]).max() < 1e-8


def test_efforts_act_at_every_joint_of_a_loop_wherever_it_is_cut() -> None:
    motions, cuts = [], set()
    for order in ("ABCD", "DCBA", "BDAC"):
        s = sprung_four_bar(order)
        for k, joint in enumerate("ABCD"):
            s.connect(f"e{joint}", da.Effort(da.Harmonic(0.3 + 0.1 * k, 5.0 + k)), joint)
        r = da.simulate(s, 0.8, times=np.linspace(0.1, 0.8, 8), rtol=1e-11, atol=1e-12)
        assert np.abs(r["energy.balance"]).max() < 1e-8
        assert r.model is not None
        cuts.add(r.model.forest.loop_constraints[0].name)
        motions.append(np.column_stack([r[f"{joint}.{kind}"] for joint in "ABCD" for kind in ("position", "effort")]))
    assert len(cuts) > 1
    for other in motions[1:]:
        assert np.abs(other - motions[0]).max() < 1e-7


# ---- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.SpringDamper(-1.0), "stiffness"),
        (lambda: da.SpringDamper(1.0, math.nan), "damping"),
        (lambda: da.TorsionSpring(1.0, rest=math.inf), "rest"),
        (lambda: da.Limits(1.0, 0.0, 10.0), "above the lower"),
        (lambda: da.Limits(0.0, 1.0), "stiffness"),
        (lambda: da.Limits(math.nan, 1.0, 10.0), "lower"),
        (lambda: da.Load(force=(1.0, 2.0)), "three components"),
        (lambda: da.Load(force="xyz"), "three components"),
        (lambda: da.Load(axes="bodies"), "'world' or"),
        (lambda: da.Effort("much"), "law"),
    ],
)
def test_elements_refuse_what_they_cannot_be(make: object, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        make()  # type: ignore[operator]


def test_elements_are_connected_where_they_can_act() -> None:
    s = rotor()
    body = s.bodies["body"]
    for element, ends in (
        (da.SpringDamper(1.0), (body,)),
        (da.SpringDamper(1.0), ("A",)),
        (da.Load(), (s.ground, body)),
        (da.Effort(1.0), (body,)),
        (da.TorsionSpring(1.0), ("B",)),
    ):
        with pytest.raises(da.DalembertError):
            s.connect("x", element, *ends)
    assert "x" not in s.forces


def test_a_load_goes_by_its_names_everywhere() -> None:
    """As an input "P.fz", as a parameter "P.fz.value": both names are taken in both places, and axes likewise."""
    s = da.System("arm")
    arm = s.body("arm", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("P", da.Load(force=(0, 0, 5.0), axes="marker"), arm.at(1.0, 0, 0))
    model = s.compile()
    names = ("P.fz", "P.fz.value")
    first, second = (model.input_values({name: 1.0}) for name in names)
    np.testing.assert_array_equal(first, second)
    ends = [da.simulate(model, 0.1, parameters={name: 1.0}).q[-1, 0] for name in names]
    assert ends[0] == ends[1] != da.simulate(model, 0.1).q[-1, 0]
    slopes = [da.sensitivity(model, {"q": ("A.position", "final")}, name, 0.1)["q"] for name in names]
    np.testing.assert_allclose(*slopes, rtol=1e-12)
    rests = [da.equilibrium(model, inputs={name: 1.0})["A"] for name in names]
    assert rests[0] == rests[1]
    assert "P.fz" not in list(model.parameter_names) and "P.fz" in model.parameter_names
    q, v = np.array([0.3]), np.zeros(1)
    blows = [da.impulse(model, q, v, {arm.at(1.0, 0, 0): (0, 0, 1.0)}, axes=axes).v for axes in ("marker", "body")]
    np.testing.assert_array_equal(*blows)
    same = [da.Load(force=(0, 0, 5.0), axes=axes).each_measure for axes in ("marker", "body")]
    assert same[0] == same[1]
