"""Frames that sway and engines that hunt: stability limits in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da

HEIGHT, SPAN, EI = 2.0, 3.0, 50.0


def portal(share: float, n: int = 2) -> da.System:
    """Return a frame on jointed feet, its beam `share` times as stiff in bending as the columns, loads on both corners.

    Nodes in the plane x z, joined by beams that hardly stretch.
    """
    s = da.System("portal", gravity=(0, 0, 0))
    upright = ("y", -np.pi / 2)

    def node(name: str, x: float, z: float) -> da.Body:
        body = s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.connect(f"at_{name}", da.Planar("y"), s.ground.at(x, 0, z), body)
        return body

    def join(name: str, first: da.Body, second: da.Body, length: float, bending: float, turn: tuple | None) -> None:
        beam = da.BeamElement(length, axial=1e6, bending=(bending, bending), torsion=EI)
        ends = [body if turn is None else body.at(rotation=turn) for body in (first, second)]
        s.connect(name, beam, *ends)

    tops = []
    for side, x in (("left", 0.0), ("right", SPAN)):
        low = s.body(f"{side}_0", mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.connect(f"foot_{side}", da.Revolute("y"), s.ground.at(x, 0, 0), low)
        for k in range(1, n + 1):
            high = node(f"{side}_{k}", x, HEIGHT * k / n)
            join(f"{side}_column_{k}", low, high, HEIGHT / n, EI, upright)
            low = high
        s.connect(side, da.Load(force=(0, 0, -1.0)), low)
        tops.append(low)
    before = tops[0]
    for k in range(1, n + 1):
        after = node(f"beam_{k}", SPAN * k / n, HEIGHT) if k < n else tops[1]
        join(f"beam_piece_{k}", before, after, SPAN / n, share * EI, None)
        before = after
    return s


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_portal_on_jointed_feet_sways_under_its_critical_load(share: float) -> None:
    """k h tan(k h) = 6 (EI_beam / span) / (EI / height), P = k^2 EI (Timoshenko, Gere, Theory of Elastic Stability)."""
    stiffness = 6 * share * HEIGHT / SPAN
    kh = brentq(lambda x: x * np.sin(x) - stiffness * np.cos(x), 1e-6, np.pi / 2)
    critical = EI * (kh / HEIGHT) ** 2
    how = {"left.fz": -1.0, "right.fz": -1.0}
    path = da.equilibrium_path(portal(share), how, 0.85 * critical, 1.05 * critical, branches=False)
    first = path.bifurcations[0]
    # cubics over half the height, (k h / 2)^4 / 720 too stiff; columns that shorten by P / EA
    assert first.value == pytest.approx(critical, rel=(kh / 2) ** 4 / 500 + 1e-4)
    assert path.stable[path.values < 0.96 * critical].all() and not path.stable[-1]


def engine(damping: float, mass: float = 0.8, J: float = 3.0, torque: float = 9.0, load: float = 5.0) -> da.System:
    """Return a steam engine whose valve a governor closes: torque cos(tilt) - load turns the shaft."""
    s = da.System("engine")
    shaft = s.body("shaft", mass=1.0, inertia=(J, J, J))
    ball = s.body("ball", mass=mass, com=(0, 0, -1.0), inertia=(1e-12, 1e-12, 1e-12))
    s.connect("spin", da.Revolute("z"), s.ground, shaft)
    s.connect("tilt", da.Revolute("y", damping=damping), shaft, ball)
    numbers, valve = {"torque": torque, "load": load}, {"phi": "tilt.position"}
    s.connect("valve", da.Element("joint", "torque*cos(phi) - load", numbers, inputs=valve, active=True), "spin")
    return s


def test_a_governed_engine_hunts_unless_the_governor_is_damped() -> None:
    """Vyshnegradsky's limit (Pontryagin, Ordinary Differential Equations, section 27), the balls' inertia included.

    About tilt phi, cos(phi) = c = load / torque, and speed w, w^2 c = g / l, small motions obey, with the inertia
    I = J + m sin^2(phi) and arms of 1 m,

        m I x^3 + b I x^2 + m w^2 s^2 (I + 4 m c^2) x + 2 m torque w s^2 c = 0

    whose roots lie to the left for b > 2 m load / (w (I + 4 m c^2)); with light balls b J / m > 2 load / w.
    """
    mass, J, torque, load = 0.8, 3.0, 9.0, 5.0
    c = load / torque
    w = np.sqrt(9.81 / c)
    inertia = J + mass * (1 - c**2)
    limit = 2 * mass * load / (w * (inertia + 4 * mass * c**2))
    start = {"tilt": float(np.arccos(c)), "spin.speed": float(w)}

    eq = da.equilibrium(engine(1.5 * limit), state=start, velocities={"spin": None}, nearest=True)
    assert eq["tilt"] == pytest.approx(np.arccos(c)) and eq.unknown["spin.speed"] == pytest.approx(w)
    assert eq.stable
    for share, stable in ((0.99, False), (1.01, True)):
        found = da.modes(engine(share * limit), start)
        assert not any("no equilibrium" in note for note in found.notes)
        swings = found.eigenvalues[found.frequencies > 0.0]
        assert len(swings) == 1 and (swings[0].real < 0.0) == stable
    at_limit = da.modes(engine(limit), start)
    k = int(np.argmax(at_limit.frequencies))
    s2 = 1 - c**2
    assert at_limit.eigenvalues[k].real == pytest.approx(0.0, abs=1e-9)
    assert abs(at_limit.eigenvalues[k].imag) == pytest.approx(w * np.sqrt(s2 * (1 + 4 * mass * c**2 / inertia)))
