"""Estimates of many categories whose intervals hold together, or at every look.

Three methods, all from support counts alone.

``bonferroni``: m intervals, each with the confidence 1 - (1 - c)/m, hold together.

``max-t``: the estimates of one attribute depend on each other in a known way, because the
covariance matrix of the weights follows from the law
(:mod:`hushpoll_analysis.estimates.weight_covariances`). The critical value is the quantile of the
largest of |z_v|, z normal with the correlations of the estimates (Hothorn, Bretz and Westfall,
Biometrical Journal 50, 2008), from a fixed number of draws. Attributes share 1 - c by their numbers
of categories, so that it is never wider than Bonferroni.

``anytime``: the intervals hold at all looks together, however often one looks and whenever one
stops (a confidence sequence). The indicator of a category is a Bernoulli number with the chance
pi = q + (p - q) f, whatever the protocol. For its count s of n the mixture

    M(pi) = B(1 + s, 1 + n - s)/(pi^s (1 - pi)^(n - s))

over a uniform prior is a nonnegative martingale of mean 1 if pi is true, so the set of all pi with
M(pi) < 1/alpha holds for all n at once with the chance 1 - alpha (Ville's inequality; Robbins,
Annals of Mathematical Statistics 41, 1970; Howard, Ramdas, McAuliffe and Sekhon, Annals of
Statistics 49, 2021). It is exact at every n. Its estimator is ``raw``, since only a single
indicator has a law without unknowns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.estimators import estimate_by
from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.precision import widest
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.records.laws import even_law_of, law_of
from hushpoll_analysis.records.records import Channel, Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import verdict_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import (
    Estimate,
    estimate_proportion,
    normal_quantile,
)
from hushpoll_protocols.estimation.marginals import Law, Marginal, UnevenSets
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_shared.qualifying.verdict import Reach, Verdict, reach_of_share
from hushpoll_shared.queries.parts import CategoryEstimate
from hushpoll_shared.queries.simultaneous_estimates import SharesTogether, TogetherAttribute
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous as Query
from hushpoll_shared.survey.option_texts import named_attributes
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

Method = Literal["max-t", "bonferroni", "anytime"]
METHODS: tuple[Method, ...] = get_args(Method)

WORDS: Mapping[str, str] = {
    "max-t": "All of these intervals hold together with this confidence, for one look at the "
    "results, decided on beforehand.",
    "bonferroni": "All of these intervals hold together with this confidence, for one look at the "
    "results, decided on beforehand.",
    "anytime": "All of these intervals hold together with this confidence, at all looks at the "
    "results, however often you look and whenever you stop. Their estimates are unweighted.",
}

DRAWS = 1 << 16
"""Draws of all z from which a critical value is computed."""

_NUMBERS = 1 << 20
"""Normal numbers held at a time."""

MOST_CATEGORIES = 128
"""An attribute with more is left to Bonferroni, which is then hardly wider than max-t."""

_SEED = 20260101
_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class SimultaneousEstimates(ArrayResult):
    """Estimates of attributes' categories with intervals that hold together.

    Attributes
    ----------
    method : str
        One of `METHODS`.
    n : int
        Records behind it.
    confidence : float
        That all intervals hold; of ``anytime``, at all looks.
    attributes : mapping of str to (tuple of str, Estimate)
        By name: categories and their estimates.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    method: Method
    n: int
    confidence: float
    attributes: Mapping[str, tuple[tuple[str, ...], Estimate]]
    verdict: Verdict | None = None

    def result(self) -> SharesTogether:
        """Return the estimates attribute by attribute."""
        names = ("frequency", "standard_error", "lower", "upper")
        return filled(
            SharesTogether,
            self,
            intervals=WORDS[self.method],
            attributes=tuple(
                TogetherAttribute(
                    name=name,
                    n=None if found.n == self.n else found.n,
                    categories=tuple(
                        CategoryEstimate(
                            category=category,
                            **{part: float(getattr(found, part)[code]) for part in names},
                        )
                        for code, category in enumerate(categories)
                    ),
                )
                for name, (categories, found) in self.attributes.items()
            ),
        )


