"""The Flask application of the web process: every blueprint of `http` and the hosted pages."""

from __future__ import annotations

import copy
import secrets
from typing import Any

import structlog
from flask import Flask, Response, g
from flask_openapi3.openapi import OpenAPI

from hushpoll_server.config.settings import Settings
from hushpoll_server.http import answers, current, device_operations, headers, observing
from hushpoll_server.http.models.common import ProblemModel
from hushpoll_server.http.openapi import INFO, SECURITY_SCHEMES, document
from hushpoll_server.http.resources import analysis, jobs, origins, surveys, tokens
from hushpoll_server.http.resources import metrics as metrics_page
from hushpoll_server.pages import survey as page
from hushpoll_server.services.services import Services

BLUEPRINTS = (surveys.api, origins.api, tokens.api, analysis.api, jobs.api)


def build(settings: Settings, parts: Services, *, testing: bool = False) -> Flask:
    """Put the application together; see ``hushpoll_server.create_app``.

    Parameters
    ----------
    settings : Settings
        The whole configuration.
    parts : Services
        What answers.
    testing : bool
        Flask's own switch.
    """
    app = OpenAPI(
        "hushpoll_server",
        info=INFO,
        security_schemes=SECURITY_SCHEMES,
        validation_error_model=ProblemModel,
        validation_error_callback=answers.invalid_answer,
        doc_ui=False,
        static_folder=None,
    )
    app.config.update(MAX_CONTENT_LENGTH=settings.max_body_bytes, TESTING=testing)
    # Otherwise a path with two slashes is redirected, to whatever host the request names.
    app.url_map.merge_slashes = False
    answers.register(app)
    app.before_request(_identify)
    headers.register(app, behind_tls=settings.behind_tls)
    for blueprint in BLUEPRINTS:
        app.register_api(blueprint)
    app.register_blueprint(page.pages)
    app.add_url_rule("/api/v1/openapi.json", "openapi", lambda: _document(app))
    current.init_app(app, parts)
    observing.register(app, metrics=parts.metrics, log_requests=settings.log_requests)
    if parts.metrics is not None and settings.metrics_token is not None:
        app.register_blueprint(metrics_page.blueprint(parts.metrics, settings.metrics_token))
    return app


def documented(app: OpenAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the whole server, devices' routes included."""
    generated = copy.deepcopy(app.api_doc)
    device_operations.add_to(generated)
    return document(generated)


def _document(app: OpenAPI) -> Response:
    return answers.json_response(documented(app))


def _identify() -> None:
    # Never taken from the request: an id chosen by the sender could identify them in the log.
    g.request_id = secrets.token_hex(8)
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)
