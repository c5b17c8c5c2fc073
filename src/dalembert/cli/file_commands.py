"""Commands that write files: new, convert, schema."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..errors import ModelError
from ..io import save
from ..io.model_files.json_schema import schema as make_schema
from ..io.model_files.library_systems import library_systems
from .command_result import CommandResult
from .model_source import loaded

__all__ = ["convert", "new", "schema"]


def new(chosen: argparse.Namespace) -> CommandResult:
    """Write a new model file from a template."""
    path = Path(chosen.file)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise ModelError("new", "file", chosen.file, "give a name that ends in .yaml")
    if path.exists() and not chosen.force:
        raise ModelError("new", "file", chosen.file, "it exists already: use another name, or --force")
    if chosen.library is None:
        text = first_model(path)
    else:
        known = library_systems()
        if chosen.library not in known:
            raise ModelError("new", "--library", chosen.library, f"there are {', '.join(known)}")
        try:
            system = known[chosen.library]()
        except TypeError as error:
            remedy = f"{error}: give them in a file, 'library: {{type: {chosen.library}, ...}}'"
            raise ModelError("new", "--library", chosen.library, remedy) from None
        save(system, path)
        text = path.read_text(encoding="utf-8")
    if chosen.schema:
        text = f"# yaml-language-server: $schema={chosen.schema}\n{text}"
        if not Path(chosen.schema).exists():
            Path(chosen.schema).write_text(_schema_text(), encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    summary = f"written: {path}\nnext: dalembert simulate {path} --export motion.html"
    return CommandResult(summary, {"written": [str(path)]})


def first_model(path: Path) -> str:
    """Return the text of a model file to begin with, a four-bar linkage."""
    text = Path(__file__).with_name("first_model.yaml").read_text(encoding="utf-8")
    return text.replace("%FILE%", path.name).replace("%NAME%", path.stem)


def convert(chosen: argparse.Namespace) -> CommandResult:
    """Write a model in another format, selected by the suffix."""
    system = loaded(chosen)
    if Path(chosen.to).exists() and not chosen.force:
        raise ModelError("convert", "to", chosen.to, "it exists already: use another name, or --force")
    save(system, chosen.to)
    notes = list(system.notes)
    text = "".join([f"written: {chosen.to}", *(f"\nnote: {note}" for note in notes)])
    return CommandResult(text, {"written": [chosen.to], "notes": notes})


def schema(chosen: argparse.Namespace) -> CommandResult:
    """Print the JSON Schema of model files, for editors."""
    if chosen.out is None:
        return CommandResult(_schema_text().rstrip(), make_schema())
    Path(chosen.out).write_text(_schema_text(), encoding="utf-8")
    return CommandResult(f"written: {chosen.out}", {"written": [chosen.out]})


def _schema_text() -> str:
    return json.dumps(make_schema(), indent=1) + "\n"
