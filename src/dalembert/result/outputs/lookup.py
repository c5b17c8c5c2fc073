"""Lookup of outputs by name, and the list of all names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...checks import did_you_mean
from ...connections.constraints.chains import KinematicChain
from ...connections.constraints.geometric import Constraint
from ...connections.constraints.ropes import Rope
from ...connections.joints import Joint
from ...errors import ModelError
from ...model import Model
from .attitude_angles import ANGLES, is_angles
from .chain_coordinates import inner_quantities
from .contacts import CONTACT_QUANTITIES, contact_names, contact_output
from .frames import FRAME_OUTPUTS, frame_angles, frame_of, jerk_of_point, turning_axis
from .joints import jerk_of_joint, joint_of, joint_output, joint_quantities
from .loads import (
    LOAD_PARTS,
    ROPE_QUANTITIES,
    connection_load,
    constraint_output,
    coupling_output,
    force_element_output,
    force_element_quantities,
)
from .modal_coordinates import MODES, modal_output
from .momenta import MOMENTA, body_momentum, has_momentum
from .output import Output
from .system_quantities import SYSTEM_OUTPUTS

__all__ = ["describe", "find", "names"]


def find(model: Model, name: str) -> Output:
    """Return the output of that name; raise a `ModelError` that lists similar names.

    With a unit in brackets, ``"main.position [in]"``, it is in that unit; with a frame,
    ``"B.force in crank"``, a vector has components along the axes of that body or marker.
    """
    found = _find(model, name)
    if found is not None:
        return found
    if name.endswith("]") and " [" in name:
        plain, _, unit = name[:-1].rpartition(" [")
        return find(model, plain).in_unit(unit, name)
    what, _, frame = name.rpartition(" in ")
    if what and frame:
        return _in_axes(model, what, frame, name)
    base, _, ending = name.rpartition(".")
    vector = _find(model, base)
    if vector is not None and ending == "norm" and vector.shape == (3,):
        return vector.norm(name)
    if vector is not None and ending in vector.labels:
        return vector.component(vector.labels.index(ending), name)
    raise ModelError("output", "name", name, _suggest(model, name))


def describe(model: Model, name: str) -> str:
    """Return unit, shape and meaning of an output on one line.

    Examples
    --------
    >>> from dalembert.library.mechanisms import slider_crank
    >>> print(describe(slider_crank().compile(), "D.speed"))
    D.speed [m/s]: speed of joint 'D' (slide)
    """
    return find(model, name).describe()


def names(model: Model) -> list[str]:
    """Return the names of all outputs of a model, without components and points."""
    return [
        *SYSTEM_OUTPUTS,
        *(f"{owner}.{quantity}" for owner, quantities in _owners(model) for quantity in quantities),
    ]


def _find(model: Model, name: str) -> Output | None:
    if name in SYSTEM_OUTPUTS:
        return SYSTEM_OUTPUTS[name](model, name)
    # names may contain dots: the longest owner first
    for cut in (len(name), *(dot.start() for dot in reversed(list(re.finditer(r"\.", name))))):
        found = _of_owner(model, name[:cut], name[cut + 1 :], name)
        if found is not None:
            return found
    return None


def _in_axes(model: Model, what: str, frame: str, name: str) -> Output:
    """Return a vector, or a component of one, along the axes of a body or marker."""
    base, _, ending = what.rpartition(".")
    vector, component = _find(model, what), ""
    if vector is None and ending in ("x", "y", "z"):
        vector, component = find(model, base), ending
    vector = find(model, what) if vector is None else vector
    if vector.shape != (3,) or not vector.meaning.endswith("world axes") or vector.history is not None:
        remedy = "only vectors in world axes have components along other axes: positions, velocities, forces and so on"
        raise ModelError(f"output {name!r}", "vector", what, remedy)
    axes = find(model, f"{frame}.rotation")
    of_vector, of_axes, unique = vector.value, axes.value, vector.determined
    meaning = f"{vector.meaning.removesuffix('world axes')}axes of {frame!r}"
    turned = replace(
        vector,
        name=f"{base if component else what} in {frame}",
        meaning=meaning,
        value=lambda m: np.einsum("nji,nj->ni", of_axes(m), of_vector(m)),
        determined=None if unique is None else lambda m: np.repeat(unique(m).all(axis=1, keepdims=True), 3, axis=1),
        source=None,
    )
    return turned.component("xyz".index(component), name) if component else turned


def _of_connection(model: Model, owner: str, quantity: str, name: str) -> Output | None:
    for coupling in model.forest.couplings:
        if coupling.name == owner:
            return coupling_output(model, coupling, quantity, name)
    if quantity in LOAD_PARTS:
        return connection_load(model, owner, quantity, name)
    joint = joint_of(model, owner)
    if joint is not None:
        return jerk_of_joint(model, joint, name) if quantity == "jerk" else joint_output(model, joint, quantity, name)
    loop_constraint = next(
        loop_constraint for loop_constraint in model.forest.loop_constraints if loop_constraint.name == owner
    )
    return constraint_output(model, loop_constraint, quantity, name)


def _of_owner(model: Model, owner: str, quantity: str, name: str) -> Output | None:
    if owner in model.connection_names:
        return _of_connection(model, owner, quantity, name)
    if owner in model.system.forces:
        return force_element_output(model, owner, quantity, name)
    if model.contacts is not None and (found := contact_output(model, owner, quantity, name)) is not None:
        return found
    if quantity in MOMENTA and has_momentum(model, owner):
        return body_momentum(model, owner, quantity, name)
    if owner in model.flexible_names:
        modal = modal_output(model, owner, quantity, name)
        if modal is not None:
            return modal
    if quantity == "jerk":
        return jerk_of_point(model, owner, name)
    angles = is_angles(quantity)
    marker = frame_of(model, owner) if angles or quantity in FRAME_OUTPUTS else None
    if marker is None:
        return None
    return frame_angles(marker, quantity, name) if angles else FRAME_OUTPUTS[quantity](model, marker, name)


def _owners(model: Model) -> Iterator[tuple[str, list[str]]]:
    """Yield every item that has outputs, with their suffixes."""
    forest = model.forest
    for joint in forest.joints:
        yield joint.name, joint_quantities(joint.element, cut=False)
    driven = {drive.connection.name for drive in model.drives}
    for loop_constraint in forest.loop_constraints:
        if isinstance(loop_constraint.element, Joint):
            yield loop_constraint.name, joint_quantities(loop_constraint.element, cut=True)
        elif isinstance(loop_constraint.element, Constraint):
            effort = ["effort"] if loop_constraint.name in driven else []
            inner = (
                inner_quantities(loop_constraint.element) if isinstance(loop_constraint.element, KinematicChain) else []
            )
            rope = ROPE_QUANTITIES if isinstance(loop_constraint.element, Rope) else ()
            yield loop_constraint.name, [*effort, "force", "moment", *loop_constraint.element.rows, *inner, *rope]
    for coupling in forest.couplings:
        yield coupling.name, ["effort"]
    for force in model.system.forces.values():
        yield force.name, force_element_quantities(force)
    for name in contact_names(model):
        yield name, [*CONTACT_QUANTITIES]
    for name in model.flexible_names:
        yield name, [*MODES]
    for body in model.system.bodies.values():
        if has_momentum(model, body.name):
            yield body.name, [*MOMENTA]
        for marker in (body.origin, *body.markers.values()):
            planar = turning_axis(model, marker) is not None
            yield marker.name, [*(quantity for quantity in FRAME_OUTPUTS if quantity != "angle" or planar), *ANGLES]


def _suggest(model: Model, name: str) -> str:
    owners: dict[str, list[str]] = {}
    for owner_name, endings in _owners(model):
        owners[owner_name] = [*endings, *owners.get(owner_name, [])]
    known = [
        *SYSTEM_OUTPUTS,
        *(f"{owner}.{quantity}" for owner, quantities in owners.items() for quantity in quantities),
    ]
    guess = did_you_mean(name, known)
    owner = max((o for o in owners if name == o or name.startswith(f"{o}.")), key=len, default=None)
    if owner is not None:
        return f"{owner!r} has {', '.join(owners[owner])}" + (f"; {guess}" if guess else "")
    return guess or f"there are outputs such as {', '.join(map(repr, [*known[:2], *known[len(SYSTEM_OUTPUTS) :][:3]]))}"
