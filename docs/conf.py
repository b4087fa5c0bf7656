"""How Sphinx builds this folder into a site; ``scripts/docs`` runs it with warnings as errors."""

from __future__ import annotations

import logging
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
sys.path.append(str(DOCS.parent / "tests"))  # tables of benchmarks are made there

logging.getLogger("alembic").setLevel(logging.WARNING)  # commands of the server import it

_PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "hushpoll"
author = "The hushpoll authors"
copyright = author
release = version = _PROJECT["version"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "directives",
]
exclude_patterns = ["results/*-beside*", "templates"]
default_role = "literal"
highlight_language = "none"
# Names that several classes have, such as `k` in a docstring's types, need no link.
suppress_warnings = ["ref.python"]

# The pages are written for a code host and for this site alike: links between files, and anchors
# of headings, mean the same in both.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Notebooks run whenever the site is built; a cell that fails is a warning, which fails the build.
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_typehints = "none"
# scikit-learn adds these to every estimator, with links into its own pages.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_score_request",
}
autodoc_class_signature = "separated"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"hushpoll {release}"
html_static_path = ["site"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# The formulas are MathML, which browsers draw by themselves: nothing is fetched from another host.
html_math_renderer = "mathml"
