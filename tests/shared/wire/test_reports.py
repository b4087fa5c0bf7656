from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoded import reports_of
from hushpoll_protocols import HushpollError, InvalidParameter
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE
from hushpoll_shared.wire.reports import (
    Report,
    encode_report_json,
    new_report_id,
    pack_reports,
    parse_report_json,
    parse_usual_report,
)

DIGEST = "00ff" * 16
REPORT = Report(bytes(range(16)), b"\xfb\xff\xfe")


@given(st.binary(max_size=70))
def test_base64url_reads_back(data: bytes) -> None:
    text = b64encode(data)
    assert b64decode(text, field="record") == data
    assert text == base64.urlsafe_b64encode(data).decode().rstrip("=")


@given(st.text("ABab01-_+/= \n", max_size=9))
def test_accepted_text_is_the_canonical_spelling(text: str) -> None:
    try:
        data = b64decode(text, field="record")
    except InvalidParameter:
        return
    assert b64encode(data) == text


@pytest.mark.parametrize(
    "text",
    [
        "AA==",
        "AAA=",
        "AB",
        "AAB",
        "A",
        "AAAAA",
        "A A",
        "AAAA\n",
        "+/+/",
        "AA\u00e9A",
        "\uff21AAA",
        None,
        b"AAAA",
        3,
    ],
)
def test_base64_that_is_not_canonical_is_refused_and_not_shown(text: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        b64decode(text, field="record")
    assert caught.value.field == "record"
    assert "base64url" in str(caught.value)
    if isinstance(text, str):
        assert f" {text} " not in str(caught.value)
        assert repr(text) not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_report_travels_as_json() -> None:
    document = encode_report_json(DIGEST, REPORT)
    assert document == {"digest": DIGEST, "id": "AAECAwQFBgcICQoLDA0ODw", "record": "-__-"}
    assert parse_report_json(json.loads(json.dumps(document))) == (DIGEST, REPORT)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"digest": DIGEST.upper()}, "digest"),
        ({"digest": DIGEST[1:]}, "digest"),
        ({"digest": DIGEST + "0"}, "digest"),
        ({"digest": DIGEST + "\n"}, "digest"),
        ({"digest": None}, "digest"),
        ({"digest": ...}, "digest"),
        ({"digest": 3}, "digest"),
        ({"id": "AAECAwQFBgcICQoLDA0ODw=="}, "id"),
        ({"id": "AAECAwQFBgcICQoLDA0O"}, "id"),
        ({"id": "AAECAwQFBgcICQoLDA0ODx"}, "id"),
        ({"id": ...}, "id"),
        ({"record": "-_-"}, "record"),
        ({"record": "+//+"}, "record"),
        ({"record": 7}, "record"),
        ({"record": ...}, "record"),
        ({"answers": {}}, "answers"),
    ],
)
def test_a_report_with_a_bad_field_is_refused_by_field(
    changes: dict[str, object], field: str
) -> None:
    document: dict[str, object] = {**encode_report_json(DIGEST, REPORT), **changes}
    body = {key: value for key, value in document.items() if value is not ...}
    with pytest.raises(InvalidParameter) as caught:
        parse_report_json(body)
    assert caught.value.field == field


@pytest.mark.parametrize("separators", [None, (",", ":")])
@given(record=st.binary(max_size=70))
def test_the_json_of_devices_is_read_in_one_pass(
    record: bytes, separators: tuple[str, str] | None
) -> None:
    report = Report(REPORT.id, record)
    body = json.dumps(encode_report_json(DIGEST, report), separators=separators).encode()
    assert parse_usual_report(body) == (DIGEST, report.id, record)


@given(
    at=st.integers(0, 130),
    removed=st.integers(0, 2),
    put=st.sampled_from([b"", b"=", b"A", b"B", b"g", b"_", b'"', b" ", b"\n", b"\xc3\xa9", b"}"]),
)
def test_what_is_read_in_one_pass_is_what_json_says(at: int, removed: int, put: bytes) -> None:
    usual = json.dumps(encode_report_json(DIGEST, REPORT)).encode()
    body = usual[:at] + put + usual[at + removed :]
    read = parse_usual_report(body)
    if read is not None:
        digest, report = parse_report_json(parse_json(body))
        assert read == (digest, report.id, report.record)


