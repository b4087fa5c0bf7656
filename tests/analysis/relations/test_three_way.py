"""Tables of three attributes: the truth in clear, margins, coverage, and refusals."""

import numpy as np
import pytest

from hushpoll_analysis import RecordStream, cross_table, joint_table, three_way_table
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.statistic_texts import joint_table_text
from relations_survey import draw, survey

JOINT = np.array(
    [[[0.10, 0.05], [0.02, 0.13], [0.0, 0.10]], [[0.15, 0.05], [0.20, 0.05], [0.05, 0.10]]]
)
NOISY = (("GRR", 2, "2"), ("OUE", 3, "3"), ("BLH", 2, "2"))


def test_clear_attributes_give_their_counted_table():
    published = survey((None, 2, ""), (None, 3, ""), (None, 2, ""))
    codes, records = draw(published, JOINT, 400, 1)
    counted = np.zeros((2, 3, 2))
    np.add.at(counted, tuple(codes[name] for name in "abc"), 1)
    table = three_way_table(records, "a", "b", "c")
    assert table.frequency == pytest.approx(counted / 400, abs=1e-12)
    assert table.cells()[1]["categories"] == ["1", "1", "2"]
    assert len(table.cells()) == 12


def test_its_sums_are_the_cross_tables():
    published = survey(*NOISY)
    _, records = draw(published, JOINT, 3000, 2)
    table = three_way_table(records, "a", "b", "c").frequency
    assert table.sum() == pytest.approx(1, abs=1e-9)
    for axis, (a, b) in enumerate([("b", "c"), ("a", "c"), ("a", "b")]):
        assert table.sum(axis=axis) == pytest.approx(cross_table(records, a, b).frequency, abs=1e-9)


def test_blocks_of_a_stream_give_the_same_table():
    published = survey(*NOISY)
    _, records = draw(published, JOINT, 600, 3)
    parts = RecordStream.trusted(published, iter(np.array_split(records.rows, 5)))
    whole, streamed = (three_way_table(each, "a", "b", "c") for each in (records, parts))
    assert streamed.frequency.tolist() == whole.frequency.tolist()


def test_intervals_cover_and_errors_are_the_deviation():
    published = survey(*NOISY)
    surveys = 120
    tables = [
        three_way_table(draw(published, JOINT, 1500, seed)[1], "a", "b", "c")
        for seed in range(surveys)
    ]
    held = np.mean([(each.lower <= JOINT) & (each.upper >= JOINT) for each in tables], axis=0)
    assert held.min() > 0.95 - 4.5 * (0.95 * 0.05 / surveys) ** 0.5
    deviation = np.std([each.frequency for each in tables], axis=0)
    printed = np.mean([each.standard_error for each in tables], axis=0)
    assert printed == pytest.approx(deviation, rel=0.3)


@pytest.mark.parametrize(
    ("names", "field"), [(("a", "b", "a"), "attributes"), (("a", "b", "x"), "attributes")]
)
def test_attributes_must_be_three_different_ones(names, field):
    published = survey(*NOISY)
    _, records = draw(published, JOINT, 20, 4)
    with pytest.raises(InvalidParameter) as refused:
        three_way_table(records, *names)
    assert refused.value.field == field


def test_table_too_large_to_read_is_refused():
    published = survey((None, 2, ""), (None, 300, ""), (None, 300, ""))
    _, records = draw(published, JOINT, 20, 5)
    with pytest.raises(InvalidParameter, match="has 180000 cells"):
        three_way_table(records, "a", "b", "c")


def test_verdict_foresees_how_far_the_intervals_reach():
    published = survey(*NOISY)
    even = np.full((2, 3, 2), 1 / 12)
    tables = [
        three_way_table(draw(published, even, 1500, seed)[1], "a", "b", "c") for seed in range(5)
    ]
    verdict = tables[0].verdict
    assert (verdict.says, verdict.too_noisy) == ("informative", ())
    assert "can tell a share of a, b and c together" in verdict.sentence
    told = float(verdict.sentence.partition("expected to reach ")[2].partition(" ")[0])
    half = np.median([100 * (each.upper - each.lower) / 2 for each in tables])
    assert told == pytest.approx(half, rel=0.03)
    # it is decided beforehand
    one_sided = np.zeros((2, 3, 2))
    one_sided[0, 0, 0] = 1
    other = three_way_table(draw(published, one_sided, 1500, 1)[1], "a", "b", "c")
    assert other.verdict == verdict


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")])
def test_joint_table_that_is_too_noisy_says_so_first_and_shows_no_number(names):
    published = survey(("GRR", 2, "0.5"), ("OUE", 3, "0.5"), ("BLH", 2, "0.5"))
    few = draw(published, JOINT, 300, 1)[1]
    table = joint_table(few, names, likelihood=False)
    document = table.to_dict()
    verdict = document["verdict"]
    assert next(iter(document)) == "verdict"
    assert (verdict["says"], verdict["too_noisy"]) == ("too noisy to tell", ["cells"])
    text = joint_table_text({"survey": "related", "version": 1, **document})
    assert text.startswith("300 reports at epsilon 1.5 are too noisy to tell a share of")
    assert not any(f"{cell['frequency']:.4f}" in text for cell in document["cells"])
    assert f"{len(document['cells'])} rows that are too noisy to tell are not shown" in text
    file = table.to_table()
    assert file.columns[0].name == "verdict"
    assert {row[0] for row in file.rows} == {"too noisy to tell"}
    assert dict(file.methods)["verdict"] == verdict["sentence"]
    # what the sentence asks for is enough
    enough = draw(published, JOINT, verdict["respondents"], 2)[1]
    assert not joint_table(enough, names, likelihood=False).unbiased.verdict.noisy
