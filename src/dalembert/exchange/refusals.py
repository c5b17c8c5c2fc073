"""Refusals of export: parts that a model file cannot contain, each named with its remedy."""

from __future__ import annotations

from ..compile.schema import number
from ..compile.signal_graph import OutputInput
from ..connections.laws import FunctionLaw
from ..errors import ModelError
from ..model import Model
from ..simulation.diagnostics.snap_through import compound_nodes
from ..system.system import System

__all__ = ["refuse_python"]


def refuse_python(model: Model) -> None:
    """Refuse a model some of whose laws are evaluated in Python.

    Raises
    ------
    ModelError
        That names the element or drive.
    """
    elements = model.compiled.elements
    forms = model.compiled.tables["elements"]["form"]
    for name, place in elements.indices.items():
        if forms[place.row] == number("law_form", "function"):
            law = model.system.forces[name].element if name in model.system.forces else None
            _refuse(f"element {name!r}", "law", law, "it is a function of Python; give a formula")
    for law in model.compiled.callback_laws:
        _refuse_law(model, law)
    for compound in compound_nodes(model):
        remedy = "its inner nodes are followed in Python; give the members one by one"
        _refuse(f"element {compound.name!r}", "compound", compound.unknowns, remedy)


def _refuse_law(model: Model, law: object) -> None:
    """Refuse a law that the core asks Python for."""
    if isinstance(law, OutputInput):
        item = f"element {law.element!r}"
        if law.delay is not None:
            _refuse(item, "input", f"{law.name!r} with a delay", "an exported model has no history of its run")
        remedy = "it is worked out in Python at every evaluation; give a da.Sensor, or a position or speed of a joint"
        _refuse(item, "input", law.name, remedy)
    owner = _owner(model.system, law)
    _refuse(owner, "law", law, "it is a function of Python; give a Harmonic, Polynomial or Spline law, or an input")


def _owner(system: System, law: object) -> str:
    """Return the item that a time law belongs to."""
    for drive in system.drives.values():
        if any(law is own or getattr(own, "law", None) is law for own in drive.laws):
            return f"drive {drive.name!r}"
    for name, force in system.forces.items():
        own = [*getattr(force.element, "given", {}).values(), *getattr(force.element, "sources", {}).values()]
        if any(law is each for each in own):
            return f"element {name!r}"
    functions = [drive.name for drive in system.drives.values() if any(isinstance(x, FunctionLaw) for x in drive.laws)]
    return f"drive {functions[0]!r}" if functions else "system"


def _refuse(item: str, field: str, value: object, remedy: str) -> None:
    raise ModelError(item, field, value, f"it cannot be exported: {remedy}")
