"""Dry friction that follows the load of its joint: closed forms, oracles, loops, jams."""

import os
import signal

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as da

G = 9.81


def words(result):
    return [event.name for event in result.events]


def incline(angle, mu, **data):
    s = da.System("incline", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(mu, **data)), s.ground, block)
    return s


# ---- a block on an incline


@pytest.mark.parametrize("angle", [0.1, 0.38, 0.3805, 0.381, 0.7])  # arctan(0.4) = 0.38051
def test_a_block_sticks_if_the_tangent_of_the_angle_is_less_than_the_coefficient(angle):
    result = da.simulate(incline(angle, 0.4), 1.0)
    pull = G * (np.sin(angle) - 0.4 * np.cos(angle))
    if np.tan(angle) < 0.4:
        assert (result["guide.position"] == 0.0).all() and words(result) == ["guide sticks"]
        assert result["guide.friction"] == pytest.approx(-2.0 * G * np.sin(angle))
    else:
        assert result["guide.position"][-1] == pytest.approx(0.5 * pull, rel=1e-9)
        assert not words(result)


def test_it_slides_uphill_to_rest_and_stays_or_comes_back():
    for angle, stays in ((0.2, True), (0.6, False)):
        s = incline(angle, 0.5)
        s.initial("guide", speed=-3.0)
        result = da.simulate(s, 2.0)
        up = G * (np.sin(angle) + 0.5 * np.cos(angle))
        assert result.events[0].t == pytest.approx(3.0 / up, rel=1e-9)
        assert words(result) == ["guide sticks" if stays else "guide reverses"]
        down = 0.0 if stays else 0.5 * G * (np.sin(angle) - 0.5 * np.cos(angle)) * (2.0 - 3.0 / up) ** 2
        assert result["guide.position"][-1] == pytest.approx(-4.5 / up + down, rel=1e-8)
        assert abs(result["energy.balance"]).max() < 1e-9


def test_static_coefficient_is_what_it_takes_to_break_away():
    s = incline(0.0, 0.3, static_coefficient=0.5)
    s.connect("pull", da.Effort(lambda t: 4.0 * t), "guide")
    result = da.simulate(s, 4.0)
    slips = result.events[-1]
    assert slips.name == "guide slips" and slips.t == pytest.approx(0.5 * 2.0 * G / 4.0, rel=1e-7)
    assert result["guide.friction"][-1] == pytest.approx(-0.3 * 2.0 * G)


def test_a_load_that_varies_lets_go_when_it_is_light():
    s = da.System("pressed", gravity=(1.0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(0.25)), s.ground, block)
    s.connect("press", da.Load((0, 0, lambda t: -10.0 + 2.0 * t)), block)
    result = da.simulate(s, 4.0)
    assert words(result) == ["guide sticks", "guide slips"]
    assert result.events[1].t == pytest.approx(3.0, abs=1e-7)  # 0.25 (10 - 2 t) = 1
    t = 1.0  # from there on v' = 1 - 0.25 (10 - 2 t)
    assert result["guide.speed"][-1] == pytest.approx(0.25 * t**2, abs=1e-7)


def test_an_inclined_axis_is_one_axis():
    axis = np.array([0.36, 0.48, 0.8])
    s = da.System("inclined", gravity=(0, 0, -G))
    s.connect(
        "guide",
        da.Prismatic(axis, load_friction=da.LoadFriction(0.3)),
        s.ground,
        s.body("b", da.box(1, 1, 1, mass=1.0)),
    )
    result = da.simulate(s, 1.0)
    assert result["guide.position"][-1] == pytest.approx(-0.5 * G * (0.8 - 0.3 * 0.6), rel=1e-9)


# ---- a pendulum on its pin


