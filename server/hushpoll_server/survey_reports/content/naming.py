"""Sentences that name variables, with the texts of questions in place of their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from hushpoll_server.translations.speech import in_quotes, words_of_ours

_QUOTED: Final = re.compile(r"(“[^”]*”|„[^“]*“|«[^»]*»|\"[^\"]*\"|`[^`]*`)")
_TOKEN: Final = re.compile(r"(?<![\w.-])[a-z0-9_-]+(?![\w-])")
# Draws and blocks have names alone, and nobody is asked them.
_UNASKED: Final = re.compile(r"\bthe (draw|block) [a-z0-9_-]+(?![\w-])")


def in_texts(sentence: str, names: Mapping[str, str]) -> str:
    """Return a sentence as pages say it, which know questions by their texts, `names`.

    What stands in quotes stays as it is. So does, but at the beginning, a name that our own
    sentences have as a word: of a question named ``share`` they would be spoilt.
    """
    first = _TOKEN.match(sentence)
    if first is not None and first[0] in names:
        return as_text(first[0], names) + in_texts(sentence[first.end() :], names)
    parts = _QUOTED.split(_UNASKED.sub(r"one \1", sentence))
    return "".join(
        part if place % 2 else _TOKEN.sub(lambda found: _text_of(found[0], names), part)
        for place, part in enumerate(parts)
    )


def as_text(name: str, names: Mapping[str, str]) -> str:
    """Return what a sentence calls a variable: the text of its question, in quotes, or its name."""
    text = names.get(name, name)
    return name if text == name else in_quotes(text)


def _text_of(word: str, names: Mapping[str, str]) -> str:
    return word if word not in names or word in _words() else as_text(word, names)


@cache
def _words() -> frozenset[str]:
    return words_of_ours()
