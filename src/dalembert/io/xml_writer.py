"""XML output with numbers that are read back exactly."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, indent, tostring

from ..errors import ModelError
from ..files.safe_files import replacing

__all__ = ["text_of", "write_document"]


def text_of(numbers: Iterable[float] | float) -> str:
    """Return numbers separated by blanks, in the shortest form that is read back exactly."""
    if isinstance(numbers, (int, float)):
        numbers = (numbers,)
    return " ".join(_one(float(number)) for number in numbers)


def _one(number: float) -> str:
    return repr(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def write_document(root: Element, path: Path) -> None:
    """Write an XML file; an existing file is kept if writing fails."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if any(ord(letter) < 32 for letter in value):
                raise ModelError("save", key, value, "XML does not support such a character: use another name")
    indent(root)
    with replacing(path) as new:
        Path(new).write_bytes(
            b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, "utf-8", xml_declaration=False) + b"\n"
        )
