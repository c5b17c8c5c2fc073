"""Elements that measure attitudes: what happens half a turn away is said, not jumped over."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.model.law_inputs import law_inputs
from dalembert.rotation import from_rotation_vector


def turning(element: da.Element, speed: float = 10.0, start: float = 2.5) -> da.System:
    s = da.System("turning", gravity=(0, 0, 0))
    s.connect("R", da.Revolute("z"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("k", element, s.ground, s.bodies["b"])
    s.initial("R", position=start, speed=speed)
    return s


@pytest.mark.parametrize(
    "element",
    [
        da.Element("pose", [0, 0, 0, 0, 0, "-rz/1000"]),
        da.Bushing([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3]),
        da.Element("pose", lambda t, *m: [0, 0, 0, 0, 0, -m[5] / 1000]),
    ],
    ids=["formula", "bushing", "function"],
)
def test_half_a_turn_ends_a_run_by_the_name_of_the_element(element: da.Element) -> None:
    with pytest.raises(da.SingularityError, match=r"element 'k' have turned by half a turn") as caught:
        da.simulate(turning(element), 0.3)
    assert caught.value.result is not None and caught.value.result.t[-1] == pytest.approx(0.3)


def test_large_turns_below_half_a_turn_and_laws_without_attitude_go_on() -> None:
    stiff = da.Bushing([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    result = da.simulate(turning(stiff, speed=0.0, start=3.0), 2.0)
    assert np.abs(result["R.position"]).max() <= 3.0 + 1e-6 and result["R.position"].min() < -2.9
    blind = da.Element("pose", ["-x", "-y", "-z", 0, 0, "-wz/1000"])
    assert da.simulate(turning(blind), 2.0)["R.position"][-1] > 10.0


@pytest.mark.parametrize("method", ["scipy:RK45", "scipy:LSODA"])
def test_external_solvers_report_it_too(method: str) -> None:
    with pytest.raises(da.SingularityError, match=r"element 'k' have turned by half a turn"):
        da.simulate(turning(da.Bushing([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3])), 0.3, method=method)


def test_a_returned_result_reports_it() -> None:
    result = da.simulate(turning(da.Bushing([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3])), 0.3, on_error="return")
    assert result.status == "failed" and "half a turn" in result.message


def test_members_of_an_ensemble_that_pass_half_a_turn_are_distinguished_from_others() -> None:
    system = turning(da.Bushing([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3]))
    speeds = np.array([[0.1], [10.0], [-1.0], [5.0]])
    runs = da.simulate(system, 0.3, state=da.State(q=np.full((4, 1), 2.5), v=speeds), times=np.linspace(0, 0.3, 31))
    told = ["half a turn" in message for message in (run.message for run in runs)]
    assert told == [False, True, False, True]
    smooth = da.Element("pose", [0, 0, 0, 0, 0, "-sin(rz)/1000"])  # knows the rotation itself
    runs = da.simulate(turning(smooth), 0.3, state=da.State(q=np.full((4, 1), 2.5), v=speeds))
    assert not any(run.message for run in runs)


@pytest.mark.parametrize("many", [False, True])
def test_members_of_compounds_are_named(many: bool) -> None:
    """A soft and a stiff bushing in series: the soft one takes the turn."""
    stiff, soft = (da.Bushing([1.0, 1.0, 1.0, h, h, h]) for h in (1.0, 1e-4))
    members = {"stiff": (stiff, "a", "n"), "soft": (soft, "n", "b")}
    compound = da.Compound(("a", "b"), members, nodes={"n": ("pose", (0.0,) * 6)})
    words = r"member 'soft' of element 'k' have turned by half a turn"
    if many:
        state = da.State(q=np.full((2, 1), 2.5), v=np.array([[0.1], [10.0]]))
        runs = da.simulate(turning(compound), 0.2, state=state, times=np.linspace(0, 0.2, 21))
        assert runs[0].message == "" and "member 'soft' of element 'k'" in runs[1].message
        return
    with pytest.raises(da.SingularityError, match=words):
        da.simulate(turning(compound), 0.2)


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0.48, -0.6, 0.64), (-1, 1, 1)])
def test_half_a_turn_is_half_a_turn_about_its_axis(axis: tuple[float, float, float]) -> None:
    """There the difference of a rotation and its transpose is lost in rounding, and with it their axis."""
    s = da.System("turned", gravity=(0, 0, 0))
    b = s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("F", da.Free(), s.ground, b)
    s.connect("k", da.Element("pose", [0, 0, 0, "-rx", "-ry", "-rz"]), s.ground, b)
    model = s.compile()
    unit = np.array(axis) / np.linalg.norm(axis)
    for less in (0.0, 1e-17, 1e-16, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3):
        q = da.start_state(model, {"b.rotation": from_rotation_vector((np.pi - less) * unit)}).q
        one = np.zeros(1), q[None], np.zeros((1, 6)), np.zeros((1, 0))
        phi = law_inputs(model, "k", *one)[0, 4:7]
        assert abs(abs(phi @ unit) - (np.pi - less)) < 4e-15  # some roundings of pi
        assert np.abs(np.cross(phi, unit)).max() < 4e-15


def test_an_attitude_between_two_that_turn_is_half_a_turn_within_rounding() -> None:
    """Products of rotations may come out symmetric there to the last digit."""
    s = turning(da.Element("pose", [0, 0, 0, 0, 0, 0]))
    other = s.body("c", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("L", da.Revolute("z"), s.ground, other)
    s.connect("l", da.Element("pose", [0, 0, 0, 0, 0, "cos(rz)/1000"]), other, s.bodies["b"])
    lead = np.linspace(-3, 3, 2000)
    q = np.column_stack([lead + np.pi, lead])
    turn = law_inputs(s.compile(), "l", np.zeros(len(q)), q, np.zeros_like(q), np.zeros((len(q), 0)))[:, 4:7]
    assert np.abs(np.linalg.norm(turn, axis=1) - np.pi).max() < 2e-15
