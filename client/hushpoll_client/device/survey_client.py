"""`SurveyClient`: fetches and pins a survey, previews, randomises once, and sends those bytes.

With ``storage`` a device's file keeps all of it; `device.answering` has a host app's methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from hushpoll_client.config import (
    ClientConfig,
    Endpoint,
    HostedLink,
    checked_token,
    switched_off_by,
)
from hushpoll_client.device.answering import Answering
from hushpoll_client.device.consent import Limits, check_pin
from hushpoll_client.device.exchanges import Exchanging
from hushpoll_client.device.memory import Memory, SwitchedOff
from hushpoll_client.device.outcomes import warn
from hushpoll_client.device.randomization import Answers, Report, discreet, draw
from hushpoll_protocols.errors import BudgetExhausted, InvalidParameter, refusal_of
from hushpoll_shared.spelling.text import check_name
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED, LARGEST_VERSION, check_integer
from hushpoll_shared.wire.reports import check_digest

if TYPE_CHECKING:
    from pathlib import Path

    import requests

    from hushpoll_client.delivery.timing import Pacing
    from hushpoll_client.device.device import Device
    from hushpoll_client.device.outcomes import BeforeSend, OnLoss
    from hushpoll_client.device.preview import Preview
    from hushpoll_shared.wire.answers import SurveyState

_DEFAULT_CONFIG = ClientConfig()


class SurveyClient(Answering, Exchanging):
    """A respondent's side of a survey.

    One object stands for one respondent and randomises once. It is used by one thread at a time;
    with ``storage``, `answer` and `flush` may be called by several.

    Parameters
    ----------
    url : str
        Address of the server; https, or http for this machine alone.
    survey : str
        Name of the survey.
    digest : str or None
        Pinned digest, 64 hexadecimal digits, given out of band. Without it the first manifest
        fetched becomes the pin, which does not protect against a server that lies at once.
    published : Published or None
        The pinned survey itself, shipped with the app: nothing is then fetched before `send`, and a
        refusal can show what changed.
    version : int or None
        Version to fetch, in [1, 2^31 - 1]; None fetches the newest.
    token : str or None
        The respondent's single-use token, for surveys that want one. Sent with the report only.
    invitation : str or None
        The respondent's invitation, for surveys that take one. Sent by `redeem` only.
    required_sensitive : iterable of str
        Attributes that must never leave in clear.
    max_epsilon : str, int, float, Decimal or None
        Largest total epsilon accepted, in [1e-6, 64]; with ``storage``, over all versions of the
        survey together.
    max_epsilon_total : str, int, float, Decimal or None
        Largest epsilon of all surveys together, in (0, 1000000]; needs ``storage``.
    required_batch : int or None
        Fewest reports that the survey may release at once (its ``minimum_batch``), in [1, 10^9].
    storage : str, Path or None
        File in which this device keeps its one respondent's consents, pins, ledger and outbox, made
        with mode 0600 when consent is given. Any number of clients, threads and processes may share
        it. Then nothing of the respondent is read or kept before `give_consent` (the survey may be
        fetched and shown), and a version is randomised once for ever. Without it
        the client keeps nothing, and the host app asks for consent itself.
    on_loss : callable or None
        Called with the reason of every lost answer, from any thread; needs ``storage``.
    before_send : callable or None
        Asked with an `Outgoing` before each attempt to send, from any thread; needs ``storage``.
        False deletes the report and counts a loss (its epsilon stays spent); an exception keeps it.
    config : ClientConfig
        How long to wait for the server, and retries.
    session : requests.Session or None
        Session to send with; the caller closes it. By default the client makes one that accepts no
        cookies. The background thread always makes its own.
    pacing : Pacing or None
        Clock, sleep and randomness of the retries, for tests.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    """

    def __init__(
        self,
        url: str,
        survey: str,
        *,
        digest: str | None = None,
        published: Published | None = None,
        version: int | None = None,
        token: str | None = None,
        invitation: str | None = None,
        required_sensitive: Iterable[str] = frozenset(),
        max_epsilon: Any = None,
        max_epsilon_total: Any = None,
        required_batch: int | None = None,
        storage: str | Path | None = None,
        on_loss: OnLoss | None = None,
        before_send: BeforeSend | None = None,
        config: ClientConfig = _DEFAULT_CONFIG,
        session: requests.Session | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self.survey = check_name(survey, field="survey")
        for field, value, kind, wanted in (
            ("published", published, Published | None, "what Published.from_json returns"),
            ("config", config, ClientConfig, "a ClientConfig"),
        ):
            if not isinstance(value, kind):
                fault = f"{field} is of type {type(value).__name__}"
                raise InvalidParameter(f"{fault}; give {wanted}, or leave it out", field=field)
        self._digest = None if digest is None else check_digest(digest)
        if version is not None:
            check_integer(version, field="version", largest=LARGEST_VERSION)
        self._version = version
        self._limits = Limits.of(max_epsilon, required_sensitive, max_epsilon_total, required_batch)
        self._has_token = token is not None
        self._invitation = (
            None if invitation is None else checked_token(invitation, field="invitation")
        )
        self._config = config
        # The network side is loaded with the first client: offline use does without it.
        from hushpoll_client.delivery.transport import Transport

        self._transport = Transport(
            Endpoint.parse(url), token=token, config=config, session=session, pacing=pacing
        )
        self._published: Published | None = None
        self._stated: SurveyState | None = None
        self._report: Report | None = None
        self._device: Device | None = None
        self._keeping: Device | Memory
        self._switch = switched_off_by(config)
        if storage is not None:
            from hushpoll_client.delivery.timing import Pacing
            from hushpoll_client.device.device import Device

            self._keeping = self._device = Device(
                storage,
                server=self._transport.endpoint.base,
                survey=self.survey,
                version=self._version,
                token=token,
                limits=self._limits,
                config=config,
                pacing=pacing or Pacing(),
                on_loss=on_loss,
                before_send=before_send,
            )
        elif (max_epsilon_total, on_loss, before_send) != (None, None, None):
            names = "max_epsilon_total, on_loss and before_send"
            raise InvalidParameter(f"{names} need storage=, a path for a file", field="storage")
        else:
            self._keeping = Memory(self.survey)
        if self._switch is not None:
            self._keeping = SwitchedOff(survey, self._switch)
            warn("hushpoll is switched off by %s: nothing is stored or sent", self._switch)
        elif self._device is not None:
            self._contained("opening the device's file", self._device.open, otherwise=None)
        self._shipped = published is not None
        if published is not None:
            self._accept(published)

    @classmethod
    def from_link(cls, link: str, **options: Any) -> Self:
        """Open a hosted link, ``https://HOST/s/NAME#sha256=DIGEST&token=TOKEN``.

        Parameters
        ----------
        link : str
            The link; its digest becomes the pin, its token or invitation the respondent's unless
            one is given.
        **options
            As for the class.

        Raises
        ------
        InvalidParameter
            If it is no such link, or ``digest=`` contradicts it.
        """
        parsed = HostedLink.parse(link)
        digest = options.pop("digest", None)
        if digest is not None and parsed.digest is not None and digest != parsed.digest:
            raise refusal_of("digest")(
                f"{digest!r} is not the link's {parsed.digest!r}; give one of the two"
            )
        if options.get("token") is None:
            options["token"] = parsed.token
        if options.get("invitation") is None:
            options["invitation"] = parsed.invitation
        return cls(parsed.url, parsed.survey, digest=digest or parsed.digest, **options)

    def __repr__(self) -> str:
        return f"SurveyClient({self._transport.endpoint.base!r}, {self.survey!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client's own connections.

        With ``storage``, reports that can be sent at once are sent before, for at most
        `ClientConfig.exit_patience` seconds; a later call of the client opens the file again.
        """
        self._transport.close()
        if self._device is not None:
            self._contained("closing the device's file", self._device.close, otherwise=None)
            self._raise_fault(self._device)

    def for_next_respondent(
        self, token: str | None = None, *, invitation: str | None = None
    ) -> Self:
        """Return a client for another respondent, who answers on the same device.

        It shares the survey that this client has checked, its limits and its connections (`close`
        closes those of both), and nothing of the answers; `token` and `invitation` are the other
        respondent's.

        Raises
        ------
        InvalidParameter
            If this client has ``storage``, or the token is not printable.
        """
        if self._device is not None:
            fault = "storage is the file of one respondent; make a SurveyClient with another file"
            raise InvalidParameter(fault, field="storage")
        other = copy(self)
        other._transport = self._transport.with_token(token)
        other._has_token = token is not None
        other._invitation = (
            None if invitation is None else checked_token(invitation, field="invitation")
        )
        other._keeping = Memory(self.survey) if self.enabled else self._keeping
        other._report = None
        return other

    @property
    def server(self) -> str:
        """Address of the server."""
        return self._transport.endpoint.base

    @property
    def published(self) -> Published:
        """The pinned survey; fetched and checked when first asked for, if it is not kept."""
        return self._at_hand() or self.fetch()

    @property
    def state(self) -> SurveyState:
        """Whether the survey takes answers: ``scheduled``, ``open``, ``closing`` or ``closed``.

        As the server said when this client last fetched it; otherwise (the survey is this device's
        own copy, or the version was named) by the dates in it and this device's clock. Of a survey
        that is ``closing`` only reports that were made before are still taken.
        """
        published = self.published
        if self._stated is not None:
            return self._stated
        now, opens, closes = self._transport.pacing.now(), published.opens_at, published.closes_at
        if opens is not None and now < opens:
            return "scheduled"
        return "closed" if closes is not None and now >= closes else "open"

    @property
    def report(self) -> Report | None:
        """The report that `randomize` made, or None before that."""
        return self._report

    @discreet
    def preview(self, answers: Answers | None = None, *, language: str | None = None) -> Preview:
        """Say what would leave the device; nothing is randomised or sent.

        Parameters
        ----------
        answers : mapping, optional
            With them, the clear lines show what would be sent.
        language : str, optional
            Tag of the language in which the survey's own words are shown; the survey's own language
            by default. Answers are given in the survey's own words in any case.

        Raises
        ------
        InvalidParameter
            If the answers do not fit the survey, or it has no words in this language.
        ConsentMissing
            With ``storage``, if there are answers and no consent.
        """
        from hushpoll_client.device.preview import build_preview

        if answers is not None:
            self._keeping.check_consent()
        return build_preview(self.published, answers, language)

    @discreet
    def randomize(self, answers: Answers) -> Report:
        """Randomise the answers, once, and keep the report.

        With ``storage``, a version that this device has answered is not randomised again, whatever
        the answers: the stored report is returned, to be sent again.

        Raises
        ------
        InvalidParameter
            If the answers do not fit the survey, or the survey wants a token or an invitation and
            none was given.
        BudgetExhausted
            If this client has randomised before: a second draw would spend the epsilon again. With
            ``storage``, if the limits leave too little, the answer was withdrawn, or the server has
            taken the report of this version, which is not kept then.
        ConsentMissing, StorageError, OutboxFull
            With ``storage``: there is no consent, the file cannot be used, or too much waits.
        """
        return self._randomize(answers)[0]

    def _at_hand(self) -> Published | None:
        if self._published is None:
            kept = self._keeping.pinned()
            # A digest given out of band stands above what was first used.
            if kept is not None and self._digest in (None, kept.digest):
                self._accept(kept)
        return self._published

    def _randomize(self, answers: Answers, wait: float | None = None) -> tuple[Report, bool]:
        self._keeping.check_consent()
        published = self._at_hand() or self.fetch(wait=wait)
        if published.submission == INVITED:
            self._redeem(published, self._seconds(wait))
        report, new = self._keep(published, answers)
        if report is None:
            raise BudgetExhausted(
                f"this device has answered survey {self.survey!r} version {published.version}, and "
                "the server has taken the report; these answers were neither randomised nor sent. "
                "Another person needs a file of their own (storage=)"
            )
        return report, new

    def _keep(self, published: Published, answers: Answers) -> tuple[Report | None, bool]:
        if published.submission == "token" and not self._has_token:
            raise InvalidParameter(
                f"survey {self.survey!r} takes one single-use token per respondent; pass token=",
                field="token",
            )
        if published.submission == INVITED:
            self._check_redeemed(published)
        codes = published.layout.code_answers(answers)
        kept = self._keeping.keep(published, lambda: draw(published, codes))
        # This process may still have what the device has deleted.
        self._report = kept[0] or self._report
        return kept

    def _check_redeemed(self, published: Published) -> None:
        """Refuse answers for which there is no token, unless this version was answered before."""
        if self._keeping.token(published) is not None or self._keeping.answered_before(published):
            return
        remedy = (
            "pass invitation=, or open the link that the respondent was given"
            if self._invitation is None
            else "call redeem() first, while the server can be reached"
        )
        raise InvalidParameter(
            f"survey {self.survey!r} takes an invitation, which is redeemed for a token, and there "
            f"is no token yet; {remedy}",
            field="invitation",
        )

    def _forget(self) -> None:
        self._report = None
        self._published = self._published if self._shipped else None

    def _accept(self, offered: Published) -> Published:
        check_pin(offered, survey=self.survey, digest=self._digest, known=self._published)
        self._limits.check(offered)
        self._digest, self._published = offered.digest, offered
        return offered
