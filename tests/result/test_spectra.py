"""Spectra, waterfalls and orders: harmonics of known frequency and amplitude."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError


@pytest.fixture(scope="module")
def oscillators() -> da.Result:
    """Two free oscillators of 3 Hz and 7.3 Hz that carry each other: the position of B on ground is their sum."""
    s = da.System("two oscillators", gravity=(0, 0, 0))
    first, second = s.body("first", da.sphere(0.1, mass=1e9)), s.body("second", da.sphere(0.1, mass=1.0))
    for name, parent, child, rate in (("A", s.ground, first, 3.0), ("B", first, second, 7.3)):
        s.connect(name, da.Prismatic("x"), parent, child)
        s.connect(f"k{name}", da.JointSpring(stiffness=child.mass * (2 * np.pi * rate) ** 2), name)
    # the light mass rides on the heavy one: relative motion 7.3 Hz and the forced part at 3 Hz
    return da.simulate(s, 20.0, state={"A.position": 0.2, "B.position": 0.05}, rtol=1e-10, atol=1e-12)


def test_peaks_have_the_frequencies_and_amplitudes_of_the_closed_form(oscillators: da.Result) -> None:
    a, b = 2 * np.pi * 3.0, 2 * np.pi * 7.3
    forced = 0.2 * a**2 / (b**2 - a**2)  # relative motion b'' + wb^2 b = wa^2 A cos(wa t)
    found = oscillators.spectrum("B.position")
    peaks = sorted(found.peaks(2))
    assert [peak.frequency for peak in peaks] == pytest.approx([3.0, 7.3], abs=1e-5)
    assert [peak.amplitude for peak in peaks] == pytest.approx([forced, 0.05 - forced], rel=1e-4)
    assert not found.notes and found.unit == "m"


def test_a_harmonic_between_two_lines_keeps_its_amplitude(oscillators: da.Result) -> None:
    """2.03 s do not hold whole periods: the largest line is low by up to 15 %, the peak is not."""
    found = oscillators.spectrum("A.position", span=(0.0, 2.1833))
    assert found.amplitude.max() < 0.19
    assert found.peaks(1)[0].amplitude == pytest.approx(0.2, rel=5e-3)
    flat = oscillators.spectrum("A.position", span=(0.0, 2.1833), window="flattop")
    assert flat.amplitude.max() == pytest.approx(0.2, rel=5e-3)


def test_the_phase_is_that_of_a_cosine_and_the_mean_is_apart(oscillators: da.Result) -> None:
    span = (1 / 12, 1 / 12 + 3.0)  # nine periods of 3 Hz, from a quarter of one on
    found = oscillators.spectrum("A.position", span=span, window="rectangular")
    assert found.amplitude[9] == pytest.approx(0.2, rel=1e-6)
    assert found.phase[9] == pytest.approx(np.pi / 2, abs=1e-5)
    assert found.mean == pytest.approx(0.0, abs=1e-7)
    # Parseval: half the sum of squared amplitudes is the mean square
    values = oscillators.output("A.position", np.linspace(*span, 1025)[:-1])
    assert 0.5 * np.sum(found.amplitude**2) == pytest.approx(np.mean(values**2), rel=1e-6)


def test_folded_frequencies_are_noted(oscillators: da.Result) -> None:
    found = oscillators.spectrum("B.position", samples=280)  # up to 7 Hz: 7.3 Hz is folded to 6.7 Hz
    assert "raise samples=" in found.notes[0]


def run_up() -> da.Result:
    """Return a shaft that speeds up, and a slider with 2 mm at its third order and 0.5 mm at 20 Hz, as recorded."""
    s = da.System("run-up", gravity=(0, 0, 0))
    s.connect("shaft", da.Revolute("z"), s.ground, s.body("rotor", da.cylinder(0.1, 0.1, mass=1.0)))
    s.connect("mass", da.Prismatic("x"), s.ground, s.body("slider", da.sphere(0.1, mass=1.0)))
    t = np.linspace(0.0, 4.0, 4001)
    angle, speed, hum = 20 * t + 15 * t**2, 20 + 30 * t, 40 * np.pi
    x = 0.002 * np.cos(3 * angle) + 0.0005 * np.cos(hum * t)
    v = -0.006 * speed * np.sin(3 * angle) - 0.0005 * hum * np.sin(hum * t)
    return da.Result(s.compile(), t, np.stack([angle, x], axis=1), np.stack([speed, v], axis=1), step_times=t)


def test_orders_keep_their_line_while_the_speed_changes() -> None:
    result = run_up()
    found = result.orders("mass.position", "shaft.position", max_order=8, revolutions=4)
    assert found.order[np.unravel_index(found.amplitude.argmax(), found.amplitude.shape)[1]] == 3.0
    assert found.cut(3.0) == pytest.approx(0.002, rel=0.3)  # the 20 Hz pass through it at 41.9 rad/s
    apart = np.abs(2 * np.pi * 20 / found.speed - 3.0) > 1.0
    assert apart.sum() > 10
    assert found.cut(3.0)[apart] == pytest.approx(0.002, rel=0.02)
    assert found.speed == pytest.approx(20 + 30 * found.t, rel=2e-2)
    other = result.waterfall("mass.position", 0.5, reference="shaft.speed")
    ridge = other.frequency[other.amplitude.argmax(axis=1)]
    assert 2 * np.pi * ridge / 3 == pytest.approx(other.reference_values, abs=2 * np.pi / 0.5 / 3)


def test_orders_need_a_reference_that_turns_one_way(oscillators: da.Result) -> None:
    with pytest.raises(ModelError, match="does not turn in one direction at t = "):
        oscillators.orders("B.position", "A.position")


def test_bad_arguments_are_named(oscillators: da.Result) -> None:
    with pytest.raises(ModelError, match="name one"):
        oscillators.spectrum("second.position")
    with pytest.raises(ModelError, match="span"):
        oscillators.spectrum("A.position", span=(3.0, 1.0))
    with pytest.raises(ModelError, match="use one of 'hann'"):
        oscillators.spectrum("A.position", window="hamming")
    with pytest.raises(ModelError, match="at most 20 s"):
        oscillators.waterfall("A.position", 100.0)
    with pytest.raises(ModelError, match="segments, at most"):
        oscillators.waterfall("A.position", 1e-9)
    with pytest.raises(ModelError, match="samples, at most"):
        run_up().orders("mass.position", "shaft.position", max_order=1e7)
    with pytest.raises(ModelError, match="whole number"):
        oscillators.spectrum("A.position", samples=100.5)


def test_pictures(oscillators: da.Result) -> None:
    result = run_up()
    assert oscillators.spectrum("B.position").plot(log=True).get_ylabel() == "B.position (m)"
    orders = result.orders("mass.position", "shaft.position", max_order=8, revolutions=4)
    assert orders.plot().get_xlabel() == "order"
    assert result.waterfall("mass.position", 0.5, reference="shaft.speed").plot().get_ylabel() == "shaft.speed"
