"""The mean and quantiles of numbers from anchors: about the answers, which no record has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import conditional_shares, cross_table, ordered_summary
from hushpoll_analysis.records.records import Records
from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest, Published
from hushpoll_shared.wire.batch import encode_many

N = 5000


def survey(epsilon: str = "4", **number: Any) -> Published:
    return Manifest.from_dict(
        {
            "name": "n",
            "version": 1,
            "title": "N",
            "epsilon": epsilon,
            "protocol": "GRR",
            "attributes": [
                {
                    "name": "income",
                    "role": "sensitive",
                    "number": {"low": 0, "high": 10000, "unit": "euros", **number},
                    "missing": "not said",
                },
                {"name": "town", "role": "plain", "categories": ["Oslo", "Bonn"]},
            ],
        }
    ).resolve()


def simulated(published: Published, seed: int) -> tuple[Records, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = np.clip(np.exp(rng.normal(7.5, 0.6, N)), 0, 10000).astype(np.int64)
    silent = rng.random(N) < 0.1
    town = rng.integers(0, 2, N)
    values = np.where(town == 1, values // 2, values)
    codes = {"income": np.where(silent, 10001, values), "town": town}
    records = Records(published, encode_many(published, codes, rng))
    return records, values[~silent], town[~silent]


@pytest.mark.parametrize("aim", ["mean", "quantiles"])
def test_mean_and_quantiles_are_those_of_the_answers(aim: str) -> None:
    published = survey(**{"for": aim})
    anchors = published.attributes[0].anchors
    covered = within = 0
    for seed in range(4):
        records, values, town = simulated(published, seed)
        found = ordered_summary(records, "income", given="town", confidence=0.999)
        for place, group in enumerate(found.groups):
            own = values[town == place]
            covered += group.mean.lower <= own.mean() <= group.mean.upper
            for one in group.quantiles:
                assert {one.lower, one.upper} <= set(anchors)
                within += one.lower <= np.quantile(own, one.q) <= one.upper
    # 8 means and 24 quantiles at 99.9 %; the seeds are fixed.
    assert covered == 8
    assert within == 24
    result = found.result()
    assert result.rounded
    assert any("a quantile lies between its two ends" in note for note in result.notes())


def test_interval_of_the_mean_covers_as_often_as_it_says() -> None:
    published = survey("2")
    covered = 0
    for seed in range(100, 160):
        records, _, _ = simulated(published, seed)
        (group,) = ordered_summary(records, "income", quantiles=()).groups
        # The truth of the population, of which the respondents are a sample.
        covered += group.mean.lower <= TRUTH <= group.mean.upper
    # 60 at 95 %: 57 are expected, with a standard error of 1.7; the seeds are fixed.
    assert 51 <= covered <= 60


def _truth() -> float:
    rng = np.random.default_rng(1)
    values = np.clip(np.exp(rng.normal(7.5, 0.6, 10**6)), 0, 10000).astype(np.int64)
    return float((values.mean() + (values // 2).mean()) / 2)


TRUTH = _truth()


def test_a_number_whose_every_value_is_an_anchor_is_like_categories() -> None:
    published = survey(low=0, high=3, anchors=[0, 1, 2, 3])
    assert not published.attributes[0].rounded
    rng = np.random.default_rng(3)
    codes = {"income": rng.integers(0, 4, 500), "town": rng.integers(0, 2, 500)}
    records = Records(published, encode_many(published, codes, rng))
    found = ordered_summary(records, "income", threshold=2)
    assert found.groups[0].at_least is not None
    assert not found.result().rounded


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"threshold": 2000}, "threshold", "ask for quantiles"),
        ({"scores": [1, 2, 3, 4, 5]}, "scores", "its own score"),
        ({"interpolation": "linear"}, "interpolation", "between the anchors"),
    ],
)
def test_what_anchors_do_not_tell_is_refused(asked: dict[str, Any], field: str, words: str) -> None:
    records, _, _ = simulated(survey(), 1)
    with pytest.raises(InvalidParameter, match=words) as caught:
        ordered_summary(records, "income", **asked)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (lambda records: conditional_shares(records, "income", given="town"), "of"),
        (lambda records: conditional_shares(records, "town", given="income"), "given"),
        (lambda records: cross_table(records, "income", "town"), "a"),
        (lambda records: ordered_summary(records, "income", given="income"), "given"),
    ],
)
def test_shares_of_single_numbers_are_refused_by_name(
    asked: Callable[[Records], object], field: str
) -> None:
    records, _, _ = simulated(survey(), 1)
    with pytest.raises(InvalidParameter, match=r"income") as caught:
        asked(records)
    assert caught.value.field == field
    # What each value is an anchor of, records tell.
    whole = survey(low=0, high=3, anchors=[0, 1, 2, 3])
    codes = {"income": np.arange(400) % 4, "town": np.arange(400) % 2}
    told = Records(whole, encode_many(whole, codes, np.random.default_rng(4)))
    if field in ("of", "a"):
        asked(told)
