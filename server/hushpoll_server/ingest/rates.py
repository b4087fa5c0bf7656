"""Limits of requests a minute, for each address and each bearer token.

The address stays in memory: requests are counted by its hash, keyed with random bytes that only
this process holds. An address of this machine itself is not limited. Behind a proxy the server sees
the proxy's address, unless ``trusted_proxies`` declares the proxies.

Requests are counted in fixed windows of a minute: in this process, or with ``rate_limit_url`` in a
Redis that several processes share. There the key of the hash is the same for all of them.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable
from hashlib import blake2b
from ipaddress import IPv6Address
from typing import Any, Final, Protocol, cast

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_server.device_routes import Kind
from hushpoll_server.errors import Refused
from hushpoll_server.ingest.requests import Request, client_address
from hushpoll_server.logs import get_logger
from hushpoll_server.services.surveys.access import bearer_token

log = get_logger(__name__)


WINDOW_SECONDS: Final = 60
IPV6_NETWORK_BITS: Final = 64
REDIS_SECONDS: Final = 1.0
# For so long requests are counted in this process after the Redis did not answer.
FALLBACK_SECONDS: Final = 5.0


class Counters(Protocol):
    """Counts requests by key."""

    async def hit(self, key: str, most: int) -> float | None:
        """Count a request; past the limit, return the seconds until the next window."""


class MemoryCounters:
    """Counts in this process.

    The asynchronous in-memory storage of ``limits`` looks at every address that it knows with each
    request: 24 microseconds with one, 450 with 2,000. Here a window is one table, thrown away as a
    whole.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._window = -1
        self._counts: dict[str, int] = {}

    async def hit(self, key: str, most: int) -> float | None:
        """Count a request; past the limit, return the seconds until the next window."""
        now = self._now()
        window = int(now) // WINDOW_SECONDS
        if window != self._window:
            self._window, self._counts = window, {}
        count = self._counts.get(key, 0) + 1
        self._counts[key] = count
        return None if count <= most else (window + 1) * WINDOW_SECONDS - now


class RedisCounters:
    """Counts in a Redis, by the library ``limits``; in this process while that is away.

    The library is loaded here: most servers count without it.
    """

    def __init__(self, url: str) -> None:
        from limits import RateLimitItemPerMinute
        from limits.aio.storage import RedisStorage
        from limits.aio.strategies import FixedWindowRateLimiter

        self._limit_of = RateLimitItemPerMinute
        # redis-py's client, which the extra brings.
        self._storage = RedisStorage(
            f"async+{url}",
            implementation="redispy",
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )
        self._limiter = FixedWindowRateLimiter(self._storage)
        self._fallback = MemoryCounters(time.time)
        self._again_at = 0.0

    async def hit(self, key: str, most: int) -> float | None:
        """Count a request; past the limit, return the seconds until the next window."""
        if time.monotonic() >= self._again_at:
            limit = self._limit_of(most)
            try:
                if await self._limiter.hit(limit, "hushpoll", key):
                    return None
                window = await self._limiter.get_window_stats(limit, "hushpoll", key)
                return window.reset_time - time.time()
            except Exception as error:  # a limit that cannot be kept must not keep reports out
                log.warning("rate-limits-in-memory", error=type(error.__cause__ or error).__name__)
                self._again_at = time.monotonic() + FALLBACK_SECONDS
        return await self._fallback.hit(key, most)

    async def close(self) -> None:
        """Close the connections."""
        client = cast("Any", self._storage.bridge).storage
        await client.aclose()


class Rates:
    """Refuses clients that send too many requests."""

    def __init__(self, settings: Settings) -> None:
        self._most: dict[Kind, int] = {
            "submit": settings.rate_limit_submit,
            "read": settings.rate_limit_read,
        }
        self._proxies = settings.trusted_proxies
        url = settings.rate_limit_url
        self._salt = secrets.token_bytes(32)
        self._counters: Counters = MemoryCounters(lambda: settings.clock.now().timestamp())
        if url is not None:
            check_url(url)
            # Several processes count one address under one key, which no one derives without the
            # Redis's own address and password.
            self._salt = hashlib.sha256(url.encode()).digest()
            self._counters = RedisCounters(url)
        self._warned = False

    async def count(self, request: Request, kind: Kind) -> None:
        """Count a request, or refuse it: ``rate-limited``."""
        most = self._most[kind]
        if not most:
            return
        address = self.address_key(request)
        if address is not None:
            await self._hit(address, kind, most, "address")
        authorization = request.head.get(b"authorization")
        if authorization is not None:
            # The key covers the secret as well, since the token is not checked yet: a client that
            # knows a token's public id alone cannot use up its requests. Respondents' tokens are
            # good for one report anyway, and are not counted.
            token = bearer_token(authorization.decode("latin-1"))
            if token is not None:
                key = blake2b(token.encode(), digest_size=16).hexdigest()
                await self._hit(key, kind, most, "token")

    def address_key(self, request: Request) -> str | None:
        """Return the key of a request's address; None for this machine's own."""
        text, address = client_address(request, self._proxies)
        if address is None:
            network = text.encode("latin-1", "replace")
        elif address.is_loopback:
            self._warn_of_proxy(request)
            return None
        elif isinstance(address, IPv6Address):
            # One subscriber holds a whole network of them.
            network = address.packed[: IPV6_NETWORK_BITS // 8]
        else:
            network = address.packed
        return blake2b(network, digest_size=16, key=self._salt).hexdigest()

    async def _hit(self, key: str, kind: Kind, most: int, whose: str) -> None:
        left = await self._counters.hit(f"{kind}-{whose}-{key}", most)
        if left is not None:
            seconds = max(1, math.ceil(left))
            raise Refused(
                "rate-limited",
                f"this {whose} has made {most} requests of this kind within a minute; "
                f"send the same again after {seconds} s",
                retry_after=seconds,
            )

    def _warn_of_proxy(self, request: Request) -> None:
        if b"x-forwarded-for" in request.head and not (self._warned or self._proxies):
            self._warned = True
            log.warning(
                "undeclared-proxy",
                remedy="requests come from a proxy on this machine, so their addresses are not "
                "limited; set trusted_proxies to the number of proxies",
            )


def check_url(url: str) -> None:
    """Refuse a URL that is no address of a Redis server that can be used.

    The value is left out of the message: it may hold a password.
    """
    from limits.errors import ConfigurationError
    from limits.storage import storage_from_string

    try:
        if not url.startswith(("redis://", "rediss://")):
            raise ConfigurationError("another scheme")
        storage_from_string(url)
    except (ConfigurationError, ValueError) as error:
        raise InvalidParameter(
            "RATE_LIMIT_URL is no address of a Redis server that can be used; write "
            "redis://host:6379/0, and install the extra 'redis'; or leave it out, and each process "
            "counts for itself",
            field="RATE_LIMIT_URL",
        ) from error
