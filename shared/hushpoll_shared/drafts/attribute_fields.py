"""The tables of the fields of an attribute, of the protected groups and of a translation."""

from __future__ import annotations

from typing import Final

from hushpoll_protocols import K_MAX, PROTOCOLS
from hushpoll_shared.drafts.fields import (
    NAME,
    PROTOCOL,
    Form,
    FormInput,
    ManifestField,
    Place,
    keyed_by,
    list_of,
    mapping_of,
    text,
)
from hushpoll_shared.spelling.canonical import LARGEST_INTEGER
from hushpoll_shared.spelling.text import (
    CATEGORY_LENGTH,
    DESCRIPTION_LENGTH,
    HELP_LENGTH,
    NAME_LENGTH,
    PURPOSE_LENGTH,
    QUESTION_LENGTH,
    SECTION_LENGTH,
    THANKS_LENGTH,
    TITLE_LENGTH,
)
from hushpoll_shared.survey.questions.attributes import ROLES, SCALES
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.questions.number import (
    AIMS,
    LARGEST_NUMBER,
    MEAN,
    QUANTILES,
    UNIT_LENGTH,
)
from hushpoll_shared.survey.questions.presentation import ALT_LENGTH
from hushpoll_shared.survey.questions.selects import PAIRS, SHARES, WANTS
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES

_CATEGORY: Final = text(CATEGORY_LENGTH)
_ENDS: Final = list_of(_CATEGORY, 2, 2)
_LIMIT: Final[Form] = {
    "type": "integer",
    "minimum": -LARGEST_NUMBER,
    "maximum": LARGEST_NUMBER,
}
_INTEGER: Final[Form] = {
    "type": "integer",
    "minimum": -LARGEST_INTEGER,
    "maximum": LARGEST_INTEGER,
}
_GROUP: Final[Form] = {"anyOf": [_CATEGORY, list_of(_CATEGORY, 1, unique=True)]}

