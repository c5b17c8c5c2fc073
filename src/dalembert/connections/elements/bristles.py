"""Friction of one point of contact in formulas: bristles that stick, or friction that creeps.

With the normal force N, its elastic part P = stiffness d^n, the tangential stiffness k, the velocity u of sliding, and
the deflection z of the bristle, of length |z| and direction e (Dupont, Hayward, Armstrong, Altpeter 2002)

    z' = u - w(k |z| / (mu N)) (u . e)+ e,     w(r) = (1 + tanh((r - 1)/0.02))/2                                   (1)
    F = -(k z + (1 - w) k T z'),  at most mu N;     T = 1 ms                                                      (2)

(`core/contact/contact_law.hpp` has the same law with pieces in place of the hyperbolic tangent.) At rest z' = 0 only
for u = 0: nothing creeps, however long a load below mu N lasts. As a contact opens, a bristle that is longer than
L / k, L = mu P, shrinks with it; while it is open the bristle is released within 10 ms. It stores k |z|^2 / 2, beyond L
as much as a force L does. Where normals turn, it turns with them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bristle", "regularized"]

_TIME, _RELEASE = "0.001", "0.01"  # s: damping; release while open
_WIDTH = "0.02"  # of the limit, over which a bristle becomes plastic
_LEAST = "1e-9"  # m: limits of smaller deflections are widened; depth at which a contact is open
_SLOW = "1e-16"  # (m/s)^2: where the positive part of a velocity is rounded


@dataclass(frozen=True)
class Bristle:
    """Friction of one point of contact.

    Attributes
    ----------
    force : names of its components on the second body
    definitions, states : of the element
    energy : str
        What it stores, with its sign; empty if nothing.
    """

    force: tuple[str, ...]
    definitions: dict[str, str]
    states: dict[str, tuple[float, str]]
    energy: str

    @classmethod
    def of_point(
        cls, velocity: tuple[str, ...], number: str, share: str, normal: tuple[str, ...], turn: tuple[str, ...]
    ) -> Bristle:
        """Return the bristle of a point.

        Parameters
        ----------
        velocity : names of the components of u
        number : str
            Of the point, behind the names d, rate and push, and of new ones.
        share : str
            Its part of the stiffness.
        normal, turn : names of components
            The normal and its rate, where it turns.
        """
        axes = "xyz"[: len(velocity)]
        k = "tangential_stiffness"

        def mine(label: str) -> str:
            return f"{label}{number}"

        z, e, f = ([mine(f"{label}{i}") for i in axes] for label in ("b", "e", "f"))
        held, slid = ([mine(f"{label}{i}") for i in axes] for label in ("t", "g"))
        depth, rate, push = mine("d"), mine("rate"), mine("push")
        along = _dot(z, normal) if normal else ""
        parts: dict[str, str] = {}
        if normal:
            parts = {t: f"{each} - ({along})*{n}" for t, each, n in zip(held, z, normal, strict=True)}
        else:
            held = z
        L, touch, w, load = mine("bound"), mine("touch"), mine("plastic"), mine("load")
        parts |= {
            mine("limit"): f"friction*{push}",
            L: f"friction*{share}*stiffness*{depth}**exponent",
            mine("reach"): f"sqrt({_dot(held, held)} + 1e-40)",
            load: f"{k}*{mine('reach')}",
            touch: f"{depth}*{depth}/({depth}*{depth} + {_LEAST}*{_LEAST})",
            w: f"0.5 + 0.5*tanh(({load}/({mine('limit')} + {k}*{_LEAST}) - 1)/{_WIDTH})",
        }
        parts |= {one: f"{each}/{mine('reach')}" for one, each in zip(e, held, strict=True)}
        parts |= {
            mine("out"): _dot(velocity, e),
            mine("outward"): f"0.5*({mine('out')} + sqrt({mine('out')}*{mine('out')} + {_SLOW}))",
            mine("closing"): (
                f"{touch}*exponent*friction*{share}*stiffness*({depth} + {_LEAST})**(exponent - 1)*{rate}"
            ),
            mine("shrinks"): (
                f"(0.5 + 0.5*tanh(({load}/({L} + {k}*{_LEAST}) - 1.1)/{_WIDTH}))"
                f"*({mine('closing')} - sqrt({mine('closing')}*{mine('closing')} + 1e-12))/{k}"
            ),
        }
        parts |= {
            each: f"{touch}*({u} - {w}*{mine('outward')}*{one})" for each, u, one in zip(slid, velocity, e, strict=True)
        }
        raw = [f"({k}*({each} + {_TIME}*(1 - {w})*{g}))" for each, g in zip(held, slid, strict=True)]
        parts[mine("whole")] = f"sqrt({_dot(raw, raw)} + 1e-40)"
        parts[mine("kept")] = f"min(1, {mine('limit')}/{mine('whole')})"
        parts |= {one: f"-{mine('kept')}*{each}" for one, each in zip(f, raw, strict=True)}
        rates = [
            f"{g} + {touch}*{mine('shrinks')}*{one} - (1 - {touch})*{each}/{_RELEASE}"
            for g, one, each in zip(slid, e, z, strict=True)
        ]
        if normal:
            off = f"({_dot(turn, held)} + ({along})/{_RELEASE})"
            rates = [f"{each} - {n}*{off}" for each, n in zip(rates, normal, strict=True)]
        states = {name: (0.0, each) for name, each in zip(z, rates, strict=True)}
        elastic = f"min({load}, {L})"
        return cls(tuple(f), parts, states, f" + {elastic}*({load} - 0.5*{elastic})/{k}")


def regularized(velocity: tuple[str, ...], number: str) -> Bristle:
    """Return friction proportional to the velocity below the slip speed; parameters as of `Bristle.of_point`."""
    drag, force = f"drag{number}", tuple(f"f{i}{number}" for i in "xyz"[: len(velocity)])
    parts = {drag: f"friction*push{number}/sqrt({_dot(velocity, velocity)} + slip_speed*slip_speed)"}
    parts |= {name: f"-{drag}*{u}" for name, u in zip(force, velocity, strict=True)}
    return Bristle(force, parts, {}, "")


def _dot(a: list[str] | tuple[str, ...], b: list[str] | tuple[str, ...]) -> str:
    return " + ".join(f"{one}*{two}" for one, two in zip(a, b, strict=True))
