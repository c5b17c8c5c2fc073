"""Linear equations: closed forms, loops cut anywhere, inputs and outputs by name, control that holds what falls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as da
from dalembert.library.mechanisms import four_bar

G = 9.81


def point_mass_double_pendulum(angle: float = 0.0) -> da.System:
    s = da.System("double")
    upper, lower = (s.body(name, mass=mass, inertia=(1e-12,) * 3) for name, mass in (("upper", 2.0), ("lower", 3.0)))
    s.connect("A", da.Revolute("y"), s.ground, upper.at(0, 0, 1.5))
    s.connect("B", da.Revolute("y"), upper, lower.at(0, 0, 0.7))
    s.initial("A", position=angle)
    return s


def test_a_double_pendulum_has_lagranges_matrices() -> None:
    lin = da.linearize(point_mass_double_pendulum())
    m1, m2, l1, l2 = 2.0, 3.0, 1.5, 0.7
    # relative angle of the second
    M = np.array(
        [[(m1 + m2) * l1**2 + 2 * m2 * l1 * l2 + m2 * l2**2, m2 * l2 * (l1 + l2)], [m2 * l2 * (l1 + l2), m2 * l2**2]]
    )
    K = G * np.array([[(m1 + m2) * l1 + m2 * l2, m2 * l2], [m2 * l2, m2 * l2]])
    assert lin.coordinates == ("A", "B") and lin.speeds == ("A.speed", "B.speed")
    assert_allclose(lin.M, M, rtol=1e-9)
    assert_allclose(lin.stiffness, K, rtol=1e-9)
    assert_allclose(lin.damping, 0, atol=1e-12)
    assert lin.notes == ()


def test_a_missing_equilibrium_is_reported() -> None:
    lin = da.linearize(point_mass_double_pendulum(0.3))
    assert any("no equilibrium: 'B' accelerates by" in note or "no equilibrium: 'A'" in note for note in lin.notes)
    assert "note: no equilibrium" in str(lin)


def _cut_at(place: int) -> da.System:
    """Return a four-bar on springs whose loop is closed by the connection that is named last."""
    s = da.System("cut", gravity=(0, 0, 0))
    crank, coupler, rocker = (
        s.body(name, da.rod(length, mass))
        for name, length, mass in (("crank", 0.3, 1.0), ("coupler", 1.0, 2.0), ("rocker", 0.8, 1.5))
    )
    links = [
        ("A", s.ground, crank), ("B", crank.at(0.3, 0, 0), coupler),
        ("C", coupler.at(1, 0, 0), rocker.at(0.8, 0, 0)), ("D", s.ground.at(0.9, 0, 0), rocker),
    ]  # fmt: skip
    for name, first, second in links[place:] + links[:place]:
        s.connect(name, da.Revolute("y"), first, second)
    s.place("crank", rotation=("y", -0.9))
    tip = np.array([0.3 * np.cos(0.9), 0, 0.3 * np.sin(0.9)])
    for name, x in (("k", 0.9), ("l", -0.4)):  # without stress in this position
        length = float(np.linalg.norm(tip - [x, 0, 0.3]))
        spring = da.SpringDamper(stiffness=300.0, damping=4.0, length=length)
        s.connect(name, spring, crank.at(0.3, 0, 0), s.ground.at(x, 0, 0.3))
    return s


def test_a_loop_cut_anywhere_has_the_same_eigenvalues_and_outputs() -> None:
    found = []
    for place in range(4):
        model = _cut_at(place).compile()
        lin = da.linearize(
            model, inputs=["B.effort", "coupler.force.z"], outputs=["C.force.x", "rocker.at(0.4, 0, 0).velocity.z"]
        )
        assert lin.notes == ()
        w = 1j * 5.0
        transfer = lin.C @ np.linalg.solve(w * np.eye(2) - lin.A, lin.B) + lin.D
        found.append(np.concatenate([lin.eigenvalues, transfer.ravel()]))
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=1e-8)  # forces by differences


def test_given_coordinates_are_those_of_the_equations() -> None:
    model = _cut_at(0).compile()
    values = [da.linearize(model, independent_coordinates=[name]) for name in ("A", "B", "C")]
    assert [lin.coordinates for lin in values] == [("A",), ("B",), ("C",)]
    for lin in values[1:]:
        assert_allclose(lin.eigenvalues, values[0].eigenvalues, rtol=1e-9)
    with pytest.raises(da.ModelError, match="give 1 coordinates"):
        da.linearize(model, independent_coordinates=["A", "B"])
    with pytest.raises(da.ModelError, match="name coordinates"):
        da.linearize(model, independent_coordinates=["nothing"])


def test_a_singular_position_is_named() -> None:
    s = da.System("flat", gravity=(0, 0, 0))
    a, b, c = (s.body(n, da.rod(1.0, 1.0)) for n in "abc")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(1, 0, 0), b)
    s.connect("C", da.Revolute("y"), b.at(1, 0, 0), c.at(1, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(1, 0, 0), c)
    model = s.compile()
    flat = da.State(np.array([0.0, 0.0, 0.0]), np.zeros(3))
    assert np.abs(model.constraint_residual(flat.q)).max() < 1e-12
    with pytest.raises(da.SingularityError, match="2 DOF here, 1 nearby"):
        da.linearize(model, flat)


def _follows(model: da.Model, inputs: list[str], outputs: list[str], vary, state=None, size: float = 1.0) -> None:
    """Compare s' and outputs by each input with differences of the equations of motion themselves."""
    lin = da.linearize(model, state, inputs=inputs, outputs=outputs)
    space, s = lin.space, lin.state
    for k, name in enumerate(inputs):

        def at(h: float, name: str = name) -> tuple[np.ndarray, np.ndarray]:
            other = vary(name, h)
            near = replace(space, model=other).neighbour()  # with the same independent coordinates
            found = other.dynamics(s.t, near.q, near.v, s.x)
            read = [da.Result(other, [s.t], near.q[None], near.v[None], s.x[None])[each][0] for each in outputs]
            return np.concatenate([found.a[space.speeds], found.dx]), np.ravel(read)

        h = 1e-4 * size
        (up, up_read), (down, down_read) = at(h), at(-h)
        assert_allclose(lin.B[space.ny :, k], (up - down) / (2 * h), rtol=1e-5, atol=1e-6, err_msg=name)
        assert_allclose(lin.D[:, k], (up_read - down_read) / (2 * h), rtol=1e-5, atol=1e-6, err_msg=name)


