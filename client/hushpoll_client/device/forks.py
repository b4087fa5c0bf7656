"""What a fork must find in order: locks that are free, and no open database.

A child has the forking thread alone. A lock that another thread held would stay locked in it for
ever, and SQLite's record of its file locks would be wrong. So, before a fork, every guarded object
is brought to rest; afterwards both sides go on by themselves. Registering starts no thread.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Final, Protocol
from weakref import WeakSet


class Guarded(Protocol):
    """Something that holds locks or open files.

    Attributes
    ----------
    rank : int
        Lower ranks come to rest first. A thread that holds a lock may only take one of a higher
        rank, or the fork and that thread would wait for each other.
    """

    rank: int

    def before_fork(self) -> None:
        """Take the locks, so that no other thread is at work; close what cannot be inherited."""
        ...

    def after_fork_in_parent(self) -> None:
        """Give the locks back."""
        ...

    def after_fork_in_child(self) -> None:
        """Make new locks; forget the threads, which only the parent has."""
        ...


class _Pause:
    """What a fork waits for; see `unforked`."""

    rank = 3

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def before_fork(self) -> None:
        """Wait until nobody is in an `unforked` block."""
        self.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self.lock.release()

    def after_fork_in_child(self) -> None:
        """Start with a lock that nobody holds."""
        self.lock = threading.Lock()


_OURS: Final = ("hushpoll_protocols", "hushpoll_shared", "hushpoll_client")

_gate = threading.Lock()
_guarded: WeakSet[Guarded] = WeakSet()
_at_rest: list[Guarded] = []
_registered = False
_pause = _Pause()


def guard(one: Guarded) -> None:
    """Bring ``one`` to rest at every fork from now on, as long as it lives."""
    global _registered
    with _gate:
        _guarded.add(one)
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=_before, after_in_parent=_in_parent, after_in_child=_in_child
            )
            _registered = True


@contextmanager
def unforked() -> Iterator[None]:
    """Keep forks waiting while the block runs.

    For imports in a thread: a child would find the module half imported, its lock held for ever by
    a thread that the child does not have. The block takes no other lock of ours.
    """
    guard(_pause)
    with _pause.lock:
        yield


def _before() -> None:
    # One fork at a time: this is the only code that holds several of our locks at once.
    _gate.acquire()
    _at_rest[:] = sorted(_guarded, key=lambda one: one.rank)
    for one in _at_rest:
        one.before_fork()


def _in_parent() -> None:
    for one in _at_rest:
        one.after_fork_in_parent()
    _at_rest.clear()
    _gate.release()


def _in_child() -> None:
    global _gate
    _gate = threading.Lock()
    for one in _at_rest:
        one.after_fork_in_child()
    _at_rest.clear()
    _free_cached_properties()


def _free_cached_properties() -> None:
    # Up to Python 3.11 every cached property of a class has one lock for all objects, which another
    # thread of the parent may have held.
    for name, module in list(sys.modules.items()):
        if not name.startswith(_OURS):
            continue
        for kind in [one for one in vars(module).values() if isinstance(one, type)]:
            for member in vars(kind).values():
                if isinstance(member, cached_property) and hasattr(member, "lock"):
                    member.lock = threading.RLock()
