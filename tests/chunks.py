"""Ids of sealed reports, taken out of the chunks in which the database stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hushpoll_server.store.schema import ID_SIZE


def unpack(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the ids of chunks, one by one."""
    for ids in chunks:
        for start in range(0, len(ids), ID_SIZE):
            yield bytes(ids[start : start + ID_SIZE])
