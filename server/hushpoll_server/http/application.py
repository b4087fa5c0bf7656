"""The Flask application: blueprints, problems, request ids and headers."""

from __future__ import annotations

import secrets

import structlog
from flask import Flask, Response, g
from flask_openapi3.models.schema import Schema
from flask_openapi3.openapi import OpenAPI

from hushpoll_server.http import (
    analysis,
    answers,
    headers,
    health,
    jobs,
    models,
    observing,
    origins,
    page,
    reports,
    surveys,
    tokens,
)
from hushpoll_server.http import metrics as metrics_page
from hushpoll_server.http.openapi import INFO, SECURITY_SCHEMES, document
from hushpoll_server.http.rate_limits import RateLimits
from hushpoll_server.services.collector import Collector
from hushpoll_server.settings import Settings

BLUEPRINTS = (surveys.api, origins.api, reports.api, tokens.api, analysis.api, jobs.api, health.api)


def build(
    settings: Settings, *, testing: bool = False, rate_limits: RateLimits | None = None
) -> Flask:
    """Put the application together; see ``hushpoll_server.create_app``.

    Parameters
    ----------
    settings : Settings
        The whole configuration.
    testing : bool
        Flask's own switch.
    rate_limits : RateLimits or None
        Counters that several processes share; made here for a process by itself.
    """
    app = OpenAPI(
        "hushpoll_server",
        info=INFO,
        security_schemes=SECURITY_SCHEMES,
        validation_error_model=models.ProblemModel,
        validation_error_callback=answers.invalid_answer,
        doc_ui=False,
        static_folder=None,
    )
    app.config.update(MAX_CONTENT_LENGTH=settings.max_body_bytes, TESTING=testing)
    answers.register(app)
    app.before_request(_identify)
    headers.register(app, behind_tls=settings.behind_tls)
    origins.register(app)
    (rate_limits or RateLimits(settings)).init_app(app)
    for blueprint in BLUEPRINTS:
        app.register_api(blueprint)
    app.register_blueprint(page.pages)
    app.add_url_rule("/api/v1/openapi.json", "openapi", lambda: _document(app))
    for model in (models.RejectedReport,):
        app.components_schemas[model.__name__] = Schema(**model.model_json_schema())
    parts = Collector(settings)
    parts.init_app(app)
    observing.register(app, metrics=parts.metrics, log_requests=settings.log_requests)
    if parts.metrics is not None and settings.metrics_token is not None:
        app.register_blueprint(metrics_page.blueprint(parts.metrics, settings.metrics_token))
    return app


def _document(app: OpenAPI) -> Response:
    return answers.json_answer(document(app.api_doc))


def _identify() -> None:
    # Never taken from the request: an id chosen by the sender could identify them in the log.
    g.request_id = secrets.token_hex(8)
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)
