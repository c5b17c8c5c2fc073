"""Components of OpenMDAO: outputs of a simulation as functions of parameters, with exact partial derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import DalembertError, MissingPackageError
from ..model import Model, as_model
from ..studies import sensitivity
from ..system import System

__all__ = ["simulation_component"]


def simulation_component(
    system: System | Model, t_end: float, *, parameters: Sequence[str], outputs: Sequence[str], **how: Any
) -> Any:
    """Return values of outputs at the end of a simulation as an explicit component of OpenMDAO.

    Values and partial derivatives of a point are of one run (`sensitivity`).

    Parameters
    ----------
    system : System or Model
    t_end : float, s
    parameters : names
        Of the system; in OpenMDAO a dot is a colon, ``k:stiffness``.
    outputs : names
        Numbers: ``"tip.position.z"``, in OpenMDAO ``tip:position:z``.
    how
        Further arguments of `sensitivity`.

    A run that fails raises ``openmdao.api.AnalysisError``, which optimizers answer with another point.
    """
    return _component()(as_model(system), float(t_end), list(parameters), list(outputs), how)


def _colons(name: str) -> str:
    return name.replace(".", ":")


@cache
def _component() -> Any:
    """Return the class of the component."""
    try:
        import openmdao.api as om
    except ImportError as error:
        raise MissingPackageError("components of OpenMDAO", "openmdao", "pip install openmdao") from error

    class SimulationComponent(om.ExplicitComponent):  # type: ignore[misc]
        def __init__(self, model: Model, t_end: float, by: list[str], outputs: list[str], how: dict[str, Any]) -> None:
            self._of = model, t_end, by, outputs, how
            self._known: tuple[bytes, Any] | None = None
            super().__init__()

        def setup(self) -> None:
            model, _, by, outputs, _ = self._of
            for name in by:
                self.add_input(_colons(name), val=float(model.parameters[model.parameter_names[name]]))
            for name in outputs:
                self.add_output(_colons(name))
            self.declare_partials("*", "*")

        def _found(self, inputs: Any) -> Any:
            model, t_end, by, outputs, how = self._of
            values = np.array([float(np.ravel(inputs[_colons(name)])[0]) for name in by])
            if self._known is None or self._known[0] != values.tobytes():
                given, wanted = dict(zip(by, values.tolist(), strict=True)), {name: (name, "final") for name in outputs}
                try:
                    self._known = values.tobytes(), sensitivity(model, wanted, by, t_end, parameters=given, **how)
                except DalembertError as error:
                    raise om.AnalysisError(str(error)) from error
            return self._known[1]

        def compute(self, inputs: Any, outputs: Any) -> None:
            found = self._found(inputs)
            for name in self._of[3]:
                outputs[_colons(name)] = found.values[name]

        def compute_partials(self, inputs: Any, partials: Any) -> None:
            found = self._found(inputs)
            for name in self._of[3]:
                for value, parameter in zip(np.ravel(found[name]), self._of[2], strict=True):
                    partials[_colons(name), _colons(parameter)] = value

    return SimulationComponent
