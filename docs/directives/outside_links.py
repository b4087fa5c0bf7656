"""Links of pages to Markdown files outside of this folder lead to the pages that include them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = {
    "client/hushpoll_client_js/README.md": "reference/javascript.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "README.md": "index.md",
}

_LINK = re.compile(rf"\]\((?:\.\./)+({'|'.join(map(re.escape, PAGES))})(?=[)#])")


def add_to(app: Sphinx) -> None:
    """Rewrite the links of each page when it is read."""
    app.connect("source-read", _rewrite)


def _rewrite(app: Sphinx, name: str, source: list[str]) -> None:
    del app
    folder = os.path.dirname(name) or "."  # noqa: PTH120  # names of pages are no paths
    source[0] = _LINK.sub(lambda match: f"]({os.path.relpath(PAGES[match[1]], folder)}", source[0])
