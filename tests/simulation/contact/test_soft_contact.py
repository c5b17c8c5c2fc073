"""Compliant contact: restitution, depth and period of its law; bristles that stick, slide and roll."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert import _core
from dalembert.connections.contacts.normal_law import dissipation_at, restitution_at

G = 9.81


def _ball(radius: float = 0.1, mass: float = 1.0, gravity: float = 0.0, **contact: float) -> da.System:
    s = da.System("ball", gravity=(0, 0, -gravity))
    ball = s.body("ball", da.sphere(radius, mass=mass))
    s.contact("floor", da.plane(), ball, **contact)
    return s


def _block(slope: float, **contact: float) -> da.System:
    s = da.System("slope", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    block = s.body("block", da.box(0.2, 0.2, 0.1, mass=1.0))
    s.contact("floor", da.plane(), block, stiffness=1e5, exponent=1.0, restitution=0.5, **contact)
    s.place("block", position=(0, 0, 0.05))
    return s


def _landing(**contact: float) -> da.System:
    s = da.System("landing", gravity=(0, 0, -G))
    box = s.body("box", da.box(0.2, 0.3, 0.1, mass=2.0))
    numbers = {"stiffness": 1e5, "exponent": 1.0, "restitution": 0.3, "friction": 0.4} | contact
    s.contact("floor", da.plane(), box, **numbers)
    s.place("box", position=(0, 0, 0.3), rotation=da.bryant(0.5, 0.4, 0.3))
    return s


@pytest.mark.parametrize(("e", "x"), [(0.9, 0.166482), (0.5, 1.432751), (0.1, 9.998159)])
def test_dissipation_has_the_digits_of_the_closed_form(e, x):
    assert dissipation_at(e, 1.0) == pytest.approx(x, abs=5e-7)  # digits of the table
    assert dissipation_at(e, 4.0) == pytest.approx(x / 4, abs=5e-7)
    assert restitution_at(dissipation_at(e, 2.0), 2.0) == pytest.approx(e, rel=1e-12)


@pytest.mark.parametrize(("x", "e"), [(0.1, 0.9374755799499051), (1.0, 0.5936242600400401)])
def test_restitution_of_a_dissipation(x, e):
    assert restitution_at(x, 1.0) == pytest.approx(e, rel=1e-13)


@pytest.mark.parametrize(
    ("e", "mass", "stiffness", "exponent", "speed"),
    [(0.8, 1.0, 1e5, 1.5, 1.0), (0.5, 0.02, 1e6, 1.0, 3.0), (0.2, 40.0, 1e8, 2.0, 0.5)],
)
def test_restitution_is_exact_for_any_mass_stiffness_and_exponent(e, mass, stiffness, exponent, speed):
    s = _ball(mass=mass, stiffness=stiffness, exponent=exponent, restitution=e, at_speed=speed)
    s.place("ball", position=(0, 0, 0.11), velocity=(0, 0, -speed))
    result = da.simulate(s, 0.5, rtol=1e-10, atol=1e-13)
    assert result["ball.velocity.z"][-1] / speed == pytest.approx(e, abs=1e-6)


def test_time_of_contact_of_a_linear_spring():
    k, m = 1e5, 2.0
    s = _ball(mass=m, stiffness=k, exponent=1.0, restitution=1.0)
    s.place("ball", position=(0, 0, 0.1), velocity=(0, 0, -1))
    result = da.simulate(s, 0.1, rtol=1e-10, atol=1e-13)
    free_path = result["ball.position.z"][-1] - 0.1  # at 1 m/s after the contact
    assert 0.1 - free_path == pytest.approx(np.pi * np.sqrt(m / k), rel=1e-7)


def test_depth_at_rest_is_weight_over_stiffness():
    s = _ball(mass=2.0, gravity=G, stiffness=1e5, exponent=1.5, restitution=0.2)
    s.place("ball", position=(0, 0, 0.1))
    found = da.simulate(s, 3.0)["ball.position.z"][-1]
    assert 0.1 - found == pytest.approx((2 * G / 1e5) ** (2 / 3), rel=1e-6)


def test_given_depth_is_the_depth_at_rest():
    s = _ball(mass=2.0, gravity=G, depth=1e-4, exponent=1.0, restitution=0.2)
    s.place("ball", position=(0, 0, 0.1))
    assert da.simulate(s, 3.0)["ball.position.z"][-1] == pytest.approx(0.0999, abs=1e-9)


def test_stiffness_by_young_is_that_of_hertz():
    young, poisson, r1, r2 = 2e6, 0.4, 0.1, 0.05
    s = da.System("two", gravity=(0, 0, 0))
    a, b = s.body("a", da.sphere(r1, mass=1.0)), s.body("b", da.sphere(r2, mass=1.0))
    s.contact("touch", a, b, young=young, poisson=poisson, restitution=1.0)
    depth = 1e-3
    model = s.compile()
    q = np.array([1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, r1 + r2 - depth], dtype=float)
    a_found = model.dynamics(0.0, q, np.zeros(12), np.zeros(0))[0]
    force = np.linalg.norm(a_found[:6])
    modulus, radius = young / (2 * (1 - poisson**2)), 1 / (1 / r1 + 1 / r2)
    assert force == pytest.approx(4 / 3 * modulus * np.sqrt(radius) * depth**1.5, rel=1e-9)


@pytest.mark.parametrize("method", ["radau", "auto"])
def test_block_within_its_cone_does_not_creep(method):
    slope = 0.3
    result = da.simulate(_block(slope, friction=np.tan(slope) / 0.88), 10.0, method=method, rtol=1e-6)
    later = result.t > 5.0
    x = result["block.position.x"][later]
    assert np.ptp(x) < 1e-12
    assert result["floor.state"][-1] == 1
    np.testing.assert_allclose(result["floor.force"][-1], [-G * np.sin(slope), 0, G * np.cos(slope)], atol=1e-8)


def test_block_beyond_its_cone_slides_as_coulomb_says():
    slope, mu = 0.3, 0.2
    result = da.simulate(_block(slope, friction=mu), 2.0)
    late = result.at(np.array([1.0, 2.0]))["block.velocity.x"]
    assert late[1] - late[0] == pytest.approx(G * (np.sin(slope) - mu * np.cos(slope)), rel=1e-4)  # rocking decays
    assert result["floor.state"][-1] == 2


def test_static_friction_holds_what_sliding_friction_does_not():
    slope = 0.3
    s = _block(slope, friction=0.8 * np.tan(slope), static_friction=1.6 * np.tan(slope))
    s.place("block", position=(0, 0, 0.05 - G * np.cos(slope) / 4e5))
    assert abs(da.simulate(s, 3.0)["block.velocity.x"][-1]) < 1e-9


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_sliding_sphere_rolls_in_the_end(method):
    """25/7 of 5 m/s, and 2/7 of the energy lost, but for the depth, which is 1e-4 of the radius."""
    k = 1e6
    s = _ball(mass=1.0, gravity=G, stiffness=k, exponent=1.0, restitution=0.5, friction=0.2)
    s.place("ball", position=(0, 0, 0.1 - G / k), velocity=(5, 0, 0))
    result = da.simulate(s, 1.0, method=method)
    assert result["ball.velocity.x"][-1] == pytest.approx(25 / 7, abs=2e-4)
    assert result["energy.friction"][-1] == pytest.approx(12.5 * 2 / 7, rel=1e-3)
    assert abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "alpha", "auto"])
@pytest.mark.parametrize("t_end", [2.0, 3.0, 5.0, 10.0])
def test_no_step_passes_over_an_impact(method, t_end):
    s = da.System("billiard", gravity=(0, 0, 0))
    a, b = s.body("a", da.sphere(0.03, mass=0.2)), s.body("b", da.sphere(0.03, mass=0.2))
    s.place("a", position=(-2, 0, 0), velocity=(2, 0, 0))
    s.place("b", position=(0, 0, 0))
    s.contact("hit", a, b, stiffness=1e7, restitution=1.0)
    assert da.simulate(s, t_end, method=method)["b.velocity.x"][-1] == pytest.approx(2.0, abs=1e-6)


def test_boxes_that_land_on_a_corner_come_to_rest_in_implicit_steps():
    for k in range(8):
        s = _landing()
        s.place("box", position=(0, 0, 0.3 + 1e-3 * k), rotation=da.bryant(0.5, 0.4, 0.3))
        assert abs(da.simulate(s, 3.0, method="radau")["box.velocity"][-1]).max() < 1e-10


def test_box_that_lands_on_a_corner_comes_to_rest():
    explicit, chosen = (da.simulate(_landing(), 3.0, method=method) for method in ("dop853", "auto"))
    for result in (explicit, chosen):
        assert abs(result["box.velocity"][-1]).max() < 1e-10
        assert abs(result["energy.balance"]).max() < 1e-5
    np.testing.assert_allclose(explicit["box.position"][-1], chosen["box.position"][-1], atol=1e-5)
    assert explicit["box.position.z"][-1] == pytest.approx(0.05 - 2 * G / 4e5, abs=1e-9)
    assert explicit["floor.normal"][-1] == pytest.approx(2 * G, rel=1e-9)
    assert explicit["floor.points"][-1] == 4
    # the impulse on the box is its weight times the time, less its momentum: none at both ends
    np.testing.assert_allclose(explicit["floor.impulse"][-1], [0, 0, 3 * 2 * G], atol=1e-4)


@pytest.mark.parametrize("pair", ["box", "sphere"])
def test_pairs_of_moving_bodies_keep_momentum_and_rest(pair):
    s = da.System("stack", gravity=(0, 0, -G))
    low = s.body("low", da.box(0.2, 0.2, 0.1, mass=2.0))
    shape = da.box(0.15, 0.15, 0.1, mass=1.0) if pair == "box" else da.sphere(0.05, mass=1.0)
    high = s.body("high", shape)
    numbers = {"stiffness": 1e5, "exponent": 1.0, "restitution": 0.3, "friction": 0.4}
    s.contact("floor", da.plane(), low, **numbers)
    s.contact("pair", low, high, **numbers)
    s.place("low", position=(0, 0, 0.05))
    s.place("high", position=(0.0, 0, 0.15), rotation=da.bryant(0, 0, 0.4))
    result = da.simulate(s, 1.0, method="dop853")
    assert result["floor.normal"][-1] == pytest.approx(3 * G, rel=1e-3)
    assert result["pair.force"][-1, 2] == pytest.approx(G, rel=1e-3)  # on the second; a ball rolls slowly
    assert abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize(("exponent", "stiffness"), [(1.0, 1e5), (1.5, 1e7)])
def test_boxes_that_tumble_onto_each_other_in_implicit_and_explicit_steps(exponent, stiffness):
    """Corners open and close, faces meet edges: Newton's method finds every step, by fronts and dense."""
    s = da.System("tumbling", gravity=(0, 0, -G))
    low, high = s.body("low", da.box(0.2, 0.2, 0.1, mass=2.0)), s.body("high", da.box(0.15, 0.15, 0.1, mass=1.0))
    numbers = {"stiffness": stiffness, "exponent": exponent, "restitution": 0.3, "friction": 0.4}
    s.contact("floor", da.plane(), [low, high], **numbers)
    s.contact("pair", low, high, **numbers)
    s.place("low", position=(0, 0, 0.2), rotation=da.bryant(0.3, 0.2, 0.1))
    s.place("high", position=(0.02, 0.01, 0.45), rotation=da.bryant(0.0, 0.5, 0.4))
    explicit, implicit = (da.simulate(s, 0.4, method=method) for method in ("dop853", "radau"))
    for name in ("low", "high"):
        np.testing.assert_allclose(implicit[f"{name}.position"][-1], explicit[f"{name}.position"][-1], atol=1e-5)
    assert implicit["pair.impulse"][-1, 2] > 0.5  # they met


