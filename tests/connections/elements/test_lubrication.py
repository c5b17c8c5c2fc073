"""Journal bearings and traction films: forces against formulas and closed forms, and what they dissipate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.reynolds import film_load

import dalembert as da
from dalembert import tribology

Array = NDArray[np.float64]

R, C, L, ETA = 6e-3, 6e-6, 12e-3, 0.017
OIL = {"viscosity": ETA, "pressure_coefficient": 1.85e-8, "shear_stress": 5e6}
STEEL = tribology.reduced_modulus()


def bearing(**options: object) -> da.JournalBearing:
    return da.JournalBearing(R, C, L, ETA, **options)  # type: ignore[arg-type]


def answer(element: da.Element, place: Array, velocity: Array, spin: float) -> tuple[Array, float, float]:
    """Return force (2,), moment and stored energy for the second marker at x, y with vx, vy and wz."""
    given = [0.0, *place, 0.3, 0.1, -0.2, 0.4, *velocity, 7.0, 3.0, -2.0, spin, *element.parameters.values()]
    out = element.evaluate(np.array(given))[0]
    assert not out[2:5].any()  # neither along the axis nor about others
    return out[:2], float(out[5]), float(out[6])


def cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


# ---- journal bearing


def test_the_force_is_that_of_the_impedance() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        e = 0.95 * np.sqrt(rng.random()) * da.axis_angle("z", rng.uniform(0, 7))[:2, 0]
        velocity, spin = rng.normal(size=2) * 1e-3, rng.normal() * 300
        V = velocity - spin / 2 * C * np.array([-e[1], e[0]])
        speed = np.linalg.norm(V)
        size, turn = tribology.journal_impedance(e @ V / speed, cross(e, V) / speed, L / (2 * R))
        load = 2 * ETA * L * (R / C) ** 3 * size * (da.axis_angle("z", float(turn))[:2, :2] @ V)
        force, moment, stored = answer(bearing(), C * e, velocity, spin)
        assert np.allclose(force, -load, rtol=1e-9)
        petroff = 2 * np.pi * ETA * R**3 * L * spin / C
        assert moment == pytest.approx(-petroff / np.sqrt(1 - e @ e) - cross(C * e, force) / 2, rel=1e-9)
        assert stored == 0
        # all of the power is lost in the squeeze and in the shear
        assert force @ velocity + moment * spin == pytest.approx(force @ V - petroff * spin / np.sqrt(1 - e @ e))
        assert force @ V < 0


@pytest.mark.parametrize("ratio, alpha", [(0.2, 0.5), (0.4, 1.2), (0.6, 0.2)])
def test_the_force_is_that_of_reynolds_equation(ratio: float, alpha: float) -> None:
    V = 1e-3 * np.array([np.cos(alpha), np.sin(alpha)])
    force, _, _ = answer(bearing(), np.array([ratio * C, 0.0]), V, 0.0)
    exact = -2 * ETA * L * (R / C) ** 3 * 1e-3 * film_load(ratio, alpha, L / (2 * R), "half", around=160, along=15)
    assert np.linalg.norm(force - exact) < 0.09 * np.linalg.norm(exact)


def test_friction_of_a_centred_journal_is_petroffs() -> None:
    zero = np.zeros(2)
    expected = -2 * np.pi * ETA * R**3 * L * 200.0 / C
    assert answer(bearing(), zero, zero, 200.0)[1] == pytest.approx(expected, rel=1e-9)
    assert answer(bearing(friction="half"), zero, zero, 200.0)[1] == pytest.approx(expected / 2, rel=1e-9)
    assert answer(bearing(friction="none"), zero, zero, 200.0)[1] == 0


@pytest.mark.parametrize("alpha", [0.0, 0.8, 1.6, 2.7, -2.0])
def test_half_a_film_shears_on_the_half_ahead(alpha: float) -> None:
    """The integral of 1 / (1 - e cos) over alpha +- pi/2, with the force of the film taken off."""
    ratio, spin = 0.6, 1e-9  # so slow that V is the velocity
    velocity, place = 1e-3 * np.array([np.cos(alpha), np.sin(alpha)]), np.array([ratio * C, 0.0])
    angle = alpha - np.pi / 2 + (np.arange(20000) + 0.5) * np.pi / 20000
    shear = float((1 / (1 - ratio * np.cos(angle))).sum() * np.pi / 20000)
    half, none = (answer(bearing(friction=kind), place, velocity, spin)[1] for kind in ("half", "none"))
    turning = (half - none) / spin
    assert turning == pytest.approx(-ETA * R**3 * L / C * shear, rel=1e-4)


def test_exchanging_journal_and_bearing_changes_nothing() -> None:
    s = da.System("pair", gravity=(0, 0, 0))
    t = da.System("swapped", gravity=(0, 0, 0))
    for system, swapped in ((s, False), (t, True)):
        one, two = (system.body(name, da.cylinder(0.01, 0.02, mass=0.1)) for name in ("one", "two"))
        for name in ("one", "two"):
            system.connect(f"free_{name}", da.Free(), system.ground, system.bodies[name])
        system.connect("film", bearing(), *((two, one) if swapped else (one, two)))
    q = np.array([1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0.4 * C, -0.2 * C, 0])
    v = np.array([0, 0, 130.0, 1e-3, 2e-3, 0, 0, 0, -70.0, -2e-3, 1e-3, 0])
    assert np.allclose(s.compile().forward_dynamics(q, v), t.compile().forward_dynamics(q, v), rtol=1e-9, atol=1e-9)


def test_a_loaded_journal_settles_where_the_formula_says() -> None:
    load, spin = 120.0, 150.0
    s = da.System("rotor", gravity=(0, -load / 0.5, 0))
    rotor = s.body("rotor", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    s.connect("plane", da.Planar("z"), s.ground, rotor)
    s.connect("film", bearing(), s.ground, rotor)
    s.drive("plane.angle", speed=spin)
    names = s.compile().coordinate_names
    assert names == ("plane.x", "plane.y", "plane.angle")
    result = da.simulate(s, 1.0, method="radau", rtol=1e-8, atol=1e-13)  # microns
    e = result.q[-1, :2] / C
    ratio = float(np.linalg.norm(e))
    size, turn = tribology.journal_impedance(0.0, ratio, L / (2 * R))
    assert ETA * L * spin * R**3 / C**2 * ratio * size == pytest.approx(load, rel=1e-5)
    # the load, along -y, is ahead of the eccentricity by the attitude angle, against the turning sense
    attitude = np.arctan2(cross(e, np.array([0, -1.0])), -e[1])
    assert abs(attitude) == pytest.approx(np.pi / 2 + float(turn), abs=1e-5)
    assert 0.1 < ratio < 0.5 and abs(result["energy.balance"]).max() < 1e-5


def test_beyond_the_limit_the_walls_carry() -> None:
    walls = bearing(limit=0.9, stiffness=1e9)
    inside, _, _ = answer(walls, np.array([0.9 * C, 0]), np.array([1e-3, 0]), 0.0)
    beyond, _, stored = answer(walls, np.array([1.1 * C, 0]), np.array([1e-3, 0]), 0.0)
    assert beyond[0] == pytest.approx(inside[0] - 1e9 * 0.2 * C, rel=1e-9)
    assert stored == pytest.approx(0.5e9 * (0.2 * C) ** 2)
    assert np.isfinite(answer(bearing(), np.array([5 * C, C]), np.array([1.0, 0]), 9.0)[0]).all()


@pytest.mark.parametrize("friction", ["full", "half", "none"])
def test_bearings_are_fit_for_use(friction: str) -> None:
    assert da.check_element(
        da.JournalBearing(1.0, 0.09, 1.0, 0.1, friction=friction, stiffness=10.0), measure_amplitude=0.05
    ).success


def test_bearings_that_cannot_be() -> None:
    for field, value in (("radius", 0.0), ("clearance", -1e-6), ("length", np.nan), ("viscosity", 0.0)):
        given = {"radius": R, "clearance": C, "length": L, "viscosity": ETA, field: value}
        with pytest.raises(da.ModelError, match=field):
            da.JournalBearing(**given)
    with pytest.raises(da.ModelError, match=r"tenth of the radius"):
        da.JournalBearing(R, R / 5, L, ETA)
    with pytest.raises(da.ModelError, match="limit"):
        bearing(limit=1.0)
    with pytest.raises(da.ModelError, match="friction"):
        bearing(friction="dry")


# ---- traction

CAM, ROLLER, LINE, LOAD = 0.016, 0.012, 0.02, 400.0


def egg() -> list[da.Line | da.Arc]:
    """A base circle, a nose and straight flanks."""
    a = np.arccos((CAM - 0.005) / 0.03)
    touch = [r * np.array([np.cos(a), np.sin(a)]) + [x, 0] for r, x in ((CAM, 0.0), (0.005, 0.03))]
    return [
        da.Arc((0.03, 0), 0.005, -a, a),
        da.Line(touch[1], touch[0]),
        da.Arc((0, 0), CAM, a, 2 * np.pi - a),
        da.Line(touch[0] * [1, -1], touch[1] * [1, -1]),
    ]


def traction(profile: object = CAM, load: float = LOAD, **options: float) -> da.TractionFilm:
    return da.TractionFilm(profile, ROLLER, LINE, load=load, **OIL, **options)  # type: ignore[arg-type]


def expected_pull(slip: float, rolling: float, bend: float, load: float = LOAD) -> float:
    radius = 1 / (bend + 1 / ROLLER)
    film = tribology.central_film(rolling, load, LINE, radius, STEEL, ETA, 1.85e-8)
    peak = tribology.hertz_line(load, LINE, radius, STEEL).pressure
    fast = np.hypot(slip, 1e-3)  # below the slip speed it grows in proportion
    return float(load * tribology.eyring_traction(fast, film, peak, ETA, 1.85e-8, 5e6) * slip / fast)


def test_slip_and_rolling_of_two_discs() -> None:
    """Slip and rolling in the frame of the contact: the disc turns at w, the roller about a centre at rest at W."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        w, W = rng.uniform(50, 300), -rng.uniform(50, 300)
        place = (CAM + ROLLER) * np.array([np.cos(a := rng.uniform(0, 7)), np.sin(a)])
        tangent = np.array([-np.sin(a), np.cos(a)])
        # seen from the disc, which turns at w
        velocity, spin = -w * (CAM + ROLLER) * tangent, W - w
        slip, rolling = -W * ROLLER - w * CAM, (-W * ROLLER + w * CAM) / 2
        force, moment, stored = answer(traction(), place, velocity, spin)
        pull = expected_pull(slip, rolling, 1 / CAM)
        assert np.allclose(force, -pull * tangent, rtol=1e-6, atol=1e-9)
        assert moment == pytest.approx(ROLLER * pull, rel=1e-6)
        assert force @ velocity + moment * spin == pytest.approx(-pull * slip, rel=1e-6)
        assert pull * slip > 0 and stored == 0


