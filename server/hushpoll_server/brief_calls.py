"""Socket calls that keep the interpreter's lock.

Python gives the lock away around every call of a socket, also around one that cannot block. The
thread that refuses reports while all others are busy would have to queue for it behind them after
each; so reading a request and answering it would take three turns instead of none. These calls
return at once, in microseconds, and hold the lock meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import socket
from typing import Final

_LIBC: Final = ctypes.PyDLL(None, use_errno=True)  # PyDLL, unlike CDLL, keeps the lock
_FLAGS: Final = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)

_recv = _LIBC.recv
_recv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_recv.restype = ctypes.c_ssize_t
_send = _LIBC.send
_send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
_send.restype = ctypes.c_ssize_t


class Reader:
    """Reads what has arrived on a socket, at most so many bytes; for one thread.

    Parameters
    ----------
    most : int
        Bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._buffer = ctypes.create_string_buffer(most)

    def peek(self, descriptor: int) -> bytes:
        """Return what has arrived, and leave it there.

        Raises
        ------
        OSError
            Nothing has arrived, or the connection failed.
        """
        arrived = self._received(descriptor, self._most, socket.MSG_PEEK)
        return ctypes.string_at(self._buffer, arrived)

    def drop(self, descriptor: int, size: int) -> int:
        """Take bytes that ``peek`` has shown off the socket; return how many.

        Raises
        ------
        OSError
            The connection failed.
        """
        return self._received(descriptor, min(size, self._most), 0)

    def _received(self, descriptor: int, size: int, flags: int) -> int:
        return _checked(_recv(descriptor, self._buffer, size, _FLAGS | flags))


def send(descriptor: int, data: bytes) -> int:
    """Send what fits into the socket's buffer; return how many bytes did.

    Raises
    ------
    OSError
        Nothing fits, or the connection failed.
    """
    return _checked(_send(descriptor, data, len(data), _FLAGS))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
