"""Notebooks, run cell by cell in a kernel as users run them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

PENDULUM = """
import dalembert as da
s = da.System("pendulum")
s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
"""


@pytest.fixture(autouse=True)
def _private_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run this interpreter as the kernel, whatever kernels the machine has installed."""
    folder = tmp_path / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Python", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MPLBACKEND", raising=False)


def run(*cells: str) -> list[Any]:
    """Run cells in one kernel and return the outputs of each."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    return [cell.outputs for cell in book.cells]


def pictures(outputs: list[Any]) -> int:
    """Count the figures below a cell."""
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_every_figure_appears_below_its_cell(tmp_path: Path) -> None:
    _, drawn, again, plotted, own, after_file = run(
        PENDULUM + f"r = da.simulate(s, 0.2); folder = {str(tmp_path)!r}",
        "s.draw();",
        "s.draw();",
        "r.plot('A');",
        "import matplotlib.pyplot as plt; plt.plot([1, 2]);",
        "s.draw(path=folder + '/drawing.png'); plt.plot([2, 1]);",
    )
    assert [pictures(cell) for cell in (drawn, again, plotted, own, after_file)] == [1, 1, 1, 1, 1]


def test_settings_of_the_notebook_hold_beside_ours() -> None:
    """`InlineBackend.rc` is read when the backend is loaded; drawing does not lose it."""
    *_, last = run(
        PENDULUM,
        "%config InlineBackend.rc = {'font.size': 17.0}",
        "s.draw();",
        "import matplotlib; print(matplotlib.rcParams['font.size'], matplotlib.rcParams['interactive'])",
    )
    assert last[0]["text"].split() == ["17.0", "True"]
