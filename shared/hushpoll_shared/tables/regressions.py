"""The table of a regression: a row for each coefficient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hushpoll_shared.spelling.number_texts import (
    decimals_of,
    p_value_text,
    ratio_texts,
    with_decimals,
)
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
    """Return ``hushpoll regress data --json`` as a table, with a row for each coefficient."""
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


@dataclass(frozen=True)
class ShownCoefficient:
    """A coefficient as pages and terminals show it, with the digits that its interval supports."""

    estimate: str | None
    standard_error: str | None
    lower: str | None
    upper: str | None
    p_value: str | None
    plain: str | None
    odds_ratio: str | None
    """The exponential of the estimate; None where that is no odds ratio."""


def shown_coefficient(one: Mapping[str, Any]) -> ShownCoefficient:
    """Return a coefficient of a regression's JSON as it is shown."""
    error, lower, upper = one["standard_error"], one["lower"], one["upper"]
    if error is None and lower is not None and upper is not None:
        error = (upper - lower) / 4
    decimals = decimals_of(error)

    def shown(value: float | None) -> str | None:
        return None if value is None else with_decimals(value, decimals)

    plain, odds = one.get("plain") or {}, one.get("odds_ratio") or {}
    ratio = odds.get("estimate")
    return ShownCoefficient(
        shown(one["estimate"]),
        shown(one["standard_error"]),
        shown(lower),
        shown(upper),
        None if one["p_value"] is None else p_value_text(one["p_value"]),
        shown(plain.get("estimate")),
        None if ratio is None else ratio_texts(ratio, odds["lower"], odds["upper"])[0],
    )


def references_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the answers that others are compared with, by attribute; the outcome's is first."""
    outcome = document["outcome"]
    found = {
        part["predictor"]: part["reference"]
        for one in document["coefficients"]
        for part in one.get("compares", ())
        if part["reference"] is not None
    }
    if outcome["categories"] and document["family"] != "ordered":
        found = {outcome["name"]: outcome["categories"][0], **found}
    return found
