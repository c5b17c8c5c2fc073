"""The C library: built and installed without Python, found by CMake, and used by the examples."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return the folder of the examples, built against an installed library."""
    if shutil.which("cmake") is None or shutil.which("ninja") is None or not (ROOT / "CMakeLists.txt").exists():
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("native")
    installed = folder / "installed"
    for command in (
        ["cmake", "-S", ROOT, "-B", folder / "library", "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={installed}"],
        ["cmake", "--build", folder / "library"],
        ["cmake", "--install", folder / "library"],
        ["cmake", "-S", ROOT / "examples" / "native", "-B", folder / "programs", f"-DCMAKE_PREFIX_PATH={installed}"],
        ["cmake", "--build", folder / "programs"],
    ):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "programs"


@pytest.mark.slow
def test_c_program_prints_the_numbers_of_python(programs, tmp_path):
    da.export(four_bar(), tmp_path / "m.dalm", outputs=["A.position", "D.force"])
    done = subprocess.run(
        [programs / "run_model", tmp_path / "m.dalm", "0.5", "1"], capture_output=True, text=True, check=True
    )
    head, _, last = done.stdout.splitlines()
    assert head == "t,A.position,D.force.x,D.force.y,D.force.z"
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    run.advance(0.5)
    assert np.array_equal([float(x) for x in last.split(",")], [0.5, *run.read("output")])
    (tmp_path / "m.dalm").write_bytes(b"DALM")
    done = subprocess.run([programs / "run_model", tmp_path / "m.dalm"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "no model file" in done.stderr


@pytest.mark.slow
def test_cpp_program_controls_an_arm(programs, tmp_path):
    s = da.System("arm")
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=2.0)))
    s.initial("A", position=0.5)
    da.export(s, tmp_path / "m.dalm", inputs=["A.effort"], outputs=["A.position"])
    done = subprocess.run(
        [programs / "control_arm", tmp_path / "m.dalm", "3"], capture_output=True, text=True, check=True
    )
    t, angle = map(float, done.stdout.split())
    assert t == 3.0
    assert abs(angle - 2.0 * 9.81 * 0.5 / 40.0) < 0.01  # where the weight is balanced, nearly horizontal
