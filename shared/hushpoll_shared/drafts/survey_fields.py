"""The table of a survey's fields, in the order in which an author writes them."""

from __future__ import annotations

from typing import Final

from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.drafts.fields import (
    LANGUAGE,
    NAME,
    PROTOCOL,
    TIME,
    WEIGHT,
    FormInput,
    ManifestField,
    Place,
    keyed_by,
    list_of,
    mapping_of,
    text,
)
from hushpoll_shared.drafts.named_questions import MOST_PAIRS
from hushpoll_shared.spelling.decimals import LARGEST_WEIGHT
from hushpoll_shared.spelling.text import (
    DESCRIPTION_LENGTH,
    NAME_LENGTH,
    OPERATOR_LENGTH,
    PURPOSE_LENGTH,
    THANKS_LENGTH,
    TITLE_LENGTH,
)
from hushpoll_shared.survey.questions.presentation import ALT_LENGTH
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS
from hushpoll_shared.survey.randomization.draws import SHORTHAND
from hushpoll_shared.survey.terms import (
    DAILY,
    DEFAULT_BATCH,
    LARGEST_BATCH,
    LARGEST_VERSION,
    MOST_ATTRIBUTES,
    RELEASES,
    SUBMISSIONS,
)
from hushpoll_shared.survey.wording import MOST_TRANSLATIONS

