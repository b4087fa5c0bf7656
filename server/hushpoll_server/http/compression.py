"""Compressed request bodies, expanded to a limit and not a block further."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final

import zstandard

from hushpoll_server.errors import Refused

_GZIP: Final = 16 + zlib.MAX_WBITS
# Each one costs a copy of all that follows; empty ones would cost minutes.
GZIP_MEMBERS: Final = 64
# What a decompressor must offer (RFC 8878, section 3.1.1.1.2); a frame may ask for gigabytes.
ZSTD_WINDOW: Final = 8 * 2**20


class TooLarge(Exception):
    """A body would expand to more than its limit."""


def expand(coding: str, body: bytes, limit: int) -> bytes:
    """Return what a body was before it was compressed.

    Parameters
    ----------
    coding : str
        One of `CODINGS`.
    body : bytes
        The whole compressed body: one gzip stream of at most 64 members, or one zstd frame.
    limit : int
        Most bytes that it may expand to; no more than one byte beyond is ever held.

    Raises
    ------
    TooLarge
        It expands to more than `limit`.
    Refused
        ``invalid-request``: it is cut off, damaged, or followed by something else.
    """
    return CODINGS[coding](body, limit)


def _gunzip(body: bytes, limit: int) -> bytes:
    members: list[bytes] = []
    left = limit
    rest = body
    while rest or not members:
        if len(members) == GZIP_MEMBERS:
            raise _damaged("gzip")
        stream = zlib.decompressobj(_GZIP)
        try:
            member = stream.decompress(rest, left + 1)
        except zlib.error as error:
            raise _damaged("gzip") from error
        if len(member) > left:
            raise TooLarge
        if not stream.eof:
            raise _damaged("gzip")
        members.append(member)
        left -= len(member)
        rest = stream.unused_data
    return b"".join(members)


def _unzstd(body: bytes, limit: int) -> bytes:
    try:
        declared = zstandard.get_frame_parameters(body).content_size
        if declared != zstandard.CONTENTSIZE_UNKNOWN:
            if declared > limit:
                raise TooLarge
            # Into a buffer of the declared size: a frame that lies about it fails.
            return zstandard.ZstdDecompressor().decompress(body, allow_extra_data=False)
        decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
        if len(decompressor.stream_reader(body).read(limit + 1)) > limit:
            raise TooLarge
        # The reader does not tell the end of the frame from that of the body. What it read is
        # known to fit now, so it may be read again without a limit.
        stream = decompressor.decompressobj()
        expanded = stream.decompress(body)
    except zstandard.ZstdError as error:
        raise _damaged("zstd") from error
    if not stream.eof or stream.unused_data:
        raise _damaged("zstd")
    return expanded


def _damaged(coding: str) -> Refused:
    return Refused(
        "invalid-request",
        f"the body is no complete {coding} stream, or something follows it; compress it again, "
        "or send it without Content-Encoding",
        field="body",
    )


CODINGS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {"gzip": _gunzip, "zstd": _unzstd}
