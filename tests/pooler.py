"""PgBouncer, Debian's package, before a PostgreSQL of the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from ports import free_port
from waiting import LONGEST_SECONDS, wait_until


@contextmanager
def pgbouncer(url: str, *, pool_mode: str, pool_size: int) -> Iterator[str]:
    """The URL at which a pooler leads to the database of another URL."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "PgBouncer is missing; apt-get install pgbouncer"
    socket = parse_qs(urlsplit(url).query)["host"][0]
    database = urlsplit(url).path.removeprefix("/")
    with tempfile.TemporaryDirectory(prefix="hushpoll-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        port = free_port()
        (folder / "users.txt").write_text('"postgres" ""\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={socket}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
            f"auth_file = {folder}/users.txt\npool_mode = {pool_mode}\n"
            f"default_pool_size = {pool_size}\nignore_startup_parameters = extra_float_digits\n"
        )
        # Root it does not run as; the database's own user may reach its socket.
        owner = pwd.getpwuid(Path(socket).stat().st_uid).pw_name
        user = ["-u", owner] if os.geteuid() == 0 else []
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, *user, str(folder / "pgbouncer.ini")], stdout=log, stderr=log
            )
        through = f"postgresql://postgres@127.0.0.1:{port}/{database}"
        try:
            wait_until(lambda: process.poll() is not None or _answers(through))
            assert process.poll() is None, (folder / "log").read_text()
            yield through
        finally:
            process.terminate()
            process.wait(LONGEST_SECONDS)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