def _states(model: da.Model, q: np.ndarray, v: np.ndarray, x: np.ndarray, step: float) -> list[np.ndarray]:
    """Return central differences of accelerations and rates of states by q, v and x."""

    def value(q, v, x):
        return model.dynamics(0.0, q, v, x)[0]

    def slope(move, count):
        rows = []
        for k in range(count):
            d = np.zeros(count)
            d[k] = step
            rows.append((value(*move(d)) - value(*move(-d))) / (2 * step))
        return np.array(rows).T

    return [
        slope(lambda d: (model.integrate(q, d), v, x), model.nv),
        slope(lambda d: (q, v + d, x), model.nv),
        slope(lambda d: (q, v, x + d), model.nx),
    ]


def test_derivatives_are_exact():
    result = da.simulate(_landing(), 0.3, rtol=1e-10)
    normal = result["floor.normal"]
    k = int(np.argmax(normal))
    q, v, x = result.q[k], result.v[k], result.x[k]
    found = result.model.d_dynamics(0.0, q, v, x)
    for exact, given in zip((found.a.q, found.a.v, found.a.x), _states(result.model, q, v, x, 1e-8), strict=True):
        scale = abs(given).max()
        np.testing.assert_allclose(exact, given, atol=1e-4 * scale)  # truncation and rounding of the differences


