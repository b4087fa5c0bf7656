"""Change of an attribute's shares between two versions, waves or surveys, with intervals.

Each side has its own records, and its shares are those of estimates: sums over the categories that
have one label. The two groups of respondents are taken for independent, so a difference combines
the distances of both shares from their limits (Newcombe, Statistics in Medicine 17, 1998, method
10). Devices randomise anew for each version, so noise is independent in any case. Where the same
people answer both, their answers mostly agree, and the interval is then wider than it needs to be.

Categories are compared by label: their own name, unless a mapping gives another. Both sides must
have the same labels. Nothing is guessed from names that look alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol, TypedDict

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.estimates.set_shares import shares_of_sets
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.metrics import difference_limits
from hushpoll_analysis.records.answering import of_those_who_answer
from hushpoll_analysis.records.counts import Counts
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.verdicts.judging import judged
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.changes import Change as Query
from hushpoll_shared.queries.changes import ChangeOfShares, LabelChange
from hushpoll_shared.queries.parts import EpsilonOfBoth
from hushpoll_shared.queries.parts import Wave as WaveRow
from hushpoll_shared.spelling.intervals import DIFFERENCES_HOLD_TOGETHER, how_to_read
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

ASSUMPTION = (
    "Both groups of respondents are taken for independent. Where the same people answered both, "
    "the intervals are mostly wider than they need to be."
)


class Compares(Protocol):
    """A query that compares an attribute of two versions."""

    @property
    def attribute(self) -> str:
        """Return that of this version."""

    @property
    def since_attribute(self) -> str | None:
        """Return that of the earlier one; None: the one of the same name."""


class SideFacts(TypedDict):
    """What a result says of a side."""

    survey: str
    version: int
    digest: str
    attribute: str
    n: int


@dataclass(frozen=True, slots=True)
class Wave:
    """One side of a comparison."""

    published: Published
    counts: Counts
    """At least those of the attribute."""
    attribute: str
    mapping: Mapping[str, str]
    """From categories to labels; a category that is not named is its own label."""

    def labels(self, field: str = "mapping") -> dict[str, list[int]]:
        """Return the codes of each label, in code order; a refusal names `field`."""
        attribute = self.published.attribute(self.attribute)
        for category in self.mapping:
            if category not in attribute.domain:
                raise InvalidParameter(
                    f"the mapping names {category!r}, no category of {attribute.name} in "
                    f"{self.title}; its categories are {', '.join(attribute.domain[:12])}",
                    field=field,
                )
        places: dict[str, list[int]] = {}
        for code, category in enumerate(attribute.domain):
            places.setdefault(self.mapping.get(category, category), []).append(code)
        return places

    @property
    def title(self) -> str:
        """Name and version of the survey."""
        return f"{self.published.name} version {self.published.version}"

    @property
    def epsilon(self) -> Decimal:
        """What the attribute charges; 0 in clear."""
        oracle = self.published.attribute(self.attribute).oracle
        return Decimal(0) if oracle is None else oracle.epsilon

    @property
    def support(self) -> npt.NDArray[np.int64]:
        """Support counts of the attribute's categories, int64[k]."""
        return self.counts.of(self.published, self.attribute)

    @property
    def n(self) -> int:
        """Records behind it."""
        return self.counts.n

    def facts(self) -> SideFacts:
        """Return what a result says of the side, by name."""
        return {
            "survey": self.published.name,
            "version": self.published.version,
            "digest": self.published.digest,
            "attribute": self.attribute,
            "n": self.n,
        }


def epsilon_of_both(before: Wave, after: Wave) -> EpsilonOfBoth:
    """Return what a person who answered both has spent, on the attribute and on all questions."""
    totals = (Decimal(side.published.epsilon) for side in (before, after))
    return EpsilonOfBoth(
        attribute=format_epsilon(before.epsilon + after.epsilon),
        surveys=format_epsilon(sum(totals, Decimal(0))),
    )


