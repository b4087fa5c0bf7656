"""Decodes records and bulk bodies one by one, for tests that look at what was sent."""

from __future__ import annotations

from collections.abc import Callable

from hushpoll_shared.survey.codec import Layout
from hushpoll_shared.wire.batch import unpack_rows
from hushpoll_shared.wire.reports import Report


def part_of(layout: Layout, record: bytes, name: str) -> bytes:
    """Return one attribute's bytes of a record."""
    layout.check(record)
    field = layout.field(name)
    return record[field.offset : field.end]


def clear_answers(layout: Layout, record: bytes) -> dict[str, str]:
    """Return the categories that a record holds in clear, by attribute."""
    return {
        attribute.name: attribute.domain[
            int.from_bytes(part_of(layout, record, attribute.name), "little")
        ]
        for attribute in layout.attributes
        if attribute.oracle is None
    }


def reports_of(body: bytes, record_size: int | Callable[[str], int]) -> tuple[str, list[Report]]:
    """Return the digest and the reports of a bulk body."""
    digest, ids, records = unpack_rows(body, record_size)
    rows = zip(ids, records, strict=True)
    return digest, [Report(row_id.tobytes(), record.tobytes()) for row_id, record in rows]
