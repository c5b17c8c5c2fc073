"""HTML of systems, results and analyses for notebooks: a drawing, and a table or the report."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DalembertError
from ..model import as_model
from .drawing.system_drawing import draw

__all__ = ["assembly_html", "modes_html", "report_html", "result_html", "system_html"]

MAX_ROWS = 40  # of a table
MAX_MODES = 4  # that are drawn


def system_html(system: Any) -> str:
    """Return a drawing of a system beside a table of its parts."""
    rows = [
        ("body", b.name, f"{b.mass:.4g} kg{', flexible' if b.flexible is not None else ''}")
        for b in system.bodies.values()
    ]
    for c in system.connections.values():
        rows.append((c.element.kind, c.name, f"{c.first.body.name} – {c.second.body.name}"))
    for f in system.forces.values():
        where = [joint.name for joint, _ in f.joint_coordinates] or [end.body.name for end in f.ends]
        rows.append((f.element.kind, f.name, " – ".join(where)))
    for c in system.couplings.values():
        rows.append((type(c.element).__name__, c.name, " – ".join(joint.name for joint in c.joints)))
    for d in system.drives.values():
        rows.append(("drive", d.name, type(getattr(d, "law", d)).__name__))
    return _page(repr(system), _sketch(system), _table(rows, ("kind", "name", "")))


def result_html(result: Any) -> str:
    """Return a drawing of the last position of a motion beside the ranges of its coordinates."""
    labels = result.labels
    rows = [
        (name, f"{np.min(column):.5g}", f"{np.max(column):.5g}", f"{column[-1]:.5g}", unit)
        for name, unit, column in zip(
            labels.coordinates, labels.coordinate_units, np.atleast_2d(result.q).T, strict=True
        )
    ]
    picture = "" if result.model is None else _sketch(result.model, np.atleast_2d(result.q)[-1])
    return _page(repr(result), picture, _table(rows, ("coordinate", "least", "largest", "last", "unit")))


def report_html(answer: Any) -> str:
    """Return a drawing of the configuration of a mobility analysis or an equilibrium beside its report."""
    return _page("", _sketch(answer.model, answer.q), _words(str(answer)))


def assembly_html(assembly: Any) -> str:
    """Return a drawing of a closed configuration beside its coordinates."""
    model, names = assembly.model, assembly.model.compiled.names
    rows = [
        (name, f"{value:.6g}", unit, f"{np.degrees(value):.4g}°" if unit == "rad" else "")
        for name, unit, value in zip(model.coordinate_names, names.coordinate_units, assembly.q, strict=True)
    ]
    return _page(repr(assembly), _sketch(model, assembly.q), _table(rows, ("coordinate", "value", "unit", "")))


def modes_html(modes: Any) -> str:
    """Return the report of modes, and drawings of the lowest."""

    def sketch(k: int) -> str:
        return _svg(lambda path: modes.draw(k, path=path), width="18em")

    pictures = "".join(sketch(k) for k in range(min(len(modes), MAX_MODES)))
    return _page("", _words(str(modes)), pictures)


def _words(text: str) -> str:
    return f'<pre style="margin: 0; white-space: pre-wrap; max-width: 60em">{html.escape(text)}</pre>'


def _page(title: str, picture: str, table: str) -> str:
    """Return title, picture and table side by side."""
    box = "display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start"
    head = f"<code>{html.escape(title)}</code>" if title else ""
    return f'<div>{head}<div style="{box}">{picture}{table}</div></div>'


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    cell = '<td style="text-align: left; padding: 0 0.8em 0 0">{}</td>'
    lines = ["".join(cell.format(html.escape(each)) for each in row) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(cell.format(f"… and {len(rows) - MAX_ROWS} more"))
    top = "".join(f'<th style="text-align: left; padding: 0 0.8em 0 0">{html.escape(each)}</th>' for each in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _sketch(system: Any, q: Any = None) -> str:
    """Return a drawing as SVG, or a message without matplotlib or if the system cannot be assembled."""
    return _svg(lambda path: draw(as_model(system), q, path=path))


def _svg(drawn: Callable[[Path], Any], width: str = "32em") -> str:
    """Return the SVG that a function draws into a file, or the error message."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            name = Path(folder) / "sketch.svg"
            drawn(name)
            text = name.read_text(encoding="utf-8")
    except DalembertError as error:
        return f'<div style="max-width: 20em; color: #777">no sketch: {html.escape(str(error))}</div>'
    drawing = text[text.index("<svg") :].replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)
    return f'<div style="max-width: {width}">{drawing}</div>'
