"""Newton systems of implicit steps by fronts, against dense matrices in NumPy and against runs with dense matrices."""

import numpy as np
import pytest
from systems.flexible_systems import random_deformed_state, random_flexible_tree, random_place
from systems.random_elements import add_random_elements
from systems.random_loops import random_closed_system, random_contacts, redundant
from systems.random_trees import every_joint_both_ways, random_system

import dalembert as da
from dalembert.library import chain, windows
from dalembert.library.mechanisms import andrews, bricard, four_bar
from dalembert.linear import tangent_space

MU = 40.0


@pytest.fixture
def by_fronts(monkeypatch):
    """Solve by fronts, however small a system is."""
    monkeypatch.setenv("DALEMBERT_NEWTON", "fronts")


def cross(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def chart_slopes(model, v):
    """Return d xi'/d xi in the chart around the state: -1/2 omega~ of attitudes, -u~ of places beside them."""
    B = np.zeros((model.nv, model.nv))
    for name in model.joint_names:
        at, places = model.v_slice(name), model.q_slice(name)
        if places.stop - places.start != at.stop - at.start:
            k = at.start
            B[k : k + 3, k : k + 3] = -0.5 * cross(v[k : k + 3])
            if at.stop - k == 6:
                B[k + 3 : k + 6, k : k + 3] = -cross(v[k + 3 : k + 6])
    return B


def dense_system(model, q, v, x, t):
    """Return mu - J (2 nv + nx, 2 nv + nx)."""
    nv, nx = model.nv, model.nx
    A_q, X_q, A_v, X_v, A_x, X_x = model._d_dynamics([0, 1, 3, 4, 6, 7], q, v, t=t, x=x)
    J = np.block(
        [[chart_slopes(model, v), np.eye(nv), np.zeros((nv, nx))], [A_q, A_v, A_x], [X_q, X_v, X_x]],
    )
    return MU * np.eye(len(J)) - J


def permitted_change(model, q, v, t, rng):
    """Return random changes [xi; dv] (2 nv,) that the loops permit."""
    space = tangent_space(model, da.State(q=q, v=v, t=t))
    y, z = rng.normal(size=space.ny), rng.normal(size=space.nz)
    return np.concatenate([space.Q @ y, space.V @ z + space.U @ y])


def error(model, q, v, x, rng, t=0.3, *, permitted=False):
    """Return how far (mu - J)^-1 r by fronts is from the dense solution, relative to each part's largest entry.

    permitted: r is such that the solution is a change that the loops permit.
    """
    nv, nx = model.nv, model.nx
    system = dense_system(model, q, v, x, t)
    if permitted:
        expected = permitted_change(model, q, v, t, rng)
        r = system @ expected
    else:
        r = rng.normal(size=2 * nv + nx)
        expected = np.linalg.solve(system, r)
    found = model._newton_step(q, v, r[:nv], r[nv : 2 * nv], r[2 * nv :], MU, t=t, x=x)
    parts = np.split(expected, [nv, 2 * nv])
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, parts, strict=True) if len(b))


def tree(rng):
    model = (every_joint_both_ways(rng) if rng.random() < 0.3 else random_system(rng, 10)).compile()
    state = model.random_state(rng)
    return model, state.q, state.v


def flexible(rng):
    model = random_flexible_tree(rng, 5, stiffening=bool(rng.random() < 0.5)).compile()
    return model, *random_deformed_state(model, rng)[:2]


def with_elements(rng):
    system = random_system(rng, 8)
    bare = system.compile()
    state = bare.random_state(rng)
    add_random_elements(system, bare, state.q, rng, 8)
    return system.compile(), state.q, state.v


def flexible_with_elements(rng):
    """Springs, dampers and bushings between nodes of flexible bodies, rigid bodies and ground."""
    system = random_flexible_tree(rng, 4)
    state = random_deformed_state(system.compile(), rng)[:2]
    known = [system.ground, *system.bodies.values()]
    for k in range(4):
        first, second = (random_place(known[int(i)], rng) for i in rng.choice(len(known), size=2, replace=False))
        place = da.Element("place", ("-k*x - y*z", "-c*vy", "-k*z**3"), {"k": 30.0, "c": 2.0})
        system.connect(
            f"e{k}", place if k % 2 else da.SpringDamper(stiffness=80.0, damping=3.0, length=0.2), first, second
        )
    return system.compile(), *state


def loops(rng):
    closed = random_closed_system(rng, 8, 2)
    model = closed.system.compile()
    return model, *closed.state(model)


def contacts(rng):
    closed = random_contacts(rng, 6, 2)
    model = closed.system.compile()
    return model, *closed.state(model)


def repeated(rng):
    closed = redundant(int(rng.integers(30)))
    model = closed.system.compile()
    return model, *closed.state(model)


