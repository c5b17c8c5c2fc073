"""Sol (1983), chapters 2, 3 and 9: coordinates of one's own, elements with memory, of three ends, of many states.

What the thesis asks for and leaves to its user to write; each against an independent computation.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import dalembert as da


def test_a_place_by_spherical_coordinates_moves_as_a_free_point() -> None:
    """B-05, (2.2.20)-(2.2.24): any three scalars describe a place; a thrown stone does not know which."""
    s = da.System("stone")
    stone = s.body("stone", da.sphere(0.1, 2.0))
    place = ("r*cos(p)*cos(a)", "r*cos(p)*sin(a)", "r*sin(p)")
    frame = s.body("frame", mass=0.0)
    s.connect("place", da.CustomJoint(("r", "a", "p"), position=place, reference=(1.0, 0.0, 0.0)), s.ground, frame)
    s.connect("turn", da.Spherical(), frame, stone)
    for name, value in (("r", 2.0), ("a", 0.4), ("p", 0.3)):
        s.initial(f"place.{name}", position=value)
    s.initial("place.a", speed=1.5)
    s.initial("place.r", speed=-0.7)
    s.initial("place.p", speed=0.9)
    result = da.simulate(s, 0.6, rtol=1e-11, atol=1e-11)
    p0, v0 = result["stone.position"][0], result["stone.velocity"][0]
    t = 0.6
    assert np.allclose(result["stone.position"][-1], p0 + v0 * t + 0.5 * s.gravity * t * t, atol=1e-8)


def test_fungs_law_with_memory_is_the_history_integral() -> None:
    """N-03, (3.4.2): F = int G(t - tau) E'(eps) eps' dtau with an exponential tissue, pulled up and down."""
    A, B, g0, g1, T1, g2, T2 = 30.0, 4.0, 0.4, 0.35, 0.08, 0.25, 0.6
    rate = "A*B*exp(B*s)*ds"
    tissue = da.Element(
        "joint", "-(g0*A*(exp(B*s) - 1) + z1 + z2)",
        {"A": A, "B": B, "g0": g0, "g1": g1, "T1": T1, "g2": g2, "T2": T2},
        states={"z1": (0.0, f"g1*{rate} - z1/T1"), "z2": (0.0, f"g2*{rate} - z2/T2")},
    )  # fmt: skip
    s = da.System("tissue", gravity=(0, 0, 0))
    s.connect("slide", da.Prismatic("x"), s.ground, s.body("grip", mass=1.0))
    s.connect("tissue", tissue, "slide")

    def pull(t: float) -> tuple[float, float, float]:
        return 0.1 * math.sin(3 * t) ** 2, 0.3 * math.sin(6 * t), 1.8 * math.cos(6 * t)

    s.drive("slide", position=pull)
    result = da.simulate(s, 1.2, times=[0.0, 0.3, 0.7, 1.2], rtol=1e-10, atol=1e-11)

    def eps(t: float) -> float:
        return 0.1 * math.sin(3 * t) ** 2

    def memory(t: float, tau: float) -> float:
        G = g0 + g1 * math.exp(-(t - tau) / T1) + g2 * math.exp(-(t - tau) / T2)
        return G * A * B * math.exp(B * eps(tau)) * 0.6 * math.sin(3 * tau) * math.cos(3 * tau)

    for t, force in zip(result.t, result["tissue.effort"], strict=True):
        exact = quad(lambda tau, t=t: memory(t, tau), 0.0, t, epsabs=1e-11)[0]
        assert force == pytest.approx(-exact, abs=1e-7)


def test_an_element_with_two_ends_on_each_of_two_bodies() -> None:
    """E-01: endpoints are markers, also two on one body; two springs as one element, against two elements."""

    def system(one: bool) -> da.System:
        s = da.System("two springs", gravity=(0, 0, 0))
        a, b = s.body("a", da.box(1, 1, 1, 1.0)), s.body("b", da.box(1, 2, 1, 1.5))
        s.connect("fa", da.Free(), s.ground, a)
        s.connect("fb", da.Free(), s.ground, b)
        a1, a2, b1, b2 = a.at(0, 0.5, 0), a.at(0, -0.5, 0.1), b.at(0.2, 0.5, 0), b.at(0.2, -0.5, 0)
        if one:
            lengths = {
                "first": "sqrt(x1**2 + y1**2 + z1**2) - l",
                "second": "sqrt((x3 - x2)**2 + (y3 - y2)**2 + (z3 - z2)**2) - l",
            }
            energy = "k*(first**2 + second**2)/2"
            law = da.Element(
                ("place",) * 3, None, {"k": 30.0, "l": 0.4}, definitions=lengths, energy=energy
            )  # ends 2, 3, 4 seen from end 1
            s.connect("both", law, a1, b1, a2, b2)
        else:
            s.connect("first", da.SpringDamper(30.0, length=0.4), a1, b1)
            s.connect("second", da.SpringDamper(30.0, length=0.4), a2, b2)
        return s

    one, two = system(True).compile(), system(False).compile()
    for seed in range(3):
        state = one.random_state(seed)
        found, expected = (model.forward_dynamics(state.q, state.v) for model in (one, two))
        assert np.allclose(found, expected, rtol=1e-11, atol=1e-10)
    run = da.simulate(system(True), 1.0, rtol=1e-9, atol=1e-10)
    assert np.abs(run["energy.balance"]).max() < 1e-6


def test_a_plane_element_of_three_ends_is_that_of_finite_elements() -> None:
    """N-08, (3.4.20)-(3.4.22): strains of three ends, F = K eps, K of the triangle of constant strain."""
    E, nu, thickness = 7e5, 0.3, 0.01
    corners = np.array([[0.0, 0.0], [0.4, 0.0], [0.1, 0.3]])
    (l1, _), (l3, l2) = corners[1], corners[2]
    # constant strain: the gradient of displacements from those of ends 2 and 3, end 1 and the direction to 2 held
    D = E / (1 - nu * nu) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])
    edges = np.array([[l1, l3], [0.0, l2]])
    inverse = np.linalg.inv(edges)
    strain = np.zeros((3, 3))  # of eps1 = c2x - l1, eps2 = c3y - l2, eps3 = c3x - l3
    for k, moved in enumerate(np.array([[[1.0, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [0, 0]]])):
        H = moved @ inverse
        strain[:, k] = H[0, 0], H[1, 1], H[0, 1] + H[1, 0]
    K = abs(np.linalg.det(edges)) / 2 * thickness * strain.T @ D @ strain
    names = {f"K{i}{j}": K[i, j] for i in range(3) for j in range(3)} | {"l1": l1, "l2": l2, "l3": l3}
    force = [f"-(K{i}0*e1 + K{i}1*e2 + K{i}2*e3)" for i in range(3)]
    # the reference is carried by end 1, its x axis points to end 2: the element may turn as far as it likes
    strains = {
        "e1": "sqrt(x1**2 + y1**2) - l1",
        "e2": "(x1*y2 - y1*x2)/sqrt(x1**2 + y1**2) - l2",
        "e3": "(x1*x2 + y1*y2)/sqrt(x1**2 + y1**2) - l3",
    }
    plate = da.Element(("place", "place"), force, names, strains=strains)
    s = da.System("plate", gravity=(0, 0, 0))
    nodes = [s.body(f"node_{k}", mass=1.0, inertia=(1, 1, 1)) for k in range(3)]
    turn = 0.8
    R = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    rng = np.random.default_rng(1)
    u = 1e-7 * rng.normal(size=(3, 2))
    for node, corner, shift in zip(nodes, corners, u, strict=True):
        s.connect(f"J_{node.name}", da.Planar("z"), s.ground, node)
        for axis, value in zip("xy", R @ (corner + shift), strict=True):
            s.initial(f"J_{node.name}.{axis}", position=float(value))
    s.connect("plate", plate, *nodes)
    model = s.compile()
    state = da.start_state(model)
    a = model.dynamics(0.0, state.q, state.v).a.reshape(3, 3)[:, :2]  # unit masses: forces
    # the triangle of constant strain, whole: B from the shape functions
    grads = np.linalg.inv(np.vstack([np.ones(3), corners.T]))[:, 1:]
    Bm = np.zeros((3, 6))
    Bm[0, 0::2], Bm[1, 1::2] = grads[:, 0], grads[:, 1]
    Bm[2, 0::2], Bm[2, 1::2] = grads[:, 1], grads[:, 0]
    stiffness = abs(np.linalg.det(edges)) / 2 * thickness * Bm.T @ D @ Bm
    wanted = -(stiffness @ u.ravel()).reshape(3, 2) @ R.T
    assert np.allclose(a, wanted, atol=2e-5 * np.abs(wanted).max())  # small strains: 1e-7 over 0.1 m squared


def test_a_muscle_of_five_states_two_inputs_and_thirty_numbers_runs_as_its_equations() -> None:
    """A-08: a plug-in law of Hatze's size, nonlinear; the same equations by SciPy."""
    rng = np.random.default_rng(2)
    numbers = {f"p{k}": float(x) for k, x in enumerate(rng.uniform(0.5, 1.5, 30))}
    rates = [
        "p0*(u1 - x1) + p1*tanh(p2*u2)",
        "p3*x1*(1 - x2) - p4*x2*x2",
        "p5*sin(p6*x1 + p7*x2) - p8*x3 - p9*x3**3",
        "p10*exp(-p11*x3**2) - p12*x4 + p13*ds*x1",
        "p14*(x4 - x5)/(1 + p15*x5**2) - p16*s",
    ]
    force = (
        "-(p17*x5 + p18*x2*exp(-p19*(s - p20)**2) + p21*ds/(1 + p22*abs(ds)) + p23*s + p24*x3*x4)*p25"
        " - p26*x1*p27 + p28*p29*0.1"
    )
    law = da.Element(
        "joint", force, numbers, states={f"x{k + 1}": (0.1 * (k + 1), rate) for k, rate in enumerate(rates)},
        inputs={"u1": lambda t: 0.5 + 0.5 * math.sin(2 * t), "u2": lambda t: math.exp(-t)}, active=True,
    )  # fmt: skip
    s = da.System("forearm", gravity=(0, 0, 0))
    s.connect("elbow", da.Revolute("y"), s.ground, s.body("forearm", mass=1.0, inertia=(0.8, 0.8, 0.8)))
    s.connect("muscle", law, "elbow")
    s.initial("elbow", position=0.3, speed=-0.2)
    result = da.simulate(s, 2.0, rtol=1e-9, atol=1e-10)
    names = {"tanh": math.tanh, "sin": math.sin, "exp": math.exp, "abs": abs, **numbers}
    compiled = [compile(text, "law", "eval") for text in (*rates, force)]

    def right(t: float, y: np.ndarray) -> list[float]:
        here = names | {"u1": 0.5 + 0.5 * math.sin(2 * t), "u2": math.exp(-t), "s": y[0], "ds": y[1]}
        here |= {f"x{k + 1}": y[2 + k] for k in range(5)}
        *dx, effort = (eval(code, {}, here) for code in compiled)
        return [y[1], effort / 0.8, *dx]

    start = [0.3, -0.2, 0.1, 0.2, 0.3, 0.4, 0.5]
    exact = solve_ivp(right, (0.0, 2.0), start, rtol=1e-10, atol=1e-12).y[:, -1]
    assert np.allclose([result["elbow"][-1], result["elbow.speed"][-1], *result.x[-1]], exact, atol=1e-7)


