"""What the store needs of a database: the interface that ``sqlite`` and ``postgresql`` implement.

Each of the two packages has a module ``session`` (connections and transactions) and a module
``inbox`` (reports and sealed ids). No other module has SQL that is for one database alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL

from hushpoll_protocols.errors import InvalidParameter

Row = tuple[int, bytes, bytes]
"""A row of the inbox: version, id, record."""

Key = tuple[int, bytes]
"""What identifies a report: version, id."""


class Cutoff(NamedTuple):
    """The moments that divide versions into those that take reports and those that take none."""

    accepts_until: int
    """A version whose ``accepts_until`` is at or before this second takes no report: now."""
    closes: int
    """Nor does a version whose ``closes`` is at or before this second: now less the grace period.
    """


TAKES_REPORTS: Final = """
NOT ended AND (accepts_until IS NULL OR accepts_until > {accepts_until})
AND (closes IS NULL OR closes > {closes})
"""
"""Whether a row of ``survey_versions`` takes reports, as text; ``catalogue.accepting`` is the same.
"""


class Deletions(NamedTuple):
    """What was deleted since the last vacuum."""

    sealed: bool
    """Whether reports were sealed."""
    erased: frozenset[str]
    """Tables of whose deleted rows nothing may be left on any page."""


class Session(Protocol):
    """Connections, transactions and locks."""

    ONE_WRITER: bool
    """Whether the database runs one writing transaction at a time."""

    UNAVAILABLE: tuple[type[Exception], ...]
    """What the driver raises while the database is away, or stores nothing."""

    PROBE_BYTES: int
    """Size of a write that shows whether the database stores anything."""

    def check_url(self, url: URL) -> URL:
        """Return the URL with the driver that is used; refuse a URL that cannot be served."""

    def make_ready(self, url: URL) -> None:
        """Create or check what must exist before the first connection."""

    def engine_options(self) -> dict[str, object]:
        """Return arguments of ``create_engine``."""

    def install(self, engine: Engine) -> None:
        """Set and check, on every new connection, what a durable commit needs."""

    def check_server(self, engine: Engine) -> None:
        """Connect, and refuse a database on which statements would not do what they should."""

    def unusable(self, url: URL, reason: str) -> InvalidParameter:
        """Return the refusal of a database that cannot be connected to."""

    def for_reading(self, engine: Engine) -> Engine:
        """Return `engine` with transactions that see one state and change nothing."""

    def for_writing(self, engine: Engine) -> Engine:
        """Return `engine` with transactions in which each statement sees what is committed."""

    def hold_version(self, connection: Connection, version_id: int, *, exclusive: bool) -> None:
        """Lock a version until the commit: alone, or together with others that store reports."""

    def hold_catalogue(self, connection: Connection) -> None:
        """Let one transaction that asks for this run at a time, in all processes."""

    def room(self, connection: Connection) -> tuple[int, int | None, int | None]:
        """Return the bytes of the database, and those free and in all on a disk that it sees."""

    def hold_inbox(self, connection: Connection) -> None:
        """Keep the inbox as this reading transaction, which has not begun to read, will see it."""


class Inbox(Protocol):
    """Statements on the inbox and on sealed ids."""

    CHUNK_IDS: int
    """Sealed ids in one row, at most."""

    BULK_FACTOR: int
    """While reports arrive in bulk, an inbox is sealed at so many times ``seal_at``."""

    EMPTIES_FIRST: bool
    """Whether a seal empties the inbox before it writes anything, or as its last act."""

    def insert_new(self, connection: Connection, rows: Sequence[Row]) -> set[Key]:
        """Insert the rows whose id is new, and return their keys.

        An id that is sealed is not new, nor is one that another process has stored meanwhile.
        """

    def insert_at_once(
        self, connection: Connection, rows: Sequence[Row], cutoff: Cutoff
    ) -> set[Key] | None:
        """Do as `insert_new` with rows of one version, as a durable transaction of its own.

        Each statement on `connection` is a transaction of its own, unless it opens one. None if
        nothing was done and a transaction of several statements is needed, as it is where the
        version takes no reports.
        """

    def insert_batch(
        self,
        connection: Connection,
        version_id: int,
        ids: npt.NDArray[np.uint8],
        records: npt.NDArray[np.uint8],
    ) -> bool:
        """Insert uint8[n, 16] ids and uint8[n, L] records if every id is new.

        False, with nothing changed, if an id is in the batch twice, in the inbox or sealed.
        """

    def waiting(
        self, connection: Connection, version_id: int, report_ids: Sequence[bytes]
    ) -> dict[bytes, bytes]:
        """Return the records of those of the ids, at least one, that are in the inbox.

        The ids are looked for in the index; the inbox is not read.
        """

    def sealed(
        self, connection: Connection, version_id: int, report_ids: Sequence[bytes]
    ) -> set[bytes]:
        """Return those of the ids that are sealed."""

    def read_inbox(
        self, connection: Connection, version_id: int, record_size: int
    ) -> tuple[bytes, bytes]:
        """Return the ids of a version's waiting reports and, in the same order, their records.

        Rows without a record of this size are left out: their reports were withdrawn.
        """

    def empty_inbox(self, connection: Connection, version_id: int) -> None:
        """Delete the waiting reports of a version."""

    def insert_chunks(self, connection: Connection, chunks: dict[str, object]) -> None:
        """Insert ascending ids and their tags as chunks of a list; see ``sealing``.

        `chunks` has ``version`` and ``age`` of the list, ``first`` of its first chunk here, ``ids``
        and ``tags`` (each one after the other), ``count`` (of ids) and ``most`` (ids of a chunk).
        """

    def vacuum(self, engine: Engine, deletions: Deletions) -> bool:
        """Remove what deleted rows and past transactions leave; False: try again later."""


class Backend(NamedTuple):
    """The two modules of a database."""

    session: Session
    inbox: Inbox
