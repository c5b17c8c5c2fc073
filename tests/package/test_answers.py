"""The shape of answers: every class states success, message and notes, prints one line, a report and a Dataset."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from systems.pendulums import sprung_pendulum

import dalembert as da
from dalembert.answer import Answer, ArrayAnswer
from dalembert.library.mechanisms import four_bar, slider_crank
from dalembert.motion.geometry.kinematic_result import KinematicResult
from dalembert.natural import Mechanism

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
xarray = pytest.importorskip("xarray")

BASES = {Answer, ArrayAnswer, KinematicResult}
MAX_LINE = 120  # characters

# No picture: numbers and names, states, equations, or a list of answers that have pictures of their own.
WITHOUT_PLOT = {
    "CampaignComparison", "Study",
    "Assembly", "BaseParameters", "BeamStresses", "Circuit", "Comparison", "ConnectionLoads", "ContinuationResult",
    "DrivenMotion", "ElementReport", "Equilibria", "Equilibrium", "FollowedMotion", "ForceTerms",
    "IdentifiedParameters", "Impact", "InverseDynamicsResult", "InverseKinematics", "LinearSystem", "Manipulability",
    "Mobility", "ModeReport", "MomentArms", "MotionSpace", "NaturalMobility", "NodalStresses", "OperationCounts",
    "OperationalSpace", "PositionResult", "RateResult", "RolloutGradient", "SensorData", "Sensitivity", "StartState",
}  # fmt: skip

# No arrays, or paths of different lengths.
WITHOUT_DATASET = {
    "CampaignComparison",
    "Circuit", "Circuits", "Comparison", "ElementReport", "Mobility", "NaturalMobility", "OperationCounts", "Synthesis",
}  # fmt: skip


def damped_pendulum() -> da.System:
    """Return a damped pendulum with a spring at its joint."""
    return sprung_pendulum(stiffness=40.0, damping=0.2)


def arm() -> da.System:
    """Return an arm of two links in the plane, with a line from the ground to the first."""
    s = da.System("arm")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(0.5, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, upper)
    s.connect("B", da.Revolute("z"), upper.at(1.0, 0, 0), lower)
    s.connect("line", da.Cable(stiffness=1e4, length=0.2), s.ground.at(0, 0.3, 0), upper.at(0.4, 0, 0))
    s.initial("B", position=1.0)
    return s


def shaken_pendulum() -> da.System:
    """Return a pendulum whose pivot is driven up and down."""
    s = da.System("shaken")
    cart, bob = s.body("cart", da.box(1, 1, 1, mass=1.0)), s.body("bob", mass=1.0, inertia=(1e-9, 1e-9, 1e-9))
    s.connect("lift", da.Prismatic("z"), s.ground, cart)
    s.connect("P", da.Revolute("y"), cart, bob.at(0, 0, 9.81))
    s.drive("lift", position=da.Harmonic(0.5, 2.0))
    return s


def forced_pendulum() -> da.System:
    """Return a damped pendulum under a harmonic torque."""
    s = damped_pendulum()
    s.connect("torque", da.Effort(da.Harmonic(1.0, 3.0)), "A")
    return s


def rotor() -> da.System:
    """Return a disc on springs that spins about x."""
    s = da.System("rotor", gravity=(0, 0, 0))
    frame, disc = (
        s.body("frame", mass=0.1, inertia=(1e-3, 1e-3, 1e-3)),
        s.body("disc", mass=2.0, inertia=(0.2, 0.1, 0.1)),
    )
    s.connect("tilt", da.Universal("y", "z"), s.ground, frame)
    s.connect("spin", da.Revolute("x"), frame, disc)
    s.connect("k", da.Bushing([0, 100.0, 100.0, 0, 0, 0]), s.ground, frame)
    s.drive("spin", speed=1.0)
    return s


def parametric_four_bar() -> da.System:
    """Return a four-bar whose three lengths are parameters."""
    s = da.System("four-bar", gravity=(0, 0, 0))
    a, b, c = (s.parameter(name, 1.0) for name in "abc")
    crank, coupler, rocker = (s.body(name) for name in ("crank", "coupler", "rocker"))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(a, 0, 0), coupler)
    s.connect("D", da.Revolute("z"), s.ground.at(1, 0, 0), rocker)
    s.connect("C", da.Revolute("z"), coupler.at(b, 0, 0), rocker.at(c, 0, 0))
    return s


def natural_four_bar() -> Mechanism:
    """Return a driven four-bar in natural coordinates."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 1.7), m.point("2", 4.8, 2.9)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 4), m.link("rocker", "2", "B", 3)
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A", "1"))
    m.drive("psi", math.pi / 3)
    return m


