"""Special configurations of a mechanism: dead points, bifurcations, singularities of the driven motion."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..arrays import Array

__all__ = ["Bifurcation", "DeadPoint", "Singularity"]


@dataclass(frozen=True, eq=False)
class DeadPoint:
    """Dead point: a coordinate reverses although the mechanism moves on.

    Attributes
    ----------
    coordinate : str
    value : float, rad or m
    maximum : bool
        True for a local maximum, False for a minimum.
    q : (nq,) rad or m
    path : int
        Index of the path of the circuit.
    s : float
        Arclength on the path.
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
    """Bifurcation: paths of closed configurations meet.

    Attributes
    ----------
    q : (nq,) rad or m
    value : float, rad or m
        Of the input.
    mobility : int
        Independent motions there, to first order.
    paths : tuple of int
        The paths of the circuit that meet.
    directions : (k, nv)
        Tangents of closed configurations, scaled, of length 1; two for each path through the point.
    """

    q: Array = field(repr=False)
    value: float
    mobility: int
    paths: tuple[int, ...]
    directions: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Singularity:
    """Singularity of the driven motion.

    Attributes
    ----------
    kind : str
        ``"input"``: the input is at rest while the output moves, so the input cannot drive (its dead point; second kind
        of Gosselin and Angeles 1990). ``"output"``: the output is at rest while the input moves (first kind).
        ``"both"``: both are at rest, or paths meet (third kind).
    input, output : float, rad or m
    q : (nq,) rad or m
    """

    kind: str
    input: float
    output: float
    q: Array = field(repr=False)
