"""A plan compares protocols and splits by what a survey's estimates and audits will be able to say.

Per attribute, categories being equally frequent: the mean width of a category's 95 % interval, and
the smallest difference of a category's share between two halves of the respondents whose interval
leaves out 0 with power 0.8 (:mod:`hushpoll_analysis.planning.expected_estimates`). For the
protected attribute: the power of a fairness audit to find a gap in each group metric
(:mod:`hushpoll_analysis.auditing.power`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final, TypedDict, cast

from hushpoll_analysis.auditing.power import LEVEL, AuditAssumptions, audit_powers
from hushpoll_analysis.estimates.combination_sums import variance_coefficients
from hushpoll_analysis.planning.block_outcomes import (
    Share,
    share_width,
    smallest_of_shares,
)
from hushpoll_analysis.planning.expected_estimates import (
    Side,
    expected_interval_width,
    smallest_difference,
)
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.outcomes import outcome
from hushpoll_analysis.records.answering import audited, of_respondents, require_answered
from hushpoll_analysis.records.laws import law_of, members_of_categories
from hushpoll_analysis.shuffling import DELTA, check_crowd, shuffle_guarantee
from hushpoll_protocols import PROTOCOLS, FrequencyOracle, format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.survey.protection import weak_protection
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.number import Number
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS, NAMED_SPLITS, OPTIMAL, Split

POWER: Final = 0.8
UNSPENT: Final = 0.9
SPLITS: Final = ("own", *DRAFT_SPLITS)


def category_width(oracle: FrequencyOracle | None, k: int, n: int) -> float:
    """Return the mean width of a category's 95 % interval at frequency 1/k; refuses n below 1."""
    _check_n(n)
    if oracle is not None and oracle.k != k:
        return share_width(Share(oracle, k, n, 1 / k), LEVEL)
    return expected_interval_width(Side(oracle, n, 1 / k), LEVEL)


