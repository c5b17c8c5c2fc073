"""Contents of distributions: licence texts of everything that is bundled, and the viewer's page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not (REPOSITORY / "pyproject.toml").is_file(), reason="the sources are not here")


def settings() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def test_licence_texts_of_bundled_packages_are_shipped() -> None:
    listed = {path for pattern in settings()["project"]["license-files"] for path in REPOSITORY.glob(pattern)}
    texts = {path.stem: path.read_text() for path in listed}
    bundled = {*json.loads((REPOSITORY / "web" / "package.json").read_text())["dependencies"], "nanobind", "robin_map"}
    assert bundled <= set(texts)
    for name in bundled:
        assert "Copyright" in texts[name] and "AS IS" in texts[name]


def test_a_source_distribution_has_the_page_of_the_viewer() -> None:
    build = settings()["tool"]["scikit-build"]
    assert build["sdist"]["cmake"] is True
    assert {Path(path).name for path in build["sdist"]["include"]} == {"page.js", "widget.js"}
    text = (REPOSITORY / "CMakeLists.txt").read_text()
    assert text.index('"sdist"') < text.index("find_package(Python")  # nothing is compiled for it


def test_a_core_for_another_processor_is_named_in_the_import_error() -> None:
    """Users read the last line of a traceback."""
    command = [sys.executable, "-c", "import dalembert"]
    ended = subprocess.run(command, env=os.environ | {"DALEMBERT_FORCE_ISA": "none"}, capture_output=True, text=True)
    if ended.returncode == 0:
        pytest.skip("this core has the portable set, which serves every processor")
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: dalembert was built for another processor") and "DALEMBERT_SETS=all" in last