@dataclass(frozen=True, slots=True)
class Change(ArrayResult):
    """How the shares of an attribute have changed.

    Attributes
    ----------
    before, after : Wave
        The two sides.
    confidence : float
        Of each interval, or of all differences together if `simultaneous`.
    simultaneous : bool
        Whether all differences hold at once (Bonferroni).
    shares : mapping of str to (Interval, Interval, Interval)
        By label: the share before, the share after, and after minus before.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    before: Wave
    after: Wave
    confidence: float
    simultaneous: bool
    shares: Mapping[str, tuple[Interval, Interval, Interval]]
    verdict: Verdict | None = None

    def result(self) -> ChangeOfShares:
        """Return the change label by label."""
        return filled(
            ChangeOfShares,
            self,
            before=WaveRow(**self.before.facts()),
            after=WaveRow(**self.after.facts()),
            intervals=DIFFERENCES_HOLD_TOGETHER
            if self.simultaneous
            else how_to_read(3 * len(self.shares), self.confidence),
            assumption=ASSUMPTION,
            epsilon_of_both=epsilon_of_both(self.before, self.after),
            changes=tuple(
                LabelChange(
                    label=label,
                    before=before.estimate(),
                    after=after.estimate(),
                    difference=difference.estimate(),
                )
                for label, (before, after, difference) in self.shares.items()
            ),
        )


def change(
    before: Records | RecordStream,
    after: Records | RecordStream,
    attribute: str,
    *,
    before_attribute: str | None = None,
    mapping: Mapping[str, str] | None = None,
    before_mapping: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Change:
    """Estimate how the shares of an attribute have changed between two sets of records.

    Assumptions: both groups of respondents are drawn independently, each from its population, and
    devices follow the protocol.

    Parameters
    ----------
    before, after : Records or RecordStream
        Of two versions of a survey, or of two surveys; each is read once.
    attribute : str
        Of `after`.
    before_attribute : str, optional
        Of `before`; by default the one of the same name.
    mapping, before_mapping : mapping of str to str, optional
        From categories of `after` and of `before` to labels. A category that is not named is its
        own label; several may have the same.
    confidence : float
        In (0, 1).
    simultaneous : bool
        Whether all differences together hold with this confidence, or each by itself.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, labels that are not the same on both sides, a single label, a bad
        confidence, or no records.
    """
    earlier = before.published
    query = Query(
        attribute=attribute,
        since_version=earlier.version,
        since_survey=earlier.name,
        since_attribute=before_attribute,
        mapping=mapping,
        since_mapping=before_mapping,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    return change_of_shares(query, OfRecords(after), OfRecords(before))


def compared_attribute(query: Compares, source: Source, earlier: Source) -> str:
    """Return the attribute of the earlier version that a query compares."""
    first = query.attribute if query.since_attribute is None else query.since_attribute
    source.published.attribute(query.attribute)
    earlier.published.attribute(first, field="since_attribute")
    return first


@of_those_who_answer
@judged
def change_of_shares(query: Query, source: Source, earlier: Source) -> Change:
    """Estimate from the support counts of both sides; see :func:`change`."""
    first = compared_attribute(query, source, earlier)
    sides = (
        (earlier, first, query.since_mapping or {}),
        (source, query.attribute, query.mapping or {}),
    )
    # labels are compared before any record is read
    matched_labels(
        *(
            Wave(side.published, Counts.none(side.published), name, labels)
            for side, name, labels in sides
        )
    )
    before, after = (
        Wave(side.published, side.questions([name]), name, labels) for side, name, labels in sides
    )
    confidence, simultaneous = query.confidence, query.simultaneous
    labels = matched_labels(before, after)
    for side in (before, after):
        require_rows(side.counts.n)
    normal_quantile(confidence)
    level = 1 - (1 - confidence) / (len(labels) if simultaneous else 1)
    old, new = (
        shares_of_sets(
            _attribute(side),
            side.support,
            side.counts.n,
            [codes[place] for codes in labels.values()],
            confidence=level,
        )
        for place, side in enumerate((before, after))
    )
    shares = {
        label: (mine, theirs, _difference(mine, theirs))
        for label, mine, theirs in zip(labels, old, new, strict=True)
    }
    return Change(before, after, confidence, simultaneous, shares)


def matched_labels(before: Wave, after: Wave) -> dict[str, tuple[list[int], list[int]]]:
    """Return the codes of each label on both sides, in the order of `after`; refuses one label."""
    old, new = before.labels("since_mapping"), after.labels()
    for mine, theirs, side, other in ((old, new, before, after), (new, old, after, before)):
        missing = [label for label in mine if label not in theirs]
        if missing:
            raise InvalidParameter(
                f"{side.attribute} of {side.title} has {', '.join(map(repr, missing[:6]))}, and "
                f"{other.attribute} of {other.title} has nothing of that label, so their shares "
                "cannot be compared; map categories of both to the same labels",
                field="mapping",
            )
    if len(new) < 2:
        raise InvalidParameter(
            f"all categories of {after.attribute} have the label {next(iter(new))!r}, whose share "
            "is 1; map them to two labels or more",
            field="mapping",
        )
    return {label: (old[label], codes) for label, codes in new.items()}


def _attribute(side: Wave) -> PublishedAttribute:
    return side.published.attribute(side.attribute)


def _difference(before: Interval, after: Interval) -> Interval:
    ends = [
        (np.asarray(each.value), (np.asarray(each.lower), np.asarray(each.upper)))
        for each in (after, before)
    ]
    lower, upper = difference_limits(*ends[0], *ends[1])
    error = float(np.hypot(before.standard_error, after.standard_error))
    return Interval(after.value - before.value, error, float(lower), float(upper))
