"""Command that writes a model for other programs."""

from __future__ import annotations

import argparse

from ..exchange import export as write
from .command_result import CommandResult
from .model_source import loaded, setting

__all__ = ["export"]


def export(chosen: argparse.Namespace) -> CommandResult:
    """Write an FMU or a model file for C."""
    system = loaded(chosen)
    found = write(
        system,
        chosen.to,
        inputs=chosen.input or (),
        outputs=chosen.output or (),
        parameters=chosen.parameter,
        method=setting(chosen, system, "simulate", "method", "auto"),
        rtol=setting(chosen, system, "simulate", "rtol", 1e-8),
        friction=chosen.friction,
        stops=chosen.stops,
        contact=chosen.contact,
        horizon=chosen.horizon,
        fmi=chosen.fmi,
        platforms=chosen.platform,
    )
    counts = ", ".join(
        f"{len(names)} {what}"
        for names, what in ((found.inputs, "inputs"), (found.outputs, "outputs"), (found.parameters, "parameters"))
    )
    lines = [f"written: {found.path} ({found.size / 1e3:.0f} kB): {counts}", *(f"note: {note}" for note in found.notes)]
    data = {
        "written": [str(found.path)],
        "inputs": list(found.inputs),
        "outputs": list(found.outputs),
        "parameters": list(found.parameters),
        "notes": found.notes,
    }
    return CommandResult("\n".join(lines), data)
