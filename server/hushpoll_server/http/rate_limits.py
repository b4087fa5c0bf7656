"""How many requests a minute one address and one bearer token may make, over all workers.

The address stays in memory: what is counted is its hash, keyed with random bytes that only this
server's processes hold. An address of this machine itself is not limited. Behind a proxy the
server sees the proxy's address, unless ``trusted_proxies`` says how many it may look behind.
"""

from __future__ import annotations

import logging
import math
import secrets
import time
from functools import partial
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from flask import Flask, Response, g, request
from flask_limiter import ApplicationLimit, Limiter, RateLimitExceeded, RequestLimit
from limits.errors import ConfigurationError
from limits.storage import storage_from_string
from werkzeug.middleware.proxy_fix import ProxyFix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import problem_answer
from hushpoll_server.logs import get_logger
from hushpoll_server.services.access import bearer_token
from hushpoll_server.settings import Settings
from hushpoll_server.shared_counters import SCHEME, SharedMemory

log = get_logger(__name__)

SUBMIT_ENDPOINT: Final = "reports.submit"
# What a supervisor asks every few seconds, from an address of its own network.
UNLIMITED_BLUEPRINTS: Final = frozenset({"health", "metrics"})
# A file out of memory. Every device of a school loads some dozens, and then keeps them.
UNLIMITED_ENDPOINTS: Final = frozenset({"page.asset"})
IPV6_NETWORK_BITS: Final = 64
REDIS_SECONDS: Final = 1.0


class RateLimits:
    """Counters of requests, made before any worker is forked.

    Parameters
    ----------
    settings : Settings
        ``rate_limit_submit``, ``rate_limit_read``, ``rate_limit_url``, ``trusted_proxies``.

    Raises
    ------
    InvalidParameter
        ``rate_limit_url`` names no storage that can be used.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._salt = secrets.token_bytes(32)
        self._warned = False
        self._uri, self._options = storage_of(settings)

    def init_app(self, app: Flask) -> None:
        """Limit every request to an app."""
        settings = self._settings
        if settings.trusted_proxies:
            app.wsgi_app = ProxyFix(  # type: ignore[method-assign]  # Flask's way to add a layer
                app.wsgi_app, x_for=settings.trusted_proxies, x_proto=0, x_host=0
            )
        if not (settings.rate_limit_submit or settings.rate_limit_read):
            return
        # It logs the key of what it refuses. The key is a hash, but nobody needs it.
        logging.getLogger("flask-limiter").setLevel(logging.WARNING)
        limiter = Limiter(
            lambda: self._address() or "",
            application_limits=[self._limit("address"), self._limit("token")],
            storage_uri=self._uri,
            storage_options=self._options,
            strategy="fixed-window",
            # A limit that cannot be kept must not keep reports out.
            in_memory_fallback_enabled=self._settings.rate_limit_url is not None,
            key_prefix="hushpoll",
        )
        limiter.request_filter(self._unlimited)
        limiter.init_app(app)
        app.register_error_handler(RateLimitExceeded, lambda error: error.get_response())

    def _limit(self, whose: str) -> ApplicationLimit:
        key = self._address if whose == "address" else self._token

        def rate() -> str:  # asked at each request; an empty one is no limit
            return "" if key() is None else f"{self._per_minute()} per minute"

        return ApplicationLimit(
            rate,
            key_function=lambda: key() or "",
            scope=lambda _endpoint: f"{_kind()}-{whose}",
            on_breach=partial(_refusal, whose),
        )

    def _per_minute(self) -> int:
        submits = _kind() == "submit"
        return self._settings.rate_limit_submit if submits else self._settings.rate_limit_read

    def _unlimited(self) -> bool:
        # Early, since the library takes longer to find that nothing applies.
        return (
            request.blueprint in UNLIMITED_BLUEPRINTS
            or request.endpoint in UNLIMITED_ENDPOINTS
            or not self._per_minute()
            or (self._address() is None and self._token() is None)
        )

    def _address(self) -> str | None:
        """Return the key of the request's address; None for this machine's own."""
        if "rate_limit_address" not in g:
            g.rate_limit_address = self._address_key(request.remote_addr or "")
        found: str | None = g.rate_limit_address
        return found

    def _address_key(self, text: str) -> str | None:
        address = _parsed(text)
        if address is not None and address.is_loopback:
            self._warn_of_proxy()
            return None
        if isinstance(address, IPv6Address):
            # One subscriber holds a whole network of them.
            network = address.packed[: IPV6_NETWORK_BITS // 8]
        else:
            network = text.encode() if address is None else address.packed
        return blake2b(network, digest_size=16, key=self._salt).hexdigest()

    def _token(self) -> str | None:
        """Return the key of the request's bearer token; None without one.

        Taken before the token is checked, so it covers the secret as well: whoever knows no more
        than a token's public id cannot use up its requests. Respondents' tokens are good for one
        report anyway, and are not looked at.
        """
        if "rate_limit_token" not in g:
            token = bearer_token(request.headers.get("Authorization"))
            g.rate_limit_token = (
                None if token is None else blake2b(token.encode(), digest_size=16).hexdigest()
            )
        found: str | None = g.rate_limit_token
        return found

    def _warn_of_proxy(self) -> None:
        if "X-Forwarded-For" in request.headers and not (
            self._warned or self._settings.trusted_proxies
        ):
            self._warned = True
            log.warning(
                "undeclared-proxy",
                remedy="requests come from a proxy on this machine, so their addresses are not "
                "limited; set trusted_proxies to the number of proxies",
            )


def storage_of(settings: Settings) -> tuple[str, dict[str, Any]]:
    """Return where requests are counted, as the library wants to be told: an address and options.

    Raises
    ------
    InvalidParameter
        ``rate_limit_url`` names no storage that can be used.
    """
    url = settings.rate_limit_url
    if url is None:
        return f"{SCHEME}://", {"shared": SharedMemory()}
    options = {"socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
    try:
        if not url.startswith(("redis://", "rediss://", "unix://")):
            raise ConfigurationError("another scheme")
        storage_from_string(url, **options)
    except (ConfigurationError, ValueError) as error:
        # The value is left out: it may hold a password.
        raise InvalidParameter(
            "RATE_LIMIT_URL is no address of a Redis server that can be used; write "
            "redis://host:6379/0, and install the extra 'redis'; or leave it out, and the "
            "limits are counted in the server's own memory",
            field="RATE_LIMIT_URL",
        ) from error
    return url, dict(options)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    host = text.strip()
    if host.startswith("["):  # some proxies add the port
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _kind() -> str:
    return "submit" if request.endpoint == SUBMIT_ENDPOINT else "read"


def _refusal(whose: str, limit: RequestLimit) -> Response:
    seconds = max(1, math.ceil(limit.window.reset_time - time.time()))
    return problem_answer(
        Refused(
            "rate-limited",
            f"this {whose} has made {limit.limit.amount} requests of this kind within a minute; "
            f"send the same again after {seconds} s",
            retry_after=seconds,
        )
    )
