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
def test_a_clamped_column_has_its_euler_load(share: float) -> None:
    with pytest.warns(BucklingWarning, match=r"'bar' is pressed by 0\..* of the load at which it buckles"):
        result = da.simulate(column(share), 1e-3)
    factors = da.buckling_factors(result, "bar")
    assert np.allclose(factors, 1 / share, rtol=0.01)  # of six modes, three in each plane


@pytest.mark.parametrize("modes", [da.CraigBampton((0, 10), 4), da.CantileverModes(6), da.CantileverModes(12)])
def test_a_strut_between_pins_has_its_euler_load_whatever_its_modes(modes: object) -> None:
    s = strut(0.5, modes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModesWarning)  # bending modes do not shorten
        rest = da.equilibrium(s)
    with pytest.warns(BucklingWarning):
        result = da.simulate(s, 1e-4, state=rest)
    assert np.allclose(da.buckling_factors(result, "bar"), 2.0, rtol=0.01)  # few modes of other supports


def test_a_pull_does_not_buckle() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BucklingWarning)
        warnings.simplefilter("ignore", ModesWarning)  # six bending modes do not stretch
        result = da.simulate(column(-0.7), 1e-3)
    assert np.isinf(da.buckling_factors(result, "bar")).all()


@pytest.mark.parametrize(("share", "warned"), [(0.05, False), (0.5, False), (1.3, True)])
def test_with_stiffening_of_the_loaded_node_only_buckling_itself_is_reported(share: float, warned: bool) -> None:
    s = column(share, stiffening=True, load_nodes=(10,))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = da.simulate(s, 1e-3)
    assert any(issubclass(w.category, BucklingWarning) for w in said) == warned
    assert any("segments=n" in note for note in result.stats.notes) == warned


def test_every_kind_of_run_reports_it() -> None:
    s = column(0.5)
    for options in ({"method": "radau"}, {"method": "alpha", "fixed_step": 1e-4}, {"method": "scipy:LSODA"}):
        with pytest.warns(BucklingWarning):
            assert any("buckles" in note for note in da.simulate(s, 1e-3, **options).stats.notes)
    model = s.compile()
    many = da.State(q=np.zeros((3, model.nq)), v=np.zeros((3, model.nv)))
    with pytest.warns(BucklingWarning):
        runs = da.simulate(s, 1e-3, state=many)
    assert any("buckles" in note for note in runs.stats.notes)


def test_modes_that_cannot_follow_a_load_are_reported() -> None:
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


def _clamped(modes: object, force: tuple[float, float, float]) -> da.System:
    s = da.System("clamped", gravity=(0, 0, 0))
    bar = s.body("bar", da.beam(1.0, BAR, STEEL, modes=modes, damping=0.05))
    s.connect("foot", da.Fixed(), s.ground, bar.at(node=0))
    s.connect("load", da.Load(force=force), bar.at(node=10))
    return s


def _between_pins(modes: object, force: tuple[float, float, float]) -> da.System:
    s = da.System("pins", gravity=(0, 0, 0))
    bar = s.body("bar", da.beam(1.0, BAR, STEEL, modes=modes, damping=0.05))
    s.connect("left", da.Revolute("y"), s.ground, bar.at(node=0))
    s.connect("right", da.constraints.PointOnLine("x"), s.ground, bar.at(node=10))
    s.connect("load", da.Load(force=force), bar.at(node=5))
    return s


# system of a mode set and a force, mode set, loaded node, its deflection under 1 N
UNSUITABLE = {
    "free modes of a clamped bar": (_clamped, da.FreeModes(2), 10, 1 / (3 * STEEL.E * BAR.Iy)),
    "cantilever modes between pins": (_between_pins, da.CantileverModes(2), 5, 1 / (48 * STEEL.E * BAR.Iy)),
}


@pytest.mark.parametrize("name", UNSUITABLE)
@pytest.mark.parametrize("force", [0.2, 10.0])
def test_truncated_modes_are_reported_however_small_the_load(name: str, force: float) -> None:
    made, modes, node, compliance = UNSUITABLE[name]
    s = made(modes, (0, 0, force))
    with pytest.warns(ModesWarning, match="by strain energy") as said:
        eq = da.equilibrium(s)
    # by energy they miss what the loaded node lacks of its deflection
    moved = s.compile().pose(s.bodies["bar"].at(node=node), eq.q).position[2]
    missed = 1 - moved / (force * compliance)
    assert missed > 0.4
    told = float(str(said[0].message).split(" miss ")[1].split(" %")[0]) / 100
    assert told == pytest.approx(missed, abs=0.02)  # whole percents, and shear
    assert any("by strain energy" in note for note in eq.notes)
    with pytest.warns(ModesWarning, match="'bar'"):
        result = da.simulate(s, 0.02)
    assert any("by strain energy" in note for note in result.stats.notes)


def test_bending_modes_miss_all_of_a_pull() -> None:
    s = _clamped(da.CantileverModes(6), (1e4, 0, 0))
    with pytest.warns(ModesWarning, match="miss 100 %"):
        da.equilibrium(s)
    with pytest.warns(ModesWarning, match="miss 100 %"):
        da.simulate(s, 0.02)


@pytest.mark.parametrize("name", UNSUITABLE)
def test_modes_and_system_check_report_unsuitable_modes(name: str) -> None:
    made, modes, _, _ = UNSUITABLE[name]
    system = made(modes, (0, 0, 10.0))
    with pytest.warns(ModesWarning, match=r"of how mode 0 at .* Hz deforms it"):
        found = da.modes(system)
    assert "its frequency is too high" in str(found)
    report = system.check()
    assert "'bar'" in report.notes[0] and "note: the modes of 'bar'" in str(report)


@pytest.mark.parametrize(
    "system",
    [
        _clamped(da.CantileverModes(6), (0, 0, 10.0)),
        _clamped(da.CraigBampton((0, 10), 2), (1e4, 0, 10.0)),
        _between_pins(da.CraigBampton((0, 5, 10), 2), (0, 0, 10.0)),
        _between_pins(da.CantileverModes(12), (0, 0, 10.0)),
    ],
)
def test_suitable_modes_are_not_spoken_of(system: da.System) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModesWarning)
        da.equilibrium(system)
        da.simulate(system, 0.02)
        da.modes(system)
    assert not system.check().notes


def test_an_arm_that_hangs_by_its_weight_is_not_spoken_of() -> None:
    s = da.System("arm")
    arm = s.body("arm", da.beam(1.0, BAR, STEEL, damping=0.05))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModesWarning)
        da.equilibrium(s)


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


def test_rounding_is_not_reported_as_motion_of_modes() -> None:
    s = da.System("blade", gravity=(0, 0, 0))
    hub = s.body("hub", da.cylinder(0.1, 0.05, mass=5.0))
    s.connect("spin", da.Revolute("z"), s.ground, hub)
    s.drive("spin", speed=30.0)
    blade = s.body("blade", da.beam(1.0, da.Section.rectangle(0.05, 0.01), STEEL, elements=8, stiffening=True))
    s.connect("root", da.Fixed(), hub, blade.at(node=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModesWarning)  # bending modes do not stretch
        result = da.simulate(s, 0.05)
    assert not any("absolute tolerance" in note for note in result.stats.notes)