def simultaneous_estimates(
    records: Records | RecordStream,
    *,
    only: Sequence[str] | None = None,
    method: Method = "max-t",
    confidence: float = 0.95,
) -> SimultaneousEstimates:
    """Estimate categories with intervals that hold together.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol; for ``anytime`` reports are looked at in the order in which they come.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    only : sequence of str, optional
        Attributes; all of them by default. The fewer, the narrower the intervals.
    method : {"max-t", "bonferroni", "anytime"}
        See the module.
    confidence : float
        In (0, 1).

    Raises
    ------
    InvalidParameter
        For an unknown attribute or method, a bad confidence, no records, or ``anytime`` of a
        question whose block counts several combinations with one answer in one record.
    """
    return _together(OfRecords(records), only, method, confidence)


def shares_together(query: Query, source: Source) -> SimultaneousEstimates:
    """Estimate from support counts; see :func:`simultaneous_estimates`."""
    only = None if query.attribute is None else [query.attribute]
    return _together(source, only, query.method, query.confidence)


def _together(
    source: Source, only: Sequence[str] | None, method: Method, confidence: float
) -> SimultaneousEstimates:
    chosen = attributes_in_order(source.published, only, method)
    if method == "anytime":
        for attribute in chosen:
            _refuse_sets(attribute)
    counts = source.questions([attribute.name for attribute in chosen])
    require_rows(counts.n)
    normal_quantile(confidence)
    categories = sum(attribute.k for attribute in chosen)
    found = {}
    for asked in chosen:
        # where it is in a draw, those are meant who answer it
        published = source.published.answering([asked.name])
        answered = counts.answering(source.published, asked.name)
        require_rows(answered.n)
        attribute, n = published.attribute(asked.name), answered.n
        support, law = answered.of(published, attribute.name), law_of(attribute)
        alpha = 1 - confidence
        if method == "anytime":
            estimated = _anytime(even_law_of(attribute), support, n, alpha / categories)
        else:
            level = 1 - alpha / categories
            if method == "max-t":
                level = _level(attribute, support, n, alpha * attribute.k / categories)
            estimated = estimate_by(law, support, n, level)
        found[attribute.name] = attribute.domain, estimated
    verdict = verdict_of(
        Query(method=method, confidence=confidence),
        [Expected(source.published, counts.n)],
        lambda _, sides: _foresee(sides[0], only, method, confidence),
        only,
    )
    return SimultaneousEstimates(method, counts.n, confidence, found, verdict)


def _foresee(
    side: Expected, only: Sequence[str] | None, method: Method, confidence: float
) -> list[Reach]:
    """Return how far the intervals of each attribute will reach; max-t as far as Bonferroni's."""
    chosen = attributes_in_order(side.published, only, method)
    alpha = (1 - confidence) / sum(attribute.k for attribute in chosen)
    reaches = []
    for asked in chosen:
        part = side.answering([asked.name])
        attribute, n = part.published.attribute(asked.name), part.n
        if method == "anytime":
            channel = Channel.of(even_law_of(attribute))
            hits = n * (float(channel.q) + channel.gap / attribute.k)
            lower, upper = sequence_limits(hits, n, alpha)
            half = (upper - lower) / channel.gap / 2
        else:
            even = 1 / attribute.k
            half = widest(attribute, even, n, 1 - alpha) / 2
        reaches.append(reach_of_share(attribute.name, half, attribute.k))
    return reaches


def attributes_in_order(
    published: Published, only: Sequence[str] | None, method: str
) -> list[PublishedAttribute]:
    """Return the attributes by name, in manifest order; refuses an unknown method."""
    if method not in METHODS:
        raise InvalidParameter(
            f"method is {method!r}; it must be one of {', '.join(METHODS)}", field="method"
        )
    wanted = named_attributes(published, only or ())
    for name in wanted:
        published.attribute(name)
    return [
        attribute
        for attribute in published.attributes
        if only is None or attribute.name in set(wanted)
    ]


