"""Matrices over nodes with six DOF each: rigid motions, lumped masses, and validity checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array, shape_of
from ..errors import ModelError

__all__ = [
    "DEPENDENT",
    "carried",
    "check_total_mass",
    "checked_matrix",
    "lumped_mass_matrix",
    "mass_and_centre",
    "modal_frequencies",
    "rigid_motions",
    "rigid_share",
    "size_of",
]


# matrices from files are rounded: asymmetry and negative eigenvalues below this fraction of the largest are noise
_SYMMETRY_TOLERANCE = 1e-8
# squared sine of the angle below which a mode counts as rigid or as dependent on others
DEPENDENT = 1e-12
# the mass that a matrix holds may differ from the declared one by this fraction
_MASS_TOLERANCE = 1e-3


def rigid_motions(nodes: Array, about: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return (6 n, 6): nodal motions [ux, uy, uz, rx, ry, rz] of a unit [rotation; translation] at a point."""
    x = np.asarray(nodes, dtype=float) - np.asarray(about, dtype=float)
    motions = np.zeros((len(x), 6, 6))
    for k, axis in enumerate(np.eye(3)):
        motions[:, :3, k] = np.cross(axis, x)
        motions[:, 3 + k, k] = 1.0
        motions[:, k, 3 + k] = 1.0
    return motions.reshape(-1, 6)


def rigid_share(nodes: Array, modes: Array) -> Array | None:
    """Return the combination (nm,) of modes that is a rigid motion, or None.

    Displacements count in m, rotations times the radius of the node cloud; modes without any rotation are judged by
    their displacements.
    """
    from scipy.linalg import orth

    spread = nodes - nodes.mean(0)
    radius = float(np.sqrt((spread * spread).sum(1).mean())) or 1.0
    weights = np.tile([1.0] * 3 + [radius if modes.reshape(len(nodes), 6, -1)[:, 3:].any() else 0.0] * 3, len(nodes))
    rigid = orth(weights[:, None] * rigid_motions(nodes, nodes.mean(0)))
    weighted = weights[:, None] * modes
    norms = np.linalg.norm(weighted, axis=0)
    weighted = weighted / np.where(norms > 0, norms, 1.0)
    _, sines, combinations = np.linalg.svd(weighted - rigid @ (rigid.T @ weighted), full_matrices=False)
    return combinations[-1] if sines[-1] ** 2 < DEPENDENT else None


def carried(shape: Array, arm: Array) -> Array:
    """Return the shape (6, nm) [rotation; translation] at the end of a rigid arm (3,)."""
    moved = shape.copy()
    moved[3:] += np.cross(shape[:3], arm, axis=0)
    return moved


def modal_frequencies(M: Array, K: Array) -> tuple[Array, Array]:
    """Return frequencies (nm,) rad/s, ascending, and mass-orthonormal vectors (nm, nm) of a modal problem."""
    if not len(M):
        return np.zeros(0), np.zeros((0, 0))
    from scipy.linalg import eigh

    values, vectors = eigh(K, M)
    return np.sqrt(np.maximum(values, 0.0)), vectors


def lumped_mass_matrix(masses: Array, inertias: Array, centres: Array) -> Any:
    """Return the sparse mass matrix (6 n, 6 n) of bodies at nodes: (n,) kg, (n, 3, 3) kg m2, (n, 3) m."""
    from scipy.sparse import csr_array

    n = len(masses)
    skew = np.zeros((n, 3, 3))
    for k, axis in enumerate(np.eye(3)):
        skew[:, :, k] = np.cross(centres, axis)
    blocks = np.zeros((n, 6, 6))
    blocks[:, :3, :3] = masses[:, None, None] * np.eye(3)
    blocks[:, :3, 3:] = -masses[:, None, None] * skew
    blocks[:, 3:, :3] = masses[:, None, None] * skew
    blocks[:, 3:, 3:] = inertias
    rows, columns = np.indices((6, 6))
    offset = 6 * np.arange(n)[:, None, None]
    entries = (blocks.ravel(), ((rows + offset).ravel(), (columns + offset).ravel()))
    matrix = csr_array(entries, shape=(6 * n, 6 * n))
    matrix.eliminate_zeros()
    return matrix


