"""A fairness report: group rates, comparisons with a reference group, and the widest spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy.typing as npt

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_analysis.metrics import GroupCounts
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS, RATES
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_training.evaluation.documents import (
    ComparisonDocument,
    GroupDocument,
    NumberDocument,
    ReportDocument,
)
from hushpoll_training.evaluation.fairness.estimates import (
    CountEstimates,
    GroupEstimate,
    Spread,
    spreads,
)
from hushpoll_training.evaluation.fairness.partition import Partition

SMALLEST: Final = 30
RESAMPLES: Final = 2_000


def numbers(
    given: Mapping[str, GroupEstimate | Spread | Withheld],
) -> dict[str, NumberDocument]:
    """Return numbers by name as JSON; one that is withheld has its reason in place of a value."""
    return {
        name: NumberDocument(withheld=one.code, reason=one.reason)
        if isinstance(one, Withheld)
        else one.to_dict()
        for name, one in given.items()
    }


@dataclass(frozen=True, slots=True)
class Group:
    """One group's size and rates."""

    name: str
    n: int
    positives: int
    rates: Mapping[str, GroupEstimate | Withheld]

    def to_dict(self) -> GroupDocument:
        """Return the group as JSON."""
        rates = numbers(self.rates)
        return {"group": self.name, "n": self.n, "positives": self.positives, "rates": rates}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every group metric of a group (as group 0) against the reference (as group 1)."""

    group: str
    metrics: Mapping[str, GroupEstimate | Withheld]

    def to_dict(self) -> ComparisonDocument:
        """Return the comparison as JSON."""
        metrics = numbers(self.metrics)
        return {"group": self.group, "metrics": metrics}


@dataclass(frozen=True, slots=True)
class FairnessReport:
    """Group fairness of predictions on rows in clear."""

    attributes: tuple[str, ...]
    """What tells the groups apart."""
    reference: str
    """The group that the others are compared with."""
    reference_is: str
    """Why that one."""
    n: int
    """Rows in some group."""
    outside: int
    """Rows in none."""
    confidence: float
    resamples: int
    seed: int
    smallest: int
    groups: tuple[Group, ...]
    """In the order of the partition."""
    comparisons: tuple[Comparison, ...]
    spreads: Mapping[str, Spread | Withheld]
    """Over all groups that are large enough; see
    :mod:`hushpoll_training.evaluation.fairness.estimates`."""
    too_small: tuple[str, ...]
    """Groups of which some rate is withheld."""

    @property
    def intervals(self) -> int:
        """How many closed-form intervals it shows, without those withheld; at least 1."""
        shown = [number for group in self.groups for number in group.rates.values()]
        shown += [number for compared in self.comparisons for number in compared.metrics.values()]
        spread = self.spreads.values() if len(self.groups) > 2 else ()
        return max(1, sum(not isinstance(number, Withheld) for number in (*shown, *spread)))

    def to_dict(self) -> ReportDocument:
        """Return the report as JSON."""
        return {
            "kind": "fairness report",
            "attributes": list(self.attributes),
            "reference": self.reference,
            "reference_is": self.reference_is,
            "n": self.n,
            "outside": self.outside,
            "confidence": self.confidence,
            "intervals": how_to_read(self.intervals, self.confidence),
            "bootstrap": {"resamples": self.resamples, "seed": self.seed, "kind": "BCa by group"},
            "smallest_group": self.smallest,
            "too_small": list(self.too_small),
            "groups": [group.to_dict() for group in self.groups],
            "comparisons": [compared.to_dict() for compared in self.comparisons],
            "spreads": numbers(self.spreads),
        }


def fairness_report(
    label: npt.ArrayLike,
    predicted: npt.ArrayLike,
    partition: Partition,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    smallest: int = SMALLEST,
) -> FairnessReport:
    """Report group fairness on rows in clear, with two intervals of each number.

    Labels and predictions are [n] of {0, 1}, 1 positive. The confidence, in (0, 1), is the level of
    each interval by itself. The bootstrap draws no resamples or at least 100. A rate of fewer than
    `smallest` rows, at least 1, is withheld, and said so.
    """
    if resamples and resamples < 100:
        raise InvalidParameter(
            f"resamples is {resamples}; give at least 100, or 0 for no bootstrap", field="resamples"
        )
    if smallest < 1:
        raise InvalidParameter(f"smallest is {smallest}; give at least 1", field="smallest")
    counts = GroupCounts.of(label, predicted, partition.group, len(partition.names))
    if not counts.n.any():
        raise InvalidParameter(
            "no row is in any of the groups, so there is nothing to report; give other groups",
            field="groups",
        )
    measured = CountEstimates(counts, partition, confidence, resamples, seed, smallest)
    groups = tuple(
        Group(
            name,
            int(counts.n[place]),
            int(counts.rows(RATES["TPR"])[place]),
            {name: measured.rate(rate, place) for name, rate in RATES.items()},
        )
        for place, name in enumerate(partition.names)
    )
    return FairnessReport(
        attributes=partition.attributes,
        reference=partition.names[partition.reference],
        reference_is=partition.reference_is,
        n=int(counts.n.sum()),
        outside=int((partition.group < 0).sum()),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        smallest=smallest,
        groups=groups,
        comparisons=tuple(
            Comparison(
                group, {name: measured.metric(metric, place) for name, metric in METRICS.items()}
            )
            for place, group in enumerate(partition.names)
            if place != partition.reference
        ),
        spreads=spreads(counts, partition.names, confidence=confidence, smallest=smallest),
        too_small=tuple(
            group.name
            for group in groups
            if any(isinstance(estimate, Withheld) for estimate in group.rates.values())
        ),
    )
