"""Names of the package: completion, type checkers and run time agree on them."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dalembert as da

SOURCES = Path(da.__file__).parents[1]


ANSWERS = """
s = da.System("s")
r = da.simulate(s, 1.0)
reveal_type(r)
reveal_type(da.simulate(s, 1.0, state={"A": 1}, parameters={"k.stiffness": np.float64(2.0)}))
reveal_type(da.simulate(s, 1.0, state={"A": np.zeros(3)}))
reveal_type(da.simulate(s, 1.0, state=r.at(0.5)))
reveal_type(r.at(0.5))
reveal_type(r.at([0.1, 0.2]))
reveal_type(da.equilibrium(s))
reveal_type(da.equilibrium(s, find_all=True))
reveal_type(da.equilibrium(s, count=3))
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what ``mypy --strict`` says about a user's file with every name, two misspelt ones and some answers."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("user")
    names = [name for name in dir(da) if name != "__version__"]
    classes = [name for name in names if inspect.isclass(getattr(da, name))]
    plain = [name for name in classes if not getattr(getattr(da, name), "__parameters__", ())]
    text = "import numpy as np\nimport dalembert as da\n" + "".join(f"da.{name}\n" for name in names)
    text += "".join(f"def f_{name}(x: da.{name}) -> None: ...\n" for name in plain)
    text += "da.simulat\nda.Bushingg\nreveal_type(da.LinearInterpolation([0, 1], [0, 1]))\n" + ANSWERS
    (folder / "user.py").write_text(text)
    (folder / "mypy.ini").write_text("[mypy]\n")
    flags = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", str(folder / "cache")]
    paths = os.environ | ({"MYPYPATH": str(SOURCES)} if SOURCES.name == "src" else {})
    command = [sys.executable, "-m", "mypy", *flags, "user.py"]
    return subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True).stdout.splitlines()


def revealed(lines: list[str]) -> list[str]:
    """Return the revealed types without their modules."""
    found = [match[1] for line in lines if (match := re.search(r'Revealed type is "(.*)"', line))]
    return [re.sub(r"\bdalembert\.[\w.]*\.", "", each) for each in found]


def test_every_name_that_works_is_offered_by_completion() -> None:
    for name in dir(da):
        assert getattr(da, name) is not None
    assert sorted(da.__all__) == sorted(set(da.__all__)) == dir(da)


def test_a_misspelt_name_is_answered_with_one_that_exists() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'simulat'; did you mean 'simulate'"):
        da.simulat  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Bushingg'; did you mean 'Bushing'"):
        da.Bushingg  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzyx'$"):
        da.xyzzyx  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Revolut'"):
        exec("from dalembert import Revolut")


def test_the_stub_declares_every_name_and_no_other(checked: list[str]) -> None:
    errors = [line for line in checked if "error:" in line]
    assert len(errors) == 2, errors[:5]
    assert 'no attribute "simulat"' in errors[0]
    assert 'no attribute "Bushingg"' in errors[1]


def test_the_type_of_an_answer_follows_from_the_arguments(checked: list[str]) -> None:
    law, *answers = revealed(checked)
    assert law == "LinearInterpolation"
    several = "Result | Ensemble"
    assert answers == ["Result", "Result", several, several, "State", "Result", "Equilibrium", *["Equilibria"] * 2]


# One state gives a number, many give an array: a union would burden every use. A case holds the values of a study.
UNTYPED = {
    *("Energy.total", "Impact.energy_loss", "Impact.work", "Ellipsoid.condition", "Ellipsoid.measure"),
    *("InverseKinematics.position_error", "InverseKinematics.rotation_error", "SampledControl.time"),
    *("SampledControl.acts", "Case.value", "Study.rerun"),
}


def functions_of(kind: type) -> dict[str, Callable[..., Any]]:
    """Return the public methods and properties of a class of the package, by name."""
    found = {}
    for owner in (c for c in kind.__mro__ if c.__module__.startswith("dalembert")):
        for name, member in vars(owner).items():
            function = getattr(member, "fget", None) or getattr(member, "func", None) or member
            function = getattr(function, "__func__", function)
            if not name.startswith("_") and inspect.isfunction(function):
                found[f"{owner.__name__}.{name}"] = function
    return found


def test_public_functions_declare_what_they_return() -> None:
    functions: dict[str, Callable[..., Any]] = {}
    for name in dir(da):
        value = getattr(da, name)
        if inspect.isclass(value):
            functions |= functions_of(value)
        elif inspect.isfunction(value):
            functions[name] = value
    untyped = {name for name, f in functions.items() if f.__annotations__.get("return", "Any") in ("Any", Any)}
    assert untyped <= UNTYPED, untyped - UNTYPED


def test_every_system_of_the_library_is_reached_from_it() -> None:
    from dalembert.io.model_files.library_systems import library_systems

    assert set(library_systems()) <= set(dir(da.library))
    assert set(library_systems()) <= set(da.library.__all__)
    assert da.library.four_bar is da.library.mechanisms.four_bar
