"""FMUs inside a system: model exchange as an element, co-simulation as a sampled control."""

import zipfile

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain


def actuator():
    """Return a system whose FMU is a force with two states: a mass on a spring, driven by a force at its slide."""
    s = da.System("actuator", gravity=(0, 0, 0))
    s.connect("x", da.Prismatic("x"), s.ground, s.body("mass", da.box(0.1, 0.1, 0.1, mass=0.5)))
    law = da.Element("joint", "20 * (u - s) - 0.4 * ds", inputs={"u": 0.0}, active=True)
    s.connect("k", law, "x")
    return s


def pendulum():
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    s.initial("A", position=0.3)
    return s


@pytest.fixture(params=[3, 2])
def path(request, tmp_path):
    found = da.export(actuator(), tmp_path / "actuator.fmu", inputs=["k.u"], outputs=["k.effort"], fmi=request.param)
    return found.path


def test_model_exchange_is_the_same_as_equations_in_one_system(path):
    fmu = da.FMU(path)
    assert fmu.states == ("state.x.position", "state.x.speed")
    s = pendulum()
    s.connect("f", fmu.element(force="k.effort", reads={"k.u": "s"}), "A")
    one = pendulum()
    law = da.Element(
        "joint",
        "20 * (s - z) - 0.4 * dz",
        states={"z": (0.0, "dz"), "dz": (0.0, "(20 * (s - z) - 0.4 * dz) / 0.5")},
        active=True,
    )
    one.connect("f", law, "A")
    found, expected = (da.simulate(each, 1.0, rtol=1e-10, atol=1e-12) for each in (s, one))
    assert abs(found["A.position"][-1] - expected["A.position"][-1]) < 1e-9
    assert abs(found.x[-1] - expected.x[-1]).max() < 1e-9


def test_co_simulation_has_first_order_in_the_period(path):
    fmu = da.FMU(path)
    s = pendulum()
    s2 = pendulum()
    s2.connect("f", fmu.element(force="k.effort", reads={"k.u": "s"}), "A")
    exact = da.simulate(s2, 0.5, rtol=1e-10, atol=1e-12)["A.position"][-1]
    errors = []
    for period in (0.02, 0.01, 0.005):
        control = fmu.sampled(s, reads={"k.u": "A.position"}, gives={"k.effort": "A"}, period=period)
        errors.append(abs(da.simulate(s, 0.5, control=control)["A.position"][-1] - exact))
    assert errors[2] < errors[1] < errors[0]
    assert 1.5 < errors[0] / errors[1] < 2.6


def test_runs_of_an_ensemble_have_their_own_instances(path):
    fmu, s = da.FMU(path), pendulum()

    def control():
        return fmu.sampled(s, reads={"k.u": "A.position"}, gives={"k.effort": "A"}, period=0.01)

    starts = [0.1, 0.2, 0.3]
    many = da.simulate(s, 0.2, state={"A": starts}, control=control())
    for run, start in zip(many, starts, strict=True):
        alone = da.simulate(s, 0.2, state={"A": start}, control=control())
        assert abs(run["A.position"][-1] - alone["A.position"][-1]) < 1e-9


def test_parameters_are_set(tmp_path):
    da.export(actuator(), tmp_path / "m.fmu", inputs=["k.u"], outputs=["x.position"], parameters=["mass.mass"])
    results = []
    for mass in (0.5, 2.0):
        fmu = da.FMU(tmp_path / "m.fmu", parameters={"mass.mass": mass})
        s = pendulum()
        s.connect("f", fmu.element(force="x.position", inputs={"k.u": 1.0}), "A")
        results.append(da.simulate(s, 0.3).x[-1][0])
        alone = actuator()
        found = da.simulate(alone, 0.3, parameters={"k.u": 1.0, "mass.mass": mass})
        assert abs(results[-1] - found["x.position"][-1]) < 1e-6
    assert results[0] != results[1]


def test_foreign_and_damaged_archives_are_refused(path, tmp_path):
    (tmp_path / "no.fmu").write_bytes(b"PK no")
    with pytest.raises(da.FileError, match=r"no\.fmu.*no FMU"):
        da.FMU(tmp_path / "no.fmu")
    with pytest.raises(FileNotFoundError):
        da.FMU(tmp_path / "none.fmu")
    with zipfile.ZipFile(tmp_path / "v1.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", '<fmiModelDescription fmiVersion="1.0"/>')
    with pytest.raises(da.FileError, match=r"2\.0 and 3\.0"):
        da.FMU(tmp_path / "v1.fmu")
    with zipfile.ZipFile(tmp_path / "out.fmu", "w") as archive:
        archive.writestr("../outside", "x")
    with pytest.raises(da.FileError, match="leads out"):
        da.FMU(tmp_path / "out.fmu")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "bare.fmu", "w") as new:
        new.writestr("modelDescription.xml", old.read("modelDescription.xml"))
        new.writestr("binaries/vax-vms/actuator.so", b"")
    with pytest.raises(da.ModelError, match="vax-vms"):
        da.FMU(tmp_path / "bare.fmu").element(force="k.effort")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "other.fmu", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) if not name.endswith(".dalm") else b"DALM")
    with pytest.raises(da.DalembertError, match="no model file"):
        da.FMU(tmp_path / "other.fmu").element(force="k.effort")


def test_wrong_names_and_events_are_refused(path, tmp_path):
    fmu, s = da.FMU(path), pendulum()
    with pytest.raises(da.ModelError, match=r"k\.efort.*k\.effort"):
        fmu.element(force="k.efort")
    with pytest.raises(da.ModelError, match="'s', the measure"):
        fmu.element(force="k.effort", reads={"k.u": "angle"})
    with pytest.raises(da.ModelError, match=r"no parameters|it has"):
        da.FMU(path, parameters={"mass.mas": 1.0})
    with pytest.raises(da.ModelError, match="velocity of a tree joint"):
        fmu.sampled(s, reads={}, gives={"k.effort": "B"}, period=0.1)
    with pytest.raises(da.ModelError, match="single numbers"):
        fmu.sampled(s, reads={"k.u": "bob.position"}, gives={}, period=0.1)
    switching = actuator()
    switching.connect("c", da.Element("joint", "-sign(ds)"), "x")
    da.export(switching, tmp_path / "switching.fmu", outputs=["x.position"])
    with pytest.raises(da.ModelError, match="event indicators"):
        da.FMU(tmp_path / "switching.fmu").element(force="x.position")


def test_a_failing_step_ends_the_run_with_its_partial_result(tmp_path):
    s = chain(1, axes="y")
    s.connect("f", da.Effort(da.Ramp(0.0, 1.0, 0.1, 0.1)), "joint_1")
    da.export(s, tmp_path / "m.fmu", outputs=["joint_1.position"], horizon=0.25)
    fmu, arm = da.FMU(tmp_path / "m.fmu"), pendulum()
    control = fmu.sampled(arm, reads={}, gives={"joint_1.position": "A"}, period=0.1)
    with pytest.raises(da.UserFunctionError, match="DoStep failed") as caught:
        da.simulate(arm, 1.0, control=control)
    assert caught.value.result is not None
    assert np.isclose(caught.value.result.t[-1], 0.3)
