"""Vibration modes about a state: frequencies, damping, shapes by body name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..answer import ArrayAnswer, list_text, model_axes
from ..arrays import Array, BoolArray, ComplexArray
from ..checks import positive
from ..errors import ModelError, ModesWarning, warn_user
from ..model import Conditions, Model, State
from ..numerics.rank import null_space
from ..system import System
from .linearization import linear_at, note_not_in_equilibrium
from .matrix_free_modes import LargeSystem, lowest_damped, lowest_undamped
from .mode_suitability import unfit_modes
from .operating_point import operating_point
from .tangent import Tangent, tangent_space

if TYPE_CHECKING:
    from pathlib import Path

    from anywidget import AnyWidget
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from ..view.web.server import Viewer

__all__ = ["BodyShape", "Modes", "modes"]


MAX_DENSE_COORDINATES = 300  # independent coordinates up to which matrices are formed if most modes are requested
ZERO_TOL = 1e-7  # relative to the largest eigenvalue: a double zero splits by the square root of round-off
RIGID_TOL = 1e-11  # of the largest singular value of the state matrix: smaller ones belong to rigid motions
TREE_SOLVER_RATIO = 4  # DOF per independent state from which on the state matrix comes from solutions over the tree
SYMMETRY_TOL = 1e-9  # relative size of damping and asymmetry that is round-off


class BodyShape(NamedTuple):
    """Mode shapes of one body, world axes; complex if damped.

    Attributes
    ----------
    translation : (modes, 3) m
        Of the body frame, or of a marker.
    rotation : (modes, 3) rad
    nodes : (modes, n, 3) m, or None
        Displacements of the nodes of a flexible body, by motion of its frame and deformation.
    """

    translation: NDArray[Any]
    rotation: NDArray[Any]
    nodes: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Modes(ArrayAnswer):
    """Vibration modes about a state, lowest frequency first; `print` shows a table.

    Small changes are sums of Re(shape exp(eigenvalue t)). An oscillation is listed once for each pair of conjugate
    eigenvalues. Real eigenvalues are separate modes, with frequency 0 and damping ratio 1 (-1 if growing). Without
    damping a divergent pair is listed once, with its growing eigenvalue. A motion without stiffness is a rigid-body
    mode with eigenvalue 0.

    Attributes
    ----------
    space : Tangent
    eigenvalues : (n,) complex, 1/s
    motions : (nv, n)
        Small motions of all degrees of freedom; real without damping. Scaled to modal mass 1: phi^H M phi = 1, with the
        largest component real and positive.
    changes : (states, n)
        The same in the independent states: coordinates, velocities, element states.
    undamped : bool
        Whether shapes are real: symmetric stiffness and no velocity-dependent forces.
    complete : bool
        Whether all modes are included.
    notes : tuple of str
    """

    space: Tangent
    eigenvalues: ComplexArray
    motions: NDArray[Any]
    changes: NDArray[Any]
    undamped: bool
    complete: bool
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {
        "eigenvalues": (("mode",), "1/s"),
        "frequencies": (("mode",), "Hz"),
        "natural_frequencies": (("mode",), "Hz"),
        "damping_ratios": (("mode",), ""),
        "rigid": (("mode",), ""),
        "motions": (("speed", "mode"), ""),
        "effective_masses": (("mode", "axis"), "kg"),
    }

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def state(self) -> State:
        """Operating point."""
        return self.space.state

    @property
    def frequencies(self) -> Array:
        """Damped frequencies, (n,) Hz; those of a `FlexibleBody` are in rad/s."""
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def natural_frequencies(self) -> Array:
        """|eigenvalue| / 2 pi, (n,) Hz; equal to the undamped frequencies if damping is proportional."""
        return np.abs(self.eigenvalues) / (2 * np.pi)

    @property
    def damping_ratios(self) -> Array:
        """-Re / |.| of the eigenvalues, (n,); 0 for rigid-body modes."""
        return damping_ratios(self.eigenvalues)

    @property
    def rigid(self) -> BoolArray:
        """Mask of the rigid-body modes, (n,)."""
        return np.asarray(self.eigenvalues == 0.0)

    @cached_property
    def shapes(self) -> Mapping[str, BodyShape]:
        """Mode shapes by body name: motions of frames, and of the nodes of flexible bodies."""
        model, q = self.space.model, self.state.q
        moves = frame_motions(model, q, self.motions.real)
        if np.iscomplexobj(self.motions):
            moves = moves + 1j * frame_motions(model, q, self.motions.imag)
        return {
            name: BodyShape(moves[:, k, 3:], moves[:, k, :3], self._nodes(name, moves[:, k]))
            for k, name in enumerate(model.body_names)
        }

    def _nodes(self, name: str, frame: NDArray[Any]) -> NDArray[Any] | None:
        """Return displacements of the nodes of a body (modes, n, 3) m, given its frame (modes, 6); None if rigid."""
        model = self.space.model
        body = model.system.bodies[name].flexible
        if body is None:
            return None
        eta, modes = self.state.q[model.q_slice(name)], self.motions[model.v_slice(name)]
        R = model.poses(self.state.q).rotation[model.body_names.index(name)]
        places = (body.nodes + body.shapes[:, 3:] @ eta) @ R.T
        bent = np.einsum("ij,ajm,mk->kai", R, body.shapes[:, 3:], modes)
        return np.asarray(frame[:, None, 3:] + np.cross(frame[:, None, :3], places[None]) + bent)

    def at(self, marker: Any) -> BodyShape:
        """Return the mode shapes at a marker, ``"arm.tip"``."""
        J = self.space.model.jacobian(marker, self.state.q) @ self.motions
        return BodyShape(J[3:].T, J[:3].T)

    # ---- effective masses

    @cached_property
    def participation(self) -> NDArray[Any]:
        """Participation factors (n, 6): rotations about the centre of mass, kg^1/2 m, and x, y, z, kg^1/2."""
        return np.asarray((self.space.model.centroidal_momentum_matrix(self.state.q) @ self.motions).T)

    @property
    def effective_masses(self) -> Array:
        """Effective modal masses for base excitation along x, y, z, (n, 3) kg."""
        return np.asarray(np.abs(self.participation[:, 3:]) ** 2)

    @property
    def effective_inertias(self) -> Array:
        """Effective modal inertias for rotation about axes through the centre of mass, (n, 3) kg m2."""
        return np.asarray(np.abs(self.participation[:, :3]) ** 2)

    # ---- pictures

    def states(self, k: int, phases: Array, size: float | None = None) -> list[State]:
        """Return states along mode k at phases (rad), with closed loops; `size`: largest displacement, m or rad."""
        mode = self._number(k)
        y = self.changes[: self.space.ny, mode]
        scale = self._scale(mode) if size is None else size / self._reach(mode)
        return [self.space.neighbour((scale * y * np.exp(1j * phase)).real) for phase in phases]

    def _number(self, k: int) -> int:
        if not isinstance(k, (int, np.integer)) or not -len(self) <= k < len(self):
            raise ModelError("modes", "mode", k, f"there are {len(self)}: 0 to {len(self) - 1}")
        return int(k)

    def _reach(self, mode: int) -> float:
        """Return the largest displacement of a frame or node in one mode, rotations times the system length."""
        model = self.space.model
        found = [
            float(np.linalg.norm(np.abs(s.translation[mode])) + model.length * np.abs(s.rotation[mode]).max())
            for s in self.shapes.values()
        ]
        found += [float(_sizes(s.nodes[mode]).max()) for s in self.shapes.values() if s.nodes is not None]
        return max([*found, 1e-300])

    def _scale(self, mode: int) -> float:
        p = self.space.model.poses(self.state.q).position
        extent = max(float(np.ptp(p, axis=0).max()), self.space.model.length)
        return 0.15 * extent / self._reach(mode)

    def draw(self, k: int, size: float | None = None, **options: Any) -> Axes:
        """Draw both extremes of mode k over the state; `options` as in `System.draw`."""
        from ..view.plots.linear import draw_mode

        return draw_mode(self, self._number(k), size, **options)

    def animate(self, k: int, size: float | None = None, *, frames: int = 24, **options: Any) -> FuncAnimation | Path:
        """Animate one cycle of mode k; `options` as in `Result.animate`."""
        from ..view.plots.linear import animate_mode

        return animate_mode(self, self._number(k), size, frames, **options)

    def view(
        self,
        which: int | Sequence[int] | None = None,
        size: float | None = None,
        *,
        path: Any = None,
        view: str = "auto",
        speed: float = 1.0,
        colors: str = "",
        exaggerate: float = 1.0,
        inertia: bool = False,
        open_browser: bool | None = None,
        port: int = 0,
    ) -> Viewer | AnyWidget | Path:
        """Show animated modes in a browser or a notebook.

        Parameters
        ----------
        which : int or list of int
            Default the lowest twelve, selectable on the page.
        size : float, m or rad
            Largest displacement; default a share of the system size.
        path : str or Path
            Write a self-contained ``.html`` page instead.
        speed : float
            Cycles per second.
        colors : str
            ``"stress"`` or ``"displacement"`` of flexible bodies.
        view, exaggerate, inertia, open_browser, port
            As in `Result.view`.

        Returns
        -------
        Viewer, in a notebook a widget; or the path
        """
        from ..view.web import SceneOptions, view_modes

        wanted = SceneOptions(view=view, speed=speed, inertia=inertia, exaggerate=exaggerate, colors=colors)
        return view_modes(self, which, size, wanted, path=path, open_browser=open_browser, port=port)

    # ---- text

    def describe(self, k: int) -> str:
        """Return number, frequency and damping of a mode as text."""
        value = self.eigenvalues[self._number(k)]
        if value == 0.0:
            return f"mode {k}: rigid-body mode"
        if not value.imag:
            return f"mode {k}: {'grows' if value.real > 0 else 'decays'}, {value.real:+.4g}/s"
        damped = abs(value.real) > 1e-9 * abs(value)
        return f"mode {k}: {self.frequencies[k]:.4g} Hz" + (
            f", damping ratio {self.damping_ratios[k]:.3g}" if damped else ""
        )

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return model_axes(self.space.model)

    def _headline(self) -> str:
        texts = []
        for value, damping in zip(self.eigenvalues, self.damping_ratios, strict=True):
            if value == 0.0:
                texts.append("rigid")
            elif not value.imag:
                texts.append(f"{value.real:+.4g}/s")
            else:
                ratio = f" ({100 * damping:.3g} %)" if abs(value.real) > 1e-9 * abs(value) else ""
                texts.append(f"{abs(value.imag) / (2 * np.pi):.4g} Hz{ratio}")
        return list_text(texts, 6) if texts else "0 modes"

    def plot(self, k: int = 0, size: float | None = None, **options: Any) -> Axes:
        """Draw both extremes of mode k over the state; return the axes. See `draw`."""
        return self.draw(k, size, **options)

    def _repr_html_(self) -> str:
        """Show the table and the lowest modes in a notebook."""
        from ..view.notebook import modes_html

        return modes_html(self)


def modes(
    system: System | Model,
    state: Any = None,
    count: int | None = None,
    *,
    t: float | None = None,
    conditions: Conditions | None = None,
) -> Modes:
    """Compute the vibration modes of a system about a state.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, Result, or an equilibrium
        Default the start state.
    count : int
        Number of lowest modes; default all, or 20 if there are more than 300 coordinates. The lowest modes of large
        systems are found without forming matrices, in O(number of bodies).
    t, conditions
        As in `linearize`.

    Examples
    --------
    A heavy ball on a spring with little damping:

    >>> import dalembert as da
    >>> s = da.System("post", gravity=(0, 0, 0))
    >>> ball = s.body("ball", mass=2.0, inertia=(0.01, 0.01, 0.01))
    >>> _ = s.connect("X", da.Prismatic("x"), s.ground, ball)
    >>> _ = s.connect("k", da.JointSpring(stiffness=200.0, damping=1.0), "X")
    >>> found = da.modes(s)
    >>> found.natural_frequencies.round(6), found.damping_ratios.round(6)
    (array([1.591549]), array([0.025]))
    >>> found.shapes["ball"].translation.shape
    (1, 3)
    """
    if count is not None:
        positive("modes", count=count)
        if count != int(count):
            raise ModelError("modes", "count", count, "give a whole number")
        count = int(count)
    found = _modes(system, state, count, t, conditions)
    if found.space.model.flexible_names:
        notes = unfit_modes(found)
        for note in notes:
            warn_user(ModesWarning(note))
        found = replace(found, notes=(*found.notes, *notes))
    return found


def _modes(system: System | Model, state: Any, count: int | None, t: float | None, under: Conditions | None) -> Modes:
    at = operating_point(system, state, t, under, item="modes")
    space = tangent_space(at.model, at.state, **at.under, item="modes")
    few = count is not None and space.size > 80 and count < space.ny / 8
    if (space.ny > MAX_DENSE_COORDINATES or few) and LargeSystem.can(space):
        found = _large(space, 20 if count is None else int(count), at.notes)
        if found is not None:
            return found
    if space.model.nv > TREE_SOLVER_RATIO * max(space.size, 25) and LargeSystem.can(space):
        A = LargeSystem(space).matrix()
        return modes_of(space, A, (*at.notes, *note_not_in_equilibrium(space, A)), count)
    lin = linear_at(space, (), notes=at.notes)
    return modes_of(space, lin.A, lin.notes, count)


def modes_of(space: Tangent, A: Array, notes: tuple[str, ...] = (), count: int | None = None) -> Modes:
    """Return modes from the matrix of the independent states."""
    n = space.ny
    plain = space.ny == space.nz and not space.model.nx and not (A[:n, :n].any())
    M = space.mass_matrix() if plain else None
    if M is not None:
        K, C = -M @ A[n:, :n], -M @ A[n:, n:]
        size = float(np.abs(K).max(initial=0.0))
        root = np.sqrt(size * float(np.abs(M).max(initial=0.0)))
        if (
            np.abs(K - K.T).max(initial=0.0) <= SYMMETRY_TOL * size
            and np.abs(C).max(initial=0.0) <= SYMMETRY_TOL * root
        ):
            from scipy.linalg import eigh

            squares, Y = eigh((K + K.T) / 2, M) if n else (np.zeros(0), np.zeros((0, 0)))
            return _undamped(space, squares, Y, notes, count)
    values, vectors = np.linalg.eig(A) if len(A) else (np.zeros(0), np.zeros((0, 0)))
    values, vectors = _with_rigid(A, values.astype(complex), vectors.astype(complex))
    return _damped(space, values, vectors, notes, count)


def _with_rigid(A: Array, values: ComplexArray, vectors: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Return eigenpairs with those of eigenvalue 0 replaced by the null space of constant changes.

    Eigenvalue 0 repeats for the steady motion along each, without an eigenvector, and splits by round-off.
    """
    if not len(A):
        return values, vectors
    zero = np.abs(values) <= ZERO_TOL * np.abs(values).max(initial=0.0)
    N = null_space(A, RIGID_TOL, 0.0)
    return np.concatenate([values[~zero], np.zeros(N.shape[1])]), np.hstack([vectors[:, ~zero], N])