def detectable_difference(oracle: FrequencyOracle | None, k: int, n: int) -> float | None:
    """Return the smallest difference between halves of n people found with power 0.8, at 95 %.

    A category has the frequency 1/k in one half and more in the other, by as much. It is found
    where the interval of the difference leaves out 0, as for the goal ``difference``. None if even
    a frequency of 1 is not told from 1/k so often.
    """
    _check_n(n)
    halves = max(n // 2, 1), max(n - n // 2, 1)
    if oracle is not None and oracle.k != k:
        return smallest_of_shares(Share(oracle, k, halves[1], 1 / k), halves[0], LEVEL, POWER)
    return smallest_difference(oracle, 1 / k, halves, LEVEL, POWER)


class Precision(TypedDict):
    """How precise the shares of a question will be, or the mean of a number.

    Of a number `width` and `detectable` are parts of the range of its answers, and `mean_width` is
    the width in its unit; None for other questions.
    """

    width: float
    detectable: float | None
    mean_width: float | None


def question_precision(published: Published, attribute: PublishedAttribute, n: int) -> Precision:
    """Return the mean width of a category's interval, and the smallest difference that is found.

    All answers are equally frequent; of a follow-up they are those of the people who are asked it,
    and of a question in a draw those of the part of the respondents that answers it. See
    :func:`category_width` and :func:`detectable_difference`.
    """
    _check_n(n)
    if attribute.number is not None:
        return _precision_of_number(published, attribute, attribute.number, n)
    of_part, answerers = of_respondents(published, [attribute.name], n)
    answered = of_part.attribute(attribute.name)
    if attribute.ask_if is None and len(set(members_of_categories(answered))) == 1:
        return {
            "width": category_width(attribute.oracle, attribute.k, answerers),
            "detectable": detectable_difference(attribute.oracle, attribute.k, answerers),
            "mean_width": None,
        }
    goals = (
        Goal("width", attribute.name, confidence=LEVEL),
        Goal("difference", attribute.name, confidence=LEVEL),
    )
    width, difference = (outcome(goal, published, n, AuditAssumptions()) for goal in goals)
    assert width.value is not None  # noqa: S101  (a width)
    return {"width": width.value, "detectable": difference.value, "mean_width": None}


def _of_its_kind(precision: Precision) -> dict[str, float | None]:
    """Return how precise a question will be, with the width of a mean for a number alone."""
    found = cast("dict[str, float | None]", precision)
    return {key: value for key, value in found.items() if key != "mean_width" or value is not None}


def _precision_of_number(
    published: Published, attribute: PublishedAttribute, number: Number, n: int
) -> Precision:
    """Return the width of the interval of a number's mean, all of its anchors being as frequent.

    The difference of means of two halves of the respondents has twice the standard error of the
    mean, and is taken as normal.
    """
    goal = Goal("mean", attribute.name, confidence=LEVEL)
    width = outcome(goal, published, n, AuditAssumptions()).value
    span = float(number.high - number.low)
    if width is None or width >= span:
        return {"width": 1.0, "detectable": None, "mean_width": span}
    z = normal_quantile(LEVEL)
    found = width / z * (z + NormalDist().inv_cdf(POWER)) / span
    return {
        "width": width / span,
        "detectable": found if found <= 1 else None,
        "mean_width": width,
    }


def plan(
    manifest: Manifest,
    n: int,
    given: AuditAssumptions | None = None,
    *,
    metric: str = "SPD",
    delta: float = DELTA,
    crowd: int | None = None,
) -> dict[str, Any]:
    """Compare every protocol and split for a draft, whose own are the rows ``own``.

    The JSON has ``options``, one per protocol and split, each with ``attributes``,
    ``total_variance``, ``audit_power`` by metric (None where there is no group, or no gap of it to
    be found) and ``warnings``, or the ``error`` that makes it impossible; ``recommended`` and its
    ``reason``; ``optimal_gain``, by how much of theirs the optimal split's total variance is below
    that of the named ones, with the draft's protocols; ``shuffled``, what a trusted shuffler would
    add to the draft's epsilon (None where the draft perturbs nothing, or is impossible).

    The recommended option has to find the gap of `metric`; `delta` and `crowd` are those of
    :func:`hushpoll_analysis.shuffle_guarantee`. It refuses n below 1 and another metric.
    """
    _check_n(n)
    _check_metric(metric)
    assumptions = given or AuditAssumptions()
    options = [
        _option(manifest, protocol, split, n, assumptions)
        for protocol in ("own", *PROTOCOLS)
        for split in SPLITS
    ]
    possible = [option for option in options if "error" not in option]
    shuffled, own = None, options[0]
    if own.get("attributes"):
        shuffled = shuffle_guarantee(manifest.resolve(), n, delta=delta, crowd=crowd).to_dict()
    best = min(possible, key=lambda option: _preference(option, metric), default=None)
    return {
        "survey": manifest.name,
        "n": n,
        "confidence": LEVEL,
        "power": POWER,
        "assumptions": {
            "gap": assumptions.gap,
            "positive": assumptions.positive,
            "unprivileged": assumptions.unprivileged,
            "base": assumptions.base,
            "true_positive": assumptions.true_positive,
            "false_positive": assumptions.false_positive,
        },
        "metric": metric,
        "options": options,
        "optimal_gain": _gain(options),
        "recommended": best and {"protocol": best["protocol"], "split": best["split"]},
        "reason": best and _reason(best, assumptions, metric),
        "shuffled": shuffled,
    }


class DraftedOption(TypedDict, total=False):
    """How precise questions are under a protocol and split, or the `error`; no audit's power."""

    protocol: str
    split: str
    error: str
    attributes: list[dict[str, Any]]
    total_variance: float
    audit_power: dict[str, float | None] | None
    warnings: list[str]


class Choice(TypedDict):
    """A protocol for the sensitive attributes and a split of epsilon."""

    protocol: str
    split: str


class Outlook(TypedDict):
    """What a draft can tell as it is, and the option that a comparison would recommend."""

    survey: str
    n: int
    metric: str
    own: DraftedOption
    optimal_gain: dict[str, float]
    recommended: Choice | None
    reason: str | None
    shuffled: dict[str, Any] | None


def outlook(
    manifest: Manifest,
    n: int,
    given: AuditAssumptions | None = None,
    *,
    metric: str = "SPD",
    delta: float = DELTA,
    crowd: int | None = None,
    drafted: DraftedOption | None = None,
) -> Outlook:
    """Return what :func:`plan` says of the draft as it is, and recommends, without the rest.

    Options are looked at from the least total variance on, until one finds the gap often enough, so
    most of the comparison is not computed. `drafted` is what :func:`as_drafted` has said of the
    same draft and n, so that it is not computed again. ``own`` is the option of the draft's own
    protocols and split; all else is as in `plan`, but ``shuffled``
    is given only with a `crowd`.
    """
    _check_n(n)
    _check_metric(metric)
    assumptions = given or AuditAssumptions()
    own = as_drafted(manifest, n) if drafted is None else drafted
    if "error" not in own:
        own = {**own, "audit_power": _powers(manifest.resolve(), n, assumptions)}
    shuffled = None
    if own.get("attributes"):
        check_crowd(n, delta)
        # it takes as long as a fifth of the rest, and is shown where a crowd is named
        if crowd is not None:
            shuffled = shuffle_guarantee(manifest.resolve(), n, delta=delta, crowd=crowd).to_dict()
    candidates = []
    for protocol in ("own", *PROTOCOLS):
        for split in SPLITS:
            try:
                published = _planned(manifest, protocol, split)
            except InvalidParameter:
                continue
            option: DraftedOption = {"protocol": protocol, "split": split}
            option["total_variance"] = total_variance(published)
            candidates.append((option, published))
    best = None
    digest = None if "error" in own else manifest.resolve().digest
    for option, published in sorted(candidates, key=lambda one: one[0]["total_variance"]):
        # the draft's own protocols and split are an option, too
        option["audit_power"] = (
            own["audit_power"] if published.digest == digest else _powers(published, n, assumptions)
        )
        if _enough(option, metric):
            best = option
            break
    if best is None:
        order = [option for option, _ in candidates]
        best = min(order, key=lambda option: _preference(option, metric), default=None)
    return {
        "survey": manifest.name,
        "n": n,
        "metric": metric,
        "own": own,
        "optimal_gain": _gain([option for option, _ in candidates]),
        "recommended": None
        if best is None
        else {"protocol": best["protocol"], "split": best["split"]},
        "reason": None if best is None else _reason(best, assumptions, metric),
        "shuffled": shuffled,
    }


def as_drafted(manifest: Manifest, n: int) -> DraftedOption:
    """Return how precise the questions of the draft will be as it is, without an audit's power.

    It has the members of an option of :func:`plan` but ``audit_power``; of a draft that cannot be
    published, ``error``.
    """
    _check_n(n)
    return _precisions(manifest, "own", "own", n)


def _gain(options: list[DraftedOption]) -> dict[str, float]:
    totals = {
        option["split"]: option["total_variance"]
        for option in options
        if option["protocol"] == "own" and "error" not in option
    }
    if OPTIMAL not in totals:
        return {}
    return {name: 1 - totals[OPTIMAL] / totals[name] for name in NAMED_SPLITS if name in totals}


def _power(option: DraftedOption, metric: str) -> float | None:
    powers: dict[str, float | None] = option["audit_power"] or {}
    return powers.get(metric)


def _enough(option: DraftedOption, metric: str) -> bool:
    power = _power(option, metric)
    return power is None or power >= POWER


def _preference(option: DraftedOption, metric: str) -> tuple[bool, float, float]:
    """Rank options: enough power and least variance; where none has enough, the most power."""
    if _enough(option, metric):
        return False, 0.0, option["total_variance"]
    return True, -(_power(option, metric) or 0.0), option["total_variance"]


def _reason(best: DraftedOption, given: AuditAssumptions, metric: str) -> str:
    least = f"the least total variance of its estimates ({best['total_variance']:.4g}, over n)"
    power = _power(best, metric)
    if power is None:
        return f"{least} among all"
    gap = f"a gap of {given.gap:g} in {metric}"
    if power >= POWER:
        return (
            f"{least} among those that find {gap} with a power of at least {POWER:g}; its power is "
            f"{power:.2f}"
        )
    return (
        f"none finds {gap} with a power of {POWER:g}: this one has the most, {power:.2f}, and more "
        "respondents or epsilon are needed"
    )


def _option(
    manifest: Manifest, protocol: str, split: str, n: int, given: AuditAssumptions
) -> DraftedOption:
    option = _precisions(manifest, protocol, split, n)
    if "error" in option:
        return option
    option["audit_power"] = _powers(_planned(manifest, protocol, split), n, given)
    option["warnings"] = option.pop("warnings")  # the last member, as it was
    return option


def _precisions(manifest: Manifest, protocol: str, split: str, n: int) -> DraftedOption:
    heading: DraftedOption = {"protocol": protocol, "split": split}
    try:
        published = _planned(manifest, protocol, split)
    except InvalidParameter as error:
        return {**heading, "error": str(error)}
    rows = []
    warned: set[str] = set()
    warnings = [warning.message for warning in weak_protection(published)]
    warnings += _about_draws(published, n)
    for attribute in published.perturbed:
        oracle = attribute.oracle
        assert oracle is not None  # noqa: S101  (perturbed)
        rows.append(
            {
                "name": attribute.name,
                "k": attribute.k,
                "protocol": oracle.name,
                "epsilon": format_epsilon(oracle.epsilon),
                "realized_epsilon": format_epsilon(oracle.realized_epsilon),
                **_of_its_kind(question_precision(published, attribute, n)),
            }
        )
        name = attribute.block or attribute.name
        unspent = float(oracle.realized_epsilon) < UNSPENT * float(oracle.epsilon)
        if unspent and name not in warned:
            warned.add(name)
            warnings.append(
                f"{oracle.name} spends {float(oracle.realized_epsilon):.3f} of the epsilon "
                f"{oracle.epsilon:f} given to {name}"
            )
    return {
        **heading,
        "attributes": rows,
        "total_variance": total_variance(published),
        "warnings": warnings,
    }


def _about_draws(published: Published, n: int) -> list[str]:
    """Say who answers the questions of each draw, and why there is no audit if nobody can."""
    told = []
    for draw in published.draws:
        d, s = len(draw.blocks), draw.answer
        told.append(
            f"of the {d} blocks of the draw {draw.name} each respondent answers {s}, so that what "
            f"is said of one of its questions is of {n * s // d:,} of the {n:,} respondents"
        )
    try:
        require_answered(published, audited(published))
    except InvalidParameter as error:
        told.append(f"no audit is planned: {error}")
    return told


def _planned(manifest: Manifest, protocol: str, split: str) -> Published:
    """Return the survey of an option; refuse one with a question that has no law to plan with."""
    published = _resolved(manifest, protocol, split)
    for attribute in published.perturbed:
        answered = published.answering([attribute.name])
        law_of(answered.attribute(attribute.name))  # a plan without it would be another's
    return published


def _powers(
    published: Published, n: int, given: AuditAssumptions
) -> dict[str, float | None] | None:
    if published.protected is None or not published.share_answering(audited(published)):
        return None
    return dict(audit_powers(published, n, given))


def total_variance(published: Published, names: Collection[str] = ()) -> float:
    """Return n times the sum of the variances of a share of 1/k of these attributes, or of all."""
    parts = (
        _variance(published.answering([one.name]).attribute(one.name))
        / published.share_answering([one.name])
        for one in published.perturbed
        if not names or one.name in names
    )
    return float(sum(parts, Fraction(0)))


def _variance(attribute: PublishedAttribute) -> Fraction:
    """Return the variance of a share of 1/k times those who answer; of sets the mean over them."""
    oracle, k = attribute.oracle, attribute.k
    assert oracle is not None  # noqa: S101  (perturbed)
    if oracle.k == k:
        return oracle.estimate_variance(Fraction(1, k))
    total = Fraction(0)
    for size in members_of_categories(attribute):
        c0, c1, c2 = variance_coefficients(oracle, k, size)
        total += Fraction(c0 + c1 / k + c2 / k**2)
    return total / k


def _resolved(manifest: Manifest, protocol: str, split: str) -> Published:
    changed = manifest if split == "own" else replace(manifest, split=Split(split))
    if protocol != "own":
        # a target keeps its own: most protocols' records give no label to learn from
        roles = {attribute.name: attribute.role for attribute in changed.attributes}
        kept = {
            block.name
            for block in changed.together
            if any(roles[name] != "sensitive" for name in block.attributes)
        }
        owners = {name: block.name for block in changed.together for name in block.attributes}
        changed = replace(
            changed,
            attributes=tuple(
                replace(attribute, protocol=None if attribute.name in owners else protocol)
                if attribute.role == "sensitive" and owners.get(attribute.name) not in kept
                else attribute
                for attribute in changed.attributes
            ),
            together=tuple(
                block if block.name in kept else replace(block, protocol=protocol)
                for block in changed.together
            ),
        )
    return changed.resolve()


def _check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise InvalidParameter(
            f"metric is {metric!r}; it must be one of {', '.join(METRICS)}", field="metric"
        )


def _check_n(n: int) -> None:
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
