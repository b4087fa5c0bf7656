"""Where a `SurveyClient` keeps consent, pin and report: in its device's file or in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from hushpoll_client.respondent.receipt import acknowledgement
from hushpoll_protocols.errors import BudgetExhausted

if TYPE_CHECKING:
    from hushpoll_client.delivery.transport import Transport
    from hushpoll_client.respondent.report import Report
    from hushpoll_shared.survey.published import Published


class Keeping(Protocol):
    """What a client asks of whoever keeps things for it."""

    def check_consent(self) -> None:
        """Raise `ConsentMissing` unless the respondent agrees at this moment."""
        ...

    def pinned(self) -> Published | None:
        """Return the survey pinned earlier, if it is kept."""
        ...

    def pin(self, published: Published) -> None:
        """Keep the survey as the pin."""
        ...

    def keep(self, published: Published, draw: Callable[[], Report]) -> tuple[Report | None, bool]:
        """Return the one report of this survey version, and whether it was drawn now.

        It is None if the server has taken it and it is not kept.
        """
        ...

    def send(self, report: Report, transport: Transport) -> Literal["accepted", "duplicate"]:
        """Send a report until it is acknowledged, refused, or patience ends."""
        ...


class Memory:
    """Keeps one report, for as long as the object lives; consent is the host app's affair.

    Parameters
    ----------
    survey : str
        Name of the survey.
    """

    def __init__(self, survey: str) -> None:
        self._survey = survey
        self._drawn = False

    def check_consent(self) -> None:
        """Do nothing."""

    def pinned(self) -> None:
        """Know nothing of earlier."""

    def pin(self, published: Published) -> None:
        """Do nothing: the client has it."""

    def keep(self, published: Published, draw: Callable[[], Report]) -> tuple[Report, bool]:
        """Draw, once.

        Raises
        ------
        BudgetExhausted
            If it has drawn before.
        """
        if self._drawn:
            raise BudgetExhausted(
                f"this client has randomised an answer to survey {self._survey!r} before; a second "
                f"draw would spend epsilon {published.epsilon} again. Send client.report again, or "
                "make a new SurveyClient for another respondent"
            )
        report = draw()
        self._drawn = True
        return report, True

    def send(self, report: Report, transport: Transport) -> Literal["accepted", "duplicate"]:
        """Send a report until it is acknowledged or refused."""
        return transport.attempts(
            lambda hint: acknowledgement(
                transport.post(
                    *("surveys", self._survey, "reports"),
                    body=report.to_json().encode(),
                    media_type="application/json",
                    retry=False,
                    hint=hint,
                )
            ),
            what=f"POST {transport.endpoint.url('surveys', self._survey, 'reports')}",
        )
