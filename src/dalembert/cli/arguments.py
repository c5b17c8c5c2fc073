"""Command-line arguments."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

import numpy as np

from .. import __version__
from ..arrays import Array
from ..checks import did_you_mean

__all__ = ["parser"]


_MODEL = """\
MODEL is a model file (.yaml, .json), a robot's file (.urdf and whatever da.load reads), or a Python file that defines
`system`: a System, or a function that returns one. A Python file is executed, except for code under
`if __name__ == "__main__":`. Options take precedence over the settings in a model file.
"""
_STATUS = """\
exit status: 0 success; 1 no result: open loops, a failed run, no equilibrium (partial results are written); 2 wrong
use, or an invalid model, name or file; 130 interrupted (partial results are written).

examples:
  dalembert new four_bar.yaml && dalembert simulate four_bar.yaml --export motion.html
  dalembert check robot.urdf
  dalembert VERB --help
"""


class _Parser(argparse.ArgumentParser):
    """Parser that suggests similarly spelt words for unknown ones."""

    def error(self, message: str) -> NoReturn:
        """Exit with an error message and a suggestion."""
        wrong = re.search(r"argument VERB: invalid choice: '(.*?)'", message)
        if wrong is not None:
            verbs = [verb for action in self._actions for verb in action.choices or ()]
            hint = did_you_mean(wrong[1], verbs) or f"there are {', '.join(verbs)}"
            super().error(f"there is no verb {wrong[1]!r}; {hint}")
        super().error(message)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments; unknown options are refused with similarly spelt ones."""
        chosen, left = self.parse_known_args(args, namespace)
        if left:
            options = [word for verb in self._verbs(chosen) for word in verb._option_string_actions]
            hints = [did_you_mean(word.partition("=")[0], options) for word in left if word.startswith("-")]
            hint = "".join(f"; {each}" for each in hints if each)
            self.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return chosen

    def _verbs(self, chosen: argparse.Namespace) -> list[argparse.ArgumentParser]:
        return [
            action.choices[chosen.verb] for action in self._actions if isinstance(action, argparse._SubParsersAction)
        ]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    made = _Parser(
        prog="dalembert",
        description="Multibody dynamics: check, simulate and view systems described in a file or in Python.",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"dalembert {__version__}")
    verbs = made.add_subparsers(title="verbs", metavar="VERB", required=True, dest="verb")
    _about_files(verbs)
    _about_systems(verbs)
    _about_motions(verbs)
    _about_other_programs(verbs)
    _about_the_program(verbs)
    return made


def _about_files(verbs: Any) -> None:
    new = _verb(verbs, "new", "file_commands", "write a new model file", "dalembert new four_bar.yaml", "")
    new.add_argument("file", metavar="FILE.yaml", help="where to write")
    new.add_argument("--library", metavar="NAME", help="a system of the library, written out: four_bar, stewart, ...")
    new.add_argument("--schema", metavar="FILE", help="JSON Schema for editors; written if absent")
    new.add_argument("--force", action="store_true", help="overwrite an existing file")

    example = "dalembert convert robot.urdf robot.yaml"
    convert = _verb(verbs, "convert", "file_commands", "write a model in another format", example, _MODEL)
    _add_model(convert)
    convert.add_argument("to", metavar="FILE", help="file to write; the suffix selects the format")
    convert.add_argument("--force", action="store_true", help="overwrite an existing file")

    example = "dalembert schema --out dalembert.schema.json"
    schema = _verb(verbs, "schema", "file_commands", "print the JSON Schema of model files, for editors", example, "")
    schema.add_argument("--out", metavar="FILE", help="write it there")


