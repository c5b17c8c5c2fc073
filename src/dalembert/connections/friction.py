"""Friction at a hinge coordinate.

Regularised laws creep while they should stick: below the slip speed the effort grows in proportion to the speed. The
law of LuGre sticks, on bristles.

Sources: B. Armstrong-Hélouvry, P. Dupont, C. Canudas de Wit, Automatica 30 (1994) 1083-1138; C. Canudas de Wit,
H. Olsson, K. J. Åström, P. Lischinsky, IEEE Trans. Autom. Control 40 (1995) 419-425.
"""

from __future__ import annotations

from ..errors import ModelError
from .checked import not_negative, positive
from .elements import Element

__all__ = ["CoulombFriction", "LuGreFriction", "StribeckFriction"]


class CoulombFriction(Element):
    """Dry and viscous friction: effort = -coulomb tanh(ds / slip_speed) - viscous ds.

    Parameters
    ----------
    coulomb : float, N m or N
        Effort of dry friction.
    viscous : float, N m s/rad or N s/m
    slip_speed : float, rad/s or m/s
        At 2.65 of it dry friction has 99 % of its value; a smaller one is nearer to Coulomb's law, and stiffer.

    Examples
    --------
    >>> import dalembert as da
    >>> da.CoulombFriction(2.0, viscous=0.1).parameters["slip_speed"]
    0.001
    """

    def __init__(self, coulomb: float, *, viscous: float = 0.0, slip_speed: float = 1e-3) -> None:
        item = self.kind
        numbers = not_negative(item, coulomb=coulomb, viscous=viscous) | positive(item, slip_speed=slip_speed)
        super().__init__("hinge", "-coulomb*tanh(ds/slip_speed) - viscous*ds", numbers)


class StribeckFriction(Element):
    """Friction that falls from its static to its sliding value as the speed grows.

    Parameters
    ----------
    static, coulomb : float, N m or N
        Effort of dry friction at the onset of sliding and in fast sliding; static is not below coulomb.
    stribeck_speed : float, rad/s or m/s
        v_s, over which it falls.
    viscous : float, N m s/rad or N s/m
    slip_speed : float, rad/s or m/s
        Well below the Stribeck speed.

    effort = -(coulomb + (static - coulomb) exp(-(ds/v_s)^2)) tanh(ds / slip_speed) - viscous ds
    """

    def __init__(
        self,
        static: float,
        coulomb: float,
        stribeck_speed: float,
        *,
        viscous: float = 0.0,
        slip_speed: float = 1e-4,
    ) -> None:
        item = self.kind
        numbers = not_negative(item, static=static, coulomb=coulomb, viscous=viscous)
        numbers |= positive(item, stribeck_speed=stribeck_speed, slip_speed=slip_speed)
        _falls(item, static, coulomb)
        super().__init__("hinge", "-dry*tanh(ds/slip_speed) - viscous*ds", numbers, definitions={"dry": _STRIBECK})


class LuGreFriction(Element):
    """Friction of bristles that bend, and slip when they are bent enough: it sticks, creeps before it slides, and lags.

    Parameters
    ----------
    static, coulomb : float, N m or N
        Effort of dry friction at the onset of sliding and in fast sliding; static is not below coulomb.
    stribeck_speed : float, rad/s or m/s
        v_s, over which it falls.
    bristle_stiffness : float, N m/rad or N/m
        sigma_0.
    bristle_damping : float, N m s/rad or N s/m
        sigma_1; about 2 sqrt(sigma_0 m) damps the bristles critically.
    viscous : float, N m s/rad or N s/m
        sigma_2.

    With the bend z and g(v) = coulomb + (static - coulomb) exp(-(v/v_s)^2):

        z' = v - sigma_0 |v| z / g(v),   effort = -(sigma_0 z + sigma_1 z' + sigma_2 v)

    In steady sliding the effort is -(g(v) sign v + sigma_2 v). It stores sigma_0 z^2 / 2. State: z.
    """

    def __init__(
        self,
        static: float,
        coulomb: float,
        stribeck_speed: float,
        *,
        bristle_stiffness: float,
        bristle_damping: float = 0.0,
        viscous: float = 0.0,
    ) -> None:
        item = self.kind
        numbers = positive(
            item,
            static=static,
            coulomb=coulomb,
            stribeck_speed=stribeck_speed,
            bristle_stiffness=bristle_stiffness,
        ) | not_negative(item, bristle_damping=bristle_damping, viscous=viscous)
        _falls(item, static, coulomb)
        super().__init__(
            "hinge",
            "-bristle_stiffness*z - bristle_damping*bend - viscous*ds",
            numbers,
            states={"z": (0.0, "bend")},
            energy="bristle_stiffness*z**2/2",
            definitions={"bend": f"ds - bristle_stiffness*abs(ds)*z/({_STRIBECK})"},
        )


_STRIBECK = "coulomb + (static - coulomb)*exp(-(ds/stribeck_speed)**2)"


def _falls(item: str, static: float, coulomb: float) -> None:
    if static < coulomb:
        raise ModelError(item, "static", static, f"it must not be below coulomb, {coulomb:.6g}")
