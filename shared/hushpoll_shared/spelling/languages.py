"""Which language of a survey a reader gets, and in which direction it is written.

Lookup as in RFC 4647, section 3.4, and beyond it: a reader of a language reads it in another region
or script, and closely related languages, where the survey has nothing nearer. The browser SDK's
``languages.js`` has the same tables; vectors hold both to the same choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

# Older and other tags of one language; ISO 639 and the registry of BCP 47.
_SAME: Final[Mapping[str, str]] = {
    "iw": "he", "in": "id", "ji": "yi", "mo": "ro", "tl": "fil", "cmn": "zh", "arb": "ar",
    "pes": "fa", "prs": "fa", "swh": "sw", "ekk": "et", "lvs": "lv", "zsm": "ms", "khk": "mn",
}  # fmt: skip
# Languages whose readers read each other's, the nearest first.
_NEAR: Final[Mapping[str, tuple[str, ...]]] = {
    "no": ("nb", "nn"), "nb": ("no", "nn"), "nn": ("no", "nb"),
    "sh": ("sr", "hr", "bs"), "sr": ("sh",), "hr": ("sh",), "bs": ("sh",), "yue": ("zh",),
}  # fmt: skip
# The script of a tag that names none, by language and region ("" for all other regions).
_SCRIPTS: Final[Mapping[str, Mapping[str, str]]] = {
    "zh": {"": "Hans", "TW": "Hant", "HK": "Hant", "MO": "Hant"},
    "yue": {"": "Hant", "CN": "Hans"},
    "sr": {"": "Cyrl", "ME": "Latn"},
    "sh": {"": "Latn"},
    "az": {"": "Latn", "IR": "Arab"},
    "uz": {"": "Latn", "AF": "Arab"},
    "pa": {"": "Guru", "PK": "Arab"},
    "kk": {"": "Cyrl", "CN": "Arab", "IR": "Arab"},
    "ky": {"": "Cyrl", "CN": "Arab"},
    "mn": {"": "Cyrl", "CN": "Mong"},
    "ku": {"": "Latn", "IQ": "Arab", "IR": "Arab"},
    "ms": {"": "Latn", "CC": "Arab"},
    "ha": {"": "Latn", "SD": "Arab"},
    "sd": {"": "Arab", "IN": "Deva"},
    "ks": {"": "Arab", "IN": "Arab"},
}
_RIGHT_TO_LEFT_SCRIPTS: Final = frozenset(
    {"Adlm", "Arab", "Aran", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa", "Yezi"}
)
_RIGHT_TO_LEFT: Final = frozenset(
    [
        "aeb",
        "ajp",
        "apc",
        "ar",
        "arc",
        "ars",
        "ary",
        "arz",
        "azb",
        "bal",
        "bqi",
        "ckb",
        "dv",
        "fa",
        "glk",
        "he",
        "khw",
        "ks",
        "lrc",
        "luz",
        "mzn",
        "nqo",
        "pnb",
        "ps",
        "sd",
        "sdh",
        "skr",
        "syr",
        "ug",
        "ur",
        "yi",
    ]
)


class _Tag(NamedTuple):
    language: str
    script: str
    region: str


def direction(tag: str | None) -> str:
    """Return ``rtl`` for a language that is written from right to left, else ``ltr``."""
    parts = _parsed(tag or "")
    if parts.script:
        return "rtl" if parts.script in _RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if parts.language in _RIGHT_TO_LEFT else "ltr"


def closest(tag: str, offered: Sequence[str]) -> str | None:
    """Return the offered language that a reader of `tag` reads best; None if they read none."""
    wanted = _parsed(tag)
    languages = (wanted.language, *_NEAR.get(wanted.language, ()))
    best: tuple[tuple[int, ...], str] | None = None
    for place, candidate in enumerate(offered):
        have = _parsed(candidate)
        if have.language not in languages:
            continue
        rank = (
            languages.index(have.language),
            int(have.script != wanted.script),
            _distance(wanted.region, have.region),
            place,
        )
        if best is None or rank < best[0]:
            best = (rank, candidate)
    return None if best is None else best[1]


def reader_language(
    wanted: Iterable[tuple[str, float]], offered: Sequence[str], own: str | None = None
) -> str | None:
    """Return the language that a reader gets.

    `wanted` are ranges with qualities in [0, 1], by preference, as in ``Accept-Language``; one of
    quality 0 is given only if nothing else is there. Where nothing is wanted it is `own`.
    """
    ranges = list(wanted)
    allowed = [tag for tag in offered if _quality(tag, ranges) != 0]
    for tag, quality in ranges:
        if quality <= 0:
            continue
        found = (own if own in allowed else None) if tag == "*" else closest(tag, allowed)
        if found is not None:
            return found
    return own if own in allowed or not allowed else allowed[0]


def _quality(tag: str, ranges: Sequence[tuple[str, float]]) -> float | None:
    """Return the quality of the longest range that a language is in; None if it is in none."""
    inside = [
        (len(wanted) if wanted != "*" else 0, quality)
        for wanted, quality in ranges
        if wanted == "*" or f"{tag}-".lower().startswith(f"{wanted}-".lower())
    ]
    return max(inside)[1] if inside else None


def _parsed(tag: str) -> _Tag:
    """Return the parts of a tag, its script also where the region or the language tells it."""
    language, *others = tag.replace("_", "-").lower().split("-")
    language = _SAME.get(language, language)
    script = next((part.title() for part in others if len(part) == 4 and part.isalpha()), "")
    region = next((part.upper() for part in others if len(part) == 2 or part.isdigit()), "")
    usual = _SCRIPTS.get(language, {})
    return _Tag(language, script or usual.get(region, usual.get("", "")), region)


def _distance(wanted: str, have: str) -> int:
    """Return how far regions are apart: the same, none named, one of several countries, another."""
    if wanted == have:
        return 0
    return 1 if not have else 2 if have.isdigit() else 3
