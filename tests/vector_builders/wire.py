"""What travels: base64url, one report as JSON, many as bytes, and problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from decoded import reports_of
from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.wire.problems import PROBLEMS
from hushpoll_shared.wire.reports import Report, encode_report_json, pack_reports, parse_report_json
from vector_builders.document import Group, write
from vector_builders.words import take

DIGEST = "00ff" * 16
TEXTS = (
    "",
    "A",
    "AA",
    "AB",
    "AAA",
    "AAB",
    "AAAA",
    "AAAAA",
    "AA==",
    "AAA=",
    "A===",
    "=",
    "A A",
    "AAAA\n",
    "-_-_",
    "+/+/",
    "_w",
    "_x",
    "__8",
    "__9",
    "____",
    "AA\u00e9A",
    "\uff21AAA",
    "AAAA AAAA",
    ".AAA",
    "AAAAAA",
    "AAAAAQ",
    "AAAAAAA",
    "AAAAAAE",
    "AAAAAAF",
)


def build(folder: Path) -> None:
    """Write wire.json."""
    write(
        folder / "wire.json",
        "base64url, reports as JSON and in bulk, and the table of problems.",
        [_base64(), _reports(), _refused(), _bulk(), _refused_bulk(), _problems()],
    )


def _bytes(seed: int, count: int) -> bytes:
    return b"".join(word.to_bytes(8, "little") for word in take(seed, count // 8 + 1))[:count]


def _base64() -> Group:
    group = Group(
        "base64url",
        "Unpadded and canonical (RFC 4648, sections 3.5 and 5).",
        {"text": "what is read", "bytes": "hexadecimal, or null where the text is refused"},
    )
    for text in (*TEXTS, *(b64encode(_bytes(seed, seed)) for seed in range(1, 24))):
        try:
            data = b64decode(text, field="record").hex()
        except InvalidParameter:
            data = None
        group.add(text=text, bytes=data)
    return group


def _reports() -> Group:
    group = Group(
        "reports",
        "One report as JSON.",
        {
            "digest": "of the published manifest, 64 hexadecimal digits",
            "id": "16 bytes, hexadecimal",
            "record": "hexadecimal",
            "json": "the body",
        },
    )
    for size in (0, 1, 2, 3, 33, 100):
        report = Report(_bytes(50 + size, 16), _bytes(60 + size, size))
        group.add(
            digest=DIGEST,
            id=report.id.hex(),
            record=report.record.hex(),
            json=encode_report_json(DIGEST, report),
        )
    return group


def _refused() -> Group:
    group = Group(
        "refused_reports",
        "Bodies that are refused.",
        {"json": "the body", "field": "the field at fault"},
    )
    sound: dict[str, Any] = dict(encode_report_json(DIGEST, Report(_bytes(1, 16), _bytes(2, 7))))
    changes: list[dict[str, Any]] = [
        {"digest": DIGEST.upper()},
        {"digest": DIGEST[2:]},
        {"digest": "0x" + DIGEST[2:]},
        {"digest": None},
        {"id": sound["id"] + "=="},
        {"id": sound["id"][:-2]},
        {"id": sound["id"][:-1] + "_"},
        {"id": 7},
        {"record": sound["record"] + "="},
        {"record": sound["record"][:-1] + "_"},
        {"record": [1, 2]},
        {"answers": {}},
    ]
    bodies: list[Any] = [{**sound, **change} for change in changes]
    bodies += [{k: v for k, v in sound.items() if k != key} for key in sound]
    for body in [*bodies, [], None, "report"]:
        try:
            parse_report_json(body)
        except InvalidParameter as error:
            group.add(json=body, field=error.field)
        else:
            raise AssertionError(body)
    return group


def _bulk() -> Group:
    group = Group(
        "bulk",
        "Many reports: HUSH, version byte 1, digest (32 bytes), then n times id (16) and record.",
        {
            "digest": "64 hexadecimal digits",
            "record_size": "bytes of one record",
            "reports": "pairs of id and record, hexadecimal",
            "body": "the body, hexadecimal",
        },
    )
    for count, size in ((0, 3), (1, 3), (3, 1), (2, 33)):
        rows = [Report(_bytes(70 + i, 16), _bytes(80 + i, size)) for i in range(count)]
        group.add(
            digest=DIGEST,
            record_size=size,
            reports=[[row.id.hex(), row.record.hex()] for row in rows],
            body=pack_reports(DIGEST, rows).hex(),
        )
    return group


def _refused_bulk() -> Group:
    group = Group(
        "refused_bulk",
        "Bulk bodies that are refused as a whole.",
        {"what": "what is wrong", "record_size": "bytes of one record", "body": "hexadecimal"},
    )
    sound = pack_reports(DIGEST, [Report(_bytes(1, 16), _bytes(2, 3))])
    for what, body in (
        ("empty", b""),
        ("cut in its header", sound[:36]),
        ("another magic", b"HREC" + sound[4:]),
        ("another version", sound[:4] + b"\x02" + sound[5:]),
        ("one byte short", sound[:-1]),
        ("one byte long", sound + b"\x00"),
    ):
        try:
            reports_of(body, 3)
        except InvalidParameter:
            group.add(what=what, record_size=3, body=body.hex())
        else:
            raise AssertionError(what)
    return group


def _problems() -> Group:
    group = Group(
        "problems",
        "The table of problems (RFC 9457).",
        {
            "code": "stable name",
            "type": "the problem's URN",
            "status": "HTTP status",
            "retryable": "whether the same bytes may succeed later",
        },
    )
    for code, row in PROBLEMS.items():
        group.add(code=code, type=row.urn, status=row.status, retryable=row.retryable)
    return group
