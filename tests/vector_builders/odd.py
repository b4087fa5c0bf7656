"""Odd changes to a sound manifest: what must be refused for which field, and what is read."""

from __future__ import annotations

from typing import Any

REMOVE = object()
Change = tuple[list[str | int], Any]

# Sound with `language: en`; the smallest survey has one text besides its title and categories.
GERMAN: dict[str, Any] = {"de": {"title": "Klein", "attributes": {"colour": {"missing": "k. A."}}}}
_DE: list[str | int] = ["translations", "de"]
COLOUR: list[str | int] = [*_DE, "attributes", "colour"]
TRANSLATIONS: list[tuple[str, str, list[Change]]] = [
    ("own language not stated", "language", [(["language"], REMOVE)]),
    ("own language", "translations[de]", [(["language"], "de")]),
    ("none", "translations", [(["translations"], {})]),
    ("a list", "translations", [(["translations"], ["de"])]),
    ("language in words", "translations", [(["translations", "German"], {"title": "Klein"})]),
    ("no mapping", "translations[de]", [(_DE, "Klein")]),
    ("no title", "translations[de].title", [([*_DE, "title"], REMOVE)]),
    ("title with a space", "translations[de].title", [([*_DE, "title"], "Klein ")]),
    ("unknown key", "translations[de].heading", [([*_DE, "heading"], "Klein")]),
    ("description of none", "translations[de].description", [([*_DE, "description"], "x")]),
    ("description missing", "translations[de].description", [(["description"], "x")]),
    ("purpose missing", "translations[de].purpose", [(["purpose"], "x")]),
    ("no sections", "translations[de].sections", [([*_DE, "sections"], "x")]),
    ("section of none", "translations[de].sections[B]", [([*_DE, "sections"], {"B": "C"})]),
    (
        "section missing",
        "translations[de].sections[A]",
        [(["attributes", 0, "section"], "A")],
    ),
    ("no attributes", "translations[de].attributes", [([*_DE, "attributes"], [])]),
    (
        "attribute of none",
        "translations[de].attributes",
        [([*_DE, "attributes", "mood"], {"question": "x"})],
    ),
    ("nothing", "translations[de].attributes[age]", [([*_DE, "attributes", "age"], {})]),
    (
        "missing category missing",
        "translations[de].attributes[colour].missing",
        [([*_DE, "attributes"], REMOVE)],
    ),
    (
        "question of none",
        "translations[de].attributes[colour].question",
        [([*COLOUR, "question"], "x")],
    ),
    (
        "question missing",
        "translations[de].attributes[age].question",
        [(["attributes", 1, "question"], "x")],
    ),
    (
        "too few categories",
        "translations[de].attributes[colour].categories",
        [([*COLOUR, "categories"], ["a", "b"])],
    ),
    (
        "categories no list",
        "translations[de].attributes[colour].categories",
        [([*COLOUR, "categories"], "abc")],
    ),
    (
        "a category no text",
        "translations[de].attributes[colour].categories[1]",
        [([*COLOUR, "categories"], ["a", 1, "c"])],
    ),
    (
        "two answers of one name",
        "translations[de].attributes[colour].categories",
        [([*COLOUR, "categories"], ["a", "b", "a"])],
    ),
    (
        "missing like an answer",
        "translations[de].attributes[colour].categories",
        [([*COLOUR, "missing"], "red")],
    ),
]

