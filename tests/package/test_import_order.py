"""The order of the house: rooms import those below them only, and the core knows nothing of Python."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dalembert as da

PACKAGE = Path(da.__file__).parent
REPOSITORY = Path(__file__).parents[2]

# from the ground up
ROOMS = (
    "arrays",
    "errors",
    "answer",
    "parameters",
    "provenance",
    "garbage_collection",
    "_core",
    "checks",
    "files",
    "units",
    "argument_units",
    "numerics",
    "rotation",
    "tribology",
    "bodies",
    "connections",
    "structures",
    "system",
    "compile",
    "model",
    "oracles",
    "result",
    "closure",
    "impulses",
    "motion",
    "natural",
    "io",
    "simulation",
    "sensors",
    "exchange",
    "dynamics",
    "linear",
    "statics",
    "symbolic",
    "formulations",
    "studies",
    "bridges",
    "library",
    "view",
    "cli",
)

# Imports inside functions that lead upward in the order of rooms; no others do.
SHORT_WAYS = {
    ("checks", "argument_units"): "quantities with units among numbers",
    ("system.system", "model"): "System.compile",
    ("system.system", "natural"): "System.compile",
    ("system.system", "linear"): "System.check",
    ("system.display", "view"): "System.draw, System.view and System.play, and its look in notebooks",
    ("rotation.configuration_chart", "view"): "Chart.plot",
    ("result.display", "view"): "Result.plot, Result.animate and the like",
    ("result.spectra", "view"): "Spectrum.plot, Waterfall.plot and Orders.plot",
    ("simulation.ensemble.ensemble", "view"): "Ensemble.plot",
    ("simulation.rollouts.rollout_result", "view"): "Rollout.plot",
    ("motion.geometry.kinematic_result", "view"): "plots of what is read off a motion",
    ("motion.circuit", "view"): "Circuits.plot",
    ("motion.workspaces.reachable_workspace", "view"): "Workspace.plot",
    ("statics.load_path", "view"): "EquilibriumPath.plot",
    ("linear.vibration_modes", "view"): "Modes.draw, Modes.animate, and its look in notebooks",
    ("closure.assembly", "view"): "how an Assembly looks in notebooks",
    ("closure.mobility_analysis", "view"): "how a Mobility looks in notebooks",
    ("statics.equilibrium_result", "view"): "how an Equilibrium looks in notebooks",
    ("linear.frequency_response", "view"): "Bode and Nyquist plots",
    ("linear.periodic_orbits", "view"): "plots of Floquet multipliers",
    ("linear.eigenvalue_loci", "view"): "plots of loci and Campbell diagrams",
    ("natural.motion", "view"): "NaturalMotion.draw, NaturalMotion.animate",
    ("natural.mechanism", "view"): "Mechanism.draw",
    ("studies.optimization.optimum", "view"): "Optimum.plot",
    ("studies.optimization.pareto_front", "view"): "ParetoFront.plot",
    ("studies.optimization.synthesis", "view"): "Linkage.plot",
    ("studies.optimization.trajectory_optimization", "view"): "OptimalMotion.plot",
    ("studies.optimization.parameter_fit", "view"): "Fitted.plot",
    ("studies.uncertainties", "view"): "Uncertainty.plot",
    ("io.model_files.library_systems", "library"): "systems of the library in model files",
    ("model.connection_loads", "closure"): "states of self-stress of very many coupled loops",
    ("model.callbacks", "result"): "inputs of laws that are outputs of a result",
}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the room that each import of a module leads to, and whether it happens only where it is used."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    package = parts[:-1]

    def visit(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue  # for readers and type checkers
            if isinstance(child, ast.ImportFrom) and child.level:
                base = package[: len(package) - child.level + 1]
                whole = (*base, *(child.module or "").split("."))
                targets = [whole] if child.module else [(*base, alias.name) for alias in child.names]
                yield from ((target[0], inside) for target in targets)
            yield from visit(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    yield from visit(ast.parse(path.read_text()), False)


MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem not in ("__init__", "__main__"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_import_from_below(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    module = ".".join(parts)
    for target, inside in imports(path):
        if target == "__version__" or ROOMS.index(target) <= ROOMS.index(parts[0]):
            continue
        assert inside, f"{module} imports {target}, which stands above it"
        assert (module, target) in SHORT_WAYS, f"{module} imports {target} from above: is there no other way?"


MAX_INNER_IMPORTS = 20  # of our own modules, except pictures (SHORT_WAYS); each hides a dependency from the reader


def test_few_imports_inside_functions() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: {target}"
        for path in MODULES
        for target, inside in imports(path)
        if inside and target != "view"
    ]
    assert len(found) <= MAX_INNER_IMPORTS, "\n".join(found)


def test_the_guides_list_the_rooms_in_their_order() -> None:
    named = [room for room in ROOMS if not room.startswith("_")]
    text = (REPOSITORY / "docs/core.md").read_text().partition("**Import order.**")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", text) == named
    table = (
        (REPOSITORY / "CONTRIBUTING.md").read_text().partition("| rooms, from the ground up |")[2].partition("\n\n")[0]
    )
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert re.findall(r"`(\w+)`", " ".join(rows)) == named


def test_every_listed_upward_import_is_used() -> None:
    used = {
        (".".join(path.relative_to(PACKAGE).with_suffix("").parts), target)
        for path in MODULES
        for target, inside in imports(path)
        if inside
    }
    assert set(SHORT_WAYS) <= used


def test_the_core_does_not_include_python() -> None:
    core = REPOSITORY / "core"
    if not core.is_dir():
        pytest.skip("the sources of the core are not here")
    foreign = re.compile(r"#\s*include\s*[<\"](Python\.h|nanobind|numpy|bind/)")
    found = [
        path
        for path in sorted(core.rglob("*.[ch]pp"))
        if "bind" not in path.relative_to(core).parts and foreign.search(path.read_text())
    ]
    assert found == []


def test_heavy_packages_are_imported_on_use() -> None:
    code = "import sys, dalembert; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "matplotlib", "pandas", "xarray", "IPython", "sympy"} & set(loaded)


def test_public_names_have_docstrings() -> None:
    assert set(da.__all__) <= set(dir(da))
    for name in da.__all__:
        assert getattr(da, name).__doc__ or name == "isa"


@pytest.mark.parametrize("path", sorted((REPOSITORY / "bench").rglob("*.py")), ids=lambda p: p.name)
def test_benches_import_existing_names(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dalembert":
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
