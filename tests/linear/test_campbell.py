"""Campbell diagrams of flexible shafts: frequencies in fixed axes, whether the shaft turns or only its disc."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as da

_LENGTH, _ELEMENTS, _AT = 1.0, 8, 2
_SECTION = replace(da.Section.circle(0.01), shear_y=1e6, shear_z=1e6)  # stiff in shear, as in the closed forms
_MASS, _POLAR, _DIAMETRAL = 8.0, 0.2, 0.4
_E = 210e9


def _shaft(section: da.Section = _SECTION, at: int = _AT) -> da.FlexibleBody:
    """Return a shaft that weighs next to nothing, along x."""
    light = da.Material(E=_E, nu=0.3, density=0.1)
    modes = da.structures.CraigBampton((0, at, _ELEMENTS), 0)
    return da.beam(_LENGTH, section, light, elements=_ELEMENTS, modes=modes)


def _rotor(
    *, turns: bool = True, stiffness: tuple[float, float] | None = None, section: da.Section = _SECTION, at: int = _AT
) -> da.System:
    """Return a disc on a shaft between two bearings; either the shaft turns with it or it turns on the shaft."""
    s = da.System("rotor", gravity=(0, 0, 0))
    shaft = s.body("shaft", _shaft(section, at))
    disc = s.body("disc", mass=_MASS, inertia=(_POLAR, _DIAMETRAL, _DIAMETRAL))
    first, second = s.ground, s.ground
    if stiffness is not None:
        first, second = (s.body(name, mass=1e-3, inertia=(1e-5, 1e-5, 1e-5)) for name in ("left", "right"))
        for name, housing, x in (("left", first, 0.0), ("right", second, _LENGTH)):
            s.connect(f"slide_{name}", da.Planar("x"), s.ground.at(x, 0, 0), housing)
            spring = da.Bushing(stiffness=(0, *stiffness, 1e3, 0, 0))
            s.connect(f"spring_{name}", spring, s.ground.at(x, 0, 0), housing)
    yoke = s.body("yoke", mass=1e-6, inertia=(1e-9, 1e-9, 1e-9))
    s.connect("tilt", da.Universal("y", "z"), first, yoke)
    if turns:
        s.connect("spin", da.Revolute("x"), yoke, shaft.at(node=0))
        s.connect("seat", da.Fixed(), shaft.at(node=at), disc)
    else:
        s.connect("root", da.Fixed(), yoke, shaft.at(node=0))
        s.connect("spin", da.Revolute("x"), shaft.at(node=at), disc)
    s.connect("far", da.constraints.PointOnLine("x"), second, shaft.at(node=_ELEMENTS))
    s.drive("spin", speed=1.0)
    return s


def _whirls(spin: float) -> np.ndarray:
    """Return the whirl frequencies (4,) rad/s, backward negative, of a disc on a massless shaft between pins.

    m w'' + k11 w + k12 th = 0,  d th'' - i p spin th' + k12 w + k22 th = 0 in complex deflection and slope.
    """
    a, b, bending = _LENGTH * _AT / _ELEMENTS, _LENGTH * (1 - _AT / _ELEMENTS), _E * _SECTION.Iy
    compliance = np.array([[a * a * b * b, a * b * (b - a)], [a * b * (b - a), a * a - a * b + b * b]])
    K = np.linalg.inv(compliance / (3 * bending * _LENGTH))
    M = np.diag([_MASS, _DIAMETRAL])
    G = np.diag([0.0, _POLAR * spin])
    # exp(i w t): -w^2 M + w G + K
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.linalg.solve(M, K), np.linalg.solve(M, G)]])
    return np.sort(np.linalg.eigvals(A).real)


@pytest.mark.parametrize("turns", [True, False], ids=["shaft turns", "disc turns on the shaft"])
def test_a_disc_between_bearings_whirls_as_in_the_closed_form(turns: bool) -> None:
    speeds = np.linspace(0.0, 300.0, 31)
    diagram = da.campbell(_rotor(turns=turns), "spin", speeds)
    assert diagram.axes == "fixed" and not diagram.notes
    for spin, values, whirl in zip(speeds, diagram.eigenvalues, diagram.whirl, strict=True):
        if not spin:
            continue
        exact = _whirls(spin)
        found = [
            values.imag[k] * np.sign(whirl[k]) for k in np.flatnonzero((np.abs(whirl) > 0.5) & (values.imag > 1.0))
        ]
        lateral = np.sort(found)[np.abs(np.sort(found)) < 1.01 * np.abs(exact).max()]
        assert_allclose(lateral, exact, rtol=2e-4)
    forward = diagram.critical_speeds(whirl="forward")
    # where the first forward whirl is as fast as the shaft
    from scipy.optimize import brentq

    assert_allclose(forward[0], brentq(lambda spin: _whirls(spin)[2] - spin, 10.0, 300.0), rtol=2e-4)


def test_the_middle_disc_of_a_heavy_shaft_that_turns_has_its_critical_speed() -> None:
    n, steel = 8, da.materials.steel
    s = da.System("rotor", gravity=(0, 0, 0))
    modes = da.structures.CraigBampton((0, n // 2, n), 4)
    shaft = s.body("shaft", da.beam(1.0, da.Section.circle(0.01), steel, elements=n, modes=modes))
    disc = s.body("disc", mass=8.0, inertia=(0.02, 0.01, 0.01))
    s.connect("d", da.Fixed(), shaft.at(node=n // 2), disc)
    yoke = s.body("yoke", mass=1e-4, inertia=(1e-7, 1e-7, 1e-7))
    s.connect("tilt", da.Universal("y", "z"), s.ground, yoke)
    s.connect("spin", da.Revolute("x"), yoke, shaft.at(node=0))
    s.connect("b2", da.constraints.PointOnLine("x"), s.ground, shaft.at(node=n))
    s.drive("spin", speed=1.0)
    diagram = da.campbell(s, "spin", np.linspace(0, 400, 41))
    # both whirls of the disc in the middle, sqrt(k / (m + 17/35 of the shaft)) = 92.8; torsion far above
    assert_allclose(diagram.critical_speeds(whirl="forward"), [92.8], rtol=2e-3)
    assert_allclose(diagram.critical_speeds()[:2], [92.8, 92.8], rtol=1e-3)
    assert "note" not in str(diagram)


def test_supports_that_differ_by_direction_give_the_same_whether_shaft_or_disc_turns() -> None:
    speeds = np.linspace(0.0, 200.0, 5)
    both = [da.campbell(_rotor(turns=turns, stiffness=(1e5, 3e5)), "spin", speeds) for turns in (True, False)]
    assert [diagram.axes for diagram in both] == ["fixed", "fixed"]
    # the shaft that turns sees its housings in fixed axes, its own bending in its own
    low = [np.sort(np.abs(diagram.eigenvalues.imag), axis=1)[:, :14] for diagram in both]
    assert_allclose(low[0], low[1], rtol=1e-5, atol=1e-3)
    assert np.ptp(low[0][-1]) > 100.0


@pytest.mark.parametrize("chosen", [False, True], ids=["shaft coordinates", "tilt among them"])
def test_a_shaft_of_two_stiffnesses_is_seen_in_axes_that_turn_with_it(chosen: bool) -> None:
    flat = replace(da.Section.rectangle(0.02, 0.015), shear_y=1e6, shear_z=1e6)
    middle = _ELEMENTS // 2
    system = _rotor(section=flat, at=middle)
    independent = None
    if chosen:
        model = system.compile()
        names = [name for name in model.speed_names if name.startswith("shaft.eta")]
        base = da.campbell(model, "spin", [1.0]).spaces[0].coordinate_names
        spare = [name for name in names if name not in base]
        bending = [name for name in base if name.startswith("shaft.eta")]
        assert not spare
        # the end of the shaft follows from tilt and bending: leave out what lifts it along y and z
        shapes = system.bodies["shaft"].flexible.shapes[-1, 3:]
        lifts = [bending[int(np.abs(shapes[k]).argmax())] for k in (1, 2)]
        independent = ["tilt.angle_1", "tilt.angle_2", *(name for name in base if name not in lifts)]
    speeds = np.array([0.0, 20.0, 50.0, 110.0, 200.0])
    diagram = da.campbell(system, "spin", speeds, independent_coordinates=independent)
    assert diagram.axes == "rotating" and "rotate with the rotor" in diagram.notes[0]
    k = 48 * _E * np.array([flat.Iy, flat.Iz]) / _LENGTH**3
    for spin, values in zip(speeds, diagram.eigenvalues, strict=True):
        # u'' - 2 spin v' + (k1/m - spin^2) u = 0, likewise for v
        a, b = k / _MASS - spin**2
        squares = np.roots([1.0, a + b + 4 * spin**2, a * b]).astype(complex)
        exact = np.sqrt(squares)
        for one in exact:
            assert np.abs(np.abs(values) - np.abs(one)).min() < 1e-3 * abs(one)


def test_neither_rotor_nor_supports_symmetric_has_no_critical_speeds() -> None:
    flat = da.Section.rectangle(0.02, 0.015)
    diagram = da.campbell(_rotor(section=flat, stiffness=(1e5, 3e5)), "spin", [0.0, 50.0, 100.0, 150.0])
    assert diagram.axes == "mixed"
    with pytest.raises(da.ModelError, match=r"da\.floquet"):
        diagram.critical_speeds()
    assert "da.floquet" in str(diagram)


def test_blades_keep_the_frequencies_of_their_own_axes() -> None:
    s = da.System("blade", gravity=(0, 0, 0))
    hub = s.body("hub", mass=1.0, inertia=(1.0, 1.0, 1.0))
    blade = s.body("blade", mass=1.0, inertia=(1e-9, 1e-9, 1e-9))
    s.connect("spin", da.Revolute("z"), s.ground, hub)
    s.connect("flap", da.Revolute("y"), hub.at(0.1, 0, 0), blade.at(-1, 0, 0))
    s.connect("k", da.JointSpring(stiffness=100.0), "flap")
    s.drive("spin", speed=1.0)
    speeds = np.linspace(0.0, 20.0, 5)
    diagram = da.campbell(s, "spin", speeds)
    assert diagram.axes == "rotating" and "blades" in diagram.notes[0]
    # a point mass at 1 m from a joint 0.1 m off the axis
    assert_allclose(np.abs(diagram.eigenvalues.imag).max(axis=1), np.sqrt(100.0 + 1.1 * speeds**2), rtol=1e-6)


def test_the_picture_ends_above_the_lines_of_excitation_and_the_lowest_modes() -> None:
    diagram = da.campbell(_rotor(), "spin", np.linspace(0.0, 300.0, 4))
    panel = diagram.plot(orders=(1.0, 2.0))
    low, high = panel.get_ylim()
    lowest = np.sort(diagram.frequencies[:, diagram.vibrating], axis=1)[:, :4].max()
    assert low == 0.0 and 600.0 / (2 * np.pi) < high < 1.5 * max(lowest, 600.0 / (2 * np.pi))
    assert diagram.frequencies.max() > 3 * high


def test_a_rotor_that_turns_backwards_has_the_same_critical_speeds() -> None:
    speeds = np.linspace(0.0, 200.0, 9)
    ahead, back = (da.campbell(_rotor(), "spin", sign * speeds) for sign in (1.0, -1.0))
    assert_allclose(back.eigenvalues.imag.max(axis=1), ahead.eigenvalues.imag.max(axis=1), rtol=1e-9)
    assert_allclose(np.sort(-back.critical_speeds()), ahead.critical_speeds(), rtol=1e-6)


def test_damping_inside_a_shaft_makes_it_unstable_above_its_critical_speed() -> None:
    modes = da.structures.CraigBampton((0, 4, 8), 0)
    s = da.System("rotor", gravity=(0, 0, 0))
    shaft = s.body("shaft", da.beam(1.0, _SECTION, da.materials.steel, elements=8, modes=modes, damping=0.02))
    s.connect("seat", da.Fixed(), shaft.at(node=4), s.body("disc", mass=8.0, inertia=(0.02, 0.01, 0.01)))
    yoke = s.body("yoke", mass=1e-6, inertia=(1e-9, 1e-9, 1e-9))
    s.connect("tilt", da.Universal("y", "z"), s.ground, yoke)
    s.connect("spin", da.Revolute("x"), yoke, shaft.at(node=0))
    s.connect("far", da.constraints.PointOnLine("x"), s.ground, shaft.at(node=8))
    s.drive("spin", speed=1.0)
    diagram = da.campbell(s, "spin", np.linspace(50.0, 150.0, 21))
    (limit, value), *_ = diagram.crossings()
    # forward whirl loses its damping where the shaft turns as fast as it
    assert_allclose([limit, value.imag], diagram.critical_speeds(whirl="forward")[0], rtol=2e-3)
