"""The Flask application of the web process: every blueprint of `http` and the hosted pages."""

from __future__ import annotations

import copy
import secrets
import time
from typing import Final

import structlog
from flask import Flask, Response, g, request, url_for
from flask_openapi3.openapi import OpenAPI
from werkzeug.exceptions import MethodNotAllowed

from hushpoll_analysis.html import TEMPLATES
from hushpoll_server.answering import DASHBOARD_PATH, SECURITY, STRICT_TRANSPORT
from hushpoll_server.api import device_operations
from hushpoll_server.api.openapi import INFO, SECURITY_SCHEMES, ProblemModel, document
from hushpoll_server.api.resources import (
    analysis,
    drafts,
    jobs,
    kept_results,
    plans,
    queries,
    survey_reports,
    surveys,
    weighting,
)
from hushpoll_server.api.resources.administration import operations, tokens, users
from hushpoll_server.api.routes import describe
from hushpoll_server.config.settings import Settings
from hushpoll_server.dashboard import frame, views
from hushpoll_server.http import endpoint
from hushpoll_server.http.endpoint import Operation
from hushpoll_server.logs import get_logger
from hushpoll_server.pages.rendering import RenderedPages
from hushpoll_server.prefix import placed
from hushpoll_server.public_pages import api_reference, public_results, survey
from hushpoll_server.services.people.provider import require_oidc
from hushpoll_server.services.services import Services
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.wire.paths import API_PREFIX

log = get_logger(__name__)

BLUEPRINTS: Final = (
    surveys.api,
    surveys.origins,
    tokens.api,
    users.api,
    operations.api,
    analysis.api,
    plans.api,
    drafts.api,
    queries.api,
    weighting.api,
    jobs.api,
    kept_results.models,
    kept_results.audits,
    kept_results.regressions,
    survey_reports.api,
)
OPERATIONS: Final[tuple[Operation, ...]] = tuple(
    operation for blueprint in BLUEPRINTS for operation in blueprint.operations
)
"""Every operation of the API but those of devices, as its route declares it."""
METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
NO_ROUTE: Final = "none"


def build(settings: Settings, services: Services, *, testing: bool = False) -> Flask:
    """Put the application together; see ``hushpoll_server.create_app``."""
    require_oidc(settings)
    app = OpenAPI(
        "hushpoll_server",
        info=INFO,
        security_schemes=SECURITY_SCHEMES,
        validation_error_model=ProblemModel,
        validation_error_callback=endpoint.invalid_answer,
        doc_ui=False,
        static_folder=None,
        template_folder=TEMPLATES,
    )
    app.config.update(MAX_CONTENT_LENGTH=settings.max_body_bytes, TESTING=testing)
    # Otherwise a path with two slashes is redirected, to whatever host the request names.
    app.url_map.merge_slashes = False
    # Flask's documented place of WSGI middleware.
    app.wsgi_app = placed(  # type: ignore[assignment, method-assign]
        app.wsgi_app, settings.path_prefix, behind_tls=settings.behind_tls
    )
    endpoint.init_app(app, services)
    frame.init_app(app)
    app.before_request(_identify)
    _add_headers(app, behind_tls=settings.behind_tls)
    if services.metrics is not None or settings.log_requests:
        _observe(app, settings, services)
    for blueprint in BLUEPRINTS:
        app.register_api(blueprint)
    app.register_blueprint(survey.pages)
    app.register_blueprint(public_results.pages)
    app.register_blueprint(views.dashboard)
    # A person who types the server's name alone gets to its pages and not to an error in JSON.
    app.add_url_rule("/", "start", lambda: frame.see(url_for("dashboard.surveys")))
    app.register_error_handler(405, _not_allowed)
    app.add_url_rule(f"{API_PREFIX}/openapi.json", "openapi", lambda: _document(app))
    reference = RenderedPages()
    app.add_url_rule(
        "/docs", "docs", lambda: api_reference.page(lambda: documented(app), reference)
    )
    if services.metrics is not None and settings.metrics_token is not None:
        app.register_blueprint(operations.metrics_route(services.metrics, settings.metrics_token))
    return app


def _not_allowed(error: MethodNotAllowed) -> Response:
    """Answer a method that is not allowed: on the dashboard by a page."""
    if request.path.startswith(DASHBOARD_PATH):
        return views.refused(error)
    return endpoint.problem_answer(error)


def documented(app: OpenAPI) -> JsonMembers:
    """Return the OpenAPI document of the whole server, devices' routes included."""
    describe(app, BLUEPRINTS)
    generated = copy.deepcopy(app.api_doc)
    device_operations.add_to(generated)
    return document(generated)


def _document(app: OpenAPI) -> Response:
    return endpoint.json_response(documented(app))


def _identify() -> None:
    # Never taken from the request: an id chosen by the sender could identify them in the log.
    g.request_id = secrets.token_hex(8)
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


def _add_headers(app: Flask, *, behind_tls: bool) -> None:
    """Give every answer its headers; a view that needs others sets them itself, and keeps them."""

    def finish(answer: Response) -> Response:
        answer.headers["X-Request-Id"] = g.get("request_id", "")
        for name, value in SECURITY.items():
            answer.headers.setdefault(name, value)
        if behind_tls:
            answer.headers["Strict-Transport-Security"] = STRICT_TRANSPORT
        return answer

    app.after_request(finish)


def _observe(app: Flask, settings: Settings, services: Services) -> None:
    """Count and log each request: its method, its route's template, its status and its time.

    Never its path, its query, its headers, its body or where it came from.
    """

    def begin() -> None:
        g.observed_from = time.perf_counter()

    def end(answer: Response) -> Response:
        seconds = time.perf_counter() - g.get("observed_from", time.perf_counter())
        method = request.method if request.method in METHODS else "other"
        route = request.url_rule.rule if request.url_rule else NO_ROUTE
        if services.metrics is not None:
            services.metrics.request(method, route, answer.status_code, seconds)
        if settings.log_requests:
            log.info(
                "request",
                method=method,
                route=route,
                status=answer.status_code,
                seconds=round(seconds, 4),
            )
        return answer

    app.before_request(begin)
    app.after_request(end)
