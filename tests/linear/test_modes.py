"""Modes, responses, loci and Campbell diagrams against closed forms and against motions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import jn_zeros
from systems.flexible_systems import random_flexible_tree
from systems.many_loops import net

import dalembert as da
from dalembert.library.open_chains import chain

G = 9.81


def hanging(n: int) -> da.System:
    s = chain(n, axes="y")
    s.initial("joint_1", position=np.pi / 2)
    return s


# ---- closed forms


def test_a_hanging_chain_has_bessels_frequencies() -> None:
    n, length = 1000, 0.3
    found = da.modes(hanging(n), count=5)
    exact = jn_zeros(0, 5) / 2 * np.sqrt(G / (n * length)) / (2 * np.pi)
    assert_allclose(found.frequencies, exact, rtol=5e-5)  # links instead of a string: (mode / links)^2
    assert found.undamped and not found.complete


def test_without_matrices_and_with_them_modes_are_the_same() -> None:
    model = hanging(90).compile()
    few, all_of_them = da.modes(model, count=6), da.modes(model)
    assert not few.complete and all_of_them.complete and len(all_of_them) == 90
    assert_allclose(few.frequencies, all_of_them.frequencies[:6], rtol=1e-10)
    assert_allclose(abs(few.motions), abs(all_of_them.motions[:, :6]), atol=1e-6 * abs(few.motions).max())
    assert_allclose(all_of_them.effective_masses[:, 0].sum(), 90.0, rtol=0.01)  # less what hangs at the joint


def test_few_dofs_of_many_bodies() -> None:
    """Forty windows turn as one: I th'' = G th upright."""
    from dalembert.library import windows

    n = 40
    found = da.modes(windows(n))
    exact = np.sqrt(G * ((n + 1) / 2 + n) / ((n + 1) / 3 + n))
    assert_allclose(found.eigenvalues.real.max(), exact, rtol=1e-9)


def test_large_and_damped() -> None:
    s = hanging(100)
    for k in range(1, 101):
        s.connect(f"d{k}", da.JointSpring(stiffness=1.0, damping=3.0), f"joint_{k}")
    model = s.compile()
    few, every = da.modes(model, count=4), da.modes(model)
    every_low = every.eigenvalues[np.argsort(abs(every.eigenvalues))][:8]
    for value in few.eigenvalues:
        assert abs(every_low - value).min() < 1e-8 * abs(value)


def test_damped_modes_of_a_net_with_many_loops() -> None:
    """Few modes by one factorisation within the trees are among those of the dense matrices."""
    s = net(5)
    for name in [n for n, c in s.connections.items() if isinstance(c.element, da.Universal)]:
        s.connect(f"damper of {name}", da.JointSpring(stiffness=80.0, damping=0.2), f"{name}.angle_1")
    model = s.compile()
    eq = da.equilibrium(model)
    few, A = da.modes(model, eq, count=3), da.linearize(model, eq).A
    every = np.linalg.eigvals(A)
    assert few.space.ny > 60
    for value in few.eigenvalues:
        assert abs(every - value).min() < 1e-7 * abs(value)


def test_modes_are_orthonormal_in_the_mass_matrix() -> None:
    model = hanging(6).compile()
    found = da.modes(model)
    M = model.mass_matrix(found.state.q)
    assert_allclose(found.motions.T @ M @ found.motions, np.eye(6), atol=1e-9)


def test_modes_that_repeat_and_rigid_ones() -> None:
    s = da.System("dumbbell", gravity=(0, 0, 0))
    a, b = (s.body(name, mass=2.0, inertia=(0.1, 0.1, 0.1)) for name in "ab")
    s.connect("X", da.Free(), s.ground, a)
    s.connect("Y", da.Free(), a, b)
    s.connect("k", da.Bushing(stiffness=(40.0, 40.0, 40.0, 0.2, 0.2, 0.2)), a, b)
    found = da.modes(s)
    assert found.rigid.sum() == 6 and len(found) == 12
    w = np.sqrt(40.0 / 1.0)  # reduced mass 1 kg
    assert_allclose(found.frequencies[-3:] if w > 2 else [], np.full(3, w) / (2 * np.pi), rtol=1e-8)
    assert np.linalg.matrix_rank(found.motions, tol=1e-6) == 12


def test_a_damped_floating_chain_has_its_rigid_modes_once() -> None:
    s = da.System("train", gravity=(0, 0, 0))
    cars = [s.body(f"car_{k}", da.box(1, 1, 1, mass=2.0)) for k in range(4)]
    for k, car in enumerate(cars):
        s.connect(f"X{k}", da.Prismatic("x"), s.ground, car)
    for k in range(3):
        s.connect(f"k{k}", da.SpringDamper(stiffness=50.0, damping=1.0, length=1.0), cars[k], cars[k + 1].at(1, 0, 0))
    found = da.modes(s)
    assert found.rigid.sum() == 1 and len(found) == 4 and not found.undamped
    assert_allclose(found.motions[:, found.rigid][:, 0], np.full(4, 1 / np.sqrt(8.0)), rtol=1e-8)


def test_damping_ratio_of_a_damped_mass_and_its_overdamped_twin() -> None:
    def made(c: float) -> da.System:
        s = da.System("mass", gravity=(0, 0, 0))
        s.connect("X", da.Prismatic("x"), s.ground, s.body("m", da.box(1, 1, 1, mass=2.0)))
        s.connect("k", da.JointSpring(stiffness=200.0, damping=c), "X")
        return s

    found = da.modes(made(4.0))
    assert_allclose(found.damping_ratios, 4.0 / (2 * np.sqrt(400.0)), rtol=1e-12)
    assert_allclose(found.frequencies, 10 * np.sqrt(1 - 0.01) / (2 * np.pi), rtol=1e-12)
    assert_allclose(abs(found.shapes["m"].translation[0]), [1 / np.sqrt(2.0), 0, 0], atol=1e-12)
    assert_allclose(found.effective_masses, [[2.0, 0, 0]], atol=1e-12)
    slow = da.modes(made(50.0))
    assert_allclose(np.sort(slow.eigenvalues.real), np.sort(np.roots([2.0, 50.0, 200.0])), rtol=1e-9)
    assert_allclose(slow.damping_ratios, 1.0)
    assert "decays" in str(slow)


def test_a_cantilever_has_eulers_frequencies() -> None:
    steel = da.Material(E=2.1e11, nu=0.3, density=7850.0)
    s = da.System("cantilever", gravity=(0, 0, 0))
    body = s.body("blade", da.beam(1.0, da.Section.rectangle(0.01, 0.02), steel, elements=16))
    s.connect("A", da.Fixed(), s.ground, body)
    found = da.modes(s)
    betas = np.array([1.87510407, 4.69409113])
    for i in (0.01 * 0.02**3 / 12, 0.02 * 0.01**3 / 12):
        exact = betas**2 * np.sqrt(2.1e11 * i / (7850.0 * 0.0002)) / (2 * np.pi)
        for one in exact:
            assert abs(found.frequencies / one - 1).min() < 5e-3


# ---- against motions


@pytest.mark.parametrize("seed", [0, 1])
def test_frequencies_are_those_of_small_oscillations(seed: int) -> None:
    """Of a random loop with springs: a mode let go swings back to its negative after half a period."""
    rng = np.random.default_rng(seed)
    s = da.System("loop", gravity=(0, 0, 0))
    sides = [0.5, 1.1, 0.9, 1.2]
    bodies = [s.body(f"b{k}", da.rod(side, float(rng.uniform(0.5, 2)))) for k, side in enumerate(sides)]
    s.connect("J0", da.Revolute("y"), s.ground, bodies[0])
    for k in range(3):
        s.connect(f"J{k + 1}", da.Revolute("y"), bodies[k].at(sides[k], 0, 0), bodies[k + 1])
    for k, angle in enumerate([-1.2, 0.9, 0.8]):
        s.initial(f"J{k}", position=angle)
    free = s.compile()
    end = free.pose(bodies[3].at(1.2, 0, 0), free.initial_state().q).position
    s.connect("J4", da.Revolute("y"), s.ground.at(*end), bodies[3].at(1.2, 0, 0))
    for k in range(4):
        at = float(free.initial_state().q[k])
        s.connect(f"k{k}", da.JointSpring(stiffness=float(rng.uniform(5, 50)), rest=at), f"J{k}")
    model = s.compile()
    found = da.modes(model)
    assert found.undamped and not found.notes and len(found) == 2
    for k in range(2):
        y = 1e-5 * found.changes[: found.space.ny, k].real / abs(found.changes[:, k]).max()
        half = 0.5 / found.frequencies[k]
        result = da.simulate(model, half, state=found.space.neighbour(y), times=[0, half], rtol=1e-11, atol=1e-14)
        moved = model.difference(found.state.q, result.q[-1])[found.space.positions]
        assert_allclose(moved, -y, atol=2e-4 * abs(y).max())  # the next order is 1e-5


def test_flexible_bodies_vibrate_as_their_motion_says() -> None:
    rng = np.random.default_rng(3)
    system = random_flexible_tree(rng, 3, gravity=False)
    model = system.compile()
    found = da.modes(model)
    k = int(np.flatnonzero(found.frequencies > 0.05)[0])
    value = found.eigenvalues[k]
    y = 1e-6 * found.changes[:, k] / abs(found.changes[:, k]).max()
    duration = 0.3 / abs(value.imag)
    n, m = found.space.ny, found.space.ny + found.space.nz
    start = found.space.neighbour(y[:n].real, y[n:m].real, y[m:].real)
    result = da.simulate(model, duration, state=start, times=[0, duration], rtol=1e-11, atol=1e-15)
    expected = (y * np.exp(value * duration)).real
    assert_allclose(result.v[-1][found.space.speeds], expected[n:m], atol=1e-4 * abs(y[n:m]).max())


# ---- responses


def test_the_response_of_a_mass_on_a_spring() -> None:
    s = da.System("mass", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("m", da.box(1, 1, 1, mass=2.0)))
    s.connect("k", da.JointSpring(stiffness=200.0, damping=3.0), "X")
    lin = da.linearize(s, inputs="X.effort", outputs=["X.position", "X.acceleration"])
    f = np.array([0.1, 1.5, 8.0])
    response = lin.frequency_response("X.effort", "X.position", f)
    w = 2 * np.pi * f
    assert_allclose(response.values[:, 0, 0], 1 / (200 - 2 * w**2 + 3j * w), rtol=1e-12)
    assert_allclose(
        lin.frequency_response(None, "X.acceleration", f).values[:, 0, 0], -(w**2) / (200 - 2 * w**2 + 3j * w)
    )
    assert (np.diff(lin.frequency_response().frequencies) > 0).all()


def test_a_shaken_table_is_one_input_whatever_its_rates() -> None:
    """Transmission of a table's motion to a mass on it: (k + i w c) / (k - m w^2 + i w c)."""
    s = da.System("table", gravity=(0, 0, 0))
    table, mass = s.body("table", da.box(1, 1, 1, mass=5.0)), s.body("mass", da.box(1, 1, 1, mass=2.0))
    s.connect("T", da.Prismatic("x"), s.ground, table)
    s.connect("X", da.Prismatic("x"), table, mass)
    s.connect("k", da.JointSpring(stiffness=200.0, damping=3.0), "X")
    s.drive("T", position=da.Polynomial((0.0,)))
    lin = da.linearize(s, inputs=["T.position", "T.speed", "T.acceleration"], outputs=["mass.position.x"])
    f = np.array([0.3, 1.6, 9.0])
    w = 2 * np.pi * f
    values = lin.frequency_response("T", "mass.position.x", f).values[:, 0, 0]
    assert_allclose(values, (200 + 3j * w) / (200 - 2 * w**2 + 3j * w), rtol=1e-10)
    with pytest.raises(da.ModelError, match="needs all of"):
        da.linearize(s, inputs=["T.position"]).frequency_response("T")


