"""Absolute tolerances: one number for all variables, or numbers by kind and by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

import numpy as np

from ..arrays import Array, IndexArray
from ..errors import ModelError
from ..model import Model
from ..model.cache import cached_per_model

__all__ = ["DEFAULT_ATOL", "Tolerance", "of_states", "tolerances"]

Tolerance = float | Mapping[str, float]

DEFAULT_ATOL = 1e-10
KINDS = ("position", "speed", "state", "angle", "length", "eta")  # later ones take precedence


def tolerances(model: Model, given: Tolerance) -> tuple[float | dict[str, float], Array]:
    """Return the given tolerances, checked, and those of positions, velocities and element states, (2 nv + nx,).

    Parameters
    ----------
    model : Model
    given : float or dict of str to float
        See `simulate`. Variables that a dict leaves out have `DEFAULT_ATOL`; names take precedence over kinds.

    Raises
    ------
    ModelError
        For a number out of range, or a name that is neither a kind of variable nor in the model.
    """
    if not isinstance(given, Mapping):
        if not (isinstance(given, (int, float, np.number)) and 1e-15 <= given < 1):
            remedy = "use a number from 1e-15 to 1, or numbers by kind and name: {'position': 1e-9, 'A.speed': 1e-6}"
            raise ModelError("simulate", "atol", given, remedy)
        return float(given), np.full(2 * model.nv + model.nx, float(given))
    numbers: dict[str, float] = {}
    places: list[tuple[int, IndexArray, float]] = []
    for key, value in given.items():
        if not (isinstance(value, (int, float, np.number)) and 0 < value < np.inf):
            raise ModelError("simulate", f"atol[{key!r}]", value, "use a number above zero")
        numbers[key] = float(value)
        places.append((*_find(model, key), float(value)))
    found = np.full(2 * model.nv + model.nx, DEFAULT_ATOL)
    for _, where, value in sorted(places, key=lambda place: place[0]):
        found[where] = value
    return numbers, found


def of_states(model: Model, atol: Array) -> Array:
    """Return tolerances of [q; v; x], (nq + nv + nx,), from those of increments, for external solvers."""
    positions = np.empty(model.nq)
    names = model.compiled.names
    for owner, coordinates in names.q.items():
        dofs = atol[names.v[owner]]
        plain = len(dofs) == coordinates.stop - coordinates.start
        positions[coordinates] = dofs if plain else dofs.min()
    return np.concatenate([positions, atol[model.nv :]])


def _find(model: Model, key: str) -> tuple[int, IndexArray]:
    """Return the precedence of a key, and the indices of its variables."""
    if not isinstance(key, str):
        raise ModelError("simulate", "atol", key, "name variables by strings: {'position': 1e-9}")
    nv = model.nv
    every = np.arange(2 * nv + model.nx)
    parts = {"position": every[:nv], "speed": every[nv : 2 * nv], "state": every[2 * nv :]}
    if key in parts:
        return KINDS.index(key), parts[key]
    name, _, part = key.rpartition(".")
    if part not in ("position", "speed"):
        name, part = key, ""
    for rank, dofs, states in _meanings(model, name):
        both = {"position": dofs, "speed": nv + dofs}
        if part and not len(dofs):
            continue
        chosen = both[part] if part else np.concatenate([dofs, nv + dofs, 2 * nv + states])
        return 2 * rank + bool(part), chosen
    raise ModelError("simulate", "atol", key, _remedy(model, name))


def _meanings(model: Model, name: str) -> Iterator[tuple[int, IndexArray, IndexArray]]:
    """Yield the precedence of a name, and the indices of its degrees of freedom and element states."""
    names, nothing = model.compiled.names, np.zeros(0, dtype=np.intp)
    units, kinds = np.array(names.speed_units, dtype=str), np.array(names.speed_kinds, dtype=str)
    of_kind = {
        "angle": (units == "rad") & (kinds != "eta"),
        "length": (units == "m") & (kinds != "eta"),
        "eta": kinds == "eta",
    }
    if name in of_kind:
        yield KINDS.index(name), np.flatnonzero(of_kind[name]), nothing
    general, special = len(KINDS), len(KINDS) + 1
    owner = name.removesuffix(".eta") if name.removesuffix(".eta") in names.flexible else name
    if owner in names.v and (owner not in names.flexible or owner != name):
        yield general, np.arange(model.nv)[names.v[owner]], nothing
    if name in _dof(model):
        yield special, np.array([_dof(model)[name]]), nothing
    states = [k for k, state in enumerate(model.state_names) if state == name or state.startswith(f"{name}.")]
    if states:
        yield special if name in model.state_names else general, nothing, np.array(states, dtype=np.intp)


@cached_per_model
def _dof(model: Model) -> dict[str, int]:
    """Return indices of DOF by the names of velocities, and of coordinates where both correspond."""
    names = model.compiled.names
    numbers = {name: k for k, name in enumerate(names.speeds)}
    for owner, q in names.q.items():
        v = names.v[owner]
        if q.stop - q.start == v.stop - v.start:
            numbers |= {name: v.start + k for k, name in enumerate(names.coordinates[q])}
    return numbers


def _remedy(model: Model, name: str) -> str:
    names = model.compiled.names
    if name in names.cut_v:
        return "it closes a loop: its motion follows from that of other joints; name one of those"
    known = [*names.speeds, *names.v, *(f"{body}.eta" for body in names.flexible), *model.state_names]
    near = get_close_matches(name, known, 4, 0.5) or list(dict.fromkeys(known))[:6]
    kinds = ", ".join(map(repr, KINDS))
    return f"use a kind ({kinds}) or a name of the model, such as {', '.join(map(repr, near))}"
