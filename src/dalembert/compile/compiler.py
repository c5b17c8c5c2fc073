"""Compilation of a `System`: core tables, names, and data kept in Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, BoolArray
from ..connections.constraints.chain_reach import reach_of
from ..connections.constraints.chains import KinematicChain
from ..connections.constraints.ropes import Rope
from ..connections.drives import Drive
from ..errors import SingularityError
from ..garbage_collection import paused_collection
from ..system import System
from ..system.topology import Forest, with_massless_links
from .body_tables import flatten_bodies
from .contacts import ContactTables, compile_contacts
from .driven_angles import replace_driven_angles
from .element_tables import ElementTables
from .elements import flatten_elements
from .frames import FrameMap
from .loop_constraints import flatten_loop_constraints, loop_constraint_order, nonredundant_rows, scales
from .massless_dof import check_massless_dof, has_modes, needs_no_inertia, regularizing_inertia
from .names import Names, rows_of
from .parameter_map import ParameterMap, collect_parameters
from .program_tables import ConnectionProgramTables
from .time_laws import LawTables, flatten_drives

__all__ = ["Compiled", "compile_system", "random_coordinates"]


@dataclass(frozen=True, eq=False)
class Compiled:
    """Compiled description: all data of a model.

    Attributes
    ----------
    system : System
        Private copy of the description.
    origin : str
        The original description, to identify its markers.
    forest, frames, names
    tables : dict of str to array
        Of the core.
    elements : ElementTables
    callback_laws : tuple
        Laws evaluated in Python for the core, in its order.
    drives : tuple of Drive
        In the order of the core.
    independent : (nc,) bool
        Rows that are not redundant within their loop constraint in every configuration.
    numbers : ParameterMap
        Parameters that can change without recompilation.
    contacts : ContactTables or None
        None if the system has no contacts.
    """

    system: System
    origin: str
    forest: Forest
    frames: FrameMap
    names: Names
    tables: dict[str, NDArray[Any]]
    elements: ElementTables
    callback_laws: tuple[Any, ...]
    drives: tuple[Drive, ...]
    independent: BoolArray
    numbers: ParameterMap
    contacts: ContactTables | None = None


def _from_starts(system: System) -> System:
    """Set start values of the inner coordinates of kinematic chains; changes the system."""
    for name, connection in system.connections.items():
        initial = system.initials.get(name)
        if isinstance(connection.element, KinematicChain) and initial is not None and initial.position is not None:
            system.connections[name] = replace(connection, element=connection.element.with_start(initial.position))
    return system


def _with_chain_limits(system: System) -> System:
    """Return the system with a rope parallel to every chain that can be stretched or folded."""
    for name, connection in list(system.connections.items()):
        reach = reach_of(connection.element) if isinstance(connection.element, KinematicChain) else None
        if reach is None or f"{name}.reach" in system.connections:
            continue
        ends = [
            marker.body.at(*(marker.position + marker.rotation @ point))
            for marker, point in ((connection.first, reach.first), (connection.second, reach.second))
        ]
        system.connect(f"{name}.reach", Rope(reach.most), *ends)
        if reach.least > 0.0:
            system.connect(f"{name}.fold", Rope(reach.least, pushes=True), *ends)
    return system


def compile_system(origin: System) -> Compiled:
    """Return the compiled description of a system.

    Raises
    ------
    TopologyError
        If there are no bodies.
    ModelError
        If the data of a body are impossible, a joint that carries mass has a degree of freedom without inertia, or the
        shapes of a contact cannot touch.
    """
    with paused_collection():
        return _compile(origin)


def _compile(origin: System) -> Compiled:
    for body in origin.bodies.values():
        body.validate()
    system = _with_chain_limits(replace_driven_angles(_from_starts(with_massless_links(origin.copy()))))
    forest = Forest(system)
    names, frames, joints = Names(forest), FrameMap.of(forest), ConnectionProgramTables()
    tables = {
        **flatten_bodies(forest, frames, joints, names),
        **flatten_loop_constraints(forest, frames, joints, names),
        **joints.arrays(),
        **frames.layout.tables.arrays(),
        **scales(forest, names),
        "gravity": np.array(system.gravity, dtype=float),
    }
    drives = tuple(system.drives.values())
    independent = np.ones(len(names.rows), dtype=bool)
    skeleton = _Skeleton(tables, np.zeros(0), [], [], None)
    if names.rows:
        generic = skeleton.integrate(random_coordinates(forest, names, np.random.default_rng(1)), np.zeros(skeleton.nv))
        tables["regularizing_inertia"] = regularizing_inertia(skeleton, forest, names, generic)
        skeleton = _Skeleton(tables, np.zeros(0), [], [], None) if len(tables["regularizing_inertia"]) else skeleton
        rows, independent = _row_elimination_order(skeleton, forest, names)
        tables |= rows
    else:  # in a loop, the loop constraint may supply the inertia that a branch lacks
        _check_inertia(skeleton, tables, forest, names, drives)
    laws = LawTables()
    contacts = compile_contacts(forest)
    elements = flatten_elements(forest, frames, names, laws, joints.programs.tables, contacts)
    if contacts is not None and elements.notes:
        contacts = replace(contacts, notes=(*contacts.notes, *elements.notes))
    tables["drives"] = flatten_drives(drives, names, laws, elements.drive_laws)
    tables["holonomic"] = _holonomic(names, drives).astype(np.int32)
    numbers = collect_parameters(forest, frames, names, elements, drives, joints.own)
    tables |= {**laws.arrays(), **elements.arrays(), **numbers.tables}
    return Compiled(
        system=system,
        origin=origin.key,
        forest=forest,
        frames=frames,
        names=names,
        tables=tables,
        elements=elements,
        callback_laws=tuple(laws.callback_laws),
        drives=drives,
        independent=independent,
        numbers=numbers,
        contacts=contacts,
    )


class _Skeleton(_core.Model):
    """Bodies and closures only, for queries to the core."""

    def _refuse_result(self, kernel: str, argument: str, value: Any) -> NoReturn:
        raise SingularityError("a degree of freedom without inertia")


def _check_inertia(
    skeleton: _Skeleton, tables: dict[str, NDArray[Any]], forest: Forest, names: Names, drives: tuple[Drive, ...]
) -> None:
    """Raise an error for degrees of freedom of a tree without the inertia that they need."""
    held = needs_no_inertia(forest, names, drives)
    flexible = has_modes(forest)
    if held.any() and flexible:  # an infinite armature locks them
        own = tables["armature"] if len(tables["armature"]) else np.zeros(len(held))
        skeleton = _Skeleton({**tables, "armature": np.where(held, 1e60, own)}, np.zeros(0), [], [], None)
    generic = skeleton.integrate(random_coordinates(forest, names, np.random.default_rng(1)), np.zeros(skeleton.nv))
    check_massless_dof(skeleton, forest, names, generic, None if flexible else held)


def random_coordinates(forest: Forest, names: Names, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
    """Return random coordinates (*shape, nq): angles within +-pi, displacements within +-1 m, any orientation.

    Quaternions are not normalised; flexible bodies are not deformed.
    """
    q = np.zeros((*shape, len(names.coordinates)))
    for joint in forest.joints:
        span = names.q[joint.name]
        for column, name in zip(range(span.start, span.stop), joint.element.coordinates, strict=True):
            if name.startswith("angle"):
                q[..., column] = rng.uniform(-np.pi, np.pi, shape)
            elif name.startswith("q"):
                q[..., column] = rng.normal(size=shape)
            else:
                q[..., column] = rng.uniform(-1, 1, shape)
    return q


def _row_elimination_order(
    skeleton: _Skeleton, forest: Forest, names: Names
) -> tuple[dict[str, NDArray[np.int32]], BoolArray]:
    """Return the elimination order of constraint rows, and the mask of rows that are always needed."""
    starts = np.cumsum([0] + [len(rows_of(c)) for c in names.closures])
    order = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in loop_constraint_order(forest)]).astype(
        np.int32
    )
    rng, still = np.random.default_rng(2), np.zeros(skeleton.nv)
    samples = [skeleton.integrate(random_coordinates(forest, names, rng), still) for _ in range(3)]
    try:
        independent = nonredundant_rows(np.array([skeleton._row_pivots(q) for q in samples]), names)
    except SingularityError:  # a tree with degrees of freedom that only the loops constrain: no row is left out
        independent = names.closing.copy()
    return {"all_rows": order, "independent_rows": order[independent[order]]}, independent


def _holonomic(names: Names, drives: Iterable[Drive]) -> BoolArray:
    """Return the mask of rows that constrain positions; rows driven by velocity or acceleration are excluded."""
    bound = names.holonomic.copy()
    for drive in drives:
        if drive.level and not drive.of_joint:
            bound[names.row_connections.index(drive.connection.name) + drive.coordinate] = False
    return bound
