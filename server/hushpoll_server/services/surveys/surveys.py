"""Survey versions: publishing, finding, closing, and the state each is in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.surveys.invitation_keys import InvitationKeys
from hushpoll_server.services.surveys.schedule import period_end
from hushpoll_server.services.surveys.turns import Turns
from hushpoll_server.store.backend import Cutoff
from hushpoll_server.store.catalogue import SurveyStore, VersionRow
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.clock import format_timestamp
from hushpoll_shared.spelling.text import is_name
from hushpoll_shared.survey.protection import Level, weak_protection
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED

if TYPE_CHECKING:
    from hushpoll_server.services.surveys.warnings import PublishingWarning

log = get_logger(__name__)

# How long a row may be served from memory. Another process may have closed the version meanwhile:
# whether a report is taken is settled by the transaction that stores it; see ``store.closing``.
ROW_SECONDS = 1.0
CACHED_MANIFESTS = 256


class State(StrEnum):
    """Where a survey version stands; see docs/data-model.md."""

    SCHEDULED = "scheduled"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class NotRemembered(Exception):  # it is an outcome: ask again where the database may be asked
    """The answer is not in memory."""


@dataclass(frozen=True)
class Publication:
    """A version with its resolved manifest, and what its author should know.

    ``created`` is False if exactly this was published before.
    """

    row: VersionRow
    published: Published
    warnings: tuple[PublishingWarning, ...]
    created: bool


class SurveyService:
    """Publishes, finds and closes survey versions.

    `publishing`, `reading` and `looking` are turns of threads that publish; that read a manifest in
    YAML; and that check, plan or preview a draft. A reader of a draft keeps nobody from saving or
    publishing another.
    """

    def __init__(
        self,
        store: SurveyStore,
        settings: Settings,
        keys: InvitationKeys,
        *,
        has_image: Callable[[str], bool],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._settings = settings
        self._keys = keys
        self._has_image = has_image
        self._monotonic = monotonic
        self._rows: dict[str, tuple[float, VersionRow]] = {}
        # By name and version; what never changes.
        self._forms: dict[tuple[str, int], tuple[VersionRow, bytes]] = {}
        # The published form never changes, so it is parsed and checked once.
        self._published = lru_cache(maxsize=CACHED_MANIFESTS)(self._load)
        waiting = max(1, settings.threads // 8)
        # An analyst's own text is not refused because others look at their drafts.
        self.publishing = Turns("other surveys are being published", most=waiting)
        self.reading = Turns("other manifests are being read", most=waiting)
        self.looking = Turns("other drafts are being checked or planned", most=waiting)

    def publish(self, draft: object, *, allow_weak: bool = False) -> Publication:
        """Check, resolve and store a manifest as JSON gave it; refuse it by the field at fault.

        Refused are also another content of a version that there is, an epsilon so large that it
        needs `allow_weak`, and an invited survey where this server makes no keys.
        """
        # Imported here: an ingest process has no use for the planner behind it.
        from hushpoll_server.services.surveys.warnings import publishing_warnings

        try:
            published = Manifest.from_dict(draft).resolve()
        except InvalidParameter as error:
            raise ManifestRefused(str(error), field=error.field) from error
        published = self._keyed(published)
        if not allow_weak and (refusal := refusal_of_weak(published)) is not None:
            raise refusal
        if (missing := self.refusal_of_logo(published)) is not None:
            raise missing
        row, created = self._store.publish(
            name=published.name,
            canonical=published.canonical,
            version=published.version,
            digest=published.digest,
            title=published.title,
            record_size=published.layout.record_size,
            minimum_batch=published.minimum_batch,
            opens=None if published.opens_at is None else int(published.opens_at.timestamp()),
            closes=None if published.closes_at is None else int(published.closes_at.timestamp()),
            release=published.release,
            next_release=period_end(published.release, self.now()),
        )
        if row.digest != published.digest:
            raise _version_exists(row)
        if created:
            log.info("published", survey=row.name, version=row.version, digest=row.digest)
        return Publication(row, published, publishing_warnings(published), created)

    def refusal_of_logo(self, published: Published) -> ManifestRefused | None:
        """Return why a survey's logo could not be shown; None if it could."""
        if published.logo is None or self._has_image(published.logo.image):
            return None
        return ManifestRefused(
            f"logo.image is {published.logo.image[:12]}..., which no image of this server has as "
            "its SHA-256; upload the image on the dashboard or by hushpoll draft image FILE, or "
            "leave logo out",
            field="logo.image",
        )

    def refusal_of_version(self, published: Published) -> Refused | None:
        """Return why a survey could not be published under its version; None if it could."""
        try:
            published = self._keyed(published)
        except Refused as refusal:
            return refusal
        for row in self._store.named(published.name):
            if row.version == published.version and row.digest != published.digest:
                return _version_exists(row)
        return None

    def _keyed(self, published: Published) -> Published:
        """Return a survey with the key that its version has, or gets."""
        rows = self._store.named(published.name) if published.submission == INVITED else []
        stored = {row.digest for row in rows if row.version == published.version}
        return self._keys.with_key(published, stored)

    def next_version(self, name: str) -> int:
        """Return the version after the highest that is published of a survey; 1 if none is."""
        rows = self._store.named(name) if is_name(name) else []
        return max((row.version for row in rows), default=0) + 1

    def all(self) -> list[VersionRow]:
        """Return every version, by name and version."""
        return self._store.all()

    def latest(self, name: str) -> VersionRow:
        """Return the version that a new respondent should answer: the highest that is open.

        Where none is open, it is the highest of all; a survey that is unknown is refused.
        """
        return self._chosen(name, self._named(name), None)

    def version(self, name: str, version: int) -> VersionRow:
        """Return one version, or refuse: ``unknown-survey``."""
        return self._chosen(name, self._named(name), version)

    def require_submission(self, row: VersionRow, submission: str) -> Published:
        """Return the survey of a version, and refuse one with another submission."""
        published = self.published(row)
        if published.submission != submission:
            ways = "invitations" if submission == INVITED else "such tokens"
            raise Refused(
                "invalid-request",
                f"{row.name} version {row.version} has submission {published.submission!r} and "
                f"takes no {ways}; publish a version with submission {submission!r}",
                field="submission",
            )
        return published

    def compared(self, name: str, version: int) -> VersionRow:
        """Return the version that a query compares with; a refusal names the query's parameter."""
        try:
            return self.version(name, version)
        except Refused as refusal:
            field = "since_survey" if refusal.field == "name" else "since_version"
            raise Refused(refusal.code, refusal.detail, field=field) from refusal

    def by_digest(self, name: str, digest: str, *, from_memory: bool = False) -> VersionRow:
        """Return the version of a survey that has this digest, or refuse what is unknown.

        With `from_memory`, for a thread that must not wait, `NotRemembered` is raised where the
        database would have to be asked; the version's resolved manifest is then in memory as well.
        """
        cached = self._rows.get(digest)
        if cached is not None and self._monotonic() - cached[0] < ROW_SECONDS:
            row: VersionRow | None = cached[1]
        elif from_memory:
            raise NotRemembered
        else:
            row = self._store.by_digest(digest)
            if row is not None:
                self._rows[digest] = self._monotonic(), row
                self.published(row)  # so that it can be remembered
        if row is None or row.name != name:
            if from_memory:
                raise NotRemembered
            self._named(name)
            raise Refused(
                "unknown-digest",
                f"no version of {name} has the digest {digest}; fetch the survey again and check "
                "its digest against the one you were given",
                field="digest",
            )
        return row

    def form(
        self, name: str, version: int | None, *, from_memory: bool = False
    ) -> tuple[VersionRow, bytes]:
        """Return a version (None: the one that a new respondent answers) and its published form.

        A named version comes from memory once it was read: its form never changes, though its row
        may be an old one, whose times have changed since. Which version a new respondent answers is
        asked of the database each time, since another process may have published or closed a
        version a moment ago. With `from_memory`, for a thread that must not wait, `NotRemembered`
        is raised where the database would have to be asked.
        """
        remembered = None if version is None else self._forms.get((name, version))
        if remembered is not None:
            return remembered
        if from_memory:
            raise NotRemembered
        row = self._chosen(name, self._named(name), version)
        known = self._forms.get((name, row.version))
        form = self._store.canonical(row.id) if known is None else known[1]
        if len(self._forms) >= CACHED_MANIFESTS:
            self._forms.clear()
        self._forms[name, row.version] = row, form
        return row, form

    def by_id(self, version_id: int) -> VersionRow:
        """Return the version of a known id."""
        return self._store.by_id(version_id)

    def published(self, row: VersionRow) -> Published:
        """Return the resolved manifest of a version."""
        return self._published(row.id)

    def published_of(self, version_id: int) -> Published:
        """Return the resolved manifest of the version of a known id."""
        return self._published(version_id)

    def close(self, row: VersionRow, *, grace_seconds: int | None = None) -> VersionRow:
        """Close a version; closing it again can shorten its grace period, and nothing else.

        For `grace_seconds` from now, in [0, 31536000], by default the configured time, reports of
        offline devices are still taken. A version that has not opened has no such devices, and no
        grace period. Of a version that is closed already, a later end or None changes nothing. Once
        this has returned, no process takes a report after that end.
        """
        now = self.now()
        grace = self._settings.close_grace_seconds if grace_seconds is None else grace_seconds
        if self.state(row) is State.SCHEDULED:
            grace = 0
        if self._store.close(row.id, closed_at=now, accepts_until=now + grace):
            log.info("closed", survey=row.name, version=row.version, grace_seconds=grace)
        elif grace_seconds is not None and self._store.shorten(
            row.id, now=now, accepts_until=now + grace
        ):
            log.info("grace-shortened", survey=row.name, version=row.version, grace_seconds=grace)
        self.look_again(row)
        return self._store.by_id(row.id)

    def look_again(self, row: VersionRow) -> None:
        """Forget the row of a version, which has changed."""
        self._rows.pop(row.digest, None)

    def cutoff(self) -> Cutoff:
        """Return the moments by which the store knows which versions take reports now."""
        now = self.now()
        return Cutoff(now, now - self._settings.close_grace_seconds)

    def now(self) -> int:
        """Return the current second since 1970, UTC."""
        return int(self._settings.clock.now().timestamp())

    def today(self) -> str:
        """Return the current day, UTC, YYYY-MM-DD."""
        return self._settings.clock.now().date().isoformat()

    def closes_at(self, row: VersionRow) -> int | None:
        """Return the second at which the version closed or will close."""
        return _earlier(row.closes, row.closed_at)

    def accepts_until(self, row: VersionRow) -> int | None:
        """Return the second from which no report is taken; None while no closing is set."""
        scheduled = None if row.closes is None else row.closes + self._settings.close_grace_seconds
        return _earlier(scheduled, row.accepts_until)

    def state(self, row: VersionRow) -> State:
        """Return the state of a version now."""
        accepts_until, closes_at = self.accepts_until(row), self.closes_at(row)
        if not row.ended and accepts_until is closes_at is row.opens is None:
            return State.OPEN  # whatever the time is, which takes longer to ask for
        now = self.now()
        if row.ended or (accepts_until is not None and now >= accepts_until):
            return State.CLOSED
        if closes_at is not None and now >= closes_at:
            return State.CLOSING
        if row.opens is not None and now < row.opens:
            return State.SCHEDULED
        return State.OPEN

    def _chosen(self, name: str, rows: list[VersionRow], version: int | None) -> VersionRow:
        if version is None:
            return next((row for row in rows if self.state(row) is State.OPEN), rows[0])
        for row in rows:
            if row.version == version:
                return row
        raise Refused(
            "unknown-survey",
            f"{name} has no version {version}; it has "
            f"{', '.join(str(row.version) for row in reversed(rows))}",
            field="version",
        )

    def _named(self, name: str) -> list[VersionRow]:
        # What no survey can be named is not asked for: PostgreSQL refuses a NUL in a text.
        rows = self._store.named(name) if is_name(name) else []
        if not rows:
            raise Refused(
                "unknown-survey",
                f"no survey is named {name[:64]!r}; list the surveys to see their names",
                field="name",
            )
        return rows

    def _load(self, version_id: int) -> Published:
        return Published.from_json(self._store.canonical(version_id))


def timestamp(seconds: int) -> str:
    """Return seconds since 1970 as a timestamp in UTC."""
    return format_timestamp(datetime.fromtimestamp(seconds, UTC))


def refusal_of_weak(published: Published) -> Refused | None:
    """Return why a survey is published with ``allow_weak`` alone; None if it is without."""
    for weakness in weak_protection(published):
        if weakness.level is Level.HARDLY:
            name = weakness.attribute
            field = "epsilon" if name is None else f"attributes[{name}].epsilon"
            return Refused("hardly-protected", weakness.message, field=field)
    return None


def _earlier(one: int | None, other: int | None) -> int | None:
    """Return the earlier of two moments; None stands for never. It is asked for each report."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _version_exists(row: VersionRow) -> Refused:
    return Refused(
        "version-exists",
        f"{row.name} version {row.version} is published with digest {row.digest}, and a "
        f"published version never changes; publish this as version {row.version + 1}",
        field="version",
    )
