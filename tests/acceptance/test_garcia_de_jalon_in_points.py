"""Garcia de Jalon and Bayo, chapter 3, in natural coordinates: examples and problems, T1 to T23.

The book prints no numbers; those here come from a separate implementation of its equations, errata corrected. The same
linkages as bodies and joints are in test_garcia_de_jalon_linkages.py and test_garcia_de_jalon_in_joints.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.natural_chapter import (
    CROSSED,
    OPEN,
    five_bar_of_points,
    four_bar_at,
    four_bar_of_points,
    robot_of_points,
    rotated,
)

import dalembert as da
from dalembert.closure import find_position, find_rates
from dalembert.motion import predict_position
from dalembert.natural import Mechanism
from dalembert.natural.operation_counts import jacobian_operations
from dalembert.numerics.factorization import factor

Array = NDArray[np.float64]

DIGITS = 2e-11  # twelve digits are given
PSI = 0.7554323113484813


# ---- position problems


def test_example_3_1_both_assemblies_of_the_four_bar() -> None:
    """T1: point 1 is known, two equations remain for point 2."""
    m = four_bar_of_points((3, 3))
    m.drive("1", (1.0, math.sqrt(3)))
    found = m.assemble(line_search=False, scaled=False)
    assert found.history[:6] == pytest.approx([10.44, 7.517, 0.7241, 0.01031, 2.214e-6, 0.0], rel=1e-3, abs=1e-12)
    assert found.q == pytest.approx([4.830950434138, 2.882624043473], abs=DIGITS)
    assert m.assemble([3, -3]).q == pytest.approx(CROSSED, abs=DIGITS)
    assert found.iterates[0] == pytest.approx([3, 3]) and len(found.iterates) == found.iterations + 1


def test_example_3_2_and_3_4_mixed_coordinates() -> None:
    """T2: the angle at point 1 is driven; by the cosine alone the iteration is the book's."""
    for form, sign in (("cosine", 1), ("both", -1)):
        m = four_bar_of_points()
        m.angle("psi", ("A", "1"), ("1", "2"), form=form)
        m.drive("psi", sign * PSI)
        start = OPEN + np.array([0.3, -0.2, 0.2, 0.25])
        found = m.assemble(start, line_search=False, scaled=False)
        if form == "cosine":
            assert found.history[:5] == pytest.approx([2.4, 0.44, 1.8e-2, 5.3e-5, 4.3e-10], rel=0.05)  # two digits
        assert found.q == pytest.approx(OPEN, abs=DIGITS)


def rscr() -> Mechanism:
    """Example 3.3, one instance."""
    m = Mechanism(3)
    psi = 0.9
    m.point("A", 0, 0, 0, fixed=True), m.point("0", 1, 0, 0, fixed=True), m.point("B", 3, 0.5, 0.2, fixed=True)
    m.vector("uA", 0, 0, 1, fixed=True), m.vector("uB", 0, 1, 0, fixed=True)
    u = np.array([1.0, -0.2, 0.3])
    u /= np.linalg.norm(u)
    r2 = np.array([1.2, 2.4, 1.0])
    m.point("1", math.cos(psi), math.sin(psi), 0), m.point("2", *r2), m.point("3", *(r2 + 1.1 * u))
    m.vector("u1", *u)
    m.body("crank", ["A", "1"], ["uA"])
    m.body("rod", ["1", "2"], ["u1"])
    m.body("rocker", ["B", "3"], ["u1", "uB"])
    m.cylindrical("C", "3", "2", "u1")
    m.angle("psi", ("A", "0"), ("A", "1"), axis="uA", form="cosine")
    return m


def test_example_3_3_spatial_rscr() -> None:
    """T7: 13 equations, 12 unknowns once psi is known, rank 12; least squares from a disturbed start to psi + 0.1."""
    m = rscr()
    m.drive("psi", da.Polynomial((0.9, 1.0)))
    equations = m.equations()
    assert (equations.rows, equations.nv) == (13, 12)
    J = equations.jacobian(equations.start(), 0.0)
    s = np.linalg.svd(J, compute_uv=False)
    assert s[-1] == pytest.approx(0.202414034225, abs=1e-9) and s[0] == pytest.approx(5.826076741237, abs=1e-9)
    start = equations.start() + 0.05 * np.random.default_rng(1).standard_normal(12)
    found = find_position(equations, start, 0.1, solver="normal", line_search=False)
    assert found.success and found.iterations <= 6
    assert find_rates(equations, found.q, 0.1).rank == 12


def test_an_input_out_of_reach_is_refused_by_name() -> None:
    """T17: point 1 at (-2, 0), 6 m from B; coupler and rocker are 2 m and 3 m long."""
    m = Mechanism(2)
    m.point("B", 4, 0, fixed=True), m.point("1", -2, 0), m.point("2", 0.5, 1)
    m.link("coupler", "1", "2", 2), m.link("rocker", "2", "B", 3)
    m.drive("1", (-2.0, 0.0))
    plain = m.assemble(line_search=False, check=False)
    assert not plain.success and plain.status == "not converged" and plain.iterations == 50 and plain.residual > 0.1
    damped = m.assemble(check=False)
    assert not damped.success and set(damped.rows) == {"coupler: |1 2|", "rocker: |2 B|"}
    with pytest.raises(da.AssemblyError, match=r"out of reach.*'(coupler: .1 2|rocker: .2 B)"):
        m.assemble()


