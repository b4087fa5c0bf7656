"""The methods of a `SurveyClient` that ask its server, and how long they wait for it.

How long a person waits is the app's choice (``wait=``). With ``storage`` an answer is kept first,
and what the wait does not reach is sent in the background, so that no answer depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hushpoll_client.config import LONGEST_WAIT_SECONDS
from hushpoll_client.device.outcomes import Receipt, ReportNotSent
from hushpoll_client.device.randomization import Answers, Report, discreet
from hushpoll_protocols.errors import HushpollError, InvalidParameter, refusal_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire.answers import STATE_HEADER, SURVEY_STATES, SurveyState
from hushpoll_shared.wire.paths import withdrawals_path
from hushpoll_shared.wire.withdrawals import Withdrawn

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.delivery.transport import Transport
    from hushpoll_client.device.device import Device
    from hushpoll_client.device.memory import Memory


class Exchanging:
    """What a client asks of its server; the rest of it is `SurveyClient`."""

    survey: str
    _config: ClientConfig
    _device: Device | None
    _keeping: Device | Memory
    _stated: SurveyState | None
    _transport: Transport
    _version: int | None
    _at_hand: Callable[[], Published | None]
    _accept: Callable[[Published], Published]
    _randomize: Callable[..., tuple[Report, bool]]
    _invitation: str | None
    _has_token: bool

    def fetch(self, *, wait: float | None = None) -> Published:
        """Fetch the survey again and check it against pin, arithmetic and limits.

        Before `give_consent`, so that it can be shown first, this reads and stores nothing of the
        respondent. With ``storage`` and consent the survey is kept, and `published` needs no
        network any more.

        Parameters
        ----------
        wait : float, optional
            Seconds to go on trying, in [0, 86400]; `ClientConfig.wait` by default.

        Returns
        -------
        Published

        Raises
        ------
        TransportError
            If it cannot be fetched; retryable, unless the server itself says that there is none. A
            login page or another answer that is not the server's own is retryable, too.
        ManifestRefused
            If it contradicts itself, is not the pinned one (the message shows the difference), or
            collects a required attribute in clear.
        BudgetExhausted
            If it spends more than ``max_epsilon``.
        InvalidParameter
            If `wait` is outside its interval.
        StorageError
            With ``storage``, if the pin cannot be kept.
        """
        seconds = self._seconds(wait)
        self._keeping.check_switch()
        self._at_hand()
        answer = self._transport.get_survey(self.survey, self._version, patience=seconds)
        fetched = self._accept(Published.from_json(answer.body))
        stated = answer.headers.get(STATE_HEADER)
        self._stated = next((state for state in SURVEY_STATES if state == stated), None)
        self._keeping.pin(fetched)
        return fetched

    def redeem(self, *, wait: float | None = None) -> None:
        """Exchange the invitation for a token that the server cannot link to it.

        An app calls this when the respondent begins, long before the report is sent; `randomize`
        and `submit` do it otherwise. The input of the token is drawn once: with ``storage`` it is
        on the disk before it is sent, so that an answer that was lost is asked for again. A device
        that has its token, or has answered, asks nothing.

        Parameters
        ----------
        wait : float, optional
            Seconds to go on trying, in [0, 86400]; `ClientConfig.wait` by default.

        Raises
        ------
        InvalidParameter
            If the survey takes no invitations, the client has none, or the server's proof does not
            hold for the key in the manifest: then the server tells devices by their keys.
        TransportError
            If the server cannot be reached (retryable) or refuses the invitation: it is unknown, or
            was redeemed by another device.
        ConsentMissing, StorageError
            With ``storage``: there is no consent, or the file cannot be used.
        MissingExtra
            Without the extra ``invited``.
        """
        seconds = self._seconds(wait)
        self._keeping.check_consent()
        published = self._at_hand() or self.fetch(wait=seconds)
        if published.submission != INVITED:
            raise InvalidParameter(
                f"survey {self.survey!r} has submission {published.submission!r} and takes no "
                "invitations; leave invitation= out",
                field="invitation",
            )
        self._redeem(published, seconds)

    def _redeem(self, published: Published, seconds: float) -> None:
        token = self._keeping.token(published)
        if token is None:
            redemption = self._keeping.redemption(published) if self._invitation else None
            if redemption is None:
                # Without an invitation, `_keep` finds out whether one is needed.
                return
            transport = self._transport.with_token(self._invitation)
            token = redemption.redeem(published, transport, seconds)
            self._keeping.redeemed(published, token)
        self._transport = self._transport.with_token(token)
        self._has_token = True

    @discreet
    def send(self, report: Report, *, wait: float | None = None) -> Receipt:
        """Send a report, the same bytes again until the server has acknowledged or refused it.

        That of a survey that takes invitations is first held back for a random time, at most
        `ClientConfig.parting`; the wait begins after it.

        Parameters
        ----------
        report : Report
            What `randomize` returned.
        wait : float, optional
            Seconds to go on trying, in [0, 86400]; `ClientConfig.wait` by default.

        Raises
        ------
        ReportNotSent
            A `TransportError` that carries the report. It is retryable unless the server itself
            has refused the report.
        InvalidParameter
            If it is no report, or `wait` is outside its interval.
        """
        if not isinstance(report, Report):
            raise refusal_of("report")(
                f"must be what randomize returned, not of type {type(report).__name__}"
            )
        seconds = self._seconds(wait)
        published = self._at_hand()
        if published is not None and published.submission == INVITED:
            pacing = self._transport.pacing
            delay = self._keeping.parting(report, self._config.parting, pacing)
            if delay:
                pacing.sleep(delay)
        try:
            status = self._keeping.send(report, self._transport, seconds)
        except HushpollError as error:
            # A server's refusal, whatever it says, is not this caller's mistake.
            raise ReportNotSent(error, report) from error
        return Receipt(status, report)

    @discreet
    def submit(self, answers: Answers, *, wait: float | None = None) -> Receipt:
        """Randomise, keep and send; `randomize` and `send` say what is raised.

        The receipt's ``known`` says whether it is about an earlier answer of this device, and not
        about these answers. With ``storage``, a report that the server has not taken within `wait`
        is sent in the background: the receipt's status is then ``waiting``, and only a refusal is
        raised. Without, the report is in the `ReportNotSent` that is raised. The report of a survey
        that takes invitations is held back for a random time (`ClientConfig.parting`): with
        ``storage`` in the background, without by this call.

        Parameters
        ----------
        answers : mapping of str to str, int or None
            As for `randomize`.
        wait : float, optional
            Seconds to wait for the server in all, in [0, 86400]; `ClientConfig.wait` by default.
            With ``storage``, 0 is as `answer`: nothing is waited for, if the survey is kept.
        """
        seconds = self._seconds(wait)
        now = self._transport.pacing.monotonic
        over = now() + seconds
        report, new = self._randomize(answers, seconds)
        device = self._device
        left = max(0.0, over - now())
        published = self._at_hand()
        later = published is not None and published.submission == INVITED and self._config.parting
        if device is not None and (later or not left):
            device.answered()
            return Receipt("waiting", report, known=not new)
        try:
            return replace(self.send(report, wait=left), known=not new)
        except ReportNotSent as error:
            if device is None or not error.retryable:
                raise
            device.answered()
            return Receipt("waiting", report, known=not new)

    @discreet
    def take_back(self, report: Report, *, wait: float | None = None) -> Withdrawn:
        """Have the server delete a report that it has not sealed.

        For a client without ``storage``; with it, `withdraw` takes back all reports of the survey.
        The epsilon stays spent, and so does a token. The server takes no report under this id any
        more: one that is still on its way is not stored either.

        Parameters
        ----------
        report : Report
            What `randomize` returned.
        wait : float, optional
            Seconds to go on trying, in [0, 86400]; `ClientConfig.wait` by default.

        Returns
        -------
        {"deleted", "not-here"}
            ``not-here``: it is released, or was never received. Nothing tells which.

        Raises
        ------
        InvalidParameter
            If the report has no secret, as one that was read from JSON, or `wait` is outside its
            interval.
        TransportError
            If the server does not answer.
        """
        secret = report.secret if isinstance(report, Report) else None
        if secret is None:
            raise InvalidParameter(
                "the report has no secret, by which alone it can be taken back; give the object "
                "that randomize or submit returned",
                field="report",
            )
        seconds = self._seconds(wait)
        self._keeping.check_switch()
        transport, digest = self._transport, report.digest
        return transport.attempts(
            lambda hint: transport.post_withdrawal(self.survey, digest, secret, hint),
            *withdrawals_path(self.survey),
            patience=seconds,
        )

    def _seconds(self, wait: float | None) -> float:
        if wait is None:
            return self._config.wait
        number = isinstance(wait, int | float) and not isinstance(wait, bool)
        if not number or not 0 <= wait <= LONGEST_WAIT_SECONDS:
            raise refusal_of("wait")(
                f"is {wait!r}; give seconds in [0, {LONGEST_WAIT_SECONDS:.0f}]"
            )
        return float(wait)
