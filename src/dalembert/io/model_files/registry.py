"""Constructors that a model file can name: elements, laws, shapes and curves."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ... import structures
from ...bodies import shapes
from ...bodies.flexible_body import FlexibleBody
from ...bodies.geometric_stiffening import SecondOrderLine, Stiffening
from ...bodies.modal_damping import Rayleigh
from ...connections import attitudes, constraints, elements, joints as joints, laws
from ...connections.constraints import curves
from ...errors import ModelError
from ...parameters import Expression, expressions_of
from ...provenance import CALL_ATTRIBUTE, constructor_call

__all__ = ["COUPLINGS", "SHAPES", "arguments_of", "build", "known_kinds", "same"]

COUPLINGS = ("gear", "belt", "rack_and_pinion", "screw_coupling")
SHAPES = ("rod", "box", "cylinder", "capsule", "sphere", "plate", "tube", "prism", "mesh")
_NOT_MADE = {"ForceElement", "ForceConnection", "CoordinateConnection", "Constraint", "Joint", "Law", "Attitude"}


@cache
def known_kinds() -> Mapping[str, Callable[..., Any]]:
    """Return the constructors that can be named, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for room in (joints, constraints, elements, laws, attitudes):
        for name in room.__all__:
            maker = getattr(room, name)
            if inspect.isclass(maker) and name not in _NOT_MADE:
                found[name] = maker
    found |= {name: getattr(constraints, name) for name in COUPLINGS}
    found |= {name: getattr(shapes, name) for name in SHAPES}
    found["Curve.path"], found["Curve.polar"] = curves.Curve.path, curves.Curve.polar
    found["Curve.from_derivatives"] = curves.Curve.from_derivatives
    found |= _structures()
    return found


def _structures() -> dict[str, Callable[..., Any]]:
    names = (
        "Material", "Section", "beam", "frame", "Member", "CantileverModes", "FreeModes", "CraigBampton", "Guyan",
        "GivenModes", "Structure", "plate_structure", "frame_structure", "beam_segment",
    )  # fmt: skip
    methods = ("with_mass", "rigid_region", "mean_region", "reduce")
    given = {
        "FlexibleBody": FlexibleBody,
        "Stiffening": Stiffening,
        "SecondOrderLine": SecondOrderLine,
        "Rayleigh": Rayleigh,
        "sparse": sparse,
    }
    changes = {name: _of_structure(getattr(structures.Structure, name)) for name in methods}
    return {**{name: getattr(structures, name) for name in names}, **changes, **given}


