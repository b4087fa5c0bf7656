"""What a database notes of its columns' values, to plan by, holds no value of a report."""

from __future__ import annotations

import pytest
from sqlalchemy import event, inspect, text

from hushpoll_server.services.surveys.access import hash_token
from hushpoll_server.store.reports import Outcome, ReportRow
from sample_survey import make_report

# "e": never compressed, "x": as it comes.
STORED = {
    ("segments", "data"): "e",
    ("aggregates", "joint"): "e",
    ("releases", "joint"): "e",
    ("inbox", "record"): "x",
}


@pytest.fixture
def filled(site):
    """A database with sealed and waiting reports, spent tokens and an export; and its secrets."""
    published = site.publish(submission="token", minimum_batch=5)
    tokens = site.tokens(15)
    reports = []
    for token in tokens[:10]:
        reports.append(make_report(published))
        assert site.send(published, reports[-1], token).status_code == 201
        if len(reports) == 6:
            site.seal()
    assert site.post("/api/v1/surveys/work/versions/1/jobs/export", json={}).status_code == 202
    site.run_jobs()
    site.stop_storing()
    return {
        "id": {report.id for report in reports},
        "record": {report.record for report in reports},
        "token": {hash_token(token) for token in tokens},
    }


def analyse(site, postgres):
    for table in inspect(site.services.database.engine).get_table_names():
        postgres.run(f"ANALYZE {table}", database=site.services.database.engine.url.database)


def noted(site, secrets):
    """How many of the secrets are anywhere in the planner's statistics, and whether there are any.

    Of every column of every table, catalogues included, in whatever form.
    """
    with site.services.database.reading() as connection:
        rows = connection.execute(text("SELECT CAST(s AS text) FROM pg_stats AS s")).scalars().all()
        own = connection.scalar(text("SELECT count(*) FROM pg_stats WHERE schemaname = 'public'"))
    everything = "\n".join(rows)
    found = {
        name: sum(one.hex() in everything for one in values) for name, values in secrets.items()
    }
    return found, own > 0


@pytest.mark.postgresql
def test_analysing_every_table_notes_nothing_of_a_report(site, filled, postgres):
    """Guards: up to 200 ids and records outlived the seal, and the deletion of the records."""
    analyse(site, postgres)
    assert noted(site, filled) == ({"id": 0, "record": 0, "token": 0}, True)


@pytest.mark.postgresql
def test_search_for_secrets_finds_them_where_statistics_are_kept(site, filled, postgres):
    """Without this, the test above could pass because it looks in the wrong place."""

    def keep(target):
        columns = (("inbox", "report_id"), ("inbox", "record"), ("respondent_tokens", "hash"))
        for table, column in columns:
            # A column that is given a type, even its own, loses its statistics.
            alter = f"ALTER COLUMN {column} TYPE bytea, ALTER COLUMN {column} SET STATISTICS"
            postgres.run(f"ALTER TABLE {table} {alter} {target}", database=name)

    name = site.services.database.engine.url.database
    keep(-1)
    try:
        analyse(site, postgres)
        found, _ = noted(site, filled)
    finally:
        keep(0)
        postgres.run("VACUUM (FULL) pg_statistic", database=name)
    assert found["id"] >= 4
    assert found["record"] > 0
    assert found["token"] == 5


@pytest.mark.postgresql
def test_no_binary_column_is_noted_and_records_are_not_compressed(site):
    statement = """
        SELECT relname, attname, attstattarget, CAST(attstorage AS text)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = CAST('public' AS regnamespace) AND relkind = 'r'
          AND atttypid = CAST('bytea' AS regtype)
    """
    with site.services.database.reading() as connection:
        columns = connection.execute(text(statement)).all()
    assert {target for _, _, target, _ in columns} == {0}
    storages = {(table, column): storage for table, column, _, storage in columns}
    assert STORED.items() <= storages.items()


def test_ids_are_looked_for_in_the_index(site, request):
    """Guards: PostgreSQL took each id, of which nothing is noted, for that of many reports, and
    read the whole inbox; told of their range, SQLite read all of it between them."""
    published = site.publish()
    reports = site.fill(published, 3000)
    on_sqlite = site.services.database.engine.dialect.name == "sqlite"
    if not on_sqlite:
        analyse(site, request.getfixturevalue("postgres"))
    statements = []
    database = site.services.database
    row = site.row()

    def plan(connection, _cursor, statement, parameters, _context, _many):
        if "FROM inbox" in statement and "report_id" in statement:
            explain = "EXPLAIN QUERY PLAN " if on_sqlite else "EXPLAIN "
            found = connection.connection.driver_connection.execute(explain + statement, parameters)
            statements.append("\n".join(line[-1] for line in found.fetchall()))

    event.listen(database.engine, "before_cursor_execute", plan)
    arrivals = [ReportRow(row.id, report.id, report.record) for report in reports[:400]]
    assert set(site.services.reports.look_up(arrivals)) == {Outcome.DUPLICATE}
    assert statements
    if on_sqlite:
        assert set(statements) == {"SEARCH inbox USING PRIMARY KEY (version_id=? AND report_id=?)"}
    else:
        assert all("using pk_inbox" in one or "on pk_inbox" in one for one in statements)


@pytest.mark.sqlite
def test_sqlite_keeps_no_statistics_of_columns(site, filled):
    """It copies values into tables of its own when it is told to ANALYZE or to optimise itself."""
    with site.services.database.reading() as connection:
        tables = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))
        names = set(tables.scalars())
    assert "inbox" in names
    assert not any(name.startswith("sqlite_stat") for name in names)
