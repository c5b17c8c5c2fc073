"""Shared parts of simulations by other engines: a run that can be timed, and the state it ends in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from dalembert.bodies.markers import Marker
from dalembert.connections.joints import Revolute
from dalembert.system import System

from .links import Array, Link

__all__ = ["Motion", "Simulator", "closing_points", "in_link", "simulators"]

# the package it needs, the module here, the class and what it is made with
_SIMULATORS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("pinocchio", "motion_pinocchio", "PinocchioScipy", ("DOP853",)),
    ("pinocchio", "motion_pinocchio", "PinocchioScipy", ("LSODA",)),
    ("pinocchio", "motion_pinocchio", "PinocchioScipy", ("Radau",)),
    ("pinocchio", "motion_pinocchio", "PinocchioRK4", ()),
    ("mujoco", "motion_mujoco", "MujocoMotion", ()),
    ("exudyn", "motion_exudyn", "ExudynMotion", ()),
    ("pydrake", "motion_drake", "DrakeMotion", ()),
)


@dataclass(frozen=True, eq=False)
class Motion:
    """One engine's run of a problem with one setting, ready to be timed.

    Attributes
    ----------
    setting : str
    run : callable
        From the start to the end; may be called again and again.
    state : callable
        Returns q and v at the end of the last run, in dalembert's coordinates.
    """

    setting: str
    run: Callable[[], object]
    state: Callable[[], tuple[Array, Array]]


class Simulator(Protocol):
    """One engine with one family of methods."""

    name: str

    def motions(self, problem: Any) -> Iterator[Motion]:
        """Return runs of a problem from coarse to fine; none if the engine cannot do it."""


def simulators() -> list[Simulator]:
    """Return those whose packages are installed."""
    return [
        getattr(import_module(f".{module}", __package__), name)(*arguments)
        for package, module, name, arguments in _SIMULATORS
        if find_spec(package)
    ]


def in_link(links: tuple[Link, ...], marker: Marker) -> tuple[int, Array]:
    """Return the link (0 is ground) that carries a marker, and the marker's place in its frame, (3,) m."""
    for number, link in enumerate(links, start=1):
        if link.name == marker.body.name:
            return number, link.body_p + link.body_R @ marker.position
    return 0, np.array(marker.position)


def closing_points(
    system: System, links: tuple[Link, ...], *, planar: bool
) -> list[tuple[tuple[int, Array], tuple[int, Array]]]:
    """Return pairs of points (link, place) that coincide when the loops are closed.

    One for a revolute of a planar mechanism; two on the axis, 1 m apart, in space.
    """
    pairs = []
    for loop_constraint in system.forest().loop_constraints:
        element = loop_constraint.element
        if not isinstance(element, Revolute):
            raise ValueError(f"connection {loop_constraint.name!r}: only revolutes are closed by points")
        for offset in (np.zeros(3),) if planar else (np.zeros(3), np.asarray(element.axis, dtype=float)):
            pairs.append(
                tuple(
                    in_link(links, end.body.at(*(end.position + end.rotation @ offset)))
                    for end in (loop_constraint.first, loop_constraint.second)
                )
            )
    return pairs
