"""What cannot be exported is refused by name, with a way out."""

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain


def pendulum():
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    return s


def python_law():
    s = pendulum()
    s.connect("e", da.Element("joint", lambda t, s, ds: -s), "A")
    return s


def driven_by_function():
    s = pendulum()
    s.drive("A", position=lambda t: np.sin(t))
    return s


def output_input():
    s = pendulum()
    s.connect("e", da.Element("joint", "u", inputs={"u": "bob.position.z"}), "A")
    return s


def delayed():
    s = pendulum()
    s.connect("e", da.Element("joint", "u", inputs={"u": da.Delay("A.position", 0.1)}), "A")
    return s


@pytest.mark.parametrize(
    "make, words",
    [
        (python_law, ["element 'e'", "function of Python", "formula"]),
        (driven_by_function, ["drive 'A", "function of Python", "Harmonic"]),
        (output_input, ["element 'e'", "bob.position.z", "Sensor"]),
        (delayed, ["element 'e'", "delay", "no history"]),
    ],
)
def test_python_in_a_system(make, words, tmp_path):
    with pytest.raises(da.ModelError) as caught:
        da.export(make(), tmp_path / "m.dalm")
    assert all(word in str(caught.value) for word in words)
    assert not (tmp_path / "m.dalm").exists()


@pytest.mark.parametrize(
    "how, words",
    [
        ({"inputs": ["A.efort"]}, ["A.efort", "'A.effort'"]),
        ({"inputs": ["bob.mass"]}, ["bob.mass", "make it a parameter"]),
        ({"inputs": ["A.effort", "A.effort"]}, ["given twice"]),
        ({"outputs": ["A.posision"]}, ["A.position"]),
        ({"outputs": ["energy.work"]}, ["energy.work"]),
        ({"parameters": ["bob.mas"]}, ["bob.mass"]),
        ({"horizon": -1.0, "values": {"bob.mas": 1.0}}, ["bob.mass"]),
        ({"stops": "hard"}, ["stops"]),
    ],
)
def test_wrong_arguments(how, words, tmp_path):
    with pytest.raises(da.ModelError) as caught:
        da.export(pendulum(), tmp_path / "m.dalm", **how)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_contacts_are_refused_unless_they_are_off(tmp_path):
    s = da.System("ball")
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    s.connect("F", da.Free(), s.ground, ball)
    s.contact("floor", ball, da.plane())
    with pytest.raises(da.ModelError, match=r"contact 'floor'.*contact='off'"):
        da.export(s, tmp_path / "m.dalm")
    da.export(s, tmp_path / "m.dalm", contact="off")


def test_parameters_that_follow_from_others_are_named(tmp_path):
    with pytest.raises(da.ModelError, match=r"ends in"):
        da.export(chain(2), tmp_path / "m.txt")


def test_an_effort_of_a_driven_joint_is_refused(tmp_path):
    s = pendulum()
    s.drive("A", position=da.Harmonic(0.3, 4.0))
    with pytest.raises(da.ModelError, match=r"given by a drive"):
        da.export(s, tmp_path / "m.dalm", inputs=["A.effort"])
    found = da.export(s, tmp_path / "m.dalm", outputs=["A.effort"])
    run = da.FileRun(found.path)
    run.start()
    run.advance(0.2)
    assert abs(run["A.effort"] - da.simulate(s, 0.2)["A.effort"][-1]) < 1e-9
