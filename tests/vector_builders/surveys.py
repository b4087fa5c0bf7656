"""The drafts that the vectors resolve: every protocol, split, role and rule of text."""

from __future__ import annotations

from typing import Any

from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.survey.terms import RELEASES

SMALL: dict[str, Any] = {
    "name": "small",
    "version": 3,
    "title": "Small",
    "epsilon": "3",
    "split": {"weights": {"colour": 2, "age": 1}},
    "attributes": [
        {
            "name": "colour",
            "role": "sensitive",
            "protocol": "SS",
            "categories": ["red", "green", "blue"],
            "missing": "no answer",
        },
        {"name": "age", "role": "sensitive", "protocol": "GRR", "range": [17, 21]},
        {"name": "town", "role": "plain", "categories": ["Qu\u00e9bec", "Oslo"]},
        {"name": "happy", "role": "target", "categories": ["no", "yes"], "positive": "yes"},
    ],
    "protected": {"attribute": "colour", "privileged": ["red"], "unprivileged": ["green", "blue"]},
    "submission": "open",
    "minimum_batch": 100,
}

WHOLE: dict[str, Any] = {
    "name": "work-and-health",
    "version": 1,
    "title": "Work and health",
    "description": 'First line\nsecond line, with "quotes", a \\ and \u20ac',
    "opens": "2026-01-31T09:00:00Z",
    "closes": "2026-02-28T09:00:00Z",
    "epsilon": 4.0,
    "split": {"weights": {"gender": 2, "age": "1.50", "country": 0.5, "income": 1}},
    "protocol": "SS",
    "attributes": [
        {
            "name": "gender",
            "role": "sensitive",
            "categories": ["Female", "Male"],
            "missing": "Prefer not to say",
            "question": "Your gender?",
        },
        {"name": "age", "role": "sensitive", "range": [17, 90]},
        {
            "name": "country",
            "role": "sensitive",
            "protocol": "OLH",
            # The first is typed decomposed; the last needs a surrogate pair in UTF-16.
            "categories": ["Que\u0301bec", "\u65e5\u672c", "\u00d6sterreich", "\U0001f3dd island"],
        },
        {"name": "education", "role": "plain", "categories": ["none", "school", "university"]},
        {"name": "postcode", "role": "plain", "range": [1, 300], "missing": "unknown"},
        {
            "name": "income",
            "role": "target",
            "protocol": "GRR",
            "categories": ["<=26000", ">26000"],
            "positive": ">26000",
        },
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
    "submission": "token",
    "minimum_batch": 1,
    "population": {"anything": [0.5, None]},
}


def every_protocol(split: str, epsilon: str) -> dict[str, Any]:
    """Return a survey that uses all seven protocols."""
    return {
        "name": f"every_protocol-{split}",
        "version": 2147483647,
        "title": "Every protocol",
        "epsilon": epsilon,
        "split": split,
        "attributes": [
            {
                "name": name.lower(),
                "role": "sensitive",
                "protocol": name,
                "range": [-1, 2 * position + 1],
            }
            for position, name in enumerate(PROTOCOLS)
        ],
    }


# Every word that a respondent reads, in three languages.
WORDED: dict[str, Any] = {
    "name": "worded",
    "version": 1,
    "title": "How do you do?",
    "description": "A survey\nin three languages",
    "operator": "The Institute",
    "purpose": "To learn\nhow people do",
    "language": "en",
    "shared_device": True,
    "epsilon": "2",
    "protocol": "GRR",
    "attributes": [
        {
            "name": "mood",
            "role": "sensitive",
            "section": "Today",
            "question": "How are you?",
            "scale": "ordinal",
            "categories": ["bad", "so so", "good"],
            "missing": "no answer",
        },
        {"name": "age", "role": "sensitive", "section": "Today", "range": [17, 30]},
        {"name": "score", "role": "plain", "scale": "nps", "range": [0, 10]},
    ],
    "translations": {
        "de": {
            "title": "Wie geht es?",
            "description": "Eine Umfrage\nin drei Sprachen",
            "purpose": "Damit wir wissen,\nwie es geht",
            "sections": {"Today": "Heute"},
            "attributes": {
                "mood": {
                    "question": "Wie geht es Ihnen?",
                    "categories": ["schlecht", "geht so", "gut"],
                    "missing": "keine Angabe",
                }
            },
        },
        "zh-Hans": {
            "title": "\u4f60\u597d",
            "description": "\u4e09",
            "purpose": "\u4e3a\u4e86",
            "sections": {"Today": "\u4eca\u5929"},
            "attributes": {"mood": {"question": "\u4f60\u597d\u5417", "missing": "\u65e0"}},
        },
    },
}

TOGETHER: dict[str, Any] = {
    "name": "blocks",
    "version": 1,
    "title": "Blocks",
    "epsilon": "6",
    "protocol": "SS",
    "split": {"weights": {"habits": 3, "age": 1, "views": 2}},
    "attributes": [
        {"name": "town", "role": "plain", "categories": ["Delft", "Oslo"]},
        {
            "name": "gender",
            "role": "sensitive",
            "categories": ["f", "m"],
            "missing": "not said",
            "question": "Your gender?",
        },
        {"name": "age", "role": "sensitive", "protocol": "GRR", "range": [1, 9]},
        {"name": "left", "role": "sensitive", "range": [0, 10], "scale": "nps"},
        {
            "name": "smokes",
            "role": "sensitive",
            "categories": ["no", "yes"],
            "question": "Do you smoke?",
        },
        {"name": "green", "role": "sensitive", "range": [1, 300]},
        {
            "name": "job",
            "role": "target",
            "protocol": "SS",
            "categories": ["no", "yes"],
            "positive": "yes",
        },
    ],
    "together": [
        {"name": "views", "attributes": ["green", "left"], "protocol": "OLH"},
        {"name": "habits", "attributes": ["smokes", "gender", "job"]},
    ],
    "protected": {"attribute": "gender", "unprivileged": "f", "privileged": "m"},
}
"""Two blocks of several questions, in format 2."""


def in_one_block(protocol: str) -> dict[str, Any]:
    """Return a survey whose two questions are one block of a protocol."""
    # A few hashes reach the bound over all hashes where there are few combinations.
    sizes = (2, 2) if protocol in ("BLH", "OLH") else (3, 2)
    return {
        "name": "block",
        "version": 1,
        "title": "Block",
        "epsilon": "2.5",
        "attributes": [
            {"name": name, "role": "sensitive", "range": [1, k]}
            for name, k in zip("ab", sizes, strict=True)
        ],
        "together": [{"name": "ab", "attributes": ["b", "a"], "protocol": protocol}],
    }


FOLLOW_UPS: dict[str, Any] = {
    "name": "follow-ups",
    "version": 1,
    "title": "Follow-ups",
    "epsilon": "5",
    "protocol": "GRR",
    "split": {"weights": {"habits": 2, "drinks": 1, "views": 1, "brand": 1}},
    "attributes": [
        {"name": "town", "role": "plain", "categories": ["Delft", "Oslo", "Bonn"]},
        {
            "name": "tram",
            "role": "plain",
            "categories": ["1", "2"],
            "ask_if": {"town": ["Oslo", "Delft"]},
        },
        {
            "name": "smokes",
            "role": "sensitive",
            "categories": ["no", "sometimes", "daily"],
            "missing": "not said",
            "question": "Do you smoke?",
        },
        {
            "name": "amount",
            "role": "sensitive",
            "categories": ["up to 20", "more than 20"],
            "missing": "not said",
            "question": "How many a day?",
            "ask_if": {"smokes": ["daily"]},
        },
        {"name": "drinks", "role": "sensitive", "protocol": "SS", "categories": ["no", "yes"]},
        {"name": "wine", "role": "sensitive", "range": [0, 2], "ask_if": {"drinks": ["yes"]}},
        {"name": "beer", "role": "sensitive", "range": [0, 2], "ask_if": {"drinks": ["yes"]}},
        {
            "name": "brand",
            "role": "sensitive",
            "protocol": "OUE",
            "categories": ["a", "b", "c"],
            "ask_if": {"amount": ["more than 20"]},
        },
    ],
    "together": [
        {"name": "views", "attributes": ["beer", "wine"]},
        {"name": "habits", "attributes": ["smokes", "amount"]},
    ],
}
"""Follow-ups in clear, in their router's block, in a block that has not their router, and alone."""

FOLLOW_UP_ALONE: dict[str, Any] = {
    "name": "follow-up",
    "version": 1,
    "title": "A follow-up without a block",
    "epsilon": "2",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]},
        {
            "name": "amount",
            "role": "sensitive",
            "protocol": "GRR",
            "range": [1, 2],
            "ask_if": {"smokes": ["yes"]},
        },
    ],
}
"""A follow-up in format 2 without a block of several questions."""