@pytest.mark.parametrize(
    ("seed", "plain", "damped", "end"),
    [((2.5, 0.9), 11, 7, OPEN[2:]), ((2.51, 0.8661), 14, 9, OPEN[2:]), ((100, 3), 10, 10, OPEN[2:]),
     ((2.4, 0.8), 9, 6, CROSSED)],
)  # fmt: skip
def test_damping_shortens_the_way_from_poor_guesses(
    seed: tuple[float, float], plain: int, damped: int, end: Array
) -> None:
    """T22; shorter steps than the book's where those do not reduce |Phi|, and so needs fewer."""
    m = four_bar_of_points()
    m.drive("1", (1.0, math.sqrt(3)))
    for wanted, option in ((plain, False), (damped, True)):
        found = m.assemble(seed, line_search=option, scaled=False)
        assert found.iterations <= wanted if option else found.iterations == wanted
        assert found.q == pytest.approx(end, abs=DIGITS)
        assert not option or all(
            after < before for before, after in zip(found.history, found.history[1:], strict=False)
        )


# ---- velocity, acceleration, jerk


def test_example_3_5_velocities_in_four_sets_of_coordinates() -> None:
    """T3: crank at 1 rad/s; relative, reference-point (rows 7 and 8 corrected), natural and mixed coordinates agree."""
    a1, a2 = math.pi / 3, math.atan2(*(OPEN[2:] - OPEN[:2])[::-1])
    a3 = math.atan2(*(np.array([4.0, 0.0]) - OPEN[2:])[::-1])
    L1, L2, L3 = 2.0, 4.0, 3.0
    s, c = (np.array([f(a) for a in (a1, a2, a3)]) for f in (math.sin, math.cos))
    lengths = np.array([L1, L2, L3])
    relative = np.array([[-(lengths * s)[k:].sum(), (lengths * c)[k:].sum()] for k in range(3)]).T
    psi = np.linalg.solve(relative[:, 1:], -relative[:, 0])
    assert psi == pytest.approx([-1.143090951758, 0.686836568439], abs=DIGITS)
    rates = np.array([-0.143090951758, 0.543745616681])  # of coupler and rocker
    assert [1 + psi[0], 1 + psi.sum()] == pytest.approx(rates, abs=DIGITS)
    # absolute angles and centres
    P = np.zeros((8, 9))
    for k, length in enumerate(lengths):
        P[2 * k, 3 * k] = P[2 * k + 1, 3 * k + 1] = 1
        P[2 * k : 2 * k + 2, 3 * k + 2] = length / 2 * np.array([s[k], -c[k]])
        if k:
            P[2 * k, 3 * k - 3] = P[2 * k + 1, 3 * k - 2] = -1
            P[2 * k : 2 * k + 2, 3 * k - 1] = lengths[k - 1] / 2 * np.array([s[k - 1], -c[k - 1]])
    P[6, 6] = P[7, 7] = 1
    P[6:, 8] = L3 / 2 * np.array([-s[2], c[2]])  # erratum: printed with the other sign
    free = np.linalg.svd(P)[2][-1]
    assert (free / free[2])[[5, 8]] == pytest.approx(rates, abs=DIGITS)
    # natural: the crank's angle is driven
    m = four_bar_of_points()
    m.vector("x", 1, 0, fixed=True)
    m.angle("crank angle", "x", ("A", "1")), m.angle("coupler angle", "x", ("1", "2"))
    m.angle("rocker angle", "x", ("B", "2"))
    m.drive("crank angle", da.Polynomial((math.pi / 3, 1.0)))
    motion = m.motion([0.0])
    assert motion.velocity("1")[0] == pytest.approx([-1.732050807569, 1.0], abs=DIGITS)
    assert motion.velocity("2")[0] == pytest.approx([-1.567414188176, 0.451825656241], abs=DIGITS)
    assert [motion.velocity(f"{name} angle")[0] for name in ("coupler", "rocker")] == pytest.approx(rates, abs=DIGITS)


@pytest.mark.parametrize("rate", [1.0, 2.0, -3.0])
@pytest.mark.parametrize("form", ["cosine", "both"])
def test_example_3_6_acceleration_and_jerk(rate: float, form: str) -> None:
    """T4: with the rate that the print forgets; accelerations go with its square, jerks with its third power."""
    m = four_bar_of_points()
    m.angle("psi", ("A", "1"), ("1", "2"), form=form)
    sign = 1 if form == "cosine" else -1
    m.drive("psi", da.Polynomial((sign * PSI, sign * rate)))
    found = m.rates(m.assemble().q)
    v = np.array([-1.515234465731, 0.874821026675, -1.371206889325, 0.395266584471])
    a = np.array([-1.144218650387, -1.106797015473, -1.455950434138, -0.286760031255])
    j = np.array([0.869847604963, -1.828109367884, 1.371206889325, -2.355004565517])
    for power, (got, wanted) in enumerate(zip((found.v, found.a, found.j), (v, a, j), strict=True), start=1):
        assert got == pytest.approx(rate**power * wanted, abs=4 * abs(rate) ** power * DIGITS)


