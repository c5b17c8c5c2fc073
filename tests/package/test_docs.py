"""Everything that the documentation shows runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert
from dalembert import _core

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(dalembert.__path__, "dalembert.")
    if not name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec", dont_inherit=True), {"__name__": "page"})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_docstrings_of_the_core_run() -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for name, method in vars(_core.Model).items():
        for test in finder.find(method, name, module=False):
            assert runner.run(test).failed == 0


@pytest.mark.parametrize(
    "method", [n for n in dir(dalembert.Model) if not n.startswith("_") and callable(getattr(dalembert.Model, n))]
)
def test_every_public_method_has_a_docstring(method: str) -> None:
    assert getattr(dalembert.Model, method).__doc__


def test_importing_brings_in_nothing_heavy() -> None:
    script = (
        "import sys, dalembert; print([m for m in ('scipy', 'matplotlib', 'xarray', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"
