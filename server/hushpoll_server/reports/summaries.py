"""What stands under a question's table: mean and quantiles, and shares of those who answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hushpoll_shared.spelling.intervals import CANNOT_CONCLUDE, cannot_conclude

Line = tuple[str, str, str]
"""Words, estimate and interval."""

UNKNOWN: Final = "cannot conclude"
_MEANS: Final = {
    "mean": "Mean",
    "least": "Mean, if all lie at the lower ends of their intervals",
    "greatest": "Mean, if all lie at the upper ends",
    "nps": "Net promoter score",
}


def summary_lines(summary: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a summary of everybody, as the API gives it."""
    (group,) = summary["groups"]
    return list(_lines(group))


def why_none(summary: Mapping[str, Any] | None, answered: Mapping[str, Any] | None) -> str | None:
    """Return why an estimate beside a question has no interval; None where each has one.

    Parameters
    ----------
    summary, answered : mapping or None
        Of the question, as the API gives them.
    """
    rows: list[Mapping[str, Any] | None] = []
    if summary is not None:
        (group,) = summary["groups"]
        rows += [*(group[name] for name in _MEANS), *group["quantiles"]]
    if answered is not None:
        rows += [answered["answered"], *answered["categories"]]
    return CANNOT_CONCLUDE if cannot_conclude(rows) else None


def _lines(group: Mapping[str, Any]) -> Iterator[Line]:
    for name, words in _MEANS.items():
        number = group[name]
        if number is None:
            continue
        if name == "mean" and group["least"] is not None:
            words = "Mean, with the middle of each interval"
        yield words, *_texts(number, nothing=number["says_nothing"])
    for quantile in group["quantiles"]:
        words = "Median" if quantile["q"] == 0.5 else f"Quantile {quantile['q']:g}"
        yield words, *_texts(quantile, nothing=False)


def _texts(number: Mapping[str, Any], *, nothing: bool) -> tuple[str, str]:
    if number["value"] is None:
        return "", UNKNOWN
    limits = f"{number['lower']:.5g} to {number['upper']:.5g}"
    return f"{number['value']:.5g}", f"{limits}, {UNKNOWN}" if nothing else limits