def _of_structure(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of structures as a constructor whose first argument is ``structure``."""

    def made(structure: Any, **named: Any) -> Any:
        return method(structure, **named)

    signature = inspect.signature(method)
    first, *others = signature.parameters.values()
    made.__signature__ = signature.replace(parameters=[first.replace(name="structure"), *others])  # type: ignore[attr-defined]
    return made


def sparse(shape: Sequence[int], rows: Sequence[int], columns: Sequence[int], values: Sequence[float]) -> Any:
    """Return a sparse matrix from its entries."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.asarray(values, dtype=float), (rows, columns)), shape=tuple(shape))


def kind_of(thing: Any) -> str | None:
    """Return the name of the constructor of an object, or None."""
    name = type(thing).__name__
    return name if known_kinds().get(name) is type(thing) else None


def arguments_of(thing: Any) -> tuple[str, dict[str, Any]] | None:
    """Return constructor and arguments that reproduce an object exactly; None if there are none.

    The recorded call is tried first, then the fields of a dataclass. Arguments are returned only if they reproduce an
    equal object.
    """
    candidates: list[tuple[str, dict[str, Any]]] = []
    call = constructor_call(thing)
    if call is not None and call.maker in known_kinds():
        candidates.append((call.maker, dict(call.arguments)))
    for kind in dict.fromkeys(filter(None, (kind_of(thing), _family(thing)))):
        if dataclasses.is_dataclass(thing):
            candidates += [(kind, given) for given in _choices(thing, known_kinds()[kind])]
    for kind, arguments in candidates:
        try:
            again = build(kind, arguments)
        except (ModelError, TypeError):
            continue
        if same(thing, again) or (kind == "Element" and same(thing, again, of=known_kinds()["Element"])):
            return kind, arguments
    return None


def _family(thing: Any) -> str | None:
    """Return ``"Element"`` for elements of the library, which are formulas internally."""
    return "Element" if isinstance(thing, elements.Element) else None


def _choices(thing: Any, maker: Any) -> list[dict[str, Any]]:
    """Return the possible constructor fields of a dataclass: all, or without those that follow from the others."""
    given = _fields(thing, maker)
    optional = [field.name for field in dataclasses.fields(maker) if field.default is None and field.name in given]
    left_out = [set(optional), *({name} for name in optional), set()]
    return [{name: value for name, value in given.items() if name not in gone} for gone in left_out]


def _fields(thing: Any, maker: Any) -> dict[str, Any]:
    """Return the constructor fields of a dataclass, without those at their default."""
    found = {}
    for field in dataclasses.fields(maker):
        if not field.init:
            continue
        value = _as_given(thing, field.name)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if default is dataclasses.MISSING or not same(value, default):
            found[field.name] = value
    return found


def _as_given(thing: Any, field: str) -> Any:
    """Return the value of a field with the parameter expressions that it was given."""
    value, by = getattr(thing, field), expressions_of(thing)
    if not by:
        return value
    if field in by:
        return by[field]
    if isinstance(value, Mapping):
        return {key: by.get(key, each) for key, each in value.items()}
    if not any(label.startswith(f"{field}[") for label in by):
        return value
    listed = [by.get(f"{field}[{k}]", each) for k, each in enumerate(np.asarray(value).tolist())]
    return listed[0] if len(listed) == 1 and isinstance(thing, joints.Joint) else listed


def build(kind: str, arguments: Mapping[str, Any]) -> Any:
    """Return the object that a constructor makes of arguments, including variadic ones."""
    maker, row = known_kinds()[kind], _in_a_row(kind)
    named = {name: _as_argument(name, value) for name, value in arguments.items() if name not in row}
    return maker(*(each for name in row for each in arguments.get(name, ())), **named)


@cache
def _in_a_row(kind: str) -> tuple[str, ...]:
    """Return the variadic argument of a constructor, ``*axes``, if there is one."""
    takes = inspect.signature(known_kinds()[kind]).parameters.values()
    return tuple(p.name for p in takes if p.kind is inspect.Parameter.VAR_POSITIONAL)


def _as_argument(name: str, value: Any) -> Any:
    """Return a mapping as constructors take it: pairs and triples as tuples, chain indices as numbers."""
    if not isinstance(value, Mapping):
        return value
    pairs = {key: tuple(each) if isinstance(each, list) else each for key, each in value.items()}
    return {int(key): each for key, each in pairs.items()} if name == "near" else pairs


def same(one: Any, other: Any, *, of: Any = None) -> bool:
    """Return whether two descriptions are equal bit by bit; `of` selects the fields."""
    if one is other:
        return True
    if isinstance(one, Expression):
        return type(one) is type(other) and one.same_as(other)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _same_arrays(one, other)
    if hasattr(one, "nnz") and hasattr(other, "nnz"):  # sparse
        return bool(one.shape == other.shape and (one != other).nnz == 0)
    if of is None and type(one) is not type(other):
        plain = (int, float, np.integer, np.floating)
        lists = isinstance(one, (list, tuple)) and isinstance(other, (list, tuple))
        numbers = isinstance(one, plain) and isinstance(other, plain) and not isinstance(one, bool)
        if not lists:
            return numbers and bool(one == other)
    if type(one).__name__ == "BSpline":
        return same((one.t, one.c, one.k), (other.t, other.c, other.k))
    if inspect.isfunction(one):
        return one.__code__ is other.__code__ and same(_captured(one), _captured(other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(of or one) if field.compare]
        if not same(expressions_of(one), expressions_of(other)):
            return False
        return all(same(getattr(one, name, None), getattr(other, name, None)) for name in names)
    if (
        hasattr(one, "__dict__")
        and not callable(getattr(one, "__code__", None))
        and type(one).__module__.startswith("dalembert")
    ):
        return same(_kept(one), _kept(other))
    try:
        return bool(one == other)
    except (ValueError, TypeError):
        return False


def _captured(function: Any) -> list[Any]:
    """Return the closure of a function: for formulas, their parts."""
    return [*(cell.cell_contents for cell in function.__closure__ or ()), *(function.__defaults__ or ())]


def _kept(thing: Any) -> dict[str, Any]:
    """Return the attributes of an object, without those that record its construction."""
    return {name: value for name, value in vars(thing).items() if name != CALL_ATTRIBUTE}


def _same_arrays(one: Any, other: Any) -> bool:
    try:
        a, b = np.asarray(one), np.asarray(other)
    except (ValueError, TypeError):
        return False
    return (
        a.shape == b.shape
        and a.dtype.kind in "fiub"
        and b.dtype.kind in "fiub"
        and np.array_equal(a, b, equal_nan=True)
    )
