"""Rigid contact by steps beside MuJoCo: processor time per second of motion at equal steps, and what each gets wrong.

`python bench/contact.py [--step 2e-3] [--seconds 2] [--scenes slope stack ...]`. Programs take turns; minima of rounds
on one thread, without the first round of each. MuJoCo runs with its defaults (Newton, pyramidal cones) and, for
spheres, with its conjugate gradients, too; its steps are taken by one call of its own loop.

Columns: processor time in ms per second of motion, its ratio to the last program of the scene; depth at the end, m;
creep, the largest velocity at the end, m/s or rad/s; law, how far the law of friction is missed at most, m/s (that of
MuJoCo is another one); error: how far the place of the first body moves when the step is halved, m.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

import dalembert as da

G = 9.81
ROUNDS = 3
RUNS = 64  # of a rollout
PERIOD = 0.02  # s: control interval of rollouts


Body = tuple[str, tuple[float, ...], float, tuple[float, ...]]


@dataclass(frozen=True)
class Scene:
    """One scene in both programs.

    Attributes
    ----------
    system : callable
        That makes it here.
    bodies : list of (shape, size, mass, position)
        Free boxes and spheres in MuJoCo; planes from `planes`.
    robot : str
        Bodies and actuators in MuJoCo instead, with `control(t)` (n, inputs) and coordinates at the start.
    """

    system: Callable[[], da.System]
    bodies: list[Body]
    planes: list[tuple[tuple[float, ...], tuple[float, ...]]]
    friction: float
    gravity: tuple[float, float, float] = (0.0, 0.0, -G)
    solver: str = "Newton"
    robot: str = ""
    actuators: str = ""
    control: Callable[[np.ndarray], np.ndarray] | None = None
    start: tuple[float, ...] = ()


@dataclass
class Answer:
    """What one program gives: processor time, s per s of motion; depth, creep, law, and the place of the first body."""

    took: float
    depth: float
    creep: float
    law: float
    place: np.ndarray


def free_bodies(scene: Callable[[], Scene]) -> da.System:
    """Return the free bodies and planes of a scene."""
    given = scene()
    s = da.System("scene", gravity=given.gravity)
    made = []
    for k, (shape, size, mass, position) in enumerate(given.bodies):
        if shape == "sphere":
            solid = da.sphere(size[0], mass=mass)
        else:
            solid = da.box(2 * size[0], 2 * size[1], 2 * size[2], mass=mass)
        made.append(s.body(f"b{k}", solid))
        s.place(made[-1], position=position)
    for k, (place, normal) in enumerate(given.planes):
        s.contact(
            f"plane{k}", s.ground.at(*place, rotation=frame_along(np.array(normal))), made, friction=given.friction
        )
    if len(made) > 1:
        s.contact("bodies", made, made, friction=given.friction)
    return s


def frame_along(axis: np.ndarray) -> np.ndarray:
    """Return a rotation whose third axis is given."""
    first = np.cross([0.0, 1.0, 0.0] if abs(axis[1]) < 0.9 else [1.0, 0.0, 0.0], axis)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


FLOOR = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def slope() -> Scene:
    angle, friction = np.arctan(0.62 * 0.5), 0.5
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    bodies: list[Body] = [("box", (0.1, 0.1, 0.05), 1.0, (0.0, 0.0, 0.05))]
    return Scene(lambda: free_bodies(slope), bodies, [FLOOR], friction, gravity)


def stack() -> Scene:
    bodies: list[Body] = [("box", (0.1, 0.1, 0.1), 1.0, (0.0, 0.0, 0.1 + 0.2 * k)) for k in range(10)]
    return Scene(lambda: free_bodies(stack), bodies, [FLOOR], 0.5)


def spheres(layers: int = 4) -> Scene:
    rng = np.random.default_rng(0)
    bodies: list[Body] = []
    for k in range(25 * layers):
        layer, (row, column) = k // 25, divmod(k % 25, 5)
        x, y = 0.004 * rng.random(2)
        bodies.append(("sphere", (0.05,), 0.5, (0.11 * column + x, 0.11 * row + y, 0.06 + 0.11 * layer)))
    far = 0.5
    walls = [
        ((-0.06, 0, 0), (1, 0, 0)),
        ((far, 0, 0), (-1, 0, 0)),
        ((0, -0.06, 0), (0, 1, 0)),
        ((0, far, 0), (0, -1, 0)),
    ]
    planes = [FLOOR, *[(tuple(map(float, p)), tuple(map(float, n))) for p, n in walls]]
    return Scene(lambda: free_bodies(lambda: spheres(layers)), bodies, planes, 0.5, solver="CG")


def many_spheres() -> Scene:
    return spheres(20)


THIGH, HIP, KNEE = 0.2, 0.8, -1.6  # length, m; angles of the legs, rad
LEGS = {"FL": (1, 1, 0.0), "FR": (1, -1, 0.5), "RL": (-1, 1, 0.5), "RR": (-1, -1, 0.0)}
HEIGHT = 2 * THIGH * np.cos(HIP) + 0.02


def quadruped(swing: float = 0.0, lift: float = 0.0) -> da.System:
    """Return a quadruped whose servos let it stand, or trot."""
    s = da.System("quadruped")
    trunk = s.body("trunk", da.box(0.5, 0.2, 0.1, mass=9.0))
    s.connect("base", da.Free(), s.ground, trunk)
    s.initial("base", position=[1, 0, 0, 0, 0, 0, HEIGHT])
    feet = []
    for leg, (x, y, phase) in LEGS.items():
        thigh = s.body(f"{leg} thigh", da.box(0.03, 0.03, THIGH, mass=0.8))
        calf = s.body(f"{leg} calf", da.box(0.02, 0.02, THIGH, mass=0.2))
        foot = s.body(f"{leg} foot", da.sphere(0.02, mass=0.05))
        hip, knee, down = da.Revolute("y", armature=0.01), da.Revolute("y", armature=0.01), THIGH / 2
        s.connect(f"{leg} hip", hip, trunk.at(0.2 * x, 0.13 * y, 0), thigh.at(0, 0, down))
        s.connect(f"{leg} knee", knee, thigh.at(0, 0, -down), calf.at(0, 0, down))
        s.connect(f"{leg} ankle", da.Fixed(), calf.at(0, 0, -down), foot)
        turn = f"2*pi*(2.5*t + {phase})"
        reach: str | float = f"{HIP} + {swing}*sin({turn})" if swing else HIP
        bend: str | float = f"{KNEE} - {lift}*max(0, -cos({turn}))" if lift else KNEE
        s.connect(f"{leg} hip servo", da.PositionServo(reach, 150.0, 4.0), f"{leg} hip")
        s.connect(f"{leg} knee servo", da.PositionServo(bend, 150.0, 4.0), f"{leg} knee")
        s.initial(f"{leg} hip", position=HIP)
        s.initial(f"{leg} knee", position=KNEE)
        feet.append(foot)
    s.contact("floor", da.plane(), feet, friction=0.8)
    return s


def quadruped_text() -> tuple[str, str]:
    """Return bodies and actuators of the quadruped for MuJoCo."""
    touches, none = 'contype="0" conaffinity="1" friction="0.8 0 0"', 'contype="0" conaffinity="0"'
    legs, actuators = "", ""
    for leg, (x, y, _) in LEGS.items():
        foot = f'<geom type="sphere" size="0.02" mass="0.05" pos="0 0 {-THIGH}" {touches}/>'
        box = f'<geom type="box" size="%s %s {THIGH / 2}" mass="%s" pos="0 0 {-THIGH / 2}" {none}/>'
        joint = '<joint name="%s" type="hinge" axis="0 1 0" armature="0.01"/>'
        calf = f'<body pos="0 0 {-THIGH}">{joint % f"{leg} knee"}{box % (0.01, 0.01, 0.2)}{foot}</body>'
        thigh = f"{joint % f'{leg} hip'}{box % (0.015, 0.015, 0.8)}{calf}"
        legs += f'<body pos="{0.2 * x} {0.13 * y} 0">{thigh}</body>'
        for name in ("hip", "knee"):
            actuators += f'<position joint="{leg} {name}" kp="150" kv="4"/>'
    trunk = f'<geom type="box" size="0.25 0.1 0.05" mass="9" {none}/>'
    return f'<body pos="0 0 {HEIGHT}"><freejoint/>{trunk}{legs}</body>', f"<actuator>{actuators}</actuator>"


def robot(swing: float, lift: float) -> Scene:
    def control(t: np.ndarray) -> np.ndarray:
        columns = []
        for _, _, phase in LEGS.values():
            turn = 2 * np.pi * (2.5 * t + phase)
            columns += [HIP + swing * np.sin(turn), KNEE - lift * np.maximum(0.0, -np.cos(turn))]
        return np.column_stack(columns)

    text, actuators = quadruped_text()
    start = (0.0, 0.0, HEIGHT, 1.0, 0.0, 0.0, 0.0, *([HIP, KNEE] * 4))
    return Scene(
        lambda: quadruped(swing, lift),
        [],
        [FLOOR],
        0.8,
        robot=text,
        actuators=actuators,
        control=control,
        start=start,
    )


def stands() -> Scene:
    return robot(0.0, 0.0)


def trots() -> Scene:
    return robot(0.25, 0.7)


SCENES = {
    "slope": slope,
    "stack": stack,
    "spheres": spheres,
    "stands": stands,
    "trots": trots,
    "many spheres": many_spheres,
}


class Ours:
    """A scene here."""

    def __init__(self, scene: Scene, seconds: float, step: float) -> None:
        self.model, self.step, self.seconds = scene.system().compile(), step, seconds
        self.free = not scene.robot

    def __call__(self) -> Answer:
        """Return the answer of one run."""
        began = process_time()
        result = da.simulate(self.model, self.seconds, contact=f"steps:{self.step}")
        took = (process_time() - began) / self.seconds
        end = result.at([result.t[-1]])
        contacts = self.model.contacts
        assert contacts is not None
        depth = max(0.0, *(-end[f"{name}.gap"][0] for name in contacts.names))
        law = max([0.0, *(_missed(note) for note in result.stats.notes)])
        return Answer(took, depth, float(np.abs(result.v[-1]).max()), law, result.q[-1, 4:7])


def _missed(note: str) -> float:
    """Return by how much the law of friction is missed, m/s, as a note says."""
    _, _, text = note.partition("the law of friction is missed by ")
    return float(text.split()[0]) if text else 0.0


def mujoco_text(scene: Scene, step: float, solver: str) -> str:
    """Return the scene as a model file of MuJoCo."""
    friction = f'friction="{scene.friction} 0 0"'
    geoms = []
    for place, normal in scene.planes:
        geoms.append(f'<geom type="plane" size="5 5 1" pos="{_text(place)}" zaxis="{_text(normal)}" {friction}/>')
    for shape, size, mass, position in scene.bodies:
        geom = f'<geom type="{shape}" size="{_text(size)}" mass="{mass}" {friction}/>'
        geoms.append(f'<body pos="{_text(position)}"><freejoint/>{geom}</body>')
    option = f'<option timestep="{step}" gravity="{_text(scene.gravity)}" solver="{solver}"/>'
    memory = '<size memory="200M"/>'
    world = "".join(geoms) + scene.robot
    return f"<mujoco>{option}{memory}<worldbody>{world}</worldbody>{scene.actuators}</mujoco>"


def _text(numbers: Any) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)


class Theirs:
    """A scene in MuJoCo."""

    def __init__(self, scene: Scene, seconds: float, solver: str, step: float) -> None:
        import mujoco
        from mujoco import rollout

        self.mujoco, self.rollout = mujoco, rollout
        self.model = mujoco.MjModel.from_xml_string(mujoco_text(scene, step, solver))
        self.seconds, self.count = seconds, round(seconds / step)
        self.control = None if scene.control is None else scene.control(step * np.arange(self.count))[None]
        self.start = scene.start

    def __call__(self) -> Answer:
        """Return the answer of one run."""
        mujoco, data = self.mujoco, self.mujoco.MjData(self.model)
        if self.start:
            data.qpos[:] = self.start
        state = np.empty(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(self.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        began = process_time()
        if self.control is None:
            mujoco.mj_step(self.model, data, self.count)
        else:
            self.rollout.rollout(self.model, data, state[None], self.control, nstep=self.count)
        took = (process_time() - began) / self.seconds
        depth = max([0.0, *(-contact.dist for contact in data.contact)])
        return Answer(took, depth, float(np.abs(data.qvel).max()), float("nan"), data.qpos[:3].copy())


def batch(scene: Scene, step: float, seconds: float, threads: int = 1) -> tuple[float, float]:
    """Return processor and wall time per run and second of motion, s, of a scene in a rollout of many runs."""
    model = scene.system().compile()
    periods = round(seconds / PERIOD)
    began, wall = process_time(), perf_counter()
    da.rollout(model, None, np.zeros((RUNS, periods, 0)), PERIOD, inputs=[], contact=f"steps:{step}", threads=threads)
    return (process_time() - began) / (RUNS * seconds), (perf_counter() - wall) / (RUNS * seconds)


def their_batch(scene: Scene, step: float, seconds: float) -> float:
    """Return the processor time of the same rollout of MuJoCo on one thread, s."""
    there = Theirs(scene, seconds, "Newton", step)
    mujoco, data = there.mujoco, there.mujoco.MjData(there.model)
    if scene.start:
        data.qpos[:] = scene.start
    state = np.empty(mujoco.mj_stateSize(there.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(there.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control = None if there.control is None else np.repeat(there.control, RUNS, axis=0)
    began = process_time()
    there.rollout.rollout(there.model, data, np.tile(state, (RUNS, 1)), control, nstep=there.count)
    return (process_time() - began) / (RUNS * seconds)


def compare_batches(name: str, scene: Scene, step: float, seconds: float) -> None:
    """Print the throughput of many runs of a scene beside MuJoCo."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(batch(scene, step, seconds)[0])
        theirs.append(their_batch(scene, step, seconds))
    wall = batch(scene, step, seconds, threads=2)[1]
    print(
        f"{RUNS} runs of {name!r}: {1e3 * min(ours):.2f} ms per run and s of motion, MuJoCo {1e3 * min(theirs):.2f}: "
        f"x{min(theirs) / min(ours):.2f} its throughput; {1e3 * wall:.2f} ms of wall time on 2 threads",
        flush=True,
    )


