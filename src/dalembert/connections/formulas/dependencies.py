"""Dependencies of program results, and reduced programs for some of them."""

from __future__ import annotations

from collections.abc import Sequence

from .expressions import OPERATIONS, Program

__all__ = ["extract_subprogram", "inputs_of", "operands", "required_instructions"]


def operands(instruction: tuple[int, int, int, int, int]) -> tuple[int, ...]:
    """Return the indices of the operands of an operation."""
    code, a, b, c, d = instruction
    name = OPERATIONS[code]
    if name in ("constant", "input"):
        return ()
    if name == "less":
        return a, b, c, d
    if name == "lookup":
        return b, c, d
    two = ("add", "subtract", "multiply", "divide", "power", "arctangent2", "smaller", "larger")
    return (a, b) if name in two else (a,)


def required_instructions(program: Program, places: Sequence[int]) -> set[int]:
    """Return all indices on which some indices depend, including these."""
    found: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting.extend(operands(program.instructions[place]))
    return found


def inputs_of(program: Program, places: Sequence[int]) -> set[int]:
    """Return the numbers of the inputs on which results of a program depend."""
    used = (program.instructions[place] for place in required_instructions(program, places))
    return {a for code, a, *_ in used if OPERATIONS[code] == "input"}


def extract_subprogram(program: Program, outputs: Sequence[int]) -> Program:
    """Return a program that computes only some results of another one."""
    part = Program(program.inputs)
    moved: dict[int, int] = {}
    for place in sorted(required_instructions(program, outputs)):
        code, a, *_ = program.instructions[place]
        if OPERATIONS[code] == "constant":
            moved[place] = part.constant_of(program, a)
        elif OPERATIONS[code] == "input":
            moved[place] = part.emit("input", a)
        else:
            table = (part.table(program.tables[a]),) if OPERATIONS[code] == "lookup" else ()
            places = (moved[p] for p in operands(program.instructions[place]))
            moved[place] = part.emit(OPERATIONS[code], *table, *places)
    part.outputs = [moved[place] for place in outputs]
    return part
