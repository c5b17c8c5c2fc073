"""Commands that compute or show motions: simulate, kinematics, plot, view."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

import numpy as np

from ..errors import ModelError
from ..model import Model
from ..motion import kinematics as follow
from ..result import Result
from ..simulation import simulate as run
from .command_result import DONE, FAILED, INTERRUPTED, CommandResult
from .model_source import compiled, coordinates, loaded, setting
from .output_files import check_output_paths, write_files

__all__ = ["kinematics", "plot", "simulate", "view"]

ROWS, COLUMNS = 11, 6  # of the table that is printed
DEFAULTS = {"t_end": 10.0, "t_start": 0.0, "times": None, "method": "auto", "rtol": 1e-8, "atol": 1e-10}
DEFAULTS |= {"max_step": None, "fixed_step": None}


def simulate(chosen: argparse.Namespace) -> CommandResult:
    """Simulate; write results, plots, animations."""
    check_output_paths(chosen)
    model = compiled(chosen)
    options = {name: setting(chosen, model.system, "simulate", name, usual) for name, usual in DEFAULTS.items()}
    given = model.system.settings.get("simulate", {}).get("parameters") if not chosen.parameter else None
    result = run(
        model,
        options.pop("t_end"),
        **options,
        parameters=given,
        progress=False if chosen.quiet or chosen.json else None,
        on_error="return",
    )
    return _write_and_report(model, result, chosen, "simulate")


def kinematics(chosen: argparse.Namespace) -> CommandResult:
    """Compute the motion that drives prescribe, without forces."""
    check_output_paths(chosen)
    model = compiled(chosen)
    if chosen.drive is not None:
        if chosen.values is None:
            raise ModelError("kinematics", "--values", None, "give the values of the coordinate: 0:6.28:0.1")
        result = follow(model, drive=chosen.drive, values=chosen.values)
    else:
        times = setting(chosen, model.system, "kinematics", "times")
        result = follow(model, times=np.linspace(0.0, 1.0, 101) if times is None else times)
    return _write_and_report(model, result, chosen, "kinematics")


def _write_and_report(model: Model, result: Result, chosen: argparse.Namespace, verb: str) -> CommandResult:
    """Write the requested files, and return the summary."""
    names = setting(chosen, model.system, verb, "outputs") or chosen.plot or []
    written = write_files(result, chosen, names)
    text = _report(model, result, names, verb)
    if written:
        text += f"\nwritten: {', '.join(written)}"
    data = _data(model, result, names, verb) | {"written": written}
    if result.status == "failed":
        return CommandResult(text, data, FAILED, result.message)
    return CommandResult(text, data, INTERRUPTED if result.status == "interrupted" else DONE)


def _report(model: Model, result: Result, names: list[str], verb: str) -> str:
    """Return a table of the motion, its statistics, and its errors."""
    times = np.linspace(result.t[0], result.t[-1], ROWS) if len(result) > 1 else result.t
    table = result.at(times).to_pandas(names or None).iloc[:, :COLUMNS]
    table.index = [f"{t:.6g}" for t in times]
    table.index.name = result.axis.label
    lines = [repr(result), "", table.to_string(float_format=lambda x: f"{x:.6g}"), ""]
    if verb == "simulate":
        lines += [repr(result.stats), f"{'energy error':<15} {np.abs(result['energy.balance']).max():.3g} J"]
    if model.nc:
        lines.append(f"{'loops open by':<15} {_open_by(result):.3g}")
    return "\n".join(lines)


def _open_by(result: Result) -> float:
    return float(np.abs(result["constraints.residual"]).max(initial=0.0))


def _data(model: Model, result: Result, names: list[str], verb: str) -> dict[str, Any]:
    stats = result.stats
    data: dict[str, Any] = {
        "run": result.status, "message": result.message, "t": [float(result.t[0]), float(result.t[-1])],
        "states": len(result), "final": coordinates(model, result.q[-1]), "loops_open_by": _open_by(result),
    }  # fmt: skip
    if verb == "simulate":
        data |= {
            "method": stats.method, "steps": stats.steps, "wall_time": stats.wall_time, "notes": list(stats.notes),
            "energy_error": float(np.abs(result["energy.balance"]).max()),
        }  # fmt: skip
    if names:
        data |= {"times": result.t, "outputs": {name: result[name] for name in names}}
    return data


def plot(chosen: argparse.Namespace) -> CommandResult:
    """Plot outputs of a stored result."""
    result = Result.load(chosen.result, None if chosen.model is None else loaded(chosen))
    result.plot(*(chosen.names or []), path=chosen.picture)
    return CommandResult(f"written: {chosen.picture}", {"written": [chosen.picture]})


def view(chosen: argparse.Namespace) -> CommandResult:
    """Show a system in a browser, to be dragged."""
    system = loaded(chosen)
    shown = system.play if chosen.play else system.view
    with shown(open_browser=not chosen.no_browser, port=chosen.port) as viewer:
        print(f"{system.name} is shown at {viewer.address}; Ctrl-C ends.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            viewer.closed.wait()
    return CommandResult("")
