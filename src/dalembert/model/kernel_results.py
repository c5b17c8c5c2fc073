"""Named tuples that kernels return."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from ..arrays import Array

__all__ = ["Derivatives", "Dynamics", "DynamicsDerivatives", "Energy", "ForceEnergy", "Pose"]


class Pose(NamedTuple):
    """Orientation and position of a frame M in the world.

    rotation : (..., 3, 3), R_WM, the frame's axes as columns
    position : (..., 3) m, p_WM
    """

    rotation: Array
    position: Array


class Dynamics(NamedTuple):
    """Results of the equations of motion at a state, or at a row of states.

    a : (..., nv) rad/s2 or m/s2
    tau : (..., nv) N m or N, all joint forces; at driven and locked DOF the constraint effort with elements
    lam : (..., nc) multipliers of the constraint rows, N or N m, those of the loads of least norm
    dx : (..., nx) rates of element states
    """

    a: Array
    tau: Array
    lam: Array
    dx: Array


_core._set_dynamics_type(Dynamics)


class Derivatives(NamedTuple):
    """Derivatives of one quantity, (..., size of it, number of directions) each, by

    q : directions of the tangent space, as in `Model.integrate`, (nv)
    v : velocities (nv)
    x : element states (nx)
    tau : joint forces (nv)
    inputs : inputs of elements by time laws, in the order of `Model.input_names`
    t : time; (..., size of it)
    parameters : the requested parameters
    """

    q: Array
    v: Array
    x: Array
    tau: Array
    inputs: Array
    t: Array
    parameters: Array


class DynamicsDerivatives(NamedTuple):
    """Derivatives of accelerations a, rates of element states dx and multipliers lam."""

    a: Derivatives
    dx: Derivatives
    lam: Derivatives


class ForceEnergy(NamedTuple):
    """Stored energy, J, dissipated power, W, and supplied power, W, of the elements; scalars or (n,)."""

    stored: Any
    dissipated: Any
    brought: Any


class Energy(NamedTuple):
    """Kinetic and potential energy, J; scalars or (B,)."""

    kinetic: Any
    potential: Any

    @property
    def total(self) -> Any:
        """Sum of both, J."""
        return self.kinetic + self.potential