def critical_value(covariance: Array, alpha: float) -> float:
    """Return the c that the largest |z_v| exceeds with the chance `alpha`, z normal.

    The covariance f64[k, k] is that of z before it is scaled; categories of variance 0 are left
    out.
    """
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    used = deviation > 1e-12 * max(float(deviation.max()), 1e-300)
    if not used.any():
        return normal_quantile(1 - alpha)
    correlation = covariance[np.ix_(used, used)] / np.outer(deviation[used], deviation[used])
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(_SEED)
    step = max(1, _NUMBERS // len(root))
    largest = [
        np.abs(rng.standard_normal((min(step, DRAWS - start), len(root))) @ root.T).max(axis=1)
        for start in range(0, DRAWS, step)
    ]
    drawn = float(np.quantile(np.concatenate(largest), 1 - alpha))
    most = normal_quantile(1 - alpha / len(root))
    return min(max(drawn, normal_quantile(1 - alpha)), most)


def _level(
    attribute: PublishedAttribute, support: npt.NDArray[np.int64], n: int, alpha: float
) -> float:
    """Return the confidence of each interval of an attribute so that all hold together."""
    law = law_of(attribute)
    if attribute.k > MOST_CATEGORIES:
        return 1 - alpha / attribute.k
    frequency = estimate_by(law, support, n, 0.5).frequency
    covariance = WeightCovariances.of(law).over_population(project_simplex(frequency))
    return 2 * NormalDist().cdf(critical_value(covariance, alpha)) - 1


def _refuse_sets(attribute: PublishedAttribute) -> None:
    law = law_of(replace(attribute, draw=None))
    if isinstance(law, UnevenSets) or (isinstance(law, Marginal) and not law.counts_one):
        raise InvalidParameter(
            f"method is 'anytime', and {attribute.name} is randomised together with other "
            f"questions by {law.name}, in the block {attribute.block}: a record then supports "
            "several combinations with one answer, and their number is no coin whose law is known. "
            "Ask for max-t or bonferroni, or name questions that are in no block",
            field="method",
        )


def _anytime(oracle: Law | None, support: npt.NDArray[np.int64], n: int, alpha: float) -> Estimate:
    channel = Channel.of(oracle)
    raw = estimate_proportion(support, n, p=channel.p, q=channel.q)
    limits = np.array([sequence_limits(int(hits), n, alpha) for hits in support])
    shift, gap = float(channel.q), channel.gap
    return Estimate(
        frequency=raw.frequency,
        standard_error=raw.standard_error,
        lower=np.minimum((limits[:, 0] - shift) / gap, raw.frequency),
        upper=np.maximum((limits[:, 1] - shift) / gap, raw.frequency),
        n=n,
        confidence=1 - alpha,
    )


def sequence_limits(hits: float, n: int, alpha: float) -> tuple[float, float]:
    """Return limits of a chance that hold at all n together.

    They ever miss with a chance of at most `alpha`; hits are a whole number unless expected ones.
    """
    misses = n - hits
    mixture = math.lgamma(1 + hits) + math.lgamma(1 + misses) - math.lgamma(2 + n)
    bound = mixture + math.log(alpha)

    def inside(chance: float) -> bool:
        likelihood = hits * math.log(chance) if hits else 0.0
        likelihood += misses * math.log1p(-chance) if misses else 0.0
        return likelihood > bound

    def edge(outer: float) -> float:
        within = hits / n
        for _ in range(_BISECTIONS):
            middle = (within + outer) / 2
            if 0 < middle < 1 and inside(middle):
                within = middle
            else:
                outer = middle
        return outer

    return (edge(0.0) if hits else 0.0), (edge(1.0) if misses else 1.0)
