"""The command line: ``dalembert demo``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__
from .errors import DalembertError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="dalembert", description="Multibody systems in Python.")
    parser.add_argument("--version", action="version", version=f"dalembert {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="release a chain, watch its energy, write a picture")
    demo.add_argument("--output", default="dalembert-demo.png", help="picture to write (default: %(default)s)")
    tree = commands.add_parser("tree", help="print the tree of a model file")
    tree.add_argument("model", help="a URDF file")
    tree.add_argument("--base", choices=("fixed", "free"), default="fixed", help="how the root link meets the ground")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "demo":
            from .demo import run

            run(chosen.output)
        else:
            _print_tree(chosen.model, chosen.base)
    except DalembertError as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return 1
    return 0


def _print_tree(path: str, base: str) -> None:
    from .io import load

    model = load(path, base=base).compile()
    mass = sum(body.mass for body in model.system.bodies.values())
    print(model.forest.chart())
    print(f"{model.nb} bodies, {mass:.4g} kg; {model.nq} coordinates, {model.nv} freedoms, ", end="")
    print(f"{len(model.forest.chords)} chords")
