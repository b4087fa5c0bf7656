"""Checks of names and texts, so that every device compares the same bytes; texts for terminals.

The rules are closed lists of code points, not Unicode classes that grow with the library's version:
a manifest that one implementation accepts, all accept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, cast

from hushpoll_protocols.errors import refusal_of
from hushpoll_protocols.errors import show as show  # checks of every room import it from here

NAME_LENGTH: Final = 64
CATEGORY_LENGTH: Final = 200
TITLE_LENGTH: Final = 200
QUESTION_LENGTH: Final = 1000
DESCRIPTION_LENGTH: Final = 5000
PURPOSE_LENGTH: Final = 2000
OPERATOR_LENGTH: Final = 200
SECTION_LENGTH: Final = 200
HELP_LENGTH: Final = 1000
THANKS_LENGTH: Final = 2000
TEXT_RULES: Final = {
    "title": (TITLE_LENGTH, False),
    "description": (DESCRIPTION_LENGTH, True),
    "operator": (OPERATOR_LENGTH, False),
    "purpose": (PURPOSE_LENGTH, True),
    "thanks": (THANKS_LENGTH, True),
    "section": (SECTION_LENGTH, False),
    "question": (QUESTION_LENGTH, False),
    "help": (HELP_LENGTH, True),
    "missing": (CATEGORY_LENGTH, False),
}
"""Longest length of each text of a survey or a question, and whether it may have line feeds."""

_NAME: Final = re.compile(r"[a-z0-9_-]{1,64}")

# C0, DEL and C1 controls, line and paragraph separators, and the directional overrides, which can
# make one category look like another on a respondent's screen. Lone surrogates have no UTF-8.
_FORBIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


_NO_TEXT: Final = frozenset({float, int, bool, type(None)})

# Characters that Python calls printable but that show nothing: fillers, joiners, variants.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def printable(value: object) -> str:
    """Return a text, number or None from another machine as one line that is safe in a terminal.

    Every character that could move a cursor, turn the direction of writing or not be seen becomes
    a space: control characters, line breaks, directional overrides, blanks without width, fillers.
    """
    text = str(value)
    if text.isascii() and text.isprintable():  # nearly all of a long table
        return text
    text = _INVISIBLE.sub(" ", text)
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


# a table has few keys, each in very many rows
_printable_key: Final = lru_cache(maxsize=1024)(printable)


def printable_lines(text: str) -> str:
    """Return lines of text, each :func:`printable`; for lines that this program broke itself."""
    return "\n".join(map(printable, text.split("\n")))


def made_printable(document: object) -> object:
    """Return a JSON document from another machine with all its texts :func:`printable`."""
    if isinstance(document, str):
        return printable(document)
    if isinstance(document, dict):
        return {
            _printable_key(key): value if type(value) in _NO_TEXT else made_printable(value)
            for key, value in document.items()
        }
    if isinstance(document, list | tuple):
        return [item if type(item) in _NO_TEXT else made_printable(item) for item in document]
    return document


def isolated(name: str) -> str:
    """Return a name for the middle of a sentence on a page, so that it moves no words beside it.

    Numbers and signs that follow a name in Hebrew or Arabic would otherwise be shown before it. No
    name has such marks of its own; :func:`check_text` refuses them.
    """
    return f"\u2068{name}\u2069" if turns(name) else name


def turns(text: str) -> bool:
    """Whether a text has a letter or number that is written from right to left."""
    return any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)


def with_mark(text: str) -> str:
    """Return a text with a full stop, unless it has a mark at its end, as a question has."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def quoted(text: str) -> str:
    """Return a text as a sentence goes on after it: a question has a mark of its own."""
    return f"“{text}”"


def number_of_entries(number: int) -> str:
    """Return how many entries a list has, in words."""
    return "1 entry" if number == 1 else f"{number} entries"


def is_name(value: object) -> bool:
    """Whether `value` is a string of 1 to 64 characters out of ``a-z 0-9 _ -``."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def check_name(value: object, *, field: str) -> str:
    """Return `value` if it is a name: 1 to 64 characters out of ``a-z 0-9 _ -``."""
    if not isinstance(value, str) or not is_name(value):
        raise refusal_of(field)(
            f"is {show(value)}; a name is 1 to {NAME_LENGTH} characters out of a-z, 0-9, '_' and "
            "'-': rename it"
        )
    return value


def check_text(value: object, *, field: str, longest: int, lines: bool = False) -> str:
    """Return `value` if it is text of 1 to `longest` code points in Unicode normal form C.

    Refuses spaces at its ends and control characters; `lines`: line feeds are allowed inside.
    """
    if not isinstance(value, str):
        raise refusal_of(field)(
            f"is {show(value)} ({type(value).__name__}); it must be text: put it in quotes"
        )
    if not 1 <= len(value) <= longest:
        raise refusal_of(field)(
            f"is {show(value)}, {len(value)} characters long; it must have 1 to {longest} "
            f"characters: {'shorten it' if value else 'write it, or leave it out'}"
        )
    if _FORBIDDEN.search(value.replace("\n", "") if lines else value):
        raise refusal_of(field)(
            f"is {show(value)}; control characters and directional overrides are not allowed: "
            "remove them"
        )
    if value[0] == " " or value[-1] == " ":
        raise refusal_of(field)(
            f"is {show(value)}; it must not start or end with a space: remove the space"
        )
    if not unicodedata.is_normalized("NFC", value):
        raise refusal_of(field)(
            f"is {show(value)}; text must be in Unicode normal form C: normalise it"
        )
    return value


def check_texts(texts: Mapping[str, object], *names: str, where: str = "") -> None:
    """Check those of some texts of a survey or a question that are there, by `TEXT_RULES`."""
    for name in names:
        if texts.get(name) is not None:
            longest, lines = TEXT_RULES[name]
            check_text(texts[name], field=f"{where}{name}", longest=longest, lines=lines)


def are_plain(texts: Sequence[object], *, longest: int) -> bool:
    """Whether texts are each another one of printable ASCII, in which `check_text` finds no fault.

    The domain of a large question is so, and is looked through as a whole.
    """
    if not all(type(text) is str for text in texts):
        return False
    words = cast("Sequence[str]", texts)
    together = "".join(words)
    return (
        together.isascii()
        and together.isprintable()
        and len(set(words)) == len(words)
        and all(0 < len(word) <= longest and word[0] != " " != word[-1] for word in words)
    )


def normalized(value: object) -> object:
    """Return a string in normal form C, anything else as it is.

    Authors cannot see which form their editor typed, so drafts and answers are brought into normal
    form; a published manifest must be in it already.
    """
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value
