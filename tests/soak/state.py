"""What the walk has sent, what the database holds of it, and whether the two agree."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text

from chunks import unpack
from hushpoll_server.store.database import Database
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.invitations import Token

STORED, DELETED, UNSURE, NEVER = "stored", "deleted", "unsure", "never"


@dataclass(eq=False)
class Sent:
    """One report.

    ``state``: ``stored`` once it was acknowledged; ``deleted`` once the server said so; ``unsure``
    where the answer to its withdrawal was lost and the next one says only that it is not there;
    ``never`` where its withdrawal came first.
    """

    report: wire.Report
    secret: bytes
    commune: str
    token: str | None = None
    state: str = STORED


@dataclass(eq=False)
class Survey:
    """One published version, with what was sent to it."""

    published: Published
    release: str
    minimum: int
    tokens: list[str] = field(default_factory=list)
    invited: int = 0
    redeemed: set[str] = field(default_factory=set)
    sent: list[Sent] = field(default_factory=list)
    closed: bool = False
    deleted: bool = False
    # What was seen of it after the last step.
    sealed: int = 0
    released: int = 0
    # The groups in clear that a reader was shown after the end, by their sizes.
    shown: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.published.name

    def of(self, *states: str) -> list[Sent]:
        return [one for one in self.sent if one.state in states]


@dataclass(frozen=True)
class Found:
    """What the database holds of one version, in one state."""

    waiting: dict[bytes, bytes]
    known: set[bytes]
    sealed_ids: set[bytes]
    rows: list[bytes]
    sealed: int
    released: int
    withdrawn: int
    ended: bool
    gone: bool
    spent: set[bytes]


def find(database: Database, survey: Survey) -> Found:
    """Read a version in one transaction."""
    with database.reading() as connection:
        # A seal truncates the inbox, which even an older snapshot would then see empty.
        database.session.hold_inbox(connection)

        def column(statement: str) -> list[Any]:
            rows = connection.execute(text(statement), {"digest": survey.published.digest})
            return list(rows.scalars())

        of = "version_id = (SELECT id FROM survey_versions WHERE digest = :digest)"
        size = survey.published.layout.record_size
        inbox = connection.execute(
            text(f"SELECT report_id, record FROM inbox WHERE {of}"),
            {"digest": survey.published.digest},
        ).all()
        records = {bytes(one): bytes(record) for one, record in inbox}
        waiting = {one: record for one, record in records.items() if len(record) == size}
        sealed_ids = list(unpack(column(f"SELECT ids FROM sealed_ids WHERE {of}")))
        assert len(sealed_ids) == len(set(sealed_ids)), "an id is sealed twice"
        blocks = column(f"SELECT data FROM segments WHERE {of}")
        rows = [
            bytes(block[at : at + size]) for block in blocks for at in range(0, len(block), size)
        ]
        (ended,) = column("SELECT ended FROM survey_versions WHERE digest = :digest")
        counted = f"SELECT sum(count) FROM counters WHERE outcome = 'withdrawn' AND {of}"
        deleted = column(f"SELECT records_deleted_at FROM aggregates WHERE {of}")
        return Found(
            waiting=waiting,
            known={*records, *sealed_ids},
            sealed_ids=set(sealed_ids),
            rows=rows,
            sealed=sum(column(f"SELECT reports FROM aggregates WHERE {of}")),
            released=sum(column(f"SELECT reports FROM releases WHERE {of}")),
            withdrawn=int(column(counted)[0] or 0),
            ended=bool(ended),
            gone=any(at is not None for at in deleted),
            spent=set(map(bytes, column(f"SELECT token FROM spent_tokens WHERE {of}"))),
        )


def check(survey: Survey, found: Found) -> None:
    """Hold what is stored against what was sent; an AssertionError says what is wrong."""
    where = f"{survey.name}: "
    everything = {one.report.id for one in survey.sent}
    assert found.known <= everything, where + "an id that nobody sent"
    assert not found.waiting.keys() & found.sealed_ids, where + "an id both waits and is sealed"
    stored, unsure = survey.of(STORED), survey.of(UNSURE)
    lost = {one.report.id for one in stored + unsure} - found.known
    assert not lost, f"{where}{len(lost)} acknowledged reports are lost"
    away = {one.report.id for one in survey.of(DELETED, NEVER)}
    assert not away & found.waiting.keys(), where + "a withdrawn report waits"
    certain = len(survey.of(DELETED))
    assert certain <= found.withdrawn <= certain + len(unsure), (
        f"{where}{found.withdrawn} counted as withdrawn, {certain} were, {len(unsure)} unsure"
    )
    live = len(stored) + len(unsure) + certain - found.withdrawn
    assert len(found.waiting) + found.sealed == live, (
        f"{where}{len(found.waiting)} wait and {found.sealed} are sealed of {live}"
    )
    if survey.published.submission == INVITED:
        spent = {spent_of(one) for one in survey.of(STORED, UNSURE, DELETED)}
        assert len(spent) == len(survey.of(STORED, UNSURE, DELETED)), where + "a token counts twice"
        # They are deleted once the version takes no report any more.
        kept = set[bytes]() if found.ended else spent
        assert found.spent == kept, f"{where}{len(found.spent ^ kept)} spent tokens differ"
    if not found.gone:
        assert len(found.rows) == found.sealed, where + "records and counts differ"
        held = Counter([*found.waiting.values(), *found.rows])
        least = Counter(one.report.record for one in stored)
        most = least + Counter(one.report.record for one in unsure)
        assert least <= held <= most, where + "the records are not those that were sent"
    _check_steps(survey, found, where)


def check_groups(survey: Survey, found: Found, shown: dict[str, float], smallest: int) -> None:
    """Hold the groups in clear that a reader is shown, by their shares, against what was sent."""
    if not shown:
        return
    where = f"{survey.name}: "
    assert found.ended, where + "answers in clear are shown before the end"
    of = found.sealed if survey.release == "immediate" else found.released
    sizes = {group: round(share * of) for group, share in shown.items()}
    communes = {one.commune for one in survey.sent}
    for group, size in sizes.items():
        assert size >= smallest, f"{where}{group} has {size} reports and is shown"
        sent = Counter(one.state for one in survey.sent if one.commune == group)
        least, most = sent[STORED], sent[STORED] + sent[UNSURE]
        merged = group not in communes
        assert merged or least <= size <= most, f"{where}{group} is shown with {size} of {most}"
    before, survey.shown = survey.shown or sizes, sizes
    assert sizes == before, f"{where}groups in clear moved from {before} to {sizes}"


def spent_of(one: Sent) -> bytes:
    """What the database keeps of the token that a report has spent."""
    token = Token.from_text(one.token)
    assert token is not None
    return hashlib.sha256(token.input).digest()


def _check_steps(survey: Survey, found: Found, where: str) -> None:
    for word, before, now in (
        ("sealed", survey.sealed, found.sealed),
        ("released", survey.released, found.released),
    ):
        added = now - before
        assert added >= 0, f"{where}fewer {word} than before"
        assert added == 0 or added >= survey.minimum or found.ended, (
            f"{where}{added} were {word} at once, and minimum_batch is {survey.minimum}"
        )
    survey.sealed, survey.released = found.sealed, found.released
