"""Published matrices that must be refused, as changes to sound ones."""

from __future__ import annotations

from vector_builders.odd import REMOVE, Change

_FIRST: list[str | int] = ["matrices", 0]
_ITEM: list[str | int] = ["attributes", 2]

TABLED: tuple[tuple[str, str, list[Change]], ...] = (
    ("an empty list", "matrices", [(["matrices"], [])]),
    ("no matrices", "translations[de].matrices[drinks]", [(["matrices"], REMOVE)]),
    ("no object", "matrices[0].name", [(["matrices", 0], {})]),
    ("the name of an attribute", "matrices[sex].name", [([*_FIRST, "name"], "sex")]),
    ("the name of an item", "matrices[beer].name", [([*_FIRST, "name"], "beer")]),
    ("the name of another", "matrices[trust].name", [(["matrices", 2, "name"], "trust")]),
    ("the name of another block", "matrices[drinks].name", [(["matrices", 1, "name"], "drinks")]),
    ("an unknown key", "matrices[drinks].rows", [([*_FIRST, "rows"], ["wine"])]),
    ("an empty question", "matrices[drinks].question", [([*_FIRST, "question"], "")]),
    ("no items", "matrices[drinks].attributes", [([*_FIRST, "attributes"], REMOVE)]),
    ("an empty list of items", "matrices[trust].attributes", [(["matrices", 1, "attributes"], [])]),
    ("one item", "matrices[trust].attributes", [(["matrices", 1, "attributes"], ["press"])]),
    (
        "an item twice",
        "matrices[trust].attributes",
        [(["matrices", 1, "attributes"], ["press", "press"])],
    ),
    (
        "another order",
        "matrices[trust].attributes",
        [(["matrices", 1, "attributes"], ["police", "press"])],
    ),
    (
        "items apart",
        "matrices[trust].attributes",
        [(["matrices", 1, "attributes"], ["press", "tram"])],
    ),
    (
        "an item that is no attribute",
        "matrices[trust].attributes",
        [(["matrices", 1, "attributes"], ["press", "x"])],
    ),
    (
        "an item of another matrix",
        "matrices[trust].attributes",
        [(["matrices", 1, "attributes"], ["spirits", "press"])],
    ),
    ("other answers", "attributes[pool].categories", [(["attributes", 7, "categories", 0], "nil")]),
    ("another role", "attributes[pool].role", [(["attributes", 7, "role"], "target")]),
    ("a missing category", "attributes[pool].missing", [(["attributes", 7, "missing"], "none")]),
    ("another section", "attributes[pool].section", [(["attributes", 7, "section"], REMOVE)]),
    ("another scale", "attributes[police].scale", [(["attributes", 5, "scale"], "ordinal")]),
    ("another help text", "attributes[beer].help", [([*_ITEM, "help"], "Think.")]),
    ("other ends", "attributes[beer].ends", [([*_ITEM, "ends"], ["most", "least"])]),
    (
        "answers in an order of an item's own",
        "attributes[tram].shuffle",
        [(["attributes", 6, "shuffle"], {})],
    ),
    (
        "too many that stay last",
        "matrices[drinks].shuffle.last",
        [([*_FIRST, "shuffle", "last"], 2)],
    ),
    ("an order that is no mapping", "matrices[drinks].shuffle", [([*_FIRST, "shuffle"], True)]),
    (
        "a help text translated differently",
        "translations[de].attributes[beer].help",
        [(["translations", "de", "attributes", "beer", "help"], "Denken.")],
    ),
    ("no text", "attributes[beer].question", [([*_ITEM, "question"], REMOVE)]),
    (
        "an untranslated question",
        "translations[de].matrices[drinks]",
        [(["translations", "de", "matrices", "drinks"], REMOVE)],
    ),
    (
        "a translation of nothing",
        "translations[de].matrices[trust]",
        [(["translations", "de", "matrices", "trust"], "Was?")],
    ),
    (
        "answers translated differently",
        "translations[de].attributes[pool].categories",
        [(["translations", "de", "attributes", "pool", "categories"], ["nee", "ja"])],
    ),
)
"""Each is what is wrong, the field at fault, and the changes to the survey with matrices."""
