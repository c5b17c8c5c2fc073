"""Section forces of beams and stresses of beams, plates and solids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text
from ..arrays import Array
from ..bodies.flexible_body import FlexibleBody
from ..checks import checked
from ..errors import ModelError
from .finite_element import StressElements
from .structure import Structure

__all__ = ["BeamStresses", "NodalStresses", "beam_stresses", "nodal_mises", "nodal_stresses", "section_forces"]


@dataclass(frozen=True, eq=False, repr=False)
class BeamStresses(ArrayAnswer):
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
    _arrays: ClassVar = dict.fromkeys(
        ("axial", "bending", "normal", "torsion", "mises"), (("state", "element", "end"), "Pa")
    )

    def _headline(self) -> str:
        states, elements = self.mises.shape[:2]
        largest = f"von Mises up to {np.nanmax(self.mises, initial=0.0):.4g} Pa"
        return f"{count_text(states, 'state')}, {count_text(elements, 'element')}, {largest}"


@checked("body", "eta")
def section_forces(
    body: FlexibleBody, eta: ArrayLike | None = None, *, displacements: ArrayLike | None = None
) -> Array:
    """Return section forces (k, ne, 2, 6) of the beam elements for modal coordinates eta (k, nm) or (nm,).

    At both ends of each element, in local axes: N, Qy, Qz in N, torque, My, Mz in N m, as the part of the beam beyond
    the section acts on the part before it. Tension is positive. They are computed from the nodal displacements: loads
    distributed over an element (its own inertia) shift them by half an element's share. In place of eta,
    `displacements` (k, 6 n) of all nodes may be given, such as those of `mode_acceleration`.
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
            wanted = f"give (k, {6 * body.n}): six degrees of freedom of every node"
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
    """Return stresses of the beam elements for eta (k, nm) or (nm,), or displacements (k, 6 n)."""
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


@dataclass(frozen=True, eq=False, repr=False)
class NodalStresses(ArrayAnswer):
    """Stresses at the nodes of plates or solids; k states, n nodes, ne elements.

    Attributes
    ----------
    tensor : (k, f, n, 3, 3) Pa
        In body axes; f faces: one of solids, two of plates (upper, lower). Zero at nodes of regions, which belong to no
        element.
    element_errors : (k, ne)
        Estimated error of each element's stresses, relative to the stresses of the whole body, by energy: square root
        of its part of the integral of stress times strain. Refine where it is large.
    """

    tensor: Array
    element_errors: Array

    @property
    def error(self) -> Array:
        """Estimated relative error (k,) of the elements' stresses in the energy norm, after Zienkiewicz and Zhu.

        It compares each element's own stresses with the recovered ones. It estimates the error of the mesh only, not of
        modes that miss part of the deformation.
        """
        return np.sqrt((self.element_errors**2).sum(axis=1))

    @property
    def mises(self) -> Array:
        """Von Mises stresses (k, n) Pa, of plates the larger of both faces."""
        deviator = self.tensor - np.trace(self.tensor, axis1=-2, axis2=-1)[..., None, None] / 3 * np.eye(3)
        return np.sqrt(1.5 * (deviator**2).sum(axis=(-2, -1))).max(axis=1)

    @property
    def principal(self) -> Array:
        """Principal stresses (k, f, n, 3) Pa, the largest first."""
        return np.asarray(np.linalg.eigvalsh(self.tensor)[..., ::-1], dtype=np.float64)

    _arrays: ClassVar = {
        "tensor": (("state", "face", "node", "row", "column"), "Pa"),
        "mises": (("state", "node"), "Pa"),
        "element_errors": (("state", "element"), ""),
    }

    def _headline(self) -> str:
        k, _, n = self.tensor.shape[:3]
        largest = f"von Mises up to {self.mises.max(initial=0.0):.4g} Pa"
        return f"{k} states, {n} nodes, {largest}, error about {100 * self.error.max(initial=0.0):.3g} %"


