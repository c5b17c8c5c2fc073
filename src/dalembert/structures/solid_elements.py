"""Elastic solids, meshed and assembled with scikit-fem.

Solids have three displacements per node; rotations at nodes are derived from the neighbouring nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import checked
from ..errors import MissingPackageError, ModelError
from .sections import Material, check_material
from .structure import Structure

__all__ = ["SolidElements", "solid_structure"]


# weight of points other than the centre of linear elements: determines slopes that the centres leave open
_OPEN_SLOPES = 1e-6
# if fewer elements meet at a node, those around its neighbours count too: fewer meet at a surface than inside
_FEW_AROUND = {4: 20, 8: 8}  # tetrahedra, hexahedra, by number of corners


@checked("order")
def solid_structure(mesh: Any, material: Material, *, order: int = 2, total_mass: float | None = None) -> Structure:
    """Return the structure of an elastic solid.

    Parameters
    ----------
    mesh : skfem.MeshTet, skfem.MeshHex, meshio.Mesh, or the path of a file that meshio reads
        Tetrahedra or hexahedra, coordinates in m.
    material : Material
    order : 1 or 2
        Linear or quadratic elements. Linear ones are much too stiff in bending.
    total_mass : float, kg
        Compared with density times volume.

    Raises
    ------
    MissingPackageError
        Without scikit-fem (and meshio, for files): ``pip install "dalembert[fem]"``.
    ModelError
        If the file cannot be read, or has no tetrahedra or hexahedra.
    """
    try:
        import skfem
    except ImportError as error:
        raise MissingPackageError("solids", "scikit-fem", 'pip install "dalembert[fem]"') from error
    check_material("solid", material)
    if order not in (1, 2):
        raise ModelError("solid", "order", order, "use 1 or 2")
    grid = _mesh(mesh)
    kind = "Tet" if isinstance(grid, skfem.MeshTet1) else "Hex" if isinstance(grid, skfem.MeshHex1) else None
    if kind is None:
        raise ModelError("solid", "mesh", type(grid).__name__, "it needs tetrahedra or hexahedra: a mesh of the volume")
    element = {("Tet", 1): "ElementTetP1", ("Tet", 2): "ElementTetP2"}.get((kind, order), f"ElementHex{order}")
    basis = skfem.Basis(grid, getattr(skfem, element)(), intorder=2 * order if kind == "Tet" else 2 * order + 1)
    solids = SolidElements(basis, material)
    n = basis.N
    return Structure(
        basis.doflocs.T.copy(),
        solids.mass_matrix(n),
        solids.stiffness_matrix(n),
        elements=solids,
        total_mass=total_mass,
    )


@dataclass(frozen=True, eq=False)
class SolidElements:
    """Elements of a solid.

    Attributes
    ----------
    basis : skfem.Basis
        Of one component of the displacements; its degrees of freedom are the first nodes of the structure.
    material : Material
    """

    basis: Any
    material: Material

    def mass_matrix(self, n: int) -> Any:
        """Return the mass (6 n, 6 n)."""
        density = self.material.density
        mass = _assembled(self.basis, lambda u, v, w: density * u * v)
        return _blocks([[mass if i == j else None for j in range(3)] for i in range(3)], n)

    def stiffness_matrix(self, n: int) -> Any:
        """Return the stiffness (6 n, 6 n)."""
        slopes = [[_assembled(self.basis, _slope_product(a, b)) for b in range(3)] for a in range(3)]
        return _blocks(_elastic(slopes, self.material), n)

    def field_loads(self, nodes: Array, A: Array) -> Array:
        """Return the inertia loads (6 n,) of an acceleration A x."""
        moved = np.zeros((len(nodes), 6))
        moved[:, :3] = nodes @ A.T
        return -(self.mass_matrix(len(nodes)) @ moved.ravel())

    def pressure_loads(
        self, nodes: Array, pressure: Callable[[Array], float], where: Callable[[Array], bool] | None
    ) -> Array:
        """Return the consistent loads (6 n,) of a pressure, Pa by position, on chosen outer faces."""
        from skfem import FacetBasis, LinearForm

        mesh = self.basis.mesh
        faces = mesh.boundary_facets()
        if where is not None:
            middles = mesh.p[:, mesh.facets[:, faces]].mean(axis=1).T
            faces = faces[[bool(where(middle)) for middle in middles]]
        loads = np.zeros((len(nodes), 6))
        if not len(faces):
            return loads.ravel()
        skin = FacetBasis(mesh, self.basis.elem, facets=faces, intorder=5)
        for axis in range(3):

            def pressed(v: Any, w: Any, axis: int = axis) -> Any:
                places = np.moveaxis(np.asarray(w.x), 0, -1)
                at = np.apply_along_axis(pressure, -1, places)
                return -at * w.n[axis] * v

            loads[: self.basis.N, axis] = LinearForm(pressed).assemble(skin)
        return loads.ravel()

    def geometric_stiffness(self, u: Array, modes: Array) -> Array:
        """Return the geometric stiffness (k, nm, nm) of modes (6 n, nm) by the stresses of u (6 n, k)."""
        weights = self.basis.dx.ravel()
        slopes = self._slopes(modes)
        total = np.zeros((u.shape[1], modes.shape[1], modes.shape[1]))
        for case, D in enumerate(self._slopes(u)):
            stress = self._stress(D)
            pulled = np.einsum("abq,mibq->miaq", stress * weights, slopes)
            total[case] = np.tensordot(pulled, slopes, axes=((1, 2, 3), (1, 2, 3)))
        return total

    def nodal_stresses(self, modes: Array, n: int) -> Array:
        """Return stresses (1, n, 3, 3, nm) Pa at the nodes in modes (6 n, nm), from superconvergent points.

        Quadratic elements extrapolate from these points to their nodes, and nodes take the mean of the elements that
        meet. Linear elements have one such point, the centre: each node takes the linear field that fits best the
        elements around it.
        """
        points = self._recovery_basis()
        each = np.array([self._stress(D) for D in self._slopes(modes, points)])  # (nm, 3, 3, points)
        found = self._recovery(points) @ each.reshape(-1, each.shape[-1]).T
        whole = np.zeros((n, 3, 3, len(each)))
        whole[: self.basis.N] = np.moveaxis(found.reshape(-1, len(each), 3, 3), 1, 3)
        return whole[None]

    def energy_products(self, modes: Array, nodal: Array) -> tuple[Array, Array]:
        """Return products (ne, nm, nm) J of element stresses in modes, and of their change by recovery.

        `nodal` holds the stresses (1, n, 3, 3, nm) at nodes, which the shape functions interpolate. A product is the
        integral of stress times strain; the second one is that of the error estimate by Zienkiewicz and Zhu.
        """
        nm, weights = modes.shape[1], self.basis.dx
        own = np.array([self._stress(D) for D in self._slopes(modes)]).reshape(nm, 3, 3, *weights.shape)
        shapes = np.array([np.asarray(phi[0]) for phi in self.basis.basis])  # (corners, ne or 1, points)
        at_nodes = nodal[0, self.basis.element_dofs]  # (corners, ne, 3, 3, nm)
        recovered = np.einsum("ceq,ceabm->mabeq", np.broadcast_to(shapes, (len(shapes), *weights.shape)), at_nodes)
        return self._products(own, weights), self._products(recovered - own, weights)

    def _products(self, stress: Array, weights: Array) -> Array:
        """Return integrals (ne, nm, nm) of stress times strain, stress (nm, 3, 3, ne, points)."""
        E, nu = self.material.E, float(self.material.nu or 0.0)
        volume = np.trace(stress, axis1=1, axis2=2)
        strain = ((1 + nu) * stress - nu * np.eye(3)[:, :, None, None] * volume[:, None, None]) / E
        return np.einsum("mabeq,nabeq,eq->emn", stress, strain, weights, optimize=True)

    def _recovery_basis(self) -> Any:
        """Return the basis at the superconvergent stress points; for linear elements, the centre first."""
        from skfem import Basis
        from skfem.quadrature import get_quadrature

        elem = self.basis.elem
        X, W = get_quadrature(elem, 3 if elem.refdom.nnodes == 8 else 2)
        if len(self.basis.element_dofs) == elem.refdom.nnodes:
            X, W = np.concatenate([X.mean(axis=1, keepdims=True), X], axis=1), np.append(0.0, W)
        return Basis(self.basis.mesh, elem, quadrature=(X, W))

    def _recovery(self, points: Any) -> Any:
        """Return sparse weights (N, points) from stresses at element points to nodes."""
        nodes = self.basis.element_dofs  # (corners, ne)
        if len(nodes) > self.basis.elem.refdom.nnodes:
            return _extrapolation(nodes, self.basis.elem.doflocs, points.X.T, self.basis.N)
        return _patch_fit(nodes, self.basis.doflocs.T, np.asarray(points.global_coordinates()))

    def _stress(self, slopes: Array) -> Array:
        """Return stresses (3, 3, points) Pa from slopes of displacements, likewise."""
        G, nu = float(self.material.G or 0.0), float(self.material.nu or 0.0)
        strain = (slopes + slopes.swapaxes(0, 1)) / 2
        volume = np.trace(strain)  # of the two axes of the tensor, at every point
        return 2 * G * strain + 2 * G * nu / (1 - 2 * nu) * volume * np.eye(3)[:, :, None]

    def _slopes(self, motions: Array, points: Any = None) -> Array:
        """Return du_i/dx_a (k, 3, 3, points) of motions (6 n, k) at the points of a basis."""
        basis = self.basis if points is None else points
        nodal = motions.reshape(-1, 6, motions.shape[1])[: self.basis.N, :3]
        return np.array(
            [[basis.interpolate(nodal[:, i, k]).grad.reshape(3, -1) for i in range(3)] for k in range(nodal.shape[2])]
        )


def _extrapolation(nodes: NDArray[np.int64], places: Array, points: Array, n: int) -> Any:
    """Return weights (n, ne points) from element points, extrapolated to nodes and averaged.

    Between eight points of a hexahedron values are trilinear, between four of a tetrahedron linear, in the coordinates
    of the reference element: `places` (corners, 3) of nodes, `points` (q, 3).
    """
    from scipy.sparse import csr_array

    powers = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)])
    terms = [np.prod(at[:, None] ** powers[: len(points)], axis=2) for at in (places, points)]
    each = terms[0] @ np.linalg.inv(terms[1])  # (corners, q)
    ne, q = nodes.shape[1], len(points)
    columns = np.broadcast_to(q * np.arange(ne)[:, None] + np.arange(q), (len(nodes), ne, q))
    rows = np.broadcast_to(nodes[:, :, None], columns.shape)
    meeting = np.bincount(nodes.ravel(), minlength=n)[rows]
    values = np.broadcast_to(each[:, None], columns.shape) / meeting
    return csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(n, ne * q))


def _patch_fit(nodes: NDArray[np.int64], places: Array, points: Array) -> Any:
    """Return weights (n, ne q) of a nodal linear fit to values at points of the surrounding elements.

    Where few elements meet, as at a surface, those around their other nodes are taken too. `points` (3, ne, q): the
    first of each element, its centre, determines the fit. The others only contribute slopes that the centres leave
    undetermined, as across a single layer of elements.
    """
    from scipy.sparse import csr_array, diags_array

    n, (_, ne, q) = len(places), points.shape
    touching = csr_array((np.ones(nodes.size), (nodes.ravel(), np.tile(np.arange(ne), len(nodes)))), shape=(n, ne))
    few = touching.sum(axis=1) < _FEW_AROUND[len(nodes)]
    wider = touching @ touching.T @ touching
    touching = diags_array(1.0 * ~few) @ touching + diags_array(1.0 * few) @ wider
    node, element = touching.nonzero()
    away = np.moveaxis(points[:, element], 0, -1) - places[node][:, None]  # (pairs, q, 3)
    size = np.zeros(n)
    np.maximum.at(size, node, np.abs(away).max(axis=(1, 2)))
    terms = np.concatenate([np.ones((*away.shape[:2], 1)), away / size[node][:, None, None]], axis=2)
    weight = np.where(np.arange(q) == 0, 1.0, _OPEN_SLOPES)
    A = np.zeros((n, 4, 4))
    np.add.at(A, node, np.einsum("q,pqi,pqj->pij", weight, terms, terms))
    at_node = np.linalg.inv(A)[:, 0]  # the constant term is the value at the node
    values = weight * np.einsum("pi,pqi->pq", at_node[node], terms)
    columns = q * element[:, None] + np.arange(q)
    return csr_array((values.ravel(), (np.repeat(node, q), columns.ravel())), shape=(n, ne * q))


def _elastic(slopes: list[list[Any]], material: Material) -> list[list[Any]]:
    """Return blocks (3, 3) of the stiffness from integrals of slope products, slopes[a][b] = (da v, db u)."""
    G, nu = float(material.G or 0.0), float(material.nu or 0.0)
    lame = 2 * G * nu / (1 - 2 * nu)
    total = slopes[0][0] + slopes[1][1] + slopes[2][2]
    blocks = [[lame * slopes[i][j] + G * slopes[j][i] for j in range(3)] for i in range(3)]
    for i in range(3):
        blocks[i][i] = blocks[i][i] + G * total
    return blocks


def _slope_product(a: int, b: int) -> Any:
    return lambda u, v, w: v.grad[a] * u.grad[b]


def _assembled(basis: Any, form: Any) -> Any:
    from scipy.sparse import csr_array
    from skfem import BilinearForm

    return csr_array(BilinearForm(form).assemble(basis))


def _blocks(blocks: list[list[Any]], n: int) -> Any:
    """Return a matrix (6 n, 6 n) from blocks (3, 3) for the displacements of the first nodes."""
    size = 6 * n
    places = [6 * np.arange(n) + k for k in range(3)]
    parts = [
        _placed(block, places[i], places[j], size)
        for i, row in enumerate(blocks)
        for j, block in enumerate(row)
        if block is not None
    ]
    return sum(parts[1:], parts[0])


def _placed(matrix: Any, rows: NDArray[np.int64], columns: NDArray[np.int64], size: int) -> Any:
    from scipy.sparse import csr_array

    found = matrix.tocoo()
    return csr_array((found.data, (rows[found.row], columns[found.col])), shape=(size, size))


def _mesh(mesh: Any) -> Any:
    from skfem import Mesh

    if isinstance(mesh, Mesh):
        return mesh
    try:
        import meshio
        from skfem.io.meshio import from_meshio
    except ImportError as error:
        raise MissingPackageError("mesh files", "meshio", 'pip install "dalembert[fem]"') from error
    found = mesh
    if isinstance(mesh, (str, PathLike)):
        path = Path(mesh)
        if not path.is_file():
            raise ModelError("solid", "mesh", str(mesh), "there is no such file")
        try:
            found = meshio.read(path)
        except (Exception, SystemExit) as error:  # meshio exits on unknown files
            raise ModelError("solid", "mesh", str(mesh), f"meshio cannot read it: {error}") from error
    if not isinstance(found, meshio.Mesh):
        raise ModelError("solid", "mesh", mesh, "give a mesh of skfem or meshio, or the path of a file")
    wanted = ("tetra", "tetra10", "hexahedron", "hexahedron20", "hexahedron27")
    kinds = sorted({cells.type for cells in found.cells})
    chosen = [kind for kind in kinds if kind in wanted]
    if len(chosen) != 1:
        raise ModelError("solid", "mesh", kinds, "its cells must be tetrahedra, or hexahedra, of one kind")
    # corners only: elements of order two make their own nodes between them
    corners = {"tetra10": ("tetra", 4), "hexahedron20": ("hexahedron", 8), "hexahedron27": ("hexahedron", 8)}
    kind, count = corners.get(chosen[0], (chosen[0], None))
    cells = np.concatenate([c.data for c in found.cells if c.type == chosen[0]])[:, :count]
    used, numbers = np.unique(cells, return_inverse=True)
    plain = meshio.Mesh(found.points[used], [(kind, numbers.reshape(cells.shape))])
    return from_meshio(plain)
