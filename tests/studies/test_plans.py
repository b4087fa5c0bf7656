"""The study of plans at a small size: what was said before is off, and what is said now holds."""

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from hushpoll_protocols import create
from studies.plans import (
    bucket_items,
    difference_items,
    earlier_g,
    main,
    markdown,
    recommendation_items,
    share_items,
)


def test_the_chosen_g_never_has_more_variance_and_5_percent_less_for_many_categories():
    items = bucket_items(records=100, seed=1)
    raw = {item.setting.split(":")[0]: item for item in items if ", raw," in item.what}
    assert all(item.now <= item.before for item in raw.values())
    some = raw["OLH, k = 74, ε = 0.5"]
    assert 1 - some.now / some.before == pytest.approx(0.049, abs=0.0005)
    before, now = (
        create("OLH", k=65536, epsilon="0.5", **options).variance(Fraction(1, 65536))
        for options in ({"g": earlier_g("0.5")}, {})
    )
    assert float(1 - now / before) == pytest.approx(0.051, abs=0.0005)


def test_simulated_records_have_the_variance_of_the_law():
    for item in bucket_items(records=20_000, seed=1):
        words = item.should.split()
        assert float(words[1]) == pytest.approx(item.before, rel=0.06), item
        assert float(words[3]) == pytest.approx(item.now, rel=0.06), item


def test_the_share_of_a_small_group_is_covered_and_was_not():
    one_percent, half = share_items(surveys=300, seed=1)
    error = (0.95 * 0.05 / 300) ** 0.5
    for item, before in ((one_percent, 0.66), (half, 0.44)):
        assert item.now > 0.95 - 4 * error
        assert item.before == pytest.approx(before, abs=0.12)


def test_the_planned_difference_has_its_power_and_had_less():
    *items, too_few = difference_items(surveys=600, seed=1)
    error = (0.8 * 0.2 / 600) ** 0.5
    for item in items:
        assert item.now == pytest.approx(0.8, abs=4 * error + 0.01), item
    assert min(item.before for item in items) < 0.72
    assert max(item.before for item in items) < 0.8 + 3 * error
    assert too_few.before > 1
    assert too_few.now is None
    assert "| none |" in markdown([too_few])


def test_the_recommended_option_has_more_power_than_the_one_of_least_variance():
    (item,) = recommendation_items(surveys=600, seed=1)
    assert "SS / optimal before" in item.setting
    assert "SS / uniform now" in item.setting
    assert item.now > item.before + 0.1
    old, new = (float(item.should.split()[place]) for place in (1, 3))
    allowed = 4 * (0.25 / 600 + 0.25 / 1500) ** 0.5
    assert item.before == pytest.approx(old, abs=allowed)
    assert item.now == pytest.approx(new, abs=allowed)


def test_the_command_gives_every_item_as_json():
    run = CliRunner().invoke(main, ["--surveys", "2", "--records", "10", "--json"])
    assert run.exit_code == 0, run.output
    assert len(json.loads(run.output)["items"]) == 2 * 9 + 2 + 6 + 1