def test_the_jacobian_is_affine() -> None:
    """T5, and T6 of the same."""
    random = np.random.default_rng(2)
    for m in (four_bar_of_points(), robot_of_points()):
        e = m.equations()
        a, b = random.normal(size=(2, e.nv))
        mixed = 0.37 * e.jacobian(a, 0.0) + 0.63 * e.jacobian(b, 0.0)
        assert e.jacobian(0.37 * a + 0.63 * b, 0.0) == pytest.approx(mixed, abs=1e-14)
        h = 1e-5
        sides = [[e.residual(a + k * h * x, 0.0) for x in np.eye(e.nv)] for k in (1, -1)]
        assert (np.array(sides[0]) - np.array(sides[1])).T / (2 * h) == pytest.approx(e.jacobian(a, 0.0), abs=1e-8)


def test_example_3_12_a_cylinder_drives_the_four_bar() -> None:
    """T10."""
    for by in ("known", "row"):
        m = four_bar_of_points()
        m.distance("cylinder", "1", "B")
        m.drive("cylinder", da.Polynomial((2 * math.sqrt(3), 0.5)), by=by)
        motion = m.motion([0.0])
        v, a = (np.concatenate([motion.rate(p, k)[0] for p in "12"]) for k in (1, 2))
        assert v == pytest.approx([-0.433012701892, 0.25, -0.391853547044, 0.112956414060], abs=DIGITS)
        assert a == pytest.approx([-0.0625, -0.108253175473, -0.090899209276, -0.031490619321], abs=DIGITS)


# ---- finite displacements


@pytest.mark.parametrize(
    ("degrees", "errors", "full", "modified"),
    [(5, (1.4680e-1, 5.6796e-3, 4.4484e-4), (4, 3, 2), (7, 4, 3)),
     (10, (3.0121e-1, 2.2103e-2, 3.4392e-3), (4, 3, 3), (9, 6, 4)),
     (20, (6.2629e-1, 8.4450e-2, 2.5800e-2), (4, 3, 3), (11, 8, 5)),
     (40, (1.3059, 3.1499e-1, 1.8385e-1), (5, 4, 4), (17, 13, 7))],
)  # fmt: skip
def test_higher_order_predictors_save_iterations(degrees: float, errors: Array, full: Array, modified: Array) -> None:
    """T16: crank from 60 degrees on, no prediction, velocity, velocity and acceleration; iterations to 1e-12."""
    step = math.radians(degrees)
    m = four_bar_of_points()
    angle = da.Polynomial((math.pi / 3, step))
    # the crank's point is known: what is driven is exact at once
    m.drive("1", tuple(_turning(angle, k) for k in range(2)))
    e = m.equations()
    q = OPEN[2:] + 0.0
    q = find_position(e, q, 0.0).q
    rates = find_rates(e, q, 0.0, jerk=False)
    exact = four_bar_at(math.pi / 3 + step)[2:]
    for order in (0, 1, 2):
        start = predict_position(e, q, rates, 1.0, order)
        assert float(np.linalg.norm(start - exact)) == pytest.approx(errors[order], rel=1e-4)
        options = {"line_search": False, "scaled": False, "max_iterations": 200}
        for method, wanted in (("full", full[order]), ("modified", modified[order])):
            found = find_position(e, start, 1.0, method=method, **options)  # type: ignore[arg-type]
            assert found.iterations == wanted and found.q == pytest.approx(exact, abs=1e-11)
            assert found.factorisations == (wanted if method == "full" else 1)
        mixed = find_position(e, start, 1.0, method="mixed", refactor=2, **options)  # type: ignore[arg-type]
        assert full[order] <= mixed.iterations <= modified[order]


@pytest.mark.parametrize(
    ("degrees", "errors", "full", "modified"),
    [(5, (5.8207e-3, 3.0590e-4), (3, 2), (4, 3)), (10, (2.3176e-2, 2.3705e-3), (3, 3), (6, 4)),
     (20, (9.2156e-2, 1.7907e-2), (3, 3), (8, 5)), (40, (3.6316e-1, 1.2960e-1), (4, 4), (13, 9))],
)  # fmt: skip
def test_predictors_by_projection(degrees: float, errors: Array, full: Array, modified: Array) -> None:
    """T16, the other variant: the crank's point goes to the foot of its goal on the tangent, (3.9) and (3.10)."""
    step = math.radians(degrees)
    m = four_bar_of_points()
    m.drive("1", tuple(_turning(da.Polynomial((math.pi / 3, step)), k) for k in range(2)))
    e = m.equations()
    q = find_position(e, OPEN[2:] + 0.0, 0.0).q
    exact = four_bar_at(math.pi / 3 + step)[2:]
    for order in (1, 2):
        start = da.natural.displacement_guess(e, q, 0.0, 1.0, order=order, rule="projection")
        assert float(np.linalg.norm(start - exact)) == pytest.approx(errors[order - 1], rel=2e-4)
        options = {"line_search": False, "scaled": False, "max_iterations": 200}
        for method, wanted in (("full", full[order - 1]), ("modified", modified[order - 1])):
            found = find_position(e, start, 1.0, method=method, **options)  # type: ignore[arg-type]
            assert found.iterations == wanted and found.q == pytest.approx(exact, abs=1e-11)
    # by the rates of the law, with the acceleration of (3.10): the velocity's start is that of `predict_position`
    rates = find_rates(e, q, 0.0, jerk=False)
    by_rate = da.natural.displacement_guess(e, q, 0.0, 1.0, order=1, rule="rate")
    assert by_rate == pytest.approx(predict_position(e, q, rates, 1.0, 1), abs=1e-13)
    assert da.natural.displacement_guess(e, q, 0.0, 1.0, order=0) == pytest.approx(q, abs=0)