FOLLOW_UP_CHAIN: dict[str, Any] = {
    "name": "chain",
    "version": 1,
    "title": "A follow-up of a follow-up",
    "epsilon": "4",
    "protocol": "GRR",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {
            "name": "amount",
            "role": "sensitive",
            "range": [1, 2],
            "ask_if": {"smokes": ["yes"]},
            "question": "How many packs?",
        },
        {
            "name": "brand",
            "role": "sensitive",
            "categories": ["a", "b"],
            "ask_if": {"amount": ["2"]},
        },
    ],
    "together": [{"name": "both", "attributes": ["smokes", "amount"]}],
}
"""A router with its follow-up in a block, and a follow-up of that outside of it."""

SELECTS: dict[str, Any] = {
    "name": "selects",
    "version": 1,
    "title": "Select all that apply",
    "epsilon": "6",
    "protocol": "SS",
    "language": "en",
    "split": {"weights": {"drugs": 2, "sex": 1, "news": 2, "sports": 1}},
    "attributes": [
        {
            "name": "drugs",
            "role": "sensitive",
            "categories": ["Cannabis", "Cocaine", "Heroin", "Other"],
            "select": {"at_least": 1, "at_most": 2},
            "want": "pairs",
            "question": "Which have you taken?",
        },
        {"name": "sex", "role": "sensitive", "categories": ["f", "m"]},
        {
            "name": "news",
            "role": "sensitive",
            "categories": ["Radio", "Papers", "Television", "Web", "Talk", "Books", "None"],
            "select": {"at_least": 1},
        },
        {"name": "sports", "role": "sensitive", "categories": ["Chess", "Golf"], "select": {}},
        {
            "name": "colours",
            "role": "plain",
            "categories": ["Red", "Green", "Blue"],
            "select": {"at_most": 2},
            "question": "Which colours do you like?",
        },
    ],
    "translations": {
        "de": {
            "title": "Mehreres",
            "attributes": {
                "drugs": {
                    "question": "Was haben Sie genommen?",
                    "categories": ["Hanf", "Kokain", "Heroin", "Anderes"],
                },
                "colours": {"question": "Welche Farben?"},
            },
        }
    },
}
"""Select-alls in a block, whose options are drawn, and in clear."""


