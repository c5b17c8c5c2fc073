"""Types of the compiled core; what the functions do is in their docstrings and in `model/model.py`."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .model.kernel_results import Dynamics

Array = NDArray[np.float64]

isa: str
lanes: int
methods: tuple[str, ...]
outcomes: dict[str, int]
report_parts: tuple[str, ...]
tables: dict[str, np.dtype[Any]]
enumerations: dict[str, dict[str, int]]
joints: dict[tuple[str, bool], int]
constraints: dict[str, int]

def threads() -> int: ...
def set_threads(count: int) -> None: ...
def _set_dynamics_type(kind: type[Any]) -> None: ...

class Conditions:
    def __init__(
        self,
        model: Model,
        parameters: Array | None,
        locked: Sequence[int],
        active: Sequence[bool],
        callback: Callable[..., None] | None,
        gives_forces: bool,
        damping: float,
        stiffness: float,
        sampled_forces: SampledForces | None,
        sliding: Sequence[int] = (),
        fixed_functions: Sequence[int] = (),
        fixed_branches: Sequence[float] = (),
        sequence: ControlSequence | None = None,
    ) -> None: ...
    @property
    def acceleration_prescribed(self) -> NDArray[np.bool_]: ...
    @property
    def velocity_prescribed(self) -> NDArray[np.bool_]: ...
    @property
    def position_prescribed(self) -> NDArray[np.bool_]: ...

class Points:
    def __init__(self, body: int, frames: Array, nodes: Array | None, single: bool) -> None: ...

class Flag:
    set: bool
    def __init__(self) -> None: ...

class ControlSequence:
    def __init__(
        self,
        times: Array,
        linear: bool,
        force: Sequence[int],
        input: Sequence[int],
        parameter: Sequence[int],
        values: Array,
    ) -> None: ...

class SampledForces:
    def __init__(self, nv: int) -> None: ...
    def add(self, t: float, tau: Array) -> None: ...
    def __len__(self) -> int: ...
    def samples(self) -> tuple[Array, Array]: ...

class Integrator:
    def __init__(
        self,
        model: Model,
        conditions: Conditions,
        method: int,
        rtol: float,
        atol: Array,
        max_step: float,
        fixed_step: float,
        spectral_radius: float,
        project: bool,
        detect_stiffness: bool,
    ) -> None: ...
    def start(self, t: float, q: Array, v: Array, x: Array) -> int: ...
    def advance(self, until: float, max_steps: int, times: Array | None = None, flag: Flag | None = None) -> int: ...
    def take_records(self) -> tuple[Array, Array, Array, Array, Array]: ...
    def take_steps(self) -> Array: ...
    def set_friction(self, given: dict[str, Any]) -> None: ...
    def take_changes(self) -> list[dict[str, Any]]: ...
    def passed(self) -> list[int]: ...
    @property
    def friction_values(self) -> Any: ...
    @friction_values.setter
    def friction_values(self, values: Array) -> None: ...
    def take_branches(self) -> tuple[Array, Array]: ...
    def set_branches(self, times: Array, branches: Array) -> None: ...
    def set_discontinuities(self, times: Array) -> None: ...
    def state(self) -> tuple[float, Array, Array, Array, Array, Array]: ...
    def dense_output(
        self, t: Array, q: Array, v: Array, x: Array, rows: NDArray[np.int64], fractions: Array
    ) -> tuple[Array, Array, Array]: ...
    def run_batch(
        self,
        begin: float,
        until: float,
        times: Array,
        q: Array,
        v: Array,
        x: Array,
        parameters: Array | None,
        mapped_parameters: Array | None,
        threads: int,
        discontinuities: Array | None = None,
        discontinuity_offsets: NDArray[np.int64] | None = None,
        flag: Flag | None = None,
        batched_control: Callable[..., dict[int, Any]] | None = None,
        sequences: Array | None = None,
        friction: Array | None = None,
    ) -> tuple[Array, Array, Array, Array, Array, Array]: ...
    def take_modes(self) -> dict[str, Array]: ...
    def gradients(
        self,
        times: Array,
        q: Array,
        v: Array,
        x: Array,
        q_bar: Array,
        v_bar: Array,
        x_bar: Array,
        parameters: Array | None,
        mapped_parameters: Array | None,
        sequences: Array,
        directions: Array,
        wanted: int,
        threads: int,
        flag: Flag | None = None,
    ) -> tuple[Array, Array, Array, Array, Array, Array]: ...
    def take_errors(self) -> dict[int, Exception]: ...
    def checkpoint(self) -> bytes: ...
    def restore(self, blob: bytes) -> None: ...
    @property
    def t(self) -> float: ...
    @property
    def step(self) -> float: ...
    @step.setter
    def step(self, step: float) -> None: ...
    def set_first_step(self, step: float) -> None: ...
    usual_min_pivot: float
    @property
    def worst_error(self) -> tuple[int, float]: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int, int, int, int]: ...
    @property
    def missed_crossing(self) -> tuple[float, int]: ...
    @property
    def release(self) -> tuple[float, int]: ...

class NaturalRows:
    def __init__(
        self, count: int, base: Array, column: NDArray[np.int32], terms: NDArray[np.int32], factors: Array
    ) -> None: ...
    def residual(self, q: Array, known: Array) -> Array: ...
    def jacobian(self, q: Array, known: Array) -> Array: ...
    def velocity_terms(self, q: Array, known: Array) -> Array: ...
    def acceleration_terms(self, q: Array, v: Array, known: Array) -> Array: ...
    def jerk_terms(self, q: Array, v: Array, a: Array, known: Array) -> Array: ...
    def sweep(
        self,
        times: Array,
        q: Array,
        driven: Array,
        row_scale: Array,
        column_scale: Array,
        floor: float,
        jerk: bool,
        most: int,
    ) -> tuple[Array, Array, Array, Array | None, Array, Array, Array, float, int, int, int, int, int]: ...

def loop_efforts(
    P: Array,
    C: Array,
    row_scale: Array,
    column_scale: Array,
    holonomic: NDArray[np.bool_],
    gap: Array,
    drift: Array,
    bias: Array,
    v: Array,
    a: Array,
    force: Array,
) -> tuple[Array, Array, bool, bool] | None: ...
def operational_space(
    J: Array, Y: Array, moved: Array, first: int, last: int, length: float, tolerance: float
) -> tuple[Array, Array, Array, Array, Any]: ...

class Solid:
    def __init__(self, points: Array, sizes: Array) -> None: ...

def distances(first: Solid, poses: Array, second: Solid, others: Array) -> tuple[Array, Array]: ...

class VariationalSystem:
    def __init__(
        self,
        n: int,
        split: int,
        matrices: Array,
        places: Array,
        blocks: Array,
        steps: Array,
        block: NDArray[np.int64],
        keep: NDArray[np.int64],
    ) -> None: ...
    def forward(self, y0: Array, weights: Array, rtol: float) -> tuple[Array, NDArray[np.int64]]: ...
    def backward(self, seeds: Array) -> tuple[Array, Array]: ...

def solve_bounded_qp(A: Array, b: Array, lower: Array, upper: Array) -> tuple[Array, Array, list[int]]: ...
def interpolate_steps(ends: Array, values: Array, rates: Array, t: Array, points: int) -> Array: ...

class IkProblem:
    def __init__(
        self,
        model: Model,
        t: float,
        rows: NDArray[np.int32],
        scales: Array,
        cut: NDArray[np.int32],
        limits: Array,
        columns: NDArray[np.int32],
        places: NDArray[np.int32],
        of_columns: Array,
        goals: list[tuple[Any, ...]],
        tolerances: Array,
    ) -> None: ...
    def rows(self, q: Array, which: NDArray[np.int64], jacobian: bool) -> tuple[Array, Array | None]: ...
    def descend(
        self, q: Array, which: NDArray[np.int64], shift: Array, iterations: int, patience: int
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.int64], Array]: ...

class MassMatrixFactor:
    def __init__(self, model: Model, q: Array) -> None: ...
    def solve(self, x: Array) -> Array: ...
    def pivots(self) -> Array: ...

class Model:
    @overload
    def __init__(
        self, family: Model, parameters: Array, mapped_parameters: Array, callback: Callable[..., None] | None
    ) -> None: ...
    @overload
    def __init__(
        self,
        tables: dict[str, NDArray[Any]],
        starts: Array,
        functions: Sequence[Any],
        sizes: Sequence[tuple[int, int]],
        callback: Callable[..., None] | None,
    ) -> None: ...
    def _set_family(self, family: Model) -> None: ...
    @property
    def nb(self) -> int: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def nx(self) -> int: ...
    @property
    def nc(self) -> int: ...
    @property
    def feedback_count(self) -> int: ...
    @property
    def switching_functions(self) -> list[tuple[int, str]]: ...
    @property
    def loop_envelope(self) -> int: ...
    # the system as described
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        loads: ArrayLike | None = None,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
        out: Array | None = None,
    ) -> Array: ...
    def dynamics(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        tau: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        a: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
    ) -> Dynamics: ...
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        loads: ArrayLike | None = None,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        conditions: Conditions | None = None,
        bare: bool = False,
        out: Array | None = None,
    ) -> Array: ...
    def _required_forces(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, **further: Any) -> Array: ...
    def _loads_of_motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, **further: Any) -> Array: ...
    def _report(self, parts: Sequence[int], q: ArrayLike, v: ArrayLike, **further: Any) -> tuple[Array, ...]: ...
    def _d_dynamics(self, parts: Sequence[int], q: ArrayLike, v: ArrayLike, **further: Any) -> tuple[Array, ...]: ...
    def _d_required_forces(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, **further: Any
    ) -> tuple[Array, Array, Array]: ...
    def _newton_step(
        self, q: ArrayLike, v: ArrayLike, *given: ArrayLike, t: ArrayLike, x: ArrayLike
    ) -> tuple[Array, Array, Array]: ...
    def _self_stress(self, t: float, q: Array, conditions: Conditions | None) -> tuple[Array, Array]: ...
    def _law_equations(self, element: int, rows: Array) -> Array: ...
    def _sweep(
        self,
        times: Array,
        q: Array,
        conditions: Conditions | None,
        row_scale: Array,
        floor: float,
        jerk: bool,
        most: int,
    ) -> tuple[Array, Array, Array, Array | None, Array, Array, Array, float, int, int, int, int, int]: ...
    def _minimum_norm_loads(
        self, t: float, q: Array, conditions: Conditions | None, loads: Array, lam: Array
    ) -> tuple[Array, Array]: ...
    # trees
    def _bias_forces(
        self, q: ArrayLike, v: ArrayLike, *, loads: ArrayLike | None = None, out: Array | None = None
    ) -> Array: ...
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def _composite_diagonal(self, q: ArrayLike) -> Array: ...
    def solve_mass_matrix(self, q: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...
    def _poses(self, q: ArrayLike) -> Array: ...
    def velocities(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def accelerations(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None) -> Array: ...
    def _point_poses(self, points: Points, q: ArrayLike) -> Array: ...
    def _point_velocities(self, points: Points, q: ArrayLike, v: ArrayLike) -> Array: ...
    def _point_accelerations(self, points: Points, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array: ...
    def _point_jacobians(self, points: Points, q: ArrayLike) -> Array: ...
    def _energy(self, q: ArrayLike, v: ArrayLike) -> Array: ...
    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def integrate(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array: ...
    def coordinate_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def _d_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, loads: ArrayLike | None = None
    ) -> tuple[Array, Array, Array]: ...
    def _d_inverse_dynamics_by_duals(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, loads: ArrayLike | None = None
    ) -> tuple[Array, Array]: ...
    def _d_forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, loads: ArrayLike | None = None
    ) -> tuple[Array, Array, Array]: ...
    # closures
    def constraint_residual(self, q: ArrayLike, *, t: ArrayLike | None = None, out: Array | None = None) -> Array: ...
    def constraint_jacobian(self, q: ArrayLike, *, t: ArrayLike | None = None, out: Array | None = None) -> Array: ...
    def constraint_drift(self, q: ArrayLike, *, t: ArrayLike | None = None, out: Array | None = None) -> Array: ...
    def constraint_bias(
        self, q: ArrayLike, v: ArrayLike, *, t: ArrayLike | None = None, out: Array | None = None
    ) -> Array: ...
    def _cut_motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]: ...
    def _row_pivots(self, q: ArrayLike) -> Array: ...
