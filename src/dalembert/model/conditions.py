"""What may differ between two evaluations of one model: parameters, locks, closures that do not hold, control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import finite_array, finite_number
from ..connections.elements.plain import HingeSpring, Limits, SpringDamper
from ..errors import ModelError
from .history import History
from .hosted import Host
from .sampled import Answers, Sampled

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Conditions"]

_NOT_NEGATIVE = ("stiffness", "damping", "length", "friction", "coefficient", "radius", "collar", "half_length")

Array = NDArray[np.float64]


class Conditions(_core.Conditions):
    """The conditions under which a model is evaluated; constant, made by `Model.conditions`.

    Attributes
    ----------
    model : Model
    parameters : (n,)
        Numbers of the elements, in the order of ``model.parameter_names``.
    locked : frozenset of int
        Freedoms that are held: places among the speeds of the trees, then among those of cut hinges, from nv on.
    off : frozenset of str
        Closures that do not hold.
    control : callable, Sampled or None
        From a `State` to hinge forces.
    answers : Answers or None
        What a sampled control has answered, in a run.
    history : History or None
        Of a run, for inputs with a delay.
    sliding : frozenset of int
        Thresholds of laws, by number, along which the motion slides: both branches act, mixed so that it stays there.
    stabilization : (float, float)
        Baumgarte's 2 alpha and beta^2; zero: none.
    given, paced, placed : (nv,) bool
        Freedoms whose acceleration, whose speed, whose position drives and locks prescribe.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("swing")
    >>> bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=10.0), "A")
    >>> model = s.compile()
    >>> softer = model.conditions(parameters={"k.stiffness": 5.0})
    >>> model.forward_dynamics([0.2], [0.0]) - model.forward_dynamics([0.2], [0.0], conditions=softer)
    array([-1.5])
    """

    def __init__(
        self,
        model: Model,
        parameters: Array,
        locked: frozenset[int] = frozenset(),
        off: frozenset[str] = frozenset(),
        *,
        control: Callable[..., Any] | Sampled | None = None,
        history: History | None = None,
        stabilization: tuple[float, float] = (0.0, 0.0),
        answers: Answers | None = None,
        sliding: frozenset[int] = frozenset(),
    ) -> None:
        if isinstance(control, Sampled):
            answers = Answers(model.nv) if answers is None else answers
        asked = None if isinstance(control, Sampled) else control
        active = [name not in off for name in model.closure_names] if off else []
        host = Host(model, asked, history) if asked is not None or model.hosted else None
        super().__init__(
            model,
            np.ascontiguousarray(parameters, dtype=float),
            sorted(locked),
            active,
            host,
            asked is not None,
            *stabilization,
            answers,
            sorted(sliding),
        )
        self.model, self.parameters, self.locked, self.off = model, parameters, locked, off
        self.control, self.history, self.stabilization, self.answers = control, history, stabilization, answers
        self.host, self.sliding = host, sliding

    @property
    def _how(self) -> dict[str, Any]:
        names = ("control", "history", "stabilization", "answers", "sliding")
        return {name: getattr(self, name) for name in names}

    def changed(self, **changes: Any) -> Conditions:
        """Return the conditions with other parameters, locked freedoms, closures that are off, and so on."""
        given = {"parameters": self.parameters, "locked": self.locked, "off": self.off}
        return Conditions(self.model, **{**given, **self._how, **changes})

    def with_parameter(self, name: str, value: float, *, item: str = "conditions") -> Conditions:
        """Return the conditions with one number changed: ``"k.stiffness"``."""
        parameters = self.parameters.copy()
        parameters[parameter_place(self.model, name, item)] = checked_parameter(self.model, name, value, item)
        return self.changed(parameters=parameters)

    def with_lock(self, hinge: str, on: bool, *, item: str = "conditions") -> Conditions:
        """Return the conditions with a hinge held, or free again."""
        freedoms = locked_freedoms(self.model, [hinge], item) if on else frozenset(_freedoms(self.model, hinge))
        return self.changed(locked=self.locked | freedoms if on else self.locked - freedoms)

    def with_switch(self, connection: str, on: bool, *, item: str = "conditions") -> Conditions:
        """Return the conditions with a constraint, or a hinge that closes a loop, holding or not."""
        mind_closure(self.model, connection, item)
        return self.changed(off=self.off - {connection} if on else self.off | {connection})

    @property
    def as_described(self) -> bool:
        """Whether they are none but those of the description."""
        plain = not (self.locked or self.off or self.control or self.history or self.sliding or any(self.stabilization))
        return plain and np.array_equal(self.parameters, self.model.parameters)

    def holds(self) -> NDArray[np.bool_]:
        """Return which constraint rows hold, (nc,)."""
        return np.array([name not in self.off for name in self.model.constraint_connections], dtype=bool)

    def plain(self) -> tuple[list[Any], ...]:
        """Return parameters, locked freedoms, closures that are off and, if any, sliding thresholds, as lists."""
        always = [float(p) for p in self.parameters], sorted(self.locked), sorted(self.off)
        return (*always, sorted(self.sliding)) if self.sliding else always

    def like(self, plain: Sequence[Any]) -> Conditions:
        """Return the conditions with what `plain` of others has told; control and history stay."""
        parameters, *marks = plain
        locked, off, sliding = map(frozenset, (*marks, *[()] * (3 - len(marks))))
        return self.changed(parameters=np.array(parameters, dtype=float), locked=locked, off=off, sliding=sliding)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.model, self.parameters, self.locked, self.off, self._how)


def _restored(model: Model, *given: Any) -> Conditions:
    *plain, how = given
    return Conditions(model, *plain, **how)


def _freedoms(model: Model, hinge: str) -> range:
    span = model.v_slice(hinge)
    return range(span.start, span.stop)


def parameter_place(model: Model, name: str, item: str) -> int:
    """Return where a parameter stands, or say which there are."""
    places = model.parameter_names
    if name not in places:
        known = ", ".join(map(repr, list(places)[:8])) or "this model has none"
        raise ModelError(item, "parameter", name, f"known are: {known}")
    return places[name]


def checked_parameter(model: Model, name: str, value: Any, item: str) -> float:
    """Return a number that a parameter may have."""
    number = finite_number(value, item=item, field=f"parameter {name!r}")
    owner, _, label = name.rpartition(".")
    force = model.system.forces.get(owner)
    plain = force is None or isinstance(force.element, (SpringDamper, HingeSpring, Limits))
    if number < 0 and plain and label in _NOT_NEGATIVE:
        raise ModelError(item, f"parameter {name!r}", value, "it must not be negative")
    return number


def locked_freedoms(model: Model, hinges: Iterable[str], item: str) -> frozenset[int]:
    """Return the freedoms of hinges that are to be locked."""
    driven = {freedom for drive in model.hinge_drives for freedom in model.driven_freedoms(drive)}
    freedoms: set[int] = set()
    for hinge in hinges:
        mine = set(_freedoms(model, hinge))
        if mine & driven:
            raise ModelError(item, "lock", hinge, "it is driven: a drive and a lock contradict each other")
        freedoms |= mine
    return frozenset(freedoms)


def mind_closure(model: Model, connection: str, item: str) -> None:
    """Refuse what closes no loop."""
    if connection in model.closure_names:
        return
    remedy = f"only what closes loops can be switched: {', '.join(map(repr, model.closure_names)) or 'there is none'}"
    if connection in model.hinge_names:
        remedy += "; a hinge of the tree can be locked and released"
    raise ModelError(item, "switch", connection, remedy)


def parameter_vector(model: Model, given: Any, item: str) -> Array:
    """Return parameters (n,): as described, with those changed that are given by name."""
    if given is None:
        return model.parameters.copy()
    if isinstance(given, dict):
        parameters = model.parameters.copy()
        for name, value in given.items():
            parameters[parameter_place(model, name, item)] = checked_parameter(model, name, value, item)
        return parameters
    array: ArrayLike = given
    return finite_array(array, (len(model.parameters),), item=item, field="parameters")
