"""Contact model of a run: the argument `contact` of `simulate`, and the choice of a model for each contact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import finite_number
from ...errors import ModelError
from ...model import Model
from ..friction.rows import friction_rows
from ..options import Options

__all__ = ["ContactChoice", "choose_contact", "event_options", "step_options"]

MODELS = ("auto", "events", "steps", "soft", "off")
AVAILABLE = ("events", "steps", "soft")  # contact models of this version
DEFAULT_STEP = 1e-3  # s
EXPLICIT_METHODS = ("dop853", "dopri5", "rk4")  # that contact by events works with
WAYS = "use 'auto', 'events', 'steps', 'steps:<length>' such as 'steps:1e-3', 'soft' or 'off'"


@dataclass(frozen=True)
class ContactChoice:
    """Contact models of a run.

    Attributes
    ----------
    rigid : str
        ``"events"``, ``"steps"``, or empty: no rigid contacts.
    soft : bool
        Whether contacts with stiffness are compliant.
    step : float, s
        Length of steps.
    error : float or None
        Largest error of a run by steps that is accepted, rad or m.
    notes : tuple of str
    """

    rigid: str = ""
    soft: bool = False
    step: float = DEFAULT_STEP
    error: float | None = None
    notes: tuple[str, ...] = ()


def choose_contact(
    model: Model, contact: Any, error: Any = None, *, item: str = "simulate", by_events: bool = True
) -> ContactChoice:
    """Return the contact models for the arguments `contact` and `error` of an analysis.

    Contacts with stiffness are compliant, the others rigid. By default rigid contact is by events if the analysis
    (`by_events`) and the model have them, else by steps.

    Raises
    ------
    ModelError
        For an unknown text, and for models that do not exist or do not suit the contacts.
    """
    kind, step = _parse(contact, item)
    if error is not None:
        error = finite_number(error, item=item, field="error")
        if not error > 0.0:
            raise ModelError(item, "error", error, "give the largest accepted error, rad or m: error=1e-3")
        if kind not in ("auto", "steps"):
            raise ModelError(item, "error", error, f"it belongs to contact='steps', not to {contact!r}")
    if kind == "events" and not by_events:
        raise ModelError(item, "contact", contact, "it has no contact by events: use 'steps'")
    tables = model.contacts
    if tables is None:
        if error is not None:
            raise ModelError(item, "error", error, "the system has no contacts; steps have rtol and atol")
        return ContactChoice()
    if kind == "off":
        return ContactChoice(notes=(f"contacts were left out by contact='off': {_listed(tables.names)}",))
    soft, rigid = _kinds(model)
    notes: tuple[str, ...] = ()
    if kind in ("events", "steps") and soft:
        notes = (f"contact={contact!r}: the stiffness of {_listed(soft)} was not used; they are rigid",)
        rigid, soft = list(tables.names), []
    if kind == "soft" and rigid:
        remedy = "give it stiffness=, young= or depth=, or use contact='auto'"
        raise ModelError(f"contact {rigid[0]!r}", "stiffness", None, remedy)
    way = "" if not rigid else kind if kind in ("events", "steps") else _automatic(model, by_events and error is None)
    if error is not None and way != "steps":
        raise ModelError(item, "error", error, "it belongs to rigid contact by steps: use contact='steps'")
    for name, used in ((way, bool(rigid)), ("soft", bool(soft))):
        if used and name not in AVAILABLE:
            which = _listed(soft if name == "soft" else rigid)
            known = " or ".join(f"contact={one!r}" for one in (*AVAILABLE, "off"))
            raise ModelError(item, "contact", name, f"this model is not there yet, for {which}: use {known}")
    return ContactChoice(way, bool(soft), DEFAULT_STEP if step is None else step, error, notes)


def step_options(
    options: Options,
    choice: ContactChoice,
    method: str,
    fixed_step: float | None,
    *,
    item: str = "simulate",
) -> tuple[Options, ContactChoice]:
    """Return the options and the choice of a run by steps; refuse arguments that do not suit it."""
    if method != "auto":
        raise ModelError(item, "method", method, "rigid contact by steps has a method of its own: leave it out")
    step = choice.step
    if fixed_step is not None:
        step = finite_number(fixed_step, item=item, field="fixed_step")
        if not step > 0.0:
            raise ModelError(item, "fixed_step", fixed_step, "it must be positive")
    step = min(step, options.max_step)
    changed = replace(options, method="moreau", step=step, max_step=np.inf, detect_stiffness=False, project=True)
    return changed, replace(choice, step=step)


def event_options(
    options: Options, choice: ContactChoice, method: str, friction: str, stops: str, model: Model
) -> tuple[Options, Options]:
    """Return the options of a run by events, and those with which it may go on in steps; refuse what does not suit."""
    item = "simulate"
    if options.method not in EXPLICIT_METHODS:
        remedy = "rigid contact by events needs an explicit method: leave it out, or use 'dop853' or 'dopri5'"
        raise ModelError(item, "method", method, remedy)
    rows = friction_rows(model)
    if friction == "events" and rows.has_friction.any():
        name = rows.names[int(np.flatnonzero(rows.has_friction)[0])]
        remedy = "dry friction of joints does not work with contact by events: use contact='steps' or friction='smooth'"
        raise ModelError(item, "friction", name, remedy)
    if stops == "rigid" and (stopped := _stopped(model)):
        remedy = "rigid stops of joints do not work with contact by events: use contact='steps', or stops='soft'"
        raise ModelError(item, "stops", stopped, remedy)
    step = min(choice.step, options.max_step)
    by_steps = replace(options, method="moreau", step=step, max_step=np.inf, detect_stiffness=False, project=True)
    return replace(options, detect_stiffness=False), by_steps


def _stopped(model: Model) -> str:
    """Return the name of a joint with stops; empty if there is none."""
    rows = friction_rows(model)
    stopped = np.flatnonzero(np.isfinite(rows.lower) | np.isfinite(rows.upper))
    return rows.names[int(stopped[0])] if len(stopped) else ""


def _automatic(model: Model, by_events: bool) -> str:
    """Return the model of rigid contacts that is chosen by default."""
    dry = bool(friction_rows(model).has_friction.any())
    return "events" if by_events and not dry and not _stopped(model) else "steps"


def _parse(contact: Any, item: str) -> tuple[str, float | None]:
    """Return the name of a model, and the length of its steps, s."""
    kind, colon, text = contact.partition(":") if isinstance(contact, str) else ("", "", "")
    if kind not in MODELS or (colon and kind != "steps"):
        raise ModelError(item, "contact", contact, WAYS)
    if not colon:
        return kind, None
    try:
        step = float(text)
    except ValueError:
        step = np.nan
    if not 0.0 < step < np.inf:
        raise ModelError(item, "contact", contact, "give the length of the steps, s: 'steps:1e-3'")
    return kind, step


def _kinds(model: Model) -> tuple[list[str], list[str]]:
    """Return the names of contacts with compliant materials, and of those with rigid ones."""
    tables = model.contacts
    assert tables is not None
    soft, rigid = [], []
    for c, name in enumerate(tables.names):
        numbers = tables.material_index[c]
        used = [tables.materials[k] for k in np.unique(numbers[numbers >= 0]).tolist()]
        soft += [name] * any(material.is_soft for material in used)
        rigid += [name] * any(not material.is_soft for material in used)
    return soft, rigid


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
