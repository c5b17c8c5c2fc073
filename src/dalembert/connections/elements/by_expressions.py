"""Laws of elements that are part of another one: elements of the library by formulas, functions traced once."""

from __future__ import annotations

from ...errors import ModelError
from ..formulas.traced_functions import traced
from .built_in import ForceElement, SpringDamper
from .element import Element

__all__ = ["by_expressions"]


def by_expressions(item: str, what: str, element: ForceElement) -> Element:
    """Return the same element with a law in expressions.

    Parameters
    ----------
    item, what : str
        Of the user's item and its field, for errors.
    element : ForceElement
    """
    if isinstance(element, SpringDamper):
        numbers = {name: float(getattr(element, name)) for name in element.fields}
        return Element(
            "distance",
            "-stiffness*(s - length) - damping*ds",
            numbers,
            energy="stiffness*(s - length)**2/2",
        )
    if not isinstance(element, Element) or element.at_joint or not element.each_measure:
        raise ModelError(
            item, what, element.kind, "use elements that measure a distance, place or pose, one or several"
        )
    return element if element.program is not None else _traced(item, what, element)


def _traced(item: str, what: str, element: Element) -> Element:
    """Return an element with a function law as the same element with expressions."""
    function = element.written
    if function is None:
        raise ModelError(
            item, what, element.kind, "its law is compiled: write it in expressions, or as a Python function"
        )
    answer, parts = traced(function, element.input_names, item=f"{item}: {what}")
    answers = answer if isinstance(answer, list) else [answer]
    m, n, k = element.measures, len(element.states), len(element.signals)
    if len(answers) == element.output_count - 1:
        answers = [*answers[: m + n], "0", *answers[m + n :]]
    if len(answers) != element.output_count:
        raise ModelError(f"{item}: {what}", "function", len(answers), f"it must give {element.output_count} numbers")
    return Element(
        element.measure,
        answers[:m],
        element.parameters,
        {name: (element.starts[name], answers[m + i]) for i, name in enumerate(element.states)},
        answers[m + n],
        definitions=parts,
        active=element.active,
        inputs=element.inputs,
        signals=dict(zip(element.signals, answers[m + n + 1 : m + n + 1 + k], strict=True)),
    )
