"""Cost of derivatives of a run, in simulations: by 8 numbers forwards, by 50, 400 and 800 with the output
followed back.

    python bench/sensitivity.py [--quick] [--json out.json]

Processor time, minima of rounds in turns. A simulation is `da.simulate` of the same run with the same tolerance.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import warnings
from dataclasses import dataclass
from time import process_time_ns

import report
import timing

import dalembert as da

RTOL = 1e-9
KINDS = (  # what a planar loop stays closed with
    *(".mass", ".com.x", ".com.y", ".zz", ".stiffness", ".damping", ".rest", ".x", ".y", ".rz", ".stiffness_factor"),
    *(".damping_factor", ".yy", ".xx"),
)


@dataclass(frozen=True)
class Row:
    """A cost in simulations, beside what it should be."""

    what: str
    numbers: int
    way: str
    simulation: float  # ms
    cost: float
    aim: float


def tree() -> tuple[da.System, dict[str, float], str, float]:
    """Return a spatial arm of ten links with springs, its start, an output, how long it runs."""
    s = da.System("arm of ten")
    end = s.ground.origin
    for k in range(10):
        link = s.body(f"b{k}", mass=0.5, com=(0.15, 0, 0), inertia=(1e-3, 4e-3, 4e-3))
        s.connect(f"H{k}", da.Revolute("xyz"[k % 3], damping=0.01), end, link)
        s.connect(f"k{k}", da.TorsionSpring(stiffness=2.0), f"H{k}")
        end = link.marker("end", 0.3, 0, 0)
    return s, {f"H{k}": 0.3 for k in range(10)}, "H3.position", 5.0


def chain(links: int) -> tuple[da.System, dict[str, float], str, float]:
    """Return a spatial chain with many numbers."""
    s = da.System("chain")
    end = s.ground.origin
    for k in range(links):
        link = s.body(f"b{k}", mass=0.5, com=(0.15, 0, 0), inertia=(1e-3, 4e-3, 4e-3))
        s.connect(f"H{k}", da.Revolute("xyz"[k % 3], damping=0.01), end, link)
        s.connect(f"k{k}", da.TorsionSpring(stiffness=20.0), f"H{k}")
        end = link.marker("end", 0.3, 0, 0)
    return s, {f"H{k}": 0.1 for k in range(links)}, "H3.position", 1.0


def loop() -> tuple[da.System, dict[str, float], str, float]:
    """Return a four-bar with a spring."""
    s = da.System("four-bar", gravity=(0, -9.81, 0))
    lengths = (0.4, 1.1, 0.9, 1.0)
    bars = [
        s.body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(1e-3, length**2 / 12, length**2 / 12))
        for name, length in zip(("crank", "coupler", "rocker"), lengths, strict=False)
    ]
    s.connect("A", da.Revolute("z"), s.ground, bars[0])
    s.connect("B", da.Revolute("z"), bars[0].at(0.4, 0, 0), bars[1])
    s.connect("D", da.Revolute("z"), s.ground.at(1.0, 0, 0), bars[2])
    s.connect("C", da.Revolute("z"), bars[1].at(1.1, 0, 0), bars[2].at(0.9, 0, 0))
    s.connect("spring", da.TorsionSpring(stiffness=8.0, rest=1.2), "D")
    return s, {"A": 0.7, "A.speed": 0.5}, "D.position", 5.0


def flexible() -> tuple[da.System, dict[str, float], str, float]:
    """Return a chain of three flexible arms."""
    soft = da.Material(E=2e9, nu=0.3, density=7850.0)
    s = da.System("flexible arms")
    end = s.ground.origin
    for k in range(3):
        rod = da.beam([[0, 0, 0], [1, 0, 0]], da.Section.circle(0.02), soft, elements=4)
        arm = s.body(f"arm{k}", rod)
        s.connect(f"A{k}", da.Revolute("y", damping=0.1), end, arm)
        end = arm.at(1, 0, 0)
    return s, {"A0": 0.3}, "A0.position", 0.5


def measure(rounds: int) -> list[Row]:
    """Return all costs."""
    rows = []
    few = ((8, "forward", 3.0), (50, "adjoint", 5.0))
    for title, made, asked in (
        ("tree, 10 degrees of freedom", tree(), few),
        ("four-bar", loop(), few),
        ("flexible, 21 degrees of freedom", flexible(), few),
        ("chain of 30", chain(30), ((400, "adjoint", 8.0),)),
        ("chain of 60", chain(60), ((800, "adjoint", 10.0),)),
    ):
        system, state, output, t_end = made
        model = system.compile()
        names = [name for name in model.parameter_names if name.endswith(KINDS)]
        for count, way, aim in asked:
            by = names[:: max(1, len(names) // count)][:count]

            def run(model: da.Model = model, state: dict[str, float] = state, t_end: float = t_end) -> object:
                return da.simulate(model, t_end, state=state, rtol=RTOL)

            def gradient(
                model: da.Model = model,
                state: dict[str, float] = state,
                t_end: float = t_end,
                output: str = output,
                by: list[str] = by,
                way: str = way,
            ) -> object:
                return da.sensitivity(model, {"y": (output, "final")}, by, t_end, state=state, rtol=RTOL, mode=way)

            found = timing.race({"run": run, "gradient": gradient}, rounds=rounds, clock=process_time_ns)
            one = found["run"].minimum
            rows.append(Row(title, len(by), way, 1e3 * one, found["gradient"].minimum / one, aim))
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as text."""
    lines = [f"{'':<24}{'numbers':>8}  {'way':<9}{'simulation':>12}{'gradient':>16}{'asked':>8}"]
    for row in rows:
        lines.append(
            f"{row.what:<24}{row.numbers:>8}  {row.way:<9}{row.simulation:>9.2f} ms{row.cost:>7.2f} of them"
            f"{f'< {row.aim:g}':>8}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    about = report.introduce()
    rows = measure(3 if options.quick else 9)
    print(f"\n{table(rows)}")
    report.write(options.json, about, rows)


if __name__ == "__main__":
    main()
