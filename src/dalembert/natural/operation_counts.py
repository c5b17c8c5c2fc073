"""Operation counts of the Jacobian in natural coordinates, for one evaluation as written by hand."""

from __future__ import annotations

from dataclasses import dataclass

from .equations import NaturalEquations
from .terms import Place

__all__ = ["Operations", "jacobian_operations"]


@dataclass(frozen=True)
class Operations:
    """Operations for one evaluation of J.

    Attributes
    ----------
    subtractions : int
        Differences of coordinates, each formed once, and sums of several terms in one entry.
    negations : int
        Entries that are the negative of another one.
    multiplications : int
        By constants other than 1 and -1, and between coordinates in triple products.
    functions : int
        Cosines and sines.
    """

    subtractions: int
    negations: int
    multiplications: int
    functions: int


def jacobian_operations(equations: NaturalEquations) -> Operations:
    """Count the operations of J, with rows of squares halved (Garcia de Jalon and Bayo 1994, problem 3/17)."""
    unknown = set(equations.speed_names)
    names = {c.name: c.names for c in equations.coordinates}
    formed: set[tuple[object, ...]] = set()
    subtractions = negations = multiplications = functions = 0

    def free(place: Place, k: int) -> bool:
        return place is not None and names[place[0]][place[1] + k] in unknown

    def difference(tip: Place, tail: Place, k: int) -> None:
        nonlocal subtractions
        key = tuple(sorted((str((tip, k)), str((tail, k)))))
        if tip is not None and tail is not None and (free(tip, k) or free(tail, k)) and key not in formed:
            formed.add(key)
            subtractions += 1

    for row in equations.table:
        entries: dict[object, int] = {}
        for term in row.terms:
            p = term.places
            square = term.kind == "dot" and p[:2] == p[2:]
            scale = abs(term.factor) not in (1.0, 0.5 if square else 1.0)
            if term.kind in ("cosine", "sine"):
                functions += 1
                multiplications += abs(term.factor) != 1.0
                continue
            if term.kind not in ("dot", "cross", "triple"):
                continue
            axes = range(term.part) if term.kind == "dot" else range(3)
            if term.kind == "cross":
                axes = [k for k in range(3) if k != term.part]  # type: ignore[assignment]
            pairs = [p[:2]] if square else [p[k : k + 2] for k in range(0, len(p), 2)]
            for i, (tip, tail) in enumerate(pairs):
                others = pairs if square else pairs[:i] + pairs[i + 1 :]
                for k in axes:
                    mine = [place for place in (tip, tail) if free(place, k)]
                    if not mine:
                        continue
                    for other in others:
                        for axis in axes if term.kind != "dot" else (k,):
                            difference(other[0], other[1], axis)
                    negations += len(mine) - 1
                    multiplications += scale
                    if term.kind == "triple":
                        multiplications += 2
                        subtractions += 1
                    for place in mine:
                        entries[(place, k)] = entries.get((place, k), 0) + 1
        subtractions += sum(count - 1 for count in entries.values())
    return Operations(subtractions, negations, multiplications, functions)