# ---- loci and Campbell diagrams


def overhung(spin: float | None = None) -> da.System:
    """Return a disc on springs against displacement and tilt, and its spin."""
    s = da.System("overhung", gravity=(0, 0, 0))
    tiny = {"mass": 1e-9, "inertia": (1e-12, 1e-12, 1e-12)}
    frames = [s.body(name, **tiny) for name in ("x", "y", "p")]
    disc = s.body("disc", mass=4.0, inertia=(0.03, 0.03, 0.055))
    s.connect("X", da.Prismatic("x"), s.ground, frames[0])
    s.connect("Y", da.Prismatic("y"), frames[0], frames[1])
    s.connect("P", da.Universal("x", "y"), frames[1], frames[2])
    s.connect("spin", da.Revolute("z"), frames[2], disc)
    E, L = 200.0, 0.4
    a, c = 12 * E / L**3, 4 * E / L
    for axis, other in (("X", "P.angle_2"), ("Y", "P.angle_1")):
        s.connect(f"k{axis}", da.JointSpring(stiffness=a), axis)
        s.connect(f"t{axis}", da.JointSpring(stiffness=c), other)
    if spin is not None:
        s.drive("spin", speed=spin)
    return s


@pytest.mark.parametrize("driven", [True, False])
def test_a_disc_that_spins_has_gyroscopic_frequencies(driven: bool) -> None:
    system = overhung(1.0 if driven else None)
    speeds = np.linspace(0.0, 3000.0, 40)
    diagram = da.campbell(system, "spin", speeds)
    d, p, c = 0.03, 0.055, 4 * 200.0 / 0.4
    k = 12 * 200.0 / 0.4**3
    # d th'' -+ i p spin th' + c th = 0 for th = angle_1 + i angle_2
    for spin, values in zip(speeds, diagram.eigenvalues, strict=True):
        half = p * spin / (2 * d)
        forward, backward = np.sqrt(half**2 + c / d) + half, np.sqrt(half**2 + c / d) - half
        tilt = [forward, -forward, backward, -backward]
        slide = [np.sqrt(k / 4.0), -np.sqrt(k / 4.0)] * 2
        exact = np.sort(np.array([*tilt, *slide]))
        moving = np.sort(values.imag[abs(values) > 1e-3])
        assert_allclose(moving, exact, rtol=1e-6)
    # curves are smooth though they cross
    assert abs(np.diff(diagram.eigenvalues.imag, n=2, axis=0)).max() < 60.0
    top = int(diagram.eigenvalues[-1].imag.argmax())
    assert diagram.whirl[-1, top] > 0.5
    critical = diagram.critical_speeds()
    # forward tilt never meets the line: p > d; backward at sqrt(c / (d + p)), slides at sqrt(k / m)
    assert_allclose(critical, np.sort([np.sqrt(k / 4.0), np.sqrt(k / 4.0), np.sqrt(c / (d + p))]), rtol=1e-4)


