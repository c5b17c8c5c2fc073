"""Garcia de Jalon and Bayo, section 3.6: wheels that roll and slide, T19 and T20; mass matrices, T21."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from systems.natural_chapter import RHO, coin, r, rates_of, rolled, rotated

import dalembert as da
from dalembert.natural import (
    Circle,
    Curve,
    Cylinder,
    Line,
    Mechanism,
    Plane,
    Sphere,
    Surface,
    equivalent_centre,
)
from dalembert.natural.bodies import body_coordinates, mass_matrix

Array = NDArray[np.float64]

TRACKS = {
    "straight": (Line((0, 0), (1, 0)), 1.0),
    "convex": (Circle((0, 0), RHO), RHO / (RHO + r)),
    "concave": (Circle((0, 0), RHO, inside=True), RHO / (RHO - r)),
}


def on_track(track: str, s: float, *, rolling: bool = True) -> Mechanism:
    _, O, A = rolled(track, s)  # noqa: E741
    m = Mechanism(2)
    m.point("O", *O), m.point("A", *A), m.point("C", 0, 0, fixed=True), m.vector("x", 1, 0, fixed=True)
    m.wheel("wheel", "O", "A", TRACKS[track][0], radius=r, rolling=rolling)
    return m


@pytest.mark.parametrize("track", list(TRACKS))
def test_a_wheel_rolls_along_its_track(track: str) -> None:
    """T19: position by integration, speeds, accelerations, pole velocity, Euler and Savary's centre."""
    ratio = TRACKS[track][1]
    start = lambda t: 0.4 + 0.9 * t + 0.3 * t * t  # noqa: E731
    m = on_track(track, 0.4)
    assert (m.count().dofs, on_track(track, 0.4, rolling=False).count().dofs) == (1, 2)
    if track == "straight":
        m.drive("O.x", da.Polynomial((0.4, 0.9, 0.3)))
    else:
        m.angle("arm", "x", ("C", "O"))
        sign = 1.0 if track == "concave" else -1.0
        turned = math.atan2(*(rolled(track, 0.4)[1])[::-1])
        m.drive("arm", da.Polynomial((turned, sign * 0.9 / RHO, sign * 0.3 / RHO)))
    t = np.linspace(0, 1.5, 4)
    motion = m.motion(t)
    wheel = m.speed_rows[0]
    for k, time in enumerate(t):
        P, O, A = rolled(track, start(time))  # noqa: E741
        v, a = rates_of(lambda x: rolled(track, start(x)), float(time))
        assert motion["O"][k] == pytest.approx(O, abs=1e-9) and motion["A"][k] == pytest.approx(A, abs=1e-8)
        assert motion.velocity("A")[k] == pytest.approx(v[2], abs=1e-7)
        assert motion.acceleration("O")[k] == pytest.approx(a[1], abs=1e-6)
        assert motion.acceleration("A")[k] == pytest.approx(a[2], abs=1e-6)
        X, V = np.concatenate([O, A]), np.concatenate([v[1], v[2]])
        assert wheel.contact(X) == pytest.approx(P, abs=1e-12)  # type: ignore[attr-defined]
        assert wheel.pole_velocity(X, V) == pytest.approx(ratio * v[1], abs=1e-8)  # type: ignore[attr-defined]
        assert v[0] == pytest.approx(ratio * v[1], abs=1e-8)
        rows = wheel.jacobian(X)
        assert rows @ V == pytest.approx(0, abs=1e-8)
        assert rows @ np.concatenate([a[1], a[2]]) + wheel.bias(X, V) == pytest.approx(0, abs=1e-6)
        # centre of curvature of A's path
        bend = float(v[2][0] * a[2][1] - v[2][1] * a[2][0]) / float(np.linalg.norm(v[2])) ** 3
        normal = np.array([-v[2][1], v[2][0]]) / np.linalg.norm(v[2])
        first, second = equivalent_centre(wheel, X)  # type: ignore[arg-type]
        assert second == pytest.approx(A + normal / bend, abs=1e-5)
        assert not np.isfinite(first).all() if track == "straight" else first == pytest.approx([0, 0], abs=1e-12)


