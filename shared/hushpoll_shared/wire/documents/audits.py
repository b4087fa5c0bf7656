"""An audit of fairness as JSON: what records alone say of groups, for all that show it."""

from typing import NotRequired, TypedDict


class PoisoningDocument(TypedDict):
    """What a metric may be without fake reports; None where there is no bound.

    Audits of an earlier release have no ``turning_share``.
    """

    fake_share: float
    lowest: float | None
    highest: float | None
    turning_share: NotRequired[float | None]


class AssumedPopulation(TypedDict):
    """The population that an audit's outlooks are for, and where its shares come from."""

    basis: str
    unprivileged: float
    positive: float
    base: float
    power: float


class MetricDocument(TypedDict, total=False):
    """A share, a rate or a metric of two groups: its numbers, or why it is withheld.

    None where a number has no bound; ``bound`` says why.

    Only metrics have a conclusion and what follows it; ``p_value`` is there where several groups
    are searched for discoveries.
    """

    value: float | None
    standard_error: float | None
    lower: float | None
    upper: float | None
    bound: str
    conclusion: str
    smallest_detectable: float | None
    chance_to_conclude: float | None
    seldom_concludes: bool | None
    poisoning: PoisoningDocument | None
    p_value: float
    withheld: str
    reason: str


class PairDocument(TypedDict):
    """What an audit found of two groups; ``expected`` is what its outlooks assume."""

    expected: AssumedPopulation
    shares: dict[str, MetricDocument]
    metrics: dict[str, MetricDocument]
    rates: dict[str, MetricDocument]


class GroupDocument(PairDocument):
    """What an audit found of one of several groups, beside the reference."""

    group: str


class DiscoveryDocument(TypedDict):
    """A disparity of one of several groups, with its adjusted p-value."""

    group: str
    metric: str
    adjusted_p_value: float


class ProtectedDocument(TypedDict):
    """The protected attribute and its groups; several groups have a ``reference``."""

    attribute: str
    protocol: str | None
    epsilon: str | None
    privileged: NotRequired[list[str]]
    unprivileged: NotRequired[list[str]]
    reference: NotRequired[list[str]]


class AuditedSurvey(TypedDict):
    """The survey version whose records were audited."""

    name: str
    version: int
    digest: str


class AuditDocument(TypedDict):
    """An audit of two groups, or of several, which it has as ``groups`` beside the reference."""

    kind: str
    survey: AuditedSurvey
    n: int
    confidence: float
    intervals: str
    setting: str
    origin: str
    protected: ProtectedDocument
    expected: NotRequired[AssumedPopulation]
    shares: NotRequired[dict[str, MetricDocument]]
    metrics: NotRequired[dict[str, MetricDocument]]
    rates: NotRequired[dict[str, MetricDocument]]
    groups: NotRequired[list[GroupDocument]]
    together: NotRequired[str]
    largest: NotRequired[dict[str, MetricDocument]]
    rate: NotRequired[float]
    discoveries: NotRequired[list[DiscoveryDocument]]
