"""Error messages name the cause: numbers too large, lack of memory, deep formulas, private doors."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from systems.blocks import sliding_block

import dalembert as da
from dalembert import _core
from dalembert.library import chain, humanoid

HUGE = 1.7e308


@pytest.mark.parametrize("system", [chain(3), humanoid()], ids=["chain", "humanoid"])
@pytest.mark.parametrize(
    "call",
    [
        lambda m, q, v: m.velocities(q, v),
        lambda m, q, v: m.accelerations(q, v, v),
        lambda m, q, v: m.bias_forces(q, v),
        lambda m, q, v: m.reactions(q, v, v),
        lambda m, q, v: m.momentum(q, v, about=(0, 0, 1e10)),
        lambda m, q, v: m.energy(q, v),
        lambda m, q, v: m.inverse_dynamics(q, v, v),
        lambda m, q, v: m.connection_loads(q, v),
    ],
    ids=["velocities", "accelerations", "bias_forces", "reactions", "momentum", "energy", "inverse", "loads"],
)
def test_numbers_that_are_too_large_are_refused(system: da.System, call: object) -> None:
    m = system.compile()
    state = m.random_state(0)
    with pytest.raises(da.ModelError, match="too large for double precision"):
        call(m, state.q, np.full(m.nv, HUGE))


def test_a_lack_of_memory_is_called_that() -> None:
    """Numbers of another kind are copied as doubles; where there is no room for them, that is said."""
    script = """
        import resource
        import numpy as np
        import dalembert as da
        from dalembert.library import chain

        da.set_threads(1)
        m = chain(4).compile()
        q, v = np.zeros((20_000_000, 4), dtype=np.float32), np.zeros(4)
        m.forward_dynamics(q[:10], v, v)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000,) * 2)
        try:
            m.forward_dynamics(q, v, v)
        except MemoryError:
            print("memory")
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert found.stdout.split() == ["memory"], found.stderr


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts of wake-ups are Linux's")
def test_threads_that_are_not_needed_sleep_on() -> None:
    """After a batch on very many threads, one on two of them wakes no more than these."""
    m = chain(3).compile()
    many, few = m.random_state(0, size=5000), m.random_state(0, size=64)

    def wakes() -> int:
        total = 0
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/status") as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary"))
        return total

    try:
        da.set_threads(300)
        expected = m.forward_dynamics(many.q, many.v, many.v)[:64]
        da.set_threads(2)
        before = wakes()
        for _ in range(20):
            m.forward_dynamics(few.q, few.v, few.v)
        assert wakes() - before < 20 * 100
        assert np.array_equal(expected, m.forward_dynamics(many.q, many.v, many.v)[:64])
    finally:
        da.set_threads(0)


# ---- formulas


def test_sums_of_many_terms_are_formulas() -> None:
    s = sliding_block()
    s.connect("k", da.Element("joint", "-(" + " + ".join(f"{k} * s" for k in range(1500)) + ")"), "X")
    m = s.compile()
    assert m.dynamics(0.0, [2.0], [0.0]).a[0] == pytest.approx(-2.0 * sum(range(1500)))
    s.connect("j", da.Element("joint", "8 - 4 - 2 - 1 + 2 ** 3 / 4 / 2"), "X")
    assert s.compile().dynamics(0.0, [0.0], [0.0]).a[0] == pytest.approx(2.0)


@pytest.mark.parametrize("formula", ["-" * 5000 + "s", "+".join(["s"] * 100_000), "s" + "**s" * 2000])
def test_formulas_that_are_too_deep_are_refused_by_name(formula: str) -> None:
    with pytest.raises(da.ModelError, match="nested too deeply: split it"):
        da.Element("joint", formula)


def test_deep_formulas_of_sympy_are_refused_by_name() -> None:
    sympy = pytest.importorskip("sympy")
    formula = sympy.Symbol("s")
    for _ in range(400):
        formula = sympy.sin(formula, evaluate=False)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit - 200)
    try:
        with pytest.raises(da.ModelError, match="nested too deeply"):
            da.Element("joint", formula)
    finally:
        sys.setrecursionlimit(limit)


# ---- doors of the core that are not meant to be used


class NoAddress:
    address = 0


def test_compiled_laws_need_an_address() -> None:
    with pytest.raises(da.ModelError, match="address is 0"):
        da.Element("joint", NoAddress(), active=True)


def test_private_doors_refuse_what_is_no_model() -> None:
    m, other = chain(3).compile(), chain(5).compile()
    q, how = np.zeros(3), (1e-8, np.full(6, 1e-10), np.inf, 0.0, 0.8, True, False)
    empty, no_conditions = _core.Model.__new__(_core.Model), _core.Conditions.__new__(_core.Conditions)
    for call in (
        lambda: _core.MassMatrixFactor(object(), q),
        lambda: _core.MassMatrixFactor(empty, q),
        lambda: _core.Integrator(object(), object(), 0, *how),
        lambda: _core.Integrator(m, no_conditions, 0, *how),
        lambda: _core.Integrator(m, other.conditions(), 0, *how),
        lambda: _core.Integrator(m, m.conditions(), 99, *how),
        lambda: _core.Integrator(m, m.conditions(), 0, 1e-8, np.ones(5), *how[2:]),
        lambda: _core.Integrator(m, m.conditions(), 0, *how).restore(b"x"),
        lambda: _core.Conditions(empty, None, [], [], None, False, 0.0, 0.0),
        lambda: empty.mass_matrix(q),
        lambda: m._self_stress(0.0, q, other.conditions()),
        lambda: m._point_poses(_core.Points(1, np.zeros((1, 12)), np.zeros((1, 3)), True), q),
    ):
        with pytest.raises((TypeError, ValueError, da.ModelError)):
            call()
    stepper = _core.Integrator(m, m.conditions(), 0, *how)
    with pytest.raises(ValueError, match="another method"):
        stepper.restore(b"x" * len(stepper.checkpoint()))
