"""Sorted chunks of ids: each is found, no other is, and nothing tells when one came."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import text

from chunks import unpack
from hushpoll_server.store import migrate, segment_store
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import OLD, TAG_SIZE, YOUNG

VERSION = 7


@pytest.fixture
def database(database_url):
    opened = Database(database_url)
    migrate.upgrade(opened)
    yield opened
    opened.close()


def rows_of(ids):
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16)


def put(database, ids, *, known=0, last=False):
    with database.writing(sealing=VERSION) as connection:
        segment_store.add_ids(
            connection, database.inbox, VERSION, rows_of(ids), known=known, last=last
        )


def found(database, ids, version=VERSION):
    with database.reading() as connection:
        return database.inbox.sealed(connection, version, list(ids))


def lists(database):
    statement = "SELECT * FROM sealed_ids WHERE version_id = 7 ORDER BY age, first"
    with database.reading() as connection:
        rows = connection.execute(text(statement)).all()
    for row in rows:
        assert bytes(row.tags) == b"".join(one[-TAG_SIZE:] for one in unpack([bytes(row.ids)]))
    return {
        age: [(bytes(row.first), list(unpack([bytes(row.ids)]))) for row in rows if row.age == age]
        for age in (YOUNG, OLD)
    }


def random_ids(rng, n):
    return [bytes(one) for one in rng.integers(0, 256, (n, 16), dtype=np.uint8)]


def numbered(numbers):
    return [int(number).to_bytes(16, "big") for number in numbers]


@pytest.mark.parametrize("at_once", [2, 1 << 14])
def test_every_id_is_found_and_its_neighbours_are_not(database, monkeypatch, at_once):
    monkeypatch.setattr(segment_store, "CHUNKS_AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    edges = [bytes(16), b"\xff" * 16, b"\x01" + bytes(15), bytes(15) + b"\x01"]
    parts = [random_ids(rng, n) for n in (900, 210, 270, 1, 600, 168)]
    parts[1] += edges
    known = 0
    for part in parts:
        put(database, part, known=known)
        known += len(part)
        for chunks in lists(database).values():
            held = [one for _, ids in chunks for one in ids]
            assert held == sorted(held)
            assert all(len(ids) <= database.inbox.CHUNK_IDS for _, ids in chunks)
            assert [first for first, _ in chunks] == [
                ids[0] if place else b"" for place, (_, ids) in enumerate(chunks)
            ]
    everything = {one for part in parts for one in part}
    assert found(database, everything) == everything
    near = {one[:15] + bytes([one[15] ^ 1]) for one in everything} - everything
    assert len(near) > 2100
    assert found(database, near) == set()
    assert found(database, everything, version=8) == set()


def test_the_end_of_one_id_and_the_beginning_of_the_next_are_no_id(database):
    one, two = b"A" * 8 + b"B" * 8, b"A" * 8 + b"C" * 8
    between = b"B" * 8 + b"A" * 8
    same_tag = b"D" * 14 + between[-TAG_SIZE:]  # without which it would not be looked for
    put(database, [one, two, same_tag])
    assert found(database, [between]) == set()
    # And where it is one all the same, it is found behind the place where it is none.
    put(database, [between], known=3, last=True)
    assert lists(database)[OLD] == [(b"", [one, two, between, same_tag])]
    assert found(database, [between]) == {between}


def test_ids_that_share_their_tag_are_told_apart(database):
    ids = [int(number).to_bytes(14, "big") + b"\0\0" for number in range(600)]
    put(database, ids[::2])
    assert found(database, ids) == set(ids[::2])


@pytest.mark.parametrize("last", [False, True])
def test_an_id_that_is_sealed_twice_changes_nothing(database, last):
    put(database, numbered(range(100)))
    with pytest.raises(RuntimeError, match="sealed twice"):
        put(database, numbered([200, 200]), known=100, last=last)
    with pytest.raises(RuntimeError, match="sealed twice"):
        put(database, numbered([300, 40]), known=100, last=True)
    assert found(database, numbered(range(400))) == set(numbered(range(100)))


def test_young_ids_are_merged_when_that_is_cheaper(database):
    sizes = []
    for known in range(0, 1000, 100):
        put(database, numbered(range(known, known + 100)), known=known)
        held = lists(database)
        sizes.append(sum(len(ids) for _, ids in held[YOUNG]))
    # With 100 at a time and m old ones, from (young + 100)^2 > 200 m on.
    assert sizes == [0, 100, 0, 100, 200, 0, 100, 200, 300, 0]


def test_when_no_more_come_one_list_is_left(database):
    put(database, numbered(range(100)))
    put(database, numbered(range(100, 110)), known=100)
    assert len(lists(database)[YOUNG]) == 1  # chunk
    put(database, [], last=True)
    assert lists(database)[YOUNG] == []
    assert [one for _, ids in lists(database)[OLD] for one in ids] == numbered(range(110))
    if database.engine.dialect.name == "postgresql":
        with database.reading() as connection:
            names = connection.execute(text("SELECT DISTINCT CAST(xmin AS text) FROM sealed_ids"))
            assert len(names.all()) == 1
