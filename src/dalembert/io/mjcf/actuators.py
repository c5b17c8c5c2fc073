"""Tendons and actuators of MJCF as elements.

    fixed tendon                    L = sum of coefficient * coordinate        } up to 8 joints or
    spatial tendon through sites    L = length of the path, pulleys included   } sites
    its spring and damper           `SpringDamper` between two sites, else an `Element` along L
    actuator                        active `Element` along a joint, a tendon, or with the load of a site

MuJoCo's actuators (Todorov; mujoco.readthedocs.io, Computation, Actuation model), at length l = gear L:

    force = gain w + bias,   gain = g0 + g1 l + g2 l',   bias = b0 + b1 l + b2 l'
    w = u, or a state: w' = u (integrator), w' = (u - w) / tau (filter)

with u and the force within their ranges. `u` is a parameter of the element, ``"motor.u"``, that runs, events, sliders
and linearisation may change. Left out: tendons around spheres and cylinders, muscles, and others in the notes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...connections.elements.built_in import SpringDamper
from ...connections.elements.element import Element
from ...errors import listed

if TYPE_CHECKING:
    from .reader import Reading

__all__ = ["add_actuators", "add_tendons", "fixed_tendon", "tendon_line"]


@dataclass
class ActionLine:
    """Path that an element acts along: measures, their ends, and the length as an expression of the measures."""

    measure: str | tuple[str, ...]
    ends: tuple[Any, ...]
    length: str
    why_not: str = ""
    parameters: dict[str, float] = field(default_factory=dict)


def _unsupported(why: str) -> ActionLine:
    return ActionLine("joint", (), "", why)


def fixed_tendon(reading: Reading, tendon: int) -> dict[str, float] | None:
    """Return the coefficients of a fixed tendon by joint; None for a spatial tendon."""
    model = reading.model
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    found: dict[str, float] = defaultdict(float)
    for k in range(start, start + count):
        if reading.kind("mjtWrap", model.wrap_type[k]) != "joint":
            return None
        found[reading.joints[int(model.wrap_objid[k])].name] += float(model.wrap_prm[k])
    return dict(found)


def tendon_line(reading: Reading, tendon: int) -> ActionLine:
    """Return the path of a tendon, or the reason why there is none."""
    coefficients = fixed_tendon(reading, tendon)
    if coefficients is not None:
        if len(coefficients) > Element.most_ports:
            return _unsupported(
                f"it is a sum over {len(coefficients)} joints, an element has at most {Element.most_ports}"
            )
        length = " + ".join(f"({c!r})*s{k}" for k, c in enumerate(coefficients.values(), start=1))
        return ActionLine(("joint",) * len(coefficients), tuple(coefficients), length)
    return _spatial_line(reading, tendon)


def _spatial_line(reading: Reading, tendon: int) -> ActionLine:
    """Return the path through sites: its segments, each divided by the divisors of the pulleys before it."""
    model, system = reading.model, reading.system
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    pieces: list[tuple[str, str, float]] = []
    before, divisor = "", 1.0
    for k in range(start, start + count):
        kind = reading.kind("mjtWrap", model.wrap_type[k])
        if kind == "pulley":
            before, divisor = "", float(model.wrap_prm[k])
        elif kind == "site":
            site = reading.sites[int(model.wrap_objid[k])]
            if before:
                pieces.append((before, site, divisor))
            before = site
        else:
            return _unsupported(f"its path wraps around a {kind}")
    if len(pieces) == 1 and pieces[0][2] == 1.0:
        first, second = (system.marker(end) for end in pieces[0][:2])
        if first.body is not second.body:
            return ActionLine("distance", (first, second), "s")
    sites = list(dict.fromkeys(site for piece in pieces for site in piece[:2]))
    moving = [site for site in sites if system.marker(site).body is not system.ground]
    if not moving:
        return _unsupported("its path has only points of the world")
    if len(moving) > Element.most_ports:
        return _unsupported(
            f"its path has {len(moving)} moving sites, an element has at most {Element.most_ports} ends"
        )

    def place(site: str, axis: int) -> str:
        if site in moving:
            return f"{'xyz'[axis]}{moving.index(site) + 1}"
        return f"({float(system.marker(site).position[axis])!r})"

    def span(a: str, b: str, divisor: float) -> str:
        squares = " + ".join(f"({place(a, k)} - {place(b, k)})**2" for k in range(3))
        return f"sqrt({squares})/({divisor!r})"

    ends = (system.ground.origin, *(system.marker(site) for site in moving))
    return ActionLine(("place",) * len(moving), ends, " + ".join(span(*piece) for piece in pieces))


def add_tendons(reading: Reading) -> None:
    """Add springs and dampers of tendons, and note their other properties."""
    model = reading.model
    for tendon in range(model.ntendon):
        own = reading.name("tendon", tendon)
        label = f"tendon {own or tendon!r}"
        for what, given in (
            ("its range", model.tendon_limited[tendon] and not reading.disabled("limit")),
            ("its dry friction", model.tendon_frictionloss[tendon]),
            ("its armature", model.tendon_armature[tendon]),
            ("a polynomial of stiffness", np.any(getattr(model, "tendon_stiffnesspoly", np.zeros(tendon + 1))[tendon])),
            ("a polynomial of damping", np.any(getattr(model, "tendon_dampingpoly", np.zeros(tendon + 1))[tendon])),
        ):
            if given:
                reading.omissions.append(f"{label}: {what}")
        stiffness = 0.0 if reading.disabled("spring") else float(model.tendon_stiffness[tendon])
        damping = 0.0 if reading.disabled("damper") else float(model.tendon_damping[tendon])
        if not (stiffness or damping):
            continue
        line = tendon_line(reading, tendon)
        if line.why_not:
            reading.omissions.append(f"{label}: its spring and damper; {line.why_not}")
            continue
        name = reading.claim(own, f"tendon {tendon}", "tendon")
        low, high = (float(x) for x in model.tendon_lengthspring[tendon])
        reading.system.connect(name, _spring(line, stiffness, damping, low, high), *line.ends)


def _spring(line: ActionLine, stiffness: float, damping: float, low: float, high: float) -> Any:
    """Return a spring without force from `low` to `high`."""
    if line.measure == "distance" and low == high:
        return SpringDamper(stiffness, damping, low)
    stretch = "L - low" if low == high else "max(L - high, 0) + min(L - low, 0)"
    return Element(
        line.measure,
        "-k*u - c*dL",
        {"k": stiffness, "c": damping, "low": low, "high": high},
        energy="k*u**2/2",
        strains={"L": line.length},
        definitions={"u": stretch},
    )


# ---- actuators


def add_actuators(reading: Reading) -> None:
    """Add actuators; unsupported ones are noted by kind."""
    model = reading.model
    refused: dict[str, list[str]] = defaultdict(list)
    for k in range(getattr(model, "nactuator", model.nu)):
        own = reading.name("actuator", k)
        why = "it is switched off in the file" if reading.disabled("actuation") else _add_actuator(reading, k, own)
        if why:
            refused[why].append(own or str(k))
    for why, names in refused.items():
        reading.omissions.append(f"actuator {listed(names)}: {why}")


def _add_actuator(reading: Reading, k: int, own: str) -> str:
    """Add an actuator; return the reason if it is not supported."""
    model = reading.model
    kinds = [
        reading.kind(enumeration, values[k])
        for enumeration, values in (
            ("mjtDyn", model.actuator_dyntype),
            ("mjtGain", model.actuator_gaintype),
            ("mjtBias", model.actuator_biastype),
        )
    ]
    dynamics, gain, bias = kinds
    if dynamics not in ("none", "integrator", "filter", "filterexact"):
        return f"dynamics of the kind {dynamics}"
    if gain not in ("fixed", "affine") or bias not in ("none", "affine"):
        return f"gain and bias of the kinds {gain} and {bias}"
    for what, values in (
        ("its armature", getattr(model, "actuator_armature", None)),
        ("its own damping", getattr(model, "actuator_damping", None)),
        ("its delay", getattr(model, "actuator_delay", None)),
    ):
        if values is not None and np.any(values[k]):
            return what
    line = _actuator_line(reading, k)
    if line.why_not:
        return line.why_not
    name = reading.claim(own, f"actuator {k}", "actuator")
    if line.measure == "pose":
        return _add_wrench(reading, k, name, line)
    law = _law(reading, k, dynamics)
    gear = float(model.actuator_gear[k][0])
    element = Element(
        line.measure,
        "gear*force",
        {**law.parameters, "gear": gear},
        states=law.states,
        definitions={"l": "gear*L", "dl": "gear*dL", **law.definitions},
        strains={"L": line.length},
        active=True,
        inputs={"u": 0.0},
    )
    reading.system.connect(name, element, *line.ends)
    return ""


def _actuator_line(reading: Reading, k: int) -> ActionLine:
    model = reading.model
    kind, target = reading.kind("mjtTrn", model.actuator_trntype[k]), int(model.actuator_trnid[k][0])
    if kind in ("joint", "jointinparent"):
        if reading.kind("mjtJoint", model.jnt_type[target]) not in ("hinge", "slide"):
            return _unsupported("it acts at a joint with several degrees of freedom")
        return ActionLine("joint", (reading.joints[target].name,), "s")
    if kind == "tendon":
        return tendon_line(reading, target)
    if kind == "site":
        if int(model.actuator_trnid[k][1]) >= 0:
            return _unsupported("it acts between two sites")
        site = reading.system.marker(reading.sites[target])
        if site.body is reading.system.ground:
            return _unsupported("it acts on the world")
        return ActionLine("pose", (site, reading.system.ground.origin), "")
    return _unsupported(f"a transmission of the kind {kind}")


@dataclass
class Law:
    """Return the scalar force of an actuator, named ``force``."""

    definitions: dict[str, str]
    states: dict[str, tuple[float, str]]
    parameters: dict[str, float]


def _law(reading: Reading, k: int, dynamics: str) -> Law:
    model = reading.model
    g, b = ([float(x) for x in values[k][:3]] for values in (model.actuator_gainprm, model.actuator_biasprm))
    if reading.kind("mjtGain", model.actuator_gaintype[k]) == "fixed":
        g = [g[0], 0.0, 0.0]
    if reading.kind("mjtBias", model.actuator_biastype[k]) == "none":
        b = [0.0, 0.0, 0.0]
    numbers = {f"{letter}{n}": x for letter, values in (("g", g), ("b", b)) for n, x in enumerate(values) if x}

    def affine(letter: str) -> str:
        terms = [f"{letter}{n}{times}" for n, times in enumerate(("", "*l", "*dl")) if f"{letter}{n}" in numbers]
        return " + ".join(terms) or "0"

    parts = {"command": _within(model.actuator_ctrlrange[k], "u") if model.actuator_ctrllimited[k] else "u"}
    states: dict[str, tuple[float, str]] = {}
    if dynamics == "none":
        parts["w"] = "command"
    else:
        rate = "command" if dynamics == "integrator" else "(command - w)/tau"
        if dynamics != "integrator":
            numbers["tau"] = max(float(model.actuator_dynprm[k][0]), 1e-15)
        if model.actuator_actlimited[k]:
            low, high = (float(x) for x in model.actuator_actrange[k])
            parts["rate"] = rate
            rate = f"where(w > {high!r}, min(rate, 0), where(w < {low!r}, max(rate, 0), rate))"
        states["w"] = (0.0, rate)
    parts["whole"] = f"({affine('g')})*w + {affine('b')}"
    limited = bool(model.actuator_forcelimited[k])
    parts["force"] = _within(model.actuator_forcerange[k], "whole") if limited else "whole"
    return Law(parts, states, numbers)


def _within(bounds: Any, what: str) -> str:
    low, high = (float(x) for x in bounds)
    return f"max({low!r}, min({high!r}, {what}))"


def _add_wrench(reading: Reading, k: int, name: str, line: ActionLine) -> str:
    """Add an actuator that exerts force and moment on a site along its axes, as a thruster does."""
    model = reading.model
    law = _law(reading, k, reading.kind("mjtDyn", model.actuator_dyntype[k]))
    if any(number in law.parameters for number in ("g1", "g2", "b1", "b2")):
        return "its force depends on the motion of the site"
    f = [f"({float(x)!r})*force" for x in model.actuator_gear[k][:3]]
    m = [f"({float(x)!r})*force" for x in model.actuator_gear[k][3:]]
    # on the world, the second end, at (x, y, z) of the site: minus the force, and minus its moment there
    forces = [f"-({part})" for part in f]
    forces += [f"y*({f[2]}) - z*({f[1]}) - ({m[0]})", f"z*({f[0]}) - x*({f[2]}) - ({m[1]})"]
    forces += [f"x*({f[1]}) - y*({f[0]}) - ({m[2]})"]
    element = Element(
        "pose",
        tuple(forces),
        law.parameters,
        states=law.states,
        definitions=law.definitions,
        active=True,
        inputs={"u": 0.0},
    )
    reading.system.connect(name, element, *line.ends)
    return ""
