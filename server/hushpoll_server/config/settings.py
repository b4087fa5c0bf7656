"""The table of settings: one frozen configuration, checked once and passed whole.

To add a setting, add one line to `Settings`. Its check, its key in a configuration file, its
variable, its flag and its row in docs/operate.md follow from that line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.setting import Setting, choice, number, switch, table_of, text, whole
from hushpoll_server.logs import LEVELS
from hushpoll_shared.spelling.clock import Clock, SystemClock

# Flask's own key, accepted so that tests can use the framework's switch.
FLASK_KEYS = frozenset({"TESTING"})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Configuration of the collection server; each setting is described where it is declared.

    The keys of the mapping given to ``create_app`` are these names in upper case. The clock, a
    source of the current time (UTC), is given by programs alone.
    """

    clock: Clock = field(default_factory=SystemClock)

    # database
    database_url: str = text(
        "sqlite:///hushpoll.sqlite",
        "SQLAlchemy URL of the database that keeps everything.",
        secret=True,
    )
    pool_size: int = whole(
        36,
        1,
        1000,
        "Database connections kept open. Where a command sets threads alone, threads + 4.",
    )

    # listening
    host: str = text("127.0.0.1", "Address to listen on.")
    port: int = whole(8000, 0, 65_535, "Port to listen on; 0 takes a free one.")
    threads: int = whole(
        32, 1, 500, "Requests of analysts, administrators and pages worked on at a time."
    )
    queue_requests: int = whole(
        256,
        0,
        100_000,
        "Such requests that may wait for a thread; past it 503 with Retry-After. Reports do not "
        "wait for threads.",
    )
    workers: int = whole(1, 1, 64, "Processes that take reports; more than 1 on PostgreSQL alone.")
    admin_token_file: str | None = text(
        None,
        "File, readable by its owner only, into which the first start writes the admin token; "
        "without it the token is printed on standard error, which may be kept.",
    )

    # requests
    request_seconds: float = number(
        20.0,
        0.1,
        3600,
        "Seconds for a request's head to arrive, and from its first byte for its body, which has a "
        "second more for each 64 KiB. Past it 408.",
    )
    max_body_bytes: int = whole(
        10 * 2**20, 1024, 2**30, "Largest request body, in bytes; above it 413."
    )
    max_json_bytes: int = whole(
        2**20, 256, "max_body_bytes", "Largest body of one JSON report, in bytes."
    )
    max_bulk_reports: int = whole(10_000, 1, "queue_reports", "Most reports in one bulk upload.")
    max_manifest_bytes: int = whole(
        2 * 2**20, 1024, 2**30, "Largest manifest that can be published, in bytes."
    )
    max_tokens: int = whole(10_000, 1, 10**6, "Most respondent tokens issued by one request.")

    # access
    rate_limit_submit: int = whole(
        6000,
        0,
        10**9,
        "Uploads (single reports or batches) a minute from one address, and with one bearer "
        "token; past it 429 with Retry-After. 0: no limit.",
    )
    rate_limit_read: int = whole(
        6000,
        0,
        10**9,
        "All other requests a minute from one address, and with one bearer token. 0: no limit.",
    )
    rate_limit_url: str | None = text(
        None,
        "Redis server (redis://host:6379/0) that counts requests for all processes; without it "
        "each process that takes requests counts its own.",
        secret=True,
    )
    trusted_proxies: int = whole(
        0,
        0,
        10,
        "Proxies in front of the server that append to X-Forwarded-For; with 0 the header is not "
        "read.",
    )
    behind_tls: bool = switch(
        False,
        "Whether browsers reach the server over TLS alone; they are then told to keep to that for "
        "a year (Strict-Transport-Security).",
    )

    # commits
    group_commit_reports: int = whole(
        100, 1, 10_000, "Most reports of one commit, unless a batch has more."
    )
    queue_reports: int = whole(
        50_000, 1, 10**7, "Reports that may wait for their commit; past it 503 with Retry-After."
    )

    # surveys
    close_grace_seconds: int = whole(
        86_400,
        0,
        31_536_000,
        "Seconds after closing during which reports of offline devices are still taken.",
        alias="--close-grace",
    )
    seal_at: int = whole(
        10_000,
        1,
        10**7,
        "Reports in the inbox of one survey version at which it is sealed once none has arrived "
        "for a second. While they arrive one by one, it is sealed at ten times as many; in bulk "
        "(at least max_bulk_reports in a second) at as many on SQLite, at a hundred times as many "
        "on PostgreSQL; or at 64 MB of records. Never below the survey's own minimum batch.",
    )
    seal_idle_seconds: float = number(
        60.0,
        1e-3,
        86_400,
        "Quiet time after which every inbox that holds at least its minimum batch is sealed, in "
        "seconds.",
    )
    sealing: str = choice(
        "server",
        ("server", "worker"),
        "Which process seals: the server itself, or hushpoll worker alone.",
    )

    # jobs
    job_threads: int = whole(1, 1, 64, "Jobs that one worker runs at a time.")
    job_lease_seconds: int = whole(
        30,
        3,
        3600,
        "Seconds after which the job of a worker that was not heard of is given to another.",
    )
    jobs_per_token: int = whole(
        20, 1, 100_000, "Jobs of one token that may wait or run; past it 429 with Retry-After."
    )
    jobs_running_per_token: int = whole(
        2, 1, 1000, "Jobs of one token that run at a time, over all workers; the others wait."
    )
    job_seconds: int = whole(
        3600, 1, 31_536_000, "Seconds after which a job that still runs is ended."
    )
    job_max_trees: int = whole(
        10_000, 1, 10**6, "Most trees (n_estimators) of a model that a job trains."
    )
    job_max_leaves: int = whole(
        4096, 2, 131_072, "Most leaves of a tree (num_leaves) of a model that a job trains."
    )
    job_max_bins: int = whole(
        1024, 2, 65_535, "Most bins of a feature (max_bin) of a model that a job trains."
    )
    job_result_days: int = whole(7, 1, 3650, "Days for which a job's result is kept.")

    # logs
    log_level: str = choice(
        "info", LEVELS, "What to log to standard error; never an address or a payload."
    )
    log_requests: bool = switch(
        False,
        "Whether to log a line for each request: method, route, status and time. Submissions are "
        "never logged.",
    )

    # metrics
    metrics_token: str | None = text(
        None,
        "Bearer token of GET /metrics, which is not there without one.",
        least=16,
        secret=True,
    )

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in SETTINGS}
        # What bounds others is checked before them.
        for name, setting in sorted(SETTINGS.items(), key=lambda row: row[1].depends):
            object.__setattr__(self, name, setting.checked(values[name], values))

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any] | None) -> Settings:
        """Read a mapping with upper-case keys.

        Raises
        ------
        InvalidParameter
            Unknown key, or a value outside its interval.
        """
        given = {key: value for key, value in (config or {}).items() if key not in FLASK_KEYS}
        known = {"CLOCK": "clock", **{setting.key: name for name, setting in SETTINGS.items()}}
        for key in given:
            if key not in known:
                raise unknown_key(key, known)
        return cls(**{known[key]: value for key, value in given.items()})


SETTINGS: Final[Mapping[str, Setting]] = table_of(Settings)
"""Every setting by its name, in the order of declaration."""


def unknown_key(key: str, known: Iterable[str], where: str = "") -> InvalidParameter:
    """Return the refusal of a key that is none, with the one that was probably meant.

    Parameters
    ----------
    key : str
        As it was given.
    known : iterable of str
        Keys in the same spelling.
    where : str
        Where it was given, such as ``" in hushpoll.toml"``.
    """
    names = list(known)
    close = difflib.get_close_matches(key, names, n=1)
    remedy = f"did you mean {close[0]!r}? " if close else f"known keys are {', '.join(names)}; "
    return InvalidParameter(
        f"unknown configuration key {key!r}{where}; {remedy}correct or remove it", field=key
    )
