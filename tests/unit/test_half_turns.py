"""Elements that measure attitudes: what happens half a turn away is said, not jumped over."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


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
def test_methods_of_others_say_it_too(method: str) -> None:
    with pytest.raises(da.SingularityError, match=r"element 'k' have turned by half a turn"):
        da.simulate(turning(da.Bushing([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3])), 0.3, method=method)


def test_a_result_that_is_returned_says_it() -> None:
    result = da.simulate(turning(da.Bushing([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3])), 0.3, on_error="return")
    assert result.status == "failed" and "half a turn" in result.message


def test_members_of_an_ensemble_that_pass_half_a_turn_are_told_from_others() -> None:
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
