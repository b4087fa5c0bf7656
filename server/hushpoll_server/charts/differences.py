"""The Vega-Lite specification of differences between two shares, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hushpoll_server.charts.rows import BoundedShare, Difference, Share
from hushpoll_server.charts.sentences import of_differences
from hushpoll_server.charts.specifications import Chart, estimates_chart
from hushpoll_shared.qualifying.possible import DIFFERENCES


def differences_chart(
    rows: Sequence[Difference], *, minuend: str, subtrahend: str, confidence: float
) -> Chart:
    """Return the chart of differences beside zero, in words of the first minus the second.

    At least one has a value and both limits.
    """
    known = [
        BoundedShare(
            category=row["label"], frequency=row["value"], lower=row["lower"], upper=row["upper"]
        )
        for row in rows
        if row["value"] is not None and row["lower"] is not None and row["upper"] is not None
    ]
    chart = estimates_chart(
        "",
        [Share(**row) for row in known],
        confidence=confidence,
        total=len(rows),
        possible=DIFFERENCES,
        main=None if not known else max(known, key=lambda row: abs(row["frequency"]))["category"],
    )
    sentence = of_differences(known, minuend, subtrahend, confidence)
    return replace(chart, sentence=sentence)
