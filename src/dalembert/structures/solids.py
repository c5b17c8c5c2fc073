"""Solids and rectangular plates, by scikit-fem.

Solids have three displacements per node; rotations of their nodes are taken from the nodes around. Plates are thin
(Kirchhoff): Bogner-Fox-Schmit bending with its twist condensed, and a bilinear membrane; they have no stiffness against
rotation about their normal.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingPackageError, ModelError
from ..rotation import finite_number
from .sections import Material
from .structure import Structure

__all__ = ["plate_structure", "solid_structure"]

Array = NDArray[np.float64]


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
    skfem = _skfem("solids")
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
    mass = _assembled(basis, lambda u, v, w: material.density * u * v)
    slopes = [[_assembled(basis, _slope_product(a, b)) for b in range(3)] for a in range(3)]
    return Structure(
        basis.doflocs.T.copy(),
        _blocks([[mass if i == j else None for j in range(3)] for i in range(3)]),
        _blocks(_elastic(slopes, material)),
        total_mass=total_mass,
    )


def plate_structure(
    x: float,
    y: float,
    thickness: float,
    material: Material,
    *,
    elements: tuple[int, int] = (8, 8),
) -> Structure:
    """Return the structure of a thin rectangular plate in the xy-plane, centred at the origin.

    Parameters
    ----------
    x, y, thickness : float, m
    material : Material
    elements : (int, int)
        Along x and y. Nodes are at the corners of the elements.

    Raises
    ------
    MissingPackageError
        Without scikit-fem: ``pip install "dalembert[fem]"``.
    """
    skfem = _skfem("plates")
    sizes = {"x": x, "y": y, "thickness": thickness}
    for field, value in sizes.items():
        if finite_number(value, item="plate", field=field) <= 0:
            raise ModelError("plate", field, value, "a length must be positive")
    if not isinstance(material, Material):
        raise ModelError("plate", "material", material, "give a Material(E=..., nu=..., density=...)")
    if np.shape(elements) != (2,) or min(elements) < 1:
        raise ModelError("plate", "elements", elements, "give two whole numbers, at least 1")
    lines = [np.linspace(-size / 2, size / 2, count + 1) for size, count in zip((x, y), elements, strict=True)]
    grid = skfem.MeshQuad.init_tensor(*lines)
    n = grid.p.shape[1]
    freedoms = 6 * np.arange(n)[:, None] + np.arange(6)
    nu, t = float(material.nu or 0.0), float(thickness)
    plane = material.E * t / (1 - nu**2)
    size = 6 * n
    mass, stiffness = _membrane(skfem, grid, plane, nu, material.density * t, freedoms, size)
    bending_mass, bending = _bending(skfem, grid, plane * t**2 / 12, nu, material.density * t, freedoms, size)
    nodes = np.column_stack([grid.p.T, np.zeros(n)])
    return Structure(nodes, mass + bending_mass, stiffness + bending)


def _membrane(
    skfem: Any, grid: Any, plane: float, nu: float, density: float, freedoms: NDArray[np.int64], size: int
) -> tuple[Any, Any]:
    """Return mass and stiffness for displacements in the plane: plane stress, bilinear."""
    basis = skfem.Basis(grid, skfem.ElementQuad1(), intorder=3)
    m = _assembled(basis, lambda u, v, w: density * u * v)
    S = [[_assembled(basis, _slope_product(a, b)) for b in range(2)] for a in range(2)]
    shear = plane * (1 - nu) / 2
    uu, vv = plane * S[0][0] + shear * S[1][1], plane * S[1][1] + shear * S[0][0]
    uv = plane * nu * S[0][1] + shear * S[1][0]
    order = basis.nodal_dofs[0]
    places = [freedoms[np.argsort(order), k] for k in range(2)]
    mass = _placed(m, places[0], places[0], size) + _placed(m, places[1], places[1], size)
    stiffness = _placed(uu, places[0], places[0], size) + _placed(vv, places[1], places[1], size)
    mixed = _placed(uv, places[0], places[1], size)
    return mass, stiffness + mixed + mixed.T


def _bending(
    skfem: Any, grid: Any, rigidity: float, nu: float, density: float, freedoms: NDArray[np.int64], size: int
) -> tuple[Any, Any]:
    """Return mass and stiffness for deflection and slopes: w, rx = dw/dy, ry = -dw/dx; the twist is condensed."""
    from scipy.sparse import csc_array, csr_array
    from scipy.sparse.linalg import splu

    basis = skfem.Basis(grid, skfem.ElementQuadBFS(), intorder=7)
    M = _assembled(basis, lambda u, v, w: density * u * v)

    def energy(u: Any, v: Any, w: Any) -> Any:
        a, b = u.hess, v.hess
        direct = a[0][0] * b[0][0] + a[1][1] * b[1][1] + nu * (a[0][0] * b[1][1] + a[1][1] * b[0][0])
        return rigidity * (direct + (1 - nu) * (a[0][1] * b[0][1] + a[1][0] * b[1][0]))

    K = _assembled(basis, energy)
    value, slope_x, slope_y, twist = basis.nodal_dofs
    kept = np.concatenate([value, slope_x, slope_y])
    solve = splu(csc_array(K[twist][:, twist]))
    T = np.zeros((K.shape[0], len(kept)))
    T[kept, np.arange(len(kept))] = 1.0
    T[twist] = -solve.solve(K[twist][:, kept].toarray())
    signs = np.repeat([1.0, -1.0, 1.0], len(value))
    places = np.concatenate([freedoms[:, 2], freedoms[:, 4], freedoms[:, 3]])
    mass, stiffness = ((T.T @ (matrix @ T)) * np.outer(signs, signs) for matrix in (M, K))
    return _placed(csr_array(mass), places, places, size), _placed(csr_array(stiffness), places, places, size)


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


def _blocks(blocks: list[list[Any]]) -> Any:
    """Return a matrix with six freedoms per node from blocks (3, 3) for the displacements."""
    n = next(b for b in blocks[0] if b is not None).shape[0]
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


def _skfem(purpose: str) -> Any:
    try:
        import skfem
    except ImportError as error:
        raise MissingPackageError(purpose, "scikit-fem", 'pip install "dalembert[fem]"') from error
    return skfem
