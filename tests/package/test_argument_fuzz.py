"""A wrong argument of any public callable is refused by name: an error of ours, or Python's for an unknown argument."""

from __future__ import annotations

import random
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from systems.bad_input.hostile_calls import HOSTILE, Case, cases, fault

SECONDS = 20.0  # of the ordinary test
LARGE = {"System.draw", "Result.draw", "Result.animate", "Result.export", "Result.plot", "Result.plot_energy"}  # slow
LARGE |= {
    "equilibrium_path",
    "circuits",
    "workspace",
    "periodic_orbit",
    "optimal_motion",
    "sweep",
    "fit",
    "uncertainty",
}
ENDLESS = {  # what is asked for is long, and no mistake
    *(("simulate", "t_end", "1e308"), ("simulate", "rtol", "0"), ("inverse_kinematics", "starts", "huge int")),
    ("optimize", "max_iterations", "1e308"),
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with hostile names go to a folder of their own."""
    monkeypatch.chdir(tmp_path)


def attacks(folder: Path, share: float, seed: int) -> list[tuple[Case, str, str]]:
    """Return calls in a random order, a share of all; of every argument of every callable one at least."""
    chance, chosen = random.Random(seed), []
    for case in cases(folder):
        for field in case.fields:
            labels = [label for label in HOSTILE if (case.name, field, label) not in ENDLESS]
            chosen += [(case, field, label) for label in chance.sample(labels, max(1, int(share * len(labels))))]
    chance.shuffle(chosen)
    return chosen


def run(chosen: list[tuple[Case, str, str]], seconds: float) -> list[str]:
    """Make the calls, as many as the time allows; return what is wrong."""
    found, end = [], time.monotonic() + seconds
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case, field, label in chosen:
            if time.monotonic() > end:
                break
            if (said := fault(case, field, label)) is not None:
                found.append(f"{case.name}({field}={label}): {said}")
    return sorted(found)


def test_wrong_arguments_are_refused_by_name(tmp_path: Path) -> None:
    chosen = [attack for attack in attacks(tmp_path, 0.25, seed=1) if attack[0].name not in LARGE]
    assert len({case.name for case, _, _ in chosen}) > 400
    assert run(chosen, SECONDS) == []


@pytest.mark.slow
def test_every_hostile_value_of_every_argument_is_refused_by_name(tmp_path: Path) -> None:
    assert run(attacks(tmp_path, 1.0, seed=2), 1800.0) == []
