"""What is said in the language that is spoken: texts from a catalogue, and numbers.

English texts stand where they are said; a catalogue is a file of ``texts``, such as ``de.json``,
from English to another language. Its ``texts`` are those of this package, in which words in braces
stand for values. Its ``sentences`` are those of results, which other packages make in English: one
is said by the text that it is an instance of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Final

from markupsafe import Markup, escape

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "de", "fr", "es")
LANGUAGE_NAMES: Final[Mapping[str, str]] = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
}
"""Each in its own words."""

NO_BREAK: Final = "\u00a0"
NARROW: Final = "\u202f"

_SPOKEN: Final = ContextVar("language", default=ENGLISH)
_GROUPS: Final[Mapping[str, str]] = {"de": ".", "fr": NARROW, "es": "."}
_QUOTES: Final[Mapping[str, tuple[str, str]]] = {
    "en": ("“", "”"),
    "de": ("„", "“"),
    "fr": (f"«{NO_BREAK}", f"{NO_BREAK}»"),
    "es": ("«", "»"),
}
_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,]|\.\d)")
_PLACE: Final = re.compile(r"\{(\w+)\}")
_SENTENCE_END: Final = re.compile(r"(?<=[.;:]) ")
# A value whose name begins so is words of ours, too, and is said; one of names is a list of them.
# Others stay as they are, but for numbers.
_SAID: Final = "what"
_LISTED: Final = "names"
_MORE: Final = re.compile(r" and (\d+) more$")
_MOST_SPLITS: Final = 12


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language, one of `LANGUAGES`, for as long as the block runs."""
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def spoken() -> str:
    """Return the language that is spoken."""
    return _SPOKEN.get()


def check_language(language: str) -> str:
    """Return a language that there are words in; refuses any other."""
    if language not in LANGUAGES:
        raise InvalidParameter(
            f"language is {show(language)}; there are words in {', '.join(LANGUAGES)}: choose one "
            "of them",
            field="language",
        )
    return language


def say(text: str, **values: object) -> str:
    """Return one of our texts, with values in place of the names in braces."""
    return _in_language(text).format(**values)


def say_html(text: str, **values: object) -> Markup:
    """Return one of our texts as markup; values are escaped, unless they are markup themselves."""
    return Markup(escape(_in_language(text))).format(**values)  # noqa: S704  # escaped first


def counted(number: int, one: str, many: str, **values: object) -> str:
    """Return the text for one thing or for several, in which ``number`` stands for how many.

    Of nothing French speaks as of one.
    """
    single = number == 1 or (number == 0 and spoken() == "fr")
    return say(one if single else many, number=whole(number), **values)


def said(text: str) -> str:
    """Return sentences of a result, made in English, in the language that is spoken.

    A sentence that no text of the catalogue has the form of stays as it is.
    """
    language = spoken()
    return text if language == ENGLISH or not text else _said(text, language)


def in_quotes(text: str) -> str:
    """Return a text in the quotation marks of the language."""
    before, after = _QUOTES[spoken()]
    return f"{before}{text}{after}"


def semicolons(texts: Iterable[str]) -> str:
    """Return texts with semicolons between them; in French with the space that stands before."""
    before = NARROW if spoken() == "fr" else ""
    return f"{before}; ".join(texts)


def whole(number: int) -> str:
    """Return a whole number with its thousands apart."""
    return in_marks(f"{number:,}")


def in_marks(text: str) -> str:
    """Return a text whose numbers, written as in English, have the marks of the language."""
    language = spoken()
    return text if language == ENGLISH else _in_marks(text, language)


def percent_sign() -> str:
    """Return the sign with the space before it, which is narrow outside of English."""
    return f"{NO_BREAK if spoken() == ENGLISH else NARROW}%"


@dataclass(frozen=True)
class Catalogue:
    """The texts of a language other than English by the English ones, and sentences of results."""

    texts: Mapping[str, str]
    sentences: Mapping[str, str]


