"""The table of a regression: a row for each coefficient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hushpoll_shared.tables.result_table import ResultTable, columns

_COEFFICIENTS: Final = columns(
    name="text",
    term="text",
    category="text",
    estimate="number",
    standard_error="number",
    statistic="number",
    p_value="number",
    lower="number",
    upper="number",
    method="text",
    simultaneous_lower="number",
    simultaneous_upper="number",
    expected_standard_error="number",
    odds_ratio="number",
    odds_ratio_lower="number",
    odds_ratio_upper="number",
    plain="number",
    plain_standard_error="number",
)
_ABOUT: Final = (
    *("formula", "family", "n", "dropped", "log_likelihood", "standard_errors", "confidence"),
    "plain_is_wrong",
)


def regression_table(answer: Mapping[str, Any]) -> ResultTable:
    """Return a regression as a table with a row for each coefficient of the outcome's model.

    Parameters
    ----------
    answer : mapping
        As ``hushpoll regress data --json`` gives it.
    """
    rows = []
    for one in answer["coefficients"]:
        odds, plain = one["odds_ratio"] or {}, one["plain"] or {}
        rows.append(
            {
                **one,
                "odds_ratio": odds.get("estimate"),
                "odds_ratio_lower": odds.get("lower"),
                "odds_ratio_upper": odds.get("upper"),
                "plain": plain.get("estimate"),
                "plain_standard_error": plain.get("standard_error"),
            }
        )
    about = {
        "outcome": answer["outcome"]["name"],
        "reference": answer["outcome"]["reference"],
        "verdict": answer["verdict"]["sentence"],
        "perturbed": ", ".join(answer["perturbed"]),
        "converged": str(answer["convergence"]["converged"]).lower(),
        "notes": " ".join(f"{note}." for note in answer["notes"]),
        **{name: answer[name] for name in _ABOUT},
    }
    return ResultTable.of("regression", _COEFFICIENTS, rows, about)
