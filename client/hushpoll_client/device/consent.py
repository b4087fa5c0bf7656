"""What the device's owner allows: consent to a survey, the pinned manifest, and limits of epsilon.

Consent is given to a survey of a server, whatever its version. Withdrawing it stops the reports
that wait and wipes the answers. Per answered version a tombstone remains: the digests of the
version and of the survey's name, and the epsilon, so that no version is answered twice and no
epsilon is spent twice. What may have arrived is taken back (`withdrawals`).

A digest given out of band is a pin. Without one the first manifest that a client sees becomes its
pin: that protects against a later change, not against a server that lied at first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Self

from hushpoll_client.device.outcomes import ConsentMissing
from hushpoll_client.device.redemption import forget_all
from hushpoll_protocols import parse_epsilon
from hushpoll_protocols.errors import (
    BudgetExhausted,
    ManifestRefused,
    refusal_of,
    show,
)
from hushpoll_shared.spelling.decimals import parse_weight
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import LARGEST_BATCH, check_integer

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hushpoll_client.device.database import Database

_WIPE: Final = """
UPDATE answers SET state = 'withdrawn', survey = NULL, version = NULL, server = NULL,
  id = NULL, report = NULL, token = NULL, reason = NULL, attempts = 0, claimed_by = NULL,
  claimed_until = 0, send_after = 0, secret = NULL
WHERE survey = ?
"""
# A report that was never claimed has not left the device. The others may be on the server, whatever
# it said.
_TAKE_BACK: Final = """
INSERT OR REPLACE INTO withdrawals
SELECT digest, survey, server, secret FROM answers
WHERE survey = ? AND secret IS NOT NULL AND (state <> 'waiting' OR attempts > 0)
"""


def survey_digest(survey: str) -> str:
    """SHA-256 of a survey's name: with it a tombstone counts against the survey's limit."""
    return sha256(survey.encode()).hexdigest()


class Consent:
    """The consents in a device's file."""

    def __init__(self, quick: Database, durable: Database) -> None:
        self._quick = quick
        self._durable = durable

    def give(self, server: str, survey: str, *, statement: str | None, now: datetime) -> None:
        """Store that the respondent agrees, the date, and the text that they were shown.

        A second consent keeps the first date.
        """
        with self._quick.transaction() as connection:
            connection.execute(
                "INSERT INTO consents VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (server, survey, now.date().isoformat(), statement),
            )

    def given(self, server: str, survey: str) -> bool:
        """Whether the respondent agrees at this moment."""
        with self._quick.reading() as connection:
            return is_given(connection, server, survey)

    def withdraw(self, survey: str) -> int:
        """Stop and wipe all answers to ``survey``, of every server and version; return how many.

        A report that is being sent at this moment may still arrive. Of all that may have left this
        device the secrets are kept, until servers were asked to take them back (`withdrawals`).
        Where the file cannot be written, nothing is wiped, and `StorageError` is raised.
        """
        with self._durable.transaction() as connection:
            connection.execute(_TAKE_BACK, (survey,))
            wiped = connection.execute(_WIPE, (survey,)).rowcount
            connection.execute("DELETE FROM consents WHERE survey = ?", (survey,))
            connection.execute("DELETE FROM pins WHERE survey = ?", (survey,))
            forget_all(connection, survey)
        # `secure_delete` overwrote the pages, but the log still has their old contents.
        self._durable.empty_log()
        return wiped


def is_given(connection: Connection, server: str, survey: str) -> bool:
    """Whether consent is given, read in the caller's transaction."""
    row = connection.execute(
        "SELECT 1 FROM consents WHERE server = ? AND survey = ?", (server, survey)
    ).fetchone()
    return row is not None


