"""Building, naming, copying and removing parts of a system."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def four_bar_with_tip() -> da.System:
    s = da.System("four-bar")
    crank = s.body("crank", da.rod(0.1, 0.5))
    coupler = s.body("coupler", da.rod(0.4, 1.0))
    rocker = s.body("rocker", mass=0.8, com=(0.15, 0, 0), inertia=(1e-3, 6e-3, 6e-3))
    crank.marker("tip", 0.1)
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("B", da.Revolute("y"), s["crank.tip"], coupler)
    s.connect("C", da.Revolute("y"), coupler.at(0.4), rocker.at(0.3))
    s.connect("D", da.Revolute("y"), s.ground.at(0.35), rocker)
    return s


def test_parts_are_found_by_name() -> None:
    s = four_bar_with_tip()
    assert s["crank"].name == "crank" and s["A"].name == "A" and s["ground"] is s.ground
    assert s["crank.tip"].position.tolist() == [0.1, 0, 0] and s["crank.tip"].name == "crank.tip"
    assert "crank.tip" in s and "crank.top" not in s
    with pytest.raises(da.ModelError, match=r"'crnk'.*did you mean 'crank'"):
        s["crnk"]


def test_names_with_dots_are_found() -> None:
    s = da.System()
    body = s.body("arm.left", da.rod(1, 1))
    marker = body.marker("tip.end", 1)
    assert s["arm.left"] is body and s["arm.left.tip.end"] is marker


def test_a_copy_is_independent() -> None:
    s = four_bar_with_tip()
    s.initial("A", position=0.3, speed=1.0)
    t = s.copy("twin")
    t["crank"].mass = 9.0
    t.remove("D")
    t.initial("A", position=0.7)
    assert s["crank"].mass == 0.5 and "D" in s and s.initials["A"].position[0] == 0.3
    assert t.initials["A"].speed[0] == 1.0
    assert t["B"].first is t["crank.tip"] and t["crank.tip"].body is t["crank"]
    q = [0.2, 0.1, -0.3]
    assert np.allclose(t.compile().mass_matrix(q)[1:, 1:], s.compile().mass_matrix(q)[1:, 1:])


def test_a_removed_body_takes_its_connections_along() -> None:
    s = four_bar_with_tip()
    s.remove("rocker")
    assert set(s.connections) == {"A", "B"} and set(s.bodies) == {"crank", "coupler"}
    s.body("rocker", da.rod(1, 1))  # the name is free again


def test_a_marker_in_use_stays() -> None:
    s = four_bar_with_tip()
    with pytest.raises(da.ModelError, match="B"):
        s.remove("crank.tip")
    s.remove("B")
    s.remove("crank.tip")
    assert "crank.tip" not in s


def test_inertia_may_be_given_in_any_axes() -> None:
    s = da.System()
    R = da.euler((0.3, 0.4, 0.5), "ZXZ")
    body = s.body("b", mass=1, inertia=(1, 2, 2.5), inertia_axes=R)
    assert np.allclose(np.linalg.eigvalsh(body.inertia), [1, 2, 2.5])
    assert np.allclose(body.inertia @ R[:, 0], R[:, 0])
    six = s.body("six", mass=1, inertia=(1, 2, 2.5, 0.1, 0.2, 0.3))
    assert six.inertia[0, 1] == 0.1 and six.inertia[2, 0] == 0.2 and six.inertia[1, 2] == 0.3


def test_start_values_reach_the_model() -> None:
    s = four_bar_with_tip()
    s.remove("D")
    s.initial("B", position=0.4, speed=-2.0)
    state = s.compile().initial_state()
    assert state.q.tolist() == [0, 0.4, 0] and state.v.tolist() == [0, -2.0, 0]
    with pytest.raises(da.ModelError, match="position"):
        s.initial("B", position=(1, 2))
    with pytest.raises(da.ModelError, match="connection"):
        s.initial("crank", position=1)


BAD = {
    "negative mass": (lambda s: s.body("x", mass=-1.0), r"body 'x': mass is -1.0"),
    "not finite": (lambda s: s.body("x", mass=np.inf), r"body 'x': mass is inf"),
    "triangle inequality": (lambda s: s.body("x", mass=1, inertia=(1, 1, 3)), r"body 'x': inertia.*add up"),
    "negative moment": (lambda s: s.body("x", mass=1, inertia=(-1, 1, 1)), r"body 'x': inertia"),
    "unsymmetric": (lambda s: s.body("x", mass=1, inertia=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
    "shape and mass": (lambda s: s.body("x", da.rod(1, 1), mass=2), "has 1 kg already"),
    "duplicate body": (lambda s: s.body("crank", mass=1), "already"),
    "duplicate connection": (lambda s: s.connect("A", da.Fixed(), s.ground, s["crank"]), "already"),
    "body named as a connection": (lambda s: s.body("A", mass=1), "already"),
    "ground": (lambda s: s.body("ground", mass=1), "already"),
    "empty name": (lambda s: s.body("", mass=1), "non-empty"),
    "number as name": (lambda s: s.body(7, mass=1), "non-empty"),
    "unknown name": (lambda s: s["nothing at all"], "no body"),
    "other system": (lambda s: s.connect("x", da.Fixed(), s.ground, four_bar_with_tip()["crank"]), "another system"),
    "itself": (lambda s: s.connect("x", da.Fixed(), s["crank"], s["crank.tip"]), "two different bodies"),
    "not an end": (lambda s: s.connect("x", da.Fixed(), s.ground, 7), "give a body"),
    "unknown end": (lambda s: s.connect("x", da.Fixed(), s.ground, "cranc"), "second is 'cranc'; did you mean 'crank'"),
    "connection as an end": (lambda s: s.connect("x", da.Fixed(), "A", "crank"), "first is 'A'; it is a connection"),
    "point as an end": (lambda s: s.connect("x", da.Fixed(), "ground.at(1, 2)", "crank"), "give three numbers"),
    "not an element": (lambda s: s.connect("x", "revolute", s.ground, s["crank"]), "element"),
    "class, not element": (lambda s: s.connect("x", da.Fixed, s.ground, s["crank"]), r"Fixed\(\)"),
    "zero axis": (lambda s: da.Revolute((0, 0, 0)), "Revolute: axis"),
    "nan axis": (lambda s: da.Prismatic((0, 0, np.nan)), "Prismatic: axis"),
    "letter": (lambda s: da.Screw("w"), "Screw: axis"),
    "universal axes": (lambda s: da.Universal("x", (1, 1, 0)), "perpendicular"),
    "limits": (lambda s: da.Revolute("x", lower=2, upper=1), "upper limit"),
    "negative damping": (lambda s: da.Revolute("x", damping=-1), "damping"),
    "marker twice": (lambda s: s["crank"].marker("tip"), "already"),
    "marker position": (lambda s: s["crank"].at(0, np.nan, 0), "finite"),
    "marker rotation": (lambda s: s["crank"].at(rotation=np.ones((3, 3))), "orthonormal"),
    "gravity": (lambda s: da.System(gravity=9.81), "gravity"),
    "remove": (lambda s: s.remove(s.ground), "not a removable"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_by_name(case: str) -> None:
    action, pattern = BAD[case]
    with pytest.raises(da.ModelError, match=pattern):
        action(four_bar_with_tip())


def test_errors_carry_their_parts() -> None:
    with pytest.raises(da.ModelError) as caught:
        da.System().body("x", mass=-2.0)
    error = caught.value
    assert (error.item, error.field, error.value) == ("body 'x'", "mass", -2.0)
    assert str(error) == "body 'x': mass is -2.0; a mass must not be negative"
