"""Errors for wrong arguments, and their messages: every argument of every kernel of the system as described."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import every_joint_both_ways, random_state

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

Array = NDArray[np.float64]
Call = Callable[["Rig"], Any]

NAN, INF = math.nan, math.inf


class Rig:
    """An arm with an element that has a state, an input and a parameter; a four-bar; their states at rest."""

    def __init__(self) -> None:
        system = da.System("rig")
        a, b = (system.body(name, da.rod(length=1.0, mass=1.0, radius=0.1)) for name in "ab")
        system.connect("A", da.Revolute("y"), system.ground, a)
        system.connect("B", da.Revolute("z"), a.at(1, 0, 0), b)
        law = da.Element("joint", "-k*s + u - m", {"k": 2.0}, {"m": (0.1, "s - m")}, inputs={"u": da.Harmonic(1, 2)})
        system.connect("motor", law, "A")
        self.system = system
        self.arm: Any = system.compile()  # which users may call with anything
        self.loop: Any = four_bar().compile()
        self.q, self.v = np.zeros(2), np.zeros(2)
        self.Q, self.V = np.zeros((5, 2)), np.zeros((5, 2))
        self.q3 = da.assemble(self.loop).q
        self.v3 = np.zeros(3)


@pytest.fixture(scope="module")
def rig() -> Rig:
    return Rig()


def with_one(value: float, shape: tuple[int, ...], place: tuple[int, ...]) -> Array:
    """Return zeros with one bad number among them."""
    numbers = np.zeros(shape)
    numbers[place] = value
    return numbers


def refused(rig: Rig, call: Call, pattern: str) -> da.ModelError:
    """Assert that a call is refused in such words, and return the error."""
    __tracebackhide__ = True
    with pytest.raises(da.ModelError, match=pattern) as caught:
        call(rig)
    assert caught.value.item and caught.value.field and caught.value.remedy
    return caught.value


# ---- shapes and types


SHAPES: dict[str, tuple[Call, str]] = {
    "q": (lambda r: r.arm.dynamics(0.0, r.q[:1], r.v), r"shape of q is \(1,\); give \(2,\), or \(B, 2\)"),
    "v": (lambda r: r.arm.dynamics(0.0, r.q, r.V[None]), r"shape of v is \(1, 5, 2\)"),
    "t": (lambda r: r.arm.forward_dynamics(r.q, r.v, t=[[0.0]]), r"shape of t is \(1, 1\); give a number, or \(B,\)"),
    "t of dynamics": (lambda r: r.arm.dynamics([[0.0]], r.q, r.v), r"shape of t is \(1, 1\)"),
    "text for t": (lambda r: r.arm.dynamics("now", r.q, r.v), r"t is 'now'; give an array of real numbers"),
    "x": (lambda r: r.arm.forward_dynamics(r.q, r.v, x=[0.0, 0.0]), r"shape of x is \(2,\); give \(1,\)"),
    "x of dynamics": (lambda r: r.arm.dynamics(0.0, r.q, r.v, 0.1), r"shape of x is \(\)"),
    "x where there are none": (lambda r: r.loop.forward_dynamics(r.q3, r.v3, x=[1.0]), r"shape of x is \(1,\)"),
    "inputs": (lambda r: r.arm.forward_dynamics(r.q, r.v, inputs=[1.0, 2.0]), r"shape of inputs is \(2,\)"),
    "a dict for inputs": (lambda r: r.arm.forward_dynamics(r.q, r.v, inputs={"motor.u": 1.0}), "inputs is"),
    "loads": (lambda r: r.arm.dynamics(0.0, r.q, r.v, loads=np.zeros((2, 5))), r"shape of loads is \(2, 5\)"),
    "tau": (lambda r: r.arm.dynamics(0.0, r.q, r.v, tau=np.zeros(3)), r"shape of tau is \(3,\)"),
    "a": (lambda r: r.arm.dynamics(0.0, r.q, r.v, a=[1.0]), r"shape of a is \(1,\)"),
    "a of inverse dynamics": (lambda r: r.arm.inverse_dynamics(r.q, r.v, [1.0]), r"shape of a is \(1,\)"),
    "a of cut joints": (lambda r: r.loop.cut_motion(r.q3, r.v3, [1.0]), r"shape of a is \(1,\)"),
    "lam": (lambda r: r.loop.loads_of_motion(r.q3, r.v3, r.v3, [1.0, 2.0]), r"shape of lam is \(2,\); give \(5,\)"),
    "x of energy": (lambda r: r.arm.energy(r.q, r.v, x=[1.0, 2.0]), r"shape of x is \(2,\)"),
    "x of bias forces": (lambda r: r.arm.bias_forces(r.q, r.v, x=[1.0, 2.0]), r"shape of x is \(2,\)"),
    "x of a report": (lambda r: r.arm.report(["a"], 0.0, r.q, r.v, [1.0, 2.0]), r"shape of x is \(2,\)"),
    "x of derivatives": (lambda r: r.arm.d_dynamics(0.0, r.q, r.v, [1.0, 2.0]), r"shape of x is \(2,\)"),
    "x of other derivatives": (lambda r: r.arm.d_forward_dynamics(r.q, r.v, x=[1.0, 2.0]), r"shape of x is \(2,\)"),
    "tau of mixed dynamics": (lambda r: r.arm.mixed_dynamics(r.q, r.v, [1.0], r.v, "A"), r"shape of tau is \(1,\)"),
    "a of mixed dynamics": (lambda r: r.arm.mixed_dynamics(r.q, r.v, r.v, [1.0], "A"), r"shape of a is \(1,\)"),
    "t of residuals": (lambda r: r.loop.constraint_residual(r.q3, t=[[1.0]]), r"shape of t is \(1, 1\)"),
    "v of momentum": (lambda r: r.arm.momentum(r.q, [1.0]), r"shape of v is \(1,\)"),
    "about of momentum": (lambda r: r.arm.momentum(r.q, r.v, about=[1.0, 2.0]), "about"),
    "many states for one": (lambda r: r.loop.connection_loads(np.array([r.q3] * 2), r.v3), "one state at a time"),
    "many speeds for one": (lambda r: r.loop.connection_loads(r.q3, np.zeros((2, 3))), "v"),
    "many forces for one": (lambda r: r.loop.connection_loads(r.q3, r.v3, np.zeros((2, 3))), "tau"),
    "many times for one": (lambda r: r.loop.connection_loads(r.q3, r.v3, t=[1.0]), "t is"),
    "name of an input": (lambda r: r.arm.input_values({"motor.v": 1.0}), r"'motor\.v'; known are: 'motor\.u'"),
    "text for an input": (lambda r: r.arm.input_values({"motor.u": "much"}), r"input 'motor\.u' is 'much'"),
    "a list of joints for one": (lambda r: r.arm.q_slice(["A"]), r"joint is \['A'\]"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_arrays_of_another_shape_or_type_are_refused_by_name(rig: Rig, name: str) -> None:
    refused(rig, *SHAPES[name])


def test_inputs_for_different_numbers_of_states_are_refused(rig: Rig) -> None:
    system = rig.system.copy()
    system.connect("push", da.Effort(da.Harmonic(1.0, 1.0)), "B")
    model = system.compile()
    with pytest.raises(da.ModelError, match=r"motor\.u.*push\.effort|push\.effort.*motor\.u"):
        model.input_values({"motor.u": [1.0, 2.0], "push.effort": [1.0, 2.0, 3.0]})


# ---- numbers that are none


ENTRIES: dict[str, tuple[Call, str]] = {
    "q": (lambda r: r.arm.forward_dynamics(with_one(NAN, (5, 2), (2, 1)), r.v), r"q\[2, 1\] \(B\) is nan"),
    "v": (lambda r: r.arm.forward_dynamics(r.q, with_one(INF, (5, 2), (4, 0))), r"v\[4, 0\] \(A\) is inf"),
    "tau": (lambda r: r.arm.forward_dynamics(r.q, r.v, with_one(-INF, (5, 2), (4, 0))), r"tau\[4, 0\] \(A\) is -inf"),
    "t": (lambda r: r.arm.forward_dynamics(r.Q, r.V, t=[0, 0, NAN, 0, 0]), r"t\[2\] is nan"),
    "one t": (lambda r: r.arm.dynamics(INF, r.q, r.v), r"t is inf"),
    "x": (lambda r: r.arm.dynamics(0.0, r.Q, r.V, with_one(NAN, (5, 1), (3, 0))), r"x\[3, 0\] \(motor\.m\) is nan"),
    "loads": (
        lambda r: r.arm.dynamics(0.0, r.Q, r.V, loads=with_one(NAN, (5, 2, 6), (1, 0, 3))),
        r"loads\[1, 0, 3\] \(a\) is nan",
    ),
    "a": (lambda r: r.arm.inverse_dynamics(r.q, r.v, with_one(NAN, (4, 2), (3, 1))), r"a\[3, 1\] \(B\) is nan"),
    "prescribed a": (lambda r: r.arm.dynamics(0.0, r.q, r.v, a=with_one(NAN, (2, 2), (1, 1))), r"a\[1, 1\] \(B\)"),
    "lam": (
        lambda r: r.loop.loads_of_motion(r.q3, r.v3, r.v3, with_one(NAN, (5,), (1,))),
        r"lam\[1\] \(D\.y\) is nan",
    ),
    "report": (lambda r: r.arm.report(["a"], 0.0, with_one(NAN, (5, 2), (2, 1)), r.v), r"q\[2, 1\] \(B\) is nan"),
    "derivatives": (lambda r: r.arm.d_dynamics(0.0, r.q, with_one(NAN, (5, 2), (2, 1))), r"v\[2, 1\] \(B\) is nan"),
    "d_forward": (lambda r: r.arm.d_forward_dynamics(r.q, with_one(NAN, (5, 2), (2, 1))), r"v\[2, 1\] \(B\) is nan"),
    "d_inverse": (
        lambda r: r.arm.d_inverse_dynamics(r.q, r.v, with_one(NAN, (5, 2), (2, 1))),
        r"a\[2, 1\] \(B\) is nan",
    ),
    "bias": (lambda r: r.arm.bias_forces(r.q, with_one(NAN, (5, 2), (2, 1))), r"v\[2, 1\] \(B\) is nan"),
    "energy": (lambda r: r.arm.energy(r.q, with_one(NAN, (5, 2), (2, 1))), r"v\[2, 1\] \(B\) is nan"),
    "loop": (lambda r: r.loop.dynamics(0.0, with_one(NAN, (5, 3), (4, 2)), r.v3), r"q\[4, 2\] \(C\) is nan"),
    "rows": (lambda r: r.loop.constraint_bias(r.q3, with_one(NAN, (5, 3), (4, 2))), r"v\[4, 2\] \(C\) is nan"),
    "mixed": (
        lambda r: r.arm.mixed_dynamics(r.q, r.v, r.v, with_one(NAN, (5, 2), (2, 1)), "A"),
        r"a\[2, 1\] \(B\) is nan",
    ),
    "one input": (lambda r: r.arm.forward_dynamics(r.q, r.v, inputs=[INF]), r"inputs\[0\]( \(motor\.u\))? is inf"),
    "inputs": (
        lambda r: r.arm.forward_dynamics(r.Q, r.V, inputs=with_one(INF, (5, 1), (3, 0))),
        r"inputs\[3, 0\]( \(motor\.u\))? is inf",
    ),
    "inputs below": (
        lambda r: r.arm.dynamics(0.0, r.Q, r.V, inputs=with_one(-INF, (5, 1), (3, 0))),
        r"inputs\[3, 0\]( \(motor\.u\))? is -inf",
    ),
    "input by name": (lambda r: r.arm.input_values({"motor.u": [1.0, NAN]}), r"input 'motor\.u' is \[1\.0, nan\]"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_number_that_is_none_is_named_with_its_place_in_the_batch(rig: Rig, name: str) -> None:
    refused(rig, *ENTRIES[name])


SIZES: dict[str, tuple[Call, str]] = {
    "v": (lambda r: r.arm.dynamics(0.0, r.Q, r.V[:3]), "v is 3"),
    "t": (lambda r: r.arm.forward_dynamics(r.Q, r.V, t=[0.0, 1.0]), "t is 2"),
    "x": (lambda r: r.arm.dynamics(0.0, r.Q, r.V, np.zeros((3, 1))), "x is 3"),
    "tau": (lambda r: r.arm.forward_dynamics(r.Q, r.v, r.V[:4]), "tau is 4"),
    "loads": (lambda r: r.arm.dynamics(0.0, r.Q, r.v, loads=np.zeros((4, 2, 6))), "loads is 4"),
    "inputs": (lambda r: r.arm.dynamics(0.0, r.Q, r.v, inputs=np.zeros((6, 1))), "inputs is 6"),
    "a": (lambda r: r.arm.inverse_dynamics(r.Q, r.v, r.V[:1]), "a is 1"),
    "report": (lambda r: r.arm.report(["a"], [0.0, 1.0], r.Q, r.v), "t is 2"),
    "derivatives": (lambda r: r.arm.d_dynamics(0.0, r.Q, r.V[:2]), "v is 2"),
}


@pytest.mark.parametrize("name", SIZES)
def test_batches_of_different_sizes_are_refused(rig: Rig, name: str) -> None:
    call, words = SIZES[name]
    refused(rig, call, f"the batch size of {words}; all batched arrays need the same number of states")


@pytest.mark.parametrize("kernel", ["forward_dynamics", "dynamics", "report", "d_dynamics"])
def test_results_that_are_too_large_are_reported(kernel: str) -> None:
    """And nothing else: the states themselves are finite and of the right shape."""
    model, q, v = chain(3).compile(), np.zeros(3), np.full(3, 1e200)
    calls: dict[str, Callable[[], Any]] = {
        "forward_dynamics": lambda: model.forward_dynamics(q, v),
        "dynamics": lambda: model.dynamics(0.5, q, v),
        "report": lambda: model.report(["a"], 0.5, q, v),
        "d_dynamics": lambda: model.d_dynamics(0.5, q, v),
    }
    with pytest.raises(da.ModelError, match=rf"{kernel}: result is 'not finite'.* too large"):
        calls[kernel]()


@pytest.mark.parametrize("kernel", ["forward_dynamics", "dynamics", "report"])
def test_a_dof_without_inertia_is_named_by_every_kernel(kernel: str) -> None:
    system = da.System("thin", gravity=(0, 0, 0))
    a, b = (system.body(name, mass=1.0, com=(1, 0, 0), inertia=(0, 1, 1)) for name in "ab")
    system.connect("A", da.Revolute("x"), system.ground, a)
    system.connect("B", da.Revolute("z"), a, b)
    model, rest = system.compile(), [0.0, 0.0]
    with pytest.raises(da.SingularityError, match="nothing resists along 'A'"):
        if kernel == "forward_dynamics":
            model.forward_dynamics(rest, rest)
        elif kernel == "dynamics":
            model.dynamics(0.0, rest, rest)
        else:
            model.report(["a"], 0.0, rest, rest)


def test_a_law_that_gives_no_number_is_hinted_at_by_every_kernel() -> None:
    system = da.System("odd")
    ball = system.body("ball", da.sphere(0.05, mass=1.0))
    system.connect("free", da.Free(), system.ground, ball)
    law = da.Element("place", ["0", "0", "u"], unknowns={"u": (1.0, "u**2 + 1 - 4*t")})
    system.connect("odd", law, system.ground, ball)
    model = system.compile()
    q, rest = model.zero_configuration(), np.zeros(6)
    for call in (
        lambda: model.forward_dynamics(q, rest),
        lambda: model.forward_dynamics([q] * 3, rest, t=[1.0, 0.0, 1.0]),
        lambda: model.dynamics(0.0, q, rest),
        lambda: model.report(["a"], 0.0, q, rest),
        lambda: model.inverse_dynamics(q, rest, rest),
        lambda: model.d_dynamics(0.0, q, rest),
    ):
        with pytest.raises(da.ModelError, match=r"result is 'not finite'.* law of an element"):
            call()


# ---- where results go


def read_only(shape: tuple[int, ...]) -> Array:
    """Return an array that cannot be written to."""
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


OUT: dict[str, Callable[[], Any]] = {
    "shape": lambda: np.zeros((4, 2)),
    "one axis too few": lambda: np.zeros(10),
    "one axis too many": lambda: np.zeros((1, 5, 2)),
    "single precision": lambda: np.zeros((5, 2), dtype=np.float32),
    "integers": lambda: np.zeros((5, 2), dtype=int),
    "other byte order": lambda: np.zeros((5, 2), dtype=">f8"),
    "columns first": lambda: np.zeros((5, 2), order="F"),
    "every other number": lambda: np.zeros((5, 4))[:, ::2],
    "read-only": lambda: read_only((5, 2)),
    "not aligned": lambda: np.frombuffer(bytearray(81), dtype=np.uint8)[1:].view(np.float64).reshape(5, 2),
    "list": lambda: [[0.0, 0.0]] * 5,
}


@pytest.mark.parametrize("kernel", ["forward_dynamics", "inverse_dynamics", "bias_forces", "coordinate_rates"])
@pytest.mark.parametrize("name", OUT)
def test_results_need_a_fitting_place(rig: Rig, kernel: str, name: str) -> None:
    arrays = (rig.Q, rig.V, rig.V) if kernel == "inverse_dynamics" else (rig.Q, rig.V)
    with pytest.raises(da.ModelError, match=r"out is .*; give a writable float64 array in C order, of the shape"):
        getattr(rig.arm, kernel)(*arrays, out=OUT[name]())


def test_dynamics_takes_no_place_for_its_results(rig: Rig) -> None:
    with pytest.raises(TypeError, match="out"):
        rig.arm.dynamics(0.0, rig.q, rig.v, out=np.zeros(2))


def test_a_result_may_not_lie_across_the_rows_of_an_input(rig: Rig) -> None:
    memory = np.zeros((6, 2))
    for arrays in ((memory[:5], rig.V), (rig.Q, memory[1:])):
        out = memory[1:] if arrays[0] is not rig.Q else memory[:5]
        with pytest.raises(da.ModelError, match="out is"):
            rig.arm.forward_dynamics(*arrays, out=out)
    numbers = np.zeros(10)
    for more in ({"t": numbers[:5]}, {"x": numbers[:5, None]}, {"inputs": numbers[:5, None]}):
        with pytest.raises(da.ModelError, match="out is"):
            rig.arm.forward_dynamics(rig.Q, rig.V, **more, out=numbers.reshape(5, 2))
    with pytest.raises(da.ModelError, match="out is"):
        rig.arm.forward_dynamics(numbers[:2], rig.V, out=numbers.reshape(5, 2))  # one state for the whole batch


OVERLAPPING = ("integrate", "coordinate_rates", "difference", "mass_matrix", "solve_mass_matrix", "velocities")


@pytest.mark.parametrize("kernel", [*OVERLAPPING, "forward_dynamics", "inverse_dynamics"])
def test_a_result_across_an_input_is_refused_or_right(kernel: str) -> None:
    """For one state too: whatever is accepted as `out` leaves what is read as it is until it has been read."""
    rng = np.random.default_rng(0)
    system = every_joint_both_ways(rng)
    model = system.compile()
    q, v = random_state(system, rng)
    w = rng.normal(size=model.nv)
    given: dict[str, dict[str, Array]] = {
        "difference": {"q0": q, "q1": random_state(system, rng)[0]},
        "mass_matrix": {"q": q},
        "solve_mass_matrix": {"q": q, "x": w},
        "forward_dynamics": {"q": q, "v": v, "tau": w},
        "inverse_dynamics": {"q": q, "v": v, "a": w},
    }
    arguments = given.get(kernel, {"q": q, "v": v})
    function = getattr(model, kernel)
    expected = function(**arguments)
    accepted, wrong = [], []
    for name, value in arguments.items():
        for shift in range(1 - expected.size, value.size):
            memory = np.zeros(value.size + 2 * expected.size)
            begin = expected.size
            moved = memory[begin : begin + value.size]
            moved[:] = value
            out = memory[begin + shift : begin + shift + expected.size].reshape(expected.shape)
            try:
                found = function(**{**arguments, name: moved}, out=out)
            except da.ModelError:
                continue
            accepted.append(shift)
            if not np.array_equal(found, expected):
                wrong.append((name, shift))
    assert not wrong
    assert set(accepted) <= {0}  # in place at most; every other overlap is refused


# ---- conditions


KERNELS: dict[str, Callable[[da.Model, Array, Any], Any]] = {
    "forward_dynamics": lambda m, q, more: m.forward_dynamics(q, q, **more),
    "dynamics": lambda m, q, more: m.dynamics(0.0, q, q, **more),
    "inverse_dynamics": lambda m, q, more: m.inverse_dynamics(q, q, q, **more),
    "bias_forces": lambda m, q, more: m.bias_forces(q, q, **more),
    "energy": lambda m, q, more: m.energy(q, q, **more),
    "d_forward_dynamics": lambda m, q, more: m.d_forward_dynamics(q, q, **more),
    "d_inverse_dynamics": lambda m, q, more: m.d_inverse_dynamics(q, q, q, **more),
    "d_dynamics": lambda m, q, more: m.d_dynamics(0.0, q, q, **more),
    "report": lambda m, q, more: m.report(["a"], 0.0, q, q, **more),
}
BARE = [name for name in KERNELS if name not in ("d_dynamics", "report")]


@pytest.mark.parametrize("kernel", KERNELS)
def test_conditions_of_another_model_are_refused(rig: Rig, kernel: str) -> None:
    for conditions, words in (
        (rig.loop.conditions(), "another model, of system 'four-bar'"),
        (rig.system.compile().conditions(), "another model, of system 'rig'"),
        ({"motor.k": 3.0}, r"make them with model\.conditions"),
    ):
        with pytest.raises(da.ModelError, match=f"conditions is .*{words}"):
            KERNELS[kernel](rig.arm, rig.q, {"conditions": conditions})


@pytest.mark.parametrize("kernel", BARE)
def test_a_bare_tree_takes_no_conditions(rig: Rig, kernel: str) -> None:
    conditions = rig.arm.conditions({"motor.k": 3.0})
    with pytest.raises(da.ModelError, match=r"conditions is .*a bare tree has no conditions"):
        KERNELS[kernel](rig.arm, rig.q, {"conditions": conditions, "bare": True})


CONDITIONS: dict[str, tuple[Call, str]] = {
    "parameter": (lambda r: r.arm.conditions({"motor.c": 1.0}), r"'motor\.c'; known are: 'motor\.k'"),
    "value": (lambda r: r.arm.conditions({"motor.k": NAN}), r"parameter 'motor\.k' is nan"),
    "text": (lambda r: r.arm.conditions({"motor.k": "stiff"}), r"parameter 'motor\.k' is 'stiff'"),
    "number of parameters": (lambda r: r.arm.conditions([1.0, 2.0]), "parameters is"),
    "lock": (lambda r: r.arm.conditions(locked="C"), "'C'"),
    "switch of a tree": (lambda r: r.arm.conditions(off="A"), "only loop constraints can be switched"),
    "switch of a loop": (lambda r: r.loop.conditions(off="A"), "'D'; a tree joint can be locked"),
    "control": (lambda r: r.arm.conditions(control=3), "control is 3"),
    "stabilization": (lambda r: r.loop.conditions(stabilization=3), "stabilization is 3"),
    "stabilization that is no number": (lambda r: r.loop.conditions(stabilization=(NAN, 1.0)), "stabilization is"),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_that_cannot_be_are_refused(rig: Rig, name: str) -> None:
    refused(rig, *CONDITIONS[name])


# ---- parts and keywords


@pytest.mark.parametrize("part", ["b", "A", "energy.total", 0, None])
def test_a_part_that_no_report_has_is_named(rig: Rig, part: Any) -> None:
    error = refused(rig, lambda r: r.arm.report(["a", part], 0.0, r.q, r.v), f"part is {part!r}; there are 'a', 'dx'")
    assert "'energy'" in error.remedy


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_keyword_that_a_kernel_does_not_have_is_a_type_error(rig: Rig, kernel: str, plain: bool, bare: bool) -> None:
    """Also of a tree that holds nothing but bodies, for which less has to be done."""
    model = chain(2).compile() if plain else rig.arm
    more = {"bare": True} if bare and kernel in BARE else {}
    with pytest.raises(TypeError, match="torque"):
        KERNELS[kernel](model, rig.q, {**more, "torque": rig.v})


@pytest.mark.parametrize("kernel", ["bias_forces", "energy", "d_forward_dynamics", "d_inverse_dynamics"])
def test_times_and_states_are_looked_at_though_a_plain_tree_has_no_use_for_them(rig: Rig, kernel: str) -> None:
    model = chain(2).compile()
    for more, word in (({"t": "now"}, "t is 'now'"), ({"x": [1.0]}, "shape of x"), ({"inputs": [1.0]}, "inputs")):
        with pytest.raises(da.ModelError, match=word):
            KERNELS[kernel](model, rig.q, more)


def test_simulate_has_the_keywords_that_it_has(rig: Rig) -> None:
    with pytest.raises(TypeError, match="torque"):
        da.simulate(rig.arm, 1.0, torque=3.0)  # type: ignore[call-arg]


CALLED: dict[str, Call] = {
    "bias_forces": lambda r: r.arm.bias_forces(r.q, r.v[:1]),
    "energy": lambda r: r.arm.energy(r.q, r.v, x=[1.0, 2.0]),
    "momentum": lambda r: r.arm.momentum(r.q, r.v[:1]),
    "mixed_dynamics": lambda r: r.arm.mixed_dynamics(r.q, r.v[:1], r.v, r.v, "A"),
    "d_forward_dynamics": lambda r: r.arm.d_forward_dynamics(r.q, r.v[:1]),
    "d_inverse_dynamics": lambda r: r.arm.d_inverse_dynamics(r.q, r.v[:1], r.v),
    "reactions": lambda r: r.arm.reactions(r.q, r.v[:1], r.v),
    "connection_loads": lambda r: r.loop.connection_loads(r.q3, r.v3[:1]),
    "loads_of_motion": lambda r: r.loop.loads_of_motion(r.q3, r.v3[:1], r.v3, np.zeros(5)),
    "multipliers": lambda r: r.loop.multipliers(r.q3, r.v3[:1]),
    "pose": lambda r: r.arm.pose("a", r.q[:1]),
    "velocity": lambda r: r.arm.velocity("a", r.q, r.v[:1]),
}


@pytest.mark.parametrize("kernel", CALLED)
def test_a_refusal_names_the_kernel_that_was_called(rig: Rig, kernel: str) -> None:
    """Not one that it calls in turn, which the user may never have heard of."""
    assert refused(rig, CALLED[kernel], "the shape of").item == kernel


# ---- states of simulations


def state(q: Any, v: Any, x: Any = ()) -> da.State:
    """Return a state, of whatever it is made."""
    return da.State(q=np.asarray(q), v=np.asarray(v), x=np.asarray(x, dtype=float))


STARTS: dict[str, tuple[Any, str]] = {
    "of another model": (state(np.zeros(3), np.zeros(3)), r"state\.q"),
    "speeds of another model": (state(np.zeros(2), np.zeros(3)), r"state\.v"),
    "element states of another model": (state(np.zeros(2), np.zeros(2), np.zeros(2)), r"state\.x"),
    "many of another model": (state(np.zeros((2, 3)), np.zeros((2, 3))), r"state\.q"),
    "too many axes": (state(np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), r"state\.q"),
    "batches of two sizes": (state(np.zeros((2, 2)), np.zeros((3, 2))), r"state\.q 2, state\.v 3"),
    "element states of a third size": (state(np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((3, 1))), r"state\.x"),
    "not a number": (state([0.0, NAN], [0.0, 0.0]), r"state\.q"),
    "not a number among many": (state(with_one(NAN, (300, 2), (41, 1)), np.zeros((300, 2))), r"state\.q\[41, 1\]"),
    "infinite among many": (state(np.zeros((300, 2)), with_one(INF, (300, 2), (41, 0))), r"state\.v\[41, 0\]"),
    "text": (state(["a", "b"], [0.0, 0.0]), r"state\.q"),
    "a dict of arrays": ({"q": [0.0, 0.0]}, "name is .q.; for whole arrays give a da.State"),
    "a tuple": (([0.0, 0.0], [0.0, 0.0]), "state is .*State"),
}


@pytest.mark.parametrize("name", STARTS)
def test_states_to_start_from_that_do_not_fit_are_refused(rig: Rig, name: str) -> None:
    start, words = STARTS[name]
    refused(rig, lambda r: da.simulate(r.arm, 1.0, state=start), f"(simulate|start values): .*{words}")


PARAMETERS: dict[str, tuple[Any, str]] = {
    "name": ({"motor.c": 1.0}, r"'motor\.c'"),
    "not a number": ({"motor.k": NAN}, r"parameter 'motor\.k' is nan"),
    "text": ({"motor.k": "stiff"}, r"parameter 'motor\.k' is 'stiff'"),
    "text among many": ({"motor.k": [1.0, "stiff"]}, r"parameter 'motor\.k'"),
    "not a number among many": ({"motor.k": [1.0, NAN]}, r"parameter 'motor\.k'"),
    "two axes": ({"motor.k": [[1.0, 2.0]]}, r"parameter 'motor\.k'"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_a_simulation_that_cannot_be_are_refused(rig: Rig, name: str) -> None:
    numbers, words = PARAMETERS[name]
    refused(rig, lambda r: da.simulate(r.arm, 1.0, parameters=numbers), words)


def test_runs_with_states_and_parameters_of_different_numbers_are_refused(rig: Rig) -> None:
    start = state(np.zeros((2, 2)), np.zeros((2, 2)))
    refused(
        rig,
        lambda r: da.simulate(r.arm, 1.0, state=start, parameters={"motor.k": [1.0, 2.0, 3.0]}),
        r"number of runs is .*'motor\.k' 3, state\.q 2",
    )


def test_what_is_neither_system_nor_model_is_refused(rig: Rig) -> None:
    refused(rig, lambda r: da.simulate(3, 1.0), "give a System or a compiled Model")  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", ["mass_matrix", "forward_dynamics", "dynamics", "massless_dof"])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_positions_beyond_double_precision_are_refused_at_once(kernel: str) -> None:
    s = da.System("long slide")
    a, b = s.body("a", da.rod(1.0, 1.0)), s.body("b", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Prismatic("x"), a.at(1, 0, 0), b)
    model = s.compile()
    still = np.zeros(2)
    calls = {"forward_dynamics": (still, still), "dynamics": (still,)}
    begin = (0.0,) if kernel == "dynamics" else ()
    with pytest.raises(da.ModelError, match=f"^{kernel}: result is 'not finite'; the inputs are too large"):
        getattr(model, kernel)(*begin, np.array([0.0, 1e160]), *calls.get(kernel, ()))


def test_a_sweep_of_the_core_without_times_is_refused() -> None:
    from dalembert.model.driven_kinematics import rates_at

    model = four_bar().compile()
    with pytest.raises(ValueError, match="at least one time"):
        rates_at(model, np.zeros(0), np.zeros((0, model.nq)))


def test_a_factor_takes_numbers_that_begin_at_any_byte() -> None:
    model = chain(4).compile()
    raw = np.zeros(8 * model.nv + 1, dtype=np.uint8)
    q = np.frombuffer(raw.data, dtype=float, count=model.nv, offset=1)
    q[:] = np.linspace(-1.0, 1.0, model.nv)
    assert not q.flags.aligned
    np.testing.assert_allclose(model.mass_matrix(q.copy()) @ model.factor(q).solve(q), q.copy(), atol=1e-12)
