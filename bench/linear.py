"""Costs of equilibria, linear equations, modes, Campbell diagrams, other numbers and inverse dynamics.

    python bench/linear.py [--quick] [--json out.json]

Processor time, minima. A linearisation is told in derivative evaluations too (`Model.d_dynamics` of the same state, the
whole of what it is made from): a looped mechanism of thirty bodies may cost three of them.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time_ns

import numpy as np
import report
import timing

import dalembert as da
from dalembert.library import windows
from dalembert.library.mechanisms import four_bar
from dalembert.library.open_chains import chain
from dalembert.linear import tangent_space

RATIOS = 0.9 + 0.2 * np.arange(10) / 9  # of a length, there and back in a thousand steps


@dataclass(frozen=True)
class Row:
    """A cost, beside what it should be; `unit` ms, us, or evaluations of derivatives."""

    what: str
    cost: float
    aim: float | None
    unit: str


def ring(count: int) -> da.System:
    """Return a chain of links that hangs from two points, `count` - 2 degrees of freedom: a loop of `count` bodies."""
    s = da.System(f"hanging chain of {count}")
    end = s.ground.origin
    for k in range(count):
        link = s.body(f"link{k}", da.rod(length=0.1, mass=0.1))
        s.connect(f"H{k}", da.Revolute("y", damping=1e-3), end, link)
        s.initial(f"H{k}", position=np.pi / 3 if k == 0 else -2 * np.pi / 3 / (count - 1))
        end = link.marker("end", 0.1, 0, 0)
    s.connect("last", da.Revolute("y"), s.ground.at(0.06 * count, 0, 0), end)
    return s


def rotor(modes: int) -> da.System:
    """Return discs on a shaft of bushings, five coordinates each beside the spin, `modes` in all."""
    s = da.System("rotor", gravity=(0, 0, 0))
    places = np.linspace(0.0, 1.0, modes // 5)
    carried = []
    for k, x in enumerate(places):
        carrier, cradle = (s.body(f"{n}{k}", mass=1e-3, inertia=(1e-5, 1e-5, 1e-5)) for n in ("carrier", "cradle"))
        disc = s.body(f"disc{k}", mass=4.0, inertia=(0.055, 0.03, 0.03))
        s.connect(f"bend{k}", da.Planar("x"), s.ground.at(x, 0, 0), carrier)
        s.connect(f"tilt{k}", da.Universal("y", "z"), carrier, cradle)
        s.connect(f"spin{k}", da.Revolute("x"), cradle, disc)
        s.drive(f"spin{k}", speed=1.0)
        s.connect(f"roll{k}", da.Bushing(stiffness=(0, 0, 0, 1e3, 0, 0)), s.ground.at(x, 0, 0), carrier)
        carried.append(cradle)
    for k in range(len(carried) - 1):
        s.connect(f"shaft{k}", da.Bushing(stiffness=(0, 2e5, 3e5, 0, 4e3, 4e3)), carried[k], carried[k + 1])
    for k in (0, len(carried) - 1):
        bearing = da.Bushing(stiffness=(0, 1e6, 1.4e6, 0, 0, 0), damping=(0, 50.0, 50.0, 0, 0, 0))
        s.connect(f"bearing{k}", bearing, s.ground.at(places[k], 0, 0), carried[k])
    return s


def hanging(count: int) -> da.System:
    """Return a chain that hangs from one point, along the vertical."""
    s = da.System(f"hanging chain of {count}")
    end = s.ground.origin
    for k in range(count):
        link = s.body(f"link{k}", mass=1.0, com=(0, 0, -0.15), inertia=(0.0075, 0.0075, 1e-4))
        s.connect(f"H{k}", da.Revolute("xy"[k % 2]), end, link)
        end = link.at(0, 0, -0.3)
    return s


def cantilever(count: int) -> da.System:
    """Return a chain of rods on stiff springs with damping, clamped at one end."""
    s = da.System(f"cantilever of {count}")
    end = s.ground.origin
    for k in range(count):
        link = s.body(f"link{k}", da.rod(length=0.1, mass=0.1))
        s.connect(f"H{k}", da.Revolute("yz"[k % 2]), end, link)
        s.connect(f"k{k}", da.JointSpring(stiffness=50.0, damping=1e-3), f"H{k}")
        end = link.marker("end", 0.1, 0, 0)
    return s


def sprung_ring(count: int) -> da.System:
    """Return the hanging chain with a spring at every joint: a loop of `count` bodies."""
    s = ring(count)
    for k in range(count):
        s.connect(f"k{k}", da.JointSpring(stiffness=20.0), f"H{k}")
    return s


def cheapest(call: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of a call, ms."""
    times = []
    for _ in range(rounds):
        begin = process_time_ns()
        call()
        times.append(process_time_ns() - begin)
    return min(times) / 1e6


