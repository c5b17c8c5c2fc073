"""Outputs of kinematic chains: inner coordinates and their rates (Sol 1983, section 7.2)."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...connections.connection import Connection
from ...connections.constraints.chains import KinematicChain
from .motion import Motion
from .output import Output, number

__all__ = ["inner_output", "inner_quantities"]


def inner_quantities(chain: KinematicChain) -> list[str]:
    """Return the suffixes of these outputs."""
    return [*chain.inner_names, *(f"{name}.rate" for name in chain.inner_names)]


def inner_output(loop_constraint: Connection, quantity: str, name: str) -> Output:
    """Return an inner coordinate or its rate; redundant ones have the least motion."""
    chain = loop_constraint.element
    assert isinstance(chain, KinematicChain)
    plain = quantity.removesuffix(".rate")
    column = chain.inner_names.index(plain)
    unit = chain.inner_units[column]
    if plain == quantity:
        meaning = f"inner coordinate {plain!r} of chain {loop_constraint.name!r}"
        return number(name, unit, meaning, lambda m: _follow_chain(m, loop_constraint, chain)[:, column].copy())

    def rate(m: Motion) -> Array:
        gammas = _follow_chain(m, loop_constraint, chain)
        R = m.pose(loop_constraint.first).rotation
        p = m.pose(loop_constraint.second).position - m.pose(loop_constraint.first).position
        (w_1, v_1), (w_2, v_2) = m.velocity(loop_constraint.first), m.velocity(loop_constraint.second)
        w, v = w_2 - w_1, v_2 - v_1 - np.cross(w_1, p)
        seen = np.concatenate([np.einsum("kji,kj->ki", R, w), np.einsum("kji,kj->ki", R, v)], axis=1)
        return np.array([chain.slopes(gamma)[0][column] @ each for gamma, each in zip(gammas, seen, strict=True)])

    meaning = f"rate of inner coordinate {plain!r} of chain {loop_constraint.name!r}"
    return number(name, f"{unit}/s", meaning, rate, "speed")


def _follow_chain(m: Motion, loop_constraint: Connection, chain: KinematicChain) -> Array:
    """Return the inner coordinates (n, k) of a motion, each found from the previous ones to stay on a branch."""
    first, second = m.pose(loop_constraint.first), m.pose(loop_constraint.second)
    found: list[Array] = []
    for A, a, B, b in zip(first.rotation, first.position, second.rotation, second.position, strict=True):
        R, p = A.T @ B, A.T @ (b - a)
        if found:
            gamma, miss = chain.programs.nearest(R, p, found[-1], chain.length)
            if miss < 1e-5 * (1.0 + chain.length):
                found.append(gamma)
                continue
        found.append(np.array(list(chain.inner(R, p).values())))
    return np.array(found).reshape(len(m), len(chain.inner_names))