def test_the_report_s_centres_of_euler_and_savary() -> None:
    wanted = {
        "straight": (-0.038791280945, -0.260287230698),
        "convex": (0.076168155564, 1.848183525481),
        "concave": (-0.35932849674, -2.644679526862),
    }
    for track, centre in wanted.items():
        _, O, A = rolled(track, 0.4)  # noqa: E741
        m = on_track(track, 0.4)
        found = equivalent_centre(m.speed_rows[0], np.concatenate([O, A]))[1]  # type: ignore[arg-type]
        assert found == pytest.approx(centre, abs=2e-11)


@pytest.mark.parametrize("track", ["convex", "concave"])
def test_the_equivalent_four_bar_moves_like_the_wheel(track: str) -> None:
    """Second method: links O O' and A A' with frozen centres give the same speeds and accelerations."""
    _, O, A = rolled(track, 0.4)  # noqa: E741
    m = on_track(track, 0.4)
    m.drive("O.x", da.Polynomial((float(O[0]), 0.7, 0.2)))
    found = m.rates(m.assemble().q)
    centres = equivalent_centre(m.speed_rows[0], np.concatenate([O, A]))  # type: ignore[arg-type]
    bar = Mechanism(2)
    bar.point("O", *O), bar.point("A", *A)
    bar.point("O'", *centres[0], fixed=True), bar.point("A'", *centres[1], fixed=True)
    bar.link("wheel", "O", "A"), bar.link("arm", "O", "O'"), bar.link("other", "A", "A'")
    bar.drive("O.x", da.Polynomial((float(O[0]), 0.7, 0.2)))
    other = bar.rates(bar.assemble().q)
    assert other.v == pytest.approx(found.v, abs=1e-9) and other.a == pytest.approx(found.a, abs=1e-8)


@pytest.mark.parametrize("degrees", [90, 60, 0, -60, -89.99, -90])
def test_rows_of_the_wheel_keep_their_rank_where_the_book_s_lose_it(degrees: float) -> None:
    """T19: A at the top, the bottom, and between; rank 3 of 4 with |OA|, smallest singular value above 0.4."""
    x = math.radians(degrees)
    m = Mechanism(2)
    m.point("O", 0, r), m.point("A", r * math.cos(x), r + r * math.sin(x))
    wheel = m.wheel("wheel", "O", "A", Line((0, 0), (1, 0)), radius=r)
    e = m.equations()
    J = e.jacobian(e.start(), 0.0)
    kept = np.vstack([wheel.jacobian(e.start())[1:], J[:1] / 2])
    assert np.linalg.svd(kept, compute_uv=False)[-1] > 0.4
    assert m.count(e.start()).dofs == 1
    P = np.zeros(2)
    O, A = e.start()[:2], e.start()[2:]  # noqa: E741
    printed = np.array([[*(O - P), 0, 0], [0, 0, *(A - P)], [*(O - A), *(A - O)]])
    assert (np.linalg.matrix_rank(printed, tol=1e-9) == 2) == (abs(degrees) == 90)