def pin_pendulum(mu, radius, start):
    """Return when and where a rod of 2 kg and 1 m comes to rest; the friction is found at every evaluation."""
    inertia = 2.0 / 3.0

    def moment(angle, speed, sign):
        def missing(M):
            turn = (-G * np.sin(angle) + M) / inertia
            load = 2.0 * np.hypot(turn / 2 + G * np.sin(angle), speed**2 / 2 + G * np.cos(angle))
            return M + sign * mu * radius * load

        return brentq(missing, -20, 20, xtol=1e-15)

    t, angle, sign, turns = 0.0, start, -np.sign(start), 0
    while abs(G * np.sin(angle)) > mu * radius * 2.0 * G:
        stop = lambda t, y: y[1]  # noqa: E731
        stop.terminal, stop.direction = True, -sign
        rate = lambda t, y, sign=sign: [y[1], (-G * np.sin(y[0]) + moment(*y, sign)) / inertia]  # noqa: E731
        found = solve_ivp(rate, (t, t + 9), [angle, sign * 1e-14], events=stop, method="DOP853", rtol=1e-11, atol=1e-13)
        t, angle, sign, turns = found.t_events[0][0], found.y_events[0][0][0], -sign, turns + 1
    return t, angle, turns


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_pendulum_with_pin_friction_comes_to_rest_as_an_ode_says(method):
    s = da.System("pendulum")
    s.connect(
        "pin",
        da.Revolute("y", load_friction=da.LoadFriction(0.3, radius=0.15)),
        s.ground,
        s.body("r", da.rod(length=1.0, mass=2.0)),
    )
    s.initial("pin", position=0.2)
    t, angle, turns = pin_pendulum(0.3, 0.15, 0.2 - np.pi / 2)
    result = da.simulate(s, t + 1.0, method=method)
    assert words(result) == ["pin reverses"] * (turns - 1) + ["pin sticks"] and turns > 3
    assert result.events[-1].t == pytest.approx(t, abs=1e-6)
    assert result["pin.position"][-1] == pytest.approx(np.pi / 2 + angle, abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-6


# ---- loops


def frictional_slider_crank(mu, *, last="D", radius=0.02):
    s = da.System("slider-crank")
    crank, rod = s.body("crank", da.rod(length=0.3, mass=1.0)), s.body("rod", da.rod(length=0.8, mass=2.0))
    piston = s.body("piston", da.box(0.1, 0.1, 0.1, mass=3.0))
    pin = da.Revolute("y", load_friction=da.LoadFriction(mu, radius=radius))
    joints = {
        "A": (pin, s.ground, crank),
        "B": (pin, crank.at(0.3, 0, 0), rod),
        "C": (pin, rod.at(0.8, 0, 0), piston),
        "D": (da.Prismatic("x", load_friction=da.LoadFriction(mu)), s.ground, piston),
    }
    for name in (*(n for n in joints if n != last), last):
        s.connect(name, *joints[name])
    s.initial("A", position=-1.0, speed=3.0)
    return s


def crank_acceleration(mu, radius, q, w):
    """Return the acceleration of the crank: equations of all bodies, friction by the loads they give, in turns."""
    m, length = (1.0, 2.0, 3.0), (0.3, 0.8)
    p = -np.arcsin(length[0] * np.sin(q) / length[1])
    ratio = -length[0] * np.cos(q) / (length[1] * np.cos(p))
    rate = ratio * w
    extra = (length[0] * np.sin(q) * w**2 + length[1] * np.sin(p) * rate**2) / (length[1] * np.cos(p))
    e, d = (lambda a: np.array([np.cos(a), -np.sin(a)])), (lambda a: np.array([-np.sin(a), -np.cos(a)]))
    lever = lambda r: np.array([r[1], -r[0]])  # noqa: E731  the moment about y of a force at r
    speeds = np.array([w, rate - w, -rate, length[0] * d(q)[0] * w + length[1] * d(p)[0] * rate])
    friction = np.zeros(4)
    half = 0.5 * length[0] * e(q), 0.5 * length[1] * e(p)
    for _ in range(200):  # unknown: the acceleration, forces on crank, rod and piston at A, B and C, the guide's force
        given = -np.sign(speeds) * friction
        A, b = np.zeros((8, 8)), np.zeros(8)
        A[0:2, 0], A[0:2, 1:3], A[0:2, 3:5] = m[0] * 0.5 * length[0] * d(q), -np.eye(2), np.eye(2)
        b[0:2] = m[0] * (np.array([0, -G]) + half[0] * w**2)
        A[2, 0], A[2, 1:3], A[2, 3:5] = m[0] * length[0] ** 2 / 12, lever(half[0]), lever(half[0])
        b[2] = given[0] - given[1]
        A[3:5, 0] = m[1] * (length[0] * d(q) + 0.5 * length[1] * d(p) * ratio)
        A[3:5, 3:5], A[3:5, 5:7] = -np.eye(2), np.eye(2)
        b[3:5] = m[1] * (np.array([0, -G]) + 2 * half[0] * w**2 + half[1] * rate**2 - 0.5 * length[1] * d(p) * extra)
        A[5, 0], A[5, 3:5], A[5, 5:7] = m[1] * length[1] ** 2 / 12 * ratio, lever(half[1]), lever(half[1])
        b[5] = given[1] - given[2] - m[1] * length[1] ** 2 / 12 * extra
        A[6, 0], A[6, 5] = m[2] * (length[0] * d(q)[0] + length[1] * d(p)[0] * ratio), -1.0
        b[6] = given[3] + m[2] * (2 * half[0][0] * w**2 + 2 * half[1][0] * rate**2 - length[1] * d(p)[0] * extra)
        A[7, 6], A[7, 7], b[7] = -1.0, -1.0, -m[2] * G
        x = np.linalg.solve(A, b)
        loads = np.array([*(radius * np.hypot(*x[k : k + 2]) for k in (1, 3, 5)), abs(x[7])])
        if np.abs(mu * loads - friction).max() < 1e-14:
            break
        friction = mu * loads
    return x[0], given


@pytest.mark.parametrize("last", ["A", "B", "C", "D"])
def test_a_slider_crank_moves_as_the_equations_of_its_bodies_say_wherever_it_is_cut(last):
    s = frictional_slider_crank(0.15, last=last)
    result = da.simulate(s, 3.0)
    assert {"D reverses", "C reverses", "A sticks", "B sticks", "C sticks", "D sticks"} <= set(words(result))
    events = np.array([e.t for e in result.events])
    seen = 0
    for k in range(0, len(result.t), 5):
        if abs(events - result.t[k]).min() < 1e-4 or result["A.stuck"][k]:
            continue
        a, given = crank_acceleration(0.15, 0.02, result["A.position"][k], result["A.speed"][k])
        assert result["A.acceleration"][k] == pytest.approx(a, rel=1e-6, abs=1e-6)
        assert [result[f"{n}.friction"][k] for n in "ABCD"] == pytest.approx(given, rel=1e-6, abs=1e-8)
        seen += 1
    assert seen > 10
    assert abs(result["energy.balance"]).max() < 1e-6
    assert any("friction of D depends on loads that are not unique" in note for note in result.stats.notes)


def test_loops_end_where_they_do_whatever_is_cut():
    ends = [da.simulate(frictional_slider_crank(0.15, last=last), 3.0)["D.position"][-1] for last in "AD"]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


# ---- screws, collars, guides


def test_a_screw_backs_off_only_if_its_lead_is_steep():
    """A nut under its weight turns if its lead is above 2 pi mu collar: the load along the axis rubs at the collar."""
    for pitch, turns in ((0.05, True), (0.03, False)):  # 2 pi 0.2 0.03 = 0.0377
        s = da.System("jack")
        nut = s.body("nut", da.cylinder(0.05, 0.1, mass=4.0))
        law = da.LoadFriction(0.2, radius=0.02, collar=0.03)
        s.connect("thread", da.Screw("z", pitch=pitch, load_friction=law), s.ground, nut)
        # what a screw transmits along its axis is the weight less what its effort turns it with
        result = da.simulate(s, 0.5)
        assert (result["thread.position"][-1] != 0.0) == turns


def test_moments_press_at_the_ends_of_a_guide():
    for length, moves in ((0.05, False), (0.2, True)):  # drawer effect: pulled at 0.3 m beside it, mu 0.4
        s = da.System("drawer", gravity=(0, 0, 0))
        drawer = s.body("drawer", da.box(0.4, 0.4, 0.1, mass=1.0))
        s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(0.4, half_length=length)), s.ground, drawer)
        s.connect("pull", da.Load((5.0, 0, 0)), drawer.at(0, 0.3, 0))
        result = da.simulate(s, 0.5)
        assert (result["guide.position"][-1] > 0) == moves  # 5 > 0.4 (5 0.3) / length
        if moves:
            assert result["guide.position"][-1] == pytest.approx(0.5 * (5.0 - 0.4 * 1.5 / length) * 0.25, rel=1e-9)


