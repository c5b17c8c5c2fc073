"""MJCF equalities: connected points, welds, joint and tendon couplings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...connections.constraints.couplings import Coupling, CustomCoupling
from ...connections.constraints.geometric import Distance, PointOnPoint
from ...connections.joints import Fixed
from ...rotation import quaternion
from .actuators import fixed_tendon, tendon_line

if TYPE_CHECKING:
    from .reader import Reading

__all__ = ["add_equalities"]


def add_equalities(reading: Reading) -> None:
    """Add all equalities that are active at the start."""
    model = reading.model
    for number in range(model.neq):
        kind = reading.kind("mjtEq", model.eq_type[number])
        own = reading.name("equality", number)
        label = f"equality {own or number!r} ({kind})"
        if reading.disabled("equality") or not model.eq_active0[number]:
            reading.omissions.append(f"{label}: it is switched off in the file")
            continue
        name = reading.claim(own, f"{kind} {number}", "equality")
        why = _ADDERS[kind](reading, number, name) if kind in _ADDERS else "this kind of equality is not supported"
        if why:
            reading.omissions.append(f"{label}: {why}")


def _ends(reading: Reading, number: int) -> tuple[int, int, bool]:
    """Return the indices of the two objects, and whether they are sites."""
    model = reading.model
    sites = int(model.eq_objtype[number]) == int(reading.compiled.mujoco.mjtObj.mjOBJ_SITE)
    return int(model.eq_obj1id[number]), int(model.eq_obj2id[number]), sites


def _sites(reading: Reading, a: int, b: int) -> tuple[Any, Any]:
    return reading.system.marker(reading.sites[a]), reading.system.marker(reading.sites[b])


def _tie(reading: Reading, name: str, element: Any, first: Any, second: Any) -> str:
    """Connect two markers; return the reason if they are on one body."""
    if first.body is second.body:
        return "both ends are on one body"
    reading.system.connect(name, element, first, second)
    return ""


def _connect(reading: Reading, number: int, name: str) -> str:
    a, b, sites = _ends(reading, number)
    data = [float(x) for x in reading.model.eq_data[number]]
    ends = _sites(reading, a, b) if sites else (reading.bodies[a].at(*data[:3]), reading.bodies[b].at(*data[3:6]))
    return _tie(reading, name, PointOnPoint(), *ends)


def _weld(reading: Reading, number: int, name: str) -> str:
    a, b, sites = _ends(reading, number)
    data = [float(x) for x in reading.model.eq_data[number]]
    if sites:
        return _tie(reading, name, Fixed(), *_sites(reading, a, b))
    first = reading.bodies[a].at(*data[3:6], rotation=quaternion(*data[6:10]))
    return _tie(reading, name, Fixed(), first, reading.bodies[b].origin)


def _polynomial(coefficients: list[float], of: str) -> str:
    """Return p0 + p1 (of) + ... as text, without zero terms."""
    terms = [f"({c!r})*({of})**{k}" if k else f"({c!r})" for k, c in enumerate(coefficients) if c]
    return " + ".join(terms) or "0"


def _joint(reading: Reading, number: int, name: str) -> str:
    """Add q1 - ref1 = p0 + p1 (q2 - ref2) + ... + p4 (q2 - ref2)^4."""
    model = reading.model
    a, b, _ = _ends(reading, number)
    p = [float(x) for x in model.eq_data[number][:5]]
    rest = [float(model.qpos0[model.jnt_qposadr[k]]) if k >= 0 else 0.0 for k in (a, b)]
    follower = reading.joints[a].name
    if b < 0:
        formula = f"s1 - ({rest[0] + p[0]!r})"
        reading.system.connect(name, CustomCoupling(formula, coordinates=1), follower)
        return ""
    leader = reading.joints[b].name
    if p[1] and not any(p[2:]):
        coupling = Coupling(p[1], rest[0] + p[0] - p[1] * rest[1])
        reading.system.connect(name, coupling, leader, follower)
        return ""
    formula = f"s1 - ({rest[0]!r}) - ({_polynomial(p, f's2 - ({rest[1]!r})')})"
    if not any(p[1:]):
        reading.system.connect(name, CustomCoupling(formula, coordinates=1), follower)
        return ""
    reading.system.connect(name, CustomCoupling(formula, coordinates=2), follower, leader)
    return ""


def _tendon(reading: Reading, number: int, name: str) -> str:
    """Add L1 - rest1 = p0 + p1 (L2 - rest2) + ..., for fixed tendons."""
    model = reading.model
    a, b, _ = _ends(reading, number)
    p = [float(x) for x in model.eq_data[number][:5]]
    sums, ends = [], list[str]()
    for k in (a, b):
        if k < 0:
            continue
        found = fixed_tendon(reading, k)
        if found is None:
            return _spatial(reading, number, name) if b < 0 else "a coupling of spatial tendons"
        for end in found:
            if end not in ends:
                ends.append(end)
        terms = " + ".join(f"({c!r})*s{ends.index(end) + 1}" for end, c in found.items())
        sums.append(f"({terms} - ({float(model.tendon_length0[k])!r}))")
    formula = f"{sums[0]} - ({_polynomial(p, sums[1]) if b >= 0 else repr(p[0])})"
    reading.system.connect(name, CustomCoupling(formula, coordinates=len(ends)), *ends)
    return ""


def _spatial(reading: Reading, number: int, name: str) -> str:
    """Add a tendon of constant length between two sites."""
    model = reading.model
    tendon = int(model.eq_obj1id[number])
    line = tendon_line(reading, tendon)
    if line.measure != "distance":
        return "a spatial tendon of constant length through more than two sites"
    length = float(model.tendon_length0[tendon]) + float(model.eq_data[number][0])
    reading.system.connect(name, Distance(length), *line.ends)
    return ""


_ADDERS = {"connect": _connect, "weld": _weld, "joint": _joint, "tendon": _tendon}
