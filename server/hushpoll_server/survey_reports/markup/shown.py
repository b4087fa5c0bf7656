"""A result of any query as HTML, from its declaration alone: for the dashboard and for reports."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from math import isfinite
from typing import Final, NamedTuple

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    Template,
)
from markupsafe import Markup

from hushpoll_analysis.html import TEMPLATES, style_sheet
from hushpoll_server import survey_reports
from hushpoll_server.charts.bands import Bands, bands_of
from hushpoll_server.charts.figures import FILTERS, cells_of_line
from hushpoll_server.charts.figures import level as words_of_level
from hushpoll_server.charts.rows import Share
from hushpoll_server.survey_reports.content.naming import in_texts
from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES
from hushpoll_shared.qualifying.verdict import rows_too_noisy
from hushpoll_shared.querying.result import Result, Section
from hushpoll_shared.querying.shown import ShownSection, cut_notes, shown_sections
from hushpoll_shared.tables.top_rows import MOST_ROWS

MOST_DRAWN: Final = 30
"""Rows of a section that are drawn; a longer one has its table."""


def html_of_result(
    result: Result,
    *,
    level: int,
    key: str,
    for_print: bool = False,
    tell_cut: bool = True,
    names: Mapping[str, str] | None = None,
    drawn: bool = False,
) -> Markup:
    """Return the verdict on a result, its sections' tables, what stands below, and its notes.

    The ids of its elements begin with `key`, and its headings have the `level`. Rows that are too
    noisy to tell are folded, or left out for print. A report says once that intervals are cut.
    Sections that declare shares or differences are `drawn` above their tables.
    """
    sections = list(shown_sections(result))
    cut = cut_notes(sections, folded=not for_print) if tell_cut else ()
    called = names or {}
    module = _template("sections.html").make_module(
        {
            "title": result.title,
            "verdict": None
            if result.verdict is None
            else in_texts(result.verdict.sentence, called),
            "noisy": result.verdict is not None and result.verdict.noisy,
            "folded_words": rows_too_noisy,
            "sections": [_as_page(one, called) for one in sections],
            "figures": [
                _figure(result, one, called, f"{key}-{place}-shows") if drawn else ""
                for place, one in enumerate(result.sections(), 1)
            ],
            "interval": words_of_level(getattr(result, "confidence", 0.95)),
            "own_notes": [in_texts(text, called) for text in result.notes()],
            "folded_notes": "" if for_print else result.notes_heading,
            "notes": [
                *cut,
                # Where options have their texts, no note need say which is which.
                *(() if called else result.said_of_options()),
                *(in_texts(text, called) for text in result.small_groups or ()),
            ],
            "heading": f"h{level}",
            "key": key,
            "for_print": for_print,
            "most": MOST_ROWS,
        }
    )
    return module.__html__()


def _as_page(section: ShownSection, names: Mapping[str, str]) -> ShownSection:
    """Return a section with questions for names, and figures in the notation of pages."""
    first = len(section.names)

    def line(texts: tuple[str, ...]) -> tuple[str, ...]:
        words = [names.get(text, text) for text in texts[:first]]
        return (*words, *cells_of_line(texts[first:], section.columns, section.possible))

    return replace(
        section,
        title=names.get(section.title, in_texts(section.title, names)),
        below=tuple(in_texts(text, names) for text in section.below),
        names=tuple(
            "question" if name == "attribute" and names else names.get(name, name)
            for name in section.names
        ),
        lines=[line(texts) for texts in section.lines],
        folded=[line(texts) for texts in section.folded],
    )


def _figure(result: Result, section: Section, names: Mapping[str, str], label: str) -> Markup | str:
    """Return the bands of the rows that can be told; empty of a section that is no figure."""
    rows = []
    if section.shown and section.possible in (SHARES, DIFFERENCES):
        for line in section.lines():
            row = getattr(line.row, section.interval_of) if section.interval_of else line.row
            value = row.frequency if hasattr(row, "frequency") else row.value
            ends = (value, row.lower, row.upper)
            known = all(one is not None and isfinite(one) for one in ends)
            if known and not result.too_noisy(section.part_of(line.row)):
                own = (str(getattr(line.row, one)) for one in section.words.values())
                words = " · ".join(names.get(text, text) for text in line.words or own)
                rows.append(
                    Share(category=words, frequency=value, lower=row.lower, upper=row.upper)
                )
    if not 0 < len(rows) <= MOST_DRAWN:
        return ""
    return html_of_bands((bands_of(rows, possible=section.possible),), label)


def html_of_bands(panels: Sequence[Bands], label: str) -> Markup:
    """Return bands as HTML of the full width, told by the element whose id is `label`."""
    module = _template("bands.html").make_module({"panels": panels, "label": label})
    return module.__html__()


def environment() -> Environment:
    """Return an environment of the templates of reports, which escapes every text of the data."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(survey_reports.__name__), FileSystemLoader(TEMPLATES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= FILTERS
    return templates


@cache
def style_of(*sheets: str) -> str:
    """Return the style of a page: that of all pages of ours, and its own sheets."""
    own = resources.files(survey_reports) / "templates"
    texts = (own.joinpath(sheet).read_text(encoding="utf-8") for sheet in sheets)
    return f"\n{style_sheet()}{''.join(texts)}"


def hash_of(style: str) -> str:
    """Return the hash of a style, as a content security policy names it."""
    digest = hashlib.sha256(style.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


class Sheet(NamedTuple):
    """A page that stands by itself, with no script and nothing of another address."""

    name: str
    """Of its template, and of its own style beside the reports'."""

    @property
    def style(self) -> str:
        """The text of its style."""
        return style_of("report.css", f"{self.name}.css")

    def policy(self) -> str:
        """Return its content security policy."""
        return (
            f"default-src 'none'; style-src {hash_of(self.style)}; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )

    def html(self, **context: object) -> str:
        """Return the page."""
        return _template(f"{self.name}.html").render(
            style=Markup(self.style),  # noqa: S704  # our own files
            policy=self.policy().partition("; base-uri")[0],
            **context,
        )


@cache
def _template(name: str) -> Template:
    return environment().get_template(name)