MATRICES: dict[str, Any] = {
    "name": "matrices",
    "version": 1,
    "title": "Tables of questions",
    "epsilon": "6",
    "protocol": "SS",
    "language": "en",
    "attributes": [
        {"name": "sex", "role": "sensitive", "categories": ["f", "m"]},
        {
            "name": "drinks",
            "role": "sensitive",
            "categories": ["never", "monthly", "weekly"],
            "missing": "not said",
            "scale": "ordinal",
            "question": "How often do you drink this?",
            "help": "Think of the last year.",
            "ends": ["least", "most"],
            "shuffle": {"last": 1},
            "items": [
                {"name": "wine", "question": "Wine"},
                {"name": "beer", "question": "Beer"},
                {"name": "spirits", "question": "Spirits"},
            ],
            "together": True,
        },
        {
            "name": "trust",
            "role": "sensitive",
            "range": [1, 4],
            "ask_if": {"beer": ["weekly"]},
            "items": [
                {"name": "press", "question": "Newspapers"},
                {"name": "police", "question": "Police"},
            ],
        },
        {
            "name": "town",
            "role": "plain",
            "categories": ["no", "yes"],
            "section": "Your town",
            "question": "Does your town have this?",
            "items": [
                {"name": "tram", "question": "A tram"},
                {"name": "pool", "question": "A pool"},
            ],
        },
    ],
    "translations": {
        "de": {
            "title": "Tabellen",
            "sections": {"Your town": "Ihre Stadt"},
            "attributes": {
                "drinks": {
                    "question": "Wie oft trinken Sie das?",
                    "help": "Denken Sie an das letzte Jahr.",
                    "ends": ["am wenigsten", "am meisten"],
                    "categories": ["nie", "monatlich", "wöchentlich"],
                    "missing": "keine Angabe",
                },
                "wine": {"question": "Wein"},
                "beer": {"question": "Bier"},
                "spirits": {"question": "Schnaps"},
                "press": {"question": "Zeitungen"},
                "police": {"question": "Polizei"},
                "town": {"question": "Hat Ihre Stadt das?", "categories": ["nein", "ja"]},
                "tram": {"question": "Eine Straßenbahn"},
                "pool": {"question": "Ein Schwimmbad"},
            },
        }
    },
}
"""Matrices in one block, as follow-ups without a question, and in clear."""


