"""JSON Schema of model files, generated from the tables of the reader."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ...argument_units import BODY, CONTACT, PLACE, SETTINGS, START, unit_for
from ...connections.constraints.couplings import Coupling, CustomCoupling
from ...connections.constraints.geometric import Constraint
from ...connections.elements.built_in import ForceElement
from ...connections.joints import Joint
from .contact_data import PAIR_NUMBERS, SURFACE
from .library_systems import library_systems
from .reader import DRIVE
from .registry import COUPLINGS, GROUND_SHAPES, SHAPES, known_kinds
from .writer import VERSION

__all__ = ["schema"]

_NUMBER = r"^\s*(=.*|[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s+[A-Za-zµμ1].*)$"
_FLEXIBLE = ("FlexibleBody", "beam", "frame", "reduce")
Schema = dict[str, Any]


def schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of model files.

    Examples
    --------
    >>> sorted(schema()["properties"])[:4]
    ['bodies', 'connections', 'constants', 'contacts']
    """
    kinds = known_kinds()
    joined = (Joint, Constraint, Coupling, CustomCoupling, ForceElement)
    connected = [name for name, maker in kinds.items() if inspect.isclass(maker) and issubclass(maker, joined)]
    connected += COUPLINGS
    between = {"description": "connected bodies, markers or coordinates", "$ref": "#/$defs/ends"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "model file of dalembert",
        **_object(
            {
                "dalembert": {"const": VERSION, "description": "version of the format"},
                "name": {"type": ["string", "number"]},
                "gravity": _vector("m/s2"),
                "planar": {"description": "normal of the plane in which everything moves", "$ref": "#/$defs/value"},
                "parameters": _named({"$ref": "#/$defs/parameter"}, "numbers that can change without recompilation"),
                "constants": _named({"$ref": "#/$defs/number"}, "constant numbers"),
                "include": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                "library": {"anyOf": [{"enum": list(library_systems())}, {"type": "object", "required": ["type"]}]},
                "ground": _object(
                    {
                        "markers": _named({"$ref": "#/$defs/marker"}, "markers on the ground"),
                        "surface": {"$ref": "#/$defs/surface"},
                        "visuals": {"type": "array", "items": {"type": "object"}},
                    }
                ),
                "bodies": _named({"$ref": "#/$defs/body"}, "bodies by name"),
                **{
                    part: _named({"$ref": "#/$defs/connected"}, f"{part} by name")
                    for part in ("connections", "couplings", "forces")
                },
                "contacts": _named({"$ref": "#/$defs/contact"}, "shapes that touch, by name"),
                "surface_pairs": {"type": "array", "items": {"$ref": "#/$defs/surface_pair"}},
                "untouched": {
                    "type": "array",
                    "description": "pairs of bodies that do not touch in contacts of '*'",
                    "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
                },
                "mimics": {"type": "object"},
                "drives": _named(_object({name: {"$ref": "#/$defs/value"} for name in DRIVE}), "by coordinate"),
                "initial": _named(_object({name: _open(unit) for name, unit in START.items()}), "by joint"),
                "place": _named(_object({name: _open(unit) for name, unit in PLACE.items()}), "by body"),
                **{
                    verb: _object({name: _open(unit) for name, unit in known.items()})
                    for verb, known in SETTINGS.items()
                },
            },
            required=["dalembert"],
        ),
        "$defs": {
            "number": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": _NUMBER}]},
            "parameter": {
                "anyOf": [
                    {"$ref": "#/$defs/number"},
                    _object(
                        {
                            "value": {"$ref": "#/$defs/number"},
                            "unit": {"type": "string"},
                            "meaning": {"type": "string"},
                        },
                        required=["value"],
                    ),
                ]
            },
            "columns": _object(
                {"csv": {"type": "string"}, "column": {}, "columns": {"type": "array"}, "unit": {"type": "string"}},
                required=["csv"],
            ),
            "marker": {
                "anyOf": [
                    _vector("m"),
                    _object(
                        {"body": {"type": "string"}, "at": _vector("m"), "rotation": {}, "shape": {"type": "array"}}
                    ),
                ]
            },
            "end": {"anyOf": [{"type": "string"}, {"allOf": [{"$ref": "#/$defs/marker"}, {"required": ["body"]}]}]},
            "ends": {"anyOf": [{"$ref": "#/$defs/end"}, {"type": "array", "items": {"$ref": "#/$defs/end"}}]},
            "body": _object(
                {
                    "shape": _made(SHAPES),
                    "flexible": _made(_FLEXIBLE),
                    "mass": {"$ref": "#/$defs/number", "description": BODY["mass"]},
                    "com": _vector(BODY["com"]),
                    "inertia": {"type": "array", "description": BODY["inertia"]},
                    "strict": {"type": "boolean"},
                    "color": {
                        "type": ["string", "array"],
                        "description": "name, #rrggbb, or 3 or 4 numbers",
                    },
                    "markers": _named({"$ref": "#/$defs/marker"}, "markers on the body"),
                    "surface": {"$ref": "#/$defs/surface"},
                    "visuals": {"type": "array", "items": {"type": "object"}},
                }
            ),
            "surface": _object({name: {"$ref": "#/$defs/value"} for name in SURFACE}),
            "surface_pair": _object(
                {
                    **{side: {"$ref": "#/$defs/surface"} for side in ("first", "second")},
                    **{name: {"$ref": "#/$defs/number"} for name in PAIR_NUMBERS},
                },
                required=["first", "second"],
            ),
            "member": {
                "anyOf": [
                    {"$ref": "#/$defs/end"},
                    _object({"shape": _made(SHAPES + GROUND_SHAPES), "at": {"$ref": "#/$defs/end"}}, ["shape"]),
                ]
            },
            "members": {"anyOf": [{"$ref": "#/$defs/member"}, {"type": "array", "items": {"$ref": "#/$defs/member"}}]},
            "contact": _object(
                {
                    **{side: {"$ref": "#/$defs/members"} for side in ("first", "second")},
                    **{name: _open(unit) for name, unit in CONTACT.items()},
                    "without": {"type": "array"},
                    "neighbours": {"type": "boolean"},
                },
                required=["first", "second"],
            ),
            "connected": _made(connected, {"between": between}),
            "value": {
                "anyOf": [
                    {"type": ["number", "string", "boolean", "null"]},
                    {"type": "array", "items": {"$ref": "#/$defs/value"}},
                    {"$ref": "#/$defs/columns"},
                    {"type": "object", "not": {"required": ["type"]}},
                    {"$ref": "#/$defs/made"},
                ]
            },
            "made": _made(kinds),
        },
    }


