"""The thread that sends reports in the background, and what makes a fork of the host app safe.

The thread starts with the first answer, never at import, and ends when the outbox is empty. It is a
daemon, so that a network that hangs does not keep an app from ending; at exit it gets
`exit_patience` seconds, and unsent reports stay in the file.

A child process has the forking thread alone. A lock that another thread held would stay locked in
the child for ever, and SQLite's record of its file locks would be wrong. So every guarded object is
brought to rest before a fork; afterwards parent and child go on separately, and a child starts a
thread of its own when it needs one.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Final
from weakref import WeakSet

_log = logging.getLogger("hushpoll_client")

_OURS: Final = ("hushpoll_protocols", "hushpoll_shared", "hushpoll_client")

_gate = threading.Lock()
_guarded: WeakSet[Guarded] = WeakSet()
_at_rest: list[Guarded] = []


class Guarded:
    """An object with a lock for which every fork waits, as long as the object lives.

    `new_lock` makes the lock, and a new one in each child process. Lower ranks come to rest first:
    a thread that holds a lock may only take one of a higher rank, or the fork and that thread would
    wait for each other.
    """

    rank = 0

    def __init__(self, new_lock: Callable[[], Any] = threading.Lock) -> None:
        self._new_lock = new_lock
        self.lock = new_lock()
        with _gate:
            _guarded.add(self)

    def before_fork(self) -> None:
        """Take the lock, so that no other thread is at work; close what cannot be inherited."""
        self.lock.acquire()

    def after_fork_in_child(self) -> None:
        """Make a new lock; forget the threads, since only the parent has them."""
        self.lock = self._new_lock()


class _Imports(Guarded):
    """The lock of `unforked`."""

    rank = 3


_imports = _Imports()


@contextmanager
def unforked() -> Iterator[None]:
    """Keep forks waiting while the block runs.

    Imports in a thread need this: a child would find the module half imported, and its lock held
    for ever by a thread that the child does not have. The block takes no other lock of ours.
    """
    with _imports.lock:
        yield


def _before() -> None:
    # One fork at a time: this is the only code that holds several of our locks at once.
    _gate.acquire()
    _at_rest[:] = sorted(_guarded, key=lambda guarded: guarded.rank)
    for guarded in _at_rest:
        guarded.before_fork()


def _in_parent() -> None:
    for guarded in _at_rest:
        guarded.lock.release()
    _at_rest.clear()
    _gate.release()


def _in_child() -> None:
    global _gate
    _gate = threading.Lock()
    for guarded in _at_rest:
        guarded.after_fork_in_child()
    _at_rest.clear()
    _free_cached_properties()


def _free_cached_properties() -> None:
    # Up to Python 3.11 each cached property of a class has one lock for all objects of the class.
    # Another thread of the parent may have held it.
    for name, module in list(sys.modules.items()):
        if not name.startswith(_OURS):
            continue
        for kind in [value for value in vars(module).values() if isinstance(value, type)]:
            for member in vars(kind).values():
                if isinstance(member, cached_property) and hasattr(member, "lock"):
                    member.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


# How long the thread lets answers gather before it looks at the file. A step competes with the host
# app for the interpreter and for SQLite's lock, and answers often come several at a time.
SETTLE_SECONDS: Final = 0.05
# After a fault of the device, such as a full disk, the thread looks again sooner than after one of
# the network.
_AFTER_FAULT_SECONDS: Final = 5.0


class SendingThread(Guarded):
    """Calls ``step`` in a background thread until nothing is left to do.

    A step sends one report, and returns the seconds after which to call it again, or None. The
    interpreter's exit waits for the thread for `exit_patience` seconds.
    """

    lock: threading.Condition

    def __init__(self, step: Callable[[], float | None], *, exit_patience: float) -> None:
        self._step = step
        self._exit_patience = exit_patience
        self._thread: threading.Thread | None = None
        self._woken = False
        # When the thread must end, in seconds of the monotonic clock; None unless it is to stop.
        self._until: float | None = None
        self._fault: Exception | None = None
        super().__init__(lambda: threading.Condition(threading.Lock()))
        _threads.add(self)

    def wake(self) -> None:
        """Have ``step`` called soon, without waiting for it."""
        with self.lock:
            first, self._woken = not self._woken, True
            self._until = None
            if self._thread is not None:
                if first:
                    self.lock.notify_all()
                return
            thread = threading.Thread(target=self._run, name="hushpoll-sender", daemon=True)
            # No thread can start while the interpreter ends, or if there are too many. The reports
            # stay in the file.
            with suppress(RuntimeError):
                start_new_thread(self._start, (thread,))
                self._thread = thread

    def stop(self, seconds: float) -> None:
        """End the thread once it has sent what it can send at once, for at most ``seconds``."""
        with self.lock:
            self._until = time.monotonic() + seconds
            self.lock.notify_all()
            thread = self._thread
            if thread is None or thread is threading.current_thread():
                return
            ended = self.lock.wait_for(lambda: self._thread is not thread, seconds)
        if ended and thread.ident is not None:
            thread.join(seconds)

    def take_fault(self) -> Exception | None:
        """Return the first fault of the thread, and forget it."""
        with self.lock:
            fault, self._fault = self._fault, None
        return fault

    def after_fork_in_child(self) -> None:
        """Forget the thread: only the parent has it."""
        super().after_fork_in_child()
        self._thread = None
        self._until = None

    def _start(self, thread: threading.Thread) -> None:
        # `Thread.start` waits until the thread runs, on a busy machine longer than an answer may
        # take. So another thread does this waiting.
        try:
            thread.start()
        except Exception:
            # No thread can start, as in `wake`; the next answer tries again.
            with self.lock:
                self._thread = None
                self.lock.notify_all()

    def _run(self) -> None:
        with self.lock:
            self._settle()
        while True:
            try:
                wait = self._step()
            except Exception as error:
                # Its type alone: the message of an internal fault may hold an answer.
                _log.warning("sending in the background failed: %s", type(error).__name__)
                with self.lock:
                    self._fault = self._fault or error
                wait = _AFTER_FAULT_SECONDS
            with self.lock:
                if self._ends(wait):
                    self._thread = None
                    self.lock.notify_all()
                    return
                if wait != 0.0:
                    if not self._woken:
                        self.lock.wait(wait)
                    if self._woken:
                        self._settle()
                self._woken = False

    def _settle(self) -> None:
        # `wake` notifies the thread only once until it looks, so many answers cost one waking.
        self.lock.wait_for(lambda: self._until is not None, SETTLE_SECONDS)
        self._woken = False

    def _ends(self, wait: float | None) -> bool:
        if self._until is not None:
            return wait != 0.0 or time.monotonic() > self._until
        return wait is None and not self._woken


_threads: WeakSet[SendingThread] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for worker in list(_threads):
        worker.stop(worker._exit_patience)
