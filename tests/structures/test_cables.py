"""Slender bodies of co-rotated segments: elastica, catenary, spin-up, pendulum, loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve

import dalembert as da
from dalembert.errors import ModelError

RADIUS, E, DENSITY = 0.005, 1e7, 1000.0
RUBBER = da.Material(E=E, nu=0.3, density=DENSITY)
WIRE = da.Section.circle(RADIUS)
EI = E * np.pi * RADIUS**4 / 4
LINE = DENSITY * np.pi * RADIUS**2  # kg/m


def elastica(load: float) -> tuple[float, float]:
    """Return the tip of a cantilever of unit length and stiffness under a dead load across it, by shooting."""

    def slope(s: float, y: np.ndarray) -> list[float]:
        return [y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

    def left(k: float) -> float:
        return float(solve_ivp(slope, (0, 1), [0, k, 0, 0], rtol=1e-11, atol=1e-12).y[1, -1])

    k = brentq(left, 1e-9, load)
    end = solve_ivp(slope, (0, 1), [0, k, 0, 0], rtol=1e-11, atol=1e-12).y[:, -1]
    return float(end[2]), float(end[3])


def bent(segments: int, shapes: int, load: float) -> np.ndarray:
    s = da.System("cantilever", gravity=(0, 0, 0))
    rod = da.cable(s, "rod", 1.0, WIRE, RUBBER, segments=segments, shapes=shapes)
    s.connect("A", da.Fixed(), s.ground, rod.start)
    s.connect("F", da.Load(force=(0, 0, -load * EI)), rod.end)
    return s.compile().pose(rod.end, da.equilibrium(s).q)[1]


@pytest.mark.parametrize(("shapes", "order", "worst"), [(1, 2.0, 4e-4), (2, 4.0, 1e-6)])
def test_a_cantilever_bends_to_the_elastica(shapes: int, order: float, worst: float) -> None:
    """Its tip comes down by 0.81 of its length; errors fall with the square, or fourth power, of segments."""
    x, y = elastica(10.0)
    errors = [float(np.hypot(*(bent(n, shapes, 10.0)[[0, 2]] - [x, -y]))) for n in (12, 24)]
    assert errors[1] < worst
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.01)


def kirchhoff(load: np.ndarray, moment: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a place along, and the tip of, a clamped rod of unit length under dead loads at its end, by shooting."""
    rigidity = np.array([E / 2.6 * np.pi * RADIUS**4 / 2, EI, EI])

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        R, m = y[3:12].reshape(3, 3), y[12:]
        x, y, z = R.T @ m / rigidity
        spin = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return np.concatenate([R[:, 0], (R @ spin).ravel(), -np.cross(R[:, 0], load * share)])

    def shot(root: np.ndarray) -> np.ndarray:
        start = np.concatenate([np.zeros(3), np.eye(3).ravel(), root])
        return solve_ivp(slope, (0, 1), start, method="DOP853", t_eval=[at, 1.0], rtol=1e-9, atol=1e-12).y

    root = moment / 10
    for share in (0.2, 0.5, 1.0):
        root = fsolve(lambda root, share=share: (shot(root)[12:, -1] - share * moment) / EI, root, xtol=1e-10)
    found = shot(root)[:3]
    return found[:, 0], found[:, 1]


def test_a_rod_bent_and_twisted_in_space_is_kirchhoffs() -> None:
    """Half a length aside, twisted by the loads that bend it: its tip, and a place in a segment, to fourth order."""
    load, moment = EI * np.array([2.0, 3.0, -4.0]), EI * np.array([1.0, 0.5, 0.7])
    inner, tip = kirchhoff(load, moment, 0.3)
    errors = []
    for n in (6, 12):
        s = da.System("cantilever", gravity=(0, 0, 0))
        rod = da.cable(s, "rod", 1.0, WIRE, RUBBER, segments=n)
        s.connect("A", da.Fixed(), s.ground, rod.start)
        s.connect("F", da.Load(force=load, moment=moment), rod.end)
        s.connect("m", da.Load(force=(0, 0, 0)), rod.at(0.3))
        q, model = da.equilibrium(s).q, s.compile()
        errors.append(
            [np.linalg.norm(model.pose(rod.end, q)[1] - tip), np.linalg.norm(model.pose(rod.at(0.3), q)[1] - inner)]
        )
    assert np.array(errors[1]).max() < 4e-6
    assert (np.log2(np.divide(*errors)) > 3.5).all()