def _turning(angle: da.Polynomial, k: int) -> object:
    """Return the law of x or y of a point at 2 m that turns."""

    def law(t: float) -> tuple[float, float, float]:
        x, w, a = angle(t)
        c, s = (math.cos(x), math.sin(x)) if k == 0 else (math.sin(x), -math.cos(x))
        return 2 * c, -2 * s * w, -2 * c * w * w - 2 * s * a

    return law


def test_example_3_7_the_robot_goes_round_an_ellipse() -> None:
    """T18: 1000 displacements of the hand; iterations and factorisations of the three ways of table 3.1."""
    m = robot_of_points()
    count = m.count()
    assert (count.coordinates, count.equations, count.rank, count.dofs) == (21, 15, 15, 6)

    def led(start: float, k: int) -> object:
        """Return where the hand is at step t, and how far it goes in the next."""

        def at(t: float) -> float:
            x = 2 * math.pi * t / 1000
            return start + (0.0, 0.25 * math.sin(x), 0.15 * (1 - math.cos(x)))[k]

        return lambda t: (at(t), at(t + 1) - at(t), 0.0)

    for name in "234":
        m.drive(name, tuple(led(float(x), k) for k, x in enumerate(m.coordinates[name].value)))
    m.drive("u3", (0.0, 1.0, 0.0))
    e = m.equations()
    assert e.nv == 9
    counts = {}
    for way in ("full", "modified", "predicted"):
        q = e.start()
        iterations = factorisations = 0
        for k in range(1, 1001):
            start, factors = q, None
            if way == "predicted":
                factors = factor(e.jacobian(q, k - 1.0), "normal")
                start = q + factors.solve(e.velocity_terms(q, k - 1.0))
                factorisations += 1
            found = find_position(
                e, start, float(k), method="full" if way == "full" else "modified", factors=factors, line_search=False,
                scaled=False, tolerance=1e-9, solver="normal",
            )  # fmt: skip
            q = found.q
            iterations += found.iterations
            factorisations += found.factorisations
        assert q == pytest.approx(e.start(), abs=1e-10)
        counts[way] = (iterations, factorisations)
    assert counts == {"full": (2000, 2000), "modified": (2305, 1000), "predicted": (1818, 1000)}


def test_table_3_1_by_one_call() -> None:
    """The ellipse by laws with their own rates: as many factorizations, and the order of the iterations is the same."""
    m = robot_of_points()
    w = 2 * math.pi / 1000
    for name in "234":
        x, y, z = (float(c) for c in m.coordinates[name].value)
        up = da.Harmonic(0.15, w, phase=-math.pi / 2, offset=z + 0.15)
        m.drive(name, (x, da.Harmonic(0.25, w, offset=y), up))
    m.drive("u3", (0.0, 1.0, 0.0))
    found = da.natural.displacement_costs(m, np.arange(1001.0))
    assert found.iterations == {"standard": 2000, "modified": 2305, "predicted": 1818}
    assert found.factorizations == {"standard": 2000, "modified": 1000, "predicted": 1000}
    assert found.apart < 1e-8 and "predicted" in str(found)
    with pytest.raises(da.ModelError, match="at least two times"):
        da.natural.displacement_costs(m, [0.0])


# ---- redundant constraints


