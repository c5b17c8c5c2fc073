"""MuJoCo's compiled model of an MJCF document, with defaults, classes, angles and geoms resolved.

MuJoCo reads the file. Before that, the document and all its includes are checked, so that entities, entity expansion,
circular includes and files outside of the root folder raise a named error. Textures are never opened. A missing mesh is
left out, unless the mass of a body depends on it.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from ...bodies.mesh_files import SUFFIXES
from ...errors import ModelError
from ..xml_files import MAX_BODY_DEPTH, folder_of, line_of, parse_document, read_document

__all__ = ["Compiled", "compiled_source"]

MAX_FILES = 500  # files that one model may include
_INCLUDING = {"include": "file", "model": "file"}


@dataclass
class Compiled:
    """MuJoCo's module and compiled model, the document's name for messages, its folder, and omissions.

    `meshes` has the files of the meshes that MuJoCo does not transform, by name.
    """

    mujoco: Any
    model: Any
    source: str
    folder: Path | None
    omissions: list[str] = field(default_factory=list)
    meshes: dict[str, str] = field(default_factory=dict)


def compiled_source(path_or_text: Any, root: str | os.PathLike[str] | None) -> Compiled:
    """Return an MJCF document as MuJoCo compiles it."""
    source, data, encoding = read_document(path_or_text, "MJCF")
    tree = parse_document(data, encoding, source, deepest=MAX_BODY_DEPTH)
    if tree.tag != "mujoco":
        raise ModelError(source, "root element", f"<{tree.tag}>", "an MJCF document has the root <mujoco>")
    folder = folder_of(path_or_text)
    _check_includes(tree, source, folder, folder if root is None else Path(root).resolve())
    mujoco = _package()
    left: list[str] = []
    try:
        if folder is None:
            spec = mujoco.MjSpec.from_string(data.decode(encoding or "utf-8"))
        else:
            path = Path(os.fsdecode(path_or_text)).absolute()
            read = {} if path.suffix.lower() == ".xml" else {str(path.with_suffix(".xml")): data}
            # MuJoCo selects the reader by suffix: other files are read from memory, by a name in the same folder
            spec = mujoco.MjSpec.from_file(next(iter(read), str(path)), include=read)
        _without_textures(spec)
        _without_missing_files(spec, folder, source, left)
        meshes = _mesh_files(spec, folder)
        model = spec.compile()
    except (ValueError, UnicodeDecodeError, mujoco.FatalError) as error:
        raise ModelError(source, "document", " ".join(str(error).split()), "MuJoCo refuses it: correct it") from None
    return Compiled(mujoco, model, source, folder, left, meshes)


def _package() -> Any:
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        remedy = "it is not installed, and is needed to read MJCF: pip install 'dalembert[mujoco]'"
        raise ModelError("load_mjcf", "package", "mujoco", remedy) from None


def _check_includes(tree: Element, source: str, folder: Path | None, root: Path | None) -> None:
    """Refuse includes that lead out of the root folder, in a circle, or to a file that is not plain XML.

    MuJoCo searches the folder of the document, and that of the including file.
    """
    waiting, seen = [(tree, source, folder)], set()
    while waiting:
        document, name, here = waiting.pop()
        for element in document.iter():
            attribute = _INCLUDING.get(element.tag)
            file = None if attribute is None else element.get(attribute)
            if file is None:
                continue
            where = f"<{element.tag}> in {name}"
            if folder is None or root is None or here is None:
                raise ModelError(where, "file", file, f"a text has no folder: give a file{line_of(element)}")
            places = [(folder / file).resolve(), (here / file).resolve()]
            found = [path for path in dict.fromkeys(places) if path.is_file()]
            if not all(path.is_relative_to(root) for path in found or places[:1]):
                remedy = f"it is outside of the folder {str(root)!r}: root=... gives another folder{line_of(element)}"
                raise ModelError(where, "file", file, remedy)
            if not found:
                raise ModelError(where, "file", file, f"there is no such file {str(places[0])!r}{line_of(element)}")
            for path in found:
                if path in seen:
                    continue  # MuJoCo refuses repeated and circular includes
                seen.add(path)
                if len(seen) > MAX_FILES:
                    raise ModelError(source, "files", len(seen), f"at most {MAX_FILES} files may be included")
                source, data, encoding = read_document(str(path), "MJCF")
                waiting.append((parse_document(data, encoding, source, deepest=MAX_BODY_DEPTH), source, path.parent))


def _without_textures(spec: Any) -> None:
    """Remove textures, which are not drawn."""
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for light in list(spec.lights):
        light.texture = ""
    for texture in list(spec.textures):
        spec.delete(texture)


def _without_missing_files(spec: Any, folder: Path | None, source: str, left: list[str]) -> None:
    """Remove meshes, height fields and skins whose files are missing; refuse if mass depends on them."""
    missing = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes if _lacks(mesh, spec, folder)}
    for geom in list(spec.geoms):
        if geom.meshname not in missing:
            continue
        body, file = geom.parent, missing[geom.meshname].file
        if not (body.explicitinertial or geom.mass == 0 or geom.density == 0 or body.name == "world"):
            remedy = f"the mass of body {body.name!r} comes from it: put the file there, or give an <inertial>"
            raise ModelError(source, f"mesh {geom.meshname!r}", file, remedy)
        spec.delete(geom)
    for name, mesh in missing.items():
        left.append(f"mesh {name!r}: there is no file {mesh.file!r}; its geoms are not drawn")
        spec.delete(mesh)
    fields = {field.name: field for field in spec.hfields if field.file and _lacks(field, spec, folder)}
    for geom in list(spec.geoms):
        if geom.hfieldname in fields:
            spec.delete(geom)
    for name, one in fields.items():
        left.append(f"height field {name!r}: there is no file {one.file!r}")
        spec.delete(one)
    for skin in list(spec.skins):
        spec.delete(skin)


def _lacks(asset: Any, spec: Any, folder: Path | None) -> bool:
    """Return whether the file of an asset is missing."""
    if not asset.file:
        return False
    return _place_of(asset, spec, folder) is None


def _place_of(asset: Any, spec: Any, folder: Path | None) -> Path | None:
    """Return the path of the file of an asset; None if it is missing."""
    name = Path(asset.file).name if spec.strippath and folder is not None else asset.file
    places = (spec.meshdir,) if folder is None else (folder / spec.meshdir, folder)
    return next((Path(place, name) for place in places if Path(place, name).is_file()), None)


def _mesh_files(spec: Any, folder: Path | None) -> dict[str, str]:
    """Return the paths of mesh files by name, of meshes that MuJoCo does not transform."""
    found = {}
    for mesh in spec.meshes:
        place = _place_of(mesh, spec, folder) if mesh.file else None
        moved = any(mesh.refpos) or list(mesh.refquat) != [1.0, 0.0, 0.0, 0.0]
        if place is not None and place.suffix.lower() in SUFFIXES and not moved:
            found[mesh.name or Path(mesh.file).stem] = str(place)
    return found
