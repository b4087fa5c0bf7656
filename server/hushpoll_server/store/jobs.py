"""Background jobs and their results: a row for each job, which one worker runs at a time.

A worker holds a job by a lease that it renews. When a worker dies, its lease runs out and another
worker claims the job. A worker that has lost a job can no longer write its result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import job_results, jobs, models

QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
CANCELLED = "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
LOST = "worker-lost"


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """One job. Times are seconds since 1970, UTC; `parameters` is JSON."""

    id: str
    version_id: int
    kind: str
    parameters: str
    state: str
    attempt: int
    owner: str | None
    lease_until: int | None
    created_at: int
    finished_at: int | None
    error_code: str | None
    error_detail: str | None
    media_type: str | None
    file_name: str | None
    size: int | None
    token_id: str | None
    started_at: int | None
    progress: str | None


class JobStore(Store):
    """Statements on jobs."""

    def add(
        self,
        *,
        job_id: str,
        version_id: int,
        kind: str,
        parameters: str,
        token_id: str,
        now: int,
        most: int,
    ) -> list[str] | None:
        """Add a job that waits for a worker, unless its token has `most` that have not ended.

        Those are returned then, the oldest first.
        """
        unended = (
            select(jobs.c.id)
            .where(jobs.c.token_id == token_id, jobs.c.state.in_((QUEUED, RUNNING)))
            .order_by(jobs.c.created_at, jobs.c.id)
        )
        with self._database.writing(catalogue=True) as connection:
            job_ids = list(connection.execute(unended).scalars())
            if len(job_ids) >= most:
                return job_ids
            connection.execute(
                insert(jobs).values(
                    id=job_id,
                    version_id=version_id,
                    kind=kind,
                    parameters=parameters,
                    state=QUEUED,
                    attempt=0,
                    created_at=now,
                    token_id=token_id,
                )
            )
        return None

    def find(self, job_id: str) -> JobRow | None:
        """Return a job; None if there is none of this id."""
        row = self._database.read(select(jobs).where(jobs.c.id == job_id)).one_or_none()
        return None if row is None else JobRow(**row._mapping)

    def newest(
        self,
        most: int,
        *,
        version_ids: Collection[int],
        kind: str | None = None,
        state: str | None = None,
    ) -> list[JobRow]:
        """Return at most so many jobs of these versions, the newest first; of a kind or state."""
        wanted: list[ColumnElement[bool]] = [jobs.c.version_id.in_(version_ids)]
        wanted += [jobs.c.kind == kind] if kind is not None else []
        wanted += [jobs.c.state == state] if state is not None else []
        statement = (
            select(jobs).where(*wanted).order_by(jobs.c.created_at.desc(), jobs.c.id).limit(most)
        )
        return [JobRow(**row._mapping) for row in self._database.read(statement)]

    def by_state(self) -> dict[str, int]:
        """Return the number of jobs in each state."""
        statement = select(jobs.c.state, func.count()).group_by(jobs.c.state)
        numbers = {state: int(count) for state, count in self._database.read(statement)}
        return {state: numbers.get(state, 0) for state in (QUEUED, RUNNING, *ENDED)}

    def any_waiting(self, *, now: int) -> bool:
        """Return whether a job may wait for a worker."""
        return self._database.read(select(jobs.c.id).where(_free(now)).limit(1)).first() is not None

    def claim(self, owner: str, *, now: int, lease: int, attempts: int, running: int) -> str | None:
        """Give `owner` the job whose turn it is, and return its id; None if none may be run now.

        No living worker holds it. Tokens take turns: first those with the fewest running jobs, of
        these the one whose last job began the longest ago, and of its jobs the oldest. A token with
        `running` running jobs waits. A job whose workers died `attempts` times fails.
        """
        # Workers ask every second; without a free job they need no writing transaction.
        if not self.any_waiting(now=now):
            return None
        holding = case((and_(jobs.c.state == RUNNING, jobs.c.lease_until >= now), 1), else_=0)
        tokens = select(
            jobs.c.token_id, func.sum(holding), func.coalesce(func.max(jobs.c.started_at), -1)
        ).group_by(jobs.c.token_id)
        waiting = select(jobs.c.id, jobs.c.token_id, jobs.c.created_at).where(_free(now))
        # If two workers chose at the same time, both would take the same token's turn.
        with self._database.writing(catalogue=True) as connection:
            turns = {token: (int(held), last) for token, held, last in connection.execute(tokens)}
            queue = sorted(
                (*turns[token], created, job_id)
                for job_id, token, created in connection.execute(waiting)
                if turns[token][0] < running
            )
            for *_, job_id in queue:
                if _claim(connection, job_id, owner, now=now, lease=lease, attempts=attempts):
                    return str(job_id)
        return None

    def cancel(self, job_id: str, *, now: int) -> None:
        """End a job that has not ended; its worker, if it has one, notices that by itself."""
        with self._database.writing() as connection:
            changed = connection.execute(
                update(jobs)
                .where(jobs.c.id == job_id, jobs.c.state.in_((QUEUED, RUNNING)))
                .values(state=CANCELLED, owner=None, lease_until=None, finished_at=now)
            )
            if changed.rowcount == 1:
                _clear(connection, job_id)

    def renew(self, job_id: str, owner: str, *, until: int) -> bool:
        """Extend a lease; return False if the owner has lost the job."""
        with self._database.writing() as connection:
            return _held(connection, job_id, owner, lease_until=until)

    def note(self, job_id: str, owner: str, attempt: int, progress: str) -> bool:
        """Write how far a job is; return False if the owner has lost it."""
        with self._database.writing() as connection:
            return _held(connection, job_id, owner, jobs.c.attempt == attempt, progress=progress)

    def release(self, owner: str) -> int:
        """Release the jobs of a worker that stops, for other workers; return their number."""
        # A stop is no crash, so it does not count as an attempt.
        return self._database.write(
            update(jobs)
            .where(jobs.c.owner == owner, jobs.c.state == RUNNING)
            .values(
                state=QUEUED,
                owner=None,
                lease_until=None,
                attempt=jobs.c.attempt - 1,
                progress=None,
            )
        )

    def finish(
        self,
        job_id: str,
        owner: str,
        *,
        attempt: int,
        now: int,
        media_type: str,
        file_name: str,
        parts: Iterable[bytes],
        card: str | None = None,
    ) -> bool:
        """Store a result, if it has a card to be kept; return False if the owner has lost the job.

        Each part has a transaction of its own, so that reports are stored in between. The last
        transaction makes the result visible; another attempt would begin anew.
        """

        def held(connection: Connection, **columns: Any) -> bool:
            # This also locks the job until the transaction ends.
            return _held(connection, job_id, owner, jobs.c.attempt == attempt, **columns)

        with self._database.writing() as connection:
            if not held(connection, size=0):
                return False
            _clear(connection, job_id)
        size = 0
        for number, data in enumerate(parts):
            size += len(data)
            with self._database.writing() as connection:
                if not held(connection, size=size):
                    return False
                connection.execute(
                    insert(job_results).values(job_id=job_id, part=number, data=data)
                )
        with self._database.writing() as connection:
            kept = held(
                connection,
                state=DONE,
                finished_at=now,
                media_type=media_type,
                file_name=file_name,
                size=size,
            )
            if kept and card is not None:
                connection.execute(insert(models).values(job_id=job_id, card=card))
            return kept

    def fail(self, job_id: str, owner: str, *, now: int, code: str, detail: str) -> bool:
        """Store why a job has no result; return False if the owner has lost the job."""
        with self._database.writing() as connection:
            kept = _held(
                connection,
                job_id,
                owner,
                state=FAILED,
                finished_at=now,
                error_code=code,
                error_detail=detail,
            )
            if kept:
                _clear(connection, job_id)
            return kept

    def result(self, job_id: str) -> Iterator[bytes]:
        """Yield a result piece by piece."""
        number = 0
        while True:
            # Each piece has a transaction of its own, so that a slow reader holds none open.
            statement = select(job_results.c.data).where(
                job_results.c.job_id == job_id, job_results.c.part == number
            )
            data = self._database.read(statement).scalar_one_or_none()
            if data is None:
                return
            yield bytes(data)
            number += 1

    def forget(self, *, before: int) -> int:
        """Delete jobs that finished before a time, and results without a card; say how many."""
        kept = select(models.c.job_id)
        deleted = self._delete(
            and_(jobs.c.state.in_(ENDED), jobs.c.finished_at < before, jobs.c.id.not_in(kept))
        )
        if deleted:
            self._database.erase(job_results)
        else:  # an earlier call may have left something
            self._database.vacuum()
        return deleted

    def forget_version(self, version_id: int, kind: str) -> int:
        """Delete the jobs of one kind of a version, and their results; return how many."""
        deleted = self._delete(and_(jobs.c.version_id == version_id, jobs.c.kind == kind))
        self._database.erase(job_results)
        return deleted

    def cards(self, job_ids: Collection[str]) -> dict[str, str]:
        """Return the cards, JSON, of those of these jobs that made what is kept until deleted."""
        statement = select(models.c.job_id, models.c.card).where(models.c.job_id.in_(job_ids))
        return {str(job_id): str(card) for job_id, card in self._database.read(statement)}

    def forget_job(self, job_id: str) -> int:
        """Delete one job and its result; return how many there were."""
        deleted = self._delete(jobs.c.id == job_id)
        self._database.erase(job_results)
        return deleted

    def _delete(self, which: Any) -> int:
        with self._database.writing() as connection:
            # Locked, or a worker could add a part of a result between the two deletions.
            locked = select(jobs.c.id).where(which).order_by(jobs.c.id).with_for_update()
            ids = connection.execute(locked).scalars().all()
            for job_id in ids:
                _clear(connection, job_id)
                connection.execute(delete(jobs).where(jobs.c.id == job_id))
        return len(ids)


def _free(now: int) -> Any:
    return or_(jobs.c.state == QUEUED, and_(jobs.c.state == RUNNING, jobs.c.lease_until < now))


def _claim(
    connection: Connection, job_id: str, owner: str, *, now: int, lease: int, attempts: int
) -> bool:
    changed = connection.execute(
        update(jobs)
        .where(jobs.c.id == job_id, _free(now), jobs.c.attempt < attempts)
        .values(
            state=RUNNING,
            owner=owner,
            attempt=jobs.c.attempt + 1,
            lease_until=now + lease,
            started_at=now,
            progress=None,
        )
    )
    if changed.rowcount == 1:
        return True
    failed = connection.execute(
        update(jobs)
        .where(jobs.c.id == job_id, _free(now))
        .values(
            state=FAILED,
            finished_at=now,
            error_code=LOST,
            error_detail=f"its worker died {attempts} times",
        )
    )
    if failed.rowcount == 1:
        _clear(connection, job_id)
    return False


def _held(connection: Connection, job_id: str, owner: str, *more: Any, **columns: Any) -> bool:
    changed = connection.execute(
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.owner == owner, jobs.c.state == RUNNING, *more)
        .values(**columns)
    )
    return changed.rowcount == 1


def _clear(connection: Connection, job_id: str) -> None:
    connection.execute(delete(job_results).where(job_results.c.job_id == job_id))
    connection.execute(delete(models).where(models.c.job_id == job_id))
