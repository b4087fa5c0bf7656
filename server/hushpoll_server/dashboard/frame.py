"""What every page of the dashboard goes through: session, forms, headers, and refusals as pages."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from flask import (
    Blueprint,
    Flask,
    Request,
    Response,
    g,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask_login import LoginManager, UserMixin, current_user, login_required
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.answering import DASHBOARD_PATH, REFUSED_BODY_HEADER
from hushpoll_server.charts.figures import FILTERS, levels
from hushpoll_server.dashboard.questions import in_questions, names_of
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.logs import get_logger, where
from hushpoll_server.pages.assets import assets
from hushpoll_server.services.people.sign_in import SignedIn
from hushpoll_server.services.people.users import Member
from hushpoll_server.survey_reports.content.naming import as_text, in_texts
from hushpoll_shared.qualifying.possible import shown_difference, shown_share, shown_within
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole
from hushpoll_shared.spelling.number_texts import p_value_text
from hushpoll_shared.spelling.text import show, with_mark
from hushpoll_shared.tables.regressions import shown_coefficient
from hushpoll_shared.tables.top_rows import top_rows
from hushpoll_shared.wire.problems import PROBLEMS

log = get_logger(__name__)

dashboard = Blueprint("dashboard", __name__, url_prefix="/dashboard", template_folder="templates")
logins = LoginManager()

COOKIE: Final = "hushpoll_session"
# Flask-Login also looks for a cookie that remembers a user for a year, by default of a name that
# other programs on the same host use. Nobody is remembered here, and no cookie can have this name.
REMEMBER_COOKIE: Final = "="
# It is for a form that is sent before there is a session: the sign-in.
FORM_COOKIE: Final = "hushpoll_form"
FORM_FIELD: Final = "form_token"
# There is no script, and nothing of another host.
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
# It is for a page on which something goes on: a module of this server looks how far it is.
LIVE_POLICY: Final = f"{POLICY}; script-src 'self'; connect-src 'self'"
TITLES: Final = {
    403: "You may not do this",
    404: "There is no such page",
    413: "This is too large",
    429: "Too many attempts",
    500: "The server failed",
    503: "The server is busy",
}

LONGEST_NAME: Final = 64
# What a page's intervals are chosen from.
CONFIDENCES: Final = ("0.8", "0.9", "0.95", "0.99")
USUAL_CONFIDENCE: Final = "0.95"
_WORD: Final = re.compile(r"[\w-]+")

View = Callable[..., Any]


class Visitor(UserMixin):  # type: ignore[misc]  # Flask-Login has no types
    """One session of a user, in the terms of Flask-Login."""

    def __init__(self, session: SignedIn) -> None:
        self.id = session.session.id
        self.session = session


def init_app(app: Flask) -> None:
    """Let Flask-Login know who sends a request; it reads our cookie and writes none."""
    app.config["REMEMBER_COOKIE_NAME"] = REMEMBER_COOKIE
    # Templates of other pages would ask for a user too.
    logins.init_app(app, add_context_processor=False)


@logins.request_loader  # type: ignore[untyped-decorator]
def _visitor(asked: Request) -> Visitor | None:
    """Return the session of a request's cookie, for Flask-Login, which keeps the answer."""
    # Asked again only where the first answer was a fault, whose page needs one.
    if g.get("asked_for_visitor"):
        return None
    g.asked_for_visitor = True
    session = services().sign_in.recognise(asked.cookies.get(COOKIE))
    return None if session is None else Visitor(session)


def signed_in() -> SignedIn:
    """Return the session of this request, in a view that needs one."""
    session: SignedIn = current_user.session
    return session


def member() -> Member:
    """Return the user of this request, in a view that needs one."""
    return signed_in().member


def private(view: View) -> View:
    """Let a view answer those alone who are signed in; a form must be one of this session's.

    Others are led to the sign-in page, which leads back.
    """

    @wraps(view)
    def checked(**arguments: Any) -> Any:
        if request.method == "POST":
            require_form(signed_in().form_token)
        if "\0" in request.path:  # which no name or id has, and PostgreSQL takes in no text
            raise Refused("not-found", "nothing is at this address")
        return view(**arguments)

    guarded: View = login_required(checked)
    return guarded


