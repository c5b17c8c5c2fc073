"""Common shape of the answers of analyses: success, message, notes, one line, report, Dataset.

A class that derives from `Answer` states its result in `_headline`. A class that derives from `ArrayAnswer` also lists
its arrays, from which `to_xarray` builds a Dataset. Answers that can be drawn define ``plot``; the others have no such
method. tests/package/test_answers.py builds one answer of each class.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    import xarray

__all__ = ["Answer", "ArrayAnswer", "count_text", "list_text", "range_text"]

MAX_REPR_LENGTH = 118  # characters: one line of a terminal or a notebook


class _Default:
    """Attribute of an instance, computed until the instance sets it.

    Access on the class raises AttributeError, so that dataclasses do not take it for the default of a field.
    """

    def __init__(self, value: Callable[[Any], Any], doc: str) -> None:
        self._value, self.__doc__ = value, doc

    def __get__(self, answer: Any, owner: type) -> Any:
        if answer is None:
            raise AttributeError("set on instances only")
        return self._value(answer)


class Answer:
    """Result of an analysis.

    Attributes
    ----------
    success : bool
        Whether the analysis reached its goal. True for functions that raise an error otherwise.
    message : str
        Outcome in one sentence; if `success` is False, the reason.
    notes : sequence of str
        Deviations from the request, and decisions that were made automatically.
    """

    if TYPE_CHECKING:

        @property
        def success(self) -> bool: ...
        @property
        def message(self) -> str: ...
        @property
        def notes(self) -> Sequence[str]: ...
    else:
        success = _Default(lambda answer: True, "Whether the analysis reached its goal.")
        message = _Default(lambda answer: answer._headline(), "Outcome in one sentence.")
        notes = _Default(lambda answer: (), "Deviations from the request.")

    def _headline(self) -> str:
        """Return the result in a few words: numbers with units."""
        raise NotImplementedError(type(self).__name__)

    def _subject(self) -> str:
        """Return the name of the system, or of the part, that the answer is about; may be empty."""
        model = getattr(self, "model", None) or getattr(getattr(self, "space", None), "model", None)
        return "" if model is None else str(model.system.name)

    def __repr__(self) -> str:
        subject = self._subject()
        head = f"{type(self).__name__} {subject!r}" if subject else type(self).__name__
        text = f"<{head}: {' '.join(self._headline().split())}>"
        return text if len(text) <= MAX_REPR_LENGTH else f"{text[: MAX_REPR_LENGTH - 4].rstrip(' ,;')} ...>"

    def __str__(self) -> str:
        subject = self._subject()
        head = f"{type(self).__name__} {subject!r}" if subject else type(self).__name__
        return "\n".join([f"{head}: {self._headline()}", *self._note_lines()])

    def _note_lines(self) -> list[str]:
        return [f"  note: {note}" for note in self.notes]

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        return f'<pre style="margin: 0; white-space: pre-wrap; max-width: 60em">{html.escape(str(self))}</pre>'


class ArrayAnswer(Answer):
    """Answer whose arrays form a Dataset.

    `_arrays` maps an attribute to its dimensions and unit. Leading dimensions that an array does not have, as those of
    a batch, are left out. Units that differ from entry to entry are empty.
    """

    _arrays: ClassVar[Mapping[str, tuple[tuple[str, ...], str]]] = {}

    def _axes(self) -> Mapping[str, tuple[Any, str]]:
        """Return labels and unit of dimensions, by dimension; others are numbered."""
        return model_axes(getattr(self, "model", None))

    def to_xarray(self) -> xarray.Dataset:
        """Return the arrays as an xarray Dataset, with units and the names of coordinates."""
        import xarray

        variables: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for name, (dims, unit) in self._arrays.items():
            value = getattr(self, name)
            if value is None:
                continue
            values = np.asarray(value)
            own = dims[len(dims) - values.ndim :]
            variables[name] = (own, values, {"units": unit} if unit else {})
            sizes |= dict(zip(own, values.shape, strict=True))
        axes = {"axis": (["x", "y", "z"], ""), **self._axes()}
        coords = {
            dim: (dim, np.asarray(labels), {"units": unit} if unit else {})
            for dim, (labels, unit) in axes.items()
            if sizes.get(dim) == len(labels)
        }
        # a variable named like a dimension is its coordinate
        variables = {name: one for name, one in variables.items() if name not in coords}
        attributes = {"title": self._subject() or type(self).__name__, "message": self.message}
        return xarray.Dataset(variables, coords, attributes)


def model_axes(model: Any) -> dict[str, tuple[Any, str]]:
    """Return labels of the dimensions of a model: coordinates, speeds, constraint rows, element states."""
    if model is None:
        return {}
    return {
        "coordinate": (list(model.coordinate_names), ""),
        "speed": (list(model.speed_names), ""),
        "row": (list(model.constraint_names), ""),
        "state": (list(model.state_names), ""),
    }


def list_text(texts: Iterable[str], most: int = 4) -> str:
    """Return the first few texts with commas between, and dots if there are more."""
    listed = list(texts)
    return ", ".join(listed[:most]) + ", ..." * (len(listed) > most)


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 row``, ``2 rows``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def range_text(values: Any, unit: str = "", form: str = ".4g") -> str:
    """Return the range of finite values with their unit: ``0.1 to 0.4 m``."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return "no finite values"
    low, high = finite.min(), finite.max()
    text = f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"
    return f"{text} {unit}".rstrip()
