"""Parser of model files in YAML and JSON, with the position of every value and no executable content.

YAML is parsed by version 1.2: ``on`` is text, ``1e3`` a number, ``012`` twelve. Anchors, aliases and tags are
refused, and so are keys that come twice, very deep files and very large ones.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import FileError

__all__ = ["LocatedList", "LocatedMapping", "SourcePosition", "dumped", "parsed", "path_below"]

MAX_SIZE = 64 * 1024 * 1024  # characters
MAX_DEPTH = 64
_INTEGER = re.compile(r"[-+]?\d+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_BEGINNINGS = frozenset({"", *"0123456789+-.", *(word[:1] for word in _WORDS)})


class SourcePosition(NamedTuple):
    """Position in a file: its name, line and column, from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class LocatedMapping(dict[str, Any]):
    """Mapping with its position and those of its values."""

    where: SourcePosition
    positions: dict[str, SourcePosition]


class LocatedList(list[Any]):
    """List with its position and those of its values."""

    where: SourcePosition
    positions: list[SourcePosition]


def parsed(text: str, file: str) -> Any:
    """Return the tree of a YAML or JSON text; JSON is parsed as YAML.

    Raises
    ------
    FileError
        If the text is invalid; with line and column.
    """
    import yaml

    if len(text) > MAX_SIZE:
        raise FileError(file, "length", f"{len(text)} characters", f"a model file has at most {MAX_SIZE}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        return _Events(loader, file).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or str(error)
        place = file if mark is None else str(SourcePosition(file, mark.line + 1, mark.column + 1))
        raise FileError(place, "text", str(what), "this is not YAML") from None
    finally:
        loader.dispose()


class _Events:
    """Builder of a tree from the events of a YAML parser, without nodes, and with YAML 1.2 scalars."""

    def __init__(self, loader: Any, file: str) -> None:
        from yaml import events

        self.next, self.file, self.depth = loader.get_event, file, 0
        self.scalar, self.ends = events.ScalarEvent, (events.MappingEndEvent, events.SequenceEndEvent)
        self.mapping, self.sequence, self.alias = events.MappingStartEvent, events.SequenceStartEvent, events.AliasEvent
        self.last = events.StreamEndEvent

    def document(self) -> Any:
        self.next()
        event = self.next()  # of the document, or the end of the stream
        if type(event) is self.last:
            return None
        value, _ = self._value(self.next())
        self.next()
        event = self.next()
        if type(event) is not self.last:
            raise FileError(str(self._where(event)), "document", "a second one", "a file contains one model")
        return value

    def _where(self, event: Any) -> SourcePosition:
        mark = event.start_mark
        return tuple.__new__(
            SourcePosition, (self.file, mark.line + 1, mark.column + 1)
        )  # equivalent to Where(...), at half its cost

    def _value(self, event: Any) -> tuple[Any, SourcePosition]:
        where = self._where(event)
        kind = type(event)
        if kind is self.alias or event.anchor is not None:
            raise FileError(str(where), "alias", "&", "repeat the value, or use parameters")
        if event.tag is not None:
            raise FileError(str(where), "tag", event.tag, "model files have no tags")
        if kind is self.scalar:
            return (event.value if event.style else _plain(event.value)), where  # quoted or block scalar: text
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FileError(str(where), "depth", self.depth, f"a model file has at most {MAX_DEPTH} levels")
        found = self._mapped(where) if kind is self.mapping else self._listed(where)
        self.depth -= 1
        return found, where

    def _listed(self, where: SourcePosition) -> LocatedList:
        listed = LocatedList()
        listed.where, listed.positions = where, []
        while type(event := self.next()) not in self.ends:
            value, place = self._value(event)
            listed.append(value)
            listed.positions.append(place)
        return listed

    def _mapped(self, where: SourcePosition) -> LocatedMapping:
        mapped = LocatedMapping()
        mapped.where, mapped.positions = where, {}
        next_event, scalar, ends, value_of, places = self.next, self.scalar, self.ends, self._value, mapped.positions
        while type(event := next_event()) not in ends:
            if type(event) is not scalar:
                if type(event) is self.alias:
                    self._value(event)
                raise FileError(str(self._where(event)), "key", "a list or mapping", "keys are names")
            key = event.value
            if key in mapped:
                raise FileError(str(self._where(event)), "key", key, "it comes twice")
            if event.anchor is not None or event.tag is not None:
                self._value(event)
            mapped[key], places[key] = value_of(next_event())
        return mapped


@lru_cache(maxsize=4096)
def _plain(text: str) -> Any:
    """Return the value of text without quotes."""
    if text[:1] not in _BEGINNINGS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 19 else float(text)
    if _HEX.fullmatch(text) and len(text) < 19:
        return int(text, 16)
    return float(text) if _FLOAT.fullmatch(text) else text


# ---- writing


def dumped(tree: Any, *, as_json: bool = False) -> str:
    """Return a plain tree as text: YAML with short lists in one line, or JSON."""
    if as_json:
        return json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return "\n".join(_block(tree, 0)) + "\n"


def _block(value: Any, indent: int) -> list[str]:
    """Return the lines of a mapping with one or more lines per entry."""
    lines = []
    for key, each in value.items():
        head = " " * indent + _text(str(key)) + ":"
        flow = _flow(each)
        if isinstance(each, dict) and each and (indent == 0 or len(head) + len(flow) > 110):
            lines += [head, *_block(each, indent + 2)]
        elif isinstance(each, list) and any(isinstance(item, dict) for item in each) and len(flow) > 100:
            lines += [head, *(" " * (indent + 2) + "- " + _flow(item) for item in each)]
        else:
            lines.append(f"{head} {flow}")
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(key))}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    return str(value) if isinstance(value, int) else _text(str(value))


def _number(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    return repr(value)  # the shortest text that is read as the same number


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*( [A-Za-z0-9_.-]+)*")


def _text(text: str) -> str:
    """Return text as YAML: without quotes where it is unambiguous."""
    plain = _BARE.fullmatch(text) and text not in _WORDS and text.lower() not in ("y", "n", "yes", "no", "on", "off")
    return text if plain else json.dumps(text, ensure_ascii=False)


def path_below(root: Path, name: str, field: str, where: SourcePosition) -> Path:
    """Return the file that a model file names, relative to itself, if it is in the folder `root` or below."""
    path = Path(where.file).parent / name
    try:
        inside = path.resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):  # an invalid name, circular links
        raise FileError(str(where), field, name, "it is not a file name") from None
    if not inside:
        remedy = (
            f"it is outside of the folder {str(root)!r}: put it there, or permit another one, da.load(..., root=FOLDER)"
        )
        raise FileError(str(where), field, name, remedy)
    return path
