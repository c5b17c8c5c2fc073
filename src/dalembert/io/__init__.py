"""Systems from model files, and into them: YAML, JSON, URDF."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from ..errors import ModelError
from ..system import System
from .models import SUFFIXES, load_model_file, save_model_file
from .urdf import load_urdf

__all__ = ["load", "load_urdf", "save"]

_SUPPORTED = "supported are model files, .yaml and .json, and URDF files: .urdf, or .xml whose root element is <robot>"


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
        ``.yaml`` or ``.json``, as `save` writes them; ``.urdf``, or ``.xml`` with the root element ``<robot>``. What
        follows is for the latter two.
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
    if suffix in SUFFIXES:
        if (base, inertia, limits, damping, friction) != ("fixed", "keep", True, True, True):
            raise ModelError("load", "options", str(name), "a model file says all this itself: leave them out")
        return load_model_file(Path(name))
    if suffix not in (".urdf", ".xml"):
        raise ModelError("load", "path", str(name), _SUPPORTED)
    return load_urdf(name, base=base, inertia=inertia, limits=limits, damping=damping, friction=friction)


def save(system: System, path: str | os.PathLike[str], *, schema: str | None = None) -> None:
    """Write a system as a model file, which `load` reads again exactly.

    Parameters
    ----------
    system : System
    path : str or path
        ``.yaml`` or ``.json``.
    schema : str
        A YAML file begins with a line that names this JSON Schema, for editors; ``dalembert schema`` prints it.

    Raises
    ------
    ModelError
        If something is in the system that no file can hold, such as a Python function; it is named.

    Examples
    --------
    >>> import dalembert as da, tempfile, pathlib
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "pendulum.yaml"
    >>> da.save(s, file)
    >>> print(file.read_text().splitlines()[-1].strip())
    A: {type: Revolute, axis: [0.0, 1.0, 0.0], between: [ground, bob]}
    >>> da.load(file)["A"]
    <Connection 'A': Revolute from ground to bob>
    """
    if not isinstance(system, System):
        raise ModelError("save", "system", system, "give a System")
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError("save", "path", path, "give the name of a file")
    name = Path(os.fsdecode(path))
    if name.suffix.lower() not in SUFFIXES:
        raise ModelError("save", "path", str(name), f"use a name that ends in {', '.join(SUFFIXES)}")
    save_model_file(system, name, schema=schema)