def _large(space: Tangent, count: int, notes: list[str]) -> Modes | None:
    """Return the lowest modes without forming matrices; None if not converged."""
    every = (*notes, *note_not_in_equilibrium(space))
    system = LargeSystem(space)
    system.mu = _shift(system)
    if system.is_undamped():
        lowest = lowest_undamped(system, count)
        return None if lowest is None else _undamped(space, *lowest, every, count)
    found = lowest_damped(system, count)
    return None if found is None else _damped(space, *found, every, count)


def _shift(system: LargeSystem) -> float:
    """Return a shift of the order of the lowest frequency, by a few inverse iterations."""
    Y = np.random.default_rng(2).normal(size=(1, system.space.ny))
    for _ in range(4):
        Y = system.inverse(Y)
        Y /= np.sqrt(float((Y @ system.mass(Y).T)[0, 0]))
    theta = float((system.inverse(Y) @ system.mass(Y).T)[0, 0])
    square = abs(1.0 / theta - system.mu**2) if theta else 1.0
    return float(np.sqrt(max(square, 1e-6)))


def _undamped(space: Tangent, squares: Array, Y: Array, notes: tuple[str, ...], count: int | None) -> Modes:
    """Return modes from omega^2 and motions orthonormal in the mass matrix."""
    n = space.ny
    top = float(np.abs(squares).max(initial=0.0))
    zero = np.abs(squares) <= 1e-11 * top * max(1.0, np.sqrt(n))
    squares = np.where(zero, 0.0, squares)
    order = np.argsort(squares)[: None if count is None else count]
    squares, Y = squares[order], Y[:, order]
    # divergence: only the growing eigenvalue of the real pair is listed
    values = np.where(squares >= 0.0, 1j * np.sqrt(np.abs(squares)), np.sqrt(np.abs(squares)) + 0j)
    lead = np.abs(Y).argmax(0) if n else np.zeros(0, dtype=int)
    Y = Y * np.where(Y[lead, np.arange(Y.shape[1])] < 0, -1.0, 1.0)
    motions = space.Q @ Y if len(space.positions) < space.model.nv else Y[np.argsort(space.positions)]
    changes: NDArray[Any] = np.vstack([Y.astype(complex), values * Y])
    return Modes(space, values, motions, changes, True, len(order) == n, notes)


