"""The site's own directives: reference pages that are made from the code at each build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from directives import formulas, generated, navigation, outside_links

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directives, the renderer of formulas and the navigation known to Sphinx."""
    generated.add_to(app)
    formulas.add_to(app)
    navigation.add_to(app)
    outside_links.add_to(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
