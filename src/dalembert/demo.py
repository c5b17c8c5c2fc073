"""The demonstration of the command line: a spatial chain swings freely and keeps its energy."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ._core import isa
from .library import chain, humanoid
from .model import Model

__all__ = ["run", "swing"]

Array = NDArray[np.float64]


def swing(model: Model, duration: float, steps: int) -> tuple[Array, Array, Array]:
    """Release a model from its start values and follow it by classical Runge-Kutta steps.

    Parameters
    ----------
    model : Model
    duration : float, s
    steps : int

    Returns
    -------
    t : (steps + 1,) s
    q : (steps + 1, nq)
    v : (steps + 1, nv)
    """
    h = duration / steps
    state = model.initial_state()
    q, v = state.q, state.v
    t, qs, vs = np.linspace(0.0, duration, steps + 1), [q], [v]
    f = model.forward_dynamics
    for _ in range(steps):
        a1 = f(q, v)
        v2 = v + h / 2 * a1
        a2 = f(model.integrate(q, h / 2 * v), v2)
        v3 = v + h / 2 * a2
        a3 = f(model.integrate(q, h / 2 * v2), v3)
        v4 = v + h * a3
        a4 = f(model.integrate(q, h * v3), v4)
        q = model.integrate(q, h / 6 * (v + 2 * v2 + 2 * v3 + v4))
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        qs.append(q)
        vs.append(v)
    return t, np.array(qs), np.array(vs)


def run(output: str) -> None:
    """Print the chain's motion and the speed of the kernels, and write a picture to `output`."""
    system = chain(7)
    first = next(iter(system.connections))
    system.initial(first, position=0.5, speed=1.0)
    model = system.compile()
    print(f"A chain of 7 links, joint axes in turn along different directions; {isa} kernels.\n")
    started = time.perf_counter()
    t, q, v = swing(model, 4.0, 16_000)
    seconds = time.perf_counter() - started

    tip = model.body_names[-1]
    energy = model.energy(q, v)
    drift = np.abs(energy.total - energy.total[0])
    position = model.pose(tip, q).position
    print("   t [s]   origin of the last link, x, y, z [m]      kinetic [J]   potential [J]   energy drift [J]")
    for k in range(0, len(t), 2000):
        x, y, z = position[k]
        joules = f"{energy.kinetic[k]:17.5f} {energy.potential[k]:15.5f} {drift[k]:18.2e}"
        print(f"{t[k]:8.2f}   {x:10.5f} {y:10.5f} {z:10.5f} {joules}")
    print(f"\n64,000 evaluations of forward dynamics and as many steps on the manifold in {seconds:.2f} s.\n")
    _print_speeds()
    _draw(model, t, q, drift, output)
    print(f"\nThe picture is in {output}.")


def _print_speeds() -> None:
    print("Microseconds per state          forward dynamics    inverse dynamics    mass matrix")
    for name, system in (("chain of 7", chain(7)), ("chain of 32", chain(32)), ("humanoid, 35 freedoms", humanoid())):
        model = system.compile()
        state, batch = model.random_state(0), model.random_state(0, size=2048)
        for label, s in (("one call", state), ("in a batch", batch)):
            states = 1 if s.q.ndim == 1 else len(s.q)
            times = [
                _microseconds(lambda s=s, model=model: model.forward_dynamics(s.q, s.v, s.v)) / states,
                _microseconds(lambda s=s, model=model: model.inverse_dynamics(s.q, s.v, s.v)) / states,
                _microseconds(lambda s=s, model=model: model.mass_matrix(s.q)) / states,
            ]
            print(f"{name:22s} {label:10s}" + "".join(f"{x:14.3f}      " for x in times))


def _microseconds(call: object, repetitions: int = 30) -> float:
    best = np.inf
    for _ in range(repetitions):
        started = time.perf_counter()
        call()  # type: ignore[operator]
        best = min(best, time.perf_counter() - started)
    return float(best) * 1e6


def _draw(model: Model, t: Array, q: Array, drift: Array, output: str) -> None:
    from .view.strobe import draw_strobe
    from .view.style import figure

    picture = figure(11, 5)
    space = picture.add_subplot(1, 2, 1, projection="3d")
    draw_strobe(space, model, q[:4800:320], trace=q[:4800:8])
    space.set_title("A released chain, every 0.08 s for 1.2 s", fontsize=11)
    time_axes = picture.add_subplot(1, 2, 2)
    time_axes.semilogy(t[1:], np.maximum(drift[1:], 1e-16), color="tab:blue", linewidth=1)
    time_axes.set(xlabel="t [s]", ylabel="|energy - energy at start| [J]")
    time_axes.set_title("Energy drift, Runge-Kutta of order 4, 0.25 ms steps", fontsize=11)
    time_axes.grid(alpha=0.3)
    picture.tight_layout()
    picture.savefig(output, dpi=130)