def slider_crank_of_points(form: str = "both") -> Mechanism:
    """Example 3.8: crank 1 m, rod 3 m; (i) crank, (ii) rod, (iii) y2 = 0, (iv) cosine, (v) sine."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.vector("x", 1, 0, fixed=True)
    m.point("1", 1, 0), m.point("2", 4, 0)
    m.link("crank", "A", "1", 1), m.link("rod", "1", "2", 3)
    m.relation("slide", {"2.y": 1.0}, 0.0)
    m.angle("psi", "x", ("A", "1"), form=form)
    m.drive("psi", da.Polynomial((0.0, 1.0)))
    return m


def slider_at(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c, s, c + math.sqrt(9 - s * s), 0.0])


def test_example_3_8_conditions() -> None:
    """T8: the cosine fails at dead points, the sine at right angles, both together nowhere."""
    table = {
        "cosine": (None, 553.35, 16.769, 12.576, 12.536),
        "sine": (8.606, 8.613, 17.784, 772.35, None),
        "both": (8.64, 8.64, 11.71, 12.56, 12.53),
    }
    for form, wanted in table.items():
        e = slider_crank_of_points(form).equations()
        for degrees, value in zip((0, 1, 45, 89, 90), wanted, strict=True):
            angle = math.radians(degrees)
            condition = np.linalg.cond(e.jacobian(slider_at(angle), angle))
            assert condition > 1e15 if value is None else condition == pytest.approx(value, rel=2e-3)
    e = slider_crank_of_points().equations()
    # between closed positions the redundant rows contradict each other, at closed ones they do not
    q = np.array([math.cos(0.5), math.sin(0.5), 3.5, 0.0])
    J, r = e.jacobian(q, 1.0), e.residual(q, 1.0)
    assert float(np.linalg.norm(J @ np.linalg.lstsq(J, r, rcond=None)[0] - r)) == pytest.approx(0.1095, abs=1e-4)
    assert find_rates(e, slider_at(0.5), 0.5).rank == 4


def test_example_3_8_a_full_turn_and_large_jumps() -> None:
    """T8: 360 steps without a failure; jumps of 120 degrees by least squares 36 of 36, by elimination 27."""
    m = slider_crank_of_points()
    motion = m.motion(np.radians(np.arange(361)))
    exact = np.array([slider_at(angle) for angle in motion.t])
    assert np.hstack([motion["1"], motion["2"]]) == pytest.approx(exact, abs=1e-12)
    s, c = np.sin(motion.t), np.cos(motion.t)
    assert motion.velocity("2")[:, 0] == pytest.approx(-s - s * c / np.sqrt(9 - s * s), abs=1e-11)
    e = m.equations()
    options = {"line_search": False, "scaled": False, "tolerance": 1e-10, "max_iterations": 24, "check": False}
    for degrees, solver, fails, mean in (
        (90, "normal", 0, 6.0), (90, "elimination", 0, 5.31), (120, "normal", 0, 6.0), (120, "elimination", 9, 5.56),
    ):  # fmt: skip
        ends = []
        for start in np.radians(np.arange(0, 360, 10)):
            goal = float(start) + math.radians(degrees)
            found = find_position(e, slider_at(float(start)), goal, solver=solver, **options)  # type: ignore[arg-type]
            ends.append((found.success, found.iterations))
            if found.success and solver == "normal":
                assert found.q == pytest.approx(slider_at(goal), abs=1e-8)
        assert sum(not closed for closed, _ in ends) == fails
        assert np.mean([n for closed, n in ends if closed]) == pytest.approx(mean, abs=0.005)  # given with two decimals


def test_example_3_8_the_angle_switches_between_sine_and_cosine() -> None:
    """Four equations for four unknowns everywhere, never singular: a full turn in steps of a degree, and large ones."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 1, 0.01), m.point("2", 4, 0), m.vector("x", 1, 0, fixed=True)
    m.link("crank", "A", "1", 1), m.link("rod", "1", "2", 3), m.slot("slide", "2", "A", "x")
    m.angle("psi", "x", ("A", "1"), form="switch")
    m.drive("psi", da.Polynomial((0.0, 1.0)))
    e = m.equations()
    worst, active = 0.0, set()
    for angle in np.radians(np.arange(0.0, 360.0, 1.0)):
        J = e.jacobian(slider_at(float(angle)), float(angle))
        idle = e.choice(slider_at(float(angle)), float(angle))
        active.add(idle)
        assert len(idle) == 1
        worst = max(worst, float(np.linalg.cond(np.delete(J, idle, axis=0))))
    assert len(active) == 2 and worst < 20.0
    times = np.radians(np.arange(0.0, 361.0, 1.0))
    for method in ("full", "modified"):
        motion = m.motion(times, method=method)
        wanted = np.array([slider_at(float(t)) for t in times])
        assert motion.q == pytest.approx(wanted, abs=1e-9)
    both = Mechanism(2)
    both.point("A", 0, 0, fixed=True), both.point("1", 1, 0.01), both.point("2", 4, 0)
    both.vector("x", 1, 0, fixed=True)
    both.link("crank", "A", "1", 1), both.link("rod", "1", "2", 3), both.slot("slide", "2", "A", "x")
    both.angle("psi", "x", ("A", "1"))
    both.drive("psi", da.Polynomial((0.0, 1.0)))
    other = both.motion(times)
    assert motion.a == pytest.approx(other.a, abs=1e-10)
    assert motion.jerk("2") == pytest.approx(other.jerk("2"), abs=1e-9)
    assert (m.count().equations, m.count().rank, both.count().equations) == (4, 4, 5)


def test_example_3_9_the_spherical_four_bar() -> None:
    """T9: 12 coordinates, 17 equations, 11 independent; Grübler -2, three more than needed of the 14."""
    arcs = np.radians([40, 70, 60])
    uA = np.array([0, 0, 1.0])
    uB = rotated([1, 0, 0], math.radians(80)) @ uA

    def pose(angle: float) -> tuple[Array, Array]:
        u1 = rotated(uA, angle) @ rotated([1, 0, 0], float(arcs[0])) @ uA
        n = np.cross(u1, uB)
        base = np.linalg.pinv(np.array([u1, uB])) @ np.cos(arcs[1:])
        return u1, base + math.sqrt(1 - base @ base) / float(np.linalg.norm(n)) * n

    u1, u2 = pose(0.7)

    def described() -> Mechanism:
        m = Mechanism(3)
        m.point("A", *uA, fixed=True), m.point("B", *(1.1 * uB), fixed=True)
        m.vector("uA", *uA, fixed=True), m.vector("uB", *uB, fixed=True)
        m.point("1", *(1.2 * u1)), m.point("2", *(0.9 * u2)), m.vector("u1", *u1), m.vector("u2", *u2)
        return m

    book = described()  # the 17 of the list
    for name, tail, tip, u, v in (
        ("crank", "A", "1", "uA", "u1"), ("coupler", "1", "2", "u1", "u2"), ("rocker", "B", "2", "uB", "u2")
    ):  # fmt: skip
        book.link(name, tail, tip)
        book.constant_dot(f"{name} angle", (tail, tip), u)
        book.combination(f"{name} plane", v, [u, (tail, tip)])
    count = book.count()
    assert (count.coordinates, count.equations, count.rank, count.dofs) == (12, 17, 11, 1)
    e = book.equations()
    s = np.linalg.svd(e.jacobian(e.start(), 0.0), compute_uv=False)
    assert s[10] == pytest.approx(0.486537000872, abs=1e-9) and s[11] < 1e-12
    m = described()
    m.body("crank", ["A", "1"], ["uA", "u1"])
    m.body("coupler", ["1", "2"], ["u1", "u2"])
    m.body("rocker", ["B", "2"], ["uB", "u2"])
    count = m.count()
    assert (count.coordinates, count.equations, count.rank, count.dofs) == (12, 14, 11, 1)
    assert count.redundant == 3
    # 15 degrees on, the input body known
    v1, v2 = pose(0.7 + math.radians(15))
    m.drive("1", tuple(1.2 * v1)), m.drive("u1", tuple(v1))
    found = m.assemble(solver="normal")
    assert found.q == pytest.approx(np.concatenate([0.9 * v2, v2]), abs=1e-12) and found.iterations <= 4


