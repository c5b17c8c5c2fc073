"""Shared parts of the benchmarks: options, description of the machine, output of numbers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import machine

__all__ = ["introduce", "parser", "write"]


def parser(doc: str | None, quick: str = "few rounds") -> argparse.ArgumentParser:
    """Return a parser of ``--quick`` and ``--json``, described by the first line of a module's docstring."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0] if doc else None)
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--json", type=Path, help="write all numbers to this file")
    return made


def introduce(**more: str) -> dict[str, str]:
    """Print where and with what is measured, and return it."""
    about = machine.describe() | more
    for key, value in about.items():
        print(f"{key}: {value}")
    return about


def write(path: Path | None, about: Mapping[str, str], rows: Iterable[Any], **more: Any) -> None:
    """Write all numbers to a file, if one is named: the machine, rows of dataclasses or mappings, and what is more."""
    if path is None:
        return
    flat = [asdict(row) if is_dataclass(row) and not isinstance(row, type) else dict(row) for row in rows]
    path.write_text(json.dumps({"machine": dict(about), **more, "rows": flat}, indent=1) + "\n")