SELECTS_BESIDE: dict[str, Any] = {
    "name": "selects-beside",
    "version": 1,
    "title": "Select-alls beside a draw",
    "epsilon": "50",
    "protocol": "SS",
    "split": {"weights": {"many": 46, "rota": 4}},
    "attributes": [
        {"name": "sex", "role": "sensitive", "categories": ["f", "m"]},
        {
            "name": "many",
            "role": "sensitive",
            "categories": [f"option {place}" for place in range(17)],
            "select": {},
            "question": "Which of these?",
        },
        {"name": "sports", "role": "sensitive", "categories": ["Chess", "Golf"], "select": {}},
        {"name": "age", "role": "sensitive", "range": [1, 3], "protocol": "GRR"},
    ],
    "draws": [{"name": "rota", "blocks": ["sports", "age", "sex"], "answer": 2}],
}
"""A select-all whose options are apart, beside a draw that has one as a block."""


DRAWS: dict[str, Any] = {
    "name": "draws",
    "version": 1,
    "title": "A draw of three blocks",
    "epsilon": "3",
    "protocol": "GRR",
    "attributes": [
        {"name": "town", "role": "plain", "categories": ["Oslo", "Bonn"]},
        {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
        {"name": "age", "role": "sensitive", "protocol": "OUE", "range": [1, 4]},
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"], "question": "Smoke?"},
        {"name": "drinks", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "sleep", "role": "sensitive", "categories": ["bad", "good"]},
    ],
    "together": [{"name": "pair", "attributes": ["smokes", "drinks"]}],
    "draws": [{"name": "rota", "blocks": ["sleep", "pair", "age"], "answer": 2}],
}
"""A draw with a block of several questions, in another order than the manifest's."""

DRAWN: dict[str, Any] = {
    "name": "drawn",
    "version": 1,
    "title": "One question of ten",
    "epsilon": "2",
    "protocol": "SS",
    "attributes": [
        {"name": f"q{number}", "role": "sensitive", "range": [1, 2 + number % 4]}
        for number in range(10)
    ],
    "answer": 1,
}
"""A mask of two bytes, by the shorthand."""

FOLLOW_UP_DRAWS: dict[str, Any] = {
    "name": "follow-up-draws",
    "version": 1,
    "title": "Follow-ups in draws",
    "epsilon": "3",
    "protocol": "RAPPOR",
    "split": {"weights": {"one": 2, "two": 1, "age": 1}},
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "amount", "role": "sensitive", "range": [1, 2], "ask_if": {"smokes": ["yes"]}},
        {"name": "age", "role": "sensitive", "range": [1, 3]},
        {"name": "brand", "role": "sensitive", "range": [1, 2], "ask_if": {"amount": ["2"]}},
        {"name": "sleep", "role": "sensitive", "categories": ["bad", "good"]},
        {"name": "sport", "role": "sensitive", "categories": ["no", "yes"], "missing": "none"},
    ],
    "draws": [
        {"name": "one", "blocks": ["sleep", "smokes", "amount"], "answer": 2},
        {"name": "two", "blocks": ["brand", "sport"], "answer": 1},
    ],
}
"""Two draws, with a router in a draw, its follow-up in the same one, and another in the other."""


NUMBERS: dict[str, Any] = {
    "name": "numbers",
    "version": 1,
    "title": "Numbers",
    "epsilon": "8",
    "protocol": "GRR",
    "language": "en",
    "attributes": [
        {
            "name": "income",
            "role": "sensitive",
            "number": {"low": 0, "high": 5000, "unit": "euros"},
            "missing": "not said",
            "question": "What do you earn a month?",
        },
        {"name": "children", "role": "plain", "number": {"low": 0, "high": 12}},
        {"name": "drinks", "role": "sensitive", "protocol": "SS", "categories": ["no", "yes"]},
        {
            "name": "glasses",
            "role": "sensitive",
            "protocol": "SS",
            "number": {"low": -3, "high": 40, "anchors": [-3, 0, 1, 8, 40]},
            "ask_if": {"drinks": ["yes"]},
        },
        {
            "name": "balance",
            "role": "sensitive",
            "protocol": "OUE",
            "number": {"low": -(10**12), "high": 10**12, "unit": "cents", "for": "quantiles"},
        },
    ],
    "translations": {
        "de": {
            "title": "Zahlen",
            "attributes": {
                "income": {
                    "question": "Was verdienen Sie im Monat?",
                    "missing": "k. A.",
                    "unit": "Euro",
                }
            },
        }
    },
}
"""Numbers with a missing category, in clear, as a follow-up, and with the widest limits."""