def _about_systems(verbs: Any) -> None:
    example = "dalembert check four_bar.yaml --draw four_bar.png"
    check = _verb(
        verbs,
        "check",
        "analysis_commands",
        "count degrees of freedom, find loops and redundant equations",
        example,
        _MODEL,
    )
    _add_model(check, numbers=True)
    check.add_argument("--draw", metavar="FILE", help="draw the system at its start (.png, .pdf, .svg)")
    check.add_argument("--numbers", action="store_true", help="list all parameters by name, as for --parameter")

    tree = _verb(verbs, "tree", "analysis_commands", "print the spanning tree", "dalembert tree robot.urdf", _MODEL)
    _add_model(tree)

    example = "dalembert assemble four_bar.yaml --hold A --branches"
    assemble = _verb(verbs, "assemble", "analysis_commands", "close the loops; print the result", example, _MODEL)
    _add_model(assemble, numbers=True)
    assemble.add_argument("--hold", type=_names, metavar="A,B,...", help="coordinates held at their start values")
    assemble.add_argument("--branches", action="store_true", help="search for all closed configurations")
    assemble.add_argument("--draw", metavar="FILE", help="draw it (.png, .pdf, .svg)")

    example = "dalembert equilibrium arm.yaml --hold elbow"
    rest = _verb(verbs, "equilibrium", "analysis_commands", "find an equilibrium", example, _MODEL)
    _add_model(rest, numbers=True)
    rest.add_argument("--hold", type=_names, metavar="A,B,...", help="coordinates held at their start values")
    rest.add_argument("--unknown", type=_names, metavar="A,B,...", help="inputs or parameters to solve for")
    rest.add_argument("--nearest", action="store_true", help="the nearest equilibrium, stable or not")
    rest.add_argument("--draw", metavar="FILE", help="draw the equilibrium (.png, .pdf, .svg)")

    example = "dalembert modes suspension.yaml --at rest --count 6"
    modes = _verb(
        verbs, "modes", "analysis_commands", "compute frequencies, damping and shapes of small motions", example, _MODEL
    )
    _add_model(modes, numbers=True)
    _add_state(modes)
    modes.add_argument("--count", type=int, metavar="N", help="number of modes, the lowest")
    modes.add_argument("--animate", metavar="FILE", help="a mode as .gif or .html")
    modes.add_argument("--mode", type=int, default=0, metavar="K", help="which, from 0 (default: %(default)d)")

    example = "dalembert linearize cart_pole.yaml --inputs push.fx --outputs pole.angle --out plant.json"
    linear = _verb(verbs, "linearize", "analysis_commands", "linearize about a state", example, _MODEL)
    _add_model(linear, numbers=True)
    _add_state(linear)
    linear.add_argument("--inputs", type=_names, metavar="A,B,...", help="inputs of the linear system (default: all)")
    linear.add_argument("--outputs", type=_names, metavar="A,B,...", help="outputs of the linear system")
    linear.add_argument("--out", metavar="FILE", help="the matrices A, B, C, D with names, as .json")


def _about_other_programs(verbs: Any) -> None:
    example = """dalembert export arm.yaml arm.fmu --input A.effort --output A.position
  dalembert export model.py bar.dalm --output D.force --parameter crank.mass"""
    export = _verb(verbs, "export", "export_command", "write an FMU or a model file for C", example, _MODEL)
    export.add_argument("model", metavar="MODEL", help="a .yaml, .json, .urdf or .py file")
    _add_source(export)
    export.add_argument("to", metavar="FILE", help="file to write: .fmu, or .dalm for the C library")
    for kind, text in (
        ("input", "number of an element or effort of a joint"),
        ("output", "an output"),
        ("parameter", "a parameter that may be changed there (default: all)"),
    ):
        export.add_argument(f"--{kind}", action="append", metavar="NAME", help=f"{text}; may be repeated")
    export.add_argument("--fmi", type=int, default=3, choices=(2, 3), help="version of FMI (default: %(default)d)")
    export.add_argument("--platform", action="append", metavar="NAME", help="x86_64-linux, ...; may be repeated")
    export.add_argument("--method", metavar="NAME", help="as in simulate (default: auto)")
    export.add_argument("--rtol", type=float, metavar="X", help="relative tolerance (default: 1e-8)")
    export.add_argument("--friction", default="events", metavar="KIND", help="events, smooth or off")
    export.add_argument("--stops", default="rigid", metavar="KIND", help="rigid, soft or off")
    export.add_argument("--contact", default="auto", metavar="KIND", help="off leaves contacts out")
    export.add_argument("--horizon", type=float, metavar="S", help="time up to which laws of time are known, s")


