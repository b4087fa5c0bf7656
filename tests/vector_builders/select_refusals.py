"""Published select-alls and answers to them that must be refused, as changes to sound ones."""

from __future__ import annotations

from typing import Any

from vector_builders.odd import REMOVE, Change

_FIRST: list[str | int] = ["selects", 0]
_OPTION: list[str | int] = ["attributes", 1]

SELECTED: tuple[tuple[str, str, list[Change]], ...] = (
    ("an empty list", "selects", [(["selects"], [])]),
    ("no object", "selects[0].name", [(["selects", 0], {})]),
    ("the name of an attribute", "selects[sex].name", [([*_FIRST, "name"], "sex")]),
    ("the name of another", "selects[news].name", [(["selects", 2, "name"], "news")]),
    ("an unknown key", "selects[drugs].want", [([*_FIRST, "want"], "pairs")]),
    ("no limit", "selects[drugs].at_most", [([*_FIRST, "at_most"], REMOVE)]),
    ("a limit that is no number", "selects[drugs].at_most", [([*_FIRST, "at_most"], "2")]),
    ("too high a limit", "selects[drugs].at_most", [([*_FIRST, "at_most"], 5)]),
    ("an empty question", "selects[drugs].question", [([*_FIRST, "question"], "")]),
    ("all options needed", "selects[sports].at_least", [(["selects", 2, "at_least"], 2)]),
    (
        "another order",
        "selects[drugs].attributes",
        [([*_FIRST, "attributes"], ["drugs_2", "drugs_1", "drugs_3", "drugs_4"])],
    ),
    (
        "an option less",
        "selects[drugs].attributes",
        [([*_FIRST, "attributes"], ["drugs_1", "drugs_2", "drugs_3"])],
    ),
    (
        "an option that is no attribute",
        "selects[drugs].attributes",
        [([*_FIRST, "attributes", 3], "drugs_5")],
    ),
    ("another role", "attributes[drugs_2]", [([*_OPTION, "role"], "target")]),
    ("other answers", "attributes[drugs_2]", [([*_OPTION, "categories"], ["no", "yes"])]),
    ("a missing category", "attributes[drugs_2]", [([*_OPTION, "missing"], "none")]),
    ("an option without a text", "attributes[drugs_2]", [([*_OPTION, "question"], REMOVE)]),
    ("other limits", "together[drugs].thresholds", [([*_FIRST, "at_most"], 3)]),
    ("a block of another name", "selects[drugs].attributes", [(["together", 0, "name"], "all")]),
    ("a part of the split", "together[drugs].epsilon", [(["split", "weights", "news"], "3")]),
    ("the weight of an option", "split.weights[news_1]", [(["split", "weights", "news_1"], "1")]),
    ("k-based", "split", [(["split"], "k-based")]),
    (
        "an untranslated question",
        "translations[de].selects[drugs]",
        [(["translations", "de", "selects", "drugs"], REMOVE)],
    ),
    (
        "a translation of nothing",
        "translations[de].selects[x]",
        [(["translations", "de", "selects", "x"], "Was?")],
    ),
)
"""Each is what is wrong, the field at fault, and the changes to the survey with select-alls."""

_SOUND: dict[str, Any] = {
    "drugs": ["Cannabis"],
    "sex": "f",
    "news": ["Web"],
    "sports": [],
    "colours": [],
}

SELECTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("no answer", "sports", {key: _SOUND[key] for key in _SOUND if key != "sports"}),
    ("null", "sports", {**_SOUND, "sports": None}),
    ("no list", "drugs", {**_SOUND, "drugs": "Cannabis"}),
    ("too few", "drugs", {**_SOUND, "drugs": []}),
    ("too few apart", "news", {**_SOUND, "news": []}),
    ("too many", "drugs", {**_SOUND, "drugs": ["Cannabis", "Cocaine", "Heroin"]}),
    ("too many in clear", "colours", {**_SOUND, "colours": ["Red", "Green", "Blue"]}),
    ("an unknown option", "drugs", {**_SOUND, "drugs": ["pink"]}),
    ("an option twice", "drugs", {**_SOUND, "drugs": ["Heroin", "Heroin"]}),
    ("an option that is no text", "drugs", {**_SOUND, "drugs": [["Heroin"]]}),
    ("the question and an option", "drugs", {**_SOUND, "drugs_1": "selected"}),
)
"""Each is what is wrong, the question at fault, and the answers."""
