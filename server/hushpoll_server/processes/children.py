"""The child side of ``hushpoll serve``: its orders from the parent, and its end with the parent.

A child reads one line of JSON from its standard input and says ``ready`` on its standard output.
Afterwards it waits for the end of its input, which only its parent holds open: that is the death of
its parent, however that died.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

from hushpoll_server import logs
from hushpoll_server.config.settings import Settings
from hushpoll_shared.spelling.json_values import JsonMembers

ORPHANED: Final = 70


@dataclass(frozen=True)
class Orders:
    """The orders of a parent to a child.

    Parameters
    ----------
    settings : mapping
        Every setting by its name.
    listener : int or None
        Descriptor of the socket that this child listens on; None for one that listens on none.
    web_socket : str
        Path of the web process's socket.
    lock : int or None
        Descriptor of the database's lock.
    server : str
        Id of the server: of this start of ``hushpoll serve``.
    """

    settings: JsonMembers
    listener: int | None
    web_socket: str
    lock: int | None
    server: str

    @classmethod
    def of(
        cls,
        settings: Settings,
        *,
        listener: int | None,
        web_socket: str,
        lock: int | None,
        server: str,
    ) -> Orders:
        """Return the orders for these settings."""
        values = settings.model_dump(exclude={"clock"})
        return cls(values, listener, web_socket, lock, server)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the child inherits, apart from its standard streams."""
        return tuple(one for one in (self.listener, self.lock) if one is not None)

    def line(self) -> bytes:
        """Return the orders as the line that a child reads."""
        return json.dumps(asdict(self)).encode() + b"\n"


def begin() -> tuple[Orders, Settings]:
    """Return the parent's orders; from then on this process ends with its parent."""
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(ORPHANED)
    orders = Orders(**json.loads(line))
    end_with_parent()
    settings = Settings(**orders.settings)
    logs.to_stderr(settings.log_level)
    return orders, settings


def ready() -> None:
    """Tell the parent that this process answers; the garbage collector begins."""
    gc.enable()
    os.write(1, b"ready\n")


def end_on_signal() -> None:
    """Let SIGTERM and SIGINT end the main thread by ``SystemExit``."""

    def leave(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)


def end() -> None:
    """End this process at once: everything is stored, and no thread is waited for.

    Taking the interpreter down takes a second or more, and waits for threads that a client holds.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def raise_descriptor_limit() -> int:
    """Raise the limit of open descriptors to the hard limit; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # another limit of the system's is lower
        return soft
    return hard


@cache
def end_with_parent() -> None:
    """End this process with its parent from now on; a second time nothing is added.

    Where a closed pipe shows without being read, it may be called before the orders are read.
    """
    threading.Thread(target=_wait_for_its_end, name="hushpoll-parent", daemon=True).start()


def _wait_for_its_end() -> None:
    if sys.platform == "linux":
        end = select.poll()
        end.register(0, 0)  # that the other end is closed is told in any case
        while not end.poll():
            pass
    else:
        # The descriptor itself: at the end, the interpreter would wait for a reader of the file
        # object.
        while os.read(0, 4096):
            pass
    os._exit(ORPHANED)