@logins.unauthorized_handler  # type: ignore[untyped-decorator]
def to_sign_in() -> Response:
    """Return the way to the sign-in page and back to this one."""
    where_to = url_for("dashboard.sign_in")
    if request.method == "GET":
        back = request.full_path.rstrip("?")
        where_to += "?" + urlencode({"next": request.script_root + back})
    return see(where_to)


def require_form(expected: str) -> None:
    """Refuse a form that another site has sent, or that carries another token than `expected`."""
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    given = request.form.get(FORM_FIELD, "")
    same = hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
    if site not in ("same-origin", "none") or not expected or not same:
        raise Refused("forbidden", "this form is not of your session; load the page again")


def see(location: str) -> Response:
    """Return the way to another page of this server, after a form was sent."""
    return finished(make_response(redirect(location, 303)))


def page(template: str, status: int = 200, /, **context: Any) -> Response:
    """Render a page for the user of this request; `goes_on` if figures on it still change."""
    session = signed_in() if current_user.is_authenticated else None
    html = render_template(
        f"dashboard/{template}",
        root=f"{request.script_root}/page/{assets().build}/",
        member=None if session is None else session.member,
        form_token="" if session is None else session.form_token,
        **context,
    )
    answer = finished(Response(html, status=status, mimetype="text/html"))
    if context.get("goes_on"):
        answer.headers["Content-Security-Policy"] = LIVE_POLICY
    return answer


def finished(answer: Response) -> Response:
    """Give an answer the headers of the dashboard."""
    answer.headers["Content-Security-Policy"] = POLICY
    # Forms are checked by where they come from, and other hosts learn nothing.
    answer.headers["Referrer-Policy"] = "same-origin"
    answer.headers["Cache-Control"] = "no-store"
    return answer


def hand_session(answer: Response, secret: str) -> None:
    """Give the browser the session that has just begun; the one that it had before ends."""
    if current_user.is_authenticated:
        services().sign_in.end(member(), signed_in().session.id)
    set_cookie(answer, COOKIE, secret)


def set_cookie(answer: Response, name: str, value: str, *, seconds: int | None = None) -> None:
    """Give the browser a cookie that no script reads and no other site's form carries.

    Without `seconds` the browser keeps it until it is closed.
    """
    answer.set_cookie(
        name,
        value,
        max_age=seconds,
        path=f"{request.script_root}/dashboard",
        httponly=True,
        samesite="Lax",
        secure=services().settings.behind_tls or request.is_secure,
    )


def new_form_token() -> str:
    """Return a token for a form that is sent before there is a session."""
    return secrets.token_urlsafe(16)


def choice(name: str, allowed: Iterable[str], default: str | None = None) -> str:
    """Return what the address chooses, by default the first that is allowed; refuses any other."""
    words = list(allowed)
    # A form that comes back has the choices with which it was shown.
    given = request.args.get(name, request.form.get(name) if "refusal" in g else None)
    if given is None or (given == "" and given not in words):
        return words[0] if default is None else default
    if given not in words:
        raise Refused(
            "invalid-request",
            f"{name} is {show(given)} in this address; choose one of "
            f"{', '.join(word for word in words[:40] if word)}",
            field=name,
        )
    return given


def chosen_confidence() -> str:
    """Return the confidence of the intervals that the address chooses."""
    return choice("confidence", CONFIDENCES, USUAL_CONFIDENCE)


_PARSERS: Final[dict[type, Callable[[str], int | float]]] = {
    int: parse_whole,
    float: parse_number,
}


def number_in(
    name: str, text: str, parse: type[int] | type[float] | type[str]
) -> int | float | str:
    """Return what a field of a form says; raises ``invalid-request`` where it is no number."""
    try:
        return text if parse is str else _PARSERS[parse](text)
    except ValueError:
        wanted = "a whole number" if parse is int else "a number"
        raise Refused(
            "invalid-request", f"{name} is {show(text)}; give {wanted}", field=name
        ) from None


