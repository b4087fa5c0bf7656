"""The result of a regression: coefficients, tests, effects, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from hushpoll_analysis.regression.effects import Averages, Chance, predicted
from hushpoll_analysis.regression.inference import NOISY, Coefficient, Test
from hushpoll_analysis.regression.sentences import (
    LARGEST_ODDS,
    Slopes,
    comparisons_of,
    named_factors,
    rounded_up,
    slope_name,
)
from hushpoll_analysis.regression.stratified import AdjustedOdds
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY
from hushpoll_shared.spelling.json_values import JsonMembers

MOST_ADJUSTED: Final = 12
"""Answers of a predictor, up to which chances are computed as if all people had given each."""


@dataclass(frozen=True)
class Plain:
    """A coefficient of the regression that takes the records for answers: it is wrong."""

    name: str
    estimate: float
    standard_error: float


@dataclass(frozen=True)
class Mixing:
    """A coefficient of the model of perturbed predictors given those in clear."""

    combination: str
    """The answers that it compares with the first combination."""
    name: str
    """Its column."""
    estimate: float | None
    """None where the likelihood has no finite maximum: nobody seems to have the combination."""
    standard_error: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression(Slopes):
    """A fitted regression."""

    formula: str
    dropped: int
    """Rows that were left out because a value is missing."""
    perturbed: tuple[str, ...]
    """The randomised questions among its columns."""
    log_likelihood: float | None
    """At the maximum. Of records of a protocol other than GRR up to a constant of the records; None
    of a linear outcome."""
    converged: bool
    starts: int
    agreed: int
    """Starts that led to the same maximum; `steps` are of all."""
    steps: int
    standard_errors: str
    """Where they come from."""
    mixing: tuple[Mixing, ...]
    """The model of the perturbed predictors given those in clear."""
    tests: tuple[Test, ...]
    """A test of each term, and one of all slopes."""
    effects: tuple[Chance, ...]
    """Average marginal effects."""
    plain: tuple[Plain, ...]
    """The regression that takes the records for answers, which is biased."""
    notes: tuple[str, ...]
    """What a reader must know beside."""
    residual: float | None = None
    """Standard deviation of a linear outcome about what is predicted, by its moments."""
    adjusted_odds: tuple[AdjustedOdds, ...] = ()
    """Mantel and Haenszel's odds ratios of predictors with two categories."""
    averages: Averages | None = None
    """What :meth:`predicted` computes with."""
    predictors: tuple[str, ...] = ()
    """The attributes right of the tilde."""
    times_epsilon: float | None = None
    """By how many times a larger epsilon of each randomised question would tell all slopes, where
    some are too noisy; None where none is known to."""
    estimator: str = "likelihood"
    """``reduced``: the maximum of the likelihood less its first-order bias; ``likelihood``: the
    maximum, or of a linear outcome what its moments give."""

    @property
    def odds(self) -> bool:
        """Whether the exponential of a slope is an odds ratio."""
        return bool(self.categories)

    @property
    def verdict(self) -> JsonMembers:
        """Whether so many records can tell the slopes, decided before the outcome is looked at."""
        slopes = [one for one in self.coefficients if _is_slope(one) and self.odds]
        noisy = [one for one in slopes if self.is_noisy(one)]
        says = TOO_NOISY if slopes and len(noisy) == len(slopes) else INFORMATIVE
        needed = max((self.n * (_expected(one) / NOISY) ** 2 for one in noisy), default=None)
        worst = max(map(_expected, slopes), default=0.0)
        if not self.odds or not slopes:
            sentence = (
                "The intervals say what these records can tell: of this outcome no standard error "
                "is expected beforehand."
            )
            says = INFORMATIVE
        elif not noisy:
            sentence = (
                f"The records can tell: the largest expected standard error of a slope is "
                f"{worst:.2g}, and {NOISY:g} is the most that tells something."
            )
            wide = [one for one in slopes if (one.standard_error or 0) > NOISY]
            if wide:
                sentence += (
                    " That is of answers that are all alike: some are rarer, and the standard "
                    f"error is above {NOISY:g} for {self._named(wide)}."
                )
        else:
            named = self._named([one for one in noisy if _expected(one) > NOISY])
            sentence = (
                f"Too noisy to tell: the expected standard error is above {NOISY:g} for {named}."
            )
            if any(_expected(one) <= NOISY for one in noisy):
                sentence += " No other slope is told beside one that is so noisy."
            if needed is not None and math.isfinite(needed):
                sentence += f" About {rounded_up(needed):,} rows would tell all slopes"
                if self.times_epsilon is not None:
                    times = f"{self.times_epsilon:g} times"
                    sentence += f", or about {times} the epsilon of each randomised question"
                sentence += "."
        finite = needed is not None and math.isfinite(needed)
        return {
            "says": says,
            "sentence": sentence,
            "respondents": rounded_up(needed) if needed is not None and finite else None,
            "times_epsilon": self.times_epsilon if noisy else None,
            "too_noisy": [one.name for one in noisy],
        }

    def predicted(self, values: Mapping[str, str]) -> list[Chance]:
        """Return average chances if all rows had stated values of some predictors.

        Those that follow from a slope that is too noisy to tell say so; where no slope is told,
        they have no intervals.
        """
        if self.averages is None:
            return []
        noisy, names = self._noisy_chances, (f"{name}={text}" for name, text in values.items())
        marked = not noisy.isdisjoint((*names, *(f"{name}: one more" for name in values)))
        found = predicted(self.averages, values, confidence=self.confidence)
        return [replace(one, too_noisy=one.too_noisy or marked) for one in found]

    def adjusted(self) -> list[dict[str, str | float | None]]:
        """Return average chances for each answer of predictors with up to `MOST_ADJUSTED`."""
        return [
            {"predictor": name, "value": level, **chance.to_dict()}
            for name, levels in named_factors(self.columns).items()
            if len(levels) <= MOST_ADJUSTED
            for level in levels
            for chance in self.predicted({name: level})
        ]

    def to_dict(self) -> JsonMembers:
        """Return the result as ``--json`` gives it."""
        plain = {one.name: one for one in self.plain}
        columns = {one.name: column for one, column in self.each()}
        return {
            "verdict": self.verdict,
            "formula": self.formula,
            "family": self.family,
            "outcome": {
                "name": self.outcome,
                "categories": list(self.categories),
                "reference": self.categories[0] if self.categories else None,
            },
            "n": self.n,
            "dropped": self.dropped,
            "predictors": list(self.predictors),
            "perturbed": list(self.perturbed),
            "log_likelihood": self.log_likelihood,
            "residual": self.residual,
            "convergence": {
                "converged": self.converged,
                "steps": self.steps,
                "starts": self.starts,
                "agreed": self.agreed,
            },
            "estimator": self.estimator,
            "standard_errors": self.standard_errors,
            "confidence": self.confidence,
            "coefficients": [
                {
                    **asdict(one),
                    "odds_ratio": _odds(one) if self.odds else None,
                    "plain": None if one.name not in plain else asdict(plain[one.name]),
                    "compares": [
                        asdict(part)
                        for part in (
                            comparisons_of(columns[one.name]) if one.name in columns else ()
                        )
                    ],
                }
                for one in self.coefficients
            ],
            "sentences": self.sentences(),
            "predictors_model": [asdict(one) for one in self.mixing],
            "tests": [asdict(one) for one in self.tests],
            "adjusted_odds_ratios": [asdict(one) for one in self.adjusted_odds],
            "marginal_effects": [
                {**one.to_dict(), "too_noisy": one.too_noisy or one.values in self._noisy_chances}
                for one in self.effects
            ],
            "adjusted": [dict(one) for one in self.adjusted()] if self.effects else [],
            "plain_is_wrong": self.plain_sentence,
            "notes": list(self.notes),
        }

    def _named(self, slopes: Sequence[Coefficient]) -> str:
        """Return slopes as a verdict names them."""
        columns = {one.name: column for one, column in self.each()}
        names = [
            slope_name(one, columns[one.name]) if one.name in columns else one.name
            for one in slopes
        ]
        more = len(names) - _MOST_NAMED
        if more < 2:
            return ", ".join(names)
        return f"{', '.join(names[:_MOST_NAMED])} and {more} more"

    @property
    def _noisy_chances(self) -> frozenset[str]:
        """What chances are called that come from slopes that are too noisy to tell."""
        return frozenset(
            name
            for one, column in self.each()
            if self.is_noisy(one) and len(parts := comparisons_of(column)) == 1
            for name in parts[0].chances
        )

    @property
    def plain_sentence(self) -> str | None:
        """What is wrong with the plain regression, where there is one."""
        if not self.plain:
            return None
        return (
            "The column plain is what an ordinary regression gives that takes the records for the "
            "answers. It is wrong: its slopes are biased, and its standard errors do not say so."
        )

    def summary(self) -> str:
        """Return the result as text, at most 80 columns wide."""
        from hushpoll_shared.cli.regression_text import regression_text

        return regression_text(self.to_dict())


_MOST_NAMED: Final = 12
"""Slopes that a verdict names; it counts the others."""


def _is_slope(one: Coefficient) -> bool:
    return (
        one.simultaneous_lower is not None
        or one.expected_standard_error is not None
        or (one.term not in ("Intercept", "threshold"))
    )


def _expected(one: Coefficient) -> float:
    return math.inf if one.expected_standard_error is None else one.expected_standard_error


def _odds(one: Coefficient) -> dict[str, float | None] | None:
    if not _is_slope(one):
        return None
    return {
        "estimate": _exponential(one.estimate),
        "lower": _exponential(one.lower),
        "upper": _exponential(one.upper),
    }


def _exponential(value: float | None) -> float | None:
    return None if value is None or value > LARGEST_ODDS else math.exp(value)
