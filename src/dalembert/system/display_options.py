"""Options of drawings, animations and scenes, as dataclasses; users give them as keyword arguments.

`keywords_of` shows the fields of such a dataclass in the signature and the docstring of a function with ``**options``.
The typed dictionaries give type checkers the same fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from numpy.typing import ArrayLike

from ..checks import checked, finite_number
from ..errors import ModelError

if TYPE_CHECKING:
    from ..result import Result

__all__ = [
    *("AnimationKeywords", "AnimationOptions", "DrawKeywords", "DrawOptions", "PictureKeywords", "SceneKeywords"),
    *("SceneOptions", "deformation_factor", "keywords_of"),
]

Function = TypeVar("Function", bound=Callable[..., Any])


@checked(*("labels", "markers", "trace", "forces", "velocities", "accelerations", "inertia"), item="draw")
@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Options of a drawing.

    Attributes
    ----------
    view : str
        ``"xy"``, ``"xz"``, ``"yz"``, ``"3d"``; ``"auto"`` is the plane of motion if there is one, else ``"3d"``.
    ax : matplotlib axes
        Axes to draw on; those of a new figure if left out.
    labels : bool
        Write the names of bodies and joints; if left out, unless there are too many.
    markers : True or points
        Points to mark: markers, bodies, or names such as ``"coupler.at(0.2, 0, 0)"``; True for all named markers.
    trace : points
        Points whose paths are drawn.
    forces : dict of point to (3,) N
        Arrows at points, in world axes, to a common scale.
    velocities, accelerations : dict of point to (3,) m/s, m/s2
        Arrows at points, in world axes, each kind to a common scale; `Result.draw` takes them from the motion.
    inertia : bool
        Draw bodies without a shape as homogeneous boxes of their mass and inertia, instead of lines between joints.
    exaggerate : float
        Factor of all deformations of flexible bodies. In trees the bodies beyond them move along; with loops joints
        stay in place. Thin grey lines show the undeformed bodies.
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    """

    view: str = "auto"
    ax: Any = None
    labels: bool | None = None
    markers: bool | Iterable[Any] = ()
    trace: Iterable[Any] = ()
    forces: Mapping[Any, ArrayLike] | None = None
    velocities: Mapping[Any, ArrayLike] | None = None
    accelerations: Mapping[Any, ArrayLike] | None = None
    inertia: bool = False
    exaggerate: float = 1.0
    path: Any = None


@checked("trace", "inertia", item="animate")
@dataclass(frozen=True, kw_only=True)
class AnimationOptions:
    """Options of an animation.

    Attributes
    ----------
    view : str
        As for `draw`.
    fps : float, 1/s
        Frames per second.
    speed : float
        Seconds of motion shown in a second.
    trace : points
        Points whose paths are drawn as they move: markers, bodies, names such as ``"coupler.at(0.2, 0, 0)"``.
    size : (2,) inches
        Width and height, with 100 pixels per inch.
    inertia : bool
        As for `draw`.
    exaggerate : float
        Factor of all deformations of flexible bodies, as for `draw`.
    """

    view: str = "auto"
    fps: float = 30.0
    speed: float = 1.0
    trace: Iterable[Any] = ()
    size: tuple[float, float] | None = None
    inertia: bool = False
    exaggerate: float = 1.0


@checked("plots", "arrows", "trace", "compare", "inertia", "colors", item="view")
@dataclass(frozen=True, kw_only=True)
class SceneOptions:
    """Options of a scene in the browser.

    Attributes
    ----------
    view : str
        As for `draw`.
    fps : float, 1/s
        Stored poses for each second shown; the page interpolates between them.
    speed : float
        Seconds of motion shown in a second.
    trace : points
        Points whose paths are drawn: markers, bodies, names such as ``"coupler.at(0.2, 0, 0)"``.
    plots : names
        Outputs plotted below the scene, with a line at the time shown.
    arrows : names
        Vectors shown at their points of action: ``"D.force"``, ``"D.moment"``, ``"coupler.velocity"``.
    compare : dict of name to Result
        Further motions of systems with the same bodies and joints, shown faintly.
    inertia : bool
        Show bodies without a shape as boxes of their mass and inertia.
    exaggerate : float
        Factor of all deformations of flexible bodies.
    colors : str
        Quantity that colours flexible bodies: ``"stress"`` (von Mises) or ``"displacement"``.
    """

    view: str = "auto"
    fps: float = 30.0
    speed: float = 1.0
    trace: Iterable[Any] = ()
    plots: Sequence[str] = ()
    arrows: Sequence[str] = ()
    compare: Mapping[str, Result] | None = None
    inertia: bool = False
    exaggerate: float = 1.0
    colors: str = ""

    def __post_init__(self) -> None:
        for name in ("trace", "plots", "arrows"):
            value = getattr(self, name)
            object.__setattr__(self, name, [value] if isinstance(value, str) else list(value))


class PictureKeywords(TypedDict, total=False):
    """Keyword arguments of `Result.draw`; see `DrawOptions`."""

    view: str
    ax: Any
    labels: bool | None
    markers: bool | Iterable[Any]
    trace: Iterable[Any]
    forces: Mapping[Any, ArrayLike] | None
    inertia: bool
    exaggerate: float
    path: Any


class DrawKeywords(PictureKeywords, total=False):
    """Keyword arguments of `System.draw`; see `DrawOptions`."""

    velocities: Mapping[Any, ArrayLike] | None
    accelerations: Mapping[Any, ArrayLike] | None


class AnimationKeywords(TypedDict, total=False):
    """Keyword arguments of `Result.animate`; see `AnimationOptions`."""

    view: str
    fps: float
    speed: float
    trace: Iterable[Any]
    size: tuple[float, float] | None
    inertia: bool
    exaggerate: float


class SceneKeywords(TypedDict, total=False):
    """Keyword arguments of `Result.view` and `Result.export`; see `SceneOptions`."""

    view: str
    fps: float
    speed: float
    trace: Iterable[Any]
    plots: Sequence[str]
    arrows: Sequence[str]
    compare: Mapping[str, Result] | None
    inertia: bool
    exaggerate: float
    colors: str


def keywords_of(options: type) -> Callable[[Function], Function]:
    """Return a decorator that lists the fields of a dataclass as keyword arguments of a function.

    The signature shows them instead of ``**options``, except for those that the function has itself. The line
    ``{options}`` in its docstring becomes their descriptions.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = {n: p for n, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD}
        more = [p for n, p in inspect.signature(options).parameters.items() if n not in own]
        function.__signature__ = signature.replace(parameters=[*own.values(), *more])  # type: ignore[attr-defined]
        head, _, tail = (function.__doc__ or "").partition("{options}")
        if tail:
            _, _, described = inspect.getdoc(options).partition("----------\n")  # type: ignore[union-attr]
            entries = re.findall(r"^\S.*(?:\n +.*)*", described, flags=re.M)
            kept = [e for e in entries if not set(re.split(r"[ ,]+", e.partition(" : ")[0])) & set(own)]
            indent = " " * (len(head) - len(head.rstrip(" ")))
            function.__doc__ = head + "\n".join(kept).replace("\n", "\n" + indent) + tail
        return function

    return decorate


def deformation_factor(exaggerate: Any) -> float:
    """Return the factor of deformations.

    Raises
    ------
    ModelError
        If it is no finite number, or negative.
    """
    factor = finite_number(exaggerate, item="picture", field="exaggerate")
    if factor < 0:
        raise ModelError("picture", "exaggerate", exaggerate, "it must not be negative: 1 is the true deformation")
    return factor
