"""FMUs: valid, and simulated by another importer with the numbers of Python."""

import zipfile

import numpy as np
import pytest

import dalembert as da
from dalembert import _core
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

fmpy = pytest.importorskip("fmpy")
validation = pytest.importorskip("fmpy.validation")

TYPES = ("CoSimulation", "ModelExchange")


def simulated(path, kind, end, **how):
    return fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=end, output_interval=end / 20, relative_tolerance=1e-9, **how
    )


def ball():
    s = da.System("ball")
    bob = s.body("bob", da.box(0.2, 0.3, 0.4, mass=2.0))
    s.connect("S", da.Spherical(), s.ground, bob.at(0.1, 0.2, 0.3))
    s.connect("k", da.SpringDamper(stiffness=100.0, damping=1.0, length=0.3), s.ground.at(1, 0, 0), bob)
    s.initial("S", speed=(1.0, 2.0, -0.5))
    return s, ["bob.position", "k.force"]


def loop():
    return four_bar(), ["A.position", "D.force", "coupler.velocity"]


def driven():
    s = four_bar()
    s.drive("A", position=da.Harmonic(0.3, 4.0))
    return s, ["B.position", "A.effort"]


def branches():
    s = da.System("branches")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    s.connect("m", da.Element("joint", "u - 3 * sign(ds) - 4 * s", inputs={"u": 1.0}, active=True), "A")
    return s, ["A.position", "m.effort"]


def states():
    s = da.System("states")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    s.connect("m", da.Maxwell(stiffness=40.0, damping=3.0), "A")
    return s, ["A.position", "m.effort"]


@pytest.mark.parametrize("fmi", [3, 2])
@pytest.mark.parametrize("make", [loop, ball, driven, branches, states])
def test_valid_and_as_simulate(make, fmi, tmp_path):
    system, outputs = make()
    da.export(system, tmp_path / "m.fmu", outputs=outputs, fmi=fmi)
    assert validation.validate_fmu(str(tmp_path / "m.fmu")) == []
    description = fmpy.read_model_description(str(tmp_path / "m.fmu"))
    names = [v.name for v in description.modelVariables if v.causality == "output"]
    result = da.simulate(system, 0.5, rtol=1e-10, atol=1e-12)
    expected = np.concatenate([np.ravel(result[name][-1]) for name in outputs])
    for kind, tol in zip(TYPES, (1e-6, 1e-4), strict=True):
        found = simulated(tmp_path / "m.fmu", kind, 0.5, output=names)
        size = 1.0 + abs(expected).max()
        assert abs(np.array([found[name][-1] for name in names]) - expected).max() < tol * size, kind


def test_inputs_and_parameters(tmp_path):
    system, outputs = branches()
    da.export(system, tmp_path / "m.fmu", inputs=["m.u"], outputs=outputs, parameters=["bob.mass"])
    assert validation.validate_fmu(str(tmp_path / "m.fmu")) == []
    held = np.array([(0.0, 2.0), (10.0, 2.0)], dtype=[("time", float), ("m.u", float)])
    for kind, tol in zip(TYPES, (1e-7, 1e-4), strict=True):
        found = simulated(tmp_path / "m.fmu", kind, 0.5, input=held, start_values={"bob.mass": 3.0})
        result = da.simulate(system, 0.5, parameters={"bob.mass": 3.0, "m.u": 2.0})
        assert abs(found["A.position"][-1] - result["A.position"][-1]) < tol


def test_start_values_of_states(tmp_path):
    da.export(chain(2, axes="y"), tmp_path / "m.fmu", outputs=["joint_1.position"])
    found = simulated(tmp_path / "m.fmu", "ModelExchange", 0.3, start_values={"state.joint_1.speed": 2.0})
    result = da.simulate(chain(2, axes="y"), 0.3, state={"joint_1.speed": 2.0})
    assert abs(found["joint_1.position"][-1] - result["joint_1.position"][-1]) < 1e-6


def test_friction_goes_along_in_co_simulation_only(tmp_path):
    s = da.System("rough")
    s.connect("A", da.Revolute("y", friction=2.0, lower=-0.5, upper=0.7), s.ground, s.body("b", da.rod(1.0, mass=2.0)))
    found = da.export(s, tmp_path / "m.fmu", outputs=["A.position"])
    assert any("co-simulation, not model exchange" in note for note in found.notes)
    assert validation.validate_fmu(str(tmp_path / "m.fmu")) == []
    assert fmpy.read_model_description(str(tmp_path / "m.fmu")).modelExchange is None
    motion = simulated(tmp_path / "m.fmu", "CoSimulation", 1.0)
    assert abs(motion["A.position"][-1] - da.simulate(s, 1.0)["A.position"][-1]) < 1e-7


@pytest.mark.parametrize("fmi", [3, 2])
def test_states_of_an_instance_are_saved(fmi, tmp_path):
    da.export(four_bar(), tmp_path / "m.fmu", outputs=["A.position"], fmi=fmi)
    folder = fmpy.extract(str(tmp_path / "m.fmu"), tmp_path / "unzipped")
    description = fmpy.read_model_description(folder)
    output = next(v.valueReference for v in description.modelVariables if v.name == "A.position")

    def read(fmu):
        return (fmu.getFloat64 if fmi == 3 else fmu.getReal)([output])[0]

    def step(fmu, t):
        return fmu.doStep(currentCommunicationPoint=t, communicationStepSize=0.1)

    def instance():
        fmu = fmpy.instantiate_fmu(folder, description, fmi_type="CoSimulation")
        if fmi == 2:
            fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        return fmu

    first, other = instance(), instance()
    step(first, 0.0)
    state = first.getFMUState() if fmi == 3 else first.getFMUstate()
    saved = first.serializeFMUState(state) if fmi == 3 else first.serializeFMUstate(state)
    step(first, 0.1)
    expected = read(first)
    (first.setFMUState if fmi == 3 else first.setFMUstate)(state)
    step(first, 0.1)
    assert read(first) == expected
    moved = other.deserializeFMUState(saved) if fmi == 3 else other.deSerializeFMUstate(saved)
    (other.setFMUState if fmi == 3 else other.setFMUstate)(moved)
    step(other, 0.1)
    assert read(other) == expected
    for fmu in (first, other):
        fmu.terminate()
        fmu.freeInstance()


def test_contents_and_refusals(tmp_path):
    found = da.export(four_bar(), tmp_path / "bar 1.fmu", outputs=["A.position"])
    with zipfile.ZipFile(found.path) as archive:
        names = archive.namelist()
        run = da.FileRun(archive.read("resources/model.dalm"))
    assert run.names["output"] == ("A.position",)
    assert next(name for name in names if name.startswith("binaries/")).endswith(("bar_1.so", "bar_1.dll"))
    assert (_core.fmu_isa == "portable") != any("processor" in note for note in found.notes)
    with pytest.raises(da.ModelError, match="libraries are installed for"):
        da.export(four_bar(), tmp_path / "m.fmu", platforms=["vax-vms"])
    with pytest.raises(da.ModelError, match="use 2 or 3"):
        da.export(four_bar(), tmp_path / "m.fmu", fmi=1)
    with pytest.raises(da.ModelError, match=r"joint_1\.effort.*one variable of a name"):
        da.export(chain(2), tmp_path / "m.fmu", inputs=["joint_1.effort"], outputs=["joint_1.effort"])
    assert not (tmp_path / "m.fmu").exists()
