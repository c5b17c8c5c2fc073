"""Cable segments: frame at the middle, centre line correct to second order.

With s along the line from the middle, sections that stay normal to it turn by R = exp(theta~), and

    theta = theta_1 + theta_2,   theta_1 = a s + b s^2,   theta_2' = 1/2 theta_1 x theta_1'                       (1)
    r' = (1 + strain) R e,       r_2' = 1/2 theta_1 x (theta_1 x e) + strain theta_1 x e + theta_2 x e            (2)

The second-order rotation (Magnus 1954) is the one for which the curvature in axes of the section is a + 2 b s, linear
in the coordinates, so that the strain energy of the linear theory is that of Kirchhoff's rod. Relative to the middle,
ends rotate by half of the rotation of the segment. The largest third-order term neglected in (2) is even in s: it moves
both ends alike. The error of a segment is of the fifth power of its length, that of a line of segments of the fourth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.flexible_body import FlexibleBody
from ..bodies.geometric_stiffening import SecondOrderLine, Stiffening
from ..checks import checked, finite_array
from ..errors import ModelError
from ..provenance import record_call
from .frames import Member, frame_structure
from .sections import Material, Section

__all__ = ["beam_segment"]


SHEAR_RIGID_FACTOR = 1e12  # factor of the shear stiffness that keeps sections normal to the line
_CROSS = np.array([[np.cross(a, b) for b in np.eye(3)] for a in np.eye(3)])  # e_i x e_j = sum over k of [i, j, k] e_k


@checked("step", "section", "shapes", "bending", "torsion", "stretching")
@record_call
def beam_segment(
    step: ArrayLike,
    section: Section,
    material: Material,
    *,
    shapes: int = 2,
    bending: str = "yz",
    torsion: bool = True,
    stretching: bool = False,
    up: Any = None,
    damping: Any = None,
) -> FlexibleBody:
    """Return one segment of a slender body: from the origin to `step`, nodes 0, 1 (middle), 2; see `cable`.

    Parameters
    ----------
    step : (3,) m
    section, material, shapes, bending, torsion, stretching, up, damping
        As in `cable`.
    """
    along = finite_array(step, (3,), item="beam_segment", field="step")
    if not isinstance(bending, str) or not set(bending) <= set("yz"):
        raise ModelError("beam_segment", "bending", bending, "use 'y', 'z', 'yz' or ''")
    # sections stay normal to the line; their rotary inertia counts, since segments may be shorter than they are thick
    rigid = replace(section, shear_y=SHEAR_RIGID_FACTOR, shear_z=SHEAR_RIGID_FACTOR)
    line = np.array([0 * along, along / 2, along])
    structure = frame_structure([Member(line, rigid, material, elements=None, up=up)])
    beams = structure.beams
    assert beams is not None
    R, h = beams.axes[0], float(np.linalg.norm(along))
    theta, strain = _fields(h, shapes, bending, torsion, stretching)
    first, second = _motions(theta, strain)
    first, second = (np.concatenate([R @ x[..., :3, :], R @ x[..., 3:, :]], axis=-2) for x in (first, second))
    ends = [np.tensordot(s ** np.arange(len(first)), first, 1) for s in (-h / 2, 0.0, h / 2)]
    modes = np.concatenate([np.concatenate([end[3:], end[:3]]) for end in ends])
    coefficients = second.transpose(0, 2, 1, 3)  # (k, 6, nm, nm)
    density = float(beams.densities[0, 0])
    return FlexibleBody(
        structure.nodes,
        modes,
        mass_matrix=structure.mass,
        stiffness=structure.stiffness,
        damping=damping,
        stiffening=_stiffening(SecondOrderLine(along / 2, R[:, 0], coefficients), h, density),
        reference=1,
        structure=structure,
    )


def _fields(h: float, shapes: int, bending: str, torsion: bool, stretching: bool) -> tuple[Array, Array]:
    """Return theta_1 (3, 3, nm) and strain (3, nm) by powers of s, in local axes; bending, then twist, then strain."""
    axes = ["xyz".index(axis) for axis in bending]
    turns = [(1, axis, 1 / h) for axis in axes]  # unit: the turn of one end against the other
    if shapes == 2:  # ends parallel to each other; unit: their turn against the middle
        turns += [(2, axis, 4 / h**2) for axis in axes]
    if torsion:
        turns.append((1, 0, 1 / h))
    nm = len(turns) + stretching
    theta, strain = np.zeros((3, 3, nm)), np.zeros((3, nm))
    for mode, (power, axis, value) in enumerate(turns):
        theta[power, axis, mode] = value
    if stretching:
        strain[0, -1] = 1.0
    return theta, strain


def _motions(theta: Array, strain: Array) -> tuple[Array, Array]:
    """Return motions [turn; displacement] of first (k, 6, nm) and second order (k, nm, 6, nm), by powers of s."""
    e = np.array([1.0, 0.0, 0.0])
    across = np.einsum("kir,ijm,j->kmr", theta, _CROSS, e)  # theta x e
    moved = _integral(across + e[:, None] * strain[:, None])
    first = np.concatenate([_longer(theta, len(moved)), moved], axis=1)
    rates = np.arange(1, len(theta))[:, None, None] * theta[1:]
    turned = _integral(_symmetric(_product("ir,js,ijm->rms", theta, rates)) / 2)
    parts = (
        _symmetric(_product("ir,js,ijm->rms", theta, across)) / 2,
        _symmetric(_product("r,ms->rms", strain, across)),
        np.einsum("kris,ijm,j->krms", turned, _CROSS, e),
    )
    size = max(map(len, parts))
    shifted = _integral(np.sum([_longer(part, size) for part in parts], axis=0))
    return first, np.concatenate([_longer(turned, len(shifted)), shifted], axis=2)


def _stiffening(line: SecondOrderLine, h: float, density: float) -> Stiffening:
    """Return second-order inertia terms of the line: integrals of g, x x g and the like."""
    g = line.coefficients[:, 3:]
    powers = np.arange(len(g) + 1) + 1
    moments = density * ((h / 2) ** powers - (-h / 2) ** powers) / powers
    total = np.tensordot(moments[:-1], g, 1)  # (3, nm, nm)
    weighted = np.tensordot(moments[1:], g, 1) + h / 2 * total  # times the distance from the origin, at the beginning
    e = line.direction
    angular = np.einsum("i,jrs,ijk->krs", e, weighted, _CROSS)
    J2 = np.einsum("irs,i->rs", weighted, e) * np.eye(3)[..., None, None]
    both = np.einsum("i,jrs->ijrs", e, weighted)
    J2 = J2 - (both + both.swapaxes(0, 1)) / 2
    spin = -np.array([J2[0, 0], J2[1, 1], J2[2, 2], 2 * J2[0, 1], 2 * J2[0, 2], 2 * J2[1, 2]])
    return Stiffening(total, spin, angular, line=line)


# ---- polynomials: arrays by powers of s


def _product(subscripts: str, a: Array, b: Array) -> Array:
    """Return the product of two polynomials whose coefficients are multiplied by `subscripts`."""
    operands = [_CROSS] if subscripts.count(",") == 2 else []
    terms = [[np.einsum(subscripts, x, y, *operands) for y in b] for x in a]
    found = np.zeros((len(a) + len(b) - 1, *terms[0][0].shape))
    for i, row in enumerate(terms):
        for j, term in enumerate(row):
            found[i + j] += term
    return found


def _symmetric(a: Array) -> Array:
    """Return the sum (k, nm, 3, nm) of (r, s) and (s, r): the factor of 1/2 eta_r eta_s."""
    return a + a.swapaxes(1, 3)


def _integral(a: Array) -> Array:
    powers = np.arange(1, len(a) + 1).reshape(-1, *[1] * (a.ndim - 1))
    return np.concatenate([np.zeros((1, *a.shape[1:])), a / powers])


def _longer(a: Array, size: int) -> Array:
    return np.concatenate([a, np.zeros((size - len(a), *a.shape[1:]))])