def test_joint_forces_loads_laws_and_numbers_are_inputs() -> None:
    def made(effort: float = 0.0, tip: float = 0.0, law: float = 0.7, stiffness: float = 50.0) -> da.Model:
        s = _cut_at(0)
        s.connect("motor", da.Effort(lambda t: law), "A")
        s.connect("soft", da.TorsionSpring(stiffness=stiffness), "D")
        s.connect("more", da.Effort(effort), "B")
        s.connect("tip", da.Load(force=(0, 0, tip)), s.bodies["coupler"].at(0.3, 0, 0.1))
        return s.compile()

    start = da.start_state(made(), {"A.speed": 1.0})
    vary = {
        "B.effort": lambda h: made(effort=h),
        "coupler.at(0.3, 0, 0.1).force.z": lambda h: made(tip=h),
        "motor.effort": lambda h: made(law=0.7 + h),
        "soft.stiffness": lambda h: made(stiffness=50.0 + h),
    }
    outputs = ["D.force.x", "C.acceleration", "coupler.acceleration.z", "k.force.x", "A.position"]
    _follows(made(), list(vary), outputs, lambda name, h: vary[name](h), start)


def _driven(law: tuple[float, float, float]) -> da.Model:
    """Return a four-bar whose crank follows a law with given value, rate and second rate, with a pendulum on it."""
    s = _cut_at(0)
    bob = s.body("bob", mass=0.5, inertia=(0.01, 0.01, 0.01))
    s.connect("E", da.Revolute("y"), s.bodies["coupler"].at(0.5, 0, 0.1), bob.at(0, 0, 0.4))
    s.connect("e", da.JointSpring(stiffness=2.0, damping=0.1), "E")
    value, rate, second = law
    s.drive("A", position=da.Polynomial((value, rate, second / 2)))
    return s.compile()