ATTRIBUTE: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="name",
        form=NAME,
        allowed=f"1 to {NAME_LENGTH} characters out of `a-z`, `0-9`, `_` and `-`",
        meaning="The attribute's name; different for each attribute of a survey.",
        reason="Programs use it as a key, and a file of records as a column.",
        example="gender",
        required=True,
        label="Name in results",
        hint="a to z, 0 to 9, - and _",
        place=Place("question", 1),
    ),
    ManifestField(
        name="role",
        form={"type": "string", "enum": list(ROLES)},
        allowed="`sensitive`, `plain` or `target`",
        meaning="`sensitive` answers are perturbed on the device, `plain` ones leave in clear, and "
        "a `target` is what a model predicts. A target is perturbed if it names a protocol.",
        reason="Whether an answer leaves the device in clear must be said for each question.",
        example="sensitive",
        required=True,
        label="The answer is",
        called={
            "sensitive": "randomised",
            "plain": "sent as it is answered",
            "target": "the target of a model",
        },
        place=Place("question", 1, 1),
        title="what the answer is",
    ),
    ManifestField(
        name="categories",
        form=list_of(_CATEGORY, 1, K_MAX, unique=True),
        allowed="a list of different texts of 1 to "
        f"{CATEGORY_LENGTH} characters; with `missing` there are 2 to {K_MAX}",
        meaning="The possible answers, in order; a category's position is its code.",
        reason="The domain never comes from data, because a domain that data choose reveals "
        "answers. Quote words that YAML reads as something else, such as `true` or `1`.",
        example=["Female", "Male"],
        label="Possible answers, one per line",
        hint="Leave it empty for whole numbers.",
        hint_where=("low", True),
        lines=3,
        place=Place("question", 2),
        title="possible answers",
    ),
    ManifestField(
        name="range",
        form=list_of(_INTEGER, 2, 2),
        allowed=f"two integers `[a, b]` with a < b and at most {K_MAX} numbers from a to b",
        meaning="Stands for the categories a, a + 1, ..., b, both ends included. An attribute has "
        "`categories` or a `range`, not both.",
        reason="Nobody should have to write 74 ages down.",
        example=[17, 90],
        published=False,
        title="whole numbers",
        beside="low",
    ),
    ManifestField(
        name="number",
        form=mapping_of(
            {
                "low": _LIMIT,
                "high": _LIMIT,
                "unit": text(UNIT_LENGTH),
                "anchors": list_of(_LIMIT, 2, K_MAX),
                "for": {"type": "string", "enum": list(AIMS)},
            },
            "low",
            "high",
        ),
        allowed="`low` and `high`, two integers, low less than high; `unit`, up to "
        f"{UNIT_LENGTH} characters, may be left out. Of a sensitive attribute `anchors`, "
        "increasing integers from low to high, or `for`, `mean` or `quantiles`; in clear at most "
        f"{K_MAX} values. Not for a target, nor in a block, nor as a router",
        meaning="The answer is a whole number within these limits. A device draws one of two "
        "anchors beside it, whose mean is the number, and randomises the anchor. Without "
        "`anchors` they are chosen by epsilon when the survey is published, for the mean or for "
        "quantiles. An attribute has `categories`, a `range` or a `number`. Such a survey is "
        "published in format 2.",
        reason="The mean of a number is estimated with 3 to 30 times less variance than from all "
        "its values as categories.",
        example={"low": 0, "high": 5000, "unit": "euros"},
        parts={
            "low": FormInput(
                label="Whole numbers from",
                hint="In place of possible answers.",
                kind="numeric",
                place=Place("more", 2),
                subject="first whole number",
            ),
            "high": FormInput(
                label="to",
                kind="numeric",
                place=Place("more", 2, 1),
                subject="last whole number",
            ),
            "amount": FormInput(
                label="These numbers are",
                called={
                    "": "answers, each of which is counted",
                    MEAN: "an amount, asked for its mean",
                    QUANTILES: "an amount, asked for its quantiles",
                },
                place=Place("more", 3),
                key="for",
                subject="what the numbers are",
            ),
            "unit": FormInput(
                label="Unit of the amount",
                hint="Such as euros; it may be empty.",
                place=Place("more", 3, 1),
                subject="unit of the amount",
            ),
        },
        title="limits of a number",
        subject="the number",
    ),
    ManifestField(
        name="missing",
        form=_CATEGORY,
        allowed=f"1 to {CATEGORY_LENGTH} characters; none of the categories",
        meaning="The label of one more category, the last, for an answer that was skipped or "
        "refused. Without it the question must be answered.",
        reason="Skipping is an answer, and is perturbed like any other.",
        example="Prefer not to say",
        label="Answer of who skips it",
        hint="Without it the question must be answered.",
        place=Place("question", 3),
        placeholder="Prefer not to say",
    ),
    ManifestField(
        name="question",
        form=text(QUESTION_LENGTH),
        allowed=f"1 to {QUESTION_LENGTH} characters in one line",
        meaning="What the respondent is asked; pages and terminals show the name without it.",
        reason="Its wording changes what an answer means, so it is part of the digest.",
        example="How is your health in general?",
        label="What is asked",
        hint="Empty: respondents read the name.",
        place=Place("question", 0),
        hint_where=("question", False),
    ),
    ManifestField(
        name="help",
        form=text(HELP_LENGTH, lines=True),
        allowed=f"1 to {HELP_LENGTH} characters; line breaks are kept",
        meaning="What a respondent reads below the question, such as what counts as an answer.",
        reason="A hint changes what an answer means as the question does, so it is part of the "
        "digest. A device that does not know the field refuses the survey.",
        example="Count cigarettes, and no e-cigarettes.",
        label="Help text",
        hint="Respondents read it below the question.",
        place=Place("more", 7),
    ),
    ManifestField(
        name="protocol",
        form=PROTOCOL,
        allowed=f"one of {', '.join(f'`{name}`' for name in PROTOCOLS)}; none for a plain "
        "attribute",
        meaning="The protocol that perturbs the answers.",
        reason="The best protocol depends on the number of categories and on epsilon. A target is "
        "perturbed only if it names one itself.",
        example="OLH",
        label="Protocol",
        called={"": "as the survey says"},
        place=Place("more", 9),
    ),
    ManifestField(
        name="positive",
        form=_CATEGORY,
        allowed="one of the target's categories; only for a `target`",
        meaning="The category of the target that counts as 1.",
        reason="A classifier needs a yes and a no, and group metrics count the share of the yes.",
        example=">26000",
        label="Answer that counts as 1",
        hint="Of the target of a model.",
        place=Place("more", 9, 2),
    ),
    ManifestField(
        name="section",
        form=text(SECTION_LENGTH),
        allowed=f"1 to {SECTION_LENGTH} characters in one line; the questions of a section stand "
        "together",
        meaning="The heading of the questions that this one stands among.",
        reason="A long survey is read in parts.",
        example="About your work",
        label="Section",
        hint="A heading above the questions that share it.",
        place=Place("more", 4, 1),
    ),
    ManifestField(
        name="scale",
        form={"type": "string", "enum": list(SCALES)},
        allowed="`ordinal`, or `nps` with `range: [0, 10]`",
        meaning="How a page lays the answers out: `ordinal` from one end to the other, `nps` as "
        "the scores of a Net Promoter Score. Without it they are a plain list.",
        reason="An order is read faster in a row than in a list.",
        example="ordinal",
        label="Answers are laid out",
        called={
            "": "as a list",
            "ordinal": "as a scale, in a row",
            "nps": "as a Net Promoter Score, 0 to 10",
        },
        place=Place("more", 4),
        title="layout of the answers",
    ),
    ManifestField(
        name="ends",
        form=_ENDS,
        allowed=f"a list of two different texts of 1 to {CATEGORY_LENGTH} characters; only with "
        "`scale`",
        meaning="What the first and the last answer of a scale stand for; they are shown at its "
        "ends.",
        reason="Numbers in a row say nothing by themselves. A device that does not know the field "
        "refuses the survey, since who reads the scale without its ends may answer it the wrong "
        "way round.",
        example=["not at all", "completely"],
        parts={
            "end-first": FormInput(
                label="First answer of a scale means",
                hint="Such as: not at all.",
                place=Place("more", 5),
            ),
            "end-last": FormInput(
                label="Last answer means",
                hint="Such as: completely.",
                place=Place("more", 5, 1),
            ),
        },
        title="texts at the ends of the scale",
    ),
    ManifestField(
        name="shuffle",
        form=mapping_of({"last": {"type": "integer", "minimum": 0}}),
        allowed="a mapping, `{}` or with `last`, how many of the last categories keep their place; "
        "at least two change places. Not with `scale`, `range` or `number`",
        meaning="A device shows the categories in an order that it draws for each respondent. The "
        "missing category stays last, and so do as many as `last` says. With `items` the order "
        "of the items, the rows of a table, is drawn, and `last` of them stay last.",
        reason="What stands first is chosen more often. The order is neither kept nor sent, and "
        "the code of an answer is its place in the manifest.",
        example={"last": 1},
        parts={
            "shuffle": FormInput(
                label="Order of the answers, or of the rows where there are rows",
                called={"": "as written", "shuffled": "drawn for each respondent"},
                place=Place("more", 6),
            ),
            "last": FormInput(
                label="Answers or rows that stay last",
                hint="How many, of those that are drawn; empty: none.",
                kind="numeric",
                place=Place("more", 6, 1),
            ),
        },
        title="order of the answers",
    ),
    ManifestField(
        name="ask_if",
        form=keyed_by(NAME, list_of({"anyOf": [_CATEGORY, _INTEGER]}, 1, unique=True), 1, 1),
        allowed="the name of an earlier attribute with a list of some of its categories, not all; "
        "`missing` is none of them. Not for a target; not for an attribute in clear after one that "
        "is perturbed",
        meaning="Makes the question a follow-up: it is asked only after these answers to the "
        f"other, its router. It has one more category, the last: `{NOT_ASKED}`. Such a survey is "
        "published in format 2.",
        reason="Whether it was asked reveals something about the answer to the router, so it is "
        "randomised like an answer.",
        example={"smokes": ["daily", "sometimes"]},
        parts={
            "router": FormInput(
                label="Asked only after answers to",
                hint="Name in results of an earlier question. Empty: everybody is asked.",
                place=Place("more", 8),
            ),
            "after": FormInput(
                label="These answers, one per line",
                lines=2,
                place=Place("more", 8, 1),
            ),
        },
        title="asked only after",
        subject="“Asked only after answers to”",
    ),
    ManifestField(
        name="select",
        form=mapping_of(
            {
                "at_least": {"type": "integer", "minimum": 0},
                "at_most": {"type": "integer", "minimum": 1},
            }
        ),
        allowed="a mapping with `at_least` and `at_most`, both optional, from 0 to the number of "
        "categories; `{}` without limits. Not with `missing`, `scale`, `range` or `ask_if`, and "
        "not for a target",
        meaning="Makes the question one to select all that apply: its categories are options, of "
        "which a respondent names any number within the limits. Such a survey is published in "
        "format 2, with a yes/no attribute for each option.",
        reason="Many questions have several answers, and the options are randomised as is best "
        "for what the survey is to tell.",
        example={"at_most": 3},
        published=False,
        parts={
            "select": FormInput(
                label="A respondent gives",
                called={
                    "": "one answer",
                    SHARES: "all that apply",
                    PAIRS: "all that apply, and pairs of them matter",
                },
                place=Place("more", 0),
            ),
            "at_least": FormInput(
                label="At least",
                hint="Answers selected; empty: none is needed.",
                kind="numeric",
                place=Place("more", 0, 1),
                subject="“At least”",
            ),
            "at_most": FormInput(
                label="At most",
                hint="Empty: all may be selected.",
                kind="numeric",
                place=Place("more", 0, 2),
                subject="“At most”",
            ),
        },
        title="all that apply",
    ),
    ManifestField(
        name="want",
        form={"type": "string", "enum": list(WANTS)},
        allowed=f"`{SHARES}` or `{PAIRS}`; only with `select`",
        meaning="What a select-all is to tell: the share of each option, or also how many name "
        "two given options. Without it, shares.",
        reason="Options that are randomised apart can tell shares well and pairs badly.",
        example=PAIRS,
        published=False,
        title="all that apply",
        beside="select",
    ),
    ManifestField(
        name="items",
        form=list_of(
            mapping_of({"name": NAME, "question": text(QUESTION_LENGTH)}, "name", "question"),
            2,
            MOST_ATTRIBUTES,
        ),
        allowed="a list of two or more mappings with a `name`, that of an attribute, and a "
        "`question`, what the item says. Not with `select` or `number`, and not for a target",
        meaning="Makes the question a matrix: each item is answered by one of the `categories`, "
        "and they are shown as the rows of a table. Each is an attribute of its own with the "
        "role, answers, protocol, section, scale and condition of the matrix; statistics, "
        "`pairs`, `split`, blocks, draws and populations name the items. Such a survey is "
        "published in format 2.",
        reason="Questions with one scale are read and answered faster in a table.",
        example=[
            {"name": "wine", "question": "Wine"},
            {"name": "beer", "question": "Beer"},
        ],
        published=False,
        parts={
            "items": FormInput(
                label="Rows of a table, one per line",
                hint="Each row is answered by one of the possible answers. A line such as wine: "
                "Red or white wine is its name in results and what it says; without a name, one "
                "is made.",
                lines=2,
                place=Place("more", 1),
            ),
        },
        title="rows of a table",
    ),
    ManifestField(
        name="together",
        form={"type": "boolean"},
        allowed="`true` or `false`; only with `items`, and `true` only where they are perturbed",
        meaning="Whether the items of a matrix are one block, named after it. Without it each is "
        "randomised alone, unless the survey's own list `together` names it.",
        reason="A block can tell how two items go together; items alone tell the shares of large "
        "scales better.",
        example=True,
        published=False,
        parts={
            "rows": FormInput(
                label="Rows are randomised",
                called={"": "each by itself", "block": "together, as one value"},
                place=Place("more", 1, 1),
            ),
        },
        title="how rows are randomised",
    ),
)
"""The fields of an attribute."""

