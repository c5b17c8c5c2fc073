"""How our pictures look, and how they reach a file."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..errors import MissingPackageError, ModelError
from ..files.safe_files import replacing

__all__ = [
    *("FAINT", "INK", "PALETTE", "PAPER"),
    *("axes_for", "figure", "legible", "plain_log", "save", "styled", "tint", "written"),
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours that stay apart for colour-blind readers (Okabe and Ito), in the order of use."""

INK, FAINT, PAPER = "#222222", "#8C8C8C", "#FFFFFF"
_LIGHT = 0.72  # of white: a line that is lighter is not seen on paper

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
    "text.parse_math": False,  # names of users are no formulas, whatever signs they have
}
_blocks: list[list[Any]] = []  # figures drawn in blocks of our style that are under way


def matplotlib() -> Any:
    """Return matplotlib, or say what to install.

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
    """Draw in our style inside this block; the user's values of the settings it changes are back after it.

    All other settings stay as they are: a backend that is loaded inside the block keeps those it makes. The backend of
    a notebook makes pyplot interactive, and without that no figure appears below a cell.
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
    """Return a figure, noted as one of the block under way."""
    if _blocks and picture not in _blocks[-1]:
        _blocks[-1].append(picture)
    return picture


def _give_back_formulas(picture: Any) -> None:
    """Let texts hold formulas again that have none now, such as a title that the user sets later."""
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
    """Load the backend of an IPython session now: it reads and changes settings that must be the user's."""
    shell = sys.modules.get("IPython")
    if shell is not None and shell.get_ipython() is not None:
        with contextlib.suppress(ImportError):  # a backend that cannot be loaded is reported where a figure is shown
            importlib.import_module("matplotlib.pyplot").draw_if_interactive()


def figure(width: float, height: float, *, shown: bool = False) -> Any:
    """Return an empty figure (inches).

    Parameters
    ----------
    shown : bool
        True for one that ``pyplot.show()`` or a notebook shows; False for one that only goes to a file and leaves the
        user's pyplot state alone.
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


def axes_for(ax: Any, path: Any, width: float, height: float, *, solid: bool = False) -> Any:
    """Return the user's axes, or those of a new figure of that size; with a z-axis if `solid`."""
    if ax is None:
        picture = figure(width, height, shown=path is None)
        if not solid:
            left, below, right, above = 0.6, 0.45, 0.15, 0.2  # inches
            inner = (width - left - right) / width, (height - below - above) / height
            return picture.add_axes((left / width, below / height, *inner))
        # 3-D axes are square: one that covers the page lets the system fill it
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
    """Return a colour ``"#rrggbb"``, darkened as far as lines on white paper need."""
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    light = sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True))
    if light <= _LIGHT:
        return color
    return "#" + "".join(f"{round(255 * c * _LIGHT / light):02X}" for c in channels)


def written(path: Any, suffixes: tuple[str, ...], item: str, write: Callable[[Path], None]) -> Path:
    """Write a file whole or not at all: `write` fills a temporary one beside it, which then takes its place.

    Raises
    ------
    ModelError
        If the name has another ending than those allowed, or the folder is not there.
    """
    try:
        target = Path(path)
    except TypeError:
        raise ModelError(item, "path", path, "give the name of a file") from None
    if target.suffix.lower() not in suffixes:
        raise ModelError(item, "path", str(path), f"use a name that ends in {' or '.join(suffixes)}")
    with replacing(target) as new:
        fresh = new.with_name(new.name + target.suffix)  # writers look at the ending
        try:
            if new.exists():  # with the permissions that it is to have meanwhile
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
