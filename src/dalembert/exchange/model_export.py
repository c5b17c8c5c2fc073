"""Export of a model for other programs: a model file or an FMU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import checked, finite_number, one_of
from ..connections.elements.element import Element
from ..connections.laws import Constant, Harmonic, Polynomial
from ..errors import ModelError
from ..files.safe_files import replacing
from ..model import Model, State, as_model
from ..model.conditions import parameter_vector
from ..result import Motion, single_period
from ..simulation.contact.options import choose_contact
from ..simulation.contact.soft_contacts import without_soft_contacts
from ..simulation.events.discontinuity_times import discontinuity_sources, discontinuity_times_until
from ..simulation.friction.options import make_friction_state
from ..simulation.friction.soft_stops import with_soft_stops
from ..simulation.options import make_options
from ..simulation.start import check_time_laws, find_start
from ..system import System
from .model_file import file_bytes
from .quantities import Quantity, plan_outputs, quantities
from .refusals import refuse_python
from .self_check import check_file

__all__ = ["Export", "ExportedModel", "export", "export_model", "export_result"]

DEFAULT_HORIZON = 1000.0  # s


@dataclass(frozen=True)
class Export:
    """What `export` has written.

    Attributes
    ----------
    path : Path
    inputs, outputs, parameters : tuple of str
    size : int
        Bytes.
    notes : list of str
    """

    path: Path
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    size: int
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.parameters)} parameters"
        return f"<Export {str(self.path)!r}: {counts}, {self.size / 1e3:.1f} kB>"


@dataclass(frozen=True)
class ExportedModel:
    """A model ready for a file.

    Attributes
    ----------
    data : bytes
        Of the model file.
    model : Model
    state : State
        At the start.
    quantities : list of Quantity
    friction : bool
        Whether friction or stops act by events.
    rtol : float
    notes : list of str
    """

    data: bytes
    model: Model
    state: State
    quantities: list[Quantity]
    friction: bool
    rtol: float
    notes: list[str]

    def of_kind(self, kind: str) -> list[Quantity]:
        """Return the quantities of a kind."""
        return [each for each in self.quantities if each.kind == kind]


@checked(
    "path", "inputs", "outputs", "parameters", "values", "t_start", "rtol", "max_step", "fixed_step", "horizon", "fmi",
    "platforms",
)  # fmt: skip
def export(
    system: System | Model,
    path: str | os.PathLike[str],
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    parameters: Sequence[str] | None = None,
    values: Mapping[str, float] | None = None,
    state: State | Mapping[str, Any] | None = None,
    t_start: float = 0.0,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: float | Mapping[str, float] = 1e-10,
    max_step: float | None = None,
    fixed_step: float | None = None,
    friction: str = "events",
    stops: str = "rigid",
    contact: str = "auto",
    horizon: float | None = None,
    fmi: int = 3,
    platforms: Sequence[str] | None = None,
) -> Export:
    """Write a model for other programs, which run it without Python to the same bits as `simulate`.

    A name that ends in ``.fmu`` gives an FMU with co-simulation and model exchange, in one library; a name that ends in
    ``.dalm`` a model file for the C library (``dalembert.h``). Before the file is written the model is read from it,
    and its outputs and accelerations are compared with Python at random states.

    Parameters
    ----------
    system : System or Model
    path : path
    inputs : names
        Numbers of force elements (``"motor.u"``, from ``inputs={"u": 0.0}``), and efforts of joints (``"A.effort"``,
        N m or N, beside those of elements). They are held until they are set again.
    outputs : names
        As in a `Result`: ``"A.position"``, ``"tool.velocity"``, ``"D.force"``, ``"A.speed [rpm]"``. Vectors become one
        output per component. Those that are sums of quantities of the core go along; energies, for instance, do not.
    parameters : names
        That may be changed there: those of force elements at any time, masses, lengths and so on before a start. All
        that can go along if left out.
    values : dict of str to float
        Values of parameters other than described.
    state, t_start
        Of the start, as in `simulate`.
    method, rtol, atol, max_step, fixed_step
        As in `simulate`.
    friction, stops : str
        As in `simulate`. ``"off"`` for stops also changes where unspecified coordinates start.
    contact : str
        ``"off"`` exports a system without its contacts (`System.contact`); else those are refused.
    horizon : float, s
        Laws that jump or bend in time have their times listed up to here, and the model runs no further; 1000 s if left
        out, and no limit without such laws.
    fmi : int
        Version of an FMU, 3 or 2.
    platforms : names
        Of an FMU: ``"x86_64-linux"`` and the like; all whose libraries are installed if left out.

    Returns
    -------
    Export

    Raises
    ------
    ModelError
        For everything that is evaluated in Python: functions as laws, controls, delays, outputs that are no sums of
        quantities of the core. The item is named, with a way out.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library import chain
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/arm.dalm"
    >>> found = da.export(chain(2, axes="y"), path, inputs=["joint_1.effort"], outputs=["link_2.position"])
    >>> found.outputs
    ('link_2.position.x', 'link_2.position.y', 'link_2.position.z')
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in (".dalm", ".fmu"):
        raise ModelError("export", "path", str(path), "give a name that ends in .fmu or .dalm")
    made = export_model(
        system,
        inputs=inputs,
        outputs=outputs,
        parameters=parameters,
        values=values,
        state=state,
        t_start=t_start,
        method=method,
        rtol=rtol,
        atol=atol,
        max_step=max_step,
        fixed_step=fixed_step,
        friction=friction,
        stops=stops,
        contact=contact,
        horizon=horizon,
    )
    notes: list[str] = []
    with replacing(target) as file:
        if kind == ".dalm":
            file.write_bytes(made.data)
        else:
            from .fmu_file import write_fmu

            notes = write_fmu(file, target.stem, made, fmi=fmi, platforms=platforms)
    return export_result(target, made, notes)


