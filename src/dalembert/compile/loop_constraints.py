"""Rows of the core for loop constraints, and their elimination order."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, BoolArray
from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.geometric import Constraint
from ..connections.constraints.ropes import Rope
from ..connections.joints import Joint
from ..system.topology import Forest
from .frames import FrameMap, row_axes
from .names import Names, holds_of, rows_of
from .program_tables import ConnectionProgramTables
from .schema import Rows, number

__all__ = ["characteristic_lengths", "flatten_loop_constraints", "loop_constraint_order", "nonredundant_rows", "scales"]


def flatten_loop_constraints(
    forest: Forest, frames: FrameMap, joints: ConnectionProgramTables, names: Names
) -> dict[str, NDArray[Any]]:
    """Return the tables of loop constraints, couplings last, of coupled coordinates, and of curves."""
    rows, curves, pieces = Rows("loop_constraints"), Rows("curves"), Rows("curve_pieces")
    for loop_constraint in forest.loop_constraints:
        element = loop_constraint.element
        curve = element.table() if isinstance(element, Constraint) else None
        if curve is not None:
            curves.add(first=len(pieces), count=len(curve.coefficients), degree=curve.degree, closed=curve.closed)
            for c, centre, radius in zip(curve.coefficients, *curve.spheres(), strict=True):
                pieces.add(c=c, centre=centre, radius=radius)
        rows.add(
            **frames.ends(loop_constraint.first, loop_constraint.second, row_axes(element)),
            R_FM=frames.place(loop_constraint.second)[1],
            **_kind(element),
            **joints.of_loop_constraint(loop_constraint.name, element),
            curve=len(curves) - 1 if curve is not None else -1,
            rows=len(rows_of(loop_constraint)),
            held=bool(holds_of(loop_constraint)),
        )
    coupled = Rows("coupling_terms")
    for coupling in forest.couplings:
        law = coupling.element
        fields: dict[str, Any] = {"form": number("loop_constraint_form", "coupling"), "curve": -1, "rows": 1}
        if isinstance(law, CustomCoupling):
            k = rows.add(**fields, **joints.of_loop_constraint(coupling.name, law))
            factors = (1.0,) * len(coupling.joint_coordinates)
        else:
            k = rows.add(**fields, parameter=law.offset, program=-1)
            factors = (-law.ratio, 1.0)
        for (joint, part), factor in zip(coupling.joint_coordinates, factors, strict=True):
            if factor:
                coupled.add(factor=factor, loop_constraint=k, dof=names.v[joint.name].start + part)
    return {
        "loop_constraints": rows.array(),
        "coupling_terms": coupled.array(),
        "curves": curves.array(),
        "curve_pieces": pieces.array(),
    }


def _kind(element: Joint | Constraint) -> dict[str, Any]:
    """Return the fields for the kind of a loop constraint."""
    if isinstance(element, Joint):
        sizes = {"nq": element.nq, "nv": element.nv}
        if not element.kernel:
            return {"form": number("loop_constraint_form", "chain"), "parameter": element.length, **sizes}
        kind, form = _core.joints[element.kernel, False], number("loop_constraint_form", "joint")
        return {"form": form, "kind": kind, "parameter": element.parameter, "kept": element.loop_row_mask, **sizes}
    kind = 0
    if element.form == "joint":
        kind = _core.joints[element.kernel, False]
    elif element.form == "constraint":
        kind = _core.constraints[element.kernel]
    sizes = {"nq": 1, "nv": 1} if isinstance(element, Rope) else {}
    return {"form": number("loop_constraint_form", element.form), "kind": kind, "parameter": element.parameter, **sizes}


# ---- selection and order of rows


def nonredundant_rows(pivots: Array, names: Names) -> BoolArray:
    """Return the mask (nc,) of rows that are not redundant within their loop constraint everywhere.

    A planar loop of spatial joints has three such rows. They depend on the others in every configuration, closed or
    not, so a few random configurations are sufficient. Only redundancy within one loop is detected here; redundancy
    between several loops is found at each evaluation.

    Parameters
    ----------
    pivots : (k, nc)
        Result of ``_row_pivots`` at k random configurations.
    """
    starts = np.cumsum([0] + [len(rows_of(c)) for c in names.closures])
    kept = pivots > 0.0
    independent = np.zeros(len(names.rows), dtype=bool)
    for start, stop in pairwise(starts):  # for each loop constraint, the rows of the sample that found the most
        independent[start:stop] = max((sample[start:stop] for sample in kept), key=np.count_nonzero)
    return independent


def loop_constraint_order(forest: Forest) -> NDArray[np.int32]:
    """Return the loop constraints ordered so that those sharing a tree are adjacent."""
    ends = [{c.first.body.name, c.second.body.name} for c in forest.loop_constraints]
    ends += [{m.body.name for h in c.joints for m in (h.first, h.second)} for c in forest.couplings]
    count = len(ends)
    natural = np.arange(count, dtype=np.int32)
    trees: dict[int, list[int]] = {}
    for k, names in enumerate(ends):
        for root in {forest.path(name)[-1] for name in names if forest.number[name]}:
            trees.setdefault(root, []).append(k)
    # few loop constraints, or all of them on one tree: any order is equally good
    if count < 3 or max(map(len, trees.values()), default=0) > max(8, count // 2):
        return natural
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pairs = np.array([(a, b) for members in trees.values() for a in members for b in members])
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()
    return reverse_cuthill_mckee(graph, symmetric_mode=True)


# ---- scaling of lengths and angles


def scales(forest: Forest, names: Names) -> dict[str, Array]:
    """Return scale factors of rows and velocities: 1 / L for rows in metres, L for velocities in m/s."""
    length = characteristic_lengths(forest)[0]
    rows = np.where(np.array(names.row_units, dtype=str) == "m", 1.0 / length, 1.0)
    columns = np.ones(len(names.speeds))
    for joint in forest.joints:
        columns[names.v[joint.name]] = [length if unit == "m" else 1.0 for unit in joint.element.speed_units]
    for name in names.flexible:  # one unit: the largest displacement is the length, or the largest slope 1 rad
        flexible = forest.system.bodies[name].flexible
        assert flexible is not None
        most = np.abs(flexible.shapes).max(0) / np.repeat([1.0, length], 3)[:, None]
        columns[names.v[name]] = 1.0 / most.max(0)
    return {"length": np.array([length]), "row_scale": rows.reshape(-1), "column_scale": columns}


def characteristic_lengths(forest: Forest) -> tuple[float, float]:
    """Return the characteristic length and the largest marker distance from a body's origin, m.

    The first is the mean over the bodies of the distance between the markers of a body at which it is connected.
    """
    system = forest.system
    markers: dict[str, list[Array]] = {}
    for connection in system.connections.values():
        for end in (connection.first, connection.second):
            markers.setdefault(end.body.name, []).append(end.position)
        element, first = connection.element, connection.first
        if isinstance(element, Constraint) and (curve := element.table()) is not None:
            axes = first.rotation @ element.frames()[0]  # a curve is part of the first body
            markers[first.body.name] += [first.position + axes @ x for x in curve.box()]
    spreads, reach = [], 0.0
    for points in markers.values():
        # a body with very many markers: the extent of their box is sufficient
        if len(points) > 30:
            spreads.append(math.hypot(*np.ptp(points, axis=0)))
        else:
            spreads.append(max((math.hypot(*(a - b)) for a, b in combinations(points, 2)), default=0.0))
        reach = max(reach, float(np.abs(points).max()))
    spreads = [s for s in spreads if s > 0.0]
    if spreads:
        return float(np.mean(spreads)), reach
    # all connected at single points: the bodies' own size, from their radii of gyration
    radii = [float(np.sqrt(np.trace(body.inertia) / (2 * body.mass))) for body in system.bodies.values() if body.mass]
    size = max(radii, default=0.0)
    return (size if size > 0.0 else 1.0), reach
