"""No attacker who may send any record does better than the closed form, and one does as well."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis import Counts, frequencies_from_counts
from hushpoll_analysis.estimates.influence import influence, table_influence
from hushpoll_analysis.estimates.joint import Side, estimate_joint
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import support_counts
from hushpoll_shared import Manifest

K = 5


def every_support(oracle):
    """The distinct supports of all well-formed records; of local hashing, of many hashes."""
    if oracle.record_size <= 2:
        records = [bytes(one) for one in itertools.product(range(256), repeat=oracle.record_size)]
    else:
        rng = np.random.default_rng(5)
        seeds = [bytes(16), *(rng.bytes(16) for _ in range(400))]
        records = [seed + bytes([y, 0]) for seed in seeds for y in range(min(oracle.g, 256))]
    found = set()
    for record in records:
        try:
            found.add(oracle.support(record))
        except MalformedRecord:
            continue
    return found


def weight_of(oracle, support, targets, share):
    gap = oracle.p - oracle.q
    debiased = (len(targets & set(support)) - len(targets) * oracle.q) / gap
    return debiased - share * ((len(support) - oracle.k * oracle.q) / gap - 1)


@pytest.mark.parametrize("frequency", [Fraction(0), Fraction(3, 10), Fraction(1)])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_brute_force_attacker_reaches_the_bound_and_no_more(protocol, epsilon, frequency):
    oracle = create(protocol, k=K, epsilon=epsilon)
    supports = every_support(oracle)
    for size in range(1, K + 1):
        targets = set(range(size))
        found = influence(oracle, targets=size)
        share = found.base + found.slope * frequency
        counted = [weight_of(oracle, support, targets, share) for support in supports]
        if protocol == "OLH":  # few of its hashes put all but one category into one bucket
            low, high = found.weights(frequency)
            assert low <= min(counted) <= max(counted) <= high
        else:
            assert found.weights(frequency) == (min(counted), max(counted))


@pytest.mark.parametrize("protocol", ["BLH", "OLH", "RAPPOR", "OUE", "THE"])
def test_the_share_of_the_excess_is_that_of_the_estimates(protocol):
    oracle = create(protocol, k=K, epsilon="1")
    law, one = WeightLaw.of(oracle), influence(oracle)
    assert (float(one.base), float(one.slope)) == pytest.approx((law.base, law.slope), rel=1e-12)


def test_subset_selection_with_a_larger_subset():
    """k = 5 makes omega 1 or 2 above; here 3 of 5 are always supported."""
    oracle = create("SS", k=K, epsilon="1", omega=3)
    for size, (most, least) in {1: (1, 0), 2: (2, 0), 3: (3, 1), 4: (3, 2), 5: (3, 3)}.items():
        gap = oracle.p - oracle.q
        expected = (least - size * oracle.q) / gap, (most - size * oracle.q) / gap
        assert influence(oracle, targets=size).weights(0) == expected


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fakes_shift_the_real_estimate_by_as_much(protocol):
    published = Manifest.from_dict(
        {
            "name": "survey",
            "version": 1,
            "title": "Survey",
            "epsilon": "1",
            "protocol": protocol,
            "attributes": [{"name": "answer", "role": "sensitive", "range": [1, K]}],
        }
    ).resolve()
    oracle = published.attribute("answer").oracle
    rng = np.random.default_rng(1)
    genuine, fakes = 1000, 10
    honest = support_counts(
        oracle, np.array([list(_record(oracle, rng)) for _ in range(genuine)], np.uint8)
    )
    before = _estimate(published, honest, genuine)
    gap, one = oracle.p - oracle.q, influence(oracle)

    def mean_excess(support, n):
        return (Fraction(int(support.sum()), n) - K * oracle.q) / gap - 1

    shifts, hidden = [], []
    for support in every_support(oracle):
        added = honest + fakes * np.array([v in support for v in range(K)])
        after = _estimate(published, added, genuine + fakes)
        shifts.append(after - before)
        # told from the poisoned estimate alone, the honest one is within the range
        excess = mean_excess(added, genuine + fakes)
        low, high = one.without(after, Fraction(fakes, genuine + fakes), excess=excess)
        hidden.append(min(before - low, high - before))
    lower, upper = one.shift(
        fakes=fakes, genuine=genuine, frequency=before, excess=mean_excess(honest, genuine)
    )
    if protocol == "OLH":
        assert lower - 1e-12 <= min(shifts) <= max(shifts) <= upper + 1e-12
        assert min(hidden) > -1e-9
    else:
        assert (min(shifts), max(shifts)) == pytest.approx((float(lower), float(upper)), abs=1e-12)
        assert min(hidden) == pytest.approx(0, abs=1e-9)


def _record(oracle, rng):
    from hushpoll_protocols import ReplayBits

    words = [int(word) for word in rng.integers(0, 2**64, 40, dtype=np.uint64)]
    return oracle.randomize(int(rng.integers(0, K)), ReplayBits(words))


def _estimate(published, support, n):
    (found,) = frequencies_from_counts(published, Counts(n, {"answer": support}))
    return found.frequency[0]


def test_in_clear_a_fake_is_one_answer():
    assert influence(None).weights(0.3) == (0, 1)
    assert influence(None, k=4, targets=4).weights(1) == (1, 1)
    assert influence(None).shift(fakes=1, genuine=99, frequency=0) == (0, Fraction(1, 100))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_privacy_makes_fakes_heavier(protocol):
    weights = [influence(create(protocol, k=10, epsilon=e)).up for e in ("0.1", "1", "4")]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 1


def test_every_estimate_tells_what_fakes_could_do():
    published = Manifest.from_dict(
        {
            "name": "survey",
            "version": 1,
            "title": "Survey",
            "epsilon": "1",
            "protocol": "OUE",
            "attributes": [
                {"name": "answer", "role": "sensitive", "range": [1, 10]},
                {"name": "area", "role": "plain", "range": [1, 4]},
            ],
        }
    ).resolve()
    counts = Counts(100, {"answer": np.full(10, 30), "area": np.full(4, 25)})
    answer, area = (one.to_dict() for one in frequencies_from_counts(published, counts))
    oracle = published.attribute("answer").oracle
    one = influence(oracle)
    assert answer["poisoning"] == {
        "one_fake_adds": float(one.up),
        "one_fake_removes": float(-one.down),
        "fake_share": 0.01,
        "raised_by": float(one.shift(fakes=1, genuine=99, frequency=0)[1]),
        "lowered_by": float(-one.shift(fakes=1, genuine=99, frequency=1)[0]),
    }
    # more than the debiased indicator alone: a fake also stands against the other categories
    assert one.up > (1 - oracle.q) / (oracle.p - oracle.q)
    assert area["poisoning"] == {
        "one_fake_adds": 1.0,
        "one_fake_removes": 0.0,
        "fake_share": 0.01,
        "raised_by": 0.01,
        "lowered_by": 0.01,
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [("OUE", "OUE"), ("GRR", "RAPPOR"), ("SS", "BLH"), ("OLH", None), (None, "THE"), ("GRR", None)],
)
def test_no_pair_of_records_moves_a_cell_by_more_than_the_table_says(first, second):
    """The best of all pairs of fakes reaches the shift, but for what they do to c."""
    k = 3
    oracles = [None if name is None else create(name, k=k, epsilon="1") for name in (first, second)]
    sides = [Side.of(oracle) for oracle in oracles]
    expected = np.outer([0.7, 0.2, 0.1], [0.5, 0.3, 0.2])
    genuine, fakes = 10_000_000, 100_000
    honest = expected_counts(sides, expected, genuine)
    before = estimate_joint(honest, *sides, confidence=0.95)
    found = table_influence(*map(influence, oracles), (before.first, before.second))
    share = fakes / (genuine + fakes)
    shifts = []
    for one, two in itertools.product(*(all_rows(oracle, k) for oracle in oracles)):
        added = JointCounts.of(np.array([one], np.uint8), np.array([two], np.uint8))
        total = honest + JointCounts(
            fakes, fakes * added.first, fakes * added.second, fakes * added.both
        )
        after = estimate_joint(total, *sides, confidence=0.95).frequency
        shifts.append((after - before.frequency) + share * before.frequency)
    low, high = (float(share * end) for end in (found.down, found.up))
    assert np.max(shifts) == pytest.approx(high, rel=0.05)
    assert np.min(shifts) == pytest.approx(low, rel=0.05, abs=1e-6)


def all_rows(oracle, k):
    supports = [(v,) for v in range(k)]
    if oracle is not None and oracle.support_size is None:
        supports = [tuple(v for v in range(k) if bits >> v & 1) for bits in range(2**k)]
    elif oracle is not None:
        supports = list(itertools.combinations(range(k), oracle.support_size))
    return [[int(v in support) for v in range(k)] for support in supports]


def expected_counts(sides, joint, n):
    chances = [
        [
            [float(side.channel.p if v == truth else side.channel.q) for v in range(len(joint))]
            for truth in range(len(joint))
        ]
        for side in sides
    ]
    one, two = (np.array(chance) for chance in chances)
    return JointCounts(
        n,
        np.rint(n * joint.sum(axis=1) @ one).astype(np.int64),
        np.rint(n * joint.sum(axis=0) @ two).astype(np.int64),
        np.rint(n * one.T @ joint @ two).astype(np.int64),
    )


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda one: influence(one, targets=0), "targets"),
        (lambda one: influence(one, targets=11), "targets"),
        (lambda one: influence(one).shift(fakes=-1, genuine=1, frequency=0), "fakes"),
        (lambda one: influence(one).shift(fakes=1, genuine=0, frequency=0), "genuine"),
        (lambda one: influence(one).without(0.5, Fraction(1)), "share"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call(create("OUE", k=10, epsilon="1"))
    assert caught.value.field == field
