"""Absolute tolerances by kind and name, and motions so small that they show."""

import signal

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.flexible_systems import random_flexible

import dalembert as da
from dalembert.library.mechanisms import four_bar
from dalembert.simulation.options import make_options


def oscillators(*sizes: float) -> da.System:
    """Return uncoupled oscillators of circular frequency 1 1/s, displaced by some lengths."""
    s = da.System("oscillators", gravity=(0, 0, 0))
    for k, size in enumerate(sizes):
        s.connect(f"X{k}", da.Prismatic("x"), s.ground, s.body(f"b{k}", da.box(0.1, 0.1, 0.1, mass=1.0)))
        s.connect(f"k{k}", da.JointSpring(stiffness=1.0), f"X{k}")
        s.initial(f"X{k}", position=size)
    return s


def machine() -> da.Model:
    """Return joints of several kinds, a flexible body and a state of an element."""
    s = da.System("machine")
    cart = s.body("cart", da.box(0.1, 0.1, 0.1, mass=1.0))
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    arm = s.body("arm", random_flexible(np.random.default_rng(0), nm=2, clamped=True))
    s.connect("X", da.Planar("z"), s.ground, cart)
    s.connect("B", da.Spherical(), cart, ball)
    s.connect("A", da.Revolute("y"), cart, arm.at(node=0))
    s.connect("valve", da.Element("joint", "-p", states={"p": (1.0, "-p")}, active=True), "A")
    return s.compile()


def numbers(atol: object, model: da.Model) -> np.ndarray:
    return make_options(model, method="auto", rtol=1e-8, atol=atol, max_step=None, step=None).tolerances


def test_kinds_and_names_find_their_variables() -> None:
    m = machine()
    nv = m.nv
    speeds = list(m.speed_names)
    units = np.array(m.compiled.names.speed_units)
    eta = m.v_slice("arm")
    assert (numbers(1e-7, m) == 1e-7).all()
    found = numbers({"position": 1e-5, "speed": 1e-4, "state": 10.0}, m)
    assert (found[:nv] == 1e-5).all() and (found[nv : 2 * nv] == 1e-4).all() and (found[2 * nv :] == 10.0).all()
    found = numbers({"angle": 1e-3, "length.speed": 1e-2}, m)
    turns, slides = np.flatnonzero(units == "rad"), np.flatnonzero(units == "m")
    assert (found[turns] == 1e-3).all() and (found[nv + turns] == 1e-3).all()
    assert (found[slides] == 1e-10).all() and (found[nv + slides] == 1e-2).all()
    found = numbers({"arm.eta": 1e-3, "eta.speed": 1.0, "arm.eta[1].position": 1e-8}, m)
    assert found[:nv][eta].tolist() == [1e-3, 1e-8] and found[nv : 2 * nv][eta].tolist() == [1e-3, 1e-3]
    found = numbers({"valve": 5.0}, m)
    assert found[2 * nv :].tolist() == [5.0]
    assert numbers({"valve.p": 6.0, "valve": 5.0}, m)[2 * nv :].tolist() == [6.0]
    found = numbers({"A": 1e-2, "A.speed": 1e-1, "position": 1.0}, m)
    place = speeds.index("A")
    assert found[place] == 1e-2 and found[nv + place] == 1e-1 and found[m.v_slice("B")][0] == 1.0


@pytest.mark.parametrize(
    ("atol", "said"),
    [
        ({"positions": 1e-3}, "'position'"),
        ({"valv": 1e-3}, "valve"),
        ({"position": 0.0}, "above zero"),
        ({"position": np.nan}, "above zero"),
        ({"position": "small"}, "above zero"),
        ({3: 1e-3}, "by strings"),
        ("tight", "by kind and name"),
        (0.0, "by kind and name"),
    ],
)
def test_what_is_no_tolerance_is_refused(atol: object, said: str) -> None:
    with pytest.raises(da.ModelError, match=said):
        da.simulate(machine(), 0.1, atol=atol)


def test_joints_that_close_loops_have_none() -> None:
    m = four_bar().compile()
    cut = next(iter(m.compiled.names.cut_v))
    with pytest.raises(da.ModelError, match="closes a loop"):
        da.simulate(m, 0.1, atol={cut: 1e-3})


