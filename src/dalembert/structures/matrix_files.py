"""Structures from matrix files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import checked, finite_array, one_of, shape_of
from ..errors import ModelError
from .structure import Structure

__all__ = ["read_structure"]


@checked("dofs", "numbering")
def read_structure(
    nodes: Any,
    mass: Any,
    stiffness: Any,
    *,
    dofs: int = 6,
    numbering: str = "nodes",
    total_mass: float | None = None,
) -> Structure:
    """Return a structure from arrays or files.

    Parameters
    ----------
    nodes : (n, 3) m, or path
        ``.npy``, or text with three columns (``.csv``, ``.txt``).
    mass, stiffness : (f n, f n), dense or scipy.sparse, or path
        Matrix Market (``.mtx``; symmetric storage is understood), ``.npz`` of ``scipy.sparse.save_npz``, ``.npy``;
        with f degrees of freedom per node.
    dofs : 6 or 3
        Per node: displacements and rotations, or displacements alone (solids).
    numbering : "nodes" or "components"
        Order of degrees of freedom: node by node (ux, uy, uz, rx, ry, rz of the first, of the second, ...), or
        component by component (ux of all nodes, uy of all, ...).
    total_mass : float, kg
        Compared with the mass of the matrix.

    Raises
    ------
    ModelError
        If a file is missing or of an unknown format, sizes are inconsistent, or matrices are impossible.
    """
    if dofs not in (3, 6):
        raise ModelError("structure", "dofs", dofs, "use 6, or 3 for displacements alone")
    one_of("structure", "numbering", numbering, ("nodes", "components"))
    places = np.asarray(_array(nodes, "nodes"))
    if places.ndim != 2 or places.shape[1] != 3:
        raise ModelError("structure", "nodes", f"of shape {places.shape}", "three columns are needed: x, y, z in m")
    n = len(places)
    target = (6 * np.arange(n)[:, None] + np.arange(dofs)).astype(np.int64)
    order = target.ravel() if numbering == "nodes" else target.T.ravel()
    matrices = [_spread(_array(given, field), order, 6 * n, field, dofs)
                for given, field in ((mass, "mass"), (stiffness, "stiffness"))]  # fmt: skip
    return Structure(places, *matrices, total_mass=total_mass)


def _spread(matrix: Any, order: NDArray[np.int64], size: int, field: str, dofs: int) -> Any:
    """Return a matrix expanded to six degrees of freedom per node."""
    from scipy.sparse import coo_array, csr_array

    if len(matrix.shape) != 2 or matrix.shape != (len(order), len(order)):
        wanted = f"{size // 6} nodes with {dofs} degrees of freedom each need ({len(order)}, {len(order)})"
        raise ModelError("structure", field, f"of shape {matrix.shape}", wanted)
    found = coo_array(matrix)
    return csr_array((found.data.astype(float), (order[found.row], order[found.col])), shape=(size, size))


def _array(given: Any, field: str) -> Any:
    """Return an array or sparse matrix unchanged, or the content of a file."""
    if not isinstance(given, (str, PathLike)):
        if hasattr(given, "tocoo"):
            return given
        shape = shape_of(given)
        return finite_array(given, () if shape is None else shape, item="structure", field=field)
    path = Path(given)
    if not path.is_file():
        raise ModelError("structure", field, str(given), "there is no such file")
    readers = {".npy": _npy, ".npz": _npz, ".mtx": _matrix_market, ".csv": _text, ".txt": _text}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ModelError("structure", field, str(given), f"its format is unknown; use {', '.join(readers)}")
    try:
        return reader(path)
    except (ValueError, OSError, KeyError, EOFError) as error:
        raise ModelError("structure", field, str(given), f"it cannot be read: {error}") from error


def _npy(path: Path) -> Any:
    return np.load(path, allow_pickle=False)


def _npz(path: Path) -> Any:
    from scipy.sparse import load_npz

    return load_npz(path)


def _matrix_market(path: Path) -> Any:
    from scipy.io import mmread

    return mmread(path)


def _text(path: Path) -> Any:
    first = path.read_text().lstrip()[:200]
    return np.loadtxt(path, delimiter="," if "," in first.splitlines()[0] else None, ndmin=2)
