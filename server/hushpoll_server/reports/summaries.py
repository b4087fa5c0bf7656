"""What stands under a question's table: mean and quantiles, and shares of those who answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hushpoll_shared.querying.verdict import part_is_noisy
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


def beside_shares(
    summary: Mapping[str, Any] | None, answered: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what stands beside a question's shares on a page or in a report.

    Parameters
    ----------
    summary, answered : mapping or None
        Ordered answers, and shares of those who answered, as the API gives them; None where the
        question has none.

    Returns
    -------
    dict
        ``summary``, its lines, and ``answered``, the shares of the one question, each with its
        verdict as ``..._verdict`` and as ``..._noisy`` whether it cannot be told; ``assumption`` of
        the shares; ``why_none``, why an estimate has no interval. None where there is nothing.
    """
    found: dict[str, Any] = dict.fromkeys(("summary", "answered", "assumption"))
    found |= {"summary_verdict": None, "summary_noisy": False}
    found |= {"answered_verdict": None, "answered_noisy": False}
    if summary is not None:
        (group,) = summary["groups"]
        found["summary"], found["summary_verdict"] = list(_lines(group)), summary["verdict"]
        found["summary_noisy"] = part_is_noisy(summary["verdict"], "groups")
    if answered is not None:
        (shares,) = answered["attributes"]
        found["answered"], found["answered_verdict"] = shares, answered["verdict"]
        found["answered_noisy"] = part_is_noisy(answered["verdict"], shares["name"])
        found["assumption"] = answered["assumption"]
    return found | {"why_none": _why_none(summary, found["answered"])}


def _why_none(summary: Mapping[str, Any] | None, answered: Mapping[str, Any] | None) -> str | None:
    """Return why an estimate beside a question has no interval; None where each has one."""
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
