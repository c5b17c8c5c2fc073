"""Rigid contact by steps beside MuJoCo: processor time per second of motion at equal steps, and what each gets wrong.

`python bench/contact.py [--step 2e-3] [--seconds 2] [--scenes slope stack ...]`. Minima of rounds on one thread. MuJoCo
runs with its defaults (Newton, pyramidal cones) and, for spheres, with its conjugate gradients, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

import dalembert as da

G = 9.81
ROUNDS = 3


@dataclass(frozen=True)
class Scene:
    """One scene in both programs.

    Attributes
    ----------
    system : callable
        That makes it here.
    bodies : list of (shape, size, mass, position)
        Free boxes and spheres in MuJoCo; planes from `planes`.
    """

    system: Callable[[], da.System]
    bodies: list[tuple[str, tuple[float, ...], float, tuple[float, ...]]]
    planes: list[tuple[tuple[float, ...], tuple[float, ...]]]
    friction: float
    gravity: tuple[float, float, float] = (0.0, 0.0, -G)
    solver: str = "Newton"


def free_bodies(scene: Callable[[], Scene]) -> da.System:
    """Return the free bodies and planes of a scene."""
    given = scene()
    s = da.System("scene", gravity=given.gravity)
    made = []
    for k, (shape, size, mass, position) in enumerate(given.bodies):
        solid = da.sphere(size[0], mass=mass) if shape == "sphere" else da.box(*(2 * x for x in size), mass=mass)
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
    bodies = [("box", (0.1, 0.1, 0.05), 1.0, (0.0, 0.0, 0.05))]
    return Scene(lambda: free_bodies(slope), bodies, [FLOOR], friction, gravity)


def stack() -> Scene:
    bodies = [("box", (0.1, 0.1, 0.1), 1.0, (0.0, 0.0, 0.1 + 0.2 * k)) for k in range(10)]
    return Scene(lambda: free_bodies(stack), bodies, [FLOOR], 0.5)


def spheres() -> Scene:
    rng = np.random.default_rng(0)
    bodies = []
    for k in range(100):
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
    return Scene(lambda: free_bodies(spheres), bodies, planes, 0.5, solver="CG")


SCENES = {"slope": slope, "stack": stack, "spheres": spheres}


def ours(scene: Scene, step: float, seconds: float) -> tuple[float, str]:
    """Return the processor time per second of motion, s, and what is wrong at the end."""
    model = scene.system().compile()
    da.simulate(model, 2 * step, contact=f"steps:{step}")
    times = []
    for _ in range(ROUNDS):
        began = process_time()
        result = da.simulate(model, seconds, contact=f"steps:{step}")
        times.append((process_time() - began) / seconds)
    gaps = [result.at([result.t[-1]])[f"{name}.gap"][0] for name in model.contacts.names]
    speed = np.abs(result.v[-1]).max()
    return min(times), f"depth {max(0.0, -min(gaps)):.1e} m, largest velocity {speed:.1e} m/s"


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
    return f"<mujoco>{option}<worldbody>{''.join(geoms)}</worldbody></mujoco>"


def _text(numbers: Any) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)


def theirs(scene: Scene, step: float, seconds: float, solver: str) -> tuple[float, str]:
    """Return the same of MuJoCo."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mujoco_text(scene, step, solver))
    times = []
    for _ in range(ROUNDS):
        data = mujoco.MjData(model)
        began = process_time()
        for _ in range(round(seconds / step)):
            mujoco.mj_step(model, data)
        times.append((process_time() - began) / seconds)
    depth = max([0.0, *(-contact.dist for contact in data.contact)])
    return min(times), f"depth {depth:.1e} m, largest velocity {np.abs(data.qvel).max():.1e} m/s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=float, default=2e-3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--scenes", nargs="*", default=list(SCENES), choices=list(SCENES))
    given = parser.parse_args()
    for name in given.scenes:
        scene = SCENES[name]()
        rows = [("dalembert", *ours(scene, given.step, given.seconds))]
        try:
            for solver in dict.fromkeys(["Newton", scene.solver]):
                rows.append((f"MuJoCo {solver}", *theirs(scene, given.step, given.seconds, solver)))
        except ImportError:
            print("MuJoCo is not installed")
        for program, took, wrong in rows:
            print(f"{name:<10} {program:<16} {1e3 * took:9.2f} ms per s   {wrong}")


if __name__ == "__main__":
    main()
