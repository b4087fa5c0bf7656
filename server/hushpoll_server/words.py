"""The hosted page's own words, in each language that the browser SDK has a catalogue of.

A catalogue is a file of the SDK's ``words``, such as ``de.js``, with three objects in JSON:
``PAGE`` for the template, ``SCRIPT`` for the scripts, and ``LABEL`` for the table of who can learn
what. English is a part of the scripts; a page in another language carries its scripts' words, so
that it needs no further request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final

from markupsafe import Markup, escape

from hushpoll_shared.spelling.languages import closest
from hushpoll_shared.survey.consequences import ENGLISH as LABEL_KEYS
from hushpoll_shared.survey.consequences import SaidLabel, label_of, say_label
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import IMMEDIATE, INVITED, OPEN, SMALL_BATCH

ENGLISH: Final = "en"
# Words that a page says only of a survey that has what they are about.
_ONLY_FOR: Final[tuple[tuple[re.Pattern[str], Callable[[Published], object]], ...]] = (
    (re.compile(r"draw(\..+|n)?"), lambda survey: survey.draws),
    (re.compile(r"invited"), lambda survey: survey.submission == INVITED),
    (re.compile(r"error\.token|receipt\.refused\.token"), lambda survey: survey.submission != OPEN),
    (re.compile(r"people(\..+)?|.+\.person"), lambda survey: survey.shared_device),
    (
        re.compile(r"limit\.(.+\.)?router(\..+)?|guess\.apart|follow_up|not_asked"),
        lambda survey: any(one.ask_if is not None for one in survey.attributes),
    ),
    (re.compile(r"fault\.select\..+|none_selected"), lambda survey: survey.selects),
    (
        re.compile(r"clear_hint|review\.(clear|readable|skipped)|kept\.content_clear"),
        lambda survey: survey.clear,
    ),
    (re.compile(r"kept\.question"), lambda survey: survey.clear or survey.together),
    (re.compile(r"review\.no_clear|kept\.content"), lambda survey: not survey.clear),
    (
        re.compile(r"truth\.(.+\.)?among"),
        lambda survey: any((one.oracle.support_size or 1) > 1 for one in survey.blocks),
    ),
    (
        re.compile(r"truth\.(.+\.)?among_any|guess\.(.+\.)?hashed"),
        lambda survey: any(one.oracle.support_size is None for one in survey.blocks),
    ),
    (re.compile(r"small_batch"), lambda survey: survey.minimum_batch < SMALL_BATCH),
    (re.compile(r"released_at_once"), lambda survey: survey.release == IMMEDIATE),
    (
        re.compile(r"(truth\.)?number(\..+)?"),
        lambda survey: any(one.number is not None for one in survey.attributes),
    ),
    (
        re.compile(r"(beliefs\.|guess\.|level\.|limit\.|truth\.)?block(\..+)?"),
        lambda survey: survey.together or survey.selects,
    ),
)
_PART: Final = re.compile(r"^export const (\w+) = (\{.*?^\});$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Words:
    """The page's words in one language, whose tag is ``language``."""

    language: str
    page: Mapping[str, str]
    script: Mapping[str, Any]
    label: Mapping[str, str] = field(default_factory=dict)

    def say(self, key: str, **values: str | int) -> Markup:
        """Return a text as markup, with the values in place of the names in braces.

        Values are escaped, unless they are markup themselves.
        """
        text = self.page[key] if key in self.page else self.script[key]
        return Markup(escape(text)).format(**values)  # noqa: S704  # escaped first

    @property
    def label_texts(self) -> dict[str, str]:
        """The texts that `hushpoll_shared.survey.consequences` says its label with."""
        return {key: {**self.label, **self.script}[key] for key in LABEL_KEYS}

    def said_label(self, published: Published, *, hosted: bool) -> SaidLabel:
        """Say who can learn what from what is sent to a survey."""
        return say_label(label_of(published, hosted=hosted), self.label_texts, self.language)

    def embedded(self, survey: Published) -> Markup:
        """Return the scripts' words as JSON inside the page; empty if the scripts have them.

        Words about what the survey does not have are left out.
        """
        if self.language == ENGLISH:
            return Markup("")
        words = {
            key: text
            for key, text in self.script.items()
            if all(has(survey) for about, has in _ONLY_FOR if about.fullmatch(key))
        }
        document = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        return Markup(document.replace("<", "\\u003c"))  # noqa: S704  # no markup is left


@cache
def catalogues() -> Mapping[str, Words]:
    """Return all catalogues by language, read once per process."""
    return read_catalogues(resources.files("hushpoll_client_js") / "src" / "words")


def read_catalogues(folder: Traversable) -> dict[str, Words]:
    """Read the catalogues of a folder, each with ``PAGE``, ``SCRIPT`` and ``LABEL``."""
    words = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        language, _, ending = file.name.rpartition(".")
        if ending == "js":
            text = file.read_text("utf-8")
            parts = {name: json.loads(part) for name, part in _PART.findall(text)}
            words[language] = Words(language, parts["PAGE"], parts["SCRIPT"], parts["LABEL"])
    return words


def words_for(tags: Iterable[str | None]) -> Words:
    """Return the words of the first of these language tags with a catalogue, else English ones."""
    offered = catalogues()
    for tag in tags:
        language = closest(tag or "", tuple(offered))
        if language is not None:
            return offered[language]
    return offered[ENGLISH]
