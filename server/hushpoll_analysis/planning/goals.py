"""What an analyst may want to learn from a survey, and whether a survey of some size would do.

A goal is one of six: an interval of a share no wider than wanted, a difference of a share between
two groups of respondents, a change of it between two versions, a lead of one category over another,
an interval of a lead no wider than wanted, or an audit that finds a disparity. Intervals are met by
their mean width, the others by the chance to find what is wanted, which has to be `POWER`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from hushpoll_analysis.planning.expected_audits import SURVEYS, finds, share_of_surveys
from hushpoll_analysis.planning.expected_estimates import (
    Side,
    difference_power,
    expected_interval_width,
    smallest_difference,
    smallest_found,
)
from hushpoll_analysis.planning.expected_leads import Pair, expected_lead_width, lead_power
from hushpoll_analysis.planning.power import POWER, AuditAssumptions, smallest_gap
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.reading.decimal_texts import parse_number
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published

Kind = Literal["width", "difference", "change", "lead", "lead-width", "audit"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
WIDTHS: Final = ("width", "lead-width")
LEADS: Final = ("lead", "lead-width")
DRAWN: Final = ("audit", *LEADS)
"""Goals whose outcome is counted over drawn surveys."""
PRECISE: Final = 6_000
"""Audits drawn for a power that is shown, whose standard error is then at most .0065."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted of one attribute, or of an audit.

    Attributes
    ----------
    kind : {"width", "difference", "change", "lead", "lead-width", "audit"}
        Mean width of the interval of a category's share; difference of the share between two groups
        of respondents that are told apart in clear; difference between two versions with as many
        respondents each; share of one category minus that of another one of the same attribute;
        mean width of its interval; difference of the rates of a group metric in an audit from the
        records.
    subject : str
        The attribute, or the group metric of an audit.
    value : float or None
        Width, difference, lead or disparity that is wanted, in (0, 1]; None to ask which can be
        had.
    share : float or None
        The category's share, in the larger group or the first version; the share of the category
        that is behind, or of both where the width of their interval is wanted; in (0, 1). None for
        1/k, and for shares that are alike but for the lead.
    group : float
        Share of the respondents in the smaller group, in (0, 0.5]; for a difference alone.
    confidence : float
        Of the interval, in [0.01, 0.999999].

    Raises
    ------
    InvalidParameter
        If one is outside its interval, or they contradict each other.
    """

    kind: Kind
    subject: str
    value: float | None = None
    share: float | None = None
    group: float = 0.5
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter(
                f"want is {self.kind!r}; it must be one of {', '.join(KINDS)}", field="want"
            )
        if self.value is not None and not 0 < self.value <= 1:
            raise InvalidParameter(
                f"{self} wants {self.value}; give a share in (0, 1], such as 0.05, or ? to ask "
                "which can be had",
                field="want",
            )
        if self.share is not None and not 0 < self.share < 1:
            raise InvalidParameter(
                f"share is {self.share}; give the share of a category, in (0, 1)", field="share"
            )
        if not 0 < self.group <= 0.5:
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
        times = {"difference": 1, "change": 1, "lead": 2}.get(self.kind, 0)
        if times and times * (self.share or 0.0) + (self.value or 0.0) > 1:
            raise InvalidParameter(
                f"{self} wants a difference of {self.value} from a share of {self.share}: together "
                "the shares are above 1; give less of either",
                field="want",
            )
        if self.kind == "lead" and self.value == 1:
            raise InvalidParameter(
                f"{self} wants a lead of 1, which leaves nothing to any other category; give less",
                field="want",
            )

    def __str__(self) -> str:
        """Name the goal as ``--want`` does."""
        return f"{self.kind}:{self.subject}"

    @classmethod
    def parse(cls, text: str, **more: Any) -> Goal:
        """Return the goal of a text such as ``width:age=0.02`` or ``audit:SPD=?``.

        Parameters
        ----------
        text : str
            KIND:SUBJECT=VALUE, where ? as VALUE asks which can be had.
        **more
            share, group and confidence.

        Raises
        ------
        InvalidParameter
            If it is no goal.
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
                "difference:age=0.05, change:age=0.05, lead:age=0.05, lead-width:age=0.05 or "
                "audit:SPD=0.1, or ? as VALUE",
                field="want",
            )
        # a kind that does not exist is refused with the names of those that do
        return cls(kind, subject, wanted, **more)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as the API and ``--json`` give it."""
        given = {
            "kind": self.kind,
            "subject": self.subject,
            "value": self.value,
            "confidence": self.confidence,
        }
        if self.kind != "audit":
            given["share"] = self.share
        if self.kind == "difference":
            given["group"] = self.group
        return given


def check_goals(goals: Sequence[Goal], published: Published) -> None:
    """Refuse goals that are none, that a survey cannot have, or that contradict each other.

    Raises
    ------
    InvalidParameter
        Naming the goal.
    """
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
        else:
            _check_share(goal, published.attribute(goal.subject))


def _check_audit(goal: Goal, published: Published) -> None:
    if published.protected is None:
        raise InvalidParameter(
            f"{goal}: survey {published.name} declares no protected attribute, so there is nothing "
            "to audit; declare one",
            field="want",
        )
    target = published.target
    labelled = target is not None and target.positive is not None
    if METRICS[goal.subject].uses_labels and not labelled:
        raise InvalidParameter(
            f"{goal}: {goal.subject} needs labels, and survey {published.name} has no target with "
            "a positive category; declare one, or want SPD",
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


def resolved(goal: Goal, attribute: PublishedAttribute) -> Goal:
    """Return the goal with its share; without one where that follows from a lead asked for."""
    if goal.share is not None or (goal.kind == "lead" and goal.value is None):
        return goal
    if goal.kind in LEADS:
        lead = (goal.value or 0.0) if goal.kind == "lead" else 0.0
        return replace(goal, share=_behind(goal, attribute, lead))
    return replace(goal, share=1 / attribute.k)


def _behind(goal: Goal, attribute: PublishedAttribute, lead: float) -> float:
    """Return the share of the category that is behind: all but the leading one are alike."""
    return goal.share if goal.share is not None else (1 - lead) / len(attribute.categories)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a survey of some size and epsilon has to say of a goal.

    Attributes
    ----------
    met : bool
        Whether it is enough; True where no value is wanted.
    value : float or None
        Mean width, or the chance to find what is wanted; where no value is wanted, the width, or
        the smallest difference or disparity that is found with `POWER`, None if there is none. None
        for a width, too, where some surveys' intervals have no bound.
    """

    met: bool
    value: float | None


