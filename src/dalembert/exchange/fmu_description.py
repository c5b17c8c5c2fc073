"""Model descriptions of FMUs, in FMI 3.0 and 2.0: variables, units, structure.

A value reference is kind << 20 | number: 0 time; 1, 2, 3 coordinates, velocities and element states; 4 parameters;
5 inputs; 6 outputs; 7 event indicators; 8 derivatives of the continuous states [q; v; x].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from xml.sax.saxutils import quoteattr

from ..arrays import Array
from ..errors import ModelError
from ..units import unit_of
from .quantities import Quantity

__all__ = ["Variable", "fmi2_description", "fmi3_description", "fmu_variables"]

RATE = 8
_CODES = {"coordinate": 1, "speed": 2, "state": 3, "parameter": 4, "input": 5, "output": 6, "event": 7}
_BASES = ("kg", "m", "s", "A", "K", "rad")


@dataclass(frozen=True)
class Variable:
    """One variable of an FMU.

    Attributes
    ----------
    name, unit, description : str
    reference : int
    causality, variability, initial : str
    start : float or None
    derivative : Variable or None
        The state that this is the derivative of.
    role : str
        ``"state"``, ``"rate"``, ``"event"``, or empty.
    """

    name: str
    reference: int
    causality: str
    variability: str
    initial: str = ""
    start: float | None = None
    unit: str = ""
    description: str = ""
    derivative: Variable | None = None
    role: str = ""


def fmu_variables(quantities: Sequence[Quantity], start: Array, *, exact: bool) -> list[Variable]:
    """Return the variables of an FMU, in order: parameters, inputs, outputs, states, derivatives, event indicators.

    Parameters
    ----------
    quantities : sequence of Quantity
    start : (nq + nv + nx,)
        Start values of the states.
    exact : bool
        Whether the start may be set as it is; else loops and drives change it.
    """
    found: list[Variable] = []
    kinds = {kind: [each for each in quantities if each.kind == kind] for kind in _CODES}
    for k, each in enumerate(kinds["parameter"]):
        how = "tunable" if each.tunable else "fixed"
        found.append(_variable(each, k, each.name, "parameter", how, "exact", each.value))
    for k, each in enumerate(kinds["input"]):
        found.append(_variable(each, k, each.name, "input", "continuous", "", each.value))
    for k, each in enumerate(kinds["output"]):
        found.append(_variable(each, k, each.name, "output", "continuous", "calculated"))
    initial = "exact" if exact else "approx"
    states: list[Variable] = []
    suffix = {"coordinate": ".position", "speed": ".speed", "state": ""}
    for kind, ending in suffix.items():
        for k, each in enumerate(kinds[kind]):
            value = float(start[len(states)])
            state = _variable(each, k, f"state.{each.name}{ending}", "local", "continuous", initial, value)
            states.append(replace(state, role="state"))
    rates = [
        Variable(
            f"der({state.name})",
            RATE << 20 | k,
            "local",
            "continuous",
            "calculated",
            unit=_rate(state.unit),
            derivative=state,
            role="rate",
        )
        for k, state in enumerate(states)
    ]
    events = [
        replace(_variable(each, k, f"event.{each.name}", "local", "continuous", "calculated"), role="event")
        for k, each in enumerate(kinds["event"])
    ]
    found += [*states, *rates, *events]
    seen: dict[str, Variable] = {}
    for variable in found:
        other = seen.setdefault(variable.name, variable)
        if other is not variable:
            remedy = f"an FMU has one variable of a name, and this is its {other.causality}: leave one of them out"
            raise ModelError("export", variable.causality, variable.name, remedy)
    return found


def _variable(
    each: Quantity, k: int, name: str, causality: str, variability: str, initial: str, start: float | None = None
) -> Variable:
    reference = _CODES[each.kind] << 20 | k
    unit = each.unit if each.unit and unit_of(each.unit) is not None else ""
    return Variable(name, reference, causality, variability, initial, start, unit, each.meaning)


def _rate(unit: str) -> str:
    return f"{unit}/s" if unit and "/" not in unit else f"{unit}2" if unit.endswith("/s") else ""


# ---- XML


def _attributes(**given: object) -> str:
    parts = []
    for name, value in given.items():
        if value is None or value == "":
            continue
        text = (
            str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)
        )
        parts.append(f" {name}={quoteattr(text)}")
    return "".join(parts)


def _units(variables: Sequence[Variable]) -> list[str]:
    lines = []
    for name in sorted({each.unit for each in variables if each.unit}):
        found = unit_of(name)
        assert found is not None
        powers = {base: int(power) for base, power in zip(_BASES, found.dimension, strict=False) if power}
        factor = None if found.value == 1.0 else found.value
        lines.append(f"    <Unit{_attributes(name=name)}><BaseUnit{_attributes(**powers, factor=factor)}/></Unit>")
    return ["  <UnitDefinitions>", *lines, "  </UnitDefinitions>"] if lines else []


def _head(version: str, **given: object) -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"<fmiModelDescription{_attributes(fmiVersion=version, **given, generationDateAndTime=now)}>"


def fmi3_description(
    name: str,
    identifier: str,
    token: str,
    tool: str,
    variables: Sequence[Variable],
    *,
    exchange: bool,
    start: float,
    tolerance: float,
) -> str:
    """Return ``modelDescription.xml`` of FMI 3.0; `exchange`: with model exchange."""
    can = {"canGetAndSetFMUState": True, "canSerializeFMUState": True}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _head("3.0", modelName=name, instantiationToken=token, generationTool=tool),
    ]
    if exchange:
        lines.append(f"  <ModelExchange{_attributes(modelIdentifier=identifier, **can)}/>")
    steps = {"canHandleVariableCommunicationStepSize": True}
    lines += [
        f"  <CoSimulation{_attributes(modelIdentifier=identifier, **can, **steps)}/>",
        *_units(variables),
        f"  <DefaultExperiment{_attributes(startTime=start, tolerance=tolerance)}/>",
        "  <ModelVariables>",
        '    <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>',
    ]
    kept = [each for each in variables if exchange or each.role not in ("rate", "event")]
    for each in kept:
        own = _attributes(
            name=each.name,
            valueReference=each.reference,
            description=each.description,
            causality=each.causality,
            variability=each.variability,
            initial="" if each.causality == "input" else each.initial if exchange or not each.role else "calculated",
            unit=each.unit,
            start=each.start if exchange or not each.role else None,
            derivative=None if each.derivative is None else each.derivative.reference,
        )
        lines.append(f"    <Float64{own}/>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]

    def part(tag: str, members: Sequence[Variable]) -> list[str]:
        return [f"    <{tag}{_attributes(valueReference=each.reference)}/>" for each in members]

    outputs, rates = [v for v in kept if v.causality == "output"], [v for v in kept if v.role == "rate"]
    approximate = [v for v in kept if v.role == "state" and v.initial == "approx" and exchange]
    lines += part("Output", outputs) + part("ContinuousStateDerivative", rates)
    lines += part("InitialUnknown", [*outputs, *approximate, *rates])
    lines += part("EventIndicator", [v for v in kept if v.role == "event"])
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def fmi2_description(
    name: str,
    identifier: str,
    token: str,
    tool: str,
    variables: Sequence[Variable],
    *,
    exchange: bool,
    start: float,
    tolerance: float,
) -> str:
    """Return ``modelDescription.xml`` of FMI 2.0; `exchange`: with model exchange."""
    can = {"canGetAndSetFMUstate": True, "canSerializeFMUstate": True}
    events = [each for each in variables if each.role == "event"]
    kept = [each for each in variables if (exchange or each.role != "rate") and each.role != "event"]
    index = {each.name: k for k, each in enumerate(kept, 1)}
    count = {"numberOfEventIndicators": len(events)} if exchange else {}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _head("2.0", modelName=name, guid=token, generationTool=tool, **count),
    ]
    if exchange:
        lines.append(f"  <ModelExchange{_attributes(modelIdentifier=identifier, **can)}/>")
    steps = {"canHandleVariableCommunicationStepSize": True}
    lines += [
        f"  <CoSimulation{_attributes(modelIdentifier=identifier, **can, **steps)}/>",
        *_units(variables),
        f"  <DefaultExperiment{_attributes(startTime=start, tolerance=tolerance)}/>",
        "  <ModelVariables>",
    ]
    for each in kept:
        own = _attributes(
            name=each.name,
            valueReference=each.reference,
            description=each.description,
            causality=each.causality,
            variability=each.variability,
            initial="" if each.causality == "input" else each.initial if exchange or not each.role else "calculated",
        )
        real = _attributes(
            unit=each.unit,
            start=each.start if exchange or not each.role else None,
            derivative=None if each.derivative is None else index[each.derivative.name],
        )
        lines.append(f"    <ScalarVariable{own}><Real{real}/></ScalarVariable>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]

    def part(tag: str, members: Sequence[Variable]) -> list[str]:
        if not members:
            return []
        places = sorted(index[each.name] for each in members)
        return [f"    <{tag}>", *(f'      <Unknown index="{k}"/>' for k in places), f"    </{tag}>"]

    outputs, rates = [v for v in kept if v.causality == "output"], [v for v in kept if v.role == "rate"]
    approximate = [v for v in kept if v.role == "state" and v.initial == "approx" and exchange]
    lines += part("Outputs", outputs) + part("Derivatives", rates)
    lines += part("InitialUnknowns", [*outputs, *approximate, *rates])
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])
