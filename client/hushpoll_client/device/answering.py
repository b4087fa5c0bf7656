"""The methods of a `SurveyClient` with ``storage``: consent, answer, flush, ledger.

A caller's mistake raises. A fault of the device, its disk or this package never does: the method
returns an `Outcome` or False, and the fault is counted by reason and logged at WARNING. With
``ClientConfig.raise_faults`` it is raised, so that a test sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from hushpoll_client.device.outcomes import (
    CALLERS_MISTAKES,
    ClientDisabled,
    Outcome,
    outcome_of,
    warn,
)
from hushpoll_client.device.randomization import discreet
from hushpoll_client.device.withdrawals import Withdrawal
from hushpoll_protocols.errors import HushpollError, InvalidParameter, refusal_of

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.device.device import Device
    from hushpoll_client.device.ledger import Ledger
    from hushpoll_client.device.memory import Memory
    from hushpoll_client.device.randomization import Answers, Report
    from hushpoll_shared.survey.published import Published

R = TypeVar("R")


class Answering:
    """What a client with ``storage`` can do; the rest of it is `SurveyClient`."""

    survey: str
    _config: ClientConfig
    _device: Device | None
    _keeping: Device | Memory
    _switch: str | None
    _published: Published | None
    _shipped: bool
    _at_hand: Callable[[], Published | None]
    _keep: Callable[[Published, Answers], tuple[Report | None, bool]]
    _forget: Callable[[], None]
    _seconds: Callable[[float | None], float]

    @property
    def enabled(self) -> bool:
        """Whether the client works, or is switched off and stores and sends nothing.

        A respondent is then not asked for consent either.
        """
        return self._switch is None

    @property
    def consented(self) -> bool:
        """Whether the respondent agrees; False also if the file cannot be read, or switched off.

        Raises
        ------
        InvalidParameter
            If the client has no ``storage``.
        """
        device = self._durable()
        if not self.enabled:
            return False
        return self._contained("reading the consent", device.consented, otherwise=False)

    def give_consent(self, statement: str | None = None) -> bool:
        """Store that the respondent agrees to this survey; call it only once they do.

        Parameters
        ----------
        statement : str or None
            The text that they were shown. The device keeps it, for them to read again.

        Returns
        -------
        bool
            Whether the consent is stored. If not, `answer` will say why. Nothing is stored while
            the client is switched off.

        Raises
        ------
        InvalidParameter
            If the client has no ``storage``.
        """
        device = self._durable()
        if not self.enabled:
            return False

        def give() -> bool:
            device.give_consent(statement)
            if self._published is not None and not self._shipped and device.pinned() is None:
                device.pin(self._published)
            return True

        return self._contained("keeping the consent", give, otherwise=False)

    def withdraw(self, *, wait: float | None = None) -> Withdrawal:
        """Withdraw consent: wipe all answers but for tombstones, and take the reports back.

        A tombstone is the digests of version and survey, and the epsilon spent: no version is
        answered again, and what was spent still counts, as does a token that was spent. Waiting
        reports are not sent any more. Then the server is asked to delete the reports of the survey
        that it has not sealed; what is released stays there, and nothing tells which it is.

        Parameters
        ----------
        wait : float, optional
            Seconds to wait for servers in all, in [0, 86400]; `ClientConfig.wait` by default. What
            is unanswered by then is asked again by a later `withdraw` or `flush`, of any client.

        Returns
        -------
        Withdrawal
            True if all is wiped. If not, try again: the file could not be written.

        Raises
        ------
        InvalidParameter
            If the client has no ``storage``, or `wait` is outside its interval.
        """
        device = self._durable()
        seconds = self._seconds(wait)

        def wipe() -> int | None:
            unable = device.withdraw()
            self._forget()
            return unable

        unable = self._contained("withdrawing", wipe, otherwise=None)
        if unable is None:
            return Withdrawal(wiped=False)
        # A client that is switched off sends nothing.
        wait_for = seconds if self.enabled else 0.0
        told = self._contained(
            "taking reports back", lambda: device.take_back(wait_for), otherwise=Withdrawal(True)
        )
        return replace(told, unable=told.unable + unable)

    @discreet
    def answer(self, answers: Answers) -> Outcome:
        """Randomise and store, and send in the background; waits for no network and no disk.

        The device must have the survey: shipped as ``published=``, or fetched earlier by `fetch`,
        as by an app that shows the questions. A version that was answered before is not randomised
        again, whatever the answers: its report stands, and the outcome is ``known``. Say so to the
        respondent, who may be another person: the answers of now are not sent.

        Parameters
        ----------
        answers : mapping of str to str, int or None
            As for `randomize`. They are not read before consent is given.

        Returns
        -------
        Outcome

        Raises
        ------
        InvalidParameter
            If the answers do not fit the survey, a token is wanted and was not given, or the client
            has no ``storage``.
        ConsentMissing
            If the respondent has not agreed.
        """
        device = self._durable()
        try:
            self._keeping.check_consent()
            published = self._at_hand()
            if published is None:
                return self._lost(
                    Outcome(
                        "failed",
                        "no-manifest",
                        HushpollError(
                            f"survey {self.survey!r} is not on this device yet; call fetch(), or "
                            "ship the survey with the app as published="
                        ),
                    )
                )
            _, new = self._keep(published, answers)
            device.answered()
        except CALLERS_MISTAKES:
            raise
        except ClientDisabled as error:
            # Not a loss: the app's owner wants none of its answers.
            return outcome_of(error)
        except Exception as error:
            outcome = self._lost(outcome_of(error))
            if self._config.raise_faults and outcome.status == "failed":
                raise
            return outcome
        return Outcome("kept" if new else "known")

    def flush(self, seconds: float = 30.0) -> bool:
        """Send the reports that wait on this device, of all surveys, before the call returns.

        Pauses that the client chose itself are cut short; those that a server asked for are not.

        Parameters
        ----------
        seconds : float
            How long to go on, at least 0. An exchange that then still runs is given up, but not
            before a second; its report stays, and the same bytes are sent again later.

        Returns
        -------
        bool
            True once nothing waits any more; False if some still does, or the file fails, or the
            client is switched off. A report whose moment has not come (`ClientConfig.send_jitter`)
            still waits.

        Raises
        ------
        InvalidParameter
            If the client has no ``storage``, or `seconds` is negative.
        """
        device = self._durable()
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise refusal_of("seconds")(f"is {seconds!r}; give a number of at least 0")
        if not self.enabled:
            return False
        self._raise_fault(device)
        return self._contained("sending", lambda: device.flush(seconds), otherwise=False)

    @property
    def ledger(self) -> Ledger:
        """What this device has answered and spent; reading it may raise `StorageError`.

        Raises
        ------
        InvalidParameter
            If the client has no ``storage``.
        """
        return self._durable().ledger

    @property
    def losses(self) -> dict[str, int]:
        """How many answers this client has lost in this process, by reason.

        Raises
        ------
        InvalidParameter
            If the client has no ``storage``.
        """
        return self._durable().losses.by_reason()

    def _durable(self) -> Device:
        if self._device is None:
            raise InvalidParameter(
                "this client keeps nothing; give storage= the path of a file for its ledger and "
                "outbox, or use submit()",
                field="storage",
            )
        return self._device

    def _lost(self, outcome: Outcome) -> Outcome:
        detail = str(outcome.error).partition("\n")[0]
        self._durable().losses.count(outcome.reason or "", f"survey {self.survey}: {detail}")
        return outcome

    def _raise_fault(self, device: Device) -> None:
        fault = device.thread.take_fault()
        if fault is not None and self._config.raise_faults:
            raise fault

    def _contained(self, doing: str, call: Callable[[], R], *, otherwise: R) -> R:
        try:
            return call()
        except Exception as error:
            # Only messages of this package's own errors are free of answers.
            detail = error if isinstance(error, HushpollError) else type(error).__name__
            warn("%s failed: %s", doing, detail)
            if self._config.raise_faults:
                raise
            return otherwise
