"""Answers to devices: the published survey, reports, withdrawals, and the server's health."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from hushpoll_server.answering import (
    JSON_MEDIA_TYPE,
    Answer,
    json_answer,
    not_allowed,
    too_large,
    unsupported_type,
)
from hushpoll_server.compression import TooLarge, expand
from hushpoll_server.device_routes import (
    HEALTH,
    LARGEST_VERSION,
    READY,
    REDEMPTIONS,
    REPORTS,
    WITHDRAWALS,
    Match,
)
from hushpoll_server.errors import Refused
from hushpoll_server.ingest.group_commit import GroupCommit, unavailable
from hushpoll_server.ingest.requests import SMALL_BYTES, Bodies, Request
from hushpoll_server.ingest.work import RedemptionGroups, Work
from hushpoll_server.services.device_services import DeviceServices
from hushpoll_server.services.readiness import MissingWorker, Readiness
from hushpoll_server.services.reports import BatchOutcome
from hushpoll_server.services.surveys.surveys import NotRemembered
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.reports import Outcome, ReportRow
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json
from hushpoll_shared.wire.answers import STATE_HEADER
from hushpoll_shared.wire.reports import REPORTS_MEDIA_TYPE, parse_usual_report

READY_RETRY_SECONDS: Final = 5
# The body of a withdrawal has some 150.
WITHDRAWAL_BYTES: Final = 4096

ACCEPTED: Final = Answer(201, b'{"status": "accepted"}', {"Content-Type": JSON_MEDIA_TYPE})
DUPLICATE: Final = Answer(200, b'{"status": "duplicate"}', {"Content-Type": JSON_MEDIA_TYPE})


class DeviceRoutes:
    """Answers devices; `web_state` asks whether the web process answers."""

    def __init__(
        self,
        services: DeviceServices,
        *,
        commit: GroupCommit,
        readiness: Readiness,
        missing_worker: MissingWorker,
        bodies: Bodies,
        web_state: Callable[[], Awaitable[str]],
    ) -> None:
        self._services = services
        self._settings = services.settings
        self._commit = commit
        self._readiness = readiness
        self._missing_worker = missing_worker
        self._bodies = bodies
        self._web_state = web_state
        self._asked: asyncio.Future[Answer] | None = None
        self.work = Work()
        self._redemptions = RedemptionGroups(services.invitations.redeem, self.work)

    async def answer(self, request: Request, matched: Match) -> Answer:
        """Answer a request to a route; every refusal is an exception."""
        route = matched.route
        if request.method == "OPTIONS":
            return Answer(200, b"", {"Allow": route.allowed})
        if request.method != route.method and (request.method, route.method) != ("HEAD", "GET"):
            raise not_allowed(request.method, route.allowed)
        if route is REPORTS:
            media_type = request.media_type
            if media_type == JSON_MEDIA_TYPE:
                return await self._report(request, matched.name)
            if media_type == REPORTS_MEDIA_TYPE:
                return await self._batch(request, matched.name)
            raise unsupported_type(media_type, JSON_MEDIA_TYPE, REPORTS_MEDIA_TYPE)
        if route is WITHDRAWALS:
            return await self._withdrawal(request, matched.name)
        if route is REDEMPTIONS:
            if request.media_type != JSON_MEDIA_TYPE:
                raise unsupported_type(request.media_type, JSON_MEDIA_TYPE)
            return await self._redemption(request, matched.name)
        if route is HEALTH:
            return json_answer({"status": "ok"})
        if route is READY:
            return await self._ready()
        return await self._survey(request, matched.name, matched.version)

    async def _report(self, request: Request, name: str) -> Answer:
        most = self._settings.max_json_bytes
        coding = request.coding
        body = await request.body(most, self._bodies)
        authorization = request.header(b"authorization")
        # Before the work on a report that would be refused after it.
        self._commit.check_room(1)
        ingest = self._services.ingest
        if coding is None and len(body) <= SMALL_BYTES:
            check: Callable[..., tuple[VersionRow, ReportRow]] = ingest.check
            read: tuple[object, ...] | None = parse_usual_report(body)
            if read is None:
                check, read = ingest.prepare, (_parsed(body),)
            try:
                row, report = check(name, *read, authorization, from_memory=True)
            except NotRemembered:
                row, report = await self.work.run(check, name, *read, authorization)
        else:
            document = await self.work.run(_document, body, coding, most)
            row, report = await self.work.run(ingest.prepare, name, document, authorization)
        if ingest.takes(row):
            outcomes = await self._commit.submit((report,))
            if outcomes is None:
                raise unavailable("the database did not take the report")
            (outcome,) = outcomes
        else:
            outcome = await self.work.run(ingest.look_up, row, report)
        if outcome is Outcome.ACCEPTED:
            return ACCEPTED
        ingest.checked(row, outcome)
        return DUPLICATE

    async def _withdrawal(self, request: Request, name: str) -> Answer:
        if request.media_type != JSON_MEDIA_TYPE:
            raise unsupported_type(request.media_type, JSON_MEDIA_TYPE)
        coding = request.coding
        body = await request.body(WITHDRAWAL_BYTES, self._bodies)
        document = await self.work.run(_document, body, coding, WITHDRAWAL_BYTES)
        withdrawal = await self.work.run(self._services.ingest.withdraw, name, document)
        return json_answer({"status": withdrawal.value})

    async def _redemption(self, request: Request, name: str) -> Answer:
        most = self._settings.max_json_bytes
        coding = request.coding
        authorization = request.header(b"authorization")
        body = await request.body(most, self._bodies)
        check = self._services.invitations.check
        if coding is None and len(body) <= SMALL_BYTES:
            document = _parsed(body)
            try:
                redemption = check(name, document, authorization, from_memory=True)
            except NotRemembered:
                redemption = await self.work.run(check, name, document, authorization)
        else:
            document = await self.work.run(_document, body, coding, most)
            redemption = await self.work.run(check, name, document, authorization)
        return json_answer(await self._redemptions.redeem(redemption))

    async def _batch(self, request: Request, name: str) -> Answer:
        most = self._settings.max_body_bytes
        coding = request.coding
        authorization = request.header(b"authorization")
        access = self._services.access
        grant = await self.work.run(access.require, authorization, "submit")
        grant.require_survey(name)
        body = await request.body(most, self._bodies)
        batches = self._services.batches
        if coding is not None:
            body = await self.work.run(_expanded, body, coding, most)
        checked = await self.work.run(batches.check, name, body)
        if not self._services.ingest.takes(checked.row):
            outcomes = await self.work.run(batches.look_up, checked)
        elif len(checked.batch):
            stored = await self._commit.submit(checked.batch)
            if stored is None:
                raise unavailable("the database did not take the batch")
            outcomes = stored
        else:
            outcomes = []
        return _batch_answer(await self.work.run(batches.settled, checked, outcomes))

    async def _survey(self, request: Request, name: str, version: int | None) -> Answer:
        if version is not None and not 1 <= version <= LARGEST_VERSION:
            raise Refused(
                "invalid-request",
                f"version is outside [1, {LARGEST_VERSION}]; correct it",
                field="version",
            )
        surveys = self._services.surveys
        try:
            row, canonical = surveys.form(name, version, from_memory=True)
        except NotRemembered:
            row, canonical = await self.work.run(surveys.form, name, version)
        headers = {
            "ETag": f'"{row.digest}"',
            "Cache-Control": "no-cache"
            if version is None
            else "public, max-age=31536000, immutable",
        }
        if version is None:  # a named version is cached for ever, whatever becomes of it
            headers[STATE_HEADER] = surveys.state(row).value
        if _is_known(request, row):
            return Answer(304, b"", headers)
        return Answer(200, canonical, {"Content-Type": JSON_MEDIA_TYPE, **headers})

    async def _ready(self) -> Answer:
        # Many requests may come while the database hangs; one thread waits for it.
        if self._asked is None or self._asked.done():
            self._asked = asyncio.ensure_future(self._readiness_answer())
        return await asyncio.shield(self._asked)

    async def _readiness_answer(self) -> Answer:
        reasons, web = await asyncio.gather(
            self.work.run(self._readiness.reasons), self._web_state()
        )
        if reasons:
            raise Refused(
                "unavailable",
                "; ".join(reason.detail for reason in reasons),
                retry_after=READY_RETRY_SECONDS,
                reasons=[vars(reason) for reason in reasons],
            )
        worker = await self.work.run(self._readiness.worker)
        hint = {"hint": self._missing_worker.hint()} if worker == "none" else {}
        # Reports are taken without these, so a load balancer should go on sending them.
        return json_answer({"status": "ready", "web": web, "worker": worker, **hint})


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except InvalidJson as error:
        raise Refused("invalid-json", str(error), field="body") from error


def _document(body: bytes, coding: str | None, most: int) -> Any:
    return _parsed(body if coding is None else _expanded(body, coding, most))


def _expanded(body: bytes, coding: str, most: int) -> bytes:
    try:
        return b"".join(expand(coding, [body], most))
    except TooLarge:
        raise too_large(most) from None


def _batch_answer(outcome: BatchOutcome) -> Answer:
    rejected = [
        {name: value for name, value in vars(rejection).items() if value is not None}
        for rejection in outcome.rejected
    ]
    return json_answer(
        {"accepted": outcome.accepted, "duplicate": outcome.duplicate, "rejected": rejected}
    )


def _is_known(request: Request, row: VersionRow) -> bool:
    """Return whether the request's If-None-Match holds the version's tag.

    Compared weakly (RFC 9110, section 13.1.2): a proxy that compresses weakens the tags it passes.
    """
    header = request.header(b"if-none-match")
    if header is None:
        return False
    return header.strip() == "*" or any(
        tag.strip().removeprefix("W/") == f'"{row.digest}"' for tag in header.split(",")
    )