# ---- the subspace of motions


def test_example_3_10_the_four_bar_moves_one_way() -> None:
    """Third component corrected."""
    m = four_bar_of_points()
    q = m.assemble().q
    for method in ("gauss", "qr", "svd", "gram-schmidt"):
        R = da.motion_space(m, state=q, method=method).R[:, 0]
        assert R / R[0] == pytest.approx([1, -0.577350269190, 0.904947003475, -0.260861664258], abs=DIGITS)
    a, b, c = q[:2], q[2:] - q[:2], q[2:] - np.array([4.0, 0.0])
    D1, D2 = b[1] * c[0] - b[0] * c[1], a[1] * b[0] - a[0] * b[1]
    r = np.array([a[1] * D1, -a[0] * D1, -c[1] * D2, c[0] * D2])
    assert m.equations().jacobian(q, 0.0) @ r == pytest.approx(0, abs=1e-12)


def test_example_3_11_the_arm_of_two_links() -> None:
    """First two components of r1 exchanged in print."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", *OPEN[:2]), m.point("2", *OPEN[2:])
    m.link("upper", "A", "1"), m.link("fore", "1", "2")
    space = da.motion_space(m, independent_coordinates=["2.x", "2.y"])
    wanted = [[1.209773821307, 0.363338916601], [-0.698463241390, -0.209773821307], [1, 0], [0, 1]]
    assert pytest.approx(np.array(wanted), abs=DIGITS) == space.R
    assert space.independent == ("2.x", "2.y") and space.dependent == ("1.x", "1.y")


def test_example_3_14_and_the_identities_of_R_and_S() -> None:
    """T11, T12: the five-bar; z are y2 and x3. All methods span the same subspace."""
    m = five_bar_of_points()
    e = m.equations()
    q = e.start()
    J = e.jacobian(q, 0.0)
    chosen = da.motion_space(m, independent_coordinates=["2.y", "3.x"])
    wanted = [
        [0.96875, 0.907894736842], [0.269097222222, 0.252192982456], [0.481481481481, 1.076023391813],
        [1, 0], [0, 1], [0, -0.157894736842],
    ]  # fmt: skip
    assert pytest.approx(np.array(wanted), abs=DIGITS) == chosen.R
    for method, condition in (("gauss", 8.29), ("qr", 4.49), ("svd", 4.49), ("gram-schmidt", None)):
        space = da.motion_space(m, method=method)
        assert space.dofs == 2
        assert pytest.approx(np.zeros((4, 2)), abs=1e-13) == J @ space.R
        assert pytest.approx(np.eye(2), abs=1e-13) == space.B @ space.R
        assert pytest.approx(np.eye(4), abs=1e-13) == J @ space.S
        assert pytest.approx(np.zeros((2, 4)), abs=1e-13) == space.B @ space.S
        assert np.linalg.matrix_rank(np.hstack([space.R, chosen.R]), tol=1e-9) == 2
        if condition is not None:  # rows are halved there
            assert np.linalg.cond(np.vstack([J / 2, space.B])) == pytest.approx(condition, abs=5e-3)
        if method in ("qr", "svd"):
            assert pytest.approx(space.B.T, abs=1e-13) == space.R
        z, zd = np.array([0.7, -0.4]), np.array([0.3, 1.1])
        v = space.velocity(z)
        assert J @ v == pytest.approx(0, abs=1e-13) and space.coordinates(v) == pytest.approx(z)
        a = space.acceleration(z, zd)
        assert J @ a == pytest.approx(e.acceleration_terms(q, v, 0.0), abs=1e-13)
        assert space.B @ a == pytest.approx(zd, abs=1e-12)
        with_speeds = da.motion_space(m, method=method, v=v)
        assert with_speeds.Sc == pytest.approx(space.acceleration(z), abs=1e-13)
    assert da.motion_space(m).independent == ("1.x", "3.x")


def test_example_3_13_the_basis_is_renewed_before_it_fails() -> None:
    """T13: a bar on a ball joint; conditions 1, 2.41, 11.4, 115, 1.1e4 at 0, 45, 80, 89, 89.99 degrees."""
    m = Mechanism(3)
    m.point("O", 0, 0, 0, fixed=True), m.point("A", 0, 0, 1)
    m.link("bar", "O", "A")
    space = da.motion_space(m, method="svd")
    assert space.dofs == 2
    for degrees, wanted in ((0, 1), (45, 2.414), (80, 11.43), (89, 114.6), (89.99, 1.146e4)):
        x = math.radians(degrees)
        there = space.at([math.sin(x), 0, math.cos(x)], limit=1e6)
        assert there.condition == pytest.approx(wanted, rel=1e-3) and not there.refreshed
    fresh = space.at([1.0, 0.0, 0.0])
    assert fresh.refreshed and fresh.condition == pytest.approx(1.0)
    assert m.equations().jacobian(fresh.q, 0.0) @ fresh.R == pytest.approx(np.zeros((1, 2)), abs=1e-14)


def test_gram_and_schmidt_s_basis_can_be_differentiated() -> None:
    """T14: R' against differences, and J R' z is c: R' z stands in for S c."""
    m = five_bar_of_points()
    e = m.equations()
    q = e.start()
    v = da.motion_space(m, independent_coordinates=["2.y", "3.x"]).velocity([0.7, -0.4])
    space = da.motion_space(m, method="gram-schmidt", v=v)
    h = 1e-6
    ahead, behind = (space.at(q + s * h * v, v=v).R for s in (1, -1))
    assert space.R_rate == pytest.approx((ahead - behind) / (2 * h), abs=2e-9)
    J = e.jacobian(q, 0.0)
    c = e.acceleration_terms(q, v, 0.0)
    assert J @ space.R_rate @ space.coordinates(v) == pytest.approx(c, abs=1e-9)
    assert c / 2 == pytest.approx([-0.106858928432, -0.541908529401, -0.499588401369, -0.163988919668], abs=DIGITS)


