"""A survey's page as HTML, with its questions as it asks them, and pages that were rendered.

They are kept in bounded memory, since a published version never changes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Final, Literal

from flask import render_template, request

from hushpoll_analysis.html import style_sheet
from hushpoll_server.pages.assets import assets
from hushpoll_server.words import Words, words_for
from hushpoll_shared.page_scripts import ENTRY, WORKER
from hushpoll_shared.spelling.languages import direction
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.selects import limits_kind
from hushpoll_shared.survey.wording import Wording

MOST_RADIO_BUTTONS: Final = 8
"""Choices that are all shown at once; more go into a list, or are typed if they are numbers."""
MOST_STEPS: Final = 11
"""Choices of a scale that stand in a row; a longer scale is shown as if it were none."""
SHORTEST_STEPS: Final = 2
"""Characters up to which the names of steps stand in one row, however many there are."""
MOST_COLUMNS: Final = 7
"""Answers up to which a matrix is a table on a wide screen, whatever they are called."""

Kind = Literal["radio", "select", "number", "options", "matrix"]


@dataclass(frozen=True)
class Question:
    """The question about one attribute, in the language of the page.

    ``kind`` is ``radio`` for few choices, ``number`` for consecutive whole numbers from ``least``
    to ``most``, else ``select``. ``choices`` are codes and answers; of a number only the missing
    category. ``missing`` stands in for an answer that is skipped; None where one must be given.
    ``scale`` lays few choices out in a row, the missing category below it. ``section`` is a
    heading above the question, where one begins. ``router`` is the question that decides whether a
    follow-up is asked. A select-all is one question of the kind ``options``, with the name and the
    text of each option, and how many of them are selected. ``unit`` is that of a number. ``help``
    stands below the question, and ``ends`` at the two ends of a scale. A matrix
    is one of the kind ``matrix``, with its items as ``rows``.
    """

    attribute: str
    text: str
    kind: Kind
    perturbed: bool
    choices: tuple[tuple[int, str], ...]
    missing: str | None = None
    least: str = ""
    most: str = ""
    scale: bool = False
    section: str | None = None
    router: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    limits: tuple[int, int] = (0, 0)
    unit: str | None = None
    rows: tuple[Question, ...] = ()
    help: str | None = None
    ends: tuple[str, str] | None = None

    @property
    def outermost(self) -> tuple[str, str]:
        """The first and the last answer of a scale."""
        return (self.least, self.most) if self.least else (self.steps[0][1], self.steps[-1][1])

    @property
    def asked(self) -> int:
        """How many answers it asks for, where it is asked of everybody."""
        return 0 if self.router is not None else len(self.rows) or 1

    @property
    def tabled(self) -> bool:
        """Whether the answers of a matrix are so few, or named so shortly, that rows hold them."""
        each = self.kind == "matrix" and self.rows[0].kind == "radio"
        few = len(self.choices) <= MOST_COLUMNS
        return each and (few or all(len(name) <= SHORTEST_STEPS for _, name in self.choices))

    @property
    def limits_key(self) -> str:
        """The key of the words that say how many options may be selected."""
        return f"fault.select.{limits_kind(*self.limits, len(self.options))}"

    @property
    def steps(self) -> tuple[tuple[int, str], ...]:
        """The choices of a scale, from one end to the other."""
        return self.choices if self.missing is None else self.choices[:-1]

    @property
    def short(self) -> bool:
        """Whether the steps are named so shortly that 11 of them fit a row of a narrow phone."""
        return all(len(name) <= SHORTEST_STEPS for _, name in self.steps)

    @property
    def beside(self) -> tuple[tuple[int, str], ...]:
        """The choices that stand below a scale: the missing category, if there is one."""
        return () if self.missing is None else self.choices[-1:]


def questions(published: Published, wording: Wording | None = None) -> tuple[Question, ...]:
    """Return the questions of a survey in the manifest's order, in its own words by default."""
    wording = wording or published.wording()
    before = (None, *wording.sections[:-1])
    texts = {
        attribute.name: text
        for attribute, text in zip(published.attributes, wording.questions, strict=True)
    }
    asked = tuple(
        replace(
            _question(attribute, text, domain, None if section == previous else section),
            router=None if attribute.ask_if is None else texts[attribute.ask_if.router],
            unit=unit,
            help=words,
            ends=ends,
        )
        for attribute, text, domain, section, previous, unit, words, ends in zip(
            published.attributes,
            wording.questions,
            wording.domains,
            wording.sections,
            before,
            wording.units,
            wording.helps,
            wording.ends,
            strict=True,
        )
    )
    return _with_matrices(_with_selects(asked, published, wording), published, wording)


def _with_selects(
    asked: tuple[Question, ...], published: Published, wording: Wording
) -> tuple[Question, ...]:
    """Return questions with the options of each select-all as one."""
    by_option = {
        name: (select, text, words)
        for select, text, words in zip(
            published.selects, wording.selects, wording.select_helps, strict=True
        )
        for name in select.attributes
    }
    texts = {question.attribute: question.text for question in asked}
    found: list[Question] = []
    for question in asked:
        if question.attribute not in by_option:
            found.append(question)
            continue
        select, text, words = by_option[question.attribute]
        if question.attribute == select.attributes[0]:
            found.append(
                Question(
                    select.name,
                    text,
                    "options",
                    question.perturbed,
                    (),
                    section=question.section,
                    options=tuple((name, texts[name]) for name in select.attributes),
                    limits=(select.at_least, select.at_most),
                    help=words,
                )
            )
    return tuple(found)