def test_a_moment_at_the_end_rolls_a_rod_to_a_circle() -> None:
    """M = 2 pi E I / L: the end comes back to the start; half-way it is 1 / pi away."""
    for n, shapes in ((10, 1), (10, 2), (20, 2)):
        s = da.System("ring", gravity=(0, 0, 0))
        rod = da.cable(s, "rod", 1.0, WIRE, RUBBER, segments=n, shapes=shapes)
        s.connect("A", da.Fixed(), s.ground, rod.start)
        model = s.compile()
        q = model.zero_configuration()
        first = [model.q_slice(body.name).start for body in rod.bodies]
        q[first] = 2 * np.pi / n
        held = model.inverse_dynamics(q, np.zeros(model.nv), np.zeros(model.nv))
        assert np.allclose(held[first], 2 * np.pi * EI, rtol=1e-9)  # E I / h per radian of each segment
        assert np.linalg.norm(model.pose(rod.end, q)[1]) < 1e-12
        away = float(np.linalg.norm(model.pose(rod.at(0.5), q)[1])) - 1 / np.pi
        assert (
            abs(away) < 0.006 * (2 * np.pi / n) ** 4
        )  # the loop constraint's next term, h theta^4 / 1920, of n / 2 segments
        assert model.jacobian(rod.end, q)[1, first] == pytest.approx(1.0)  # turns about y add up