# ---- problems


def equal_bars(y: float = 0.5) -> Mechanism:
    x = math.sqrt(1 - y * y)
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", x, y), m.point("2", 2 * x, 0)
    m.link("crank", "A", "1", 1), m.link("rod", "1", "2", 1)
    m.drive("2.y", 0.0)
    return m


def test_problems_3_6_and_3_7_equal_bars() -> None:
    """T15: rank falls where both bars are upright; which coordinate can be driven where."""
    m = equal_bars()
    e = m.equations()
    for degrees in (30, 60, 89.9):
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        space = da.motion_space(m, state=[c, s, 2 * c], independent_coordinates=["1.x"])
        assert space.R[:, 0] == pytest.approx([1, -c / s, 2])
    upright = m.count([0.0, 1.0, 0.0])
    assert (upright.rank, upright.dofs) == (1, 2)
    R = da.motion_space(m, state=[0.0, 1.0, 0.0], independent_coordinates=["1.x", "2.x"]).R
    assert pytest.approx(np.array([[1, 0], [0, 0], [0, 1.0]])) == R
    # stretched: x1 and x2 are dead, y1 is not
    for name in ("1.x", "2.x"):
        with pytest.raises(da.SingularityError, match=f"'{name}' do not determine the motion"):
            da.motion_space(m, state=[1.0, 0.0, 2.0], independent_coordinates=[name])
    assert da.motion_space(m, state=[1.0, 0.0, 2.0], independent_coordinates=["1.y"]).R[:, 0] == pytest.approx(
        [0, 1, 0]
    )
    assert e.nv == 3
    m = equal_bars()
    m.drive("1.x", da.Polynomial((math.sqrt(0.75), -1.0)))
    motion = m.motion(np.linspace(0, 0.5, 6))
    assert motion["2.x"] == pytest.approx(2 * motion["1.x"]) and motion.velocity("2")[:, 0] == pytest.approx(-2)
    # driven past the stretched position: refused, with what was reached
    m = equal_bars()
    m.drive("2.x", da.Polynomial((2 * math.sqrt(0.75), 1.0)))
    with pytest.raises(da.AssemblyError, match=r"the branch ends at t = 0.267949") as error:
        m.motion(np.linspace(0, 1, 101))
    assert error.value.result.t[-1] == pytest.approx(0.26)


def test_problem_3_13_geneva_wheel() -> None:
    """Pin in slot: tan(phi2) = a sin(phi1) / (b - a cos(phi1))."""
    a, b = 1.0, math.sqrt(2)
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("C", b, 0, fixed=True)
    m.vector("x", 1, 0, fixed=True), m.vector("-x", -1, 0, fixed=True)
    m.point("pin", a, 0), m.vector("slot", -1, 0.0)
    m.link("driver", "A", "pin")
    m.slot("pin in slot", "pin", "C", "slot")
    m.angle("phi1", "x", ("A", "pin")), m.angle("phi2", "-x", "slot")
    m.drive("phi1", da.Polynomial((0.0, 1.0)))
    t = np.linspace(0, math.pi / 4 - 0.01, 20)
    motion = m.motion(t)
    wanted = np.arctan2(a * np.sin(t), b - a * np.cos(t))
    assert motion["phi2"] == pytest.approx(-wanted, abs=1e-12)
    rate = a * (b * np.cos(t) - a) / (a * a + b * b - 2 * a * b * np.cos(t))
    assert motion.velocity("phi2") == pytest.approx(-rate, abs=1e-12)


