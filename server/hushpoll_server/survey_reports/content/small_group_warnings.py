"""Small groups that a report shows: answers of few people, sent in clear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_shared.spelling.text import show

SMALL_GROUP: Final = 10
"""Fewer reports than these are a small group."""

MOST_NAMED: Final = 8


def warnings_of(basis: Basis) -> list[str]:
    """Return which groups in clear are merged or left out, and which small ones are shown."""
    return [*basis.sentences, *small_groups(basis)]


def small_groups(basis: Basis) -> list[str]:
    """Return a warning of the tables with a group in clear of fewer than `SMALL_GROUP` reports.

    Counts of perturbed answers are of no group: nobody knows who is in it.
    """
    tables = list(_tables(basis))
    if not tables:
        return []
    return [
        f"groups of fewer than {SMALL_GROUP} reports in clear are in {'; '.join(tables)}; a reader "
        "who knows who is in such a group learns of its answers, so leave a table out if that can "
        "harm"
    ]


def _tables(basis: Basis) -> Iterator[str]:
    published = basis.shown
    categories = {one.name: one.categories for one in published.attributes if not one.perturbed}
    for name in basis.choices.attributes:
        if name in categories:
            groups = zip(map(show, categories[name]), basis.support[name].tolist(), strict=True)
            yield from _small(f"the table of {name}", groups)
    for (a, b), counts in basis.joint.items():
        clear = [name for name in (a, b) if name in categories]
        if not clear:
            continue
        if len(clear) == 2:
            cells = (
                (f"{show(row)} and {show(column)}", int(counts.both[i, j]))
                for i, row in enumerate(categories[a])
                for j, column in enumerate(categories[b])
            )
        else:
            sums = counts.first if clear == [a] else counts.second
            cells = (
                (show(category), int(count))
                for category, count in zip(categories[clear[0]], sums.tolist(), strict=True)
            )
        yield from _small(f"the cross-table of {a} by {b}", cells)


def _small(table: str, groups: Iterable[tuple[str, int]]) -> Iterator[str]:
    small = [(label, count) for label, count in groups if 0 < count < SMALL_GROUP]
    if not small:
        return
    named = ", ".join(f"{label} ({count})" for label, count in small[:MOST_NAMED])
    more = f" and {len(small) - MOST_NAMED} more" if len(small) > MOST_NAMED else ""
    yield f"{table}: {named}{more}"