def test_a_slack_cable_between_two_points_hangs_as_a_catenary() -> None:
    """Both ends pinned: a loop. Span 0.8 of its length; so thin that bending hardly counts."""
    span, n = 0.8, 24
    a = brentq(lambda a: 2 * a * np.sinh(span / (2 * a)) - 1.0, 0.05, 5.0)
    thin = da.Section.circle(0.0004)
    x = np.linspace(-span / 2, span / 2, 400)
    line = np.column_stack([x, 0 * x, a * np.cosh(x / a)])
    s = da.System("catenary")
    rope = da.cable(s, "rope", line, thin, RUBBER, segments=n, damping=da.Rayleigh(beta=0.02))
    s.connect("A", da.Spherical(), s.ground, rope.start)
    s.connect("B", da.Spherical(), s.ground.at(span, 0, 0), rope.end)
    found = da.equilibrium(s)
    result = da.simulate(s, 1e-3, state=found.state(), times=[0.0])
    low = rope.line(result)[0, :, 2].min()
    assert low == pytest.approx(a - a * np.cosh(span / (2 * a)), rel=1e-3)
    weight = DENSITY * np.pi * 0.0004**2 * 9.81
    tension = rope.tension(result)[0]
    assert tension[n // 2 - 1] == pytest.approx(weight * a, rel=0.05)  # at the lowest point
    assert (tension > 0).all() and tension.argmin() in (n // 2 - 2, n // 2 - 1, n // 2)


def test_a_falling_flexible_pendulum_keeps_its_energy_and_converges() -> None:
    """Released level from a joint, as soft as rubber: the tip's place at 0.5 s, more and more segments."""

    def tip(n: int) -> tuple[np.ndarray, da.Result]:
        s = da.System("pendulum")
        rod = da.cable(
            s,
            "rod",
            1.0,
            WIRE,
            da.Material(E=5e7, nu=0.3, density=DENSITY),
            segments=n,
            bending="y",
            torsion=False,
            damping=da.Rayleigh(beta=1e-3),
        )
        s.connect("A", da.Revolute("y"), s.ground, rod.start)
        result = da.simulate(s, 0.5, method="radau", rtol=1e-6, atol=1e-7, times=[0.0, 0.25, 0.5])
        return rod.line(result)[-1, -1], result

    coarse, middle, fine = (tip(n)[0] for n in (4, 8, 16))
    assert np.linalg.norm(middle - fine) < np.linalg.norm(coarse - middle) / 11  # the order is 4
    assert np.linalg.norm(middle - fine) < 2e-5
    result = tip(10)[1]
    assert np.abs(result["energy.balance"]).max() < 1e-6
    # a rigid rod of this length would be elsewhere by centimetres
    assert np.abs(fine[1]) < 1e-9 and np.linalg.norm(fine) < 1.0


def test_a_rod_spun_up_lags_and_comes_back() -> None:
    """Kane's spin-up of a soft rod: it lags while the hub speeds up, and straightens when it spins evenly."""
    s = da.System("spin-up", gravity=(0, 0, 0))
    stiff = da.Material(E=4e8, nu=0.3, density=DENSITY)
    rod = da.cable(s, "rod", 1.0, WIRE, stiff, segments=10, torsion=False, damping=da.Rayleigh(beta=0.2))
    s.connect("A", da.Revolute("z"), s.ground, rod.start)
    T, w = 1.0, 6.0
    s.drive("A", speed=da.Ramp(0.0, w, T))
    result = da.simulate(s, 4.0, method="radau", times=np.linspace(0, 4, 81))
    R = s.compile().pose(rod.start, result.q)[0]
    tip = np.einsum("nji,nj->ni", R, rod.line(result)[:, -1])
    lag = np.arctan2(tip[:, 1], tip[:, 0])
    assert lag.min() < -0.15
    assert abs(lag[-1]) < 0.02 and np.linalg.norm(tip[-1]) == pytest.approx(1.0, abs=1e-9)


def test_a_beam_of_segments_is_one_call_and_bends_to_the_elastica() -> None:
    x, y = elastica(10.0)
    s = da.System("cantilever", gravity=(0, 0, 0))
    rod = s.body("rod", da.beam(1.0, WIRE, RUBBER, segments=24))
    s.connect("A", da.Fixed(), s.ground, rod)  # it stands for its beginning
    s.connect("F", da.Load(force=(0, 0, -10.0 * EI)), rod.end)
    tip = s.compile().pose(rod.end, da.equilibrium(s).q)[1]
    assert np.hypot(*(tip[[0, 2]] - [x, -y])) < 1e-6
    again = bent(24, 2, 10.0)
    assert np.allclose(tip, again, atol=1e-9)


def test_a_beam_of_segments_spun_up_bends_far_and_converges() -> None:
    """A hub that makes half a turn in 0.6 s: the tip lags by more than a right angle, whatever the segments."""

    def lag(n: int) -> tuple[np.ndarray, float]:
        s = da.System("spin-up", gravity=(0, 0, 0))
        soft = da.Material(E=2e8, nu=0.3, density=DENSITY)
        rod = s.body(
            "rod", da.beam(1.0, WIRE, soft, segments=n, bending="z", torsion=False, damping=da.Rayleigh(beta=5e-3))
        )
        s.connect("A", da.Revolute("z"), s.ground, rod)
        s.drive("A", position=da.Ramp(0.0, np.pi, 0.6))
        result = da.simulate(s, 0.6, method="radau", rtol=1e-5, atol=1e-6, times=np.linspace(0, 0.6, 7))
        line = rod.line(result)
        tip = np.einsum("nji,nj->ni", s.compile().pose(rod.start, result.q)[0], line[:, -1])
        assert np.abs(result["energy.balance"]).max() < 1e-5
        return tip, float(np.arctan2(tip[:, 1], tip[:, 0]).min())

    coarse, middle, fine = (lag(n) for n in (6, 12, 24))
    assert fine[1] < -np.pi / 2
    assert np.abs(middle[0] - fine[0]).max() < np.abs(coarse[0] - middle[0]).max() / 11  # the order is 4


def test_options_of_the_other_kind_of_beam_are_refused() -> None:
    with pytest.raises(ModelError, match="modes"):
        da.beam(1.0, WIRE, RUBBER, segments=4, modes=da.CantileverModes(2))
    with pytest.raises(ModelError, match="segments=n"):
        da.beam(1.0, WIRE, RUBBER, stretching=True)
    with pytest.raises(ModelError, match="follows from section"):
        da.System("s").body("rod", da.beam(1.0, WIRE, RUBBER, segments=4), mass=1.0)


def test_twist_is_that_of_a_shaft() -> None:
    s = da.System("shaft", gravity=(0, 0, 0))
    rod = da.cable(s, "rod", 1.0, WIRE, RUBBER, segments=5, stretching=True)
    s.connect("A", da.Fixed(), s.ground, rod.start)
    s.connect("M", da.Load(moment=(1e-3, 0, 0), force=(0.01, 0, 0)), rod.end)
    result = da.simulate(s, 1e-3, state=da.equilibrium(s).state(), times=[0.0])
    GJ = E / 2.6 * np.pi * RADIUS**4 / 2
    assert np.allclose(rod.twist(result), 1e-3 / GJ, rtol=1e-4)  # tension stiffens a twisted rod a little
    assert np.allclose(rod.strain(result), 0.01 / (E * np.pi * RADIUS**2), rtol=1e-4)
    assert np.allclose(rod.curvature(result), 0, atol=1e-9)
    assert np.allclose(rod.tension(result), 0.01, rtol=1e-6)


def test_segments_may_be_shorter_than_they_are_thick() -> None:
    s = da.System("short")
    rod = da.cable(s, "rod", 0.1, WIRE, RUBBER, segments=50)
    s.connect("A", da.Fixed(), s.ground, rod.start)
    M = s.compile().mass_matrix(s.compile().zero_configuration())
    assert np.linalg.eigvalsh(M)[0] > 0


def test_markers_by_arc_length() -> None:
    s = da.System("line")
    rod = da.cable(s, "rod", [(0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0)], WIRE, RUBBER, segments=4)
    s.connect("A", da.Fixed(), s.ground, rod.start)
    model = s.compile()
    q = model.zero_configuration()
    assert rod.length == pytest.approx(1.0)
    for arc, place in (
        (0.0, (0, 0, 0)),
        (0.3, (0.3, 0, 0)),
        (0.5, (0.5, 0, 0)),
        (0.9, (0.5, 0.4, 0)),
        (1.0, (0.5, 0.5, 0)),
    ):
        assert np.allclose(model.pose(rod.at(arc), q)[1], place, atol=1e-12)
    with pytest.raises(ModelError, match="1 m long"):
        rod.at(1.2)
    for bad in ({"segments": 0}, {"segments": 2.5}, {"shapes": 3}):
        with pytest.raises(ModelError):
            da.cable(da.System(), "bad", 1.0, WIRE, RUBBER, **bad)
