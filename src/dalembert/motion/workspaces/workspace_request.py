"""Workspace of a point or platform from a system and a grid (see `reachable_workspace`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import checked, finite_array, finite_number, random_generator, shape_of
from ...closure.assembly import assemble
from ...closure.driven.prescribed_velocities import Prescribed
from ...closure.equations import RelativeEquations
from ...closure.scaled_equations import ScaledEquations, measures_of, named
from ...connections.connection import Connection
from ...errors import ModelError
from ...model import Model, as_model
from ...numerics.rank import null_space
from ...rotation import as_rotation_matrix, axis_angle, quaternion_from_matrix
from ...system import System
from ...system.lookup import endpoint
from .grid_sweep import WorkspaceSweep
from .reachable_workspace import Workspace

__all__ = ["workspace"]


_AXES = "xyz"


@checked("plane", "actuated", "limits", "seed")
def workspace(
    system: System | Model,
    target: str | Body | Marker,
    grid: Sequence[ArrayLike],
    *,
    rotation: Any = None,
    plane: str = "xy",
    actuated: str | Iterable[str] = (),
    limits: bool = True,
    characteristic_length: float | None = None,
    seed: np.random.Generator | int | None = None,
) -> Workspace:
    """Return the reachable poses of a body or point, with drives released.

    Parameters
    ----------
    system : System or Model
    target : str, Body or Marker
        ``"platform"``, ``"platform.P"``.
    grid : two or three sequences of m, ascending
        Positions of its origin in the world: along the axes of `plane`, or along x, y and z.
    rotation : float or any form of a rotation
        Its orientation in the world: an angle (rad) about the normal of `plane`, or as in `Body.at`. If left out, any
        orientation is allowed, and positions of a point are computed.
    plane : str
        ``"xy"``, ``"xz"``, ``"yz"``: plane of a grid with two axes; the third coordinate keeps its start value.
    actuated : name or names
        Coordinates of the actuators, for condition maps.
    limits : bool
        Keep joints within their stops (`lower`, `upper`).
    characteristic_length : float, m
        Length in which motions of the platform are measured for condition numbers; default that of the model.
    seed : numpy Generator or seed
        Generator or seed of the starts; default seed 0, so that results are reproducible.

    Returns
    -------
    Workspace

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("arm")
    >>> upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(0.5, 1.0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, upper)
    >>> _ = s.connect("B", da.Revolute("z"), upper.at(1.0, 0, 0), lower)
    >>> s.initial("B", position=1.0)
    >>> x = np.linspace(-2, 2, 41)
    >>> w = da.workspace(s, lower.at(0.5, 0, 0), (x, x))
    >>> bool(w.reachable[20, 20]), bool(w.reachable[30, 20]), int(w.ways[30, 20])
    (False, True, 2)
    """
    item = "workspace"
    axes, values = _grid(grid, plane)
    carried, marker, name = _led(as_model(system), target)
    model = carried.compile()
    equations = RelativeEquations(model, driven=False)
    closed = ScaledEquations(equations, clocks=Prescribed.of(model).clocks)
    q0 = assemble(model).q
    span, speeds = model.q_slice(name), model.v_slice(name)
    known = measures_of(equations)
    names = [actuated] if isinstance(actuated, str) else list(actuated)
    measures = [named(known, each, item=item, field="actuated") for each in names]
    stops = [m for m in known.values() if np.isfinite(m.lower) or np.isfinite(m.upper)] if limits else []
    held = np.zeros(model.nv, dtype=bool)
    held[speeds.start + 3 : speeds.stop] = True
    normal = ({0, 1, 2} - {_AXES.index(a) for a in axes}).pop() if len(axes) == 2 else None
    q0 = q0.copy()
    if rotation is not None:
        held[speeds] = True
        attitude = _attitude(rotation, normal)
        q0_pose = q0.copy()
        q0_pose[span.start : span.start + 4] = quaternion_from_matrix(attitude)
    else:
        q0_pose = q0
        if normal is not None:  # a planar motion rotates about the normal only
            tilts = [speeds.start + k for k in range(3) if k != normal]
            N = null_space(closed.jacobian(q0), free=closed.free)
            held[tilts] = np.abs(N[tilts]).max(initial=0.0) < 1e-9
    poses = np.tile(q0_pose, (int(np.prod([len(v) for v in values])), 1))
    for axis, column in zip(axes, np.meshgrid(*values, indexing="ij"), strict=True):
        poses[:, span.start + 4 + _AXES.index(axis)] = column.ravel()
    mobility = null_space(closed.jacobian(q0), free=closed.free).shape[1]
    columns = [speeds.start + 3 + _AXES.index(axis) for axis in axes]
    if rotation is not None:
        columns += [speeds.start + normal] if normal is not None else [speeds.start + k for k in range(3)]
    indices = np.arange(span.start if rotation is not None else span.start + 4, span.stop)
    random = random_generator(0 if seed is None else seed, item="workspace", field="seed")
    reach = WorkspaceSweep(closed, q0, held, indices, stops, random)
    solutions = reach.sweep(poses, tuple(len(v) for v in values))
    size = (
        model.length
        if characteristic_length is None
        else finite_number(characteristic_length, item=item, field="characteristic_length")
    )
    if size <= 0:
        raise ModelError(item, "characteristic_length", characteristic_length, "give a positive number")
    return Workspace(
        marker, axes, values, reach, solutions, poses, model, measures, np.array(columns, dtype=np.intp), mobility, size
    )


def _grid(grid: Sequence[ArrayLike], plane: str) -> tuple[tuple[str, ...], tuple[Array, ...]]:
    """Return the axes of a grid and its values along them."""
    item = "workspace"
    if plane not in ("xy", "xz", "yz", "yx", "zx", "zy"):
        raise ModelError(item, "plane", plane, "use 'xy', 'xz' or 'yz'")
    try:
        count = len(grid)
    except TypeError:
        count = 0
    if count not in (2, 3):
        raise ModelError(
            item, "grid", count, "give two sequences of positions along the axes of the plane, or three for space"
        )
    values = []
    for k, one in enumerate(grid):
        array = finite_array(one, shape_of(one) or (), item=item, field=f"grid[{k}]")
        if array.ndim != 1 or len(array) < 2 or (np.diff(array) <= 0).any():
            raise ModelError(item, f"grid[{k}]", array.shape, "give at least two ascending numbers")
        values.append(array)
    return tuple(plane) if count == 2 else ("x", "y", "z"), tuple(values)


def _attitude(rotation: Any, normal: int | None) -> Array:
    if shape_of(rotation) == () and not isinstance(rotation, str) and normal is not None:
        angle = finite_number(rotation, item="workspace", field="rotation")
        return np.asarray(axis_angle(_AXES[normal], angle))
    return np.asarray(as_rotation_matrix(rotation, item="workspace"))


def _led(model: Model, target: str | Body | Marker) -> tuple[System, str, str]:
    """Return a copy of a system with a free joint to the target, the name of the target, and that of the joint.

    Bodies start in the assembled configuration.
    """
    item = "workspace"
    carried = model.system.copy()
    if isinstance(target, str):
        marker = endpoint(carried, item, "target", target)
    elif isinstance(target, Body):
        marker = endpoint(carried, item, "target", target.name)
    elif isinstance(target, Marker):
        body = carried.bodies.get(target.body.name)
        if body is None:
            raise ModelError(item, "target", target.name, "it is not a marker of a moving body of this system")
        marker = body.at(*target.position, rotation=target.rotation)
    else:
        raise ModelError(item, "target", target, "give the name of a body or marker")
    if marker.body is carried.ground:
        raise ModelError(item, "target", marker.name, "ground does not move")
    at = assemble(model).q
    for name, drive in list(carried.drives.items()):
        if drive.of_joint:
            del carried.drives[name]
    R, p = model.poses(at)
    carried.initials.clear()
    for k, body_name in enumerate(model.body_names):
        carried.place(body_name, position=p[k], rotation=R[k])
    given = model.pose(endpoint(model.system, item, "target", marker.name) if isinstance(target, str) else target, at)
    drives = carried.drive(marker, position=tuple(given.position), rotation=given.rotation)
    drive = drives[0] if isinstance(drives, tuple) else drives
    connection = drive.connection
    assert isinstance(connection, Connection)
    return carried, target if isinstance(target, str) else marker.name, connection.name
