"""The study of weighted shares at a small size."""

from studies import designs


def test_intervals_of_weighted_shares_cover_and_the_bias_goes():
    chosen = [setting for setting in designs.SETTINGS if setting.n <= 1000]
    rows = [designs.study(setting, 30, [1, number]) for number, setting in enumerate(chosen)]
    assert sum(row.covered for row in rows) / len(rows) > 0.92
    biased = [row for row in rows if row.setting.design in ("weights", "margins")]
    assert all(row.bias_after < row.bias_before for row in biased)
    table = designs.markdown(rows)
    assert table.count("\n") == len(rows) + 1