def test_a_cam_of_lines_and_arcs() -> None:
    """Everywhere along the profile: tangent, curvature and so the force of the piece that is touched."""
    film, rng = traction(egg()), np.random.default_rng(3)
    pieces = egg()
    for k, (part, bend) in enumerate(zip(pieces, (200.0, 0.0, 1 / CAM, 0.0), strict=True)):
        for _ in range(20):
            if isinstance(part, da.Line):
                tangent = (part.end - part.start) / np.linalg.norm(part.end - part.start)
                contact = part.start + rng.uniform(0.01, 0.99) * (part.end - part.start)
            else:
                angle = part.start + rng.uniform(0.01, 0.99) * (part.end - part.start)
                tangent = np.array([-np.sin(angle), np.cos(angle)])
                contact = part.centre + part.radius * np.array([np.cos(angle), np.sin(angle)])
            place = contact + (ROLLER + rng.uniform(-1e-4, 1e-4)) * np.array([tangent[1], -tangent[0]])
            speed, spin = rng.uniform(1, 5), rng.uniform(80, 400)
            slip, rolling = speed - ROLLER * spin, (speed - ROLLER * spin) / 2 - speed / (1 + bend * ROLLER)
            force, moment, _ = answer(film, place, speed * tangent, spin)
            pull = expected_pull(slip, rolling, bend)
            assert np.allclose(force, -pull * tangent, rtol=1e-6, atol=1e-9), k
            assert moment == pytest.approx(ROLLER * pull, rel=1e-6)


