"""The hosted survey page: a form that is answered and randomised in the browser, and its files."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response, render_template, request

from hushpoll_server.errors import Refused
from hushpoll_server.http.encodings import encoded
from hushpoll_server.http.endpoint import services
from hushpoll_server.pages.assets import assets
from hushpoll_server.pages.rendering import PAGES, POLICY, asset_root, rendered
from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.words import ENGLISH, catalogues, words_for
from hushpoll_shared.page_scripts import WORKER
from hushpoll_shared.spelling.languages import closest, reader_language
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.problems import PROBLEMS

pages = Blueprint("page", "hushpoll_server.pages", template_folder="templates")
FOR_EVER: Final = "public, max-age=31536000, immutable"


@pages.get("/s/<name>")
def survey(name: str) -> Response:
    """Render the version that a new respondent answers."""
    try:
        return _form(services().surveys.latest(name))
    except Refused as refusal:
        return _notice(refusal)


@pages.get("/s/<name>/versions/<int:version>")
def survey_version(name: str, version: int) -> Response:
    """Render one version."""
    try:
        return _form(services().surveys.version(name, version))
    except Refused as refusal:
        return _notice(refusal)


@pages.get("/page/<build>/<path:path>")
def asset(build: str, path: str) -> Response:
    """Return one file of the page, to be kept for ever."""
    file = assets().files.get(path) if build == assets().build else None
    if file is None:
        raise Refused("not-found", "the page has no such file; load the page again")
    answer = encoded(file.body, file.compressed, file.media_type)
    answer.headers["Cache-Control"] = FOR_EVER
    answer.headers["Content-Security-Policy"] = POLICY
    if path == WORKER:
        # It serves the pages, not only what lies beside it.
        answer.headers["Service-Worker-Allowed"] = f"{request.script_root}/"
    return answer


@pages.get("/image/<digest>")
def image(digest: str) -> Response:
    """Return an image that surveys show, to be kept for ever: its name is its hash."""
    row = services().images.find(digest)
    answer = Response(row.body, mimetype=row.media_type)
    answer.headers["Cache-Control"] = FOR_EVER
    answer.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
    return answer


def _form(row: VersionRow) -> Response:
    surveys = services().surveys
    match surveys.state(row):
        case State.SCHEDULED:
            raise Refused("survey-not-open", "the survey has not begun")
        case State.CLOSED | State.CLOSING:
            raise Refused("survey-closed", "the survey takes no more answers")
    published = surveys.published(row)
    language = _language(published)
    words = words_for((request.args.get("lang"), language))
    page = PAGES.get(
        (row.digest, asset_root(), language, words.language),
        lambda: rendered(published, published.wording(language), words),
    )
    answer = _page(encoded(page.body, page.compressed, "text/html", etag=page.etag))
    if published.translations:
        answer.headers.add("Vary", "Accept-Language")
    return answer


def _language(published: Published) -> str | None:
    """Return the language that the address asks for, or else the one that the browser does."""
    asked = request.args.get("lang", "")
    if asked in published.languages:
        return asked
    accepted = request.accept_languages
    if asked and (near := closest(asked, published.languages)) is not None:
        return near
    return reader_language(accepted, published.languages, published.language)


def _notice(refusal: Refused) -> Response:
    asked = request.args.get("lang")
    words = words_for(
        (asked, reader_language(request.accept_languages, tuple(catalogues()), ENGLISH)),
    )
    html = render_template(
        "notice.html",
        language=words.language,
        heading=words.say(f"notice.{refusal.code}"),
        words=words.say(f"notice.{refusal.code}.words"),
        root=asset_root(),
    )
    answer = _page(Response(html, mimetype="text/html"))
    answer.headers["Vary"] = "Accept-Language"
    answer.status_code = PROBLEMS[refusal.code].status
    return answer


def _page(answer: Response) -> Response:
    answer.headers["Cache-Control"] = "no-cache"
    answer.headers["Content-Security-Policy"] = POLICY
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer
