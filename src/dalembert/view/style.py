"""Style of pictures, and writing of picture files."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingPackageError, ModelError
from ..files.safe_files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    *("FAINT", "INK", "PALETTE", "PAPER"),
    *(
        "add_grid",
        "axes_for",
        "figure",
        "legend_beside",
        "legible",
        "panel",
        "panels",
        "plain_log",
        "save",
        "styled",
        "tint",
    ),
    "written",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours that colour-blind readers can distinguish (Okabe and Ito), in the order of use."""

INK, FAINT, PAPER = "#222222", "#8C8C8C", "#FFFFFF"
MAX_LUMINANCE = 0.72  # of white: lighter lines are invisible on paper

_RULES = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.3,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.parse_math": False,  # names given by users are no formulas
}
_blocks: list[list[Any]] = []  # figures of the open `styled` blocks


def matplotlib() -> Any:
    """Return matplotlib.

    Raises
    ------
    MissingPackageError
    """
    try:
        return importlib.import_module("matplotlib")
    except ImportError as error:
        raise MissingPackageError("pictures", "matplotlib", "pip install matplotlib") from error


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of the package inside this block; restore the user's settings after it.

    Other settings are left alone, also those that a backend makes when it is loaded inside the block: the backend of a
    notebook makes pyplot interactive, without which no figure appears below a cell.
    """
    _load_notebook_backend()
    settings = matplotlib().rcParams
    rules = _RULES | {"axes.prop_cycle": matplotlib().cycler(color=PALETTE)}
    before = {key: settings[key] for key in rules}
    settings.update(rules)
    _blocks.append([])
    try:
        yield
    finally:
        settings.update(before)
        pictures = _blocks.pop()
        if _blocks:
            _blocks[-1].extend(pictures)
        else:
            for picture in pictures:
                _give_back_formulas(picture)


def _noted(picture: Any) -> Any:
    """Return a figure, stored as one of the open block."""
    if _blocks and picture not in _blocks[-1]:
        _blocks[-1].append(picture)
    return picture


def _give_back_formulas(picture: Any) -> None:
    """Allow formulas again in texts without one, such as a title that the user sets later."""
    from matplotlib.text import Text

    if matplotlib().rcParams["text.parse_math"]:
        for text in picture.findobj(Text):
            if "$" not in text.get_text():
                text.set_parse_math(True)


def plain_log(axis: Any) -> None:
    """Label a logarithmic axis in plain numbers: formulas are not parsed here."""
    from matplotlib.ticker import LogFormatter, NullFormatter

    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(NullFormatter())


def _load_notebook_backend() -> None:
    """Load the backend of an IPython session, which reads and changes the user's settings."""
    shell = sys.modules.get("IPython")
    if shell is not None and shell.get_ipython() is not None:
        with contextlib.suppress(ImportError):  # a backend that cannot be loaded is reported where a figure is shown
            importlib.import_module("matplotlib.pyplot").draw_if_interactive()


def figure(width: float, height: float, *, shown: bool = False) -> Any:
    """Return an empty figure (inches).

    Parameters
    ----------
    shown : bool
        True for a figure of ``pyplot.show()`` or a notebook; False for one that is only written to a file and does not
        change the state of pyplot.
    """
    matplotlib()
    if shown:
        from matplotlib import pyplot

        return _noted(pyplot.figure(figsize=(width, height)))
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = _noted(Figure(figsize=(width, height)))
    FigureCanvasAgg(picture)
    return picture


@contextlib.contextmanager
def panel(ax: Any, path: Any, width: float, height: float, *, solid: bool = False) -> Iterator[Axes]:
    """Yield the user's axes, or those of a new figure (inches), in the style of the package; save them afterwards."""
    matplotlib()
    with styled():
        axes = axes_for(ax, path, width, height, solid=solid)
        yield axes
        if path is not None:
            save(axes.figure, path)


@contextlib.contextmanager
def panels(path: Any, width: float, height: float, rows: int, columns: int, **options: Any) -> Iterator[Any]:
    """Yield axes of a new figure (inches) in the style of the package; save them afterwards."""
    with styled():
        picture = figure(width, height, shown=path is None)
        yield picture.subplots(rows, columns, **options)
        if path is not None:
            save(picture, path)


def add_grid(axes: Any) -> None:
    """Draw a grid behind the curves."""
    axes.grid(True)
    axes.set_axisbelow(True)


def legend_beside(axes: Any) -> None:
    """Add a legend on the right of the axes."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0)


def axes_for(ax: Axes | None, path: Any, width: float, height: float, *, solid: bool = False) -> Axes:
    """Return the user's axes, or those of a new figure of that size; with a z-axis if `solid`."""
    if ax is None:
        picture: Figure = figure(width, height, shown=path is None)
        if not solid:
            left, below, right, above = 0.6, 0.45, 0.15, 0.2  # inches
            inner = (width - left - right) / width, (height - below - above) / height
            return picture.add_axes((left / width, below / height, *inner))
        # 3-D axes are square: they cover the page, so that the system can fill it
        side = max(width, height)
        square = ((1 - side / width) / 2, (1 - side / height) / 2, side / width, side / height)
        return picture.add_axes(square, projection="3d", gid="page", facecolor="none")
    if not hasattr(ax, "add_line") or solid != hasattr(ax, "set_zlim"):
        wanted = "3-D axes: figure.add_subplot(projection='3d')" if solid else "flat axes: figure.add_subplot()"
        raise ModelError("picture", "ax", ax, f"this view needs {wanted}")
    _noted(ax.figure)
    return ax


def tint(color: str, share: float) -> tuple[float, float, float]:
    """Return a colour mixed with `share` (0 to 1) of white."""
    red, green, blue = (share + (1 - share) * c for c in matplotlib().colors.to_rgb(color))
    return red, green, blue


def legible(color: str) -> str:
    """Return a colour ``"#rrggbb"``, darkened enough for lines on white paper."""
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    light = sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True))
    if light <= MAX_LUMINANCE:
        return color
    return "#" + "".join(f"{round(255 * c * MAX_LUMINANCE / light):02X}" for c in channels)


def written(path: Any, suffixes: tuple[str, ...], item: str, write: Callable[[Path], object]) -> Path:
    """Write a file atomically: `write` fills a temporary file, which then replaces it.

    Raises
    ------
    ModelError
        If the suffix is not allowed, or the folder does not exist.
    """
    try:
        target = Path(path)
    except TypeError:
        raise ModelError(item, "path", path, "give the name of a file") from None
    if target.suffix.lower() not in suffixes:
        raise ModelError(item, "path", str(path), f"use a name that ends in {' or '.join(suffixes)}")
    with replacing(target) as new:
        fresh = new.with_name(new.name + target.suffix)  # writers read the suffix
        try:
            if new.exists():  # it has the permissions of the target
                new.rename(fresh)
            write(fresh)
            fresh.rename(new)
        finally:
            fresh.unlink(missing_ok=True)
    return target


def save(picture: Any, path: Any, *, dpi: float = 160) -> Path:
    """Save a figure as .png, .pdf, .svg or another format that matplotlib writes."""
    suffixes = tuple(f".{kind}" for kind in sorted(picture.canvas.get_supported_filetypes()))
    crop = None if any(ax.get_gid() == "page" for ax in picture.axes) else "tight"
    return written(
        path,
        suffixes,
        "picture",
        lambda name: picture.savefig(name, dpi=dpi, bbox_inches=crop, pad_inches=0.08, facecolor=PAPER),
    )