def growth(step: float, seconds: float) -> None:
    """Print the time of a step by the number of spheres in a box, and exponents of its growth in contacts."""
    last: tuple[float, float] | None = None
    for layers in (2, 5, 10, 20, 40):
        model = spheres(layers).system().compile()
        took, contacts = [], 0.0
        for _ in range(2):
            began = process_time()
            result = da.simulate(model, seconds, contact=f"steps:{step}")
            took.append((process_time() - began) * step / seconds)
            contacts = float(np.mean([len(result.touching(t)) for t in np.linspace(0.5, 1.0, 5) * seconds]))
        exponent = "" if last is None else f", exponent {np.log(min(took) / last[0]) / np.log(contacts / last[1]):.2f}"
        last = min(took), contacts
        print(f"{25 * layers} spheres, {contacts:.0f} contacts: {1e6 * min(took):.0f} us a step{exponent}", flush=True)


def arm_with_far_shapes(count: int, **material: float) -> da.Model:
    """Return an arm of 7 links beside 100 boxes that it never reaches, with contact with some of them."""
    s = da.System("arm")
    last, links = s.ground, []
    for k in range(7):
        links.append(s.body(f"link{k}", da.box(0.3, 0.05, 0.05, mass=1.0)))
        s.connect(f"J{k}", da.Revolute("y"), last if k == 0 else last.at(0.15, 0, 0), links[-1].at(-0.15, 0, 0))
        last = links[-1]
    far = [s.body(f"far{k}", da.box(0.2, 0.2, 0.2, mass=1.0)) for k in range(100)]
    for k, body in enumerate(far):
        s.connect(f"fixed{k}", da.Fixed(), s.ground.at(20.0 + 0.5 * (k % 10), 0.5 * (k // 10), 0.0), body)
    s.contact("far", links, far[:count], **material)
    return s.compile()


def far_shapes(step: float) -> None:
    """Print what 100 shapes that an arm never reaches add to its steps."""
    soft = {"stiffness": 1e6, "friction": 0.5}
    runs: dict[str, tuple[dict[str, float], dict[str, str]]] = {
        "events": ({}, {"contact": "events"}),
        "steps": ({}, {"contact": f"steps:{step}"}),
        "soft, dop853": (soft, {"contact": "soft", "method": "dop853"}),
        "soft without friction, dop853": ({"stiffness": 1e6}, {"contact": "soft", "method": "dop853"}),
        "soft, radau": (soft, {"contact": "soft", "method": "radau"}),
    }
    for name, (material, options) in runs.items():
        models = {count: arm_with_far_shapes(count, **material) for count in (1, 100)}
        times: dict[int, list[float]] = {count: [] for count in models}
        for _ in range(ROUNDS + 1):
            for count, model in models.items():
                began = process_time()
                result = da.simulate(model, 2.0, **options)  # type: ignore[arg-type]
                times[count].append((process_time() - began) / result.stats.steps)
        one, all_of_them = (min(times[count][1:]) for count in models)
        more = 100.0 * (all_of_them / one - 1.0)
        print(
            f"100 far shapes, {name}: {1e6 * one:.1f} -> {1e6 * all_of_them:.1f} us a step, {more:+.0f} %", flush=True
        )


def compare(name: str, scene: Scene, step: float, seconds: float) -> None:
    """Print the answers of all programs to a scene."""
    programs: dict[str, Callable[[float], Callable[[], Answer]]] = {
        "dalembert": partial(Ours, scene, seconds),
    }
    try:
        import mujoco  # noqa: F401

        for solver in dict.fromkeys(["Newton", scene.solver]):
            programs[f"MuJoCo {solver}"] = partial(Theirs, scene, seconds, solver)
    except ImportError:
        print("MuJoCo is not installed")
    runs = {program: make(step) for program, make in programs.items()}
    answers: dict[str, list[Answer]] = {program: [] for program in runs}
    for _ in range(ROUNDS + 1):
        for program, run in runs.items():
            answers[program].append(run())
    best = {program: min(answer.took for answer in found[1:]) for program, found in answers.items()}
    last = list(best.values())[-1]
    for program, make in programs.items():
        answer, half = answers[program][-1], make(step / 2)()
        error = float(np.linalg.norm(half.place - answer.place))
        print(
            f"{name:<12} {program:<14} {1e3 * best[program]:9.2f} ms per s  x{best[program] / last:5.2f}  "
            f"depth {answer.depth:.1e}  creep {answer.creep:.1e}  law {answer.law:.1e}  error {error:.1e}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=float, default=2e-3)
    parser.add_argument("--seconds", type=float, default=2.0)
    others = ("batch", "growth", "far")
    parser.add_argument("--scenes", nargs="*", default=[*SCENES, *others], choices=[*SCENES, *others])
    given = parser.parse_args()
    for name in given.scenes:
        if name == "batch":
            for scene in ("slope", "stands", "trots"):
                compare_batches(scene, SCENES[scene](), given.step, given.seconds)
        elif name == "growth":
            growth(given.step, given.seconds)
        elif name == "far":
            far_shapes(given.step)
        else:
            compare(name, SCENES[name](), given.step, given.seconds)


if __name__ == "__main__":
    main()
