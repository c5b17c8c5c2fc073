"""Runs say when flexible bodies leave the range of their theory: pressed near buckling, modes that miss much."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import BucklingWarning, ModesWarning

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
BAR = da.Section.rectangle(0.02, 0.02)
EULER = np.pi**2 * STEEL.E * BAR.Iy  # of a strut of 1 m between pins, N


def column(share: float, **options: object) -> da.System:
    """Return a clamped column, pressed at its tip by a share of its buckling load."""
    s = da.System("column", gravity=(0, 0, 0))
    bar = s.body("bar", da.beam(1.0, BAR, STEEL, damping=0.02, **options))
    s.connect("foot", da.Fixed(), s.ground, bar)
    s.connect("press", da.Load(force=(-share * EULER / 4, 0, 0)), bar.at(node=10))
    return s


def strut(share: float, modes: object) -> da.System:
    """Return a strut between pins."""
    s = da.System("strut", gravity=(0, 0, 0))
    bar = s.body("bar", da.beam(1.0, BAR, STEEL, modes=modes, damping=0.02))
    slider = s.body("slider", mass=1.0, inertia=(1, 1, 1))
    s.connect("foot", da.Revolute("y"), s.ground, bar)
    s.connect("head", da.Revolute("y"), bar.at(node=10), slider)
    s.connect("guide", da.Prismatic("x"), s.ground.at(1, 0, 0), slider)
    s.connect("press", da.Load(force=(-share * EULER, 0, 0)), slider)
    return s


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_clamped_column_knows_its_euler_load(share: float) -> None:
    with pytest.warns(BucklingWarning, match=r"'bar' is pressed by 0\..* of the load at which it buckles"):
        result = da.simulate(column(share), 1e-3)
    factors = da.buckling_factors(result, "bar")
    assert np.allclose(factors, 1 / share, rtol=0.01)  # of six modes, three in each plane


@pytest.mark.parametrize("modes", [da.CraigBampton((0, 10), 4), da.CantileverModes(6), da.CantileverModes(12)])
def test_a_strut_between_pins_knows_its_euler_load_whatever_its_modes(modes: object) -> None:
    s = strut(0.5, modes)
    with pytest.warns(BucklingWarning):
        result = da.simulate(s, 1e-4, state=da.equilibrium(s))
    assert np.allclose(da.buckling_factors(result, "bar"), 2.0, rtol=0.01)


def test_a_pull_does_not_buckle() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = da.simulate(column(-0.7), 1e-3)
    assert np.isinf(da.buckling_factors(result, "bar")).all()


@pytest.mark.parametrize(("share", "warned"), [(0.05, False), (0.5, False), (1.3, True)])
def test_with_stiffening_of_the_loaded_node_only_buckling_itself_is_said(share: float, warned: bool) -> None:
    s = column(share, stiffening=True, load_nodes=(10,))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = da.simulate(s, 1e-3)
    assert any(issubclass(w.category, BucklingWarning) for w in said) == warned
    assert any("segments=n" in note for note in result.stats.notes) == warned


def test_every_kind_of_run_says_so() -> None:
    s = column(0.5)
    for options in ({"method": "radau"}, {"method": "alpha", "step": 1e-4}, {"method": "scipy:LSODA"}):
        with pytest.warns(BucklingWarning):
            assert any("buckles" in note for note in da.simulate(s, 1e-3, **options).stats.notes)
    model = s.compile()
    many = da.State(q=np.zeros((3, model.nq)), v=np.zeros((3, model.nv)))
    with pytest.warns(BucklingWarning):
        runs = da.simulate(s, 1e-3, state=many)
    assert any("buckles" in note for note in runs.stats.notes)


def test_modes_that_cannot_follow_a_load_are_said() -> None:
    """A strip whose one mode bends about its thin side is loaded across its broad one."""
    s = da.System("beam")
    body = da.beam(1.0, da.Section.rectangle(0.02, 0.004), STEEL, modes=da.CantileverModes(1), damping=0.05)
    bar = s.body("bar", body)
    s.connect("foot", da.Fixed(), s.ground, bar)
    s.connect("load", da.Load(force=(0, 20.0, 0)), bar.at(node=10))
    with pytest.warns(ModesWarning, match=r"the modes of 'bar' \(1\) miss .* % of how its loads deform it"):
        da.simulate(s, 0.5)
    enough = da.beam(1.0, da.Section.rectangle(0.02, 0.004), STEEL, modes=da.CraigBampton((0, 10), 4), damping=0.05)
    s = da.System("beam")
    bar = s.body("bar", enough)
    s.connect("foot", da.Fixed(), s.ground, bar)
    s.connect("load", da.Load(force=(0, 20.0, 0)), bar.at(node=10))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModesWarning)
        da.simulate(s, 0.5)


def test_bodies_without_known_elements_are_refused_by_name() -> None:
    s = column(0.1)
    flexible = s.bodies["bar"].flexible
    bare = da.FlexibleBody(
        flexible.nodes, flexible.modes, mass_matrix=flexible.mass_matrix, modal_stiffness=flexible.modal_stiffness
    )
    s = da.System("bare")
    s.connect("foot", da.Fixed(), s.ground, s.body("bar", bare))
    result = da.simulate(s, 1e-3)
    with pytest.raises(da.ModelError, match="elements of its structure"):
        da.buckling_factors(result, "bar")
