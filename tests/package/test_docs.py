"""Everything that the documentation shows runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dalembert
from dalembert import _core

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
GUIDES = [*PAGES, ROOT / "CONTRIBUTING.md"]
PACKAGE = ROOT / "src/dalembert"
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(dalembert.__path__, "dalembert.")
    if not name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks of tutorials continue each other; those of other pages stand alone."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec", dont_inherit=True), names)
        if page.parent.name != "tutorials":
            names = {"__name__": "page"}


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_rows_of_tables_have_equal_numbers_of_cells(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for table in re.findall(r"^\|.*(?:\n\|.*)*", text, flags=re.MULTILINE):
        cells = [re.sub(r"`[^`]*`", "", row).count("|") for row in table.splitlines()]
        assert len(set(cells)) == 1, table.splitlines()[0]


HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in HEADING.findall(text)}


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_anchors_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        there = (page.parent / target) if target else page
        assert anchor in anchors(there), f"{target}#{anchor}"


NAMES = re.compile(r"(?<![\w.\"'/])da((?:\.[A-Za-z]\w*)+)")
OF_RECIPES = {"Cogging"}  # classes that the recipes make


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_names_of_the_package_exist(page: Path) -> None:
    """In code and in backquotes: ``da.name`` and what it leads to."""
    text = re.sub(r"```(?!python).*?```", "", page.read_text(), flags=re.DOTALL)
    spans = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) + re.findall(r"`([^`\n]+)`", text)
    for chain in {chain for span in spans for chain in NAMES.findall(span)}:
        first, *others = chain[1:].split(".")
        if first not in OF_RECIPES:
            assert hasattr(dalembert, first), f"da.{first}"
        if others and first[0].islower() and first in ("library", "formulations", "natural", "units", "rotation"):
            assert hasattr(getattr(dalembert, first), others[0]), f"da{chain}"


EXAMPLES = {"pin_slot.hpp", "pin_slot.py", "cylinders.py", "cogging.py"}  # files that the recipes make
FILES = {
    f"/{path.relative_to(ROOT).as_posix()}"
    for folder in ("src", "core", "tests", "bench", "docs", "examples", "web/src")
    for path in (ROOT / folder).rglob("*.*")
}


@pytest.mark.parametrize("page", [ROOT / "docs/core.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_files_that_developers_are_pointed_to_exist(page: Path) -> None:
    named = set(re.findall(r"`([\w/.]+\.(?:py|pyi|hpp|cpp))`", page.read_text()))
    missing = [name for name in named if not any(file.endswith(f"/{name}") for file in FILES)]
    assert {name for name in missing if Path(name).name not in EXAMPLES} == set()


@pytest.mark.parametrize("page", [ROOT / "docs/core.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_folders_that_developers_are_pointed_to_exist(page: Path) -> None:
    """Folders in backquotes are below the repository, the package, the connections or the core."""
    roots = (ROOT, PACKAGE, PACKAGE / "connections", ROOT / "core")
    named = set(re.findall(r"`([\w/.]+/)`", page.read_text()))
    assert {name for name in named if not any((root / name).is_dir() for root in roots)} == set()


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
