"""Surfaces of bodies in contact: friction, restitution and stiffness of the material."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..checks import finite_number, one_of, set_fields
from ..errors import ModelError

__all__ = ["HERTZ_EXPONENT", "Surface", "check_contact_numbers"]

HERTZ_EXPONENT = 1.5  # of N = k d^n, for smooth bodies of finite curvature
RULES = ("smaller", "larger")


@dataclass(frozen=True)
class Surface:
    """Surface of a body, for contacts; surfaces of equal data are the same surface.

    Parameters
    ----------
    friction : float
        Coulomb's coefficient against a surface without one of its own.
    restitution : float
        e of Newton's law, 0 (plastic) to 1 (elastic).
    young, poisson : float, Pa and 1
        Modulus and ratio of the material. Contacts of the surface are then compliant.
    name : str
        Distinguishes surfaces of equal data, and is used in notes.
    rule : str
        Friction of two surfaces for which `System.pair` gives none: ``"smaller"`` of the two; ``"larger"`` if both
        surfaces have this rule, as in MuJoCo's files.

    Examples
    --------
    >>> import dalembert as da
    >>> steel = da.Surface(friction=0.2, restitution=0.6, name="steel")
    >>> s = da.System("table")
    >>> s.body("ball", da.sphere(0.1, mass=1.0), surface=steel).surface.friction
    0.2
    """

    friction: float | None = None
    restitution: float | None = None
    young: float | None = None
    poisson: float | None = None
    name: str = ""
    rule: str = "smaller"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError("surface", "name", self.name, "give a text")
        item = f"surface {self.name!r}" if self.name else "surface"
        one_of(item, "rule", self.rule, RULES)
        given = {name: getattr(self, name) for name in ("friction", "restitution", "young", "poisson")}
        set_fields(self, **check_contact_numbers(item, **given))

    @property
    def label(self) -> str:
        """Name, or its data, for notes."""
        if self.name:
            return repr(self.name)
        numbers = [f"{key} {value:.6g}" for key in _NUMBERS if isinstance(value := getattr(self, key), float)]
        return f"({', '.join(numbers) or 'no data'})"


_NUMBERS = ("friction", "restitution", "young", "poisson")


def check_contact_numbers(item: str, **numbers: Any) -> dict[str, float | None]:
    """Return the data of a contact or a surface as floats, None where they are left out.

    Raises
    ------
    ModelError
        If a number is out of its range, or two of them contradict each other.
    """
    found = {
        name: None if value is None else finite_number(value, item=item, field=name) for name, value in numbers.items()
    }
    for name, value in found.items():
        if value is None:
            continue
        if name in ("stiffness", "exponent", "young", "depth", "at_speed") and value <= 0.0:
            raise ModelError(item, name, value, "it must be above zero")
        if name in ("friction", "static_friction", "rounding", "rolling", "spin") and value < 0.0:
            raise ModelError(item, name, value, "it must not be negative")
        if name == "restitution" and not 0.0 <= value <= 1.0:
            raise ModelError(item, name, value, "it lies between 0 (plastic) and 1 (elastic)")
        if name == "poisson" and not -1.0 < value <= 0.5:
            raise ModelError(item, name, value, "it lies between -1 and 0.5")
    if found.get("poisson") is not None and found.get("young") is None:
        raise ModelError(item, "poisson", found["poisson"], "give young too: the ratio alone makes no stiffness")
    _check_friction(item, found)
    _check_stiffness(item, found)
    return found


def _check_friction(item: str, found: dict[str, float | None]) -> None:
    static, friction = found.get("static_friction"), found.get("friction")
    if static is None:
        return
    if friction is None:
        raise ModelError(item, "static_friction", static, "give friction too: the coefficient of sliding")
    if static < friction:
        raise ModelError(item, "static_friction", static, f"it must be at least friction, {friction:.6g}")


def _check_stiffness(item: str, found: dict[str, float | None]) -> None:
    given = [name for name in ("stiffness", "young", "depth") if found.get(name) is not None]
    if len(given) > 1:
        remedy = f"give one of stiffness, young and depth; {' and '.join(given)} are given"
        raise ModelError(item, given[0], found[given[0]], remedy)
    exponent = found.get("exponent")
    if exponent is None or exponent == HERTZ_EXPONENT:
        return
    if given == ["young"]:
        raise ModelError(item, "exponent", exponent, "young makes a contact by Hertz with 1.5: leave it out")
    if not given:
        raise ModelError(item, "exponent", exponent, "give stiffness or depth too, or leave it out")