def outcome(
    goal: Goal,
    published: Published,
    n: int,
    given: AuditAssumptions,
    *,
    in_clear: bool = False,
    surveys: int = SURVEYS,
) -> Outcome:
    """Return what a survey with n respondents has to say of a goal.

    Parameters
    ----------
    goal : Goal
        Checked.
    published : Published
        The survey, with its epsilon.
    n : int
        Respondents, at least 1; of either version for a change.
    given : AuditAssumptions
        About the population of an audit; its gap plays no part.
    in_clear : bool
        Whether answers are taken as unperturbed, so that sampling alone is left; not for audits.
    surveys : int
        Drawn for an audit or a lead.
    """
    if goal.kind == "audit":
        return _audit(goal, published, n, given, surveys)
    attribute = published.attribute(goal.subject)
    goal = resolved(goal, attribute)
    if goal.kind in LEADS:
        return _lead(goal, attribute, n, in_clear, surveys)
    oracle, share = None if in_clear else attribute.oracle, goal.share
    assert share is not None  # noqa: S101  (resolved)
    if goal.kind == "width":
        width = expected_interval_width(Side(oracle, n, share), goal.confidence)
        return Outcome(goal.value is None or width <= goal.value, width)
    return _difference(goal, oracle, share, sizes(goal, n))


def sizes(goal: Goal, n: int) -> tuple[int, int]:
    """Return the respondents of both sides of a difference or a change."""
    if goal.kind == "change":
        return n, n
    small = max(round(goal.group * n), 1)
    return small, max(n - small, 1)


def _difference(
    goal: Goal, oracle: FrequencyOracle | None, share: float, both: tuple[int, int]
) -> Outcome:
    if goal.value is None:
        return Outcome(True, smallest_difference(oracle, share, both, goal.confidence, POWER))
    power = difference_power(
        Side(oracle, both[0], min(share + goal.value, 1.0)),
        Side(oracle, both[1], share),
        goal.confidence,
    )
    return Outcome(power >= POWER, power)


def _lead(
    goal: Goal, attribute: PublishedAttribute, n: int, in_clear: bool, surveys: int
) -> Outcome:
    def pair(lead: float) -> Pair:
        share = _behind(goal, attribute, lead)
        return Pair(attribute, n, share + lead, share, in_clear)

    level = goal.confidence
    if goal.kind == "lead-width":
        width = expected_lead_width(pair(0.0), level, surveys)
        if math.isinf(width):
            return Outcome(False, None)
        return Outcome(goal.value is None or width <= goal.value, width)
    if goal.value is not None:
        power = lead_power(pair(goal.value), level, surveys)
        return Outcome(power >= POWER, power)
    most = 1.0 if goal.share is None else 1 - 2 * goal.share

    def found(lead: float) -> float:
        return lead_power(pair(lead), level, PRECISE)

    return Outcome(True, smallest_found(found, most, POWER))


def _audit(
    goal: Goal, published: Published, n: int, given: AuditAssumptions, surveys: int
) -> Outcome:
    name, level = goal.subject, goal.confidence
    if goal.value is None:
        return Outcome(True, smallest_gap(published, n, given, name, confidence=level))
    population = given.with_gap(goal.value, name) if goal.value < 1 else None
    if population is None:
        raise InvalidParameter(
            f"{goal} wants a disparity of {goal.value}, for which a share predicted positive of "
            f"{given.positive:g} and the other rates leave no room; want less, or give other rates",
            field="want",
        )
    power = share_of_surveys(
        finds, published, n, population, (name,), confidence=level, surveys=surveys
    )[name]
    return Outcome(power >= POWER, power)


def rounded_up(value: float, digits: int = 3) -> float:
    """Return a positive number rounded up to so many digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit - 1e-9) * unit