def test_friction_of_a_cylindrical_joint_opposes_its_helix():
    s = da.System("sleeve", gravity=(0, 0, -G))
    sleeve = s.body("sleeve", da.tube(0.2, 0.05, 0.03, mass=2.0, axis="x"))
    s.connect("shaft", da.Cylindrical("x", load_friction=da.LoadFriction(0.2, radius=0.03)), s.ground, sleeve)
    s.initial("shaft", speed=[20.0, 0.5])
    model = s.compile()
    a = model.forward_dynamics(da.start_state(model).q, np.array([20.0, 0.5]))
    speed = np.hypot(0.5, 0.03 * 20.0)
    assert a[1] == pytest.approx(-0.2 * G * 0.5 / speed)
    result = da.simulate(s, 2.0)
    assert words(result) == ["shaft sticks"] and (result.v[-1] == 0.0).all()
    assert abs(result["energy.balance"]).max() < 1e-9


# ---- jams


def high_slide(mu, half, force, speed=1.0):
    """Return a slide whose mass is 0.4 m above its guide: friction is mu 0.4 / half times |force - friction|."""
    s = da.System("slide", gravity=(0, 0, 0))
    body = s.body("body", da.box(0.1, 0.1, 0.1, mass=1.0))
    foot = body.at(0, 0, -0.4)
    s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(mu, half_length=half)), s.ground, foot)
    s.connect("push", da.Load((force, 0, 0)), foot)
    s.initial("guide", speed=speed)
    return s


