"""Where a client finds its server and how long it waits for it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from math import isfinite
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.text import check_name
from hushpoll_shared.wire.paths import API_PREFIX
from hushpoll_shared.wire.reports import check_digest

LONGEST_WAIT_SECONDS: Final = 86_400.0

# Closed intervals; a value outside is a caller's mistake and raises at once.
_INTERVALS: Final[dict[str, tuple[float, float]]] = {
    "connect_timeout": (0.001, 600),
    "read_timeout": (0.001, 600),
    "exchange_timeout": (0.001, 3600),
    "attempts": (1, 100),
    "first_delay": (0, 3600),
    "longest_delay": (0, 3600),
    "patience": (0, 86_400),
    "wait": (0, LONGEST_WAIT_SECONDS),
    "max_response_bytes": (1024, 2**40),
    "outbox_limit": (1, 1_000_000),
    "exit_patience": (0, 600),
    "send_jitter": (0, 604_800),
    "parting": (0, 604_800),
}

SWITCH: Final = "HUSHPOLL_DISABLED"
_LEFT_ON: Final = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How long a client waits for a server, and how often it comes back.

    Parameters
    ----------
    connect_timeout : float
        Seconds to wait for a connection, in [0.001, 600].
    read_timeout : float
        Seconds to wait for each part of an answer, in [0.001, 600].
    exchange_timeout : float
        Seconds, in [0.001, 3600], that one exchange may take in all, from the first byte sent to
        the last byte received, however steadily a server sends. A request's body adds a second
        for each 10,000 bytes, and so do the pieces of an export.
    attempts : int
        Times that the same bytes are sent before giving up, in [1, 100].
    first_delay : float
        Smallest wait in seconds before the second attempt, in [0, 3600]; every later one doubles
        it.
    longest_delay : float
        Largest wait in seconds that the client chooses by itself, in [0, 3600].
    patience : float
        Seconds, in [0, 86400], after which no further attempt is begun, so that a call ends at the
        latest after `patience` and one more exchange. A ``Retry-After`` that goes beyond it ends
        the attempts at once; the error then says when to come back.
    wait : float
        Seconds, in [0, 86400], that `SurveyClient.fetch`, `submit` and `send` take at most, unless
        the call says otherwise. It is short, since a person waits: with ``storage`` an answer is
        kept before, and sent in the background after.
    max_response_bytes : int
        Largest answer that is read, in [1024, 2**40]: a device does not trust the server with its
        memory.
    outbox_limit : int
        Reports that may wait in a device's file, in [1, 1000000]; when it is full, nothing is
        randomised.
    exit_patience : float
        Seconds, in [0, 600], that closing a client, or the interpreter's exit, waits for reports to
        be sent. The others stay in the file and are sent later.
    raise_faults : bool
        Raise faults of the disk and of this package instead of counting them: for tests.
    enabled : bool
        False switches a `SurveyClient` off: nothing is asked, stored or sent. The environment
        variable ``HUSHPOLL_DISABLED`` does so as well, for every client of a process.
    send_jitter : float
        Seconds, in [0, 604800]. A report that a device keeps is first sent after a time that is
        drawn uniformly from [0, `send_jitter`], over restarts too. If the device was online, the
        moment of arrival then tells that the respondent answered in the `send_jitter` seconds
        before it, and no more. Fetching a survey, `SurveyClient.submit` and `send` do not wait.
    parting : float
        Seconds, in [0, 604800]. The report of a survey that takes invitations is first sent after a
        time that is drawn uniformly from [0, `parting`], whichever method sends it: a server that
        watches then cannot tell it from the reports of the others who redeemed an invitation in
        that time. 0 sends it at once.

    Raises
    ------
    InvalidParameter
        If a value is outside its interval, or ``longest_delay`` is under ``first_delay``.
    """

    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    exchange_timeout: float = 60.0
    attempts: int = 7
    first_delay: float = 1.0
    longest_delay: float = 30.0
    patience: float = 120.0
    wait: float = 5.0
    max_response_bytes: int = 4 * 2**20
    outbox_limit: int = 1000
    exit_patience: float = 2.0
    raise_faults: bool = False
    enabled: bool = True
    send_jitter: float = 0.0
    parting: float = 60.0

    def __post_init__(self) -> None:
        for name in ("raise_faults", "enabled"):
            if not isinstance(value := getattr(self, name), bool):
                raise refusal_of(name)(f"is {value!r}; give True or False")
        for entry in fields(self):
            if entry.name not in _INTERVALS:
                continue
            value = getattr(self, entry.name)
            low, high = _INTERVALS[entry.name]
            integral = entry.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if integral else (int, float)):
                kind = "an integer" if integral else "a number"
                raise refusal_of(entry.name)(
                    f"must be {kind} in [{low:g}, {high:g}], not {value!r} of type "
                    f"{type(value).__name__}"
                )
            if not isfinite(value) or not low <= value <= high:
                raise refusal_of(entry.name)(f"is {value!r}; give a value in [{low:g}, {high:g}]")
        if self.longest_delay < self.first_delay:
            raise refusal_of("longest_delay")(
                f"is {self.longest_delay!r}, less than first_delay {self.first_delay!r}; give a "
                f"value in [{self.first_delay!r}, 3600]"
            )


