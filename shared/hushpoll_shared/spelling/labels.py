"""The rule for white space and invisible characters of texts that authors write.

A respondent cannot see a blank at the end of an answer, nor tell two answers apart that only such
characters, widths or alphabets make different. So a draft is refused for them, and a form takes
them off what was typed. Published surveys keep what they have: their texts are compared as they
are, in every language and on every device.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.text import show

# The white space of Unicode (property White_Space), as a closed list.
WHITE: Final = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
# Fillers, joiners, marks of direction and others without a shape of their own; no part of an emoji.
UNSEEN: Final = (
    "\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u202a-\\u202e"
    "\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb"
)
# They change the character before them, so that a text may end with one, as many an emoji does.
VARIANTS: Final = "\\u180b-\\u180d\\u180f\\ufe00-\\ufe0f"

_ENDS: Final = re.compile(f"\\A[{WHITE}{UNSEEN}{VARIANTS}]+|[{WHITE}{UNSEEN}]+\\Z")
_BLANKS: Final = re.compile(f"[{WHITE}]+")
_NOTHING: Final = re.compile(f"[{UNSEEN}{VARIANTS}\U000e0100-\U000e01ef]+")
# Letters of two alphabets that have the same shape.
_SHAPES: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТХУасеіјорѕухԁԛԝһ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲ",
    "ABESIJKMHOPCTXYaceijopsyxdqwh" + "ABEZHIKMNOPTYXoc",
)


def trimmed(text: str) -> str:
    """Return a text that was typed without white space and invisible characters at its ends."""
    return _ENDS.sub("", text)


def check_ends(text: object, *, field: str, lines: bool = False) -> None:
    """Refuse a text of a draft that begins or ends with what nobody sees.

    With `lines` line feeds may stand at the ends, as YAML puts one behind a text of several lines.
    """
    if not isinstance(text, str):
        return
    inner = text.strip("\n") or text if lines else text
    match = _ENDS.search(inner)
    if match is None:
        return
    found = match[0]
    name = unicodedata.name(found[0], "a control character")
    place = "begins" if match.start() == 0 else "ends"
    raise refusal_of(field)(
        f"is {show(text)}, which {place} with U+{ord(found[0]):04X} ({name}), a character that "
        "nobody sees; it must not start or end with white space or an invisible character: remove "
        "it"
    )


def looks(text: str) -> str:
    """Return the same text for all labels that a reader cannot tell apart.

    White space of any kind and number is one blank, characters without a shape count for nothing,
    compatible forms such as full-width letters are one (Unicode normal form KC), and so are letters
    of the Latin, Greek and Cyrillic alphabets that have one shape. Capitals are seen, and differ.
    """
    if text.isascii() and "  " not in text:
        return text
    seen = unicodedata.normalize("NFKC", _NOTHING.sub("", text)).translate(_SHAPES)
    return _BLANKS.sub(" ", seen).strip(" ")


def check_apart(labels: Iterable[object], *, field: str) -> None:
    """Refuse labels of one question that differ and look the same."""
    seen: dict[str, str] = {}
    for label in labels:
        if not isinstance(label, str):
            continue
        other = seen.setdefault(looks(label), label)
        if other != label:
            raise refusal_of(field)(
                f"has {show(other)} ({_points(other, label)}) and {show(label)} "
                f"({_points(label, other)}), which look the same to a respondent; call them "
                "differently, or remove one"
            )


def _points(label: str, other: str) -> str:
    """Return the code points of a label that the other does not have, or the number of all."""
    own = [f"U+{ord(letter):04X}" for letter in dict.fromkeys(label) if letter not in other]
    return f"with {', '.join(own[:4])}" if own else f"{len(label)} characters"