def test_no_load_no_traction() -> None:
    place, velocity = np.array([CAM + ROLLER, 0]), np.array([0, 3.0])
    for load in (0.0, -50.0):
        force, moment, _ = answer(traction(load=load), place, velocity, 100.0)
        assert not force.any() and moment == 0


def test_a_dragged_roller_comes_to_rolling_and_the_slip_is_dissipated() -> None:
    """A disc at constant speed drives a roller: at the end both are as fast; what was lost is accounted for."""
    s = da.System("drive", gravity=(0, 0, 0))
    disc, roller = s.body("disc", da.cylinder(CAM, LINE, 0.1)), s.body("roller", da.cylinder(ROLLER, LINE, 0.07))
    s.connect("shaft", da.Revolute("z"), s.ground, disc)
    s.connect("axle", da.Revolute("z"), s.ground.at(CAM + ROLLER), roller)
    s.connect("film", traction(), disc, roller)
    s.drive("shaft", speed=100.0)
    s.initial("shaft", speed=100.0)
    result = da.simulate(s, 0.2, method="radau", rtol=1e-8, atol=1e-10)
    assert result["axle.speed"][-1] == pytest.approx(-100.0 * CAM / ROLLER, rel=1e-4)
    assert (np.diff(result["energy.dissipated"]) > -1e-12).all()
    assert abs(result["energy.balance"]).max() < 1e-6
    # constant torque would lose what it stores: the friction between disc and roller takes the same again
    assert result["energy.dissipated"][-1] == pytest.approx(result["energy.kinetic"][-1] - result["energy.kinetic"][0])


