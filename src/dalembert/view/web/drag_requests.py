"""Requests of a page that drags a mechanism, and the responses: poses, degrees of freedom, balance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import finite_array, finite_number
from ...errors import DalembertError, ModelError
from ...model import Model, State
from ...statics.equilibrium_search import equilibrium
from .drag_solver import DragSolver
from .scene_document import SceneBuilder

__all__ = ["DragSession", "frame_of", "slider_ranges"]

Array = NDArray[np.float64]

MAX_LIVE_DOFS = 150  # degrees of freedom: with more, the balance is shown when the pointer is released
BALANCE_TOL = 1e-6  # rad/s2 or m/s2: smaller accelerations count as equilibrium


class DragSession:
    """Session of a page that drags a mechanism.

    Parameters
    ----------
    puppet : Puppet
    stage : Stage
    parameters : dict of str to (low, high)
        Numbers that have sliders.
    restage : callable
        From a model with other numbers and a configuration to its stage and its scene.
    """

    def __init__(
        self,
        puppet: DragSolver,
        stage: SceneBuilder,
        parameters: Mapping[str, tuple[float, float]],
        restage: Callable[[Model, Array], tuple[SceneBuilder, dict[str, Any]]],
    ) -> None:
        self.puppet, self.stage, self._restage = puppet, stage, restage
        self.described = puppet.model
        self.parameters = slider_ranges(puppet.model, parameters, "view")
        self.numbers = {name: float(puppet.model.system.parameters[name].value) for name in self.parameters}
        self._names = [each["name"] for each in puppet.coordinates(stage.reach)]

    def controls(self) -> dict[str, Any]:
        """Return the controls of the page."""
        rows = [
            {"name": name, "low": low, "high": high, "value": self.numbers[name]}
            for name, (low, high) in self.parameters.items()
        ]
        more = {"parameters": rows} if rows else {}
        return {"pull": True, "coordinates": self.puppet.coordinates(self.stage.reach), "facts": self.facts()} | more

    def __call__(self, question: dict[str, Any]) -> dict[str, Any]:
        puppet, kind, message = self.puppet, question.get("kind"), ""
        name = str(question.get("name"))
        more: dict[str, Any] = {}
        if kind == "pull":
            body = puppet.model.body_names[frame_of(question.get("frame"), puppet.model.nb) - 1]
            puppet.pull(body, question.get("local"), question.get("target"))  # type: ignore[arg-type]
        elif kind == "set" and name in self.parameters:
            message, more = self._renew(name, question.get("value"))
        elif kind == "set":
            if not puppet.set(name, question.get("value")):  # type: ignore[arg-type]
                message = f"{name} cannot go farther: the loops do not close beyond"
        elif kind == "reset":
            puppet.reset()
        elif kind == "rest":
            message = self._rest()
        elif kind != "release":
            raise ModelError("view", "question", kind, "a page asks to pull, set, rest, release or reset")
        puppet = self.puppet
        values = [float(puppet.q[puppet.model.coordinate_names.index(name)]) for name in self._names]
        if puppet.model.nv <= MAX_LIVE_DOFS or kind != "pull":
            more["facts"] = self.facts()
        return {"say": message, "values": values, **more, **self.stage.poses(puppet.q)}

    def _renew(self, name: str, value: Any) -> tuple[str, dict[str, Any]]:
        """Set a parameter; the mechanism is unchanged if its loops do not close with the new value."""
        low, high = self.parameters[name]
        wanted = self.numbers | {name: float(np.clip(finite_number(value, item="view", field=name), low, high))}
        try:
            model = self.described.with_parameters(wanted)
            puppet = DragSolver(model, self.puppet.q)
        except DalembertError as error:
            return f"{name} = {wanted[name]:.4g} is not possible: {error}", {}
        self.numbers, self.puppet = wanted, puppet
        self.stage, scene = self._restage(model, puppet.q)
        return "", {"scene": scene}

    def _rest(self) -> str:
        """Move to an equilibrium near the present configuration."""
        model, q = self.puppet.model, self.puppet.q
        try:
            found = equilibrium(model, state=State(q=q, v=np.zeros(model.nv)))
        except DalembertError as error:
            return f"no equilibrium is found from here: {error}"
        self.puppet.q = np.array(found.q)
        return "in equilibrium"

    def facts(self) -> str:
        """Return a text on degrees of freedom, energy and balance of the configuration."""
        model, q = self.puppet.model, self.puppet.q
        basis, rank = self.puppet.motions()
        dofs = basis.shape[1]
        lines = [f"{dofs} DOF"]
        if model.nc > rank:
            lines[0] += f", {model.nc - rank} closing rows more than needed"
        v = np.zeros(model.nv)
        try:
            energy = float(np.sum(model.energy(q, v).potential))
            begins = np.asarray(model.forward_dynamics(q, v))
        except DalembertError:
            return lines[0]
        lines.append(f"potential energy {energy:.5g} J")
        most = int(np.abs(begins).argmax()) if len(begins) else 0
        if not len(begins) or abs(begins[most]) <= BALANCE_TOL:
            lines.append("in equilibrium")
        else:
            lines.append(f"let go, {model.speed_names[most]} gains {begins[most]:.3g} a second")
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