def test_friction_and_load_are_found_together():
    for force, friction in ((2.0, -0.75), (-2.0, -3.0)):  # gain 0.6: f = 0.6 |P - f|
        assert da.simulate(high_slide(0.3, 0.2, force), 0.1)["guide.friction"] == pytest.approx(friction)


def test_a_gain_above_one_is_reported():
    result = da.simulate(high_slide(0.3, 0.08, 2.0), 1.0)
    assert any("depends on its own load with a gain of 1.5" in note for note in result.stats.notes)
    assert result["guide.friction"] == pytest.approx(-1.2)  # of 1.2 and 6 the one nearer to none


def test_a_slide_that_has_no_friction_that_fits_jams_at_once():
    result = da.simulate(high_slide(0.3, 0.08, lambda t: 2.0 - 4.0 * t), 1.5)
    assert words(result) == ["guide jams", "guide sticks", "guide slips"]
    jam = result.events[0]
    assert jam.t == pytest.approx(0.5, abs=1e-6)
    speed = 1.0 + 0.4 * (2.0 * 0.5 - 2.0 * 0.25)  # f = 0.6 P until then
    assert jam.energy == pytest.approx(-0.5 * speed**2, rel=1e-6)
    assert any("guide jammed at t = 0.5 s" in note and "longer guide" in note for note in result.stats.notes)
    assert result["guide.speed"][-1] == pytest.approx(-0.4 * 2.0, abs=1e-5)


# ---- other ways


