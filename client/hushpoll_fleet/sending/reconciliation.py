"""Whether the server counts what the fleet counted."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

from hushpoll_client import Published
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.sending.account import Account
from hushpoll_protocols.errors import TransportError
from hushpoll_shared.spelling.text import printable

# The server writes the counts of refusals in quiet moments.
_PATIENCE_SECONDS = 10.0
_PAUSE_SECONDS = 0.25
# A report for no version is counted by none.
_NOT_OF_A_VERSION = "unknown-digest"


@dataclass(frozen=True, slots=True)
class ServerCounts:
    """A survey version's counts at one moment, as the server gives them.

    Attributes
    ----------
    accepted, duplicate : int
        Reports stored, and reports that were known already.
    rejected : Counter of str
        Refused reports by code.
    """

    accepted: int
    duplicate: int
    rejected: Counter[str]

    @classmethod
    def now(cls, analyst: AnalystClient, published: Published) -> Self:
        """Ask the server; needs scope ``read``.

        Raises
        ------
        TransportError
            The answer has no counts, or none came.
        """
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
            Counter({k: n - before.rejected[k] for k, n in self.rejected.items()}),
        )


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The fleet's account beside the server's counts.

    Attributes
    ----------
    account : Account
        The fleet's.
    server : ServerCounts
        What the server counted meanwhile.
    """

    account: Account
    server: ServerCounts

    @property
    def differences(self) -> list[str]:
        """What does not agree, in words; empty if everything does to the unit.

        A report that is pending may have been stored. A duplicate may have been counted by the
        server alone, where its first acknowledgement was lost and the client sent it again.
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

    def to_dict(self) -> dict[str, Any]:
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
        return "\n".join(
            [
                "The server's counts differ (or somebody else has answered meanwhile):",
                *(f"  {line}" for line in self.differences),
            ]
        )


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
