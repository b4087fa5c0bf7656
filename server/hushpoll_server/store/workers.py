"""Which workers are alive: a row for each, which it renews and which runs out with it."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, delete, false, insert, or_, select, update

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import workers


class WorkerStore(Store):
    """Statements on workers. Times are seconds since 1970, UTC."""

    def hold(self, worker_id: str, *, of_server: bool, now: int, until: int) -> None:
        """Say that a worker is alive until a time, and forget those whose time is over."""
        mine = workers.c.id == worker_id
        row = {"of_server": of_server, "alive_until": until}
        with self._database.writing() as connection:
            connection.execute(delete(workers).where(workers.c.alive_until < now, ~mine))
            if connection.execute(update(workers).where(mine).values(row)).rowcount == 0:
                connection.execute(insert(workers).values(id=worker_id, started_at=now, **row))

    def leave(self, worker_id: str) -> None:
        """Forget a worker, which ends."""
        self._database.write(delete(workers).where(workers.c.id == worker_id))

    def leave_all_of_servers(self) -> None:
        """Forget all workers that servers started: there is no other server of this database."""
        self._database.write(delete(workers).where(workers.c.of_server))

    def any_alive(self, *, now: int) -> bool:
        """Return whether a worker is alive."""
        return self._any(workers.c.alive_until >= now)

    def any_before(self, worker_id: str, *, now: int) -> bool:
        """Return whether another worker is alive before which a server's one takes no jobs.

        That is each that an operator started, and of those of servers the one that started first.
        """
        me = select(workers.c.started_at).where(workers.c.id == worker_id).scalar_subquery()
        earlier = or_(
            workers.c.started_at < me,
            and_(workers.c.started_at == me, workers.c.id < worker_id),
        )
        return self._any(
            workers.c.alive_until >= now,
            workers.c.id != worker_id,
            or_(workers.c.of_server == false(), earlier),
        )

    def _any(self, *which: ColumnElement[bool]) -> bool:
        found = self._database.read(select(workers.c.id).where(*which).limit(1)).first()
        return found is not None