def _object(properties: Schema, required: Iterable[str] = ()) -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": list(required)} if required else {})


def _named(entry: Schema, description: str) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": entry, "description": description}


def _vector(unit: str) -> Schema:
    return {
        "type": "array", "items": {"$ref": "#/$defs/number"}, "minItems": 3, "maxItems": 3, "description": unit,
    }  # fmt: skip


def _open(unit: str) -> Schema:
    return {"$ref": "#/$defs/value", **({"description": unit.replace(" | ", " or ")} if unit else {})}


def _made(kinds: Iterable[str], more: Schema | None = None) -> Schema:
    """Return the schema of a mapping whose type determines its other keys."""
    more = more or {}
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": sorted(kinds)}},
        "allOf": [
            {
                "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
                "then": _arguments(kind, known_kinds()[kind], more),
            }
            for kind in sorted(kinds)
        ],
    }


def _arguments(kind: str, maker: Callable[..., Any], more: Schema) -> Schema:
    """Return the schema of the arguments of a constructor."""
    takes = inspect.signature(maker).parameters.values()
    properties = {"type": {}, **{p.name: _argument(kind, p) for p in takes}, **more}
    row = inspect.Parameter.VAR_POSITIONAL
    required = [p.name for p in takes if p.default is inspect.Parameter.empty and p.kind is not row]
    return _object(properties, required)


def _argument(kind: str, parameter: inspect.Parameter) -> Schema:
    words, unit = str(parameter.annotation), unit_for(kind, parameter.name)
    description = {"description": unit.replace(" | ", " or ")} if unit else {}
    if words == "bool":
        return {"type": "boolean"}
    if words == "float":
        return {"anyOf": [{"$ref": "#/$defs/number"}], **description}
    if words in ("float | None", "int", "int | None"):
        return {"anyOf": [{"$ref": "#/$defs/number"}, {"type": "null"}], **description}
    return {"$ref": "#/$defs/value", **description}