def disc_at(speed: float, radius: float = 0.3) -> da.System:
    """Return a thin disc that rolls upright along x, by coordinates that do not turn with it."""
    s = da.System("disc", gravity=(0, 0, -G))
    last = s.ground
    for name, joint in (("x", da.Prismatic("x")), ("y", da.Prismatic("y")), ("z", da.Prismatic("z")),
                        ("yaw", da.Revolute("z")), ("lean", da.Revolute("x"))):  # fmt: skip
        frame = s.body(f"f_{name}", mass=1e-12, inertia=(1e-13, 1e-13, 1e-13))
        s.connect(name, joint, last, frame)
        last = frame
    disc = s.body("disc", mass=2.0, inertia=(0.5 * radius**2, radius**2, 0.5 * radius**2))
    s.connect("spin", da.Revolute("y"), last, disc)
    s.connect("roll", da.constraints.RollingDisc(radius, axis="y"), s.ground, disc)
    s.initial("z", position=radius)
    s.initial("x", speed=speed)
    s.initial("spin", speed=speed / radius)
    return s


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01, 2.0])
def test_a_rolling_disc_stands_up_beyond_its_critical_speed(share: float) -> None:
    """A thin disc wobbles with omega^2 = (12 spin^2 - 4 g / r) / 5, and falls below v^2 = g r / 3 (Routh)."""
    r = 0.3
    speed = share * np.sqrt(G * r / 3)
    lin = da.linearize(disc_at(speed))
    assert lin.notes == ()
    exact = (12 * (speed / r) ** 2 - 4 * G / r) / 5
    if exact < 0:
        assert_allclose(lin.eigenvalues.real.max(), np.sqrt(-exact), rtol=1e-6)
    else:
        assert_allclose(abs(lin.eigenvalues.imag).max(), np.sqrt(exact), rtol=1e-6)
        assert lin.eigenvalues.real.max() < 1e-5


