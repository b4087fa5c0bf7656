"""The ledger: which survey versions a device has answered, and the epsilon it has spent on them.

Each answered version is one row, which refuses a second answer. It holds the report until the
server has acknowledged it, and never an answer. One transaction checks the limits, randomises the
answer, charges its epsilon and stores the report: so no second thread, no second process and no
crash can randomise it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypedDict, cast

from hushpoll_client.device.consent import Consent, consent_missing, is_given, survey_digest
from hushpoll_client.device.database import Database, value_in
from hushpoll_client.device.outcomes import OutboxFull
from hushpoll_client.device.randomization import Report
from hushpoll_client.device.withdrawals import Withdrawals
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import BudgetExhausted, ManifestRefused
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.spelling.json_values import JsonObject

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hushpoll_client.device.consent import Limits
    from hushpoll_shared.survey.published import Published

State = Literal["waiting", "accepted", "refused", "dropped", "withdrawn"]


class ConsentDocument(TypedDict):
    """That the respondent has agreed to a survey."""

    server: str
    survey: str
    given: str
    statement: str


class EntryDocument(TypedDict):
    """An entry of the ledger; ``report`` is absent where it is not shown."""

    digest: str
    survey_digest: str
    epsilon: str
    state: State
    survey: str | None
    version: int | None
    server: str | None
    reason: str | None
    id: str | None
    withdrawable: bool
    report: NotRequired[JsonObject | None]


class PendingDocument(TypedDict):
    """A withdrawn report that its server has not answered for yet."""

    digest: str
    survey: str
    server: str


class LedgerDocument(TypedDict):
    """All that a ledger holds about the respondent, without tokens and secrets."""

    epsilon_spent: str
    consents: list[ConsentDocument]
    answers: list[EntryDocument]
    withdrawals: list[PendingDocument]


@dataclass(frozen=True, slots=True)
class Entry:
    """One answered version of a survey, as its respondent may read it.

    Attributes
    ----------
    digest : str
        Digest of the published survey.
    survey_digest : str
        SHA-256 of the survey's name.
    epsilon : Decimal
        Epsilon charged for the answer.
    state : {"waiting", "accepted", "refused", "dropped", "withdrawn"}
        ``refused`` by the server, for the reason of that name; ``dropped`` by the host app's
        ``before_send``.
    survey, version, server, reason : str, int or None
        None once withdrawn; `reason` also where nothing was refused.
    id : str or None
        Id of the report, in base64url, by which the server refuses a repeat. None once withdrawn.
    report : Report or None
        The report that waits or was refused; None once acknowledged, dropped or withdrawn.
    withdrawable : bool
        Whether this device can have the server take the report back, until it is sealed there.
        False once withdrawn, and of reports of earlier releases, whose ids were drawn at random.
    """

    digest: str
    survey_digest: str
    epsilon: Decimal
    state: State
    survey: str | None
    version: int | None
    server: str | None
    id: str | None
    report: Report | None
    reason: str | None
    withdrawable: bool

    def to_dict(self) -> EntryDocument:
        """Return the entry as JSON, the report as the server takes it."""
        return {
            "digest": self.digest,
            "survey_digest": self.survey_digest,
            "epsilon": format_epsilon(self.epsilon),
            "state": self.state,
            "survey": self.survey,
            "version": self.version,
            "server": self.server,
            "reason": self.reason,
            "id": self.id,
            "withdrawable": self.withdrawable,
            "report": None if self.report is None else json.loads(self.report.to_json()),
        }


WAITING: Final = "SELECT count(*) FROM answers WHERE state = 'waiting'"
STATE: Final = "SELECT state FROM answers WHERE digest = ?"
_SPENT: Final = (
    "SELECT coalesce(sum(picoepsilon), 0) FROM answers WHERE ?1 IS NULL OR survey_digest = ?1"
)
_ROWS: Final = """
SELECT digest, survey_digest, picoepsilon, state, survey, version, server, id, report, reason,
  secret IS NOT NULL
