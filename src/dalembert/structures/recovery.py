"""Section forces and stresses of beams from their deformation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bodies.flexible import FlexibleBody
from ..checks import checked
from ..errors import ModelError
from .structure import Structure

__all__ = ["BeamStresses", "beam_stresses", "nodal_mises", "section_forces"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BeamStresses:
    """Stresses in beam elements, at both ends of each; k states, ne elements.

    Attributes
    ----------
    axial : (k, ne, 2) Pa
        By the axial force, tension positive.
    bending : (k, ne, 2) Pa
        Largest magnitude over the section's points.
    normal : (k, ne, 2) Pa
        Axial and bending together, of largest magnitude over the section's points, with sign.
    torsion : (k, ne, 2) Pa
        Largest shear stress by torsion; nan where the section has no `torsion_radius`.
    mises : (k, ne, 2) Pa
        sqrt(normal2 + 3 torsion2), as if both were largest at one point: on the safe side.
    """

    axial: Array
    bending: Array
    normal: Array
    torsion: Array
    mises: Array


@checked("body", "eta")
def section_forces(
    body: FlexibleBody, eta: ArrayLike | None = None, *, displacements: ArrayLike | None = None
) -> Array:
    """Return section forces (k, ne, 2, 6) of the beam elements for modal coordinates eta (k, nm) or (nm,).

    At both ends of each element, in local axes: N, Qy, Qz in N, torque, My, Mz in N m, as the part of the beam beyond
    the section acts on the part before it. Tension is positive. They are those of the nodal displacements: loads spread
    over an element (its own inertia) shift them by half an element's share. In place of eta, `displacements` (k, 6 n)
    of all nodes may be given, such as those of `mode_acceleration`.
    """
    structure = _beam_structure(body)
    beams = structure.beams
    assert beams is not None
    if (eta is None) == (displacements is None):
        raise ModelError("section forces", "eta", eta, "give either eta or displacements")
    if displacements is not None:
        moved = np.asarray(displacements, dtype=float)
        moved = moved[None] if moved.ndim == 1 else moved
        if moved.ndim != 2 or moved.shape[1] != 6 * body.n:
            wanted = f"give (k, {6 * body.n}): six freedoms of every node"
            raise ModelError("section forces", "displacements", f"of shape {moved.shape}", wanted)
        each = np.einsum("eij,kej->kei", beams.stiffness(), beams.local(moved))
        return np.stack([-each[..., :6], each[..., 6:]], axis=2)
    values = np.asarray(eta, dtype=float)
    values = values[None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != body.nm:
        raise ModelError("section forces", "eta", f"of shape {values.shape}", f"give (k, {body.nm})")
    # by mode first: few columns, many states
    forces = np.einsum("eij,mej->mei", beams.stiffness(), beams.local(body.modes.T))
    forces = np.stack([-forces[..., :6], forces[..., 6:]], axis=2)
    return np.tensordot(values, forces, 1)


@checked("body", "eta")
def beam_stresses(
    body: FlexibleBody, eta: ArrayLike | None = None, *, displacements: ArrayLike | None = None
) -> BeamStresses:
    """Return stresses of the beam elements for modal coordinates eta (k, nm) or (nm,), or displacements (k, 6 n)."""
    forces = section_forces(body, eta, displacements=displacements)
    beams = _beam_structure(body).beams
    assert beams is not None
    shape = forces.shape[:3]
    axial, bending, normal, torsion = (np.zeros(shape) for _ in range(4))
    for section in set(beams.sections):
        chosen = [k for k, s in enumerate(beams.sections) if s is section]
        part = forces[:, chosen]
        points = np.zeros((1, 2)) if section.points is None else section.points
        axial[:, chosen] = part[..., 0] / section.A
        bent = part[..., 4, None] * points[:, 1] / section.Iy - part[..., 5, None] * points[:, 0] / section.Iz
        bending[:, chosen] = np.abs(bent).max(-1) if section.points is not None else np.nan
        both = axial[:, chosen][..., None] + bent
        worst = np.abs(both).argmax(-1)[..., None]
        normal[:, chosen] = np.take_along_axis(both, worst, -1)[..., 0] if section.points is not None else np.nan
        radius = np.nan if section.torsion_radius is None else section.torsion_radius
        torsion[:, chosen] = np.abs(part[..., 3]) * radius / section.J
    return BeamStresses(axial, bending, normal, torsion, np.sqrt(normal**2 + 3 * torsion**2))


@checked("body", "eta")
def nodal_mises(body: FlexibleBody, eta: ArrayLike) -> Array:
    """Return von Mises stresses (k, n) Pa at the nodes of beams, plates or solids for modal coordinates (k, nm).

    Of beams, the larger of the elements that meet at a node, in the worst point of the section; of plates, the larger
    of both faces; of plates and solids, stresses of the elements that meet are averaged before.

    Raises
    ------
    ModelError
        If nothing is known of the body's elements, or a reduction removed nodes.

    Examples
    --------
    >>> import numpy as np, dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> arm = da.beam(1.0, da.Section.rectangle(0.03, 0.01), steel, elements=10)
    >>> nodal_mises(arm, np.zeros(arm.nm)).shape
    (1, 11)
    """
    structure = body.structure
    values = np.atleast_2d(np.asarray(eta, dtype=float))
    if isinstance(structure, Structure) and structure.beams is not None:
        mises = beam_stresses(body, values).mises
        found = np.zeros((len(values), body.n))
        for side in range(2):
            for k, node in enumerate(structure.beams.ends[:, side]):
                found[:, node] = np.fmax(found[:, node], mises[:, k, side])
        return found
    elements = structure.elements if isinstance(structure, Structure) else None
    if elements is None or not hasattr(elements, "nodal_stresses") or body.lacks_nodes:
        raise ModelError(
            "stresses", "body", body, "they are known of bodies made from beams, plates or solids, all nodes kept"
        )
    by_mode = elements.nodal_stresses(body.modes, body.n)  # (faces, n, 3, 3, nm)
    total = np.tensordot(values, by_mode, axes=(1, 4))  # (k, faces, n, 3, 3)
    deviator = total - np.trace(total, axis1=-2, axis2=-1)[..., None, None] / 3 * np.eye(3)
    result: Array = np.sqrt(1.5 * (deviator**2).sum(axis=(-2, -1))).max(axis=1)
    return result


def _beam_structure(body: FlexibleBody) -> Structure:
    structure = body.structure
    if not isinstance(structure, Structure) or structure.beams is None:
        raise ModelError("section forces", "body", body, "only bodies made by beam(...) or frame(...) have sections")
    if body.lacks_nodes:
        raise ModelError("section forces", "body", body, "its reduction removed nodes: use CraigBampton to keep them")
    return structure
