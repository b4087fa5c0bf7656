"""The table of group metrics: which rates of two groups a metric compares, how, and what is fair.

Group 1 is the privileged group and group 0 the unprivileged one. Clear rows, records and texts all
read this table, so that a metric or a rate is added here alone. The first four metrics are those of
Arcolezi, Makhlouf and Palamidessi (DBSec 2023, section 3.1). Equalised odds is of Hardt, Price and
Srebro (NIPS 2016), predictive parity of Chouldechova (Big Data 5, 2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Cells = tuple[int, int, int, int]
"""Weights of a group's true negatives, false positives, false negatives and true positives."""

Combination = Literal["ratio", "difference", "largest difference"]
"""R0/R1; R1 - R0; the largest |R1 - R0| of several rates."""

Alternative = Literal["more positives", "more errors", "less precision"]
"""How the privileged group differs where a rate has a gap; see :meth:`Rate.step`."""

ProtectedInput = Literal["dropped", "each-value"]
"""What an audited model gets of the protected attribute: nothing, or each of its values in turn."""

PROTECTED_INPUTS: Final[tuple[ProtectedInput, ...]] = get_args(ProtectedInput)
"""All of them; the first is the default."""

FOLDS: Final = 5
"""Parts to which an audit's models are cross-fitted, unless another number is asked for."""

CONFIDENCE: Final = 0.95
"""The level of an audit's intervals, unless another one is asked for."""

LARGEST_CONFIDENCE: Final = 0.999
"""An audit takes no more: corrections for skewness and kurtosis fail far in the tails."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of a group's rows."""

    name: str
    """Such as ``TPR``."""
    title: str
    plural: str
    """The title where several groups are named."""
    hits: Cells
    """Which of the four counts are hits; 0 or 1."""
    rows: Cells
    """Which are the rows that it is a share of; 0 or 1."""
    row: str
    """In words, a ``row with a positive label``."""
    hit: str
    """In words, ``is predicted positive``."""
    alternative: Alternative = "more positives"
    """How the privileged group differs where power is computed for a gap of this rate."""
    in_results: bool = False
    """Whether results.csv and the records of runs have its columns."""

    @property
    def uses_labels(self) -> bool:
        """Whether rows of either label count differently."""
        return any(part[:2] != part[2:] for part in (self.hits, self.rows))

    @property
    def rows_of(self) -> str:
        """The rows that it is a share of, in words, such as ``rows with a positive label``."""
        return self.row.replace("row", "rows", 1)

    @property
    def none(self) -> str:
        """Why a group without such rows has no rate; the place follows in the message."""
        return f"there is no {self.row}"

    def step(self, base: float, positive: float) -> tuple[float, float]:
        """Return the change of FPR and TPR in the privileged group per unit of gap.

        Both groups have the same share of positive labels, `base` in (0, 1). Predictions are
        positive more often whatever the label; or errors are more frequent whatever the label; or
        as many predictions are positive, of the unprivileged a share in [0, 1), but fewer of them
        rightly.
        """
        if self.alternative == "less precision":
            return positive / (1 - base), -positive / base
        return (1.0, -1.0) if self.alternative == "more errors" else (1.0, 1.0)

    def of(self, cells: tuple[float, float, float, float]) -> float | None:
        """Return the rate of a group with these counts or shares; None where it has no such row."""
        rows = sum(weight * count for weight, count in zip(self.rows, cells, strict=True))
        hits = sum(weight * count for weight, count in zip(self.hits, cells, strict=True))
        return hits / rows if rows else None


