"""Chains and trees of equal links, of any length, for benchmarks and examples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from numpy.typing import ArrayLike

from ..bodies.shapes import Shape, rod
from ..checks import checked, finite_number, one_of, whole_number
from ..connections.joints import Free, Joint, Revolute, Spherical, Universal
from ..errors import ModelError
from ..rotation import axis_angle
from ..system import System

__all__ = ["binary_tree", "chain"]

# radius of a link as a fraction of its length: slim, but with inertia about every axis
WIDTH_RATIO = 0.05  # width of a link divided by its length


@checked("n", "axes", "floating", "joints")
def chain(
    n: int,
    *,
    axes: str | Sequence[str | ArrayLike] = "zyx",
    length: float = 0.3,
    mass: float = 1.0,
    floating: bool = False,
    joints: str = "pin",
) -> System:
    """Return a chain of `n` equal links, each jointed to the tip of the previous one.

    Links are solid rods along their x-axis, with the joint at their origin. Bodies are named
    ``"link_1"`` ... and joints ``"joint_1"`` ..., the latter by the link they carry.

    Parameters
    ----------
    n : int
        Number of links.
    axes : str or sequence of axes
        Directions of the joint axes, in link axes, repeated along the chain. The default turns
        about z, y, x, z, ... so that the chain moves in space; ``"y"`` gives a planar one.
    length, mass : float, m and kg
        Of one link.
    floating : bool
        If true, the first link is free instead of jointed to ground: 6 + n - 1 degrees of freedom.
    joints : str
        ``"pin"``, joints about `axes`; ``"ball"``, for cables, tethers and limbs: `axes` are then of no use; or
        ``"universal"``, about y and z of the links, so that none can spin by itself.

    Raises
    ------
    ModelError
        If `n` is not a positive whole number, `axes` is empty or unknown, or `joints` are none of these.

    Examples
    --------
    >>> from dalembert.library import chain
    >>> chain(7)
    <System 'chain of 7': 7 bodies, 7 connections>
    >>> chain(7, joints="ball").compile().nv
    21
    """
    n = whole_number(n, item="chain", field="n")
    one_of("chain", "joints", joints, ("pin", "ball", "universal"))
    system = System(f"{'floating ' if floating else ''}chain of {n}")
    shape = _link(length, mass)
    elements = _joints("chain", axes) if joints == "pin" else [Spherical() if joints == "ball" else Universal("y", "z")]
    tip = system.ground.origin
    for k in range(1, n + 1):
        link = system.body(f"link_{k}", shape)
        element = Free() if floating and k == 1 else elements[(k - 1) % len(elements)]
        system.connect(f"joint_{k}", element, tip, link)
        tip = link.at(shape.size["length"], 0.0, 0.0)
    return system


@checked("n", "axes")
def binary_tree(
    n: int,
    *,
    axes: str | Sequence[str | ArrayLike] = "zyx",
    length: float = 0.3,
    mass: float = 1.0,
    fork: float = math.pi / 4,
) -> System:
    """Return a tree of `n` equal links in which every link carries two others.

    Link k hangs on link k // 2, the first on ground; ``n = 2**d - 1`` fills d levels. The joint
    axes change from level to level. Links and names are those of `chain`.

    Parameters
    ----------
    n : int
        Number of links.
    axes : str or sequence of axes
        Directions of the joint axes, one for each level, repeated.
    length, mass : float, m and kg
        Of one link.
    fork : float, rad
        Angle, in the reference placement, between a link and each of the two it carries: to the
        left for even k, to the right for odd k.

    Raises
    ------
    ModelError
        If `n` is not a positive whole number, or `axes` is empty or unknown.

    Examples
    --------
    >>> from dalembert.library import binary_tree
    >>> binary_tree(127)
    <System 'binary tree of 127': 127 bodies, 127 connections>
    """
    n = whole_number(n, item="binary_tree", field="n")
    system = System(f"binary tree of {n}")
    shape = _link(length, mass)
    joints = _joints("binary_tree", axes)
    turns = (axis_angle("z", fork), axis_angle("z", -fork))
    links = [system.ground]
    for k in range(1, n + 1):
        link = system.body(f"link_{k}", shape)
        parent = links[k // 2]
        tip = parent.origin if k == 1 else parent.at(shape.size["length"], 0.0, 0.0, rotation=turns[k % 2])
        level = k.bit_length() - 1
        system.connect(f"joint_{k}", joints[level % len(joints)], tip, link)
        links.append(link)
    return system


def _link(length: float, mass: float) -> Shape:
    length = finite_number(length, item="link", field="length")
    return rod(length, mass, radius=WIDTH_RATIO * length)


def _joints(item: str, axes: str | Sequence[str | ArrayLike]) -> list[Joint]:
    if len(axes) == 0:
        raise ModelError(item, "axes", axes, "give at least one axis, such as 'y' or 'zyx'")
    return [Revolute(axis) for axis in axes]
