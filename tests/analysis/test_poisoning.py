"""No attacker who may send any record does better than the closed form, and one does as well."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis import Counts, frequencies_from_counts
from hushpoll_analysis.poisoning import Influence, fakes_for_shift, influence
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
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


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_brute_force_attacker_reaches_the_bound_and_no_more(protocol, epsilon):
    oracle = create(protocol, k=K, epsilon=epsilon)
    supports = every_support(oracle)
    for size in range(1, K + 1):
        targets = set(range(size))
        counted = [
            (len(targets & set(support)) - size * oracle.q) / (oracle.p - oracle.q)
            for support in supports
        ]
        bound = influence(oracle, targets=size)
        assert bound == Influence(max(counted), min(counted))


def test_subset_selection_with_a_larger_subset():
    """k = 5 makes omega 1 or 2 above; here 3 of 5 are always supported."""
    oracle = create("SS", k=K, epsilon="1", omega=3)
    for size, (most, least) in {1: (1, 0), 2: (2, 0), 3: (3, 1), 4: (3, 2), 5: (3, 3)}.items():
        gap = oracle.p - oracle.q
        expected = Influence((most - size * oracle.q) / gap, (least - size * oracle.q) / gap)
        assert influence(oracle, targets=size) == expected


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
    best = max(every_support(oracle), key=lambda support: (0 in support, -len(support)))
    worst = min(every_support(oracle), key=lambda support: (0 in support, -len(support)))
    genuine, fakes = 1000, 10
    honest = support_counts(
        oracle, np.array([list(_record(oracle, rng)) for _ in range(genuine)], np.uint8)
    )
    before = _estimate(published, honest, genuine)
    lower, upper = influence(oracle).shift(fakes=fakes, genuine=genuine, frequency=before)
    for support, shift in ((best, upper), (worst, lower)):
        added = honest + fakes * np.array([v in support for v in range(K)])
        after = _estimate(published, added, genuine + fakes)
        assert after - before == pytest.approx(float(shift), abs=1e-12)
        # told from the poisoned estimate alone, the honest one is at the end of the range
        given = influence(oracle).without(after, Fraction(fakes, genuine + fakes))
        assert min(abs(end - before) for end in given) < 1e-9


def _record(oracle, rng):
    from hushpoll_protocols import ReplayBits

    words = [int(word) for word in rng.integers(0, 2**64, 40, dtype=np.uint64)]
    return oracle.randomize(int(rng.integers(0, K)), ReplayBits(words))


def _estimate(published, support, n):
    (found,) = frequencies_from_counts(published, Counts(n, {"answer": support}))
    return found.frequency[0]


def test_in_clear_a_fake_is_one_answer():
    assert influence(None) == Influence(Fraction(1), Fraction(0))
    assert influence(None, k=4, targets=4) == Influence(Fraction(1), Fraction(1))
    assert influence(None).shift(fakes=1, genuine=99, frequency=0) == (0, Fraction(1, 100))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_privacy_makes_fakes_heavier(protocol):
    weights = [influence(create(protocol, k=10, epsilon=e)).up for e in ("0.1", "1", "4")]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("frequency", [0.0, 0.3])
def test_the_fewest_fakes_for_a_shift_are_the_fewest(protocol, frequency):
    oracle = create(protocol, k=10, epsilon="1")
    fakes = fakes_for_shift(oracle, genuine=10_000, shift=0.05, frequency=frequency)
    one = influence(oracle)
    assert one.shift(fakes=fakes, genuine=10_000, frequency=frequency)[1] >= 0.05
    assert one.shift(fakes=fakes - 1, genuine=10_000, frequency=frequency)[1] < 0.05


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
    weight = (1 - oracle.q) / (oracle.p - oracle.q)
    assert answer["poisoning"] == {
        "one_fake_adds": float(weight),
        "one_fake_removes": float(oracle.q / (oracle.p - oracle.q)),
        "fake_share": 0.01,
        "raised_by": float(weight / 100),
        "lowered_by": float((1 + oracle.q / (oracle.p - oracle.q)) / 100),
    }
    assert area["poisoning"] == {
        "one_fake_adds": 1.0,
        "one_fake_removes": 0.0,
        "fake_share": 0.01,
        "raised_by": 0.01,
        "lowered_by": 0.01,
    }


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda one: influence(one, targets=0), "targets"),
        (lambda one: influence(one, targets=11), "targets"),
        (lambda one: influence(one).shift(fakes=-1, genuine=1, frequency=0), "fakes"),
        (lambda one: influence(one).shift(fakes=1, genuine=0, frequency=0), "genuine"),
        (lambda one: influence(one).without(0.5, Fraction(1)), "share"),
        (lambda one: fakes_for_shift(one, genuine=10, shift=0.0), "shift"),
        (lambda one: fakes_for_shift(one, genuine=10, shift=0.5, frequency=0.5), "shift"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call(create("OUE", k=10, epsilon="1"))
    assert caught.value.field == field