def test_position_speed_and_acceleration_of_a_drive_are_inputs() -> None:
    law = np.array([-0.9, 2.0, 3.0])
    names = ["A.position", "A.speed", "A.acceleration"]

    def vary(name: str, h: float) -> da.Model:
        other = law.copy()
        other[names.index(name)] += h
        return _driven(tuple(other))

    start = da.start_state(_driven(tuple(law)), {"E": 0.2, "E.speed": 1.0})
    _follows(
        _driven(tuple(law)), names, ["D.force.x", "E.acceleration", "rocker.velocity.z", "bob.position.x"], vary, start
    )


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5, 4.0, 5.5])
def test_a_joint_driven_at_constant_speed_is_the_coordinate_and_nothing_grows(angle: float) -> None:
    """Where the crank is stays as it is; any other joint angle would grow or decay as the linkage moves."""
    s = four_bar(angle=angle)
    s.drive("A", speed=5.0)
    lin = da.linearize(s)
    assert lin.coordinates == ("A",) and lin.speeds == ()
    assert abs(lin.eigenvalues[0]) < 1e-12
    modes = da.modes(s)
    assert modes.rigid.all() and "grows" not in str(modes)
    assert da.linearize(s, independent_coordinates=["B"]).coordinates == ("B",)


def test_a_driven_distance_is_an_input() -> None:
    def made(law: tuple[float, float, float]) -> da.Model:
        s = da.System("winch")
        load = s.body("load", mass=2.0, inertia=(0.1, 0.1, 0.1))
        s.connect("ice", da.Planar("y"), s.ground, load)
        s.connect("rope", da.Distance(1.2), s.ground.at(0, 0, 1.0), load.at(0, 0, 0.2))
        s.drive("rope", position=da.Polynomial((law[0], law[1], law[2] / 2)))
        s.initial("ice", position=(0.3, 0.1, 0.05))
        return s.compile()

    law = np.array([1.2, -0.3, 0.4])
    model = made(tuple(law))
    start = da.start_state(model, {"ice.x.speed": 0.2, "ice.angle.speed": 0.5})
    names = ["rope.position", "rope.speed", "rope.acceleration"]

    def vary(name: str, h: float) -> da.Model:
        other = law.copy()
        other[names.index(name)] += h
        return made(tuple(other))

    _follows(model, names, ["load.at(0, 0, 0.2).velocity.x", "load.position.z"], vary, start)
    with pytest.raises(da.ModelError, match="is not available"):
        da.linearize(model, start, inputs=["rope.acceleration"], outputs=["rope.force.x"])


def test_a_cart_pole_is_balanced_by_lqr_from_its_linear_equations() -> None:
    from scipy.linalg import solve_continuous_are

    s = da.System("cart pole")
    cart, pole = s.body("cart", da.box(0.4, 0.2, 0.2, mass=1.0)), s.body("pole", da.rod(1.0, 0.3))
    s.connect("track", da.Prismatic("x"), s.ground, cart)
    s.connect("pivot", da.Revolute("y"), cart, pole.at(rotation=("y", np.pi / 2)))
    model = s.compile()
    upright = {"pivot": 0.0} if abs(model.forward_dynamics([0.0, 0.0], [0.0, 0.0])).max() < 1e-9 else {"pivot": np.pi}
    lin = da.linearize(model, upright, inputs="track.effort")
    if lin.stable:  # it hangs: stand it up
        lin = da.linearize(model, {"pivot": lin.state.q[model.q_slice("pivot")][0] + np.pi}, inputs="track.effort")
    assert not lin.stable
    M, m, half = 1.0, 0.3, 0.5
    growth = np.sqrt(m * G * half / (m * 1.0 / 3 - (m * half) ** 2 / (M + m)))
    assert_allclose(lin.eigenvalues.real.max(), growth, rtol=1e-9)
    S = solve_continuous_are(lin.A, lin.B, np.diag([1.0, 1.0, 0.1, 0.1]), np.eye(1))
    gain = (lin.B.T @ S)[0]

    def control(state: da.State) -> np.ndarray:
        away = np.concatenate([state.q - lin.state.q, state.v])
        return np.array([-gain @ away, 0.0])

    result = da.simulate(model, 20.0, state={"pivot": lin.state.q[1] + 0.3}, control=control)
    assert np.abs(result.q[-1] - lin.state.q).max() < 1e-3
    closed = da.linearize(model, lin.state, conditions=model.conditions(control=control), inputs=())
    assert_allclose(
        np.sort_complex(closed.eigenvalues), np.sort_complex(np.linalg.eigvals(lin.A - lin.B * gain)), rtol=1e-5
    )


