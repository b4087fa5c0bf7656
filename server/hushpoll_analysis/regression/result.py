"""The result of a regression: coefficients, tests, effects, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from hushpoll_analysis.regression.effects import Averages, Chance, predicted
from hushpoll_analysis.regression.inference import NOISY, Coefficient, Test
from hushpoll_analysis.regression.stratified import AdjustedOdds
from hushpoll_shared.querying.verdict import INFORMATIVE, TOO_NOISY

LARGEST_ODDS: Final = 700.0
"""Largest logarithm whose exponential is a number."""


@dataclass(frozen=True)
class Plain:
    """A coefficient of the regression that takes the records for answers: it is wrong."""

    name: str
    estimate: float
    standard_error: float


@dataclass(frozen=True)
class Mixing:
    """A coefficient of the model of perturbed predictors given those in clear.

    Attributes
    ----------
    combination : str
        The answers that it compares with the first combination.
    name : str
        Its column.
    estimate, standard_error : float or None
        None where the likelihood has no finite maximum: nobody seems to have the combination.
    """

    combination: str
    name: str
    estimate: float | None
    standard_error: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """A fitted regression.

    Attributes
    ----------
    formula, family, outcome : str
        What was fitted: the formula, ``logit``, ``multinomial``, ``ordered`` or ``linear``, and the
        outcome's name.
    categories : tuple of str
        Of the outcome, the reference first; none of a linear outcome.
    n, dropped : int
        Rows that were used, and that were left out because a value is missing.
    perturbed : tuple of str
        The randomised questions among its columns.
    log_likelihood : float or None
        At the maximum. Of records of a protocol other than GRR up to a constant of the records;
        None of a linear outcome.
    converged : bool
        Whether the maximum was reached.
    starts, agreed, steps : int
        Starts, those that led to the same maximum, and steps of all.
    standard_errors : str
        Where they come from.
    confidence : float
        Of each interval.
    coefficients : tuple of Coefficient
        Of the outcome's model.
    mixing : tuple of Mixing
        Of the perturbed predictors given those in clear.
    tests : tuple of Test
        Of each term, and of all slopes.
    effects : tuple of Chance
        Average marginal effects.
    plain : tuple of Plain
        The regression that takes the records for answers, which is biased.
    notes : tuple of str
        What a reader must know beside.
    residual : float or None
        Standard deviation of a linear outcome about what is predicted, by its moments.
    adjusted : tuple of AdjustedOdds
        Mantel and Haenszel's odds ratios of predictors with two categories.
    averages : Averages or None
        What :meth:`predicted` computes with.
    """

    formula: str
    family: str
    outcome: str
    categories: tuple[str, ...]
    n: int
    dropped: int
    perturbed: tuple[str, ...]
    log_likelihood: float | None
    converged: bool
    starts: int
    agreed: int
    steps: int
    standard_errors: str
    confidence: float
    coefficients: tuple[Coefficient, ...]
    mixing: tuple[Mixing, ...]
    tests: tuple[Test, ...]
    effects: tuple[Chance, ...]
    plain: tuple[Plain, ...]
    notes: tuple[str, ...]
    residual: float | None = None
    adjusted: tuple[AdjustedOdds, ...] = ()
    averages: Averages | None = None

    @property
    def odds(self) -> bool:
        """Whether the exponential of a slope is an odds ratio."""
        return bool(self.categories)

    @property
    def verdict(self) -> dict[str, Any]:
        """Whether so many records can tell the slopes, decided before the outcome is looked at."""
        slopes = [one for one in self.coefficients if _is_slope(one)]
        noisy = [one for one in slopes if _expected(one) > NOISY]
        says = TOO_NOISY if slopes and len(noisy) == len(slopes) else INFORMATIVE
        needed = max((self.n * (_expected(one) / NOISY) ** 2 for one in noisy), default=None)
        worst = max(map(_expected, slopes), default=0.0)
        if not self.odds or not slopes:
            sentence = "No expected standard error is computed for this outcome."
            says = INFORMATIVE
        elif not noisy:
            sentence = (
                f"The records can tell: the largest expected standard error of a slope is "
                f"{worst:.2g}, and {NOISY:g} is the most that tells something."
            )
        else:
            named = ", ".join(one.name for one in noisy)
            sentence = (
                f"Too noisy to tell: the expected standard error is above {NOISY:g} for {named}."
            )
            if needed is not None and math.isfinite(needed):
                sentence += f" About {_rounded_up(needed):,} rows would tell all slopes."
        finite = needed is not None and math.isfinite(needed)
        return {
            "says": says,
            "sentence": sentence,
            "respondents": _rounded_up(needed) if needed is not None and finite else None,
            "too_noisy": [one.name for one in noisy],
        }

    def predicted(self, values: Mapping[str, str]) -> list[Chance]:
        """Return average chances if all rows had stated values of some predictors.

        Raises
        ------
        InvalidParameter
            For a predictor or a category that the model does not have.
        """
        if self.averages is None:
            return []
        return predicted(self.averages, values, confidence=self.confidence)

    def sentences(self) -> list[str]:
        """Return what the slopes say, other things equal, in words."""
        if not self.odds:
            return []
        found = []
        for one in self.coefficients:
            if not _is_slope(one) or one.estimate is None:
                continue
            if self.family == "ordered":
                subject = f"a higher category of {self.outcome}"
            else:
                of = one.category or self.categories[1]
                against = "" if len(self.categories) == 2 else f" rather than {self.categories[0]}"
                subject = f"{self.outcome} = {of}{against}"
            column = one.name.partition(": ")[2] if one.category else one.name
            what = f"with {column}" if "[" in column else f"for one more of {column}"
            found.append(
                f"Other things equal, the odds of {subject} are {_times(one.estimate)} times as "
                f"large {what}: {self._interval(one)}."
            )
        return found

    def _interval(self, one: Coefficient) -> str:
        confidence = f"{100 * self.confidence:g} % interval"
        if one.lower is None and one.upper is None:
            return f"the {confidence} has no end, so nothing is known"
        if one.lower is None and one.upper is not None:
            return f"{confidence} up to {_times(one.upper)}, without a lower end"
        if one.upper is None and one.lower is not None:
            return f"{confidence} from {_times(one.lower)}, without an upper end"
        assert one.lower is not None  # noqa: S101
        assert one.upper is not None  # noqa: S101
        return f"{confidence} {_times(one.lower)} to {_times(one.upper)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as ``--json`` gives it."""
        plain = {one.name: one for one in self.plain}
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
            "perturbed": list(self.perturbed),
            "log_likelihood": self.log_likelihood,
            "residual": self.residual,
            "convergence": {
                "converged": self.converged,
                "steps": self.steps,
                "starts": self.starts,
                "agreed": self.agreed,
            },
            "standard_errors": self.standard_errors,
            "confidence": self.confidence,
            "coefficients": [
                {
                    **asdict(one),
                    "odds_ratio": _odds(one) if self.odds else None,
                    "plain": None if one.name not in plain else asdict(plain[one.name]),
                }
                for one in self.coefficients
            ],
            "sentences": self.sentences(),
            "predictors_model": [asdict(one) for one in self.mixing],
            "tests": [asdict(one) for one in self.tests],
            "adjusted_odds_ratios": [asdict(one) for one in self.adjusted],
            "marginal_effects": [one.to_dict() for one in self.effects],
            "plain_is_wrong": self.plain_sentence,
            "notes": list(self.notes),
        }

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


def _is_slope(one: Coefficient) -> bool:
    return (
        one.simultaneous_lower is not None
        or one.expected_standard_error is not None
        or (one.term not in ("Intercept", "threshold"))
    )


def _expected(one: Coefficient) -> float:
    return math.inf if one.expected_standard_error is None else one.expected_standard_error


def _rounded_up(number: float) -> int:
    digits: int = 10 ** max(len(str(math.ceil(number))) - 2, 0)
    return math.ceil(number / digits) * digits


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


def _times(value: float) -> str:
    return f"{math.exp(min(value, LARGEST_ODDS)):.3g}"
