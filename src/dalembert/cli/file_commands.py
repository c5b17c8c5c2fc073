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

_FIRST = """\
# A model file: `dalembert simulate {file}` runs it, `dalembert view {file}` shows it.
# Numbers are in SI units and radians, or have a unit: 12 mm, 30 deg, 5 N/mm.
dalembert: 1
name: {name}

parameters:               # numbers by name; `--parameter a=120mm` or Python give them other values
  a: 100 mm               # length of the crank
  b: = 4*a                # "=" begins an expression

gravity: [0, 0, -9.81]

bodies:
  crank:
    shape: {{type: rod, length: = a, mass: 500 g}}
    markers: {{tip: [= a, 0, 0]}}          # a place to connect something to: crank.tip
  coupler:
    shape: {{type: rod, length: = b, mass: 1 kg}}
  rocker:                                 # or by numbers, inertia about the centre of mass
    mass: 0.8
    com: [150 mm, 0, 0]
    inertia: [1e-3, 6e-3, 6e-3]

connections:              # joints and constraints; loops close by themselves
  A: {{type: Revolute, axis: y, between: [ground, crank]}}
  B: {{type: Revolute, axis: y, between: [crank.tip, coupler]}}
  C: {{type: Revolute, axis: y, between: [{{body: coupler, at: [= b, 0, 0]}}, {{body: rocker, at: [0.3, 0, 0]}}]}}
  D: {{type: Revolute, axis: y, between: [{{body: ground, at: [0.35, 0, 0]}}, rocker]}}

forces:                   # springs, dampers, motors, contacts
  spring:
    type: SpringDamper
    stiffness: 0.1 N/mm
    damping: 1
    length: 300 mm
    between: [{{body: coupler, at: [0.2, 0, 0]}}, {{body: ground, at: [0, 0, 0.5]}}]

drives:                   # leave this out, and it falls
  A: {{speed: 60 rpm}}

simulate:                 # what `dalembert simulate` does without further words
  t_end: 2 s
  outputs: [rocker.angle, A.effort, D.force.norm]
"""


def new(chosen: argparse.Namespace) -> CommandResult:
    """Write a new model file from a template."""
    path = Path(chosen.file)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise ModelError("new", "file", chosen.file, "give a name that ends in .yaml")
    if path.exists() and not chosen.force:
        raise ModelError("new", "file", chosen.file, "it exists already: use another name, or --force")
    if chosen.library is None:
        text = _FIRST.format(file=path.name, name=path.stem)
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
