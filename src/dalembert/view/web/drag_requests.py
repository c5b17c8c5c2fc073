"""Requests of a page that drags a mechanism, and the responses: poses, degrees of freedom, balance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import finite_array, finite_number
from ...errors import DalembertError, ModelError
from ...model import Model, State
from ...statics.equilibrium_search import equilibrium
from .drag_solver import DragSolver
from .scene_document import SceneBuilder

__all__ = ["DragSession", "frame_of", "slider_ranges"]


MAX_LIVE_DOFS = 150  # degrees of freedom: with more, the balance is shown when the pointer is released
BALANCE_TOL = 1e-6  # rad/s2 or m/s2: smaller accelerations count as equilibrium


class DragSession:
    """Session of a page that drags a mechanism.

    Parameters
    ----------
    solver : DragSolver
    builder : SceneBuilder
    parameters : dict of str to (low, high)
        Parameters with sliders.
    rebuild : callable
        From a model with other parameters and a configuration to its builder and its scene.
    """

    def __init__(
        self,
        solver: DragSolver,
        builder: SceneBuilder,
        parameters: Mapping[str, tuple[float, float]],
        rebuild: Callable[[Model, Array], tuple[SceneBuilder, dict[str, Any]]],
    ) -> None:
        self.solver, self.builder, self._rebuild = solver, builder, rebuild
        self.described = solver.model
        self.parameters = slider_ranges(solver.model, parameters, "view")
        self.numbers = {name: float(solver.model.system.parameters[name].value) for name in self.parameters}
        self._names = [each["name"] for each in solver.coordinates(builder.reach)]

    def controls(self) -> dict[str, Any]:
        """Return the controls of the page."""
        rows = [
            {"name": name, "low": low, "high": high, "value": self.numbers[name]}
            for name, (low, high) in self.parameters.items()
        ]
        more = {"parameters": rows} if rows else {}
        return {"pull": True, "coordinates": self.solver.coordinates(self.builder.reach), "facts": self.facts()} | more

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        solver, kind, message = self.solver, request.get("kind"), ""
        name = str(request.get("name"))
        more: dict[str, Any] = {}
        if kind == "pull":
            body = solver.model.body_names[frame_of(request.get("frame"), solver.model.nb) - 1]
            solver.pull(body, request.get("local"), request.get("target"))  # type: ignore[arg-type]
        elif kind == "set" and name in self.parameters:
            message, more = self._set_parameter(name, request.get("value"))
        elif kind == "set":
            if not solver.set(name, request.get("value")):  # type: ignore[arg-type]
                message = f"{name} cannot go farther: the loops do not close beyond"
        elif kind == "reset":
            solver.reset()
        elif kind == "rest":
            message = self._settle()
        elif kind != "release":
            raise ModelError("view", "request", kind, "use pull, set, rest, release or reset")
        solver = self.solver
        values = [float(solver.q[solver.model.coordinate_names.index(name)]) for name in self._names]
        if solver.model.nv <= MAX_LIVE_DOFS or kind != "pull":
            more["facts"] = self.facts()
        return {"say": message, "values": values, **more, **self.builder.poses(solver.q)}

    def _set_parameter(self, name: str, value: Any) -> tuple[str, dict[str, Any]]:
        """Set a parameter; the mechanism is unchanged if its loops do not close with the new value."""
        low, high = self.parameters[name]
        values = self.numbers | {name: float(np.clip(finite_number(value, item="view", field=name), low, high))}
        try:
            model = self.described.with_parameters(values)
            solver = DragSolver(model, self.solver.q)
        except DalembertError as error:
            return f"{name} = {values[name]:.4g} is not possible: {error}", {}
        self.numbers, self.solver = values, solver
        self.builder, scene = self._rebuild(model, solver.q)
        return "", {"scene": scene}

    def _settle(self) -> str:
        """Move to an equilibrium near the present configuration."""
        model, q = self.solver.model, self.solver.q
        try:
            found = equilibrium(model, state=State(q=q, v=np.zeros(model.nv)))
        except DalembertError as error:
            return f"no equilibrium is found from here: {error}"
        self.solver.q = np.array(found.q)
        return "in equilibrium"

    def facts(self) -> str:
        """Return a text on degrees of freedom, energy and balance of the configuration."""
        model, q = self.solver.model, self.solver.q
        basis, rank = self.solver.motions()
        dofs = basis.shape[1]
        lines = [f"{dofs} DOF"]
        if model.nc > rank:
            lines[0] += f", {model.nc - rank} closing rows more than needed"
        v = np.zeros(model.nv)
        try:
            energy = float(np.sum(model.energy(q, v).potential))
            a = np.asarray(model.forward_dynamics(q, v))
        except DalembertError:
            return lines[0]
        lines.append(f"potential energy {energy:.5g} J")
        largest = int(np.abs(a).argmax()) if len(a) else 0
        if not len(a) or abs(a[largest]) <= BALANCE_TOL:
            lines.append("in equilibrium")
        else:
            lines.append(f"let go, {model.speed_names[largest]} gains {a[largest]:.3g} a second")
        return "\n".join(lines)


def frame_of(number: Any, bodies: int) -> int:
    """Return the number of a body, if there is one."""
    if not isinstance(number, int) or not 1 <= number <= bodies:
        raise ModelError("view", "frame", number, f"there are bodies 1 to {bodies}")
    return number


def slider_ranges(model: Model, given: Mapping[str, Any], item: str) -> dict[str, tuple[float, float]]:
    """Return the checked ranges of parameters with sliders."""
    found = {}
    for name, span in given.items():
        if name not in model.system.parameters:
            known = ", ".join(map(repr, list(model.system.parameters)[:8])) or "none in this system"
            raise ModelError(item, "parameters", name, f"system.parameters lists them: {known}, ...")
        low, high = finite_array(span, (2,), item=item, field=f"range of {name!r}")
        if not low < high:
            raise ModelError(item, f"range of {name!r}", span, "give the lowest and the highest value")
        found[name] = float(low), float(high)
    return found
