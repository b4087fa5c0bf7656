"""What other versions of a survey told of questions that they ask with the same answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_protocols.errors import HushpollError
from hushpoll_server.charts.rows import BoundedShare
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.waves import (
    MEAN,
    MOST_WAVES,
    Wave,
    WaveOfQuestion,
    bounded,
    mean_of,
    shares_tell,
)
from hushpoll_shared.qualifying.verdict import INFORMATIVE
from hushpoll_shared.queries.changes import Change
from hushpoll_shared.queries.estimates import EstimatedShares, Estimates
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.ordered_changes import OrderedChange
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

R = TypeVar("R", bound=Result)


class Ask(Protocol):
    """Returns the result of a query about a version, or about it and another one."""

    def __call__(self, row: VersionRow, query: Query[R], before: VersionRow | None = None) -> R:
        """Return the result; raises `HushpollError` where there is none, or none to see."""


def waves_of(
    row: VersionRow,
    others: Collection[VersionRow],
    names: Sequence[str],
    *,
    confidence: float,
    seen: Callable[[VersionRow], Published],
    over: Callable[[VersionRow], bool],
    ask: Ask,
) -> list[Wave]:
    """Return what other versions of a survey told, from the earliest of the newest `MOST_WAVES`.

    `seen` and `over` return the survey of a version with the groups that may be seen, and whether
    its answers in clear may be shown: not while they still come, where two looks tell the answers
    between. `ask` answers a query.
    """
    try:
        now = {one.name: one for one in seen(row).attributes}
    except HushpollError:
        return []
    found: list[Wave] = []
    dated: set[str] = set()
    for wave in sorted(others, key=lambda one: -one.version)[: MOST_WAVES - 1]:
        try:
            published = seen(wave)
            then = {one.name: one for one in published.attributes}
            same = [
                name
                for name in names
                if name in now
                and name in then
                and _alike(then[name], now[name])
                and (then[name].perturbed or over(wave))
            ]
            shares = ask(wave, Estimates(confidence=confidence)) if same else None
        except HushpollError:  # it has no results yet, or none that this reader may see
            continue
        if shares is None:
            continue
        questions = {}
        for name in same:
            question = _question(wave, published, name, shares, ask)
            if question["rows"] and wave.version < row.version and name not in dated:
                dated.add(name)
                question["changes"] = _changes(row, wave, now[name], confidence, ask)
            questions[name] = question
        found.append({"version": wave.version, "questions": questions})
    return found[::-1]


def _alike(then: PublishedAttribute, now: PublishedAttribute) -> bool:
    return (then.domain, then.number) == (now.domain, now.number)


def _question(
    wave: VersionRow, published: Published, name: str, shares: EstimatedShares, ask: Ask
) -> WaveOfQuestion:
    (estimates,) = (one for one in shares.attributes if one.name == name)
    rows = []
    informative = shares.verdict is None or shares.verdict.says == INFORMATIVE
    if informative and not shares.too_noisy(name) and shares_tell(published, name, None):
        rows += [
            bounded(one.category, one.frequency, one.lower, one.upper)
            for one in estimates.categories
        ]
    if is_ordered(published.attribute(name)):
        with suppress(HushpollError):  # its mean has no estimate
            rows.append(mean_of(ask(wave, Ordered(attribute=name, confidence=shares.confidence))))
    return {"n": estimates.n or shares.n, "rows": [one for one in rows if one], "changes": []}


def _changes(
    row: VersionRow, wave: VersionRow, asked: PublishedAttribute, confidence: float, ask: Ask
) -> list[BoundedShare]:
    """Return this version minus another one; nothing of what is too noisy to tell."""
    found: list[BoundedShare | None] = []
    about: Any = {
        "attribute": asked.name, "since_version": wave.version, "confidence": confidence,
    }  # fmt: skip
    with suppress(HushpollError):
        changes = ask(row, Change(**about), wave)
        if not changes.too_noisy("changes"):
            found += [
                bounded(one.label, one.difference.value, one.difference.lower, one.difference.upper)
                for one in changes.changes
                if one.difference.value is not None
            ]
    if is_ordered(asked):
        with suppress(HushpollError):
            means = ask(row, OrderedChange(**about), wave)
            if not means.too_noisy("changes"):
                found += [
                    bounded(MEAN, one.difference.value, one.difference.lower, one.difference.upper)
                    for one in means.changes
                    if one.statistic == "mean" and one.difference.value is not None
                ]
    return [one for one in found if one is not None]