@dashboard.before_request
def _refuse_body() -> None:
    """Answer with a page where the body of a form was refused before it came here."""
    if REFUSED_BODY_HEADER in request.headers:
        raise RequestEntityTooLarge


for shown_as in (
    *(top_rows, shown_share, shown_difference, shown_within),
    *(shown_coefficient, p_value_text),
):
    dashboard.add_app_template_filter(shown_as)
for in_words_of_questions in (in_texts, as_text, in_questions):
    dashboard.add_app_template_filter(in_words_of_questions)
for name, filter_ in FILTERS.items():
    dashboard.add_app_template_filter(filter_, name)


@dashboard.app_template_global()
def confidences() -> list[tuple[str, str]]:
    """Return what a page's intervals are chosen from, with the words of each."""
    return levels(CONFIDENCES)


@dashboard.app_context_processor
def _words() -> dict[str, object]:
    return {"sentence": sentence, "worker_hint": worker_hint}


def worker_hint() -> str | None:
    """Return what pages say that ask for jobs where nothing would take them; otherwise None."""
    return services().jobs.worker_hint()


def sentence(words: str, *names: str | None) -> str:
    """Return words, such as an error's message, as a sentence; names keep their first letter."""
    first = _WORD.match(words)
    if first is None or first[0] not in names:
        words = words[:1].upper() + words[1:]
    return with_mark(words)


def _names(error: Exception) -> set[str]:
    """Return the names that the message of a refusal may begin with."""
    given = [*(request.view_args or {}).values(), *request.values.values()]
    texts = [str(text) for text in given if len(str(text)) <= LONGEST_NAME]
    return {*_WORD.findall(getattr(error, "field", None) or ""), *texts}


def _texts() -> dict[str, str]:
    """Return what this page's survey calls its variables, if it is about one that the user sees."""
    name, version = ((request.view_args or {}).get(key) for key in ("name", "version"))
    if not current_user.is_authenticated or version is None or member().role(str(name)) is None:
        return {}
    parts = services()
    try:
        return names_of(parts.surveys.published(parts.surveys.version(str(name), int(version))))
    except Refused:
        return {}


def words_of_refusal(error: HushpollError) -> str:
    """Return what a refusal says as a sentence."""
    return sentence(error.detail if isinstance(error, Refused) else str(error), *_names(error))


def _page_before() -> str | None:
    """Return the dashboard's page that a form was on; None if none was sent from one."""
    if request.method != "POST" or request.referrer is None:
        return None
    before = urlsplit(request.referrer)
    own = f"{before.scheme}://{before.netloc}/" == request.host_url
    if not own or not before.path.startswith(request.script_root + DASHBOARD_PATH):
        return None
    return before.path + (f"?{before.query}" if before.query else "")


@dashboard.errorhandler(Exception)
def refused(error: Exception) -> Response:
    """Show any refusal as a page of the dashboard."""
    match error:
        case Refused():
            status, words = PROBLEMS[error.code].status, error.detail
        case HTTPException(code=413):
            status = 413
            words = (
                "this form is too large, in one of its fields or with more parts than are taken; "
                f"a request has at most {request.max_content_length} bytes in all: go back and "
                "send a smaller file, or less text"
            )
        case HTTPException(code=405):
            status, words = 405, "this address is no page; go back and follow the link again"
        case HTTPException():
            status, words = error.code or 500, "nothing is at this address"
        case HushpollError():
            status, words = 422, str(error)
        case _:
            log.error("internal-error", error=type(error).__name__, where=where(error))
            status, words = 500, "the server's log has the request's id"
    answer = page(
        "notice.html",
        status,
        heading=TITLES.get(status, "This cannot be done"),
        words=in_texts(sentence(words, *_names(error)), {} if status >= 500 else _texts()),
        back=_page_before(),
    )
    if isinstance(error, Refused) and error.retry_after is not None:
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer
