"""Sol 1983, sections 8.2 and 8.3: the kinematic simulation problem, KSP/0 to KSP/2."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.library import PumpData, fuel_injection_pump
from dalembert.library.mechanisms import four_bar, parallelogram


def massless(build: da.System) -> da.System:
    for body in build.bodies.values():
        body.mass = 0.0
        body.com[:] = 0.0
        body.inertia[:] = 0.0
    return build


def test_positions_speeds_and_accelerations_of_a_four_bar() -> None:
    """V-01, V-02, V-04, V-05, V-07: against the closed form by complex numbers."""
    s = da.System("four-bar")
    crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(2, 0, 0), coupler)
    s.connect("C", da.Revolute("z"), coupler.at(4, 0, 0), rocker.at(3, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(4, 0, 0), rocker)
    s.initial("A", position=np.pi / 3)
    s.initial("D", position=1.2)
    motion = da.kinematics(s, drive="A", values=np.pi / 3 + np.linspace(0.0, 2 * np.pi, 91))
    t = motion.t
    P = 2 * np.exp(1j * t)
    d = 4 - P
    reach = np.abs(d)
    along = (reach**2 + 16 - 9) / (2 * reach)
    C = P + d / reach * (along + 1j * np.sqrt(16 - along**2))
    point = motion["rocker.at(3, 0, 0).position"]
    assert np.allclose(point[:, 0] + 1j * point[:, 1], C, atol=1e-12)
    # KSP/1 and KSP/2: the loop differentiated
    p, pp = 1j * P, -P
    velocity = motion["rocker.at(3, 0, 0).velocity"] @ [1, 1j, 0]
    a, b = C - P, C - 4
    assert np.allclose((np.conj(a) * (velocity - p)).real, 0.0, atol=1e-12)
    assert np.allclose((np.conj(b) * velocity).real, 0.0, atol=1e-12)
    bend = motion["rocker.at(3, 0, 0).acceleration"] @ [1, 1j, 0]
    assert np.allclose((np.conj(a) * (bend - pp)).real + np.abs(velocity - p) ** 2, 0.0, atol=1e-11)
    assert np.allclose((np.conj(b) * bend).real + np.abs(velocity) ** 2, 0.0, atol=1e-11)


def test_first_assembly_from_approximate_attitudes() -> None:
    """V-03: bodies by `place`, found by least squares, then moved."""
    s = massless(four_bar())
    exact = da.kinematics(s, drive="A", values=[1.0, 1.1])
    for name in s.bodies:
        R = exact[f"{name}.rotation"][0]
        s.place(name, position=exact[f"{name}.position"][0] + 0.02, rotation=R)
    again = da.kinematics(s, drive="A", values=[1.0, 1.1])
    assert np.allclose(again.q, exact.q, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_assembly_from_attitudes_with_noise_stays_close(seed: int) -> None:
    """V-03: places and rotations off by 0.02 m and rad, each body by itself: the loop closes at the nearest place."""
    rng = np.random.default_rng(seed)
    s = four_bar()
    model = s.compile()
    exact = da.assemble(s, prefer={"A": 1.0}).q
    for name in list(s.bodies):
        place = model.pose(name, exact)
        R = Rotation.from_rotvec(0.02 * rng.normal(size=3)).as_matrix() @ place.rotation
        s.place(name, position=place.position + 0.02 * rng.normal(size=3) * place_scale(model), rotation=R)
    found = da.start_state(s.compile()).q
    assert np.abs(found - exact).max() < 0.1  # of the order of the noise, not of a radian


def place_scale(model: da.Model) -> float:
    """Return the length of the system in m, the unit of the noise."""
    return float(model.length)


def test_with_a_row_that_binds_speeds_the_rest_is_integrated() -> None:
    """V-06: a snake board's wheel, nd - nnp = 2 drives; the third coordinate follows by quadrature."""
    s = da.System("skate")
    board = s.body("board")
    s.connect("move", da.Planar("z"), s.ground, board)
    s.connect("wheel", da.KnifeEdge(), s.ground, board)
    s.drive("move.angle", position=da.Polynomial((0.2, 0.8)))
    s.drive("move.x", position=da.Polynomial((0.0, 1.0)))
    motion = da.kinematics(s, times=np.linspace(0.0, 1.0, 11))
    angle = 0.2 + 0.8 * motion.t
    assert np.allclose(motion["move.y.position"], (np.log(np.cos(0.2)) - np.log(np.cos(angle))) / 0.8, atol=1e-10)
    assert np.allclose(motion["move.y.acceleration"], 0.8 / np.cos(angle) ** 2, atol=1e-9)


def test_rank_singularities_and_the_choice_of_drives() -> None:
    """S-01 to S-06: rank, dead points told from singular positions, what to drive instead."""
    s = massless(four_bar())
    report = da.mobility(s)
    assert report.mobility == 1 and report.redundant
    whole = da.kinematics(s, drive="A", values=np.linspace(0.0, 2 * np.pi, 721))
    angle = whole["D.position"]
    dead = int(np.argmax(angle))
    at = da.mobility(s, whole.q[dead])
    assert at.rank == report.rank and at.determines("A")  # the rank is full: a bad choice, no singular position
    with pytest.raises(da.SingularityError, match=r"'D' cannot go beyond .* Drive .* instead"):
        begin = dead - 40
        s.initial("A", position=float(whole.t[begin]), guess=True)
        da.kinematics(s, drive="D", values=np.linspace(angle[begin], angle[dead] + 0.05, 9))


