"""What a database has to offer to be served: a package each, ``sqlite`` and ``postgresql``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store.standing_connections import StandingConnections
from hushpoll_server.store.tables.closing import Cutoff


class Waiting(NamedTuple):
    """What waits of a version: uint8[n, 16] ids and, in the same order, uint8[n, L] records."""

    ids: npt.NDArray[np.uint8]
    records: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, ids: bytes, records: bytes, record_size: int) -> Waiting:
        """Cut rows out of their bytes.

        Raises
        ------
        RuntimeError
            There are not as many records as ids.
        """
        rows = len(ids) // 16
        if (16 * rows, record_size * rows) != (len(ids), len(records)):
            raise RuntimeError(
                f"the inbox gave {len(ids)} bytes of ids and {len(records)} of records, "
                f"which are no {rows} reports with {record_size} bytes each"
            )
        return cls(
            np.frombuffer(ids, np.uint8).reshape(rows, 16),
            np.frombuffer(records, np.uint8).reshape(rows, record_size),
        )


class Backend(Protocol):
    """The names of such a package. No other module's SQL is for one database alone."""

    ONE_WRITER: bool
    """Whether the database takes one writing transaction at a time."""

    CHUNK_IDS: int
    """Sealed ids in one row, at most."""

    BULK_FACTOR: int
    """While reports arrive in bulk, an inbox is sealed at so many times ``seal_at``."""

    EMPTIES_FIRST: bool
    """Whether a seal empties the inbox before it writes anything, or as the last thing it does."""

    UNAVAILABLE: tuple[type[Exception], ...]
    """What the driver raises while the database is away, or stores nothing."""

    PROBE_BYTES: int
    """Size of a write that shows whether the database stores anything."""

    def check_url(self, url: URL) -> URL:
        """Return the URL with the driver that is used; refuse one that cannot be served."""

    def make_ready(self, url: URL) -> None:
        """Create what must be there before the first connection, or refuse what is there."""

    def engine_options(self) -> dict[str, Any]:
        """Return arguments of ``create_engine``."""

    def install(self, engine: Engine) -> None:
        """Set and check, on every new connection, what a durable commit needs."""

    def unusable(self, url: URL, reason: str) -> InvalidParameter:
        """Return the refusal of a database that cannot be connected to."""

    def for_reading(self, engine: Engine) -> Engine:
        """Return `engine` with transactions that see one state and change nothing."""

    def for_writing(self, engine: Engine) -> Engine:
        """Return `engine` with transactions whose every statement sees what is committed."""

    def hold_version(self, connection: Connection, version_id: int, *, exclusive: bool) -> None:
        """Keep others from sealing a version, or from taking its reports too, to the commit."""

    def hold_catalogue(self, connection: Connection) -> None:
        """Let one transaction that asks for this run at a time, over all processes."""

    def gathered(self, connection: Connection, version_id: int, record_size: int) -> Waiting:
        """Return the reports that wait of a version, in any order."""

    def empty_inbox(self, connection: Connection, version_id: int) -> None:
        """Delete the reports that wait of a version."""

    def hold_inbox(self, connection: Connection) -> None:
        """Keep the inbox as this reading transaction, which has not begun to read, will see it."""

    def insert_chunks(
        self,
        connection: Connection,
        version_id: int,
        age: int,
        *,
        first: bytes,
        ids: bytes,
        tags: bytes,
    ) -> None:
        """Insert ascending ids, one after the other, and their tags, as chunks of a list.

        See ``sealed_ids``; ``first`` is that of the first chunk.
        """

    def sealed(
        self, connection: Connection, version_id: int, report_ids: Sequence[bytes]
    ) -> set[bytes]:
        """Return those of the ids that are sealed."""

    def waiting(
        self, connection: Connection, version_id: int, report_ids: Sequence[bytes]
    ) -> dict[bytes, bytes]:
        """Return the records of those of the ids that are in the inbox; at least one is asked for.

        The ids are looked for in the index: the inbox is not read.
        """

    def forget(self, engine: Engine, *, sealed: bool, erased: Collection[str] = ()) -> bool:
        """Remove what deleted rows and past transactions leave; False: try again later.

        Of what was deleted from the tables `erased`, nothing may be left on any page.
        """

    def insert_new(
        self, connection: Connection, rows: Sequence[tuple[int, bytes, bytes]]
    ) -> set[tuple[int, bytes]]:
        """Put those rows (version, id, record) into the inbox whose id is new; return their keys.

        An id that is sealed is not new, nor one that another process has stored meanwhile.
        """

    def insert_at_once(
        self,
        connections: StandingConnections,
        rows: Sequence[tuple[int, bytes, bytes]],
        cutoff: Cutoff,
    ) -> set[tuple[int, bytes]] | None:
        """Do as `insert_new` with rows of one version, as a durable transaction of its own.

        On one of `connections` each statement is such a transaction, unless it opens one.
        None if it did nothing, and a transaction of several statements is called for: so if the
        version takes no reports.
        """

    def insert_batch(
        self,
        connection: Connection,
        version_id: int,
        ids: npt.NDArray[np.uint8],
        records: npt.NDArray[np.uint8],
    ) -> bool:
        """Put uint8[n, 16] ids and uint8[n, L] records into the inbox if every id is new.

        False if one is there twice, in the inbox or sealed: then nothing has changed.
        """
