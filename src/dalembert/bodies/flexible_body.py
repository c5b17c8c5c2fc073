"""Flexible bodies: nodes, mass, stiffness and a set of modes, in the body's frame.

A deformation is a combination of modes, u = modes @ eta, small and measured in the body frame. Degrees of freedom are
ordered as finite-element programs do: six per node, ``[ux, uy, uz, rx, ry, rz]``. Spatial quantities (`shapes`) have
the angular part first, as everywhere else in dalembert.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import checked, finite_array, finite_number, set_fields, shape_of
from ..errors import ModelError, listed
from .geometric_stiffening import Stiffening
from .modal_damping import modal_damping_matrix
from .nodal_matrices import (
    DEPENDENT,
    check_total_mass,
    checked_matrix,
    lumped_mass_matrix,
    mass_and_centre,
    modal_frequencies,
    rigid_motions,
    rigid_share,
    size_of,
)

__all__ = ["FlexibleBody"]


ITEM = "flexible body"


@checked("node_labels")
@dataclass(frozen=True, eq=False)
class FlexibleBody:
    """Body that deforms in a given set of modes.

    Give either `mass_matrix`, or `node_masses` with `node_inertias` (and `node_centres`); either `stiffness`, or
    `modal_stiffness`.

    Parameters
    ----------
    nodes : (n, 3) m
        Undeformed positions in the body frame.
    modes : (6 n, nm)
        Displacement m and rotation rad of the nodes per modal coordinate, in body axes, ordered
        ``[ux, uy, uz, rx, ry, rz]`` node by node.
    stiffness : (6 n, 6 n) N/m, N, N m
        Dense or scipy.sparse, ordered like `modes`.
    mass_matrix : (6 n, 6 n) kg, kg m, kg m2
        Dense or scipy.sparse, ordered like `modes`.
    node_masses : (n,) kg
    node_inertias : (n, 3, 3) kg m2
        About the node, in body axes; default zero.
    node_centres : (n, 3) m
        From a node to the centre of its mass, in body axes; default zero.
    modal_stiffness : (nm, nm) N/m
    damping : number, (nm,), (nm, nm) or Rayleigh
        A damping ratio for all modes, ratios for the modes in the order of `frequencies`, a matrix in modal
        coordinates, or `Rayleigh(alpha, beta)`; default none.
    order : "full", "ruthless" or "source"
        "full": inertia terms follow the deformation. "ruthless": they stay those of the undeformed body ("ruthlessly
        linearised"). "source", for comparison: the integrals printed by Jain and Rodriguez (1990), misprints corrected.
        These do not conserve energy if nodes have offsets or moments of inertia, or if a joint, force or constraint
        acts at a rotating node, whose angular velocity is taken as the rate of its rotation vector. They conserve it
        for point masses that only the clamped node connects.
    stiffening : Stiffening
        Geometric stiffness for fast motions; default none.
    reference : int or None
        Node to which the body frame is attached; None if the frame floats (mean axes) or is undeclared.
    total_mass : float, kg
        Expected mass of the matrix; compared, within 0.1 %.
    node_labels : (n,) int
        Numbers by which markers refer to nodes; default 0 to n - 1. A reduction that removes nodes keeps the labels of
        the others.
    structure : Structure
        Underlying finite-element model, if any: interpolation between nodes, stresses.
    report : ModeReport
        Accuracy of the reduction of that model.

    Attributes
    ----------
    shapes : (n, 6, nm)
        Modes as spatial vectors [rotation; translation] of the nodes.
    modal_mass, modal_stiffness, modal_damping : (nm, nm)
    frequencies : (nm,) rad/s
        Of the deformation with the body frame held, ascending; `da.modes` and Campbell diagrams give Hz.
    mass : float, kg
    com : (3,) m
        Centre of mass of the undeformed body from the body frame's origin.
    inertia : (3, 3) kg m2
        Of the undeformed body, about the body frame's origin.

    Raises
    ------
    ModelError
        Wrong sizes; matrices that are not symmetric or have negative eigenvalues; modes that are linearly dependent,
        move no mass or contain rigid motion; a mass that is not the declared one.

    Examples
    --------
    A mass at the end of a massless bar that bends (3 E I / L3 = 32 N/m):

    >>> import numpy as np, dalembert as da
    >>> mode = np.zeros((12, 1)); mode[7], mode[11] = 1.0, 1.5  # deflection and slope at the end
    >>> body = da.FlexibleBody([[0, 0, 0], [1, 0, 0]], mode, node_masses=[1, 2], modal_stiffness=[[32.0]])
    >>> body.mass, body.com.round(3), body.frequencies
    (3.0, array([0.667, 0.   , 0.   ]), array([4.]))
    """

    nodes: Array
    modes: Array
    _: KW_ONLY
    stiffness: Any = None
    mass_matrix: Any = None
    node_masses: Array | None = None
    node_inertias: Array | None = None
    node_centres: Array | None = None
    modal_stiffness: Array = None  # type: ignore[assignment]  # given, or made from the stiffness
    damping: Any = None
    order: str = "full"
    stiffening: Stiffening | None = None
    reference: int | None = None
    total_mass: float | None = None
    node_labels: NDArray[np.int64] | None = None
    structure: Any = None
    report: Any = None

    shapes: Array = field(init=False)
    modal_mass: Array = field(init=False)
    modal_damping: Array = field(init=False)
    frequencies: Array = field(init=False)
    mass: float = field(init=False)
    com: Array = field(init=False)
    inertia: Array = field(init=False)

    def __post_init__(self) -> None:
        self._take_nodes_and_modes()
        self._take_mass()
        self._take_stiffness()
        self._check_modes()
        self._take_options()

    # ---- sizes

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def nm(self) -> int:
        """Number of modes."""
        return int(self.modes.shape[1])

    @property
    def lumped(self) -> bool:
        """True if mass is lumped at nodes: `node_masses`, `node_centres` and `node_inertias` are complete."""
        return self.node_masses is not None

    # ---- nodes and attachment points

    def index(self, node: int) -> int:
        """Return the index in `nodes` of the node with a label."""
        labels = self.node_labels
        assert labels is not None
        places_of = np.flatnonzero(labels == node) if _is_index(node) else np.zeros(0, dtype=int)
        if len(places_of):
            return int(places_of[0])
        places = None if self.structure is None else self.structure.nodes
        if _is_index(node) and places is not None and 0 <= node < len(places):
            nearest = labels[np.argmin(np.linalg.norm(self.nodes - places[node], axis=1))]
            remedy = f"the reduction removed this node: keep it there, or use the nearest one left, {nearest}"
        else:
            remedy = f"give the number of a node: {_ranges(labels)}"
        raise ModelError(ITEM, "node", node, remedy)

    def attachment(
        self, offset: Array, node: Any = None, weights: Any = None, *, item: str
    ) -> tuple[Array, Array, Array | None]:
        """Return position (3,) m of a point, shape (6, nm) of its carrier, arm (3,) m from there or None.

        Parameters
        ----------
        offset : (3,) m
            Without a node, the position of the point in the body frame: at a node, or on a line of beam elements.
            With a node, the rigid arm from the node to the point.
        node : int, or several
            Label of the node that carries the point; of several, the mean of their motions is taken, with `weights`.
        """
        if node is None:
            if weights is not None:
                raise ModelError(item, "weights", weights, "they belong to several nodes: give node=(17, 18)")
            return offset, self._shape_at(offset, item), None
        labels = [node] if shape_of(node) == () else list(node)
        places = [self.index(label) for label in labels]
        shares = np.ones(len(places)) if weights is None else weights
        shares = finite_array(shares, (len(places),), item=item, field="weights")
        if not places or (shares < 0).any() or shares.sum() <= 0:
            raise ModelError(item, "weights", weights, "give one number per node, none negative, not all zero")
        shares = shares / shares.sum()
        shape = np.tensordot(shares, self.shapes[places], 1)
        position: Array = shares @ self.nodes[places] + offset
        return position, shape, offset if offset.any() else None

    def _shape_at(self, position: Array, item: str) -> Array:
        distance = np.linalg.norm(self.nodes - position, axis=1)
        nearest = int(np.argmin(distance))
        size = float(np.ptp(self.nodes, axis=0).max())
        if distance[nearest] <= 1e-9 * max(size, 1e-9):
            return self.shapes[nearest]
        if self.structure is not None and not self.nodes_removed:
            shape = self.structure.interpolate(position, self.modes)
            if shape is not None:
                return shape
        assert self.node_labels is not None
        x, y, z = position
        raise ModelError(
            item,
            "position",
            f"({x:.6g}, {y:.6g}, {z:.6g})",
            f"no node lies there, and no beam element; the nearest node is {self.node_labels[nearest]}, "
            f"{distance[nearest]:.3g} m away: give node={self.node_labels[nearest]} (x, y, z is then a rigid arm from "
            "it), or several nodes with weights",
        )

    @property
    def nodes_removed(self) -> bool:
        """True if the finite-element model has nodes that this body does not keep."""
        return self.structure is not None and len(self.structure.nodes) != self.n

    # ---- deformation

    def displacements(self, eta: ArrayLike) -> Array:
        """Return displacements and rotations (..., n, 6) [ux, uy, uz, rx, ry, rz] of the nodes for eta (..., nm)."""
        values = _last_axis(eta, self.nm, "eta")
        return np.reshape(values @ self.modes.T, (*values.shape[:-1], self.n, 6))

    def participation(self, eta: ArrayLike) -> Array:
        """Return the share (..., nm) of each mode in the strain energy for eta (..., nm); the sum is 1.

        Shares can be negative where modes are coupled by the stiffness. Without deformation they are zero.
        """
        values = _last_axis(eta, self.nm, "eta")
        parts = values * (values @ self.modal_stiffness)
        total = parts.sum(-1, keepdims=True)
        return np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)

    def __repr__(self) -> str:
        first = f", from {self.frequencies[0] / (2 * np.pi):.4g} Hz" if self.nm else ""
        return f"<FlexibleBody: {self.mass:.6g} kg, {self.n} nodes, {self.nm} modes{first}>"

    # ---- checks

    def _set(self, **values: Any) -> None:
        set_fields(self, **values)

    def _take_nodes_and_modes(self) -> None:
        shape = shape_of(self.nodes)
        if shape is None or len(shape) != 2 or shape[1] != 3 or shape[0] == 0:
            raise ModelError(ITEM, "nodes", size_of(self.nodes), "give an (n, 3) array of positions, n at least 1")
        nodes = finite_array(self.nodes, shape, item=ITEM, field="nodes")
        n = shape[0]
        shape = shape_of(self.modes)
        if shape is None or len(shape) != 2 or shape[0] != 6 * n:
            raise ModelError(
                ITEM,
                "modes",
                size_of(self.modes),
                f"{n} nodes need ({6 * n}, nm): six rows per node, one column per mode",
            )
        modes = finite_array(self.modes, shape, item=ITEM, field="modes")
        self._set(nodes=nodes, modes=modes, shapes=modes.reshape(n, 6, -1)[:, [3, 4, 5, 0, 1, 2]])
        labels = np.arange(n) if self.node_labels is None else np.array(self.node_labels)
        if labels.shape != (n,) or labels.dtype.kind not in "iu" or len(np.unique(labels)) != n:
            raise ModelError(ITEM, "node_labels", self.node_labels, f"give {n} different integers")
        self._set(node_labels=labels)
        if self.reference is not None:
            self.index(self.reference)

    def _take_mass(self) -> None:
        if (self.mass_matrix is None) == (self.node_masses is None):
            raise ModelError(ITEM, "mass_matrix", size_of(self.mass_matrix), "give either mass_matrix or node_masses")
        if self.node_masses is not None:
            self._take_lumps()
        elif self.node_inertias is not None or self.node_centres is not None:
            raise ModelError(ITEM, "node_inertias", "given", "mass_matrix already contains them: leave them out")
        else:
            self._set(mass_matrix=self._checked(self.mass_matrix, "mass_matrix"))
        rigid = rigid_motions(self.nodes)
        G = rigid.T @ (self.mass_matrix @ rigid)
        mass, com = mass_and_centre(G, item=ITEM)
        self._set(mass=mass, com=com, inertia=(G[:3, :3] + G[:3, :3].T) / 2)
        if self.total_mass is not None:
            declared = finite_number(self.total_mass, item=ITEM, field="total_mass")
            check_total_mass(self.mass, declared, item=ITEM)
        modal = self.modes.T @ (self.mass_matrix @ self.modes)
        self._set(modal_mass=(modal + modal.T) / 2)

    def _checked(self, matrix: Any, field: str) -> Any:
        if self.structure is not None and any(
            matrix is known for known in (self.structure.mass, self.structure.stiffness)
        ):
            return matrix  # checked there
        return checked_matrix(matrix, 6 * self.n, item=ITEM, field=field)

    def _take_lumps(self) -> None:
        n = self.n
        masses = finite_array(self.node_masses, (n,), item=ITEM, field="node_masses")
        if (masses < 0).any():
            raise ModelError(ITEM, "node_masses", masses.min(), "a mass must not be negative")
        given = np.zeros((n, 3, 3)) if self.node_inertias is None else self.node_inertias
        inertias = finite_array(given, (n, 3, 3), item=ITEM, field="node_inertias")
        given = np.zeros((n, 3)) if self.node_centres is None else self.node_centres
        centres = finite_array(given, (n, 3), item=ITEM, field="node_centres")
        matrix = lumped_mass_matrix(masses, inertias, centres)
        for node in range(n):
            block = matrix[6 * node : 6 * node + 6, 6 * node : 6 * node + 6].toarray()
            checked_matrix(block, 6, item=f"{ITEM}, node {node}", field="node_inertias")
        self._set(node_masses=masses, node_inertias=inertias, node_centres=centres, mass_matrix=matrix)

    def _take_stiffness(self) -> None:
        if (self.stiffness is None) == (self.modal_stiffness is None):
            raise ModelError(
                ITEM, "stiffness", size_of(self.stiffness), "give either stiffness or modal_stiffness, in N/m"
            )
        if self.stiffness is not None:
            matrix = self._checked(self.stiffness, "stiffness")
            modal = self.modes.T @ (matrix @ self.modes)
            self._set(stiffness=matrix, modal_stiffness=(modal + modal.T) / 2)
        else:
            matrix = checked_matrix(self.modal_stiffness, self.nm, item=ITEM, field="modal_stiffness")
            self._set(modal_stiffness=np.asarray(matrix))

    def _check_modes(self) -> None:
        """Raise `ModelError` for modes that are dependent in the mass metric or combine to a rigid motion."""
        if not self.nm:
            return
        norms = np.sqrt(np.maximum(np.diag(self.modal_mass), 0.0))
        still = np.flatnonzero(norms <= 1e-12 * max(float(norms.max()), np.finfo(float).tiny))
        if len(still):
            raise ModelError(
                ITEM, "modes", f"column {still[0]}", "it moves no mass: leave it out, or give its nodes mass"
            )
        values, vectors = np.linalg.eigh(self.modal_mass / np.outer(norms, norms))
        if values[0] < DEPENDENT:
            raise ModelError(
                ITEM,
                "modes",
                f"columns {_largest(vectors[:, 0])}",
                "they are linearly dependent (in the mass metric): leave one out, or orthonormalise the set",
            )
        columns = rigid_share(self.nodes, self.modes)
        if columns is not None:
            raise ModelError(
                ITEM,
                "modes",
                f"columns {_largest(columns)}",
                "they contain rigid motion, which the body frame describes already: leave the rigid modes out "
                "(the first six of a free structure), or let Structure.reduce make the modes",
            )

    def _take_options(self) -> None:
        if self.order not in ("full", "ruthless", "source"):
            raise ModelError(ITEM, "order", self.order, "use 'full' or 'ruthless'")
        if self.order == "source" and (not self.lumped or self.stiffening is not None):
            raise ModelError(ITEM, "order", self.order, "it is for lumped nodes without stiffening: use 'full'")
        if self.order == "ruthless" and self.stiffening is not None:
            remedy = "it drops every term that follows the deformation, stiffening too: use 'full', or no stiffening"
            raise ModelError(ITEM, "order", self.order, remedy)
        if self.stiffening is not None:
            if not isinstance(self.stiffening, Stiffening):
                raise ModelError(ITEM, "stiffening", self.stiffening, "give a Stiffening, or None")
            if self.stiffening.acceleration.shape[-1] != self.nm:
                size = self.stiffening.acceleration.shape[-1]
                raise ModelError(ITEM, "stiffening", f"for {size} modes", f"the body has {self.nm} modes")
        M, K = self.modal_mass, self.modal_stiffness
        frequencies, vectors = modal_frequencies(M, K)
        damping = modal_damping_matrix(self.damping, M, K, frequencies, vectors, item=ITEM)
        self._set(frequencies=frequencies, modal_damping=damping)


def _last_axis(values: ArrayLike, size: int, field: str) -> Array:
    shape = shape_of(values)
    if shape is None or not shape or shape[-1] != size:
        raise ModelError(ITEM, field, size_of(values), f"the last axis must have length {size}")
    return finite_array(values, shape, item=ITEM, field=field)


def _largest(vector: Array) -> str:
    """Return the indices of the significant entries, as text."""
    places = np.flatnonzero(np.abs(vector) > 0.2 * np.abs(vector).max())
    return listed(places, 6, str)


def _ranges(labels: NDArray[np.int64]) -> str:
    """Return integers as text; consecutive ones as ranges: ``"0 to 16"``."""
    ordered = np.sort(labels)
    if len(ordered) == 1 or ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered[:12])) + (" ..." if len(ordered) > 12 else "")


def _is_index(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
