"""Formulas of ropes over pulleys: spans, sections, tensions and loads, from the parts of a route.

Names end with the number of the span they belong to (``l1``), of the section (``T1``), or of the part of the route
(``theta2``); the equations are at the head of `connections.elements.pulleys`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..formulas.expressions import Formula
from ..formulas.marker_axes import marker_axis

__all__ = ["MARGIN", "Formulas", "Node", "route_formulas"]

MARGIN = 1.0005  # of the least distance of centers: below it pulleys overlap
_EXCESS = 0.01  # of the tension beyond the limit of Euler and Eytelwein, at which the rope slips with the slip speed
_LEAST = 1e-9  # of the stiffness: tension below which slip has no scale
_CORNER = 1e-5  # of the tension: width of the onset of slip
_REST = 1e-6  # m/s: speed below which rope comes from both sides of a pulley
_TAUT = 1e-6  # strain at which half of the damping acts
_STRETCH = 1.0  # strain beyond which a rope is too short


@dataclass(frozen=True)
class Node:
    """Part of a route: a point, a pulley that grips the rope or on which it is free, a drum at an end, a sprocket."""

    kind: str
    number: int
    side: int = 0
    radius: float = 0.0
    friction: float = math.inf
    least: float = 0.0
    teeth: int = 0
    phase: float = 0.0

    @property
    def label(self) -> str:
        """Name in messages."""
        return {"point": "point", "sprocket": f"sprocket of radius {self.radius:.6g} m"}.get(
            self.kind, f"pulley of radius {self.radius:.6g} m"
        )

    @property
    def arc_ratio(self) -> float:
        """Length of rope on it over that of the arc."""
        return math.sin(math.pi / self.teeth) * self.teeth / math.pi if self.teeth else 1.0

    @property
    def slips(self) -> bool:
        """Whether the rope may slip on it."""
        return self.kind == "grip" and self.friction != math.inf

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of the element that belong to it."""
        own = {f"radius{self.number}": self.radius} if self.side else {}
        return own | ({f"friction{self.number}": self.friction} if self.slips else {})

    @property
    def arm(self) -> str:
        """Signed radius; empty of a point."""
        return f"{'' if self.side > 0 else '-'}radius{self.number}" if self.side else ""


class _Span(NamedTuple):
    number: int
    first: Node
    last: Node

    @property
    def in_plane(self) -> bool:
        """Whether it ends at a pulley."""
        return bool(self.first.side or self.last.side)


class _Section(NamedTuple):
    number: int
    spans: list[_Span]

    @property
    def first(self) -> Node:
        return self.spans[0].first

    @property
    def last(self) -> Node:
        return self.spans[-1].last

    @property
    def inner(self) -> list[tuple[_Span, Node, _Span]]:
        """Pulleys without friction, between their spans."""
        return [(a, a.last, b) for a, b in itertools.pairwise(self.spans)]


class Formulas(NamedTuple):
    """Parts of an element over pulleys."""

    forces: tuple[str, ...]
    states: dict[str, tuple[float, str]]
    energy: str
    definitions: dict[str, Any]
    signals: dict[str, str]


def route_formulas(nodes: Sequence[Node], closed: bool, fed: bool, heavy: bool) -> Formulas:
    """Return the formulas of a route.

    Parameters
    ----------
    nodes : sequence of Node
    closed : bool
        The last part is followed by the first.
    fed : bool
        A winch at the first end pays out rope.
    heavy : bool
        The rope has weight.
    """
    return _Route(nodes, closed, fed, heavy).formulas()


