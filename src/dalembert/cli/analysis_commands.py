"""Commands that analyse a system without a simulation: check, tree, assemble, equilibrium, modes, linearize."""

from __future__ import annotations

import argparse
from typing import Any

from ..closure import assemble as find_assembly, mobility
from ..linear import linearize as find_linear, modes as find_modes
from ..statics import equilibrium as find_rest
from ..view.drawing.system_drawing import draw
from .command_result import CommandResult
from .model_source import compiled, coordinates, loaded, setting

__all__ = ["assemble", "check", "equilibrium", "linearize", "modes", "tree"]


def check(chosen: argparse.Namespace) -> CommandResult:
    """Count degrees of freedom, find loops and redundant equations."""
    model = compiled(chosen)
    system, found = model.system, mobility(model)
    text = str(found)
    data: dict[str, Any] = {
        "system": system.name, "bodies": len(system.bodies), "mobility": found.mobility,
        "driven_mobility": found.driven_mobility, "gruebler": found.gruebler,
        "redundant": found.redundant, "loops": found.loops, "notes": list(system.notes),
    }  # fmt: skip
    if system.named:
        values = {name: float(model.parameters[model.parameter_names[name]]) for name in system.named}
        data["parameters"] = values
        listed = ", ".join(f"{name} = {values[name]:.6g} {p.unit}".rstrip() for name, p in system.named.items())
        text += f"\nparameters: {listed}"
    if system.notes:
        text += "".join(f"\nnote: {note}" for note in system.notes)
    if chosen.numbers:
        text += f"\n\n{model.parameter_table}"
    if chosen.draw is not None:
        draw(model, path=chosen.draw)
        text += f"\ndrawn: {chosen.draw}"
        data["written"] = [chosen.draw]
    return CommandResult(text, data)


def tree(chosen: argparse.Namespace) -> CommandResult:
    """Print the spanning tree."""
    model = loaded(chosen).compile()
    mass = sum(body.mass for body in model.system.bodies.values())
    loop_constraints = len(model.forest.loop_constraints)
    text = f"{model.forest.chart()}\n{model.nb} bodies, {mass:.4g} kg; {model.nq} coordinates, {model.nv} DOF, "
    data = {
        "bodies": model.nb,
        "mass": mass,
        "coordinates": model.nq,
        "dofs": model.nv,
        "loop_constraints": loop_constraints,
    }
    return CommandResult(f"{text}{loop_constraints} loop constraints", data)


def assemble(chosen: argparse.Namespace) -> CommandResult:
    """Close the loops and print the configuration."""
    model = compiled(chosen)
    found = find_assembly(model, branches=chosen.branches, hold=chosen.hold or ())
    places = {name: model.pose(name, found.q).position for name in model.system.bodies}
    lines = [f"loops of {model.system.name!r} closed to {found.residual:.2g}, {found.iterations} iterations", ""]
    lines += _table(("coordinate", ""), [(name, f"{x:.9g}") for name, x in coordinates(model, found.q).items()])
    lines += ["", *_table(("body", "x", "y", "z"), [(n, *(f"{x:.6g}" for x in p)) for n, p in places.items()])]
    branches = found.branches if chosen.branches else []
    if chosen.branches:
        lines.append(f"\n{len(branches)} closed configurations were found")
    if chosen.draw is not None:
        model.system.draw(found.q, path=chosen.draw)
        lines.append(f"drawn: {chosen.draw}")
    data = {
        "residual": found.residual, "coordinates": coordinates(model, found.q), "positions": places,
        "branches": [coordinates(model, q) for q in branches],
    }  # fmt: skip
    return CommandResult("\n".join(lines), data)


def equilibrium(chosen: argparse.Namespace) -> CommandResult:
    """Find an equilibrium."""
    model = compiled(chosen)
    found = find_rest(model, hold=chosen.hold or (), unknown=chosen.unknown or (), stable=not chosen.nearest)
    lines = [str(found)]
    if chosen.draw is not None:
        model.system.draw(found.q, path=chosen.draw)
        lines.append(f"drawn: {chosen.draw}")
    data = {
        "coordinates": coordinates(model, found.q), "stable": found.stable, "residual": found.residual,
        "efforts": found.efforts, "unknown": dict(found.unknown), "notes": list(found.notes),
    }  # fmt: skip
    return CommandResult("\n".join(lines), data)


def _about(chosen: argparse.Namespace, model: Any) -> Any:
    """Return the state to linearize about: an equilibrium, or the start."""
    return find_rest(model) if chosen.at == "rest" else None


def modes(chosen: argparse.Namespace) -> CommandResult:
    """Compute frequencies, damping and shapes of small motions."""
    model = compiled(chosen)
    count = setting(chosen, model.system, "modes", "count")
    found = find_modes(model, _about(chosen, model), count)
    lines = [str(found)]
    if chosen.animate is not None:
        found.animate(chosen.mode, path=chosen.animate)
        lines.append(f"written: {chosen.animate}")
    data = {
        "frequencies": found.frequencies, "damping_ratios": found.damping_ratios,
        "eigenvalues": [complex(x) for x in found.eigenvalues], "notes": list(found.notes),
    }  # fmt: skip
    return CommandResult("\n".join(lines), data)


def linearize(chosen: argparse.Namespace) -> CommandResult:
    """Linearize the equations of motion about a state."""
    model = compiled(chosen)
    inputs = setting(chosen, model.system, "linearize", "inputs")
    outputs = setting(chosen, model.system, "linearize", "outputs")
    found = find_linear(model, _about(chosen, model), inputs, outputs)
    data = {
        "states": list(found.states), "inputs": list(found.inputs), "outputs": list(found.outputs),
        "A": found.A, "B": found.B, "C": found.C, "D": found.D, "notes": list(found.notes),
    }  # fmt: skip
    text = str(found)
    if chosen.out is not None:
        from pathlib import Path

        Path(chosen.out).write_text(CommandResult("", data).as_json() + "\n", encoding="utf-8")
        text += f"\nwritten: {chosen.out}"
    return CommandResult(text, data)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return lines of columns, the first left-aligned, numbers right-aligned."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in [head, *rows]
    ]