def test_a_curve_is_as_good_as_a_circle() -> None:
    """An ellipse with equal axes, by function alone; and a true one, on which rolled lengths are equal."""
    turn = lambda s: (RHO * math.cos(s), -RHO * math.sin(s))  # noqa: E731
    curve, circle = Curve(turn, (-math.pi, math.pi)), Circle((0, 0), RHO)
    for x in (np.array([1.7, 1.9]), np.array([-2.6, 0.4])):
        for got, wanted in zip(curve.foot(x), circle.foot(x), strict=True):
            assert got == pytest.approx(wanted, abs=1e-7)
    a, b = 3.0, 2.0
    ellipse = Curve(
        lambda s: (a * math.cos(s), -b * math.sin(s)), (-2 * math.pi, 2 * math.pi),
        lambda s: ((-a * math.sin(s), -b * math.cos(s)), (-a * math.cos(s), b * math.sin(s))),
    )  # fmt: skip
    start = np.array([0.0, b + r])
    m = Mechanism(2)
    m.point("O", *start), m.point("A", 0.0, b), m.vector("y", 0, -1, fixed=True)
    m.wheel("wheel", "O", "A", ellipse, radius=r)
    m.angle("turn", "y", ("O", "A"))
    m.drive("turn", da.Polynomial((0.0, -1.0)))
    motion = m.motion([0.0, 1.0, 2.0])
    assert motion["turn"] == pytest.approx([0, -1, -2], abs=1e-12)
    for k, t in enumerate(motion.t):
        _, n, _ = ellipse.foot(motion["O"][k])
        P = motion["O"][k] - r * n
        s = math.atan2(P[1] / b, P[0] / a)
        length = quad(lambda u: math.hypot(a * math.sin(u), b * math.cos(u)), s, math.pi / 2, epsabs=1e-12)[0]
        turned = math.pi / 2 - math.atan2(n[1], n[0])  # of the normal
        assert length == pytest.approx(r * (t - turned), abs=1e-8)


def test_a_disk_rolls_on_a_rod_that_swings() -> None:
    """Problem 3/3: relative to the rod it rolls as on a line at rest, whichever is driven."""
    m = Mechanism(2)
    m.point("1", 0, 0, fixed=True), m.point("2", 2, 0), m.vector("x", 1, 0, fixed=True)
    m.link("rod", "1", "2", 2)
    m.point("O", 0.5, r), m.point("A", 0.5 + r, r)
    m.wheel("disk", "O", "A", ("1", "2"), radius=r)
    m.angle("swing", "x", ("1", "2")), m.angle("turn", ("1", "2"), ("O", "A"))
    m.drive("swing", da.Harmonic(0.6, 2.0)), m.drive("turn", da.Polynomial((0.0, -0.8)))
    t = np.linspace(0, 1, 6)
    motion = m.motion(t)
    swing = 0.6 * np.sin(2 * t)
    e, n = np.array([np.cos(swing), np.sin(swing)]), np.array([-np.sin(swing), np.cos(swing)])
    wanted = (0.5 + r * 0.8 * t) * e + r * n
    assert motion["O"] == pytest.approx(wanted.T, abs=1e-8)
    v, a = rates_of(lambda x: _on_rod(x), 0.6)
    assert motion.velocity("O")[3] == pytest.approx(v, abs=1e-7)
    assert motion.acceleration("O")[3] == pytest.approx(a, abs=1e-5)


def _on_rod(t: float) -> Array:
    swing = 0.6 * math.sin(2 * t)
    e, n = np.array([math.cos(swing), math.sin(swing)]), np.array([-math.sin(swing), math.cos(swing)])
    return (0.5 + r * 0.8 * t) * e + r * n


# ---- in space


def test_rows_of_the_wheel_on_the_exact_coin() -> None:
    """T20: velocity, acceleration and pole velocity of a leaning coin."""
    X = coin(0.7)
    v, a = rates_of(coin, 0.7, 4e-3)
    m = Mechanism(3)
    m.point("O", *X[:3]), m.point("A", *X[3:6]), m.vector("u", *X[6:9])
    wheel = m.wheel("coin", "O", "A", Plane(), radius=r, axis="u")
    assert wheel.residual(X[:9]) == pytest.approx(0, abs=1e-12)
    assert wheel.contact(X[:9]) == pytest.approx(X[9:], abs=1e-12)
    assert wheel.pole_velocity(X[:9], v[:9]) == pytest.approx(v[9:], abs=1e-9)  # type: ignore[union-attr]
    J = wheel.jacobian(X[:9])
    assert J @ v[:9] == pytest.approx(0, abs=1e-9)
    assert J @ a[:9] + wheel.bias(X[:9], v[:9]) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("lean", [0.0, 0.3])
