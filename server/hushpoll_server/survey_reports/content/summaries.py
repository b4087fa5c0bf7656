"""What stands beside a question's table: mean and quantiles, and shares of those who answered.

Of a follow-up shares of those who were asked stand before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from hushpoll_server.charts.figures import fixed, places_of
from hushpoll_server.translations.speech import in_marks, said, say
from hushpoll_shared.qualifying.possible import Possible, cut_ends, is_cut
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.ordered_answers import ANYWHERE, could_be_any, possible_of
from hushpoll_shared.queries.parts import Score, ends_of
from hushpoll_shared.spelling.intervals import CANNOT_CONCLUDE, cannot_conclude
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED

Line = tuple[str, str, str]
"""Words, estimate and interval."""

UNKNOWN: Final = "cannot conclude"
_BY_MIDDLE: Final = "Mean, with the middle of each interval"
_MEANS: Final = {
    "mean": "Mean",
    "least": "Mean, if all lie at the lower ends of their intervals",
    "greatest": "Mean, if all lie at the upper ends",
    "nps": "Net promoter score",
}


def beside_shares(
    summary: Mapping[str, Any] | None, answered: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what stands beside a question's shares on a page or in a report; None of what is not.

    They are ``summary``, its lines, with ``summary_cut``, whether one of their intervals is cut,
    and ``answered`` and ``asked``, the shares of the one question among those who answered, and of
    a follow-up among those who were asked, each with its verdict as ``..._verdict`` and as
    ``..._noisy`` whether it cannot be told; ``assumption`` of the shares; ``why_none``, why an
    estimate has no interval.
    """
    found: dict[str, Any] = dict.fromkeys(("summary", "answered", "assumption"))
    found |= {"summary_verdict": None, "summary_noisy": False, "summary_cut": False}
    found |= {"answered_verdict": None, "answered_noisy": False, "asked": None}
    if summary is not None:
        (group,) = summary["groups"]
        # all that is said lies between the lowest and the highest of many scores
        scores = summary["scale"]
        ends = min(scores, key=itemgetter("low")), max(scores, key=itemgetter("high"))
        lines = list(_lines(group, [Score(**one) for one in ends]))
        found["summary"] = [line for line, _ in lines]
        found["summary_cut"] = any(cut for _, cut in lines)
        found["summary_verdict"] = summary["verdict"]
        found["summary_noisy"] = part_is_noisy(summary["verdict"], "groups")
    if answered is not None:
        for shares in answered["attributes"]:
            found["asked" if shares["missing"] == NOT_ASKED else "answered"] = shares
            found["answered_noisy"] = part_is_noisy(answered["verdict"], shares["name"])
        found["answered_verdict"] = answered["verdict"]
        found["assumption"] = said(answered["assumption"])
    return found | {"why_none": _why_none(summary, found["answered"], found["asked"])}


def _why_none(summary: Mapping[str, Any] | None, *shares: Mapping[str, Any] | None) -> str | None:
    """Return why an estimate beside a question has no interval; None where each has one."""
    rows: list[Mapping[str, Any] | None] = []
    if summary is not None:
        (group,) = summary["groups"]
        rows += [*(group[name] for name in _MEANS), *group["quantiles"]]
    for among in shares:
        if among is not None:
            rows += [among["answered"], *among["categories"]]
    return said(CANNOT_CONCLUDE) if cannot_conclude(rows) else None


def _lines(group: Mapping[str, Any], scale: Sequence[Score]) -> Iterator[tuple[Line, bool]]:
    """Yield what is said of a group, each line with whether its interval is cut."""
    for name, words in _MEANS.items():
        number = group[name]
        if number is None:
            continue
        if name == "mean" and group["least"] is not None:
            words = _BY_MIDDLE
        yield _line(say(words), number, possible_of(name, scale), nothing=number["says_nothing"])
    for quantile in group["quantiles"]:
        words = say("Median")
        if quantile["q"] != 0.5:
            words = say("Quantile {figure}", figure=in_marks(f"{quantile['q']:g}"))
        line, cut = _line(words, quantile, ends_of(scale), nothing=False)
        if could_be_any(quantile["lower"], quantile["upper"], scale):
            line = line[0], say(ANYWHERE), line[2]
        yield line, cut


def _line(
    words: str, number: Mapping[str, Any], possible: Possible, *, nothing: bool
) -> tuple[Line, bool]:
    if number["value"] is None:
        return (words, "", say(UNKNOWN)), False
    lower, upper = cut_ends(number["lower"], number["upper"], possible)
    places = places_of(number["upper"] - number["lower"], possible[1] - possible[0])
    low, high, value = (fixed(one, places) for one in (lower, upper, number["value"]))
    limits = say("{low} to {high}", low=low, high=high)
    line = words, value, f"{limits}, {say(UNKNOWN)}" if nothing else limits
    return line, is_cut(number["lower"], number["upper"], possible)