class _Route:
    def __init__(self, nodes: Sequence[Node], closed: bool, fed: bool, heavy: bool) -> None:
        self.nodes, self.closed, self.fed, self.heavy = nodes, closed, fed, heavy
        pairs = list(itertools.pairwise(nodes)) + ([(nodes[-1], nodes[0])] if closed else [])
        self.spans = [_Span(k + 1, *pair) for k, pair in enumerate(pairs)]
        self.sections = self._divided()
        self.before = {section.last.number: section for section in self.sections}
        self.behind = {section.first.number: section for section in self.sections}
        self.into = {span.last.number: span for span in self.spans}
        self.out = {span.first.number: span for span in self.spans}
        self.is_constant = not fed and not any(node.kind in ("drum", "sprocket") for node in nodes)
        self.parts: dict[str, Any] = {}

    def _divided(self) -> list[_Section]:
        spans = self.spans
        starts = [k for k, span in enumerate(spans) if span.first.kind in ("grip", "sprocket")]
        if self.closed and starts:  # begin at the first pulley that grips
            spans = spans[starts[0] :] + spans[: starts[0]]
        groups: list[list[_Span]] = []
        for span in spans:
            if not groups or span.first.kind in ("grip", "sprocket"):
                groups.append([])
            groups[-1].append(span)
        return [_Section(k + 1, group) for k, group in enumerate(groups)]

    def formulas(self) -> Formulas:
        self.parts["nan"] = Formula(lambda program, names: program.constant(math.nan))
        for span in self.spans:
            self._geometry(span)
        for node in self.nodes:
            self._contact(node)
        for section in self.sections:
            self._lengths(section)
        self._rest()
        for section in self.sections:
            self._strain(section)
        for node in self.nodes:
            self._passage(node)
        for section in self.sections:
            self._tension(section)
        states = self._states()
        forces = self._forces()
        signals = {f"tension{s.number}": f"T{s.number}" for s in self.sections} | {"distance": "path"}
        signals |= {f"angle{n.number}": f"theta{n.number}" for n in self.nodes if f"theta{n.number}" in self.parts}
        signals |= {f"slip{n.number}": f"u{n.number}" for n in self.nodes if n.slips}
        energy = [f"stiffness*in{k.number}*in{k.number}*rest{k.number}/2" for k in self.sections]
        if self.heavy:
            energy += [f"density*rest{k.number}*high{k.number}" for k in self.sections]
            if self.store:
                energy.append(f"-density*({_sum(states)})*{self._height(self.store)}")
        return Formulas(forces, states, _sum(energy), self.parts, signals)

    def _geometry(self, span: _Span) -> None:
        k, i, j = span.number, span.first.number, span.last.number
        parts = {
            **{f"d{x}{k}": f"{x}{j} - {x}{i}" for x in "xyz"},
            **{f"dv{x}{k}": f"v{x}{j} - v{x}{i}" for x in "xyz"},
        }
        if not span.in_plane:
            parts[f"c{k}"] = f"sqrt(dx{k}*dx{k} + dy{k}*dy{k} + dz{k}*dz{k})"
            parts[f"drift{k}"] = f"(dx{k}*dvx{k} + dy{k}*dvy{k} + dz{k}*dvz{k})/c{k}"
            self.parts |= parts
            return
        parts |= {
            f"rho{k}": _sum([span.last.arm, f"-({span.first.arm})" if span.first.side else ""]),
            f"square{k}": f"dx{k}*dx{k} + dy{k}*dy{k}",
            f"l{k}": f"sqrt(where(square{k} > {MARGIN**2!r}*rho{k}*rho{k}, square{k} - rho{k}*rho{k}, nan))",
            f"ex{k}": f"(l{k}*dx{k} + rho{k}*dy{k})/square{k}",
            f"ey{k}": f"(l{k}*dy{k} - rho{k}*dx{k})/square{k}",
            f"c{k}": f"sqrt(l{k}*l{k} + dz{k}*dz{k})",
            f"level{k}": f"l{k}/c{k}",
            f"psi{k}": f"(dvy{k}*ex{k} - dvx{k}*ey{k})/l{k}",
            f"drift{k}": f"level{k}*(dvx{k}*ex{k} + dvy{k}*ey{k} + rho{k}*psi{k}) + dz{k}*dvz{k}/c{k}",
        }
        self.parts |= parts

    def _contact(self, node: Node) -> None:
        """Add the angle of contact of a pulley; of a sprocket also the arms of the chain."""
        n = node.number
        if not node.side or node.kind == "drum":
            return
        a, b = self.into[n].number, self.out[n].number
        middle = node.least + math.pi  # seen from the middle of its range, the angle has no jump within
        sine, cosine = math.sin(middle), math.cos(middle)
        self.parts[f"cross{n}"] = f"{node.side}*(ex{a}*ey{b} - ey{a}*ex{b})"
        self.parts[f"dot{n}"] = f"ex{a}*ex{b} + ey{a}*ey{b}"
        self.parts[f"theta{n}"] = (
            f"atan2({cosine!r}*cross{n} - {sine!r}*dot{n}, {cosine!r}*dot{n} + {sine!r}*cross{n}) + {middle!r}"
        )
        if node.kind != "sprocket":
            return
        self.parts |= marker_axis("x", "a", n)
        for label, k in (("in", a), ("out", b)):
            # the chain touches at side (ey, -ex)
            cross, dot = f"ey{k}*ay{n} + ex{k}*ax{n}", f"ey{k}*ax{n} - ex{k}*ay{n}"
            if node.side < 0:
                cross, dot = f"-({cross})", f"-({dot})"
            # z times the angle of a roller from there; its distance from the next whole turn has no jump
            self.parts[f"mesh_{label}{n}"] = f"{node.teeth}*(atan2({cross}, {dot}) + {node.phase!r})"
            mesh = f"mesh_{label}{n}"
            self.parts[f"f_{label}{n}"] = f"atan2(abs(sin({mesh})), cos({mesh}))/{node.teeth}"
            self.parts[f"arm_{label}{n}"] = f"{node.arm}*cos(f_{label}{n})"

    def _arcs(self, section: _Section, what: str) -> list[str]:
        """Return the lengths of the arcs of a section, or their rates."""

        def arc(node: Node, a: _Span, b: _Span, part: str) -> str:
            if what == "length":
                return f"{part}radius{node.number}*theta{node.number}"
            return (
                f"{part}{node.arm}*(psi{b.number} - psi{a.number})"
                if part
                else (f"({node.arm})*(psi{b.number} - psi{a.number})")
            )

        terms = [arc(node, a, b, "") for a, node, b in section.inner]
        for node in (section.first, section.last):
            if node.kind == "grip":
                terms.append(arc(node, self.into[node.number], self.out[node.number], "0.5*"))
        return terms

    def _lengths(self, section: _Section) -> None:
        k = section.number
        self.parts[f"s{k}"] = _sum([f"c{span.number}" for span in section.spans] + self._arcs(section, "length"))
        self.parts[f"ds{k}"] = _sum([f"drift{span.number}" for span in section.spans] + self._arcs(section, "rate"))
        if self.heavy:
            for span in section.spans:
                i, j = span.first.number, span.last.number
                self.parts[f"high{k}_{span.number}"] = "-(" + _sum(f"g{x}*({x}{i} + {x}{j})/2" for x in "xyz") + ")"
            self.parts[f"free{k}"] = _sum(f"c{span.number}" for span in section.spans)
            total = _sum(f"c{span.number}*high{k}_{span.number}" for span in section.spans)
            self.parts[f"high{k}"] = f"({total})/free{k}"

    def _rest(self) -> None:
        """Add the unloaded lengths: in proportion to the sections, and what has passed since the start."""
        self.parts["path"] = _sum(f"s{k.number}" for k in self.sections)
        self.parts["dpath"] = _sum(f"ds{k.number}" for k in self.sections)
        sprockets = [node for node in self.nodes if node.kind == "sprocket"]
        on = [f"-{node.radius * node.arc_ratio!r}*theta{node.number}" for node in sprockets]
        rates = [
            f"-{node.side * node.radius * node.arc_ratio!r}"
            f"*(psi{self.out[node.number].number} - psi{self.into[node.number].number})"
            for node in sprockets
        ]
        self.parts["whole"] = _sum(["length", *on])
        self.parts["share"] = "whole/path"
        self.parts["dshare"] = f"({_sum([*rates, '-share*dpath'])})/path"
        last = self.sections[-1].number
        for section in self.sections:
            k = section.number
            if k == last and self.is_constant:
                passed = [f"-n{other.number}" for other in self.sections[:-1]]
            else:
                passed = [f"n{k}"]
            self.parts[f"rest{k}"] = _sum([f"share*s{k}", *passed])
            self.parts[f"drest{k}"] = f"share*ds{k} + dshare*s{k}"  # of the first part

    def _strain(self, section: _Section) -> None:
        k = section.number
        self.parts[f"strain{k}"] = f"where(rest{k} > 0, s{k}/rest{k} - 1, nan)"
        limit = repr(_STRETCH)
        self.parts[f"in{k}"] = f"where(strain{k} > {limit}, nan, max(strain{k}, 0))"

    def _tension(self, section: _Section) -> None:
        k = section.number
        rates = [f"ds{k}"]
        for node, way, sign in ((section.first, "out", "-"), (section.last, "in", "")):
            if node.kind in ("grip", "drum", "sprocket"):
                rates.append(f"{sign}{self._roll(node, way)}")
                rates += [f"{sign}u{node.number}"] if node.slips else []
        if self.fed and k == 1:
            rates.append(f"-feed*(1 + in{k})")
        self.parts[f"stretch{k}"] = _sum(rates)
        self.parts[f"T{k}"] = f"in{k}*max(stiffness + damping*stretch{k}/(rest{k}*(in{k} + {_TAUT!r})), 0)"

    def _roll(self, node: Node, way: str) -> str:
        """Return the name of the speed of a pulley's surface along the rope, on the side where it comes or goes."""
        n = node.number
        name = f"roll_{way}{n}" if node.kind == "sprocket" else f"roll{n}"
        if name not in self.parts:
            spans = [span[n].number for span in (self.into, self.out) if n in span]
            if node.kind == "sprocket":
                k = (self.into if way == "in" else self.out)[n].number
                self.parts[name] = f"arm_{way}{n}*(wz{n} - psi{k})"
            else:
                mean = f"psi{spans[0]}" if len(spans) == 1 else f"0.5*(psi{spans[0]} + psi{spans[1]})"
                self.parts[name] = f"{node.arm}*(wz{n} - {mean})"
        return name

    @property
    def store(self) -> Node | None:
        """The end with rope that is wound up; the rope that left it since the start is the sum of all n."""
        found = [node for node in self.nodes if node.kind == "drum"] + ([self.nodes[0]] if self.fed else [])
        return found[0] if found else None

    def _passage(self, node: Node) -> None:
        """Add the unloaded length that passes a part in a second, q, and what it needs."""
        n = node.number
        if node.kind == "sprocket":
            for way, section in (("in", self.before[n]), ("out", self.behind[n])):
                self.parts[f"q_{way}{n}"] = f"{self._roll(node, way)}/(1 + in{section.number}/2)"
        elif node.kind == "drum":
            section = self.behind[n] if n in self.behind else self.before[n]
            self.parts[f"fill{n}"] = f"1 + in{section.number}/2"
            self.parts[f"q{n}"] = f"{self._roll(node, '')}/fill{n}"
            if self.heavy:
                sign = "" if n in self.behind else "-"
                self.parts[f"lift{n}"] = f"{sign}density*(high{section.number} - {self._height(node)})/fill{n}"
        elif node.kind == "grip":
            a, b = self.before[n].number, self.behind[n].number
            roll = self._roll(node, "")
            if node.slips:
                self._slip(node, a, b)
            self.parts[f"v{n}"] = f"{roll} + u{n}" if node.slips else roll
            self.parts[f"sense{n}"] = f"v{n}/sqrt(v{n}*v{n} + {_REST**2!r})"
            self.parts[f"fill{n}"] = f"1 + (in{a} + in{b})/2 + sense{n}*(in{a} - in{b})/2"
            self.parts[f"q{n}"] = f"v{n}/fill{n}"
            if self.heavy:
                self.parts[f"lift{n}"] = f"density*(high{b} - high{a})/fill{n}"

    def _slip(self, node: Node, a: int, b: int) -> None:
        n = node.number
        here = f" + density*({self._height(node)} - high{{}})" if self.heavy else ""
        lost = f" - density*{self._roll(node, '')}*{self._roll(node, '')}"
        for k in (a, b):
            self.parts[f"press{n}_{k}"] = f"max(stiffness*in{k}{here.format(k)}{lost}, 0)"
        one, two = f"press{n}_{a}", f"press{n}_{b}"
        self.parts[f"euler{n}"] = f"exp(friction{n}*max(theta{n}, 0))"
        for label, high, low in (("fore", two, one), ("back", one, two)):
            over = f"over_{label}{n}"
            self.parts[over] = f"1 - euler{n}*{low}/({high} + {_LEAST!r}*stiffness)"
            self.parts[f"{label}{n}"] = f"{over} + sqrt({over}*{over} + {_CORNER**2!r})"
        self.parts[f"u{n}"] = f"{0.5 / _EXCESS!r}*slip_speed*(fore{n} - back{n})"

    def _height(self, node: Node) -> str:
        """Return the potential, J/kg, at the center of a part."""
        n = node.number
        return f"(-gx*x{n} - gy*y{n} - gz*z{n})"

    def _states(self) -> dict[str, tuple[float, str]]:
        """Return the lengths that passed since the start, with their rates."""
        found = {}
        for section in self.sections[: -1 if self.is_constant else None]:
            first, last = section.first, section.last
            terms = []
            for node, way, sign in ((first, "out", ""), (last, "in", "-")):
                if node.kind in ("grip", "drum"):
                    terms.append(f"{sign}q{node.number}")
                elif node.kind == "sprocket":
                    terms.append(f"{sign}q_{way}{node.number}")
            if self.fed and section.number == 1:
                terms.append("feed")
            terms.append(f"-drest{section.number}")
            found[f"n{section.number}"] = (0.0, _sum(terms))
        return found

    def _forces(self) -> tuple[str, ...]:
        """Return the loads on all parts, by the power of (2)."""
        place: dict[int, list[list[str]]] = {node.number: [[], [], []] for node in self.nodes}
        for section in self.sections:
            T = f"T{section.number}"
            for span in section.spans:
                k = span.number
                pull = T
                if self.heavy:
                    own = f"high{section.number}_{k} - high{section.number}"
                    self.parts[f"line{section.number}"] = f"density*rest{section.number}/free{section.number}"
                    pull = f"pull{k}"
                    self.parts[pull] = f"{T} + line{section.number}*({own})"
                for axis, load in enumerate(self._pull(section, span, pull, T)):
                    name = f"P{'xyz'[axis]}{k}"
                    self.parts[name] = load
                    place[span.last.number][axis].append(f"-{name}")
                    place[span.first.number][axis].append(name)
                    if self.heavy:
                        half = f"0.5*g{'xyz'[axis]}*line{section.number}*c{k}"
                        for end in (span.first, span.last):
                            place[end.number][axis].append(half)
        forces: list[str] = []
        for node in self.nodes:
            if self.heavy and node is self.store:
                wound = _sum(f"n{section.number}" for section in self.sections)
                for axis, name in enumerate("xyz"):
                    place[node.number][axis].append(f"-density*({wound})*g{name}")
            forces += [_sum(terms) for terms in place[node.number]]
            if node.kind != "point":
                forces += ["0", "0", _sum(self._torque(node))]
        return tuple(forces)

    def _pull(self, section: _Section, span: _Span, pull: str, T: str) -> list[str]:
        """Return the force on the first part of a span."""
        k = span.number
        if not span.in_plane:
            return [f"{pull}*d{x}{k}/c{k}" for x in "xyz"]
        about = [f"{pull}*level{k}*rho{k}"]  # conjugate to psi, beside the pull
        for node, way, sign in ((span.first, "out", ""), (span.last, "in", "-")):
            if not node.side:
                continue
            arm = f"arm_{way}{node.number}" if node.kind == "sprocket" else f"({node.arm})"
            about.append(f"{sign}{T}*{arm}")
            if self.heavy and node.kind in ("grip", "drum"):
                part = "0.5*" if node.kind == "grip" else ""
                about.append(f"-{part}lift{node.number}*{arm}")
        self.parts[f"X{k}"] = f"({_sum(about)})/l{k}"
        along = f"{pull}*level{k}"
        return [
            f"{along}*ex{k} - X{k}*ey{k}",
            f"{along}*ey{k} + X{k}*ex{k}",
            f"{pull}*dz{k}/c{k}",
        ]

    def _torque(self, node: Node) -> list[str]:
        n = node.number
        if node.kind not in ("grip", "drum", "sprocket"):
            return []
        terms = []
        for way, sign, sections in (("in", "-", self.before), ("out", "", self.behind)):
            if n in sections:
                arm = f"arm_{way}{n}" if node.kind == "sprocket" else f"({node.arm})"
                terms.append(f"{sign}T{sections[n].number}*{arm}")
        if self.heavy and node.kind in ("grip", "drum"):
            terms.append(f"-lift{n}*({node.arm})")
        return terms


def _sum(terms: Iterable[str]) -> str:
    """Return the sum of terms as text; empty terms are left out."""
    text = ""
    for term in terms:
        if term:
            text += f" - {term[1:]}" if text and term.startswith("-") else f" + {term}" if text else term
    return text or "0"
