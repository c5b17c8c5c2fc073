"""Mode sets: the deformation shapes of a flexible body.

A mode set defines the modes and the motion of the body frame relative to the deformed body: attached to a node, or as
mean axes (Tisserand's, or Buckens'), the frame in which the modes carry no momentum.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, BoolArray
from ..bodies.nodal_matrices import modal_frequencies, rigid_motions
from ..checks import finite_array, one_of, shape_of, whole_number
from ..errors import ModelError
from ..numerics.rank import ROW_RANK_TOL
from .structure import Structure
from .supported_structure import SupportedStructure, free_modes, without_rigid_motion

__all__ = ["BuiltModes", "CantileverModes", "CraigBampton", "FreeModes", "GivenModes", "Guyan", "ModeSet"]


@dataclass(frozen=True, eq=False)
class BuiltModes:
    """Modes of a structure.

    Attributes
    ----------
    structure : Structure
        Structure whose nodes the modes move: the original, or a condensed one.
    modes : (6 n, nm)
    reference : int or None
        Label of the node to which the frame is attached; None for mean axes.
    labels : (n,) int
        Numbers of the nodes in the original structure.
    interfaces : tuple of int
        Nodes of the original structure at which loads are expected.
    exact : bool
        True if the modes are vibration modes of the structure, in this frame.
    """

    structure: Structure
    modes: Array
    reference: int | None
    labels: NDArray[np.int64]
    interfaces: tuple[int, ...] = ()
    exact: bool = False


class ModeSet:
    """Method of mode generation: its `build` takes a structure and returns `BuiltModes`."""

    def build(self, structure: Structure) -> BuiltModes:
        """Return the modes of a structure."""
        raise NotImplementedError


@dataclass(frozen=True)
class CantileverModes(ModeSet):
    """Vibration modes of the structure clamped at a node, to which the body frame is attached.

    Parameters
    ----------
    count : int
        Number of lowest modes.
    at : int or (3,) m
        The node, by number or position.
    """

    count: int = 6
    at: Any = 0

    def build(self, structure: Structure) -> BuiltModes:
        """Return the lowest modes with the node held."""
        node = structure.node(self.at, item="CantileverModes", field="at")
        fixed = _clamp(structure, [node], "CantileverModes")
        _, modes = SupportedStructure(structure, fixed).modes(
            whole_number(self.count, item="CantileverModes", field="count")
        )
        return replace(_built(structure, modes, node, ()), exact=True)


@dataclass(frozen=True)
class FreeModes(ModeSet):
    """Vibration modes of the free structure, without its six rigid modes.

    Parameters
    ----------
    count : int
        Number of lowest elastic modes.
    attached : int, (3,) m or None
        Node to which the body frame is attached; default none: mean axes.
    """

    count: int = 6
    attached: Any = None

    def build(self, structure: Structure) -> BuiltModes:
        """Return the lowest elastic modes."""
        _, modes = free_modes(structure, whole_number(self.count, item="FreeModes", field="count"))
        node = None if self.attached is None else structure.node(self.attached, item="FreeModes", field="attached")
        return replace(_built(structure, _in_frame(structure, modes, node), node, ()), exact=node is None)


@dataclass(frozen=True)
class CraigBampton(ModeSet):
    """Constraint modes of interface nodes and fixed-interface modes: exact for static interface loads.

    The combined set is made orthonormal; its rigid motions are left to the body frame.

    Parameters
    ----------
    interfaces : nodes, by number or position
        Nodes at which joints and forces act.
    count : int
        Number of lowest vibration modes with all interfaces held.
    frame : "attached" or "mean"
        Attached to the first interface, or mean axes.
    max_frequency : float, rad/s
        Leave out combined modes above it; default keep all. Static exactness is then lost.
    """

    interfaces: Any
    count: int = 6
    _: KW_ONLY
    frame: str = "attached"
    max_frequency: float | None = None

    def build(self, structure: Structure) -> BuiltModes:
        """Return orthonormal modes that span constraint and fixed-interface modes, without rigid motions."""
        name = "CraigBampton"
        one_of(name, "frame", self.frame, ("attached", "mean"))
        nodes = _nodes(structure, self.interfaces, name, "interfaces")
        for place in nodes:
            if not structure.active[6 * place : 6 * place + 3].all():
                raise ModelError(name, "interfaces", place, "it only follows other nodes: use a rigid region's node")
        fixed = structure.fixed_at(nodes)
        held = SupportedStructure(structure, fixed)
        _, inner = held.modes(whole_number(self.count, item=name, field="count", least=0))
        # unit motions of all interfaces but the first, which stays: rigid motions are not among them
        moved = np.flatnonzero(structure.active & structure.fixed_at(nodes[1:]))
        outer = _constraint_modes(structure, held, moved)
        if not structure.active[6 * nodes[0] : 6 * nodes[0] + 6].all():
            outer = _constraint_modes(structure, held, np.flatnonzero(structure.active & fixed))
            outer = _independent(structure, outer)
        node = nodes[0] if self.frame == "attached" else None
        both = _in_frame(structure, np.hstack([outer, inner]), node)
        return _built(structure, _orthonormal(structure, both, self.max_frequency), node, tuple(nodes))


@dataclass(frozen=True)
class Guyan(ModeSet):
    """Static condensation to a few nodes; the other nodes are removed.

    Parameters
    ----------
    nodes : nodes, by number or position
        Nodes that remain.
    modes : ModeSet
        Modes of the condensed structure; default all those with the first of the nodes clamped.
    """

    nodes: Any
    modes: ModeSet | None = None

    def build(self, structure: Structure) -> BuiltModes:
        """Return modes of the condensed structure."""
        nodes = _nodes(structure, self.nodes, "Guyan", "nodes")
        if len(nodes) < 2:
            raise ModelError("Guyan", "nodes", self.nodes, "keep at least two nodes")
        kept = structure.fixed_at(nodes)
        masters = np.flatnonzero(kept & structure.active)
        T = np.zeros((structure.size, 6 * len(nodes)))
        order = (6 * np.asarray(nodes)[:, None] + np.arange(6)).ravel()
        places = np.flatnonzero(structure.active[order])
        T[:, places] = _constraint_modes(structure, SupportedStructure(structure, kept), order[places])
        small = Structure(structure.nodes[nodes], _symmetric(T, structure.mass), _symmetric(T, structure.stiffness))
        inner = CantileverModes(len(masters) - 6) if self.modes is None else self.modes
        built = inner.build(small)
        labels = np.asarray(nodes, dtype=np.int64)
        reference = None if built.reference is None else int(labels[built.reference])
        interfaces = tuple(int(labels[i]) for i in built.interfaces) or tuple(nodes)
        return BuiltModes(built.structure, built.modes, reference, labels[built.labels], interfaces)


@dataclass(frozen=True, eq=False)
class GivenModes(ModeSet):
    """Modes from the user, from a finite-element program or a measurement.

    Parameters
    ----------
    modes : (6 n, nm)
        Without rigid modes.
    frame : "given", "attached" or "mean"
        Unchanged; or without the rigid motion, so that they vanish at a node; or momentum-free.
    at : int or (3,) m
        The node, for "attached".
    """

    modes: Any
    _: KW_ONLY
    frame: str = "given"
    at: Any = 0

    def build(self, structure: Structure) -> BuiltModes:
        """Return the modes in the requested frame."""
        shape = shape_of(self.modes)
        if shape is None or len(shape) != 2 or shape[0] != structure.size:
            wanted = f"give ({structure.size}, nm): six rows per node, one column per mode"
            raise ModelError("GivenModes", "modes", f"of shape {shape}", wanted)
        modes = finite_array(self.modes, shape, item="GivenModes", field="modes")
        one_of("GivenModes", "frame", self.frame, ("given", "attached", "mean"))
        node = structure.node(self.at, item="GivenModes", field="at") if self.frame == "attached" else None
        if self.frame != "given":
            modes = _in_frame(structure, modes, node)
        return _built(structure, modes, node, ())


def _built(structure: Structure, modes: Array, reference: int | None, interfaces: tuple[int, ...]) -> BuiltModes:
    labels = np.arange(len(structure.nodes))
    led = np.zeros(structure.size) if structure.expansion is None else abs(structure.expansion) @ structure.active
    loose = np.flatnonzero(~(structure.active | (led > 0)).reshape(-1, 6).any(axis=1))
    if len(loose):
        raise ModelError(
            "structure",
            "nodes",
            f"{len(loose)} without mass and stiffness, the first is {loose[0]}",
            "leave them out, or tie them to others by a region",
        )
    modes = _with_rotations(structure, structure.expanded(modes))
    return BuiltModes(structure, modes, reference, labels, interfaces)


def _in_frame(structure: Structure, modes: Array, node: int | None) -> Array:
    """Return modes without the rigid motion that follows a node, or the mean of all mass."""
    if node is None:
        return without_rigid_motion(structure, modes)
    _clamp(structure, [node], "mode set")
    at = modes[6 * node : 6 * node + 6]
    follow = rigid_motions(structure.nodes, structure.nodes[node]) * structure.active[:, None]
    return modes - follow @ at[[3, 4, 5, 0, 1, 2]]


def _constraint_modes(structure: Structure, held: SupportedStructure, dofs: NDArray[np.int64]) -> Array:
    """Return static shapes (6 n, k) for unit motions of the held degrees of freedom."""
    moved = np.zeros((structure.size, len(dofs)))
    moved[dofs, np.arange(len(dofs))] = 1.0
    return moved - held.solve(structure.stiffness @ moved)


def _independent(structure: Structure, modes: Array) -> Array:
    """Return modes without rigid motions; of dependent ones, an independent subset."""
    elastic = without_rigid_motion(structure, modes)
    gram = elastic.T @ (structure.mass @ elastic)
    scale = 1 / np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram * np.outer(scale, scale))
    kept = values > 1e-10 * values[-1]
    return elastic @ (scale[:, None] * vectors[:, kept])


def _orthonormal(structure: Structure, modes: Array, max_frequency: float | None) -> Array:
    """Return combinations of modes, mass-orthonormal and stiffness-orthogonal, lowest first."""
    norms = np.sqrt(np.einsum("ij,ij->j", modes, structure.mass @ modes))
    if (norms <= 0).any():
        raise ModelError("mode set", "interfaces", "without mass", "an interface moves no mass: give its node some")
    modes = modes / norms
    M, K = _symmetric(modes, structure.mass), _symmetric(modes, structure.stiffness)
    frequencies, vectors = modal_frequencies(M, K)
    kept = np.full(len(frequencies), True) if max_frequency is None else np.asarray(frequencies <= max_frequency)
    return modes @ vectors[:, kept]


def _symmetric(T: Array, matrix: Any) -> Array:
    product: Array = T.T @ (matrix @ T)
    return (product + product.T) / 2


def _with_rotations(structure: Structure, modes: Array) -> Array:
    """Return modes with rotations at nodes that have none, by least squares over neighbouring nodes."""
    known = structure.active
    if structure.expansion is not None:
        known = known | (abs(structure.expansion) @ known > 0)
    turning = np.array([any(node[3:]) for node in known.reshape(-1, 6)])
    if turning.all() or not modes.shape[1]:
        return modes
    pattern = structure.stiffness.tocoo()
    n = len(structure.nodes)
    i, j = np.divmod(np.unique(pattern.row.astype(np.int64) // 6 * n + pattern.col // 6), n)
    chosen = (i != j) & ~turning[i]
    i, j = i[chosen], j[chosen]
    arms = structure.nodes[j] - structure.nodes[i]
    J = np.zeros((len(structure.nodes), 3, 3))
    np.add.at(J, i, (arms * arms).sum(1)[:, None, None] * np.eye(3) - arms[:, :, None] * arms[:, None, :])
    inverse = np.linalg.pinv(J, rcond=ROW_RANK_TOL, hermitian=True)
    found = modes.reshape(len(structure.nodes), 6, -1).copy()
    for mode in range(modes.shape[1]):
        u = found[:, :3, mode]
        moments = np.zeros((len(structure.nodes), 3))
        np.add.at(moments, i, np.cross(arms, u[j] - u[i]))
        turns = np.einsum("nij,nj->ni", inverse, moments)
        found[~turning, 3:, mode] = turns[~turning]
    return found.reshape(modes.shape)


def _clamp(structure: Structure, nodes: list[int], item: str) -> BoolArray:
    fixed = structure.fixed_at(nodes)
    if not structure.active[fixed].all():
        raise ModelError(
            item,
            "at",
            nodes,
            "this node has no rotations of its own, so it cannot hold a frame: make a rigid region of nodes and use "
            "its node, or use mean axes",
        )
    return fixed


def _nodes(structure: Structure, given: Any, item: str, field: str) -> list[int]:
    single = isinstance(given, (int, np.integer)) or (shape_of(given) == (3,) and np.asarray(given).dtype.kind == "f")
    listed = [given] if single else list(given) if isinstance(given, (list, tuple, np.ndarray, range)) else None
    if not listed:
        raise ModelError(item, field, given, "give nodes, by number or position")
    nodes = [structure.node(where, item=item, field=field) for where in listed]
    if len(set(nodes)) != len(nodes):
        raise ModelError(item, field, given, "every node can be there only once")
    return nodes
