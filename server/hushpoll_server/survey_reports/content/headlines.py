"""The finding of a result in a few words: the title of its page, of its chart and in a report.

A headline names an estimate only where the verdict lets it be told, and a difference only where its
interval leaves out zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any, Final

from hushpoll_server.charts.figures import (
    fixed,
    places_of,
    points_figure,
    points_limits,
    scale_figure,
    scale_limits,
    share_figure,
    share_limits,
)
from hushpoll_server.charts.rows import BoundedShare
from hushpoll_server.translations.speech import say
from hushpoll_shared.qualifying.possible import Possible
from hushpoll_shared.queries.answered_shares import SharesOfAnswered
from hushpoll_shared.queries.changes import ChangeOfShares
from hushpoll_shared.queries.cross_tables import JointShares
from hushpoll_shared.queries.dependencies import OutcomesOfTests, name_of
from hushpoll_shared.queries.estimates import EstimatedShares
from hushpoll_shared.queries.independence import OutcomeOfTest
from hushpoll_shared.queries.ordered_answers import OrderedSummary
from hushpoll_shared.queries.ordered_changes import ChangeOfStatistics
from hushpoll_shared.queries.parts import ends_of
from hushpoll_shared.queries.simultaneous_estimates import SharesTogether
from hushpoll_shared.queries.simultaneous_means import MeansTogether
from hushpoll_shared.querying.result import GROUPS, Result
from hushpoll_shared.spelling.text import isolated

TOO_NOISY: Final = "Too noisy to tell"
GO_TOGETHER: Final = "The two go together"
NOT_SHOWN: Final = "Whether the two go together is not shown"
NO_CHANGE: Final = "No change is shown"
CANNOT_TELL: Final = "These answers cannot tell"


def headline_of(result: Result) -> str:
    """Return the finding of any result; empty where its kind has none."""
    if result.verdict is not None and result.verdict.noisy:
        return say(TOO_NOISY)
    return _headline(result)


def of_share(category: str, value: float, lower: float | None, upper: float | None) -> str:
    """Return the headline of a share, such as ``Yes: 25 % (17 to 34 %)``."""
    limits = share_limits(lower, upper)
    figure = share_figure(value, lower, upper)
    words = say("{answer}: {figure}", answer=isolated(category), figure=figure)
    return f"{words} ({limits})" if limits else words


def of_cell(answers: Sequence[str], value: float, lower: float | None, upper: float | None) -> str:
    """Return the headline of a table of shares: that of the answers with the largest one."""
    *first, last = map(isolated, answers)
    both = f"{', '.join(first)} and {last}"
    limits = share_limits(lower, upper)
    return f"Largest share, {both}: {share_figure(value, lower, upper)} ({limits})"


def of_groups(rows: Iterable[Any], group: str, reference: str) -> str:
    """Return the headline of differences of shares between two groups: group minus reference."""
    row = _farthest(rows)
    if row is None:
        return say(
            "{first} and {second}: no difference is shown",
            first=isolated(group),
            second=isolated(reference),
        )
    above, low, high = _upward(row.value, row.lower, row.upper)
    return say(
        "{answer}: {size} more among {first} than among {second} ({limits})"
        if above
        else "{answer}: {size} less among {first} than among {second} ({limits})",
        answer=isolated(row.category),
        size=_size(low, high, row.value),
        first=isolated(group),
        second=isolated(reference),
        limits=_ends(low, high),
    )


def of_differences(rows: Iterable[Any], reference: str) -> str:
    """Return the headline of the largest difference between any group and a reference."""
    top = _farthest(rows)
    return say("No difference is shown") if top is None else of_groups([top], top.group, reference)


def of_change(answer: str, change: BoundedShare | None, since: int | None) -> str:
    """Return the headline of one answer's share over versions, by its change `since` an earlier.

    It is None where no earlier one tells it, and the change where that is too noisy to tell.
    """
    name = isolated(answer)
    if since is None:
        return say("{answer}, in each version", answer=name)
    if change is None:
        return say(
            "{answer}: too noisy to tell what changed since version {version}",
            answer=name,
            version=since,
        )
    if change["lower"] <= 0 <= change["upper"]:
        return say(
            "{answer}: no change is shown since version {version}", answer=name, version=since
        )
    above, low, high = _upward(change["frequency"], change["lower"], change["upper"])
    return say(
        "{answer}: up {size} since version {version} ({limits})"
        if above
        else "{answer}: down {size} since version {version} ({limits})",
        answer=name,
        size=_size(low, high, change["frequency"]),
        version=since,
        limits=_ends(low, high),
    )


def of_change_of_mean(
    change: BoundedShare | None, since: int | None, scale: tuple[float, float]
) -> str:
    """Return the headline of a mean over versions; parameters as of `of_change`."""
    if since is None:
        return say("Mean in each version")
    if change is None:
        return say("Mean: too noisy to tell what changed since version {version}", version=since)
    if change["lower"] <= 0 <= change["upper"]:
        return say("Mean: no change is shown since version {version}", version=since)
    above, low, high = _upward(change["frequency"], change["lower"], change["upper"])
    places = places_of(high - low, scale[1] - scale[0])
    return say(
        "Mean: up by {size} since version {version} ({limits})"
        if above
        else "Mean: down by {size} since version {version} ({limits})",
        size=fixed(abs(change["frequency"]), places),
        version=since,
        limits=say("{low} to {high}", low=fixed(low, places), high=fixed(high, places)),
    )


@singledispatch
def _headline(result: Result) -> str:
    return _of_shares_in_groups(result) if result.told_as == GROUPS else ""


@_headline.register
def _(result: EstimatedShares) -> str:
    return _of_questions(result, [(one.name, one.categories) for one in result.attributes])


@_headline.register
def _(result: SharesTogether) -> str:
    return _of_questions(result, [(one.name, one.categories) for one in result.attributes])


@_headline.register
def _(result: SharesOfAnswered) -> str:
    told = [one for one in result.attributes if not result.too_noisy(one.name)]
    if len(result.attributes) != 1 or not told:
        return _counted(len(told), len(result.attributes))
    known = [row for row in told[0].categories if row.value is not None]
    if not known:
        return CANNOT_TELL
    top = max(known, key=lambda row: row.value or 0.0)
    return of_share(top.category, top.value or 0.0, top.lower, top.upper)


@_headline.register
def _(result: OrderedSummary) -> str:
    scale = ends_of(result.scale)
    if result.differences is not None and not result.too_noisy("differences"):
        rows: list[tuple[str, Any]] = [(one.group, one.mean) for one in result.differences]
        told = [pair for pair in rows if _apart(pair[1])]
        if not told:
            return "No difference of the means is shown"
        group, mean = max(told, key=lambda pair: abs(pair[1].value))
        return (
            f"Mean {_moved(mean, scale, 'higher', 'lower')} among {isolated(group)} than among "
            f"{isolated(result.reference or '')} ({_limits(mean, scale)})"
        )
    if result.too_noisy("groups"):
        return TOO_NOISY
    return _of_means([(one.group, one.mean) for one in result.groups], scale)


@_headline.register
def _(result: MeansTogether) -> str:
    names = list(dict.fromkeys(one.attribute for one in result.means))
    if len(names) != 1:
        told = [name for name in names if not result.too_noisy(name)]
        return _counted(len(told), len(names))
    if result.too_noisy(names[0]):
        return TOO_NOISY
    scale = ends_of(result.scales[0].scale)
    return _of_means([(one.group, one) for one in result.means], scale)


@_headline.register
def _(result: OutcomeOfTest) -> str:
    return GO_TOGETHER if result.conclusion == "dependent" else NOT_SHOWN


@_headline.register
def _(result: OutcomesOfTests) -> str:
    told = [one for one in result.pairs if not result.too_noisy(name_of(one))]
    found = sum(one.conclusion == "dependent" for one in told)
    pairs = f"{len(result.pairs)} pair{'' if len(result.pairs) == 1 else 's'}"
    noisy = len(result.pairs) - len(told)
    rest = f"; {noisy} {'is' if noisy == 1 else 'are'} too noisy to tell" if noisy else ""
    return f"{found} of {pairs} of questions {'goes' if found == 1 else 'go'} together{rest}"


@_headline.register
def _(result: JointShares) -> str:
    if not result.cells:
        return CANNOT_TELL
    top = max(result.cells, key=lambda cell: cell.frequency)
    return of_cell((top.a, top.b), top.frequency, top.lower, top.upper)


def _of_shares_in_groups(result: Any) -> str:
    if result.differences is not None and not result.too_noisy("differences"):
        return of_differences(result.differences, result.reference or "")
    if result.too_noisy("shares"):
        return TOO_NOISY
    known = [one for one in result.shares if one.value is not None]
    if not known:
        return CANNOT_TELL
    best = max(known, key=lambda one: one.value or 0.0)
    words = of_share(best.category, best.value or 0.0, best.lower, best.upper)
    return f"{words} among {isolated(best.group)}"


@_headline.register
def _(result: ChangeOfShares) -> str:
    told = [one for one in result.changes if _apart(one.difference)]
    if not told:
        return NO_CHANGE
    top = max(told, key=lambda one: abs(one.difference.value or 0.0))
    change = top.difference
    above, low, high = _upward(change.value or 0.0, change.lower or 0.0, change.upper or 0.0)
    size = _size(low, high, change.value or 0.0)
    way = "up" if above else "down"
    return f"{isolated(top.label)}: {way} {size} ({_ends(low, high)})"


@_headline.register
def _(result: ChangeOfStatistics) -> str:
    for one in result.changes:
        if one.statistic == "mean":
            if not _apart(one.difference):
                return "No change of the mean is shown"
            low = min(ends_of(result.before.scale)[0], ends_of(result.after.scale)[0])
            high = max(ends_of(result.before.scale)[1], ends_of(result.after.scale)[1])
            change = one.difference
            words = _moved(change, (low, high), "up", "down", first=True)
            return f"Mean {words} ({_limits(change, (low, high))})"
    return ""


def _of_questions(result: Result, questions: Sequence[tuple[str, Sequence[Any]]]) -> str:
    told = [(name, rows) for name, rows in questions if not result.too_noisy(name)]
    if len(questions) != 1 or not told:
        return _counted(len(told), len(questions))
    top = max(told[0][1], key=lambda row: row.frequency)
    return of_share(top.category, top.frequency, top.lower, top.upper)


def _counted(told: int, of: int) -> str:
    if not told:
        return TOO_NOISY
    if told == of:
        return f"All {of} questions can be told" if of > 1 else "The question can be told"
    return f"{told} of {of} questions can be told"


def _of_means(rows: Sequence[tuple[str | None, Any]], scale: Possible) -> str:
    known = [(group, mean) for group, mean in rows if _bounded(mean)]
    if not known:
        return say(CANNOT_TELL)

    def words(mean: Any) -> str:
        return scale_figure(mean.value, mean.lower, mean.upper, scale)

    if len(rows) == 1:
        mean = known[0][1]
        limits = scale_limits(mean.lower, mean.upper, scale)
        return say("Mean {figure} ({limits})", figure=words(mean), limits=limits)
    low, high = (choose(known, key=lambda pair: pair[1].value) for choose in (min, max))
    return (
        f"Mean from {words(low[1])} among {isolated(low[0] or '')} to {words(high[1])} among "
        f"{isolated(high[0] or '')}"
    )


def _bounded(row: Any) -> bool:
    return None not in (row.value, row.lower, row.upper)


def _apart(row: Any) -> bool:
    """Return whether the interval of a difference leaves out zero."""
    return _bounded(row) and (row.lower > 0 or row.upper < 0)


def _farthest(rows: Iterable[Any]) -> Any:
    return max(filter(_apart, rows), key=lambda row: abs(row.value), default=None)


def _upward(value: float, lower: float, upper: float) -> tuple[bool, float, float]:
    """Return whether a difference is above zero, and the ends of its size."""
    return (True, lower, upper) if value > 0 else (False, -upper, -lower)


def _size(low: float, high: float, value: float) -> str:
    return points_figure(abs(value), low, high).lstrip("+")


def _ends(low: float, high: float) -> str:
    """Return the ends of the size of a difference, which needs no signs."""
    return points_limits(low, high).replace("+", "")


def _moved(row: Any, scale: Possible, up: str, down: str, *, first: bool = False) -> str:
    size = fixed(abs(row.value), places_of(row.upper - row.lower, scale[1] - scale[0]))
    way = up if row.value > 0 else down
    return f"{way} by {size}" if first else f"{size} {way}"


def _limits(row: Any, scale: Possible) -> str:
    _, low, high = _upward(row.value, row.lower, row.upper)
    places = places_of(high - low, scale[1] - scale[0])
    return f"{fixed(low, places)} to {fixed(high, places)}"