SURVEY: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="name",
        form=NAME,
        allowed=f"1 to {NAME_LENGTH} characters out of `a-z`, `0-9`, `_` and `-`",
        meaning="The survey's name, which all its versions share.",
        reason="It stands in addresses and file names, so it has no character that these escape.",
        example="work-and-health",
        required=True,
        label="Name in addresses",
        hint="a to z, 0 to 9, - and _",
        place=Place("survey", 5, narrow=True),
    ),
    ManifestField(
        name="version",
        form={"type": "integer", "minimum": 1, "maximum": LARGEST_VERSION},
        allowed="an integer from 1 to 2^31 - 1",
        meaning="The number of this version.",
        reason="A published version never changes. A changed question is a new version, with "
        "counts of its own.",
        example=1,
        required=True,
        label="Version",
        hint="Never changes once published.",
        place=Place("survey", 5, 1),
    ),
    ManifestField(
        name="title",
        form=text(TITLE_LENGTH),
        allowed=f"1 to {TITLE_LENGTH} characters in one line",
        meaning="What respondents and analysts read as the survey's name.",
        reason="`name` is for programs, `title` is for people.",
        example="Work and health",
        required=True,
        label="Title",
        hint="What respondents read above the questions.",
        place=Place("survey", 0),
    ),
    ManifestField(
        name="description",
        form=text(DESCRIPTION_LENGTH, lines=True),
        allowed=f"1 to {DESCRIPTION_LENGTH} characters; line breaks are kept",
        meaning="What the survey is about.",
        reason="Respondents read it before they answer, and it is part of the digest.",
        example="A sample survey about work, income and health.",
        label="Description",
        hint="What the survey is about.",
        place=Place("survey", 1),
    ),
    ManifestField(
        name="operator",
        form=text(OPERATOR_LENGTH),
        allowed=f"1 to {OPERATOR_LENGTH} characters in one line",
        meaning="Who asks, and who is responsible for the answers.",
        reason="A respondent decides by whom they are asked, and the hosted page shows it first.",
        example="Institute of Public Health, Example Town",
        label="Who asks",
        hint="The person or organisation that is responsible for the answers. Respondents read it "
        "first.",
        place=Place("survey", 2),
    ),
    ManifestField(
        name="purpose",
        form=text(PURPOSE_LENGTH, lines=True),
        allowed=f"1 to {PURPOSE_LENGTH} characters; line breaks are kept",
        meaning="What the answers are used for.",
        reason="Consent is to a purpose, so the purpose is part of the digest.",
        example="We plan the opening hours of the town's clinics.",
        label="What the answers are for",
        hint="Respondents agree to this purpose.",
        place=Place("survey", 3),
    ),
    ManifestField(
        name="thanks",
        form=text(THANKS_LENGTH, lines=True),
        allowed=f"1 to {THANKS_LENGTH} characters; line breaks are kept",
        meaning="What a respondent reads after answering, such as where results will be found.",
        reason="Who gave answers wants to know what comes of them.",
        example="Thank you! The results will be in the town's gazette in May.",
        label="Thanks",
        hint="Respondents read it after answering.",
        place=Place("survey", 4),
    ),
    ManifestField(
        name="logo",
        form=mapping_of(
            {
                "image": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "alt": text(ALT_LENGTH),
            },
            "image",
            "alt",
        ),
        allowed="a mapping with `image`, the SHA-256 of an image that the server keeps "
        "(`hushpoll draft image FILE`, or the draft's form on the dashboard), and `alt`, 1 to "
        f"{ALT_LENGTH} characters that are read in its place",
        meaning="A picture above the title of the hosted page. Terminals show none.",
        reason="An image from elsewhere would tell another server who reads the page. It is named "
        "by its hash, so that it cannot change under the digest, and is no part of a record.",
        example={
            "image": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "alt": "Coat of arms of Example Town",
        },
        title="Logo",
    ),
    ManifestField(
        name="language",
        form=LANGUAGE,
        allowed="a language tag such as `en`, `pt-BR` or `zh-Hans`",
        meaning="The language of the survey's own words.",
        reason="A screen reader pronounces by it, and a translation needs an original.",
        example="en",
        label="Language",
        hint="A tag such as en or pt-BR.",
        place=Place("survey", 5, 2),
    ),
    ManifestField(
        name="translations",
        form=keyed_by(LANGUAGE, {"$ref": "#/definitions/translation"}, 1, MOST_TRANSLATIONS),
        allowed=f"a mapping from 1 to {MOST_TRANSLATIONS} language tags to translations; "
        "needs `language`",
        meaning="All words of the survey in other languages.",
        reason="What was read decides what an answer means, so translations are under the digest. "
        "The code of an answer is the same in every language.",
        example={"de": {"title": "Arbeit und Gesundheit"}},
        title="Translations",
    ),
    ManifestField(
        name="shared_device",
        form={"type": "boolean"},
        allowed="`true` or `false`",
        meaning="Whether several people may answer on one device, each with a ledger of their own.",
        reason="A second person at the device of a household or a clinic would otherwise be "
        "refused as a repetition. A device cannot tell people apart, so one person could spend "
        "the budget again.",
        example=True,
        default=False,
        label="On one device",
        hint="A device cannot tell people apart: where several may, one person could answer twice.",
        called={"": "one person answers", "several": "several people may answer"},
        place=Place("period", 1, 1),
    ),
    ManifestField(
        name="epsilon",
        form={
            "anyOf": [
                {"type": "number", "minimum": 0.000001, "maximum": 64},
                {
                    "type": "string",
                    "pattern": r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$",
                },
            ]
        },
        allowed="a number from 0.000001 to 64 with at most 12 decimals, best in quotes",
        meaning="The total budget that one respondent spends on this version.",
        reason="The odds of anything about a respondent change by at most e^epsilon. Quotes keep "
        "every program from reading it as a binary fraction.",
        example="4.0",
        required=True,
        label="Epsilon of all answers together",
        hint="Less protects more. From 6 in all, or 3 for one question, it protects weakly.",
        place=Place("privacy", 0),
        title="Epsilon",
    ),
    ManifestField(
        name="split",
        form={
            "anyOf": [
                {"type": "string", "enum": list(DRAFT_SPLITS)},
                mapping_of({"weights": keyed_by(NAME, WEIGHT, 1)}, "weights"),
            ]
        },
        allowed="`uniform`, `k-based`, `optimal`, or `{weights: {attribute: number}}` with a "
        f"weight in (0, {LARGEST_WEIGHT}] for each perturbed attribute, or for its block under the "
        "block's name, or for the draw that has it under the draw's; `k-based` is refused with "
        "blocks and draws",
        meaning="How epsilon is divided among the perturbed attributes, the blocks and the draws.",
        reason="`uniform` favours no question. `k-based` starves questions with few answers, "
        "`optimal` makes the intervals of all questions alike narrow, and weights put the budget "
        "where the survey needs it.",
        example={"weights": {"gender": 2, "age": 1}},
        default="uniform",
        label="Divided among the questions",
        called={
            "uniform": "evenly",
            "k-based": "by the number of categories",
            "optimal": "for the least error in all",
            "weights": "by a weight at each question",
        },
        parts={
            "weight": FormInput(
                label="Weight of its epsilon",
                hint="Where epsilon is divided by weights.",
                kind="decimal",
                place=Place("more", 9, 1),
            ),
        },
        place=Place("privacy", 0, 1),
    ),
    ManifestField(
        name="protocol",
        form=PROTOCOL,
        allowed=f"one of {', '.join(f'`{name}`' for name in PROTOCOLS)}",
        meaning="The protocol of every sensitive attribute that names none.",
        reason="Most surveys use one protocol throughout. In the published form it stands in each "
        "attribute.",
        example="SS",
        published=False,
        label="Protocol",
        hint="Of each question that names none.",
        called={"": "each question names its own"},
        place=Place("privacy", 0, 2),
    ),
    ManifestField(
        name="attributes",
        form=list_of({"$ref": "#/definitions/attribute"}, 1, MOST_ATTRIBUTES),
        allowed=f"a list of 1 to {MOST_ATTRIBUTES} attributes, at least one of them perturbed and "
        "at most one a target",
        meaning="The questions, in the order of the record.",
        reason="The order fixes where each answer stands in a record, so it is part of the digest.",
        example=[{"name": "smoker", "role": "sensitive", "categories": ["no", "yes"]}],
        required=True,
        title="Questions",
    ),
    ManifestField(
        name="together",
        form=list_of({"$ref": "#/definitions/block"}),
        allowed="a list of blocks, each with a name and two or more perturbed attributes; no "
        "attribute is in two",
        meaning="Questions whose answers are randomised as one value, each group with one epsilon.",
        reason="What concerns several questions at once, such as a cross-table, is then paid for "
        "once. A device without blocks refuses the survey, so the form is written where it is "
        "used only.",
        example=[{"name": "habits", "attributes": ["gender", "smoker"], "protocol": "SS"}],
        parts={
            "together": FormInput(
                label="Blocks, one per line",
                hint="Answers to the questions of a block are randomised as one value, which makes "
                "their tables more exact. A line such as habits: smokes, drinks names the block "
                "and its questions; | SS after them names a protocol, else it is that of the "
                "questions or the survey.",
                lines=3,
                place=Place("together", 0),
            ),
        },
        title="Questions put together",
    ),
    ManifestField(
        name="draws",
        form=list_of({"$ref": "#/definitions/draw"}),
        allowed="a list of draws, each with a name, two or more blocks and how many of them a "
        "device answers; no block is in two",
        meaning="Blocks of which each device answers some, chosen at random by the device.",
        reason="A chosen block is given a larger part of epsilon, which makes the shares of "
        "many questions far more precise where epsilon is small. A device without draws refuses "
        "the survey, so the form is written where it is used only.",
        example=[{"name": "some", "blocks": ["gender", "age", "country"], "answer": 1}],
        parts={
            "draws": FormInput(
                label="Draws, one per line",
                hint="Each device sends some blocks of a draw, chosen at random, each with a "
                "larger part of epsilon. A line such as rota: smokes, drinks, debts | 1 names the "
                "draw, its questions or blocks, and how many of them a device sends.",
                lines=3,
                place=Place("draws", 0),
            ),
        },
        title="Questions drawn at random",
    ),
    ManifestField(
        name="answer",
        form={"type": "integer", "minimum": 1},
        allowed="an integer from 1 to one less than the blocks that are not in `always`; not with "
        "`draws`",
        meaning="Of all blocks but those in `always`, how many a device answers.",
        reason=f"It is the short way to write one draw, named `{SHORTHAND}`, which is published in "
        "`draws`.",
        example=1,
        published=False,
        title="Questions drawn at random",
    ),
    ManifestField(
        name="always",
        form=list_of(NAME, most=MOST_ATTRIBUTES),
        allowed="a list of names of blocks, or of perturbed attributes that are in no block; with "
        "`answer` only",
        meaning="Blocks that everybody answers, where `answer` draws the others.",
        reason="What a survey needs of everybody, such as the group of an audit, stays out of the "
        "draw.",
        example=["gender"],
        published=False,
        title="Questions drawn at random",
    ),
    ManifestField(
        name="pairs",
        form=list_of(list_of(NAME, 2, 2), most=MOST_PAIRS),
        allowed=f"a list of at most {MOST_PAIRS} pairs of two different attributes, each pair once",
        meaning="Pairs of questions whose relation the survey is to tell.",
        reason="A survey can be precise in every question and tell nothing of two together. The "
        "launch plan of a draft gives each pair its verdict before anybody is asked.",
        example=[["gender", "income"]],
        published=False,
        parts={
            "pairs": FormInput(
                label="Pairs of questions, one per line",
                hint="A line such as smokes, gender marks two questions whose relation the survey "
                "is to tell. The launch plan says of each pair whether it will. Pairs are kept "
                "with the draft and not published.",
                lines=3,
                place=Place("pairs", 0),
            ),
        },
        title="Pairs of questions",
    ),
    ManifestField(
        name="protected",
        form={"anyOf": [{"$ref": "#/definitions/protected"}]},
        allowed="a mapping with exactly `attribute`, `privileged` and `unprivileged`",
        meaning="The two groups that a fairness report compares.",
        reason="Which group counts as privileged fixes the sign of each difference, so it is "
        "declared before data exist.",
        example={"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
        parts={
            "protected-attribute": FormInput(
                label="Name of the question that tells the groups",
                place=Place("protected", 0),
            ),
            "protected-privileged": FormInput(
                label="Answers of the privileged group, one per line",
                lines=3,
                place=Place("protected", 1),
            ),
            "protected-unprivileged": FormInput(
                label="Answers of the unprivileged group, one per line",
                lines=3,
                place=Place("protected", 1, 1),
            ),
        },
        title="Groups of a fairness audit",
    ),
    ManifestField(
        name="opens",
        form={"type": "string", "pattern": TIME},
        allowed="UTC to the second, `YYYY-MM-DDTHH:MM:SSZ`",
        meaning="From when reports are taken; at once where it is absent.",
        reason="One spelling in UTC means the same on every device.",
        example="2026-01-31T09:00:00Z",
        label="Opens, in UTC",
        hint="Empty: as it is published.",
        place=Place("period", 0),
        title="Opens",
    ),
    ManifestField(
        name="closes",
        form={"type": "string", "pattern": TIME},
        allowed="UTC to the second, `YYYY-MM-DDTHH:MM:SSZ`, after `opens`",
        meaning="From when reports are refused; until an analyst closes the survey where it is "
        "absent.",
        reason="A device can tell its respondent how long the survey runs. Devices that were "
        "offline have a grace period after it.",
        example="2026-02-28T18:00:00Z",
        label="Closes, in UTC",
        hint="Empty: when you close it.",
        place=Place("period", 0, 1),
        title="Closes",
    ),
    ManifestField(
        name="submission",
        form={"type": "string", "enum": list(SUBMISSIONS)},
        allowed="`open`, `token` or `invited`",
        meaning="Who may answer: everybody, respondents with a single-use token, or respondents "
        "with an invitation, which the device redeems for a token that the server cannot link to "
        "it.",
        reason="A token bounds what one person can add. An `open` survey needs no list of people.",
        example="token",
        default="open",
        label="Who may answer",
        called={
            "open": "everybody with the link",
            "token": "holders of a single-use token",
            "invited": "holders of an invitation, not linkable from what is stored",
        },
        place=Place("period", 1),
    ),
    ManifestField(
        name="minimum_batch",
        form={"type": "integer", "minimum": 1, "maximum": LARGEST_BATCH},
        allowed="an integer from 1 to 10^9",
        meaning="The fewest reports that any statistic is computed from, and that a release adds.",
        reason="A small batch singles respondents out. A device can refuse a survey "
        "whose minimum is under its owner's number, and the preview warns of fewer than 20.",
        example=500,
        default=DEFAULT_BATCH,
        label="Fewest reports of a result",
        hint="Empty: 100.",
        place=Place("period", 2, 1),
    ),
    ManifestField(
        name="release",
        form={"type": "string", "enum": list(RELEASES)},
        allowed="`daily` (midnight UTC), `weekly` (as Monday begins), `end` or `immediate`",
        meaning="When analysts are given the reports that came since the last release.",
        reason="An analyst who could ask at any time could single out a report by asking twice. "
        "`immediate` is for trials, and respondents read that it holds.",
        example="weekly",
        default=DAILY,
        label="Results come",
        called={
            "daily": "daily",
            "weekly": "weekly",
            "end": "at the end",
            "immediate": "immediately, for trials",
        },
        place=Place("period", 2),
    ),
    ManifestField(
        name="population",
        form={"type": "object"},
        allowed="a mapping from each attribute to `weights`, `given` and `weights`, or `logit`",
        meaning="A synthetic population, from which `hushpoll simulate` draws respondents.",
        reason="A rehearsal with a known truth shows what a survey will be able to say.",
        example={"smoker": {"weights": {"no": 8, "yes": 2}}},
        published=False,
    ),
)
"""The fields of a survey, in the order in which an author writes them."""