HELPED: dict[str, Any] = {
    "name": "helped",
    "version": 1,
    "title": "Habits",
    "language": "en",
    "epsilon": "3",
    "protocol": "SS",
    "attributes": [
        {
            "name": "smokes",
            "role": "sensitive",
            "question": "Do you smoke?",
            "help": "Count cigarettes.\nDo not count e-cigarettes.",
            "categories": ["no", "yes"],
        },
        {
            "name": "sports",
            "role": "sensitive",
            "question": "Which sports do you do?",
            "help": "In the last year.",
            "categories": ["running", "swimming", "another"],
            "select": {"at_most": 2},
        },
        {"name": "town", "role": "plain", "help": "Where you sleep.", "categories": ["A", "B"]},
    ],
    "translations": {
        "de": {
            "title": "Gewohnheiten",
            "attributes": {
                "smokes": {
                    "question": "Rauchen Sie?",
                    "help": "Zigaretten.\nKeine E-Zigaretten.",
                    "categories": ["nein", "ja"],
                },
                "sports": {
                    "question": "Welchen Sport treiben Sie?",
                    "help": "Im letzten Jahr.",
                    "categories": ["Laufen", "Schwimmen", "anderen"],
                },
                "town": {"help": "Wo Sie schlafen."},
            },
        }
    },
}
"""Help texts of a question alone, of a select-all and of a question in clear, translated."""

PRESENTED: dict[str, Any] = {
    "name": "presented",
    "version": 1,
    "title": "Town",
    "language": "en",
    "epsilon": "6",
    "protocol": "SS",
    "thanks": "Thank you!\nSee you.",
    "logo": {"image": "0123456789abcdef" * 4, "alt": "Coat of arms"},
    "attributes": [
        {
            "name": "satisfied",
            "role": "sensitive",
            "range": [0, 10],
            "scale": "ordinal",
            "ends": ["not at all", "completely"],
            "missing": "no answer",
        },
        {
            "name": "party",
            "role": "sensitive",
            "categories": ["North", "South", "another"],
            "missing": "Prefer not to say",
            "shuffle": {"last": 1},
        },
        {
            "name": "sports",
            "role": "sensitive",
            "categories": ["running", "swimming", "another"],
            "select": {},
            "shuffle": {},
        },
    ],
    "translations": {
        "de": {
            "title": "Stadt",
            "thanks": "Danke!\nBis bald.",
            "logo": "Wappen",
            "attributes": {
                "satisfied": {"ends": ["gar nicht", "vollkommen"], "missing": "k. A."},
                "party": {"missing": "k. A."},
            },
        }
    },
}
"""Ends of a scale, answers and options in a drawn order, thanks and a logo, translated."""

DRAFTS: tuple[dict[str, Any], ...] = (
    SMALL,
    WHOLE,
    every_protocol("uniform", "7"),
    every_protocol("k-based", "0.25"),
    every_protocol("uniform", "64"),
    {
        "name": "a",
        "version": 1,
        "title": "The smallest survey",
        "epsilon": "0.000001",
        "attributes": [
            {"name": "b", "role": "sensitive", "protocol": "OUE", "categories": ["c", "d"]}
        ],
    },
    *({**SMALL, "name": f"small-{term}", "release": term} for term in RELEASES),
    WORDED,
    TOGETHER,
    *(in_one_block(name) for name in PROTOCOLS),
    FOLLOW_UPS,
    FOLLOW_UP_ALONE,
    SELECTS,
    SELECTS_BESIDE,
    DRAWS,
    DRAWN,
    FOLLOW_UP_DRAWS,
    NUMBERS,
    HELPED,
    PRESENTED,
    MATRICES,
)
