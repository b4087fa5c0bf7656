"""Counts that are kept, against the segments they were counted from."""

from __future__ import annotations

from collections.abc import Iterator

from hushpoll_server.services.collector import Collector
from hushpoll_server.settings import Settings


def check_counts(settings: Settings, *, repair: bool) -> Iterator[tuple[str, bool]]:
    """Count every version's segments again.

    Parameters
    ----------
    settings : Settings
        Whose database.
    repair : bool
        Forget counts that differ, and count again.

    Yields
    ------
    line : str
        What was found, for one version.
    same : bool
        Whether the counts that are kept are those of the segments.
    """
    parts = Collector(settings)
    try:
        for row in parts.surveys.all():
            name = f"{row.name} version {row.version}"
            sealed = parts.counts.read(row.id)
            if sealed is not None and sealed.records_deleted_at is not None:
                yield f"{name}: {sealed.folded.reports} reports, records deleted", True
                continue
            held, found = parts.segments.recount(row.id, row.record_size)
            if held == found or (held is None and not found.reports):
                yield f"{name}: {found.reports} reports, counts right", True
                continue
            what = "not counted yet" if held is None else f"counts of {held.reports} differ"
            if repair:
                parts.segments.rebuild_counts(row.id, row.record_size)
                what += ", counted again"
            yield f"{name}: {found.reports} reports, {what}", held is None
    finally:
        parts.stop()
