"""The shares of one attribute's answers within each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES
from hushpoll_shared.qualifying.verdict import DIFFERENCE, Reach, half_width, share_tells
from hushpoll_shared.queries.parts import (
    ESTIMATE,
    HOW_TO_READ,
    BoundedEstimate,
)
from hushpoll_shared.querying.query import Query, confidence, parameter, simultaneous
from hushpoll_shared.querying.result import GROUPS, Result, Section, Tells, member


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupEstimate(BoundedEstimate):
    """An estimate for one category in one group."""

    group: str = member("Category of `given`.")
    category: str = member("Category of `of`.")


@dataclass(frozen=True, kw_only=True)
class SharesInGroups(Result):
    """The estimated distribution of one attribute within each category of another."""

    title: ClassVar[str] = "conditional shares"
    told_as: ClassVar[str] = GROUPS

    of: str
    given: str
    n: int
    confidence: float
    simultaneous: bool
    intervals: str = member(HOW_TO_READ)
    shares: tuple[GroupEstimate, ...] = member("Group by group.")
    reference: str | None
    differences: tuple[GroupEstimate, ...] | None = member(
        "Share in the group minus share in the reference; null without a reference."
    )

    def sections(self) -> Iterator[Section]:
        """Yield the shares, and the differences where there are some."""
        kinds = [("share", f"{self.of}, given {self.given}", self.shares)]
        if self.differences is not None:
            title = f"{self.of}: share in each group minus share in {self.reference}"
            kinds.append(("difference", title, self.differences))
        for kind, title, rows in kinds:
            yield Section(
                of=GroupEstimate,
                rows=rows,
                title=title,
                words={"group": "group", "category": "category"},
                shown=ESTIMATE,
                labels={"statistic": "", "group": "group", "category": "category"},
                fixed={"statistic": kind},
                part=f"{kind}s",
                possible=SHARES if kind == "share" else DIFFERENCES,
                tells=Tells(
                    statistic=f"{kind} within a group" if kind == "share" else f"{kind} of shares",
                    question=self.of,
                    group=self.given,
                    reference=None if kind == "share" else self.reference,
                ),
            )

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals of the shares, and of the differences, reach."""
        yield Reach(
            part="shares",
            what=f"a share of {self.of} within a group of {self.given}",
            half_width=half_width(self.shares),
            most=share_tells(len({one.category for one in self.shares})),
        )
        if self.differences is not None:
            yield Reach(
                part="differences",
                what=f"a difference of a share of {self.of} between two groups of {self.given}",
                half_width=half_width(self.differences),
                most=DIFFERENCE,
            )

    def methods(self) -> Mapping[str, object]:
        """Return what was asked."""
        return {"of": self.of, "given": self.given, "reference": self.reference}


@dataclass(frozen=True, kw_only=True)
class ConditionalShares(Query[SharesInGroups]):
    """Estimate the shares of one attribute's categories within each category of another.

    Each has its confidence set (Fieller's). Of a group that may be empty, as far as the records
    tell, the set has no bound: these reports cannot conclude.
    """

    name: ClassVar[str] = "conditional-shares"
    single_answers: ClassVar[str] = "shares within groups"
    command: ClassVar[str] = "relate shares"
    summary: ClassVar[str] = "Show the shares of one attribute's answers within each group."
    example: ClassVar[str] = "--of health --given gender"
    looked_at: ClassVar[str] = "the shares in groups"
    family: ClassVar[str] = "relations"
    serves: ClassVar[str] = "shares in groups"

    of: str = parameter("Attribute whose shares are estimated.", attribute=True)
    given: str = parameter("Attribute whose categories are the groups.", attribute=True)
    reference: str | None = parameter(
        "A category of `given`; every other group is compared with it.", None, category_of="given"
    )
    confidence: float = confidence()
    simultaneous: bool = simultaneous()