@checked("body", "eta")
def nodal_stresses(body: FlexibleBody, eta: ArrayLike) -> NodalStresses:
    """Return stress tensors at nodes of plates or solids for modal coordinates (k, nm), with error estimate.

    Stresses of solids are evaluated at the superconvergent points of the elements, extrapolated to the nodes and
    averaged; a bent bar of quadratic elements has its exact stress with one element through its height. Linear elements
    use a linear fit over the elements around each node.

    Raises
    ------
    ModelError
        If the body is not made of plates or solids, or a reduction removed nodes.

    Examples
    --------
    >>> import numpy as np, dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> sheet = da.structures.plate_structure(0.4, 0.3, 0.002, steel, elements=(6, 4))
    >>> panel = sheet.reduce(da.structures.FreeModes(3))
    >>> stresses = nodal_stresses(panel, [1e-4, 0.0, 0.0])
    >>> stresses.tensor.shape, stresses.mises.shape
    ((1, 2, 35, 3, 3), (1, 35))
    """
    structure = body.structure
    values = _modal(body, eta)
    elements = structure.elements if isinstance(structure, Structure) else None
    if not isinstance(elements, StressElements) or body.nodes_removed:
        wanted = "they are available for bodies of beams, plates or solids with all nodes kept"
        if isinstance(structure, Structure) and structure.beams is not None:
            wanted = "tensors are available for plates and solids: use beam_stresses or nodal_mises for beams"
        raise ModelError("stresses", "body", body, wanted)
    nodal = elements.nodal_stresses(body.modes, body.n)  # (faces, n, 3, 3, nm)
    own, missed = elements.energy_products(body.modes, nodal)
    errors = np.einsum("ki,eij,kj->ke", values, missed, values, optimize=True).clip(min=0.0)
    total = np.einsum("ki,ij,kj->k", values, own.sum(axis=0), values) + errors.sum(axis=1)
    shares = np.sqrt(errors / np.where(total > 0, total, 1.0)[:, None])
    return NodalStresses(np.tensordot(values, nodal, axes=(1, 4)), shares)


@checked("body", "eta")
def nodal_mises(body: FlexibleBody, eta: ArrayLike) -> Array:
    """Return von Mises stresses (k, n) Pa at nodes of beams, plates or solids for modal coordinates (k, nm).

    Of beams, the larger of the elements that meet at a node, in the worst point of the section; of plates, the larger
    of both faces; of plates and solids those of `nodal_stresses`, which also gives tensors and an error estimate.

    Raises
    ------
    ModelError
        If the elements of the body are unknown, or a reduction removed nodes.

    Examples
    --------
    >>> import numpy as np, dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> arm = da.beam(1.0, da.Section.rectangle(0.03, 0.01), steel, elements=10)
    >>> nodal_mises(arm, np.zeros(arm.nm)).shape
    (1, 11)
    """
    structure = body.structure
    if not isinstance(structure, Structure) or structure.beams is None:
        return nodal_stresses(body, eta).mises
    values = _modal(body, eta)
    mises = beam_stresses(body, values).mises
    found = np.zeros((len(values), body.n))
    for side in range(2):
        for k, node in enumerate(structure.beams.ends[:, side]):
            found[:, node] = np.fmax(found[:, node], mises[:, k, side])
    return found


def _modal(body: FlexibleBody, eta: ArrayLike) -> Array:
    values = np.atleast_2d(np.asarray(eta, dtype=float))
    if values.ndim != 2 or values.shape[1] != body.nm:
        raise ModelError("stresses", "eta", f"of shape {np.shape(eta)}", f"give (k, {body.nm}) modal coordinates")
    return values


def _beam_structure(body: FlexibleBody) -> Structure:
    structure = body.structure
    if not isinstance(structure, Structure) or structure.beams is None:
        raise ModelError("section forces", "body", body, "only bodies made by beam(...) or frame(...) have sections")
    if body.nodes_removed:
        raise ModelError("section forces", "body", body, "its reduction removed nodes: use CraigBampton to keep them")
    return structure
