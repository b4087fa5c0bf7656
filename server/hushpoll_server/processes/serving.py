"""The parent process of ``hushpoll serve``: it starts children, and restarts a child that ends.

It prepares the database, holds its lock and the listening sockets, and answers nothing itself.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import metrics
from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.processes.children import Orders
from hushpoll_server.processes.files import SOCKET_NAME, socket_folder
from hushpoll_server.processes.launch import Launch, Process, launch
from hushpoll_server.services.surveys.access import Access
from hushpoll_server.store import migrate
from hushpoll_server.store.catalogue import TokenStore
from hushpoll_server.store.database import Database, backend_of, parse_url
from hushpoll_server.store.workers import WorkerStore

log = get_logger(__name__)

INGEST: Final = "hushpoll_server.processes.ingest"
WEB: Final = "hushpoll_server.processes.web"
WORKER: Final = "hushpoll_server.processes.worker"
# Together under the 15 seconds in which a supervisor wants an answer to SIGTERM.
INGEST_END_SECONDS: Final = 10.0
WORKER_END_SECONDS: Final = 10.0
WEB_END_SECONDS: Final = 4.0
# A child that ends is started again after this; twice as long each time that it ends soon.
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0
SOON_SECONDS: Final = 10.0
BACKLOG: Final = 1024
# The worker loads once the others answer, or after so long.
WORKER_PAUSE_SECONDS: Final = 60.0


class Child:
    """One kind of child process, kept running.

    Parameters
    ----------
    module : str
        The module whose ``run`` it calls.
    orders : Orders
        Its standard input.
    launch : callable
        Starts it.
    """

    def __init__(self, module: str, orders: Orders, launch: Launch) -> None:
        self._module = module
        self._orders = orders
        self._launch = launch
        self._process: Process | None = None
        self._stopping = asyncio.Event()
        self.ready = asyncio.Event()

    async def keep(self) -> None:
        """Start the child, and restart it whenever it ends, until `stop`."""
        pause = FIRST_PAUSE_SECONDS
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            started = loop.time()
            try:
                code: int | str = await self._run()
            except OSError as error:  # there may be memory and descriptors for a process later
                code = type(error).__name__
            if self._stopping.is_set():
                return
            log.error("child-ended", module=self._module, code=code)
            pause = FIRST_PAUSE_SECONDS if loop.time() - started >= SOON_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def stop(self, seconds: float) -> None:
        """Let the child end by itself, or kill it after so many seconds."""
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
                process.send_signal(signal.SIGKILL)

    async def _run(self) -> int:
        process = self._process = await self._launch(self._module, self._orders)
        if await process.said_ready():
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
        Called with the URL once an ingest process answers.

    Raises
    ------
    InvalidParameter
        The web process's socket cannot be made.
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
            web_listener.listen(BACKLOG)

            server = secrets.token_hex(16)

            def orders(socket: int | None) -> Orders:
                return Orders.of(
                    settings, listener=socket, web_socket=path, lock=lock, server=server
                )

            ingest = [(INGEST, orders(listener.fileno()))] * settings.workers
            web = [(WEB, orders(web_listener.fileno()))]
            worker = [(WORKER, orders(None))] if settings.start_worker else []
            asyncio.run(_run(ingest, web, worker, _with_url(listener, ready)))


async def _run(
    ingest: Sequence[tuple[str, Orders]],
    web: Sequence[tuple[str, Orders]],
    worker: Sequence[tuple[str, Orders]],
    ready: Callable[[], None],
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    ingest_children, others, workers = (
        [Child(*arguments, launch()) for arguments in kind] for kind in (ingest, web, worker)
    )
    answering = (*ingest_children, *others)
    keeping = [asyncio.create_task(child.keep()) for child in answering]
    keeping += [asyncio.create_task(_keep_after(child, answering)) for child in workers]
    first = asyncio.create_task(_any_ready(ingest_children))
    ended = asyncio.create_task(stopped.wait())
    await asyncio.wait((first, ended), return_when=asyncio.FIRST_COMPLETED)
    if not stopped.is_set():
        ready()
        await ended
    first.cancel()
    # Ingest processes end first: their requests may need the web process.
    await asyncio.gather(
        *(child.stop(INGEST_END_SECONDS) for child in ingest_children),
        *(child.stop(WORKER_END_SECONDS) for child in workers),
    )
    await asyncio.gather(*(child.stop(WEB_END_SECONDS) for child in others))
    await asyncio.wait(keeping, timeout=1)
    for task in keeping:
        task.cancel()


async def _keep_after(worker: Child, others: Sequence[Child]) -> None:
    """Keep a worker running once the others are ready: it takes no time from their start."""
    with suppress(TimeoutError):
        async with asyncio.timeout(WORKER_PAUSE_SECONDS):
            for child in others:
                await child.ready.wait()
    await worker.keep()


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
    if settings.workers > 1 and backend_of(parse_url(settings.database_url)).session.ONE_WRITER:
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
        if database.session.ONE_WRITER:  # and so one server, whose worker is not there yet
            with suppress(Refused):  # a file that may only be read is still served
                WorkerStore(database).leave_all_of_servers()
        return Access(TokenStore(database), settings.clock).first_admin()
    finally:
        database.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address and a port.

    Parameters
    ----------
    host : str
        Address or name of this machine; an IPv6 address without brackets.
    port : int
        Port, 0..65535; 0 takes a free one.

    Raises
    ------
    InvalidParameter
        The host cannot be resolved or is another machine's; the port is in use or reserved.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        addresses = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise InvalidParameter(
            f"host is {host!r}, which cannot be resolved; give an address of this machine with "
            "--host, such as 127.0.0.1",
            field="host",
        ) from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(addresses[0][4])
        # Now and not later: two sockets may be bound to one port while neither listens.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(host, port, error) from error
    return listener


def _refused(host: str, port: int, error: OSError) -> InvalidParameter:
    if error.errno == errno.EADDRINUSE:
        return InvalidParameter(
            f"port {port} of {host} is in use; give another with --port", field="port"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return InvalidParameter(
            f"port {port} of {host} is reserved ({error.strerror}); give another with --port, "
            "in [1024, 65535]",
            field="port",
        )
    return InvalidParameter(
        f"host is {host!r}, on which this machine cannot listen ({error.strerror}); give one of "
        "its own addresses with --host, such as 127.0.0.1",
        field="host",
    )
