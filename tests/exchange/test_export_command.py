"""The command `dalembert export`."""

import json

import dalembert as da
from dalembert.cli import main
from dalembert.library import chain


def test_a_file_is_written_with_the_named_quantities(tmp_path, capsys):
    da.save(chain(2, axes="y"), tmp_path / "arm.yaml")
    to = tmp_path / "arm.dalm"
    names = ["--input", "joint_1.effort", "--output", "joint_2.position", "--parameter", "link_1.mass"]
    assert main(["export", str(tmp_path / "arm.yaml"), str(to), *names, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["inputs"] == ["joint_1.effort"]
    assert da.FileRun(to).names["parameter"] == ("link_1.mass",)
    assert main(["export", str(tmp_path / "arm.yaml"), str(to), "--input", "joint_9.effort"]) == 2
    assert "joint_9.effort" in capsys.readouterr().err
