"""Models, results and errors through pickle and copy, into other processes; what stays with a model."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.element_examples import ELEMENTS, LAWS, model_with
from systems.flexible_systems import random_flexible
from systems.smooth_motions import MOTIONS

import dalembert as da
from dalembert.errors import MissingPackageError
from dalembert.library import chain
from dalembert.library.mechanisms import andrews, door, four_bar

Array = NDArray[np.float64]
T = TypeVar("T")


def pickled(thing: T) -> T:
    """Return what comes out of a pickle."""
    there: T = pickle.loads(pickle.dumps(thing))
    return there


COPIES: dict[str, Callable[[Any], Any]] = {"pickle": pickled, "copy": copy.copy, "deepcopy": copy.deepcopy}
every_way = pytest.mark.parametrize("way", COPIES)


def push(t: float) -> float:
    """A law that can be found by its name."""
    return math.sin(3 * t)


def brake(state: da.State) -> Array:
    """A control that can be found by its name."""
    return -0.3 * state.v


def machine() -> da.System:
    """Return a four-bar with a spring, an element with a state, a law in Python and a marker with a name."""
    system = four_bar()
    system.bodies["coupler"].marker("pen", 1.2, 0.3, 0)
    system.connect("k", da.TorsionSpring(3.0), "A")
    system.connect("lag", da.Element("joint", "-c*(s - m)", {"c": 2.0}, {"m": (0.1, "3*(s - m)")}), "B")
    system.connect("push", da.Effort(push), "A")
    return system


def closed_state(model: da.Model) -> tuple[Array, Array]:
    """Return a state that closes the loops."""
    q = da.assemble(model).q
    return q, da.consistent_velocities(model, q, np.ones(model.nv))


def assert_same_dynamics(model: da.Model, other: da.Model, q: Array, v: Array) -> None:
    """Assert that two models give the same bits."""
    __tracebackhide__ = True
    assert other.speed_names == model.speed_names and other.constraint_names == model.constraint_names
    for found, expected in zip(other.dynamics(0.3, q, v), model.dynamics(0.3, q, v), strict=True):
        assert (found == expected).all()


# ---- models


PORTABLE = [name for name in MOTIONS if name not in ("driven_joints", "springs_and_loads")]  # these hold lambdas


@every_way
@pytest.mark.parametrize("motion", PORTABLE)
def test_a_model_can_be_pickled(motion: str, way: str) -> None:
    made = MOTIONS[motion]()
    state = made.state or da.State(*closed_state(made.model))
    assert_same_dynamics(made.model, COPIES[way](made.model), state.q, state.v)


@every_way
def test_a_model_with_elements_and_laws_can_be_pickled(way: str) -> None:
    model = machine().compile()
    other = COPIES[way](model)
    q, v = closed_state(model)
    assert_same_dynamics(model, other, q, v)
    assert other.parameter_names == model.parameter_names and other.state_names == model.state_names
    assert (other.pose("coupler.pen", q).position == model.pose("coupler.pen", q).position).all()
    softer = other.conditions({"k.stiffness": 1.0})
    expected = model.forward_dynamics(q, v, conditions=model.conditions({"k.stiffness": 1.0}))
    assert (other.forward_dynamics(q, v, conditions=softer) == expected).all()


@every_way
def test_a_model_of_flexible_bodies_and_custom_joints_can_be_pickled(way: str) -> None:
    system = da.System("flexible")
    arm = system.body("arm", random_flexible(np.random.default_rng(0), nm=3))
    bent = da.CustomJoint(("s",), ("s", "h*sin(s)", "0"), [("z", "0.3*s")], {"h": 0.2})
    system.connect("A", bent, system.ground, arm.at(node=0))
    model = system.compile()
    state = model.random_state(0)
    assert_same_dynamics(model, COPIES[way](model), state.q, state.v)


def test_model_system_and_result_pickled_together_stay_together() -> None:
    system = machine()
    model = system.compile()
    result = da.simulate(model, 0.1)
    other_system, other_model, other_result = pickled((system, model, result))
    assert other_result.model is other_model
    q = result.q[0]
    pen = other_system.bodies["coupler"].at(1.2, 0.3, 0)  # made anew, on a body of the system that came along
    assert (other_model.pose(pen, q).position == model.pose("coupler.pen", q).position).all()


@every_way
def test_conditions_are_pickled_with_their_model(way: str) -> None:
    model = machine().compile()
    q, v = closed_state(model)
    for conditions in (
        model.conditions({"k.stiffness": 7.0}, locked="B", stabilization=(1.0, 2.0)),
        model.conditions(off=model.closure_names[0], control=brake),
    ):
        other = COPIES[way](conditions)
        assert (other.locked, other.off, other.stabilization) == (
            conditions.locked,
            conditions.off,
            conditions.stabilization,
        )
        assert (other.parameters == conditions.parameters).all() and other.control is conditions.control
        found = other.model.forward_dynamics(q, v, conditions=other)
        assert (found == model.forward_dynamics(q, v, conditions=conditions)).all()


@every_way
def test_a_state_can_be_pickled(way: str) -> None:
    state = da.State(np.array([0.1, 0.2]), np.array([0.3, 0.4]), 0.5, np.array([0.6]))
    other = COPIES[way](state)
    assert other.t == state.t
    for name in ("q", "v", "x"):
        assert (getattr(other, name) == getattr(state, name)).all()


# ---- systems


@every_way
def test_a_system_can_be_pickled(way: str) -> None:
    system = machine()
    other = COPIES[way](system)
    assert list(other.bodies) == list(system.bodies) and list(other.forces) == list(system.forces)
    model = system.compile()
    assert_same_dynamics(model, other.compile(), *closed_state(model))


@every_way
def test_changing_a_copy_of_a_system_leaves_the_other_as_it_was(way: str) -> None:
    system = machine()
    other = COPIES[way](system)
    other.body("extra", mass=1.0, inertia=(1, 1, 1))
    other.connect("E", da.Revolute("z"), other.bodies["coupler"], other.bodies["extra"])
    other.bodies["crank"].mass = 5.0
    assert "extra" not in system.bodies and "E" not in system.connections
    assert system.bodies["crank"].mass == four_bar().bodies["crank"].mass
    assert all(body.system is other for body in other.bodies.values())


# ---- results


@pytest.fixture(scope="module")
def run() -> da.Result:
    result: da.Result = da.simulate(machine(), 0.5)
    return result


def assert_same_result(other: da.Result, result: da.Result) -> None:
    """Assert that states, dense output and outputs by name are the same, to the bit."""
    __tracebackhide__ = True
    assert (other.t == result.t).all() and (other.q == result.q).all() and (other.x == result.x).all()
    assert other.stats == result.stats and (other.status, other.message) == (result.status, result.message)
    times = np.linspace(result.t[0], result.t[-1], 23)
    between, expected = other.at(times), result.at(times)
    assert (between.q == expected.q).all() and (between.v == expected.v).all() and (between.x == expected.x).all()
    for name in ("energy.balance", "k.effort", "lag.m", "C.force", "coupler.pen.velocity"):
        assert (other[name] == result[name]).all(), name


@every_way
def test_a_result_is_pickled_with_its_dense_output(run: da.Result, way: str) -> None:
    other = COPIES[way](run)
    assert_same_result(other, run)
    middle = 0.5 * (run.t[3] + run.t[4])
    assert (other.at(middle).q == run.at(middle).q).all()


@every_way
def test_a_result_at_other_times_can_be_pickled(run: da.Result, way: str) -> None:
    part = run.at(np.linspace(0.1, 0.4, 5))
    other = COPIES[way](part)
    assert_same_result(other, part)


@every_way
def test_a_result_remembers_what_events_have_changed(way: str) -> None:
    stiffer = da.Event("stiffer", "A.position", 0.9, action=lambda now: now.set("k.stiffness", 9.0))
    result = da.simulate(machine(), 0.5, events=stiffer)
    assert len(result.events) == 1
    other = COPIES[way](result)
    found, expected = other.events[0], result.events[0]
    assert (found.name, found.t, found.message) == (expected.name, expected.t, expected.message)
    assert (found.v == expected.v).all()
    assert_same_result(other, result)


def _past_half(state: da.State) -> float:
    return state.t - 0.2


def test_a_run_goes_on_from_a_state_that_has_travelled() -> None:
    model = machine().compile()
    whole = da.simulate(model, 0.4)
    half = da.simulate(model, 0.4, events=da.Event("half", _past_half, terminal=True))
    assert half.status == "event"
    rest = da.simulate(pickled(model), 0.4, t_start=float(half.t[-1]), state=pickled(half.final_state))
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-7)


class Press:
    """A control that does nothing but press Ctrl-C, once."""

    def __init__(self, moment: float) -> None:
        self.moment = moment

    def __call__(self, state: da.State) -> None:
        if state.t >= self.moment:
            self.moment = math.inf
            signal.raise_signal(signal.SIGINT)


@every_way
def test_an_interrupted_run_that_has_travelled_goes_on_to_the_same_bits(way: str) -> None:
    model = machine().compile()
    part = da.simulate(model, 0.4, control=Press(0.2))
    assert part.status == "interrupted"
    other = COPIES[way](part)
    rest, expected = (da.simulate(r.model, 0.4, control=Press(math.inf), resume=r) for r in (other, part))
    assert (rest.q == expected.q).all() and rest.t[-1] == 0.4


@pytest.fixture(scope="module")
def ensemble() -> da.Ensemble:
    system = four_bar()
    system.connect("k", da.TorsionSpring(3.0), "A")
    model = system.compile()
    q, v = closed_state(model)
    state = da.State(q=np.array([q] * 3), v=np.array([v, 0 * v, -v]))
    many = da.simulate(model, 0.2, state=state, parameters={"k.stiffness": np.array([1.0, 2.0, 3.0])})
    assert isinstance(many, da.Ensemble)
    return many


@every_way
def test_an_ensemble_can_be_pickled(ensemble: da.Ensemble, way: str) -> None:
    other = COPIES[way](ensemble)
    assert (other.q == ensemble.q).all() and other.status == ensemble.status and other.stats == ensemble.stats
    assert (other["k.effort"] == ensemble["k.effort"]).all()
    for alone, expected in zip(other, ensemble, strict=True):
        assert (alone["k.effort"] == expected["k.effort"]).all()
        assert (alone.at(0.123).q == expected.at(0.123).q).all()


# ---- errors


def _broken(state: da.State) -> Array:
    if state.t > 0.1:
        raise ValueError("broken")
    return 0 * state.v


def _without_bound() -> None:
    system = da.System("wall")
    system.connect("A", da.Revolute("z"), system.ground, system.body("b", da.rod(1.0, 1.0, radius=0.1)))
    system.connect("wall", da.Element("joint", "1/(0.1 - t)**2"), "A")
    da.simulate(system, 1.0)


def _locked() -> None:
    system = four_bar(2.0, 1.0, 1.0, 2.2, angle=0.3)
    system.drive("A", position=da.Polynomial((0.3, 1.0)))
    da.simulate(system, 3.0)


def _without_inertia() -> None:
    system = da.System("thin", gravity=(0, 0, 0))
    a, b = (system.body(name, mass=1.0, com=(1, 0, 0), inertia=(0, 1, 1)) for name in "ab")
    system.connect("A", da.Revolute("x"), system.ground, a)
    system.connect("B", da.Revolute("z"), a, b)
    system.compile().forward_dynamics([0.0, 0.0], [0.0, 0.0])


def _impossible_action() -> None:
    change = da.Event("e", "A.position", 0.9, action=lambda now: now.set("k.mass", 1.0))
    da.simulate(machine(), 0.5, events=change)


FAILURES: dict[str, tuple[type[da.DalembertError], Callable[[], Any]]] = {
    "ModelError": (da.ModelError, lambda: door().compile().forward_dynamics([1.0, 2.0], [0.0])),
    "ModelError with a result": (da.ModelError, _impossible_action),
    "TopologyError": (da.TopologyError, lambda: door().compile().inverse_dynamics([0.0], [0.0], [0.0])),
    "AssemblyError": (da.AssemblyError, lambda: da.assemble(four_bar(1, 1, 1, 9.0))),
    "SingularityError": (da.SingularityError, _without_inertia),
    "SingularityError with a result": (da.SingularityError, _locked),
    "IntegrationError": (da.IntegrationError, _without_bound),
    "UserFunctionError": (da.UserFunctionError, lambda: da.simulate(machine(), 1.0, control=_broken)),
}


@every_way
@pytest.mark.parametrize("name", FAILURES)
def test_errors_are_pickled_with_their_data(name: str, way: str) -> None:
    kind, fail = FAILURES[name]
    with pytest.raises(kind) as caught:
        fail()
    error = caught.value
    other = COPIES[way](error)
    assert type(other) is type(error) and str(other) == str(error)
    for field in ("item", "field", "value", "remedy", "residuals"):
        assert getattr(other, field, None) == getattr(error, field, None)
    if isinstance(error, da.AssemblyError):
        assert isinstance(other, da.AssemblyError) and (other.q == error.q).all() and error.residuals
    assert (other.result is None) == (error.result is None)
    if error.result is not None:
        assert (other.result.q == error.result.q).all() and other.result.status == "failed"
        middle = 0.5 * float(error.result.t[0] + error.result.t[-1])
        assert (other.result.at(middle).q == error.result.at(middle).q).all()


@every_way
def test_an_error_about_a_missing_package_can_be_pickled(way: str) -> None:
    error = MissingPackageError("pictures", "matplotlib", "pip install matplotlib")
    other = COPIES[way](error)
    assert str(other) == str(error) and other.package == "matplotlib" and isinstance(other, ImportError)


def test_errors_that_carry_results_are_those_of_simulations() -> None:
    """What is tested above does carry results."""
    for name in ("ModelError with a result", "SingularityError with a result", "IntegrationError", "UserFunctionError"):
        with pytest.raises(FAILURES[name][0]) as caught:
            FAILURES[name][1]()
        assert isinstance(caught.value.result, da.Result)


# ---- events, elements, laws


def _stop(now: Any) -> None:
    now.stop()


@every_way
def test_events_can_be_pickled(way: str) -> None:
    event = da.Event("low", "A.position", 0.9, direction=-1, action=_stop)
    other = COPIES[way](event)
    assert other == event
    ends = [da.simulate(machine(), 0.5, events=e).t[-1] for e in (event, other)]
    assert ends[0] == ends[1] < 0.5


@every_way
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_can_be_pickled(name: str, way: str) -> None:
    element, where = ELEMENTS[name], name.partition(":")[0]
    other = COPIES[way](element)
    assert type(other) is type(element) and repr(other) == repr(element)
    q, v = np.array([0.3, -0.2]), np.array([0.5, 0.7])
    assert_same_dynamics(model_with(element, where), model_with(other, where), q, v)


@every_way
@pytest.mark.parametrize("name", LAWS)
def test_laws_can_be_pickled(name: str, way: str) -> None:
    other = COPIES[way](LAWS[name])
    assert [other(t) for t in (0.0, 0.3, 1.7)] == [LAWS[name](t) for t in (0.0, 0.3, 1.7)]


@pytest.mark.parametrize("name", ["drive", "effort", "event"])
def test_a_function_without_a_name_cannot_be_pickled_and_is_pointed_at(name: str) -> None:
    system = chain(2)
    joint = next(iter(system.connections))
    if name == "drive":
        system.drive(joint, position=da.FunctionLaw(lambda t: 0.3 * t))
    elif name == "effort":
        system.connect("motor", da.Effort(lambda t: 0.3 * t), joint)
    thing = da.Event("e", f"{joint}.position", action=lambda now: None) if name == "event" else system.compile()
    with pytest.raises((pickle.PicklingError, AttributeError, da.DalembertError), match="lambda"):
        pickle.dumps(thing)
    copy.deepcopy(thing)  # which leaves functions as they are


# ---- other processes


def swing(model: da.Model, start: tuple[Array, Array]) -> tuple[da.Result, Array]:
    """Run a model somewhere else."""
    result = da.simulate(model, 0.1, state=da.State(*start))
    return result, model.forward_dynamics(*start)


def fail(model: da.Model) -> None:
    """Fail somewhere else."""
    da.simulate(model, 1.0, control=_broken)


def test_a_model_works_in_other_processes_and_results_and_errors_come_back() -> None:
    model = machine().compile()
    q, v = closed_state(model)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = [pool.submit(swing, model, (q, k * v)) for k in (0.5, 1.0)]
        failed = pool.submit(fail, model)
        for k, future in zip((0.5, 1.0), there, strict=True):
            result, a = future.result(timeout=60)
            here, expected = swing(model, (q, k * v))
            assert (result.q == here.q).all() and (result.at(0.0512).q == here.at(0.0512).q).all()
            assert (result["C.force"] == here["C.force"]).all() and (a == expected).all()
        with pytest.raises(da.UserFunctionError, match="_broken") as caught:
            failed.result(timeout=60)
    assert caught.value.result.status == "failed" and 0.05 < caught.value.result.t[-1] <= 0.1001


# ---- a model does not follow its system


def test_a_body_removed_later_stays_in_the_model() -> None:
    system = chain(3)
    model = system.compile()
    last = model.body_names[-1]
    q, v = np.array([0.3, -0.2, 0.5]), np.ones(3)
    before, place = model.forward_dynamics(q, v), model.pose(last, q).position
    system.remove(last)
    assert last not in system.bodies and last in model.system.bodies
    assert (model.forward_dynamics(q, v) == before).all()
    assert (model.pose(last, q).position == place).all()
    assert (pickled(model).pose(last, q).position == place).all()
    result = da.simulate(model, 0.1)
    assert result[f"{last}.position"].shape == (len(result), 3)


def test_a_spring_added_later_is_none_of_the_model() -> None:
    system = four_bar()
    model = system.compile()
    result = da.simulate(model, 0.1)
    moment = result["D.moment"]
    system.connect("later", da.TorsionSpring(50.0), "D")
    assert (da.simulate(model, 0.1)["D.moment"] == moment).all()
    assert (result["D.moment"] == moment).all() and (pickled(result)["D.moment"] == moment).all()
    assert "later.stiffness" not in model.parameter_names and "later.effort" not in result.names()
    with pytest.raises(da.ModelError, match="later"):
        result["later.effort"]


def test_later_changes_of_every_kind_do_not_reach_the_model() -> None:
    system = machine()
    model = system.compile()
    q, v = closed_state(model)
    before, start = model.dynamics(0.3, q, v), model.initial_state()
    system.bodies["crank"].mass = 9.0
    system.bodies["crank"].com[0] = 4.0
    system.gravity[1] = 0.0
    system.bodies["coupler"].markers["pen"].position[0] = 7.0
    system.initial("A", position=0.3)
    system.drive("A", speed=1.0)
    system.remove("k")
    for other in (model, pickled(model), copy.deepcopy(model)):
        assert all((found == old).all() for found, old in zip(other.dynamics(0.3, q, v), before, strict=True))
        assert (other.initial_state().q == start.q).all() and not other.drives
        assert other.pose("coupler.pen", q).position == pytest.approx(model.pose("coupler.pen", q).position, abs=0)


def test_joint_data_are_read_only() -> None:
    joint = da.Revolute("y", damping=0.2)
    with pytest.raises(ValueError, match="read-only"):
        joint.damping[0] = 99.0  # type: ignore[index]


def test_parameters_of_elements_changed_in_place_do_not_reach_copies_of_the_model() -> None:
    system = machine()
    model = system.compile()
    q, v = closed_state(model)
    before = model.forward_dynamics(q, v)
    system.forces["lag"].element.parameters["c"] = 99.0  # type: ignore[attr-defined]
    assert (model.forward_dynamics(q, v) == before).all()
    assert (pickled(model).forward_dynamics(q, v) == before).all()


def test_later_additions_to_the_system_do_not_prevent_pickling() -> None:
    system = four_bar()
    model = system.compile()
    result = da.simulate(model, 0.05)
    q, v = closed_state(model)
    system.connect("later", da.Effort(lambda t: t), "A")
    assert_same_dynamics(model, pickled(model), q, v)
    assert (pickled(result).q == result.q).all()


def test_andrews_mechanism_is_pickled_to_the_same_bits() -> None:
    model = andrews().compile()
    runs = [da.simulate(each, 1e-3) for each in (model, pickled(model), copy.deepcopy(model))]
    assert (runs[0].q == runs[1].q).all() and (runs[0].q == runs[2].q).all()
