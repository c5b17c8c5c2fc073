"""Model files: the description of a system as YAML or JSON.

`writer` converts a system to a plain tree, `reader` a tree to a system, and `text` parses and formats the file.
`registry` has the constructors that a file can name, `expressions` numbers and formulas, `expression_names` parameters
and constants, `csv_columns` tables from CSV files, `visuals` those of bodies, `settings` options of analyses, and
`json_schema` the schema for editors.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...errors import FileError, ModelError
from ...files.safe_files import replacing
from ...garbage_collection import paused_collection
from ...system import System
from .reader import system_of
from .text import MAX_SIZE, SourcePosition, dumped, parsed, path_below
from .writer import tree_of

__all__ = ["SUFFIXES", "load_model_file", "save_model_file"]

SUFFIXES = (".yaml", ".yml", ".json")


def load_model_file(path: Path, *, root: str | os.PathLike[str] | None = None) -> System:
    """Read a system from a ``.yaml`` or ``.json`` file.

    Included files and tables must be in the folder `root` or below, by default the folder of the file: model files are
    not trusted, and must not read other files.
    """
    allowed = (path.parent if root is None else Path(root)).resolve()

    def tree(name: Path, where: SourcePosition | None) -> Any:
        return parsed(_text(name, where), str(name))

    def included(other: str, where: SourcePosition) -> Any:
        return tree(path_below(allowed, other, "include", where), where)

    with paused_collection():
        return system_of(tree(path, None), str(path), included, allowed)


def _text(path: Path, where: SourcePosition | None) -> str:
    try:
        if not path.is_file() and path.exists():
            raise FileError(str(where or "load"), "path", str(path), "it cannot be read: it is not a file")
        if path.stat().st_size > 4 * MAX_SIZE:  # no character has more bytes
            raise FileError(str(where or "load"), "path", str(path), f"it is too large: at most {MAX_SIZE} characters")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise FileError(str(where or "load"), "path", str(path), f"it cannot be read: {reason}") from None


def save_model_file(system: System, path: Path, *, schema: str | None = None) -> None:
    """Write a system as YAML, or as JSON by the suffix; `schema` is named in the first line of YAML."""
    as_json = path.suffix.lower() == ".json"
    if schema is not None and (as_json or "\n" in schema):
        raise ModelError("save", "schema", schema, "only YAML files name a schema: leave it out")
    text = dumped(tree_of(system, path.parent), as_json=as_json)
    if schema is not None:
        text = f"# yaml-language-server: $schema={schema}\n{text}"
    with replacing(path) as name:
        name.write_text(text, encoding="utf-8")
