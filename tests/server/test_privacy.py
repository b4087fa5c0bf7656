"""Nothing about a respondent is kept: the database file and every log are searched."""

from __future__ import annotations

import json

import pytest

from chunks import unpack
from hushpoll_shared.wire import reports as wire

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

MARK = "x7Qz-distinctive"
HEADERS = {
    "User-Agent": f"{MARK}-agent/1.0",
    "X-Forwarded-For": "203.0.113.77",
    "Forwarded": "for=203.0.113.78",
    "X-Request-Id": f"{MARK}-request",
    "Referer": f"https://{MARK}.example/page",
    "Cookie": f"session={MARK}-cookie",
    "Accept-Language": f"{MARK}-tongue",
}
ADDRESS = "198.51.100.23"
TRACES = [MARK.encode(), b"203.0.113.77", b"203.0.113.78", ADDRESS.encode()]


def files(tmp_path):
    """Everything the database has on disk: file, log and index of the log."""
    found = {path.name: path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*")}
    assert "hushpoll.sqlite" in found
    return found


@on_sqlite
def test_no_header_address_or_record_is_left_behind(make_site, make_report, tmp_path, debug_log):
    site = make_site()
    published = site.publish(submission="token")
    (token,) = site.post("/api/v1/surveys/work/tokens", json={"count": 1}).json["tokens"]
    report = make_report(published)
    good = wire.encode_report_json(published.digest, report)
    bad = {**good, "record": good["record"][:-2]}
    answers = [
        site.client().post(
            "/api/v1/surveys/work/reports",
            json=body,
            headers={**HEADERS, "Authorization": f"Bearer {token}"},
            environ_overrides={"REMOTE_ADDR": ADDRESS},
        )
        for body in (good, good, bad)
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 422]
    assert site.counts(published)["accepted"] == 1
    # while the report waits in the inbox, with its id, and after the server has stopped
    while_running = files(tmp_path)
    site.services.stop()
    logged = debug_log.text.encode() + "".join(map(repr, debug_log.records)).encode()
    assert b"published" in logged  # the log is not empty by accident
    token_bytes = wire.b64decode(token, field="token")
    for name, content in {**while_running, **files(tmp_path), "log": logged}.items():
        for trace in [*TRACES, token.encode(), token_bytes, good["record"].encode()]:
            assert trace not in content, (name, trace)
    for encoding in (good["id"], report.id.hex(), good["record"], report.record.hex(), token):
        assert encoding.encode() not in logged


@on_sqlite
def test_the_admin_token_is_not_in_the_database(site, tmp_path):
    site.publish()
    secret = site.admin["Authorization"].split("_", 2)[2]  # which may hold further underscores
    for content in files(tmp_path).values():
        assert secret.encode() not in content
        assert wire.b64decode(secret, field="token") not in content


@on_sqlite
def test_sealed_reports_leave_the_file_and_its_log(site, tmp_path):
    """A recognisable record next to its id is in the files before sealing and not after."""
    published = site.publish()
    reports = site.fill(published, 300)
    pairs = [(report.id, report.record) for report in reports]

    def linked():
        contents = files(tmp_path).values()
        # SQLite writes the columns of a row one after the other
        return sum(any(one + two in content for content in contents) for one, two in pairs)

    assert linked() == 300
    site.services.sealing.seal(site.services.surveys.latest("work"))
    assert site.counts(published)["sealed"] == 300
    assert linked() == 0


@on_sqlite
def test_a_reader_delays_but_does_not_prevent_the_emptying_of_the_log(site, tmp_path):
    published = site.publish()
    reports = site.fill(published, 50)

    def linked():
        contents = files(tmp_path).values()
        return sum(any(r.id + r.record in content for content in contents) for r in reports)

    with site.services.database.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM inbox").scalar()
        site.services.sealing.seal(site.services.surveys.latest("work"))
        assert linked() == 50
    site.whole._idle()
    assert linked() == 0


@on_sqlite
def test_the_rows_of_a_table_are_in_the_order_of_their_random_keys(site, make_report):
    published = site.publish()
    ids = []
    for _ in range(40):
        report = make_report(published)
        site.send("work", wire.encode_report_json(published.digest, report))
        ids.append(report.id)

    def rows(table):
        with site.services.database.reading() as connection:
            schema = connection.exec_driver_sql(
                "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
            ).scalar()
            # Row ids of chunks are given in the order of their ids.
            assert ("WITHOUT ROWID" in schema) == (table != "sealed_ids")
            column = "ids" if table == "sealed_ids" else "report_id"
            found = connection.exec_driver_sql(f"SELECT {column} FROM {table}").scalars().all()
        return list(unpack(found)) if table == "sealed_ids" else found

    assert (rows("inbox"), rows("sealed_ids")) == (sorted(ids), [])
    site.services.sealing.seal(site.services.surveys.latest("work"))
    assert (rows("inbox"), rows("sealed_ids")) == ([], sorted(ids))


@on_sqlite
def test_where_sealed_ids_stand_in_the_file_tells_nothing_of_their_arrival(
    site, make_report, tmp_path
):
    """Guards: a page keeps its rows where they were inserted, so ids inserted one by one told."""
    published = site.publish()
    arrived = []
    for _ in range(60):  # a page has room for more, so nothing moves once it is inserted
        report = make_report(published)
        site.send("work", wire.encode_report_json(published.digest, report))
        arrived.append(report.id)
    site.services.sealing.seal(site.services.surveys.latest("work"))
    content = files(tmp_path)["hushpoll.sqlite"]
    # A chunk's least id is its key as well, in the row and in the index.
    places = {one: content.rindex(one) for one in arrived}
    assert all(content.count(one) <= 2 for one in arrived)
    assert max(places.values()) - min(places.values()) < 4096
    # The place follows from the ids alone.
    assert sorted(arrived, key=places.__getitem__) == sorted(arrived)


def test_time_is_kept_to_the_day(site, make_report):
    published = site.publish()
    body = wire.encode_report_json(published.digest, make_report(published))
    site.send("work", body)
    site.send("work", body)
    site.services.counters.flush()
    with site.services.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT day, outcome, count FROM counters").fetchall()
    assert [tuple(row) for row in rows] == [("2026-03-01", "duplicate", 1)]


def test_a_request_id_is_never_the_senders(site):
    answer = site.get("/health", headers={"X-Request-Id": MARK})
    assert len(answer.headers["X-Request-Id"]) == 16
    assert MARK not in answer.headers["X-Request-Id"]


def test_log_lines_are_json_with_a_request_id(site, debug_log):
    site.publish()
    (line,) = [json.loads(r.message) for r in debug_log.records if r.name.startswith("hushpoll")]
    assert line["event"] == "published"
    assert len(line["request_id"]) == 16