# Of labels: what an editor or a web page leaves behind. `field` None: a published one is answered.
TOWN: list[str | int] = ["attributes", 2, "categories", 0]
SECOND: list[str | int] = ["attributes", 2, "categories", 1]
LABELS = {
    "no-break space": "\u00a0", "narrow no-break space": "\u202f", "thin space": "\u2009",
    "ideographic space": "\u3000", "zero width space": "\u200b", "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad", "word joiner": "\u2060", "right-to-left mark": "\u200f",
    "Hangul filler": "\u3164", "Braille blank": "\u2800", "zero width joiner": "\u200d",
}  # fmt: skip
_SCORES = ["0,1", *map(str, range(2, 11))]
_GERMAN_TOO: list[Change] = [(["language"], "en"), (["translations"], GERMAN)]
ODD: list[tuple[str, str | None, list[Change]]] = [
    *((f"{name} behind an answer", None, [(TOWN, f"Oslo{c}")]) for name, c in LABELS.items()),
    ("a space before an answer", "attributes[town].categories[0]", [(TOWN, " Oslo")]),
    ("twins", None, [(TOWN, "Oslo"), (SECOND, "Oslo\u00a0")]),
    ("an emoji with its variant", None, [(TOWN, "\u2764\ufe0f")]),
    ("a family of emoji", None, [(TOWN, "\U0001f468\u200d\U0001f467")]),
    ("200 characters beyond the first plane", None, [(TOWN, "\U0001f3dd" * 200)]),
    ("201 of them", "attributes[town].categories[0]", [(TOWN, "\U0001f3dd" * 201)]),
    ("a line feed in a description", None, [(["description"], "a\nb\n")]),
    ("a line feed in a title", "title", [(["title"], "a\nb")]),
    ("a title that is null", "title", [(["title"], None)]),
    (
        "a missing category that is null",
        "attributes[age].missing",
        [(["attributes", 1, "missing"], None)],
    ),
    (
        "a question that is null",
        "attributes[age].question",
        [(["attributes", 1, "question"], None)],
    ),
    ("protected null", "protected", [(["protected"], None)]),
    ("protected false", "protected", [(["protected"], False)]),
    ("protected zero", "protected", [(["protected"], 0)]),
    ("protected of more", "protected.more", [(["protected", "more"], "x")]),
    ("protected attribute a number", "protected.attribute", [(["protected", "attribute"], 1)]),
    ("protected category a number", "protected.privileged", [(["protected", "privileged"], [1])]),
    ("parameters a list", "attributes[age].parameters", [(["attributes", 1, "parameters"], [])]),
    ("parameters false", "attributes[age].parameters", [(["attributes", 1, "parameters"], False)]),
    ("parameters a text", "attributes[age].parameters", [(["attributes", 1, "parameters"], "")]),
    (
        "parameters of no name",
        "attributes[age].parameters",
        [(["attributes", 1, "parameters"], {"": 1})],
    ),
    ("weights a list", "split", [(["split"], {"weights": []})]),
    ("weights null", "split", [(["split"], {"weights": None})]),
    ("weights and more", "split", [(["split", "more"], 1)]),
    (
        "scores in one answer",
        "attributes[town].scale",
        [(["attributes", 2, "categories"], _SCORES), (["attributes", 2, "scale"], "nps")],
    ),
    ("a name in capitals", "attributes[2].name", [(["attributes", 2, "name"], "Town")]),
    ("a name with a dot", "attributes[2].name", [(["attributes", 2, "name"], "to.wn")]),
    ("version true", "version", [(["version"], True)]),
    ("version half", "version", [(["version"], 1.5)]),
    ("format true", "format", [(["format"], True)]),
    ("minimum batch too large", "minimum_batch", [(["minimum_batch"], 10**9 + 1)]),
    ("the end of a day as 24:00", "opens", [(["opens"], "2026-01-31T24:00:00Z")]),
    ("a leap second", "opens", [(["opens"], "2026-06-30T23:59:60Z")]),
    ("the year 0", "opens", [(["opens"], "0000-01-01T00:00:00Z")]),
    ("the year 1", None, [(["opens"], "0001-01-01T00:00:00Z")]),
    ("a time with a fraction", "opens", [(["opens"], "2026-01-31T09:00:00.0Z")]),
    ("a language in capitals", "language", [(["language"], "EN")]),
    ("a language with a variant", "language", [(["language"], "ca-valencia")]),
    ("a language, a script and a region", None, [(["language"], "zh-Hant-TW")]),
    (
        "translation: a description null",
        "translations[de].description",
        [*_GERMAN_TOO, ([*_DE, "description"], None)],
    ),
    (
        "translation: sections of nothing",
        "translations[de].sections",
        [*_GERMAN_TOO, ([*_DE, "sections"], {})],
    ),
    (
        "translation: a section of none that is null",
        "translations[de].sections[B]",
        [*_GERMAN_TOO, ([*_DE, "sections"], {"B": None})],
    ),
    (
        "translation: a question null",
        "translations[de].attributes[colour].question",
        [*_GERMAN_TOO, ([*COLOUR, "question"], None)],
    ),
    (
        "translation: a no-break space at the end",
        None,
        [*_GERMAN_TOO, ([*COLOUR, "missing"], "k. A.\u00a0")],
    ),
]
# Texts of the sound manifest: [from, to], the first place where it stands is replaced.
TEXTS: list[tuple[str, str | None, list[str]]] = [
    ("as it is", None, ["", ""]),
    ("a blank first", "json", ["{", " {"]),
    ("a line feed first", "json", ["{", "\n{"]),
    ("a byte order mark first", "json", ["{", "\ufeff{"]),
    ("a blank behind a colon", "json", ['"format":1', '"format": 1']),
    ("1.0 for 1", "json", ['"format":1', '"format":1.0']),
    ("1e0 for 1", "json", ['"format":1', '"format":1e0']),
    ("30e-1 for 3", "json", ['"version":3', '"version":30e-1']),
    ("a key twice", "json", ['"format":1', '"format":1,"format":1']),
    ("keys in another order", "json", ['{"attributes":', '{"version":3,"attributes":']),
    ("a letter escaped", "json", ['"Oslo"', '"\\u004fslo"']),
    ("a slash escaped", "json", ['"Oslo"', '"Os\\/lo"']),
    ("half of a surrogate pair", "json", ['"Oslo"', '"\\ud800"']),
    ("NaN", "json", ['"format":1', '"format":NaN']),
    ("minus zero", "json", ['"format":1', '"format":-0']),
    ("a comma too many", "json", ['"format":1,', '"format":1,,']),
    ("nothing", "json", ["*", ""]),
]