def _damped(
    space: Tangent, values: ComplexArray, vectors: ComplexArray, notes: tuple[str, ...], count: int | None
) -> Modes:
    """Return modes from eigenvalues and eigenvectors of the independent states."""
    size = float(np.abs(values).max(initial=0.0))
    zero = np.abs(values) <= ZERO_TOL * max(size, 1e-300)
    values = np.where(zero, 0.0, values)
    flat = np.abs(values.imag) <= 1e-12 * size
    values = np.where(flat, values.real + 0j, values)
    kept = np.flatnonzero(values.imag >= 0.0)
    order = kept[np.lexsort((values[kept].real, np.abs(values[kept].imag)))]
    order = order[: None if count is None else count]
    values, S = values[order], vectors[:, order]
    n, nv = space.ny, space.model.nv
    motions = space.Q @ S[:n] if n else np.zeros((nv, len(order)), dtype=complex)
    mass = 2 * (_kinetic(space, motions.real) + _kinetic(space, motions.imag))
    lead = np.abs(S).argmax(0) if len(S) else np.zeros(0, dtype=int)
    of_motion = np.abs(motions).argmax(0) if nv else lead
    pivot = motions[of_motion, np.arange(len(order))] if nv else S[lead, np.arange(len(order))]
    # modes of element states only have almost no motion: these are scaled to unit changes
    still = mass <= 1e-24
    pivot = np.where(still, S[lead, np.arange(len(order))], pivot)
    factor = np.conj(pivot) / np.abs(pivot) / np.where(still, 1.0, np.sqrt(np.where(still, 1.0, mass)))
    complete = count is None or count >= len(kept)
    return Modes(space, values, motions * factor, S * factor, False, complete, notes)


