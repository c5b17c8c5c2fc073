"""Unique names for items of a file: a `System` has one namespace, most formats have several."""

from __future__ import annotations

from collections.abc import Iterable

from ..system import GROUND

__all__ = ["free_name", "unique_names"]


def unique_names(links: Iterable[str], joints: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of bodies and of connections, by the names of links and of joints.

    A joint that is named like a link gets ``"_joint"`` appended; ``ground`` is reserved.
    """
    taken = {GROUND, *links, *joints}
    link_names = {link: link for link in links}
    if GROUND in link_names:
        link_names[GROUND] = free_name(f"{GROUND}_link", taken)
    bodies = set(link_names.values())
    joint_names = {}
    for joint in joints:
        clash = joint == GROUND or joint in bodies
        joint_names[joint] = free_name(f"{joint}_joint", taken) if clash else joint
    return link_names, joint_names


def free_name(name: str, taken: set[str]) -> str:
    """Return `name`, with _2, _3, ... appended if it is taken, and reserve it."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
