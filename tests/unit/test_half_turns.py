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
