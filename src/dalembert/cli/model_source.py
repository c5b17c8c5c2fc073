"""Model named on the command line, with parameter values given there."""

from __future__ import annotations

import argparse
import re
from typing import Any

from ..checks import did_you_mean
from ..errors import ModelError
from ..io.python_scripts import load_model
from ..model import Model
from ..system import System
from ..units import quantity

__all__ = ["compiled", "coordinates", "loaded", "setting"]


def loaded(chosen: argparse.Namespace) -> System:
    """Return the system of the given file."""
    options = {"packages": tuple(chosen.packages), "root": chosen.root}
    return load_model(chosen.model, base=chosen.base, name=chosen.system, **options)


def compiled(chosen: argparse.Namespace) -> Model:
    """Return the model of the given file, with the values of ``--parameter``."""
    system = loaded(chosen)
    model = system.compile()
    return model.with_parameters(numbers(chosen, model)) if chosen.parameter else model


def numbers(chosen: argparse.Namespace, model: Model) -> dict[str, float]:
    """Return the values of ``--parameter name=value``."""
    found = {}
    for text in chosen.parameter:
        name, sign, value = text.rpartition("=")
        known = quantity(re.sub(r"^([-+0-9.]+(?:[eE][-+]?\d+)?)(?=[A-Za-z])", r"\1 ", value.strip()))
        try:
            number = known.value if known is not None else float(value)
        except ValueError:
            sign = ""
        if not sign:
            raise ModelError("--parameter", "value", text, "write name=number, or name='120 mm'")
        if name.strip() not in model.parameter_names:
            guess = did_you_mean(name.strip(), model.parameter_names)
            remedy = guess or "`dalembert check MODEL --numbers` lists the names"
            raise ModelError("--parameter", "name", name.strip(), remedy)
        found[name.strip()] = number
    return found


def setting(chosen: argparse.Namespace, system: System, verb: str, name: str, otherwise: Any = None) -> Any:
    """Return an option: of the command line, else of the model file, else the default."""
    value = getattr(chosen, name, None)
    return value if value is not None else system.settings.get(verb, {}).get(name, otherwise)


def coordinates(model: Model, q: Any) -> dict[str, float]:
    """Return coordinates by name."""
    return dict(zip(model.coordinate_names, map(float, q), strict=True))