def _about_motions(verbs: Any) -> None:
    example = """dalembert simulate four_bar.yaml --t-end 5 --plot rocker.angle,D.force
  dalembert simulate four_bar.yaml --parameter "a=120 mm" --export motion.html
  dalembert simulate robot.urdf --base free --out run.nc --times 0:10:0.01
  dalembert simulate four_bar.py --animate motion.gif --trace "coupler.at(0.2, 0, 0)\""""
    simulate = _verb(
        verbs, "simulate", "motion_commands", "simulate; write results, plots, animations", example, _MODEL
    )
    _add_model(simulate, numbers=True)
    _add_run(simulate)
    _add_files(simulate)

    example = """dalembert kinematics four_bar.yaml --times 0:1:0.01 --plot rocker.angle
  dalembert kinematics four_bar.yaml --drive A --values 0:6.28:0.01 --export turn.html"""
    motion = _verb(
        verbs,
        "kinematics",
        "motion_commands",
        "compute the motion that drives prescribe, without forces",
        example,
        _MODEL,
    )
    _add_model(motion, numbers=True)
    motion.add_argument("--times", type=_times, metavar="T", help="START:END:STEP, or T1,T2,... s (default: 0:1:0.01)")
    motion.add_argument("--drive", metavar="NAME", help="a coordinate to move, driven or not")
    motion.add_argument("--values", type=_times, metavar="X", help="values of the coordinate: START:END:STEP, rad or m")
    _add_files(motion)

    example = "dalembert plot run.nc rocker.angle D.force --picture forces.png"
    plot = _verb(verbs, "plot", "motion_commands", "plot outputs of a stored result", example, "")
    plot.add_argument("result", metavar="RESULT", help="a .nc, .csv, .parquet or .zarr that simulate wrote")
    plot.add_argument("names", nargs="*", metavar="NAME", help="outputs (default: all coordinates)")
    plot.add_argument("--model", metavar="MODEL", help="its model, for outputs that were not stored")
    plot.add_argument("--picture", default="plot.png", metavar="FILE", help="where to plot (default: %(default)s)")
    _add_source(plot)

    example = "dalembert view four_bar.yaml --play"
    view = _verb(verbs, "view", "motion_commands", "show the system in a browser, to be dragged", example, _MODEL)
    _add_model(view)
    view.add_argument("--play", action="store_true", help="run it in real time")
    view.add_argument("--port", type=int, default=0, metavar="N", help="port of the server (default: any free one)")
    view.add_argument("--no-browser", action="store_true", help="only print the address")


def _about_the_program(verbs: Any) -> None:
    demo = _verb(
        verbs, "demo", "program_commands", "simulate two mechanisms; write a table, pictures, pages with a player",
        "dalembert demo --open", "",
    )  # fmt: skip
    demo.add_argument("folder", nargs="?", default="dalembert-demo", help="where to write (default: %(default)s)")
    demo.add_argument("--open", action="store_true", help="open the page in a browser")

    _verb(verbs, "doctor", "program_commands", "list packages, test the installation", "dalembert doctor --json", "")

    example = "dalembert completion bash > ~/.local/share/bash-completion/completions/dalembert"
    shell = _verb(verbs, "completion", "completion", "print a completion script for a shell", example, "")
    shell.add_argument("shell", choices=("bash", "zsh", "fish"))


