"""What answers mean, by status, media type and body: which of them are the server's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from hushpoll_shared.wire.problems import PROBLEM_MEDIA_TYPE, PROBLEMS
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE
from vector_builders.document import Group, write

STATUSES: Final = (
    *(103, 200, 201, 202, 203, 204, 206, 207, 226),
    *(300, 301, 302, 303, 304, 305, 307, 308),
    *(400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417),
    *(418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451),
    *(500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 521, 522, 523, 524, 525, 526, 599),
)
HTML: Final = "<html><body>Welcome to the train. <a href=/login>Log in</a></body></html>"
ACCEPTED: Final = '{"status": "accepted"}'
MANIFEST: Final = '{"format": 1, "name": "a", "attributes": [{"name": "b"}]}'
DUPLICATE: Final = '{"status": "duplicate"}'

Said = dict[int, str]
"""What is said at some statuses; at all others the same is asked again later."""


def build(folder: Path) -> None:
    """Write answers.json."""
    write(
        folder / "answers.json",
        "What an answer says of a report or a survey, and which answers are not the server's.",
        [_answers()],
        statuses=list(STATUSES),
    )


def _answers() -> Group:
    group = Group(
        "answers",
        "Each comes with each of the statuses. One that is not the server's own ends nothing.",
        {
            "media_type": "the header, or null without one",
            "body": "its bytes, each as the character of that number",
            "report": "the end of a report, by status: accepted, duplicate, or the code of "
            "the problem that ends it; at all other statuses it is kept and sent again later",
            "survey": "the end of a request for a survey, by status: manifest (which is "
            "checked then), or the code of the problem that ends it; at all others, later",
        },
    )

    def add(
        media_type: str | None, body: str, report: Said | None = None, survey: Said | None = None
    ) -> None:
        group.add(
            media_type=media_type,
            body=body,
            report={str(status): said for status, said in (report or {}).items()},
            survey={str(status): said for status, said in (survey or {}).items()},
        )

    manifest = {200: "manifest"}
    for media_type in (JSON_MEDIA_TYPE, "Application/JSON; charset=utf-8", " application/json\t;x"):
        add(media_type, ACCEPTED, {201: "accepted"})
        add(media_type, DUPLICATE, {200: "duplicate"})
        add(media_type, MANIFEST, {}, manifest)
    for media_type in (
        *(None, "", "text/html", "text/plain", "application/jsonp", "application/json, text/html"),
        *("text/html; application/json", PROBLEM_MEDIA_TYPE),
    ):
        add(media_type, ACCEPTED)
        add(media_type, MANIFEST)
    for media_type in (None, "text/html", "text/html; charset=utf-8", JSON_MEDIA_TYPE):
        add(media_type, HTML)
    add(PROBLEM_MEDIA_TYPE, HTML)
    for body in ("", "[]", "null", "7", '"accepted"', '["accepted"]', "\xef\xbb\xbf" + ACCEPTED):
        add(JSON_MEDIA_TYPE, body)
    for body in (
        *('{"status": ["accepted"]}', '{"status": {"accepted": 1}}', '{"status": 201}', "{}"),
        *('{"Status": "accepted"}', '{"status": "Accepted"}', '{"status": "accepted"', "{"),
        *('{"status": "accepted", "x": NaN}', '{"status": "accepted", "x": -Infinity}'),
        # A single quote is no JSON, a byte is no UTF-8, a control character has to be escaped.
        *("{'status': 'accepted'}", '{"status": "accepted", "x": "\xff"}', '{"status": "\n"}'),
        '{"status": "accepted"} {"status": "accepted"}',
        '{"status": "accepted", "x": ' + _nested(16) + "}",
        '{"status": "accepted", "x": ' + "[" * 3000 + "}",
        '{"status": "accepted", "x": ' + _nested(3000) + "}",
    ):
        add(JSON_MEDIA_TYPE, body)
    for body in (
        # The last of two is read; a number may have any length, a text half of a pair.
        '{"status": "duplicate", "status": "accepted"}',
        '{"status": "accepted", "x": ' + _nested(15) + "}",
        '{"status": "accepted", "x": 1' + "0" * 5000 + ', "y": 1e999, "z": "\\ud800"}',
        '\r\n\t {"status": "accepted", "__proto__": {"status": 1}}\n',
    ):
        add(JSON_MEDIA_TYPE, body, {201: "accepted"})
    for body in (
        *('{"attributes": {}}', '{"attributes": "[]"}', f"[{MANIFEST}]", '{"captive": true}'),
        *(MANIFEST[:-1], f"{MANIFEST[:-1]}, 'x': 1}}", "\xef\xbb\xbf" + MANIFEST),
        MANIFEST[:-1] + ', "x": ' + _nested(3000) + "}",
    ):
        add(JSON_MEDIA_TYPE, body)
    # One that lies is for the reader of manifests to refuse.
    for body in ('{"attributes": [], "attributes": []}', f" {MANIFEST}\n"):
        add(JSON_MEDIA_TYPE, body, {}, manifest)
    for code, row in PROBLEMS.items():
        ends = {} if row.retryable else {row.status: code}
        add(PROBLEM_MEDIA_TYPE, _problem(code), ends, ends)
    closed = {410: "survey-closed"}
    for members in (
        {"code": "x", "status": 503, "retryable": True},
        {"title": 5, "detail": {}, "field": ["x"], "code": {"toString": None}, "remedy": None},
        {"detail": "x" * 5000},
    ):
        add(PROBLEM_MEDIA_TYPE, _problem("survey-closed", **members), closed, closed)
    add(f"{PROBLEM_MEDIA_TYPE.upper()} ; q=1", _problem("survey-closed"), closed, closed)
    for kind in (
        *(5, None, [], {}, "", "about:blank", "survey-closed", "urn:hushpoll:problem:"),
        *("urn:hushpoll:problem:toString", "urn:hushpoll:problem:survey-closed "),
        *("URN:HUSHPOLL:PROBLEM:survey-closed", ["urn:hushpoll:problem:survey-closed"]),
        "urn:hushpoll:problem:invalid-json malformed-request",
    ):
        add(PROBLEM_MEDIA_TYPE, _problem("survey-closed", type=kind))
    add(None, _problem("survey-closed"))
    add("text/html", _problem("survey-closed"))
    add(JSON_MEDIA_TYPE, _problem("survey-closed"))
    add(PROBLEM_MEDIA_TYPE, f"[{_problem('survey-closed')}]")
    deep = _problem("survey-closed")[:-1] + ', "x": '
    add(PROBLEM_MEDIA_TYPE, deep + _nested(3000) + "}")
    add(PROBLEM_MEDIA_TYPE, deep + "[" * 3000)
    return group


def _problem(code: str, /, **members: object) -> str:
    row = PROBLEMS[code]
    return json.dumps({"type": row.urn, "status": row.status, "title": row.title} | members)


def _nested(levels: int) -> str:
    """Return lists and objects in turn, `levels` deep."""
    text = "0"
    for level in range(levels):
        text = f'{{"a":{text}}}' if level % 2 else f"[{text}]"
    return text
