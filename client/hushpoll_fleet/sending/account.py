"""The final account of a simulation: every respondent is in exactly one column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hushpoll_shared.spelling.text import printable

if TYPE_CHECKING:
    from hushpoll_client.analyst.results import BulkReceipt


def unwatched(steps: int) -> None:
    """Take a simulation's progress and show nothing."""


@dataclass(slots=True)
class Account:
    """Counts that reconcile.

    ``respondents + replays = sent + unsent`` and
    ``sent = accepted + duplicate + rejected + pending``.

    Attributes
    ----------
    respondents : int
        Respondents of the simulation.
    accepted, duplicate : int
        Reports that the server acknowledged, as new and as known.
    rejected : Counter of str
        Reports that the server refused for good, by code of the problem table.
    pending : int
        Reports that were randomised and sent, and that nobody has acknowledged or refused.
    replays : int
        Reports sent once more on purpose, after their first answer; each is counted as sent again.
    misversioned : int
        Reports sent on purpose under the digest of no version; they should be rejected.
    poisoned : int
        Reports sent that were never randomised; the server cannot tell.
    seconds : float
        Duration.
    """

    respondents: int
    accepted: int = 0
    duplicate: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    pending: int = 0
    replays: int = 0
    misversioned: int = 0
    poisoned: int = 0
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

    def enter(self, receipt: BulkReceipt) -> None:
        """Enter what the server answered to a batch."""
        self.accepted += receipt.accepted
        self.duplicate += receipt.duplicate
        self.rejected.update(printable(report.get("code")) for report in receipt.rejected)

    def add(self, other: Account) -> None:
        """Add the counts of another part of the fleet; respondents and duration stay."""
        for name in ("accepted", "duplicate", "pending", "replays", "misversioned", "poisoned"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rejected.update(other.rejected)

    @property
    def rate(self) -> float:
        """Reports per second; 0 for a simulation that took no time."""
        return self.sent / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
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
