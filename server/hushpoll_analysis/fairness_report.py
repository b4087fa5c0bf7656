"""What an audit found: estimates with intervals, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hushpoll_analysis.fairness_rates import ENOUGH, Estimated

Code = Literal["not-enough-data", "no-labels", "undefined"]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate.

    Attributes
    ----------
    value, standard_error, lower, upper : float
        Finite; not projected, so a rate may fall outside [0, 1].
    """

    value: float
    standard_error: float
    lower: float
    upper: float

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "lower": self.lower,
            "upper": self.upper,
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
    respondents : int or None
        About how many would give it, if the estimates were the truth; None where nobody can tell.
    """

    code: Code
    reason: str
    respondents: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as JSON."""
        return {"withheld": self.code, "reason": self.reason, "respondents": self.respondents}


Finding: TypeAlias = Interval | Withheld

NO_LABELS = Withheld("no-labels", "the survey has no target with a positive category to compare to")


def finding(found: Estimated, what: str, n: int) -> Finding:
    """Return one estimate, or :class:`Withheld` where a denominator of it is too uncertain.

    Parameters
    ----------
    found : Estimated
        Of one survey.
    what : str
        The denominator, in words.
    n : int
        Rows.
    """
    strength = float(found.strength)
    if strength >= ENOUGH:
        return interval(found)
    # strength grows with the root of n; below 1 it is mostly noise, and so would be the advice
    needed = math.ceil(n * (ENOUGH / strength) ** 2) if strength >= 1 else None
    advice = f"; about {needed:,} respondents would do" if needed else ""
    return Withheld(
        "not-enough-data",
        f"{what} is {strength:.1f} of its standard errors above 0, and a ratio needs at least "
        f"{ENOUGH:g}{advice}",
        needed,
    )


def interval(found: Estimated) -> Interval:
    """Return the estimate of one survey."""
    return Interval(
        float(found.value), float(found.standard_error), float(found.lower), float(found.upper)
    )


@dataclass(frozen=True, slots=True)
class FairnessAudit:
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
    shares : mapping of str to Interval
        ``privileged`` and ``unprivileged``: members of the group who have a label, among all rows.
        A mean and no ratio, so that it is given however little data there is.
    metrics : mapping of str to Finding
        DI, SPD, EOD, OAD.
    rates : mapping of str to Finding
        P1, P0, TPR1, TPR0, FPR1, FPR0, ACC1, ACC0.
    """

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
    shares: Mapping[str, Interval]
    metrics: Mapping[str, Finding]
    rates: Mapping[str, Finding]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as the API and ``--json`` give it."""
        return {
            "kind": "fairness audit",
            "survey": {"name": self.survey, "version": self.version, "digest": self.digest},
            "n": self.n,
            "confidence": self.confidence,
            "setting": self.setting,
            "origin": self.origin,
            "protected": {
                "attribute": self.attribute,
                "protocol": self.protocol,
                "epsilon": self.epsilon,
                "privileged": list(self.privileged),
                "unprivileged": list(self.unprivileged),
            },
            "shares": {name: found.to_dict() for name, found in self.shares.items()},
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "rates": {name: found.to_dict() for name, found in self.rates.items()},
        }