PROTECTED: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="attribute",
        form=NAME,
        allowed="the name of an attribute other than the target",
        meaning="The attribute whose groups are compared.",
        reason="Fairness between groups needs groups.",
        example="gender",
        required=True,
    ),
    ManifestField(
        name="privileged",
        form=_GROUP,
        allowed="a category, or a list of different categories",
        meaning="The group that is presumed to be at an advantage: group 1 of each metric.",
        reason="Differences are taken as group 1 less group 0, so a positive one is an advantage "
        "of this group.",
        example="Male",
        required=True,
    ),
    ManifestField(
        name="unprivileged",
        form=_GROUP,
        allowed="a category, or a list of different categories, none of which is privileged",
        meaning="The group that is compared with it: group 0 of each metric.",
        reason="Respondents of neither group, such as those who did not answer, are left out.",
        example=["Female"],
        required=True,
    ),
)
"""The fields of `protected`."""

TRANSLATION: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="title",
        form=text(TITLE_LENGTH),
        allowed=f"1 to {TITLE_LENGTH} characters in one line",
        meaning="The survey's title in this language.",
        reason="A respondent reads one language, so a translation has every text of the survey.",
        example="Arbeit und Gesundheit",
        required=True,
        label="Title",
    ),
    ManifestField(
        name="description",
        form=text(DESCRIPTION_LENGTH, lines=True),
        allowed="needed where the survey has a description, and refused elsewhere",
        meaning="The survey's description in this language.",
        reason="It is part of what a respondent reads before answering.",
        example="Eine Umfrage zu Arbeit und Gesundheit.",
        label="Description",
    ),
    ManifestField(
        name="purpose",
        form=text(PURPOSE_LENGTH, lines=True),
        allowed="needed where the survey has a purpose, and refused elsewhere",
        meaning="The survey's purpose in this language.",
        reason="Consent is to a purpose that was understood.",
        example="Wir planen die Sprechzeiten.",
        label="Purpose",
    ),
    ManifestField(
        name="thanks",
        form=text(THANKS_LENGTH, lines=True),
        allowed="needed where the survey has such a text, and refused elsewhere",
        meaning="What is read after answering, in this language.",
        reason="It is part of what a respondent reads.",
        example="Danke! Die Ergebnisse stehen im Mai im Amtsblatt.",
        label="Thanks",
    ),
    ManifestField(
        name="logo",
        form=text(ALT_LENGTH),
        allowed="needed where the survey has a logo, and refused elsewhere",
        meaning="What is read in place of the logo, in this language.",
        reason="The image is the same in all languages, and what a screen reader says is not.",
        example="Wappen der Stadt",
        label="In place of the logo",
    ),
    ManifestField(
        name="sections",
        form={"type": "object", "additionalProperties": text(SECTION_LENGTH)},
        allowed="a mapping from each section of the survey to its name in this language",
        meaning="The names of the sections in this language.",
        reason="A section's own name stays what programs group by.",
        example={"About your work": "Zu Ihrer Arbeit"},
    ),
    ManifestField(
        name="attributes",
        form=keyed_by(NAME, {"$ref": "#/definitions/translated_attribute"}),
        allowed="a mapping from the name of an attribute to its words; of a matrix its question "
        "and answers, and of each item its question",
        meaning="The words of the attributes in this language.",
        reason="Names and codes stay the same, so answers in all languages are counted together.",
        example={"smoker": {"question": "Rauchen Sie?", "categories": ["nein", "ja"]}},
    ),
)
"""The fields of one translation."""

