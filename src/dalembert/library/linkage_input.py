"""Checked drawing of a linkage: points, links, sliders, connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_array, shape_of, valid_name
from ..connections.joints import Joint
from ..errors import ModelError

__all__ = ["Drawing"]


_ITEM = "linkage"
DUPLICATE_TOL = 1e-9  # relative to the drawing's size: closer points coincide
_PLANES = ("xy", "xz", "yz")


@dataclass
class Drawing:
    """Checked drawing: points by name, links with ground first, and sliders."""

    points: dict[str, Array]
    links: dict[str, tuple[str, ...]]
    sliders: dict[str, tuple[str, Any]]
    joints: dict[str, tuple[Joint, Array]]
    axes: Array  # (3, 2) or (3, 3): world axes of the drawing
    size: float = 0.0
    at: dict[str, list[str]] = field(default_factory=dict)  # links that have a point

    @classmethod
    def of(cls, points: Any, links: Any, ground: Any, sliders: Any, joints: Any, plane: str) -> Drawing:
        for what, given in (("points", points), ("links", links), ("sliders", sliders), ("joints", joints)):
            if not isinstance(given, Mapping) or (not given and what in ("points", "links")):
                raise ModelError(_ITEM, what, given, "give a dict by name, with one or more")
        spatial = all(shape_of(p) == (3,) for p in points.values())
        if not spatial and (not isinstance(plane, str) or plane not in _PLANES):
            raise ModelError(_ITEM, "plane", plane, "use 'xy', 'xz' or 'yz'")
        n = 3 if spatial else 2
        places = {
            valid_name(p, item=_ITEM, field="point"): finite_array(x, (n,), item=f"point {p!r}", field="position")
            for p, x in points.items()
        }
        axes = np.eye(3) if spatial else np.eye(3)[:, ["xyz".index(letter) for letter in plane]]
        if "ground" in links:
            raise ModelError(_ITEM, "links", "ground", "ground is reserved: name its points by ground=")
        members = {"ground": _names("ground", ground, places)}
        members |= {valid_name(k, item=_ITEM, field="link"): _names(k, v, places) for k, v in links.items()}
        elements = {p: _joint(p, joint) for p, joint in joints.items()}
        new = cls(places, members, dict(sliders), elements, axes)
        new.size = float(max(np.ptp(list(places.values()), axis=0).max(), 0.0))
        for link, own in members.items():
            for p in own:
                new.at.setdefault(p, []).append(link)
        new.check_points()
        new.check_links()
        new.check_sliders()
        new.check_joints()
        new.check_ties()
        return new

    @property
    def spatial(self) -> bool:
        return self.axes.shape == (3, 3)

    @property
    def normal(self) -> Array:
        return np.cross(self.axes[:, 0], self.axes[:, 1])

    def check_points(self) -> None:
        for p in self.points:
            if p not in self.at:
                raise ModelError(
                    f"point {p!r}", "links", None, "neither a link nor ground has it: add it to one, or remove it"
                )
            if self.spatial and len(self.joined(p)) > 1 and p not in self.joints:
                remedy = f"in space {', '.join(self.at[p])} need a joint here, such as joints={{{p!r}: da.Spherical()}}"
                raise ModelError(f"point {p!r}", "joint", None, remedy)

    def check_links(self) -> None:
        for link, own in self.links.items():
            if link == "ground":
                continue
            for k, p in enumerate(own):
                for q in own[:k]:
                    length = float(np.linalg.norm(self.points[p] - self.points[q]))
                    if length <= DUPLICATE_TOL * self.size:
                        remedy = f"{q} and {p} coincide ({length:.3g} m apart): points of a link must differ"
                        raise ModelError(f"link {link!r}", "length", length, remedy)

    def check_sliders(self) -> None:
        for what, value in self.sliders.items():
            item = f"slider {what!r}"
            if (what in self.points) == (what in self.links) or what == "ground":
                raise ModelError(item, "name", what, "give the name of a point or of a link, not of both")
            if not isinstance(value, (tuple, list)) or len(value) != 2:
                raise ModelError(item, "guide", value, "give (guide, direction): ('ground', (1, 0)) or ('lever', 'C')")
            guide, towards = value
            if guide not in self.links or guide == what:
                raise ModelError(item, "guide", guide, f"give another link or ground: {', '.join(self.links)}")
            if what in self.points and what in self.links[guide]:
                raise ModelError(item, "guide", guide, f"{what} is a fixed point of it: remove it from its points")
            if isinstance(towards, str) and towards not in self.links[guide]:
                raise ModelError(
                    item, "direction", towards, f"give a point of {guide!r}, or a direction such as (1, 0)"
                )
            self.direction(what)

    def check_joints(self) -> None:
        for p in self.joints:
            if p not in self.points or len(self.joined(p)) < 2:
                raise ModelError(_ITEM, "joints", p, "give points at which links meet")

    def check_ties(self) -> None:
        """Raise for links without connection to ground."""
        reached, front = {"ground"}, ["ground"]
        ties = [(*self.at[p], *((self.sliders[p][0],) if p in self.sliders else ())) for p in self.points]
        ties += [(what, guide) for what, (guide, _) in self.sliders.items() if what in self.links]
        while front:
            link = front.pop()
            new = {other for tie in ties if link in tie for other in tie} - reached
            reached |= new
            front += sorted(new)
        for link in self.links:
            if link not in reached:
                remedy = "it is not connected to ground: share a point with a connected link, or name one by ground="
                raise ModelError(f"link {link!r}", "points", self.links[link], remedy)

    def joined(self, p: str) -> list[str]:
        """Return the bodies joined at a point: a slider block first, then links in order."""
        return [*([f"{p}_block"] if p in self.sliders else []), *self.at[p]]

    def reference(self, what: str) -> Array:
        """Return the sliding point: the named one, or the first of a link."""
        return self.points[what if what in self.points else self.links[what][0]]

    def direction(self, what: str) -> Array:
        """Return the unit vector of a slider in the drawing."""
        guide, towards = self.sliders[what]
        item = f"slider {what!r}"
        if isinstance(towards, str):
            along = self.reference(what) - self.points[towards]
            if np.linalg.norm(along) <= DUPLICATE_TOL * self.size:
                remedy = f"it coincides with {towards} of {guide!r}: the line has no direction; name another point"
                raise ModelError(item, "direction", towards, remedy)
        else:
            along = finite_array(towards, (self.axes.shape[1],), item=item, field="direction")
            if not along.any():
                raise ModelError(item, "direction", towards, "it must not be zero")
        return along / np.linalg.norm(along)

    def zero(self, what: str) -> Array:
        """Return the zero point on the line of a slider."""
        guide, towards = self.sliders[what]
        if isinstance(towards, str):
            return self.points[towards]
        own = self.links[guide]
        origin = np.zeros(self.axes.shape[1]) if guide == "ground" else self.points[own[0]]
        along, here = self.direction(what), self.reference(what)
        return here - along * ((here - origin) @ along)


def _names(link: str, given: Any, points: Mapping[str, Any]) -> tuple[str, ...]:
    item = f"link {link!r}" if link != "ground" else "ground"
    if isinstance(given, str) and len(given) > 1 and given in points:
        if all(letter in points for letter in given):
            raise ModelError(item, "points", given, f"the point {given!r} or its letters? Give a tuple: ({given!r},)")
        given = (given,)
    if not isinstance(given, Sequence) or (not given and link != "ground"):
        raise ModelError(item, "points", given, "give names of points, one or more")
    for p in given:
        if not isinstance(p, str) or p not in points:
            raise ModelError(item, "points", p, f"there is no such point: {', '.join(map(repr, points))}")
    if len(set(given)) < len(given):
        raise ModelError(item, "points", given, "name each point once")
    return tuple(given)


def _joint(p: str, given: Any) -> tuple[Joint, Array]:
    """Return a joint and its coordinates in the drawing."""
    item = f"point {p!r}"
    joint, start = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(joint, Joint):
        raise ModelError(item, "joint", given, "give a joint such as da.Spherical(), or a joint and its position")
    if start is None:
        q = np.zeros(joint.nq)
        q[[k for k, name in enumerate(joint.coordinates) if name == "qw"]] = 1.0
    else:
        q = finite_array([start] if shape_of(start) == () else start, (joint.nq,), item=item, field="position")
    if np.abs(joint.pose(q)[1]).max(initial=0.0) > 0:
        raise ModelError(item, "position", start, "links coincide at the point: displacements must be zero there")
    return joint, q
