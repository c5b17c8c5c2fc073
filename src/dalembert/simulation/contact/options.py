"""Contact model of a run: the argument `contact` of `simulate`, and the choice of a model for each contact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import finite_number, one_of
from ...errors import ModelError
from ...model import Model
from ..options import Options

__all__ = ["IMPACT_LAWS", "ContactChoice", "choose_contact", "event_options", "step_options"]

MODELS = ("auto", "events", "steps", "soft", "off")
AVAILABLE = ("events", "steps", "soft")  # contact models of this version
DEFAULT_STEP = 1e-3  # s
IMPACT_LAWS = ("at once", "in turn", "poisson")  # in the order of the core
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
    impacts : str
        One of `IMPACT_LAWS`, of contact by events.
    """

    rigid: str = ""
    soft: bool = False
    step: float = DEFAULT_STEP
    error: float | None = None
    notes: tuple[str, ...] = ()
    impacts: str = IMPACT_LAWS[0]


_NO_CONTACT = ContactChoice()


def choose_contact(
    model: Model,
    contact: Any,
    error: Any = None,
    *,
    item: str = "simulate",
    by_events: bool = True,
    impacts: str = IMPACT_LAWS[0],
) -> ContactChoice:
    """Return the contact models for the arguments `contact` and `error` of an analysis.

    Contacts with stiffness are compliant, the others rigid. By default rigid contact is by events if the analysis
    (`by_events`) and the model have them, else by steps.

    Raises
    ------
    ModelError
        For an unknown text, and for models that do not exist or do not suit the contacts.
    """
    usual = isinstance(contact, str) and contact == "auto" and isinstance(impacts, str) and impacts == IMPACT_LAWS[0]
    if model.contacts is None and usual and error is None:
        return _NO_CONTACT
    kind, step = _parse(contact, item)
    one_of(item, "impacts", impacts, IMPACT_LAWS)
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
        return _NO_CONTACT
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
    turning = _with_moments(model, soft)
    if kind == "events" and turning:
        remedy = (
            "friction against rolling and spin works by steps: use contact='steps', or leave rolling= and spin= out"
        )
        raise ModelError(item, "contact", contact, f"{_listed(turning)}: {remedy}")
    automatic = "events" if by_events and error is None and not turning else "steps"
    if turning and kind == "auto" and by_events and rigid:
        notes = (
            f"rigid contact is by steps: friction against rolling and spin of {_listed(turning)} is not by events",
        )
    way = "" if not rigid else kind if kind in ("events", "steps") else automatic
    if impacts != IMPACT_LAWS[0] and way == "steps":
        raise ModelError(item, "impacts", impacts, "contact by steps has impacts 'at once': use contact='events'")
    if error is not None and way != "steps":
        raise ModelError(item, "error", error, "it belongs to rigid contact by steps: use contact='steps'")
    for name, used in ((way, bool(rigid)), ("soft", bool(soft))):
        if used and name not in AVAILABLE:
            which = _listed(soft if name == "soft" else rigid)
            known = " or ".join(f"contact={one!r}" for one in (*AVAILABLE, "off"))
            raise ModelError(item, "contact", name, f"this model is not there yet, for {which}: use {known}")
    return ContactChoice(way, bool(soft), DEFAULT_STEP if step is None else step, error, notes, impacts)


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


def event_options(options: Options, choice: ContactChoice, method: str) -> tuple[Options, Options]:
    """Return the options of a run by events, and those with which it may go on in steps; refuse what does not suit."""
    item = "simulate"
    if options.method not in EXPLICIT_METHODS:
        remedy = "rigid contact by events needs an explicit method: leave it out, or use 'dop853' or 'dopri5'"
        raise ModelError(item, "method", method, remedy)
    step = min(choice.step, options.max_step)
    by_steps = replace(options, method="moreau", step=step, max_step=np.inf, detect_stiffness=False, project=True)
    return replace(options, detect_stiffness=False), by_steps


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


def _with_moments(model: Model, soft: list[str]) -> list[str]:
    """Return the names of contacts with friction against rolling or spin; refuse compliant ones."""
    tables = model.contacts
    assert tables is not None
    found = []
    for c, name in enumerate(tables.names):
        numbers = tables.material_index[c]
        used = [tables.materials[k] for k in np.unique(numbers[numbers >= 0]).tolist()]
        for material in used:
            if material.has_moments and material.is_soft and name in soft:
                field = "rolling" if material.rolling else "spin"
                remedy = "compliant contact has no such friction: leave it out, or leave the stiffness out"
                raise ModelError(f"contact {name!r}", field, getattr(material, field), remedy)
        found += [name] * any(material.has_moments for material in used)
    return found


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
