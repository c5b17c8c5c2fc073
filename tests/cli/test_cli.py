"""The command line: what it prints, what it writes, and how it says that something is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from systems.model_file_systems import URDF

import dalembert as da
from dalembert.cli import main

PENDULUM = """
import dalembert as da

system = da.System("pendulum")
rod = system.body("rod", da.rod(length=1.0, mass=2.0))
rod.marker("tip", 1.0, 0, 0)
system.connect("A", da.Revolute("y"), system.ground, rod)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum.py").write_text(PENDULUM)
    (tmp_path / "robot.urdf").write_text(URDF)
    return tmp_path


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(da.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *arguments], capture_output=True, text=True, env=environment
    )


def script(folder: Path, text: str) -> str:
    (folder / "model.py").write_text(text)
    return "model.py"


# ---- the program


def test_it_is_a_program_with_a_version_and_help(folder: Path) -> None:
    assert shell("--version").stdout.strip() == f"dalembert {da.__version__}"
    text = shell("--help").stdout
    assert all(command in text for command in ("demo", "check", "simulate", "tree", "exit status"))
    assert max(map(len, text.splitlines())) <= 120
    assert "scipy:LSODA" in shell("simulate", "--help").stdout
    assert shell().returncode == 2 and shell("simulate").returncode == 2
    failed = shell("check", "absent.py")
    assert failed.returncode == 2 and failed.stderr.startswith("dalembert: model: path is 'absent.py'")
    assert "Traceback" not in failed.stderr


def test_simulate_from_a_shell(folder: Path) -> None:
    run = shell("simulate", "pendulum.py", "--t-end", "0.5", "--out", "run.nc")
    assert run.returncode == 0 and run.stderr == ""
    assert "finished" in run.stdout and "written: run.nc" in run.stdout
    assert da.Result.load(folder / "run.nc").t[-1] == 0.5


# ---- demo


def test_the_demo_prints_tables_and_fills_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", str(tmp_path / "pictures")]) == 0
    text = capsys.readouterr().out
    assert "mobility 1, Grübler-Kutzbach count -2" in text and "mobility 1, Grübler-Kutzbach count 0" in text
    assert "rocker.angle [rad]" in text and "P0.position [rad]" in text
    files = {path.name: path for path in (tmp_path / "pictures").iterdir()}
    pictures = ["bricard.png", "bricard_energy.png", "four_bar.png", "four_bar_outputs.png"]
    pages = [name for name in files if name.endswith(".html")]  # where they could be bundled
    assert set(pages) <= {"bricard.html", "four_bar.html"}
    played = pages or ["bricard.gif", "four_bar.gif"]
    assert sorted(files) == sorted([*pictures, *played])
    for name in pictures:
        assert files[name].read_bytes().startswith(b"\x89PNG")


# ---- check and tree


def test_check_prints_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "pendulum.py", "--draw", "pendulum.png"]) == 0
    text = capsys.readouterr().out
    assert "system 'pendulum': 1 body" in text and "mobility 1" in text
    assert (folder / "pendulum.png").read_bytes().startswith(b"\x89PNG")
    assert main(["check", "robot.urdf"]) == 0
    assert "mobility 1" in capsys.readouterr().out
    assert main(["check", "robot.urdf", "--base", "free"]) == 2
    assert "body 'a': inertia is [[0.0" in capsys.readouterr().err


def test_loops_that_do_not_close_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = script(
        folder,
        "from dalembert.library.mechanisms import four_bar\nsystem = four_bar(1.0, 1.0, 1.0, ground=9.0)\n",
    )
    assert main(["check", model]) == 1
    assert "does not close" in capsys.readouterr().err


def test_tree_prints_the_tree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", "robot.urdf"]) == 0
    assert "j: Revolute → b" in capsys.readouterr().out
    assert main(["tree", str(folder / "absent.urdf")]) == 2
    assert "absent.urdf" in capsys.readouterr().err


# ---- which system is meant


