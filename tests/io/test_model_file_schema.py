"""The JSON Schema of model files is made from the reader's tables: it takes what the reader takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from systems.model_file_systems import system_of_all_families, system_of_expressions

import dalembert as da
from dalembert.argument_units import unit_for
from dalembert.cli.file_commands import first_model
from dalembert.io.model_files.json_schema import schema
from dalembert.io.model_files.library_systems import library_systems
from dalembert.io.model_files.registry import known_kinds
from dalembert.io.model_files.text import parsed
from dalembert.io.model_files.writer import tree_of
from dalembert.units import unit_of

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def validator() -> Any:
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def plain(tree: Any) -> Any:
    """Return a tree of mappings and lists that are nothing more."""
    if isinstance(tree, dict):
        return {key: plain(each) for key, each in tree.items()}
    return [plain(each) for each in tree] if isinstance(tree, list) else tree


def faults(validator: Any, tree: Any) -> list[str]:
    return [f"{list(error.path)}: {error.message[:300]}" for error in validator.iter_errors(plain(tree))]


@pytest.mark.parametrize("make", library_systems().values(), ids=lambda make: make.__name__)
def test_every_system_of_the_library_is_valid(make: Callable[[], da.System], validator: Any) -> None:
    try:
        system = make()
    except TypeError:
        pytest.skip("it needs arguments")
    assert faults(validator, tree_of(system)) == []


def test_systems_with_everything_are_valid(validator: Any) -> None:
    assert faults(validator, tree_of(system_of_all_families())) == []
    assert faults(validator, tree_of(system_of_expressions())) == []
    assert faults(validator, parsed(first_model(Path("m.yaml")), "m.yaml")) == []


GOOD = {
    "dalembert": 1,
    "parameters": {"a": "12 mm", "b": "= 2*a"},
    "bodies": {"b": {"mass": "2 kg", "markers": {"tip": [0, 0, "= a"]}}},
    "connections": {"A": {"type": "Revolute", "axis": "y", "between": ["ground", {"body": "b", "at": [0, 0, 1]}]}},
    "forces": {"k": {"type": "SpringDamper", "stiffness": "5 N/mm", "between": ["b", "ground"]}},
    "drives": {"A": {"position": {"type": "Spline", "times": {"csv": "x.csv", "column": "t"}, "values": [0, 1]}}},
    "simulate": {"t_end": "2 s"},
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"dalembert": 2}, {"bodys": {}}, {"bodies": {"b": {"mas": 1}}}, {"bodies": {"b": {"mass": "heavy"}}},
        {"connections": {"A": {"type": "Revolut", "between": ["ground", "b"]}}},
        {"connections": {"A": {"type": "Revolute", "axes": "y", "between": ["ground", "b"]}}},
        {"forces": {"k": {"type": "SpringDamper", "stiffnes": 3}}}, {"forces": {"k": {"stiffness": 3}}},
        {"forces": {"k": {"type": "rod", "length": 1}}}, {"bodies": {"b": {"shape": {"type": "rod"}}}},
        {"bodies": {"b": {"markers": {"tip": [0, 0]}}}}, {"simulate": {"tend": 3}}, {"gravity": 9.81},
        {"parameters": {"a": [1]}}, {"drives": {"A": {"sped": 3}}}, {"library": "four_baar"},
        {"drives": {"A": {"position": {"type": "Spline", "time": [0, 1]}}}}, {"initial": {"A": {"positon": 1}}},
    ],
    ids=str,
)  # fmt: skip
def test_what_the_reader_refuses_is_not_valid(wrong: dict[str, Any], validator: Any) -> None:
    assert faults(validator, GOOD) == []
    assert faults(validator, {**GOOD, **wrong}) != []


def test_every_number_that_a_maker_takes_has_a_unit_or_none_on_purpose() -> None:
    numeric = ("float", "float | None")
    missing = [
        f"{kind}.{p.name}"
        for kind, maker in known_kinds().items()
        for p in inspect.signature(maker).parameters.values()
        if str(p.annotation) in numeric and unit_for(kind, p.name) is None
    ]
    assert missing == []  # say in io/model_files/dimensions.py in which unit it is, or that it has none
    for kind, maker in known_kinds().items():
        for name in inspect.signature(maker).parameters:
            for unit in (unit_for(kind, name) or "").split("|"):
                assert not unit.strip() or getattr(unit_of(unit.strip()), "value", None) == 1.0


def test_a_file_names_its_schema_on_request(tmp_path: Path) -> None:
    s = da.System("s")
    da.save(s, tmp_path / "m.yaml", schema="dalembert.schema.json")
    assert (tmp_path / "m.yaml").read_text().startswith("# yaml-language-server: $schema=dalembert.schema.json\n")
    assert da.load(tmp_path / "m.yaml").name == "s"
    with pytest.raises(da.ModelError, match="only YAML"):
        da.save(s, tmp_path / "m.json", schema="x")
