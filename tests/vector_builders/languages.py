"""Languages that readers get of those that there are, and directions of writing."""

from __future__ import annotations

from pathlib import Path

from hushpoll_shared.spelling.languages import closest, direction
from vector_builders.document import Group, write

CLOSEST: list[tuple[str, list[str], str | None]] = [
    ("de", ["en", "de"], "de"),
    ("de-CH", ["en", "de"], "de"),
    ("de-CH-1996", ["en", "de"], "de"),
    ("DE-ch", ["en", "de"], "de"),
    ("en-GB", ["en-US", "en"], "en"),
    ("en", ["en-US", "de"], "en-US"),
    ("pt-PT", ["pt-BR", "en"], "pt-BR"),
    ("pt-PT", ["pt-BR", "pt"], "pt"),
    ("pt", ["pt-BR", "pt-PT"], "pt-BR"),
    ("es-MX", ["es-ES", "es-419"], "es-419"),
    ("zh-TW", ["zh-Hant", "zh-Hans"], "zh-Hant"),
    ("zh-TW", ["zh-Hans", "zh-Hant"], "zh-Hant"),
    ("zh-Hant-HK", ["zh-TW", "zh-CN"], "zh-TW"),
    ("zh-CN", ["zh-Hant", "zh-Hans"], "zh-Hans"),
    ("zh", ["zh-Hant", "zh-Hans"], "zh-Hans"),
    ("zh-TW", ["zh", "zh-HK"], "zh-HK"),
    ("zh-SG", ["zh-Hant", "en"], "zh-Hant"),
    ("cmn-TW", ["zh-Hant"], "zh-Hant"),
    ("yue-HK", ["zh-Hant", "zh-Hans"], "zh-Hant"),
    ("no", ["nb", "en"], "nb"),
    ("no", ["nn", "nb"], "nb"),
    ("nb-NO", ["no", "en"], "no"),
    ("nn", ["nb", "en"], "nb"),
    ("nb", ["nn", "nb-NO"], "nb-NO"),
    ("sr", ["sr-Latn", "en"], "sr-Latn"),
    ("sr", ["sr-Latn", "sr-Cyrl"], "sr-Cyrl"),
    ("sr-Latn-RS", ["sr", "sr-Latn"], "sr-Latn"),
    ("sr-ME", ["sr-Cyrl", "sr-Latn"], "sr-Latn"),
    ("sh", ["sr-Cyrl", "sr-Latn"], "sr-Latn"),
    ("iw", ["he"], "he"),
    ("he", ["iw-IL"], "iw-IL"),
    ("in", ["id"], "id"),
    ("tl", ["fil"], "fil"),
    ("az-IR", ["az", "az-Arab"], "az-Arab"),
    ("da", ["nb", "sv"], None),
    ("uk", ["ru"], None),
    ("ca", ["es"], None),
    ("en", [], None),
    ("", ["en"], None),
    ("constructor", ["en"], None),
    ("i-klingon", ["en"], None),
]
DIRECTIONS = {
    "ar": "rtl", "ar-EG": "rtl", "he": "rtl", "iw": "rtl", "fa": "rtl", "ur-PK": "rtl", "ps": "rtl",
    "yi": "rtl", "dv": "rtl", "ckb": "rtl", "ug": "rtl", "sd": "rtl", "sd-Deva": "ltr",
    "pa": "ltr", "pa-PK": "rtl", "pa-Arab": "rtl", "az": "ltr", "az-Arab": "rtl", "ku-Arab": "rtl",
    "ar-Latn": "ltr", "ff-Adlm": "rtl", "uz-AF": "rtl", "ms-Arab": "rtl", "en": "ltr", "": "ltr",
    "zh-Hant-TW": "ltr", "ru": "ltr",
}  # fmt: skip


def build(folder: Path) -> None:
    """Write languages.json."""
    choices = Group(
        "closest",
        "The language that a reader gets of those that there are.",
        {
            "wanted": "language tag of the reader",
            "offered": "tags of the languages that there are",
            "closest": "what the reader gets; null for none",
        },
    )
    for wanted, offered, expected in CLOSEST:
        if closest(wanted, offered) != expected:
            raise AssertionError(f"{wanted} of {offered}: {closest(wanted, offered)}")
        choices.add(wanted=wanted, offered=offered, closest=expected)
    directions = Group(
        "directions",
        "Directions of writing.",
        {"tag": "language tag", "direction": "ltr or rtl"},
    )
    for tag, expected in DIRECTIONS.items():
        if direction(tag) != expected:
            raise AssertionError(f"{tag}: {direction(tag)}")
        directions.add(tag=tag, direction=expected)
    write(
        folder / "languages.json",
        "Languages of readers, and how they are written.",
        [choices, directions],
    )
