"""Texts of SurveyJS: in several languages, one after the other, and in HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

from hushpoll_shared.importing.questionnaire import UNNAMED, Words

DEFAULT: Final = "default"
_BLOCKS: Final = ("p", "br", "div", "li", "h1", "h2", "h3", "h4", "h5", "h6", "tr")
_HIDDEN: Final = ("script", "style")


class _Text(HTMLParser):
    """Keeps the text of HTML, and begins a line where a block does."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin a line at a block."""
        del attrs
        self._hidden += tag in _HIDDEN
        if tag in _BLOCKS:
            self.found.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """Begin a line after a block."""
        self._hidden -= tag in _HIDDEN
        if tag in _BLOCKS:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        """Keep what is read."""
        if self._hidden <= 0:
            self.found.append(data)


def without_tags(text: str) -> str:
    """Return what a browser would show of a text in HTML, as lines."""
    if "<" not in text and "&" not in text:
        return text
    parser = _Text()
    parser.feed(text)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.found).splitlines())
    return "\n".join(line for line in lines if line)


def joined(*parts: Words) -> dict[str, str]:
    """Return texts one after the other, in every language that one of them has."""
    languages = dict.fromkeys(language for words in parts for language in words)
    return {
        language: ": ".join(words.get(language) or first_text(words) for words in parts)
        for language in languages
    }


def first_text(words: Words) -> str:
    """Return a text in the first language that has it."""
    return next(iter(words.values()), "")


def words_of(given: object) -> dict[str, str]:
    """Return a text that SurveyJS may keep in several languages."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = str(given)
    if isinstance(given, str):
        return {UNNAMED: given} if given.strip() else {}
    if not isinstance(given, dict):
        return {}
    return {
        (UNNAMED if language == DEFAULT else str(language)): text
        for language, text in given.items()
        if isinstance(text, str) and text.strip()
    }