def test_what_other_packages_take() -> None:
    control = pytest.importorskip("control")
    lin = da.linearize(point_mass_double_pendulum(), inputs=["A.effort"], outputs=["lower.position.x"])
    w = np.array([0.3, 2.0])
    by_control = control.frequency_response(lin.to_control(), w).frdata[0, 0]
    _, by_scipy = lin.to_scipy().freqresp(w)
    assert_allclose(by_control, by_scipy, rtol=1e-9)


def test_dry_friction_is_reported_to_be_left_out() -> None:
    s = da.System("rough")
    s.connect("A", da.Revolute("y", friction=1.0), s.ground, s.body("rod", da.rod(1.0, 1.0)))
    assert any("dry friction of 'A' is ignored" in note for note in da.linearize(s, {"A": np.pi / 2}).notes)


def test_sampled_control_is_refused() -> None:
    model = point_mass_double_pendulum().compile()
    sampled = model.conditions(control=da.SampledControl(lambda s: np.zeros(2), period=0.1))
    with pytest.raises(da.ModelError, match="sampled"):
        da.linearize(model, conditions=sampled)


def test_unknown_names_are_refused_with_what_there_is() -> None:
    with pytest.raises(da.ModelError, match=r"there are inputs such as 'A\.effort'"):
        da.linearize(point_mass_double_pendulum(), inputs="A.efort")
    with pytest.raises(da.ModelError):
        da.linearize(point_mass_double_pendulum(), outputs="lower.colour")
    with pytest.raises(da.ModelError, match="State"):
        da.linearize(point_mass_double_pendulum(), 3.0)


@pytest.mark.parametrize("t", [0.0, 1.0, 3.0])
def test_a_loop_is_linear_at_the_knots_of_a_load_over_time(t: float) -> None:
    """At the ends of a spline there are values on one side only."""
    spline = da.Spline([0, 1, 2, 3], [0.0, 3.0, 1.0, 2.0])

    def loaded(load: object) -> da.System:
        s = four_bar()
        s.connect("W", da.Load(force=(0, 0, load)), s.bodies["rocker"])
        return s

    model, twin = loaded(spline).compile(), loaded(spline(t)[0]).compile()
    state = da.start_state(model)
    state.t = t
    assert_allclose(da.linearize(model, state).A, da.linearize(twin, state).A, rtol=1e-12)
    assert_allclose(da.modes(model, state).eigenvalues, da.modes(twin, state).eigenvalues, rtol=1e-9)
    assert np.isfinite(da.linearize(model, state, "W.fz").frequency_response(frequencies=[1.0]).values).all()
    d = model.d_dynamics(t, state.q, state.v)
    assert_allclose(d.a.t, spline(t)[1] * d.a.inputs[:, model.input_names.index("W.fz")], rtol=1e-6)
    assert np.isfinite(d.lam.t).all()
    model.d_forward_dynamics(state.q, state.v, t=t)


def test_a_state_on_a_knot_of_a_table_has_the_slope_of_one_side_and_a_note() -> None:
    table = da.Table([0.0, 1.0, 2.0], values=[0.0, -1.0, -5.0], kind="linear")
    s = da.System("bent spring", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    s.connect("k", da.Element("joint", "f(s)", tables={"f": table}), "X")
    for at, sides in ((0.0, (1.0,)), (1.0, (1.0, 4.0)), (2.0, (4.0,)), (1.5, ())):
        lin = da.linearize(s, {"X": at})
        assert any("'k' has a knot" in note for note in lin.notes) == bool(sides)
        assert lin.stiffness[0, 0] in (sides or (4.0,))