def linearisations(rounds: int) -> list[Row]:
    """Return what linear equations cost in evaluations of derivatives."""
    rows = []
    for title, system in (("31 bodies, 15 loops, 1 degree of freedom", windows(15)), ("a loop of 30 bodies", ring(30))):
        model = system.compile()
        start = da.start_state(model)
        space = tangent_space(model, start)
        d = model.d_dynamics
        calls: dict[str, Callable[[], object]] = {
            "derivatives": lambda d=d, s=start: d(s.t, s.q, s.v, s.x),
            "linearize": lambda model=model, s=start: da.linearize(model, s),
            "coefficients": lambda space=space: space.reduce(space.derivatives()),
        }
        found = timing.race(calls, rounds=rounds, clock=process_time_ns)
        one = found["derivatives"].minimum
        rows += [
            Row(f"derivatives: {title}", 1e3 * one, None, "ms"),
            Row(f"A of a known tangent space: {title}", found["coefficients"].minimum / one, None, "evaluations"),
            Row(f"linearize: {title}", found["linearize"].minimum / one, 3.0, "evaluations"),
        ]
    return rows


def lengths(model: da.Model) -> None:
    """Give a loop a thousand other lengths, and ask each time what is in it."""
    q = np.zeros(model.nq)
    for k in range(1000):
        other = model.with_parameters({"link3.end.x": 0.1 * float(RATIOS[k % len(RATIOS)])})
        other.constraint_residual(q)


def single_states(rounds: int) -> list[Row]:
    """Return the costs of analyses of one state of a four-bar, in a loop of calls."""
    model = four_bar().compile()
    state = da.start_state(model, {"A": 0.3, "A.speed": 2.0})
    rates = model.forward_dynamics(state.q, state.v)
    calls = 500
    rows = []
    for title, call, aim in (
        (
            "inverse dynamics of one state with a loop, one actuator",
            lambda: da.inverse_dynamics(model, state.q, state.v, rates, actuators="A"),
            30.0,
        ),
        (
            "the same with redundant actuators",
            lambda: da.inverse_dynamics(model, state.q, state.v, rates),
            30.0,
        ),
        (
            "operational space of one state with a loop",
            lambda: da.operational_space(model, "coupler", state.q, state.v),
            20.0,
        ),
    ):

        def many(call: Callable[[], object] = call) -> None:
            for _ in range(calls):
                call()

        rows.append(Row(title, 1e3 * cheapest(many, rounds) / calls, aim, "us"))
    return rows


def measure(rounds: int) -> list[Row]:
    """Return all costs."""
    rows = linearisations(rounds) + single_states(rounds)
    loop, many, shaft, joints = (s.compile() for s in (ring(20), hanging(1000), rotor(20), chain(7)))
    beams, loops = [cantilever(n).compile() for n in (300, 1000)], sprung_ring(300).compile()
    speeds = np.linspace(0.0, 600.0, 100)
    state = joints.random_state(np.random.default_rng(0), 10_000)
    rates = np.random.default_rng(1).normal(size=(10_000, joints.nv))
    motion = (joints, state.q, state.v, rates)
    spins = [f"spin{k}" for k in range(4)]
    for title, call, aim in (
        ("equilibrium of a chain of 20 that hangs from two points", lambda: da.equilibrium(loop), None),
        ("equilibrium of a sprung chain of 300", lambda: da.equilibrium(beams[0]), 50.0),
        ("equilibrium of a sprung chain of 1,000", lambda: da.equilibrium(beams[1]), 200.0),
        ("equilibrium of a sprung loop of 300", lambda: da.equilibrium(loops), None),
        ("modes of a chain of 1,000 bodies, the lowest 20", lambda: da.modes(many), 1000.0),
        ("damped modes of a sprung chain of 1,000, the lowest 20", lambda: da.modes(beams[1], count=20), 500.0),
        ("damped modes of a sprung loop of 300, the lowest 20", lambda: da.modes(loops, count=20), 500.0),
        ("Campbell diagram, 100 speeds of a rotor of 20 modes", lambda: da.campbell(shaft, spins, speeds), 1000.0),
        ("1,000 lengths in a loop of 20 bodies", lambda: lengths(loop), 100.0),
        ("inverse dynamics, 10,000 states of 7 joints", lambda: da.inverse_dynamics(*motion), 10.0),
        ("the same by the kernel", lambda: joints.inverse_dynamics(state.q, state.v, rates), None),
    ):  # fmt: skip
        rows.append(Row(title, cheapest(call, max(2, rounds // 3)), aim, "ms"))
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as text."""
    lines = [f"{'':<58}{'cost':>10}  {'':<12}{'asked':>8}"]
    for row in rows:
        aim = "" if row.aim is None else f"< {row.aim:g}"
        lines.append(f"{row.what:<58}{row.cost:>10.4g}  {row.unit:<12}{aim:>8}")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__).parse_args()
    about = report.introduce()
    rows = measure(5 if options.quick else 15)
    print(f"\n{table(rows)}")
    report.write(options.json, about, rows)


if __name__ == "__main__":
    main()
