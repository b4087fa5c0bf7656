"""The ASGI application that clients reach: it answers devices and forwards other requests."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import httpx
import structlog

from hushpoll_server.answering import (
    DASHBOARD_PATH,
    PROVIDER_RETURN_PATH,
    SECURITY,
    SIGN_IN_PATH,
    STRICT_TRANSPORT,
    Answer,
    problem_answer,
)
from hushpoll_server.device_routes import Match, Route, match
from hushpoll_server.errors import Refused
from hushpoll_server.ingest.forwarding import BrokenOff, Forwarding, returned_headers, share_of_web
from hushpoll_server.ingest.group_commit import GroupCommit
from hushpoll_server.ingest.rates import Rates
from hushpoll_server.ingest.requests import Bodies, Disconnected, Receive, Request, Scope, Send
from hushpoll_server.ingest.routes import DeviceRoutes
from hushpoll_server.logs import get_logger, where
from hushpoll_server.prefix import below_prefix
from hushpoll_server.services.device_services import DeviceServices
from hushpoll_server.services.readiness import MissingWorker, Readiness
from hushpoll_server.store import migrate

log = get_logger(__name__)

# Heads of answers that are kept as bytes: a report's is one of a few.
ENCODED_HEADS: Final = 64
METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
NO_ROUTE: Final = "none"
# Content-Type for JSON, Authorization for a respondent's single-use token.
ALLOWED_HEADERS: Final = "Authorization, Content-Encoding, Content-Type, If-None-Match"
EXPOSED_HEADERS: Final = "ETag, Retry-After, X-Request-Id"
# How long a browser may remember the answer, also after an origin's permission has ended.
PREFLIGHT_SECONDS: Final = 600
# Files from memory, not limited: every device of a school loads some dozens, and then keeps them.
ASSETS: Final = "/page/"
# Not limited either: it has a token of its own, and its reader asks every few seconds.
METRICS: Final = "/metrics"
# What signs in, and is counted by the address where it fails.
SIGNS_IN: Final = frozenset(
    {("POST", SIGN_IN_PATH), ("GET", PROVIDER_RETURN_PATH), ("HEAD", PROVIDER_RETURN_PATH)}
)


class IngestApplication:
    """The application of one ingest process; `transport` reaches the web process.

    `ready` is called once requests are answered.
    """

    def __init__(
        self,
        services: DeviceServices,
        transport: httpx.AsyncBaseTransport,
        *,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        settings = self._settings = services.settings
        self._services = services
        self._ready = ready
        self._metrics = services.metrics
        self._bodies = Bodies()
        self.rates = Rates(settings)
        self.commit = GroupCommit(
            services.reports.insert,
            idle=self._idle,
            group_reports=settings.group_commit_reports,
            queue_reports=settings.queue_reports,
            metrics=services.metrics,
        )
        self._forwarding = Forwarding(
            transport,
            most=share_of_web(settings),
            max_body_bytes=settings.max_body_bytes,
            bodies=self._bodies,
        )
        self._routes = DeviceRoutes(
            services,
            commit=self.commit,
            readiness=Readiness(
                commit_state=lambda: self.commit.state,
                write=services.database.probe,
                schema_version=lambda: migrate.recorded(services.database),
                expected=migrate.head(),
                any_worker=lambda: services.workers.any_alive(now=services.surveys.now()),
            ),
            missing_worker=MissingWorker(own=settings.start_worker),
            bodies=self._bodies,
            web_state=self._forwarding.state,
        )
        more = {"Strict-Transport-Security": STRICT_TRANSPORT} if settings.behind_tls else {}
        self._of_every_answer = {**SECURITY, **more}
        self._encoded = lru_cache(maxsize=ENCODED_HEADS)(self._encode)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or start and stop with the server."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        within = below_prefix(scope, self._settings.path_prefix)
        request = Request(within, receive, self._settings.request_seconds)
        connection = request.connection
        if connection is not None:
            connection.begin()
        try:
            await self._answered(request, send)
        except Disconnected:
            pass
        except Exception as error:
            # Nothing can be sent to a client that has gone, and its going is no fault.
            if not request.gone:
                log.error(
                    "answer-not-sent",
                    request_id=request.id,
                    error=type(error).__name__,
                    where=where(error),
                )
                raise
        finally:
            self._bodies.release(request)
            if connection is not None:
                connection.end()

    async def stop(self) -> None:
        """Store submitted reports, and end every thread."""
        await self.commit.stop()
        self._routes.work.stop()
        await self._forwarding.close()

    async def _answered(self, request: Request, send: Send) -> None:
        started = time.perf_counter()
        matched = match(request.path)
        try:
            request.check()
            if matched is None:
                forwarded = await self._forward(request)
            else:
                if matched.route.kind is not None:
                    await self.rates.count(request, matched.route.kind)
                answer = await self._routes.answer(request, matched)
        except Disconnected:
            raise
        except Exception as error:
            with structlog.contextvars.bound_contextvars(request_id=request.id):
                answer = problem_answer(error)
            if answer.status == 413 and request.path.startswith(DASHBOARD_PATH):
                answer = await self._as_page(request, answer)
        else:
            if matched is None:
                await self._pass(request, forwarded, send)
                return
        crossing = {} if matched is None else await self._crossing(request, matched)
        seconds = time.perf_counter() - started
        await self._send(request, answer, crossing, send)
        self._observe(request, None if matched is None else matched.route, answer.status, seconds)

    async def _forward(self, request: Request) -> httpx.Response:
        path = request.path
        asset = path.startswith(ASSETS)
        if not asset and path != METRICS:
            await self.rates.count(request, "read")
        signs_in = (request.method, path) in SIGNS_IN
        answer = await self._forwarding.open(
            request, client=self.rates.address_key(request) if signs_in else None
        )
        if asset and answer.status_code not in (200, 304):
            try:
                await self.rates.count(request, "read")
            except BaseException:
                await answer.aclose()
                raise
        return answer

    async def _as_page(self, request: Request, answer: Answer) -> Answer:
        """Return the refusal of a form's body as the dashboard shows it, if it can be had."""
        try:
            page = await self._forwarding.page_for_refused_body(request)
        except (Refused, httpx.HTTPError):
            return answer
        if page.status_code != answer.status:
            return answer
        headers = {name: page.headers[name] for name in _OF_A_PAGE if name in page.headers}
        return Answer(page.status_code, page.content, headers)

    async def _pass(self, request: Request, answer: httpx.Response, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": answer.status_code,
                "headers": returned_headers(answer),
            }
        )
        try:
            await self._forwarding.send_body(request, answer, send)
        except BrokenOff as error:
            log.error("answer-broken-off", request_id=request.id, error=str(error))
            if self._metrics is not None:
                self._metrics.broken_off()
            # The client sees that the length is not reached, or that the last chunk is missing.
            await request.end()

    async def _send(
        self, request: Request, answer: Answer, crossing: Mapping[str, str], send: Send
    ) -> None:
        headers = list(self._encoded((*answer.headers.items(), *crossing.items())))
        headers.append((b"X-Request-Id", request.id.encode()))
        if answer.status != 304:
            headers.append((b"Content-Length", b"%d" % len(answer.body)))
        drains = request.drains
        if not drains:
            headers.append((b"Connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        # uvicorn leaves the content out for HEAD.
        if request.complete:
            await send({"type": "http.response.body", "body": answer.body})
            return
        # A client that still sends its body may read only afterwards; so the body is read first.
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        if b"expect" not in request.head or request.received:
            await request.drain()
        await send({"type": "http.response.body", "body": b""})
        if not request.complete and request.connection is not None:
            # Where the next request would begin is unknown.
            request.connection.close()

    def _encode(self, own: tuple[tuple[str, str], ...]) -> list[tuple[bytes, bytes]]:
        """Return an answer's own headers with those of every answer, whose places they take."""
        headers = {**self._of_every_answer, **dict(own)}
        return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]

    async def _crossing(self, request: Request, matched: Match) -> Mapping[str, str]:
        """Return the headers that tell browsers which pages may read an answer (CORS).

        By default no page may. A publisher names origins per survey; they are no part of the
        manifest, whose digest they would change. There are no cookies, so a browser has no
        credentials to send.
        """
        route = matched.route
        if not route.crosses:
            return {}
        headers = {"Vary": "Origin"}
        origin = request.header(b"origin")
        if origin is None or not await self._allowed(matched.name, origin):
            return headers
        headers["Access-Control-Allow-Origin"] = origin
        if request.method == "OPTIONS" and b"access-control-request-method" in request.head:
            headers["Access-Control-Allow-Methods"] = route.methods
            headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
            headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        else:
            headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
        return headers

    async def _allowed(self, name: str, origin: str) -> bool:
        origins = self._services.origins
        allowed = origins.remembered(name, origin)
        if allowed is not None:
            return allowed
        try:
            return await self._routes.work.run(origins.allows, name, origin)
        except Exception as error:  # the answer stands, though no other page can read it
            log.error("origins-unknown", error=type(error).__name__)
            return False

    def _observe(self, request: Request, route: Route | None, status: int, seconds: float) -> None:
        template = NO_ROUTE if route is None else route.template
        method = request.method if request.method in METHODS else "other"
        if self._metrics is not None:
            self._metrics.request(method, template, status, seconds)
            self._metrics.queue(self.commit.state.waiting)
        if self._settings.log_requests and (route is None or route.logged):
            log.info(
                "request",
                request_id=request.id,
                method=method,
                route=template,
                status=status,
                seconds=round(seconds, 4),
            )

    def _idle(self) -> None:
        self._services.counters.flush()
        self._services.database.vacuum()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.commit.start()
                # Collections would otherwise go through permanent objects, and hold requests up.
                gc.collect()
                gc.freeze()
                await send({"type": "lifespan.startup.complete"})
                self._ready()
            else:
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return


_OF_A_PAGE: Final = (
    "Content-Type",
    "Content-Security-Policy",
    "Referrer-Policy",
    "Cache-Control",
)
