"""Random machines with everything at once: stops, friction, armature, a driven ball joint, pulses, sampled control.

Trees, planar loops and spatial loops stand on a base that a ball joint swings about. Joints have dry friction, stops
around where they start, armature and damping; pulses act at a joint and at a body; a controller with noisy sensors is
asked at fixed times, jumps, and acts late.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.bodies.body import Body
from dalembert.connections.joints import Joint
from systems.random_loops import ClosedSystem, close
from systems.random_trees import hang_on, random_body, random_joint

Array = NDArray[np.float64]

__all__ = ["LAWS", "Bang", "add_jumping_laws", "lead", "machine", "option", "start_closed"]

TREE = (da.Revolute, da.Prismatic, da.Cylindrical, da.Universal, da.Screw, da.Planar)
SPATIAL = (da.Revolute, da.Spherical, da.Revolute, da.Universal, da.Revolute, da.Revolute)


def machine(seed: int) -> da.System:
    """Return one of them: a tree, a planar loop of five pins, or a spatial loop with two DOF, by turns."""
    rng = np.random.default_rng(seed)
    system = da.System(f"machine {seed}", gravity=rng.normal(size=3) * 5)
    base = random_body(system, "base", rng)
    if seed % 3 == 0:
        _tree(system, base, rng)
    else:
        closed = _loop(system, base, rng, planar=seed % 3 == 1)
        start_closed(system, closed)
    place = system.ground if seed % 3 == 0 else _where(system, closed)
    system.connect("S", da.Spherical(), place, base)
    a, b, c = rng.uniform(0.1, 0.4, 3)
    swing = da.BryantAngles(da.Harmonic(a, 2.0), da.Harmonic(b, 3.0), da.Harmonic(c, 1.5))
    system.drive("S", rotation=swing if seed % 2 else da.BryantAngles(*(da.Ramp(0.0, x, 0.8) for x in (a, b, c))))
    roughen(system, rng, balls=seed % 12 == 11)
    acted = [name for name, c in system.connections.items() if c.element.nv == 1]
    system.connect("kick", da.Effort(da.laws.Pulse(0.31, 0.01, float(rng.normal() * 30))), acted[0])
    tip = list(system.bodies.values())[-1]
    pulse = da.laws.Pulse(0.52, 0.005, float(rng.normal() * 50))
    system.connect("blow", da.Load(force=(0.0, pulse, 0.0)), tip.at(0.1, 0, 0))
    return system


def roughen(system: da.System, rng: np.random.Generator, *, balls: bool) -> None:
    """Give joints friction, damping and stops around where they start; the first of one DOF has armature, too."""
    geared = False
    for name, connection in system.connections.items():
        joint, n = connection.element, connection.element.nv
        if name == "S" or not isinstance(joint, Joint) or not n:
            continue
        if joint.nq != n and not balls:
            continue
        friction = rng.uniform(0.1, 1.5, n) if joint.nq == n else float(rng.uniform(0.1, 1.0))
        data: dict[str, Any] = {"friction": friction}
        if rng.random() < 0.5:
            data["static_friction"] = 1.4 * friction
        if rng.random() < 0.4:
            data["damping"] = rng.uniform(0.0, 0.3, n)
        if n == 1 and not geared:
            data["armature"], geared = float(rng.uniform(0.05, 0.5)), True
        if joint.nq == n and name in system.initials:
            start = np.atleast_1d(np.asarray(system.initials[name].position, dtype=float))
            data |= {"lower": start - rng.uniform(0.1, 0.6, n), "upper": start + rng.uniform(0.1, 0.6, n)}
            data["restitution"] = float(rng.uniform(0.0, 0.7))
        system.connections[name] = replace(connection, element=replace(joint, **data))


LAWS = (  # by s and ds of a joint that starts at S
    "-3*sign(ds)",
    "-where(s - S < 0, 200, 50)*(s - S)",
    "-30*abs(s - S)*(s - S) - 0.5*ds*abs(ds)",
    "-where(ds > 0, 2, 0.5)*ds - 1.5*sign(s - S)",
    "5*floor(4*(s - S)) - 2*ds",
    "-20*max(s - S, 0) + 20*max(S - s - 0.1, 0)",
    "-8*sign(ds - 0.3)",
)


def add_jumping_laws(system: da.System, seed: int) -> None:
    """Let laws with jumps and kinks act at the first two joints of one DOF, beside their friction and stops."""
    rng = np.random.default_rng(seed + 77)
    joints = [n for n, c in system.connections.items() if isinstance(c.element, Joint) and c.element.nv == 1]
    for k, name in enumerate(joints[:2]):
        law = LAWS[rng.integers(len(LAWS))]
        start = system.initials.get(name)
        S = 0.0 if start is None or start.position is None else float(np.atleast_1d(start.position)[0])
        if rng.random() < 0.3:
            system.connect(f"law{k}", da.Limits(S - 0.02, S + 0.05, 2e3, 5.0), name)
        else:
            system.connect(f"law{k}", da.Element("joint", law, {"S": S} if "S" in law else {}, active=True), name)


def lead(system: da.System, kind: int, seed: int) -> None:
    """Drive the ball joint in another way: by a spline, speeds, some of them, an angle, accelerations, Euler angles."""
    rng = np.random.default_rng(seed + 78)

    def wave() -> da.Harmonic:
        return da.Harmonic(float(rng.uniform(0.2, 1.5)), float(rng.uniform(2, 9)))

    turns = [da.rotation.axis_angle(rng.normal(size=3), float(rng.uniform(-0.4, 0.4))) for _ in range(5)]
    ways: tuple[dict[str, Any], ...] = (
        {"rotation": da.AttitudeSpline(np.linspace(-0.01, 0.7, 5), turns)},
        {"speed": (wave(), wave(), wave())},
        {"speed": (wave(), None, wave())},
        {"rotation": da.BryantAngles(None, da.Ramp(0.0, 0.3, 0.8), None)},
        {"acceleration": (wave(), wave(), wave())},
        {"rotation": da.EulerAngles((da.Harmonic(0.2, 3.0), da.Ramp(0.3, 0.6, 0.8), wave()))},
    )
    system.drives = {name: drive for name, drive in system.drives.items() if drive.connection.name != "S"}
    system.drive("S", **ways[kind])


class Bang:
    """A controller that jumps with the sign of what it sees; it presses Ctrl-C once, if it is told when."""

    def __init__(self, model: da.Model, press: float = np.inf) -> None:
        acted = next(h.name for h in model.forest.joints if h.element.nv == 1)
        self.name, self.at, self.press = acted, model.v_slice(acted), press

    def __call__(self, state: da.State) -> dict[str, float]:
        if state.t > self.press:
            self.press = np.inf
            signal.raise_signal(signal.SIGINT)
        return {self.name: -2.0 * float(np.sign(np.sin(9.0 * state.t) + state.v[self.at][0]))}


def option(model: da.Model, seed: int, press: float = np.inf) -> dict[str, Any]:
    """Return what its runs are asked with."""
    control = da.SampledControl(Bang(model, press), period=0.02, delay=0.004, noise=(1e-3, 1e-2), seed=seed)
    return {"control": control, "rtol": 1e-9, "atol": 1e-11}


def _tree(system: da.System, base: Body, rng: np.random.Generator) -> None:
    placed: list[Body] = [base]
    kinds: Sequence[type[Joint]] = (da.Revolute, *(TREE[int(k)] for k in rng.integers(len(TREE), size=3)))
    for k, kind in enumerate(kinds):
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(system, parent, f"b{k}", kind, rng, backwards=bool(rng.random() < 0.5)))
    for name, connection in system.connections.items():
        system.initial(name, position=0.3 * rng.normal(size=connection.element.nq))


def _loop(system: da.System, base: Body, rng: np.random.Generator, *, planar: bool) -> ClosedSystem:
    """Hang a loop on the base and close it."""
    body = base
    if planar:

        def pin(of: Body) -> Any:
            return of.at(*rng.normal(size=3), rotation=("z", float(rng.normal())))

        for k in range(4):
            inner, body = body, random_body(system, f"b{k}", rng)
            system.connect(f"h_b{k}", da.Revolute("z"), pin(inner), pin(body))
        return close(system, [(pin(body), base, da.Revolute("z"))], rng)
    for k, kind in enumerate(SPATIAL[:-1]):
        body = hang_on(system, body, f"b{k}", kind, rng, backwards=bool(rng.random() < 0.5))
    return close(system, [(body, base, random_joint(SPATIAL[-1], rng))], rng)


def _where(system: da.System, closed: ClosedSystem) -> Any:
    k = list(system.bodies).index("base")
    return system.ground.at(*closed.p[k], rotation=closed.R[k])


def start_closed(system: da.System, closed: ClosedSystem) -> None:
    """Make the coordinates of joints in the configuration in which the loop was closed their start values."""
    model = system.compile()
    q, v = closed.state(model)
    for joint in model.forest.joints:
        if joint.name in system.connections and joint.element.nq:
            system.initial(joint.name, position=q[model.q_slice(joint.name)])
    cut = model.cut_motion(q, v, np.zeros(model.nv))[0]
    for loop_constraint in model.forest.loop_constraints:
        if loop_constraint.element.nq == loop_constraint.element.nv:
            system.initial(loop_constraint.name, position=cut[model.cut_joint_slice(loop_constraint.name)])
