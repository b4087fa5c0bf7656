"""Carrying reports to their servers: one claimed report at a time, the same bytes every time.

Only a server's own refusal ends a report: a network that is down, a certificate that cannot be
trusted, a redirect or a login page in between are all waited out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from hushpoll_client.delivery.endpoint import Endpoint
from hushpoll_client.delivery.retry import Pacing, RetryHint
from hushpoll_client.delivery.sessions import Sessions
from hushpoll_client.delivery.transport import Transport
from hushpoll_client.device.outbox import Claimed
from hushpoll_client.respondent.receipt import acknowledgement
from hushpoll_protocols.errors import HushpollError, TransportError
from hushpoll_shared.wire.problems import PROBLEMS, problem_from
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.device.outbox import Outbox

_log = logging.getLogger("hushpoll_client")


class Delivery:
    """Sends what waits in an outbox.

    Parameters
    ----------
    outbox : Outbox
        What waits.
    on_refusal : callable
        Told of each report that a server refuses for good: the report, a code, and words.
    config : ClientConfig
        Timeouts and delays.
    pacing : Pacing
        Source of time and jitter.
    """

    def __init__(
        self,
        outbox: Outbox,
        on_refusal: Callable[[Claimed, str, str], object],
        *,
        config: ClientConfig,
        pacing: Pacing,
    ) -> None:
        self._outbox = outbox
        self._on_refusal = on_refusal
        self._config = config
        self._pacing = pacing
        self._sessions = Sessions()

    def step(self) -> float | None:
        """Send one report, if one can be sent now.

        Returns
        -------
        float or None
            Seconds after which to call again, 0 for at once; None if nothing waits.

        Raises
        ------
        StorageError
            If the device's file cannot be used.
        """
        claimed = self._outbox.claim()
        if not isinstance(claimed, Claimed):
            return claimed
        hint = RetryHint()
        try:
            self.carry(claimed, hint)
        except HushpollError as error:
            if not is_final(error):
                self._postpone(claimed, error, hint)
        except BaseException:
            self._outbox.release(claimed)
            raise
        return 0.0

    def carry(
        self, claimed: Claimed, hint: RetryHint, transport: Transport | None = None
    ) -> Literal["accepted", "duplicate"]:
        """Send one claimed report once, and settle it if the server has taken or refused it.

        Parameters
        ----------
        claimed : Claimed
            The report; given back by the caller if this raises an error that is not final.
        hint : RetryHint
            Gets the server's ``Retry-After``.
        transport : Transport or None
            What to send with; an own one by default, with a connection per thread.

        Raises
        ------
        HushpollError
            What the server, or the lack of one, said; final or not: see `is_final`.
        """
        try:
            transport = transport or Transport(
                Endpoint.parse(claimed.server),
                token=claimed.token,
                config=self._config,
                session=self._sessions.current(),
                pacing=self._pacing,
            )
            answer = transport.post(
                *("surveys", claimed.survey, "reports"),
                body=claimed.report.encode(),
                media_type=JSON_MEDIA_TYPE,
                retry=False,
                hint=hint,
            )
            status = acknowledgement(answer)
        except HushpollError as error:
            if is_final(error):
                self._refused(claimed, error)
            raise
        self._outbox.settle(claimed)
        return status

    def close(self) -> None:
        """Close this thread's connection."""
        self._sessions.close()

    def _refused(self, claimed: Claimed, error: HushpollError) -> None:
        problem = error.problem if isinstance(error, TransportError) else problem_from(error)
        code = (problem or {}).get("code")
        # A server does not get to choose how many reasons are counted.
        known = isinstance(code, str) and code in PROBLEMS
        reason = str(code) if known else f"status-{getattr(error, 'status', None)}"
        self._outbox.settle(claimed, refused=reason)
        self._on_refusal(claimed, reason, f"survey {claimed.survey}: {error}")

    def _postpone(self, claimed: Claimed, error: HushpollError, hint: RetryHint) -> None:
        failures = self._outbox.failures(claimed.server)
        own = self._pacing.delay(self._config, failures)
        wait = max(own, hint.seconds or 0.0)
        self._outbox.postpone(claimed, seconds=wait, asked=hint.seconds is not None)
        _log.info("%s; trying again in %.0f s", error, wait)


def is_final(error: HushpollError) -> bool:
    """Whether the server refuses a report for good, so that sending it again changes nothing."""
    if isinstance(error, TransportError):
        refuses = error.status is not None and not 200 <= error.status < 400
        return refuses and not error.retryable
    # The problems that are exceptions of their own: all of them name what is wrong with the report.
    return True
