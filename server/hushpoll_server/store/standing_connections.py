"""Connections that are not returned to their pool after each statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext


class StandingConnections:
    """As many connections as were ever in use at a time, each opened once.

    To take one out of a pool and to return it costs more than the statement in between, where the
    interpreter's time is short. Each statement is a transaction of its own, unless it opens one: no
    transaction is open on a connection that waits here.

    Parameters
    ----------
    engine : Engine
        Where they are opened.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._unused: list[tuple[int, Connection]] = []
        # How often anybody found that the database had hung up: older connections are dead too.
        self._ages = 0
        event.listen(engine, "handle_error", self._note)

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Give a connection that nobody else uses; one on which anything fails is given up."""
        age, connection = self._taken()
        try:
            yield connection
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        self._unused.append((age, connection))

    def close(self) -> None:
        """Close those that nobody uses."""
        while self._unused:
            self._unused.pop()[1].close()

    def _taken(self) -> tuple[int, Connection]:
        age = self._ages
        while self._unused:
            try:
                found = self._unused.pop()
            except IndexError:  # another thread was faster
                break
            if found[0] == age:
                return found
            found[1].invalidate()
            found[1].close()
        return age, self._engine.connect()

    def _note(self, context: ExceptionContext) -> None:
        if context.is_disconnect:
            self._ages += 1
