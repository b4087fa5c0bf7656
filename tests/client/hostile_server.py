"""A server that answers every request with text that is made to harm its reader."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

from client.whole_documents import value_of
from hushpoll_shared.qualifying.subject import OfRelease
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.wire.documents import (
    administration,
    audits,
    codebook,
    drafts,
    jobs,
    kept_results,
    plans,
    results,
    surveys,
)

# Escape sequences that set a window's title and clear the screen; a carriage return and a line of
# its own; C1; an override; a blank without width; a filler; rich's markup and an emoji code; NUL.
HOSTILE: Final = (
    "\x1b]0;owned\x07\x1b[2Jab\r\nError: forged\x9b31m\u202egnp\u200b.\u2800 [bold]x[/bold] "
    ":smile:\x00\u2028z\ud800"
)

JOB_ID: Final = "1f"

# What a client takes for an answer; one object has the members of them all.
DOCUMENTS: Final = (
    kept_results.AuditEntry,
    codebook.CodebookDocument,
    surveys.CountsDocument,
    surveys.DeletionDocument,
    drafts.ImageDocument,
    drafts.ImportDocument,
    administration.InvitationCounts,
    plans.LaunchDocument,
    kept_results.LearnerList,
    administration.MailPreviewDocument,
    jobs.MailsSent,
    results.PublishedResultsDocument,
    surveys.PublishDocument,
    administration.RotateDocument,
    surveys.SurveySummary,
    administration.TokenCounts,
    administration.TokenSummary,
    kept_results.Run,
    drafts.ValidationDocument,
    surveys.CloseDocument,
    drafts.DraftDocument,
    jobs.JobDocument,
    audits.AuditDocument,
    kept_results.RegressionEntry,
)


def _row(text: Any) -> dict[str, Any]:
    """Return an object that has every field of every answer, filled with `text`."""
    texts = (
        "name title digest deleted_at accepts_until token id replaces "
        "replaced_until replaced_by expires_at survey kind label message code detail "
        "protocol epsilon category finding created_at changed_at changed_by "
        "hardly_protected address published_at published_by taken_back_at "
        "language sender recipient subject body"
    )
    members: dict[str, Any] = {}
    for kind in DOCUMENTS:
        members |= value_of(kind, HOSTILE)
    return (
        members
        | dict.fromkeys(texts.split(), text)
        | {
            "state": "done",
            "confidence": 0.95,
            "scopes": [text],
            "p_value": 0.5,
            "alpha": 0.01,
            "flagged": False,
            "metrics": [],
            "frequency": 0.5,
            "standard_error": 0.1,
            "lower": 0.1,
            "upper": 0.9,
            "poisoning": {"fake_share": 0.01, "raised_by": 0.1, "lowered_by": -0.1},
        }
    )


def answer(text: Any) -> dict[str, Any]:
    """Return one object that every command takes for its answer."""
    row = _row(text)
    return row | {
        "warnings": [row],
        "surveys": [row],
        "drafts": [row],
        "publications": [row | {"attributes": [text], "cross_tables": [[text, text]]}],
        "problems": [row],
        "manifest": {str(text): [text, {"a": text}]},
        "tokens": [row],
        "mails": [row],
        "origins": [text],
        "error": {"detail": text, "code": text},
        "result": {"name": f"../../.bashrc\x00{text}"},
        "attributes": [row | {"categories": [row]}],
    }


WRONG: Final[dict[str, Any]] = {
    # Every field is there, and none has its type.
    key: 7 if isinstance(value, list | dict) else [["x"]]
    for key, value in answer("").items()
} | {"state": "done", "surveys": [7], "tokens": [[7]], "origins": [{}]}

BODIES: Final[dict[str, tuple[int, str, bytes]]] = {
    "answers": (200, "application/json", json.dumps(answer(HOSTILE)).encode()),
    "wrong types": (200, "application/json", json.dumps(WRONG).encode()),
    "problems": (
        404,
        "application/problem+json",
        json.dumps(
            {
                "type": "urn:hushpoll:problem:not-found",
                "title": HOSTILE,
                "detail": HOSTILE,
                "field": HOSTILE,
                "reason": HOSTILE,
                "status": 404,
            }
        ).encode(),
    ),
    "another type": (200, HOSTILE.splitlines()[0][-2:], HOSTILE.encode("utf-8", "replace")),
    "not a number": (200, "application/json", b'{"surveys": NaN, "tokens": NaN, "id": Infinity}'),
    "a deep nesting": (200, "application/json", b"[" * 100_000),
    "a list": (200, "application/json", b"[]"),
    "nothing": (200, "application/json", b""),
    "an empty object": (200, "application/json", b"{}"),
    "a login page": (200, "text/html", b"<title>Welcome to this network</title>"),
}


class _QuietServer(ThreadingHTTPServer):
    """A server that says nothing of a client that hangs up, as one that reads a head alone does."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: what is printed would be taken for what the command says."""


class HostileServer:
    """Listens on loopback and answers each request the same way.

    Parameters
    ----------
    way : str
        A key of `BODIES`.
    manifest : bytes or None
        What a survey is answered with instead, and then its reports are taken.
    job_id : str
        What the answer says is the id of a job.

    Attributes
    ----------
    url : str
        Where clients connect.
    """

    def __init__(self, way: str, manifest: bytes | None = None, job_id: str = JOB_ID) -> None:
        status, kind, body = BODIES[way]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                survey = manifest is not None and self.command == "GET" and _names(self.path)
                body_sent = manifest if survey and manifest is not None else body
                if way == "answers" and not survey:
                    body_sent = json.dumps(_by_path(self.path, job_id)).encode()
                if way == "answers" and self.command == "DELETE" and "/records" not in self.path:
                    self.send_response(204)
                    self.end_headers()
                    return
                self.send_response(200 if survey else status)
                self.send_header("Content-Type", "application/json" if survey else kind)
                if way == "answers":
                    self.send_header("Content-Disposition", 'attachment; filename="../../.bashrc"')
                self.send_header("Content-Length", str(len(body_sent)))
                self.end_headers()
                self.wfile.write(body_sent)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815  (the library's)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = _QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _by_path(path: str, job_id: str) -> dict[str, Any]:
    """Return what a command goes on with: an id of a job that can be one, counts of reports."""
    answered = answer(HOSTILE)
    query = all_queries().get(path.partition("?")[0].rpartition("/")[2])
    if query is not None:
        about = {} if query.compares else value_of(OfRelease, HOSTILE)
        members = value_of(query.result_type, HOSTILE)
        del members["about"]
        for attribute in members.get("attributes", ()):
            attribute.pop("option", None)  # whose categories are selected and not selected
        return about | members
    if "/jobs" in path:
        return answered | {"id": job_id}
    if path.endswith("/counts"):
        return answered | {"accepted": 0, "duplicate": 0, "rejected": {HOSTILE: 1}}
    if path.endswith("/reports"):
        rejected = [{"index": 0, "code": HOSTILE, "field": HOSTILE}] * 2
        return answered | {"accepted": 0, "duplicate": 0, "rejected": rejected}
    return answered


def _names(path: str) -> bool:
    """Whether a path names a survey or a version of one, and nothing below it."""
    parts = path.partition("?")[0].strip("/").split("/")[2:]
    return parts[:1] == ["surveys"] and len(parts) in (2, 4)
