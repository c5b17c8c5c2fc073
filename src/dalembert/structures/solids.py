"""Elastic solids, by scikit-fem.

Solids have three displacements per node; rotations of their nodes are taken from the nodes around.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import checked
from ..errors import MissingPackageError, ModelError
from .elements import averaged
from .sections import Material
from .structure import Structure

__all__ = ["SolidElements", "solid_structure"]

Array = NDArray[np.float64]


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
    if not isinstance(material, Material):
        raise ModelError("solid", "material", material, "give a Material(E=..., nu=..., density=...)")
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
        Of one component of the displacements; its freedoms are the first nodes of the structure.
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
        loads: Array = -(self.mass_matrix(len(nodes)) @ moved.ravel())
        return loads

    def pressure_loads(
        self, nodes: Array, pressure: Callable[[Array], float], where: Callable[[Array], bool] | None
    ) -> Array:
        """Return the consistent loads (6 n,) of a pressure, Pa by place, on the outer faces chosen by their middles."""
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
        """Return stresses (1, n, 3, 3, nm) Pa at the nodes in modes (6 n, nm), means of the elements."""
        nodes = self.basis.element_dofs.T  # (ne, corners)
        each = np.array([self._stress(D) for D in self._slopes(modes)])  # (nm, 3, 3, points)
        mean = each.reshape(*each.shape[:3], len(nodes), -1).mean(axis=-1)  # (nm, 3, 3, ne)
        spread = np.broadcast_to(np.moveaxis(mean, (0, 3), (3, 0))[:, None], (*nodes.shape, 3, 3, len(mean)))
        return averaged(nodes, spread, n)[None]

    def _stress(self, slopes: Array) -> Array:
        """Return stresses (3, 3, points) Pa from slopes of displacements, likewise."""
        G, nu = float(self.material.G or 0.0), float(self.material.nu or 0.0)
        strain = (slopes + slopes.swapaxes(0, 1)) / 2
        volume = np.trace(strain)  # of the two axes of the tensor, at every point
        result: Array = 2 * G * strain + 2 * G * nu / (1 - 2 * nu) * volume * np.eye(3)[:, :, None]
        return result

    def _slopes(self, motions: Array) -> Array:
        """Return du_i/dx_a (k, 3, 3, points) of motions (6 n, k) at the points of integration."""
        nodal = motions.reshape(-1, 6, motions.shape[1])[: self.basis.N, :3]
        return np.array(
            [
                [self.basis.interpolate(nodal[:, i, k]).grad.reshape(3, -1) for i in range(3)]
                for k in range(nodal.shape[2])
            ]
        )


def _elastic(slopes: list[list[Any]], material: Material) -> list[list[Any]]:
    """Return blocks (3, 3) of the stiffness from integrals of products of slopes, slopes[a][b] = (da v, db u)."""
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
        except (Exception, SystemExit) as error:  # meshio exits on files it does not know
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
