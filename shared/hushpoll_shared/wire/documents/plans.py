"""Plans as JSON: what a draft could tell, of goals and before its launch."""

from typing import Annotated, Literal, NotRequired, TypedDict

from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.spelling.json_values import JsonObject

GoalKind = Literal[
    "width",
    "difference",
    "change",
    "lead",
    "lead-width",
    "gap",
    "association",
    "mean",
    "mean-gap",
    "slope",
    "audit",
]
Way = Literal["split", "together", "drawn"]
GoalReply = Literal["yes", "no", "needs", "has"]


class GoalDocument(TypedDict):
    """The goal, as it was understood."""

    kind: GoalKind
    subject: str
    value: float | None
    confidence: float
    share: NotRequired[float | None]
    group: NotRequired[float | None]


class VerdictDocument(TypedDict):
    """What is said of one goal."""

    goal: GoalDocument
    answer: Annotated[GoalReply, "`needs` where n is asked for, `has` where a value is."]
    n: int | None
    epsilon: str
    predicted: Annotated[
        float | None,
        "Mean width, or the chance to find what is wanted; where no value is wanted, the width, or "
        "the smallest difference that is found with a power of 0.8; null for a width where some "
        "surveys' intervals have no bound, and for a slope that a regression will call too noisy "
        "to tell, whatever the answers.",
    ]
    n_needed: Annotated[int | None, "Fewest respondents that would do, to three digits."]
    epsilon_needed: Annotated[
        str | None, "Smallest epsilon with which n would do, to three digits."
    ]
    sampling_alone: Annotated[
        float | None, "What would be predicted in clear, where no epsilon does."
    ]
    sentence: str


class ShuffledDocument(TypedDict):
    """What a trusted shuffler would add to the local epsilon, which it never replaces."""

    local_epsilon: str
    crowd: Annotated[int, "Reports with the same values in clear."]
    clear: list[str]
    delta: float
    epsilon: Annotated[float, "Of the perturbed answers, rounded up."]
    sentence: str


class DrawDocument(TypedDict):
    """Blocks of which each respondent answers some, drawn at random."""

    name: str
    blocks: list[str]
    answer: Annotated[int, "How many of them."]


class WayDocument(TypedDict):
    """One way to randomise the questions, and the respondents that it takes."""

    name: Way
    blocks: Annotated[list[list[str]], "Questions that are randomised together."]
    draws: Annotated[list[DrawDocument], "Of whose blocks each respondent answers some."]
    n_needed: Annotated[
        list[int | None],
        "Of each goal that wants a value, in order; null if no number is enough.",
    ]
    n_needed_for_all: int | None


class TogetherDocument(TypedDict):
    """Questions alone beside questions in blocks and drawn, for what is wanted."""

    verdict: str
    recommended: Way
    ways: list[WayDocument]


class PlanDocument(TypedDict):
    """A verdict in words, and what it rests on."""

    verdict: str
    answer: GoalReply
    survey: str
    epsilon: str
    n: int | None
    goals: list[VerdictDocument]
    together: Annotated[TogetherDocument | None, "Null where there is one way only."]
    shuffled: ShuffledDocument | None
    selects: Annotated[
        NotRequired[list[str] | None],
        "What each select-all is published as, and why; absent without any.",
    ]


class QuestionPrecision(TypedDict):
    """How precise a question's shares will be, if all its categories are equally frequent.

    Of a number it is its mean, as a part of the range of its answers.
    """

    name: str
    categories: int
    protocol: Annotated[str | None, "Null for a question in clear."]
    epsilon: str | None
    width: Annotated[float, "Mean width of a category's interval."]
    detectable: Annotated[
        float | None,
        "Smallest difference of a share between two halves of the respondents that is found; null "
        "if none is.",
    ]
    mean_width: Annotated[
        float | None,
        "Of a number: mean width of the interval of its mean, in its unit; else null.",
    ]


class ExpectedAudit(TypedDict):
    """What an audit from the records alone will find."""

    attribute: str
    gap: Annotated[float, "Disparity for which the powers are."]
    powers: Annotated[
        dict[str, float | None],
        "Chance to find it, by group metric; null where it cannot be. Empty where nobody answers "
        "what an audit needs.",
    ]
    sentence: Annotated[
        str, "The smallest disparity of SPD that is found, in words, or why there is none."
    ]


class PairPlan(TypedDict):
    """What a survey will be able to say of two questions whose relation it is to tell."""

    a: str
    b: str
    statistic: Annotated[
        Literal["independence", "cross-tables"],
        "Whose verdict it is: of the cross-table where the two have no test.",
    ]
    verdict: Annotated[
        JsonObject | None,
        "With which its result will begin; null where none is computed.",
        Verdict,
    ]
    refusal: Annotated[str | None, "Why none is computed; null where one is."]


class LaunchDocument(TypedDict):
    """What a survey will be able to say, before anybody has answered."""

    n: int
    confidence: float
    power: Annotated[float, "Of `detectable`."]
    wanted: Annotated[float, "The width that is wanted."]
    questions: list[QuestionPrecision]
    verdict: Annotated[VerdictDocument, "Of the question with the widest intervals."]
    together: Annotated[
        TogetherDocument | None,
        "Questions alone, in blocks and drawn side by side; null with one way only.",
    ]
    pairs: Annotated[list[PairPlan], "Those that the draft marks, in its order."]
    audit: Annotated[ExpectedAudit | None, "Null where no group is declared."]
