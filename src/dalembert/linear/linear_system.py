"""Linear system: matrices by name, eigenvalues, conversion to SciPy and python-control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer
from ..arrays import Array, BoolArray, ComplexArray
from ..errors import MissingPackageError, listed
from ..model import State
from .frequency_response import FrequencyResponse, frequency_response
from .inputs import InputEffect
from .outputs import OutputRows
from .tangent import Tangent

if TYPE_CHECKING:
    import control
    from scipy.signal import StateSpace

__all__ = ["LinearSystem"]


@dataclass(frozen=True, eq=False, repr=False)
class LinearSystem(ArrayAnswer):
    """Linear equations of a system about a state; `print` shows a summary.

        s' = A s + B u,   o = C s + D u,   s = [y; z; x]
        M z' + damping z + stiffness y = forces

    y are changes of independent coordinates, z of independent velocities, x of element states. In general y' = z; if a
    ball joint turns, or rows constrain velocities only, the first rows of A give y'.

    Attributes
    ----------
    space : Tangent
        Tangent space of the permitted changes of the state.
    A : (n, n), B : (n, inputs)
    notes : tuple of str
        Diagnostics: no equilibrium, changed velocities.
    """

    space: Tangent
    A: Array
    B: Array
    changes: tuple[InputEffect, ...]
    read: OutputRows
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {
        "A": (("state", "state_of"), ""),
        "B": (("state", "input"), ""),
        "C": (("output", "state"), ""),
        "D": (("output", "input"), ""),
        "eigenvalues": (("eigenvalue",), "1/s"),
    }

    # ---- names

    @property
    def state(self) -> State:
        """Operating point."""
        return self.space.state

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of y."""
        return self.space.coordinate_names

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of z."""
        return self.space.speed_names

    @property
    def states(self) -> tuple[str, ...]:
        """Names of y, z and x."""
        return self.space.state_names

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of u."""
        return tuple(change.name for change in self.changes)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of o."""
        return self.read.names

    # ---- matrices

    @property
    def C(self) -> Array:
        """Outputs by states, (outputs, n)."""
        return self.read.C

    @property
    def D(self) -> Array:
        """Outputs by inputs, (outputs, inputs)."""
        return self.read.D

    @property
    def exact(self) -> BoolArray:
        """Mask of outputs with exact rows, (outputs,); others by central differences."""
        return self.read.exact

    @cached_property
    def M(self) -> Array:
        """Mass matrix in independent velocities, (nz, nz)."""
        return self.space.mass_matrix()

    def _by(self, first: int, last: int) -> Array:
        n, m = self.space.ny, self.space.ny + self.space.nz
        return np.asarray(-self.M @ self.A[n:m, first:last])

    @cached_property
    def damping(self) -> Array:
        """Damping matrix (nz, nz), including antisymmetric gyroscopic terms."""
        return self._by(self.space.ny, self.space.ny + self.space.nz)

    @cached_property
    def stiffness(self) -> Array:
        """Stiffness matrix (nz, ny): elastic, geometric, gravitational and centrifugal terms."""
        return self._by(0, self.space.ny)

    @cached_property
    def input_forces(self) -> Array:
        """Forces per unit of the inputs, (nz, inputs)."""
        n, m = self.space.ny, self.space.ny + self.space.nz
        return np.asarray(self.M @ self.B[n:m])

    @property
    def dissipative(self) -> Array:
        """Symmetric part of the damping."""
        return (self.damping + self.damping.T) / 2

    @property
    def gyroscopic(self) -> Array:
        """Antisymmetric part of the damping."""
        return (self.damping - self.damping.T) / 2

    @property
    def circulatory(self) -> Array:
        """Antisymmetric part of the stiffness; requires as many velocities as coordinates."""
        return (self.stiffness - self.stiffness.T) / 2

    # ---- eigenvalues

    @cached_property
    def _eigen(self) -> tuple[ComplexArray, ComplexArray]:
        values, vectors = np.linalg.eig(self.A) if len(self.A) else (np.zeros(0), np.zeros((0, 0)))
        order = np.lexsort((values.imag, np.abs(values).round(12)))
        return values[order].astype(complex), vectors[:, order].astype(complex)

    @property
    def eigenvalues(self) -> ComplexArray:
        """Eigenvalues of A, 1/s, smallest first."""
        return self._eigen[0]

    @property
    def eigenvectors(self) -> ComplexArray:
        """Eigenvectors of A as columns, in the order of the eigenvalues."""
        return self._eigen[1]

    @property
    def stable(self) -> bool:
        """Whether no eigenvalue has a positive real part, beyond rounding."""
        values = self.eigenvalues
        size = float(np.abs(self.A).max(initial=0.0))
        # a double zero splits by the square root of round-off
        return bool((values.real <= 1e-7 * max(size, 1.0) ** 0.5).all())

    # ---- conversion

    def to_scipy(self) -> StateSpace:
        """Return a ``scipy.signal.StateSpace``."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> control.StateSpace:
        """Return python-control's ``StateSpace``, with all names."""
        try:
            import control
        except ImportError:
            raise MissingPackageError("StateSpace of python-control", "control", "pip install control") from None
        names: dict[str, Any] = {}
        for key, given in (("states", self.states), ("inputs", self.inputs), ("outputs", self.outputs)):
            names[key] = [
                name.replace(".", "_") for name in given
            ]  # python-control uses dots for signals of subsystems
        return control.ss(self.A, self.B, self.C, self.D, **names)

    def frequency_response(
        self,
        inputs: str | Sequence[str] | None = None,
        outputs: str | Sequence[str] | None = None,
        frequencies: ArrayLike | None = None,
    ) -> FrequencyResponse:
        """Return the frequency response C (i omega - A)^-1 B + D between inputs and outputs.

        Parameters
        ----------
        inputs, outputs : names
            Default all of the linear system. The name of a drive whose position, velocity and acceleration are inputs
            stands for all three, each the rate of the one before.
        frequencies : (n,) Hz
            Default around the poles.
        """
        return frequency_response(self, inputs, outputs, frequencies)

    def neighbour(self, s: ArrayLike) -> State:
        """Return the state with independent states changed by s (n,), consistent with loops and drives."""
        n, m = self.space.ny, self.space.ny + self.space.nz
        given = np.asarray(s, dtype=float)
        return self.space.neighbour(given[:n], given[n:m], given[m:])

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {
            "state": (list(self.states), ""),
            "state_of": (list(self.states), ""),
            "input": (list(self.inputs), ""),
            "output": (list(self.outputs), ""),
        }

    def _headline(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"{sizes}, {'stable' if self.stable else 'not stable'}"


def _lines(lin: LinearSystem) -> list[str]:
    def names(given: tuple[str, ...]) -> str:
        return listed(given, 8, str) or "none"

    lines = [
        f"{lin.space.model.system.name!r} linearized at t = {lin.state.t:.6g} s",
        f"  coordinates  {names(lin.coordinates)}",
        f"  speeds       {names(lin.speeds)}",
    ]
    if lin.space.model.nx:
        lines.append(f"  states       {names(lin.space.model.state_names)}")
    lines += [f"  inputs       {names(lin.inputs)}", f"  outputs      {names(lin.outputs)}"]
    lines.append("  eigenvalue (1/s)            frequency (Hz)  damping ratio")
    shown = [value for value in lin.eigenvalues if value.imag >= 0.0]
    rounding = 1e-7 * float(
        np.abs(lin.eigenvalues).max(initial=0.0)
    )  # a double zero splits by the square root of round-off
    for found in shown[:24]:
        value = found if abs(found) > rounding else 0j
        size = abs(value)
        ratio = f"{-value.real / size:13.5f}" if size > 0.0 else " " * 13
        pair = f"{value.real:+.5g}" + (f" +- {value.imag:.5g} i" if value.imag else "")
        hertz = f"{value.imag / (2 * np.pi):14.6g}" if value.imag else " " * 13 + "-"
        lines.append(f"  {pair:<26}  {hertz}  {ratio}")
    if len(shown) > 24:
        lines.append(f"  ... and {len(shown) - 24} more")
    return [*lines, *(f"  note: {note}" for note in lin.notes)]