def _kinetic(space: Tangent, motions: Array) -> Array:
    """Return kinetic energies (n,) of small motions (nv, n) per time."""
    model = space.model
    if not motions.shape[1]:
        return np.zeros(0)
    energy = model.energy(np.tile(space.state.q, (motions.shape[1], 1)), np.ascontiguousarray(motions.T), bare=True)
    return np.asarray(energy.kinetic)


def damping_ratios(eigenvalues: ComplexArray) -> Array:
    """Return -Re / |.| of eigenvalues; 0 for zero."""
    size = np.abs(eigenvalues)
    return np.where(size > 0.0, 0.0 - eigenvalues.real / np.where(size > 0.0, size, 1.0), 0.0)


def frame_motions(model: Model, q: Array, motions: Array) -> Array:
    """Return [rotation; translation] (n, nb, 6) of the body frames in small motions (nv, n)."""
    n = motions.shape[1]
    if not n:
        return np.zeros((0, model.nb, 6))
    found = model.velocities(np.tile(q, (n, 1)), np.ascontiguousarray(motions.T))
    return np.asarray(found - model.velocities(q, np.zeros(model.nv)))


def _sizes(vectors: NDArray[Any]) -> Array:
    """Return the amplitudes (...) of vectors (..., 3)."""
    return np.asarray(np.linalg.norm(np.abs(vectors), axis=-1))


