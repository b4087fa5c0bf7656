"""Tables of three attributes: the truth in clear, margins, coverage, and refusals."""

import numpy as np
import pytest

from hushpoll_analysis import RecordStream, cross_table, three_way_table
from hushpoll_protocols.errors import InvalidParameter
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
