"""Friction at a joint coordinate.

Regularised laws creep instead of sticking: below the slip speed the effort is proportional to the speed. The LuGre law
sticks.

Sources: B. Armstrong-Hélouvry, P. Dupont, C. Canudas de Wit, Automatica 30 (1994) 1083-1138; C. Canudas de Wit,
H. Olsson, K. J. Åström, P. Lischinsky, IEEE Trans. Autom. Control 40 (1995) 419-425.
"""

from __future__ import annotations

from ...checks import checked, not_negative, one_of, positive
from ...errors import ModelError
from ...rotation import unit_vector
from ..joints.joint import frame_with_z
from ..joints.load_friction import LoadFriction
from .element import Element
from .signals import Reaction, parts_in

__all__ = ["CoulombFriction", "JointFriction", "LuGreFriction", "StribeckFriction"]


class CoulombFriction(Element):
    """Regularized dry and viscous friction: effort = -coulomb tanh(ds / slip_speed) - viscous ds.

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
        super().__init__("joint", "-coulomb*tanh(ds/slip_speed) - viscous*ds", numbers)


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
        super().__init__("joint", "-dry*tanh(ds/slip_speed) - viscous*ds", numbers, definitions={"dry": _STRIBECK})


class LuGreFriction(Element):
    """LuGre bristle friction with sticking, presliding displacement and frictional lag.

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
            "joint",
            "-bristle_stiffness*z - bristle_damping*bend - viscous*ds",
            numbers,
            states={"z": (0.0, "bend")},
            energy="bristle_stiffness*z**2/2",
            definitions={"bend": f"ds - bristle_stiffness*abs(ds)*z/({_STRIBECK})"},
        )


@checked("axis")
class JointFriction(Element):
    """Dry friction proportional to the load that a joint transmits across its axis.

    Parameters
    ----------
    joint : str
        A revolute, prismatic, cylindrical or screw joint; the element is connected at its coordinate.
    coefficient : float
        mu.
    radius : float, m
        Of the journal: the effort is mu radius |F|. Left out for a slide: mu |F|.
    axis : str
        The axis of the joint in its second marker, ``"x"``, ``"y"`` or ``"z"``; F is the transmitted force across it.
    collar : float, m
        Mean radius of a thrust collar, at which the axial load causes friction too; not for a slide.
    half_length : float, m
        For a bearing that also carries moments across the axis: they press with M / half_length at its two ends.
    viscous : float, N m s/rad or N s/m
    slip_speed : float, rad/s or m/s
        At 2.65 of it friction has 99 % of its value.

    Regularised: it creeps. For friction that sticks see `load_friction` of joints (`LoadFriction`). The load depends on
    the friction; both are solved together at every evaluation (`Reaction`; Sol 1983, section 9.3).

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> rod = s.body("rod", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("pin", da.Revolute("y"), s.ground, rod)
    >>> _ = s.connect("friction", da.JointFriction("pin", 0.2, radius=0.02, axis="y"), "pin")
    """

    def __init__(
        self,
        joint: str,
        coefficient: float,
        *,
        radius: float | None = None,
        axis: str = "z",
        collar: float = 0.0,
        half_length: float | None = None,
        viscous: float = 0.0,
        slip_speed: float = 1e-3,
    ) -> None:
        item = self.kind
        one_of(item, "axis", axis, ("x", "y", "z"))
        law = LoadFriction(coefficient, radius, collar, half_length)
        numbers = {"mu": law.coefficient} | not_negative(item, viscous=viscous) | positive(item, slip=slip_speed)
        effort = law.effort("across", frame_with_z(unit_vector(axis, item=item, field="axis")), turns=True)
        super().__init__(
            "joint",
            f"-mu*({effort})*tanh(ds/slip) - viscous*ds",
            numbers | law.parameters,
            inputs={name: Reaction(joint, part) for name, part in parts_in(effort).items()},
        )


_STRIBECK = "coulomb + (static - coulomb)*exp(-(ds/stribeck_speed)**2)"


def _falls(item: str, static: float, coulomb: float) -> None:
    if static < coulomb:
        raise ModelError(item, "static", static, f"it must not be below coulomb, {coulomb:.6g}")