FROM answers ORDER BY rowid
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a report is sent, with which token, and the owner's limits for storing it.

    The token is not in the repr. `send_after` draws the moment before which a new report is not
    sent, in seconds since 1970.
    """

    server: str
    token: str | None = field(repr=False)
    limits: Limits
    outbox_limit: int
    send_after: Callable[[], float]


class Ledger:
    """The answers in a device's file, to which it has a quick and a durable connection."""

    def __init__(self, quick: Database, durable: Database) -> None:
        self._quick = quick
        self._consent = Consent(quick, durable)
        self.withdrawals = Withdrawals(quick, durable)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Open the ledger in the file ``path``; a missing file is made."""
        file = Path(path)
        return cls(Database(file, durable=False), Database(file, durable=True))

    def entries(self) -> list[Entry]:
        """Return all entries in the order of answering."""
        with self._quick.reading() as connection:
            rows = connection.execute(_ROWS).fetchall()
        return [
            Entry(
                *(digest, key, epsilon_of(units), state, survey, version, server, number),
                *(Report.from_json(text) if text else None, reason, bool(withdrawable)),
            )
            for (
                *(digest, key, units, state, survey, version, server, number, text, reason),
                withdrawable,
            ) in rows
        ]

    def spent(self, survey: str | None = None) -> Decimal:
        """Return the epsilon spent on ``survey``, over all its versions, or overall."""
        with self._quick.reading() as connection:
            return _spent(connection, survey)

    def to_dict(self) -> LedgerDocument:
        """Return all that the file holds about the respondent, as JSON.

        Tokens and secrets are left out: who has them can answer, or withdraw, in their place.
        """
        with self._quick.reading() as connection:
            consents = connection.execute(
                "SELECT server, survey, given, statement FROM consents ORDER BY server, survey"
            ).fetchall()
        names = ("server", "survey", "given", "statement")
        return {
            "epsilon_spent": format_epsilon(self.spent()),
            "consents": [
                cast("ConsentDocument", dict(zip(names, row, strict=True))) for row in consents
            ],
            "answers": [entry.to_dict() for entry in self.entries()],
            "withdrawals": [
                {"digest": one.digest, "survey": one.survey, "server": one.server}
                for one in self.withdrawals.pending()
            ],
        }

    def withdraw(self, survey: str) -> int:
        """Withdraw the consent to ``survey``; see `Consent.withdraw`.

        It waits for no network: `withdrawals` then asks the servers.
        """
        return self._consent.withdraw(survey)

    def unable(self, survey: str) -> int:
        """Return how many reports of a survey may be on a server and cannot be taken back."""
        statement = (
            "SELECT count(*) FROM answers WHERE survey = ? AND secret IS NULL "
            "AND (state <> 'waiting' OR attempts > 0)"
        )
        return int(self._quick.value(statement, survey))

    def keep(
        self, published: Published, draw: Callable[[], Report], place: Place
    ) -> tuple[Report | None, bool]:
        """Return the stored report, or check the limits, draw, charge and store in one transaction.

        Parameters
        ----------
        published : Published
            The survey, checked.
        draw : callable
            Randomises; called at most once, and only if everything allows it.
        place : Place
            Where the report goes.

        Returns
        -------
        report : Report or None
            The one report of this version, whatever was answered later. None if the server has
            acknowledged it, since it is deleted then.
        new : bool
            Whether this call drew the report.

        Raises
        ------
        ConsentMissing
            If consent was withdrawn in the meantime.
        BudgetExhausted
            If the limits leave too little, or the answer was withdrawn or dropped.
        ManifestRefused
            If the same version was answered under another digest: a version never changes.
        OutboxFull
            If too many reports wait.
        StorageError
            If the file cannot be written; nothing is charged.
        """
        with self._quick.transaction() as connection:
            if not is_given(connection, place.server, published.name):
                raise consent_missing(place.server, published.name)
            known: str | None = value_in(connection, STATE, published.digest)
            if known is not None:
                return _again(connection, known, published, place), False
            _check_version(connection, published, place)
            _check_room(connection, place)
            _check_budget(connection, published, place.limits)
            report = draw()
            connection.execute(
                "INSERT INTO answers (digest, survey_digest, picoepsilon, state, survey, version, "
                "server, id, report, token, send_after, secret) "
                "VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(published.digest, survey_digest(published.name)),
                    *(int(Fraction(published.epsilon) * 10**12), published.name),
                    published.version,
                    *(place.server, b64encode(report.id), report.to_json(), place.token),
                    place.send_after(),
                    None if report.secret is None else b64encode(report.secret),
                ),
            )
        return report, True

    def close(self) -> None:
        """Close the file."""
        self._quick.close()


def _again(connection: Connection, state: str, published: Published, place: Place) -> Report | None:
    """Make the report of an answered version wait again; return None if it was acknowledged."""
    if state in ("withdrawn", "dropped"):
        how = "withdrawn" if state == "withdrawn" else "dropped by the app's before_send"
        raise BudgetExhausted(
            f"the answer to survey {published.name!r} version {published.version} was {how}; its "
            f"epsilon {published.epsilon} is spent, and it is not given again"
        )
    if state == "accepted":
        return None
    # The respondent answers again, or another server asks: the same bytes are sent.
    connection.execute(
        "UPDATE answers SET state = 'waiting', server = ?, token = ?, reason = NULL "
        "WHERE digest = ?",
        (place.server, place.token, published.digest),
    )
    text = value_in(connection, "SELECT report FROM answers WHERE digest = ?", published.digest)
    return Report.from_json(text)


def _check_version(connection: Connection, published: Published, place: Place) -> None:
    answered = value_in(
        connection,
        "SELECT digest FROM answers WHERE survey = ? AND version = ? AND server = ?",
        *(published.name, published.version, place.server),
    )
    if answered is not None:
        raise ManifestRefused(
            f"version {published.version} of survey {published.name!r} was answered with digest "
            f"{answered}, and now has {published.digest}; a version never changes, so nothing was "
            "randomised: compare it with the survey's author",
            field="digest",
        )


def _check_room(connection: Connection, place: Place) -> None:
    waiting = value_in(connection, WAITING)
    if waiting >= place.outbox_limit:
        raise OutboxFull(
            f"{waiting} reports wait to be sent, and outbox_limit is {place.outbox_limit}; nothing "
            "was randomised: answer again once they are sent"
        )


def _check_budget(connection: Connection, published: Published, limits: Limits) -> None:
    for name, limit, survey in (
        ("max_epsilon", limits.max_epsilon, published.name),
        ("max_epsilon_total", limits.max_epsilon_total, None),
    ):
        if limit is None:
            continue
        spent = _spent(connection, survey)
        if Fraction(spent) + Fraction(published.epsilon) > limit:
            whole = "all surveys" if survey is None else f"survey {survey!r}"
            raise BudgetExhausted(
                f"survey {published.name!r} spends epsilon {published.epsilon}; "
                f"{format_epsilon(spent)} is spent on {whole}, and this device allows at most "
                f"{limit} ({name}); nothing was randomised. Raise the limit with its owner's "
                "consent"
            )


def _spent(connection: Connection, survey: str | None) -> Decimal:
    key = None if survey is None else survey_digest(survey)
    return epsilon_of(value_in(connection, _SPENT, key))


# Epsilons are stored as multiples of 1e-12, since a sum of decimals would depend on the host app's
# decimal context.
def epsilon_of(units: int) -> Decimal:
    """Return the epsilon of a row of the ledger."""
    return Decimal(format_epsilon(Decimal(f"{units}e-12")))
