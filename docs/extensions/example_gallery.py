"""The gallery: every file of ``examples/`` as a page with its figures and, where it has a motion, the motion itself.

sphinx-gallery wants a title in each script, so it reads copies whose docstrings begin with one. Pictures that a script
writes are taken by the scraper below, and a `Result` of the script becomes a page of the viewer.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
EXAMPLES = DOCS.parent / "examples"
SCRIPTS = DOCS / "gallery/scripts"
PAGES = DOCS / "gallery/pages"
MOTIONS = DOCS / "static/motions"
DOCSTRING = re.compile(r'\A"""(.*?)"""', flags=re.DOTALL)
HEAD = "Gallery\n=======\n\nEvery example is a script of a few lines in the folder ``examples``.\n"


TITLES = {
    "andrews": "Andrews' squeezer mechanism",
    "bricard": "Bricard's mechanism",
    "dc_servo": "DC servo",
    "four_bar": "Four-bar linkage",
    "slider_crank": "Slider-crank",
    "snap_through": "Snap-through",
    "stick_slip": "Stick-slip",
    "swing_up": "Swing-up in least time",
    "nine_points": "Nine-point synthesis",
}


def title_of(stem: str) -> str:
    """Return the title of an example, from the name of its file unless listed."""
    words = stem.replace("_", " ")
    return TITLES.get(stem, words[0].upper() + words[1:])


def copy_scripts() -> None:
    """Write copies of the examples with a title each; unchanged ones keep their times."""
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    texts = {"GALLERY_HEADER.rst": HEAD}
    for path in sorted(EXAMPLES.glob("*.py")):
        title, text = title_of(path.stem), path.read_text()
        body = DOCSTRING.match(text)
        assert body, path
        start = f'r"""\n{title}\n{"=" * len(title)}\n\n{body.group(1).strip()}\n"""'
        texts[path.name] = start + text[body.end() :]
    for old in SCRIPTS.iterdir():
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        target = SCRIPTS / name
        if not target.exists() or target.read_text() != text:
            target.write_text(text)


def scrape(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of the pictures that a script wrote or drew, and of its motion."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import figure_rst

    if block[0] != "code":
        return ""
    script, paths = Path(block_vars["src_file"]), block_vars["image_path_iterator"]
    names = block_vars["example_globals"]
    shown, text = [], ""
    for picture in sorted(each for each in script.parent.iterdir() if each.suffix in {".png", ".gif"}):
        target = Path(next(paths))
        if picture.suffix == ".gif":
            text += moving_picture(picture, target)
        else:
            shutil.move(picture, target)
            shown.append(str(target))
    if not shown and not text:
        if not plt.get_fignums():
            draw_system(names)
        for number in plt.get_fignums():
            target = next(paths)
            plt.figure(number).savefig(target, dpi=100)
            shown.append(target)
    plt.close("all")
    if shown:
        text += str(figure_rst(shown, gallery_conf["src_dir"]))
    if (motion := motion_of(names)) is not None:
        MOTIONS.mkdir(parents=True, exist_ok=True)
        motion.export(MOTIONS / f"{script.stem}.html")
        text += (
            f'\n.. raw:: html\n\n    <iframe class="motion" loading="lazy" title="the motion, in the viewer" '
            f'src="../../_static/motions/{script.stem}.html"></iframe>\n\n'
        )
    return text


def moving_picture(picture: Path, still: Path) -> str:
    """Move an animation beside the pictures of the page, write a frame of it as `still`, and return its reST."""
    from PIL import Image

    with Image.open(picture) as frames:
        frames.seek(frames.n_frames // 2)
        frames.convert("RGB").save(still)
    moved = still.with_suffix(".gif")
    shutil.move(picture, moved)
    options = f"    :alt: {picture.stem}\n    :class: sphx-glr-single-img\n"
    return f"\n.. image:: /{moved.relative_to(DOCS).as_posix()}\n{options}\n"


def draw_system(names: dict[str, Any]) -> None:
    """Draw the motion of a script or its first system, if it drew nothing itself."""
    import dalembert as da

    for kind in (da.Result, da.System):
        for thing in names.values():
            if isinstance(thing, kind):
                thing.draw(labels=False)
                return


def motion_of(names: dict[str, Any]) -> Any:
    """Return the motion of a script that has bodies to show, if there is one."""
    import dalembert as da

    for name in ("result", "motion", "flight"):
        found = names.get(name)
        if isinstance(found, da.Result) and found.model is not None and len(found) > 1:
            return found
    return None


def prepare(app: Any, config: Any) -> None:
    """Copy the scripts and hand them to sphinx-gallery."""
    copy_scripts()
    config.sphinx_gallery_conf = {
        "examples_dirs": [str(SCRIPTS)],
        "gallery_dirs": [str(PAGES)],
        "filename_pattern": r"\.py$",
        "ignore_pattern": r"__init__\.py$",
        "image_scrapers": (scrape,),
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "remove_config_comments": True,
        "within_subsection_order": "FileNameSortKey",
        "min_reported_time": 1e9,
        "reset_modules": ("matplotlib",),
        "plot_gallery": os.environ.get("DALEMBERT_GALLERY", "1") == "1",
        "abort_on_example_error": True,
        "default_thumb_file": None,
    }


def setup(app: Any) -> dict[str, bool]:
    """Prepare the gallery before sphinx-gallery reads its configuration."""
    app.connect("config-inited", prepare, priority=5)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
