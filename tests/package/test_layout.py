"""Layout of the repository: size of folders, mirrored tests, names of modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dalembert as da

PACKAGE = Path(da.__file__).parent
TESTS = Path(__file__).parents[1]
MAX_FILES = 25  # Python files of a folder, `__init__.py` not counted: what a reader takes in at one look

# Names that say nothing about the subject of a module: use the noun of the field.
VAGUE = set(
    """
    about afterwards again apart around asked asking base before begins beside between carried carrying common
    counting deciding elsewhere everything found given going helpers here holding laid later look looking looks
    made making manager many meant minding misc missed moved near nearby once other others own pace placed
    places pressed read reading said saying seen settling several shared showing sides stuff taken telling
    things told tools utilities utils varied ways words
    """.split()  # noqa: SIM905
)


def folders(root: Path) -> list[Path]:
    """Return the folders below `root`, and itself, that hold Python files."""
    return sorted({path.parent for path in root.rglob("*.py") if "__pycache__" not in path.parts})


def packages() -> list[Path]:
    return [folder for folder in folders(PACKAGE) if (folder / "__init__.py").exists()]


@pytest.mark.parametrize("root", [PACKAGE, TESTS], ids=["package", "tests"])
def test_no_folder_is_too_large(root: Path) -> None:
    sizes = {folder: len([f for f in folder.glob("*.py") if f.name != "__init__.py"]) for folder in folders(root)}
    too_large = {str(folder.relative_to(root.parent)): n for folder, n in sizes.items() if n > MAX_FILES}
    assert not too_large, "split these folders by subject"


def test_every_room_has_a_folder_of_tests() -> None:
    rooms = {folder.name for folder in packages() if folder.parent == PACKAGE}
    tested = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert rooms <= tested, f"no tests in {sorted(rooms - tested)}"


def test_names_of_test_files_are_unique() -> None:
    """Tests are no packages: two files of one name cannot be imported together."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_tests_import_no_other_tests() -> None:
    """Builders that tests share are in tests/systems, independent computations in tests/oracles."""
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1].startswith("test_")
    ]
    assert not found


@pytest.mark.parametrize("root", [PACKAGE, TESTS], ids=["package", "tests"])
def test_modules_are_named_after_their_subject(root: Path) -> None:
    found = [
        str(path.relative_to(root.parent))
        for path in sorted(root.rglob("*.py"))
        if path.stem.removeprefix("test_").strip("_") in VAGUE
    ]
    assert not found, "name these modules by nouns of the field"


def exported(package: Path) -> set[str]:
    """Return the names that the `__init__.py` (or its stub) of a package imports from its modules."""
    stub = package / "__init__.pyi"
    tree = ast.parse((stub if stub.exists() else package / "__init__.py").read_text())
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for alias in node.names
    }


@pytest.mark.parametrize("package", packages(), ids=lambda p: str(p.relative_to(PACKAGE.parent)))
def test_no_exported_name_hides_a_module(package: Path) -> None:
    """`from .draw import draw` in a package makes `package.draw` a function, and its module hard to reach."""
    modules = {path.stem for path in package.glob("*.py")} | {
        path.name for path in package.iterdir() if (path / "__init__.py").exists()
    }
    assert not modules & exported(package)