def test_idle_pairs_change_nothing_in_implicit_steps():
    """Bristles of pairs that are apart stand in no Newton matrix; a ball that lands later enters it then."""

    def landing(far: int) -> da.System:
        s = _ball(mass=1.0, gravity=G, stiffness=1e5, exponent=1.0, restitution=0.5, friction=0.3)
        s.place("ball", position=(0, 0, 0.12), velocity=(0.5, 0, 0))
        others = [s.body(f"far{k}", da.sphere(0.1, mass=1.0)) for k in range(far)]
        for k, other in enumerate(others):
            s.place(other, position=(3.0 * (k + 1), 0, 50.0))
        if others:
            s.contact("others", da.plane(), others, stiffness=1e5, exponent=1.0, restitution=0.5, friction=0.3)
        return s

    alone, among = (da.simulate(landing(n), 0.3, method="radau", rtol=1e-9) for n in (0, 12))
    for name in ("position", "velocity"):
        np.testing.assert_allclose(among[f"ball.{name}"][-1], alone[f"ball.{name}"][-1], atol=1e-6)
    found = among.model.d_dynamics(0.0, among.q[-1], among.v[-1], among.x[-1])
    assert not found.a.x[:, 2:].any() and not found.dx.x[2:].any() and not found.dx.x[:, 2:].any()