@cache
def turn() -> da.Result:
    """Return a part of a turn of the crank of a four-bar."""
    return da.kinematics(four_bar(), drive="A", values=np.linspace(0.1, 3.0, 25))


@cache
def linearized() -> Any:
    s = damped_pendulum()
    s.connect("torque", da.Effort(0.0), "A")
    return da.linearize(s, inputs=["torque.effort"], outputs=["A.position"])


@cache
def synthesized() -> Any:
    angles = {"crank.angle": [1.0, 1.5, 2.0], "rocker.angle": [1.151686, 1.451884, 1.770338]}
    return da.synthesize(parametric_four_bar(), dict.fromkeys("abc", (0.1, 5.0)), angles)


def buckled() -> Any:
    s = da.System("column", gravity=(0, 0, 0))
    low, high = (s.body(name, da.rod(0.5, 1.0, axis="z")) for name in ("low", "high"))
    s.connect("foot", da.Revolute("y"), s.ground, low)
    s.connect("knee", da.Revolute("y"), low.at(0, 0, 0.5), high)
    s.connect("head", da.PointOnLine("z"), s.ground, high.at(0, 0, 0.5))
    s.connect("c", da.TorsionSpring(stiffness=3.0), "knee")
    s.connect("load", da.Load(force=(0, 0, -1.0)), high.at(0, 0, 0.5))
    return da.equilibrium_path(s, {"load.fz": -1.0}, 0.0, 14.0)


def near_miss() -> Any:
    s = da.System("door and post")
    door, post = s.body("door", da.box(1.0, 0.04, 2.0, 20.0)), s.body("post", da.cylinder(2.0, 0.1, 5.0))
    s.connect("A", da.Revolute("z"), s.ground, door.at(-0.5, 0, 0))
    s.connect("B", da.Fixed(), s.ground.at(0, 0.8, 0), post)
    return da.clearance(da.kinematics(s, drive="A", values=np.linspace(0.0, 1.5, 7)))


def fitted() -> Any:
    t = np.linspace(0, 2, 41)
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y", damping=0.2), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    s.parameter("unused", 1.0)
    angles = da.simulate(s, 2.0, times=t)["A.position"] + 0.01 * np.random.default_rng(1).standard_normal(41)
    over = {"A.damping": (0.0, 1.0), "bob.mass": (1.0, 3.0)}
    return da.fit(s, over, {"A.position": angles}, t, start={"A.damping": 0.5, "bob.mass": 2.0})


def identified() -> Any:
    Y = np.random.default_rng(0).normal(size=(200, 3))
    Y[:, 2] = Y[:, 0] + Y[:, 1]
    return da.identify(Y, Y @ [1.0, 2.0, 3.0], ("m1", "m2", "m3"))


@cache
def bar() -> da.FlexibleBody:
    """Return a steel bar of 1 m by finite elements."""
    return da.beam(1.0, da.Section.rectangle(0.03, 0.01), da.materials.steel, elements=4, modes=da.CantileverModes(3))


def stressed_plate() -> Any:
    sheet = da.plate_structure(0.4, 0.3, 0.002, da.materials.steel, elements=(3, 2))
    return da.nodal_stresses(sheet.reduce(da.FreeModes(3)), [1e-4, 0.0, 0.0])


def uncertain() -> Any:
    from scipy.stats import norm

    outputs = {"f": lambda modes: modes.frequencies[0]}
    return da.uncertainty(damped_pendulum(), {"k.stiffness": norm(40.0, 2.0)}, outputs, task="modes", samples=16)


