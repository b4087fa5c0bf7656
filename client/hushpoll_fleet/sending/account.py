"""The final account of a simulation, and whether the server counted the same.

Every respondent is in exactly one column of the account.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from hushpoll_protocols.errors import TransportError
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import printable

if TYPE_CHECKING:
    from hushpoll_client import Published
    from hushpoll_client.analyst.analyst_client import AnalystClient

# The server writes the counts of refusals in quiet moments.
_PATIENCE_SECONDS = 10.0
_PAUSE_SECONDS = 0.25
# A report for no version is in the counts of none.
_NOT_OF_A_VERSION = "unknown-digest"


def no_progress(steps: int) -> None:
    """Take a simulation's progress and show nothing."""


@dataclass(slots=True)
class Account:
    """Counters that reconcile.

    ``respondents + replays = sent + unsent`` and ``sent = accepted + duplicate + rejected +
    pending``.
    """

    respondents: int
    accepted: int = 0
    duplicate: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """Reports that the server refused for good, by code of the problem table."""

    pending: int = 0
    """Reports that were sent, and that the server neither acknowledged nor refused."""

    replays: int = 0
    """Reports sent once more on purpose, after their first answer; each counts as sent again."""

    misversioned: int = 0
    """Reports sent on purpose under the digest of no version; they should be rejected."""

    poisoned: int = 0
    """Reports sent that were never randomised; the server cannot tell."""

    seconds: float = 0.0

    @property
    def sent(self) -> int:
        """Reports sent at least once."""
        return self.accepted + self.duplicate + self.rejected.total() + self.pending

    @property
    def unsent(self) -> int:
        """Respondents whose turn did not come, because the simulation was ended before."""
        return self.respondents + self.replays - self.sent

    @property
    def stored(self) -> int:
        """Reports of the simulation that the server has acknowledged to hold, each once."""
        return self.accepted + self.duplicate - self.replays

    @property
    def complete(self) -> bool:
        """Whether every respondent's report counts, but for those meant to be rejected."""
        meant = min(self.misversioned, self.rejected["unknown-digest"])
        return self.stored + meant == self.respondents

    @property
    def rate(self) -> float:
        """Reports per second; 0 for a simulation that took no time."""
        return self.sent / self.seconds if self.seconds > 0 else 0.0

    def upload(self, client: AnalystClient, survey: str, batch: bytes, reports: int) -> None:
        """Upload a batch of `reports` reports and enter the server's answer.

        Of a batch that is refused as a whole, or not answered, they are pending, and the error goes
        on.
        """
        try:
            receipt = client.submit_bulk(survey, batch)
        except TransportError as error:
            if error.retryable:
                self.pending += reports
            raise
        self.accepted += receipt.accepted
        self.duplicate += receipt.duplicate
        self.rejected.update(printable(report.get("code")) for report in receipt.rejected)

    def add(self, other: Account) -> None:
        """Add the counts of another part of the fleet; respondents and duration stay."""
        for name in ("accepted", "duplicate", "pending", "replays", "misversioned", "poisoned"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rejected.update(other.rejected)

    def to_dict(self) -> JsonMembers:
        """Return the account as JSON."""
        return {
            "respondents": self.respondents,
            "sent": self.sent,
            "accepted": self.accepted,
            "duplicate": self.duplicate,
            "rejected": self.rejected.total(),
            "rejected_by_code": dict(sorted(self.rejected.items())),
            "pending": self.pending,
            "unsent": self.unsent,
            "replays": self.replays,
            "misversioned": self.misversioned,
            "poisoned": self.poisoned,
            "seconds": round(self.seconds, 3),
            "reports_per_second": round(self.rate, 1),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.respondents} respondents: {self.sent} sent, {self.unsent} not sent "
            f"({self.seconds:.1f} s, {self.rate:.0f} reports/s)",
            f"{self.sent} sent = {self.accepted} accepted + {self.duplicate} duplicate + "
            f"{self.rejected.total()} rejected + {self.pending} pending",
        ]
        meant = {
            "sent again on purpose": self.replays,
            "sent for no version, on purpose": self.misversioned,
            "sent without randomising, on purpose": self.poisoned,
        }
        lines += [f"  {words}: {count}" for words, count in meant.items() if count]
        lines += [f"  rejected, {code}: {count}" for code, count in self.rejected.most_common()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ServerCounts:
    """A survey version's counters at one moment, as the server gives them; refused ones by code."""

    accepted: int
    duplicate: int
    rejected: Counter[str]

    @classmethod
    def now(cls, analyst: AnalystClient, published: Published) -> Self:
        """Ask the server; this needs scope ``read``."""
        answer = analyst.counts(published.name, published.version)
        rejected: Counter[str] = Counter()
        try:
            for code, count in answer["rejected"].items():
                # A malformed report is counted by its reason as well.
                rejected[printable(code.partition(":")[0])] += int(count)
            return cls(int(answer["accepted"]), int(answer["duplicate"]), rejected)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise TransportError(
                "the server's answer has no counts of reports; check that both sides have the "
                "same version",
                retryable=False,
            ) from None

    def since(self, before: ServerCounts) -> ServerCounts:
        """Return the difference to an earlier moment."""
        return ServerCounts(
            self.accepted - before.accepted,
            self.duplicate - before.duplicate,
            Counter({code: n - before.rejected[code] for code, n in self.rejected.items()}),
        )


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The fleet's account beside what the server counted meanwhile."""

    account: Account
    server: ServerCounts

    @property
    def differences(self) -> list[str]:
        """What does not agree, in words; empty if everything does to the unit.

        A report that is pending may have been stored. The server alone may have counted a
        duplicate, where its first acknowledgement was lost and the client sent the report again.
        """
        account, server = self.account, self.server
        lines = []
        if not account.stored <= server.accepted <= account.stored + account.pending:
            lines.append(
                f"the server stored {server.accepted} reports, the fleet was told of "
                f"{account.stored} ({account.pending} pending)"
            )
        if server.duplicate < account.duplicate:
            lines.append(
                f"the server counted {server.duplicate} duplicates, the fleet {account.duplicate}"
            )
        for code in sorted({*server.rejected, *account.rejected} - {_NOT_OF_A_VERSION}):
            theirs, ours = server.rejected[code], account.rejected[code]
            if theirs != ours:
                lines.append(f"the server counted {theirs} refusals by {code}, the fleet {ours}")
        return lines

    def to_dict(self) -> JsonMembers:
        """Return both sides as JSON."""
        return {
            "accepted": self.server.accepted,
            "duplicate": self.server.duplicate,
            "rejected_by_code": {k: n for k, n in sorted(self.server.rejected.items()) if n},
            "reconciles": not self.differences,
            "differences": self.differences,
        }

    def __str__(self) -> str:
        if not self.differences:
            return (
                f"The server agrees: {self.server.accepted} stored, {self.server.duplicate} "
                f"duplicates, {self.server.rejected.total()} refused."
            )
        heading = "The server's counts differ (or other respondents have answered meanwhile):"
        return "\n".join([heading, *(f"  {line}" for line in self.differences)])


def reconcile(
    analyst: AnalystClient, published: Published, before: ServerCounts, account: Account
) -> Reconciliation:
    """Compare, giving the server a few seconds to have written its counts."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        counts = ServerCounts.now(analyst, published).since(before)
        comparison = Reconciliation(account, counts)
        if not comparison.differences or time.monotonic() >= end:
            return comparison
        time.sleep(_PAUSE_SECONDS)
