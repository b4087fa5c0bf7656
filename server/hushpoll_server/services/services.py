"""The server's services, put together once per process."""

from __future__ import annotations

from hushpoll_server.charts.drawing import Drawing
from hushpoll_server.config.settings import Settings
from hushpoll_server.services.device_services import DeviceServices
from hushpoll_server.services.maintenance.operations import Operations
from hushpoll_server.services.maintenance.retention import Retention
from hushpoll_server.services.maintenance.sampling import Sampler
from hushpoll_server.services.maintenance.sealing import Sealing
from hushpoll_server.services.people.actions import Actions
from hushpoll_server.services.people.provider import Provider
from hushpoll_server.services.people.sign_in import SignIn
from hushpoll_server.services.people.users import Users
from hushpoll_server.services.readiness import MissingWorker
from hushpoll_server.services.results.analysis import Analysis, counted
from hushpoll_server.services.results.exports import Exports
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.results.kept_results import Audits, Models, Regressions
from hushpoll_server.services.results.overviews import Overviews
from hushpoll_server.services.results.public_results import PublicResults
from hushpoll_server.services.results.quality import Quality
from hushpoll_server.services.results.releases import Releases
from hushpoll_server.services.results.survey_reports import SurveyReports
from hushpoll_server.services.results.weighting import Weighting
from hushpoll_server.services.surveys.drafts import Drafts
from hushpoll_server.services.surveys.images import Images
from hushpoll_server.services.surveys.mailing import Mailing
from hushpoll_server.services.surveys.plans import Plans
from hushpoll_server.store.addressees import AddresseeStore
from hushpoll_server.store.counts import ReleaseStore
from hushpoll_server.store.editing.drafts import DraftStore
from hushpoll_server.store.editing.images import ImageStore
from hushpoll_server.store.editing.publications import PublicationStore
from hushpoll_server.store.jobs import JobStore
from hushpoll_server.store.segment_store import SegmentStore
from hushpoll_server.store.segments import shuffled
from hushpoll_server.store.users import ActionStore, UserStore


class Services(DeviceServices):
    """Database, stores and services of a process that also analyses and maintains."""

    def __init__(self, settings: Settings, *, upgrade: bool = True) -> None:
        super().__init__(settings, upgrade=upgrade)
        self.aggregator = counted(self.surveys.published_of)
        self.segments = SegmentStore(self.database, shuffled, self.aggregator, self.surveys.now)
        self.release_store = ReleaseStore(self.database, shuffled)
        self.mailing = Mailing(
            AddresseeStore(self.database),
            surveys=self.surveys,
            invitations=self.invitations,
            settings=settings,
        )
        self.sealing = Sealing(
            settings,
            mailing=self.mailing,
            surveys=self.surveys,
            reports=self.reports,
            segments=self.segments,
            releases=self.release_store,
            counters=self.counters,
            metrics=self.metrics,
        )
        self.releases = Releases(
            surveys=self.surveys,
            segments=self.segments,
            counters=self.counters,
            store=self.release_store,
            before=self.sealing.before_question,
        )
        self.analysis = Analysis(
            surveys=self.surveys,
            segments=self.segments,
            releases=self.releases,
            smallest_group=settings.smallest_group,
        )
        self.plans = Plans()
        self.drafts = Drafts(
            DraftStore(self.database), self.surveys, most_bytes=settings.max_manifest_bytes
        )
        self.images = Images(ImageStore(self.database), self.surveys.now)
        self.weighting = Weighting(surveys=self.surveys, analysis=self.analysis)
        self.overviews = Overviews(
            surveys=self.surveys,
            releases=self.releases,
            tokens=self.tokens,
            invitations=self.invitations,
            mailing=self.mailing,
        )
        self.exports = Exports(surveys=self.surveys, analysis=self.analysis)
        self.job_store = JobStore(self.database)
        self.sampler = None
        if self.metrics is not None:
            self.sampler = Sampler(
                self.metrics,
                waiting=self.reports.waiting,
                counts=self.segments.counts,
                jobs=self.job_store.by_state,
                overdue=None if settings.sealing == "server" else self._overdue,
            )
        self.operations = Operations(
            self.database,
            self.metrics,
            waiting=self.reports.waiting,
            counts=self.segments.counts,
            jobs=self.job_store.by_state,
            overdue=self._overdue,
            sealing=settings.sealing,
            any_worker=lambda: self.workers.any_alive(now=self.surveys.now()),
        )
        user_store = UserStore(self.database)
        self.actions = Actions(ActionStore(self.database), settings.clock)
        self.users = Users(user_store, settings.clock)
        self.sign_in = SignIn(
            self.users, user_store, self.actions, settings.clock, threads=settings.threads
        )
        self.provider = None
        if settings.oidc_issuer is not None:
            self.provider = Provider(settings.oidc_issuer, settings)
        self.drawing = Drawing()
        self.jobs = Jobs(
            self.job_store,
            self.surveys,
            self.workers,
            missing_worker=MissingWorker(own=settings.start_worker),
            per_token=settings.jobs_per_token,
        )
        common = (self.job_store, self.jobs, self.surveys, self.actions)
        self.models = Models(*common)
        self.audits = Audits(*common)
        self.regressions = Regressions(*common)
        self.quality = Quality(
            surveys=self.surveys,
            releases=self.releases,
            counters=self.counters,
            jobs=self.jobs,
        )
        self.survey_reports = SurveyReports(
            surveys=self.surveys,
            releases=self.releases,
            analysis=self.analysis,
            jobs=self.jobs,
            drawing=self.drawing,
        )
        self.public_results = PublicResults(
            PublicationStore(self.database), surveys=self.surveys, reports=self.survey_reports
        )
        self.retention = Retention(
            jobs=self.job_store,
            surveys=self.surveys,
            segments=self.segments,
            sealing=self.sealing,
        )

    def stop(self) -> None:
        """End the drawing process, write the counts, and close the database."""
        self.drawing.stop()
        super().stop()

    def _overdue(self) -> int:
        return self.sealing.overdue(self.surveys.now())
