"""Systems from model files. So far URDF."""

from __future__ import annotations

import os
from pathlib import PurePath

from ..errors import ModelError
from ..system import System
from .urdf import load_urdf

__all__ = ["load", "load_urdf"]

_SUPPORTED = "supported are URDF files: .urdf, or .xml whose root element is <robot>"


def load(
    path: str | os.PathLike[str],
    *,
    base: str = "fixed",
    inertia: str = "keep",
    limits: bool = True,
    damping: bool = True,
    friction: bool = True,
) -> System:
    """Read a system from a model file; the suffix of its name says the format.

    Parameters
    ----------
    path : str or path
        ``.urdf``, or ``.xml`` with the root element ``<robot>``.
    base : str
        ``"fixed"`` fixes the root link to ground (``"<link>.fixed"``), ``"free"`` lets it move (``"<link>.free"``).
    inertia : str
        What becomes of an inertia that no rigid body can have: ``"keep"`` takes it as it stands, with a
        `ModelWarning`; ``"strict"`` refuses the file.
    limits, damping, friction : bool
        False leaves the stops of joints, their damping, or their dry friction out; bounds of effort and speed stay.

    Returns
    -------
    System
        Names of links and joints kept; see `load_urdf` for what is read. ``system.notes`` says what had to be left
        out.

    Raises
    ------
    ModelError
        If the file cannot be read, or is of another format, or has bad data.
    TopologyError
        If the links do not form one tree.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError("load", "path", path, f"give the name of a file; {_SUPPORTED}")
    name = PurePath(os.fsdecode(path))
    suffix = name.suffix.lower()
    if suffix == ".xacro":
        raise ModelError("load", "path", str(name), "expand it first: xacro robot.urdf.xacro > robot.urdf")
    if suffix not in (".urdf", ".xml"):
        raise ModelError("load", "path", str(name), _SUPPORTED)
    return load_urdf(name, base=base, inertia=inertia, limits=limits, damping=damping, friction=friction)
