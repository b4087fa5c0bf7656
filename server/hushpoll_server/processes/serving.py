"""The parent process of ``hushpoll serve``: it starts children, and starts again what has ended.

It prepares the database, holds its lock and the listening sockets, and answers nothing itself.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import metrics
from hushpoll_server.config.settings import Settings
from hushpoll_server.logs import get_logger
from hushpoll_server.processes.children import Given
from hushpoll_server.processes.folders import SOCKET_NAME, socket_folder
from hushpoll_server.services.surveys.access import Access
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database, backend_of, parse_url
from hushpoll_server.store.tables.tokens import TokenStore

log = get_logger(__name__)

INGEST: Final = "hushpoll_server.processes.ingest"
WEB: Final = "hushpoll_server.processes.web"
# Together under the 15 seconds in which a supervisor wants an answer to SIGTERM.
INGEST_END_SECONDS: Final = 10.0
WEB_END_SECONDS: Final = 4.0
# A child that ends is started again after this; twice as long each time that it ends soon.
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0
SOON_SECONDS: Final = 10.0
WEB_BACKLOG: Final = 1024


class Child:
    """One kind of child process, kept running.

    Parameters
    ----------
    module : str
        Whose ``run`` it runs.
    given : Given
        What it is given.
    """

    def __init__(self, module: str, given: Given) -> None:
        self._module = module
        self._given = given
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self.ready = asyncio.Event()

    async def keep(self) -> None:
        """Start it, and again whenever it ends, until `stop`."""
        pause = FIRST_PAUSE_SECONDS
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            started = loop.time()
            try:
                code: int | str = await self._run()
            except OSError as error:  # no memory or descriptors for a process: later there may be
                code = type(error).__name__
            if self._stopping.is_set():
                return
            log.error("child-ended", module=self._module, code=code)
            pause = FIRST_PAUSE_SECONDS if loop.time() - started >= SOON_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def stop(self, seconds: float) -> None:
        """Let it end by itself, or end it after so long."""
        self._stopping.set()
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), seconds)
        except TimeoutError:
            log.error("child-killed", module=self._module)
            with suppress(ProcessLookupError):
                process.kill()

    async def _run(self) -> int:
        given = self._given
        lock = () if given.lock is None else (given.lock,)
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", f"from {self._module} import run; run()",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            pass_fds=(given.listener, *lock),
            # A signal to the whole group is the parent's to pass on, one kind after the other.
            start_new_session=True,
        )  # fmt: skip
        if process.stdin is not None and process.stdout is not None:  # which are pipes
            with suppress(OSError):
                process.stdin.write(given.line())
                await process.stdin.drain()
            # The pipe stays open: the child ends when it is closed.
            if await process.stdout.readline():
                self.ready.set()
        code = await process.wait()
        metrics.process_ended(process.pid)
        return code


def serve(
    settings: Settings, *, listener: socket.socket, lock: int | None, ready: Callable[[str], None]
) -> None:
    """Run children until SIGTERM or SIGINT.

    Parameters
    ----------
    settings : Settings
        The whole configuration.
    listener : socket.socket
        Bound and listening.
    lock : int or None
        Descriptor of the database's lock, which the children share.
    ready : callable
        Told the URL once an ingest process answers.

    Raises
    ------
    InvalidParameter
        There is no room for the web process's socket.
    """
    with socket_folder() as folder:
        path = str(folder / SOCKET_NAME)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as web_listener:
            try:
                web_listener.bind(path)
            except OSError as error:
                raise InvalidParameter(
                    f"TMPDIR leads to {path!r}, at which no socket can be made ({error}); set it "
                    "to a folder with a short name, in which you may write",
                    field="TMPDIR",
                ) from error
            Path(path).chmod(0o600)
            # Here and not in the child, so that requests wait while that is started again.
            web_listener.listen(WEB_BACKLOG)

            def given(socket: int) -> Given:
                return Given.of(settings, listener=socket, web_socket=path, lock=lock)

            ingest = [(INGEST, given(listener.fileno()))] * settings.workers
            asyncio.run(
                _run([*ingest], [(WEB, given(web_listener.fileno()))], _with_url(listener, ready))
            )


async def _run(
    ingest: Sequence[tuple[str, Given]],
    web: Sequence[tuple[str, Given]],
    ready: Callable[[], None],
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    takers, others = ([Child(*arguments) for arguments in kind] for kind in (ingest, web))
    keeping = [asyncio.create_task(child.keep()) for child in (*takers, *others)]
    first = asyncio.create_task(_any_ready(takers))
    ended = asyncio.create_task(stopped.wait())
    await asyncio.wait((first, ended), return_when=asyncio.FIRST_COMPLETED)
    if not stopped.is_set():
        ready()
        await ended
    first.cancel()
    # Those that answer clients first: their requests may need the web process.
    await asyncio.gather(*(child.stop(INGEST_END_SECONDS) for child in takers))
    await asyncio.gather(*(child.stop(WEB_END_SECONDS) for child in others))
    await asyncio.wait(keeping, timeout=1)
    for task in keeping:
        task.cancel()


async def _any_ready(children: Sequence[Child]) -> None:
    waiting = [asyncio.create_task(child.ready.wait()) for child in children]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)


def _with_url(listener: socket.socket, ready: Callable[[str], None]) -> Callable[[], None]:
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return lambda: ready(url)


def check_workers(settings: Settings) -> None:
    """Refuse ingest processes that would only wait for each other.

    Raises
    ------
    InvalidParameter
        Several workers, and a database with one writer at a time.
    """
    if settings.workers > 1 and backend_of(parse_url(settings.database_url)).ONE_WRITER:
        raise InvalidParameter(
            f"WORKERS is {settings.workers}, and SQLite takes one writer at a time: group commit "
            "works within one process; set it to 1, or name a PostgreSQL in DATABASE_URL",
            field="WORKERS",
        )


def prepare(settings: Settings) -> str | None:
    """Bring the database up to date before any child starts.

    Returns
    -------
    str or None
        The admin token, if this is the first start.

    Raises
    ------
    InvalidParameter, NotDurable, SchemaRefused
        The database cannot be used.
    """
    database = Database(settings.database_url, pool_size=1)
    try:
        migrate.upgrade(database)
        return Access(TokenStore(database), settings.clock).first_admin()
    finally:
        database.close()
