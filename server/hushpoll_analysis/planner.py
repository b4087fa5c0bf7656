"""What a survey will be able to say, before anybody has answered: for every protocol and split.

Per attribute, categories being equally frequent: the width of a category's 95 % interval, and the
smallest difference of a category's share between two halves of the respondents that a two-sided
test at 5 % finds with power 0.8, (z_.975 + z_.8) sqrt(4 V/n), V being n times the variance of an
estimated frequency. For the protected attribute: the power to find a gap in the shares predicted
positive (SPD). Its variance is that of the difference of two ratios by the delta method, from the
debiased indicator D alone; an audit's weights that sum to one do at least about as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final

from hushpoll_analysis.channel import Channel
from hushpoll_protocols import PROTOCOLS, FrequencyOracle, format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation import normal_quantile
from hushpoll_shared.budget import DRAFT_SPLITS, Split
from hushpoll_shared.manifest import Manifest
from hushpoll_shared.published import Published

POWER: Final = 0.8
LEVEL: Final = 0.95
UNSPENT: Final = 0.9
SPLITS: Final = ("own", *DRAFT_SPLITS)


@dataclass(frozen=True, slots=True)
class AuditAssumptions:
    """What the audit's power is computed for.

    Attributes
    ----------
    gap : float
        True SPD, P_1 - P_0, in (0, 1).
    positive : float
        Share predicted positive in the unprivileged group, in [0, 1 - gap].
    unprivileged : float
        Share of the respondents in the unprivileged group, in (0, 1); the rest is privileged.
    """

    gap: float = 0.1
    positive: float = 0.3
    unprivileged: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.gap < 1 or not 0 <= self.positive <= 1 - self.gap:
            raise InvalidParameter(
                f"gap is {self.gap} and positive {self.positive}; give a gap in (0, 1) and a share "
                "in [0, 1 - gap]",
                field="gap",
            )
        if not 0 < self.unprivileged < 1:
            raise InvalidParameter(
                f"unprivileged is {self.unprivileged}; give a share in (0, 1)",
                field="unprivileged",
            )


def category_width(oracle: FrequencyOracle | None, k: int, n: int) -> float:
    """Return the expected width of a category's 95 % interval at frequency 1/k.

    Raises
    ------
    InvalidParameter
        If n is below 1.
    """
    _check_n(n)
    channel, z = Channel.of(oracle), normal_quantile(LEVEL)
    pi = float(channel.q + (channel.p - channel.q) / k)
    half = z * math.sqrt(pi * (1 - pi) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return 2 * half / channel.gap


def detectable_difference(oracle: FrequencyOracle | None, k: int, n: int) -> float:
    """Return the smallest difference between halves of n people found with power 0.8, at 5 %.

    Raises
    ------
    InvalidParameter
        If n is below 1.
    """
    _check_n(n)
    channel = Channel.of(oracle)
    pi = channel.q + (channel.p - channel.q) / k
    variance = float(pi * (1 - pi) / (channel.p - channel.q) ** 2)
    return (normal_quantile(LEVEL) + NormalDist().inv_cdf(POWER)) * math.sqrt(4 * variance / n)


def audit_power(oracle: FrequencyOracle | None, n: int, given: AuditAssumptions) -> float:
    """Return the chance that the 95 % interval of SPD leaves out 0.

    Each group is one category of the protected attribute, and everybody is in one of the two.

    Raises
    ------
    InvalidParameter
        If n is below 1.
    """
    _check_n(n)
    error = spd_error(oracle, n, given)
    z, normal = normal_quantile(LEVEL), NormalDist()
    return normal.cdf(given.gap / error - z) + normal.cdf(-given.gap / error - z)


def spd_error(oracle: FrequencyOracle | None, n: int, given: AuditAssumptions) -> float:
    """Return the standard error of SPD by the delta method, D alone."""
    channel = Channel.of(oracle)
    share = (given.unprivileged, 1 - given.unprivileged)
    rate = (given.positive, given.positive + given.gap)
    both = _both_supported(oracle)
    total = 0.0
    for group in (0, 1):
        for predicted in (0, 1):
            chance = share[group] * (rate[group] if predicted else 1 - rate[group])
            away = tuple((predicted - rate[one]) / share[one] for one in (0, 1))
            own, other = away[group], away[1 - group]
            total += chance * (
                own**2 * channel.moment_at_match
                + other**2 * channel.moment_elsewhere
                - 2 * own * other * _product(channel, both)
            )
    return math.sqrt(total / n)


def _both_supported(oracle: FrequencyOracle | None) -> Fraction:
    """Chance that a record supports its answer and one given other category."""
    if oracle is None or oracle.name == "GRR":
        return Fraction(0)
    if oracle.name == "SS":
        omega = int(oracle.parameters["omega"])
        return oracle.p * Fraction(omega - 1, oracle.k - 1)
    return oracle.p * oracle.q


def _product(channel: Channel, both: Fraction) -> float:
    """E[D_v D_w] where v is the answer."""
    p, q = channel.p, channel.q
    return float((both - q * p) / (p - q) ** 2)


def plan(manifest: Manifest, n: int, given: AuditAssumptions | None = None) -> dict[str, Any]:
    """Compare every protocol and split for a draft.

    Parameters
    ----------
    manifest : Manifest
        The draft; its own protocols and split are the rows ``own``.
    n : int
        Respondents, at least 1.
    given : AuditAssumptions, optional
        About the audit.

    Returns
    -------
    dict
        JSON: ``options``, one per protocol and split, each with ``attributes``, ``total_variance``,
        ``audit_power`` and ``warnings``, or the ``error`` that makes it impossible; ``recommended``
        and its ``reason``.

    Raises
    ------
    InvalidParameter
        If n is below 1.
    """
    _check_n(n)
    asked = given or AuditAssumptions()
    options = [
        _option(manifest, protocol, split, n, asked)
        for protocol in ("own", *PROTOCOLS)
        for split in SPLITS
    ]
    possible = [one for one in options if "error" not in one]
    best = min(possible, key=lambda one: (-_enough(one), one["total_variance"]), default=None)
    return {
        "survey": manifest.name,
        "n": n,
        "confidence": LEVEL,
        "power": POWER,
        "assumptions": {
            "gap": asked.gap,
            "positive": asked.positive,
            "unprivileged": asked.unprivileged,
        },
        "options": options,
        "recommended": best and {"protocol": best["protocol"], "split": best["split"]},
        "reason": best and _reason(best, asked),
    }


def _enough(option: dict[str, Any]) -> bool:
    return option["audit_power"] is None or option["audit_power"] >= POWER


def _reason(best: dict[str, Any], given: AuditAssumptions) -> str:
    least = f"the least total variance of its estimates ({best['total_variance']:.4g}, over n)"
    if best["audit_power"] is None:
        return f"{least} among all"
    if _enough(best):
        return (
            f"{least} among those that find a gap of {given.gap:g} with a power of at least "
            f"{POWER:g}: {best['audit_power']:.2f}"
        )
    return (
        f"{least}; none finds a gap of {given.gap:g} with a power of {POWER:g}: this one has "
        f"{best['audit_power']:.2f}, so more respondents or epsilon are needed"
    )


def _option(
    manifest: Manifest, protocol: str, split: str, n: int, given: AuditAssumptions
) -> dict[str, Any]:
    heading = {"protocol": protocol, "split": split}
    try:
        published = _resolved(manifest, protocol, split)
    except InvalidParameter as error:
        return {**heading, "error": str(error)}
    protected = published.protected
    power = None
    if protected is not None:
        power = audit_power(published.attribute(protected.attribute).oracle, n, given)
    rows, warnings, total = [], [], Fraction(0)
    for one in published.perturbed:
        oracle = one.oracle
        assert oracle is not None  # noqa: S101  (perturbed)
        total += oracle.variance(Fraction(1, one.k))
        rows.append(
            {
                "name": one.name,
                "k": one.k,
                "protocol": oracle.name,
                "epsilon": format_epsilon(oracle.epsilon),
                "realized_epsilon": format_epsilon(oracle.realized_epsilon),
                "width": category_width(oracle, one.k, n),
                "detectable": detectable_difference(oracle, one.k, n),
            }
        )
        if float(oracle.realized_epsilon) < UNSPENT * float(oracle.epsilon):
            warnings.append(
                f"{oracle.name} spends {float(oracle.realized_epsilon):.3f} of the epsilon "
                f"{oracle.epsilon:f} given to {one.name}"
            )
    return {
        **heading,
        "attributes": rows,
        "total_variance": float(total),
        "audit_power": power,
        "warnings": warnings,
    }


def _resolved(manifest: Manifest, protocol: str, split: str) -> Published:
    changed = manifest if split == "own" else replace(manifest, split=Split(split))
    if protocol != "own":
        changed = replace(
            changed,
            attributes=tuple(
                replace(one, protocol=protocol) if one.perturbed else one
                for one in changed.attributes
            ),
        )
    return changed.resolve()


def _check_n(n: int) -> None:
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
