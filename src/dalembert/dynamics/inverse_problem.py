"""Inverse dynamics: efforts of chosen actuators for a state, many states or a motion.

A motion that keeps the loops closed needs generalised forces f = M a + b, where b includes the forces of elements.
Actuators supply u along some velocities C v of tree or cut joints, the loops any combination of the rows of P:

    C^T u + P^T lam = f                                                                                            (1)

With Q the projector onto the motions that the loops allow (P Q = 0), the efforts alone follow from Q C^T u = Q f: as
many equations as the mechanism has degrees of freedom. Fewer actuators are not sufficient. With more actuators the
solution of least cost is taken. Sol 1983, (6.3.7)-(6.3.8) with erratum 22; Slaats 1991, section 4.1.

Inputs and states of elements (muscles) enter f by their laws. Then (1) is solved by Newton's method, each step with the
least-cost shares of the linear equations: static optimisation, R. D. Crowninshield and R. A. Brand, J. Biomech. 14
(1981) 793-801.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, finite_number, one_of
from ..errors import ModelError, SingularityError, listed
from ..model import Model, as_model
from ..numerics.rank import ROW_RANK_TOL
from ..result import Result
from ..system import System
from .actuators import Actuators, StateSamples
from .effort_result import InverseDynamicsResult
from .load_sharing import share_efforts
from .loop_multipliers import LoopProjection, check_closed
from .muscle_activation import ActivationLimits
from .sample_checks import samples_of
from .single_state import efforts_by_cut_joint, efforts_of_state

__all__ = ["inverse_dynamics"]


_ITEM = "inverse_dynamics"
MAX_MISSING_FORCE = 1e-8  # part of the needed force that may be missing
ROUNDOFF_FORCE = 1e-10  # the same, of the largest in the motion
CONVERGENCE_TOL = 1e-6  # change of inputs and states, relative, after which one step of Newton leaves rounding
MAX_ITERATIONS = 40  # Newton steps


@checked("q", "v", "a", "actuators", "activation_dynamics", "on_infeasible", "loads", "t", "x", "bare")
def inverse_dynamics(
    system: System | Model,
    q: ArrayLike | Result,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    actuators: str | Iterable[str] | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    exponent: float = 2.0,
    bounds: Any = None,
    activation_dynamics: bool = False,
    on_infeasible: str = "raise",
    loads: ArrayLike | None = None,
    t: ArrayLike | None = None,
    x: ArrayLike | None = None,
    bare: bool = False,
) -> InverseDynamicsResult:
    """Return the efforts of chosen actuators for a motion that keeps all loops closed.

    Efforts act in addition to the forces of elements.

    Parameters
    ----------
    system : System or Model
    q : (nq,) or (n, nq) rad or m, or Result
        A closed configuration, as `assemble` gives, or many; or a motion of `measured_motion`, `kinematics` or
        `simulate`, which includes v, a, t and x.
    v : (nv,) or (n, nv) rad/s or m/s
    a : (nv,) or (n, nv) rad/s2 or m/s2
        Consistent with the loops: see `consistent_velocities` and `consistent_accelerations`.
    actuators : names
        Joints or single velocities at which efforts act, cut joints included; inputs of elements (``"motor.effort"``)
        or elements with one input; states of elements (``"biceps.a"``), or muscles. Default: every tree joint
        that mimics no other one. Modes of flexible bodies are passive unless they are named.
    weights : (m,), or dict of name to float
        Cost of each actuator if they are redundant: the sum of weight times size to the `exponent` is least.
    exponent : float
        2 or more.
    bounds : (lowest, highest), or dict of name to such pairs
        Of each actuator. Activations of muscles stay within 0.01 and 1.
    activation_dynamics : bool
        Limit the rates of muscle activations by their time constants; see `InverseDynamicsResult.excitations`.
    on_infeasible : str
        ``"raise"`` where actuators cannot produce the motion, or ``"report"``: the missing forces, by least squares,
        are in `InverseDynamicsResult.unmet_forces`.
    loads : (nb, 6) or (n, nb, 6) N m and N
        Further loads on bodies.
    t : float or (n,) s
        Time, for elements and driven constraints; the loops supply the forces of the latter.
    x : (nx,) or (n, nx)
        Element states; start values if left out.
    bare : bool
        Without forces of elements.

    Returns
    -------
    InverseDynamicsResult
        ``efforts["A"]`` by name; ``efforts.result["D.force"]`` for all outputs under these efforts.

    Raises
    ------
    ModelError
        If the motion opens the loops, or a name is unknown.
    SingularityError
        If the actuators cannot produce the motion; the message gives the time, the missing force and its direction.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> arm = s.body("arm", da.rod(length=2.0, mass=3.0))
    >>> _ = s.connect("A", da.Revolute("-y"), s.ground, arm)
    >>> inverse_dynamics(s, [0.0], [0.0], [0.0])["A"].round(3)  # m g l / 2 holds it level
    np.float64(29.43)
    >>> inverse_dynamics(s, [[0.0], [1.0]], [[0.0], [2.0]], [[0.0], [0.0]])["A"].round(3)
    array([29.43 , 15.901])
    """
    model = as_model(system)
    plain = weights is None and bounds is None and not activation_dynamics and on_infeasible in ("raise", "report")
    if plain and isinstance(exponent, (float, int)) and exponent == 2.0:
        one = efforts_of_state(model, q, v, a, actuators, t=t, x=x, loads=loads, bare=bare, item=_ITEM)
        if one is not None:
            return one
    samples, single = samples_of(model, q, v, a, t, x, loads, bare, _ITEM)
    acting = Actuators.of(model, actuators, _ITEM)
    one_of(_ITEM, "on_infeasible", on_infeasible, ("raise", "report"))
    problem = Problem.of(samples, acting, weights, exponent, bounds)
    if activation_dynamics:
        values, excitations = _one_after_another(problem)
    else:
        values, excitations = problem.solved(), {}
    found = _efforts(problem, values, excitations, single, on_infeasible == "report")
    return replace(found, notes=(*found.notes, *_other_numbers(model, q))) if isinstance(q, Result) else found


def _other_numbers(model: Model, motion: Result) -> list[str]:
    """Return a note if a run had other parameters than the model, so that other forces caused its motion."""
    if motion.conditions is None or motion.model is None:
        return []
    other = list(motion.conditions(motion.t[:1])[0][1].changed_parameters(model))
    if not other:
        return []
    shown = ", ".join(map(repr, other[:6]))
    return [
        f"the motion was run with other parameters, {shown}; efforts are those of the given model: see with_parameters"
    ]


@dataclass(frozen=True, eq=False)
class Problem:
    """Equations (1) at many states, with costs and bounds of actuators."""

    samples: StateSamples
    acting: Actuators
    loops: LoopProjection
    weights: Array
    power: float
    low: Array  # (n, m)
    high: Array

    @classmethod
    def of(cls, samples: StateSamples, acting: Actuators, weights: Any, power: float, bounds: Any) -> Problem:
        prices = acting.values_of(weights, 1.0, _ITEM, "weights")
        if (prices <= 0).any():
            raise ModelError(_ITEM, "weights", weights, "every weight must be positive")
        power = finite_number(power, item=_ITEM, field="exponent")
        if power < 2.0:
            raise ModelError(_ITEM, "exponent", power, "give 2 or more: with less the least-cost shares jump")
        check_closed(samples, _ITEM)
        low, high = (np.tile(side, (len(samples), 1)) for side in acting.bounds_of(bounds, _ITEM))
        return cls(samples, acting, LoopProjection.of(samples), prices, power, low, high)

    def row(self, k: int) -> Problem:
        """Return the problem of one state."""
        one, samples = slice(k, k + 1), self.samples.row(k)
        return replace(self, samples=samples, loops=LoopProjection.of(samples), low=self.low[one], high=self.high[one])

    @property
    def is_direct(self) -> bool:
        """True if every degree of freedom of a tree has its own effort, so that no equation has to be solved."""
        bounded = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        whole = self.acting.dofs.columns == [*range(self.samples.model.nv)]
        return bool(whole and not self.samples.model.nc and not self.acting.further and not bounded)

    def solved(self, guess: Array | None = None) -> Array:
        """Return the actuator values (n, m); `guess` (m,) is the start where forces are nonlinear in them."""
        acting, s = self.acting, self.samples
        if self.is_direct:
            return acting.needed(s, np.zeros((len(s), 0)))
        k = len(acting.dofs)
        C = acting.rows(s.q)
        u = np.zeros((len(s), len(acting)))
        u[:, k:] = acting.starts(s, self.low[0], self.high[0]) if guess is None else guess[k:]
        for _ in range(MAX_ITERATIONS if acting.further else 1):
            force = acting.needed(s, u[:, k:])
            slopes = acting.slopes(s, u[:, k:], force, self.low[0], self.high[0]) if acting.further else u[:, None, k:]
            supplied = np.concatenate(
                [C.swapaxes(1, 2), np.broadcast_to(slopes, (len(s), s.model.nv, u.shape[1] - k))], 2
            )
            # the required force is linear in inputs: (C^T, slopes) u = force + slopes u_now
            target = force + np.einsum("nvk,nk->nv", supplied[:, :, k:], u[:, k:])
            A, b = self.loops.allowed(supplied), self.loops.allowed(target[..., None])[..., 0]
            new = share_efforts(A, b, self.weights, self.power, self.low, self.high, ROW_RANK_TOL)
            change = np.abs(new - u)[:, k:] / np.maximum(1.0, np.abs(new[:, k:]))
            u = new
            if change.max(initial=0.0) < CONVERGENCE_TOL:
                break
        return u


def _one_after_another(problem: Problem) -> tuple[Array, dict[str, Array]]:
    """Return the actuator values, sample after sample, with rate limits of muscle activations."""
    s, acting = problem.samples, problem.acting
    reachable = ActivationLimits.of(acting, s.t, _ITEM)
    values = np.zeros((len(s), len(acting)))
    for k in range(len(s)):
        one = problem.row(k)
        if k:
            low, high = reachable.after(values[k - 1], s.t[k] - s.t[k - 1])
            one = replace(one, low=np.maximum(one.low, low), high=np.minimum(one.high, high))
        values[k] = one.solved(values[k - 1] if k else None)[0]
    return values, reachable.excitations(values)


def _efforts(
    problem: Problem, u: Array, excitations: dict[str, Array], single: bool, tell: bool
) -> InverseDynamicsResult:
    s, acting, loops = problem.samples, problem.acting, problem.loops
    model, k = s.model, len(acting.dofs)
    tau, lack, lam = np.zeros((len(s), model.nv)), np.zeros((len(s), model.nv)), np.zeros((len(s), model.nc))
    unique = True
    if problem.is_direct:
        tau = u
    else:
        C = acting.rows(s.q)
        force = acting.needed(s, u[:, k:])
        given = np.einsum("nkv,nk->nv", C, u[:, :k])
        rest = force - given
        lack = loops.unsupplied_forces(rest)
        _check_missing(problem, u, np.abs(force) + np.abs(given), lack, tell)
        lam = loops.multipliers(rest - lack, np.abs(force).max(initial=0.0))
        tau[:, acting.dofs.columns] = u[:, : len(acting.dofs.columns)]
        unique = loops.determines(C, acting, s, u)
    if not tell:
        lack = np.zeros_like(lack)
    cut = efforts_by_cut_joint(acting, u[:, len(acting.dofs.columns) : k])
    inputs = model.input_values(dict(zip(acting.inputs, u[:, k:].T, strict=False))) if acting.inputs else None
    samples = replace(s, x=acting.states_with(s.x, u[:, k:]))
    found = InverseDynamicsResult(
        samples, tuple(acting.names), u, tau, lam, unique, cut, lack, inputs, False, excitations
    )
    if model.nc and loops.redundant:
        loads = found._motion.loads_with(lam)
        shares = [
            model._minimum_norm_loads(
                float(t), np.ascontiguousarray(q), None, np.ascontiguousarray(load), np.ascontiguousarray(one)
            )[1]
            for t, q, load, one in zip(s.t, s.q, loads, lam, strict=True)
        ]
        found = replace(found, multipliers=np.array(shares))
    if not single:
        return found
    return replace(
        found,
        values=u[0],
        tau=tau[0],
        multipliers=found.multipliers[0],
        cut={name: one[0] for name, one in cut.items()},
        unmet_forces=lack[0],
        inputs=None if inputs is None else inputs[0],
        single=True,
    )


def _check_missing(problem: Problem, u: Array, terms: Array, lack: Array, tell: bool) -> None:
    """Raise an error for forces that the actuators cannot supply; set rounding to zero."""
    scales = problem.loops.columns
    acting, s = problem.acting, problem.samples
    if acting.further:  # forces of elements are not part of the remaining force
        terms = terms + np.abs(acting.needed(s, acting.starts(s, problem.low[0], problem.high[0])))
    size = (terms * scales).sum(axis=1)
    allowed = MAX_MISSING_FORCE * size + ROUNDOFF_FORCE * size.max(initial=0.0)
    short = np.abs(lack * scales).max(axis=1, initial=0.0)
    worst = int(np.argmax(short / np.maximum(allowed, 1e-300)))
    lack[short <= np.maximum(allowed, 1e-300)] = 0.0
    if tell or short[worst] <= max(float(allowed[worst]), 1e-300):
        return
    raise _out_of_reach(problem, u, lack, worst)


def _out_of_reach(problem: Problem, u: Array, lack: Array, worst: int) -> SingularityError:
    model, s, motion = problem.samples.model, problem.samples, lack[worst] * problem.loops.columns**2
    indices = np.argsort(-np.abs(motion))[:4]
    along = ", ".join(f"{model.speed_names[k]!r}" for k in indices if abs(motion[k]) > 0.1 * abs(motion[indices[0]]))
    dofs = int(problem.loops.dofs[worst])
    count = int((np.abs(lack).max(axis=1) > 0).sum())
    when = f" at t = {s.t[worst]:.6g} s, and at {count} of {len(s)} states" if len(s) > 1 else ""
    return SingularityError(
        f"{_ITEM}: actuators at {listed(problem.acting.names) or 'no degree of freedom'} cannot produce this motion"
        f"{when}; the system has {dofs} DOF, and the missing force acts along {along}."
        f"{_at_bounds(problem, u, worst)}{_idle(problem)} Add an actuator there, move the others out of a dead point, "
        'or get the missing forces with on_infeasible="report".'
    )


def _at_bounds(problem: Problem, u: Array, worst: int) -> str:
    """Return a sentence on actuators at a bound."""
    low, high = problem.low[worst], problem.high[worst]
    slack = 1e-9 * np.where(np.isfinite(high - low), high - low, 1.0)
    at = (u[worst] <= low + slack) | (u[worst] >= high - slack)
    names = [name for name, there in zip(problem.acting.names, at, strict=True) if there]
    return f" {listed(names)} {'are' if len(names) > 1 else 'is'} at a bound." if names else ""


def _idle(problem: Problem) -> str:
    """Return a sentence on inputs and states without an immediate force."""
    acting, s = problem.acting, problem.samples
    if not acting.further:
        return ""
    values = acting.starts(s, problem.low[0], problem.high[0])
    slopes = acting.slopes(s, values, acting.needed(s, values), problem.low[0], problem.high[0])
    still = np.abs(slopes).max(axis=(0, 1)) == 0.0
    names = [name for name, idle in zip((*acting.inputs, *acting.states), still, strict=True) if idle]
    return f" {listed(names)} acts on states only, without an immediate force: name the state." if names else ""
