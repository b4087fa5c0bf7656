"""The result of an audit: estimates with confidence sets, and what may be concluded from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from hushpoll_analysis.auditing.poisoning import Poisoned
from hushpoll_analysis.auditing.power import SELDOM, Outlook
from hushpoll_analysis.auditing.sets import conclusive, disparate
from hushpoll_analysis.estimates.interval import Interval, Sets
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject

Code = Literal["not-enough-data", "no-labels", "undefined"]
Conclusion = Literal["disparity", "no disparity found", "cannot conclude"]


@dataclass(frozen=True, slots=True)
class MetricConclusion(Interval):
    """A metric, with what follows from its set."""

    conclusion: Conclusion
    """``disparity`` if the set leaves out the fair value; ``cannot conclude`` if it is unbounded,
    or all that the metric can be; ``no disparity found`` otherwise."""
    outlook: Outlook | None = None
    """What a survey of this size could say; None where the shares leave no room for a disparity."""
    poisoning: Poisoned | None = None
    """What the value may be without fake reports; None if the value is nan."""
    p_value: float | None = None
    """Smallest level at which the set leaves out the fair value, at least 0.001; None if it was not
    asked for."""

    def to_dict(self) -> JsonMembers:
        """Return the metric as JSON."""
        outlook = self.outlook
        return {
            **Interval.to_dict(self),
            "conclusion": self.conclusion,
            "smallest_detectable": None if outlook is None else outlook.smallest_detectable,
            "chance_to_conclude": None if outlook is None else outlook.concludes,
            "seldom_concludes": None if outlook is None else outlook.concludes < SELDOM,
            "poisoning": None if self.poisoning is None else self.poisoning.to_dict(),
            **({} if self.p_value is None else {"p_value": self.p_value}),
        }


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a number is not given.

    Attributes
    ----------
    code : str
        ``not-enough-data``, ``no-labels`` or ``undefined``.
    reason : str
        In words.
    """

    code: Code
    reason: str

    def to_dict(self) -> JsonMembers:
        """Return the reason as JSON."""
        return {"withheld": self.code, "reason": self.reason}


NO_LABELS = Withheld("no-labels", "the survey has no target with a positive category to compare to")


def conclusion_of(
    estimated: Sets,
    name: str,
    *,
    outlook: Outlook | None = None,
    poisoning: Poisoned | None,
    p_value: float | None = None,
) -> MetricConclusion:
    """Return a metric of one survey with its conclusion."""
    numbers = estimated.interval()
    conclusion: Conclusion = "cannot conclude"
    if conclusive(estimated, name):
        conclusion = "disparity" if disparate(estimated, name) else "no disparity found"
    return MetricConclusion(
        **asdict(numbers),
        conclusion=conclusion,
        outlook=outlook,
        poisoning=None if math.isnan(numbers.value) else poisoning,
        p_value=p_value,
    )


@dataclass(frozen=True, slots=True)
class FairnessAudit(Tabular):
    """Group fairness estimated from records, the protected attribute unseen.

    Attributes
    ----------
    survey, version, digest
        The survey.
    n : int
        Records.
    confidence : float
        Of the intervals.
    setting : str
        On what inputs the model is audited, in words.
    origin : str
        How the model relates to the audited rows.
    attribute, protocol, epsilon
        The protected attribute and how it was perturbed; protocol and epsilon None in clear.
    privileged, unprivileged : tuple of str
        Categories of the groups, 1 and 0.
    expected : mapping
        What the outlooks assume of the population, JSON; ``basis`` says where it comes from.
    shares : mapping of str to Interval
        ``privileged`` and ``unprivileged``: members of the group who have a label, among all rows.
    metrics : mapping of str to Compared or Withheld
        Every metric of :data:`hushpoll_shared.group_metrics.METRICS`.
    rates : mapping of str to Interval or Withheld
        Every rate in either group: ``P1``, ``P0``, ``TPR1`` ...
    """

    statistic_name: ClassVar[str] = "fairness"

    survey: str
    version: int
    digest: str
    n: int
    confidence: float
    setting: str
    origin: str
    attribute: str
    protocol: str | None
    epsilon: str | None
    privileged: tuple[str, ...]
    unprivileged: tuple[str, ...]
    expected: JsonObject
    shares: Mapping[str, Interval]
    metrics: Mapping[str, MetricConclusion | Withheld]
    rates: Mapping[str, Interval | Withheld]

    @property
    def intervals(self) -> int:
        """How many sets it shows: of metrics, rates and shares, without those withheld."""
        shown = (*self.metrics.values(), *self.rates.values(), *self.shares.values())
        return sum(isinstance(number, Interval) for number in shown)

    def to_dict(self) -> JsonMembers:
        """Return the audit as the API and ``--json`` give it."""
        return {
            "kind": "fairness audit",
            "survey": {"name": self.survey, "version": self.version, "digest": self.digest},
            "n": self.n,
            "confidence": self.confidence,
            "intervals": how_to_read(self.intervals, self.confidence),
            "setting": self.setting,
            "origin": self.origin,
            "protected": {
                "attribute": self.attribute,
                "protocol": self.protocol,
                "epsilon": self.epsilon,
                "privileged": list(self.privileged),
                "unprivileged": list(self.unprivileged),
            },
            "expected": dict(self.expected),
            "shares": {name: share.to_dict() for name, share in self.shares.items()},
            "metrics": {name: metric.to_dict() for name, metric in self.metrics.items()},
            "rates": {name: rate.to_dict() for name, rate in self.rates.items()},
        }
