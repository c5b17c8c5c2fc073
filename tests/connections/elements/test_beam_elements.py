"""Bars and beams: stiffness, deflection, buckling, roll-up and vibration against the theory of beams."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.tree_equilibria import equilibrium, frequencies

import dalembert as da

Array = NDArray[np.float64]

L, EA, EIY, EIZ, GJ = 0.6, 400.0, 3.0, 5.0, 2.0
SHEAR = (700.0, 500.0)


def pair(element: da.Element, *, swapped: bool = False) -> da.Model:
    """Two free bodies with a beam from one to the other, at markers off their origins."""
    s = da.System("pair", gravity=(0, 0, 0))
    for name in ("one", "two"):
        s.connect(f"free_{name}", da.Free(), s.ground, s.body(name, mass=1.0, inertia=(1, 1, 1)))
    ends = [s["one"].at(0.1, -0.2, 0.3), s["two"].at(0.2, 0.1, -0.1)]
    if swapped:
        ends = [end.body.at(*end.position, rotation=da.bryant(0, 0, np.pi)) for end in reversed(ends)]
    s.connect("beam", element, *ends)
    return s.compile()


def textbook(shear: bool) -> Array:
    """Return the 12 by 12 stiffness of a beam, (place, rotation) of the first end and of the second."""
    sy, sz = (12 * EIZ / (SHEAR[0] * L**2), 12 * EIY / (SHEAR[1] * L**2)) if shear else (0.0, 0.0)
    K = np.zeros((12, 12))
    for i, k in ((0, EA / L), (3, GJ / L)):
        K[np.ix_([i, i + 6], [i, i + 6])] = k * np.array([[1, -1], [-1, 1]])
    for across, turn, sign, EI, s in ((1, 5, 1, EIZ, sy), (2, 4, -1, EIY, sz)):
        k = EI / (L**3 * (1 + s))
        near, far = (4 + s) * L * L, (2 - s) * L * L
        block = k * np.array(
            [[12, 6 * L, -12, 6 * L], [6 * L, near, -6 * L, far], [-12, -6 * L, 12, -6 * L], [6 * L, far, -6 * L, near]]
        )
        signs = np.array([1, sign, 1, sign])
        places = [across, turn, across + 6, turn + 6]
        K[np.ix_(places, places)] = block * np.outer(signs, signs)
    return K


@pytest.mark.parametrize("shear", [False, True])
def test_at_rest_its_stiffness_is_that_of_the_textbook(shear: bool) -> None:
    element = da.BeamElement(L, axial=EA, bending=(EIY, EIZ), torsion=GJ, shear=SHEAR if shear else None)
    s = da.System("ends", gravity=(0, 0, 0))
    for name, x in (("one", 0.0), ("two", L)):
        s.connect(f"free_{name}", da.Free(), s.ground.at(x, 0, 0), s.body(name, mass=1.0, inertia=(1, 1, 1)))
    s.connect("beam", element, s["one"], s["two"])
    model = s.compile()
    # unit masses and inertias: accelerations are forces, [moment; force] of each body
    slopes = model.d_dynamics(0.0, model.initial_state().q, np.zeros(12), np.zeros(0)).a[0]
    order = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]
    K = -slopes[np.ix_(order, order)]
    assert np.allclose(K, textbook(shear), rtol=1e-11, atol=1e-9)


def test_both_ends_are_alike() -> None:
    rng = np.random.default_rng(0)
    element = da.BeamElement(L, axial=EA, bending=(EIY, EIZ), torsion=GJ, shear=SHEAR, damping=0.1)
    one, other = pair(element), pair(element, swapped=True)
    for _ in range(10):
        state = one.random_state(int(rng.integers(1000)))
        loads = [model.applied_loads(0.0, state.q, state.v, np.zeros(0))[1] for model in (one, other)]
        assert np.allclose(loads[0], loads[1], rtol=1e-10, atol=1e-9)


def test_its_laws_are_fit() -> None:
    for damping in (0.0, 0.2):
        element = da.BeamElement(L, axial=EA, bending=(EIY, EIZ), torsion=GJ, shear=SHEAR, damping=damping)
        report = da.check_element(element)
        assert report.success, report
        assert (report.dissipated > 0) == (damping > 0)


def cantilever(
    n: int, length: float = 2.0, *, EI: float = 50.0, EA: float = 1e6, line: float = 3.0, **laws: da.Load
) -> da.Model:
    """Point-like bodies and beams in a row along x, the first beam clamped; loads at the tip."""
    s = da.System("cantilever", gravity=(0, 0, 0))
    h = length / n
    before: da.Body = s.ground
    for k in range(1, n + 1):
        m = line * h * (0.5 if k == n else 1.0)
        node = s.body(f"node_{k}", mass=m, inertia=np.eye(3) * m * h * h * 1e-3)
        s.connect(f"free_{k}", da.Free(), s.ground.at(k * h, 0, 0), node)
        s.connect(f"beam_{k}", da.BeamElement(h, axial=EA, bending=EI, torsion=EI), before, node)
        before = node
    for name, law in laws.items():
        s.connect(name, law, before)
    return s.compile()


@pytest.mark.parametrize("n", [1, 3])
def test_small_deflections_are_exact_with_any_number_of_beams(n: int) -> None:
    F, M, EI, length = 1e-3, 2e-3, 50.0, 2.0
    model = cantilever(n, length, tip=da.Load(force=(0, F, 0), moment=(0, 0, M)))
    q = equilibrium(model, model.initial_state().q)
    pose = model.pose(f"node_{n}", q)
    deflection = F * length**3 / (3 * EI) + M * length**2 / (2 * EI)
    rotation = F * length**2 / (2 * EI) + M * length / EI
    assert pose.position[1] == pytest.approx(deflection, rel=1e-6)
    assert pose.rotation[1, 0] == pytest.approx(rotation, rel=1e-6)


def test_a_moment_rolls_it_up_to_a_circle() -> None:
    n, EI, length = 10, 50.0, 2.0
    model = cantilever(n, length, EA=1e4, tip=da.Load(moment=(0, 0, da.Polynomial((0.0, 2 * np.pi * EI / length)))))
    q = model.initial_state().q
    for share in np.linspace(0, 1, 41)[1:]:
        q = equilibrium(model, q, t=share)
    assert np.abs(model.pose(f"node_{n}", q).position).max() < 1e-9
    across = model.pose(f"node_{n // 2}", q).position
    assert across == pytest.approx([0, length / np.pi, 0], abs=1e-4)  # (2 pi / n)^4 / 1920 of it


def test_it_buckles_under_eulers_load() -> None:
    EI, length = 50.0, 2.0
    critical = np.pi**2 * EI / (4 * length**2)

    def lowest(n: int, share: float) -> float:
        model = cantilever(n, length, EA=1e8, tip=da.Load(force=(-share * critical, 0, 0)))
        q = equilibrium(model, model.initial_state().q)
        slopes = model.d_dynamics(0.0, q, np.zeros(model.nv), np.zeros(0)).a[0]
        return float(np.linalg.eigvals(-slopes).real.min())

    assert lowest(8, 0.999) > 0 > lowest(8, 1.001)
    assert lowest(1, 1.0) > 0 > lowest(1, 1.01)  # one beam alone: 0.75 % too strong, as its cubic is


def test_it_vibrates_as_a_continuous_beam() -> None:
    """With lumped masses the error falls with the square of their spacing."""
    EI, length, line = 50.0, 2.0, 3.0
    exact = np.array([1.8751041, 4.6940911, 7.8547574]) ** 2 * np.sqrt(EI / (line * length**4))
    errors = []
    for n in (10, 20):
        model = cantilever(n, length, line=line)
        found = frequencies(model, model.initial_state().q)
        assert found[1:6:2] == pytest.approx(found[:6:2], rel=1e-6)  # both planes alike
        errors.append(found[:6:2] / exact - 1)
    assert np.abs(errors[1]).max() < 7e-3 and abs(errors[1][0]) < 1.3e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(np.full(3, 2.0), abs=0.05)


@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_a_tumbling_beam_keeps_momentum_and_account(damping: float) -> None:
    element = da.BeamElement(L, axial=EA, bending=(EIY, EIZ), torsion=GJ, shear=SHEAR, damping=damping)
    s = da.System("tumbling", gravity=(0, 0, 0))
    for name, x in (("one", 0.0), ("two", L)):
        s.connect(f"free_{name}", da.Free(), s.ground.at(x, 0, 0), s.body(name, da.box(0.1, 0.2, 0.3, mass=1.0)))
    s.connect("beam", element, s["one"], s["two"])
    s.initial("free_one", speed=(0.3, 2.0, -1.0, 0.2, 0.5, -0.3))
    s.initial("free_two", speed=(-0.4, 1.0, 1.5, 0, -0.5, 0.8))
    result = da.simulate(s, 3.0)
    assert abs(result["energy.balance"]).max() < 1e-6
    assert (result["energy.dissipated"][-1] > 0.1) == (damping > 0)
    for name in ("momentum.linear", "momentum.angular"):
        assert abs(result[name] - result[name][0]).max() < 1e-7


def test_a_bar_vibrates_with_its_stiffness_and_holds_its_preload() -> None:
    s = da.System("bar", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    s.connect("bar", da.ElasticBar(300.0, 1.5, preload=4.0, damping=0.6), s.ground, block)
    s.connect("pull", da.Effort(4.0), "slide")
    s.initial("slide", position=1.6)
    result = da.simulate(s, 2.0)
    k, c = 300.0 / 1.5, 0.6 / 1.5
    decay, w = c / 4.0, np.sqrt(k / 2 - (c / 4.0) ** 2)
    exact = 1.5 + 0.1 * np.exp(-decay * result.t) * (np.cos(w * result.t) + decay / w * np.sin(w * result.t))
    assert result["slide.position"] == pytest.approx(exact, abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-7
    assert da.check_element(da.ElasticBar(300.0, 1.5, preload=4.0, damping=0.6)).success


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda: da.BeamElement(0, axial=1, bending=1), "length"),
        (lambda: da.BeamElement(1, axial=0, bending=1), "EA"),
        (lambda: da.BeamElement(1, axial=1, bending=(1, 2, 3)), "bending"),
        (lambda: da.BeamElement(1, axial=1, bending=-1), "EIy"),
        (lambda: da.BeamElement(1, axial=1, bending=1, shear=0), "shear"),
        (lambda: da.BeamElement(1, axial=1, bending=1, damping=-1), "damping"),
        (lambda: da.ElasticBar(0, 1), "stiffness"),
        (lambda: da.ElasticBar(1, 0), "length"),
    ],
)
def test_bad_numbers_are_named(make: Callable[[], da.Element], field: str) -> None:
    with pytest.raises(da.ModelError, match=field):
        make()
