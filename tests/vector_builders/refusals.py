"""Manifests and answers that must be refused, as changes to a sound one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from hushpoll_protocols import InvalidParameter, ManifestRefused, create
from hushpoll_shared import Manifest, Published
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.survey.questions.attributes import hex_thresholds
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from vector_builders.document import Group, write
from vector_builders.matrix_refusals import TABLED
from vector_builders.odd import (
    COLOUR,
    GERMAN,
    LABELS,
    ODD,
    REMOVE,
    SECOND,
    TEXTS,
    TOWN,
    TRANSLATIONS,
    Change,
)
from vector_builders.select_refusals import SELECTED, SELECTIONS
from vector_builders.surveys import FOLLOW_UPS, MATRICES, NUMBERS, SELECTS, SMALL, TOGETHER

BLOCKS: tuple[tuple[str, str, list[Change]], ...] = (
    ("no blocks", "together", [(["together"], REMOVE)]),
    ("an empty list of blocks", "together", [(["together"], [])]),
    ("blocks that are no list", "together", [(["together"], {})]),
    ("blocks in format 1", "together", [(["format"], 1)]),
    ("a later format", "format", [(["format"], 3)]),
    ("a block that is no object", "together[0]", [(["together", 0], "views")]),
    ("an unknown key of a block", "together[views].k", [(["together", 0, "k"], 2)]),
    ("no protocol", "together[views].protocol", [(["together", 0, "protocol"], REMOVE)]),
    ("an unknown protocol", "together[views].protocol", [(["together", 0, "protocol"], "X")]),
    ("a bad name", "together[0].name", [(["together", 0, "name"], "A b")]),
    ("the name of an attribute", "together[town].name", [(["together", 0, "name"], "town")]),
    (
        "a block of one",
        "together[views].attributes",
        [(["together", 0, "attributes"], ["green"]), (["attributes", 3], REMOVE)],
    ),
    (
        "a question in two blocks",
        "together[habits].attributes",
        [(["together", 1, "attributes"], ["smokes", "gender", "job", "green"])],
    ),
    (
        "a question twice",
        "together[habits].attributes",
        [(["together", 1, "attributes"], ["smokes", "gender", "job", "smokes"])],
    ),
    (
        "an unknown question",
        "together[habits].attributes",
        [(["together", 1, "attributes"], ["smokes", "gender", "job", "x"])],
    ),
    ("a plain question", "together[habits].attributes", [(["attributes", 4, "role"], "plain")]),
    (
        "a protocol of a question",
        "attributes[smokes].protocol",
        [(["attributes", 4, "protocol"], "SS")],
    ),
    (
        "a threshold",
        "together[habits].thresholds",
        [(["together", 1, "thresholds", "P"], "f" * 16)],
    ),
    ("an epsilon", "together[habits].thresholds", [(["together", 1, "epsilon"], "2.9")]),
    ("another weight", "together[habits].epsilon", [(["split", "weights", "age"], "2")]),
    ("the weight of a question", "split.weights[smokes]", [(["split", "weights", "smokes"], "1")]),
    ("k-based", "split", [(["split"], "k-based")]),
    (
        "too many combinations",
        "together[views].attributes",
        [
            (["together", 0, "attributes"], ["green", "left", "smokes"]),
            (["attributes", 3, "scale"], REMOVE),
            (["attributes", 3, "categories"], [str(number) for number in range(120)]),
        ],
    ),
)
"""Each is what is wrong, the field at fault, and the changes to the survey with blocks."""

_AMOUNT = "attributes[amount].ask_if"
_ASK_IF: list[str | int] = ["attributes", 3, "ask_if"]

FOLLOWING: tuple[tuple[str, str, list[Change]], ...] = (
    ("null for no router", _AMOUNT, [(_ASK_IF, None)]),
    ("no mapping", _AMOUNT, [(_ASK_IF, [["daily"]])]),
    ("no router", _AMOUNT, [(_ASK_IF, {})]),
    ("two routers", _AMOUNT, [(_ASK_IF, {"smokes": ["daily"], "town": ["Oslo"]})]),
    ("an unknown router", _AMOUNT, [(_ASK_IF, {"x": ["daily"]})]),
    ("itself", _AMOUNT, [(_ASK_IF, {"amount": ["up to 20"]})]),
    ("a router that comes later", _AMOUNT, [(_ASK_IF, {"drinks": ["yes"]})]),
    ("no list", _AMOUNT, [(_ASK_IF, {"smokes": "daily"})]),
    ("an empty list", _AMOUNT, [(_ASK_IF, {"smokes": []})]),
    ("an unknown category", _AMOUNT, [(_ASK_IF, {"smokes": ["hourly"]})]),
    ("the missing category", _AMOUNT, [(_ASK_IF, {"smokes": ["not said"]})]),
    (
        "not asked",
        "attributes[brand].ask_if",
        [(["attributes", 7, "ask_if", "amount"], ["not asked"])],
    ),
    ("a category twice", _AMOUNT, [(_ASK_IF, {"smokes": ["daily", "daily"]})]),
    ("a number", _AMOUNT, [(_ASK_IF, {"smokes": [1]})]),
    ("all categories", _AMOUNT, [(_ASK_IF, {"smokes": ["no", "sometimes", "daily"]})]),
    ("a target", _AMOUNT, [(["attributes", 3, "role"], "target")]),
    (
        "in clear after a perturbed router",
        "attributes[tram].ask_if",
        [
            (["attributes", 0], REMOVE),
            (["attributes", 0, "name"], "smokes"),
            (["attributes", 1, "name"], "tram"),
            (["attributes", 0, "ask_if"], REMOVE),
            (["attributes", 1, "role"], "plain"),
            (["attributes", 1, "ask_if"], {"smokes": ["1"]}),
            (["attributes", 0, "role"], "sensitive"),
            (["together", 1, "attributes"], ["smokes", "amount"]),
        ],
    ),
    (
        "not asked among the categories",
        "attributes[amount].categories",
        [(["attributes", 3, "categories", 0], "not asked")],
    ),
    (
        "a single category",
        "attributes[tram].categories",
        [(["attributes", 1, "categories", 1], REMOVE)],
    ),
    ("format 1", "together", [(["format"], 1)]),
    (
        "other answers to the router",
        "together[views].thresholds",
        [(["attributes", 6, "ask_if"], REMOVE)],
    ),
)
"""Each is what is wrong, the field at fault, and the changes to the survey with follow-ups."""

_INCOME: list[str | int] = ["attributes", 0]
_LIMITS: list[str | int] = [*_INCOME, "number"]
_CHILDREN: list[str | int] = ["attributes", 1]

NUMBERED: tuple[tuple[str, str, list[Change]], ...] = (
    ("null for no number", "attributes[income].number", [(_LIMITS, None)]),
    ("no mapping", "attributes[income].number", [(_LIMITS, [0, 5000])]),
    ("no low", "attributes[income].number.low", [([*_LIMITS, "low"], REMOVE)]),
    ("a text", "attributes[income].number.high", [([*_LIMITS, "high"], "5000")]),
    ("a fraction", "attributes[income].number.high", [([*_LIMITS, "high"], 5000.5)]),
    ("a truth value", "attributes[income].number.low", [([*_LIMITS, "low"], False)]),
    ("too large", "attributes[income].number.high", [([*_LIMITS, "high"], 10**12 + 1)]),
    ("low and high the same", "attributes[income].number.high", [([*_LIMITS, "high"], 0)]),
    ("an unknown key", "attributes[income].number.step", [([*_LIMITS, "step"], 5)]),
    ("anchors of a draft", "attributes[income].number.anchors", [([*_LIMITS, "anchors"], [0, 1])]),
    ("what a draft is for", "attributes[income].number.for", [([*_LIMITS, "for"], "mean")]),
    ("a unit too long", "attributes[income].number.unit", [([*_LIMITS, "unit"], "x" * 41)]),
    ("null for no unit", "attributes[income].number.unit", [([*_LIMITS, "unit"], None)]),
    ("another low", "attributes[income].categories", [([*_LIMITS, "low"], -1)]),
    ("another high", "attributes[income].categories", [([*_LIMITS, "high"], 5001)]),
    (
        "anchors that do not increase",
        "attributes[income].categories",
        [([*_INCOME, "categories", 1], "3000"), ([*_INCOME, "categories", 2], "2000")],
    ),
    ("a word", "attributes[income].categories", [([*_INCOME, "categories", 1], "half")]),
    ("another spelling", "attributes[income].categories", [([*_INCOME, "categories", 1], "01")]),
    ("a plus", "attributes[income].categories", [([*_INCOME, "categories", 1], "+833")]),
    (
        "a gap in clear",
        "attributes[children].categories",
        [([*_CHILDREN, "categories", 5], REMOVE)],
    ),
    ("a scale", "attributes[children].scale", [([*_CHILDREN, "scale"], "ordinal")]),
    ("a target", "attributes[children].number", [([*_CHILDREN, "role"], "target")]),
    ("a number as missing", "attributes[income].missing", [([*_INCOME, "missing"], "7")]),
    (
        "a router",
        "attributes[glasses].ask_if",
        [(["attributes", 3, "ask_if"], {"income": ["0"]})],
    ),
    (
        "protected",
        "protected.attribute",
        [
            (
                ["protected"],
                {"attribute": "children", "privileged": ["0"], "unprivileged": ["1"]},
            )
        ],
    ),
    (
        "a unit of no number",
        "translations[de].attributes[drinks].unit",
        [(["translations", "de", "attributes", "drinks"], {"unit": "Glas"})],
    ),
    (
        "a translated unit of none",
        "translations[de].attributes[children].unit",
        [(["translations", "de", "attributes", "children"], {"unit": "Kinder"})],
    ),
    (
        "translated numbers",
        "translations[de].attributes[children].categories",
        [
            (
                ["translations", "de", "attributes", "children"],
                {"categories": [str(one) for one in range(13)]},
            )
        ],
    ),
    ("format 1", "attributes[income].number", [(["format"], 1), (["attributes", 3], REMOVE)]),
)
"""Each is what is wrong, the field at fault, and the changes to the survey with numbers."""

PUBLISHED: list[tuple[str, str, list[Change]]] = [
    ("a later format", "format", [(["format"], 3), (["draws"], [])]),
    ("format 2 without together", "together", [(["format"], 2)]),
    ("no format", "format", [(["format"], REMOVE)]),
    ("unknown key", "population", [(["population"], {})]),
    ("no title", "title", [(["title"], REMOVE)]),
    ("null for nothing", "description", [(["description"], None)]),
    ("name", "name", [(["name"], "Small")]),
    ("version zero", "version", [(["version"], 0)]),
    ("version too large", "version", [(["version"], 2**31)]),
    ("total not canonical", "epsilon", [(["epsilon"], "3.0")]),
    ("total a number", "epsilon", [(["epsilon"], 3)]),
    ("total out of range", "epsilon", [(["epsilon"], "65")]),
    ("total under the parts", "epsilon", [(["epsilon"], "2.999999999999")]),
    ("total over the split", "attributes[colour].epsilon", [(["epsilon"], "4")]),
    ("another split", "attributes[colour].epsilon", [(["split"], "uniform")]),
    ("unknown split", "split", [(["split"], "fair")]),
    ("weight not canonical", "split.weights[age]", [(["split", "weights", "age"], "1.0")]),
    ("weight a number", "split.weights[age]", [(["split", "weights", "age"], 1)]),
    ("weight missing", "split.weights[age]", [(["split", "weights", "age"], REMOVE)]),
    ("weight of nothing", "split.weights[town]", [(["split", "weights", "town"], "1")]),
    ("submission", "submission", [(["submission"], "post")]),
    ("minimum batch", "minimum_batch", [(["minimum_batch"], 0)]),
    ("release", "release", [(["release"], "hourly")]),
    ("release that goes without saying", "release", [(["release"], "daily")]),
    ("release null", "release", [(["release"], None)]),
    ("opens", "opens", [(["opens"], "2026-02-30T00:00:00Z")]),
    (
        "closes before opens",
        "closes",
        [(["opens"], "2026-02-01T00:00:00Z"), (["closes"], "2026-01-01T00:00:00Z")],
    ),
    ("attributes no list", "attributes", [(["attributes"], {})]),
    ("no attributes", "attributes", [(["attributes"], [])]),
    ("attribute no object", "attributes[1]", [(["attributes", 1], "age")]),
    ("attribute without a name", "attributes[1].name", [(["attributes", 1, "name"], REMOVE)]),
    ("two of one name", "attributes[age].name", [(["attributes", 2, "name"], "age")]),
    ("unknown role", "attributes[town].role", [(["attributes", 2, "role"], "secret")]),
    ("two targets", "attributes[happy].role", [(["attributes", 2, "role"], "target")]),
    ("range left in", "attributes[age].range", [(["attributes", 1, "range"], [17, 21])]),
    ("k mismatch", "attributes[age].thresholds", [(["attributes", 1, "categories", 4], REMOVE)]),
    (
        "k mismatch by a missing category",
        "attributes[age].thresholds",
        [(["attributes", 1, "missing"], "none")],
    ),
    ("k = 1", "attributes[town].categories", [(["attributes", 2, "categories", 1], REMOVE)]),
    (
        "a category twice",
        "attributes[town].categories",
        [(["attributes", 2, "categories", 1], "Qu\u00e9bec")],
    ),
    (
        "missing listed",
        "attributes[colour].missing",
        [(["attributes", 0, "missing"], "red")],
    ),
    (
        "not in normal form",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], "Que\u0301bec")],
    ),
    (
        "control character",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], "a\u0000b")],
    ),
    (
        "directional override",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], "a\u202eb")],
    ),
    (
        "empty category",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], "")],
    ),
    (
        "space at the end",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], "Oslo ")],
    ),
    (
        "category too long",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], "x" * 201)],
    ),
    (
        "category a number",
        "attributes[town].categories[0]",
        [(["attributes", 2, "categories", 0], 1)],
    ),
    ("unknown protocol", "attributes[age].protocol", [(["attributes", 1, "protocol"], "RR")]),
    ("another protocol", "attributes[age].thresholds", [(["attributes", 1, "protocol"], "OUE")]),
    ("no protocol", "attributes[age].protocol", [(["attributes", 1, "protocol"], REMOVE)]),
    (
        "perturbed declared plain",
        "attributes[age].protocol",
        [(["attributes", 1, "role"], "plain")],
    ),
    (
        "clear with an epsilon",
        "attributes[town].epsilon",
        [(["attributes", 2, "epsilon"], "1")],
    ),
    ("part not canonical", "attributes[age].epsilon", [(["attributes", 1, "epsilon"], "1.0")]),
    ("part zero", "attributes[age].epsilon", [(["attributes", 1, "epsilon"], "0")]),
    (
        "part too small",
        "attributes[age].epsilon",
        [(["attributes", 1, "epsilon"], "0.000000999999")],
    ),
    (
        "part of 13 places",
        "attributes[age].epsilon",
        [(["attributes", 1, "epsilon"], "0.9999999999999")],
    ),
    (
        "thresholds of another epsilon",
        "attributes[age].thresholds",
        [(["attributes", 1, "epsilon"], "0.999999999999")],
    ),
    (
        "threshold in upper case",
        "attributes[colour].thresholds",
        [(["attributes", 0, "thresholds", "P"], "FFFFFFFFFFFFFFFF")],
    ),
    (
        "threshold a number",
        "attributes[age].thresholds",
        [(["attributes", 1, "thresholds", "R"], 1)],
    ),
    ("no threshold", "attributes[age].thresholds", [(["attributes", 1, "thresholds"], {})]),
    ("no thresholds", "attributes[age].thresholds", [(["attributes", 1, "thresholds"], REMOVE)]),
    (
        "omega of another law",
        "attributes[colour].thresholds",
        [(["attributes", 0, "parameters", "omega"], 2)],
    ),
    (
        "omega out of range",
        "attributes[colour].parameters.omega",
        [(["attributes", 0, "parameters", "omega"], 4)],
    ),
    (
        "omega missing",
        "attributes[colour].parameters",
        [(["attributes", 0, "parameters"], {})],
    ),
    (
        "a parameter of another protocol",
        "attributes[age].parameters",
        [(["attributes", 1, "parameters"], {"omega": 1})],
    ),
    ("positive unknown", "attributes[happy].positive", [(["attributes", 3, "positive"], "maybe")]),
    ("protected undeclared", "protected.attribute", [(["protected", "attribute"], "sex")]),
    ("protected target", "protected.attribute", [(["protected", "attribute"], "happy")]),
    ("protected category", "protected.privileged", [(["protected", "privileged"], ["pink"])]),
    ("protected empty", "protected.privileged", [(["protected", "privileged"], [])]),
    ("protected overlap", "protected.unprivileged", [(["protected", "privileged"], ["blue"])]),
    ("protected no list", "protected", [(["protected", "privileged"], "red")]),
    ("operator empty", "operator", [(["operator"], "")]),
    ("operator of two lines", "operator", [(["operator"], "a\nb")]),
    ("purpose with a control character", "purpose", [(["purpose"], "a\u0000b")]),
    ("language in words", "language", [(["language"], "English")]),
    ("shared device in words", "shared_device", [(["shared_device"], "yes")]),
    ("shared device that goes without saying", "shared_device", [(["shared_device"], False)]),
    ("unknown scale", "attributes[age].scale", [(["attributes", 1, "scale"], "likert")]),
    ("score without its scores", "attributes[age].scale", [(["attributes", 1, "scale"], "nps")]),
    ("section empty", "attributes[age].section", [(["attributes", 1, "section"], "")]),
    (
        "section twice",
        "attributes[town].section",
        [(["attributes", 0, "section"], "A"), (["attributes", 2, "section"], "A")],
    ),
    *(
        (f"translation: {what}", field, [(["language"], "en"), (["translations"], GERMAN), *more])
        for what, field, more in TRANSLATIONS
    ),
]

DRAFT: list[tuple[str, str, list[Change]]] = [
    ("epsilon zero", "epsilon", [(["epsilon"], 0)]),
    ("epsilon negative", "epsilon", [(["epsilon"], "-1")]),
    ("epsilon nan", "epsilon", [(["epsilon"], "nan")]),
    ("epsilon infinite", "epsilon", [(["epsilon"], "inf")]),
    ("epsilon 65", "epsilon", [(["epsilon"], 65)]),
    ("epsilon of 13 places", "epsilon", [(["epsilon"], "0.1000000000001")]),
    ("part under 1e-6", "attributes[age].epsilon", [(["epsilon"], "0.000002")]),
    ("unknown key", "epsilom", [(["epsilom"], 1)]),
    ("no protocol", "attributes[age].protocol", [(["attributes", 1, "protocol"], REMOVE)]),
    ("range of one", "attributes[age].range", [(["attributes", 1, "range"], [17, 17])]),
    ("range too long", "attributes[age].range", [(["attributes", 1, "range"], [0, 65536])]),
    ("range of decimals", "attributes[age].range", [(["attributes", 1, "range"], [0, 1.5])]),
    (
        "range and categories",
        "attributes[age].categories",
        [(["attributes", 1, "categories"], ["a", "b"])],
    ),
    ("neither", "attributes[age].categories", [(["attributes", 1, "range"], REMOVE)]),
    ("weight zero", "split.weights[age]", [(["split", "weights", "age"], 0)]),
    (
        "twice after normalising",
        "attributes[town].categories",
        [(["attributes", 2, "categories", 1], "Que\u0301bec")],
    ),
    (
        "nothing perturbed",
        "attributes",
        [
            (["attributes", 0], REMOVE),
            (["attributes", 0], REMOVE),
            (["split"], "uniform"),
            (["protected"], REMOVE),
        ],
    ),
    ("population no mapping", "population", [(["population"], [])]),
    *(
        (f"{name} behind an answer", "attributes[town].categories[0]", [(TOWN, f"Oslo{c}")])
        for name, c in LABELS.items()
    ),
    ("no-break space before an answer", "attributes[town].categories[0]", [(TOWN, "\u00a0Oslo")]),
    ("no-break space behind a title", "title", [(["title"], "Small\u00a0")]),
    ("byte order mark before a description", "description", [(["description"], "\ufeffa")]),
    (
        "no-break space behind a question",
        "attributes[age].question",
        [(["attributes", 1, "question"], "How old?\u00a0")],
    ),
    (
        "no-break space behind a translation",
        "translations[de].attributes[colour].missing",
        [(["language"], "en"), (["translations"], GERMAN), ([*COLOUR, "missing"], "k. A.\u00a0")],
    ),
    *(
        (f"twins by {why}", "attributes[town].categories", [(TOWN, "Oslo A"), (SECOND, twin)])
        for why, twin in {
            "a no-break space": "Oslo\u00a0A",
            "two blanks": "Oslo  A",
            "a soft hyphen": "Os\u00adlo A",
            "a full-width letter": "Oslo \uff21",
            "a Cyrillic letter": "Oslo \u0410",
            "a variant": "Oslo\ufe0f A",
        }.items()
    ),
]

ANSWERS: list[tuple[str, str, dict[str, Any]]] = [
    ("unknown category", "colour", {"colour": "pink"}),
    ("absent without a missing category", "age", {"age": None}),
    ("an extra answer", "sex", {"sex": "x"}),
    ("a category of another attribute", "town", {"town": "yes"}),
    ("an answer in another case", "town", {"town": "oslo"}),
]

_NUMBERS: dict[str, Any] = {"income": 5, "children": 2, "drinks": "no", "balance": 0}

UNFIT: list[tuple[str, str, dict[str, Any]]] = [
    ("below the low limit", "income", {**_NUMBERS, "income": -1}),
    ("above the high limit", "income", {**_NUMBERS, "income": 5001}),
    ("a fraction", "income", {**_NUMBERS, "income": "5.5"}),
    ("a decimal", "income", {**_NUMBERS, "income": "5.0"}),
    ("an exponent", "income", {**_NUMBERS, "income": "5e2"}),
    ("a leading zero", "income", {**_NUMBERS, "income": "05"}),
    ("a plus", "income", {**_NUMBERS, "income": "+5"}),
    ("minus zero", "income", {**_NUMBERS, "income": "-0"}),
    ("a blank", "income", {**_NUMBERS, "income": " 5"}),
    ("another script's digits", "income", {**_NUMBERS, "income": "\u0665"}),
    ("many digits", "income", {**_NUMBERS, "income": "9" * 5000}),
    ("a word", "income", {**_NUMBERS, "income": "much"}),
    ("nothing", "balance", {**_NUMBERS, "balance": None}),
    ("in clear", "children", {**_NUMBERS, "children": 13}),
    ("an answer to what is not asked", "glasses", {**_NUMBERS, "glasses": 3}),
    ("no answer to what is asked", "glasses", {**_NUMBERS, "drinks": "yes"}),
    ("not asked of what is asked", "glasses", {**_NUMBERS, "drinks": "yes", "glasses": NOT_ASKED}),
]

_SOUND: dict[str, Any] = {"town": "Bonn", "smokes": "no", "drinks": "no"}

IMPOSSIBLE: list[tuple[str, str, dict[str, Any]]] = [
    ("an answer to what is not asked", "amount", {**_SOUND, "amount": "more than 20"}),
    ("a refusal of what is not asked", "amount", {**_SOUND, "amount": "not said"}),
    ("no category of what is not asked", "amount", {**_SOUND, "amount": "30"}),
    ("an answer after a router that is not asked", "brand", {**_SOUND, "brand": "a"}),
    (
        "an answer after a router that was skipped",
        "amount",
        {**_SOUND, "smokes": None, "amount": "up to 20"},
    ),
    ("not asked of what is asked", "amount", {**_SOUND, "smokes": "daily", "amount": "not asked"}),
    ("no answer to what is asked", "wine", {**_SOUND, "drinks": "yes", "beer": "1"}),
    ("an answer in clear to what is not asked", "tram", {**_SOUND, "tram": "1"}),
]


def build(folder: Path) -> None:
    """Write refusals.json."""
    published = Manifest.from_dict(SMALL).resolve()
    changes = "list of [path, value]; a path alone removes what is there"
    fields = {"what": "what is wrong", "field": "path of the field at fault", "changes": changes}
    lies = Group("published", "Changes to the sound published manifest; each is refused.", fields)
    for what, field, applied in [*PUBLISHED, _overspent()]:
        document = change(published.to_dict(), applied)
        _expect(ManifestRefused, field, lambda document=document: Published.from_json(document))
        lies.add(what=what, field=field, changes=_listed(applied))
    blocks = Manifest.from_dict(TOGETHER).resolve()
    of_blocks = Group("blocks", "Changes to the sound survey with blocks; each is refused.", fields)
    for what, field, applied in BLOCKS:
        document = change(blocks.to_dict(), applied)
        _expect(ManifestRefused, field, lambda document=document: Published.from_json(document))
        of_blocks.add(what=what, field=field, changes=_listed(applied))
    follow_ups = Manifest.from_dict(FOLLOW_UPS).resolve()
    of_follow_ups = Group(
        "follow_ups", "Changes to the sound survey with follow-ups; each is refused.", fields
    )
    for what, field, applied in FOLLOWING:
        document = change(follow_ups.to_dict(), applied)
        _expect(ManifestRefused, field, lambda document=document: Published.from_json(document))
        of_follow_ups.add(what=what, field=field, changes=_listed(applied))
    together = Group(
        "answers_together",
        "Answers to the sound survey with follow-ups that are refused; the message must not show "
        "the answers.",
        {"what": "what is wrong", "field": "attribute at fault", "answers": "the answers"},
    )
    for what, field, given in IMPOSSIBLE:
        _expect(InvalidParameter, field, lambda given=given: follow_ups.layout.code_answers(given))
        together.add(what=what, field=field, answers=given)
    selects = Manifest.from_dict(SELECTS).resolve()
    of_selects = Group(
        "selects", "Changes to the sound survey with select-alls; each is refused.", fields
    )
    for what, field, applied in SELECTED:
        document = change(selects.to_dict(), applied)
        _expect(ManifestRefused, field, lambda document=document: Published.from_json(document))
        of_selects.add(what=what, field=field, changes=_listed(applied))
    matrices = Manifest.from_dict(MATRICES).resolve()
    of_matrices = Group(
        "matrices", "Changes to the sound survey with matrices; each is refused.", fields
    )
    for what, field, applied in TABLED:
        document = change(matrices.to_dict(), applied)
        _expect(ManifestRefused, field, lambda document=document: Published.from_json(document))
        of_matrices.add(what=what, field=field, changes=_listed(applied))
    selections = Group(
        "selections",
        "Answers to the sound survey with select-alls that are refused; the message must not show "
        "them.",
        {"what": "what is wrong", "field": "question at fault", "answers": "the answers"},
    )
    for what, field, given in SELECTIONS:
        _expect(InvalidParameter, field, lambda given=given: selects.layout.code_answers(given))
        selections.add(what=what, field=field, answers=given)
    numbers = Manifest.from_dict(NUMBERS).resolve()
    of_numbers = Group(
        "numbers", "Changes to the sound survey of numbers; each is refused.", fields
    )
    for what, field, applied in NUMBERED:
        document = change(numbers.to_dict(), applied)
        _expect(ManifestRefused, field, lambda document=document: Published.from_json(document))
        of_numbers.add(what=what, field=field, changes=_listed(applied))
    unfit = Group(
        "answers_numbers",
        "Answers to the sound survey of numbers that are refused; the message must not show them.",
        {"what": "what is wrong", "field": "attribute at fault", "answers": "the answers"},
    )
    for what, field, given in UNFIT:
        _expect(InvalidParameter, field, lambda given=given: numbers.layout.code_answers(given))
        unfit.add(what=what, field=field, answers=given)
    odd = Group(
        "odd",
        "Changes to the sound published manifest, read as its canonical text; all readers agree.",
        {**fields, "field": "path of the field at fault; null where it is read"},
    )
    for what, named, applied in ODD:
        text = canonical_json(change(published.to_dict(), applied))
        _expect_or_read(named, text)
        odd.add(what=what, field=named, changes=_listed(applied))
    texts = Group(
        "texts",
        "Spellings of the sound published manifest; all readers agree.",
        {
            "what": "what is odd",
            "field": "path of the field at fault; null where it is read",
            "replaced": "[from, to], of the canonical text; the first place. From *: all of it",
        },
    )
    for what, named, replaced in TEXTS:
        _expect_or_read(named, respelled(published.canonical, replaced))
        texts.add(what=what, field=named, replaced=replaced)
    drafts = Group("drafts", "Changes to the sound draft; each is refused.", fields)
    for what, field, applied in DRAFT:
        document = change(SMALL, applied)
        _expect(
            InvalidParameter,
            field,
            lambda document=document: Manifest.from_dict(document).resolve(),
        )
        drafts.add(what=what, field=field, changes=_listed(applied))
    answers = Group(
        "answers",
        "Answers to the sound survey that are refused; the message must not show the answer.",
        {"what": "what is wrong", "field": "attribute or key at fault", "answers": "the answers"},
    )
    sound = {"colour": "red", "age": "18", "town": "Oslo", "happy": "yes"}
    published.layout.code_answers(sound)
    for what, field, changed in ANSWERS:
        given = {**sound, **changed}
        _expect(InvalidParameter, field, lambda given=given: published.layout.code_answers(given))
        answers.add(what=what, field=field, answers=given)
    write(
        folder / "refusals.json",
        "Manifests and answers that must be refused, and the field that the error names.",
        [
            *(lies, of_blocks, of_follow_ups, of_numbers, of_selects, of_matrices),
            *(odd, texts, drafts),
            *(answers, together, unfit, selections),
        ],
        sound_published=published.to_dict(),
        sound_blocks=blocks.to_dict(),
        sound_follow_ups=follow_ups.to_dict(),
        sound_selects=selects.to_dict(),
        sound_matrices=matrices.to_dict(),
        sound_numbers=numbers.to_dict(),
        sound_draft=SMALL,
    )


def change(document: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    """Return the document with the changes made in order."""
    changed = copy.deepcopy(document)
    for path, value in changes:
        inner: Any = changed
        for step in path[:-1]:
            inner = inner[step]
        if value is REMOVE:
            del inner[path[-1]]
        else:
            inner[path[-1]] = copy.deepcopy(value)
    return changed


def _overspent() -> tuple[str, str, list[Change]]:
    """Spend ten times the budget on one attribute, with the thresholds that it would have."""
    oracle = create("GRR", k=5, epsilon=10)
    changes: list[Change] = [
        (["attributes", 1, "epsilon"], "10"),
        (["attributes", 1, "thresholds"], hex_thresholds(oracle)),
    ]
    return "parts over the total", "epsilon", changes


def _listed(changes: list[Change]) -> list[list[Any]]:
    return [[path] if value is REMOVE else [path, value] for path, value in changes]


def respelled(text: bytes, replaced: list[str]) -> bytes:
    """Return a text with one part of it in the place of another."""
    part, instead = (each.encode() for each in replaced)
    if part == b"*":
        return instead
    if part not in text:
        raise AssertionError(f"the text has no {replaced[0]}")
    return text.replace(part, instead, 1)


def _expect_or_read(field: str | None, text: bytes) -> None:
    if field is None:
        Published.from_json(text)
    else:
        _expect(ManifestRefused, field, lambda: Published.from_json(text))


def _expect(kind: type[InvalidParameter | ManifestRefused], field: str, call: Any) -> None:
    try:
        call()
    except kind as error:
        if error.field == field:
            return
        raise AssertionError(f"{error.field} instead of {field}: {error}") from error
    raise AssertionError(f"{field} is not refused")