def consent_missing(server: str, survey: str) -> ConsentMissing:
    """Return the error of a call that needs consent and has none."""
    return ConsentMissing(
        f"the respondent has not agreed to survey {survey!r} of {server}, or has withdrawn; "
        "nothing was read. Ask, and call give_consent() if they agree"
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """The owner's limits; None sets none."""

    max_epsilon: Decimal | None = None
    """Largest total epsilon of the survey, in [1e-6, 64]. A ledger holds it against all
    versions of the survey together.
    """

    required_sensitive: frozenset[str] = frozenset()
    """Attributes that must never leave in clear."""

    max_epsilon_total: Decimal | None = None
    """Largest epsilon of all surveys together, in (0, 1000000]; a ledger holds it."""

    required_batch: int | None = None
    """Fewest reports that the survey may release at once, in [1, 10^9]."""

    @classmethod
    def of(
        cls,
        max_epsilon: object,
        required_sensitive: Iterable[str],
        max_epsilon_total: object = None,
        required_batch: object = None,
    ) -> Self:
        """Check the values that a caller gives, as the fields have them."""
        # A string is a collection of strings, and would quietly protect attributes named by
        # letters.
        if isinstance(required_sensitive, str | bytes):
            raise refusal_of("required_sensitive")(
                f"is the text {required_sensitive!r}; give a set of attribute names, such as "
                f"{{{required_sensitive!r}}}"
            )
        if not isinstance(required_sensitive, Iterable):
            raise refusal_of("required_sensitive")(
                f"is {required_sensitive!r}; give a set of attribute names, empty to demand nothing"
            )
        names = frozenset(required_sensitive)
        for name in names:
            if not isinstance(name, str):
                raise refusal_of("required_sensitive")(
                    f"contains {name!r}; give attribute names (strings)"
                )
        limit = None if max_epsilon is None else parse_epsilon(max_epsilon, field="max_epsilon")
        total = None
        if max_epsilon_total is not None:
            total = parse_weight(max_epsilon_total, field="max_epsilon_total")
        batch = None
        if required_batch is not None:
            batch = check_integer(required_batch, field="required_batch", largest=LARGEST_BATCH)
        return cls(limit, names, total, batch)

    def check(self, published: Published) -> None:
        """Refuse a survey that goes beyond the limits.

        Its epsilon is too large (`BudgetExhausted`), its minimum batch too small, or it collects a
        required attribute in clear, or has none of this name: a misspelt name must not protect
        nothing.
        """
        if self.max_epsilon is not None and published.epsilon > self.max_epsilon:
            raise BudgetExhausted(
                f"survey {published.name!r} spends epsilon {published.epsilon}; this device "
                "allows at "
                f"most {self.max_epsilon} (max_epsilon); nothing was randomised. Ask for a survey "
                "with "
                "a smaller epsilon, or raise the limit with its owner's consent"
            )
        if self.required_batch is not None and published.minimum_batch < self.required_batch:
            raise ManifestRefused(
                f"survey {published.name!r} releases batches of {published.minimum_batch} reports; "
                f"this device demands at least {self.required_batch} (required_batch); nothing was "
                "randomised. Ask for a survey with a larger minimum_batch",
                field="minimum_batch",
            )
        known = {attribute.name: attribute for attribute in published.attributes}
        for name in sorted(self.required_sensitive):
            if name not in known:
                raise ManifestRefused(
                    f"required_sensitive names {name!r}, which survey {published.name!r} does not "
                    "ask; "
                    f"its attributes are {', '.join(known)}: correct the name or leave it out",
                    field="required_sensitive",
                )
            if known[name].oracle is None:
                raise ManifestRefused(
                    f"survey {published.name!r} collects {name!r} in clear (role "
                    f"{known[name].role!r}), but required_sensitive demands that it is randomised; "
                    "nothing was sent",
                    field=f"attributes[{name}].role",
                )


# The server decides how much differs, so the error message is cut.
_SHOWN = 20


def check_pin(
    offered: Published, *, survey: str, digest: str | None, known: Published | None
) -> None:
    """Refuse ``offered``, whose arithmetic was checked, unless name and digest are the pinned ones.

    If the device has the pinned survey itself, `known`, the message shows what changed.
    """
    if offered.name != survey:
        raise ManifestRefused(
            f"the server answered with survey {offered.name!r} for {survey!r}; nothing was sent",
            field="name",
        )
    if digest is None or offered.digest == digest:
        return
    lines = [
        f"survey {survey!r} is not the one that was pinned; nothing was sent",
        f"  pinned digest:  {digest}",
        f"  offered digest: {offered.digest} (version {offered.version})",
    ]
    if known is None:
        lines.append(
            "  the pinned manifest itself is not at hand, so its fields cannot be compared"
        )
    else:
        lines += [f"  {line}" for line in describe_difference(known, offered)]
    lines.append("compare it with the survey's author; to answer the offered one, give its digest")
    raise ManifestRefused("\n".join(lines), field="digest")


def describe_difference(old: Published, new: Published) -> list[str]:
    """Return how two published surveys differ, field by field, in at most 20 lines."""
    lines = list(_differences(old.to_dict(), new.to_dict(), ""))
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"… and {len(lines) - _SHOWN} more differences"]
    return lines


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            if key not in new:
                yield f"{inner}: {show(old[key])} was removed"
            elif key not in old:
                yield f"{inner}: {show(new[key])} was added"
            else:
                yield from _differences(old[key], new[key], inner)
    elif _is_named(old) and _is_named(new):
        names = {entry["name"] for entry in [*old, *new]}
        before = {entry["name"]: entry for entry in old}
        after = {entry["name"]: entry for entry in new}
        if len(before) == len(old) and len(after) == len(new) and names:
            yield from _differences_by_name(before, after, path)
    elif old != new:
        yield f"{path}: {show(old)} became {show(new)}"


def _differences_by_name(before: JsonObject, after: JsonObject, path: str) -> Iterator[str]:
    for name in [*before, *(name for name in after if name not in before)]:
        inner = f"{path}[{name}]"
        if name not in after:
            yield f"{inner} was removed"
        elif name not in before:
            yield f"{inner} was added"
        else:
            yield from _differences(before[name], after[name], inner)
    kept = [name for name in before if name in after]
    if kept != [name for name in after if name in before]:
        yield f"{path}: the order became {', '.join(after)}"


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, Mapping) and isinstance(entry.get("name"), str) for entry in value
    )


class Pins:
    """The pinned manifests in a device's file: a pin outlasts restarts and needs no network."""

    def __init__(self, quick: Database) -> None:
        self._quick = quick

    def find(self, server: str, survey: str, version: int | None) -> Published | None:
        """Return the pinned survey, its arithmetic checked again, or None.

        The version is what the client asked for; None, for the newest, is a pin of its own. A
        damaged manifest is refused.
        """
        statement = "SELECT manifest FROM pins WHERE server = ? AND survey = ? AND version = ?"
        manifest = self._quick.value(statement, server, survey, version or 0)
        return None if manifest is None else Published.from_json(manifest)

    def keep(self, server: str, version: int | None, published: Published) -> None:
        """Store ``published`` as the pin of ``version``."""
        row = (server, published.name, version or 0, published.digest, published.canonical)
        with self._quick.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO pins VALUES (?, ?, ?, ?, ?)", row)
