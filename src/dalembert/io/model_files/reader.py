"""Reader of model files: from the parsed tree to a system, errors with file, line and column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...argument_units import BODY, CONTACT, PLACE, SETTINGS, START, fits, unit_for
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import NO_EXPRESSION, did_you_mean
from ...connections.constraints.mimic import Mimic
from ...errors import DalembertError, FileError
from ...system import System
from ...system.lookup import body_called
from ...units import Dimension, dimension_text, quantity
from .contact_data import surface_of_tree
from .csv_columns import Columns
from .expression_names import Names
from .expressions import evaluate
from .library_systems import library_system
from .registry import build, known_kinds
from .text import LocatedList, LocatedMapping, SourcePosition, path_below
from .visuals import is_missing_mesh, visual_of
from .writer import VERSION

__all__ = ["DRIVE", "system_of"]

_PARTS = (
    "dalembert", "name", "gravity", "planar", "parameters", "constants", "library", "ground", "bodies", "connections",
    "couplings", "forces", "contacts", "surface_pairs", "untouched", "mimics", "drives", "initial", "place", "include",
    *SETTINGS,
)  # fmt: skip
MAX_INCLUDE_DEPTH, MAX_FILES = 16, 500  # largest depth of includes, and number of files
DRIVE = ("of", "position", "speed", "acceleration", "rotation", "relative_to")
_BODY = ("shape", "mass", "com", "inertia", "flexible", "strict", "color", "surface", "markers", "visuals")
_CONTACT = ("first", "second", *CONTACT, "without", "neighbours")


def system_of(tree: Any, file: str, included: Callable[[str, SourcePosition], Any], root: Path) -> System:
    """Return the system that a tree describes; `included` gives the trees of further files, tables are below `root`."""
    trees = []
    for each in _all_trees(tree, file, included):
        trees.append(each)
        if len(trees) > MAX_FILES:
            raise FileError(str(each.where), "include", f"more than {MAX_FILES} files", "write fewer, larger ones")
    system = _beginning(trees)
    if isinstance(tree.get("name"), (list, dict)):
        raise FileError(str(tree.positions["name"]), "name", tree["name"], "give a text")
    system.name = str(tree.get("name", system.name))
    reader = _Reader(system, root)
    for each in trees:
        reader.names_of(each)
    reader.names.define()
    for each in trees:
        reader.take(each)
    return system


def _all_trees(
    tree: Any, file: str, included: Callable[[str, SourcePosition], Any], chain: tuple[Path, ...] = ()
) -> Iterator[LocatedMapping]:
    """Yield the trees of all files, included ones first; `chain` are the including files."""
    if not isinstance(tree, LocatedMapping):
        raise FileError(
            file,
            "content",
            "a list" if isinstance(tree, list) else "a text or a number",
            "a model file is a mapping: name, bodies, connections, ...",
        )
    version = tree.get("dalembert")
    if version != VERSION:
        remedy = f"begin the file with 'dalembert: {VERSION}'"
        raise FileError(str(tree.positions.get("dalembert", tree.where)), "dalembert", version, remedy)
    _check_keys(tree, _PARTS, "a model file")
    for path in _listed(tree, "include"):
        where = tree.positions["include"]
        here = Path(where.file)
        whole, ancestors = (here.parent / path).resolve(), (*chain, here.resolve())
        if whole in ancestors or len(ancestors) > MAX_INCLUDE_DEPTH:
            raise FileError(str(where), "include", path, "files include each other in a circle")
        yield from _all_trees(included(path, where), str(whole), included, ancestors)
    yield tree


def _beginning(trees: list[LocatedMapping]) -> System:
    """Return the library system that files start from, or an empty one."""
    with_library = [tree for tree in trees if "library" in tree]
    if not with_library:
        return System("system")
    where = with_library[-1].positions["library"]
    if len(with_library) > 1:
        raise FileError(str(where), "library", with_library[-1]["library"], "give at most one library system")
    given = with_library[0]["library"]
    if isinstance(given, str):
        named = LocatedMapping(type=given)
        named.where, named.positions = where, {}
        given = named
    return library_system(_mapped(given, where), where)


class _Reader:
    """Builder of a system from trees."""

    def __init__(self, system: System, root: Path) -> None:
        self.system, self.root = system, root
        self.names = Names(system, error_location)
        self.files: dict[Path, Columns] = {}

    def names_of(self, tree: LocatedMapping) -> None:
        """Store the parameters and constants of a tree."""
        for part in ("constants", "parameters"):
            for name, value, where in _entries(tree, part):
                self.names.declare(part, name, value, where)

    def take(self, tree: LocatedMapping) -> None:
        """Add everything else of a tree."""
        if "gravity" in tree:
            with error_location(tree.positions["gravity"]):
                self.system.gravity = self.value(tree["gravity"], "m/s2", tree.positions["gravity"])
        if "planar" in tree:
            with error_location(tree.positions["planar"]):
                given = tree["planar"]
                self.system.planar = (
                    given if isinstance(given, str) else self.value(given, "", tree.positions["planar"])
                )
        if "ground" in tree:
            given = _mapped(tree["ground"], tree.positions["ground"])
            _check_keys(given, ("markers", "surface", "visuals"), "the ground")
            self._markers(self.system.ground, given)
            self._visuals(self.system.ground, given, given.where)
            if "surface" in given:
                with error_location(given.positions["surface"]):
                    self.system.ground.surface = surface_of_tree(self.value(given["surface"]))
        self._bodies(tree)
        for part, add in (
            ("connections", self._connect), ("couplings", self._connect), ("forces", self._connect),
            ("contacts", self._contact), ("mimics", self._mimic), ("drives", self._drive),
            ("initial", self._initial), ("place", self._place),
        ):  # fmt: skip
            for name, value, where in _entries(tree, part):
                with error_location(where):
                    add(name, _mapped(value, where))
        self._pairs(tree)
        for verb, known in SETTINGS.items():
            for name, value, where in _entries(tree, verb):
                _check_keys(tree[verb], tuple(known), verb)
                with error_location(where):
                    self.system.settings.setdefault(verb, {})[name] = self.value(value, known[name], where)

    # ---- bodies

    def _bodies(self, tree: LocatedMapping) -> None:
        for name, data, where in _entries(tree, "bodies"):
            given = _mapped(data, where)
            _check_keys(given, _BODY, f"body {name!r}")
            if not isinstance(given.get("visuals") or [], list):
                raise FileError(str(given.positions["visuals"]), "visuals", given["visuals"], "give a list of mappings")
            with error_location(where):
                described = given.get("flexible", given.get("shape"))
                shape = None
                if described is not None and not is_missing_mesh(given, where, self.system.notes):
                    shape = self._made(described, where)
                numbers = {
                    key: self.value(given[key], BODY.get(key), given.positions[key])
                    for key in ("mass", "com", "inertia", "strict", "color")
                    if key in given
                }
                if isinstance(numbers.get("mass"), str):
                    remedy = "give a number, a quantity or '= expression'"
                    raise FileError(str(given.positions["mass"]), f"mass of body {name!r}", numbers["mass"], remedy)
                body = self.system.body(name, shape, **numbers)
                if "surface" in given:
                    body.surface = surface_of_tree(self.value(given["surface"]))
            self._markers(body, given)
            self._visuals(body, given, where)

    def _visuals(self, body: Body, given: LocatedMapping, where: SourcePosition) -> None:
        for visual in given.get("visuals") or ():
            with error_location(where):
                body.visuals.append(visual_of(self.value(visual, None, where), where, self.system.notes))

    def _markers(self, body: Body, data: LocatedMapping) -> None:
        for label, frame, where in _entries(data, "markers"):
            with error_location(where):
                at, rotation, shape, arm = self._frame(frame, where)
                if shape is not None:
                    body.markers[label] = _carried(body, at, rotation, label, shape, arm)
                else:
                    body.marker(label, *at, rotation=rotation)

    def _frame(self, frame: Any, where: SourcePosition) -> tuple[Any, Any, Any, Any]:
        if isinstance(frame, LocatedList):
            return self.value(frame, "m", where), None, None, None
        given = _mapped(frame, where)
        _check_keys(given, ("body", "at", "rotation", "shape", "arm"), "a marker")
        at = self.value(given["at"], "m", given.positions["at"]) if "at" in given else [0.0, 0.0, 0.0]
        return at, *(self.value(given.get(name)) for name in ("rotation", "shape", "arm"))

    def end(self, value: Any, where: SourcePosition) -> Any:
        """Return the body, marker or coordinate that an item is attached to."""
        if isinstance(value, LocatedMapping):
            name = value.get("body")
            if name is None:
                raise FileError(str(where), "end", dict(value), "give a name, or 'body' and 'at'")
            if name != self.system.ground.name and name not in self.system.bodies:
                remedy = did_you_mean(str(name), self.system.bodies, most=2) or "there is no such body"
                raise FileError(str(value.positions["body"]), "body", name, remedy)
            body = body_called(self.system, str(name))
            at, rotation, shape, arm = self._frame(value, where)
            if shape is not None:
                return _carried(body, at, rotation, None, shape, arm)
            return body.at(*at, rotation=rotation)
        return str(value)

    # ---- connections

    def _connect(self, name: str, data: LocatedMapping) -> None:
        ends = data.get("between", [])
        if not isinstance(ends, list):
            ends = [ends]
        places = getattr(ends, "positions", [data.where] * len(ends))
        given = [self.end(end, place) for end, place in zip(ends, places, strict=True)]
        arguments = LocatedMapping({key: value for key, value in data.items() if key != "between"})
        arguments.where, arguments.positions = data.where, data.positions
        self.system.connect(name, self._made(arguments, data.where), *given)

    def _contact(self, name: str, data: LocatedMapping) -> None:
        _check_keys(data, _CONTACT, f"contact {name!r}")
        sides = [self._side(data.get(side), data.positions.get(side, data.where)) for side in ("first", "second")]
        rest = {
            key: self._argument(value, data.positions[key], CONTACT.get(key))
            for key, value in data.items()
            if key not in ("first", "second")
        }
        self.system.contact(name, *sides, **rest)

    def _side(self, given: Any, where: SourcePosition) -> Any:
        """Return a side of a contact: bodies and markers by name, shapes at markers."""
        if isinstance(given, LocatedList):
            return [self._side(each, place) for each, place in zip(given, given.positions, strict=True)]
        if not isinstance(given, LocatedMapping):
            return given
        if "shape" not in given:
            return self.end(given, where)
        _check_keys(given, ("shape", "at"), "a shape of a contact")
        shape = self._made(given["shape"], where)
        end = self.end(given.get("at", self.system.ground.name), where)
        return shape, self.system.marker(end) if isinstance(end, str) else end

    def _pairs(self, tree: LocatedMapping) -> None:
        """Add pairs of surfaces, and pairs of bodies that do not touch."""
        for part in ("surface_pairs", "untouched"):
            if not isinstance(tree.get(part) or [], list):
                raise FileError(str(tree.positions[part]), part, tree[part], "give a list")
        for pair in tree.get("surface_pairs") or ():
            with error_location(tree.positions["surface_pairs"]):
                given = dict(self.value(pair))
                first, second = (surface_of_tree(given.pop(side, None)) for side in ("first", "second"))
                self.system.pair(first, second, **given)
        for one, two in tree.get("untouched") or ():
            names = [body_called(self.system, str(name)).name for name in (one, two)]
            self.system.untouched.append((names[0], names[1]))

    def _mimic(self, name: str, data: LocatedMapping) -> None:
        self.system.mimics[name] = Mimic(**{key: self.value(value) for key, value in data.items() if key != "type"})

    def _drive(self, name: str, data: LocatedMapping) -> None:
        _check_keys(data, DRIVE, "a drive")
        given = {key: self._argument(value, data.positions[key]) for key, value in data.items()}
        self.system.drive(str(given.pop("of", name)), **given)

    def _initial(self, name: str, data: LocatedMapping) -> None:
        _check_keys(data, tuple(START), "a start value")
        given = {key: self._argument(value, data.positions[key], START.get(key)) for key, value in data.items()}
        gaps = {key: value for key, value in given.items() if _has_gaps(value)}
        self.system.initial(name, **{key: value for key, value in given.items() if key not in gaps})
        for key, value in gaps.items():  # open values of some coordinates of a joint
            numbers = np.array([np.nan if each is None else each for each in value], dtype=float)
            self.system.initials[name] = replace(self.system.initials[name], **{key: numbers})  # type: ignore[arg-type]

    def _place(self, name: str, data: LocatedMapping) -> None:
        _check_keys(data, tuple(PLACE), "a place")
        given = {key: self._argument(value, data.positions[key], PLACE.get(key)) for key, value in data.items()}
        self.system.place(name, **given)

    # ---- values

    def _made(self, data: Any, where: SourcePosition) -> Any:
        """Return the object that a mapping with a type describes."""
        given = _mapped(data, where)
        kind = given.get("type")
        if not isinstance(kind, str) or kind not in known_kinds():
            remedy = did_you_mean(str(kind), known_kinds()) or "give the name of an element"
            raise FileError(str(given.positions.get("type", where)), "type", kind, remedy)
        arguments = {
            key: self._argument(value, given.positions.get(key, where), unit_for(str(kind), key))
            for key, value in given.items()
            if key != "type"
        }
        if kind == "mesh" and isinstance(arguments.get("surface"), str):  # its path is relative to the model file
            arguments["surface"] = str(Path(where.file).parent / arguments["surface"])
        with error_location(where):
            try:
                return build(str(kind), arguments)
            except TypeError as error:
                raise FileError(str(where), str(kind), sorted(arguments), _without_python(error)) from None

    def _argument(self, value: Any, where: SourcePosition, unit: str | None = None) -> Any:
        with error_location(where):
            return self.value(value, unit, where)

    def value(self, value: Any, unit: str | None = None, where: SourcePosition | None = None) -> Any:
        """Return a value of the tree as a Python object; a quantity must fit `unit`."""
        if isinstance(value, str):
            return self._text(value, unit, where)
        if isinstance(value, LocatedMapping):
            if "type" in value:
                return self._made(value, value.where)
            if set(value) == {"marker"}:
                end = self.end(value["marker"], value.where)
                return self.system.marker(end) if isinstance(end, str) else end
            if "csv" in value:
                return self._columns(value, unit)
            return {key: self._argument(each, value.positions[key]) for key, each in value.items()}
        if isinstance(value, LocatedList):
            if all(type(each) is float or type(each) is int for each in value):
                return list(value)
            return [self.value(each, unit, place) for each, place in zip(value, value.positions, strict=True)]
        return value

    def _text(self, text: str, unit: str | None, where: SourcePosition | None) -> Any:
        """Return text: an expression after ``=``, a quantity with a unit, or the text itself."""
        if text.startswith("='") and text.endswith("'"):
            return text[2:-1]
        if text.startswith("=="):
            return text[1:]
        term: Any = evaluate(text[1:], self.names) if text.startswith("=") else quantity(text)
        if term is None:
            return text
        self._check_unit(text, term.dimension, unit, where)
        return term.value

    @staticmethod
    def _check_unit(text: Any, dimension: Dimension | None, unit: str | None, where: SourcePosition | None) -> None:
        if unit and dimension is not None and not fits(dimension, unit):
            remedy = f"the unit must be {unit.replace(' | ', ' or ')}, and this is {dimension_text(dimension)}"
            raise FileError(str(where or ""), "unit", text, remedy)

    def _columns(self, data: LocatedMapping, unit: str | None) -> Any:
        """Return a column of a CSV file, or rows of several."""
        _check_keys(data, ("csv", "column", "columns", "unit"), "a column")
        place = str(data.where)
        path = path_below(self.root, str(data["csv"]), "csv", data.where)
        table = self.files.get(path) or self.files.setdefault(path, Columns(path, place))
        if ("column" in data) == ("columns" in data):
            raise FileError(place, "column", None, "give the heading of a column, or several as columns")
        names = [data["column"]] if "column" in data else data["columns"]
        found = []
        for name in names:
            numbers, dimension = table.column(name, data.get("unit"), place)
            self._check_unit(name, dimension, unit, data.where)
            found.append(numbers)
        return found[0] if "column" in data else [list(row) for row in zip(*found, strict=True)]


# ---- trees


def _entries(tree: LocatedMapping, part: str) -> Iterator[tuple[str, Any, SourcePosition]]:
    data = tree.get(part)
    if data is None:
        return
    if not isinstance(data, LocatedMapping):
        raise FileError(str(tree.positions[part]), part, type(data).__name__, "give a mapping of names")
    for name, value in data.items():
        yield name, value, data.positions[name]


def _listed(tree: LocatedMapping, part: str) -> list[str]:
    data = tree.get(part, [])
    if not isinstance(data, (str, list)):
        raise FileError(str(tree.positions[part]), part, data, "give the name of a file, or a list of them")
    return [data] if isinstance(data, str) else [str(each) for each in data]


def _mapped(data: Any, where: SourcePosition) -> LocatedMapping:
    if isinstance(data, LocatedMapping):
        return data
    if data is None:
        empty = LocatedMapping()
        empty.where, empty.positions = where, {}
        return empty
    raise FileError(str(where), "value", data, "give a mapping: {type: ..., ...}")


def _check_keys(data: LocatedMapping, known: tuple[str, ...], item: str) -> None:
    for key in data:
        if key not in known:
            hint = did_you_mean(key, known, most=2) or f"{item} has {', '.join(known)}"
            raise FileError(str(data.positions[key]), "key", key, hint)


class error_location:
    """Context that adds the position in the file to errors."""

    __slots__ = ("where",)

    def __init__(self, where: SourcePosition) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _OF_PYTHON):  # wrong type of an argument
            remedy = _without_python(error)
            raise FileError(str(self.where), "value", type(error).__name__, remedy) from error
        if not isinstance(error, DalembertError) or isinstance(error, FileError):
            return
        item = getattr(error, "item", "")
        location = f"{self.where}: {item}" if item else str(self.where)
        remedy = str(getattr(error, "remedy", error))
        if NO_EXPRESSION in remedy:
            remedy = "parameters are not permitted here, because they may change: put the value under 'constants'"
        raise FileError(location, getattr(error, "field", "content"), getattr(error, "value", ""), remedy) from error


_OF_PYTHON = (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError)


def _without_python(error: Exception) -> str:
    """Return the missing or unknown arguments of a call, without Python's wording."""
    return str(error).split("() ")[-1].replace("keyword argument", "entry").replace("positional argument", "entry")


def _carried(body: Body, at: Any, rotation: Any, label: str | None, shape: Any, arm: Any) -> Marker:
    """Return a marker on a flexible body by the item that carries it."""
    place, shapes = np.array(at, dtype=float), np.array(shape, dtype=float)
    return Marker(body, place, _matrix(rotation), label, shapes, None if arm is None else np.array(arm, dtype=float))


def _matrix(rotation: Any) -> Any:
    return np.eye(3) if rotation is None else np.array(rotation, dtype=float)


def _has_gaps(value: Any) -> bool:
    return isinstance(value, list) and any(each is None for each in value)
