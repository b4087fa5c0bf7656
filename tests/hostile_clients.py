"""Requests that no device of ours sends, byte for byte, with the answer that each is to get.

``(name, request, status, code, field, counted)``: the request is made from the `Target`; `counted` is
the reason under which the survey's counters count one more refusal, or None.
"""

# ruff: noqa: E501  # a table of requests, one a line
from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zstandard

from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import encode_redemption
from sample_survey import REPORTS

MIB = 2**20
JSON = "application/json"
BATCH = wire.REPORTS_MEDIA_TYPE


@dataclass
class Target:
    """Surveys and tokens that the clients abuse."""

    published: Published  # open
    other: Published  # open, another survey
    token_survey: Published
    closed: Published
    scheduled: Published
    admin: str
    reader: str
    expired: str
    revoked: str
    spent: str
    stolen: str  # a respondent's token of yet another survey
    stored: wire.Report  # in the open survey
    invited: Published
    invitation: str  # to the invited survey, not redeemed
    redeemed: str  # another one, which is
    make: Callable[..., wire.Report]

    def body(self, published: Published | None = None, **changes: Any) -> dict[str, Any]:
        published = published or self.published
        report = self.make(published)
        return {**wire.encode_report_json(published.digest, report), **changes}

    def record(self, attribute: str, change: Callable[[bytearray], None]) -> bytes:
        """The body of a report whose part for one attribute is altered."""
        report = self.make(self.published)
        place = self.published.layout.field(attribute)
        record = bytearray(report.record)
        part = record[place.offset : place.end]
        change(part)
        record[place.offset : place.end] = part
        altered = wire.Report(report.id, bytes(record))
        return post(wire.encode_report_json(self.published.digest, altered))

    def batch(self, count: int = 1) -> bytes:
        reports = [self.make(self.published) for _ in range(count)]
        return wire.pack_reports(self.published.digest, reports)

    def send_batch(self, body: bytes, *headers: str, token: str | None = None) -> bytes:
        authorization = f"Authorization: Bearer {token or self.admin}"
        return http_request(
            "POST", REPORTS, body, f"Content-Type: {BATCH}", authorization, *headers
        )


