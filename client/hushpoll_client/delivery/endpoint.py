"""Where a survey lives: the server's address, checked before anything is sent to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import check_name
from hushpoll_shared.wire.reports import check_digest

API_PREFIX: Final = "/api/v1"


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
    """Address of a server.

    Attributes
    ----------
    base : str
        Scheme, host, port and path prefix, with no slash at the end.
    loopback : bool
        Whether the address is this machine, so that nothing crosses a network.
    host : str
        Host name or address, without port.
    """

    base: str
    loopback: bool
    host: str

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Check ``url`` and take it apart.

        Raises
        ------
        InvalidParameter
            If it is not an absolute https URL (http is accepted for loopback alone), or carries a
            user name, a query or a fragment.
        """
        if not isinstance(url, str):
            raise InvalidParameter(
                f"url must be a string such as 'https://polls.example.org', "
                f"not of type {type(url).__name__}",
                field="url",
            )
        try:
            parts = urlsplit(url)
            host, _port = parts.hostname, parts.port
        except ValueError as error:
            raise InvalidParameter(f"url {url!r} cannot be read: {error}", field="url") from None
        if "@" in parts.netloc:
            # The value is left out: it holds a password.
            raise InvalidParameter(
                "url carries a user name or password; give the address alone and pass token=",
                field="url",
            )
        if parts.scheme not in ("http", "https") or not host:
            raise InvalidParameter(
                f"url {url!r} is not an address of a server; give one such as "
                "'https://polls.example.org'",
                field="url",
            )
        if parts.query or parts.fragment:
            raise InvalidParameter(
                f"url {url!r} carries a query or a fragment; give the server's address alone, "
                "or open a hosted link with SurveyClient.from_link",
                field="url",
            )
        loopback = is_loopback(host)
        if parts.scheme == "http" and not loopback:
            raise InvalidParameter(
                f"url {url!r} would send reports unencrypted; use https "
                "(http is accepted only for localhost, 127.0.0.0/8 and [::1])",
                field="url",
            )
        return cls(f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), loopback, host)

    def url(self, *segments: str) -> str:
        """Address of an API resource; each segment is percent-encoded."""
        return "/".join([self.base + API_PREFIX, *(quote(part, safe="") for part in segments)])


@dataclass(frozen=True, slots=True)
class HostedLink:
    """What a link to a hosted survey says: server, survey, and pinned digest and token if it has.

    The repr does not show the token: it is worth one report.
    """

    url: str
    survey: str
    digest: str | None
    token: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, link: str) -> HostedLink:
        """Read ``https://HOST/s/NAME`` with an optional ``#sha256=DIGEST&token=TOKEN``.

        Raises
        ------
        InvalidParameter
            If the link has another form. Its address is checked by `Endpoint.parse`.
        """
        form = "a hosted link has the form https://HOST/s/NAME#sha256=DIGEST"
        if not isinstance(link, str):
            raise InvalidParameter(
                f"link must be a string, not of type {type(link).__name__}; {form}", field="link"
            )
        try:
            parts = urlsplit(link)
        except ValueError as error:
            raise InvalidParameter(f"link cannot be read: {error}; {form}", field="link") from None
        prefix, marker, name = parts.path.rpartition("/s/")
        if not marker or not name:
            raise InvalidParameter(f"link has no /s/NAME in its path; {form}", field="link")
        digest = token = None
        for item in parts.fragment.split("&"):
            key, _, value = item.partition("=")
            if key == "sha256":
                digest = check_digest(value)
            elif key == "token" and value:
                token = unquote(value)
        base = f"{parts.scheme}://{parts.netloc}{prefix}"
        survey = check_name(unquote(name), field="survey")
        return cls(Endpoint.parse(base).base, survey, digest, token)