def _with_matrices(
    asked: tuple[Question, ...], published: Published, wording: Wording
) -> tuple[Question, ...]:
    """Return questions with the items of each matrix as one."""
    by_item = {
        name: (matrix, text)
        for matrix, text in zip(published.matrices, wording.matrices, strict=True)
        for name in matrix.attributes
    }
    found: list[Question] = []
    for question in asked:
        if question.attribute not in by_item:
            found.append(question)
            continue
        matrix, text = by_item[question.attribute]
        row = replace(question, section=None, router=None, help=None, ends=None)
        if question.attribute == matrix.attributes[0]:
            found.append(
                replace(question, attribute=matrix.name, text=text, kind="matrix", rows=(row,))
            )
        else:
            found[-1] = replace(found[-1], rows=(*found[-1].rows, row))
    return tuple(found)


def _question(
    attribute: PublishedAttribute, text: str, domain: tuple[str, ...], section: str | None
) -> Question:
    numbers = attribute.categories
    choices = tuple(enumerate(domain[: len(attribute.answers)]))
    missing = None if attribute.missing is None else domain[len(numbers)]
    scale = attribute.scale is not None and len(numbers) <= MOST_STEPS
    few = attribute.number is None and (scale or len(choices) <= MOST_RADIO_BUTTONS)
    typed = attribute.number is not None or (
        not few and _consecutive(numbers) and domain[: len(numbers)] == numbers
    )
    return Question(
        attribute.name,
        text,
        "radio" if few else "number" if typed else "select",
        attribute.perturbed,
        choices[len(numbers) :] if typed else choices,
        missing,
        numbers[0] if typed else "",
        numbers[-1] if typed else "",
        scale,
        section,
    )


def _consecutive(categories: tuple[str, ...]) -> bool:
    try:
        first = int(categories[0])
    except ValueError:
        return False
    return categories == tuple(str(first + step) for step in range(len(categories)))


# The page carries its style sheet, so that it is on the screen after one request.
_STYLE = base64.b64encode(hashlib.sha256(style_sheet().encode()).digest()).decode()
# Everything from this server, no markup from strings, and no form that sends anywhere.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' 'sha256-{_STYLE}'",
        "img-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types hushpoll",
    )
)
KEPT_BYTES: Final = 64 * 2**20


@dataclass(frozen=True)
class Rendered:
    """A page as HTML in UTF-8, as it is and compressed by gzip, and the hash of it."""

    body: bytes
    compressed: bytes
    etag: str

    @property
    def size(self) -> int:
        """Bytes that it takes in memory."""
        return len(self.body) + len(self.compressed)


class RenderedPages:
    """Pages that were rendered, of at most so many bytes together."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._rendering = threading.Lock()
        self._pages: dict[Hashable, Rendered] = {}
        self._bytes = 0

    def get(self, key: Hashable, render: Callable[[], str]) -> Rendered:
        """Return the page of a key, rendered unless it is kept; one is rendered at a time."""
        page = self._pages.get(key)
        if page is not None:
            return page
        with self._rendering:
            page = self._pages.get(key)  # another request may have rendered it meanwhile
            if page is None:
                body = render().encode()
                compressed = gzip.compress(body, 9, mtime=0)
                page = Rendered(body, compressed, hashlib.sha256(body).hexdigest())
                self._keep(key, page)
        return page

    def _keep(self, key: Hashable, page: Rendered) -> None:
        if page.size > self._most_bytes:
            return  # it would drive out all the others, and not be kept itself
        while self._bytes + page.size > self._most_bytes:
            oldest = next(iter(self._pages))
            self._bytes -= self._pages.pop(oldest).size
        self._pages[key] = page
        self._bytes += page.size


# The key is the digest, which names the content: all applications of a process may share it.
PAGES: Final = RenderedPages()


def rendered(
    published: Published, wording: Wording, words: Words | None = None, *, preview: bool = False
) -> str:
    """Return the page of a survey; a `preview` has no script, so that it sends nothing.

    The page's own words are in the language of the survey's by default, if they exist in it.
    """
    root = asset_root()
    words = words or words_for([wording.language])
    return render_template(
        "survey.html",
        language=words.language,
        survey=published,
        wording=wording,
        words=words,
        direction=direction(wording.language),
        direction_of=direction,
        style=style_sheet(),
        questions=questions(published, wording),
        label=words.said_label(published, hosted=True),
        preview=preview,
        root=root,
        modules=assets().modules(published),
        entry=ENTRY,
        server=request.script_root,
        worker=f"{root}{WORKER}",
        scope=f"{request.script_root}/s/",
    )


def asset_root() -> str:
    """Return the address of the files that pages load, with a slash at its end."""
    return f"{request.script_root}/page/{assets().build}/"
