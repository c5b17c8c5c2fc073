"""SIMD batches: states evaluated together in vector registers equal those evaluated one by one.

Rows of a batch may disagree about everything that decides how a state is worked out: which rows of the loops depend on
each other there, how far they are open, what is given in place of laws. No row may see its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.flexible_systems import random_deformed_state, random_flexible_tree
from systems.random_elements import add_random_elements
from systems.random_loops import random_closed_system
from systems.random_trees import random_marker, random_state, random_system
from systems.smooth_motions import MOTIONS

import dalembert as da
from dalembert import _core
from dalembert.library import chain
from dalembert.library.mechanisms import andrews, bennett, bricard, door, four_bar, parallelogram, sarrus

Array = NDArray[np.float64]

SIZES = (1, 3, 4, 5, 33)
SAME = 1e-11  # beside the largest number of the row: the same operations, fused differently
NEAR_SINGULAR = 1e-9  # the same, times how close rows come to depending on each other
MOTION_PARTS = ("a", "dx", "tau", "lam", "loads", "cut_q", "cut_v", "cut_a", "constraint_effort")
BATCHED = ("q", "v", "x", "t", "tau", "loads", "inputs")


@dataclass(frozen=True, eq=False)
class Batch:
    """States of a model, and what acts there; every array has a row for each state."""

    model: da.Model
    q: Array
    v: Array
    x: Array | None = None
    t: Array | None = None
    tau: Array | None = None
    loads: Array | None = None
    inputs: Array | None = None
    conditions: da.Conditions | None = None

    def __len__(self) -> int:
        return len(self.q)

    def rows(self, which: Any) -> Batch:
        """Return some of the rows; one without an axis for a number."""
        kept = {name: getattr(self, name) for name in BATCHED if getattr(self, name) is not None}
        return replace(self, **{name: value[which] for name, value in kept.items()})

    def first(self, size: int) -> Batch:
        """Return the first rows."""
        return self.rows(slice(size))

    @property
    def _more(self) -> dict[str, Any]:
        return {"loads": self.loads, "inputs": self.inputs, "conditions": self.conditions}

    def forward_dynamics(self, **more: Any) -> Array:
        return self.model.forward_dynamics(self.q, self.v, self.tau, t=self.t, x=self.x, **self._more, **more)

    def inverse_dynamics(self) -> Array:
        assert self.tau is not None
        return self.model.inverse_dynamics(self.q, self.v, self.tau, t=self.t, x=self.x, **self._more)

    def everything(self) -> dict[str, Array]:
        """Return accelerations, all of `dynamics`, and all parts of a report."""
        t = np.zeros(self.q.shape[:-1]) if self.t is None else self.t
        found = self.model.dynamics(t, self.q, self.v, self.x, tau=self.tau, **self._more)
        reported = self.model.report(_core.report_parts, t, self.q, self.v, self.x, tau=self.tau, **self._more)
        told = {f"report {name}": part for name, part in reported.items()}
        for parts in (MOTION_PARTS, ("a", "dx", "tau"), ("cut_q", "cut_v")):
            alone = self.model.report(parts, t, self.q, self.v, self.x, tau=self.tau, **self._more)
            told |= {f"report {name} of {len(parts)}": part for name, part in alone.items()}
        return {"forward": self.forward_dynamics(), **found._asdict(), **told}


def assert_row(row: Array, alone: Array, tolerance: float, what: str, terms: float = 0.0) -> None:
    """Assert that a row of a batch is what the state alone gives; it is made from terms of some size."""
    __tracebackhide__ = True
    size = float(np.abs(alone).max(initial=terms))
    worst = float(np.abs(row - alone).max(initial=0.0))
    assert row.shape == alone.shape and worst <= tolerance * size, f"{what} is off by {worst:.3g} of {size:.3g}"


def assert_rows(
    batch: Batch, tolerance: float = SAME, *, of: Callable[[Batch], dict[str, Array]] | None = None
) -> None:
    """Assert that every row of a batch is what its state alone gives; of everything, if nothing else is named."""
    __tracebackhide__ = True
    compute = of or Batch.everything
    together = compute(batch)
    for k in range(len(batch)):
        for name, alone in compute(batch.rows(k)).items():
            if name in ("report rate", "report residual"):
                continue  # nothing but rounding where the loops are closed
            terms = float(np.abs(batch.v[k]).max(initial=0.0)) if name.startswith("report cut_v") else 0.0
            assert_row(together[name][k], alone, tolerance, f"{name} of row {k}", terms)


# ---- mechanisms


def closed_states(model: da.Model, size: int, rng: np.random.Generator, reach: float) -> tuple[Array, Array]:
    """Return states in which the loops are closed, up to `reach` away from the first along the motions they allow."""
    q0 = da.assemble(model).q
    along = da.consistent_velocities(model, q0, rng.normal(size=model.nv))
    along /= np.abs(along).max()
    q = np.array([da.assemble(model, state=model.integrate(q0, h * along)).q for h in np.linspace(0, reach, size)])
    return q, np.array([da.consistent_velocities(model, row, rng.normal(size=model.nv)) for row in q])


@cache
def mechanism(name: str) -> Batch:
    """Return 33 states of a mechanism, pushed at random."""
    made = {"four bar": four_bar, "bricard": bricard, "andrews": andrews, "bennett": bennett, "sarrus": sarrus}
    model, rng = made[name]().compile(), np.random.default_rng(4)
    q, v = closed_states(model, max(SIZES), rng, 0.1 if name == "andrews" else 0.5)
    push = 1e-2 if name == "andrews" else 1.0
    return Batch(
        model,
        q,
        v,
        t=rng.uniform(0, 1, len(q)),
        tau=push * rng.normal(size=v.shape),
        loads=push * rng.normal(size=(len(q), model.nb, 6)),
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["four bar", "bricard", "andrews", "bennett", "sarrus"])
def test_mechanisms_in_simd_batches(name: str, size: int) -> None:
    assert_rows(mechanism(name).first(size))


def mixed_parallelograms(size: int) -> Batch:
    """Return a parallelogram flat, nearly flat, regular and open: neighbours disagree about the rank of its rows."""
    angles = np.resize([1.0, 0.0, 1e-9, 0.5, 1e-6, 1e-3, -1e-4, 0.0, np.pi, 1e-12, 2.0], size)
    rng = np.random.default_rng(size)
    q, v = angles[:, None] * [1.0, -1.0, 1.0], rng.normal(size=(size, 1)) * [1.0, -1.0, 1.0]
    q[3::4] += 1e-3 * rng.normal(size=q[3::4].shape)
    return Batch(parallelogram().compile(), q, v, tau=rng.normal(size=v.shape))


@pytest.mark.parametrize("size", SIZES)
def test_flat_parallelograms_among_regular_ones(size: int) -> None:
    batch = mixed_parallelograms(size)
    assert_rows(batch, NEAR_SINGULAR)
    ranks = {int(np.linalg.matrix_rank(batch.model.constraint_jacobian(q), tol=1e-7)) for q in batch.q}
    assert size < 4 or len(ranks) > 1


def random_loops(seed: int, size: int = 5) -> Batch:
    """Return a random system with loops, over-constrained ones among them; one of its states is a little open."""
    rng = np.random.default_rng(seed)
    bodies, loop_constraints = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    closed = random_closed_system(rng, bodies, loop_constraints, isolated=int(rng.integers(0, 3)), mobile=seed % 2 == 0)
    model = closed.system.compile()
    q, v = closed.state(model)
    rows = np.array([q] * size)
    rows[2] = model.integrate(q, 1e-4 * rng.normal(size=model.nv))
    return Batch(model, rows, np.arange(size)[:, None] * v, tau=rng.normal(size=(size, model.nv)))


LOOPED = (0, 1, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19)  # seeds that draw loop constraints


@pytest.mark.parametrize("seed", LOOPED)
def test_random_loops_in_simd_batches(seed: int) -> None:
    assert_rows(random_loops(seed), NEAR_SINGULAR)


@pytest.mark.parametrize("seed", LOOPED)
def test_closures_in_simd_batches(seed: int) -> None:
    """Rows, their rates and Jacobians, whatever closes the loops."""
    batch = random_loops(seed, 11)
    model = batch.model
    for name, arguments in (
        ("constraint_residual", (batch.q,)),
        ("constraint_jacobian", (batch.q,)),
        ("constraint_bias", (batch.q, batch.v)),
        ("constraint_drift", (batch.q,)),
    ):
        kernel = getattr(model, name)
        together = kernel(*arguments, t=0.3)
        for k in range(11):
            alone = kernel(*(array[k] for array in arguments), t=0.3)
            assert np.allclose(together[k], alone, rtol=0.0, atol=SAME * (1.0 + np.abs(alone).max(initial=0.0))), name


def test_random_loops_repeat_rows() -> None:
    """What is tested above holds loops of every kind: some rows repeat others, some do not."""
    spare = []
    for seed in LOOPED:
        batch = random_loops(seed)
        assert batch.model.nc
        spare.append(batch.model.nc - np.linalg.matrix_rank(batch.model.constraint_jacobian(batch.q[0])))
    assert sum(k == 0 for k in spare) > 1 and sum(k > 0 for k in spare) > 9


@pytest.mark.parametrize("seed", LOOPED[:8])
def test_conditions_in_simd_batches(seed: int) -> None:
    """Locks, closures that do not hold, and stabilisation are those of all rows."""
    batch = random_loops(seed)
    model = batch.model
    for conditions in (
        model.conditions(off=model.closure_names[0]),
        model.conditions(locked=model.joint_names[0]),
        model.conditions(stabilization=(5.0, 9.0)),
    ):
        assert_rows(replace(batch, conditions=conditions), NEAR_SINGULAR)


@pytest.mark.parametrize("make", [mixed_parallelograms, lambda size: mechanism("bricard").first(size)])
def test_the_answer_does_not_depend_on_the_place_in_a_batch(make: Callable[[int], Batch]) -> None:
    batch = make(13)
    whole, order = batch.everything(), np.random.default_rng(0).permutation(13)
    for name, part in batch.rows(order).everything().items():
        assert (part == whole[name][order]).all(), name


@pytest.mark.parametrize("place", ["tau", "v", "q"])
@pytest.mark.parametrize("make", [bennett, four_bar, bricard, sarrus])
def test_accelerations_may_take_the_place_of_inputs(make: Callable[[], da.System], place: str) -> None:
    """Also where loops are open: rows that repeat others no more are needed after all, and states done again."""
    model, rng = make().compile(), np.random.default_rng(0)
    closed = da.assemble(model).q
    q = np.array([model.integrate(closed, h * rng.normal(size=model.nv)) for h in (0.0, 1e-3, 0.0, 0.3, 0.1, 0.3)])
    batch = Batch(model, q, rng.normal(size=(6, model.nv)), tau=rng.normal(size=(6, model.nv)))
    expected = batch.forward_dynamics()
    given = replace(batch, q=q.copy(), v=batch.v.copy(), tau=np.array(batch.tau))
    found = given.forward_dynamics(out=getattr(given, place))
    for k in range(6):
        assert_row(found[k], expected[k], NEAR_SINGULAR, f"row {k}")


@pytest.mark.parametrize("place", ["tau", "v"])
@pytest.mark.parametrize("seed", LOOPED)
def test_accelerations_of_random_loops_may_take_the_place_of_inputs(seed: int, place: str) -> None:
    """At speeds that the loops do not allow."""
    batch = random_loops(seed)
    batch = replace(batch, v=np.random.default_rng(seed).normal(size=batch.v.shape))
    expected = batch.forward_dynamics()
    given = replace(batch, v=batch.v.copy(), tau=np.array(batch.tau))
    found = given.forward_dynamics(out=getattr(given, place))
    for k in range(len(batch)):
        assert_row(found[k], expected[k], NEAR_SINGULAR, f"row {k}")


# ---- elements, drives, laws


def wired_batch(seed: int, size: int) -> Batch:
    """Return states of a tree or loop with element states, unknowns, signals, inputs given to some rows, a drive."""
    rng = np.random.default_rng(seed)
    system = four_bar() if seed % 2 else chain(4)
    joints, bodies = list(system.connections), list(system.bodies.values())
    lag = da.Element(
        "joint", "-k*(s - m) + u*m", {"k": 2.0}, {"m": (0.1, "3*(s - m) + 0.2*u")}, "k*(s - m)**2/2",
        inputs={"u": da.Harmonic(1.0, 2.0)}, signals={"y": "tanh(m) + 0.1*ds"},
    )  # fmt: skip
    root = da.Element(
        "place", ["-w", "-y*y1", "-z"], inputs={"y1": "lag.y"}, unknowns={"w": ("0.1*x", "w + 0.2*w**3 - x - 0.1*vy")}
    )
    system.connect("lag", lag, joints[0])
    system.connect("root", root, random_marker(system.ground, rng), random_marker(bodies[-1], rng))
    system.connect("motor", da.Effort(da.Polynomial((0.3, -1.0, 0.5))), joints[1])
    if seed % 4 > 1:
        system.drive(joints[0], position=da.Harmonic(0.5, 2.0))
    model = system.compile()
    q = closed_states(model, size, rng, 0.3)[0] if model.nc else rng.normal(size=(size, model.nq))
    v = rng.normal(size=(size, model.nv))
    v = np.array([da.consistent_velocities(model, *row) for row in zip(q, v, strict=True)]) if model.nc else v
    inputs = np.where(rng.random((size, 2)) < 0.5, rng.normal(size=(size, 2)), np.nan)  # some keep their laws
    more: dict[str, Any] = {"t": rng.uniform(0, 2, size), "inputs": inputs, "tau": rng.normal(size=v.shape)}
    return Batch(model, q, v, rng.normal(size=(size, model.nx)), **more)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_element_states_unknowns_inputs_and_drives_in_simd_batches(seed: int, size: int) -> None:
    batch = wired_batch(seed, size)
    assert_rows(batch)
    other = batch.model.conditions({"lag.k": 5.0}, locked=batch.model.joint_names[-1])
    assert_rows(replace(batch, conditions=other))


@pytest.mark.parametrize("seed", range(6))
def test_elements_of_the_whole_library_in_simd_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 5, isolated=1)
    q, _ = random_state(system, rng)
    add_random_elements(system, system.compile(), q, rng, 8)
    model = system.compile()
    rows = np.array([model.integrate(q, 0.1 * rng.normal(size=model.nv)) for _ in range(5)])
    v, tau = rng.normal(size=(2, 5, model.nv))
    x = model.element_start_values() + 0.1 * rng.normal(size=(5, model.nx))
    batch = Batch(model, rows, v, x, rng.uniform(0, 2, 5), tau, rng.normal(size=(5, model.nb, 6)))
    assert_rows(batch)
    assert_rows(batch, of=lambda part: {"tau": part.inverse_dynamics()})


def test_elements_that_feel_transmitted_loads_in_batches() -> None:
    rng = np.random.default_rng(3)
    system = chain(4)
    joints = list(system.connections)
    inputs = {"n": da.Reaction(joints[0], "force.x"), "k": da.Reaction(joints[2], "force.z")}
    system.connect("rub", da.Element("joint", "-0.1*sqrt(1 + n**2)*tanh(ds) + 0.1*cos(k)", inputs=inputs), joints[1])
    model = system.compile()
    q, v, tau = rng.normal(size=(3, 5, model.nv))
    batch = Batch(model, q, v, tau=tau)
    assert_rows(batch)
    assert_rows(batch, of=lambda part: {"tau": part.inverse_dynamics()})


@pytest.mark.parametrize("seed", range(3))
def test_flexible_trees_in_simd_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_flexible_tree(rng, 4, damping=0.03).compile()
    states = [random_deformed_state(model, rng, 0.2) for _ in range(5)]
    q, v = (np.array(part) for part in zip(*states, strict=True))
    batch = Batch(model, q, v, tau=rng.normal(size=v.shape), loads=rng.normal(size=(5, model.nb, 6)))
    assert_rows(batch, NEAR_SINGULAR)  # masses and stiffnesses of very different size
    assert_rows(batch, of=lambda part: {"tau": part.inverse_dynamics()})


@pytest.mark.parametrize("size", SIZES)
def test_inverse_dynamics_of_trees_in_simd_batches(size: int) -> None:
    batch = wired_batch(0, size)
    assert not batch.model.nc
    assert_rows(batch, of=lambda part: {"tau": part.inverse_dynamics()})
    tau = batch.inverse_dynamics()
    again = replace(batch, tau=tau).forward_dynamics()
    np.testing.assert_allclose(again, np.asarray(batch.tau), rtol=0, atol=1e-9)


def test_one_state_serves_a_batch_of_times_inputs_or_element_states() -> None:
    model = wired_batch(1, 1).model
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, [1.0, 0.0, 0.0])
    t, x, u = np.linspace(0, 1, 5), np.linspace(-1, 1, 5)[:, None], model.input_values({"lag.u": np.linspace(0, 2, 5)})
    given: tuple[dict[str, Any], ...] = ({"t": t}, {"x": x}, {"inputs": u})
    for more in given:
        together = model.forward_dynamics(q, v, **more)
        assert together.shape == (5, model.nv)
        for k in range(5):
            alone = model.forward_dynamics(q, v, **{name: value[k] for name, value in more.items()})
            assert_row(together[k], alone, SAME, str(list(more)))


def test_an_empty_batch_gives_empty_results() -> None:
    batch = mechanism("four bar").first(0)
    assert all(len(part) == 0 for part in batch.everything().values())


# ---- ensembles


def assert_runs(
    model: da.Model, state: da.State, t_end: float, *, parameters: dict[str, Array] | None = None, **options: Any
) -> da.Ensemble:
    """Assert that runs made together are those made one by one, up to the tolerance of their steps."""
    __tracebackhide__ = True
    times = np.linspace(0.0, t_end, 4)
    chosen: dict[str, Any] = {"times": times, "rtol": 1e-10, "atol": 1e-12, **options}
    many: da.Ensemble = da.simulate(model, t_end, state=state, parameters=parameters, **chosen)
    for k in range(len(many)):
        x = state.x[k] if np.ndim(state.x) == 2 else state.x
        numbers = None if parameters is None else {name: float(values[k]) for name, values in parameters.items()}
        alone = da.State(q=state.q[k], v=state.v[k], x=x)
        one = da.simulate(model, t_end, state=alone, parameters=numbers, **chosen)
        for name in ("q", "v", "x"):
            expected = getattr(one, name)
            size = max(1.0, float(np.abs(expected).max(initial=0.0)))
            np.testing.assert_allclose(getattr(many, name)[k], expected, rtol=0, atol=1e-8 * size)
        np.testing.assert_allclose(many[k]["energy.total"], one["energy.total"], rtol=1e-7, atol=1e-7)
        for name in (name for name in one.names() if name.endswith(".effort")):
            size = max(1.0, float(np.abs(one[name]).max()))
            np.testing.assert_allclose(many[k][name], one[name], rtol=0, atol=1e-6 * size)
    assert many.status == ("finished",) * len(many)
    return many


@pytest.mark.parametrize(
    "motion", ["planar_loop", "bennetts_loop", "spatial_loop", "squeezer", "rolling_disc", "driven_joints"]
)
def test_loops_and_drives_run_together_as_alone(motion: str) -> None:
    made = MOTIONS[motion]()
    model = made.model
    start = made.state or da.simulate(model, 1e-6, times=[0.0]).final_state
    q, v = np.array([start.q] * 5), np.array([start.v * (1 + 0.05 * k) for k in range(5)])
    if model.drives:
        v[:] = start.v
    assert_runs(model, da.State(q=q, v=v), 0.3 * made.span)


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_loops_with_element_states_and_unknowns_run_together_as_alone(driven: bool, size: int) -> None:
    rng = np.random.default_rng(size)
    system = four_bar()
    lag = da.Element("joint", "-k*(s - m)", {"k": 2.0}, {"m": (0.1, "3*(s - m)")}, "k*(s - m)**2/2")
    system.connect("lag", lag, "A")
    system.connect("root", da.Element("joint", "-w", unknowns={"w": ("0.1*s", "w + 0.2*w**3 - s")}), "B")
    if driven:
        system.drive("A", speed=da.Harmonic(0.3, 2.0, offset=1.0))
    model = system.compile()
    q = da.assemble(model).q
    speeds = [da.driven_motion(model, 0.0, state=da.State(q, rng.normal(size=3))).v for _ in range(size)]
    state = da.State(q=np.array([q] * size), v=np.array(speeds), x=rng.normal(size=(size, 1)))
    assert_runs(model, state, 0.2, parameters={"lag.k": np.linspace(1.0, 3.0, size)})


def test_runs_that_python_takes_part_in_are_those_alone() -> None:
    """Control and laws in Python: runs go one after the other, to the same bits as alone."""
    system = four_bar()
    system.connect("push", da.Effort(lambda t: float(np.sin(3 * t))), "A")
    model = system.compile()
    q = da.assemble(model).q
    v = np.array([da.consistent_velocities(model, q, [k, 0, 0]) for k in range(3)])
    state = da.State(q=np.array([q] * 3), v=v)
    many = assert_runs(model, state, 0.2, control=lambda state: -0.3 * state.v)
    one = da.simulate(
        model,
        0.2,
        state=da.State(q=q, v=v[1]),
        times=many.t,
        rtol=1e-10,
        atol=1e-12,
        control=lambda state: -0.3 * state.v,
    )
    assert (many.q[1] == one.q).all()


def test_a_run_that_fails_does_not_disturb_the_others() -> None:
    system = four_bar()
    system.connect("blow", da.Element("joint", "c/(0.25 - t)**2", {"c": 0.0}, active=True), "A")
    model = system.compile()
    times = [0.0, 0.2, 0.3]
    strengths = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    many = da.simulate(model, 0.3, parameters={"blow.c": strengths}, times=times)
    calm = da.simulate(model, 0.3, times=times)
    assert many.status == ("finished", "finished", "failed", "finished", "finished")
    for k in (0, 1, 3, 4):
        np.testing.assert_allclose(many.q[k], calm.q, rtol=0, atol=1e-9)
    assert np.isfinite(many.q[2, 1]).all() and np.isnan(many.q[2, 2]).all()
    assert many[2].status == "failed" and len(many[2]) == 2


@pytest.mark.parametrize("make", [four_bar, bricard, andrews])
def test_states_off_the_loops_are_moved_to_the_same_place_together_as_alone(make: Callable[[], da.System]) -> None:
    model = make().compile()
    rng = np.random.default_rng(0)
    q0 = da.assemble(model).q
    q = np.array([model.integrate(q0, 1e-4 * rng.normal(size=model.nv)) for _ in range(3)])
    state = da.State(q=q, v=np.zeros((3, model.nv)))
    many = da.simulate(model, 1e-3, state=state, times=[0.0])
    for k in range(3):
        one = da.simulate(model, 1e-3, state=da.State(q=q[k], v=state.v[k]), times=[0.0])
        np.testing.assert_allclose(many.q[k], one.q, rtol=0, atol=1e-8)


def test_states_of_an_ensemble_that_are_moved_onto_loops_and_drives_are_noted() -> None:
    """As `simulate` says of one run."""
    model = four_bar().compile()
    q = da.assemble(model).q
    off = model.integrate(q, np.full(model.nv, 1e-3))
    one = da.simulate(model, 1e-3, state=da.State(q=off, v=np.ones(3)), times=[0.0])
    assert len(one.stats.notes) == 2  # positions and velocities
    many = da.simulate(model, 1e-3, state=da.State(q=np.array([off, q]), v=np.ones((2, 3))), times=[0.0])
    assert any("off the loops" in note for note in many.stats.notes)
    assert any("velocities" in note for note in many.stats.notes)


# ---- threads


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = da.threads()
    da.set_threads(count)
    try:
        yield
    finally:
        da.set_threads(before)


THREADED: dict[str, Callable[[], Batch]] = {
    "bricard": lambda: mechanism("bricard"),
    "mixed ranks": lambda: mixed_parallelograms(33),
    "elements in a tree": lambda: wired_batch(0, 33),
    "elements in a driven loop": lambda: wired_batch(3, 33),
    "random loop": lambda: random_loops(9, 33),
}


@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    batch = THREADED[name]()
    t = np.zeros(len(batch)) if batch.t is None else batch.t
    results = []
    for count in (1, 2, 3, 8):
        with threads(count):
            slopes = batch.model.d_dynamics(t, batch.q, batch.v, batch.x, tau=batch.tau, inputs=batch.inputs)
            results.append([*batch.everything().values(), *slopes.a, *slopes.lam])
    for other in results[1:]:
        for first, part in zip(results[0], other, strict=True):
            assert (first == part).all()


def test_the_number_of_threads_changes_no_bit_of_an_ensemble() -> None:
    batch = wired_batch(1, 33)
    state = da.State(q=batch.q, v=batch.v, x=np.asarray(batch.x))
    results = []
    for count in (1, 2, 3, 8):
        with threads(count):
            many = da.simulate(batch.model, 0.05, state=state, times=[0.0, 0.02, 0.05])
        results.append((many.q, many.v, many.x))
    for other in results[1:]:
        for first, part in zip(results[0], other, strict=True):
            assert (first == part).all()


def test_doors_share_loads_alike_in_every_row() -> None:
    """Five rows of the second joint repeat the first: loads are shared by least norm in each state."""
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 5, 1))
    assert_rows(Batch(door().compile(), q, v, tau=tau))