BLOCK: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="name",
        form=NAME,
        allowed=f"1 to {NAME_LENGTH} characters out of `a-z`, `0-9`, `_` and `-`; no attribute and "
        "no other block has it",
        meaning="The block's name, by which `split.weights` names it.",
        reason="A block has one epsilon and one place in the record, so it has one name.",
        example="habits",
        required=True,
    ),
    ManifestField(
        name="attributes",
        form=list_of(NAME, 2, MOST_ATTRIBUTES),
        allowed="a list of two or more perturbed attributes with at most 65536 combinations of "
        "answers",
        meaning="The questions of the block, that whose code changes slowest first.",
        reason="The order fixes which combination of answers has which code, so it is part of the "
        "digest.",
        example=["gender", "smoker"],
        required=True,
    ),
    ManifestField(
        name="protocol",
        form=PROTOCOL,
        allowed="a protocol, where no question of the block names one; a target must, and stands "
        "for its block then",
        meaning="The protocol of the block; without it that of its questions, or of the survey.",
        reason="One value has one protocol. A target that leaves its device randomised says so "
        "itself.",
        example="SS",
    ),
)
"""The fields of a block of several questions."""

DRAW: Final[tuple[ManifestField, ...]] = (
    ManifestField(
        name="name",
        form=NAME,
        allowed=f"1 to {NAME_LENGTH} characters out of `a-z`, `0-9`, `_` and `-`; no attribute, "
        "block or other draw has it",
        meaning="The draw's name, by which `split.weights` names it.",
        reason="A draw has one epsilon and one place in the record, so it has one name.",
        example="some",
        required=True,
    ),
    ManifestField(
        name="blocks",
        form=list_of(NAME, 2, MOST_ATTRIBUTES),
        allowed="a list of two or more blocks, by name; a perturbed attribute that is in no "
        "block is one of its name",
        meaning="What is drawn from, in the order of the record.",
        reason="A block is answered as a whole: what concerns its questions stays together.",
        example=["gender", "age", "country"],
        required=True,
    ),
    ManifestField(
        name="answer",
        form={"type": "integer", "minimum": 1, "maximum": MOST_ATTRIBUTES - 1},
        allowed="an integer from 1 to one less than the blocks",
        meaning="How many of the blocks a device answers.",
        reason="Each is given as large a part of the draw's epsilon. With 1 nobody answers two of "
        "them, so that nothing can be said of two together.",
        example=1,
        required=True,
    ),
)
"""The fields of a draw."""