TRANSLATED_ATTRIBUTE: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="question",
        form=text(QUESTION_LENGTH),
        allowed="needed where the attribute has a question, and refused elsewhere",
        meaning="The question in this language.",
        reason="Its wording decides what the answer means.",
        example="Rauchen Sie?",
        label="Question",
        place=Place("words", 0),
    ),
    ManifestField(
        name="help",
        form=text(HELP_LENGTH, lines=True),
        allowed="needed where the attribute has a help text, and refused elsewhere",
        meaning="The help text in this language.",
        reason="It is read with the question.",
        example="Zigaretten, ohne E-Zigaretten.",
        label="Help",
        place=Place("words", 1),
    ),
    ManifestField(
        name="ends",
        form=_ENDS,
        allowed="needed where the attribute has ends, and refused elsewhere",
        meaning="The texts at the ends of the scale in this language.",
        reason="They say which way round the scale is.",
        example=["gar nicht", "vollkommen"],
        place=Place("words", 5),
    ),
    ManifestField(
        name="categories",
        form=list_of(_CATEGORY, 1, K_MAX),
        allowed="as many texts as the attribute has categories, in the same order",
        meaning="The possible answers in this language; without them they stay as they are.",
        reason="Numbers and names need no translation.",
        example=["nein", "ja"],
        place=Place("words", 3),
    ),
    ManifestField(
        name="missing",
        form=_CATEGORY,
        allowed="needed where the attribute has a missing category, and refused elsewhere",
        meaning="The label of the missing category in this language.",
        reason="It is an answer like the others.",
        example="Keine Angabe",
        label="Skipped",
        place=Place("words", 4),
    ),
    ManifestField(
        name="unit",
        form=text(UNIT_LENGTH),
        allowed="only where the attribute is a number with a unit",
        meaning="The unit of the number in this language; without it, it stays as it is.",
        reason="Euros and kilometres have other names elsewhere.",
        example="Euro",
        label="Unit",
        place=Place("words", 2),
    ),
)
"""The fields of an attribute's words in one translation."""
