"""The study of what blocks and anchors gain: small, and as a whole."""

import pytest

from studies import gains


def test_a_cell_and_a_mean_gain_what_was_asked_for(data_dir):
    (cell, *needed) = gains.cells(10, 1)
    assert cell.ratio <= cell.most
    for row in needed:
        assert row.ratio == pytest.approx(1, abs=0.03)
    rows = gains.anchors(data_dir)
    assert len(rows) == 16
    assert all(row.ratio <= row.most for row in rows)
    assert gains.markdown(rows).count("\n") == 17


def test_an_audit_of_a_block_is_closer_than_those_of_the_splits(data_dir):
    rows = gains.audits(1, 1, data_dir)
    # the two splits that have a name, twice two, and at times another that is better still
    assert 8 <= len(rows) <= 12
    assert all(row.ratio < 1 for row in rows if row.most is not None)


@pytest.mark.slow
def test_every_figure_is_what_was_asked_for(data_dir):
    rows = gains.run_study(500, gains.SEED, data_dir)
    for row in rows:
        assert row.most is None or row.ratio <= row.most, row
        if row.figure == gains.NEEDED:
            assert row.ratio == pytest.approx(1, abs=0.03), row
