"""The public pages of results that an editor has published: read by everybody, without sign-in."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

from flask import Blueprint, Response, render_template, request

from hushpoll_server.errors import Refused
from hushpoll_server.http.encodings import encoded
from hushpoll_server.http.endpoint import not_modified, services
from hushpoll_server.pages.rendering import POLICY as NOTICE_POLICY
from hushpoll_server.pages.rendering import asset_root
from hushpoll_server.services.results.public_results import BUNDLE, Snapshot
from hushpoll_server.survey_reports.files.bundle import read_file
from hushpoll_server.translations.speech import ENGLISH, LANGUAGES, say, speaking
from hushpoll_shared.spelling.languages import closest, reader_language
from hushpoll_shared.wire.problems import PROBLEMS

pages = Blueprint("public_results", "hushpoll_server.pages", template_folder="templates")

_STYLE: Final = re.compile(rb"<style>(.*?)</style>", re.DOTALL)
_MEDIA_TYPES: Final = {
    "csv": "text/csv",
    "svg": "image/svg+xml",
    "json": "application/json",
    "zip": "application/zip",
}
_NOTICES: Final = {
    "not-found": ("No results are published here", "Check the link, or ask who gave it to you."),
    "results-taken-back": (
        "These results were taken back",
        "They were published here, and are not any more.",
    ),
}


@pages.get("/results/<name>")
def newest(name: str) -> Response:
    """Lead to the newest version whose results are public."""
    try:
        row = services().public_results.newest(name)
    except Refused as refusal:
        return _notice(refusal)
    asked = request.args.get("lang")
    query = f"?lang={asked}" if asked in LANGUAGES else ""
    address = f"{request.script_root}/results/{row.name}/versions/{row.version}{query}"
    answer = Response(status=302, headers={"Location": address})
    return _finished(answer)


@pages.get("/results/<name>/versions/<int:version>")
def results(name: str, version: int) -> Response:
    """Show the published results of a version, in the language that the reader asks for."""
    try:
        snapshot = _snapshot(name, version)
    except Refused as refusal:
        return _notice(refusal)
    answer = encoded(snapshot.page, snapshot.compressed, "text/html", etag=snapshot.etag)
    answer.headers["Content-Security-Policy"] = _policy(snapshot)
    answer.headers["Content-Language"] = snapshot.language
    answer.headers.add("Vary", "Accept-Language")
    return _finished(answer)


@pages.get("/results/<name>/versions/<int:version>/<path:path>")
def file(name: str, version: int, path: str) -> Response:
    """Give a file of the results: the bundle, a table or a figure."""
    try:
        snapshot = _snapshot(name, version)
        if path == BUNDLE:
            body: bytes | None = snapshot.bundle
        elif path.startswith(("tables/", "figures/")):
            body = read_file(snapshot.bundle, path)
        else:
            body = None
        if body is None:
            raise Refused("not-found", "the results have no such file")
    except Refused as refusal:
        return _notice(refusal)
    etag = f"{snapshot.etag}-{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    answer = not_modified(etag) or Response(body, mimetype=_MEDIA_TYPES[path.rpartition(".")[2]])
    answer.set_etag(etag)
    short = path.replace("/", "-")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}-{version}-{short}"'
    answer.headers["Content-Security-Policy"] = "default-src 'none'"
    answer.headers.add("Vary", "Accept-Language")
    return _finished(answer)


def _snapshot(name: str, version: int) -> Snapshot:
    """Return results in the language of the address, or else of the browser, or as published."""
    results = services().public_results
    offered = results.languages(name, version)
    asked = request.args.get("lang", "")
    language = closest(asked, offered) if asked else None
    return results.shown(
        name, version, language or reader_language(request.accept_languages, offered, offered[0])
    )


def _policy(snapshot: Snapshot) -> str:
    style = _STYLE.search(snapshot.page)
    digest = hashlib.sha256(style[1] if style else b"").digest()
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{base64.b64encode(digest).decode()}'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _notice(refusal: Refused) -> Response:
    if refusal.code not in _NOTICES:
        raise refusal
    heading, words = _NOTICES[refusal.code]
    asked = closest(request.args.get("lang", ""), LANGUAGES)
    language = asked or reader_language(request.accept_languages, LANGUAGES, ENGLISH) or ENGLISH
    with speaking(language):
        html = render_template(
            "notice.html",
            language=language,
            heading=say(heading),
            words=say(words),
            root=asset_root(),
        )
    answer = Response(html, status=PROBLEMS[refusal.code].status, mimetype="text/html")
    answer.headers["Content-Security-Policy"] = NOTICE_POLICY
    answer.headers.add("Vary", "Accept-Language")
    return _finished(answer)


def _finished(answer: Response) -> Response:
    # Kept by caches, and asked for each time whether it still stands: it may be taken back.
    answer.headers["Cache-Control"] = "public, no-cache"
    answer.headers["Referrer-Policy"] = "no-referrer"
    answer.headers["X-Robots-Tag"] = "noindex"
    return answer
