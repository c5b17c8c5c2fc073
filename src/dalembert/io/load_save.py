"""`load` and `save`: the format follows from the file suffix, for ``.xml`` files from the root element."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..checks import checked
from ..errors import ModelError
from ..system import System
from .mesh_paths import Packages
from .mjcf import load_mjcf, save_mjcf
from .model_files import SUFFIXES, load_model_file, save_model_file
from .sdf import load_sdf
from .urdf import load_urdf, save_urdf
from .xml_files import MAX_BODY_DEPTH, parse_document, read_document

__all__ = ["load", "save"]

_DEFAULTS: dict[str, Any] = {
    "base": "fixed",
    "inertia": "keep",
    "limits": True,
    "damping": True,
    "friction": True,
    "keyframe": None,
    "root": None,
    "packages": (),
}
_DATA = ("limits", "damping", "friction")

# format: its reader, and the options of that reader
_READERS: dict[str, tuple[Callable[..., System], tuple[str, ...]]] = {
    "model": (load_model_file, ("root",)),
    "URDF": (load_urdf, ("base", "inertia", *_DATA, "packages")),
    "MJCF": (load_mjcf, ("keyframe", "root", *_DATA)),
    "SDF": (load_sdf, ("inertia", *_DATA, "packages")),
}
_WRITERS: dict[str, Callable[[System, Path], None]] = {
    "model": save_model_file,
    "URDF": save_urdf,
    "MJCF": save_mjcf,
}
_ENDINGS = {**dict.fromkeys(SUFFIXES, "model"), ".urdf": "URDF", ".mjcf": "MJCF", ".sdf": "SDF", ".world": "SDF"}
_ROOTS = {"robot": "URDF", "mujoco": "MJCF", "sdf": "SDF"}
WRITE_FORMATS = {**_ENDINGS, ".xml": "MJCF"}
_SUPPORTED = (
    "supported are model files, .yaml and .json, and URDF, SDF and MJCF files: .urdf, .sdf, .mjcf, or .xml whose root "
    "element is <robot>, <sdf> or <mujoco>"
)


@checked("base", "inertia", "limits", "damping", "friction", "keyframe", "root", "packages")
def load(
    path: str | os.PathLike[str],
    *,
    base: str = "fixed",
    inertia: str = "keep",
    limits: bool = True,
    damping: bool = True,
    friction: bool = True,
    keyframe: str | int | None = None,
    root: str | os.PathLike[str] | None = None,
    packages: Packages = (),
) -> System:
    """Read a system from a file; the format follows from its suffix, for ``.xml`` files from the root element.

    Parameters
    ----------
    path : str or path
        ``.yaml`` or ``.json``, as `save` writes them; ``.urdf`` (or root element ``<robot>``); ``.sdf`` or ``.world``
        (``<sdf>``); MJCF (``<mujoco>``), which needs the extra ``mujoco``. The options apply to some of these.
    base : str
        URDF: ``"fixed"`` fixes the root link to ground (``"<link>.fixed"``), ``"free"`` connects it by a free joint
        (``"<link>.free"``).
    inertia : str
        URDF, SDF: treatment of an inertia that no rigid body can have: ``"keep"`` keeps it unchanged, with a
        `ModelWarning`; ``"strict"`` refuses the file.
    limits, damping, friction : bool
        All but model files: False omits the stops of joints, their damping, or their dry friction; limits of effort
        and velocity are kept.
    keyframe : str or int
        MJCF: name or number of the keyframe that gives start values.
    root : path
        Model files, MJCF: folder of permitted included files and tables; that of the file if left out.
    packages : folders, or dict of str to folder
        URDF, SDF: location of meshes of ``package://`` and ``model://`` addresses: folders that contain packages, or
        each package by its name. The folders above the file are searched too, and those in ROS_PACKAGE_PATH,
        AMENT_PREFIX_PATH, GZ_SIM_RESOURCE_PATH, GAZEBO_MODEL_PATH and SDF_PATH.

    Returns
    -------
    System
        Names of bodies and joints are kept; see `load_urdf`, `load_sdf`, `load_mjcf` for the supported elements.
        ``system.notes`` lists omissions; those that change the motion are also in an `OmissionWarning`.

    Raises
    ------
    ModelError
        If the file cannot be read, has another format, or has invalid data.
    TopologyError
        If the links of a URDF file do not form one tree.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError("load", "path", path, f"give the name of a file; {_SUPPORTED}")
    name = Path(os.fsdecode(path))
    kind = _format_of(name)
    reader, options = _READERS[kind]
    given = {
        "base": base,
        "inertia": inertia,
        "limits": limits,
        "damping": damping,
        "friction": friction,
        "keyframe": keyframe,
        "root": root,
        "packages": packages,
    }
    for option, value in given.items():
        if option not in options and not _is_default(value, _DEFAULTS[option]):
            takes = f"a {kind} file takes {', '.join(options)}"
            takes = "a model file has no options of this kind" if kind == "model" else takes
            raise ModelError("load", option, value, f"{takes}: leave it out for {str(name)!r}")
    return reader(name, **{option: given[option] for option in options})


@checked("schema")
def save(system: System, path: str | os.PathLike[str], *, schema: str | None = None) -> None:
    """Write a system to a file; the format follows from its suffix.

    Parameters
    ----------
    system : System
    path : str or path
        ``.yaml`` or ``.json``: a model file, which `load` reads again exactly. ``.urdf``: URDF, for
        ROS and its relatives. ``.xml`` or ``.mjcf``: MJCF, for MuJoCo.
    schema : str
        JSON Schema named in the first line of a YAML file, for editors; ``dalembert schema`` prints it.

    Robot formats represent only part of a system. Loop constraints and joints that they do not support are refused;
    unsupported forces and drives are left out, with an `OmissionWarning` that lists them.

    Raises
    ------
    ModelError
        If the system has an item that such a file cannot represent, such as a Python function; it is named.

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
    kind = WRITE_FORMATS.get(name.suffix.lower())
    if kind not in _WRITERS:
        endings = ", ".join(ending for ending, kind in WRITE_FORMATS.items() if kind in _WRITERS)
        raise ModelError("save", "path", str(name), f"use a name that ends in {endings}")
    if schema is None:
        _WRITERS[kind](system, name)
    elif kind == "model":
        save_model_file(system, name, schema=schema)
    else:
        raise ModelError("save", "schema", schema, "only YAML files name a schema: leave it out")


def _format_of(name: Path) -> str:
    """Return the format of a file: by its suffix, for ``.xml`` by the root element."""
    ending = name.suffix.lower()
    if ending == ".xacro":
        raise ModelError("load", "path", str(name), "expand it first: xacro robot.urdf.xacro > robot.urdf")
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if ending != ".xml":
        raise ModelError("load", "path", str(name), _SUPPORTED)
    source, data, encoding = read_document(str(name), "XML")
    tag = parse_document(data, encoding, source, deepest=MAX_BODY_DEPTH).tag
    if tag not in _ROOTS:
        raise ModelError(source, "root element", f"<{tag}>", _SUPPORTED)
    return _ROOTS[tag]


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)