def _most_moved(shape: BodyShape, length: float) -> Array:
    """Return the largest displacement of a body in each mode, (modes,) m; for rigid ones, rotations times a length."""
    if shape.nodes is not None:
        return np.asarray(_sizes(shape.nodes).max(axis=1, initial=0.0))
    return _sizes(shape.translation) + length * _sizes(shape.rotation)


def _lines(found: Modes) -> list[str]:
    model = found.space.model
    what = "all" if found.complete else f"the lowest {len(found)}"
    lines = [f"modes of {model.system.name!r} at t = {found.state.t:.6g} s ({what})"]
    lines.append("   no.  frequency (Hz)  damping ratio   effective mass x, y, z (% of all)   moves most")
    total = sum(float(body.mass) for body in model.system.bodies.values()) or 1.0
    names = list(found.shapes)
    reaches = np.array([_most_moved(s, model.length) for s in found.shapes.values()])  # (bodies, modes)
    for k, value in enumerate(found.eigenvalues[:40]):
        x, y, z = 100 * found.effective_masses[k] / total
        most = names[int(reaches[:, k].argmax())] if names and reaches[:, k].any() else "-"
        kind = "rigid" if value == 0.0 else f"{found.damping_ratios[k]:.5f}"
        if value and not value.imag:
            kind = "grows" if value.real > 0 else "decays"
            kind += f" {value.real:+.4g}/s"
        lines.append(f"  {k:4d}  {found.frequencies[k]:14.6g}  {kind:>14}   {x:9.2f} {y:9.2f} {z:9.2f}       {most}")
    if len(found) > 40:
        lines.append(f"  ... and {len(found) - 40} more")
    return [*lines, *(f"  note: {note}" for note in found.notes)]
