"""From a `System` to the constant `Model`: flat arrays, aligned hinge frames.

The kernels work in frames of their own: frame F of a body sits at the outboard end of its hinge,
frame J at the inboard end, both turned so that the hinge's axis is local z. `FrameMap` is the one
place where these frames and the user's body frames meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bodies.markers import Marker
from .compile_elements import flatten_elements
from .compile_flexible import MODAL, NODE, Places, modes_of
from .compile_forces import flatten_forces
from .compile_joints import CHAIN, JointTables
from .connections.connection import Connection
from .connections.constraints import Constraint
from .connections.couplings import CoordinateConnection
from .connections.custom import CustomHinge
from .connections.hinges import Hinge
from .connections.signals import Sensor
from .errors import DalembertError, ModelError
from .topology import Forest

if TYPE_CHECKING:
    from .model import Model
    from .system import System

__all__ = ["FrameMap", "compile_system"]

Array = NDArray[np.float64]

# numbers of the compiled hinges, by name and direction; the order is that of `Hinge` in core/model.hpp
_KINDS = {
    ("Fixed", False): 0,
    ("Fixed", True): 0,
    ("Revolute", False): 1,
    ("Revolute", True): 1,
    ("Prismatic", False): 2,
    ("Prismatic", True): 2,
    ("Screw", False): 3,
    ("Screw", True): 3,
    ("Cylindrical", False): 4,
    ("Cylindrical", True): 4,
    ("Universal", False): 5,
    ("Universal", True): 6,
    ("Planar", False): 7,
    ("Planar", True): 8,
    ("Spherical", False): 9,
    ("Spherical", True): 10,
    ("Free", False): 11,
    ("Free", True): 12,
}
_CUSTOM = 13

# Walked from its second end, a hinge about or along z is again one of its kind, with the same sign, in frames
# turned by pi about x; a universal joint likewise in frames turned by pi about (1, -1, 0).
_TURN_X = np.diag([1.0, -1.0, -1.0])
_TURN_XY = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
_REVERSAL = {
    "Revolute": _TURN_X,
    "Prismatic": _TURN_X,
    "Screw": _TURN_X,
    "Cylindrical": _TURN_X,
    "Universal": _TURN_XY,
}


@dataclass(frozen=True, eq=False)
class FrameMap:
    """Poses between the user's frames B and the kernel frames F, for ground (0) and every body.

    Of a flexible body, F of its modal place is B itself, and F of a node rests parallel to B.

    Attributes
    ----------
    R_FB : (nb + 1, 3, 3)
    p_FB : (nb + 1, 3) m
        The user's body frame in F: ``x_F = R_FB @ x_B + p_FB``. Of a flexible body, in F of the place at the end of
        its hinge, undeformed.
    R_PJ : (nb, 3, 3)
    p_PJ : (nb, 3) m
        The inboard hinge frame J in F of the place that the hinge starts from.
    places : Places
    """

    R_FB: Array
    p_FB: Array
    R_PJ: Array
    p_PJ: Array
    places: Places

    @classmethod
    def of(cls, forest: Forest) -> FrameMap:
        """Compute the frames of a forest."""
        nb = forest.nb
        places = Places(forest, _markers_in_use(forest))
        flexible = [False, *(bool(modes_of(forest.system.bodies[name])) for name in forest.bodies[1:])]
        R_FB, p_FB = np.tile(np.eye(3), (nb + 1, 1, 1)), np.zeros((nb + 1, 3))
        R_PJ, p_PJ = np.empty((nb, 3, 3)), np.empty((nb, 3))
        for k, (hinge, parent) in enumerate(zip(forest.hinges, forest.parent, strict=True)):
            axes = hinge.element.frame()
            if hinge.reversed:
                axes = axes @ _REVERSAL.get(hinge.element.kind, np.eye(3))
            inboard, outboard = hinge.inboard, hinge.outboard
            if flexible[parent]:
                at_node = places.rows[places.inboard[k] - 1].kind == "node"
                R_PJ[k], p_PJ[k] = inboard.rotation @ axes, np.zeros(3) if at_node else inboard.position
            else:
                R_PJ[k] = R_FB[parent] @ (inboard.rotation @ axes)
                p_PJ[k] = R_FB[parent] @ inboard.position + p_FB[parent]
            R_BF = outboard.rotation @ axes
            R_FB[k + 1] = R_BF.T
            p_FB[k + 1] = -R_BF.T @ outboard.position
        return cls(R_FB, p_FB, R_PJ, p_PJ, places)

    def to_kernel(self, body: int, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return in F a pose given in the user's frame of body number `body`."""
        R = self.R_FB[body]
        return R @ rotation, R @ position + self.p_FB[body]

    def to_user(self, body: int, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return in the user's frame of body number `body` a pose given in F."""
        R = self.R_FB[body]
        return R.T @ rotation, R.T @ (position - self.p_FB[body])

    def place(self, marker: Marker, axes: Array | None = None) -> tuple[int, Array, Array]:
        """Return the place in the core's list that carries a marker, and its pose in F there, turned by `axes`."""
        rotation = marker.rotation if axes is None else marker.rotation @ axes
        place = self.places.find(marker)
        kind = self.places.rows[place - 1].kind if place else "rigid"
        if kind == "node":
            return place, rotation, np.zeros(3)
        if kind == "modal":
            return place, rotation, marker.position
        return place, *self.to_kernel(self.places.forest.number[marker.body.name], rotation, marker.position)


def compile_system(system: System) -> Model:
    """Return the model of a system.

    Raises
    ------
    TopologyError
        If there are no bodies.
    ModelError
        If a body's data are impossible, or a hinge has nothing to move: no inertia outboard of it
        along one of its freedoms.
    """
    from .model import Model

    for body in system.bodies.values():
        body.validate()
    forest = system.forest()
    frames = FrameMap.of(forest)
    joints = JointTables()
    numbers, integers = _list_places(forest, frames, *_flatten(system, forest, frames, joints))
    chords = _flatten_chords(forest, frames, joints)
    model = Model(
        system,
        forest,
        frames,
        numbers,
        integers,
        *chords,
        *_flatten_curves(forest),
        *joints.arrays(),
        *frames.places.tables.arrays(),
    )
    if model.nc:
        _settle_loops(model, forest)
    else:  # in a loop, what closes it may bring the inertia that a branch lacks
        _check_inertia(model, forest)
    forces = flatten_forces(model)
    elements = flatten_elements(model, forces)
    model._take_forces(forces)
    model._take_elements(elements)
    return model


def _markers_in_use(forest: Forest) -> list[Marker]:
    """Return the markers at which chords, force elements and users look at bodies."""
    system = forest.system
    used = [marker for c in forest.chords for marker in (c.first, c.second)]
    for force in system.forces.values():
        used += force.ends
        sensors = [source for source in getattr(force.element, "inputs", {}).values() if isinstance(source, Sensor)]
        used += [marker for sensor in sensors for marker in (sensor.first, sensor.second)]
    used += [marker for c in forest.hinges for marker in (c.inboard, c.outboard)]
    return used + [marker for body in system.bodies.values() for marker in body.markers.values()]


def _list_places(
    forest: Forest, frames: FrameMap, numbers: Array, integers: NDArray[np.int32]
) -> tuple[Array, NDArray[np.int32]]:
    """Return the rows of core/bind/build.cpp: 35 numbers and 11 integers per place of the core's list."""
    places = frames.places
    codes = np.zeros((len(places.rows), 11), dtype=np.int32)
    users = np.array([place.user for place in places.rows])
    codes[:, 0] = integers[users - 1, 0]
    codes[:, 1] = [place.parent for place in places.rows]
    codes[:, 2] = integers[users - 1, 2]
    codes[:, 3:6] = users[:, None]
    codes[:, 9:] = integers[users - 1, 3:]
    if not places.modal:
        return numbers, codes
    rows = numbers[users - 1].copy()
    for row, code, place in zip(rows, codes, places.rows, strict=True):
        if place.kind == "rigid":
            continue
        k = place.user
        if place.kind == "carrier":  # massless; the user's frame is that of the modal place
            row[12:22], code[3] = 0.0, 0
            continue
        code[0], code[2], code[5] = MODAL if place.kind == "modal" else NODE, 0, 0
        code[6:9] = places.modal[k], place.shape, place.clamped
        row[:12], row[13:22], row[22:34], row[34] = np.eye(4)[:3].ravel()[_POSE], 0.0, np.eye(4)[:3].ravel()[_POSE], 0.0
        if place.kind == "node":
            row[12], code[3] = 0.0, 0
        else:  # the node that the hinge holds, in F of the carrier
            outboard = forest.hinges[k - 1].outboard
            row[:9] = frames.R_FB[k].ravel()
            row[9:12] = frames.R_FB[k] @ outboard.position + frames.p_FB[k]
    return rows, codes


# of a 3 x 4 matrix [R, p], flat: where R and p stand
_POSE = [0, 1, 2, 4, 5, 6, 8, 9, 10, 3, 7, 11]


def _flatten(system: System, forest: Forest, frames: FrameMap, joints: JointTables) -> tuple[Array, NDArray[np.int32]]:
    """Return 35 numbers, and kind, parent, direction, program and freedoms, for each of the user's bodies."""
    nb = forest.nb
    bodies = [system.bodies[name] for name in forest.bodies[1:]]
    mass = np.array([body.mass for body in bodies])
    R, p = frames.R_FB[1:], frames.p_FB[1:]
    c = np.einsum("nij,nj->ni", R, np.array([body.com for body in bodies])) + p
    inertia = np.array([body.inertia for body in bodies])
    # about the origin of F: R I R^T + m (c.c 1 - c c^T)
    J = R @ inertia @ R.transpose(0, 2, 1)
    J += mass[:, None, None] * ((c * c).sum(1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
    pitch = [getattr(hinge.element, "pitch", 0.0) / (2 * np.pi) for hinge in forest.hinges]
    numbers = np.empty((nb, 35))
    numbers[:, :9] = frames.R_PJ.reshape(nb, 9)
    numbers[:, 9:12] = frames.p_PJ
    numbers[:, 12] = mass
    numbers[:, 13:16] = mass[:, None] * c
    numbers[:, 16:22] = J.reshape(nb, 9)[:, [0, 1, 2, 4, 5, 8]]
    numbers[:, 22:31] = R.reshape(nb, 9)
    numbers[:, 31:34] = p
    numbers[:, 34] = pitch
    if not np.isfinite(numbers).all():
        row = int(np.argwhere(~np.isfinite(numbers))[0, 0])
        raise ModelError(
            f"body {forest.bodies[row + 1]!r}",
            "data",
            "too large",
            "lengths and masses must stay finite when multiplied",
        )
    integers = np.zeros((nb, 5), dtype=np.int32)
    for k, hinge in enumerate(forest.hinges):
        element, custom = hinge.element, isinstance(hinge.element, CustomHinge)
        kind = _CUSTOM if custom else _KINDS[element.kind, hinge.reversed]
        integers[k, :3] = kind, forest.parent[k], hinge.reversed
        if isinstance(element, CustomHinge):
            integers[k, 3:] = joints.of_hinge(element, reversed=hinge.reversed)
    return numbers, integers


def _flatten_chords(
    forest: Forest, frames: FrameMap, joints: JointTables
) -> tuple[Array, NDArray[np.int32], NDArray[np.int32], Array]:
    """Return the chord rows of core/bind/build.cpp, couplings last, and the freedoms that couplings couple."""
    count = len(forest.chords) + len(forest.couplings)
    numbers, integers = np.zeros((count, 25)), np.zeros((count, 11), dtype=np.int32)
    curves = 0
    for k, chord in enumerate(forest.chords):
        element = chord.element
        axes: tuple[Array, Array]
        if isinstance(element, CustomHinge):
            axes, code, parameter = (np.eye(3), np.eye(3)), CHAIN, element.length
        elif isinstance(element, Hinge):
            axes, code = (element.frame(), element.frame()), _KINDS[element.kind, False]
            parameter = getattr(element, "pitch", 0.0) / (2 * np.pi)
        else:
            axes, code, parameter = element.frames(), element.code, element.parameter
        ends = []
        for marker, turn, start in zip((chord.first, chord.second), axes, (0, 12), strict=True):
            body, R, p = frames.place(marker, turn)
            ends.append(body)
            numbers[k, start : start + 9], numbers[k, start + 9 : start + 12] = R.ravel(), p
        numbers[k, 24] = parameter
        integers[k, :4] = code, *ends, len(element.rows)
        integers[k, 7:] = joints.of_chord(element)
        if isinstance(element, Constraint) and element.table() is not None:
            integers[k, 6] = curves
            curves += 1
    sizes = [h.element.nv + modes_of(h.outboard.body) for h in forest.hinges]
    first = dict(zip((h.name for h in forest.hinges), np.cumsum([0, *sizes]), strict=False))
    freedoms: list[int] = []
    factors: list[float] = []
    for k, coupling in enumerate(forest.couplings, start=len(forest.chords)):
        numbers[k, 24] = coupling.element.offset
        hinges, coefficients = (coupling.first, coupling.second), (-coupling.element.ratio, 1.0)
        terms = [x for x in zip(hinges, coupling.coordinates, coefficients, strict=True) if x[2]]
        integers[k, :6] = coupling.element.code, 0, 0, 1, len(freedoms), len(terms)
        freedoms += [int(first[hinge.name]) + part for hinge, part, _ in terms]
        factors += [factor for _, _, factor in terms]
    return numbers, integers, np.array(freedoms, dtype=np.int32), np.array(factors, dtype=float)


def _flatten_curves(forest: Forest) -> tuple[Array, NDArray[np.int32]]:
    """Return the piece and curve rows of core/bind/build.cpp, for the chords that have a curve, in their order."""
    tables = [c.element.table() for c in forest.chords if isinstance(c.element, Constraint)]
    found = [table for table in tables if table is not None]
    starts = np.cumsum([0] + [len(table.coefficients) for table in found])
    rows = [np.zeros((0, 22))]
    for table in found:
        centre, radius = table.spheres()
        rows.append(np.hstack([table.coefficients.reshape(-1, 18), centre, radius[:, None]]))
    curves = [
        (start, len(table.coefficients), table.degree, table.closed)
        for start, table in zip(starts[:-1], found, strict=True)
    ]
    return np.concatenate(rows), np.array(curves, dtype=np.int32).reshape(-1, 4)


def _settle_loops(model: Model, forest: Forest) -> None:
    """Choose the order in which constraint rows are eliminated, and leave out those that repeat others everywhere.

    A planar loop of spatial hinges has three such rows: they depend on the others in every
    configuration, closed or not, so a few random ones tell. Only repetitions within one loop are
    looked for; those that several loops bring about together are found at each evaluation.
    """
    closures: list[Connection | CoordinateConnection] = [*forest.chords, *forest.couplings]
    starts = np.cumsum([0] + [len(c.element.rows) for c in closures])
    order = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in _chord_order(forest)]).astype(np.int32)
    model._settle_rows(order, order)
    rng = np.random.default_rng(2)
    try:
        pivots = np.array([model._row_pivots(model.random_state(rng).q) for _ in range(3)])
    except DalembertError:  # a tree with freedoms that only the loops hold: nothing is left out
        return
    kept = pivots > 0.0
    # for each chord, the rows of the sample that found the most
    lean = np.zeros(model.nc, dtype=bool)
    for start, stop in pairwise(starts):
        lean[start:stop] = max((sample[start:stop] for sample in kept), key=np.count_nonzero)
    chosen = np.array([row for row in order if lean[row]], dtype=np.int32)
    model._settle_rows(order, chosen)
    model.independent_rows = tuple(model.constraint_names[row] for row in sorted(chosen))


def _chord_order(forest: Forest) -> NDArray[np.int32]:
    """Return the chords in an order that keeps those that share a tree close together."""
    ends = [{c.first.body.name, c.second.body.name} for c in forest.chords]
    ends += [{m.body.name for h in (c.first, c.second) for m in (h.first, h.second)} for c in forest.couplings]
    count = len(ends)
    natural = np.arange(count, dtype=np.int32)
    trees: dict[int, list[int]] = {}
    for k, names in enumerate(ends):
        for root in {forest.path(name)[-1] for name in names if forest.number[name]}:
            trees.setdefault(root, []).append(k)
    # few chords, or all of them on one tree: any order is as good
    if count < 3 or max(map(len, trees.values()), default=0) > max(8, count // 2):
        return natural
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pairs = np.array([(a, b) for members in trees.values() for a in members for b in members])
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()
    order: NDArray[np.int32] = reverse_cuthill_mckee(graph, symmetric_mode=True)
    return order


def _check_inertia(model: Model, forest: Forest) -> None:
    """Refuse freedoms without inertia, found as vanishing pivots of the mass matrix at a generic configuration."""
    weak = model.freedoms_without_inertia(model.random_state(np.random.default_rng(1)).q)
    clocks = {
        model.speed_names[model.v_slice(hinge.name)][hinge.element.clock]
        for hinge in forest.hinges
        if isinstance(hinge.element, CustomHinge) and hinge.element.clock is not None
    }
    weak = [freedom for freedom in weak if freedom not in clocks]  # time needs no inertia: it is driven
    if not weak:
        return
    freedom = weak[0]
    for body, hinge in zip(forest.bodies[1:], forest.hinges, strict=True):
        if freedom in model.speed_names[model.v_slice(hinge.name)]:
            raise ModelError(
                f"body {body!r}",
                "inertia",
                0.0,
                f"freedom {freedom!r} of hinge {hinge.name!r} ({hinge.element.kind}) moves no inertia: give the body, "
                "or one it carries, mass away from the axis or a moment of inertia about it, or use Fixed()",
            )
