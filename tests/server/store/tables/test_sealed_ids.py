"""Sorted chunks of ids: each is found, no other is, and nothing tells when one came."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import text

from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.store.tables import sealed_ids
from hushpoll_server.store.tables.sealed_ids import OLD, TAG_SIZE, YOUNG, unpack
from hushpoll_shared.wire import reports as wire

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
        backend = database.backend
        sealed_ids.add(connection, VERSION, rows_of(ids), known=known, last=last, backend=backend)


def found(database, ids, version=VERSION):
    with database.reading() as connection:
        return database.backend.sealed(connection, version, list(ids))


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


def stored_chunks(database):
    with database.reading() as connection:
        return connection.execute(text("SELECT count(*) FROM sealed_ids")).scalar_one()


def random_ids(rng, n):
    return [bytes(one) for one in rng.integers(0, 256, (n, 16), dtype=np.uint8)]


def numbered(numbers):
    return [int(number).to_bytes(16, "big") for number in numbers]


@pytest.mark.parametrize("at_once", [2, 1 << 14])
def test_every_id_is_found_and_its_neighbours_are_not(database, monkeypatch, at_once):
    monkeypatch.setattr(sealed_ids, "CHUNKS_AT_ONCE", at_once)
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
            assert all(len(ids) <= database.backend.CHUNK_IDS for _, ids in chunks)
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


def test_young_ids_are_carried_on_until_merging_them_is_cheaper(database):
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


def test_ids_survive_the_way_back_and_forth_between_schema_versions(make_site):
    site = make_site()
    published = site.publish()
    row = site.services.surveys.latest("work")
    reports = []
    for number in (1300, 10):
        reports += site.fill(published, number)
        site.services.sealing.seal(row)
    waiting = site.fill(published, 3)
    database = site.services.database
    site.stop_taking()
    chunks = stored_chunks(database)
    migrate.downgrade(database, "0007")
    assert stored_chunks(database) > chunks
    migrate.upgrade(database)
    assert stored_chunks(database) == chunks
    migrate.downgrade(database, "0006")
    with database.reading() as connection:
        ids = connection.execute(text("SELECT report_id FROM seen_ids ORDER BY report_id"))
        assert [bytes(one) for one in ids.scalars()] == sorted(report.id for report in reports)
    migrate.upgrade(database)
    again = make_site()
    for report in [*reports, *waiting]:
        body = wire.encode_report_json(published.digest, report)
        assert again.send("work", body).json == {"status": "duplicate"}
    again.services.sealing.seal(row)
    assert again.counts(published)["sealed"] == 1313


def test_many_ids_go_back_and_forth_by_several_statements_each_way(database):
    """As many as are read and written in pieces, of two versions and in both lists of one."""
    rng = np.random.default_rng(6)
    old, young, others = random_ids(rng, 16_500), random_ids(rng, 300), random_ids(rng, 500)
    with database.writing() as connection:
        connection.execute(text("INSERT INTO surveys (id, name) VALUES (1, 'work')"))
        for number in (VERSION, 8):
            connection.execute(
                text(
                    "INSERT INTO survey_versions (id, survey_id, version, digest, title, "
                    "canonical, record_size, minimum_batch) "
                    "VALUES (:id, 1, :id, :digest, '', :none, 8, 3)"
                ),
                {"id": number, "digest": str(number), "none": b""},
            )
    put(database, old, last=True)
    put(database, young, known=len(old))
    with database.writing(sealing=8) as connection:
        sealed_ids.add(connection, 8, rows_of(others), known=0, last=True, backend=database.backend)
    before = lists(database)
    assert [len(before[age]) > 1 for age in (YOUNG, OLD)] == [True, True]
    migrate.downgrade(database, "0007")
    assert stored_chunks(database) > 1000
    migrate.upgrade(database)
    assert lists(database) == before
    migrate.downgrade(database, "0006")
    with database.reading() as connection:
        kept = connection.execute(text("SELECT version_id, report_id FROM seen_ids")).all()
    assert sorted((version, bytes(one)) for version, one in kept) == [
        *((VERSION, one) for one in sorted(old + young)),
        *((8, one) for one in sorted(others)),
    ]
    migrate.upgrade(database)
    after = lists(database)
    assert after[YOUNG] == []  # one list, as at the end of a survey
    assert [one for _, ids in after[OLD] for one in ids] == sorted(old + young)
    assert all(len(ids) == database.backend.CHUNK_IDS for _, ids in after[OLD][:-1])
    assert found(database, old + young) == set(old + young)
    assert found(database, others, version=8) == set(others)