@pytest.mark.parametrize("method", ["auto", "dop853", "dopri5", "radau", "scipy:DOP853", "scipy:Radau"])
def test_each_variable_is_as_accurate_as_its_tolerance(method: str) -> None:
    """One oscillator of nanometres beside one of metres: its own tolerance makes it right."""
    s = oscillators(1.0, 1e-9)
    t = np.linspace(0.0, 20.0, 41)
    fine = da.simulate(s, 20.0, times=t, method=method, atol={"X1": 1e-15, "X0": 1e-9})
    error = np.abs(fine["X1.position"] / 1e-9 - np.cos(t)).max()
    assert error < 1e-4
    assert np.abs(fine["X0.position"] - np.cos(t)).max() < 1e-5
    assert fine.stats.atol == {"X1": 1e-15, "X0": 1e-9} and "X1 1e-15" in repr(fine.stats)


def test_ensembles_take_them_in_simd_batches() -> None:
    s = oscillators(1e-9)
    t = np.linspace(0.0, 20.0, 41)
    fine = da.simulate(s, 20.0, times=t, parameters={"k0.stiffness": np.ones(9)}, atol={"X0": 1e-15})
    alone = da.simulate(s, 20.0, times=t, atol={"X0": 1e-15})
    assert np.abs(fine["X0.position"] / 1e-9 - np.cos(t)).max() < 1e-4
    np.testing.assert_allclose(fine.q[3], alone.q, rtol=0, atol=1e-15)


def test_coarser_ones_save_steps() -> None:
    """A state in pascals need not be known to 1e-10 of them."""
    s = sliding_block()
    law = da.Element("joint", "0", states={"p": (0.0, "1e3 * cos(20 * t)")}, active=True)
    s.connect("valve", law, "X")
    plain = da.simulate(s, 10.0, method="dopri5")
    coarse = da.simulate(s, 10.0, method="dopri5", atol={"valve.p": 1e-2})
    assert coarse.stats.steps < 0.5 * plain.stats.steps
    assert np.abs(coarse["valve.p"] - 50 * np.sin(20 * coarse.t)).max() < 1.0


def test_a_run_goes_on_with_the_same_ones_only() -> None:
    def stop(state: da.State) -> dict[str, float]:
        if state.t > 1.0 and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return {}

    pressed: list[bool] = []
    s, atol = oscillators(1.0), {"X0": 1e-12}
    whole = da.simulate(s, 5.0, atol=atol, control=lambda state: {})
    part = da.simulate(s, 5.0, atol=atol, control=stop)
    assert part.status == "interrupted"
    with pytest.raises(da.ModelError, match="atol"):
        da.simulate(s, 5.0, atol={"X0": 1e-11}, control=lambda state: {}, resume=part)
    rest = da.simulate(s, 5.0, atol=dict(atol), control=lambda state: {}, resume=part)
    np.testing.assert_array_equal(rest.q, whole.q)


def test_they_are_written_with_a_result(tmp_path: object) -> None:
    result = da.simulate(oscillators(1.0), 1.0, atol={"position": 1e-9})
    result.save(f"{tmp_path}/r.csv")
    assert da.Result.load(f"{tmp_path}/r.csv").stats.atol == {"position": 1e-9}


# ---- amplitudes near them


def test_amplitudes_near_the_tolerance_are_reported() -> None:
    s = oscillators(1.0, 1e-9)
    (note,) = da.simulate(s, 20.0).stats.notes
    assert "X1 by 2e-09 m (atol 1e-10)" in note and "X0" not in note and "atol={'X1': 2e-13}" in note
    assert da.simulate(s, 20.0, atol={"X1": 2e-13}).stats.notes == []
    many = da.simulate(s, 20.0, parameters={"k0.stiffness": [1.0, 2.0]})
    assert any("X1" in note for note in many.stats.notes)


def test_rest_and_rounding_are_no_small_motion() -> None:
    assert da.simulate(oscillators(1.0, 0.0), 5.0).stats.notes == []
    assert da.simulate(oscillators(1.0, 1e-17), 5.0).stats.notes == []
    assert da.simulate(oscillators(1e-9), 5.0, method="rk4", fixed_step=0.01).stats.notes == []  # has no tolerance
