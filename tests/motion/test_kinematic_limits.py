"""Kinematic motion that is asked for too much: work is bounded, what was reached is kept, and Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar, slider_crank


def mechanism() -> da.natural.Mechanism:
    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 1.7), m.point("2", 4.8, 2.9)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 4), m.link("rocker", "2", "B", 3)
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A", "1"))
    return m


FORMS = {
    "by hand": (mechanism, "psi"),
    "natural": (lambda: four_bar().compile(form="natural"), "A"),
    "relative": (four_bar, "A"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("far", [1e9, -1e9])
@pytest.mark.parametrize("pace", [{}, {"speed": 10.0}, {"times": [0.0, 1.0]}])
def test_a_value_that_is_too_far_ends_the_motion_at_the_last_good_position(
    form: str, far: float, pace: dict[str, object]
) -> None:
    make, name = FORMS[form]
    near = da.kinematics(make(), drive=name, values=[0.4])
    motion = da.kinematics(make(), drive=name, values=[0.4, far], on_error="return", **pace)  # type: ignore[arg-type]
    assert motion.status == "failed" and len(motion) == 1
    assert motion.q == pytest.approx(near.q, abs=1e-12)
    assert "too far for 100000 steps: give rows in between" in motion.message
    with pytest.raises(da.SingularityError, match="too far") as error:
        da.kinematics(make(), drive=name, values=[0.4, far], **pace)  # type: ignore[arg-type]
    assert len(error.value.result) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", FORMS)
def test_a_thousand_turns_in_one_step_are_followed(form: str) -> None:
    make, name = FORMS[form]
    far = 0.4 + 2000 * np.pi
    there, near = (da.kinematics(make(), drive=name, values=v) for v in ([0.4, far], [0.4]))
    place = "2" if form == "by hand" else None
    if place is not None:
        assert there[place][-1] == pytest.approx(near[place][0], abs=1e-10)
    else:
        assert np.cos(there.q[-1]) == pytest.approx(np.cos(near.q[0]), abs=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [1e300, np.nan, np.inf])
def test_numbers_that_mean_nothing_are_refused(form: str, value: float) -> None:
    make, name = FORMS[form]
    for options in ({"values": [0.4, value]}, {"values": [value]}, {"values": [0.4, 1.0], "times": [0.0, value]}):
        with pytest.raises(da.ModelError, match=r"give (finite )?numbers"):
            da.kinematics(make(), drive=name, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
def test_speeds_beyond_all_numbers_are_refused(form: str) -> None:
    make, name = FORMS[form]
    with pytest.raises(da.SingularityError, match=r"are not finite|do not permit"):
        da.kinematics(make(), drive=name, values=[0.4, 0.5], times=[0.0, 1e-300])


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupt_ends_a_long_motion(form: str) -> None:
    make, name = FORMS[form]
    subject = make()
    values = 0.4 + 3e3 * abs(np.arange(4000) % 40 - 20)  # minutes of work, to and fro
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where runners ignore it, or tests replaced it
    ended, presses = threading.Event(), []

    # again: Python discards an interrupt that comes during a collection of garbage and is raised in a callback of it,
    # as Hypothesis has one
    def press() -> None:
        while not ended.wait(2.0 if presses else 0.3) and len(presses) < 10:
            presses.append(0)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            da.kinematics(subject, drive=name, values=values)
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert presses


def test_times_are_what_is_driven() -> None:
    """Plots, tables, datasets, files and words name the coordinate that goes through values, with its unit."""
    s = four_bar()
    swept = da.kinematics(s, drive="A", values=[0.0, 0.5, 1.0])
    assert swept.axis.label == "A [rad]" and "3 positions, A 0 to 1 rad" in repr(swept)
    assert swept.plot("B.position")[-1].get_xlabel() == "A [rad]"
    assert swept.to_pandas(["B.position"]).index.name == "A [rad]"
    told = swept.to_xarray().time.attrs
    assert (told["long_name"], told["units"]) == ("A", "rad")
    assert swept.at([0.2, 0.4]).axis == swept.with_times([0.2]).axis == swept.axis
    with pytest.raises(da.ModelError, match="values of A from 0 to 1 rad"):
        swept.at(2.0)
    back = da.kinematics(s, drive="A", values=[1.0, 0.5, 0.0])
    assert back.axis.label == "travel of A [rad]"
    assert da.kinematics(s, drive={"A": [0.0, 0.5]}).axis.label == "row"
    for timed in (
        da.kinematics(s, drive="A", values=[0.0, 1.0], speed=2.0),
        da.kinematics(s, drive="A", values=[0.0, 1.0], times=[0.0, 3.0]),
    ):
        assert timed.axis.label == "t [s]"


def test_times_of_mechanisms_by_hand_are_what_is_driven(tmp_path: object) -> None:
    m = mechanism()
    m.distance("gap", "1", "B")
    for name, values, label in (("psi", [0.4, 0.5], "psi [rad]"), ("gap", [3.5, 3.6], "gap [m]")):
        swept = da.kinematics(m, drive=name, values=values)
        assert swept.axis.label == label and swept.plot("2.x")[-1].get_xlabel() == label
        path = f"{tmp_path}/{name}.csv"
        swept.to_csv(path, ["2.x"])
        with open(path, encoding="utf-8") as file:
            assert file.readline().split(",")[0] == label
        swept.save(f"{tmp_path}/{name}.nc")
        assert da.Result.load(f"{tmp_path}/{name}.nc").axis == swept.axis


def test_joints_of_a_natural_form_are_driven_by_name() -> None:
    """The same positions as in joint coordinates, whichever joint is driven, in the tree or cut."""
    s = four_bar(1.0, 2.5, 2.0, 2.2)
    natural = s.compile(form="natural")
    first = da.kinematics(s, drive="A", values=[1.2, 1.4, 1.7])
    for joint in "ABCD":
        values = first[f"{joint}.position"]
        found = da.kinematics(natural, drive=joint, values=values, times=[0.0, 0.5, 1.0])
        again = da.kinematics(s, drive=joint, values=values, times=[0.0, 0.5, 1.0])
        assert found["coupler.angular_velocity"] == pytest.approx(again["coupler.angular_velocity"][:, 2], abs=1e-9)


def test_where_a_branch_ends_another_drive_is_named() -> None:
    """Beyond reach and at dead points, by hand and by joints; places are those of what is driven."""
    m = mechanism()
    m.distance("gap", "1", "B")
    with pytest.raises(da.AssemblyError, match=r"ends at gap = 6 m.*Drive '.*' instead") as error:
        da.kinematics(m, drive="gap", values=np.linspace(3.0, 7.0, 9))
    named = str(error.value).split("Drive '")[1].split("'")[0]
    assert da.motion_space(m, state=m.equations().start(), independent_coordinates=[named]).dofs == 1
    with pytest.raises(da.AssemblyError, match="at gap = 70 m"):
        da.kinematics(m, drive="gap", values=[70.0, 71.0])
    s = slider_crank()
    with pytest.raises(da.AssemblyError, match=r"drives at D = 5 m .'D' 5 m.: 'D' cannot go beyond 0.8 m"):
        da.kinematics(s, drive="D", values=[5.0, 5.1])
    with pytest.raises(da.SingularityError, match="start beside it, or drive 'B' or 'A'"):
        da.kinematics(s, drive="D", values=[0.8, 0.7], state=[0.0, 0.0, 0.8])