def swept() -> Any:
    return da.sweep(damped_pendulum(), {"A": [0.1, 0.2]}, t_end=0.1, outputs=("A.speed", "peak"))


def moving_block() -> Any:
    s = da.System("block", gravity=(0, 0, 0))
    s.connect("P", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    return da.optimal_motion(s, {"P": 1.0, "P.speed": 0.0}, {"P": (-1.0, 1.0)}, (0.5, 5.0), steps=10)


def stiffest() -> Any:
    bounds, limits = {"k.stiffness": (5.0, 50.0)}, {"swing": (None, 0.5)}
    outputs = {"swing": ("A.position", "peak")}
    return da.optimize(damped_pendulum(), bounds, "k.stiffness", subject_to=limits, outputs=outputs, t_end=2.0)


def natural_position() -> Any:
    m = natural_four_bar()
    return da.find_position(m.equations())


def swinging() -> da.Result:
    return da.simulate(damped_pendulum(), 4.0, state={"A": 0.1})


def turning() -> da.Result:
    s = da.System("shaft", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("disk", da.cylinder(0.1, 0.2, mass=1.0)))
    return da.simulate(s, 1.0, state={"A.speed": 60.0})


BUILDERS: dict[str, Callable[[], Any]] = {
    "Assembly": lambda: da.assemble(four_bar()),
    "BaseParameters": lambda: da.base_parameters(damped_pendulum()),
    "BeamStresses": lambda: da.beam_stresses(bar(), [1e-3, 0.0, 0.0]),
    "CampaignComparison": lambda: da.compare(swept(), swept()),
    "Campbell": lambda: da.campbell(rotor(), "spin", [0.0, 10.0, 20.0]),
    "Centrodes": lambda: da.centrodes(turn(), "coupler"),
    "Circuit": lambda: da.circuits(four_bar(), "A")[0],
    "Circuits": lambda: da.circuits(four_bar(), "A"),
    "Clearance": near_miss,
    "Comparison": lambda: da.formulations.compare(four_bar(), {"A.speed": 3.0}),
    "ConnectionLoads": lambda: damped_pendulum().compile().connection_loads([0.1], [0.0]),
    "ContinuationResult": lambda: natural_four_bar().continuation(),
    "CouplerCurve": lambda: da.coupler_curve(turn(), "coupler.at(1.2, 0.5, 0)"),
    "DrivenMotion": lambda: da.driven_motion(shaken_pendulum(), 0.1),
    "ElementReport": lambda: da.check_element(da.Element("joint", "-k*s", {"k": 4.0}, energy="k*s**2/2")),
    "Ensemble": lambda: da.simulate(damped_pendulum(), 0.1, state={"A": [0.1, 0.2]}),
    "Equilibria": lambda: da.equilibrium(damped_pendulum(), find_all=True),
    "Equilibrium": lambda: da.equilibrium(damped_pendulum()),
    "EquilibriumPath": buckled,
    "Floquet": lambda: da.floquet(shaken_pendulum(), math.pi),
    "FollowedMotion": lambda: natural_four_bar().motion([0.0, 0.1]).followed,
    "ForceTerms": lambda: da.force_terms(arm(), [0.0, 1.0], [2.0, 0.0], [1.0, 0.0]),
    "FrequencyResponse": lambda: linearized().frequency_response(),
    "IdentifiedParameters": identified,
    "Impact": lambda: da.impulse(arm(), [0.0, 1.0], [2.0, 0.0], lock="B"),
    "InflectionCircles": lambda: da.inflection_circles(turn(), "coupler"),
    "InstantCentres": lambda: da.instant_centres(turn()),
    "InverseDynamicsResult": lambda: da.inverse_dynamics(arm(), [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]),
    "InverseKinematics": lambda: da.inverse_kinematics(arm(), {"lower.at(0.5, 0, 0)": (0.9, 0.6, 0.0)}),
    "LinearSystem": linearized,
    "Linkage": lambda: synthesized()[0],
    "Manipulability": lambda: da.manipulability(arm(), "lower.at(0.5, 0, 0)", [0.3, 1.0]),
    "Mobility": lambda: da.mobility(four_bar()),
    "MobilityRange": lambda: da.mobility_range(four_bar(), turn(), drive="A"),
    "ModeReport": lambda: bar().report,
    "Modes": lambda: da.modes(damped_pendulum()),
    "MomentArms": lambda: da.moment_arms(arm(), [0.0, 1.0]),
    "MotionSpace": lambda: da.motion_space(four_bar()),
    "NaturalMobility": lambda: natural_four_bar().mobility(),
    "NaturalMotion": lambda: natural_four_bar().motion([0.0, 0.1]),
    "NodalStresses": stressed_plate,
    "OperationCounts": lambda: da.formulations.operation_counts(arm()),
    "OperationalSpace": lambda: da.operational_space(arm(), "lower", [0.0, 1.0]),
    "OptimalMotion": moving_block,
    "Optimum": stiffest,
    "Orders": lambda: turning().orders("disk.at(0.1, 0, 0).position.x", "A.position", max_order=4),
    "ParameterFit": fitted,
    "ParetoFront": lambda: da.pareto(
        damped_pendulum(), {"k.stiffness": (5.0, 50.0)}, ["k.stiffness", "swing"], t_end=0.5, population=4,
        outputs={"swing": ("A.position", "peak")}, evaluations=8,
    ),
    "PeriodicOrbit": lambda: da.periodic_orbit(forced_pendulum(), 2 * math.pi / 3.0),
    "Polygon": lambda: da.velocity_polygon(turn(), ["crank", "coupler"], row=3),
    "PositionResult": natural_position,
    "RateResult": lambda: natural_four_bar().rates(),
    "Ratio": lambda: da.velocity_ratio(turn(), "D", "A"),
    "Result": lambda: da.simulate(damped_pendulum(), 0.1, state={"A": 0.1}),
    "RootLocus": lambda: da.root_locus(damped_pendulum(), "A.damping", [0.0, 1.0, 2.0]),
    "ScrewAxes": lambda: da.screw_axes(turn(), "coupler"),
    "SensorData": lambda: da.Encoder("A").measure(da.simulate(damped_pendulum(), 0.1)),
    "Sensitivity": lambda: da.sensitivity(damped_pendulum(), "A.position", "k.stiffness", 0.1, state={"A": 0.1}),
    "Rollout": lambda: da.rollout(damped_pendulum(), {"A": [0.1, 0.2]}, {"A": [1.0, 2.0]}, 0.02),
    "RolloutGradient": lambda: da.rollout(damped_pendulum(), None, {"A": [[1.0, 2.0]]}, 0.02).vjp(q=np.ones((1, 3, 1))),
    "Study": lambda: da.Study(swept()),
    "Spectrum": lambda: swinging().spectrum("A.position"),
    "StartState": lambda: da.start_state(four_bar(), {"A": 0.3}),
    "Synthesis": synthesized,
    "Tolerances": lambda: da.tolerances(
        slider_crank(0.2, 0.6, angle=0.3), "slider.position.x", {"crank.length": 1e-4, "rod.length": 2e-4}, hold="A"
    ),
    "TransmissionAngle": lambda: da.transmission_angle(turn(), "C", input="A", output="D"),
    "Uncertainty": uncertain,
    "Waterfall": lambda: swinging().waterfall("A.position", 1.0),
    "Workspace": lambda: da.workspace(arm(), "lower.at(0.5, 0, 0)", (np.linspace(-2, 2, 9), np.linspace(-2, 2, 9))),
}  # fmt: skip

PLOT_ARGUMENTS: dict[str, tuple[Any, ...]] = {"ParameterFit": ("A.damping", "bob.mass"), "Uncertainty": ("f",)}


def _subclasses(cls: type) -> Iterator[type]:
    for one in cls.__subclasses__():
        yield one
        yield from _subclasses(one)


@cache
def answer_classes() -> dict[str, type]:
    """Return all classes of answers of the package, by name, without those that specialize `Result` inside."""
    for module in pkgutil.walk_packages(da.__path__, "dalembert."):
        if not re.search(r"__main__|\.cli|\.view|\.io\.|_core", module.name):
            importlib.import_module(module.name)
    inner = {"ActuatedResult", "MeasuredResult"}
    found = {one.__name__: one for one in _subclasses(Answer) if one not in BASES and one.__name__ not in inner}
    return {name: one for name, one in found.items() if not name.startswith("_") and one.__module__.startswith("dale")}


@cache
def built(name: str) -> Any:
    return BUILDERS[name]()


def test_every_class_of_answers_is_built_here() -> None:
    assert set(answer_classes()) == set(BUILDERS)


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_an_answer_states_its_outcome(name: str) -> None:
    answer = built(name)
    assert type(answer).__name__ == name
    assert isinstance(answer.success, bool) and answer.success, answer.message
    assert isinstance(answer.message, str)
    assert isinstance(answer.notes, (list, tuple)) and all(isinstance(note, str) for note in answer.notes)


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_an_answer_prints_one_line_with_numbers(name: str) -> None:
    text = repr(built(name))
    assert text.startswith(f"<{name}") and text.endswith(">")
    assert "\n" not in text and len(text) <= MAX_LINE
    assert re.search(r"\d", text.partition(":")[2]), text
    assert "array(" not in text and "object at" not in text


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_an_answer_prints_a_report(name: str) -> None:
    answer = built(name)
    report, page = str(answer), answer._repr_html_()
    assert isinstance(report, str) and len(report) > 10
    assert "array(" not in report and "object at" not in report
    assert isinstance(page, str) and page.startswith("<")


def test_all_classes_share_one_repr() -> None:
    assert {name for name, one in answer_classes().items() if one.__repr__ is not Answer.__repr__} == set()


@pytest.mark.parametrize("name", sorted({*BUILDERS} - WITHOUT_PLOT))
def test_an_answer_with_a_picture_returns_axes(name: str) -> None:
    found = built(name).plot(*PLOT_ARGUMENTS.get(name, ()))
    panels = np.ravel(np.asarray(found, dtype=object))
    assert len(panels) and all(isinstance(panel, matplotlib.axes.Axes) for panel in panels)
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("name", sorted({*BUILDERS} - WITHOUT_DATASET))
def test_an_answer_with_arrays_returns_a_dataset(name: str) -> None:
    data = built(name).to_xarray()
    assert isinstance(data, xarray.Dataset) and len(data.data_vars) > 0


def test_answers_without_a_picture_or_arrays_have_no_such_method() -> None:
    classes = answer_classes()
    assert {name for name, one in classes.items() if not hasattr(one, "plot")} == WITHOUT_PLOT
    assert {name for name, one in classes.items() if not hasattr(one, "to_xarray")} == WITHOUT_DATASET


def test_modes_state_their_frequencies() -> None:
    s = da.System("post", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("ball", mass=2.0, inertia=(0.01, 0.01, 0.01)))
    s.connect("k", da.JointSpring(stiffness=200.0), "X")
    assert repr(da.modes(s)) == "<Modes 'post': 1.592 Hz>"  # sqrt(200 / 2) / 2 pi


def test_a_target_out_of_reach_is_no_success() -> None:
    """The arm is 1.5 m long: a target at 3 m is missed by 1.5 m, and the message tells it."""
    found = da.inverse_kinematics(arm(), {"lower.at(0.5, 0, 0)": [(0.9, 0.6, 0.0), (3.0, 0.0, 0.0)]})
    assert not found.success and found.reached.tolist() == [True, False]
    assert "1 of 2 targets missed" in found.message and found.position_error[1] == pytest.approx(1.5, abs=1e-6)


def test_a_failed_run_is_no_success() -> None:
    """A state that grows without bound ends the run before its time."""
    one = da.simulate(damped_pendulum(), 0.1)
    failed = da.Result(one.model, one.t, one.q, one.v, status="failed", message="the step became too small")
    assert not failed.success and "too small" in failed.message and "failed" in repr(failed)


def test_a_start_state_is_a_state_with_notes() -> None:
    found = da.start_state(four_bar(), {"A": 0.3, "B": 9.0, "C": 9.0})
    assert isinstance(found, da.State) and found.notes
    assert da.simulate(four_bar(), 0.01, state=found).success
