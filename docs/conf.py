"""Configuration of the documentation site: `sphinx-build -W docs site` builds it, without the network."""

import sys
from pathlib import Path

import dalembert

sys.path.insert(0, str(Path(__file__).parent / "extensions"))
from executable_pages import notebook_of_page  # noqa: F401  (named in nb_custom_formats)

project = "dalembert"
author = "the dalembert developers"
version = release = dalembert.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "example_gallery",
    "executable_pages",
    "api_reference",
]
exclude_patterns = ["extensions", "images/*.py", "gallery/scripts", "**/*.ipynb", "gallery/**/*.py", "gallery/**/*.txt"]
suppress_warnings = ["ref.python", "mystnb.unknown_mime_type", "config.cache", "misc.copy_overwrite"]

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
nb_custom_formats = {".md": "executable_pages.notebook_of_page"}
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "dalembert"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
