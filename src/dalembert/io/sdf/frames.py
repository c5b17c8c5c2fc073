"""Frames of SDF 1.7 and later (sdformat.org, Pose semantics): links, joints, frames, models, one relative to another.

    link            relative to its model, unless relative_to is given
    joint           relative to its child
    frame           relative to the part it is attached to: its model, unless attached_to is given
    nested model    relative to the model that contains it; a model's frame is fixed in its canonical link

Names within a nested model are prefixed by the name of the model, ``arm::hand``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from ...errors import ModelError
from ..xml_fields import name_of, suggestion
from ..xml_files import line_of
from .fields import Pose, pose_of, times, words

__all__ = ["Frames", "Part"]

_SEPARATOR = "::"


@dataclass(eq=False)
class Part:
    """Link, joint, frame or model, with the frame that its pose is relative to."""

    kind: str
    name: str
    scope: str
    element: Element
    relative_to: str
    attached_to: str = ""

    @property
    def item(self) -> str:
        """Name in messages."""
        return f"{self.kind} {self.name!r}"


@dataclass
class Frames:
    """All parts of a document by full name, and their poses in the world."""

    source: str
    parts: dict[str, Part] = field(default_factory=dict)
    known: dict[str, Pose] = field(default_factory=dict)

    def add_model(self, element: Element, scope: str) -> None:
        """Add a model with all its parts, including nested models."""
        waiting = [(element, scope)]
        while waiting:
            model, outer = waiting.pop(0)
            name = self._add("model", model, outer, outer)
            links = model.findall("link")
            for link in links:
                self._add("link", link, name, name)
            for joint in model.findall("joint"):
                self._add("joint", joint, name, self.full(words(joint, "child"), name))
            for frame in model.findall("frame"):
                attached = name_of(frame, "attached_to")
                held = self.full(attached, name) if attached else name
                self._add("frame", frame, name, held, held)
            nested = model.findall("model")
            waiting += [(inner, name) for inner in nested]
            own = name_of(model, "canonical_link")
            first = own or (name_of(links[0]) if links else name_of(nested[0]) if nested else "")
            self.parts[name].attached_to = self.full(first, name) if first else ""

    def _add(self, kind: str, element: Element, scope: str, relative_to: str, attached_to: str = "") -> str:
        name = name_of(element)
        if not name:
            raise ModelError(f"a {kind} of {self.source}", "name", None, f"give it one{line_of(element)}")
        full = f"{scope}{_SEPARATOR}{name}" if scope else name
        if full in self.parts:
            raise ModelError(f"{kind} {full!r}", "name", name, f"something else has this name{line_of(element)}")
        pose = element.find("pose")
        other = "" if pose is None else name_of(pose, "relative_to")
        self.parts[full] = Part(
            kind, full, scope, element, self.full(other, scope) if other else relative_to, attached_to
        )
        return full

    def full(self, name: str, scope: str) -> str:
        """Return the full name of a name within a model; empty for the world."""
        if name == "__model__":
            return scope
        if name == "world":
            return ""
        return f"{scope}{_SEPARATOR}{name}" if scope else name

    def part(self, name: str, *, item: str, field: str) -> Part:
        """Return a part by its full name; raise an error that names the referring item if it is missing."""
        if name not in self.parts:
            remedy = f"nothing has that name{suggestion(name, self.parts)}"
            raise ModelError(item, field, name, remedy)
        return self.parts[name]

    def pose(self, name: str, *, item: str, field: str = "relative_to") -> Pose:
        """Return the pose of a part in the world."""
        path: list[Part] = []
        while name and name not in self.known:
            part = self.part(name, item=item, field=field)
            if part in path:
                circle = " -> ".join(one.name for one in path)
                raise ModelError(part.item, "pose relative_to", circle, f"frames form a circle{line_of(part.element)}")
            path.append(part)
            item, field, name = part.item, "pose relative_to", part.relative_to
        for part in reversed(path):
            own = pose_of(part.element, item=part.item)
            self.known[part.name] = times(self.known[part.relative_to], own) if part.relative_to else own
        last = path[0].name if path else name
        return self.known[last] if last else pose_of(Element("world"), item=item)

    def link(self, name: str, *, item: str, field: str) -> str:
        """Return the full name of the link that a frame, joint or model is fixed in."""
        seen: list[str] = []
        while True:
            part = self.part(name, item=item, field=field)
            if part.kind == "link":
                return name
            if name in seen or not (part.attached_to or part.kind == "joint"):
                raise ModelError(item, field, name, f"{part.item} is fixed in no link{line_of(part.element)}")
            seen.append(name)
            name = self.full(words(part.element, "child"), part.scope) if part.kind == "joint" else part.attached_to
