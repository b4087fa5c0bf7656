"""How the parent of ``hushpoll serve`` starts a child: as a fork of itself, or as a new program.

A fork has what its parent has loaded: it starts in half the time, and shares that memory. The
parent has no thread and no open database then. Where a system has no descriptors of processes, and
on macOS, whose own libraries do not outlive a fork, a child is a new program.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn, Protocol

from hushpoll_server.processes.children import Orders, end_with_parent

_PROGRAM_NAME: Final = Path("/proc/self/comm")
_DESCRIPTORS: Final = Path("/proc/self/fd")
_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


class Process(Protocol):
    """A child that was started; its standard input stays open as long as this does."""

    @property
    def pid(self) -> int:
        """Its number."""

    @property
    def returncode(self) -> int | None:
        """How it ended; a signal is negative; None: it runs."""

    def send_signal(self, signal: int, /) -> None:
        """Send it a signal; raises ProcessLookupError where it has ended."""

    async def wait(self) -> int:
        """Return how it ended, once it has."""

    async def said_ready(self) -> bool:
        """Return True once it answers, or False once it has ended before."""


Launch = Callable[[str, Orders], Awaitable[Process]]
"""Starts the ``run`` of a module with its orders; raises OSError where the system lacks room."""


def launch() -> Launch:
    """Return how this system starts children."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return new_program
    return fork


async def new_program(module: str, orders: Orders) -> Process:
    """Start a child as a new program."""
    process = await asyncio.create_subprocess_exec(
        # What is loaded stays, so passes of the collector meanwhile are for nothing; `ready`
        # has it begin.
        sys.executable, "-P", "-c",
        f"import gc; gc.disable(); from {module} import run; run()",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        pass_fds=orders.descriptors,
        # A signal to the whole group is the parent's to pass on, one kind after the other.
        start_new_session=True,
    )  # fmt: skip
    return await _Program.ordered(process, orders)


class _Program:
    def __init__(
        self,
        process: asyncio.subprocess.Process,
        orders: asyncio.StreamWriter,
        words: asyncio.StreamReader,
    ) -> None:
        # The pipe of its orders stays open: the child ends when it is closed.
        self._process, self._orders, self._words = process, orders, words
        self.pid, self.send_signal, self.wait = process.pid, process.send_signal, process.wait

    @classmethod
    async def ordered(cls, process: asyncio.subprocess.Process, orders: Orders) -> _Program:
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise TypeError("both are pipes")
        with suppress(OSError):  # it has ended
            stdin.write(orders.line())
            await stdin.drain()
        return cls(process, stdin, stdout)

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def said_ready(self) -> bool:
        return bool(await self._words.readline())


async def fork(module: str, orders: Orders) -> Process:
    """Start a child as a fork of this process, which must have no other thread."""
    from_parent, to_child = os.pipe()
    from_child, to_parent = os.pipe()
    try:
        gc.freeze()  # so that no pass of a child's collector makes copies of what is shared
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal that came in between would be handled by the child as by its parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            pid = os.fork()
            if pid == 0:
                _be_child(module, orders, from_parent, to_parent)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    except OSError:
        os.close(to_child)
        os.close(from_child)
        raise
    finally:
        os.close(from_parent)
        os.close(to_parent)
    with suppress(BrokenPipeError):  # it has ended
        os.write(to_child, orders.line())
    return _Fork(pid, to_child, from_child)


class _Fork:
    """A forked child; its end is seen by a descriptor of the process, without a thread."""

    def __init__(self, pid: int, orders: int, words: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._pipes = (orders, words)
        self._end = os.pidfd_open(pid)
        self._ended, self._spoke = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._end, self._take_end)
        loop.add_reader(words, self._hear)
        self._words = b""

    def send_signal(self, number: int, /) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    async def wait(self) -> int:
        await self._ended.wait()
        code = self.returncode
        return 0 if code is None else code

    async def said_ready(self) -> bool:
        await self._spoke.wait()
        return bool(self._words)

    def _hear(self) -> None:
        self._words = os.read(self._pipes[1], 4096)
        asyncio.get_running_loop().remove_reader(self._pipes[1])
        self._spoke.set()

    def _take_end(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._end)
        loop.remove_reader(self._pipes[1])
        for descriptor in (self._end, *self._pipes):
            os.close(descriptor)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._spoke.set()
        self._ended.set()


def _be_child(module: str, orders: Orders, from_parent: int, to_parent: int) -> NoReturn:
    """Run a module in a process that was just forked, as a new program would; never return.

    The parent's objects are left as they are: nothing of them is closed by more than its
    descriptor, and nobody's cleaning up runs here.
    """
    code = 1
    try:
        gc.disable()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(from_parent, 0)
        os.dup2(to_parent, 1)
        _close_others(orders.descriptors)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        end_with_parent()  # also while its modules are loaded, since it holds the database's lock
        with suppress(OSError):  # a name to look at, and no more
            _PROGRAM_NAME.write_text(f"hushpoll-{module.rpartition('.')[2]}", encoding="ascii")
        if not sys.flags.safe_path:
            del sys.path[0]  # nothing is loaded from the folder that a command was called in
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        import_module(module).run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _close_others(kept: tuple[int, ...]) -> None:
    """Close what a child has not to do with: the pipes of other children would not end."""
    try:
        # Where programs may have a thousand million descriptors, to try each takes minutes.
        numbers = [int(entry.name) for entry in _DESCRIPTORS.iterdir()]
    except OSError:
        numbers = list(range(os.sysconf("SC_OPEN_MAX")))
    for number in numbers:
        if number > 2 and number not in kept:
            with suppress(OSError):  # the listing's own is closed by now
                os.close(number)