@pytest.mark.parametrize("touching", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 0, 0)])
def test_derivatives_by_acting_states_stand_in_their_places(touching: tuple[int, ...]) -> None:
    """Bristles of pairs that touch, among those of pairs that are apart and states of other elements."""
    s = da.System("balls", gravity=(0, 0, -9.81))
    balls = [s.body(f"ball{k}", da.sphere(0.1, mass=1.0 + k)) for k in range(3)]
    law = {"stiffness": 1e5, "exponent": 1.0, "restitution": 0.5, "friction": 0.3}
    for k, ball in enumerate(balls):
        s.place(ball, position=(k, 0, 0.0999 if touching[k] else 0.2))
        lag = da.Element("distance", "-a", states={"a": (0.1 * (k + 1), f"{k + 2}*s - a")})
        s.connect(f"lag{k}", lag, s.ground.at(k, 0, 2), ball)
        s.contact(f"floor{k}", da.plane(), ball, **law)
    model = s.compile()
    start = da.start_state(model)
    rng = np.random.default_rng(1)
    v, x = rng.normal(size=model.nv) * 1e-3, rng.normal(size=model.nx) * 1e-6
    found = model.d_dynamics(0.0, start.q, v, x)
    for block, output in ((found.a.x, 0), (found.dx.x, 3)):
        step = 1e-8
        columns = [
            model.dynamics(0.0, start.q, v, x + d)[output] - model.dynamics(0.0, start.q, v, x - d)[output]
            for d in step * np.eye(model.nx)
        ]
        given = np.array(columns).T / (2 * step)
        np.testing.assert_allclose(block, given, atol=1e-6 * max(np.abs(given).max(), 1.0))
    acting = {name.split(".")[0] for name, column in zip(model.state_names, found.a.x.T, strict=True) if column.any()}
    assert acting == {*(f"lag{k}" for k in range(3)), *(f"floor{k}/ball{k}" for k in range(3) if touching[k])}


