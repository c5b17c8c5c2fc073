"""What notebooks show of systems and results: a sketch, and a table."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DalembertError
from ..model import as_model
from .draw import draw

__all__ = ["result_html", "system_html"]

_MOST = 40  # rows of a table


def system_html(system: Any) -> str:
    """Return a sketch of a system beside a table of its parts."""
    rows = [
        ("body", b.name, f"{b.mass:.4g} kg{', flexible' if b.flexible is not None else ''}")
        for b in system.bodies.values()
    ]
    for c in system.connections.values():
        rows.append((c.element.kind, c.name, f"{c.first.body.name} – {c.second.body.name}"))
    for f in system.forces.values():
        where = [hinge.name for hinge, _ in f.places] or [end.body.name for end in f.ends]
        rows.append((f.element.kind, f.name, " – ".join(where)))
    for c in system.couplings.values():
        rows.append((type(c.element).__name__, c.name, " – ".join(hinge.name for hinge in c.hinges)))
    for d in system.drives.values():
        rows.append(("drive", d.name, type(getattr(d, "law", d)).__name__))
    return _page(repr(system), _sketch(system), _table(rows, ("kind", "name", "")))


def result_html(result: Any) -> str:
    """Return a sketch of the last position of a motion beside the ranges of its coordinates."""
    labels = result.labels
    rows = [
        (name, f"{np.min(column):.5g}", f"{np.max(column):.5g}", f"{column[-1]:.5g}", unit)
        for name, unit, column in zip(
            labels.coordinates, labels.coordinate_units, np.atleast_2d(result.q).T, strict=True
        )
    ]
    picture = "" if result.model is None else _sketch(result.model, np.atleast_2d(result.q)[-1])
    return _page(repr(result), picture, _table(rows, ("coordinate", "least", "largest", "last", "unit")))


def _page(title: str, picture: str, table: str) -> str:
    """Return title, picture and table side by side."""
    box = "display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start"
    return f'<div><code>{html.escape(title)}</code><div style="{box}">{picture}{table}</div></div>'


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    cell = '<td style="text-align: left; padding: 0 0.8em 0 0">{}</td>'
    lines = ["".join(cell.format(html.escape(each)) for each in row) for row in rows[:_MOST]]
    if len(rows) > _MOST:
        lines.append(cell.format(f"… and {len(rows) - _MOST} more"))
    top = "".join(f'<th style="text-align: left; padding: 0 0.8em 0 0">{html.escape(each)}</th>' for each in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _sketch(system: Any, q: Any = None) -> str:
    """Return a drawing as SVG; nothing where there is no matplotlib, or what is described cannot be assembled."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            name = Path(folder) / "sketch.svg"
            draw(as_model(system), q, path=name)
            text = name.read_text(encoding="utf-8")
    except DalembertError as error:
        return f'<div style="max-width: 20em; color: #777">no sketch: {html.escape(str(error))}</div>'
    return f'<div style="max-width: 32em">{text[text.index("<svg") :]}</div>'
