"""Files of animations: GIF, MP4, an offline page, an element of a notebook."""

from __future__ import annotations

import base64
import html
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError, MissingPackageError

__all__ = ["framed", "page_of_film", "write_gif", "write_html", "write_mp4"]

_TEMPLATE = Path(__file__).with_name("animation.html")
N_EXACT_COLORS = 96  # most frequent colours, kept exactly


def images(film: Any) -> Iterator[Any]:
    """Yield the frames as PIL images with a common palette, for small files without flicker."""
    from PIL import Image

    film.prepare()
    some = np.unique(np.linspace(0, len(film.times) - 1, min(len(film.times), 4)).round().astype(np.int64))
    colors = _palette([film.pixels(int(k)).copy() for k in some])
    nearest = _nearest(colors)
    for k in range(len(film.times)):
        packed = film.pixels(k)
        cell = (packed >> 2 & 63) << 12 | (packed >> 10 & 63) << 6 | (packed >> 18 & 63)
        image = Image.fromarray(nearest[cell])
        image.putpalette(colors.tobytes())
        yield image


def _palette(frames: list[NDArray[np.uint32]]) -> NDArray[np.uint8]:
    """Return up to 255 colours (k, 3): the most frequent ones, and a selection of the rest."""
    from PIL import Image

    joined = Image.fromarray(np.concatenate([frame[..., None].view(np.uint8)[..., :3] for frame in frames]))
    common = sorted(joined.getcolors(joined.width * joined.height) or [], reverse=True)[:N_EXACT_COLORS]
    rest = joined.quantize(255 - len(common), method=Image.Quantize.MEDIANCUT).getpalette() or []
    spectrum = np.array(rest, dtype=np.uint8).reshape(-1, 3)
    return np.concatenate([np.array([color for _, color in common], dtype=np.uint8), spectrum])[:255]


def _nearest(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the index (64 * 64 * 64,) of the nearest colour, for red, green and blue in steps of four."""
    from scipy.spatial import cKDTree

    middle = 4.0 * np.arange(64) + 2.0
    cells = np.stack(np.meshgrid(middle, middle, middle, indexing="ij"), axis=-1)
    result: NDArray[np.uint8] = cKDTree(colors.astype(float)).query(cells.reshape(-1, 3))[1].astype(np.uint8)
    # a colour of the palette has its own cell; the more frequent one has priority
    owned = (colors.astype(np.int64) >> 2) @ np.array([64 * 64, 64, 1])
    result[owned[::-1]] = np.arange(len(colors))[::-1]
    return result


def write_gif(name: Path, film: Any, fps: float) -> None:
    frames = images(film)
    # hundredths of a second, rounded without change of the total
    ends = np.round(100 * np.arange(1, len(film.times) + 1) / fps)
    durations = [10 * int(d) for d in np.diff(ends, prepend=0.0)]
    first = next(frames)
    first.save(name, format="GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1)


def page_of_film(film: Any, fps: float) -> str:
    """Return a page with all frames of an animation."""
    pictures = []
    for image in images(film):
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", compress_level=6)
        pictures.append(base64.b64encode(buffer.getvalue()).decode("ascii"))
    times = [round(float(t), 9) for t in film.times]
    width, height = (film.figure.get_size_inches() * film.figure.dpi).astype(int)
    page = _TEMPLATE.read_text(encoding="utf-8")
    for field, value in (
        ("TITLE", html.escape(film.title)),
        ("WIDTH", str(width)),
        ("HEIGHT", str(height)),
        ("FPS", json.dumps(float(fps))),
        ("TIMES", json.dumps(times)),
        ("NAME", json.dumps(film.axis.name)),
        ("UNIT", json.dumps(film.axis.ending)),
        ("FRAMES", json.dumps(pictures)),
    ):
        page = page.replace(f"%{field}%", value)
    return page


def write_html(name: Path, film: Any, fps: float) -> None:
    """Write an animation as a page."""
    name.write_text(page_of_film(film, fps), encoding="utf-8")


def framed(film: Any, fps: float) -> str:
    """Return an animation as an element of a notebook, which is saved with it."""
    width, height = film.figure.get_size_inches() * film.figure.dpi
    page = html.escape(page_of_film(film, fps), quote=True)
    look = f'width="{width + 40:.0f}" height="{height + 110:.0f}" style="border: 0; max-width: 100%"'
    return f'<div><iframe srcdoc="{page}" {look} sandbox="allow-scripts"></iframe></div>'


def write_mp4(name: Path, film: Any, fps: float) -> None:
    """Write an animation as MP4, by ffmpeg.

    Raises
    ------
    MissingPackageError
        If there is no ffmpeg.
    FileError
        If ffmpeg fails.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise MissingPackageError(".mp4 files", "ffmpeg", "install ffmpeg, or write .gif or .html")
    film.prepare()
    height, width = film.pixels(0).shape
    given = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    # players need even sizes and subsampled colours
    made = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-f", "mp4"]
    command = [program, "-loglevel", "error", "-y", *given, *made, str(name)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdin is not None and run.stderr is not None
        try:
            for k in range(len(film.times)):
                run.stdin.write(np.ascontiguousarray(film.pixels(k)).tobytes())
            run.stdin.close()
        except BrokenPipeError:
            pass  # the messages of ffmpeg have the cause
        why = run.stderr.read().decode(errors="replace").strip()
    if run.returncode:
        raise FileError("animation", "path", str(name), f"ffmpeg fails: {why[-300:] or run.returncode}")
