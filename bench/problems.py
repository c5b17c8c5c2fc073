"""Motions with known ends: IFToMM A01 to A05, a double pendulum in space and a chain of 20 links.

A problem holds our description, from which every engine's model is built, and judges a final state: how far chosen
points are from where they must be, and what became of the energy. The references are those of the literature or of
independent computations, given to more digits than anyone here reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipj, ellipk

import dalembert as da
from dalembert.library import chain, windows
from dalembert.library.mechanisms import andrews, bricard, governor

__all__ = ["Problem", "problems"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class Problem:
    """A start, an end time and what must be found there.

    Attributes
    ----------
    name, title : str
    system : System
    t_end : float, s
    measure : function of (model, q, v)
        The numbers that are compared, all at t_end.
    reference : (n,)
        What they must be.
    work : function of (model, q), or None
        Work done by outside forces from q = 0, J, where there are any.
    conservative : bool
        Whether the energy is kept, but for that work.
    target : float
        The error that we want to be below.
    stiff : bool
    planar : bool
        All moves in the x-y plane.
    efforts : function of (q, v, tau), or None
        Writes what all force elements together do into tau, (nv,) each: for engines that must be told by their user.
    baumgarte : float, 1/s
        Gain that suits the time scale, for engines that hold loops in this way.
    """

    name: str
    title: str
    system: da.System
    t_end: float
    measure: Callable[[da.Model, Array, Array], Array]
    reference: Array
    work: Callable[[da.Model, Array], float] | None = None
    conservative: bool = True
    target: float = 1e-9
    stiff: bool = False
    planar: bool = False
    efforts: Callable[[Array, Array, Array], None] | None = None
    baumgarte: float = 20.0

    @cached_property
    def model(self) -> da.Model:
        """The compiled model."""
        return self.system.compile()

    @cached_property
    def start(self) -> da.State:
        """The state at t = 0, with all loops closed."""
        result = da.simulate(self.model, 1e-6 * self.t_end)
        return da.State(q=result.q[0].copy(), v=result.v[0].copy())

    def error(self, q: Array, v: Array) -> float:
        """Return the largest difference from the reference, relative where that exceeds 1."""
        difference = np.abs(self.measure(self.model, q, v) - self.reference)
        return float((difference / np.maximum(1.0, np.abs(self.reference))).max())

    def energy_error(self, q: Array, v: Array) -> float:
        """Return by how much the energy differs from that at the start and the work done since, J; NaN if it decays."""
        if not self.conservative:
            return math.nan
        change = self._energy(q, v) - self._energy(self.start.q, self.start.v)
        if self.work is not None:
            change -= self.work(self.model, q) - self.work(self.model, self.start.q)
        return abs(change)

    def _energy(self, q: Array, v: Array) -> float:
        stored = self.model.force_energy(0.0, q, v)[0]
        return float(self.model.energy(q, v).total) + float(np.sum(stored))


def problems() -> list[Problem]:
    """Return all problems."""
    coupled = [_windows(n) for n in (1, 10, 40)]
    return [_pendulum(), _double_pendulum(), _chain(20), *coupled, _andrews(), _bricard(), _governor()]


def _point(body: str, *place: float) -> Callable[[da.Model, Array, Array], Array]:
    def measure(model: da.Model, q: Array, v: Array) -> Array:
        marker = model.system.bodies[body].at(*place)
        return np.asarray(model.pose(marker, q).position)

    return measure


def _pendulum() -> Problem:
    """A01: exact by elliptic functions."""
    system = da.System("A01", gravity=(0.0, -9.81, 0.0))
    bob = system.body("bob", mass=1.0, com=(1.0, 0.0, 0.0), inertia=(1e-13, 1e-13, 1e-13))  # some engines refuse none
    system.connect("A", da.Revolute("z"), system.ground, bob)
    system.initial("A", position=-math.pi)
    reference = np.array([-0.275087462576116860, -0.961419205099125064, 0.0])
    return Problem("A01", "simple pendulum", system, 10.0, _point("bob", 1, 0, 0), reference, planar=True)


def _double_pendulum() -> Problem:
    """Two rods, the second turning about an axis across the first's."""
    system = chain(2, axes="yz", length=1.0)
    system.initial("joint_1", position=math.pi / 2 - 1.0)
    system.initial("joint_2", position=1.0)
    return Problem("double", "spatial double pendulum", system, 10.0, _point("link_2", 1, 0, 0), DOUBLE)


def _chain(n: int) -> Problem:
    """A hanging chain, tilted by 1 rad at the top and let go; longer or higher ones are chaotic within 10 s."""
    system = chain(n, axes="y")
    system.initial("joint_1", position=math.pi / 2 - 1.0)
    return Problem("chain20", "chain of 20 links", system, 10.0, _point(f"link_{n}", 0.3, 0, 0), CHAIN)


