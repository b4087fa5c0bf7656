"""What is in the files of a PostgreSQL: rows that are deleted, and bytes that are left of them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postgres import PostgreSQL

PAGE = 8192


def stored_rows(server: PostgreSQL, site: Any, table: str) -> list[int]:
    """The xmax of every row on PostgreSQL's pages, dead or alive, read from the file itself."""
    with site.services.database.reading() as connection:
        statement = f"SELECT pg_relation_filepath('{table}')"
        path = server.directory / connection.exec_driver_sql(statement).scalar()
    server.run("CHECKPOINT")
    content = path.read_bytes()
    found = []
    for start in range(0, len(content), PAGE):
        page = content[start : start + PAGE]
        (lower,) = struct.unpack_from("<H", page, 12)  # where the line pointers end
        for place in range(24, lower, 4):
            (pointer,) = struct.unpack_from("<I", page, place)
            if (pointer >> 15) & 3 == 1:  # in use; others point to nothing
                found.append(struct.unpack_from("<I", page, (pointer & 0x7FFF) + 4)[0])
    return found


def files(server: PostgreSQL, site: Any) -> dict[str, bytes]:
    """The content of every table and index of a site's database, free space and all.

    Named after the relation; what a table keeps elsewhere (TOAST) is added to the table's.
    """
    statement = """
        SELECT coalesce(main.relname, own.relname), pg_relation_filepath(own.oid)
        FROM pg_class AS own LEFT JOIN pg_class AS main ON main.reltoastrelid = own.oid
        WHERE pg_relation_filepath(own.oid) IS NOT NULL
    """
    with site.services.database.reading() as connection:
        paths = connection.exec_driver_sql(statement).all()
    server.run("CHECKPOINT")
    content: dict[str, bytes] = {}
    for name, path in paths:
        content[name] = content.get(name, b"") + (server.directory / path).read_bytes()
    return content
