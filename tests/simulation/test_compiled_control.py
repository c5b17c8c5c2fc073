"""Controls compiled outside give the same bits as the same control in Python, in all kinds of runs."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

# no fused products: NumPy rounds each
SOURCE = """
#include <math.h>
#include <stdint.h>
void hold(double t, int64_t run, const double *q, const double *v, const double *x, double *tau, const double *data) {
  for (int k = 0; k < 2; ++k) tau[k] = -data[k] * q[k] - data[2 + k] * v[k];
}
void by_run(double t, int64_t run, const double *q, const double *v, const double *x, double *tau, const double *data) {
  tau[0] = -data[run] * v[0];
}
void fails(double t, int64_t run, const double *q, const double *v, const double *x, double *tau, const double *data) {
  tau[0] = run == 1 && t > 0.25 ? NAN : 0.0;
}
void valve(double t, int64_t run, const double *q, const double *v, const double *x, double *tau, const double *data) {
  tau[0] = data[0] * x[0];
}
"""
GAINS = np.array([8.0, 2.0, 0.8, 0.2])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("control")
    (folder / "control.c").write_text(SOURCE)
    made = folder / "control.so"
    subprocess.run(
        [COMPILER, "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(made), str(folder / "control.c")],
        check=True,
    )
    return ctypes.CDLL(str(made))


def hold(state: da.State):
    return -GAINS[:2] * state.q - GAINS[2:] * state.v


@needs_compiler
@pytest.mark.parametrize(
    "how", [{}, {"method": "radau"}, {"method": "dopri5"}, {"method": "rk4", "fixed_step": 1e-2}, {"method": "alpha"}]
)
def test_single_runs_have_the_bits_of_the_python_control(library, how) -> None:
    model = chain(2, axes="y").compile()
    state = da.State(q=np.array([0.4, -0.3]), v=np.array([0.0, 1.0]))
    compiled = da.simulate(model, 1.0, state=state, control=da.CompiledControl(library.hold, GAINS), **how)
    python = da.simulate(model, 1.0, state=state, control=hold, **how)
    free = da.simulate(model, 1.0, state=state, **how)
    np.testing.assert_array_equal(compiled.q, python.q)
    np.testing.assert_array_equal(compiled["energy.balance"], python["energy.balance"])
    assert np.abs(compiled.q[-1] - free.q[-1]).max() > 0.1


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
def test_ensembles_have_the_bits_of_the_python_control(library, threads) -> None:
    model = chain(2, axes="y").compile()
    states, times = model.random_state(0, size=37), np.linspace(0.0, 0.5, 6)
    before = da.threads()
    da.set_threads(threads)
    try:
        compiled = da.simulate(model, 0.5, state=states, times=times, control=da.CompiledControl(library.hold, GAINS))
        python = da.simulate(model, 0.5, state=states, times=times, control=hold)
    finally:
        da.set_threads(before)
    np.testing.assert_array_equal(compiled.q, python.q)
    single = da.simulate(model, 0.5, state=da.State(q=states.q[5], v=states.v[5]), times=times, control=hold)
    np.testing.assert_allclose(compiled.q[5], single.q, rtol=0, atol=1e-6)  # of SIMD and single steps at rtol 1e-8


@needs_compiler
@pytest.mark.parametrize("method", ["auto", "radau"])
def test_a_run_of_an_ensemble_is_told_its_number(library, method) -> None:
    s = da.System("wheel", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("wheel", da.rod(length=1.0, mass=3.0)))
    damping = np.linspace(0.0, 4.0, 11)  # of a rod with the moment of inertia 1 kg m2: v = exp(-damping t)
    states = da.State(q=np.zeros((11, 1)), v=np.ones((11, 1)))
    ensemble = da.simulate(
        s, 1.0, state=states, control=da.CompiledControl(library.by_run, damping), rtol=1e-10, method=method
    )
    np.testing.assert_allclose(ensemble.v[:, -1, 0], np.exp(-damping), rtol=1e-7)


@needs_compiler
@pytest.mark.parametrize("method", ["auto", "radau"])
def test_forces_that_are_not_finite_end_their_run_by_name_and_time(library, method) -> None:
    model = chain(1, axes="y").compile()
    control = da.CompiledControl(library.fails, name="broken")
    states = da.State(q=np.zeros((3, 1)), v=np.zeros((3, 1)))
    ensemble = da.simulate(model, 0.5, state=states, control=control, method=method)
    assert ensemble.status == ("finished", "failed", "finished")
    assert ensemble[1].message.startswith("control broken gave forces that are not finite at t = 0.2")
    bad = da.CompiledControl(da.CompiledControl.signature(lambda t, run, q, v, x, tau, data: _fill(tau, np.nan, t)))
    with pytest.raises(da.UserFunctionError, match=r"gave forces that are not finite at t = 0\.3\d* s") as caught:
        da.simulate(model, 0.5, control=bad, method=method)
    assert 0.0 < caught.value.result.t[-1] <= 0.3


def _fill(tau, value, t) -> None:
    tau[0] = value if t > 0.3 else 0.0


@needs_compiler
def test_loops_live_runs_and_kernels_take_compiled_controls(library) -> None:
    model = four_bar().compile()
    control = da.CompiledControl(library.by_run, [0.3])

    def python(state):
        return [-0.3 * state.v[0], 0.0, 0.0]

    a, b = (da.simulate(model, 0.5, control=each) for each in (control, python))
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a["D.force"], b["D.force"])
    lives = [da.Live(model, control=each) for each in (control, python)]
    for live in lives:
        live.advance(0.2)
    np.testing.assert_array_equal(lives[0].result().q, lives[1].result().q)
    q, v = a.q[-1], a.v[-1]
    both = [model.dynamics(0.0, q, v, conditions=model.conditions(control=each)).a for each in (control, python)]
    np.testing.assert_array_equal(*both)
    rows = np.tile(q, (9, 1)), np.tile(v, (9, 1))
    batch = model.dynamics(np.zeros(9), *rows, conditions=model.conditions(control=control)).a
    np.testing.assert_array_equal(batch, np.tile(both[0], (9, 1)))
    sampled = [da.simulate(model, 0.1, control=each, control_period=0.02) for each in (control, python)]
    np.testing.assert_array_equal(sampled[0].q, sampled[1].q)


@needs_compiler
def test_beside_laws_in_python_and_with_element_states(library) -> None:
    s = chain(1, axes="y")
    s.connect("lag", da.Element("joint", "0*s", states={"z": (0.2, "-3*z")}, active=True), "joint_1")
    a = da.simulate(s, 0.5, control=da.CompiledControl(library.valve, [2.0]))
    b = da.simulate(s, 0.5, control=lambda state: 2.0 * state.x[:1])
    np.testing.assert_array_equal(a.q, b.q)
    s.connect("wind", da.Effort(da.FunctionLaw(lambda t: 0.1 * np.sin(t))), "joint_1")
    a = da.simulate(s, 0.5, control=da.CompiledControl(library.valve, [2.0]))
    b = da.simulate(s, 0.5, control=lambda state: 2.0 * state.x[:1])
    np.testing.assert_array_equal(a.q, b.q)


@needs_compiler
def test_what_is_taken_as_a_compiled_function(library) -> None:
    model = chain(2, axes="y").compile()
    state = da.State(q=np.array([0.4, -0.3]), v=np.zeros(2))
    address = ctypes.cast(library.hold, ctypes.c_void_p).value
    kinds = [library.hold, address, SimpleNamespace(address=address)]
    ends = [da.simulate(model, 0.2, state=state, control=da.CompiledControl(kind, GAINS)).q[-1] for kind in kinds]
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])
    control = da.CompiledControl(library.hold, GAINS)
    np.testing.assert_array_equal(control(state), hold(state))
    assert repr(control) == "<CompiledControl hold>"
    plain = da.simulate(chain(1, axes="y"), 0.1, control=library.fails)  # of ctypes, without data
    assert plain.status == "finished"


def test_wrong_functions_are_refused_by_name() -> None:
    for wrong, why in ((0, "its address is 0"), ("hold", "give a function pointer"), (True, "give a function pointer")):
        with pytest.raises(da.ModelError, match=why):
            da.CompiledControl(wrong)
    with pytest.raises(da.ModelError, match="data"):
        da.CompiledControl(1, data="gains")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(da.CompiledControl(1))


def test_numba_functions_are_controls() -> None:
    numba = pytest.importorskip("numba")
    pointer = "CPointer(float64)"

    @numba.cfunc(f"void(float64, int64, {pointer}, {pointer}, {pointer}, {pointer}, {pointer})")
    def brake(t, run, q, v, x, tau, data):
        tau[0] = -0.5 * v[0]

    model = chain(1, axes="y").compile()
    a = da.simulate(model, 0.5, control=brake)
    b = da.simulate(model, 0.5, control=lambda state: -0.5 * state.v)
    np.testing.assert_array_equal(a.q, b.q)
