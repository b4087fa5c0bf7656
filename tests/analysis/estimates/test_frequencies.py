"""Frequencies from records: streamed, exact where nothing is perturbed, covering where it is."""

import numpy as np
import pytest
from scipy.stats import binomtest

from hushpoll_analysis import (
    Counts,
    Records,
    RecordStream,
    count,
    frequencies,
    frequencies_from_counts,
)
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many


def survey(protocol="GRR", epsilon="2"):
    return Manifest.from_dict(
        {
            "name": "counting",
            "version": 1,
            "title": "Counting",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
                {"name": "age", "role": "sensitive", "range": [1, 9]},
                {"name": "area", "role": "plain", "range": [1, 300]},
            ],
        }
    ).resolve()


def draw(published, n, seed):
    rng = np.random.default_rng(seed)
    codes = {
        "gender": (rng.random(n) < 0.3).astype(int),
        "age": rng.binomial(8, 0.4, n),
        "area": rng.integers(0, 20, n),
    }
    return codes, encode_many(published, codes, rng)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_at_epsilon_64_the_estimate_is_the_truth(protocol):
    published = survey(protocol, "64")
    codes, records = draw(published, 20_000, 1)
    for found in frequencies(Records(published, records)):
        truth = np.bincount(codes[found.name], minlength=len(found.categories)) / 20_000
        # OUE keeps a true bit with probability one half at any epsilon, LH collides at any g
        tolerance = 5 * found.standard_error
        assert (np.abs(found.frequency - truth) <= tolerance + 1e-12).all()
    if protocol in ("GRR", "SS", "RAPPOR"):
        gender = frequencies(Records(published, records))[0]
        assert gender.frequency[1] == pytest.approx(codes["gender"].mean(), abs=1e-3)


def test_an_attribute_in_clear_has_its_share_and_wilsons_interval():
    published = survey()
    codes, records = draw(published, 500, 2)
    area = frequencies(Records(published, records), confidence=0.9)[2]
    counted = np.bincount(codes["area"], minlength=300)
    assert area.frequency.tolist() == pytest.approx((counted / 500).tolist(), abs=1e-15)
    assert (area.protocol, area.epsilon, area.n, area.confidence) == (None, None, 500, 0.9)
    for place in (0, 7, 299):
        wilson = binomtest(int(counted[place]), 500).proportion_ci(0.9, method="wilson")
        limits = area.lower[place], area.upper[place]
        assert limits == pytest.approx((wilson.low, wilson.high), abs=1e-12)


def test_chunks_of_any_size_count_alike(monkeypatch):
    published = survey("OLH")
    _, records = draw(published, 1000, 3)
    whole = count(Records(published, records))
    parts = count(
        RecordStream.trusted(
            published, (records[start : start + 77] for start in range(0, 1000, 77))
        )
    )
    monkeypatch.setattr("hushpoll_analysis.records.counts.CELLS", 13 * published.layout.record_size)
    small = count(Records(published, records))
    added = count(Records(published, records[:400])) + count(Records(published, records[400:]))
    for other in (parts, small, added):
        assert other.n == whole.n == 1000
        for name, support in whole.support.items():
            assert other.support[name].tolist() == support.tolist()


@pytest.mark.parametrize("protocol", ["GRR", "OLH", "SS"])
def test_intervals_cover_the_population(protocol):
    published = survey(protocol)
    truth = np.array([0.7, 0.3])
    surveys = 500
    hits = np.zeros(2)
    for seed in range(surveys):
        _, records = draw(published, 400, [9, seed])
        gender = frequencies(Records(published, records))[0]
        hits += (gender.lower <= truth) & (truth <= gender.upper)
    # four standard deviations of a binomial at 0.95: a Wald interval at half the width fails
    assert (np.abs(hits / surveys - 0.95) < 4 * (0.95 * 0.05 / surveys) ** 0.5).all()


def test_to_dict_is_what_the_api_gives():
    published = survey()
    _, records = draw(published, 100, 5)
    found = frequencies(Records(published, records))[0].to_dict()
    assert (found["name"], found["role"], found["protocol"]) == ("gender", "sensitive", "GRR")
    assert found["epsilon"] == "1"
    assert [one["category"] for one in found["categories"]] == ["Female", "Male"]
    assert set(found["categories"][0]) == {
        "category",
        "frequency",
        "standard_error",
        "lower",
        "upper",
    }
    assert all(type(value) is float for value in list(found["categories"][0].values())[1:])


def test_no_rows_are_refused():
    published = survey()
    empty = Records(published, np.empty((0, published.layout.record_size), np.uint8))
    for records in (empty, RecordStream(published, []), RecordStream(published, [empty])):
        with pytest.raises(InvalidParameter, match="0 records"):
            frequencies(records)
    with pytest.raises(InvalidParameter, match="0 records"):
        frequencies_from_counts(published, Counts.none(published))


def test_counts_of_different_surveys_do_not_add():
    with pytest.raises(InvalidParameter, match="different surveys"):
        Counts.none(survey()) + Counts(0, {"other": np.zeros(2, np.int64)})


def test_a_code_outside_the_domain_is_refused():
    published = survey()
    _, records = draw(published, 10, 6)
    records[4, -2:] = 255
    with pytest.raises(MalformedRecord, match="area") as caught:
        count(Records(published, records))
    assert (caught.value.field, caught.value.reason) == ("area", "range")


def test_a_confidence_outside_its_interval_is_refused():
    published = survey()
    _, records = draw(published, 10, 7)
    with pytest.raises(InvalidParameter) as caught:
        frequencies(Records(published, records), confidence=1.0)
    assert caught.value.field == "confidence"
