"""Coefficients of tyres: property files of MF-Tyre 5.2 (PAC2002), ``.tir``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...checks import checked, finite_number
from ...errors import ModelError
from ...provenance import record_makers

__all__ = ["COEFFICIENTS", "TyreData", "read_tir"]


def _row(prefix: str, *numbers: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in numbers)


_SCALING = (
    *("LFZO", "LCX", "LMUX", "LEX", "LKX", "LHX", "LVX", "LGAX", "LCY", "LMUY", "LEY", "LKY", "LHY", "LVY", "LGAY"),
    *("LTR", "LRES", "LGAZ", "LXAL", "LYKA", "LVYKA", "LS", "LSGKP", "LSGAL", "LMX", "LVMX", "LMY"),
)
_SHAPE = (
    *_row("PCX", "1"), *_row("PDX", "1", "2", "3"), *_row("PEX", "1", "2", "3", "4"), *_row("PKX", "1", "2", "3"),
    *_row("PHX", "1", "2"), *_row("PVX", "1", "2"), *_row("RBX", "1", "2"), *_row("RCX", "1"), *_row("REX", "1", "2"),
    *_row("RHX", "1"), *_row("PTX", "1", "2", "3"), *_row("PCY", "1"), *_row("PDY", "1", "2", "3"),
    *_row("PEY", "1", "2", "3", "4"), *_row("PKY", "1", "2", "3"), *_row("PHY", "1", "2", "3"),
    *_row("PVY", "1", "2", "3", "4"), *_row("RBY", "1", "2", "3"), *_row("RCY", "1"), *_row("REY", "1", "2"),
    *_row("RHY", "1", "2"), *_row("RVY", "1", "2", "3", "4", "5", "6"), *_row("PTY", "1", "2"),
    *_row("QSX", "1", "2", "3"), *_row("QSY", "1", "2", "3", "4"), *_row("QBZ", "1", "2", "3", "4", "5", "9", "10"),
    *_row("QCZ", "1"), *_row("QDZ", "1", "2", "3", "4", "6", "7", "8", "9"), *_row("QEZ", "1", "2", "3", "4", "5"),
    *_row("QHZ", "1", "2", "3", "4"), *_row("SSZ", "1", "2", "3", "4"), "BREFF", "DREFF", "FREFF",
)  # fmt: skip
COEFFICIENTS = (*_SHAPE, *_SCALING, "LONGVL")
"""Names of the coefficients and scaling factors that `MagicFormulaTyre` uses, without dimensions but LONGVL, m/s."""

_NEEDED = (
    *("FNOMIN", "UNLOADED_RADIUS", "VERTICAL_STIFFNESS"),
    *("PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1", "PKY2"),
)
_DIMENSIONS = {
    "FNOMIN": "force", "UNLOADED_RADIUS": "length", "WIDTH": "length", "RIM_RADIUS": "length", "RIM_WIDTH": "length",
    "VERTICAL_STIFFNESS": "force/length", "VERTICAL_DAMPING": "force*time/length", "LONGVL": "length/time",
    "VXLOW": "length/time", "FZMIN": "force", "FZMAX": "force", "ALPMIN": "angle", "ALPMAX": "angle",
    "CAMMIN": "angle", "CAMMAX": "angle",
}  # fmt: skip
# named by such files, without an effect on the forces here
_OTHER = {
    "ASPECT_RATIO", "FITTYP", "USE_MODE", "VXLOW", "TYRESIDE", "WIDTH", "RIM_RADIUS", "RIM_WIDTH", "KPUMIN", "KPUMAX",
    "ALPMIN", "ALPMAX", "CAMMIN", "CAMMAX", "FZMIN", "FZMAX", "PROPERTY_FILE_FORMAT", "USER_SUB_ID", "N_TIRE_STATES",
    "FILE_TYPE", "FILE_VERSION", "FILE_FORMAT", "LENGTH", "FORCE", "ANGLE", "MASS", "TIME", "FUNCTION_NAME", "VERSION",
}  # fmt: skip
_POUND, _DEGREE = 4.4482216152605, 0.017453292519943295
_UNITS = {
    "length": {"meter": 1.0, "m": 1.0, "mm": 1e-3, "millimeter": 1e-3, "cm": 1e-2, "inch": 0.0254, "foot": 0.3048},
    "force": {"newton": 1.0, "n": 1.0, "kilonewton": 1e3, "knewton": 1e3, "pound_force": _POUND, "lbf": _POUND},
    "angle": {"radian": 1.0, "radians": 1.0, "rad": 1.0, "degree": _DEGREE, "degrees": _DEGREE},
    "time": {"second": 1.0, "s": 1.0, "sec": 1.0, "millisecond": 1e-3},
}  # fmt: skip
_LINE = re.compile(r"^\s*([A-Za-z_]\w*)\s*=\s*(.*)$")


@record_makers
@dataclass(frozen=True, eq=False)
class TyreData:
    """Coefficients of a tyre by name, in SI units.

    Parameters
    ----------
    coefficients : dict of str to float
        As in a ``.tir`` file: FNOMIN, UNLOADED_RADIUS, VERTICAL_STIFFNESS, PCX1, ...
    side : str
        ``"left"`` or ``"right"``: TYRESIDE, the side for which the coefficients were measured.
    notes : list of str
        Unknown entries with their lines, and coefficients that are missing.

    Examples
    --------
    >>> import dalembert as da
    >>> da.TyreData({"FNOMIN": 4e3}).coefficients["FNOMIN"]
    4000.0
    """

    coefficients: Mapping[str, float]
    side: str = "left"
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping):
            raise ModelError("TyreData", "coefficients", self.coefficients, "give a dict of numbers by name")
        if self.side not in ("left", "right"):
            raise ModelError("TyreData", "side", self.side, "use 'left' or 'right'")
        numbers = {str(k): finite_number(x, item="TyreData", field=str(k)) for k, x in self.coefficients.items()}
        object.__setattr__(self, "coefficients", numbers)

    def complete(self) -> dict[str, float]:
        """Return all coefficients of `MagicFormulaTyre`: missing scaling factors are 1, others 0.

        Raises
        ------
        ModelError
            If coefficients are missing without which there is no force, or a number is impossible.
        """
        given = self.coefficients
        missing = [name for name in _NEEDED if not given.get(name)]
        if missing:
            raise ModelError("TyreData", "coefficients", ", ".join(missing), "they are needed, and not zero")
        for name in ("FNOMIN", "UNLOADED_RADIUS", "VERTICAL_STIFFNESS", "PKY2", "PCX1", "PCY1"):
            if given[name] <= 0:
                raise ModelError("TyreData", name, given[name], "it must be above zero")
        if given["PDX1"] * given["PKX1"] <= 0:
            raise ModelError("TyreData", "PKX1", given["PKX1"], "it must have the sign of PDX1")
        if given["PKY1"] >= 0:
            raise ModelError(
                "TyreData", "PKY1", given["PKY1"], "it is negative in W axes of ISO 8855: convert the file's axes"
            )
        numbers = {name: float(given.get(name, 1.0 if name in _SCALING else 0.0)) for name in COEFFICIENTS}
        if not given.get("LONGVL") and (numbers["QSY3"] or numbers["QSY4"]):
            raise ModelError("TyreData", "LONGVL", given.get("LONGVL"), "QSY3 and QSY4 need this speed, m/s")
        numbers["LONGVL"] = float(given.get("LONGVL", 0.0)) or 1.0
        return numbers | {
            "FNOMIN": given["FNOMIN"],
            "UNLOADED_RADIUS": given["UNLOADED_RADIUS"],
            "VERTICAL_STIFFNESS": given["VERTICAL_STIFFNESS"],
            "VERTICAL_DAMPING": float(given.get("VERTICAL_DAMPING", 0.0)),
        }


@checked("path")
def read_tir(path: str | Path) -> TyreData:
    """Read a tyre property file of MF-Tyre 5.2 (PAC2002), with its units, and return its coefficients in SI units.

    Entries are ``NAME = value $ comment`` in sections ``[SECTION]``. Unknown entries and coefficients that are missing
    are told in `TyreData.notes`.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ModelError
        If an entry cannot be read or appears twice (with its line), units are unknown, or the file is of another model.
    """
    file = Path(path)
    item = f"tyre file {file.name!r}"
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ModelError(item, "path", str(path), error.strerror or "it cannot be read") from None
    entries, lines, skips = _entries(item, text)
    units = {kind: _unit(item, kind, entries, lines) for kind in _UNITS}
    version = entries.pop("FITTYP", "").strip("'\" ")
    if version not in ("", "5", "51", "52", "21"):
        raise ModelError(
            item, f"FITTYP in line {lines['FITTYP']}", version, "it is of another model: give MF-Tyre 5.2 (PAC2002)"
        )
    side = entries.pop("TYRESIDE", "left").strip("'\" ").lower()
    if side not in ("left", "right", "symmetric", "none", ""):
        raise ModelError(item, f"TYRESIDE in line {lines['TYRESIDE']}", side, "use 'LEFT' or 'RIGHT'")
    numbers, unknown = {}, []
    for name, value in entries.items():
        if name in COEFFICIENTS or name in _DIMENSIONS or name in _NEEDED:
            numbers[name] = _number(item, name, value, lines[name]) * _factor(_DIMENSIONS.get(name, ""), units)
        elif name not in _OTHER:
            unknown.append(f"line {lines[name]}: {name} is unknown and has no effect")
    notes = [*skips, *unknown]
    absent = [name for name in _SHAPE if name not in numbers]
    if absent:
        notes.append(f"coefficients that the file does not give are zero: {', '.join(absent)}")
    if "VERTICAL_DAMPING" not in numbers:
        notes.append("VERTICAL_DAMPING is not given: no vertical damping")
    return TyreData(numbers, "right" if side == "right" else "left", notes)


def _entries(item: str, text: str) -> tuple[dict[str, str], dict[str, int], list[str]]:
    """Return the entries by name, their lines, and notes on tables, which are left out."""
    entries: dict[str, str] = {}
    lines: dict[str, int] = {}
    notes: list[str] = []
    table = False
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.split("$")[0].split("!")[0].strip()
        if not plain:
            continue
        if plain.startswith("["):
            table = False
            continue
        if plain.startswith("{"):
            table = True
            notes.append(f"line {number}: the table {plain} has no effect")
            continue
        found = _LINE.match(plain)
        if found is None:
            if table:
                continue
            raise ModelError(item, f"line {number}", plain, "write NAME = value")
        name = found.group(1).upper()
        if name in entries:
            raise ModelError(item, f"line {number}", name, f"it is given in line {lines[name]} already")
        entries[name], lines[name] = found.group(2).strip(), number
    return entries, lines, notes


def _number(item: str, name: str, value: str, line: int) -> float:
    try:
        number = float(value)
    except ValueError:
        raise ModelError(item, f"{name} in line {line}", value, "give a number") from None
    return finite_number(number, item=item, field=f"{name} in line {line}")


def _unit(item: str, kind: str, entries: dict[str, str], lines: dict[str, int]) -> float:
    name = kind.upper()
    if name not in entries:
        return 1.0
    word = entries[name].strip("'\" ").lower()
    if word not in _UNITS[kind]:
        raise ModelError(item, f"{name} in line {lines[name]}", word, f"use one of {', '.join(_UNITS[kind])}")
    return _UNITS[kind][word]


def _factor(dimension: str, units: Mapping[str, float]) -> float:
    factor, inverse = 1.0, False
    for part in re.split(r"([*/])", dimension):
        if part in units:
            factor = factor / units[part] if inverse else factor * units[part]
        inverse = part == "/"
    return factor
