"""What stands in for the device's file: without ``storage``, or when a client is switched off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from hushpoll_client.device.outcomes import ClientDisabled
from hushpoll_client.device.redemption import Redemption
from hushpoll_protocols.errors import BudgetExhausted
from hushpoll_shared.wire.paths import reports_path

if TYPE_CHECKING:
    from hushpoll_client.delivery.timing import Pacing
    from hushpoll_client.delivery.transport import Transport
    from hushpoll_client.device.randomization import Report
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.wire.answers import Acknowledgement


class Memory:
    """Randomises once and stores nothing; the host app has to ask for consent.

    Its methods are those of `hushpoll_client.device.device.Device` that every client calls.
    """

    def __init__(self, survey: str) -> None:
        self._survey = survey
        self._drawn = False
        self._redemption: Redemption | None = None
        self._parted = False

    def check_switch(self) -> None:
        """Do nothing: the client is not switched off."""

    def check_consent(self) -> None:
        """Do nothing: the host app asks for consent itself."""

    def pinned(self) -> None:
        """Return None: no survey was stored."""

    def pin(self, published: Published) -> None:
        """Do nothing: the client has the survey."""

    def redemption(self, published: Published) -> Redemption | None:
        """Return the redemption of the client's invitation, drawn once; None once it answered."""
        del published
        if self._redemption is None and not self._drawn:
            self._redemption = Redemption.drawn()
        return self._redemption

    def redeemed(self, published: Published, token: str) -> None:
        """Keep the token that the redemption has become."""
        del published
        if self._redemption is not None:
            self._redemption = replace(self._redemption, token=token)

    def token(self, published: Published) -> str | None:
        """Return the token that the redemption has become, if it has."""
        del published
        return None if self._redemption is None else self._redemption.token

    def answered_before(self, published: Published) -> bool:
        """Whether the client has randomised an answer."""
        del published
        return self._drawn

    def parting(self, report: Report, longest: float, pacing: Pacing) -> float:
        """Seconds until the report of an invited survey may leave, drawn with the first question.

        A retry waits no second time.
        """
        del report
        seconds = 0.0 if self._parted else pacing.uniform(0, longest)
        self._parted = True
        return seconds

    def keep(self, published: Published, draw: Callable[[], Report]) -> tuple[Report, bool]:
        """Draw a report, once; a second draw raises `BudgetExhausted`."""
        if self._drawn:
            raise BudgetExhausted(
                f"this client has randomised an answer to survey {self._survey!r} before; a second "
                f"draw would spend epsilon {published.epsilon} again. Send client.report again, or "
                "call client.for_next_respondent() for another respondent"
            )
        report = draw()
        self._drawn = True
        return report, True

    def send(self, report: Report, transport: Transport, patience: float) -> Acknowledgement:
        """Send a report until it is acknowledged or refused, or `patience` ends."""
        return transport.attempts(
            lambda hint: transport.post_report(self._survey, report.to_json(), hint),
            *reports_path(self._survey),
            patience=patience,
        )


class SwitchedOff(Memory):
    """Refuses the question that stands before each call that stores or sends; `switch` says so."""

    def __init__(self, survey: str, switch: str) -> None:
        super().__init__(survey)
        self._switch = switch

    def check_switch(self) -> NoReturn:
        """Refuse, as `check_consent` does."""
        self.check_consent()

    def check_consent(self) -> NoReturn:
        """Raise `ClientDisabled`, always."""
        raise ClientDisabled(
            f"hushpoll is switched off by {self._switch}: nothing is asked, stored or sent"
        )

    def pinned(self) -> NoReturn:
        """Refuse, as `check_consent` does."""
        self.check_consent()

    def send(self, report: Report, transport: Transport, patience: float) -> NoReturn:
        """Refuse, as `check_consent` does."""
        del report, transport, patience
        self.check_consent()