def test_contact_is_lost_where_its_load_vanishes() -> None:
    """V-16: a block rides on a table that shakes; the row holds until its force is zero, then the block flies."""
    amplitude, w = 0.05, 20.0  # a w^2 = 20 m/s2 > g
    s = da.System("shaker")
    table, block = s.body("table", da.box(1, 1, 0.1, 5.0)), s.body("block", da.box(0.1, 0.1, 0.1, 1.0))
    s.connect("guide", da.Prismatic("z"), s.ground, table)
    s.connect("air", da.Prismatic("z"), s.ground, block)
    s.connect("rests", da.PointOnPlane("z"), table, block)
    s.drive("guide", position=da.Harmonic(amplitude, w))
    leaves = da.Event("leaves", "rests.z", action=lambda now: now.switch("rests", False))
    result = da.simulate(s, 0.2, events=[leaves])
    takeoff = math.asin(9.81 / (amplitude * w * w)) / w  # where the table falls faster than g
    assert result.events[0].t == pytest.approx(takeoff, abs=1e-7)
    t = 0.2 - takeoff
    height = amplitude * math.sin(w * takeoff)
    speed = amplitude * w * math.cos(w * takeoff)
    assert result["block.position"][-1][2] == pytest.approx(height + speed * t - 9.81 / 2 * t * t, abs=1e-6)
