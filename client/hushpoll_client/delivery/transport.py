"""One HTTP exchange with a server: a request, an answer of limited size, and its faults as errors.

A respondent's device sends the report and nothing else: no cookies (a server could link
reports by them), no credentials from ``~/.netrc``, no redirects, no library version, no proxy for
this machine's own address. Bodies are never logged.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from hushpoll_client.config import ClientConfig, Endpoint, checked_token
from hushpoll_client.delivery.sessions import Sessions, load_network
from hushpoll_client.delivery.timing import (
    SLOWEST_BYTES_PER_SECOND,
    Deadline,
    Pacing,
    RetryHint,
    left,
    passed,
    with_retries,
    within,
)
from hushpoll_protocols.errors import TransportError
from hushpoll_shared.wire.answers import (
    Acknowledgement,
    acknowledgement,
    evaluation,
    not_ours,
    offers_manifest,
    own_problem,
    withdrawn,
)
from hushpoll_shared.wire.paths import (
    redemptions_path,
    reports_path,
    survey_path,
    version_path,
    withdrawals_path,
)
from hushpoll_shared.wire.problems import exception_from
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE
from hushpoll_shared.wire.withdrawals import Withdrawn, encode_withdrawal_json

if TYPE_CHECKING:
    import requests


T = TypeVar("T")

_log = logging.getLogger("hushpoll_client")

# Requests accepts no limit of 0; a deadline that is over is noticed at once nevertheless.
_SHORTEST_WAIT_SECONDS: Final = 0.001


class Transport:
    """Sends requests to one server, each thread and each process over its own session.

    A session that is given is used instead; the caller closes it and keeps it to one thread.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        token: str | None = None,
        config: ClientConfig,
        session: requests.Session | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._config = config
        self.pacing = pacing or Pacing()
        self._token = None if token is None else checked_token(token)
        self._sessions = Sessions(session)
        # Without this, Requests would send traffic for this machine through HTTP_PROXY.
        self._proxies = {"no_proxy": endpoint.host} if endpoint.loopback else None

    def __repr__(self) -> str:
        return f"Transport({self.endpoint.base!r})"

    def with_token(self, token: str | None) -> Transport:
        """Return a transport with another token, or none, that sends over the same sessions."""
        other = copy(self)
        other._token = None if token is None else checked_token(token)
        return other

    def get(
        self, *segments: str, params: Mapping[str, str] | None = None, token: bool = True
    ) -> Answer:
        """GET a resource, with retries; ``token=False`` sends no token."""
        return self._retried("GET", segments, params=params, token=token)

    def post(
        self,
        *segments: str,
        body: bytes,
        media_type: str,
        params: Mapping[str, str] | None = None,
        etag: str | None = None,
        retry: bool = True,
    ) -> Answer:
        """POST ``body``; with ``retry`` (only for what may arrive twice) the same bytes again.

        ``etag`` is what a resource that is changed by this must have.
        """
        details = {"body": body, "media_type": media_type, "params": params, "etag": etag}
        if not retry:
            return self._once("POST", segments, RetryHint(), **details)
        return self._retried("POST", segments, **details)

    def post_report(self, survey: str, report: str, hint: RetryHint) -> Acknowledgement:
        """POST a report once; return whether its bytes were new to the server.

        An answer that is not the server's own, whatever its status, is a retryable TransportError;
        the server's own problem raises what it stands for. `hint` gets its ``Retry-After``.
        """
        return self._own(
            acknowledgement, "POST", reports_path(survey), hint, **_json_body(report.encode())
        )

    def post_withdrawal(
        self, survey: str, digest: str, secret: bytes, hint: RetryHint
    ) -> Withdrawn:
        """POST a withdrawal once, without a token; return what the server says of the report.

        SHA-256 of the 32 bytes `secret` begins with the report's id. Raises as `post_report`.
        """
        body = _json_body(json.dumps(encode_withdrawal_json(digest, secret)).encode())
        return self._own(withdrawn, "POST", withdrawals_path(survey), hint, **body, token=False)

    def post_redemption(
        self, survey: str, body: Mapping[str, str], patience: float
    ) -> tuple[bytes, bytes]:
        """POST a redemption, the same bytes again until `patience` is over.

        Returns the evaluated element and the proof, not checked yet. Only a refusal of the
        invitation by the server itself is not retryable.
        """
        path, sent = redemptions_path(survey), _json_body(json.dumps(body).encode())
        return self.attempts(
            lambda hint: self._own(evaluation, "POST", path, hint, **sent), *path, patience=patience
        )

    def get_survey(self, survey: str, version: int | None, *, patience: float) -> Answer:
        """GET a published survey, without a token, again until `patience` is over.

        No answer, and one that is not the server's own, are retryable.
        """
        path = survey_path(survey) if version is None else version_path(survey, version)

        def ask(hint: RetryHint) -> Answer:
            with _ours_or_later():
                answer = self._once("GET", path, hint, token=False)
                if not offers_manifest(answer.status, answer.media_type, answer.body):
                    raise not_ours(answer.status, answer.media_type)
                return answer

        return self.attempts(ask, *path, method="GET", patience=patience)

    def _own(
        self,
        read: Callable[[int, str | None, bytes], T | None],
        method: str,
        path: tuple[str, ...],
        hint: RetryHint,
        **details: Any,
    ) -> T:
        """Send once; return what `read` makes of an answer that is the server's own."""
        with _ours_or_later():
            answer = self._once(method, path, hint, **details)
            said = read(answer.status, answer.media_type, answer.body)
            if said is None:
                raise not_ours(answer.status, answer.media_type)
            return said

    def put(self, *segments: str, body: bytes, media_type: str, etag: str | None = None) -> Answer:
        """PUT ``body`` in place of a resource, with retries; but once where it must have an ETag.

        A change whose answer was lost has given it another one.
        """
        details = {"body": body, "media_type": media_type, "etag": etag}
        if etag is not None:
            return self._once("PUT", segments, RetryHint(), **details)
        return self._retried("PUT", segments, **details)

    def delete(self, *segments: str) -> Answer:
        """DELETE a resource, with retries: deleting it again changes nothing."""
        return self._retried("DELETE", segments)

    def download(
        self,
        *segments: str,
        write: Callable[[bytes], object],
        params: Mapping[str, str] | None = None,
    ) -> int:
        """GET a file of any size piece by piece; return its size in bytes. Not retried.

        The server names each file as an attachment; what has no name, such as the page of a
        network's login, is not taken for the file.
        """
        with (
            self._limited() as deadline,
            closing(self._exchange("GET", segments, params=params)) as response,
        ):
            self._raise_for_status(response, RetryHint())
            if "attachment" not in response.headers.get("Content-Disposition", ""):
                raise not_ours(response.status_code, response.headers.get("Content-Type"))
            total = 0
            for piece in self._pieces(response):
                write(piece)
                total += len(piece)
                deadline.extend(len(piece))
            return total

    def close(self) -> None:
        """Close this thread's own session; a later request opens a new one."""
        self._sessions.close()

    def attempts(
        self,
        call: Callable[[RetryHint], T],
        *segments: str,
        method: str = "POST",
        patience: float | None = None,
    ) -> T:
        """Call with this transport's retries; `segments` name the resource. See `with_retries`.

        With `patience`, all of it ends after so many seconds, also an exchange under way.
        """
        what = f"{method} {self.endpoint.url(*segments)}"
        config = self._config
        if patience is None:
            return with_retries(call, config=config, pacing=self.pacing, request=what)
        with within(patience, f"the {patience:.4g} s of this call"):
            return with_retries(
                call, config=config, pacing=self.pacing, request=what, patience=patience
            )

    def _retried(self, method: str, segments: tuple[str, ...], **details: Any) -> Answer:
        return self.attempts(
            lambda hint: self._once(method, segments, hint, **details), *segments, method=method
        )

    def _once(
        self, method: str, segments: tuple[str, ...], hint: RetryHint, **details: Any
    ) -> Answer:
        with (
            self._limited(len(details.get("body") or b"")),
            closing(self._exchange(method, segments, **details)) as response,
        ):
            _log.debug("%s %s: %d", method, self.endpoint.url(*segments), response.status_code)
            self._raise_for_status(response, hint)
            return Answer(response.status_code, response.headers, self._bounded(response))

    def _limited(self, size: int = 0) -> AbstractContextManager[Deadline]:
        """Bound one exchange with a body of `size` bytes."""
        seconds = self._config.exchange_timeout + size / SLOWEST_BYTES_PER_SECOND
        return within(seconds, f"the {seconds:.4g} s of ClientConfig.exchange_timeout")

    def _exchange(
        self,
        method: str,
        segments: tuple[str, ...],
        *,
        body: bytes | None = None,
        media_type: str | None = None,
        params: Mapping[str, str] | None = None,
        etag: str | None = None,
        token: bool = True,
    ) -> requests.Response:
        load_network()

        headers = {"User-Agent": "hushpoll", "Accept-Encoding": "identity"}
        if media_type is not None:
            headers["Content-Type"] = media_type
        if etag is not None:
            headers["If-Match"] = etag
        try:
            return self._sessions.current().request(
                method,
                self.endpoint.url(*segments),
                data=body,
                params=params,
                headers=headers,
                # Without `auth`, Requests would look into ~/.netrc.
                auth=self._authorize if token else lambda request: request,
                timeout=(
                    max(_SHORTEST_WAIT_SECONDS, min(self._config.connect_timeout, left())),
                    self._config.read_timeout,
                ),
                allow_redirects=False,
                stream=True,
                proxies=self._proxies,
            )
        except _faults() as error:
            self._raise_for_fault(error)

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _bounded(self, response: requests.Response) -> bytes:
        body = bytearray()
        for piece in self._pieces(response):
            body += piece
            if len(body) > self._config.max_response_bytes:
                raise TransportError(
                    f"the server's answer is longer than {self._config.max_response_bytes} bytes; "
                    "if the server is to be trusted, raise ClientConfig.max_response_bytes",
                    retryable=False,
                    status=response.status_code,
                )
        return bytes(body)

    def _pieces(self, response: requests.Response) -> Iterator[bytes]:
        coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            # We ask for none. A few bytes of one, in several layers, can fill any memory.
            raise TransportError(
                f"{self.endpoint.base} encoded its answer, which was not asked for; switch that "
                "off in what stands between",
                retryable=False,
                status=response.status_code,
            )
        try:
            yield from response.iter_content(65_536)
        except _faults() as error:
            self._raise_for_fault(error)

    def _raise_for_fault(self, error: Exception) -> NoReturn:
        import requests

        base = self.endpoint.base
        if limit := passed():
            raise TransportError(
                f"{base} did not answer in full within {limit}", retryable=True
            ) from error
        if isinstance(error, requests.exceptions.SSLError):
            raise TransportError(
                f"{base} offers no TLS connection that can be trusted; nothing was sent",
                retryable=False,
            ) from error
        if isinstance(error, requests.Timeout):
            message = f"{base} did not answer in time"
        elif isinstance(error, requests.ConnectionError):
            message = f"{base} cannot be reached, or broke the connection off"
        elif isinstance(error, requests.exceptions.ChunkedEncodingError):
            message = f"{base} broke its answer off"
        else:
            raise TransportError(
                f"{base} gave no valid answer ({type(error).__name__})", retryable=False
            ) from error
        raise TransportError(message, retryable=True) from error

    def _raise_for_status(self, response: requests.Response, hint: RetryHint) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        if status < 200:
            # The connection is closed unread: the real answer would be taken for the next one's.
            raise not_ours(status, None)
        media_type = response.headers.get("Content-Type")
        problem = own_problem(status, media_type, self._bounded(response))
        error = exception_from(problem, status) if problem else not_ours(status, media_type)
        if not isinstance(error, TransportError) or error.retryable:
            hint.seconds = self.pacing.retry_after(response.headers.get("Retry-After"))
        raise error


def _json_body(body: bytes) -> dict[str, Any]:
    return {"body": body, "media_type": JSON_MEDIA_TYPE}


@contextmanager
def _ours_or_later() -> Iterator[None]:
    """Let only the server's own problems end what a device asks: all else is asked again later."""
    try:
        yield
    except TransportError as error:
        if error.problem is not None or error.retryable:
            raise
        raise TransportError(str(error), retryable=True, status=error.status) from error


def _faults() -> tuple[type[Exception], ...]:
    """Return what Requests raises, or lets pass, where an exchange fails or is no HTTP."""
    import requests
    import urllib3

    # A ValueError is what an address or a header raises that cannot be read.
    return (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refused)


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: status in [200, 299], headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str | None:
        """The body's media type, as the header says."""
        return self.headers.get("Content-Type")

    def json(self) -> Any:
        """Return the body as JSON; another one is a TransportError, not retryable."""
        try:
            # The decoder refuses NaN and Infinity; deep nesting ends in a RecursionError.
            return _DECODER.decode(self.body.decode())
        except (ValueError, RecursionError):
            raise TransportError(
                "the server's answer is not JSON; check that the address is a hushpoll server's",
                retryable=False,
                status=self.status,
            ) from None
