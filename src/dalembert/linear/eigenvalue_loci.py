"""Root loci and Campbell diagrams: eigenvalues over a parameter or rotor speed, modes tracked by shape.

From one value of the parameter to the next, modes are paired by

    p_ij = |w_i v'_j| |w'_j v_i|                                                                              (1)

with right eigenvectors v and left ones w, w_i v_j = 1 if i = j, else 0. (1) is independent of vector scales and units,
1 for the same mode and 0 for any other. The distance of eigenvalues from their extrapolation is the second criterion.
Curves that cross keep their identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, list_text, range_text
from ..arrays import Array, ComplexArray, IndexArray
from ..checks import checked, finite_array
from ..errors import DalembertError, ModelError, UserFunctionError
from ..model import Conditions, DynamicsDerivatives, Model, State, as_model
from ..model.drive_targets import driven_dof
from ..numerics.rank import ROUNDOFF_RANK_TOL
from ..system import System
from .operating_point import as_plain_state, conditions_of, inputs_of, operating_point, same_coordinates
from .rotor_axes import in_common_axes
from .state_constraints import StateConstraints
from .tangent import Tangent, tangent_space
from .vibration_modes import damping_ratios, frame_motions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Campbell", "RootLocus", "campbell", "root_locus", "state_matrices"]


_COLUMNS, _LINES = 5, 9  # size of tables


def _some(count: int) -> list[int]:
    """Return row indices for a table, including the first and the last."""
    return sorted(set(np.linspace(0, count - 1, min(count, _LINES)).round().astype(int).tolist()))


WHIRL_SHARE = 0.5  # share of circular motion from which on a mode whirls
FLAT_ORBIT_SHARE = 0.1  # share up to which an orbit is flat and has no sense of whirl


def _in_order(values: Array, along: Array) -> tuple[Array, Array]:
    order = np.argsort(values)
    return values[order], along[order]


def _sense(whirl: float) -> str:
    return "fw" if whirl > WHIRL_SHARE else "bw" if whirl < -WHIRL_SHARE else "-"


@dataclass(frozen=True, eq=False, repr=False)
class RootLocus(ArrayAnswer):
    """Eigenvalues over values of a parameter, with tracked modes.

    Attributes
    ----------
    parameter : str
    values : (m,)
    eigenvalues : (m, n) complex, 1/s
        Column k is one mode for all values; both modes of a conjugate pair have a column.
    vectors : (m, states, n) complex
        Eigenvectors in the independent states.
    spaces : sequence of Tangent, (m,)
    """

    parameter: str
    values: Array
    eigenvalues: ComplexArray
    vectors: ComplexArray
    spaces: tuple[Tangent, ...]
    _arrays: ClassVar = {
        "eigenvalues": (("value", "mode"), "1/s"),
        "frequencies": (("value", "mode"), "Hz"),
        "damping_ratios": (("value", "mode"), ""),
    }

    @property
    def frequencies(self) -> Array:
        """|Im| / 2 pi, (m, n) Hz."""
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def damping_ratios(self) -> Array:
        """-Re / |.|, (m, n)."""
        return damping_ratios(self.eigenvalues)

    @property
    def growth(self) -> Array:
        """The largest real part at each value, (m,) 1/s."""
        return np.asarray(self.eigenvalues.real.max(axis=1, initial=-np.inf))

    def crossings(self) -> list[tuple[float, complex]]:
        """Return the stability changes of modes: the parameter, and the eigenvalue there (Im >= 0)."""
        found = []
        for k in range(self.eigenvalues.shape[1]):
            real, imag = self.eigenvalues[:, k].real, self.eigenvalues[:, k].imag
            size = 1e-7 * (1.0 + np.abs(self.eigenvalues[:, k]).max())
            clear = np.flatnonzero(np.abs(real) >= size)
            for i, j in pairwise(clear.tolist()):
                if real[i] * real[j] > 0:
                    continue
                share = real[i] / (real[i] - real[j])
                at, w = (float(each[i] + share * (each[j] - each[i])) for each in (self.values, imag))
                if w >= 0:
                    found.append((at, complex(0.0, w)))
        return sorted(found, key=lambda pair: pair[0])

    def _subject(self) -> str:
        return str(self.spaces[0].model.system.name)

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"value": (self.values, "")}

    def _headline(self) -> str:
        hertz = self.frequencies[:, self.vibrating]
        span = f", frequencies {range_text(hertz, 'Hz')}" if hertz.size else ""
        crossings = [f"{at:.4g}" for at, _ in self.crossings()]
        changes = f", stability changes at {list_text(crossings)}" if crossings else ""
        return f"{self.parameter} {range_text(self.values, form='.6g')}, {len(self.values)} values{span}{changes}"

    @property
    def _title(self) -> str:
        low, high = float(self.values.min()), float(self.values.max())
        name = self.spaces[0].model.system.name
        return f"of {name!r} over {self.parameter!r}: {len(self.values)} values from {low:.6g} to {high:.6g}"

    @property
    def vibrating(self) -> IndexArray:
        """Columns of modes with positive frequency: one of each conjugate pair."""
        return np.flatnonzero(
            np.median(self.eigenvalues.imag, axis=0) > 1e-9 * np.abs(self.eigenvalues).max(initial=1.0)
        )

    def __str__(self) -> str:
        shown = self.vibrating[:_COLUMNS]
        lines = [f"eigenvalues {self._title}"]
        lines.append(f"{self.parameter:>14}  {'growth (1/s)':>12}" + "".join(f"  {'f (Hz), ratio':>18}" for _ in shown))
        for k in _some(len(self.values)):
            cells = [f"  {self.frequencies[k, j]:9.4g}, {self.damping_ratios[k, j]:+7.4f}" for j in shown]
            lines.append(f"{self.values[k]:14.6g}  {self.growth[k]:+12.4g}" + "".join(cells))
        left = len(self.vibrating) - len(shown)
        lines += [f"  ... and {left} more oscillating modes"] if left > 0 else []
        lines += [
            f"  a mode changes stability at {at:.6g}, "
            + (f"{value.imag / (2 * np.pi):.4g} Hz" if value.imag else "without oscillation")
            for at, value in self.crossings()
        ]
        return "\n".join(lines)

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the eigenvalues in the complex plane; return the axes."""
        from ..view.plots.linear import plot_locus

        return plot_locus(self, ax=ax, path=path)

    def plot_over(self, *, path: Any = None) -> tuple[Axes, Axes]:
        """Draw real parts and frequencies over the parameter; return the axes."""
        from ..view.plots.linear import plot_over

        return plot_over(self, path=path)


