"""Derivatives of runs and rollouts with rigid contact, against closed forms and differences of whole runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.contacts.scenes import G, on_slope, one_body

import dalembert as da

WAYS = ("events", "steps")
FINAL = {name: (name, "final") for name in ("body.position.x", "body.position.z", "body.velocity.x")}


def differences(
    make: Callable[[float], da.System], t_end: float, names: tuple[str, ...], step: float = 1e-6, **settings: object
) -> NDArray[np.float64]:
    """Return central differences of the final values of outputs by a number."""
    if settings.get("contact") != "steps":
        settings = {"rtol": 1e-11, "atol": 1e-13, **settings}
    runs = [da.simulate(make(sign * step), t_end, times=[0, t_end], **settings) for sign in (1.0, -1.0)]
    up, down = (np.array([run[name][-1] for name in names]) for run in runs)
    return np.asarray((up - down) / (2 * step))


@pytest.mark.parametrize("contact", WAYS)
@pytest.mark.parametrize("mode", ["forward", "adjoint"])
def test_a_bounce_by_height_gravity_and_restitution(contact: str, mode: str) -> None:
    """z(T) = s (T - t) - g (T - t)^2 / 2, t = sqrt(2 z0 / g), s = e g t."""
    s = one_body(da.sphere(0.1, mass=1.0), (0, 0, 1.1), restitution=0.8)
    found = da.sensitivity(s, FINAL, ["floor.restitution", "gravity.z"], 0.8, contact=contact, mode=mode)
    t = np.sqrt(2 / G)
    rest = 0.8 - t
    assert found["body.position.z"][0] == pytest.approx(G * t * rest, rel=1e-8)
    rate = -t / (2 * G)  # of t by g
    by_g = 0.8 * (t + G * rate) * rest - 0.8 * G * t * rate - rest**2 / 2 + G * rest * rate
    assert found["body.position.z"][1] == pytest.approx(-by_g, rel=1e-8, abs=1e-9)  # rounding of differences
    noted = any(note.startswith("mode='forward' was used") for note in found.notes)
    assert noted == (mode == "adjoint" and contact.startswith("steps"))


@pytest.mark.parametrize("contact", WAYS)
def test_a_sphere_that_slides_and_then_rolls(contact: str) -> None:
    """It rolls from 2 v / (7 mu g) on, at 5 v / 7: x = 5 v T / 7 + 2 v^2 / (49 mu g)."""
    v, mu = 5.0, 0.2
    sphere = one_body(da.sphere(0.1, mass=1.0), (0, 0, 0.1), velocity=(v, 0, 0), friction=mu)
    found = da.sensitivity(sphere, FINAL, ["floor.friction", "gravity.z"], 1.0, contact=contact)
    tolerance = 1e-7 if contact == "events" else 2e-3  # first order: the step in which it begins to roll
    by_x = 2 * v**2 / (49 * mu * G)
    assert found["body.position.x"][0] == pytest.approx(-by_x / mu, rel=tolerance)
    assert found["body.position.x"][1] == pytest.approx(by_x / G, rel=tolerance)
    assert np.abs(found["body.velocity.x"]).max() < 1e-6


@pytest.mark.parametrize("contact", WAYS)
@pytest.mark.parametrize("friction", [0.25, 0.35])
def test_a_block_up_a_slope_that_reverses_or_sticks(contact: str, friction: float) -> None:
    """Four redundant points; the derivatives of the steps are those of their runs, also where they reverse."""

    def block(change: float) -> da.System:
        return one_body(
            da.box(0.2, 0.2, 0.1, mass=1.0),
            (0, 0, 0.05),
            gravity=on_slope(0.3),
            velocity=(-2, 0, 0),
            friction=friction + change,
        )

    found = da.sensitivity(block(0.0), FINAL, ["floor.friction"], 1.4, contact=contact)
    expected = differences(block, 1.4, tuple(FINAL), contact=contact)
    assert np.array([found[name][0] for name in FINAL]) == pytest.approx(expected, rel=1e-6, abs=1e-7)
    if contact == "events":
        sine, cosine = np.sin(0.3), np.cos(0.3)
        deceleration = G * (sine + friction * cosine)
        if friction > 0.3:  # it stops after v^2 / (2 d)
            assert found["body.position.x"][0] == pytest.approx(2 * G * cosine / deceleration**2, rel=1e-7)
            assert abs(found["body.velocity.x"][0]) < 1e-9


def test_friction_zero_and_elastic_impacts_have_derivatives_to_one_side() -> None:
    """Friction 0 and restitution 1 are the ends of their ranges."""
    s = one_body(da.sphere(0.1, mass=1.0), (0, 0, 1.1), velocity=(3, 0, 0), restitution=1.0)
    by_events, by_steps = (
        da.sensitivity(s, FINAL, ["floor.friction", "floor.restitution"], 1.2, contact=contact) for contact in WAYS
    )
    # the impulse at the bounce is (1 + e) v, friction mu times that
    speed = np.sqrt(2 * G)
    assert by_events["body.velocity.x"][0] == pytest.approx(-2 * speed, rel=1e-6)
    for name in FINAL:
        # spins of 220 rad/s per unit of friction are added up in 700 steps with the rounding of differences, 1e-10
        assert by_steps[name] == pytest.approx(by_events[name], rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("contact", WAYS)
def test_a_ball_strikes_a_door_with_friction_and_a_stop(contact: str) -> None:
    """Dry friction and a stop of a joint beside contact; the parameters of all of them."""

    def door(mass: float = 2.0, limit: float = 0.6, friction: float = 0.05) -> da.System:
        s = da.System("door")
        wing = s.body("door", da.box(0.6, 0.04, 0.8, mass=mass))
        hinge = da.Revolute("z", friction=friction, upper=limit, restitution=0.3)
        s.connect("hinge", hinge, s.ground, wing.at(-0.3, 0, 0))
        ball = s.body("ball", da.sphere(0.1, mass=0.5))
        s.place(ball, position=(0.5, -0.5, 0), velocity=(0, 2.03, 0))
        s.contact("touch", wing, ball, friction=0.2, restitution=0.5)
        return s

    names = ("hinge.position", "hinge.speed", "ball.position.y")
    outputs = {name: (name, "final") for name in names}
    by = ["hinge.friction", "hinge.upper", "ball.mass", "gravity.x"]
    found = da.sensitivity(door(), outputs, by, 2.0, contact=contact)
    made = {
        "hinge.friction": lambda change: door(friction=0.05 + change),
        "hinge.upper": lambda change: door(limit=0.6 + change),
    }
    for name, make in made.items():
        expected = differences(make, 2.0, names, contact=contact)
        assert np.array([found[one][by.index(name)] for one in names]) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def box_with_forces() -> da.System:
    s = da.System("box")
    box = s.body("box", da.box(0.2, 0.2, 0.1, mass=1.0))
    s.place(box, position=(0, 0, 0.3), bryant=(0.5, 0.4, 0.3), velocity=(1, 0.3, 0))
    s.contact("floor", da.plane(), box, friction=0.3, restitution=0.5)
    return s


@pytest.mark.parametrize("hold", ["zero", "linear"])
def test_gradients_of_rollouts_with_contact_are_those_of_their_steps(hold: str) -> None:
    """A box that falls on its corner: start, controls and parameters, against differences of whole rollouts."""
    model = box_with_forces().compile()
    rng = np.random.default_rng(0)
    count = 5
    controls = {name: rng.normal(size=count + (hold == "linear")) for name in model.speed_names[3:]}
    r = da.rollout(model, None, controls, 0.05, hold=hold, contact="steps")
    assert r.success
    q_bar, v_bar = rng.normal(size=r.q.shape), rng.normal(size=r.v.shape)
    g = r.vjp(q=q_bar, v=v_bar, parameters=["box.mass", "floor.restitution", "floor.friction"])

    def value(state: da.State | None = None, **changes: object) -> float:
        given = {"controls": controls, "parameters": None, **changes}
        start = da.State(q=r.q[0, 0], v=r.v[0, 0]) if state is None else state
        other = da.rollout(
            model, start, given["controls"], 0.05, hold=hold, contact="steps", parameters=given["parameters"]
        )
        return float((q_bar * other.q).sum() + (v_bar * other.v).sum())

    eps = 1e-6
    for k in range(model.nv):
        axis = eps * np.eye(model.nv)[k]
        moved = [value(da.State(q=model.integrate(r.q[0, 0], sign * axis), v=r.v[0, 0])) for sign in (1, -1)]
        assert g.q[0, k] == pytest.approx((moved[0] - moved[1]) / (2 * eps), rel=1e-6, abs=1e-5)
        faster = [value(da.State(q=r.q[0, 0], v=r.v[0, 0] + sign * axis)) for sign in (1, -1)]
        assert g.v[0, k] == pytest.approx((faster[0] - faster[1]) / (2 * eps), rel=1e-6, abs=1e-5)
    heavier = [value(parameters={"box.mass": 1.0 + sign * eps}) for sign in (1, -1)]
    assert g.parameters[0, 0] == pytest.approx((heavier[0] - heavier[1]) / (2 * eps), rel=1e-6, abs=1e-5)
    name = model.speed_names[3]
    for k in (0, count - 1):
        pushed = []
        for sign in (1, -1):
            changed = {**controls, name: controls[name] + sign * 1e-4 * np.eye(len(controls[name]))[k]}
            pushed.append(value(controls=changed))
        assert g.control(name)[0, k] == pytest.approx((pushed[0] - pushed[1]) / 2e-4, rel=1e-6, abs=1e-6)


def test_gradients_of_many_rollouts_are_those_of_each() -> None:
    model = box_with_forces().compile()
    start = da.start_state(model)
    q = np.repeat(start.q[None], 3, axis=0)
    q[:, -1] += [0.0, 0.03, 0.05]
    r = da.rollout(
        model, da.State(q=q, v=np.repeat(start.v[None], 3, axis=0)), np.zeros((3, 4, 6)), 0.05, contact="steps"
    )
    v_bar = np.zeros(r.v.shape)
    v_bar[:, -1] = 1.0
    g = r.vjp(v=v_bar)
    for k in range(3):
        one = da.rollout(model, da.State(q=q[k], v=start.v), np.zeros((4, 6)), 0.05, contact="steps")
        assert (one.vjp(v=v_bar[:1]).v[0] == g.v[k]).all()


def test_speeds_after_a_step_have_derivatives_where_impulses_are_not_unique() -> None:
    """Two boxes on each other, the upper one pushed: eight redundant points, of which four slip."""
    s = da.System("stack")
    boxes = [s.body(f"box{k}", da.box(0.2, 0.2, 0.2, mass=1.0)) for k in range(2)]
    for k, box in enumerate(boxes):
        s.place(box, position=(0, 0, 0.1 + 0.2 * k))
    s.contact("floor", da.plane(), boxes, friction=0.5)
    s.contact("boxes", *boxes, friction=0.5)
    model, force = s.compile(), 8.0
    push = [name for name in model.speed_names if "box1" in name][3]
    r = da.rollout(model, None, {push: [force] * 5}, 0.01, contact="steps")
    place = model.speed_names.index(push)
    v_bar = np.zeros(r.v.shape)
    v_bar[:, -1, place] = 1.0
    g = r.vjp(v=v_bar, parameters=["boxes.friction", "box1.mass"])
    assert g.control(push)[0] == pytest.approx(np.full(5, 0.01), rel=1e-7)  # h / m
    assert g.parameters[0, 0] == pytest.approx(-0.05 * G, rel=1e-6)
    assert g.parameters[0, 1] == pytest.approx(-0.05 * force, rel=1e-6)


def test_what_has_no_derivative_is_refused_by_name() -> None:
    s = one_body(da.sphere(0.1, mass=1.0), (0, 0, 1.1), restitution=0.8)
    for name in ("floor.force", "body.acceleration"):
        with pytest.raises(da.ModelError, match="rigid contact: use positions"):
            da.sensitivity(s, {"a": (name, "final")}, ["gravity.z"], 0.8)
    r = da.rollout(s, None, np.zeros((4, 6)), 0.1, contact="steps")
    with pytest.raises(da.ModelError, match=r"floor\.friction"):
        r.vjp(parameters=["floor.fricton"])
    grazing = one_body(da.sphere(0.1, mass=1.0), (0, 0, 0.1), gravity=(0, 0, -G), velocity=(0, 0, 0), restitution=0.8)
    found = da.sensitivity(grazing, FINAL, ["body.mass"], 0.1, contact="events")
    assert np.abs(found["body.position.z"]).max() < 1e-8  # it rests


@pytest.mark.parametrize("turning", [0.0, 3.0])
def test_redundant_points_that_slide_in_different_directions_are_refused(turning: float) -> None:
    """x = v^2 / (2 mu g) of a box that stops does not depend on shares; while it turns too, Coulomb's law is silent."""
    s = one_body(da.box(0.4, 0.4, 0.2, mass=1.0), (0, 0, 0.1), friction=0.3)
    s.place("body", position=(0, 0, 0.1), velocity=(1.0, 0, 0), angular_velocity=(0, 0, turning))
    outputs = {"v": ("body.velocity.x", "final")}
    if turning:
        with pytest.raises(da.errors.GradientError, match="'floor/body' slide in different directions at t = 0 s"):
            da.sensitivity(s, outputs, ["floor.friction"], 0.2, contact="steps")
    else:
        found = da.sensitivity(s, outputs, ["floor.friction"], 0.2, contact="steps")
        assert found["v"][0] == pytest.approx(-G * 0.2, rel=1e-8)
