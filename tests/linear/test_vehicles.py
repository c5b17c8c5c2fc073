"""Linear motion of wheels that do not slip: the bicycle benchmark, and a caster's shimmy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as da
from dalembert.library import bicycle

# Meijaard, Papadopoulos, Ruina and Schwab 2007, section 5: M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 of lean and steer
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])


def published(v: float) -> np.ndarray:
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = -np.linalg.solve(M, 9.81 * K0 + v**2 * K2)
    A[2:, 2:] = -np.linalg.solve(M, v * C1)
    return np.sort_complex(np.linalg.eigvals(A))


@pytest.mark.parametrize("v", [1.0, 5.0, 9.0])
def test_a_bicycle_has_the_published_eigenvalues(v: float) -> None:
    lin = da.linearize(bicycle(v))
    assert lin.notes == ()
    assert (lin.space.ny, lin.space.nz) == (7, 3)
    found = lin.eigenvalues[abs(lin.eigenvalues) > 1e-3]
    # frames of the coordinates weigh 1e-11 of all
    assert_allclose(np.sort_complex(found), published(v), rtol=1e-6)


def test_a_bicycle_is_stable_between_two_speeds() -> None:
    locus = da.root_locus(bicycle, "speed", np.linspace(3.6, 7.0, 35))
    speeds = [at for at, _ in locus.crossings()]
    assert_allclose(speeds, [4.29238253634111, 6.02426201538837], rtol=1e-3)  # between values of the parameter
    assert locus.crossings()[0][1].imag > 3.0 and locus.crossings()[1][1].imag == 0.0


@pytest.mark.parametrize("v", [0.5, 3.0])
@pytest.mark.parametrize("b", [0.02, 0.07])
def test_a_caster_shimmies_unless_its_mass_trails_far_enough(v: float, b: float) -> None:
    """A wheel on a trailing arm whose kingpin yields sideways: J s^3 + m (a - b) v s^2 + a^2 k s + a k v = 0."""
    a, m, inertia, k = 0.1, 2.0, 0.003, 500.0
    s = da.System("caster", gravity=(0, 0, 0))
    car, pin = (s.body(name, mass=1e-10, inertia=(1e-12,) * 3) for name in ("car", "pin"))
    arm = s.body("arm", mass=m, com=(-b, 0, 0), inertia=(inertia,) * 3)
    s.connect("X", da.Prismatic("x"), s.ground, car)
    s.connect("Y", da.Prismatic("y"), car, pin)
    s.connect("Z", da.Revolute("z"), pin, arm)
    s.connect("wheel", da.constraints.KnifeEdge("y"), s.ground, arm.at(-a, 0, 0))
    s.connect("k", da.JointSpring(stiffness=k), "Y")
    s.drive("X", speed=v)
    lin = da.linearize(s)
    J = inertia + m * (a - b) ** 2
    exact = np.roots([J, m * (a - b) * v, a * a * k, a * k * v])
    found = lin.eigenvalues[abs(lin.eigenvalues) > 1e-6]
    assert_allclose(np.sort_complex(found), np.sort_complex(exact), rtol=1e-6)
    assert lin.stable == (m * (a - b) * b > inertia)
