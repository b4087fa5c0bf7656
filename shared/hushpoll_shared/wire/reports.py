"""Reports as they travel: one as JSON, many as the bytes of a bulk upload.

All integers are little-endian; base64url is unpadded and in its one spelling, so that a report has
exactly one JSON form.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.base64url import b64decode, b64encode, decoded
from hushpoll_shared.spelling.canonical import check_keys
from hushpoll_shared.spelling.text import show

JSON_MEDIA_TYPE: Final = "application/json"
REPORTS_MEDIA_TYPE: Final = "application/vnd.hushpoll.reports"

ID_SIZE: Final = 16
REPORTS_MAGIC: Final = b"HUSH"
REPORTS_VERSION: Final = 1
REPORTS_HEADER_SIZE: Final = 4 + 1 + 32

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_REPORT_KEYS: Final = ("digest", "id", "record")
# As devices write JSON, with blanks after signs or without. 16 bytes are 22 letters.
_USUAL_JSON: Final = re.compile(
    rb'\{"digest": ?"([0-9a-f]{64})", ?"id": ?"([A-Za-z0-9_-]{22})", ?'
    rb'"record": ?"([A-Za-z0-9_-]*)"\}'
)


@dataclass(frozen=True, repr=False)
class Report:
    """One respondent's record under a random id; the repr shows neither."""

    id: bytes
    """16 random bytes, drawn once per report and kept over retries."""
    record: bytes

    def __post_init__(self) -> None:
        if len(self.id) != ID_SIZE:
            raise InvalidParameter(
                f"the report's id has {len(self.id)} bytes; it has {ID_SIZE}: use new_report_id()",
                field="id",
            )

    def __repr__(self) -> str:
        return f"<report with a record of {len(self.record)} bytes, not shown>"


def new_report_id() -> bytes:
    """Draw the 16 random bytes of a new report from the operating system."""
    return os.urandom(ID_SIZE)


def check_digest(value: object) -> str:
    """Return `value` if it is 64 lower-case hexadecimal digits; refuses anything else."""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise InvalidParameter(
            f"digest is {show(value)}; a digest is 64 lower-case hexadecimal digits, as the "
            "published survey's digest",
            field="digest",
        )
    return value


def encode_report_json(digest: str, report: Report) -> dict[str, str]:
    """Return the JSON body of one report: ``digest``, ``id`` and ``record``."""
    return {
        "digest": check_digest(digest),
        "id": b64encode(report.id),
        "record": b64encode(report.record),
    }


def parse_report_json(value: object) -> tuple[str, Report]:
    """Read the JSON body of one report: its digest, and a record that is not yet checked."""
    body = body_with(value, _REPORT_KEYS, "the report", field="report")
    digest = check_digest(body["digest"])
    identifier = b64decode(body["id"], field="id")
    return digest, Report(identifier, b64decode(body["record"], field="record"))


def body_with(
    value: object, keys: tuple[str, ...], noun: str, *, field: str = "body", joiner: str = ", "
) -> Mapping[str, object]:
    """Return a JSON body that is an object with these keys and no others; refuse another."""
    if not isinstance(value, Mapping):
        raise InvalidParameter(
            f"{noun} is of type {type(value).__name__}; it must be a JSON object with "
            f"{joiner.join(keys)}",
            field=field,
        )
    check_keys(value, frozenset(keys), keys, where="", document=noun)
    return value


def parse_usual_report(body: bytes) -> tuple[str, bytes, bytes] | None:
    """Read the digest, id and record of a report whose JSON is spelt as devices spell it.

    None of any other bytes, about which `parse_report_json` says what is wrong, if anything is.
    """
    matched = _USUAL_JSON.fullmatch(body)
    if matched is None:
        return None
    digest, *letters = matched.groups()
    identifier, record = map(decoded, letters)
    return None if identifier is None or record is None else (digest.decode(), identifier, record)


def pack_reports(digest: str, reports: Iterable[Report]) -> bytes:
    """Pack reports of one survey version into a bulk body; refuses records that differ in length.

    Layout: ``HUSH``, version byte 1, digest (32 bytes), then per report its id (16) and its record.
    """
    rows = [report.id + report.record for report in reports]
    if len({len(row) for row in rows}) > 1:
        raise InvalidParameter(
            "the reports have records of different lengths; pack reports of one survey version",
            field="reports",
        )
    return reports_header(digest) + b"".join(rows)


def reports_header(digest: str) -> bytes:
    """Return the 37 bytes that open a bulk body."""
    return REPORTS_MAGIC + bytes([REPORTS_VERSION]) + bytes.fromhex(check_digest(digest))


def parse_reports_header(body: bytes | bytearray) -> str:
    """Return the digest that a bulk body is for; refuses another magic or version."""
    if len(body) < REPORTS_HEADER_SIZE or body[:4] != REPORTS_MAGIC:
        raise InvalidParameter(
            f"the body is no bulk upload: it must start with {REPORTS_MAGIC.decode()}, a version "
            f"byte and a digest of 32 bytes; use the media type {JSON_MEDIA_TYPE} for one report",
            field="body",
        )
    if body[4] != REPORTS_VERSION:
        raise InvalidParameter(
            f"the bulk upload has version {body[4]}; this side reads version {REPORTS_VERSION}: "
            "update the older side",
            field="body",
        )
    return body[5:REPORTS_HEADER_SIZE].hex()
