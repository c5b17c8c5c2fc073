"""From the tree of a model file to a system; whatever is wrong is said with file, line and column."""

from __future__ import annotations

import contextlib
import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...bodies.markers import Marker
from ...bodies.rigid import Body
from ...bodies.visual import Visual
from ...connections.constraints.mimic import Mimic
from ...errors import DalembertError, FileError
from ...system import System
from .arithmetic import evaluate
from .kinds import build, known_kinds
from .text import Listed, Mapped, Where
from .units import quantity
from .writing import VERSION

__all__ = ["system_of"]

_PARTS = (
    "dalembert", "name", "gravity", "parameters", "ground", "bodies", "connections", "couplings", "forces", "mimics",
    "drives", "initial", "place", "include",
)  # fmt: skip
_BODY = ("shape", "mass", "com", "inertia", "flexible", "strict", "markers", "visuals")


def system_of(tree: Any, file: str, included: Callable[[str, Where], Any]) -> System:
    """Return the system that a tree describes; `included` gives the trees of further files."""
    if not isinstance(tree, Mapped):
        raise FileError(
            file, "content", type(tree).__name__, "a model file is a mapping: name, bodies, connections, ..."
        )
    version = tree.get("dalembert")
    if version != VERSION:
        remedy = f"begin the file with 'dalembert: {VERSION}'"
        raise FileError(str(tree.places.get("dalembert", tree.where)), "dalembert", version, remedy)
    reader = _Reader(System(str(tree.get("name", "system"))), included)
    reader.take(tree)
    return reader.system