def test_derivative_by_the_stiffness():
    s = _ball(mass=2.0, gravity=G, stiffness=1e5, exponent=1.0, restitution=0.5)
    model = s.compile()
    q = np.array([1, 0, 0, 0, 0, 0, 0.0999])
    found = model.d_dynamics(0.0, q, np.zeros(6), np.zeros(0), parameters=("floor.stiffness",))
    assert np.linalg.norm(found.a.parameters) == pytest.approx(1e-4 / 2.0, rel=1e-9)  # depth by mass


def test_lanes_are_single_states():
    result = da.simulate(_landing(), 0.6)
    model, t = result.model, result.t
    batch = model.dynamics(t, result.q, result.v, result.x)
    for k in range(0, len(t), 7):
        single = model.dynamics(t[k], result.q[k], result.v[k], result.x[k])
        for many, one, atol in zip(batch, single, (1e-9, 1e-6, 1e-6, 1e-6), strict=True):
            # bristles flow within 1e-9 m of depth as a corner opens: rounding of depths, 1e-16 m, is 1e-7 there
            np.testing.assert_allclose(many[k], one, rtol=1e-9, atol=atol)


def test_ensemble_over_the_stiffness_is_single_runs():
    stiffness = [1e4, 3e4, 1e5, 3e5]
    s = _landing()
    ensemble = da.simulate(s, 0.5, parameters={"floor.stiffness": stiffness})
    for run, k in zip(ensemble, stiffness, strict=True):
        alone = da.simulate(s, 0.5, parameters={"floor.stiffness": k})
        np.testing.assert_allclose(run["box.position"][-1], alone["box.position"][-1], atol=1e-6)


def test_equilibrium_and_modes_of_a_body_on_soft_ground():
    k, m = 1e5, 2.0
    s = da.System("rest", gravity=(0, 0, -G))
    ball = s.body("ball", da.sphere(0.1, mass=m))
    s.connect("slide", da.Prismatic("z"), s.ground, ball)
    s.contact("floor", da.plane(), ball, stiffness=k, exponent=1.0, restitution=1.0)
    s.initial("slide", position=0.0999)
    found = da.equilibrium(s)
    assert found.q[0] == pytest.approx(0.1 - m * G / k, abs=1e-12)
    linear = da.linearize(s, found)
    assert np.sqrt(-linear.A[1, 0]) == pytest.approx(np.sqrt(k / m), rel=1e-9)
    assert not any("contact" in note for note in found.notes)


def test_pickled_models_and_resumed_runs_are_the_same():
    s = _landing()
    model = s.compile()
    again = pickle.loads(pickle.dumps(model))
    whole = da.simulate(model, 0.5)
    np.testing.assert_array_equal(da.simulate(again, 0.5).q, whole.q)


def test_contact_off_leaves_the_contacts_out():
    s = _ball(mass=1.0, gravity=G, stiffness=1e5, friction=0.2)
    s.place("ball", position=(0, 0, 0.1))
    result = da.simulate(s, 0.2, contact="off")
    assert result["ball.position.z"][-1] == pytest.approx(0.1 - 0.5 * G * 0.04)


def test_rigid_contacts_are_not_made_soft():
    s = _ball(mass=1.0, gravity=G, friction=0.2)
    with pytest.raises(da.ModelError, match="stiffness"):
        da.simulate(s, 0.2, contact="soft")


