"""Simulation by MuJoCo: `mj_step` with many steps in one call.

Loops are closed by `connect` constraints between sites, as hard as MuJoCo lets them be (impedance 0.9999, time constant
of two steps, its lower limit; ten steps were ten times less accurate), solved to the last digits; springs are tendons.
RK4, which MuJoCo recommends where energy matters; for the stiff dampers also its implicit integrators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from dalembert.connections.elements.built_in import Effort, SpringDamper

from .coordinates import Convention, Coordinates
from .links import Array, links_of
from .motion import Motion, closing_points, in_link
from .mujoco import add_link

__all__ = ["MujocoMotion"]

mujoco.set_mju_user_warning(lambda message: None)  # instead of a log file in the working directory

_IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)


class MujocoMotion:
    """MuJoCo's own integrators."""

    name = "MuJoCo"

    def motions(self, problem: Any) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        if problem.stiff:  # steps as long as stability lets RK4 take them; the implicit ones are of first order
            steps = [("IMPLICITFAST", 10_000), ("IMPLICIT", 10_000), ("RK4", 40_000), ("RK4", 80_000)]
        else:
            steps = [("RK4", n) for n in (60, 125, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000)]
        for integrator, number in steps:
            yield _motion(problem, integrator, number)


def _motion(problem: Any, integrator: str, steps: int) -> Motion:
    system = problem.system
    links = links_of(system, loops=True)
    pairs = closing_points(system, links, planar=problem.planar)
    spec = mujoco.MjSpec()
    option = spec.option
    option.gravity = system.gravity
    option.timestep = h = problem.t_end / steps
    option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.iterations, option.tolerance = 100, 1e-15
    option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    if not pairs:
        option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    bodies = [spec.worldbody]
    for k, link in enumerate(links, start=1):
        bodies.append(add_link(bodies[link.parent], k, link))
    for k, ends in enumerate(pairs):
        names = _sites(bodies, f"close {k}", ends)
        spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=names[0],
            name2=names[1],
            solref=(2 * h, 1.0),
            solimp=_IMPEDANCE,
        )
    for name, force in system.forces.items():
        if isinstance(force.element, SpringDamper):
            ends = tuple(in_link(links, end) for end in (force.first, force.second))
            spring = force.element
            tendon = spec.add_tendon(
                stiffness=[spring.stiffness, 0, 0],
                damping=[spring.damping, 0, 0],
                springlength=(spring.length, spring.length),
            )
            for site in _sites(bodies, name, ends):
                tendon.wrap_site(site)
    model = spec.compile()
    data = mujoco.MjData(model)
    joints = [joint for link in links for joint in link.joints]
    numbers = [model.joint(joint.name).id for joint in joints]
    starts = [(int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])) for j in numbers]
    at = Coordinates(joints, starts, Convention(position_first=True, linear_first=True, linear_in_parent=True))
    q, v = problem.start.q, problem.start.v
    position, speed, tau = at.configuration(q), at.speeds(q, v), np.zeros(model.nv)
    for force in system.forces.values():
        if isinstance(force.element, Effort):
            tau[problem.model.v_slice(force.joint.name)] = float(force.element.law(0.0)[0])
    effort = at.efforts(q, tau)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = position, speed, effort
        mujoco.mj_step(model, data, steps)

    def state() -> tuple[Array, Array]:
        if abs(data.time - problem.t_end) > h / 2:  # MuJoCo starts anew when it meets numbers that are not finite
            return np.full(len(q), np.nan), np.full(len(v), np.nan)
        found = at.configuration_back(np.array(data.qpos))
        return found, at.speeds_back(found, np.array(data.qvel))

    return Motion(f"{integrator} {steps} steps", run, state)


def _sites(bodies: list[Any], name: str, ends: tuple[tuple[int, Array], ...]) -> list[str]:
    names = []
    for label, (link, place) in zip("ab", ends, strict=True):
        names.append(f"{name} {label}")
        bodies[link].add_site(name=names[-1], pos=place)
    return names
