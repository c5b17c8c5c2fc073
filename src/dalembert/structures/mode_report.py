"""Accuracy of a mode set: retained masses, frequencies, static compliance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..answer import ArrayAnswer, list_text
from ..arrays import Array
from ..bodies.nodal_matrices import modal_frequencies
from .supported_structure import SupportedStructure, free_modes, inertia_relief, without_rigid_motion

if TYPE_CHECKING:
    from .mode_sets import BuiltModes, ModeSet
    from .structure import Structure

__all__ = ["ModeReport", "report_of"]


@dataclass(frozen=True, eq=False, repr=False)
class ModeReport(ArrayAnswer):
    """Accuracy of a mode set of a structure; prints as a table.

    Attributes
    ----------
    kind : str
        The mode set.
    frame : str
    dofs : int
        Of the structure.
    frequencies : (nm,) rad/s
        Of the reduced body, with its frame held (attached) or free (mean axes).
    frequency_errors : (nm,)
        Relative excess over the frequencies of the structure.
    effective_masses : (nm, 6) kg, kg m2
        Shares [x, y, z rotation; x, y, z translation] of the mass that each mode carries when the frame moves. With all
        modes they add up to `rigid_masses`, less the mass at the held node. Zero with mean axes, whose modes carry no
        momentum.
    rigid_masses : (6,) kg m2, kg
        Inertia about the axes through the frame's origin, and mass.
    static_errors : dict of int to (6,)
        For unit loads [moment; force] at a node: the share of the compliance that the modes miss; nan where the node
        cannot take the load. With mean axes the load is balanced by inertia forces.
    """

    kind: str
    frame: str
    dofs: int
    frequencies: Array
    frequency_errors: Array
    effective_masses: Array
    rigid_masses: Array
    static_errors: dict[int, Array]
    _arrays: ClassVar = {
        "frequencies": (("mode",), "rad/s"),
        "frequency_errors": (("mode",), ""),
        "effective_masses": (("mode", "component"), ""),
        "rigid_masses": (("component",), ""),
    }

    def _headline(self) -> str:
        hertz = list_text((f"{w / (2 * np.pi):.4g}" for w in self.frequencies), 5)
        return f"{self.kind}, {len(self.frequencies)} modes of {self.dofs} degrees of freedom, {hertz} Hz"

    @property
    def retained_mass(self) -> Array:
        """Shares (6,) [rotation; translation] of inertia and mass that the modes retain."""
        total = self.effective_masses.sum(0)
        return np.divide(total, self.rigid_masses, out=np.zeros(6), where=self.rigid_masses > 0)

    def __str__(self) -> str:
        lines = [f"{self.kind}, {self.frame}: {len(self.frequencies)} modes of {self.dofs} degrees of freedom"]
        moving = bool(self.retained_mass.max(initial=0.0) > 1e-9)  # modes in mean axes carry no momentum
        head = "   effective mass in % along x, y, z and inertia about x, y, z" if moving else ""
        lines.append(f"mode   frequency      error{head}")
        share = 100 * self.effective_masses / np.where(self.rigid_masses > 0, self.rigid_masses, 1.0)
        for k, (w, error) in enumerate(zip(self.frequencies, self.frequency_errors, strict=True)):
            parts = _columns(share[k]) if moving else ""
            lines.append(f"{k:4d} {w / (2 * np.pi):8.5g} Hz {_percent(error):>10}{parts}")
        if moving:
            lines.append(f"{'together':>27}{_columns(100 * self.retained_mass)}")
        if self.static_errors:
            lines.append("compliance missed, unit loads:    Fx       Fy       Fz       Mx       My       Mz")
        for node, errors in self.static_errors.items():
            values = " ".join(f"{_percent(x):>8}" for x in (*errors[3:], *errors[:3]))
            lines.append(f"{f'at node {node}':>28} {values}")
        return "\n".join(lines)


def report_of(structure: Structure, chosen: ModeSet, built: BuiltModes) -> ModeReport:
    """Return the report on the modes of a structure."""
    base, modes = built.structure, built.modes * built.structure.active[:, None]
    M, K = modes.T @ (base.mass @ modes), modes.T @ (base.stiffness @ modes)
    frequencies, vectors = modal_frequencies((M + M.T) / 2, (K + K.T) / 2)
    carried = (modes @ vectors).T @ (base.mass @ base.rigid)
    rigid = np.diag(structure.rigid_mass()).copy()
    name = "given frame" if type(chosen).__name__ == "GivenModes" else "mean axes"
    frame = name if built.reference is None else f"attached to node {built.reference}"
    return ModeReport(
        type(chosen).__name__,
        frame,
        int(structure.active.sum()),
        frequencies,
        _frequency_errors(structure, built, frequencies),
        carried**2,
        rigid,
        _static_errors(structure, built, K),
    )


def _frequency_errors(structure: Structure, built: BuiltModes, frequencies: Array) -> Array:
    """Return the relative excess of frequencies over the structure's, in the same frame."""
    if built.exact:
        return np.zeros(len(frequencies))
    count = min(len(frequencies), int(structure.active.sum()) - 6)
    if built.reference is None:
        squares, _ = free_modes(structure, count)
    else:
        squares, _ = SupportedStructure(structure, structure.fixed_at([built.reference])).modes(count)
    errors = np.full(len(frequencies), np.nan)
    errors[:count] = frequencies[:count] / np.sqrt(squares) - 1
    # below the accuracy of eigenvalues there is nothing to report
    return np.where(np.abs(errors) < 1e-9, 0.0, errors)


def _static_errors(structure: Structure, built: BuiltModes, K: Array) -> dict[int, Array]:
    """Return the missing share of compliance for unit loads at interfaces and at the node farthest away."""
    from scipy.linalg import lstsq

    reference = built.reference
    start = structure.nodes.mean(0) if reference is None else structure.nodes[reference]
    nodes = [node for node in built.interfaces if node != reference]
    if not nodes:
        movable = structure.active.reshape(-1, 6)[built.labels, :3].all(1)
        distances = np.where(movable, np.linalg.norm(structure.nodes[built.labels] - start, axis=1), -1.0)
        nodes = [int(built.labels[distances.argmax()])]
    fixed = structure.support() if reference is None else structure.fixed_at([reference])
    held = SupportedStructure(structure, fixed)
    found: dict[int, Array] = {}
    for node in nodes:
        loads = np.zeros((structure.size, 6))
        loads[6 * node + np.array([3, 4, 5, 0, 1, 2]), np.arange(6)] = 1.0
        balanced = inertia_relief(structure, loads) if reference is None else loads
        u = held.solve(balanced)
        if reference is None:
            u = without_rigid_motion(structure, u)
        compliance = np.einsum("ij,ij->j", balanced, u)
        place = int(np.flatnonzero(built.labels == node)[0])
        work = built.modes[6 * place + np.array([3, 4, 5, 0, 1, 2])]  # (6, nm): work of the loads in the modes
        kept = np.einsum("ij,ji->i", work, lstsq(K, work.T)[0])
        possible = structure.active[6 * node + np.array([3, 4, 5, 0, 1, 2])] & (compliance > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.where(possible, 1 - kept / compliance, np.nan)
        found[node] = np.where(np.abs(errors) < 1e-9, 0.0, errors)
    return found


def _columns(shares: Array) -> str:
    return "   " + " ".join(f"{x:6.2f}" for x in (*shares[3:], *shares[:3]))


def _percent(fraction: float) -> str:
    if np.isnan(fraction):
        return "-"
    return f"{100 * fraction:.3g}%" if abs(fraction) < 9.99 else f"{100 * fraction:.0f}%"
