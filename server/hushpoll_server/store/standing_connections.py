"""Connections that are not returned to their pool after each statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine


class StandingConnections:
    """As many connections as were ever in use at a time, each opened once.

    To take one out of a pool and to return it costs more than the statement in between, where the
    interpreter's time is short. For an engine that commits each statement: no transaction is open
    on a connection that waits here.

    Parameters
    ----------
    engine : Engine
        Of isolation level AUTOCOMMIT.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._unused: list[Connection] = []

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Give a connection that nobody else uses; one on which anything fails is given up."""
        try:
            connection = self._unused.pop()
        except IndexError:
            connection = self._engine.connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._unused.append(connection)

    def close(self) -> None:
        """Close those that nobody uses."""
        while self._unused:
            self._unused.pop().close()
