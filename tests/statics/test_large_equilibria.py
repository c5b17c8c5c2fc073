"""Equilibria of large systems by fronts: the same as by matrices, and without accelerations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from systems.many_loops import grid, net, ring, scissor

import dalembert as da
from dalembert.statics import frontal_descent


def sprung(s: da.System) -> da.System:
    """Return the system with a spring at every pin."""
    for name, connection in list(s.connections.items()):
        if isinstance(connection.element, da.Revolute):
            s.connect(f"spring of {name}", da.JointSpring(stiffness=1000.0, damping=0.01), name)
    return s


def beam(n: int, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> da.System:
    """Return a chain of rods along x with stiff springs, clamped at one end."""
    s = da.System(f"beam of {n}", gravity=gravity)
    end: da.Marker = s.ground.origin
    for k in range(n):
        link = s.body(f"link{k}", da.rod(length=0.1, mass=0.1))
        s.connect(f"H{k}", da.Revolute("yz"[k % 2]), end, link)
        s.connect(f"k{k}", da.JointSpring(stiffness=50.0), f"H{k}")
        end = link.marker("end", 0.1, 0, 0)
    return s


SYSTEMS: dict[str, Callable[[], da.System]] = {
    "beam": lambda: beam(100),
    "scissor": lambda: sprung(scissor(35)),
    "grid": lambda: sprung(grid(6)),
    "ring": lambda: sprung(ring(80)),
    "net": lambda: net(4),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_fronts_and_matrices_find_the_same_equilibrium(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    model = SYSTEMS[name]().compile()
    assert model.nv > frontal_descent.MAX_EIGENVALUES
    start = da.start_state(model)
    by_fronts = da.equilibrium(model)
    a = model.forward_dynamics(by_fronts.q, np.zeros(model.nv))
    assert np.abs(a).max() < 1e-7 * np.abs(model.forward_dynamics(start.q, start.v)).max()
    monkeypatch.setattr(frontal_descent, "MAX_EIGENVALUES", 10**9)
    by_matrices = da.equilibrium(model)
    assert by_fronts.stable.verdict == by_matrices.stable.verdict
    if by_fronts.free:  # bars that turn about themselves
        assert by_fronts.energy == pytest.approx(by_matrices.energy, rel=1e-9)
    else:
        assert np.abs(model.difference(by_matrices.q, by_fronts.q)).max() < 1e-8


def test_an_unstable_start_is_left() -> None:
    """A beam upright on springs that do not hold it falls over."""
    model = beam(100, gravity=(-9.81, 0.0, 0.0)).compile()
    eq = da.equilibrium(model)
    assert eq.stable
    assert any("unstable equilibrium and was left" in note for note in eq.notes)
    assert np.abs(model.forward_dynamics(eq.q, np.zeros(model.nv))).max() < 1e-5