def test_problem_3_15_a_string_over_a_pulley_turns_a_frame() -> None:
    """(r2 - rC) . r2' = s s'."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.point("B", 2, 0, 0, fixed=True), m.point("C", 1, 2, 1.5, fixed=True)
    m.point("1", 0, 1, 0.2), m.point("2", 2, 1, 0.2)
    m.body("frame", ["A", "B", "1", "2"])
    m.cable("string", ["2", "C"])
    start = float(m.coordinates["string"].value[0])
    m.drive("string", da.Polynomial((start, -0.1)))
    motion = m.motion(np.linspace(0, 1, 11))
    d = motion["2"] - np.array([1, 2, 1.5])
    s = np.linalg.norm(d, axis=1)
    assert s == pytest.approx(start - 0.1 * motion.t, abs=1e-12)
    assert (d * motion.velocity("2")).sum(axis=1) == pytest.approx(-0.1 * s, abs=1e-12)
    assert motion["1"] == pytest.approx(motion["2"] - np.array([2, 0, 0]), abs=1e-12)


def test_problem_3_16_a_rod_on_the_edges_of_a_cube() -> None:
    """Length sqrt(2), ends on two edges that do not meet: (r2 - r1) . e2 s2' = (r2 - r1) . e1 s1'."""
    m = Mechanism(3)
    m.point("P1", 0, 0, 0, fixed=True), m.point("P2", 0, 1, 0, fixed=True)
    m.vector("e1", 1, 0, 0, fixed=True), m.vector("e2", 0, 0, 1, fixed=True)
    m.point("1", 0.6, 0, 0), m.point("2", 0, 1, 0.8)
    m.distance("s1", "P1", "1", along="e1"), m.distance("s2", "P2", "2", along="e2")
    m.link("rod", "1", "2", math.sqrt(2))
    m.drive("s1", da.Polynomial((0.6, 0.1)))
    motion = m.motion(np.linspace(0, 3, 16))
    s1, s2 = motion["s1"], motion["s2"]
    assert s2 == pytest.approx(np.sqrt(1 - s1**2), abs=1e-12)
    d = motion["2"] - motion["1"]
    assert d[:, 2] * motion.velocity("s2") == pytest.approx(d[:, 0] * 0.1, abs=1e-12)


def test_problem_3_17_the_rssr_and_its_operations() -> None:
    """T23: rank 5, one degree of freedom; nine subtractions, three changes of sign, no multiplication."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.point("B", 3, 0, 0, fixed=True)
    m.vector("uA", 0, 0, 1, fixed=True), m.vector("uB", 0, 1, 0, fixed=True)
    m.point("1", 0.6, 0.8, 0), m.point("2", 3.9, 0, 1.2)
    m.body("crank", ["A", "1"], ["uA"]), m.link("rod", "1", "2"), m.body("rocker", ["B", "2"], ["uB"])
    count = m.count()
    assert (count.coordinates, count.equations, count.rank, count.dofs) == (6, 5, 5, 1)
    work = jacobian_operations(m.equations())
    assert (work.subtractions, work.negations, work.multiplications, work.functions) == (9, 3, 0, 0)


def test_problem_3_19_a_body_in_a_plane() -> None:
    """A plane (P, v), a body (1, 2, u1, u2): three DOF are left; parallel directions need the cross product."""
    m = Mechanism(3)
    m.point("P", 0, 0, 0.2, fixed=True), m.vector("v", 0, 0, 1, fixed=True)
    m.point("1", 0, 0, 0.7), m.point("2", 1, 0.3, 1.1), m.vector("u1", 1, 0, 0.4), m.vector("u2", 0, 1, 1)
    m.body("body", ["1", "2"], ["u1", "u2"])
    m.planar("height", "1", "P", "v")
    m.universal("first", "u1", "v"), m.universal("second", ("1", "2"), "v")
    assert m.count().dofs == 3
    upright = Mechanism(3)
    upright.vector("v", 0, 0, 1, fixed=True), upright.point("P", 0, 0, 0, fixed=True)
    upright.point("1", 0, 0, 0), upright.vector("n", 0, 0, 1), upright.vector("u", 1, 0, 0)
    upright.body("body", ["1"], ["n", "u"])
    upright.planar("height", "1", "P", "v")
    upright.constant_cross("parallel", "n", "v")
    assert upright.count().dofs == 3


def test_problem_3_21_six_equations_lead_a_frame() -> None:
    """Rz Ry Rx; angular velocity in closed form."""
    laws = {"roll": da.Polynomial((-0.6, 1.1)), "pitch": da.Polynomial((0.3, -0.2)), "yaw": da.Polynomial((0.4, 0.7))}
    y, p, r = 0.4, 0.3, -0.6
    R = rotated([0, 0, 1], y) @ rotated([0, 1, 0], p) @ rotated([1, 0, 0], r)
    m = Mechanism(3)
    m.point("1", 0.1, 0.1, 0.1), m.vector("u", *R[:, 0]), m.vector("v", *R[:, 1])
    m.body("hand", ["1"], ["u", "v"])
    m.drive_frame(
        "lead",
        "1",
        ("u", "v"),
        position=(da.Harmonic(1.0, 1.0), 0.0, da.Polynomial((0.2, 1.0))),
        angles=tuple(laws.values()),
    )
    motion = m.motion(np.linspace(0, 2, 21))
    assert m.count().dofs == 0
    w = np.cross(R[:, 0], motion.velocity("u")[0]) + np.cross(R[:, 1], motion.velocity("v")[0])
    third = np.cross(R[:, 0], R[:, 1])
    rate = np.cross(motion.velocity("u")[0], R[:, 1]) + np.cross(R[:, 0], motion.velocity("v")[0])
    w = (w + np.cross(third, rate)) / 2
    assert w == pytest.approx([1.045799162371, 0.225015908336, 0.374927772673], abs=1e-10)
    t = 2.0
    there = rotated([0, 0, 1], y + 0.7 * t) @ rotated([0, 1, 0], p - 0.2 * t) @ rotated([1, 0, 0], r + 1.1 * t)
    assert motion["u"][-1] == pytest.approx(there[:, 0], abs=1e-12)
    assert motion["v"][-1] == pytest.approx(there[:, 1], abs=1e-12)
    assert motion["1"][-1] == pytest.approx([math.sin(2), 0, 2.2], abs=1e-12)
