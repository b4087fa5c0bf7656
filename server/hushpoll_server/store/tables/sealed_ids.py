"""The ids of sealed reports: sorted, and in chunks, so that sealing writes a row for many of them.

A version has two sorted lists of chunks. A seal merges its ids into the young list, which it writes
anew, and the young list into the old one when that costs less than to carry it on, and when the
survey is over. A chunk holds the ids from its ``first`` up to that of the list's next chunk, and a
list begins at the empty string: one look into the table's index finds the only chunk of a list that
an id can be in. Where an id stands in a list follows from the ids alone, not from when it came.

Beside its ids a chunk holds their tags, the last two bytes of each: to look for an id in a chunk
without it is to look for two bytes in an eighth of its size, and the larger chunks are, the less it
takes to write them anew. How many ids a chunk holds at most is the database's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, delete, select

from hushpoll_server.store.backend import Backend
from hushpoll_server.store.schema import sealed_ids

ID_SIZE: Final = 16
TAG_SIZE: Final = 2
YOUNG, OLD = 0, 1

# Chunks that are rewritten at a time: a million ids at most.
CHUNKS_AT_ONCE = 1 << 12

Ids = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.bytes_]


def add(
    connection: Connection,
    version_id: int,
    ids: Ids,
    *,
    known: int,
    last: bool,
    backend: Backend,
) -> None:
    """Put the ids of reports that are being sealed among those of the version.

    Parameters
    ----------
    connection : Connection
        Transaction that seals the version, and has it alone.
    version_id : int
        The version.
    ids : ndarray of uint8, shape (n, 16)
        New ids, in any order.
    known : int
        How many it has, or about so many.
    last : bool
        No more will come: merge all into one list, so that nothing is left of when they came.
    backend : Backend
        Inserts the chunks.

    Raises
    ------
    RuntimeError
        An id is in a list twice.
    """
    new = _ascending(np.ascontiguousarray(ids).view(f"S{ID_SIZE}").ravel())
    columns = select(sealed_ids.c.ids).where(*_of(version_id, YOUNG)).order_by("first")
    young = _keys(connection.execute(columns).scalars())
    # Carried on, m/2 young ids in the mean are written with every `len(new)` that come. Merged when
    # there are m of them, the old ones are written with every m. Both cost the same at
    # m^2 = 2 len(new) old.
    old = max(0, known - len(young))
    if last or (len(young) + len(new)) ** 2 > 2 * len(new) * old:
        connection.execute(delete(sealed_ids).where(*_of(version_id, YOUNG)))
        _merge(connection, version_id, OLD, _ascending(np.concatenate([young, new])), backend)
    else:
        _merge(connection, version_id, YOUNG, new, backend)


def unpack(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the ids of chunks, one by one."""
    for ids in chunks:
        for start in range(0, len(ids), ID_SIZE):
            yield bytes(ids[start : start + ID_SIZE])


def _merge(connection: Connection, version_id: int, age: int, new: Keys, backend: Backend) -> None:
    """Merge ascending ids into a list, a range of it at a time."""
    if not len(new):
        return
    first: bytes | None = b""
    while first is not None:
        columns = select(sealed_ids.c.first, sealed_ids.c.ids).order_by("first")
        some = columns.where(*_of(version_id, age), sealed_ids.c.first >= first)
        rows = list(connection.execute(some.limit(CHUNKS_AT_ONCE + 1)))
        here = [*_of(version_id, age), sealed_ids.c.first >= first]
        after, count = None, len(new)
        if len(rows) > CHUNKS_AT_ONCE:
            after = bytes(rows.pop().first)
            count = int(np.searchsorted(new, np.bytes_(after)))
            here.append(sealed_ids.c.first < after)
        if rows:
            connection.execute(delete(sealed_ids).where(*here))
        merged = _ascending(np.concatenate([_keys(row.ids for row in rows), new[:count]]))
        tags = merged.view(np.uint8).reshape(-1, ID_SIZE)[:, -TAG_SIZE:].tobytes()
        ids = merged.tobytes()
        backend.insert_chunks(connection, version_id, age, first=first, ids=ids, tags=tags)
        first, new = after, new[count:]


def _of(version_id: int, age: int) -> list[ColumnElement[bool]]:
    return [sealed_ids.c.version_id == version_id, sealed_ids.c.age == age]


def _keys(chunks: Iterable[bytes]) -> Keys:
    # numpy takes trailing zeros off such a string when it is looked at, and compares as if it had
    # not: strings of one size are in the order of their bytes.
    return np.frombuffer(b"".join(chunks), f"S{ID_SIZE}")


def _ascending(keys: Keys) -> Keys:
    # Ids are random, so that the first half of each is enough, and numbers are compared faster than
    # bytes. Mostly made of one or two ascending runs, which a stable sort merges.
    high = keys.view(">u8").reshape(-1, 2)[:, 0].astype(np.uint64)
    order = np.argsort(high, kind="stable")
    high = high[order]
    if not np.any(high[1:] == high[:-1]):
        return keys[order]
    ordered = np.sort(keys, kind="stable")
    if np.any(ordered[1:] == ordered[:-1]):
        raise RuntimeError("an id is sealed twice, so its report would be counted twice")
    return ordered
