"""What an analyst may want to learn from a survey.

Of one question: an interval of a share or of a mean no wider than wanted, a difference of a share
between two groups of respondents that are told apart in clear, a change of it between two versions,
a lead of one category over another, an interval of a lead no wider than wanted. Of two questions,
either of which may be perturbed: a gap of a share or of a mean between the groups of the other one,
or an association. Of two or more: a slope of one on another, the others held fixed. Or an audit
that finds a disparity. Intervals are met by their mean width, the others by the chance to find what
is wanted (:mod:`hushpoll_analysis.planning.outcomes`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.planning.expected_means import Means
from hushpoll_analysis.planning.expected_slopes import LARGEST, Slope, check_slope
from hushpoll_analysis.planning.follow_ups import answers_of, part_asked, sizes_of_cells
from hushpoll_analysis.records.answering import audited, labelled_target, require_answered
from hushpoll_analysis.records.pairs import pair
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.reading.decimal_texts import parse_number
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.wire.documents.plans import GoalKind

KINDS: Final[tuple[GoalKind, ...]] = get_args(GoalKind)
WIDTHS: Final = ("width", "lead-width", "mean")
LEADS: Final = ("lead", "lead-width")
PAIRS: Final = ("gap", "association", "mean-gap")
"""Goals of two questions, written OF/GIVEN."""
MEANS: Final = ("mean", "mean-gap")
"""Goals whose value is in the unit of a scale."""
SLOPE: Final = "slope"
"""Goal of a regression, written OUTCOME~PREDICTOR or OUTCOME~PREDICTOR+HELD+HELD."""
GROUPED: Final = ("difference", "gap", "mean-gap", SLOPE)
DRAWN: Final = ("audit", *LEADS, "gap", *MEANS)
"""Goals whose outcome is counted over drawn surveys."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted of one question or of two, or of an audit; refuses what contradicts itself."""

    kind: GoalKind
    """One of `KINDS`. width: mean width of the interval of a category's share. difference: of the
    share between two groups of respondents that are told apart in clear. change: between two
    versions with as many respondents each. lead: share of one category minus that of another one of
    the same attribute; lead-width: mean width of its interval. gap: of a category's share between
    two categories of another attribute; association: of two attributes, found by the test of
    independence. mean: mean width of the interval of a scale's mean; mean-gap: of means between two
    categories of another attribute. slope: of a logit, in logits, of one attribute on another while
    others are held fixed, found by its regression. audit: difference of the rates of a group metric
    in an audit from the records."""
    subject: str
    """The attribute; OF/GIVEN for two, such as ``smokes/gender``; OUTCOME~PREDICTOR+HELD for a
    slope; the group metric of an audit."""
    value: float | None = None
    """In the unit of the scale for means, phi for an association, the logarithm of an odds ratio
    for a slope, and otherwise a share in (0, 1]; None to ask which can be had."""
    share: float | None = None
    """The category's, in the larger group or the first version; that of the category that is
    behind, or of both where the width of their interval is wanted; in (0, 1). None for 1/k, and for
    shares that are alike but for the lead."""
    group: float | None = None
    """Share of the respondents in the smaller group, in (0, 0.5], of a difference or a gap. None
    for halves, or for groups that are alike."""
    confidence: float = 0.95
    """The interval's, in [0.01, 0.999999]; of an association, 1 minus the level of the test."""
    part: float | None = field(default=None, compare=False)
    """Which part of the people are taken to be asked it: the goal is about them."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter(
                f"want is {self.kind!r}; it must be one of {', '.join(KINDS)}", field="want"
            )
        self._check_value()
        if self.share is not None and not 0 < self.share < 1:
            raise InvalidParameter(
                f"share is {self.share}; give the share of a category, in (0, 1)", field="share"
            )
        if self.group is not None and not 0 < self.group <= 0.5:
            raise InvalidParameter(
                f"group is {self.group}; give the smaller group's share of the respondents, in "
                "(0, 0.5]",
                field="group",
            )
        low, high = CONFIDENCES
        if not low <= self.confidence <= high:
            raise InvalidParameter(
                f"confidence is {self.confidence}; give a coverage in [{low}, {high}], such as "
                "0.95",
                field="confidence",
            )
        if self.kind == "audit" and self.subject not in METRICS:
            raise InvalidParameter(
                f"{self} is of no group metric; name one of {', '.join(METRICS)}", field="want"
            )
        if self.kind == SLOPE and not all(self.names[1:]):
            raise InvalidParameter(
                f"{self} names no predictor; write OUTCOME~PREDICTOR, and +NAME for each that is "
                "held fixed, such as slope:smokes~gender+age",
                field="want",
            )
        if self.kind == SLOPE and self.value is not None and self.value > LARGEST:
            raise InvalidParameter(
                f"{self} wants a slope of {self.value:g}; give logits, at most {LARGEST:g}: 0.5 "
                "multiplies the odds by 1.65",
                field="want",
            )
        if self.kind in PAIRS and self.subject.count("/") != 1:
            raise InvalidParameter(
                f"{self} names no two questions; write OF/GIVEN, such as {self.kind}:smokes/gender",
                field="want",
            )

    def _check_value(self) -> None:
        value, share = self.value, self.share
        # how large means and associations can be depends on the survey
        open_ended = self.kind in (*MEANS, "association", SLOPE)
        if value is not None and not (0 < value < math.inf and (open_ended or value <= 1)):
            what = "a number above 0" if open_ended else "a share in (0, 1], such as 0.05"
            raise InvalidParameter(
                f"{self} wants {value}; give {what}, or ? to ask which can be had", field="want"
            )
        times = {"difference": 1, "change": 1, "gap": 1, "lead": 2}.get(self.kind, 0)
        if times and times * (share or 0.0) + (value or 0.0) > 1:
            raise InvalidParameter(
                f"{self} wants a difference of {value} from a share of {share}: together "
                "the shares are above 1; give less of either",
                field="want",
            )
        if self.kind == "lead" and value == 1:
            raise InvalidParameter(
                f"{self} wants a lead of 1, which leaves nothing to any other category; give less",
                field="want",
            )

    def __str__(self) -> str:
        """Name the goal as ``--want`` does."""
        return f"{self.kind}:{self.subject}"

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that it is about: one, two, or none for an audit."""
        if self.kind == "audit":
            return ()
        if self.kind == SLOPE:
            outcome, _, predictors = self.subject.partition("~")
            return (outcome, *predictors.split("+"))
        return tuple(self.subject.split("/")) if self.kind in PAIRS else (self.subject,)

    @classmethod
    def parse(cls, text: str, **more: Any) -> Goal:
        """Return the goal of a text such as ``width:age=0.02`` or ``audit:SPD=?``.

        It is KIND:SUBJECT=VALUE, where ? asks which value can be had; `more` are the other fields.
        """
        kind, _, rest = text.partition(":")
        subject, equals, value = rest.rpartition("=")
        try:
            wanted = None if value == "?" else parse_number(value)
        except ValueError:
            equals = ""
        if not equals or not subject:
            raise InvalidParameter(
                f"want is {text!r}; give KIND:SUBJECT=VALUE, such as width:age=0.02, "
                "difference:age=0.05, change:age=0.05, lead:age=0.05, lead-width:age=0.05, "
                "gap:smokes/gender=0.1, association:smokes/gender=0.2, mean:age=2, "
                "mean-gap:age/gender=2, slope:smokes~gender+age=0.5 or audit:SPD=0.1, or ? as "
                "VALUE",
                field="want",
            )
        # a kind that does not exist is refused with the names of those that do
        return cls(kind, subject, wanted, **more)  # type: ignore[arg-type]

    def to_dict(self) -> JsonMembers:
        """Return the goal as the API and ``--json`` give it."""
        given: JsonMembers = {
            "kind": self.kind,
            "subject": self.subject,
            "value": self.value,
            "confidence": self.confidence,
        }
        if self.kind not in ("audit", "association", *MEANS):
            given["share"] = self.share
        if self.kind in GROUPED:
            given["group"] = self.group
        return given


