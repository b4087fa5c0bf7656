"""Everything that holds for PostgreSQL alone; together a ``Backend``.

No other package but ``sqlite`` contains SQL that a second database would not accept.
"""

from hushpoll_server.store.postgresql.sealing import (
    BULK_FACTOR,
    CHUNK_IDS,
    EMPTIES_FIRST,
    empty_inbox,
    forget,
    gathered,
    insert_chunks,
)
from hushpoll_server.store.postgresql.session import (
    ONE_WRITER,
    PROBE_BYTES,
    UNAVAILABLE,
    check_url,
    engine_options,
    for_reading,
    for_writing,
    hold_catalogue,
    hold_inbox,
    hold_version,
    install,
    make_ready,
    unusable,
)
from hushpoll_server.store.postgresql.taking import (
    insert_at_once,
    insert_batch,
    insert_new,
    sealed,
    waiting,
)

__all__ = [
    "BULK_FACTOR",
    "CHUNK_IDS",
    "EMPTIES_FIRST",
    "ONE_WRITER",
    "PROBE_BYTES",
    "UNAVAILABLE",
    "check_url",
    "empty_inbox",
    "engine_options",
    "for_reading",
    "for_writing",
    "forget",
    "gathered",
    "hold_catalogue",
    "hold_inbox",
    "hold_version",
    "insert_at_once",
    "insert_batch",
    "insert_chunks",
    "insert_new",
    "install",
    "make_ready",
    "sealed",
    "unusable",
    "waiting",
]
