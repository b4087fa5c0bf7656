"""The shares of each answer among those who answered, or were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hushpoll_shared.qualifying.possible import SHARES, cut_row
from hushpoll_shared.queries.parts import (
    ANSWER_IT,
    ESTIMATE,
    HOW_TO_READ,
    UNKNOWN,
    SummaryEstimate,
    with_reports,
)
from hushpoll_shared.querying.query import Query, confidence, parameter
from hushpoll_shared.querying.result import Result, Section, Tells, member, says_nothing
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredCategory(SummaryEstimate):
    """The share of a category among those who answered, or were asked."""

    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredAttribute:
    """The distribution of an attribute among those who answered, or were asked."""

    name: str
    missing: str = member(
        "Category of skipped answers; not asked where the shares are of those who were asked."
    )
    answered: SummaryEstimate = member("Share of all people who answered, or were asked.")
    categories: tuple[AnsweredCategory, ...]
    n: int | None = field(default=None, metadata=ANSWER_IT)

    @property
    def who(self) -> str:
        """What the people did whom the shares are about."""
        return "were asked" if self.missing == NOT_ASKED else "answered"


@dataclass(frozen=True, kw_only=True)
class SharesOfAnswered(Result):
    """Shares among those who answered."""

    title: ClassVar[str] = "shares of those who answered"

    n: int
    confidence: float
    intervals: str = member(HOW_TO_READ)
    assumption: str = member("Whom the shares are about, in words.")
    attributes: tuple[AnsweredAttribute, ...]

    def sections(self) -> Iterator[Section]:
        """Yield for each attribute the share who answered, and the shares among them."""
        labels = {"attribute": "", "statistic": "", "category": "category"}
        level = f"{100 * self.confidence:g} % interval"
        for attribute in self.attributes:
            whole, _ = cut_row(attribute.answered, SHARES)
            tells = Tells(n=attribute.n)
            was = attribute.who.replace("were ", "was ")
            words = UNKNOWN
            if whole.value is not None:
                words = (
                    f"{100 * whole.value:.1f} % (std. error {100 * whole.standard_error:.1f} %, "
                    f"{level} {100 * whole.lower:.1f} to {100 * whole.upper:.1f} %"
                    f"{f', {UNKNOWN}' if says_nothing([whole]) else ''})"
                )
            yield Section(
                of=SummaryEstimate,
                rows=(attribute.answered,),
                title=f"who {was} {attribute.name}",
                labels=labels,
                part=attribute.name,
                fixed={"attribute": attribute.name, "statistic": f"share who {attribute.who}"},
                possible=SHARES,
                tells=tells,
            )
            yield Section(
                of=AnsweredCategory,
                rows=attribute.categories,
                title=with_reports(f"{attribute.name}, of those who {attribute.who}", attribute.n),
                words={"category": "category"},
                shown=ESTIMATE,
                labels=labels,
                fixed={
                    "attribute": attribute.name,
                    "statistic": "share" if attribute.who == "answered" else "share of those asked",
                },
                below=(f"Share who {attribute.who}: {words}.\n",),
                part=attribute.name,
                possible=SHARES,
                tells=replace(tells, statistic=f"share of those who {attribute.who}"),
            )

    def notes(self) -> Iterator[str]:
        """Yield how to read the intervals, and whom the shares are about."""
        yield from super().notes()
        yield self.assumption

    def methods(self) -> Mapping[str, object]:
        """Return whom the shares are about."""
        return {"assumption": self.assumption}


@dataclass(frozen=True, kw_only=True)
class Answered(Query[SharesOfAnswered]):
    """Estimate the shares of each answer among those who answered a question.

    Of a follow-up there are those among the people who were asked it as well, whether they answered
    or not. Each has its confidence set (Fieller's). Where nobody may have answered, as far as the
    records tell, the set has no bound: these reports cannot conclude.
    """

    name: ClassVar[str] = "answered-shares"
    single_answers: ClassVar[str] = "shares of answers"
    command: ClassVar[str] = "answered"
    summary: ClassVar[str] = "Show the shares of each answer among those who answered."
    example: ClassVar[str] = "--attribute health --out answered.csv"
    looked_at: ClassVar[str] = "the shares among those who answered"
    family: ClassVar[str] = "ordered"

    attribute: str | None = parameter(
        "By default all that may be skipped, and all follow-ups.", None, attribute=True
    )
    confidence: float = confidence()