@cache
def catalogue(language: str) -> Catalogue:
    """Return the catalogue of a language other than English."""
    file = resources.files(__package__) / "texts" / f"{language}.json"
    return Catalogue(**json.loads(file.read_text(encoding="utf-8")))


def words_of_ours() -> frozenset[str]:
    """Return every word, in lower case, of our texts in all languages."""
    known = [catalogue(language) for language in LANGUAGES if language != ENGLISH]
    parts = (
        _PLACE.sub(" ", text)
        for one in known
        for texts in (one.texts, one.sentences)
        for pair in texts.items()
        for text in pair
    )
    return frozenset(word for text in parts for word in re.findall(r"[\w-]+", text.casefold()))


def _in_language(text: str) -> str:
    language = spoken()
    return text if language == ENGLISH else catalogue(language).texts.get(text, text)


def _in_marks(text: str, language: str) -> str:
    def marked(found: re.Match[str]) -> str:
        number, _, places = found[0].partition(".")
        digits = number.replace(",", "")
        if len(digits) > (4 if language == "es" else 3) and ("," in number):
            digits = number.replace(",", _GROUPS[language])
        return f"{digits},{places}" if places else digits

    return _NUMBER.sub(marked, text).replace(" %", f"{NARROW}%")


@lru_cache(maxsize=4096)
def _said(text: str, language: str) -> str:
    whole_text = _said_one(text, language)
    if whole_text is not None:
        return whole_text
    parts = _SENTENCE_END.split(text)
    if len(parts) == 1 or len(parts) > _MOST_SPLITS * 4:
        return text
    told, start = [], 0
    while start < len(parts):
        # The longest run of sentences that the catalogue has, so that texts may have several.
        for end in range(min(len(parts), start + _MOST_SPLITS), start, -1):
            found = _said_one(" ".join(parts[start:end]), language)
            if found is not None:
                told.append(found)
                start = end
                break
        else:
            told.append(parts[start])
            start += 1
    return " ".join(told)


def _said_one(text: str, language: str) -> str | None:
    known = catalogue(language)
    own = known.sentences.get(text) or known.texts.get(text)
    if own is not None:
        return own
    for pattern, translated in _patterns(language):
        found = pattern.fullmatch(text)
        if found is not None:
            values = {
                name: _value(name, value, language) for name, value in found.groupdict().items()
            }
            return translated.format(**values)
    return _in_marks(text, language) if _NUMBER.fullmatch(text) else None


def _value(name: str, value: str, language: str) -> str:
    if name.startswith(_SAID):
        return _said(value, language)
    if not name.startswith(_LISTED):
        return _in_marks(value, language)
    sentences = catalogue(language).sentences
    more = _MORE.search(value)
    if more is not None:
        rest = sentences["{number} more"].format(number=more[1])
        return f"{value[: more.start()]}{sentences[' and ']}{rest}"
    return sentences[" and "].join(value.rsplit(" and ", 1))


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the texts with values as patterns, those with most words of their own first."""
    sentences = catalogue(language).sentences
    with_values = [pair for pair in sentences.items() if _PLACE.search(pair[0])]
    with_values.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return tuple((_pattern(text), translated) for text, translated in with_values)


def _pattern(text: str) -> re.Pattern[str]:
    parts = _PLACE.split(text)
    names: set[str] = set()
    form = ""
    for place, part in enumerate(parts):
        if place % 2 == 0:
            form += re.escape(part)
        elif part in names:
            form += f"(?P={part})"
        else:
            names.add(part)
            form += (
                rf"(?P<{part}>[\d.,]+)"
                if part.startswith(("number", "epsilon"))
                else rf"(?P<{part}>(?:(?!\. ).)+?)"
            )
    # A part of a sentence has not its end, which a value would take with it.
    return re.compile(form if text.endswith(".") else rf"{form}(?<!\.)", re.DOTALL)
