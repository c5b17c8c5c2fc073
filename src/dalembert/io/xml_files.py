"""Safe parsing of untrusted XML files, and output with numbers that are read back exactly.

Document types and entities are refused, and so are documents that are too large or too deeply
nested. No function recurses, and invalid documents raise a named error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder, indent, tostring
from xml.parsers import expat

from ..errors import ModelError
from ..files.safe_files import replacing

__all__ = [
    "MAX_BODY_DEPTH",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_PARTS",
    "MAX_TAG",
    "Located",
    "folder_of",
    "is_document",
    "line_of",
    "parse_document",
    "read_document",
    "text_of",
    "write_document",
]

MAX_BYTES = 64 * 2**20  # of a file; the largest published robots have 2 MiB
MAX_DEPTH = 64  # of nested elements; URDF itself needs 6
MAX_BODY_DEPTH = 1000  # nested elements in formats with bodies inside bodies
MAX_PARTS = 2_000_000  # elements and attributes; a link with its joint takes about 40
MAX_TAG = 2**20  # bytes of one tag or comment: the parser re-reads an unfinished one with every chunk
READ_SIZE = 2**16  # bytes read at a time


class Located(Element):
    """Element with the line of the document in which it begins."""

    line: int = 0


def line_of(element: Element) -> str:
    """Return the position of an element for messages: ``" (line 12)"``; nothing if it is unknown."""
    line = getattr(element, "line", 0)
    return f" (line {line})" if line else ""


def read_document(path_or_text: Any, kind: str = "URDF") -> tuple[str, bytes, str | None]:
    """Return a name for messages, the bytes of the document, and its encoding if it is known.

    Parameters
    ----------
    path_or_text : str, path or bytes
        Name of a file; or the document itself: bytes, or a string that starts with ``<``.
    kind : str
        Kind of document, for messages.
    """
    text = f"{kind} text"
    if isinstance(path_or_text, (bytes, bytearray)):
        return text, _limited(bytes(path_or_text), text), None
    if isinstance(path_or_text, str) and is_document(path_or_text):
        try:
            return text, _limited(path_or_text.encode(), text), "utf-8"
        except UnicodeEncodeError as error:
            raise ModelError(text, "character", path_or_text[error.start], "use valid Unicode") from None
    if not isinstance(path_or_text, (str, os.PathLike)):
        item = f"load_{kind.lower()}"
        raise ModelError(item, "path_or_text", path_or_text, f"give the name of a file, or a {kind} document")
    path = os.fsdecode(path_or_text)
    source = f"{kind} file {path!r}"
    try:
        # a pipe or a device could block forever or never end
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelError(source, "path", path, "it is a directory or a device: give the name of a file")
        with Path(path).open("rb") as file:
            return source, _limited(file.read(MAX_BYTES + 1), source), None
    except FileNotFoundError:
        raise ModelError(source, "path", path, f"there is no such file (current folder {os.getcwd()!r})") from None
    except (OSError, ValueError) as error:
        raise ModelError(source, "path", path, f"it cannot be read: {error}") from None


def folder_of(path_or_text: Any) -> Path | None:
    """Return the folder of a document; None for a document given as text."""
    if isinstance(path_or_text, (bytes, bytearray)) or (isinstance(path_or_text, str) and is_document(path_or_text)):
        return None
    return Path(os.fsdecode(path_or_text)).resolve().parent


def is_document(text: str) -> bool:
    """Return whether a text is a document itself, not a file name."""
    return text.lstrip("\ufeff \t\r\n").startswith("<") or "\n" in text


def _limited(data: bytes, source: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise ModelError(source, "size", f"more than {MAX_BYTES} bytes", "keep meshes in separate files")
    return data


def parse_document(data: bytes, encoding: str | None, source: str, *, deepest: int = MAX_DEPTH) -> Element:
    """Return the root element of an XML document, or raise an error; namespaces stay part of the names."""
    document = data.lstrip(b" \t\r\n")
    if not document:
        raise ModelError(source, "document", "", "it is empty: the file is incomplete, or the name is wrong")
    skipped_lines = data[: len(data) - len(document)].count(b"\n")
    builder = TreeBuilder(element_factory=Located)
    parser = expat.ParserCreate(encoding)
    depth = parts = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, parts
        depth += 1
        parts += 1 + len(attributes)
        if depth > deepest:
            raise ModelError(source, "depth", depth, f"elements may be nested at most {deepest} deep")
        if parts > MAX_PARTS:
            raise ModelError(source, "size", parts, f"a document may have at most {MAX_PARTS} elements and attributes")
        element = builder.start(tag, attributes)
        assert isinstance(element, Located)
        element.line = parser.CurrentLineNumber + skipped_lines

    def text(characters: str) -> None:
        builder.data(characters)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def doctype(name: str, *_: object) -> NoReturn:
        raise ModelError(source, "DOCTYPE", name, "document types and entities are refused: remove the <!DOCTYPE ...>")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = doctype
    try:
        for at in range(0, len(document), READ_SIZE):
            chunk = document[at : at + READ_SIZE]
            parser.Parse(chunk, False)
            if at + len(chunk) - parser.CurrentByteIndex > MAX_TAG:
                raise ModelError(source, "tag", "very long", f"one tag or comment may have at most {MAX_TAG} bytes")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        line, column = error.lineno + skipped_lines, error.offset + 1
        what = expat.ErrorString(error.code) or "syntax error"
        remedy = f"it is not well-formed XML at line {line}, column {column}; check the file and save it as UTF-8"
        raise ModelError(source, "document", what, remedy) from None
    except (LookupError, ValueError) as error:
        raise ModelError(source, "encoding", str(error), "save it as UTF-8") from None
    return builder.close()


# ---- output


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
