"""Killed at random moments under load, a server and a PostgreSQL lose and repeat nothing."""

from __future__ import annotations

import os

import pytest

from durability import killed
from postgres import PostgreSQL

KILLS = int(os.environ.get("HUSHPOLL_KILLS", "5"))
# Each is a recovery of the whole database, and every other one a start of the server as well.
KILLS_OF_POSTGRESQL = max(2, KILLS // 7)


def test_a_killed_server_loses_no_acknowledged_report(tmp_path):
    found = killed(KILLS, tmp_path, postgres=None, seed=1)
    assert found.startswith(f"{KILLS} kills of the server: ")


def test_a_killed_postgresql_loses_no_acknowledged_report(tmp_path):
    """The server is kept over every other kill, and finds the database again by itself."""
    with PostgreSQL() as server:
        found = killed(KILLS_OF_POSTGRESQL, tmp_path, postgres=server, seed=2)
    assert found.startswith(f"{KILLS_OF_POSTGRESQL} kills of PostgreSQL: ")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["server", "postgresql"])
def test_two_hundred_kills(tmp_path, what):
    if what == "server":
        killed(200, tmp_path, postgres=None, seed=3)
    else:
        with PostgreSQL() as server:
            killed(200, tmp_path, postgres=server, seed=4)
