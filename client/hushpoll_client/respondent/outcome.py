"""What `SurveyClient.answer` tells a host app, which it never breaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from hushpoll_client.faults import ConsentMissing, OutboxFull, StorageError
from hushpoll_protocols.errors import (
    BudgetExhausted,
    HushpollError,
    InvalidParameter,
    ManifestRefused,
)

Status = Literal["kept", "known", "refused", "failed"]

# The first that fits; a refusal is the device doing its owner's will, a failure is a fault.
_REASONS: Final[tuple[tuple[type[HushpollError], Status, str], ...]] = (
    (BudgetExhausted, "refused", "budget"),
    (ManifestRefused, "refused", "manifest"),
    (OutboxFull, "refused", "outbox-full"),
    (StorageError, "failed", "storage"),
)

CALLERS_MISTAKES: Final = (InvalidParameter, ConsentMissing)
"""What `answer` raises: the caller can correct it, and nobody else can."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one answer.

    Attributes
    ----------
    status : {"kept", "known", "refused", "failed"}
        ``kept``: randomised now, and stored to be sent. ``known``: this version was answered
        before; that report stands, whatever was answered now. ``refused``: the owner's limits, the
        pin or a full outbox forbid it. ``failed``: the device's file or this package did. In the
        last two nothing was randomised, spent or sent.
    reason : str or None
        Stable code where refused or failed: ``budget``, ``manifest``, ``outbox-full``,
        ``no-manifest``, ``storage``, ``internal``.
    error : HushpollError or None
        The same in words, with what to do about it.
    """

    status: Status
    reason: str | None = None
    error: HushpollError | None = field(default=None, repr=False)

    @property
    def stands(self) -> bool:
        """Whether a report is stored, and is or will be sent."""
        return self.status in ("kept", "known")


def outcome_of(error: Exception) -> Outcome:
    """Return what `answer` makes of an error that is not the caller's mistake."""
    for kind, status, reason in _REASONS:
        if isinstance(error, kind):
            return Outcome(status, reason, error)
    # By type alone: an internal fault's message may hold anything.
    return Outcome(
        "failed", "internal", HushpollError(f"a fault in hushpoll: {type(error).__name__}")
    )