def test_law_of_points_agrees_with_numpy():
    """The oracle: N = k d^n (1 + a d')+ and the bristle within its limit, for a sphere on a plane."""
    r, k, n, a, mu, ratio, mass = 0.1, 1e5, 1.5, 0.7, 0.4, 0.8, 2.0
    depth, w, u, z = 1e-3, np.array([0.3, -0.2, 0.1]), np.array([2e-4, 1e-4, -0.2]), np.array([1e-6, -2e-6])
    pose = np.concatenate([np.eye(3).ravel(), [0.3, -0.2, r - depth]])[None]
    names, numbers, energy = _core.soft_contact_points(
        _core.Solid.half_space(),
        _core.Solid(np.zeros((1, 3)), np.array([0.0, 0.0, r])),
        np.array([1.0, ratio, mass]),
        np.array([[k, n, a, mu, mu]]),
        pose,
        np.concatenate([w, u])[None],
        z[None],
    )
    x = np.array([0.3, -0.2, -depth / 2])
    velocity = u + np.cross(w, x - pose[0, 9:])
    push = k * depth**n * max(1 - a * velocity[2], 0)
    k_t = ratio * k
    limit, least = mu * push, 1e-9 * k_t
    sizes = np.linalg.norm(z)
    load = k_t * sizes / (limit + least) * limit
    friction = -(load * z / sizes + 0.6 * np.sqrt(k_t * mass) * velocity[:2])
    friction *= min(1.0, limit / np.linalg.norm(friction))
    np.testing.assert_allclose(numbers[0, :3], x, atol=1e-15)
    np.testing.assert_allclose(numbers[0, 6:9], [*friction, push], rtol=1e-12)
    assert energy[0] == pytest.approx(k * depth ** (n + 1) / (n + 1) + k_t * sizes**2 / 2, rel=1e-12)
    assert names[0].tolist() == [0.0, 1.0]


def test_force_of_a_box_on_a_plane_is_the_sum_of_its_eight_corners():
    """Sweeps over changes of the number of points: each corner begins to bear with zero force, so nothing jumps."""
    half, radius, k, n = np.array([0.1, 0.15, 0.05]), 0.002, 1e5, 1.5
    s = da.System("sweep", gravity=(0, 0, 0))
    box = s.body("box", da.box(*2 * half, mass=2.0))
    s.contact("floor", da.plane(), box, stiffness=k, exponent=n, restitution=1.0, rounding=radius)
    model = s.compile()
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = signs * (half - radius)
    forces, expected, counts = [], [], []
    for angle in np.linspace(-0.06, 0.06, 241):
        q = np.array([np.cos(angle / 2), np.sin(angle / 2), 0, 0, 0, 0, 0.049])
        R, p = model.poses(q[None])
        world = corners @ R[0, 0].T + p[0, 0]
        depth = np.maximum(radius - world[:, 2], 0.0)
        counts.append(int((depth > 0).sum()))
        expected.append(k * (depth**n).sum())
        forces.append(2.0 * np.linalg.norm(model.dynamics(0.0, q, np.zeros(6), np.zeros(model.nx))[0][3:]))
    assert len(set(counts)) >= 2
    np.testing.assert_allclose(forces, expected, rtol=1e-9)
    assert np.abs(np.diff(forces)).max() < 0.05 * np.ptp(forces)


def test_energy_of_a_tumbling_box_on_a_plane_is_balanced():
    s = da.System("tumbling")
    box = s.body("box", da.box(0.2, 0.3, 0.1, mass=2.0))
    s.contact("floor", da.plane(), box, stiffness=1e4, exponent=1.5, restitution=0.9, friction=0.4)
    s.place("box", position=(0, 0, 0.4), rotation=da.bryant(0.5, 0.4, 0.3), velocity=(1.0, 0, 0))
    result = da.simulate(s, 1.5)
    assert abs(result["energy.balance"]).max() < 1e-5 * result["energy.total"][0]
