"""Structures from Nastran bulk data.

Two sources: matrices written by Nastran (DMIG cards, as a run with PARAM,EXTOUT,DMIGPCH punches them), or bars and
concentrated masses assembled here. Other elements, including rigid ones, raise an error instead of being omitted.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import checked
from ..errors import ModelError
from .beam_elements import Beams
from .bulk_data import Card, read_cards
from .sections import Material, Section
from .structure import Structure

__all__ = ["read_nastran"]


# shear factor of a bar whose property names none: in Nastran it has no shear deformation
SHEAR_RIGID_FACTOR = 1e6

# cards that join grids and do not begin with C, other than RBE2 and RBE3
_JOINING = {
    "GENEL", "MPC", "MPCADD", "MPCAX", "RBAR", "RBAR1", "RBE1", "RJOINT", "RROD", "RSPLINE", "RSSCON", "RTRPLT",
    "RTRPLT1",
}  # fmt: skip


@checked("path")
def read_nastran(
    path: str | PathLike[str], *, mass: str | None = None, stiffness: str | None = None
) -> tuple[Structure, dict[int, int]]:
    """Return the structure in a bulk data file, and the node number of every GRID in use.

    Parameters
    ----------
    path : str
        A bulk data file (``.bdf``, ``.dat``, ``.nas``), or a punched one with DMIG cards (``.pch``). Units must be SI;
        PARAM,WTMASS multiplies densities and concentrated masses.
    mass, stiffness : str
        Names of DMIG matrices (``"MAAX"``, ``"KAAX"``). Without them CBAR (without offsets and pin flags) with PBAR and
        MAT1 are assembled, with consistent masses, and CONM2. Matrices are used unchanged: Nastran has applied WTMASS
        to those that it writes.

    RBE2 on all six components become rigid regions, RBE3 of all six components by displacements (123) mean regions.
    Other cards that join grids (RBAR, MPC, ...) raise an error, as do coordinate systems other than the basic one.
    Cards for loads, supports and output are ignored: a body of a system is free.

    Raises
    ------
    ModelError
        If the file cannot be read, or contains unsupported cards.
    """
    file = Path(path)
    if not file.is_file():
        raise ModelError("nastran", "path", str(path), "there is no such file")
    cards: dict[str, list[Card]] = {}
    for card in read_cards(file):
        cards.setdefault(card.name, []).append(card)
    grids = {card.whole(1): _position(card) for card in cards.get("GRID", [])}
    if not grids:
        raise ModelError("nastran", "path", str(path), "it has no GRID")
    if (mass is None) != (stiffness is None):
        raise ModelError("nastran", "mass", (mass, stiffness), "name both matrices, or none")
    joining = sorted(_JOINING & set(cards))
    if joining:
        remedy = "of what joins grids, RBE2 and RBE3 are understood: let Nastran write its matrices without these cards"
        raise ModelError(cards[joining[0]][0].item, "cards", ", ".join(joining), remedy)
    means = {card.whole(3): card for card in cards.get("RBE3", [])}
    if len(means) < len(cards.get("RBE3", [])):
        raise ModelError("nastran", "RBE3", sorted(means), "a grid can follow the mean of one RBE3 only")
    used = _used(cards, mass is not None) - set(means)
    labels = [label for label in sorted(grids) if label in used]
    places = {label: k for k, label in enumerate(labels)}
    nodes = np.array([grids[label] for label in labels]).reshape(-1, 3)
    if mass is not None and stiffness is not None:
        found = Structure(nodes, *(_matrix(cards, name, places) for name in (mass, stiffness)))
    else:
        found = _assembled(cards, nodes, places, grids, _mass_factor(cards), set(means))
    for card in cards.get("RBE2", []):
        found = _tied(found, card, places)
    for label, card in means.items():
        found = _following(found, card, places, grids)
        places[label] = len(found.nodes) - 1
    if mass is None:
        for card in cards.get("CONM2", []):
            if card.whole(2) in means:
                found = _with_lump(found, card, places, _mass_factor(cards))
    return found, places


def _mass_factor(cards: dict[str, list[Card]]) -> float:
    """Return the mass factor PARAM,WTMASS."""
    given = [card for card in cards.get("PARAM", []) if card.text(1).upper() == "WTMASS"]
    factor = given[-1].number(2) if given else 1.0
    if factor <= 0:
        raise ModelError(given[-1].item, "WTMASS", factor, "a factor of masses must be positive")
    return factor


def _used(cards: dict[str, list[Card]], matrices: bool) -> set[int]:
    """Return the grids with stiffness or mass; others only orient bars."""
    found = {card.whole(2) for card in cards.get("CONM2", [])}
    found |= {bar.whole(k) for bar in cards.get("CBAR", []) for k in (3, 4)}
    if matrices:
        heads = [card for card in cards.get("DMIG", []) if card.text(2) != "0"]
        found = {card.whole(k) for card in heads for k in (2, *range(5, len(card.fields) + 1, 4)) if card.text(k)}
    for card in cards.get("RBE2", []):
        found |= {card.whole(2), *_slaves(card)}
    for card in cards.get("RBE3", []):
        follower = card.whole(3)
        carried = {bar.whole(k) for bar in cards.get("CBAR", []) for k in (3, 4)} if not matrices else found
        tied = {k for other in cards.get("RBE2", []) for k in (other.whole(2), *_slaves(other))}
        if follower in carried | tied:
            remedy = "it follows the mean of others, and elements, matrices or rigid ties on it would hold them"
            raise ModelError(card.item, "REFGRID", follower, remedy)
    return found


def _slaves(card: Card) -> list[int]:
    """Return the dependent grids of an RBE2; a real number after them is a thermal coefficient."""
    return [card.whole(k) for k in range(4, len(card.fields) + 1) if card.text(k) and "." not in card.text(k)]


def _position(card: Card) -> list[float]:
    if card.whole(2, 0) or card.whole(6, 0):
        raise ModelError(card.item, "CP or CD", (card.text(2), card.text(6)), "give grids in the basic system (0)")
    return [card.number(k, 0.0) for k in (3, 4, 5)]


def _place(card: Card, label: int, places: dict[int, int]) -> int:
    if label not in places:
        raise ModelError(card.item, "GRID", label, "the file has no GRID of that number")
    return places[label]


# ---- matrices


def _matrix(cards: dict[str, list[Card]], name: str, places: dict[int, int]) -> Any:
    """Return a DMIG matrix with six degrees of freedom per node."""
    from scipy.sparse import coo_array

    parts = [card for card in cards.get("DMIG", []) if card.text(1).upper() == name.upper()]
    heads = [card for card in parts if card.text(2) == "0"]
    if not heads:
        known = ", ".join(sorted({card.text(1) for card in cards.get("DMIG", [])})) or "none"
        raise ModelError("nastran", "matrix", name, f"the file has these DMIG: {known}")
    form, kind = heads[0].whole(3), heads[0].whole(4)
    if form not in (1, 6) or kind not in (1, 2):
        raise ModelError(heads[0].item, "form and type", (form, kind), "it must be square or symmetric, and real")
    entries: dict[tuple[int, int], float] = {}
    for card in parts:
        if card in heads:
            continue
        column = _dof(card, 2, places)
        for start in range(5, len(card.fields) + 1, 4):
            if not card.text(start):
                continue
            row, value = _dof(card, start, places), card.number(start + 2)
            entries[row, column] = value
            if form == 6:
                entries[column, row] = value
    size = 6 * len(places)
    index = np.array(list(entries), dtype=np.int64).reshape(-1, 2)
    return coo_array((list(entries.values()), (index[:, 0], index[:, 1])), shape=(size, size)).tocsr()


def _dof(card: Card, start: int, places: dict[int, int]) -> int:
    component = card.whole(start + 1)
    if not 1 <= component <= 6:
        raise ModelError(card.item, f"field {start + 1}", component, "components of grids go from 1 to 6")
    return 6 * _place(card, card.whole(start), places) + component - 1


# ---- bars


def _assembled(
    cards: dict[str, list[Card]],
    nodes: Array,
    places: dict[int, int],
    grids: dict[int, list[float]],
    factor: float,
    later: set[int],
) -> Structure:
    """Return the structure of bars and concentrated masses, masses times a factor; without `later` grids."""
    unknown = [n for n in cards if n.startswith("C") and n not in ("CBAR", "CONM2") and not n.startswith("CORD")]
    if unknown:
        raise ModelError(
            "nastran",
            "elements",
            ", ".join(sorted(unknown)),
            "only CBAR and CONM2 are assembled here: let Nastran write its matrices as DMIG, and name them",
        )
    bars = cards.get("CBAR", [])
    if not bars:
        raise ModelError("nastran", "elements", "none", "the file has no bars: name its DMIG matrices")
    materials = {card.whole(1): _material(card) for card in cards.get("MAT1", [])}
    properties = {card.whole(1): _section(card, materials, factor) for card in cards.get("PBAR", [])}
    ends = np.array([[_place(bar, bar.whole(k), places) for k in (3, 4)] for bar in bars])
    steps = nodes[ends[:, 1]] - nodes[ends[:, 0]]
    axes = np.array([_axes(bar, step, grids) for bar, step in zip(bars, steps, strict=True)])
    for bar in bars:
        if bar.whole(2, bar.whole(1)) not in properties:
            raise ModelError(bar.item, "PID", bar.text(2), "the file has no PBAR of that number")
    chosen = [properties[bar.whole(2, bar.whole(1))] for bar in bars]
    sections, stuffs = tuple(s for s, _ in chosen), tuple(m for _, m in chosen)
    beams = Beams(ends, np.linalg.norm(steps, axis=1), axes, sections, stuffs, "timoshenko")
    n = len(nodes)
    structure = Structure(
        nodes, beams.assembled(beams.mass(), n), beams.assembled(beams.stiffness(), n), elements=beams
    )
    for card in cards.get("CONM2", []):
        if card.whole(2) not in later:
            structure = _with_lump(structure, card, places, factor)
    return structure


def _material(card: Card) -> Material:
    density = card.number(5, 0.0)
    if card.text(3):
        return Material(E=card.number(2), G=card.number(3), density=density)
    return Material(E=card.number(2), nu=card.number(4), density=density)


def _section(card: Card, materials: dict[int, Material], factor: float) -> tuple[Section, Material]:
    if card.whole(2) not in materials:
        raise ModelError(card.item, "MID", card.text(2), "the file has no MAT1 of that number")
    stuff = materials[card.whole(2)]
    if card.number(19, 0.0):
        raise ModelError(card.item, "I12", card.number(19), "turn the bars' orientation into a principal axis")
    A = card.number(3)
    # I1 bends in the plane of the orientation vector, which is our z; I2 across it
    k1, k2 = (card.number(k, 0.0) or SHEAR_RIGID_FACTOR for k in (17, 18))
    section = Section(A, card.number(4), card.number(5), card.number(6), shear_y=k2, shear_z=k1)
    density = factor * (stuff.density + card.number(7, 0.0) / A)
    return section, Material(E=stuff.E, G=stuff.G, density=density)


def _axes(bar: Card, step: Array, grids: dict[int, list[float]]) -> Array:
    """Return local axes as columns; z is the axis of the plane of the orientation vector."""
    if any(bar.text(k) not in ("", "0", "0.", "0.0") for k in range(9, 17)):
        raise ModelError(bar.item, "offset or pin flag", "given", "bars here run from node to node, rigidly joined")
    if bar.text(5) and not bar.text(6) and "." not in bar.text(5):
        if bar.whole(5) not in grids:
            raise ModelError(bar.item, "G0", bar.text(5), "the file has no GRID of that number")
        up = np.array(grids[bar.whole(5)]) - grids[bar.whole(3)]
    else:
        up = np.array([bar.number(k, 0.0) for k in (5, 6, 7)])
    y = np.cross(up, step)
    if np.linalg.norm(step) == 0 or np.linalg.norm(y) <= 1e-9 * np.linalg.norm(up) * np.linalg.norm(step):
        raise ModelError(bar.item, "orientation", up.tolist(), "the bar has no length, or its vector lies along it")
    x, y = step / np.linalg.norm(step), y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


def _with_lump(structure: Structure, card: Card, places: dict[int, int], factor: float) -> Structure:
    if card.whole(3, 0) != 0:
        raise ModelError(card.item, "CID", card.whole(3), "give it in the basic system (0)")
    centre = [card.number(k, 0.0) for k in (5, 6, 7)]
    xx, yx, yy, zx, zy, zz = (card.number(k, 0.0) for k in range(9, 15))
    # the card holds products of inertia, the matrix their negatives
    inertia = factor * np.array([[xx, -yx, -zx], [-yx, yy, -zy], [-zx, -zy, zz]])
    mass = factor * card.number(4)
    return structure.with_mass(_place(card, card.whole(2), places), mass, inertia=inertia, centre=centre)


def _tied(structure: Structure, card: Card, places: dict[int, int]) -> Structure:
    if set(card.text(3)) != set("123456"):
        raise ModelError(card.item, "CM", card.text(3), "only ties of all six components (123456) are understood")
    return structure.rigid_region(
        [_place(card, k, places) for k in _slaves(card)], at=_place(card, card.whole(2), places)
    )


def _following(structure: Structure, card: Card, places: dict[int, int], grids: dict[int, list[float]]) -> Structure:
    """Return the structure with a last node that follows the weighted mean of others, by an RBE3."""
    if set(card.text(4)) != set("123456"):
        raise ModelError(card.item, "REFC", card.text(4), "only grids that follow in all six components are understood")
    if card.whole(3) not in grids:
        raise ModelError(card.item, "REFGRID", card.text(3), "the file has no GRID of that number")
    leaders: dict[int, float] = {}
    weight, components, k = 1.0, "", 5
    while k <= len(card.fields):
        text = card.text(k).upper()
        if text == "UM":
            raise ModelError(card.item, "UM", "given", "components that depend on others are those of REFGRID")
        if text == "ALPHA":
            break
        if "." in text:  # a weight begins a group: weight, components, grids
            weight, components, k = card.number(k), card.text(k + 1), k + 1
            if components != "123":
                remedy = "only means of the displacements (123) are understood"
                raise ModelError(card.item, "components", components, remedy)
        elif text:
            if not components:
                raise ModelError(card.item, f"field {k}", text, "a weight and components come before grids")
            if card.whole(k) in grids and card.whole(k) not in places:
                raise ModelError(
                    card.item, "GRID", card.whole(k), "no element supports it, and no motion follows from it"
                )
            leaders[_place(card, card.whole(k), places)] = weight
        k += 1
    try:
        return structure.mean_region(list(leaders), grids[card.whole(3)], weights=list(leaders.values()))
    except ModelError as error:
        raise ModelError(card.item, error.field, error.value, error.remedy) from None
