"""Means over seeds of an experiment's results.csv: utility and fairness over epsilon.

The file holds metrics of simulations and no rows. It is read from memory, and nothing of it is
kept.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.rows import CurvePoint
from hushpoll_server.errors import Refused
from hushpoll_shared.reading.table_reader import Row, TableReader, open_table

MOST_BYTES: Final = 2 * 2**20
MOST_LINES: Final = 20
MOST_POINTS: Final = 1_000
"""Most means that are drawn: of each line one for each epsilon and metric."""
MOST_TEXT: Final = 40
LARGEST_METRIC: Final = 1e6
CONFIDENCE: Final = 0.95
# The columns that say which line a row belongs to.
OF_A_LINE: Final = ("method", "protocol", "split", "accountant")
NONE: Final = "none"
GAP_IS: Final = "the size of SPD, the difference in shares of positive predictions"


class _Mean(TypedDict):
    """A mean over so many runs, with its interval."""

    mean: float | None
    lower: float | None
    upper: float | None
    runs: int


class Point(CurvePoint):
    """A point with its metric, ``accuracy`` or ``gap``, and how many runs it is a mean of."""

    metric: str
    runs: int


@dataclass(frozen=True)
class Curves:
    """Points of two metrics over epsilon."""

    points: Sequence[Point]
    """``line``, ``metric`` (``accuracy`` or ``gap``), ``epsilon``, ``mean``, ``lower``, ``upper``
    (None with fewer than two runs) and ``runs``.
    """
    without: Mapping[str, Point]
    """The point of NonDP by metric, where the file has it."""
    gap_is: str | None
    """What the gap is, in words; None where the file has none."""


def read_curves(body: bytes) -> Curves:
    """Return the means and intervals of a results.csv that ``hushpoll experiment run`` writes.

    It is UTF-8 of at most `MOST_BYTES`; another file, and one with too many lines or points to
    draw, is refused.
    """
    if len(body) > MOST_BYTES:
        raise Refused(
            "payload-too-large",
            f"the file has more than {MOST_BYTES} bytes; results.csv has a row for each run",
            field="results",
        )
    try:
        with open_table(body, field="results", name="results.csv") as table:
            return _curves(table, _rows(table))
    except InvalidParameter as error:
        raise Refused("invalid-request", str(error), field="results") from None


def _curves(table: TableReader, given: Sequence[tuple[Row, Mapping[str, str]]]) -> Curves:
    rows = [row for _, row in given]
    gap = next((name for name in ("parity_gap", "SPD") if name in rows[0]), None)
    metrics = {"accuracy": "accuracy"} | ({} if gap is None else {"gap": gap})
    varying = [
        name
        for name in OF_A_LINE
        if name in rows[0] and len({row[name] for row in rows if row[name] != NONE}) > 1
    ]
    values: dict[tuple[str, str, float], list[float]] = {}
    for place, row in given:
        line, epsilon = _line(row, varying), _epsilon(table, place)
        for metric, column in metrics.items():
            if row[column]:
                value = abs(_metric(table, place, column))
                values.setdefault((line, metric, epsilon), []).append(value)
    lines = {line for line, _, epsilon in values if math.isfinite(epsilon)}
    if not lines or len(lines) > MOST_LINES:
        raise _no_results(f"it has {len(lines)} lines to draw; draw 1 to {MOST_LINES}")
    if len(values) > MOST_POINTS:
        raise _no_results(
            f"it has {len(values)} points to draw, one for each epsilon of a line and of a metric; "
            f"draw at most {MOST_POINTS}"
        )
    points: list[Point] = [
        {"line": line, "metric": metric, "epsilon": epsilon, **_mean(found)}
        for (line, metric, epsilon), found in sorted(values.items())
    ]
    without = {
        point["metric"]: point
        for point in points
        if math.isinf(point["epsilon"]) and point["line"] == "NonDP"
    }
    return Curves(
        [point for point in points if math.isfinite(point["epsilon"])],
        without,
        None if gap is None else GAP_IS,
    )


def _rows(table: TableReader) -> Sequence[tuple[Row, Mapping[str, str]]]:
    for name in ("epsilon", "seed", "accuracy"):
        if name not in table.header:
            raise _no_results(f"it has no column {name}")
    rows = [(row, dict(zip(table.header, row.cells, strict=True))) for row in table.rows()]
    if not rows:
        raise _no_results("it has no rows")
    return rows


def _line(row: Mapping[str, str], varying: Iterable[str]) -> str:
    if row.get("method", row.get("protocol")) == "NonDP":
        return "NonDP"
    words = [row[name][:MOST_TEXT] for name in varying if row[name] != NONE]
    return " ".join(words) or row.get("method", row.get("protocol", "all"))[:MOST_TEXT]


def _epsilon(table: TableReader, row: Row) -> float:
    """Return the epsilon that a row spends: the central one, or else that of the devices."""
    epsilon = _number(table, row, "epsilon")
    if math.isinf(epsilon) and "local_epsilon" in table.header:
        local = row.cells[table.header.index("local_epsilon")]
        epsilon = _number(table, row, "local_epsilon") if local else epsilon
    if math.isnan(epsilon) or epsilon <= 0:
        raise _no_results(f"{row.place} has an epsilon that is not above 0")
    return epsilon


def _number(table: TableReader, row: Row, column: str) -> float:
    return table.number(row, table.header.index(column), beyond=True)


def _metric(table: TableReader, row: Row, column: str) -> float:
    """Return a metric, which may be missing (NaN) or infinite."""
    value = _number(table, row, column)
    if LARGEST_METRIC < abs(value) < math.inf:
        raise _no_results(
            f"{row.place} has {value:g} in {column[:MOST_TEXT]}, and a metric is in "
            f"[-{LARGEST_METRIC:.0e}, {LARGEST_METRIC:.0e}]"
        )
    return value


def _mean(values: Sequence[float]) -> _Mean:
    """Return a mean over seeds, and Student's interval of it, within the metrics' range [0, 1]."""
    known = [value for value in values if math.isfinite(value)]
    mean, runs = statistics.fmean(known) if known else None, len(known)
    if mean is None or runs < 2:
        return {"mean": mean, "lower": None, "upper": None, "runs": runs}
    from scipy.special import stdtrit  # slow to import, and a server starts without it

    quantile = float(stdtrit(runs - 1, (1 + CONFIDENCE) / 2))
    half = quantile * statistics.stdev(known) / math.sqrt(runs)
    lower, upper = max(0.0, mean - half), min(1.0, mean + half)
    return {"mean": mean, "lower": lower, "upper": upper, "runs": runs}


def _no_results(why: str) -> Refused:
    return Refused(
        "invalid-request",
        f"the file is no results.csv: {why}; give the one in the --out of hushpoll experiment run",
        field="results",
    )