@pytest.mark.parametrize(
    ("text", "more", "name"),
    [
        ("def system():\n    return make('made')\n", [], "made"),
        ("s = make('only')\nt = s\n", [], "only"),
        ("a, b = make('first'), make('second')\n", ["--system", "b"], "second"),
        ("def build():\n    return make('built')\n", ["--system", "build"], "built"),
        ("system = make('quiet')\nif __name__ == '__main__':\n    raise SystemExit(9)\n", [], "quiet"),
    ],
)
def test_a_python_file_gives_its_system(
    text: str, more: list[str], name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = "import dalembert as da\n\ndef make(name):\n    s = da.System(name)\n    s.body('b', da.sphere(1, 1))\n"
    (folder / "beside.py").write_text(beside + "    return s\n")
    before = list(sys.path)
    assert main(["check", script(folder, f"from beside import make\n{text}"), *more]) == 0
    assert f"system {name!r}" in capsys.readouterr().out
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("import dalembert as da\nx = 1 / 0\n", [], "model.py, line 2: ZeroDivisionError: division by zero"),
        ("import dalembert as da\nx = (\n", [], "model.py, line 2: '(' was never closed"),
        ("import dalembert as da\nda.System('s').body('b', da.rod(1, -2))\n", [], "model.py, line 2: ModelError: rod"),
        ("import missing_module\n", [], "model.py, line 1: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", [], "model.py, line 1: SystemExit: 3"),
        ("x = 3\n", [], "what it defines is 'no system'; define `system`"),
        ("import dalembert as da\na, b = da.System('a'), da.System('b')\n", [], "what it defines is 'a, b'"),
        ("system = 3\n", [], "system is 3; it must be a System, or a function"),
        ("def system():\n    return 1 / 0\n", [], "model.py, line 2: ZeroDivisionError"),
        ("x = 3\n", ["--system", "y"], "system is 'y'; it defines 'x'"),
    ],
)
def test_a_file_that_gives_no_system_is_refused_with_the_line_at_fault(
    text: str, more: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("check", "simulate"):
        assert main([command, script(folder, text), *more]) == 2
        assert message in capsys.readouterr().err


# ---- simulate


def test_simulate_prints_and_writes_what_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    names = "rod.angle,rod.at(0.5, 0, 0).velocity,A.force"
    files = ["--out", "run.nc", "--picture", "p.png", "--energy", "e.png", "--animate", "m.gif", "--trace", "rod.tip"]
    run = ["simulate", "pendulum.py", "--t-end", "1", "--times", "0:1:0.25", "--rtol", "1e-10", "--method", "dop853"]
    assert main([*run, "--plot", names, *files, "--fps", "10", "--speed", "0.5"]) == 0
    text = capsys.readouterr().out
    assert "rod.angle" in text and "dop853" in text and "rtol 1e-10" in text and "energy error" in text
    assert "written: run.nc, p.png, e.png, m.gif" in text
    result = da.Result.load(folder / "run.nc")
    assert np.array_equal(result.t, [0, 0.25, 0.5, 0.75, 1.0])
    assert result["rod.at(0.5, 0, 0).velocity"].shape == (5, 3)
    with Image.open(folder / "m.gif") as image:
        assert image.n_frames == 21


def test_simulate_takes_a_robot_and_any_method(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    for k, method in enumerate(["auto", "radau", "scipy:DOP853", "rk4"]):
        step = ["--fixed-step", "0.001"] if method == "rk4" else ["--max-step", "0.05"]
        run = ["simulate", "robot.urdf", "--t-end", "0.5", "--method", method, *step, "--out", f"{k}.csv", "-q"]
        assert main(run) == 0
        assert capsys.readouterr().out == ""
        ends.append(da.Result.load(folder / f"{k}.csv").final_state.q)
    assert np.allclose(ends, ends[0], rtol=0, atol=1e-6)


def test_a_run_that_cannot_go_on_leaves_what_it_had(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    law = "system.connect('e', da.Effort(lambda t: 1.0 if t < 0.5 else float('nan')), 'A')\n"
    assert main(["simulate", script(folder, PENDULUM + law), "--t-end", "1", "--out", "part.nc"]) == 1
    text = capsys.readouterr()
    assert "failed" in text.out and "written: part.nc" in text.out and text.err.startswith("dalembert: ")
    assert 0.4 < da.Result.load(folder / "part.nc").t[-1] <= 0.5


def test_an_interrupted_run_leaves_what_it_had(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    law = """
import signal

pressed = []

def push(t):
    if t > 0.5 and not pressed:
        pressed.append(t)
        signal.raise_signal(signal.SIGINT)
    return 1.0

system.connect('e', da.Effort(push), 'A')
"""
    model = script(folder, PENDULUM + law)
    assert main(["simulate", model, "--t-end", "100", "--max-step", "0.01", "--out", "part.nc"]) == 130
    assert "interrupted" in capsys.readouterr().out
    assert 0.3 < da.Result.load(folder / "part.nc").t[-1] < 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "rod.angel"], "rod.angel"),
        (["--out", "run.doc"], "run.doc"),
        (["--out", "absent/run.nc"], "absent"),
        (["--animate", "a.doc"], "a.doc"),
        (["--method", "magic"], "method is 'magic'"),
        (["--t-end", "-1"], "t_end is -1.0"),
        (["--times", "0:20:1"], "times"),
    ],
)
def test_wrong_wishes_are_refused(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert main(["simulate", "pendulum.py", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("times", ["0:1:0.3", "1:0:0.1", "0:1:0", "a,b", "0:1", "", "0:1:1e-400"])
def test_times_that_cannot_be_read_are_an_error_of_usage(
    times: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["simulate", "pendulum.py", "--times", times])
    assert stop.value.code == 2
    assert "START:END:STEP" in capsys.readouterr().err


def test_a_run_with_a_function_of_the_user_leaves_nothing_behind(folder: Path) -> None:
    text = """
def push(state):
    return [1.0]

result = da.simulate(system, 0.5, control=push, events=da.Event("e", lambda state: state.q[0] - 0.1))
"""
    run = shell("check", script(folder, PENDULUM + text))
    assert (run.returncode, run.stderr) == (0, "")


def test_a_motion_is_written_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("dalembert.view.web")
    if not (Path(da.__file__).parent / "view" / "web" / "page.js").is_file():
        pytest.skip("built without Node.js: no page")
    model = tmp_path / "model.py"
    model.write_text("from dalembert.library.mechanisms import four_bar as system\n")
    page = tmp_path / "motion.html"
    assert main(["simulate", str(model), "--t-end", "0.2", "--export", str(page), "-q"]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
