"""FMUs: archives with a description, the library of this package, and a model file."""

from __future__ import annotations

import platform
import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import __version__, _core
from ..errors import ModelError
from .fmu_description import fmi2_description, fmi3_description, fmu_variables
from .model_export import ExportedModel

__all__ = ["available_platforms", "write_fmu"]

_ENDINGS = {"linux": ".so", "windows": ".dll", "darwin": ".dylib"}
_FMI2_FOLDERS = {
    "x86_64-linux": "linux64", "x86_64-windows": "win64", "x86_64-darwin": "darwin64",
    "aarch64-linux": "aarch64-linux", "aarch64-darwin": "aarch64-darwin",
}  # fmt: skip


def this_platform() -> str:
    """Return the platform of this machine, as FMI 3.0 names it."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    return f"{machine}-{system}"


def available_platforms() -> dict[str, Path]:
    """Return the libraries for FMUs by platform."""
    folder = Path(_core.__file__).parent / "platforms"
    found: dict[str, Path] = {}
    for ending in (".so", ".dll", ".dylib"):
        own = folder / f"dalembert_fmu{ending}"
        if own.is_file():
            found[this_platform()] = own
    for own in sorted(folder.glob("*/dalembert_fmu.*")):
        found.setdefault(own.parent.name, own)
    return found


def write_fmu(file: Path, name: str, made: ExportedModel, *, fmi: int, platforms: Sequence[str] | None) -> list[str]:
    """Write an FMU; return notes.

    Parameters
    ----------
    file : Path
    name : str
        Of the model.
    made : ExportedModel
    fmi : int
        2 or 3.
    platforms : names
        As FMI 3.0 names them; all that are installed if left out.
    """
    if fmi not in (2, 3):
        raise ModelError("export", "fmi", fmi, "use 2 or 3")
    libraries = available_platforms()
    chosen = list(libraries) if platforms is None else [platforms] if isinstance(platforms, str) else list(platforms)
    for each in chosen:
        if each not in libraries:
            known = ", ".join(map(repr, libraries)) or "none"
            raise ModelError("export", "platform", each, f"libraries are installed for: {known}")
    if not chosen:
        remedy = "the library dalembert_fmu is not installed: build the package again"
        raise ModelError("export", "platforms", "none", remedy)
    identifier = re.sub(r"\W", "_", name) or "model"
    identifier = identifier if identifier[0].isalpha() else f"m_{identifier}"
    token = f"{{{_core.FileModel(made.data).checksum:x}}}"
    model = made.model
    start = np.concatenate([made.state.q, made.state.v, made.state.x])
    variables = fmu_variables(made.quantities, start, exact=not (model.nc or model.drives))
    describe = fmi2_description if fmi == 2 else fmi3_description
    text = describe(
        name,
        identifier,
        token,
        f"dalembert {__version__}",
        variables,
        exchange=not made.friction,
        start=float(made.state.t),
        tolerance=made.rtol,
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", text)
        archive.writestr("resources/model.dalm", made.data)
        for each in chosen:
            folder = _FMI2_FOLDERS.get(each, each) if fmi == 2 else each
            ending = libraries[each].suffix
            archive.write(libraries[each], f"binaries/{folder}/{identifier}{ending}")
    notes = []
    if made.friction:
        notes.append(
            "friction and stops have modes that belong to a run: the FMU offers co-simulation, not model exchange "
            "(for that give friction='smooth', stops='soft')"
        )
    if _core.fmu_isa != "portable":
        notes.append(f"the FMU needs a processor with {_core.fmu_isa}, for which this package was built")
    return notes
