"""The server's parts, put together once per process."""

from __future__ import annotations

import threading

from flask import Flask, current_app

from hushpoll_server.jobs.queue import JobQueue
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.access import Access
from hushpoll_server.services.analysis import Analysis
from hushpoll_server.services.batches import BatchIngest
from hushpoll_server.services.counting import counted, prepare
from hushpoll_server.services.exports import Exports
from hushpoll_server.services.ingest import Ingest
from hushpoll_server.services.jobs import Jobs
from hushpoll_server.services.measuring import measured
from hushpoll_server.services.origins import Origins
from hushpoll_server.services.readiness import Readiness
from hushpoll_server.services.releases import Releases
from hushpoll_server.services.retention import Retention
from hushpoll_server.services.sampling import Sampler
from hushpoll_server.services.surveys import SurveyService
from hushpoll_server.services.upkeep import Upkeep
from hushpoll_server.services.writability import Writability
from hushpoll_server.services.writer import Writer
from hushpoll_server.settings import Settings
from hushpoll_server.shuffle import shuffled
from hushpoll_server.store import migrate, write_probe
from hushpoll_server.store.counts import CountStore
from hushpoll_server.store.database import Database
from hushpoll_server.store.jobs import JobStore
from hushpoll_server.store.origins import OriginStore
from hushpoll_server.store.releases import ReleaseStore
from hushpoll_server.store.reports import ReportStore
from hushpoll_server.store.segments import SegmentStore
from hushpoll_server.store.surveys import SurveyStore
from hushpoll_server.store.tallies import TallyStore
from hushpoll_server.store.tokens import TokenStore

EXTENSION = "hushpoll"
STOP_SECONDS = 10.0


class Collector:
    """Database, stores and services of one process.

    Opening it brings the database to this program's schema version. The writer's thread starts
    with the first report, or with ``start``; ``stop`` ends it with everything committed.

    Parameters
    ----------
    settings : Settings
        The whole configuration.

    Raises
    ------
    InvalidParameter, NotDurable, SchemaRefused
        The database cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.database_url, pool_size=settings.pool_size)
        try:
            migrate.upgrade(self.database)
        except BaseException:
            self.database.close()
            raise
        self.tokens = TokenStore(self.database)
        self.metrics = Metrics() if settings.metrics_token else None
        self.tallies = TallyStore(
            self.database, observe=self.metrics.reports if self.metrics else None
        )
        self.access = Access(self.tokens, settings.clock)
        self.origins = Origins(OriginStore(self.database))
        self.surveys = SurveyService(SurveyStore(self.database), settings)
        self.reports = ReportStore(self.database, self.surveys.cutoff)
        self.tally = counted(self.surveys.published_of)
        self.segments = SegmentStore(self.database, shuffled, self.tally, self.surveys.now)
        self.release_store = ReleaseStore(self.database, shuffled)
        self.counts = CountStore(self.database)
        self.upkeep = Upkeep(
            settings,
            surveys=self.surveys,
            reports=self.reports,
            segments=self.segments,
            releases=self.release_store,
            tallies=self.tallies,
        )
        self.writability = Writability(lambda: write_probe.write(self.database))
        take = self.writability.watched(self.reports.take)
        self.writer = Writer(
            measured(take, self.metrics) if self.metrics else take,
            after=self.upkeep.after_group,
            idle=self.upkeep.idle,
            group_reports=settings.group_commit_reports,
            group_seconds=settings.group_commit_ms / 1000,
            queue_reports=settings.queue_reports,
        )
        self._sampler = None
        if self.metrics is not None:
            self._sampler = Sampler(
                self.metrics,
                waiting=self.reports.waiting,
                counts=self.segments.counts,
                queue=lambda: self.writer.state.waiting,
                jobs=lambda: self.job_store.by_state(),
            )
        self.readiness = Readiness(
            writer=self.writer,
            writability=self.writability,
            schema_version=lambda: migrate.current(self.database),
            expected=migrate.head(),
        )
        self.ingest = Ingest(
            surveys=self.surveys, reports=self.reports, tallies=self.tallies, writer=self.writer
        )
        self.batches = BatchIngest(
            ingest=self.ingest,
            surveys=self.surveys,
            reports=self.reports,
            writer=self.writer,
            max_reports=settings.max_bulk_reports,
        )
        self.releases = Releases(
            surveys=self.surveys,
            segments=self.segments,
            counts=self.counts,
            tallies=self.tallies,
            store=self.release_store,
            before=self.upkeep.before_question,
        )
        self.analysis = Analysis(
            surveys=self.surveys, segments=self.segments, releases=self.releases
        )
        self.exports = Exports(surveys=self.surveys, analysis=self.analysis)
        self.job_store = JobStore(self.database)
        self.jobs = Jobs(
            self.job_store,
            self.surveys,
            JobQueue(settings).announce,
            per_token=settings.jobs_per_token,
        )
        self.retention = Retention(
            jobs=self.job_store,
            surveys=self.surveys,
            segments=self.segments,
            counts=self.counts,
            upkeep=self.upkeep,
        )

    def init_app(self, app: Flask) -> None:
        """Make the collector known to an app."""
        app.extensions[EXTENSION] = self

    def start(self) -> None:
        """Start the writer's thread, so that upkeep goes on while nothing arrives; and metrics."""
        self.writer.start()
        threading.Thread(target=prepare, name="hushpoll-prepare", daemon=True).start()
        if self._sampler is not None:
            self._sampler.start()

    def stop(self) -> None:
        """Commit what is in flight, write the counts, and close the database."""
        try:
            self.writer.stop(STOP_SECONDS)
            if self._sampler is not None:
                self._sampler.stop()
            self.tallies.flush()
        finally:
            self.database.close()


def collector() -> Collector:
    """Return the collector of the current app."""
    found: Collector = current_app.extensions[EXTENSION]
    return found
