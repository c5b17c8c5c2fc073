"""Springs with laws of their own against closed forms; the stiffness of a bushing keeps energy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as da


def slider(element: da.Element, *, position: float, speed: float = 0.0, mass: float = 1.0) -> da.System:
    """Return a block on a slide along x, from ground at the origin, with an element at the slide or along it."""
    s = da.System("slider", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=mass))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    if element.at_joint:
        s.connect("spring", element, "slide")
    else:
        s.connect("spring", element, s.ground, block)
    s.initial("slide", position=position, speed=speed)
    return s


def acceleration(element: da.Element, position: float, speed: float = 0.0) -> float:
    model = slider(element, position=position, speed=speed).compile()
    return float(model.dynamics(0.0, [position], [speed]).a[0])


def stored(element: da.Element, position: float) -> float:
    model = slider(element, position=position).compile()
    return float(model.force_energy(0.0, [position], [0.0]).stored)


SPRINGS: list[tuple[da.Element, float, Callable[[float], float]]] = [
    (
        da.NonlinearSpring((3.0, -2.0, 5.0), rest=0.2, preload=1.5),
        0.7,
        lambda s: -(1.5 + 3 * (s - 0.2) - 2 * (s - 0.2) ** 2 + 5 * (s - 0.2) ** 3),
    ),
    (
        da.NonlinearSpring(
            "k*sinh(u/a)", energy="k*a*cosh(u/a)", parameters={"k": 2.0, "a": 0.4}, rest=0.1, measure="distance"
        ),
        0.7,
        lambda s: -2 * np.sinh((s - 0.1) / 0.4),
    ),
    (da.Cable(50.0, 0.5), 0.7, lambda s: -50 * max(s - 0.5, 0)),
    (da.Cable(50.0, 0.5, toe=0.1), 0.7, lambda s: -50 * (max(s - 0.5, 0) ** 2 / 0.2 if s < 0.6 else s - 0.55)),
    (da.Cable(50.0, -0.5, toe=0.4, measure="joint"), -0.3, lambda s: -50 * max(s + 0.5, 0) ** 2 / 0.8),
    (
        da.Ligament(50.0, 0.5),
        0.51,
        lambda s: -50 * (max(s / 0.5 - 1, 0) ** 2 / 0.12 if s < 0.53 else s / 0.5 - 1.03),
    ),
    (da.BumpStop(30.0, 0.9, exponent=1.7), 0.6, lambda s: 30 * max(0.9 - s, 0) ** 1.7),
    (da.GasSpring(3e5, 1e-3, 5e-4, rest=0.4), 0.3, lambda s: 1e-3 * (3e5 * (1 + 2 * (s - 0.4)) ** -1.4 - 101325)),
    (
        da.GasSpring(3e5, 1e-3, 5e-4, exponent=1.0, outside=0.0, rest=0.4),
        0.5,
        lambda s: 300 / (1 + 2 * (s - 0.4)),
    ),
]


@pytest.mark.parametrize("element, place, force", SPRINGS, ids=lambda x: getattr(x, "kind", ""))
def test_forces_are_those_of_the_formulas_and_energies_their_integrals(
    element: da.Element, place: float, force: Callable[[float], float]
) -> None:
    assert acceleration(element, place) == pytest.approx(force(place), rel=1e-12, abs=1e-12)
    low, high = place - 0.1, place + 0.15
    work = quad(force, low, high, points=(0.5, 0.53, 0.6), epsabs=1e-13)[0]
    assert stored(element, high) - stored(element, low) == pytest.approx(-work, rel=1e-9)


@pytest.mark.parametrize("element, place, force", SPRINGS, ids=lambda x: getattr(x, "kind", ""))
@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_energy_is_kept(element: da.Element, place: float, force: Callable[[float], float], method: str) -> None:
    result = da.simulate(slider(element, position=place, speed=0.05), 0.5, method=method)
    assert abs(result["energy.total"] - result["energy.total"][0]).max() < 1e-6
    assert abs(result["energy.balance"]).max() < 1e-6


def test_one_sided_elements_let_go() -> None:
    assert acceleration(da.Cable(50.0, 0.5, damping=3.0), 0.4, 5.0) == 0
    assert acceleration(da.Cable(50.0, 0.5, damping=3.0), 0.51, -5.0) == 0
    assert acceleration(da.Cable(50.0, 0.5, damping=3.0), 0.51, 1.0) == pytest.approx(-3.5)
    assert acceleration(da.BumpStop(50.0, 0.5, damping=3.0), 0.6, -5.0) == 0
    assert acceleration(da.BumpStop(50.0, 0.5, damping=3.0), 0.49, 5.0) == 0
    assert acceleration(da.BumpStop(50.0, 0.5, damping=3.0), 0.49, -1.0) == pytest.approx(3.5)


@pytest.mark.parametrize(
    "element", [da.Cable(500.0, 0.5, toe=0.02, damping=3.0), da.BumpStop(500.0, 0.55, exponent=1.5, damping=3.0)]
)
def test_damping_of_one_sided_elements_is_accounted(element: da.Element) -> None:
    result = da.simulate(slider(element, position=0.52, speed=0.3), 0.4)
    assert result["energy.dissipated"][-1] > 1e-3
    assert abs(result["energy.balance"]).max() < 1e-6


def test_gas_spring_swings_with_the_polytropic_frequency() -> None:
    pressure, area, volume, mass = 4e5, 2e-3, 1e-3, 5.0
    element = da.GasSpring(pressure, area, volume, exponent=1.3, outside=pressure, rest=0.5)
    frequency = np.sqrt(1.3 * pressure * area**2 / volume / mass)
    amplitude = 1e-5
    t = np.linspace(0, 2 * np.pi / frequency, 40)
    result = da.simulate(slider(element, position=0.5 + amplitude, mass=mass), t[-1], times=t, atol=1e-13)
    assert result["slide"] - 0.5 == pytest.approx(amplitude * np.cos(frequency * t), abs=1e-3 * amplitude)


def semidefinite(seed: int) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(6, 6))
    matrix: np.ndarray = root @ root.T
    return matrix


def bushed(element: da.Bushing, rotation: np.ndarray, place: tuple[float, float, float]) -> da.System:
    """Return a free body and a moving carrier with a bushing between two markers on them."""
    s = da.System("bushed", gravity=(0, 0, 0))
    carrier = s.body("carrier", mass=2.0, inertia=(0.5, 0.6, 0.7))
    block = s.body("block", mass=1.0, inertia=(0.3, 0.2, 0.4))
    s.connect("turn", da.Revolute((1, 2, 3)), s.ground, carrier)
    s.connect("free", da.Free(), s.ground, block)
    s.connect("bushing", element, carrier.at(0.1, -0.2, 0.3, rotation=da.bryant(0.1, 0.2, -0.3)), block.at(0.2, 0.1, 0))
    s.initial("turn", speed=0.4)
    s.initial("free", position=(*_quaternion(rotation), *place))
    return s


def _quaternion(rotation: np.ndarray) -> np.ndarray:
    from dalembert.rotation import quaternion_from_matrix

    return quaternion_from_matrix(rotation)


@pytest.mark.parametrize("seed", range(3))
def test_bushing_keeps_energy_in_large_rotations(seed: int) -> None:
    element = da.Bushing(semidefinite(seed))
    system = bushed(element, da.axis_angle((1, -1, 0.5), 1.6), (0.3, 0.1, -0.2))
    result = da.simulate(system, 2.0, rtol=1e-10, atol=1e-12)
    angle = np.linalg.norm(result["block.angular_velocity"], axis=-1)
    assert angle.max() > 0.5
    assert abs(result["energy.total"] - result["energy.total"][0]).max() < 1e-7


def test_account_of_a_bushing_closes_in_large_rotations() -> None:
    system = bushed(da.Bushing(semidefinite(0)), da.axis_angle((1, -1, 0.5), 1.6), (0.3, 0.1, -0.2))
    assert abs(da.simulate(system, 0.5)["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_law_of_a_bushing_is_its_formula(seed: int) -> None:
    """Diagonal matrices, entries missing or not: forces, energy, power, derivatives."""
    rng = np.random.default_rng(seed)
    numbers = [rng.uniform(1, 5, 6) * (rng.uniform(size=6) < 0.7) for _ in range(2)]
    by_core = da.Bushing(*numbers)
    assert by_core.core_law is not None
    formula = da.Element(
        "pose", by_core.force, by_core.parameters, energy=by_core.energy, definitions=by_core.definitions
    )
    q, v = np.array([0.3, *rng.normal(size=7)]), rng.normal(size=7)
    models = [bushed(each, np.eye(3), (0.3, 0.1, -0.2)).compile() for each in (by_core, formula)]  # type: ignore[arg-type]
    q = models[0].integrate(q, np.zeros(7))
    parts = ("a", "energies", "losses", "measures", "port_loads")
    ours, theirs = (model.report(parts, 0.0, q, v) for model in models)
    for name in parts:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-11, atol=1e-12)
    slopes = [model.d_dynamics(0.0, q, v).a for model in models]
    np.testing.assert_allclose(slopes[0].q, slopes[1].q, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(slopes[0].v, slopes[1].v, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 0.0999, 0.1001, 1.5, 3.0])
def test_moment_of_a_bushing_is_the_slope_of_its_energy(angle: float) -> None:
    matrix = semidefinite(7)
    s = da.System("one", gravity=(0, 0, 0))
    block = s.body("block", mass=1.0, inertia=(1, 1, 1))
    s.connect("free", da.Free(), s.ground, block)
    s.connect("bushing", da.Bushing(matrix), s.ground, block)
    model = s.compile()
    turn = da.axis_angle((1, 2, -1), angle)
    place = np.array([0.1, -0.3, 0.2])

    def energy(direction: np.ndarray, h: float) -> float:
        small = da.axis_angle(direction, h) @ turn
        return float(model.force_energy(0.0, [*_quaternion(small), *place], np.zeros(6)).stored)

    h = 1e-3
    slope = [(8 * (energy(n, h) - energy(n, -h)) - energy(n, 2 * h) + energy(n, -2 * h)) / (12 * h) for n in np.eye(3)]
    a = model.dynamics(0.0, [*_quaternion(turn), *place], np.zeros(6)).a
    assert turn @ a[:3] == pytest.approx(-np.array(slope), rel=1e-6, abs=1e-6)
    phi = angle * np.array([1, 2, -1]) / np.sqrt(6)
    assert turn @ a[3:] == pytest.approx(-(matrix[:3] @ [*place, *phi]), abs=1e-9)


def test_damping_of_a_bushing_is_accounted() -> None:
    element = da.Bushing([30.0, 30, 30, 2, 2, 2], 0.1 * semidefinite(5))
    result = da.simulate(bushed(element, da.axis_angle("z", 0.5), (0.3, 0.1, -0.2)), 2.0)
    assert result["energy.dissipated"][-1] > 0.1
    assert (np.diff(result["energy.dissipated"]) > -1e-9).all()
    assert abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda: da.NonlinearSpring("k*u", parameters={"k": 1.0}), "energy"),
        (lambda: da.NonlinearSpring("rest*u", energy="rest*u**2/2", parameters={"rest": 1.0}), "parameters"),
        (lambda: da.NonlinearSpring(()), "law"),
        (lambda: da.NonlinearSpring((1.0, np.nan)), "k2"),
        (lambda: da.NonlinearSpring((1.0,), damping=-1), "damping"),
        (lambda: da.NonlinearSpring((1.0,), measure="pose"), "measure"),
        (lambda: da.Cable(0.0, 1.0), "stiffness"),
        (lambda: da.Cable(1.0, 1.0, toe=-1), "toe"),
        (lambda: da.Ligament(1.0, 0.0), "length"),
        (lambda: da.BumpStop(1.0, 1.0, exponent=0.5), "exponent"),
        (lambda: da.GasSpring(1.0, 1.0, 0.0), "volume"),
        (lambda: da.Bushing([1, 2, 3]), "stiffness"),
        (lambda: da.Bushing(np.diag([1.0, 1, 1, 1, 1, -1])), "stiffness"),
        (lambda: da.Bushing(np.eye(6), np.triu(np.ones((6, 6)))), "damping"),
    ],
)
def test_bad_numbers_are_named(make: Callable[[], da.Element], field: str) -> None:
    with pytest.raises(da.ModelError, match=field):
        make()


OIL = {"area": 1e-3, "volume": 2e-4, "bulk_modulus": 1.2e9, "rest": 0.5}


@pytest.mark.parametrize("stiffening", [0.0, 1.0, 10.0])
def test_trapped_oil_follows_its_bulk_modulus(stiffening: float) -> None:
    """-V dp/dV is B + n (p - p0), whatever the pressure; no pull below the pressure of vapour."""
    element = da.HydraulicSpring(**OIL, stiffening=stiffening, pressure=5e5, vapour=2e3)
    s = np.array([0.49, 0.495, 0.5, 0.50005])

    def pressure(s: np.ndarray) -> np.ndarray:
        rows = [[0.0, each, 0.0, *element.parameters.values()] for each in s]
        return element.evaluate(rows)[:, 0] / 1e-3 + 101325.0

    assert pressure(s)[2] == pytest.approx(5e5)
    volume, h = 2e-4 + 1e-3 * (s - 0.5), 1e-6
    modulus = -volume * (pressure(s + h) - pressure(s - h)) / (2e-3 * h)
    assert modulus == pytest.approx(1.2e9 + stiffening * (pressure(s) - 5e5), rel=1e-6)
    assert pressure(np.array([0.501, 0.6])) == pytest.approx([2e3, 2e3])
    assert da.check_element(element, measure_amplitude=0.01, center={"s": 0.5}).success


def test_a_mass_on_trapped_oil_vibrates_and_cavitates() -> None:
    def run(speed: float, damping: float) -> da.Result:
        s = da.System("press", gravity=(0, 0, 0))
        block = s.body("block", da.box(0.1, 0.1, 0.1, mass=50.0))
        s.connect("slide", da.Prismatic("x"), s.ground, block)
        s.connect("oil", da.HydraulicSpring(**OIL, stiffening=8.0, pressure=5e6, damping=damping), s.ground, block)
        s.connect("weight", da.Effort(-1e-3 * (5e6 - 101325)), "slide")
        s.initial("slide", position=0.5, speed=speed)
        return da.simulate(s, 0.05, rtol=1e-10)

    gentle = run(-1e-3, 0.0)
    w = np.sqrt(1.2e9 * 1e-6 / 2e-4 / 50.0)
    assert gentle["slide.position"] == pytest.approx(0.5 - 1e-3 / w * np.sin(w * gentle.t), abs=2e-9)
    hard = run(-1.0, 100.0)
    cavity = hard["slide.position"] > 0.5005  # no pressure is left: the air outside pulls, and the damper
    assert cavity.any()
    assert hard["oil.force.x"][cavity] == pytest.approx(-101.325 - 100 * hard["slide.speed"][cavity], abs=1e-4)
    for result in (gentle, hard):
        assert abs(result["energy.balance"]).max() < 1e-6 * (1 + result["energy.kinetic"].max())
