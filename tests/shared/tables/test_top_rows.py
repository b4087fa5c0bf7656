"""Long lists: the largest rows in their order, and one line for the others."""

from __future__ import annotations

import pytest
from rich.table import Table

from hushpoll_shared.cli.result_text import text_of_query
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.tables.top_rows import MOST_ROWS, top_rows

ROWS = [{"n": {"value": value}} for value in (0.1, None, -0.5, 0.3, 0.2)]


@pytest.mark.parametrize(
    ("most", "size", "places", "together"),
    [
        (5, False, [0, 1, 2, 3, 4], 0.0),
        (2, False, [3, 4], -0.4),
        (2, True, [2, 3], 0.3),
        (4, False, [0, 2, 3, 4], 0.0),
    ],
)
def test_largest_rows_stay_in_their_order(most, size, places, together):
    top = top_rows(ROWS, "n.value", most=most, size=size)
    assert top.rows == [ROWS[place] for place in places]
    assert top.left == len(ROWS) - len(places)
    assert top.together == pytest.approx(together)


def test_terminal_shows_the_largest_shares_and_the_sum_of_the_others():
    k = 10_001
    rows = [
        {"category": str(v), "frequency": v / k, "standard_error": 0, "lower": 0, "upper": 1}
        for v in range(k)
    ]
    income = {"name": "income", "role": "plain", "protocol": None, "epsilon": None}
    answer = {
        "n": 9,
        "confidence": 0.95,
        "estimator": "unbiased",
        "intervals": "Each holds.",
        "attributes": [{**income, "categories": rows, "poisoning": None}],
    }
    text = text_of_query(Estimates)(answer)
    lines = text.split("\n")
    assert len(lines) < MOST_ROWS + 20
    assert any(line.split()[1:2] == ["10000"] for line in lines)
    assert not any(line.split()[1:2] == ["9800"] for line in lines)
    words = " ".join(text.replace("│", " ").split())
    assert f"{k - MOST_ROWS:,} others" in words
    assert f"{sum(v / k for v in range(k - MOST_ROWS)):.0f}" in words


def test_terminal_leaves_out_rows_of_every_other_long_table_and_says_so():
    table = Table("name", "number")
    for number in range(1_000):
        table.add_row("row", f"{number}")
    text = rendered(table, "The end.")
    assert " 199 " in text
    assert " 200 " not in text
    assert "800 more rows are left out; --json gives all." in text
    assert text.endswith("The end.")
