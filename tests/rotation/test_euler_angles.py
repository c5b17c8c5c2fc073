"""Sequences of three angles: all 24, their rates and second rates, as helpers, outputs and start values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert import rotation

SMALL = ["".join(axes) for axes in product("xyz", repeat=3) if axes[0] != axes[1] and axes[1] != axes[2]]
SEQUENCES = [*SMALL, *(letters.upper() for letters in SMALL)]


def test_there_are_twelve_sequences_each_way() -> None:
    assert len(SMALL) == 12


@pytest.mark.parametrize("convention", SEQUENCES)
def test_angles_are_those_of_scipy(convention: str) -> None:
    R = Rotation.random(50, random_state=1)
    angles = rotation.euler_angles(R.as_matrix(), convention)
    assert np.abs(angles - R.as_euler(convention)).max() < 1e-12  # digits that sines near their ends leave
    assert np.abs(rotation.euler(angles, convention) - R.as_matrix()).max() < 1e-14
    assert np.array_equal(rotation.to_euler(R.as_matrix(), convention), angles)
    assert np.array_equal(rotation.to_euler(R[3], convention), angles[3])


@pytest.mark.parametrize("axes", ["fixed", "turned"])
@pytest.mark.parametrize("convention", SEQUENCES)
def test_angular_velocity_and_acceleration_are_rates_of_the_attitude(convention: str, axes: str) -> None:
    rng = np.random.default_rng(2)
    angles, rates, second = rng.uniform(0.2, 1.3, size=(3, 20, 3))
    h = 1e-5

    def attitude(t: float) -> np.ndarray:
        return rotation.euler(angles + t * rates + t * t / 2 * second, convention)

    def omega(t: float) -> np.ndarray:
        return rotation.euler_velocity(
            angles + t * rates + t * t / 2 * second, rates + t * second, convention, axes=axes
        )

    R, R_dot = attitude(0.0), (attitude(h) - attitude(-h)) / (2 * h)
    R_t = R.swapaxes(1, 2)
    # central differences with h = 1e-5: h^2 and rounding / h are both near 1e-10
    assert np.abs(rotation.axial(R_dot @ R_t if axes == "fixed" else R_t @ R_dot) - omega(0.0)).max() < 1e-8
    alpha = rotation.euler_accelerations(angles, rates, second_rates=second, convention=convention, axes=axes)
    assert np.abs((omega(h) - omega(-h)) / (2 * h) - alpha).max() < 1e-8
    back = rotation.euler_rates(angles, omega(0.0), convention, axes=axes)
    assert np.abs(back - rates).max() < 1e-12
    again = rotation.euler_accelerations(angles, rates, acceleration=alpha, convention=convention, axes=axes)
    assert np.abs(again - second).max() < 1e-12


@pytest.mark.parametrize("convention", SEQUENCES)
def test_where_axes_coincide_the_attitude_is_met_and_rates_are_refused(convention: str) -> None:
    fold = np.pi / 2 if convention[0] != convention[2] else 0.0
    for second in (fold, -fold if fold else np.pi):
        R = rotation.euler((0.7, second, 0.4), convention)
        found = rotation.euler_angles(R, convention)
        assert found[2] == pytest.approx(0.0, abs=1e-15)
        assert np.abs(rotation.euler(found, convention) - R).max() < 1e-15
        with pytest.raises(da.SingularityError, match=rf"{convention}.*{convention[0]}\).*coincide"):
            rotation.euler_rates(found, (1.0, 0.0, 0.0), convention)


def test_digits_near_the_fold() -> None:
    """The third angle is read off after the first: together they are as good as anywhere."""
    for offset in (1e-3, 1e-5, 1e-6):
        R = rotation.bryant(0.7, np.pi / 2 - offset, 0.4)
        assert np.abs(rotation.euler(rotation.to_bryant(R), "XYZ") - R).max() < 1e-15


def test_rates_of_axes_obey_sols_corrected_identity() -> None:
    """W_ij - W_ji = w_i x w_j with W_ij = dw_j / d phi_i; the sign that Sol (2.2.13) lost."""
    phi, h = np.array([0.3, -0.4, 0.5]), 1e-6
    w = rotation.euler_axes(phi, "XYZ")
    steps = h * np.eye(3)
    W = [(rotation.euler_axes(phi + s, "XYZ") - rotation.euler_axes(phi - s, "XYZ")) / (2 * h) for s in steps]
    for i in range(3):
        for j in range(3):
            assert np.abs(W[i][:, j] - W[j][:, i] - np.cross(w[:, i], w[:, j])).max() < 1e-9


def test_skew_and_axial_are_inverse_for_many() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    assert np.array_equal(rotation.axial(rotation.skew(x)), x)
    assert np.allclose(np.einsum("...ij,...j->...i", rotation.skew(x), y), np.cross(x, y), atol=1e-15)


def test_quaternions_of_many_are_those_of_one() -> None:
    q = np.random.default_rng(0).normal(size=(6, 4))
    assert np.allclose(rotation.quaternion_matrices(q), [rotation.quaternion(*each) for each in q], atol=1e-15)


@pytest.mark.parametrize("wrong", ["XXY", "Xyz", "abc", "", 3])
def test_wrong_sequences_are_refused(wrong: object) -> None:
    with pytest.raises(da.ModelError, match="three axis letters"):
        rotation.euler_velocity((0, 0, 0), (0, 0, 0), wrong)  # type: ignore[arg-type]


# ---- of bodies and joints in motion


def spun() -> da.System:
    """Return a top on a ball joint with a tilted marker, and a free body beside it."""
    s = da.System("top")
    top = s.body("top", mass=2.0, com=(0, 0, 0.3), inertia=(0.1, 0.12, 0.05))
    s.connect("S", da.Spherical(), s.ground.at(0, 0, 1, rotation=("x", 0.3)), top.at(0, 0, 0, rotation=("y", 0.2)))
    s.connect("F", da.Free(), top.at(0, 0, 0.5), s.body("c", da.box(0.1, 0.2, 0.3, mass=1.0)))
    return s


@pytest.fixture(scope="module")
def flight() -> da.Result:
    s = spun()
    s.initial("S", bryant=(0.3, 0.4, 0.5), angle_rates=(1, 2, 5))
    s.initial("F", euler=((0.1, 0.2, 0.3), "zyx"), angle_rates=(0.5, 0.6, 0.7))
    return da.simulate(s, 0.2, times=np.linspace(0, 0.2, 401))


@pytest.mark.parametrize("name", ["S.bryant", "S.euler", "top.bryant", "top.euler_XZY", "F.euler_zyx", "c.euler_zxz"])
def test_outputs_of_rates_are_the_rates_of_outputs(flight: da.Result, name: str) -> None:
    angles, rates, second = flight[name], flight[f"{name}_rates"], flight[f"{name}_accelerations"]
    assert np.abs(np.diff(angles, axis=0)).max() < 0.1
    # differences over 0.5 ms of motions of some 10 rad/s, interpolated by the integrator's polynomials
    scale = np.abs(second).max()
    assert np.abs(np.gradient(angles, flight.t, axis=0)[2:-2] - rates[2:-2]).max() < 1e-4 * scale
    assert np.abs(np.gradient(rates, flight.t, axis=0)[2:-2] - second[2:-2]).max() < 1e-2 * scale
    assert np.array_equal(flight[f"{name}.2"], angles[:, 1])


def test_start_values_by_angles_are_met(flight: da.Result) -> None:
    assert np.abs(flight["S.bryant"][0] - [0.3, 0.4, 0.5]).max() < 1e-14
    assert np.abs(flight["S.bryant_rates"][0] - [1, 2, 5]).max() < 1e-13
    assert np.abs(flight["F.euler_zyx"][0] - [0.1, 0.2, 0.3]).max() < 1e-14
    assert np.abs(flight["F.euler_zyx_rates"][0] - [0.5, 0.6, 0.7]).max() < 1e-13


def test_start_values_by_name_and_by_place() -> None:
    names = {"S.bryant": (0.3, 0.4, 0.5), "S.bryant_rates": (1, 2, 5), "c.euler_ZYX": (0.3, 0.2, 0.1)}
    run = da.simulate(spun(), 0.01, state=names)
    for name, value in names.items():
        assert np.abs(run[name][0] - value).max() < 1e-12
    s = da.System("thrown", gravity=(0, 0, 0))
    s.body("stone", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.place("stone", euler=(0.1, 0.2, 0.3), angle_rates=(0.4, 0.5, 0.6))
    run = da.simulate(s, 0.01)
    assert np.abs(run["stone.euler"][0] - [0.1, 0.2, 0.3]).max() < 1e-14
    assert np.abs(run["stone.euler_rates"][0] - [0.4, 0.5, 0.6]).max() < 1e-12


def test_many_runs_start_from_many_angles() -> None:
    angles = np.random.default_rng(0).uniform(-1, 1, size=(3, 3))
    runs = da.simulate(spun(), 0.01, state={"S.bryant": angles, "S.bryant_rates": (1, 2, 3)})
    assert np.abs(runs["S.bryant"][:, 0] - angles).max() < 1e-13


def test_angles_survive_model_files(tmp_path) -> None:
    s = spun()
    s.initial("F", euler=((0.1, 0.2, 0.3), "zyx"), angle_rates=(1, 2, 3))
    da.save(s, tmp_path / "top.yaml")
    one = da.start_state(s)
    two = da.start_state(da.load(tmp_path / "top.yaml"))
    assert np.abs(one.q - two.q).max() < 1e-15
    assert np.abs(one.v - two.v).max() < 1e-14


def test_a_turning_body_counts_its_turns() -> None:
    s = da.System("spin", gravity=(0, 0, 0))
    s.body("disc", da.cylinder(0.1, 0.02, mass=1.0))
    s.place("disc", bryant=(0.2, 0.3, 0.0), angle_rates=(0.0, 0.0, 40.0))
    spin = da.simulate(s, 1.0, times=np.linspace(0, 1, 11))["disc.bryant"]
    assert spin[-1, 2] == pytest.approx(40.0, abs=1e-6)


def test_what_is_not_unique_is_marked_and_rates_are_refused_by_name() -> None:
    s = da.System("fold", gravity=(0, 0, 0))
    s.body("box", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.place("box", bryant=(0.4, np.pi / 2, 0.0))
    run = da.simulate(s, 0.01)
    assert not run.is_determined("box.bryant")[:, [0, 2]].any()
    assert run.is_determined("box.bryant")[:, 1].all()
    with pytest.raises(da.SingularityError, match=r"box\.bryant_rates.*coincide"):
        run["box.bryant_rates"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bryant": (1, 2, 3), "rotation": np.eye(3)}, "give one of them"),
        ({"angle_rates": (1, 2, 3)}, "give the angles too"),
        ({"bryant": (1, 2)}, "bryant"),
        ({"euler": ((1, 2, 3), "XXZ")}, "three axis letters"),
    ],
)
def test_contradictions_are_refused(given: dict, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        spun().initial("S", **given)
    with pytest.raises(da.ModelError, match=words):
        spun().place("c", **given)


def test_other_joints_have_no_attitude_to_give() -> None:
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=1.0)))
    with pytest.raises(da.ModelError, match="Spherical and Free"):
        s.initial("A", bryant=(0, 0.1, 0))
    with pytest.raises(da.ModelError, match=r"S\.bryant'"):
        da.simulate(spun(), 0.1, state={"S.bryant_rates": (1, 2, 3)})
