"""Statistics of questions that are in draws: of the respondents who answer all of them.

Which blocks a device answers does not depend on the answers, so those who answer some questions are
respondents like all others, only fewer. A statistic of these questions is therefore the statistic
of their records, and n is how many they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any, TypeVar

from hushpoll_analysis.records.domains import asked_group
from hushpoll_analysis.records.source import Source
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.querying.query import Query
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.draws import Draw

R = TypeVar("R")


def of_those_who_answer(maths: Callable[..., R]) -> Callable[..., R]:
    """Make a function of a query and its sources be about those who answer all that it names.

    A function without it refuses questions that are in draws. It is the outermost decorator, so
    that verdicts are about these respondents, too.
    """

    @functools.wraps(maths)
    def among(query: Query[Any], *sources: Source) -> R:
        named = tuple(query.names())
        return maths(
            query, *(answering(source, _with_group(query, named, source)) for source in sources)
        )

    return among


def _with_group(query: Query[Any], named: Collection[str], source: Source) -> Collection[str]:
    group = asked_group(query.where, source.published)
    return named if group is None else (*named, group[0])


def answering(source: Source, names: Collection[str]) -> Source:
    """Return the source of the records that answer all of these questions, if there are any."""
    published = source.published
    if not published.draws:
        return source
    known = [one.name for one in published.attributes if one.name in names]
    require_answered(published, known)
    return source.answering(known)


def of_respondents(
    published: Published, names: Collection[str], n: int, *, field: str = "attribute"
) -> tuple[Published, int]:
    """Return the survey as it is of those who answer some questions, and how many of n they are.

    Of the survey that is returned none of these questions is in a draw; the number is the expected
    one, rounded down, at least 1. It refuses, naming `field`, if nobody answers all of them.
    """
    if not published.draws:
        return published, n
    require_answered(published, names, field=field)
    return published.answering(names), max(int(n * part_answering(published, names)), 1)


def part_answering(published: Published, names: Collection[str]) -> Fraction:
    """Return which part of the respondents, in [0, 1], that a survey is of answers questions."""
    seen = [
        one.name
        for one in published.attributes
        if one.draw is None and published.draw_of(one.block or one.name) is not None
    ]
    both = published.share_answering(dict.fromkeys((*names, *seen)))
    return both / published.share_answering(seen)


def part_of_all(published: Published, names: Collection[str]) -> bool:
    """Return whether a part of a survey's respondents answers questions, whatever was chosen."""
    return published.share_answering(names) < 1


def labelled_target(published: Published) -> PublishedAttribute | None:
    """Return the target if it tells positive from negative answers."""
    target = published.target
    return None if target is None or target.positive is None else target


def audited(published: Published) -> tuple[str, ...]:
    """Return the questions that an audit from records needs: the protected one, and the labels."""
    if published.protected is None:
        return ()
    target = labelled_target(published)
    labels = () if target is None else (target.name,)
    return tuple(dict.fromkeys((published.protected.attribute, *labels)))


def require_answered(
    published: Published, names: Collection[str], *, field: str = "attribute"
) -> None:
    """Refuse a statistic of several questions that no respondent answers at once."""
    if published.share_answering(names):
        return
    for draw in published.draws:
        asked = [name for name in names if (published.attribute(name).block or name) in draw.blocks]
        blocks = {published.attribute(name).block or name for name in asked}
        if len(blocks) > draw.answer:
            raise InvalidParameter(
                f"{' and '.join(asked)} are in the draw {draw.name}, of whose {len(draw.blocks)} "
                f"blocks each respondent answers {draw.answer}: nobody answers "
                f"{'both' if len(blocks) == 2 else f'all {len(blocks)}'}, so nothing can be said "
                f"of them together. {_next_time(published, draw, len(blocks))}",
                field=field,
            )


def _next_time(published: Published, draw: Draw, needed: int) -> str:
    """Return what a next version does, so that blocks of a draw are answered together."""
    if any(one.name == draw.name for one in published.selects):
        return f"In a next version give the question {draw.name} want: pairs"
    return (
        f"In a next version put them into one block, let a device answer {needed} or more, or take "
        "some of them out of the draw"
    )