def checked_matrix(matrix: Any, size: int, *, item: str, field: str) -> Any:
    """Return a symmetric positive semidefinite matrix, dense or as csr; raise `ModelError` otherwise."""
    if hasattr(matrix, "tocsr"):
        from scipy.sparse import csr_array

        if matrix.shape != (size, size):
            raise ModelError(item, field, f"{matrix.shape}", f"its size must be ({size}, {size})")
        if matrix.dtype.kind not in "iuf" or not np.isfinite(matrix.tocsr().data).all():
            raise ModelError(item, field, "not finite", "every entry must be a finite real number")
        found: Any = csr_array(matrix, dtype=float)
        largest, skewed = (float(abs(x).max()) if x.nnz else 0.0 for x in (found, found - found.T))
    else:
        if shape_of(matrix) != (size, size):
            raise ModelError(item, field, size_of(matrix), f"its size must be ({size}, {size})")
        found = finite_array(matrix, (size, size), item=item, field=field)
        largest, skewed = (float(np.abs(x).max(initial=0.0)) for x in (found, found - found.T))
    if skewed > _SYMMETRY_TOLERANCE * largest:
        raise ModelError(
            item,
            field,
            f"unsymmetric by {skewed:.3g} of {largest:.3g}",
            "it must be symmetric: was one half of it stored only, or its degrees of freedom reordered on one side?",
        )
    found = (found + found.T) / 2
    negative = _negative_eigenvalue(found, size)
    if negative is not None:
        raise ModelError(
            item, field, f"indefinite ({negative})", "it must not have negative eigenvalues: check signs and units"
        )
    return found


def check_total_mass(found: float, declared: float, *, item: str) -> None:
    """Raise `ModelError` unless a mass equals the declared one, both in kg."""
    if abs(found - declared) > _MASS_TOLERANCE * max(abs(declared), abs(found)):
        raise ModelError(
            item,
            "mass",
            f"{found:.6g} kg in the mass matrix, {declared:.6g} kg declared",
            "check units (kg, m, s), concentrated masses, and that the matrix belongs to this mesh",
        )


def _negative_eigenvalue(matrix: Any, size: int) -> str | None:
    """Return text about a negative eigenvalue of a scaled matrix above round-off, or None."""
    diagonal = np.asarray(matrix.diagonal())
    largest = float(np.abs(diagonal).max(initial=0.0))
    below = np.flatnonzero(diagonal < -_SYMMETRY_TOLERANCE * largest)
    if len(below):
        return f"diagonal entry {below[0]} is {diagonal[below[0]]:.3g}"
    # scaled to a unit diagonal, so that rotations and translations count alike
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    if size <= 300:
        dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
        lowest = float(np.linalg.eigvalsh(dense * np.outer(scale, scale)).min(initial=0.0))
        return f"eigenvalue {lowest:.3g} after scaling to a unit diagonal" if lowest < -1e-7 else None
    from scipy.sparse import csc_array, diags_array, eye_array
    from scipy.sparse.linalg import splu

    scaled = diags_array(scale) @ csc_array(matrix) @ diags_array(scale)
    # Sylvester's law: the factors of a slightly shifted matrix have a negative pivot per negative eigenvalue
    factors = splu(
        csc_array(scaled + 1e-7 * eye_array(size)),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    count = int((factors.U.diagonal() < 0).sum())
    return f"{count} negative eigenvalue{'s' if count > 1 else ''}" if count else None


def mass_and_centre(G: Array, *, item: str) -> tuple[float, Array]:
    """Return mass and centre from the rigid mass (6, 6) [rotation; translation] of all nodes."""
    masses = np.diag(G)[3:]
    mass = float(masses.mean())
    if mass <= 0:
        raise ModelError(item, "mass_matrix", f"{mass:.6g} kg", "a flexible body needs mass")
    uneven = max(float(np.ptp(masses)), float(np.abs(G[3:, 3:] - np.diag(masses)).max()))
    if uneven > _MASS_TOLERANCE * mass:
        raise ModelError(
            item,
            "mass_matrix",
            "mass along x, y, z: {:.6g}, {:.6g}, {:.6g} kg".format(*masses),
            "a body weighs the same in all directions: are the degrees of freedom ordered ux, uy, uz, rx, ry, rz?",
        )
    S = (G[:3, 3:] - G[:3, 3:].T) / (2 * mass)
    return mass, np.array([S[2, 1], S[0, 2], S[1, 0]])


def size_of(value: Any) -> str:
    """Return the shape of a value, as text."""
    if value is None:
        return "missing"
    shape = shape_of(value)
    return "no array" if shape is None else f"of shape {shape}"
