"""Planar mechanisms that dyads build up: their closed forms against Newton's method on the loop equations.

The core follows motions with jerks by Newton's method alone, which is the independent solution here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as da
from dalembert.library import jansen
from dalembert.library.mechanisms import andrews, four_bar, slider_crank
from dalembert.model.driven_kinematics import KinematicSweep, sweep_kinematics

Turn = np.linspace(0.0, 2 * np.pi, 181)


def crank_rocker(lengths: tuple[float, float, float, float] = (1.0, 3.0, 3.0, 4.0), axes: object = None) -> da.System:
    """Return a four-bar on a marker of ground with some axes; its rocker's joint is described from the rocker."""
    base, first, second, third = (lengths[3], *lengths[:3])
    s = da.System("four-bar")
    at = s.ground.marker("base", rotation=axes) if axes is not None else s.ground.origin
    crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
    s.connect("A", da.Revolute("z"), at, crank)
    s.connect("B", da.Revolute("z"), crank.at(first, 0, 0), coupler)
    s.connect("C", da.Revolute("z"), coupler.at(second, 0, 0), rocker.at(third, 0, 0))
    s.connect("D", da.Revolute("z"), rocker, at.point(base, 0, 0))
    s.initial("B", position=0.5, guess=True)
    return s


def quick_return() -> da.System:
    """Return a crank whose pin slides along an arm that turns about another point (RPR), off its axis."""
    s = da.System("quick return")
    crank, block, arm = s.body("crank"), s.body("block"), s.body("arm")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(0.4, 0, 0), block)
    s.connect("C", da.Prismatic("x"), arm.at(0, 0.05, 0), block)
    s.connect("D", da.Revolute("z"), s.ground.at(-1.0, 0, 0), arm)
    return s


def scotch_yoke() -> da.System:
    """Return a crank whose pin slides across a yoke, which slides along a guide that is not square to it (RPP)."""
    s = da.System("yoke")
    crank, block, yoke = s.body("crank"), s.body("block"), s.body("yoke")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(0.4, 0, 0), block)
    s.connect("C", da.Prismatic([0.2, 1.0, 0]), yoke, block)
    s.connect("D", da.Prismatic("x"), s.ground, yoke)
    return s


def trammel() -> da.System:
    """Return a rod that a crank turns with one guide for a slide, whose pin runs in another guide (PRP)."""
    s = da.System("trammel")
    crank, slide, other = s.body("crank"), s.body("slide"), s.body("other")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Prismatic("x"), crank.at(0, 0.1, 0), slide)
    s.connect("C", da.Revolute("z"), slide.at(0.3, 0.1, 0), other)
    s.connect("D", da.Prismatic("x"), s.ground.at(0, 0.5, 0), other)
    return s


def two_planes() -> da.System:
    """Return a slider-crank that drives a dyad on another level, with a welded arm on its rod."""
    s = da.System("two levels")
    crank, rod, block, arm = s.body("crank"), s.body("rod"), s.body("block"), s.body("arm")
    lever, link = s.body("lever"), s.body("link")
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("B", da.Revolute("y"), crank.at(0.3, 0.1, 0), rod)
    s.connect("C", da.Revolute("y"), rod.at(1.0, 0, 0), block)
    s.connect("D", da.Prismatic("x"), s.ground.at(0, 0.1, 0.05), block)
    s.connect("weld", da.Fixed(), rod.at(0.5, 0.2, 0.1), arm)
    s.connect("E", da.Revolute("y"), arm.at(0.1, 0, -0.2), link)
    s.connect("F", da.Revolute("y"), link.at(0.9, 0, 0), lever.at(0.6, 0, 0))
    s.connect("G", da.Revolute("y"), s.ground.at(0.4, 0.3, -1.0), lever)
    return s


def random_axes(rng: np.random.Generator) -> np.ndarray:
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return axes * np.sign(np.linalg.det(axes))


def agree(model: da.Model, t: np.ndarray, q: np.ndarray) -> tuple[KinematicSweep, KinematicSweep]:
    """Return the motion in closed form and by Newton's method, which agree to rounding."""
    closed, newton = (sweep_kinematics(model, t, q, jerk=jerk) for jerk in (False, True))
    assert closed.status == newton.status
    assert len(closed.t) == len(newton.t)
    # rounding grows where links come into line
    worst = 1.0 / max(float(closed.slack[closed.slack > 0].min(initial=1.0)), 1e-6)
    for name, power in (("q", 1), ("v", 2), ("a", 3)):
        one, other = getattr(closed, name), getattr(newton, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * worst**power * (1.0 + np.abs(other).max()))
    return closed, newton


