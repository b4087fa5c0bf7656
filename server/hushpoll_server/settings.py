"""One frozen configuration, checked once and passed whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.clock import Clock, SystemClock

# Flask's own key, accepted so that tests can use the framework's switch.
FLASK_KEYS = frozenset({"TESTING"})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Configuration of the collection server.

    The keys of the mapping given to ``create_app`` are these names in upper case.

    Parameters
    ----------
    database_url : str
        SQLAlchemy URL of the database; an SQLite file.
    clock : Clock
        Source of the current time, UTC.
    max_body_bytes : int
        Largest request body, in bytes, in [1024, 2**30]; above it 413.
    max_json_bytes : int
        Largest body of one JSON report, in bytes, in [256, max_body_bytes].
    max_bulk_reports : int
        Most reports in one bulk upload, in [1, queue_reports].
    group_commit_ms : float
        Longest wait for company of a report that arrives under concurrency, in milliseconds, in
        [0, 1000]. A report that arrives alone never waits.
    group_commit_reports : int
        Reports after which a group is committed without waiting further, in [1, 10000].
    queue_reports : int
        Reports that may wait for their commit; past it 503 with Retry-After. In [1, 10**7].
    close_grace_seconds : int
        Time after closing during which reports of offline devices are still taken, in seconds,
        in [0, 31536000].
    fold_at : int
        Reports in the inbox of one survey version at which it is folded without waiting for a
        quiet moment, in [1, 10**7]; never below the survey's own minimum batch.
    fold_idle_seconds : float
        Quiet time after which every inbox that holds at least its minimum batch is folded, in
        seconds, in (0, 86400].
    max_tokens : int
        Most respondent tokens issued by one request, in [1, 10**6].
    pool_size : int
        Database connections kept open, in [1, 1000].
    """

    database_url: str = "sqlite:///hushpoll.sqlite"
    clock: Clock = field(default_factory=SystemClock)
    max_body_bytes: int = 10 * 2**20
    max_json_bytes: int = 2**20
    max_bulk_reports: int = 10_000
    group_commit_ms: float = 2.0
    group_commit_reports: int = 100
    queue_reports: int = 50_000
    close_grace_seconds: int = 86_400
    fold_at: int = 10_000
    fold_idle_seconds: float = 60.0
    max_tokens: int = 10_000
    pool_size: int = 32

    def __post_init__(self) -> None:
        _check("max_body_bytes", self.max_body_bytes, 1024, 2**30)
        _check("max_json_bytes", self.max_json_bytes, 256, self.max_body_bytes)
        _check("queue_reports", self.queue_reports, 1, 10**7)
        _check("max_bulk_reports", self.max_bulk_reports, 1, self.queue_reports)
        _check("group_commit_ms", self.group_commit_ms, 0, 1000, whole=False)
        _check("group_commit_reports", self.group_commit_reports, 1, 10_000)
        _check("close_grace_seconds", self.close_grace_seconds, 0, 31_536_000)
        _check("fold_at", self.fold_at, 1, 10**7)
        _check("fold_idle_seconds", self.fold_idle_seconds, 1e-3, 86_400, whole=False)
        _check("max_tokens", self.max_tokens, 1, 10**6)
        _check("pool_size", self.pool_size, 1, 1000)

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any] | None) -> Settings:
        """Read a mapping with upper-case keys.

        Raises
        ------
        InvalidParameter
            Unknown key, or a value outside its interval.
        """
        given = {key: value for key, value in (config or {}).items() if key not in FLASK_KEYS}
        known = {entry.name.upper(): entry.name for entry in fields(cls)}
        for key in given:
            if key not in known:
                raise InvalidParameter(
                    f"unknown configuration key {key!r}; known keys are {', '.join(known)}; "
                    "correct or remove it",
                    field=key,
                )
        return cls(**{known[key]: value for key, value in given.items()})


def _check(name: str, value: float, least: float, most: float, *, whole: bool = True) -> None:
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        raise InvalidParameter(
            f"{name.upper()} is {value!r}, outside [{least}, {most}]; give a "
            f"{'whole ' if whole else ''}number inside it",
            field=name.upper(),
        )