@dataclass(frozen=True, slots=True)
class GroupMetric:
    """A comparison of two groups."""

    name: str
    title: str
    rates: tuple[Rate, ...]
    """What it compares; more than one only for the largest difference."""
    combination: Combination
    """How the two groups' rates are combined."""
    spread: str
    """What the literature calls it between the two groups, of many, that differ most."""
    in_results: bool = False
    """Whether results.csv and the records of runs have a column of it."""

    @property
    def is_ratio(self) -> bool:
        """Whether it divides R0 by R1."""
        return self.combination == "ratio"

    @property
    def is_largest(self) -> bool:
        """Whether it is the largest of several differences, without a sign."""
        return self.combination == "largest difference"

    @property
    def uses_labels(self) -> bool:
        """Whether it needs the target's answers."""
        return any(rate.uses_labels for rate in self.rates)

    @property
    def fair(self) -> float:
        """Its value where the groups are treated alike."""
        return 1.0 if self.is_ratio else 0.0

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that it can have."""
        if self.is_ratio:
            return 0.0, float("inf")
        return (0.0 if self.is_largest else -1.0), 1.0

    @property
    def formula(self) -> str:
        """How it follows from the rates, such as ``TPR1-TPR0``."""
        names = [rate.name for rate in self.rates]
        if self.is_ratio:
            return f"{names[0]}0/{names[0]}1"
        differences = [f"{name}1-{name}0" for name in names]
        if self.is_largest:
            return f"max({', '.join(f'|{part}|' for part in differences)})"
        return differences[0]

    @property
    def label(self) -> str:
        """Name, formula and fair value."""
        return f"{self.name} = {self.formula}, fair at {self.fair:g}"

    @property
    def long_label(self) -> str:
        """Name, formula, title and fair value."""
        return f"{self.name} = {self.formula}, {self.title}, fair at {self.fair:g}"

    @property
    def meaning(self) -> str:
        """What it compares, in words."""
        return f"{self.combination} of the {' and of the '.join(r.plural for r in self.rates)}"

    @property
    def spread_meaning(self) -> str:
        """What it is over many groups, in words."""
        title = self.spread.replace("_", " ")
        names = [rate.name for rate in self.rates]
        if self.is_ratio:
            return f"{title}, smallest {names[0]} / largest {names[0]}"
        if self.is_largest:
            return f"{title}, the larger of the differences of {' and '.join(names)}"
        return f"{title}, largest {names[0]} - smallest {names[0]}"


_P = Rate(
    name="P",
    title="predicted positive",
    plural="shares predicted positive",
    hits=(0, 1, 0, 1),
    rows=(1, 1, 1, 1),
    row="row",
    hit="is predicted positive",
    in_results=True,
)
_TPR = Rate(
    name="TPR",
    title="true positive rate",
    plural="true positive rates",
    hits=(0, 0, 0, 1),
    rows=(0, 0, 1, 1),
    row="row with a positive label",
    hit="is predicted positive",
    in_results=True,
)
_FPR = Rate(
    name="FPR",
    title="false positive rate",
    plural="false positive rates",
    hits=(0, 1, 0, 0),
    rows=(1, 1, 0, 0),
    row="row with a negative label",
    hit="is predicted positive",
    in_results=True,
)
_ACC = Rate(
    name="ACC",
    title="accuracy",
    plural="accuracies",
    hits=(1, 0, 0, 1),
    rows=(1, 1, 1, 1),
    row="row",
    hit="is predicted rightly",
    alternative="more errors",
    in_results=True,
)
_PPV = Rate(
    name="PPV",
    title="precision",
    plural="precisions",
    hits=(0, 0, 0, 1),
    rows=(0, 1, 0, 1),
    row="row predicted positive",
    hit="has a positive label",
    alternative="less precision",
)

_DIFFERENCE: Final = "difference"

RATES: Final[Mapping[str, Rate]] = {rate.name: rate for rate in (_P, _TPR, _FPR, _ACC, _PPV)}
"""Every rate of a group, by name."""

METRICS: Final[Mapping[str, GroupMetric]] = {
    metric.name: metric
    for metric in (
        GroupMetric("DI", "disparate impact", (_P,), "ratio", "demographic_parity_ratio", True),
        GroupMetric(
            "SPD",
            "statistical parity difference",
            (_P,),
            _DIFFERENCE,
            "demographic_parity_difference",
            True,
        ),
        GroupMetric(
            "EOD",
            "equal opportunity difference",
            (_TPR,),
            _DIFFERENCE,
            "equal_opportunity_difference",
            True,
        ),
        GroupMetric(
            "OAD", "overall accuracy difference", (_ACC,), _DIFFERENCE, "accuracy_difference", True
        ),
        GroupMetric(
            "FPRD",
            "false positive rate difference",
            (_FPR,),
            _DIFFERENCE,
            "false_positive_rate_difference",
        ),
        GroupMetric(
            "PPD",
            "predictive parity difference",
            (_PPV,),
            _DIFFERENCE,
            "predictive_parity_difference",
        ),
        GroupMetric(
            "EODDS",
            "equalised odds difference",
            (_TPR, _FPR),
            "largest difference",
            "equalized_odds_difference",
        ),
    )
}
"""Every group metric, by name, in the order in which they are shown."""

DIFFERENCES: Final = tuple(name for name, metric in METRICS.items() if not metric.is_ratio)
"""Metrics whose gap is one of rates."""

UTILITY_LABELS: Final[Mapping[str, str]] = {
    "accuracy": "accuracy",
    "f1": "F1",
    "roc_auc": "ROC AUC",
    "balanced_acc": "balanced accuracy",
    "recall": "recall",
}
"""What reports call the metrics of utility, which compare no groups."""