def test_coordinates_that_turn_with_a_disc_are_reported_to_have_no_constant_coefficients() -> None:
    s = da.System("disc", gravity=(0, 0, -G))
    disc = s.body("disc", mass=2.0, inertia=(0.045, 0.09, 0.045))
    s.connect("F", da.Free(), s.ground, disc)
    s.connect("roll", da.constraints.RollingDisc(0.3, axis="y"), s.ground, disc)
    s.place("disc", position=(0, 0, 0.3), angular_velocity=(0, 4, 0), velocity=(1.2, 0, 0))
    assert any("frozen instant" in note for note in da.linearize(s).notes)


def test_a_locus_finds_where_a_system_becomes_unstable() -> None:
    """Negative damping of one of two coupled masses."""
    s = da.System("flutter", gravity=(0, 0, 0))
    a, b = s.body("a", da.box(1, 1, 1, mass=1.0)), s.body("b", da.box(1, 1, 1, mass=1.0))
    s.connect("A", da.Prismatic("x"), s.ground, a)
    s.connect("B", da.Prismatic("x"), s.ground, b)
    for name, k in (("A", 50.0), ("B", 80.0)):
        s.connect(f"k{name}", da.JointSpring(stiffness=k, damping=0.3), name)
    s.connect("e", da.Element("joint", "p*ds", {"p": 0.0}), "B")
    locus = da.root_locus(s, "e.p", np.linspace(0, 0.6, 13))
    crossings = locus.crossings()
    assert_allclose(crossings[0][0], 0.3, rtol=1e-6)
    assert_allclose(crossings[0][1].imag, np.sqrt(80.0), rtol=1e-5)  # between values
    assert (abs(np.diff(locus.eigenvalues, axis=0)) < 0.3).all()
    system_of = da.root_locus(lambda p: s, "nothing", [0.0, 1.0])
    assert_allclose(system_of.eigenvalues[0], system_of.eigenvalues[1])