@dataclass(frozen=True, eq=False, repr=False)
class Campbell(RootLocus):
    """Campbell diagram: frequencies over the rotor speed; `values` are rotor speeds in rad/s.

    Attributes
    ----------
    whirl : (m, n)
        1 for forward whirl (in the sense of the rotor), -1 for backward whirl, between for flat orbits and for motion
        along or about the axis.
    axes : {"fixed", "rotating", "mixed"}
        Axes of the frequencies: fixed, or rotating with the rotor; mixed if the equations could not be converted. If
        they are not fixed, `notes` gives the reason.
    notes : tuple of str
    """

    whirl: Array = None  # type: ignore[assignment]
    axes: str = "fixed"
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {**RootLocus._arrays, "whirl": (("value", "mode"), "")}

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"value": (self.values, "rad/s")}

    def critical_speeds(self, order: float = 1.0, *, whirl: str | None = None) -> Array:
        """Return the sorted rotor speeds (rad/s) at which a frequency is `order` times the rotor speed.

        Parameters
        ----------
        order : float
            1 for unbalance.
        whirl : {"forward", "backward"}
            Only modes with this whirl; default all modes, including torsion. Unbalance excites forward whirl, and on
            anisotropic supports also backward whirl.

        Raises
        ------
        ModelError
            If `axes` is ``"mixed"``: excitation lines are undefined.
        """
        from scipy.interpolate import CubicSpline

        signs = {None: None, "forward": 1.0, "backward": -1.0}
        if whirl not in signs:
            raise ModelError("campbell", "whirl", whirl, "give 'forward', 'backward' or None")
        if self.axes == "mixed":
            raise ModelError("campbell", "critical speeds", "of mixed axes", self.notes[0])
        sign = signs[whirl]
        found: list[float] = []
        for k in self.vibrating:
            speeds, gap = _in_order(self.values, self.eigenvalues[:, k].imag - order * np.abs(self.values))
            if len(speeds) > 3:
                roots = CubicSpline(speeds, gap).roots(extrapolate=False)
            else:
                i = np.flatnonzero(gap[:-1] * gap[1:] < 0)
                roots = speeds[i] + gap[i] / (gap[i] - gap[i + 1]) * (speeds[i + 1] - speeds[i])
            sense = np.interp(roots, *_in_order(self.values, self.whirl[:, k]))
            found += [
                float(r)
                for r, w in zip(roots, sense, strict=True)
                if r and (sign is None or sign * w > FLAT_ORBIT_SHARE)
            ]
        return np.array(sorted(found))

    def _headline(self) -> str:
        hertz = self.frequencies[:, self.vibrating]
        span = f"{range_text(self.values)} rad/s, frequencies {range_text(hertz, 'Hz')}"
        if self.axes == "mixed":
            return span
        critical = list_text(f"{speed:.4g}" for speed in self.critical_speeds())
        return f"{span}, critical speeds {critical + ' rad/s' if critical else 'none'}"

    def __str__(self) -> str:
        shown = self.vibrating[:_COLUMNS]
        lines = [
            f"frequencies {self._title} rad/s",
            f"{'speed (rad/s)':>14}  {'(1/min)':>9}" + "  f (Hz), whirl" * len(shown),
        ]
        for k in _some(len(self.values)):
            cells = [f"  {self.frequencies[k, j]:9.4g} {_sense(self.whirl[k, j]):>3}" for j in shown]
            lines.append(f"{self.values[k]:14.6g}  {self.values[k] * 30 / np.pi:9.5g}" + "".join(cells))
        left = len(self.vibrating) - len(shown)
        lines += [f"  ... and {left} more modes"] if left > 0 else []
        if self.axes != "mixed":
            critical = ", ".join(f"{speed:.6g}" for speed in self.critical_speeds())
            what = "critical speeds" if self.axes == "fixed" else "frequency and speed agree at"
            lines.append(f"  {what} (rad/s): {critical or 'none in this range'}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def plot(self, *, orders: Sequence[float] = (1.0,), ax: Any = None, path: Any = None) -> Axes:
        """Draw frequencies over the rotor speed, with excitation lines at `orders` times it; return the axes."""
        from ..view.plots.linear import plot_campbell

        return plot_campbell(self, orders, ax=ax, path=path)


@checked("system", "parameter", "values", "conditions", "independent_coordinates")
def root_locus(
    system: System | Model | Callable[[float], Any],
    parameter: str,
    values: ArrayLike,
    *,
    state: Any = None,
    conditions: Conditions | None = None,
    independent_coordinates: Sequence[str] | None = None,
    independent_velocities: Sequence[str] | None = None,
) -> RootLocus:
    """Compute eigenvalues over a parameter, with modes tracked by their shapes.

    Parameters
    ----------
    system : System, Model, or function of the value
        A function returns the system for a value, so that anything may vary.
    parameter : str
        A parameter of the system (``"k.stiffness"``), or a start value (``"spin.speed"``, ``"fork"``), also of a joint
        with driven velocity. For a function, the label of the parameter.
    values : (m,)
        In order.
    state : State, dict, Result, equilibrium, or function of the value
        Operating point; a function if it depends on the value, as an equilibrium does.
    conditions, independent_coordinates, independent_velocities
        As in `linearize`.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("wall", gravity=(0, 0, 0))
    >>> block = s.body("block", da.box(1, 1, 1, mass=2.0))
    >>> _ = s.connect("X", da.Prismatic("x"), s.ground, block)
    >>> _ = s.connect("k", da.JointSpring(stiffness=8.0, damping=1.0), "X")
    >>> locus = da.root_locus(s, "k.damping", [0.0, 4.0, 7.9])
    >>> abs(locus.eigenvalues).round(9).tolist()
    [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
    """
    numbers, spaces, matrices = _along(
        "root_locus", system, [parameter], values, state, conditions, independent_coordinates, independent_velocities
    )
    eigenvalues, vectors = _match_eigenvalues(matrices)
    return RootLocus(parameter, numbers, eigenvalues, vectors, tuple(spaces))


@checked("system", "spin", "values", "conditions", "independent_coordinates")
def campbell(
    system: System | Model | Callable[[float], Any],
    spin: str | Sequence[str],
    values: ArrayLike,
    *,
    state: Any = None,
    axis: ArrayLike | None = None,
    conditions: Conditions | None = None,
    independent_coordinates: Sequence[str] | None = None,
) -> Campbell:
    """Compute the Campbell diagram of a rotor, with whirl directions and critical speeds.

    Parameters
    ----------
    system : System, Model, or function of the speed
    spin : str or names
        The joint about which the rotor turns, or its velocity: ``"bearing"``, ``"bearing.speed"``; driven or free.
        Several joints turn at the same rotor speed.
    values : (m,) rad/s
    state, conditions, independent_coordinates
        As in `root_locus`.
    axis : (3,)
        Axis of the orbits in world axes; default the spin axis.

    Notes
    -----
    Frequencies refer to fixed axes. Coordinates that rotate with the rotor, such as the modes of a flexible shaft, are
    converted. This requires a rotor symmetric about its axis; supports may be anisotropic. For blades and other
    asymmetric rotors on isotropic supports, frequencies refer to rotating axes. `axes` gives the choice, and `notes`
    the reason.
    """
    if not isinstance(spin, str) and not len(spin):
        raise ModelError("campbell", "spin", spin, "name the joint about which the rotor turns")
    names = [f"{each.removesuffix('.speed')}.speed" for each in ([spin] if isinstance(spin, str) else spin)]
    name = names[0]
    numbers, spaces, matrices = _along(
        "campbell", system, names, values, state, conditions, independent_coordinates, None
    )
    turned = _axis(spaces[-1], name) if axis is None else finite_array(axis, (3,), item="campbell", field="axis")
    length = float(np.linalg.norm(turned))
    if not length:
        raise ModelError("campbell", "axis", axis, "give a nonzero vector")
    turned = turned / length
    matrices, axes, notes = in_common_axes(spaces, matrices, numbers, turned)
    eigenvalues, vectors = _match_eigenvalues(matrices)
    whirl = np.array([_whirl(space, S, turned) for space, S in zip(spaces, vectors, strict=True)])
    whirl *= np.where(numbers < 0, -1.0, 1.0)[:, None] * np.sign(eigenvalues.imag)
    return Campbell(name, numbers, eigenvalues, vectors, tuple(spaces), whirl, axes, notes)


# ---- states and matrices along the values


def _called(item: str, field: str, function: Callable[[float], Any], value: float) -> Any:
    try:
        return function(value)
    except DalembertError:
        raise
    except Exception as error:
        raise UserFunctionError(f"{item}: the function given as {field} failed at {value:.6g}: {error!r}") from error


def _along(
    item: str, system: Any, parameters: list[str], values: ArrayLike, state: Any, conditions: Conditions | None,
    independent: Sequence[str] | None, speeds: Sequence[str] | None,
) -> tuple[Array, list[Tangent], Array]:  # fmt: skip
    """Return the values, with tangent spaces and state matrices A (m, n, n)."""
    numbers = np.atleast_1d(finite_array(values, np.shape(values), item=item, field="values"))
    if numbers.ndim != 1 or not len(numbers):
        raise ModelError(item, "values", values, "give (m,) numbers")
    made = None if callable(system) and not isinstance(system, (System, Model)) else as_model(system)
    spaces: list[Tangent] = []
    chosen: dict[str, Any] = {"independent_coordinates": independent, "independent_velocities": speeds}
    base: Any = None
    for value in numbers.tolist():
        model = as_model(_called(item, "system", system, value)) if made is None else made
        given = _called(item, "state", state, value) if callable(state) and not isinstance(state, State) else state
        model, where, under = _at_value(item, model, parameters, value, given, conditions, made is None, base)
        base = where if base is None else base
        how: dict[str, Any] = {"conditions": under, "inputs": inputs_of(model, given, item)}
        spaces.append(tangent_space(model, where, **chosen, **how, item=item))
        if independent is None:  # the same coordinates for all values
            chosen = same_coordinates(spaces[0])
    return numbers, spaces, state_matrices(spaces)


def state_matrices(spaces: list[Tangent]) -> Array:
    """Return the state matrix of each tangent space; spaces of one model and conditions are evaluated in one batch."""
    first = spaces[0]
    alike = all(space.model is first.model and space.conditions is first.conditions for space in spaces)
    if not alike or any(space.inputs is not None for space in spaces):
        return np.array([space.reduce(space.derivatives()) for space in spaces])
    q, v, x = (np.array([getattr(space.state, part) for space in spaces]) for part in ("q", "v", "x"))
    t = np.array([float(space.state.t) for space in spaces])
    d = first.model.d_dynamics(t, q, v, x, conditions=first.conditions, multipliers=False)
    one = [DynamicsDerivatives(*(type(part)(*(block[k] for block in part)) for part in d)) for k in range(len(spaces))]
    return np.array([space.reduce(own) for space, own in zip(spaces, one, strict=True)])


def _at_value(
    item: str, model: Model, parameters: list[str], value: float, state: Any, conditions: Conditions | None, made: bool,
    base: State | None,
) -> tuple[Model, State, Conditions | None]:  # fmt: skip
    """Return the model with its parameters, the state and the conditions at one value of the parameter."""
    if made:
        at = operating_point(model, state, None, conditions, item=item)
        return at.model, at.state, at.conditions
    conditions = conditions_of(model, state, conditions, item)
    state = as_plain_state(state)
    if conditions is not None and conditions.model.family is model.family:
        model = conditions.model
    if parameters[0] in model.parameter_names:
        now = model.conditions() if conditions is None else conditions
        at = operating_point(model, state, None, now.with_parameter(parameters[0], value, item=item), item=item)
        return at.model, at.state, at.conditions
    owners = {parameter.removesuffix(".speed") for parameter in parameters}
    paced = [d for d in model.joint_drives if d.name in owners and d.level == 1]
    free = [parameter for parameter in parameters if parameter.removesuffix(".speed") not in {d.name for d in paced}]
    if free and isinstance(state, State):
        remedy = "give the state as start values by name, so that this start value can be set"
        raise ModelError(item, "state", state, remedy)
    if free or base is None or state is not None:
        named = {**(state or {}), **dict.fromkeys(free, value)} if free else state
        at = operating_point(model, named, None, conditions, item=item)
        model, base, conditions = at.model, at.state, at.conditions
    for drive in paced:
        base = _paced(model, base, conditions, driven_dof(model, drive)[0], value)
    return model, base, conditions


def _paced(model: Model, state: State, conditions: Conditions | None, dof: int, value: float) -> State:
    """Return a state with another velocity at a driven degree of freedom; velocities coupled by loops follow."""
    v = state.v.copy()
    v[dof] = value
    rows = StateConstraints.of(model, conditions, state.t)
    return replace(state, v=rows.project_velocities(state.q, v, ~rows.paced))


# ---- mode tracking


def _match_eigenvalues(matrices: Array) -> tuple[ComplexArray, ComplexArray]:
    """Return eigenvalues (m, n) and eigenvectors (m, n, n) of matrices, columns paired by (1)."""
    from scipy.optimize import linear_sum_assignment

    m, n = len(matrices), matrices.shape[1]
    found = np.linalg.eig(matrices) if n else (np.zeros((m, 0)), np.zeros((m, 0, 0)))
    values: ComplexArray = found[0].astype(np.complex128)
    vectors: ComplexArray = found[1].astype(np.complex128)
    first = np.lexsort((values[0].real, -np.sign(values[0].imag), np.abs(values[0].imag).round(9)))
    values[0], vectors[0] = values[0][first], vectors[0][:, first]
    lefts = [_inverse(V) for V in vectors]
    lefts[0] = _inverse(vectors[0])
    for k in range(1, m):
        p = np.abs(lefts[k - 1] @ vectors[k]) * np.abs(lefts[k] @ vectors[k - 1]).T
        expected = values[k - 1] if k < 2 else 2 * values[k - 1] - values[k - 2]
        away = np.abs(expected[:, None] - values[k][None])
        size = np.abs(values[k] - values[k - 1][:, None]).min(1).max(initial=0.0) + 1e-9 * (1 + np.abs(values[k]).max())
        cost = (1.0 - np.minimum(p, 1.0)) + 0.5 * np.minimum(away / size, 1.0)
        order = linear_sum_assignment(cost)[1]
        values[k], vectors[k], lefts[k] = values[k][order], vectors[k][:, order], lefts[k][order]
    return values, vectors


def _inverse(V: ComplexArray) -> ComplexArray:
    """Return left eigenvectors as rows; for defective matrices, the shortest ones."""
    if not len(V):
        return V
    if np.linalg.cond(V) < 1e12:
        return np.asarray(np.linalg.inv(V))
    return np.asarray(np.linalg.pinv(V, rcond=ROUNDOFF_RANK_TOL))


# ---- whirl


def _axis(space: Tangent, name: str) -> Array:
    """Return the axis (3,) of the spin, world axes."""
    model = space.model
    owner = name.removesuffix(".speed")
    joint = owner if owner in model.joint_names else owner.rpartition(".")[0]
    body = model.body_names[model.joint_names.index(joint)] if joint in model.joint_names else model.body_names[-1]
    turn = np.zeros(model.nv)
    if owner in model.speed_names:
        turn[model.speed_names.index(owner)] = 1.0
    else:
        turn[model.v_slice(joint)] = 1.0
    w = (model.jacobian(body, space.state.q) @ turn)[:3]
    return np.asarray(w / (np.linalg.norm(w) or 1.0))


def _whirl(space: Tangent, S: ComplexArray, axis: Array) -> Array:
    """Return the circular share of the orbits of modes (states, n) about the axis, from -1 to 1, (n,)."""
    model, q = space.model, space.state.q
    motions = space.Q @ S[: space.ny]
    moves = frame_motions(model, q, np.hstack([motions.real, motions.imag]))
    n = S.shape[1]
    moves = moves[:n] + 1j * moves[n:]
    parts = [moves[..., 3:], moves[..., :3] * model.length]
    pose = model.poses(q)
    for name in model.flexible_names:  # displacements of its nodes relative to its frame
        body, k = model.system.bodies[name].require_flexible(), model.body_names.index(name)
        bent = np.einsum("ij,ajm,mn->nai", pose.rotation[k], body.shapes[:, 3:], motions[model.v_slice(name)])
        parts.append(bent / np.sqrt(body.n))
    e1 = np.cross(axis, np.eye(3)[int(np.abs(axis).argmin())])
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(axis, e1)
    around, size = np.zeros(n), np.full(n, 1e-300)
    for part in parts:
        around += 2 * (np.conj(part @ e1) * (part @ e2)).imag.sum(1)
        size += (np.abs(part) ** 2).sum((1, 2))
    # x = Re(a exp(i w t)): counter-clockwise if b lags a by 90°
    return np.asarray(-around / size)
