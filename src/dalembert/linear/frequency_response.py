"""Frequency response between inputs and outputs by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, list_text, range_text
from ..arrays import Array, ComplexArray
from ..checks import finite_array
from ..errors import ModelError
from .inputs import LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .linear_system import LinearSystem

__all__ = ["FrequencyResponse", "frequency_response"]


Names = str | Sequence[str] | None
MAX_STACK_NUMBERS = 4_000_000  # numbers in a stack of matrices


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse(ArrayAnswer):
    """Frequency response C (i omega - A)^-1 B + D.

    Attributes
    ----------
    frequencies : (n,) Hz
    values : (n, outputs, inputs) complex
        Infinite at a frequency that is an undamped pole.
    inputs, outputs : tuple of str
    units : tuple of str
        Of the outputs.
    """

    frequencies: Array
    values: ComplexArray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: tuple[str, ...]
    _arrays: ClassVar = {
        "values": (("frequency", "output", "input"), ""),
        "magnitude": (("frequency", "output", "input"), ""),
        "phase": (("frequency", "output", "input"), "rad"),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {
            "frequency": (self.frequencies, "Hz"),
            "output": (list(self.outputs), ""),
            "input": (list(self.inputs), ""),
        }

    def _headline(self) -> str:
        peak = ""
        if self.values.size:
            largest = np.where(np.isfinite(self.magnitude), self.magnitude, np.inf).max(axis=(1, 2))
            k = int(largest.argmax())
            peak = f", largest magnitude {largest[k]:.4g} at {self.frequencies[k]:.4g} Hz"
        names = f"{list_text(self.outputs, 2)} by {list_text(self.inputs, 2)}"
        return f"{names}, {range_text(self.frequencies, 'Hz')}{peak}"

    def plot(self, *, path: Any = None) -> tuple[Axes, Axes]:
        """Draw magnitude and phase over frequency; return the axes. See `bode` and `nyquist`."""
        return self.bode(path=path)

    @property
    def magnitude(self) -> Array:
        """Absolute values, (n, outputs, inputs)."""
        return np.abs(self.values)

    @property
    def decibels(self) -> Array:
        """20 log10 of the magnitude."""
        with np.errstate(divide="ignore"):
            return 20 * np.log10(self.magnitude)

    @property
    def phase(self) -> Array:
        """Continuous phase, (n, outputs, inputs) rad, with the first value in (-pi, pi]."""
        angles = np.angle(np.where(np.isfinite(self.values), self.values, 1.0))
        return np.unwrap(angles, axis=0)

    def bode(self, *, path: Any = None) -> tuple[Axes, Axes]:
        """Draw magnitude and phase over frequency; return the axes."""
        from ..view.plots.linear import plot_bode

        return plot_bode(self, path=path)

    def nyquist(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the response in the complex plane; return the axes."""
        from ..view.plots.linear import plot_nyquist

        return plot_nyquist(self, ax=ax, path=path)


def frequency_response(
    lin: LinearSystem, inputs: Names = None, outputs: Names = None, frequencies: ArrayLike | None = None
) -> FrequencyResponse:
    """Return the frequency response of a linear system; see `LinearSystem.frequency_response`."""
    names_in, columns = _inputs(lin, inputs)
    rows = _places(lin.outputs, outputs, "output")
    if frequencies is None:
        hertz = _around(lin)
    else:
        hertz = np.atleast_1d(finite_array(frequencies, np.shape(frequencies), item="frequency_response", field="f"))
    if hertz.ndim != 1 or (hertz < 0).any():
        raise ModelError("frequency_response", "frequencies", frequencies, "give (n,) numbers, Hz, none negative")
    s: ComplexArray = (2j * np.pi * hertz).astype(np.complex128)
    B = np.zeros((len(s), len(lin.A), len(columns)), dtype=complex)
    D = np.zeros((len(s), len(rows), len(columns)), dtype=complex)
    for k, terms in enumerate(columns):
        for place, power in terms:
            B[:, :, k] += s[:, None] ** power * lin.B[:, place]
            D[:, :, k] += s[:, None] ** power * lin.D[rows, place]
    values = lin.C[rows] @ _solved(lin.A, s, B) + D
    units = tuple(lin.read.units[k] for k in rows)
    return FrequencyResponse(hertz, values, names_in, tuple(lin.outputs[k] for k in rows), units)


def _solved(A: Array, s: ComplexArray, B: ComplexArray) -> ComplexArray:
    """Return (s - A)^-1 B for each s, in stacks of limited memory."""
    n = len(A)
    X = np.empty_like(B)
    stack = max(1, MAX_STACK_NUMBERS // max(1, n * n))
    for k in range(0, len(s), stack):
        part = slice(k, k + stack)
        matrices = s[part, None, None] * np.eye(n) - A
        try:
            X[part] = np.linalg.solve(matrices, B[part])
        except np.linalg.LinAlgError:
            for i in range(k, min(k + stack, len(s))):
                try:
                    X[i] = np.linalg.solve(s[i] * np.eye(n) - A, B[i])
                except np.linalg.LinAlgError:
                    X[i] = np.inf
    return X


def _inputs(lin: LinearSystem, requested: Names) -> tuple[tuple[str, ...], list[list[tuple[int, int]]]]:
    """Return names of inputs, and their columns with powers of s: three columns for a drive."""
    names = list(lin.inputs) if requested is None else [requested] if isinstance(requested, str) else list(requested)
    columns = []
    for name in names:
        if name in lin.inputs:
            columns.append([(lin.inputs.index(name), 0)])
            continue
        levels = sorted((c.level, k) for k, c in enumerate(lin.changes) if c.drive and c.drive == name)
        if not levels:
            known = ", ".join(map(repr, lin.inputs)) or "none: name them in da.linearize(..., inputs=...)"
            raise ModelError("frequency_response", "input", name, f"the linear system has {known}")
        first = levels[0][0]
        if [level for level, _ in levels] != list(range(first, 3)):
            wanted = ", ".join(repr(f"{name}.{level}") for level in LEVELS[first:])
            raise ModelError("frequency_response", "input", name, f"a drive needs all of {wanted} as inputs")
        columns.append([(k, level - first) for level, k in levels])
    return tuple(names), columns


def _places(known: tuple[str, ...], requested: Names, what: str) -> list[int]:
    names = list(known) if requested is None else [requested] if isinstance(requested, str) else list(requested)
    places = []
    for name in names:
        if name in known:
            places.append(known.index(name))
            continue
        parts = [k for k, one in enumerate(known) if one.startswith((f"{name}.", f"{name}["))]
        if not parts:
            raise ModelError("frequency_response", what, name, f"the linear system has {', '.join(map(repr, known))}")
        places += parts
    return places


def _around(lin: LinearSystem) -> Array:
    """Return frequencies (Hz) around those of the system, with finer spacing near its poles."""
    values = lin.eigenvalues
    size = np.abs(values)
    size = size[size > 1e-7 * size.max(initial=1e-300)] / (2 * np.pi)
    low, high = (float(size.min()), float(size.max())) if len(size) else (0.1, 10.0)
    grid = np.geomspace(low / 10, high * 10, 400)
    near = [abs(v.imag) / (2 * np.pi) * (1 + d) for v in values if v.imag > 0 for d in np.linspace(-0.1, 0.1, 41)]
    return np.unique(np.concatenate([grid, near]))
