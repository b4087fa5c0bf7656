"""Rendering of a report into one HTML file: no script, nothing loaded, readable without colours."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hushpoll_analysis.html import style_sheet


def render(template: str, title: str, **values: Any) -> str:
    """Return a report as HTML; values are escaped.

    Parameters
    ----------
    template : str
        A file of ``templates`` that extends ``report.html``.
    title : str
        Of the page.
    values
        What the template names.
    """
    return _templates().get_template(template).render(title=title, **values)


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals["style_sheet"] = Markup(style_sheet())  # noqa: S704  # our own file
    templates.filters["thousands"] = "{:,}".format
    return templates
