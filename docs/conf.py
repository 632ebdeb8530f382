"""How Sphinx builds the site: `make docs`. Everything is local; a warning is an error."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from pygments.lexers import BashLexer
from sphinx.ext.autodoc.mock import mock
from sphinx.highlighting import lexers

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import believable

# Where torch is not installed, its room is described all the same. Of torchmetrics one base class is needed, no more.
with mock(["torchmetrics"] if find_spec("torch") else ["torchmetrics", "torch"]):
    import_module("believable.torch.torchmetrics")

project = "believable"
author = "The believable developers"
copyright = author
version = release = believable.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "browser_page",
    "linked_names",
    "mathml",
    "opened",
    "outputs",
    "pictures",
    "public_names",
    "reference",
    "tables",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_*"]
nitpicky = True
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
default_role = "name"  # in docstrings, `name` is code, and a link where it is public
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings say what a parameter takes
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 150  # of longer ones each parameter has a line
python_trailing_comma_in_multi_line_signatures = False
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False  # types are words, not names of classes
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # as parameters are
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "believable"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
lexers["console"] = (
    BashLexer()
)  # commands for another machine, without a prompt and without what they print
pygments_style = "default"  # both have a contrast of 4.5 or more throughout
pygments_dark_style = "monokai"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#8ab8f0", "color-brand-content": "#8ab8f0"},
    "light_logo": "logo-light.svg",
    "dark_logo": "logo-dark.svg",
    "navigation_with_keys": True,
}