def test_loci_and_campbell_diagrams_print_as_tables() -> None:
    locus = da.root_locus(da.library.bicycle, "speed", np.linspace(2.0, 8.0, 25))
    lines = str(locus).splitlines()
    assert "'bicycle' over 'speed': 25 values from 2 to 8" in lines[0] and len(lines) == 13
    assert "changes stability at 4.29" in lines[-2]
    assert repr(locus).startswith("<RootLocus 'bicycle': speed 2 to 8, 25 values, frequencies 0.26")
    assert "stability changes at 4.29" in repr(locus)


def test_nodes_of_flexible_bodies_have_shapes_and_a_hub_that_is_fixed_does_not_move_most() -> None:
    s = da.System("rotor at rest", gravity=(0, 0, 0))
    hub = s.body("hub", da.cylinder(0.1, 0.05, mass=5.0))
    s.connect("fix", da.Fixed(), s.ground, hub)
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    for k, length in enumerate((1.0, 1.2)):
        blade = s.body(f"blade{k}", da.beam(length, da.Section.rectangle(0.05, 0.01), steel, elements=6))
        s.connect(f"root{k}", da.Fixed(), hub.at(0.1, 0, 0, rotation=("z", k * np.pi)), blade.at(node=0))
    found = da.modes(s, count=4)
    assert [line.split()[-1] for line in str(found).splitlines()[2:4]] == ["blade1", "blade0"]
    assert "hub" not in str(found)
    nodes = found.shapes["blade1"].nodes
    assert nodes.shape == (4, 7, 3) and found.shapes["hub"].nodes is None
    tip = found.at(s.bodies["blade1"].at(node=6)).translation
    assert_allclose(nodes[:, 6], tip, atol=1e-12)
    assert abs(tip[0]).max() > 0.1 and not found.shapes["blade1"].translation.any()


def test_nodes_move_with_their_frame_too() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    arm = s.body("arm", da.beam(1.0, da.Section.rectangle(0.05, 0.01), da.materials.steel, elements=4))
    s.connect("A", da.Revolute("y"), s.ground, arm.at(node=0))
    s.connect("k", da.JointSpring(stiffness=50.0, damping=0.2), "A")
    found = da.modes(s, {"A": 0.4}, count=3)
    for node in (0, 2, 4):
        wanted = found.at(arm.at(node=node)).translation
        assert_allclose(found.shapes["arm"].nodes[:, node], wanted, atol=1e-9)
