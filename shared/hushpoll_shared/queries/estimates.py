"""How often each answer was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.querying.possible import SHARES
from hushpoll_shared.querying.query import Query, asked, confidence
from hushpoll_shared.querying.result import Result, Section, told
from hushpoll_shared.querying.rows import ANSWER_IT, FREQUENCY, CategoryEstimate, Poisoning


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeEstimates:
    """The estimated distribution of one attribute."""

    name: str
    role: Literal["sensitive", "plain", "target"]
    protocol: str | None = told("None: sent in clear.")
    epsilon: str | None
    categories: tuple[CategoryEstimate, ...]
    poisoning: Poisoning | None = told("Of the unbiased estimate; None for another estimator.")
    n: int | None = field(default=None, metadata=ANSWER_IT)


@dataclass(frozen=True, kw_only=True)
class EstimatedShares(Result):
    """The estimated distributions of every attribute."""

    title: ClassVar[str] = "estimates"

    n: int = told("Reports behind the estimates.")
    confidence: float
    estimator: str
    intervals: str = told(
        "How many of the intervals are expected to miss, and what looking at results again and "
        "again does to them; or that the estimator has no interval, and why."
    )
    attributes: tuple[AttributeEstimates, ...]

    def sections(self) -> Iterator[Section]:
        """Yield a section for each attribute."""
        terms = ESTIMATOR_TERMS.get(self.estimator)
        bounded = terms is None or terms.no_interval is None
        for attribute in self.attributes:
            how = "in clear"
            if attribute.protocol is not None:
                how = f"{attribute.protocol}, epsilon {attribute.epsilon}"
            if attribute.n is not None:
                how += f"; {attribute.n:,} reports answer it"
            fakes = attribute.poisoning
            yield Section(
                of=CategoryEstimate,
                rows=attribute.categories,
                title=f"{attribute.name} ({how})",
                words={"category": "category"},
                shown=FREQUENCY if bounded else FREQUENCY[:1],
                labels={"attribute": "", "category": "category"},
                fixed={"attribute": attribute.name},
                hidden=() if bounded else ("standard_error", "lower", "upper"),
                below=("" if fakes is None else fakes.sentence(),),
                part=attribute.name,
                possible=SHARES,
            )


@dataclass(frozen=True, kw_only=True)
class Estimates(Query[EstimatedShares]):
    """Estimate the frequencies of every attribute, with standard errors and intervals.

    Unbiased values, unless another estimator is named: one may fall outside [0, 1]. They are about
    the last release. Refused before the first, and below the survey's minimum batch.
    """

    name: ClassVar[str] = "estimates"
    command: ClassVar[str] = "estimate"
    summary: ClassVar[str] = "Show how often each answer was given, with intervals."
    example: ClassVar[str] = "--attribute health"
    looked_at: ClassVar[str] = "the estimates"
    family: ClassVar[str] = "analysis"
    own_command: ClassVar[tuple[Literal["server", "file"], ...]] = ("server", "file")

    estimator: Literal["unbiased", "projected", "likelihood", "shrunk"] = asked(
        "All but unbiased have no interval. likelihood reads the records themselves.", UNBIASED
    )
    confidence: float = confidence()
