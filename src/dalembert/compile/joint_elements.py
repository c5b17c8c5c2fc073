"""Viscous dampers and dry friction of joints as elements of the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..connections.connection import Connection
from ..connections.elements.built_in import JointSpring
from ..connections.elements.signals import Reaction, parts_in
from ..connections.formulas.expressions import compile_expressions
from ..connections.joints import Joint
from .names import full_names
from .schema import number

if TYPE_CHECKING:
    from .elements import CompileContext

__all__ = ["SIGN_MODE", "FrictionSlot", "add_joint_elements"]

SIGN_MODE = 2.0  # mode of dry friction by the sign of the velocity; modes within one of zero are given


@dataclass(frozen=True)
class FrictionSlot:
    """Index of the dry friction of a velocity.

    Attributes
    ----------
    friction, mode, coefficient, slip : int
        Among the parameters. Without friction by load the coefficient is zero.
    measure : int
        Of its effort among those of all elements.
    load : int
        Index of the effort per coefficient, N m or N, among the signals; -1 without load-dependent friction.
    """

    friction: int
    mode: int
    coefficient: int
    slip: int
    measure: int
    load: int


def add_joint_elements(site: CompileContext, connection: Connection) -> None:
    """Add dampers and dry friction of a joint at its velocities."""
    joint = connection.element
    if not isinstance(joint, Joint):
        return
    speeds = tuple(full_names(connection.name, joint.speeds))
    if joint.damping is not None:
        for part, speed in enumerate(speeds):
            labels = ("", f"{speed}.damping", "")
            parameter = site.tables.add_parameters(labels, (0.0, float(joint.damping[part]), 0.0))
            form = number("law_form", JointSpring.law_form)
            site.tables.add_element(
                "", [site.at_joint(connection, part)], 1, form=form, parameter=parameter, parameters=3
            )
    if not joint.has_dry_friction:
        return
    given = [f for f in (joint.friction, joint.static_friction) if f is not None]
    parts = [k for k in range(joint.nv) if joint.load_friction is not None or any(f[k] for f in given)]
    for chosen in [parts] if joint.has_vector_friction else [[part] for part in parts]:
        _add_dry(site, connection, chosen, speeds)


def _add_dry(site: CompileContext, connection: Connection, parts: list[int], speeds: tuple[str, ...]) -> None:
    """Add dry friction at one velocity of a joint, or at several together."""
    joint, tables = connection.element, site.tables
    assert isinstance(joint, Joint)
    n, law = len(parts), joint.load_friction
    loads = [] if law is None else [_load(site, connection, part) for part in parts]
    friction = np.zeros(joint.nv) if joint.friction is None else joint.friction
    labels = (
        *(f"{speeds[part]}.friction" for part in parts),
        *[""] * n,
        f"{connection.name}.coefficient" * bool(law),
        "",
    )
    numbers = (*friction[parts], *[SIGN_MODE] * n, 0.0 if law is None else law.coefficient, 0.0)
    first = tables.add_parameters(labels, numbers)
    signal = number("source", "signal")
    taken = [tables.inputs.add(source=signal, place=load) for load in loads]
    for k, part in enumerate(parts):
        load = loads[k] if loads else -1
        place = FrictionSlot(first + k, first + n + k, first + 2 * n, first + 2 * n + 1, tables.measured + k, load)
        tables.friction_slots[speeds[part]] = place
    tables.add_element(
        "",
        [site.at_joint(connection, part) for part in parts],
        n,
        form=number("law_form", "dry_friction"),
        parameter=first,
        parameters=2 * n + 2,
        input=taken[0] if taken else 0,
        inputs=len(taken),
    )


def _load(site: CompileContext, connection: Connection, part: int) -> int:
    """Return the number of the signal that is the friction at a velocity per coefficient."""
    joint, tables, name = connection.element, site.tables, connection.name
    assert isinstance(joint, Joint) and joint.load_friction is not None
    turns = joint.speed_units[part] == "rad"
    known = f"{name}.{'turning' if turns else 'sliding'} load"
    if known in tables.signals:
        return tables.signals[known]
    law = joint.load_friction
    formula = law.effort(joint.friction_load, joint.frame(), turns=turns)
    parts = parts_in(formula)
    places = [tables.feedback(site.names.connections.index(name), Reaction(name, p).number) for p in parts.values()]
    taken = [tables.inputs.add(source=number("source", "feedback"), place=place) for place in places]
    numbers = law.parameters
    program = compile_expressions(["0", formula], ("t", *numbers, *parts), item=f"friction of {name!r}")
    labels = [f"{name}.{label}" for label in numbers]
    tables.add_element(
        "",
        [],
        0,
        form=number("law_form", "program"),
        law=tables.programs.take(program),
        parameter=tables.add_parameters(labels, numbers.values()),
        parameters=len(numbers),
        input=taken[0],
        inputs=len(taken),
        signals=1,
    )
    tables.signals[known] = len(tables.signals)
    return tables.signals[known]
