"""A check that the counts that sealing keeps are those of the segments; a repair of others."""

from __future__ import annotations

from collections.abc import Iterator

from hushpoll_server.config.settings import Settings
from hushpoll_server.services.services import Services
from hushpoll_server.store.counts import Aggregate


def check_counts(settings: Settings, *, repair: bool) -> Iterator[tuple[str, bool]]:
    """Count every version's segments again; yield a line on it, and whether its counts are right.

    With `repair` counts that differ are replaced.
    """
    parts = Services(settings)
    try:
        for row in parts.surveys.all():
            name = f"{row.name} version {row.version}"
            sealed = parts.segments.sealed(row.id)
            if sealed is not None and sealed.records_deleted_at is not None:
                yield f"{name}: {sealed.aggregate.reports} reports, records deleted", True
                continue
            sealed_counts = parts.segments.recount(row.id, row.record_size)
            released_counts = parts.release_store.recount(row.id, row.record_size, parts.aggregator)
            wrong = [
                words
                for what, counts in (("", sealed_counts), (" of the release", released_counts))
                if (words := _difference(*counts, what=what))
            ]
            counted = f"{name}: {sealed_counts[1].reports} reports"
            if not wrong:
                yield f"{counted}, counts right", True
                continue
            if repair:
                parts.segments.rebuild_counts(row.id, row.record_size)
                parts.release_store.rebuild_counts(row.id, row.record_size, parts.aggregator)
                wrong.append("counted again")
            yield f"{counted}, {', '.join(wrong)}", sealed_counts[0] is None
    finally:
        parts.stop()


def _difference(kept: Aggregate | None, counted: Aggregate, *, what: str) -> str:
    """Say how kept counts differ from those of the segments; nothing if they do not."""
    if kept == counted or (kept is None and (what or not counted.reports)):
        return ""
    return "not counted yet" if kept is None else f"counts{what} of {kept.reports} differ"
