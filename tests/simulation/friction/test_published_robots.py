"""Published robots with stops and friction: they run from the middle of their limits and from stops, in balance.

Set DALEMBERT_ROBOTS to a folder of URDF files.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.connections.joints import Joint

FOLDER = os.environ.get("DALEMBERT_ROBOTS", "")
FILES = sorted(Path(FOLDER).glob("*.urdf")) if FOLDER else []
BALANCE = 1e-7  # of the energies of a run: ten times the tolerance of its steps

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason="set DALEMBERT_ROBOTS to a folder of URDF files"),
    pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning"),
]


def limited_start(system: da.System, rng: np.random.Generator, on_stops: bool) -> dict[str, float]:
    """Return positions by name: on either stop, or near the middle between them; joints of couplings are left out."""
    coupled = {end.name for coupling in system.couplings.values() for end in (coupling.first, coupling.second)}
    coupled |= system.mimics.keys() | {mimic.joint for mimic in system.mimics.values()}
    start = {}
    for name, connection in system.connections.items():
        joint = connection.element
        if not isinstance(joint, Joint) or joint.nv != 1 or name in coupled:
            continue
        if joint.lower is None or joint.upper is None:
            continue
        lower, upper = float(np.ravel(joint.lower)[0]), float(np.ravel(joint.upper)[0])
        if np.isfinite(lower) and np.isfinite(upper):
            middle = 0.5 * (lower + upper) + 0.1 * (upper - lower) * rng.uniform(-1.0, 1.0)
            start[name] = float(rng.choice([lower, upper])) if on_stops else middle
    return start


@pytest.mark.parametrize("on_stops", [False, True], ids=["away", "on stops"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_robots_balance_their_energy(path: Path, on_stops: bool) -> None:
    """Or their bodies without inertia are named at the start."""
    system, rng = da.load(path), np.random.default_rng(26)
    start = limited_start(system, rng, on_stops)
    if not start:
        pytest.skip("no joint has stops")
    model = system.compile()
    try:
        state = da.start_state(model, start)
        efforts = rng.normal(size=model.nv) * model.composite_inertias(state.q)  # about 1 rad/s2 or 1 m/s2
        result = da.simulate(model, 0.2, state=start, control=lambda now: efforts)
    except da.SingularityError as error:
        assert "nothing resists along" in str(error) and "at t = 0 s" in str(error)
        return
    exchanged = sum(np.abs(result[f"energy.{name}"]).max() for name in ("kinetic", "work", "dissipated"))
    size = exchanged + np.ptp(result["energy.potential"]) + 1e-12
    assert np.abs(result["energy.balance"]).max() <= BALANCE * size
