"""The verbs of the command line on model files: answers as words and as JSON, files, exit codes, bad input."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.model_file_systems import URDF

import dalembert as da
from dalembert.cli import main
from dalembert.cli.arguments import parser
from dalembert.cli.completion import verbs_of
from dalembert.io.model_files.library_systems import library_systems

ARM = """\
dalembert: 1
parameters: {l: 1 m}
bodies:
  bob: {shape: {type: rod, length: = l, mass: 2 kg}}
connections:
  A: {type: Revolute, axis: y, damping: 0.1, between: [ground, bob]}
forces:
  k: {type: TorsionSpring, stiffness: 30 N m/rad, between: [A]}
simulate: {t_end: 500 ms, outputs: [bob.angle], rtol: 1e-9}
"""
VERBS = [
    "new", "check", "assemble", "kinematics", "simulate", "equilibrium", "modes", "linearize", "plot", "view",
    "convert", "demo", "doctor",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM)
    (tmp_path / "robot.urdf").write_text(URDF)
    assert main(["new", "four_bar.yaml", "-q"]) == 0
    return tmp_path


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    def answer(*arguments: str, status: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == status
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert found["status"] == status
        return found

    return answer


# ---- new


def test_a_new_file_runs_and_prints_the_same_as_its_copies(folder: Path, told: Any) -> None:
    words = (folder / "four_bar.yaml").read_text()
    assert words.count("#") > 8  # it explains itself
    found = told("simulate", "four_bar.yaml", "--t-end", "0.5", "--out", "run.nc")
    assert found["run"] == "finished" and found["loops_open_by"] < 1e-9 and found["energy_error"] < 1e-7
    assert found["written"] == ["run.nc"] and next(iter(found["outputs"])) == "rocker.angle"
    assert told("convert", "four_bar.yaml", "four_bar.json")["written"] == ["four_bar.json"]
    again = told("simulate", "four_bar.json", "--t-end", "0.5")
    assert again["outputs"] == found["outputs"] and again["times"] == found["times"]


def test_nothing_is_written_over_unless_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "arm.yaml").read_text()
    assert main(["new", "arm.yaml"]) == 2 and main(["convert", "four_bar.yaml", "arm.yaml"]) == 2
    assert "--force" in capsys.readouterr().err and (folder / "arm.yaml").read_text() == before
    assert main(["new", "arm.yaml", "--force"]) == 0
    assert main(["new", "arm.txt"]) == 2 and main(["new", "x.yaml", "--library", "nothing"]) == 2
    assert not (folder / "x.yaml").exists()


def test_systems_of_the_library_are_written_out(folder: Path, told: Any) -> None:
    told("new", "watt.yaml", "--library", "watt_six_bar")
    assert told("check", "watt.yaml")["mobility"] == library_systems()["watt_six_bar"]().check().mobility


# ---- analyses


def test_every_verb_answers_what_python_does(folder: Path, told: Any) -> None:
    s, bar = da.load("arm.yaml"), da.load("four_bar.yaml")
    found = told("check", "four_bar.yaml")
    assert (found["mobility"], found["driven_mobility"], found["parameters"]) == (1, 0, {"a": 0.1})
    found = told("assemble", "four_bar.yaml", "--hold", "A", "--branches")
    assert len(found["branches"]) == 2 and list(found["coordinates"].values()) == da.assemble(bar, hold="A").q.tolist()
    found = told("equilibrium", "arm.yaml")
    assert found["coordinates"]["A"] == pytest.approx(float(da.equilibrium(s).q[0]), abs=1e-12)
    found = told("modes", "arm.yaml", "--at", "rest")
    assert found["frequencies"] == pytest.approx(da.modes(s, da.equilibrium(s)).frequencies)
    found = told("linearize", "arm.yaml", "--at", "rest", "--outputs", "bob.angle", "--out", "plant.json")
    linear = da.linearize(s, da.equilibrium(s), outputs="bob.angle")
    np.testing.assert_allclose(found["A"], linear.A)
    assert json.loads((folder / "plant.json").read_text())["outputs"] == ["bob.angle"]
    found = told("kinematics", "four_bar.yaml", "--times", "0:1:0.1", "--outputs", "rocker.angle")
    assert found["outputs"]["rocker.angle"] == da.kinematics(bar, times=np.linspace(0, 1, 11))["rocker.angle"].tolist()
    found = told("kinematics", "four_bar.yaml", "--drive", "A", "--values", "0:6:0.5")
    assert found["states"] == 13


def test_settings_of_the_file_hold_unless_options_say_otherwise(folder: Path, told: Any) -> None:
    found = told("simulate", "arm.yaml")
    assert found["t"] == [0.0, 0.5] and list(found["outputs"]) == ["bob.angle"]
    assert found["final"]["A"] == da.simulate(da.load("arm.yaml"), 0.5, rtol=1e-9).q[-1, 0]
    assert told("simulate", "arm.yaml", "--t-end", "0.25")["t"][1] == 0.25


def test_other_numbers_reach_every_analysis(folder: Path, told: Any, capsys: pytest.CaptureFixture[str]) -> None:
    longer = told("equilibrium", "arm.yaml", "-p", "l=1200mm", "--parameter", "k.stiffness=40")
    s = da.load("arm.yaml").compile().with_parameters({"l": 1.2, "k.stiffness": 40.0})
    assert longer["coordinates"]["A"] == pytest.approx(float(da.equilibrium(s).q[0]), abs=1e-12)
    assert main(["simulate", "arm.yaml", "-p", "k.stifness=3"]) == 2
    assert "did you mean 'k.stiffness'" in capsys.readouterr().err
    assert main(["simulate", "arm.yaml", "-p", "l=long"]) == 2


def test_pictures_and_plots_are_written(folder: Path, told: Any) -> None:
    told("simulate", "arm.yaml", "--out", "run.nc")
    told("plot", "run.nc", "A.position", "--picture", "a.png")
    told("plot", "run.nc", "bob.velocity", "--model", "arm.yaml", "--picture", "b.png")
    for verb in ("check", "assemble", "equilibrium"):
        told(verb, "arm.yaml", "--draw", f"{verb}.png")
    for name in ("a", "b", "check", "assemble", "equilibrium"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_robots_are_models_too(folder: Path, told: Any) -> None:
    assert told("equilibrium", "robot.urdf")["coordinates"]["j"] == pytest.approx(0.0, abs=1e-6)
    told("convert", "robot.urdf", "robot.yaml")
    assert told("check", "robot.yaml")["mobility"] == 1


# ---- what is said when something is wrong


@pytest.mark.parametrize(
    ("text", "said", "status"),
    [
        (ARM.replace("2 kg", "2 mm"), "bad.yaml:4:47: unit is '2 mm'; the unit must be kg", 2),
        (ARM.replace("Revolute", "Revolt"), "did you mean 'Revolute'", 2),
        (ARM.replace("bodies:", "bodies: ["), "this is not YAML", 2),
        (ARM + "include: bad.yaml\n", "circle", 2),
        ("a: &a [x, x]\nb: [*a, *a]\n", "alias", 2),
        ("[" * 5000, "dalembert: bad.yaml", 2),
        (ARM + "initial: {A: {speed: .nan}}\n", "dalembert: bad.yaml", 2),
        ("", "a model file is a mapping", 2),
        ("dalembert: 1\ninclude: /dev/zero\n", "it is outside of the folder", 2),
        (ARM.replace("Revolute", "[1]"), "type is [1]", 2),
        (ARM.replace("2 kg}}", "2 kg}, visuals: 3}"), "visuals is 3", 2),
        (ARM.replace("2 kg}}", "2 kg}, visuals: [{kind: box}]}"), "missing 3 required", 2),
        (ARM + "mimics: {a: {x: 1}}\n", "unexpected entry 'x'", 2),
        (ARM.replace("= l,", "= l/(1 - 1),"), "it has no value", 2),
    ],
)  # fmt: skip
def test_a_bad_file_gives_one_line_and_no_traceback(
    text: str, said: str, status: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.yaml").write_text(text)
    for verb in ("check", "simulate", "view"):
        assert main([verb, "bad.yaml"]) == status
        error = capsys.readouterr().err
        assert said in error and "Traceback" not in error and error.count("\n") == 1
    assert main(["check", "bad.yaml", "--traceback"]) == status
    assert "Traceback" in capsys.readouterr().err
    assert main(["check", "bad.yaml", "--json"]) == status
    assert json.loads(capsys.readouterr().out)["kind"] == "FileError"


def test_no_answer_is_another_status_than_wrong_input(folder: Path, told: Any) -> None:
    open_loop = (folder / "four_bar.yaml").read_text().replace("at: [0.35, 0, 0]", "at: [9, 0, 0]")
    (folder / "open.yaml").write_text(open_loop)
    assert "does not close" in told("check", "open.yaml", status=1)["error"]
    (folder / "falls.yaml").write_text("dalembert: 1\nbodies: {b: {shape: {type: sphere, radius: 1, mass: 1}}}\n")
    assert told("equilibrium", "falls.yaml", status=1)["kind"] == "EquilibriumError"
    assert told("check", "none.yaml", status=2)["kind"] == "FileError"


# ---- help, completion, doctor


def test_every_verb_has_help_with_an_example() -> None:
    verbs = verbs_of(parser())
    assert set(VERBS) <= set(verbs)
    for name, verb in verbs.items():
        text = verb.format_help()
        assert "examples:" in text and f"dalembert {name}" in text.split("examples:")[1]
        for option in ("--quiet", "--json", "--traceback"):
            assert option in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_commands_and_options(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in (*VERBS, "t-end", "parameter", "branches"))
    if (program := shutil.which(shell)) is None:
        return
    script = tmp_path / "completion"
    script.write_text(text)
    assert subprocess.run([program, "-n", str(script)], capture_output=True).returncode == 0
    if shell == "bash":
        ask = f"source {script}; COMP_WORDS=(dalembert simulate --t-); COMP_CWORD=2; _dalembert; echo ${{COMPREPLY[@]}}"
        assert subprocess.run([program, "-c", ask], capture_output=True, text=True).stdout == "--t-end --t-start\n"
        for words, found in (("simulate --method do", "dop853 dopri5"), ("new --library four", "four_bar")):
            ask = f"source {script}; COMP_WORDS=(dalembert {words}); COMP_CWORD=3; _dalembert; echo ${{COMPREPLY[@]}}"
            assert subprocess.run([program, "-c", ask], capture_output=True, text=True).stdout == f"{found}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_methods_and_library_systems(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "dop853" in text and "LSODA" in text and "stewart" in text and "fixed free" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simul", "arm.yaml"], "there is no verb 'simul'; did you mean 'simulate'"),
        (["xyzzy"], "there is no verb 'xyzzy'; there are new, convert"),
        (["simulate", "arm.yaml", "--t_end", "3"], "did you mean '--t-end'"),
    ],
)
def test_misspelt_options_get_suggestions(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_a_new_file_names_parameters_that_it_has(folder: Path, told: Any) -> None:
    assert main(["new", "linkage.yaml"]) == 0
    (named,) = re.findall(r"`--parameter (\S+)`", Path("linkage.yaml").read_text())
    assert told("check", "linkage.yaml", "-p", named)["parameters"]["a"] == 0.12
    assert told("check", "linkage.yaml")["parameters"]["a"] == 0.1


def test_doctor_lists_the_installation(told: Any) -> None:
    found = told("doctor")
    assert found["works"] and found["dalembert"] == da.__version__ and found["instructions"] == da.isa
    assert found["packages"]["numpy"] == np.__version__


def test_quiet_is_quiet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("check", "simulate", "modes", "assemble", "doctor"):
        assert main([verb, *(["arm.yaml"] if verb != "doctor" else []), "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_tables_for_other_programs_are_written(folder: Path, told: Any) -> None:
    pytest.importorskip("openpyxl")
    from scipy.io import loadmat

    assert told("simulate", "arm.yaml", "--out", "run.mat")["written"] == ["run.mat"]
    assert "bob_angle" in loadmat("run.mat")
    assert told("simulate", "arm.yaml", "--out", "run.xlsx")["written"] == ["run.xlsx"]


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [
        ("--out", "run.xyz", "ends in"),
        ("--export", "there/run.html", "no folder"),
        ("--animate", "run.gif", "a folder"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_anything_is_computed(
    option: str, name: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.gif").mkdir()
    monkeypatch.setattr("dalembert.cli.motion_commands.run", lambda *_, **__: pytest.fail("it was computed"))
    assert main(["simulate", "arm.yaml", option, name]) == 2
    assert said in capsys.readouterr().err