def test_the_pump_without_masses() -> None:
    """The pump of chapter 9 without masses: speeds of the roller and lift as printed, the rolling row integrated."""
    data = PumpData()
    pump = massless(fuel_injection_pump(films=False))
    for name in list(pump.forces):
        pump.remove(name)
    times = np.linspace(0.0, np.deg2rad(160) / abs(data.speed), 161)
    motion = da.kinematics(pump, times=times)
    spin = motion["pin.speed"] - motion["shaft.speed"]
    assert spin[0] == pytest.approx(244.3, abs=0.1)  # printed 245
    assert spin[np.abs(motion["shaft.position"] + np.pi).argmin()] == pytest.approx(331.6, abs=0.5)  # printed 332
    assert motion["guide.position"].max() == pytest.approx(0.010, abs=1e-6)
    run = da.simulate(fuel_injection_pump(films=False), float(times[-1]), times=times)
    same = np.isclose(motion["guide.acceleration"], run["guide.acceleration"], atol=1e-3)
    assert np.flatnonzero(~same).size <= 2  # a row where one piece of the profile meets the next
    assert np.allclose(motion["pin.position"], run["pin.position"], atol=1e-6)


def test_a_kinematic_singularity_and_the_ways_through_it() -> None:
    """S-03, S-04: a parallelogram laid flat; nd = nq - rank, rows that depend, a second coordinate chooses the way."""
    s = massless(parallelogram())
    flat = next(point for point in da.circuits(s, "A")[0].bifurcations if abs(point.value) < 1e-9)
    report = da.mobility(s, flat.q)
    assert report.mobility == 2 == len(flat.q) - report.rank
    assert report.rank == da.mobility(s).rank - 1
    assert len(flat.directions) == 4  # two ways, there and back
    assert "repeat what A, B, C already demand" in str(report) and "nearby it is 1" in str(report)
    # straight on, C follows the parallelogram
    rest = da.kinematics(s, drive="A", values=np.linspace(-0.5, 0.5, 11), state=[-0.5, 0.5, -0.5])
    assert np.allclose(rest["C"] - rest["C"][0], rest["A"] - rest["A"][0], atol=1e-9)
    ways = [np.abs(way / np.abs(way).max()) for way in flat.directions]
    assert len({tuple(way.round(6)) for way in ways}) == 2
    assert rest.stats.notes  # the position is told


@pytest.mark.parametrize("step", [0.05, 0.5, np.pi / 2])
def test_mirrored_assemblies_are_distinguished_and_kept(step: float) -> None:
    """S-07: two ways to close at every crank angle; however long the steps, the motion stays on its own."""
    s = massless(four_bar())
    branches = da.assemble(s, hold={"A": 1.0}, branches=True).branches
    assert len(branches) == 2
    sides = []
    for start in branches:
        motion = da.kinematics(s, drive="A", values=np.arange(1.0, 1.0 + 2 * np.pi + 1e-9, step), state=start)
        B, C = motion["coupler.position"][:, :2], motion["rocker.at(2, 0, 0).position"][:, :2]
        D = np.array([2.2, 0.0])
        side = np.sign((C - B)[:, 0] * (D - B)[:, 1] - (C - B)[:, 1] * (D - B)[:, 0])
        assert (side == side[0]).all()
        sides.append(side[0])
    assert sides[0] == -sides[1]


def crossed(angle: np.ndarray) -> np.ndarray:
    """Return the rocker's tip (n,), complex, of the parallelogram 1, 2, 1, 2 in its crossed branch.

    The tip of the parallelogram mirrored in the diagonal from the crank's pin to the rocker's bearing.
    """
    P = np.exp(1j * angle)
    along = 2.0 - P
    tip = P + 2.0
    return 2.0 + np.conj((tip - 2.0) / along) * along


@pytest.mark.parametrize("step", [0.02, 0.3, 1.0])
def test_a_coordinate_chooses_the_way_on_and_the_motion_goes_along_it(step: float) -> None:
    """S-04: at the flat position the extra coordinate says crossed; from there through it again, turn after turn."""
    s = massless(parallelogram())
    flat = next(point for point in da.circuits(s, "A")[0].bifurcations if abs(point.value) < 1e-9)
    model = da.kinematics(s, drive="A", values=[1.0]).model
    tip = "rocker.at(1, 0, 0).position"
    seen = set()
    for way in flat.directions:
        beside = flat.q + 0.02 * way / np.abs(way).max()  # q_s extended: both coordinates are given a direction
        begin = float(beside[0])
        onward = begin + np.sign(way[0]) * np.append(np.arange(0.0, 7.0, step), 7.0)
        motion = da.kinematics(s, drive="A", values=onward, state=beside)
        place = motion[tip] @ [1, 1j, 0]
        straight = np.exp(1j * motion["A.position"]) + 2.0
        ways = {"parallel": straight, "crossed": crossed(motion["A.position"])}
        (kind,) = [name for name, wanted in ways.items() if np.abs(place - wanted).max() < 1e-7]
        seen.add((kind, bool(way[0] > 0)))
        # through the flat positions at pi and 2 pi, on the same branch; said, since others meet there
        assert np.ptp(motion["A.position"]) == pytest.approx(7.0) and motion.stats.notes
        # the other branch is another motion: a quarter of a turn on they are far apart
        assert np.abs(ways["parallel"] - ways["crossed"]).max() > 1.0
    assert seen == {("parallel", True), ("parallel", False), ("crossed", True), ("crossed", False)}
    # S-05: no single drive at the flat position itself; it is refused there, with the word for it
    with pytest.raises((da.SingularityError, da.AssemblyError), match="singular position: start beside it"):
        da.kinematics(s, drive="A", values=[0.0, 0.1], state=flat.q)
    assert model.nq == len(flat.q)
