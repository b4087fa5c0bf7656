"""gunicorn's threaded worker, with requests that end in time and refusals that are problems."""

from __future__ import annotations

import json
from typing import Any, Final

from gunicorn import util  # type: ignore[import-untyped]  # none exist
from gunicorn.http.errors import (  # type: ignore[import-untyped]  # none exist
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    ParseException,
)
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]  # none exist

from hushpoll_server.deadline_socket import DeadlineSocket, SlowRequest
from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import malformed_request, slow_request
from hushpoll_server.http.headers import SECURITY
from hushpoll_shared.problems import PROBLEM_MEDIA_TYPE, problem_document

# How long a refused client may take to read its answer before the connection is cut.
LINGER_SECONDS: Final = 1.0
_PHRASES: Final = {400: "Bad Request", 408: "Request Timeout", 500: "Internal Server Error"}


class HttpWorker(ThreadWorker):  # type: ignore[misc]  # its base has no types
    """One worker process of ``hushpoll serve``."""

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection that has, or will have, a request to a thread."""
        if not isinstance(conn.sock, DeadlineSocket):
            conn.sock = DeadlineSocket.of(conn.sock)
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Answer one request, in a thread."""
        conn.sock.expect_request()
        try:
            result = super().handle(conn)
        finally:
            conn.sock.expect_nothing()
        if not result:
            # gunicorn would wait for the client's end on its main thread, which accepts
            # connections for everybody.
            util.close_graceful(conn.sock, timeout=LINGER_SECONDS)
        return result

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        try:
            return bool(super()._keepalive_after(conn, keepalive))
        except SlowRequest:
            return False

    def handle_error(self, _req: Any, client: Any, _addr: Any, exc: Exception) -> None:
        """Answer what is no request with a problem; nothing of it is logged or sent back."""
        own_fault = isinstance(exc, InvalidResponseHeader | InvalidResponseHeaderName)
        if isinstance(exc, SlowRequest):
            self.log.warning("Invalid request")
            refusal = slow_request()
        elif isinstance(exc, ParseException) and not own_fault:
            self.log.warning("Invalid request")
            refusal = malformed_request(exc)
        else:
            self.log.error("Error handling request")
            refusal = Refused("internal", "the server failed before it could answer")
        try:
            client.sendall(_answer(refusal))
        except OSError:
            self.log.debug("the client is gone")


def _answer(refusal: Refused) -> bytes:
    document = problem_document(refusal.code, detail=refusal.detail)
    body = json.dumps(document).encode()
    status = document["status"]
    headers = {
        **SECURITY,
        "Content-Type": PROBLEM_MEDIA_TYPE,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {status} {_PHRASES[status]}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