def http_request(
    method: str, path: str, body: bytes = b"", *headers: str, length: bool = True
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *headers]
    if length and (body or method == "POST"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def post(document: Any, *headers: str, path: str = REPORTS) -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return http_request("POST", path, body, f"Content-Type: {JSON}", *headers)


def redeem(published: Published, *headers: str, **changes: str) -> bytes:
    """The request of a redemption with a new element; `changes` replace what is in its body."""
    body = encode_redemption(published.digest, voprf.Blind(b"hostile")[1])
    path = f"/api/v1/surveys/{published.name}/redemptions"
    return post({**body, **changes}, *headers, path=path)


def raw(*lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def bearer(token: str) -> str:
    return f"Authorization: Bearer {token}"


def set_last_byte(value: int) -> Callable[[bytearray], None]:
    def change(part: bytearray) -> None:
        part[-1] = value

    return change


def fill_with_ones(part: bytearray) -> None:
    part[-1] = 0b00011111  # all five bits of a subset of fewer


def chunked(*pieces: str, headers: tuple[str, ...] = ()) -> bytes:
    head = (f"POST {REPORTS} HTTP/1.1", "Host: x", f"Content-Type: {JSON}",
            "Transfer-Encoding: chunked", *headers)  # fmt: skip
    return raw(*head, body="\r\n".join(pieces).encode("latin-1"))


def misfit(text: str) -> str:
    """Base64url whose last character has bits that belong to no byte."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + alphabet[alphabet.index(text[-1]) + 1]


Row = tuple[str, Callable[[Target], bytes], int, str, str | None, str | None]

CLIENTS: list[Row] = [
    # bodies that are no JSON
    ("truncated JSON", lambda t: post(json.dumps(t.body()).encode()[:-9]), 400, "invalid-json", "body", None),
    ("empty body", lambda t: post(b""), 400, "invalid-json", "body", None),
    ("duplicate keys", lambda t: post(json.dumps(t.body()).encode().replace(b'{', b'{"id": "AAAA", ', 1)), 400, "invalid-json", "body", None),
    ("NaN", lambda t: post(b'{"digest": NaN, "id": "", "record": ""}'), 400, "invalid-json", "body", None),
    ("infinity by exponent", lambda t: post(b'{"digest": 1e999, "id": "", "record": ""}'), 400, "invalid-json", "body", None),
    ("huge integer", lambda t: post(b'{"digest": ' + b"9" * 10_000 + b', "id": "", "record": ""}'), 400, "invalid-json", "body", None),
    ("invalid UTF-8", lambda t: post(b'{"digest": "\xff\xfe", "id": "", "record": ""}'), 400, "invalid-json", "body", None),
    ("half a surrogate pair", lambda t: post(b'{"digest": "\\ud800", "id": "", "record": ""}'), 400, "invalid-json", "body", None),
    ("UTF-16", lambda t: post(json.dumps(t.body()).encode("utf-16")), 400, "invalid-json", "body", None),
    ("deep nesting", lambda t: post(b"[" * 200_000 + b"]" * 200_000), 400, "invalid-json", "body", None),
    # bodies that say the wrong thing
    ("an array", lambda t: post([t.body()]), 422, "invalid-request", "report", None),
    ("null byte in the id", lambda t: post(t.body(id="\0" * 22)), 422, "invalid-request", "id", "invalid-request"),
    ("unknown member", lambda t: post(t.body(time="2026-03-01T12:00:00Z")), 422, "invalid-request", "time", "invalid-request"),
    ("missing member", lambda t: post({"digest": t.published.digest}), 422, "invalid-request", None, "invalid-request"),
    ("padded base64", lambda t: post(t.body(id=t.body()["id"] + "==")), 422, "invalid-request", "id", "invalid-request"),
    ("plain base64", lambda t: post(t.body(id="+/" + t.body()["id"][2:])), 422, "invalid-request", "id", "invalid-request"),
    ("base64 with stray bits", lambda t: post(t.body(id=misfit(t.body()["id"]))), 422, "invalid-request", "id", "invalid-request"),
    ("id of 15 bytes", lambda t: post(t.body(id=wire.b64encode(bytes(15)))), 422, "invalid-request", "id", "invalid-request"),
    ("digest in upper case", lambda t: post(t.body(digest=t.published.digest.upper())), 422, "invalid-request", "digest", None),
    ("number for a record", lambda t: post(t.body(record=7)), 422, "invalid-request", "record", "invalid-request"),
    ("unknown digest", lambda t: post(t.body(digest="0" * 64)), 404, "unknown-digest", "digest", None),
    ("another survey's digest", lambda t: post(t.body(t.other)), 404, "unknown-digest", "digest", None),
    # records that no device makes
    ("short record", lambda t: post(t.body(record=t.body()["record"][:-4])), 422, "malformed-report", "record", "malformed-report:length"),
    ("long record", lambda t: post(t.body(record=t.body()["record"] + "AAAA")), 422, "malformed-report", "record", "malformed-report:length"),
    ("set pad bits", lambda t: t.record("country", set_last_byte(0b11100001)), 422, "malformed-report", "country", "malformed-report:padding"),
    ("too many bits set", lambda t: t.record("country", fill_with_ones), 422, "malformed-report", "country", "malformed-report:popcount"),
    ("code out of range", lambda t: t.record("education", set_last_byte(3)), 422, "malformed-report", "education", "malformed-report:range"),
    ("perturbed code out of range", lambda t: t.record("gender", set_last_byte(2)), 422, "malformed-report", "gender", "malformed-report:range"),
    # replays and tokens
    ("replay with other bytes", lambda t: post(t.body(id=wire.b64encode(t.stored.id))), 409, "report-conflict", "id", "report-conflict"),
    ("spent token", lambda t: post(t.body(t.token_survey), bearer(t.spent), path="/api/v1/surveys/tokens/reports"), 401, "unauthorized", "Authorization", "unauthorized"),
    ("stolen token", lambda t: post(t.body(t.token_survey), bearer(t.stolen), path="/api/v1/surveys/tokens/reports"), 401, "unauthorized", "Authorization", "unauthorized"),
    ("analyst's token for a respondent's", lambda t: post(t.body(t.token_survey), bearer(t.admin), path="/api/v1/surveys/tokens/reports"), 401, "unauthorized", "Authorization", "unauthorized"),
    ("batch to a token survey", lambda t: http_request("POST", "/api/v1/surveys/tokens/reports", wire.pack_reports(t.token_survey.digest, [t.make(t.token_survey)]), f"Content-Type: {BATCH}", bearer(t.admin)), 415, "unsupported-media-type", "Content-Type", None),
    # redemptions
    ("redemption without an invitation", lambda t: redeem(t.invited), 401, "unauthorized", "Authorization", None),
    ("redemption by a guess", lambda t: redeem(t.invited, bearer("A" * 43)), 401, "unauthorized", "Authorization", None),
    ("redemption by an analyst", lambda t: redeem(t.invited, bearer(t.admin)), 401, "unauthorized", "Authorization", None),
    ("redemption by a thief of a redeemed invitation", lambda t: redeem(t.invited, bearer(t.redeemed)), 409, "invitation-redeemed", "Authorization", None),
    ("redemption of no element", lambda t: redeem(t.invited, bearer(t.invitation), blinded="A" * 43), 422, "invalid-request", "blinded", None),
    ("redemption of half an element", lambda t: redeem(t.invited, bearer(t.invitation), blinded="AAAA"), 422, "invalid-request", "blinded", None),
    ("redemption with a member more", lambda t: redeem(t.invited, bearer(t.invitation), proof="A"), 422, "invalid-request", None, None),
    ("redemption by another digest", lambda t: redeem(t.invited, bearer(t.invitation), digest="0" * 64), 404, "unknown-digest", "digest", None),
    ("redemption for an open survey", lambda t: redeem(t.published, bearer(t.invitation)), 422, "invalid-request", "submission", None),
    ("report with a forged token", lambda t: post(t.body(t.invited), bearer("A" * 128), path="/api/v1/surveys/invited/reports"), 401, "unauthorized", "Authorization", "unauthorized"),
    ("report with an invitation for a token", lambda t: post(t.body(t.invited), bearer(t.invitation), path="/api/v1/surveys/invited/reports"), 401, "unauthorized", "Authorization", "unauthorized"),
    ("expired token", lambda t: t.send_batch(t.batch(), token=t.expired), 401, "unauthorized", "Authorization", None),
    ("revoked token", lambda t: t.send_batch(t.batch(), token=t.revoked), 401, "unauthorized", "Authorization", None),
    ("token without the scope", lambda t: t.send_batch(t.batch(), token=t.reader), 403, "forbidden", "Authorization", None),
    ("publishing without a token", lambda t: post({"name": "mine"}, path="/api/v1/surveys"), 401, "unauthorized", "Authorization", None),
    ("report to a closed survey", lambda t: post(t.body(t.closed), path="/api/v1/surveys/closed/reports"), 410, "survey-closed", "digest", "survey-closed"),
    ("report before the survey opens", lambda t: post(t.body(t.scheduled), path="/api/v1/surveys/scheduled/reports"), 403, "survey-not-open", "digest", "survey-not-open"),
    # batches
    ("batch of another version", lambda t: t.send_batch(b"HUSH\x02" + t.batch()[5:]), 422, "invalid-request", "body", None),
    ("batch without its magic", lambda t: t.send_batch(b"HASH" + t.batch()[4:]), 422, "invalid-request", "body", None),
    ("half a report", lambda t: t.send_batch(t.batch(2)[:-1]), 422, "invalid-request", "body", "invalid-request"),
    ("batch of 10,001 reports", lambda t: t.send_batch(t.batch() + t.batch()[37:] * 10_000), 413, "payload-too-large", "body", None),
    ("batch of 10 MiB and a byte", lambda t: t.send_batch(bytes(10 * MIB + 1)), 413, "payload-too-large", "body", None),
    ("report of 1 MiB and a byte", lambda t: post(b" " * MIB + b"0"), 413, "payload-too-large", "body", None),
    # compression
    ("gzip bomb", lambda t: t.send_batch(gzip.compress(t.batch() + bytes(64 * MIB)), "Content-Encoding: gzip"), 413, "payload-too-large", "body", None),
    ("zstd bomb", lambda t: t.send_batch(zstandard.compress(bytes(64 * MIB)), "Content-Encoding: zstd"), 413, "payload-too-large", "body", None),
    ("gzip bomb for a report", lambda t: post(gzip.compress(b" " * (4 * MIB)), "Content-Encoding: gzip"), 413, "payload-too-large", "body", None),
    ("truncated gzip", lambda t: t.send_batch(gzip.compress(t.batch())[:-4], "Content-Encoding: gzip"), 422, "invalid-request", "body", None),
    ("bomb in a bomb", lambda t: t.send_batch(b"x", "Content-Encoding: gzip, gzip"), 415, "unsupported-media-type", "Content-Encoding", None),
    # addresses
    ("path traversal", lambda t: http_request("GET", "/api/v1/surveys/../../../etc/passwd"), 404, "not-found", None, None),
    ("path traversal, encoded", lambda t: http_request("GET", "/api/v1/surveys/..%2f..%2f..%2fetc%2fpasswd"), 404, "not-found", None, None),
    ("path traversal in a name", lambda t: http_request("GET", "/api/v1/surveys/..%5c..%5cetc"), 404, "unknown-survey", "name", None),
    ("null byte in a name", lambda t: http_request("GET", "/api/v1/surveys/work%00"), 404, "unknown-survey", "name", None),
    ("SQL in a name", lambda t: http_request("GET", "/api/v1/surveys/work'%20OR%20'1'='1"), 404, "unknown-survey", "name", None),
    ("name of 4,000 letters", lambda t: http_request("GET", "/api/v1/surveys/" + "a" * 3900), 404, "unknown-survey", "name", None),
    ("invalid UTF-8 in a name", lambda t: http_request("GET", "/api/v1/surveys/%ff%fe"), 404, "unknown-survey", "name", None),
    ("part of the path in a header", lambda t: http_request("GET", "/x/health", b"", "SCRIPT_NAME: /x"), 404, "not-found", None, None),
    ("path in a header", lambda t: http_request("GET", "/x", b"", "PATH_INFO: /health", "SCRIPT-NAME: /x"), 404, "not-found", None, None),
    ("huge version", lambda t: http_request("GET", "/api/v1/surveys/work/versions/" + "9" * 400), 422, "invalid-request", "version", None),
    # media types
    ("two media types", lambda t: http_request("POST", REPORTS, b"{}", f"Content-Type: {JSON}", "Content-Type: text/plain"), 400, "malformed-request", None, None),
    ("a form", lambda t: http_request("POST", REPORTS, b"digest=x", "Content-Type: application/x-www-form-urlencoded"), 415, "unsupported-media-type", "Content-Type", None),
    ("no media type", lambda t: http_request("POST", REPORTS, b"{}"), 415, "unsupported-media-type", "Content-Type", None),
    ("unknown method", lambda t: http_request("BREW", REPORTS), 400, "malformed-request", None, None),
    ("another method", lambda t: http_request("PATCH", REPORTS), 405, "method-not-allowed", None, None),
    # what is no HTTP
    ("HTTP/0.9", lambda t: b"GET /health\r\n\r\n", 400, "malformed-request", None, None),
    ("HTTP/9.9", lambda t: raw("GET /health HTTP/9.9", "Host: x"), 400, "malformed-request", None, None),
    ("no HTTP at all", lambda t: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40) + b"\r\n\r\n", 400, "malformed-request", None, None),
    ("huge header", lambda t: http_request("GET", "/health", b"", "X: " + "a" * 100_000), 400, "malformed-request", None, None),
    ("too many headers", lambda t: http_request("GET", "/health", b"", *[f"X-{n}: y" for n in range(500)]), 400, "malformed-request", None, None),
    ("huge request line", lambda t: http_request("GET", "/" + "a" * 100_000), 400, "malformed-request", None, None),
    ("header injection by folding", lambda t: raw("GET /health HTTP/1.1", "Host: x", "X: y", " Injected: z"), 400, "malformed-request", None, None),
    ("space before the colon", lambda t: raw("GET /health HTTP/1.1", "Host: x", "Content-Length : 3", body=b"abc"), 400, "malformed-request", None, None),
    ("null byte in a header", lambda t: raw("GET /health HTTP/1.1", "Host: x", "X: a\0b"), 400, "malformed-request", None, None),
    ("line feed in a header", lambda t: raw("GET /health HTTP/1.1", "Host: x", "X: a\rInjected: b"), 400, "malformed-request", None, None),
    # lengths and chunks, by which requests are smuggled
    ("length and chunks", lambda t: chunked("5", "hello", "0", "", headers=("Content-Length: 4",)), 400, "malformed-request", None, None),
    ("two lengths", lambda t: raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Content-Length: 3", "Content-Length: 5", body=b"abcde"), 400, "malformed-request", None, None),
    ("negative length", lambda t: raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Content-Length: -1"), 400, "malformed-request", None, None),
    ("length in words", lambda t: raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Content-Length: five"), 400, "malformed-request", None, None),
    ("length with a plus", lambda t: raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Content-Length: +5", body=b"abcde"), 400, "malformed-request", None, None),
    ("chunks by another name", lambda t: raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n"), 400, "malformed-request", None, None),
    ("chunks twice", lambda t: raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"), 400, "malformed-request", None, None),
    ("chunk size that is no number", lambda t: chunked("zz", "hello", "0", "", ""), 400, "malformed-request", None, None),
    ("negative chunk size", lambda t: chunked("-5", "hello", "0", "", ""), 400, "malformed-request", None, None),
    ("chunk larger than it says", lambda t: chunked("2", "hello", "0", "", ""), 400, "malformed-request", None, None),
]  # fmt: skip
