"""The table of settings: one frozen configuration, checked once and passed whole.

To add a setting, add one field to `Settings`. Its check, its key in a configuration file, its
variable, its flag and its row in docs/operate.md follow from that field.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.setting import Setting, unknown_key
from hushpoll_shared.reading.people import person
from hushpoll_shared.spelling.clock import Clock, SystemClock

# Flask's own key, accepted so that tests can use the framework's switch.
FLASK_KEYS = frozenset({"TESTING"})
# What the server's own addresses begin with; a prefix is none of them.
OWN_PATHS: Final = frozenset(
    {"api", "s", "page", "image", "dashboard", "results", "docs", "ready", "health", "metrics"}
)
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
FORMER_KEYS: Final = r"^[0-9a-f]{64}(,[0-9a-f]{64})*$"


class Settings(BaseModel):
    """Configuration of the server; each setting is described where it is declared.

    The keys of the mapping given to ``create_app`` are these names in upper case. The clock, a
    source of the current time (UTC), is given by programs alone. In ``json_schema_extra`` stand
    ``secret`` (masked where it is shown, and can be read from a file of its own), ``alias``
    (another flag), ``most`` (the setting that is the upper bound of this one) and ``form`` (what a
    text looks like).
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False
    )

    clock: SkipValidation[Clock] = Field(default_factory=SystemClock)

    # database
    database_url: Text = Field(
        "sqlite:///hushpoll.sqlite",
        description="SQLAlchemy URL of the database that keeps everything.",
        json_schema_extra={"secret": True},
    )
    pool_size: int = Field(
        36,
        ge=1,
        le=1000,
        description="Database connections kept open. Where a command sets threads alone, "
        "threads + 4.",
    )

    # listening
    host: Text = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    threads: int = Field(
        32,
        ge=1,
        le=500,
        description="Requests of analysts, administrators and pages worked on at a time.",
    )
    queue_requests: int = Field(
        256,
        ge=0,
        le=100_000,
        description="Such requests that may wait for a thread; past it 503 with Retry-After. "
        "Reports do not wait for threads.",
    )
    workers: int = Field(
        1, ge=1, le=64, description="Processes that take reports; more than 1 on PostgreSQL alone."
    )
    admin_token_file: Text | None = Field(
        None,
        description="File, readable by its owner only, into which the first start writes the "
        "admin token; without it the token is printed on standard error, which may be kept.",
    )

    # requests
    request_seconds: float = Field(
        20.0,
        ge=0.1,
        le=3600,
        description="Seconds for a request's head to arrive, and from its first byte for its "
        "body, which has a second more for each 64 KiB. Past it 408.",
    )
    max_body_bytes: int = Field(
        10 * 2**20, ge=1024, le=2**30, description="Largest request body, in bytes; above it 413."
    )
    max_json_bytes: int = Field(
        2**20,
        ge=256,
        description="Largest body of one JSON report, in bytes.",
        json_schema_extra={"most": "max_body_bytes"},
    )
    max_bulk_reports: int = Field(
        10_000,
        ge=1,
        description="Most reports in one bulk upload.",
        json_schema_extra={"most": "queue_reports"},
    )
    max_manifest_bytes: int = Field(
        2 * 2**20,
        ge=1024,
        le=2**30,
        description="Largest manifest that can be published, in bytes.",
    )
    max_tokens: int = Field(
        10_000, ge=1, le=10**6, description="Most respondent tokens issued by one request."
    )

    # access
    rate_limit_submit: int = Field(
        6000,
        ge=0,
        le=10**9,
        description="Uploads (single reports or batches) a minute from one address, and with "
        "one bearer token; past it 429 with Retry-After. 0: no limit.",
    )
    rate_limit_read: int = Field(
        6000,
        ge=0,
        le=10**9,
        description="All other requests a minute from one address, and with one bearer token. "
        "0: no limit.",
    )
    rate_limit_url: Text | None = Field(
        None,
        description="Redis server (redis://host:6379/0) that counts requests for all processes; "
        "without it each process that takes requests counts its own.",
        json_schema_extra={"secret": True},
    )
    trusted_proxies: int = Field(
        0,
        ge=0,
        le=10,
        description="Proxies in front of the server that append to X-Forwarded-For; with 0 the "
        "header is not read.",
    )
    behind_tls: bool = Field(
        False,
        description="Whether browsers reach the server over TLS alone; they are then told to "
        "keep to that for a year (Strict-Transport-Security).",
    )
    path_prefix: str = Field(
        "",
        max_length=200,
        pattern=r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$",
        description="Path below which browsers and devices reach the server, where a proxy serves "
        "other things beside it; whether the proxy takes the prefix off makes no difference. "
        "X-Forwarded-Prefix is not read.",
        json_schema_extra={"form": "/PATH, not one of the server's own"},
    )

    # sign-in at an OpenID Connect provider
    oidc_issuer: Text | None = Field(
        None,
        max_length=255,
        pattern=r"^(https://[^\s/?#@\x00]+|http://(127\.0\.0\.1|localhost)(:\d+)?)(/[^\s?#\x00]*)?$",
        description="OpenID Connect provider at which users can sign in to the dashboard, exactly "
        "as its metadata name it; over HTTP on this machine alone. Needs the extra `oidc` and "
        "`oidc_client_id`.",
        json_schema_extra={"form": "https://HOST/PATH"},
    )
    oidc_client_id: Text | None = Field(
        None, description="This server's id at the provider, whose tokens must name it."
    )
    oidc_client_secret: Text | None = Field(
        None,
        description="This server's secret at the provider; without it the client is a public one.",
        json_schema_extra={"secret": True},
    )
    oidc_name_claim: Text = Field(
        "email",
        description="Claim that is compared with a user's name at the first sign-in; `email` is "
        "taken with `email_verified` alone.",
    )
    oidc_label: Text = Field(
        "Sign in with your organisation",
        description="Text of the button that leads to the provider.",
    )

    # invited surveys
    invitation_seed: Text | None = Field(
        None,
        pattern=r"^[0-9a-f]{64}$",
        description="Secret of which the keys of invited surveys are made; without it none can "
        "be published, no invitation redeemed, and no report of one taken. A person who reads it "
        "can make tokens for any number of reports. Keep a copy apart from the database.",
        json_schema_extra={"secret": True, "form": "64 hexadecimal digits"},
    )
    former_invitation_seeds: Text | None = Field(
        None,
        pattern=FORMER_KEYS,
        description="Seeds that `invitation_seed` was before: versions that were published with "
        "one go on. A person who reads it can make tokens for those versions.",
        json_schema_extra={"secret": True, "form": "64 hexadecimal digits each, by commas"},
    )

    # mail to invited people
    smtp_host: Text | None = Field(
        None,
        description="Mail server to which invitations are given; without it none is sent by mail.",
    )
    smtp_port: int = Field(
        587,
        ge=1,
        le=65_535,
        description="Its port: 587 with `starttls`, 465 with `tls`, mostly.",
    )
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="How the connection is encrypted; with `starttls` nothing is sent to a server "
        "that does not offer it. `none` is for a mail server on this machine.",
    )
    smtp_unencrypted: bool = Field(
        False,
        description="Whether mail and password may go over a network in clear: `smtp_security "
        "none` with a host that is not this machine.",
    )
    smtp_user: Text | None = Field(None, description="Name to sign in with at the mail server.")
    smtp_password: Text | None = Field(
        None, description="Password of `smtp_user`.", json_schema_extra={"secret": True}
    )
    mail_sender: Text | None = Field(
        None,
        description="Address that invitations come from; refusals of mail go there.",
        json_schema_extra={"form": "NAME@HOST"},
    )
    mail_reply_to: Text | None = Field(
        None,
        description="Address that answers to an invitation go to, if not the sender's.",
        json_schema_extra={"form": "NAME@HOST"},
    )
    mail_rate: int = Field(
        120, ge=1, le=100_000, description="Most mails a minute that a job gives to the server."
    )
    public_url: Text | None = Field(
        None,
        max_length=300,
        pattern=r"^(https://[^\s/?#@\x00]+|http://(127\.0\.0\.1|localhost)(:\d+)?)(/[^\s?#\x00]*[^\s?#/\x00])?$",
        description="Address at which respondents reach this server, with its path prefix; links "
        "in mails begin with it. Over HTTP on this machine alone.",
        json_schema_extra={"form": "https://HOST/PATH without a slash at its end"},
    )
    address_key: Text | None = Field(
        None,
        pattern=r"^[0-9a-f]{64}$",
        description="Secret by which addresses of invited people are encrypted in the database; a "
        "person who reads both reads the addresses. Keep it apart from the database.",
        json_schema_extra={"secret": True, "form": "64 hexadecimal digits"},
    )
    former_address_keys: Text | None = Field(
        None,
        pattern=FORMER_KEYS,
        description="Keys that `address_key` was before: versions whose people were encrypted by "
        "one go on with it.",
        json_schema_extra={"secret": True, "form": "64 hexadecimal digits each, by commas"},
    )

    # commits
    group_commit_reports: int = Field(
        100, ge=1, le=10_000, description="Most reports of one commit, unless a batch has more."
    )
    queue_reports: int = Field(
        50_000,
        ge=1,
        le=10**7,
        description="Reports that may wait for their commit; past it 503 with Retry-After.",
    )

    # surveys
    close_grace_seconds: int = Field(
        86_400,
        ge=0,
        le=31_536_000,
        description="Seconds after closing during which reports of offline devices are still "
        "taken.",
        json_schema_extra={"alias": "--close-grace"},
    )
    seal_at: int = Field(
        10_000,
        ge=1,
        le=10**7,
        description="Reports in the inbox of one survey version at which it is sealed once none "
        "has arrived for a second. While they arrive one by one, it is sealed at ten times as "
        "many; in bulk (at least max_bulk_reports in a second) at as many on SQLite, at a "
        "hundred times as many on PostgreSQL; or at 64 MB of records. Never below the survey's "
        "own minimum batch.",
    )
    seal_idle_seconds: float = Field(
        60.0,
        ge=1e-3,
        le=86_400,
        description="Quiet time after which every inbox that holds at least its minimum batch "
        "is sealed, in seconds.",
    )
    sealing: Literal["server", "worker"] = Field(
        "server", description="Which process seals: the server itself, or hushpoll worker alone."
    )

    # results
    smallest_group: int = Field(
        10,
        ge=1,
        le=10**6,
        description="Reports of the smallest group by answers in clear that a user who may not "
        "export sees, and that public results show; smaller ones are merged. 1: no group is "
        "merged, and the numbers of a single report can be read.",
    )

    # jobs
    job_threads: int = Field(1, ge=1, le=64, description="Jobs that one worker runs at a time.")
    job_lease_seconds: int = Field(
        30,
        ge=3,
        le=3600,
        description="Seconds after which the job of a worker that was not heard of is given to "
        "another.",
    )
    jobs_per_token: int = Field(
        20,
        ge=1,
        le=100_000,
        description="Jobs of one token that may wait or run; past it 429 with Retry-After.",
    )
    jobs_running_per_token: int = Field(
        2,
        ge=1,
        le=1000,
        description="Jobs of one token that run at a time, over all workers; the others wait.",
    )
    job_seconds: int = Field(
        3600, ge=1, le=31_536_000, description="Seconds after which a job that still runs is ended."
    )
    job_parameter_limits: Text | None = Field(
        None,
        pattern=r"^[a-z]\w*=\d+(\.\d+)?(,[a-z]\w*=\d+(\.\d+)?)*$",
        description="Largest parameters of a model that a job trains, where an operator wants "
        "others than each learner sets for jobs.",
        json_schema_extra={"form": "NAME=NUMBER,NAME=NUMBER"},
    )
    job_result_days: int = Field(
        7,
        ge=1,
        le=3650,
        description="Days for which a job's result is kept; a model is kept until it is deleted.",
    )

    job_memory: int | None = Field(
        None,
        ge=256,
        le=2**24,
        description="Megabytes (10^6 bytes) of data that a worker, and each process of a job, may "
        "have; a job that needs more fails, and the worker goes on. Without it `hushpoll worker` "
        "has no limit, and the worker that a server starts half of the machine's memory.",
        json_schema_extra={"alias": "--memory"},
    )
    start_worker: bool = Field(
        True,
        description="Whether `hushpoll serve` starts a worker. It has a low priority, and takes "
        "jobs only while no other worker of the database is alive. `--no-worker` is the same as "
        "`--start-worker false`.",
    )

    # logs
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="What to log to standard error; never an address or a payload."
    )
    log_requests: bool = Field(
        False,
        description="Whether to log a line for each request: method, route, status and time. "
        "Submissions are never logged.",
    )

    # metrics
    metrics_token: Text | None = Field(
        None,
        min_length=16,
        description="Bearer token of GET /metrics, which is not there without one.",
        json_schema_extra={"secret": True},
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if name not in SETTINGS:
                raise unknown_key(name, SETTINGS) from None
            setting = SETTINGS[name]
            most = setting.bound and values.get(setting.bound, SETTINGS[setting.bound].default)
            outside = first["type"] in ("greater_than_equal", "less_than_equal")
            raise setting.refused(first["input"], most=most, outside=outside) from None
        for name, setting in SETTINGS.items():
            value, most = getattr(self, name), getattr(self, setting.bound or name)
            if setting.bound is not None and value > most:
                raise setting.refused(value, most=most, outside=True)
        if self.path_prefix.split("/")[1:2] and self.path_prefix.split("/")[1] in OWN_PATHS:
            raise SETTINGS["path_prefix"].refused(self.path_prefix)
        if (self.oidc_issuer is None) != (self.oidc_client_id is None):
            missing, present = ("OIDC_CLIENT_ID", "OIDC_ISSUER")
            if self.oidc_issuer is None:
                missing, present = present, missing
            raise InvalidParameter(
                f"{present} is set and {missing} is not; give both, or neither", field=missing
            )

        self._check_mail()

    def _check_mail(self) -> None:
        """Refuse a mail server to which addresses and links would go in clear over a network."""
        clear = self.smtp_host is not None and self.smtp_security == "none"
        if clear and not self.smtp_unencrypted and not is_this_machine(str(self.smtp_host)):
            raise InvalidParameter(
                f"SMTP_SECURITY is 'none' and SMTP_HOST is {self.smtp_host!r}, which is not this "
                "machine: addresses and links would go over the network in clear; give starttls "
                "or tls, or allow it by SMTP_UNENCRYPTED",
                field="SMTP_SECURITY",
            )
        for name in ("mail_sender", "mail_reply_to"):
            value = getattr(self, name)
            try:
                person({"address": value or "a@example.org"}, ())
            except InvalidParameter as error:
                field = name.upper()
                raise InvalidParameter(f"{field}: {error}", field=field) from None
        if (self.smtp_user is None) != (self.smtp_password is None):
            missing, present = ("SMTP_PASSWORD", "SMTP_USER")
            if self.smtp_user is None:
                missing, present = present, missing
            raise InvalidParameter(
                f"{present} is set and {missing} is not; give both, or neither", field=missing
            )

    @classmethod
    def from_mapping(cls, config: Mapping[str, object] | None) -> Self:
        """Read a mapping with upper-case keys; refuse an unknown one."""
        values = {key: value for key, value in (config or {}).items() if key not in FLASK_KEYS}
        known = {"CLOCK": "clock", **{setting.key: name for name, setting in SETTINGS.items()}}
        for key in values:
            if key not in known:
                raise unknown_key(key, known)
        return cls(**{known[key]: value for key, value in values.items()})

    def changed(self, **values: Any) -> Self:
        """Return the same settings but for these values, checked again."""
        return type(self)(**{**dict(self), **values})


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine by its name or address, without asking a name server."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


SETTINGS: Final[Mapping[str, Setting]] = {
    name: Setting(name, field) for name, field in Settings.model_fields.items() if name != "clock"
}
"""Every setting by its name, in the order of declaration."""