def _verb(verbs: Any, name: str, module: str, summary: str, example: str, epilog: str) -> argparse.ArgumentParser:
    """Add a command, a function of a module of this package."""
    made: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"{epilog}\nexamples:\n  {example}\n".lstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def run(chosen: argparse.Namespace) -> Any:
        from importlib import import_module

        return getattr(import_module(f"{__package__}.{module}"), name)(chosen)

    made.set_defaults(run=run)
    group = made.add_argument_group("printing")
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors, show no progress")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("--traceback", "--debug", action="store_true", help="print the traceback of errors")
    return made


def _add_model(parser: argparse.ArgumentParser, *, numbers: bool = False) -> None:
    parser.add_argument("model", metavar="MODEL", help="a .yaml, .json, .urdf or .py file")
    _add_source(parser)
    if numbers:
        parser.add_argument(
            "-p", "--parameter", action="append", default=[], metavar="NAME=VALUE",
            help="change a parameter: crank=0.12, 'coupler.mass=2 kg'; may be repeated",
        )  # fmt: skip


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--system", metavar="NAME", help="name of the system in a Python file")
    parser.add_argument(
        "--base", choices=("fixed", "free"), default="fixed", help="connection of the root link of a URDF file"
    )
    parser.add_argument(
        "--packages", action="append", default=[], metavar="FOLDER",
        help="folder of packages with meshes of a URDF or SDF file; may be repeated",
    )  # fmt: skip
    parser.add_argument("--root", metavar="FOLDER", help="folder of permitted included files (default: that of MODEL)")


def _add_state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--at", choices=("start", "rest"), default="start", help="state: start, or equilibrium")


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the run")
    group.add_argument("--t-end", type=float, metavar="S", help="end of the run, s (default: 10)")
    group.add_argument("--t-start", type=float, metavar="S", help="its start, s (default: 0)")
    group.add_argument(
        "--times",
        type=_times,
        metavar="T",
        help="output times: START:END:STEP, or T1,T2,... (default: all steps)",
    )
    group.add_argument(
        "--method",
        metavar="NAME",
        help="auto, dop853, dopri5, radau, rk4, euler, alpha, scipy:LSODA, cvode, ida, ... (default: auto)",
    )
    group.add_argument("--rtol", type=float, metavar="X", help="relative tolerance (default: 1e-8)")
    group.add_argument("--atol", type=float, metavar="X", help="absolute tolerance (default: 1e-10)")
    group.add_argument("--max-step", type=float, metavar="S", help="longest step, s")
    group.add_argument(
        "--fixed-step", type=float, metavar="S", help="step of rk4 and euler, s; of alpha, instead of the tolerances"
    )


def _add_files(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output files")
    group.add_argument(
        "--outputs", type=_names, metavar="A,B,...", help="outputs to print and to store with the result"
    )
    group.add_argument(
        "--out", metavar="FILE", help="the result: .nc, .csv, .parquet or .zarr; or a table of it, .xlsx or .mat"
    )
    group.add_argument("--plot", type=_names, metavar="A,B,...", help='outputs to plot: "rocker.angle,D.force"')
    group.add_argument("--picture", default="plot.png", metavar="FILE", help="where to plot (default: %(default)s)")
    group.add_argument("--energy", metavar="FILE", help="a plot of the energies and their balance")
    group.add_argument("--animate", metavar="FILE", help="the motion, as .gif or .html")
    group.add_argument("--export", metavar="FILE", help="a page with a player, .html, or a .glb")
    group.add_argument("--trace", type=_names, metavar="A,B,...", help="points whose paths are drawn in the animation")
    group.add_argument("--speed", type=float, default=1.0, metavar="X", help="playback speed (default: %(default)g)")
    group.add_argument("--fps", type=float, default=30.0, metavar="N", help="frames per second (default: %(default)g)")


def _names(text: str) -> list[str]:
    """Return names separated by commas outside of parentheses."""
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
