"""Circuit, branch and order defects of a linkage that passes prescribed positions.

Positions may lie on different circuits, which requires disassembly in between. They may lie on different branches,
separated by dead points of the input. They may be passed in another order (Chase and Mirth 1993; McCarthy and Soh
2010, section 5.8).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...errors import DalembertError
from ...model import Model
from ...motion import Circuit, circuits

__all__ = ["find_defects"]


def find_defects(model: Model, q: Array, drive: str | None) -> tuple[str, ...]:
    """Return messages on the defects that prevent passing positions q (N, nq) in order.

    Parameters
    ----------
    drive : str or None
        The driven coordinate; if None, branch defects are not checked.
    """
    if not model.nc:
        return ()
    try:
        every = circuits(model, drive, state=q[0])
    except DalembertError as error:
        return (f"circuits could not be followed: {error}",)
    homes = [every.of(one) for one in q]
    if len(set(homes)) > 1 or None in homes:
        groups = {home: [j for j, other in enumerate(homes) if other == home] for home in dict.fromkeys(homes)}
        listed = "; ".join(f"{', '.join(map(str, group))} together" for group in groups.values())
        return (f"circuit: positions lie on {len(groups)} circuits ({listed})",)
    home = homes[0]
    assert home is not None
    return _along(every[home], q, drive)


def _along(circuit: Circuit, q: Array, drive: str | None) -> tuple[str, ...]:
    places = [circuit.place(one) for one in q]
    if any(place is None for place in places) or len({place[0] for place in places if place}) > 1:
        return ("order: positions lie on different branches of a circuit, which meet at a bifurcation",)
    way = next(place[0] for place in places if place)
    path = circuit.paths[way]
    s = np.array([place[1] for place in places if place])
    whole = float(path.s[-1] - path.s[0])
    found = []
    if drive is not None:
        dead = np.sort([p.s for p in circuit.dead_points.get(drive, ()) if p.path == way])
        branch = np.searchsorted(dead, s)
        if path.closed and len(dead):
            branch = branch % len(dead)  # the branch after the last dead point is the one before the first
        if len(set(branch.tolist())) > 1:
            found.append(f"branch: {drive!r} passes dead points between positions")
    steps = np.diff(s)
    if path.closed:
        forward = np.mod(np.append(steps, s[0] - s[-1]), whole).sum() < 1.5 * whole
        backward = np.mod(-np.append(steps, s[0] - s[-1]), whole).sum() < 1.5 * whole
    else:
        forward, backward = bool((steps >= 0).all()), bool((steps <= 0).all())
    if not (forward or backward):
        passed = ", ".join(map(str, np.argsort(s)))
        found.append(f"order: positions are passed in the order {passed}")
    return tuple(found)
