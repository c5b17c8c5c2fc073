"""Simulation around Pinocchio: it computes accelerations, SciPy or a loop in Python takes the steps.

Closed loops: `constraintDynamics` with proximal settings at 1e-12 and Baumgarte's correction, whose gains belong to
each problem's time scale; one 3-D contact closes a planar loop, two on the axis a spatial one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from .links import Array
from .motion import Motion, closing_points
from .pinocchio import Pinocchio

__all__ = ["PinocchioRK4", "PinocchioScipy"]

Accelerations = Callable[[Array, Array], Array]

PATIENCE = 5.0  # s, after which a run is given up: step control can lose itself at a singular position


class PinocchioScipy:
    """One of SciPy's methods with error control: DOP853 and LSODA, and Radau for stiff problems."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.name = f"Pinocchio + {method}"

    def motions(self, problem: Any) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        if {"DOP853": problem.stiff, "Radau": not problem.stiff}.get(self.method, False):
            return
        for rtol in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
            yield _scipy_motion(problem, self.method, rtol)


class PinocchioRK4:
    """Classic Runge-Kutta with a fixed step, written in Python."""

    name = "Pinocchio + RK4"

    def motions(self, problem: Any) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        if problem.stiff:
            return
        for steps in (60, 125, 250, 500, 1000, 2000, 4000, 8000, 16000):
            yield _fixed_motion(problem, steps)


def _scipy_motion(problem: Any, method: str, rtol: float) -> Motion:
    peer, accelerate = _accelerations(problem)
    n = peer.model.nv
    y0 = _start(problem, peer)
    last, deadline = [y0], [0.0]

    def rates(t: float, y: Array) -> Array:
        if perf_counter() > deadline[0]:
            raise TimeoutError
        out = np.empty(2 * n)
        out[:n] = y[n:]
        out[n:] = accelerate(y[:n], y[n:])
        return out

    def run() -> None:
        deadline[0] = perf_counter() + PATIENCE
        # points are wanted at the end only
        found = solve_ivp(rates, (0.0, problem.t_end), y0, method, t_eval=[problem.t_end], rtol=rtol, atol=rtol * 1e-2)
        last[0] = found.y[:, -1] if found.success else np.full(2 * n, np.nan)

    return Motion(f"{method} rtol {rtol:.0e}", run, lambda: _state(peer, last[0]))


def _fixed_motion(problem: Any, steps: int) -> Motion:
    peer, accelerate = _accelerations(problem)
    n, h = peer.model.nv, problem.t_end / steps
    y0 = _start(problem, peer)
    last = [y0]

    def run() -> None:
        q, v = y0[:n].copy(), y0[n:].copy()
        for _ in range(steps):
            a1 = accelerate(q, v).copy()
            v2 = v + (h / 2) * a1
            a2 = accelerate(q + (h / 2) * v, v2).copy()
            v3 = v + (h / 2) * a2
            a3 = accelerate(q + (h / 2) * v2, v3).copy()
            v4 = v + h * a3
            a4 = accelerate(q + h * v3, v4)
            q = q + (h / 6) * (v + 2 * (v2 + v3) + v4)
            v = v + (h / 6) * (a1 + 2 * (a2 + a3) + a4)
        last[0] = np.concatenate([q, v])

    return Motion(f"{steps} steps", run, lambda: _state(peer, last[0]))


def _start(problem: Any, peer: Pinocchio) -> Array:
    q, v = problem.start.q, problem.start.v
    return np.concatenate([peer.coordinates.configuration(q), peer.coordinates.speeds(q, v)])


def _state(peer: Pinocchio, y: Array) -> tuple[Array, Array]:
    n = peer.model.nv
    q = peer.coordinates.configuration_back(y[:n])
    return q, peer.coordinates.speeds_back(q, y[n:])


def _accelerations(problem: Any) -> tuple[Pinocchio, Accelerations]:
    """Return the peer's model and its accelerations as a function of q and v."""
    peer = Pinocchio(problem.system, loops=True)
    model, data = peer.model, peer.data
    places = np.arange(model.nv, dtype=float)
    assert np.array_equal(peer.coordinates.configuration(places), places), "problem.efforts needs the same order"
    tau = np.zeros(model.nv)
    efforts = problem.efforts
    pairs = closing_points(problem.system, peer.links, planar=problem.planar)
    if not pairs:

        def free(q: Array, v: Array) -> Array:
            if efforts is not None:
                efforts(q, v, tau)
            return pin.aba(model, data, q, v, tau)

        return peer, free
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for first, second in pairs:
        ends = [part for end in (first, second) for part in _placed(peer, *end)]
        constraint = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL)
        gain = problem.baumgarte
        constraint.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(gain**2, 2 * gain))
        models.append(constraint)
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-12, 1e-10, 20)

    def closed(q: Array, v: Array) -> Array:
        if efforts is not None:
            efforts(q, v, tau)
        return pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)

    return peer, closed


def _placed(peer: Pinocchio, link: int, place: Array) -> tuple[int, pin.SE3]:
    """Return the joint that moves a point of a link, and where the point is in its frame."""
    if link == 0:
        return 0, pin.SE3(np.eye(3), place)
    frame = peer.model.frames[link]  # of the body
    body = peer.links[link - 1]
    in_body = body.body_R.T @ (place - body.body_p)
    return frame.parentJoint, pin.SE3(np.eye(3), frame.placement.act(in_body))