def check_goals(goals: Sequence[Goal], published: Published) -> None:
    """Refuse goals that are none, that a survey cannot have, or that contradict each other."""
    if not goals:
        raise InvalidParameter(
            "no goal is given; say what is wanted, such as width:age=0.02", field="want"
        )
    seen: dict[Goal, float | None] = {}
    for goal in goals:
        what = replace(goal, value=None)
        if what in seen and seen[what] != goal.value:
            raise InvalidParameter(
                f"{goal} is wanted twice, as {seen[what] or '?'} and as {goal.value or '?'}; keep "
                "one of them",
                field="want",
            )
        seen[what] = goal.value
        if goal.kind == "audit":
            _check_audit(goal, published)
            continue
        if goal.kind == SLOPE:
            check_slope(slope_of(goal, published, goal.value or 0.0), str(goal))
            continue
        attributes = [published.attribute(name) for name in goal.names]
        _require_answered(goal, published)
        if goal.kind in PAIRS:
            of, given = goal.names
            pair(published, of, given, ("want", "want"))
            cells = sizes_of_cells(published, of, given)
            if cells is not None and not cells.all():
                raise InvalidParameter(
                    f"{goal}: some answers to {of} and {given} cannot be given together, as those "
                    "of a follow-up and its router, so that there are no groups to compare; want "
                    f"width:{of} or mean:{of}, which are about the people who are asked",
                    field="want",
                )
            _check_most(goal, attributes)
        if goal.kind in MEANS:
            _check_mean(goal, attributes[0])
        _check_share(goal, attributes[0])


