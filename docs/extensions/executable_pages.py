"""Pages of the guide as executed notebooks: each ``python`` block of a page is a code cell.

The pages stay plain Markdown, which repositories show and tests run. A comment ``<!-- motion: result -->`` is a place
where the site shows the motion of that name in the viewer.
"""

from __future__ import annotations

import re
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

BLOCK = re.compile(r"^```python\n(.*?)^```\n?|^<!-- motion: (\w+) -->\n?", flags=re.MULTILINE | re.DOTALL)
MOTION = """\
import html, pathlib, tempfile
class Motion:
    def _repr_html_(self):
        return f'<iframe class="motion" title="the motion, in the viewer" srcdoc="{{html.escape(page)}}"></iframe>'
with tempfile.TemporaryDirectory() as folder:
    page = {name}.export(pathlib.Path(folder) / "motion.html").read_text()
Motion()
"""
EXAMPLE = re.compile(r"\]\((?:\.\./)+examples/(\w+)\.py\)")
REPOSITORY = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?:examples|bench|tests|core|src|\w+\.md\b)[^)]*\)")
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def notebook_of_page(text: str) -> nbformat.NotebookNode:
    """Return a page of the guide as a notebook; links to examples lead to their pages in the gallery."""
    text = EXAMPLE.sub(r"](/gallery/pages/\1.rst)", text)
    text = REPOSITORY.sub(r"\1", text)  # files of the repository are not part of the site
    cells, position = [], 0
    for block in BLOCK.finditer(text):
        if before := text[position : block.start()].strip():
            cells.append(new_markdown_cell(before))
        if block.group(2):
            cells.append(new_code_cell(MOTION.format(name=block.group(2)), metadata={"tags": ["remove-input"]}))
        else:
            cells.append(new_code_cell(block.group(1).rstrip()))
        position = block.end()
    if rest := text[position:].strip():
        cells.append(new_markdown_cell(rest))
    metadata = KERNEL if any(cell.cell_type == "code" for cell in cells) else {}
    return new_notebook(cells=cells, metadata=metadata)


def setup(app: Any) -> dict[str, bool]:
    """Declare that pages can be read and written side by side."""
    return {"parallel_read_safe": True, "parallel_write_safe": True}