@pytest.mark.parametrize(
    "build",
    [four_bar, slider_crank, andrews, lambda: jansen(2), crank_rocker, quick_return, scotch_yoke, two_planes],
    ids=["four-bar", "slider-crank", "Andrews", "Jansen", "crank-rocker", "RPR", "RPP", "levels"],
)
def test_a_turn_is_that_of_the_loop_equations(build: Callable[[], da.System]) -> None:
    s = build()
    crank = next(iter(s.connections))
    start = float(da.assemble(s).q[0])
    motion = da.kinematics(s, drive=crank, values=start + np.concatenate([Turn, 2 * np.pi + Turn[1:]]))
    closed, newton = agree(motion.model, motion.t, motion.q[0])
    assert closed.corrections < 10 < newton.corrections  # the first position alone takes Newton's method
    assert np.abs(motion.model.constraint_residual(closed.q, t=closed.t)).max() < 1e-13


def test_two_guides_that_cross_lead_a_slide() -> None:
    motion = da.kinematics(trammel(), drive="A", values=np.linspace(0.6, 2.4, 200))
    closed, _ = agree(motion.model, motion.t, motion.q[0])
    assert closed.corrections < 10


def test_a_driven_slide_moves_a_linkage() -> None:
    s = slider_crank()
    slide = next(name for name, c in s.connections.items() if isinstance(c.element, da.Prismatic))
    value = float(da.kinematics(s, drive=next(iter(s.connections)), values=[0.5])[f"{slide}.position"][0])
    motion = da.kinematics(s, drive=slide, values=value + np.linspace(0, -0.05, 100), state=da.assemble(s).q)
    agree(motion.model, motion.t, motion.q[0])


@pytest.mark.parametrize("seed", range(12))
def test_random_four_bars_in_any_plane(seed: int) -> None:
    rng = np.random.default_rng(seed)
    while True:
        short, *others, long = np.sort(rng.uniform(0.4, 2.0, 4))
        if short + long < sum(others) - 0.02:  # Grashof: the shortest turns
            break
    s = crank_rocker((short, others[0], others[1], long), axes=random_axes(rng))
    motion = da.kinematics(s, drive="A", values=rng.uniform(-3, 3) + Turn)
    closed, _ = agree(motion.model, motion.t, motion.q[0])
    assert closed.corrections < 40
    slow, fast = motion.q, da.kinematics(s, drive="A", values=motion.t[::30]).q
    np.testing.assert_allclose(np.sin(slow[::30] - fast), 0.0, atol=1e-11)  # the branch does not depend on the rows


def test_the_branch_ends_where_links_come_into_line() -> None:
    s = crank_rocker((2.0, 1.5, 1.0, 3.0))  # the crank cannot turn
    limit = np.arccos((2.0**2 + 3.0**2 - 2.5**2) / (2 * 2.0 * 3.0))
    for rows in (50, 500, 5000):
        with pytest.raises(da.SingularityError, match="the motion ends at A") as caught:
            da.kinematics(s, drive="A", values=np.linspace(0.2, 2.0, rows))
        reached = caught.value.result
        assert reached.t[-1] <= limit < reached.t[-1] + 1.8 / (rows - 1)
        agree(reached.model, reached.t, reached.q[0])


def test_rows_on_both_sides_of_a_gap_are_not_joined() -> None:
    """Where the crank passes out of reach between two rows, the motion ends."""
    s = crank_rocker((1.0, 1.2, 0.79, 3.0))  # reach 1.99, and the crank's end is at least 2 away: never
    with pytest.raises(da.AssemblyError):
        da.kinematics(s, drive="A", values=Turn)
    s = crank_rocker((1.0, 1.2, 1.2, 3.0))  # out of reach around an angle of pi
    start = 0.7
    with pytest.raises(da.SingularityError):
        da.kinematics(s, drive="A", values=[start, 2 * np.pi - start])


def test_a_parallelogram_passes_straight_through() -> None:
    s = crank_rocker((1.0, 3.0, 1.0, 3.0))
    s.initial("A", position=1.0)
    s.initial("B", position=-1.0, guess=True)
    motion = da.kinematics(s, drive="A", values=1.0 + np.linspace(0, 2 * np.pi, 100))
    np.testing.assert_allclose(np.sin(motion["B.position"] + motion["A.position"]), 0.0, atol=1e-9)
    newton = sweep_kinematics(motion.model, motion.t, motion.q[0], jerk=True)
    np.testing.assert_allclose(motion.q, newton.q, atol=1e-8)


def test_links_out_of_the_plane_take_the_general_way() -> None:
    s = da.System("spatial slider-crank")
    crank, rod, block = s.body("crank"), s.body("rod"), s.body("block")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Spherical(), crank.at(0.3, 0, 0), rod)
    s.connect("C", da.Universal("y", "z"), rod.at(1.0, 0, 0), block)
    s.connect("D", da.Prismatic("x"), s.ground.at(0, 0, 0.2), block)
    motion = da.kinematics(s, drive="A", values=0.3 + Turn)
    assert motion.stats.evaluations > 100
    assert np.abs(motion.model.constraint_residual(motion.q, t=motion.t)).max() < 1e-12
