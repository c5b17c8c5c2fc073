"""Systems from Python files, for the command line."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ModelError, UserFunctionError
from ..system import System
from .load_save import load

__all__ = ["load_model", "load_script"]


def load_model(
    path: str | os.PathLike[str],
    *,
    base: str = "fixed",
    name: str | None = None,
    packages: Sequence[str | os.PathLike[str]] = (),
    root: str | os.PathLike[str] | None = None,
) -> System:
    """Return the system of a Python file (see `load_script`) or of a model file (see `load`)."""
    if Path(path).suffix.lower() == ".py":
        return load_script(path, name=name)
    return load(path, base=base, packages=packages, root=root)


def load_script(path: str | os.PathLike[str], *, name: str | None = None) -> System:
    """Run a Python file and return the system that it describes.

    The file is executed as on import: code under ``if __name__ == "__main__":`` is not.

    Parameters
    ----------
    path : str or path
    name : str
        Name of the system in the file, or of a function without arguments that returns it. If left out, ``system``, or
        else the only `System` in the file.

    Raises
    ------
    ModelError
        If there is no such file, or no such system in it.
    UserFunctionError
        If it fails; with the line.
    """
    file = Path(path)
    if not file.is_file():
        raise ModelError("model", "path", str(path), "there is no such file")
    with _importing_from(file.resolve().parent):
        found = _guarded(file, lambda: runpy.run_path(str(file), run_name=file.stem))
        chosen = name or ("system" if "system" in found else None)
        if chosen is None:
            return _only_system(file, found)
        if chosen not in found:
            raise ModelError(f"file {str(path)!r}", "system", chosen, f"it defines {_listed(found)}")
        value = found[chosen]
        if callable(value) and not isinstance(value, System):
            value = _guarded(file, value)
    if not isinstance(value, System):
        raise ModelError(f"file {str(path)!r}", chosen, value, "it must be a System, or a function that returns one")
    return value


def _only_system(file: Path, found: dict[str, Any]) -> System:
    systems = {id(value): key for key, value in found.items() if isinstance(value, System)}
    if len(systems) != 1:
        names = ", ".join(systems.values()) or "no system"
        remedy = "define `system`, a System or a function that returns one, in it; or choose with --system NAME"
        raise ModelError(f"file {str(file)!r}", "what it defines", names, remedy)
    return found[next(iter(systems.values()))]


def _listed(found: dict[str, Any]) -> str:
    names = [name for name, value in found.items() if not name.startswith("_") and not isinstance(value, type(sys))]
    return ", ".join(map(repr, names[:8])) or "nothing"


def _guarded(file: Path, call: Any) -> Any:
    """Return the result of a call of user code, or raise an error with its position in the file."""
    try:
        return call()
    except SyntaxError as error:
        raise UserFunctionError(f"{file}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
        where = f"{file}, line {lines[-1]}" if lines else str(file)
        raise UserFunctionError(f"{where}: {type(error).__name__}: {error}") from error


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Allow imports from a folder, as when a file in it is executed."""
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = before
