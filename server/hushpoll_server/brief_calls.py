"""Socket calls for which the interpreter's lock is given away never, or once for many.

Python gives the lock away around every call of a socket, also around one that cannot block, and
whoever made it has to queue for it behind all other threads. So requests are received, and short
answers sent, with the lock held, which takes microseconds. The thread that refuses reports while
all others are busy answers many at a time, by compiled code without the lock.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

_LIBC: Final = ctypes.PyDLL(None, use_errno=True)  # PyDLL, unlike CDLL, keeps the lock
_FLAGS: Final = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)

_recv, _send = _LIBC.recv, _LIBC.send
# For compiled code, which holds no lock.
_NATIVE: Final = ctypes.CDLL(None)
for _call in (_recv, _send, _NATIVE.send):
    _call.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    _call.restype = ctypes.c_ssize_t


class _Scratch(threading.local):
    """Where a thread receives: the lock may change hands before the bytes are copied."""

    def __init__(self) -> None:
        self.size = 0
        self.buffer = ctypes.create_string_buffer(0)

    def sized(self, size: int) -> ctypes.Array[ctypes.c_char]:
        if size > self.size:
            self.size, self.buffer = size, ctypes.create_string_buffer(size)
        return self.buffer


_scratch: Final = _Scratch()


def receive(descriptor: int, size: int, flags: int = 0) -> bytes:
    """Return what has arrived on a socket, with the interpreter's lock held.

    Parameters
    ----------
    descriptor : int
        Of the socket.
    size : int
        Most bytes.
    flags : int
        As of ``recv``; with ``MSG_PEEK`` the bytes stay where they are.

    Raises
    ------
    BlockingIOError
        Nothing has arrived.
    OSError
        The connection failed.
    """
    buffer = _scratch.sized(size)
    arrived = _recv(descriptor, buffer, size, _FLAGS | flags)
    if arrived < 0:
        raise _failure()
    return ctypes.string_at(buffer, arrived)


def send(descriptor: int, data: bytes) -> int:
    """Send what there is room for, with the interpreter's lock held; return how many bytes.

    Raises
    ------
    BlockingIOError
        There is no room.
    OSError
        The connection failed.
    """
    sent: int = _send(descriptor, data, len(data), _FLAGS)
    if sent < 0:
        raise _failure()
    return sent


def _failure() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))  # of the subclass that stands for the number


class Answerer:
    """Answers many requests alike, in one call that gives the interpreter's lock away once.

    Whoever sends a packet over the loopback also does much of what its receiver would: a loop in
    Python would keep the lock for as long, or queue for it after each.

    Parameters
    ----------
    data : bytes
        The answer.
    """

    def __init__(self, data: bytes) -> None:
        self._data = np.frombuffer(data, dtype=np.uint8)

    def answer(self, descriptors: Sequence[int]) -> npt.NDArray[np.int64]:
        """Send the answer on each socket.

        Parameters
        ----------
        descriptors : sequence of int
            Of sockets from each of which a whole request was received.

        Returns
        -------
        ndarray of int64, shape (n,)
            Bytes of the answer that were sent; less than all, or -1, where the connection failed.
        """
        sent = np.empty(len(descriptors), dtype=np.int64)
        _compiled()(np.array(descriptors, dtype=np.int32), self._data, _FLAGS, sent)
        return sent


@cache
def _compiled() -> Callable[..., None]:
    # Imported here: a server starts without it, see ``HttpWorker.init_process``.
    from numba import njit

    native_send = _NATIVE.send

    @njit(nogil=True)
    def answer(
        descriptors: npt.NDArray[np.int32],
        data: npt.NDArray[np.uint8],
        flags: int,
        sent: npt.NDArray[np.int64],
    ) -> None:
        for place in range(len(descriptors)):
            sent[place] = native_send(descriptors[place], data.ctypes, len(data), flags)

    compiled: Callable[..., None] = answer
    return compiled
