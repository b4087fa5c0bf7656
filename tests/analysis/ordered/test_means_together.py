"""Means of several attributes or groups whose intervals hold together."""

import numpy as np
import pytest

from hushpoll_analysis import Records, ordered_summary, simultaneous_means
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many
from relations_survey import draw, survey


@pytest.fixture(scope="module")
def records():
    published = survey(("GRR", 3, "2"), ("OUE", 4, "2"), (None, 2, ""))
    return draw(published, np.full((3, 4, 2), 1 / 24), 1500, 6)[1]


def test_each_mean_has_its_part_of_the_level(records):
    found = simultaneous_means(records, attributes=["b", "a"])
    assert [mean.attribute for mean in found.means] == ["b", "a"]
    for mean in found.means:
        (group,) = ordered_summary(records, mean.attribute, confidence=1 - 0.05 / 2).groups
        assert mean.mean == group.mean
    answer = found.to_dict()
    assert (answer["method"], answer["confidence"], answer["given"]) == ("bonferroni", 0.95, None)
    assert "hold together" in answer["intervals"]
    assert [len(one["scale"]) for one in answer["scales"]] == [4, 3]


def test_groups_count_as_intervals(records):
    found = simultaneous_means(records, given="c", scores={"a": [1, 2, 4]}, confidence=0.9)
    assert [(mean.attribute, mean.group) for mean in found.means] == [
        ("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")
    ]  # fmt: skip
    groups = ordered_summary(
        records, "a", given="c", scores=[1, 2, 4], confidence=1 - 0.1 / 4
    ).groups
    assert [mean.mean for mean in found.means[:2]] == [group.mean for group in groups]


def test_attributes_whose_numbers_are_doubtful_are_told_unless_attributes_are_named():
    wages = {"name": "wage", "role": "plain", "categories": ["500", "750", "1.000", "1.250"]}
    words = {"name": "word", "role": "plain", "categories": ["low", "high"]}
    years = {"name": "year", "role": "sensitive", "protocol": "GRR", "range": [1, 4]}
    draft = {"name": "x", "version": 1, "title": "X", "epsilon": "2"}
    published = Manifest.from_dict(draft | {"attributes": [years, wages, words]}).resolve()
    codes = {name: np.zeros(20, np.int64) for name in ("year", "wage", "word")}
    rows = encode_many(published, codes, np.random.default_rng(1))
    records = Records(published, rows)
    result = simultaneous_means(records).result()
    assert [one.attribute for one in result.means] == ["year"]
    (left,) = result.left_out
    assert left.attribute == "wage"
    assert "'1.000', whose point may mark decimals or thousands; give 4 scores" in left.reason
    assert any(note.startswith("wage is left out: wage has") for note in result.notes())
    assert "left out: wage" in result.methods()
    assert type(result).read(result.to_dict()) == result
    assert simultaneous_means(records, attributes=["year"]).result().left_out == ()
    scored = simultaneous_means(records, scores={"wage": [500, 750, 1000, 1250]}).result()
    assert [one.attribute for one in scored.means] == ["year", "wage"]
    assert scored.left_out == ()


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"attributes": ["a", "a"]}, "attributes"),
        ({"attributes": []}, "attributes"),
        ({"attributes": ["x"]}, "attributes"),
        ({"attributes": ["a"], "scores": {"b": [1, 2, 3, 4]}}, "scores"),
        ({"scores": {"a": [1, 2]}}, "scores"),
        ({"scores": {"x": [1, 2]}}, "scores"),
        ({"attributes": ["a"], "given": "a"}, "given"),
        ({"confidence": 0}, "confidence"),
    ],
)
def test_bad_question_is_refused(records, asked, field):
    with pytest.raises(InvalidParameter) as refused:
        simultaneous_means(records, **asked)
    assert refused.value.field == field
