"""The command line: ``dalembert demo``, ``check``, ``simulate``, ``view`` and ``tree``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .errors import DalembertError

__all__ = ["main"]

Array = NDArray[np.float64]

FAILED, ENDED_EARLY, INTERRUPTED = 1, 3, 130
ROWS, COLUMNS = 11, 6  # of the table that is printed

_MODEL = """\
MODEL is a URDF file, or a Python file that defines `system`: a System, or a function that returns one.
A Python file is run, except for what stands under `if __name__ == "__main__":`.
"""
_STATUS = """\
exit status: 0 done; 1 error in the model, a name or a file; 2 error in the command line; 3 the simulation could not
go on; 130 interrupted. In the last two cases what was computed is written.
"""
_SIMULATE = f"""\
{_MODEL}
examples:
  dalembert simulate four_bar.py --t-end 5 --plot rocker.angle,D.force
  dalembert simulate robot.urdf --base free --out run.nc --times 0:10:0.01
  dalembert simulate four_bar.py --animate motion.gif --trace "coupler.at(0.2, 0, 0)"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        status: int = chosen.run(chosen)
    except (DalembertError, OSError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


# ---- commands


def _demo(chosen: argparse.Namespace) -> int:
    from .demo import run

    run(Path(chosen.folder))
    return 0


def _check(chosen: argparse.Namespace) -> int:
    from .io.scripts import load_model

    system = load_model(chosen.model, base=chosen.base, name=chosen.system)
    print(system.check())
    if chosen.draw is not None:
        system.draw(path=chosen.draw)
        print(f"drawn: {chosen.draw}")
    return 0


def _view(chosen: argparse.Namespace) -> int:
    from .io.scripts import load_model

    system = load_model(chosen.model, base=chosen.base, name=chosen.system)
    shown = system.play if chosen.play else system.view
    with shown(open_browser=not chosen.no_browser, port=chosen.port) as viewer:
        print(f"{system.name} is shown at {viewer.address}; Ctrl-C ends.", flush=True)
        try:
            viewer.closed.wait()
        except KeyboardInterrupt:
            return 0
    return 0


def _tree(chosen: argparse.Namespace) -> int:
    from .io.scripts import load_model

    model = load_model(chosen.model, base=chosen.base, name=chosen.system).compile()
    mass = sum(body.mass for body in model.system.bodies.values())
    print(model.forest.chart())
    print(f"{model.nb} bodies, {mass:.4g} kg; {model.nq} coordinates, {model.nv} freedoms, ", end="")
    print(f"{len(model.forest.chords)} chords")
    return 0


def _simulate(chosen: argparse.Namespace) -> int:
    from .io.scripts import load_model
    from .simulation import simulate

    system = load_model(chosen.model, base=chosen.base, name=chosen.system)
    result = simulate(
        system,
        chosen.t_end,
        t_start=chosen.t_start,
        times=chosen.times,
        method=chosen.method,
        rtol=chosen.rtol,
        atol=chosen.atol,
        max_step=chosen.max_step,
        step=chosen.step,
        progress=False if chosen.quiet else None,
        on_error="return",
    )
    written = _write(result, chosen)
    if not chosen.quiet:
        print(_report(result, chosen.plot or []))
        if written:
            print(f"written: {', '.join(written)}")
    if result.status == "failed":
        print(f"dalembert: {result.message}", file=sys.stderr)
        return ENDED_EARLY
    return INTERRUPTED if result.status == "interrupted" else 0


# ---- what simulate leaves


def _write(result: Any, chosen: argparse.Namespace) -> list[str]:
    """Write the files that were asked for; return their names."""
    written = []
    if chosen.out is not None:
        result.save(chosen.out, chosen.plot or [])
        written.append(chosen.out)
    if chosen.plot is not None:
        result.plot(*chosen.plot, path=chosen.picture)
        written.append(chosen.picture)
    if chosen.energy is not None:
        result.plot_energy(path=chosen.energy)
        written.append(chosen.energy)
    if chosen.export is not None:
        result.export(chosen.export, trace=chosen.trace or [], plots=chosen.plot or [], speed=chosen.speed)
        written.append(chosen.export)
    if chosen.animate is not None:
        result.animate(chosen.animate, trace=chosen.trace or [], speed=chosen.speed, fps=chosen.fps)
        written.append(chosen.animate)
    return written


def _report(result: Any, names: list[str]) -> str:
    """Return a table of the motion, its statistics, and its errors."""
    times = np.linspace(result.t[0], result.t[-1], ROWS) if len(result) > 1 else result.t
    table = result.at(times).to_pandas(names or None).iloc[:, :COLUMNS]
    table.index = [f"{t:.6g}" for t in times]
    table.index.name = result.axis.label
    balance, residual = np.abs(result["energy.balance"]).max(), np.abs(result["constraints.residual"]).max(initial=0.0)
    lines = [repr(result), "", table.to_string(float_format=lambda x: f"{x:.6g}"), "", repr(result.stats)]
    lines.append(f"{'energy error':<15} {balance:.3g} J")
    if result.model.nc:
        lines.append(f"{'loops open by':<15} {residual:.3g}")
    return "\n".join(lines)


# ---- arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dalembert",
        description="Multibody systems: describe them in Python or URDF, check them, simulate them.",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dalembert {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = _command(commands, "demo", _demo, "simulate a four-bar and Bricard's mechanism; write pictures", "")
    demo.add_argument("folder", nargs="?", default="dalembert-demo", help="where to write (default: %(default)s)")

    check = _command(commands, "check", _check, "count freedoms, find loops and redundant equations", _MODEL)
    _add_model(check)
    check.add_argument("--draw", metavar="FILE", help="draw the system as it starts (.png, .pdf, .svg)")

    simulate = _command(
        commands, "simulate", _simulate, "compute the motion; write results, plots, animations", _SIMULATE
    )
    _add_model(simulate)
    _add_run(simulate)
    _add_files(simulate)

    view = _command(commands, "view", _view, "show the system in a browser, to be pulled about", _MODEL)
    _add_model(view)
    view.add_argument("--play", action="store_true", help="run it in real time")
    view.add_argument("--port", type=int, default=0, metavar="N", help="of the server (default: any that is free)")
    view.add_argument("--no-browser", action="store_true", help="only print the address")

    tree = _command(commands, "tree", _tree, "print the tree that the kernels walk", _MODEL)
    _add_model(tree)
    return parser


def _command(commands: Any, name: str, run: Any, help_text: str, epilog: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=f"{help_text[0].upper()}{help_text[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    return made


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a .py or .urdf file")
    parser.add_argument("--system", metavar="NAME", help="which system of a Python file")
    parser.add_argument(
        "--base", choices=("fixed", "free"), default="fixed", help="how the root link of a URDF file meets the ground"
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the run")
    group.add_argument(
        "--t-end", type=float, default=10.0, metavar="S", help="end of the run, s (default: %(default)g)"
    )
    group.add_argument("--t-start", type=float, default=0.0, metavar="S", help="its start, s (default: %(default)g)")
    group.add_argument(
        "--times",
        type=_times,
        metavar="T",
        help="where states are kept: START:END:STEP, or T1,T2,... (default: all steps)",
    )
    group.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="auto, dop853, dopri5, radau, rk4, euler, alpha, scipy:LSODA, cvode, ida, ... (default: %(default)s)",
    )
    group.add_argument(
        "--rtol", type=float, default=1e-8, metavar="X", help="relative tolerance (default: %(default)g)"
    )
    group.add_argument(
        "--atol", type=float, default=1e-10, metavar="X", help="absolute tolerance (default: %(default)g)"
    )
    group.add_argument("--max-step", type=float, metavar="S", help="longest step, s")
    group.add_argument(
        "--step", type=float, metavar="S", help="step of rk4 and euler, s; of alpha, instead of the tolerances"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors, show no progress")


def _add_files(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to write")
    group.add_argument("--out", metavar="FILE", help="the result: .nc, .csv, .parquet or .zarr")
    group.add_argument("--plot", type=_names, metavar="A,B,...", help='outputs to plot: "rocker.angle,D.force"')
    group.add_argument("--picture", default="plot.png", metavar="FILE", help="where to plot (default: %(default)s)")
    group.add_argument("--energy", metavar="FILE", help="a plot of the energies and their balance")
    group.add_argument("--animate", metavar="FILE", help="the motion, as .gif or .html")
    group.add_argument("--export", metavar="FILE", help="a page that plays by itself, .html, or a .glb")
    group.add_argument("--trace", type=_names, metavar="A,B,...", help="points whose paths the animation draws")
    group.add_argument("--speed", type=float, default=1.0, metavar="X", help="of the animation (default: %(default)g)")
    group.add_argument("--fps", type=float, default=30.0, metavar="N", help="frames a second (default: %(default)g)")


def _names(text: str) -> list[str]:
    """Return names separated by commas; those within parentheses do not separate."""
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text)]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r}: give names separated by commas")
    return names


def _times(text: str) -> Array:
    try:
        if ":" in text:
            start, end, step = (float(part) for part in text.split(":"))
            count = round((end - start) / step)
            if count < 1 or abs(start + count * step - end) > 1e-9 * abs(end - start):
                raise ValueError
            return np.linspace(start, end, count + 1)
        return np.array([float(part) for part in text.split(",")])
    except (ValueError, ZeroDivisionError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r}: give START:END:STEP with a whole number of steps, or T1,T2,..."
        ) from None
