"""How good a version's data are: counts that add up, refusals by day, tests of the reports' shape.

Refusals of single days say when a respondent was there. So they are given for what a release
already tells by the day: of a version that releases immediately, and of a daily one the days before
its last release. They are not given where respondents need tokens: the issuer of a token could see
on which day its holder tried to spend it.
"""

from __future__ import annotations

import json
from typing import Final

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.results.releases import Releases
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.counts import CounterStore
from hushpoll_server.store.jobs import JobRow
from hushpoll_server.store.withdrawals import COUNTED_AS
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.terms import IMMEDIATE
from hushpoll_shared.wire.documents.surveys import QualityAccount, RefusedDay

DAILY: Final = "daily"
SHAPE: Final = "shape"
DUPLICATE: Final = "duplicate"
# Refusals that say that there is nothing to count yet, or any more.
NOTHING: Final = ("not-released", "not-enough-reports", "records-deleted")


class Quality:
    """Accounts of versions, and their tests of shape."""

    def __init__(
        self, *, surveys: SurveyService, releases: Releases, counters: CounterStore, jobs: Jobs
    ) -> None:
        self._surveys = surveys
        self._releases = releases
        self._counters = counters
        self._jobs = jobs

    def account(self, row: VersionRow) -> QualityAccount:
        """Return what became of all reports, and whether the numbers agree.

        It is what ``Releases.account`` returns; ``received``, the sum of all outcomes; ``counted``,
        the reports whose counts are kept for estimates, None while there are too few;
        ``reconciles``, whether these are the sealed ones, None likewise; and ``refused_by_day``.
        """
        account, counted = self._releases.account(row), self._releases.counted(row)
        refused = account["duplicate"] + sum(account["rejected"].values())
        return {
            **account,
            "received": account["accepted"] + account["withdrawn"] + refused,
            "counted": counted,
            "reconciles": None if counted is None else counted == account["sealed"],
            "refused_by_day": self.refused_by_day(row),
        }

    def refused_by_day(self, row: VersionRow) -> list[RefusedDay] | None:
        """Return duplicates and refusals of each day, the oldest first; None if none may be seen.

        Each has ``day`` (YYYY-MM-DD, UTC), ``duplicate``, and ``rejected`` by reason. Days without
        any are left out.
        """
        if self._surveys.published(row).submission != "open":
            return None
        before: str | None = None
        if row.release != IMMEDIATE:
            released = self._releases.describe(row)["released_at"]
            if row.release != DAILY or released is None:
                return None
            before = str(released)[:10]
        days: dict[str, RefusedDay] = {}
        for day, outcome, number in self._counters.by_day(row.id):
            if (before is not None and day >= before) or outcome == COUNTED_AS:
                continue
            entry = days.setdefault(day, {"day": day, "duplicate": 0, "rejected": {}})
            if outcome == DUPLICATE:
                entry["duplicate"] += number
            else:
                entry["rejected"][outcome] = number
        return list(days.values())

    def shapes(self, row: VersionRow) -> list[JobRow]:
        """Return the newest tests of the shape of a version's reports, in any state."""
        return self._jobs.newest_of(row, SHAPE)

    def shape(self, job: JobRow) -> JsonMembers:
        """Return what a test of shape found, as `hushpoll estimate --check-shape` has it."""
        if job.kind != SHAPE:
            raise Refused("not-found", f"job {job.id!r} is no test of shape", field="job_id")
        found: JsonMembers = json.loads(b"".join(self._jobs.result(job)))
        return found
