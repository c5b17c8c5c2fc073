"""Degrees of freedom that move no inertia: named where accelerations are asked for, free to be held or driven."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def bar_between_balls(**bar: object) -> da.System:
    """Two blocks on rails, joined by a bar with a ball joint at each end."""
    s = da.System("bar")
    a, b = (s.body(name, da.box(0.1, 0.1, 0.1, mass=1.0)) for name in "ab")
    link = s.body("bar", **bar)  # type: ignore[arg-type]
    s.connect("A", da.Prismatic("x"), s.ground, a)
    s.connect("B", da.Prismatic("z"), s.ground, b)
    s.connect("S1", da.Spherical(), a, link)
    s.connect("S2", da.Spherical(), link.at(1.0), b)
    s.initial("A", position=-0.6)
    s.initial("B", position=0.8, guess=True)
    return s


@pytest.mark.parametrize(
    "bar", [{}, {"mass": 1.0, "com": (0.5, 0, 0)}, {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0, 0.1, 0.1)}]
)
def test_a_bar_that_spins_without_inertia_between_two_balls_is_named(bar: dict[str, object]) -> None:
    with pytest.raises(da.SingularityError, match=r"nothing resists along 'S1\.wx': 'bar' can.*\(about the axis"):
        da.simulate(bar_between_balls(**bar), 1.0)


def test_a_bar_with_any_inertia_about_its_axis_moves() -> None:
    result = da.simulate(bar_between_balls(mass=1.0, com=(0.5, 0, 0), inertia=(1e-5, 0.1, 0.1)), 0.2)
    assert result.stats.notes == [] and abs(result["energy.balance"]).max() < 1e-6


def test_a_massless_link_in_a_loop_moves_where_the_loop_brings_inertia() -> None:
    """The coupler of a parallelogram, without mass, hands the inertia of the rocker on to the crank."""
    s = da.System("parallelogram")
    crank, rocker = (s.body(name, da.rod(0.5, mass=1.0, axis="z")) for name in ("crank", "rocker"))
    coupler = s.body("coupler")
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("D", da.Revolute("y"), s.ground.at(1.0), rocker)
    s.connect("B", da.Revolute("y"), crank.at(0, 0, 0.5), coupler)
    s.connect("C", da.Revolute("y"), coupler.at(1.0), rocker.at(0, 0, 0.5))
    s.initial("A", position=0.5)
    model = s.compile()
    q = da.assemble(model).q
    assert model.massless_dof(q, t=0.0) == []


def universal_rod() -> da.Model:
    """A slender rod along z on a universal joint: its first angle turns it about itself when the second is zero."""
    s = da.System("singular", gravity=(0, 0, 0))
    s.connect("U", da.Universal("z", "x"), s.ground, s.body("rod", da.rod(1.0, mass=1.0, axis="z")))
    return s.compile()


@pytest.mark.parametrize("angle", [0.0, np.pi, -np.pi, 1e-9])
def test_singular_configurations_are_found_where_rounding_leaves_a_little(angle: float) -> None:
    model = universal_rod()
    assert model.massless_dof([0.3, angle]) == ["U.angle_1"]
    assert model.massless_dof([0.3, 0.01]) == []
    with pytest.raises(da.SingularityError, match=r"'U\.angle_1'.*'rod'"):
        da.simulate(model, 0.1, state=da.State(q=[0.3, angle], v=[1.0, 0.0]))


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e9])
def test_what_counts_as_nothing_does_not_depend_on_size_or_mass(scale: float) -> None:
    for mass in (1e-9, 1.0, 1e9):
        s = da.System("thin", gravity=(0, 0, 0))
        s.connect("A", da.Revolute("x"), s.ground, s.body("rod", da.rod(scale, mass=mass, radius=1e-4 * scale)))
        model = s.compile()
        assert model.massless_dof([0.0]) == []
        assert model.forward_dynamics([0.0], [0.0], [1.0])[0] == pytest.approx(2e8 / (mass * scale**2))


def massless_chain() -> da.System:
    s = da.System("massless")
    last = s.ground
    for k in range(3):
        body = s.body(f"l{k}")
        s.connect(f"j{k}", da.Revolute("y"), last.at(0.5 * (k > 0)), body)
        last = body
    return s


def test_a_massless_chain_has_poses_and_names_all_that_it_lacks() -> None:
    model = massless_chain().compile()
    assert model.pose("l2", [0.1, 0.2, 0.3]).position == pytest.approx(
        [0.5 * (np.cos(0.1) + np.cos(0.3)), 0, -0.5 * (np.sin(0.1) + np.sin(0.3))]
    )
    assert model.inverse_dynamics([0.1, 0.2, 0.3], np.ones(3), np.ones(3)).tolist() == [0, 0, 0]
    with pytest.raises(da.SingularityError, match="'j0', 'j1' and 'j2'"):
        model.forward_dynamics(np.zeros(3), np.zeros(3))


def test_a_massless_chain_may_be_driven_wholly_or_at_its_end() -> None:
    s = massless_chain()
    for k in range(3):
        s.drive(f"j{k}", position=da.Harmonic(0.1 * (k + 1), 3.0))
    result = da.simulate(s, 0.5)
    assert result["j2.position"][-1] == pytest.approx(0.3 * np.sin(1.5))
    s = da.System("hand on an arm")
    arm = s.body("arm", da.rod(1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("B", da.Revolute("y"), arm.at(1.0), s.body("hand", mass=0.5, com=(0, 0.1, 0)))  # on its own axis
    with pytest.raises(da.ModelError, match=r"body 'hand'.*'B'.*drive"):
        s.compile()
    s.drive("B", position=da.Harmonic(0.5, 4.0))
    result = da.simulate(s, 0.5)
    alone = da.System("alone")
    rod = alone.body("arm", da.rod(1.0, mass=1.0))
    alone.connect("A", da.Revolute("y"), alone.ground, rod)
    alone.connect("B", da.Fixed(), rod.at(1.0), alone.body("hand", mass=0.5, com=(0, 0.1, 0)))
    assert result["A.position"][-1] == pytest.approx(da.simulate(alone, 0.5)["A.position"][-1], abs=1e-7)


def test_the_fault_of_another_joint_is_not_hidden_by_a_driven_one() -> None:
    s = da.System("both")
    a = s.body("a", mass=1.0)  # on its own axis
    s.connect("A", da.Revolute("x"), s.ground, a)
    s.connect("B", da.Revolute("x"), a, s.body("b"))
    s.drive("B", speed=1.0)
    with pytest.raises(da.ModelError, match=r"body 'a'.*'A'"):
        s.compile()


def arm(masses: list[float], axes: str) -> da.System:
    """Return a chain of boxes 1 m long."""
    s = da.System("arm")
    before = s.ground
    for k, mass in enumerate(masses):
        link = s.body(f"b{k}", da.box(1.0, 0.1, 0.1, mass=mass))
        s.connect(f"j{k}", da.Revolute(axes[k % len(axes)]), before.at(1.0) if k else before, link)
        before = link
    return s


@pytest.mark.parametrize("axes", ["z", "zy", "zyx"])
@pytest.mark.parametrize(
    "masses",
    [[1e-3] * 30 + [1e8], [1.0] * 40 + [1e11], [1.0, 1e-9, 1e6], [1e6, 1e-20], [1e-6, 1e6] * 10],
)
def test_what_hangs_further_out_makes_no_dof_weak(masses: list[float], axes: str) -> None:
    model = arm(masses, axes).compile()  # links feel 1e12 times their mass: four digits are left
    for q in (np.zeros(model.nq), model.random_state(1).q):
        assert model.massless_dof(q) == []


def test_a_bar_without_spin_inertia_is_named_behind_a_heavy_chain() -> None:
    s = arm([1e-3] * 10 + [1e9], "zy")
    s.connect("ball", da.Spherical(), s.bodies["b10"].at(1.0), s.body("bar", da.rod(1.0, 1.0)))
    with pytest.raises(da.ModelError, match=r"body 'bar'.*DOF 'ball\.wx' of joint 'ball'"):
        s.compile()
    s = arm([1e-3] * 10 + [1e9], "zy")
    s.connect("A", da.Revolute("x"), s.bodies["b10"].at(1.0), s.body("sleeve"))
    s.connect("B", da.Revolute("x"), s.bodies["sleeve"], s.body("heavy", da.box(1.0, 1.0, 1.0, mass=1e6)))
    with pytest.raises(da.ModelError, match=r"body 'sleeve'.*DOF 'A' of joint 'A'"):
        s.compile()


@pytest.mark.slow
def test_a_chain_of_five_thousand_links_starts() -> None:
    state = da.start_state(da.library.chain(5000))
    notes = state.notes
    assert notes == [] and len(state.q) == 5000