def test_the_load_may_be_that_of_the_contact() -> None:
    """A roller on an arm is pressed on a disc by a spring: the traction, which is upright to the arm, adds nothing."""
    s = da.System("arm", gravity=(0, 0, 0))
    disc, arm = s.body("disc", da.cylinder(CAM, LINE, 0.1)), s.body("arm", da.box(0.01, 0.1, 0.01, 0.1))
    roller = s.body("roller", da.cylinder(ROLLER, LINE, 0.07))
    s.connect("shaft", da.Revolute("z"), s.ground, disc)
    s.connect("slide", da.Prismatic("y"), s.ground.at(0, CAM + ROLLER, 0), arm)
    s.connect("axle", da.Revolute("z"), arm, roller)
    circle = da.Curve.path([da.Arc((0, 0), CAM, 0.0, 2 * np.pi)])
    s.connect("contact", da.CamFollower(circle, "roller", ROLLER), disc, roller)
    s.connect("push", da.Effort(-LOAD), "slide")
    s.connect("film", traction(load="contact"), disc, roller)
    s.drive("shaft", speed=100.0)
    s.initial("shaft", speed=100.0)
    s.initial("axle", speed=-80.0)
    result = da.simulate(s, 0.05, method="radau", rtol=1e-8, atol=1e-12)
    assert result["film.normal"] == pytest.approx(np.full(len(result.t), LOAD), rel=1e-9)
    assert result["contact.contact"] == pytest.approx(result["film.normal"], rel=1e-9)
    slip, rolling = result["film.slip"], result["film.rolling"]
    # speeds of the surfaces: roller, disc; along the tangent counterclockwise about the disc
    over, under = -ROLLER * result["axle.speed"], CAM * result["shaft.speed"]
    assert slip == pytest.approx(over - under, abs=1e-9)
    assert rolling == pytest.approx((over + under) / 2, rel=1e-9)
    # the signals are the formulas of tribology
    R = 1 / (1 / CAM + 1 / ROLLER)
    given = (rolling, LOAD, LINE, R, STEEL, ETA, 1.85e-8)
    assert result["film.film"] == pytest.approx(tribology.central_film(*given), rel=1e-9)
    assert result["film.least"] == pytest.approx(tribology.minimum_film(*given), rel=1e-9)
    peak = tribology.hertz_line(LOAD, LINE, R, STEEL).pressure
    assert result["film.pressure"] == pytest.approx(np.full(len(result.t), float(peak)), rel=1e-9)
    pull = np.array([expected_pull(a, b, 1 / CAM) for a, b in zip(slip, rolling, strict=True)])
    assert result["film.traction"] * LOAD == pytest.approx(pull, rel=1e-6, abs=1e-9)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_eccentricity_is_an_output() -> None:
    element = bearing()
    given = [0.0, 3e-6, -4e-6, *np.zeros(10), *element.parameters.values()]
    assert element.evaluate(np.array(given))[0, 7:] == pytest.approx([5 / 6, 1e-6])


def test_tractions_are_fit_for_use() -> None:
    assert da.check_element(traction()).success
    assert da.check_element(traction(egg())).success


def test_tractions_that_cannot_be() -> None:
    with pytest.raises(da.ModelError, match="radius"):
        da.TractionFilm(CAM, -1.0, LINE, load=1.0, **OIL)
    with pytest.raises(da.ModelError, match="load"):
        traction(load=np.nan)
    with pytest.raises(da.ModelError, match="profile"):
        traction(-0.1)
    with pytest.raises(da.ModelError, match="close"):
        traction(egg()[:3])
    with pytest.raises(da.ModelError, match="counterclockwise"):
        traction([da.Arc((0, 0), CAM, 2 * np.pi, 0.0)])
