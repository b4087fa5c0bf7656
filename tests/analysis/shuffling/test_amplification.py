"""The bound of a shuffled crowd holds, by enumeration, beside figures and formulas of others."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from enumerated_law import tables
from hushpoll_analysis.shuffling import (
    MARGIN,
    N_MAX,
    Randomizer,
    _excess,
    _kinds,
    divergence,
    drawn_randomizer,
    record_randomizer,
    shuffled_epsilon,
)
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter


def grr(k, epsilon):
    ratio = Fraction(math.exp(epsilon))
    return Randomizer(ratio, (ratio - 1) / (ratio + k - 1))


def record_law(oracle):
    """Return the chances of each support by answer, f64[k, m]; a hash collides with chance 1/g."""
    if hasattr(oracle, "g"):
        assert oracle.k == 2
        p, q, together = float(oracle.p), oracle.R / 2**64, 1 / oracle.g
        apart = 1 - together
        alone = [[apart * p, apart * q], [apart * q, apart * p]]
        rest = [together * p, together * (1 - p) + apart * (1 - p - q)]
        return np.array([[*row, *rest] for row in alone])
    (table,) = tables(oracle)
    return np.array([row.likelihood for row in table], dtype=float).T


def exact_divergence(law, pair, others, epsilon):
    """Return sup_A (Pr0[A] - e^epsilon Pr1[A]) of the counts of messages, by enumeration."""

    def with_message(counts, chances):
        longer = defaultdict(float)
        for seen, share in counts.items():
            for message, chance in enumerate(chances):
                many = list(seen)
                many[message] += 1
                longer[tuple(many)] += share * chance
        return longer

    counts = {(0,) * law.shape[1]: 1.0}
    for answer in others:
        counts = with_message(counts, law[answer])
    first, second = (with_message(counts, law[answer]) for answer in pair)
    return sum(max(share - math.exp(epsilon) * second[seen], 0.0) for seen, share in first.items())


def largest_exact(law, n, epsilon):
    answers = range(len(law))
    return max(
        exact_divergence(law, pair, others, epsilon)
        for first, second in combinations(answers, 2)
        for pair in ((first, second), (second, first))
        for others in combinations_with_replacement(answers, n - 1)
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("epsilon", ["0.5", "2", "20"])
def test_bound_is_above_the_enumerated_divergence_of_a_crowd(protocol, epsilon):
    k = 2 if protocol in {"BLH", "OLH", "RAPPOR", "OUE", "THE"} else 3
    oracle = create(protocol, k=k, epsilon=epsilon)
    randomizer = record_randomizer([oracle])
    for share in (0.2, 0.6):
        at = share * float(oracle.realized_epsilon)
        exact = largest_exact(record_law(oracle), 4, at)
        assert exact <= divergence(randomizer, 4, at) * (1 + 1e-9), share


def test_bound_is_above_the_enumerated_divergence_of_records_of_two_attributes():
    oracles = [create("GRR", k=2, epsilon="1"), create("GRR", k=2, epsilon="0.5")]
    laws = [record_law(oracle) for oracle in oracles]
    law = np.array([np.outer(a, b).ravel() for a, b in product(*laws)])
    randomizer = record_randomizer(oracles)
    distance = 0.5 * max(np.abs(a - b).sum() for a, b in combinations(law, 2))
    assert float(randomizer.distance) == pytest.approx(distance, rel=1e-6)
    assert randomizer.distance >= distance
    for at in (0.1, 0.6, 1.2):
        assert largest_exact(law, 4, at) <= divergence(randomizer, 4, at)


@pytest.mark.parametrize("answer", [1, 2])
def test_bound_is_above_the_enumerated_divergence_of_drawn_records(answer):
    """Of three questions some are sent; another is sent always where one is drawn."""
    drawn = [create("GRR", k=2, epsilon="1"), create("GRR", k=2, epsilon="1")]
    drawn.append(create("SS", k=3, epsilon="0.7"))
    kinds = _kinds(drawn, answer)
    subsets = list(combinations(range(3), answer))
    assert sum(chance for chance, _ in kinds) == 1
    assert len(kinds) == 2
    laws = [record_law(oracle) for oracle in drawn]
    rows = []
    for answers in product(*(range(oracle.k) for oracle in drawn)):
        row = []
        for subset in subsets:
            record = np.ones(1)
            for place in subset:
                record = np.outer(record, laws[place][answers[place]]).ravel()
            row.extend(record / len(subsets))
        rows.append(row)
    law = np.array(rows)
    assert law.sum(axis=1) == pytest.approx(1)
    randomizer = drawn_randomizer(kinds)
    distance = 0.5 * max(np.abs(a - b).sum() for a, b in combinations(law, 2))
    assert distance <= randomizer.distance == pytest.approx(distance, rel=1e-6)
    assert (law[:, None] / law[None]).max() <= float(randomizer.ratio) * (1 + 1e-9)
    for at in (0.1, 0.6):
        # the pair that differs in every question, beside all others
        exact = max(
            exact_divergence(law, (0, len(law) - 1), others, at)
            for others in combinations_with_replacement(range(0, len(law), 3), 2)
        )
        assert exact <= divergence(randomizer, 3, at) * (1 + 1e-9)


def test_many_kinds_of_choices_have_the_distance_that_the_ratio_allows():
    oracles = [create("GRR", k=2 + place, epsilon="1") for place in range(12)]
    kinds = _kinds(oracles, 6)
    assert len(kinds) == math.comb(12, 6)
    found = drawn_randomizer(kinds)
    assert found.distance == 1
    assert found.ratio == max(record_randomizer(chosen).ratio for _, chosen in kinds)


def test_two_counts_are_below_the_enumerated_divergence_and_three_above():
    """Why a third kind of message is counted: GRR, k = 3, epsilon 1, five people, .5 afterwards."""
    k, epsilon, n, at = 3, 1.0, 5, 0.5
    e = math.exp(epsilon)
    alpha = 1 / (e + k - 1)
    crowd = np.array([alpha, alpha, 1 - 2 * alpha])
    person = [[e * alpha, alpha], [alpha, e * alpha]]
    law = np.vstack([[*row, 1 - sum(row)] for row in person] + [crowd])
    two = exact_divergence(law, (0, 1), [2] * (n - 1), at)
    oracle = create("GRR", k=k, epsilon="1")
    exact = largest_exact(record_law(oracle), n, at)
    three = divergence(record_randomizer([oracle]), n, at)
    assert (round(two, 4), round(exact, 4), round(three, 4)) == (0.0499, 0.0522, 0.0625)


@pytest.mark.parametrize(("k", "epsilon"), [(10, 0.110), (100, 0.069)])
def test_crowd_of_a_hundred_thousand_has_the_published_epsilon(k, epsilon):
    found = shuffled_epsilon(grr(k, 4.0), 100_000, 1e-6)
    assert round(found, 3) == epsilon


def closed_form(epsilon, n, delta):
    """Return the bound of Feldman, McMillan and Talwar (SODA 2023, theorem 3.2)."""
    e = math.exp(epsilon)
    spread = 4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * n)) + 4 / n
    return math.log1p((e - 1) * spread)


def test_bound_is_below_the_closed_form():
    assert round(closed_form(4.0, 100_000, 1e-6), 3) == 0.408
    for epsilon, n, delta in [(4.0, 100_000, 1e-6), (1.0, 10_000, 1e-5), (0.2, 2_000, 1e-8)]:
        assert shuffled_epsilon(grr(2, epsilon), n, delta) < closed_form(epsilon, n, delta)


def test_bound_is_the_mean_over_drawn_crowds():
    randomizer, n, at = grr(10, 2.0), 500, 0.2
    p, e, alpha = math.exp(2), math.exp(at), randomizer.alpha
    third = (1 - alpha - p * alpha) / p
    kinds = [alpha, alpha, third, 1 - 2 * alpha - third]
    counts = np.random.default_rng(4).multinomial(n, kinds, size=400_000)[:, :3]
    gains = np.maximum(counts @ [p - e, 1 - p * e, p * (1 - e)], 0.0) / n
    error = gains.std() / math.sqrt(len(gains))
    found = divergence(randomizer, n, at)
    assert gains.mean() - 4 * error < found < 1.01 * gains.mean() + 4 * error


def test_larger_crowds_and_larger_deltas_leave_less():
    crowds = [shuffled_epsilon(grr(4, 2.0), n, 1e-6) for n in (1, 10, 1000, 100_000)]
    assert crowds[0] == pytest.approx(2.0)
    assert crowds == sorted(crowds, reverse=True)
    assert shuffled_epsilon(grr(4, 2.0), 1000, 1e-3) < crowds[2]
    assert shuffled_epsilon(grr(4, 2.0), 1000, 0.9) == 0.0


def test_larger_distance_leaves_more_and_too_large_a_one_counts_as_the_largest():
    ratio = Fraction(20)
    found = [divergence(Randomizer(ratio, b), 300, 0.4) for b in (0.1, 0.4, 0.8, 19 / 21, 1.0)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(found[-2])


@pytest.mark.parametrize("epsilon", [1e-6, 64.0])
def test_extreme_epsilons_have_a_bound(epsilon):
    ratio = Fraction(math.exp(epsilon))
    found = shuffled_epsilon(Randomizer(ratio, (ratio - 1) / (ratio + 1)), 10_000, 1e-6)
    assert 0 <= found <= epsilon * (1 + 1e-9)


def test_incomplete_beta_function_is_within_its_margin():
    """Against sums of whole numbers, where two tails nearly cancel; the margin is far larger."""
    for trials in (7, 500, 20_000):
        spread = math.sqrt(trials) / 2
        for z in (0.3, 3.0, 5.0):
            limit = math.floor(trials / 2 - z * spread) + 0.25
            if limit < 0:
                continue
            whole = math.floor(limit)
            chances, exact = 1, Fraction(0)
            for number in range(whole + 1):
                exact += chances * (Fraction(limit) - number)
                chances = chances * (trials - number) // (number + 1)
            exact /= 2**trials
            found = float(_excess(np.array([trials * 1.0]), np.array([limit]))[0])
            above = found / float(exact) - 1
            # 2e6: terms are that much larger than their difference at most, for 20,000 trials
            assert 0 <= above < 2e6 * MARGIN, (trials, z)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 16.0, 33.0, 48.0, 64.0])
def test_crowd_of_one_has_the_divergence_of_its_own_message(epsilon):
    """Guards: at a huge epsilon the bound lost its digits, and was far below the divergence."""
    randomizer = grr(2, epsilon)
    ratio = float(randomizer.ratio)
    for share in (0.0, 0.5, 0.9, 0.99):
        at = share * epsilon
        own = ratio / (ratio + 1) * -math.expm1(at - float(np.log1p(float(randomizer.ratio - 1))))
        assert own <= divergence(randomizer, 1, at, left_out=1e-6) < own * 1.0001 + 1e-9
    if -math.expm1(-epsilon) * ratio / (ratio + 1) > 2e-6:
        least = epsilon + math.log1p(-1e-6 * (ratio + 1) / ratio)
        assert shuffled_epsilon(randomizer, 1, 1e-6) >= least * (1 - 1e-12)


def test_crowd_above_the_largest_that_was_checked_counts_as_it():
    found = [divergence(grr(4, 1.0), n, 0.001) for n in (N_MAX, 100 * N_MAX)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: shuffled_epsilon(grr(2, 1.0), 0, 1e-6), "n"),
        (lambda: shuffled_epsilon(grr(2, 1.0), 10.5, 1e-6), "n"),
        (lambda: shuffled_epsilon(grr(2, 1.0), 10, 0.0), "delta"),
        (lambda: shuffled_epsilon(grr(2, 1.0), 10, 1.0), "delta"),
        (lambda: shuffled_epsilon(grr(2, 1.0), 10, math.nan), "delta"),
        (lambda: Randomizer(Fraction(1), 0.5), "ratio"),
        (lambda: Randomizer(Fraction(2), 0.0), "distance"),
        (lambda: Randomizer(Fraction(2), 1.5), "distance"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.field == field