def test_smooth_friction_by_load_tends_to_it_and_off_is_off():
    s = incline(0.5, 0.3)
    exact = da.simulate(s, 1.0)["guide.position"][-1]
    smooth = da.simulate(s, 1.0, friction="smooth:1e-5", method="radau")["guide.position"][-1]
    assert smooth == pytest.approx(exact, rel=1e-4)
    assert da.simulate(s, 1.0, friction="off")["guide.position"][-1] == pytest.approx(0.5 * G * np.sin(0.5))


def test_constant_friction_comes_on_top_and_both_can_be_changed():
    s = da.System("both", gravity=(0, 0, -G))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("guide", da.Prismatic("x", friction=1.0, load_friction=da.LoadFriction(0.1)), s.ground, block)
    s.initial("guide", speed=2.0)
    assert da.simulate(s, 0.1)["guide.friction"][-1] == pytest.approx(-1.0 - 0.2 * G)
    changed = da.simulate(s, 0.1, parameters={"guide.coefficient": 0.2, "guide.friction": 0.0})
    assert changed["guide.friction"][-1] == pytest.approx(-0.4 * G)
    with pytest.raises(da.ModelError, match="must not be negative"):
        da.simulate(s, 0.1, parameters={"guide.coefficient": -0.2})


def test_joint_friction_has_the_same_load():
    """Sliding all the time, the smooth element and the joint's own friction move alike."""
    s, twin = da.System("own"), da.System("element")
    for system, data in (
        (s, {"load_friction": da.LoadFriction(0.2, radius=0.05, collar=0.02, half_length=0.1)}),
        (twin, {}),
    ):
        body = system.body("arm", da.box(0.6, 0.1, 0.3, mass=2.0))
        system.connect("pin", da.Revolute("y", **data), system.ground, body.at(-0.3, 0.1, 0))
        system.initial("pin", speed=20.0)
    law = da.JointFriction("pin", 0.2, radius=0.05, axis="y", collar=0.02, half_length=0.1, slip_speed=1e-6)
    twin.connect("friction", law, "pin")
    ends = [da.simulate(system, 0.2)["pin.position"][-1] for system in (s, twin)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


class Meddler:
    """A control that does nothing, and interrupts once."""

    def __init__(self, when=np.inf):
        self.when = when

    def __call__(self, state):
        if state.t > self.when:
            self.when = np.inf
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(len(state.v))


@pytest.mark.parametrize("when", [0.3, 1.9])
def test_resume_gives_the_same_bits(when):
    s = frictional_slider_crank(0.15)
    whole = da.simulate(s, 2.5, control=Meddler())
    meddler = Meddler(when)
    part = da.simulate(s, 2.5, control=meddler, on_error="return")
    assert part.status == "interrupted"
    again = da.simulate(s, 2.5, control=meddler, resume=part)
    assert np.array_equal(again.q[-1], whole.q[-1]) and words(again) == words(whole)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: da.LoadFriction(-0.1), "must not be negative"),
        (lambda: da.LoadFriction(0.2, static_coefficient=0.1), "must not be less"),
        (lambda: da.LoadFriction(0.2, radius=0.0), "above zero"),
        (lambda: da.Revolute("z", load_friction=da.LoadFriction(0.2)), "give the friction radius"),
        (lambda: da.Prismatic("z", load_friction=da.LoadFriction(0.2, radius=0.1)), "leave the radius out"),
        (lambda: da.Prismatic("z", load_friction=da.LoadFriction(0.2, collar=0.1)), "leave the collar out"),
        (
            lambda: da.Spherical(load_friction=da.LoadFriction(0.2, radius=0.1, half_length=1.0)),
            "leave half_length out",
        ),
        (lambda: da.Universal(load_friction=da.LoadFriction(0.2, radius=0.1)), "define the load for friction"),
        (lambda: da.Prismatic("z", load_friction=0.2), "give a da.LoadFriction"),
    ],
)
def test_what_does_not_fit_is_refused(make, says):
    with pytest.raises(da.ModelError, match=says):
        make()
