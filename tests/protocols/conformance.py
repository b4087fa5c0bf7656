"""What every protocol must satisfy. Each check takes an oracle and raises AssertionError.

The checks use the public interface alone and know no protocol by name, so a new one is covered by
its line in the registry. They run on healthy oracles, which must pass, and on planted faults,
which must not.

A record of more than two bytes at a small k is taken to open with a public prefix (a hash seed)
that is drawn independently of the answer; its law is then conditional on the prefix. Were that
not so, the conditional probabilities would not sum to 1.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, product
from operator import mul

from exact_law import Q, law_of_randomize
from rational_exp import enclose_exp
from scipy import stats

from hushpoll_protocols import FrequencyOracle, MalformedRecord

FALSE_ALARM = 1e-9
"""Chance that a healthy sampler fails one comparison: thousands of them still never flake."""

_SUFFIX = 2


class SeededBits:
    """Words from a seed, without end: a test that failed fails again."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def word(self) -> int:
        return self._random.getrandbits(64)

    def words(self, count: int) -> list[int]:
        return [self.word() for _ in range(count)]


def is_well_formed(oracle: FrequencyOracle, record: bytes) -> bool:
    try:
        oracle.check(record)
    except MalformedRecord:
        return False
    return True


def prefix_size(oracle: FrequencyOracle) -> int:
    return 0 if oracle.record_size <= _SUFFIX else oracle.record_size - _SUFFIX


@lru_cache(maxsize=128)
def suffixes(oracle: FrequencyOracle) -> list[bytes]:
    """Every way that a well-formed record can go on after its public prefix."""
    prefix = bytes(prefix_size(oracle))
    size = oracle.record_size - len(prefix)
    every = (bytes(suffix) for suffix in product(range(256), repeat=size))
    well_formed = [suffix for suffix in every if is_well_formed(oracle, prefix + suffix)]
    assert well_formed, "no record is well formed"
    return well_formed


def prefixes(oracle: FrequencyOracle, count: int) -> list[bytes]:
    """Sampled public prefixes; one empty prefix where there is none."""
    size = prefix_size(oracle)
    if size == 0:
        return [b""]
    bits = SeededBits(20_240_229)
    return [oracle.randomize(0, bits)[:size] for _ in range(count)]


