"""How far one category of an attribute is ahead of another: what surveys will say of it.

The lead of a over b is f_a - f_b. Its interval is that of
:func:`hushpoll_analysis.ordered_summary` with the score 1 for a, -1 for b and 0 for the others. It
depends on few numbers of a survey: how many records support a, how many b, how many the missing
category and how many supports there are of the others. These are drawn by their law, with a fixed
seed, and each survey has its interval by the rule itself, so that a prediction has no other error
than that of the draws. Nobody is taken to skip the question.

Where the size of the support varies, indicators are independent given the truth: of the n_t people
with the truth t, each supports t with the chance p, and each of the other indicators is 1 with the
chance q. A support of fixed size has the truth with the chance p, and the rest of it is a sample
without replacement of the other categories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, perm

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.estimates.score_law import RecordLaw
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.weights import DEGENERATE, WeightLaw
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

SEED = 20261

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two categories of one attribute, and the people who will be asked."""

    attribute: PublishedAttribute
    n: int
    first: float
    """True share of the first category; both are in [0, 1] and at most 1 together, exactly 1 where
    there is no third category."""
    second: float
    in_clear: bool = False

    @property
    def oracle(self) -> FrequencyOracle | None:
        """The protocol of the answers; None in clear."""
        return None if self.in_clear else self.attribute.oracle


def lead_sets(pair: Pair, confidence: float, surveys: int) -> Sets:
    """Return the leads of drawn surveys with their sets, f64[1, surveys]."""
    attribute, law = pair.attribute, WeightLaw.of(pair.oracle)
    rng = np.random.default_rng(SEED)
    draw = _of_any_size if law.varies else _of_one_size
    shares, scale = draw(pair, surveys, rng)
    record = RecordLaw.of(pair.oracle, attribute.k)
    answers = Answers(attribute, pair.n, record, scale, shares, shares[:, :1])
    first, second, missing = shares
    answered = (1.0 - missing)[None, :]
    lead, either = (first - second)[None, :], (first + second)[None, :]
    sums = (_cell(float(answers.categories)), _cell(0.0), _cell(2.0), _cell(0.0))
    # scores of 1, -1 and 0 have two kinds of powers
    moments = (answered, lead, either, lead, either)
    overall = (answered[:, :1], lead[:, :1], either[:, :1], lead[:, :1])
    return Ratios(answers, -1.0, 1.0, sums, moments, overall).sets(normal_quantile(confidence))


def _cell(value: float) -> Array:
    return np.full((1, 1), value)


def _sets(pair: Pair) -> tuple[npt.NDArray[np.int64], Array]:
    """Return categories and people's shares of: first, second, missing, all others."""
    missing = pair.attribute.k - len(pair.attribute.categories)
    size = np.array([1, 1, missing, pair.attribute.k - 2 - missing])
    rest = max(1.0 - pair.first - pair.second, 0.0) if size[-1] else 0.0
    share = np.array([pair.first, pair.second, 0.0, rest])
    return size, share / share.sum()


def _of_any_size(pair: Pair, surveys: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return estimates f64[3, surveys] of first, second and missing, and the scale f64[surveys]."""
    oracle = pair.oracle
    assert oracle is not None  # noqa: S101  (in clear all supports have one size)
    size, share = _sets(pair)
    p, q, n, law = float(oracle.p), float(oracle.q), pair.n, WeightLaw.of(oracle)
    people = rng.multinomial(n, share, size=surveys)
    support = rng.binomial(people, p) + rng.binomial(n * size - people, q)
    debiased = (support / n - size * q) / float(oracle.p - oracle.q)
    excess = debiased.sum(axis=1) - 1.0
    scale = np.maximum(1.0 + law.slope * excess, DEGENERATE)
    shares = (debiased[:, :3].T - law.base * np.outer(size[:3], excess)) / scale
    return shares, scale


def _of_one_size(pair: Pair, surveys: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return estimates and scale where every record supports as many categories."""
    size, share = _sets(pair)
    oracle = pair.oracle
    patterns, chances = [], []
    for truth in range(4):
        if share[truth]:
            for pattern, chance in support_patterns(oracle, pair.attribute.k, size, truth):
                patterns.append(pattern)
                chances.append(share[truth] * chance)
    law = np.array(chances)
    drawn = rng.multinomial(pair.n, law / law.sum(), size=surveys)
    p, q = (1.0, 0.0) if oracle is None else (float(oracle.p), float(oracle.q))
    debiased = (drawn @ np.array(patterns) / pair.n - size[:3] * q) / (p - q)
    return debiased.T, np.ones(surveys)


def support_patterns(
    oracle: FrequencyOracle | None, k: int, size: npt.NDArray[np.int64], truth: int
) -> Iterator[tuple[tuple[int, int, int], float]]:
    """Yield which of three categories a record supports, and the chance, given a truth.

    Supports have one size. `size` int64[4] has 1 for each of the three categories that there is,
    and the number of all others; `truth` is a place in it.
    """
    p = Fraction(1) if oracle is None else oracle.p
    whole = 1 if oracle is None else oracle.support_size
    assert whole is not None  # noqa: S101  (of one size)
    others = [place for place in range(3) if place != truth and size[place]]
    for kept, part in ((1, p), (0, 1 - p)):
        if not part:
            continue
        for chosen in product((0, 1), repeat=len(others)):
            chance = part * _exactly(sum(chosen), len(others), whole - kept, k - 1)
            pattern = [0, 0, 0]
            for place, value in zip(others, chosen, strict=True):
                pattern[place] = value
            if truth < 3:
                pattern[truth] = kept
            if chance:
                yield (pattern[0], pattern[1], pattern[2]), float(chance)


def _exactly(inside: int, given: int, drawn: int, among: int) -> Fraction:
    """Return that `drawn` of `among` include these `inside` of `given` ones and no other of them.

    All of some i are drawn with the chance perm(drawn, i)/perm(among, i); the rest is inclusion and
    exclusion.
    """
    total = Fraction(0)
    for more in range(given - inside + 1):
        number = inside + more
        if number <= among:
            ways = comb(given - inside, more) * perm(drawn, number)
            total += Fraction((-1) ** more * ways, perm(among, number))
    return total
