"""One server per database file, by all its names and in all its processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store import lock
from hushpoll_server.store.database import Database
from hushpoll_server.store.lock import acquire, adopt
from waiting import LONGEST_SECONDS

# A process that takes the lock, starts two others that share it, and waits.
PARENT = """
import subprocess, sys, time
from hushpoll_server.store.lock import acquire
url, child = sys.argv[1:]
held = acquire(url)
children = [
    subprocess.Popen(
        [sys.executable, "-c", child, url, str(held.fileno())], pass_fds=[held.fileno()]
    )
    for _ in range(2)
]
print(*[one.pid for one in children], flush=True)
time.sleep(600)
"""
# It shares the lock, and starts a program that must not.
CHILD = """
import subprocess, sys, time
from hushpoll_server.store.lock import adopt
url, number = sys.argv[1], int(sys.argv[2])
held = adopt(url, number)
assert held.fileno() == number
program = [sys.executable, "-c", f"import os; os.fstat({number})"]
found = subprocess.run(program, close_fds=False, stderr=subprocess.DEVNULL)
print("shares" if found.returncode else "passed the lock on", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.0)


def refused(url):
    with pytest.raises(InvalidParameter, match="another hushpoll serve is using"):
        acquire(url)


def elsewhere(url):
    """Try to take the lock in another process; return what it says."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom hushpoll_server.store import lock\nlock.WAIT_SECONDS = 0.0\n"
            "lock.acquire(sys.argv[1])\nprint('taken')",
            url,
        ],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )


def test_a_database_has_one_server_by_all_its_names(tmp_path):
    """Guards: a hard link had a lock file of its own, and half of the reports were lost."""
    url = f"sqlite:///{tmp_path}/one.sqlite"
    with acquire(url):
        (tmp_path / "soft.sqlite").symlink_to(tmp_path / "one.sqlite")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "hard.sqlite").hardlink_to(tmp_path / "one.sqlite")
        for other in (
            url,
            f"sqlite:///{tmp_path}/soft.sqlite",
            f"sqlite:///{tmp_path}/folder/hard.sqlite",
            f"sqlite:///file:{tmp_path}/one.sqlite?uri=true",
        ):
            refused(other)
            assert "another hushpoll serve is using" in elsewhere(other).stderr
        (tmp_path / "one.sqlite").rename(tmp_path / "new_name.sqlite")
        refused(f"sqlite:///{tmp_path}/new_name.sqlite")
        with acquire(f"sqlite:///{tmp_path}/two.sqlite"):
            pass
    assert elsewhere(f"sqlite:///{tmp_path}/new_name.sqlite").stdout == "taken\n"
    assert (tmp_path / "new_name.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_database_with_two_names_is_refused(tmp_path):
    """Guards: what SQLite keeps beside one name of the file is lost to the other."""
    database = Database(f"sqlite:///{tmp_path}/one.sqlite")
    (tmp_path / "two.sqlite").hardlink_to(tmp_path / "one.sqlite")
    for name in ("sqlite:///{}/one.sqlite", "sqlite:///file:{}/two.sqlite?uri=true"):
        with pytest.raises(InvalidParameter, match=r"has 2 names \(hard links\).*remove the other"):
            Database(name.format(tmp_path))
    (tmp_path / "two.sqlite").unlink()
    Database(f"sqlite:///{tmp_path}/one.sqlite").close()
    database.close()


def test_processes_that_inherit_the_lock_keep_it_after_the_first_is_killed(tmp_path):
    url = f"sqlite:///{tmp_path}/one.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, url, CHILD], stdout=subprocess.PIPE, text=True
    ) as parent:
        # Of the parent and its two children, who write in any order.
        lines = sorted(parent.stdout.readline() for _ in range(3))
        children = [int(number) for number in lines[0].split()]
        try:
            assert lines[1:] == ["shares\n"] * 2
            parent.kill()
            parent.wait()
            refused(url)
            os.kill(children[0], signal.SIGKILL)
            refused(url)
        finally:
            for child in children:
                with suppress(ProcessLookupError):  # its new parent may have collected it
                    os.kill(child, signal.SIGKILL)
        # At the end of the output both are gone.
        assert parent.stdout.read() == ""
    with acquire(url):
        pass


def test_a_lock_is_adopted_by_its_own_descriptor_alone(tmp_path):
    url, other = (f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("one", "two"))
    with acquire(url) as held, acquire(other) as of_another:
        with pytest.raises(InvalidParameter, match="descriptor is 999, which is no open"):
            adopt(url, 999)
        with pytest.raises(InvalidParameter, match="pass on what the process that holds"):
            adopt(url, of_another.fileno())
        with pytest.raises(InvalidParameter, match="descriptor is None"):
            adopt(url, None)
        # A descriptor of the same file that was opened anew holds no lock.
        again = os.open(tmp_path / "one.sqlite", os.O_RDWR)
        with pytest.raises(InvalidParameter, match="another hushpoll serve is using"):
            adopt(url, again)
        os.close(again)
        with adopt(url, os.dup(held.fileno())):
            pass
        refused(url)


def test_postgresql_needs_no_lock():
    url = "postgresql://user@localhost/any"
    with acquire(url) as first, acquire(url), adopt(url, None):
        assert first.fileno() is None


def test_the_lock_lets_sqlite_keep_its_own(tmp_path):
    """Guards: closing a descriptor of the file drops SQLite's locks of the whole process.

    Then the next process that closes the database would take itself for the last one, and remove
    the log from under the server.
    """
    url = f"sqlite:///{tmp_path}/one.sqlite"
    look = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM t').fetchall()"
    with acquire(url) as held:
        server = sqlite3.connect(tmp_path / "one.sqlite", isolation_level=None)
        server.execute("PRAGMA journal_mode = WAL")
        server.execute("CREATE TABLE t (x)")
        refused(url)
        with pytest.raises(InvalidParameter):
            adopt(url, None)
        Database(url).close()
        subprocess.run([sys.executable, "-c", look, tmp_path / "one.sqlite"], check=True)
        assert (tmp_path / "one.sqlite-wal").exists()
        # A writer of another process is let in, and waited for.
        other = sqlite3.connect(tmp_path / "one.sqlite", isolation_level=None)
        other.execute("INSERT INTO t VALUES (1)")
        server.execute("INSERT INTO t VALUES (2)")
        assert server.execute("SELECT x FROM t").fetchall() == [(1,), (2,)]
        other.close()
        server.close()
        assert held.fileno() is not None


def test_a_lock_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "one.sqlite").mkdir()
    with pytest.raises(InvalidParameter, match=r"one\.sqlite.*cannot be opened and locked"):
        acquire(f"sqlite:///{tmp_path}/one.sqlite")


def test_where_the_database_itself_cannot_be_locked_a_file_beside_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "LOCKS_THE_DATABASE", False)
    url = f"sqlite:///{tmp_path}/one.sqlite"
    with acquire(url) as held:
        (tmp_path / "soft.sqlite").symlink_to(tmp_path / "one.sqlite")
        refused(f"sqlite:///{tmp_path}/soft.sqlite")
        with adopt(url, os.dup(held.fileno())):
            pass
    assert (tmp_path / "one.sqlite-lock").stat().st_mode & 0o777 == 0o600