class _Reader:
    """Adds what trees say to a system."""

    def __init__(self, system: System, included: Callable[[str, Where], Any]) -> None:
        self.system = system
        self.included = included
        self.names: dict[str, float] = {"pi": math.pi, "tau": math.tau}

    def take(self, tree: Mapped) -> None:
        """Add everything of a tree."""
        _mind_keys(tree, _PARTS, "a model file")
        for path in _listed(tree, "include"):
            self.take(self.included(path, tree.places["include"]))
        for name, value, where in _entries(tree, "parameters"):
            with _said(where):
                self.names[name] = self._number(value, where, name)
        if "gravity" in tree:
            with _said(tree.places["gravity"]):
                self.system.gravity = np.array(System("g", gravity=self.value(tree["gravity"])).gravity)
        if "ground" in tree:
            self._markers(self.system.ground, tree["ground"])
        self._bodies(tree)
        for part, add in (
            ("connections", self._connect), ("couplings", self._connect), ("forces", self._connect),
            ("mimics", self._mimic), ("drives", self._drive), ("initial", self._initial), ("place", self._place),
        ):  # fmt: skip
            for name, value, where in _entries(tree, part):
                with _said(where):
                    add(name, _mapped(value, where))

    # ---- bodies

    def _bodies(self, tree: Mapped) -> None:
        for name, data, where in _entries(tree, "bodies"):
            given = _mapped(data, where)
            _mind_keys(given, _BODY, f"body {name!r}")
            with _said(where):
                shape = (
                    self._made(given["flexible" if "flexible" in given else "shape"], where)
                    if ("shape" in given or "flexible" in given)
                    else None
                )
                numbers = {key: self.value(given[key]) for key in ("mass", "com", "inertia", "strict") if key in given}
                body = self.system.body(name, shape, **numbers)
            self._markers(body, given)
            for visual in given.get("visuals", ()):
                with _said(where):
                    body.visuals.append(_visual(self.value(visual)))

    def _markers(self, body: Body, data: Mapped) -> None:
        for label, frame, where in _entries(data, "markers"):
            with _said(where):
                at, rotation, shape, arm = self._frame(frame, where)
                if shape is not None:
                    body.markers[label] = _carried(body, at, rotation, label, shape, arm)
                else:
                    body.marker(label, *at, rotation=rotation)

    def _frame(self, frame: Any, where: Where) -> tuple[Any, Any, Any, Any]:
        if isinstance(frame, Listed):
            return self.value(frame), None, None, None
        given = _mapped(frame, where)
        _mind_keys(given, ("body", "at", "rotation", "shape", "arm"), "a marker")
        at = self.value(given["at"]) if "at" in given else [0.0, 0.0, 0.0]
        return at, *(self.value(given.get(name)) for name in ("rotation", "shape", "arm"))

    def end(self, value: Any, where: Where) -> Any:
        """Return the body, marker or coordinate that something is attached to."""
        if isinstance(value, Mapped):
            name = value.get("body")
            if name is None:
                raise FileError(str(where), "end", dict(value), "give a name, or 'body' and 'at'")
            body = self.system.ground if name == self.system.ground.name else self.system.body_called(str(name))
            at, rotation, shape, arm = self._frame(value, where)
            if shape is not None:
                return _carried(body, at, rotation, None, shape, arm)
            return body.at(*at, rotation=rotation)
        return str(value)

    # ---- connections

    def _connect(self, name: str, data: Mapped) -> None:
        ends = data.get("between", [])
        if not isinstance(ends, list):
            ends = [ends]
        places = getattr(ends, "places", [data.where] * len(ends))
        given = [self.end(end, place) for end, place in zip(ends, places, strict=True)]
        arguments = Mapped({key: value for key, value in data.items() if key != "between"})
        arguments.where, arguments.places = data.where, data.places
        self.system.connect(name, self._made(arguments, data.where), *given)

    def _mimic(self, name: str, data: Mapped) -> None:
        self.system.mimics[name] = Mimic(**{key: self.value(value) for key, value in data.items() if key != "type"})

    def _drive(self, name: str, data: Mapped) -> None:
        given = {key: self.value(value) for key, value in data.items()}
        self.system.drive(str(given.pop("of", name)), **given)

    def _initial(self, name: str, data: Mapped) -> None:
        given = {key: self.value(value) for key, value in data.items()}
        gaps = {key: value for key, value in given.items() if _has_gaps(value)}
        self.system.initial(name, **{key: value for key, value in given.items() if key not in gaps})
        for key, value in gaps.items():  # some coordinates of a hinge were left open
            numbers = np.array([np.nan if each is None else each for each in value], dtype=float)
            self.system.initials[name] = replace(self.system.initials[name], **{key: numbers})  # type: ignore[arg-type]

    def _place(self, name: str, data: Mapped) -> None:
        self.system.place(name, **{key: self.value(value) for key, value in data.items()})

    # ---- values

    def _made(self, data: Any, where: Where) -> Any:
        """Return what a mapping with a type describes."""
        given = _mapped(data, where)
        kind = given.get("type")
        if kind not in known_kinds():
            near = difflib.get_close_matches(str(kind), list(known_kinds()), 3)
            remedy = f"did you mean {' or '.join(map(repr, near))}?" if near else "give the name of an element"
            raise FileError(str(given.places.get("type", where)), "type", kind, remedy)
        arguments = {
            key: self._argument(value, given.places.get(key, where)) for key, value in given.items() if key != "type"
        }
        with _said(where):
            try:
                return build(str(kind), arguments)
            except TypeError as error:
                raise FileError(str(where), str(kind), sorted(arguments), _without_python(error)) from None

    def _argument(self, value: Any, where: Where) -> Any:
        with _said(where):
            return self.value(value)

    def value(self, value: Any) -> Any:
        """Return a value of the tree as Python has it."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapped):
            if "type" in value:
                return self._made(value, value.where)
            if set(value) == {"marker"}:
                end = self.end(value["marker"], value.where)
                return self.system.frame(end) if isinstance(end, str) else end
            return {key: self._argument(each, value.places[key]) for key, each in value.items()}
        return [self.value(each) for each in value] if isinstance(value, list) else value

    def _text(self, text: str) -> Any:
        """Return text: an expression after ``=``, a quantity with a unit, or the text itself."""
        if text.startswith("=="):
            return text[1:]
        if text.startswith("="):
            return evaluate(text[1:], self.names)
        found = quantity(text)
        return text if found is None else found

    def _number(self, value: Any, where: Where, name: str) -> float:
        number = self.value(value)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise FileError(str(where), f"parameter {name!r}", value, "give a number, a quantity or '= expression'")
        return float(number)


# ---- trees


def _entries(tree: Mapped, part: str) -> Iterator[tuple[str, Any, Where]]:
    data = tree.get(part)
    if data is None:
        return
    if not isinstance(data, Mapped):
        raise FileError(str(tree.places[part]), part, type(data).__name__, "give a mapping of names")
    for name, value in data.items():
        yield name, value, data.places[name]


def _listed(tree: Mapped, part: str) -> list[str]:
    data = tree.get(part, [])
    if not isinstance(data, (str, list)):
        raise FileError(str(tree.places[part]), part, data, "give the name of a file, or a list of them")
    return [data] if isinstance(data, str) else [str(each) for each in data]


def _mapped(data: Any, where: Where) -> Mapped:
    if isinstance(data, Mapped):
        return data
    if data is None:
        empty = Mapped()
        empty.where, empty.places = where, {}
        return empty
    raise FileError(str(where), "value", data, "give a mapping: {type: ..., ...}")


def _mind_keys(data: Mapped, known: tuple[str, ...], item: str) -> None:
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, known, 2)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"{item} has {', '.join(known)}"
            raise FileError(str(data.places[key]), "key", key, hint)


@contextlib.contextmanager
def _said(where: Where) -> Iterator[None]:
    """Say where in the file something is that is refused."""
    try:
        yield
    except FileError:
        raise
    except DalembertError as error:
        item = getattr(error, "item", "")
        told = f"{where}: {item}" if item else str(where)
        fields = (getattr(error, "field", "content"), getattr(error, "value", ""), getattr(error, "remedy", str(error)))
        raise FileError(told, *fields) from error


def _without_python(error: TypeError) -> str:
    """Return what a call lacks or has too much, without the words of Python."""
    return str(error).split("() ")[-1].replace("keyword argument", "entry").replace("positional argument", "entry")


def _visual(data: Mapping[str, Any]) -> Visual:
    arrays = {
        key: np.array(data[key], dtype=float)
        for key in ("position", "rotation", "outline")
        if data.get(key) is not None
    }
    color = {"color": tuple(data["color"])} if data.get("color") is not None else {}
    return Visual(**{**data, **arrays, **color})


def _carried(body: Body, at: Any, rotation: Any, label: str | None, shape: Any, arm: Any) -> Marker:
    """Return a marker on a flexible body by what carries it."""
    place, shapes = np.array(at, dtype=float), np.array(shape, dtype=float)
    return Marker(body, place, _matrix(rotation), label, shapes, None if arm is None else np.array(arm, dtype=float))


def _matrix(rotation: Any) -> Any:
    return np.eye(3) if rotation is None else np.array(rotation, dtype=float)


def _has_gaps(value: Any) -> bool:
    return isinstance(value, list) and any(each is None for each in value)
