"""Special configurations of a mechanism: dead points, bifurcations, singularities of the driven motion."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bifurcation", "DeadPoint", "Singularity"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DeadPoint:
    """Where a coordinate turns back although the mechanism moves on.

    Attributes
    ----------
    coordinate : str
    value : float, rad or m
    maximum : bool
        Whether it is the largest value around; else the smallest.
    q : (nq,) rad or m
    path : int
        On which way of the circuit.
    s : float
        Where on it, arclength.
    drive : tuple of str
        Coordinates that can be driven through here, the best first.
    """

    coordinate: str
    value: float
    maximum: bool
    q: Array = field(repr=False)
    path: int
    s: float
    drive: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Bifurcation:
    """Where ways of closed configurations meet.

    Attributes
    ----------
    q : (nq,) rad or m
    value : float, rad or m
        Of the input.
    mobility : int
        Independent motions there, to first order.
    paths : tuple of int
        The ways of the circuit that meet.
    directions : (k, nv)
        In which closed configurations leave, scaled, of length 1; two for each way that goes through.
    """

    q: Array = field(repr=False)
    value: float
    mobility: int
    paths: tuple[int, ...]
    directions: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Singularity:
    """Where the driven motion is singular.

    Attributes
    ----------
    kind : str
        ``"input"``: the input rests while the output moves, so the input cannot drive (a dead point of it; second kind
        of Gosselin and Angeles 1990). ``"output"``: the output rests while the input moves (first kind). ``"both"``:
        both rest, or ways meet (third kind).
    input, output : float, rad or m
    q : (nq,) rad or m
    """

    kind: str
    input: float
    output: float
    q: Array = field(repr=False)
