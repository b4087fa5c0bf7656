"""The study of statistics over blocks and follow-ups at a small size."""

from studies import blocks


def test_intervals_over_blocks_and_follow_ups_cover():
    rows = blocks.run_study(4, 3, protocols=["SS", "OUE"], n=2_000)
    assert [row.statistic for row in rows] == 2 * list(blocks.STATISTICS)
    # few surveys: a wrong law misses far more often, and the seed is fixed
    assert min(row.covered for row in rows) >= 0.5
    assert sum(row.covered for row in rows) / len(rows) > 0.9
    assert blocks.markdown(rows).count("\n") == len(blocks.STATISTICS) + 2