@pytest.mark.parametrize("spin", [0.0, 1.1, 2.5, math.pi])
def test_a_rolling_wheel_has_three_dofs_a_sliding_one_five(lean: float, spin: float) -> None:
    """T20: upright and leaning, A anywhere; rank 6 of 9."""
    u = rotated([0, 0, 1], 0.4) @ rotated([1, 0, 0], lean) @ np.array([0, 1.0, 0])
    e = np.array([0, 0, 1.0]) - u[2] * u
    e /= np.linalg.norm(e)
    for rolling, dofs in ((True, 3), (False, 5)):
        m = Mechanism(3)
        m.point("O", *(r * e)), m.point("A", *(r * e + r * rotated(u, spin) @ e)), m.vector("u", *u)
        m.wheel("wheel", "O", "A", Plane(), radius=r, axis="u", rolling=rolling)
        count = m.count(m.equations().start())
        assert (count.coordinates, count.dofs) == (9, dofs)


@pytest.mark.parametrize("kind", ["sphere", "bowl", "pipe", "log", "function"])
def test_wheels_on_surfaces(kind: str) -> None:
    """A wheel upright on a curved surface: speed and acceleration rows agree with differences along a rolled path."""
    surfaces = {
        "sphere": (Sphere((0, 0, -3), 3.0), (0, 0, r)),
        "bowl": (Sphere((0, 0, 3), 3.0, inside=True), (0, 0, r)),
        "pipe": (Cylinder((0, 0, 2), (1, 0.2, 0), 2.0, inside=True), (0, 0, r)),
        "log": (Cylinder((0, 0, -2), (1, 0, 0), 2.0), (0, 0, r)),
        "function": (Surface(lambda x: float(x[2] - 0.05 * x[0] ** 2 + 0.1 * x[1] ** 2)), (0, 0, r)),
    }
    surface, centre = surfaces[kind]
    m = Mechanism(3)
    m.point("O", *centre), m.point("A", *(np.array(centre) + r * np.array([math.sin(0.4), 0, math.cos(0.4)])))
    m.vector("u", 0, 1, 0)
    wheel = m.wheel("wheel", "O", "A", surface, radius=r, axis="u")
    m.drive("O.x", da.Polynomial((0.0, 0.3)))
    m.drive("u.x", da.Polynomial((0.0, 0.2, 0.1))), m.drive("u.z", da.Polynomial((0.0, 0.1)))
    t = np.arange(-3, 4) * 0.02 + 0.2
    motion = m.motion([0.0, *t])
    X = np.hstack([motion["O"], motion["A"], motion["u"]])
    for row in X:
        P = wheel.contact(row)
        assert float(surface.value(P)) == pytest.approx(0, abs=1e-10)
        assert float(surface.gradient(P) @ np.cross(row[6:], P - row[:3])) == pytest.approx(0, abs=1e-8)
    for name in ("O", "A", "u"):
        F = motion[name][1:]
        first = (45 * (F[4] - F[2]) - 9 * (F[5] - F[1]) + (F[6] - F[0])) / (60 * 0.02)
        second = (2 * (F[0] + F[6]) - 27 * (F[1] + F[5]) + 270 * (F[2] + F[4]) - 490 * F[3]) / (180 * 4e-4)
        assert motion.velocity(name)[4] == pytest.approx(first, abs=1e-7)
        assert motion.acceleration(name)[4] == pytest.approx(second, abs=1e-5)
        # jerks, by differences of accelerations
        G = motion.acceleration(name)[1:]
        third = (45 * (G[4] - G[2]) - 9 * (G[5] - G[1]) + (G[6] - G[0])) / (60 * 0.02)
        assert motion.jerk(name)[4] == pytest.approx(third, abs=1e-5)


