"""The services of an ingest process, which answers devices and does nothing else.

Nothing here imports a web framework, numba or the analysis of records.
"""

from __future__ import annotations

from hushpoll_server.config.settings import Settings
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.reports import BatchIngest, Ingest
from hushpoll_server.services.surveys.access import Access
from hushpoll_server.services.surveys.invitation_keys import InvitationKeys
from hushpoll_server.services.surveys.invitations import Invitations
from hushpoll_server.services.surveys.origins import Origins
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store import migrate
from hushpoll_server.store.catalogue import OriginStore, SurveyStore, TokenStore
from hushpoll_server.store.counts import CounterStore
from hushpoll_server.store.database import Database
from hushpoll_server.store.editing.images import ImageStore
from hushpoll_server.store.invitations import InvitationStore
from hushpoll_server.store.reports import ReportStore
from hushpoll_server.store.withdrawals import WithdrawalStore
from hushpoll_server.store.workers import WorkerStore


class DeviceServices:
    """Database, stores and services for the routes of devices.

    With `upgrade` the database is brought to this program's schema version first.
    """

    def __init__(self, settings: Settings, *, upgrade: bool = True) -> None:
        self.settings = settings
        self.database = Database(settings.database_url, pool_size=settings.pool_size)
        try:
            if upgrade:
                migrate.upgrade(self.database)
        except BaseException:
            self.database.close()
            raise
        self.metrics = Metrics() if settings.metrics_token else None
        self.tokens = TokenStore(self.database)
        self.counters = CounterStore(
            self.database, observe=self.metrics.reports if self.metrics else None
        )
        self.access = Access(self.tokens, settings.clock)
        self.origins = Origins(OriginStore(self.database))
        keys = InvitationKeys(settings.invitation_seed, settings.former_invitation_seeds)
        images = ImageStore(self.database)
        self.surveys = SurveyService(
            SurveyStore(self.database), settings, keys, has_image=images.has
        )
        self.invitations = Invitations(InvitationStore(self.database), self.surveys, keys)
        self.workers = WorkerStore(self.database)
        self.reports = ReportStore(self.database, self.surveys.cutoff)
        self.ingest = Ingest(
            surveys=self.surveys,
            reports=self.reports,
            counters=self.counters,
            withdrawals=WithdrawalStore(self.database),
            invitations=self.invitations,
        )
        self.batches = BatchIngest(
            ingest=self.ingest,
            surveys=self.surveys,
            reports=self.reports,
            max_reports=settings.max_bulk_reports,
        )

    def stop(self) -> None:
        """Write the counts, and close the database."""
        try:
            self.counters.flush()
        finally:
            self.database.close()