def _check_audit(goal: Goal, published: Published) -> None:
    if published.protected is None:
        raise InvalidParameter(
            f"{goal}: survey {published.name} declares no protected attribute, so there is nothing "
            "to audit; declare one",
            field="want",
        )
    if METRICS[goal.subject].uses_labels and labelled_target(published) is None:
        raise InvalidParameter(
            f"{goal}: {goal.subject} needs labels, and survey {published.name} has no target with "
            "a positive category; declare one, or want SPD",
            field="want",
        )
    _require_answered(goal, published)


def _require_answered(goal: Goal, published: Published) -> None:
    try:
        require_answered(published, needs(goal, published))
    except InvalidParameter as error:
        raise InvalidParameter(f"{goal}: {error}", field="want") from None


def _check_most(goal: Goal, attributes: Sequence[PublishedAttribute]) -> None:
    largest = math.sqrt(min(attribute.k for attribute in attributes) - 1)
    if goal.kind == "association" and goal.value is not None and goal.value > largest:
        raise InvalidParameter(
            f"{goal} wants an association of {goal.value}, and phi of these questions is at most "
            f"{largest:.4g}; want less",
            field="want",
        )


def _check_mean(goal: Goal, attribute: PublishedAttribute) -> None:
    means = Means(attribute, scale_of(attribute), 1)
    widest = 2 * means.half if goal.kind == "mean" else means.widest
    if goal.value is not None and goal.value >= widest:
        what = "an interval" if goal.kind == "mean" else "a gap"
        raise InvalidParameter(
            f"{goal} wants {what} of {goal.value:g}, and {widest:g} is as much as the scale of "
            f"{attribute.name} has room for; want less",
            field="want",
        )


def _check_share(goal: Goal, attribute: PublishedAttribute) -> None:
    if goal.kind not in LEADS or goal.share is None:
        return
    if len(attribute.categories) == 2:
        raise InvalidParameter(
            f"{goal}: share is {goal.share}, and {goal.subject} has two categories, whose shares "
            "follow from the lead; leave share out",
            field="share",
        )
    if 2 * goal.share > 1:
        raise InvalidParameter(
            f"{goal}: share is {goal.share}; two categories cannot have so much each: give at most "
            "0.5",
            field="share",
        )


def needs(goal: Goal, published: Published) -> tuple[str, ...]:
    """Return the questions that a respondent has to answer to count for a goal."""
    return audited(published) if goal.kind == "audit" else goal.names


def resolved(goal: Goal, published: Published) -> Goal:
    """Return the goal with its share and its group; no share where it follows from a lead."""
    if goal.kind == "audit":
        return goal
    attributes = [published.attribute(name) for name in goal.names]
    if attributes[0].ask_if is not None and goal.kind != "association":
        goal = replace(goal, part=part_asked(published, attributes[0].name))
    if goal.kind in GROUPED and goal.group is None:
        whose = attributes[1] if goal.kind == SLOPE else attributes[-1]
        goal = replace(goal, group=0.5 if goal.kind == "difference" else 1 / whose.k)
    if goal.share is not None or (goal.kind == "lead" and goal.value is None):
        return goal
    if goal.kind in LEADS:
        lead = (goal.value or 0.0) if goal.kind == "lead" else 0.0
        return replace(goal, share=share_behind(goal, attributes[0], lead))
    if goal.kind in MEANS or goal.kind == "association":
        return goal
    even = 1 / answers_of(attributes[0])
    if goal.kind == "gap" and goal.value is not None:
        even = min(even, 1 - goal.value)
    return replace(goal, share=even)


def slope_of(goal: Goal, published: Published, value: float, *, in_clear: bool = False) -> Slope:
    """Return the slope that a goal is about, of a size in logits."""
    outcome, *predictors = goal.names
    return Slope(
        published.digest,
        outcome,
        tuple(predictors),
        value,
        0.5 if goal.share is None else goal.share,
        0.5 if goal.group is None else goal.group,
        in_clear,
        published=published,
    )


def share_behind(goal: Goal, attribute: PublishedAttribute, lead: float) -> float:
    """Return the share of the category that is behind: all but the leading one are alike."""
    return goal.share if goal.share is not None else (1 - lead) / len(attribute.categories)
