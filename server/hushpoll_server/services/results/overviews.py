"""One survey version at a glance: its terms, its guarantee, its counts and its warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from hushpoll_analysis.shuffling import shuffle_guarantee
from hushpoll_server.services.results.releases import Releases
from hushpoll_server.services.surveys.invitations import Invitations
from hushpoll_server.services.surveys.mailing import Mailing
from hushpoll_server.services.surveys.surveys import SurveyService, timestamp
from hushpoll_server.services.surveys.warnings import PublishingWarning, publishing_warnings
from hushpoll_server.store.addressees import Mail
from hushpoll_server.store.catalogue import TokenStore, VersionRow
from hushpoll_server.survey_reports.content.promise import promise_of
from hushpoll_shared.survey.protection import (
    total_level,
)
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)
from hushpoll_shared.survey.terms import IMMEDIATE, INVITED
from hushpoll_shared.wire.documents.results import OverviewDocument

KEPT_WARNINGS = 512


class Overviews:
    """Describes versions to those who may read their results."""

    def __init__(
        self,
        *,
        surveys: SurveyService,
        releases: Releases,
        tokens: TokenStore,
        invitations: Invitations,
        mailing: Mailing,
    ) -> None:
        self._surveys = surveys
        self._releases = releases
        self._tokens = tokens
        self._invitations = invitations
        self._mailing = mailing
        # A published version never changes, and the planner behind the warnings takes a while.
        self._warnings = lru_cache(maxsize=KEPT_WARNINGS)(self._warnings_of)

    def overview(self, row: VersionRow) -> OverviewDocument:
        """Return a version's overview, as the API gives it."""
        published = self._surveys.published(row)
        closes, accepts_until = self._surveys.closes_at(row), self._surveys.accepts_until(row)
        account, unspent, spent = self._releases.account(row), None, None
        if published.submission == "token":
            unspent, spent = self._token_counts(row)
        invited, redeemed = None, None
        mails: Mapping[Mail, int] = {}
        if published.submission == INVITED:
            invited, redeemed = self._invitations.counts(row)
            mails = self._mailing.counts(row)
        overview = {
            "survey": row.name,
            "version": row.version,
            "digest": row.digest,
            "title": row.title,
            "description": published.description,
            "state": self._surveys.state(row).value,
            "opens": None if row.opens is None else timestamp(row.opens),
            "closes": None if closes is None else timestamp(closes),
            "accepts_until": None if accepts_until is None else timestamp(accepts_until),
            "submission": published.submission,
            "unspent_tokens": unspent,
            "spent_tokens": spent,
            "invited": invited,
            "redeemed": redeemed,
            **{f"mail_{state}": mails.get(state) for state in Mail},
            "minimum_batch": row.minimum_batch,
            **promise_of(published),
            "warnings": [vars(warning) for warning in self._warnings(row.id)],
            "shuffled": _shuffled(published, account["accepted"]),
            "released_by_day": self._releases.by_day(row),
            **account,
        }
        return cast("OverviewDocument", overview)

    def summaries(self, rows: Sequence[VersionRow]) -> list[dict[str, Any]]:
        """Return what a list of many versions shows of each."""
        released = self._releases.summaries(rows)
        return [self._summary(row, more) for row, more in zip(rows, released, strict=True)]

    def _summary(self, row: VersionRow, released: Mapping[str, Any]) -> dict[str, Any]:
        published = self._surveys.published(row)
        total = total_epsilon(published.budget.values())
        return {
            "survey": row.name,
            "version": row.version,
            "title": row.title,
            "state": self._surveys.state(row).value,
            "minimum_batch": row.minimum_batch,
            "epsilon": f"{total:f}",
            "protection": total_level(total).name.lower(),
            "warnings": [warning.code for warning in self._warnings(row.id)],
            **released,
        }

    def _token_counts(self, row: VersionRow) -> tuple[int | None, int | None]:
        """Return how many tokens are unspent and spent; None where it would tell who answers when.

        Each report spends one, so the numbers are as fresh as the reports that may be seen: of a
        version that releases on a schedule none are, before it is over.
        """
        versions = [one for one in self._surveys.all() if one.survey_id == row.survey_id]
        if any(one.release != IMMEDIATE and not one.ended for one in versions):
            return None, None
        # a spent token is deleted, and its report is what is left of it
        spent = sum(
            self._releases.reports(one)
            for one in versions
            if self._surveys.published(one).submission == "token"
        )
        return self._tokens.unspent(row.survey_id), spent

    def _warnings_of(self, version_id: int) -> tuple[PublishingWarning, ...]:
        return publishing_warnings(self._surveys.published_of(version_id))


def _shuffled(published: Published, reports: int) -> dict[str, Any] | None:
    """Return what a trusted shuffler would add, if there were one.

    None without reports. Their number is rounded down to two digits, which keeps the bound and lets
    it be kept from one report to the next.
    """
    if not reports or not published.perturbed:
        return None
    unit = 10 ** max(len(str(reports)) - 2, 0)
    return shuffle_guarantee(published, reports // unit * unit).to_dict()