def _windows(n: int) -> Problem:
    """A02: exact one-degree of freedom motion, I th'' = G sin th with th from upright."""
    system = windows(n)
    for k in range(n + 1):
        system.initial(f"A{k}", speed=-1.0)
    for k in range(n):
        system.initial(f"B{k}", speed=1.0)
    inertia, moment = (n + 1) / 3 + n, ((n + 1) / 2 + n) * 9.81
    # from the hanging position phi = th - pi the pendulum turns over: sin(phi / 2) = sn(u, m), u = t sqrt(rate)
    speed = math.sqrt(1.0 + 4 * moment / inertia)  # at the bottom
    m = 4 * (moment / inertia) / speed**2
    u = 10.0 * speed / 2 - ellipk(m)  # upright at t = 0, half a turn before the bottom
    amplitude = float(ellipj(u, m)[3])
    angle = math.pi + 2 * amplitude
    reference = np.array([math.sin(angle), math.cos(angle), 0.0])
    return Problem(
        f"A02-{n}", f"{n} coupled four-bars", system, 10.0, _point("upright0", 0, 1, 0), reference, planar=True
    )


def _andrews() -> Problem:
    """A03 to 0.03 s: the seven angles, 20 digits by extrapolation in 113-bit arithmetic."""
    reference = {
        "O": 15.8107711951537070971,
        "F": -15.7563710584118394697,
        "B": 0.0408222401196458048583,
        "G": -0.534730116342079593770,
        "A5": 0.524409965879954069372,
        "H": 0.534730116342079593770,
        "A7": 1.04808074104193787307,
    }

    def angles(model: da.Model, q: Array, v: Array) -> Array:
        return np.array([q[model.q_slice(name)][0] for name in reference])

    def work(model: da.Model, q: Array) -> float:
        return 0.033 * float(q[model.q_slice("O")][0])

    system = andrews()
    model = system.compile()
    crank, arm = (model.v_slice(name).start for name in "OB")

    def efforts(q: Array, v: Array, tau: Array) -> None:
        c, s = math.cos(q[arm]), math.sin(q[arm])
        x, y = 0.02 * c + 0.018 * s, 0.02 * s - 0.018 * c  # from B to D
        dx, dy = x - 0.03635 - 0.014, y + 0.03273 - 0.072
        length = math.hypot(dx, dy)
        tau[crank] = 0.033
        tau[arm] = -4530.0 * (length - 0.07785) / length * (dy * x - dx * y)

    return Problem(
        "A03",
        "Andrews' squeezer",
        system,
        0.03,
        angles,
        np.array(list(reference.values())),
        work=work,
        target=1e-10,
        planar=True,
        efforts=efforts,
        baumgarte=2000.0,
    )


def _bricard() -> Problem:
    """A04: points P2 and P3, reduced coordinates at 2e-14."""
    reference = np.array(
        [0.999730987304, -0.999999963826, -0.000268976512, 0.999999963806, -1.000269012696, 0.999730951120]
    )

    def points(model: da.Model, q: Array, v: Array) -> Array:
        return np.concatenate([model.pose(model.system.bodies[f"rod {k}"], q).position for k in (3, 4)])

    return Problem("A04", "rectangular Bricard", bricard(), 10.0, points, reference, baumgarte=1.0)


def _governor() -> Problem:
    """A05: symmetric reduced model with the angular momentum conserved, Radau at 1e-12."""
    reference = np.array([0.619622917061, 0.390073701845, 5.548203622655])

    def numbers(model: da.Model, q: Array, v: Array) -> Array:
        height, tilt = q[model.q_slice("S")][0], q[model.q_slice("B1")][0]
        return np.array([height, tilt, v[model.v_slice("A")][0]])

    system = governor()
    model = system.compile()
    slide, *rods = (model.v_slice(name).start for name in ("S", "B1", "B2"))

    def efforts(q: Array, v: Array, tau: Array) -> None:
        tau[slide] = 0.0
        for rod in rods:
            c, s = 0.5 * math.cos(q[rod]), 0.5 * math.sin(q[rod])
            height = 1.0 - s - q[slide]
            length = math.hypot(c, height)
            by_rod, by_slide = -c * (1.0 - q[slide]) / length, -height / length
            tension = 8e5 * (length - 0.5) + 4e4 * (by_rod * v[rod] + by_slide * v[slide])
            tau[rod] = -tension * by_rod
            tau[slide] -= tension * by_slide

    return Problem(
        "A05",
        "stiff flyball governor",
        system,
        10.0,
        numbers,
        reference,
        conservative=False,
        target=1e-7,
        stiff=True,
        efforts=efforts,
    )


# tips at 10 s; Pinocchio's forward dynamics in SciPy's DOP853 at 1e-13 and ours at 1e-14 agree to the digits given
DOUBLE = np.array([1.039126760974, -0.486330197004, -1.559246205783])
CHAIN = np.array([-3.078409907063, 0.0, -4.725387667489])