def longest(name: str) -> float:
    """Return the largest value that a field of `ClientConfig` may have."""
    return _INTERVALS[name][1]


def switched_off_by(config: ClientConfig) -> str | None:
    """Return what switches a device's client off, as its owner wrote it, or None.

    A variable with a value that is no word for "no" switches off: a switch that fails must fail
    towards sending nothing.
    """
    if not config.enabled:
        return "ClientConfig(enabled=False)"
    value = os.environ.get(SWITCH, "")
    return None if value.strip().lower() in _LEFT_ON else f"the environment variable {SWITCH}"


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine: ``localhost``, 127.0.0.0/8 or ``::1``."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a server, checked before anything is sent there."""

    base: str
    """Scheme, host, port and path prefix, with no slash at the end."""

    loopback: bool
    """Whether the address is this machine, so that nothing crosses a network."""

    host: str
    """Host name or address, without port."""

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Check ``url`` and take it apart.

        Refuses what is not an absolute https URL (http is accepted for loopback alone), or carries
        a user name, a query or a fragment.
        """
        if not isinstance(url, str):
            raise refusal_of("url")(
                "must be a string such as 'https://polls.example.org', not of type "
                f"{type(url).__name__}"
            )
        try:
            parts = urlsplit(url)
            host, _port = parts.hostname, parts.port
        except ValueError as error:
            raise refusal_of("url")(f"{url!r} cannot be read: {error}") from None
        if "@" in parts.netloc:
            # The message leaves the value out, since it holds a password.
            raise refusal_of("url")(
                "carries a user name or password; give the address alone and pass token="
            )
        if parts.scheme not in ("http", "https") or not host:
            raise refusal_of("url")(
                f"{url!r} is not an address of a server; give one such as "
                "'https://polls.example.org'"
            )
        if parts.query or parts.fragment:
            raise refusal_of("url")(
                f"{url!r} carries a query or a fragment; give the server's address alone, or open "
                "a hosted link with SurveyClient.from_link"
            )
        loopback = is_loopback(host)
        if parts.scheme == "http" and not loopback:
            raise refusal_of("url")(
                f"{url!r} would send reports unencrypted; use https (http is accepted only for "
                "localhost, 127.0.0.0/8 and [::1])"
            )
        return cls(f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), loopback, host)

    def url(self, *segments: str) -> str:
        """Address of an API resource; each segment is percent-encoded."""
        return "/".join([self.base + API_PREFIX, *(quote(part, safe="") for part in segments)])


@dataclass(frozen=True, slots=True)
class HostedLink:
    """A link to a hosted survey: server and survey, and the pinned digest if it has one.

    The repr does not show the token or the invitation that it may have, since with it any person
    could send one report.
    """

    url: str
    survey: str
    digest: str | None
    token: str | None = field(default=None, repr=False)
    invitation: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, link: str) -> HostedLink:
        """Read ``https://HOST/s/NAME`` with an optional ``#sha256=DIGEST&token=TOKEN``.

        In place of the token there may be ``invitation=CODE``; other forms are refused. The address
        is checked by `Endpoint.parse`.
        """
        form = "a hosted link has the form https://HOST/s/NAME#sha256=DIGEST"
        if not isinstance(link, str):
            raise refusal_of("link")(f"must be a string, not of type {type(link).__name__}; {form}")
        try:
            parts = urlsplit(link)
        except ValueError as error:
            raise refusal_of("link")(f"cannot be read: {error}; {form}") from None
        prefix, marker, name = parts.path.rpartition("/s/")
        if not marker or not name:
            raise refusal_of("link")(f"has no /s/NAME in its path; {form}")
        digest = token = invitation = None
        for item in parts.fragment.split("&"):
            key, _, value = item.partition("=")
            if key == "sha256":
                digest = check_digest(value)
            elif key == "token" and value:
                token = unquote(value)
            elif key == "invitation" and value:
                invitation = unquote(value)
        base = f"{parts.scheme}://{parts.netloc}{prefix}"
        survey = check_name(unquote(name), field="survey")
        return cls(Endpoint.parse(base).base, survey, digest, token, invitation)


def checked_token(token: str, *, field: str = "token") -> str:
    """Return a bearer token as it is; refuses one that is not printable ASCII without spaces.

    The error names `field`, and leaves the token out.
    """
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise refusal_of(field)(
            "must be a string of printable ASCII characters, as it was given to you"
        )
    if any(character.isspace() for character in token):
        raise refusal_of(field)("must contain no spaces; give it as printed")
    return token
