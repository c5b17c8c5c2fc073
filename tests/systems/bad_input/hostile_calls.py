"""Public callables, a valid call of each, and hostile values for every argument.

`cases` lists the callables with the keyword arguments of a valid call. `fault` makes the call with one of them replaced
and returns what is wrong with how it went: nothing if the call returns, or refuses by name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dalembert as da
from dalembert.errors import DalembertError
from systems.contacts.tyres import PASSENGER_CAR


def machine() -> da.System:
    """Return two links with a spring and a load."""
    s = da.System("machine")
    arm = s.body("arm", da.rod(0.5, mass=1.0))
    bob = s.body("bob", da.box(0.1, 0.1, 0.1, mass=0.5))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("B", da.Revolute("y"), arm.at(0.5, 0, 0), bob)
    s.connect("k", da.TorsionSpring(stiffness=20.0, damping=0.5), "A")
    s.connect("P", da.Load((0, 0, 1.0)), bob)
    return s


def bar() -> da.System:
    """Return a flexible bar on a joint."""
    s = da.System("bar")
    beam = da.beam(1.0, da.Section.circle(0.02), da.materials.steel, elements=4, modes=da.CraigBampton((0, 4), 2))
    s.connect("A", da.Revolute("y"), s.ground, s.body("bar", beam).at(node=0))
    return s


HOSTILE: dict[str, Any] = {
    "None": None,
    "True": True,
    "text": "no such name",
    "empty text": "",
    "dollars": "$$x_{",
    "bytes": b"A",
    "nan": math.nan,
    "inf": math.inf,
    "1e308": 1e308,
    "-1": -1,
    "-1.5": -1.5,
    "0": 0,
    "huge int": 10**400,
    "complex": 1j,
    "[]": [],
    "{}": {},
    "{name: nan}": {"A": math.nan},
    "{unknown: 1}": {"no such name": 1.0},
    "{1: 2}": {1: 2},
    "(7,)": np.arange(7.0),
    "(2, 3, 4)": np.zeros((2, 3, 4)),
    "(0,)": np.zeros(0),
    "nan (3,)": np.full(3, math.nan),
    "ragged": [[1.0], [1.0, 2.0]],
    "texts": ["a", "b"],
    "Nones": [None, None],
    "object": object(),
    "class": int,
    "function": lambda *args, **more: None,
    "failing function": lambda *args, **more: 1 / 0,
    "system": machine,  # a new one each time
    "element": da.Revolute("y"),
}


class Case(NamedTuple):
    """A callable by name, its valid arguments, and how to get it: methods of systems that change get a new one."""

    name: str
    get: Callable[[], Callable[..., Any]]
    given: Callable[[], dict[str, Any]]

    @property
    def fields(self) -> list[str]:
        """Names of the arguments that are attacked."""
        parameters = inspect.signature(self.get()).parameters.values()
        return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]


def fault(case: Case, field: str, label: str) -> str | None:
    """Return what is wrong with how a call with one hostile argument goes; None if nothing is."""
    call, given = case.get(), case.given()
    given[field] = machine() if label == "system" else HOSTILE[label]
    row = [
        p.name for p in inspect.signature(call).parameters.values() if p.kind is p.VAR_POSITIONAL and p.name in given
    ]
    extra = given.pop(row[0]) if row else ()
    try:
        call(*(extra if isinstance(extra, (list, tuple)) else (extra,)), **given)
    except DalembertError as error:
        return None if str(error) and len(str(error)) < 5000 else f"a message of {len(str(error))} characters"
    except Exception as error:
        trace, deep = error.__traceback__, 0
        while trace is not None and trace.tb_next is not None:
            trace, deep = trace.tb_next, deep + 1
        if isinstance(error, (TypeError, ValueError)) and not deep:
            return None  # of Python itself, or of a compiled kernel: both name the call
        where = "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        return f"{type(error).__name__}: {str(error)[:200]} ({where})"
    return None


def cases(folder: Path) -> Iterator[Case]:
    """Yield functions, constructors and methods of `System`, `Model`, `Result` and `Ensemble`; files go to a folder."""
    valid = _Valid(folder)
    for name in sorted(dir(da)):
        found = getattr(da, name)
        if inspect.isfunction(found) or _is_made_by_users(found, name):
            yield valid.case(name, found)
    for room in (da.library, da.units, da.tribology, da.formulations):
        for name in room.__all__:
            if inspect.isfunction(getattr(room, name)):
                yield valid.case(f"{room.__name__.partition('.')[2]}.{name}", getattr(room, name))
    for owner, kind in (
        (machine, da.System),
        (valid.model, da.Model),
        (valid.result, da.Result),
        (valid.runs, da.Ensemble),
    ):
        for name, _ in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_") and f"{kind.__name__}.{name}" not in _LEFT_OUT and name not in _SHAPE:
                yield valid.case(f"{kind.__name__}.{name}", name, owner)
    yield valid.case("Model.nodes", "nodes", valid.bar)


_SHAPE = ("success", "message", "notes")  # attributes of every answer
_LEFT_OUT = {
    *("System.view", "System.play", "Result.view"),  # they open a page
    *("set_threads", "Law"),  # of the whole process; a protocol
    *("Result.discontinuity_times", "Result.events", "Result.labels", "Result.step_times"),  # cached properties
}
_ANSWERS = (
    "closure",
    "impulses",
    "dynamics",
    "motion",
    "linear",
    "statics",
    "result",
    "model",
    "simulation",
    "studies",
    "formulations",
)
_MADE = {
    "Contact",
    "Target",
    "Event",
    "SampledControl",
    "State",
    "Live",
    "Model",
}  # by users, in rooms of answers


def _is_made_by_users(found: Any, name: str) -> bool:
    """Return whether something is a class that users make objects of, rather than the class of an answer."""
    if not inspect.isclass(found) or not found.__module__.startswith("dalembert") or name in _LEFT_OUT:
        return False
    if issubclass(found, (Exception, Warning)):
        return False
    return found.__module__.split(".")[1] not in _ANSWERS or name in _MADE


class _Valid:
    """Valid arguments: by the names that arguments have everywhere, and by callable."""

    def __init__(self, folder: Path) -> None:
        self.model = machine().compile()
        self.result = da.simulate(self.model, 0.1, times=np.linspace(0, 0.1, 5))
        self.runs = da.simulate(self.model, 0.05, state={"A": np.zeros(2)}, times=np.linspace(0, 0.05, 3))
        self.loop = da.library.four_bar().compile()
        self.turn = da.kinematics(self.loop, drive="A", values=np.linspace(1.0, 1.2, 5))
        self.bar = bar().compile()
        self.swing = da.simulate(self.bar, 0.01, times=np.linspace(0, 0.01, 3))
        self.folder = folder
        self.everywhere, self.here = self._everywhere(), self._here()

    def case(self, name: str, found: Any, owner: Any = None) -> Case:
        """Return a case: of a function or class, or of the method of an owner or of what it makes."""

        def get() -> Callable[..., Any]:
            if owner is None:
                return found  # type: ignore[no-any-return]
            return getattr(owner() if owner is machine else owner, found)  # type: ignore[no-any-return]

        def given() -> dict[str, Any]:
            parameters = inspect.signature(get()).parameters.values()
            needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            values = {p.name: self.everywhere.get(p.name, 1.0) for p in needed} | self.here.get(name, {})
            return values | {"system": machine()} if name in ("cable", "line_load", "pressure_load") else values

        return Case(name, get, given)

    def _everywhere(self) -> dict[str, Any]:
        z2, z3, rising = np.zeros(2), np.zeros(3), np.linspace(0.0, 1.0, 4)
        named = {"name": "new", "item": "item", "field": "field", "marker": "bob", "body": "bob", "coordinate": "A"}
        named |= {"connection": "A", "joint": "A", "axes": "fixed", "axis": "x", "output": "B", "input": "A"}
        numbers = {"t": 0.0, "length": 0.5, "radius": 0.1, "stiffness": 100.0, "time": 0.5, "period": 0.1, "angle": 0.3}
        arrays = {"q": z2, "v": z2, "a": z2, "tau": z2, "angles": (0.1, 0.2, 0.3), "rates": z3, "omega": z3, "w": z3}
        arrays |= {"rotation": np.eye(3), "rotations": np.eye(3)[None], "times": rising, "values": rising}
        things = {"system": self.model, "system_or_model": self.model, "model": self.model, "result": self.result}
        things |= {"description": machine(), "material": da.materials.steel, "section": da.Section.circle(0.02)}
        things |= {"points": [(0, 0, 0), (1, 0, 0)], "law": da.Harmonic(1.0, 1.0), "equations": None, "path": None}
        return named | numbers | arrays | things | {"state": None}

    def _here(self) -> dict[str, dict[str, Any]]:
        z2, z3, rising = np.zeros(2), np.zeros(3), np.linspace(0.0, 1.0, 4)
        circle = [(math.cos(a), math.sin(a)) for a in np.linspace(0, 2 * np.pi, 17)[:-1]]
        closed = np.array([*circle, circle[0]])
        member = da.Member([(0, 0, 0), (1, 0, 0)], da.Section.circle(0.02), da.materials.steel)
        frame, loop, start = da.frame_structure([member]), self.loop, self.loop.initial_state().q
        equations, gear = da.RelativeEquations(loop), da.library.Gear(0.002, 20)
        body, eta = self.bar.system.bodies["bar"].flexible, np.zeros(self.bar.nv - 1)
        matrices = {"nodes": frame.nodes, "mass": frame.mass, "stiffness": frame.stiffness}
        corners, sides = np.vstack([np.zeros(3), np.eye(3)]), [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
        file = {ending: str(self.folder / f"file.{ending}") for ending in ("yaml", "nc", "csv", "png", "html", "bdf")}
        over, link = {"k.stiffness": (10.0, 30.0)}, {"result": self.turn, "output": "D"}
        drawn = {"points": {"A": (0, 0), "B": (1, 0), "C": (1, 1)}, "links": {"a": ("A", "B"), "b": ("B", "C")}}
        of_bar = {"result": self.swing, "body": "bar"}
        return {
            "Arc": {"centre": (0, 0), "start": 0.0, "end": 1.0},
            "AttitudeSpline": {"rotations": np.stack([np.eye(3)] * 4)},
            "SignalBlock": {"signals": {"y": "2*u"}, "inputs": {"u": "A"}},
            "Bushing": {"stiffness": (1.0,) * 6},
            "CamFollower": {"profile": closed},
            "RollingCam": {"profile": closed},
            "PointOnCurve": {"curve": closed},
            "Curve": {"points": closed},
            "Compound": {"ends": ("a", "b"), "members": {"k": (da.SpringDamper(10.0), "a", "b")}},
            "Contact": {"first": "bob", "second": "ground"},
            "CustomConstraint": {"residual": "x - 1"},
            "CustomCoupling": {"formula": "s1 - 2*s2"},
            "CustomJoint": {"coordinates": ("a",), "position": ("a", 0, 0)},
            "Delay": {"output": "A.speed", "time": 0.1},
            "Event": {"name": "e", "output": "A"},
            "Field": {"force": ("1", "2", "3")},
            "FlexibleBody": {"nodes": np.eye(3)[:2], "modes": np.zeros((12, 0)), "node_masses": np.ones(2)},
            "FunctionLaw": {"value": math.sin},
            "GeneralizedMaxwell": {"terms": [(1.0, 1.0)]},
            "HydraulicCylinder": {"inflow": 0.0, "outflow": 0.0, "area": 1e-3, "rod_area": 1e-4, "stroke": (0.1, 0.5)},
            "JournalBearing": {"clearance": 1e-4},
            "KinematicChain": {"parts": (da.Revolute("y"), da.bar(1.0), da.Revolute("y"))},
            "Limits": {"stiffness": 1.0},
            "Line": {"start": (0, 0), "end": (1, 0)},
            "Marker": {"body": machine().bodies["bob"], "position": z3},
            "MagicFormulaTyre": {"data": dict(PASSENGER_CAR), "relaxation": 0.3},
            "Material": {"E": 2e11, "nu": 0.3},
            "NonlinearSpring": {"law": (1.0, 2.0)},
            "PfaffianConstraint": {"rows": "wx"},
            "Polynomial": {"coefficients": (1.0, 2.0)},
            "SampledControl": {"control": lambda state: z2},
            "Stiffening": {"acceleration": np.zeros((3, 0, 0)), "spin": np.zeros((6, 0, 0)),
                           "angular_acceleration": np.zeros((3, 0, 0))},
            "Structure": matrices,
            "Table": {"axes": (rising,)},
            "as_attitude": {"rotation": da.BryantAngles(0, 0, 0)},
            "attitude_start": {"bryant": None, "euler_angles": None, "angle_rates": None},
            "axial": {"S": np.zeros((3, 3))},
            "beam": {"points": 1.0},
            "beam_segment": {"step": (1.0, 0, 0)},
            "beam_stresses": {"body": body, "eta": eta},
            "best_driving_coordinates": {"equations": equations, "q": start},
            "check_discontinuity_times": {"given": (0.1,)},
            "buckling_factors": of_bar,
            "campbell": {"spin": "A", "values": (1.0, 2.0)},
            "check_element": {"element": da.NonlinearSpring((1.0, 2.0))},
            "circuits": {"system": loop, "input": "A"},
            "clearance": {"pairs": [("arm", "bob")]},
            "coupler_curve": {"point": "coupler", "result": self.turn},
            "equilibrium_path": {"vary": "k.stiffness", "start": 20.0, "stop": 21.0, "hold": "B"},
            "euler_accelerations": {"second_rates": z3},
            "find_position": {"equations": equations, "q": start},
            "find_rates": {"equations": equations, "q": start, "free": True},
            "fit": {"over": over, "measured": {"A": self.result["A"]}, "times": self.result.t},
            "follow_branch": {"equations": equations, "times": (0.0, 0.01), "q": start},
            "frame": {"members": [member]},
            "frame_structure": {"members": [member]},
            "from_rotation_vector": {"r": z3},
            "identify": {"regressor": np.arange(6.0).reshape(3, 2) ** 2, "efforts": z3},
            "inverse_dynamics": {"v": z2, "a": z2},
            "inverse_kinematics": {"targets": {"bob": (0.4, 0.0, 0.1)}},
            "kinematics": {"system": loop, "drive": "A", "values": (1.0, 1.1)},
            "linkage": drawn | {"ground": ("A",)},
            "load": {"path": file["yaml"]},
            "load_sweep": {"store": str(self.folder / "sweep.zarr")},
            "measured_motion": {"times": np.linspace(0, 1, 9), "coordinates": {"A": np.zeros(9), "B": np.zeros(9)}},
            "mechanical_advantage": link,
            "mesh": {"surface": (corners, sides)},
            "mobility_range": {"system": loop, "motion": self.turn},
            "mode_acceleration": of_bar,
            "nodal_accelerations": of_bar,
            "nodal_displacements": of_bar,
            "nodal_loads": of_bar,
            "nodal_mises": {"body": body, "eta": eta},
            "nodal_motion": {"system": self.bar, "body": "bar", "q": np.zeros(self.bar.nq)},
            "nodal_velocities": of_bar,
            "optimal_motion": {"end": {"A": 0.1}, "efforts": dict.fromkeys("AB", (-50, 50)), "time": 0.3, "steps": 3},
            "optimize": {"over": over, "minimize": "A", "t_end": 0.01, "outputs": {"A": ("A", "final")}},
            "prism": {"outline": circle},
            "quaternion": {"w": 1.0},
            "quaternion_matrices": {"quaternions": (1, 0, 0, 0)},
            "quaternion_rate": {"q": np.array((1.0, 0, 0, 0))},
            "read_nastran": {"path": file["bdf"]},
            "read_structure": matrices,
            "root_locus": {"parameter": "k.stiffness", "values": (10.0, 20.0)},
            "rotation_vectors": {"R": np.eye(3)[None]},
            "save": {"system": machine(), "path": file["yaml"]},
            "section_forces": {"body": body, "eta": eta},
            "sensitivity": {"outputs": ("A",), "by": "k.stiffness", "t_end": 0.02},
            "simulate": {"t_end": 0.02},
            "skew": {"x": z3},
            "find_jumps": {"value": math.sin},
            "sweep": {"over": {"k.stiffness": [10.0, 20.0]}, "t_end": 0.01, "outputs": ["A"]},
            "tangent_space": {"state": self.model.initial_state()},
            "tolerances": {"motion": self.turn, "outputs": "D", "deviations": {"coupler.length": 0.01}},
            "transmission_angle": link | {"at": "C"},
            "tube": {"inner": 0.5},
            "velocity_ratio": link,
            "with_attitude": {"joint": da.Free(), "position": None, "speed": None, "R": np.eye(3), "omega": None},
            "workspace": {"target": "bob", "grid": ((0.1, 0.3), (0.1, 0.3))},
            "library.binary_tree": {"n": 3},
            "library.chain": {"n": 3},
            "library.delta_angles": {"system": da.library.delta(), "position": (0, 0, -0.5)},
            "library.geneva_angle": {"slots": 6},
            "library.linkage": drawn | {"ground": ("A",)},
            "library.planetary": {"sun": gear, "planet": gear, "planets": 4},
            "library.rack_drive": {"pinion": gear},
            "library.ring_for": {"pinion": gear, "teeth": 60},
            "library.spur_gears": {"first": gear, "second": gear},
            "library.stewart_lengths": {"system": da.library.stewart(), "position": (0, 0, 1.0)},
            "library.three_rrr_angles": {"system": da.library.three_rrr(), "position": (0.0, 0.0)},
            "library.windows": {"n": 2},
            "library.woodpecker_impacts": {"system": da.library.woodpecker()},
            "units.agree": {"one": da.units.FREE, "other": da.units.FREE},
            "units.factor": {"unit": "mm", "of": "m"},
            "units.of_si": {"unit": "mm"},
            "units.quantity": {"text": "1 mm"},
            "units.si": {"unit": "mm"},
            "System.connect": {"element": da.SpringDamper(1.0), "first": "ground", "second": "bob"},
            "System.draw": {"path": file["png"]},
            "System.drive": {"position": 1.0},
            "System.frame": {"name": "bob"},
            "System.remove": {"name": "k"},
            "Model.difference": {"q0": z2, "q1": z2},
            "Model.input_values": {"given": {}},
            "Model.loads_of_motion": {"lam": np.zeros(0)},
            "Model.mixed_dynamics": {"given": "A"},
            "Model.nodes": {"body": "bar"},
            "Model.points": {"markers": [self.model.system.bodies["bob"].at(0, 0, 0)]},
            "Model.report": {"parts": ("energy",)},
            "Model.solve_mass_matrix": {"x": z2},
            "Model.with_parameters": {"parameters": {"k.stiffness": 1.0}},
            "Result.about": {"what": "A"},
            "Result.animate": {"path": file["html"]},
            "Result.describe": {"name": "A"},
            "Result.draw": {"path": file["png"]},
            "Result.export": {"path": file["html"]},
            "Result.output": {"what": "A"},
            "Result.plot": {"path": file["png"]},
            "Result.plot_energy": {"path": file["png"]},
            "Result.refined": {"times": (0.0, 0.05)},
            "Result.save": {"path": file["nc"]},
            "Result.to_csv": {"path": file["csv"]},
            "Result.unique": {"name": "A"},
            "Ensemble.about": {"what": "A"},
            "Ensemble.output": {"name": "A"},
            "Ensemble.plot": {"names": "A", "path": file["png"]},
            "Ensemble.run": {"number": 0},
            "Ensemble.save": {"path": file["nc"]},
            "Ensemble.statistics": {"names": "A"},
        }  # fmt: skip