def check_law(oracle: FrequencyOracle, seeds: int = 24) -> None:
    """`probability`, over every record there is, is the law that p, q and epsilon speak of."""
    endings = suffixes(oracle)
    values = range(oracle.k)
    largest = Fraction(0)
    # Many buckets make a record's law large and a sample of seeds needless.
    for prefix in prefixes(oracle, max(1, min(seeds, 4096 // len(endings)))):
        total = [Fraction(0)] * oracle.k
        supported = [[Fraction(0)] * oracle.k for _ in values]
        for ending in endings:
            record = prefix + ending
            support = oracle.support(record)
            assert list(support) == sorted(set(support)), "the support is not an ascending set"
            assert all(0 <= v < oracle.k for v in support), "the support leaves the domain"
            law = [oracle.probability(record, v) for v in values]
            assert min(law) > 0, "some answer can never give this record"
            inside = {law[v] for v in support}
            outside = {law[v] for v in values if v not in support}
            assert len(inside) <= 1, "the likelihood varies inside the support"
            assert len(outside) <= 1, "the likelihood varies outside the support"
            if inside and outside:
                assert inside.pop() == outside.pop() * oracle.likelihood_ratio, (
                    "support and rest do not differ by the likelihood ratio"
                )
            largest = max(largest, max(law) / min(law))
            for v in values:
                total[v] += law[v]
                for u in support:
                    supported[v][u] += law[v]
        assert total == [1] * oracle.k, "the probabilities of all records do not sum to 1"
        for v in values:
            assert supported[v][v] == oracle.p, "p is not the chance that the truth is supported"
        if not prefix:
            others = {supported[v][u] for v in values for u in values if u != v}
            assert others == {oracle.q}, "q is not the chance that another value is supported"
    assert largest == oracle.likelihood_ratio, "the largest ratio is not the one that is stated"


def check_epsilon(oracle: FrequencyOracle) -> None:
    """The likelihood ratio is at most e^epsilon and realized epsilon is its logarithm."""
    epsilon, ratio = Fraction(oracle.epsilon), oracle.likelihood_ratio
    assert ratio > 1, "nothing can be learned"
    assert ratio <= enclose_exp(epsilon)[0], "the law spends more than epsilon"
    realized = Fraction(oracle.realized_epsilon)
    assert 0 < realized <= epsilon, "realized epsilon is outside (0, epsilon]"
    assert ratio <= enclose_exp(realized)[0], "realized epsilon is understated"
    # Rounded up at the 12th place: one unit less would understate. (At the smallest epsilon one
    # unit is all there may be, and e^0 = 1 < ratio.)
    less = realized - Fraction(1, 10**12)
    assert less == 0 or ratio > enclose_exp(less)[0], "realized epsilon is not tight"
    assert oracle.p > oracle.q > 0, "p must be above q"
    assert oracle.p < 1, "the truth is always supported"


def check_other_support(oracle: FrequencyOracle, seeds: int = 2000) -> None:
    """With a public prefix, q holds on the average over prefixes (Hoeffding's bound)."""
    if prefix_size(oracle) == 0:
        return
    endings = suffixes(oracle)
    truth, other = 0, oracle.k - 1
    drawn = prefixes(oracle, seeds)
    mean = Fraction(0)
    for prefix in drawn:
        for ending in endings:
            if other in oracle.support(prefix + ending):
                mean += oracle.probability(prefix + ending, truth)
    mean /= len(drawn)
    # Pr[|mean - q| >= t] <= 2 exp(-2 n t^2)
    tolerance = (21.42 / (2 * seeds)) ** 0.5
    assert abs(float(mean - oracle.q)) < tolerance, "q is not the average over public prefixes"
    _check_uniform_bits(drawn)


def _check_uniform_bits(drawn: Sequence[bytes]) -> None:
    size = 8 * len(drawn[0])
    numbers = [int.from_bytes(prefix, "little") for prefix in drawn]
    assert len(set(numbers)) == len(numbers), "a public prefix came twice"
    for bit in range(size):
        check_count(sum(number >> bit & 1 for number in numbers), len(numbers), Fraction(1, 2))


def check_supports(oracle: FrequencyOracle, seeds: int = 2000) -> None:
    """What the oracle says of its supports' sizes and of two indicators holds over all records."""
    endings, values, size = suffixes(oracle), range(oracle.k), oracle.support_size
    assert oracle.form.seed_size == prefix_size(oracle), "the form's public seed is not the prefix"
    assert oracle.names_one_value == (size == 1)
    drawn = prefixes(oracle, max(1, min(seeds, 4096 // len(endings))))
    sizes = {len(oracle.support(prefix + ending)) for prefix in drawn for ending in endings}
    if size is None:
        assert len(sizes) > 1, "every support has the same size, which is not stated"
    else:
        assert sizes == {size}, "the size of a support is not the one that is stated"
    assert min(sizes - {0}) >= oracle.smallest_support, "some support is smaller than is stated"
    if prefix_size(oracle):
        # Two indicators are uncorrelated on the average over prefixes: Hoeffding's bound, whose
        # terms of one prefix lie in [0, 1].
        for truth in (0, oracle.k - 1):
            joint = sum((_joint(oracle, prefix, endings, truth) for prefix in drawn), Counter())
            for pair, total in joint.items():
                stated = _stated_joint(oracle, truth, pair)
                distance = abs(float(total / len(drawn) - stated))
                assert distance < (21.42 / (2 * len(drawn))) ** 0.5, "the covariance is another"
        return
    assert oracle.smallest_support in sizes
    for truth in values:
        joint = _joint(oracle, b"", endings, truth)
        for pair, total in joint.items():
            assert total == _stated_joint(oracle, truth, pair), "the covariance is another"
        chances = [oracle.probability(record, truth) for record in endings]
        counts = [len(oracle.support(record)) for record in endings]
        mean = sum(map(mul, chances, counts))
        square = sum(chance * count**2 for chance, count in zip(chances, counts, strict=True))
        assert square - mean**2 == oracle.support_variance, "the size varies otherwise"
        if size is None:
            _check_independent(oracle, endings, truth)


def _joint(
    oracle: FrequencyOracle, prefix: bytes, endings: Sequence[bytes], truth: int
) -> Counter[tuple[int, int]]:
    """Chance that two values are both in the support, for every pair of values."""
    chances: Counter[tuple[int, int]] = Counter(
        {pair: Fraction(0) for pair in combinations(range(oracle.k), 2)}  # type: ignore[misc]
    )
    for ending in endings:
        record = prefix + ending
        for pair in combinations(oracle.support(record), 2):
            chances[pair] += oracle.probability(record, truth)  # type: ignore[assignment]
    return chances


def _stated_joint(oracle: FrequencyOracle, truth: int, pair: tuple[int, int]) -> Fraction:
    if truth in pair:
        return oracle.p * oracle.q + oracle.covariances.with_truth
    return oracle.q**2 + oracle.covariances.between_others


def _check_independent(oracle: FrequencyOracle, endings: Sequence[bytes], truth: int) -> None:
    law: Counter[tuple[int, ...]] = Counter()
    for record in endings:
        law[oracle.support(record)] += oracle.probability(record, truth)  # type: ignore[assignment]
    for support, chance in law.items():
        product_of_all = Fraction(1)
        for v in range(oracle.k):
            inside = oracle.p if v == truth else oracle.q
            product_of_all *= inside if v in support else 1 - inside
        assert chance == product_of_all, "indicators depend on each other, which is not stated"


def check_fakes(oracle: FrequencyOracle, n: int = 4000) -> None:
    """Fakes are well formed: `singling_out` supports its value, arbitrary ones are even."""
    rng = random.Random(13)
    endings, size = suffixes(oracle), prefix_size(oracle)
    for value in range(oracle.k):
        record = oracle.singling_out(value, rng)
        assert is_well_formed(oracle, record), "a fake is malformed"
        assert value in oracle.support(record), "a fake does not support its value"
        prefix = record[:size]
        supports = [oracle.support(prefix + ending) for ending in endings]
        least = min(len(support) for support in supports if value in support)
        assert len(oracle.support(record)) == least, "a fake supports more than it must"
    drawn = [oracle.form.arbitrary(rng) for _ in range(n)]
    assert all(is_well_formed(oracle, record) for record in drawn), "a fake is malformed"
    counts = Counter(record[size:] for record in drawn)
    check_chi_squared([(counts[ending], n / len(endings)) for ending in endings])
    if size:
        _check_uniform_bits([record[:size] for record in drawn])


def check_randomize(oracle: FrequencyOracle, values: Sequence[int] | None = None) -> None:
    """`randomize` draws from `probability` exactly: every way through its code is followed."""
    public = SeededBits(7).words(8)
    size = prefix_size(oracle)
    opened = set()
    for value in range(oracle.k) if values is None else values:
        law = law_of_randomize(oracle, value, public)
        assert sum(law.probabilities.values()) + law.abandoned == 1
        assert law.abandoned < Fraction(1, 1 << 100), "refuses words far too often"
        for record, drawn in law.probabilities.items():
            assert len(record) == oracle.record_size, "the record's length depends on the answer"
            assert is_well_formed(oracle, record), "randomize makes a malformed record"
            missing = oracle.probability(record, value) - drawn
            assert 0 <= missing <= law.abandoned, "randomize does not follow the stated law"
            opened.add(record[:size])
    assert len(opened) == 1, "the public prefix depends on the answer"


def check_counts(oracle: FrequencyOracle, value: int, records: Sequence[bytes]) -> None:
    """In a sample of records for one value, each value is supported as often as p and q say."""
    tally = Counter(records)
    sizes = {len(record) for record in tally}
    assert sizes == {oracle.record_size}, "the record's length depends on the answer"
    counts = [0] * oracle.k
    for record, times in tally.items():
        assert is_well_formed(oracle, record), "a malformed record was made"
        for v in oracle.support(record):
            counts[v] += times
    for v, count in enumerate(counts):
        check_count(count, len(records), oracle.p if v == value else oracle.q)


def check_draws(oracle: FrequencyOracle, value: int, records: Sequence[bytes]) -> None:
    """A sample of records for one value, at a small k, fits the law of whole records too."""
    check_counts(oracle, value, records)
    tally = Counter(records)
    if prefix_size(oracle):
        _check_ranks(oracle, value, tally)
        _check_uniform_bits([record[: prefix_size(oracle)] for record in records[:3000]])
    else:
        law = {z: float(oracle.probability(z, value)) for z in suffixes(oracle)}
        check_chi_squared([(tally[z], len(records) * share) for z, share in law.items()])


def _check_ranks(oracle: FrequencyOracle, value: int, tally: Counter[bytes]) -> None:
    # Prefixes hardly ever repeat, so records are compared by their place in the order "likeliest
    # first" among those of the same prefix; the law of the place is the same for every prefix.
    endings, size = suffixes(oracle), prefix_size(oracle)
    places: Counter[int] = Counter()
    law: list[float] = []
    for record in islice(tally, 2000):
        ranked = sorted((-float(oracle.probability(record[:size] + z, value)), z) for z in endings)
        law = [-minus for minus, _ in ranked]
        places[[z for _, z in ranked].index(record[size:])] += tally[record]
    n = places.total()
    check_chi_squared([(places[i], n * share) for i, share in enumerate(law)])


def check_count(count: int, n: int, chance: Fraction) -> None:
    """A binomial count is not in either tail of FALSE_ALARM/2, exactly."""
    tails = stats.binom.cdf(count, n, float(chance)), stats.binom.sf(count - 1, n, float(chance))
    assert min(tails) > FALSE_ALARM / 2, (
        f"{count} of {n} where {float(n * chance):.1f} are expected: tail {min(tails):.1e}"
    )


def check_chi_squared(cells: Sequence[tuple[int, float]]) -> None:
    """Observed and expected counts agree; cells below 20 expected are pooled."""
    pooled = [cell for cell in cells if cell[1] >= 20]
    rare = [cell for cell in cells if cell[1] < 20]
    expected_rare = sum(expected for _, expected in rare)
    observed_rare = sum(observed for observed, _ in rare)
    if expected_rare >= 20:
        pooled.append((observed_rare, expected_rare))
    elif rare:
        assert stats.poisson.sf(observed_rare - 1, expected_rare) > FALSE_ALARM, "too many rare"
    if len(pooled) < 2:
        return
    statistic = sum((observed - expected) ** 2 / expected for observed, expected in pooled)
    tail = stats.chi2.sf(statistic, len(pooled) - 1)
    assert tail > FALSE_ALARM, f"chi-squared {statistic:.1f} over {len(pooled)} cells: {tail:.1e}"


def interesting_words(oracle: FrequencyOracle) -> Iterator[int]:
    """Words at and around each threshold, each multiple that a draw may divide by, and the ends."""
    marks = {0, Q}
    for threshold in oracle.thresholds.values():
        marks |= {threshold * i for i in range(1, min(oracle.k, 12) + 1)}
        marks.add(threshold * (oracle.k - 1))
    marks |= {Q - Q % m for m in range(1, min(oracle.k, 12) + 1)}
    yield from sorted({m + d for m in marks for d in (-2, -1, 0, 1) if 0 <= m + d < Q})
