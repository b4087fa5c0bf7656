"""A result of any query as HTML, from its declaration alone: for the dashboard and for reports."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.shown import rows_too_noisy, shown_sections
from hushpoll_shared.tables.top_rows import MOST_ROWS


def html_of_result(result: Result, *, level: int, key: str) -> Markup:
    """Return the verdict on a result, its sections' tables, what stands below, and its notes.

    Parameters
    ----------
    result : Result
        Of any query.
    level : int
        Of the headings of its sections.
    key : str
        With which the ids of its elements begin.
    """
    return Markup(  # noqa: S704  # the template escapes every text of the data
        _template().render(
            title=result.title,
            verdict=None if result.verdict is None else result.verdict.sentence,
            folded_words=rows_too_noisy,
            sections=list(shown_sections(result)),
            notes=list(result.notes()),
            heading=f"h{level}",
            key=key,
            most=MOST_ROWS,
        )
    )


@cache
def _template() -> Template:
    templates = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("sections.html")