def test_other_json_and_what_is_no_report_are_not_read_in_one_pass() -> None:
    document = encode_report_json(DIGEST, REPORT)
    member = f'"id": "{document["id"]}"'
    usual = json.dumps(document)
    assert member in usual
    for other in (
        json.dumps(dict(reversed(document.items()))),
        json.dumps(document, indent=1),
        usual.replace(member, f"{member}, {member}"),
        usual.replace(document["id"], document["id"][:-1] + "x"),
        usual.replace(DIGEST, DIGEST.upper()),
        usual.replace("-__-", "-__"),
        usual.replace("-__-", "\\u002d__-"),
        f"{usual}\n",
        f"[{usual}]",
    ):
        assert other != usual
        assert parse_usual_report(other.encode()) is None


@pytest.mark.parametrize("value", [None, [], "Female", 3])
def test_a_report_is_an_object(value: object) -> None:
    with pytest.raises(InvalidParameter, match="JSON object") as caught:
        parse_report_json(value)
    assert caught.value.field == "report"
    assert "Female" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_an_id_has_16_bytes(size: int) -> None:
    with pytest.raises(InvalidParameter, match="it has 16") as caught:
        Report(bytes(size), b"")
    assert caught.value.field == "id"


def test_ids_are_random() -> None:
    ids = {new_report_id() for _ in range(100)}
    assert len(ids) == 100
    assert {len(report_id) for report_id in ids} == {16}


def test_a_report_does_not_show_in_text() -> None:
    for shown in (repr(REPORT), str(REPORT), f"{REPORT}", repr([REPORT])):
        assert "report with a record of 3 bytes, not shown" in shown
        assert "\\x" not in shown


# Bulk


@given(st.integers(0, 5), st.lists(st.binary(min_size=21, max_size=21), max_size=6))
def test_reports_pack_and_unpack(size: int, rows: list[bytes]) -> None:
    reports = [Report(row[:16], row[16 : 16 + size]) for row in rows]
    body = pack_reports(DIGEST, reports)
    assert len(body) == 37 + len(rows) * (16 + size)
    assert reports_of(body, size) == (DIGEST, reports)
    assert reports_of(body, lambda digest: size) == (DIGEST, reports)


def test_a_bulk_body_has_its_documented_bytes() -> None:
    body = pack_reports(DIGEST, [REPORT, REPORT])
    assert body == b"HUSH\x01" + b"\x00\xff" * 16 + (bytes(range(16)) + b"\xfb\xff\xfe") * 2


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no bulk upload"),
        (b"HUSH\x01" + bytes(31), "no bulk upload"),
        (b"HREC\x01" + bytes(32), "no bulk upload"),
        (b'{"digest": "..."}' + bytes(40), "no bulk upload"),
        (b"HUSH\x02" + bytes(32), "version 2"),
        (b"HUSH\x01" + bytes(32 + 19 + 18), "18 bytes too many"),
    ],
)
def test_a_bulk_body_of_another_form_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says) as caught:
        reports_of(body, 3)
    assert caught.value.field == "body"


def test_error_of_looking_up_a_digest_passes_through() -> None:
    class Unknown(HushpollError):
        pass

    def lookup(digest: str) -> int:
        raise Unknown(digest)

    with pytest.raises(Unknown, match=DIGEST):
        reports_of(pack_reports(DIGEST, [REPORT]), lookup)


def test_records_of_different_lengths_do_not_pack() -> None:
    with pytest.raises(InvalidParameter, match="different lengths"):
        pack_reports(DIGEST, [REPORT, Report(bytes(16), b"")])


def test_media_types() -> None:
    assert wire.REPORTS_MEDIA_TYPE == "application/vnd.hushpoll.reports"
    assert RECORDS_MEDIA_TYPE == "application/vnd.hushpoll.records"
