"""Model files as text: YAML and JSON, with the place of every value, and nothing that could run.

YAML is read as version 1.2 has it: ``on`` is text, ``1e3`` a number, ``012`` twelve. Anchors, aliases and tags are
refused, and so are keys that come twice, very deep files and very large ones.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ...errors import FileError

__all__ = ["Listed", "Mapped", "Where", "dumped", "parsed"]

LARGEST = 64 * 1024 * 1024  # characters
DEEPEST = 64
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


class Where(NamedTuple):
    """A place in a file: its name, line and column, from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Mapped(dict[str, Any]):
    """A mapping that knows where it stands, and where each of its values does."""

    where: Where
    places: dict[str, Where]


class Listed(list[Any]):
    """A list that knows where it stands, and where each of its values does."""

    where: Where
    places: list[Where]


def parsed(text: str, file: str) -> Any:
    """Return what a YAML or JSON text says; JSON is YAML.

    Raises
    ------
    FileError
        With line and column.
    """
    import yaml

    if len(text) > LARGEST:
        raise FileError(file, "length", f"{len(text)} characters", f"a model file has at most {LARGEST}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise _refused(file, event.start_mark, "alias", "&", "write it out, or use parameters")
        node = yaml.compose(text, loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or str(error)
        place = file if mark is None else str(Where(file, mark.line + 1, mark.column + 1))
        raise FileError(place, "text", str(what), "this is no YAML") from None
    except RecursionError:
        raise FileError(file, "depth", "too many levels", f"a model file has at most {DEEPEST}") from None
    return None if node is None else _value(node, file, 0)


def _refused(file: str, mark: Any, field: str, value: Any, remedy: str) -> FileError:
    return FileError(str(Where(file, mark.line + 1, mark.column + 1)), field, value, remedy)


def _value(node: Any, file: str, depth: int) -> Any:
    import yaml

    mark = node.start_mark
    where = Where(file, mark.line + 1, mark.column + 1)
    if depth > DEEPEST:
        raise FileError(str(where), "depth", depth, f"a model file has at most {DEEPEST} levels")
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, where)
    if not node.tag.startswith("tag:yaml.org,2002:") or node.tag.split(":")[-1] not in ("map", "seq"):
        raise FileError(str(where), "tag", node.tag, "model files have no tags")
    if isinstance(node, yaml.SequenceNode):
        listed = Listed(_value(each, file, depth + 1) for each in node.value)
        listed.where = where
        listed.places = [Where(file, n.start_mark.line + 1, n.start_mark.column + 1) for n in node.value]
        return listed
    mapped = Mapped()
    mapped.where, mapped.places = where, {}
    for key_node, value_node in node.value:
        spot = key_node.start_mark
        if not isinstance(key_node, yaml.ScalarNode):
            raise _refused(file, spot, "key", "a list or mapping", "keys are names")
        key = str(key_node.value)
        if key in mapped:
            raise _refused(file, spot, "key", key, "it comes twice")
        mapped[key] = _value(value_node, file, depth + 1)
        mapped.places[key] = Where(file, value_node.start_mark.line + 1, value_node.start_mark.column + 1)
    return mapped


def _scalar(node: Any, where: Where) -> Any:
    text: str = node.value
    if node.tag not in ("tag:yaml.org,2002:" + kind for kind in _PLAIN_TAGS):
        raise FileError(str(where), "tag", node.tag, "model files have no tags")
    if node.style:  # in quotes, or a block: text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 19 else float(text)
    if _HEX.fullmatch(text) and len(text) < 19:
        return int(text, 16)
    return float(text) if _FLOAT.fullmatch(text) else text


_PLAIN_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")


# ---- writing


def dumped(tree: Any, *, as_json: bool = False) -> str:
    """Return a plain tree as text: YAML with short lists in one line, or JSON."""
    if as_json:
        return json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return "\n".join(_block(tree, 0)) + "\n"


def _block(value: Any, indent: int) -> list[str]:
    """Return the lines of a mapping whose entries have a line each, or more."""
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
    """Return text as YAML has it: bare where nothing else could be meant."""
    plain = _BARE.fullmatch(text) and text not in _WORDS and text.lower() not in ("y", "n", "yes", "no", "on", "off")
    return text if plain else json.dumps(text, ensure_ascii=False)
