"""The maths of the answer that was given most often: the second file."""

from __future__ import annotations

from hushpoll_shared.queries.largest_share import Largest, LargestShare

from hushpoll_analysis.estimates.frequencies import frequencies_from_counts
from hushpoll_analysis.records.source import Source
from hushpoll_shared.spelling.intervals import how_to_read


def largest(query: Largest, source: Source) -> LargestShare:
    """Return the category of the largest estimate."""
    attribute = source.published.attribute(query.attribute)
    (found,) = frequencies_from_counts(
        source.published,
        source.questions([attribute.name]),
        confidence=query.confidence,
        only=[attribute.name],
    )
    row = max(found.row().categories, key=lambda one: one.frequency)
    return LargestShare(
        attribute=attribute.name,
        n=found.n,
        confidence=query.confidence,
        intervals=how_to_read(1, query.confidence),
        largest=row,
    )