def export_result(target: Path, made: ExportedModel, notes: Sequence[str] = ()) -> Export:
    """Return the `Export` of a written file."""
    inputs, outputs, parameters = (
        tuple(each.name for each in made.of_kind(kind)) for kind in ("input", "output", "parameter")
    )
    return Export(target, inputs, outputs, parameters, target.stat().st_size, [*made.notes, *notes])


def export_model(
    system: System | Model,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    parameters: Sequence[str] | None,
    values: Mapping[str, float] | None,
    state: State | Mapping[str, Any] | None,
    t_start: float,
    method: str,
    rtol: float,
    atol: float | Mapping[str, float],
    max_step: float | None,
    fixed_step: float | None,
    friction: str,
    stops: str,
    contact: str,
    horizon: float | None,
) -> ExportedModel:
    """Return the model of `export`, checked against Python."""
    model = as_model(system)
    begin = finite_number(t_start, item="export", field="t_start")
    one_of("export", "stops", stops, ("rigid", "soft", "off"))
    if stops == "soft":
        model = with_soft_stops(model, state, begin)
    choice = choose_contact(model, contact, None, item="export")
    if choice.rigid or choice.soft:
        first = next(iter(model.system.contacts), "contacts")
        remedy = "contacts of shapes are not exported: give contact='off', or elements such as SpherePlaneContact"
        raise ModelError(f"contact {first!r}", "contact", contact, remedy)
    model = without_soft_contacts(model)
    given = parameter_vector(model, dict(values) if values else None, "export")
    if model.family is not model or not np.array_equal(given[model.n_element_parameters :], model.mapped_parameters):
        model = _as_described(model.with_parameters(given))
    refuse_python(model)
    conditions = model.conditions(given[: model.n_element_parameters] if values else None)
    options = make_options(model, method=method, rtol=rtol, atol=atol, max_step=max_step, step=fixed_step, span=np.inf)
    conditions, by_events = make_friction_state(conditions, friction, stops, options, span=1.0)
    start, notes = find_start(model, state, begin, limits=stops != "off")
    known = _horizon(model, begin, horizon)
    jumps = check_time_laws(model, begin, known if np.isfinite(known) else begin + DEFAULT_HORIZON)
    if jumps:
        remedy = "it cannot be exported: impulses are determined in Python; give a da.Ramp or another smooth law"
        raise ModelError(f"drive {jumps[0].drive!r}", "speed", "a law that jumps", remedy)
    times = np.zeros(0)
    if np.isfinite(known):
        times = discontinuity_times_until(conditions, begin, known, smooth=not options.step)
    chosen = quantities(model, conditions, inputs, parameters, uses_friction=by_events is not None)
    effort = any(each.kind == "input" and each.flags & 1 for each in chosen)
    at = Motion(model, [start.t], start.q[None], start.v[None], start.x[None], conditions=single_period(conditions))
    plan = plan_outputs(model, outputs, at, locks=by_events is not None, control=effort)
    data = file_bytes(conditions, options, start, by_events, chosen, plan, times, known)
    check_file(data, conditions, start, chosen, plan, friction=by_events is not None)
    if np.isfinite(known):
        notes.append(f"the laws of time are known up to t = {known:.6g} s: the model runs no further (horizon=...)")
    return ExportedModel(data, model, start, [*chosen, *plan.quantities], by_events is not None, options.rtol, notes)


def _as_described(model: Model) -> Model:
    """Return a model whose description has the parameters of a variant."""
    return as_model(model.system)


def _horizon(model: Model, begin: float, given: float | None) -> float:
    """Return the time up to which discontinuity times are listed, s; infinite if there can be none."""
    sources = discontinuity_sources(model)
    laws = [law for law in sources.laws if not isinstance(law, (Constant, Harmonic, Polynomial, Element))]
    switches = any(0 in switch.inputs for formula in sources.formulas for switch in formula.switches)
    if not laws and not switches and not any(formula.laws for formula in sources.formulas):
        if given is not None:
            finite_number(given, item="export", field="horizon")
        return np.inf
    if given is None:
        return begin + DEFAULT_HORIZON
    end = finite_number(given, item="export", field="horizon")
    if end <= begin:
        raise ModelError("export", "horizon", given, f"it must be after t_start, {begin:.6g} s")
    return end
