"""Interface of a peer: results in dalembert's coordinates, and bare calls to be timed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from dalembert.system import System

from .coordinates import Coordinates
from .links import Array, Link, links_of

__all__ = ["Call", "Kernels", "Peer"]

Call = Callable[[], object]
Kernels = dict[str, dict[str, Call]]
"""For each kernel the ways in which the engine can compute it, by the names of its functions."""


class Peer(ABC):
    """One engine's model of a system.

    The methods named after kernels take and return dalembert's coordinates; they are for
    comparison and are not fast. `calls` and `batch_calls` return closures that do what a user of
    that engine would do, on data already in its own coordinates; where there are several ways to do
    it, all of them, so that the engine can be judged by its fastest.

    Attributes
    ----------
    name, version : str
    links : tuple of Link
    coordinates : Coordinates
    """

    name: str
    version: str
    coordinates: Coordinates

    def __init__(self, system: System, *, loops: bool = False) -> None:
        self.links: tuple[Link, ...] = links_of(system, loops=loops)

    @abstractmethod
    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations (nv,)."""

    @abstractmethod
    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Return the generalised forces (nv,)."""

    @abstractmethod
    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (nv, nv)."""

    @abstractmethod
    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        """Return kinetic and potential energy, J; potential zero at the world's origin."""

    @abstractmethod
    def poses(self, q: Array) -> tuple[Array, Array]:
        """Return rotations (nb, 3, 3) and positions (nb, 3) m of dalembert's body frames in the world."""

    @abstractmethod
    def jacobian(self, body: int, q: Array) -> Array:
        """Return the Jacobian (6, nv), [angular; linear], of the origin of body frame `body` (from 0), world axes."""

    @abstractmethod
    def calls(self, q: Array, v: Array, tau: Array, a: Array) -> Kernels:
        """Return the kernels as bare calls at one state; ``q`` and so on in dalembert's coordinates.

        Kernels: ``"forward"``, ``"inverse"``, ``"mass"`` in the engine's own format, ``"mass, dense"``
        where that differs, ``"derivatives"`` of forward dynamics.
        """

    def batch_calls(self, q: Array, v: Array, tau: Array, a: Array, threads: int) -> Kernels:
        """Return the kernels as bare calls on a batch of states (B, n), for those that have one."""
        return {}
