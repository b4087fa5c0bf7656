"""Pages and files as they are or compressed by gzip, whichever the browser takes, each named."""

from __future__ import annotations

from typing import Final

from flask import Response, request

from hushpoll_server.http.endpoint import not_modified

_GZIP: Final = "gzip"


def encoded(
    body: bytes, compressed: bytes, media_type: str, *, etag: str | None = None
) -> Response:
    """Return a page or a file, gzipped if the browser takes that; it must hold no secret.

    The two encodings of the content that `etag` names get names of their own, since they have other
    bytes (RFC 9110, section 8.8.3.3). A browser that has the one that it asks for is answered 304,
    with the headers by which a cache chooses (section 15.4.5).
    """
    takes_gzip = request.accept_encodings.quality(_GZIP) > 0
    named = f"{etag}-{_GZIP}" if takes_gzip else etag
    answer = None if named is None else not_modified(named)
    if answer is None:
        answer = Response(compressed if takes_gzip else body, mimetype=media_type)
        if takes_gzip:
            answer.headers["Content-Encoding"] = _GZIP
        if named is not None:
            answer.set_etag(named)
    answer.headers["Vary"] = "Accept-Encoding"
    return answer
