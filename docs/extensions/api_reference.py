"""Reference pages of the public names, one page for each group of `__init__.pyi`, from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

import dalembert

DOCS = Path(__file__).parents[1]
TARGET = DOCS / "reference/api"
STUB = Path(dalembert.__file__).with_suffix(".pyi")
TITLES = {
    "bodies": "Bodies and shapes",
    "closure": "Loops, assembly and mobility",
    "connections": "Connections",
    "connections.attitudes": "Orientations over time",
    "connections.constraints": "Constraints",
    "connections.contacts": "Contact",
    "connections.elements": "Force elements",
    "connections.joints": "Joints",
    "connections.laws": "Time laws",
    "dynamics": "Dynamics",
    "errors": "Errors",
    "files": "Files",
    "impulses": "Impulses",
    "library": "Library",
    "linear": "Linearisation, modes, stability",
    "model": "Compiled models",
    "motion": "Kinematics",
    "result": "Results",
    "rotation": "Rotations",
    "simulation": "Simulation",
    "statics": "Equilibrium",
    "structures": "Flexible bodies",
    "studies": "Studies",
    "symbolic": "Symbolic equations",
    "system": "Systems",
}
MODULES = ("errors", "formulations", "library", "natural", "rotation", "structures", "tribology", "units")


def public_names() -> dict[str, list[str]]:
    """Return the public names by the module of `__init__.pyi` that they come from."""
    groups: dict[str, list[str]] = defaultdict(list)
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("_"):
            groups[node.module] += [alias.name for alias in node.names]
    return dict(groups)


def directive(name: str, thing: Any, module: str = "dalembert") -> list[str]:
    """Return the autodoc directive of one name."""
    if inspect.ismodule(thing) or isinstance(thing, types.GenericAlias):  # modules have pages; aliases no signature
        return []
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        return [f".. {kind}:: {module}.{name}", "   :members:", "   :inherited-members: Exception, tuple, dict", ""]
    kind = "autofunction" if inspect.isroutine(thing) else "autodata"
    return [f".. {kind}:: {module}.{name}", ""]


def page(title: str, lines: list[str]) -> str:
    """Return a page in reST."""
    return "\n".join([title, "=" * len(title), "", *lines])


def write_pages(app: Any, config: Any) -> None:
    """Write the pages of all groups and modules, and their index."""
    TARGET.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = {}
    for module, names in public_names().items():
        lines = [line for name in names for line in directive(name, getattr(dalembert, name))]
        if lines:
            texts[module.replace(".", "_")] = page(TITLES.get(module, module.split(".")[-1].capitalize()), lines)
    shown = {name for names in public_names().values() for name in names}
    for module in MODULES:
        names = [name for name in getattr(getattr(dalembert, module), "__all__", ()) if name not in shown]
        things = {name: getattr(getattr(dalembert, module), name) for name in names}
        lines = [line for name, thing in things.items() for line in directive(name, thing, f"dalembert.{module}")]
        if lines:
            texts[f"module_{module}"] = page(f"da.{module}", lines)
    entries = "\n".join(f"   {name}" for name in sorted(texts))
    texts["index"] = page("Public names", [".. toctree::", "   :maxdepth: 1", "", entries, ""])
    for name, text in texts.items():
        target = TARGET / f"{name}.rst"
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
    for old in set(TARGET.glob("*.rst")) - {TARGET / f"{name}.rst" for name in texts}:
        old.unlink()


CODE = re.compile(r"(``.*?``)")


def escape_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep bars of absolute values, |x|, from being read as substitutions of reST."""
    for k, line in enumerate(lines):
        parts = CODE.split(line)
        lines[k] = "".join(part if part.startswith("``") else part.replace("|", "\\|") for part in parts)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before the sources are read."""
    app.connect("autodoc-process-docstring", escape_bars, priority=600)
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