def machine(rng):
    """Couplings, a drive, armatures, a signal of a state to a distant joint, a spring between trees."""
    s = da.System("machine")
    ends = [s.ground, s.ground]
    for k in range(8):
        body = s.body(f"b{k}", da.box(0.5, 0.1, 0.2, mass=1.0 + 0.1 * k))
        joint = da.Revolute("xyz"[k % 3], armature=0.02 * (k % 3)) if k != 5 else da.Spherical()
        s.connect(f"h{k}", joint, ends[k % 2].at(0.3, 0.1 * k, 0), body.at(-0.25, 0, 0.05))
        ends[k % 2] = body
    s.connect("gear", da.Coupling(-2.0), "h0", "h6")
    s.connect("cam", da.CustomCoupling("s2 - h*(1 - cos(s1)) + 0.1*s1*s2", {"h": 0.2}), "h1", "h4")
    s.drive("h2", position=da.Harmonic(0.3, 2.0))
    law = da.Element("joint", "-m", states={"m": (0.0, "(3*s + ds - m)/0.1")}, signals={"y": "m**2 + ds"})
    s.connect("filter", law, "h7")
    s.connect("motor", da.Element("joint", "-0.5*tanh(u) - 0.1*ds", inputs={"u": "filter.y"}), "h3")
    s.connect(
        "tie", da.SpringDamper(stiffness=50.0, damping=2.0, length=0.1), s["b6"].at(0, 0.1, 0), s["b7"].at(0.2, 0, 0)
    )
    model = s.compile()
    state = model.random_state(rng)
    return model, state.q, state.v


def cut_spring(rng):
    """Springs at joints that close loops."""
    s = windows(3)
    cut = [name for name in s.connections if name not in s.compile().joint_names]
    for name in cut:
        s.connect(f"spring {name}", da.Element("joint", "-20*s**3 - 0.5*ds"), name)
    model = s.compile()
    state = da.start_state(model, {"A0": -0.3, "A0.speed": -1.0})
    return model, state.q, state.v


TREES = [tree, flexible, with_elements, flexible_with_elements, machine]
CLOSED = [loops, contacts, repeated, cut_spring]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", TREES)
def test_open_systems_are_solved_to_rounding(by_fronts, make, seed):
    rng = np.random.default_rng(seed)
    model, q, v = make(rng)
    # dv = mu dxi - r1 cancels: a few hundred roundings
    assert error(model, q, v, rng.normal(size=model.nx), rng) < 1e-10


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", CLOSED)
def test_closed_systems_are_solved_to_what_is_added_to_their_rows(by_fronts, make, seed):
    rng = np.random.default_rng(seed)
    model, q, v = make(rng)
    # a part 1e-12 of each row's pivot, more where rows come near to depending on each other. Changes that loops do not
    # permit are no part of an implicit step; forces at points then depend on which end they are taken to act
    assert error(model, q, v, np.zeros(model.nx), rng, permitted=True) < 1e-9


def hanging_beams():
    section, material = da.Section.rectangle(0.02, 0.01), da.Material(E=70e9, nu=0.33, density=2700)
    link = da.beam(1.0, section, material, elements=4, modes=da.CantileverModes(2))
    s = da.System("beams")
    end = s.ground.origin
    for k in range(3):
        body = s.body(f"link{k}", link)
        s.connect(f"joint{k}", da.Revolute("yz"[k % 2]), end, body)
        end = body.at(1.0, 0, 0)
    s.initial("joint0", speed=1.0)
    return s


def pulled_loops():
    """A four-bar with a driven crank and a spring across it."""
    s = four_bar()
    first = next(iter(s.compile().joint_names))
    s.drive(first, speed=1.0)
    return s


RUNS = {
    "chain": (lambda: chain(6), 0.4),
    "beams": (hanging_beams, 0.1),
    "four-bar": (four_bar, 0.4),
    "driven": (pulled_loops, 0.3),
    "Andrews": (andrews, 0.01),
    "Bricard": (bricard, 0.3),
}


@pytest.mark.parametrize("method", ["radau", "alpha"])
@pytest.mark.parametrize("name", RUNS)
def test_runs_are_those_of_dense_matrices(monkeypatch, name, method):
    make, t_end = RUNS[name]
    results = []
    for way in ("dense", "fronts"):
        monkeypatch.setenv("DALEMBERT_NEWTON", way)
        results.append(da.simulate(make(), t_end, method=method, rtol=1e-6))
    dense, fronts = results
    # the same derivatives: Newton's method converges alike, step by step
    assert abs(fronts.stats.steps - dense.stats.steps) <= 0.02 * dense.stats.steps + 1
    assert abs(fronts.stats.evaluations - dense.stats.evaluations) <= 0.1 * dense.stats.evaluations
    assert np.abs(fronts.q[-1] - dense.q[-1]).max() < 1e-7


def test_few_dofs_keep_a_dense_matrix_and_many_do_not(monkeypatch):
    monkeypatch.delenv("DALEMBERT_NEWTON", raising=False)

    assert not chain(1).compile()._uses_newton_fronts
    assert chain(100).compile()._uses_newton_fronts
