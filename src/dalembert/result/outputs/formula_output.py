"""Outputs that are formulas of other outputs: ``"P.position - 0.3*cos(A.position)"``."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ...arrays import Array
from ...connections.formulas.expressions import OPERATIONS, Program, compile_expressions
from ...errors import ModelError
from ...model import Model
from .lookup import find
from .motion import Motion
from .output import Output, Source, number

__all__ = ["FormulaOutput", "formula_output", "is_formula"]

TIME = "t"
_CONSTANTS = ("pi", "e")


@dataclass(frozen=True, eq=False)
class FormulaOutput(Output):
    """Output that a formula computes from other outputs.

    Attributes
    ----------
    program : Program
        The formula.
    inputs : tuple of Output
        Outputs in it, in the order of the inputs of the program.
    """

    program: Program | None = None
    inputs: tuple[Output, ...] = ()


def is_formula(text: str) -> bool:
    """Return whether a text is a formula rather than a name: ``t``, or names with operators, numbers or functions."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return text.strip() == TIME or isinstance(tree, (ast.BinOp, ast.UnaryOp, ast.Constant)) or _is_function_call(tree)


def formula_output(model: Model, text: str, *, item: str) -> FormulaOutput:
    """Return the output of a formula of outputs and of the time t, s.

    Parameters
    ----------
    model : Model
    text : str
        As formulas of elements, with names of outputs that are one number.
    item : str
        Owner of the formula, for errors.

    Raises
    ------
    ModelError
        If a name in it is no output; lists similar names.

    Examples
    --------
    >>> from dalembert.library.mechanisms import slider_crank
    >>> model = slider_crank().compile()
    >>> [each.name for each in formula_output(model, "D.position - 0.1*cos(A.position)", item="event").inputs]
    ['D.position', 'A.position']
    """
    names = _OutputNames()
    body = names.visit(ast.parse(text.strip(), mode="eval").body)
    inputs = tuple(_input(model, name, text, item) for name in names.places)
    short = [f"_{k}" for k in range(len(inputs))]
    program = compile_expressions([ast.unparse(body)], short, item=item)
    _check_turns(program, inputs, text, item)

    def value(m: Motion) -> Array:
        own = inputs if m.model is model else tuple(_input(m.model, each.name, text, item) for each in inputs)
        return program.evaluate([each.value(m) for each in own])[0] + 0.0 * m.t

    needs = "dynamics" if any(each.needs == "dynamics" for each in inputs) else "speed"
    return FormulaOutput(text, "", None, "a formula of outputs", value, needs=needs, program=program, inputs=inputs)


class _OutputNames(ast.NodeTransformer):
    """Replace the names of outputs in a formula by those of inputs."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def _input(self, node: ast.expr) -> ast.expr:
        place = self.places.setdefault(ast.unparse(node), len(self.places))
        return ast.copy_location(ast.Name(f"_{place}", ast.Load()), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id in _CONSTANTS else self._input(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._input(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not _is_function_call(node):  # a point of a body: crank.at(0.1, 0, 0)
            return self._input(node)
        node.args = [self.visit(argument) for argument in node.args]
        return node


def _is_function_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _input(model: Model, name: str, text: str, item: str) -> Output:
    """Return the output of a name in a formula."""
    if name == TIME:
        return number(TIME, "s", "time", lambda m: m.t.copy(), source=Source("t", (0,)))
    try:
        found = find(model, name)
    except ModelError as error:
        raise ModelError(item, "output", text, f"{name!r} in it is not an output: {error.remedy}") from None
    if found.shape != ():
        raise ModelError(item, "output", text, f"{name!r} in it has several numbers: name one component")
    if found.history is not None:
        raise ModelError(item, "output", text, f"{name!r} in it depends on earlier states")
    return found


def _check_turns(program: Program, inputs: tuple[Output, ...], text: str, item: str) -> None:
    """Refuse angles known up to whole turns, except in sines and cosines: they jump by a turn."""
    code = {name: k for k, name in enumerate(OPERATIONS)}
    allowed = {code["sine"], code["cosine"], code["constant"], code["input"], code["lookup"]}
    for place, (operation, a, *_) in enumerate(program.instructions):
        if operation != code["input"] or not inputs[a].is_turn:
            continue
        taken = any(place in operands and used not in allowed for used, *operands in program.instructions)
        if taken or place in program.outputs:
            remedy = f"{inputs[a].name!r} in it is known up to whole turns, and jumps: use its sine and cosine"
            raise ModelError(item, "output", text, remedy)
