"""Directives that take the text of a reference page from the code: one function for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from directives import (
    benchmarks,
    commands,
    javascript,
    manifest_fields,
    methods,
    metrics,
    page_scripts,
    problems,
    protocols,
    public_names,
    routes,
    scale,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

# What stands in a page, and which function writes the text that takes its place. The words after
# the directive's name are the function's arguments.
TEXTS: dict[str, Callable[..., str]] = {
    "hushpoll-benchmarks": benchmarks.text,
    "hushpoll-commands": commands.text,
    "hushpoll-javascript": javascript.text,
    "hushpoll-manifest": manifest_fields.text,
    "hushpoll-methods": methods.text,
    "hushpoll-metrics": metrics.text,
    "hushpoll-page-scripts": page_scripts.text,
    "hushpoll-problems": problems.text,
    "hushpoll-protocol": protocols.text,
    "hushpoll-protocols": protocols.table_of,
    "hushpoll-python": public_names.text,
    "hushpoll-routes": routes.text,
    "hushpoll-scale": scale.text,
    "hushpoll-settings": settings.text,
}


class Generated(SphinxDirective):
    """A directive whose text, in MyST Markdown, is written by a function of `TEXTS`."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the text."""
        words = self.arguments[0].split() if self.arguments else []
        text = TEXTS[self.name](*words)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def add_to(app: Sphinx) -> None:
    """Make every directive of `TEXTS` known to Sphinx."""
    for name in TEXTS:
        app.add_directive(name, Generated)