def test_what_a_wheel_cannot_be() -> None:
    m = Mechanism(2)
    m.point("O", 0, 1.9), m.point("A", 0, 1)
    with pytest.raises(da.ModelError, match="below that of the track"):
        m.wheel("w", "O", "A", Circle((0, 0), 0.5, inside=True), radius=1.0)
    with pytest.raises(da.ModelError, match="Line, Circle, Curve, or a pair"):
        m.wheel("w", "O", "A", Plane(), radius=1.0)
    flat = Mechanism(3)
    flat.point("O", 0, 0, 0), flat.point("A", 1, 0, 0), flat.vector("u", 0, 0, 1)
    flat.wheel("w", "O", "A", Plane(), radius=1.0, axis="u")
    with pytest.raises(da.ModelError, match="lies flat"):
        flat.count()


# ---- mass matrices


def test_kinetic_energy_of_a_plate_and_of_a_body() -> None:
    """T21: particles at random, moved with the body."""
    random = np.random.default_rng(5)
    for dimension in (2, 3):
        places, masses = random.standard_normal((40, dimension)), random.random(40)
        m = Mechanism(dimension)
        if dimension == 2:
            m.point("i", 0.2, -0.1), m.point("j", 1.7, 0.4)
            m.body("b", ["i", "j"])
        else:
            m.point("i", 0.2, -0.1, 0.3), m.point("j", 1.4, 0.1, 0), m.vector("u", 0, 1, 0), m.vector("v", 0, 0.6, 0.8)
            m.body("b", ["i", "j"], ["u", "v"])
        body = m.bodies["b"]
        mass = masses.sum()
        g = masses @ places / mass
        away = places - g
        if dimension == 2:
            inertia: object = float(masses @ (away**2).sum(axis=1))
        else:
            inertia = (masses @ (away**2).sum(axis=1)) * np.eye(3) - (away.T * masses) @ away
        M = mass_matrix(body, mass, g, inertia)  # type: ignore[arg-type]
        turn = rotated([1, 2, 3], 0.7) if dimension == 3 else rotated([0, 0, 1], 0.8)[:2, :2]
        w = np.array([0.2, -0.5, 1.1]) if dimension == 3 else np.array([0, 0, 1.3])
        spin = lambda x, w=w: np.cross(w, np.append(x, [0.0] * (3 - len(x))))[: len(x)]  # noqa: E731
        v0 = random.standard_normal(dimension)
        speeds = np.array([v0 + spin(turn @ x) for x in places])
        energy = 0.5 * float(masses @ (speeds**2).sum(axis=1))
        rates = []
        for name in body_coordinates(body):
            x = body.points.get(name, body.vectors.get(name))
            rates.append((v0 if name in body.points else 0.0) + spin(turn @ x))
        qd = np.concatenate(rates)
        assert 0.5 * qd @ M @ qd == pytest.approx(energy, rel=1e-13)


@pytest.mark.parametrize("radius", [0.5, 0.005])
@pytest.mark.parametrize("away", [0.0, 100.0])
def test_a_wheel_of_any_size_anywhere(radius: float, away: float) -> None:
    """A wheel on a circle of four times its radius: centripetal and tangential accelerations of its centre."""
    centre, speed, gain = np.array([away, away]), 1.0, 0.3
    hub = centre + np.array([0.0, 5 * radius])
    A = hub + radius * np.array([np.cos(0.3), np.sin(0.3)])
    m = da.natural.Mechanism(2)
    m.point("O", *hub)
    m.point("A", *A)
    m.wheel("w", "O", "A", da.natural.Circle(centre, 4 * radius), radius=radius)
    m.drive("O.x", da.Polynomial((hub[0], speed, gain / 2)))
    e = m.equations()
    found = e.all_values(m.rates(e.start()).a, 0.0, rate=2)
    of_centre, d = np.array([gain, -(speed**2) / (5 * radius)]), A - hub
    of_rim = of_centre - gain / radius * np.array([-d[1], d[0]]) - (speed / radius) ** 2 * d
    wanted = np.concatenate([of_centre, of_rim])
    assert found == pytest.approx(wanted, abs=1e-8 * np.abs(wanted).max())
