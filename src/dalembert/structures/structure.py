"""Finite-element structures: nodes with mass and stiffness, reduced to flexible bodies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, BoolArray
from ..bodies.body import inertia_matrix
from ..bodies.flexible_body import FlexibleBody
from ..bodies.nodal_matrices import check_total_mass, checked_matrix, lumped_mass_matrix, rigid_motions
from ..checks import finite_array, finite_number, set_fields, shape_of
from ..errors import ModelError
from ..provenance import recorded_method
from . import node_coupling
from .beam_elements import Beams
from .geometric_stiffness import stiffening_of
from .mode_report import report_of

if TYPE_CHECKING:
    from .finite_element import Elements
    from .mode_sets import ModeSet

__all__ = ["Structure"]


ITEM = "structure"

# rigid motions must not strain a structure: forces they raise, relative to those of the stiffness itself
RIGID_STRAIN_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class Structure:
    """Free structure: nodes, mass and stiffness; six DOF per node [ux, uy, uz, rx, ry, rz].

    Nodes of solids have no rotations: their rows and columns are zero, and rotations are derived from the motion of the
    neighbouring nodes.

    Parameters
    ----------
    nodes : (n, 3) m
        In the body frame.
    mass : (6 n, 6 n) kg, kg m, kg m2
        Dense or scipy.sparse.
    stiffness : (6 n, 6 n) N/m, N, N m
        Dense or scipy.sparse; free of supports: rigid motions must not strain it.
    elements : Beams, SolidElements or PlateElements
        Its elements, if known: for stresses and geometric stiffness.
    lumps : tuple of (n,) kg, (n, 3, 3) kg m2, (n, 3) m
        Masses, inertias about the nodes and centres of mass, if every node is a small rigid body. They then define
        `mass`.
    total_mass : float, kg
        Compared with the mass that the matrix holds.
    expansion : (6 n, 6 n) sparse
        Motions of all nodes from those of the independent degrees of freedom, where regions couple nodes. Mass and
        stiffness become those of the independent degrees of freedom.
    full_mass : (6 n, 6 n)
        Mass before regions coupled nodes; default `mass`.

    Attributes
    ----------
    active : (6 n,) bool
        Degrees of freedom that have stiffness or mass.
    rigid : (6 n, 6)
        Rigid motions [rotation; translation] of the active degrees of freedom.
    """

    nodes: Array
    mass: Any = None
    stiffness: Any = None
    _: KW_ONLY
    elements: Elements | None = None
    lumps: tuple[Array, Array, Array] | None = None
    total_mass: float | None = None
    expansion: Any = None
    full_mass: Any = None

    active: BoolArray = field(init=False)
    rigid: Array = field(init=False)

    def __post_init__(self) -> None:
        from scipy.sparse import csr_array

        shape = shape_of(self.nodes)
        if shape is None or len(shape) != 2 or shape[1] != 3 or shape[0] == 0:
            raise ModelError(ITEM, "nodes", f"of shape {shape}", "give an (n, 3) array of positions, n at least 1")
        nodes = finite_array(self.nodes, shape, item=ITEM, field="nodes")
        size = 6 * shape[0]
        if (self.mass is None) == (self.lumps is None):
            raise ModelError(ITEM, "mass", "missing or twice", "give either mass or lumps")
        given = self.mass if self.lumps is None else lumped_mass_matrix(*self.lumps)
        if self.stiffness is None:
            raise ModelError(ITEM, "stiffness", None, f"give a ({size}, {size}) matrix")
        full = given if self.full_mass is None else self.full_mass
        for name, matrix in (("expansion", self.expansion), ("full_mass", self.full_mass)):
            if matrix is not None and not (hasattr(matrix, "tocsr") and matrix.shape[0] == size):
                raise ModelError(ITEM, name, matrix, f"give a sparse matrix with {size} rows")
        mass = csr_array(checked_matrix(self._led(given), size, item=ITEM, field="mass"))
        stiffness = csr_array(checked_matrix(self._led(self.stiffness), size, item=ITEM, field="stiffness"))
        active = (abs(stiffness).sum(axis=1) + abs(mass).sum(axis=1)) > 0
        rigid = rigid_motions(nodes) * active[:, None]
        set_fields(self, nodes=nodes, mass=mass, stiffness=stiffness, full_mass=csr_array(full))
        set_fields(self, active=active, rigid=rigid)
        self._check_free()
        if self.total_mass is not None:
            declared = finite_number(self.total_mass, item=ITEM, field="total_mass")
            check_total_mass(float(self.rigid_mass()[3, 3]), declared, item=ITEM)

    @property
    def beams(self) -> Beams | None:
        """Beam elements, or None."""
        return self.elements if isinstance(self.elements, Beams) else None

    @property
    def size(self) -> int:
        """Number of degrees of freedom, six per node."""
        return 6 * len(self.nodes)

    def rigid_mass(self) -> Array:
        """Return the mass of the undeformed structure (6, 6) [rotation; translation] about the frame's origin."""
        return self.rigid.T @ (self.mass @ self.rigid)

    def support(self) -> BoolArray:
        """Return six degrees of freedom (6 n,) bool that support the structure without strain."""
        from scipy.linalg import qr

        radius = float(np.ptp(self.nodes, axis=0).max()) or 1.0
        _, R, order = qr((self.rigid * np.array([1 / radius] * 3 + [1.0] * 3)).T, mode="economic", pivoting=True)
        pivots = np.abs(np.diag(R))
        if len(pivots) < 6 or pivots[-1] < 1e-9 * pivots[0]:
            raise ModelError(
                ITEM,
                "nodes",
                "on a line, without rotations",
                "it can turn about that line freely: add rotations or nodes",
            )
        held = np.zeros(self.size, dtype=bool)
        held[order[:6]] = True
        return held

    def fixed_at(self, nodes: ArrayLike) -> BoolArray:
        """Return the degrees of freedom (6 n,) bool of nodes."""
        held = np.zeros((len(self.nodes), 6), dtype=bool)
        held[np.asarray(nodes, dtype=np.int64)] = True
        return held.ravel()

    def node(self, where: Any, *, item: str = ITEM, field: str = "node") -> int:
        """Return the number of a node, given by number or by position (3,) m."""
        n = len(self.nodes)
        if shape_of(where) == (3,):
            place = finite_array(where, (3,), item=item, field=field)
            distances = np.linalg.norm(self.nodes - place, axis=1)
            nearest = int(distances.argmin())
            if distances[nearest] <= 1e-6 * max(float(np.ptp(self.nodes, axis=0).max()), 1e-9):
                return nearest
            remedy = f"no node lies there: the nearest is node {nearest}, {distances[nearest]:.3g} m away"
            raise ModelError(item, field, where, remedy)
        if isinstance(where, (int, np.integer)) and not isinstance(where, bool) and -n <= where < n:
            return int(where) % n
        raise ModelError(item, field, where, f"give the number of a node, 0 to {n - 1}, or its position")

    # ---- changes

    @recorded_method("structure")
    def with_mass(
        self, node: Any, mass: float, *, inertia: ArrayLike | None = None, centre: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Structure:
        """Return the structure with a rigid body at a node (number or position).

        Parameters
        ----------
        mass : float, kg
        inertia : (3,), (6,) or (3, 3) kg m2
            About its centre of mass, in body axes; default zero.
        centre : (3,) m
            Centre of mass from the node.
        """
        item = f"{ITEM}, mass at node"
        place = self.node(node)
        m = finite_number(mass, item=item, field="mass")
        if m < 0:
            raise ModelError(item, "mass", m, "a mass must not be negative")
        c = finite_array(centre, (3,), item=item, field="centre")
        J = np.zeros((3, 3)) if inertia is None else inertia_matrix(inertia, item=item)
        J = J + m * (c @ c * np.eye(3) - np.outer(c, c))
        n = len(self.nodes)
        if self.lumps is not None:
            masses, inertias, centres = (x.copy() for x in self.lumps)
            moment = masses[place] * centres[place] + m * c
            masses[place] += m
            inertias[place] += J
            centres[place] = moment / masses[place] if masses[place] > 0 else 0.0
            lumps = (masses, inertias, centres)
            return replace(self, mass=None, full_mass=None, lumps=lumps, total_mass=None)
        masses, inertias, centres = np.zeros(n), np.zeros((n, 3, 3)), np.zeros((n, 3))
        masses[place], inertias[place], centres[place] = m, J, c
        added = lumped_mass_matrix(masses, inertias, centres)
        if J.any() and not self.active[6 * place + 3 : 6 * place + 6].all() and not self._follows(place):
            raise ModelError(item, "node", place, "it has no rotations: attach the inertia to a rigid region's node")
        return replace(self, mass=self.mass + added, full_mass=self.full_mass + added, total_mass=None)

    @recorded_method("structure")
    def rigid_region(self, nodes: ArrayLike, at: Any = None) -> Structure:
        """Return the structure with some nodes rigidly tied to one (RBE2): an interface for joints and frames.

        Parameters
        ----------
        nodes : (k,) int or (n,) bool
        at : int or (3,) m
            Node to which they are tied, which must have rotations; or a position, where a new last node is added;
            default the middle of the nodes.
        """
        return node_coupling.rigid_region(self, nodes, at)

    @recorded_method("structure")
    def mean_region(self, nodes: ArrayLike, at: Any = None, *, weights: ArrayLike | None = None) -> Structure:
        """Return the structure with a new last node that follows the mean motion of others (RBE3).

        It adds no stiffness and carries markers and loads; the body frame cannot be attached to it.

        Parameters
        ----------
        nodes : (k,) int or (n,) bool
        at : (3,) m
            Position of the new node; default the middle of the nodes.
        weights : (k,)
            Default equal.
        """
        return node_coupling.mean_region(self, nodes, at, weights)

    # ---- reduction

    @recorded_method("structure")
    def reduce(
        self,
        modes: ModeSet | None = None,
        *,
        damping: Any = None,
        order: str = "full",
        stiffening: bool = False,
        load_nodes: Any = (),
    ) -> FlexibleBody:
        """Return the flexible body with a set of modes, with a report of their accuracy.

        Parameters
        ----------
        modes : CantileverModes, FreeModes, CraigBampton, Guyan or GivenModes
            Default ``CantileverModes(6)``.
        damping, order
            As in `FlexibleBody`.
        stiffening : bool
            Compute geometric stiffness for fast motions; for structures with known elements.
        load_nodes : nodes
            Nodes with loads that stiffen (or soften) it too: outboard joints.
        """
        from .mode_sets import CantileverModes, ModeSet

        chosen = CantileverModes() if modes is None else modes
        if not isinstance(chosen, ModeSet):
            raise ModelError(ITEM, "modes", modes, "give a mode set such as CantileverModes(6) or FreeModes(6)")
        built = chosen.build(self)
        base = built.structure
        stiff = stiffening_of(self, built, load_nodes) if stiffening else None
        mass: dict[str, Any] = {"mass_matrix": base.mass}
        if base.lumps is not None:
            mass = dict(zip(("node_masses", "node_inertias", "node_centres"), base.lumps, strict=True))
        return FlexibleBody(
            base.nodes,
            built.modes,
            **mass,
            stiffness=base.stiffness,
            damping=damping,
            order=order,
            stiffening=stiff,
            reference=built.reference,
            node_labels=built.labels,
            structure=self,
            report=report_of(self, chosen, built),
        )

    def interpolate(self, position: ArrayLike, modes: Array) -> Array | None:
        """Return the shape (6, nm) [rotation; translation] at a point (3,) on a beam element, or None."""
        if self.beams is None:
            return None
        x = np.asarray(position, dtype=float) - self.nodes[self.beams.ends[:, 0]]
        along = np.einsum("ei,ei->e", x, self.beams.axes[:, :, 0])
        along = np.clip(along, 0.0, self.beams.lengths)
        off = np.linalg.norm(x - along[:, None] * self.beams.axes[:, :, 0], axis=1)
        element = int(off.argmin())
        if off[element] > 1e-6 * self.beams.lengths[element]:
            return None
        N, _ = self.beams.interpolation(float(along[element] / self.beams.lengths[element]))
        R = self.beams.axes[element]
        local = N[element] @ self.beams.turn()[element] @ modes[self.beams.dofs[element]]
        return np.vstack([R @ local[3:], R @ local[:3]])

    def __repr__(self) -> str:
        kind = (
            f"{len(self.beams)} beam elements"
            if self.beams is not None
            else f"{int(self.active.sum())} degrees of freedom"
        )
        return f"<Structure: {self.rigid_mass()[3, 3]:.6g} kg, {len(self.nodes)} nodes, {kind}>"

    def expanded(self, u: Array) -> Array:
        """Return motions (6 n, k) of all nodes from those of the independent degrees of freedom."""
        if self.expansion is None:
            return u
        return np.where(self.active[:, None], u, self.expansion @ u)

    def _follows(self, node: int) -> bool:
        return self.expansion is not None and bool((abs(self.expansion) @ self.active)[6 * node + 3] > 0)

    def _led(self, matrix: Any) -> Any:
        """Return a matrix of the independent degrees of freedom."""
        if self.expansion is None:
            return matrix
        found = (self.expansion.T @ matrix @ self.expansion).tocsr()
        if not found.nnz:
            return found
        # round-off where rigid elements cancel is no stiffness
        found.data[np.abs(found.data) < 1e-14 * np.abs(found.data).max()] = 0.0
        found.eliminate_zeros()
        return found

    def _check_free(self) -> None:
        scale = np.sqrt(np.maximum(self.stiffness.diagonal(), 0.0))
        safe = np.where(scale > 0, scale, 1.0)
        held = (self.stiffness @ self.rigid) / safe[:, None]
        strain = np.linalg.norm(held, axis=0)
        reference = np.linalg.norm(scale[:, None] * self.rigid, axis=0)
        if (strain > RIGID_STRAIN_TOL * reference).any():
            names = ("rotation about x", "about y", "about z", "translation along x", "along y", "along z")
            which = names[int(np.argmax(strain / np.where(reference > 0, reference, np.inf)))]
            raise ModelError(
                ITEM,
                "stiffness",
                f"resists rigid motion ({which})",
                "a body of a system must be free: export it without supports, and check that nodes, units and the "
                "order of degrees of freedom (ux, uy, uz, rx, ry, rz) belong to the matrix",
            )
