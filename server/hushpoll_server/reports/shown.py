"""A result of any query as HTML, from its declaration alone: for the dashboard and for reports."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.shown import cut_notes, rows_too_noisy, shown_sections
from hushpoll_shared.tables.top_rows import MOST_ROWS


def html_of_result(
    result: Result, *, level: int, key: str, for_print: bool = False, tell_cut: bool = True
) -> Markup:
    """Return the verdict on a result, its sections' tables, what stands below, and its notes.

    Parameters
    ----------
    result : Result
        Of any query.
    level : int
        Of the headings of its sections.
    key : str
        With which the ids of its elements begin.
    for_print : bool
        Whether rows that are too noisy to tell are left out; otherwise they are folded.
    tell_cut : bool
        Whether to say that intervals are cut to what is possible; a report says so once.
    """
    sections = list(shown_sections(result))
    cut = cut_notes(sections, folded=not for_print) if tell_cut else ()
    module = _template().make_module(
        {
            "title": result.title,
            "verdict": None if result.verdict is None else result.verdict.sentence,
            "folded_words": rows_too_noisy,
            "sections": sections,
            "notes": [
                *result.notes(),
                *cut,
                *result.said_of_options(),
                *(result.small_groups or ()),
            ],
            "heading": f"h{level}",
            "key": key,
            "for_print": for_print,
            "most": MOST_ROWS,
        }
    )
    return module.__html__()


def environment() -> Environment:
    """Return an environment of the templates of reports, which escapes every text of the data."""
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _template() -> Template:
    return environment().get_template("sections.html")
