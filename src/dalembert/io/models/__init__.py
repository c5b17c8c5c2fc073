"""Model files: the description of a system as YAML or JSON.

`writing` makes a plain tree of a system, `reading` a system of a tree; `text` is the file, `kinds` what can be named in
it, `units` and `arithmetic` how numbers may be written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import FileError
from ...system import System
from ..atomic import replacing
from .reading import system_of
from .text import Where, dumped, parsed
from .writing import tree_of

__all__ = ["SUFFIXES", "load_model_file", "save_model_file"]

SUFFIXES = (".yaml", ".yml", ".json")


def load_model_file(path: Path) -> System:
    """Read a system from a ``.yaml`` or ``.json`` file."""

    def tree(name: Path, where: Where | None) -> Any:
        return parsed(_text(name, where), str(name))

    def included(other: str, where: Where) -> Any:
        return tree(Path(where.file).parent / other, where)

    return system_of(tree(path, None), str(path), included)


def _text(path: Path, where: Where | None) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise FileError(str(where or "load"), "path", str(path), f"it cannot be read: {said}") from None


def save_model_file(system: System, path: Path) -> None:
    """Write a system as YAML, or as JSON by the ending of the name."""
    text = dumped(tree_of(system), as_json=path.suffix.lower() == ".json")
    with replacing(path) as name:
        name.write_text(text, encoding="utf-8")
