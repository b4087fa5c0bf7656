"""The test of shape leaves honest reports alone, and flags those of careless poisoners."""

import math
import random

import numpy as np
import pytest

from hushpoll_analysis import Records, RecordStream
from hushpoll_analysis.report_shape import ALPHA, bernstein, popcount_law, report_shape
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import perturb
from hushpoll_shared import Manifest

K = 20
TESTABLE = ("BLH", "OLH", "RAPPOR", "OUE", "THE")


def survey(protocol, k=K, epsilon="1"):
    return Manifest.from_dict(
        {
            "name": "survey",
            "version": 1,
            "title": "Survey",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "answer", "role": "sensitive", "range": [1, k]},
                {"name": "area", "role": "plain", "range": [1, 4]},
            ],
        }
    ).resolve()


def honest(published, n, rng):
    """Answers of a population that is not uniform."""
    one = published.attribute("answer")
    values = rng.integers(0, one.k, n) * rng.integers(0, 2, n)
    area = np.zeros((n, 1), np.uint8)
    return np.hstack([perturb(one.oracle, values.astype(np.int64), rng), area])


def faked(published, behaviour, n, seed=0):
    """Records of the fleet's own poisoners."""
    from hushpoll_fleet.behaviour import Behaviour, poisoned_record

    rng = random.Random(seed)
    return np.array(
        [
            list(
                poisoned_record(
                    published,
                    Behaviour(behaviour),
                    {"answer": "3", "area": "1"},
                    targets={"answer": 2},
                    rng=rng,
                )
            )
            for _ in range(n)
        ],
        np.uint8,
    )


@pytest.mark.parametrize("protocol", ["OUE", "RAPPOR", "THE"])
@pytest.mark.parametrize("value", [0, 3])
def test_the_law_of_set_bits_is_exact_and_the_same_for_every_answer(protocol, value):
    oracle = create(protocol, k=4, epsilon="1")
    expected = np.zeros(5)
    for bits in range(16):
        expected[bits.bit_count()] += float(oracle.probability(bytes([bits]), value))
    assert popcount_law(oracle) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("protocol", TESTABLE)
def test_honest_reports_are_flagged_no_more_often_than_promised(protocol):
    """400 surveys: more than 12 alarms would happen in 1 of 1,000 such tests at a true 1 %."""
    published = survey(protocol)
    rng = np.random.default_rng(3)
    found = [report_shape(Records(published, honest(published, 400, rng))) for _ in range(400)]
    assert sum(one.flagged for one in found) <= 12
    for level in (0.05, 0.2):
        share = np.mean([one.p_value <= level for one in found])
        assert share <= level + 3 * math.sqrt(level / 400)


@pytest.mark.parametrize(
    ("protocol", "behaviour", "fakes"),
    [
        # of 4,000 reports: what the fleet's poisoners need to be noticed, with room to spare
        ("OUE", "poison-maximal", 100),
        ("OUE", "poison-random", 400),
        ("RAPPOR", "poison-maximal", 100),
        ("THE", "poison-maximal", 100),
        ("THE", "poison-random", 400),
    ],
)
def test_the_poisoners_of_fleets_are_flagged(protocol, behaviour, fakes):
    published = survey(protocol)
    rng = np.random.default_rng(4)
    clean = honest(published, 4000 - fakes, rng)
    assert not report_shape(Records(published, clean)).flagged
    found = report_shape(Records(published, np.vstack([clean, faked(published, behaviour, fakes)])))
    assert found.flagged
    assert found.p_value < 1e-4


@pytest.mark.parametrize("protocol", ["BLH", "OLH"])
def test_random_records_of_local_hashing_are_flagged_when_many(protocol):
    published = survey(protocol, k=4, epsilon="4")
    fakes = faked(published, "poison-random", 1500)
    rng = np.random.default_rng(4)
    found = report_shape(Records(published, np.vstack([honest(published, 2500, rng), fakes])))
    assert found.flagged
    assert "support" in found.attributes[0].finding


@pytest.mark.parametrize("protocol", ["BLH", "OLH"])
def test_one_copied_hash_is_enough(protocol):
    published = survey(protocol)
    records = honest(published, 4000, np.random.default_rng(4))
    records[1, :18] = records[0, :18]
    found = report_shape(Records(published, records))
    assert found.flagged
    assert found.attributes[0].finding == "1 records repeat the hash of another"


def test_counted_hashes_are_flagged():
    published = survey("OLH")
    records = honest(published, 3000, np.random.default_rng(4))
    counted = np.arange(30, dtype="<u8").view(np.uint8).reshape(30, 8)
    records[:30, 8:16] = counted
    found = report_shape(Records(published, records))
    assert found.flagged
    assert "of the hash seed is 0 in" in found.attributes[0].finding


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_careful_poisoner_passes(protocol):
    """Who answers the target and randomises it honestly cannot be told from who means it."""
    published = survey(protocol)
    rng = np.random.default_rng(9)
    one = published.attribute("answer")
    careful = np.hstack([perturb(one.oracle, np.full(2000, 2), rng), np.zeros((2000, 1), np.uint8)])
    assert not report_shape(Records(published, careful)).flagged


@pytest.mark.parametrize("protocol", ["GRR", "SS"])
def test_what_has_no_shape_is_said_so(protocol):
    published = survey(protocol)
    found = report_shape(Records(published, honest(published, 50, np.random.default_rng(1))))
    assert found.p_value is None
    assert not found.flagged
    assert [one.p_value for one in found.attributes] == [None, None]
    document = found.to_dict()
    assert document["attributes"][1]["finding"] == "in clear: any answer is a report"
    assert document["alpha"] == ALPHA


def test_chunks_are_counted_like_the_whole():
    published = survey("OLH")
    records = honest(published, 500, np.random.default_rng(1))
    whole = report_shape(Records(published, records))
    assert (
        report_shape(RecordStream.trusted(published, iter([records[:200], records[200:]]))) == whole
    )


def test_the_bound_on_a_mean_solves_its_inequality():
    p_value = bernstein(0.3, 2.0, 5000, 10)
    x = math.log(4 / p_value)
    assert math.sqrt(2 * 2.0 * x / 5000) + 7 * 10 * x / (3 * 4999) == pytest.approx(0.3)
    assert bernstein(0.0, 2.0, 5000, 10) == 1.0


def test_finding_counts_one_bit_in_words():
    """Records with one bit set each: of the true answer alone, which no device sends so often."""
    published = survey("OUE")
    records = honest(published, 400, np.random.default_rng(5))
    records[:, :-1] = 0
    records[:, 0] = 1
    (tested, *_) = report_shape(Records(published, records)).attributes
    assert tested.finding.startswith("400 records have 1 bit set, where")


def test_no_records_are_refused():
    published = survey("OUE")
    with pytest.raises(InvalidParameter):
        report_shape(Records(published, np.zeros((0, published.layout.record_size), np.uint8)))
