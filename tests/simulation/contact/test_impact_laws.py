"""Impacts of contact by events: Newton's and Poisson's restitution, at once and in turn; no impact gains energy."""

import numpy as np
import pytest

import dalembert as da
from dalembert.rotation import axis_angle, quaternion_from_matrix

LENGTH, MASS = 1.0, 1.0
LAWS = ("at once", "in turn", "poisson")


def cradle(restitution: float = 1.0, count: int = 5) -> da.System:
    """Return balls in a row without gravity; the first strikes the others with 1 m/s."""
    s = da.System("cradle", gravity=(0, 0, 0))
    balls = []
    for k in range(count):
        body = s.body(f"b{k}", da.sphere(0.1, mass=1.0))
        s.connect(f"j{k}", da.Prismatic("x"), s.ground.origin, body.origin)
        s.initial(f"j{k}", position=0.2 * k - 0.05 * (k == 0), speed=1.0 * (k == 0))
        balls.append(body)
    for k in range(count - 1):
        s.contact(f"c{k}", balls[k], balls[k + 1], restitution=restitution)
    return s


@pytest.mark.parametrize(
    ("law", "after"),
    [("at once", (-0.6, 0.4, 0.4, 0.4, 0.4)), ("in turn", (0, 0, 0, 0, 1)), ("poisson", (-0.6, 0.4, 0.4, 0.4, 0.4))],
)
def test_10_a_cradle(law: str, after: tuple[float, ...]) -> None:
    result = da.simulate(cradle(), 0.06, contact="events", impacts=law)
    assert result.v[-1] == pytest.approx(after, abs=1e-9)
    assert any("other laws give other velocities" in note for note in result.stats.notes)


def test_impacts_in_turn_with_losses_end() -> None:
    result = da.simulate(cradle(restitution=0.3), 0.06, contact="events", impacts="in turn")
    assert result.v[-1].sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(result.v[-1]) > -1e-7).all()  # no pair approaches
    assert result["energy.kinetic"][-1] < 0.5
    assert abs(result["energy.balance"]).max() < 1e-9


def rod(angle: float, velocity: tuple[float, float], rate: float, friction: float, restitution: float) -> da.System:
    """Return a thin rod whose lower end is just above the floor."""
    s = da.System("rod", gravity=(0, 0, 0))
    radius = 1e-3
    body = s.body("rod", da.capsule(LENGTH, radius, axis="x"), mass=MASS, inertia=[1e-3, 1 / 12, 1 / 12])
    R = axis_angle((0, 1, 0), angle)
    s.connect("J", da.Free(), s.ground.origin, body.origin)
    height = 0.5 * LENGTH * abs(np.sin(angle)) + radius + 1e-3
    speed = [*(R.T @ (0, rate, 0)), *(R.T @ (velocity[0], 0, velocity[1]))]
    s.initial("J", position=[*quaternion_from_matrix(R), 0, 0, height], speed=speed)
    s.contact("floor", da.plane(), body, friction=friction, restitution=restitution)
    return s


def plane_impulses(D: np.ndarray, u: np.ndarray, mu: float, least: float = 0.0) -> np.ndarray:
    """Return tangential and normal impulse of one planar contact with R_n >= least, by trying all cases."""
    cases = []
    for normal in (None, least):  # u_n = 0, or the impulse is the least one
        for slip in (0, 1, -1):
            rows, right = np.zeros((2, 2)), np.zeros(2)
            rows[0], right[0] = (D[1], -u[1]) if normal is None else ((0, 1), normal)
            rows[1], right[1] = (D[0], -u[0]) if slip == 0 else ((1, slip * mu), 0.0)
            if abs(np.linalg.det(rows)) < 1e-14:
                continue
            impulse = np.linalg.solve(rows, right)
            after = u + D @ impulse
            fits = impulse[1] >= least - 1e-12 and after[1] >= -1e-12
            fits &= abs(impulse[0]) <= mu * impulse[1] + 1e-12 if slip == 0 else slip * after[0] >= -1e-12
            cases += [impulse] if fits else []
    assert cases
    return cases[0]


@pytest.mark.parametrize("law", ["at once", "poisson"])
@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("angle", "velocity"), [(0.9, (0.2, -1.0)), (0.9, (-1.0, -1.0)), (0.4, (0.7, -2.0))])
def test_an_eccentric_impact_with_friction(
    law: str, friction: float, angle: float, velocity: tuple[float, float]
) -> None:
    """One end of a rod strikes the floor: impulses by trying all cases in the plane."""
    e = 0.5
    result = da.simulate(rod(angle, velocity, 0.0, friction, e), 3e-3, contact="events", impacts=law)
    # the end where x > 0 in body axes is the lower one; the normal acts at the lowest point of its sphere
    at = result.at([1e-3 / -velocity[1] + 1e-5])
    arm = np.array([0.5 * LENGTH * np.cos(angle), -0.5 * LENGTH * np.sin(angle) - 1e-3])
    J = np.array([[1.0, 0.0, arm[1]], [0.0, 1.0, -arm[0]]])  # of vx, vz and the rate about y
    D = J @ np.diag([1 / MASS, 1 / MASS, 12.0]) @ J.T
    u = J @ np.array([*velocity, 0.0])
    if law == "at once":
        # Newton's restitution shifts the normal velocity; slip is judged after the impact
        impulse = plane_impulses(D, u + np.array([0.0, e * u[1]]), friction)
    else:
        impulse = plane_impulses(D, u, friction)
        impulse = impulse + plane_impulses(D, u + D @ impulse, friction, least=e * impulse[1])
    after = np.array([*velocity, 0.0]) + np.diag([1.0, 1.0, 12.0]) @ J.T @ impulse
    found = [at["rod.velocity"][0, 0], at["rod.velocity"][0, 2], at["rod.angular_velocity"][0, 1]]
    assert found == pytest.approx(after, abs=1e-8)


@pytest.mark.parametrize("law", LAWS)
def test_no_impact_gains_energy(law: str) -> None:
    """Newton's restitution with friction may (Kane and Levinson 1985): it is lowered and noted then."""
    rng = np.random.default_rng(5)
    lowered = 0
    for _ in range(60):
        angle, friction = rng.uniform(0.1, 1.4), rng.uniform(0.0, 2.0)
        start = rod(angle, (rng.normal(), -1.0), 3.0 * rng.normal(), friction, rng.uniform(0.5, 1.0))
        result = da.simulate(start, 0.05, contact="events", impacts=law)
        kinetic = result["energy.kinetic"]
        assert np.diff(kinetic).max(initial=0.0) < 1e-8 * kinetic[0]
        assert result["floor.gap"].min() > -1e-8
        lowered += any("was lowered" in note for note in result.stats.notes)
    assert lowered > 0 or law == "poisson"


def test_bad_laws_are_refused() -> None:
    with pytest.raises(da.ModelError, match="'at once', 'in turn' or 'poisson'"):
        da.simulate(cradle(), 0.06, impacts="newton")
    with pytest.raises(da.ModelError, match="contact='events'"):
        da.simulate(cradle(), 0.06, contact="steps", impacts="in turn")
